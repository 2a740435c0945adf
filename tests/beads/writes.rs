//! What becomes of a bead, from claimed to closed.

use crate::project::{beads, calls, project, task, words};
use serde_json::json;

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("a_bead_goes_from_open_to_closed", from_open_to_closed),
    ("what_is_given_up_waits_until_it_is_released", set_aside),
    ("dependencies_are_added_and_taken_away_one_by_one", dependencies),
    ("the_session_of_a_live_loop_works_under_its_own_name", in_a_session),
];

fn from_open_to_closed() {
    let world = project(&["bd-1 parse", "bd-2 print open after bd-1"]);
    let check = |arguments: &str, stdout: &str| task(&world, arguments).check(0, stdout, "");
    check("claim --owner ann", "bd-1 claimed: parse\n");
    let bead = beads(&world)[0].clone();
    assert_eq!((&bead["status"], &bead["assignee"]), (&json!("in_progress"), &json!("ann")));
    check("claim bd-1 --owner ann", "bd-1 claimed: parse\n");
    check("done bd-1 --owner ann --result twelve", "bd-1 done\n");
    assert_eq!(beads(&world)[0]["close_reason"], json!("twelve"));
    check("claim --owner bob", "bd-2 claimed: print\n  after bd-1 (parse): twelve\n");
    check("done bd-2", "bd-2 done\n");
    check("list --all", "bd-1  done  parse\nbd-2  done  print\n2 of 2 tasks done\n");
    let asked = calls(&world);
    assert!(asked.iter().all(|call| call["words"].as_array().unwrap().contains(&json!("--json"))));
}

fn set_aside() {
    let world = project(&["bd-1 parse", "bd-2 print open after bd-1"]);
    let check = |arguments: &[&str], stdout: &str| {
        let all: Vec<&str> = ["task"].into_iter().chain(arguments.iter().copied()).collect();
        world.ralph(&[all.as_slice(), &["--tracker", "bd"]].concat()).check(0, stdout, "");
    };
    check(&["claim", "bd-1", "--owner", "ann"], "bd-1 claimed: parse\n");
    // What begins like an option is none to bd either.
    check(&["fail", "bd-1", "--reason=--no\n grammar"], "bd-1 failed\n");
    assert_eq!(beads(&world)[0]["status"], json!("blocked"));
    check(
        &["list"],
        "bd-1  blocked  parse  (failed: --no grammar)\nbd-2  waiting  print  (after bd-1)\n0 of 2 tasks done\n",
    );
    check(&["release", "bd-1"], "bd-1 released\n");
    let bead = beads(&world)[0].clone();
    assert_eq!((&bead["status"], &bead["assignee"]), (&json!("open"), &json!("")));
    check(&["block", "bd-1", "--reason", "a key"], "bd-1 blocked\n");
    assert_eq!(beads(&world)[0]["notes"], json!("failed: --no grammar\nwaits for: a key"));
    check(&["show", "bd-1"], "bd-1  parse\n  stands     blocked\n  result     waits for: a key\n");
}

fn dependencies() {
    let world = project(&["a x", "b y", "c z open after a"]);
    let check = |arguments: &str, stdout: &str| task(&world, arguments).check(0, stdout, "");
    check("deps c", "c depends on a\n");
    check("deps c b", "c depends on b\n");
    check("deps c a b", "c depends on b, a\n");
    check("deps c --none", "c depends on nothing\n");
    check("deps b a", "b depends on a\n");
    let before = beads(&world);
    task(&world, "deps a b").check(
        1,
        "",
        "ralph: `bd dep` refused: adding dependency would create a cycle\n",
    );
    task(&world, "deps a c nope").check(
        1,
        "",
        "ralph: there is no bead `nope`; `ralph task list --all --tracker bd` shows them\n",
    );
    assert_eq!(beads(&world), before);
}

fn in_a_session() {
    let world = project(&["bd-1 parse", "bd-2 print"]).live_loop("S");
    let give = |arguments: &str| world.in_session("S", &words(arguments), "");
    give("claim").check(0, "bd-1 claimed: parse\n", "");
    assert_eq!(beads(&world)[0]["assignee"], json!("S"));
    give("done bd-1 --result built").check(0, "bd-1 done\n", "");
    let refused = give("import -");
    assert_eq!(refused.exit, 1);
    assert!(refused.stderr.contains("is for a person only"), "{}", refused.stderr);
    // The loop's own tasks are others.
    world.in_session("S", &["task", "add", "own"], "").check(0, "T-1 added\n", "");
    assert_eq!(world.state()["task_graph"].as_array().unwrap().len(), 1);
}
