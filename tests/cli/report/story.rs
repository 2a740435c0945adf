//! A loop as it could have been, decided by the rules themselves: an hour of work with nine tasks, refusals, a
//! criterion that turns red, a signal, and an end with all proven. Each moment is fixed, so that what is made of
//! it is the same each time.

use jiff::{SignedDuration, Timestamp};
use ralph_core::evidence::receipt::{self, Proof};
use ralph_core::modes::mode;
use ralph_core::state::{
    Change, Criterion, CriterionRunner, EndingKind, Green, LoopError, LoopState, Observation,
    Observed, Outcome, Phase, Receipt, Regression, Task, TaskStatus, Tokens, Usage,
};
use ralph_core::stop::{self, StopInputs, StopVerdict};
use ralph_core::tasks::graph::{self, ClaimTarget, Lease};
use ralph_core::text::token;
use ralph_io::store::journal::{self, JournalEntry};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(crate) const ID: &str = "20260310-091500-7c2e";

const TASKS: [(&str, &str, &str); 9] = [
    ("T-1", "Measure what the API does under load today", ""),
    ("T-2", "Choose a bucket for each key and write it down", ""),
    ("T-3", "Token bucket with a clock that tests can set", "T-2"),
    ("T-4", "Keep buckets in Redis, with a script for one round trip", "T-2"),
    ("T-5", "Middleware: 429 with Retry-After", "T-3"),
    ("T-6", "Limits per plan from the settings, read again on SIGHUP", "T-3"),
    ("T-7", "Metrics and a dashboard for refused calls", "T-5"),
    ("T-8", "Bench: p99 stays below 4 ms at 2,000 calls a second", "T-1 T-4 T-5"),
    ("T-9", "Document the limits for callers", "T-5 T-6"),
];

const CRITERIA: [(&str, &str, &str); 4] = [
    ("AC-1", "all tests pass", "cargo test --workspace"),
    ("AC-2", "no warnings", "cargo clippy --workspace -- -D warnings"),
    (
        "AC-3",
        "p99 below 4 ms at 2,000 calls a second",
        "cargo bench --bench limits -- --check p99=4ms",
    ),
    ("AC-4", "the limits are documented", "grep -q 'Retry-After' docs/limits.md"),
];

/// What a stop finds of each criterion: passed, failed, or not asked.
type Found = Option<[bool; 4]>;

pub(crate) struct Story {
    pub(crate) state: LoopState,
    pub(crate) entries: Vec<JournalEntry>,
    now: Timestamp,
    tree: u32,
}

impl Story {
    /// All of it.
    pub(crate) fn told() -> Story {
        let mut story = Story::begun();
        story.claim("T-1");
        story.denied("AskUserQuestion", None, "question");
        story.after(7, 182_000).works().stop("I measured: p99 is 2.1 ms without limits.", None);
        story.done(&["T-1", "T-2"]);
        story.after(6, 240_000).works().stop("The bucket is chosen; see docs/limits.md.", None);
        story.checks("src/bucket.rs:41: error[E0382]: borrow of moved value: `clock`");
        story.done(&["T-3"]);
        story.after(9, 410_000).works().stop(
            "Bucket and tests are there.\n\nRALPH_COMPLETE",
            Some([true, false, false, false]),
        );
        story.checks("src/redis.rs:12: warning: unused import: `std::time::Instant`");
        story.denied("Bash", Some("ralph criteria accept"), "refused_command");
        story.done(&["T-4", "T-5"]);
        story.after(11, 520_000).works().verify([true, true, false, false]);
        story.after(1, 20_000).stop("The middleware answers 429.", None);
        story.delivered("STEER: keep the header names that version 1 had");
        story.after(3, 60_000).stop("I will think about the bench.", None);
        story.done(&["T-6", "T-8"]);
        story
            .after(12, 610_000)
            .works()
            .stop("The bench holds now.\n\nRALPH_COMPLETE", Some([false, true, true, false]));
        story.denied("Bash", Some("ralph criteria accept"), "refused_command");
        story.after(5, 130_000).works().verify([true, true, true, false]);
        story.done(&["T-7", "T-9"]);
        story
            .after(6, 205_000)
            .works()
            .stop("Documented.\n\nRALPH_COMPLETE", Some([true, true, true, true]));
        story
    }

