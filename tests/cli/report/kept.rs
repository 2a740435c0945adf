//! What a report says, word for word, as it is kept in `kept/`; `RALPH_UPDATE_REPORTS=1` writes it anew.

use super::project::ReportProject;
use super::refined::{NAME, Refined};
use super::story::{ID, Story};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/report/kept")
}

#[track_caller]
fn check(name: &str, said: &str) {
    let path = folder().join(name);
    if std::env::var_os("RALPH_UPDATE_REPORTS").is_some() {
        fs::write(&path, said).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(said == kept, "`{name}`: RALPH_UPDATE_REPORTS=1 writes it anew; now it is\n{said}");
}

/// A page without its style, an element on a line.
fn elements(page: &str) -> String {
    let (before, rest) = page.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    format!("{before}{after}").replace("><", ">\n<")
}

#[track_caller]
fn check_both(name: &str, story: &Story) {
    let place = ReportProject::with(story);
    check(&format!("{name}.md"), &place.done(&["report", ID]));
    check(&format!("{name}.html"), &elements(&place.done(&["report", ID, "--html", "-"])));
}

#[test]
fn a_loop_that_was_completed() {
    check_both("completed", &Story::told());
}

#[test]
fn a_loop_that_was_given_up() {
    check_both("given-up", &Story::given_up());
}

#[test]
fn an_orchestrated_session() {
    let place = ReportProject::with_session();
    check("session.md", &place.done(&["report", "--id", ReportProject::SESSION]));
    check(
        "session.html",
        &elements(&place.done(&["report", "--id", ReportProject::SESSION, "--html", "-"])),
    );
}

#[test]
fn a_refinement() {
    let place = ReportProject::with_refinement(&Refined::told());
    check("refinement.md", &place.done(&["report", "--refine", NAME]));
    let page = place.done(&["report", "--refine", NAME, "--html", "-"]);
    check("refinement.html", &elements(&page));
}
