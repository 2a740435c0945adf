use super::*;
use crate::state::EndingKind;
use crate::tasks::shared::fixture::{self, Remote, name, receipt};
use crate::tasks::shared::record::{ChainError, End, Finish, LedgerRecord, TaskRecord, Verdict};
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
    assert_eq!(document["state"], "ended");
    let tree = remote.view().ledger.tree.map(|tree| tree.to_string()).unwrap();
    assert_eq!(document["branch"]["tree"], tree.as_str());
    assert_eq!(document["branch"]["commit"], remote.view().ledger.branch.to_string());
    assert!(text.contains("reason: all criteria hold\n") && !text.contains("machines: "), "{text}");
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

#[test]
fn a_plan_is_shown_whole_before_it_is_trusted() {
    let mut plan = fixture::plan("T-1\nT-2");
    plan.prompt = "do it\n\tnow".to_owned();
    plan.context_report = "found\nit".to_owned();
    for (task, name) in plan.task_graph.iter_mut().zip(["one", "two"]) {
        task.name = name.to_owned();
    }
    plan.task_graph[0].verify = vec!["make a".to_owned(), "make b".to_owned()];
    (plan.max_iterations, plan.attempts) = (1, 2);
    plan.limits.max_tokens = Some(5_000_000);
    plan.limits.max_cost = Some(2.5);
    assert_eq!(
        super::plan(&plan, "d1"),
        "goal:\n  do it\n      now\nfindings of the planning:\n  found\n  it\ncriteria:\n  AC-1  cargo test\n\
         2 tasks, each with the commands that it has to pass:\n  T-1  one\n      make a\n      make b\n  T-2  two\n\
         limits: 1 turn, 8 h, 5 M tokens, $2.5, 2 attempts for each task\ndigest: d1"
    );
    plan.context_report = String::new();
    plan.prompt = "x".repeat(4_001);
    plan.task_graph.truncate(1);
    plan.limits = crate::state::Limits::default();
    plan.attempts = 1;
    assert_eq!(
        super::plan(&plan, "d1"),
        format!(
            "goal:\n  {}…\ncriteria:\n  AC-1  cargo test\n\
             1 task, each with the commands that it has to pass:\n  T-1  one\n      make a\n      make b\n\
             limits: 1 turn, 8 h, 1 attempt for each task\ndigest: d1",
            "x".repeat(3_999)
        )
    );
}

#[test]
fn commands_name_a_remote_that_is_not_the_usual_one() {
    assert_eq!(command("run", &name("L"), ORIGIN), "ralph run --shared L");
    assert_eq!(command("run", &name("L"), "my fork"), "ralph run --shared L --remote 'my fork'");
    assert_eq!(clean(&name("L"), "fork"), "ralph share --clean --loop L --remote fork");
    assert_eq!(
        replaced(&name("L"), &fixture::id(7)),
        "somebody replaced the ledger of shared loop L after you had trusted it: it began with record \
         0000000000; compare it with another clone"
    );
}

