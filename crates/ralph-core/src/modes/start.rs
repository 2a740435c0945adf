//! What a typed `/ralph` means: a new loop, the planned one, the paused one, or a refusal.

use crate::modes::arguments::{LoopRequest, Options};
use crate::modes::mode;
use crate::state::{Completion, Criterion, LoopState, Phase, StartedBy};
use crate::text::plural::noun;
use jiff::Timestamp;

#[derive(Debug, Clone, PartialEq)]
pub enum StartDecision {
    /// Another registration of the same hook has already answered this prompt.
    Answered,
    New(String),
    /// A new loop that replaces one without any event since its start.
    Replace(String),
    /// The project's planned loop, bound to this session.
    Planned,
    /// This session's loop continues.
    Continue,
    /// Nothing starts; the user is told why and what to do.
    Refuse(String),
}

#[derive(Debug, Clone, Copy)]
pub struct StartInputs<'a> {
    /// The live loop of this session.
    pub bound: Option<&'a LoopState>,
    /// The project's planned or most recent loop, or one that is live in another session.
    pub project: Option<&'a LoopState>,
    /// The client's id of the prompt; empty outside a hook.
    pub prompt_id: &'a str,
}

pub fn decide(request: &LoopRequest, seen: StartInputs<'_>) -> StartDecision {
    let bound = seen.bound.filter(|state| state.is_live());
    if let Some(state) = bound
        && answered(state, seen.prompt_id)
    {
        return StartDecision::Answered;
    }
    let blocks =
        |state: &LoopState| mode::rules(&state.mode).blocks_start(state, request.task.is_some());
    if let Some(why) = bound.and_then(blocks) {
        return StartDecision::Refuse(why);
    }
    match (&request.task, bound) {
        (None, Some(_)) => StartDecision::Continue,
        (None, None) => planned(seen.project),
        (Some(task), None) => StartDecision::New(task.clone()),
        (Some(task), Some(state)) if !state.touched => StartDecision::Replace(task.clone()),
        (Some(_), Some(state)) => StartDecision::Refuse(format!(
            "a loop is {} in this session at {}: type /ralph to continue it, or /ralph-cancel to \
             end it before you start another",
            if state.is_running() { "running" } else { "paused" },
            state.position()
        )),
    }
}

/// True if this prompt has already started or continued the loop: another copy of the hook has
/// answered it.
pub fn answered(state: &LoopState, prompt_id: &str) -> bool {
    !prompt_id.is_empty() && state.turn.as_ref().is_some_and(|turn| turn.prompt_id == prompt_id)
}

fn planned(project: Option<&LoopState>) -> StartDecision {
    match project {
        Some(state) if state.phase == Phase::Planned => StartDecision::Planned,
        Some(state) if state.is_live() => StartDecision::Refuse(elsewhere(state)),
        _ => StartDecision::Refuse(
            "nothing is planned here: type /ralph \"what to do\", or plan first with /ralph-plan"
                .to_owned(),
        ),
    }
}

/// Names a live loop of another session, and how to continue it.
pub fn elsewhere(state: &LoopState) -> String {
    let (id, session) = (&state.loop_id, &state.session_id);
    let (standing, if_gone) = match &state.pause {
        Some(pause) => (format!("paused ({})", pause.cause), ""),
        None => ("running".to_owned(), "if that is gone, "),
    };
    let how = match state.rounds {
        0 => format!(
            "{if_gone}`claude --resume {session}` continues it there; `ralph adopt --loop {id}`, then /ralph, \
             continues it here"
        ),
        _ => "`ralph run` continues it".to_owned(),
    };
    format!("loop {id} is {standing} in another session, at {}: {how}", state.position())
}

/// Facts about a new loop that neither the request nor the settings contain.
#[derive(Debug, Clone)]
pub struct Facts {
    pub now: Timestamp,
    pub project_root: String,
    /// Criteria taken from the project's own commands.
    pub discovered: Vec<Criterion>,
    pub started_by: StartedBy,
}

/// Creates a loop in the planned phase; `begin` sets it running. `settings` writes those of the user
/// and the project into it; an option replaces a setting.
pub fn new_loop(
    task: &str,
    options: &Options,
    settings: impl FnOnce(&mut LoopState),
    facts: Facts,
) -> LoopState {
    let mut state = LoopState {
        project_root: facts.project_root,
        prompt: task.to_owned(),
        created_at: facts.now,
        updated_at: facts.now,
        acceptance_criteria: facts.discovered,
        started_by: facts.started_by,
        ..LoopState::default()
    };
    settings(&mut state);
    options.fill(&mut state);
    state
}

