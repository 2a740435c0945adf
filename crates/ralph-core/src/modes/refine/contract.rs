//! The two lines that end a round's last message: `CHANGES: N` and `SUMMARY: …`.
//!
//! The lines count outside code fences, or in the message's last code fence; in an earlier fence or
//! in a quotation they are an example. A line that cannot be read is a flaw, never a zero: a round
//! without a report has not reported that nothing changed.

use crate::tasks::plan::{closes, opening};
use crate::text::sanitize::acts;
use crate::text::truncate::bounded;

/// Label of the line with the number.
const CHANGES: &str = "CHANGES";

/// Label of the line with the summary.
const SUMMARY: &str = "SUMMARY";

/// The lines as prompts ask for them.
pub const FORM: &str = "CHANGES: {number}\nSUMMARY: {one-line summary of changes}";

/// UTF-16 units kept of a summary.
const KEPT: usize = 300;

/// What a message reports about its round, or what is wrong with each of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundReport {
    /// How many changes the round made.
    pub changes: Result<u32, String>,
    /// A summary of the changes on one line.
    pub summary: Result<String, String>,
}

impl RoundReport {
    /// What is wrong with the lines, one sentence for each.
    pub fn flaws(&self) -> Vec<&str> {
        let flaws = [self.changes.as_ref().err(), self.summary.as_ref().err()];
        flaws.into_iter().flatten().map(String::as_str).collect()
    }
}

/// The lines of the form that a prompt does not ask for. Each must begin a line of its own.
pub fn lacking(prompt: &str) -> Vec<&'static str> {
    let asks_for = |label: &str| {
        let of_line =
            |line| labelled(line, label).is_some_and(|(exact, text)| exact && !text.is_empty());
        prompt.lines().any(of_line)
    };
    let lines = FORM.lines().zip([CHANGES, SUMMARY]);
    lines.filter(|(_, label)| !asks_for(label)).map(|(line, _)| line).collect()
}

pub fn read(message: &str) -> RoundReport {
    let lines = that_count(message);
    RoundReport { changes: changes(&lines), summary: summary(&lines) }
}

/// The most proposals kept of a round, and the UTF-16 units kept of each.
const PROPOSALS: usize = 20;
const PROPOSAL: usize = 200;

/// The changes that a round lists: its list items outside code.
pub fn proposals(message: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut lines = message.lines();
    while let Some(line) = lines.next() {
        if let Some((fence, _)) = opening(line) {
            lines.by_ref().take_while(|line| !closes(line, fence)).for_each(drop);
            continue;
        }
        let is_contract = [CHANGES, SUMMARY].iter().any(|label| labelled(line, label).is_some());
        if let Some(item) = item(line).filter(|_| !is_contract) {
            let item: String = item.chars().filter(|letter| !acts(*letter)).collect();
            items.push(bounded(item.trim(), PROPOSAL));
        }
    }
    items.truncate(PROPOSALS);
    items
}

fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    let numbered = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let of_number = || numbered.strip_prefix(['.', ')']).filter(|_| numbered.len() < line.len());
    let text = line.strip_prefix(['-', '*', '+']).or_else(of_number)?;
    let text = text.strip_prefix(' ')?.trim();
    (!text.is_empty()).then_some(text)
}

/// The message to an agent whose lines could not be read.
pub fn ask_again(flaws: &[&str]) -> String {
    format!(
        "The end of this round cannot be read. {} Change nothing more. Answer with these two lines \
         for your work in this round, and write nothing after them:\n\n{FORM}",
        flaws.join(" ")
    )
}

/// The lines that count: those outside code fences and those in the last fence.
fn that_count(message: &str) -> Vec<&str> {
    let mut counting: Vec<(bool, &str)> = Vec::new();
    let mut lines = message.lines();
    while let Some(line) = lines.next() {
        match opening(line) {
            None => counting.push((false, line)),
            Some((fence, _)) => {
                counting.retain(|(is_fenced, _)| !is_fenced);
                let inside = lines.by_ref().take_while(|line| !closes(line, fence));
                counting.extend(inside.map(|line| (true, line)));
            }
        }
    }
    counting.into_iter().map(|(_, line)| line).collect()
}