#[test]
fn a_paused_loop_lists_what_may_change_line_by_line() {
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
    let signal = |info, text| LedgerRecord::Signal { info, text: Text::new(text) };
    remote.ledger("a", signal(true, "hello"));
    remote.ledger("a", signal(false, "mind\nit"));
    remote.ledger("a", LedgerRecord::Pause { reason: Text::new("lunch\nnow") });
    let (text, document) = shown(&remote, BranchStanding::Empty);
    assert_eq!(
        text,
        "paused, 0 of 5 tasks merged\nremote: origin\npaused: lunch now\n\
         claimed: T-1 by laptop-1a2b\nto merge: T-2 by ci-3f2a\n\
         ready: T-4, T-5: returned, AC-1 is red after it\nwaiting: T-3\n\
         machines: laptop-1a2b with 1 task; ci-3f2a merges\nmessages: 2, the last: mind it\n\
         plan: trusted on this clone, digest d1\nnext: `ralph resume --shared L` continues it"
    );
    let task = |id: &str, standing: &str, machine: Option<&str>, returned: Option<&str>| {
        json!({
            "id": id, "name": format!("do {id}"), "standing": standing, "machine": machine,
            "returns": usize::from(returned.is_some()), "returned": returned,
        })
    };
    assert_eq!(
        document,
        json!({
            "schema_version": 1,
            "loop_id": "L",
            "remote": "origin",
            "state": "paused",
            "pause": "lunch\nnow",
            "ending": null,
            "prompt": "",
            "digest": "d1",
            "trusted": true,
            "tasks": [
                task("T-1", "claimed", Some("laptop-1a2b"), None),
                task("T-2", "finished", Some("ci-3f2a"), None),
                task("T-3", "waiting", None, None),
                task("T-4", "ready", None, None),
                task("T-5", "ready", None, Some("AC-1 is red\nafter it")),
            ],
            "unread": [],
            "machines": [
                {"name": "ci-3f2a", "claims": 0, "integrates": true},
                {"name": "laptop-1a2b", "claims": 1, "integrates": false},
            ],
            "criteria": [],
            "branch": {
                "name": space().branch(), "standing": "empty", "commit": null, "tree": null,
            },
            "messages": [
                {"kind": "INFO", "text": "hello"},
                {"kind": "STEER", "text": "mind\nit"},
            ],
        })
    );
    let (space, view) = (space(), remote.view());
    let (space, view) = (&space, &view);
    let (branch, digest) = (BranchStanding::Behind, "d1".to_owned());
    let of = |is_trusted, replaced| SharedLoop {
        space,
        remote: "fork",
        view,
        branch: branch.clone(),
        digest: digest.clone(),
        is_trusted,
        replaced,
    };
    assert_eq!(
        of(true, None).lines(),
        [
            "paused, 0 of 5 tasks merged",
            "T-1 is claimed by laptop-1a2b",
            "T-2 is finished by ci-3f2a",
            "T-3 is waiting",
            "T-4 is ready",
            "T-5 is ready: returned, AC-1 is red after it",
            "paused: lunch now",
            "branch: `ralph/L` does not have the last merge yet",
            "messages: 2, the last: mind it",
        ]
    );
    let row = |shared: &SharedLoop<'_>, label| {
        let rows = shared.rows();
        rows.into_iter().find(|(known, _)| *known == label).unwrap().1
    };
    assert_eq!(row(&of(false, None), "plan"), "not trusted on this clone, digest d1");
    let other = of(false, Some(fixture::id(7)));
    assert_eq!(row(&other, "plan"), replaced(&name("L"), &fixture::id(7)));
    assert_eq!(row(&other, "remote"), "fork");
    remote.ledger("a", LedgerRecord::Resume);
    let view = &remote.view();
    let resumed = SharedLoop { view, ..of(false, None) };
    assert_eq!(resumed.state(), "running");
    let trust = "`ralph trust --shared L --remote fork` shows its plan and trusts it";
    assert_eq!(row(&resumed, "next"), trust);
}

#[test]
fn what_cannot_be_read_is_told_of_the_task_and_of_the_loop() {
    let mut remote = Remote::new("T-1\nT-2");
    remote.claim("T-1", "a");
    let message = &mut remote.chains.get_mut("T-1").unwrap()[0].message;
    *message = message.replace("\"schema\":1", "\"schema\":2");
    let (space, mut view) = (space(), remote.view());
    view.strangers = 1;
    let shared = SharedLoop {
        space: &space,
        remote: ORIGIN,
        view: &view,
        branch: BranchStanding::Empty,
        digest: "d1".to_owned(),
        is_trusted: true,
        replaced: None,
    };
    let rows = shared.rows();
    let row = |label| &rows.iter().find(|(known, _)| *known == label).unwrap().1;
    let newer = ChainError::Newer { schema: 2 };
    assert_eq!(*row("unreadable"), format!("T-1: {newer}"));
    let unread = "1 reference of tasks that are not in the plan, skipped";
    assert_eq!(row("not read"), unread);
    assert_eq!(shared.document()["unread"], json!([unread]));
    let expected = [
        "running, 0 of 2 tasks merged",
        "T-1 is unreadable",
        "T-2 is ready",
        &format!("not read: {unread}"),
    ];
    assert_eq!(shared.lines()[..4], expected);
}

#[test]
fn criteria_of_the_last_merge_are_counted_and_the_red_ones_named() {
    let criteria = |receipts: &[(&str, bool)]| {
        let mut remote = Remote::new("T-1\nT-2");
        let finish = remote.finish("T-1", "a");
        let receipts: Vec<_> = receipts.iter().map(|(id, holds)| receipt(id, *holds)).collect();
        remote.merge(&[finish], &receipts);
        let (text, document) = shown(&remote, BranchStanding::Missing);
        assert_eq!(document["branch"]["standing"], "missing");
        let line = text.lines().find_map(|line| line.strip_prefix("criteria: "));
        line.unwrap_or_default().to_owned()
    };
    assert_eq!(criteria(&[]), "");
    assert_eq!(criteria(&[("A", true), ("B", true)]), "all 2 hold on the last merge");
    assert_eq!(criteria(&[("A", true), ("B", false)]), "1 of 2 hold on the last merge, not B");
    let many: Vec<String> = (0..13).map(|n| format!("C-{n}")).collect();
    let red: Vec<(&str, bool)> = many.iter().map(|id| (id.as_str(), false)).collect();
    let named = many[..12].join(", ");
    assert_eq!(criteria(&red[..12]), format!("0 of 12 hold on the last merge, not {named}"));
    assert_eq!(criteria(&red), format!("0 of 13 hold on the last merge, not {named} and 1 more"));
}
