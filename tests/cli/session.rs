//! `ralph session …`: a session from its task to its end, with everything written that agents write.

use crate::world::World;
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::metadata::{Counts, OrchestrationMetadata};
use ralph_core::modes::orchestration::progress::Progress;
use ralph_core::modes::orchestration::state::State;
use serde_json::Value;
use std::fs;

const ID: &str = "260131-120000";
const TASKS: [(&str, &str); 6] = [
    ("task-1", ""),
    ("task-2", ""),
    ("task-3", "task-1"),
    ("task-4", "task-2"),
    ("task-5", "task-3, task-4"),
    ("task-6", "task-3"),
];

fn path(name: &str) -> String {
    format!("project/.ralph-sessions/{ID}/{name}")
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(&path(name))).unwrap()
}

fn begun() -> World {
    let world = World::new();
    world.ralph(&["session", "new", "--id", ID, "Build", "a", "door"]).done();
    world
}

/// A session whose tasks are about to be carried out.
fn planned() -> World {
    let world = begun();
    while next(&world)["current_state"] != "EXECUTING_BATCH" {
        step(&world);
    }
    begins(&world);
    world
}

/// Makes the calls that come next by hand.
fn begins(world: &World) -> Value {
    let printed = world.ralph(&["session", "next", "--begin", "--json"]);
    assert!(printed.exit == 0 || printed.exit == 1, "{printed:?}");
    printed.json()
}

fn next(world: &World) -> Value {
    let printed = world.ralph(&["session", "next", "--json"]);
    assert!(printed.exit == 0 || printed.exit == 1, "{printed:?}");
    printed.json()
}

/// Asks what comes next, and does what its agents would; a line for each call.
fn step(world: &World) -> Vec<String> {
    let said = begins(world);
    let calls = said["invocations"].as_array().unwrap().clone();
    let line = |call: &Value| {
        let task = call["inputs"]["TASK_ID"].as_str().unwrap_or_default();
        let state = said["current_state"].as_str().unwrap();
        format!("{state} {} {} {task}", said["current_wave"], call["mode"].as_str().unwrap())
    };
    let lines = calls.iter().map(|call| line(call).trim_end().to_owned()).collect();
    calls.iter().for_each(|call| act(world, call));
    lines
}

fn act(world: &World, call: &Value) {
    let input = |name: &str| call["inputs"][name].as_str().unwrap_or_default();
    let mark = |task: &str, status: &str| {
        world.ralph(&["session", "mark", task, status]).done();
    };
    let (task, iteration) = (input("TASK_ID"), input("ITERATION"));
    let write = |name: &str, text: &str| drop(world.write(&path(name), text));
    match call["mode"].as_str().unwrap() {
        "INITIALIZE" => {
            assert_eq!(input("USER_REQUEST"), "Build a door");
            let planning = ["plan-init", "plan-brainstorm", "plan-research", "plan-breakdown"];
            write("plan.md", "Goal: a door\n");
            write(
                "progress.md",
                &format!("{}\nMy own words.\n", Progress::first(&planning).render()),
            );
            let now = "2026-01-31T12:00:00Z".parse::<jiff::Timestamp>().unwrap().into();
            let id = OrchestrationId::parse(ID).unwrap();
            let metadata = OrchestrationMetadata::first(State::Initializing, 1, now);
            write("metadata.yaml", &metadata.render(&id, Counts::default()));
            mark("plan-init", "done");
        }
        "brainstorm" => mark("plan-brainstorm", "[x]"),
        "research" if iteration == "1" => mark("plan-research", "[x]"),
        "TASK_BREAKDOWN" => {
            TASKS.iter().for_each(|(id, on)| write(&format!("tasks/{id}.md"), &task_file(id, on)));
            mark("plan-breakdown", "done");
        }
        "EXECUTE" => {
            mark(task, "started");
            write(&report_name(task, input("ATTEMPT_NUMBER")), &report(task, iteration, ""));
            mark(task, "review");
        }
        "TASK_REVIEW" => {
            let name = input("REPORT_PATH").rsplit_once("reports/").unwrap().1.to_owned();
            // The first attempt at the third task is not good enough.
            let (verdict, status) = match name == "task-3-report.md" {
                true => ("Failed", "failed"),
                false => ("Qualified", "done"),
            };
            write(&format!("reports/{name}"), &report(task, iteration, verdict));
            mark(task, status);
        }
        "SESSION_REVIEW" => {
            let status = if iteration == "1" { "Gaps" } else { "Complete" };
            let text = format!("# Review\n## Overall Assessment\n**Status**: {status}\n");
            write(&format!("iterations/{iteration}/review.md"), &text);
        }
        "UPDATE_METADATA" => {
            let status = input("STATUS");
            let text = read(world, "metadata.yaml")
                .replace("status: in_progress", &format!("status: {status}"));
            write("metadata.yaml", &text);
        }
        "feedback-analysis" => mark("plan-rebrainstorm", "done"),
        "research" => mark("plan-reresearch", "done"),
        "UPDATE" => {
            write("plan.md", "Goal: a door that opens\n");
            mark("plan-update", "done");
        }
        "REBREAKDOWN" => {
            write("tasks/task-7.md", &task_file("task-7", "task-5"));
            mark("plan-rebreakdown", "done");
        }
        other => panic!("{other}"),
    }
}

