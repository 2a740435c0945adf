//! Reads the client's own settings files: hooks, permission rules and mode, and what its worktrees
//! begin from.
//!
//! The highest-ranking file that sets a value decides: managed, local, project, user. Options of
//! the client's command line outrank all but the managed file, and are not visible here. Hooks and
//! permission rules of all files add up.
//!
//! Measured with 2.1.328 in `-p`: in an untrusted folder, the client ignores the allow rules of the
//! project's `settings.json`, with a line on standard error; it obeys the deny rules and all of
//! `settings.local.json`. Trust in a folder does not extend to its subfolders. Of the modes that a
//! project may set, the client ignores only `bypassPermissions`, trusted or not. The client reads
//! the worktree base from every file, trusted or not; it skips a value that it does not know and
//! goes on to the next weaker file.

use crate::git::litter;
use crate::process::ancestry::ClientShell;
use crate::project::safe_read;
use ralph_core::protocol::permission::Rules;
use ralph_core::protocol::sandbox::EXCLUDED;
use ralph_core::shell::quoted;
use serde_json::Value;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// `.claude.json`, the client's memory of all projects, may be large.
const LARGEST: u64 = 64 << 20;

/// The settings of everyone on this machine.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// The values of `worktree.baseRef` that the client knows.
const BASES: [&str; 2] = ["head", "fresh"];

/// Which settings file it is; a later one outranks an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsRank {
    User,
    /// Comes with the project, so others may have written it.
    Project,
    Local,
    /// An administrator's, for everyone on this machine.
    Managed,
}

impl fmt::Display for SettingsRank {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            SettingsRank::User => "user",
            SettingsRank::Project => "project",
            SettingsRank::Local => "local",
            SettingsRank::Managed => "managed",
        })
    }
}

/// A settings file that exists.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    pub rank: SettingsRank,
    pub path: PathBuf,
    /// The content, or why it cannot be read.
    pub value: Result<Value, String>,
}

/// Where the client looks.
#[derive(Debug, Clone)]
pub struct SettingsPaths {
    pub managed: PathBuf,
    /// The folder of the user's own settings.
    pub config: PathBuf,
    /// The client's memory of all projects.
    pub memory: PathBuf,
    pub project_root: PathBuf,
}

/// The settings files that apply to a session, lowest rank first.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    pub files: Vec<SettingsFile>,
    paths: SettingsPaths,
}

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeBase {
    /// `worktree.baseRef`.
    pub value: String,
    /// The file that sets it.
    pub file: PathBuf,
}

impl WorktreeBase {
    /// True if worktrees begin from the commit that is checked out, not from the remote's.
    pub fn is_head(&self) -> bool {
        self.value == "head"
    }
}

impl SettingsPaths {
    fn for_project(project_root: &Path) -> SettingsPaths {
        SettingsPaths::by(|name| std::env::var_os(name), project_root)
    }

    /// Where a client with these variables looks.
    fn by(variable: impl Fn(&str) -> Option<OsString>, project_root: &Path) -> SettingsPaths {
        let folder = variable("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty());
        let home = variable("HOME").map(PathBuf::from).unwrap_or_default();
        let (config, memory) = match folder.map(PathBuf::from) {
            Some(folder) => (folder.clone(), folder.join(".claude.json")),
            None => (home.join(".claude"), home.join(".claude.json")),
        };
        let project_root = project_root.to_owned();
        SettingsPaths { managed: MANAGED.into(), config, memory, project_root }
    }
}

impl ClientSettings {
    /// Reads the files that apply to a session in this folder.
    pub fn for_project(project_root: &Path) -> ClientSettings {
        ClientSettings::read(SettingsPaths::for_project(project_root))
    }

    /// Those of the client that started this shell.
    pub fn of_shell(shell: &ClientShell, project_root: &Path) -> ClientSettings {
        let variable = |name: &str| shell.variable(name).map(OsString::from);
        ClientSettings::read(SettingsPaths::by(variable, project_root))
    }

    /// True if a status line of these settings has Ralph run this command.
    pub fn has_statusline_with(&self, command: &str) -> bool {
        let mut lines =
            self.readable().filter_map(|(_, value)| value["statusLine"]["command"].as_str());
        lines.any(|line| line.contains(&format!("--with {}", quoted(command))))
    }

