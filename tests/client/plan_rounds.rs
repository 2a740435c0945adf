//! `ralph plan` with the real client: exactly as many rounds as asked for, each with the graph as it is.

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::installed;
use crate::support::{Run, World, executables};

pub(crate) const TESTS: &[Test] = tests![
    three_rounds_grow_the_graph_and_each_is_given_it_as_it_is,
    a_graph_that_is_too_long_for_an_argument_goes_by_file,
];

/// `ralph plan` beside a stand-in.
fn plan(world: &World, stand_in: &StandIn, args: &[&str]) -> Run {
    let mut all = vec!["plan"];
    all.extend_from_slice(args);
    world.ralph_with_client(stand_in, &all)
}

fn planned(tasks: &[(&str, &[&str])]) -> ScriptedTurn {
    let lines: Vec<String> = tasks
        .iter()
        .map(|(id, deps)| {
            json!({"id": id, "name": format!("name of {id}"), "deps": deps,
                "completion_condition": "it is there", "files": [format!("file-{id}")]})
            .to_string()
        })
        .collect();
    let block = lines.join("\n");
    ScriptedTurn::text(&format!(
        "Planned. <promise>Tastes Like Burning.</promise>\n```jsonl\n{block}\n```"
    ))
}

/// What the model reads between the tags.
fn arguments(request: &ApiRequest) -> String {
    let text = request.all_text();
    let (_, rest) = text.split_once("<ralph-arguments>").expect("the skill shows its arguments");
    rest.split_once("</ralph-arguments>").unwrap().0.trim().to_owned()
}

fn ids(world: &World) -> Vec<String> {
    let tasks = world.ralph(&["task", "list", "--all", "--json"]).exits(0).json();
    let id = |task: &Value| task["id"].as_str().unwrap().to_owned();
    tasks["tasks"].as_array().unwrap().iter().map(id).collect()
}

fn three_rounds_grow_the_graph_and_each_is_given_it_as_it_is() {
    let world = installed();
    let script = Script::new()
        .turn(planned(&[("T-1", &[])]))
        .turn(ScriptedTurn::text("It is right as it is."))
        .turn(planned(&[("T-1", &[]), ("T-2", &["T-1"])]));
    let stand_in = StandIn::start(script).unwrap();
    assert_eq!(world.ralph(&["task", "list", "--all", "--markdown"]).exits(0).stdout, "");
    plan(&world, &stand_in, &["-n", "3"]).exits(0);
    let requests = stand_in.requests();
    assert_eq!((requests.len(), stand_in.unscripted()), (3, 0));
    assert!(requests[0].all_text().contains("Ralph plan round."));
    assert_eq!(arguments(&requests[0]), "");
    for at in [1, 2] {
        assert!(arguments(&requests[at]).starts_with("- [ ] **T-1** name of T-1"), "{at}");
    }
    assert_eq!(ids(&world), ["T-1", "T-2"]);
}

fn a_graph_that_is_too_long_for_an_argument_goes_by_file() {
    let world = installed();
    let lines: String = (0..1_000)
        .map(|n| {
            let task = json!({"id": format!("T-{n}"), "name": "n".repeat(1_000), "files": [format!("f{n}")],
                "completion_condition": "c"});
            format!("{task}\n")
        })
        .collect();
    world.run(executables().join("ralph"), &["plan-sync"], &lines).exits(0);
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::text("It is right."))).unwrap();
    plan(&world, &stand_in, &[]).exits(0);
    let given = arguments(&stand_in.requests()[0]);
    let (_, file) = given.split_once("Read it first: ").expect("the file is named");
    let graph = std::fs::read_to_string(file).unwrap();
    assert!(graph.len() > 1_000_000 && graph.contains("**T-999**"), "{}", graph.len());
}
