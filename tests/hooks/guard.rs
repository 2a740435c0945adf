//! The few behaviours of the guard that need the real wiring: the table itself is tested in
//! `ralph-core`.

use crate::world::World;
use serde_json::json;

#[test]
fn nobody_is_asked_while_the_loop_runs() {
    let mut world = World::looping("");
    for tool in ["AskUserQuestion", "EnterPlanMode"] {
        let reason = world.tool(tool, json!({})).denied();
        assert!(reason.len() > 40, "it says what to do instead: {reason}");
    }
    world.tool("Bash", json!({"command": "ls"})).silent();
    world.tool("mcp__other__ask", json!({"command": ["x"]})).silent();
    world.prompt("prompt-1", "ralph pause").exit(0);
    // The first call confirms the pause.
    world.tool("AskUserQuestion", json!({})).exit(0).message();
    world.tool("AskUserQuestion", json!({})).silent();
    world.tool("EnterPlanMode", json!({})).silent();
}

#[track_caller]
fn protected(world: &World, path: &std::path::Path) {
    let input = json!({"file_path": path, "content": "x"});
    let reason = world.tool("Write", input).denied();
    assert!(reason.contains("only the user may do that"), "{reason}");
}

#[test]
fn the_loop_does_not_edit_what_holds_it() {
    let world = World::looping("");
    protected(&world, &world.state_path());
    protected(&world, &world.ralph_home().join("manifest/other"));
    protected(&world, &world.project().join(".claude/settings.json"));
    protected(&world, &world.project().join(".claude/ralph.toml"));
    let elsewhere = json!({"file_path": world.project().join("src/settings.json")});
    world.tool("Write", elsewhere).silent();
}

#[test]
fn a_link_does_not_hide_where_it_leads() {
    let world = World::looping("");
    std::os::unix::fs::symlink(world.ralph_home(), world.project().join("link")).unwrap();
    protected(&world, &world.project().join("link/loops/new.json"));
    std::os::unix::fs::symlink(world.state_path(), world.project().join("file")).unwrap();
    protected(&world, &world.project().join("file"));
}

#[test]
fn the_model_does_not_cancel_by_a_shell() {
    let mut world = World::looping("");
    for command in ["ralph cancel", "cd x && ralph cancel --all"] {
        let reason = world.tool("Bash", json!({"command": command})).denied();
        assert!(reason.contains("ralph-cancel") || reason.contains("person"), "{reason}");
    }
    world.tool("Bash", json!({"command": "ralph status"})).silent();
    world.prompt("prompt-1", "ralph pause").exit(0);
    world.tool("Bash", json!({"command": "ralph cancel"})).denied();
}

#[test]
fn a_command_too_long_to_judge_is_refused_and_a_long_text_is_not() {
    let world = World::looping("");
    let long = "x".repeat(200 << 10);
    world.tool("Bash", json!({"command": long})).denied();
    world.tool("Write", json!({"file_path": world.project().join("a"), "content": long})).silent();
}

#[track_caller]
fn asks(world: &World) -> crate::world::Ran {
    let input = json!({"file_path": "/etc/rigx", "content": "x"});
    let members = json!({"tool_name": "Write", "tool_input": input});
    world.event("ralph-pre-tool-use", "PermissionRequest", members)
}

#[track_caller]
fn withheld(world: &World) {
    let said = asks(world).exit(0).json();
    let decision = &said["hookSpecificOutput"]["decision"];
    assert_eq!(decision["behavior"], "deny", "{said}");
    let message = decision["message"].as_str().unwrap();
    assert!(
        message.contains("Write on /etc/rigx") && message.contains("inside the project"),
        "{said}"
    );
}

#[test]
fn a_permission_that_nobody_can_give_is_refused_and_recorded() {
    let mut world = World::looping("");
    asks(&world).silent();
    world.set("CLAUDE_CODE_SESSION_ATTENDED", "0");
    withheld(&world);
    let said = world.elsewhere(&["explain", "2"]).text;
    assert!(said.contains("left to the person"), "{said}");
    assert!(said.contains("refused"), "{said}");
    assert!(said.contains("permission was asked for: Write on /etc/rigx"), "{said}");
    world.prompt("prompt-1", "ralph pause").exit(0);
    asks(&world).silent();
}

#[test]
fn a_person_may_say_that_nobody_watches() {
    let world = World::new();
    world.settings("[client]\nunattended = true\n");
    world.start("");
    withheld(&world);
}
