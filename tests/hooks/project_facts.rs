//! What a session hears about its project when it begins.

use crate::world::{Ran, World, executable, run};
use ralph_test_support::copy_executable;
use serde_json::json;
use std::fs;
use std::process::Command;

pub(crate) const BEGINS: &str = "Facts about this project";

/// A project with something to tell.
pub(crate) fn world() -> World {
    let world = World::new().with_facts();
    world.write("go.mod", "module example.com/a\n");
    world.write("src/main.go", "package main\n");
    world
}

fn begins(world: &World, source: &str) -> Ran {
    world.session_starts(source)
}

#[test]
fn a_new_conversation_hears_them_fenced_and_one_that_goes_on_does_not() {
    let world = world();
    for source in ["startup", "clear", "compact"] {
        let ran = begins(&world, source);
        let text = ran.context();
        assert!(text.starts_with(BEGINS), "{text}");
        let (_, body) = text.split_once("\n```\n").unwrap();
        let expected = "go.mod: module \"example.com/a\"\nstructure without what git ignores: 1 \
                        folder, 2 files\n  \"src/\": \"main.go\"\n  files: \"go.mod\", \"tracked\"\n```";
        assert_eq!(body, expected, "{source}");
        ran.stdout(json!({"hookSpecificOutput":
            {"hookEventName": "SessionStart", "additionalContext": text}}))
            .stderr("")
            .exit(0);
    }
    for source in ["resume", "fork", "of another kind"] {
        begins(&world, source).silent();
    }
    world
        .event(
            "ralph-session-context",
            "SessionStart",
            json!({"source": "startup", "agent_id": "a"}),
        )
        .silent();
}

#[test]
fn by_default_they_have_at_most_1200_characters() {
    let world = world();
    for folder in 0..30 {
        for file in 0..20 {
            world.write(&format!("folder-{folder:02}/file-{file:02}-{}", "f".repeat(40)), "");
        }
    }
    let units = begins(&world, "startup").context().encode_utf16().count();
    assert!((900..=1_200).contains(&units), "{units}");
}

#[test]
fn settings_switch_them_off_and_a_cloned_project_only_off() {
    let world = world();
    world.settings("[context]\nenabled = false\n");
    begins(&world, "startup").silent();
    world.write(".claude/ralph.toml", "[context]\nenabled = true\n");
    begins(&world, "startup").silent();
    world.settings("[context]\noff = [\"go\"]\nalso = [\"branch\"]\n");
    let text = begins(&world, "startup").context();
    assert!(text.contains("\nbranch: ") && !text.contains("go.mod: "), "{text}");
    world.write(".claude/ralph.toml", "[context]\nenabled = false\n");
    begins(&world, "startup").silent();
}

#[test]
fn settings_that_cannot_be_used_do_no_harm_and_the_person_can_find_out() {
    let world = world();
    world.settings("[context]\nof = [\"go\"]\n");
    assert!(begins(&world, "startup").context().contains("go.mod: "));
    let said = world.elsewhere(&["context"]);
    assert!(said.success && said.text.contains("unknown key `context.of`"), "{said:?}");
}

#[test]
fn of_several_registrations_one_tells() {
    let mut world = world();
    let told = |world: &World| begins(world, "startup").json() != json!(null);
    for (via, expected) in
        [(Some("settings"), true), (Some("plugin"), true), (Some("skill"), false), (None, true)]
    {
        world.via = via;
        assert_eq!(told(&world), expected, "{via:?}");
    }
    world.via = Some("plugin");
    let settings = r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command",
        "command": "/x/ralph-session-context", "args": ["settings"]}]}]}}"#;
    let places = [
        world.root().join("home/.claude/settings.json"),
        world.project().join(".claude/settings.json"),
        world.project().join(".claude/settings.local.json"),
    ];
    for place in places {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, settings).unwrap();
        assert!(!told(&world), "{}", place.display());
        fs::remove_file(&place).unwrap();
        assert!(told(&world));
    }
}

