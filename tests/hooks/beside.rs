//! Checks that continue beside the work: what the model hears of them, when, and that nothing stays.
//! The slow tool is a script that waits for a file; it notes each start in the project.

use crate::world::{Ran, World};
use ralph_test_support::{PATIENCE, is_running, wait_until};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// Reads all files, so it is slow by its nature, and then waits. A run on the tree from before the loop
/// is not noted.
const SLOW: &str = r#"
[backpressure]
budget_seconds = 120
[[backpressure.check]]
name = "slow"
files = ["*.txt"]
command = '''
found=$(awk '/BAD/ { print FILENAME ":" FNR ":1: error: " $0 }' *.txt)
case $PWD in */project) echo $$ >>"$HOME/starts";; esac
while ! test -e "$HOME/go"; do sleep 0.02; done
test -z "$found" || { echo "$found"; exit 1; }'''
"#;

fn process(id: i32) -> Pid {
    Pid::from_raw(id).unwrap()
}

struct Play {
    world: World,
}

impl Play {
    fn new(settings: &str, flags: &str) -> Play {
        let world = World::new();
        world.settings(settings);
        world.write("old.txt", "BAD old\n");
        world.write("alone.sh", "! kill -0 $(tail -n 1 \"$HOME/starts\") 2>/dev/null\n");
        world.git("add .");
        world.git("commit -q -m files");
        world.start(flags);
        Play { world }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.world.root().join("home").join(name)
    }

    /// Lets the slow tool finish.
    fn go(&self) {
        fs::write(self.home("go"), "").unwrap();
    }

    fn write(&self, path: &str, text: &str) -> Ran {
        self.write_as("", path, text)
    }

    fn write_as(&self, agent: &str, path: &str, text: &str) -> Ran {
        self.world.write(path, text);
        let path = self.world.project().join(path);
        self.tool(
            agent,
            json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": "x"}}),
        )
    }

    /// The hook after another tool.
    fn read(&self) -> Ran {
        self.read_as("")
    }

    fn read_as(&self, agent: &str) -> Ran {
        self.tool(agent, json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}}))
    }

    fn tool(&self, agent: &str, mut members: Value) -> Ran {
        if !agent.is_empty() {
            members["agent_id"] = json!(agent);
            members["agent_type"] = json!("helper");
        }
        self.world.event("ralph-backpressure", "PostToolUse", members)
    }

    fn loop_folder(&self) -> PathBuf {
        self.world.state_path().parent().unwrap().to_owned()
    }

    /// The budget of a run is longer than this patience, so what ends in time was ended.
    #[track_caller]
    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        assert!(wait_until(PATIENCE, holds), "not within {PATIENCE:?}: {what}");
    }

    /// Waits until the checks beside the work have found something.
    #[track_caller]
    fn until_found(&self) {
        let found = self.loop_folder().join("found.json");
        self.until("something is found", || found.exists());
    }

    /// The processes of the slow tool so far.
    fn starts(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.home("starts")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    #[track_caller]
    fn until_started(&self, times: usize) {
        self.until("the tool starts", || self.starts().len() >= times);
    }

    /// Waits until no runner serves the loop whose folder is or was this one.
    #[track_caller]
    fn until_nothing_runs(&self) {
        let lock = || {
            let live = fs::read_dir(self.world.ralph_home().join("loops")).unwrap();
            let ended = fs::read_dir(self.world.ralph_home().join("archive")).into_iter().flatten();
            live.chain(ended).map(|entry| entry.unwrap().path().join("beside.lock")).next().unwrap()
        };
        let is_free = || fs::File::open(lock()).is_ok_and(|file| file.try_lock().is_ok());
        self.until("the runner ends", is_free);
        let tools = self.starts();
        self.until("the tools end", || !tools.iter().any(|tool| is_running(*tool)));
    }
}

/// What is said of a.txt and old.txt. Without an overlay, nobody knows about a file that did not change.
fn bad_one() -> String {
    let other = match ralph_test_support::portable() {
        None => "1 old finding, from before this work, not listed.",
        Some(_) => {
            "1 finding in other files, not listed: it is not known whether this work brought them."
        }
    };
    format!("Ralph checked a.txt: 1 new error.\na.txt:1:1 error (slow): BAD one\n{other}")
}

#[test]
fn an_edit_does_not_wait_for_a_slow_check_and_the_next_tool_tells_its_findings_once() {
    let play = Play::new(SLOW, "");
    let began = Instant::now();
    play.write("a.txt", "BAD one\n").silent();
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    play.read().silent();
    play.go();
    play.until_found();
    assert_eq!(play.read().context(), bad_one());
    play.read().silent();
    play.until_nothing_runs();
    let goes_on = play.world.step(&play.world.working_stop("done"));
    assert!(!goes_on.contains("BAD one"), "{goes_on}");
    assert_eq!(play.starts().len(), 1);
}

