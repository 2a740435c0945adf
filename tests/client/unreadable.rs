//! A loop whose state cannot be read, in the real client: the session may only read, the person sees one line
//! with what to type, and each loop reaches a typed ending.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::json;

use crate::Test;
use crate::kept::{
    TOKEN, copy_executables, installed, new_file, the_archived, the_ended, the_live, token_after,
    works,
};
use crate::support::{PATIENCE, Terminal, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    a_state_that_the_models_script_opens_to_others_binds_the_session_until_it_is_repaired,
    a_planning_whose_state_another_process_removes_is_paused_and_goes_on_behind_the_wall,
    a_full_or_read_only_disk_is_reported_on_the_screen_and_ends_nothing,
    the_models_shell_ends_no_loop_whose_state_it_removed_and_a_typed_cancel_does,
    a_manifest_entry_that_the_models_script_removes_is_back_at_the_stop,
];

/// The rows of the screen as one line: the client breaks what is long.
fn shown(terminal: &Terminal) -> String {
    terminal.history().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn wait_for_words(terminal: &Terminal, words: &str) {
    let found = wait_until(PATIENCE, || shown(terminal).contains(words));
    assert!(found, "`{words}` is not on the screen:\n{}", terminal.history());
}

/// A folder of Ralph's, whose only entry it is.
fn the_folder(world: &World) -> PathBuf {
    let mut folders = fs::read_dir(world.ralph_home().join("loops")).unwrap();
    folders.next().unwrap().unwrap().path()
}

fn move_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in ["state.json", "state.json.last-good"] {
        let _ = fs::rename(from.join(name), to.join(name));
    }
}

