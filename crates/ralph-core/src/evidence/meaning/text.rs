//! Normalizes text by removing what has no meaning, and parses the small formats.

use serde_json::Value;

/// Collapses white space in a line of shell.
pub(super) fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Trims lines and drops blank lines and comments.
pub(super) fn lines(text: &str, comment: &[&str]) -> String {
    let is_comment = |line: &str| comment.iter().any(|mark| line.starts_with(mark));
    let kept = text.lines().map(line).filter(|line| !line.is_empty() && !is_comment(line));
    kept.collect::<Vec<_>>().join("\n")
}

/// Like [`lines`] for a language with significant indentation: keeps the depth of each line.
pub(super) fn indented(text: &str, comment: &str) -> String {
    let kept = text.lines().filter(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with(comment)
    });
    kept.map(|line| {
        let depth = line.len() - line.trim_start().len();
        format!("{depth} {}", self::line(line).replace('\'', "\""))
    })
    .collect::<Vec<_>>()
    .join("\n")
}

/// Code with braces: drops comments, white space and semicolons, and unifies quotes.
pub(super) fn code(text: &str) -> String {
    let mut kept = String::new();
    let mut letters = text.chars().peekable();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => {
                kept.push(letter);
                kept.extend(letters.next());
            }
            (Some(open), letter) if letter == open => {
                quote = None;
                kept.push('"');
            }
            (Some(_), letter) => kept.push(letter),
            (None, '"' | '\'' | '`') => {
                quote = Some(letter);
                kept.push('"');
            }
            (None, '/') if letters.peek() == Some(&'/') => {
                letters.by_ref().find(|letter| *letter == '\n');
            }
            (None, '/') if letters.peek() == Some(&'*') => {
                let mut before = ' ';
                letters.next();
                letters
                    .by_ref()
                    .find(|now| std::mem::replace(&mut before, *now) == '*' && *now == '/');
            }
            (None, '}' | ']' | ')') => {
                if kept.ends_with(',') {
                    kept.pop();
                }
                kept.push(letter);
            }
            (None, ';') => {}
            (None, letter) if letter.is_whitespace() => {}
            (None, letter) => kept.push(letter),
        }
    }
    kept
}

/// A value without the members of these names; `None` if nothing remains.
pub(super) fn value(value: &Value, without: &[&str]) -> Option<String> {
    let mut value = value.clone();
    if let Value::Object(members) = &mut value {
        members.retain(|name, _| !without.contains(&name.as_str()));
        if members.is_empty() {
            return None;
        }
    }
    (!value.is_null()).then(|| sorted(&value))
}

/// Serializes with sorted members, since their order has no meaning.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut all: Vec<String> =
                members.iter().map(|(name, value)| format!("{name:?}:{}", sorted(value))).collect();
            all.sort();
            format!("{{{}}}", all.join(","))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(sorted).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// Parses an `.ini` file into sections with their keys and values.
pub(super) fn ini(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut sections: Vec<(String, Vec<(String, String)>)> = vec![(String::new(), Vec::new())];
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        let Some((_, keys)) = sections.last_mut() else { continue };
        if let Some(name) = bare.strip_prefix('[').and_then(|rest| rest.split(']').next())
            && !line.starts_with([' ', '\t'])
        {
            sections.push((name.trim().to_owned(), Vec::new()));
            continue;
        }
        if line.starts_with([' ', '\t'])
            && let Some((_, value)) = keys.last_mut()
        {
            value.push('\n');
            value.push_str(&self::line(bare));
        } else if let Some((key, value)) = bare.split_once(['=', ':']) {
            keys.push((key.trim().to_owned(), self::line(value)));
        } else {
            keys.push((bare.to_owned(), String::new()));
        }
    }
    sections
}

/// The first line for which `opens` is true, with the deeper-indented block below it.
pub(super) fn block(text: &str, opens: impl Fn(&str) -> bool) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let first = lines.iter().position(|line| opens(line.trim_end()))?;
    let top = depth(lines.get(first)?);
    let below = lines.iter().skip(first + 1);
    let inside = below.take_while(|line| line.trim().is_empty() || depth(line) > top);
    let mut block = vec![*lines.get(first)?];
    block.extend(inside);
    Some(block.join("\n"))
}

/// The text between the brackets after the first of these words.
pub(super) fn braced<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(found) = text.get(from..)?.find(word) {
        let at = from + found;
        let rest = text.get(at + word.len()..)?;
        let is_word = !text.get(..at)?.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let open = rest.trim_start_matches([' ', ':', '\t', '"', '\'']);
        if is_word && open.starts_with('{') {
            let mut depth = 0_usize;
            for (end, letter) in open.char_indices() {
                match letter {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if depth == 0 {
                    return open.get(..=end);
                }
            }
            return Some(open);
        }
        from = at + word.len();
    }
    None
}

/// `a/b/../c` as `a/c`; `None` if it leads out of the project.
pub(super) fn join(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') || path.starts_with('~') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
