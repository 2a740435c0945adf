//! JSON with comments. Input: the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::project::check::jsonc;
use ralph_fuzz::same;
use serde_json::Value;

fn check_reads(text: &str, value: &Value) {
    let read = jsonc::read(text).unwrap_or_else(|| panic!("{text:?}"));
    assert!(same(&read, value), "{text:?} is {read} and not {value}");
}

/// The document, with a comment at the end of each line and a comma wherever one may be too many.
fn commented(value: &Value) -> String {
    let pretty = format!("{value:#}");
    let mut text = String::from("// {[\"\n/* ] */");
    let mut lines = pretty.lines().peekable();
    while let Some(line) = lines.next() {
        let closes = |line: &&str| line.trim_start().starts_with(['}', ']']);
        let is_last = lines.peek().is_some_and(closes) && !line.ends_with(['{', '[']);
        let comma = if is_last { "/*,*/," } else { "" };
        text.push_str(&format!("{line}{comma} // \" }} */ ,\n"));
    }
    text + "/* \" // ,] **/"
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let read = jsonc::read(&text);
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        check_reads(&text, &value);
    }
    let Some(value) = read else { return };
    check_reads(&commented(&value), &value);
    let bare = text.strip_prefix('\u{feff}').unwrap_or(&text);
    check_reads(&format!("\u{feff}{bare}\n//"), &value);
});
