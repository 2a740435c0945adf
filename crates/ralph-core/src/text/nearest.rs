//! Finds the word that was meant.

use strsim::levenshtein;

/// The candidate that is most like the word: it begins with it, or few letters differ.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let measured = candidates.iter().map(|one| match one.starts_with(word) {
        true => (0, *one),
        false => (levenshtein(word, one), *one),
    });
    let (far, found) = measured.min_by_key(|(far, _)| *far)?;
    (far <= (word.chars().count() / 4).max(1)).then_some(found)
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
    }

    #[test]
    fn a_quarter_of_the_letters_may_differ_and_one_in_any_case() {
        for (typed, meant) in [
            ("statuz", Some("status")),
            ("stax", None),
            ("abc", Some("abd")),
            ("", Some("status")),
            ("refinXXXX", None),
            ("refinexxent", Some("refinement")),
            ("rexinexxent", None),
        ] {
            assert_eq!(nearest(typed, &["status", "abd", "refinement"]), meant, "{typed}");
        }
        assert_eq!(nearest("x", &[]), None);
    }
}
