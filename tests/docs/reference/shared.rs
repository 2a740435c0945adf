//! Shared loops: the page of their records, with an example of each kind, and the schema.

use super::schema::shared_record;
use super::source::Source;
use super::validate::problems;
use super::{closed, kept, pretty, stored};
use crate::root;
use ralph_core::state::{Criterion, EndingKind, Frozen, LoopState, Task};
use ralph_core::tasks::shared::names::{LONGEST_COMPONENT, Namespace, ROOTS, Reference};
use ralph_core::tasks::shared::record::{
    ATTEMPTS, CriterionReceipt, End, Finish, Kind, LARGEST_BATCH, LARGEST_GRAPH, LEASE_SECONDS,
    LONGEST_LEASE, LONGEST_MESSAGE, LedgerRecord, MachineRecord, Plan, Record, SCHEMA, TaskRecord,
    Verdict,
};
use ralph_core::tasks::shared::text::{LONGEST_NAME, LONGEST_TEXT, Name, ObjectId, Text};
use ralph_io::git::shared::BEGINNINGS;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

const LOOP: &str = "20260131-120000-1a2b";

fn id(number: u64) -> ObjectId {
    ObjectId::try_from(format!("{number:040x}")).unwrap()
}

fn record<K: Kind>(kind: K) -> Record<K> {
    Record::new(Name::new("6f1c09d2a4b87e35"), Name::new("laptop-3f2a"), kind)
}

fn ledger() -> Vec<LedgerRecord> {
    let criterion = Criterion {
        id: "AC-1".to_owned(),
        description: "the tests pass".to_owned(),
        verification_command: "npm test".to_owned(),
        ..Criterion::default()
    };
    let task = Task {
        id: "T-1".to_owned(),
        name: "Write the parser".to_owned(),
        files: vec!["src/parse.rs".to_owned()],
        ..Task::default()
    };
    let state = LoopState {
        prompt: "make the date parser accept ISO weeks".to_owned(),
        acceptance_criteria: vec![criterion],
        frozen: Some(Frozen { criteria: "9c".repeat(32), ..Frozen::default() }),
        task_graph: vec![task].into(),
        ..LoopState::default()
    };
    let finish = || Finish { task: "T-1".to_owned(), finish: id(0x51) };
    let receipt =
        CriterionReceipt { criterion: "AC-1".to_owned(), holds: true, tests_run: Some(41) };
    let end =
        End { ending: EndingKind::Complete, reason: Text::new("all tasks are done; 1 proven") };
    let merged = Verdict::Merged {
        finishes: vec![finish()],
        tree: id(0x7e),
        receipts: vec![receipt],
        end: Some(end.clone()),
    };
    let reason = "AC-1 held before this work and does not hold with it";
    let returned = Verdict::Returned { finish: finish(), reason: Text::new(reason) };
    vec![
        LedgerRecord::Plan(Box::new(Plan::from_state(&state, LEASE_SECONDS))),
        LedgerRecord::Integrator { lease_seconds: LEASE_SECONDS },
        LedgerRecord::Verdict(merged),
        LedgerRecord::Verdict(returned),
        LedgerRecord::Pause { reason: Text::new("the staging database is down") },
        LedgerRecord::Resume,
        LedgerRecord::Cancel { reason: Text::new("another plan is better") },
        LedgerRecord::Signal { info: true, text: Text::new("the staging database is back") },
        LedgerRecord::End(end),
    ]
}

fn task() -> Vec<TaskRecord> {
    let reason = Text::new("no round changed a file");
    vec![
        TaskRecord::Claim { worker: Name::new("1") },
        TaskRecord::Finish,
        TaskRecord::Released { reason },
    ]
}

fn machine() -> Vec<MachineRecord> {
    vec![MachineRecord::Renewal]
}

fn of_ledger(kind: &LedgerRecord) -> &'static str {
    match kind {
        LedgerRecord::Plan(_) => {
            "The first record, and no other. The second parent is the commit that the work starts from. \
             `ralph trust` asks about the plan's digest: the SHA-256 of the members after `kind`, as one line of JSON, a line feed, and the id of that commit's tree."
        }
        LedgerRecord::Integrator { .. } => {
            "Takes or renews the integrator's lease. 0 seconds give it back, if the holder writes them."
        }
        LedgerRecord::Verdict(Verdict::Merged { .. }) => {
            "The second parent is the tip of the integrated branch. The receipts are for the tree id. \
             `end` says how the loop ends if nothing follows."
        }
        LedgerRecord::Verdict(Verdict::Returned { .. }) => {
            "The task is open again. The first verdict on a finish counts."
        }
        LedgerRecord::Pause { .. } => "No machine claims or merges until the next `resume`.",
        LedgerRecord::Resume => "The loop continues.",
        LedgerRecord::Cancel { .. } => "Ends the loop as `cancelled`.",
        LedgerRecord::Signal { .. } => {
            "Reaches the model on every machine; without `info`, it changes the work."
        }
        LedgerRecord::End(_) => {
            "Ends the loop. The first ending counts; a record after it changes nothing."
        }
    }
}

