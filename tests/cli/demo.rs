//! `ralph demo`, through the executables as they are now.

mod picture;

use ralph_test_support::{PATIENCE, Run, executables};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// A home and a folder for temporary files, both empty, and the executables in a folder of their
/// own, where a test may replace them.
struct DemoFolder {
    root: TempDir,
}

const HOOKS: [&str; 5] = [
    "ralph-user-prompt",
    "ralph-pre-tool-use",
    "ralph-backpressure",
    "ralph-stop-hook",
    "ralph-session-context",
];

impl DemoFolder {
    fn new() -> DemoFolder {
        // Beside the executables, so that they can be linked: to run a copy that was just written
        // fails while another thread of the tests is starting a child.
        let parent = executables().parent().unwrap();
        let place = DemoFolder { root: tempfile::tempdir_in(parent).unwrap() };
        for folder in ["bin", "home", "tmp"] {
            fs::create_dir(place.at(folder)).unwrap();
        }
        // Hard links: the running `ralph` looks for its siblings where it really is.
        for name in HOOKS.into_iter().chain(["ralph"]) {
            fs::hard_link(executables().join(name), place.at("bin").join(name)).unwrap();
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// In place of a hook, one that prints nothing and lets everything go.
    fn let_everything_go(&self, name: &str) {
        let path = self.at("bin").join(name);
        fs::remove_file(&path).unwrap();
        symlink("/bin/true", &path).unwrap();
    }

    fn demo(&self, args: &[&str]) -> Run {
        let mut command = Command::new(self.at("bin/ralph"));
        command.arg("demo").args(args);
        self.run(command)
    }

    fn run(&self, mut command: Command) -> Run {
        command.current_dir(self.root.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.at("home")).env("TMPDIR", self.at("tmp"));
        command.envs(ralph_test_support::portable());
        // A session that is running must not be mistaken for one of the demo's.
        command.env("CLAUDE_CODE_SESSION_ID", "someone-elses").env("RALPH_MANIFEST", "/nowhere");
        Run::of(command, "", PATIENCE)
    }
}

/// What a demo printed, and whether it left anything in its folder for temporary files or in the home. It is played once
/// for all that only look.
fn played() -> &'static (Run, [bool; 2]) {
    static PLAYED: OnceLock<(Run, [bool; 2])> = OnceLock::new();
    PLAYED.get_or_init(|| {
        let place = DemoFolder::new();
        let run = place.demo(&[]).exits(0);
        (run, ["tmp", "home"].map(|folder| is_empty(&place.at(folder))))
    })
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn the_account_tells_the_loop_from_its_start_to_its_end() {
    let (run, _) = played();
    let mut rest = run.stdout.as_str();
    for part in [
        "person /ralph \"greet by name\" --ac \"tests=sh test.sh\" --max-iterations 5",
        "0/5  ralph  starts: Ralph loop ",
        "asks the person",
        "0/5  ralph  denies it: A Ralph loop is running, so no dialog opens",
        "I wrote down what I will do.",
        "1/5  ralph  not yet: Ralph 1/5: 0 of 1 criterion holds; next: sh test.sh",
        "other  a session without a loop stops",
        "1/5  ralph  says nothing",
        "stops: \"It works.\"",
        "2/5  ralph  refuses: the tests pass, but they pass without your change, too;",
        "add a test that fails without it",
        "runs `ralph cancel`",
        "2/5  ralph  denies it: `ralph cancel` is for the user",
        "writes tests/by-name.sh",
        "runs `ralph try --once`",
        "2/5  ralph  dry run: ",
        "Kept as checkpoint 2.",
        "3/5  ralph  refuses: AC-1 fails: `tests/greets.sh`",
        "AC-1 held at checkpoint 2 and is red now; changed since: greet.sh.",
        "3/5  ralph  ends it: complete: sh test.sh: 2 tests pass; 1 of them fails\n",
        "without the change; the original one still passes.",
        "Receipts: AC-1 exit code 0, on tree ",
        "person ralph checkpoint",
        "all criteria hold at 1/5",
        "all criteria hold at 2/5",
        "person ralph explain",
        "21 hook calls, median ",
        "\nralph_archive_",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("no `{part}` in its place: {run:?}"));
        rest = &rest[at + part.len()..];
    }
    assert_eq!(run.stderr, "");
}

#[test]
fn the_account_fits_a_plain_terminal() {
    let (run, _) = played();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines.len() < 40, "{} lines", lines.len());
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{run:?}");
    assert!(!run.stdout.contains('\u{1b}'), "colours belong on a terminal only");
}

#[test]
fn nothing_is_left_behind_and_the_home_is_not_touched() {
    assert_eq!(played().1, [true, true]);
}

#[test]
fn a_reader_who_stops_reading_ends_no_demo() {
    let place = DemoFolder::new();
    let mut command = Command::new("/bin/sh");
    command.args([
        "-c",
        "{ bin/ralph demo; echo exit $? >&2; } | { read first; exec <&-; cat >&2 /dev/null; }",
    ]);
    let run = place.run(command);
    assert!(run.stderr.ends_with("exit 0\n") && !run.stderr.contains("panicked"), "{run:?}");
    assert!(is_empty(&place.at("tmp")));
}

#[test]
fn what_is_kept_holds_the_archived_loop() {
    let place = DemoFolder::new();
    let run = place.demo(&["--keep"]).exits(0);
    let kept = run.stdout.lines().find_map(|line| line.strip_prefix("Kept in ")).unwrap();
    let name = run.stdout.lines().find_map(|line| line.strip_prefix("ralph_archive_")).unwrap();
    let archived = Path::new(kept).join("home/ralph/archive").join(format!("ralph_archive_{name}"));
    let state = fs::read_to_string(archived.join("state.json")).unwrap();
    assert!(state.contains("\"ended\""), "{state}");
    assert!(!run.stdout.contains("removed"), "{run:?}");
}

#[test]
fn a_hook_that_lets_everything_go_makes_it_fail() {
    for (hook, needed) in [
        ("ralph-user-prompt", "expected a start"),
        ("ralph-pre-tool-use", "expected a denial"),
        ("ralph-stop-hook", "expected a turn that goes on"),
    ] {
        let place = DemoFolder::new();
        place.let_everything_go(hook);
        let run = place.demo(&[]).exits(1);
        assert!(run.stdout.contains("let it go"), "{hook}: {run:?}");
        assert!(run.stdout.contains(needed), "{hook}: {run:?}");
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{run:?}");
        assert!(is_empty(&place.at("tmp")));
    }
}

#[test]
fn a_missing_hook_is_named() {
    let place = DemoFolder::new();
    fs::remove_file(place.at("bin/ralph-stop-hook")).unwrap();
    let run = place.demo(&[]).exits(4);
    assert!(run.stderr.contains("could not find ralph-stop-hook in"), "{run:?}");
    assert_eq!(run.stdout, "");
}
