//! What the criteria are worth, in the real client: refusals of criteria that pass without the change or with changed
//! tests only, what the second request gets, and runs that end proven, reviewed or accepted.

use std::fs;

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::json;

use crate::Test;
use crate::evidence::{refusals, told_the_person};
use crate::kept::{Kept, TOKEN, installed, the_ended, the_live};
use crate::support::{Run, World};

pub(crate) const TESTS: &[Test] = tests![
    a_change_that_no_test_sees_is_refused_once_in_a_terminal,
    a_change_that_no_test_sees_is_refused_once_in_print_mode,
    a_test_that_is_added_after_the_refusal_proves_the_change,
    changed_tests_wait_for_the_person_who_accepts_them_in_the_session,
    changed_tests_wait_for_the_person_who_accepts_them_in_another_terminal,
    a_run_in_a_project_whose_tests_pass_ends_proven,
    a_run_that_changes_nothing_is_refused_once,
    a_run_without_git_makes_a_round_and_compares_nothing,
    a_run_that_refactors_is_judged_by_a_reviewer,
    a_run_that_renames_an_interface_is_judged_by_a_reviewer,
    a_run_whose_changed_tests_no_reviewer_accepts_waits_for_the_person,
];

const CRITERION: &str = "the tests pass=sh tests/run.sh";

const ADD: &str = "add() { echo $(($1 + $2)); }\n";

/// Prints TAP.
const LIB: &str = ". ./math.sh
n=0 bad=0
assert_equal() {
  n=$((n + 1))
  if [ \"$2\" = \"$3\" ]; then echo \"ok $n - $1\"; else echo \"not ok $n - $1\"; bad=1; fi
}
";

const ADDS: &str = "assert_equal adds \"$(add 1 2)\" 3\n";

/// The model's shell commands.
const DOUBLE: &str = "echo 'double() { echo $(($1 * 2)); }' >> math.sh";
const TEST_DOUBLE: &str = "sed -i '2a assert_equal doubles \"$(double 4)\" 8' tests/run.sh";
const REFACTOR: &str = "echo 'add() { expr \"$1\" + \"$2\"; }' > math.sh";
const SUBTRACT: &str =
    "sed -i 's/+/-/' math.sh && sed -i 's/adds/subtracts/; s/ 3$/ -1/' tests/run.sh";
const RENAME: &str = "sed -i 's/^add/sum/' math.sh && sed -i 's/add 1/sum 1/' tests/run.sh";

/// What Ralph tells of `double` and its test.
const FIGURES: &str = "sh tests/run.sh: 2 tests pass; 1 of them fails without the change; the original one still passes";

const KEPT: &str =
    "the tests pass, but they pass without your change, too; add a test that fails without it";
const UNSEEN: &str =
    "done, without proof: nothing broke, and no test sees the change (1 file changed)";
const CHANGED: &str = "passes only with changed tests: `adds` fails in its original form";
const ACCEPTED: &str = "AC-1: 1 test changed, accepted: `adds`";

/// A project with one test, which passes.
fn tested() -> World {
    with_tests(&one_test())
}

fn one_test() -> String {
    format!(". tests/lib.sh\n{ADDS}echo \"1..$n\"\nexit $bad\n")
}

fn with_tests(text: &str) -> World {
    let world = installed();
    write_project(&world, text);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "Tests"]);
    world
}

fn write_project(world: &World, tests: &str) {
    world.write("math.sh", ADD);
    world.write("tests/lib.sh", LIB);
    world.write("tests/run.sh", tests);
}

/// The command that starts a loop in a session.
fn start(task: &str) -> String {
    format!("/ralph \"{task}\" --ac \"{CRITERION}\"")
}

fn asks(text: &str) -> ScriptedTurn {
    ScriptedTurn::text(&format!("{text}\n\n{TOKEN}"))
}

/// A model that works in one command and asks for completion, again and again.
fn works_and_asks(work: &str, n: usize) -> Script {
    let insists = std::iter::repeat_n(asks("It is done."), n);
    Script::new().turn(ScriptedTurn::bash(work)).turns(insists)
}

