//! A bare repository that is served on loopback, with the troubles of a real host.
//!
//! `git daemon`, `git http-backend` and `sshd` answer for it, one process for each connection, behind a
//! listener that can refuse, silence or cut connections while they are open.

mod cgi;
mod front;
mod harm;
mod programs;

pub use front::{Fault, Traffic};

use crate::Run;
use front::Front;
use programs::Programs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// How clients reach the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// By its path, without a listener: no connection can fail.
    File,
    Daemon,
    Http,
    Ssh,
}

/// Where the repository is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    Files,
    Reftable,
    /// A file system of some megabytes, which [`GitServer::fill_disk`] fills.
    SmallDisk,
}

/// A served repository; its processes end and its files are removed with it.
pub struct GitServer {
    folder: TempDir,
    transport: Transport,
    storage: Storage,
    front: Option<Front>,
}

/// Every git here is this machine's own, without the developer's configuration.
const ENVIRONMENT: [(&str, &str); 2] =
    [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];

const PATIENCE: Duration = Duration::from_secs(120);

impl GitServer {
    /// Serves a new repository. If this computer cannot, that is reported; a missing program fails
    /// the proof, a missing right does not.
    pub fn start_or_skip(transport: Transport, storage: Storage) -> Option<GitServer> {
        let started = GitServer::start(transport, storage);
        if let Err(why) = &started {
            eprintln!("SKIPPED {transport:?} with {storage:?}: {why}");
            let is_required = storage != Storage::SmallDisk;
            assert!(!is_required || std::env::var_os("RALPH_PROOF").is_none(), "{why}");
        }
        started.ok()
    }

    /// Serves a new repository with one commit on `main`.
    ///
    /// # Errors
    /// The reason why this machine cannot: a program is missing, or a right.
    pub fn start(transport: Transport, storage: Storage) -> Result<GitServer, String> {
        let folder = crate::private_folder("ralph-git-");
        fs::create_dir(folder.path().join("served")).unwrap();
        let mut server = GitServer { folder, transport, storage, front: None };
        if storage == Storage::SmallDisk {
            server.mount_small_disk()?;
        }
        server.make_repository();
        let programs = Programs::new(server.folder.path());
        server.front = match transport {
            Transport::File => None,
            Transport::Daemon => Some(Front::before(move |stream| programs.daemon(stream))),
            Transport::Http => Some(Front::before(move |stream| cgi::answer(stream, &programs))),
            Transport::Ssh => {
                let sshd = programs.prepare_sshd()?;
                Some(Front::before(move |stream| programs.sshd(&sshd, stream)))
            }
        };
        Ok(server)
    }

    fn make_repository(&self) {
        let format = if self.storage == Storage::Reftable { "reftable" } else { "files" };
        let format = format!("--ref-format={format}");
        let repository = self.repository();
        let path = repository.to_str().unwrap();
        git(self.folder.path(), &["init", "-q", "--bare", "-b", "main", &format, path]);
        for setting in [
            ["http.receivepack", "true"],
            // A collection in the background would outlive its push.
            ["receive.autogc", "false"],
        ] {
            self.git(&["config", setting[0], setting[1]]);
        }
        let tree = self.git(&["mktree"]);
        let first = self.git(&["commit-tree", "-m", "Start", &tree]);
        self.git(&["update-ref", "refs/heads/main", &first]);
    }

    /// The bare repository itself.
    pub fn repository(&self) -> PathBuf {
        self.served().join("remote.git")
    }

    fn served(&self) -> PathBuf {
        self.folder.path().join("served")
    }

    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        let Some(front) = &self.front else { return self.repository().display().to_string() };
        let port = front.port();
        match self.transport {
            Transport::Daemon => format!("git://127.0.0.1:{port}/remote.git"),
            Transport::Http => format!("http://127.0.0.1:{port}/remote.git"),
            _ => format!("ssh://127.0.0.1:{port}{}", self.repository().display()),
        }
    }

    /// Makes a clone, which is configured so that its git reaches the server.
    pub fn clone_into(&self, folder: &Path) {
        let ssh = format!("core.sshCommand={}", Programs::new(self.folder.path()).ssh());
        let (url, path) = (self.url(), folder.to_str().unwrap());
        git(self.folder.path(), &["clone", "-q", "-c", &ssh, &url, path]);
    }

    /// Runs git in the bare repository, beside the server; it must succeed.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.repository(), arguments)
    }

    /// Changes what happens to connections from now on.
    ///
    /// # Panics
    /// If clients reach the repository by its path.
    pub fn set(&self, fault: Fault) {
        self.front.as_ref().expect("a repository that is served").set(fault);
    }

    /// The connections and bytes so far.
    pub fn traffic(&self) -> Traffic {
        self.front.as_ref().map(Front::traffic).unwrap_or_default()
    }
}

/// Runs git with nothing of the developer's; it must succeed.
#[track_caller]
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(ENVIRONMENT);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Test");
        command.env(format!("GIT_{who}_EMAIL"), "test@example.invalid");
    }
    Run::of(command, "", PATIENCE).exits(0).stdout.trim_end().to_owned()
}
