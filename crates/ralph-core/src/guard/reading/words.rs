//! What one word of a line says, as far as it is literal.
//!
//! A text in which the parser left anything that a shell would expand is refused: where two parsers
//! may disagree, nothing is known.

use super::{At, Fed, Why, node};
use crate::shell::{BACKTICK, UNKNOWN, restored};
use rable::{Node, NodeKind};

/// A word after quote removal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Said {
    /// Literal text, with [`UNKNOWN`] where it is not.
    pub(super) text: String,
    /// True when a value may part it into several words, each of any text.
    pub(super) splits: bool,
    /// True when it may become several words, or none.
    pub(super) many: bool,
}

impl Said {
    /// A word of which nothing is known but that it is one.
    pub(super) fn unknown() -> Said {
        Said { text: UNKNOWN.to_string(), ..Said::default() }
    }

    /// Any number of such words.
    pub(super) fn unknowns() -> Said {
        Said { splits: true, many: true, ..Said::unknown() }
    }

    /// The text, when all of it is literal.
    pub(super) fn literal(&self) -> Option<&str> {
        (!self.many && !self.text.contains(UNKNOWN)).then_some(self.text.as_str())
    }

    /// True when nothing that it becomes is an option: all of it begins with a letter that stands
    /// in the line.
    pub(super) fn is_operand(&self) -> bool {
        match self.literal() {
            Some(text) => !text.starts_with('-'),
            None => !self.splits && !self.text.starts_with(['-', UNKNOWN]) && !self.text.is_empty(),
        }
    }

    /// For the refusal.
    pub(super) fn shown(&self) -> String {
        self.text.replace(UNKNOWN, "…")
    }

