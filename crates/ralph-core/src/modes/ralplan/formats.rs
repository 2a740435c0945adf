//! Parses what planner, architect and critic write.
//!
//! Models put emphasis, list marks and fences around everything, and the parser ignores them. Each
//! missing part goes back to the agent as one sentence. An approval is read most strictly: the word
//! must stand alone, with nothing beside it that contradicts it.

mod blocks;

use super::SHORT;
use crate::modes::parallel::report::paths;
use crate::text::token;
use blocks::{Form, LabelledBlock, blocks, items, paragraph, starts_with_mark};

/// A question for the architect, or the architect's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    /// The topic, and the question or the recommendation.
    pub short: String,
    /// All of it on one line, as the state keeps it for the next agent.
    pub whole: String,
}

/// A critic's verdict on a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CriticFeedback {
    /// True for an approval.
    pub okay: bool,
    /// Issues that must be fixed.
    pub critical: Vec<String>,
    /// Issues that may be left.
    pub minor: Vec<String>,
    /// Questions that only the architect can answer.
    pub questions: Vec<String>,
    /// The hex digits of the judged text's hash: at least [`SHORT`], in lower case.
    pub judged: String,
}

const QUESTION: Form =
    ("ARCHITECT_QUESTION", &["Topic", "Context", "Files to examine", "Specific Question"]);
const ANSWER: Form =
    ("ARCHITECT_ANSWER", &["Topic", "Analysis", "Recommendation", "Trade-offs", "References"]);
const FEEDBACK: Form = (
    "CRITIC_FEEDBACK",
    &["Verdict", "Critical Issues", "Minor Issues", "Questions for Architect", "Plan hash"],
);

/// The path after the last `PLAN_READY:`; `None` if no line begins with that mark.
///
/// # Errors
/// The mark is there, but no path follows it.
pub fn plan_ready(message: &str) -> Option<Result<String, String>> {
    let line = message.lines().rev().find_map(|line| starts_with_mark(line, "PLAN_READY"))?;
    let path = line.trim_matches(['`', '*', '_', '"', '\'', '[', ']', ' ']).trim();
    let is_form = path.contains(['<', '>', '[', ']']);
    Some(match path.is_empty() || is_form {
        true => Err("Write the plan's path after `PLAN_READY:`, as in `PLAN_READY: \
             .omc/plans/login.md`."
            .to_owned()),
        false => Ok(path.to_owned()),
    })
}

/// All questions for the architect in a message, in order.
///
/// # Errors
/// What is missing in them, one sentence each.
pub fn questions(message: &str) -> Result<Vec<Exchange>, Vec<String>> {
    read_all(message, QUESTION, |block, wrong| {
        let (topic, context) = (block.line(0, wrong), block.line(1, wrong));
        let files: Vec<String> = paths(block.text(2))
            .iter()
            .map(|file| format!("`{}`", file.trim_matches(['`', '[', ']', '*', ' '])))
            .collect();
        if files.is_empty() {
            wrong.push(block.lacks(2));
        }
        let short = format!("{topic}: {}", block.line(3, wrong));
        let files = files.join(", ");
        Exchange {
            whole: format!("{short} (context: {context}; files to examine: {files})"),
            short,
        }
    })
}

/// All answers of an architect in a message, in order.
///
/// # Errors
/// What is missing in them, one sentence each. A message without answers is an error too.
pub fn answers(message: &str) -> Result<Vec<Exchange>, Vec<String>> {
    let answers = read_all(message, ANSWER, |block, wrong| {
        let [topic, analysis, recommendation, trade_offs, references] =
            [0, 1, 2, 3, 4].map(|label| block.line(label, wrong));
        let short = format!("{topic}: {recommendation}");
        let whole = format!(
            "{short} (found: {analysis}; trade-offs: {trade_offs}; references: {references})"
        );
        Exchange { short, whole }
    })?;
    match answers.is_empty() {
        true => {
            let labels = ANSWER.1.join(":`, `");
            Err(vec![format!("`ARCHITECT_ANSWER:` with `{labels}:` is missing.")])
        }
        false => Ok(answers),
    }
}

