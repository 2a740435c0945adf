//! Many workers at once: of one bead there is one claim.

use crate::project::{beads, project, task, words};
use crate::world::{Printed, World, start};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Child;

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("of_many_that_claim_one_bead_one_gets_it", one_bead),
    ("of_many_that_claim_the_next_each_gets_another", each_another),
    ("workers_under_one_name_are_given_different_beads", one_name),
    ("a_claim_that_was_only_said_is_none", only_said),
    ("the_next_is_never_one_that_was_given_to_another", given_to_another),
];

const WORKERS: usize = 8;

/// Starts them all before the first is waited for.
fn at_once(world: &World, arguments: impl Fn(usize) -> String) -> Vec<Printed> {
    let begin = |number| -> Child {
        let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
        start(command.args(words(&arguments(number))))
    };
    let children: Vec<Child> = (0..WORKERS).map(begin).collect();
    children.into_iter().map(|child| world.finish(child, "")).collect()
}

fn one_bead() {
    for _ in 0..3 {
        let world = project(&["bd-1 parse"]);
        // All of them find it open.
        world.write("project/.beads/quirk", &format!("first look together: {WORKERS}"));
        let said = at_once(&world, |number| format!("claim bd-1 --owner w{number}"));
        let won: Vec<usize> = (0..WORKERS).filter(|number| said[*number].exit == 0).collect();
        assert_eq!(won.len(), 1, "{said:?}");
        assert_eq!(beads(&world)[0]["assignee"], json!(format!("w{}", won[0])));
        for lost in said.iter().filter(|printed| printed.exit != 0) {
            assert!(lost.exit == 1 && lost.stderr.contains("is claimed by w"), "{lost:?}");
        }
    }
}

/// The ids that were given out.
fn given(said: &[Printed]) -> BTreeSet<String> {
    let id = |printed: &Printed| printed.stdout.split(' ').next().unwrap().to_owned();
    said.iter().filter(|printed| printed.exit == 0).map(id).collect()
}

fn rows(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("bd-{number} t")).collect()
}

fn each_another() {
    let rows = rows(WORKERS - 1);
    let world = project(&rows.iter().map(String::as_str).collect::<Vec<_>>());
    let said = at_once(&world, |number| format!("claim --owner w{number}"));
    assert_eq!(given(&said).len(), WORKERS - 1, "{said:?}");
    let without: Vec<&Printed> = said.iter().filter(|printed| printed.exit != 0).collect();
    assert_eq!(without.len(), 1, "{said:?}");
    assert!(without[0].stderr.starts_with("ralph: no bead is ready"), "{without:?}");
    let holders: BTreeSet<String> =
        beads(&world).iter().map(|bead| bead["assignee"].to_string()).collect();
    assert_eq!(holders.len(), WORKERS - 1);
}

fn one_name() {
    let rows = rows(WORKERS);
    let world = project(&rows.iter().map(String::as_str).collect::<Vec<_>>());
    let said = at_once(&world, |_| "claim --owner team".to_owned());
    assert_eq!(given(&said).len(), WORKERS, "{said:?}");
}

fn only_said() {
    let world = project(&["bd-1 parse", "bd-2 print"]);
    world.write("project/.beads/quirk", "a rival has bd-1");
    task(&world, "claim bd-1 --owner ann").check(
        1,
        "",
        "ralph: bd-1 is claimed by rival; take another, or `ralph task release bd-1 --tracker bd`\n",
    );
    task(&world, "release bd-1").done();
    task(&world, "claim --owner ann").check(0, "bd-2 claimed: print\n", "");
    assert_eq!(beads(&world)[0]["assignee"], json!("rival"));
}

fn given_to_another() {
    let world = project(&["bd-1 parse", "bd-2 print"]);
    let mut all = beads(&world);
    all[0]["assignee"] = json!("bob");
    crate::project::set(&world, &all);
    task(&world, "claim --owner ann").check(0, "bd-2 claimed: print\n", "");
    task(&world, "claim --owner ann").check(
        1,
        "",
        "ralph: no bead is ready; `ralph task list --tracker bd` shows what is open and what it waits for\n",
    );
    task(&world, "claim --owner bob").check(0, "bd-1 claimed: parse\n", "");
}