#[test]
fn in_a_running_loop_the_copy_that_gives_the_contract_tells() {
    let mut world = World::looping("").with_facts();
    world.working_stop("x").goes_on();
    for (via, expected) in [("plugin", false), ("skill", false), ("settings", true)] {
        world.via = Some(via);
        match expected {
            true => assert!(begins(&world, "compact").context().contains(BEGINS)),
            false => drop(begins(&world, "compact").silent()),
        }
    }
}

#[test]
fn after_compaction_the_contract_comes_first_and_both_have_room() {
    let mut world = World::looping("");
    world.settings("[context]\nsize = 10000\n");
    for folder in 0..30 {
        for file in 0..20 {
            world.write(
                &format!("folder-{folder:02}-{}/{}-{file}", "d".repeat(90), "f".repeat(90)),
                "",
            );
        }
    }
    world.working_stop("x").goes_on();
    let text = begins(&world, "compact").context();
    assert!(text.contains(" continues at 1/25\n"), "{text}");
    let facts = text.find(&format!("\n\n{BEGINS}")).expect("the facts come second");
    assert!(text[..facts].contains("Goal: Fix it"), "{text}");
    assert!(text.ends_with("```"), "the fence is closed: {text}");
    let units = text.encode_utf16().count();
    assert!((9_000..=10_000).contains(&units), "{units}");
    world.prompt("prompt-1", "ralph pause").exit(0);
    assert!(begins(&world, "compact").context().starts_with(BEGINS));
}

#[test]
fn after_clear_the_person_still_reads_where_the_loop_stands() {
    let mut world = World::looping("").with_facts();
    world.working_stop("x").goes_on();
    world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "clear"})).silent();
    world.become_session("session-2", "");
    let ran = begins(&world, "clear");
    assert_eq!(ran.message(), "Ralph: paused at 1/25 (cleared); /ralph continues");
    assert!(ran.context().starts_with(BEGINS));
}

#[test]
fn they_need_no_other_executable_of_ralph() {
    let world = world();
    let alone = world.root().join("alone");
    copy_executable(executable("ralph-session-context").as_ref(), &alone);
    let mut command = Command::new(&alone);
    command.arg("settings").env_clear().envs(&world.env).current_dir(&world.cwd);
    let payload = world.payload("SessionStart", json!({"source": "startup"})).to_string();
    let ran = run(command, "ralph-session-context", payload.as_bytes());
    assert!(ran.context().starts_with(BEGINS), "{ran:?}");
}

#[test]
fn a_person_sees_the_same_page_and_nothing_is_written() {
    let world = world();
    let before = world.listing(&world.root());
    let text = begins(&world, "startup").context();
    assert_eq!(world.elsewhere(&["context"]).text.trim_end(), text);
    let said = world.elsewhere(&["context", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&said.text).unwrap();
    let names: Vec<&str> = document["facts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fact| fact["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["go", "structure"]);
    assert!(world.listing(&world.root()) == before, "something was written");
    world.settings("[context]\nenabled = false\n");
    let said = world.elsewhere(&["context"]).text;
    assert!(said.contains("no session is told this") && said.contains(&text), "{said}");
}

#[test]
fn an_empty_folder_has_nothing_to_tell() {
    let world = World::without_repository().with_facts();
    begins(&world, "startup").silent();
    let said = world.elsewhere(&["context"]);
    assert!(said.success && said.text.is_empty(), "{said:?}");
}

#[test]
fn the_branch_the_status_and_the_commits_are_not_repeated() {
    let world = world();
    world.git("checkout -q -b a-branch-of-its-own");
    world.write("tracked", "changed\n");
    let text = begins(&world, "startup").context();
    for known in ["a-branch-of-its-own", "first", "uncommitted", "git: "] {
        assert!(!text.contains(known), "{known}: {text}");
    }
    world.git("checkout -q --detach");
    assert!(begins(&world, "startup").context().contains("\ngit: HEAD is detached at "));
}
