//! Two registrations at once: each event starts the hook twice, and it counts once.

use crate::world::{Ran, World, executable, run};
use ralph_hooks::cancel;
use ralph_io::store::home::Home;
use ralph_io::store::lifecycle;
use serde_json::{Value, json};

const STOPS: u32 = 30;

/// Runs the same event as two registrations, one after the other.
fn both(world: &mut World, vias: [&'static str; 2], event: impl Fn(&World) -> Ran) -> [Ran; 2] {
    vias.map(|via| {
        world.via = Some(via);
        event(world).stderr("").exit(0)
    })
}

fn spoke(ran: &[Ran; 2]) -> usize {
    ran.iter().filter(|ran| ran.json() != Value::Null).count()
}

#[track_caller]
fn check(vias: [&'static str; 2]) {
    let mut world = World::new();
    let args = format!("Fix it --max-iterations {STOPS}");
    both(&mut world, vias, |world| {
        world.event("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": "/ralph"}))
    });
    let started = both(&mut world, vias, |world| world.expansion("ralph", &args));
    assert_eq!(spoke(&started), 1, "{vias:?}");
    assert_eq!(std::fs::read_dir(world.ralph_home().join("loops")).unwrap().count(), 1);
    for n in 1..=STOPS {
        world.write("work", &n.to_string());
        let answers = both(&mut world, vias, |world| world.stop("x"));
        assert_eq!(spoke(&answers), 1, "{vias:?} at stop {n}");
        assert_eq!(world.state()["iteration"], n, "{vias:?}");
    }
    let ended = both(&mut world, vias, |world| world.stop("x"));
    assert_eq!(spoke(&ended), 1, "{vias:?}");
    assert_eq!(world.ending(), "max_iterations");
}

#[test]
fn settings_and_a_plugin_count_once() {
    check(["settings", "plugin"]);
    check(["plugin", "settings"]);
}

#[test]
fn settings_and_a_skill_count_once() {
    check(["settings", "skill"]);
    check(["skill", "settings"]);
}

#[test]
fn a_plugin_and_a_skill_count_once() {
    check(["plugin", "skill"]);
    check(["skill", "plugin"]);
}

#[test]
fn a_loop_that_cannot_be_read_is_told_once() {
    for (vias, plugin_root) in [
        (["settings", "skill"], None),
        (["settings", "plugin"], None),
        (["plugin", "skill"], Some("/plugin")),
    ] {
        let mut world = World::looping("");
        if vias[0] == "settings" {
            let settings = world.root().join("home/.claude/settings.json");
            std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
            std::fs::write(settings, "{\"hooks\": \"/x/ralph-stop-hook settings\"}").unwrap();
        }
        if let Some(root) = plugin_root {
            world.set("CLAUDE_PLUGIN_ROOT", root);
        }
        for name in ["state.json", "state.json.last-good"] {
            std::fs::write(world.state_path().with_file_name(name), "{").unwrap();
        }
        world.forget_what_is_kept_apart();
        let [first, second] = vias.map(|via| {
            world.via = Some(via);
            world.stop("x")
        });
        assert!(first.out().contains("The session may only read"), "{vias:?}: {first:?}");
        assert!(!second.out().contains("The session may only read"), "{vias:?}: {second:?}");
    }
    // A skill without another registration speaks itself.
    let mut world = World::looping("");
    for name in ["state.json", "state.json.last-good"] {
        std::fs::write(world.state_path().with_file_name(name), "{").unwrap();
    }
    world.forget_what_is_kept_apart();
    world.via = Some("skill");
    assert!(world.stop("x").out().contains("The session may only read"));
}

/// The skill alone starts the loop; the other registration shows at its first tool call.
#[test]
fn a_registration_that_is_seen_later_counts_from_then_on() {
    let mut world = World::new();
    world.via = Some("skill");
    world.start("");
    for n in 1..=5 {
        both(&mut world, ["skill", "settings"], |world| {
            world.event("ralph-backpressure", "PostToolUse", json!({"tool_name": "Read"}))
        });
        world.write("work", &n.to_string());
        let answers = both(&mut world, ["skill", "settings"], |world| world.stop("x"));
        assert_eq!((spoke(&answers), world.state()["iteration"].clone()), (1, json!(n)));
    }
}

