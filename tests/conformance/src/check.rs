//! What a case expects of an answer, and whether it is so.

use crate::judge::{Answer, Decision};
use serde::Deserialize;
use std::time::Duration;

/// How an event may be decided, in words that are nobody's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// The turn goes on.
    GoesOn,
    /// The event takes its course.
    Allows,
    /// The event takes its course, with exit code 0 and not a word for anyone.
    Silent,
    /// The tool call or the prompt is refused.
    Denies,
    /// The stop is let through and the loop is over.
    Ends,
    /// The stop is let through, the loop is still there, and the person is told.
    Rests,
}

/// What must follow an event.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Written")]
pub(crate) struct Expected {
    /// Any of these; none says that every decision will do.
    pub(crate) decision: Vec<Word>,
    /// Each must be in a text that the client gives to the model.
    pub(crate) reaches_model: Vec<String>,
    /// The person must be told something.
    pub(crate) tells_person: bool,
    /// How the loop ended, where the implementation says so to the person.
    pub(crate) ended_as: Option<String>,
    pub(crate) within_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Word(Word),
    Words(Vec<Word>),
    Full(Full),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Full {
    decision: OneOrMore,
    #[serde(default)]
    reaches_model: Vec<String>,
    #[serde(default)]
    tells_person: bool,
    ended_as: Option<String>,
    within_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(Word),
    More(Vec<Word>),
}

impl From<Written> for Expected {
    fn from(written: Written) -> Expected {
        let of = |decision| Expected { decision, ..Expected::default() };
        match written {
            Written::Word(word) => of(vec![word]),
            Written::Words(words) => of(words),
            Written::Full(full) => Expected {
                decision: match full.decision {
                    OneOrMore::One(word) => vec![word],
                    OneOrMore::More(words) => words,
                },
                reaches_model: full.reaches_model,
                tells_person: full.tells_person,
                ended_as: full.ended_as,
                within_ms: full.within_ms,
            },
        }
    }
}

/// What came, as far as it can be seen from outside.
#[derive(Debug)]
pub(crate) struct ActualAnswer<'a> {
    pub(crate) answer: &'a Answer,
    /// Whether a loop of this session is still there; none where nobody can tell.
    pub(crate) live: Option<bool>,
    pub(crate) took: Duration,
    /// What the implementation tells the person when a loop ends in the expected way.
    pub(crate) ending_words: Option<&'a str>,
}

/// Why what came is not what was expected; none if it is.
pub(crate) fn difference(expected: &Expected, came: &ActualAnswer<'_>) -> Option<String> {
    let answer = came.answer;
    if let Some(fault) = &answer.fault {
        return Some(format!("the hook's answer is at fault: {fault}"));
    }
    let decided = expected.decision.iter().any(|word| is(*word, came));
    if !expected.decision.is_empty() && !decided {
        return Some(format!("expected {}, came {}", words(&expected.decision), described(came)));
    }
    if let Some(lost) = expected
        .reaches_model
        .iter()
        .find(|text| !answer.to_model.iter().any(|t| t.contains(*text)))
    {
        let heard = short(&answer.to_model.join(" | "));
        return Some(format!("`{lost}` does not reach the model, which hears {heard:?}"));
    }
    if expected.tells_person && answer.to_person.is_empty() {
        return Some("the person is told nothing".to_owned());
    }
    if let Some(words) = came.ending_words
        && !answer.to_person.iter().any(|text| text.contains(words))
    {
        let told = short(&answer.to_person.join(" | "));
        return Some(format!("the person is not told `{words}`, but {told:?}"));
    }
    let slow = expected.within_ms.filter(|most| came.took > Duration::from_millis(*most));
    slow.map(|most| format!("took {} ms, more than {most} ms", came.took.as_millis()))
}

fn is(word: Word, came: &ActualAnswer<'_>) -> bool {
    let decision = came.answer.decision;
    match word {
        Word::GoesOn => decision == Decision::GoesOn,
        Word::Denies => decision == Decision::Denies,
        Word::Allows => decision == Decision::Allows,
        Word::Silent => decision == Decision::Allows && came.answer.silent,
        Word::Ends => decision == Decision::Allows && came.live != Some(true),
        Word::Rests => {
            let is_told = !came.answer.to_person.is_empty();
            decision == Decision::Allows && came.live == Some(true) && is_told
        }
    }
}

fn words(words: &[Word]) -> String {
    let named = words.iter().map(|word| match word {
        Word::GoesOn => "goes_on",
        Word::Allows => "allows",
        Word::Silent => "silent",
        Word::Denies => "denies",
        Word::Ends => "ends",
        Word::Rests => "rests",
    });
    named.collect::<Vec<_>>().join(" or ")
}

fn described(came: &ActualAnswer<'_>) -> String {
    let what = match (came.answer.decision, came.answer.silent, came.live) {
        (Decision::GoesOn, ..) => "goes_on",
        (Decision::Denies, ..) => "denies",
        (Decision::Allows, _, Some(true)) => "allows, and the loop is still live",
        (Decision::Allows, true, _) => "silent",
        (Decision::Allows, false, _) => "allows",
    };
    let told: Vec<_> = came.answer.to_model.iter().chain(&came.answer.to_person).cloned().collect();
    let told = short(&told.join(" | "));
    if told.is_empty() { what.to_owned() } else { format!("{what} ({told:?})") }
}

fn short(text: &str) -> String {
    text.chars().take(300).collect()
}
