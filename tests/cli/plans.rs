//! Plans of other tools: read, carried out by a client that is a script, and ticked.

use crate::world::World;
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const SECTIONS: &str = include_str!("../fixtures/plans/sections.md");
const FIX_PLAN: &str = include_str!("../fixtures/plans/fix_plan.md");
const PRD: &str = include_str!("../fixtures/plans/prd.json");
const RALPLAN: &str = include_str!("../fixtures/plans/ralplan.md");

/// A project of Node, whose `npm` always succeeds, and a client that does each task it is told.
fn world() -> World {
    world_of(World::new(), r#"echo x >"made-$id""#)
}

/// The same with a client that does this for each task, and then marks it done.
fn world_of(world: World, works: &str) -> World {
    let world = world.permissive();
    for tool in ["sh", "date", "sed", "test", "touch"] {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let place = places.iter().find(|place| fs::exists(place).unwrap()).unwrap();
        symlink(place, world.path("bin").join(tool)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    let client = format!(
        r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
say() {{ printf '%s\n' "$1"; }}
say '{{"type":"system","subtype":"init","session_id":"s"}}'
id=$(printf '%s\n' "$2" | sed -n 's/^Your task: \([^ ]*\) .*/\1/p')
echo "$id" >>"$HOME/called"
{works}
ralph task done "$id" --owner 'ralph build' --result "did $id" >/dev/null 2>&1
say '{{"type":"result","is_error":false,"result":"done"}}'
"#
    );
    program(&world, "claude", &client);
    program(&world, "npm", "#!/bin/sh\necho 'Tests: 1 passed, 1 total'\n");
    let scripts =
        json!({"scripts": {"test": "jest", "typecheck": "tsc --noEmit", "lint": "eslint"}});
    world.write("project/package.json", &scripts.to_string());
    world
}

fn program(world: &World, name: &str, text: &str) {
    let path = world.write(&format!("bin/{name}"), text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The tasks that the client was told, in order.
fn called(world: &World) -> String {
    let called = fs::read_to_string(world.path("home/called")).unwrap_or_default();
    called.lines().collect::<Vec<_>>().join(" ")
}

fn text(world: &World, name: &str) -> String {
    fs::read_to_string(world.path("project").join(name)).unwrap()
}

/// Without the conditions that only a reviewer can judge.
fn without_prose(plan: &str) -> String {
    plan.replace("- Tests pass\n- A locked account learns when it may try again\n", "")
}

#[test]
fn each_form_is_carried_out_to_its_end_and_only_its_boxes_change() {
    let sections = without_prose(SECTIONS).replace('\n', "\r\n");
    let sections_done = sections
        .replace("- [ ] ask `retryAfter`", "- [x] ask `retryAfter`")
        .replace("- [ ] tests for both", "- [x] tests for both")
        .replace("1. [ ] write", "1. [x] write")
        .replace("2. [ ] name", "2. [x] name");
    let fix_plan_done = FIX_PLAN.replace("- [ ] ", "- [x] ");
    let prd_done = PRD
        .replace("\"passes\": false,\n", "\"passes\": true,\n")
        .replace("\"passes\" :  false", "\"passes\" :  true");
    let ralplan_done = RALPLAN.replace("- [ ] ", "- [x] ");
    for (name, plan, done, tasks) in [
        ("docs/plans/attempts.md", sections, sections_done, "T-2 T-2.5"),
        (".ralph/@fix_plan.md", FIX_PLAN.to_owned(), fix_plan_done, "T-1 T-2 T-4 T-6"),
        ("prd.json", PRD.to_owned(), prd_done, "US-001 US-002"),
        (".omc/plans/attempts.md", RALPLAN.to_owned(), ralplan_done, "T-1 T-2"),
    ] {
        let world = world();
        world.write(&format!("project/{name}"), &plan);
        let printed = world.ralph(&["run", "--plan", name]);
        assert_eq!(printed.exit, 0, "{name}: {printed:?}");
        assert!(printed.stdout.contains("Ralph: done in "), "{name}: {printed:?}");
        assert_eq!(called(&world), tasks, "{name}");
        assert_eq!(text(&world, name), done, "{name}");
        assert!(world.loop_ids().is_empty(), "{name}");
    }
}

#[test]
fn what_the_plan_became_is_shown_before_anything_starts() {
    let world = world();
    world.write("project/plan.md", SECTIONS);
    let printed =
        world.ralph(&["run", "--plan", "plan.md", "--dry-run", "--ac", "it is there=test -f x"]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    for line in [
        "the plan `plan.md`:\n",
        "AC-1  `npm test -- attempts` passes: npm test -- attempts\n",
        "AC-2  types: npm run typecheck\n",
        "AC-3  Tests pass: review: Does this hold? Tests pass\n",
        "AC-4  A locked account learns when it may try again: review: Does this hold? A locked account learns when it may try again\n",
        "AC-5  it is there: test -f x\n",
        "T-1    done     count failed attempts",
        "T-2    ready    answer 429 at login",
        "line 19: \"A locked account learns when it may try again\" names no command, so it is reviewed\n",
        "line 68: left out: `watch the log for a day` is below no task heading",
    ] {
        assert!(printed.stderr.contains(line), "{line}\n{}", printed.stderr);
    }
    assert!(world.loop_ids().is_empty() && called(&world).is_empty());
    assert_eq!(text(&world, "plan.md"), SECTIONS);
    world.ralph(&["task", "import", "plan.md"]).done();
    let state = world.state();
    assert_eq!(
        state["acceptance_criteria"][3]["review"],
        "Does this hold? A locked account learns when it may try again"
    );
    assert_eq!(
        (&state["plan_file"]["path"], &state["plan_file"]["format"]),
        (&json!("plan.md"), &json!("markdown"))
    );
}

#[test]
fn a_plan_that_cannot_be_carried_out_starts_nothing_and_is_left_as_it_is() {
    let world = world();
    world.write("project/notes.md", "# Notes\nhello\n");
    let printed = world.ralph(&["run", "--plan", "notes.md"]);
    assert!(printed.stderr.contains("Markdown with checkboxes"), "{printed:?}");
    assert!(printed.stderr.contains("`notes.md` has 1 problem"), "{printed:?}");
    let plan = "- [ ] a\n\n## Validation commands\n\n- `true`\n";
    world.write("project/plan.md", plan);
    for command in [["run", "--plan", "plan.md"], ["task", "import", "plan.md"]] {
        world.ralph(&command).check(
            1,
            "",
            "line 5: `true` proves nothing: it succeeds whatever the work is; name a command that \
             fails until the work is done, or remove the line\nralph: `plan.md` has 1 problem; nothing \
             was imported\n",
        );
    }
    assert!(world.loop_ids().is_empty() && called(&world).is_empty());
    assert_eq!(text(&world, "plan.md"), plan);
    assert_eq!(world.ralph(&["run", "--plan", "none.md"]).exit, 2);
}

#[test]
fn a_box_that_a_killed_run_left_open_is_ticked_by_the_next() {
    let world = world();
    let plan = "- [ ] a\n- [ ] b\n";
    world.write("project/plan.md", plan);
    assert_eq!(world.ralph(&["run", "--plan", "plan.md", "-n", "1"]).exit, 1);
    assert_eq!(text(&world, "plan.md"), "- [x] a\n- [ ] b\n");
    // As if the process had ended between the state and the file.
    world.write("project/plan.md", &format!("# New\n\n{plan}"));
    let again = world.ralph(&["run", "--plan", "plan.md"]);
    assert_eq!(again.exit, 1, "{again:?}");
    assert!(
        again.stderr.contains("nothing was imported: type `ralph run` to continue it"),
        "{again:?}"
    );
    assert_eq!(text(&world, "plan.md"), format!("# New\n\n{plan}"));
    world.change_state(|state| state["task_graph"][1]["status"] = json!("done"));
    assert_eq!(world.ralph(&["run"]).exit, 0);
    assert_eq!(text(&world, "plan.md"), "# New\n\n- [x] a\n- [x] b\n");
    assert_eq!(called(&world), "T-1", "no round was needed");
}

#[test]
fn a_round_that_changes_only_the_plans_own_file_finishes_no_task() {
    let works = "test -e \"$HOME/again\" && echo x >made.c || echo '- note' >>docs/plan.md; touch \"$HOME/again\"";
    let world = world_of(World::new().under_git(), works);
    world.write("project/docs/plan.md", "- [ ] a\n");
    let printed = world.ralph(&["run", "--plan", "docs/plan.md"]);
    assert!(printed.stdout.contains("no test sees the change"), "{printed:?}");
    let told = "T-1 is ready again; round 1: marked it done and changed no file";
    assert!(printed.stderr.contains(told), "{printed:?}");
    assert!(called(&world).starts_with("T-1 T-1 "), "then one for the goal");
    assert_eq!(text(&world, "docs/plan.md"), "- [x] a\n- note\n");
}

#[test]
fn a_task_that_is_done_in_a_conversation_is_ticked_at_once() {
    let world = world();
    let plan = world.write("project/plan.md", "\u{feff}- [ ] a\r\n- [ ] b");
    fs::set_permissions(&plan, fs::Permissions::from_mode(0o640)).unwrap();
    world.ralph(&["task", "import", "plan.md"]).done();
    world.ralph(&["task", "done", "T-2"]).check(0, "T-2 done\n", "");
    assert_eq!(text(&world, "plan.md"), "\u{feff}- [ ] a\r\n- [x] b");
    assert_eq!(fs::metadata(&plan).unwrap().permissions().mode() & 0o777, 0o640);
    world.write("project/plan.md", "- [ ] other\n");
    world.ralph(&["task", "done", "T-1"]).check(
        0,
        "T-1 done\n",
        "could not find T-1 in `plan.md`; tick it there yourself\n",
    );
}

#[test]
fn a_plan_outside_of_the_project_is_read_and_never_written() {
    let world = world();
    let plan = world.write("other/plan.md", "- [ ] a\n");
    symlink(&plan, world.path("project/link.md")).unwrap();
    for name in ["link.md", "../other/plan.md"] {
        let printed = world.ralph(&["task", "import", name]).done();
        assert!(printed.stdout.contains("its boxes are not ticked"), "{printed:?}");
        world.ralph(&["task", "done", "T-1"]).check(0, "T-1 done\n", "");
        assert_eq!(fs::read_to_string(&plan).unwrap(), "- [ ] a\n");
    }
    // The link is laid after the plan was read.
    let inside = world.write("project/in.md", "- [ ] a\n");
    world.ralph(&["task", "import", "in.md"]).done();
    fs::remove_file(&inside).unwrap();
    symlink(&plan, &inside).unwrap();
    let printed = world.ralph(&["task", "done", "T-1"]).done();
    assert!(printed.stderr.contains("it is no file of this project"), "{printed:?}");
    assert_eq!(fs::read_to_string(&plan).unwrap(), "- [ ] a\n");
}