/// Copies were measured to start up to 26 ms apart; here they start at once.
#[test]
fn copies_that_run_at_the_same_time_count_once() {
    let mut world = World::looping("");
    world.via = None;
    for n in 1..=10 {
        world.write("work", &n.to_string());
        let payload = world.payload("Stop", json!({"last_assistant_message": "x"})).to_string();
        let copy = |via: &str| {
            let words = [executable("ralph-stop-hook"), via];
            run(world.wrapped(&words), "ralph-stop-hook", payload.as_bytes()).stderr("").exit(0)
        };
        let answers = std::thread::scope(|scope| {
            let skill = scope.spawn(|| copy("skill"));
            [copy("settings"), skill.join().unwrap()]
        });
        assert_eq!((spoke(&answers), world.state()["iteration"].clone()), (1, json!(n)));
    }
}

/// The copy that counts ends the loop while the other is on its way.
#[test]
fn the_end_is_told_by_the_copy_that_counts() {
    let mut world = World::new();
    world.via = Some("settings");
    world.start("");
    let home = Home::at(world.ralph_home());
    let file = lifecycle::of_session(&home, &world.session).unwrap().unwrap();
    cancel::end_loop(&home, &file, "in a terminal", false).unwrap().unwrap();
    world.via = Some("skill");
    world.stop("x").silent();
    world.prompt("prompt-2", "hello").silent();
    world.via = Some("settings");
    world.stop("x").ends("Ralph: cancelled after 1 turn, ");
}

#[test]
fn cancel_is_answered_once() {
    for vias in [["settings", "skill"], ["skill", "settings"]] {
        let mut world = World::looping("");
        world.prompt = "prompt-2".to_owned();
        let answers = both(&mut world, vias, |world| world.expansion("ralph-cancel", ""));
        assert_eq!(spoke(&answers), 1, "{vias:?}");
        assert_eq!(world.ending(), "cancelled");
    }
}

#[test]
fn pause_and_esc_are_told_once() {
    for vias in [["settings", "skill"], ["skill", "settings"]] {
        for (prompt_id, text) in [("prompt-1", "ralph pause"), ("prompt-2", "hello")] {
            let mut world = World::looping("");
            let answers = both(&mut world, vias, |world| {
                let mut payload = world.payload("UserPromptSubmit", json!({"prompt": text}));
                payload["prompt_id"] = json!(prompt_id);
                world.hook("ralph-user-prompt", payload.to_string())
            });
            assert_eq!(spoke(&answers), 1, "{vias:?} {text}");
        }
    }
}

#[test]
fn a_session_that_starts_again_is_answered_once() {
    for vias in [["settings", "plugin"], ["plugin", "settings"]] {
        let mut world = World::looping("");
        world.working_stop("x").goes_on();
        let compacted = both(&mut world, vias, |world| world.session_starts("compact"));
        assert_eq!(spoke(&compacted), 1, "{vias:?}");
        world.via = Some("settings");
        world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "resume"})).silent();
        let resumed = both(&mut world, vias, |world| world.session_starts("resume"));
        assert_eq!(spoke(&resumed), 1, "{vias:?}");
        assert_eq!(world.standing(), "implementation 1/25");
        world.via = Some("settings");
        world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "clear"})).silent();
        world.become_session("session-2", "");
        let cleared = both(&mut world, vias, |world| world.session_starts("clear"));
        assert_eq!(spoke(&cleared), 1, "{vias:?}");
    }
}

#[test]
fn a_resumed_session_forgets_registrations_that_are_gone() {
    let mut world = World::looping("");
    world.working_stop("x").goes_on();
    world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "other"})).silent();
    world.another_client();
    world.via = Some("plugin");
    assert!(world.session_starts("resume").context().contains("continues"));
    world.prompt("prompt-2", "go on").silent();
    world.working_stop("x").goes_on();
}
