//! `ralph signal`: what is sent, what is refused, and when `--wait` returns.

use crate::world::{self, World};
use serde_json::json;
use std::path::Path;

#[test]
fn a_signal_waits_in_the_mailbox_and_the_status_says_so() {
    let world = World::new().live_loop("S");
    world.ralph(&["signal", "steer", "use", "tabs"]).check(
        0,
        "sent to loop [LOOP] at 0/25; the model hears it within its next tool call\n",
        "",
    );
    let status = world.ralph(&["status", "--json"]).json();
    assert_eq!(status["loops"][0]["signals"], json!({"waiting": 1}));
    let status = world.ralph(&["status"]).done().stdout;
    assert!(status.contains("signals     1 not delivered yet"), "{status}");
    let inputs = world.state_file().with_file_name("signals/inputs");
    let files: Vec<_> = std::fs::read_dir(inputs).unwrap().collect();
    let text = std::fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
    assert_eq!((files.len(), text.as_str()), (1, "STEER: use tabs\n"));
    assert!(world.journal().iter().any(|line| line == "ralph signal: sent"));
    world.ralph(&["cancel"]).done();
    let status = world.ralph(&["status"]).done().stdout;
    assert!(status.contains("signals     1 never delivered"), "{status}");
}

#[test]
fn a_text_comes_from_standard_input_and_what_says_nothing_or_too_much_is_refused() {
    let world = World::new().live_loop("S");
    let printed = world.run("", &["signal", "info", "-"], "line one\nline two\n").done();
    assert!(printed.stdout.starts_with("sent to loop"), "{printed:?}");
    world.ralph(&["signal", "steer", " "]).check(
        2,
        "",
        "ralph: there is nothing to send; write a text, or `-` to read it from standard input\n",
    );
    let long = world.ralph(&["signal", "steer", &"x".repeat(1_001)]);
    assert_eq!(long.exit, 2);
    assert!(long.stderr.contains("write the text to a file and name the file"), "{long:?}");
    assert_eq!(world.ralph(&["signal", "shout", "x"]).exit, 2);
}

#[test]
fn without_a_loop_there_is_nobody_to_hear_it_and_the_model_sends_none_to_itself() {
    let world = World::new();
    assert_eq!(world.ralph(&["signal", "info", "x"]).exit, 1);
    let world = world.live_loop("S");
    let said = world.in_session("S", &["signal", "steer", "x"], "");
    assert_eq!(said.exit, 1);
    assert!(said.stderr.contains("in another terminal"), "{said:?}");
    assert!(!world.state_file().with_file_name("signals").exists());
}

#[test]
fn waiting_ends_with_the_delivery_or_with_the_loop() {
    let world = World::new().live_loop("S");
    let waiting = |text: &str| {
        let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
        world::start(command.args(["signal", "steer", text, "--wait"]))
    };
    let n_sent = |n: usize| {
        let inputs = world.state_file().with_file_name("signals/inputs");
        // A file that is being written is hidden.
        let sent = |inputs: &Path| {
            let names = std::fs::read_dir(inputs).into_iter().flatten().flatten();
            names.filter(|one| !one.file_name().to_string_lossy().starts_with('.')).count()
        };
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while sent(&inputs) < n {
            assert!(std::time::Instant::now() < until, "it was not sent");
            std::thread::yield_now();
        }
        inputs
    };
    let first = waiting("one");
    let inputs = n_sent(1);
    let name = std::fs::read_dir(&inputs).unwrap().next().unwrap().unwrap().file_name();
    std::fs::rename(inputs.join(&name), inputs.with_file_name("processed").join(&name)).unwrap();
    let printed = world.finish(first, "");
    assert!(printed.stdout.ends_with("\ndelivered to loop [LOOP]\n"), "{printed:?}");
    assert_eq!(printed.exit, 0);
    let second = waiting("two");
    n_sent(1);
    world.ralph(&["cancel"]).done();
    let printed = world.finish(second, "");
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(printed.stderr.contains("ended before the model heard it"), "{printed:?}");
}
