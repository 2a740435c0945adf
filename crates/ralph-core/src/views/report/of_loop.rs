//! Builds the report of a loop or of consensus planning from its state and its journal.

use super::journal::{self, ReportLine, Worth};
use super::of_refinement;
use super::words::{self, LONG, SHORT, counted, grouped, lasted, rounded, share};
use super::{
    Changes, Evidence, FindingShown, Gauge, Report, ReportOutcome, Rounds, TaskShown, Tone,
};
use crate::evidence::observed;
use crate::evidence::receipt::ReceiptStatus;
use crate::evidence::review;
use crate::modes::refine::state::{KeptVersion, Refinement};
use crate::state::{Criterion, EndingKind, EndingTone, Finding, LoopState, Phase, Task};
use crate::stop;
use crate::tasks::graph::{self, Graph, TaskReadiness as TaskStanding};
use crate::text::plural::used_dollars;
use crate::views::{messages, phrases};
use crate::{evidence::completion_feedback, modes::ralplan, text::sanitize};
use jiff::Timestamp;

/// Tasks shown, the first ones.
pub(super) const MOST_TASKS: usize = 500;

/// Criteria shown with their receipts.
const MOST_CRITERIA: usize = 100;

/// Characters of a command's output, the last ones.
const TAIL: usize = 800;

/// The data for the report of a loop.
#[derive(Debug)]
pub struct LoopSeen<'a> {
    /// The state, with the currently changed test files.
    pub state: &'a LoopState,
    /// The journal.
    pub lines: Vec<ReportLine>,
    /// Journal lines that could not be parsed.
    pub n_unreadable: usize,
    /// The status of each criterion, and the files that made its receipt stale.
    pub criteria: Vec<(ReceiptStatus, Vec<String>)>,
    /// What changed in the project since the start.
    pub changes: Option<Changes>,
    /// Signals from the user that the main conversation has not received.
    pub n_signals: usize,
    /// The refinement that the session drives, with the versions of its plan.
    pub refinement: Option<(Refinement, Vec<KeptVersion>)>,
    /// What to do next.
    pub next: String,
    /// The current time.
    pub now: Timestamp,
}

impl LoopSeen<'_> {
    /// The status of a criterion. If the criterion was not proven when the loop ended, a receipt
    /// that holds only shows its last run and counts as stale.
    fn criterion_status(&self, at: usize) -> ReceiptStatus {
        let looked = self.criteria.get(at).map_or(ReceiptStatus::NotRun, |(standing, _)| *standing);
        let verified = self.state.acceptance_criteria.get(at).is_some_and(|one| one.verified);
        match looked {
            met if met.is_met() && self.state.ending.is_some() && !verified => ReceiptStatus::Stale,
            looked => looked,
        }
    }

    fn criterion_statuses(&self) -> Vec<ReceiptStatus> {
        (0..self.state.acceptance_criteria.len()).map(|at| self.criterion_status(at)).collect()
    }
}

/// Builds the report.
pub fn of_loop(seen: &LoopSeen<'_>) -> Report {
    let LoopSeen { state, lines, now, .. } = seen;
    let until = state.ending.as_ref().map_or(*now, |ending| ending.at);
    let began = state.started_at.unwrap_or(state.created_at);
    let spent = journal::spent_by_turn(lines, began);
    let (timeline, n_left_out) = journal::timeline(lines, &spent);
    let standings = seen.criterion_statuses();
    let (tasks, n_tasks_left_out) = tasks(&state.task_graph, until);
    let goal = state.ralplan().filter(|plan| !plan.task.is_empty());
    let goal = goal.map_or(&state.prompt, |plan| &plan.task);
    Report {
        kind: messages::what_and_where(state).0,
        id: words::line(&state.loop_id, SHORT),
        goal: words::block(goal, 4_000),
        outcome: outcome(state),
        facts: facts(seen, began),
        gauges: gauges(seen, state.worked_seconds(until).saturating_mul(1_000), until),
        evidence: evidence(seen),
        findings: findings(state),
        changes: seen.changes.clone(),
        notes: notes(seen),
        next: words::line(&seen.next, LONG),
        rounds: rounds(seen),
        history: journal::history(state, lines, &standings),
        tasks,
        n_tasks_left_out,
        spent,
        tokens: tokens(state),
        timeline,
        n_left_out,
        trouble: journal::trouble(state, lines, seen.n_unreadable, until),
        made_at: state.ending.is_none().then_some(*now),
    }
}

