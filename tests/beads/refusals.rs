//! What is not done, and why; and what is said of a bd that is no use.

use crate::project::{beads, project, task};
use std::fs;
use std::os::unix::fs::symlink;

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("a_refusal_changes_nothing_and_says_what_to_do", refused),
    ("what_bd_has_nothing_for_is_refused_before_anything_runs", not_with_bd),
    ("a_bd_that_is_missing_old_or_broken_is_told_from_an_answer", broken),
    ("a_person_may_name_the_program", named),
];

fn refused() {
    let world = project(&[
        "a x",
        "b y in_progress",
        "c z open after a",
        "d v closed",
        "e w pinned",
        "f u blocked",
    ]);
    task(&world, "claim a --owner ann").done();
    let before = beads(&world);
    let release = "take another, or `ralph task release a --tracker bd`";
    for (arguments, said) in [
        ("claim a --owner bob", &*format!("a is claimed by ann; {release}")),
        ("done a --owner bob", &format!("a is claimed by ann; {release}")),
        ("claim c", "c waits for a, which is not closed; finish a first"),
        ("done c", "c waits for a, which is not closed; finish a first"),
        ("claim d", "d is already closed; `bd reopen d` opens it again"),
        ("done d", "d is already closed; `bd reopen d` opens it again"),
        ("release d", "d is already closed; `bd reopen d` opens it again"),
        ("claim f", "f is blocked; `ralph task release f --tracker bd` makes it open again"),
        ("claim nope", "there is no bead `nope`; `ralph task list --all --tracker bd` shows them"),
        ("show a=b", "there is no bead `a=b`; `ralph task list --all --tracker bd` shows them"),
        ("done e", "`bd close` refused: cannot close pinned issue e (use --force to override)"),
        ("fail a --reason ", "the reason is missing; say it in words"),
    ] {
        task(&world, arguments).check(1, "", &format!("ralph: {said}\n"));
    }
    assert_eq!(beads(&world), before);
}

fn not_with_bd() {
    let world = project(&["a x"]);
    for (arguments, what, instead) in [
        ("claim --lease 5", "`--lease`", "leave it out"),
        ("add x", "`task add`", "`bd create NAME`"),
        ("renew a", "`task renew`", "`bd heartbeat ID`"),
        ("lint", "`task lint`", "`bd lint`"),
        ("sync", "`task sync`", "`bd dep add`"),
        ("import -", "`task import`", "`bd import`"),
        ("ready --loop x", "`--loop` and `--session`", "leave the option out"),
        ("claim --session x", "`--loop` and `--session`", "leave the option out"),
    ] {
        let printed = task(&world, arguments);
        assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{arguments}");
        let start = format!("ralph: {what} cannot be had with `--tracker bd`: ");
        assert!(printed.stderr.starts_with(&start), "{printed:?}");
        assert!(printed.stderr.contains(instead), "{printed:?}");
    }
    assert!(!world.path("project/.beads/calls").exists());
}

fn broken() {
    let world = project(&["a x"]);
    let check = |said: &str| {
        for arguments in ["list", "ready", "show a", "claim", "done a"] {
            let printed = task(&world, arguments);
            assert_eq!(
                (printed.exit, printed.stdout.as_str()),
                (4, ""),
                "{arguments}: {printed:?}"
            );
            assert!(printed.stderr.contains(said), "{arguments}: {}", printed.stderr);
        }
    };
    world.write("project/.beads/version", "1.0.3");
    check("`bd` is 1.0.3, and Ralph needs 1.0.4 or newer");
    world.write("project/.beads/version", "next");
    check("could not tell the version of `bd`");
    fs::remove_file(world.path("project/.beads/version")).unwrap();
    world.write("project/.beads/form", "broken");
    check("could not tell the version of `bd`, which said `Found 2 issues`");
    fs::remove_dir_all(world.path("project/.beads")).unwrap();
    check("failed: no active beads workspace found");
    fs::remove_file(world.path("bin/bd")).unwrap();
    check(
        "could not find `bd`; install bd (beads, https://github.com/gastownhall/beads), or name it in RALPH_BD",
    );
}

fn named() {
    let world = project(&["a x"]);
    fs::remove_file(world.path("bin/bd")).unwrap();
    fs::create_dir(world.path("elsewhere")).unwrap();
    symlink(std::env::current_exe().unwrap(), world.path("elsewhere/bd")).unwrap();
    let mut command = world.command(env!("CARGO_BIN_EXE_ralph").as_ref(), "");
    command.args(["task", "ready", "--tracker", "bd"]);
    command.env("RALPH_BD", world.path("elsewhere/bd"));
    assert_eq!(command.output().unwrap().stdout, b"a  x\n");
    command.env("RALPH_BD", world.path("elsewhere/nothing"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("elsewhere/nothing`; install bd"));
}
