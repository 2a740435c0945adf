//! Refuses acceptance commands that would succeed whatever the state of the work.
//!
//! A criterion is proof only if its command can fail. This catches mistakes and shortcuts that are
//! visible in the text; a receipt reveals a command whose tests did not run.

use crate::shell;
use rable::{ListOperator, Node, NodeKind};
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
    let bare = command.trim_matches(|c: char| c.is_whitespace() || c == ';');
    if bare.is_empty() {
        return Some(Vacuous::Empty);
    }
    let nodes = parse(bare)?;
    let statements = statements(&nodes);
    if statements.is_empty() {
        // The line is only a comment.
        return Some(Vacuous::Empty);
    }
    let shell = Shell { pipefail: bare.contains("pipefail") };
    let prints = statements.iter().all(Statement::only_prints);
    let why = if prints { Vacuous::CannotFail } else { Vacuous::HidesFailure };
    shell.passes(&statements).then_some(why)
}

/// Longer or deeper commands are accepted unread, because the parser recurses.
const LONGEST: usize = 16 * 1024;
const MOST_OPENINGS: usize = 40;
/// A list of commands nests to the left, one level per separator.
const MOST_SEPARATORS: usize = 400;
const OPENING_WORDS: [&str; 9] =
    ["if", "while", "until", "for", "case", "select", "coproc", "time", "!"];

/// Parses the command line; `None` if it does not parse, is too long or nests too deeply.
pub(crate) fn parse(command: &str) -> Option<Vec<Node>> {
    let brackets = command.matches(['(', '{', '`']).count();
    let keywords = command.split_whitespace().filter(|word| OPENING_WORDS.contains(word)).count();
    let separators = command.matches([';', '&', '|']).count();
    if command.len() > LONGEST
        || brackets + keywords > MOST_OPENINGS
        || separators > MOST_SEPARATORS
    {
        return None;
    }
    rable::parse(command, true).ok()
}

/// Commands that always succeed for our purposes.
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

/// Ends of a pipeline that pass their input on and never fail.
const FILTERS: [&str; 6] = ["tee", "cat", "head", "tail", "sort", "tr"];

/// Commands joined by `&&` and `||`, up to a `;`, a `&` or the end of the line.
#[derive(Default)]
pub(crate) struct Statement<'a> {
    pub(crate) commands: Vec<&'a Node>,
    /// The operator between each command and the one before it.
    pub(crate) joins: Vec<ListOperator>,
    background: bool,
}

/// The statements of a command line, in order.
pub(crate) fn statements(nodes: &[Node]) -> Vec<Statement<'_>> {
    let mut found = Vec::new();
    for node in nodes {
        let mut commands = Vec::new();
        flatten(node, None, &mut commands);
        let mut open = Statement::default();
        for (command, operator) in commands {
            open.commands.push(command);
            match operator {
                Some(join @ (ListOperator::And | ListOperator::Or)) => open.joins.push(join),
                end => {
                    open.background = end == Some(ListOperator::Background);
                    found.push(std::mem::take(&mut open));
                }
            }
        }
        if !open.commands.is_empty() {
            found.push(open);
        }
    }
    found
}

/// Flattens the left-nested lists into commands in order, each with the operator after it.
fn flatten<'a>(
    node: &'a Node,
    after: Option<ListOperator>,
    found: &mut Vec<(&'a Node, Option<ListOperator>)>,
) {
    match &node.kind {
        NodeKind::List { items } => {
            let last = items.len().saturating_sub(1);
            for (at, item) in items.iter().enumerate() {
                let after = if at == last { item.operator.or(after) } else { item.operator };
                flatten(&item.command, after, found);
            }
        }
        _ if says_something(node) => found.push((node, after)),
        _ => {}
    }
}

fn says_something(node: &Node) -> bool {
    !matches!(node.kind, NodeKind::Comment { .. } | NodeKind::Empty)
}

/// The statements in the body of a group, which is a single node.
fn of_body(body: &Node) -> Vec<Statement<'_>> {
    statements(std::slice::from_ref(body))
}

impl<'a> Statement<'a> {
    /// True if all its commands only print: then there is no failure to hide.
    fn only_prints(&self) -> bool {
        self.commands.iter().all(|node| prints(node))
    }

    fn only_command(&self) -> Option<Simple<'a>> {
        match self.commands.as_slice() {
            [only] => Simple::of(only),
            _ => None,
        }
    }

    /// True for `exit 0` as a statement: nothing after it runs.
    fn exits_well(&self) -> bool {
        self.only_command().is_some_and(|simple| {
            simple.name() == "exit" && simple.is_trivial() && simple.words.len() > 1
        })
    }

    fn sets_errexit(&self) -> bool {
        self.only_command().is_some_and(|simple| {
            simple.name() == "set"
                && simple.arguments().any(|word| {
                    word == "errexit"
                        || (word.starts_with('-') && !word.starts_with("--") && word.contains('e'))
                })
        })
    }
}

fn prints(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Pipeline { commands, .. } => commands.iter().enumerate().all(|(at, command)| {
            prints(command) || (at > 0 && Simple::of(command).is_some_and(|one| one.is_filter()))
        }),
        NodeKind::Command { .. } => Simple::of(node).is_some_and(|simple| simple.is_trivial()),
        NodeKind::BraceGroup { body, .. } | NodeKind::Subshell { body, .. } => {
            of_body(body).iter().all(Statement::only_prints)
        }
        NodeKind::Function { .. } => true,
        _ => false,
    }
}

struct Shell {
    pipefail: bool,
}

