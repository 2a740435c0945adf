//! The literal content of one word of a line.
//!
//! A text in which the parser left anything that a shell would expand is refused: if two parsers
//! may disagree, its meaning is unknown.

use super::{At, Fed, WriteReason, node};
use crate::shell::{BACKTICK, UNKNOWN, restored};
use rable::{Node, NodeKind};

/// A word after quote removal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct WordText {
    /// Literal text, with [`UNKNOWN`] in place of each computed part.
    pub(super) text: String,
    /// True if a value may split it into several words, each with any text.
    pub(super) splits: bool,
    /// True if it may become several words, or none.
    pub(super) many: bool,
    /// True if every computed part comes from outside the line: from the environment or the working
    /// directory.
    pub(super) outside: bool,
}

impl WordText {
    /// A single word with unknown content.
    pub(super) fn unknown() -> WordText {
        WordText { text: UNKNOWN.to_string(), ..WordText::default() }
    }

    /// Any number.
    pub(super) fn number() -> WordText {
        WordText { text: "1".to_owned(), ..WordText::default() }
    }

    /// Any number of unknown words.
    pub(super) fn unknowns() -> WordText {
        WordText { splits: true, many: true, ..WordText::unknown() }
    }

    /// The text, if all of it is literal.
    pub(super) fn literal(&self) -> Option<&str> {
        (!self.many && !self.text.contains(UNKNOWN)).then_some(self.text.as_str())
    }

    /// True if the word cannot become an option: everything that it may become begins with a
    /// literal character.
    pub(super) fn is_operand(&self) -> bool {
        match self.literal() {
            Some(text) => !text.starts_with('-'),
            None => !self.splits && !self.text.starts_with(['-', UNKNOWN]) && !self.text.is_empty(),
        }
    }

