//! Refinement in a session: which agents the session may call, and whether its turn may end.
//!
//! The session only orchestrates, and it has room for only a few rounds. The limit is enforced
//! where the Agent tool is called, so a wrong count by the model cannot exceed it.

use super::state::Refinement;
use super::{MOST_IN_FOREGROUND, Status, say};
use crate::modes::flow;
use crate::modes::mode::ModeRules;
use crate::modes::parallel::{AgentCall, Grant};
use crate::modes::plain::Plain;
use crate::state::{DrivenTurn, EndingKind, LoopError, LoopState, RefineState, Signal};
use crate::stop::progress::stops;
use crate::stop::{
    AtStop, NextStep, StopInputs, StopVerdict, TaskProgress, used_up, wait_for_person,
};
use crate::text::plural::noun;
use crate::text::truncate::bounded;
use jiff::Timestamp;

/// Longest text that repeats the next step, in UTF-16 units.
const LIMIT: usize = 1_500;

/// The row of a refinement in a session.
pub(crate) struct Refine;

impl AtStop for Refine {
    fn has_criteria(&self) -> bool {
        false
    }

    fn at_stop(
        &self,
        state: &mut LoopState,
        _work: &TaskProgress,
        seen: &StopInputs,
    ) -> StopVerdict {
        if let Some(blocked) = state.blocked.take_if(|_| !seen.steer_waits) {
            return wait_for_person(state, blocked.what, seen.now);
        }
        let over = match used_up(state, seen.now) {
            Some((kind, detail)) => Some((kind, detail, None)),
            None if stands_still(state, seen.steer_waits) => {
                let detail = format!("no round ran at {}", stops(state.stall_limit));
                Some((EndingKind::Stalled, detail, Some(Signal::NoChange)))
            }
            None => None,
        };
        if let Some((kind, detail, cause)) = over {
            state.errors.push(LoopError { at: seen.now, message: format!("{kind}: {detail}") });
            state.end(kind.clone(), detail, seen.now);
            if let Some(ending) = &mut state.ending {
                ending.cause = cause;
            }
            return StopVerdict::Ended(kind);
        }
        state.turn = Some(DrivenTurn::new(seen.prompt_id.clone(), seen.now));
        StopVerdict::GoOn
    }

    fn next_step(&self, state: &LoopState, _seen: &StopInputs) -> NextStep {
        let next = state.refining().map(|refining| next(state, refining).0).unwrap_or_default();
        NextStep::new(&state.position(), "", &next, next_step_text(state))
    }
}

impl ModeRules for Refine {
    fn noun(&self) -> &'static str {
        "refinement"
    }

    fn loop_prompt(
        &self,
        heading: &str,
        state: &LoopState,
        steers: &[String],
        _now: Timestamp,
    ) -> String {
        let text = format!(
            "{heading}\nRules: agents refine, Ralph measures and names the next step; you change \
             nothing yourself. Call one agent for each round, in the foreground, and ask no questions \
             before the end."
        );
        flow::loop_prompt(text, steers, &next_step_text(state))
    }

    fn next_hint(&self, state: &LoopState) -> Option<String> {
        match state.refining() {
            Some(refining) if state.is_running() => {
                Some(format!("`ralph refine status --id {}` shows its rounds", refining.word))
            }
            _ => Plain.next_hint(state),
        }
    }

    fn after_end(&self, state: &LoopState, kind: &EndingKind) -> Option<String> {
        let word = &state.refining()?.word;
        Some(match kind {
            EndingKind::Plateau => {
                format!("`ralph refine history --id {word}` shows its rounds.")
            }
            EndingKind::MaxIterations => format!(
                "`ralph refine loop --id {word} --max-iterations 10` continues it in a \
                 terminal."
            ),
            _ => {
                format!("`ralph refine loop --id {word}` continues it in a terminal.")
            }
        })
    }

    fn blocks_start(&self, state: &LoopState, has_task: bool) -> Option<String> {
        has_task.then(|| {
            format!(
                "a refinement is live in this session at {}: type /ralph to continue it, or \
                 /ralph-cancel to end it",
                state.position()
            )
        })
    }

    fn grant(&self, state: &mut LoopState, asked: &AgentCall<'_>, _now: Timestamp) -> Grant {
        let Some(refining) = state.refining_mut() else {
            return Grant::Refused("This loop is no longer a refinement.".to_owned());
        };
        if refining.calls.iter().any(|known| known == asked.call) {
            return Grant::Again;
        }
        if asked.from_worker {
            return Grant::Refused(
                "The agent of a round calls no other agents. Do the work yourself.".to_owned(),
            );
        }
        if is_full(refining) {
            return Grant::Refused(full(refining));
        }
        if refining.open == 0 {
            return Grant::Refused(format!(
                "A refinement calls an agent only for an open round, and no round is open: open the \
                 next with `ralph refine begin --id {}`.",
                refining.word
            ));
        }
        refining.calls.push(asked.call.to_owned());
        Grant::Granted
    }

    fn has_tasks(&self) -> bool {
        false
    }
}

