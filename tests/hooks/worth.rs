//! What a criterion is worth, by runs on other files: in `ralph try`, and at a request for completion.

use crate::world::World;
use ralph_test_support::sample::is_left_out;
use serde_json::{Value, json};
use std::io::Write;

const TOKEN: &str = "RALPH_COMPLETE";

const ADD: &str = "add() { echo $(($1 + $2)); }\n";

/// Prints TAP.
const LIB: &str = ". ./math.sh
n=0 bad=0
assert_equal() {
  n=$((n + 1))
  if [ \"$2\" = \"$3\" ]; then echo \"ok $n - $1\"; else echo \"not ok $n - $1\"; bad=1; fi
}
";

fn tests(lines: &str) -> String {
    format!(". tests/lib.sh\n{lines}echo \"1..$n\"\nexit $bad\n")
}

const ADDS: &str = "assert_equal adds \"$(add 1 2)\" 3\n";
const DOUBLES: &str = "assert_equal doubles \"$(double 4)\" 8\n";

const FIGURES: &str = "sh tests/run.sh: 2 tests pass; 1 of them fails without the change; the original one still passes";

/// A project whose one test passes.
fn project(settings: &str) -> World {
    let world = World::new();
    world.settings(settings);
    world.write("math.sh", ADD);
    world.write("tests/lib.sh", LIB);
    world.write("tests/run.sh", &tests(ADDS));
    world.git("add .");
    world.git("commit -q -m tests");
    world
}

fn looping(settings: &str) -> World {
    let world = project(settings);
    world.start("--ac 'the tests pass=sh tests/run.sh'");
    world
}

/// The function that the loop is to add.
fn double(world: &World) {
    world.write("math.sh", &format!("{ADD}double() {{ echo $(($1 * 2)); }}\n"));
}

/// The state that `ralph try` finds, and what it prints.
#[track_caller]
fn tried(world: &World) -> (String, String) {
    let printed = world.ralph(&["try", "--json"]).text;
    let document = printed.find('{').map(|at| &printed[at..]);
    let all: Value = serde_json::from_str(document.unwrap_or_default()).unwrap();
    let word = all["criteria"][0]["state"].as_str().unwrap().to_owned();
    (word, world.ralph(&["try"]).text)
}

#[test]
fn try_tells_what_the_criterion_is_worth_and_proves_nothing() {
    let world = looping("");
    double(&world);
    let (word, told) = tried(&world);
    assert_eq!(word, "kept", "{told}");
    assert!(told.contains("sh tests/run.sh: 1 test passes, without the change, too"), "{told}");

    world.write("tests/run.sh", &tests(&[ADDS, DOUBLES].concat()));
    let (word, told) = tried(&world);
    assert_eq!(word, "proven", "{told}");
    assert!(told.contains(FIGURES), "{told}");
    assert_eq!(world.state()["acceptance_criteria"][0]["verified"], json!(false));
    assert_eq!(world.git_says("status --short"), " M math.sh\n M tests/run.sh\n");
}

/// `ralph try` leaves out what a request leaves out.
#[test]
fn a_check_without_tests_passes_beside_a_criterion_that_is_proven() {
    let world = World::new();
    world.write("math.sh", ADD);
    world.write("tests/lib.sh", LIB);
    world.write("tests/run.sh", &tests(ADDS));
    world.git("add .");
    world.git("commit -q -m tests");
    world.start("--ac 'syntax=sh -n math.sh' --ac 'the tests pass=sh tests/run.sh'");
    double(&world);
    world.write("tests/run.sh", &tests(&[ADDS, DOUBLES].concat()));
    let (word, told) = tried(&world);
    assert_eq!(word, "passes", "{told}");
    assert!(told.contains(FIGURES), "{told}");
}

#[test]
fn try_observes_the_named_ones_that_pass_also_beside_one_that_fails() {
    let world = project("");
    world.start("--ac 'the tests pass=sh tests/run.sh' --ac 'it is late=test -e never.c'");
    double(&world);
    world.write("tests/run.sh", &tests(&[ADDS, DOUBLES].concat()));
    for arguments in [&["try"][..], &["try", "AC-1"]] {
        let told = world.ralph(arguments).text;
        assert!(told.contains(FIGURES), "{told}");
    }
    let told = world.ralph(&["try", "AC-2"]).text;
    assert!(told.contains("AC-2 failed") && !told.contains("without the change"), "{told}");
}

/// The copy has no ignored file, such as one that was left by an earlier build.
#[test]
fn a_criterion_that_lives_on_ignored_files_fails_in_a_clean_copy() {
    let world = World::new();
    world.settings("[evidence]\nclean = \"touch prepared\"\n");
    world.write(".gitignore", "built\nprepared\n");
    world.write("built", "yes\n");
    world.write("check.sh", "test -e prepared || grep -q yes built\n");
    world.start("--ac 'it is built=sh check.sh'");
    world.write("a.c", "int a;\n");
    let told = world.ralph(&["try", "--clean"]).text;
    assert!(!told.contains("fails") && !told.contains("failed"), "{told}");
    world.write("check.sh", "grep -q yes built\n");
    let told = world.ralph(&["try", "--clean"]).text;
    assert!(told.contains("fails in a clean copy"), "{told}");
    assert_eq!(
        world.git_says("status --short --ignored"),
        "?? .gitignore\n?? a.c\n?? check.sh\n!! built\n"
    );

    let world = looping("");
    let refused = world.ralph(&["try", "--clean"]);
    assert!(!refused.success && refused.text.contains("`clean = \"npm ci\"`"), "{}", refused.text);
}

/// Where nothing tells which files a command reads, nobody can say that its tests cannot fail.
fn reads_are_seen() -> bool {
    ralph_test_support::portable().is_none()
}

#[test]
fn a_test_that_was_changed_to_pass_and_one_that_cannot_fail_are_named() {
    let world = looping("");
    world.write("math.sh", "add() { echo $(($1 - $2)); }\n");
    world.write("tests/run.sh", &tests("assert_equal adds \"$(add 1 2)\" -1\n"));
    let (word, told) = tried(&world);
    assert_eq!(word, "tests_changed", "{told}");
    assert!(told.contains("`adds` fails in its original form"), "{told}");
    let changed = world.ralph(&["diff", "--tests"]).text;
    assert!(changed.contains("-assert_equal adds") && !changed.contains("math.sh"), "{changed}");
    assert!(world.ralph(&["diff", "--since", "start"]).text.contains("math.sh"));

    double(&world);
    world.write("tests/lib.sh", &LIB.replace("[ \"$2\" = \"$3\" ]", "true"));
    world.write("tests/run.sh", &tests(&[ADDS, DOUBLES].concat()));
    let (word, told) = tried(&world);
    let (expected, why) = match reads_are_seen() {
        true => ("cannot_fail", "was changed to a wrong value"),
        false => ("kept", "without the change, too"),
    };
    assert_eq!(word, expected, "{told}");
    assert!(told.contains(why), "{told}");
}

/// Answers each connection with whether the file says `done`, as a daemon that builds does.
fn daemon(file: std::path::PathBuf) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for asked in listener.incoming() {
            let is_done = std::fs::read_to_string(&file).is_ok_and(|text| text.contains("done"));
            let _ = writeln!(asked.unwrap(), "{}", if is_done { "pass" } else { "fail" });
        }
    });
    port
}