fn rounds(seen: &LoopSeen<'_>) -> Rounds {
    let ended = seen.state.ending.as_ref().map(|ending| ending.at);
    let rounds = seen.refinement.as_ref();
    rounds.map_or_else(Rounds::default, |(session, versions)| {
        of_refinement::until(session, versions, ended)
    })
}

pub(super) fn of_ending(kind: &EndingKind) -> Tone {
    match kind.tone() {
        EndingTone::Good => Tone::Good,
        EndingTone::Look => Tone::Warn,
        EndingTone::Quiet => Tone::Quiet,
        EndingTone::Wrong => Tone::Bad,
    }
}

fn outcome(state: &LoopState) -> ReportOutcome {
    if let Some(ending) = &state.ending {
        let cause =
            ending.cause.as_ref().map(|cause| format!(" ({})", words::spaced(cause.as_str())));
        let tone = of_ending(&ending.kind);
        return ReportOutcome {
            word: words::spaced(&phrases::ended(&ending.kind))
                + cause.as_deref().unwrap_or_default(),
            tone,
            detail: words::line(&ending.detail, LONG),
        };
    }
    if let Some(pause) = state.pause.as_ref().filter(|_| !state.awaits_decision()) {
        return ReportOutcome {
            word: format!("paused ({})", words::spaced(pause.cause.as_str())),
            tone: Tone::Warn,
            detail: words::line(&pause.detail, LONG),
        };
    }
    let (phase, detail) = match (state.ralplan(), &state.blocked) {
        (Some(plan), _) => (plan.phase.as_str(), String::new()),
        (None, Some(blocked)) => (state.phase.as_str(), format!("blocked: {}", blocked.what)),
        (None, None) => (state.phase.as_str(), String::new()),
    };
    ReportOutcome {
        word: words::spaced(phase),
        tone: if state.phase == Phase::Planned { Tone::Quiet } else { Tone::Live },
        detail: words::line(&detail, LONG),
    }
}

fn facts(seen: &LoopSeen<'_>, began: Timestamp) -> Vec<(&'static str, String)> {
    let state = seen.state;
    let ended = state.ending.as_ref().map(|ending| moment(ending.at)).unwrap_or_default();
    let plan = state.ralplan();
    let orchestrates = state.orchestration().map_or("", |session| session.id.as_str());
    let took: u64 = seen.lines.iter().map(|line| line.took_us).fold(0, u64::saturating_add);
    let decided = match seen.lines.len() {
        0 => String::new(),
        n => format!("{}, {} in all", counted(n, "decision", "decisions"), lasted(took / 1_000)),
    };
    super::known([
        ("project", words::line(&state.project_root, SHORT)),
        ("started", state.started_at.map(|_| moment(began)).unwrap_or_default()),
        ("ended", ended),
        ("session", words::line(&state.session_id, SHORT)),
        ("worker of", words::line(state.parent.as_deref().unwrap_or_default(), SHORT)),
        ("orchestrates", words::line(orchestrates, SHORT)),
        ("plan", words::line(plan.map_or("", |plan| &plan.plan_path), SHORT)),
        ("checkpoint", checkpoint(state)),
        ("journal", decided),
    ])
}

pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

fn checkpoint(state: &LoopState) -> String {
    let Some(green) = &state.checkpoint else { return String::new() };
    let number = green.reference.rsplit('/').next().unwrap_or_default();
    let held = format!("{number}, all held at {}", moment(green.at));
    words::line(held.trim_start_matches(", "), SHORT)
}

