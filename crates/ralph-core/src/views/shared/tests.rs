use super::*;
use crate::state::EndingKind;
use crate::tasks::shared::fixture::{self, Remote, name, receipt};
use crate::tasks::shared::record::{End, Finish, LedgerRecord, TaskRecord, Verdict};
use crate::tasks::shared::text::Text;

fn space() -> Namespace {
    Namespace::new(&name("L"), false)
}

fn shown(remote: &Remote, branch: BranchStanding) -> (String, Value) {
    let (space, view) = (space(), remote.view());
    let (digest, replaced) = ("d1".to_owned(), None);
    let (space, view) = (&space, &view);
    let shared =
        SharedLoop { space, remote: ORIGIN, view, branch, digest, is_trusted: true, replaced };
    let rows = shared.rows().into_iter().filter(|(_, value)| !value.is_empty());
    let rows: Vec<String> = rows.map(|(label, value)| format!("{label}: {value}")).collect();
    let heading = format!("{}, {}", shared.state(), shared.position());
    (format!("{heading}\n{}", rows.join("\n")), shared.document())
}

#[test]
fn a_loop_is_shown_with_each_task_and_who_has_it() {
    let mut remote = Remote::new("T-1\nT-2\nT-3 after T-1\nT-4\nT-5");
    remote.claim("T-1", "laptop-1a2b");
    remote.claim("T-2", "ci-3f2a");
    remote.task("T-2", "ci-3f2a", TaskRecord::Finish);
    remote.claim("T-5", "ci-3f2a");
    let refused = remote.task("T-5", "ci-3f2a", TaskRecord::Finish);
    remote.ledger("ci-3f2a", LedgerRecord::Integrator { lease_seconds: 60 });
    let finish = Finish { task: "T-5".into(), finish: refused };
    let reason = Text::new("AC-1 is red\nafter it");
    remote.ledger("ci-3f2a", LedgerRecord::Verdict(Verdict::Returned { finish, reason }));
    let (text, document) = shown(&remote, BranchStanding::Empty);
    assert_eq!(
        text,
        "running, 0 of 5 tasks merged\nremote: origin\n\
             claimed: T-1 by laptop-1a2b\nto merge: T-2 by ci-3f2a\n\
             ready: T-4, T-5: returned, AC-1 is red after it\nwaiting: T-3\n\
             machines: laptop-1a2b with 1 task; ci-3f2a merges\n\
             plan: trusted on this clone, digest d1\n\
             next: `ralph run --shared L` takes part from this clone"
    );
    assert_eq!(document["tasks"][1]["standing"], "finished");
    assert_eq!(document["tasks"][1]["machine"], "ci-3f2a");
    assert_eq!(document["tasks"][4]["returned"], "AC-1 is red\nafter it");
    assert_eq!(document["machines"][0]["integrates"], true);
    assert_eq!(document["digest"], "d1");
}

#[test]
fn the_branch_is_said_to_be_proven_only_if_it_is() {
    let mut remote = Remote::new("T-1");
    remote.claim("T-1", "a");
    let finish = remote.task("T-1", "a", TaskRecord::Finish);
    remote.merge(&[Finish { task: "T-1".into(), finish }], &[receipt("AC-1", true)]);
    let end = End { ending: EndingKind::Complete, reason: Text::new("all criteria hold") };
    remote.ledger("a", LedgerRecord::End(end));
    let (text, document) = shown(&remote, BranchStanding::Proven);
    assert!(text.starts_with("complete, 1 of 1 task merged\n"), "{text}");
    assert!(text.contains("criteria: it holds on the last merge"), "{text}");
    assert!(text.contains("branch: `ralph/L` holds exactly what was proven, tree "), "{text}");
    assert!(text.contains("next: `ralph share --clean --loop L` deletes"), "{text}");
    assert_eq!(document["branch"]["standing"], "proven");
    let other = fixture::id(7);
    for (standing, says) in [
        (BranchStanding::Ahead, "has commits that no machine has merged"),
        (BranchStanding::Behind, "does not have the last merge yet"),
        (BranchStanding::Replaced, "was replaced"),
        (BranchStanding::Missing, "is not on the remote"),
        (BranchStanding::OtherTree(other), "is not proven"),
    ] {
        let (text, document) = shown(&remote, standing);
        assert!(text.contains(says) && !text.contains("exactly"), "{text}");
        assert_ne!(document["branch"]["standing"], "proven");
    }
}

#[test]
fn texts_of_other_machines_cannot_look_like_rows_or_act() {
    let mut plan = fixture::plan("T-1");
    plan.prompt = "do it\ncriteria:\n  AC-9  true\u{1b}[2J".to_owned();
    plan.task_graph[0].name = "one\n  T-2  two".to_owned();
    plan.task_graph[0].verify = vec![format!("test 1{}\nrm -rf /", " ".repeat(5_000))];
    let text = super::plan(&plan, "d1");
    assert_eq!(text.lines().filter(|line| *line == "criteria:").count(), 1, "{text}");
    assert!(text.contains("  T-1  one T-2 two\n"), "{text}");
    assert!(text.contains("\\nrm -rf /"), "a command is shown whole: {text}");
    assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}[2J"), "{text}");
    assert!(text.ends_with("digest: d1"), "{text}");
}