/// The message to the user when a loop starts: its limits, and its commands before any of them
/// runs.
pub fn announcement(state: &LoopState) -> String {
    let mut text = format!(
        "loop {} started: continues at most {} {}, {} {}{}. Esc pauses it, /ralph-cancel ends it.",
        state.loop_id,
        state.max_iterations,
        noun(state.max_iterations, "time", "times"),
        state.limits.max_minutes,
        noun(state.limits.max_minutes, "minute", "minutes"),
        state
            .limits
            .max_tokens
            .map(|most| format!(", {most} {}", noun(most, "token", "tokens")))
            .unwrap_or_default()
    );
    if state.acceptance_criteria.is_empty() {
        text.push_str(
            " Nothing can be proven: no test or type-check command was found in the project and \
             none was given with --ac. It can only end complete_unverified.",
        );
    } else {
        text.push_str(" Done means:");
        for criterion in &state.acceptance_criteria {
            text.push_str(&format!("\n  {}: {}", criterion.id, criterion.decided_by()));
        }
        if !state.tests_may_change.is_empty() {
            text.push_str(&format!("\n  Tests may change: {}", state.tests_may_change.join(", ")));
        }
        if state.completion == Completion::Token {
            text.push_str("\n  (not proven: completion is \"token\")");
        }
        if state.baseline_pending {
            text.push_str("\n  They are run once before anything may change (--baseline).");
        }
    }
    if !state.errors.is_empty() {
        text.push_str("\n  Problems:");
    }
    for error in &state.errors {
        text.push_str(&format!("\n  {}", crate::text::truncate::tail(&error.message, 300)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::settings::Settings;
    use crate::state::{DrivenTurn, LoopError, PauseCause};

    fn state(description: &str) -> LoopState {
        let mut state =
            LoopState { phase: Phase::Implementation, touched: true, ..LoopState::default() };
        match description {
            "planned" => state.phase = Phase::Planned,
            "ended" => state.phase = Phase::Ended,
            "untouched" => state.touched = false,
            "paused" => state.pause(PauseCause::Person, "", Timestamp::UNIX_EPOCH),
            "answered" => {
                let at = Timestamp::UNIX_EPOCH;
                state.turn = Some(DrivenTurn::new("p", at));
            }
            _ => {}
        }
        state
    }

    #[track_caller]
    fn check(task: Option<&str>, bound: &str, project: &str, expected: &str) {
        let request = LoopRequest { task: task.map(str::to_owned), ..LoopRequest::default() };
        let (bound, project) = (state(bound), state(project));
        let seen = StartInputs { bound: Some(&bound), project: Some(&project), prompt_id: "p" };
        let start = format!("{:?}", decide(&request, seen));
        assert!(start.starts_with(expected), "{start}");
    }

    #[test]
    fn without_a_task_the_nearest_loop_goes_on() {
        check(None, "paused", "planned", "Continue");
        check(None, "running", "planned", "Continue");
        check(None, "ended", "planned", "Planned");
        check(None, "ended", "ended", "Refuse(\"nothing is planned here");
        check(None, "ended", "running", "Refuse(\"loop  is running in another session, at ");
    }

    #[test]
    fn a_task_starts_a_loop_unless_one_is_live() {
        check(Some("x"), "ended", "planned", "New");
        check(Some("x"), "running", "ended", "Refuse(\"a loop is running");
        check(Some("x"), "paused", "ended", "Refuse(\"a loop is paused");
        check(Some("x"), "untouched", "ended", "Replace");
    }

    #[test]
    fn a_prompt_that_was_answered_is_not_answered_twice() {
        check(Some("x"), "answered", "ended", "Answered");
        check(None, "answered", "ended", "Answered");
    }

    #[test]
    fn options_stand_over_settings_and_settings_over_defaults() {
        let settings =
            Settings { max_iterations: Some(7), stall_limit: Some(9), ..Settings::default() };
        let options = Options { max_iterations: Some(5), ..Options::default() };
        let facts = Facts {
            now: Timestamp::UNIX_EPOCH,
            project_root: "/p".to_owned(),
            discovered: Vec::new(),
            started_by: StartedBy::Person,
        };
        let state = new_loop("x", &options, |state| settings.apply(state), facts);
        assert_eq!((state.max_iterations, state.stall_limit), (5, 9));
        assert_eq!(state.limits.max_minutes, 480);
        assert!(announcement(&state).contains("complete_unverified"));
        let message = "could not use `ralph.toml`:\n  unknown field; Ralph ignored it".to_owned();
        let errors = vec![LoopError { at: Timestamp::UNIX_EPOCH, message }];
        let text = announcement(&LoopState { errors, ..state });
        assert!(
            text.ends_with("could not use `ralph.toml`: unknown field; Ralph ignored it"),
            "{text}"
        );
    }

    #[test]
    fn a_new_loop_holds_what_it_was_started_with() {
        let now = Timestamp::from_second(7).unwrap();
        let criterion = Criterion {
            id: "AC-T".to_owned(),
            verification_command: "make test".to_owned(),
            ..Criterion::default()
        };
        let facts = Facts {
            now,
            project_root: "/p".to_owned(),
            discovered: vec![criterion.clone()],
            started_by: StartedBy::Model,
        };
        let state = new_loop("x", &Options::default(), |_| (), facts);
        assert_eq!((state.project_root.as_str(), state.prompt.as_str()), ("/p", "x"));
        assert_eq!((state.created_at, state.updated_at), (now, now));
        assert_eq!(
            (&state.acceptance_criteria, &state.started_by),
            (&vec![criterion], &StartedBy::Model)
        );
        let mut state = LoopState { loop_id: "L".to_owned(), ..state };
        let bounds = "loop L started: continues at most 25 times, 480 minutes. Esc pauses it, \
                      /ralph-cancel ends it. Done means:\n  AC-T: make test";
        assert_eq!(announcement(&state), bounds);
        state.completion = Completion::Token;
        let not_proven = "\n  (not proven: completion is \"token\")";
        assert_eq!(announcement(&state), format!("{bounds}{not_proven}"));
        state.errors.push(LoopError { at: now, message: "tsc failed".to_owned() });
        let problems = "\n  Problems:\n  tsc failed";
        assert_eq!(announcement(&state), format!("{bounds}{not_proven}{problems}"));
    }

    #[test]
    fn a_loop_elsewhere_is_named_with_the_way_to_continue_it() {
        let mut state =
            LoopState { loop_id: "L".to_owned(), session_id: "s".to_owned(), ..state("running") };
        let here = "`claude --resume s` continues it there; `ralph adopt --loop L`, then /ralph, continues \
                    it here";
        assert_eq!(
            elsewhere(&state),
            format!("loop L is running in another session, at 0/25: if that is gone, {here}")
        );
        state.pause(PauseCause::Person, "", Timestamp::UNIX_EPOCH);
        assert_eq!(
            elsewhere(&state),
            format!("loop L is paused (person) in another session, at 0/25: {here}")
        );
        state.rounds = 1;
        assert_eq!(
            elsewhere(&state),
            "loop L is paused (person) in another session, at 0/25: `ralph run` continues it"
        );
    }

    #[test]
    fn nothing_starts_beside_a_live_loop_and_the_reason_is_told() {
        let refused = |task: Option<&str>, bound: &str, project: Option<&LoopState>| {
            let request = LoopRequest { task: task.map(str::to_owned), ..LoopRequest::default() };
            let bound = state(bound);
            let seen = StartInputs { bound: Some(&bound), project, prompt_id: "q" };
            match decide(&request, seen) {
                StartDecision::Refuse(why) => why,
                other => format!("{other:?}"),
            }
        };
        for (bound, word) in [("running", "running"), ("paused", "paused")] {
            assert_eq!(
                refused(Some("x"), bound, None),
                format!(
                    "a loop is {word} in this session at 0/25: type /ralph to continue it, or \
                     /ralph-cancel to end it before you start another"
                )
            );
        }
        assert_eq!(
            refused(None, "ended", None),
            "nothing is planned here: type /ralph \"what to do\", or plan first with /ralph-plan"
        );
        assert!(!answered(&state("answered"), "") && !answered(&state("answered"), "q"));
        assert!(answered(&state("answered"), "p") && !answered(&state("running"), "p"));
    }

    #[test]
    fn an_announcement_names_every_limit_and_every_criterion() {
        let mut state =
            LoopState { loop_id: "L".to_owned(), max_iterations: 1, ..LoopState::default() };
        (state.limits.max_minutes, state.limits.max_tokens) = (1, Some(1));
        let head = "loop L started: continues at most 1 time, 1 minute, 1 token. Esc pauses it, \
                    /ralph-cancel ends it.";
        assert_eq!(
            announcement(&state),
            format!(
                "{head} Nothing can be proven: no test or type-check command was found in the project and \
                 none was given with --ac. It can only end complete_unverified."
            )
        );
        state.limits.max_tokens = Some(2);
        state.acceptance_criteria = vec![Criterion {
            id: "AC-1".to_owned(),
            verification_command: "make".to_owned(),
            ..Criterion::default()
        }];
        state.tests_may_change = vec!["a/**".to_owned(), "b".to_owned()];
        state.baseline_pending = true;
        assert_eq!(
            announcement(&state),
            format!(
                "{} Done means:\n  AC-1: make\n  Tests may change: a/**, b\n  They are run once before \
                 anything may change (--baseline).",
                head.replace("1 token", "2 tokens")
            )
        );
    }
}