#[track_caller]
fn assert_ended(kept: &Kept, kind: &str, detail: &str) {
    let ending = &kept.state["ending"];
    assert_eq!(ending["kind"], kind, "{ending:#}");
    assert!(ending["detail"].as_str().unwrap().contains(detail), "{ending:#}");
}

fn a_change_that_no_test_sees_is_refused_once_in_a_terminal() {
    let world = tested();
    let stand_in = StandIn::start(works_and_asks(DOUBLE, 2)).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(&start("Add double")).wait_for(UNSEEN);
    let shown = terminal.history();
    assert!(shown.contains("Ralph 1/25: completion refused"), "{shown}");
    assert!(!shown.contains("Completion was requested"), "{shown}");
    assert!(!shown.contains("proven"), "{shown}");
    let heard = stand_in.requests()[2].news();
    assert!(heard.contains("they pass without your change, too"), "{heard}");
    assert_ended(&the_ended(&world), "complete_unverified", "no test sees the change");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (3, 0));
}

fn a_change_that_no_test_sees_is_refused_once_in_print_mode() {
    let world = tested();
    let script = Script::new().turns([
        ScriptedTurn::bash(DOUBLE),
        asks("It is done."),
        ScriptedTurn::bash("cat math.sh"),
        asks("No test can see it."),
    ]);
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt(&start("Add double"));
    assert_eq!(run.code, Some(0), "{run:?}");
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "complete_unverified at 1/25");
    let refused = refusals(&stand_in.requests());
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert!(refused[0].contains(KEPT), "{}", refused[0]);
    let told = told_the_person(&world, run.session_id());
    assert!(told.last().unwrap().contains(UNSEEN), "{told:#?}");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (4, 0));
}

fn a_test_that_is_added_after_the_refusal_proves_the_change() {
    let world = tested();
    let script = Script::new().turns([
        ScriptedTurn::bash(DOUBLE),
        asks("It is done."),
        ScriptedTurn::bash(TEST_DOUBLE),
        asks("It has a test."),
    ]);
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt(&start("Add double"));
    assert_eq!(the_ended(&world).ending(), "complete at 1/25");
    let told = told_the_person(&world, run.session_id());
    assert!(told.last().unwrap().contains(FIGURES), "{told:#?}");
    assert_eq!(refusals(&stand_in.requests()).len(), 1);
}

/// The loop waits for the person, with the reason.
#[track_caller]
fn assert_waits(world: &World) {
    let kept = the_live(world);
    assert_eq!(kept.state["phase"], "paused");
    assert_eq!(kept.state["pause"]["cause"], "blocked_on_human", "{:#}", kept.state["pause"]);
    let why = kept.state["pause"]["detail"].as_str().unwrap();
    assert!(why.contains(CHANGED) && why.contains("ralph accept"), "{why}");
}

fn changed_tests_wait_for_the_person_who_accepts_them_in_the_session() {
    let world = tested();
    let stand_in = StandIn::start(works_and_asks(SUBTRACT, 3)).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(&start("Subtract")).wait_for("paused at 1/25 (blocked_on_human)");
    assert_waits(&world);
    assert!(stand_in.requests()[2].news().contains("completion refused"));
    terminal.submit("/ralph accept").wait_for("in their original form: `adds`");
    assert!(terminal.history().contains("-assert_equal adds"), "{}", terminal.history());
    assert_eq!(stand_in.requests().len(), 3, "the model does not hear of it");
    terminal.submit("/ralph").wait_for(ACCEPTED);
    assert_ended(&the_ended(&world), "complete", "1 proven");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (4, 0));
}