#[test]
fn what_a_daemon_does_is_not_compared_and_what_nobody_reads_is_not_of_the_change() {
    let run = |read_by_daemon: bool| {
        let world = World::new();
        world.write("a.c", "");
        world.write("tests/run.sh", "");
        let file = if read_by_daemon { "a.c" } else { "notes" };
        world.write(".gitignore", "notes\n");
        world.write("notes", "done");
        world.git("add .");
        world.git("commit -q -m tests");
        let port = daemon(world.project().join(file));
        let ask = format!("bash -c \"exec 3<>/dev/tcp/127.0.0.1/{port}; grep -q pass <&3\"");
        world.start(&format!("--ac 'asked={ask}'"));
        world.write("a.c", "done\n");
        tried(&world)
    };
    if reads_are_seen() {
        let (word, told) = run(true);
        assert_eq!(word, "not_compared", "{told}");
        assert!(told.contains("a daemon or container may do the work"), "{told}");
        let (word, told) = run(false);
        assert_eq!(word, "kept", "{told}");
    }
}

#[test]
fn a_change_that_no_test_sees_is_refused_once_and_then_ends_without_proof() {
    let world = looping("");
    double(&world);
    let refused = world.step(&world.stop(TOKEN));
    assert!(refused.contains("they pass without your change, too"), "{refused}");
    world.tool("Read", json!({"file_path": world.project().join("math.sh")}));
    world
        .stop(TOKEN)
        .ends("Ralph: done, without proof: nothing broke, and no test sees the change");
    assert_eq!(world.ending(), "complete_unverified");
}

