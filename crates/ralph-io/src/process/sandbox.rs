//! A real repository for tests, isolated from the developer's configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    /// A folder without a repository.
    pub(crate) fn folder() -> Sandbox {
        Sandbox { folder: tempfile::tempdir().unwrap() }
    }

    /// A repository without commits.
    pub(crate) fn empty() -> Sandbox {
        let sandbox = Sandbox::folder();
        sandbox.git("init -q -b main");
        sandbox
    }

    /// A repository with one commit: `tracked`, `src/a.rs`, and `*.ignored` in its `.gitignore`.
    pub(crate) fn new() -> Sandbox {
        let sandbox = Sandbox::empty();
        sandbox.write("tracked", "one\n");
        sandbox.write("src/a.rs", "fn a() {}\n");
        sandbox.write(".gitignore", "*.ignored\n");
        sandbox.commit("first");
        sandbox
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn git(&self, arguments: &str) -> String {
        git_in(&self.root(), &arguments.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git("add -A");
        self.git(&format!("commit -q --allow-empty -m {message}"));
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        let path = self.path(name);
        if path.symlink_metadata().unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    pub(crate) fn link(&self, name: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// Runs git with an identity but no other configuration.
pub(crate) fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(folder)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {words}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
