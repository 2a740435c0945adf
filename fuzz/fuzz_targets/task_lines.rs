//! Tasks as lines of JSON.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_core::state::{Task, TaskStatus};
use ralph_core::tasks::graph;
use ralph_core::tasks::plan::lines;
use serde_json::Value;

fn round_trip(tasks: &[Task]) -> Vec<Task> {
    let text = lines::render(tasks);
    assert_eq!(text.lines().count(), tasks.len(), "one line for each");
    lines::parse(&text).expect("what was written reads back")
}

/// A sync takes what an import takes, and the same lines again change nothing; with half of the lines
/// nothing that is done is lost.
fn in_step(tasks: &[Task]) {
    let now = Timestamp::UNIX_EPOCH;
    let lines = lines::read(&lines::render(tasks)).expect("what was written reads back");
    let synced = lines::sync(&[], &lines, now).expect("what was taken once is taken");
    let again = lines::sync(&synced.tasks, &lines, now).expect("what was taken once is taken");
    assert!(again.diff.is_empty() && again.tasks == synced.tasks);
    if let Ok(half) = lines::sync(&synced.tasks, &lines[lines.len() / 2..], now) {
        let done = |tasks: &[Task]| tasks.iter().filter(|it| it.status == TaskStatus::Done).count();
        assert_eq!(done(&half.tasks), done(tasks));
        assert!(graph::lint(&half.tasks).is_empty());
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let n_lines = text.split('\n').count();
    match lines::parse(&text) {
        Ok(tasks) => {
            let blank = text.trim_start_matches('\u{feff}');
            let written = blank.split('\n').filter(|line| !line.trim().is_empty()).count();
            assert_eq!(tasks.len(), written, "all or nothing");
            assert!(graph::lint(&tasks).is_empty());
            let again = round_trip(&tasks);
            let ids = |tasks: &[Task]| tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>();
            assert_eq!(ids(&again), ids(&tasks));
            // The second time fractions have settled, and everything is as it was.
            assert!(ralph_fuzz::same(&serde_json::json!(again), &serde_json::json!(tasks)));
            in_step(&tasks);
            let padded = format!("\n  \n{}\n\n", text.trim_start_matches('\u{feff}'));
            assert_eq!(lines::parse(&padded).map(|tasks| tasks.len()), Ok(tasks.len()));
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in &problems {
                let line = problem.place.strip_prefix("line ").and_then(|at| at.parse().ok());
                assert!(line.is_some_and(|line| (1..=n_lines).contains(&line)), "{problem}");
            }
            let bad = |line: &&str| serde_json::from_str::<Value>(line.trim()).is_err();
            let text = text.trim_start_matches('\u{feff}');
            let unreadable =
                text.split('\n').filter(|line| !line.trim().is_empty()).filter(bad).count();
            assert!(problems.len() >= unreadable, "every bad line is reported");
        }
    }
});
