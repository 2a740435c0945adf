//! Refuses acceptance commands that would succeed whatever the state of the work.
//!
//! A criterion is proof only if its command can fail. This catches mistakes and shortcuts that are
//! visible in the text; a receipt reveals a command whose tests did not run.

use crate::shell::{self, Join, Pipeline, Simple};
use std::fmt;

/// Why a command proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vacuous {
    /// There is no command.
    Empty,
    /// No part of it can fail: `true`, `:`, `exit 0`, `echo …`.
    CannotFail,
    /// The rest of the line discards the failure of a real command: `… || true`.
    HidesFailure,
}

impl Vacuous {
    /// The reason, to print after the command.
    pub fn reason(self) -> &'static str {
        match self {
            Vacuous::Empty => "there is no command",
            Vacuous::CannotFail => "it succeeds whatever the work is",
            Vacuous::HidesFailure => "the rest of the line hides the command's failure",
        }
    }
}

impl fmt::Display for Vacuous {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.reason())
    }
}

/// Returns why this command proves nothing; `None` if it may prove something.
pub fn refuse(command: &str) -> Option<Vacuous> {
    let list = shell::read(command)?;
    if list.is_empty() {
        return Some(Vacuous::Empty);
    }
    // `set -e` and `set -o pipefail` change which failures count.
    if list.iter().flat_map(|(pipeline, _)| &pipeline.commands).any(|one| one.name() == "set") {
        return None;
    }
    let only_prints = list.iter().all(|(pipeline, _)| only_prints(pipeline));
    let why = if only_prints { Vacuous::CannotFail } else { Vacuous::HidesFailure };
    passes(&list).then_some(why)
}

/// Commands that always succeed for our purposes.
const TRIVIAL: [&str; 11] =
    [":", "true", "echo", "printf", "pwd", "sleep", "date", "export", "unset", "umask", "trap"];

/// Ends of a pipeline that pass their input on and never fail.
const FILTERS: [&str; 6] = ["tee", "cat", "head", "tail", "sort", "tr"];

/// True if all its commands only print: then there is no failure to hide.
fn only_prints(pipeline: &Pipeline) -> bool {
    let mut commands = pipeline.commands.iter().enumerate();
    commands.all(|(at, simple)| is_trivial(simple) || at > 0 && is_filter(simple))
}

fn is_filter(simple: &Simple) -> bool {
    FILTERS.contains(&simple.name())
}

fn is_trivial(simple: &Simple) -> bool {
    let mut given = simple.arguments().iter().map(|word| word.text.as_str());
    match simple.name() {
        "exit" | "return" => given.next().is_none_or(|code| code == "0"),
        "bash" | "sh" | "zsh" | "dash" => {
            given.next() == Some("-c") && given.next().is_some_and(|text| refuse(text).is_some())
        }
        // Only assignments.
        "" => true,
        other => TRIVIAL.contains(&other),
    }
}

/// True if this list always succeeds: what stands behind the last `;` decides.
fn passes(list: &[(Pipeline, Join)]) -> bool {
    let ends = |join: Join| matches!(join, Join::Then | Join::Background);
    let last = list.split_inclusive(|(_, join)| ends(*join)).next_back().unwrap_or_default();
    let mut passes = true;
    let mut before = Join::And;
    for (pipeline, join) in last {
        passes = match before {
            Join::Or => passes || pipeline_passes(pipeline),
            _ => passes && pipeline_passes(pipeline),
        };
        before = *join;
    }
    // The exit code of a background command is lost.
    passes || before == Join::Background
}

