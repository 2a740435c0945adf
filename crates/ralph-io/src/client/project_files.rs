//! The files by which a project tells the client what to run and to allow, and which of them the
//! user trusts.

use super::config_dir;
use crate::git::{repository, tree};
use crate::project::{identity, safe_read, settings};
use crate::store::home::Home;
use anyhow::Result;
use ralph_core::protocol::agents;
use ralph_core::protocol::sandbox::widening::{self, WithinBounds};
use serde_json::Value;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Such files fit on some pages.
const LARGEST: u64 = 4 << 20;

/// Files with front matter below a folder of the client; those beyond are not expected.
const MOST: usize = 2_000;
const DEEPEST: usize = 40;

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
        all.extend(texts(&client.join(name)).take(MOST));
    }
    all
}

fn texts(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let walk = WalkDir::new(folder).max_depth(DEEPEST).follow_links(true);
    let files = walk.sort_by_file_name().into_iter().flatten().map(DirEntry::into_path);
    let texts = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
    texts.filter(|path| !path.is_dir())
}

/// What would take the place of one of Ralph's agents in a client that is started in this folder, as words; `None`
/// if nothing would. The user's own files may: only those of the project are looked at.
pub fn foreign_agent(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let around = repository::around(&folder);
    // Measured: without a repository the client looks in all folders above, and in a linked worktree in the main one.
    let top = around.as_ref().map_or(Path::new("/"), |it| &it.top);
    let main = around.as_ref().and_then(repository::Repository::main_work_tree);
    let above = folder.ancestors().take_while(|place| place.starts_with(top));
    let places = above.map(Path::to_owned).chain(main).map(|place| place.join(".claude"));
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".claude"));
    let real = |path: &Path| path.canonicalize().ok();
    let own: Vec<PathBuf> =
        config_dir().into_iter().chain(home).filter_map(|it| real(&it)).collect();
    let places = places.filter(|place| !real(place).is_some_and(|place| own.contains(&place)));
    places.into_iter().find_map(|place| {
        let skills = place.join("skills").read_dir().into_iter().flatten().flatten();
        // The agents of a plugin, which are called `<plugin>:<name>`, and after the file if they have no name.
        let plugins =
            skills.map(|skill| skill.path()).filter(|it| it.join(".claude-plugin").exists());
        let all =
            std::iter::once((place.join("agents"), false)).chain(plugins.map(|it| (it, true)));
        all.into_iter().find_map(|(folder, is_plugin)| foreign_in(&folder, is_plugin))
    })
}

fn foreign_in(folder: &Path, is_plugin: bool) -> Option<String> {
    texts(folder).enumerate().find_map(|(n, path)| {
        let stem = path.file_stem().filter(|_| is_plugin).unwrap_or_default().to_string_lossy();
        let what = match safe_read::read(&path, LARGEST) {
            _ if n >= MOST => "one of too many files to read".to_owned(),
            Ok(None) => return None,
            Ok(Some(bytes)) => agents::replaces(&String::from_utf8_lossy(&bytes), &stem)?,
            Err(error) => format!("a file that cannot be read ({error:#})"),
        };
        Some(format!(
            "`{}` is {what}; read it, then remove it or give it another name",
            path.display()
        ))
    })
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
    fn an_agent_is_looked_for_where_the_client_takes_it() {
        const CRITIC: &str = "---\nname: ralplan-critic\n---\n";
        let at = Sandbox::new();
        at.git("worktree add -q other");
        std::fs::create_dir_all(at.path("nested/.git")).unwrap();
        let is_foreign = |folder: &str| foreign_agent(&at.path(folder)).is_some();
        at.write(".claude/agents/a/b/c/d/e/f/g/z.md", CRITIC);
        at.write("src/x", "");
        assert!([".", "src", "other"].into_iter().all(is_foreign));
        assert!(!is_foreign("nested"), "another repository");
        at.write(".claude/agents/a/b/c/d/e/f/g/z.md", "ralplan-critic");
        at.write(".claude/skills/q/agents/ralplan-critic.md", "It holds.");
        assert!(!is_foreign("."), "a skill has no agents");
        at.write(".claude/skills/q/.claude-plugin/plugin.json", "{}");
        assert!(is_foreign("."));
        let bare = Sandbox::folder();
        bare.write("below/x", "");
        bare.write(".claude/agents/z.md", CRITIC);
        assert!(foreign_agent(&bare.path("below")).is_some());
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
