//! YAML as paths and scalars with their lines, and changes of single scalars in the text.
//!
//! A document is never rewritten: a change replaces the characters of one value or adds lines, so
//! that comments, order and unknown members are kept. Each change is read back, and is refused if
//! the result is not the intended one.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use std::fmt;

const DEEPEST: usize = 16;

/// Limit of the number of all values; these documents have a dozen.
const MOST: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Yaml {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    path: Vec<String>,
    line: usize,
    /// The value's position, in characters.
    start: usize,
    end: usize,
    /// The end of the name, in characters; an empty value has no position of its own.
    name_end: usize,
    value: YamlValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YamlValue {
    /// The text, and whether it is plain: a plain scalar may be a number or null.
    Scalar(String, bool),
    List(Vec<String>),
    /// The members have their own paths.
    Mapping,
}

/// Why a text is not a document, or cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// The line, counted from 1.
    pub line: usize,
    pub what: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "line {}: {}", self.line, self.what)
    }
}

impl Yaml {
    /// Reads the first document of a text.
    ///
    /// # Errors
    /// The place where the text is not YAML, is not a mapping, repeats a member, or exceeds the
    /// limits.
    pub fn parse(text: &str) -> Result<Yaml, YamlError> {
        let mut reader = YamlReader::default();
        for event in Parser::new_from_str(text).take(2 * MOST) {
            let (event, span) = event.map_err(|error| YamlError {
                line: error.marker().line(),
                what: format!("this is not YAML: {}", error.info()),
            })?;
            if reader.take(event, span.start, span.end)? {
                break;
            }
        }
        let is_mapping = reader.nodes.is_empty()
            || reader
                .nodes
                .iter()
                .any(|node| node.path.is_empty() && node.value == YamlValue::Mapping);
        match is_mapping && reader.open.is_empty() {
            true => Ok(Yaml { nodes: reader.nodes }),
            false => {
                Err(YamlError { line: 1, what: "not a mapping; write `name: value`".to_owned() })
            }
        }
    }

    fn node(&self, path: &[&str]) -> Option<&Node> {
        self.nodes.iter().find(|node| node.path == path)
    }

    pub fn value(&self, path: &[&str]) -> Option<&YamlValue> {
        self.node(path).map(|node| &node.value)
    }

    /// The line of the value at a path, counted from 1.
    pub fn line(&self, path: &[&str]) -> Option<usize> {
        self.node(path).map(|node| node.line)
    }

    /// The text at a path; `None` for a plain `null`, `~` or empty value.
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        match self.value(path)? {
            YamlValue::Scalar(text, true)
                if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL") =>
            {
                None
            }
            YamlValue::Scalar(text, _) => Some(text),
            _ => None,
        }
    }

    pub fn number(&self, path: &[&str]) -> Option<u32> {
        self.text(path)?.parse().ok()
    }

    /// The texts of a list. A single text is split at its commas.
    pub fn list(&self, path: &[&str]) -> Option<Vec<String>> {
        match self.value(path)? {
            YamlValue::List(items) => Some(items.clone()),
            YamlValue::Scalar(text, _) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Some(self.text(path).map_or_else(Vec::new, |_| parts.map(str::to_owned).collect()))
            }
            YamlValue::Mapping => None,
        }
    }
}

#[derive(Default)]
struct YamlReader {
    nodes: Vec<Node>,
    open: Vec<OpenNode>,
}

/// A collection whose end has not been read yet.
enum OpenNode {
    /// The index of its node, and the key whose value comes next.
    Mapping {
        node: usize,
        key: Option<(String, usize)>,
    },
    List {
        node: usize,
    },
}

