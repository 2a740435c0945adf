//! The client's sandbox in a round: what its commands may reach, and the settings that say so.

use crate::command::context_dir::Here;
use anyhow::Result;
use ralph_core::project::bounds::{Bounds, BoundsInput, GitFolders, is_below};
use ralph_core::project::settings::SandboxSettings;
use ralph_core::protocol::sandbox::SandboxReach;
use ralph_io::client;
use ralph_io::git::{hooks_folder, repository, tree};
use ralph_io::process::programs;
use ralph_io::project::identity;
use ralph_io::project::settings::{self, user_folder};
use ralph_io::project::user_files;
use ralph_io::store::digest;
use ralph_io::store::home::Home;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The bounds of a loop that works in this folder of the project, from the settings as they are now.
pub(crate) fn bounds(here: &Here, root: &Path) -> Bounds {
    with_settings(here, root, settings::read(&here.home, &here.root).0.sandbox())
}

/// The bounds of a worker in this folder, below a loop with these bounds.
pub(crate) fn bounds_of_worker(here: &Here, folder: &Path, above: &Bounds) -> Bounds {
    above.for_worker(with_settings(here, folder, SandboxSettings::default()))
}

fn with_settings(here: &Here, root: &Path, settings: SandboxSettings) -> Bounds {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let text = |path: &Path| real(path).to_string_lossy().into_owned();
    let root = real(root);
    let repository = repository::around(&root);
    let hooks = repository.as_ref().and_then(|it| hooks_folder(&it.top)).map(|path| text(&path));
    let git = repository.map(|it| (text(it.own()), text(it.common())));
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let config = user_folder().unwrap_or_default();
    Bounds::from_input(&BoundsInput {
        project_root: &text(&root),
        git: git.as_ref().map(|(own, common)| GitFolders {
            own,
            common,
            hooks_path: hooks.as_deref(),
        }),
        home: &text(&home),
        ralph_home: &text(here.home.root()),
        ralph_config: &text(&config),
        client_config: &text(&client::config_dir().unwrap_or_default()),
        settings,
    })
}

/// What the client's commands may reach within these bounds.
pub(crate) fn reach(here: &Here, bounds: &Bounds) -> SandboxReach {
    let executables = programs::running().ok().and_then(|path| Some(path.parent()?.to_owned()));
    // What no entry allows cannot be written anyway.
    let is_writable = |path: &String| bounds.write.iter().any(|folder| is_below(path, folder));
    let beside = texts(executables).into_iter().filter(is_writable);
    let host = |host: &String| host.split(':').next().unwrap_or_default().to_owned();
    let handed_over = here.home.root().to_string_lossy().into_owned();
    SandboxReach {
        // The working folder is writable, and the client knows the git folders of a worktree.
        allow_write: bounds.write.iter().skip(1).cloned().collect(),
        deny_write: bounds.write_deny.iter().cloned().chain(beside).filter(is_writable).collect(),
        deny_read: bounds.read_deny.clone(),
        hosts: bounds.hosts.iter().map(host).collect(),
        sockets: bounds.sockets.clone(),
        handed_over: vec![handed_over],
        runs_ralph_outside: true,
    }
}

/// The files by which a project governs its loops.
fn of_project(root: &Path) -> [PathBuf; 2] {
    ["ralph.toml", "ralph"].map(|name| root.join(".claude").join(name))
}

fn texts(paths: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
    let mut all: Vec<String> =
        paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect();
    all.sort();
    all.dedup();
    all
}

/// The reach of a client in this folder, as it is now: the client ignores a folder that is writable
/// and does not exist, and a worktree has files of its own to protect.
pub(super) fn in_folder(reach: &SandboxReach, folder: &Path) -> SandboxReach {
    let mut found = reach.clone();
    found.allow_write.retain(|path| Path::new(path).exists());
    let more = of_project(folder).into_iter();
    found.deny_write = texts(found.deny_write.iter().map(PathBuf::from).chain(more));
    found.deny_write.retain(|path| may_be_denied(Path::new(path)));
    found
}

/// False for a file that must not be there: where a denied file does not exist, the sandbox puts an
/// empty one for as long as a command runs, and git would take an empty `commondir` for its own.
fn may_be_denied(path: &Path) -> bool {
    let is_ours = path.parent().is_some_and(|folder| folder.ends_with(".claude"));
    path.exists() || is_ours || path.file_name().is_some_and(|name| name == "packed-refs")
}

