//! Files that a command brings in: those of a folder that it copies or moves, and those that a
//! patch changes.
//!
//! A line such as `mv c .claude` names no settings file; the folder `c` contains it. A caller with
//! disk access lists the files, and the guard compares the paths that they would get.

use crate::protocol::registration::HOOK_EXECUTABLES;
use serde::{Deserialize, Serialize};

/// Files in a folder or a patch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Brought {
    /// The folder or patch, absolute.
    pub from: String,
    /// Paths in it that may be protected, as it names them; at most 64.
    pub paths: Vec<String>,
}

/// How many paths are kept for one folder or patch.
const MOST: usize = 64;

/// True for a path that may be protected, depending on where it is put.
pub fn may_matter(path: &str) -> bool {
    path.starts_with('/')
        || path.split('/').any(|part| {
            matches!(
                part,
                ".." | ".claude"
                    | "settings.json"
                    | "settings.local.json"
                    | "hooks.json"
                    | "managed-settings.json"
            ) || part.contains("ralph")
        })
}

/// The paths in a patch that may be protected, in each notation that `git` and `patch` accept.
pub fn patched(text: &str) -> Vec<String> {
    const BEFORE: [&str; 9] = [
        "diff --git ",
        "--- ",
        "+++ ",
        "*** ",
        "Index: ",
        "rename from ",
        "rename to ",
        "copy from ",
        "copy to ",
    ];
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some(named) = BEFORE.iter().find_map(|before| line.strip_prefix(before)) else {
            continue;
        };
        // A tab is followed by the time. A quoted name contains escapes, but no protected name
        // needs one.
        let named = named.split('\t').next().unwrap_or_default();
        for word in [named].into_iter().chain(named.split(' ')) {
            let path = word.trim().trim_matches('"');
            if may_matter(path) && found.len() < MOST && !found.iter().any(|one| one == path) {
                found.push(path.to_owned());
            }
        }
    }
    found
}

/// The command lines that the client runs when it loads a skill with this text: those after a `!`,
/// and those of the hooks in its front matter. The model's arguments are substituted.
pub fn run_by(skill: &str, arguments: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let front = skill
        .strip_prefix("---")
        .and_then(|rest| rest.split_once("\n---"))
        .map_or("", |(front, _)| front);
    for line in front.lines() {
        let line = line.trim_start().trim_start_matches("- ").trim_start();
        if let Some(command) = line.strip_prefix("command:") {
            let command = command.trim().trim_matches(['"', '\'']);
            // A hook that is registered the way Ralph's own skills do it is started by the client,
            // not by the model.
            if HOOK_EXECUTABLES.contains(&command.rsplit('/').next().unwrap_or(command)) {
                continue;
            }
            found.push(command.to_owned());
        }
    }
    let mut rest = skill;
    while let Some((_, behind)) = rest.split_once("!`") {
        let (command, after) = behind.split_once('`').unwrap_or((behind, ""));
        found.push(command.to_owned());
        rest = after;
    }
    let blocks = skill.split("```!").skip(1).filter_map(|block| block.split("```").next());
    found.extend(blocks.map(str::to_owned));
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let mut with_arguments = |command: &String| {
        let mut command = command.replace("$ARGUMENTS", arguments);
        for (at, word) in words.iter().enumerate().take(10) {
            command = command.replace(&format!("${at}"), word);
        }
        command
    };
    let told: Vec<String> = found.iter().map(&mut with_arguments).collect();
    told.into_iter().take(MOST).collect()
}

/// The whole path, and the path without its first folders (up to seven), as `git` and `patch` strip
/// them.
pub(super) fn stripped(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.split_once('/').map(|(_, rest)| rest)).take(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files_in_several_ways() {
        for text in [
            "--- a/.claude/settings.json\n+++ b/.claude/settings.json\n@@ -1 +1 @@\n",
            "diff --git a/.claude/settings.json b/.claude/settings.json\n",
            "--- /dev/null\t2020-01-01\n+++ .claude/settings.json\t2020-01-01\n",
            "Index: .claude/settings.json\n",
            "rename from c.json\nrename to .claude/settings.json\n",
            "*** .claude/settings.json\t2020\n",
            "+++ \"b/.claude/settings.json\"\n",
        ] {
            let paths = patched(text);
            let protected = paths
                .iter()
                .flat_map(|path| stripped(path))
                .any(|path| path == ".claude/settings.json");
            assert!(protected, "{text}: {paths:?}");
        }
        assert_eq!(
            patched("--- a/src/main.rs\n+++ b/src/main.rs\n-x\n+.claude/settings.json\n"),
            [""; 0]
        );
    }
}
