//! The examples of the document about orchestrated sessions: its folder, its states and the calls in them.

use super::{Shown, example, quoted, rows, shown, terminal};
use crate::orchestrated::{Called, Script, six_tasks};
use crate::world::World;
use ralph_core::modes::orchestration::guardrails::Guardrails;
use ralph_core::modes::orchestration::recovery::{Recovery, after};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ID: &str = "260131-120000";

/// A session, and all that its router said.
struct Session {
    world: World,
    script: Script,
    /// State, call and inputs, in their order.
    called: Vec<(String, Called, Value)>,
}

impl Session {
    fn new(script: Script) -> Session {
        let world = World::new();
        terminal(&world, &["session", "new", "--id", ID, "Build a door"], "").done();
        Session { world, script, called: Vec::new() }
    }

    fn folder(&self) -> PathBuf {
        self.world.project().join(".ralph-sessions").join(ID)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder().join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn next(&self) -> Value {
        self.asks(&["session", "next", "--json", "--id", ID])
    }

    /// The calls that come next are made, and what comes before them is written.
    fn begins(&self) -> Value {
        self.asks(&["session", "next", "--begin", "--json", "--id", ID])
    }

    fn asks(&self, command: &[&str]) -> Value {
        let said = terminal(&self.world, command, "");
        assert!(said.exit == 0 || said.exit == 1, "{said:?}");
        said.json()
    }

    /// The agents that come next do their work.
    fn step(&mut self) -> usize {
        let said = self.begins();
        let calls = said["invocations"].as_array().unwrap();
        for call in calls {
            let text = |name: &str| call[name].as_str().unwrap().to_owned();
            let called = Called { kind: text("agent"), prompt: text("prompt") };
            for (path, text) in self.script.writes(&self.folder(), &called) {
                self.write(&path, &text);
            }
            let state = said["current_state"].as_str().unwrap().to_owned();
            self.called.push((state, called, call["inputs"].clone()));
        }
        calls.len()
    }

    fn until(&mut self, state: &str) -> Value {
        for _ in 0..60 {
            let said = self.next();
            if said["current_state"] == state {
                return self.begins();
            }
            assert!(self.step() > 0, "{said}");
        }
        panic!("{state} never comes");
    }

    fn until_the_end(&mut self) -> Value {
        for _ in 0..60 {
            if self.step() == 0 {
                return self.next();
            }
        }
        panic!("it never ends");
    }

    /// Feedback for the second iteration, by the document's own steps.
    fn feedback(&self) {
        let stamp = "20260201-080000";
        let make = example("ralph-v2/feedback-folder.ps1");
        let fill = |text: &str| {
            text.replace("<SESSION_ID>", ID)
                .replace("<N+1>", "2")
                .replace("<N>", "1")
                .replace("$timestamp", stamp)
        };
        let folder = make.split("mkdir ").nth(1).unwrap().trim();
        let folder = self.world.project().join(fill(folder));
        fs::create_dir_all(&folder).unwrap();
        for line in example("ralph-v2/feedback-artifacts.ps1").lines() {
            let [_, file, to] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            assert_eq!(self.world.project().join(fill(to)), folder);
            fs::write(folder.join(file), "log").unwrap();
        }
        let text = fill(&example("ralph-v2/feedbacks.md"))
            .replace("<ISO8601>", "2026-02-01T08:00:00+00:00")
            .replace("<timestamp>", stamp);
        fs::write(folder.join("feedbacks.md"), text).unwrap();
    }
}

/// Two iterations: the first leaves gaps, the second begins with the document's feedback.
fn two_iterations() -> Session {
    let mut script = six_tasks();
    script.fails.insert("task-4", 1);
    script.assessments = vec!["Gaps Identified", "Complete"];
    let mut session = Session::new(script);
    assert_eq!(session.until_the_end()["status"], "awaiting_feedback");
    session.feedback();
    assert_eq!(session.until_the_end()["status"], "completed");
    session
}

/// The calls of a block: the agent with its lines of inputs.
fn invoked(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut calls: Vec<(String, Vec<(String, String)>)> = Vec::new();
    let mut depth = None;
    for line in text.lines() {
        let inset = line.len() - line.trim_start().len();
        match (line.trim_start().strip_prefix("INVOKE "), depth) {
            (Some(agent), _) if !agent.contains('(') => {
                calls.push((agent.trim().to_owned(), Vec::new()));
                depth = Some(inset);
            }
            (_, Some(least)) if inset > least => {
                let (name, value) = line.trim().split_once(": ").unwrap();
                calls.last_mut().unwrap().1.push((name.to_owned(), value.to_owned()));
            }
            _ => depth = None,
        }
    }
    calls
}

/// A router's call in this state has these inputs; a value with a placeholder may be any.
fn is_made(session: &Session, agent: &str, inputs: &[(String, String)]) -> bool {
    let is_as_written = |call: &Called, iteration: &str, name: &str, value: &str| {
        let before: u32 = iteration.parse::<u32>().unwrap() - 1;
        let value = value
            .replace("<SESSION_ID>", ID)
            .replace("<ITERATION-1>", &before.to_string())
            .replace("<ITERATION>", iteration);
        let said = call.said(name);
        let is_open = value.contains(['<', '[', '*']) || value.contains("NEW_");
        if is_open { !said.is_empty() } else { said == value }
    };
    session.called.iter().any(|(_, call, said)| {
        let iteration = said["ITERATION"].as_str().unwrap_or("1");
        call.kind == agent
            && inputs.iter().all(|(name, value)| is_as_written(call, iteration, name, value))
    })
}

#[test]
fn each_call_that_the_document_writes_is_made_with_its_inputs() {
    let session = two_iterations();
    let mut n_calls = 0;
    for file in [
        example("ralph-v2/initializing.txt"),
        example("ralph-v2/replanning.txt"),
        example("ralph-v2/executing-batch.txt"),
        example("ralph-v2/reviewing-batch.txt"),
        example("ralph-v2/session-review.txt"),
    ] {
        for (agent, inputs) in invoked(&file) {
            n_calls += 1;
            assert!(is_made(&session, &agent, &inputs), "{agent} {inputs:?}");
        }
    }
    assert_eq!(n_calls, 9);
    // Planning is written as a route: `plan-research → agent (MODE: research, CYCLE=N)`.
    let routes = example("ralph-v2/planning.txt");
    let routes: Vec<&str> = routes.lines().filter(|line| line.contains(" → ")).collect();
    assert_eq!(routes.len(), 3);
    for route in routes {
        let (agent, rest) = route.split(" → ").nth(1).unwrap().split_once(" (MODE: ").unwrap();
        let (mode, cycle) =
            rest.trim_end_matches(')').split_once(", ").unwrap_or((rest.trim_end_matches(')'), ""));
        let found =
            session.called.iter().find(|(_, call, _)| call.kind == agent && call.mode() == mode);
        let (state, _, inputs) = found.unwrap_or_else(|| panic!("{route}"));
        assert_eq!(
            (state.as_str(), inputs["CYCLE"].is_string()),
            ("PLANNING", !cycle.is_empty()),
            "{route}"
        );
    }
    // One mode or one task in each call.
    for (_, call, _) in &session.called {
        assert!(
            call.prompt.matches("\nMODE: ").count() + call.prompt.matches("\nTASK_ID: ").count()
                <= 2,
            "{call:?}"
        );
    }
}

#[test]
fn a_session_goes_through_the_states_of_the_drawing_and_of_each_block() {
    let session = two_iterations();
    let drawing = example("ralph-v2/state-machine.txt");
    let seen: BTreeSet<&str> = session.called.iter().map(|(state, ..)| state.as_str()).collect();
    for state in &seen {
        // A long name stands on two lines of its box.
        let first = if state.len() > 12 {
            state.split_inclusive('_').next().unwrap().trim_end_matches('_')
        } else {
            state
        };
        assert!(drawing.contains(first), "{state}");
    }
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [
            "EXECUTING_BATCH",
            "INITIALIZING",
            "PLANNING",
            "REPLANNING",
            "REVIEWING_BATCH",
            "SESSION_REVIEW"
        ]
    );
    for part in drawing.split("Ralph-v2-").skip(1) {
        let Some((agent, mode)) = part.split_once(" (MODE: ") else { continue };
        if agent.contains(char::is_whitespace) {
            continue;
        }
        let mode = mode.split([')', ',']).next().unwrap();
        assert!(
            session
                .called
                .iter()
                .any(|(_, call, _)| call.kind.ends_with(agent) && call.mode() == mode),
            "{agent} {mode}"
        );
    }
    // Waves: nobody is carried out before what it depends on is qualified.
    assert!(example("ralph-v2/batching.txt").contains("Topological sort to create waves"));
    let order: Vec<String> = session.called.iter().map(|(_, call, _)| call.short()).collect();
    let at = |what: &str| {
        order.iter().position(|call| call == what).unwrap_or_else(|| panic!("{what} in {order:?}"))
    };
    for (task, on) in six_tasks().tasks {
        for on in on.split(", ").filter(|on| !on.is_empty()) {
            assert!(at(&format!("EXECUTE {task}")) > at(&format!("TASK_REVIEW {on}")), "{order:?}");
        }
    }
    let replanned = ["feedback-analysis", "UPDATE", "REBREAKDOWN"].map(at);
    assert!(replanned.is_sorted() && at("SESSION_REVIEW") < replanned[0]);
    // The end: everything done is success, and what has failed waits for a person.
    let end = example("ralph-v2/complete.txt");
    assert!(
        end.contains("EXIT with success summary")
            && end.contains("EXIT with instructions for next iteration")
    );
    let mut script = six_tasks();
    script.fails.insert("task-2", 9);
    script.assessments = vec!["Complete"];
    let mut failing = Session::new(script);
    let said = failing.until_the_end();
    assert_eq!(
        (&said["status"], &said["current_state"]),
        (&json!("awaiting_feedback"), &json!("COMPLETE"))
    );
    assert!(said["next_action"].as_str().unwrap().contains("feedback"), "{said}");
}

