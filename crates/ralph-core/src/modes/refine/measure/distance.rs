//! The number of items to add, remove or replace to turn one list into another.
//!
//! The number is the smallest possible. It is therefore the same in both directions, zero only for
//! equal lists, and never larger than the sum by way of a third list. It is not a list of changes:
//! use `git diff` for that.

use std::collections::HashMap;
use std::hash::Hash;

/// The largest table that is filled: its time is the product of both lengths.
const MOST: usize = 20_000 * 20_000;

/// The smallest number of additions, removals and replacements. Between longer lists, everything
/// between the common beginning and the common end counts as replaced.
pub fn distance<T: Eq + Hash>(before: &[T], after: &[T]) -> u64 {
    let (before, after) = numbered(before, after);
    let (before, after) = without_common_ends(&before, &after);
    let number = match before.len().saturating_mul(after.len()) > MOST {
        true => before.len().max(after.len()),
        false => strsim::generic_levenshtein(&before.to_vec(), &after.to_vec()),
    };
    number as u64
}

/// Maps equal items to equal numbers, because each line is compared many times.
fn numbered<T: Eq + Hash>(before: &[T], after: &[T]) -> (Vec<usize>, Vec<usize>) {
    let mut numbers = HashMap::new();
    let mut number = |item| {
        let next = numbers.len();
        *numbers.entry(item).or_insert(next)
    };
    (before.iter().map(&mut number).collect(), after.iter().map(&mut number).collect())
}

fn without_common_ends<'a>(before: &'a [usize], after: &'a [usize]) -> (&'a [usize], &'a [usize]) {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (before, after) = (&before[start..], &after[start..]);
    let end = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    (&before[..before.len() - end], &after[..after.len() - end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::refine::tests::Dice;

    fn letters(before: &str, after: &str) -> u64 {
        distance(before.as_bytes(), after.as_bytes())
    }

    /// The textbook table, simple enough to be trusted.
    fn by_table(before: &[u8], after: &[u8]) -> u64 {
        let mut row: Vec<u64> = (0..=after.len() as u64).collect();
        for (at, item) in before.iter().enumerate() {
            let mut last = std::mem::replace(&mut row[0], at as u64 + 1);
            for (place, other) in after.iter().enumerate() {
                let replaced = last + u64::from(item != other);
                last = row[place + 1];
                row[place + 1] = replaced.min(last + 1).min(row[place] + 1);
            }
        }
        row[after.len()]
    }

    #[test]
    fn it_is_the_least_number_of_steps() {
        for (before, after, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "axc", 1),
            ("abc", "bc", 1),
            ("kitten", "sitting", 3),
            ("abcdef", "defabc", 6),
            ("aaaa", "aa", 2),
        ] {
            assert_eq!(letters(before, after), expected, "{before} {after}");
        }
    }

    #[test]
    fn all_short_lists_agree_with_the_table() {
        // Three letters, lists of up to four of them: 121 lists, each compared with each.
        let mut lists: Vec<Vec<u8>> = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..4 {
            let to = lists.len();
            for at in from..to {
                for letter in 0..3 {
                    lists.push([lists[at].as_slice(), &[letter]].concat());
                }
            }
            from = to;
        }
        assert_eq!(lists.len(), 121);
        for before in &lists {
            for after in &lists {
                assert_eq!(
                    distance(before, after),
                    by_table(before, after),
                    "{before:?} {after:?}"
                );
            }
        }
    }

    #[test]
    fn long_lists_of_chance_agree_with_the_table_and_no_detour_is_shorter() {
        let mut dice = Dice(0x5eed);
        for _ in 0..300 {
            let sides = 2 + dice.roll(30);
            let mut list = || -> Vec<u8> {
                (0..dice.roll(60)).map(|_| u8::try_from(dice.roll(sides)).unwrap()).collect()
            };
            let (a, b, c) = (list(), list(), list());
            assert_eq!(distance(&a, &b), by_table(&a, &b), "{a:?} {b:?}");
            assert_eq!(distance(&a, &b), distance(&b, &a), "{a:?} {b:?}");
            assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c));
            assert_eq!(distance(&a, &b) == 0, a == b);
        }
    }

    #[test]
    fn beyond_the_bound_all_between_the_ends_counts() {
        let lines = |from: usize, to: usize| (from..to).collect::<Vec<_>>();
        assert_eq!(distance(&lines(0, 2_000), &lines(2_000, 4_000)), 2_000);
        assert_eq!(distance(&lines(0, 50_000), &lines(0, 49_999)), 1);
        assert_eq!(distance(&lines(0, 10_000), &lines(5_000, 10_000)), 5_000);
        // Every second of many lines differs: too many to find the smallest number.
        let other: Vec<usize> = (0..30_000).map(|at| at + at % 2 * 1_000_000).collect();
        assert_eq!(distance(&lines(0, 30_000), &other), 29_999);
    }
}
