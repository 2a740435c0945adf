//! Mistakes on the command line: one line each, one exit code for each cause, and advice that works.

use crate::world::World;

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
