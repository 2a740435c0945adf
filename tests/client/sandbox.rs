//! The client's own sandbox: what a headless round cannot do in it, and what of Ralph works there.

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Test;
use crate::builds::plan;
use crate::kept::the_ended;
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    a_round_cannot_leave_its_bounds_and_what_it_tried_is_told,
    what_the_model_has_a_criterion_run_cannot_leave_the_bounds_either_and_is_told,
    a_process_that_a_command_leaves_running_ends_with_it_and_is_reported,
    commands_that_leave_nothing_running_are_as_before_and_nothing_is_reported,
    a_plain_ralph_runs_outside_for_its_own_loop_and_says_so_inside,
    without_bubblewrap_nothing_starts,
    files_of_a_project_that_lead_out_of_the_sandbox_start_no_client_until_they_are_trusted,
    what_a_killed_client_leaves_is_no_work_and_the_next_start_removes_it,
    a_client_whose_ralph_is_killed_leaves_nothing_in_the_project,
    the_helper_of_a_killed_client_ends_with_the_round,
    the_helper_of_a_client_killed_with_its_ralph_ends_at_the_next_start,
    a_background_command_is_ended_after_its_time,
    a_mode_that_skips_permissions_still_runs_commands_in_the_sandbox,
    a_loop_in_a_conversation_with_the_users_own_sandbox_ends_by_proof,
    without_the_offered_line_a_conversation_in_the_users_sandbox_still_ends_by_proof,
    with_the_offered_line_each_command_of_the_model_works_in_the_users_sandbox,
    with_the_offered_line_a_loop_in_the_users_sandbox_pauses_and_is_cancelled,
];

fn installed() -> World {
    let world = World::sandboxed();
    world.ralph(&["install"]).exits(0);
    world
}

/// A world with one planned task, a key of the user and the git hooks of a project.
fn planned() -> World {
    let world = installed();
    plan(&world, &[("T-1", &[])]);
    fs::create_dir(world.home().join(".ssh")).unwrap();
    fs::write(world.home().join(".ssh/id"), "THE-KEY").unwrap();
    world
}

/// The results of all calls of a conversation, in order.
pub(crate) fn results(stand_in: &StandIn) -> Vec<String> {
    let last = stand_in.requests().into_iter().max_by_key(|one| one.tool_results().len());
    let results = last.map(|one: ApiRequest| one.tool_results());
    results.unwrap_or_default().into_iter().map(|one| one.text).collect()
}

pub(crate) fn done() -> [ScriptedTurn; 3] {
    [
        ScriptedTurn::bash("echo x > T-1"),
        ScriptedTurn::bash("ralph task done T-1 --result done"),
        ScriptedTurn::text("Done."),
    ]
}

fn a_round_cannot_leave_its_bounds_and_what_it_tried_is_told() {
    let world = planned();
    let home = world.home().display().to_string();
    let script = Script::new()
        .turn(ScriptedTurn::bash(&format!("echo x > {home}/written; cat {home}/.ssh/id")))
        .turn(ScriptedTurn::bash("echo x > .git/hooks/pre-commit; echo x > .claude/ralph.toml"))
        .turn(ScriptedTurn::bash("git update-ref refs/ralph/x/1 HEAD; git pack-refs --all"))
        .turn(ScriptedTurn::bash("echo /elsewhere > .git/commondir"))
        .turn(ScriptedTurn::bash("curl -sS https://example.com"))
        .turn(ScriptedTurn::bash("setsid sleep 600 >/dev/null 2>&1 & true"))
        .turn(ScriptedTurn::tool(
            "Write",
            json!({"file_path": format!("{home}/written"), "content": "x"}),
        ))
        .turn(ScriptedTurn::tool("Read", json!({"file_path": format!("{home}/.ssh/id")})))
        .turns(done());
    let stand_in = StandIn::start(script).unwrap();
    let run = world.ralph_with_client(&stand_in, &["build"]).exits(0);
    for line in [
        "permission mode: acceptEdits",
        "can write: the project",
        "cannot read: ",
        "can reach: no host",
    ] {
        assert!(run.stderr.contains(line), "{line}: {run:?}");
    }
    let preamble = run.stderr.lines().find(|line| line.contains("can write: ")).unwrap();
    assert!(
        preamble.starts_with("building loop ") && preamble.contains("; logs in "),
        "{preamble}"
    );
    assert!(!world.home().join("written").exists());
    let project = world.project();
    assert!(!project.join(".git/hooks/pre-commit").exists());
    assert!(!project.join(".claude/ralph.toml").exists());
    assert!(!project.join(".git/refs/ralph/x").exists());
    assert!(!project.join(".git/commondir").exists());
    assert!(
        !results(&stand_in).iter().any(|one| one.contains("THE-KEY")),
        "{:?}",
        results(&stand_in)
    );
    for told in [
        "sandbox: ",
        "/written: Read-only file system",
        ".ssh/id",
        "pre-commit",
        "not permitted: Write",
    ] {
        assert!(run.stderr.contains(told), "{told}: {run:?}");
    }
    assert!(run.stderr.contains("example.com"), "{run:?}");
    let explained = world.ralph(&["explain", "99"]).exits(0).stdout;
    assert!(explained.contains("; sandbox: "), "{explained}");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
    assert_eq!(litter(&project), [""; 0]);
}

