//! What a shared loop costs, and how much faster it is with more machines.

use super::field::Field;
use crate::size::size;
use ralph_test_support::git_server::{Storage, Transport};
use ralph_test_support::machine::Machine;
use std::time::Instant;

/// A round takes a second, whatever else the computer does.
const ROUND: &str = "sleep 1; works; closes; ends";

/// The most calls of git for a task, those of a machine that only waits included.
const MOST_CALLS: u64 = 250;

pub(super) fn all() {
    println!(
        "machines | tasks | tasks/min | pushes/task | pushes/min | git calls/task | KB/task | lost claims"
    );
    for n in [1, 2, 4, 8, 16].into_iter().filter(|n| *n <= size().machines) {
        let tasks = size().tasks.min(20 * n);
        let Some(mut field) = Field::with_machines(n, (Transport::Http, Storage::Files), ROUND)
        else {
            return;
        };
        field.share(0, tasks);
        let (began, before) = (Instant::now(), field.server.traffic());
        field.start_all();
        field.until_end(|_| {});
        let minutes = began.elapsed().as_secs_f64() / 60.0;
        let traffic = field.server.traffic();
        // A machine that has ended is started once more by `finish`.
        let calls: u64 = field.machines.iter().map(Machine::git_calls).sum();
        field.finish();
        let told: Vec<String> = field.machines.iter().map(Machine::output).collect();
        let sum = |words: &[&str]| told.iter().map(|text| number_before(text, words)).sum::<f64>();
        let (pushes, lost) =
            (sum(&["push to", "pushes to", "push,", "pushes,"]), sum(&["lost claim"]));
        let bytes = traffic.sent + traffic.received - before.sent - before.received;
        let of = |value: f64| value / tasks as f64;
        println!(
            "{n} | {tasks} | {:.0} | {:.1} | {:.0} | {:.0} | {:.0} | {lost:.0}",
            tasks as f64 / minutes,
            of(pushes),
            pushes / minutes,
            of(calls as f64),
            of(bytes as f64) / 1024.0,
        );
        assert!(pushes >= tasks as f64, "each task needs its claim at least: {pushes}");
        assert!(calls / tasks as u64 <= MOST_CALLS, "{calls} calls of git for {tasks} tasks");
    }
}

/// The number in front of the first of these words that is there; 0 if there is none.
fn number_before(text: &str, words: &[&str]) -> f64 {
    let found = words.iter().find_map(|word| {
        let (before, _) = text.rsplit_once(&format!(" {word}"))?;
        before.rsplit(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    });
    found.unwrap_or(0.0)
}
