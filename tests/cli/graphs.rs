//! `ralph task waves`, `graph`, `lint`, and the list that a planner reads.

use crate::world::World;
use serde_json::json;

fn planned(tasks: &serde_json::Value) -> World {
    let world = World::new();
    let plan = json!({"task_graph": tasks,
        "acceptance_criteria": [{"description": "tests", "verification_command": "make test"}]});
    world.run("", &["task", "import", "-"], &plan.to_string()).done();
    world
}

fn diamond() -> World {
    planned(&json!([
        {"id": "a", "name": "base", "completion_condition": "c", "files": ["a.rs"]},
        {"id": "b", "name": "left", "deps": ["a"], "completion_condition": "c", "files": ["b.rs"]},
        {"id": "c", "name": "right", "deps": ["a"], "completion_condition": "c", "files": ["c.rs"]},
        {"id": "d", "name": "top \"]; x", "deps": ["b", "c"], "completion_condition": "c", "files": ["d.rs"]},
    ]))
}

#[test]
fn waves_are_the_rounds_of_the_work() {
    diamond().ralph(&["task", "waves"]).check(
        0,
        "wave 1\n  a  ready        base\nwave 2\n  b  waiting      left\n  c  waiting      right\n\
         wave 3\n  d  waiting      top \"]; x\n",
        "",
    );
}

#[test]
fn a_graph_is_drawn_as_text_for_graphviz_and_for_mermaid() {
    let world = diamond();
    world.ralph(&["task", "graph"]).check(
        0,
        "a  ready        base\nb  waiting      left  ← a\nc  waiting      right  ← a\n\
         d  waiting      top \"]; x  ← b, c\n",
        "",
    );
    let dot = world.ralph(&["task", "graph", "--format", "dot"]).done().stdout;
    assert!(dot.starts_with("digraph tasks {\n") && dot.contains("n1 -> n3;"), "{dot}");
    assert!(dot.contains("label=\"d: top \\\"]; x (waiting)\""), "{dot}");
    let mermaid = world.ralph(&["task", "graph", "--format", "mermaid"]).done().stdout;
    assert!(mermaid.starts_with("flowchart LR\n") && mermaid.contains("n2 --> n3"), "{mermaid}");
    assert!(mermaid.contains("n3[\"d: top #34;#93;#59; x (waiting)\"]:::waiting"), "{mermaid}");
    assert_eq!(world.ralph(&["task", "graph", "--format", "svg"]).exit, 2);
}

#[test]
fn without_tasks_each_form_says_so() {
    let world = World::new();
    world.ralph(&["start", "x"]).done();
    let none = "there are no tasks; `ralph task add NAME` adds one\n";
    world.ralph(&["task", "waves"]).check(0, none, "");
    world.ralph(&["task", "graph"]).check(0, none, "");
    world.ralph(&["task", "list", "--markdown"]).check(0, none, "");
    world.ralph(&["task", "list", "--all"]).check(0, none, "");
    world.ralph(&["task", "list", "--all", "--markdown"]).check(0, "", "");
}

#[test]
fn a_planner_finds_nothing_where_nothing_is_planned() {
    let world = World::new();
    world.ralph(&["task", "list", "--all", "--markdown"]).check(0, "", "");
    assert!(!world.path("ralph").exists());
    let nowhere = world.ralph(&["task", "list", "--all", "--markdown", "--loop", "x"]);
    assert_eq!(
        (nowhere.exit, nowhere.stdout.as_str()),
        (1, ""),
        "a loop that is named must be there"
    );
    assert_eq!(world.ralph(&["task", "list", "--all"]).exit, 1);
    // What is broken is no empty plan: a planner would begin again, over all that was done.
    world.ralph(&["start", "x"]).done();
    world.write_state("{");
    assert_eq!(world.ralph(&["task", "list", "--all", "--markdown"]).exit, 3);
}

#[test]
fn a_planner_reads_all_that_became_of_the_tasks() {
    let world = diamond();
    world.ralph(&["task", "claim", "a"]).done();
    world.ralph(&["task", "done", "a", "--result", "base.rs\nis there"]).done();
    world.ralph(&["task", "fail", "b", "--reason", "no disk"]).done();
    world.ralph(&["task", "claim", "c", "--owner", "w"]).done();
    world.ralph(&["task", "list", "--all", "--markdown"]).check(
        0,
        "- [x] **a** base (done)\n  - done when: c\n  - files: `a.rs`\n  - result: base.rs is there\n\
         - [ ] **b** left (failed)\n  - after: a\n  - done when: c\n  - files: `b.rs`\n  - failed because: no disk\n\
         - [ ] **c** right (in progress by w)\n  - after: a\n  - done when: c\n  - files: `c.rs`\n\
         - [ ] **d** top \"]; x (waiting)\n  - after: b, c\n  - done when: c\n  - files: `d.rs`\n",
        "",
    );
}

#[test]
fn a_sound_plan_is_told_to_be_one() {
    let world = diamond();
    let told = "1 criterion, 4 tasks: no problems, no pieces of advice\n";
    world.ralph(&["task", "lint"]).check(0, told, "");
}

#[test]
fn advice_alone_is_no_failure_and_a_problem_is() {
    let world = planned(
        &json!([{"id": "a", "name": "a"}, {"id": "b", "name": "b", "completion_condition": "c"}]),
    );
    world.ralph(&["task", "lint"]).check(
        0,
        "advice: a has no `completion_condition`; write how to tell that it is done\n1 criterion, \
         2 tasks: no problems, 1 piece of advice\n",
        "",
    );
    world.change_state(|state| {
        state["task_graph"][0]["deps"] = json!(["b", "x"]);
        state["task_graph"][1]["deps"] = json!(["a"]);
        state["acceptance_criteria"] = json!([
            {"id": "AC-1", "description": "a", "verification_command": ""},
            {"id": "AC-2", "description": "b", "verification_command": "pytset -q"},
        ]);
    });
    let printed = world.ralph(&["task", "lint"]);
    assert_eq!((printed.exit, printed.stderr.as_str()), (1, ""));
    let told: Vec<&str> = printed.stdout.lines().collect();
    assert!(told[0].starts_with("AC-1.verification_command: "), "{told:?}");
    assert!(told[1].starts_with("AC-2: `pytset` was not found on PATH"), "{told:?}");
    assert!(told[2].starts_with("a depends on x, which does not exist"), "{told:?}");
    assert!(told[3].starts_with("a → b → a is a dependency cycle"), "{told:?}");
    assert_eq!(told[5], "2 criteria, 2 tasks: 4 problems, 1 piece of advice");
}
