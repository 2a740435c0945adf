//! The screens that the documents show, made by the real executables.
//!
//! `<!-- sample: NAME -->` before a block marks a sample. [`DOCUMENTS`] names the function that makes it, in a project and a home of its
//! own. Times, ids and paths are replaced by fixed ones. `RALPH_UPDATE=1 cargo test -p ralph --test docs samples` writes the blocks
//! anew; `RALPH_TEST_BIN_DIR` spares the build of the executables.

mod conformance;
mod evidence;
mod loops;
mod project;
mod ralplan;
mod refinery;
mod report;
mod run;
mod screen;
mod setup;
mod shared;
mod teams;
mod watch;

use super::{read, root};
use screen::Screen;
use std::fs;

/// The name of a sample, and what makes its text.
type Sample = (&'static str, fn() -> String);

/// The samples of each document.
const DOCUMENTS: &[(&str, &[Sample])] = &[
    ("docs/checks.md", project::CHECKS),
    ("docs/conformance.md", conformance::SAMPLES),
    ("docs/context.md", project::CONTEXT),
    ("docs/evidence.md", evidence::SAMPLES),
    ("docs/install.md", setup::INSTALL),
    ("docs/loop.md", loops::LOOP),
    ("docs/migration.md", setup::MIGRATION),
    ("docs/orchestration.md", teams::ORCHESTRATION),
    ("docs/parallel.md", teams::PARALLEL),
    ("docs/ralplan.md", ralplan::SAMPLES),
    ("docs/refinery.md", refinery::SAMPLES),
    ("docs/report.md", report::SAMPLES),
    ("docs/run.md", run::SAMPLES),
    ("docs/shared.md", shared::SAMPLES),
    ("docs/signals.md", loops::SIGNALS),
    ("docs/tasks.md", teams::TASKS),
    ("docs/troubleshooting.md", setup::TROUBLESHOOTING),
    ("docs/watch.md", watch::SAMPLES),
];

/// A sample in the text of a document: its name, and where its block begins and ends.
#[derive(Debug, PartialEq)]
struct Marked<'a> {
    name: &'a str,
    from: usize,
    to: usize,
}

fn marked(text: &str) -> Vec<Marked<'_>> {
    let mut found = Vec::new();
    for (at, mark) in text.match_indices("\n<!-- sample: ") {
        let name = at + mark.len();
        let rest = &text[name..];
        let (name, after) = rest.split_once(" -->\n").expect("a block follows the mark");
        let fence = &after[..after.len() - after.trim_start_matches('`').len()];
        assert!(fence.len() >= 3, "a block follows the mark of {name}");
        let from = text.len() - after.len() + after.find('\n').expect("the block has lines") + 1;
        let to = from + text[from..].find(fence).expect("the block has an end");
        found.push(Marked { name, from, to });
    }
    found
}

/// Compares every sample of a document with what appears now, or writes it anew.
#[track_caller]
fn check(document: &str) {
    let path = root().join(document);
    let (_, samples) = DOCUMENTS.iter().find(|(name, _)| *name == document).unwrap();
    let mut text = read(&path);
    let names: Vec<&str> = marked(&text).iter().map(|one| one.name).collect();
    let known: Vec<&str> = samples.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, known, "{document} has these samples; the table has the same in their order");
    let made = std::thread::scope(|scope| {
        let runs: Vec<_> = samples.iter().map(|(_, make)| scope.spawn(make)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<String>>()
    });
    let update = std::env::var_os("RALPH_UPDATE").is_some();
    // From the end, so that the places of the others stay true.
    for (at, fresh) in made.iter().enumerate().rev() {
        let Marked { name, from, to } = marked(&text)[at];
        if !update {
            assert_eq!(&text[from..to], fresh, "{name} of {document}: RALPH_UPDATE=1 writes it");
        }
        text.replace_range(from..to, fresh);
    }
    if update {
        fs::write(path, text).unwrap();
    }
}

#[test]
fn every_marked_block_is_made_by_a_test() {
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "md") {
            let name = format!("docs/{}", path.file_name().unwrap().to_str().unwrap());
            let is_known = DOCUMENTS.iter().any(|(document, _)| *document == name);
            assert!(is_known || marked(&read(&path)).is_empty(), "{name} is not in the table");
        }
    }
}

#[test]
fn marks_are_found_with_their_blocks() {
    let text =
        "# X\n<!-- sample: a -->\n```console\none\n```\n\n<!-- sample: b -->\n```\ntwo\n```\n";
    let found = marked(text);
    let shown: Vec<_> = found.iter().map(|one| (one.name, &text[one.from..one.to])).collect();
    assert_eq!(shown, [("a", "one\n"), ("b", "two\n")]);
}