    fn add_unknown(&mut self, quotes: Quotes) {
        self.text.push(UNKNOWN);
        if quotes == Quotes::None {
            self.splits = true;
            self.many = true;
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Quotes {
    None,
    Double,
}

/// Reads one word; what it substitutes has to read only.
pub(super) fn read(word: &Node, at: At) -> Result<Said, Why> {
    let NodeKind::Word { parts, .. } = &word.kind else {
        return Err(Why::Construct("this word"));
    };
    let at = At { fed: Fed::Text, ..at };
    let (mut said, mut quotes) = (Said::default(), Quotes::None);
    let mut after_variable = false;
    for part in parts {
        if let NodeKind::WordLiteral { value } = &part.kind {
            // `zsh` reads `$x[…]` as an index, in which it expands again.
            if after_variable && value.starts_with('[') {
                return Err(Why::Construct("an index (`$x[…]`)"));
            }
            literal(value, &mut quotes, &mut said)?;
        } else {
            expansion(part, quotes, &mut said, at)?;
        }
        after_variable = matches!(part.kind, NodeKind::ParamExpansion { .. });
    }
    match quotes {
        Quotes::None => Ok(said),
        Quotes::Double => Err(Why::Unreadable),
    }
}

fn expansion(part: &Node, quotes: Quotes, said: &mut Said, at: At) -> Result<(), Why> {
    match &part.kind {
        NodeKind::AnsiCQuote { content, decoded } => {
            // Of the escapes only those are taken on which all shells agree.
            let mut rest = content.as_str();
            while let Some(at) = rest.find('\\') {
                let escape = rest[at + 1..].chars().next();
                if !matches!(escape, Some('n' | 't' | '\\' | '\'' | '"')) {
                    return Err(Why::Construct("this `$'…'`"));
                }
                rest = &rest[at + 2..];
            }
            if quotes == Quotes::Double {
                return Err(Why::Unreadable);
            }
            said.text.push_str(&restored(decoded));
        }
        NodeKind::ParamExpansion { param, op, arg } => {
            parameter(param, op.as_deref(), arg.as_deref())?;
            match param.as_str() {
                "?" | "#" | "$" | "!" if op.is_none() => said.text.push('0'),
                "@" | "*" => said.add_unknown(Quotes::None),
                // A path from the root, which no line may set.
                "PWD" | "HOME" if op.is_none() => {
                    said.text.push('/');
                    said.add_unknown(if param == "HOME" { Quotes::Double } else { quotes });
                }
                _ => said.add_unknown(quotes),
            }
        }
        NodeKind::ParamLength { param } if is_name(param) => said.text.push('0'),
        NodeKind::CommandSubstitution { command, brace: false } => {
            node(command, at)?;
            said.add_unknown(quotes);
        }
        NodeKind::ProcessSubstitution { command, .. } => {
            node(command, at)?;
            said.text.push_str("/dev/fd/");
            said.text.push(UNKNOWN);
        }
        NodeKind::BraceExpansion { content } => {
            is_plain(content)?;
            said.splits |= content.contains('$');
            said.many = true;
            said.text.push(UNKNOWN);
        }
        NodeKind::ArithmeticExpansion { expression: Some(expression) } => {
            if !is_sum(expression) {
                return Err(Why::Construct("arithmetic with variables"));
            }
            said.text.push('0');
        }
        _ => return Err(Why::Construct("this expansion")),
    }
    Ok(())
}

/// `$x`, `${x}` and the forms that neither assign nor expand a second time: `${x@P}`, `${!x}`, an
/// index and an offset (which are arithmetic) can run commands that a value holds.
fn parameter(param: &str, op: Option<&str>, arg: Option<&str>) -> Result<(), Why> {
    let is_number = |arg: &str| {
        !arg.is_empty() && arg.bytes().all(|byte| byte.is_ascii_digit() || b" :-".contains(&byte))
    };
    if op == Some(":") && is_name(param) && arg.is_some_and(is_number) {
        return Ok(());
    }
    let is_known = match op {
        None => arg.is_none(),
        Some(op) => matches!(
            op,
            ":-" | "-"
                | ":+"
                | "+"
                | "#"
                | "##"
                | "%"
                | "%%"
                | "/"
                | "//"
                | "/#"
                | "/%"
                | "^"
                | "^^"
                | ","
                | ",,"
        ),
    };
    let is_special = matches!(param, "?" | "#" | "$" | "!" | "@" | "*" | "-");
    let is_digit = !param.is_empty() && param.bytes().all(|byte| byte.is_ascii_digit());
    if !is_known || !(is_name(param) || is_special || is_digit) {
        return Err(Why::Construct("this form of `${…}`"));
    }
    is_plain(arg.unwrap_or_default())
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Arithmetic over numbers alone: the value of a variable is evaluated again, with what it holds.
fn is_sum(expression: &Node) -> bool {
    match &expression.kind {
        NodeKind::ArithNumber { value } => value.bytes().all(|byte| byte.is_ascii_digit()),
        NodeKind::ArithBinaryOp { left, right, .. } => is_sum(left) && is_sum(right),
        NodeKind::ArithUnaryOp { operand, .. } => is_sum(operand),
        _ => false,
    }
}

/// Ok for a text that holds nothing a shell would run, wherever its quotes are.
pub(super) fn is_plain(text: &str) -> Result<(), Why> {
    let substitutes =
        text.contains('`') || text.contains("<(") || text.contains(">(") || text.contains("=(");
    let mut dollars = text.split('$').skip(1);
    let expands = dollars.any(|rest| match rest.as_bytes().first() {
        Some(b'(' | b'[' | b'\'' | b'"') => true,
        Some(b'{') => rest[1..].split_once('}').is_none_or(|(name, _)| !is_name(name)),
        // An empty piece before another `$`.
        None | Some(_) => false,
    });
    match substitutes || expands {
        true => Err(Why::Construct("an expansion inside this text")),
        false => Ok(()),
    }
}

/// A piece of a word without expansions, as it is written.
fn literal(raw: &str, quotes: &mut Quotes, said: &mut Said) -> Result<(), Why> {
    let mut letters = raw.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, *quotes) {
            ('"', Quotes::None) => *quotes = Quotes::Double,
            ('"', Quotes::Double) => *quotes = Quotes::None,
            ('\\', Quotes::None) => match letters.next() {
                Some('\n') => {}
                Some(BACKTICK) => said.text.push('`'),
                Some(next) => said.text.push(next),
                None => return Err(Why::Unreadable),
            },
            ('\\', Quotes::Double) => match letters.peek() {
                Some('$' | '"' | '\\') => said.text.extend(letters.next()),
                Some(&BACKTICK) => {
                    letters.next();
                    said.text.push('`');
                }
                Some('\n') => drop(letters.next()),
                _ => said.text.push('\\'),
            },
            ('\'', Quotes::None) => loop {
                match letters.next() {
                    Some('\'') => break,
                    Some(BACKTICK) => said.text.push('`'),
                    Some(next) => said.text.push(next),
                    None => return Err(Why::Unreadable),
                }
            },
            // The parser saw no expansion where a shell may.
            ('`' | BACKTICK, _) => return Err(Why::Unreadable),
            ('$', _) => match letters.peek() {
                Some(next) if next.is_alphanumeric() || "_([{@*#?-$!".contains(*next) => {
                    return Err(Why::Unreadable);
                }
                Some('\'' | '"') if *quotes == Quotes::None => return Err(Why::Unreadable),
                _ => said.text.push('$'),
            },
            ('(' | ')', Quotes::None) => return Err(Why::Construct("a pattern with `(…)`")),
            (' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>', Quotes::None) => {
                return Err(Why::Unreadable);
            }
            ('#', Quotes::None) if said.text.is_empty() => return Err(Why::Unreadable),
            ('*' | '?', Quotes::None) => several(said),
            ('[', Quotes::None) if letters.clone().any(|next| next == ']') => several(said),
            ('{', Quotes::None) if letters.peek() != Some(&'}') => several(said),
            _ => said.text.push(letter),
        }
    }
    Ok(())
}

/// What a pattern stands for: several words, each with what stands before it.
fn several(said: &mut Said) {
    said.text.push(UNKNOWN);
    said.many = true;
}
