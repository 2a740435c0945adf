//! What the model of the real client hears of its own edit, from real tools.
//!
//! The tools are those of `tests/checks/install-tools.sh`. Without them this says so and tests nothing;
//! with `RALPH_REQUIRE_TOOLS=1` that is a failure.

use std::fs;
use std::os::unix::fs::symlink;

use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{TOKEN, installed};
use crate::support::World;
use crate::tools;

pub(crate) const TESTS: &[Test] =
    tests![a_type_error_and_the_formatting_that_was_put_right_are_in_the_next_request];

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
