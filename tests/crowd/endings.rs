//! Many stops that could each end the loop: it ends once, and is told of once.

use crate::answers::{self, ProcessAnswer, said};
use crate::calls::{self, Answer, Caller};
use crate::one_loop::check_wait;
use crate::size::size;
use crate::world::World;
use crate::written;
use serde_json::json;

pub(crate) const TESTS: &[crate::Test] = &[
    ("many_stops_at_the_last_iteration_end_the_loop_once", last_iteration),
    ("many_requests_without_criteria_end_the_loop_once", requests),
    ("many_requests_run_a_criterion_once_and_end_the_loop_once", proven_requests),
];

/// So many stops with the same last line, at once.
pub(crate) fn stops(world: &World, n_stops: usize, last_line: &str) -> Vec<Caller> {
    let stop = |at: usize| {
        let message = format!("{at}\n{last_line}");
        let payload = world.payload("Stop", json!({"last_assistant_message": message}));
        Caller::hook(&format!("stop {at}"), world, "ralph-stop-hook", "settings", &payload)
    };
    (0..n_stops).map(stop).collect()
}

fn last_iteration() {
    for _ in 0..size().races {
        let world = World::looping("--max-iterations 5 --stall-limit 1000");
        let answers = calls::at_once(stops(&world, size().processes, "still going"));
        assert_eq!(answers::iterations(&answers), [1, 2, 3, 4, 5]);
        check_ended_once(&world, answers, "max_iterations");
    }
}

fn requests() {
    for _ in 0..size().races {
        let world = World::looping("");
        let answers = calls::at_once(stops(&world, size().processes, "RALPH_COMPLETE"));
        assert_eq!(answers::iterations(&answers), [0; 0]);
        check_ended_once(&world, answers, "complete_unverified");
    }
}

/// The checks take turns: who comes second finds the receipt of who was first.
fn proven_requests() {
    for _ in 0..size().races {
        let world = World::new();
        let ran = world.project().join(".git/ran");
        world.start(
            "--ac 'one is there=grep -q one a.c && echo ran >> .git/ran' --stall-limit 1000",
        );
        world.write("a.c", "int one;\n");
        let answers = calls::at_once(stops(&world, size().processes / 4, "RALPH_COMPLETE"));
        check_ended_once(&world, answers, "complete");
        assert_eq!(std::fs::read_to_string(ran).unwrap(), "ran\n");
    }
}

/// Whoever did not tell the person, or could not, is silent; the next stop tells if none did.
#[track_caller]
pub(crate) fn check_ended_once(world: &World, mut answers: Vec<Answer>, ending: &str) {
    let last = stops(world, 1, "after the end").remove(0);
    answers.push(calls::alone(last));
    for answer in &answers {
        check_wait(answer);
        let may = matches!(
            said(answer),
            ProcessAnswer::WentOn(_)
                | ProcessAnswer::Nothing
                | ProcessAnswer::GaveUp(_)
                | ProcessAnswer::Done(_)
                | ProcessAnswer::No(_)
        );
        assert!(
            may || answers::announcements(std::slice::from_ref(answer), ending) == 1,
            "{answer:?}"
        );
    }
    assert_eq!(answers::announcements(&answers, ending), 1, "{answers:?}");
    assert_eq!(world.ending(), ending);
    assert!(!world.has_entry());
    let state = &world.archived()[0];
    assert_eq!(state["iteration"], answers::iterations(&answers).len());
    let lines = written::lines(&archive(world));
    let ended: Vec<_> = lines.iter().filter(|line| line.decision == "ended").collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(written::count(&lines, "Stop", "go on"), answers::iterations(&answers).len());
}

/// The folder of the only loop that was put away.
pub(crate) fn archive(world: &World) -> std::path::PathBuf {
    let mut folders = std::fs::read_dir(world.ralph_home().join("archive")).unwrap();
    let folder = folders.next().expect("a loop was put away").unwrap().path();
    assert!(folders.next().is_none(), "only one");
    folder
}