/// The denied files by which git would use another repository, and that do not exist: the
/// sandbox does not protect them.
pub(super) fn unprotected(reach: &SandboxReach) -> Vec<PathBuf> {
    // The client makes an empty `config.worktree` itself.
    let redirects = |path: &PathBuf| path.ends_with("commondir");
    let denied = reach.deny_write.iter().map(PathBuf::from);
    denied.filter(|path| redirects(path) && !may_be_denied(path)).collect()
}

/// Removes those that a round has made; returns what to tell the user.
pub(super) fn take_back(absent: &[PathBuf]) -> Vec<String> {
    let made = absent.iter().filter(|path| path.symlink_metadata().is_ok());
    made.map(|path| {
        let removed = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        let what = if removed.is_ok() { "removed" } else { "could not be removed" };
        format!("the round made `{}`, which was {what}", path.display())
    })
    .collect()
}

/// `PATH` with the folders in which commands of the sandbox can write behind the one that has
/// `ralph`: a line `ralph …` runs outside, and must not run a program that the model wrote. `None`
/// if it may stay as it is.
pub(super) fn safe_path(folder: &Path) -> Option<OsString> {
    let path = std::env::var_os("PATH")?;
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    reordered(&path, |entry| {
        let real = entry.canonicalize().unwrap_or_else(|_| entry.to_owned());
        !entry.is_absolute() || real.starts_with(&folder)
    })
}

fn reordered(path: &OsStr, is_writable: impl Fn(&Path) -> bool) -> Option<OsString> {
    let all: Vec<PathBuf> = std::env::split_paths(path).collect();
    let (last, first): (Vec<PathBuf>, Vec<PathBuf>) =
        all.iter().cloned().partition(|entry| is_writable(entry));
    let ordered: Vec<PathBuf> = first.into_iter().chain(last).collect();
    (ordered != all).then(|| std::env::join_paths(ordered).ok()).flatten()
}

/// The files in a round's folder that a sandbox may leave there, besides those that it always has.
pub(super) fn protected(reach: &SandboxReach) -> Vec<PathBuf> {
    reach.deny_write.iter().map(PathBuf::from).collect()
}

/// The note of what is in a folder before a client starts there.
pub(super) fn note(home: &Home, folder: &Path) -> Result<PathBuf> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = digest::of_bytes(real.as_os_str().as_encoded_bytes());
    let rounds = home.root().join("rounds");
    user_files::make_folders(&rounds, 0o700)?;
    Ok(rounds.join(format!("before-{name}")))
}

/// Makes the folder of Ralph's refs: where it does not exist, the sandbox puts an empty file.
pub(super) fn make_refs(folder: &Path) {
    if tree::repository_root(folder).is_some() {
        // Without it, a checkpoint fails later with its own message.
        let _ = std::fs::create_dir_all(identity(folder).join("refs/ralph"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_which_the_model_writes_come_last_on_the_path() {
        let writable = |entry: &Path| entry.starts_with("/p") || entry.is_relative();
        let path = |text: &str| reordered(OsStr::new(text), writable);
        assert_eq!(path("/usr/bin:/bin"), None);
        assert_eq!(path("/p/bin:/usr/bin:.:/bin"), Some("/usr/bin:/bin:/p/bin:.".into()));
        assert_eq!(path("/usr/bin:/p/bin"), None);
    }

    #[test]
    fn what_a_round_made_of_another_repository_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("git")).unwrap();
        std::fs::write(at("git/commondir"), "x").unwrap();
        let denied = ["git/commondir", "new/commondir", "new/config"].map(at);
        let reach = SandboxReach { deny_write: texts(denied), ..SandboxReach::default() };
        let absent = unprotected(&reach);
        assert_eq!(absent, [at("new/commondir")], "what is there, the sandbox protects");
        assert_eq!(take_back(&absent), [""; 0]);
        std::fs::create_dir(at("new")).unwrap();
        std::fs::write(at("new/commondir"), "../git").unwrap();
        let said = format!("the round made `{}`, which was removed", at("new/commondir").display());
        assert_eq!(take_back(&absent), [said.as_str()]);
        assert!(!at("new/commondir").exists() && at("git/commondir").exists());
        std::fs::create_dir(at("new/commondir")).unwrap();
        assert_eq!(take_back(&absent), [said.as_str()]);
        assert!(!at("new/commondir").exists());
    }

    #[test]
    fn a_path_without_folders_of_the_project_stays_as_it_is() {
        assert_eq!(safe_path(tempfile::tempdir().unwrap().path()), None);
        let path = std::env::var_os("PATH").unwrap();
        let first = std::env::split_paths(&path).next().unwrap();
        let safe = safe_path(&first).unwrap();
        assert_ne!(std::env::split_paths(&safe).next(), Some(first));
    }
}
