use super::*;
use crate::tasks::shared::fixture::{id, name, plan, receipt};
use serde_json::{Value, json};

fn read<K: Kind>(json: &Value) -> Result<Record<K>, ChainError> {
    Record::parse(&format!("Subject\n\n{json}\n"))
}

fn ledger(kind: Value) -> Value {
    let mut record = json!({"schema": 1, "nonce": "n", "machine": "m"});
    record.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
    record
}

fn finish(task: &str) -> Finish {
    Finish { task: task.to_owned(), finish: id(1) }
}

fn all() -> Vec<LedgerRecord> {
    let text = || Text::new("because\n\"quoted\"");
    let merged = |finishes| Verdict::Merged {
        finishes,
        tree: id(2),
        receipts: vec![receipt("AC-1", true)],
        end: None,
    };
    vec![
        LedgerRecord::Plan(Box::new(plan("T-1\nT-2 after T-1"))),
        LedgerRecord::Integrator { lease_seconds: 0 },
        LedgerRecord::Integrator { lease_seconds: LONGEST_LEASE },
        LedgerRecord::Verdict(merged(vec![finish("T-1"); LARGEST_BATCH])),
        LedgerRecord::Verdict(merged(Vec::new())),
        LedgerRecord::Verdict(Verdict::Returned { finish: finish("T-1"), reason: text() }),
        LedgerRecord::Pause { reason: text() },
        LedgerRecord::Resume,
        LedgerRecord::Cancel { reason: text() },
        LedgerRecord::Signal { info: false, text: text() },
        LedgerRecord::End(End { ending: EndingKind::Complete, reason: text() }),
    ]
}

#[test]
fn every_record_is_read_as_it_was_written() {
    for kind in all() {
        let record = Record::new(name("n"), name("m"), kind);
        for below_heads in [false, true] {
            let message = record.message(below_heads);
            assert_eq!(Record::parse(&message), Ok(record.clone()), "{message}");
            let subject = message.lines().next().unwrap();
            assert!(subject.len() <= 100 && subject.contains("[skip ci]") == below_heads);
        }
    }
    let release = TaskRecord::Released { reason: Text::new("no network") };
    for kind in [TaskRecord::Claim { worker: name("2") }, TaskRecord::Finish, release] {
        let record = Record::new(name("n"), name("m"), kind);
        assert_eq!(Record::parse(&record.message(true)), Ok(record));
    }
    let renewal = Record::new(name("n"), name("m"), MachineRecord::Renewal);
    assert_eq!(Record::parse(&renewal.message(false)), Ok(renewal));
}

#[test]
fn the_form_of_a_verdict_is_fixed() {
    let returned = Verdict::Returned { finish: finish("T-1"), reason: Text::new("red") };
    let record = Record::new(name("n"), name("m"), LedgerRecord::Verdict(returned));
    let (subject, json) = (
        "Return of a task by m",
        format!(
            r#"{{"schema":1,"nonce":"n","machine":"m","kind":"verdict","verdict":"returned","task":"T-1","finish":"{}","reason":"red"}}"#,
            id(1)
        ),
    );
    assert_eq!(record.message(false), format!("{subject}\n\n{json}\n"));
}

#[test]
fn a_record_of_a_newer_schema_is_not_interpreted() {
    let newer = json!({"schema": 2, "machine": ["?"], "kind": "teleport"});
    assert_eq!(read::<LedgerRecord>(&newer), Err(ChainError::Newer { schema: 2 }));
    let said = ChainError::Newer { schema: 2 }.to_string();
    assert!(said.contains("schema 2") && said.contains("update Ralph"), "{said}");
}

#[test]
fn members_that_this_version_does_not_know_are_left_alone() {
    let pause = ledger(json!({"kind": "pause", "reason": "lunch", "until": [1], "x": {"y": 2}}));
    assert_eq!(
        read::<LedgerRecord>(&pause).unwrap().kind,
        LedgerRecord::Pause { reason: Text::new("lunch") }
    );
    assert!(read::<TaskRecord>(&ledger(json!({"kind": "finish", "mood": "good"}))).is_ok());
}

