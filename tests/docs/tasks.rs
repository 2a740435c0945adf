//! `docs/tasks.md` holds what `ralph task` does.

use super::commands::names_below;
use super::{read, root};
use jiff::Timestamp;
use ralph_core::tasks::plan::lines;

#[test]
fn every_command_of_the_task_store_is_in_its_document() {
    let text = read(&root().join("docs/tasks.md"));
    let names = names_below("ralph task");
    assert!(names.len() > 5, "{names:?}");
    for name in names.iter().filter(|name| *name != "import") {
        assert!(text.contains(&format!("ralph task {name}")), "`ralph task {name}`");
    }
}

#[test]
fn the_lines_that_the_document_shows_are_lines_of_a_sync() {
    let text = read(&root().join("docs/tasks.md"));
    let (_, shown) = text.split_once("<<'TASKS'\n").unwrap();
    let shown = lines::read(shown.split_once("TASKS\n").unwrap().0).unwrap();
    let synced = lines::sync(&[], &shown, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(synced.diff.added, ["T-1", "T-2"]);
}
