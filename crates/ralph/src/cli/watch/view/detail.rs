//! One loop in detail: its work, its budgets, its criteria, the decisions and the user's signals.
//!
//! If there is no room for everything, each part keeps its beginning and says how
//! much more there is.

use super::minutes;
use crate::cli::watch::model::{Bar, TextTone, WatchedLoop};
use crate::cli::watch::text::{Pen, ago, clock, cut_line, fit, for_long, wrapped};
use jiff::Timestamp;
use ralph_core::text::plural::rounded;
use ratatui::text::{Line, Span};

/// Column at which values begin.
const LABEL: usize = 13;

/// A longer bar shows no more.
const LONGEST_BAR: usize = 30;

/// With fewer lines than this the goal is cut, so that every part has room.
const LITTLE: usize = 16;

struct DetailPart {
    lines: Vec<Line<'static>>,
    /// Lines that it gets before any other part gets its `least`.
    core: usize,
    /// Lines that it gets before any part gets more.
    least: usize,
    /// Whether the first line, a title, says how much is left out; otherwise the
    /// last shown line does.
    is_titled: bool,
}

impl DetailPart {
    fn nothing() -> DetailPart {
        DetailPart { lines: Vec::new(), core: 0, least: 0, is_titled: false }
    }
}

pub(super) fn below_each_other(
    one: &WatchedLoop,
    pen: Pen,
    width: usize,
    room: usize,
    now: Timestamp,
) -> Vec<Line<'static>> {
    let parts = vec![
        about(one, pen, width, room, now),
        bars(one, pen, width, now),
        criteria(one, pen, width, now),
        decisions(one, pen, width),
        signals(one, pen, width),
    ];
    shared_out(parts, pen, width, room)
}

pub(super) fn side_by_side(
    one: &WatchedLoop,
    pen: Pen,
    width: usize,
    room: usize,
    now: Timestamp,
) -> Vec<Line<'static>> {
    let half = width / 2 - 1;
    let left = vec![
        about(one, pen, half, room, now),
        bars(one, pen, half, now),
        criteria(one, pen, half, now),
    ];
    let right = vec![decisions(one, pen, half), signals(one, pen, half)];
    let (left, mut right) = (shared_out(left, pen, half, room), shared_out(right, pen, half, room));
    right.resize(right.len().max(left.len()), Line::default());
    let mut left = left.into_iter();
    let beside = |right: Line<'static>| {
        let mut line = cut_line(left.next().unwrap_or_default(), half);
        let pad = half.saturating_sub(line.width()) + 2;
        line.spans.push(Span::raw(" ".repeat(pad)));
        line.spans.extend(right.spans);
        line
    };
    right.into_iter().map(beside).collect()
}

/// Each part gets its core, then its least, and then the first parts get more while there is room.
/// If all fit with lines to spare, an empty line separates the parts.
fn shared_out(
    mut parts: Vec<DetailPart>,
    pen: Pen,
    width: usize,
    room: usize,
) -> Vec<Line<'static>> {
    parts.retain(|part| !part.lines.is_empty());
    let mut left = room;
    let mut given = vec![0; parts.len()];
    let rounds: [fn(&DetailPart) -> usize; 3] = [|it| it.core, |it| it.least, |it| it.lines.len()];
    for wants in rounds {
        for (part, given) in parts.iter().zip(&mut given) {
            let more = wants(part).min(part.lines.len()).saturating_sub(*given).min(left);
            (*given, left) = (*given + more, left - more);
        }
    }
    let apart = left >= parts.len().saturating_sub(1);
    let mut lines = Vec::new();
    for (part, given) in parts.into_iter().zip(given).filter(|(_, given)| *given > 0) {
        if apart && !lines.is_empty() {
            lines.push(Line::default());
        }
        let n_more = part.lines.len() - given;
        let at = lines.len();
        lines.extend(part.lines.into_iter().take(given));
        let says = if part.is_titled { at } else { at + given - 1 };
        if n_more > 0 {
            let text = format!("  ... {n_more} more");
            let room = width.saturating_sub(text.len());
            lines[says] = cut_line(std::mem::take(&mut lines[says]), room);
            lines[says].spans.push(Span::styled(text, pen.style(TextTone::Quiet)));
        }
    }
    lines
}

fn about(one: &WatchedLoop, pen: Pen, width: usize, room: usize, now: Timestamp) -> DetailPart {
    let goal = wrapped(&one.goal, width, if room < LITTLE { 1 } else { 2 });
    let mut lines: Vec<Line<'static>> =
        goal.into_iter().map(|line| Line::from(pen.title(&line))).collect();
    let mut add = |label: &str, value: &str| {
        let values = wrapped(value, width.saturating_sub(LABEL), 2);
        lines.extend(values.into_iter().enumerate().map(|(at, value)| {
            let label = if at == 0 { label } else { "" };
            Line::from(vec![
                Span::styled(format!("{label:<LABEL$}"), pen.style(TextTone::Quiet)),
                Span::raw(value),
            ])
        }));
    };
    if let Some(doing) = &one.doing {
        let when = doing.at.map(|at| match doing.goes_on {
            true => format!("  (for {})", for_long(at, now)),
            false => format!("  ({})", ago(at, now)),
        });
        let label = if doing.goes_on { "tool" } else { "last tool" };
        let about: String = doing.about.chars().take(200).collect();
        add(label, &format!("{}  {about}{}", doing.tool, when.unwrap_or_default()));
    }
    for (label, value) in &one.rows {
        add(label, value);
    }
    DetailPart { lines, core: 2, least: 4, is_titled: false }
}

