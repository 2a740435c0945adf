//! The head of a skill or an agent, between two lines of three dashes.
//!
//! Reads the little YAML that our own files use: one `key: value` per line, and blocks that are
//! indented below their key. The client's real parser is exercised by the real-client tests.

pub(crate) struct FrontMatter<'a>(&'a str);

impl<'a> FrontMatter<'a> {
    #[track_caller]
    pub(crate) fn of(text: &'a str) -> Self {
        text.strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---\n"))
            .map(|(head, _)| Self(head))
            .unwrap_or_else(|| panic!("no front matter in:\n{text}"))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The value on the key's own line; empty when there is no such key.
    pub(crate) fn value(&self, key: &str) -> &'a str {
        self.get(key).unwrap_or_default()
    }

    /// The indented lines below the key; empty when there is no such key.
    pub(crate) fn block(&self, key: &str) -> String {
        self.0
            .lines()
            .skip_while(|line| line.strip_suffix(':') != Some(key))
            .skip(1)
            .take_while(|line| line.starts_with(' '))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
    }
}
