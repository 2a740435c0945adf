//! What a command leaves behind when it has ended.

use super::world::World;

/// A process that has left the group and the session, and has no parent of its own any more.
const DAEMON: &str = "(setsid sh -c 'trap \"\" TERM HUP
    while :; do echo x >>beat; sleep 0.02; done' >/dev/null 2>&1 </dev/null &)
    until [ -s beat ]; do sleep 0.01; done; ";

#[test]
fn a_daemon_is_named_and_ended_and_the_exit_code_is_the_commands_own() {
    let world = World::new();
    let answer = world.run(&format!("{DAEMON} echo done; exit 3"));
    answer.ended("Exited(3)").tail("done").is_quick();
    assert_eq!(answer.0["left"][0], "sh", "{answer:?}");
}

#[test]
fn a_daemon_that_holds_the_output_does_not_delay() {
    let answer = World::new().run("(setsid sleep 300 &); echo done");
    answer.ended("Exited(0)").tail("done").is_quick();
    assert_eq!(answer.0["left"].as_array().unwrap().len(), 1, "{answer:?}");
}

#[test]
fn a_daemon_that_writes_without_end_does_not_delay() {
    let answer = World::new().run("(setsid sh -c 'trap \"\" TERM; yes' &) ; sleep 0.1; exit 4");
    answer.ended("Exited(4)").is_quick();
}

#[test]
fn a_child_that_is_stopped_is_ended_too() {
    let command = "(trap '' TERM; sleep 300; sleep 300) & kill -STOP $!; exit 0";
    World::new().run(command).ended("Exited(0)").is_quick();
}

#[test]
fn many_that_ended_before_are_not_counted() {
    let command = "for n in $(seq 50); do (setsid true &); done; sleep 0.2; exit 0";
    World::new().run(command).ended("Exited(0)").left(&[]);
}
