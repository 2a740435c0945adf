//! `ralph parallel merge` and `clean`, with real repositories and worktrees.

use crate::world::{Printed, World, start};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository with a commit and a live loop that has these tasks, all done by their workers.
fn world(tasks: &[&str]) -> World {
    let world = World::new().with_git();
    git(&world, &["init", "-q", "-b", "main"]);
    world.write("project/a", "a1\na2\na3\na4\na5\na6\na7\na8\na9\n");
    world.write("project/b", "one\n");
    world.write("project/.gitignore", "*.ignored\nnode_modules/\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "first"]);
    let world = world.live_loop("S");
    let tasks: Vec<Value> = tasks
        .iter()
        .map(|id| {
            json!({"id": id, "name": format!("name of {id}"), "deps": [], "status": "done",
                "completion_condition": "", "files": [], "owner": "ralph-worker", "attempts": 1})
        })
        .collect();
    world.change_state(|state| {
        state["parallel"] = json!(true);
        state["task_graph"] = json!(tasks);
        state["workers"] = json!([]);
    });
    world
}

fn git(world: &World, arguments: &[&str]) -> String {
    git_in(&world.path("project"), arguments)
}

fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(folder)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {words}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The worktree of a task's worker, begun at the commit that the project stands on.
fn worktree(world: &World, task: &str) -> PathBuf {
    let folder = world.path("project/.claude/worktrees").join(format!("agent-{task}"));
    let branch = format!("worktree-agent-{task}");
    git(world, &["worktree", "add", "-q", "-b", &branch, folder.to_str().unwrap()]);
    let base = git(world, &["rev-parse", "HEAD"]).trim().to_owned();
    world.change_state(|state| {
        state["workers"].as_array_mut().unwrap().push(json!({
            "call": format!("call-{task}"), "kind": "ralph-worker", "task": task, "about": task,
            "at": "2026-01-01T00:00:00Z", "standing": "done", "worktree": folder.to_str().unwrap(),
            "branch": branch, "base": base, "files": ["x"]}));
    });
    folder
}

/// A worker that has written one file and committed it.
fn worker(world: &World, task: &str, file: &str, text: &str) -> PathBuf {
    let folder = worktree(world, task);
    put(&folder, file, text);
    git_in(&folder, &["add", "-A"]);
    git_in(&folder, &["commit", "-q", "-m", &format!("work on {task}")]);
    folder
}

fn put(folder: &Path, file: &str, text: &str) {
    fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
    fs::write(folder.join(file), text).unwrap();
}

fn merge(world: &World) -> Printed {
    world.ralph(&["parallel", "merge"])
}

fn document(world: &World, arguments: &[&str], exit: i32) -> Value {
    let printed = world.ralph(&[&["parallel", "merge", "--json"], arguments].concat());
    assert_eq!(printed.exit, exit, "{printed:?}");
    printed.json()
}

fn outcomes(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let workers = document["workers"].as_array().unwrap().iter();
    workers.map(|one| (text(&one["task"]), text(&one["outcome"]))).collect()
}

#[track_caller]
fn came(document: &Value, expected: &[(&str, &str)]) {
    let expected: Vec<(String, String)> =
        expected.iter().map(|(task, what)| ((*task).to_owned(), (*what).to_owned())).collect();
    assert_eq!(outcomes(document), expected, "{document:#}");
}

fn read(world: &World, file: &str) -> String {
    fs::read_to_string(world.path("project").join(file)).unwrap()
}

fn is_there(world: &World, file: &str) -> bool {
    world.path("project").join(file).symlink_metadata().is_ok()
}

/// Branch, index and work tree agree, but for the folder of worktrees; and nothing of ours is left.
#[track_caller]
fn settled(world: &World, expected: &str) {
    let status = git(world, &["status", "--porcelain", "--", ".", ":(exclude).claude"]);
    assert_eq!(status, expected);
    for name in ["index.lock", "ralph-merge", "ralph-merge.index"] {
        assert!(!is_there(world, &format!(".git/{name}")), "{name} is left");
    }
    let worktrees = git(world, &["worktree", "list"]);
    assert!(!worktrees.contains("ralph-merge-"), "{worktrees}");
    git(world, &["fsck", "--no-dangling"]);
}

fn head(world: &World) -> String {
    git(world, &["rev-parse", "HEAD"]).trim().to_owned()
}

fn criteria(world: &World, commands: &[&str]) {
    let all: Vec<Value> = commands
        .iter()
        .enumerate()
        .map(|(at, command)| {
            json!({"id": format!("AC-{}", at + 1), "description": "", "verified": false,
                "verification_command": command})
        })
        .collect();
    world.change_state(|state| {
        state["acceptance_criteria"] = json!(all);
        state.as_object_mut().unwrap().remove("frozen");
    });
}

#[test]
fn two_workers_are_merged_and_the_branch_the_index_and_the_files_have_both() {
    let world = world(&["T-1", "T-2"]);
    worker(&world, "T-2", "two", "2\n");
    worker(&world, "T-1", "one", "1\n");
    let base = head(&world);
    let printed = merge(&world).done();
    let log = git(&world, &["log", "--format=%s|%an|%P", "--first-parent"]);
    let subjects: Vec<&str> = log.lines().map(|line| line.split('|').next().unwrap()).collect();
    assert_eq!(subjects, ["Merge T-2: name of T-2", "Merge T-1: name of T-1", "first"]);
    assert!(log.lines().take(2).all(|line| line.contains("|Ralph|")), "{log}");
    let lines: Vec<&str> = printed.stdout.lines().collect();
    assert!(lines[0].starts_with("T-1  merged    ") && lines[1].starts_with("T-2  merged    "));
    assert_eq!(
        lines[2],
        format!("`main` and its files have moved from {} to {}.", &base[..10], &head(&world)[..10])
    );
    assert_eq!((read(&world, "one"), read(&world, "two")), ("1\n".to_owned(), "2\n".to_owned()));
    settled(&world, "");
    let state = world.state();
    let merged = git(&world, &["rev-parse", "HEAD^"]).trim().to_owned();
    assert_eq!(state["workers"][1]["merged"], merged.as_str(), "T-1 was merged first");
    assert_eq!(state["workers"][0]["merged"], head(&world).as_str());
    assert_eq!(
        world.journal().iter().filter(|line| *line == "ralph parallel merge: merged").count(),
        2
    );
    let reflog = git(&world, &["reflog", "-1", "main"]);
    assert!(reflog.contains("ralph parallel merge"), "{reflog}");
    merge(&world).check(0, "There is nothing to merge.\n", "");
}

#[test]
fn a_merge_is_the_persons_where_git_knows_them_and_no_program_of_the_repository_runs() {
    let world = world(&["T-1", "T-2"]);
    world.write(
        "home/.gitconfig",
        "[user]\nname = Person\nemail = p@example.com\n[commit]\ngpgsign = true\n",
    );
    worker(&world, "T-1", "a", "A1\na2\na3\na4\na5\na6\na7\na8\na9\n");
    let folder = worktree(&world, "T-2");
    put(&folder, "a", "a1\na2\na3\na4\na5\na6\na7\na8\nA9\n");
    let ran = world.path("ran").display().to_string();
    for hook in
        ["pre-merge-commit", "post-merge", "post-checkout", "commit-msg", "reference-transaction"]
    {
        let path =
            world.write(&format!("project/.git/hooks/{hook}"), &format!("#!/bin/sh\n: > {ran}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    git(&world, &["config", "merge.own.driver", &format!(": > {ran}; exit 1")]);
    world.write("project/.git/info/attributes", "a merge=own\n");
    merge(&world).done();
    assert_eq!(read(&world, "a"), "A1\na2\na3\na4\na5\na6\na7\na8\nA9\n");
    assert!(!world.path("ran").exists(), "a program of the repository ran");
    let makers = git(&world, &["log", "-3", "--format=%an %cn %G?"]);
    assert_eq!(makers.matches("Person Person N").count(), 3, "{makers}");
}

#[test]
fn what_a_worker_left_uncommitted_and_untracked_is_merged_and_its_worktree_stays_as_it_was() {
    let world = world(&["T-1"]);
    let folder = worker(&world, "T-1", "committed", "1\n");
    put(&folder, "b", "two\n");
    put(&folder, "new/untracked", "u\n");
    put(&folder, "x.ignored", "i\n");
    put(&folder, "staged", "s\n");
    git_in(&folder, &["add", "staged"]);
    fs::remove_file(folder.join("a")).unwrap();
    let before = (
        git_in(&folder, &["status", "--porcelain"]),
        git_in(&folder, &["rev-parse", "HEAD", "worktree-agent-T-1"]),
        fs::read(world.path("project/.git/worktrees/agent-T-1/index")).unwrap(),
    );
    merge(&world).done();
    let after = (
        git_in(&folder, &["status", "--porcelain"]),
        git_in(&folder, &["rev-parse", "HEAD", "worktree-agent-T-1"]),
        fs::read(world.path("project/.git/worktrees/agent-T-1/index")).unwrap(),
    );
    assert_eq!(before, after);
    for (file, text) in
        [("committed", "1\n"), ("b", "two\n"), ("new/untracked", "u\n"), ("staged", "s\n")]
    {
        assert_eq!(read(&world, file), text, "{file}");
    }
    assert!(!is_there(&world, "a") && !is_there(&world, "x.ignored"));
    settled(&world, "");
    let commit = world.state()["workers"][0]["commit"].as_str().unwrap().to_owned();
    assert_eq!(git(&world, &["rev-parse", "HEAD^2"]).trim(), commit);
}

#[test]
fn a_conflict_is_named_leaves_everything_as_it_was_and_opens_the_task_again() {
    let world = world(&["T-1", "T-2", "T-3"]);
    worker(&world, "T-1", "b", "first\n");
    worker(&world, "T-2", "b", "second\n");
    worker(&world, "T-3", "c", "third\n");
    let printed = merge(&world);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(
        printed.stdout.contains(
            "T-2  kept out  it conflicts with what was merged before, in `b`\n     T-2 is ready again\n     \
             its work is kept at `refs/ralph/[LOOP]/workers/T-2`\n"
        ),
        "{printed:?}"
    );
    assert_eq!(
        (read(&world, "b"), read(&world, "c")),
        ("first\n".to_owned(), "third\n".to_owned())
    );
    settled(&world, "");
    let state = world.state();
    assert_eq!(state["task_graph"][1]["status"], "pending");
    assert!(state["task_graph"][1]["result"].as_str().unwrap().contains("`b`"));
    assert!(state["workers"][1]["kept_out"].as_str().unwrap().contains("`b`"));
    let kept = format!("refs/ralph/{}/workers/T-2", world.loop_id());
    assert_eq!(git(&world, &["show", &format!("{kept}:b")]), "second\n");
    assert_eq!(merge(&world).exit, 0, "what was kept out is not tried again");
    // Checkpoints are numbers below the same name.
    assert_eq!(world.ralph(&["checkpoint", "list"]).exit, 1);
}

#[test]
fn a_conflict_alone_moves_nothing() {
    let world = world(&["T-1"]);
    worker(&world, "T-1", "b", "worker\n");
    world.write("project/b", "person\n");
    git(&world, &["commit", "-q", "-am", "person's"]);
    let base = head(&world);
    let document = document(&world, &[], 1);
    came(&document, &[("T-1", "conflict")]);
    assert_eq!(document["workers"][0]["files"], json!(["b"]));
    assert_eq!(
        (document["base"].as_str(), document["head"].as_str()),
        (Some(&*base), Some(&*base))
    );
    assert_eq!((head(&world), read(&world, "b")), (base, "person\n".to_owned()));
    settled(&world, "");
}

#[test]
fn a_merge_that_turns_a_criterion_red_is_taken_back_and_the_others_stay() {
    let world = world(&["T-1", "T-2", "T-3"]);
    worker(&world, "T-1", "fine", "1\n");
    worker(&world, "T-2", "bad", "2\n");
    worker(&world, "T-3", "fine2", "3\n");
    criteria(&world, &["echo looked; ! test -e bad", "test -e never", "test -e fine2"]);
    let told = document(&world, &[], 1);
    came(&told, &[("T-1", "merged"), ("T-2", "turned_red"), ("T-3", "merged")]);
    assert_eq!(told["workers"][1]["criteria"], json!(["AC-1"]), "AC-2 was red before");
    assert_eq!(told["workers"][1]["tail"], "looked");
    assert!(is_there(&world, "fine") && is_there(&world, "fine2") && !is_there(&world, "bad"));
    settled(&world, "");
    let state = world.state();
    assert_eq!(state["task_graph"][1]["status"], "pending");
    assert!(state["acceptance_criteria"][0]["receipt"].is_null(), "no receipt is written");
    // What turned green with one merge must stay green with the next.
    world.change_state(|state| {
        let again = json!({"id": "T-4", "name": "again", "status": "done"});
        state["task_graph"].as_array_mut().unwrap().push(again);
    });
    fs::remove_file(worktree(&world, "T-4").join("fine2")).unwrap();
    let told = document(&world, &[], 1);
    came(&told, &[("T-4", "turned_red")]);
    assert_eq!(told["workers"][0]["criteria"], json!(["AC-3"]));
}

#[test]
fn criteria_that_nobody_agreed_to_are_not_run() {
    let world = world(&["T-1"]);
    worker(&world, "T-1", "one", "1\n");
    let ran = world.path("ran");
    criteria(&world, &["test -d ."]);
    world.ralph(&["verify"]).done();
    world.change_state(|state| {
        state["acceptance_criteria"][0]["verification_command"] =
            json!(format!(": > {}", ran.display()));
    });
    let printed = merge(&world).done();
    assert!(
        printed.stdout.contains("No criterion was run: the criteria are not those"),
        "{printed:?}"
    );
    assert!(!ran.exists());
}

#[test]
fn installed_packages_are_there_for_the_criteria_and_never_in_a_commit() {
    let world = world(&["T-1"]);
    worker(&world, "T-1", "one", "1\n");
    world.write("project/node_modules/pkg/index", "x");
    criteria(&world, &["test -e node_modules/pkg/index"]);
    let log = world.path("log");
    world.change_state(|state| {
        state["acceptance_criteria"][0]["verification_command"] =
            json!(format!("test -e node_modules/pkg/index && pwd >> {}", log.display()));
    });
    came(&document(&world, &[], 0), &[("T-1", "merged")]);
    let places = fs::read_to_string(&log).unwrap();
    let expected = format!("project/.claude/worktrees/ralph-merge-{}", world.loop_id());
    assert_eq!(places.lines().count(), 2, "before and after: {places}");
    assert!(places.lines().all(|line| line.ends_with(&expected)), "{places}");
    assert!(!git(&world, &["ls-files"]).contains("node_modules"));
    assert!(is_there(&world, "node_modules/pkg/index"), "the person's packages are theirs");
    settled(&world, "");
}

/// Nothing moves, and the file is as it was.
#[track_caller]
fn in_the_way(set: impl Fn(&World), file: &str, text: &str) {
    let world = world(&["T-1", "T-2"]);
    let folder = worker(&world, "T-1", "b", "worker\n");
    put(&folder, "new/file", "worker\n");
    put(&folder, "x.ignored", "worker\n");
    git_in(&folder, &["add", "-f", "x.ignored"]);
    worker(&world, "T-2", "c", "c\n");
    set(&world);
    let before = (head(&world), git(&world, &["status", "--porcelain", "--ignored"]));
    let state = world.state();
    let printed = merge(&world);
    assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{printed:?}");
    assert!(printed.stderr.contains(&format!("in no commit: `{file}`; commit it")), "{printed:?}");
    assert_eq!(read(&world, file), text);
    assert_eq!(before, (head(&world), git(&world, &["status", "--porcelain", "--ignored"])));
    assert!(!is_there(&world, "c") && !is_there(&world, ".git/index.lock"));
    assert_eq!(world.state(), state, "nothing is said of workers that were not merged");
}

#[test]
fn an_uncommitted_change_in_the_way_is_named_and_nothing_moves() {
    in_the_way(|world| drop(world.write("project/b", "mine\n")), "b", "mine\n");
}

#[test]
fn a_staged_change_in_the_way_is_named_and_nothing_moves() {
    let stage = |world: &World| {
        world.write("project/b", "mine\n");
        git(world, &["add", "b"]);
    };
    in_the_way(stage, "b", "mine\n");
}

#[test]
fn an_untracked_file_in_the_way_is_named_and_nothing_moves() {
    in_the_way(|world| drop(world.write("project/new/file", "mine\n")), "new/file", "mine\n");
    in_the_way(|world| drop(world.write("project/new", "mine\n")), "new", "mine\n");
    in_the_way(
        |world| drop(world.write("project/new/file/sub", "mine\n")),
        "new/file/sub",
        "mine\n",
    );
}

#[test]
fn an_ignored_file_in_the_way_is_named_and_nothing_moves() {
    in_the_way(|world| drop(world.write("project/x.ignored", "mine\n")), "x.ignored", "mine\n");
}

#[test]
fn a_change_that_git_was_told_not_to_look_at_is_named_and_nothing_moves() {
    for option in ["--assume-unchanged", "--skip-worktree"] {
        let hide = |world: &World| {
            git(world, &["update-index", option, "b"]);
            world.write("project/b", "mine\n");
        };
        in_the_way(hide, "b", "mine\n");
    }
}

#[test]
fn changes_elsewhere_stay_as_they_are_staged_or_not() {
    let world = world(&["T-1"]);
    worker(&world, "T-1", "one", "1\n");
    world.write("project/a", "mine\n");
    world.write("project/b", "staged\n");
    world.write("project/untracked", "u\n");
    git(&world, &["add", "b"]);
    git(&world, &["update-index", "--assume-unchanged", ".gitignore"]);
    merge(&world).done();
    assert_eq!(
        (read(&world, "a"), read(&world, "b")),
        ("mine\n".to_owned(), "staged\n".to_owned())
    );
    settled(&world, " M a\nM  b\n?? untracked\n");
    assert!(git(&world, &["ls-files", "-v", ".gitignore"]).starts_with('h'), "the bit stays");
}

#[test]
fn a_file_that_was_written_again_as_it_was_is_no_change() {
    let world = world(&["T-1"]);
    worker(&world, "T-1", "b", "worker\n");
    let at = std::time::SystemTime::UNIX_EPOCH;
    fs::File::options()
        .write(true)
        .open(world.path("project/b"))
        .unwrap()
        .set_modified(at)
        .unwrap();
    merge(&world).done();
    assert_eq!(read(&world, "b"), "worker\n");
    settled(&world, "");
}

#[test]
fn names_of_any_bytes_links_modes_and_folders_that_become_files_come_along() {
    let world = world(&["T-1"]);
    world.write("project/was-folder/in", "x\n");
    world.write("project/was-file", "x\n");
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "second"]);
    let folder = worktree(&world, "T-1");
    let odd = OsStr::from_bytes(b"odd \xff name\nwith line");
    fs::write(folder.join(odd), "odd\n").unwrap();
    symlink("nowhere/at all", folder.join("link")).unwrap();
    put(&folder, "run me", "#!/bin/sh\n");
    fs::set_permissions(folder.join("run me"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(folder.join("was-folder")).unwrap();
    put(&folder, "was-folder", "now a file\n");
    fs::remove_file(folder.join("was-file")).unwrap();
    put(&folder, "was-file/in", "now a folder\n");
    merge(&world).done();
    let project = world.path("project");
    assert_eq!(fs::read_to_string(project.join(odd)).unwrap(), "odd\n");
    assert_eq!(fs::read_link(project.join("link")).unwrap(), Path::new("nowhere/at all"));
    assert_eq!(project.join("run me").metadata().unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(read(&world, "was-folder"), "now a file\n");
    assert_eq!(read(&world, "was-file/in"), "now a folder\n");
    settled(&world, "");
}

#[test]
fn a_submodule_stays_as_it_is_and_a_repository_that_nobody_committed_is_not_half_merged() {
    let world = world(&["T-1", "T-2"]);
    let other = world.path("other");
    git_in(&other, &["init", "-q", "-b", "main"]);
    git_in(&other, &["commit", "-q", "--allow-empty", "-m", "other"]);
    git(&world, &["submodule", "add", "-q", other.to_str().unwrap(), "sub"]);
    git(&world, &["commit", "-q", "-m", "submodule"]);
    worker(&world, "T-1", "one", "1\n");
    let folder = worker(&world, "T-2", "two", "2\n");
    git_in(&folder, &["init", "-q", "nested"]);
    put(&folder, "nested/file", "n\n");
    git_in(&folder.join("nested"), &["add", "."]);
    git_in(&folder.join("nested"), &["commit", "-q", "-m", "nested"]);
    let told = document(&world, &[], 1);
    came(&told, &[("T-1", "merged"), ("T-2", "unusable")]);
    assert!(
        told["workers"][1]["why"].as_str().unwrap().contains("`nested` is a repository of its own")
    );
    assert!(is_there(&world, "sub/.git") && !is_there(&world, "nested"));
    settled(&world, "");
}

#[test]
fn a_detached_head_moves_and_no_branch_does() {
    let world = world(&["T-1"]);
    git(&world, &["checkout", "-q", "--detach"]);
    worker(&world, "T-1", "one", "1\n");
    let base = head(&world);
    let printed = merge(&world).done();
    assert!(printed.stdout.contains("`HEAD` and its files have moved"), "{printed:?}");
    assert_eq!(git(&world, &["rev-parse", "main"]).trim(), base);
    assert_eq!(read(&world, "one"), "1\n");
    settled(&world, "");
}

#[test]
fn a_head_that_moved_while_criteria_ran_is_left_where_it_is() {
    let world = world(&["T-1"]);
    worker(&world, "T-1", "one", "1\n");
    let project = world.path("project").display().to_string();
    criteria(
        &world,
        &[&format!(
            "test -e one && GIT_DIR={project}/.git git -c user.name=p -c user.email=p@e commit -q --allow-empty \
         -m person || true"
        )],
    );
    let printed = merge(&world);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(
        printed.stderr.contains("so nothing was merged; run `ralph parallel merge` again"),
        "{printed:?}"
    );
    assert_eq!(git(&world, &["log", "-1", "--format=%s"]), "person\n");
    assert!(!is_there(&world, "one"));
    settled(&world, "");
    criteria(&world, &["true"]);
    came(&document(&world, &[], 0), &[("T-1", "merged")]);
    assert!(is_there(&world, "one"));
}

#[test]
fn two_merges_at_once_give_what_one_would() {
    let world = world(&["T-1", "T-2"]);
    worker(&world, "T-1", "one", "1\n");
    worker(&world, "T-2", "two", "2\n");
    let begin = || {
        let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
        start(command.args(["parallel", "merge"]))
    };
    let (one, other) = (begin(), begin());
    let (one, other) = (world.finish(one, "").done(), world.finish(other, "").done());
    let nothing =
        [&one, &other].into_iter().filter(|it| it.stdout == "There is nothing to merge.\n");
    assert_eq!(nothing.count(), 1, "{one:?} {other:?}");
    assert_eq!(git(&world, &["rev-list", "--count", "--first-parent", "HEAD"]), "3\n");
    settled(&world, "");
}

#[test]
fn unfinished_work_is_merged_by_name_and_its_task_stays_open() {
    let world = world(&["T-1", "T-2"]);
    worker(&world, "T-1", "one", "1\n");
    worker(&world, "T-2", "two", "2\n");
    world.change_state(|state| {
        state["workers"][0]["standing"] = json!("partial");
        state["task_graph"][0]["status"] = json!("pending");
    });
    came(&document(&world, &[], 0), &[("T-2", "merged")]);
    came(&document(&world, &["T-1"], 0), &[("T-1", "merged")]);
    assert_eq!(world.state()["task_graph"][0]["status"], "pending");
    for (task, words) in
        [("T-1", "no worker has left work on T-1"), ("T-9", "there is no task `T-9`")]
    {
        let printed = world.ralph(&["parallel", "merge", task]);
        assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{printed:?}");
        assert!(printed.stderr.contains(words), "{printed:?}");
    }
}

#[test]
fn work_that_the_branch_has_already_and_work_that_is_gone_are_told_apart() {
    let world = world(&["T-1", "T-2"]);
    worker(&world, "T-1", "one", "1\n");
    let gone = worker(&world, "T-2", "two", "2\n");
    git(&world, &["merge", "-q", "worktree-agent-T-1"]);
    git(&world, &["worktree", "remove", gone.to_str().unwrap()]);
    git(&world, &["branch", "-D", "-q", "worktree-agent-T-2"]);
    let told = document(&world, &[], 1);
    came(&told, &[("T-1", "nothing"), ("T-2", "unusable")]);
    assert_eq!(world.state()["workers"][0]["merged"], head(&world).as_str());
    settled(&world, "");
}

#[test]
fn where_nothing_can_be_merged_it_says_what_to_do() {
    let refused = |set: &dyn Fn(&World), words: &str| {
        let world = world(&["T-1"]);
        worker(&world, "T-1", "b", "worker\n");
        set(&world);
        let printed = merge(&world);
        assert_eq!((printed.exit, printed.stdout.as_str()), (1, ""), "{printed:?}");
        assert!(printed.stderr.contains(words), "{printed:?}");
    };
    let in_progress = |world: &World| {
        let commit = head(world);
        world.write("project/.git/MERGE_HEAD", &format!("{commit}\n"));
    };
    refused(&in_progress, "a merge is in progress");
    refused(
        &|world| fs::create_dir(world.path("project/.git/rebase-merge")).unwrap(),
        "a rebase is in progress",
    );
    refused(&|world| drop(git(world, &["checkout", "-q", "--orphan", "new"])), "has no commit yet");
    refused(&|world| drop(git(world, &["config", "core.bare", "true"])), "is bare");
    refused(
        &|world| fs::rename(world.path("project/.git"), world.path("elsewhere")).unwrap(),
        "is in no git repository",
    );
    refused(&|world| drop(world.write("project/.git/index.lock", "")), "another git runs");
}

#[test]
fn a_project_below_the_top_of_its_repository_is_merged_and_tried_where_it_is() {
    let world = World::new().with_git();
    git_in(&world.path(""), &["init", "-q", "-b", "main"]);
    world.write("project/file", "one\n");
    git(&world, &["add", "file"]);
    git(&world, &["commit", "-q", "-m", "first"]);
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    command.env("CLAUDE_PROJECT_DIR", world.path("project")).args(["start", "--session", "S", "x"]);
    world.finish(start(&mut command), "").done();
    world.change_state(|state| {
        state["task_graph"] = json!([{"id": "T-1", "name": "n", "status": "done"}]);
        state["workers"] = json!([]);
    });
    let folder = worktree(&world, "T-1");
    put(&folder, "project/new", "n\n");
    criteria(&world, &["test -e file"]);
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    command.env("CLAUDE_PROJECT_DIR", world.path("project")).args(["parallel", "merge"]);
    let printed = world.finish(start(&mut command), "").done();
    assert!(printed.stdout.contains("merged"), "{printed:?}");
    assert_eq!(read(&world, "new"), "n\n");
}

#[test]
fn a_session_of_the_loop_may_merge_and_clean() {
    let world = world(&["T-1"]);
    worker(&world, "T-1", "one", "1\n");
    world.in_session("S", &["parallel", "merge"], "").done();
    world.in_session("S", &["parallel", "clean"], "").done();
    assert!(is_there(&world, "one") && !is_there(&world, ".claude/worktrees/agent-T-1"));
}

fn stays(document: &Value) -> Vec<(String, Option<String>)> {
    let items = document["worktrees"].as_array().unwrap().iter();
    items
        .map(|item| {
            let why = item["stays"]["why"].as_str().map(str::to_owned);
            (item["task"].as_str().unwrap().to_owned(), why)
        })
        .collect()
}

#[test]
fn cleaning_removes_what_is_merged_and_lists_the_rest_with_its_reason() {
    let names = ["T-1", "T-2", "T-3", "T-4", "T-5", "T-6", "T-7", "T-8"];
    let world = world(&names);
    let folders: Vec<PathBuf> = names.iter().map(|id| worker(&world, id, id, "x\n")).collect();
    put(&folders[0], "left", "uncommitted, and merged\n");
    for (at, standing) in [(5, "running"), (6, "partial")] {
        world.change_state(|state| state["workers"][at]["standing"] = json!(standing));
    }
    // One that conflicts, and stays.
    put(&folders[7], "T-1", "other\n");
    let own = world.path("project/.claude/worktrees/persons");
    git(&world, &["worktree", "add", "-q", "-b", "persons", own.to_str().unwrap()]);
    assert_eq!(merge(&world).exit, 1);
    put(&folders[1], "T-2", "since\n");
    put(&folders[2], "since", "committed\n");
    git_in(&folders[2], &["add", "."]);
    git_in(&folders[2], &["commit", "-q", "-m", "since"]);
    git(&world, &["worktree", "lock", "--reason", "mine", folders[3].to_str().unwrap()]);
    let bench = format!("project/.claude/worktrees/ralph-merge-{}", world.loop_id());
    world.write(&format!("{bench}/left"), "by a killed merge");
    let before = git(&world, &["worktree", "list"]);
    let expected: Vec<(String, Option<String>)> = [
        ("T-1", None),
        ("T-2", Some("changed")),
        ("T-3", Some("changed")),
        ("T-4", Some("locked")),
        ("T-5", None),
        ("T-6", Some("running")),
        ("T-7", Some("not_merged")),
        ("T-8", Some("kept_out")),
        ("", None),
    ]
    .map(|(task, why)| (task.to_owned(), why.map(str::to_owned)))
    .into();
    let looked = world.ralph(&["parallel", "clean", "--dry-run", "--json"]).done().json();
    assert_eq!(stays(&looked), expected, "{looked:#}");
    assert_eq!(git(&world, &["worktree", "list"]), before);
    let printed = world.ralph(&["parallel", "clean"]).done();
    assert!(
        printed.stdout.contains(
            "removed       T-1: [ROOT]/project/.claude/worktrees/agent-T-1 and branch `worktree-agent-T-1`\n"
        ),
        "{printed:?}"
    );
    assert!(
        printed.stdout.contains(
            "its files are other ones; to remove it, work and all: git worktree remove --force \
             [ROOT]/project/.claude/worktrees/agent-T-2 && git branch -D worktree-agent-T-2\n"
        ),
        "{printed:?}"
    );
    let there: Vec<bool> = folders.iter().map(|folder| folder.exists()).collect();
    assert_eq!(there, [false, true, true, true, false, true, true, true]);
    assert!(own.exists() && !world.path(&bench).exists());
    let branches = git(&world, &["branch", "--format=%(refname:short)"]);
    for (at, name) in names.iter().enumerate() {
        assert_eq!(branches.contains(&format!("worktree-agent-{name}\n")), there[at], "{name}");
    }
    assert!(branches.contains("persons"));
}

#[test]
fn cleaning_keeps_work_whose_merge_no_branch_has_any_more() {
    let world = world(&["T-1"]);
    let folder = worker(&world, "T-1", "one", "1\n");
    merge(&world).done();
    git(&world, &["reset", "-q", "--hard", "HEAD^"]);
    let looked = world.ralph(&["parallel", "clean", "--json"]).done().json();
    assert_eq!(stays(&looked), [("T-1".to_owned(), Some("not_held".to_owned()))]);
    assert!(folder.join("one").exists());
}

#[test]
fn cleaning_takes_what_is_left_of_a_worktree_whose_folder_is_gone_also_of_an_ended_loop() {
    let world = world(&["T-1"]);
    let folder = worker(&world, "T-1", "one", "1\n");
    merge(&world).done();
    world.ralph(&["cancel"]).done();
    fs::remove_dir_all(&folder).unwrap();
    let printed = world.ralph(&["parallel", "clean"]).done();
    assert_eq!(printed.stdout, "removed       T-1: branch `worktree-agent-T-1`\n");
    assert!(!git(&world, &["worktree", "list", "--porcelain"]).contains("agent-T-1"));
    let printed = world.ralph(&["parallel", "clean"]).done();
    assert_eq!(printed.stdout, "There are no worktrees of workers.\n");
}
