//! The one question by which a person is asked about a plan, and the answer to it.
//!
//! It is asked with the client's own tool, and only the tool's response counts: the client writes that,
//! while everything else in the conversation may be the model's. So the question has to say which text it
//! is about, offer what the rules know, and bring no answer along.

use super::{position, short};
use crate::from_json::{FromJson, Members, from_json};
use crate::plain;
use crate::reply::bounded;
use crate::state::{DecisionKind, PlanPhase, Ralplan};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The labels of the options, and what each is.
pub const OPTIONS: [(&str, DecisionKind, &str); 3] = [
    ("Proceed", DecisionKind::Proceed, "The plan is accepted as it is; `/ralph` carries it out"),
    ("Adjust", DecisionKind::Adjust, "Back to the planner; say under Other what should change"),
    ("Discard", DecisionKind::Discard, "End the planning and leave the plan"),
];

/// Why a question is not the one that is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOurs {
    /// No person is to be asked yet, or any more.
    NotNow(PlanPhase),
    /// It has another shape than the tool's input.
    Shape(String),
    /// It brings along something that is not the question.
    Besides(String),
    /// More questions than one, or none.
    Count(usize),
    /// Several options could be chosen together.
    Several,
    /// Other options than the three.
    Options(Vec<String>),
    /// The text does not name the plan.
    Path(String),
    /// The text does not name which version of the plan.
    Hash(String),
    /// The text holds letters that a person does not see.
    Hidden,
}

impl fmt::Display for NotOurs {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotOurs::NotNow(phase) => write!(
                to,
                "a person is asked about a plan only in the phase `awaiting_user_approval`, and this \
                 planning is in `{phase}`"
            ),
            NotOurs::Shape(what) => write!(to, "the question cannot be read: {what}"),
            NotOurs::Besides(name) => {
                write!(to, "`{name}` is the client's to write; pass `questions` alone")
            }
            NotOurs::Count(count) => {
                write!(to, "{count} questions instead of exactly one; ask only about the plan")
            }
            NotOurs::Several => {
                to.write_str("only one option can be chosen; leave out `multiSelect`")
            }
            NotOurs::Options(labels) => write!(
                to,
                "the options are {}; they must be Proceed, Adjust and Discard",
                if labels.is_empty() { "missing".to_owned() } else { labels.join(", ") }
            ),
            NotOurs::Path(path) => {
                write!(to, "the question does not name the plan's path, `{path}`")
            }
            NotOurs::Hash(hash) => {
                write!(to, "the question does not name the plan's digest, `{hash}`")
            }
            NotOurs::Hidden => to
                .write_str("the question holds letters that a person does not see; leave them out"),
        }
    }
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Which way.
    pub kind: DecisionKind,
    /// In the person's own words; empty where there are none.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
#[expect(non_snake_case, reason = "the client's own name")]
struct Asked {
    question: String,
    options: Vec<Choice>,
    multiSelect: bool,
}

from_json!(Asked { question, options, multiSelect });

#[derive(Debug, Clone, PartialEq, Default)]
struct Choice {
    label: String,
}

from_json!(Choice { label });

#[derive(Debug, Clone, PartialEq, Default)]
struct Note {
    notes: String,
}

from_json!(Note { notes });

/// The question's text: what was judged, how it came out, and what is still open.
pub fn text(plan: &Ralplan) -> String {
    let (path, hash) = (&plan.plan_path, short(&plan.plan_hash));
    match plan.forced {
        false => format!(
            "The critic approved the plan `{path}` ({hash}) after {} iterations. Shall it be carried out?",
            position(plan)
        ),
        true => format!(
            "WARNING: the critic has not approved the plan `{path}` ({hash}) in {} iterations. Left open: {} \
             Shall it be carried out all the same?",
            position(plan),
            left_open(plan)
        ),
    }
}

/// What a critic left open. Letters that a person does not see are shown: with one of them in it the
/// question would be refused, and nobody could be asked.
fn left_open(plan: &Ralplan) -> String {
    let all: Vec<String> = plan.concerns.iter().map(|one| format!("- {one}")).collect();
    bounded(&plain::visible(&all.join(" ")), 600)
}

/// Whether this input of the client's question tool is the one question that is allowed.
///
/// # Errors
/// Why it is not.
pub fn is_ours(plan: &Ralplan, input: &Value) -> Result<(), NotOurs> {
    if plan.phase != PlanPhase::AwaitingUserApproval {
        return Err(NotOurs::NotNow(plan.phase.clone()));
    }
    // With an answer in the input the client would have no reason to ask.
    let members = input.as_object().into_iter().flatten();
    let mut others = members.map(|(name, _)| name).filter(|name| *name != "questions");
    if let Some(other) = others.find(|name| *name != "metadata") {
        return Err(NotOurs::Besides(other.clone()));
    }
    asked(plan, input).map(drop)
}

