//! Finds the word that was meant.

/// The candidate that is most like the word: it begins with it, or few letters differ.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let measured = candidates.iter().map(|one| match one.starts_with(word) {
        true => (0, *one),
        false => (distance(word, one), *one),
    });
    let (far, found) = measured.min_by_key(|(far, _)| *far)?;
    (far <= (word.chars().count() / 4).max(1)).then_some(found)
}

/// How many letters must be added, removed or replaced to make one word of the other.
pub fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for letter in one.chars() {
        let mut before = row[0];
        row[0] += 1;
        for (at, it) in other.iter().enumerate() {
            let replaced = before + usize::from(*it != letter);
            before = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(before + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_names_the_word_and_another_word_names_none() {
        let flags = ["--max-iterations", "--max-minutes", "--ac"];
        for (typed, meant) in [
            ("--max-iteration", Some("--max-iterations")),
            ("--max-iter", Some("--max-iterations")),
            ("--max-minuets", Some("--max-minutes")),
            ("--as", Some("--ac")),
            ("--verbose", None),
        ] {
            assert_eq!(nearest(typed, &flags), meant, "{typed}");
        }
        assert_eq!([distance("steer", "start"), distance("strat", "start")], [3, 2]);
    }
}
