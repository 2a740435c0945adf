//! YAML as paths and scalars with their lines.

use saphyr_parser::{Event, Parser, ScalarStyle};
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

/// Why a text is not a document.
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
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| YamlError {
                line: error.marker().line(),
                what: format!("this is not YAML: {}", error.info()),
            })?;
            if reader.take(event, span.start.line())? {
                break;
            }
        }
        // The first node is the document itself.
        match reader.nodes.first().filter(|node| node.value != YamlValue::Mapping) {
            None => Ok(Yaml { nodes: reader.nodes }),
            Some(Node { line, .. }) => {
                let what = "not a mapping; write `name: value`".to_owned();
                Err(YamlError { line: *line, what })
            }
        }
    }

    /// Reads the front matter of a text, with the lines of the text; `None` if it has none.
    pub fn in_front(text: &str) -> Option<Result<Yaml, YamlError>> {
        // An empty line stands for the first `---`.
        front_matter(text).map(|yaml| Yaml::parse(&format!("\n{yaml}")))
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
        key: Option<String>,
    },
    List {
        node: usize,
    },
}

impl YamlReader {
    /// Takes the next event. Returns true at the end of the document.
    fn take(&mut self, event: Event, line: usize) -> Result<bool, YamlError> {
        let flaw = |what: &str| Err(YamlError { line, what: what.to_owned() });
        if self.nodes.len() > MOST || self.open.len() > DEEPEST {
            return flaw("it has more entries than this document can have");
        }
        let value = match event {
            Event::DocumentEnd | Event::StreamEnd => return Ok(true),
            Event::MappingEnd | Event::SequenceEnd => {
                self.open.pop();
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
            *key = Some(text);
            return Ok(false);
        }
        self.value(value, line)?;
        Ok(false)
    }

    fn value(&mut self, value: YamlValue, line: usize) -> Result<(), YamlError> {
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
                let key = key.take().unwrap_or_default();
                [self.nodes[*node].path.clone(), vec![key]].concat()
            }
        };
        if self.nodes.iter().any(|node| node.path == path) {
            let what = format!("`{}` is set twice; delete one", path.join("."));
            return Err(YamlError { line, what });
        }
        let opens = match &value {
            YamlValue::Mapping => Some(OpenNode::Mapping { node: self.nodes.len(), key: None }),
            YamlValue::List(_) => Some(OpenNode::List { node: self.nodes.len() }),
            YamlValue::Scalar(..) => None,
        };
        self.nodes.push(Node { path, line, value });
        self.open.extend(opens);
        Ok(())
    }
}

/// The YAML between the first two `---` lines; `None` without front matter.
pub fn front_matter(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.split_inclusive('\n').next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let rest = &text[first.len()..];
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&rest[..at]);
        }
        at += line.len();
    }
    None
}

/// The lines after the front matter, each with its number.
pub fn body(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let skipped = front_matter(text).map_or(0, |yaml| yaml.lines().count() + 2);
    (1..).zip(text.lines()).skip(skipped)
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

    #[test]
    fn front_matter_is_what_stands_between_the_first_rules() {
        assert_eq!(front_matter("---\na: 1\n---\nb\n---\n"), Some("a: 1\n"));
        assert_eq!(front_matter("---\r\na: 1\r\n---\r\n"), Some("a: 1\r\n"));
        for text in ["", "a: 1", "---\na: 1\n", "\n---\n---\n"] {
            assert_eq!(front_matter(text), None, "{text}");
        }
    }
}