impl Shell {
    /// True if these statements, run in sequence, always succeed. Without `set -e`, only the last
    /// one decides.
    fn passes(&self, statements: &[Statement<'_>]) -> bool {
        if statements.iter().any(Statement::sets_errexit) {
            return statements.iter().all(|statement| self.statement_passes(statement));
        }
        let exits = statements.iter().find(|statement| statement.exits_well());
        exits.or(statements.last()).is_none_or(|statement| self.statement_passes(statement))
    }

    fn statement_passes(&self, statement: &Statement<'_>) -> bool {
        // The exit code of a background command is lost.
        if statement.background {
            return true;
        }
        let mut commands = statement.commands.iter();
        let first = commands.next().is_none_or(|command| self.command_passes(command));
        commands.zip(&statement.joins).fold(first, |passes, (command, join)| match join {
            ListOperator::Or => passes || self.command_passes(command),
            _ => passes && self.command_passes(command),
        })
    }

    fn command_passes(&self, node: &Node) -> bool {
        match &node.kind {
            NodeKind::Command { .. } => Simple::of(node).is_some_and(|simple| simple.is_trivial()),
            NodeKind::Pipeline { commands, .. } => self.pipeline_passes(commands),
            NodeKind::BraceGroup { body, .. } | NodeKind::Subshell { body, .. } => {
                self.passes(&of_body(body))
            }
            NodeKind::Time { pipeline, .. } => self.command_passes(pipeline),
            NodeKind::Function { .. } => true,
            _ => false,
        }
    }

    fn pipeline_passes(&self, commands: &[Node]) -> bool {
        let Some(last) = commands.last() else { return true };
        let filter = Simple::of(last).is_some_and(|simple| simple.is_filter());
        let decides = filter || self.command_passes(last);
        decides && (!self.pipefail || commands.iter().all(|one| self.command_passes(one)))
    }
}

/// A simple command with its words as written.
struct Simple<'a> {
    assignments: &'a [Node],
    words: Vec<&'a str>,
}

impl<'a> Simple<'a> {
    fn of(node: &'a Node) -> Option<Simple<'a>> {
        let NodeKind::Command { assignments, words, .. } = &node.kind else { return None };
        let words = words.iter().filter_map(written).collect();
        Some(Simple { assignments, words })
    }

    fn name(&self) -> &'a str {
        self.words.first().copied().unwrap_or_default()
    }

    fn arguments(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.words.iter().skip(1).copied()
    }

    fn is_filter(&self) -> bool {
        FILTERS.contains(&self.name())
    }

    fn is_trivial(&self) -> bool {
        match self.name() {
            "exit" | "return" => self.arguments().next().is_none_or(|code| code == "0"),
            "bash" | "sh" | "zsh" | "dash" => {
                let mut given = self.arguments();
                given.next() == Some("-c")
                    && given.next().is_some_and(|text| refuse(&unquoted(text)).is_some())
            }
            // Only assignments; one with `$(…)` may fail.
            "" => {
                !self.assignments.iter().filter_map(written).any(|text| text.contains(['$', '`']))
            }
            other => TRIVIAL.contains(&other),
        }
    }
}

/// A word as written, with its quotes.
pub(crate) fn written(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Word { value, .. } => Some(value),
        _ => None,
    }
}

/// A word without its quotes, as an argument; a word that is not literal stays as written.
fn unquoted(word: &str) -> String {
    let reading = shell::read(&format!(": {word}"), &[]);
    let argument = reading.commands.iter().find_map(|simple| simple.arguments().first());
    argument.and_then(|word| word.literal()).unwrap_or(word).to_owned()
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
                "{ echo a; true; }",
                "f() { npm test; }",
                "sh -c 'npm test || true'",
                "set -o pipefail; echo a | true",
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
                "exit 0; npm test",
                "(npm test || true)",
                "npm test\necho done",
                "true || npm test",
                "true && true || npm test",
                "npm a; f() { npm b; }",
                "npm test | true",
                "cat file | echo a",
                "echo a | npm test | true",
                "time (npm test || true)",
                "set -x; npm test; true",
                "set e; npm test; true",
                "set --exact; npm test; true",
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
    fn nesting_up_to_the_bound_is_read_without_effort() {
        let nested = |depth: usize| format!("{}true{}", "( ".repeat(depth), " )".repeat(depth));
        for depth in [1, 2, 3, 8, MOST_OPENINGS] {
            assert_eq!(refuse(&nested(depth)), Some(Vacuous::CannotFail), "{depth}");
        }
        assert_eq!(refuse(&nested(41)), None);
        assert_eq!(refuse(&format!("time {}", nested(39))), Some(Vacuous::HidesFailure));
        assert_eq!(refuse(&format!("time {}", nested(40))), None);
    }

    #[test]
    fn the_longest_commands_that_are_read_are_still_refused() {
        let padded = |length: usize| format!("true {}", "x".repeat(length - 5));
        assert_eq!(refuse(&padded(16_384)), Some(Vacuous::CannotFail));
        assert_eq!(refuse(&padded(16_385)), None);
        let chain = |separators: usize| "true;".repeat(separators) + "true";
        assert_eq!(refuse(&chain(400)), Some(Vacuous::CannotFail));
        assert_eq!(refuse(&chain(401)), None);
    }

    #[test]
    fn a_long_or_deep_command_does_not_exhaust_the_stack() {
        for piece in [
            "(", "{ ", "$(", "`", "if ", "while ", "! ", "time ", "a && ", "a | ", "a; ", "\\",
            "x=", "<<E ", "f() ",
        ] {
            let command = piece.repeat(LONGEST / piece.len());
            let _ = refuse(&command);
        }
        assert_eq!(refuse(&"true ".repeat(9_000)), None, "it was not looked at");
    }
}
