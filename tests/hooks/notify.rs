//! Ralph calls the user when a loop in a conversation ends or pauses, and no hook waits for that.

use crate::world::World;
use ralph_io::store::journal;
use ralph_test_support::is_running;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Keeps each document that it gets in a file of its own.
const KEEPS: &str = "cat > \"$HOME/told.$$.part\" && mv \"$HOME/told.$$.part\" \"$HOME/told.$$\"";

fn section(script: &str) -> String {
    format!("[notify]\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n")
}

fn looping(script: &str, flags: &str) -> World {
    let world = World::new();
    world.settings(&section(script));
    world.start(flags);
    world
}

/// Waits until this holds.
#[track_caller]
fn wait(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn folder_of_loop(world: &World) -> PathBuf {
    let folders = ["loops", "archive"].map(|kind| fs::read_dir(world.ralph_home().join(kind)));
    let folders: Vec<_> = folders.into_iter().flatten().flatten().collect();
    assert_eq!(folders.len(), 1);
    folders[0].as_ref().unwrap().path()
}

/// The journal's lines about notifications.
fn notified(world: &World) -> Vec<Value> {
    let entries = journal::read(&folder_of_loop(world)).into_iter();
    let entries = entries.filter(|entry| entry.decision == "notified");
    entries.map(|entry| json!({"why": entry.why, "seen": entry.seen})).collect()
}

/// Waits for this many notifications, and until no process that sends one is left.
#[track_caller]
fn told(world: &World, n: usize) -> Vec<Value> {
    wait("the journal has too few notifications", || notified(world).len() >= n);
    let sends = format!("notify\0{}", "");
    let state = world.ralph_home().display().to_string();
    wait("a notification is still being sent", || {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let lines = processes.filter_map(|one| fs::read_to_string(one.path().join("cmdline")).ok());
        !lines.into_iter().any(|line| line.contains(&sends) && line.contains(&state))
    });
    let files = fs::read_dir(world.root().join("home")).unwrap().map(|file| file.unwrap());
    let told: Vec<Value> = files
        .filter(|file| file.file_name().to_string_lossy().starts_with("told."))
        .map(|file| serde_json::from_str(&fs::read_to_string(file.path()).unwrap()).unwrap())
        .collect();
    assert_eq!((told.len(), notified(world).len()), (n, n), "{told:#?}");
    told
}

#[test]
fn an_ending_in_a_conversation_calls_the_user_once() {
    let world = looping(KEEPS, "--max-iterations 1");
    world.stop("x").goes_on();
    world.stop("x").ends("Ralph: stopped after 2 turns, ");
    let told = &told(&world, 1)[0];
    let state = &world.archived()[0];
    for (member, expected) in [
        ("schema_version", json!(1)),
        ("event", json!("ended")),
        ("ending", json!("max_iterations")),
        ("mode", json!("loop")),
        ("loop_id", state["loop_id"].clone()),
        ("project", json!(world.project())),
        ("title", json!("Ralph: project")),
        ("next", json!("/ralph \"…\" with a higher limit starts again.")),
    ] {
        assert_eq!(told[member], expected, "{told:#}");
    }
    let text = told["text"].as_str().unwrap();
    assert!(text.starts_with("stopped after 2 turns, "), "{text}");
    assert!(text.ends_with(told["next"].as_str().unwrap()), "{text}");
    // The session's later hooks find the event told.
    world.stop("x").silent();
    world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "other"})).silent();
    self::told(&world, 1);
}

#[test]
fn a_hook_that_is_registered_twice_calls_the_user_once() {
    let mut world = looping(KEEPS, "--max-iterations 1");
    world.stop("x").goes_on();
    for via in ["settings", "plugin"] {
        world.via = Some(via);
        world.stop("x").stderr("").exit(0);
    }
    told(&world, 1);
}

#[test]
fn a_pause_calls_the_user_and_each_pause_is_an_event_of_its_own() {
    let world = looping(KEEPS, "--ac 'made=test -f made'");
    assert!(world.ralph(&["blocked", "make the account"]).success);
    world.stop("x").exit(0);
    let first = &told(&world, 1)[0];
    assert_eq!((&first["event"], &first["pause"]), (&json!("paused"), &json!("blocked_on_human")));
    let text = "loop paused at 0/25 (blocked_on_human)\nmake the account\nWhen it is done, /ralph continues";
    assert_eq!(first["text"], text);
    let failure = json!({"error": "rate_limit", "last_assistant_message": "limit"});
    let continued = world.elsewhere(&["resume"]);
    assert!(continued.success, "{continued:?}");
    world.event("ralph-stop-hook", "StopFailure", failure.clone()).silent();
    // A second copy, or a second failure, finds the loop paused.
    world.event("ralph-stop-hook", "StopFailure", failure).silent();
    let causes: Vec<Value> = told(&world, 2).iter().map(|one| one["pause"].clone()).collect();
    assert!(causes.contains(&json!("rate_limited")), "{causes:?}");
}

#[test]
fn nothing_that_the_user_does_at_the_keyboard_calls_the_user() {
    let mut world = looping(KEEPS, "");
    // Esc, and then a prompt.
    let cut = world.interruption("[Request interrupted by user]");
    world.transcribe(&cut);
    world.prompt("prompt-2", "why?").exit(0);
    assert!(world.standing().starts_with("paused 0/25 interrupted"), "{}", world.standing());
    assert!(world.elsewhere(&["resume"]).success);
    assert!(world.elsewhere(&["pause"]).success);
    assert!(world.elsewhere(&["resume"]).success);
    // The user leaves the session.
    world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "prompt_input_exit"})).silent();
    assert_eq!(world.state()["pause"]["attended"], true);
    assert!(world.elsewhere(&["cancel"]).success);
    told(&world, 0);
    assert_eq!(world.ending(), "cancelled");
}