impl YamlReader {
    /// Takes the next event. Returns true at the end of the document.
    fn take(&mut self, event: Event, start: Marker, end: Marker) -> Result<bool, YamlError> {
        let flaw = |what: &str| Err(YamlError { line: start.line(), what: what.to_owned() });
        if self.nodes.len() > MOST || self.open.len() > DEEPEST {
            return flaw("it has more entries than this document can have");
        }
        let value = match event {
            Event::DocumentEnd | Event::StreamEnd => return Ok(true),
            Event::MappingEnd => {
                if let Some(OpenNode::Mapping { node, .. }) = self.open.pop() {
                    self.nodes[node].end = end.index();
                }
                return Ok(false);
            }
            Event::SequenceEnd => {
                if let Some(OpenNode::List { node }) = self.open.pop() {
                    self.nodes[node].end = end.index();
                }
                return Ok(false);
            }
            Event::MappingStart(..) => YamlValue::Mapping,
            Event::SequenceStart(..) => YamlValue::List(Vec::new()),
            Event::Scalar(text, style, ..) => {
                YamlValue::Scalar(text.into_owned(), style == ScalarStyle::Plain)
            }
            // Aliases could expand a few lines to millions.
            Event::Alias(_) => return flaw("an alias; write the value itself"),
            _ => return Ok(false),
        };
        // This scalar is a key.
        if let Some(OpenNode::Mapping { key: key @ None, .. }) = self.open.last_mut() {
            let YamlValue::Scalar(text, _) = value else {
                return flaw("a name must be text; write `name: value`");
            };
            *key = Some((text, end.index()));
            return Ok(false);
        }
        self.value(value, start, end)?;
        Ok(false)
    }

    fn value(&mut self, value: YamlValue, start: Marker, end: Marker) -> Result<(), YamlError> {
        let mut name_end = start.index();
        let path = match self.open.last_mut() {
            None => Vec::new(),
            Some(OpenNode::List { node }) => {
                let item = match &value {
                    YamlValue::Scalar(text, _) => text.clone(),
                    _ => String::new(),
                };
                let node = *node;
                if let YamlValue::List(items) = &mut self.nodes[node].value {
                    items.push(item);
                }
                // An item of a list has no path of its own.
                let place = format!("[{}]", self.nodes.len());
                [self.nodes[node].path.clone(), vec![place]].concat()
            }
            Some(OpenNode::Mapping { node, key }) => {
                let (key, end) = key.take().unwrap_or_default();
                name_end = end;
                [self.nodes[*node].path.clone(), vec![key]].concat()
            }
        };
        if self.nodes.iter().any(|node| node.path == path) {
            let what = format!("`{}` is set twice; delete one", path.join("."));
            return Err(YamlError { line: start.line(), what });
        }
        let opens = match &value {
            YamlValue::Mapping => Some(OpenNode::Mapping { node: self.nodes.len(), key: None }),
            YamlValue::List(_) => Some(OpenNode::List { node: self.nodes.len() }),
            YamlValue::Scalar(..) => None,
        };
        let (line, start, end) = (start.line(), start.index(), end.index());
        self.nodes.push(Node { path, line, start, end, name_end, value });
        self.open.extend(opens);
        Ok(())
    }
}

/// Sets a value at a path and keeps everything else. At most the last two names of the path may be
/// new.
///
/// # Errors
/// The text is not a document, or the change would have to rewrite other values.
pub fn set(text: &str, path: &[&str], value: &str) -> Result<String, YamlError> {
    let before = Yaml::parse(text)?;
    if before.value(path) == Some(&scalar(value)) {
        return Ok(text.to_owned());
    }
    let written = written(value);
    let after = match before.node(path) {
        Some(node) => replace(text, node, path, &written)?,
        None => add(text, &before, path, &written)?,
    };
    let says = Yaml::parse(&after).ok().filter(|yaml| {
        yaml.value(path) == Some(&scalar(value))
            && before.nodes.iter().all(|node| {
                let names: Vec<&str> = node.path.iter().map(String::as_str).collect();
                names == path || is_list_item(node) || yaml.value(&names) == Some(&node.value)
            })
    });
    match says {
        Some(_) => Ok(after),
        None => Err(cannot(before.line(path).unwrap_or(1), path)),
    }
}

/// The names of list items count the values before them, so they change when one is added.
fn is_list_item(node: &Node) -> bool {
    node.path.iter().any(|name| name.starts_with('['))
}

fn cannot(line: usize, path: &[&str]) -> YamlError {
    let what = format!(
        "could not change `{}`; write it on a line of its own, as `name: value`",
        path.join(".")
    );
    YamlError { line, what }
}

fn scalar(value: &str) -> YamlValue {
    YamlValue::Scalar(value.to_owned(), is_plain(value))
}

/// True for a text that reads the same without quotes.
fn is_plain(value: &str) -> bool {
    let letter = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'+' | b'/')
    };
    value.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && value.bytes().all(letter)
        && !value.ends_with(':')
}