#[test]
fn every_artifact_of_the_document_is_where_it_says_and_its_owner_is_an_agent() {
    let session = two_iterations();
    let front = example("ralph-v2/front-matter.yaml");
    let agents: Vec<&str> = front
        .lines()
        .find(|line| line.starts_with("agents:"))
        .unwrap()
        .split('\'')
        .skip(1)
        .step_by(2)
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for agent in &agents {
        let text = fs::read_to_string(root.join(format!("agents/{agent}.md"))).unwrap();
        assert!(text.contains(&format!("\nname: {agent}\n")), "{agent}");
        assert!(session.called.iter().any(|(_, call, _)| call.kind == *agent), "{agent} is called");
    }
    assert_eq!(agents.len(), 4);
    let name = front.lines().next().unwrap().trim_start_matches("name: ").to_lowercase();
    assert!(root.join(format!("skills/{name}/SKILL.md")).is_file());
    for row in rows(&example("ralph-v2/artifacts.md")) {
        let path = quoted(&row[1])[0]
            .replace("<task-id>-report[-r<N>]", "task-4-report-r2")
            .replace("<task-id>", "task-1")
            .replace("<category>", "risks")
            .replace("plan.iteration-N", "plan.iteration-1")
            .replace("iterations/<N>/feedbacks", "iterations/2/feedbacks")
            .replace("<N>", "1")
            .replace("<timestamp>", "20260201-080000");
        // A folder for what a replanning replaces; where nothing was replaced there is none.
        assert!(session.folder().join(&path).exists() || row[0] == "Replanning", "{row:?}: {path}");
    }
    // The conversation that orchestrates writes none of them.
    let world = World::new();
    world.type_command("ralph-v2", "\"Build a door\"").context();
    let id = world.state()["session"]["id"].as_str().unwrap().to_owned();
    for row in rows(&example("ralph-v2/artifacts.md")) {
        let path = quoted(&row[1])[0].replace(['<', '>', '[', ']'], "");
        let path = world.project().join(".ralph-sessions").join(&id).join(path);
        let path = if path.extension().is_some() { path } else { path.join("x.md") };
        world.tool("Write", json!({"file_path": path, "content": "x"})).denied();
    }
}