fn changed_tests_wait_for_the_person_who_accepts_them_in_another_terminal() {
    let world = tested();
    let script = Script::new().turns([
        ScriptedTurn::bash(SUBTRACT),
        asks("It subtracts."),
        ScriptedTurn::bash("cat tests/run.sh"),
        asks("The task needs it."),
        asks("It was accepted."),
    ]);
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt(&start("Subtract"));
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_waits(&world);
    let refused = refusals(&stand_in.requests());
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert!(refused[0].contains(CHANGED), "{}", refused[0]);
    let told = told_the_person(&world, run.session_id());
    assert!(told.last().unwrap().contains(CHANGED), "{told:#?}");

    let accepted = world.ralph(&["accept"]).exits(0);
    assert!(accepted.stdout.contains("-assert_equal adds"), "{accepted:?}");
    let client = world.client(&stand_in).args(&["--resume", run.session_id()]);
    client.prompt("/ralph").result();
    assert_ended(&the_ended(&world), "complete", "1 proven");
    let told = told_the_person(&world, run.session_id());
    assert!(told.last().unwrap().contains(ACCEPTED), "{told:#?}");
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (5, 0));
}

/// A model that works in the first round and says in each that it is done. As a reviewer it answers with `verdict`.
fn rounds(world: &World, work: &str, verdict: &'static str) -> Script {
    let once = format!("test -e .git/worked || {{ touch .git/worked; {work}; }}");
    let code = world.project().join("math.sh");
    Script::new().answer_with(move |request| {
        match (is_reviewer(request), request.tool_results().len()) {
            (true, 0) => ScriptedTurn::tool("Read", json!({"file_path": code})),
            (true, _) => {
                let line = fs::read_to_string(&code).unwrap().lines().next().unwrap().to_owned();
                let evidence = json!([{"file": "math.sh", "line": 1, "quote": line}]);
                let why = "I have read it";
                let verdict = json!({"verdict": verdict, "evidence": evidence, "why": why});
                ScriptedTurn::text(&format!("{verdict}"))
            }
            (false, 0) => ScriptedTurn::bash(&once),
            (false, _) => ScriptedTurn::text("It is done."),
        }
    })
}

fn is_reviewer(request: &ApiRequest) -> bool {
    request.first_user_text().contains("You are an independent reviewer")
}

/// What each round and each reviewer is told first.
fn prompts(stand_in: &StandIn, of_reviewers: bool) -> Vec<String> {
    let requests = stand_in.requests();
    let first = requests.iter().filter(|one| one.tool_results().is_empty());
    first.filter(|one| is_reviewer(one) == of_reviewers).map(ApiRequest::first_user_text).collect()
}

fn run(world: &World, stand_in: &StandIn, task: &[&str]) -> Run {
    let mode = ["--permission-mode", "bypassPermissions"];
    world.ralph_with_client(stand_in, &[&["run"][..], task, &mode].concat())
}

#[track_caller]
fn says(run: &Run, words: &[&str]) {
    let all = format!("{}{}", run.stdout, run.stderr);
    for word in words {
        assert_eq!(all.matches(word).count(), 1, "`{word}` is not said once:\n{all}");
    }
}

const HOLD_ALREADY: &str = "the criteria pass before anything was done, so they prove nothing yet";

fn a_run_in_a_project_whose_tests_pass_ends_proven() {
    let world = tested();
    let stand_in =
        StandIn::start(rounds(&world, &format!("{DOUBLE}; {TEST_DOUBLE}"), "fails")).unwrap();
    let run = run(&world, &stand_in, &["Add double", "--ac", CRITERION]).exits(0);
    says(&run, &[HOLD_ALREADY, FIGURES]);
    let told = prompts(&stand_in, false);
    assert_eq!(told.len(), 1, "{}", told.len());
    assert!(told[0].contains("first add a test that fails today"), "{}", told[0]);
    assert_ended(&the_ended(&world), "complete", "1 proven");
    assert_eq!(prompts(&stand_in, true).len(), 0, "a run decides, no reviewer");
}

