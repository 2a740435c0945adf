//! The one question that asks the user about a plan, and its answer.
//!
//! The session asks with the client's own tool, and only the tool's response counts: the client
//! writes it, while everything else in the conversation may come from the model. The question must
//! therefore name the text that it is about, offer the known options, and contain no answer.

use super::{position, short};
use crate::state::{DecisionKind, PlanPhase, RalplanState};
use crate::tasks::plan::Plan;
use crate::text::json;
use crate::text::sanitize;
use crate::text::truncate::bounded;
use serde::Deserialize;
use serde_json::Value;

/// The labels of the options, their decisions and their descriptions.
pub const OPTIONS: [(&str, DecisionKind, &str); 4] = [
    ("Proceed", DecisionKind::Proceed, "Accept the plan; type `/ralph` to carry it out"),
    (START, DecisionKind::Proceed, "Accept the plan and carry it out in this session now"),
    ("Adjust", DecisionKind::Adjust, "Return it to the planner; write the changes under Other"),
    ("Discard", DecisionKind::Discard, "End the planning; the plan's file stays"),
];

/// The option that starts the loop at once. A question may omit it; then no answer starts the loop.
pub const START: &str = "Proceed and start";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanAnswer {
    pub kind: DecisionKind,
    /// In the user's own words; empty if there are none.
    pub text: String,
    /// True if the loop is to start at once.
    pub start: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct QuestionInput {
    questions: Vec<AskedQuestion>,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
#[expect(non_snake_case, reason = "the client's own name")]
struct AskedQuestion {
    question: String,
    options: Vec<AnswerOption>,
    multiSelect: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
struct AnswerOption {
    label: String,
}

/// The question's text: what was judged, the verdict, the concerns still open, and what would be
/// carried out.
pub fn text(plan: &RalplanState) -> String {
    let (path, hash, at) = (&plan.plan_path, short(&plan.plan_hash), position(plan));
    let mut text = match plan.forced {
        false => format!("The critic approved `{path}` ({hash}), plan {at}."),
        true => format!("WARNING: the critic rejected `{path}` ({hash}), plan {at}."),
    };
    for (head, lines) in lists_of(plan).iter().filter(|(_, lines)| !lines.is_empty()) {
        text.push_str(&format!("\n{head}:\n{}", lines.join("\n")));
    }
    let anyway = if plan.forced { " all the same" } else { "" };
    text + &format!("\nShall it be carried out{anyway}?")
}

/// A plan's criteria and tasks, each in one line.
pub fn lists(plan: &Plan) -> (Vec<String>, Vec<String>) {
    let criteria = plan.criteria.iter().map(|criterion| {
        format!("{} {}: {}", criterion.id, criterion.description, criterion.decided_by())
    });
    let tasks = plan.tasks.iter().map(|task| format!("{} {}", task.id, task.name));
    (criteria.collect(), tasks.collect())
}

/// UTF-16 units for all lines of the lists, so that the whole question fits into a reason.
const ROOM: usize = 820;

/// Lines of each list in a question; `ralph ralplan status` shows the others.
const LISTED: usize = 12;

/// The lists with their heads. Each line is cut to its share of the room. Invisible characters are
/// made visible, because a question that contains one would be refused and the user could never be
/// asked.
fn lists_of(plan: &RalplanState) -> [(&'static str, Vec<String>); 3] {
    let concerns: &[String] = if plan.forced { &plan.concerns } else { &[] };
    let lists = [("Left open", concerns), ("Criteria", &plan.criteria), ("Tasks", &plan.tasks)];
    let count: usize = lists.iter().map(|(_, items)| items.len().min(LISTED)).sum();
    let room = ROOM / count.max(1);
    lists.map(|(head, items)| {
        let lines = items.iter().take(LISTED).enumerate().map(|(at, one)| {
            let one = words(&sanitize::visible(one));
            // A criterion and a task begin with their ids.
            bounded(&if head == "Left open" { format!("{}. {one}", at + 1) } else { one }, room)
        });
        let mut lines: Vec<String> = lines.collect();
        if items.len() > LISTED {
            lines.push(format!("and {} more: `ralph ralplan status`", items.len() - LISTED));
        }
        (head, lines)
    })
}

/// Joins the words of a text with single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks whether this input of the client's question tool is the one allowed question.
///
/// # Errors
/// Why it is not.
pub fn is_ours(plan: &RalplanState, input: &Value) -> Result<(), String> {
    if plan.phase != PlanPhase::AwaitingUserApproval {
        return Err(format!(
            "ask about a plan only in the phase `awaiting_user_approval`; this planning is in `{}`",
            plan.phase
        ));
    }
    // With an answer in the input, the client would have no reason to ask.
    let members = input.as_object().into_iter().flatten();
    let mut others = members.map(|(name, _)| name).filter(|name| *name != "questions");
    if let Some(other) = others.find(|name| *name != "metadata") {
        return Err(format!(
            "leave out `{other}` (Claude Code fills it in) and pass only `questions`"
        ));
    }
    asked(plan, input).map(drop)
}

/// The user's answer, from the tool's own response. `None` if the user did not answer, or if it was
/// another question.
pub fn answer(plan: &RalplanState, response: &Value) -> Option<PlanAnswer> {
    let asked = asked(plan, response).ok()?;
    let said = response.get("answers")?.get(&asked.question)?.as_str()?;
    // Notes are optional: the answer stands without them.
    let note = response
        .get("annotations")
        .and_then(|notes| notes.get(&asked.question)?.get("notes")?.as_str());
    let note = note.unwrap_or_default().trim().to_owned();
    if said.trim().is_empty() {
        return None;
    }
    let is_offered = |label: &str| asked.options.iter().any(|option| option.label == label);
    let chosen = OPTIONS.into_iter().find(|(label, _, _)| *label == said.trim());
    Some(match chosen.filter(|(label, _, _)| is_offered(label)) {
        Some((label, kind, _)) => PlanAnswer { kind, text: note, start: label == START },
        None => {
            PlanAnswer { kind: DecisionKind::Adjust, text: said.trim().to_owned(), start: false }
        }
    })
}

/// Returns the question if it is the one allowed.
fn asked(plan: &RalplanState, value: &Value) -> Result<AskedQuestion, String> {
    let unreadable = |what: &str| format!("the question cannot be read: {what}");
    if !value.is_object() {
        return Err(unreadable("it is not an object"));
    }
    let read = json::read(value.clone()).map_err(|what: String| unreadable(&what));
    let QuestionInput { mut questions } = read?;
    let count = questions.len();
    let Some(asked) = questions.pop().filter(|_| count == 1) else {
        return Err(format!("{count} questions instead of exactly one; ask only about the plan"));
    };
    if asked.multiSelect {
        return Err("only one option can be chosen; leave out `multiSelect`".to_owned());
    }
    let labels: Vec<&str> = asked.options.iter().map(|option| option.label.as_str()).collect();
    if !are_ours(&labels) {
        let labels = if labels.is_empty() { "missing".to_owned() } else { labels.join(", ") };
        return Err(format!(
            "the options are {labels}; they must be Proceed, Proceed and start, Adjust and Discard"
        ));
    }
    if asked.question.chars().any(|letter| sanitize::acts(letter) && !matches!(letter, '\n' | '\t'))
    {
        return Err("the question has invisible characters; remove them".to_owned());
    }
    if !is_whole(plan, &asked.question) {
        return Err(format!(
            "the question lacks the plan's path or digest, the WARNING, or one of the critic's open \
             points, the criteria or the tasks; ask it word for word:\n{}",
            text(plan)
        ));
    }
    Ok(asked)
}

/// True if the labels are all the options, each once; only [`START`] may be missing.
fn are_ours(labels: &[&str]) -> bool {
    let has_each = OPTIONS.iter().all(|(label, _, _)| *label == START || labels.contains(label));
    has_each && labels.len() == OPTIONS.len() - usize::from(!labels.contains(&START))
}

/// True for a text that names the plan and contains every line of the lists, and the warning if one
/// is due, whatever its line breaks.
fn is_whole(plan: &RalplanState, question: &str) -> bool {
    let question = words(question);
    let lists = lists_of(plan);
    let mut lines = lists.iter().flat_map(|(_, lines)| lines);
    let names = |part: &str| !part.is_empty() && question.contains(part);
    names(&plan.plan_path)
        && names(short(&plan.plan_hash))
        && (!plan.forced || question.contains("WARNING"))
        && lines.all(|one| question.contains(&words(one)))
}

#[cfg(test)]
mod tests {
    use super::super::step::tests::{H1, awaiting, planning, reject_once};
    use super::*;
    use serde_json::json;

    const LABELS: [&str; 4] = ["Discard", "Proceed", "Adjust", START];
    const WITHOUT_START: [&str; 3] = ["Discard", "Proceed", "Adjust"];

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
        let why = is_ours(&awaiting(), input).map_or_else(|why| why, |()| "ours".into());
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
        check(&json!({"questions": [question(&own_words, &WITHOUT_START)]}), "ours");
    }

    #[test]
    fn anything_else_is_refused_with_what_is_wrong() {
        let text = text(&awaiting());
        let one = question(&text, &LABELS);
        check(&json!({"questions": [one, one]}), "2 questions");
        check(&json!({"questions": []}), "0 questions");
        check(&json!({}), "0 questions");
        check(&json!({"questions": "x"}), "`questions`: invalid type");
        check(&json!([]), "not an object");
        for labels in [
            &["Proceed", "Adjust"][..],
            &["Proceed", "Proceed", "Discard"],
            &["proceed", "Adjust", "Discard"],
            &["Proceed", "Adjust", "Discard", "Later"],
            &[START, "Adjust", "Discard"],
            &[START, START, "Proceed", "Adjust"],
            &["Proceed", "Adjust", "Discard", START, START],
            &["Proceed", "Adjust", "Discard", START, "Later"],
            &[],
        ] {
            check(
                &json!({"questions": [question(&text, labels)]}),
                "must be Proceed, Proceed and start,",
            );
        }
        let mut several = ours();
        several["questions"][0]["multiSelect"] = json!(true);
        check(&several, "only one option");
        let no_path = format!("The plan {}?", short(H1));
        check(&json!({"questions": [question(&no_path, &LABELS)]}), "lacks the plan's path");
        let no_hash = ".omc/plans/a.md 11111111111?";
        check(&json!({"questions": [question(no_hash, &LABELS)]}), "lacks the plan's path");
        let hidden = format!("{text}\u{202e}");
        check(&json!({"questions": [question(&hidden, &LABELS)]}), "invisible characters");
    }

    #[test]
    fn a_question_brings_no_answer_along() {
        for name in ["answers", "annotations", "other"] {
            let mut input = ours();
            input[name] = json!({text(&awaiting()): "Proceed"});
            check(&input, &format!("leave out `{name}`"));
        }
    }

    #[test]
    fn before_its_time_the_question_is_refused() {
        let why = is_ours(&planning(), &ours()).unwrap_err();
        assert!(why.contains("this planning is in `planner_planning`"), "{why}");
    }

    /// The response to the allowed question with this answer.
    fn response(said: &Value) -> Value {
        let mut response = ours();
        response["answers"] = json!({text(&awaiting()): said});
        response["annotations"] = json!({});
        response
    }

    #[track_caller]
    fn check_answer(response: &Value, expected: Option<(DecisionKind, &str)>) {
        let expected =
            expected.map(|(kind, text)| PlanAnswer { kind, text: text.to_owned(), start: false });
        assert_eq!(answer(&awaiting(), response), expected, "{response}");
    }

    #[test]
    fn only_its_own_option_starts_the_loop_at_once() {
        let chosen = response(&json!(START));
        let said = PlanAnswer { kind: DecisionKind::Proceed, text: String::new(), start: true };
        assert_eq!(answer(&awaiting(), &chosen), Some(said));
        let mut not_offered = chosen;
        not_offered["questions"][0]["options"] = question("", &WITHOUT_START)["options"].clone();
        check_answer(&not_offered, Some((DecisionKind::Adjust, START)));
        for free in ["proceed and start", "Proceed and start it", "start"] {
            check_answer(&response(&json!(free)), Some((DecisionKind::Adjust, free)));
        }
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
        let text = json!(text(&awaiting())).to_string();
        let recorded = recorded.to_string().replace("\"Which database?\"", &text);
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
        assert_eq!(
            text,
            "WARNING: the critic rejected `.omc/plans/a.md` (111111111111), plan 5/5.\n\
             Left open:\n1. T-2 has no test\nShall it be carried out all the same?"
        );
        assert_eq!(is_ours(&plan, &json!({"questions": [question(&text, &LABELS)]})), Ok(()));
    }

    #[test]
    fn what_a_critic_hides_is_shown_and_the_person_is_asked_all_the_same() {
        let mut plan = planning();
        (0..5).for_each(|_| reject_once(&mut plan, "c"));
        plan.concerns = vec!["T-2\u{202e} has\u{7} no test\u{200b}".into()];
        let text = text(&plan);
        assert!(text.contains(r"1. T-2\u{202e} has\u{7} no test\u{200b}"), "{text}");
        assert_eq!(is_ours(&plan, &json!({"questions": [question(&text, &LABELS)]})), Ok(()));
    }

    #[test]
    fn a_question_that_leaves_a_concern_out_is_refused_with_the_whole_text() {
        let mut plan = planning();
        (0..5).for_each(|_| reject_once(&mut plan, "c"));
        plan.concerns = vec!["T-2 has no test".into(), "AC-1 passes\ntoday".into()];
        let whole = text(&plan);
        let ask = |text: &str| is_ours(&plan, &json!({"questions": [question(text, &LABELS)]}));
        assert_eq!(ask(&whole), Ok(()));
        assert_eq!(
            ask(&whole.replace("\n2. AC-1", " 2.  AC-1").replace("Shall it", "Shall we")),
            Ok(())
        );
        for shortened in [
            whole.replace("WARNING: ", ""),
            whole.replace("1. T-2 has no test", ""),
            whole.replace("AC-1 passes today", "AC-1"),
            whole.split("\nLeft open").next().unwrap().to_owned(),
        ] {
            assert!(ask(&shortened).is_err_and(|why| why.ends_with(&whole)), "{shortened}");
            let mut response = json!({"questions": [question(&shortened, &LABELS)]});
            response["answers"] = json!({shortened: "Proceed"});
            assert_eq!(answer(&plan, &response), None);
        }
    }

    #[test]
    fn the_question_shows_the_plans_criteria_and_tasks_and_cannot_leave_one_out() {
        let mut plan = awaiting();
        plan.criteria = vec!["AC-1 the login tests pass: npm test -- login".into()];
        plan.tasks = vec!["T-1 add the form".into(), "T-2 limit\u{202e} attempts".into()];
        let whole = text(&plan);
        assert_eq!(
            whole,
            "The critic approved `.omc/plans/a.md` (111111111111), plan 1/5.\n\
             Criteria:\nAC-1 the login tests pass: npm test -- login\n\
             Tasks:\nT-1 add the form\nT-2 limit\\u{202e} attempts\nShall it be carried out?"
        );
        let ask = |text: &str| is_ours(&plan, &json!({"questions": [question(text, &LABELS)]}));
        assert_eq!(ask(&whole), Ok(()));
        for shortened in [whole.replace("npm test -- login", "tests"), whole.replace("T-1", "")] {
            assert!(ask(&shortened).is_err_and(|why| why.ends_with(&whole)), "{shortened}");
        }
        plan.criteria = vec!["AC ".to_owned() + &"x".repeat(900); 40];
        plan.tasks = plan.criteria.clone();
        let text = text(&plan);
        assert_eq!(text.matches("and 28 more: `ralph ralplan status`").count(), 2, "{text}");
        assert!(text.encode_utf16().count() < 1_100, "{}", text.len());
    }

    #[test]
    fn the_longest_concerns_are_all_listed() {
        let mut plan = planning();
        (0..5).for_each(|_| reject_once(&mut plan, "c"));
        for n in [1, 7, LISTED] {
            plan.concerns = (1..=n).map(|at| format!("concern {at} {}", "x".repeat(900))).collect();
            let text = text(&plan);
            assert!((1..=n).all(|at| text.contains(&format!("{at}. concern {at} x"))), "{text}");
            assert!(text.encode_utf16().count() < 1_100, "{}", text.len());
            assert_eq!(is_ours(&plan, &json!({"questions": [question(&text, &LABELS)]})), Ok(()));
        }
        plan.concerns = vec!["y".repeat(900); 40];
        assert!(text(&plan).contains("and 28 more: `ralph ralplan status`"), "{}", text(&plan));
    }
}