fn task_file(id: &str, on: &str) -> String {
    format!(
        "---\nid: {id}\niteration: 1\n---\n# Task: {id}\n## Title\nDo {id}\n## Objective\nIt.\n\
         ## Success Criteria\n- it is\n## Dependencies\ndepends_on: [{on}]\n"
    )
}

fn report_name(task: &str, attempt: &str) -> String {
    match attempt {
        "1" => format!("reports/{task}-report.md"),
        attempt => format!("reports/{task}-report-r{attempt}.md"),
    }
}

fn report(task: &str, iteration: &str, verdict: &str) -> String {
    format!(
        "---\ntask_id: {task}\niteration: {iteration}\n---\n## PART 1: IMPLEMENTATION REPORT\n\
         ## PART 2: REVIEW REPORT\n**Status**: {verdict}\n"
    )
}

/// Until nobody is to be called.
fn to_the_end(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let lines = step(world);
        if lines.is_empty() {
            return all;
        }
        all.extend(lines);
        assert!(all.len() < 60, "{all:#?}");
    }
}

#[test]
fn six_tasks_in_three_waves_come_to_their_end_over_a_failure_and_feedback() {
    let world = begun();
    assert_eq!(
        to_the_end(&world),
        [
            "INITIALIZING 0 INITIALIZE",
            "PLANNING 0 brainstorm",
            "PLANNING 0 research",
            "PLANNING 0 TASK_BREAKDOWN",
            "EXECUTING_BATCH 1 EXECUTE task-1",
            "EXECUTING_BATCH 1 EXECUTE task-2",
            "REVIEWING_BATCH 1 TASK_REVIEW task-1",
            "REVIEWING_BATCH 1 TASK_REVIEW task-2",
            "EXECUTING_BATCH 2 EXECUTE task-3",
            "EXECUTING_BATCH 2 EXECUTE task-4",
            "REVIEWING_BATCH 2 TASK_REVIEW task-3",
            "REVIEWING_BATCH 2 TASK_REVIEW task-4",
            "EXECUTING_BATCH 2 EXECUTE task-3",
            "REVIEWING_BATCH 2 TASK_REVIEW task-3",
            "EXECUTING_BATCH 3 EXECUTE task-5",
            "EXECUTING_BATCH 3 EXECUTE task-6",
            "REVIEWING_BATCH 3 TASK_REVIEW task-5",
            "REVIEWING_BATCH 3 TASK_REVIEW task-6",
            "SESSION_REVIEW 0 SESSION_REVIEW",
            "SESSION_REVIEW 0 UPDATE_METADATA",
        ]
    );
    let said = next(&world);
    assert_eq!(
        (&said["status"], &said["current_state"]),
        (&"awaiting_feedback".into(), &"COMPLETE".into())
    );
    assert_eq!(read(&world, "plan.iteration-1.md"), "Goal: a door\n");
    assert!(world.path(&path("reports/task-3-report-r2.md")).is_file());

    let told = world.ralph(&["session", "feedback", "new"]).done().stdout;
    let file = told.split('`').nth(1).unwrap().to_owned();
    assert!(file.contains("/iterations/2/feedbacks/"), "{told}");
    assert_eq!(next(&world)["status"], "awaiting_feedback", "it has no item yet");
    let text = fs::read_to_string(world.path("project").join(&file)).unwrap();
    let text = text.replace("## Quality", "- [ ] **ISS-001**: It does not open\n\n## Quality");
    fs::write(world.path("project").join(&file), text).unwrap();
    assert_eq!(
        to_the_end(&world),
        [
            "REPLANNING 0 feedback-analysis",
            "REPLANNING 0 research",
            "REPLANNING 0 UPDATE",
            "REPLANNING 0 REBREAKDOWN",
            "EXECUTING_BATCH 4 EXECUTE task-7",
            "REVIEWING_BATCH 4 TASK_REVIEW task-7",
            "SESSION_REVIEW 0 SESSION_REVIEW",
            "SESSION_REVIEW 0 UPDATE_METADATA",
        ]
    );
    let said = next(&world);
    assert_eq!((&said["status"], &said["iteration"]), (&"completed".into(), &2.into()));
    assert_eq!(said["tasks_summary"]["completed"], 7);
    let progress = read(&world, "progress.md");
    assert!(
        !progress.contains("My own words.") && progress.contains("| 2 | Complete | 7/7 |"),
        "{progress}"
    );
    assert!(read(&world, "metadata.yaml").contains("completed: 7"));
    assert!(read(&world, "iterations/2/metadata.yaml").contains("completed_at: 2"));
    world.ralph(&["session", "validate"]).check(
        0,
        &format!("session {ID}: nothing is wrong\n"),
        "",
    );
}