fn changes(lines: &[&str]) -> Result<u32, String> {
    let values = after(CHANGES, lines);
    let last = values.last().map(|text| bare(text)).unwrap_or_default();
    if last.is_empty() {
        return Err("The line `CHANGES:` is missing or empty; `CHANGES: 0` is valid.".to_owned());
    }
    let last = number(last).ok_or_else(|| {
        format!("`CHANGES:` must be one whole number, not `{}`.", bounded(last, 60))
    })?;
    // A value that is not a number does not contradict one: a message may show the form before it
    // fills it in.
    let mut others = values.iter().filter_map(|text| number(bare(text)));
    match others.rfind(|other| *other != last) {
        Some(before) => Err(format!("`CHANGES:` appears twice, as {before} and as {last}.")),
        None => Ok(last),
    }
}

/// The last summary counts: unlike numbers, summaries cannot contradict each other.
fn summary(lines: &[&str]) -> Result<String, String> {
    let values = after(SUMMARY, lines);
    let text = values.last().copied().unwrap_or_default();
    let is_form = text.starts_with('{') && text.ends_with('}');
    let text: String = text.chars().filter(|letter| !acts(*letter)).collect();
    let text = text.trim();
    if text.is_empty() || is_form {
        return Err("The line `SUMMARY:` is missing or empty.".to_owned());
    }
    Ok(bounded(text, KEPT))
}

/// The texts after this label, in order. A label in other letter case counts only if the exact
/// label does not occur, because prose also uses words such as `Summary:`.
fn after<'a>(label: &str, lines: &[&'a str]) -> Vec<&'a str> {
    let found: Vec<(bool, &str)> = lines.iter().filter_map(|line| labelled(line, label)).collect();
    let any_exact = found.iter().any(|(is_exact, _)| *is_exact);
    found.into_iter().filter(|(exact, _)| *exact == any_exact).map(|(_, text)| text).collect()
}

/// Whether the line begins with the label in its exact case, and the text after it. Ignores
/// emphasis and list marks.
fn labelled<'a>(line: &'a str, label: &str) -> Option<(bool, &'a str)> {
    const EMPHASIS: [char; 3] = ['*', '_', '`'];
    let line = line.trim();
    let inner = line.trim_start_matches(['-', '*', '_', '`', '#', ' ']);
    let start = inner.get(..label.len())?;
    let rest = inner[label.len()..].trim_start_matches(EMPHASIS).strip_prefix(':')?;
    let text = rest.trim_start_matches(EMPHASIS);
    // `**SUMMARY: text**` closes its emphasis at the end; `**SUMMARY:** text` has already closed
    // it.
    let is_open = line[..line.len() - inner.len()].contains(EMPHASIS) && text == rest;
    let text = if is_open { text.trim_end_matches(EMPHASIS) } else { text };
    start.eq_ignore_ascii_case(label).then(|| (start == label, text.trim()))
}

fn bare(text: &str) -> &str {
    text.trim_matches(['*', '_', '`', '.', '{', '}', '[', ']', ' '])
}