fn gauges(seen: &LoopSeen<'_>, took_ms: u64, until: Timestamp) -> Vec<Gauge> {
    let state = seen.state;
    let mut gauges = Vec::new();
    let (part, whole, label) = match state.ralplan() {
        Some(plan) => (plan.iteration, plan.max_iterations, "Rejections"),
        None if state.rounds > 0 => (state.rounds, state.max_iterations, "Rounds"),
        // The last turn does not continue the loop.
        None if state.ending.is_some() => (state.iteration + 1, state.max_iterations + 1, "Turns"),
        None => (state.iteration, state.max_iterations, "Continued"),
    };
    gauges.push(Gauge { label, ..bounded(part.into(), whole.into(), grouped) });
    let standings = seen.criterion_statuses();
    if !standings.is_empty() {
        let holding = standings.iter().filter(|one| one.is_met()).count();
        gauges.push(Gauge { label: "Criteria that hold", ..reached(holding, standings.len()) });
    }
    let summary = graph::summary(&state.task_graph, until);
    if summary.total > 0 {
        gauges.push(Gauge { label: "Tasks done", ..reached(summary.done, summary.total) });
    }
    if state.started_at.is_some() {
        let whole = state.limits.max_minutes.saturating_mul(60_000);
        gauges.push(Gauge { label: "Time", ..bounded(took_ms, whole, lasted) });
    }
    match (state.usage.total(), state.limits.max_tokens) {
        (0, None) => {}
        (used, Some(most)) => {
            gauges.push(Gauge { label: "Tokens", ..bounded(used, most, rounded) });
        }
        (used, None) => gauges.push(Gauge::number("Tokens", rounded(used))),
    }
    let value = used_dollars(state.usage.cost, None);
    if !value.is_empty() {
        let cost = Gauge::number("Cost", value);
        gauges.push(match state.limits.max_cost {
            Some(most) => {
                let cents = |dollars: f64| (dollars * 100.0) as u64;
                let limited = bounded(cents(state.usage.cost), cents(most), |_| String::new());
                Gauge {
                    of: format!("of ${most:.2}"),
                    share: limited.share,
                    tone: limited.tone,
                    ..cost
                }
            }
            None => cost,
        });
    }
    gauges
}

/// A number that should stay below its limit.
fn bounded(part: u64, whole: u64, shown: fn(u64) -> String) -> Gauge {
    let share = share(part, whole);
    let tone = if share >= 90 { Tone::Warn } else { Tone::Live };
    Gauge {
        label: "",
        value: shown(part),
        of: format!("of {}", shown(whole)),
        share: Some(share),
        tone,
    }
}

/// A number that should reach its total.
pub(super) fn reached(part: usize, whole: usize) -> Gauge {
    let tone = if part >= whole { Tone::Good } else { Tone::Live };
    let [part, whole] = [part as u64, whole as u64];
    let of = format!("of {}", grouped(whole));
    Gauge { label: "", value: grouped(part), of, share: Some(share(part, whole)), tone }
}

fn evidence(seen: &LoopSeen<'_>) -> Vec<Evidence> {
    let criteria = seen.state.acceptance_criteria.iter().enumerate().take(MOST_CRITERIA);
    let one = |(at, criterion): (usize, &Criterion)| {
        let standing = seen.criterion_status(at);
        let nothing = (standing, Vec::new());
        let (looked, changed) = seen.criteria.get(at).unwrap_or(&nothing);
        Evidence {
            id: words::line(&criterion.id, 40),
            about: words::line(&criterion.description, SHORT),
            command: words::line(&criterion.decided_by(), LONG),
            standing: standing.as_str(),
            tone: match Worth::from_word(standing.as_str()) {
                Worth::Holds => Tone::Good,
                Worth::Fails => Tone::Bad,
                Worth::Stale => Tone::Warn,
                Worth::Never => Tone::Quiet,
            },
            receipt: match (*looked, standing) {
                (met, now) if met.is_met() && now.is_met() => receipt(criterion, now),
                (met, _) if met.is_met() => "passed when it was last run".to_owned(),
                _ => words::line(&completion_feedback::why(criterion, standing, changed), LONG),
            },
            tail: tail(criterion),
        }
    };
    criteria.map(one).collect()
}

fn findings(state: &LoopState) -> Vec<FindingShown> {
    let all = state
        .reviews
        .iter()
        .flat_map(|round| round.findings.iter().map(move |finding| (round.round, finding)));
    let one = |(round, finding): (u32, &Finding)| FindingShown {
        found_by: words::line(&format!("{round}, {}", finding.lens), SHORT),
        severity: words::line(&finding.severity, 20),
        place: words::line(&format!("{}:{}", finding.file, finding.line), SHORT),
        what: words::line(&finding.what, LONG),
        became: words::line(&review::became(finding, &state.task_graph), LONG),
        tone: if finding.task.is_some() { Tone::Warn } else { Tone::Quiet },
    };
    all.map(one).collect()
}