/// The words of all files of the session that are a date with a time.
fn times(world: &World) -> Vec<String> {
    let mut times = Vec::new();
    let mut folders = vec![world.path(&path(""))];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap().path();
            if entry.is_dir() {
                folders.push(entry);
            } else if let Ok(text) = fs::read_to_string(&entry) {
                let is_part = |c: char| c.is_ascii_alphanumeric() || "-:.+".contains(c);
                let words = text.split(|c| !is_part(c)).filter(|word| {
                    word.len() > 18 && word.as_bytes()[10] == b'T' && word.as_bytes()[13] == b':'
                });
                times.extend(words.map(str::to_owned));
            }
        }
    }
    times
}

#[test]
fn every_time_in_the_folder_is_local_with_its_offset() {
    let world = begun();
    to_the_end(&world);
    assert!(times(&world).iter().all(|time| time.ends_with("+00:00")), "{:?}", times(&world));
    let in_vietnam = |arguments: &[&str]| {
        let mut command = world.command(std::path::Path::new(env!("CARGO_BIN_EXE_ralph")), "");
        let output = command.args(arguments).env("TZ", "<+07>-7").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = jiff::Timestamp::now();
    let told = in_vietnam(&["session", "feedback", "new"]);
    let stamp = told.split("/feedbacks/").nth(1).unwrap()[..15].to_owned();
    let stamp = jiff::civil::DateTime::strptime("%Y%m%d-%H%M%S", &stamp).unwrap();
    let shown = stamp.to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::Offset::constant(7))).unwrap();
    let late = shown.timestamp().duration_since(before).as_secs();
    assert!((-2..60).contains(&late), "{told}: {late}");
    let file = world.path("project").join(told.split('`').nth(1).unwrap());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("## Quality", "- [ ] **ISS-001**: It sticks\n\n## Quality"))
        .unwrap();
    in_vietnam(&["session", "next", "--begin"]);
    let offset = |end: &str| times(&world).iter().filter(|time| time.ends_with(end)).count();
    assert!(offset("+07:00") >= 3, "{:?}", times(&world));
    assert_eq!(offset("+07:00") + offset("+00:00"), times(&world).len(), "{:?}", times(&world));
}

