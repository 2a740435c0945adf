//! Orchestrations on disk: concurrent writers, killed writers, and links.

use super::*;
use crate::process::sandbox::Sandbox;
use ralph_core::modes::orchestration::agents::Mode;
use ralph_core::modes::orchestration::files::OrchestrationFile;
use ralph_core::modes::orchestration::invocation::{CallKey, Running};
use ralph_core::modes::orchestration::metadata::{
    Counts, IterationMetadata, OrchestrationMetadata,
};
use ralph_core::modes::orchestration::progress::Progress;
use ralph_core::modes::orchestration::signal::SignalKeyword;
use ralph_core::modes::orchestration::state::State;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

const AT: &str = ".ralph-sessions/260131-120000";

fn now() -> jiff::Timestamp {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn id() -> OrchestrationId {
    OrchestrationId::parse("260131-120000").unwrap()
}

fn sessions(at: &Sandbox) -> OrchestrationStore {
    fs::create_dir_all(at.path("project")).unwrap();
    OrchestrationStore::open(&at.path("project"), &Home::at(at.path("home"))).unwrap()
}

/// An orchestration with a progress file, and metadata in PLANNING.
fn laid_out(at: &Sandbox) -> OrchestrationStore {
    let sessions = sessions(at);
    assert!(sessions.begin(&id(), "Build a door").unwrap());
    at.write(&format!("project/{AT}/plan.md"), "Goal: a door\n");
    at.write(&format!("project/{AT}/progress.md"), &Progress::first(&["plan-brainstorm"]).render());
    let metadata = OrchestrationMetadata::first(State::Planning, 1, now().into());
    let metadata = metadata.render(&id(), Counts::default());
    at.write(&format!("project/{AT}/metadata.yaml"), &metadata);
    sessions
}

/// A change of two files and a signal.
fn changes(seen: &Snapshot) -> Result<(Snapshot, ())> {
    let mut after = Snapshot { signals: Vec::new(), ..seen.clone() };
    if let (Some(metadata), Some(progress)) =
        (&mut after.record.metadata, &mut after.record.progress)
    {
        (metadata.state, metadata.wave) = (Some(State::Batching), Some(2));
        progress.iterations.iter_mut().for_each(|row| row.status = "Executing".to_owned());
    }
    Ok((after.rendered(seen, now().into()), ()))
}

fn texts(at: &Sandbox) -> [String; 2] {
    ["progress.md", "metadata.yaml"]
        .map(|name| fs::read_to_string(at.path(&format!("project/{AT}/{name}"))).unwrap())
}

#[test]
fn a_session_is_begun_once_and_knows_what_was_asked_for() {
    let at = Sandbox::folder();
    let sessions = sessions(&at);
    assert_eq!(sessions.read(&id()).unwrap(), None);
    assert!(sessions.begin(&id(), "Build a door").unwrap());
    assert!(!sessions.begin(&id(), "Something else").unwrap());
    let seen = sessions.read(&id()).unwrap().unwrap();
    assert_eq!((seen.request.as_str(), seen.files.len()), ("Build a door", 0));
    assert_eq!(sessions.list(), [id()]);
    at.write("project/.ralph-sessions/notes/x", "");
    assert_eq!(sessions.list(), [id()]);
}

#[test]
fn files_and_signals_change_together_and_keep_their_modes() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let path = at.path(&format!("project/{AT}/progress.md"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    sessions.send(&id(), SignalKeyword::Info, "hear me", now()).unwrap().unwrap();
    let changed = sessions.update(&id(), changes).unwrap().unwrap();
    assert_eq!(changed.before.signals[0].text, "hear me");
    assert_eq!(sessions.read(&id()).unwrap().unwrap(), {
        let mut after = changed.after;
        after.files.remove("signals/inputs/20260131T120000.000000000Z");
        after.files.insert("signals/processed/20260131T120000.000000000Z".to_owned(), None);
        after
    });
    let [progress, metadata] = texts(&at);
    assert!(progress.contains("| 1 | Executing |") && metadata.contains("BATCHING"), "{metadata}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_writer_that_was_killed_at_any_point_is_finished_and_seen_as_finished() {
    for done in 0..=3 {
        let at = Sandbox::folder();
        let sessions = laid_out(&at);
        sessions.send(&id(), SignalKeyword::Info, "hear me", now()).unwrap().unwrap();
        let before = sessions.read(&id()).unwrap().unwrap();
        let (after, ()) = changes(&before).unwrap();
        let pending = Pending::diff(&before, &after, &Own::default());
        assert!(pending.is_several());
        pending.write(&sessions.own(&id())).unwrap();
        pending.first(done).carry_out(&sessions.top, &id(), &sessions.own(&id())).unwrap();

        let old = texts(&at);
        let seen = sessions.read(&id()).unwrap().unwrap();
        assert_eq!(seen.files["progress.md"], after.files["progress.md"], "{done}");
        assert_eq!(seen.files["metadata.yaml"], after.files["metadata.yaml"], "{done}");
        assert!(seen.signals.is_empty(), "{done}");
        assert_eq!(texts(&at), old, "who only looks writes nothing");

        let next = sessions.update(&id(), |seen| Ok((seen.clone(), ()))).unwrap().unwrap();
        assert_eq!(next.after.files["metadata.yaml"], after.files["metadata.yaml"], "{done}");
        assert!(texts(&at)[0].contains("Executing") && texts(&at)[1].contains("BATCHING"));
        assert!(Pending::read(&sessions.own(&id())).unwrap().is_none());
    }
}

#[test]
fn what_an_agent_has_written_since_a_kill_is_not_written_over() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let before = sessions.read(&id()).unwrap().unwrap();
    let pending = Pending::diff(&before, &changes(&before).unwrap().0, &Own::default());
    pending.write(&sessions.own(&id())).unwrap();
    let theirs = texts(&at)[0].replace("[ ] plan-brainstorm", "[x] plan-brainstorm");
    at.write(&format!("project/{AT}/progress.md"), &theirs);
    sessions.update(&id(), |seen| Ok((seen.clone(), ()))).unwrap().unwrap();
    assert_eq!(texts(&at)[0], theirs);
}

#[test]
fn it_is_decided_anew_where_an_agent_writes_meanwhile() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let mut turns = 0;
    sessions
        .update(&id(), |seen| {
            turns += 1;
            if turns == 1 {
                let theirs = texts(&at)[0].replace("[ ] plan-brainstorm", "[x] plan-brainstorm");
                at.write(&format!("project/{AT}/progress.md"), &theirs);
            }
            changes(seen)
        })
        .unwrap();
    let [progress, _] = texts(&at);
    assert_eq!(turns, 2);
    assert!(progress.contains("[x] plan-brainstorm") && progress.contains("Executing"));
}

#[test]
fn nothing_is_read_or_written_outside_of_the_project() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    at.write("secret/progress.md", "# Progress\n");
    at.write("secret/metadata.yaml", "version: 1\n");
    let progress = at.path(&format!("project/{AT}/progress.md"));
    fs::remove_file(&progress).unwrap();
    symlink(at.path("secret/progress.md"), &progress).unwrap();
    let why = sessions.read(&id()).unwrap_err().to_string();
    assert!(why.contains("leads out of the project"), "{why}");
    assert!(sessions.update(&id(), changes).is_err());

    fs::remove_file(&progress).unwrap();
    at.write(&format!("project/{AT}/progress.md"), &Progress::first(&[]).render());
    symlink(at.path("secret"), at.path(&format!("project/{AT}/iterations"))).unwrap();
    let begins = |seen: &Snapshot| {
        let mut after = seen.clone();
        after.record.iterations.insert(2, IterationMetadata::default());
        Ok((after.rendered(seen, now().into()), ()))
    };
    let why = sessions.update(&id(), begins).unwrap_err().to_string();
    assert!(why.contains("is no folder"), "{why}");
    assert_eq!(fs::read_dir(at.path("secret")).unwrap().count(), 2);

    let other = OrchestrationId::parse("260131-120001").unwrap();
    symlink(at.path("secret"), at.path("project/.ralph-sessions/260131-120001")).unwrap();
    assert!(sessions.read(&other).is_err());
}

