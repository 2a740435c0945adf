//! Output of any size and kind: counted whole, stored bounded, shown as plain text.

use super::world::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const HALF: usize = 8 << 20;

/// What `sha256sum` says about the output of a command.
fn digest(command: &str) -> String {
    let line = format!("{{ {command}\n}} | sha256sum");
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

#[test]
fn a_flood_is_counted_whole_and_kept_in_part() {
    let world = World::new();
    let flood = "yes 0123456789abcde | head -c 64M";
    let answer = world.run(&format!("{flood}; grep RssAnon /proc/$PPID/status"));
    let peak = answer.text("tail").lines().last().unwrap().to_owned();
    assert_eq!(answer.text("sha256"), digest(&format!("{flood}; printf '{peak}\\n'")));
    let bytes = (64 << 20) + peak.len() as u64 + 1;
    assert_eq!(answer.0["bytes"], bytes);

    let stored = world.output();
    let left_out = bytes as usize - 2 * HALF;
    let line = format!("\n[ralph: {left_out} bytes left out here]\n");
    assert_eq!(stored.len(), 2 * HALF + line.len());
    assert_eq!(&stored[HALF..HALF + line.len()], line.as_bytes());
    assert!(stored.starts_with(b"0123456789abcde\n0123"), "the beginning is kept");
    assert!(stored.ends_with(format!("{peak}\n").as_bytes()), "the end is kept");

    let kilobytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 32 * 1024, "{peak}");
}

#[test]
fn it_is_stored_privately_as_it_was_written_and_told_as_plain_text() {
    let world = World::new();
    let answer = world.run(r"printf '\033[31mred\033[0m\000\377 10%%\r100%%\n'; printf aside >&2");
    answer.tail("red\u{fffd} 10%\n100%\naside");
    assert_eq!(answer.0["stored"], true);
    assert_eq!(world.output(), b"\x1b[31mred\x1b[0m\0\xff 10%\r100%\naside");
    let mode = fs::metadata(world.path("0.out")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_tail_is_the_last_two_thousand_characters() {
    let answer = World::new().run("seq -s ' ' 100000; printf 'ende €'");
    let tail = answer.text("tail");
    assert_eq!(tail.chars().count(), 2000);
    assert!(tail.ends_with("99999 100000\nende €"), "{tail}");
}

#[test]
fn output_that_cannot_be_stored_is_still_judged() {
    let world = World::new();
    fs::create_dir(world.path("0.out")).unwrap();
    let answer = world.run("echo fine; exit 2");
    answer.ended("Exited(2)").tail("fine");
    assert_eq!(answer.0["stored"], false);
}