#[test]
fn who_asks_twice_is_told_the_same_and_nothing_is_written_for_it() {
    let world = planned();
    let progress = || (read(&world, "progress.md"), read(&world, "metadata.yaml"));
    let (said, before) = (next(&world), progress());
    assert_eq!((next(&world), progress()), (said.clone(), before.clone()));
    let printed = world.ralph(&["session", "status", "--json"]).done();
    assert_eq!((printed.json(), progress()), (said, before));
}

/// Every file of the session with its text.
fn files(world: &World) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![world.path(&path(""))];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => folders.push(entry),
                false => {
                    let text = String::from_utf8_lossy(&fs::read(&entry).unwrap()).into_owned();
                    found.push((entry.display().to_string(), text));
                }
            }
        }
    }
    found.sort();
    found
}

/// In every state of a whole session, with nothing said and with each word.
#[test]
fn to_ask_again_gives_one_answer_and_changes_no_file() {
    let world = begun();
    let asked = |what: &str| {
        let before = files(&world);
        let first = next(&world);
        assert_eq!(next(&world), first, "{what}");
        assert_eq!(world.ralph(&["session", "status", "--json"]).json(), first, "{what}");
        assert_eq!(files(&world), before, "{what}");
        first
    };
    for number in 0..60 {
        let said = asked("nothing was said");
        let ends = said["invocations"].as_array().unwrap().is_empty();
        if !ends && number % 3 == 0 {
            for word in ["steer", "pause", "info", "stop"] {
                world.ralph(&["session", "signal", word, "use oak"]).done();
                let after = asked(word);
                let holds = matches!(word, "pause" | "stop");
                assert_eq!(after["status"] == "blocked", holds, "{word}: {after}");
            }
            let inputs = world.path(&path("signals/inputs"));
            fs::remove_dir_all(&inputs).unwrap();
            fs::create_dir(&inputs).unwrap();
        }
        if step(&world).is_empty() {
            return;
        }
    }
    panic!("it never ends");
}

#[test]
fn a_stop_holds_however_often_it_is_asked() {
    let world = begun();
    world.ralph(&["session", "signal", "stop"]).done();
    for _ in 0..3 {
        let printed = world.ralph(&["session", "next"]);
        assert!(printed.exit == 1 && printed.stdout.contains("ended by STOP"), "{printed:?}");
    }
    let printed = world.ralph(&["session", "next", "--begin"]);
    assert!(printed.exit == 1 && printed.stdout.contains("ended by STOP"), "{printed:?}");
}

/// Executors and reviewers that mark the task and write no report.
fn times_out(world: &World, most: usize) -> usize {
    let mut executions = 0;
    for _ in 0..20 {
        let said = next(world);
        let call = said["invocations"][0].clone();
        match call["mode"].as_str() {
            Some("EXECUTE") => {
                executions += 1;
                assert!(executions <= most, "{said}");
                assert_eq!(call["inputs"]["ATTEMPT_NUMBER"], executions.to_string(), "{said}");
                world.ralph(&["session", "mark", "task-1", "started"]).done();
                let progress = read(world, "progress.md");
                let (before, since) = progress.split_once("started: ").unwrap();
                let (_, rest) = since.split_once(')').unwrap();
                let long_ago = format!("{before}started: 2026-01-31T12:00:00+00:00){rest}");
                world.write(&path("progress.md"), &long_ago);
            }
            Some("TIMEOUT_FAIL") => {
                world.ralph(&["session", "mark", "task-1", "failed", "--note", "too slow"]).done();
            }
            _ => return executions,
        }
    }
    panic!("it never ends");
}

#[test]
fn a_task_that_times_out_without_a_report_is_carried_out_as_often_as_the_bound_says() {
    for bound in [0, 2] {
        let world = planned();
        world.write(
            &format!("project/.ralph-sessions/{ID}.instructions.md"),
            &format!("- max_subagent_retries: {bound}\n"),
        );
        for task in ["task-2", "task-3", "task-4", "task-5", "task-6"] {
            world.ralph(&["session", "mark", task, "cancelled"]).done();
        }
        assert_eq!(times_out(&world, bound + 1), bound + 1);
    }
}

