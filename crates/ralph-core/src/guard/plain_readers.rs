//! The short list of commands for a conversation that may only read and has no wall.
//!
//! Each of these programs only reads, whatever its options are: none has one that writes a file or starts
//! another program. A line may join them by pipes.

use crate::shell::{self, Join, Simple};

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
pub(super) fn named() -> String {
    PLAIN_READERS.join(", ")
}

#[cfg(test)]
mod tests {
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
