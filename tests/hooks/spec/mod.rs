//! The examples of the five documents that Ralph was built from, letter for letter as input: each test reads its
//! examples and works with them. Where Ralph does otherwise than an example, the test shows the words of the refusal.
//!
//! `tests/fixtures/spec/README.md` lists the examples with the tests; a document may write `<N>` or `[task]` where a
//! value belongs, so a test fills these in and says so.

mod plan_loop;
mod ralph_pattern;
mod ralph_v2;
mod ralplan;
mod refinery;

use crate::world::{World, executable};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Everything of a command that has ended.
#[derive(Debug)]
struct Shown {
    exit: i32,
    stdout: String,
    stderr: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/spec")
}

/// An example as its document writes it.
fn example(name: &str) -> String {
    let path = folder().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The guide for those who come from another tool, on one line.
fn migration() -> String {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/migration.md");
    fs::read_to_string(guide).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cells of a table, without its head.
fn rows(table: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    table.lines().skip(2).map(cells).collect()
}

/// The words between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The words between asterisks.
fn bold(text: &str) -> String {
    text.split("**").nth(1).unwrap_or_default().to_owned()
}

/// The command line in a person's terminal, with something on its standard input.
fn terminal(world: &World, arguments: &[&str], stdin: &str) -> Shown {
    let mut command = Command::new(executable("ralph"));
    command.args(arguments);
    shown(world, command, stdin)
}

/// Any program in a person's terminal.
fn shown(world: &World, mut command: Command, stdin: &str) -> Shown {
    command.env_clear().envs(&world.env).current_dir(&world.cwd);
    for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE"] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses does not read.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Shown {
        exit: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Shown {
    #[track_caller]
    fn done(self) -> Shown {
        assert_eq!(self.exit, 0, "{self:?}");
        self
    }

    #[track_caller]
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A program of this name that comes first on `PATH`.
fn program(world: &mut World, name: &str, script: &str) {
    let bin = world.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = bin.join(name);
    let version = match name {
        "claude" => {
            "[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit"
        }
        _ => "",
    };
    fs::write(&path, format!("#!/bin/sh\n{version}\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let ours = format!("{}:", bin.display());
    if !world.env["PATH"].starts_with(&ours) {
        let all = ours + &world.env["PATH"];
        world.set("PATH", &all);
    }
}

#[test]
fn every_example_is_listed_and_the_test_that_is_named_reads_it() {
    let sources =
        ["mod", "plan_loop", "ralph_pattern", "ralph_v2", "ralplan", "refinery"].map(|module| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hooks/spec");
            fs::read_to_string(path.join(format!("{module}.rs"))).unwrap()
        });
    let sources = sources.join("\n");
    let list = example("README.md");
    let table = list.split_once("\n\n|").map(|(_, table)| format!("|{table}")).unwrap();
    let mut listed = BTreeSet::new();
    for row in rows(table.trim_end()) {
        let [file, section, test] = row.try_into().unwrap();
        let (file, test) = (file.replace('`', ""), test.replace('`', ""));
        assert!(!section.is_empty(), "{file} names no section");
        let (_, body) = sources.split_once(&format!("fn {test}(")).unwrap_or_else(|| {
            panic!("{file}: there is no test `{test}`");
        });
        let body = body.split("\n}\n").next().unwrap();
        assert!(body.contains(&format!("\"{file}\"")), "{file} is not read by {test}");
        assert!(listed.insert(file), "listed twice");
    }
    let mut found = BTreeSet::new();
    let mut folders = vec![folder()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder()).unwrap().to_str().unwrap().to_owned();
            if name != "README.md" {
                found.insert(name);
            }
        }
    }
    assert_eq!(listed, found);
    assert!(found.len() > 70, "{} examples", found.len());
}

#[test]
fn the_guide_tells_each_way_in_which_ralph_differs() {
    let guide = migration();
    for term in [
        // The loop
        "`/tmp/ralph_session_manifest`",
        "`/tmp/ralph_archive_<timestamp>.json`",
        "completion token",
        "`git diff --stat`",
        "`exit 2`",
        "stop hook timeout",
        "`.sh` files",
        "`[context] also`",
        "`ruff --fix`",
        "`backpressure.always`",
        "comments in the state file",
        "`acceptance_criteria[].verified`",
        "proves nothing",
        "text in `errors`",
        // Consensus planning
        "Metis",
        "`ralplan-planner`",
        "is a copy",
        "`started_at`",
        "`- Plan hash:`",
        "`ExitPlanMode`",
        "`json ralph-plan`",
        "`/oh-my-claudecode:cancel`",
        // The plan loop
        "`lib/plan_loop.sh`",
        "permission flag",
        // Orchestrated sessions
        "a model is the orchestrator",
        "writes no artefact",
        "wait for feedback",
        "`replanning/replaced/`",
        "signals have no form",
        "`orchestrator.state`",
        "PowerShell",
        "front matter for VS Code",
        // Refinement
        "`refine-loop.sh`, `refine-once.sh`",
        "`scripts/refine/README.md`",
        "`--dangerously-skip-permissions`",
        "SESSION is `refine`",
        "measured changes",
        "nobody measured them",
        "without `bd`",
        "only the user starts clients",
        // Plan loop and stop, where Ralph does more than the documents
        "`decision: block`",
        "findings of slow checks",
        "after a round",
        "the planner calls `plan-sync`",
        "too long for it",
        "note of `plan.md`",
        // The design card
        "hooks in skill front matter",
        "`ralph-stop-hook wait`",
    ] {
        assert!(guide.contains(term), "{term}");
    }
}

#[test]
fn the_crates_of_the_design_card_are_used_or_the_choices_say_why_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let (manifest, choices) = (read("Cargo.toml"), read("docs/developers/choices.md"));
    for name in ["serde", "serde_json", "sha2", "anyhow", "tempfile", "globset", "walkdir", "which"]
    {
        let is_used = manifest.lines().any(|line| line.starts_with(&format!("{name} = ")));
        let is_explained = choices.contains(&format!("**No `{name}`.**"));
        assert_eq!(is_used, !is_explained, "{name}");
    }
    for folder in ["crates", "tests", "skills", "agents"] {
        assert!(root.join(folder).is_dir(), "{folder}");
    }
    assert!(root.join("install.sh").metadata().unwrap().permissions().mode() & 0o111 != 0);
    // The one process that waits, and for how long.
    let settings: serde_json::Value = serde_json::from_str(&read("settings.example.json")).unwrap();
    let stops = settings["hooks"]["Stop"].to_string();
    assert!(
        stops.contains("\"wait\"")
            && stops.contains("1860")
            && migration().contains("up to 31 min"),
        "{stops}"
    );
}
