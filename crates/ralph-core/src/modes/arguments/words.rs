//! Splits typed text into words and records their positions, so that a task can be returned as
//! typed.

/// One word. For quoting, a flag's value after `=` counts as a separate word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ArgumentWord<'a> {
    /// The word without the quotes that group it.
    pub(super) value: &'a str,
    /// For a flag with `=`, the part before it; otherwise the whole word.
    pub(super) name: &'a str,
    /// The part after a flag's `=`, without the quotes that group it.
    pub(super) attached: Option<&'a str>,
    /// Whether quotes group the whole word. A quoted word is always text, never a flag.
    pub(super) quoted: bool,
    start: usize,
    end: usize,
}

impl ArgumentWord<'_> {
    /// True for exactly this word, typed without quotes.
    pub(super) fn is(&self, text: &str) -> bool {
        !self.quoted && self.value == text
    }
}

pub(super) fn split(text: &str) -> Vec<ArgumentWord<'_>> {
    let mut words = Vec::new();
    let mut at = skip_space(text, 0);
    while at < text.len() {
        let word = read(text, at);
        at = skip_space(text, word.end);
        words.push(word);
    }
    words
}

/// Joins words as typed, keeping the space between them. Where a flag was removed between two
/// words, one space remains, or the adjacent line break.
pub(super) fn join(text: &str, words: &[ArgumentWord]) -> String {
    let mut joined = String::new();
    let mut last: Option<&ArgumentWord> = None;
    for word in words {
        if let Some(last) = last {
            let gap = &text[last.end..word.start];
            joined.push_str(match gap {
                gap if gap.trim().is_empty() => gap,
                gap if at_line_break(gap) => "\n",
                _ => " ",
            });
        }
        joined.push_str(&text[word.start..word.end]);
        last = Some(word);
    }
    joined
}

fn at_line_break(gap: &str) -> bool {
    let before = &gap[..gap.len() - gap.trim_start().len()];
    let after = &gap[gap.trim_end().len()..];
    before.contains('\n') || after.contains('\n')
}

fn read(text: &str, start: usize) -> ArgumentWord<'_> {
    if let Some((value, end)) = quoted(text, start) {
        return ArgumentWord { value, name: value, attached: None, quoted: true, start, end };
    }
    let plain_end = word_end(text, start);
    let plain = &text[start..plain_end];
    let mut word = ArgumentWord {
        value: plain,
        name: plain,
        attached: None,
        quoted: false,
        start,
        end: plain_end,
    };
    if let Some(equals) = plain.find('=').filter(|_| plain.starts_with(super::DASHES)) {
        let value_start = start + equals + 1;
        let (value, end) =
            quoted(text, value_start).unwrap_or((&text[value_start..plain_end], plain_end));
        word.name = &plain[..equals];
        word.attached = Some(value);
        word.value = &text[start..end];
        word.end = end;
    }
    word
}

/// Returns the text between an opening quote at `start` and the first matching quote that ends a
/// word, and the end of that word. Returns `None` if there is no quote here or it is never closed;
/// then it is plain text.
fn quoted(text: &str, start: usize) -> Option<(&str, usize)> {
    let quote = text[start..].chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let inside = start + quote.len_utf8();
    text[inside..].match_indices(quote).map(|(offset, _)| inside + offset).find_map(|close| {
        let end = close + quote.len_utf8();
        let ends_word = text[end..].chars().next().is_none_or(char::is_whitespace);
        ends_word.then(|| (&text[inside..close], end))
    })
}

fn word_end(text: &str, start: usize) -> usize {
    text[start..].find(char::is_whitespace).map_or(text.len(), |offset| start + offset)
}

fn skip_space(text: &str, start: usize) -> usize {
    text[start..].find(|c: char| !c.is_whitespace()).map_or(text.len(), |offset| start + offset)
}
