//! The files by which a project tells the client what to run and to allow, and which of them the
//! user trusts.

use crate::git::tree;
use crate::project::{identity, safe_read, settings};
use crate::store::home::Home;
use anyhow::Result;
use ralph_core::protocol::sandbox::widening::{self, WithinBounds};
use serde_json::Value;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Such files fit on some pages.
const LARGEST: u64 = 4 << 20;

/// Files with front matter below a folder of the client; those beyond are not expected.
const MOST: usize = 2_000;
const DEEPEST: usize = 5;

/// A file that would widen the bounds of a client's round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WideningFile {
    pub path: PathBuf,
    /// The first member that does it, or why the file cannot be read.
    pub member: String,
    pub text: String,
    /// Under which name the user's trust in it is kept: the project's, so that it holds in each
    /// worktree.
    key: PathBuf,
}

impl WideningFile {
    /// True if the user has read and trusts exactly this content.
    pub fn is_trusted(&self, home: &Home) -> bool {
        settings::is_file_trusted(home, &self.key, &self.text)
    }

    /// Records that the user trusts this content.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn trust(&self, home: &Home) -> Result<()> {
        settings::trust_file(home, &self.key, &self.text)
    }
}

/// The files that widen the bounds of a client that is started in this folder.
pub fn widening(folder: &Path, within: &WithinBounds<'_>) -> Vec<WideningFile> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let top = tree::repository_root(&folder).unwrap_or_else(|| folder.clone());
    let project = identity(&folder);
    // The client looks for servers and agents in the folders above as well.
    let folders = folder.ancestors().take_while(|place| place.starts_with(&top));
    let mut found = Vec::new();
    for path in folders.flat_map(candidates) {
        let Some((member, text)) = of_file(&path, within) else { continue };
        let key = project.join(path.strip_prefix(&top).unwrap_or(&path));
        found.push(WideningFile { path, member, text, key });
    }
    found
}

fn candidates(folder: &Path) -> Vec<PathBuf> {
    let client = folder.join(".claude");
    let mut all = vec![client.join("settings.json"), client.join("settings.local.json")];
    all.push(folder.join(".mcp.json"));
    for name in ["agents", "skills", "commands"] {
        let walk = WalkDir::new(client.join(name)).max_depth(DEEPEST).follow_links(true);
        let files = walk.sort_by_file_name().into_iter().flatten().map(DirEntry::into_path);
        let texts = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
        all.extend(texts.filter(|path| !path.is_dir()).take(MOST));
    }
    all
}

fn of_file(path: &Path, within: &WithinBounds<'_>) -> Option<(String, String)> {
    let text = match safe_read::text(path, LARGEST) {
        Ok(text) => text?,
        Err(error) => return Some((format!("it cannot be read ({error:#})"), String::new())),
    };
    let member = if path.extension().is_some_and(|end| end == "md") {
        widening::of_front_matter(&text)
    } else {
        match serde_json::from_str::<Value>(&text) {
            // The client ignores an empty file.
            Err(_) if text.trim().is_empty() => None,
            Err(error) => Some(format!("it is not valid JSON ({error})")),
            Ok(value) if path.ends_with(".mcp.json") => widening::server(&value),
            Ok(value) => within.member_of_settings(&value),
        }
    };
    Some((member?, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use ralph_core::protocol::sandbox::SandboxReach;

    fn found(at: &Sandbox, folder: &str) -> Vec<WideningFile> {
        let reach = SandboxReach::default();
        widening(&at.path(folder), &WithinBounds { reach: &reach, executables: "/opt" })
    }

    #[test]
    fn trust_holds_for_one_content_of_a_file_in_all_worktrees_of_a_project() {
        let at = Sandbox::new();
        at.write(".mcp.json", r#"{"mcpServers": {"m": {"command": "x"}}}"#);
        at.write(".claude/settings.json", r#"{"model": "opus"}"#);
        at.write(".claude/agents/deep/a.md", "---\nname: a\nhooks:\n  Stop: []\n---\n");
        at.commit("more");
        at.git("worktree add -q other");
        let members = |files: &[WideningFile]| {
            files.iter().map(|file| file.member.clone()).collect::<Vec<_>>().join(" ")
        };
        let files = found(&at, "src");
        assert_eq!(members(&files), "mcpServers.m hooks");
        let home = Home::at(at.path("ralph"));
        assert!(!files.iter().any(|file| file.is_trusted(&home)));
        files.iter().for_each(|file| file.trust(&home).unwrap());
        let there = found(&at, "other");
        assert_eq!(there.len(), 2);
        assert!(there.iter().all(|file| file.is_trusted(&home)));
        at.write("other/.mcp.json", r#"{"mcpServers": {"m": {"command": "y"}}}"#);
        let changed = found(&at, "other");
        assert!(!changed[0].is_trusted(&home) && changed[1].is_trusted(&home));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_with_the_reason() {
        let at = Sandbox::folder();
        at.write(".claude/settings.json", "{");
        at.write(".claude/settings.local.json", "\n");
        let [file] = &found(&at, ".")[..] else { panic!("one file is broken") };
        assert!(file.path.ends_with("settings.json") && file.member.contains("not valid JSON"));
    }
}