/// The end of the command's output.
fn tail(criterion: &Criterion) -> String {
    let printed = criterion.receipt.as_ref().map_or("", |receipt| receipt.tail.as_str());
    words::block(&sanitize::end_of(printed.as_bytes(), TAIL), words::TEXT)
}

/// A summary of a receipt that holds.
fn receipt(criterion: &Criterion, standing: ReceiptStatus) -> String {
    let Some(receipt) = &criterion.receipt else { return String::new() };
    let mut parts = vec![match (&receipt.review, receipt.exit_code) {
        (Some(found), _) => review::reason(found),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => receipt.ended.clone(),
    }];
    parts.extend(receipt.tests_run.map(|n| counted(n as usize, "test", "tests")));
    parts.push(lasted(receipt.duration_ms));
    parts.push(format!("on tree {}", ralplan::short(&receipt.tree_after)));
    if receipt.review.is_none() && criterion.observed.without.is_some() {
        parts.extend(observed::compared(criterion, standing));
    } else if criterion.held_before {
        parts.push("held before the work began".to_owned());
    }
    words::line(&parts.join(", "), LONG)
}

fn notes(seen: &LoopSeen<'_>) -> Vec<String> {
    let state = seen.state;
    let unheard = match (seen.n_signals, state.ending.is_some()) {
        (0, _) => String::new(),
        (n, true) => format!("{} never delivered.", counted(n, "signal was", "signals were")),
        (n, false) => format!("{} not delivered yet.", counted(n, "signal is", "signals are")),
    };
    let unproven = match &state.ending {
        Some(ending)
            if ending.kind == EndingKind::CompleteUnverified && !stop::needs_proof(state) =>
        {
            "The model asked for completion, and no proof was asked of it."
        }
        _ => "",
    };
    let rejected = match state.ralplan().is_some_and(|plan| plan.forced) {
        true => "No critic has approved the plan.",
        false => "",
    };
    let all = [unproven.to_owned(), rejected.to_owned(), messages::warnings(state), unheard];
    all.iter().map(|note| words::line(note, LONG)).filter(|note| !note.is_empty()).collect()
}

fn tokens(state: &LoopState) -> Vec<(&'static str, u64)> {
    let of = &state.usage.tokens;
    let all = [
        ("cache reads", of.cache_read),
        ("cache writes", of.cache_creation),
        ("input", of.input),
        ("output", of.output),
    ];
    if of.total() == 0 { Vec::new() } else { all.to_vec() }
}

/// The first tasks of a list, and the number of the others.
pub(super) fn tasks(all: &[Task], now: Timestamp) -> (Vec<TaskShown>, usize) {
    let shown = &all[..all.len().min(MOST_TASKS)];
    let graph = Graph::new(all, now);
    let mut wave_of = vec![None; all.len()];
    for (number, wave) in graph::wave_places(all).into_iter().enumerate() {
        wave.into_iter().for_each(|place| wave_of[place] = Some(number + 1));
    }
    let shown = shown.iter().zip(wave_of).map(|(task, wave)| {
        let standing = graph.readiness(task);
        let places = task.deps.iter().filter_map(|id| graph.place(id));
        TaskShown {
            id: words::line(&task.id, 40),
            name: words::line(&task.name, SHORT),
            standing,
            wave,
            after: places.filter(|place| *place < MOST_TASKS).take(50).collect(),
            remark: remark(task, standing),
        }
    });
    (shown.collect(), all.len().saturating_sub(MOST_TASKS))
}

fn remark(task: &Task, standing: TaskStanding) -> String {
    let owner = task.owner.as_deref().filter(|_| standing == TaskStanding::InProgress);
    let parts = [owner.map(|owner| format!("by {owner}")), task.result.clone()];
    words::line(&parts.into_iter().flatten().collect::<Vec<_>>().join("; "), LONG)
}
