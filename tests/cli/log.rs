//! `ralph log` after runs of every kind, with clients that are scripts.

use crate::{parallel_run, refine, run};
use serde_json::{Value, json};

const SPEAKS: &str = r#"say '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I write file '$n'."},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"touch file"}}]}}'
echo $n >file$n"#;

pub(crate) fn n_logs(document: &Value) -> usize {
    document["logs"].as_array().unwrap().len()
}

#[test]
fn the_last_rounds_of_a_run_are_printed_and_their_files_named() {
    let world = run::world(SPEAKS);
    let goal = ["run", "make it", "--ac", "two=test -f file2"];
    world.ralph(&goal).done();
    let last = world.ralph(&["log"]).done().stdout;
    let (file, said) = last.split_once('\n').unwrap();
    assert!(file.ends_with("/round-2.jsonl"), "{last}");
    assert_eq!(said, "I write file 2.\n> Bash touch file\n");
    let both = world.ralph(&["log", "9"]).done().stdout;
    assert!(both.find("I write file 1.") < both.find("I write file 2."), "{both}");
    let document = world.ralph(&["log", "9", "--json"]).done().json();
    assert_eq!(n_logs(&document), 2);
    assert_eq!(document["logs"][1]["file"], file);
    assert_eq!(document["logs"][1]["lines"], json!(["I write file 2.", "> Bash touch file"]));

    // Those of another loop are not among them.
    world.ralph(&["run", "again", "--ac", "five=test -f file5"]).done();
    assert_eq!(n_logs(&world.ralph(&["log", "9", "--json"]).done().json()), 3);
}

#[test]
fn each_worker_and_each_round_of_a_refinement_is_found() {
    let world = parallel_run::world(&[("one", &[]), ("two", &[])], parallel_run::WORKS);
    world.ralph(&["run", "--parallel"]).done();
    assert_eq!(n_logs(&world.ralph(&["log", "9", "--json"]).done().json()), 2);

    let world = refine::world("ended 0");
    refine::refine(&world, &["-n", "2"]);
    let first = world.ralph(&["log", "9", "--of=refine"]).done().stdout;
    assert!(first.lines().next().unwrap().ends_with("/round-1.jsonl"), "{first}");
}

#[test]
fn a_loop_without_a_run_names_what_shows_it_and_control_characters_do_nothing() {
    let world = run::world(
        "say '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\\u001b[2Jb\"}]}}'\necho 1 >file1",
    );
    world.in_session("s-1", &["start", "--session", "s-1", "-"], "make it").done();
    let printed = world.ralph(&["log"]);
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("`claude --resume s-1` shows the conversation"), "{printed:?}");
    world.ralph(&["cancel"]).done();
    world.ralph(&["run", "make it", "--ac", "one=test -f file1"]).done();
    let said = world.ralph(&["log"]).done().stdout;
    assert!(said.contains("a\\u{1b}[2Jb"), "{said}");
}
