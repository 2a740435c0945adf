//! Where the session stands does not matter: a subfolder, elsewhere after `cd`, a linked work tree.

use crate::world::World;
use std::fs;

#[test]
fn a_loop_follows_the_shell_into_a_subfolder_and_still_sees_the_whole_tree() {
    let mut world = World::looping("--stall-limit 1");
    world.write("sub/file", "x");
    world.cwd = world.project().join("sub");
    for n in 0..3 {
        world.write("at-the-root", &n.to_string());
        world.stop("x").goes_on();
    }
    world.stop("x").ends("Ralph: stalled: ");
}

#[test]
fn after_a_cd_elsewhere_the_projects_tree_is_still_the_one_that_counts() {
    let mut world = World::looping("--stall-limit 1");
    world.cwd = world.root().join("home");
    for n in 0..3 {
        world.write("file", &n.to_string());
        world.stop("x").goes_on();
    }
    fs::write(world.cwd.join("elsewhere"), "x").unwrap();
    world.stop("x").ends("Ralph: stalled: ");
}

#[test]
fn started_in_a_subfolder_it_is_bound_to_the_folder_that_the_client_names() {
    let mut world = World::new();
    world.write("sub/file", "x");
    world.cwd = world.project().join("sub");
    world.start("");
    assert_eq!(world.state()["project_root"], world.project().to_str().unwrap());
}

#[test]
fn where_the_client_names_no_project_it_is_the_repositorys_root() {
    let mut world = World::new();
    world.write("sub/file", "x");
    world.cwd = world.project().join("sub");
    world.env.remove("CLAUDE_PROJECT_DIR");
    world.start("--stall-limit 1");
    assert_eq!(world.state()["project_root"], world.project().to_str().unwrap());
    world.write("at-the-root", "x");
    world.stop("x").goes_on();
    world.cwd = world.root();
    world.stop("x").ends("Ralph: stalled: ");
}

#[test]
fn a_loop_in_a_linked_work_tree_looks_at_that_tree() {
    let mut world = World::new();
    world.git("worktree add -q ../linked");
    let linked = world.root().join("linked");
    world.set("CLAUDE_PROJECT_DIR", linked.to_str().unwrap());
    world.cwd = linked.clone();
    world.start("--stall-limit 1");
    for n in 0..3 {
        fs::write(linked.join("file"), n.to_string()).unwrap();
        world.stop("x").goes_on();
    }
    world.write("in-the-main-tree", "x");
    world.stop("x").ends("Ralph: stalled: ");
}

#[test]
fn a_project_that_is_gone_is_no_reason_to_fail() {
    let mut world = World::looping("--max-iterations 2");
    world.cwd = world.root();
    fs::remove_dir_all(world.project()).unwrap();
    world.stop("x").goes_on();
    world.stop("x").goes_on();
    world.stop("x").ends("Ralph: stopped after 3 turns, ");
}

#[test]
fn files_with_strange_names_are_work_like_any_other() {
    let world = World::looping("--stall-limit 1");
    for name in ["with space", "line\nfeed", "quote\"", "ümlaut", "-dash", "tab\t"] {
        world.write(name, "x");
        world.stop("x").goes_on();
    }
    world.stop("x").ends("Ralph: stalled: ");
}
