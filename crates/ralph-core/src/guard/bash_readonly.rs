//! Decides whether a Bash command line is read-only.
//!
//! This is the reverse of `bash.rs`, which allows what it cannot parse; here it is refused. Every
//! part of the line must be on a list: the shell constructs in this file, the contents of a word in
//! `words`, the programs and their options in `programs` and `tools`. Only text in the line counts,
//! never an earlier value of a variable, because it is unknown which branch ran and which
//! assignment came last.

mod awk;
mod git;
mod known;
mod programs;
mod sed;
mod special;
mod tools;
mod variables;
mod why;
mod words;
mod wrappers;

use crate::shell::{self, Opaque};
use rable::{ListItem, ListOperator, Node, NodeKind};

pub(super) use why::WriteReason;

/// How deep scripts may nest (`bash -c "bash -c …"`).
const DEEPEST: usize = 4;

/// Ok if the command line changes nothing, whatever its variables, files and commands contain.
pub(super) fn only_reads(command: &str) -> Result<(), WriteReason> {
    script(command, At::default())
}

/// The context of a node in the line.
#[derive(Debug, Clone, Copy, Default)]
struct At<'a> {
    /// Number of enclosing scripts.
    depth: usize,
    /// Output of the preceding command in the pipeline.
    fed: Fed,
    /// Variables whose value is in the line; see `known`.
    known: known::Known<'a>,
    /// True inside a command whose environment contains a variable that the line sets.
    sets: bool,
}

/// What a command reads from the preceding one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Fed {
    #[default]
    Text,
    /// File names, separated by blanks.
    Names,
    /// NUL-terminated paths that begin with a start point of `find`.
    Paths,
}

impl At<'_> {
    fn inside(self) -> At<'static> {
        At { depth: self.depth + 1, sets: self.sets, ..At::default() }
    }
}

fn script(text: &str, at: At<'_>) -> Result<(), WriteReason> {
    // Parsers disagree on whether these characters separate words, and no command needs them.
    let is_strange = |letter: &char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || letter.is_whitespace() && !letter.is_ascii()
    };
    if at.depth == DEEPEST || text.chars().any(|letter| is_strange(&letter)) {
        return Err(WriteReason::Unreadable);
    }
    let nodes = shell::parsed(text).map_err(|why| match why {
        Opaque::Backticks => WriteReason::Construct("this use of backticks (write `$(…)`)"),
        _ => WriteReason::Unreadable,
    })?;
    self::nodes(&nodes, at).or_else(|why| match known::may_help(text) {
        true => self::nodes(&nodes, At { known: known::Known::followed(text, at.depth), ..at })
            .map_err(|_| why),
        false => Err(why),
    })
}

fn nodes<'a>(all: impl IntoIterator<Item = &'a Node>, at: At<'_>) -> Result<(), WriteReason> {
    all.into_iter().try_for_each(|one| node(one, at))
}

fn node(node: &Node, at: At<'_>) -> Result<(), WriteReason> {
    use NodeKind as K;
    match &node.kind {
        K::Command { assignments, words, redirects } => command(assignments, words, redirects, at),
        K::Pipeline { commands, .. } => {
            let mut fed = Fed::Text;
            commands.iter().try_for_each(|one| {
                self::node(one, At { fed, ..at })?;
                fed = special::prints(one, fed);
                Ok(())
            })
        }
        K::List { items } => list(&flat(items), at),
        K::If { condition, then_body, else_body, redirects } => {
            nodes([condition, then_body].into_iter().chain(else_body).map(AsRef::as_ref), at)?;
            redirections(redirects, at)
        }
        K::ForArith { init, cond, incr, body, redirects } => {
            let name = known::counted(init, cond, incr).ok_or(WriteReason::Construct("`((…))`"))?;
            at.known.is_set(name)?;
            variables::may_be_set(name)?;
            at.known.each(name, &[words::WordText::number()], |known| match known.get(name) {
                Some(_) => self::node(body, At { known, ..at }),
                // If the body can set the variable, arithmetic evaluates its value.
                None => Err(WriteReason::Construct("`((…))`")),
            })?;
            redirections(redirects, at)
        }
        K::While { condition, body, redirects } | K::Until { condition, body, redirects } => {
            nodes([condition.as_ref(), body], at)?;
            redirections(redirects, at)
        }
        K::For { var, words, body, redirects } => {
            at.known.is_set(var)?;
            variables::may_be_set(var)?;
            let mut values = Vec::new();
            for word in words.iter().flatten() {
                values.push(words::read(word, at)?);
            }
            at.known.each(var, &values, |known| self::node(body, At { known, ..at }))?;
            redirections(redirects, at)
        }
        K::Case { word, patterns, redirects } => {
            words::read(word, at)?;
            for arm in patterns {
                for pattern in &arm.patterns {
                    words::read(pattern, at)?;
                }
                nodes(&arm.body, at)?;
            }
            redirections(redirects, at)
        }
        K::Subshell { body, redirects } | K::BraceGroup { body, redirects } => {
            self::node(body, at)?;
            redirections(redirects, at)
        }
        K::Negation { pipeline } | K::Time { pipeline, .. } => self::node(pipeline, at),
        K::ConditionalExpr { body, redirects } => {
            special::condition(body, at)?;
            redirections(redirects, at)
        }
        K::Comment { .. } | K::Empty => Ok(()),
        kind => Err(WriteReason::Construct(construct(kind))),
    }
}