/// What the person answered, from the tool's own response. None where nobody answered, or where it was
/// another question.
pub fn answer(plan: &Ralplan, response: &Value) -> Option<Said> {
    let asked = asked(plan, response).ok()?;
    let mut members = Members::of(response.clone()).ok()?;
    let (mut answers, mut notes) =
        (BTreeMap::<String, Value>::new(), BTreeMap::<String, Value>::new());
    members.take("answers", &mut answers).ok()?;
    // Notes are a courtesy: without them the answer stands.
    let _ = members.take("annotations", &mut notes);
    let said = String::from_json(answers.remove(&asked.question)?).ok()?;
    let note = notes.remove(&asked.question).and_then(|note| Note::from_json(note).ok());
    let note = note.unwrap_or_default().notes.trim().to_owned();
    if said.trim().is_empty() {
        return None;
    }
    let kind = OPTIONS.into_iter().find(|(label, _, _)| *label == said.trim());
    Some(match kind {
        Some((_, kind, _)) => Said { kind, text: note },
        None => Said { kind: DecisionKind::Adjust, text: said.trim().to_owned() },
    })
}

/// The one question, if that is what it is.
fn asked(plan: &Ralplan, value: &Value) -> Result<Asked, NotOurs> {
    let mut questions: Vec<Asked> = Vec::new();
    Members::of(value.clone())
        .and_then(|mut members| members.take("questions", &mut questions))
        .map_err(|mistake| NotOurs::Shape(mistake.to_string()))?;
    let count = questions.len();
    let Some(asked) = questions.pop().filter(|_| count == 1) else {
        return Err(NotOurs::Count(count));
    };
    if asked.multiSelect {
        return Err(NotOurs::Several);
    }
    let labels: Vec<&str> = asked.options.iter().map(|option| option.label.as_str()).collect();
    let are_ours =
        labels.len() == OPTIONS.len() && OPTIONS.iter().all(|(label, _, _)| labels.contains(label));
    if !are_ours {
        return Err(NotOurs::Options(labels.into_iter().map(str::to_owned).collect()));
    }
    if asked.question.chars().any(|letter| plain::acts(letter) && !matches!(letter, '\n' | '\t')) {
        return Err(NotOurs::Hidden);
    }
    if plan.plan_path.is_empty() || !asked.question.contains(&plan.plan_path) {
        return Err(NotOurs::Path(plan.plan_path.clone()));
    }
    let hash = short(&plan.plan_hash);
    if hash.is_empty() || !asked.question.contains(hash) {
        return Err(NotOurs::Hash(hash.to_owned()));
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::super::step::tests::{H1, awaiting, planning, reject_once};
    use super::*;
    use serde_json::json;

    const LABELS: [&str; 3] = ["Discard", "Proceed", "Adjust"];

    fn question(text: &str, labels: &[&str]) -> Value {
        let options: Vec<Value> =
            labels.iter().map(|label| json!({"label": label, "description": "d"})).collect();
        json!({"question": text, "header": "Plan", "options": options, "multiSelect": false})
    }

    fn ours() -> Value {
        json!({"questions": [question(&text(&awaiting()), &LABELS)]})
    }

    #[track_caller]
    fn check(input: &Value, expected: &str) {
        let why =
            is_ours(&awaiting(), input).map_or_else(|why| why.to_string(), |()| "ours".into());
        assert!(why.contains(expected), "{why}");
    }

    #[test]
    fn exactly_the_gates_question_is_allowed() {
        check(&ours(), "ours");
        let mut input = ours();
        input["metadata"] = json!({"source": "x"});
        check(&input, "ours");
        let own_words = format!("Begin with .omc/plans/a.md at {}?", short(H1));
        check(&json!({"questions": [question(&own_words, &LABELS)]}), "ours");
    }

    #[test]
    fn anything_else_is_refused_with_what_is_wrong() {
        let text = text(&awaiting());
        let one = question(&text, &LABELS);
        check(&json!({"questions": [one, one]}), "2 questions");
        check(&json!({"questions": []}), "0 questions");
        check(&json!({}), "0 questions");
        check(&json!({"questions": "x"}), "`questions` is not a list");
        check(&json!([]), "not an object");
        for labels in [
            &["Proceed", "Adjust"][..],
            &["Proceed", "Proceed", "Discard"],
            &["proceed", "Adjust", "Discard"],
            &["Proceed", "Adjust", "Discard", "Later"],
            &[],
        ] {
            check(&json!({"questions": [question(&text, labels)]}), "must be Proceed, Adjust and");
        }
        let mut several = ours();
        several["questions"][0]["multiSelect"] = json!(true);
        check(&several, "only one option");
        let no_path = format!("The plan {}?", short(H1));
        check(&json!({"questions": [question(&no_path, &LABELS)]}), "the plan's path");
        let no_hash = ".omc/plans/a.md 11111111111?";
        check(&json!({"questions": [question(no_hash, &LABELS)]}), "the plan's digest");
        let hidden = format!("{text}\u{202e}");
        check(&json!({"questions": [question(&hidden, &LABELS)]}), "does not see");
    }

    #[test]
    fn a_question_brings_no_answer_along() {
        for name in ["answers", "annotations", "other"] {
            let mut input = ours();
            input[name] = json!({text(&awaiting()): "Proceed"});
            check(&input, &format!("`{name}` is the client's"));
        }
    }

    #[test]
    fn before_its_time_the_question_is_refused() {
        let why = is_ours(&planning(), &ours()).unwrap_err();
        assert_eq!(why, NotOurs::NotNow(PlanPhase::PlannerPlanning));
    }

    /// The response to our question with this answer.
    fn response(said: &Value) -> Value {
        let mut response = ours();
        response["answers"] = json!({text(&awaiting()): said});
        response["annotations"] = json!({});
        response
    }

    #[track_caller]
    fn check_answer(response: &Value, expected: Option<(DecisionKind, &str)>) {
        let expected = expected.map(|(kind, text)| Said { kind, text: text.to_owned() });
        assert_eq!(answer(&awaiting(), response), expected, "{response}");
    }

    #[test]
    fn the_chosen_label_is_the_decision_and_free_text_an_adjustment() {
        check_answer(&response(&json!("Proceed")), Some((DecisionKind::Proceed, "")));
        check_answer(&response(&json!("Adjust")), Some((DecisionKind::Adjust, "")));
        check_answer(&response(&json!("Discard")), Some((DecisionKind::Discard, "")));
        for free in ["use less", "proceed", "Proceed, but smaller", "Proceed, Discard"] {
            check_answer(&response(&json!(free)), Some((DecisionKind::Adjust, free)));
        }
        let mut noted = response(&json!("Adjust"));
        noted["annotations"] = json!({text(&awaiting()): {"notes": " less "}});
        check_answer(&noted, Some((DecisionKind::Adjust, "less")));
        noted["annotations"] = json!(7);
        check_answer(&noted, Some((DecisionKind::Adjust, "")));
    }

    #[test]
    fn silence_is_no_answer_nor_is_the_answer_to_something_else() {
        for said in [json!(""), json!("  "), json!(null), json!(["Proceed"])] {
            check_answer(&response(&said), None);
        }
        check_answer(&ours(), None);
        check_answer(&json!("The user did not answer"), None);
        let mut other = ours();
        other["answers"] = json!({"Which database?": "Proceed"});
        check_answer(&other, None);
        let mut edited = response(&json!("Proceed"));
        edited["questions"][0]["question"] = json!("Shall we?");
        check_answer(&edited, None);
    }

    #[test]
    fn the_clients_own_form_of_a_response_is_read() {
        let recorded = json!({"questions": [{"question": "Which database?", "header": "DB", "options": [
            {"label": "Postgres", "description": "a"}, {"label": "Sqlite", "description": "b"}],
            "multiSelect": false}], "answers": {"Which database?": "Postgres"}, "annotations": {}});
        check_answer(&recorded, None);
        let text = text(&awaiting());
        let recorded = recorded.to_string().replace("Which database?", &text);
        let mut ours: Value =
            serde_json::from_str(&recorded.replace("Postgres", "Proceed")).unwrap();
        ours["questions"][0]["options"] = question("", &LABELS)["options"].clone();
        check_answer(&ours, Some((DecisionKind::Proceed, "")));
    }

    #[test]
    fn what_was_left_open_stands_in_the_question() {
        let mut plan = planning();
        (0..5).for_each(|_| reject_once(&mut plan, "c"));
        let text = text(&plan);
        assert!(text.starts_with("WARNING: the critic has not approved"), "{text}");
        assert!(text.contains("5/5 iterations. Left open: - T-2 has no test"), "{text}");
        assert_eq!(is_ours(&plan, &json!({"questions": [question(&text, &LABELS)]})), Ok(()));
    }

    #[test]
    fn what_a_critic_hides_is_shown_and_the_person_is_asked_all_the_same() {
        let mut plan = planning();
        (0..5).for_each(|_| reject_once(&mut plan, "c"));
        plan.concerns = vec!["T-2\u{202e} has\u{7} no test\u{200b}".into()];
        let text = text(&plan);
        assert!(text.contains(r"- T-2\u{202e} has\u{7} no test\u{200b} Shall"), "{text}");
        assert_eq!(is_ours(&plan, &json!({"questions": [question(&text, &LABELS)]})), Ok(()));
    }
}
