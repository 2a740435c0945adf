//! A copy of the project, where no overlay can be made.

use super::world::World;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

const FORBIDDEN: &str = "RALPH_TEST_NO_OVERLAY";

fn world() -> World {
    World::new().variable(FORBIDDEN, "copy")
}

#[test]
fn the_reason_is_told_and_the_command_sees_the_other_files() {
    let world = world().file("a", "now").file("sub/b", "now").file("c", "now");
    let world =
        world.replaced("a", "start").absent("sub/b").replaced("new/d", "start").watched("c");
    let before = world.machine();
    let answer = world.run("cat a c new/d; ls -A sub; echo x >c; echo x >more");
    answer.passes().tail("startnowstart");
    assert_eq!(answer.text("way"), "copy: a test forbids overlays");
    assert_eq!(world.machine(), before);
    world.run("cat new/d").opened(&["new/d"]);
    world.run("ls -l").opened(&[]);
}

#[test]
fn modes_times_and_links_are_kept() {
    let world = world().file("a", "now").file("locked/b", "now").file("unreadable", "now");
    world.plainly(
        "touch -d '2001-02-03 04:05:06.789' a locked; ln -s a l; ln -s none dangling; chmod 751 a",
    );
    symlink(world.project("a"), world.project("absolute")).unwrap();
    fs::set_permissions(world.project("unreadable"), Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(world.project("locked"), Permissions::from_mode(0o555)).unwrap();
    let line = "stat -c '%n %a %y' a locked unreadable; readlink l dangling; cat locked/b";
    let outside = world.plainly(line);
    let inside = world.run(line);
    inside.passes().tail(&outside);
    world.run("echo x >absolute").passes();
    assert_eq!(world.plainly("cat a"), "now", "an absolute link leads into the copy");
}

#[test]
fn paths_of_the_project_lead_to_the_copy_and_are_told_as_the_projects() {
    let world = world().file("src/a", "now").replaced("src/a", "start");
    let (project, src) = (world.path("project"), world.project("src"));
    let world = world.variable("PYTHONPATH", &format!("/x:{}", src.display()));
    let line = format!("cat {}/src/a ${{PYTHONPATH#/x:}}/a; pwd", project.display());
    world.run(&line).passes().tail(&format!("startstart{}", project.display()));
}

/// Git would write in the folder to which that file leads.
#[test]
fn a_work_tree_is_copied_without_the_file_that_leads_to_its_git_folder() {
    let world = world();
    world.plainly(
        "git init -q ~/main; cd ~/main; git -c user.name=t -c user.email=t@x commit -q --allow-empty -m x
        git worktree add -q ~/../project/tree",
    );
    let world = world.file("tree/a", "now");
    world.run("ls -A tree").passes().tail("a");
}

#[test]
fn bounds_hold_in_the_copy() {
    let world = world().bounded();
    let world = world.file("a", "now").replaced("a", "start");
    let tried = world.run("true");
    if tried.0["ended"] != "Exited(0)" {
        eprintln!("SKIPPED: {tried:?}");
        return;
    }
    let line = "cat a; echo x >new && ls; { echo x >~/new; } 2>/dev/null || echo refused";
    world.run(line).passes().tail("starta\nnew\nrefused");
    assert!(!world.project("new").exists());
}

#[test]
fn a_file_outside_of_the_copy_is_not_touched() {
    let world = world();
    let out = world.path("home/out");
    world.file_at(&out.join("a"), "now");
    symlink(&out, world.project("link")).unwrap();
    let world = world.replaced("link/a", "start");
    let answer = world.run("true");
    assert!(answer.text("error").contains("its folder is outside of the copy"), "{answer:?}");
    assert_eq!(fs::read_to_string(out.join("a")).unwrap(), "now");
}

#[test]
fn where_nothing_can_be_copied_nothing_runs() {
    let world = World::new().variable(FORBIDDEN, "nowhere");
    let answer = world.run("true");
    let reason = "a test forbids overlays; a test forbids copies";
    assert_eq!(answer.text("way"), format!("nowhere: {reason}"));
    assert!(answer.text("error").ends_with(reason), "{answer:?}");
}

/// The limit is that of a user namespace, so that the machine keeps its own.
#[test]
fn where_a_setting_forbids_overlays_it_is_told_with_what_to_type() {
    const FORBIDS: &str = "exec unshare -Ur sh -c '
        echo 0 >/proc/sys/user/max_user_namespaces || exit
        exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin -- \"$@\"' sh \"$@\"";
    let world = World::new();
    let tried = world.as_user("unshare".as_ref()).args(["-Ur", "true"]).status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no user namespace can be made here");
        return;
    }
    let world = world.file("a", "now").replaced("a", "start").wrapped(FORBIDS);
    let answer = world.run("cat a");
    answer.passes().tail("start");
    let why = "copy: could not enter a user namespace: No space left on device (os error 28)";
    assert_eq!(answer.text("way"), why);
    assert_eq!(answer.text("remedy"), "type `sudo sysctl -w user.max_user_namespaces=10000`");
}