fn pipeline_passes(pipeline: &Pipeline) -> bool {
    let Some(last) = pipeline.commands.last() else { return true };
    let is_end = is_filter(last) && pipeline.commands.len() > 1;
    !pipeline.negated && (is_end || is_trivial(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(commands: &[&str], expected: Option<Vacuous>) {
        for command in commands {
            assert_eq!(refuse(command), expected, "{command}");
        }
    }

    #[test]
    fn no_command_is_no_proof() {
        check(&["", "  ", ";", " ; ;", "# npm test"], Some(Vacuous::Empty));
    }

    #[test]
    fn a_command_that_cannot_fail_is_no_proof() {
        check(
            &[
                "true",
                " true ; ",
                ":",
                "exit 0",
                "echo done",
                "echo 'all good' && true",
                "printf ok",
                "sh -c 'exit 0'",
                "bash -c \"true\"",
                "/bin/true",
                "true || echo x",
                "X=1",
                "exit",
                "echo a | cat | true",
                "sh -c 'npm test || true'",
                "return 0",
            ],
            Some(Vacuous::CannotFail),
        );
    }

    #[test]
    fn a_command_whose_failure_is_thrown_away_is_no_proof() {
        check(
            &[
                "npm test || true",
                "npm test; true",
                "npm test || echo failed",
                "npm test; exit 0",
                "npm test | tee log",
                "npm test 2>&1 | tail -5",
                "npm test &",
                "npm test\necho done",
                "true || npm test",
                "true && true || npm test",
                "npm test | true",
                "cat file | echo a",
                "echo a | npm test | true",
                "grep -e x; true",
            ],
            Some(Vacuous::HidesFailure),
        );
    }

    #[test]
    fn a_command_that_can_fail_is_let_through() {
        check(
            &[
                "npm test",
                "cargo test && echo ok",
                "echo start; npm test",
                "true && npm test",
                "set -e; npm test; echo done",
                "set -o errexit; npm test; echo done",
                "exit; npm test",
                "npm a; npm b",
                "npm test | grep -q ok",
                "sh -x true",
                "sh -c \"$X\"",
                "set -o pipefail; npm test | tee log",
                "grep -q 'true' file",
                "test -f out.txt",
                "! grep -r TODO src",
                "npm test || exit 1",
                "sh -c 'npm test'",
                "[ -s a ]",
                "X=$(npm test)",
                "make test # true",
                "echo \"unclosed",
                "CI=true npm test",
                "if npm test; then true; else exit 1; fi",
            ],
            None,
        );
    }

    #[test]
    fn no_command_makes_the_parser_panic() {
        let pieces = [
            "true", "npm test", "||", "&&", ";", "|", "&", "(", ")", "{", "}", "'", "\"", "`",
            "$(", "$((", "if", "then", "fi", "!", "<<E\n", ">", "#", "\\", "\n", "[[", "]]",
            "case", "in", "esac", "\u{e9}", "${",
        ];
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        let mut roll = |sides: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % sides as u64).unwrap()
        };
        for _ in 0..1_000 {
            let command: Vec<&str> = (0..roll(10)).map(|_| pieces[roll(pieces.len())]).collect();
            let _ = refuse(&command.join(" "));
        }
    }

    #[test]
    fn a_long_or_deep_command_does_not_exhaust_the_stack() {
        for piece in
            ["(", "{ ", "$(", "`", "if ", "! ", "a && ", "a | ", "a; ", "\\", "x=", "<<E ", "f() "]
        {
            let command = piece.repeat(60_000 / piece.len());
            let _ = refuse(&command);
        }
    }

    #[test]
    fn what_may_fail_is_told_from_what_cannot_by_the_part_that_decides() {
        let (cannot, hides) = (Some(Vacuous::CannotFail), Some(Vacuous::HidesFailure));
        for (command, expected) in [
            ("exit 1", None),
            ("return 2", None),
            ("exit 00", None),
            ("bash -x true", None),
            ("bash -c", None),
            ("dash -c :", cannot),
            ("zsh -c 'npm test'", None),
            ("cat a", None),
            ("tee log", None),
            ("true | cat", cannot),
            ("a | cat", hides),
            ("cat a | tee b", hides),
            ("false && true", None),
            ("a || true && echo b", hides),
            ("true && a", None),
            ("true || a || b", hides),
            ("a & true", hides),
            ("a & b", None),
            ("true &", cannot),
            ("a; b &", hides),
            ("! true", None),
            ("! a | cat", None),
            ("set -o pipefail; a | tee b", None),
            ("a; set +e; true", None),
            ("X=1 a", None),
            ("X=1 true", cannot),
        ] {
            assert_eq!(refuse(command), expected, "{command}");
        }
        let reasons = [Vacuous::Empty, Vacuous::CannotFail, Vacuous::HidesFailure];
        assert_eq!(
            reasons.map(|why| why.to_string()),
            [
                "there is no command",
                "it succeeds whatever the work is",
                "the rest of the line hides the command's failure"
            ]
        );
    }
}
