//! `ralph run --review` beside a client that is a script: what reviewers find, and what Ralph makes of it.

use crate::world::{Printed, World, start, wait_for};
use ralph_test_support::sample::is_left_out;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

const DONE: &str = r#"say '{"type":"result","is_error":false,"result":"Done."}'"#;

/// The first round writes code with a defect, and a round for a task mends it.
const WORKS: &str = r#"say '{"type":"system","subtype":"init","session_id":"s"}'
case "$prompt" in
  *"Your task: T-"*) id=T-${prompt##*Your task: T-}; id=${id%%[!T0-9-]*}
    echo "quote the name" >code.txt; ralph task done "$id" --owner 'ralph build' --result mended >/dev/null;;
  *) echo "eval the name" >code.txt; touch done;;
esac"#;

/// What a reviewer prints that found this.
fn finds(findings: Value) -> String {
    let row = json!({"type": "result", "is_error": false, "total_cost_usd": 0.5,
        "modelUsage": {"m": {"inputTokens": 90, "outputTokens": 10}},
        "result": format!("I looked.\n{}", json!({"findings": findings}))});
    format!("say '{row}'")
}

fn finding(severity: &str, quote: &str, what: &str) -> Value {
    json!({"severity": severity, "file": "code.txt", "line": 1, "quote": quote, "what": what})
}

/// A project under git, a client that works in rounds, and reviewers that run `reviews`, in which
/// `$lens` begins with the name of the lens.
fn world(reviews: &str) -> World {
    let world = client(World::new().permissive().under_git(), reviews);
    for arguments in [
        &["config", "user.name", "n"][..],
        &["config", "user.email", "n@example.com"],
        &["commit", "-q", "--allow-empty", "-m", "begin"],
    ] {
        let output = world.command(Path::new("git"), "").args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    world
}

/// The same in any project.
fn client(world: World, reviews: &str) -> World {
    for tool in ["sh", "date", "test", "touch", "cat", "grep", "sleep", "mv"] {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let place = places.iter().find(|place| fs::exists(place).unwrap()).unwrap();
        let _ = std::os::unix::fs::symlink(place, world.path("bin").join(tool));
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    let script = format!(
        r#"#!/bin/sh
[ "$1" = --version -o "$1" = /cost ] && echo '2.1.328 (Claude Code)' && exit
say() {{ printf '%s\n' "$1"; }}
for word; do case "$before" in --session-id) id=$word;; -p) prompt=$word;; esac; before=$word; done
case "$RALPH_ROUND" in
  review) lens=${{prompt#*one lens only, }}
    printf '%s\n' "${{lens%%:*}}" >>"$HOME/lenses"
    say '{{"type":"system","subtype":"init","session_id":"'"$id"'"}}'
    {reviews};;
  *) {WORKS}
    {DONE};;
esac
"#
    );
    let path = world.write("bin/claude", &script);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    world
}

fn run(world: &World, more: &[&str]) -> Printed {
    let arguments = ["run", "Greet by name", "--ac", "made=test -e done"];
    world.ralph(&[&arguments[..], more].concat())
}

fn ended(world: &World) -> Value {
    let archive = world.path("ralph/archive");
    let folder = fs::read_dir(archive).unwrap().next().unwrap().unwrap().path();
    serde_json::from_slice(&fs::read(folder.join("state.json")).unwrap()).unwrap()
}

/// The lenses through which reviewers looked, sorted.
fn lenses(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("home/lenses")).unwrap_or_default();
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    all.sort();
    all
}

/// One lens finds the defect as long as it is there, another only something small.
fn finds_the_defect() -> String {
    let defect = finds(json!([finding("major", "eval the name", "runs what it reads")]));
    let small = finds(json!([finding("minor", "", "has no comment")]));
    let nothing = finds(json!([]));
    format!(
        "case \"$lens\" in defects*) if grep -q eval code.txt; then {defect}; else {nothing}; fi;; \
         simplicity*) {small};; *) {nothing};; esac"
    )
}

