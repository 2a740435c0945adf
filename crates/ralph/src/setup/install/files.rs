//! The skills and agents that an installation writes: those built into the executable, what is at their
//! paths, and the record of what was written.

use super::InstallScope;
use super::settings::Extras;
use crate::command::exit::{Exit, refused};
use anyhow::{Context, Result};
use ralph_core::text::hex;
use ralph_io::project::user_files::{self, TextFile};
use ralph_io::store::atomic;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

// The skills and agents built into the executable, so that one file is enough to install.
//
// A test compares this table with the folders `skills/` and `agents/`.

/// A file that is copied into the client's configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shipped {
    /// The path below the configuration folder, and in the repository.
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

impl Shipped {
    /// The text without the `hooks:` of its front matter, for an installation that registers the
    /// hooks elsewhere. With both, each hook would run twice.
    pub(crate) fn without_hooks(&self) -> String {
        let Some((front_matter, body)) =
            self.text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"))
        else {
            return self.text.to_owned();
        };
        let mut kept = String::from("---\n");
        let mut in_hooks = false;
        for line in front_matter.lines() {
            in_hooks = line == "hooks:" || (in_hooks && line.starts_with(' '));
            if !in_hooks {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        kept + "---\n" + body
    }
}

macro_rules! shipped {
    ($($path:literal),* $(,)?) => {
        &[$(Shipped {
            path: $path,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path)),
        }),*]
    };
}

pub(crate) const SHIPPED: &[Shipped] = shipped![
    "agents/Ralph-v2-Executor.md",
    "agents/Ralph-v2-Planner.md",
    "agents/Ralph-v2-Questioner.md",
    "agents/Ralph-v2-Reviewer.md",
    "agents/ralph-worker.md",
    "agents/ralplan-architect.md",
    "agents/ralplan-critic.md",
    "agents/ralplan-metis.md",
    "agents/ralplan-planner.md",
    "skills/ideate/SKILL.md",
    "skills/plan-refinery/SKILL.md",
    "skills/planloop/SKILL.md",
    "skills/ralph/SKILL.md",
    "skills/ralph-cancel/SKILL.md",
    "skills/ralph-parallel/SKILL.md",
    "skills/ralph-pause/SKILL.md",
    "skills/ralph-plan/SKILL.md",
    "skills/ralph-v2/SKILL.md",
    "skills/ralplan/SKILL.md",
    "skills/refine/SKILL.md",
    "skills/rp/SKILL.md",
];

/// A shipped file, and what is at its path.
#[derive(Debug)]
pub(crate) struct ShippedFile {
    /// The path below the configuration folder.
    pub(crate) name: &'static str,
    /// The full path.
    pub(crate) path: PathBuf,
    /// The text to write.
    pub(crate) text: String,
    /// Whether the path is reached through a symlink below the configuration folder, as after
    /// `stow`.
    pub(crate) linked: bool,
    /// The existing file, or why it cannot be read.
    pub(crate) found: Result<TextFile>,
    /// The text of the repository, which a user may have copied here.
    of_the_repository: &'static str,
}

/// What to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The file is missing.
    Write,
    /// An older text of Ralph's is there.
    Update,
    /// The current text is there.
    Current,
    /// The current text is there, through the user's symlink, which is the user's to remove.
    Linked,
    /// Another text is there.
    Keep,
}

impl Fate {
    pub(super) fn writes(self) -> bool {
        matches!(self, Fate::Write | Fate::Update)
    }
}

/// Looks at the path of every shipped file.
pub(crate) fn inspect_shipped(scope: &InstallScope) -> Vec<ShippedFile> {
    let target = |file: &Shipped| ShippedFile {
        of_the_repository: file.text,
        ..at(&scope.base, file.path, file.without_hooks())
    };
    SHIPPED.iter().map(target).collect()
}

/// Looks at one path below a folder.
pub(super) fn at(base: &Path, name: &'static str, text: String) -> ShippedFile {
    let path = base.join(name);
    let found = user_files::find(&path);
    let straight = user_files::real(base).map(|base| base.join(name));
    let linked = found.as_ref().is_ok_and(|found| Some(&found.real) != straight.as_ref());
    ShippedFile { name, path, text, linked, found, of_the_repository: "" }
}

/// The files that an earlier version wrote and this one does not have. One that the user has edited
/// is the user's.
pub(crate) fn retired(known: &[Copied]) -> Vec<PathBuf> {
    let is_shipped = |path: &Path| SHIPPED.iter().any(|file| path.ends_with(file.path));
    let is_unedited = |path: &Path| {
        let text = user_files::find(path).ok().and_then(|found| found.text);
        text.is_some_and(|text| wrote(known, path, &text))
    };
    let paths = known.iter().map(|copied| &copied.path);
    paths.filter(|path| !is_shipped(path) && is_unedited(path)).cloned().collect()
}

/// Decides by content: a text that Ralph did not write belongs to the user, whatever it claims.
pub(crate) fn decide(target: &ShippedFile, known: &[Copied]) -> Fate {
    let Ok(found) = &target.found else { return Fate::Keep };
    let Some(text) = &found.text else { return Fate::Write };
    match (*text == target.text, target.linked) {
        (true, true) => Fate::Linked,
        (true, false) => Fate::Current,
        (false, false) if text == target.of_the_repository => Fate::Update,
        (false, _) if wrote(known, &target.path, text) => Fate::Update,
        (false, _) => Fate::Keep,
    }
}