/// Reads plain digits only: `+3`, `3-4` and `3 beads` could mean something else.
fn number(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::refine::tests::Dice;

    #[track_caller]
    fn reads(message: &str, changes: u32, summary: &str) {
        let said = read(message);
        assert_eq!(
            said,
            RoundReport { changes: Ok(changes), summary: Ok(summary.into()) },
            "{message}"
        );
    }

    #[track_caller]
    fn lacks(message: &str, expected: &[&str]) {
        let said = read(message);
        let flaws: Vec<String> = said.flaws().iter().map(ToString::to_string).collect();
        assert_eq!(flaws.len(), expected.len(), "{message}: {flaws:?}");
        for (flaw, words) in flaws.iter().zip(expected) {
            assert!(flaw.contains(words), "{message}: {flaw}");
        }
    }

    #[test]
    fn both_lines_are_read_bare_and_in_the_last_fence() {
        reads("CHANGES: 3\nSUMMARY: Three beads", 3, "Three beads");
        reads("I did it.\n\n```\nCHANGES: 0\nSUMMARY: none\n```\n", 0, "none");
        reads("```sh\nls\n```\nand\n~~~text\r\nCHANGES: 12\r\nSUMMARY: a\r\n~~~\r\nBye.", 12, "a");
        reads("CHANGES: 3\nSUMMARY: before\n```\nls\n```\nCHANGES: 3", 3, "before");
        // The message was cut, or the agent did not close the fence.
        reads("```\nCHANGES: 2\nSUMMARY: open", 2, "open");
        reads("````\n```\nCHANGES: 2\n```\nSUMMARY: within\n````", 2, "within");
    }

    #[test]
    fn marks_around_the_lines_do_not_matter() {
        reads("**CHANGES:** 3\n**SUMMARY:** a **bold** word", 3, "a **bold** word");
        reads("**CHANGES: 3**\n**SUMMARY: all bold**", 3, "all bold");
        reads("- CHANGES: **3**\n* SUMMARY: listed", 3, "listed");
        reads("## CHANGES: 3.\n  _SUMMARY_: a", 3, "a");
        reads("`CHANGES: 3`\n`SUMMARY: use x`", 3, "use x");
        reads("CHANGES: {3}\nSUMMARY: call `f` of __init__", 3, "call `f` of __init__");
    }

    #[test]
    fn other_letters_count_where_the_contracts_own_do_not_occur() {
        reads("Changes: 3\nsummary: a", 3, "a");
        reads("## Changes:\n- x\n## Summary:\nlong\n\nCHANGES: 1\nSUMMARY: short", 1, "short");
        reads("Changes: 9 files\nCHANGES: 1\nSUMMARY: a", 1, "a");
    }

    #[test]
    fn examples_and_quotations_do_not_count() {
        lacks("```\nCHANGES: 3\nSUMMARY: a\n```\n```\nls\n```", &["`CHANGES:` is m", "`SUMMARY:`"]);
        lacks("> CHANGES: 3\n> SUMMARY: a", &["`CHANGES:` is m", "`SUMMARY:`"]);
        reads("```\nCHANGES: 9\nSUMMARY: b\n```\n```\nCHANGES: 3\nSUMMARY: a\n```", 3, "a");
        lacks(
            "there were CHANGES: 3\nCHANGES 3\nCHANGES MADE: 3\nSUMMARY: a",
            &["`CHANGES:` is m"],
        );
    }

    #[test]
    fn what_is_missing_or_no_number_is_named_and_never_a_zero() {
        lacks("", &["`CHANGES: 0` is valid", "`SUMMARY:` is missing"]);
        lacks("CHANGES:\nSUMMARY:", &["missing or empty", "missing or empty"]);
        for text in [
            "none",
            "-1",
            "+3",
            "3 beads",
            "3-4",
            "1,200",
            "1.5",
            "two",
            "99999999999",
            "3/5",
            "０",
        ] {
            lacks(&format!("CHANGES: {text}\nSUMMARY: a"), &[&format!("not `{text}`")]);
        }
        lacks(FORM, &["not `number`", "`SUMMARY:` is missing"]);
        lacks("CHANGES: 3 SUMMARY: a", &["not `3 SUMMARY: a`", "`SUMMARY:`"]);
        lacks("CHANGES: 3\nSUMMARY: \u{200b}\u{1b}", &["`SUMMARY:`"]);
    }

    #[test]
    fn two_numbers_contradict_each_other_and_the_same_one_twice_does_not() {
        let twice =
            |first, last| format!("CHANGES: {first}\n```\nCHANGES: {last}\nSUMMARY: a\n```");
        reads(&twice("3", "3"), 3, "a");
        reads(&twice("{number}", "3"), 3, "a");
        lacks(&twice("3", "2"), &["twice, as 3 and as 2"]);
        lacks(&twice("0", "2"), &["twice, as 0 and as 2"]);
        lacks(&twice("2", "{number}"), &["not `number`"]);
    }

    #[test]
    fn whatever_is_written_a_number_is_only_one_that_stands_there() {
        const PIECES: [&str; 22] = [
            "CHANGES:", "CHANGES", "Changes:", "SUMMARY:", ":", " ", "\n", "\n", "```", "~~~",
            "````\n", "```\n", "> ", "- ", "**", "_", "0", "7", "{number}", "-", "é", "a",
        ];
        let mut dice = Dice(0xc0de);
        let mut read_any = 0;
        for _ in 0..40_000 {
            let length = dice.roll(16);
            let message: String = (0..length).map(|_| PIECES[dice.roll(PIECES.len())]).collect();
            let said = read(&message);
            if let Ok(number) = said.changes {
                read_any += 1;
                assert!(message.contains(&number.to_string()), "{message:?}");
                assert!(message.to_ascii_uppercase().contains(CHANGES), "{message:?}");
            }
            assert!(said.summary.is_err() || message.contains("SUMMARY"), "{message:?}");
        }
        assert!(read_any > 50, "{read_any}");
    }

    #[test]
    fn proposals_are_the_items_of_lists_outside_of_code() {
        let message = "I changed:\n- split **it**\n  * name it\n3. drop \u{1b}[2Jit\n4) last\n-no item\n2026 was\n\n---\n\
            ```\n- in code\n```\n- CHANGES: 3\n- SUMMARY: a\n";
        assert_eq!(proposals(message), ["split **it**", "name it", "drop [2Jit", "last"]);
        assert_eq!(proposals(&"- a\n".repeat(99)).len(), PROPOSALS);
        assert_eq!(proposals("CHANGES: 0\nSUMMARY: none"), Vec::<String>::new());
    }

    #[test]
    fn a_prompt_without_a_line_of_the_contract_is_known_by_that_line() {
        let [changes, summary] = ["CHANGES: {number}", "SUMMARY: {one-line summary of changes}"];
        for whole in [
            FORM,
            "a\n\n```\nCHANGES: {n}\nSUMMARY: {s}\n```\n",
            "- `CHANGES: N`\r\n- **SUMMARY:** why",
        ] {
            assert!(lacking(whole).is_empty(), "{whole}");
        }
        for (prompt, expected) in [
            ("", vec![changes, summary]),
            ("CHANGES: 3", vec![summary]),
            ("SUMMARY: x\nCHANGES:", vec![changes]),
            ("Changes: {number}\nSUMMARY: x", vec![changes]),
            ("> CHANGES: {number}\nSUMMARY: x", vec![changes]),
            ("say CHANGES: {number} and SUMMARY: x", vec![changes, summary]),
            ("CHANGE: {number}\nSUMMARYS: x", vec![changes, summary]),
        ] {
            assert_eq!(lacking(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn a_summary_is_one_short_line_that_acts_on_nothing() {
        reads("CHANGES: 1\nSUMMARY: a\u{1b}[31mb\tc\nmore", 1, "a[31mbc");
        let long = read(&format!("CHANGES: 1\nSUMMARY: {}", "x".repeat(9_999)));
        assert_eq!(long.summary.unwrap().chars().count(), KEPT);
    }

    #[test]
    fn asking_again_names_each_flaw_and_shows_the_form() {
        let said = read("CHANGES: two");
        let text = ask_again(&said.flaws());
        assert!(text.contains("not `two`. The line `SUMMARY:` is missing"), "{text}");
        assert!(text.ends_with(FORM), "{text}");
        // The form itself is not an answer, if the agent sends it back.
        assert_eq!(read(&text).flaws().len(), 2);
    }

    #[test]
    fn each_flaw_is_one_sentence_of_the_question() {
        let flaws = |message: &str| {
            let said = read(message);
            said.flaws().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let no_changes = "The line `CHANGES:` is missing or empty; `CHANGES: 0` is valid.";
        let no_summary = "The line `SUMMARY:` is missing or empty.";
        for (message, expected) in [
            ("x", vec![no_changes, no_summary]),
            (
                "CHANGES: {number}\nSUMMARY: {one-line summary of changes}",
                vec!["`CHANGES:` must be one whole number, not `number`.", no_summary],
            ),
            (
                "CHANGES: 1\nCHANGES: 2\nCHANGES: 3\nSUMMARY: a",
                vec!["`CHANGES:` appears twice, as 2 and as 3."],
            ),
            ("CHANGES: 3\nCHANGES: {number}\nCHANGES: 3\nSUMMARY: a", vec![]),
            ("CHANGES: 3\nSUMMARY: {a", vec![]),
        ] {
            assert_eq!(flaws(message), expected, "{message}");
        }
        assert_eq!(
            ask_again(&[no_changes, no_summary]),
            format!(
                "The end of this round cannot be read. {no_changes} {no_summary} Change nothing more. Answer \
                 with these two lines for your work in this round, and write nothing after them:\n\n\
                 CHANGES: {{number}}\nSUMMARY: {{one-line summary of changes}}"
            )
        );
        for (prompt, expected) in [
            ("x", vec!["CHANGES: {number}", "SUMMARY: {one-line summary of changes}"]),
            ("CHANGES: n", vec!["SUMMARY: {one-line summary of changes}"]),
            ("CHANGES:\nSUMMARY: s", vec!["CHANGES: {number}"]),
            ("changes: n\n**SUMMARY:** s", vec!["CHANGES: {number}"]),
        ] {
            assert_eq!(lacking(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn the_proposals_of_a_round_are_its_list_items_outside_code() {
        let message = "Done:\n1. split it\n12) name it\n- a\u{202e}b \n* \n+ c\n-d\n2.e\n3 f\n. g\n```\n- code\n- more\n```\n\
                       - CHANGES: 3\n- summary: x\n  - deep\n";
        assert_eq!(proposals(message), ["split it", "name it", "ab", "c", "deep"]);
        let many = "- x\n".repeat(21);
        assert_eq!(proposals(&many).len(), 20);
        let long = proposals(&format!("- {}", "x".repeat(201)));
        assert_eq!(long[0].chars().count(), 200);
    }
}
