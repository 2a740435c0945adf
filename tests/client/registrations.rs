//! The ways to register, alone and two at a time, in the real client.
//!
//! Two at once start every hook twice; the client's own summary of each stop says so, the loop counts it once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use ralph_core::protocol::registration::{SESSION_CONTEXT, USER_PROMPT, plugin_hooks_json};
use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{
    TOKEN, continuations, copy_executables, installed, installed_from, new_file, positions,
    the_archived, the_ended, token_after, works,
};
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    an_installation_starts_each_hook_once,
    settings_and_plugin_together_count_each_stop_once,
    settings_and_front_matter_together_count_each_stop_once,
    plugin_and_front_matter_together_count_each_stop_once,
    a_planned_loop_is_started_once_by_two_registrations,
    a_resumed_loop_is_given_its_contract_once_by_two_registrations,
    a_resumed_loop_is_given_its_contract_once_when_the_lower_rank_comes_first,
    a_compacted_loop_is_given_its_contract_by_the_highest_rank_alone,
    a_typed_cancel_is_answered_once_by_two_registrations,
    front_matter_alone_holds_a_loop_that_the_model_starts_as_the_skill_says,
    front_matter_alone_starts_every_command_the_first_time,
    a_stowed_package_holds_a_loop_by_bare_names,
    no_shell_reads_a_registered_command,
];

/// As many as the design promises to keep apart.
const N_STOPS: usize = 30;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The one that decides, and the one that waits for background workers: the client's "Ran 2 stop hooks" counts them.
fn an_installation_starts_each_hook_once() {
    let world = installed();
    let stand_in = StandIn::start(works(new_file, token_after(2))).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralph \"Tidy the attic\"").wait_for("Ran 2 stop hooks");
    assert!(wait_until(PATIENCE, || stand_in.requests().len() == 6));
    let stops = || -> Vec<Vec<String>> {
        let rows = world.transcript();
        let stops = rows.iter().filter(|row| row["subtype"] == "stop_hook_summary");
        stops.map(|row| sorted_origins(&row["hookInfos"])).collect()
    };
    assert!(wait_until(PATIENCE, || stops().len() == 3), "{:?}", stops());
    assert_eq!(stops(), vec![["settings", "settings"]; 3]);
    assert_eq!(the_ended(&world).ending(), "complete_unverified at 2/25");
}

fn settings_and_plugin_together_count_each_stop_once() {
    let world = installed();
    let plugin = make_plugin(&world);
    check_pair(&world, &["--plugin-dir", &plugin], ["plugin", "settings"]);
}

fn settings_and_front_matter_together_count_each_stop_once() {
    let world = installed();
    copy_skills(&world);
    check_pair(&world, &[], ["settings", "skill"]);
}

fn plugin_and_front_matter_together_count_each_stop_once() {
    let world = World::new();
    copy_skills(&world);
    let plugin = make_plugin(&world);
    check_pair(&world, &["--plugin-dir", &plugin], ["plugin", "skill"]);
}

/// The model only talks, so that no tool call lies between two stops: they follow each other as closely as they can.
#[track_caller]
fn check_pair(world: &World, args: &[&str], origins: [&str; 2]) {
    let stand_in =
        StandIn::start(Script::new().repeat(ScriptedTurn::text("I am thinking."))).unwrap();
    let typed = format!("/ralph \"Tidy the attic\" --max-iterations {N_STOPS} --stall-limit 100");
    let client = world.client(&stand_in).args(args).env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0");
    let run = client.prompt(&typed);
    assert_eq!(run.code, Some(0), "{run:?}");
    let stops = stop_hooks(world, run.session_id());
    assert_eq!(stops.len(), N_STOPS + 1);
    // Each registration has two entries: the one that decides, and the one that waits for workers.
    let [one, other] = origins;
    for started in &stops {
        let both = [one, one, other, other];
        assert_eq!(started, &both, "both registrations start their copies at each stop");
    }
    let kept = the_ended(world);
    assert_eq!(kept.ending(), format!("max_iterations at {N_STOPS}/{N_STOPS}"));
    assert_eq!(kept.n_decisions("Stop", "go on"), N_STOPS);
    assert_eq!(kept.n_decisions("UserPromptExpansion", "started"), 1);
    let requests = stand_in.requests();
    assert_eq!(requests.len(), N_STOPS + 1);
    assert_eq!(continuations(&requests), positions(N_STOPS, N_STOPS));
}

