use super::*;
use crate::tasks::graph::{Graph, TaskReadiness};
use jiff::Timestamp;

fn one(json: &str) -> Bead {
    read(json).unwrap().remove(0)
}

/// As `bd list --json` prints them: records of two ids.
const LISTED: &str = r#"[
  {"id":"bd-1","title":"Parse","status":"closed","priority":0,"issue_type":"task",
   "close_reason":"12 tests","created_at":"2026-05-01T00:00:00Z","dependency_count":0},
  {"id":"bd-2","title":"Print","status":"open","priority":2,"issue_type":"task",
   "acceptance_criteria":"it prints","description":"All of it.","owner":"ann@example.org",
   "dependencies":[
     {"issue_id":"bd-2","depends_on_id":"bd-1","type":"blocks"},
     {"issue_id":"bd-2","depends_on_id":"bd-9","type":"parent-child"},
     {"issue_id":"bd-2","depends_on_id":"bd-8","type":"related"}],
   "dependency_count":3,"dependent_count":0,"comment_count":0,"some_new_member":{"a":1}}]"#;

#[test]
fn a_list_becomes_tasks_and_only_what_blocks_is_waited_for() {
    let tasks = tasks(&read(LISTED).unwrap());
    let graph = Graph::new(&tasks, Timestamp::UNIX_EPOCH);
    assert_eq!(tasks[0].result.as_deref(), Some("12 tests"));
    assert_eq!(
        (graph.standing(&tasks[0]), graph.standing(&tasks[1])),
        (TaskReadiness::Done, TaskReadiness::Ready)
    );
    let task = &tasks[1];
    assert_eq!((task.name.as_str(), task.deps.as_slice()), ("Print", &["bd-1".to_owned()][..]));
    assert_eq!(task.completion_condition, "it prints");
    assert_eq!(task.extra["description"], "All of it.");
    // bd's owner is whose the work is, and its assignee who does it.
    assert_eq!(task.owner, None);
}

