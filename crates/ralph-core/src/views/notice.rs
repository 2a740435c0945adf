//! What Ralph tells a user who is looking elsewhere, and when.
//!
//! An event that the user caused, or learns of at the keyboard, calls nobody. The loop of a worker
//! calls nobody either: the loop above it does.

use crate::evidence::review;
use crate::modes::mode;
use crate::project::settings::NotifySettings;
use crate::state::{Criterion, EndingKind, LoopState, Pause, PauseCause, Phase};
use crate::views::messages;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::Path;

const SCHEMA_VERSION: u32 = 1;

/// Why the user is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeEvent {
    /// The loop has ended.
    Ended,
    /// The loop pauses.
    Paused,
    /// A run waits for the user's decision about a plan.
    Awaits,
    /// A run waits until the usage limit is reset; until when, as people write it.
    Limit { until: String },
    /// A review is done.
    Reviewed {
        /// Number of the review, from 1.
        number: u32,
        /// What it found, in one line.
        what: String,
    },
    /// The review of criteria is done.
    Judged {
        /// When the reviewers were started.
        at: Timestamp,
        /// What they decided, in one line.
        what: String,
    },
}

/// What happened to a run without a loop that waits for the usage limit.
pub const LIMITED: &str = "usage limit reached";

impl NoticeEvent {
    fn word(&self) -> &'static str {
        match self {
            NoticeEvent::Ended => "ended",
            NoticeEvent::Paused | NoticeEvent::Awaits => "paused",
            NoticeEvent::Limit { .. } => "limit",
            NoticeEvent::Reviewed { .. } | NoticeEvent::Judged { .. } => "reviewed",
        }
    }

    /// The name of this occurrence, different for each in a loop, and usable as part of a file's
    /// name. `None` if the state has moved on.
    pub fn key(&self, state: &LoopState) -> Option<String> {
        let suffix = match self {
            NoticeEvent::Ended => state.ending.as_ref().map(|_| String::new())?,
            NoticeEvent::Paused => state.pause.as_ref()?.at.as_nanosecond().to_string(),
            NoticeEvent::Awaits => {
                let plan = state.ralplan().filter(|_| state.awaits_decision())?;
                plan.plan_hash.chars().filter(char::is_ascii_alphanumeric).take(16).collect()
            }
            NoticeEvent::Limit { until } => {
                until.chars().filter(char::is_ascii_alphanumeric).collect()
            }
            NoticeEvent::Reviewed { number, .. } => number.to_string(),
            NoticeEvent::Judged { at, .. } => format!("at-{}", at.as_nanosecond()),
        };
        Some(format!("{}-{suffix}", self.word()).trim_end_matches('-').to_owned())
    }
}

/// True if the settings that were pinned in this loop call the user at all.
pub fn is_wanted(state: &LoopState) -> bool {
    let section = state.settings.get("notify");
    section.is_some_and(|section| NotifySettings::deserialize(section).is_ok_and(|it| it.is_set()))
}

/// The event for which a session without a driver calls the user. In a driven session the driver
/// decides: it may continue such a loop, and calls when it does not.
pub fn due(state: &LoopState) -> Option<NoticeEvent> {
    let is_due = state.round.is_none()
        && match &state.pause {
            Some(pause) if state.phase == Phase::Paused => !is_users_own(pause),
            _ => true,
        };
    at_end_of_run(state).filter(|_| is_due)
}

/// The event for which a driver calls the user when its run is over. The driver knows itself whether
/// the user made it pause.
pub fn at_end_of_run(state: &LoopState) -> Option<NoticeEvent> {
    if state.parent.is_some() {
        return None;
    }
    match (&state.ending, &state.pause) {
        (Some(ending), _) => (!is_users_decision(&ending.kind)).then_some(NoticeEvent::Ended),
        (None, Some(_)) if state.phase == Phase::Paused => Some(NoticeEvent::Paused),
        _ => None,
    }
}

