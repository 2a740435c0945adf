//! Which command lines the client runs outside of its sandbox when the settings let `ralph *` out, and
//! what such a line cannot do.
//!
//! For the first, a program called `ralph` in the project, first on `PATH`, stands for Ralph: it makes
//! the file that is its last word. The file lies outside of the project, so it exists only if the line
//! ran outside.

use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::Test;
use crate::builds::plan;
use crate::sandbox::{done, results};
use crate::support::World;

pub(crate) const TESTS: &[Test] = tests![
    only_lines_of_ralph_commands_alone_leave_the_sandbox,
    no_line_that_leaves_the_sandbox_reaches_more_than_its_loop,
    without_a_loop_no_line_that_leaves_the_sandbox_changes_anything,
    a_folder_of_the_project_on_path_is_no_way_out_of_the_sandbox,
];

const MAKES: &str = "#!/bin/sh\nfor last; do :; done\ntouch \"$last\"\n";

/// Lines that run outside, where `F` is the file. Each runs `ralph` and nothing else.
const OUTSIDE: &[&str] = &[
    "ralph x F",
    "ralph\tx\tF",
    "timeout 5 ralph x F",
    "timeout -k 5 5 ralph x F",
    "nice -n 5 ralph x F",
    "nohup ralph x F",
    "time ralph x F",
    "stdbuf -oL ralph x F",
    "env ralph x F",
    "env -u CLAUDECODE ralph x F",
    "timeout 5 env -u CLAUDECODE ralph x F",
    "ralph x \"$HOME\" F",
    "ralph x ${X:-a} F",
    "ralph * F",
    "ralph x 'a;b | c > d' F",
    "ralph x 'a\nb' F",
    "ralph x \\\n F",
    "# a\nralph x F",
    "! ralph x F",
    "ralph x F &",
    "ralph x F; ralph y F",
    "ralph x F && ralph y F",
    "ralph x F | ralph y F",
];

/// Lines that stay inside.
const INSIDE: &[&str] = &[
    "'ralph' x F",
    "\\ralph x F",
    "command ralph x F",
    "exec ralph x F",
    "xargs ralph x F",
    "A=1 ralph x F",
    "PATH=tools:$PATH ralph x F",
    "LD_PRELOAD=./x.so ralph x F",
    "env A=1 ralph x F",
    "env -i ralph x F",
    "env -C / ralph x F",
    "env -S 'touch F' ralph x",
    "timeout 5 touch F ralph x",
    "timeout 5 sh -c 'touch F' ralph x",
    "setsid ralph x F",
    "ralph \"$(touch F)\"",
    "ralph `touch F`",
    "ralph <(touch F)",
    "ralph ${x:-$(touch F)}",
    "ralph $((x[$(touch F)]))",
    "ralph x > F",
    "ralph x &> F",
    "ralph x <<E\n$(touch F)\nE",
    "ralph x; touch F",
    "ralph x\ntouch F",
    "ralph x & touch F",
    "ralph x || touch F",
    "ralph x | tee F",
    "ralph x #\ntouch F",
    "ralph() { touch F; }; ralph x",
    "ralph() { touch F; }",
    "ralph x",
    "alias ralph='touch F'",
    "ralph x",
    "./tools/ralph x F",
    "cd /; ralph x F",
    "bash -c 'ralph x F'",
    "eval ralph x F",
    "trap 'touch F' EXIT; ralph x",
];

fn in_the_users_sandbox() -> World {
    let world = World::sandboxed();
    world.settings(json!({"sandbox": {"enabled": true, "failIfUnavailable": true,
        "autoAllowBashIfSandboxed": true, "excludedCommands": ["ralph *"]}}));
    world.ralph(&["install"]).exits(0);
    world
}

/// A program of the project that is called `ralph`, in a folder that comes first on this `PATH`.
fn planted(world: &World) -> String {
    let program = world.write("tools/ralph", MAKES);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let executables = crate::support::executables().display().to_string();
    let path = std::env::var("PATH").unwrap();
    format!("{}:{executables}:{path}", world.project().join("tools").display())
}