/// Which registrations' copies the client started, stop by stop: the last argument of each names it.
fn stop_hooks(world: &World, session_id: &str) -> Vec<Vec<String>> {
    let rows = world.transcript_of(session_id);
    let stops = rows.iter().filter(|row| row["subtype"] == "stop_hook_summary");
    stops.map(|row| sorted_origins(&row["hookInfos"])).collect()
}

fn sorted_origins(hooks: &Value) -> Vec<String> {
    let commands = hooks.as_array().unwrap().iter().map(|hook| hook["command"].as_str().unwrap());
    let mut origins: Vec<_> =
        commands.map(|command| command.rsplit(' ').next().unwrap().to_owned()).collect();
    origins.sort();
    origins
}

fn a_planned_loop_is_started_once_by_two_registrations() {
    let world = installed();
    let plugin = make_plugin(&world);
    world.ralph(&["start", "Tidy the attic"]).exits(0);
    let stand_in = StandIn::start(works(new_file, token_after(2))).unwrap();
    world.client(&stand_in).args(&["--plugin-dir", &plugin]).prompt("/ralph").result();
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete_unverified at 2/25");
    assert_eq!(kept.n_decisions("UserPromptExpansion", "started"), 1);
    assert!(stand_in.requests()[0].news().contains(&kept.started_line()));
}

fn a_resumed_loop_is_given_its_contract_once_by_two_registrations() {
    check_resumed(|_| ());
}

fn a_resumed_loop_is_given_its_contract_once_when_the_lower_rank_comes_first() {
    check_resumed(|executables| {
        let late = executables.join(SESSION_CONTEXT);
        fs::rename(&late, executables.join("real")).unwrap();
        let condition = r#"grep -q '"via": "plugin"' "$RALPH_HOME"/loops/*/state.json"#;
        let script =
            format!("#!/bin/sh\nuntil {condition}; do :; done\nexec \"${{0%/*}}/real\" \"$@\"\n");
        fs::write(&late, script).unwrap();
        fs::set_permissions(&late, fs::Permissions::from_mode(0o755)).unwrap();
    });
}

/// `between` may change the executables that the settings name, before the session is resumed.
#[track_caller]
fn check_resumed(between: fn(&Path)) {
    let world = World::new();
    let executables = installed_from(&world, "bin");
    let plugin = make_plugin(&world);
    let stand_in = StandIn::start(Script::new().repeat(new_file(1))).unwrap();
    let client = world.client(&stand_in).args(&["--plugin-dir", &plugin, "--max-turns", "1"]);
    let cut = client.prompt("/ralph \"Tidy the attic\"");
    between(&executables);
    let script = Script::new().turns(["One.", "Two.", TOKEN].map(ScriptedTurn::text));
    let stand_in = StandIn::start(script).unwrap();
    let client = world.client(&stand_in).args(&["--plugin-dir", &plugin]);
    client.args(&["--resume", cut.session_id()]).prompt("go on").result();
    let requests = stand_in.requests();
    let first = requests[0].news();
    assert_eq!(first.matches("continues at 0/25").count(), 1, "{first}");
    assert_eq!(continuations(&requests), positions(2, 25));
    let kept = the_ended(&world);
    assert_eq!(kept.state["via"], "settings");
    assert_eq!(kept.n_decisions("SessionStart", "continued"), 1);
}

