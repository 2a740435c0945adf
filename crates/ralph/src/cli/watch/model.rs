//! The page's data and how it is read: the loops, which one is selected, and what is asked.

use crate::cli::status::{LoopView, text, transcript_of, under_each_other};
use crate::command::context_dir::Here;
use crate::command::select_loop::{self, FoundLoop};
use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use ralph_core::evidence::completion_feedback;
use ralph_core::evidence::receipt::{self, ReceiptStatus};
use ralph_core::modes::mode;
use ralph_core::state::{self, EndingTone, LoopState, Phase, Task};
use ralph_core::tasks::graph::{self, Graph};
use ralph_core::text::plural::{counted, rounded, used_dollars};
use ralph_core::transcript::row::Doing;
use ralph_core::views::{messages, phrases};
use ralph_io::client::transcript;
use ralph_io::project;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::store::mailbox::Mailbox;
use ralph_io::store::{journal, lifecycle};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub(super) struct Model {
    /// Describes whose loops these are.
    pub(super) of: String,
    pub(super) loops: Vec<WatchedLoop>,
    /// Reasons why loops could not be read.
    pub(super) unreadable: Vec<String>,
    /// An index into `loops`.
    pub(super) selected: usize,
    pub(super) asks: InputMode,
    /// The result of the last key.
    pub(super) notice: String,
    /// Whether colours can be seen and are wanted.
    pub(super) colours: bool,
    pub(super) now: Timestamp,
}

/// What the next keys are for. It names the loop, so that no change of the list can put another
/// loop in its place while the user types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InputMode {
    Nothing,
    Help,
    Steer { loop_id: String, text: String },
    Stop { loop_id: String },
}

#[derive(Debug, Clone, Default)]
pub(super) struct WatchedLoop {
    pub(super) loop_id: String,
    /// `running`, `planning: critic review`, `ended: complete`.
    pub(super) state: String,
    pub(super) tone: TextTone,
    /// `3/25`.
    pub(super) position: String,
    /// Done, and all.
    pub(super) tasks: (usize, usize),
    pub(super) goal: String,
    /// Labels and values, without empty ones.
    pub(super) rows: Vec<(&'static str, String)>,
    pub(super) doing: Option<Doing>,
    pub(super) bars: Vec<Bar>,
    /// None for a loop that has not begun; the limit is in minutes.
    pub(super) time: Option<Time>,
    pub(super) criteria: Vec<Criterion>,
    /// Newest first.
    pub(super) decisions: Vec<DecisionLine>,
    /// Oldest first.
    pub(super) signals: Vec<SignalView>,
}

/// How a text is to be understood; decides its colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TextTone {
    Good,
    Waits,
    Wrong,
    #[default]
    Plain,
    Quiet,
}

#[derive(Debug, Clone)]
pub(super) struct Bar {
    pub(super) label: &'static str,
    pub(super) used: u64,
    pub(super) most: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    pub(super) began: Timestamp,
    pub(super) ended: Option<Timestamp>,
    pub(super) most: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Criterion {
    pub(super) id: String,
    /// The receipt's status for the tree it was taken on.
    pub(super) word: &'static str,
    pub(super) tone: TextTone,
    /// When it was last run.
    pub(super) at: Option<Timestamp>,
    /// The tests that ran, or why it does not hold.
    pub(super) note: String,
    pub(super) description: String,
}

#[derive(Debug, Clone)]
pub(super) struct DecisionLine {
    pub(super) at: Timestamp,
    /// The event and the decision.
    pub(super) what: String,
    pub(super) why: String,
}

#[derive(Debug, Clone)]
pub(super) struct SignalView {
    /// False while the signal waits.
    pub(super) is_heard: bool,
    pub(super) kind: &'static str,
    pub(super) text: String,
}

impl Model {
    /// Takes new data. The selected loop stays selected.
    pub(super) fn refresh(&mut self, loops: Vec<WatchedLoop>, unreadable: Vec<String>) {
        let before = self.selected_loop().map(|one| one.loop_id.clone());
        let at = before.and_then(|id| loops.iter().position(|one| one.loop_id == id));
        self.selected = at.unwrap_or(self.selected.min(loops.len().saturating_sub(1)));
        (self.loops, self.unreadable) = (loops, unreadable);
    }

