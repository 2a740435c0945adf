//! No value of a secret is in anything that Ralph keeps or says, unless somebody wrote it there
//! themselves.

use crate::attack::{COMMANDS, command, events, hook, said};
use crate::world::World;
use serde_json::json;
use std::fs;

const SECRETS: [(&str, &str); 9] = [
    ("ANTHROPIC_API_KEY", "sk-ant-dummy-0001"),
    ("ANTHROPIC_AUTH_TOKEN", "auth-dummy-0002"),
    ("ANTHROPIC_CUSTOM_HEADERS", "x-dummy-0003"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "oauth-dummy-0004"),
    ("CLAUDE_CODE_MESSAGING_TOKEN", "messaging-dummy-0005"),
    ("AWS_SECRET_ACCESS_KEY", "aws-dummy-0006"),
    ("GITHUB_TOKEN", "ghp-dummy-0007"),
    ("STRIPE_SECRET", "stripe-dummy-0008"),
    ("OPENAI_API_KEY", "sk-dummy-0009"),
];

fn world() -> World {
    let mut world = World::new();
    for (name, value) in SECRETS {
        world.set(name, value);
    }
    world
}

#[track_caller]
fn holds_none(text: &[u8], what: &str) {
    let text = String::from_utf8_lossy(text);
    for (name, value) in SECRETS {
        assert!(!text.contains(value), "the value of {name} is in {what}: {text}");
    }
}

/// Every file below the home, the project and the folder for temporary files.
#[track_caller]
fn none_is_stored(world: &World) {
    for (path, (_, content)) in world.listing(&world.root()) {
        holds_none(&content, &path.display().to_string());
        holds_none(path.as_os_str().as_encoded_bytes(), "a name");
    }
}

#[test]
fn after_a_whole_loop_no_value_is_stored_or_said() {
    let mut world = world();
    let temporary = world.root().join("tmp");
    fs::create_dir(&temporary).unwrap();
    world.set("TMPDIR", temporary.to_str().unwrap());
    let show =
        "env; env >&2; cat /proc/$PPID/environ; echo $GITHUB_TOKEN$STRIPE_SECRET; grep -q yes done";
    world.write("show.sh", show);
    world.start("--baseline --ac \"it=sh show.sh\" --ac \"other=sh -c 'env; exit 3'\"");
    for arguments in COMMANDS.into_iter().filter(|words| words[0] != "pause") {
        let output = command(&world, arguments);
        holds_none(said(&output).as_bytes(), &format!("{arguments:?}"));
    }
    world.write("done", "yes\n");
    for (name, event, members) in events() {
        let ran = hook(&world, name, event, members);
        holds_none(format!("{}{}", ran.out(), ran.err()).as_bytes(), event);
    }
    for arguments in
        [&["verify"][..], &["verify", "--json", "--parallel"], &["explain", "99", "--json"]]
    {
        let output = command(&world, arguments);
        holds_none(said(&output).as_bytes(), &format!("{arguments:?}"));
    }
    none_is_stored(&world);
    // That something was redacted shows that the commands had it to print.
    let stored = world.listing(&world.ralph_home());
    let marked = stored
        .values()
        .any(|(_, content)| String::from_utf8_lossy(content).contains("[redacted GITHUB_TOKEN]"));
    assert!(marked, "no output holds the mark");
    command(&world, &["cancel"]);
    world.stop("x");
    command(&world, &["status", "--all", "--json"]);
    none_is_stored(&world);
}

/// What goes wrong says what and where, and not with which environment.
#[test]
fn an_error_names_no_value() {
    let world = world();
    world.start("--ac 'it=grep -q yes done'");
    for text in ["{", "[]", "{\"schema_version\": 9}"] {
        fs::write(world.state_path(), text).unwrap();
        let _ = fs::remove_file(world.state_path().with_extension("json.last-good"));
        for (name, event, members) in events() {
            let ran = hook(&world, name, event, members);
            holds_none(format!("{}{}", ran.out(), ran.err()).as_bytes(), event);
        }
        for arguments in COMMANDS {
            holds_none(said(&command(&world, arguments)).as_bytes(), &format!("{arguments:?}"));
        }
    }
    none_is_stored(&world);
}

/// What a person types and a model says is kept as it was said, readable by its owner only: the
/// goal must be given back word for word. `SECURITY.md` says so.
#[test]
fn what_was_typed_is_kept_as_it_was_typed() {
    let world = World::new();
    world
        .type_command("ralph", "\"log in with ghp-dummy-0007\" --ac 'it=grep -q ghp-dummy-0007 x'");
    assert_eq!(world.state()["prompt"], "log in with ghp-dummy-0007");
    let members = json!({"tool_name": "Bash", "tool_input": {"command": "curl -H ghp-tool-0010"}});
    hook(&world, "ralph-pre-tool-use", "PreToolUse", members);
    // A tool call that is let through leaves no trace at all.
    let kept = world.listing(&world.ralph_home());
    let holds = |value: &str| {
        kept.values().any(|(_, content)| String::from_utf8_lossy(content).contains(value))
    };
    assert!(holds("ghp-dummy-0007") && !holds("ghp-tool-0010"));
}
