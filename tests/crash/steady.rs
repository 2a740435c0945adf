//! Texts without what differs from one run to the next: times, loop ids, session ids and process ids.

use serde_json::Value;

/// A file's content, so that two runs of one thing can be compared. Numbers in JSON stay, since
/// they are what is counted; digits in strings do not, since they are mostly times.
pub(crate) fn content(bytes: &[u8]) -> String {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) if value.is_object() => {
            walk(&mut value);
            value.to_string()
        }
        _ => text(&String::from_utf8_lossy(bytes)),
    }
}

fn walk(value: &mut Value) {
    match value {
        Value::String(string) => *string = text(string),
        Value::Array(all) => all.iter_mut().for_each(walk),
        Value::Object(members) => {
            // Absent after a pause of less than a second.
            members.shift_remove("paused_seconds");
            for (name, value) in members {
                match name.as_str() {
                    // `file` is a transcript's number in its file system.
                    "duration_ms" | "took_us" | "pid" | "file" => *value = Value::Null,
                    _ => walk(value),
                }
            }
        }
        _ => {}
    }
}

/// A text or a path: each loop id becomes `LOOP`, each UUID `UUID`, each name of a commit `COMMIT` (it
/// has the time in it), each run of digits `#`.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut after_hex = false;
    while let Some(letter) = rest.chars().next() {
        let begins_hex = !std::mem::replace(&mut after_hex, letter.is_ascii_hexdigit());
        if begins_hex && is_commit(rest.as_bytes()) {
            out.push_str("COMMIT");
            rest = &rest[COMMIT..];
        } else if is_loop_id(rest.as_bytes()) {
            out.push_str("LOOP");
            rest = &rest[LOOP_ID..];
        } else if is_uuid(rest.as_bytes()) {
            out.push_str("UUID");
            rest = &rest[UUID..];
        } else if letter.is_ascii_digit() {
            out.push('#');
            rest = without_number(rest);
        } else {
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    out
}

/// A fraction is part of it: a time that falls on a whole second is written without one.
fn without_number(text: &str) -> &str {
    let digit = |letter: char| letter.is_ascii_digit();
    let whole = text.trim_start_matches(digit);
    let fraction = whole.strip_prefix('.').filter(|fraction| fraction.starts_with(digit));
    fraction.map_or(whole, |fraction| fraction.trim_start_matches(digit))
}

/// `20260131-235959-1f3a`
const LOOP_ID: usize = 20;

fn is_loop_id(text: &[u8]) -> bool {
    let Some(id) = text.get(..LOOP_ID) else { return false };
    id.iter().enumerate().all(|(at, letter)| match at {
        8 | 15 => *letter == b'-',
        16.. => letter.is_ascii_hexdigit(),
        _ => letter.is_ascii_digit(),
    })
}

/// `5556b3159de9afdc3cea0ea71100240fbf7ab308`, and no longer digest.
const COMMIT: usize = 40;

fn is_commit(text: &[u8]) -> bool {
    text.iter().take_while(|letter| letter.is_ascii_hexdigit()).count() == COMMIT
}

/// `1be65727-5e13-412a-8157-66646aaabf17`
const UUID: usize = 36;

fn is_uuid(text: &[u8]) -> bool {
    let Some(id) = text.get(..UUID) else { return false };
    id.iter().enumerate().all(|(at, letter)| match at {
        8 | 13 | 18 | 23 => *letter == b'-',
        _ => letter.is_ascii_hexdigit(),
    })
}

/// The tests of this module.
pub(crate) const TESTS: &[(&str, fn())] = &[("what_differs_from_run_to_run_is_gone", gone)];

fn gone() {
    let one = br#"{"iteration":3,"at":"2026-01-31T23:59:59.5Z","id":"20260131-235959-1f3a"}"#;
    let two = br#"{"iteration":3,"at":"2027-12-01T03:09:09Z","id":"20271201-030909-abcd"}"#;
    let other = br#"{"iteration":4,"at":"2026-01-31T23:59:59.5Z","id":"20260131-235959-1f3a"}"#;
    assert_eq!(content(one), content(two));
    assert_ne!(content(one), content(other));
    let long = br#"{"iteration":3,"paused_seconds":1,"at":"2027-12-01T03:09:09Z","id":"20271201-030909-abcd"}"#;
    assert_eq!(content(one), content(long));
    assert_eq!(text("a/20260131-235959-1f3a/b12"), "a/LOOP/b#");
    let (commit, digest) = ("5dea59513de9afdc3cea0ea71100240fbf7ab308", "ab".repeat(32));
    assert_eq!(text(&format!("a \"{commit}\" {digest}")), format!("a \"COMMIT\" {digest}"));
    assert_eq!(text("m/1be65727-5e13-412a-8157-66646aaabf17.x"), "m/UUID.x");
}
