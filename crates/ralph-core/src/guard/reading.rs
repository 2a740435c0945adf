//! Does a Bash command line only read?
//!
//! The reverse of `bash.rs`: there what cannot be known is let through, here it is refused. Every part
//! of the line has to be on a list: the constructs of the shell here, what a word may hold in `words`,
//! the programs and their options in `programs` and `tools`. What stands in the line decides, never a value that
//! a variable had before: which branch ran and which assignment came last is not known.

mod awk;
mod git;
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

pub(super) use why::Why;

/// How often a script may contain a script (`bash -c "bash -c …"`).
const DEEPEST: usize = 4;

/// Ok when the command line changes nothing, whatever its variables, files and commands hold.
pub(super) fn only_reads(command: &str) -> Result<(), Why> {
    script(command, At::default())
}

/// Where something stands in the line.
#[derive(Debug, Clone, Copy, Default)]
struct At {
    /// How many scripts it is inside of.
    depth: usize,
    /// What the command before it in a pipeline prints.
    fed: Fed,
}

/// What a command reads from the one before it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Fed {
    /// Anything.
    #[default]
    Text,
    /// Names of files, which blanks part.
    Names,
    /// Paths that begin with a start point of `find`, each up to a NUL.
    Paths,
}

impl At {
    fn inside(self) -> At {
        At { depth: self.depth + 1, fed: Fed::Text }
    }
}

fn script(text: &str, at: At) -> Result<(), Why> {
    // Parsers do not agree on whether these part words; no command needs them.
    let is_strange = |letter: &char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || letter.is_whitespace() && !letter.is_ascii()
    };
    if at.depth == DEEPEST || text.chars().any(|letter| is_strange(&letter)) {
        return Err(Why::Unreadable);
    }
    let nodes = shell::parsed(text).map_err(|why| match why {
        Opaque::Backticks => Why::Construct("this use of backticks (write `$(…)`)"),
        _ => Why::Unreadable,
    })?;
    self::nodes(&nodes, at)
}

fn nodes<'a>(all: impl IntoIterator<Item = &'a Node>, at: At) -> Result<(), Why> {
    all.into_iter().try_for_each(|one| node(one, at))
}

fn node(node: &Node, at: At) -> Result<(), Why> {
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
        K::List { items } => items.iter().try_for_each(|one| item(one, at)),
        K::If { condition, then_body, else_body, redirects } => {
            nodes([condition, then_body].into_iter().chain(else_body).map(AsRef::as_ref), at)?;
            redirections(redirects, at)
        }
        K::While { condition, body, redirects } | K::Until { condition, body, redirects } => {
            nodes([condition.as_ref(), body], at)?;
            redirections(redirects, at)
        }
        K::For { var, words, body, redirects } => {
            variables::may_be_set(var)?;
            for word in words.iter().flatten() {
                words::read(word, at)?;
            }
            self::node(body, at)?;
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
            special::condition(body)?;
            redirections(redirects, at)
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

fn item(item: &ListItem, at: At) -> Result<(), Why> {
    match item.operator {
        Some(ListOperator::Background) => Err(Why::Construct("a command in the background (`&`)")),
        _ => node(&item.command, at),
    }
}

fn command(assignments: &[Node], words: &[Node], redirects: &[Node], at: At) -> Result<(), Why> {
    for node in assignments {
        let NodeKind::Word { value, .. } = &node.kind else {
            return Err(Why::Construct("this assignment"));
        };
        variables::may_be_set(value.split('=').next().unwrap_or_default().trim_end_matches('+'))?;
        // Text that would run once it is read again.
        if words::read(node, at)?.text.contains(['$', '`']) {
            return Err(Why::Construct("this assignment"));
        }
    }
    redirections(redirects, at)?;
    let words: Vec<words::Said> =
        words.iter().map(|word| words::read(word, at)).collect::<Result<_, _>>()?;
    match words.is_empty() {
        true => Ok(()),
        false => programs::only_read(&words, at),
    }
}

fn redirections(redirects: &[Node], at: At) -> Result<(), Why> {
    redirects.iter().try_for_each(|one| redirection(one, at))
}

fn redirection(redirect: &Node, at: At) -> Result<(), Why> {
    match &redirect.kind {
        NodeKind::HereDoc { complete: false, .. } => Err(Why::Unreadable),
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
                return Err(Why::Construct(
                    "a redirection from a name that is computed (write `< ./…`, or give the name to `cat`)",
                ));
            }
            let is_fine = match op.as_str() {
                "<" | "<<<" | ">&-" | "<&-" => true,
                ">&" | "<&" => is_number(),
                ">" | ">>" | ">|" | "&>" | "&>>" => text == Some("/dev/null"),
                _ => false,
            };
            if is_fine { Ok(()) } else { Err(Why::Redirection(format!("{op} {}", target.shown()))) }
        }
        _ => Err(Why::Redirection("{name}>".to_owned())),
    }
}

/// True for a file that may be `/dev/tcp/…` or `/dev/udp/…`, by which a shell opens a connection.
fn may_connect(target: &words::Said) -> bool {
    let known = target.text.split(crate::shell::UNKNOWN).next().unwrap_or_default();
    ["/dev/tcp/", "/dev/udp/"].iter().any(|device| {
        known.starts_with(device) || target.literal().is_none() && device.starts_with(known)
    })
}

#[cfg(test)]
mod tests;