/// True once the session has called as many agents as it has room for.
pub fn is_full(refining: &RefineState) -> bool {
    refining.earlier as usize + refining.calls.len() >= MOST_IN_FOREGROUND as usize
}

/// How many rounds this loop's session has made, including those before the loop. A round that was
/// cut counts if its agent was called.
pub fn made(state: &LoopState) -> u32 {
    let Some(refining) = state.refining() else { return 0 };
    let called = u32::try_from(refining.calls.len()).unwrap_or(u32::MAX);
    let done = state.iteration.saturating_sub(refining.from);
    refining.earlier.saturating_add(called.max(done))
}

/// Why the session may not call another agent, and what remains to be done.
pub fn full(refining: &RefineState) -> String {
    let open = match refining.open {
        0 => String::new(),
        round => format!(
            " Round {round} is open: pass its agent's answer, or an empty text, to `ralph refine \
             end --id {}`.",
            refining.word
        ),
    };
    format!(
        "A conversation has room for {MOST_IN_FOREGROUND} rounds, whatever they refine, and this \
         one has called an agent for each.{open} Then report the result to the user, who can \
         continue in a terminal: `ralph refine loop --id {} --max-iterations 10`.",
        refining.word
    )
}

/// True if the refinement has not moved for as many stops as its limit allows: no round done and no
/// agent called.
fn stands_still(state: &mut LoopState, heard: bool) -> bool {
    let (done, limit) = (state.iteration, state.stall_limit);
    let Some(refining) = state.refining_mut() else { return false };
    let at = done + u32::try_from(refining.calls.len()).unwrap_or(u32::MAX - done);
    let has_moved = refining.told_at != at || heard;
    refining.still = if has_moved { 0 } else { refining.still + 1 };
    refining.told_at = at;
    refining.still >= limit
}

/// Brings the loop in line with its refinement: counts the rounds, and ends the loop with the
/// refinement, or once no round is open and the session has room for no more.
pub fn follow(state: &mut LoopState, session: &Refinement, now: Timestamp) {
    let done = session.iterations_completed;
    let open = session.round.as_ref().map_or(0, |open| open.iteration);
    if !state.is_live() {
        return;
    }
    let Some(refining) = state.refining_mut() else { return };
    refining.open = open;
    state.iteration = done;
    let has_room = open > 0 || made(state).max(done) < MOST_IN_FOREGROUND;
    let kind = match session.status {
        Status::Plateau => EndingKind::Plateau,
        Status::MaxIterations => EndingKind::MaxIterations,
        Status::Cancelled => EndingKind::Cancelled,
        _ if has_room => return,
        _ => return state.end(EndingKind::MaxIterations, FULL, now),
    };
    state.end(kind, say::ending(session).swap_remove(0), now);
}

/// Why the loop of a session ends before its refinement.
pub const FULL: &str = "a conversation has room for no more agents";

/// The text for the model at a stop: the progress and the next step.
pub fn next_step_text(state: &LoopState) -> String {
    let Some(refining) = state.refining() else { return String::new() };
    let (done, most) = (state.iteration, state.max_iterations);
    let (name, (_, next)) = (&refining.name, next(state, refining));
    let text = format!(
        "Ralph refinement `{name}`: {done} of {most} {} done, and it is not over. {next} Ralph \
         reports its end; the user can end it with /ralph-cancel.",
        noun(most, "round", "rounds")
    );
    bounded(&text, LIMIT)
}

