//! Inside the session of a live loop, some commands are for the user only.

use crate::world::World;
use ralph_core::guard::commands::{self, CommandRow, Reach, Trait, users};
use ralph_test_support::commands;

const REFUSED: [&[&str]; 20] = [
    &["start"],
    &["start", "x"],
    &["start", "--session", "S", "x"],
    &["start", "--session", "S", "-", "--max-iterations", "9"],
    &["start", "--session", "OTHER", "-"],
    &["task", "import", "-"],
    &["cancel"],
    &["cancel", "--all", "--let-finish"],
    &["pause"],
    &["resume"],
    &["adopt"],
    &["trust", "--yes"],
    &["share", "--clean"],
    &["status", "--shared"],
    &["status", "--json", "--shared=20260131-120000-1a2b"],
    &["checkpoint", "restore", "1"],
    &["ralplan", "run"],
    &["ralplan", "approve"],
    &["ralplan", "adjust", "x"],
    &["ralplan", "discard"],
];

const ALLOWED: [&[&str]; 18] = [
    &["status"],
    &["status", "--all", "--json"],
    &["explain"],
    &["checkpoint", "list", "--json"],
    &["task", "add", "a"],
    &["task", "list"],
    &["task", "ready"],
    &["task", "claim"],
    &["task", "renew", "T-1"],
    &["task", "release", "T-1"],
    &["task", "deps", "T-1"],
    &["task", "done", "T-1", "--result", "r"],
    &["task", "waves"],
    &["task", "graph"],
    &["task", "lint"],
    &["task", "sync"],
    &["plan-sync", "--dry-run"],
    &["start", "--session", "S", "-"],
];

#[test]
fn a_persons_commands_are_refused_and_nothing_changes() {
    for phase in ["running", "paused"] {
        let world = World::new().live_loop("S");
        if phase == "paused" {
            world.ralph(&["pause"]).done();
        }
        let before = (std::fs::read(world.state_file()).unwrap(), world.journal());
        for arguments in REFUSED {
            let printed = world.in_session("S", arguments, "x");
            assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{arguments:?}");
            assert!(
                printed
                    .stderr
                    .contains("is for the user only while a loop is live in this session"),
                "{arguments:?}: {printed:?}"
            );
            assert!(printed.stderr.contains("another terminal"), "{arguments:?}: {printed:?}");
        }
        assert_eq!(before, (std::fs::read(world.state_file()).unwrap(), world.journal()));
    }
}

/// Against the list itself, so that a command that comes later is not forgotten.
#[test]
fn every_command_of_the_list_that_exists_is_refused() {
    let world = World::new().live_loop("S");
    let mut refused = 0;
    for CommandRow { name: command, .. } in users() {
        let Some(given) = given(&world, command) else { continue };
        let printed = world.in_session("S", &given, "");
        assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{command}: {printed:?}");
        assert!(printed.stderr.contains("is for the user only"), "{command}: {printed:?}");
        refused += 1;
    }
    assert!(refused >= 7, "{refused}");
}

/// A command of the list with what it needs; `None` if it does not exist.
fn given<'a>(world: &World, command: &'a str) -> Option<Vec<&'a str>> {
    let words: Vec<&str> = command.split(' ').collect();
    // Of a signal, only its kinds know a shared loop.
    let named = words.iter().copied().filter(|word| *word != "--shared");
    let help: Vec<&str> = named.chain(["--help"]).collect();
    (world.ralph(&help).exit == 0).then(|| match command {
        "task import" => vec!["task", "import", "-"],
        "restore" => vec!["restore", "1"],
        "ralplan adjust" => vec!["ralplan", "adjust", "x"],
        "signal" => vec!["signal", "steer", "x"],
        "signal --shared" => vec!["signal", "steer", "x", "--shared"],
        "team new" => vec!["team", "new", "x"],
        "team feedback" => vec!["team", "feedback", "new"],
        _ => words,
    })
}