#[track_caller]
fn check_malformed(kind: Value, why: &str) {
    match read::<LedgerRecord>(&ledger(kind)) {
        Err(ChainError::Malformed(found)) => assert!(found.contains(why), "{found}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_out_of_bounds_is_refused() {
    let long = "x".repeat(2_001);
    check_malformed(json!({"kind": "pause", "reason": long}), "too long");
    check_malformed(json!({"kind": "cancel", "reason": "\u{1b}[2J"}), "control characters");
    check_malformed(json!({"kind": "signal"}), "text");
    check_malformed(json!({"kind": "teleport"}), "teleport");
    check_malformed(json!({"kind": "finish"}), "finish");
    check_malformed(json!({"kind": "resume", "machine": "a/b"}), "name");
    check_malformed(json!({"kind": "integrator", "lease_seconds": LONGEST_LEASE + 1}), "lease");
    check_malformed(json!({"kind": "integrator", "lease_seconds": -1}), "-1");
    check_malformed(json!({"kind": "end", "ending": "x".repeat(201), "reason": ""}), "ending");
    let merged = |finishes: Value, tree: &str| json!({"kind": "verdict", "verdict": "merged", "finishes": finishes, "tree": tree, "receipts": []});
    let one = json!({"task": "T-1", "finish": id(1)});
    let tree = id(2).to_string();
    check_malformed(merged(vec![one.clone(); 17].into(), &tree), "too many");
    check_malformed(merged(json!([{"task": "", "finish": id(1)}]), &tree), "empty");
    check_malformed(merged(json!([one]), "HEAD"), "hexadecimal");
    let returned = |task: &str| json!({"kind": "verdict", "verdict": "returned", "task": task, "finish": id(1), "reason": ""});
    check_malformed(returned(&"x".repeat(201)), "too long");
}

#[test]
fn a_message_that_is_no_record_is_refused_in_few_words() {
    for message in
        ["", "Merge branch", "a\n\n[]", "a\n\n{", &format!("a\n\n\"{}\"", "x".repeat(5_000))]
    {
        match Record::<TaskRecord>::parse(message) {
            Err(ChainError::Malformed(why)) => assert!(why.len() <= 400, "{why}"),
            other => panic!("{other:?}"),
        }
    }
    let head = "a\n\n";
    let json = ledger(json!({"kind": "finish"})).to_string();
    let most = LONGEST_MESSAGE - head.len() - json.len();
    let padded = |n| {
        Record::<TaskRecord>::parse(&format!("{head}{}{json}", " ".repeat(n))).map(|one| one.kind)
    };
    assert_eq!(padded(most), Ok(TaskRecord::Finish));
    assert_eq!(padded(most + 1), Err(ChainError::Malformed("it is too long".to_owned())));
}

#[test]
fn a_plan_from_elsewhere_cannot_vouch_for_itself() {
    let mut plan = serde_json::to_value(plan("T-1")).unwrap();
    plan["kind"] = "plan".into();
    assert!(read::<LedgerRecord>(&ledger(plan.clone())).is_ok());
    plan["acceptance_criteria"][0]["receipt"] = json!({"command": "cargo test", "passed": true});
    check_malformed(plan, "receipts or claims");
}

#[test]
fn the_first_line_of_a_record_says_what_it_is() {
    let subjects: Vec<String> = all().iter().map(Kind::subject).collect();
    assert_eq!(
        subjects,
        [
            "Plan of 2 tasks",
            "Integrator's lease back",
            "Integrator's lease",
            "Merge of 16 tasks",
            "Merge of 0 tasks",
            "Return of a task",
            "Pause",
            "Resume",
            "Cancel",
            "Signal",
            "End",
        ]
    );
    assert_eq!(LedgerRecord::Plan(Box::new(plan("T-1"))).subject(), "Plan of 1 task");
    let release = TaskRecord::Released { reason: Text::new("") };
    let of_tasks = [TaskRecord::Claim { worker: name("2") }, TaskRecord::Finish, release];
    assert_eq!(of_tasks.map(|kind| kind.subject()), ["Claim for worker 2", "Finish", "Release"]);
    let renewal = Record::new(name("n"), name("m"), MachineRecord::Renewal);
    let json = r#"{"schema":1,"nonce":"n","machine":"m","kind":"renewal"}"#;
    assert_eq!(renewal.message(true), format!("Renewal by m [skip ci]\n\n{json}\n"));
}

#[test]
fn a_record_at_its_bounds_is_read_and_one_above_is_not() {
    let flaw = |kind: LedgerRecord| kind.flaw().unwrap_or_default();
    let (longest, longer) = ("x".repeat(LONGEST_COMPONENT), "x".repeat(LONGEST_COMPONENT + 1));
    let of_id = "an id is empty or too long";
    let merged = |task: &str, criterion: &str, ending: &str| {
        let ending = EndingKind::from(ending.to_owned());
        LedgerRecord::Verdict(Verdict::Merged {
            finishes: vec![finish(task)],
            tree: id(2),
            receipts: vec![receipt(criterion, true)],
            end: Some(End { ending, reason: Text::new("") }),
        })
    };
    assert_eq!(flaw(merged(&longest, &longest, &longest)), "");
    assert_eq!(flaw(merged(&longer, "AC-1", "complete")), of_id);
    assert_eq!(flaw(merged("T-1", &longer, "complete")), of_id);
    assert_eq!(flaw(merged("T-1", "", "complete")), of_id);
    assert_eq!(flaw(merged("T-1", "AC-1", &longer)), "an ending is too long");
    let returned = |task: &str| {
        LedgerRecord::Verdict(Verdict::Returned { finish: finish(task), reason: Text::new("") })
    };
    assert_eq!(flaw(returned(&longest)), "");
    assert_eq!(flaw(returned(&longer)), of_id);
    assert_eq!(flaw(returned("")), of_id);
    let lease = |lease_seconds| flaw(LedgerRecord::Integrator { lease_seconds });
    assert_eq!(
        (lease(LONGEST_LEASE), lease(LONGEST_LEASE + 1)),
        (String::new(), "a lease is too long".to_owned())
    );
    let of_plan = |lines: &str| plan(lines).flaw().unwrap_or_default();
    assert_eq!(of_plan(&longest), "");
    assert_eq!(of_plan(&longer), format!("the task id {longer} is too long for a reference"));
    let tasks = |n: usize| (0..n).map(|n| format!("T-{n}\n")).collect::<String>();
    assert_eq!(of_plan(&tasks(LARGEST_GRAPH)), "");
    for n in [0, LARGEST_GRAPH + 1] {
        assert_eq!(of_plan(&tasks(n)), "a shared plan has at least one task and at most 10000");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_what_to_do() {
    assert_eq!(
        ChainError::Replaced.to_string(),
        "somebody replaced records that this machine has read; compare the reference with another clone's"
    );
    assert_eq!(
        ChainError::Newer { schema: 2 }.to_string(),
        "a record has schema 2, and this version of Ralph reads up to 1; update Ralph on this machine"
    );
    assert_eq!(ChainError::Malformed("x".to_owned()).to_string(), "a record cannot be read: x");
    let whole = plan("T-1");
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(whole.former_digest(), hex::sha256(&text));
    assert_eq!(whole.digest(&id(1)), hex::sha256(format!("{text}\n{}", id(1))));
}

#[test]
fn a_signal_says_that_it_only_informs_and_nothing_otherwise() {
    for (info, member) in [(true, r#""info":true,"#), (false, "")] {
        let kind = LedgerRecord::Signal { info, text: Text::new("stop") };
        let record = Record::new(name("n"), name("m"), kind);
        let json = format!(
            r#"{{"schema":1,"nonce":"n","machine":"m","kind":"signal",{member}"text":"stop"}}"#
        );
        assert_eq!(record.message(false), format!("Signal by m\n\n{json}\n"));
        assert_eq!(Record::parse(&record.message(false)), Ok(record));
    }
}