#[test]
fn nothing_that_was_changed_proves_nothing_and_an_ignored_result_is_no_change() {
    let world = looping("");
    world.edit_state(|state| state["settings"]["receipt_ignore"] = json!(["*.log"]));
    world.write("run.log", "passed\n");
    let refused = world.step(&world.stop(TOKEN));
    assert!(refused.contains("nothing was changed since the start"), "{refused}");
}

#[test]
fn work_with_its_test_ends_proven_in_the_figures_of_the_runner() {
    let world = looping("");
    double(&world);
    world.write("tests/run.sh", &tests(&[ADDS, DOUBLES].concat()));
    world.stop(TOKEN).ends(FIGURES);
    assert_eq!(world.ending(), "complete");
    let observed = &world.archived()[0]["acceptance_criteria"][0]["observed"];
    assert_eq!(observed["without"]["outcome"], "failed");
    assert_eq!(observed["original"]["outcome"], "passed");
    assert_eq!(observed["broken"]["noticed"].as_array().unwrap().len(), 2, "{observed}");
}

#[test]
fn what_does_not_fit_into_a_request_goes_on_at_the_next_which_counts_no_turn() {
    let world = looping("verify_seconds = 4\n");
    double(&world);
    // A suite that takes this long: its three runs do not fit; each of them does.
    let slow = format!("sleep 1.5\n{ADDS}{DOUBLES}");
    world.write("tests/run.sh", &tests(&slow));
    let told = world.stop(TOKEN).goes_on();
    assert!(told.contains(" checks done; ask again"), "{told}");
    let mut stop = world.stop(TOKEN);
    for _ in 0..4 {
        if stop.out().contains("ask again") {
            stop = world.stop(TOKEN);
        }
    }
    stop.ends("sh tests/run.sh: 2 tests pass; 1 of them fails without the change");
    let ended = &world.archived()[0];
    assert_eq!((&ended["iteration"], &ended["ending"]["kind"]), (&json!(0), &json!("complete")));
}

