//! The report of an orchestration.

use super::of_loop::{MOST_TASKS, reached};
use super::words::{self, LONG, SHORT, counted};
use super::{Gauge, Report, ReportOutcome, ReportStep, ReportTurn, TaskShown, Tone, Trouble};
use crate::modes::orchestration::feedback::{FILE, FeedbackBatch};
use crate::modes::orchestration::files::OrchestrationFile;
use crate::modes::orchestration::finding::Weight;
use crate::modes::orchestration::machine::{Act, MachineStep};
use crate::modes::orchestration::progress::TaskMark;
use crate::modes::orchestration::report::ReviewVerdict;
use crate::modes::orchestration::snapshot::{Picture, Snapshot};
use crate::state::Task;
use crate::tasks::graph::Graph;
use jiff::Timestamp;

/// Iterations shown, the latest ones.
const MOST_TURNS: usize = 60;

/// Steps shown per iteration.
const MOST_STEPS: usize = 100;

/// Builds the report from the next step, and from the orchestration as it is or will be once the router
/// has written this step.
pub fn of_session(step: &MachineStep, now: Timestamp) -> Report {
    let picture = Picture::from_snapshot(&step.after);
    let (timeline, n_left_out) = timeline(&picture);
    let (tasks, n_tasks_left_out) = tasks(&picture, now);
    let n_reports: usize = picture.reports.values().map(Vec::len).sum();
    let facts = super::known([
        ("folder", picture.path.clone()),
        ("state", step.state.word().to_owned()),
        ("wave", step.wave.map(|wave| wave.to_string()).unwrap_or_default()),
        ("reports", if n_reports == 0 { String::new() } else { n_reports.to_string() }),
    ]);
    let mut gauges = vec![Gauge::number("Iteration", step.iteration.to_string())];
    let counts = step.after.counts();
    if counts.total > 0 {
        gauges.push(Gauge { label: "Tasks done", ..reached(counts.completed, counts.total) });
    }
    Report {
        kind: "session",
        id: step.after.id.to_string(),
        goal: words::block(&step.after.request, 4_000),
        outcome: outcome(step),
        facts,
        gauges,
        notes: notes(&step.after),
        next: next(step),
        tasks,
        n_tasks_left_out,
        timeline,
        n_left_out,
        trouble: trouble(step, &picture),
        made_at: (step.act != Act::Complete).then_some(now),
        ..Report::default()
    }
}