#[test]
fn what_was_told_late_counts_as_told() {
    let play = Play::new(SLOW, "");
    play.go();
    play.write("a.txt", "BAD one\n");
    play.until_found();
    assert!(play.read().context().contains("BAD one"));
    let again = play.write("a.txt", "\nBAD one\n").context();
    assert!(again.contains("1 finding reported before: still there."), "{again}");
    assert!(!again.contains("BAD one"), "{again}");
}

#[test]
fn a_stop_waits_for_the_checks_beside_the_work_and_tells_their_findings() {
    let play = Play::new(SLOW, "");
    play.write("a.txt", "BAD one\n").silent();
    play.until_started(1);
    let goes_on = std::thread::scope(|scope| {
        let stop = scope.spawn(|| play.world.working_stop("done"));
        play.go();
        play.world.step(&stop.join().unwrap())
    });
    assert!(goes_on.contains(&bad_one()), "{goes_on}");
    play.until_nothing_runs();
    assert!(!play.loop_folder().join("later.json").exists());
    assert_eq!(play.starts().len(), 1);
    play.read().silent();
}

#[test]
fn a_finding_of_a_file_that_has_changed_is_not_told_and_the_file_is_checked_at_the_stop() {
    let play = Play::new(SLOW, "");
    play.go();
    play.write("a.txt", "BAD one\n").silent();
    play.until_found();
    play.world.write("a.txt", "\nBAD two\n");
    play.read().silent();
    play.until_nothing_runs();
    assert_eq!(play.starts().len(), 1);
    let goes_on = play.world.step(&play.world.working_stop("done"));
    assert!(goes_on.contains("a.txt:2:1 error (slow): BAD two"), "{goes_on}");
    assert!(!goes_on.contains("BAD one"), "{goes_on}");
}

#[test]
fn a_finding_of_a_file_that_changed_during_the_check_is_not_told_and_the_stop_checks_it() {
    let play = Play::new(SLOW, "");
    play.write("a.txt", "BAD one\n").silent();
    play.until_started(1);
    play.world.write("a.txt", "\nBAD two\n");
    play.go();
    play.until_nothing_runs();
    play.read().silent();
    let goes_on = play.world.step(&play.world.working_stop("done"));
    assert!(goes_on.contains("a.txt:2:1 error (slow): BAD two"), "{goes_on}");
    assert!(!goes_on.contains("BAD one"), "{goes_on}");
}

#[test]
fn an_edit_that_repairs_the_file_is_not_told_of_what_it_repaired() {
    let play = Play::new(SLOW, "");
    play.go();
    play.write("a.txt", "BAD one\n").silent();
    play.until_found();
    play.write("a.txt", "fine\n").silent();
    play.until_nothing_runs();
    play.read().silent();
}

#[test]
fn a_burst_of_edits_starts_a_tool_once() {
    let play = Play::new(SLOW, "");
    play.go();
    for name in ["a.txt", "b.txt", "c.txt"] {
        play.write(name, "BAD one\n").silent();
    }
    play.until_found();
    let said = play.read().context();
    for name in ["a.txt", "b.txt", "c.txt"] {
        assert!(said.contains(&format!("{name}:1:1 error (slow): BAD one")), "{said}");
    }
    play.until_nothing_runs();
    // A machine that takes longer for an edit than the pause after a burst begins in between.
    assert!(play.starts().len() <= 2, "{:?}", play.starts());
}

#[test]
fn an_edit_ends_the_tool_that_reads_the_older_content_and_one_run_follows() {
    let play = Play::new(SLOW, "");
    play.write("a.txt", "BAD one\n").silent();
    play.until_started(1);
    play.write("b.txt", "fine\n").silent();
    play.until_started(2);
    let starts = play.starts();
    assert!(!is_running(starts[0]) && is_running(starts[1]));
    play.go();
    play.until_found();
    assert!(play.read().context().contains("a.txt:1:1 error (slow): BAD one"));
    play.until_nothing_runs();
    assert_eq!(play.starts().len(), 2);
}

#[test]
fn the_end_or_a_pause_of_the_loop_ends_the_tool_and_the_runner() {
    type End = fn(&World);
    let ends: [(&str, End); 4] = [
        ("", |world| assert!(world.elsewhere(&["cancel", "--session", "session-1"]).success)),
        ("", |world| assert!(world.elsewhere(&["pause", "--session", "session-1"]).success)),
        ("--max-iterations 1", |world| {
            world.edit_state(|state| state["iteration"] = json!(1));
            world.working_stop("done").ends("Ralph: stopped after 2 turns, ");
            assert_eq!(world.ending(), "max_iterations");
        }),
        ("", |world| {
            let client = process(world.env["CLAUDE_PID"].parse().unwrap());
            kill_process(client, Signal::KILL).unwrap();
            // Until it is waited for, it counts as alive.
            waitpid(Some(client), WaitOptions::empty()).unwrap();
        }),
    ];
    for (flags, end) in ends {
        let play = Play::new(SLOW, flags);
        play.write("a.txt", "BAD one\n").silent();
        play.until_started(1);
        end(&play.world);
        play.until_nothing_runs();
        assert_eq!(play.starts().len(), 1);
    }
}