fn a_run_that_changes_nothing_is_refused_once() {
    let world = tested();
    let stand_in = StandIn::start(rounds(&world, "true", "holds")).unwrap();
    let run = run(&world, &stand_in, &["Add double", "--ac", CRITERION]).exits(1);
    says(&run, &[HOLD_ALREADY, "done, without proof: nothing was changed"]);
    let (told, refusal) = (prompts(&stand_in, false), "nothing was changed since the start");
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(!told[0].contains(refusal), "{}", told[0]);
    assert!(told[1].contains(refusal), "{}", told[1]);
    assert_ended(&the_ended(&world), "complete_unverified", "nothing was changed");
}

fn a_run_without_git_makes_a_round_and_compares_nothing() {
    let world = World::without_git();
    world.ralph(&["install"]).exits(0);
    write_project(&world, &one_test());
    let script =
        Script::new().turns([ScriptedTurn::bash(DOUBLE), ScriptedTurn::text("It is done.")]);
    let stand_in = StandIn::start(script).unwrap();
    let run = run(&world, &stand_in, &["Add double", "--ac", CRITERION]).exits(0);
    says(&run, &[HOLD_ALREADY, "1 test passes; not compared: the project is in no git repository"]);
    assert_eq!((stand_in.requests().len(), stand_in.unscripted()), (2, 0));
    assert_ended(&the_ended(&world), "complete", "passes; not compared");
}

fn a_run_that_refactors_is_judged_by_a_reviewer() {
    let world = tested();
    let stand_in = StandIn::start(rounds(&world, REFACTOR, "holds")).unwrap();
    let run = run(&world, &stand_in, &["Call expr in add", "--ac", CRITERION]).exits(0);
    says(&run, &[HOLD_ALREADY, "a reviewer judges: nothing broke", "I have read it"]);
    says(
        &run,
        &["1 test passes, without the change, too.", "No test sees the change; it was reviewed."],
    );
    let told = prompts(&stand_in, false);
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[1].contains(KEPT), "{}", told[1]);
    let asked = prompts(&stand_in, true);
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert!(
        asked[0].contains("Call expr in add") && asked[0].contains("- math.sh"),
        "{}",
        asked[0]
    );
    assert_ended(
        &the_ended(&world),
        "complete",
        "no test sees the change (1 file changed), reviewed",
    );
}

/// Its tests print nothing before they fail, as if they did not build.
const STRICT: &str = "set -e\n. ./math.sh\nthree=$(add 1 2)\n[ \"$three\" = 3 ]\n";

fn a_run_that_renames_an_interface_is_judged_by_a_reviewer() {
    let world = with_tests(STRICT);
    let stand_in = StandIn::start(rounds(&world, RENAME, "holds")).unwrap();
    let run = run(&world, &stand_in, &["Rename add to sum", "--ac", CRITERION]).exits(0);
    let proof = "sh tests/run.sh passes; it fails without the change.";
    says(&run, &["AC-1: its tests changed, reviewed: ", "I have read it", proof]);
    let told = prompts(&stand_in, false);
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[1].contains("the tests of the start fail or no longer build: "), "{}", told[1]);
    let asked = prompts(&stand_in, true);
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert!(
        asked[0].contains("Does the goal itself require these tests to change"),
        "{}",
        asked[0]
    );
    assert!(asked[0].contains("-three=$(add 1 2)\n+three=$(sum 1 2)"), "{}", asked[0]);
    assert_ended(&the_ended(&world), "complete", "1 proven");
}

fn a_run_whose_changed_tests_no_reviewer_accepts_waits_for_the_person() {
    let world = tested();
    let stand_in = StandIn::start(rounds(&world, SUBTRACT, "fails")).unwrap();
    let paused = run(&world, &stand_in, &["Speed add up", "--ac", CRITERION]).exits(1);
    says(&paused, &["the task does not need it: I have read it"]);
    assert_waits(&world);
    world.ralph(&["accept"]).exits(0);
    let ended = run(&world, &stand_in, &[]).exits(0);
    says(&ended, &[ACCEPTED]);
    assert_ended(&the_ended(&world), "complete", "1 proven");
    assert_eq!(prompts(&stand_in, false).len(), 2, "refused once, and no round after");
    assert_eq!(prompts(&stand_in, true).len(), 1, "the person has decided");
}