#[test]
fn a_batch_of_feedback_with_logs_alone_is_reported() {
    let world = begun();
    to_the_end(&world);
    world.write(&path("iterations/2/feedbacks/20260201-120000/app.log"), "boom\n");
    let missing = "iterations/2/feedbacks/20260201-120000/feedbacks.md: it is missing";
    for words in [&["status"][..], &["validate"], &["next"]] {
        let printed = world.ralph(&[&["session"], words].concat());
        assert!(printed.stdout.contains(missing), "{printed:?}");
    }
    let said = next(&world);
    assert!(said["findings"].to_string().contains(missing), "{said}");
    assert!(said["next_action"].to_string().contains(missing), "{said}");
}

#[test]
fn a_sentence_that_continues_a_session_is_no_task_of_a_new_one() {
    let world = begun();
    for command in ["new", "run"] {
        let sentence = format!("Continue session {ID} with new feedback");
        let printed = world.ralph(&["session", command, &sentence]);
        assert!(printed.exit == 2 && printed.stderr.contains("ralph team feedback"), "{printed:?}");
    }
    assert_eq!(world.ralph(&["session", "list"]).done().stdout.lines().count(), 1);
}

#[test]
fn the_answer_has_the_members_of_its_contract() {
    let world = begun();
    let said = next(&world);
    let names: Vec<&String> = said.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "status",
            "session_id",
            "iteration",
            "current_state",
            "current_wave",
            "tasks_summary",
            "next_action",
            "invocations",
            "wait_until",
            "findings"
        ]
    );
    let counts: Vec<&String> = said["tasks_summary"].as_object().unwrap().keys().collect();
    assert_eq!(counts, ["total", "completed", "failed", "pending", "cancelled"]);
    world.ralph(&["session", "next"]).check(
        0,
        &format!(
            "session {ID}: INITIALIZING, iteration 1, 0 of 0 tasks done\ncall `Ralph-v2-Planner` (INITIALIZE)\n\n\
             `Ralph-v2-Planner` is told:\nSESSION_PATH: .ralph-sessions/{ID}/\nMODE: INITIALIZE\n\
             USER_REQUEST: Build a door\nITERATION: 1\n"
        ),
        "",
    );
}

#[test]
fn a_name_of_another_form_is_refused_in_these_words() {
    let world = begun();
    for name in ["../260131-120000", "260131-120000.md", "today", "260131-250000"] {
        for words in [&["next"][..], &["new", "x"], &["mark", "task-1", "x"], &["repair"]] {
            let words: Vec<&str> = [&["session"][..], words, &["--id", name]].concat();
            let said = "ralph: Session ID must follow format <YYMMDD>-<hhmmss>\n";
            world.ralph(&words).check(2, "", said);
        }
    }
    world.ralph(&["session", "new", "--id", ID, "x"]).check(
        1,
        "",
        &format!("ralph: orchestration {ID} exists; `ralph next --id {ID}` continues it\n"),
    );
    let other = "260131-120001";
    world.ralph(&["session", "next", "--id", other]).check(
        1,
        "",
        &format!(
            "ralph: there is no orchestration {other}; `ralph team new --id {other} TASK` begins it\n"
        ),
    );
    world.ralph(&["session", "new", "--id", other, "y"]).done();
    let said =
        format!("ralph: there are 2 orchestrations; name one: `--id {ID}` or `--id {other}`\n");
    world.ralph(&["session", "next"]).check(1, "", &said);
}

#[test]
fn a_person_holds_a_batch_steers_it_and_ends_it() {
    let world = planned();
    let say = |words: &[&str]| world.ralph(&[&["session", "signal"], words].concat()).done();
    say(&["pause", "lunch"]);
    let said = next(&world);
    assert_eq!(
        (&said["status"], &said["current_state"]),
        (&"blocked".into(), &"EXECUTING_BATCH".into())
    );
    assert!(said["next_action"].as_str().unwrap().contains("PAUSE: lunch"), "{said}");
    say(&["steer", "use", "oak"]);
    let said = next(&world);
    assert_eq!(said["invocations"][0]["inputs"]["SIGNAL"], "STEER: use oak", "{said}");
    assert_eq!(begins(&world), said);
    let names = |folder: &str| fs::read_dir(world.path(&path(folder))).unwrap().count();
    assert_eq!((names("signals/inputs"), names("signals/processed")), (0, 2));
    say(&["stop"]);
    let said = next(&world);
    assert!(said["next_action"].as_str().unwrap().contains("STOP"), "{said}");
    assert_eq!(world.ralph(&["session", "signal", "steer"]).exit, 2);
}

