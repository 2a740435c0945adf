//! Expands the words of a command line, as far as their text is known.
//!
//! A word is one string in which three characters that no path contains mark what is not literal,
//! so that a rule can compare the word with a path from either end.

use super::{BACKTICK, ShellReader, restored};
use rable::{Node, NodeKind};
use std::borrow::Cow;

/// Marks any text: a variable, the output of a command.
pub const UNKNOWN: char = '\u{1}';
/// Marks an unquoted `*`.
pub const STAR: char = '\u{2}';
/// Marks an unquoted `?` or `[…]`.
pub const ONE: char = '\u{3}';
/// Marks the end of a word inside the value of a variable.
const SPLIT: char = '\u{4}';

/// True if a shell computes a part of this word, so that a mark stands for it.
pub fn is_computed(word: &str) -> bool {
    // Every path of a tool call is asked for several names: as bytes this is a tenth of the call's time less.
    word.bytes().any(|byte| matches!(char::from(byte), UNKNOWN | STAR | ONE))
}

/// Replaces these marks in a source text: a shell treats them as ordinary characters, but here they
/// would split a word or make it unknown.
pub(super) fn without_marks(text: &str) -> Cow<'_, str> {
    let marks = [UNKNOWN, STAR, ONE, SPLIT, BACKTICK];
    match text.contains(marks) {
        true => Cow::from(text.replace(marks, "\u{5}")),
        false => Cow::from(text),
    }
}

/// Longer values of variables count as unknown: `x=$x$x` doubles them.
const LONGEST_VALUE: usize = 1024;
/// `{a,b}{c,d}…` multiplies; with more alternatives the word counts as unknown.
const MOST_ALTERNATIVES: usize = 64;

/// One word after quote removal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ShellWord {
    /// The text, with [`UNKNOWN`], [`STAR`] and [`ONE`] for the parts that are not literal.
    pub text: String,
}

impl ShellWord {
    /// A word without special characters.
    pub fn plain(text: &str) -> ShellWord {
        ShellWord { text: text.to_owned() }
    }

    /// A word with unknown content.
    pub fn unknown() -> ShellWord {
        ShellWord { text: UNKNOWN.to_string() }
    }

    /// The text, if all of it is literal.
    pub fn literal(&self) -> Option<&str> {
        (!self.text.contains([UNKNOWN, STAR, ONE])).then_some(self.text.as_str())
    }

    /// The only word of the list, or else unknown.
    pub(super) fn one_of(words: &[ShellWord]) -> ShellWord {
        match words {
            [only] => only.clone(),
            _ => ShellWord::unknown(),
        }
    }
}

impl ShellReader {
    /// Expands a word of the text into words; reads the scripts inside it.
    pub(super) fn expand(&mut self, node: &Node) -> Vec<ShellWord> {
        let NodeKind::Word { value, parts, .. } = &node.kind else {
            self.node(node, &super::Stdin::Inherited);
            return vec![ShellWord::unknown()];
        };
        let mut words = vec![String::new()];
        let mut quotes = Quotes::Plain;
        for part in parts {
            let alternatives = self.part(part, value, &mut quotes);

            words = combine(&words, &alternatives);
            // Each step copies the text so far.
            if !self.spend(words.iter().map(String::len).sum::<usize>() / 16) {
                self.opaque(super::Opaque::TooLong);
                return vec![ShellWord::unknown()];
            }
        }
        words
            .iter()
            .flat_map(|text| text.split(SPLIT))
            .map(|text| ShellWord::plain(&restored(text)))
            .collect()
    }

    fn part(&mut self, part: &Node, value: &str, quotes: &mut Quotes) -> Vec<String> {
        let unknown = || vec![UNKNOWN.to_string()];
        match &part.kind {
            NodeKind::WordLiteral { value } => vec![unquoted(value, quotes)],
            NodeKind::AnsiCQuote { decoded, .. } => {
                vec![without_marks(&restored(decoded)).into_owned()]
            }
            NodeKind::LocaleString { inner, .. } => {
                self.embedded(inner);
                if inner.contains(['$', '`']) {
                    return unknown();
                }
                vec![unquoted(inner, &mut Quotes::Double)]
            }
            NodeKind::ParamExpansion { param, op: None, .. } => {
                let value =
                    self.variables.get(param).filter(|word| word.text.len() <= LONGEST_VALUE);
                let value = value.map_or(UNKNOWN.to_string(), |word| word.text.clone());
                // An unquoted value splits into words at white space.
                let splits = *quotes == Quotes::Plain && value.contains(char::is_whitespace);
                vec![if splits {
                    value.replace(char::is_whitespace, &SPLIT.to_string())
                } else {
                    value
                }]
            }
            NodeKind::ParamExpansion { param, arg, op } => {
                self.embedded(arg.as_deref().unwrap_or_default());
                self.with_default(param, op.as_deref(), arg.as_deref())
            }
            NodeKind::BraceExpansion { content } => {
                self.embedded(content);
                alternatives(content).unwrap_or_else(unknown)
            }
            NodeKind::CommandSubstitution { command, .. } => {
                self.node(command, &super::Stdin::Inherited);
                vec![self.printed(command).unwrap_or(UNKNOWN.to_string())]
            }
            NodeKind::ArithmeticExpansion { .. } | NodeKind::ParamIndirect { .. } => {
                self.embedded(value.strip_prefix("$((").unwrap_or(value));
                unknown()
            }
            _ => {
                self.node(part, &super::Stdin::Inherited);
                unknown()
            }
        }
    }

