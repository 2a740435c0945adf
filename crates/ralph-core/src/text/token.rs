//! Recognises the model's request for completion.
//!
//! The token counts only if it is alone on the last non-empty line, outside code fences and quotes;
//! anywhere else, the text is about the token. Emphasis marks and a `<promise>` tag around it are
//! allowed, because models add them.

use memchr::memmem;
use serde::{Deserialize, Serialize};

/// Whether the last message requests completion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompletionRequest {
    /// The token is alone on the last line.
    Made,
    /// The token is in the message, but not as a request.
    OnlyMentioned,
    /// The token is not there.
    #[default]
    None,
}

/// Reads the request from the last message of the main conversation.
pub fn request(message: &str, token: &str) -> CompletionRequest {
    if token.is_empty() || memmem::find(message.as_bytes(), token.as_bytes()).is_none() {
        return CompletionRequest::None;
    }
    match last_line(message) {
        Some(line) if bare(line, token) == token => CompletionRequest::Made,
        _ => CompletionRequest::OnlyMentioned,
    }
}

/// The last non-empty line, unless it is inside a code fence or a quotation.
pub(crate) fn last_line(message: &str) -> Option<&str> {
    let mut fence: Option<(char, usize)> = None;
    let mut last = None;
    for line in message.lines() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        last = match (fence, fence_mark(line)) {
            (None, Some(mark)) => {
                fence = Some(mark);
                None
            }
            (Some((letter, length)), Some((same, longer)))
                if letter == same && longer >= length && line.chars().all(|c| c == letter) =>
            {
                fence = None;
                None
            }
            (Some(_), _) => None,
            (None, None) => (!line.starts_with('>')).then_some(line),
        };
    }
    last
}

/// The marker that opens or closes a code fence, if the line begins with one.
fn fence_mark(line: &str) -> Option<(char, usize)> {
    let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == letter).count();
    (length >= 3).then_some((letter, length))
}

/// Strips emphasis marks and a promise tag from the line.
fn bare<'a>(mut line: &'a str, token: &str) -> &'a str {
    const AROUND: [(&str, &str); 5] =
        [("<promise>", "</promise>"), ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_")];
    loop {
        if line == token {
            return line;
        }
        let inner = AROUND
            .iter()
            .find_map(|(open, close)| line.strip_prefix(open)?.strip_suffix(close))
            .map(str::trim);
        match inner {
            Some(inner) => line = inner,
            None => return line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expected: CompletionRequest) {
        assert_eq!(request(message, "RALPH_COMPLETE"), expected, "{message:?}");
    }

    #[test]
    fn alone_on_the_last_line_it_is_a_request() {
        for message in [
            "RALPH_COMPLETE",
            "All done.\n\nRALPH_COMPLETE",
            "All done.\nRALPH_COMPLETE\n\n  \n",
            "done\r\nRALPH_COMPLETE\r\n",
            "```\ncode\n```\nRALPH_COMPLETE",
            "~~~sh\n```\n~~~\nRALPH_COMPLETE",
            "``\nRALPH_COMPLETE",
            "````\n```\n`````\nRALPH_COMPLETE",
            "> quoted\nRALPH_COMPLETE",
            "**RALPH_COMPLETE**",
            "__RALPH_COMPLETE__",
            "*RALPH_COMPLETE*",
            "_RALPH_COMPLETE_",
            "<promise>RALPH_COMPLETE</promise>",
            "**<promise> RALPH_COMPLETE </promise>**",
        ] {
            check(message, CompletionRequest::Made);
        }
    }

    #[test]
    fn anywhere_else_it_is_only_mentioned() {
        for message in [
            "I will say RALPH_COMPLETE when it works",
            "RALPH_COMPLETE\nbut one test is red",
            "not RALPH_COMPLETE",
            "RALPH_COMPLETE.",
            "> RALPH_COMPLETE",
            "\"RALPH_COMPLETE\"",
            "`RALPH_COMPLETE`",
            "```\nRALPH_COMPLETE\n```",
            "```\nRALPH_COMPLETE",
            "````\n```\nRALPH_COMPLETE",
            "```\ncode\n```js\nRALPH_COMPLETE",
            "~~~\n```\nRALPH_COMPLETE",
            "~~~\nRALPH_COMPLETE\n~~~",
            "RALPH_COMPLETE\n****",
            "```RALPH_COMPLETE```",
            "- RALPH_COMPLETE",
            "RALPH_COMPLETED",
            "**RALPH_COMPLETE",
            "RALPH_COMPLETE RALPH_COMPLETE",
        ] {
            check(message, CompletionRequest::OnlyMentioned);
        }
    }

    #[test]
    fn without_the_token_there_is_no_request() {
        check("", CompletionRequest::None);
        check("ralph_complete", CompletionRequest::None);
        assert_eq!(
            request("anything", ""),
            CompletionRequest::None,
            "an empty token never matches"
        );
    }

    #[test]
    fn a_token_of_its_own_marks_still_counts() {
        assert_eq!(request("**__DONE__**", "__DONE__"), CompletionRequest::Made);
        assert_eq!(request("_X_Y", "_X_Y"), CompletionRequest::Made);
    }
}
