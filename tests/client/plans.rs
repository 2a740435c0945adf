//! Plans of other tools with the real client: each form to its end, with its boxes ticked.

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};

use crate::Test;
use crate::kept::{installed, the_ended};

pub(crate) const TESTS: &[Test] = tests![each_form_of_plan_is_carried_out_and_ticked];

/// The name of the file, its text, and the ids of its open tasks. The forms are those of ralphex, of
/// frankbria/ralph-claude-code, of snarktank/ralph and of `/ralplan`.
const PLANS: [(&str, &str, &[&str]); 4] = [
    (
        "docs/plans/files.md",
        "# Plan: Make the files\r\n\r\n## Validation Commands\r\n- `test -s T-2 && test -s T-3`\r\n\r\n\
         ### Task 1: set up\r\n- [x] begin\r\n\r\n### Task 2: the first\r\n- [ ] write it  \r\n- [ ] read it\r\n\
         \r\n### Task 3: the second\r\n- [ ] write it\r\n\r\n## Post-Completion\r\n- [ ] look at it\r\n",
        &["T-2", "T-3"],
    ),
    (
        ".ralph/@fix_plan.md",
        "# Fix Plan\n\n## Low Priority\n- [ ] the second\n\n## High Priority\n- [ ] the first\n  - [ ] its test\n\n\
         ## Completed\n- [x] set up\n\n## Acceptance criteria\n- `test -s T-1` passes\n",
        &["T-1", "T-2"],
    ),
    (
        "prd.json",
        "{\n  \"project\": \"Files\",\n  \"userStories\": [\n    {\"id\": \"US-002\", \"title\": \"the second\", \
         \"acceptanceCriteria\": [\"`test -s US-002` passes\"],  \"priority\": 2, \"passes\":false},\n    {\"id\": \
         \"US-001\", \"title\": \"the first\", \"acceptanceCriteria\": [\"It is there\"], \"priority\": 1, \"passes\": \
         false, \"notes\": \"\"}\n  ]\n}",
        &["US-001", "US-002"],
    ),
    (
        ".omc/plans/files.md",
        "# Files\n\n## Steps\n\n- [ ] T-1: write the first\n- [ ] T-2: write the second\n\n```json ralph-plan\n{\
         \"acceptance_criteria\": [{\"id\": \"AC-1\", \"description\": \"both are there\", \
         \"verification_command\": \"test -s T-1 && test -s T-2\"}],\n\"task_graph\": [{\"id\": \"T-1\", \"name\": \
         \"the first\"}, {\"id\": \"T-2\", \"name\": \"the second\", \"deps\": [\"T-1\"]}]}\n```\n",
        &["T-1", "T-2"],
    ),
];

/// What the plan's file holds in the end.
fn ticked(name: &str, text: &str) -> String {
    match name {
        "prd.json" => text
            .replace("\"passes\":false", "\"passes\":true")
            .replace("\"passes\": false", "\"passes\": true"),
        _ => text.replace("- [ ] ", "- [x] ").replace("- [x] look", "- [ ] look"),
    }
}

/// The task that a round's session was told to do.
fn task(request: &ApiRequest) -> Option<String> {
    let text = request.all_text();
    let (_, rest) = text.split_once("Your task: ")?;
    Some(rest.split_whitespace().next()?.to_owned())
}

fn each_form_of_plan_is_carried_out_and_ticked() {
    for (name, text, tasks) in PLANS {
        let world = installed();
        let plan = world.project().join(name);
        std::fs::create_dir_all(plan.parent().unwrap()).unwrap();
        std::fs::write(&plan, text).unwrap();
        let script = Script::new().answer_with(|request| {
            let id = task(request).expect("a round has a task");
            match request.tool_results().len() {
                0 => ScriptedTurn::bash(&format!("echo {id} > {id}")),
                1 => ScriptedTurn::bash(&format!("ralph task done {id} --result 'wrote {id}'")),
                _ => ScriptedTurn::text("It is done."),
            }
        });
        let stand_in = StandIn::start(script).unwrap();
        let args = ["run", "--permission-mode", "bypassPermissions", "--plan", name];
        let run = world.ralph_with_client(&stand_in, &args).exits(0);
        assert!(run.stdout.contains("Ralph: done in "), "{name}: {run:?}");
        let requests = stand_in.requests();
        let begun = requests.iter().filter(|one| one.tool_results().is_empty());
        assert_eq!(begun.filter_map(task).collect::<Vec<_>>(), tasks, "{name}");
        assert_eq!(std::fs::read_to_string(&plan).unwrap(), ticked(name, text), "{name}");
        assert_eq!(the_ended(&world).ending(), "complete at 0/25", "{name}");
    }
}
