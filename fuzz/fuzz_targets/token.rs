//! The last message and the word that asks for completion. Input: the word, and the message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::text::token::{self, CompletionRequest};
use ralph_fuzz::texts;

fuzz_target!(|data: &[u8]| {
    let [word, message] = texts(data);
    let token = if word.is_empty() { "RALPH_COMPLETE" } else { &*word };
    let request = token::request(&message, token);
    assert_eq!(
        request == CompletionRequest::None,
        !message.contains(token),
        "none if it is not there"
    );
    assert_eq!(token::request(&message, ""), CompletionRequest::None);
    let ends = |message: &str| token::request(message, token) == CompletionRequest::Made;
    if token.trim() != token || token.contains(['\n', '\r']) || token.starts_with(['>', '`', '~']) {
        return;
    }
    if request == CompletionRequest::Made {
        let last = message.lines().rev().find(|line| !line.trim().is_empty()).expect("a line");
        let rest = last.replacen(token, "", 1);
        let rest = rest.replace("<promise>", "").replace("</promise>", "");
        let rest = rest.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_'));
        // A word of marks only can be found twice.
        assert!(rest.is_empty() || token.chars().all(|c| matches!(c, '*' | '_')), "{last:?}");
        assert!(ends(&format!("{message}\n\n  \n")), "blank lines after it change nothing");
    }
    let more = format!("{message}\nand one more thing");
    assert!(!ends(&more) || "and one more thing".contains(token), "only the last line counts");
    let quote: String = message.lines().map(|line| format!("> {line}\n")).collect();
    assert!(!ends(&quote), "a quotation is no request");
    let longest = |mark: char| message.split(|c| c != mark).map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest('`').max(3) + 1);
    assert!(!ends(&format!("{fence}\n{message}\n{fence}")), "what is fenced is no request");
    assert!(!ends(&format!("{fence}\n{message}")), "also where the fence is not closed");
    let mut plain = String::new();
    plain.extend(message.lines().map(|line| format!("    .{line}\n")));
    assert!(ends(&format!("{plain}{token}\n")), "alone on the last line it is a request");
});
