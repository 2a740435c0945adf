//! A command that hangs, in every way that we know of.

use super::world::World;

#[track_caller]
fn check(command: &str) {
    World::new().deadline(300).run(command).ended("Deadline");
}

#[test]
fn a_command_that_sleeps_is_ended_at_the_deadline() {
    check("sleep 300");
}

#[test]
fn a_command_that_ignores_every_request_to_end_is_killed() {
    check("trap '' TERM INT HUP; sleep 300; sleep 300; sleep 300");
}

#[test]
fn a_command_that_stopped_itself_is_killed() {
    check("kill -STOP $$; trap '' TERM; kill -STOP $$; sleep 300");
}

#[test]
fn a_command_that_stopped_and_ignores_requests_is_killed() {
    check("trap '' TERM; (trap '' TERM CONT; sleep 300) & kill -STOP $!; kill -STOP $$; sleep 300");
}

#[test]
fn a_command_that_floods_is_ended_at_the_deadline() {
    check("yes");
}

#[test]
fn a_command_that_goes_on_starting_processes_is_ended() {
    check("trap '' TERM; while :; do (setsid sleep 300 &); sleep 0.02; done");
}

#[test]
fn daemons_of_a_command_that_hangs_are_ended_with_it() {
    check("(setsid sh -c 'trap \"\" TERM; (setsid sleep 301 &); sleep 302' &); sleep 303");
}
