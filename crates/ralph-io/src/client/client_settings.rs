//! Reads the client's own settings: its permission rules and mode, and what its worktrees begin
//! from.
//!
//! Measured with 2.1.328 in `-p`: in an untrusted folder, the client ignores the allow rules of the
//! project's `settings.json`, with a line on standard error; it obeys the deny rules and all of
//! `settings.local.json`. Trust in a folder does not extend to its subfolders. Of the modes that a
//! project may set, the client ignores only `bypassPermissions`, trusted or not. The client reads
//! the worktree base from every file, trusted or not; it skips a value that it does not know and
//! goes on to the next weaker file.

use crate::project::safe_read;
use ralph_core::protocol::permission::Rules;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// `.claude.json`, the client's memory of all projects, may be large.
const LARGEST: u64 = 64 << 20;

/// The settings of everyone on this machine.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// The values of `worktree.baseRef` that the client knows.
const BASES: [&str; 2] = ["head", "fresh"];

/// What the client's settings files say about permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// The rules of all files together.
    pub rules: Rules,
    /// The mode of a session started without an explicit one.
    pub default_mode: Option<String>,
    /// How many of the project's rules are ignored because its folder is not trusted.
    pub n_ignored: usize,
    /// Files that could not be read, as messages.
    pub problems: Vec<String>,
}

/// What a new worktree of the client begins from, according to the settings files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeBase {
    /// `worktree.baseRef`. If no file sets it, the client uses `fresh`.
    pub value: Option<String>,
    /// The file that sets it.
    pub file: Option<PathBuf>,
    /// Files that could not be read, as messages.
    pub problems: Vec<String>,
}

impl WorktreeBase {
    /// True if worktrees begin from the commit that is checked out, not from the remote's.
    pub fn is_head(&self) -> bool {
        self.value.as_deref() == Some("head")
    }
}

/// Reads the settings files that apply to a session in this folder.
pub fn permissions(project_root: &Path) -> Permissions {
    read(&Files::of(project_root))
}

/// The settings file of everyone on this machine.
pub fn managed() -> PathBuf {
    PathBuf::from(MANAGED)
}

/// Finds what worktrees that the client makes for a session in this folder begin from.
pub fn worktree_base(project_root: &Path) -> WorktreeBase {
    read_worktree_base(&Files::of(project_root))
}

struct Files {
    managed: PathBuf,
    config: PathBuf,
    memory: PathBuf,
    project_root: PathBuf,
}

