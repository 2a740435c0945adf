//! Each kind of headless run shows what it ended of a client's leftovers, on the screen and in `explain`.

use crate::world::{Printed, World};
use crate::{parallel_run, ralplan_run, refine, run, session_run};

/// A process that outlives its client.
const LEAVES: &str = "sleep 600 >/dev/null 2>&1 &";

const SHOWN: &str = "ended what was left running: sleep";

#[track_caller]
fn is_shown(world: &World, printed: &Printed) {
    assert!(printed.stderr.contains(SHOWN), "{printed:?}");
    let explained = world.ralph(&["explain", "99"]).done().stdout;
    assert!(explained.contains(SHOWN), "{explained}");
}

#[test]
fn a_round_for_a_goal_and_one_for_a_task_show_it() {
    let world = run::world(&format!("{LEAVES}\necho $n >file$n"));
    is_shown(&world, &world.ralph(&["run", "make it", "--ac", "one=test -f file1"]).done());
    let leaves = format!("if test $n = 1; then {LEAVES} fi");
    let world = run::world(&format!("{leaves}\n{}\necho $n >T-2", run::CLOSES));
    run::two_tasks(&world, "");
    is_shown(&world, &world.ralph(&["run"]).done());
}

#[test]
fn a_worker_shows_it() {
    let client = format!("{LEAVES}\n{}", parallel_run::WORKS);
    let world = parallel_run::world(&[("one", &[])], &client);
    is_shown(&world, &world.ralph(&["parallel", "run"]).done());
}

#[test]
fn an_agent_of_an_orchestration_shows_it() {
    let leaves = format!("before() {{ case $mode in INITIALIZE) {LEAVES} ;; esac; }}");
    let world = session_run::world(session_run::TWO, &leaves);
    is_shown(&world, &session_run::run(&world, session_run::TASK).done());
}

#[test]
fn an_agent_of_a_planning_shows_it() {
    let world = ralplan_run::world(&format!(
        "metis() {{ {LEAVES} reports 'Passwords are not mentioned.'; }}"
    ));
    let child = ralplan_run::begin(&world, &["Add a login"]);
    ralplan_run::asks(&world, 1);
    ralplan_run::signal(&child, "-INT");
    is_shown(&world, &world.finish(child, ""));
}

#[test]
fn a_round_of_a_refinement_shows_it() {
    let world = refine::world(&format!("{LEAVES}\nended 0"));
    let printed = refine::refine(&world, &["-n", "1"]);
    assert!(printed.stderr.contains(SHOWN), "{printed:?}");
}