/// The criterion is the user's, and runs each test in the tree: the model writes one that attacks.
fn what_the_model_has_a_criterion_run_cannot_leave_the_bounds_either_and_is_told() {
    let world = installed();
    let home = world.home().display().to_string();
    fs::create_dir(world.home().join(".ssh")).unwrap();
    fs::write(world.home().join(".ssh/id"), "THE-KEY").unwrap();
    let project = world.project();
    fs::write(project.join("suite"), "for one in t/*.sh; do sh $one; done; test -s made.c\n")
        .unwrap();
    let attacks = format!(
        "echo x > {home}/written\ncat {home}/.ssh/id > leaked\necho x > .git/hooks/pre-commit\n\
         curl -sS https://example.com\nsetsid sleep 600 >/dev/null 2>&1 &\n"
    );
    let script = Script::new()
        .turn(ScriptedTurn::bash("mkdir t"))
        .turn(ScriptedTurn::tool(
            "Write",
            json!({"file_path": project.join("t/attack.sh"), "content": attacks}),
        ))
        .turn(ScriptedTurn::text("A test is there."))
        .turn(ScriptedTurn::bash("rm t/attack.sh; echo x > t/none.sh; echo x > made.c"))
        .turn(ScriptedTurn::text("Done."));
    let stand_in = StandIn::start(script).unwrap();
    let task = ["run", "Make it", "--ac", "it is there=sh suite"];
    let run = world.ralph_with_client(&stand_in, &task).exits(0);
    assert!(!world.home().join("written").exists());
    assert!(!project.join(".git/hooks/pre-commit").exists());
    let leaked = fs::read_to_string(project.join("leaked")).unwrap_or_default();
    assert!(!leaked.contains("THE-KEY"), "{leaked}");
    let left = processes(&world);
    assert!(!left.iter().any(|(_, name)| name == "sleep"), "{left:?}");
    let explained = world.ralph(&["explain", "99"]).exits(0).stdout;
    for told in [&run.stderr, &explained] {
        for attempt in [
            "/written`",
            ".ssh`",
            "it may not write `.git/hooks/pre-commit`",
            "it tried to reach `example.com`",
            "left processes running, which Ralph ended",
        ] {
            assert!(told.contains(attempt), "{attempt}: {told}");
        }
    }
    assert_eq!(the_ended(&world).ending(), "complete at 1/25");
}

const REPORT: &str = "ralph: ended what the command left running: ";

fn a_process_that_a_command_leaves_running_ends_with_it_and_is_reported() {
    // In the second sandbox, the shell of a command is the one that starts the sandbox's helpers.
    for settings in [json!({}), json!({"sandbox": {"network": {"allowAllUnixSockets": true}}})] {
        leaves_processes_running(&settings);
    }
}