/// The next step, in a few words and in full.
fn next(state: &LoopState, refining: &RefineState) -> (String, String) {
    let (word, next) = (&refining.word, state.iteration + 1);
    match refining.open {
        0 if is_full(refining) => (
            "tell the user how it stands; this conversation has no room for another round"
                .to_owned(),
            full(refining),
        ),
        0 => (
            format!("open round {next} with `ralph refine begin --id {word}`"),
            format!("`ralph refine begin --id {word}` opens round {next}."),
        ),
        round => (
            format!("finish round {round} with `ralph refine end --id {word}`"),
            format!(
                "Round {round} is open: pass the whole answer of its agent to `ralph refine end \
                 --id {word}` on standard input. If no agent was called for it, `ralph refine \
                 begin --id {word}` repeats its prompt."
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::RefineSettings;
    use super::*;
    use crate::state::{Blocked, Phase};
    use crate::stop::AllowReason;
    use jiff::Timestamp;

    fn state(open: u32, done: u32, n_calls: usize) -> LoopState {
        let calls = (0..n_calls).map(|call| format!("c{call}")).collect();
        let refining = RefineState {
            name: "a b".to_owned(),
            word: "'a b'".to_owned(),
            open,
            calls,
            ..RefineState::default()
        };
        LoopState {
            phase: Phase::Implementation,
            max_iterations: 5,
            iteration: done,
            mode: refining.into(),
            ..LoopState::default()
        }
    }

    fn granted(state: &mut LoopState, call: &str, from_worker: bool) -> Grant {
        let asked = AgentCall { call, kind: "", prompt: "", about: "", from_worker, client: None };
        Refine.grant(state, &asked, Timestamp::UNIX_EPOCH)
    }

    fn stop(state: &mut LoopState, seen: &StopInputs) -> StopVerdict {
        Refine.at_stop(state, &TaskProgress::default(), seen)
    }

    fn seen() -> StopInputs {
        StopInputs {
            prompt_id: "p".to_owned(),
            request: crate::text::token::CompletionRequest::Made,
            ..StopInputs::default()
        }
    }

    #[track_caller]
    fn refuses(state: &mut LoopState, call: &str, from_agent: bool, words: &str) {
        let before = state.clone();
        let Grant::Refused(why) = granted(state, call, from_agent) else {
            panic!("{call} is let through")
        };
        assert!(why.contains(words), "{why}");
        assert_eq!(*state, before, "a refusal counts nothing");
    }

    #[test]
    fn five_agents_are_called_and_the_sixth_is_refused_with_what_a_person_can_do() {
        let mut state = state(1, 0, 0);
        for call in ["a", "b", "c", "d", "e"] {
            assert_eq!(granted(&mut state, call, false), Grant::Granted);
            assert_eq!(granted(&mut state, call, false), Grant::Again, "one call counts once");
        }
        refuses(&mut state, "f", false, "has room for 5 rounds");
        refuses(&mut state, "f", false, "ralph refine end --id 'a b'");
        refuses(&mut state, "f", false, "ralph refine loop --id 'a b' --max-iterations 10");
    }

    #[test]
    fn rounds_of_the_same_conversation_for_other_sessions_count() {
        let mut later = state(1, 0, 0);
        later.refining_mut().unwrap().earlier = 3;
        assert_eq!(made(&later), 3);
        for (call, now) in [("a", 4), ("b", 5)] {
            assert_eq!(granted(&mut later, call, false), Grant::Granted);
            assert_eq!(made(&later), now);
        }
        refuses(&mut later, "c", false, "has room for 5 rounds");
        // Rounds run from a terminal do not count for this session.
        let mut other = state(0, 4, 0);
        other.refining_mut().unwrap().from = 4;
        assert_eq!(made(&other), 0);
        other.iteration = 6;
        assert_eq!(made(&other), 2);
    }

    #[test]
    fn an_agent_is_called_for_an_open_round_and_by_the_conversation_alone() {
        refuses(&mut state(0, 1, 1), "x", false, "`ralph refine begin --id 'a b'`");
        refuses(&mut state(2, 1, 1), "x", true, "calls no other agents");
        refuses(&mut LoopState::default(), "x", false, "no longer a refinement");
    }

    #[test]
    fn a_turn_goes_on_and_its_words_say_what_comes_next() {
        let mut between = state(0, 2, 2);
        assert_eq!(stop(&mut between, &seen()), StopVerdict::GoOn, "no token ends it");
        assert_eq!(between.turn.as_ref().unwrap().prompt_id, "p");
        assert_eq!(between.iteration, 2, "a stop is no round");
        let says = next_step_text(&between);
        assert!(says.contains("`a b`: 2 of 5 rounds done"), "{says}");
        assert!(says.contains("begin --id 'a b'` opens round 3"), "{says}");
        let says = next_step_text(&state(3, 2, 3));
        assert!(says.contains("Round 3 is open") && says.contains("refine end"), "{says}");
        assert!(next_step_text(&state(0, 3, 5)).contains("has room for 5 rounds"));
        let whole =
            Refine.loop_prompt("Ralph loop L", &between, &["be brief".to_owned()], seen().now);
        assert!(whole.starts_with("Ralph loop L") && whole.contains("STEER: be brief"), "{whole}");
        assert!(whole.ends_with(&next_step_text(&between)), "{whole}");
    }

    #[test]
    fn the_loop_follows_its_refinement_and_ends_with_it_or_when_there_is_no_room() {
        const NOW: Timestamp = Timestamp::UNIX_EPOCH;
        let refinement = |done: u32, is_open: bool, status: Status| {
            let mut session = Refinement::new("p.md", RefineSettings::default(), NOW);
            session.iterations_completed = done;
            if is_open {
                session.begin("", "", NOW).unwrap();
            }
            Refinement { status, ..session }
        };
        let followed = |n_calls: usize, session: Refinement| {
            let mut state = state(0, 1, n_calls);
            follow(&mut state, &session, NOW);
            let open = state.refining().unwrap().open;
            let ending = state.ending.map(|ending| (ending.kind, ending.detail));
            (state.iteration, open, ending)
        };
        let full = || Some((EndingKind::MaxIterations, FULL.to_owned()));
        for (n_calls, done, is_open, expected) in [
            (1, 2, true, (2, 3, None)),
            (4, 4, false, (4, 0, None)),
            (5, 4, true, (4, 5, None)),
            (5, 4, false, (4, 0, full())),
            // Rounds that were made elsewhere use up the room, too.
            (0, 5, false, (5, 0, full())),
        ] {
            assert_eq!(followed(n_calls, refinement(done, is_open, Status::Running)), expected);
        }
        for (status, kind, detail) in [
            (
                Status::Plateau,
                EndingKind::Plateau,
                "plateau at round 3: the plan no longer changes",
            ),
            (
                Status::MaxIterations,
                EndingKind::MaxIterations,
                "ended after 3 rounds, its limit, and the plan still changes",
            ),
            (Status::Cancelled, EndingKind::Cancelled, "cancelled by the user"),
        ] {
            let expected = (3, 0, Some((kind, detail.to_owned())));
            assert_eq!(followed(1, refinement(3, false, status)), expected);
        }
        let mut over = state(2, 1, 1);
        over.end(EndingKind::Stalled, "it was", NOW);
        let before = over.clone();
        follow(&mut over, &refinement(3, false, Status::Plateau), NOW);
        assert_eq!(over, before, "what has ended stays as it is");
    }

    #[test]
    fn one_that_stands_still_ends_and_one_that_moves_does_not() {
        let mut state = state(1, 0, 0);
        for call in ["a", "b", "c"] {
            assert_eq!(stop(&mut state, &seen()), StopVerdict::GoOn);
            assert_eq!(granted(&mut state, call, false), Grant::Granted);
        }
        let mut still = state.clone();
        for _ in 0..3 {
            assert_eq!(stop(&mut still, &seen()), StopVerdict::GoOn);
        }
        // A message from the user may be what the session lacked.
        let heard = StopInputs { steer_waits: true, ..seen() };
        assert_eq!(stop(&mut still.clone(), &heard), StopVerdict::GoOn);
        assert_eq!(stop(&mut still, &seen()), StopVerdict::Ended(EndingKind::Stalled));
        assert_eq!(still.ending.unwrap().detail, "no round ran at 3 stops in a row");
    }

    #[test]
    fn bounds_end_it_and_what_only_a_person_can_do_pauses_it() {
        let mut full = state(0, 5, 5);
        assert_eq!(stop(&mut full, &seen()), StopVerdict::Ended(EndingKind::MaxIterations));
        let mut old = state(0, 1, 1);
        let late = StopInputs { now: Timestamp::from_second(1_000_000).unwrap(), ..seen() };
        assert_eq!(stop(&mut old, &late), StopVerdict::Ended(EndingKind::Budget));
        let mut blocked = state(0, 1, 1);
        blocked.blocked = Some(Blocked { what: "the key".to_owned(), ..Blocked::default() });
        assert_eq!(stop(&mut blocked, &seen()), StopVerdict::LetGo(AllowReason::Blocked));
        assert_eq!(blocked.pause.unwrap().detail, "the key");
    }
}