impl Files {
    fn of(project_root: &Path) -> Files {
        let folder = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty());
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let (config, memory) = match folder.map(PathBuf::from) {
            Some(folder) => (folder.clone(), folder.join(".claude.json")),
            None => (home.join(".claude"), home.join(".claude.json")),
        };
        let project_root = project_root.to_owned();
        Files { managed: managed(), config, memory, project_root }
    }

    /// From the strongest to the weakest: the first file that sets a value wins.
    fn by_strength(&self) -> [(PathBuf, SettingsFileKind); 4] {
        let own = self.project_root.join(".claude");
        [
            (self.managed.clone(), SettingsFileKind::Managed),
            (own.join("settings.local.json"), SettingsFileKind::Local),
            (own.join("settings.json"), SettingsFileKind::Project),
            (self.config.join("settings.json"), SettingsFileKind::User),
        ]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingsFileKind {
    Managed,
    Local,
    Project,
    User,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingsOwner {
    /// A file of the user or of the machine.
    Person,
    /// A file that may have come with a repository.
    Project { may_allow: bool },
}

fn read(files: &Files) -> Permissions {
    let mut found = Permissions::default();
    let trusted = is_trusted(files, &mut found.problems);
    for (path, place) in files.by_strength() {
        let owner = match place {
            SettingsFileKind::Managed | SettingsFileKind::User => SettingsOwner::Person,
            SettingsFileKind::Local => SettingsOwner::Project { may_allow: true },
            SettingsFileKind::Project => SettingsOwner::Project { may_allow: trusted },
        };
        let Some(document) = document(&path, &mut found.problems) else { continue };
        let list = |name: &str| strings(&document["permissions"][name]);
        found.rules.ask.extend(list("ask"));
        found.rules.deny.extend(list("deny"));
        match owner {
            SettingsOwner::Project { may_allow: false } => found.n_ignored += list("allow").len(),
            SettingsOwner::Project { .. } | SettingsOwner::Person => {
                found.rules.allow.extend(list("allow"))
            }
        }
        let may_set = |mode: &&str| owner == SettingsOwner::Person || *mode != "bypassPermissions";
        let mode = document["permissions"]["defaultMode"].as_str().filter(may_set);
        found.default_mode = found.default_mode.or(mode.map(str::to_owned));
    }
    found
}

fn read_worktree_base(files: &Files) -> WorktreeBase {
    let mut found = WorktreeBase::default();
    for (path, _) in files.by_strength() {
        let Some(document) = document(&path, &mut found.problems) else { continue };
        let value = document["worktree"]["baseRef"].as_str();
        let value = value.filter(|value| found.value.is_none() && BASES.contains(value));
        if let Some(value) = value {
            (found.value, found.file) = (Some(value.to_owned()), Some(path));
        }
    }
    found
}

fn is_trusted(files: &Files, problems: &mut Vec<String>) -> bool {
    let Some(memory) = document(&files.memory, problems) else { return false };
    let root = files.project_root.canonicalize();
    let root = root.unwrap_or_else(|_| files.project_root.to_owned());
    let known = &memory["projects"][&*root.to_string_lossy()];
    known["hasTrustDialogAccepted"].as_bool() == Some(true)
}

fn document(path: &Path, problems: &mut Vec<String>) -> Option<Value> {
    let text = safe_read::text(path, LARGEST).unwrap_or_else(|error| {
        problems.push(format!("{error:#}"));
        None
    })?;
    serde_json::from_str(&text)
        .map_err(|error| problems.push(format!("could not use `{}`: {error}", path.display())))
        .ok()
}

fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Place {
            let place = Place(tempfile::tempdir().unwrap());
            fs::create_dir_all(place.root().join("project/.claude")).unwrap();
            fs::create_dir(place.root().join("config")).unwrap();
            place
        }

        fn root(&self) -> PathBuf {
            self.0.path().canonicalize().unwrap()
        }

        fn write(&self, name: &str, document: &Value) {
            fs::write(self.root().join(name), document.to_string()).unwrap();
        }

        fn files(&self) -> Files {
            let (root, config) = (self.root(), self.root().join("config"));
            Files {
                managed: root.join("managed.json"),
                memory: config.join(".claude.json"),
                config,
                project_root: root.join("project"),
            }
        }

        fn read(&self) -> Permissions {
            read(&self.files())
        }

        fn trust(&self, folder: &Path) {
            let folder = folder.display().to_string();
            let projects = json!({folder: {"hasTrustDialogAccepted": true}});
            self.write("config/.claude.json", &json!({"projects": projects}));
        }
    }

    fn allowing(rule: &str, mode: &str) -> Value {
        json!({"permissions": {"allow": [rule], "deny": [format!("not {rule}")], "defaultMode": mode}})
    }

    #[test]
    fn what_a_project_allows_counts_only_where_it_is_trusted() {
        let place = Place::new();
        place.write("project/.claude/settings.json", &allowing("project", "plan"));
        place.write("project/.claude/settings.local.json", &allowing("local", "bypassPermissions"));
        place.write("config/settings.json", &allowing("user", "acceptEdits"));
        place.trust(&place.root());
        let found = place.read();
        assert_eq!((found.rules.allow.join(" "), found.n_ignored), ("local user".to_owned(), 1));
        assert_eq!(found.rules.deny.join(", "), "not local, not project, not user");
        assert_eq!(found.default_mode.as_deref(), Some("plan"));
        place.trust(&place.root().join("project"));
        assert_eq!(place.read().rules.allow.join(" "), "local project user");
    }

    #[test]
    fn only_the_persons_own_file_skips_all_permissions() {
        let place = Place::new();
        place.trust(&place.root().join("project"));
        place.write("project/.claude/settings.json", &allowing("project", "bypassPermissions"));
        assert_eq!(place.read().default_mode, None);
        place.write("config/settings.json", &allowing("user", "bypassPermissions"));
        assert_eq!(place.read().default_mode.as_deref(), Some("bypassPermissions"));
    }

    #[test]
    fn the_strongest_file_says_what_work_trees_begin_from() {
        let place = Place::new();
        assert_eq!(read_worktree_base(&place.files()), WorktreeBase::default());
        let says = |value: &str| json!({"worktree": {"baseRef": value, "sparsePaths": []}});
        let mut found = Vec::new();
        for (file, value) in [
            ("config/settings.json", "fresh"),
            ("project/.claude/settings.json", "head"),
            ("project/.claude/settings.local.json", "fresh"),
            ("managed.json", "head"),
        ] {
            place.write(file, &says(value));
            let base = read_worktree_base(&place.files());
            assert_eq!(base.file, Some(place.root().join(file)));
            found.push(base.is_head());
        }
        assert_eq!(found, [false, true, false, true]);
        place.write("managed.json", &says("newest"));
        let base = read_worktree_base(&place.files());
        assert_eq!(base.value.as_deref(), Some("fresh"), "an unknown word hides no weaker file");
    }

    #[test]
    fn no_files_say_nothing_and_a_broken_one_is_named() {
        let place = Place::new();
        assert_eq!(place.read(), Permissions::default());
        fs::write(place.root().join("config/settings.json"), "{").unwrap();
        let problems = place.read().problems.join("");
        assert!(problems.contains("settings.json"), "{problems}");
    }
}