/// The table of commands and the one of their arguments hold the same.
#[test]
fn each_command_has_a_row_and_each_row_is_a_command() {
    for (words, reach) in commands() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // Those of `delegate` share its row.
        let name = if words[0] == "delegate" { words[0].to_owned() } else { words.join(" ") };
        let row = commands::named(&name).unwrap_or_else(|| panic!("`{name}` has no row"));
        assert_eq!(reach, row.reach, "{name}");
    }
    for row in commands::all() {
        let (mut command, table) = (ralph::cli::command(), row.name.split(' '));
        command.build();
        let (options, words): (Vec<&str>, Vec<&str>) =
            table.partition(|word| word.starts_with('-'));
        let mut found = &command;
        for word in words {
            found = found.find_subcommand(word).unwrap_or_else(|| panic!("{}", row.name));
        }
        // Of a signal, only its kinds know a shared loop.
        let with_kinds = [found].into_iter().chain(found.get_subcommands());
        let known: Vec<&str> =
            with_kinds.flat_map(|one| one.get_arguments().filter_map(|it| it.get_long())).collect();
        for option in options {
            assert!(known.contains(&option.trim_start_matches('-')), "{}", row.name);
        }
    }
    let world = World::new();
    for CommandRow { name, .. } in users() {
        let Some(given) = given(&world, name) else { continue };
        assert_eq!(ralph::cli::reach(&given), Some(Reach::User), "{name}");
    }
}

#[test]
fn a_refusal_names_what_a_person_types() {
    let world = World::new().live_loop("S");
    world.in_session("S", &["cancel"], "").check(
        1,
        "",
        "ralph: `ralph cancel` is for the user only while a loop is live in this session; the user \
         can: type `/ralph-cancel` in the session, or `ralph cancel` as the whole prompt while it \
         works, or give it in another terminal\n",
    );
    world.in_session("S", &["trust"], "").check(
        1,
        "",
        "ralph: `ralph trust` is for the user only while a loop is live in this session; the user \
         can: type `/ralph trust` in the session, or give `ralph trust` in another \
         terminal\n",
    );
}

#[test]
fn the_work_itself_is_allowed() {
    let world = World::new().live_loop("S");
    for arguments in ALLOWED {
        let printed = world.in_session("S", arguments, "{\"id\":\"T-1\",\"name\":\"a\"}");
        assert_eq!(printed.exit, 0, "{arguments:?}: {printed:?}");
    }
}

#[test]
fn a_session_without_a_live_loop_stops_one_and_continues_none() {
    let world = World::new().live_loop("S");
    world.in_session("OTHER", &["pause"], "").done();
    let printed = world.in_session("OTHER", &["resume"], "");
    assert!(printed.exit == 1 && printed.stderr.contains("below a Claude Code client"));
    world.ralph(&["resume"]).done();
    world.in_session("OTHER", &["cancel"], "").done();
    // Its own loop has ended, too: what is left is a tombstone.
    assert_eq!(world.in_session("S", &["cancel"], "").exit, 1);
    assert!(!world.in_session("S", &["cancel"], "").stderr.contains("person only"));
}

#[test]
fn what_a_person_agrees_to_is_refused_below_any_client_and_given_elsewhere() {
    let world = World::new();
    world.write("project/.claude/ralph.toml", "max_iterations = 7\n");
    let mut n_refused = 0;
    for row in users() {
        let (command, is_meant) = (row.name, row.is(Trait::NoModels));
        // What begins something would work, or ask the user's own configuration.
        let given = given(&world, command).filter(|_| is_meant || row.is(Trait::Stops));
        let Some(given) = given else { continue };
        let below = world.in_session("S", &given, "");
        let is_refused = below.stderr.contains("runs below a Claude Code client");
        assert_eq!(is_refused, is_meant, "{command}: {below:?}");
        let outside = world.ralph(&given).stderr;
        assert!(!outside.contains("for the user only"), "{command}: {outside}");
        n_refused += usize::from(is_refused);
    }
    assert!(n_refused >= 15, "{n_refused}");
    world.in_session("S", &["trust", "--yes"], "").check(
        1,
        "",
        "ralph: `ralph trust` is for the user only, and this process runs below a Claude Code client, where the \
         model may have started it (as may `!`); give it in a terminal outside of any client, or type `/ralph \
         trust` in the session\n",
    );
    assert!(world.ralph(&["trust", "--yes"]).done().stdout.contains("It is trusted"));
}

#[test]
fn a_state_that_cannot_be_read_may_be_live() {
    let world = World::new().live_loop("S");
    world.write_state("{");
    let printed = world.in_session("S", &["cancel"], "");
    assert_eq!(printed.exit, 3, "{printed:?}");
    assert!(printed.stderr.contains("use another terminal"), "{printed:?}");
}
