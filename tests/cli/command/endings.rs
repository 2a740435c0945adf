//! The command's own end is what counts, and a command that attacks its watchers loses.

use super::world::World;

#[test]
fn its_exit_code_passes_through() {
    World::new().run("echo out; echo aside >&2; exit 7").ended("Exited(7)").tail("out\naside");
    World::new().run("true").ended("Exited(0)").tail("").left(&[]);
}

#[test]
fn a_signal_is_told_from_an_exit() {
    World::new().run("kill -9 $$").ended("Signalled(9)").left(&[]);
}

#[test]
fn it_reads_nothing_and_has_no_terminal() {
    World::new().run("cat; : 2>&- </dev/tty").ended("Exited(1)");
}

#[test]
fn a_command_that_kills_its_parent_is_ended_with_all_that_it_started() {
    let world = World::new();
    let command = "(setsid sh -c 'trap \"\" TERM; echo x >beat; while :; do sleep 1; done' &)
        until [ -s beat ]; do sleep 0.01; done; kill -9 $PPID; trap '' TERM; sleep 300; sleep 300";
    world.run(command).ended("SupervisorLost").is_quick();
}

#[test]
fn a_command_that_kills_its_parent_does_not_harm_its_neighbours() {
    let world = World::new();
    let killer = "until [ -s ready ]; do sleep 0.01; done
        echo $PPID >pid; mv pid parent; kill -9 $PPID; sleep 300";
    let neighbour = "echo x >ready; until [ -s parent ]; do sleep 0.01; done
        while kill -0 $(cat parent); do sleep 0.01; done; sleep 0.2; exit 5";
    let answers = world.run_all(&[neighbour, killer, neighbour]);
    answers[0].ended("Exited(5)");
    answers[1].ended("SupervisorLost");
    answers[2].ended("Exited(5)");
}

#[test]
fn a_command_that_asks_its_parent_to_end_is_stopped() {
    World::new().run("kill $PPID; sleep 300").ended("Stopped").is_quick();
}

#[test]
fn a_command_that_kills_its_group_kills_itself() {
    World::new().run("kill -9 0; sleep 300").ended("Signalled(9)").is_quick();
}

#[test]
fn eight_side_by_side_keep_their_daemons_apart() {
    let commands: Vec<String> = (0..8)
        .map(|n| format!("echo I am {n}; (setsid sleep 30{n} >/dev/null &); exit {n}"))
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let answers = World::new().run_all(&commands);
    for (n, answer) in answers.iter().enumerate() {
        answer.ended(&format!("Exited({n})")).tail(&format!("I am {n}")).is_quick();
    }
}

#[test]
fn a_folder_that_is_gone_is_named() {
    let answer = World::new().runs_in("gone").run("true");
    let text = answer.text("ended");
    assert!(text.contains("could not enter the folder") && text.contains("/gone`"), "{text}");
    assert!(text.starts_with("NotStarted"), "{text}");
}
