//! Which worktrees of workers may be removed.
//!
//! A worktree is removed only if it is merged and unchanged since, so that everything in it is in a
//! commit that a branch or a tag holds. Any other worktree stays, with the reason and the command
//! that removes it.

use serde::Serialize;

/// What is known about a worktree and its branch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeState {
    /// The worker of this worktree is running.
    pub is_running: bool,
    /// The commit that merged the work; empty if it is not merged.
    pub merged: String,
    /// Why the work was kept out; empty if it was not.
    pub kept_out: String,
    /// True if the worktree holds exactly what was merged.
    pub is_as_merged: bool,
    /// How the worktree differs from what was merged, if known.
    pub differs: String,
    /// True if a branch or a tag holds what was merged.
    pub is_held: bool,
    /// The reason given with the lock of the worktree.
    pub locked: Option<String>,
    /// Nested repositories whose files are present.
    pub repositories: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Stays {
    Running,
    NotMerged,
    KeptOut {
        because: String,
    },
    /// The worktree has changed since it was merged.
    Changed {
        /// How it changed; empty if unknown.
        how: String,
    },
    /// No branch or tag holds the merged commit any more.
    NotHeld,
    Locked {
        /// The reason given with the lock.
        because: String,
    },
    HasRepository {
        path: String,
    },
}

/// Returns why the worktree stays, or `None` if it may be removed.
pub fn stays(seen: &WorktreeState) -> Option<Stays> {
    if seen.is_running {
        return Some(Stays::Running);
    }
    if let Some(because) = &seen.locked {
        return Some(Stays::Locked { because: because.clone() });
    }
    if !seen.kept_out.is_empty() {
        return Some(Stays::KeptOut { because: seen.kept_out.clone() });
    }
    if seen.merged.is_empty() {
        return Some(Stays::NotMerged);
    }
    if !seen.is_as_merged {
        return Some(Stays::Changed { how: seen.differs.clone() });
    }
    if let Some(path) = seen.repositories.first() {
        return Some(Stays::HasRepository { path: path.clone() });
    }
    (!seen.is_held).then_some(Stays::NotHeld)
}

impl Stays {
    pub fn reason(&self) -> String {
        match self {
            Stays::Running => "its worker is at work".to_owned(),
            Stays::NotMerged => "its work is not merged".to_owned(),
            Stays::KeptOut { because } => format!("its work was kept out: {because}"),
            Stays::Changed { how } if how.is_empty() => {
                "it has changed since its work was merged".to_owned()
            }
            Stays::Changed { how } => format!("it has changed since its work was merged: {how}"),
            Stays::NotHeld => "no branch has the commit by which it was merged".to_owned(),
            Stays::Locked { because } if because.is_empty() => "it is locked".to_owned(),
            Stays::Locked { because } => format!("it is locked: {because}"),
            Stays::HasRepository { path } => {
                format!("`{path}` in it is a repository of its own")
            }
        }
    }
}

/// The command that removes a worktree and its branch, including unmerged work.
pub fn command(worktree: &str, branch: &str, is_locked: bool) -> String {
    let force = if is_locked { "--force --force" } else { "--force" };
    let tree = format!("git worktree remove {force} {}", quoted(worktree));
    let head = format!("git branch -D {}", quoted(branch));
    match (worktree.is_empty(), branch.is_empty()) {
        (false, false) => format!("{tree} && {head}"),
        (false, true) => tree,
        _ => head,
    }
}

fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    match !word.is_empty() && !word.starts_with('-') && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged() -> WorktreeState {
        WorktreeState {
            merged: "m".to_owned(),
            is_as_merged: true,
            is_held: true,
            ..WorktreeState::default()
        }
    }

    #[test]
    fn only_what_is_merged_unchanged_and_held_goes() {
        assert_eq!(stays(&merged()), None);
        let word = || "x".to_owned();
        let cases = [
            (WorktreeState { is_running: true, ..merged() }, "at work"),
            (WorktreeState { merged: String::new(), ..merged() }, "not merged"),
            (WorktreeState { kept_out: word(), ..merged() }, "kept out: x"),
            (WorktreeState { is_as_merged: false, ..merged() }, "changed since"),
            (WorktreeState { is_held: false, ..merged() }, "no branch"),
            (WorktreeState { locked: Some(word()), ..merged() }, "locked: x"),
            (WorktreeState { repositories: vec![word()], ..merged() }, "repository of its own"),
        ];
        for (seen, words) in cases {
            let reason = stays(&seen).unwrap().reason();
            assert!(reason.contains(words), "{reason}");
        }
    }

    #[test]
    fn a_name_is_one_word_of_the_command() {
        let text = command("/a b/it's", "-x", false);
        assert_eq!(text, "git worktree remove --force '/a b/it'\\''s' && git branch -D '-x'");
        assert_eq!(command("", "b", false), "git branch -D b");
    }
}
