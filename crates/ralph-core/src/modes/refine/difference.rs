//! How two versions of a plan differ, for the user to read.

use similar::TextDiff;

/// The difference under these two file names; empty if both texts have the same lines.
pub fn unified(before: (&str, &str), after: (&str, &str)) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.1.lines().collect(), after.1.lines().collect());
    // For very different texts, `similar` gives up on the shortest difference.
    let difference = TextDiff::configure().diff_slices(&a, &b);
    difference.unified_diff().context_radius(3).header(before.0, after.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::tests::Dice;
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(unified(("a", before), ("b", after)), expected);
    }

    #[test]
    fn the_same_lines_are_no_difference() {
        check("", "", "");
        check("x\ny\n", "x\ny", "");
    }

    #[test]
    fn a_change_is_shown_with_what_stands_around_it() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
        );
        check("", "x\n", "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
        check("x\n", "", "--- a\n+++ b\n@@ -1 +0,0 @@\n-x\n");
    }

    #[test]
    fn changes_that_are_far_apart_stand_apart() {
        let before: Vec<String> = (0..30).map(|number| number.to_string()).collect();
        let mut after = before.clone();
        (after[2], after[25]) = ("two".into(), "more".into());
        let shown = unified(("a", &before.join("\n")), ("b", &after.join("\n")));
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
    }

    /// Applies the difference as `patch` does, strictly.
    fn patched(before: &str, difference: &str) -> String {
        let old: Vec<&str> = before.lines().collect();
        let (mut at, mut new) = (0, Vec::new());
        for line in difference.lines().skip(2) {
            if let Some(head) = line.strip_prefix("@@ -") {
                let range = head.split(' ').next().unwrap();
                // A single line has no count.
                let (start, of) = range.split_once(',').unwrap_or((range, "1"));
                let of: usize = of.parse().unwrap();
                let start = start.parse::<usize>().unwrap() - usize::from(of > 0);
                new.extend(&old[at..start]);
                at = start;
                continue;
            }
            let (mark, text) = line.split_at(1);
            if mark != "+" {
                assert_eq!(old[at], text);
                at += 1;
            }
            if mark != "-" {
                new.push(text);
            }
        }
        new.extend(&old[at..]);
        new.join("\n")
    }

    #[test]
    fn whatever_the_texts_are_the_difference_makes_one_of_the_other() {
        let mut dice = Dice(7);
        for _ in 0..500 {
            let text = |dice: &mut Dice| {
                let lines: Vec<&str> =
                    (0..dice.roll(30)).map(|_| ["a", "b", "c", "d"][dice.roll(4)]).collect();
                lines.join("\n")
            };
            let (before, after) = (text(&mut dice), text(&mut dice));
            let difference = unified(("a", &before), ("b", &after));
            assert_eq!(patched(&before, &difference), after, "{before:?} {after:?}");
        }
    }

    #[test]
    fn texts_that_have_nothing_in_common_are_replaced() {
        let of = |mark: &str| (0..1_500).map(|at| format!("{mark}{at}\n")).collect::<String>();
        let (before, after) = (of("a"), of("b"));
        let difference = unified(("a", &before), ("b", &after));
        assert_eq!(patched(&before, &difference) + "\n", after);
    }
}