#[test]
fn a_session_that_is_lost_calls_the_user() {
    let world = looping(KEEPS, "");
    world.event("ralph-stop-hook", "SessionEnd", json!({"reason": "other"})).silent();
    assert_eq!(told(&world, 1)[0]["pause"], "crashed");
}

#[test]
fn a_command_that_hangs_delays_no_hook_and_is_ended() {
    let hangs = "echo $$ > \"$HOME/hangs\"; exec 1>&- 2>&-; sleep 300";
    let world = looping(hangs, "--max-iterations 1");
    world.stop("x").goes_on();
    let began = Instant::now();
    world.stop("x").ends("Ralph: stopped after 2 turns, ");
    assert!(began.elapsed() < Duration::from_secs(8), "the hook waited for the command");
    let pid = world.root().join("home/hangs");
    wait("the command was not started", || {
        fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
    });
    let group = fs::read_to_string(&pid).unwrap().trim().to_owned();
    wait("the journal does not tell", || !notified(&world).is_empty());
    let why = "failed: `/bin/sh` did not finish within 10 seconds and was ended";
    assert_eq!(notified(&world)[0]["seen"]["command"], why);
    wait("it still runs", || !is_running(group.parse().unwrap()));
    let explained = world.elsewhere(&["explain"]).text;
    assert!(explained.contains("loop ended"), "the decision comes first: {explained}");
    assert!(explained.contains("did not finish within 10 seconds"), "{explained}");
}

#[test]
fn a_failure_is_in_explain_without_what_the_arguments_hide() {
    let fails = "echo 'no route to https://hooks.example.com/T0/B0/x' >&2; exit 7";
    let world = World::new();
    let arg = "https://hooks.example.com/T0/B0/x";
    world.settings(&format!(
        "[notify]\ncommand = [\"/bin/sh\", \"-c\", '''{fails}''', \"sh\", \"{arg}\"]\n"
    ));
    world.start("--max-iterations 1");
    world.stop("x").goes_on();
    world.stop("x").exit(0);
    wait("the journal does not tell", || !notified(&world).is_empty());
    let explained = world.elsewhere(&["explain"]).text;
    let lines: Vec<&str> = explained.split_whitespace().collect();
    let said = lines.join(" ");
    assert!(said.contains("`/bin/sh` failed with exit code 7: no route to [argument]"), "{said}");
    assert!(said.contains("notification"), "{said}");
    assert!(!said.contains("B0"), "{said}");
}

#[test]
fn a_program_that_is_missing_is_in_explain() {
    let world = World::new();
    world.settings("[notify]\ncommand = [\"no-such-program\"]\n");
    world.start("--max-iterations 1");
    world.stop("x").goes_on();
    world.stop("x").exit(0);
    wait("the journal does not tell", || !notified(&world).is_empty());
    let why = "failed: `no-such-program` was not found on PATH";
    assert_eq!(notified(&world)[0]["seen"]["command"], why);
}

#[test]
fn the_command_gets_no_secret_of_the_client_and_no_secret_in_a_text() {
    let mut world = World::new();
    world.set("ANTHROPIC_API_KEY", "sk-client");
    world.set("CLAUDE_CODE_OAUTH_TOKEN", "oauth-client");
    world.set("SHOP_TOKEN", "hunter2-hunter2");
    let script = format!(
        "env > \"$HOME/env\"; pwd > \"$HOME/pwd\"; tr '\\0' '\\n' < /proc/$PPID/environ >> \"$HOME/env\"; {KEEPS}"
    );
    world.settings(&section(&script));
    world.start("--ac 'made=test -f made'");
    assert!(world.ralph(&["blocked", "renew hunter2-hunter2 at the shop"]).success);
    world.stop("x").exit(0);
    let told = &told(&world, 1)[0];
    assert_eq!(told["why"], "renew [redacted SHOP_TOKEN] at the shop");
    let read = |name: &str| fs::read_to_string(world.root().join("home").join(name)).unwrap();
    let env = read("env");
    assert!(env.contains("HOME=") && !env.contains("sk-client") && !env.contains("oauth-client"));
    assert_eq!(read("pwd").trim(), world.project().to_str().unwrap());
}

#[test]
fn settings_of_a_project_call_nobody_until_they_are_trusted() {
    let world = World::new();
    world.write(".claude/ralph.toml", &section(KEEPS));
    world.start("--max-iterations 1");
    world.stop("x").goes_on();
    world.stop("x").exit(0);
    assert_eq!(world.archived()[0]["settings"].get("notify"), None);
    told(&world, 0);
    assert!(world.elsewhere(&["trust", "--yes"]).success);
    fs::remove_dir_all(world.ralph_home().join("archive")).unwrap();
    world.start("--max-iterations 1");
    world.stop("x").goes_on();
    world.stop("x").exit(0);
    told(&world, 1);
}

#[test]
fn a_loop_whose_end_was_not_carried_out_calls_the_user_when_it_is_archived() {
    let world = looping(KEEPS, "");
    // As a hook leaves it that is killed between the two.
    world.edit_state(|state| {
        state["phase"] = json!("ended");
        state["ending"] = json!({"kind": "stalled", "at": state["updated_at"], "detail": "x"});
    });
    world.stop("x").exit(0);
    assert_eq!(told(&world, 1)[0]["ending"], "stalled");
}
