//! All loops, one line each.

use super::looked::LoopView;
use crate::command::screen::{self, Colour, visible};
use jiff::Timestamp;
use ralph_core::state::EndingTone;
use ralph_core::text::plural::lasted;
use ralph_core::text::wrap;
use ralph_core::views::{messages, phrases};
use std::path::Path;

/// What the columns show. The goal comes last: it is cut at the width of the terminal.
const HEAD: [&str; 6] = ["LOOP", "STATE", "AT", "TIME", "PROJECT", "GOAL"];

const STATE: usize = 1;

/// A heading, and one line for each loop.
pub(super) fn lines(loops: &[LoopView], now: Timestamp) -> Vec<String> {
    if loops.is_empty() {
        return Vec::new();
    }
    let rows: Vec<[String; 6]> = loops.iter().map(|one| row(one, now)).collect();
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(wrap::columns(cell));
        }
    }
    let mut lines = vec![screen::coloured(&line(&HEAD.map(str::to_owned), &widths), Colour::Dim)];
    let from = widths[0] + 2;
    lines.extend(loops.iter().zip(&rows).map(|(one, row)| {
        let line = line(row, &widths);
        let word = &row[STATE];
        match line.get(from..).and_then(|rest| rest.strip_prefix(word.as_str())) {
            Some(rest) => format!("{}{}{rest}", &line[..from], screen::coloured(word, colour(one))),
            None => line,
        }
    }));
    lines
}

fn row(one: &LoopView, now: Timestamp) -> [String; 6] {
    let state = &one.state;
    let position = messages::place(state);
    let since = |at: Timestamp| lasted(now.duration_since(at).as_secs());
    let time = match (&state.ending, state.started_at) {
        (Some(ending), _) => format!("{} ago", since(ending.at)),
        (None, Some(_)) => messages::lasted(state, now),
        (None, None) => String::new(),
    };
    let project = Path::new(&state.project_root).file_name().unwrap_or_default();
    let goal = state.prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let below = if state.parent.is_some() { "  " } else { "" };
    [
        format!("{below}{}", state.loop_id),
        phrases::standing(state),
        position,
        time,
        project.to_string_lossy().into_owned(),
        goal,
    ]
    .map(|cell| visible(&cell))
}

fn line(row: &[String; 6], widths: &[usize; 6]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        let pad = width.saturating_sub(wrap::columns(cell));
        line.push_str(&format!("{cell}{:pad$}  ", ""));
    }
    screen::cut(line.trim_end())
}

/// The same colours as on every screen.
pub(super) fn colour(one: &LoopView) -> Colour {
    match phrases::rated(&one.state) {
        None if one.state.is_running() => Colour::Green,
        Some(EndingTone::Good) => Colour::Green,
        Some(EndingTone::Look) => Colour::Yellow,
        Some(EndingTone::Wrong) => Colour::Red,
        None | Some(EndingTone::Quiet) => Colour::Dim,
    }
}
