//! Command lines: the table row of one in a live loop, and the short list for a conversation that may only read and has no
//! wall.

use super::{Rule, RuleHit, Situation, ToolCall, places, ralph_command};
use crate::shell::programs::behind_wrappers;
use crate::shell::{self, Join, Simple};

// Finds the table row for a command line of a live loop.
//
// Only the text counts: a line that names a protected place runs if each of its programs only reads. A path
// that the line computes passes, and so does a script; what such a line changes is detected afterwards.

/// The row for the command line of a shell.
pub(super) fn row(situation: &Situation<'_>, call: &ToolCall<'_>) -> RuleHit {
    if call.cut {
        return (Rule::CutCommand, CUT.to_owned());
    }
    // The caller has judged what the line does to an artefact.
    if let Some(refused) = situation.session.and_then(|gate| gate.not_its_own.as_deref()) {
        return (Rule::Artefact, refused.to_owned());
    }
    let line = call.input.command.as_deref().unwrap_or_default();
    let refused = || ralph_command::refused(line).map(|reason| (Rule::RefusedCommand, reason));
    named(situation, line).or_else(refused).unwrap_or((Rule::Mutation, String::new()))
}

/// The protected place that a line names, unless it only reads it.
pub(super) fn named(situation: &Situation<'_>, line: &str) -> Option<RuleHit> {
    let place = situation.places.named_in(line)?;
    let reads = shell::programs(line).is_some_and(|programs| programs.iter().all(leaves_alone));
    (!reads).then(|| places::row(place))
}

/// True for a command that does not change what it names. Ralph's own commands refuse what they must.
fn leaves_alone(simple: &Simple) -> bool {
    const LOOKS: [&str; 9] =
        ["add", "blame", "commit", "diff", "grep", "log", "ls-files", "show", "status"];
    let inner = Simple { words: behind_wrappers(simple.program()).to_vec(), ..simple.clone() };
    let simple = &inner;
    let looks = || {
        let first = simple.arguments().first();
        first.is_some_and(|word| LOOKS.contains(&word.text.as_str()))
    };
    let more = match simple.name() {
        "cd" | "printf" | "ralph" | "test" | "true" | "[" => true,
        "git" => looks(),
        _ => false,
    };
    is_reader(simple) || !simple.writes && more
}

/// True for a command line that only runs `ralph`, in a way that starts no other program.
pub(super) fn only_asks_ralph(call: &ToolCall<'_>) -> bool {
    let line = call.input.command.as_deref().unwrap_or_default();
    let asks = |simple: &Simple| is_ralph(simple) && simple.is_plain() && !simple.writes;
    let programs = shell::programs(line).filter(|_| !call.cut).unwrap_or_default();
    !programs.is_empty() && programs.iter().all(asks)
}

const CUT: &str = "This command is longer than 64 KiB, and while a Ralph loop is live a command \
must be read whole before it runs. Write it to a file with the Write tool and run the file.";

// The short list of commands for a conversation that may only read and has no wall.
//
// Each of these programs only reads, whatever its options are: none has one that writes a file or starts
// another program. A line may join them by pipes.

#[rustfmt::skip]
const PLAIN_READERS: [&str; 35] = [
    "basename", "cat", "cksum", "cmp", "comm", "cut", "df", "dirname", "du", "echo", "egrep", "fgrep", "fold",
    "grep", "head", "id", "join", "jq", "ls", "md5sum", "nl", "od", "paste", "pwd", "readlink", "realpath",
    "sha256sum", "sleep", "stat", "tac", "tail", "tr", "uname", "wc", "whoami",
];

/// True for a program that only reads.
pub(super) fn is_reader(simple: &Simple) -> bool {
    let name = simple.program().first().map_or("", |word| word.text.as_str());
    let prints_time =
        || name == "date" && simple.arguments().iter().all(|word| word.text.starts_with('+'));
    let reads = PLAIN_READERS.contains(&name) || prints_time();
    reads && !simple.writes && simple.program().len() == simple.words.len()
}

/// Whether a line only reads: plain readers with pipes between them, and commands of Ralph's own that
/// `of_ralph` lets pass.
///
/// # Errors
/// Why it may do more.
pub(super) fn only_reads(line: &str, of_ralph: impl Fn(&Simple) -> bool) -> Result<(), String> {
    let Some(list) = shell::read(line) else { return Err(NOT_PLAIN.to_owned()) };
    let [(pipeline, Join::Then)] = list.as_slice() else {
        return Err(ONE_LINE.to_owned());
    };
    if pipeline.negated {
        return Err(ONE_LINE.to_owned());
    }
    for simple in &pipeline.commands {
        match simple.is_plain() {
            true if is_reader(simple) || !simple.writes && is_ralph(simple) && of_ralph(simple) => {
            }
            true if simple.writes => return Err("it writes a file".to_owned()),
            true => {
                return Err(format!(
                    "`{}` is not on the list of programs that only read",
                    simple.name()
                ));
            }
            false => return Err("a variable or `$(…)` may become anything".to_owned()),
        }
    }
    Ok(())
}

/// True for the command line of Ralph, under no other name.
pub(super) fn is_ralph(simple: &Simple) -> bool {
    simple.words.first().is_some_and(|word| word.text == "ralph")
}

const ONE_LINE: &str = "only pipes may join the commands of a line";
const NOT_PLAIN: &str = "the line is more than programs with pipes between them";

/// The list, as a refusal names it.
pub(super) fn named_readers() -> String {
    PLAIN_READERS.join(", ")
}

#[cfg(test)]
mod readers_tests {
    use super::*;

    #[test]
    fn only_plain_readers_with_pipes_pass() {
        for line in [
            "ls -la",
            "cat README.md | grep -n 'a$' | head -n 3",
            "wc -l *.md 2>/dev/null",
            "grep -rn \"a b\" src 2>&1 | sort_me_not",
        ] {
            let passes = only_reads(line, |_| false).is_ok();
            assert_eq!(passes, !line.contains("sort_me"), "{line}");
        }
        for line in [
            "ls; cat a",
            "ls && cat a",
            "ls &",
            "ls\ncat a",
            "cat a > b",
            "cat $x",
            "cat $(touch y)",
            "cat `touch y`",
            "X=1 ls",
            "/tmp/ls",
            "./cat a",
            "find . -delete",
            "sort -o a b",
            "rg --pre ./x a",
            "git status",
            "(ls)",
            "! ls",
            "ls *(e:'touch y':)",
            "x=-delete; find . $=x",
            "printf '%d' 'path[$(touch y)]'",
            "cat <<E\nE",
            "",
            "ralph status",
        ] {
            assert!(only_reads(line, |_| false).is_err(), "{line}");
        }
        assert!(only_reads("ralph status | cat", |_| true).is_ok());
    }
}
