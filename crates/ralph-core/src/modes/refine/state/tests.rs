use super::*;
use crate::modes::refine::measure::{ArtefactChange, PlanChange};
use crate::modes::refine::{Mode, PlanAfter, RefineSettings, RoundEnd, Status};
use crate::state::Extra;
use jiff::Timestamp;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// The specification's own example, word for word.
const EXAMPLE: &str = r#"{
  "sessions": {
    "refine-myproject": {
      "mode": "beads",
      "started_at": "2026-01-09T10:00:00Z",
      "iterations_completed": 5,
      "total_changes": 18,
      "status": "running",
      "plateau_at": null,
      "history": [
        {"iteration": 1, "changes": 5, "summary": "Added test beads"},
        {"iteration": 2, "changes": 4, "summary": "Clarified dependencies"},
        {"iteration": 3, "changes": 3, "summary": "Refined acceptance criteria"},
        {"iteration": 4, "changes": 2, "summary": "Minor wording fixes"},
        {"iteration": 5, "changes": 1, "summary": "Cosmetic tweaks"}
      ]
    }
  }
}"#;

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn whole() -> Refinement {
    Refinement {
        artefact: "abc".to_owned(),
        history: vec![
            RoundEntry {
                iteration: 1,
                changes: Some(2),
                summary: "a".to_owned(),
                ..RoundEntry::default()
            },
            RoundEntry {
                iteration: 2,
                summary: "the client went away".to_owned(),
                end: RoundEnd::Interrupted,
                plan: PlanAfter::KeptEdit,
                edited_before: true,
                ended_at: Some(NOW),
                measured: Some(ArtefactChange::Plan(PlanChange {
                    lines: 3,
                    sections: 1,
                    extra: Extra::new(),
                })),
                ..RoundEntry::default()
            },
        ],
        round: Some(OpenRound {
            iteration: 2,
            asked_again: true,
            client_session: "s".into(),
            ..OpenRound::default()
        }),
        ended_at: Some(NOW),
        ..Refinement::new("docs/plan.md", RefineSettings::default(), NOW)
    }
}

#[test]
fn the_documents_own_example_reads_and_is_written_back_as_it_was() {
    let document = RefineDocument::parse(EXAMPLE).unwrap();
    let session = document.session("refine-myproject").unwrap().unwrap();
    assert_eq!((session.mode.clone(), session.status.clone()), (Mode::Beads, Status::Running));
    assert_eq!((session.iterations_completed, session.total_changes), (5, 18));
    assert_eq!((session.history.len(), session.history[4].changes), (5, Some(1)));
    assert_eq!(session.left(), 5);
    let mut again = value(&document.render());
    assert_eq!(again["schema_version"], 1);
    again.as_object_mut().unwrap().remove("schema_version");
    assert_eq!(again, value(EXAMPLE));
}

#[test]
fn an_edited_session_has_the_documents_members_first_and_in_its_order() {
    let mut document = RefineDocument::default();
    document.put("s", whole()).unwrap();
    let text = document.render();
    let names = [
        "mode",
        "started_at",
        "iterations_completed",
        "total_changes",
        "status",
        "plateau_at",
        "history",
        "plan_file",
        "settings",
    ];
    let places: Vec<usize> =
        names.iter().map(|name| text.find(&format!("\n      \"{name}\": ")).expect(name)).collect();
    assert!(places.is_sorted(), "{text}");
    let history = &value(&text)["sessions"]["s"]["history"];
    assert_eq!(history[0], json!({"iteration": 1, "changes": 2, "summary": "a"}));
    // Only unknown values are null.
    assert_eq!((&history[1]["changes"], &history[1]["end"]), (&Value::Null, &json!("interrupted")));
    assert_eq!(RefineDocument::parse(&text).unwrap().session("s"), Ok(Some(whole())));
}

#[test]
fn members_that_nobody_knows_survive_at_every_level() {
    let mut found = value(EXAMPLE);
    found["tool"] = json!({"name": "other"});
    let session = &mut found["sessions"]["refine-myproject"];
    session["colour"] = json!("red");
    session["status"] = json!("resting");
    session["history"][0]["tokens"] = json!(12);
    session["history"][0]["measured"] = json!({"lines": 1, "sections": 1, "words": 4});
    session["settings"] = json!({"lines": 9, "mood": "calm"});
    session["round"] = json!({"iteration": 6, "pane": "%3"});
    let mut document = RefineDocument::parse(&found.to_string()).unwrap();
    let mut session = document.session("refine-myproject").unwrap().unwrap();
    session.total_changes += 1;
    document.put("refine-myproject", session).unwrap();
    let again = value(&document.render());
    let now = &again["sessions"]["refine-myproject"];
    assert_eq!(again["tool"], json!({"name": "other"}));
    assert_eq!((&now["colour"], &now["status"]), (&json!("red"), &json!("resting")));
    assert_eq!(now["history"][0], found["sessions"]["refine-myproject"]["history"][0]);
    assert_eq!((&now["settings"]["mood"], &now["round"]["pane"]), (&json!("calm"), &json!("%3")));
    assert_eq!(now["total_changes"], 19);
}