#[test]
fn an_id_that_is_none_is_refused_in_the_documents_words() {
    let block = example("ralph-v2/resolution.txt");
    let words = block.split("EXIT with error \"").nth(1).unwrap().split('"').next().unwrap();
    let world = World::new();
    for id in [
        "../up",
        "a/b",
        "260131.120000",
        "260131-12000",
        "26013a-120000",
        "261331-120000",
        "x",
        "260131 120000",
    ] {
        let said = terminal(&world, &["session", "new", "--id", id, "Build a door"], "");
        assert!(said.exit != 0 && said.stderr.contains(words), "{id}: {said:?}");
    }
    assert!(!world.project().join(".ralph-sessions").exists());
    // The guardrails: the document's defaults, and its names with other values.
    let lines: Vec<&str> = block.lines().filter(|line| line.contains("(default ")).collect();
    let value = |line: &str| {
        line.split("(default ").nth(1).unwrap().trim_end_matches(')').parse::<u32>().unwrap()
    };
    let of = |rails: Guardrails| {
        [rails.max_cycles, rails.max_subagent_retries, rails.task_wip_minutes].to_vec()
    };
    assert_eq!(of(Guardrails::default()), lines.iter().map(|line| value(line)).collect::<Vec<_>>());
    let written = |by: &dyn Fn(&str, &str, u32) -> String| -> String {
        lines
            .iter()
            .map(|line| {
                let (group, name) = line
                    .trim()
                    .trim_start_matches("- ")
                    .split(' ')
                    .next()
                    .unwrap()
                    .split_once('.')
                    .unwrap();
                by(group, name, value(line) + 5)
            })
            .collect()
    };
    let front =
        format!("---\n{}---\n", written(&|group, name, n| format!("{group}:\n  {name}: {n}\n")));
    let (rails, findings) = Guardrails::parse(&front);
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(of(rails), [7, 6, 65]);
    // No cycle of questions at all goes straight to the tasks.
    let mut session = Session::new(six_tasks());
    let instructions =
        session.world.project().join(format!(".ralph-sessions/{ID}.instructions.md"));
    fs::write(instructions, "---\nplanning:\n  max_cycles: 0\n---\n").unwrap();
    session.until("EXECUTING_BATCH");
    assert!(
        !session.called.iter().any(|(_, call, _)| call.kind == "Ralph-v2-Questioner"),
        "{:?}",
        session.called
    );
    // Without metadata.yaml the state is inferred.
    fs::remove_file(session.folder().join("metadata.yaml")).unwrap();
    assert_eq!(session.next()["current_state"], "EXECUTING_BATCH");
}

