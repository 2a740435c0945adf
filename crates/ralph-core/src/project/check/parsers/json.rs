//! Finds a JSON document in a tool's output, and reads its members.
//!
//! Wrappers around a tool may print lines of their own before and after the document.

use serde_json::Value;

/// The first document that starts at the beginning of a line and passes `fits`.
///
/// Each line is parsed at most twice: after a false start, the search continues where parsing
/// failed.
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
        // The first line is never tried again.
        rest = &rest[read.max(after_lines(rest, 1))..];
    }
}

/// The text from the first line that could start a document.
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

/// A string member; empty if it is not a string.
pub(super) fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

/// A list member; empty if it is not a list.
pub(super) fn items<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A member that is a line or a column, from 1.
pub(super) fn position(of: &Value, name: &str) -> Option<u32> {
    of[name].as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
}

/// The file system path of a `file:` URI.
pub(super) fn path_of(uri: &str) -> String {
    let path = uri.strip_prefix("file://localhost").or_else(|| uri.strip_prefix("file://"));
    let Some(path) = path else { return decoded(uri) };
    decoded(path)
}

/// Decodes `%20` to a blank. Invalid escapes stay, and if the result is not UTF-8 the whole text
/// stays.
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