#[test]
fn a_progress_that_is_no_text_is_an_error_and_stays() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let path = at.path(&format!("project/{AT}/progress.md"));
    fs::write(&path, b"# Progress \xff\n").unwrap();
    let why = sessions.read(&id()).unwrap_err().to_string();
    assert!(why.contains("progress.md") && why.contains("no UTF-8 text"), "{why}");
    assert!(sessions.update(&id(), changes).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"# Progress \xff\n");
}

#[test]
fn signals_of_one_moment_are_heard_in_their_order_and_feedback_is_never_laid_over() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    for (word, text) in [
        (SignalKeyword::Steer, "tabs"),
        (SignalKeyword::Pause, ""),
        (SignalKeyword::Stop, "enough"),
    ] {
        sessions.send(&id(), word, text, now()).unwrap().unwrap();
    }
    let signals = sessions.read(&id()).unwrap().unwrap().signals;
    let said: Vec<_> = signals.iter().map(|one| (one.word, one.text.as_str())).collect();
    assert_eq!(
        said,
        [
            (SignalKeyword::Steer, "tabs"),
            (SignalKeyword::Pause, ""),
            (SignalKeyword::Stop, "enough")
        ]
    );
    let one = sessions.feedback(&id(), 2, now()).unwrap().unwrap();
    let two = sessions.feedback(&id(), 2, now()).unwrap().unwrap();
    assert_eq!(one, format!("{AT}/iterations/2/feedbacks/20260131-120000/feedbacks.md"));
    assert_eq!(two, one.replace("20260131-120000", "20260131-120001"));
    assert_eq!(
        sessions
            .send(
                &OrchestrationId::parse("260131-120009").unwrap(),
                SignalKeyword::Info,
                "x",
                now()
            )
            .unwrap(),
        None
    );
}