#[test]
fn a_command_that_must_not_run_more_often_is_not_compared() {
    let world = looping("[evidence]\nnot_observed = [\"sh tests/run.sh\"]\n");
    double(&world);
    world.write("tests/run.sh", &tests(&[ADDS, DOUBLES].concat()));
    world.stop(TOKEN).ends("not compared: the settings leave it out (`evidence.not_observed`)");
    assert_eq!(world.ending(), "complete");
    let observed = &world.archived()[0]["acceptance_criteria"][0]["observed"];
    assert_eq!((&observed["without"], &observed["broken"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_script_of_a_criterion_that_changed_is_named_with_what_its_first_form_did() {
    let world = project("");
    world.write("check.sh", "sh tests/run.sh\n");
    world.git("add .");
    world.git("commit -q -m check");
    world.start("--ac 'it is checked=sh check.sh'");
    double(&world);
    world.write("check.sh", "grep -q double math.sh && sh tests/run.sh\n");
    world.write("tests/run.sh", &tests(&[ADDS, DOUBLES].concat()));
    world
        .stop(TOKEN)
        .ends("A script of a criterion changed: check.sh: its first form passes, too.");
    assert_eq!(world.ending(), "complete");
}

#[test]
fn a_project_of_twenty_thousand_files_is_observed_within_one_request() {
    if is_left_out(3) {
        return;
    }
    let world = project("");
    for n in 0..20_000 {
        world.write(&format!("src/{}/{n}.c", n / 100), &format!("int v{n};\n"));
    }
    world.git("add .");
    world.git("commit -q -m many");
    world.start("--ac 'the tests pass=sh tests/run.sh'");
    double(&world);
    world.write("src/7/777.c", "int changed;\n");
    world.write("tests/run.sh", &tests(&[ADDS, DOUBLES].concat()));
    world.stop(TOKEN).ends(FIGURES);
}

/// Where no overlay is possible, as on macOS.
#[test]
fn a_criterion_that_fails_in_an_unchanged_copy_is_not_compared() {
    let mut world = World::new();
    world.set("RALPH_TEST_NO_OVERLAY", "copy");
    let tracked = std::fs::metadata(world.project().join("tracked")).unwrap();
    let inode = std::os::unix::fs::MetadataExt::ino(&tracked);
    world.start(&format!("--ac 'it is there=test -e a.c && ls -i tracked | grep -qw {inode}'"));
    world.write("a.c", "int a;\n");
    assert!(world.ralph(&["try"]).text.contains("it fails in an unchanged copy"));
    world.stop(TOKEN).ends("passes; not compared: it fails in an unchanged copy of the project");
    assert_eq!(world.ending(), "complete");
}

/// The run of the criterion prints an error, too, and passes.
#[test]
fn what_a_passing_run_prints_is_no_reason_why_the_original_tests_fail() {
    let world = World::new();
    world.write("tests/t.sh", "echo 'error: no such table' >&2\ngrep -q 1 a.c\n");
    world.write("a.c", "1\n");
    world.git("add .");
    world.git("commit -q -m tests");
    world.start("--ac 'it is there=sh tests/t.sh'");
    world.write("tests/t.sh", "echo 'error: no such table' >&2\ngrep -q 2 a.c\n");
    world.write("a.c", "2\n");
    let refused = world.step(&world.stop(TOKEN));
    assert!(refused.contains("no longer build: tests/t.sh changed;"), "{refused}");
    assert!(!refused.contains("no such table"), "{refused}");
}

#[test]
fn the_user_says_beforehand_which_tests_may_change() {
    let world = project("");
    let ac = "--ac 'the tests pass=sh tests/run.sh'";
    world.start(&format!("--tests-may-change 'tests/*.sh' {ac}"));
    world.write("math.sh", "add() { echo $(($1 - $2)); }\n");
    world.write("tests/run.sh", &tests("assert_equal subtracts \"$(add 1 2)\" -1\n"));
    world.stop(TOKEN).ends("1 test passes; it fails without the change");
    assert_eq!(world.ending(), "complete");
}

/// The run without the change takes a while, in which a person looks.
#[test]
fn the_status_line_names_the_run_that_goes_on() {
    let world = World::new();
    world.start("--ac 'it is there=test -e a.c || { sleep 3; false; }'");
    world.write("a.c", "int a;\n");
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| world.stop(TOKEN));
        while world.state()["observing"] != json!("2 of 3: without the change") {
            assert!(!stop.is_finished(), "it was never named");
            std::thread::yield_now();
        }
        let told = world.ralph(&["status"]).text;
        assert!(told.contains("observes    2 of 3: without the change"), "{told}");
        stop.join().unwrap().ends("it fails without the change");
    });
}

/// A loop whose criterion takes ten minutes without the change, until `hang` is gone.
fn hanging() -> World {
    let world = World::new();
    let hang = world.root().join("hang");
    std::fs::write(&hang, "").unwrap();
    let hang = hang.display();
    world.start(&format!(
        "--ac 'it is there=test -e a.c || {{ test -e {hang} && sleep 614; false; }}'"
    ));
    world.write("a.c", "int a;\n");
    world
}

fn is_without_the_change(world: &World) -> bool {
    world.state()["observing"] == json!("2 of 3: without the change")
}

fn hangs() -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    lines.any(|line| line == b"sleep\x00614\x00")
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed().as_secs() < 60, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_hook_that_is_killed_while_it_observes_leaves_nothing_and_the_next_request_goes_on() {
    let world = hanging();
    let mut hook = world.command("ralph-stop-hook");
    hook.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut hook = hook.spawn().unwrap();
    let members = json!({"last_assistant_message": TOKEN, "stop_hook_active": false,
        "background_tasks": [], "session_crons": []});
    let payload = world.payload("Stop", members).to_string();
    std::io::Write::write_all(&mut hook.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    until("it never ran without the change", || is_without_the_change(&world) && hangs());
    hook.kill().unwrap();
    hook.wait().unwrap();
    until("the command is left", || !hangs());
    assert_eq!(world.standing(), "implementation 0/25");

    std::fs::remove_file(world.root().join("hang")).unwrap();
    let id = world.state()["loop_id"].as_str().unwrap().to_owned();
    let elsewhere = world.root().join("ralph/loops").join(id).join("elsewhere");
    world.stop(TOKEN).ends("it fails without the change");
    assert_eq!(world.git_says("status --short"), "?? a.c\n");
    let left = std::fs::read_dir(elsewhere).into_iter().flatten().count();
    assert_eq!(left, 0, "nothing is left of the killed one");
}

#[test]
fn what_was_observed_while_somebody_edited_counts_for_nothing() {
    let world = World::new();
    world.start("--ac 'it is there=test -e a.c || { sleep 3; false; }'");
    world.write("a.c", "int a;\n");
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| world.stop(TOKEN));
        until("it never ran without the change", || is_without_the_change(&world));
        world.write("a.c", "int b;\n");
        let refused = world.step(&stop.join().unwrap());
        assert!(refused.contains("AC-1 is stale"), "{refused}");
    });
    world.stop(TOKEN).ends("it fails without the change");
}

