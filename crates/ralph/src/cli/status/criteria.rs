//! The criteria of a loop for users: the receipt's status, the command, and what is wrong.

use super::looked::LoopView;
use crate::command::screen::{self, Colour, visible};
use ralph_core::evidence::completion_feedback;
use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::state::{Criterion, LoopState};
use ralph_core::text::truncate::bounded;
use ralph_core::text::wrap::columns;
use ralph_core::views::phrases::spaced;

/// Characters quoted from the last line that a failing command printed.
const LAST_LINE: usize = 120;

/// One row per criterion, with notes below it.
pub(super) fn describe(one: &LoopView) -> String {
    let all = &one.state.acceptance_criteria;
    let id = all.iter().map(|one| visible(&one.id).chars().count()).max().unwrap_or_default();
    let word = all.iter().map(|it| one.standing(it).as_str().len()).max().unwrap_or_default();
    let below = 4 + id + 2;
    let mut text = String::new();
    for criterion in all {
        let standing = one.standing(criterion);
        text.push_str(&format!(
            "\n    {:<id$}  {}{:<pad$}  ",
            visible(&criterion.id),
            screen::coloured(&spaced(standing.as_str()), worth(standing)),
            "",
            pad = word - standing.as_str().len()
        ));
        let said = visible(&criterion.description);
        let command = visible(&criterion.decided_by_quoted());
        let at = below + word + 2;
        let width = screen::width();
        text.push_str(&screen::wrapped_to(width, &said, at, below));
        // A command is never broken, so that it can be copied.
        if at + columns(&said) + 2 + columns(&command) <= width {
            text.push_str(&format!("  {command}"));
        } else {
            text.push_str(&below_it(&command, below));
        }
        for note in notes(one, criterion, standing) {
            text.push_str(&below_it(&visible(&note), below));
        }
    }
    text
}

/// The text on a line of its own.
fn below_it(text: &str, below: usize) -> String {
    let text = screen::wrapped_to(screen::width(), text, below, below);
    if text.starts_with('\n') { text } else { format!("\n{:below$}{text}", "") }
}

/// What is wrong with a criterion, or what its proof rests on.
fn notes(one: &LoopView, criterion: &Criterion, standing: ReceiptStatus) -> Vec<String> {
    let why = completion_feedback::why(criterion, standing, one.changed(criterion));
    let tests = criterion.receipt.as_ref().and_then(|receipt| receipt.tests_run);
    let mut notes = match standing {
        // The status word beside it says the same.
        ReceiptStatus::NotRun => Vec::new(),
        ReceiptStatus::Stale => vec![why.strip_prefix("is stale: ").unwrap_or(&why).to_owned()],
        failed if failed.is_unsuccessful() && criterion.review.is_none() => {
            vec![failure(criterion, &why)]
        }
        ReceiptStatus::Reviewed => {
            vec![why.strip_prefix("is reviewed: ").unwrap_or(&why).to_owned()]
        }
        ReceiptStatus::Passes | ReceiptStatus::Proven => {
            let ran = tests.map(|n| format!("{n} {} ran", one_or_many(n)));
            ran.into_iter().chain((!one.is_proven(criterion)).then_some(why)).collect()
        }
        _ => vec![why],
    };
    let environment = completion_feedback::environment(criterion);
    if !environment.is_empty() {
        notes.push(environment);
    }
    if criterion.held_before {
        notes.push("held before the work began".to_owned());
    }
    if criterion.turned_red.is_some() {
        let alone =
            LoopState { acceptance_criteria: vec![criterion.clone()], ..LoopState::default() };
        notes.push(completion_feedback::regressions(&alone).trim_end().to_owned());
    }
    notes
}

/// How the command ended, and its last line of output.
fn failure(criterion: &Criterion, why: &str) -> String {
    let how = why.strip_prefix("failed (").and_then(|how| how.strip_suffix(')')).unwrap_or(why);
    let tail = criterion.receipt.as_ref().map_or("", |receipt| receipt.tail.as_str());
    match tail.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(last) => format!("{how}, last line: {}", bounded(last, LAST_LINE)),
        None => how.to_owned(),
    }
}

fn one_or_many(n: u64) -> &'static str {
    if n == 1 { "test" } else { "tests" }
}

pub(in crate::cli) fn worth(standing: ReceiptStatus) -> Colour {
    use ReceiptStatus::{Flaky, Kept, NotCompared, NotRun, Passes, Proven, Reviewed, Stale};
    match standing {
        Passes | Proven | Reviewed => Colour::Green,
        NotRun => Colour::Dim,
        Kept | NotCompared | Stale | Flaky => Colour::Yellow,
        _ => Colour::Red,
    }
}
