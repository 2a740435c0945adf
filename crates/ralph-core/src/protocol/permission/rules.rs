//! Permission rules from the client's settings: `Tool`, `Bash(cargo test)`, `Bash(cargo test:*)`,
//! `Bash(git *)`.

/// The rules of all settings files that apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Calls that are allowed without asking.
    pub allow: Vec<String>,
    /// Calls that are asked about in every mode.
    pub ask: Vec<String>,
    /// Calls that are always denied.
    pub deny: Vec<String>,
}

/// The first rule that names the whole tool or matches one of these texts.
pub(super) fn naming(rules: &[String], tool: &str, texts: &[String]) -> Option<String> {
    let names = |rule: &&String| match rule.split_once('(') {
        None => rule.trim() == tool,
        Some((name, rest)) => {
            let pattern = rest.strip_suffix(')').unwrap_or(rest).trim();
            name.trim() == tool
                && (pattern == "*" || texts.iter().any(|text| is_meant(pattern, text)))
        }
    };
    rules.iter().find(names).cloned()
}

/// Measured: a trailing `:*` or ` *` matches the words before it and anything after them, including
/// nothing; `cargo testx` does not match `cargo test`. A star elsewhere matches any text.
fn is_meant(pattern: &str, text: &str) -> bool {
    let open = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    if let Some(words) = open.filter(|words| !words.contains('*')) {
        return text
            .strip_prefix(words)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    }
    let pattern = pattern.replace(":*", "*");
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    // Without a star, the text must equal the pattern; otherwise it must end in the last piece.
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}
