//! `ralph statusline`: prints what the client's status line shows of the session's loop.
//!
//! The client passes JSON and shows whatever is printed, in every session and after each answer of
//! the model. So a session without a loop costs two lookups and prints nothing, nothing waits, and
//! every failure under a client ends with exit code 0: a broken status line is no reason to report
//! it twice a second.

use crate::command::exit::{Exit, usage};
use crate::command::screen::{self, Colour};
use crate::command::select_loop::SHOWN_FOR;
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::state::{EndingTone, LoopState};
use ralph_core::views::phrases::{self, StatuslinePart};
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::store::home::Home;
use ralph_io::{client::given, client::status_line, process::clock, store::lifecycle};
use serde::Deserialize;
use std::io::IsTerminal;
use std::path::Path;

/// Separates two parts of the line.
const BETWEEN: &str = " | ";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Another status line command; its output comes first
    #[arg(long, value_name = "COMMAND")]
    with: Option<String>,
}

impl Args {
    /// True if it runs a command that the user's own status line does not run.
    pub(super) fn runs_another(&self) -> bool {
        let registers = |command: &String| {
            let folder = std::env::current_dir().unwrap_or_default();
            ClientSettings::for_project(&folder).has_statusline_with(command)
        };
        self.with.as_ref().is_some_and(|command| !registers(command))
    }
}

/// The members that we use of the client's JSON.
#[derive(Deserialize)]
struct Given {
    session_id: String,
    /// The session's folder; older clients may not name it.
    #[serde(default)]
    cwd: String,
}

/// Prints the line; an empty one if there is nothing to show.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    if std::io::stdin().is_terminal() {
        return Err(usage(
            "`ralph statusline` reads the JSON that Claude Code gives a status line; `ralph install \
                       --with statusline` registers it; type `ralph status` to see a loop",
        ));
    }
    let given = given::stdin().unwrap_or_default();
    let other = args.with.as_ref().map(|command| status_line::ask(command, given.as_bytes()));
    let ours = ours(&given);
    let theirs = other.map(|asked| asked.and_then(status_line::RunningStatusLine::line));
    let theirs = theirs.and_then(Result::ok).unwrap_or_default();
    // If the client no longer reads, it has no use for an error either.
    let _ = screen::print_bytes(&side_by_side(&theirs, &ours));
    Ok(Exit::Done)
}

/// What is shown of the session's loop; empty if it has none.
fn ours(given: &str) -> String {
    let Ok(given) = serde_json::from_str::<Given>(given) else { return String::new() };
    let now = clock::now();
    match find_loop(&given, now) {
        Ok(Some(state)) => {
            let parts = phrases::statusline(&state, now);
            let shown: Vec<String> = parts.iter().map(shown).collect();
            shown.join(BETWEEN)
        }
        Ok(None) => String::new(),
        Err(_) => shown(&StatuslinePart {
            text: "Ralph: the loop's state cannot be read, `ralph doctor` says why".to_owned(),
            tone: EndingTone::Wrong,
        }),
    }
}

/// The session's loop; else the project's last one, for 24 hours after its end.
fn find_loop(given: &Given, now: Timestamp) -> Result<Option<LoopState>> {
    let home = Home::from_env()?;
    if let Some(file) = lifecycle::of_session(&home, &given.session_id)? {
        let state = file.glimpse()?.map(|loaded| loaded.state);
        return Ok(state.filter(|state| state.is_of(&given.session_id)));
    }
    if given.cwd.is_empty() {
        return Ok(None);
    }
    let Some(file) = lifecycle::of_project(&home, Path::new(&given.cwd))? else { return Ok(None) };
    let state = file.glimpse()?.map(|loaded| loaded.state);
    let is_recent = |at: Timestamp| now.duration_since(at) < SHOWN_FOR;
    Ok(state.filter(|state| state.ending.as_ref().is_some_and(|ending| is_recent(ending.at))))
}

/// Coloured although standard output is no terminal: the client shows it in one.
fn shown(part: &StatuslinePart) -> String {
    let colour = match part.tone {
        EndingTone::Good => Some(Colour::Green),
        EndingTone::Look => Some(Colour::Yellow),
        EndingTone::Wrong => Some(Colour::Red),
        EndingTone::Quiet => None,
    };
    match colour.filter(|_| screen::colours_are_wanted()) {
        Some(colour) => screen::painted(&part.text, colour),
        None => part.text.clone(),
    }
}

fn side_by_side(theirs: &[u8], ours: &str) -> Vec<u8> {
    let mut line = theirs.to_vec();
    if !theirs.is_empty() && !ours.is_empty() {
        if theirs.contains(&0x1b) {
            // A colour that they left on would colour our part too.
            line.extend(b"\x1b[0m");
        }
        line.extend(BETWEEN.as_bytes());
    }
    line.extend(ours.as_bytes());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theirs_comes_first_and_alone_it_is_as_it_was() {
        let together =
            |theirs: &str, ours| String::from_utf8(side_by_side(theirs.as_bytes(), ours)).unwrap();
        assert_eq!(together("", ""), "");
        assert_eq!(together("a\nb", ""), "a\nb");
        assert_eq!(together("", "o"), "o");
        assert_eq!(together("a", "o"), "a | o");
        assert_eq!(together("\u{1b}[31ma", "o"), "\u{1b}[31ma\u{1b}[0m | o");
    }
}