/// Without the client, whose compaction cannot be told when to come.
fn a_compacted_loop_is_given_its_contract_by_the_highest_rank_alone() {
    let world = World::new();
    let says = |executable: &str, origin: &str, event: Value| {
        let mut payload = json!({"session_id": "s", "prompt_id": "p", "cwd": world.project()});
        payload.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
        world.hook_run(executable, &[origin], &payload.to_string()).exits(0).stdout
    };
    let typed = json!({
        "hook_event_name": "UserPromptExpansion", "command_name": "ralph", "command_args": "\"Tidy the attic\"",
    });
    assert!(says(USER_PROMPT, "settings", typed).contains(" started"));
    let compacted = json!({"hook_event_name": "SessionStart", "source": "compact"});
    assert_eq!(says(SESSION_CONTEXT, "plugin", compacted.clone()), "");
    assert!(says(SESSION_CONTEXT, "settings", compacted).contains(" continues at 0/25"));
}

fn a_typed_cancel_is_answered_once_by_two_registrations() {
    let world = installed();
    let plugin = make_plugin(&world);
    let stand_in = StandIn::start(Script::new().repeat(new_file(1))).unwrap();
    let client = world.client(&stand_in).args(&["--plugin-dir", &plugin, "--max-turns", "1"]);
    let cut = client.prompt("/ralph \"Tidy the attic\"");
    let silent = StandIn::start(Script::new()).unwrap();
    let client = world.client(&silent).args(&["--plugin-dir", &plugin]);
    let run = client.args(&["--resume", cut.session_id()]).prompt("/ralph-cancel");
    let said = run.result()["result"].as_str().unwrap().to_owned();
    assert!(said.contains("Ralph: cancelled after "), "{said}");
    assert!(!run.stdout.contains("had ended before"), "{}", run.stdout);
    assert!(silent.requests().is_empty());
    let kept = the_archived(&world);
    assert_eq!(kept.ending(), "cancelled at 0/25");
    assert_eq!(kept.n_decisions("UserPromptExpansion", "ended"), 1);
}

fn front_matter_alone_holds_a_loop_that_the_model_starts_as_the_skill_says() {
    let world = World::new();
    copy_skills(&world);
    let script = Script::new().answer_with(|request| match request.tool_results().len() {
        0 => start_as_the_skill_says(request),
        _ if request.news().contains("Ralph 2/7: ") => ScriptedTurn::text(TOKEN),
        _ => ScriptedTurn::text("I am thinking."),
    });
    let stand_in = StandIn::start(script).unwrap();
    // The client's own rules about permissions hold here: the skill must allow what it asks for.
    let client = world.client(&stand_in).args(&["--permission-mode", "default"]);
    let run = client.prompt("/ralph \"Tidy the attic, don't $(touch hit)\" --max-iterations 7");
    let requests = stand_in.requests();
    assert!(!requests[0].news().contains(" started\n"), "{}", requests[0].news());
    let result = &requests[1].tool_results()[0];
    let kept = the_ended(&world);
    assert!(result.text.contains(&kept.started_line()), "{}", result.text);
    assert_eq!(kept.ending(), "complete_unverified at 2/7");
    assert_eq!(kept.state["started_by"], "model");
    assert_eq!(kept.state["via"], "skill");
    assert_eq!(kept.state["prompt"], "Tidy the attic, don't $(touch hit)");
    assert_eq!(kept.state["session_id"], run.session_id());
    assert!(!world.project().join("hit").exists());
}