    /// The same, cut in the middle and given up: one task failed, another waits for a person.
    pub(crate) fn given_up() -> Story {
        let mut story = Story::begun();
        story.after(7, 182_000).works().stop("I measured.", None);
        story.done(&["T-1", "T-2", "T-3"]);
        story.after(9, 410_000).works().verify([true, false, false, false]);
        story.after(2, 60_000).stop("Still at it.", None);
        let task = |story: &mut Story, id: &str, status: TaskStatus, why: &str| {
            let task = story.state.task_graph.iter_mut().find(|task| task.id == id).unwrap();
            task.status = status;
            task.result = Some(why.to_owned());
        };
        task(&mut story, "T-4", TaskStatus::Blocked, "needs the password of the staging Redis");
        task(&mut story, "T-5", TaskStatus::Failed, "the framework reads the body first");
        story.claim("T-6");
        story.state.errors.push(LoopError { at: story.now, message: "a turn was cut".to_owned() });
        story.after(4, 90_000);
        story.state.end(EndingKind::Cancelled, "a person cancelled", story.now);
        story.note(
            "ralph cancel",
            "ended",
            "a person cancelled on the command line",
            Value::Null,
            None,
        );
        story
    }

    /// The same loop, with texts as nobody should write them: long, unbroken, and full of markup.
    pub(crate) fn hostile() -> Story {
        let mut story = Story::told();
        let evil = format!(
            "</style><script>fetch('http://x.invalid')</script>\u{1b}[2J{}",
            "W".repeat(900)
        );
        let worse = |text: &mut String| text.push_str(&evil);
        let state = &mut story.state;
        [&mut state.prompt, &mut state.session_id, &mut state.project_root]
            .into_iter()
            .for_each(worse);
        for criterion in &mut state.acceptance_criteria {
            [&mut criterion.id, &mut criterion.description, &mut criterion.verification_command]
                .into_iter()
                .for_each(worse);
        }
        for task in &mut state.task_graph {
            worse(&mut task.name);
            task.result = Some(evil.clone());
        }
        state.ending.as_mut().map(|ending| worse(&mut ending.detail)).unwrap();
        state.errors.push(LoopError { at: story.now, message: evil.clone() });
        for entry in &mut story.entries {
            [&mut entry.why, &mut entry.position, &mut entry.input].into_iter().for_each(worse);
            if entry.event == "UserPromptExpansion" {
                worse(&mut entry.event);
            }
        }
        story
    }

    fn begun() -> Story {
        let now: Timestamp = "2026-03-10T09:15:00Z".parse().unwrap();
        let criterion = |(id, about, command): (&str, &str, &str)| Criterion {
            id: id.to_owned(),
            description: about.to_owned(),
            verification_command: command.to_owned(),
            ..Criterion::default()
        };
        let task = |(id, name, deps): (&str, &str, &str)| Task {
            id: id.to_owned(),
            name: name.to_owned(),
            deps: deps.split_whitespace().map(str::to_owned).collect(),
            ..Task::default()
        };
        let mut state = LoopState {
            loop_id: ID.to_owned(),
            session_id: "5f0c1f7e-8f61-4b0e-9a44-2f1f6f2f9d10".to_owned(),
            phase: Phase::Implementation,
            project_root: "/home/ada/tollgate".to_owned(),
            prompt: "Add rate limiting to the public API".to_owned(),
            max_iterations: 12,
            created_at: now,
            started_at: Some(now),
            updated_at: now,
            acceptance_criteria: CRITERIA.map(criterion).to_vec(),
            task_graph: TASKS.map(task).into_iter().collect(),
            ..LoopState::default()
        };
        state.limits.max_minutes = 120;
        state.limits.max_tokens = Some(4_000_000);
        let mut story = Story { state, entries: Vec::new(), now, tree: 1 };
        story.note(
            "UserPromptExpansion",
            "started",
            "the person typed it",
            json!({"via": "settings"}),
            None,
        );
        story
    }