#[test]
fn a_damaged_progress_is_rendered_anew_and_in_a_clone_repaired_where_it_needs_no_guess() {
    let world = planned();
    let good = read(&world, "progress.md");
    let damaged = good.replace("# Progress\n", "").replace("- [ ] task-2", "- [?] task-2");
    world.write(&path("progress.md"), &damaged);
    let said = next(&world);
    assert_eq!(said["current_state"], "EXECUTING_BATCH", "{said}");
    assert!(said["findings"].to_string().contains("`[?]` is not a status"), "{said}");
    let said = world.ralph(&["session", "repair"]).done();
    assert!(said.stdout.contains("put right:\nprogress.md:"), "{said:?}");
    assert_eq!(read(&world, "progress.md"), good);

    // A fresh clone has the files alone.
    fs::remove_dir_all(world.path("ralph/sessions")).unwrap();
    world.write(&path("progress.md"), &damaged);
    let line = 1 + damaged.lines().position(|line| line.contains("[?]")).unwrap();
    let found = world.ralph(&["session", "validate"]);
    assert!(
        found.exit == 1 && found.stdout.contains(&format!("progress.md:{line}: ")),
        "{found:?}"
    );
    assert_eq!(next(&world)["current_state"], "REPAIR_STATE");
    assert_eq!(read(&world, "progress.md"), damaged, "the planner is asked first");

    let said = world.ralph(&["session", "repair"]);
    assert!(said.exit == 1 && said.stdout.contains("left:\nprogress.md:"), "{said:?}");
    assert_eq!(read(&world, "progress.md"), damaged, "a status is not guessed");
    world.write(&path("progress.md"), &damaged.replace("[?]", "[ ]"));
    let said = world.ralph(&["session", "repair"]).done();
    let kept = said.stdout.split("as it was: `[ROOT]/").nth(1).unwrap();
    assert!(kept.starts_with("ralph/sessions/"), "{kept}");
    assert!(read(&world, "progress.md").starts_with("# Progress\n"));
    assert_eq!(next(&world)["current_state"], "EXECUTING_BATCH");
}

#[test]
fn tasks_are_marked_shown_in_waves_and_drawn() {
    let world = planned();
    world.ralph(&["session", "mark", "task-1", "[P]"]).check(
        0,
        "task-1 [P]; 0 of 6 tasks done\n",
        "",
    );
    world.ralph(&["session", "mark", "task-2", "cancelled", "--note", "not needed"]).done();
    assert!(read(&world, "progress.md").contains("- [C] task-2 (not needed)\n"));
    world.ralph(&["session", "mark", "task-9", "x"]).check(
        1,
        "",
        "ralph: could not find task-9 in `progress.md`; add it as `- [ ] task-9`\n",
    );
    assert_eq!(world.ralph(&["session", "mark", "task-1", "well"]).exit, 2);
    let waves = world.ralph(&["session", "waves"]).done().stdout;
    assert!(
        waves.starts_with("wave 1: [P] task-1, [C] task-2\nwave 2: [ ] task-3, [ ] task-4\n"),
        "{waves}"
    );
    assert!(
        waves.contains("tasks/task-4.md: task-4 depends on task-2, which is cancelled"),
        "{waves}"
    );
    let drawn = world.ralph(&["session", "graph", "--format", "mermaid"]).done().stdout;
    assert!(drawn.starts_with("flowchart LR\n") && drawn.contains("task-6"), "{drawn}");
    let listed = world.ralph(&["session", "list"]).done().stdout;
    assert!(
        listed.starts_with(&format!("{ID}  ")) && listed.contains("of 6 tasks done"),
        "{listed}"
    );
}
