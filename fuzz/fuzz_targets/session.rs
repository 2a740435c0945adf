//! The other files of a session: metadata, tasks, reports, feedback, guardrails, signals; and the router, which
//! has to have an answer to all of them together.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_core::modes::orchestration::agents::Mode;
use ralph_core::modes::orchestration::change::writes;
use ralph_core::modes::orchestration::feedback::FeedbackBatch;
use ralph_core::modes::orchestration::files::is_task_id;
use ralph_core::modes::orchestration::finding::Weight;
use ralph_core::modes::orchestration::guardrails::Guardrails;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::invocation::Invocation;
use ralph_core::modes::orchestration::machine::{met, next};
use ralph_core::modes::orchestration::metadata::{
    Counts, IterationMetadata, OrchestrationMetadata,
};
use ralph_core::modes::orchestration::progress::TaskMark;
use ralph_core::modes::orchestration::repair::repair;
use ralph_core::modes::orchestration::report::{TaskReport, is_complete};
use ralph_core::modes::orchestration::signal::{UnheardSignal, listen, parts};
use ralph_core::modes::orchestration::snapshot::{Picture, Snapshot};
use ralph_core::modes::orchestration::state::State;
use ralph_core::modes::orchestration::task::TaskFile;
use ralph_core::modes::orchestration::validate::validate;
use ralph_fuzz::texts;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn id() -> OrchestrationId {
    OrchestrationId::parse("260131-120000").expect("it is a name")
}

/// What was read is rendered and read back.
fn metadata(text: &str) {
    let (said, found) = OrchestrationMetadata::parse(text, &id());
    if found.is_empty() {
        let (again, _) =
            OrchestrationMetadata::parse(&said.render(&id(), Counts::default()), &id());
        assert_eq!(
            (said.state, said.iteration, said.wave),
            (again.state, again.iteration, again.wave)
        );
    }
    let (said, _) = IterationMetadata::parse(text, 1);
    assert_eq!(IterationMetadata::parse(&said.render(1), 1).0, said);
}

fn alone(text: &str) {
    let (task, _) = TaskFile::parse("task-1", text);
    assert_eq!(TaskFile::parse("task-1", text).0, task);
    assert!(!task.is_sound || task.depends_on.iter().all(|on| is_task_id(on)));
    assert_eq!(TaskReport::parse(1, Some(text)), TaskReport::parse(1, Some(text)));
    assert_eq!(is_complete(text), is_complete(text));
    let (rails, _) = Guardrails::parse(text);
    assert!(rails.max_parallel_executors > 0 && rails.task_wip_minutes > 0);
    let (feedback, _) = FeedbackBatch::parse(2, "20260131-120000", text);
    let wants = feedback.critical.len() + feedback.quality.len() + feedback.requirements.len();
    assert!(!feedback.says_something() || wants > 0);
}

/// What agents were told can be said again, and is told in the same words.
fn signals(text: &str) {
    let signals = [UnheardSignal::read("1", text)];
    let heard = listen(State::ExecutingBatch, &signals);
    let again: Vec<UnheardSignal> = parts(&heard.told)
        .into_iter()
        .map(|(word, text)| UnheardSignal { name: String::new(), word, text })
        .collect();
    assert_eq!(listen(State::ExecutingBatch, &again).told, heard.told);
}

/// There is always an answer; asked again it is the same; nobody is given what is done, or what waits.
fn routed(seen: &Snapshot) {
    let step = next(seen, NOW);
    assert!(!step.act.to_string().starts_with("could not leave"), "{}", step.act);
    let again = next(&step.after, NOW);
    let written = writes(&step.after, &again.after);
    assert!(written.is_empty(), "{written:?}");
    let picture = Picture::from_snapshot(&step.after);
    let progress = picture.progress;
    for call in step.act.calls() {
        assert!(Invocation::are_same(&call.prompt(), &call.prompt()));
        let _ = met(&step.after, call);
        if call.mode == Mode::Execute {
            let entry = progress.task(&call.key.task).expect("it stands there");
            assert!(!entry.status.is_settled(), "{} is {}", entry.id, entry.status);
            let task = picture.task(&entry.id).expect("it has a file");
            let is_done =
                |on: &String| progress.task(on).is_some_and(|on| on.status == TaskMark::Done);
            assert!(task.depends_on.iter().all(is_done), "{} waits", entry.id);
        }
    }
}

/// What is put right stays so, and nothing is missing then: what is left are lines that nobody can put right without
/// a guess.
fn mended(seen: &Snapshot) {
    let once = repair(seen, NOW.into());
    let twice = repair(&once.after, NOW.into());
    assert!(writes(&once.after, &twice.after).is_empty(), "{:?}", twice.done);
    assert!(twice.done.is_empty(), "{:?}", twice.done);
    assert_eq!(once.left, validate(&once.after));
    if once.after.damage.is_empty() {
        for left in once.left.iter().filter(|left| left.weight == Weight::Invalid) {
            panic!("{left}");
        }
    }
}

/// Whatever an agent writes: what is kept is not lost, nobody has to be called, and it is put right once.
fn kept(seen: &Snapshot) {
    let record = repair(seen, NOW.into()).after.record;
    let mut other = seen.clone();
    other.read_status(Some(&record));
    let mut after = other.clone().rendered(&other, NOW.into());
    after.read_status(Some(&after.record.clone()));
    assert_eq!(after.damage, []);
}

fuzz_target!(|data: &[u8]| {
    let [progress, metadata_text, task, report, feedback, rails] = texts::<6>(data);
    for text in [&progress, &metadata_text, &task] {
        metadata(text);
        alone(text);
        signals(text);
    }
    let mut seen = Snapshot::new(id(), "Build a door");
    let mut add = |path: &str, text: &str| {
        if !text.is_empty() {
            seen.files.insert(path.to_owned(), Some(text.to_owned()));
        }
    };
    add("plan.md", "a door");
    add("progress.md", &progress);
    add("metadata.yaml", &metadata_text);
    add("tasks/task-1.md", &task);
    add("tasks/task-2.md", "---\ndepends_on: [task-1]\n---\n");
    add("reports/task-1-report.md", &report);
    add("iterations/1/review.md", &report);
    add("iterations/2/feedbacks/20260131-120000/feedbacks.md", &feedback);
    seen.read_status(None);
    seen.instructions = (!rails.is_empty()).then(|| rails.to_string());
    routed(&seen);
    seen.running = Some(Vec::new());
    routed(&seen);
    mended(&seen);
    kept(&seen);
});