    /// So many minutes later, with so many tokens used.
    fn after(&mut self, minutes: i64, tokens: u64) -> &mut Story {
        self.now += SignedDuration::from_secs(minutes * 60 + 7);
        let more = Tokens {
            input: tokens / 50,
            cache_creation: tokens / 10,
            cache_read: tokens - tokens / 50 - tokens / 10 - tokens / 25,
            output: tokens / 25,
        };
        self.state.usage = Usage { tokens: self.state.usage.tokens.plus(more), ..Usage::default() };
        self
    }

    /// Something of the tree has changed.
    fn works(&mut self) -> &mut Story {
        self.tree += 1;
        self
    }

    fn tree(&self) -> String {
        format!("{:016x}", 0x5b7e_4c1d_9a3f_u64 * u64::from(self.tree + 40_503)).repeat(4)
    }

    fn claim(&mut self, id: &str) {
        let lease = Lease { owner: "ralph-worker", length: None };
        graph::claim(&mut self.state.task_graph, ClaimTarget::Id(id), lease, self.now).unwrap();
    }

    fn done(&mut self, ids: &[&str]) {
        for id in ids {
            let task = self.state.task_graph.iter_mut().find(|task| task.id == *id).unwrap();
            task.status = TaskStatus::Done;
        }
    }

    /// Runs the criteria: each gets a receipt on the tree as it is.
    fn run(&mut self, passed: [bool; 4]) {
        let tree = self.tree();
        let last_green = "refs/ralph/20260310-091500-7c2e/1";
        for (at, passed) in passed.into_iter().enumerate() {
            let criterion = &mut self.state.acceptance_criteria[at];
            let tail = match (passed, at) {
                (false, 0) => {
                    "test middleware::keeps_v1_headers ... FAILED\n\nfailures:\n    left: \"X-RateLimit-Left\"\n   right: \"X-Rate-Left\"\n\ntest result: FAILED. 61 passed; 1 failed"
                }
                (false, 1) => "error: unused import: `std::time::Instant`\n  --> src/redis.rs:12:5",
                (false, 2) => "p99 = 5.7 ms, wanted 4 ms",
                _ => "",
            };
            let receipt = Receipt {
                command: criterion.verification_command.clone(),
                by: CriterionRunner::Hook,
                passed,
                exit_code: Some(if passed { 0 } else { 1 }),
                tests_run: (at == 0).then_some(38 + u64::from(self.tree) * 3),
                started_at: Some(self.now),
                duration_ms: [41_200, 12_900, 64_000, 6][at],
                tail: tail.to_owned(),
                tree_before: tree.clone(),
                tree_after: tree.clone(),
                ..Receipt::default()
            };
            receipt::record(criterion, receipt);
            receipt::note_turn(criterion, |_| Regression {
                checkpoint: last_green.to_owned(),
                files: vec!["src/middleware.rs".to_owned()],
                more: 0,
            });
        }
        if passed == [true; 4] {
            self.observe(&tree);
            let reference = last_green.replace("/1", "/2");
            self.state.checkpoint = Some(Green { reference, tree, at: self.now });
        }
    }

    /// What the runs on other files showed: all but the linter fail without the change.
    fn observe(&mut self, tree: &str) {
        let run = |outcome, tests_run, tests_failed| {
            Some(Observation { outcome, tests_run, tests_failed, ..Observation::default() })
        };
        for (at, criterion) in self.state.acceptance_criteria.iter_mut().enumerate() {
            let without = if at == 0 { (Some(62), 21) } else { (None, 0) };
            let failed = run(Outcome::Failed, without.0, without.1);
            criterion.observed = Observed {
                tree: tree.to_owned(),
                original: if at == 0 { run(Outcome::Passed, Some(41), 0) } else { None },
                without: if at == 1 { None } else { failed },
                ..Observed::default()
            };
        }
    }

