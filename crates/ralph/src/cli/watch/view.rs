//! The page as lines: a list of the loops, one of them in detail, and the keys.
//!
//! Depends on the model and the size alone. Our own text uses only characters that every terminal
//! has, and a word repeats what each colour says.

#[cfg(test)]
mod tests;

use super::model::{Bar, InputMode, Model, TextTone, WatchedLoop};
use crate::command::screen::visible;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_core::text::plural::{counted, lasted, rounded};
pub(super) use ralph_core::text::wrap::cut;
use ralph_core::text::wrap::{columns as width_of, wrap};
use ratatui::Frame;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;

/// Smaller terminals have no room for anything useful.
const LEAST: (u16, u16) = (30, 8);

/// From this width on, the decisions stand beside the work.
const WIDE: usize = 140;

const KEYS: &str = "j/k select  p pause  r resume  s steer  x stop  ? help  q quit";

const KEYS_BRIEF: &str = "j/k p r s x, ? help, q quit";

const HELP: &str = "\
j, k, arrows   select another loop (g, G, page keys: far)
p              pause: the loop pauses after this turn
r              resume: a paused loop continues
s              steer: write a line; the model reads it
               with its next tool call
x              stop: end the loop, after a question
Ctrl-L         redraw
Ctrl-Z         back to the shell; `fg` returns
q, Ctrl-C      quit; the loops continue

A criterion shows its last run. `ralph status` also
checks whether the files have changed since.
Any key closes this.";

pub(super) fn draw(frame: &mut Frame<'_>, model: &Model) {
    let area = frame.area();
    let lines = lines(model, area.width, area.height);
    frame.render_widget(Paragraph::new(Text::from(lines)), area);
}

pub(super) fn lines(model: &Model, width: u16, height: u16) -> Vec<Line<'static>> {
    if width < LEAST.0 || height < LEAST.1 {
        return vec![Line::from("too small to watch: `ralph status`")];
    }
    let (width, height) = (usize::from(width), usize::from(height));
    let pen = Pen { colours: model.colours };
    let mut lines = vec![title(model, width)];
    let bottom = bottom(model, pen, width);
    let room = height - lines.len() - bottom.len();
    if model.asks == InputMode::Help {
        lines.extend(HELP.lines().take(room).map(|line| Line::from(cut(line, width))));
    } else {
        lines.extend(body(model, pen, width, room));
    }
    lines.resize(height - bottom.len(), Line::default());
    lines.extend(bottom);
    lines.into_iter().map(|line| cut_line(line, width)).collect()
}

fn body(model: &Model, pen: Pen, width: usize, room: usize) -> Vec<Line<'static>> {
    let mut lines = list(model, pen, width, room);
    let Some(one) = model.selected_loop() else { return lines };
    let room = room.saturating_sub(lines.len() + 1);
    if room > 0 {
        lines.push(Line::styled("-".repeat(width), pen.style(TextTone::Quiet)));
        lines.extend(match width >= WIDE {
            true => side_by_side(one, pen, width, room, model.now),
            false => below_each_other(one, pen, width, room, model.now),
        });
    }
    lines
}

fn title(model: &Model, width: usize) -> Line<'static> {
    let n = model.loops.len();
    let loops = if n == 0 { "no loop".to_owned() } else { counted(n, "loop", "loops") };
    let right = format!(" {loops}  {} ", clock(model.now));
    let left = fit(&format!(" ralph watch  {}", model.of), width.saturating_sub(right.len()));
    Line::from(left + &right).style(Modifier::REVERSED)
}

/// A question or the result of the last key, and the keys.
fn bottom(model: &Model, pen: Pen, width: usize) -> Vec<Line<'static>> {
    let (said, keys) = match &model.asks {
        InputMode::Nothing => {
            let keys = if width > KEYS.len() { KEYS } else { KEYS_BRIEF };
            (pen.say(&model.notice, TextTone::Waits), keys)
        }
        InputMode::Help => (pen.say("", TextTone::Plain), "any key goes back"),
        InputMode::Stop { loop_id } => (
            pen.say(
                &format!("stop loop {loop_id}? It ends for good; what it did stays."),
                TextTone::Wrong,
            ),
            "y stops it, any other key does not",
        ),
        InputMode::Steer { text, .. } => {
            let label = "steer: ";
            (
                pen.say(
                    &format!("{label}{}_", end_of(text, width - label.len() - 1)),
                    TextTone::Plain,
                ),
                "Enter sends, Esc leaves, Ctrl-U empties",
            )
        }
    };
    vec![
        Line::from(said),
        Line::styled(cut(&format!(" {keys}"), width), pen.style(TextTone::Quiet)),
    ]
}

/// The end of the input, where the user is typing.
fn end_of(text: &str, columns: usize) -> String {
    let shown = visible(text);
    let n = shown.chars().count();
    shown.chars().skip(n.saturating_sub(columns)).collect()
}

