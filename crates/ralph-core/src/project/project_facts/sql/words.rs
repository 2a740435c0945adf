//! The words of SQL, statement by statement, without comments, strings and the bodies of functions.
//!
//! What never ends, ends with the text. Its tests are those of the tables that are read from it.

/// Of a statement no more words are kept: a list of dropped tables may be long.
const WORDS: usize = 400;

/// A name, or a sign that stands for itself. What was in quotes is a name whatever it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SqlWord {
    Plain(String),
    Quoted(String),
    Sign(u8),
}

/// Reads a text from its beginning to its end.
pub(super) struct SqlReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> SqlReader<'a> {
    pub(super) fn new(text: &'a str) -> SqlReader<'a> {
        SqlReader { text, at: 0 }
    }

    /// The words up to the next semicolon; none at the end of the text.
    pub(super) fn statement(&mut self) -> Option<Vec<SqlWord>> {
        let mut words = Vec::new();
        while self.at < self.text.len() {
            match self.word() {
                Some(SqlWord::Sign(b';')) => return Some(words),
                Some(word) if words.len() < WORDS => words.push(word),
                _ => {}
            }
        }
        // Without a semicolon the last statement is one all the same.
        (!words.is_empty()).then_some(words)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Reads one word, or over something that is none.
    fn word(&mut self) -> Option<SqlWord> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        match bytes[0] {
            b'-' if rest.starts_with("--") => self.skip(rest.find('\n')),
            b'/' if rest.starts_with("/*") => self.skip(end_of_comment(bytes)),
            b'\'' => self.skip(end_of_quoted(bytes, 0, false)),
            b'e' | b'E' if bytes.get(1) == Some(&b'\'') => self.skip(end_of_quoted(bytes, 1, true)),
            b'$' => self.skip(end_of_dollars(rest)),
            b'"' => {
                let end = end_of_quoted(bytes, 0, false).unwrap_or(rest.len());
                self.at += end;
                let inner = rest[1..end].strip_suffix('"').unwrap_or(&rest[1..end]);
                Some(SqlWord::Quoted(inner.replace("\"\"", "\"")))
            }
            first if is_inner(first) => {
                let end = bytes.iter().position(|byte| !is_inner(*byte) && *byte != b'$');
                let end = end.unwrap_or(rest.len());
                self.at += end;
                Some(SqlWord::Plain(rest[..end].to_lowercase()))
            }
            sign => {
                self.at += 1;
                (!sign.is_ascii_whitespace()).then_some(SqlWord::Sign(sign))
            }
        }
    }

    /// Without an end it is all the rest.
    fn skip(&mut self, length: Option<usize>) -> Option<SqlWord> {
        self.at += length.unwrap_or(self.text.len() - self.at);
        None
    }

    /// Rows of a table follow, to a line of their own sign.
    pub(super) fn skip_rows(&mut self) {
        let end = self.rest().find("\n\\.").map(|at| at + 3);
        self.skip(end);
    }
}

fn is_inner(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Comments stand inside each other.
fn end_of_comment(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return Some(at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    None
}

/// A quote that is written twice is one in the text, and ends nothing.
fn end_of_quoted(bytes: &[u8], start: usize, with_escapes: bool) -> Option<usize> {
    let quote = bytes[start];
    let mut at = start + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' if with_escapes => at += 2,
            byte if byte != quote => at += 1,
            _ if bytes.get(at + 1) == Some(&quote) => at += 2,
            _ => return Some(at + 1),
        }
    }
}

/// `$$ … $$` or `$name$ … $name$`; `$1` is a parameter and one sign long.
fn end_of_dollars(text: &str) -> Option<usize> {
    let tag = text[1..].find('$').map(|at| &text[..at + 2]);
    let is_tag = |tag: &&str| {
        let inner = &tag.as_bytes()[1..tag.len() - 1];
        inner.iter().all(|byte| is_inner(*byte)) && !inner.first().is_some_and(u8::is_ascii_digit)
    };
    match tag.filter(is_tag) {
        Some(tag) => text[tag.len()..].find(tag).map(|at| at + 2 * tag.len()),
        None => Some(1),
    }
}
