//! What acts on a terminal, or hides from a person what a model reads, never gets through: every
//! source of text that is not ours, on every surface that shows it.

use crate::attack::{COMMANDS, command, events, hook, looping};
use crate::world::World;
use ralph_core::text::sanitize::acts;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// Titles, clears, links, the clipboard, notes, returns, C1, bidi, no width, tags.
const NASTY: &str = "MARK\u{1b}]0;t\u{7}\u{1b}[2J\u{1b}[31m\u{1b}]8;;http://x\u{1b}\\\u{1b}]52;c;Zm9v\u{7}\
    \u{1b}]9;n\u{7}\u{1b}P+q\u{1b}\\\r\u{8}\u{7f}\u{9b}31m\u{9d}0;x\u{9c}\u{202e}\u{2066}\u{200b}\u{feff}\
    \u{2028}\u{61c}\u{ad}\u{e0041}END";

/// A source: what it is called, and a world in which it has spoken.
type Source = (&'static str, fn() -> World);

const SOURCES: [Source; 10] = [
    ("the state's words", the_states_words),
    ("the state's tasks", the_states_tasks),
    ("a pause of the state", a_pause),
    ("an ending of the state", an_ending),
    ("a file name", a_file_name),
    ("the repository's history", the_history),
    ("what a criterion prints", what_a_criterion_prints),
    ("what the model says", what_the_model_says),
    ("what the model notes", what_the_model_notes),
    ("the journal", the_journal),
];

fn the_states_words() -> World {
    let world = looping();
    world.edit_state(|state| {
        for field in ["prompt", "completion_token", "context_report"] {
            state[field] = json!(NASTY);
        }
        let criterion = &mut state["acceptance_criteria"][0];
        for field in ["id", "description", "verification_command"] {
            criterion[field] = json!(NASTY);
        }
        state["errors"] = json!([{"at": "2026-01-02T03:04:05Z", "message": NASTY}]);
        state["blocked"] = json!({"what": NASTY, "at": "2026-01-02T03:04:05Z"});
        state["unknown"] = json!(NASTY);
    });
    world
}

fn the_states_tasks() -> World {
    let world = looping();
    world.edit_state(|state| {
        let task = |id: &str, status: &str| {
            json!({"id": format!("{id}{NASTY}"), "name": NASTY, "status": status,
                "completion_condition": NASTY, "files": [NASTY], "owner": NASTY, "result": NASTY,
                "deps": if id == "T-2" { json!([NASTY]) } else { json!([]) }})
        };
        state["task_graph"] = ["pending", "in_progress", "failed", "blocked", "done", NASTY]
            .iter()
            .enumerate()
            .map(|(n, status)| task(&format!("T-{n}"), status))
            .collect();
    });
    world
}

fn a_pause() -> World {
    let world = looping();
    world.edit_state(|state| {
        state["phase"] = json!("paused");
        state["resume_phase"] = json!(NASTY);
        state["pause"] =
            json!({"cause": "blocked_on_human", "at": "2026-01-02T03:04:05Z", "detail": NASTY});
    });
    world
}

fn an_ending() -> World {
    let world = looping();
    world.edit_state(|state| {
        state["phase"] = json!("ended");
        state["ending"] = json!({"kind": NASTY, "at": "2026-01-02T03:04:05Z", "detail": NASTY});
    });
    world
}

/// A checkpoint, then red again by files whose names are nasty, one of them no text at all.
fn a_file_name() -> World {
    let world = looping();
    world.write("done", "yes\n");
    command(&world, &["verify"]);
    world.stop("x");
    let name = NASTY.replace('/', "|");
    world.write(&name, "1");
    world.write("done", "no\n");
    let bytes = std::ffi::OsStr::from_bytes(b"MARK\xff\x1b[2J\x9b");
    fs::write(world.project().join(bytes), "1").unwrap();
    world.stop("RALPH_COMPLETE");
    world
}

fn the_history() -> World {
    let world = looping();
    world.git("checkout -q -b MARK\u{202e}\u{200b}\u{9b}x");
    world.write("f", &format!("{NASTY}\n"));
    world.git("add f");
    let text = format!("commit -q -m {}", NASTY.replace(' ', "_"));
    world.git(&text);
    let package = json!({"name": NASTY, "scripts": {"test": NASTY, "lint": NASTY}});
    world.write("package.json", &package.to_string());
    world.write(".claude/ralph.toml", &format!("# {NASTY}\nmax_iteration{NASTY} = 1\n"));
    world.write("done", "yes\n");
    command(&world, &["verify"]);
    world
}

fn what_a_criterion_prints() -> World {
    let world = World::new();
    world.write("say", NASTY);
    world.start("--ac \"it=sh -c 'cat say; cat say >&2; exit 1'\"");
    command(&world, &["verify"]);
    world.stop("RALPH_COMPLETE");
    world
}

fn what_the_model_says() -> World {
    let world = looping();
    world.stop(NASTY);
    world.stop(&format!("RALPH_COMPLETE{NASTY}"));
    let workers = json!([{"id": NASTY, "type": "subagent", "status": "running",
        "description": NASTY, "agent_type": NASTY}]);
    world.stop_with(json!({"last_assistant_message": NASTY, "background_tasks": workers}));
    for (tool, input) in [
        ("Bash", json!({"command": format!("ralph cancel {NASTY}")})),
        ("Bash", json!({"command": format!("rm -rf $HOME/.local/state/ralph {NASTY}")})),
        ("Write", json!({"file_path": world.state_path().with_file_name(NASTY.replace('/', "|"))})),
        ("Edit", json!({"file_path": world.state_path(), "old_string": NASTY})),
        (NASTY, json!({NASTY: NASTY})),
    ] {
        let members = json!({"tool_name": tool, "tool_input": input});
        let ran = hook(&world, "ralph-pre-tool-use", "PreToolUse", members);
        is_clean(&ran.json(), "a denial");
        no_letter_acts(ran.out().as_bytes(), "a denial");
    }
    world
}

fn what_the_model_notes() -> World {
    let world = looping();
    for words in [
        &["task", "add", NASTY, "--id", NASTY][..],
        &["task", "add", NASTY],
        &["task", "fail", "T-1", "--reason", NASTY],
        &["task", "done", NASTY, "--result", NASTY],
        &["blocked", NASTY],
    ] {
        let said = world.ralph(words);
        no_letter_acts(said.text.as_bytes(), &format!("{:?}", &words[..1]));
    }
    world
}

fn the_journal() -> World {
    let world = looping();
    let line = json!({"at": "2026-01-02T03:04:05Z", "event": NASTY, "decision": NASTY, "why": NASTY,
        "position": NASTY, "seen": {NASTY: NASTY}, "took_us": 1});
    let stop = json!({"at": "2026-01-02T03:04:05Z", "event": "Stop", "decision": NASTY,
        "why": NASTY, "position": NASTY, "seen": {"x": NASTY}});
    fs::write(world.state_path().with_file_name("journal.jsonl"), format!("\n{line}\n{stop}"))
        .unwrap();
    world
}

/// Bytes for a terminal: no letter that acts, in whatever encoding.
#[track_caller]
fn no_letter_acts(bytes: &[u8], what: &str) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|_| panic!("{what}: not text"));
    let bad = text.chars().find(|letter| acts(*letter) && !matches!(letter, '\n' | '\t'));
    assert_eq!(bad, None, "{what}: {text:?}");
}