#[test]
fn each_of_many_begun_at_once_is_named_after_the_next_free_second() {
    let at = Sandbox::folder();
    let sessions = sessions(&at);
    let name = |later| sessions.name_of(now() + jiff::SignedDuration::from_secs(later)).unwrap();
    for later in 0..3 {
        assert_eq!(sessions.begin_now("Build a door", now()).unwrap(), name(later));
    }
    for later in 3..59 {
        fs::create_dir(at.path("project/.ralph-sessions").join(name(later).as_str())).unwrap();
    }
    assert_eq!(sessions.begin_now("Build a door", now()).unwrap(), name(59));
    let why = sessions.begin_now("Build a door", now()).unwrap_err().to_string();
    assert_eq!(why, "each second of this minute has an orchestration; name one with `--id ID`");
}

#[test]
fn what_a_killed_writer_was_about_to_keep_is_seen_and_then_kept() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let key = CallKey { mode: Mode::Initialize, task: String::new(), iteration: 1, cycle: 0 };
    let running = Some(vec![Running { key, since: now() }]);
    let before = sessions.read(&id()).unwrap().unwrap();
    let after =
        Snapshot { running: running.clone(), request: "A gate".to_owned(), ..before.clone() };
    let kept = Own::read(&sessions.own(&id())).unwrap();
    Pending::diff(&before, &after, &kept).write(&sessions.own(&id())).unwrap();
    assert_eq!(Own::read(&sessions.own(&id())).unwrap(), kept, "it was killed before that");
    let seen = sessions.read(&id()).unwrap().unwrap();
    assert_eq!((seen.running, seen.request.as_str()), (running.clone(), "A gate"));
    sessions.update(&id(), |seen| Ok((seen.clone(), ()))).unwrap().unwrap();
    let mut kept = before;
    Own::read(&sessions.own(&id())).unwrap().tell(&mut kept);
    assert_eq!((kept.running, kept.request.as_str()), (running, "A gate"));
}

#[test]
fn of_a_killed_driver_each_call_is_left_with_what_it_was_told() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let left = |patience| sessions.left_calls(&id(), patience);
    assert_eq!(left(Duration::ZERO).unwrap(), [], "there was no driver");
    let driver = sessions.drive(&id()).unwrap();
    assert!(driver.is_some() && sessions.drive(&id()).unwrap().is_none(), "there is one");
    sessions.note_call(&id(), "b", "STEER: tabs\n").unwrap();
    sessions.note_call(&id(), "c", "").unwrap();
    let running =
        ["a", "b"].map(|name| lock::take(&sessions.call(&id(), name), Duration::ZERO).unwrap());
    fs::write(sessions.call(&id(), "d").with_extension("json"), "").unwrap();
    let why = left(Duration::ZERO).unwrap_err().to_string();
    assert_eq!(why, "an agent of an earlier run of orchestration 260131-120000 is still running");
    drop(running);
    let call = |name: &str, told: &str| (name.to_owned(), told.to_owned());
    let all = [call("a", ""), call("b", "STEER: tabs\n"), call("c", "")];
    assert_eq!(left(lock::DEADLINE).unwrap(), all);
    for name in ["a", "b", "none"] {
        sessions.forget_call(&id(), name);
    }
    assert_eq!(left(Duration::ZERO).unwrap(), [call("c", "")]);
    assert_eq!(sessions.inputs(&id()), at.path(&format!("project/{AT}/signals/inputs")));
}

#[test]
fn a_signal_that_cannot_be_moved_and_a_folder_that_cannot_be_looked_at_are_errors() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let sent = sessions.send(&id(), SignalKeyword::Info, "hear me", now()).unwrap().unwrap();
    let to = at.path("project").join(sent.replace("inputs", "processed"));
    fs::create_dir(&to).unwrap();
    let why = sessions.update(&id(), changes).unwrap_err().to_string();
    assert_eq!(why, format!("could not move `{}`", at.path("project").join(&sent).display()));
    fs::remove_dir(to).unwrap();
    assert!(sessions.read(&id()).unwrap().unwrap().signals.is_empty(), "it is pending");

    at.write("other/.ralph-sessions", "no folder");
    let other = OrchestrationStore::open(&at.path("other"), &Home::at(at.path("home"))).unwrap();
    let folder = at.path("other/.ralph-sessions/260131-120000");
    let why = other.read(&id()).unwrap_err().to_string();
    assert_eq!(why, format!("could not inspect `{}`", folder.display()));
}