/// The whole minutes from the start to the end or to now, as a number and as `2 h 5 min`.
fn minutes(time: &super::model::Time, now: jiff::Timestamp) -> (u64, String) {
    let until = time.ended.unwrap_or(now);
    let used = u64::try_from(until.duration_since(time.began).as_mins()).unwrap_or(0);
    (used, for_long(time.began, until))
}

// The list of loops; the selected one is always visible.

/// The list gets one part in four of the page; the selected loop needs the rest.
const PART: usize = 4;

const STATE: usize = 27;

fn list(model: &Model, pen: Pen, width: usize, room: usize) -> Vec<Line<'static>> {
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

// One loop in detail: its work, its budgets, its criteria, the decisions and the user's signals.
//
// If there is no room for everything, each part keeps its beginning and says how
// much more there is.

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

fn below_each_other(
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

fn side_by_side(
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

// Pieces of a line measured in columns, without control sequences.

/// Styles text, with or without colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pen {
    pub(super) colours: bool,
}

impl Pen {
    /// A text from anywhere, made harmless.
    pub(super) fn say(self, text: &str, tone: TextTone) -> Span<'static> {
        Span::styled(visible(text), self.style(tone))
    }

    /// A title of our own.
    pub(super) fn title(self, text: &str) -> Span<'static> {
        Span::styled(text.to_owned(), Style::new().add_modifier(Modifier::BOLD))
    }

    pub(super) fn style(self, tone: TextTone) -> Style {
        let colour = match tone {
            _ if !self.colours => None,
            TextTone::Good => Some(Color::Green),
            TextTone::Waits => Some(Color::Yellow),
            TextTone::Wrong => Some(Color::Red),
            TextTone::Quiet => Some(Color::DarkGray),
            TextTone::Plain => None,
        };
        colour.map_or_else(Style::new, |colour| Style::new().fg(colour))
    }
}

/// The text in exactly `columns` columns: padded with spaces, or cut.
pub(super) fn fit(text: &str, columns: usize) -> String {
    let mut shown = cut(&visible(text), columns);
    shown.push_str(&" ".repeat(columns.saturating_sub(width_of(&shown))));
    shown
}

/// A line cut to at most `columns` columns.
pub(super) fn cut_line(line: Line<'static>, columns: usize) -> Line<'static> {
    if line.width() <= columns {
        return line;
    }
    let mut left = columns;
    let mut spans = Vec::new();
    for span in line.spans {
        if left == 0 {
            break;
        }
        let text = cut(&span.content, left);
        left = left.saturating_sub(width_of(&text));
        spans.push(Span::styled(text, span.style));
    }
    Line::from(spans)
}

/// The text wrapped into at most `most` lines of `columns` columns.
pub(super) fn wrapped(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(&visible(&text.replace(['\n', '\r', '\t'], " ")), columns, columns);
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(rest);
    }
    lines.iter().map(|line| cut(line, columns)).collect()
}

/// The time of day in the user's time zone.
pub(super) fn clock(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    match for_long(at, now).as_str() {
        "0 s" => "now".to_owned(),
        long => format!("{long} ago"),
    }
}

/// The time between, as `12 s`, `3 min` or `2 h 5 min`.
pub(super) fn for_long(from: Timestamp, until: Timestamp) -> String {
    lasted(until.duration_since(from).as_secs())
}

#[cfg(test)]
mod text_tests {
    use super::*;

    #[test]
    fn a_text_takes_as_many_columns_as_it_is_given() {
        assert_eq!(
            (fit("ab", 4), fit("abcdef", 5), fit("abc", 2)),
            ("ab  ".into(), "ab...".into(), "ab".into())
        );
        // Characters that are two columns wide, and some of width zero.
        assert_eq!(
            (fit("漢字漢字", 6), fit("e\u{301}x", 3)),
            ("漢... ".into(), "e\u{301}x ".into())
        );
        assert_eq!(fit("\u{1b}[2J", 12), "\\u{1b}[2J   ");
    }

    #[test]
    fn words_go_on_in_the_next_line_as_long_as_there_is_one() {
        assert_eq!(wrapped("one two three four", 9, 2), ["one two", "three..."]);
        assert_eq!(wrapped("one\n\ntwo", 20, 2), ["one two"]);
        assert!(wrapped(" ", 9, 2).is_empty());
        assert_eq!(wrapped(&"x".repeat(30), 9, 2), ["xxxxxx..."]);
    }

    #[test]
    fn a_time_is_said_in_two_numbers_at_most() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let said = [0, 59, 60, 3_599, 3_600, 90_061].map(|until| for_long(at(0), at(until)));
        assert_eq!(said, ["0 s", "59 s", "1 min", "59 min", "1 h", "25 h 1 min"]);
        assert_eq!((ago(at(9), at(9)), ago(at(9), at(3))), ("now".into(), "now".into()));
    }
}