/// Whether Ralph wrote this text at this path.
pub(crate) fn wrote(known: &[Copied], path: &Path, text: &str) -> bool {
    known.iter().any(|copied| copied.path == path && copied.digest == hex::sha256(text))
}

/// A skill is a folder; without its file the empty folder is useless.
pub(crate) fn remove_folder_of_skill(file: &Path, scope: &InstallScope) {
    let folder = file.parent().filter(|folder| folder.parent() != Some(&scope.base));
    if let Some(folder) = folder {
        user_files::remove_empty_folder(folder);
    }
}

// `$RALPH_HOME/install.json`: what each installation did, so that it can be reversed exactly.
//
// It holds the earlier settings text, so that settings that did not change since can be restored
// to the byte, and the digest of each copied file, since a file that the user has edited belongs
// to the user.

const SCHEMA_VERSION: u32 = 1;

/// Every installation on this machine.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct InstallRecord {
    schema_version: u32,
    installs: Vec<Install>,
}

/// One installation, identified by its settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Install {
    /// The settings file, or the plugin's description, as it was named.
    pub(crate) settings: PathBuf,
    /// Its text without Ralph; `None` if there was no file.
    pub(crate) before: Option<String>,
    /// The digest of its text with Ralph.
    pub(crate) after: String,
    /// The version of the `ralph` that installed; `None` in a record of one that kept no version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(flatten)]
    pub(crate) extras: Extras,
    /// The skills and agents that Ralph wrote.
    pub(crate) files: Vec<Copied>,
    /// The folders that Ralph created, outermost first.
    pub(crate) folders: Vec<PathBuf>,
}

/// A file that Ralph wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copied {
    pub(crate) path: PathBuf,
    /// The SHA-256 of the text.
    pub(crate) digest: String,
}

impl InstallRecord {
    /// Reads the record; a missing file is an empty record.
    pub(crate) fn read(ralph_home: &Path) -> Result<InstallRecord> {
        let path = record_path(ralph_home);
        let Some(text) = user_files::find(&path)?.text else {
            return Ok(InstallRecord { schema_version: SCHEMA_VERSION, installs: Vec::new() });
        };
        let record: InstallRecord = serde_json::from_str(&text).map_err(|error| {
            let shown = path.display();
            refused(Exit::BadState, format!("could not read `{shown}` ({error}); move it away"))
        })?;
        if record.schema_version > SCHEMA_VERSION {
            let shown = path.display();
            let message = format!("`{shown}` was written by a newer ralph; use that one");
            return Err(refused(Exit::BadState, message));
        }
        Ok(record)
    }

    pub(crate) fn find_install(&self, settings: &Path) -> Option<&Install> {
        self.installs.iter().find(|install| install.settings == settings)
    }

    pub(crate) fn all(&self) -> &[Install] {
        &self.installs
    }

    pub(crate) fn settings(&self) -> impl Iterator<Item = &Path> {
        self.installs.iter().map(|install| install.settings.as_path())
    }

    /// Replaces or removes the installation for this settings file, and writes the record.
    pub(crate) fn write(
        mut self,
        ralph_home: &Path,
        settings: &Path,
        install: Option<Install>,
    ) -> Result<()> {
        self.installs.retain(|known| known.settings != settings);
        self.installs.extend(install);
        user_files::make_folders(ralph_home, 0o700)?;
        let mut text = serde_json::to_string_pretty(&self).context("could not write the record")?;
        text.push('\n');
        atomic::write(&record_path(ralph_home), text.as_bytes())
    }
}

fn record_path(ralph_home: &Path) -> PathBuf {
    ralph_home.join("install.json")
}

#[cfg(test)]
mod shipped_tests {
    use super::*;
    use ralph_core::protocol::loaded;
    use std::path::Path;

    #[test]
    fn an_installed_skill_has_everything_but_hooks() {
        let skill = SHIPPED.iter().find(|file| file.path == "skills/ralph/SKILL.md").unwrap();
        let text = skill.without_hooks();
        assert!(skill.text.contains("command: ralph-stop-hook"));
        assert!(!text.contains("hooks:\n") && !text.contains("command: ralph-"), "{text}");
        assert!(text.contains("name: ralph\n") && text.contains("allowed-tools: "), "{text}");
        let body = |text: &str| text.split_once("\n---\n").unwrap().1.to_owned();
        assert_eq!(body(&text), body(skill.text));
        let agent = SHIPPED.iter().find(|file| file.path == "agents/ralph-worker.md").unwrap();
        assert_eq!(agent.without_hooks(), agent.text);
    }

    #[test]
    fn every_file_below_skills_and_agents_is_in_the_table() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        for folder in ["skills", "agents"] {
            list(&root, folder, &mut found);
        }
        let mut known: Vec<String> = SHIPPED.iter().map(|file| file.path.to_owned()).collect();
        found.sort();
        known.sort();
        assert_eq!(found, known);
    }

    #[test]
    fn every_agent_is_known_as_one_of_ralphs() {
        for file in SHIPPED.iter().filter(|file| file.path.starts_with("agents/")) {
            let name = Path::new(file.path).file_stem().unwrap().to_str().unwrap();
            assert!(
                loaded::is_shipped(name) && loaded::replaces(file.text, "").is_none(),
                "{name}"
            );
        }
    }

    fn list(root: &Path, folder: &str, found: &mut Vec<String>) {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return };
        for entry in entries.flatten() {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => list(root, &path, found),
                false => found.push(path),
            }
        }
    }
}
