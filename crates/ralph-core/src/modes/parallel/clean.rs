//! Which worktrees of workers may be removed.
//!
//! Only what is merged and has not changed since goes: everything in it is then in a commit that a branch
//! holds. All else stays, with the reason and the command by which a person removes it.

use serde::Serialize;

/// What is known of a worktree and its branch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeState {
    /// Its worker is at work.
    pub is_running: bool,
    /// The commit by which its work was merged; empty if it was not.
    pub merged: String,
    /// Why its work was kept out; empty if it was not.
    pub kept_out: String,
    /// True if it holds what was merged and nothing else.
    pub is_as_merged: bool,
    /// Why it does not hold that, where that can be said.
    pub differs: String,
    /// True if a branch, or a tag, holds what was merged.
    pub is_held: bool,
    /// Why it must not be removed, as whoever locked it said.
    pub locked: Option<String>,
    /// Repositories within it whose files are there.
    pub repositories: Vec<String>,
}

/// Why a worktree stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Stays {
    /// Its worker is at work.
    Running,
    /// Its work was not merged.
    NotMerged,
    /// Its work was kept out.
    KeptOut {
        /// Why.
        because: String,
    },
    /// It has changed since it was merged.
    Changed {
        /// In which way, where that is known.
        how: String,
    },
    /// No branch holds what was merged any more.
    NotHeld,
    /// Somebody has locked it.
    Locked {
        /// Why, in their words.
        because: String,
    },
    /// There is a repository within it.
    HasRepository {
        /// Its path.
        path: String,
    },
}

/// Decides whether it stays.
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
    /// Why, in words.
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

/// The command by which a person removes a worktree and its branch, work and all.
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

/// A word for a shell.
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
