//! Builds the report of an orchestration from the files of its folder.

use super::of_loop::{MOST_TASKS, reached};
use super::words::{self, LONG, SHORT, counted};
use super::{Gauge, Report, ReportOutcome, ReportStep, ReportTurn, TaskShown, Tone, Trouble};
use crate::modes::orchestration::feedback::{FILE, FeedbackBatch};
use crate::modes::orchestration::files::OrchestrationFile;
use crate::modes::orchestration::finding::Weight;
use crate::modes::orchestration::machine::{self, Act};
use crate::modes::orchestration::metadata::IterationMetadata;
use crate::modes::orchestration::progress::TaskMark;
use crate::modes::orchestration::report::ReviewVerdict;
use crate::modes::orchestration::snapshot::{Picture, Snapshot};
use crate::modes::orchestration::waves::TaskFiles;
use crate::state::Task;
use crate::tasks::graph::Graph;
use jiff::Timestamp;

/// Iterations shown, the latest ones.
const MOST_TURNS: usize = 60;

/// Steps shown per iteration.
const MOST_STEPS: usize = 100;

/// The data for the report of an orchestration.
#[derive(Debug)]
pub struct OrchestrationReportInput<'a> {
    /// The orchestration as it is, or will be once the router has written the next step.
    pub files: &'a Snapshot,
    /// The next step.
    pub step: &'a machine::MachineStep,
    /// The current time.
    pub now: Timestamp,
}

/// Builds the report.
pub fn of_session(seen: &OrchestrationReportInput<'_>) -> Report {
    let OrchestrationReportInput { files, step, now } = seen;
    let picture = Picture::of(files);
    let progress = picture.progress.clone().unwrap_or_default();
    let wanted = TaskFiles::of(&picture, &progress);
    let said = machine::output(files, step);
    let (timeline, n_left_out) = timeline(files, &picture);
    let (tasks, n_tasks_left_out) = tasks(&picture, &wanted, *now);
    let n_reports: usize = picture.reports.values().map(Vec::len).sum();
    let facts = super::known([
        ("folder", picture.path.clone()),
        ("state", said.current_state.to_owned()),
        ("wave", step.wave.map(|wave| wave.to_string()).unwrap_or_default()),
        ("reports", if n_reports == 0 { String::new() } else { n_reports.to_string() }),
    ]);
    let mut gauges = vec![Gauge::number("Iteration", step.iteration.to_string())];
    let counts = said.tasks_summary;
    if counts.total > 0 {
        gauges.push(Gauge { label: "Tasks done", ..reached(counts.completed, counts.total) });
    }
    Report {
        kind: "session",
        id: files.id.to_string(),
        goal: words::block(&files.request, 4_000),
        outcome: outcome(step),
        facts,
        gauges,
        notes: notes(files),
        next: next(step),
        tasks,
        n_tasks_left_out,
        timeline,
        n_left_out,
        trouble: trouble(step, &picture),
        made_at: (said.status != "completed").then_some(*now),
        ..Report::default()
    }
}

fn outcome(step: &machine::MachineStep) -> ReportOutcome {
    let (word, tone, detail) = match &step.act {
        Act::Complete => ("completed", Tone::Good, "a reviewer found all of it done".to_owned()),
        Act::AwaitingFeedback(open) => ("awaiting feedback", Tone::Warn, open.join("; ")),
        Act::Paused(text) => ("paused", Tone::Warn, text.clone()),
        Act::Stopped(text) => ("stopped", Tone::Quiet, text.clone()),
        Act::Failed(why) => ("blocked", Tone::Bad, why.clone()),
        Act::Invoke(_) | Act::Wait { .. } => ("in progress", Tone::Live, String::new()),
    };
    ReportOutcome { word: word.to_owned(), tone, detail: words::line(&detail, LONG) }
}

fn next(step: &machine::MachineStep) -> String {
    let said = match &step.act {
        Act::Complete => "`ralph session feedback new` begins another iteration".to_owned(),
        Act::Invoke(_) => format!("`ralph session next`: {}", step.act),
        act => act.to_string(),
    };
    words::line(&said, LONG)
}

fn notes(files: &Snapshot) -> Vec<String> {
    let unheard = files.signals.iter().map(|signal| {
        let text = format!("Not heard yet: {}: {}", signal.word.as_str(), signal.text);
        words::line(&text, LONG)
    });
    unheard.take(20).collect()
}

fn tasks(picture: &Picture, wanted: &TaskFiles, now: Timestamp) -> (Vec<TaskShown>, usize) {
    let drawn = wanted.drawn();
    let graph = Graph::new(&drawn, now);
    let waves = wanted.waves();
    let wave_of = |id: &str| waves.iter().position(|wave| wave.contains(&id)).map(|at| at + 1);
    let show = |task: &Task| {
        let file = picture.task(&task.id);
        let places = task.deps.iter().filter_map(|id| graph.place(id));
        let is_cancelled = wanted.status(&task.id) == Some(TaskMark::Cancelled);
        let reports = picture.reports_of(&task.id).len();
        let attempts = counted(reports, "attempt", "attempts");
        TaskShown {
            id: words::line(&task.id, 40),
            name: words::line(file.map_or("", |file| &file.title), SHORT),
            standing: graph.standing(task),
            wave: wave_of(&task.id),
            after: places.filter(|place| *place < MOST_TASKS).take(50).collect(),
            remark: match (is_cancelled, reports) {
                (true, _) => "cancelled".to_owned(),
                (false, 0) => String::new(),
                (false, _) => attempts,
            },
        }
    };
    (drawn.iter().take(MOST_TASKS).map(show).collect(), drawn.len().saturating_sub(MOST_TASKS))
}

