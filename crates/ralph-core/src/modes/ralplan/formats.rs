//! Parses what planner, architect and critic write.
//!
//! Models put emphasis, list marks and fences around everything, and the parser ignores them. Each
//! missing part goes back to the agent as one sentence. An approval is read most strictly: the word
//! must stand alone, with nothing beside it that contradicts it.

mod blocks;

use super::SHORT;
use crate::modes::parallel::report::paths;
use crate::text::token;
use blocks::{LabelledBlock, blocks, items, paragraph, starts_with_mark};

/// A question from a planner or a critic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// Architecture, performance, security or a pattern.
    pub topic: String,
    /// What is being planned.
    pub context: String,
    /// The files that the architect has to read.
    pub files: Vec<String>,
    pub question: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchitectAnswer {
    /// The topic of the question.
    pub topic: String,
    /// What the architect found in the files.
    pub analysis: String,
    pub recommendation: String,
    pub trade_offs: String,
    /// Places in the code: `path:line`.
    pub references: String,
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

const QUESTION: (&str, &[&str]) =
    ("ARCHITECT_QUESTION", &["Topic", "Context", "Files to examine", "Specific Question"]);
const ANSWER: (&str, &[&str]) =
    ("ARCHITECT_ANSWER", &["Topic", "Analysis", "Recommendation", "Trade-offs", "References"]);
const FEEDBACK: (&str, &[&str]) = (
    "CRITIC_FEEDBACK",
    &["Verdict", "Critical Issues", "Minor Issues", "Questions for Architect", "Plan hash"],
);

impl Question {
    /// The question on one line, as the state keeps it.
    pub fn line(&self) -> String {
        let files = self.files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>();
        format!(
            "{}: {} (context: {}; files to examine: {})",
            self.topic,
            self.question,
            self.context,
            files.join(", ")
        )
    }
}

impl ArchitectAnswer {
    /// The answer on one line, as the state keeps it.
    pub fn line(&self) -> String {
        let (topic, analysis, recommendation) = (&self.topic, &self.analysis, &self.recommendation);
        let (trade_offs, references) = (&self.trade_offs, &self.references);
        format!(
            "{topic}: {recommendation} (found: {analysis}; trade-offs: {trade_offs}; references: {references})"
        )
    }
}

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
pub fn questions(message: &str) -> Result<Vec<Question>, Vec<String>> {
    read_all(message, QUESTION, |block, wrong| Question {
        topic: block.line(0, wrong),
        context: block.line(1, wrong),
        files: match paths(block.text(2)) {
            files if files.is_empty() => {
                wrong.push(block.lacks(2));
                files
            }
            files => files.into_iter().map(bare).collect(),
        },
        question: block.line(3, wrong),
    })
}

/// All answers of an architect in a message, in order.
///
/// # Errors
/// What is missing in them, one sentence each. A message without answers is an error too.
pub fn answers(message: &str) -> Result<Vec<ArchitectAnswer>, Vec<String>> {
    let answers = read_all(message, ANSWER, |block, wrong| ArchitectAnswer {
        topic: block.line(0, wrong),
        analysis: block.line(1, wrong),
        recommendation: block.line(2, wrong),
        trade_offs: block.line(3, wrong),
        references: block.line(4, wrong),
    })?;
    match answers.is_empty() {
        true => Err(vec![format!("`ARCHITECT_ANSWER:` with {} is missing.", labels(ANSWER.1))]),
        false => Ok(answers),
    }
}

/// The verdict in a message; the last one if there are several.
///
/// # Errors
/// What is missing or contradictory, one sentence each.
pub fn feedback(message: &str) -> Result<CriticFeedback, Vec<String>> {
    let block = blocks(message, FEEDBACK).pop();
    let last = token::last_line(message).and_then(verdict_line);
    let Some(block) = block else {
        return match last {
            Some(true) => Err(vec![NO_HASH.to_owned()]),
            Some(false) => Err(vec![
                "A rejection needs reasons: write `CRITIC_FEEDBACK:` with `- Verdict: REJECT` and \
                 `- Critical Issues:`."
                    .to_owned(),
            ]),
            None => Err(vec![NO_VERDICT.to_owned()]),
        };
    };
    let mut wrong = Vec::new();
    let mut said: Vec<Option<bool>> = block.all(0).map(|text| verdict(&paragraph(text))).collect();
    said.extend(last.map(Some));
    let okay = match said.as_slice() {
        [] => {
            wrong.push(NO_VERDICT.to_owned());
            false
        }
        [Some(first), rest @ ..] if rest.iter().all(|other| *other == Some(*first)) => *first,
        _ => {
            wrong.push(
                "The verdict is ambiguous: write `Verdict:` with the one word OKAY or REJECT, and \
                 do not contradict it later."
                    .to_owned(),
            );
            false
        }
    };
    let critical = items(block.text(1));
    let questions = items(block.text(3));
    if wrong.is_empty() && okay && !critical.is_empty() {
        wrong.push(
            "OKAY contradicts critical issues: write REJECT, or move them to `Minor Issues:`."
                .to_owned(),
        );
    }
    if wrong.is_empty() && okay && !questions.is_empty() {
        wrong.push(
            "OKAY contradicts questions for the architect: write REJECT with the open questions, \
             or remove them."
                .to_owned(),
        );
    }
    if wrong.is_empty() && !okay && critical.is_empty() {
        wrong.push(
            "A rejection needs at least one numbered item under `Critical Issues:`, with the \
             required fix."
                .to_owned(),
        );
    }
    let judged = judged(&block);
    if judged.is_none() {
        wrong.push(NO_HASH.to_owned());
    }
    match judged.filter(|_| wrong.is_empty()) {
        Some(judged) => {
            Ok(CriticFeedback { okay, critical, minor: items(block.text(2)), questions, judged })
        }
        None => Err(wrong),
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
    form: (&'static str, &'static [&'static str]),
    read: impl Fn(&LabelledBlock, &mut Vec<String>) -> T,
) -> Result<Vec<T>, Vec<String>> {
    let mut wrong = Vec::new();
    let all = blocks(message, form).iter().map(|block| read(block, &mut wrong)).collect();
    if wrong.is_empty() { Ok(all) } else { Err(wrong) }
}

fn labels(labels: &[&str]) -> String {
    labels.iter().map(|label| format!("`{label}:`")).collect::<Vec<_>>().join(", ")
}

fn bare(text: String) -> String {
    text.trim_matches(['`', '[', ']', '*', ' ']).to_owned()
}

#[cfg(test)]
mod tests;
