//! The few number formats that runners use.

/// `12`, and nothing else. Text with more than 12 digits is not a count.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = (1..=12).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// `3 passed` as 3 and `passed`, ignoring white space around both.
pub(super) fn counted(text: &str) -> Option<(u64, &str)> {
    let (count, word) = text.trim().split_once(' ')?;
    Some((number(count)?, word.trim_start()))
}

/// `Failed:   0` as `Failed` and 0, ignoring a final full stop.
pub(super) fn labelled(text: &str) -> Option<(&str, u64)> {
    let (label, count) = text.trim().trim_end_matches('.').split_once(':')?;
    Some((label.trim_end(), number(count.trim())?))
}

/// The word without a plural `s`: `test` for `tests`.
pub(super) fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}
