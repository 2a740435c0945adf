//! Very many loops on one home, each in a session of its own.

use crate::answers::{self, ProcessAnswer, said};
use crate::calls::{self, Answer, Caller};
use crate::chance::Chance;
use crate::size::size;
use crate::tally;
use crate::world::{World, executable};
use crate::written;
use ralph_test_support::sample::seed;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) const TESTS: &[crate::Test] =
    &[("many_loops_on_one_home_are_counted_each_for_itself", many)];

const N_PROJECTS: usize = 20;

/// More than the machine has cores, and fewer than would only wait for each other.
const WIDTH: usize = 16;

/// What becomes of a session's loop.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Runs,
    Completes,
    IsCancelledBySession,
    IsCancelledInTerminal,
}

struct Many {
    world: World,
    projects: Vec<PathBuf>,
    sessions: Vec<(String, usize, Fate)>,
}

fn many() {
    let mut chance = Chance::of(seed());
    let many = Many::new(size().loops, &mut chance);
    let idle_alone = many.idle_calls();
    many.start();
    assert_eq!(many.listed("loops"), many.sessions.len());
    let idle_among_many = many.idle_calls();
    assert_eq!(idle_alone, idle_among_many, "system calls of hooks with nothing to do");
    many.check_bound_hook();
    let went_on = many.stop(&mut chance);
    many.end();
    many.check_counted(&went_on);
    many.check_status();
    many.cancel_all();
    many.hear_of_it();
    tally::loops(many.sessions.len());
}

impl Many {
    fn new(n_loops: usize, chance: &mut Chance) -> Many {
        let world = World::new();
        let projects: Vec<PathBuf> =
            (0..N_PROJECTS).map(|at| world.root().join(format!("project-{at}"))).collect();
        for project in &projects {
            let clone = Command::new("git")
                .arg("clone")
                .arg("-q")
                .arg(world.project())
                .arg(project)
                .status();
            assert!(clone.unwrap().success());
        }
        let fate = |at: usize| match at % 10 {
            0 => Fate::Completes,
            1 => Fate::IsCancelledBySession,
            2 => Fate::IsCancelledInTerminal,
            _ => Fate::Runs,
        };
        let mut sessions: Vec<(String, usize, Fate)> =
            (0..n_loops).map(|at| (format!("session-{at}"), at % N_PROJECTS, fate(at))).collect();
        chance.shuffle(&mut sessions);
        Many { world, projects, sessions }
    }

    fn hook(
        &self,
        what: &str,
        session: &(String, usize, Fate),
        name: &'static str,
        event: &str,
        members: Value,
    ) -> Caller {
        let project = &self.projects[session.1];
        let mut payload = self.world.payload(event, members);
        payload["session_id"] = json!(session.0);
        payload["cwd"] = json!(project);
        Caller::hook(&format!("{what} {}", session.0), &self.world, name, "settings", &payload)
            .of(&session.0, project)
    }