#[test]
fn the_death_of_the_runner_ends_the_tool_and_the_stop_checks_what_it_left() {
    let play = Play::new(SLOW, "");
    play.write("a.txt", "BAD one\n").silent();
    play.until_started(1);
    let folder = play.loop_folder().display().to_string();
    let listed = std::process::Command::new("ps").args(["-eo", "pid=,args="]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let runner = listed.lines().find(|row| row.contains("--beside") && row.contains(&folder));
    let runner = runner.unwrap().split_whitespace().next().unwrap().parse().unwrap();
    kill_process(process(runner), Signal::KILL).unwrap();
    play.until("the tool ends", || !is_running(play.starts()[0]));
    play.go();
    let goes_on = play.world.step(&play.world.working_stop("done"));
    assert!(goes_on.contains("a.txt:1:1 error (slow): BAD one"), "{goes_on}");
}

#[test]
fn criteria_run_without_a_check_beside_them() {
    let play = Play::new(SLOW, "--ac 'alone=sh alone.sh'");
    play.write("a.txt", "BAD one\n").silent();
    play.until_started(1);
    let verified = play.world.elsewhere(&["verify", "--session", "session-1"]);
    assert!(verified.success, "{}", verified.text);
    // The check begins anew.
    play.until_started(2);
    play.go();
    play.until_found();
    assert!(play.read().context().contains("BAD one"));
}

/// Reads one file, so it counts as quick until it was slow.
const WAITS: &str = r#"
[backpressure]
wait_seconds = 0.5
[[backpressure.check]]
name = "waits"
files = ["*.txt"]
command = '''
case $PWD in */project) echo $$ >>"$HOME/starts";; esac
while ! test -e "$HOME/go"; do sleep 0.02; done
awk '/BAD/ { print FILENAME ":" FNR ":1: error: " $0; bad = 1 } END { exit bad }' {file}'''
"#;

#[test]
fn a_check_that_is_not_quick_after_all_ends_with_the_wait_and_runs_again_beside_the_work() {
    let play = Play::new(WAITS, "");
    play.write("a.txt", "BAD one\n").silent();
    assert_eq!(play.starts().len(), 1);
    assert!(!is_running(play.starts()[0]));
    play.until_started(2);
    play.go();
    play.until_found();
    assert!(play.read().context().contains("a.txt:1:1 error (waits): BAD one"));
}

#[test]
fn a_whole_check_that_was_quick_answers_the_next_edit() {
    let play = Play::new(SLOW, "");
    play.go();
    play.write("a.txt", "fine\n").silent();
    play.until_started(1);
    play.until_nothing_runs();
    let said = play.write("a.txt", "BAD one\n").context();
    assert!(said.contains("a.txt:1:1 error (slow): BAD one"), "{said}");
}

#[test]
fn a_wait_of_the_whole_budget_waits_for_all_checks() {
    let whole = SLOW.replacen("budget_seconds = 120", "budget_seconds = 12\nwait_seconds = 12", 1);
    let play = Play::new(&whole, "");
    play.go();
    assert_eq!(play.write("a.txt", "BAD one\n").context(), bad_one());
}

#[test]
fn what_else_is_told_names_the_checks_that_still_run() {
    let lint = r#"
[[backpressure.check]]
name = "lint"
files = ["*.txt"]
command = "echo {file}:1:1: warning: short; exit 1"
"#;
    let play = Play::new(&format!("{SLOW}{lint}"), "");
    let said = play.write("a.txt", "BAD one\n").context();
    assert!(said.ends_with("\nNot known yet: slow. You are told later what they find."), "{said}");
}

#[test]
fn a_subagent_is_told_of_its_own_edits_only_and_the_conversation_of_all() {
    for told in ["one", ""] {
        let play = Play::new(SLOW, "");
        play.go();
        play.write_as("one", "a.txt", "BAD one\n").silent();
        play.until_found();
        play.read_as("two").silent();
        assert!(play.read_as(told).context().contains("BAD one"));
        play.read_as("one").silent();
        play.read().silent();
    }
}

#[test]
fn an_outranked_copy_of_the_hook_takes_nothing() {
    let mut play = Play::new(SLOW, "");
    play.go();
    play.write("a.txt", "BAD one\n").silent();
    play.until_found();
    play.world.via = Some("plugin");
    play.read().silent();
    play.world.via = Some("settings");
    assert!(play.read().context().contains("BAD one"));
}