#[test]
fn all_forms_of_an_answer_are_read_and_what_is_none_is_said() {
    let bead = r#"{"id":"bd-1","title":"x"}"#;
    for (printed, count) in [
        (format!("[{bead},{bead}]"), 2),
        (bead.to_owned(), 1),
        (format!(r#"{{"schema_version":1,"data":[{bead}]}}"#), 1),
        (format!(r#"{{"schema_version":1,"items":[{bead}]}}"#), 1),
        (format!(r#"{{"schema_version":1,"data":{bead}}}"#), 1),
        (r#"{"schema_version":1,"id":"bd-1","title":"x"}"#.to_owned(), 1),
        ("[]".to_owned(), 0),
        (r#"{"schema_version":1,"data":null}"#.to_owned(), 0),
    ] {
        assert_eq!(read(&printed).map(|beads| beads.len()), Ok(count), "{printed}");
    }
    assert_eq!(read(" \n"), Err(Unreadable::Nothing));
    for (printed, why) in [
        ("No issues found", "`No issues found`"),
        (r#"[{"id":"bd-1"} "#, "is no list of beads"),
        (r#"[{"title":"x"}]"#, "one has no `id`"),
        (r#"[{"id":7}]"#, "invalid type"),
        (r#"[3]"#, "invalid type"),
    ] {
        let said = read(printed).unwrap_err().to_string();
        assert!(said.contains(why), "{printed}: {said}");
    }
}

#[test]
fn each_word_of_bd_has_one_of_ours() {
    for (status, kind, expected) in [
        ("open", "task", "pending"),
        ("", "task", "pending"),
        ("in_progress", "bug", "in_progress"),
        ("hooked", "task", "in_progress"),
        ("blocked", "task", "blocked"),
        ("deferred", "task", "blocked"),
        ("closed", "task", "done"),
        ("pinned", "task", "pinned"),
        ("in_review", "task", "in_review"),
        ("open", "gate", "gate"),
        ("closed", "gate", "done"),
    ] {
        let bead = one(&format!(r#"{{"id":"b","status":"{status}","issue_type":"{kind}"}}"#));
        assert_eq!(bead.task().status.to_string(), expected, "{status} {kind}");
    }
}

#[test]
fn what_was_said_last_is_why_it_is_set_aside() {
    let bead = one(r#"{"id":"b","status":"blocked","notes":"a\n\nwaits for: a key\n"}"#);
    assert_eq!(bead.task().result.as_deref(), Some("waits for: a key"));
    let bead = one(r#"{"id":"b","status":"deferred"}"#);
    assert_eq!(bead.task().result.as_deref(), Some("deferred"));
}

/// As `bd show --json` prints them: the other bead itself.
const SHOWN: &str = r#"[{"id":"bd-2","title":"Print","status":"in_progress","assignee":"ann",
  "dependencies":[
    {"id":"bd-1","title":"Parse","status":"closed","close_reason":"12 tests","dependency_type":"blocks"},
    {"id":"bd-9","title":"All","status":"open","issue_type":"epic","dependency_type":"parent-child"}]}]"#;

#[test]
fn a_claim_says_what_came_of_those_before() {
    let claim = one(SHOWN).claim();
    assert_eq!(claim.task.deps, ["bd-1"]);
    let finding = DependencyResult {
        id: "bd-1".into(),
        name: "Parse".into(),
        result: Some("12 tests".into()),
    };
    assert_eq!(claim.findings, [finding]);
    let around = one(SHOWN).surroundings();
    let graph = Graph::new(&around, Timestamp::UNIX_EPOCH);
    assert_eq!(graph.get("bd-1").map(|task| graph.standing(task)), Some(TaskReadiness::Done));
}

#[test]
fn who_may_claim_and_who_may_end() {
    let check = |json: &str, actor: &str, claim: &str, done: &str| {
        let bead = one(json);
        let told = |refused: Option<BeadError>| refused.map(|why| why.to_string());
        let told = |refused| told(refused).unwrap_or_default();
        let (may, end) = (told(bead.not_for(actor)), told(bead.may_be_done(Some(actor)).err()));
        assert!(may.starts_with(claim) && (claim.is_empty() == may.is_empty()), "{json}: {may}");
        assert!(end.starts_with(done) && (done.is_empty() == end.is_empty()), "{json}: {end}");
    };
    let held = "bd-2 is claimed by ann";
    check(SHOWN, "ann", "", "");
    check(SHOWN, "bob", held, held);
    check(r#"{"id":"bd-2","status":"open"}"#, "bob", "", "");
    // Given to somebody and not begun: not another's to claim, and nobody's work is undone.
    check(r#"{"id":"bd-2","status":"open","assignee":"ann"}"#, "bob", held, "");
    check(
        r#"{"id":"b","status":"closed","assignee":"ann"}"#,
        "ann",
        "b is already closed",
        "b is already",
    );
    check(r#"{"id":"b","status":"blocked"}"#, "ann", "b is blocked; `ralph task release b", "");
    check(r#"{"id":"b","status":"hooked","assignee":"ann"}"#, "ann", "b is hooked", "");
    let waits =
        r#"{"id":"b","dependencies":[{"id":"a","status":"open","dependency_type":"blocks"}]}"#;
    check(waits, "ann", "b waits for a", "b waits for a");
    assert_eq!(one(SHOWN).may_end(None), Ok(()));
}

#[test]
fn what_is_anothers_is_no_candidate() {
    let ready = read(
        r#"[{"id":"a","assignee":"bob"},{"id":"b"},{"id":"c","assignee":"ann"},{"id":"d","assignee":""}]"#,
    );
    let ready = ready.unwrap();
    let ids: Vec<&str> = candidates(&ready, "ann").map(|bead| bead.id.as_str()).collect();
    assert_eq!(ids, ["b", "c", "d"]);
}

#[test]
fn an_id_is_never_an_option() {
    for (id, expected) in [
        ("bd-a1b2.3", true),
        ("mol_1", true),
        ("", false),
        ("--all", false),
        ("-x", false),
        ("a b", false),
        ("a=b", false),
        ("a\nb", false),
    ] {
        assert_eq!(is_id(id), expected, "{id}");
    }
}

#[test]
fn bds_own_words_are_found_wherever_it_puts_them() {
    for (stdout, stderr, expected) in [
        (r#"{"error":"no issue","schema_version":1}"#, "", "no issue"),
        (r#"{"schema_version":1,"data":{"error":"no issue","hint":"x"}}"#, "warning", "no issue"),
        (
            "",
            "{\n  \"error\": \"failed to claim\",\n  \"schema_version\": 1\n}\n",
            "failed to claim",
        ),
        ("", "{\n \"error\": \"held\"\n}\n{\"error\":\"1 of 1 failed\"}\n", "held"),
        ("", "Error: operation not allowed\n", "operation not allowed"),
        (
            "",
            "Error claiming a: issue already claimed by bob\n{\"error\":\"1 of 1 issues failed\"}\n",
            "Error claiming a: issue already claimed by bob",
        ),
        ("[]", " \n", "it gave no reason"),
        (r#"{"error":" "}"#, "", "it gave no reason"),
    ] {
        assert_eq!(said(stdout, stderr), expected);
    }
}
