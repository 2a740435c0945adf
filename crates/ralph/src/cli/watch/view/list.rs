//! The list of loops; the selected one is always visible.

use crate::cli::watch::model::{Model, TextTone, WatchedLoop};
use crate::cli::watch::text::{Pen, fit};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

/// The list gets one part in four of the page; the selected loop needs the rest.
const PART: usize = 4;

const STATE: usize = 27;

pub(super) fn lines(model: &Model, pen: Pen, width: usize, room: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if model.loops.is_empty() {
        lines.push(Line::default());
        lines.push(Line::from(" no loop is live or planned here"));
        lines.push(Line::from(" /ralph \"what to do\" in Claude Code starts one; it appears here"));
    } else {
        lines.push(Line::styled(head(width), pen.style(TextTone::Quiet)));
    }
    let most = (room / PART).max(1);
    let n = model.loops.len();
    // Scrolls just far enough to show the selected loop.
    let from = (model.selected + 1).saturating_sub(most).min(n.saturating_sub(most));
    for (at, one) in model.loops.iter().enumerate().skip(from).take(most) {
        lines.push(row(one, at == model.selected, pen, width));
    }
    if n > most {
        let text = format!("  {} to {} of {n}", from + 1, from + most);
        lines.push(Line::styled(text, pen.style(TextTone::Quiet)));
    }
    let told = model.unreadable.iter().take(2);
    lines.extend(
        told.map(|why| Line::from(pen.say(&format!("  unreadable: {why}"), TextTone::Wrong))),
    );
    lines.truncate(room);
    lines
}

fn head(width: usize) -> String {
    let mut text = format!("  {}  {}  {}", fit("loop", 20), fit("state", STATE), fit("at", 6));
    if has_tasks(width) {
        text.push_str("  tasks    held");
    }
    if has_goal(width) {
        text.push_str("     goal");
    }
    text
}

fn row(one: &WatchedLoop, is_selected: bool, pen: Pen, width: usize) -> Line<'static> {
    let mark = if is_selected { "> " } else { "  " };
    let mut spans = vec![
        Span::raw(format!("{mark}{}  ", fit(&one.loop_id, 20))),
        pen.say(&fit(&one.state, STATE), one.tone),
        Span::raw(format!("  {}", fit(&one.position, 6))),
    ];
    if has_tasks(width) {
        let of = |done: usize, all: usize| {
            if all == 0 { "-".to_owned() } else { format!("{done}/{all}") }
        };
        let held = one.criteria.iter().filter(|one| one.tone == TextTone::Good).count();
        let (tasks, held) = (of(one.tasks.0, one.tasks.1), of(held, one.criteria.len()));
        spans.push(Span::raw(format!("  {}  {}", fit(&tasks, 7), fit(&held, 6))));
    }
    if has_goal(width) {
        spans.push(pen.say(&format!("  {}", one.goal), TextTone::Plain));
    }
    let line = Line::from(spans);
    if is_selected { line.style(Modifier::BOLD) } else { line }
}

fn has_tasks(width: usize) -> bool {
    width >= 76
}

fn has_goal(width: usize) -> bool {
    width >= 100
}