    fn terminal(&self, what: &str, words: &[&str]) -> Answer {
        let answer = calls::alone(Caller::terminal(what, &self.world, words));
        assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""), "{what}");
        answer
    }

    /// Names in a folder of the home.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.world.ralph_home().join(folder)).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn listed(&self, folder: &str) -> usize {
        self.names(folder).len()
    }

    fn with(&self, fate: Fate) -> Vec<&(String, usize, Fate)> {
        self.sessions.iter().filter(|session| session.2 == fate).collect()
    }

    /// Each session types its task. Starts take turns on the whole home, so on a busy machine one may
    /// be refused: aloud, with nothing started. The person types it again.
    fn start(&self) {
        let began = Instant::now();
        let starts = self.sessions.iter().map(|session| self.typed(session)).collect();
        let answers = calls::so_many_at_a_time(WIDTH, starts);
        eprintln!("{} starts in {:?}", answers.len(), began.elapsed());
        for answer in &answers {
            assert!(answer.took() < Duration::from_secs(10), "{answer:?}");
            if matches!(said(answer), ProcessAnswer::Spoke(text) if text.contains(" has held ")) {
                tally::gave_up();
                let session =
                    self.sessions.iter().find(|it| answer.what == format!("start {}", it.0));
                check_started(&calls::alone(self.typed(session.unwrap())));
            } else {
                check_started(answer);
            }
        }
        let entries = self.names("manifest");
        let bound = entries.iter().filter(|name| !name.starts_with("project-")).count();
        assert_eq!((bound, entries.len()), (self.sessions.len(), self.sessions.len() + N_PROJECTS));
    }

    fn typed(&self, session: &(String, usize, Fate)) -> Caller {
        let args = format!("\"Task of {}\" --max-iterations 1000 --stall-limit 1000", session.0);
        let members = json!({"command_name": "ralph", "command_args": args});
        self.hook("start", session, "ralph-user-prompt", "UserPromptExpansion", members)
    }

    /// One to three stops for each session, in any order and many at a time. Returns how many there
    /// were for each.
    fn stop(&self, chance: &mut Chance) -> BTreeMap<String, usize> {
        let mut went_on = BTreeMap::new();
        let mut callers = Vec::new();
        for session in &self.sessions {
            let n_stops = 1 + chance.below(3);
            went_on.insert(session.0.clone(), n_stops);
            for at in 0..n_stops {
                let members = json!({"last_assistant_message": format!("at work {at}")});
                callers.push(self.hook(
                    &format!("stop-{at}"),
                    session,
                    "ralph-stop-hook",
                    "Stop",
                    members,
                ));
            }
        }
        chance.shuffle(&mut callers);
        let answers = calls::so_many_at_a_time(WIDTH, callers);
        for (session, n_stops) in &went_on {
            let end = format!(" {session}");
            let own: Vec<u64> = answers
                .iter()
                .filter(|answer| answer.what.ends_with(&end))
                .map(|answer| match said(answer) {
                    ProcessAnswer::WentOn(iteration) => iteration,
                    _ => panic!("{answer:?}"),
                })
                .collect();
            assert_eq!(own.iter().max(), Some(&(*n_stops as u64)), "{session} {own:?}");
            assert_eq!(
                own.iter().sum::<u64>(),
                (1..=*n_stops as u64).sum::<u64>(),
                "{session} {own:?}"
            );
        }
        went_on
    }

    /// Some complete, some are cancelled in their session and some in a terminal, all at a time.
    fn end(&self) {
        let mut callers = Vec::new();
        for session in &self.sessions {
            callers.extend(match session.2 {
                Fate::Runs => None,
                Fate::Completes => Some(self.hook(
                    "complete",
                    session,
                    "ralph-stop-hook",
                    "Stop",
                    json!({"last_assistant_message": "RALPH_COMPLETE"}),
                )),
                Fate::IsCancelledBySession => Some(self.hook(
                    "cancel",
                    session,
                    "ralph-user-prompt",
                    "UserPromptExpansion",
                    json!({"command_name": "ralph-cancel", "command_args": ""}),
                )),
                Fate::IsCancelledInTerminal => Some(Caller::terminal(
                    &format!("terminal {}", session.0),
                    &self.world,
                    &["cancel", "--session", &session.0],
                )),
            });
        }
        let answers = calls::so_many_at_a_time(WIDTH, callers);
        for answer in &answers {
            let ending = if answer.is("complete") {
                answers::announcement("complete_unverified")
            } else {
                answers::announcement("cancelled")
            };
            let text = match said(answer) {
                ProcessAnswer::Spoke(text) | ProcessAnswer::Done(text) => text,
                _ => panic!("{answer:?}"),
            };
            assert!(text.contains(ending), "{answer:?}");
        }
    }

    /// Each loop's state and journal say as many as its session was told.
    fn check_counted(&self, went_on: &BTreeMap<String, usize>) {
        let home = self.world.ralph_home();
        let mut found = BTreeMap::new();
        for folder in ["loops", "archive"] {
            for name in self.names(folder) {
                let folder = home.join(folder).join(name);
                let state: Value =
                    serde_json::from_slice(&std::fs::read(folder.join("state.json")).unwrap())
                        .unwrap();
                let session = state["session_id"].as_str().unwrap().to_owned();
                assert_eq!(state["prompt"], format!("Task of {session}"));
                let n_lines = written::count(&written::lines(&folder), "Stop", "go on");
                assert_eq!(state["iteration"], n_lines, "{session}");
                assert_eq!(found.insert(session, n_lines), None, "one loop for each session");
            }
        }
        assert_eq!(found, *went_on);
    }

    fn check_status(&self) {
        let n_ended = self.sessions.len() - self.with(Fate::Runs).len();
        let answer = self.terminal("status", &["status", "--all", "--json"]);
        eprintln!("status --all of {} loops in {:?}", self.sessions.len(), answer.took());
        let listed: Value = serde_json::from_str(&answer.out).unwrap();
        let loops = listed["loops"].as_array().unwrap();
        let in_phase = |phase: &str| loops.iter().filter(|one| one["phase"] == phase).count();
        assert_eq!(
            (in_phase("implementation"), in_phase("ended")),
            (self.with(Fate::Runs).len(), n_ended)
        );
        assert_eq!(loops.len(), self.sessions.len());
        assert_eq!(listed["unreadable"], json!([]));
        check_time(&answer, self.sessions.len());
        assert_eq!(
            (self.listed("loops"), self.listed("archive")),
            (self.with(Fate::Runs).len(), n_ended)
        );
    }

    fn cancel_all(&self) {
        let answer = self.terminal("cancel", &["cancel", "--all"]);
        eprintln!("cancel --all of {} loops in {:?}", self.with(Fate::Runs).len(), answer.took());
        assert_eq!(
            answer.out.matches(answers::announcement("cancelled")).count(),
            self.with(Fate::Runs).len()
        );
        check_time(&answer, self.sessions.len());
        assert_eq!((self.listed("loops"), self.listed("archive")), (0, self.sessions.len()));
    }

    /// Each session whose loop was ended elsewhere hears of it at its next stop, and once.
    fn hear_of_it(&self) {
        let stops = |tag: &str| {
            let all = self.sessions.iter().map(|session| {
                self.hook(
                    tag,
                    session,
                    "ralph-stop-hook",
                    "Stop",
                    json!({"last_assistant_message": tag}),
                )
            });
            calls::so_many_at_a_time(WIDTH, all.collect())
        };
        let elsewhere = self.with(Fate::Runs).len() + self.with(Fate::IsCancelledInTerminal).len();
        assert_eq!(answers::announcements(&stops("first"), "cancelled"), elsewhere);
        assert!(stops("second").iter().all(|answer| said(answer) == ProcessAnswer::Nothing));
        assert_eq!(self.listed("manifest"), N_PROJECTS, "no session is bound any more");
        assert_eq!(self.listed("archive"), self.sessions.len());
    }

    /// How many system calls each hook makes in a session without a loop; none where they cannot be
    /// counted.
    fn idle_calls(&self) -> Option<Vec<usize>> {
        let foreign = ("nobody".to_owned(), 0, Fate::Runs);
        let hooks = [
            ("ralph-pre-tool-use", "PreToolUse"),
            ("ralph-backpressure", "PostToolUse"),
            ("ralph-stop-hook", "Stop"),
            ("ralph-user-prompt", "UserPromptSubmit"),
            ("ralph-session-context", "SessionStart"),
        ];
        hooks.iter().map(|(name, event)| self.system_calls(&foreign, name, event)).collect()
    }

    /// A tool call of one loop does not look at the others.
    fn check_bound_hook(&self) {
        // The portable form asks `ps`, which reads every process of the machine.
        if ralph_test_support::portable().is_some() {
            return;
        }
        let of =
            |at: usize| self.system_calls(&self.sessions[at], "ralph-pre-tool-use", "PreToolUse");
        let (first, last) = (of(0), of(self.sessions.len() - 1));
        // The orphan by which a process from outside is placed ends sooner or later. Each loop that is looked at takes at
        // least three calls.
        let differ = first.zip(last).map_or(0, |(first, last)| first.abs_diff(last));
        assert!(differ < self.sessions.len(), "{first:?}, {last:?}");
    }

    fn system_calls(
        &self,
        session: &(String, usize, Fate),
        name: &str,
        event: &str,
    ) -> Option<usize> {
        let mut payload = self.world.payload(event, json!({"tool_name": "Read"}));
        payload["session_id"] = json!(session.0);
        let log = tempfile::NamedTempFile::new().unwrap();
        let log_path = log.path().to_str().unwrap();
        let mut command =
            self.world.wrapped(&["strace", "-f", "-qq", "-o", log_path, executable(name)]);
        command.env("CLAUDE_CODE_SESSION_ID", &session.0);
        count_lines(command, &payload, log.path())
    }
}

fn count_lines(command: Command, payload: &Value, log: &Path) -> Option<usize> {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: strace is not installed, so no system calls can be counted");
        return None;
    }
    crate::world::run(command, "strace", payload.to_string().as_bytes());
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("execve("), "{log}");
    Some(log.lines().count())
}

#[track_caller]
fn check_started(answer: &Answer) {
    let started = matches!(said(answer), ProcessAnswer::Spoke(text) if text.contains(" started"));
    assert!(started, "{answer:?}");
}

/// Listing and ending take time for each loop, and a bound that a person can wait for.
#[track_caller]
fn check_time(answer: &Answer, n_loops: usize) {
    let most = Duration::from_secs(5) + Duration::from_millis(50) * u32::try_from(n_loops).unwrap();
    assert!(answer.took() < most, "{} took {:?}", answer.what, answer.took());
}
