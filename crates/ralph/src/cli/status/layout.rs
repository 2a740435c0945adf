//! How the list for people is laid out.

/// Lines are as long as this, whatever the terminal: what is printed to a file is the same.
pub(super) const WIDTH: usize = 80;

/// The text in lines of whole words; the first begins in one column, the others in another.
pub(super) fn wrapped(text: &str, first: usize, others: usize) -> String {
    let mut lines = String::new();
    let mut column = first;
    for (at, word) in words(text).iter().enumerate() {
        let wide = word.chars().count();
        if at > 0 && column + 1 + wide > WIDTH {
            lines.push_str(&format!("\n{:others$}", ""));
            column = others;
        } else if at > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += wide;
    }
    lines
}

/// The words of a text. A command between backticks is one: it is there to be copied.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if last.matches('`').count() % 2 == 1 => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// `5,000,000`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let pieces: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|piece| std::str::from_utf8(piece).ok())
        .collect();
    pieces.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_goes_on_below_in_whole_words() {
        let text = wrapped(&"word ".repeat(40), 14, 6);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].chars().count() + 14 <= WIDTH, "{text}");
        assert!(lines[1..].iter().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(lines[1].starts_with("      word"), "{text}");
        assert_eq!(wrapped(&"x".repeat(200), 14, 6), "x".repeat(200));
    }

    #[test]
    fn a_command_is_never_broken() {
        let command = format!("`ralph {}`", "word ".repeat(30).trim());
        assert_eq!(wrapped(&format!("see {command}"), 0, 2), format!("see\n  {command}"));
    }

    #[test]
    fn a_large_number_is_read_in_groups() {
        assert_eq!([0, 999, 1_000, 5_000_000].map(grouped), ["0", "999", "1,000", "5,000,000"]);
    }
}
