//! Refuses acceptance commands that would succeed whatever the work looks like.
//!
//! A criterion is proof only if its command can fail. What is caught here is a mistake or a
//! shortcut that can be seen in the text; a command whose tests do not run is found by its receipt.

use brush_parser::ast;
use std::fmt;

/// Why a command proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vacuous {
    /// There is no command.
    Empty,
    /// Nothing in it can fail: `true`, `:`, `exit 0`, `echo …`.
    CannotFail,
    /// A real command's failure is thrown away by what follows it: `… || true`.
    HidesFailure,
}

impl Vacuous {
    /// In words, to be put after the command.
    pub fn reason(self) -> &'static str {
        match self {
            Vacuous::Empty => "there is no command",
            Vacuous::CannotFail => "it succeeds whatever the work looks like",
            Vacuous::HidesFailure => "what follows the real command hides its failure",
        }
    }
}

impl fmt::Display for Vacuous {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.reason())
    }
}

/// Why this command proves nothing, or none if it may.
pub fn refuse(command: &str) -> Option<Vacuous> {
    let bare = command.trim_matches(|c: char| c.is_whitespace() || c == ';');
    if bare.is_empty() {
        return Some(Vacuous::Empty);
    }
    let program = parse(bare)?;
    let lists = &program.complete_commands;
    if lists.is_empty() {
        // Only a comment.
        return Some(Vacuous::Empty);
    }
    let items = lists.iter().flat_map(|list| &list.0);
    let shell = Shell { pipefail: bare.contains("pipefail") };
    let prints = items.clone().all(|item| only_prints(&item.0));
    let why = if prints { Vacuous::CannotFail } else { Vacuous::HidesFailure };
    shell.passes(items).then_some(why)
}

/// Longer or deeper commands are taken as they are: the parser recurses.
const MAX_LENGTH: usize = 16 * 1024;
const MAX_OPENINGS: usize = 16;
const OPENING_WORDS: [&str; 9] =
    ["if", "while", "until", "for", "case", "select", "coproc", "time", "!"];

fn parse(command: &str) -> Option<ast::Program> {
    let brackets = command.matches(['(', '{', '`']).count();
    let keywords = command.split_whitespace().filter(|word| OPENING_WORDS.contains(word)).count();
    if command.len() > MAX_LENGTH || brackets + keywords > MAX_OPENINGS {
        return None;
    }
    let options = brush_parser::ParserOptions::default();
    brush_parser::Parser::new(command.as_bytes(), &options).parse_program().ok()
}

/// Commands that always succeed, for all that matters here.
const TRIVIAL: [&str; 14] = [
    ":",
    "true",
    "/bin/true",
    "/usr/bin/true",
    "echo",
    "printf",
    "pwd",
    "sleep",
    "date",
    "set",
    "export",
    "unset",
    "umask",
    "trap",
];

/// Ends of a pipeline that pass on what they get and never fail.
const FILTERS: [&str; 6] = ["tee", "cat", "head", "tail", "sort", "tr"];

struct Shell {
    pipefail: bool,
}

impl Shell {
    /// True if these commands, one after the other, always succeed. Without `set -e` only the
    /// last one decides.
    fn passes<'a>(&self, items: impl Iterator<Item = &'a ast::CompoundListItem> + Clone) -> bool {
        if items.clone().any(|item| sets_errexit(&item.0)) {
            return items.clone().all(|item| self.item_passes(item));
        }
        let exits = items.clone().find(|item| exits_well(&item.0));
        exits.or(items.last()).is_none_or(|item| self.item_passes(item))
    }

    fn item_passes(&self, item: &ast::CompoundListItem) -> bool {
        // Sent to the background, a command's exit code is nobody's.
        matches!(item.1, ast::SeparatorOperator::Async) || self.and_or_passes(&item.0)
    }

    fn and_or_passes(&self, list: &ast::AndOrList) -> bool {
        list.additional.iter().fold(self.pipeline_passes(&list.first), |passes, next| match next {
            ast::AndOr::And(pipeline) => passes && self.pipeline_passes(pipeline),
            ast::AndOr::Or(pipeline) => passes || self.pipeline_passes(pipeline),
        })
    }

    fn pipeline_passes(&self, pipeline: &ast::Pipeline) -> bool {
        let Some(last) = pipeline.seq.last() else { return true };
        if pipeline.bang {
            return false;
        }
        if pipeline.seq.len() == 1 {
            return self.command_passes(last);
        }
        let filter =
            matches!(last, ast::Command::Simple(simple) if FILTERS.contains(&name(simple)));
        let decides = filter || self.command_passes(last);
        decides && (!self.pipefail || pipeline.seq.iter().all(|one| self.command_passes(one)))
    }

    /// The parser takes `( ( npm test ) )` for arithmetic, though a shell runs it; so what it took
    /// for an expression is read as commands.
    fn command_passes(&self, command: &ast::Command) -> bool {
        match command {
            ast::Command::Simple(simple) => is_trivial(simple),
            ast::Command::Compound(ast::CompoundCommand::BraceGroup(group), _) => {
                self.passes(group.list.0.iter())
            }
            ast::Command::Compound(ast::CompoundCommand::Subshell(shell), _) => {
                self.passes(shell.list.0.iter())
            }
            ast::Command::Compound(ast::CompoundCommand::Arithmetic(read), _) => {
                refuse(&read.expr.value).is_some()
            }
            ast::Command::Function(_) => true,
            _ => false,
        }
    }
}

