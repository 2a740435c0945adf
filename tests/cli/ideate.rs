//! `ralph plan --ideas`: what one client finds, as tasks for `ralph plan-sync`.

use crate::refine::{n_called, world};
use crate::world::World;
use serde_json::Value;
use std::fs;

const IDEAS: &str = r#"idea() { printf '%s' "{\\\"id\\\":\\\"IDEA-$1\\\",\\\"name\\\":\\\"$2\\\",\\\"deps\\\":[$3]}"; }
ideas() { say "Two ideas.\n\n\`\`\`jsonl\n$(idea 1 'Log in' '')\n$(idea 2 'Log out' '\"IDEA-1\"')\n\`\`\`\n\nCHANGES: 2\nSUMMARY: logging"; }
"#;

fn named(world: &World) -> Vec<(String, String)> {
    let tasks = world.state()["task_graph"].as_array().unwrap().clone();
    let text = |task: &Value, name: &str| task[name].as_str().unwrap().to_owned();
    tasks.iter().map(|task| (text(task, "id"), text(task, "name"))).collect()
}

fn pair(id: &str, name: &str) -> (String, String) {
    (id.to_owned(), name.to_owned())
}

#[test]
fn ideas_join_the_tasks_by_the_documented_chain() {
    let world = world(&format!("{IDEAS}ideas"));
    world.run("", &["plan-sync"], "{\"id\":\"T-1\",\"name\":\"old\"}\n").done();
    let printed = world.ralph(&["ideate", "about | & ${WISH}", "--model", "sonnet"]).done();
    assert_eq!(printed.stdout.lines().count(), 3, "{printed:?}");
    assert!(printed.stderr.contains("T-3: Log out"), "{printed:?}");
    let call = fs::read_to_string(world.path("home/call-1")).unwrap();
    assert!(call.contains("about | & ${WISH}") && call.contains("--model sonnet"), "{call}");
    assert_eq!(named(&world), [pair("T-1", "old")], "it changes nothing");
    world.run("", &["plan-sync"], &printed.stdout).done();
    assert_eq!(named(&world), [pair("T-1", "old"), pair("T-2", "Log in"), pair("T-3", "Log out")]);
    assert_eq!(world.state()["task_graph"][2]["deps"][0], "T-2");
}

#[test]
fn ideas_that_cannot_be_read_are_asked_for_once_more_and_no_oftener() {
    let world_of =
        |second: &str| world(&format!("{IDEAS}case $n in 1) ended 5;; *) {second};; esac"));
    let world = world_of("ideas");
    let printed = world.ralph(&["ideate"]).done();
    assert_eq!((printed.stdout.lines().count(), n_called(&world)), (2, 2));
    let call = fs::read_to_string(world.path("home/call-2")).unwrap();
    assert!(
        call.contains("--resume s-1") && call.contains("the block of ideas is missing"),
        "{call}"
    );
    let never = world_of("ended 5");
    let printed = never.ralph(&["ideate"]);
    assert_eq!(
        (printed.exit, printed.stdout.as_str(), n_called(&never)),
        (4, "", 2),
        "{printed:?}"
    );
    let crashed = crate::refine::world("exit 3");
    let printed = crashed.ralph(&["ideate"]);
    assert_eq!((printed.exit, printed.stdout.as_str()), (4, ""), "{printed:?}");
}

#[test]
fn the_chain_that_the_guide_shows_works_line_by_line() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/refinery.md");
    let guide = fs::read_to_string(guide).unwrap();
    let (_, chain) = guide.split_once("<!-- chain -->\n```\n").unwrap();
    let world = world(&format!("{IDEAS}case $RALPH_ROUND in ideate) ideas;; *) ended 0;; esac"));
    for line in chain.split_once("```").unwrap().0.lines() {
        let mut shell = world.command(&world.path("bin/sh"), "");
        let printed = world.finish(crate::world::start(shell.args(["-c", line])), "").done();
        let last = line.starts_with("ralph task list");
        assert!(!last || printed.stdout.contains("Log in"), "{line}: {printed:?}");
    }
    assert_eq!(named(&world), [pair("T-1", "Log in"), pair("T-2", "Log out")]);
    assert_eq!(crate::refine::session(&world, "project")["status"], "plateau");
}
