//! The unparsed output of a tool that reports only success or failure.

use super::{ParsedOutput, Printed, bounded, failure};
use crate::project::check::finding::Finding;

/// Length limit in characters.
pub(super) const LONGEST: usize = 2_000;

/// A tool that gave up because of the network prints no more lines than this.
const FEW_LINES: usize = 30;

pub(super) fn read(printed: &Printed<'_>) -> ParsedOutput {
    if printed.code == Some(0) {
        return ParsedOutput::Found(Vec::new());
    }
    match gave_up(printed) {
        Some(why) => ParsedOutput::DidNotRun(why),
        None => ParsedOutput::Found(vec![all_of_it(printed)]),
    }
}

/// Why the tool did not check the file: its output is short and mentions the network.
pub(super) fn gave_up(printed: &Printed<'_>) -> Option<String> {
    let wanted = failure::wanted_network(printed)?;
    (printed.text().lines().count() <= FEW_LINES).then_some(wanted)
}

/// The start, which shows what failed, and the end, which summarises.
fn all_of_it(printed: &Printed<'_>) -> Finding {
    let text = printed.text();
    let text = text.trim_matches('\n').trim_end();
    let length = text.chars().count();
    let message = match length {
        0 => said_nothing(printed),
        1..=LONGEST => text.to_owned(),
        _ => {
            let head: String = text.chars().take(LONGEST / 3).collect();
            let tail_length = LONGEST * 3 / 5;
            let tail: String = text.chars().skip(length - tail_length).collect();
            let left_out = length - LONGEST / 3 - tail_length;
            format!("{head}\n… ({left_out} characters left out) …\n{tail}")
        }
    };
    printed.finding("", message)
}

/// The last informative lines of a tool with an unknown format.
pub(super) fn last_lines(printed: &Printed<'_>) -> Finding {
    const LINES: usize = 12;
    let text = printed.text();
    let said = text.lines().map(str::trim_end).filter(|line| line.contains(char::is_alphanumeric));
    let mut lines: Vec<&str> = said.rev().take(LINES).collect();
    lines.reverse();
    match lines.is_empty() {
        true => printed.finding("", said_nothing(printed)),
        false => {
            let short = lines.iter().map(|line| bounded(line, 200));
            printed.finding("", last_characters(short.collect::<Vec<_>>().join("\n")))
        }
    }
}

/// Keeps the end of the text if it is too long.
fn last_characters(text: String) -> String {
    let too_many = text.chars().count().saturating_sub(super::LONGEST);
    text.chars().skip(too_many).collect()
}

fn said_nothing(printed: &Printed<'_>) -> String {
    let code = printed.code.unwrap_or_default();
    format!("ended with exit code {code} and printed nothing")
}