/// Writes a YAML scalar. JSON's quoting is valid in YAML's double quotes.
fn written(value: &str) -> String {
    match is_plain(value) {
        true => value.to_owned(),
        false => serde_json::Value::String(value.to_owned()).to_string(),
    }
}

fn byte(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

fn replace(text: &str, node: &Node, path: &[&str], written: &str) -> Result<String, YamlError> {
    let YamlValue::Scalar(..) = &node.value else { return Err(cannot(node.line, path)) };
    if node.start == node.end {
        // The value is empty: write it after the colon of its name.
        let name_end = byte(text, node.name_end);
        let colon = text[name_end..].find(':').ok_or_else(|| cannot(node.line, path))?;
        let (before, behind) = text.split_at(name_end + colon + 1);
        return Ok(format!("{before} {written}{behind}"));
    }
    let (start, end) = (byte(text, node.start), byte(text, node.end));
    if text[start..end].contains('\n') {
        return Err(cannot(node.line, path));
    }
    Ok(format!("{}{written}{}", &text[..start], &text[end..]))
}

/// Adds a new member after the last one of its mapping.
fn add(text: &str, before: &Yaml, path: &[&str], written: &str) -> Result<String, YamlError> {
    let [parents @ .., name] = path else { return Err(cannot(1, path)) };
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (line, behind) = match before.node(parents) {
        Some(parent) if parents.is_empty() || parent.value == YamlValue::Mapping => {
            let inner = before.nodes.iter().filter(|node| {
                node.path.len() > parents.len()
                    && node.path.iter().zip(parents).all(|(a, b)| a == b)
            });
            let last = inner.clone().map(|node| last_line(text, node)).max();
            let last = last.ok_or_else(|| cannot(parent.line, path))?;
            let first = inner.map(|node| node.line).min().unwrap_or(last);
            let indent = match parents.is_empty() {
                true => String::new(),
                false => indent_of(text, first),
            };
            (format!("{indent}{name}: {written}{newline}"), last)
        }
        None if parents.len() <= 1 => {
            let block = match parents {
                [parent] => format!("{parent}:{newline}  {name}: {written}{newline}"),
                _ => format!("{name}: {written}{newline}"),
            };
            let last = before.nodes.iter().map(|node| last_line(text, node)).max();
            (block, last.unwrap_or_else(|| text.split_inclusive('\n').count()))
        }
        parent => return Err(cannot(parent.map_or(1, |node| node.line), path)),
    };
    let end: usize = text.split_inclusive('\n').take(behind).map(str::len).sum();
    let gap = if end == 0 || text[..end].ends_with('\n') { "" } else { newline };
    Ok(format!("{}{gap}{line}{}", &text[..end], &text[end..]))
}

/// The last line of a value. A collection without brackets ends with its last value.
fn last_line(text: &str, node: &Node) -> usize {
    let value = text[byte(text, node.start)..byte(text, node.end)].trim_end();
    let has_end = matches!(node.value, YamlValue::Scalar(..)) || value.ends_with(['}', ']']);
    if !has_end {
        return node.line;
    }
    node.line + value.matches('\n').count()
}

fn indent_of(text: &str, line: usize) -> String {
    let line = text.split('\n').nth(line - 1).unwrap_or_default();
    line.chars().take_while(|letter| *letter == ' ').collect()
}

/// The YAML between the first two `---` lines, and the number of lines before it; `None` without
/// front matter.
pub fn front_matter(text: &str) -> Option<(&str, usize)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.split_inclusive('\n').next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let rest = &text[first.len()..];
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], 1));
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# about the session
version: 1
session_id: 260131-120000   # as its folder
ünknown: [a, 'b']
orchestrator:
    state: PLANNING # for now
    current_wave:
    more: {a: 1}

