//! Splits source text of any language into words, numbers, strings and marks.
//!
//! Languages differ in what begins a comment and in whether `'a'` is a character. Where a text is
//! not what it seems (a string that does not end on its line), the quote is read as a mark.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Number,
    /// A string or a character, with its prefix and quotes.
    Text,
    Mark,
    /// The end of a line.
    Break,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) range: Range<usize>,
}

/// What differs between languages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Syntax {
    /// `#` begins a comment.
    hash: bool,
    /// `//` and `/*` begin a comment.
    slashes: bool,
    /// Single quotes are those of a character, which is never longer.
    characters: bool,
    pub(crate) is_shell: bool,
    /// A call of a name with a capital letter builds a value: `Some(3)`.
    pub(crate) capitals_build: bool,
    is_rust: bool,
    /// Ordinary strings may span lines.
    spans_lines: bool,
}

/// Extensions of languages in which `#` begins a comment.
const HASH: [&str; 12] =
    ["py", "rb", "pl", "t", "ex", "exs", "r", "jl", "nim", "cmake", "txt", "php"];

/// Extensions of languages in which single quotes are those of a character.
const CHARACTERS: [&str; 17] = [
    "rs", "c", "h", "cc", "cpp", "cxx", "hpp", "java", "go", "cs", "kt", "kts", "scala", "zig",
    "d", "m", "mm",
];

impl Syntax {
    pub(crate) fn for_path(path: &str) -> Syntax {
        let name = path.rsplit('/').next().unwrap_or_default();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_shell = matches!(extension, "" | "sh" | "bash" | "zsh" | "bats" | "mk");
        let hash = HASH.contains(&extension);
        let characters = CHARACTERS.contains(&extension);
        let slashes = !is_shell && !hash || extension == "php";
        let is_rust = extension == "rs";
        let spans_lines =
            is_shell || is_rust || matches!(extension, "rb" | "pl" | "t" | "php" | "ex" | "exs");
        let capitals_build = !matches!(extension, "go" | "cs");
        Syntax {
            hash: hash || is_shell,
            slashes,
            characters,
            is_shell,
            capitals_build,
            is_rust,
            spans_lines,
        }
    }
}

/// Splits a text; comments and blanks are left out.
pub(crate) fn tokens(text: &str, syntax: Syntax) -> Vec<Token> {
    const LONG: [&str; 13] =
        ["===", "!==", "==", "!=", "<=", ">=", "=>", "->", "::", "&&", "||", ":=", "=~"];
    let mut found: Vec<Token> = Vec::new();
    let mut heredoc: Option<&str> = None;
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let before = text[..at].chars().next_back().unwrap_or('\n');
        let (kind, length) = if letter == '\n' {
            let document = heredoc.take().map_or(0, |end| heredoc_length(&rest[1..], end));
            (Some(TokenKind::Break), 1 + document)
        } else if rest.starts_with("\\\n") {
            (None, 2)
        } else if letter.is_whitespace() {
            (None, letter.len_utf8())
        } else if let Some(length) = comment(rest, before, syntax) {
            (None, length)
        } else if let Some(length) = string(rest, syntax, 0) {
            (Some(TokenKind::Text), length)
        } else if letter.is_ascii_digit() {
            (Some(TokenKind::Number), number(rest))
        } else if is_word(letter) {
            let length = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
            (Some(TokenKind::Word), length)
        } else {
            if rest.starts_with("<<") && syntax.spans_lines && !syntax.is_rust {
                heredoc = heredoc_end(rest);
            }
            let long = LONG.iter().find(|mark| rest.starts_with(**mark));
            (Some(TokenKind::Mark), long.map_or(letter.len_utf8(), |mark| mark.len()))
        };
        if let Some(kind) = kind {
            found.push(Token { kind, range: at..at + length });
        }
        at += length;
    }
    found
}

/// For each bracket that opens, the index of the one that closes it.
pub(crate) fn brackets(tokens: &[Token], text: &str) -> Vec<Option<usize>> {
    let mut closing = vec![None; tokens.len()];
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, it)| it.kind == TokenKind::Mark) {
        match &text[token.range.clone()] {
            "(" => open.push((at, ")")),
            "[" => open.push((at, "]")),
            "{" => open.push((at, "}")),
            mark @ (")" | "]" | "}") if open.last().is_some_and(|(_, end)| *end == mark) => {
                if let Some((start, _)) = open.pop() {
                    closing[start] = Some(at);
                }
            }
            _ => {}
        }
    }
    closing
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

