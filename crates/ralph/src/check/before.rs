//! Finds what a check reported before the work: runs it in a copy of the tree from which the loop
//! started, once per check, and only if there are findings to compare.

use super::engine::Engine;
use super::tool::{self, CheckedTree, ToolFindings};
use crate::check::engine::Durations;
use crate::check::{CheckItem, CheckTarget};
use ralph_core::project::check::baseline::KnownFindings;
use ralph_core::project::check::finding::{Finding, FindingKey};
use ralph_core::project::check::{Check, CheckMethod, FindingScope, Program};
use ralph_io::store::checks::{self, Copy};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The trees to compare with, one per project.
pub(super) struct Trees {
    /// The tree that the loop recorded when it started.
    start: Option<checks::LoopBaseline>,
    found: Mutex<HashMap<PathBuf, Option<String>>>,
}

impl Trees {
    pub(super) fn since(of_loop: Option<&Path>) -> Trees {
        Trees { start: of_loop.and_then(checks::start_of), found: Mutex::default() }
    }

    /// The project's tree from before the work; `None` outside a repository.
    fn of(&self, root: &Path) -> Option<String> {
        let start = self.start.as_ref().filter(|start| start.root == root);
        let mut found = self.found.lock().ok()?;
        let tree = found
            .entry(root.to_owned())
            .or_insert_with(|| Copy::tree(root, start.map(|start| start.tree.as_str())));
        tree.clone()
    }
}

/// The stored result of a check on the copy.
#[derive(Debug, Serialize, Deserialize)]
enum Then {
    Found(Vec<FindingKey>),
    /// The time was too short; it was this many milliseconds.
    TooSlow(u128),
    /// The tool cannot check the copy.
    CannotTell,
}

/// The findings from before the work; `None` if the time is too short to find them.
pub(super) fn known(
    engine: &Engine<'_>,
    target: &CheckTarget,
    item: &CheckItem,
) -> Option<KnownFindings> {
    let Some(tree) = engine.trees.of(&target.root) else { return Some(KnownFindings::Unknown) };
    let name = format!("{} in {tree}", item.id);
    let patience = engine.left_for(target, item)?;
    // Of several simultaneous edits, one runs the check and the others read its result.
    let _held = target.kept.lock(&name, patience).ok()?;
    let left = engine.left_for(target, item)?;
    match target.kept.read(&name) {
        Some(Then::Found(keys)) => return Some(KnownFindings::Known(keys)),
        // Try again only with much more time; otherwise each edit would wait for the deadline in
        // vain.
        Some(Then::TooSlow(given)) if left.as_millis() < 2 * given => return None,
        Some(Then::CannotTell) => return Some(KnownFindings::Unknown),
        // The edit would wait for the deadline in vain.
        _ if !Durations::of(target).fits(&item.id, left) => return None,
        _ => {}
    }
    let Ok(copy) = Copy::of(&target.kept, &target.root, &tree, left) else {
        return Some(KnownFindings::Unknown);
    };
    let then = look(engine, target, item, &copy);
    // A result that cannot be written is computed again next time.
    let _ = then.as_ref().map(|then| target.kept.write(&name, then));
    match then? {
        Then::Found(keys) => Some(KnownFindings::Known(keys)),
        Then::TooSlow(_) => None,
        Then::CannotTell => Some(KnownFindings::Unknown),
    }
}

fn look(engine: &Engine<'_>, target: &CheckTarget, item: &CheckItem, copy: &Copy) -> Option<Then> {
    let to_copy = Moved::of(target, copy);
    let file = to_copy.path(&target.file);
    let check = to_copy.check(&item.check);
    let is_new = item.check.scope == FindingScope::File && !checks::is_file(&file);
    if is_new || !checks::is_folder(&check.folder) {
        return Some(Then::Found(Vec::new()));
    }
    let left = engine.left_for(target, item)?;
    let output = target.kept.output(&format!("before: {}", item.id));
    let place = CheckedTree { root: copy.folder().to_owned(), file, output };
    match tool::look(engine, &check, &place, left).0 {
        ToolFindings::Found(found) => {
            let back = |one: Finding| Finding { message: to_copy.back(&one.message), ..one }.key();
            Some(Then::Found(found.into_iter().map(back).collect()))
        }
        ToolFindings::Unfinished(_) => Some(Then::TooSlow(left.as_millis())),
        ToolFindings::NotRun(_) => Some(Then::CannotTell),
    }
}

/// Maps paths of the project to paths of its copy.
struct Moved {
    /// Pairs of a folder of the project and its counterpart.
    pairs: [(String, String); 2],
}

impl Moved {
    fn of(target: &CheckTarget, copy: &Copy) -> Moved {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let kept = &target.kept;
        Moved {
            pairs: [
                (text(&kept.tools()), text(&kept.tools_of_copy())),
                (text(&target.root), text(copy.folder())),
            ],
        }
    }

    fn text(&self, text: &str) -> String {
        let [tools, root] = &self.pairs;
        replaced(&replaced(text, &root.0, &root.1), &tools.0, &tools.1)
    }

    fn back(&self, text: &str) -> String {
        self.pairs.iter().fold(text.to_owned(), |text, (from, to)| replaced(&text, to, from))
    }

    fn path(&self, path: &Path) -> PathBuf {
        self.text(&path.to_string_lossy()).into()
    }

    fn check(&self, check: &Check) -> Check {
        let program = |program: &Program| Program {
            line: program.line.iter().map(|word| self.text(word)).collect(),
            variables: program
                .variables
                .iter()
                .map(|(name, value)| (name.clone(), self.text(value)))
                .collect(),
        };
        let by = match &check.by {
            CheckMethod::Program(it) => CheckMethod::Program(program(it)),
            CheckMethod::Filter(it) => CheckMethod::Filter(program(it)),
            CheckMethod::Shell(line) => CheckMethod::Shell(self.text(line)),
            CheckMethod::Parser(parser) => CheckMethod::Parser(*parser),
        };
        Check { by, folder: self.path(&check.folder), ..check.clone() }
    }
}

/// Replaces `from` wherever it is a whole path or the folder of one.
fn replaced(text: &str, from: &str, to: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        let is_whole =
            |letter: char| !letter.is_alphanumeric() && !matches!(letter, '-' | '_' | '.');
        let ends = after.chars().next().is_none_or(is_whole);
        out.push_str(before);
        out.push_str(if ends { to } else { from });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(replaced(text, "/p/app", "/copy"), expected);
    }

    #[test]
    fn a_folder_is_replaced_where_it_stands_as_a_whole() {
        check("/p/app", "/copy");
        check("--file=/p/app/a.ts,/p/app/b", "--file=/copy/a.ts,/copy/b");
        check("'/p/app' \"/p/app\"", "'/copy' \"/copy\"");
        check("/p/app-2/a /p/app.old /p/apple", "/p/app-2/a /p/app.old /p/apple");
    }
}