fn leaves_processes_running(settings: &Value) {
    let world = planned();
    let leaves = [
        ("nohup sleep 1000 >/dev/null 2>&1 & echo started", "sleep"),
        ("(setsid tail -f /dev/null >/dev/null 2>&1 &); exit 7", "tail"),
        ("set -euxf; IFS=0; cat /dev/zero >/dev/null & cd /", "cat"),
    ];
    let turns = leaves.map(|(command, _)| ScriptedTurn::bash(command));
    let call = json!({"description": "dig", "prompt": "DIGGER: dig", "subagent_type": "general-purpose",
        "run_in_background": false});
    let digger = Script::new()
        .turn(ScriptedTurn::bash("nohup yes >/dev/null 2>&1 & true"))
        .turn(ScriptedTurn::text("Dug."));
    let script = Script::new().turns(turns).turn(ScriptedTurn::tool("Agent", call)).turns(done());
    let stand_in = StandIn::start(script.subagent("DIGGER", digger)).unwrap();
    let run = world
        .ralph_with_client(&stand_in, &["build", "--", "--settings", &settings.to_string()])
        .exits(0);
    let results = results(&stand_in);
    for (result, (command, name)) in results.iter().zip(leaves) {
        let told: Vec<_> = result.lines().filter(|line| line.starts_with(REPORT)).collect();
        assert_eq!(told, [format!("{REPORT}{name}")], "{command}: {result}");
    }
    assert!(!results[4].contains(REPORT), "{results:#?}");
    assert!(results[0].contains("started"), "{results:#?}");
    assert!(results[1].starts_with("Exit code 7\n"), "{results:#?}");
    assert!(run.stderr.contains("ended what was left running: sleep, tail, cat, yes"), "{run:?}");
    let explained = world.ralph(&["explain", "99"]).exits(0).stdout;
    assert!(
        explained.contains("ended what was left running: sleep, tail, cat, yes"),
        "{explained}"
    );
    let left = processes(&world);
    let is_left = |name: &str| name == "yes" || leaves.iter().any(|(_, one)| *one == name);
    assert!(!left.iter().any(|(_, name)| is_left(name)), "{left:?}");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

/// Starts a server that takes a moment to end, and stops it.
const SERVER: &str = "exec 4< <(trap 'sleep 0.1; exit' TERM; echo up; while :; do sleep 0.01; done); \
    read -r line <&4; echo $line; kill $!";

fn commands_that_leave_nothing_running_are_as_before_and_nothing_is_reported() {
    let world = planned();
    let project = world.project().display().to_string();
    let commands = [
        ("sleep 0.1 & wait; echo a | cat | cat", "a".to_owned()),
        (SERVER, "up".to_owned()),
        ("bash -c 'exit 3' | cat; exit 4", "Exit code 4".to_owned()),
        ("false", "Exit code 1".to_owned()),
        ("trap 'echo own' EXIT; echo b", "b\nown".to_owned()),
        ("exec echo c", "c".to_owned()),
        ("mkdir sub; cd sub; pwd", format!("{project}/sub")),
        ("pwd; cd ..", format!("{project}/sub")),
        ("bash -c 'echo $$; trap -p'; echo $(echo d; trap -p >/dev/null) $?", String::new()),
        ("set -e; printf '%s' e >&2; printf f", "ef".to_owned()),
    ];
    let turns = commands.clone().map(|(command, _)| ScriptedTurn::bash(command));
    let long = json!({"command": "sleep 20; echo slept", "timeout": 1000});
    let turns = turns.into_iter().chain([ScriptedTurn::tool("Bash", long)]);
    let stand_in = StandIn::start(Script::new().turns(turns).turns(done())).unwrap();
    let run = world.ralph_with_client(&stand_in, &["build"]).exits(0);
    let results = results(&stand_in);
    for (result, (command, expected)) in results.iter().zip(commands) {
        assert!(expected.is_empty() || *result == expected, "{command}: {result}");
    }
    assert!(results[10].contains("timed out"), "{results:#?}");
    assert!(!results.iter().any(|one| one.contains("left running")), "{results:#?}");
    assert!(!run.stderr.contains("left running"), "{run:?}");
    let explained = world.ralph(&["explain", "99"]).exits(0).stdout;
    assert!(!explained.contains("left running"), "{explained}");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

fn a_plain_ralph_runs_outside_for_its_own_loop_and_says_so_inside() {
    let world = planned();
    let elsewhere = world.home().join("page.html").display().to_string();
    let script = Script::new()
        .turn(ScriptedTurn::bash("ralph verify | cat"))
        .turn(ScriptedTurn::bash("ralph task add 'another' --id T-2 && true"))
        .turn(ScriptedTurn::bash(&format!("ralph report --html {elsewhere}")))
        .turn(ScriptedTurn::bash("ralph build"))
        .turn(ScriptedTurn::bash("ralph verify"))
        .turns(done());
    let stand_in = StandIn::start(script).unwrap();
    world.ralph_with_client(&stand_in, &["build"]).exits(0);
    let results = results(&stand_in);
    for (at, told) in [
        (0, "give `ralph verify …` alone"),
        (1, "give `ralph task add …` alone"),
        (2, "for the user only"),
        (3, "for the user only"),
        (4, "AC-1"),
    ] {
        assert!(results[at].contains(told), "{at}: {results:#?}");
    }
    assert!(!results[4].contains("Read-only"), "{results:#?}");
    assert!(!Path::new(&elsewhere).exists());
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

/// A folder with links to all programs but one.
fn path_without(world: &World, missing: &str) -> PathBuf {
    let folder = world.root().join("programs");
    fs::create_dir(&folder).unwrap();
    for place in ["/usr/bin", "/bin", "/usr/sbin", "/sbin"] {
        for program in fs::read_dir(place).into_iter().flatten().flatten() {
            if program.file_name() != missing {
                // Two folders may have the same program.
                let _ = symlink(program.path(), folder.join(program.file_name()));
            }
        }
    }
    folder
}

fn without_bubblewrap_nothing_starts() {
    let world = planned();
    let stand_in = StandIn::start(Script::new()).unwrap();
    let mut command = world.driver(&stand_in, &["build"]);
    command.env("PATH", path_without(&world, "bwrap"));
    let run = crate::support::Run::of(command, "", PATIENCE).exits(4);
    assert!(run.stderr.contains("`bwrap` is missing; install the package bubblewrap"), "{run:?}");
    assert!(
        run.stderr.contains("`ralph build --no-sandbox --permission-mode acceptEdits`"),
        "{run:?}"
    );
    assert!(stand_in.requests().is_empty());
    let state = world.ralph(&["status", "--json"]).exits(0).json();
    assert_eq!(state["loops"][0]["phase"], "planned", "{state}");
}

fn files_of_a_project_that_lead_out_of_the_sandbox_start_no_client_until_they_are_trusted() {
    let world = planned();
    let project = world.project();
    let escaped = world.home().join("escaped");
    let touches = |name: &str| format!("touch {}-{name}", escaped.display());
    let hook = json!({"hooks": {"PreToolUse": [{"matcher": "*",
        "hooks": [{"type": "command", "command": touches("hook")}]}]}});
    let server = json!({"mcpServers": {"m": {"command": "sh", "args": ["-c", touches("server")]}}});
    let agent = format!(
        "---\nname: a\ndescription: d\nhooks:\n  PreToolUse:\n    - matcher: \"*\"\n      hooks:\n        \
         - type: command\n          command: {}\n---\nDig.\n",
        touches("agent")
    );
    fs::create_dir_all(project.join(".claude/agents")).unwrap();
    let build = |stand_in: &StandIn| world.ralph_with_client(stand_in, &["build"]);
    for (file, text, member) in [
        (".claude/settings.json", hook.to_string(), "hooks.PreToolUse"),
        (".claude/settings.local.json", json!({"env": {"PATH": "/x"}}).to_string(), "env.PATH"),
        (".mcp.json", server.to_string(), "mcpServers.m"),
        (".claude/agents/a.md", agent.clone(), "hooks"),
    ] {
        fs::write(project.join(file), &text).unwrap();
        let stand_in = StandIn::start(Script::new()).unwrap();
        let run = build(&stand_in).exits(1);
        let told = run.stderr.lines().last().unwrap_or_default();
        assert!(told.contains(file) && told.contains(member), "{file}: {run:?}");
        assert!(told.contains("type `ralph trust`"), "{run:?}");
        assert!(stand_in.requests().is_empty());
        fs::remove_file(project.join(file)).unwrap();
    }
    // Each of them has an effect outside once the user has trusted it.
    fs::write(project.join(".claude/settings.json"), hook.to_string()).unwrap();
    fs::write(project.join(".mcp.json"), server.to_string()).unwrap();
    fs::write(project.join(".claude/agents/a.md"), agent).unwrap();
    let shown = world.ralph(&["trust", "--yes"]).exits(0).stdout;
    assert!(shown.contains("escaped-hook") && shown.contains("escaped-server"), "{shown}");
    let call = json!({"description": "dig", "prompt": "DIGGER: dig", "subagent_type": "a",
        "run_in_background": false});
    let digger = Script::new().turn(ScriptedTurn::bash("true")).turn(ScriptedTurn::text("Dug."));
    let script = Script::new().turn(ScriptedTurn::tool("Agent", call)).turns(done());
    let stand_in = StandIn::start(script.subagent("DIGGER", digger)).unwrap();
    build(&stand_in).exits(0);
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
    for name in ["hook", "server", "agent"] {
        assert!(world.home().join(format!("escaped-{name}")).exists(), "{name}");
    }
}

/// The empty read-only files of a project.
fn litter(project: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", ".claude", ".git"] {
        for file in fs::read_dir(project.join(folder)).into_iter().flatten().flatten() {
            let about = file.path().symlink_metadata().unwrap();
            if about.is_file() && about.len() == 0 && about.mode() & 0o777 == 0o444 {
                found.push(file.path().strip_prefix(project).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// Starts a command that ends with its test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

fn start(mut command: Command) -> Started {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Started(command.spawn().unwrap())
}

const WAITS: &str = "touch started; sleep 600";

fn what_a_killed_client_leaves_is_no_work_and_the_next_start_removes_it() {
    let world = planned();
    let project = world.project();
    // The user's own, with the look and the names of what a sandbox leaves.
    for name in [".idea", ".zprofile"] {
        fs::write(project.join(name), "").unwrap();
        fs::set_permissions(project.join(name), fs::Permissions::from_mode(0o444)).unwrap();
    }
    let own = litter(&project);
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::bash(WAITS))).unwrap();
    let ralph = start(world.driver(&stand_in, &["build"]));
    assert!(wait_until(PATIENCE, || project.join("started").exists()));
    kill(&world, |name| is_client(name) || name == "ralph");
    drop(ralph);
    let left = litter(&project);
    assert!(left.contains(&".git/config.lock".to_owned()), "{left:?}");
    assert!(left.len() > own.len() + 10, "{left:?}");
    let unknown: Vec<_> = left
        .iter()
        .filter(|name| !ralph_core::protocol::sandbox::is_litter_name(name.as_bytes()))
        .filter(|name| !name.starts_with(".git/"))
        .collect();
    assert!(unknown.is_empty(), "the client leaves files that Ralph does not know: {unknown:?}");
    let script = Script::new().turn(ScriptedTurn::bash("git config user.name x")).turns(done());
    let stand_in = StandIn::start(script).unwrap();
    world.ralph_with_client(&stand_in, &["build"]).exits(0);
    assert_eq!(litter(&project), own);
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

fn a_client_whose_ralph_is_killed_leaves_nothing_in_the_project() {
    let world = planned();
    let project = world.project();
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::bash(WAITS))).unwrap();
    let ralph = start(world.driver(&stand_in, &["build"]));
    assert!(wait_until(PATIENCE, || project.join("started").exists()));
    assert!(!litter(&project).is_empty(), "the command runs in the sandbox");
    drop(ralph);
    assert!(wait_until(PATIENCE, || litter(&project).is_empty()), "{:?}", litter(&project));
}

/// The processes whose environment names this world, each with its name.
fn processes(world: &World) -> Vec<(u32, String)> {
    let root = world.root().display().to_string();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let named = pids.filter_map(|pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let is_ours = String::from_utf8_lossy(&environment).contains(&root);
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        is_ours.then(|| (pid, name.trim().to_owned()))
    });
    named.collect()
}

fn has_helper(world: &World) -> bool {
    processes(world).iter().any(|(_, name)| name == "socat")
}

fn is_client(name: &str) -> bool {
    name.starts_with("claude")
}

/// Ends the processes of this world with these names by SIGKILL.
fn kill(world: &World, is_meant: impl Fn(&str) -> bool) {
    let pids: Vec<String> = processes(world)
        .into_iter()
        .filter(|(_, name)| is_meant(name))
        .map(|(pid, _)| pid.to_string())
        .collect();
    assert!(!pids.is_empty());
    // All at once: a `ralph` that is alive would end its client in order.
    assert!(Command::new("kill").arg("-9").args(&pids).status().unwrap().success());
}

fn the_helper_of_a_killed_client_ends_with_the_round() {
    let world = planned();
    let project = world.project();
    let script = Script::new().turn(ScriptedTurn::bash(WAITS)).turns(done());
    let stand_in = StandIn::start(script).unwrap();
    let mut command = world.driver(&stand_in, &["build"]);
    let printed = fs::File::create(world.root().join("printed")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(printed);
    let mut ralph = Started(command.spawn().unwrap());
    assert!(wait_until(PATIENCE, || project.join("started").exists()));
    assert!(has_helper(&world), "{:?}", processes(&world));
    kill(&world, is_client);
    assert!(ralph.0.wait().unwrap().success());
    assert!(!has_helper(&world), "{:?}", processes(&world));
    let printed = fs::read_to_string(world.root().join("printed")).unwrap();
    assert!(printed.contains("socat"), "{printed}");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

fn the_helper_of_a_client_killed_with_its_ralph_ends_at_the_next_start() {
    let world = planned();
    let project = world.project();
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::bash(WAITS))).unwrap();
    let ralph = start(world.driver(&stand_in, &["build"]));
    assert!(wait_until(PATIENCE, || project.join("started").exists()));
    kill(&world, |name| is_client(name) || name == "ralph");
    drop(ralph);
    assert!(has_helper(&world), "{:?}", processes(&world));
    let stand_in = StandIn::start(Script::new().turns(done())).unwrap();
    let run = world.ralph_with_client(&stand_in, &["build"]).exits(0);
    assert!(!has_helper(&world), "{:?}", processes(&world));
    assert!(run.stderr.contains("socat"), "{run:?}");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

fn a_background_command_is_ended_after_its_time() {
    let world = planned();
    world.set_ralph("[client]\nbackground_seconds = 1\n");
    let sleeps = json!({"command": "sleep 600", "run_in_background": true});
    let [write, close, end] = done();
    let turns = [ScriptedTurn::tool("Bash", sleeps), write, close, end];
    let stand_in = StandIn::start(Script::new().turns(turns)).unwrap();
    let run = world.ralph_with_client(&stand_in, &["build"]).exits(0);
    let shown = "ended what was left running: ";
    assert!(run.stderr.contains(shown), "{run:?}");
    let explained = world.ralph(&["explain", "99"]).exits(0).stdout;
    assert!(explained.contains(shown), "{explained}");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

fn a_mode_that_skips_permissions_still_runs_commands_in_the_sandbox() {
    let world = planned();
    let home = world.home().display().to_string();
    let script = Script::new()
        .turn(ScriptedTurn::tool(
            "Bash",
            json!({"command": format!("echo x > {home}/written"), "dangerouslyDisableSandbox": true}),
        ))
        .turn(ScriptedTurn::tool("Read", json!({"file_path": format!("{home}/.ssh/id")})))
        .turns(done());
    let stand_in = StandIn::start(script).unwrap();
    let args = ["build", "--permission-mode", "bypassPermissions"];
    let run = world.ralph_with_client(&stand_in, &args).exits(0);
    assert!(run.stderr.contains("the sandbox bounds shell commands only"), "{run:?}");
    assert!(!world.home().join("written").exists());
    assert!(!results(&stand_in).iter().any(|one| one.contains("THE-KEY")));
    assert_eq!(the_ended(&world).ending(), "complete at 0/25");
}

fn a_loop_in_a_conversation_with_the_users_own_sandbox_ends_by_proof() {
    let world = installed();
    world.settings(json!({"sandbox": {"enabled": true, "failIfUnavailable": true,
        "autoAllowBashIfSandboxed": true, "excludedCommands": ["ralph *"]}}));
    let script = Script::new()
        .turn(ScriptedTurn::bash(
            "echo x > made && ralph blocked 'Create the bucket for the reports'",
        ))
        .turn(ScriptedTurn::bash("ralph start 'another' --ac 'x=touch /tmp/never'"))
        .turn(ScriptedTurn::bash("ralph verify"))
        .turn(ScriptedTurn::text("RALPH_COMPLETE"));
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt("/ralph \"Make it\" --ac 'it is there=test -s made'");
    let results = results(&stand_in);
    assert!(results[0].contains("give `ralph blocked …` alone"), "{results:#?}");
    assert!(results[1].contains("for the user only"), "{results:#?}");
    assert!(results[2].contains("AC-1"), "{results:#?}");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25", "{run:?}");
    let doctor = world.ralph(&["doctor"]).stdout;
    assert!(!doctor.contains("excludedCommands"), "{doctor}");
    world.settings(json!({"sandbox": {"enabled": true}}));
    let doctor = world.ralph(&["doctor"]).stdout;
    assert!(doctor.contains("`ralph install --with sandbox`"), "{doctor}");
}

/// The results of a conversation of one loop in which the model gives its own commands, one for each
/// kind; then it asks for completion.
fn conversation(world: &World) -> Vec<String> {
    let script = Script::new()
        .turn(ScriptedTurn::bash("ralph task add 'Make it' --id T-1"))
        .turn(ScriptedTurn::bash("ralph task claim T-1"))
        .turn(ScriptedTurn::tool(
            "Write",
            json!({"file_path": world.project().join("made.json"), "content": "{ broken"}),
        ))
        .turn(ScriptedTurn::bash("echo x > made"))
        .turn(ScriptedTurn::bash("ralph task done T-1 --result made"))
        .turn(ScriptedTurn::bash("ralph verify"))
        .turn(ScriptedTurn::bash("ralph status"))
        .turn(ScriptedTurn::text("RALPH_COMPLETE"));
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt("/ralph \"Make it\" --ac 'it is there=test -s made'");
    assert_eq!(the_ended(world).ending(), "complete at 0/25", "{run:?}");
    results(&stand_in)
}

fn in_the_users_sandbox() -> World {
    let world = World::sandboxed();
    world.settings(json!({"sandbox": {"enabled": true, "failIfUnavailable": true,
        "autoAllowBashIfSandboxed": true}}));
    let offered = world.ralph(&["install"]).exits(0).stdout;
    assert!(offered.contains("`ralph install --with sandbox`"), "{offered}");
    world
}

fn without_the_offered_line_a_conversation_in_the_users_sandbox_still_ends_by_proof() {
    let results = conversation(&in_the_users_sandbox());
    for at in [0, 1, 4, 5] {
        assert!(results[at].contains("in the client's sandbox"), "{at}: {results:#?}");
        assert!(results[at].contains("`ralph install --with sandbox`"), "{at}: {results:#?}");
    }
}

fn with_the_offered_line_each_command_of_the_model_works_in_the_users_sandbox() {
    let world = in_the_users_sandbox();
    world.ralph(&["install", "--with", "sandbox"]).exits(0);
    let results = conversation(&world);
    for (at, told) in [(0, "T-1"), (1, "T-1"), (4, "T-1"), (5, "AC-1")] {
        assert!(results[at].contains(told), "{at}: {results:#?}");
    }
    assert!(!results.iter().any(|one| one.contains("sandbox")), "{results:#?}");
}

fn with_the_offered_line_a_loop_in_the_users_sandbox_pauses_and_is_cancelled() {
    let world = in_the_users_sandbox();
    world.ralph(&["install", "--with", "sandbox"]).exits(0);
    let script = Script::new()
        .turn(ScriptedTurn::bash("ralph blocked 'Create the bucket for the reports'"))
        .turn(ScriptedTurn::bash("ralph cancel"))
        .turn(ScriptedTurn::text("A person has to create the bucket."));
    let stand_in = StandIn::start(script).unwrap();
    let start = "/ralph \"Make it\" --ac 'it is there=test -s made'";
    world.client(&stand_in).prompts(&[start, "/ralph-cancel"]);
    let results = results(&stand_in);
    assert!(results[1].contains("for the user only"), "{results:#?}");
    assert!(the_ended(&world).ending().starts_with("cancelled"), "{}", the_ended(&world).ending());
}
