//! The programs that answer one connection: `git daemon` and `sshd`, which take it as their standard
//! input and output as under inetd, and `git http-backend`.

use super::{ENVIRONMENT, git};
use crate::checks::tools;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Where the programs find the repository and the keys.
#[derive(Clone)]
pub(super) struct Programs {
    folder: PathBuf,
}

impl Programs {
    pub(super) fn new(folder: &Path) -> Programs {
        Programs { folder: folder.to_owned() }
    }

    /// One of git's own programs, not below another git that would outlive it.
    pub(super) fn git(&self, name: &str) -> Command {
        static FOLDER: OnceLock<PathBuf> = OnceLock::new();
        let folder = FOLDER.get_or_init(|| git(Path::new("."), &["--exec-path"]).into());
        let mut git = Command::new(folder.join(name));
        git.env_clear().envs(ENVIRONMENT).env("HOME", &self.folder);
        git.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git
    }

    pub(super) fn served(&self) -> PathBuf {
        self.folder.join("served")
    }

    pub(super) fn daemon(&self, stream: UnixStream) {
        let mut daemon = self.git("git-daemon");
        daemon.args(["--inetd", "--export-all", "--enable=receive-pack"]);
        daemon
            .arg("--log-destination=none")
            .arg(format!("--base-path={}", self.served().display()));
        answer(&mut daemon, stream);
    }

    /// Makes keys and the configuration; the path of `sshd`, or the reason why there is none.
    pub(super) fn prepare_sshd(&self) -> Result<PathBuf, String> {
        let sbin = PathBuf::from("/usr/sbin/sshd");
        let found = tools::find("sshd").or_else(|| sbin.is_file().then_some(sbin));
        let sshd = found.ok_or("could not find `sshd` (package openssh-server)")?;
        let folder = self.folder.join("ssh");
        fs::create_dir(&folder).unwrap();
        for key in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key));
            let made = keygen.status().map_err(|error| format!("ssh-keygen: {error}"))?;
            assert!(made.success());
        }
        if rustix::process::getuid().is_root() {
            // A packaged sshd that runs as root asks for this folder, which a boot makes.
            fs::create_dir_all("/run/sshd").map_err(|error| format!("/run/sshd: {error}"))?;
        }
        let [host, user] = ["host", "user.pub"].map(|name| folder.join(name).display().to_string());
        let environment = ENVIRONMENT.map(|(name, value)| format!("{name}={value}")).join(" ");
        let path = std::env::var("PATH").unwrap_or_default();
        let config = format!(
            "HostKey {host}\nAuthorizedKeysFile {user}\nStrictModes no\nUsePAM no\nUseDNS no\n\
             PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             AcceptEnv GIT_PROTOCOL\nSetEnv {environment} \"PATH={path}\"\n"
        );
        fs::write(folder.join("config"), config).unwrap();
        Ok(sshd)
    }

    pub(super) fn sshd(&self, program: &Path, stream: UnixStream) {
        let mut sshd = Command::new(program);
        sshd.args(["-i", "-e", "-f"]).arg(self.folder.join("ssh/config"));
        answer(&mut sshd, stream);
    }

    /// The client's command: the test's key, and nothing of the user's.
    pub(super) fn ssh(&self) -> String {
        let key = self.folder.join("ssh/user");
        format!(
            "ssh -F none -i {} -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \
             -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
            key.display()
        )
    }
}

/// Runs a program with the connection as its input and output, to its end.
fn answer(program: &mut Command, stream: UnixStream) {
    let input = OwnedFd::from(stream.try_clone().unwrap());
    program.stdin(Stdio::from(input)).stdout(Stdio::from(OwnedFd::from(stream)));
    let mut child = program.stderr(Stdio::null()).spawn().unwrap();
    // The command holds copies of the connection.
    program.stdin(Stdio::null()).stdout(Stdio::null());
    child.wait().unwrap();
}