fn a_state_that_the_models_script_opens_to_others_binds_the_session_until_it_is_repaired() {
    let world = installed();
    world.write("helper.sh", "chmod -R go+w \"$RALPH_HOME\"\n");
    let script = Script::new()
        .turn(ScriptedTurn::bash("sh helper.sh"))
        .turn(ScriptedTurn::bash("echo no > forbidden"))
        .turn(ScriptedTurn::bash("cat README.md"))
        .turn(ScriptedTurn::text("I can only read."))
        .turn(ScriptedTurn::bash("echo yes > allowed"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralph \"Tidy the attic\"");
    wait_for_words(&terminal, "The session may only read until then");
    wait_for_words(&terminal, "Type `chmod -R go-w");
    wait_for_words(&terminal, "then type /ralph; or type /ralph-cancel to end the loop");
    assert!(!world.project().join("forbidden").exists(), "{}", terminal.history());
    let requests = stand_in.requests();
    let news: Vec<String> = requests.iter().map(|request| request.news()).collect();
    // Behind the wall: the kernel refuses.
    assert!(news[2].contains("Permission denied"), "{}", news[2]);
    assert!(news[3].contains("# A project"), "{}", news[3]);
    // Another task does not begin beside it.
    terminal.submit("/ralph \"Another task\"");
    wait_for_words(&terminal, "nothing was started");
    assert_eq!(stand_in.requests().len(), 4);
    let home = world.ralph_home();
    assert!(Command::new("chmod").args(["-R", "go-w"]).arg(home).status().unwrap().success());
    terminal.submit("/ralph");
    let ended =
        || fs::read_dir(world.ralph_home().join("archive")).is_ok_and(|all| all.count() == 1);
    assert!(wait_until(PATIENCE, ended), "{}", terminal.history());
    wait_for_words(&terminal, "done, without proof");
    assert!(world.project().join("allowed").exists());
    assert!(the_ended(&world).ending().starts_with("complete_unverified"));
}

fn a_planning_whose_state_another_process_removes_is_paused_and_goes_on_behind_the_wall() {
    let world = installed();
    let (before, after) = (Gate::new(), Gate::new());
    let file = world.project().join("src.rs");
    let write = || json!({"file_path": file, "content": "x"});
    let script = Script::new()
        .turn(ScriptedTurn::held(&before).then_tool("Write", write()))
        .turn(ScriptedTurn::bash("touch src.rs"))
        .turn(ScriptedTurn::text("I wait."))
        .turn(ScriptedTurn::held(&after).then_tool("Write", write()))
        .repeat(ScriptedTurn::text("I wait again."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralplan \"Add a login\"");
    before.wait_until_reached(PATIENCE).unwrap();
    let (folder, aside) = (the_folder(&world), world.root().join("aside"));
    move_all(&folder, &aside);
    before.open();
    wait_for_words(&terminal, "was removed. If that was not you, undo it; /ralplan continues");
    terminal.wait_until_gone("esc to interrupt");
    assert!(!file.exists(), "{}", terminal.history());
    terminal.submit("/ralplan");
    after.wait_until_reached(PATIENCE).unwrap();
    after.open();
    // The wall denies it in its own name again.
    let denied = || the_live(&world).n_decisions("PreToolUse", "denied") == 2;
    assert!(wait_until(PATIENCE, denied), "{}", terminal.history());
    assert!(!file.exists(), "{}", terminal.history());
    terminal.key("Escape");
    terminal.submit("/ralph-cancel");
    let ended =
        || fs::read_dir(world.ralph_home().join("archive")).is_ok_and(|all| all.count() == 1);
    assert!(wait_until(PATIENCE, ended), "{}", terminal.history());
    assert!(the_archived(&world).ending().starts_with("cancelled"));
}

/// Has the stop hook of this world run on a bad disk as long as `bad-disk` names one.
fn with_a_bad_disk(world: &World) {
    let folder = world.root().join("wrapped");
    let real = folder.join("real");
    copy_executables(&folder);
    copy_executables(&real);
    let script = r#"#!/bin/sh
here=${0%/*}
home=$RALPH_HOME
case $(cat "$here/bad-disk" 2>/dev/null) in
  read-only) prepare='mount --bind "$RALPH_HOME" "$RALPH_HOME" && mount -o remount,bind,ro "$RALPH_HOME"' ;;
  full) prepare='cp -a "$RALPH_HOME" "$TMPDIR/copy-$$" && mount -t tmpfs -o size=256k x "$RALPH_HOME" &&
    cp -a "$TMPDIR/copy-$$/." "$RALPH_HOME" && chmod 700 "$RALPH_HOME" &&
    { dd if=/dev/zero of="$RALPH_HOME/fill" bs=4k 2>/dev/null || :; }' ;;
  *) exec "$here/real/ralph-stop-hook" "$@" ;;
esac
exec unshare $FLAGS sh -ec "$prepare; exec \"\$0\" \"\$@\"" "$here/real/ralph-stop-hook" "$@"
"#;
    let flags = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let hook = folder.join("ralph-stop-hook");
    fs::remove_file(&hook).unwrap();
    fs::write(&hook, script.replace("$FLAGS", flags)).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    world.run(folder.join("ralph"), &["install"], "").exits(0);
}

fn a_full_or_read_only_disk_is_reported_on_the_screen_and_ends_nothing() {
    for (disk, hint) in [("read-only", "Make the disk writable"), ("full", "Make room on the disk")]
    {
        let world = World::new();
        with_a_bad_disk(&world);
        let marker = world.root().join("wrapped/bad-disk");
        fs::write(&marker, disk).unwrap();
        let script = Script::new()
            .turn(new_file(1))
            .turn(ScriptedTurn::text("One step is done."))
            .repeat(ScriptedTurn::text(TOKEN));
        let stand_in = StandIn::start(script).unwrap();
        let terminal = world.terminal(&stand_in, &[]);
        terminal.submit("/ralph \"Tidy the attic\"");
        wait_for_words(&terminal, hint);
        wait_for_words(&terminal, "then type /ralph; or type /ralph-cancel to end the loop");
        assert!(the_folder(&world).join("state.json").exists(), "{disk}");
        fs::remove_file(&marker).unwrap();
        terminal.submit("/ralph");
        wait_for_words(&terminal, "done, without proof");
        assert!(the_ended(&world).ending().starts_with("complete_unverified"), "{disk}");
    }
}

fn the_models_shell_ends_no_loop_whose_state_it_removed_and_a_typed_cancel_does() {
    let world = installed();
    let clean = "env -i PATH=\"$PATH\" HOME=\"$HOME\" RALPH_HOME=\"$RALPH_HOME\"";
    let hidden = "env -u CLAUDE_CODE_SESSION_ID -u CLAUDE_PID -u CLAUDECODE";
    let mut lines =
        vec!["s=$CLAUDE_CODE_SESSION_ID".to_owned(), "rm -r \"$RALPH_HOME\"/loops/*".to_owned()];
    for environment in [clean, hidden] {
        lines.push(format!("{environment} ralph cancel --session \"$s\" >>said 2>&1"));
        lines.push(format!("{environment} ralph cancel --all >>said 2>&1"));
        lines.push(format!(
            "{environment} setsid sh -c \"ralph cancel --session $s >>said 2>&1; touch left\" &\n\
             until [ -e left ]; do :; done; rm left"
        ));
    }
    world.write("helper.sh", &(lines.join("\n") + "\n"));
    let script = Script::new()
        .turn(ScriptedTurn::bash("sh helper.sh"))
        .repeat(ScriptedTurn::text("I wait."));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralph \"Tidy the attic\"");
    wait_for_words(&terminal, "was removed. If that was not you, undo it; /ralph continues");
    let said = fs::read_to_string(world.project().join("said")).unwrap();
    assert_eq!(said.matches("for the user only").count(), 6, "{said}");
    terminal.wait_until_gone("esc to interrupt");
    terminal.submit("/ralph-cancel");
    wait_for_words(&terminal, "Ralph: cancelled");
    assert!(!shown(&terminal).contains("no loop is live"), "{}", terminal.history());
    assert!(the_archived(&world).ending().starts_with("cancelled"));
}

fn a_manifest_entry_that_the_models_script_removes_is_back_at_the_stop() {
    let world = installed();
    world.write("helper.sh", "rm -f \"$RALPH_HOME\"/manifest/*\n");
    let work = |turn| match turn {
        1 => ScriptedTurn::bash("sh helper.sh; touch work-1"),
        turn => new_file(turn),
    };
    let stand_in = StandIn::start(works(work, token_after(3))).unwrap();
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\"").result();
    assert_eq!(the_ended(&world).ending(), "complete_unverified at 3/25");
}
