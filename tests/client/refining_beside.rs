//! `ralph refine` with the real client where something stands beside it: its cap, another session, tmux, `bd`.

use crate::Test;
use crate::refining::{edits, ended, plan, refine, round, session, world};
use crate::support::executables::{FAKE_BD, executables};
use crate::support::{PATIENCE, Run, World, wait_until};
use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

pub(crate) const TESTS: &[Test] = tests![
    a_plan_that_never_settles_ends_at_its_cap,
    a_second_session_on_the_file_is_refused_while_the_first_is_at_work,
    a_session_in_the_background_is_seen_joined_and_killed_with_its_client,
    the_beads_of_bd_are_refined_by_its_own_commands,
];

fn a_plan_that_never_settles_ends_at_its_cap() {
    let world = world();
    let root = world.project().to_str().unwrap().to_owned();
    let script = Script::new().answer_with(move |request| edits(request, &root, 7, &ended(7)));
    let stand_in = StandIn::start(script).unwrap();
    let run = refine(&world, &stand_in, &["--max-iterations", "4"]).exits(1);
    let says = "ended after 4 rounds, its limit, and the plan still changes";
    assert!(run.stdout.contains(says), "{}", run.stdout);
    assert!(run.stdout.contains("said      ████  28 changes"), "{}", run.stdout);
    let session = session(&world);
    assert_eq!(
        (&session["status"], &session["plateau_at"]),
        (&json!("max_iterations"), &Value::Null)
    );
    assert_eq!(plan(&world).matches("Better by").count(), 28);
}

/// A stand-in whose first round waits at a gate, and settles when it is let through.
fn held() -> (StandIn, Gate) {
    let gate = Gate::new();
    let waits = gate.clone();
    let script = Script::new().answer_with(move |request| match round(request) {
        1 => ScriptedTurn::held(&waits).then_text(&ended(0)),
        _ => ScriptedTurn::text(&ended(0)),
    });
    (StandIn::start(script).unwrap(), gate)
}

fn a_second_session_on_the_file_is_refused_while_the_first_is_at_work() {
    let world = world();
    let (stand_in, gate) = held();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| refine(&world, &stand_in, &["--session", "plan"]));
        gate.wait_until_reached(PATIENCE).unwrap();
        let second = refine(&world, &stand_in, &["--session", "other"]).exits(1);
        let says = "the refinement `plan` is at work on `plan.md`; nothing was changed";
        assert!(second.stderr.contains(says), "{}", second.stderr);
        let same = refine(&world, &stand_in, &[]).exits(1);
        assert!(same.stderr.contains(says), "{}", same.stderr);
        gate.open();
        let first = first.join().unwrap().exits(0);
        assert!(first.stdout.contains("plateau at round 3"), "{}", first.stdout);
    });
    assert_eq!(stand_in.requests().len(), 3, "the others have called no client");
}

/// The servers of tmux that a test has, gone with it.
struct Servers<'a>(&'a World);

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        for server in ["default", "person"] {
            let _ = tmux(self.0, server, &["kill-server"]);
        }
    }
}

/// `default` is the server of the background; a person sits at another.
fn tmux(world: &World, server: &str, args: &[&str]) -> Run {
    let mut command = world.command("tmux");
    command.env("TMUX_TMPDIR", world.root()).env("TERM", "xterm");
    command.args(["-L", server, "-f", "/dev/null"]).args(args);
    Run::of(command, "", PATIENCE)
}

