//! Splits a Markdown document into the lines that matter in a plan: headings, list items, boxes and
//! blocks of code.
//!
//! By lines, as the tools that own these formats read them, and more leniently than CommonMark: an
//! item keeps its box however deep it is indented. Front matter, comments and the boxes inside
//! blocks of code are no part of the plan.

use crate::tasks::plan::{closes, opening};

/// A line, or a block of code, which counts as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// As an editor counts, from 1.
    pub(super) number: usize,
    pub(super) kind: LineKind<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind<'a> {
    Heading {
        /// 1 for `#`.
        level: usize,
        text: &'a str,
    },
    Item {
        /// Columns before the bullet.
        indent: usize,
        text: &'a str,
        checkbox: Option<Checkbox>,
    },
    Code,
    /// Any other line, an empty one too.
    Text(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Checkbox {
    /// Where in the document the character between the brackets is, in bytes.
    pub(super) offset: usize,
    pub(super) is_ticked: bool,
}

/// The lines of a document.
pub(super) fn split(document: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut rest = raw(document).into_iter().skip(front_matter(document)).peekable();
    while let Some(line) = rest.next() {
        let trimmed = line.text.trim();
        if trimmed.starts_with("<!--") {
            let mut is_open = !trimmed.contains("-->");
            while is_open && let Some(next) = rest.next() {
                is_open = !next.text.contains("-->");
            }
            continue;
        }
        let kind = match fence(line.text) {
            Some(fence) => {
                rest.by_ref().take_while(|next| !closes(next.text, fence)).for_each(drop);
                LineKind::Code
            }
            None => heading(&line).or_else(|| item(&line)).unwrap_or(LineKind::Text(line.text)),
        };
        lines.push(Line { number: line.number, kind });
    }
    lines
}

/// A line as it stands in the document, without its end.
struct RawLine<'a> {
    number: usize,
    /// Where it begins, in bytes.
    start: usize,
    text: &'a str,
}

fn raw(document: &str) -> Vec<RawLine<'_>> {
    let mut start = document.len() - document.trim_start_matches('\u{feff}').len();
    let mut lines = Vec::new();
    for (at, line) in document[start..].split_inclusive('\n').enumerate() {
        lines.push(RawLine { number: at + 1, start, text: line.trim_end_matches(['\n', '\r']) });
        start += line.len();
    }
    lines
}

/// How many lines the front matter takes. Without a closing line it takes 0.
fn front_matter(document: &str) -> usize {
    let mut lines = document.trim_start_matches('\u{feff}').lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return 0;
    }
    lines.position(|line| matches!(line.trim_end(), "---" | "...")).map_or(0, |at| at + 2)
}

fn fence(line: &str) -> Option<&str> {
    let (fence, language) = opening(line)?;
    // Backticks after the fence: a span of code that fills the line.
    (fence.starts_with('~') || !language.contains('`')).then_some(fence)
}

fn heading<'a>(line: &RawLine<'a>) -> Option<LineKind<'a>> {
    let text = line.text.trim_start_matches(' ');
    if line.text.len() - text.len() > 3 {
        return None;
    }
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if !(1..=6).contains(&level) || !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    Some(LineKind::Heading { level, text: rest.trim().trim_end_matches('#').trim() })
}

fn item<'a>(line: &RawLine<'a>) -> Option<LineKind<'a>> {
    let text = line.text.trim_start_matches([' ', '\t']);
    let before = &line.text[..line.text.len() - text.len()];
    let indent = before.chars().map(|mark| if mark == '\t' { 4 } else { 1 }).sum();
    let rest = text.strip_prefix(['-', '*', '+']).or_else(|| after_number(text))?;
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let rest = rest.trim();
    let checkbox = checkbox(line, rest);
    let text = checkbox.map_or(rest, |_| rest[3..].trim());
    Some(LineKind::Item { indent, text, checkbox })
}

/// The text after `1.` or `1)`.
fn after_number(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let digits = text.len() - rest.len();
    (1..=9).contains(&digits).then(|| rest.strip_prefix(['.', ')'])).flatten()
}

/// The box at the start of `text`, which is a part of the line.
fn checkbox(line: &RawLine<'_>, text: &str) -> Option<Checkbox> {
    let is_ticked = match text.get(..3)? {
        "[ ]" => false,
        "[x]" | "[X]" => true,
        _ => return None,
    };
    // A link: `[x](…)`.
    if text[3..].starts_with(['(', '[']) {
        return None;
    }
    let within = text.as_ptr() as usize - line.text.as_ptr() as usize;
    Some(Checkbox { offset: line.start + within + 1, is_ticked })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line as `number kind text`, with the character that its box holds.
    #[track_caller]
    fn check(document: &str, expected: &[&str]) {
        let lines = split(document);
        let shown: Vec<String> = lines
            .iter()
            .filter(|line| line.kind != LineKind::Text(""))
            .map(|line| {
                let mark = |checkbox: &Option<Checkbox>| {
                    checkbox.map_or(String::new(), |one| {
                        format!("[{}]", &document[one.offset..=one.offset])
                    })
                };
                let kind = match &line.kind {
                    LineKind::Heading { level, text } => format!("h{level} {text}"),
                    LineKind::Item { indent, text, checkbox } => {
                        format!("i{indent}{} {text}", mark(checkbox))
                    }
                    LineKind::Code => "code".to_owned(),
                    LineKind::Text(text) => format!("text {text}"),
                };
                format!("{} {kind}", line.number)
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn bullets_boxes_and_headings_are_read_as_people_write_them() {
        check(
            "# A #\n* [x] a\n+ [X] b\n1. [ ] c\n2) d\n\t- [ ] e\n- [x](link)\n-[ ] f\n### 3. [ ] G\n#tag\n",
            &[
                "1 h1 A",
                "2 i0[x] a",
                "3 i0[X] b",
                "4 i0[ ] c",
                "5 i0 d",
                "6 i4[ ] e",
                "7 i0 [x](link)",
                "8 text -[ ] f",
                "9 h3 3. [ ] G",
                "10 text #tag",
            ],
        );
    }

    #[test]
    fn code_comments_and_front_matter_have_no_boxes() {
        check(
            "\u{feff}---\r\na: 1\r\n---\r\n<!-- - [ ] x\r\n- [ ] y -->\r\n```md\r\n- [ ] z\r\n```\r\n- [ ] real\r\n",
            &["6 code", "9 i0[ ] real"],
        );
        check("---\n- [ ] a\n", &["1 text ---", "2 i0[ ] a"]);
        check(
            "```inline``` text\n- [ ] a\n~~~\n- [ ] b",
            &["1 text ```inline``` text", "2 i0[ ] a", "3 code"],
        );
    }
}