fn comment(rest: &str, before: char, syntax: Syntax) -> Option<usize> {
    let line = || Some(rest.find('\n').unwrap_or(rest.len()));
    match rest {
        // An attribute of PHP.
        _ if rest.starts_with("#[") && syntax.slashes => None,
        _ if syntax.hash
            && rest.starts_with('#')
            && (!syntax.is_shell || before.is_whitespace()) =>
        {
            line()
        }
        _ if syntax.slashes && rest.starts_with("//") => line(),
        _ if syntax.slashes && rest.starts_with("/*") => {
            let mut depth = 0;
            let end = (0..rest.len()).find(|&at| {
                let opens = rest.as_bytes()[at..].starts_with(b"/*") && (at == 0 || syntax.is_rust);
                let closes = at > 3 && rest.as_bytes()[at - 2..].starts_with(b"*/");
                depth += i32::from(opens) - i32::from(closes);
                depth == 0
            });
            Some(end.unwrap_or(rest.len()))
        }
        _ => None,
    }
}

/// The length of a string with its prefix.
fn string(rest: &str, syntax: Syntax, depth: u8) -> Option<usize> {
    if syntax.is_rust
        && let Some(length) = raw(rest)
    {
        return Some(length);
    }
    let is_quote = |(_, letter): &(usize, char)| matches!(letter, '"' | '\'' | '`');
    let (quote_at, quote) = rest.char_indices().take(3).find(is_quote)?;
    let (prefix, body) = rest.split_at(quote_at);
    if !prefix.chars().all(|it| "fFrRbBuULc$8".contains(it)) {
        return None;
    }
    if !syntax.is_shell
        && let Some(triple) = TRIPLES.iter().find(|it| body.starts_with(**it))
    {
        return Some(quote_at + 3 + body[3..].find(triple)? + 3);
    }
    let is_character = quote == '\'' && syntax.characters;
    let mut at = 1;
    loop {
        let letter = body.get(at..)?.chars().next()?;
        let next = &body[at + letter.len_utf8()..];
        let interpolates = match letter {
            '$' if quote == '`' => next.starts_with('{'),
            '$' => next.starts_with('(') && syntax.is_shell && quote == '"',
            '#' => next.starts_with('{') && syntax.spans_lines,
            _ => false,
        };
        at += match letter {
            _ if letter == quote => return (!is_character || at > 1).then_some(quote_at + at + 1),
            '\n' if quote != '`' && (is_character || !syntax.spans_lines) => return None,
            // A lifetime, a label or an apostrophe.
            _ if is_character && at > 1 && !body.starts_with("'\\") => return None,
            '\\' if !(syntax.is_shell && quote == '\'') => 1 + next.chars().next()?.len_utf8(),
            _ if interpolates && depth < DEEPEST => 1 + group(next, syntax, depth + 1).unwrap_or(0),
            _ => letter.len_utf8(),
        };
    }
}

const TRIPLES: [&str; 2] = ["\"\"\"", "'''"];

/// Levels of strings in interpolations in strings.
const DEEPEST: u8 = 8;

/// Longest interpolation, in bytes: one that is not closed must not cost a search of all the rest.
const LONGEST: usize = 4000;

/// The length of `r#"…"#`.
fn raw(rest: &str) -> Option<usize> {
    let start = rest.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let body = start.trim_start_matches('#');
    let end = format!("\"{}", "#".repeat(start.len() - body.len()));
    let length = body.strip_prefix('"')?.find(&end)? + 1 + end.len();
    Some(rest.len() - body.len() + length)
}

/// The length of an interpolation from its bracket on; it may hold strings with the same quotes.
fn group(rest: &str, syntax: Syntax, depth: u8) -> Option<usize> {
    let (mut open, mut at) = (0_usize, 0);
    while at < LONGEST {
        let letter = rest.get(at..)?.chars().next()?;
        match letter {
            '{' | '(' => open += 1,
            '}' | ')' => open = open.checked_sub(1)?,
            _ => {}
        }
        let inner = matches!(letter, '"' | '\'' | '`').then(|| string(&rest[at..], syntax, depth));
        at += inner.flatten().unwrap_or(letter.len_utf8());
        if open == 0 {
            return Some(at);
        }
    }
    None
}

fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut at, mut has_dot) = (1, false);
    while let Some(&byte) = bytes.get(at) {
        let is_exponent = !rest.starts_with("0x") && matches!(bytes[at - 1], b'e' | b'E');
        match byte {
            b'.' if !has_dot && is_digit(at + 1) => has_dot = true,
            b'\'' if is_digit(at + 1) => {}
            b'+' | b'-' if is_exponent && is_digit(at + 1) => {}
            b'_' => {}
            _ if byte.is_ascii_alphanumeric() => {}
            _ => break,
        }
        at += 1;
    }
    at
}

/// The word that ends a document in a script: `<<EOF`, `<<-'EOF'`, `<<~EOF`.
fn heredoc_end(rest: &str) -> Option<&str> {
    let word = rest[2..].trim_start_matches(['<', '-', '~', '\'', '"']);
    let word = word.split(|it| !is_word(it)).next()?;
    (word.starts_with(|it: char| it.is_uppercase() || it == '_')).then_some(word)
}

/// The length of the document up to its end; none if it does not end.
fn heredoc_length(rest: &str, end: &str) -> usize {
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        length += line.len();
        if line.trim() == end {
            return length;
        }
    }
    0
}

#[cfg(test)]
mod tests;