fn of_task(kind: &TaskRecord) -> &'static str {
    match kind {
        TaskRecord::Claim { .. } => "The machine holds the task until its lease expires.",
        TaskRecord::Finish => {
            "The second parent is the work. It counts only if the same machine holds the task."
        }
        TaskRecord::Released { .. } => {
            "The task is open again. It counts only if the same machine holds the task."
        }
    }
}

fn of_machine(kind: &MachineRecord) -> &'static str {
    match kind {
        MachineRecord::Renewal => "Renews all claims of the machine.",
    }
}

fn section<K: Kind + Clone>(page: &mut String, kinds: &[K], about: fn(&K) -> &'static str) {
    for kind in kinds {
        let value = serde_json::to_value(record(kind.clone())).unwrap();
        let words = [&value["kind"], &value["verdict"]].map(|word| word.as_str().unwrap_or(""));
        let title = words.join(" ");
        let json = serde_json::to_string_pretty(&record(kind.clone())).unwrap();
        let title = title.trim_end();
        write!(page, "\n### {title}\n\n{}\n\n```json\n{json}\n```\n", about(kind)).unwrap();
    }
}

fn page() -> String {
    let loop_id = Name::new(LOOP);
    let space = Namespace::new(&loop_id, false);
    let task_name = |id: &str| space.name(&Reference::Task(id.to_owned()));
    let claim = record(TaskRecord::Claim { worker: Name::new("1") });
    let mut page = format!(
        "# Records of a shared loop\n\n\
        <!-- Written by the tests from the code: RALPH_UPDATE=1 cargo test -p ralph --test docs reference -->\n\n\
        What machines that share a loop write to the git remote, for other programs to read. \
        The [schema](shared-record.schema.json) describes the JSON.\n\n\
        ## References\n\n\
        | reference | chain of |\n|---|---|\n\
        | `{ledger}` | the loop: plan, integrator's lease, verdicts, pause, signals, ending |\n\
        | `{task}` | a task that was claimed at least once |\n\
        | `{machine}` | the renewals of a machine |\n\n\
        With `below_heads` they begin with `{below}`. In a task id every byte except ASCII letters, digits, `-` and `_` \
        becomes `%` and two lower-case hexadecimal digits: the chain of `T 1/2` is `{encoded}`. No other spelling is the task's. \
        `{branch}` follows the integrated branch and decides nothing.\n\n\
        ## Form\n\n\
        A record is a commit on the empty tree. Its first parent is the record before it, and the push that adds it expects this \
        value; the first record of a chain expects that the reference does not exist. A second parent is the work; a first record that has one \
        has as first parent a commit that stands for no record: `{sha1}`, with SHA-256 `{sha256}`. The message has a \
        subject for people, an empty line and one line of JSON:\n\n```text\n{message}```\n\n\
        Below `refs/heads/` the subject ends with `[skip ci]`. The nonce makes each record unique: git compares no old value where \
        the new one is already there, so two machines that push equal commits would both win. Author and committer are `Ralph`, \
        without a person's name.\n",
        ledger = space.name(&Reference::Ledger),
        task = task_name("T-1"),
        machine = space.name(&Reference::Machine(Name::new("laptop-3f2a"))),
        below = ROOTS[1],
        branch = space.branch(),
        sha1 = BEGINNINGS[0],
        sha256 = BEGINNINGS[1],
        encoded = task_name("T 1/2").rsplit_once('/').unwrap().1,
        message = claim.message(false),
    );
    page.push_str("\n## The ledger\n");
    section(&mut page, &ledger(), of_ledger);
    page.push_str("\n## A task\n");
    section(&mut page, &task(), of_task);
    page.push_str("\n## A machine\n");
    section(&mut page, &machine(), of_machine);
    write!(
        page,
        "\n## Rules for readers\n\n\
        - Fetch the references with a refspec, and read new records with `git log --first-parent --reverse SEEN..NOW`. Each must \
        have the one before it as first parent. A chain that does not continue what was read was replaced by force: leave it alone.\n\
        - Schema {SCHEMA} is the present one. Do not interpret a record with a larger number, and add nothing to its chain; the \
        records before it count. In a task's chain this concerns that task, in the ledger the whole loop.\n\
        - Ignore members that you do not know. A `kind` that you do not know, a record beyond the bounds below, or one that is \
        no JSON counts as no record, and the next one follows it; the first record of the ledger must be a plan.\n\
        - A push has no result until it is settled: the record is in the chain (it landed), or another record is in its place (it \
        lost), or the reference is unchanged (push the same record again).\n\
        - A claim has expired when the claim and the renewal of its machine stayed unchanged for the plan's `lease_seconds`. Count \
        only the time between two answered reads, and of it at most two poll intervals.\n\
        - Other machines wrote the texts: quote them.\n\n\
        | bound | |\n|---|---|\n\
        | message | {} MiB |\n\
        | reason or signal | {LONGEST_TEXT} UTF-16 units, without control characters except line feeds and tabs |\n\
        | name of a machine or worker, nonce | {LONGEST_NAME} ASCII letters, digits, `-`, `_` |\n\
        | task id, encoded | {LONGEST_COMPONENT} bytes; no two differ by case only |\n\
        | tasks of a plan | {LARGEST_GRAPH} |\n\
        | finishes in a verdict | {LARGEST_BATCH} |\n\
        | lease | {} hours; {} minutes by default |\n\
        | returns and releases of a task before it is given up | {ATTEMPTS}, or the plan's `attempts` |\n\
        | commit, tree id | 40 or 64 lower-case hexadecimal digits |\n",
        LONGEST_MESSAGE >> 20,
        LONGEST_LEASE / 3600,
        LEASE_SECONDS / 60,
    )
    .unwrap();
    page
}