/// The event of the last review of criteria that a hook or a driver asked for. The user learns of
/// the others at the keyboard.
pub fn judged(state: &LoopState) -> Option<NoticeEvent> {
    let started = |one: &Criterion| {
        let receipt = one.receipt.as_ref().filter(|it| it.review.is_some() && it.by.proves());
        receipt.and_then(|receipt| receipt.started_at)
    };
    let at = state.acceptance_criteria.iter().filter_map(started).max();
    let at = at.filter(|_| state.parent.is_none())?;
    let last = state.acceptance_criteria.iter().filter(|one| started(one) == Some(at));
    let what: Vec<String> = last.filter_map(review::outcome).collect();
    Some(NoticeEvent::Judged { at, what: what.join("; ") })
}

fn is_users_own(pause: &Pause) -> bool {
    pause.attended
        || match pause.cause {
            PauseCause::Person | PauseCause::Cleared | PauseCause::Interrupted => true,
            PauseCause::BlockedOnHuman
            | PauseCause::HostCapped
            | PauseCause::HostBudget
            | PauseCause::RateLimited
            | PauseCause::Crashed
            | PauseCause::Tampered
            | PauseCause::Mod
            | PauseCause::Other(_) => false,
        }
}

fn is_users_decision(kind: &EndingKind) -> bool {
    match kind {
        EndingKind::Cancelled | EndingKind::Approved | EndingKind::Discarded => true,
        EndingKind::Complete
        | EndingKind::CompleteUnverified
        | EndingKind::MaxIterations
        | EndingKind::Stalled
        | EndingKind::Budget
        | EndingKind::Plateau
        | EndingKind::AwaitingFeedback
        | EndingKind::Failed
        | EndingKind::Other(_) => false,
    }
}

/// The document that a notification command reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Notice {
    /// Schema version of this document.
    pub schema_version: u32,
    /// `ended`, `paused` (also by a plan that awaits your decision), `limit` (a run waits for the
    /// usage limit) or `reviewed`.
    pub event: String,
    /// Id of the loop; the name of a refinement that runs without a session.
    pub loop_id: String,
    /// Absolute path of the project.
    pub project: String,
    /// The kind of loop: `loop`, `ralplan`, `session`, `refine`; `plan` for `ralph plan`.
    pub mode: String,
    /// A title of a few words.
    pub title: String,
    /// What happened, in one line.
    pub what: String,
    /// The reason, if `what` does not contain it.
    pub why: String,
    /// What to type or to do next; empty if nothing is to be done.
    pub next: String,
    /// `what`, `why` and `next` as one text of several lines.
    pub text: String,
    /// The ending, as in `ralph status --json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<String>,
    /// The cause of the pause, as in `ralph status --json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

/// Work that runs without a loop.
#[derive(Debug, Clone, Copy)]
pub enum WorkWithoutLoop<'a> {
    /// A refinement without a session.
    Refinement { name: &'a str, project: &'a str },
    /// `ralph plan`. `loop_id` is that of the planned loop; empty if nothing was planned.
    Planning { loop_id: &'a str, project: &'a str },
}

impl Notice {
    /// The notice of an event of a loop. `driver` is the command that continues a loop without a
    /// session, such as `ralph build`. `clean` removes secrets and control characters.
    pub fn for_event(
        state: &LoopState,
        event: &NoticeEvent,
        driver: Option<&str>,
        now: Timestamp,
        clean: impl Fn(&str) -> String,
    ) -> Notice {
        let (what, why, next) = words(state, event, driver);
        let (ending, pause) = match event {
            NoticeEvent::Ended => (state.ending.as_ref(), None),
            NoticeEvent::Paused => (None, state.pause.as_ref()),
            NoticeEvent::Awaits
            | NoticeEvent::Limit { .. }
            | NoticeEvent::Reviewed { .. }
            | NoticeEvent::Judged { .. } => (None, None),
        };
        let at = ending.map(|ending| ending.at).or(pause.map(|pause| pause.at));
        let notice = Notice {
            schema_version: SCHEMA_VERSION,
            event: event.word().to_owned(),
            loop_id: state.loop_id.clone(),
            project: state.project_root.clone(),
            mode: state.mode.word().to_string(),
            title: title(&state.project_root),
            why: if what.contains(why.as_str()) { String::new() } else { why },
            what,
            next,
            ending: ending.map(|ending| ending.kind.to_string()),
            pause: pause.map(|pause| pause.cause.to_string()),
            at: at.unwrap_or(now),
            ..Notice::default()
        };
        notice.cleaned(clean)
    }