    fn verify(&mut self, passed: [bool; 4]) -> &mut Story {
        self.run(passed);
        let standings: Value = CRITERIA
            .iter()
            .zip(passed)
            .map(|((id, ..), passed)| {
                ((*id).to_owned(), json!(if passed { "passes" } else { "failed" }))
            })
            .collect::<serde_json::Map<String, Value>>()
            .into();
        let holding = passed.iter().filter(|passed| **passed).count();
        let decision = if holding == 4 { "holds" } else { "does not hold" };
        self.note(
            "ralph verify",
            decision,
            &format!("{holding} of 4 criteria hold"),
            standings,
            None,
        );
        self
    }

    fn stop(&mut self, message: &str, found: Found) -> &mut Story {
        let proof = found.map(|passed| {
            self.run(passed);
            let trees = CRITERIA.iter().map(|(id, ..)| ((*id).to_owned(), self.tree())).collect();
            let change = Some(Change { code: 9, tests: 3, added: 5, ..Change::default() });
            Proof { trees, ran: true, change, ..Proof::default() }
        });
        let seen = StopInputs {
            now: self.now,
            prompt_id: "prompt-1".to_owned(),
            request: token::request(message, &self.state.completion_token),
            workers: Vec::new(),
            command_waits: false,
            steer_waits: false,
            document_gone: false,
            session: None,
            worked: Some(true),
            tree: Some(self.tree()),
            proof,
            work_before_checks: None,
            tree_after_checks: None,
        };
        let decided = stop::decide(mode::at_stop(&self.state), &mut self.state, &seen);
        let (decision, why) = match &decided.verdict {
            StopVerdict::LetGo(why) => ("let go", why.describe().to_owned()),
            StopVerdict::Ended(kind) => {
                ("ended", format!("{kind}: {}", self.state.ending.as_ref().unwrap().detail))
            }
            StopVerdict::GoOn => {
                ("go on", format!("{}\n{}", decided.step.line, decided.step.details))
            }
        };
        let record = serde_json::to_value(&decided.record).unwrap();
        self.note("Stop", decision, &why, json!({"message": message}), Some(record));
        self
    }

    fn denied(&mut self, tool: &str, command: Option<&str>, rule: &str) {
        self.now += SignedDuration::from_secs(95);
        let record = json!({"rule": rule, "tool": tool, "command": command, "shortened": false, "cut": false,
            "cwd": "/home/ada/tollgate", "mode": "loop", "standing": "running", "session_id": "s",
            "places": {"ralph_home": "/r", "config_dirs": [], "user_config": "", "executables": [],
                "home": "/home/ada"}});
        let why = format!("{rule}: This is for a person only while a loop is live.");
        let seen = json!({"tool": tool, "agent": ""});
        self.note("PreToolUse", "denied", &why, seen, Some(record));
    }

    fn checks(&mut self, what: &str) {
        self.now += SignedDuration::from_secs(95);
        let seen = json!({"tool": "Edit", "files": ["src/bucket.rs"]});
        self.note("PostToolUse", "told", what, seen, None);
    }

    fn delivered(&mut self, what: &str) {
        self.now += SignedDuration::from_secs(95);
        self.note("PostToolUse", "delivered", what, json!({"agent": ""}), None);
    }

    fn note(&mut self, event: &str, decision: &str, why: &str, seen: Value, record: Option<Value>) {
        self.entries.push(JournalEntry {
            at: self.now,
            event: event.to_owned(),
            decision: decision.to_owned(),
            why: why.to_owned(),
            position: self.state.position(),
            prompt_id: String::new(),
            input: String::new(),
            seen,
            record,
            took_us: 4_200,
        });
    }

    /// Puts it where an ended loop is kept in this home, and says where.
    pub(crate) fn keep(&self, home: &Path) -> PathBuf {
        let folder = home.join(format!("archive/ralph_archive_20260310T102200Z_{ID}"));
        std::fs::create_dir_all(&folder).unwrap();
        let state = serde_json::to_vec_pretty(&self.state).unwrap();
        std::fs::write(folder.join("state.json"), state).unwrap();
        self.entries.iter().for_each(|entry| journal::append(&folder, entry).unwrap());
        folder
    }
}