#[test]
fn a_defect_that_a_review_finds_becomes_a_task_and_the_loop_ends_after_a_clean_review() {
    let world = world(&finds_the_defect());
    world.write("project/.claude/ralph/reviews/house.md", "Does it follow our style?\n");
    let printed = run(&world, &["--review"]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    let told = "review 1: 1 major finding, 1 minor, 0 dropped\n  T-1 pending code.txt:1 runs what it reads";
    assert!(printed.stderr.contains(told), "{printed:?}");
    assert!(
        printed.stderr.contains("review 2: 0 major findings, 1 minor, 0 dropped"),
        "{printed:?}"
    );
    let summary = "2 rounds of review: 1 major finding, 2 minor; `ralph report --loop ";
    assert!(printed.stdout.contains(summary), "{printed:?}");
    let six =
        ["defects and security", "documents", "house", "simplicity", "tests", "what was asked"];
    let both: Vec<&str> = six.iter().flat_map(|lens| [*lens, *lens]).collect();
    assert_eq!(lenses(&world), both);
    let state = ended(&world);
    assert_eq!(state["ending"]["kind"], "complete");
    assert_eq!(fs::read_to_string(world.path("project/code.txt")).unwrap(), "quote the name\n");
    assert_eq!(state["task_graph"][0]["status"], "done", "{state:#}");
    let major = state["reviews"][0]["findings"].as_array().unwrap();
    assert!(major.iter().any(|one| one["task"] == "T-1"), "{major:#?}");
    assert_eq!(state["review"]["lenses"][0]["text"], "Does it follow our style?");
    let cost = state["usage"]["cost"].as_f64().unwrap();
    assert!((cost - 6.0).abs() < 1e-9, "twelve reviewers: {cost}");
    let report = world.ralph(&["report"]).done().stdout;
    for row in [
        "| 1, defects and security | **major** runs what it reads | <code>code.txt&#58;1</code> | T-1 done |",
        "| 2, simplicity | **minor** has no comment | <code>code.txt&#58;1</code> | reported |",
    ] {
        assert!(report.contains(row), "{row} in {report}");
    }
    let page = world.path("report.html");
    world.ralph(&["report", "--html", page.to_str().unwrap()]).done();
    assert!(fs::read_to_string(page).unwrap().contains("runs what it reads"));
}

#[test]
fn a_loop_is_reviewed_only_if_its_user_says_so() {
    if is_left_out(3) {
        return;
    }
    let world = world(&finds_the_defect());
    world.write("project/.claude/ralph.toml", "[review]\nenabled = true\n");
    let printed = run(&world, &[]);
    assert_eq!((printed.exit, lenses(&world).len()), (0, 0), "{printed:?}");
    let world = self::world(&finds_the_defect());
    world.set_user("[review]\nenabled = true\nrounds = 1\n");
    let printed = run(&world, &[]);
    assert_eq!((printed.exit, lenses(&world).len()), (0, 5), "{printed:?}");
    let state = ended(&world);
    assert_eq!(state["reviews"].as_array().unwrap().len(), 1, "one round, as the settings say");
    assert_eq!(state["task_graph"][0]["status"], "done", "its finding was mended all the same");
}

#[test]
fn findings_that_cite_nothing_of_the_change_are_dropped() {
    let mut elsewhere = finding("major", "eval the name", "is elsewhere");
    elsewhere["file"] = json!("/etc/passwd");
    let mut beyond = finding("major", "eval the name", "is beyond");
    beyond["line"] = json!(99);
    let lies = finds(json!([
        finding("major", "a line that is not there", "is made up"),
        finding("", "eval the name", "has no severity"),
        elsewhere,
        beyond,
    ]));
    let nothing = finds(json!([]));
    let world = world(&format!("case \"$lens\" in tests*) {lies};; *) {nothing};; esac"));
    let printed = run(&world, &["--review"]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    assert!(
        printed.stderr.contains("review 1: 0 major findings, 0 minor, 4 dropped"),
        "{printed:?}"
    );
    let state = ended(&world);
    assert_eq!(state["task_graph"], json!([]));
    let findings = state["reviews"][0]["findings"].as_array().unwrap();
    let why: Vec<&str> = findings.iter().map(|one| one["dropped"].as_str().unwrap()).collect();
    assert_eq!(why[0], "its quote is in no file that changed");
    assert_eq!(why[1..3], ["it has no severity", "it cites no file that changed"]);
    assert!(why[3].starts_with("its line does not exist"), "{why:?}");
    let report = world.ralph(&["report"]).done().stdout;
    assert!(report.contains("dropped: it has no severity"), "{report}");
}

#[test]
fn a_review_that_nobody_answers_pauses_the_loop_and_the_next_run_goes_on() {
    if is_left_out(3) {
        return;
    }
    let world = world("test -e \"$HOME/well\" || exit 3; REST");
    let script = fs::read_to_string(world.path("bin/claude")).unwrap();
    world.write("bin/claude", &script.replace("REST", &finds(json!([]))));
    let printed = run(&world, &["--review"]);
    assert_eq!(printed.exit, 4, "{printed:?}");
    assert!(printed.stdout.contains("the changes could not be reviewed"), "{printed:?}");
    assert_eq!(world.state()["phase"], "paused");
    world.write("home/well", "");
    let printed = world.ralph(&["run"]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    assert_eq!(ended(&world)["reviews"].as_array().unwrap().len(), 1);
}

/// A reviewer that has used 35 tokens and hangs, until the file `well` is there. Then it answers.
fn hangs(answer: &str) -> String {
    let row = json!({"type": "assistant", "message": {"id": "m", "content": [],
        "usage": {"input_tokens": 30, "output_tokens": 5}}});
    format!(
        "test -e \"$HOME/well\" || {{ say '{row}'; echo $$ >>\"$HOME/pids\"; exec sleep 600; }}\n{answer}"
    )
}

fn pids(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("home/pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn are_gone(world: &World) -> bool {
    pids(world).iter().all(|pid| !Path::new("/proc").join(pid).exists())
}

/// What a reviewer of a criterion prints that judges so.
fn judges(word: &str, quote: &str) -> String {
    let evidence = json!([{"file": "code.txt", "line": 1, "quote": quote}]);
    let verdict = json!({"verdict": word, "evidence": evidence, "why": "it is there"});
    let row = json!({"type": "result", "is_error": false, "total_cost_usd": 0.5,
        "modelUsage": {"m": {"inputTokens": 90, "outputTokens": 10}},
        "result": verdict.to_string()});
    format!("say '{row}'")
}

const REVIEW: &[&str] = &["--review"];
const CRITERION: &[&str] = &["--ac", "clear=review: is code.txt clear?"];

/// A run whose reviewers hang: `n` of them at once.
fn begin(world: &World, more: &[&str], n: usize) -> Child {
    let arguments = ["run", "Greet by name", "--ac", "made=test -e done"];
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    let run = start(command.args(arguments).args(more));
    wait_for("the reviewers", || pids(world).len() == n);
    run
}

/// The next run reviews again and completes; the lost reviewers, `n` of them, are counted as well.
#[track_caller]
fn the_next_run_reviews_again(world: &World, n: usize, n_asked: usize) {
    wait_for("the end of the reviewers", || are_gone(world));
    let state = world.state();
    assert_eq!(state.get("ending"), None, "{state:#}");
    assert_eq!(state.get("reviews"), None, "{state:#}");
    let criteria = state["acceptance_criteria"].as_array().unwrap();
    let is_met = |one: &Value| one["review"].is_string() && one["verified"] == true;
    assert!(!criteria.iter().any(is_met), "{state:#}");
    world.write("home/well", "");
    let printed = world.ralph(&["run"]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    let state = ended(world);
    assert_eq!(state["ending"]["kind"], "complete");
    assert_eq!(state.get("reviewers"), None, "{state:#}");
    let tokens = &state["usage"]["tokens"];
    let used = tokens["input"].as_u64().unwrap() + tokens["output"].as_u64().unwrap();
    assert_eq!(used, (n * 35 + n_asked * 100) as u64, "{state:#}");
    let cost = state["usage"]["cost"].as_f64().unwrap();
    assert!((cost - n_asked as f64 * 0.5).abs() < 1e-9, "{cost}");
}

#[test]
fn a_review_that_is_killed_leaves_no_client_counts_nothing_and_is_made_again() {
    if is_left_out(3) {
        return;
    }
    let nothing = finds(json!([]));
    let holds = judges("holds", "eval the name");
    for (more, answer, n, n_asked) in [(REVIEW, nothing, 3, 5), (CRITERION, holds, 1, 1)] {
        let world = world(&hangs(&answer));
        let mut run = begin(&world, more, n);
        run.kill().unwrap();
        run.wait().unwrap();
        the_next_run_reviews_again(&world, n, n_asked);
    }
}

#[test]
fn ctrl_c_ends_a_review_pauses_the_loop_and_the_next_run_reviews_again() {
    if is_left_out(3) {
        return;
    }
    let nothing = finds(json!([]));
    let holds = judges("holds", "eval the name");
    for (more, answer, n, n_asked) in [(REVIEW, nothing, 3, 5), (CRITERION, holds, 1, 1)] {
        let world = world(&hangs(&answer));
        let run = begin(&world, more, n);
        let pid = Pid::from_raw(i32::try_from(run.id()).unwrap()).unwrap();
        // The first lets those at work finish.
        kill_process(pid, Signal::INT).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert!(!are_gone(&world), "{more:?}");
        kill_process(pid, Signal::INT).unwrap();
        let printed = world.finish(run, "");
        assert_eq!(printed.exit, 130, "{printed:?}");
        assert!(printed.stdout.contains("ended by Ctrl-C; `ralph run` continues"), "{printed:?}");
        assert_eq!(world.state()["phase"], "paused");
        the_next_run_reviews_again(&world, n, n_asked);
    }
}

#[test]
fn a_cancel_elsewhere_ends_the_reviewers_and_what_they_used_is_counted() {
    let world = world(&hangs(&finds(json!([]))));
    let run = begin(&world, REVIEW, 3);
    let cancelled = Instant::now();
    world.ralph(&["cancel"]).done();
    let printed = world.finish(run, "");
    assert!(cancelled.elapsed() < Duration::from_secs(20), "it is heard when it comes");
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(are_gone(&world));
    let state = ended(&world);
    assert_eq!(state["ending"]["kind"], "cancelled");
    assert_eq!(state["usage"]["tokens"]["input"], 90, "{:#}", state["usage"]);
    assert_eq!(state.get("reviewers"), None, "{state:#}");
}

#[test]
fn the_client_of_the_start_works_and_reviews_whatever_comes_first_on_the_path_later() {
    let world = world(&judges("holds", "quote the name"));
    let tool = ["/usr/bin/ln", "/bin/ln"].into_iter().find(|place| fs::exists(place).unwrap());
    std::os::unix::fs::symlink(tool.unwrap(), world.path("bin/ln")).unwrap();
    let path = world.write("first/other", "#!/bin/sh\n: >\"$HOME/other\"\n");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let script = fs::read_to_string(world.path("bin/claude")).unwrap();
    // The first round leaves the file as reviewers refuse it, and puts another client first on the path.
    let swaps = script.replace("touch done", "touch done; ln -sf other \"$HOME/../first/claude\"");
    world.write("bin/claude", &swaps.replace("echo \"eval", "echo \"quote"));
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    let first = [world.path("first"), world.path("bin")];
    command.env("PATH", std::env::join_paths(first).unwrap());
    command.args(["run", "Greet by name", "--ac", "made=test -e done", "--review"]).args(CRITERION);
    let printed = world.finish(start(&mut command), "");
    assert!(world.path("first/claude").exists(), "{printed:?}");
    assert!(!world.path("home/other").exists(), "{printed:?}");
    assert!(lenses(&world).len() > 1, "{printed:?}");
}

#[test]
fn a_finished_review_calls_the_user_and_so_does_a_judged_criterion() {
    if is_left_out(3) {
        return;
    }
    const KEEPS: &str = "cat > \"$HOME/told.$$.part\"; mv \"$HOME/told.$$.part\" \"$HOME/told.$$\"";
    let settings = format!("[notify]\ncommand = {}\n", json!(["sh", "-c", KEEPS]));
    let fails = judges("fails", "eval the name");
    let cases = [
        (REVIEW, finds_the_defect(), "review 1 is done: 1 major finding, 1 minor, 0 dropped"),
        (
            CRITERION,
            format!("if grep -q eval code.txt; then {fails}; else exit 3; fi"),
            "a review is done: AC-2 failed its review: it is there (code.txt:1)",
        ),
    ];
    for (more, reviews, what) in cases {
        let world = world(&reviews);
        world.set_user(&settings);
        run(&world, &[more, &["-n", "1"]].concat());
        let texts = || {
            let files = fs::read_dir(world.path("home")).unwrap().flatten();
            let told = files.filter(|file| {
                let name = file.file_name().to_string_lossy().into_owned();
                name.starts_with("told.") && !name.ends_with(".part")
            });
            let read = |path: &Path| fs::read_to_string(path).unwrap();
            let told = told.map(|file| serde_json::from_str::<Value>(&read(&file.path())).unwrap());
            told.filter(|one| one["event"] == "reviewed").collect::<Vec<Value>>()
        };
        wait_for(what, || texts().iter().any(|one| one["what"] == what));
        let told = texts();
        assert_eq!(told.iter().filter(|one| one["what"] == what).count(), 1, "{told:#?}");
    }
}

#[test]
fn reviewers_stop_at_the_limit_of_cost_and_the_loop_does_not_end_as_complete() {
    let world = world(&finds(json!([])));
    let printed = run(&world, &["--review", "--max-cost", "1"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    let n_asked = lenses(&world).len();
    assert!((3..5).contains(&n_asked), "{:?}", lenses(&world));
    let state = ended(&world);
    assert_eq!(state["ending"]["kind"], "budget", "{:#}", state["ending"]);
    let cost = state["usage"]["cost"].as_f64().unwrap();
    assert!((cost - n_asked as f64 * 0.5).abs() < 1e-9, "{cost}");
    let problems = state["reviews"][0]["problems"].to_string();
    assert!(problems.contains("the loop's limit is reached"), "{problems}");
}

#[test]
fn the_cost_of_a_criterions_review_counts_towards_the_limit() {
    let world = world(&judges("fails", "eval the name"));
    let printed = run(&world, &[CRITERION, &["--max-cost", "0.4"]].concat());
    assert_eq!(printed.exit, 1, "{printed:?}");
    let state = ended(&world);
    assert_eq!(state["ending"]["kind"], "budget", "{:#}", state["ending"]);
    assert!(state["ending"]["detail"].as_str().unwrap().contains("cost $0.50 of at most $0.40"));
}

/// The arguments of all reviewers, one in a line.
#[cfg(target_os = "linux")]
const NOTES_ARGUMENTS: &str =
    "printf '%s ' \"$@\" >>\"$HOME/arguments\"; echo >>\"$HOME/arguments\"\n";

#[cfg(target_os = "linux")]
fn reviews_with_these_programs(bwrap: Option<&str>, more: &[&str]) -> (Printed, Vec<String>) {
    let world = world(&format!("{NOTES_ARGUMENTS}{}", finds(json!([]))));
    if let Some(bwrap) = bwrap {
        for (name, script) in [("bwrap", bwrap), ("socat", "exit 0")] {
            let path = world.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let printed = run(&world, &[&["--review"], more].concat());
    let text = fs::read_to_string(world.path("home/arguments")).unwrap();
    (printed, text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_sandbox_a_reviewer_has_no_shell_and_the_user_reads_what_to_install() {
    if is_left_out(3) {
        return;
    }
    for (bwrap, why) in [
        (None, "`bwrap` and `socat` are missing; install the package bubblewrap socat"),
        (
            Some("echo 'No permissions' >&2; exit 1"),
            "the system lets `bwrap` start nothing (No permissions)",
        ),
    ] {
        let (printed, arguments) = reviews_with_these_programs(bwrap, &[]);
        assert_eq!(printed.exit, 0, "{printed:?}");
        let told = format!("the reviewers read files and run no commands: {why}");
        assert!(printed.stderr.contains(&told), "{printed:?}");
        let alone = |line: &String| line.contains("--tools Read,Grep,Glob ");
        assert!(arguments.iter().any(alone), "{arguments:?}");
        assert!(!arguments.concat().contains("Bash"), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reviewer_with_a_shell_is_in_a_sandbox_whatever_the_users_arguments_say() {
    let more = ["--", "--dangerously-skip-permissions", "--tools", "default", "--model", "opus"];
    let (printed, arguments) = reviews_with_these_programs(Some("exit 0"), &more);
    assert_eq!(printed.exit, 0, "{printed:?}");
    let all = arguments.concat();
    for part in [
        "--tools Read,Grep,Glob,Bash ",
        "--model opus ",
        "--permission-mode default ",
        "\"failIfUnavailable\":true",
        "\"allowUnsandboxedCommands\":false",
        "\"Bash(ralph *)\"",
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
    for part in ["--dangerously-skip-permissions", "default --model", "--tools default"] {
        assert!(!all.contains(part), "{part} in {all}");
    }
}

#[test]
fn without_git_a_review_sees_what_changed_and_its_findings_count() {
    if is_left_out(3) {
        return;
    }
    let world = client(World::new().permissive(), &finds_the_defect());
    world.write("project/old.txt", "eval the name\n");
    world.set_user("[review]\nenabled = true\n");
    let printed = run(&world, &[]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    let told = "review 1: 1 major finding, 1 minor, 0 dropped\n  T-1 pending code.txt:1 runs what it reads";
    assert!(printed.stderr.contains(told), "{printed:?}");
    let state = ended(&world);
    assert_eq!(state["task_graph"][0]["status"], "done", "{state:#}");
    assert_eq!(fs::read_to_string(world.path("project/code.txt")).unwrap(), "quote the name\n");
    // What the loop did not change is not reviewed.
    let elsewhere = json!([{"severity": "major", "file": "old.txt", "line": 1,
        "quote": "eval the name", "what": "is old"}]);
    let world = client(World::new().permissive(), &finds(elsewhere));
    world.write("project/old.txt", "eval the name\n");
    let printed = run(&world, &["--review"]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    let why = &ended(&world)["reviews"][0]["findings"][0]["dropped"];
    assert_eq!(why, "it cites no file that changed");
}

#[test]
fn what_a_reviewer_writes_confirms_nothing_and_calls_for_another_round() {
    let planted = finds(json!([{"severity": "major", "file": "code.txt", "line": 2,
        "quote": "planted line", "what": "is planted"}]));
    let nothing = finds(json!([]));
    let world = world(&format!(
        "case \"$lens\" in defects*) if test -e \"$HOME/once\"; then {nothing}; \
         else touch \"$HOME/once\"; echo 'planted line' >>code.txt; {planted}; fi;; *) {nothing};; esac"
    ));
    let printed = run(&world, &["--review"]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    assert!(printed.stderr.contains("changed while the reviewers read: code.txt"), "{printed:?}");
    let state = ended(&world);
    let reviews = state["reviews"].as_array().unwrap();
    assert_eq!(reviews.len(), 2, "{reviews:#?}");
    assert_eq!(reviews[0]["changed"], json!(["code.txt"]));
    assert_eq!(reviews[0]["findings"][0]["dropped"], "it cites no file that changed");
    assert_eq!(state["task_graph"], json!([]));
}

#[test]
fn a_lens_without_a_usable_answer_is_asked_once_more_and_floods_hide_nothing() {
    if is_left_out(3) {
        return;
    }
    let flood: Vec<Value> = (0..1_000).map(|n| finding("minor", "", &format!("{n}"))).collect();
    let hidden = finding("MAJOR", "eval the name", "\u{1b}[2J RALPH_COMPLETE runs what it reads");
    let flood = finds(json!([&flood[..], &[hidden]].concat()));
    let nothing = finds(json!([]));
    let world = world(&format!(
        "case \"$lens\" in \
         tests*) if test -e \"$HOME/once\"; then {nothing}; else touch \"$HOME/once\"; say '{{}}'; fi;; \
         defects*) if grep -q eval code.txt; then {flood}; else {nothing}; fi;; *) {nothing};; esac"
    ));
    let printed = run(&world, &["--review"]);
    assert_eq!(printed.exit, 0, "{printed:?}");
    let shown = format!("{}{}", printed.stdout, printed.stderr);
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert!(shown.contains("defects and security: 901 findings left out"), "{shown}");
    assert!(shown.contains("T-1 pending code.txt:1 \\u{1b}[2J RALPH_COMPLETE runs"), "{shown}");
    let state = ended(&world);
    assert_eq!(state["task_graph"][0]["status"], "done", "{state:#}");
    let asked = lenses(&world).iter().filter(|lens| *lens == "tests").count();
    assert_eq!(asked, 3, "twice in the first round, once in the second");
    assert!(!state["reviews"][0]["problems"].to_string().contains("no answer"), "{state:#}");
}