/// Texts for a person or a prompt, as a reader of the JSON gets them.
#[track_caller]
fn is_clean(reply: &Value, what: &str) {
    match reply {
        Value::String(text) => no_letter_acts(text.as_bytes(), what),
        Value::Array(all) => all.iter().for_each(|one| is_clean(one, what)),
        Value::Object(all) => all.values().for_each(|one| is_clean(one, what)),
        _ => {}
    }
}

/// The arguments that name a task or a checkpoint of the source itself.
fn more_commands() -> Vec<Vec<String>> {
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    vec![
        own(&["task", "show", &format!("T-0{NASTY}")]),
        own(&["task", "show", NASTY]),
        own(&["task", "claim"]),
        own(&["verify", NASTY]),
        own(&["replay", NASTY]),
        own(&["status", "--loop", NASTY]),
        own(&["trust", "--yes"]),
        own(&["checkpoint", "restore", "1"]),
        own(&["resume"]),
        own(&["start", NASTY, "--ac", &format!("{NASTY}=cat {NASTY}")]),
        own(&["start", NASTY, "--ac", &format!("{NASTY}=true")]),
        own(&["cancel"]),
        own(&["status"]),
        own(&["explain", "99"]),
    ]
}

#[test]
fn no_source_reaches_a_terminal_or_a_prompt_on_any_surface() {
    let mut silent = Vec::new();
    for (source, speak) in crate::sample(SOURCES.to_vec(), 4) {
        let world = speak();
        let mut shown = 0;
        let own = COMMANDS
            .iter()
            .filter(|words| words[0] != "doctor")
            .map(|words| words.iter().map(|w| (*w).to_owned()).collect());
        let (looks, changes): (Vec<Vec<String>>, Vec<_>) = (own.collect(), more_commands());
        for arguments in &looks {
            shown += look(&world, source, arguments);
        }
        let world = speak();
        for (name, event, members) in events() {
            let ran = hook(&world, name, event, members);
            no_letter_acts(ran.out().as_bytes(), &format!("{source}: {event}"));
            no_letter_acts(ran.err().as_bytes(), &format!("{source}: {event}, stderr"));
            is_clean(&ran.json(), &format!("{source}: {event}"));
            shown += usize::from(ran.out().contains("MARK"));
        }
        let world = speak();
        for (name, args) in
            [("ralph", NASTY), ("ralph", ""), ("ralph-plan", ""), ("ralph-cancel", "")]
        {
            let ran = world.expansion(name, args);
            is_clean(&ran.json(), &format!("{source}: /{name}"));
            no_letter_acts(ran.err().as_bytes(), &format!("{source}: /{name}"));
        }
        let world = speak();
        for arguments in &changes {
            shown += look(&world, source, arguments);
        }
        if shown == 0 {
            silent.push(source);
        }
    }
    // A source that nothing shows would be tested for nothing.
    assert_eq!(silent, [""; 0]);
}

fn look(world: &World, source: &str, arguments: &[String]) -> usize {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Arguments of the caller's own that are refused before any of our code are clap's to show.
    let output = command(world, &words);
    let what = format!("{source}: ralph {:?}", &words[..words.len().min(2)]);
    no_letter_acts(&output.stdout, &what);
    no_letter_acts(&output.stderr, &what);
    usize::from(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).contains("MARK"))
}

/// A program reads what was there: JSON hides nothing from it.
#[test]
fn a_document_gives_a_program_the_text_as_it_is() {
    let world = the_states_words();
    let output = command(&world, &["status", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["loops"][0]["prompt"], NASTY);
}
