//! `docs/watch.md` shows what is on the page, and what a status line says.

use super::{read, root};
use jiff::Timestamp;
use ralph_core::state::Brief;
use ralph_core::views::statusline;
use serde_json::json;

fn guide() -> String {
    read(&root().join("docs/watch.md"))
}

#[test]
fn the_page_in_the_document_is_the_one_that_is_drawn() {
    // Another test draws it, and compares it with this file.
    let kept = read(&root().join("crates/ralph/src/cli/watch/view/kept/80x24.txt"));
    let path = root().join("docs/watch.md");
    let guide = guide();
    let (before, rest) = guide.split_once("<!-- the page -->\n```text\n").unwrap();
    let (shown, after) = rest.split_once("```").unwrap();
    if std::env::var_os("RALPH_UPDATE_WATCH").is_some() {
        let text = format!("{before}<!-- the page -->\n```text\n{kept}```{after}");
        std::fs::write(path, text).unwrap();
        return;
    }
    assert_eq!(shown, kept, "RALPH_UPDATE_WATCH=1 writes it anew");
}

#[test]
fn the_keys_in_the_document_are_those_of_the_help() {
    let page = read(&root().join("crates/ralph/src/cli/watch/view.rs"));
    let (_, help) = page.split_once("const HELP: &str = \"\\\n").unwrap();
    let (help, _) = help.split_once("\";").unwrap();
    let keys = help.lines().filter(|line| {
        line.get(15..).is_some_and(|rest| line[..14].ends_with(' ') && !rest.is_empty())
    });
    let mut n = 0;
    for line in keys.filter(|line| !line.starts_with(' ')) {
        for key in line[..15].split(',').map(str::trim) {
            let named =
                [format!("`{key}`"), format!("{key},"), format!(" {key} "), format!("| {key}")];
            assert!(named.iter().any(|name| guide().contains(name.as_str())), "{key}");
            n += 1;
        }
    }
    assert!(n > 9, "only {n} keys were found");
}

#[test]
fn the_status_line_in_the_document_is_one() {
    let state: Brief = serde_json::from_value(json!({
        "phase": "implementation", "iteration": 3, "started_at": "2026-01-31T12:00:00Z",
        "acceptance_criteria": [{"verified": true, "receipt": {}}, {}, {}],
        "task_graph": [
            {"status": "done"}, {"status": "done"},
            {"id": "T-3", "name": "Parse the dates", "status": "in_progress"},
            {"status": "pending"}, {"status": "pending"},
        ],
    }))
    .unwrap();
    let now: Timestamp = "2026-01-31T12:12:30Z".parse().unwrap();
    let parts: Vec<String> =
        statusline::parts(&state, now).into_iter().map(|part| part.text).collect();
    assert!(guide().contains(&format!("\n{}\n", parts.join(" | "))), "{parts:?}");
}