fn only_lines_of_ralph_commands_alone_leave_the_sandbox() {
    let world = in_the_users_sandbox();
    let file = |at: usize| world.home().join(format!("made-{at}"));
    let all: Vec<&str> = OUTSIDE.iter().chain(INSIDE).copied().collect();
    let turn = |(at, line): (usize, &&str)| {
        ScriptedTurn::bash(&line.replace('F', &file(at).display().to_string()))
    };
    let turns: Vec<_> = all.iter().enumerate().map(turn).collect();
    let stand_in = StandIn::start(Script::new().turns(turns)).unwrap();
    let client = world.client(&stand_in).env("PATH", &planted(&world));
    client.patience(Duration::from_secs(300)).prompt("Go");
    let results = results(&stand_in);
    assert!(results.len() >= all.len(), "{results:#?}");
    let is_wrong = |at: &usize| file(*at).exists() != (*at < OUTSIDE.len());
    let wrong: Vec<_> = (0..all.len()).filter(is_wrong).map(|at| (all[at], &results[at])).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Ways to say which loop, sandbox or user a command belongs to, which a line may remove.
const HIDES: &str = "env -u RALPH_SANDBOXED -u CLAUDE_CODE_SESSION_ID -u CLAUDECODE -u CLAUDE_PID";

fn no_line_that_leaves_the_sandbox_reaches_more_than_its_loop() {
    let world = World::sandboxed();
    world.ralph(&["install"]).exits(0);
    plan(&world, &[("T-1", &[])]);
    let page = world.home().join("page.html").display().to_string();
    let lines = [
        format!("ralph report --html {page}"),
        format!("{HIDES} ralph report --html {page}"),
        format!("timeout 9 env -u RALPH_SANDBOXED ralph report --html {page}"),
        format!("env -u HOME -u RALPH_HOME ralph man {page}"),
        format!("{HIDES} ralph start x --ac 'x=touch {page}'"),
        format!("ralph statusline --with 'touch {page}'"),
        "ralph task done T-1 --loop 20260101-000000-aaaa".to_owned(),
        "ralph doctor".to_owned(),
    ];
    let turns = lines.iter().map(|line| ScriptedTurn::bash(line));
    let script = Script::new().turns(turns).turns(done());
    let stand_in = StandIn::start(script).unwrap();
    world.ralph_with_client(&stand_in, &["build"]).exits(0);
    let results = results(&stand_in);
    for (line, result) in lines.iter().zip(&results) {
        let refusals = ["for the user only", "Give the command without", "where it runs"];
        assert!(refusals.iter().any(|why| result.contains(why)), "{line}: {result}");
    }
    assert!(!world.home().join("page.html").exists());
}

fn without_a_loop_no_line_that_leaves_the_sandbox_changes_anything() {
    let world = in_the_users_sandbox();
    world.ralph(&["start", "--session", "another", "x"]).exits(0);
    let page = world.home().join("page").display().to_string();
    let lines = [
        format!("{HIDES} ralph start x --ac 'x=touch {page}'"),
        format!("env -u CLAUDE_CONFIG_DIR -u HOME ralph man {page}"),
        format!("ralph statusline --with 'touch {page}'"),
        format!("ralph man {page}"),
        format!("{HIDES} ralph cancel"),
        "ralph task add x".to_owned(),
        "ralph start x".to_owned(),
        "ralph session repair".to_owned(),
    ];
    let turns = lines.iter().map(|line| ScriptedTurn::bash(line));
    let stand_in = StandIn::start(Script::new().turns(turns)).unwrap();
    let state = || world.ralph(&["status", "--all", "--json"]).exits(0).json()["loops"].clone();
    let before = state();
    world.client(&stand_in).patience(Duration::from_secs(300)).prompt("Go");
    let results = results(&stand_in);
    for (line, result) in lines.iter().zip(&results) {
        assert!(
            result.contains("for the user only") || result.contains("where it runs"),
            "{line}: {result}"
        );
    }
    let after = state();
    assert_eq!(before[0]["phase"], after[0]["phase"]);
    assert_eq!(before[0]["tasks"], after[0]["tasks"]);
    assert_eq!(after.as_array().map(Vec::len), Some(1), "{after}");
    assert!(!world.home().join("page").exists());
}

fn a_folder_of_the_project_on_path_is_no_way_out_of_the_sandbox() {
    let world = World::sandboxed();
    world.ralph(&["install"]).exits(0);
    plan(&world, &[("T-1", &[])]);
    let file = world.home().join("made");
    let line = format!("ralph status {}", file.display());
    let stand_in =
        StandIn::start(Script::new().turn(ScriptedTurn::bash(&line)).turns(done())).unwrap();
    let mut command = world.driver(&stand_in, &["build"]);
    command.env("PATH", planted(&world));
    crate::support::Run::of(command, "", crate::support::PATIENCE).exits(0);
    assert!(!file.exists(), "{:#?}", results(&stand_in));
}
