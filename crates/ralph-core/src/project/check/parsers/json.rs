//! Finds a document in what a tool printed, and reads members of it.
//!
//! A tool is started by wrappers that print lines of their own, before the document and after it.

use serde_json::Value;

/// The first document that begins at the start of a line and is what it should be.
///
/// Each line is read at most twice: after a beginning that is none, the search goes on where it broke.
pub(super) fn document(text: &str, fits: fn(&Value) -> bool) -> Option<Value> {
    let mut rest = text;
    loop {
        rest = from_opening_line(rest)?;
        let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let read = match documents.next()? {
            Ok(value) if fits(&value) => return Some(value),
            Ok(_) => documents.byte_offset(),
            Err(broken) => after_lines(rest, broken.line().saturating_sub(1)),
        };
        // The line that was begun with is never begun with again.
        rest = &rest[read.max(after_lines(rest, 1))..];
    }
}

/// The text from the first line on that could begin a document.
fn from_opening_line(text: &str) -> Option<&str> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(['{', '[']) {
            return Some(&text[at..]);
        }
        at += line.len();
    }
    None
}

fn after_lines(text: &str, count: usize) -> usize {
    text.split_inclusive('\n').take(count).map(str::len).sum()
}

/// A member that is a text; empty where it is none.
pub(super) fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

/// A member that is a list; empty where it is none.
pub(super) fn items<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A member that is a line or column, counted from 1.
pub(super) fn position(of: &Value, name: &str) -> Option<u32> {
    of[name].as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
}

/// A path as it is written in a file system.
pub(super) fn path_of(uri: &str) -> String {
    let path = uri.strip_prefix("file://localhost").or_else(|| uri.strip_prefix("file://"));
    let Some(path) = path else { return decoded(uri) };
    decoded(path)
}

/// `%20` as a blank. Bytes that are no text, and signs that begin no such pair, stay as they are.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let pair = after.get(..2).filter(|_| first == b'%');
        let digits = pair.and_then(|pair| std::str::from_utf8(pair).ok());
        let is_hex = |pair: &&str| pair.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = digits.filter(is_hex).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