fn front_matter_alone_starts_every_command_the_first_time() {
    for (command, line, mode) in [
        ("ralph-parallel", "Ralph loop ", "loop"),
        ("ralph-v2", "Ralph session ", "session"),
        ("ralplan", "Ralph planning ", "ralplan"),
        ("rp", "Ralph planning ", "ralplan"),
    ] {
        let world = World::new();
        copy_skills(&world);
        let script = Script::new().answer_with(|request| match request.tool_results().len() {
            0 => start_as_the_skill_says(request),
            _ => ScriptedTurn::text("I am thinking."),
        });
        let stand_in = StandIn::start(script).unwrap();
        let client = world.client(&stand_in).args(&["--permission-mode", "default"]);
        let run = client.prompt(&format!("/{command} \"Tidy the attic, then the cellar\""));
        let requests = stand_in.requests();
        let result = &requests[1].tool_results()[0].text;
        assert!(result.contains(line) && result.contains(" started"), "{command}: {result}");
        // The hooks of the skill hold the session from this turn on.
        assert!(requests.len() > 2, "{command}: {run:?}");
        let news = requests[2].news();
        assert!(news.to_lowercase().contains("next:") || mode == "loop", "{news}");
    }
}

/// Copies the command of the skill's page, with the text between its tags, as a model would.
fn start_as_the_skill_says(request: &ApiRequest) -> ScriptedTurn {
    let page = request.news();
    let between = |from: &str, to: &str| {
        let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("no `{from}` in {page}"));
        rest.split_once(to).unwrap_or_else(|| panic!("no `{to}` in {rest}")).0.to_owned()
    };
    let typed = between("<ralph-arguments>\n", "\n</ralph-arguments>");
    let command = between("ralph start --session ", "the text between the tags\n");
    ScriptedTurn::bash(&format!("ralph start --session {command}{typed}\nRALPH_ARGUMENTS"))
}

fn a_stowed_package_holds_a_loop_by_bare_names() {
    let world = World::new();
    let dotfiles = world.root().join("dotfiles").display().to_string();
    let home = world.home().display().to_string();
    world.ralph(&["install", "--stow", &dotfiles]).exits(0);
    world.run("stow", &["--no-folding", "-d", &dotfiles, "-t", &home, "claude"], "").exits(0);
    let config = world.home().join(".claude");
    assert!(fs::symlink_metadata(config.join("settings.json")).unwrap().is_symlink());
    let settings = fs::read_to_string(config.join("settings.json")).unwrap();
    assert!(settings.contains("\"ralph-stop-hook\""), "{settings}");
    let stand_in = StandIn::start(works(new_file, token_after(3))).unwrap();
    let client = world.client(&stand_in).env("CLAUDE_CONFIG_DIR", &config.display().to_string());
    client.prompt("/ralph \"Tidy the attic\"").result();
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete_unverified at 3/25");
    assert_eq!(kept.state["via"], "settings");
    assert!(stand_in.requests()[0].news().contains(&kept.started_line()));
}

/// The folder's name would be a command to any shell that reads it; in exec form it is a name.
fn no_shell_reads_a_registered_command() {
    let world = World::new();
    installed_from(&world, "bin; touch shell-was-here;");
    let stand_in = StandIn::start(works(new_file, token_after(2))).unwrap();
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\"").result();
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete_unverified at 2/25");
    assert_eq!(kept.state["via"], "settings");
    assert!(!world.project().join("shell-was-here").exists());
}

/// A plugin as `--plugin-dir` takes it: its description, its hooks, its executables, and no skill of its own.
pub(crate) fn make_plugin(world: &World) -> String {
    let folder = world.root().join("plugin");
    copy_executables(&folder.join("bin"));
    for part in [".claude-plugin", "hooks"] {
        fs::create_dir_all(folder.join(part)).unwrap();
    }
    fs::write(
        folder.join(".claude-plugin/plugin.json"),
        r#"{"name": "ralph", "version": "0.0.1"}"#,
    )
    .unwrap();
    fs::write(folder.join("hooks/hooks.json"), plugin_hooks_json()).unwrap();
    folder.display().to_string()
}

/// The skills as a person copies them, without `ralph install`.
fn copy_skills(world: &World) {
    let skills = format!("{REPOSITORY}/skills");
    let copied = Command::new("cp").args(["-r", &skills]).arg(world.config()).status().unwrap();
    assert!(copied.success());
}
