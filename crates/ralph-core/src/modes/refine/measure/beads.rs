//! The change of a list of beads, kept by `bd` or in the project's own task graph.
//!
//! Only the work that a bead describes counts. Claims and attempts are work on the bead, not
//! refinement, so a worker that runs beside a refinement does not keep it from settling.

use super::BeadChange;
use crate::state::{Task, TaskStatus};
use crate::tasks::beads::Bead;
use crate::text::hex::sha256;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The parts of a bead or a task that refinement compares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    id: String,
    is_closed: bool,
    says: Value,
}

pub fn of_beads(beads: &[Bead]) -> Vec<Piece> {
    beads.iter().map(of_bead).collect()
}

fn of_bead(bead: &Bead) -> Piece {
    // `bd` omits empty fields.
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let dependencies = bead.dependencies.iter().flatten();
    let mut on: Vec<(String, String)> =
        dependencies.map(|one| (one.on().to_owned(), one.kind().to_owned())).collect();
    on.sort();
    on.dedup();
    // Without names, only the number of dependencies can be compared.
    let count = if on.is_empty() { bead.dependency_count.unwrap_or_default() } else { 0 };
    // Whether a bead is in progress depends on its worker; "deferred" and "blocked" describe the
    // bead itself.
    let standing = match bead.status.as_deref() {
        None | Some("" | "open" | "in_progress" | "hooked" | "closed") => "",
        Some(other) => other,
    };
    let kind = bead.issue_type.as_deref().filter(|kind| !kind.is_empty()).unwrap_or("task");
    Piece {
        id: bead.id.clone(),
        is_closed: bead.is("closed"),
        says: json!({
            "title": bead.title,
            "type": kind,
            "standing": standing,
            "description": text(&bead.description),
            "design": text(&bead.design),
            "acceptance_criteria": text(&bead.acceptance_criteria),
            "notes": text(&bead.notes),
            "priority": bead.priority,
            "labels": labels(bead),
            "dependencies": on,
            "dependency_count": count,
        }),
    }
}

/// The labels in sorted order. A value that is not a list stays as it is.
fn labels(bead: &Bead) -> Value {
    match bead.labels.clone() {
        Some(Value::Array(mut labels)) => {
            labels.sort_by_key(Value::to_string);
            if labels.is_empty() { Value::Null } else { Value::Array(labels) }
        }
        other => other.unwrap_or_default(),
    }
}

/// Reads the tasks of a project's own graph.
pub fn of_tasks(tasks: &[Task]) -> Vec<Piece> {
    tasks.iter().map(of_task).collect()
}

fn of_task(task: &Task) -> Piece {
    let sorted = |items: &[String]| {
        let mut items = items.to_vec();
        items.sort();
        items.dedup();
        items
    };
    let standing = match &task.status {
        TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Done | TaskStatus::Failed => "",
        other => other.as_str(),
    };
    Piece {
        id: task.id.clone(),
        is_closed: matches!(task.status, TaskStatus::Done | TaskStatus::Failed),
        says: json!({
            "name": task.name,
            "standing": standing,
            "completion_condition": task.completion_condition,
            "deps": sorted(&task.deps),
            "files": sorted(&task.files),
            "others": task.extra,
        }),
    }
}

/// How much a list changed, regardless of its order.
pub fn beads(before: &[Piece], after: &[Piece]) -> BeadChange {
    let (before, after) = (by_id(before), by_id(after));
    let mut change = BeadChange::default();
    for (id, piece) in &after {
        match before.get(id) {
            None => change.added += 1,
            Some(old) if piece.is_closed && !old.is_closed => change.closed += 1,
            Some(old) if *old != *piece => change.changed += 1,
            Some(_) => {}
        }
    }
    change.removed = before.keys().filter(|id| !after.contains_key(*id)).count() as u64;
    change
}

