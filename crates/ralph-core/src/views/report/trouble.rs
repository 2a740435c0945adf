//! Problems: refusals, stalls, check failures, and tasks that were given up.

use super::line::{LineRecord, ReportLine};
use super::timeline;
use super::words::{self, LONG};
use super::{Tone, Trouble};
use crate::evidence::completion_feedback;
use crate::evidence::receipt::ReceiptStatus;
use crate::state::{LoopState, Signal};
use crate::tasks::graph::{Graph, TaskReadiness as TaskStanding};
use jiff::Timestamp;

/// Problems shown per kind.
const MOST: usize = 40;

/// All problems, most important first.
pub(super) fn of(
    state: &LoopState,
    lines: &[ReportLine],
    n_unreadable: usize,
    now: Timestamp,
) -> Vec<Trouble> {
    let all = [
        Trouble::of("Completion was requested and refused", Tone::Warn, refused(lines), MOST),
        Trouble::of("Held, and turned red", Tone::Bad, turned_red(state), MOST),
        Trouble::of("Standing still", Tone::Warn, still(lines), MOST),
        Trouble::of(
            "Found by checks after edits",
            Tone::Warn,
            of_event(lines, "PostToolUse", "told"),
            MOST,
        ),
        Trouble::of("Tool calls that were refused", Tone::Quiet, denials(lines), MOST),
        Trouble::of("Tasks that are stuck", Tone::Bad, stuck(state, now), MOST),
        Trouble::of("Work that was not merged", Tone::Bad, kept_out(state), MOST),
        Trouble::of("Errors", Tone::Bad, errors(state), MOST),
        Trouble::of("Journal", Tone::Warn, unreadable(n_unreadable), MOST),
    ];
    all.into_iter().filter(|one| !one.items.is_empty()).collect()
}

type Items = Vec<(String, String)>;

fn at(line: &ReportLine) -> String {
    words::line(&line.position, 20)
}

fn refused(lines: &[ReportLine]) -> Items {
    let told = |line: &ReportLine| {
        let stop = line.stop()?;
        let proof = stop.seen.proof.as_ref();
        let open = stop.before.acceptance_criteria.iter().filter_map(|criterion| {
            let standing = proof.map_or(ReceiptStatus::NotRun, |proof| proof.standing(criterion));
            let why = completion_feedback::why(criterion, standing, &[]);
            (!standing.is_met()).then(|| format!("{} {why}", criterion.id))
        });
        let open: Vec<String> = open.collect();
        let why = if open.is_empty() { line.why.clone() } else { open.join("; ") };
        Some((at(line), words::line(&why, LONG)))
    };
    lines.iter().filter(|line| line.refuses_completion()).filter_map(told).collect()
}

fn turned_red(state: &LoopState) -> Items {
    let red = state.acceptance_criteria.iter().filter_map(|criterion| {
        let red = criterion.turned_red.as_ref()?;
        let files = match (red.files.is_empty(), red.more) {
            (true, _) => String::new(),
            (false, 0) => format!("; changed since: {}", red.files.join(", ")),
            (false, more) => format!("; changed since: {} and {more} more", red.files.join(", ")),
        };
        let since = red.checkpoint.rsplit('/').next().filter(|number| !number.is_empty());
        let since = since.map_or_else(|| "before".to_owned(), |n| format!("at checkpoint {n}"));
        Some((words::line(&criterion.id, 40), words::line(&format!("held {since}{files}"), LONG)))
    });
    red.collect()
}

fn still(lines: &[ReportLine]) -> Items {
    let told = |line: &ReportLine| {
        let stop = line.stop()?;
        let asked = stop.outcome.verdict == "go on" || stop.outcome.cause.is_some();
        let what = match &stop.outcome.signal {
            Signal::NoChange => "nothing had changed since the stop before",
            Signal::Idle => "nothing had changed, and the turn was text only",
            Signal::Cycle => "the tree goes through the same few states again and again",
            Signal::SameFailure => "the failure is the same as at the request before",
            _ => return None,
        };
        asked.then(|| (at(line), what.to_owned()))
    };
    lines.iter().filter_map(told).collect()
}

fn of_event(lines: &[ReportLine], event: &str, decision: &str) -> Items {
    let meant = lines.iter().filter(|line| line.event == event && line.decision == decision);
    meant.map(|line| (at(line), words::line(&line.why, LONG))).collect()
}

/// Repeated refusals of the same call are one item.
fn denials(lines: &[ReportLine]) -> Items {
    let mut found: Vec<(String, String, usize)> = Vec::new();
    for line in lines.iter().filter(|line| line.event == "PreToolUse" && line.decision == "denied")
    {
        let what = match &line.record {
            LineRecord::Denial(denial) => {
                let (tool, rule) = (words::line(&denial.tool, 60), words::spaced(&denial.rule));
                format!("{tool}{} ({rule})", timeline::subject(denial))
            }
            _ => words::line(&line.why, LONG),
        };
        match found.iter_mut().find(|(_, known, _)| *known == what) {
            Some((_, _, n)) => *n += 1,
            None => found.push((at(line), what, 1)),
        }
    }
    let times = |n: usize| if n > 1 { format!(", {n} times") } else { String::new() };
    found.into_iter().map(|(at, what, n)| (at, what + &times(n))).collect()
}

fn stuck(state: &LoopState, now: Timestamp) -> Items {
    let graph = Graph::new(&state.task_graph, now);
    let told = state.task_graph.iter().filter_map(|task| {
        let standing = graph.standing(task);
        let is_stuck = matches!(standing, TaskStanding::Failed | TaskStanding::Blocked);
        let why = task.result.as_deref().unwrap_or("no reason was given");
        is_stuck.then(|| {
            let what = format!("{}: {why}", standing.word());
            (words::line(&task.id, 40), words::line(&what, LONG))
        })
    });
    told.collect()
}

fn kept_out(state: &LoopState) -> Items {
    let told = state.workers.iter().filter(|worker| !worker.kept_out.is_empty()).map(|worker| {
        let name = if worker.task.is_empty() { &worker.about } else { &worker.task };
        (words::line(name, 40), words::line(&worker.kept_out, LONG))
    });
    told.collect()
}

fn errors(state: &LoopState) -> Items {
    let told = state.errors.iter().map(|error| {
        (error.at.strftime("%H:%M:%SZ").to_string(), words::line(&error.message, LONG))
    });
    told.collect()
}

fn unreadable(n: usize) -> Items {
    let told = (n > 0).then(|| {
        let lines = words::counted(n, "line", "lines");
        (String::new(), format!("{lines} could not be read; what they said is not known"))
    });
    told.into_iter().collect()
}