tasks: {total: 0, completed: 0}
# the end
";

    #[test]
    fn a_document_is_read_by_paths() {
        let yaml = Yaml::parse(TEXT).unwrap();
        assert_eq!(yaml.number(&["version"]), Some(1));
        assert_eq!(yaml.text(&["session_id"]), Some("260131-120000"));
        assert_eq!(yaml.text(&["orchestrator", "state"]), Some("PLANNING"));
        assert_eq!(yaml.line(&["orchestrator", "state"]), Some(6));
        assert_eq!(yaml.text(&["orchestrator", "current_wave"]), None);
        assert_eq!(yaml.number(&["tasks", "total"]), Some(0));
        assert_eq!(yaml.list(&["ünknown"]).unwrap(), ["a", "b"]);
        assert_eq!(yaml.value(&["absent"]), None);
        assert_eq!(Yaml::parse("").unwrap(), Yaml::default());
        assert_eq!(Yaml::parse("# nothing\n").unwrap(), Yaml::default());
    }

    #[test]
    fn what_is_no_document_is_told_with_its_line() {
        for (text, line, what) in [
            ("a: 1\nb: [", 2, "not YAML"),
            ("a: 1\na: 2", 2, "`a` is set twice"),
            ("a: &x 1\nb: *x", 2, "an alias"),
            ("- a\n", 1, "not a mapping"),
            ("just text", 1, "not a mapping"),
            ("? [a]\n: b", 1, "a name must be text"),
        ] {
            let flaw = Yaml::parse(text).unwrap_err();
            assert!(flaw.what.contains(what), "{text}: {flaw}");
            assert!(flaw.line.abs_diff(line) <= 1, "{text}: {flaw}");
        }
        let deep = "a:\n"
            .repeat(40)
            .lines()
            .enumerate()
            .map(|(at, line)| format!("{}{line}\n", " ".repeat(at)))
            .collect::<String>();
        assert!(Yaml::parse(&deep).unwrap_err().what.contains("more entries than"));
    }

    #[track_caller]
    fn check(path: &[&str], value: &str, old: &str, new: &str) {
        assert!(TEXT.contains(old));
        assert_eq!(set(TEXT, path, value).unwrap(), TEXT.replacen(old, new, 1));
        let windows = TEXT.replace('\n', "\r\n");
        let expected = windows.replacen(&old.replace('\n', "\r\n"), &new.replace('\n', "\r\n"), 1);
        assert_eq!(set(&windows, path, value).unwrap(), expected);
    }

    #[test]
    fn a_change_leaves_everything_else() {
        check(&["version"], "2", "version: 1", "version: 2");
        check(&["session_id"], "x y", "260131-120000 ", "\"x y\" ");
        check(&["orchestrator", "state"], "BATCHING", "PLANNING", "BATCHING");
        check(&["orchestrator", "current_wave"], "3", "wave:", "wave: 3");
        check(&["tasks", "total"], "12", "total: 0", "total: 12");
        check(&["version"], "1", "version", "version");
    }

    #[test]
    fn a_new_member_is_added_behind_the_others() {
        check(
            &["orchestrator", "note"],
            "a: b",
            "more: {a: 1}\n",
            "more: {a: 1}\n    note: \"a: b\"\n",
        );
        check(
            &["status"],
            "in_progress",
            "completed: 0}\n",
            "completed: 0}\nstatus: in_progress\n",
        );
        check(&["new", "a"], "1", "completed: 0}\n", "completed: 0}\nnew:\n  a: 1\n");
        assert_eq!(set("", &["a"], "1").unwrap(), "a: 1\n");
        assert_eq!(set("# only this", &["a", "b"], "1").unwrap(), "# only this\na:\n  b: 1\n");
        assert_eq!(set("a: 1", &["b"], "2").unwrap(), "a: 1\nb: 2\n");
    }

    #[test]
    fn what_would_rewrite_others_is_refused() {
        for path in
            [&["tasks", "failed"][..], &["orchestrator"], &["version", "x"], &["a", "b", "c"]]
        {
            let flaw = set(TEXT, path, "1").unwrap_err();
            assert!(flaw.what.contains("could not change"), "{flaw}");
        }
        assert!(set("a: |\n  x\n  y\nb: 1\n", &["a"], "1").is_err());
        assert!(set("a: [", &["a"], "1").unwrap_err().what.contains("not YAML"));
    }

    #[test]
    fn front_matter_is_what_stands_between_the_first_rules() {
        assert_eq!(front_matter("---\na: 1\n---\nb\n---\n"), Some(("a: 1\n", 1)));
        assert_eq!(front_matter("---\r\na: 1\r\n---\r\n"), Some(("a: 1\r\n", 1)));
        for text in ["", "a: 1", "---\na: 1\n", "\n---\n---\n"] {
            assert_eq!(front_matter(text), None, "{text}");
        }
    }
}
