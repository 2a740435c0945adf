//! What a `ralph` does that finds itself inside of the client's sandbox, whose process numbers are its own.
//!
//! The client's sandbox is bubblewrap with the options that the client gives it. It starts below the process
//! that plays the client.

use crate::speaker::{Player, looping, standing};
use crate::world::World;
use std::fs;
use std::process::Command;

/// What a sandboxed command sees of Ralph's home: nothing, as in a round; a read-only folder, as in a
/// conversation with the user's own sandbox; or a folder that the user's own settings make writable.
const HOMES: [(&str, &str); 3] =
    [("hidden", "--tmpfs"), ("read-only", "--ro-bind"), ("writable", "--bind")];

/// The words before a command in the client's sandbox.
fn sandbox(world: &World, how: &str) -> String {
    let (root, project, home) = (world.root(), world.project(), world.ralph_home());
    let (root, project, home) = (root.display(), project.display(), home.display());
    let from = if how == "--tmpfs" { String::new() } else { format!("{home} ") };
    // Who makes the one folder writable makes the other writable.
    let kept = if how == "--bind" {
        format!("--bind {root}/.ralph-kept {root}/.ralph-kept ")
    } else {
        String::new()
    };
    format!(
        "bwrap --new-session --die-with-parent --unshare-net --unshare-pid --ro-bind / / --dev /dev \
         --proc /proc --ro-bind {root} {root} --bind {project} {project} {kept}{how} {from}{home} -- "
    )
}

/// False, aloud, without bubblewrap.
fn works() -> bool {
    let works =
        Command::new("bwrap").args(["--ro-bind", "/", "/", "--unshare-pid", "true"]).status();
    let works = works.is_ok_and(|status| status.success());
    assert!(works || !crate::is_proof(), "bubblewrap does not work");
    if !works {
        eprintln!("SKIPPED: bubblewrap does not work here");
    }
    works
}

const READS: [&str; 4] = ["status", "task list", "task show T-1", "explain"];

/// The first takes the lock of the state alone, the second a lease.
const WRITES: [&str; 3] = ["task add two --id T-2", "task claim T-1", "task done T-1 --note done"];

#[test]
fn inside_the_clients_sandbox_each_command_works_or_says_in_one_line_to_give_it_alone() {
    if !works() {
        return;
    }
    for (seen, how) in HOMES {
        let (world, mut player) = looping();
        assert!(world.ralph(&["task", "add", "one", "--id", "T-1"]).success);
        let sandbox = sandbox(&world, how);
        for (command, writes) in
            READS.map(|it| (it, false)).into_iter().chain(WRITES.map(|it| (it, true)))
        {
            let before = world.state();
            let outside = (!writes).then(|| player.runs(&format!("ralph {command}"), false));
            let said = player.runs(&format!("{sandbox}ralph {command}; echo exit $?"), false);
            let is_line = said.lines().count() == 2
                && said.contains("in the client's sandbox")
                && said.contains(" …` alone")
                && said.ends_with("exit 1\n");
            let is_refused = seen == "hidden" || seen == "read-only" && writes;
            assert_eq!(is_line, is_refused, "{seen}: {command}: {said}");
            assert_eq!(world.state() != before, writes && !is_refused, "{seen}: {command}: {said}");
            if let Some(outside) = outside.filter(|_| !is_refused) {
                assert_eq!(said, format!("{outside}exit 0\n"), "{seen}: {command}");
            }
        }
        let said = player.runs(&format!("{sandbox}ralph verify"), false);
        let expected = if seen == "writable" { "AC-1" } else { "give `ralph verify …` alone" };
        assert!(said.contains(expected), "{seen}: {said}");
        // Its lines come by a redirection, so it cannot be given alone.
        let sync =
            format!("{sandbox}env RALPH_ROUND=plan ralph plan-sync <<'T'\n{{\"name\":\"x\"}}\nT");
        let said = player.runs(&sync, false);
        let names_block = said.contains("end your last message with the tasks instead");
        assert_eq!(names_block, seen != "writable", "{seen}: {said}");
    }
}

