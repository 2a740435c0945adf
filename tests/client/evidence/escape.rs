//! Esc while a criterion runs: everything that it started is gone, and the loop can be taken up again.

use std::fs;
use std::path::Path;

use ralph::standin::{Script, StandIn, Turn};

use crate::Test;
use crate::kept::{TOKEN, installed, the_live};
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] =
    tests![escape_ends_the_checks_of_a_request_with_all_that_they_started];

/// What the criterion does the first time: a daemon with a session of its own whose parent is gone, a process
/// that ignores SIGTERM, and one that just runs. Each can be found by the file that it follows.
const LONG: &str = "\
if test -e quick; then exec test -s quick; fi
setsid sh -c 'tail -f $1/daemon & ' sh \"$1\" </dev/null >/dev/null 2>&1
sh -c 'trap \"\" TERM; exec tail -f $1/stubborn' sh \"$1\" &
tail -f $1/plain
";

const STARTED: [&str; 3] = ["daemon", "stubborn", "plain"];

/// The processes that follow a file of this folder, by the file.
fn running(folder: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let mut found: Vec<String> = lines
        .filter_map(|line| {
            let words = String::from_utf8_lossy(&line).into_owned();
            let mut words = words.split('\0');
            words.next().filter(|program| *program == "tail")?;
            words.find_map(|word| {
                Some(Path::new(word).strip_prefix(folder).ok()?.display().to_string())
            })
        })
        .collect();
    found.sort();
    found
}

fn folder_to_watch(world: &World) -> std::path::PathBuf {
    let folder = world.root().join("watched");
    fs::create_dir(&folder).unwrap();
    for name in STARTED {
        fs::write(folder.join(name), "").unwrap();
    }
    folder
}

fn escape_ends_the_checks_of_a_request_with_all_that_they_started() {
    let world = installed();
    let folder = folder_to_watch(&world);
    world.write("check.sh", LONG);
    let script = Script::new()
        .turn(Turn::text(TOKEN))
        .turn(Turn::text("Served."))
        .turn(Turn::bash("echo yes > quick"))
        .turn(Turn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(&format!("/ralph \"Be quick\" --ac \"it=sh check.sh {}\"", folder.display()));
    let mut all = STARTED.map(str::to_owned);
    all.sort();
    assert!(wait_until(PATIENCE, || running(&folder) == all), "{:?}", running(&folder));
    terminal.key("Escape");
    let none = wait_until(PATIENCE, || running(&folder).is_empty());
    assert!(none, "left behind: {:?}", running(&folder));
    terminal.wait_until_gone("esc to interrupt");
    terminal.submit("An ordinary question?").wait_for("Served.");
    terminal.wait_for("paused at 0/25");
    let kept = the_live(&world);
    assert_eq!(kept.state["pause"]["cause"], "interrupted", "{:#}", kept.state);
    terminal.submit("/ralph").wait_for("ended complete at 0/25");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (4, 0));
}