fn bars(one: &WatchedLoop, pen: Pen, width: usize, now: Timestamp) -> DetailPart {
    let mut lines: Vec<Line<'static>> =
        one.bars.iter().filter_map(|it| bar(it, "", pen, width)).collect();
    if let Some(time) = &one.time {
        let (used, long) = minutes(time, now);
        let it = Bar { label: "minutes", used, most: time.most };
        let said = if used >= 60 { format!(" ({long})") } else { String::new() };
        let at = lines.len().min(1);
        lines.splice(at..at, bar(&it, &said, pen, width));
    }
    DetailPart { core: lines.len(), least: lines.len(), lines, is_titled: false }
}

fn bar(bar: &Bar, said: &str, pen: Pen, width: usize) -> Option<Line<'static>> {
    let most = bar.most;
    let text = format!("{} of {}{said}", rounded(bar.used), rounded(most));
    let long = width.checked_sub(LABEL + 4 + text.len())?.min(LONGEST_BAR);
    // Rounded down, so that the bar is full only when all is used.
    let full = match most {
        0 => long as u128,
        most => u128::from(bar.used.min(most)) * long as u128 / u128::from(most),
    };
    let full = usize::try_from(full).unwrap_or(long);
    let tone = match () {
        () if bar.used >= most => TextTone::Wrong,
        () if bar.used.saturating_mul(10) >= most.saturating_mul(8) => TextTone::Waits,
        () => TextTone::Good,
    };
    Some(Line::from(vec![
        Span::styled(format!("{:<LABEL$}", bar.label), pen.style(TextTone::Quiet)),
        Span::raw("["),
        Span::styled("#".repeat(full), pen.style(tone)),
        Span::raw(format!("{}]  {text}", ".".repeat(long - full))),
    ]))
}

fn criteria(one: &WatchedLoop, pen: Pen, width: usize, now: Timestamp) -> DetailPart {
    if one.criteria.is_empty() {
        return DetailPart::nothing();
    }
    let held = one.criteria.iter().filter(|one| one.tone == TextTone::Good).count();
    let mut lines = vec![Line::from(vec![
        pen.title("criteria"),
        Span::raw(format!("     {held} of {} held when they were last run", one.criteria.len())),
    ])];
    let id = one.criteria.iter().map(|one| one.id.chars().count()).max().unwrap_or(0).min(12);
    for it in &one.criteria {
        let when = it.at.map(|at| ago(at, now)).unwrap_or_default();
        let mut rest: Vec<&str> = vec![&when, &it.note, &it.description];
        rest.retain(|part| !part.is_empty());
        let line = Line::from(vec![
            Span::raw(format!("  {}  ", fit(&it.id, id))),
            pen.say(&fit(it.word, 12), it.tone),
            pen.say(&rest.join("  "), TextTone::Plain),
        ]);
        lines.push(cut_line(line, width));
    }
    DetailPart { lines, core: 2, least: 3, is_titled: true }
}

fn decisions(one: &WatchedLoop, pen: Pen, width: usize) -> DetailPart {
    if one.decisions.is_empty() {
        return DetailPart::nothing();
    }
    let mut lines = vec![Line::from(pen.title("decisions"))];
    lines.extend(one.decisions.iter().map(|it| {
        let line = Line::from(vec![
            pen.say(&format!("  {}  ", clock(it.at)), TextTone::Quiet),
            pen.say(&it.what, TextTone::Plain),
            pen.say(&format!("  {}", it.why.replace('\n', " ")), TextTone::Quiet),
        ]);
        cut_line(line, width)
    }));
    DetailPart { lines, core: 2, least: 3, is_titled: true }
}

fn signals(one: &WatchedLoop, pen: Pen, width: usize) -> DetailPart {
    if one.signals.is_empty() {
        return DetailPart::nothing();
    }
    let mut lines = vec![Line::from(pen.title("signals"))];
    // Waiting signals come first.
    let mut all: Vec<_> = one.signals.iter().rev().collect();
    all.sort_by_key(|it| it.is_heard);
    lines.extend(all.into_iter().map(|it| {
        let (word, tone) =
            if it.is_heard { ("heard", TextTone::Quiet) } else { ("waits", TextTone::Waits) };
        let text = format!("  {}  {}", fit(it.kind, 5), it.text.replace('\n', " "));
        cut_line(
            Line::from(vec![pen.say(&format!("  {word}"), tone), pen.say(&text, TextTone::Plain)]),
            width,
        )
    }));
    DetailPart { lines, core: 2, least: 2, is_titled: true }
}