    /// `${X:-text}`: the variable's value if known, or else the default, if that is known.
    fn with_default(&self, param: &str, op: Option<&str>, arg: Option<&str>) -> Vec<String> {
        let is_default = matches!(op, Some(":-" | "-" | ":=" | "="));
        match (self.variables.get(param), arg) {
            (Some(word), _) if is_default => vec![word.text.clone()],
            (None, Some(arg)) if is_default && !arg.contains(['$', '`']) => {
                vec![unquoted(arg, &mut Quotes::Plain)]
            }
            (None, Some(arg)) if is_default => {
                let known = arg.trim_start_matches('$').trim_matches(['{', '}', '"']);
                let (name, rest) = known.split_at(known.find('/').unwrap_or(known.len()));
                let name = name.trim_end_matches('}');
                let value = self.variables.get(name).map(|word| format!("{}{rest}", word.text));
                vec![value.unwrap_or(UNKNOWN.to_string())]
            }
            _ => vec![UNKNOWN.to_string()],
        }
    }

    /// The output of a substitution, for the few commands whose output is obvious.
    fn printed(&self, command: &Node) -> Option<String> {
        let last = self.reading.commands.last()?;
        if !matches!(command.kind, NodeKind::Command { .. }) || !last.redirects.is_empty() {
            return None;
        }
        match (last.name()?, last.arguments()) {
            ("which" | "echo" | "realpath", [word]) => word.literal().map(str::to_owned),
            ("command" | "type" | "readlink" | "printf", [_, word]) => {
                word.literal().map(str::to_owned)
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Quotes {
    Plain,
    Double,
}

/// Removes quotes. Double quotes may open in one piece of a word and close in a later one.
fn unquoted(raw: &str, quotes: &mut Quotes) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut letters = raw.chars().peekable();
    // Brackets form a class only if they close; `[` alone is the test command.
    let mut closings = raw.matches(']').count();
    while let Some(letter) = letters.next() {
        match (letter, *quotes) {
            ('"', Quotes::Plain) => *quotes = Quotes::Double,
            ('"', Quotes::Double) => *quotes = Quotes::Plain,
            ('\\', Quotes::Plain) => text.extend(letters.next().filter(|next| *next != '\n')),
            ('\\', Quotes::Double) => match letters.peek() {
                Some('$' | '`' | '"' | '\\' | &BACKTICK) => text.extend(letters.next()),
                Some('\n') => drop(letters.next()),
                _ => text.push('\\'),
            },
            ('\'', Quotes::Plain) => text.extend(letters.by_ref().take_while(|next| *next != '\'')),
            ('*', Quotes::Plain) => text.push(STAR),
            ('?', Quotes::Plain) => text.push(ONE),
            ('[', Quotes::Plain) if closings > 0 => {
                letters.by_ref().find(|next| *next == ']');
                closings -= 1;
                text.push(ONE);
            }
            (']', Quotes::Plain) => {
                closings = closings.saturating_sub(1);
                text.push(letter);
            }
            _ => text.push(letter),
        }
    }
    text
}

/// Expands `{a,b{c,d}}`; `None` for sequences and for contents that need expansion themselves.
fn alternatives(content: &str) -> Option<Vec<String>> {
    let inner = content.strip_prefix('{')?.strip_suffix('}')?;
    if inner.contains(['$', '`', '"', '\'', '\\']) {
        return None;
    }
    let members = members(inner);
    if members.len() < 2 {
        return None;
    }
    let mut found = Vec::new();
    for member in members {
        match (member.find('{'), member.rfind('}')) {
            (Some(from), Some(to)) if from < to => {
                for middle in alternatives(&member[from..=to])? {
                    found.push(format!("{}{middle}{}", &member[..from], &member[to + 1..]));
                }
            }
            _ => found.push(member.replace('*', &STAR.to_string())),
        }
    }
    (found.len() <= MOST_ALTERNATIVES).then_some(found)
}

/// Splits a brace expression at the commas of its own level.
fn members(inner: &str) -> Vec<&str> {
    let (mut depth, mut from, mut found) = (0usize, 0, Vec::new());
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&inner[from..]);
    found
}

fn combine(words: &[String], alternatives: &[String]) -> Vec<String> {
    if words.len() * alternatives.len() > MOST_ALTERNATIVES {
        return vec![UNKNOWN.to_string()];
    }
    words
        .iter()
        .flat_map(|word| alternatives.iter().map(move |next| format!("{word}{next}")))
        .collect()
}