fn a_session_in_the_background_is_seen_joined_and_killed_with_its_client() {
    let world = world();
    let (stand_in, gate) = held();
    let _servers = Servers(&world);
    let ralph = |args: &[&str]| {
        let mut command: Command = world.driver(&stand_in, &[&["refine"], args].concat());
        command.env("TMUX_TMPDIR", world.root()).env_remove("TMUX");
        Run::of(command, "", PATIENCE)
    };
    let begun =
        ralph(&["loop", "--plan", "plan.md", "--permission-mode", "acceptEdits", "--background"]);
    assert!(begun.exits(0).stdout.contains("in the tmux session refine-plan"));
    gate.wait_until_reached(PATIENCE).unwrap();
    let is_shown = || ralph(&["peek", "plan"]).stdout.contains("round 1/10");
    assert!(wait_until(PATIENCE, is_shown), "{}", ralph(&["peek", "plan"]).stdout);
    let listed = ralph(&["list"]).exits(0).stdout;
    assert!(listed.contains("plan.md  running in tmux refine-plan 0/10"), "{listed}");

    // A person's terminal, as large as the smallest.
    let exe = world.driver(&stand_in, &[]).get_program().to_owned();
    let joins = format!(
        "env -u TMUX TMUX_TMPDIR={} {} refine attach",
        world.root().display(),
        exe.to_str().unwrap()
    );
    tmux(&world, "person", &["new-session", "-d", "-x", "80", "-y", "24", &joins]).exits(0);
    let has_joined = || {
        !tmux(&world, "default", &["list-clients", "-t", "=refine-plan"]).stdout.trim().is_empty()
    };
    assert!(wait_until(PATIENCE, has_joined), "nobody joined");
    let seen = || tmux(&world, "person", &["capture-pane", "-p"]).stdout.contains("round 1/10");
    assert!(wait_until(PATIENCE, seen), "the person does not see the round");

    let killed = ralph(&["kill", "plan"]).exits(0).stdout;
    assert!(killed.contains("`plan` is ended; what it did stays"), "{killed}");
    let kept = session(&world);
    assert_eq!(
        (&kept["status"], &kept["history"][0]["end"]),
        (&json!("cancelled"), &json!("interrupted"))
    );
    assert!(!ralph(&["list"]).stdout.contains("running"));
    // The client is gone with it: what it is told now, nobody hears.
    gate.open();
    assert_eq!(stand_in.requests().len(), 1);
    assert!(!plan(&world).contains("Better") && !world.project().join(".omc").exists());
}

fn the_beads_of_bd_are_refined_by_its_own_commands() {
    let world = world();
    let programs = world.root().join("programs");
    fs::create_dir(&programs).unwrap();
    symlink(executables().join(FAKE_BD), programs.join("bd")).unwrap();
    let bead = |id: &str| {
        json!({"id": id, "title": format!("do {id}"), "status": "open", "priority": 2, "issue_type": "task",
            "created_at": "2026-05-01T00:00:00Z", "updated_at": "2026-05-01T00:00:00Z"})
    };
    fs::create_dir(world.project().join(".beads")).unwrap();
    let store = world.project().join(".beads/issues.jsonl");
    fs::write(&store, format!("{}\n{}\n{}\n", bead("b-1"), bead("b-2"), bead("b-3"))).unwrap();
    let script = Script::new().answer_with(|request| {
        let does = match (round(request), request.tool_results().len()) {
            (1, 0) => "bd list --json",
            (1, 1) => "bd dep add b-2 b-1 --json && bd update b-1 --append-notes='say how it is tested' --json",
            (2, 0) => "bd close b-3 --reason='the same as b-1' --json",
            (1, _) => return ScriptedTurn::text(&ended(2)),
            (2, _) => return ScriptedTurn::text(&ended(1)),
            _ => return ScriptedTurn::text(&ended(0)),
        };
        ScriptedTurn::bash(does)
    });
    let stand_in = StandIn::start(script).unwrap();
    let args = [
        "refine",
        "loop",
        "--mode",
        "beads",
        "--session",
        "plan",
        "--permission-mode",
        "bypassPermissions",
    ];
    let mut command = world.driver(&stand_in, &args);
    let path = command.get_envs().find_map(|(name, value)| value.filter(|_| name == "PATH"));
    let folders = std::env::split_paths(path.expect("the world has one"));
    let path = std::env::join_paths([programs].into_iter().chain(folders)).unwrap();
    command.env("PATH", path);
    let run = Run::of(command, "", 4 * PATIENCE);
    let run = run.exits(0);
    assert!(
        run.stdout.contains("plateau at round 3: the list of tasks no longer changes"),
        "{}",
        run.stdout
    );
    let told = stand_in.requests()[0].all_text();
    assert!(told.contains("The tasks are beads, kept by `bd`"), "{told}");
    for result in
        stand_in.requests().iter().flat_map(ralph_test_support::fake_api::ApiRequest::tool_results)
    {
        assert!(!result.is_error, "{}", result.text);
    }
    let session = session(&world);
    let measured = |at: usize| session["history"][at]["measured"].clone();
    assert_eq!(measured(0), json!({"added": 0, "changed": 2, "closed": 0, "removed": 0}));
    assert_eq!(measured(1), json!({"added": 0, "changed": 0, "closed": 1, "removed": 0}));
    let beads = fs::read_to_string(&store).unwrap();
    assert!(beads.contains("say how it is tested") && beads.contains("the same as b-1"), "{beads}");
}
