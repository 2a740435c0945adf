//! Ralph as a plugin of the real client: validated, installed from a marketplace, and alone in charge of a loop.
//!
//! Where nothing else is said, no executable is on `PATH` and nothing is registered in settings: what works
//! works out of the plugin's own folder.

use std::fs;
use std::path::Path;

use ralph_test_support::fake_api::{ApiRequest, Gate, Script, ScriptedTurn, StandIn};
use serde_json::json;

use crate::Test;
use crate::kept::{
    TOKEN, has_none, new_file, the_archived, the_ended, the_live, token_after, what_hooks_said,
    works,
};
use crate::parallel;
use crate::support::{CLIENT_VARIABLE, ClientRun, PATIENCE, Run, World, executables};

pub(crate) const TESTS: &[Test] = tests![
    the_clients_own_validation_passes_strictly,
    a_plugin_from_a_local_marketplace_holds_a_loop_from_start_to_end,
    a_loop_is_started_by_its_short_name_and_cancelled_by_its_long_one,
    workers_of_the_plugin_are_started_by_their_long_name,
    the_repository_from_git_is_a_plugin_where_the_executables_are_installed,
    without_executables_a_session_goes_on_and_a_command_says_what_is_missing,
    an_upgraded_plugin_pauses_a_loop_of_before_and_goes_on_with_it,
];

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// `PATH` with the system's programs and none of ours.
fn path_without_ralph() -> String {
    let all = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&all).filter(|folder| !folder.join("ralph").exists());
    std::env::join_paths(folders).unwrap().into_string().unwrap()
}

/// `claude plugin …`, which must succeed.
#[track_caller]
fn plugin(world: &World, args: &[&str]) -> Run {
    let mut command = world.command(std::env::var_os(CLIENT_VARIABLE).unwrap());
    command.arg("plugin").args(args).env("PATH", path_without_ralph());
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
    Run::of(command, "", PATIENCE).exits(0)
}

/// A folder that `ralph install --plugin` has made.
fn made(world: &World) -> String {
    let folder = world.root().join("a plugin").display().to_string();
    world.ralph(&["install", "--plugin", &folder]).exits(0);
    folder
}

/// A world whose client has the plugin from a folder as its marketplace.
fn installed() -> World {
    let world = World::new();
    let folder = made(&world);
    take(&world, &folder);
    world
}

fn take(world: &World, marketplace: &str) {
    plugin(world, &["marketplace", "add", marketplace]);
    plugin(world, &["install", "ralph@ralph"]);
}

fn typed(world: &World, script: Script, text: &str) -> (StandIn, ClientRun) {
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).env("PATH", &path_without_ralph()).prompt(text);
    (stand_in, run)
}

/// What the hooks of this run could not do.
fn trouble(world: &World, run: &ClientRun) -> Vec<String> {
    let rows = what_hooks_said(world, run.session_id());
    let texts = rows.iter().map(|row| row["attachment"].to_string());
    let mut trouble: Vec<_> = texts.filter(|text| text.contains("error")).collect();
    trouble.extend(run.stderr.lines().map(str::to_owned));
    let told = run.rows.iter().filter(|row| row["tag"] == "hook_no_verdict");
    trouble.extend(told.map(ToString::to_string));
    trouble
}

fn the_clients_own_validation_passes_strictly() {
    let world = World::new();
    for folder in [REPOSITORY, &made(&world)] {
        let run = plugin(&world, &["validate", "--strict", folder]);
        assert!(run.stdout.contains("Validation passed"), "{run:?}");
        for part in ["skills: ralph:ralph\n", "agents: ralph:ralph-worker\n"] {
            assert!(run.stdout.contains(part), "{part}: {run:?}");
        }
    }
}

