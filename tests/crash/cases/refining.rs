//! Refinement: whatever a round was in the middle of, the plan is one that stood there whole, and the
//! next round goes on.

use super::{Act, CASE, Case, model, person};
use crate::world::{World, executable};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ralph refine once",
        command: Some("refine loop"),
        set: || with_client(REFINES),
        act: |_| person(&["refine", "once", "--plan", "plan.md"]),
        then: |w, answered| {
            let before = plan(w);
            assert!(before == "one\n" && !answered || before == "one\nmore\n", "{before:?}");
            let said = w.elsewhere(&["refine", "once", "--plan", "plan.md"]);
            assert!(said.success, "{}", said.text);
            assert_eq!(plan(w), format!("{before}more\n"));
            let session = session(w);
            assert_eq!(session.get("round"), None);
            let done = session["iterations_completed"].as_u64().unwrap();
            assert!(done == 2 || done == 1 && !answered, "{session}");
        },
        ..CASE
    },
    Case {
        name: "ralph refine loop",
        command: Some("refine loop"),
        set: || {
            let world = with_client(REFINES);
            world.write(
                ".claude/ralph.toml",
                "[refine]\nplateau_threshold = 1\nmin_iterations = 2\n",
            );
            world
        },
        act: |_| person(&["refine", "loop", "--plan", "plan.md"]),
        then: |w, answered| {
            let is_over = || {
                w.project().join(".claude/refine-sessions.json").exists()
                    && session(w)["status"] == "plateau"
            };
            assert!(is_over() || !answered);
            if !is_over() {
                let said = w.elsewhere(&["refine", "loop", "--plan", "plan.md"]);
                assert!(said.success && is_over(), "{}", said.text);
            }
            let session = session(w);
            assert_eq!(session.get("round"), None);
            // One that was taken and not recorded is made once more.
            let done = session["iterations_completed"].as_u64().unwrap();
            let n = plan(w).matches("more\n").count() as u64;
            assert!(
                (done..=done + 1).contains(&n) && plan(w).starts_with("one\nmore\n"),
                "{n} of {done}"
            );
        },
        ..CASE
    },
    Case {
        name: "ralph refine begin",
        command: Some("refine begin"),
        set: || with_client(REFINES),
        act: |_| model(&["refine", "begin", "--plan", "plan.md"]),
        then: |w, answered| {
            // One that was not heard of is opened once more, and the one before it is cut.
            if !answered {
                begin(w);
            }
            assert_eq!(of_loop(w), (0, 1), "its loop knows of the round");
            write_on_copy(w);
            end(w);
            assert_eq!((plan(w).as_str(), session(w).get("round")), ("one\nmore\n", None));
            assert_eq!(of_loop(w), (1, 0));
        },
        ..CASE
    },
    Case {
        name: "ralph refine end",
        command: Some("refine end"),
        set: || {
            let world = with_client(REFINES);
            begin(&world);
            write_on_copy(&world);
            world
        },
        act: |_| Act { stdin: LINES.to_owned(), ..model(&["refine", "end"]) },
        then: |w, answered| {
            let is_open = session(w).get("round").is_some();
            assert!(!(is_open && answered));
            if is_open {
                end(w);
            }
            // What the agent wrote was where it had been, or in the plan already.
            assert_eq!((plan(w).as_str(), session(w).get("round")), ("one\nmore\n", None));
            // What the loop has not heard of, it hears of with the next round.
            begin(w);
            assert_eq!(of_loop(w), (1, 2));
        },
        ..CASE
    },
    Case {
        name: "ralph refine end, of the last round",
        command: Some("refine end"),
        set: || {
            let world = with_client(REFINES);
            world.write(".claude/ralph.toml", "[refine]\nmax_iterations = 1\n");
            begin(&world);
            write_on_copy(&world);
            world
        },
        act: |_| Act { stdin: LINES.to_owned(), ..model(&["refine", "end"]) },
        then: |w, answered| {
            if session(w).get("round").is_some() {
                assert!(!answered);
                end(w);
            }
            // Whoever was to end the loop may be gone: the next one who asks for a round ends it.
            let said = w.ralph(&["refine", "begin", "--session", "plan"]);
            assert!(!said.success, "{}", said.text);
            assert_eq!((w.ending().as_str(), plan(w).as_str()), ("max_iterations", "one\nmore\n"));
        },
        ..CASE
    },
    Case {
        name: "ralph refine once --commit",
        command: Some("refine loop"),
        set: || {
            let world = with_client(REFINES);
            world.git("add plan.md");
            world.git("commit -q -m plan");
            world.write("staged", "of somebody\n");
            world.git("add staged");
            world
        },
        act: |_| person(&["refine", "once", "--plan", "plan.md", "--commit"]),
        then: |w, answered| {
            let committed = w.git_says("show HEAD:plan.md");
            assert!(
                committed == "one\n" && !answered || committed == "one\nmore\n",
                "{committed:?}"
            );
            assert_eq!(w.git_says("show --name-only --format= HEAD"), "plan.md\n");
            assert_eq!(w.git_says("status --porcelain staged"), "A  staged\n");
            // A round that is in the plan and in no commit is a change like any other.
            if plan(w) != committed {
                w.git("commit -q -m theirs plan.md");
            }
            let said = w.elsewhere(&["refine", "once", "--plan", "plan.md", "--commit"]);
            assert!(said.success && said.text.contains("committed `plan.md`"), "{}", said.text);
            assert_eq!(w.git_says("show HEAD:plan.md"), plan(w));
        },
        moves_branch: true,
        ..CASE
    },
    Case {
        name: "ralph refine restore",
        command: Some("restore"),
        set: || {
            let world = with_client(REFINES);
            assert!(world.elsewhere(&["refine", "once", "--plan", "plan.md"]).success);
            // It stands in no version yet.
            world.write("plan.md", "mine\n");
            world
        },
        act: |_| person(&["refine", "restore", "1"]),
        then: |w, answered| {
            let now = plan(w);
            assert!(now == "mine\n" && !answered || now == "one\n", "{now:?}");
            for (version, text) in [("1", "one\n"), ("2", "one\nmore\n"), ("3", "mine\n")] {
                let said = w.elsewhere(&["refine", "restore", version]);
                assert!(said.success, "{version}: {}", said.text);
                assert_eq!(plan(w), text);
            }
        },
        ..CASE
    },
    Case {
        name: "ralph refine kill",
        command: Some("cancel"),
        set: || {
            let world = with_client("exit 3");
            assert!(!world.elsewhere(&["refine", "once", "--plan", "plan.md"]).success);
            world
        },
        act: |_| person(&["refine", "kill", "plan"]),
        then: |w, answered| {
            let is_over = session(w)["status"] == "cancelled";
            assert!(is_over || !answered, "{}", session(w));
            let said = w.elsewhere(&["refine", "kill", "plan"]);
            assert_eq!(said.success, !is_over, "{}", said.text);
            assert_eq!(
                (session(w)["status"].clone(), plan(w)),
                ("cancelled".into(), "one\n".to_owned())
            );
        },
        ..CASE
    },
    Case {
        name: "ralph ideate",
        command: Some("plan"),
        set: || with_client(IDEAS),
        act: |_| person(&["ideate"]),
        // It writes logs alone; the next run has its own.
        then: |w, _| assert!(w.elsewhere(&["ideate"]).success),
        ..CASE
    },
];

