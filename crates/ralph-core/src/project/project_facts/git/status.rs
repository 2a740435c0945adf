//! The differences between the work tree and the last commit, from the machine-readable
//! `git status`.

use super::super::{Project, show};
use crate::text::plural::noun;
use std::collections::BTreeMap;

/// The arguments of git. A staged rename counts as a deleted and a new file, because detecting it costs git more than it
/// is worth here. For submodules only the commit counts, because their own state needs a git
/// process in each.
pub const STATUS: [&str; 7] = [
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=normal",
    "--no-renames",
    "--ignore-submodules=dirty",
];

const MOST_FOLDERS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct GitStatus {
    /// As git names it: `origin/main`.
    pub(super) upstream: Option<String>,
    pub(super) ahead_behind: Option<(u64, u64)>,
    pub(super) changes: Vec<StatusChange>,
}

#[derive(Debug)]
pub(super) struct StatusChange {
    how: How,
    path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    Conflict,
    Changed,
    New,
    Deleted,
}

impl How {
    fn as_str(self) -> &'static str {
        match self {
            How::Conflict => "in conflict",
            How::Changed => "changed",
            How::New => "new",
            How::Deleted => "deleted",
        }
    }
}

impl GitStatus {
    /// `None` if git fails.
    pub(super) fn of(project: &dyn Project) -> Option<GitStatus> {
        let printed = project.git(&STATUS)?;
        let mut status = GitStatus::default();
        for record in printed.split(|byte| *byte == 0) {
            status.take(record);
        }
        Some(status)
    }

    fn take(&mut self, record: &[u8]) {
        let text = String::from_utf8_lossy(record);
        if let Some(name) = text.strip_prefix("# branch.upstream ") {
            self.upstream = Some(name.to_owned());
        } else if let Some(distance) = text.strip_prefix("# branch.ab ") {
            self.ahead_behind = ahead_behind(distance);
        } else {
            self.changes.extend(StatusChange::read(&text));
        }
    }

    /// The length of the output of `git status --short`.
    pub(super) fn short_length(&self) -> usize {
        let line = "XY \n".len();
        self.changes.iter().map(|change| line + change.path.encode_utf16().count()).sum()
    }

    pub(super) fn conflicts(&self) -> Vec<String> {
        let conflicts = self.changes.iter().filter(|change| change.how == How::Conflict);
        conflicts.map(|change| change.path.clone()).collect()
    }

    pub(super) fn one_by_one(&self) -> Vec<String> {
        let line = |change: &StatusChange| {
            format!("{} {}", change.how.as_str(), show::quoted(&change.path))
        };
        self.changes.iter().map(line).collect()
    }

    /// For each top-level folder, how many files changed in which way; most changes first.
    pub(super) fn by_folder(&self) -> Vec<String> {
        let mut folders: BTreeMap<&str, BTreeMap<How, usize>> = BTreeMap::new();
        for change in &self.changes {
            let folder = change.path.split_once('/').map_or("", |(folder, _)| folder);
            *folders.entry(folder).or_default().entry(change.how).or_default() += 1;
        }
        let mut folders: Vec<_> = folders.into_iter().collect();
        let total = |counts: &BTreeMap<How, usize>| counts.values().sum::<usize>();
        folders.sort_by_key(|(_, counts)| std::cmp::Reverse(total(counts)));
        let mut lines: Vec<String> = folders.iter().take(MOST_FOLDERS).map(line).collect();
        if folders.len() > MOST_FOLDERS {
            let beyond = &folders[MOST_FOLDERS..];
            let files: usize = beyond.iter().map(|(_, counts)| total(counts)).sum();
            lines.push(format!(
                "in {} more {}: {files}",
                beyond.len(),
                noun(beyond.len(), "folder", "folders")
            ));
        }
        lines
    }
}

fn line((folder, counts): &(&str, BTreeMap<How, usize>)) -> String {
    let name = match *folder {
        "" => show::quoted("(top)"),
        folder => show::quoted(&format!("{folder}/")),
    };
    let counts: Vec<String> =
        counts.iter().map(|(how, count)| format!("{count} {}", how.as_str())).collect();
    format!("{name}: {}", counts.join(", "))
}

fn ahead_behind(distance: &str) -> Option<(u64, u64)> {
    let (ahead, behind) = distance.split_once(' ')?;
    Some((ahead.strip_prefix('+')?.parse().ok()?, behind.strip_prefix('-')?.parse().ok()?))
}

impl StatusChange {
    /// Parses a record; `None` if it names no path.
    fn read(record: &str) -> Option<StatusChange> {
        let (kind, rest) = record.split_once(' ')?;
        let fields_before_path = match kind {
            "1" => 7,
            "u" => 9,
            "?" => 0,
            _ => return None,
        };
        let path = rest.splitn(fields_before_path + 1, ' ').nth(fields_before_path)?;
        let how = match kind {
            "u" => How::Conflict,
            "?" => How::New,
            _ => how(rest.get(..2)?),
        };
        Some(StatusChange { how, path: path.to_owned() })
    }
}

/// Combines the two letters for the staged and the unstaged state.
fn how(letters: &str) -> How {
    match letters {
        letters if letters.ends_with('D') || letters == "D." => How::Deleted,
        letters if letters.starts_with('A') => How::New,
        _ => How::Changed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(record: &str, expected: &str) {
        let read = StatusChange::read(record)
            .map(|change| format!("{} {}", change.how.as_str(), change.path));
        assert_eq!(read.unwrap_or_default(), expected);
    }

    #[test]
    fn a_record_says_how_a_path_changed() {
        check("1 .M N... 100644 100644 100644 a b a b.rs", "changed a b.rs");
        check("1 AM N... 000000 100644 100644 a b x", "new x");
        check("1 AD N... 000000 100644 000000 a b x", "deleted x");
        check("1 D. N... 100644 000000 000000 a b x", "deleted x");
        check("u AA N... 0 1 1 1 a b c x y", "in conflict x y");
        check("? new folder/", "new new folder/");
        for nothing in ["", "# branch.oid x", "1 .M N...", "2 R. N... 1 1 1 a b R100 x", "u", "!"] {
            check(nothing, "");
        }
        check("1 éM N... 100644 100644 100644 a b x", "changed x");
    }
}
