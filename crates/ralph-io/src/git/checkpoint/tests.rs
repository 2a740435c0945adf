//! Tests checkpoints against real repositories.

use super::*;
use crate::process::clock;
use crate::process::sandbox::{Sandbox, git_in};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const LOOP: &str = "20260131-235959-1f3a";

fn take(root: &Path, loop_id: &str, about: &str, now: Timestamp) -> Result<Checkpoint> {
    TreeSnapshot::capture(root).unwrap().unwrap().keep(loop_id, about, now)
}

/// Removes old checkpoints of [`LOOP`] and of others.
fn prune_all(at: &Sandbox, keep: usize, oldest: Duration) -> usize {
    let all = list(&at.root(), None).unwrap();
    prune(&at.root(), LOOP, all, keep, oldest, clock::now()).unwrap()
}

#[track_caller]
fn taken(at: &Sandbox) -> Checkpoint {
    take(&at.root(), LOOP, "AC-T green", clock::now()).unwrap()
}

/// The files that a commit contains.
fn held(at: &Sandbox, checkpoint: &Checkpoint) -> Vec<String> {
    let listed = at.git(&format!("ls-tree -r --name-only {}", checkpoint.commit));
    listed.lines().map(str::to_owned).collect()
}

fn content(at: &Sandbox, checkpoint: &Checkpoint, path: &str) -> String {
    at.git(&format!("show {}:{path}", checkpoint.commit))
}

/// Everything below a folder, with its bytes and modification time.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            if about.is_dir() {
                if !path.ends_with(".git/objects") && !path.ends_with(".git/refs/ralph") {
                    folders.push(path);
                }
            } else {
                let bytes = if about.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                found.insert(path, format!("{:?} {bytes:?}", about.modified().unwrap()));
            }
        }
    }
    found
}

#[test]
fn the_lock_of_a_git_that_was_killed_costs_its_number_and_no_more() {
    let at = Sandbox::new();
    at.write("tracked", "one\n");
    assert_eq!(taken(&at).number, 1);
    at.write("tracked", "two\n");
    fs::write(at.root().join(format!(".git/refs/ralph/{LOOP}/2.lock")), "").unwrap();
    assert_eq!(taken(&at).number, 3);
}

#[test]
fn a_repository_that_a_command_has_led_to_another_has_no_checkpoint() {
    let (at, other) = (Sandbox::new(), Sandbox::new());
    other.git("config filter.x.clean false");
    at.write(".gitattributes", "* filter=x\n");
    at.write(".git/commondir", &other.path(".git").display().to_string());
    let error = TreeSnapshot::capture(&at.root()).unwrap_err();
    assert!(format!("{error:#}").contains("commondir"), "{error:#}");
}

#[test]
fn untracked_files_are_in_it_and_ignored_ones_our_own_and_a_sandboxs_are_not() {
    let at = Sandbox::new();
    at.write("tracked", "edited\n");
    at.write("new file", "n");
    at.write("x.ignored", "x");
    for ours in [".omc/a", "sub/.omc/a", ".ralph-sessions/1/x", ".claude/refine-sessions.json"] {
        at.write(ours, "x");
        assert!(ralph_core::stop::progress::is_ours(ours));
    }
    at.write(".claude/settings.json", "{}");
    for left in [".bashrc", ".claude/agents", "sub/.mcp.json"] {
        at.write(left, "");
        at.chmod(left, 0o444);
    }
    at.git("worktree add -q .claude/worktrees/w");
    let checkpoint = taken(&at);
    assert_eq!(
        held(&at, &checkpoint),
        [".claude/settings.json", ".gitignore", "new file", "src/a.rs", "tracked"]
    );
    assert_eq!(content(&at, &checkpoint, "tracked"), "edited\n");
    let about = at.git(&format!("log -1 --format=%an|%ae|%cn|%P|%B {}", checkpoint.commit));
    let head = at.git("rev-parse HEAD");
    assert_eq!(
        about.trim_end(),
        format!(
            "Ralph|ralph@localhost|Ralph|{}|Ralph checkpoint 1 of loop {LOOP}\n\nAC-T green",
            head.trim_end()
        )
    );
    assert_eq!(checkpoint.reference, format!("refs/ralph/{LOOP}/1"));
    assert_eq!(checkpoint.loop_id(), LOOP);
    assert_eq!(list(&at.root(), Some(LOOP)).unwrap(), [checkpoint]);
}