    /// The notice of an event of work that is no loop.
    pub fn without_loop(
        work: &WorkWithoutLoop<'_>,
        event: &NoticeEvent,
        what: &str,
        at: Timestamp,
        clean: impl Fn(&str) -> String,
    ) -> Notice {
        let (mode, name, project) = match *work {
            WorkWithoutLoop::Refinement { name, project } => ("refine", name, project),
            WorkWithoutLoop::Planning { loop_id, project } => ("plan", loop_id, project),
        };
        let (why, next) = match (event, work) {
            (NoticeEvent::Limit { until }, _) => (waits(until), String::new()),
            (NoticeEvent::Paused, WorkWithoutLoop::Refinement { .. }) => {
                (String::new(), format!("`ralph refine loop --id {name}` continues"))
            }
            (_, WorkWithoutLoop::Refinement { .. }) => {
                (String::new(), format!("`ralph refine status --id {name}` shows it"))
            }
            (NoticeEvent::Paused, WorkWithoutLoop::Planning { .. }) => {
                (String::new(), "`ralph plan` continues".to_owned())
            }
            (_, WorkWithoutLoop::Planning { .. }) => {
                (String::new(), "`ralph run --planned` works through the tasks".to_owned())
            }
        };
        let notice = Notice {
            schema_version: SCHEMA_VERSION,
            event: event.word().to_owned(),
            loop_id: name.to_owned(),
            project: project.to_owned(),
            mode: mode.to_owned(),
            title: title(project),
            what: what.to_owned(),
            why,
            next,
            at,
            ..Notice::default()
        };
        notice.cleaned(clean)
    }

    fn cleaned(mut self, clean: impl Fn(&str) -> String) -> Notice {
        for text in [&mut self.title, &mut self.what, &mut self.why, &mut self.next] {
            *text = clean(text);
        }
        let lines = [&self.what, &self.why, &self.next].map(String::as_str);
        let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        self.text = lines.join("\n");
        self
    }
}

fn waits(until: &str) -> String {
    format!("the run waits until {until} and then continues by itself")
}

fn title(project: &str) -> String {
    let name = Path::new(project).file_name().map(|name| name.to_string_lossy().into_owned());
    format!("Ralph: {}", name.unwrap_or_else(|| project.to_owned()))
}