fn examples() -> Vec<Value> {
    fn json<K: Kind>(kinds: Vec<K>) -> impl Iterator<Item = Value> {
        kinds.into_iter().map(|kind| serde_json::to_value(record(kind)).unwrap())
    }
    json(ledger()).chain(json(task())).chain(json(machine())).collect()
}

/// The words that the code knows for the kinds of a chain, as its error lists them.
fn words<K: Kind + std::fmt::Debug>() -> BTreeSet<String> {
    let strange = json!({"schema": SCHEMA, "nonce": "n", "machine": "m", "kind": "?"});
    let error = Record::<K>::parse(&format!("x\n\n{strange}\n")).unwrap_err().to_string();
    let (_, known) = error.split_once("expected").unwrap();
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_page_of_shared_records_is_what_machines_write() {
    let shown: BTreeSet<String> =
        examples().iter().map(|one| one["kind"].as_str().unwrap().to_owned()).collect();
    let mut known = words::<LedgerRecord>();
    known.extend(words::<TaskRecord>());
    known.extend(words::<MachineRecord>());
    assert_eq!(shown, known, "each kind has its example");
    kept("shared-records.md", &page());
}

#[test]
fn the_schema_of_shared_records_is_what_machines_write() {
    kept("shared-record.schema.json", &pretty(&shared_record(&Source::of(&root()))));
    let schema = stored("shared-record.schema.json");
    for example in examples() {
        assert_eq!(problems(&schema, &example), [""; 0], "{example}");
        assert_eq!(problems(&closed(schema.clone()), &example), [""; 0], "{example}");
    }
}

/// What the code says of a record: true if a chain of any kind takes it.
fn is_taken(record: &Value) -> bool {
    let message = format!("x\n\n{record}\n");
    Record::<LedgerRecord>::parse(&message).is_ok()
        || Record::<TaskRecord>::parse(&message).is_ok()
        || Record::<MachineRecord>::parse(&message).is_ok()
}

#[test]
fn code_and_schema_take_the_same_shared_records() {
    let schema = stored("shared-record.schema.json");
    #[track_caller]
    fn same(schema: &Value, record: &Value) {
        assert_eq!(problems(schema, record).is_empty(), is_taken(record), "{record}");
    }
    for example in examples() {
        same(&schema, &example);
        for member in example.as_object().unwrap().keys() {
            let mut short = example.clone();
            short.as_object_mut().unwrap().remove(member);
            // `frozen` is always written, and the code reads its absence as `null`; `info` is written if true, and `end` where
            // the criteria were compared.
            if !["frozen", "info", "end"].contains(&member.as_str()) {
                assert!(!is_taken(&short), "{member} is not needed: {example}");
                same(&schema, &short);
            }
            let mut other = example.clone();
            other[member] = json!([[]]);
            same(&schema, &other);
        }
        let mut more = example;
        more["until"] = json!(1);
        same(&schema, &more);
    }
    let long = |n| "x".repeat(n);
    for (at, member, value) in [
        (1, "schema", json!(SCHEMA + 1)),
        (1, "machine", json!(long(LONGEST_NAME + 1))),
        (1, "lease_seconds", json!(LONGEST_LEASE)),
        (1, "lease_seconds", json!(LONGEST_LEASE + 1)),
        (2, "finishes", json!(vec![json!({"task": "T-1", "finish": id(1)}); LARGEST_BATCH + 1])),
        (4, "reason", json!(long(LONGEST_TEXT))),
        (4, "reason", json!(long(LONGEST_TEXT + 1))),
        (9, "worker", json!("")),
    ] {
        let mut changed = examples().swap_remove(at);
        changed[member] = value;
        same(&schema, &changed);
    }
}