/// A construct in words, for the denial.
fn construct(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Function { .. } => "the definition of a function",
        NodeKind::Coproc { .. } => "`coproc`",
        NodeKind::ArithmeticCommand { .. } | NodeKind::ForArith { .. } => "`((…))`",
        NodeKind::Select { .. } => "`select`",
        _ => "this construct of the shell",
    }
}

/// The commands of a list in order. The parser nests lists of more than two commands.
fn flat(items: &[ListItem]) -> Vec<(&Node, Option<ListOperator>)> {
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        match &item.command.kind {
            NodeKind::List { items: inner } => {
                all.extend(flat(inner));
                if let Some((_, operator)) = all.last_mut() {
                    *operator = operator.or(item.operator);
                }
            }
            _ => all.push((&item.command, item.operator)),
        }
    }
    all
}

/// Checks each command with the values that the preceding assignments have certainly set.
fn list(items: &[(&Node, Option<ListOperator>)], at: At<'_>) -> Result<(), WriteReason> {
    let mut runs = true;
    for (index, (command, operator)) in items.iter().enumerate() {
        if *operator == Some(ListOperator::Background) {
            return Err(WriteReason::Construct("a command in the background (`&`)"));
        }
        node(command, at)?;
        let assigned =
            if runs && at.known.is_followed() { known::assigned(command, at) } else { None };
        if let Some((name, value)) = assigned
            && matches!(operator, Some(ListOperator::And | ListOperator::Semi))
        {
            let rest = &items[index + 1..];
            return at.known.with(name, &value, |known| list(rest, At { known, ..at }));
        }
        runs = matches!(operator, None | Some(ListOperator::Semi));
    }
    Ok(())
}

fn command(
    assignments: &[Node],
    words: &[Node],
    redirects: &[Node],
    at: At<'_>,
) -> Result<(), WriteReason> {
    let mut at = at;
    for node in assignments {
        let NodeKind::Word { value, .. } = &node.kind else {
            return Err(WriteReason::Construct("this assignment"));
        };
        let name = value.split('=').next().unwrap_or_default().trim_end_matches('+');
        at.known.is_set(name)?;
        variables::may_be_assigned(value)?;
        at.sets |= !words.is_empty() && !variables::is_harmless(name);
        // This text would run if the shell expanded it a second time.
        if words::read(node, at)?.text.contains(['$', '`']) {
            return Err(WriteReason::Construct("this assignment"));
        }
    }
    redirections(redirects, at)?;
    let words: Vec<words::WordText> =
        words.iter().map(|word| words::read(word, at)).collect::<Result<_, _>>()?;
    match words.is_empty() {
        true => Ok(()),
        false => programs::only_read(&words, at),
    }
}

fn redirections(redirects: &[Node], at: At<'_>) -> Result<(), WriteReason> {
    redirects.iter().try_for_each(|one| redirection(one, at))
}

fn redirection(redirect: &Node, at: At<'_>) -> Result<(), WriteReason> {
    match &redirect.kind {
        NodeKind::HereDoc { complete: false, .. } => Err(WriteReason::Unreadable),
        NodeKind::HereDoc { quoted: true, .. } => Ok(()),
        NodeKind::HereDoc { content, .. } => words::is_plain(content),
        NodeKind::Redirect { op, target, varfd: None, .. } => {
            let target = words::read(target, at)?;
            let text = target.literal();
            let is_number = || {
                text.is_some_and(|text| {
                    text == "-"
                        || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
                })
            };
            if op == "<" && may_connect(&target) {
                return Err(WriteReason::Construct(
                    "a redirection from a name that is computed (write `< ./…`, or give the name to `cat`)",
                ));
            }
            let is_fine = match op.as_str() {
                "<" | "<<<" | ">&-" | "<&-" => true,
                ">&" | "<&" => is_number(),
                ">" | ">>" | ">|" | "&>" | "&>>" => text == Some("/dev/null"),
                _ => false,
            };
            if is_fine {
                Ok(())
            } else {
                Err(WriteReason::Redirection(format!("{op} {}", target.shown())))
            }
        }
        _ => Err(WriteReason::Redirection("{name}>".to_owned())),
    }
}

/// True for a file that may be `/dev/tcp/…` or `/dev/udp/…`, which makes the shell open a
/// connection.
fn may_connect(target: &words::WordText) -> bool {
    let known = target.text.split(crate::shell::UNKNOWN).next().unwrap_or_default();
    ["/dev/tcp/", "/dev/udp/"].iter().any(|device| {
        known.starts_with(device) || target.literal().is_none() && device.starts_with(known)
    })
}

#[cfg(test)]
mod tests;