    /// The text for the denial.
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

/// Reads one word; its substitutions must be read-only.
pub(super) fn read(word: &Node, at: At<'_>) -> Result<WordText, WriteReason> {
    let NodeKind::Word { parts, .. } = &word.kind else {
        return Err(WriteReason::Construct("this word"));
    };
    let at = At { fed: Fed::Text, ..at };
    let (mut said, mut quotes) = (WordText::default(), Quotes::None);
    let mut after_variable = false;
    for part in parts {
        if let NodeKind::WordLiteral { value } = &part.kind {
            // `zsh` parses `$x[…]` as an index and expands its content.
            if after_variable && value.starts_with('[') {
                return Err(WriteReason::Construct("an index (`$x[…]`)"));
            }
            literal(value, &mut quotes, &mut said)?;
        } else {
            expansion(part, quotes, &mut said, at)?;
        }
        after_variable = matches!(part.kind, NodeKind::ParamExpansion { .. });
    }
    match quotes {
        Quotes::None => Ok(said),
        Quotes::Double => Err(WriteReason::Unreadable),
    }
}

/// `Some` if this text of a condition is a single word with only read-only substitutions.
pub(super) fn alone(text: &str, at: At<'_>) -> Option<()> {
    let nodes = crate::shell::parsed(&format!("test {text}")).ok()?;
    let [Node { kind: NodeKind::Command { assignments, words, redirects }, .. }] = &nodes[..]
    else {
        return None;
    };
    let ([], [_, word], []) = (&assignments[..], &words[..], &redirects[..]) else { return None };
    read(word, at).ok().map(drop)
}

fn expansion(
    part: &Node,
    quotes: Quotes,
    said: &mut WordText,
    at: At<'_>,
) -> Result<(), WriteReason> {
    let was_computed = said.many || said.text.contains(UNKNOWN);
    // A part without the value of a variable leaves `outside` unchanged.
    let mut outside = said.outside
        && matches!(
            part.kind,
            NodeKind::AnsiCQuote { .. }
                | NodeKind::ParamLength { .. }
                | NodeKind::ArithmeticExpansion { .. }
        );
    match &part.kind {
        NodeKind::AnsiCQuote { content, decoded } => {
            // Only escapes that all shells decode alike are accepted.
            let mut rest = content.as_str();
            while let Some(at) = rest.find('\\') {
                let escape = rest[at + 1..].chars().next();
                if !matches!(escape, Some('n' | 'r' | 't' | '\\' | '\'' | '"')) {
                    return Err(WriteReason::Construct("this `$'…'`"));
                }
                rest = &rest[at + 2..];
            }
            if quotes == Quotes::Double {
                return Err(WriteReason::Unreadable);
            }
            said.text.push_str(&restored(decoded));
        }
        NodeKind::ParamExpansion { param, op, arg } => {
            parameter(param, op.as_deref(), arg.as_deref())?;
            match param.as_str() {
                "?" | "#" | "$" | "!" if op.is_none() => said.text.push('0'),
                list if matches!(list, "@" | "*")
                    || list.ends_with("[@]")
                    || list.ends_with("[*]") =>
                {
                    said.add_unknown(Quotes::None);
                }
                name if op.is_none() && at.known.get(name).is_some() => {
                    let value = at.known.get(name).cloned().unwrap_or_default();
                    if quotes == Quotes::None && value.literal().is_none() {
                        (said.splits, said.many) = (true, true);
                    }
                    said.text.push_str(&value.text);
                }
                // An absolute path, which no line may set.
                "PWD" | "HOME" if op.is_none() => {
                    outside = at.known.is_outside(param);
                    said.text.push('/');
                    said.add_unknown(if param == "HOME" { Quotes::Double } else { quotes });
                }
                name => {
                    outside = op.is_none() && is_name(name) && at.known.is_outside(name);
                    said.add_unknown(quotes);
                }
            }
        }
        NodeKind::ParamLength { param } if is_name(param) => said.text.push('0'),
        NodeKind::CommandSubstitution { command, brace: false } => {
            node(command, at)?;
            match prints_a_name(only(command)) {
                // The output has no blank and is not an option; unquoted, it may be empty.
                true => {
                    said.text.push('x');
                    said.text.push(UNKNOWN);
                    said.many |= quotes == Quotes::None;
                }
                false => {
                    outside = is_pwd(only(command)) && at.known.is_outside("pwd");
                    said.add_unknown(quotes);
                }
            }
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
            if !is_sum(expression, at) {
                return Err(WriteReason::Construct("arithmetic with variables"));
            }
            said.text.push('0');
        }
        _ => return Err(WriteReason::Construct("this expansion")),
    }
    said.outside = outside && (said.outside || !was_computed);
    Ok(())
}

/// Unwraps a list of one command, which is how backticks are parsed.
fn only(command: &Node) -> &Node {
    match &command.kind {
        NodeKind::List { items } if items.len() == 1 => &items[0].command,
        _ => command,
    }
}

fn is_pwd(command: &Node) -> bool {
    let NodeKind::Command { assignments, words, redirects } = &command.kind else { return false };
    assignments.is_empty()
        && redirects.is_empty()
        && matches!(&words[..], [Node { kind: NodeKind::Word { value, .. }, .. }] if value == "pwd")
}

/// True for a command that prints one number, one system name or commit names.
fn prints_a_name(command: &Node) -> bool {
    let NodeKind::Command { assignments, words, redirects } = &command.kind else { return false };
    let texts: Vec<&str> = words
        .iter()
        .map(|word| match &word.kind {
            NodeKind::Word { value, .. } => value.as_str(),
            _ => "",
        })
        .collect();
    let is_plain = |word: &&str| {
        word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-~^".contains(&byte))
    };
    assignments.is_empty()
        && redirects.is_empty()
        && texts.iter().all(is_plain)
        && match &texts[..] {
            ["nproc" | "whoami" | "uname"]
            | ["uname", "-r" | "-m" | "-s"]
            | ["id", "-u" | "-un" | "-g"] => true,
            ["git", "rev-parse", "HEAD"]
            | ["git", "rev-parse", "--short" | "--verify" | "--abbrev-ref", "HEAD"] => true,
            ["git", "branch", "--show-current"] => true,
            ["which", name] => !name.starts_with('-'),
            ["git", "merge-base", commits @ ..] => {
                commits.iter().all(|word| !word.starts_with('-'))
            }
            _ => false,
        }
}

/// Accepts `$x`, `${x}` and the forms that neither assign nor expand twice. `${x@P}`, `${!x}`, an
/// index and an offset (which are arithmetic) can run commands in a value.
fn parameter(param: &str, op: Option<&str>, arg: Option<&str>) -> Result<(), WriteReason> {
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
    // An element by its number; any other index is arithmetic.
    let param = match param.strip_suffix(']').and_then(|param| param.split_once('[')) {
        Some((name, index))
            if matches!(index, "@" | "*")
                || !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            name
        }
        _ => param,
    };
    let is_special = matches!(param, "?" | "#" | "$" | "!" | "@" | "*" | "-");
    let is_digit = !param.is_empty() && param.bytes().all(|byte| byte.is_ascii_digit());
    if !is_known || !(is_name(param) || is_special || is_digit) {
        return Err(WriteReason::Construct("this form of `${…}`"));
    }
    is_plain(arg.unwrap_or_default())
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// True for arithmetic on numbers only. The shell evaluates the value of a variable again, so the
/// value must be known.
fn is_sum(expression: &Node, at: At<'_>) -> bool {
    match &expression.kind {
        NodeKind::ArithNumber { value } => value.bytes().all(|byte| byte.is_ascii_digit()),
        NodeKind::ArithVar { name } => at.known.get(name).is_some_and(|value| {
            value.literal().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        }),
        NodeKind::ArithBinaryOp { left, right, .. } => is_sum(left, at) && is_sum(right, at),
        NodeKind::ArithUnaryOp { operand, .. } => is_sum(operand, at),
        _ => false,
    }
}

/// Ok for a text that contains nothing a shell would run, wherever its quotes are.
pub(super) fn is_plain(text: &str) -> Result<(), WriteReason> {
    let substitutes =
        text.contains('`') || text.contains("<(") || text.contains(">(") || text.contains("=(");
    let mut dollars = text.split('$').skip(1);
    let expands = dollars.any(|rest| match rest.as_bytes().first() {
        Some(b'(' | b'[' | b'\'' | b'"') => true,
        Some(b'{') => rest[1..].split_once('}').is_none_or(|(name, _)| !is_name(name)),
        // The empty piece before another `$`.
        None | Some(_) => false,
    });
    match substitutes || expands {
        true => Err(WriteReason::Construct("an expansion inside this text")),
        false => Ok(()),
    }
}

/// A literal piece of a word, as written.
fn literal(raw: &str, quotes: &mut Quotes, said: &mut WordText) -> Result<(), WriteReason> {
    let mut letters = raw.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, *quotes) {
            ('"', Quotes::None) => *quotes = Quotes::Double,
            ('"', Quotes::Double) => *quotes = Quotes::None,
            ('\\', Quotes::None) => match letters.next() {
                Some('\n') => {}
                Some(BACKTICK) => said.text.push('`'),
                Some(next) => said.text.push(next),
                None => return Err(WriteReason::Unreadable),
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
                    None => return Err(WriteReason::Unreadable),
                }
            },
            // A shell may see an expansion where the parser saw none.
            ('`' | BACKTICK, _) => return Err(WriteReason::Unreadable),
            ('$', _) => match letters.peek() {
                Some(next) if next.is_alphanumeric() || "_([{@*#?-$!".contains(*next) => {
                    return Err(WriteReason::Unreadable);
                }
                Some('\'' | '"') if *quotes == Quotes::None => return Err(WriteReason::Unreadable),
                _ => said.text.push('$'),
            },
            ('(' | ')', Quotes::None) => {
                return Err(WriteReason::Construct("a pattern with `(…)`"));
            }
            (' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>', Quotes::None) => {
                return Err(WriteReason::Unreadable);
            }
            ('#', Quotes::None) if said.text.is_empty() => return Err(WriteReason::Unreadable),
            ('*' | '?', Quotes::None) => several(said),
            ('[', Quotes::None) if letters.clone().any(|next| next == ']') => several(said),
            ('{', Quotes::None) if letters.peek() != Some(&'}') => {
                match is_no_list(letters.clone()) {
                    true => said.text.push('{'),
                    false => several(said),
                }
            }
            _ => said.text.push(letter),
        }
    }
    Ok(())
}

/// True for braces that no shell expands to a list of words: `HEAD@{1}`.
fn is_no_list(letters: impl Iterator<Item = char>) -> bool {
    let mut before = ' ';
    for letter in letters {
        match letter {
            '}' => return true,
            ',' | '{' | '$' | '"' | '\'' | '\\' | '`' | BACKTICK => return false,
            '.' if before == '.' => return false,
            _ => before = letter,
        }
    }
    false
}

/// Appends the expansion of a pattern: several words with the same prefix.
fn several(said: &mut WordText) {
    said.text.push(UNKNOWN);
    said.many = true;
    said.outside = false;
}