#[test]
fn a_file_that_lacks_what_the_document_asks_for_goes_to_repair() {
    let planned = || {
        let mut session = Session::new(six_tasks());
        session.until("EXECUTING_BATCH");
        session
    };
    let goes_to_repair = |session: &Session, what: &str| {
        // With a state the file is named, and rendered anew at the next step.
        let said = session.next();
        assert_eq!(said["current_state"], "EXECUTING_BATCH", "{what}: {said}");
        assert!(!said["findings"].as_array().unwrap().is_empty(), "{what}");
        fs::remove_dir_all(session.world.ralph_home().join("sessions")).unwrap();
        let said = session.next();
        assert_eq!(said["current_state"], "REPAIR_STATE", "{what}: {said}");
        assert_eq!(said["invocations"][0]["mode"], "REPAIR_STATE");
        assert!(!said["findings"].as_array().unwrap().is_empty(), "{what}");
    };
    for line in example("ralph-v2/progress-schema.md").lines() {
        let named = quoted(line);
        let heading = named[0].replace("Iteration N", "Iteration 1");
        let session = planned();
        let text = session.read("progress.md");
        assert!(text.contains(&heading), "{heading}");
        session.write("progress.md", &text.replacen(&heading, "Something else", 1));
        goes_to_repair(&session, &heading);
        for mark in &named[1..] {
            assert!(text.contains(&format!("`{mark}`")), "{mark}");
            let session = planned();
            let without: Vec<&str> =
                text.lines().filter(|line| !line.starts_with(&format!("- `{mark}`"))).collect();
            session.write("progress.md", &(without.join("\n") + "\n"));
            goes_to_repair(&session, mark);
        }
    }
    for line in example("ralph-v2/metadata-schema.md").lines() {
        for field in quoted(line) {
            let session = planned();
            let text = session.read("metadata.yaml");
            let name = field.rsplit('.').next().unwrap();
            let without: Vec<&str> = text
                .lines()
                .filter(|line| !line.trim_start().starts_with(&format!("{name}:")))
                .collect();
            assert_eq!(without.len() + 1, text.lines().count(), "{field} in {text}");
            session.write("metadata.yaml", &(without.join("\n") + "\n"));
            match field.as_str() {
                // What the folder shows anyway needs no repair.
                "orchestrator.state" => {
                    assert_eq!(session.next()["current_state"], "EXECUTING_BATCH")
                }
                field => goes_to_repair(&session, field),
            }
        }
    }
}

