//! Does a Bash command line only read?
//!
//! The reverse of `bash.rs`: there what cannot be known is let through, here it is refused. Every part
//! of the line has to be on a list: the constructs of the shell here, what a word may hold in `words`,
//! the programs and their options in `programs`. What stands in the line decides, never a value that
//! a variable had before: which branch ran and which assignment came last is not known.

mod git;
mod programs;
mod sed;
mod special;
mod variables;
mod why;
mod words;
mod wrappers;

use crate::shell;
use rable::{ListItem, ListOperator, Node, NodeKind};

pub(super) use why::Why;

/// How often a script may contain a script (`bash -c "bash -c …"`).
const DEEPEST: usize = 4;

/// Ok when the command line changes nothing, whatever its variables, files and commands hold.
pub(super) fn only_reads(command: &str) -> Result<(), Why> {
    script(command, 0)
}

fn script(text: &str, depth: usize) -> Result<(), Why> {
    // Parsers do not agree on whether these part words; no command needs them.
    let is_strange = |letter: &char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || letter.is_whitespace() && !letter.is_ascii()
    };
    if depth == DEEPEST || text.chars().any(|letter| is_strange(&letter)) {
        return Err(Why::Unreadable);
    }
    let nodes = shell::parsed(text).map_err(|_| Why::Unreadable)?;
    self::nodes(&nodes, depth)
}

fn nodes<'a>(all: impl IntoIterator<Item = &'a Node>, depth: usize) -> Result<(), Why> {
    all.into_iter().try_for_each(|one| node(one, depth))
}

fn node(node: &Node, depth: usize) -> Result<(), Why> {
    use NodeKind as K;
    match &node.kind {
        K::Command { assignments, words, redirects } => {
            command(assignments, words, redirects, depth)
        }
        K::Pipeline { commands, .. } => nodes(commands, depth),
        K::List { items } => items.iter().try_for_each(|one| item(one, depth)),
        K::If { condition, then_body, else_body, redirects } => {
            nodes([condition, then_body].into_iter().chain(else_body).map(AsRef::as_ref), depth)?;
            redirections(redirects, depth)
        }
        K::While { condition, body, redirects } | K::Until { condition, body, redirects } => {
            nodes([condition.as_ref(), body], depth)?;
            redirections(redirects, depth)
        }
        K::For { var, words, body, redirects } => {
            variables::may_be_set(var)?;
            for word in words.iter().flatten() {
                words::read(word, depth)?;
            }
            self::node(body, depth)?;
            redirections(redirects, depth)
        }
        K::Case { word, patterns, redirects } => {
            words::read(word, depth)?;
            for arm in patterns {
                for pattern in &arm.patterns {
                    words::read(pattern, depth)?;
                }
                nodes(&arm.body, depth)?;
            }
            redirections(redirects, depth)
        }
        K::Subshell { body, redirects } | K::BraceGroup { body, redirects } => {
            self::node(body, depth)?;
            redirections(redirects, depth)
        }
        K::Negation { pipeline } | K::Time { pipeline, .. } => self::node(pipeline, depth),
        K::ConditionalExpr { body, redirects } => {
            special::condition(body)?;
            redirections(redirects, depth)
        }
        K::Comment { .. } | K::Empty => Ok(()),
        kind => Err(Why::Construct(construct(kind))),
    }
}

/// A construct in words, for the refusal.
fn construct(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Function { .. } => "the definition of a function",
        NodeKind::Coproc { .. } => "`coproc`",
        NodeKind::ArithmeticCommand { .. } | NodeKind::ForArith { .. } => "`((…))`",
        NodeKind::Select { .. } => "`select`",
        _ => "this construct of the shell",
    }
}

fn item(item: &ListItem, depth: usize) -> Result<(), Why> {
    match item.operator {
        Some(ListOperator::Background) => Err(Why::Construct("a command in the background (`&`)")),
        _ => node(&item.command, depth),
    }
}

fn command(
    assignments: &[Node],
    words: &[Node],
    redirects: &[Node],
    depth: usize,
) -> Result<(), Why> {
    for node in assignments {
        let NodeKind::Word { value, .. } = &node.kind else {
            return Err(Why::Construct("this assignment"));
        };
        variables::may_be_set(value.split('=').next().unwrap_or_default().trim_end_matches('+'))?;
        // Text that would run once it is read again.
        if words::read(node, depth)?.text.contains(['$', '`']) {
            return Err(Why::Construct("this assignment"));
        }
    }
    redirections(redirects, depth)?;
    let words: Vec<words::Said> =
        words.iter().map(|word| words::read(word, depth)).collect::<Result<_, _>>()?;
    match words.is_empty() {
        true => Ok(()),
        false => programs::only_read(&words, depth),
    }
}

fn redirections(redirects: &[Node], depth: usize) -> Result<(), Why> {
    redirects.iter().try_for_each(|one| redirection(one, depth))
}

fn redirection(redirect: &Node, depth: usize) -> Result<(), Why> {
    match &redirect.kind {
        NodeKind::HereDoc { complete: false, .. } => Err(Why::Unreadable),
        NodeKind::HereDoc { quoted: true, .. } => Ok(()),
        NodeKind::HereDoc { content, .. } => words::is_plain(content),
        NodeKind::Redirect { op, target, varfd: None, .. } => {
            let target = words::read(target, depth)?;
            let text = target.literal();
            let is_number = || {
                text.is_some_and(|text| {
                    text == "-"
                        || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
                })
            };
            let opens_a_connection =
                || target.text.starts_with("/dev/tcp") || target.text.starts_with("/dev/udp");
            let is_fine = match op.as_str() {
                "<" => !opens_a_connection(),
                "<<<" | ">&-" | "<&-" => true,
                ">&" | "<&" => is_number(),
                ">" | ">>" | ">|" | "&>" | "&>>" => text == Some("/dev/null"),
                _ => false,
            };
            if is_fine { Ok(()) } else { Err(Why::Redirection(format!("{op} {}", target.shown()))) }
        }
        _ => Err(Why::Redirection("{name}>".to_owned())),
    }
}

#[cfg(test)]
mod tests;