#[test]
fn nothing_of_the_users_is_touched() {
    let at = Sandbox::new();
    // Everything that could be disturbed: staged, half staged, unstaged, stashed, untracked.
    at.write("tracked", "stashed\n");
    at.git("stash -q");
    at.write("src/a.rs", "staged\n");
    at.git("add src/a.rs");
    at.write("src/a.rs", "staged, and edited again\n");
    at.write("new", "n");
    at.git("config core.logAllRefUpdates always");
    at.git("config core.splitIndex true");
    at.git("config commit.gpgSign true");
    at.git("config gpg.program /nonexistent");
    let witness = at.path(".git/hook-ran");
    let hooks = ["post-index-change", "reference-transaction", "pre-commit", "post-commit"];
    for hook in hooks {
        at.write(&format!(".git/hooks/{hook}"), &format!("#!/bin/sh\n: >{}\n", witness.display()));
        at.chmod(&format!(".git/hooks/{hook}"), 0o755);
    }
    fs::write(at.path(".git/index.lock"), "another git runs").unwrap();
    let before = snapshot(&at.root());
    let first = taken(&at);
    at.write("new", "n2");
    let second = taken(&at);
    diff(&at.root(), &first).unwrap();
    show(&at.root(), &first).unwrap();
    at.write("new", "n");
    prune_all(&at, 1, Duration::from_secs(9));
    assert_eq!(list(&at.root(), None).unwrap(), [second]);
    let mut after = snapshot(&at.root());
    // This test wrote the file, with the bytes that it had before.
    after.insert(at.path("new"), before[&at.path("new")].clone());
    assert_eq!(after, before);
    assert!(!witness.exists());
}

#[test]
fn the_same_content_is_kept_once() {
    let at = Sandbox::new();
    at.write("new", "n");
    let first = taken(&at);
    at.commit("by-the-model");
    assert_eq!(taken(&at), first, "a commit is no other content");
    at.write("new", "m");
    let second = taken(&at);
    assert_eq!((second.number, second.reference.rsplit('/').next()), (2, Some("2")));
    at.write("new", "n");
    assert_eq!(taken(&at).number, 3, "only the newest counts");
    let other = take(&at.root(), "another-loop", "", clock::now()).unwrap();
    assert_eq!((other.number, other.about.as_str()), (1, ""));
    assert_eq!(list(&at.root(), None).unwrap().len(), 4);
    assert_eq!(all_refs(&at.root()).unwrap().len(), 4);
}

#[test]
fn an_edit_in_the_moment_of_the_last_add_is_not_missed() {
    // Equal size and within one clock tick, so only the index's own time can show the edit.
    for round in 0..30 {
        let at = Sandbox::new();
        at.write("tracked", "aaa\n");
        at.git("add tracked");
        at.write("tracked", "bbb\n");
        assert_eq!(content(&at, &taken(&at), "tracked"), "bbb\n", "round {round}");
    }
}