/// What happened, why, and what to do next.
fn words(state: &LoopState, event: &NoticeEvent, driver: Option<&str>) -> (String, String, String) {
    let (noun, position) = messages::what_and_where(state);
    match event {
        NoticeEvent::Ended => {
            let told = messages::ended(state);
            let what = told.lines().next().unwrap_or_default();
            let what = what.strip_prefix("Ralph: ").unwrap_or(what);
            let detail = state.ending.as_ref().map_or("", |ending| &ending.detail);
            let why = [detail, &messages::warnings(state)].join("\n").trim().to_owned();
            (what.to_owned(), why, messages::next_command(state))
        }
        NoticeEvent::Paused => {
            let pause = state.pause.clone().unwrap_or_default();
            let command = match driver {
                Some(command) => format!("`{command}`"),
                None => mode::rules(&state.mode).resume_command(state).to_owned(),
            };
            // The detail names a command of its own, such as `ralph ralplan approve`.
            let next = match pause.detail.contains('`') && state.awaits_decision() {
                true => String::new(),
                false if pause.cause == PauseCause::BlockedOnHuman => {
                    format!("When it is done, {command} continues")
                }
                false => format!("{command} continues"),
            };
            (format!("{noun} paused at {position} ({})", pause.cause), pause.detail, next)
        }
        NoticeEvent::Awaits => {
            let next = "`ralph ralplan approve`, `ralph ralplan adjust \"WORDS\"` or `ralph ralplan discard`";
            (format!("{noun} awaits your decision at {position}"), String::new(), next.to_owned())
        }
        NoticeEvent::Limit { until } => {
            (format!("{LIMITED} at {position}"), waits(until), String::new())
        }
        NoticeEvent::Reviewed { number, what } => {
            (format!("review {number} is done: {what}"), String::new(), String::new())
        }
        NoticeEvent::Judged { what, .. } => {
            (format!("a review is done: {what}"), String::new(), String::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{BuildRound, CriterionRunner, Receipt, ReviewReceipt};
    use serde_json::json;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn running() -> LoopState {
        LoopState {
            loop_id: "L".to_owned(),
            project_root: "/home/me/shop".to_owned(),
            phase: Phase::Implementation,
            iteration: 3,
            session_id: "s".to_owned(),
            ..LoopState::default()
        }
    }

    fn paused(cause: PauseCause) -> LoopState {
        let mut state = running();
        state.pause(cause, "why", NOW);
        state
    }

    fn ended(kind: EndingKind) -> LoopState {
        let mut state = running();
        state.end(kind, "why", NOW);
        state
    }

    #[test]
    fn a_pause_calls_the_user_unless_the_user_made_it() {
        assert_eq!(due(&running()), None);
        for cause in [
            PauseCause::BlockedOnHuman,
            PauseCause::HostCapped,
            PauseCause::HostBudget,
            PauseCause::RateLimited,
            PauseCause::Crashed,
        ] {
            let mut state = paused(cause.clone());
            assert_eq!(due(&state), Some(NoticeEvent::Paused), "{cause}");
            state.pause.as_mut().unwrap().attended = true;
            assert_eq!(due(&state), None, "{cause}: the user is there");
        }
        for cause in [PauseCause::Person, PauseCause::Cleared, PauseCause::Interrupted] {
            assert_eq!(due(&paused(cause.clone())), None, "{cause}");
        }
    }

    #[test]
    fn an_ending_calls_the_user_unless_the_user_decided_it() {
        for kind in [
            EndingKind::Complete,
            EndingKind::CompleteUnverified,
            EndingKind::MaxIterations,
            EndingKind::Stalled,
            EndingKind::Budget,
            EndingKind::Plateau,
            EndingKind::AwaitingFeedback,
            EndingKind::Failed,
        ] {
            assert_eq!(due(&ended(kind.clone())), Some(NoticeEvent::Ended), "{kind}");
        }
        for kind in [EndingKind::Cancelled, EndingKind::Approved, EndingKind::Discarded] {
            assert_eq!(due(&ended(kind.clone())), None, "{kind}");
            assert_eq!(at_end_of_run(&ended(kind.clone())), None, "{kind}");
        }
    }

    #[test]
    fn in_a_round_the_driver_calls_and_for_a_worker_the_loop_above_it() {
        let round = Some(BuildRound::default());
        for state in [paused(PauseCause::RateLimited), ended(EndingKind::Stalled)] {
            let in_round = LoopState { round: round.clone(), ..state.clone() };
            assert_eq!(due(&in_round), None);
            assert!(at_end_of_run(&in_round).is_some());
            let worker = LoopState { parent: Some("above".to_owned()), ..state };
            assert_eq!((due(&worker), at_end_of_run(&worker)), (None, None));
        }
        assert_eq!(at_end_of_run(&paused(PauseCause::Person)), Some(NoticeEvent::Paused));
    }

    #[test]
    fn each_occurrence_has_a_name_of_its_own() {
        let at = |second| {
            let mut state = running();
            state.pause(PauseCause::Crashed, "", Timestamp::from_second(second).unwrap());
            NoticeEvent::Paused.key(&state).unwrap()
        };
        assert_ne!(at(1), at(2));
        assert_eq!(NoticeEvent::Ended.key(&ended(EndingKind::Failed)).unwrap(), "ended");
        assert_eq!(NoticeEvent::Ended.key(&running()), None);
        assert_eq!(NoticeEvent::Paused.key(&running()), None);
        let limit = NoticeEvent::Limit { until: "2026-01-01 10:00".to_owned() };
        assert_eq!(limit.key(&running()).unwrap(), "limit-202601011000");
        let review = NoticeEvent::Reviewed { number: 2, what: String::new() };
        assert_eq!(review.key(&running()).unwrap(), "reviewed-2");
    }

    fn notice_for(state: &LoopState, event: &NoticeEvent, driver: Option<&str>) -> Notice {
        Notice::for_event(state, event, driver, NOW, str::to_owned)
    }

    #[test]
    fn a_notice_says_what_happened_why_and_what_to_type() {
        let state = paused(PauseCause::RateLimited);
        let notice = notice_for(&state, &NoticeEvent::Paused, None);
        assert_eq!(notice.text, "loop paused at 3/25 (rate_limited)\nwhy\n/ralph continues");
        assert_eq!(
            (notice.title.as_str(), notice.pause.as_deref()),
            ("Ralph: shop", Some("rate_limited"))
        );
        let notice = notice_for(&state, &NoticeEvent::Paused, Some("ralph build"));
        assert_eq!(notice.next, "`ralph build` continues");
        let blocked = notice_for(&paused(PauseCause::BlockedOnHuman), &NoticeEvent::Paused, None);
        assert_eq!(blocked.next, "When it is done, /ralph continues");
        let notice = notice_for(&ended(EndingKind::Stalled), &NoticeEvent::Ended, None);
        assert!(notice.what.starts_with("stalled: why, after 4 turns"), "{}", notice.what);
        assert_eq!((notice.why.as_str(), notice.ending.as_deref()), ("", Some("stalled")));
        assert!(notice.next.starts_with("`ralph explain 3 --loop L`"), "{}", notice.next);
        let until = "10:00".to_owned();
        let notice = notice_for(&running(), &NoticeEvent::Limit { until }, None);
        assert_eq!(
            notice.text,
            "usage limit reached at 3/25\nthe run waits until 10:00 and then continues by itself"
        );
        let review = NoticeEvent::Reviewed { number: 1, what: "2 findings, 1 major".to_owned() };
        assert_eq!(
            notice_for(&running(), &review, None).text,
            "review 1 is done: 2 findings, 1 major"
        );
    }

    #[test]
    fn a_notice_without_a_loop_says_what_to_type_unless_the_run_continues_by_itself() {
        let project = "/x/shop";
        let planning = WorkWithoutLoop::Planning { loop_id: "L", project };
        let refinement = WorkWithoutLoop::Refinement { name: "r", project };
        let of = |event: &NoticeEvent| {
            [planning, refinement]
                .map(|work| Notice::without_loop(&work, event, "w", NOW, str::to_owned).text)
        };
        let waits = "w\nthe run waits until 10:00 and then continues by itself";
        let limit = NoticeEvent::Limit { until: "10:00".to_owned() };
        assert_eq!(of(&limit), [waits, waits]);
        let ended = [
            "w\n`ralph run --planned` works through the tasks",
            "w\n`ralph refine status --id r` shows it",
        ];
        assert_eq!(of(&NoticeEvent::Ended), ended);
        let paused = ["w\n`ralph plan` continues", "w\n`ralph refine loop --id r` continues"];
        assert_eq!(of(&NoticeEvent::Paused), paused);
    }

    #[test]
    fn the_last_review_of_criteria_that_proves_is_an_event_and_one_at_the_keyboard_is_none() {
        let judged_by = |by: CriterionRunner, second: i64, passed: bool| Criterion {
            id: format!("AC-{second}"),
            receipt: Some(Receipt {
                passed,
                by,
                started_at: Some(Timestamp::from_second(second).unwrap()),
                review: Some(ReviewReceipt { why: "it says so".to_owned(), ..Default::default() }),
                ..Receipt::default()
            }),
            ..Criterion::default()
        };
        let mut state = running();
        state.acceptance_criteria = vec![
            judged_by(CriterionRunner::Hook, 1, true),
            judged_by(CriterionRunner::Driver, 2, false),
            judged_by(CriterionRunner::Command, 3, true),
        ];
        let event = judged(&state).unwrap();
        let text = "a review is done: AC-2 failed its review: it says so";
        assert_eq!(notice_for(&state, &event, None).text, text);
        assert_eq!(event.key(&state).unwrap(), "reviewed-at-2000000000");
        state.parent = Some("above".to_owned());
        assert_eq!(judged(&state), None);
    }

    #[test]
    fn every_text_of_a_notice_is_cleaned() {
        let mut state = paused(PauseCause::Crashed);
        state.pause.as_mut().unwrap().detail = "token SECRET".to_owned();
        let clean = |text: &str| text.replace("SECRET", "[redacted]");
        let notice = Notice::for_event(&state, &NoticeEvent::Paused, None, NOW, clean);
        assert!(!json!(notice).to_string().contains("SECRET"));
        assert!(notice.text.contains("token [redacted]"));
    }

    #[test]
    fn only_a_loop_whose_settings_say_how_calls_the_user() {
        let with = |settings| is_wanted(&LoopState { settings, ..running() });
        assert!(!with(json!(null)));
        assert!(!with(json!({"notify": {"desktop": false}})));
        assert!(!with(json!({"notify": {"command": []}})));
        assert!(with(json!({"notify": {"desktop": true}})));
        assert!(with(json!({"notify": {"command": ["x"]}})));
    }

    #[test]
    fn a_loop_that_is_not_paused_any_more_calls_nobody() {
        let mut state = paused(PauseCause::Crashed);
        state.phase = Phase::Implementation;
        assert_eq!((due(&state), at_end_of_run(&state)), (None, None));
        for cause in [PauseCause::Tampered, PauseCause::Mod, PauseCause::Other("x".to_owned())] {
            assert_eq!(due(&paused(cause.clone())), Some(NoticeEvent::Paused), "{cause}");
        }
        let mut other = ended(EndingKind::Other("x".to_owned()));
        assert_eq!(due(&other), Some(NoticeEvent::Ended));
        other.pause = paused(PauseCause::Person).pause;
        assert_eq!(due(&other), Some(NoticeEvent::Ended), "it is over, and not paused");
    }

    /// A plan that waits for the user's decision.
    fn awaiting() -> LoopState {
        use crate::state::{PlanPhase, RalplanState};
        let plan = RalplanState {
            phase: PlanPhase::AwaitingUserApproval,
            plan_hash: "0123-4567-89ab-cdef-0123".to_owned(),
            ..RalplanState::default()
        };
        LoopState { mode: plan.into(), ..running() }
    }

    #[test]
    fn a_plan_that_waits_is_an_event_of_its_text() {
        let key = NoticeEvent::Awaits.key(&awaiting());
        assert_eq!(key.as_deref(), Some("paused-0123456789abcdef"));
        assert_eq!(NoticeEvent::Awaits.key(&running()), None);
        let mut over = awaiting();
        over.end(EndingKind::Approved, "", NOW);
        assert_eq!(NoticeEvent::Awaits.key(&over), None);
        let at = Timestamp::from_second(7).unwrap();
        assert_eq!(NoticeEvent::Paused.key(&running()), None);
        let mut state = running();
        state.pause(PauseCause::Crashed, "", at);
        assert_eq!(NoticeEvent::Paused.key(&state).as_deref(), Some("paused-7000000000"));
    }

    #[test]
    fn a_notice_has_all_that_a_program_needs() {
        let at = Timestamp::from_second(7).unwrap();
        let now = Timestamp::from_second(9).unwrap();
        let of = |state: &LoopState, event: &NoticeEvent, driver: Option<&str>| {
            Notice::for_event(state, event, driver, now, str::to_owned)
        };
        let notice = |event: &str, what: &str, why: &str, next: &str, at| {
            let lines = [what, why, next].into_iter().filter(|line| !line.is_empty());
            Notice {
                schema_version: 1,
                event: event.to_owned(),
                loop_id: "L".to_owned(),
                project: "/home/me/shop".to_owned(),
                mode: "loop".to_owned(),
                title: "Ralph: shop".to_owned(),
                what: what.to_owned(),
                why: why.to_owned(),
                next: next.to_owned(),
                text: lines.collect::<Vec<_>>().join("\n"),
                ending: None,
                pause: None,
                at,
            }
        };
        let mut state = running();
        state.acceptance_criteria = vec![Criterion {
            id: "AC-1".to_owned(),
            held_before: true,
            verified: true,
            ..Criterion::default()
        }];
        state.end(EndingKind::Complete, "1 holds", at);
        let before = "1 holds\nHeld already before the work, so no proof of it: AC-1.";
        let what = "done. The criterion holds, 4 turns, 7 s.";
        let ending = Some("complete".to_owned());
        assert_eq!(
            of(&state, &NoticeEvent::Ended, None),
            Notice { ending, ..notice("ended", what, before, "", at) }
        );
        let mut state = running();
        state.pause(PauseCause::BlockedOnHuman, "log in", at);
        let pause = Some("blocked_on_human".to_owned());
        let what = "loop paused at 3/25 (blocked_on_human)";
        let next = "When it is done, `ralph build` continues";
        assert_eq!(
            of(&state, &NoticeEvent::Paused, Some("ralph build")),
            Notice { pause, ..notice("paused", what, "log in", next, at) }
        );
        let limit = NoticeEvent::Limit { until: "10:00".to_owned() };
        let waits = "the run waits until 10:00 and then continues by itself";
        let what = "usage limit reached at 3/25";
        assert_eq!(of(&running(), &limit, None), notice("limit", what, waits, "", now));
        let next =
            "`ralph ralplan approve`, `ralph ralplan adjust \"WORDS\"` or `ralph ralplan discard`";
        let what = "planning awaits your decision at 1/5";
        let awaits = notice("paused", what, "", next, now);
        let mode = "ralplan".to_owned();
        assert_eq!(of(&awaiting(), &NoticeEvent::Awaits, None), Notice { mode, ..awaits });
        let judged = NoticeEvent::Judged { at, what: "AC-1 is reviewed".to_owned() };
        let what = "a review is done: AC-1 is reviewed";
        assert_eq!(of(&running(), &judged, None), notice("reviewed", what, "", "", now));
    }

    #[test]
    fn a_pause_that_names_its_own_command_has_no_other() {
        let next = |state: &LoopState| notice_for(state, &NoticeEvent::Paused, None).next;
        let mut state = awaiting();
        state.pause(PauseCause::BlockedOnHuman, crate::state::AWAITS_DECISION, NOW);
        assert_eq!(next(&state), "");
        state.pause.as_mut().unwrap().detail = "decide".to_owned();
        assert_eq!(next(&state), "When it is done, /ralplan continues");
        let mut state = paused(PauseCause::Crashed);
        state.pause.as_mut().unwrap().detail = "`make` ended".to_owned();
        assert_eq!(next(&state), "/ralph continues");
    }

    #[test]
    fn a_notice_without_a_loop_has_the_name_and_the_title_of_its_work() {
        let of = |work: WorkWithoutLoop<'_>| {
            let at = Timestamp::from_second(9).unwrap();
            let notice = Notice::without_loop(&work, &NoticeEvent::Ended, "w", at, str::to_owned);
            assert_eq!((notice.schema_version, notice.at), (1, at));
            (notice.mode, notice.loop_id, notice.project, notice.title, notice.event)
        };
        let expected = |mode: &str, name: &str, project: &str, title: &str| {
            let text = [mode, name, project, title, "ended"].map(str::to_owned);
            let [mode, name, project, title, event] = text;
            (mode, name, project, title, event)
        };
        let planning = WorkWithoutLoop::Planning { loop_id: "L", project: "/x/shop" };
        assert_eq!(of(planning), expected("plan", "L", "/x/shop", "Ralph: shop"));
        let refinement = WorkWithoutLoop::Refinement { name: "r", project: "/" };
        assert_eq!(of(refinement), expected("refine", "r", "/", "Ralph: /"));
    }
}