#[test]
fn the_texts_that_the_router_reads_are_read_and_others_named() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    for name in ["feedbacks.md", "screen.txt"] {
        at.write(&format!("project/{AT}/iterations/2/feedbacks/20260131-120000/{name}"), "text");
    }
    let seen = sessions.read(&id()).unwrap().unwrap();
    let of =
        |name: &str| seen.files[&format!("iterations/2/feedbacks/20260131-120000/{name}")].clone();
    assert_eq!(["feedbacks.md", "screen.txt"].map(of), [Some("text".to_owned()), None]);
}

#[test]
fn what_a_repair_replaces_is_kept() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let kept =
        || fs::read_dir(sessions.own(&id()).join("before-repair")).into_iter().flatten().count();
    sessions.update(&id(), changes).unwrap().unwrap();
    assert_eq!(kept(), 0, "nothing was damaged");
    let damaged = "version: 1\nsession_id: 260131-120000\norchestrator: [";
    at.write(&format!("project/{AT}/metadata.yaml"), damaged);
    let changed = sessions.update(&id(), changes).unwrap().unwrap();
    assert!(!changed.before.damage.is_empty());
    assert_eq!(kept(), 1);
    let folder = sessions.keep(&changed.before, &changed.after, now()).unwrap().unwrap();
    assert_eq!(folder, sessions.own(&id()).join("before-repair/20260131T120000Z"));
    assert_eq!(fs::read_to_string(folder.join("metadata.yaml")).unwrap(), damaged);
    assert_eq!(sessions.keep(&changed.after, &changed.after, now()).unwrap(), None);
}

#[test]
fn a_task_is_kept_before_it_is_replaced_under_a_name_of_its_own() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let keep = || sessions.keep_task(&id(), 2, "task-1").unwrap();
    assert_eq!(keep(), None, "there is no such file");
    for n in 1..4 {
        at.write(&format!("project/{AT}/tasks/task-1.md"), &format!("text {n}"));
        let name = keep().unwrap();
        let number = if n == 1 { String::new() } else { format!("-{n}") };
        let file = format!("replaced/task-1{number}.md");
        let place = OrchestrationFile::Replanning { iteration: 2, file: &file };
        assert_eq!(name, format!("{AT}/{place}"));
        assert_eq!(at.read(&format!("project/{name}")), format!("text {n}"));
    }
}

#[test]
fn what_stands_in_the_way_of_a_file_or_folder_is_named_and_stays() {
    let at = Sandbox::folder();
    let top = at.root();
    at.write("file", "stays");
    at.write("folder/x", "");
    let path = |name: &str| at.path(name).display().to_string();
    let why = |name: &str| target::write(&top, name, "new").unwrap_err().to_string();
    assert_eq!(why("file/new"), format!("`{}` is no folder; put one in its place", path("file")));
    assert_eq!(why("folder"), format!("`{}` is not a file; replace it with one", path("folder")));
    let long = "x".repeat(300);
    let expected = format!("could not make the folder `{}`", path(&long));
    assert_eq!(why(&format!("{long}/new")), expected);
    target::write(&top, "made/below/new", "new").unwrap();
    assert_eq!((at.read("made/below/new"), at.read("file")), ("new".into(), "stays".into()));
}

#[test]
fn what_a_newer_ralph_keeps_is_left_alone_and_all_that_is_kept_comes_back() {
    let at = Sandbox::folder();
    let sessions = laid_out(&at);
    let own = sessions.own(&id());
    let key = serde_json::json!({ "mode": Mode::Initialize, "iteration": 1 });
    let tries = serde_json::json!([{ "key": key, "failures": 2, "ends": 0, "last": now() }]);
    let tries = serde_json::from_value(tries).unwrap();
    let seen = Snapshot { tries, ..sessions.read(&id()).unwrap().unwrap() };
    Own::default().with(&seen).write(&own).unwrap();
    assert_eq!(sessions.read(&id()).unwrap().unwrap().tries, seen.tries);
    for (version, is_read) in [(0, true), (1, true), (2, false)] {
        fs::write(own.join("session.json"), format!("{{\"schema_version\": {version}}}")).unwrap();
        assert_eq!(Own::read(&own).is_ok(), is_read, "{version}");
    }
    let why = Own::read(&own).unwrap_err().to_string();
    let path = own.join("session.json");
    let expected = format!("`{}` was written by a newer Ralph; update Ralph", path.display());
    assert_eq!(why, expected);
}