/// The verdict in a message; the last one if there are several.
///
/// # Errors
/// What is missing or contradictory, one sentence each.
pub fn feedback(message: &str) -> Result<CriticFeedback, Vec<String>> {
    let last = token::last_line(message).and_then(verdict_line);
    let Some(block) = blocks(message, FEEDBACK).pop() else {
        let what = match last {
            Some(true) => NO_HASH,
            Some(false) => NO_REASONS,
            None => NO_VERDICT,
        };
        return Err(vec![what.to_owned()]);
    };
    let mut said: Vec<Option<bool>> = block.all(0).map(|text| verdict(&paragraph(text))).collect();
    said.extend(last.map(Some));
    let (critical, questions) = (items(block.text(1)), items(block.text(3)));
    let okay = match said.as_slice() {
        [] => Err(NO_VERDICT),
        [Some(first), rest @ ..] if rest.iter().all(|other| *other == Some(*first)) => Ok(*first),
        _ => Err(AMBIGUOUS),
    };
    let okay = okay.and_then(|okay| match okay {
        true if !critical.is_empty() => Err(OKAY_WITH_ISSUES),
        true if !questions.is_empty() => Err(OKAY_WITH_QUESTIONS),
        false if critical.is_empty() => Err(NO_ISSUES),
        okay => Ok(okay),
    });
    match (okay, judged(&block)) {
        (Ok(okay), Some(judged)) => {
            Ok(CriticFeedback { okay, critical, minor: items(block.text(2)), questions, judged })
        }
        (okay, judged) => {
            let no_hash = judged.is_none().then_some(NO_HASH);
            Err(okay.err().into_iter().chain(no_hash).map(str::to_owned).collect())
        }
    }
}

/// The digits after `Plan hash:`, if there are enough and no other hash contradicts them.
fn judged(block: &LabelledBlock) -> Option<String> {
    let mut all = block.all(4).map(|text| {
        let word = text.split_whitespace().next().unwrap_or_default();
        word.trim_matches(['`', '[', ']', '*', '_', '"', '.', ',', ';', '(', ')'])
            .to_ascii_lowercase()
    });
    let first = all.next()?;
    let is_digest = first.len() >= SHORT && first.chars().all(|letter| letter.is_ascii_hexdigit());
    (is_digest && all.all(|other| other == first)).then_some(first)
}

const NO_VERDICT: &str = "The verdict is missing: write `CRITIC_FEEDBACK:` with `- Verdict: OKAY` or `- Verdict: \
     REJECT`.";

const NO_REASONS: &str = "A rejection needs reasons: write `CRITIC_FEEDBACK:` with `- Verdict: REJECT` and \
     `- Critical Issues:`.";

const NO_ISSUES: &str =
    "A rejection needs at least one numbered item under `Critical Issues:`, with the required fix.";

const AMBIGUOUS: &str = "The verdict is ambiguous: write `Verdict:` with the one word OKAY or REJECT, and do not \
     contradict it later.";

const OKAY_WITH_ISSUES: &str =
    "OKAY contradicts critical issues: write REJECT, or move them to `Minor Issues:`.";

const OKAY_WITH_QUESTIONS: &str = "OKAY contradicts questions for the architect: write REJECT with the open questions, or \
     remove them.";

/// Does not name the digits: a critic that judged the text has them from its prompt.
const NO_HASH: &str = "The judged text is unknown: in `CRITIC_FEEDBACK:`, write `- Plan hash:` \
     with the digits in your prompt.";

/// Reads the word of a verdict. It must stand alone, because any text beside it may take it back.
fn verdict(value: &str) -> Option<bool> {
    let word = value.trim().trim_matches(['`', '*', '_', '.', '!', '[', ']', '"', ' ']);
    match word.to_ascii_uppercase().as_str() {
        "OKAY" => Some(true),
        "REJECT" => Some(false),
        _ => None,
    }
}

/// Reads a verdict from the last line: the bare word in capitals, or the word after its label.
fn verdict_line(line: &str) -> Option<bool> {
    match starts_with_mark(line, "Verdict") {
        Some(value) => verdict(value),
        None => {
            let word = line.trim().trim_matches(['*', '_', '`', '.', ' ']);
            matches!(word, "OKAY" | "REJECT").then_some(word == "OKAY")
        }
    }
}

fn read_all<T>(
    message: &str,
    form: Form,
    read: impl Fn(&LabelledBlock, &mut Vec<String>) -> T,
) -> Result<Vec<T>, Vec<String>> {
    let mut wrong = Vec::new();
    let all = blocks(message, form).iter().map(|block| read(block, &mut wrong)).collect();
    if wrong.is_empty() { Ok(all) } else { Err(wrong) }
}

#[cfg(test)]
mod tests;