#[test]
fn bits_that_tell_git_not_to_look_hide_nothing() {
    let at = Sandbox::new();
    at.git("update-index --assume-unchanged tracked");
    at.git("update-index --skip-worktree src/a.rs");
    at.write("tracked", "hidden\n");
    at.write("src/a.rs", "hidden too\n");
    let checkpoint = taken(&at);
    assert_eq!(content(&at, &checkpoint, "tracked"), "hidden\n");
    assert_eq!(content(&at, &checkpoint, "src/a.rs"), "hidden too\n");
    at.remove("tracked");
    assert_eq!(held(&at, &taken(&at)), [".gitignore", "src/a.rs"]);
    assert!(at.git("ls-files -v").contains("h tracked"), "the user's index keeps its bits");
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_kept() {
    for cone in [false, true] {
        let at = Sandbox::new();
        at.write("other/b", "b");
        at.commit("second");
        at.git(if cone {
            "sparse-checkout set --cone other"
        } else {
            "sparse-checkout set --no-cone other"
        });
        if cone {
            at.git("config index.sparse true");
        }
        assert!(!at.exists("src/a.rs"));
        at.write("other/b", "edited");
        at.write("src/stands-there", "x");
        let first = taken(&at);
        assert!(held(&at, &first).contains(&"src/a.rs".to_owned()), "cone {cone}");
        at.write("src/made-there", "x");
        at.write("other/b", "again");
        let second = taken(&at);
        assert!(held(&at, &second).contains(&"src/made-there".to_owned()), "cone {cone}");
        let restored = restore(&at.root(), &first).unwrap();
        assert_eq!(at.read("other/b"), "edited");
        assert_eq!(restored.removed, ["src/made-there"]);
        assert!(!at.exists("src/a.rs"), "cone {cone}: it stays left out");
        assert!(at.exists("src/stands-there"), "cone {cone}");
    }
}

#[test]
fn a_repository_without_commits_and_a_linked_work_tree_have_checkpoints() {
    let at = Sandbox::empty();
    at.write("first", "1");
    let checkpoint = taken(&at);
    assert_eq!(held(&at, &checkpoint), ["first"]);
    assert_eq!(at.git(&format!("log --format=%P {}", checkpoint.commit)).trim(), "");

    let at = Sandbox::new();
    let elsewhere = Sandbox::folder();
    let linked = elsewhere.path("linked");
    git_in(&at.root(), &["worktree", "add", "-q", linked.to_str().unwrap()]);
    fs::write(linked.join("there"), "x").unwrap();
    let checkpoint = take(&linked.join("src"), LOOP, "x", clock::now()).unwrap();
    assert!(held(&at, &checkpoint).contains(&"there".to_owned()));
    assert_eq!(list(&at.root(), Some(LOOP)).unwrap(), std::slice::from_ref(&checkpoint));
    fs::write(linked.join("there"), "y").unwrap();
    restore(&linked, &checkpoint).unwrap();
    assert_eq!(fs::read_to_string(linked.join("there")).unwrap(), "x");
    assert!(!at.exists("there"));
}

#[test]
fn where_there_is_no_repository_there_is_no_checkpoint() {
    let plain = Sandbox::folder();
    assert!(TreeSnapshot::capture(&plain.root()).unwrap().is_none());
    assert_eq!(list(&plain.root(), None).unwrap(), []);
    assert_eq!(all_refs(&plain.root()).unwrap(), [""; 0]);
}

#[test]
fn a_repository_within_is_held_by_its_commit() {
    let library = Sandbox::new();
    let at = Sandbox::new();
    git_in(&at.root(), &["submodule", "-q", "add", library.root().to_str().unwrap(), "lib"]);
    at.commit("submodule");
    at.write("nested/file", "1");
    git_in(&at.path("nested"), &["init", "-q"]);
    at.write("new", "n");
    let first = taken(&at);
    assert_eq!(
        held(&at, &first),
        [".gitignore", ".gitmodules", "lib", "new", "src/a.rs", "tracked"]
    );
    at.write("lib/tracked", "x");
    git_in(&at.path("lib"), &["commit", "-q", "-a", "-m", "x"]);
    at.write("new", "m");
    let restored = restore(&at.root(), &first).unwrap();
    assert_eq!((restored.written, restored.left), (vec!["new".to_owned()], vec!["lib".to_owned()]));
    assert_eq!(at.read("lib/tracked"), "x");
}

#[test]
fn a_loop_id_that_could_not_be_a_ref_is_refused() {
    let at = Sandbox::new();
    for id in ["", "..", "a/b", "a b", "x.lock", "-\n", "é"] {
        assert!(take(&at.root(), id, "x", clock::now()).is_err(), "{id:?}");
        assert!(list(&at.root(), Some(id)).is_err(), "{id:?}");
    }
}

#[test]
fn what_changed_since_is_told_and_leaves_nothing_behind() {
    let at = Sandbox::new();
    at.write("new", "n\n");
    let first = taken(&at);
    assert_eq!(diff(&at.root(), &first).unwrap(), b"");
    at.write("tracked", "two\n");
    at.remove("src/a.rs");
    at.write("a\nb", "x");
    at.write(".omc/plan", "x");
    let objects = || at.git("count-objects -v");
    let before = objects();
    assert_eq!(changed(&at.root(), &first).unwrap(), ["a\\nb", "src/a.rs", "tracked"]);
    let patch = String::from_utf8(diff(&at.root(), &first).unwrap()).unwrap();
    assert!(patch.contains("-one\n+two\n") && !patch.contains("omc"), "{patch}");
    assert_eq!(objects(), before);
    let shown = show(&at.root(), &first).unwrap();
    assert!(shown.contains("Ralph checkpoint 1") && shown.contains(" new | 1 +"), "{shown}");
}

#[test]
fn restoring_brings_back_contents_modes_and_links_and_removes_what_came() {
    let at = Sandbox::new();
    at.write("new", "n");
    at.write("script", "#!/bin/sh\n");
    at.chmod("script", 0o755);
    at.link("link", "tracked");
    at.write("swap", "a file");
    let first = taken(&at);
    at.git("add -A");
    let index = fs::read(at.path(".git/index")).unwrap();

    at.write("new", "changed");
    at.chmod("script", 0o644);
    at.remove("link");
    at.write("link", "a file now");
    at.remove("swap");
    at.write("swap/inside", "a folder now");
    at.remove("tracked");
    at.write("came/since", "x");
    at.write("x.ignored", "stays");
    at.write(".omc/plan", "stays");
    let restored = restore(&at.root(), &first).unwrap();

    assert_eq!(restored.written, ["link", "new", "script", "swap", "tracked"]);
    assert_eq!(restored.removed, ["came/since", "swap/inside"]);
    assert_eq!(restored.left, [""; 0]);
    assert_eq!((at.read("new").as_str(), at.read("swap").as_str()), ("n", "a file"));
    assert_eq!(fs::read_link(at.path("link")).unwrap(), Path::new("tracked"));
    assert!(!at.exists("came"));
    assert_eq!(at.read("x.ignored") + &at.read(".omc/plan"), "staysstays");
    assert_eq!(taken(&at).tree, first.tree);
    assert_eq!(fs::read(at.path(".git/index")).unwrap(), index, "the user's index");
    assert_eq!(restored.before.about, "before restoring 1");
    assert_eq!(list(&at.root(), None).unwrap().len(), 3);

    restore(&at.root(), &restored.before).unwrap();
    assert_eq!(at.read("swap/inside"), "a folder now");
    assert_eq!(at.read("came/since"), "x");
    assert!(!at.exists("tracked"));
}

#[test]
fn what_git_ignores_is_never_written_over() {
    let at = Sandbox::new();
    at.write("settings.local", "then");
    at.write("folder/file", "then");
    at.write("plain", "then");
    let first = taken(&at);
    at.write(".gitignore", "*.ignored\nsettings.local\nfolder\nplain\n");
    at.write("settings.local", "precious");
    at.remove("folder");
    at.write("folder", "precious");
    at.remove("plain");
    at.write("plain/precious", "precious");
    let restored = restore(&at.root(), &first).unwrap();
    assert_eq!(restored.left, ["folder/file", "plain", "settings.local"]);
    assert_eq!(restored.written, [".gitignore"]);
    for path in ["settings.local", "folder", "plain/precious"] {
        assert_eq!(at.read(path), "precious", "{path}");
    }
}

#[test]
fn our_own_files_stay_even_if_someone_tracks_them() {
    let at = Sandbox::new();
    at.write(".omc/plan", "then");
    at.commit("tracked");
    let first = taken(&at);
    at.write(".omc/plan", "now");
    at.write("tracked", "now\n");
    at.commit("tracked");
    let restored = restore(&at.root(), &first).unwrap();
    assert_eq!((restored.written, restored.left), (vec!["tracked".to_owned()], vec![]));
    assert_eq!(at.read(".omc/plan"), "now");
}

#[test]
fn two_that_keep_the_same_moment_make_one() {
    let at = Sandbox::new();
    let numbers: Vec<u32> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..4).map(|_| scope.spawn(|| taken(&at).number)).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(numbers, [1, 1, 1, 1]);
    assert_eq!(all_refs(&at.root()).unwrap().len(), 1);
}

