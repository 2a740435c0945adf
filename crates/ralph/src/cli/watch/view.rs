//! The page as lines: a list of the loops, one of them in detail, and the keys.
//!
//! Depends on the model and the size alone. Our own text uses only characters that every terminal
//! has, and a word repeats what each colour says.

mod detail;
mod list;

use super::model::{InputMode, Model, TextTone};
use super::text::{Pen, clock, cut, cut_line, fit, for_long};
use crate::command::screen::visible;
use ralph_core::text::plural::counted;
use ratatui::Frame;
use ratatui::style::Modifier;
use ratatui::text::{Line, Text};
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
    let mut lines = list::lines(model, pen, width, room);
    let Some(one) = model.selected_loop() else { return lines };
    let room = room.saturating_sub(lines.len() + 1);
    if room > 0 {
        lines.push(Line::styled("-".repeat(width), pen.style(TextTone::Quiet)));
        lines.extend(match width >= WIDE {
            true => detail::side_by_side(one, pen, width, room, model.now),
            false => detail::below_each_other(one, pen, width, room, model.now),
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

#[cfg(test)]
mod tests;