#[test]
fn only_the_user_accepts_changed_tests_and_the_ending_says_so() {
    let mut world = looping("");
    world.write("math.sh", "add() { echo $(($1 - $2)); }\n");
    world.write("tests/lib.sh", &LIB.replace("[ \"$2\" = \"$3\" ]", "true"));
    world.write("tests/run.sh", &tests("assert_equal subtracts \"$(add 1 2)\" -1\n"));
    let refused = world.step(&world.stop(TOKEN));
    assert!(refused.contains("passes only with changed tests"), "{refused}");
    world.tool("Read", json!({"file_path": world.project().join("math.sh")}));
    world.stop(TOKEN);
    assert_eq!(world.standing(), "paused 1/25 blocked_on_human");

    let told = world.elsewhere(&["accept"]).text;
    assert!(told.contains("the changed tests; in their original form: `adds`"), "{told}");
    assert!(told.contains("-assert_equal adds"), "the diff is at hand: {told}");
    let accepted = world.state()["acceptance_criteria"][0]["accepted"].clone();
    let expected = if reads_are_seen() { 2 } else { 1 };
    assert_eq!(accepted.as_array().map(Vec::len), Some(expected), "{accepted}");
    world.prompt = "prompt-2".to_owned();
    world.type_command("ralph", "");
    match reads_are_seen() {
        true => drop(world.stop(TOKEN).ends("1 test changed, accepted")),
        false => assert!(world.step(&world.stop(TOKEN)).contains("without your change")),
    }
}