#[test]
fn restoring_never_writes_through_a_link() {
    for ignored in [false, true] {
        let at = Sandbox::new();
        let outside = Sandbox::folder();
        outside.write("a.rs", "outside");
        let first = taken(&at);
        at.remove("src");
        at.link("src", outside.root().to_str().unwrap());
        if ignored {
            at.write(".gitignore", "*.ignored\nsrc\n");
        }
        let restored = restore(&at.root(), &first).unwrap();
        assert_eq!(outside.read("a.rs"), "outside");
        assert_eq!(restored.left.len(), usize::from(ignored), "{restored:?}");
        assert_eq!(at.path("src").symlink_metadata().unwrap().is_symlink(), ignored);
    }
}

#[test]
fn a_restore_that_cannot_keep_the_present_state_changes_nothing() {
    let at = Sandbox::new();
    let first = taken(&at);
    at.write("tracked", "precious\n");
    fs::write(at.path(".git/index"), "nonsense").unwrap();
    let error = format!("{:#}", restore(&at.root(), &first).unwrap_err());
    assert!(error.contains("nothing was restored"), "{error}");
    assert_eq!(at.read("tracked"), "precious\n");
}

#[test]
fn a_new_one_removes_what_other_loops_left_long_ago() {
    let at = Sandbox::new();
    let long_ago = clock::now() - jiff::SignedDuration::from_hours(31 * 24);
    take(&at.root(), "another-loop", "", long_ago).unwrap();
    taken(&at);
    assert_eq!(list(&at.root(), None).unwrap().len(), 1);
}

