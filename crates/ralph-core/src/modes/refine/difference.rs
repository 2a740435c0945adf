//! Two versions of a plan as the lines that differ, in the form that `diff -u` prints.
//!
//! For a person to read. How much a round changed is measured elsewhere, where a replaced line is one
//! change and not two.

/// Lines shown around a change.
const AROUND: usize = 3;

/// Steps up to which the least change is looked for. Beyond it everything between the common ends is
/// shown as replaced: the memory grows with the square.
const MOST: usize = 2_000;

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEdit {
    Same,
    Gone,
    New,
}

/// The difference, under these two names; empty for texts of the same lines.
pub fn unified(before: (&str, &str), after: (&str, &str)) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.1.lines().collect(), after.1.lines().collect());
    let steps = steps(&a, &b);
    if steps.iter().all(|step| *step == LineEdit::Same) {
        return String::new();
    }
    let mut text = format!("--- {}\n+++ {}\n", before.0, after.0);
    for (from, to) in hunks(&steps) {
        hunk(&mut text, &steps, (from, to), (&a, &b));
    }
    text
}

/// Ranges of steps to show together.
fn hunks(steps: &[LineEdit]) -> Vec<(usize, usize)> {
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for at in (0..steps.len()).filter(|at| steps[*at] != LineEdit::Same) {
        let (from, to) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(steps.len()));
        match hunks.last_mut() {
            Some(last) if from <= last.1 => last.1 = to,
            _ => hunks.push((from, to)),
        }
    }
    hunks
}

fn hunk(
    text: &mut String,
    steps: &[LineEdit],
    (from, to): (usize, usize),
    (a, b): (&[&str], &[&str]),
) {
    let count = |range: &[LineEdit], without: LineEdit| {
        range.iter().filter(|step| **step != without).count()
    };
    let (mut in_a, mut in_b) =
        (count(&steps[..from], LineEdit::New), count(&steps[..from], LineEdit::Gone));
    let (of_a, of_b) =
        (count(&steps[from..to], LineEdit::New), count(&steps[from..to], LineEdit::Gone));
    // A side of no lines is named by the line before it.
    let start = |at: usize, of: usize| if of == 0 { at } else { at + 1 };
    text.push_str(&format!("@@ -{},{of_a} +{},{of_b} @@\n", start(in_a, of_a), start(in_b, of_b)));
    for step in &steps[from..to] {
        let (mark, line) = match step {
            LineEdit::Same => (' ', a[in_a]),
            LineEdit::Gone => ('-', a[in_a]),
            LineEdit::New => ('+', b[in_b]),
        };
        in_a += usize::from(*step != LineEdit::New);
        in_b += usize::from(*step != LineEdit::Gone);
        text.push(mark);
        text.push_str(line);
        text.push('\n');
    }
}

fn steps(a: &[&str], b: &[&str]) -> Vec<LineEdit> {
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (&a[start..], &b[start..]);
    let end = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (middle_a, middle_b) = (&rest_a[..rest_a.len() - end], &rest_b[..rest_b.len() - end]);
    let mut steps = vec![LineEdit::Same; start];
    steps.extend(least(middle_a, middle_b).unwrap_or_else(|| {
        let gone = std::iter::repeat_n(LineEdit::Gone, middle_a.len());
        gone.chain(std::iter::repeat_n(LineEdit::New, middle_b.len())).collect()
    }));
    steps.extend(std::iter::repeat_n(LineEdit::Same, end));
    steps
}

/// The shortest way by Myers: how far each diagonal is reached with each number of steps, and then
/// back along it.
fn least(a: &[&str], b: &[&str]) -> Option<Vec<LineEdit>> {
    let (long, wide) = (a.len().cast_signed(), b.len().cast_signed());
    let most = MOST.min(a.len() + b.len());
    let place =
        |diagonal: isize| (most + 1).checked_add_signed(diagonal).expect("within the steps");
    let mut reached = vec![0_isize; 2 * most + 3];
    let mut trace: Vec<Vec<isize>> = Vec::new();
    for steps in 0..=most {
        trace.push(reached.clone());
        let far = steps.cast_signed();
        for diagonal in (-far..=far).step_by(2) {
            let (left, right) = (reached[place(diagonal - 1)], reached[place(diagonal + 1)]);
            let is_down = diagonal == -far || diagonal != far && left < right;
            let mut x = if is_down { right } else { left + 1 };
            while x < long
                && x - diagonal < wide
                && a[x.cast_unsigned()] == b[(x - diagonal).cast_unsigned()]
            {
                x += 1;
            }
            reached[place(diagonal)] = x;
            if x >= long && x - diagonal >= wide {
                return Some(back(&trace, (long, wide), place));
            }
        }
    }
    None
}

fn back(
    trace: &[Vec<isize>],
    end: (isize, isize),
    place: impl Fn(isize) -> usize,
) -> Vec<LineEdit> {
    let (mut x, mut y) = end;
    let mut steps = Vec::new();
    for (number, reached) in trace.iter().enumerate().rev() {
        let (far, diagonal) = (number.cast_signed(), x - y);
        let (left, right) = (reached[place(diagonal - 1)], reached[place(diagonal + 1)]);
        let is_down = diagonal == -far || diagonal != far && left < right;
        let (before, step) =
            if is_down { (diagonal + 1, LineEdit::New) } else { (diagonal - 1, LineEdit::Gone) };
        let start = reached[place(before)];
        while number > 0 && x > start && y > start - before || number == 0 && x > 0 && y > 0 {
            steps.push(LineEdit::Same);
            (x, y) = (x - 1, y - 1);
        }
        if number > 0 {
            steps.push(step);
            (x, y) = (start, start - before);
        }
    }
    steps.reverse();
    steps
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
        check("", "x\n", "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n");
        check("x\n", "", "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-x\n");
    }

    #[test]
    fn changes_that_are_far_apart_stand_apart() {
        let before: Vec<String> = (0..30).map(|number| number.to_string()).collect();
        let mut after = before.clone();
        (after[2], after[25]) = ("two".into(), "more".into());
        let shown = unified(("a", &before.join("\n")), ("b", &after.join("\n")));
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
    }

    /// What `patch` does, strictly.
    fn patched(before: &str, difference: &str) -> String {
        let old: Vec<&str> = before.lines().collect();
        let (mut at, mut new) = (0, Vec::new());
        for line in difference.lines().skip(2) {
            if let Some(head) = line.strip_prefix("@@ -") {
                let (start, rest) = head.split_once(',').unwrap();
                let of: usize = rest.split(' ').next().unwrap().parse().unwrap();
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