    pub(super) fn selected_loop(&self) -> Option<&WatchedLoop> {
        self.loops.get(self.selected)
    }
}

// Reads the loops: states, and the ends of journals, mailboxes and transcripts.
//
// The work tree is not examined: that walks over all files, and this runs at every change.

/// The most decisions that a page has room for.
const DECISIONS: usize = 20;

const SIGNALS: usize = 8;

/// A loop that ends while it is watched stays on the page; at most this many do.
const ENDED: usize = 5;

/// Rows that the page shows in another form.
const LEFT_OUT: [&str; 7] = ["goal", "project", "session", "tasks", "used", "signals", "criteria"];

pub(super) struct Gathered {
    pub(super) loops: Vec<WatchedLoop>,
    pub(super) unreadable: Vec<String>,
    /// Folders and files in which something may change.
    pub(super) places: Vec<PathBuf>,
}

/// Reads the loops. `seen` are the loops that have been on the page.
pub(super) fn gather(here: &Here, all: bool, seen: &mut Vec<String>) -> Gathered {
    let identity = here.project();
    let is_meant = |state: &LoopState| {
        let is_here = || project::identity(Path::new(&state.project_root)) == identity;
        (state.is_live() || state.phase == Phase::Planned) && (all || is_here())
    };
    let mut has_own = false;
    let mut found = Gathered {
        loops: Vec::new(),
        unreadable: Vec::new(),
        places: vec![here.home.loops(), here.home.root().to_owned()],
    };
    let everything = select_loop::everything(here);
    let mut ended = Vec::new();
    for id in seen.iter() {
        let is_there = |(_, state): &(LoopFile, Result<LoopState>)| {
            state.as_ref().is_ok_and(|state| state.loop_id == *id && state.ending.is_none())
        };
        if !everything.iter().any(is_there) {
            ended.extend(of_id(here, id));
        }
    }
    for (file, state) in under_each_other(everything) {
        found.places.push(file.folder().to_owned());
        match state {
            Ok(state) if is_meant(&state) => {
                has_own |= project::identity(Path::new(&state.project_root)) == identity;
                if !seen.contains(&state.loop_id) {
                    seen.push(state.loop_id.clone());
                }
                found.add(here, file, state);
            }
            Ok(_) => {}
            Err(error) => found.unreadable.push(format!("{error:#}")),
        }
    }
    if !has_own && ended.is_empty() {
        ended.extend(select_loop::last_ended(here).map(|found| (found.file, found.state)));
    }
    // Older loops have been on the page long enough.
    let old = ended.len().saturating_sub(ENDED);
    for (file, state) in ended.drain(..).skip(old) {
        found.add(here, file, state);
    }
    found
}

/// The loop of this id, if it has ended.
fn of_id(here: &Here, id: &str) -> Option<(LoopFile, LoopState)> {
    let (file, Loaded { state, .. }) = lifecycle::read_by_id(&here.home, id).ok()??;
    (state.phase == Phase::Ended).then_some((file, state))
}

impl Gathered {
    fn add(&mut self, here: &Here, file: LoopFile, state: LoopState) {
        let mailbox = Mailbox::for_loop(&file, &state);
        self.places.push(mailbox.watched());
        let transcript = if state.is_live() { transcript_of(&state) } else { None };
        self.places.extend(transcript.clone());
        let decisions = journal::last(file.folder(), DECISIONS).into_iter().rev();
        let mut shown = describe(here, LoopView::glimpsed(FoundLoop::seen(file, state)));
        shown.decisions = decisions
            .map(|entry| DecisionLine {
                at: entry.at,
                what: phrases::decision(&entry.event, &entry.decision),
                why: entry.why,
            })
            .collect();
        shown.signals = mailbox
            .last(SIGNALS)
            .into_iter()
            .map(|(signal, is_heard)| SignalView {
                is_heard,
                kind: signal.kind.as_str(),
                text: signal.text,
            })
            .collect();
        shown.doing = transcript.and_then(|path| transcript::doing(&path));
        self.loops.push(shown);
    }
}

fn describe(here: &Here, one: LoopView) -> WatchedLoop {
    let state = &one.state;
    let tasks = graph::summary(&state.task_graph, here.now);
    let (_, position) = messages::what_and_where(state);
    let (word, tone) = status_with_tone(state);
    let mut rows = vec![("task", at_work(state, here.now))];
    rows.extend(text::rows(&one, here.now));
    rows.insert(1, ("cost", used_dollars(state.usage.cost, state.limits.max_cost)));
    if state.limits.max_tokens.is_none() && state.usage.total() > 0 {
        rows.insert(1, ("tokens", rounded(state.usage.total())));
    }
    rows.retain(|(label, value)| !value.is_empty() && !LEFT_OUT.contains(label));
    WatchedLoop {
        loop_id: state.loop_id.clone(),
        state: word,
        tone,
        position,
        tasks: (tasks.done, tasks.total),
        goal: state.prompt.chars().take(1_000).collect(),
        rows,
        bars: bars(state),
        time: state.started_at.map(|began| Time {
            began: began + SignedDuration::from_secs(state.paused_seconds.try_into().unwrap_or(0)),
            ended: (state.ending.as_ref().map(|it| it.at)).or(state.pause.as_ref().map(|it| it.at)),
            most: state.limits.max_minutes,
        }),
        criteria: state.acceptance_criteria.iter().map(criterion).collect(),
        ..WatchedLoop::default()
    }
}

/// The status and whether it is good. An unknown mode or phase is shown as it is.
fn status_with_tone(state: &LoopState) -> (String, TextTone) {
    let phase = match state.ending {
        Some(_) => format!("ended: {}", phrases::loop_status(state)),
        None => phrases::loop_status(state),
    };
    let tone = match phrases::rated(state) {
        Some(EndingTone::Good) => TextTone::Good,
        Some(EndingTone::Look) => TextTone::Waits,
        Some(EndingTone::Wrong) => TextTone::Wrong,
        None if state.is_running() => TextTone::Good,
        None | Some(EndingTone::Quiet) => TextTone::Quiet,
    };
    let word = match mode::label(&state.mode) {
        "" => phase,
        label => format!("{label}: {phase}"),
    };
    (word, tone)
}

/// The tasks that are worked on; for a worker's loop, its one task.
fn at_work(state: &LoopState, now: jiff::Timestamp) -> String {
    let tasks = Graph::new(&state.task_graph, now);
    let is_claimed = |task: &&Task| tasks.readiness(task) == graph::TaskReadiness::InProgress;
    let claimed = state.task_graph.iter().filter(is_claimed).take(4);
    let names: Vec<String> = claimed.map(|task| format!("{} {}", task.id, task.name)).collect();
    match (&state.round, names.is_empty()) {
        (Some(round), true) => round.task.clone(),
        _ => names.join(", "),
    }
}

fn bars(state: &LoopState) -> Vec<Bar> {
    let (label, used, most) = match state.ralplan() {
        Some(plan) => ("rejections", plan.iteration, plan.max_iterations),
        None if state.rounds > 0 => ("rounds", state.rounds, state.max_iterations),
        None => ("continued", state.iteration, state.max_iterations),
    };
    let mut bars = vec![Bar { label, used: used.into(), most: most.into() }];
    if let Some(most) = state.limits.max_tokens {
        bars.push(Bar { label: "tokens", used: state.usage.total(), most });
    }
    if state.progress.standing > 0 && state.ending.is_none() {
        let used = state.progress.standing.into();
        bars.push(Bar { label: "stall", used, most: state.stall_limit.into() });
    }
    bars
}

fn criterion(criterion: &state::Criterion) -> Criterion {
    let standing = receipt::criterion_status(criterion, None);
    let receipt = criterion.receipt.as_ref();
    let (word, tone) = match standing {
        // Only the tree could show whether it still holds.
        ReceiptStatus::Passes => ("passed", TextTone::Good),
        ReceiptStatus::Proven => ("proven", TextTone::Good),
        ReceiptStatus::Reviewed => ("reviewed", TextTone::Good),
        ReceiptStatus::Failed => ("failed", TextTone::Wrong),
        ReceiptStatus::TimedOut => ("timed out", TextTone::Wrong),
        ReceiptStatus::Killed => ("killed", TextTone::Wrong),
        ReceiptStatus::NotRun => ("not run", TextTone::Waits),
        ReceiptStatus::TestsChanged => ("tests changed", TextTone::Wrong),
        ReceiptStatus::CannotFail => ("cannot fail", TextTone::Wrong),
        ReceiptStatus::NotCompared => ("not compared", TextTone::Good),
        other => (other.as_str(), TextTone::Waits),
    };
    let tests = receipt.and_then(|receipt| receipt.tests_run);
    let note = match (standing, tests) {
        (ReceiptStatus::NotRun, _) => String::new(),
        (ReceiptStatus::Passes | ReceiptStatus::Proven, Some(n)) => {
            counted(n as usize, "test", "tests")
        }
        (ReceiptStatus::Passes | ReceiptStatus::Proven | ReceiptStatus::Reviewed, _) => {
            String::new()
        }
        (other, _) => completion_feedback::why(criterion, other, &[]),
    };
    let decided_by = criterion.decided_by_quoted();
    Criterion {
        id: criterion.id.clone(),
        word,
        tone,
        at: receipt.and_then(|receipt| receipt.started_at),
        note,
        description: format!("{}  {decided_by}", criterion.description).trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{model, shown};
    use super::*;

    #[test]
    fn who_was_selected_stays_so_when_others_come_and_go() {
        let ids = |model: &Model| model.selected_loop().map(|one| one.loop_id.clone());
        let mut model = Model { selected: 1, ..model(vec![shown("a"), shown("b")]) };
        model.refresh(vec![shown("x"), shown("a"), shown("b")], Vec::new());
        assert_eq!(ids(&model).unwrap(), "b");
        model.refresh(vec![shown("x"), shown("a")], Vec::new());
        assert_eq!(ids(&model).unwrap(), "a");
        model.refresh(Vec::new(), Vec::new());
        assert_eq!(ids(&model), None);
    }
}

#[cfg(test)]
mod gather_tests {
    use super::*;
    use ralph_core::state::{PauseCause, PlanPhase, RalplanState};

    #[test]
    fn a_planning_whose_session_is_over_waits_for_the_user() {
        let plan =
            RalplanState { phase: PlanPhase::AwaitingUserApproval, ..RalplanState::default() };
        let mut state =
            LoopState { phase: Phase::Implementation, mode: plan.into(), ..LoopState::default() };
        let expected = ("planning: you decide".to_owned(), TextTone::Waits);
        assert_eq!(status_with_tone(&state), expected);
        state.pause(PauseCause::Crashed, "the session ended", jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(status_with_tone(&state), expected);
    }
}
