//! What the model's shell changes of a loop's hooks, settings, executables and state, by lines that no reading foresees.

use std::fs;

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::json;

use crate::Test;
use crate::kept::{Kept, TOKEN, installed_from, the_live, what_hooks_said};
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    changed_hooks_pause_the_loop,
    switched_off_hooks_pause_the_loop,
    changed_settings_and_executables_pause_the_loop,
    a_changed_state_pauses_the_loop,
    what_the_client_would_load_pauses_the_loop,
    what_the_user_and_the_client_do_pauses_nothing,
    a_change_of_the_users_is_told_in_a_line_and_the_loop_goes_on_with_it,
];

/// A change: a script in which `$C` is the client's folder, `$R` is Ralph's and `$L` the loop's; and what the user reads.
type Change = (&'static str, &'static str);

const HOOKS: [Change; 4] = [
    ("echo '{}' >$C/settings.json", "the hooks of `"),
    ("rm $C/settings.json", "settings.json` was removed"),
    ("sed -i 's/ralph-stop-hook/true/' $C/settings.json", "the hooks of `"),
    (
        r#"mkdir -p .claude; echo '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}' >.claude/settings.json"#,
        "the hooks of `",
    ),
];

const SWITCHES: [Change; 4] = [
    (r#"sed -i '0,/{/s//{"disableAllHooks":true,/' $C/settings.json"#, "the hooks of `"),
    (
        r#"mkdir -p .claude; echo '{"disableAllHooks":true}' >.claude/settings.local.json"#,
        "settings.local.json` changed",
    ),
    (r#"sed -i '0,/{/s//{"env":{"RALPH_HOME":"x"},/' $C/settings.json"#, "the hooks of `"),
    (r#"sed -i '0,/{/s//{"enabledPlugins":{"a@b":true},/' $C/settings.json"#, "the hooks of `"),
];

const FILES: [Change; 4] = [
    ("mkdir -p .claude; echo '[loop]' >.claude/ralph.toml", "ralph.toml` changed"),
    ("echo '# x' >>~/.config/ralph/config.toml", "the settings `"),
    ("cp /bin/true x; mv x $B/ralph-stop-hook", "ralph-stop-hook` changed"),
    ("rm $B/ralph-session-context", "ralph-session-context` was removed"),
];

const STATES: [Change; 4] = [
    ("rm $L/state.json*", "state.json` was removed"),
    (
        r#"sed -i 's/"max_iterations": 25/"max_iterations": 1/' $L/state.json"#,
        "state.json` changed",
    ),
    ("cp earlier.json $L/state.json", "state.json` changed"),
    ("rm -r $L", "state.json` was removed"),
];

/// What the client would load at its next start.
const MODS: [Change; 4] = [
    (
        "mkdir -p $C/dev-mods/s/q; echo 1 >$C/dev-mods/s/q/register.js",
        "what the client loads from `",
    ),
    (
        r#"mkdir -p $C/skills/q/hooks; echo '{"modules":["./r.js"]}' >$C/skills/q/hooks/hooks.json"#,
        "/skills` changed",
    ),
    (
        "mkdir -p .claude/skills/q/.claude-plugin; echo '{}' >.claude/skills/q/.claude-plugin/plugin.json",
        "/skills` changed",
    ),
    (
        r#"mkdir -p $C/plugins; echo '{"plugins":{"x@y":[{}]}}' >$C/plugins/installed_plugins.json"#,
        "installed_plugins.json` changed",
    ),
];

/// How the model's shell runs the script.
const MEANS: [&str; 12] = [
    "sh ./way.sh",
    ". ./way.sh",
    "if command -v zsh; then zsh way.sh; else sh way.sh; fi",
    "make way",
    "python3 -c \"import subprocess; subprocess.run(['sh', 'way.sh'])\"",
    "perl -e 'system(\"sh way.sh\")'",
    "git -c alias.way='!sh way.sh' way",
    "find . -name way.sh -exec sh {} ';'",
    "base64 -d way.b64 | sh",
    "n=way; eval \"$(cat $n.sh)\"",
    "nohup setsid sh way.sh >/dev/null 2>&1 </dev/null & wait",
    // In the background, where the client does not wait.
    "sleep 0.2; sh way.sh",
];

fn changed_hooks_pause_the_loop() {
    check(&HOOKS, 0);
}

fn switched_off_hooks_pause_the_loop() {
    check(&SWITCHES, 4);
}

fn changed_settings_and_executables_pause_the_loop() {
    check(&FILES, 8);
}

fn a_changed_state_pauses_the_loop() {
    check(&STATES, 2);
}

fn what_the_client_would_load_pauses_the_loop() {
    check(&MODS, 6);
}

/// Each change by four means, beginning with this one.
#[track_caller]
fn check(changes: &[Change], first: usize) {
    let ways = changes.iter().flat_map(|change| (0..4).map(move |_| change));
    let mut wrong = Vec::new();
    for (at, (change, words)) in ways.enumerate() {
        let means = MEANS[(first + at * 5) % MEANS.len()];
        wrong.extend(try_one(change, means, words));
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// What is wrong with how a change ended.
fn try_one(change: &str, means: &str, words: &str) -> Option<String> {
    let world = World::new();
    world.set_ralph("[client]\nsandbox = false\n");
    installed_from(&world, "bin");
    let places = format!(
        "C={}; B={}; L=$(echo {}/loops/*)\n",
        world.config().display(),
        world.root().join("bin").display(),
        world.ralph_home().display()
    );
    let script = format!("{places}{change}\n");
    world.write("way.sh", &script);
    world.write("Makefile", "way:\n\tsh way.sh\n");
    world.run("sh", &["-c", "base64 way.sh >way.b64"], "").exits(0);
    world.write("keep.sh", &format!("{places}cp $L/state.json earlier.json\n"));
    let is_background = means.starts_with("sleep");
    let mut call = json!({"command": means});
    if is_background {
        call["run_in_background"] = json!(true);
    }
    let mut script = Script::new()
        .turn(ScriptedTurn::bash("sh keep.sh"))
        .turn(ScriptedTurn::text("Kept."))
        .turn(ScriptedTurn::tool("Bash", call));
    if is_background {
        script = script.turn(ScriptedTurn::bash("sleep 1"));
    }
    let stand_in = StandIn::start(script.repeat(ScriptedTurn::text("Done."))).unwrap();
    let client = world.client(&stand_in).args(&["--permission-mode", "bypassPermissions"]);
    let run = client.prompt("/ralph \"Tidy the attic\"");
    let requests = stand_in.requests();
    let refused = requests.iter().flat_map(ApiRequest::tool_results).find(|one| one.is_error);
    if let Some(refused) = refused {
        return Some(format!("{means}: {change}: did not run: {}", refused.text));
    }
    let told = format!("{:?}", what_hooks_said(&world, run.session_id()));
    let kept = live(&world);
    let cause = kept
        .as_ref()
        .map_or("none", |kept| kept.state["pause"]["cause"].as_str().unwrap_or("runs"));
    (cause != "tampered" || !told.contains(words))
        .then(|| format!("{means}: {change}: {cause}; the user reads: {told}"))
}

fn live(world: &World) -> Option<Kept> {
    let is_there = fs::read_dir(world.ralph_home().join("loops")).is_ok_and(|it| it.count() == 1);
    is_there.then(|| the_live(world))
}

/// What the user and the client themselves do while a loop runs.
const NO_CHANGES: [&str; 20] = [
    "touch $C/settings.json",
    "cp $C/settings.json x && mv x $C/settings.json",
    "chmod 600 $C/settings.json",
    r#"sed -i '0,/{/s//{"model":"opus",/' $C/settings.json"#,
    r#"sed -i '0,/{/s//{"theme":"dark",/' $C/settings.json"#,
    r#"sed -i '0,/{/s//{"permissions":{"allow":["Bash(npm test)"]},/' $C/settings.json"#,
    r#"mkdir -p .claude; echo '{"permissions":{"allow":["Bash(ls)"]}}' >.claude/settings.local.json"#,
    r#"echo '{"permissions":{"deny":[]}}' >.claude/settings.json"#,
    "rm .claude/settings.json",
    "mkdir -p .claude/agents; echo x >.claude/agents/mine.md",
    "mkdir -p $C/skills/mine; echo x >$C/skills/mine/SKILL.md",
    "echo '{}' >.mcp.json",
    "echo x >>README.md; git commit -qam two",
    "git checkout -q -b side",
    "git stash -q -u; git stash pop -q",
    "mkdir -p $C/plugins; echo '{}' >$C/plugins/known_marketplaces.json",
    "echo x >$L/notes.md",
    "ln $B/ralph-stop-hook link; rm link",
    "cat $L/state.json $C/settings.json >/dev/null",
    "ralph status >/dev/null; ralph verify >/dev/null || true",
];

fn what_the_user_and_the_client_do_pauses_nothing() {
    let world = World::new();
    installed_from(&world, "bin");
    let (config, bin) = (world.config(), world.root().join("bin"));
    for (at, line) in NO_CHANGES.iter().enumerate() {
        let places = format!(
            "C={}; B={}; L=$(echo {}/loops/*)\n",
            config.display(),
            bin.display(),
            world.ralph_home().display()
        );
        world.write(&format!("no-{at}.sh"), &format!("set -e\n{places}{line}\n"));
    }
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "Scripts"]);
    let turns = (0..NO_CHANGES.len()).map(|at| ScriptedTurn::bash(&format!("sh no-{at}.sh")));
    let script = Script::new().turns(turns).repeat(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let client = world.client(&stand_in).args(&["--permission-mode", "bypassPermissions"]);
    client.prompt("/ralph \"Tidy the attic\"").result();
    let requests = stand_in.requests();
    let results = requests.last().unwrap().tool_results();
    for (line, result) in NO_CHANGES.iter().zip(&results) {
        assert!(!result.is_error, "{line}: {}", result.text);
    }
    let ended = crate::kept::the_ended(&world);
    assert!(ended.ending().starts_with("complete"), "{}", ended.ending());
    assert_eq!(ended.n_decisions("PostToolUse", "paused"), 0);
}

fn a_change_of_the_users_is_told_in_a_line_and_the_loop_goes_on_with_it() {
    let world = World::new();
    installed_from(&world, "bin");
    let script = Script::new()
        .turn(ScriptedTurn::bash("until [ -e go ]; do sleep 0.05; done"))
        .turn(ScriptedTurn::text("One."))
        .turn(ScriptedTurn::bash("echo work > work"))
        .repeat(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal_in(&stand_in, "bypassPermissions", "bypass permissions on");
    terminal.submit("/ralph \"Tidy the attic\"");
    let begun = || stand_in.requests().len() == 1;
    assert!(wait_until(PATIENCE, begun));
    world.write(".claude/ralph.toml", "[loop]\n");
    world.write("go", "");
    terminal.wait_for("ralph.toml` changed. If that was not you, undo it; /ralph continues");
    terminal.wait_until_gone("esc to interrupt");
    terminal.submit("/ralph").wait_for("Ralph: done, without proof");
    assert_eq!(stand_in.unscripted(), 0);
}