    pub fn read(paths: SettingsPaths) -> ClientSettings {
        let project = paths.project_root.join(".claude");
        let mut files: Vec<SettingsFile> = Vec::new();
        for (rank, path) in [
            (SettingsRank::User, paths.config.join("settings.json")),
            (SettingsRank::Project, project.join("settings.json")),
            (SettingsRank::Local, project.join("settings.local.json")),
            (SettingsRank::Managed, paths.managed.clone()),
        ] {
            // In the home folder, the project's file is the user's own.
            if files.iter().all(|file| file.path != path)
                && let Some(value) = document(&path)
            {
                files.push(SettingsFile { rank, path, value });
            }
        }
        ClientSettings { files, paths }
    }

    /// The readable files, with their content.
    pub fn readable(&self) -> impl DoubleEndedIterator<Item = (&SettingsFile, &Value)> {
        self.files.iter().filter_map(|file| Some((file, file.value.as_ref().ok()?)))
    }

    /// The value from the highest-ranking file that has one, and that file.
    pub fn strongest<'a, T>(
        &'a self,
        said: impl Fn(&'a Value) -> Option<T>,
    ) -> Option<(&'a SettingsFile, T)> {
        self.readable().rev().find_map(|(file, value)| Some((file, said(value)?)))
    }

    /// Why each unreadable file cannot be read.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.files.iter().filter_map(|file| {
            let error = file.value.as_ref().err()?;
            Some(format!("the {} settings `{}` {error}", file.rank, file.path.display()))
        })
    }

    pub fn permissions(&self) -> Permissions {
        let mut found = Permissions { problems: self.problems().collect(), ..Default::default() };
        let trusted = self.is_trusted(&mut found.problems);
        for (file, value) in self.readable().rev() {
            let list = |name: &str| strings(&value["permissions"][name]);
            found.rules.ask.extend(list("ask"));
            found.rules.deny.extend(list("deny"));
            match file.rank {
                SettingsRank::Project if !trusted => found.n_ignored += list("allow").len(),
                _ => found.rules.allow.extend(list("allow")),
            }
        }
        found.default_mode = self.default_mode();
        found
    }

    fn default_mode(&self) -> Option<String> {
        self.readable().rev().find_map(|(file, value)| {
            let of_project = matches!(file.rank, SettingsRank::Project | SettingsRank::Local);
            let mode = value["permissions"]["defaultMode"].as_str();
            mode.filter(|mode| !of_project || *mode != "bypassPermissions").map(str::to_owned)
        })
    }

    fn is_trusted(&self, problems: &mut Vec<String>) -> bool {
        let memory = match document(&self.paths.memory) {
            None => return false,
            Some(Ok(memory)) => memory,
            Some(Err(error)) => {
                problems.push(format!("`{}` {error}", self.paths.memory.display()));
                return false;
            }
        };
        let root = self.paths.project_root.canonicalize();
        let root = root.unwrap_or_else(|_| self.paths.project_root.clone());
        memory["projects"][&*root.to_string_lossy()]["hasTrustDialogAccepted"] == true
    }

    /// True if the sandbox of a session lets `ralph` run outside of it; `None` if these files do not
    /// switch the sandbox on. The lists of all files add up.
    pub fn sandbox_lets_ralph_out(&self) -> Option<bool> {
        let (_, is_on) = self.strongest(|value| value["sandbox"]["enabled"].as_bool())?;
        let mut lists = self.readable().map(|(_, value)| &value["sandbox"]["excludedCommands"]);
        let lets_out = |list: &Value| {
            strings(list).iter().any(|command| matches!(command.as_str(), EXCLUDED | "ralph:*"))
        };
        is_on.then(|| lists.any(lets_out))
    }

    /// The commands that the client runs outside of its sandbox.
    pub fn excluded_commands(&self) -> Vec<String> {
        let lists = self.readable().map(|(_, value)| &value["sandbox"]["excludedCommands"]);
        lists.flat_map(strings).collect()
    }

    /// Managed settings that outrank Ralph's flag against mods and do not switch them off themselves.
    /// Measured with 2.1.328: an empty object does not outrank it.
    pub fn leaves_mods_on(&self) -> Option<PathBuf> {
        const OFF: &str =
            "/pluginConfigs/cc-plugin-sec-default@builtin/options/allowManagedModsOnly";
        let managed = self.files.iter().find(|file| file.rank == SettingsRank::Managed);
        if let Some(file) = managed {
            let value = file.value.as_ref();
            if value.is_ok_and(|value| value.pointer(OFF) == Some(&Value::Bool(true))) {
                return None;
            }
            if value.ok().and_then(Value::as_object).is_none_or(|members| !members.is_empty()) {
                return Some(file.path.clone());
            }
        }
        let more = [
            self.paths.managed.with_extension("d"),
            self.paths.config.join("remote-settings.json"),
        ];
        more.into_iter().find(|path| path.exists())
    }

    /// What worktrees that the client makes for the session begin from. If no file sets it, the
    /// client uses `fresh`.
    pub fn worktree_base(&self) -> Option<WorktreeBase> {
        let known = |value: &&str| BASES.contains(value);
        let (file, value) =
            self.strongest(|value| value["worktree"]["baseRef"].as_str().filter(known))?;
        Some(WorktreeBase { value: value.to_owned(), file: file.path.clone() })
    }
}

