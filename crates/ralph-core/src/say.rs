//! What people are told, in one line each.

use crate::graph;
use crate::state::{EndingKind, LoopState, PauseCause};

/// A message under our name, as the client shows it.
pub fn line(text: &str) -> String {
    format!("Ralph: {text}")
}

/// `paused at 3/25 (interrupted); /ralph continues`.
pub fn paused(state: &LoopState) -> String {
    let cause = match state.pause.as_ref().map(|pause| &pause.cause) {
        None | Some(PauseCause::Person) => String::new(),
        Some(cause) => format!(" ({cause})"),
    };
    format!("paused at {}{cause}; /ralph continues", state.position())
}

/// How the loop ended, what was achieved, and what to do next.
pub fn ended(state: &LoopState) -> String {
    let Some(ending) = &state.ending else { return line("the loop has ended") };
    let detail =
        if ending.detail.is_empty() { String::new() } else { format!(": {}", ending.detail) };
    line(&format!(
        "loop {} ended {} at {}{detail}. {}{}",
        state.loop_id,
        ending.kind,
        state.position(),
        achieved(state),
        next_command(&ending.kind)
    ))
}

fn achieved(state: &LoopState) -> String {
    let mut text = String::new();
    let at = state.ending.as_ref().map_or(state.updated_at, |ending| ending.at);
    let tasks = graph::summary(&state.task_graph, at).describe();
    if !tasks.is_empty() {
        text.push_str(&format!("{tasks}. "));
    }
    if !state.acceptance_criteria.is_empty() {
        let criteria = &state.acceptance_criteria;
        let verified = criteria.iter().filter(|criterion| criterion.verified).count();
        text.push_str(&format!("{verified} of {} criteria verified. ", criteria.len()));
    }
    text
}

fn next_command(kind: &EndingKind) -> &'static str {
    match kind {
        EndingKind::Complete | EndingKind::Approved | EndingKind::Plateau => {
            "`ralph status --all` shows it."
        }
        EndingKind::CompleteUnverified => {
            "Check the work yourself; `ralph explain` shows the last decision."
        }
        EndingKind::MaxIterations | EndingKind::Budget => {
            "`ralph explain` shows the last decision; `/ralph \"…\"` with a higher bound starts again."
        }
        EndingKind::Stalled => {
            "`ralph explain` shows the last decision; change the task before starting again."
        }
        _ => "`ralph status --all` shows it.",
    }
}

/// The end of a text, on one line, for a journal or a message.
pub fn tail(text: &str, letters: usize) -> String {
    // From the end: the text may be a megabyte.
    let begins = text.char_indices().rev().take(letters).last().map_or(text.len(), |(at, _)| at);
    let folded = text[begins..].split_whitespace().collect::<Vec<_>>().join(" ");
    if begins > 0 { format!("…{folded}") } else { folded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Phase;
    use jiff::Timestamp;

    #[test]
    fn a_pause_names_where_why_and_how_to_continue() {
        let mut state =
            LoopState { phase: Phase::Implementation, iteration: 3, ..LoopState::default() };
        state.pause(PauseCause::Person, "", Timestamp::UNIX_EPOCH);
        assert_eq!(paused(&state), "paused at 3/25; /ralph continues");
        state.pause.as_mut().unwrap().cause = PauseCause::HostCapped;
        assert_eq!(paused(&state), "paused at 3/25 (host_capped); /ralph continues");
    }

    #[test]
    fn an_ending_names_its_kind_and_what_to_do() {
        let mut state = LoopState {
            loop_id: "L".to_owned(),
            iteration: 5,
            max_iterations: 5,
            ..LoopState::default()
        };
        state.end(EndingKind::MaxIterations, "went on 5 times", Timestamp::UNIX_EPOCH);
        let text = ended(&state);
        assert!(
            text.starts_with("Ralph: loop L ended max_iterations at 5/5: went on 5 times."),
            "{text}"
        );
        assert!(text.contains("ralph explain"));
    }

    #[test]
    fn a_tail_is_the_end_on_one_line() {
        assert_eq!(tail("a\nb  c", 100), "a b c");
        assert_eq!(tail("abcdef", 3), "…def");
    }
}