#[test]
fn a_call_that_fails_is_made_again_after_the_documents_waits() {
    let policy = example("ralph-v2/timeout-policy.md");
    let sleeps: Vec<i64> = policy
        .lines()
        .take(4)
        .map(|line| {
            line.split("sleep ")
                .nth(1)
                .map_or(0, |rest| rest.split(' ').next().unwrap().parse().unwrap())
        })
        .collect();
    let now = jiff::Timestamp::UNIX_EPOCH;
    for (failures, seconds) in (1..).zip(&sleeps) {
        let expected = match seconds {
            0 => Recovery::Again,
            seconds => Recovery::NotBefore(now + jiff::SignedDuration::from_secs(*seconds)),
        };
        assert_eq!(after(failures, now, now), expected, "{policy}");
    }
    assert_eq!((sleeps.len(), after(5, now, now)), (4, Recovery::GiveUp));
    // The commands that the document gives for these waits are for the same times.
    let commands = example("ralph-v2/sleeps.md");
    let bash: Vec<i64> = quoted(commands.lines().nth(1).unwrap())
        .iter()
        .map(|command| command.trim_start_matches("sleep ").parse().unwrap())
        .collect();
    assert!(sleeps[1..].iter().all(|seconds| bash.contains(seconds)));
}

#[test]
fn times_of_the_documents_commands_are_taken_for_ids_and_in_files() {
    let commands = example("ralph-v2/timestamps.md");
    let dates: Vec<String> =
        quoted(&commands).into_iter().filter(|command| command.starts_with("date ")).collect();
    // Two projects: in one, a name that is taken becomes that of the next second.
    let [mut world, mut other] = [World::new(), World::new()];
    for world in [&mut world, &mut other] {
        world.set("TZ", "<+07>-7");
    }
    let says = |command: &str| -> Shown {
        let mut bash = Command::new("bash");
        bash.args(["-c", command]);
        shown(&world, bash, "").done()
    };
    let id = says(&dates[0]).stdout.trim().to_owned();
    terminal(&world, &["session", "new", "--id", &id, "Build a door"], "").done();
    // Without a name it takes the local time, too: the minute is the command's, unless it has just passed.
    let (before, said, then) = (
        says(&dates[0]).stdout,
        terminal(&other, &["session", "new", "Another"], "").done(),
        says(&dates[0]).stdout,
    );
    assert!(
        said.stdout.contains(&before[..11]) || said.stdout.contains(&then[..11]),
        "{before} {said:?}"
    );
    // The form of the second command stands in a session's files.
    let time = says(&dates[1]).stdout.trim().to_owned();
    assert!(time.ends_with("+0700"), "{time}");
    let mut session = Session::new(six_tasks());
    session.until("EXECUTING_BATCH");
    let text = session.read("metadata.yaml");
    let line = text.lines().find(|line| line.starts_with("created_at: ")).unwrap();
    session.write("metadata.yaml", &text.replace(line, &format!("created_at: {time}")));
    assert_eq!(session.next()["current_state"], "EXECUTING_BATCH");
    terminal(&session.world, &["session", "validate", "--id", ID], "").done();
}

