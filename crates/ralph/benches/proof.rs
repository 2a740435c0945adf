//! Measures what a request for completion costs: how often it runs a criterion, the time that Ralph adds to each run, and
//! how much slower a run in an overlay is.
//!
//! The suite takes a second and reads all of its 2,000 files. `RALPH_TEST_BIN_DIR` names the executables of a release.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a bench starts programs")]

use ralph_io::process::command::{self, CommandEnd, CommandOrder};
use ralph_io::process::elsewhere::{self, OtherFile, OtherFiles, OtherForm, Way};
use ralph_test_support::executables;
use ralph_test_support::session::World;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

const N_FILES: usize = 2_000;

/// Each file in `tests` is a test.
const SUITE: &str = r#"sleep 0.9; cat src/* >/dev/null
for test in tests/*; do
    n=$((n + 1))
    if sh "$test"; then echo "ok $n - $test"; else echo "not ok $n - $test"; failed=1; fi
done
echo "1..$n"
exit "${failed:-0}"
"#;

const SEES_NOTHING: &str = "test \"$(sh greet.sh)\" = \"hello\"\n";
const SEES_THE_CHANGE: &str = "test \"$(sh greet.sh Ann)\" = \"hello Ann\"\n";

fn main() {
    // `cargo test --all-targets` also starts benches, to check that they start.
    if !std::env::args().any(|arg| arg == "--bench") {
        println!("not measuring: run by `cargo bench -p ralph --bench proof`");
        return;
    }
    let world = started();
    let suite = |world: &World| {
        let done = Command::new("sh").arg("test.sh").current_dir(world.project()).output();
        assert!(done.unwrap().status.success());
    };
    let alone = middle(|| suite(&world));
    println!("{:44} {:>5} {:>9} {:>14}", "a request for completion", "runs", "ms", "added per run");

    world.write("greet.sh", "echo hello $1\n");
    request(&world, alone, "no test was changed");

    // A loop ends at its second request: the first one is refused, since no test sees the change.
    let world = started();
    world.write("greet.sh", "echo hello $1\n");
    world.write("tests/again.sh", SEES_NOTHING);
    request(&world, alone, "a test was added");

    world.write("greet.sh", "echo \"hello${1:+ $1}\"\n");
    request(&world, alone, "the second one, after a fix of the code");

    let world = started();
    world.write("greet.sh", "echo hello $1\n");
    world.write("tests/by-name.sh", SEES_THE_CHANGE);
    request(&world, alone, "a test was added that proves the change");

    // From here on, this process seems to be one that somebody has detached, to whose events no hook listens.
    command::adopt_orphans().unwrap();
    let world = started();
    let [nothing, in_overlay] = both(&world, "true");
    let added = in_overlay.saturating_sub(nothing).as_secs_f64() * 1_000.0;
    println!("an overlay, made and removed: {added:.1} ms");
    let [alone, in_overlay] = both(&world, "sh test.sh");
    let millis = [alone.as_millis(), in_overlay.as_millis()];
    println!("the suite of {N_FILES} files: {} ms; in an overlay: {} ms", millis[0], millis[1]);
}

/// A loop in a project whose only test does not see the change.
fn started() -> World {
    let world = World::new();
    for n in 0..N_FILES {
        world.write(&format!("src/{n}.txt"), &format!("{n}\n").repeat(200));
    }
    world.write("greet.sh", "echo hello\n");
    world.write("tests/greets.sh", SEES_NOTHING);
    world.write("test.sh", SUITE);
    world.git("add -A");
    world.git("commit -qm Begin");
    world.type_command("ralph", "\"greet by name\" --ac \"tests=sh test.sh\"");
    world
}

/// The middle of some times.
fn middle(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..7)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// A command on the files as they are, and in an overlay with one file replaced.
fn both(world: &World, command: &str) -> [Duration; 2] {
    let (project, ralph) = (world.project(), executables().join("ralph"));
    let output = world.root().join("output");
    let order = CommandOrder {
        ralph: &ralph,
        command,
        folder: &project,
        output: &output,
        deadline: Duration::from_secs(60),
        bounds: None,
    };
    let form = OtherForm::File { content: b"echo hello $1\n".to_vec(), is_executable: false };
    let replaced = vec![OtherFile { path: project.join("greet.sh"), form }];
    let files = OtherFiles { replaced, watched: vec![project.join("tests/greets.sh")] };
    let store = world.root().join("elsewhere");
    let way = elsewhere::way(&ralph, &project, &store);
    if way != Way::Overlay {
        println!("no overlay can be made here: {way:?}");
    }
    let alone = middle(|| {
        assert_eq!(command::run(&order).unwrap().ended, CommandEnd::Exited(0));
    });
    let in_overlay = middle(|| {
        let ran = elsewhere::run(&order, &files, &way, &store, &project).unwrap();
        assert_eq!(ran.run.ended, CommandEnd::Exited(0));
    });
    [alone, in_overlay]
}

fn request(world: &World, alone: Duration, what: &str) {
    let before = outputs(world);
    let begun = Instant::now();
    world.stop("RALPH_COMPLETE");
    let took = begun.elapsed();
    let runs = outputs(world) - before;
    let added = took.saturating_sub(alone * u32::try_from(runs).unwrap());
    let each = added.as_millis() / u128::try_from(runs.max(1)).unwrap();
    assert!(runs > 0, "{what}: the request was not answered");
    println!("{what:44} {runs:>5} {:>9} {each:>11} ms", took.as_millis());
}

/// Every run of a criterion leaves its output.
fn outputs(world: &World) -> usize {
    let home = world.ralph_home();
    let folders = ["loops", "archive"].map(|name| home.join(name));
    let loops = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let receipts = loops.filter_map(|one| fs::read_dir(one.unwrap().path().join("receipts")).ok());
    receipts.map(Iterator::count).sum()
}
