//! When nothing moves, and what counts as a move.

use crate::world::World;
use serde_json::json;
use std::fs;

#[test]
fn stops_without_any_change_end_the_loop_at_the_limit() {
    let world = World::looping("--stall-limit 3");
    for _ in 0..3 {
        world.stop("thinking").goes_on();
    }
    world
        .stop("thinking")
        .ends("Ralph: stalled: nothing had changed at 3 stops in a row, after 4 turns");
    assert_eq!(world.ending(), "stalled");
}

#[test]
fn the_limit_is_the_one_that_was_asked_for() {
    let world = World::looping("--stall-limit 1");
    world.stop("x").goes_on();
    world.stop("x").ends("Ralph: stalled: nothing had changed");
}

#[track_caller]
fn moves(act: impl Fn(&World, u32)) {
    let world = World::looping("--stall-limit 2");
    for n in 0..6 {
        act(&world, n);
        world.stop("x").goes_on();
    }
}

#[test]
fn a_new_untracked_file_at_each_stop_is_progress() {
    moves(|world, n| world.write(&format!("new-{n}"), ""));
}

#[test]
fn a_commit_at_each_stop_is_progress() {
    moves(|world, _| world.git("commit -q --allow-empty -m more"));
}

#[test]
fn an_edit_of_equal_line_count_at_each_stop_is_progress() {
    moves(|world, n| world.write("tracked", &format!("{n}\n")));
}

#[test]
fn a_task_that_moves_is_progress() {
    moves(|world, n| {
        world.edit_state(|state| {
            state["task_graph"] = json!([{"id": "T", "status": "done", "result": n.to_string()}])
        })
    });
}

#[test]
fn files_of_ralph_itself_are_no_progress() {
    let world = World::looping("--stall-limit 2");
    for n in 0..2 {
        world.write(".omc/plans/p", &n.to_string());
        world.stop("x").goes_on();
    }
    world.write(".claude/worktrees/w/f", "x");
    world.stop("x").ends("Ralph: stalled: ");
}

#[test]
fn without_commits_or_a_repository_a_stall_and_a_move_are_told_apart() {
    for has_repository in [false, true] {
        let world = World::without_repository();
        if has_repository {
            world.git("init -q");
        }
        world.start("--stall-limit 2");
        for n in 0..4 {
            world.write("file", &n.to_string());
            world.stop("x").goes_on();
        }
        world.stop("x").goes_on();
        world.stop("x").ends("Ralph: stalled: ");
    }
}

#[test]
fn without_git_on_the_path_the_loop_goes_on_and_claims_no_stall() {
    let mut world = World::looping("--stall-limit 1 --max-iterations 3");
    fs::create_dir(world.root().join("empty")).unwrap();
    let empty = world.root().join("empty").display().to_string();
    world.set("PATH", &empty);
    for _ in 0..3 {
        world.stop("x").goes_on();
    }
    world.stop("x").ends("Ralph: stopped after ");
}
