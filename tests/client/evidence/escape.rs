//! Esc while a criterion runs: everything that it started is gone, and the loop can be taken up again.
//!
//! The client ends the descendants of an interrupted hook, those that ignore SIGTERM too; a daemon that was
//! handed to the system is none, unless Ralph has kept it in the family.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use rustix::process::{Pid, Signal, kill_process};

use crate::Test;
use crate::kept::{TOKEN, installed, the_live};
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] =
    tests![escape_ends_the_checks_of_a_request_with_all_that_they_started];

/// What the criterion does the first time: a daemon with a session of its own whose parent is gone, a process
/// that ignores SIGTERM, and one that just runs. Each can be found by the file that it follows.
const LONG: &str = "\
if test -e $1/again; then exec test -s quick.c; fi
touch $1/again
setsid sh -c 'tail -f $1/daemon & ' sh \"$1\" </dev/null >/dev/null 2>&1
sh -c 'trap \"\" TERM; exec tail -f $1/stubborn' sh \"$1\" &
tail -f $1/plain
";

const STARTED: [&str; 3] = ["daemon", "plain", "stubborn"];

/// A folder whose files are followed. Dropping it ends whoever is left, which only a test that failed has.
struct Watched(PathBuf);

impl Watched {
    fn new(world: &World) -> Watched {
        let folder = world.root().join("watched");
        fs::create_dir(&folder).unwrap();
        for name in STARTED {
            fs::write(folder.join(name), "").unwrap();
        }
        Watched(folder)
    }

    /// The names of the files that are being followed.
    fn followed(&self) -> Vec<String> {
        let mut names: Vec<String> = self.followers().into_iter().map(|(_, name)| name).collect();
        names.sort();
        names
    }

    /// The processes that follow a file, and its name.
    fn followers(&self) -> Vec<(i32, String)> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|process| {
                let id = process.file_name().to_str()?.parse().ok()?;
                let words = fs::read(process.path().join("cmdline")).ok()?;
                let words = String::from_utf8_lossy(&words).into_owned();
                let file = words.strip_prefix("tail\0-f\0")?.trim_end_matches('\0');
                let name = Path::new(file).strip_prefix(&self.0).ok()?;
                Some((id, name.display().to_string()))
            })
            .collect()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        for pid in self.followers().into_iter().filter_map(|(id, _)| Pid::from_raw(id)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn escape_ends_the_checks_of_a_request_with_all_that_they_started() {
    let world = installed();
    let watched = Watched::new(&world);
    world.write("check.sh", LONG);
    let script = Script::new()
        .turn(ScriptedTurn::text(TOKEN))
        .turn(ScriptedTurn::text("Served."))
        .turn(ScriptedTurn::bash("echo yes > quick.c"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal
        .submit(&format!("/ralph \"Be quick\" --ac \"it=sh check.sh {}\"", watched.0.display()));
    assert!(wait_until(PATIENCE, || watched.followed() == STARTED), "{:?}", watched.followed());
    terminal.key("Escape");
    let none = wait_until(PATIENCE, || watched.followed().is_empty());
    assert!(none, "left behind: {:?}", watched.followed());
    terminal.wait_until_gone("esc to interrupt");
    terminal.submit("An ordinary question?").wait_for("Served.");
    terminal.wait_for("paused at 0/25");
    let kept = the_live(&world);
    assert_eq!(kept.state["pause"]["cause"], "interrupted", "{:#}", kept.state);
    terminal.submit("/ralph").wait_for("Ralph: done in ");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (4, 0));
}