#[test]
fn editing_one_session_leaves_the_others_as_they_were_found() {
    let text = json!({"sessions": {"broken": {"history": 3}, "odd": [1], "mine": value(EXAMPLE)["sessions"]["refine-myproject"]}});
    let mut document = RefineDocument::parse(&text.to_string()).unwrap();
    let mut mine = document.session("mine").unwrap().unwrap();
    mine.status = Status::Cancelled;
    document.put("mine", mine).unwrap();
    document.put("new", whole()).unwrap();
    let again = value(&document.render());
    assert_eq!(again["sessions"]["broken"], text["sessions"]["broken"]);
    assert_eq!(again["sessions"]["odd"], text["sessions"]["odd"]);
    assert_eq!(again["sessions"]["mine"]["status"], "cancelled");
    let names: Vec<&str> = document.sessions().map(|(name, _)| name).collect();
    assert_eq!(names.last(), Some(&"new"));
    assert_eq!(names.len(), 4);
    assert_eq!(document.sessions().filter(|(_, session)| session.is_err()).count(), 2);
}

#[track_caller]
fn damaged(text: &str, expected: &str) {
    let said = RefineDocument::parse(text).expect_err(text).to_string();
    assert!(said.contains(expected) && said.contains("left unchanged"), "{said}");
}

#[test]
fn a_document_that_cannot_be_read_is_reported() {
    damaged("", "is not JSON");
    damaged("{\"sessions\": {", "is not JSON");
    damaged("[]", "is not a JSON object");
    damaged("{}", "`sessions`: invalid type: null, expected a map");
    damaged(r#"{"sessions": []}"#, "`sessions`: invalid type: sequence, expected a map");
    damaged(r#"{"schema_version": 2, "sessions": {}}"#, "has version 2");
    damaged(
        r#"{"schema_version": "one", "sessions": {}}"#,
        "`schema_version`: invalid type: string \"one\", expected u64",
    );
    assert!(RefineDocument::parse("\u{feff}{\"schema_version\":1,\"sessions\":{}}").is_ok());
}

#[test]
fn a_session_that_cannot_be_read_is_reported_and_not_written_over() {
    let sound = value(EXAMPLE)["sessions"]["refine-myproject"].clone();
    type Break<'a> = (&'a str, &'a dyn Fn(&mut Value));
    let broken: [Break; 7] = [
        ("missing field `history`", &|one| drop(one.as_object_mut().unwrap().remove("history"))),
        ("missing field `mode`", &|one| drop(one.as_object_mut().unwrap().remove("mode"))),
        ("missing field `status`", &|one| drop(one.as_object_mut().unwrap().remove("status"))),
        ("`iterations_completed`: invalid value", &|one| one["iterations_completed"] = json!(-1)),
        ("`history[0].changes`: invalid type", &|one| one["history"][0]["changes"] = json!("many")),
        ("`history[0].measured`: data did not match", &|one| {
            one["history"][0]["measured"] = json!({})
        }),
        ("invalid type: sequence", &|one| *one = json!([1])),
    ];
    for (expected, change) in broken {
        let mut session = sound.clone();
        change(&mut session);
        let text = json!({"sessions": {"a": session}}).to_string();
        let mut document = RefineDocument::parse(&text).unwrap();
        let why = document.session("a").expect_err(expected).to_string();
        assert!(
            why.contains(expected) && why.contains("`a`") && why.contains("left unchanged"),
            "{why}"
        );
        assert!(document.put("a", whole()).is_err(), "{expected}");
        assert_eq!(value(&document.render())["sessions"], value(&text)["sessions"]);
    }
}

#[test]
fn only_who_runs_on_the_same_thing_is_a_rival() {
    let plan = |file: &str, status: Status| Refinement {
        status,
        ..Refinement::new(file, RefineSettings::default(), NOW)
    };
    let mut document = RefineDocument::default();
    for (name, session) in [
        ("a", plan("p.md", Status::Running)),
        ("b", plan("other.md", Status::Running)),
        ("c", plan("p.md", Status::Interrupted)),
        ("d", plan("p.md", Status::Plateau)),
        ("e", Refinement::new("", RefineSettings::default(), NOW)),
    ] {
        document.put(name, session).unwrap();
    }
    let rivals = |name: &str, plan_file: &str| -> Vec<String> {
        document.rivals(name, plan_file).into_iter().map(|(name, _)| name.to_owned()).collect()
    };
    assert_eq!(rivals("new", "p.md"), ["a"]);
    assert!(rivals("a", "p.md").is_empty());
    assert_eq!(rivals("new", ""), ["e"]);
    assert!(rivals("new", "third.md").is_empty());
    assert_eq!(plan("p.md", Status::Running).subject(), "p.md");
    assert_eq!(Refinement::new("", RefineSettings::default(), NOW).subject(), "the tasks");
}

#[test]
fn a_name_may_hold_any_letter_that_can_be_seen() {
    for name in ["refine-api", "a|b&c", "x y", "{{n}} $1", "größe", "../a", &"x".repeat(100)] {
        assert_eq!(refused_name(name), None, "{name}");
    }
    for name in ["", " ", "-x", " x", "a\nb", "a\u{1b}[2J", "a\u{200b}", &"x".repeat(101)] {
        assert!(refused_name(name).is_some(), "{name:?}");
    }
}