fn a_plugin_from_a_local_marketplace_holds_a_loop_from_start_to_end() {
    let world = installed();
    let script = Script::new().answer_with(|request: &ApiRequest| {
        let news = request.news();
        match request.tool_results().len() {
            0 => ScriptedTurn::bash("command -v ralph; ralph verify; echo made > it"),
            1 if !news.contains("Ralph 1/9: ") => ScriptedTurn::text(&format!("Done.\n\n{TOKEN}")),
            1 => ScriptedTurn::bash("echo more > it-is; ralph verify"),
            _ => ScriptedTurn::text(&format!("Now it is.\n\n{TOKEN}")),
        }
    });
    let text = "/ralph:ralph \"Make it\" --max-iterations 9 --ac 'it is there=test -f it-is'";
    let (stand_in, run) = typed(&world, script, text);
    assert_eq!(trouble(&world, &run), <[String; 0]>::default());
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete at 1/9");
    assert_eq!(kept.state["via"], "plugin");
    let requests = stand_in.requests();
    assert!(requests[0].news().contains(&kept.started_line()), "{}", requests[0].news());
    let found = &requests[1].tool_results()[0].text;
    assert!(found.contains("a plugin/bin/ralph\n"), "{found}");
    assert!(!fs::read_to_string(world.settings_file()).unwrap().contains("\"hooks\""));
    examined(&world, "a plugin");

    plugin(&world, &["uninstall", "ralph@ralph"]);
    plugin(&world, &["marketplace", "remove", "ralph"]);
    let (stand_in, _) =
        typed(&world, Script::new().turn(ScriptedTurn::text("?")), "/ralph:ralph \"x\"");
    assert!(stand_in.requests().iter().all(|request| !request.news().contains("Ralph loop ")));
    let left = fs::read_to_string(world.settings_file()).unwrap();
    assert!(!left.contains("a plugin"), "{left}");
}

fn a_loop_is_started_by_its_short_name_and_cancelled_by_its_long_one() {
    let world = installed();
    let path = path_without_ralph();
    let stand_in = StandIn::start(Script::new().repeat(new_file(1))).unwrap();
    let client = world.client(&stand_in).args(&["--max-turns", "1"]).env("PATH", &path);
    let cut = client.prompt("/ralph \"Tidy the attic\"");
    let silent = StandIn::start(Script::new()).unwrap();
    let client = world.client(&silent).args(&["--resume", cut.session_id()]).env("PATH", &path);
    let said = client.prompt("/ralph:ralph-cancel").result()["result"].as_str().unwrap().to_owned();
    assert!(said.contains("Ralph: cancelled after "), "{said}");
    assert!(silent.requests().is_empty());
    assert_eq!(the_archived(&world).ending(), "cancelled at 0/25");
}

fn workers_of_the_plugin_are_started_by_their_long_name() {
    let world = installed();
    parallel::planned(&world, &[("T-1", &[], &["T-1"]), ("T-2", &[], &["T-2"])], "test -f T-2");
    let script = parallel::orchestrator().subagent("Ralph task ", parallel::worker());
    let (stand_in, run) = typed(&world, script, "/ralph:ralph-parallel");
    let kept = the_ended(&world);
    assert_eq!(kept.ending().split(' ').next(), Some("complete"), "{run:?}");
    let calls: Vec<String> = stand_in.requests().iter().map(ApiRequest::all_text).collect();
    assert!(calls.iter().any(|text| text.contains("ralph:ralph-worker")));
    assert_eq!(fs::read_to_string(world.project().join("T-1")).unwrap(), "T-1\n");
    assert!(trouble(&world, &run).is_empty(), "{:?}", trouble(&world, &run));
}

/// The repository as `git clone` has it, in a repository of its own.
fn cloned(world: &World) -> String {
    let folder = world.root().join("clone");
    fs::create_dir_all(&folder).unwrap();
    let place = folder.display().to_string();
    for part in [".claude-plugin", "hooks", "bin", "skills", "agents"] {
        world.run("cp", &["-rp", &format!("{REPOSITORY}/{part}"), &place], "").exits(0);
    }
    for args in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-q", "-m", "One"]]
    {
        world.git(&[&["-C", &place], args].concat());
    }
    place
}

fn the_repository_from_git_is_a_plugin_where_the_executables_are_installed() {
    let world = World::new();
    // A marketplace that names a repository, of which the client makes a copy of its own.
    let source = json!({"source": "url", "url": format!("file://{}", cloned(&world))});
    let plugins = json!([{"name": "ralph", "source": source, "description": "Ralph"}]);
    let market = json!({"name": "ralph", "owner": {"name": "Somebody"}, "plugins": plugins});
    let folder = world.root().join("market");
    fs::create_dir_all(folder.join(".claude-plugin")).unwrap();
    fs::write(folder.join(".claude-plugin/marketplace.json"), market.to_string()).unwrap();
    take(&world, &folder.display().to_string());
    fs::remove_dir_all(world.root().join("clone")).unwrap();
    // Where `./install.sh` puts them.
    let bin = world.home().join(".local/bin");
    crate::kept::copy_executables(&bin);
    let path = format!("{}:{}", bin.display(), path_without_ralph());
    let stand_in = StandIn::start(works(new_file, token_after(3))).unwrap();
    let client = world.client(&stand_in).env("PATH", &path);
    let run = client.prompt("/ralph:ralph \"Tidy the attic\"");
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete_unverified at 3/25");
    assert_eq!(kept.state["via"], "plugin");
    assert!(trouble(&world, &run).is_empty(), "{:?}", trouble(&world, &run));
    examined(&world, "config/plugins/cache/ralph/ralph/");
}