fn outcome(step: &MachineStep) -> ReportOutcome {
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

fn next(step: &MachineStep) -> String {
    let said = match &step.act {
        Act::Complete => "`ralph team feedback` begins another iteration".to_owned(),
        Act::Invoke(_) => format!("`ralph team next`: {}", step.act),
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

fn tasks(picture: &Picture<'_>, now: Timestamp) -> (Vec<TaskShown>, usize) {
    let drawn = picture.graph_tasks();
    let graph = Graph::new(&drawn, now);
    let waves = picture.waves();
    let wave_of = |id: &str| {
        waves.iter().position(|wave| wave.iter().any(|task| task.id == id)).map(|at| at + 1)
    };
    let show = |task: &Task| {
        let file = picture.task(&task.id);
        let places = task.deps.iter().filter_map(|id| graph.place(id));
        let is_cancelled = picture.status(&task.id) == Some(TaskMark::Cancelled);
        let reports = picture.reports_of(&task.id).len();
        let attempts = counted(reports, "attempt", "attempts");
        TaskShown {
            id: words::line(&task.id, 40),
            name: words::line(file.map_or("", |file| &file.title), SHORT),
            standing: graph.readiness(task),
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
fn timeline(picture: &Picture<'_>) -> (Vec<ReportTurn>, usize) {
    let first = picture.latest_iteration.saturating_sub(MOST_TURNS as u32);
    let mut turns = Vec::new();
    let mut n_left_out = 0;
    for iteration in first + 1..=picture.latest_iteration {
        let about = picture.seen.record.iterations.get(&iteration).cloned().unwrap_or_default();
        let mut steps = feedbacks(picture, iteration);
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

fn reports(picture: &Picture<'_>, iteration: u32) -> Vec<ReportStep> {
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

fn feedbacks(picture: &Picture<'_>, iteration: u32) -> Vec<ReportStep> {
    let stamps = picture.feedbacks.get(&iteration).into_iter().flatten();
    stamps
        .map(|stamp| {
            let place = OrchestrationFile::Feedback { iteration, stamp, file: FILE };
            let text = picture.seen.text(place).unwrap_or_default();
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

fn trouble(step: &MachineStep, picture: &Picture<'_>) -> Vec<Trouble> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::orchestration::agents::Mode;
    use crate::modes::orchestration::finding::OrchestrationFinding;
    use crate::modes::orchestration::id::OrchestrationId;
    use crate::modes::orchestration::invocation::Invocation;
    use crate::modes::orchestration::progress::{Progress, ProgressSection};
    use crate::modes::orchestration::signal::UnheardSignal;
    use crate::modes::orchestration::state::State;
    use crate::tasks::graph::TaskReadiness;

    fn now() -> Timestamp {
        "2026-01-31T12:00:00Z".parse().unwrap()
    }

    fn empty() -> Snapshot {
        Snapshot::new(OrchestrationId::parse("260131-120000").unwrap(), "Build a door")
    }

    fn stepping(after: Snapshot, act: Act) -> MachineStep {
        MachineStep {
            state: State::Planning,
            iteration: 1,
            wave: None,
            after,
            heard: Vec::new(),
            act,
            findings: Vec::new(),
        }
    }

    /// A task's file, a report on it, and a batch of feedback.
    fn task_file(id: &str, after: &str) -> String {
        format!(
            "---\nid: {id}\niteration: 1\n---\n# Task: {id}\n## Title\nDo {id}\n## Objective\nIt.\n\
             ## Success Criteria\n- [ ] it is\n## Dependencies\ndepends_on: [{after}]\n"
        )
    }

    fn report_file(id: &str, iteration: u32, status: &str) -> String {
        format!(
            "---\ntask_id: {id}\niteration: {iteration}\n---\n## PART 1: IMPLEMENTATION REPORT\n\
             ## PART 2: REVIEW REPORT\n{status}"
        )
    }

    fn feedback_file() -> &'static str {
        "---\niteration: 2\ntimestamp: 2026-02-01T12:00:00Z\nprevious_iteration: 1\n---\n\
         ## Critical Issues\n- [ ] **ISS-001**: It does not start\n- [ ] **ISS-002**: It stops\n\
         ## New Requirements\n- [ ] **REQ-001**: A bell\n"
    }

    fn turn(title: &str, at: Option<&str>, sum: &str, steps: Vec<ReportStep>) -> ReportTurn {
        let at = at.map(|at| at.parse().unwrap());
        ReportTurn { title: title.to_owned(), at, sum: sum.to_owned(), steps }
    }

    fn bare_step(what: &str, tone: Tone) -> ReportStep {
        step(what.to_owned(), tone, String::new())
    }

    fn shown(id: &str, standing: TaskReadiness, wave: usize, remark: &str) -> TaskShown {
        TaskShown {
            id: id.to_owned(),
            name: format!("Do {id}"),
            standing,
            wave: Some(wave),
            after: Vec::new(),
            remark: remark.to_owned(),
        }
    }

    #[test]
    fn an_orchestration_is_told_from_its_files() {
        let mut files = empty();
        let mut file = |path: &str, text: &str| {
            files.files.insert(path.to_owned(), Some(text.to_owned()));
        };
        for (id, after) in
            [("task-1", ""), ("task-2", "task-1"), ("task-3", "task-2, task-1"), ("task-4", "")]
        {
            file(&format!("tasks/{id}.md"), &task_file(id, after));
        }
        let failed = "**Status**: Failed\n";
        file("reports/task-1-report.md", &report_file("task-1", 1, failed));
        file("reports/task-1-report-r2.md", &report_file("task-1", 1, "**Status**: Qualified\n"));
        file("reports/task-2-report.md", &report_file("task-2", 2, ""));
        let metadata = "started_at: 2026-01-31T12:00:00Z\nplanning_completed_at: 2026-01-31T12:10:00Z\n\
             completed_at: 2026-01-31T13:00:00Z\n";
        file("iterations/1/metadata.yaml", metadata);
        file(
            "iterations/1/review.md",
            "# Session Review\n## Overall Assessment\n**Status**: Incomplete\n",
        );
        file(
            "iterations/2/review.md",
            "# Session Review\n## Overall Assessment\n**Status**: Complete\n",
        );
        file("iterations/2/feedbacks/260201-120000/feedbacks.md", feedback_file());
        let mut progress = Progress::first(&[]);
        let ids = ["task-1", "task-2", "task-3", "task-4"];
        progress.add(ProgressSection::Implementation, 1, &ids);
        progress.task_mut("task-1").unwrap().set(TaskMark::Done, None);
        progress.task_mut("task-2").unwrap().set(TaskMark::InProgress, None);
        progress.task_mut("task-4").unwrap().set(TaskMark::Cancelled, None);
        files.read_status(None);
        files.record.progress = Some(progress);
        files.signals = vec![UnheardSignal::read("1", "STEER: mind the hinge")];
        let finding = |line, weight| OrchestrationFinding {
            file: "plan.md".to_owned(),
            line,
            what: "it is odd".to_owned(),
            weight,
        };
        let findings = vec![finding(1, Weight::Notice), finding(2, Weight::Blocks)];
        let step = MachineStep {
            iteration: 2,
            wave: Some(2),
            findings,
            ..stepping(
                files,
                Act::Invoke(vec![Invocation::new(Mode::Execute, "p", 2).task("task-2")]),
            )
        };
        let report = of_session(&step, now());
        assert_eq!((report.kind, report.id.as_str()), ("session", "260131-120000"));
        assert_eq!(report.goal, "Build a door");
        let facts = [
            ("folder", ".ralph-sessions/260131-120000/"),
            ("state", State::Planning.word()),
            ("wave", "2"),
            ("reports", "3"),
        ];
        assert_eq!(report.facts, facts.map(|(label, value)| (label, value.to_owned())));
        let done = Gauge { label: "Tasks done", ..reached(1, 4) };
        assert_eq!(report.gauges, [Gauge::number("Iteration", "2".to_owned()), done]);
        assert_eq!(report.notes, ["Not heard yet: STEER: mind the hinge"]);
        assert_eq!(report.next, format!("`ralph team next`: {}", step.act));
        assert_eq!(report.made_at, Some(now()));
        let expected = [
            shown("task-1", TaskReadiness::Done, 1, "2 attempts"),
            TaskShown {
                after: vec![0],
                ..shown("task-2", TaskReadiness::InProgress, 2, "1 attempt")
            },
            TaskShown { after: vec![1, 0], ..shown("task-3", TaskReadiness::Waiting, 3, "") },
            shown("task-4", TaskReadiness::Blocked, 1, "cancelled"),
        ];
        assert_eq!((report.tasks.as_slice(), report.n_tasks_left_out), (&expected[..], 0));
        let dated = |what: &str, at: &str| ReportStep {
            at: Some(at.parse().unwrap()),
            ..bare_step(what, Tone::Quiet)
        };
        let rows = [
            ("critical", "**ISS-001**: It does not start\n**ISS-002**: It stops"),
            ("new", "**REQ-001**: A bell"),
        ];
        let feedback = ReportStep {
            why: "260201-120000".to_owned(),
            rows: rows.map(|(label, value)| (label.to_owned(), value.to_owned())).to_vec(),
            ..bare_step("Feedback: 3 items", Tone::Warn)
        };
        let first = vec![
            dated("Tasks known", "2026-01-31T12:10:00Z"),
            bare_step("task-1, attempt 1: failed", Tone::Bad),
            bare_step("task-1, attempt 2: qualified", Tone::Good),
            bare_step("Review: not complete", Tone::Warn),
            dated("Ended", "2026-01-31T13:00:00Z"),
        ];
        let second = vec![
            feedback,
            bare_step("task-2, attempt 1: not reviewed yet", Tone::Live),
            bare_step("Review: complete", Tone::Good),
        ];
        assert_eq!(
            report.timeline,
            [
                turn("Iteration 1", Some("2026-01-31T12:00:00Z"), "1 h", first),
                turn("Iteration 2", None, "", second),
            ]
        );
        assert_eq!(report.n_left_out, 0);
        let trouble = |title, tone, at: &str, what: &str| Trouble {
            title,
            tone,
            items: vec![(at.to_owned(), what.to_owned())],
            more: 0,
        };
        assert_eq!(
            report.trouble,
            [
                trouble("What is wrong with its files", Tone::Bad, "", "plan.md:2: it is odd"),
                trouble(
                    "Attempts that failed",
                    Tone::Warn,
                    "task-1",
                    "attempt 1 was found not done"
                ),
            ]
        );
    }

    #[test]
    fn an_orchestration_without_files_tells_how_it_stands() {
        let wait = || Act::Wait { until: None, why: "for a call".to_owned() };
        let over = "a reviewer found all of it done";
        let again = "`ralph team feedback` begins another iteration";
        let open = || vec!["task-1 failed".to_owned(), "task-2 waits".to_owned()];
        let open_text = "task-1 failed; task-2 waits";
        let give = "give feedback with `ralph session feedback new`: task-1 failed; task-2 waits";
        for (act, word, tone, detail, next) in [
            (Act::Complete, "completed", Tone::Good, over, again),
            (Act::AwaitingFeedback(open()), "awaiting feedback", Tone::Warn, open_text, give),
            (
                Act::Paused("lunch".to_owned()),
                "paused",
                Tone::Warn,
                "lunch",
                "paused by PAUSE: lunch",
            ),
            (Act::Stopped("no".to_owned()), "stopped", Tone::Quiet, "no", "ended by STOP: no"),
            (Act::Failed("no plan".to_owned()), "blocked", Tone::Bad, "no plan", "no plan"),
            (wait(), "in progress", Tone::Live, "", "wait for a call"),
        ] {
            let step = stepping(empty(), act);
            let is_over = step.act == Act::Complete;
            let report = of_session(&step, now());
            let outcome = ReportOutcome { word: word.to_owned(), tone, detail: detail.to_owned() };
            let folder = ".ralph-sessions/260131-120000/".to_owned();
            let expected = Report {
                kind: "session",
                id: "260131-120000".to_owned(),
                goal: "Build a door".to_owned(),
                outcome,
                facts: vec![("folder", folder), ("state", State::Planning.word().to_owned())],
                gauges: vec![Gauge::number("Iteration", "1".to_owned())],
                next: next.to_owned(),
                made_at: (!is_over).then(now),
                ..Report::default()
            };
            assert_eq!(report, expected);
        }
    }

    #[test]
    fn the_latest_iterations_the_first_tasks_and_the_first_steps_are_shown() {
        let of = |n_iterations: u32, n_reports: u32, n_tasks: u32| {
            let mut files = empty();
            let mut file = |path: String, text: String| {
                files.files.insert(path, Some(text));
            };
            for n in 1..=n_iterations {
                file(format!("iterations/{n}/metadata.yaml"), String::new());
            }
            for n in 1..=n_reports {
                let path = OrchestrationFile::Report { task: "task-1", attempt: n };
                file(path.to_string(), report_file("task-1", n_iterations, ""));
            }
            for n in 1..=n_tasks {
                let after =
                    if n == 1 { format!("task-499, task-{n_tasks}") } else { String::new() };
                file(format!("tasks/task-{n}.md"), task_file(&format!("task-{n}"), &after));
            }
            let step = stepping(files, Act::Complete);
            of_session(&step, now())
        };
        let turns = |n_iterations, n_reports| {
            let report = of(n_iterations, n_reports, 0);
            let steps: usize = report.timeline.iter().map(|turn| turn.steps.len()).sum();
            (report.timeline.len(), report.timeline[0].title.clone(), steps, report.n_left_out)
        };
        let title = |n: u32| format!("Iteration {n}");
        assert_eq!(turns(60, 0), (60, title(1), 0, 0));
        assert_eq!(turns(62, 0), (60, title(3), 0, 2));
        assert_eq!(turns(1, 100), (1, title(1), 100, 0));
        assert_eq!(turns(61, 103), (60, title(2), 100, 4));
        let tasks = |n_tasks| {
            let report = of(1, 0, n_tasks);
            (report.tasks.len(), report.n_tasks_left_out, report.tasks[0].after.clone())
        };
        assert_eq!(tasks(500), (500, 0, vec![498, 499]));
        assert_eq!([tasks(501), tasks(502)], [(500, 1, vec![498]), (500, 2, vec![498])]);
        let mut files = empty();
        files.signals = (0..21).map(|n| UnheardSignal::read(&n.to_string(), "hello")).collect();
        assert_eq!(notes(&files), vec!["Not heard yet: INFO: hello"; 20]);
    }
}