#[test]
fn a_person_does_not_speak_inside_the_clients_sandbox() {
    if !works() {
        return;
    }
    let (world, mut player) = looping();
    let before = standing(&world);
    for (seen, how) in HOMES {
        let sandbox = sandbox(&world, how);
        for command in ["cancel", "pause", "criteria accept", "trust --yes", "adopt --force"] {
            for line in [
                format!(
                    "{sandbox}env -u CLAUDE_CODE_SESSION_ID -u CLAUDE_PID -u CLAUDECODE ralph {command}"
                ),
                format!("script -qec '{sandbox}ralph {command}' /dev/null"),
                format!("{sandbox}unshare -p -f --mount-proc ralph {command}"),
            ] {
                let said = player.runs(&line, false);
                assert_eq!(standing(&world), before, "{seen}: {line}: {said}");
            }
        }
    }
}

#[test]
fn a_lock_is_held_whichever_side_of_the_sandbox_holds_it() {
    if !works() {
        return;
    }
    let (world, mut player) = looping();
    let sandbox = sandbox(&world, "--bind");
    let add = ["task", "add", "one"];
    assert!(world.ralph(&add).success);
    let before = world.state();
    let lock = world.state_path().with_extension("lock");
    let held = fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    let said = player.runs(&format!("{sandbox}ralph {}", add.join(" ")), false);
    assert!(said.contains("another process has held the lock"), "{said}");
    assert_eq!(world.state(), before);
    drop(held);
    // The one inside has a number that another process has outside, or none at all.
    let fifo = |name: &str| {
        let path = world.root().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    let (taken, release) = (fifo("taken"), fifo("release"));
    let holds = format!(
        "{sandbox}flock {} sh -c 'echo $$ >{}; cat {}' >/dev/null 2>&1 &",
        lock.display(),
        taken.display(),
        release.display()
    );
    player.runs(&holds, false);
    let number = fs::read_to_string(&taken).unwrap();
    assert!(number.trim().parse::<u32>().unwrap() < 10, "it has the numbers of the sandbox");
    let said = world.ralph(&add);
    assert!(said.text.contains("another process has held the lock"), "{said:?}");
    assert_eq!(world.state(), before);
    fs::write(&release, "").unwrap();
    assert!(world.ralph(&add).success);
}

#[test]
fn a_lease_holds_on_both_sides_of_the_sandbox() {
    if !works() {
        return;
    }
    let (world, mut player) = looping();
    for id in ["T-1", "T-2"] {
        assert!(world.ralph(&["task", "add", id, "--id", id]).success);
    }
    let inside = sandbox(&world, "--bind");
    for (id, takes, is_refused) in [("T-1", "", inside.as_str()), ("T-2", inside.as_str(), "")] {
        let claim =
            |side: &str, owner: &str| format!("{side}ralph task claim {id} --owner {owner}");
        let said = player.runs(&claim(takes, "one"), false);
        assert!(said.contains(id), "{said}");
        let held = world.state();
        let said = player.runs(&claim(is_refused, "two"), false);
        assert_eq!(world.state(), held, "{said}");
        assert!(said.contains("one"), "{said}");
    }
}

#[test]
fn a_client_that_the_sandbox_hides_still_works_on_what_it_has_taken() {
    if !works() {
        return;
    }
    let mut world = World::new();
    world.write("plan.md", "# Plan\n\n1. Do it.\n");
    let mut player = Player::start(&world);
    world.become_session("session-2", "prompt-2");
    assert!(world.ralph(&["refine", "begin", "--plan", "plan.md"]).success);
    let begin = "env CLAUDE_CODE_SESSION_ID=session-3 ralph refine begin --plan plan.md --id other";
    for side in [String::new(), sandbox(&world, "--bind")] {
        let said = player.runs(&format!("{side}{begin}"), false);
        assert!(said.contains("is at work on `plan.md`"), "{side}: {said}");
    }
}
