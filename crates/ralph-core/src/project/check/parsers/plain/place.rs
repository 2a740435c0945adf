//! Finds a place at the start of a line: `a.go:7:6`, `a.cs(7,6)`, `a.sh: line 3`.
//!
//! Times, addresses and versions contain numbers and colons too, so the file must look like a file
//! name or be the edited file.

/// How many numbers of a line are tried as the line number.
const MOST_TRIED: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineLocation<'a> {
    pub(super) file: &'a str,
    pub(super) line: u32,
    pub(super) column: Option<u32>,
}

/// The place at the start of the line, and the text after it.
pub(super) fn leading<'a>(line: &'a str, edited: &str) -> Option<(LineLocation<'a>, &'a str)> {
    with_colons(line, edited).or_else(|| with_parentheses(line, edited))
}

/// `a.go:7:6: …`, `a.go:7: …`, `a.go:7:6 …`, `a.sh: line 3: …`, `a.sh: 3: …`.
fn with_colons<'a>(line: &'a str, edited: &str) -> Option<(LineLocation<'a>, &'a str)> {
    let behind = |(at, _): (usize, &'a str)| {
        let behind = &line[at + 1..];
        let spaced = behind.strip_prefix(" line ").or_else(|| behind.strip_prefix(' '));
        let (number, rest) = number(spaced.unwrap_or(behind))?;
        Some((at, spaced, number, rest))
    };
    line.match_indices(':').filter_map(behind).take(MOST_TRIED).find_map(
        |(at, spaced, number, rest)| {
            let file = file(&line[..at], edited)?;
            // After a blank the number needs a colon, because `a.py: 3 problems` is not a place.
            if spaced.is_some() {
                let rest = rest.strip_prefix(": ")?;
                return Some((LineLocation { file, line: number, column: None }, rest));
            }
            let column =
                rest.strip_prefix(':').and_then(self::number).filter(|(_, rest)| is_end(rest));
            let (column, rest) = match column {
                Some((column, rest)) => (Some(column), rest),
                None => (None, rest),
            };
            is_end(rest).then_some((LineLocation { file, line: number, column }, after(rest)))
        },
    )
}

/// `a.cs(7,6): …`.
fn with_parentheses<'a>(line: &'a str, edited: &str) -> Option<(LineLocation<'a>, &'a str)> {
    let behind = |(at, _): (usize, &'a str)| {
        let (number, rest) = number(&line[at + 1..])?;
        Some((at, number, rest))
    };
    line.match_indices('(').filter_map(behind).take(MOST_TRIED).find_map(|(at, number, rest)| {
        let file = file(&line[..at], edited)?;
        let column = rest.strip_prefix(',').and_then(self::number);
        let (column, rest) = match column {
            Some((column, rest)) => (Some(column), rest),
            None => (None, rest),
        };
        let rest = rest.strip_prefix(')')?.strip_prefix(':')?;
        Some((LineLocation { file, line: number, column }, rest.trim_start()))
    })
}

/// PHP: `… in a.php on line 2`.
pub(super) fn trailing<'a>(line: &'a str, edited: &str) -> Option<(LineLocation<'a>, &'a str)> {
    let (before, number) = line.rsplit_once(" on line ")?;
    let (message, name) = before.rsplit_once(" in ")?;
    let line = number.parse().ok()?;
    Some((LineLocation { file: file(name, edited)?, line, column: None }, message))
}

/// Python: `File "a.py", line 1`, followed by nothing but a function's name.
pub(super) fn quoted(line: &str) -> Option<LineLocation<'_>> {
    let (file, rest) = line.strip_prefix("File \"")?.split_once("\", line ")?;
    let (line, rest) = number(rest)?;
    let is_file = !file.is_empty() && !file.starts_with('<');
    let is_whole = rest.is_empty() || rest.starts_with(", in ");
    (is_file && is_whole).then_some(LineLocation { file, line, column: None })
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([':', ' '])
}

fn after(rest: &str) -> &str {
    let rest = rest.strip_prefix(':').unwrap_or(rest).trim_start();
    rest.strip_prefix("- ").unwrap_or(rest)
}

/// A line or a column, from 1.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok().filter(|number| *number > 0)?;
    Some((number, &text[end..]))
}

/// The file name at the end of the text; a program may have put its own name in front.
pub(super) fn file<'a>(before: &'a str, edited: &str) -> Option<&'a str> {
    let name = before.rsplit_once(": ").map_or(before, |(_, name)| name);
    let is_edited = !name.is_empty() && std::path::Path::new(edited).ends_with(name);
    let looks_like_one = name.contains(char::is_alphabetic)
        && name.contains(['.', '/'])
        && !name.contains("://")
        && !name.contains(|sign: char| sign.is_whitespace() || "\"'`<>|()".contains(sign));
    (is_edited || looks_like_one).then_some(name)
}