/// Each iteration: when it began, what was reported and judged, and what was requested next.
fn timeline(files: &Snapshot, picture: &Picture) -> (Vec<ReportTurn>, usize) {
    let first = picture.latest_iteration.saturating_sub(MOST_TURNS as u32);
    let mut turns = Vec::new();
    let mut n_left_out = 0;
    for iteration in first + 1..=picture.latest_iteration {
        let of = OrchestrationFile::IterationMetadata(iteration);
        let about = files.text(of).map(|text| IterationMetadata::parse(text, iteration).0);
        let about = about.unwrap_or_default();
        let mut steps = feedbacks(files, picture, iteration);
        steps.extend(when("Tasks known", &about.planning_completed_at));
        steps.extend(reports(picture, iteration));
        if let Some(is_complete) = picture.reviews.get(&iteration) {
            let (what, tone) = match is_complete {
                true => ("Review: complete", Tone::Good),
                false => ("Review: not complete", Tone::Warn),
            };
            steps.push(step(what.to_owned(), tone, String::new()));
        }
        steps.extend(when("Ended", &about.completed_at));
        n_left_out += steps.len().saturating_sub(MOST_STEPS);
        steps.truncate(MOST_STEPS);
        let [began, ended] = [&about.started_at, &about.completed_at].map(time);
        let took = began.zip(ended).map(|(from, to)| words::lasted(words::between(from, to)));
        turns.push(ReportTurn {
            title: format!("Iteration {iteration}"),
            at: began,
            sum: took.unwrap_or_default(),
            steps,
        });
    }
    (turns, n_left_out + first as usize)
}

fn step(what: String, tone: Tone, why: String) -> ReportStep {
    ReportStep { at: None, what, tone, why, rows: Vec::new() }
}

fn time(text: &Option<String>) -> Option<Timestamp> {
    text.as_deref()?.parse().ok()
}

fn when(what: &str, at: &Option<String>) -> Option<ReportStep> {
    let at = time(at)?;
    Some(ReportStep { at: Some(at), ..step(what.to_owned(), Tone::Quiet, String::new()) })
}

fn reports(picture: &Picture, iteration: u32) -> Vec<ReportStep> {
    let all = picture.reports.iter().flat_map(|(task, reports)| {
        let of = reports.iter().filter(move |report| report.iteration == iteration);
        of.map(move |report| (task, report))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(task, report)| (*task, report.attempt));
    let all = all.into_iter();
    all.map(|(task, report)| {
        let (word, tone) = match report.verdict {
            Some(ReviewVerdict::Qualified) => ("qualified", Tone::Good),
            Some(ReviewVerdict::Failed) => ("failed", Tone::Bad),
            None => ("not reviewed yet", Tone::Live),
        };
        let what = format!("{}, attempt {}: {word}", words::line(task, 40), report.attempt);
        step(what, tone, String::new())
    })
    .collect()
}

fn feedbacks(files: &Snapshot, picture: &Picture, iteration: u32) -> Vec<ReportStep> {
    let stamps = picture.feedbacks.get(&iteration).into_iter().flatten();
    stamps
        .map(|stamp| {
            let place = OrchestrationFile::Feedback { iteration, stamp, file: FILE };
            let text = files.text(place).unwrap_or_default();
            let feedback = FeedbackBatch::parse(iteration, stamp, text).0;
            let kinds = [
                ("critical", &feedback.critical),
                ("quality", &feedback.quality),
                ("new", &feedback.requirements),
            ];
            let rows = kinds.into_iter().filter(|(_, items)| !items.is_empty());
            let rows: Vec<(String, String)> = rows
                .map(|(label, items)| {
                    (label.to_owned(), words::block(&items.join("\n"), words::TEXT))
                })
                .collect();
            let n: usize = kinds.iter().map(|(_, items)| items.len()).sum();
            let what = format!("Feedback: {}", counted(n, "item", "items"));
            ReportStep { rows, ..step(what, Tone::Warn, words::line(stamp, SHORT)) }
        })
        .collect()
}

fn trouble(step: &machine::MachineStep, picture: &Picture) -> Vec<Trouble> {
    let matters = step.findings.iter().filter(|finding| finding.weight != Weight::Notice);
    let findings: Vec<(String, String)> =
        matters.map(|finding| (String::new(), words::line(&finding.to_string(), LONG))).collect();
    let failed: Vec<(String, String)> = picture
        .reports
        .iter()
        .flat_map(|(task, reports)| reports.iter().map(move |report| (task, report)))
        .filter(|(_, report)| report.verdict == Some(ReviewVerdict::Failed))
        .map(|(task, report)| {
            (words::line(task, 40), format!("attempt {} was found not done", report.attempt))
        })
        .collect();
    let kinds = [
        ("What is wrong with its files", Tone::Bad, findings),
        ("Attempts that failed", Tone::Warn, failed),
    ];
    Trouble::all(kinds, MOST_STEPS)
}