#[test]
fn skills_lie_in_the_clients_own_folder_and_not_in_the_documents() {
    let lines = example("ralph-v2/skills-directory.md");
    assert!(lines.contains("~/.copilot/skills"));
    let world = World::new();
    terminal(&world, &["install"], "").done();
    let home = world.root().join("home");
    assert!(home.join(".claude/skills/ralph-v2/SKILL.md").is_file());
    assert!(!home.join(".copilot").exists());
}

#[test]
fn signals_in_the_documents_folder_are_heard_oldest_first() {
    let places = quoted(&example("ralph-v2/signal-places.md"));
    assert_eq!(places.len(), 2);
    let routine = example("ralph-v2/poll-signals.md");
    let words: Vec<String> =
        routine.lines().filter(|line| line.starts_with("    - **")).map(super::bold).collect();
    assert_eq!(words, ["STEER", "PAUSE", "STOP", "INFO"]);
    let mut session = Session::new(six_tasks());
    session.until("EXECUTING_BATCH");
    let inputs = session.world.project().join(places[0].replace("<SESSION_ID>", ID));
    assert!(session.world.project().join(places[1].replace("<SESSION_ID>", ID)).is_dir());
    let says = |stamp: &str, text: &str| {
        fs::write(inputs.join(format!("20260201-0800{stamp}.md")), text).unwrap()
    };
    says("02", "INFO: the paint is in the cellar");
    says("01", "STEER: use oak");
    let said = session.next();
    assert_eq!(said["invocations"].as_array().unwrap().len(), 2, "{said}");
    for call in said["invocations"].as_array().unwrap() {
        let prompt = call["prompt"].as_str().unwrap();
        let (steer, info) = (prompt.find("use oak"), prompt.find("the paint is in the cellar"));
        assert!(steer.is_some() && steer < info, "{prompt}");
    }
    for word in ["PAUSE", "STOP"] {
        let mut session = Session::new(six_tasks());
        session.until("EXECUTING_BATCH");
        session.write("signals/inputs/20260201-080000.md", &format!("{word}: enough"));
        let said = session.next();
        assert_eq!(
            (&said["status"], said["invocations"].as_array().unwrap().len()),
            (&json!("blocked"), 0),
            "{word}: {said}"
        );
    }
}

#[test]
fn feedback_of_the_document_begins_the_next_iteration_and_stands_in_its_table() {
    let mut session =
        Session::new(Script { assessments: vec!["Gaps Identified", "Complete"], ..six_tasks() });
    assert_eq!(session.until_the_end()["status"], "awaiting_feedback");
    let before = session.called.len();
    session.feedback();
    let said = session.begins();
    assert_eq!((&said["current_state"], &said["iteration"]), (&json!("REPLANNING"), &json!(2)));
    let paths = said["invocations"][0]["inputs"]["FEEDBACK_PATHS"].as_str().unwrap();
    for file in
        ["ralph-v2/feedback-folder.ps1", "ralph-v2/feedback-artifacts.ps1", "ralph-v2/feedbacks.md"]
    {
        assert!(!example(file).is_empty());
    }
    assert!(paths.contains("iterations/2/feedbacks/20260201-080000/"), "{paths}");
    let table = example("ralph-v2/iterations.md");
    let heads: Vec<&str> = table.lines().take(2).collect();
    let progress = session.read("progress.md");
    for head in heads {
        assert!(progress.contains(head), "{head} in {progress}");
    }
    assert!(progress.contains("| 1 | ") && progress.contains("| 2 | Replanning | "), "{progress}");
    assert_eq!(session.until_the_end()["status"], "completed");
    assert_eq!(session.called[before].1.mode(), "feedback-analysis");
    assert!(session.read("iterations/2/metadata.yaml").contains("completed_at: "));
    assert!(session.read("iterations/1/metadata.yaml").contains("started_at: "));
}

