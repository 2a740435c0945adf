//! How a command on other files ends: as on the machine's, and with nothing left.

use super::world::{World, each};
use crate::command::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;

#[test]
fn exit_codes_and_signals_pass_through() {
    each(|world| {
        world.run("echo out; echo aside >&2; exit 7").ended("Exited(7)").tail("out\naside");
        for signal in [1, 9, 11, 13, 15] {
            world.run(&format!("kill -{signal} $$")).ended(&format!("Signalled({signal})"));
        }
        world.run("kill -9 0; sleep 300").ended("Signalled(9)");
        world.run("trap 'echo caught' TERM; kill 0; exit 4").ended("Exited(4)").tail("caught");
        world.run("cat; : </dev/tty").ended("Exited(1)");
    });
}

#[test]
fn at_the_deadline_everything_is_ended_and_only_the_commands_own_is_named() {
    each(|world| {
        let world = world.file("a", "now").replaced("a", "start").deadline(1_000);
        let line = "(setsid sh -c 'trap \"\" TERM; sleep 301; sleep 302' &); sleep 303";
        let answer = world.run(line);
        answer.ended("Deadline");
        let left = answer.0["left"].to_string();
        assert!(left.contains("sleep") && !left.contains("ralph"), "{left}");
        assert_eq!(alive(&world), Vec::<String>::new());
    });
}

#[test]
fn a_daemon_that_it_leaves_is_ended_and_named() {
    each(|world| {
        let answer = world.run("(setsid sleep 300 >/dev/null &); exit 3");
        answer.ended("Exited(3)");
        assert_eq!(answer.0["left"].as_array().unwrap().len(), 1, "{answer:?}");
        assert_eq!(alive(&world), Vec::<String>::new());
    });
}

#[test]
fn a_command_that_kills_the_process_before_it_is_ended() {
    each(|world| {
        let world = world.file("a", "now").replaced("a", "start");
        let answer = world.run("cat a; kill -9 $PPID; trap '' TERM; sleep 300; sleep 300");
        answer.ended("Signalled(9)");
        assert!(answer.0["opened"].is_null(), "{answer:?}");
        assert_eq!(alive(&world), Vec::<String>::new());
    });
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    each(|world| {
        let world = world.file("a", "now").replaced("a", "start");
        let mut caller = world
            .start("mkdir -p d/e; chmod 0 d; echo x >~/started; (setsid sleep 300 &); sleep 301");
        let upper = || world.stored().iter().any(|folder| has(folder, "started"));
        wait_until("the command is at work", upper);
        kill_process(Pid::from_child(&caller), Signal::KILL).unwrap();
        caller.wait().unwrap();
        wait_until("everything is gone", || alive(&world).is_empty());
        assert_eq!(world.stored().len(), 1);
        assert!(!world.path("home/started").exists());
        world.run("true").passes();
    });
}

#[test]
fn a_failure_before_its_start_is_told_as_such() {
    each(|world| {
        let world = world.file("a", "now").replaced("a/b", "start");
        let answer = world.run("true");
        assert!(answer.text("ended").starts_with("NotStarted"), "{answer:?}");
        assert!(answer.text("ended").contains("could not replace `"), "{answer:?}");
    });
}

/// True if a file of this name is anywhere in a folder.
fn has(folder: &Path, name: &str) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        entry.file_name() == name
            || entry.file_type().is_ok_and(|kind| kind.is_dir()) && has(&entry.path(), name)
    })
}

/// The command lines of what this world has started.
fn alive(world: &World) -> Vec<String> {
    let mark = format!("HOME={}\0", world.path("home").display());
    let described = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.ok()?.path();
        let environment = std::fs::read(path.join("environ")).ok()?;
        let ours = environment.windows(mark.len()).any(|bytes| bytes == mark.as_bytes());
        let line = std::fs::read(path.join("cmdline")).ok()?;
        ours.then(|| String::from_utf8_lossy(&line).replace('\0', " "))
    };
    std::fs::read_dir("/proc").unwrap().filter_map(described).collect()
}
