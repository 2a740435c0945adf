//! A caller that is gone in the middle: nothing of the command survives it.

use super::world::World;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;

const STUBBORN: &str = "trap '' TERM INT HUP
    (setsid sh -c 'trap \"\" TERM; echo x >daemon; sleep 300; sleep 300' &)
    until [ -s daemon ]; do sleep 0.01; done; echo x >ready; sleep 300; sleep 300";

#[track_caller]
fn check(signal: Signal) {
    let world = World::new();
    let mut caller = world.start(&[STUBBORN, STUBBORN]);
    world.wait_for("ready");
    kill_process(Pid::from_child(&caller), signal).unwrap();
    assert_eq!(caller.wait().unwrap().signal(), Some(signal.as_raw()));
    world.wait_until_empty();
}

#[test]
fn nothing_survives_a_caller_that_is_killed() {
    check(Signal::KILL);
}

#[test]
fn nothing_survives_a_caller_that_is_asked_to_end() {
    check(Signal::TERM);
}

#[test]
fn nothing_survives_an_interrupt_from_the_keyboard() {
    check(Signal::INT);
}

/// The client, on Esc, asks a hook and each of its descendants to end, whatever their session.
#[test]
fn nothing_survives_when_every_process_of_the_tree_is_asked_to_end() {
    let world = World::new();
    let mut caller = world.start(&[STUBBORN]);
    world.wait_for("ready");
    for process in world.alive(0) {
        let pid = process.split(':').next().unwrap().parse().unwrap();
        // One may have ended because of another.
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM);
    }
    caller.wait().unwrap();
    world.wait_until_empty();
}
