//! Waits for the user's decision, here at the terminal or from anywhere else.
//!
//! There is no time limit: silence is no decision. A decision made elsewhere shows up in the state.

use super::{Driver, told};
use crate::command::context_dir::{Here, note};
use crate::command::exit::bad_state;
use crate::command::screen;
use crate::command::select_loop::FoundLoop;
use anyhow::Result;
use ralph_core::state::{DecidedBy, DecisionKind, LoopState, PlanPhase};
use ralph_core::views::notice::NoticeEvent;
use ralph_hooks::modes::ralplan::{self, Decided, DecisionRequest};
use ralph_io::process::wait_any::{self, Interrupts, WaitEnd};
use ralph_io::process::watch::Watch;
use ralph_io::store::lifecycle::ManifestFate;
use ralph_io::store::{notice, plan_files};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GateOutcome {
    /// The planning continues: with the planner, or with whatever the decision led to.
    GoesOn,
    Over,
    /// The user left without a decision.
    Left,
}

const ASKS: &str = "Proceed, adjust WORDS, discard, or wait?";

const WHAT_SHOULD_CHANGE: &str = "What should change?";

const ELSEWHERE: &str = "It waits for you. In another terminal, in this project: `ralph ralplan approve`, \
                         `ralph ralplan adjust \"WORDS\"` or `ralph ralplan discard`; Ctrl-C leaves it as it is.";

/// Waits until the user has decided.
pub(super) fn wait(driver: &Driver<'_>, interrupts: &Interrupts) -> Result<GateOutcome> {
    let here = driver.runner.here;
    let root = Path::new(&driver.before.project_root);
    let document = plan_files::document(root);
    // Start the watch before the first check, so that no change falls between the two.
    let watch = Watch::begin(&[driver.file.folder(), document.parent().unwrap_or(root)])?;
    let mut asks = screen::can_ask();
    let mut shown = false;
    // True if the next line is the user's text for the planner.
    let mut words_come = false;
    loop {
        let Some(loaded) = driver.file.read().map_err(bad_state)? else {
            return Ok(GateOutcome::Over);
        };
        let state = loaded.state;
        if let Some(passed) = moved_on(&state) {
            return Ok(passed);
        }
        if !shown {
            wait_any::forget_what_was_typed();
            screen::tell(&screen::visible_lines(&told::plan(&state)));
            ask(asks, ASKS)?;
            note(here, driver.file, &state, "ralplan run", "asks", &told::what(&state));
            shown = true;
            // Planning takes long, and the user may have left.
            notice::call(driver.file, &state, &NoticeEvent::Awaits);
        }
        match wait_any::wait(interrupts, &watch, asks)? {
            WaitEnd::Changed => continue,
            WaitEnd::Interrupted => {
                screen::tell("");
                return Ok(GateOutcome::Left);
            }
            WaitEnd::Typed => {}
        }
        let line = screen::answer()?;
        let said = match (&line, words_come) {
            (None, _) => Typed::Wait,
            (Some(line), true) => Typed::Decided(DecisionKind::Adjust, line.clone()),
            (Some(line), false) => read(line),
        };
        words_come = said == Typed::WordsCome;
        match said {
            Typed::Wait => {
                asks = false;
                ask(asks, ASKS)?;
            }
            Typed::WordsCome => ask(asks, WHAT_SHOULD_CHANGE)?,
            Typed::Unknown => ask(asks, ASKS)?,
            Typed::Decided(kind, words) => {
                let found = FoundLoop::seen(driver.file.clone(), state);
                match take(here, &found, kind, &words, ManifestFate::Remove)? {
                    Decided::Refused(why) => {
                        screen::tell(&screen::visible_lines(&format!(
                            "nothing was decided: {why}"
                        )));
                        ask(asks, ASKS)?;
                    }
                    decided => return passed(&decided),
                }
            }
        }
    }
}

/// Applies the user's decision, and writes it to the journal.
pub(crate) fn take(
    here: &Here,
    found: &FoundLoop,
    kind: DecisionKind,
    text: &str,
    entry: ManifestFate,
) -> Result<Decided> {
    let word = if kind == DecisionKind::Proceed { "approve" } else { kind.as_str() };
    let command = format!("ralplan {word}");
    let said =
        DecisionRequest { kind, text: text.to_owned(), by: DecidedBy::CommandLine, via: None };
    let decided = ralplan::decide(&here.home, &found.file, said, entry).map_err(bad_state)?;
    let (decision, why) = decided.describe();
    let file = decided.file().unwrap_or(&found.file);
    note(here, file, &found.state, &command, decision, &why);
    Ok(decided)
}

fn ask(asks: bool, question: &str) -> Result<()> {
    if asks {
        return screen::put(question);
    }
    screen::tell(ELSEWHERE);
    Ok(())
}

fn passed(decided: &Decided) -> Result<GateOutcome> {
    let (_, why) = decided.describe();
    screen::tell(&screen::visible_lines(&why));
    Ok(match decided {
        Decided::Adjusted(_) | Decided::Refused(_) => GateOutcome::GoesOn,
        Decided::Approved { .. } | Decided::Discarded { .. } => GateOutcome::Over,
    })
}

/// Returns `None` while the user still has to decide.
fn moved_on(state: &LoopState) -> Option<GateOutcome> {
    let waits = state.ralplan().map(|plan| &plan.phase);
    match waits {
        _ if state.ending.is_some() => Some(GateOutcome::Over),
        Some(PlanPhase::AwaitingUserApproval) if !plan_files::is_gone(state) => None,
        _ => Some(GateOutcome::GoesOn),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Typed {
    /// A decision, with the user's words.
    Decided(DecisionKind, String),
    /// To adjust, with the words on the next line.
    WordsCome,
    Wait,
    /// Not a decision, and neither is an empty line.
    Unknown,
}

fn read(line: &str) -> Typed {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word.trim_end_matches(':').to_lowercase().as_str(), rest.trim()) {
        ("proceed" | "p", "") => Typed::Decided(DecisionKind::Proceed, String::new()),
        ("discard" | "d", "") => Typed::Decided(DecisionKind::Discard, String::new()),
        ("adjust" | "a", "") => Typed::WordsCome,
        ("adjust" | "a", words) => Typed::Decided(DecisionKind::Adjust, words.to_owned()),
        ("wait" | "w", "") => Typed::Wait,
        _ => Typed::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let said = match read(line) {
            Typed::Decided(kind, words) => format!("{} {words}", kind.as_str()),
            other => format!("{other:?}"),
        };
        assert_eq!(said.trim(), expected, "{line}");
    }

    #[test]
    fn a_decision_is_its_word_and_nothing_else_is() {
        for line in ["proceed", " Proceed ", "p"] {
            check(line, "proceed");
        }
        check("discard", "discard");
        check("adjust less code", "adjust less code");
        check("Adjust: less  code", "adjust less  code");
        check("adjust", "WordsCome");
        check("w", "Wait");
        for line in
            ["", "yes", "y", "ok", "proceed but first x", "discard it", "proceeding", "\u{1b}"]
        {
            check(line, "Unknown");
        }
    }
}