/// The doctor finds the plugin where the client reads it from, and its hooks answer.
#[track_caller]
fn examined(world: &World, folder: &str) {
    let mut doctor = world.command(executables().join("ralph"));
    doctor.arg("doctor").env("RALPH_CLAUDE", std::env::var_os(CLIENT_VARIABLE).unwrap());
    let told = Run::of(doctor, "", PATIENCE).stdout;
    let place = world.root().join(folder);
    let expected =
        format!("ok    registration: 14 hooks in the plugin `ralph@ralph` in `{}", place.display());
    assert!(told.contains(&expected), "{expected}\n{told}");
    assert!(told.contains("14 of 14 registered hooks answered"), "{told}");
}

fn without_executables_a_session_goes_on_and_a_command_says_what_is_missing() {
    let world = World::new();
    take(&world, &cloned(&world));
    let work = [ScriptedTurn::bash("echo worked"), ScriptedTurn::text("Nothing stood in the way.")];
    let (stand_in, run) = typed(&world, Script::new().turns(work), "Work.");
    assert_eq!(run.result()["result"], "Nothing stood in the way.");
    assert_eq!(stand_in.requests()[1].tool_results()[0].text, "worked");
    assert!(trouble(&world, &run).is_empty(), "{:?}", trouble(&world, &run));
    assert!(run.stdout.contains("has no executables, so no loop can run"), "{}", run.stdout);

    let (stand_in, run) = typed(&world, Script::new(), "/ralph:ralph \"Tidy the attic\"");
    assert!(stand_in.requests().is_empty(), "no loop, so no work that nobody would check");
    assert!(run.stdout.contains("run ./install.sh --no-register"), "{}", run.stdout);
    assert!(has_none(&world));
}

/// The folder is made again under a session that is running: its next hooks are the new ones.
fn an_upgraded_plugin_pauses_a_loop_of_before_and_goes_on_with_it() {
    let world = installed();
    let folder = world.root().join("a plugin");
    let older = folder.join("bin/ralph-stop-hook");
    let note = world.root().join("older-was-here");
    fs::remove_file(&older).unwrap();
    let real = executables().join("ralph-stop-hook").display().to_string();
    let script = format!("#!/bin/sh\necho \"$*\" >> '{}'\nexec '{real}' \"$@\"\n", note.display());
    write_program(&older, &script);
    let upgrade = format!(
        "'{}' install --plugin '{}'",
        executables().join("ralph").display(),
        folder.display()
    );
    let gate = Gate::new();
    let script = Script::new().turns([
        ScriptedTurn::bash("echo 1 > one"),
        ScriptedTurn::text("Step 1."),
        ScriptedTurn::bash("echo 2 > two"),
        ScriptedTurn::held(&gate).then_text("Step 2."),
        ScriptedTurn::text(&format!("Done.\n\n{TOKEN}")),
    ]);
    let stand_in = StandIn::start(script).unwrap();
    let run = std::thread::scope(|threads| {
        threads.spawn(|| {
            gate.wait_until_reached(PATIENCE).unwrap();
            // A person in another terminal.
            let made = world.run("sh", &["-c", &upgrade], "");
            gate.open();
            made.exits(0);
        });
        let client = world.client(&stand_in).env("PATH", &path_without_ralph());
        client.prompt("/ralph:ralph \"Tidy the attic\"")
    });
    // It could have been anyone who changed them.
    assert_eq!(the_live(&world).state["pause"]["cause"], "tampered");
    let told = format!("{:?}", what_hooks_said(&world, run.session_id()));
    assert!(told.contains("ralph-stop-hook` changed. If that was not you, undo it"), "{told}");
    assert!(trouble(&world, &run).is_empty(), "{:?}", trouble(&world, &run));
    let client = world.client(&stand_in).env("PATH", &path_without_ralph());
    let run = client.args(&["--resume", run.session_id()]).prompt("/ralph:ralph");
    assert_eq!(the_ended(&world).ending(), "complete_unverified at 1/25");
    assert!(trouble(&world, &run).is_empty(), "{:?}", trouble(&world, &run));
    // Both entries of the first stop, and nothing of the later ones.
    let mut seen: Vec<_> = fs::read_to_string(note).unwrap().lines().map(str::to_owned).collect();
    seen.sort();
    assert_eq!(seen, ["plugin", "wait plugin"]);
}

fn write_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