#[test]
fn a_task_without_a_file_fails_and_a_stale_one_is_timed_out() {
    let block = example("ralph-v2/executing-batch.txt");
    let words = block.split("with blocker: \"").nth(1).unwrap().split('"').next().unwrap();
    let mut session = Session::new(six_tasks());
    session.until("EXECUTING_BATCH");
    fs::remove_file(session.folder().join("tasks/task-2.md")).unwrap();
    session.begins();
    let progress = session.read("progress.md");
    let line = progress.lines().find(|line| line.contains("task-2")).unwrap();
    assert!(line.starts_with("- [F] task-2") && line.contains(words), "{line}");
    let mut session = Session::new(six_tasks());
    session.until("EXECUTING_BATCH");
    terminal(&session.world, &["session", "mark", "task-1", "started", "--id", ID], "").done();
    let progress = session.read("progress.md");
    let started =
        progress.split("started: ").nth(1).unwrap().split([')', ',']).next().unwrap().to_owned();
    session.write("progress.md", &progress.replace(&started, "2026-01-31T00:00:00+00:00"));
    let said = session.next();
    let calls = said["invocations"].as_array().unwrap();
    let timed_out =
        |call: &Value| call["mode"] == "TIMEOUT_FAIL" && call["inputs"]["TASK_ID"] == "task-1";
    assert!(calls.iter().any(timed_out), "{said}");
}

#[test]
fn what_goes_in_and_what_comes_out_have_the_documents_members() {
    let input: Value = serde_json::from_str(&example("ralph-v2/input.json")).unwrap();
    let output: Value = serde_json::from_str(&example("ralph-v2/output.json")).unwrap();
    let mut names: Vec<&String> = input.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["SESSION_ID", "USER_REQUEST"]);
    let mut session = Session::new(six_tasks());
    let first = session.next();
    assert_eq!(first["invocations"][0]["inputs"]["USER_REQUEST"], "Build a door");
    let check = |said: &Value| {
        for (name, form) in output.as_object().unwrap() {
            let value = &said[name];
            match form.as_str() {
                Some(form) if form.starts_with("number") => {
                    assert!(value.is_u64(), "{name}: {said}")
                }
                Some(form) if form.starts_with("string") => {
                    assert!(value.is_string(), "{name}: {said}")
                }
                // Two states that the document has and its list leaves out.
                Some(form) => assert!(
                    form.split(" | ").any(|word| value == word) || value == "SESSION_REVIEW",
                    "{name}: {said}"
                ),
                None => {
                    for (name, form) in form.as_object().unwrap() {
                        assert!(form == "number" && value[name].is_u64(), "{name}: {said}");
                    }
                }
            }
        }
    };
    check(&first);
    while session.step() > 0 {
        check(&session.next());
    }
    let last = session.next();
    assert_eq!(
        (&last["status"], &last["tasks_summary"]["total"]),
        (&json!("completed"), &json!(6))
    );
    // The second input resumes that session.
    let world = session.world;
    world.type_command("ralph-v2", ID).exit(0);
    assert_eq!(fs::read_dir(world.project().join(".ralph-sessions")).unwrap().count(), 1);
}

#[test]
fn the_documents_sentence_continues_that_session() {
    let sentence = example("ralph-v2/continue.txt").trim().replace("<SESSION_ID>", ID);
    let script = Script { assessments: vec!["Gaps Identified"], ..six_tasks() };
    let mut session = Session::new(script);
    assert_eq!(session.until_the_end()["status"], "awaiting_feedback");
    session.feedback();
    let world = session.world;
    let told = world.type_command("ralph-v2", &format!("\"{sentence}\"")).context();
    assert_eq!(world.state()["session"]["id"], ID, "{told}");
    let calls = crate::orchestrated::calls_in(&told);
    assert_eq!(calls[0].mode(), "feedback-analysis", "{told}");
    let folders = fs::read_dir(world.project().join(".ralph-sessions")).unwrap();
    assert_eq!(folders.filter(|folder| folder.as_ref().unwrap().path().is_dir()).count(), 1);
    // One that there is not begins nothing.
    let world = World::new();
    let said = world.type_command("ralph-v2", &format!("\"{sentence}\"")).kept_from_model();
    assert!(said.contains(ID) && !world.has_entry(), "{said}");
}
