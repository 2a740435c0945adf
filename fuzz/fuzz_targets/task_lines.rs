//! Tasks as lines of JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::graph;
use ralph_core::plan::lines;
use ralph_core::state::Task;
use serde_json::Value;

fn round_trip(tasks: &[Task]) -> Vec<Task> {
    let text = lines::render(tasks);
    assert_eq!(text.lines().count(), tasks.len(), "one line for each");
    lines::parse(&text).expect("what was written reads back")
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