/// Reads a JSON file; `None` if it does not exist. A dangling link is an error: it was meant
/// to lead to settings.
fn document(path: &Path) -> Option<Result<Value, String>> {
    let text = match safe_read::text(path, LARGEST) {
        Ok(None) if path.is_symlink() => {
            return Some(Err("is a link that leads nowhere".to_owned()));
        }
        // A sandboxed command sees an empty, read-only file in place of a missing one.
        Ok(text) => {
            text.filter(|text| !text.is_empty() || !litter::is_empty_and_read_only(path))?
        }
        Err(error) => return Some(Err(format!("cannot be read: {error:#}"))),
    };
    Some(serde_json::from_str(&text).map_err(|error| format!("is not valid JSON: {error}")))
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

    struct TestFolders(tempfile::TempDir);

    impl TestFolders {
        fn new() -> TestFolders {
            let place = TestFolders(tempfile::tempdir().unwrap());
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

        fn settings(&self) -> ClientSettings {
            let (root, config) = (self.root(), self.root().join("config"));
            ClientSettings::read(SettingsPaths {
                managed: root.join("managed.json"),
                memory: config.join(".claude.json"),
                config,
                project_root: root.join("project"),
            })
        }

        fn read(&self) -> Permissions {
            self.settings().permissions()
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
        let place = TestFolders::new();
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
        let place = TestFolders::new();
        place.trust(&place.root().join("project"));
        place.write("project/.claude/settings.json", &allowing("project", "bypassPermissions"));
        assert_eq!(place.read().default_mode, None);
        place.write("config/settings.json", &allowing("user", "bypassPermissions"));
        assert_eq!(place.read().default_mode.as_deref(), Some("bypassPermissions"));
    }

    #[test]
    fn a_sandbox_lets_ralph_out_if_any_file_says_so_and_the_strongest_switches_it() {
        let place = TestFolders::new();
        assert_eq!(place.settings().sandbox_lets_ralph_out(), None);
        place.write("config/settings.json", &json!({"sandbox": {"enabled": true}}));
        assert_eq!(place.settings().sandbox_lets_ralph_out(), Some(false));
        let out = |command: &str| json!({"sandbox": {"excludedCommands": ["docker *", command]}});
        place.write("project/.claude/settings.json", &out("ralph"));
        assert_eq!(place.settings().sandbox_lets_ralph_out(), Some(false));
        for command in ["ralph *", "ralph:*"] {
            place.write("project/.claude/settings.json", &out(command));
            assert_eq!(place.settings().sandbox_lets_ralph_out(), Some(true), "{command}");
        }
        place.write("managed.json", &json!({"sandbox": {"enabled": false}}));
        assert_eq!(place.settings().sandbox_lets_ralph_out(), None);
    }

    #[test]
    fn the_strongest_file_says_what_work_trees_begin_from() {
        let place = TestFolders::new();
        assert_eq!(place.settings().worktree_base(), None);
        let says = |value: &str| json!({"worktree": {"baseRef": value, "sparsePaths": []}});
        let mut found = Vec::new();
        for (file, value) in [
            ("config/settings.json", "fresh"),
            ("project/.claude/settings.json", "head"),
            ("project/.claude/settings.local.json", "fresh"),
            ("managed.json", "head"),
        ] {
            place.write(file, &says(value));
            let base = place.settings().worktree_base().unwrap();
            assert_eq!(base.file, place.root().join(file));
            found.push(base.is_head());
        }
        assert_eq!(found, [false, true, false, true]);
        place.write("managed.json", &says("newest"));
        let base = place.settings().worktree_base().unwrap();
        assert_eq!(base.value, "fresh", "an unknown word hides no weaker file");
    }

    #[test]
    fn no_files_say_nothing_and_a_broken_one_is_named() {
        let place = TestFolders::new();
        assert_eq!(place.read(), Permissions::default());
        fs::write(place.root().join("config/settings.json"), "{").unwrap();
        let problems = place.read().problems.join("");
        assert!(problems.contains("settings.json"), "{problems}");
    }
}
