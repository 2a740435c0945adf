//! `ralph run --review` beside a client that is a script: what reviewers find, and what Ralph makes of it.

use crate::world::{Printed, World};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

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
    let world = World::new().permissive().under_git();
    for tool in ["sh", "date", "test", "touch", "cat", "grep"] {
        let places = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{tool}"));
        let place = places.iter().find(|place| fs::exists(place).unwrap()).unwrap();
        let _ = std::os::unix::fs::symlink(place, world.path("bin").join(tool));
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    let script = format!(
        r#"#!/bin/sh
[ "$1" = --version ] && echo '2.1.328 (Claude Code)' && exit
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
