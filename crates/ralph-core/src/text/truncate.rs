//! Truncates long texts at the end or at the beginning.

/// Keeps the beginning, at most `limit` UTF-16 units as Claude Code counts them; a cut text ends in
/// `…`.
pub fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.encode_utf16().count() <= limit {
        return text.to_owned();
    }
    let mut units = 0;
    let mut kept = String::new();
    for letter in text.chars() {
        units += letter.len_utf16();
        if units > limit - 1 {
            break;
        }
        kept.push(letter);
    }
    kept.push('…');
    kept
}

/// Keeps the last `letters` characters, joined into one line, for a journal or a message.
pub fn tail(text: &str, letters: usize) -> String {
    // Searches from the end: the text may be a megabyte.
    let begins = text.char_indices().rev().take(letters).last().map_or(text.len(), |(at, _)| at);
    let folded = text[begins..].split_whitespace().collect::<Vec<_>>().join(" ");
    if begins > 0 { format!("…{folded}") } else { folded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded_in_utf16_units_without_splitting_a_character() {
        assert_eq!(bounded("abc", 3), "abc");
        assert_eq!(bounded("abcd", 3), "ab…");
        assert_eq!(bounded("😀😀", 3), "😀…");
        assert_eq!(bounded("€€€", 3), "€€€");
        assert_eq!(bounded("€€€€", 3), "€€…");
        assert_eq!(bounded("abcdefgh", 6), "abcde…");
    }

    #[test]
    fn a_tail_is_the_end_on_one_line() {
        assert_eq!(tail("a\nb  c", 100), "a b c");
        assert_eq!(tail("abcdef", 3), "…def");
        assert_eq!(
            (tail("abc", 3), tail("äöü", 2), tail("", 3)),
            ("abc".into(), "…öü".into(), "".into())
        );
    }
}