#[test]
fn old_ones_go_by_number_and_those_of_other_loops_by_age() {
    let at = Sandbox::new();
    let hours_ago = |hours: i64| clock::now() - jiff::SignedDuration::from_hours(hours);
    let make = |loop_id: &str, hours: i64| {
        at.write("n", &format!("{loop_id} {hours}"));
        take(&at.root(), loop_id, "", hours_ago(hours)).unwrap();
    };
    for hours in [90, 80, 70, 60] {
        make(LOOP, hours);
    }
    for hours in [100, 1] {
        make("another", hours);
    }
    let day = Duration::from_secs(24 * 3600);
    assert_eq!(prune_all(&at, 2, day), 3);
    let left: Vec<_> = list(&at.root(), None)
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one.loop_id(), one.number))
        .collect();
    assert_eq!(left, [format!("{LOOP} 3"), format!("{LOOP} 4"), "another 2".to_owned()]);
    assert_eq!(prune_all(&at, 0, day), 1, "the newest stays");
    make(LOOP, 0);
    assert_eq!(list(&at.root(), Some(LOOP)).unwrap().pop().unwrap().number, 5);
}

#[test]
fn refs_of_others_below_ours_are_named_but_are_no_checkpoints() {
    let at = Sandbox::new();
    at.git("update-ref refs/ralph/mine HEAD");
    at.git("update-ref refs/ralph/mine-too/x HEAD");
    assert_eq!(list(&at.root(), None).unwrap(), []);
    assert_eq!(all_refs(&at.root()).unwrap().len(), 2);
}

#[test]
fn a_file_that_cannot_be_read_keeps_the_others_in() {
    let at = Sandbox::new();
    at.write("a-pipe-is-none", "x");
    assert!(Command::new("mkfifo").arg(at.path("pipe")).status().unwrap().success());
    at.write("unreadable", "x");
    at.chmod("unreadable", 0);
    assert!(held(&at, &taken(&at)).contains(&"a-pipe-is-none".to_owned()));
}
