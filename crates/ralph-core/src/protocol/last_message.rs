//! The message that ends a turn. It may be a megabyte, of which a stop needs the end, and to know
//! whether a word is in it: so a long one stays JSON until a rule needs its text.

use crate::text::json_truncate::{Squeezer, ends_in_escape};
use crate::text::token::{self, CompletionRequest};
use memchr::{memchr, memmem};
use std::borrow::Cow;
use std::ops::Range;

/// The message of a payload.
#[derive(Debug, Clone, Copy)]
pub enum LastMessage<'a> {
    Text(&'a str),
    /// A JSON string with its quotes.
    Json(&'a [u8]),
}

/// The place of the message in a payload, as a JSON string. `None` if the payload has no message, or is
/// not written as the client writes it.
pub fn place(payload: &[u8]) -> Option<Range<usize>> {
    const MEMBER: &str = "\"last_assistant_message\":";
    let after = memmem::find(payload, MEMBER.as_bytes())? + MEMBER.len();
    let spaces = payload[after..].iter().take_while(|byte| byte.is_ascii_whitespace());
    let begin = after + spaces.count();
    if payload.get(begin) != Some(&b'"') {
        return None;
    }
    let mut end = begin + 1;
    loop {
        end += memchr(b'"', &payload[end..])? + 1;
        if !ends_in_escape(&payload[begin + 1..end - 1]) {
            return Some(begin..end);
        }
    }
}

impl<'a> LastMessage<'a> {
    /// The whole text.
    pub fn text(self) -> Cow<'a, str> {
        match self {
            LastMessage::Text(text) => Cow::Borrowed(text),
            LastMessage::Json(json) => Cow::Owned(parsed(json)),
        }
    }

    /// The text, or an end of it that has more letters than this.
    pub fn end(self, letters: usize) -> Cow<'a, str> {
        /// The longest escape in bytes, of one letter in two parts.
        const LONGEST: usize = 12;
        if let LastMessage::Json(json) = self
            && let Some(from) = json.len().checked_sub((letters + 2) * LONGEST)
            // No escape holds a space.
            && let Some(space) = memchr(b' ', &json[from..])
            && let end = [b"\"", &json[from + space + 1..]].concat()
            && let Ok(end) = serde_json::from_slice::<String>(&end)
            && end.chars().nth(letters).is_some()
        {
            return Cow::Owned(end);
        }
        self.text()
    }

    /// Reads the request for completion.
    pub fn request(self, token: &str) -> CompletionRequest {
        match self {
            LastMessage::Json(json) if is_absent(token, json) => CompletionRequest::None,
            _ => token::request(&self.text(), token),
        }
    }
}

/// Reads a lone surrogate, and bytes that are no UTF-8, as U+FFFD, the replacement character.
fn parsed(json: &[u8]) -> String {
    serde_json::from_slice(json).unwrap_or_else(|_| {
        let mut squeezer = Squeezer::new(usize::MAX, usize::MAX);
        squeezer.feed(String::from_utf8_lossy(json).as_bytes());
        serde_json::from_slice(&squeezer.finish().bytes).unwrap_or_default()
    })
}

/// True if this word is certainly not in the text: JSON may write a letter in several ways.
fn is_absent(word: &str, json: &[u8]) -> bool {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"_-".contains(&letter);
    word.bytes().all(is_plain)
        && memmem::find(json, word.as_bytes()).is_none()
        && memmem::find(json, br"\u").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::truncate;
    use serde_json::json;

    const TOKEN: &str = "RALPH_COMPLETE";

    fn texts() -> Vec<String> {
        let prose =
            "I changed \"the\" parser\\; two fail.\nNext: `lexer.rs` \u{e9}\u{1f600}\u{1}.\n";
        let mut texts = vec![String::new(), "\\".to_owned(), "\"".to_owned(), TOKEN.to_owned()];
        for count in [1, 9, 30, 200] {
            let long = prose.repeat(count);
            let plain = long.replace('\u{1}', "");
            texts.extend([format!("{long}\n{TOKEN}"), format!("{TOKEN}{plain}"), plain, long]);
            texts.push("x\\\"".repeat(count * 10));
        }
        texts
    }

    #[test]
    fn a_message_says_the_same_as_json_and_as_text() {
        for text in texts() {
            let payload =
                json!({"a": "\"last_assistant_message\":\"no\"", "last_assistant_message": text});
            let payload = payload.to_string().into_bytes();
            let place = place(&payload).unwrap();
            let (long, whole) = (LastMessage::Json(&payload[place]), LastMessage::Text(&text));
            assert_eq!(long.text(), text);
            assert_eq!(long.request(TOKEN), whole.request(TOKEN), "{text}");
            for letters in [0, 3, 40, 300] {
                let end = long.end(letters);
                assert!(text.ends_with(&*end));
                assert_eq!(truncate::tail(&end, letters), truncate::tail(&text, letters));
                assert_eq!(end.chars().nth(letters).is_some(), text.chars().nth(letters).is_some());
            }
        }
    }

    #[test]
    fn half_a_letter_does_not_hide_the_rest() {
        let json = format!(r#""{}\ud83d half\n{TOKEN}""#, "x ".repeat(100));
        let message = LastMessage::Json(json.as_bytes());
        assert!(
            message.text().ends_with(&format!("\u{fffd} half\n{TOKEN}")),
            "{:?}",
            message.text()
        );
        assert_eq!(message.request(TOKEN), CompletionRequest::Made);
        assert!(message.end(30).ends_with(TOKEN));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_hide_the_rest() {
        let json = [b"\"x \xff\\n", TOKEN.as_bytes(), b"\""].concat();
        let message = LastMessage::Json(&json);
        assert_eq!(message.text(), format!("x \u{fffd}\n{TOKEN}"));
        assert_eq!(message.request(TOKEN), CompletionRequest::Made);
    }

    #[test]
    fn a_word_that_json_writes_in_another_way_is_found() {
        for (json, expected) in [
            (r#""a\nRALPH\u005fCOMPLETE""#, CompletionRequest::Made),
            (r#""a\nRALPH_COMPLETE""#, CompletionRequest::Made),
            (r#""a\n\u0052 no""#, CompletionRequest::None),
            (r#""RALPH_COMPLETE or not""#, CompletionRequest::OnlyMentioned),
        ] {
            assert_eq!(LastMessage::Json(json.as_bytes()).request(TOKEN), expected, "{json}");
        }
        let quoted = LastMessage::Json(br#""a\n\"done\"""#);
        assert_eq!(quoted.request("\"done\""), CompletionRequest::Made);
    }

    #[test]
    fn what_is_no_whole_string_has_no_place() {
        for payload in [
            r#"{"last_assistant_message":null}"#,
            r#"{"last_assistant_message":"a"#,
            r#"{"last_assistant_message":"a\""#,
            r#"{"a":"b"}"#,
        ] {
            assert_eq!(place(payload.as_bytes()), None, "{payload}");
        }
        assert_eq!(place(b"{\"last_assistant_message\" :\"\"}"), None);
        assert_eq!(place(b"{\"last_assistant_message\": \n\"\"}"), Some(28..30));
    }
}