/// Adds a line to what it is to write on.
const REFINES: &str = r#"plan=${2#*Plan: \`}
echo more >>"${plan%%\`*}"
printf '%s\n' '{"type":"result","result":"x\n\nCHANGES: 1\nSUMMARY: y"}'"#;

const IDEAS: &str = r#"printf '%s\n' '{"type":"result","result":"```jsonl\n{\"name\":\"a\"}\n```\n\nCHANGES: 1\nSUMMARY: y"}'"#;

fn with_client(script: &str) -> World {
    let mut world = World::new();
    let client = world.root().join("client");
    fs::write(
        &client,
        format!(
            "#!/bin/sh\n[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit\n{script}\n"
        ),
    )
    .unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    world.set("RALPH_CLAUDE", client.to_str().unwrap());
    // No server of tmux but our own is asked.
    world.set("TMUX_TMPDIR", world.root().to_str().unwrap());
    world.write("plan.md", "one\n");
    world
}

#[track_caller]
fn begin(world: &World) {
    let said = world.ralph(&["refine", "begin", "--plan", "plan.md"]);
    assert!(said.success, "{}", said.text);
}

/// What the conversation's loop knows: rounds that are done, and the one that is open.
fn of_loop(world: &World) -> (u64, u64) {
    let state = world.state();
    (state["iteration"].as_u64().unwrap(), state["refine"]["open"].as_u64().unwrap())
}

const LINES: &str = "CHANGES: 1\nSUMMARY: y\n";

/// As an agent does.
fn write_on_copy(world: &World) {
    let folder =
        fs::read_dir(world.project().join(".omc/refine")).unwrap().next().unwrap().unwrap();
    fs::write(folder.path().join("plan.md"), "one\nmore\n").unwrap();
}

fn end(world: &World) {
    let script = format!("exec {} refine end", executable("ralph"));
    let mut command = world.wrapped(&["/bin/sh", "-c", &script]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(LINES.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

fn plan(world: &World) -> String {
    fs::read_to_string(world.project().join("plan.md")).unwrap()
}

fn session(world: &World) -> Value {
    let text = fs::read(world.project().join(".claude/refine-sessions.json")).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    document["sessions"]["plan"].clone()
}
