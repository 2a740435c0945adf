//! What the model of the real client hears of its own edit, at once and late, from real tools and from
//! one that waits for a file.
//!
//! The real tools are those of `tests/checks/install-tools.sh`. Without them this says so and tests nothing;
//! with `RALPH_REQUIRE_TOOLS=1` that is a failure.

use std::fs;
use std::os::unix::fs::symlink;

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{TOKEN, installed, the_live};
use crate::support::{PATIENCE, World, wait_until};
use crate::tools;

pub(crate) const TESTS: &[Test] = tests![
    a_type_error_and_the_formatting_that_was_put_right_are_in_the_next_request,
    the_late_findings_of_an_edit_are_told_once_after_the_next_tool,
    the_late_findings_of_the_last_edit_are_told_at_the_stop,
    the_late_findings_of_a_file_that_has_changed_are_never_told,
];

const CONFIGURATIONS: [(&str, &str); 4] = [
    (
        "package.json",
        r#"{"private": true, "type": "module", "devDependencies": {"typescript": "*", "prettier": "*"}}"#,
    ),
    (
        "tsconfig.json",
        r#"{"compilerOptions": {"strict": true, "noEmit": true, "types": []}, "include": ["src"]}"#,
    ),
    (".prettierrc", "{}\n"),
    (".gitignore", "node_modules\n"),
];

fn a_type_error_and_the_formatting_that_was_put_right_are_in_the_next_request() {
    if let Some(missing) = tools::missing() {
        assert!(!tools::are_required(), "{missing}; RALPH_REQUIRE_TOOLS=1 makes this a failure");
        tools::announce("The checks in the real client are SKIPPED.", &missing);
        return;
    }
    let world = with_tools();
    let file = world.project().join("src/a.ts");
    let input = json!({"file_path": file, "content": "export const one:number='two'\n"});
    let script =
        Script::new().turn(ScriptedTurn::tool("Write", input)).turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt("/ralph \"Count to one\"").result();
    let heard = stand_in.requests()[1].news();
    for words in [
        "PostToolUse:Write hook additional context: Ralph checked src/a.ts: 1 new error.",
        "src/a.ts:1:14 error TS2322 (tsc): Type 'string' is not assignable to type 'number'.",
        "src/a.ts was changed by prettier: read it again before you edit it.",
    ] {
        assert!(heard.contains(words), "`{words}` is not in:\n{heard}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "export const one: number = \"two\";\n");
}

fn with_tools() -> World {
    let world = installed();
    // What is tested is the text, not how fast a loaded machine starts two programs.
    world.write(".claude/ralph.toml", "[backpressure]\nbudget_seconds = 110\nwait_seconds = 110\n");
    let registered = fs::read_to_string(world.settings_file()).unwrap();
    let mut settings: Value = serde_json::from_str(&registered).unwrap();
    settings["hooks"]["PostToolUse"][0]["hooks"][0]["timeout"] = json!(120);
    fs::write(world.settings_file(), settings.to_string()).unwrap();
    for (path, text) in CONFIGURATIONS {
        world.write(path, text);
    }
    symlink(tools::folder().join("node_modules"), world.project().join("node_modules")).unwrap();
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "Configure the tools"]);
    world
}

const FOUND: &str = "a.txt:1:1 error (slow): BAD";

/// A check of the whole project, which ends when there is a file `go` outside of it.
fn with_a_slow_tool() -> World {
    let world = installed();
    let go = world.root().join("go");
    world.set_ralph(&format!(
        r#"
[[backpressure.check]]
name = "slow"
files = ["*.txt"]
command = '''while ! test -e '{}'; do sleep 0.02; done
awk '/BAD/ {{ print FILENAME ":" FNR ":1: error: " $0; bad = 1 }} END {{ exit bad }}' *.txt'''
"#,
        go.display()
    ));
    world
}

fn writes(world: &World) -> ScriptedTurn {
    let file = world.project().join("a.txt");
    ScriptedTurn::tool("Write", json!({"file_path": file, "content": "BAD\n"}))
}

/// The places of the requests in which the model hears of the finding. At the gate, the check ends
/// and something happens.
fn heard(world: &World, script: Script, at_gate: Option<(&Gate, &dyn Fn())>) -> Vec<usize> {
    let stand_in = StandIn::start(script).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            world.client(&stand_in).prompt("/ralph \"Count to one\"").result();
        });
        if let Some((gate, act)) = at_gate {
            gate.wait_until_reached(PATIENCE).unwrap();
            fs::write(world.root().join("go"), "").unwrap();
            let found = the_live(world).folder.join("found.json");
            assert!(wait_until(PATIENCE, || found.exists()), "nothing was found");
            act();
            gate.open();
        }
        run.join().unwrap();
    });
    let requests = stand_in.requests();
    let news = requests.iter().enumerate();
    news.filter(|(_, request)| request.news().contains(FOUND)).map(|(at, _)| at).collect()
}

fn the_late_findings_of_an_edit_are_told_once_after_the_next_tool() {
    let world = with_a_slow_tool();
    let gate = Gate::new();
    let script = Script::new()
        .turn(writes(&world))
        .turn(ScriptedTurn::held(&gate).then_tool("Bash", json!({"command": "echo one"})))
        .turn(ScriptedTurn::bash("echo two"))
        .turn(ScriptedTurn::text("Done so far."))
        .turn(ScriptedTurn::text(TOKEN));
    assert_eq!(heard(&world, script, Some((&gate, &|| {}))), [2]);
}

fn the_late_findings_of_the_last_edit_are_told_at_the_stop() {
    let world = with_a_slow_tool();
    fs::write(world.root().join("go"), "").unwrap();
    let script = Script::new()
        .turn(writes(&world))
        .turn(ScriptedTurn::text("Done so far."))
        // The details of a stop come with the first tool after it.
        .turn(ScriptedTurn::bash("echo one"))
        .turn(ScriptedTurn::bash("echo two"))
        .turn(ScriptedTurn::text(TOKEN));
    assert_eq!(heard(&world, script, None), [3]);
}

fn the_late_findings_of_a_file_that_has_changed_are_never_told() {
    let world = with_a_slow_tool();
    let gate = Gate::new();
    let script = Script::new()
        .turn(writes(&world))
        .turn(ScriptedTurn::held(&gate).then_tool("Bash", json!({"command": "echo one"})))
        .turn(ScriptedTurn::text("Done so far."))
        .turn(ScriptedTurn::text(TOKEN));
    let file = world.project().join("a.txt");
    let repair = || fs::write(&file, "fine\n").unwrap();
    assert_eq!(heard(&world, script, Some((&gate, &repair))), [0; 0]);
}