/// The pieces by id, and by position among pieces with the same id. Ids should be unique, but no
/// piece may be lost if they are not.
fn by_id(pieces: &[Piece]) -> BTreeMap<(&str, usize), &Piece> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let numbered = pieces.iter().map(|piece| {
        let count = counts.entry(&piece.id).or_default();
        *count += 1;
        ((piece.id.as_str(), *count), piece)
    });
    numbered.collect()
}

/// A digest of everything that counts. Two lists have the same digest exactly if nothing changed
/// between them.
pub fn digest(pieces: &[Piece]) -> String {
    let all: Vec<Value> = by_id(pieces)
        .values()
        .map(|piece| json!([piece.id, piece.is_closed, sorted(&piece.says)]))
        .collect();
    sha256(Value::Array(all).to_string())
}

/// The value with its members sorted by name, so that the digest does not depend on how it was
/// built.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<&String, Value> =
                members.iter().map(|(name, value)| (name, sorted(value))).collect();
            json!(members)
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::beads::{PLAIN, read};

    const BEADS: &str = r#"[
      {"id":"bd-1","title":"Parse","priority":1,"issue_type":"task","labels":["a","b"]},
      {"id":"bd-2","title":"Print","status":"open","assignee":"ann","description":"All of it.",
       "dependencies":[{"issue_id":"bd-2","depends_on_id":"bd-1","type":"blocks"},
                       {"issue_id":"bd-2","depends_on_id":"bd-9","type":"related"}]},
      {"id":"bd-3","title":"Ship","status":"closed"}]"#;

    fn pieces(json: &str) -> Vec<Piece> {
        of_beads(&read(json).unwrap())
    }

    /// Checks the change that these replacements make: added, changed, closed, removed.
    #[track_caller]
    fn check(replaced: &[(&str, &str)], expected: [u64; 4]) {
        let mut text = BEADS.to_owned();
        for (from, to) in replaced {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        let (before, after) = (pieces(BEADS), pieces(&text));
        let change = beads(&before, &after);
        let counts = [change.added, change.changed, change.closed, change.removed];
        assert_eq!(counts, expected, "{replaced:?}");
        assert_eq!(digest(&before) == digest(&after), expected == [0; 4], "{replaced:?}");
    }

    #[test]
    fn what_a_bead_says_is_to_be_done_counts() {
        let end = r#"{"id":"bd-3","title":"Ship","status":"closed"}"#;
        let open = r#"{"id":"bd-3","title":"Ship"}"#;
        let more = format!(r#"{end},{{"id":"bd-4","title":"New"}}"#);
        check(&[(end, &more)], [1, 0, 0, 0]);
        check(&[("\"Print\"", "\"Print it\"")], [0, 1, 0, 0]);
        check(&[("All of it.", "Half.")], [0, 1, 0, 0]);
        check(&[("\"priority\":1", "\"priority\":3")], [0, 1, 0, 0]);
        check(&[("[\"a\",\"b\"]", "[\"a\"]")], [0, 1, 0, 0]);
        check(&[("bd-9", "bd-3")], [0, 1, 0, 0]);
        check(&[("\"related\"", "\"blocks\"")], [0, 1, 0, 0]);
        check(&[("\"open\"", "\"deferred\"")], [0, 1, 0, 0]);
        check(&[(end, open)], [0, 1, 0, 0]);
        check(&[("\"task\"", "\"bug\"")], [0, 1, 0, 0]);
        check(&[("\"open\"", "\"closed\""), ("\"Print\"", "\"Print it\"")], [0, 0, 1, 0]);
        check(&[(&format!(",\n      {end}"), "")], [0, 0, 0, 1]);
        check(&[("\"bd-3\"", "\"bd-4\"")], [1, 0, 0, 1]);
    }

    #[test]
    fn work_on_a_bead_and_the_order_of_a_list_do_not() {
        check(&[], [0; 4]);
        check(&[("\"open\"", "\"in_progress\""), ("\"ann\"", "\"bob\"")], [0; 4]);
        check(&[("\"status\":\"open\",", "")], [0; 4]);
        check(&[("\"issue_type\":\"task\",", "")], [0; 4]);
        check(&[("\"task\"", "\"\"")], [0; 4]);
        check(&[("[\"a\",\"b\"]", "[\"b\",\"a\"]")], [0; 4]);
        let (one, two) = (
            r#"{"issue_id":"bd-2","depends_on_id":"bd-1","type":"blocks"}"#,
            r#"{"issue_id":"bd-2","depends_on_id":"bd-9","type":"related"}"#,
        );
        check(&[(one, "ONE"), (two, one), ("ONE", two)], [0; 4]);
        let mut turned = pieces(BEADS);
        turned.reverse();
        assert_eq!(beads(&pieces(BEADS), &turned), BeadChange::default());
        assert_eq!(digest(&pieces(BEADS)), digest(&turned));
    }

    #[test]
    fn dependencies_that_bd_does_not_name_are_compared_by_their_number() {
        let some = |count: u32| {
            pieces(&format!(r#"[{{"id":"a","title":"x","dependency_count":{count}}}]"#))
        };
        assert_eq!(beads(&some(2), &some(2)).changed, 0);
        assert_eq!(beads(&some(2), &some(3)).changed, 1);
        // An empty dependency list equals `dependency_count: 0`.
        let none = pieces(r#"[{"id":"a","title":"x","dependencies":[]}]"#);
        assert_eq!(beads(&some(0), &none).changed, 0);
    }

    #[test]
    fn two_beads_of_one_id_are_two() {
        let one = pieces(r#"[{"id":"a","title":"x"}]"#);
        let two = pieces(r#"[{"id":"a","title":"x"},{"id":"a","title":"y"}]"#);
        assert_eq!(beads(&one, &two).added, 1);
        assert_eq!(beads(&two, &one).removed, 1);
    }

    fn task(change: impl Fn(&mut Task)) -> Vec<Piece> {
        let mut task = Task {
            id: "T-1".into(),
            name: "n".into(),
            deps: vec!["a".into(), "b".into()],
            files: vec!["f".into()],
            ..Task::default()
        };
        change(&mut task);
        of_tasks(&[task])
    }

    #[test]
    fn tasks_of_a_graph_are_compared_by_the_same_rule() {
        let plain = task(|_| ());
        let changed = |change: &dyn Fn(&mut Task)| {
            let change = beads(&plain, &task(change));
            assert_eq!((change.added, change.removed), (0, 0));
            (change.changed, change.closed)
        };
        assert_eq!(changed(&|task| task.name.push('x')), (1, 0));
        assert_eq!(changed(&|task| task.completion_condition.push('x')), (1, 0));
        assert_eq!(changed(&|task| task.deps.truncate(1)), (1, 0));
        assert_eq!(changed(&|task| task.files.push("g".into())), (1, 0));
        assert_eq!(changed(&|task| task.status = TaskStatus::Blocked), (1, 0));
        assert_eq!(changed(&|task| drop(task.extra.insert("x".into(), json!(1)))), (1, 0));
        assert_eq!(changed(&|task| task.status = TaskStatus::Done), (0, 1));
        assert_eq!(changed(&|task| task.status = TaskStatus::Failed), (0, 1));
        assert_eq!(changed(&|task| task.deps.reverse()), (0, 0));
        assert_eq!(changed(&|task| task.status = TaskStatus::InProgress), (0, 0));
        assert_eq!(changed(&|task| task.owner = Some("w".into())), (0, 0));
        assert_eq!(changed(&|task| task.result = Some("tried".into())), (0, 0));
        assert_eq!(changed(&|task| task.attempts = 4), (0, 0));
    }

    #[test]
    fn the_kind_that_nobody_names_is_the_plain_one() {
        let with = |kind: &str| {
            pieces(&format!(
                r#"[{{"id":"a","title":"x","dependencies":[{{"depends_on_id":"b"{kind}}}]}}]"#
            ))
        };
        let named = with(&format!(r#","type":"{PLAIN}""#));
        assert_eq!(beads(&with(""), &named).changed, 0);
    }
}
