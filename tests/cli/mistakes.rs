//! Mistakes on the command line: one line each, one exit code for each cause, and advice that works.

use crate::world::{World, start};
use ralph_core::guard::commands::ALIASES;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Each cause with commands that meet it in an empty project, and their exit code.
const CAUSES: [(i32, &str, &[&[&str]]); 5] = [
    (
        1,
        "no loop is live",
        &[
            &["pause"],
            &["resume"],
            &["adopt"],
            &["verify"],
            &["signal", "steer", "x"],
            &["criteria", "accept"],
            &["parallel", "next"],
            &["blocked", "make an account"],
        ],
    ),
    (1, "there is no loop", &[&["explain"], &["report"], &["replay"], &["checkpoint", "list"]]),
    (
        1,
        "there is no loop `x`",
        &[
            &["status", "--loop", "x"],
            &["cancel", "--loop", "x"],
            &["pause", "--loop", "x"],
            &["verify", "--loop", "x"],
            &["report", "--loop", "x"],
            &["report", "x"],
            &["replay", "--loop", "x"],
            &["replay", "x"],
            &["task", "list", "--loop", "x"],
            &["checkpoint", "list", "--loop", "x"],
        ],
    ),
    (
        2,
        "no such file: `none`",
        &[
            &["check", "none"],
            &["adopt", "none"],
            &["task", "import", "none"],
            &["refine", "once", "--plan", "none"],
            &["refine", "loop", "--plan", "none"],
        ],
    ),
    (2, "has no command `stauts`", &[&["stauts"], &["help", "stauts"], &["task", "stauts"]]),
];

#[test]
fn a_cause_has_one_line_and_one_exit_code_in_all_commands() {
    let world = World::new();
    for (exit, says, commands) in CAUSES {
        for arguments in commands {
            let printed = world.ralph(arguments);
            assert_eq!(printed.exit, exit, "{arguments:?} {printed:?}");
            let line = printed.stderr.strip_prefix("ralph: ").unwrap_or_default();
            assert!(line.contains(says), "{arguments:?} {printed:?}");
            assert_eq!(line.lines().count(), 1, "{arguments:?} {printed:?}");
            assert!(!line.trim_end().ends_with('.'), "{arguments:?} {printed:?}");
        }
    }
    assert!(!world.path("ralph").exists(), "nothing was written");
}

/// The commands in the part of an error that says what to type; the part before names the mistake.
fn advised(error: &str) -> Vec<&str> {
    let (_, advice) = error.split_once("; ").unwrap_or_default();
    advice.split('`').skip(1).step_by(2).filter(|code| code.starts_with("ralph ")).collect()
}

#[test]
fn the_advised_command_exists_and_can_be_followed() {
    let world = World::new();
    let mut n_advised = 0;
    for (_, _, commands) in CAUSES {
        for arguments in commands {
            let printed = world.ralph(arguments);
            assert!(!printed.stderr.contains("--loop ID"), "no loop has an id: {printed:?}");
            for command in advised(&printed.stderr) {
                let words: Vec<&str> = command.split(' ').skip(1).collect();
                let answer = world.ralph(&words);
                assert_ne!(answer.exit, 2, "{arguments:?} advises `{command}`: {answer:?}");
                n_advised += 1;
            }
        }
    }
    assert!(n_advised > 0);
}

/// Files that a user or a repository names. A pipe that nobody writes to would hold a reader forever.
#[test]
fn a_pipe_in_place_of_a_file_holds_nobody_and_is_named() {
    let named: [(&str, &[&str]); 7] = [
        ("P", &["run", "--plan", "P"]),
        ("prd.json", &["run", "--plan", "prd.json"]),
        ("P", &["run", "-f", "P"]),
        ("P", &["task", "import", "P"]),
        ("P", &["refine", "begin", "--plan", "P"]),
        (".claude/ralph.toml", &["trust"]),
        (".claude/ralph.toml", &["start", "x"]),
    ];
    // A prompt only names its plan; of the project's own files, what is not there says nothing.
    let looked_at: [(&str, &[&str]); 5] = [
        ("P", &["refine", "prompt", "robot-mode", "--plan", "P"]),
        ("package.json", &["start", "x", "--ac", "it=make check"]),
        ("package.json", &["context"]),
        ("Cargo.toml", &["context"]),
        ("README.md", &["context"]),
    ];
    for (pipe, line) in named.into_iter().chain(looked_at) {
        let world = World::new().permissive();
        std::os::unix::fs::symlink("/bin/sh", world.path("bin/sh")).unwrap();
        let path = world.path("project").join(pipe);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
        let mut child = start(command.args(line));
        drop(child.stdin.take());
        let until = Instant::now() + Duration::from_secs(60);
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > until {
                child.kill().unwrap();
                panic!("ralph {} waits for a pipe", line.join(" "));
            }
            std::thread::yield_now();
        }
        let said = child.wait_with_output().unwrap();
        let words = String::from_utf8(said.stderr).unwrap();
        match named.contains(&(pipe, line)) {
            true => assert!(
                !said.status.success() && words.contains("is not a regular file"),
                "ralph {}: {words}",
                line.join(" ")
            ),
            false => assert!(said.status.success(), "ralph {}: {words}", line.join(" ")),
        }
    }
}

#[test]
fn each_former_name_of_a_command_goes_on_and_describes_the_command() {
    let world = World::new();
    for (alias, command) in ALIASES {
        let help = |name: &str| {
            let words: Vec<&str> = name.split(' ').chain(["--help"]).collect();
            world.ralph(&words).done().stdout
        };
        assert_eq!(help(alias), help(command), "{alias}");
        assert!(help(alias).contains("Usage: ralph"), "{alias}");
    }
}