/// True if nothing in it does more than print: then there is no failure to hide.
fn only_prints(list: &ast::AndOrList) -> bool {
    let others = list.additional.iter().map(|next| match next {
        ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => pipeline,
    });
    std::iter::once(&list.first).chain(others).all(|pipeline| {
        pipeline.seq.iter().enumerate().all(|(at, command)| match command {
            ast::Command::Simple(simple) => {
                is_trivial(simple) || (at > 0 && FILTERS.contains(&name(simple)))
            }
            ast::Command::Compound(ast::CompoundCommand::BraceGroup(group), _) => {
                group.list.0.iter().all(|item| only_prints(&item.0))
            }
            ast::Command::Compound(ast::CompoundCommand::Subshell(shell), _) => {
                shell.list.0.iter().all(|item| only_prints(&item.0))
            }
            ast::Command::Compound(ast::CompoundCommand::Arithmetic(read), _) => {
                refuse(&read.expr.value) == Some(Vacuous::CannotFail)
            }
            ast::Command::Function(_) => true,
            _ => false,
        })
    })
}

fn name(simple: &ast::SimpleCommand) -> &str {
    simple.word_or_name.as_ref().map_or("", |word| word.value.as_str())
}

fn arguments(simple: &ast::SimpleCommand) -> impl Iterator<Item = &str> {
    simple.suffix.iter().flat_map(|suffix| &suffix.0).filter_map(|item| match item {
        ast::CommandPrefixOrSuffixItem::Word(word) => Some(word.value.as_str()),
        _ => None,
    })
}

fn is_trivial(simple: &ast::SimpleCommand) -> bool {
    match name(simple) {
        "exit" | "return" => arguments(simple).next().is_none_or(|code| code == "0"),
        "bash" | "sh" | "zsh" | "dash" => {
            let mut given = arguments(simple);
            given.next() == Some("-c")
                && given
                    .next()
                    .is_some_and(|text| refuse(&brush_parser::unquote_str(text)).is_some())
        }
        // Assignments alone; one from `$(…)` may fail.
        "" => !simple.to_string().contains(['$', '`']),
        other => TRIVIAL.contains(&other),
    }
}

fn only_command(list: &ast::AndOrList) -> Option<&ast::SimpleCommand> {
    match (list.additional.as_slice(), list.first.seq.as_slice()) {
        ([], [ast::Command::Simple(simple)]) => Some(simple),
        _ => None,
    }
}

/// `exit 0` as a statement: nothing after it is reached.
fn exits_well(list: &ast::AndOrList) -> bool {
    only_command(list).is_some_and(|simple| {
        name(simple) == "exit" && is_trivial(simple) && arguments(simple).next().is_some()
    })
}

fn sets_errexit(list: &ast::AndOrList) -> bool {
    only_command(list).is_some_and(|simple| {
        name(simple) == "set"
            && arguments(simple).any(|word| {
                word == "errexit"
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains('e'))
            })
    })
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
                "(true)",
                "{ echo a; }",
                "sh -c 'exit 0'",
                "bash -c \"true\"",
                "/bin/true",
                "true || echo x",
                "X=1",
                "exit",
                "echo a | cat | true",
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
                "exit 0; npm test",
                "(npm test || true)",
                "npm test\necho done",
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
        for _ in 0..5_000 {
            let command: Vec<&str> = (0..roll(10)).map(|_| pieces[roll(pieces.len())]).collect();
            let _ = refuse(&command.join(" "));
        }
    }

    #[test]
    fn nesting_up_to_the_bound_is_read_without_effort() {
        let nested = |depth: usize| format!("{}true{}", "( ".repeat(depth), " )".repeat(depth));
        for depth in [1, 2, 3, 8, MAX_OPENINGS] {
            assert_eq!(refuse(&nested(depth)), Some(Vacuous::CannotFail), "{depth}");
        }
    }

    #[test]
    fn a_long_or_deep_command_does_not_exhaust_the_stack() {
        for piece in [
            "(", "{ ", "$(", "`", "if ", "while ", "! ", "time ", "a && ", "a | ", "a; ", "\\",
            "x=", "<<E ", "f() ",
        ] {
            let command = piece.repeat(MAX_LENGTH / piece.len());
            let _ = refuse(&command);
        }
        assert_eq!(refuse(&"true ".repeat(9_000)), None, "it was not looked at");
    }
}
