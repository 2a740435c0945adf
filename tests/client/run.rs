//! `ralph run` with the real client: fresh sessions until Ralph's own runs of the criteria hold.

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use crate::Test;
use crate::kept::{installed, the_ended, the_live};
use crate::support::{PATIENCE, Run, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    a_task_with_two_criteria_is_complete_after_three_fresh_sessions,
    a_run_that_is_killed_in_each_round_is_continued_and_completes,
    what_the_model_claims_does_not_count,
    a_shell_loop_with_the_same_model_needs_more,
];

const TASK: [&str; 6] =
    ["run", "Write one, two and three", "--ac", "half=test -f two", "--ac", "all=test -f three"];

/// Each session writes the next file and says that all is done. The count of the session's calls
/// says where it is.
fn one_file_a_session() -> Script {
    Script::new().answer_with(|request| match request.tool_results().len() {
        0 => ScriptedTurn::bash(
            "for f in one two three more; do test -f $f || { echo x > $f; break; }; done",
        ),
        _ => ScriptedTurn::text("All criteria hold. RALPH_COMPLETE"),
    })
}

fn run(world: &World, stand_in: &StandIn, args: &[&str]) -> Run {
    world.ralph_with_client(stand_in, &with_mode(args))
}

fn with_mode<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &["--permission-mode", "bypassPermissions", "--json"]].concat()
}

/// The sessions of the rounds that began.
fn sessions(printed: &str) -> Vec<String> {
    let events = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let began = events.filter(|event| event["event"] == "round began");
    began.map(|event| event["session"].as_str().unwrap().to_owned()).collect()
}

fn first_prompts(requests: &[ApiRequest]) -> Vec<String> {
    let first = requests.iter().filter(|one| one.tool_results().is_empty());
    first.map(ApiRequest::all_text).collect()
}

fn a_task_with_two_criteria_is_complete_after_three_fresh_sessions() {
    let world = installed();
    let stand_in = StandIn::start(one_file_a_session()).unwrap();
    let printed = run(&world, &stand_in, &TASK).exits(0);
    let ids: BTreeSet<String> = sessions(&printed.stdout).into_iter().collect();
    assert_eq!(ids.len(), 3, "{printed:?}");
    let prompts = first_prompts(&stand_in.requests());
    assert_eq!(prompts.len(), 3, "{prompts:#?}");
    // The handover is Ralph's: what held after the earlier rounds.
    assert!(prompts[2].contains("1 of 2 criteria hold"), "{}", prompts[2]);
    let kept = the_ended(&world);
    assert_eq!(kept.state["ending"]["kind"], "complete", "{:#}", kept.state["ending"]);
}

fn a_run_that_is_killed_in_each_round_is_continued_and_completes() {
    let world = installed();
    let stand_in = StandIn::start(Script::new().answer_with(|request| {
        match request.tool_results().len() {
            0 => ScriptedTurn::bash(
                "for f in one two three more; do test -f $f || { echo x > $f; break; }; done",
            ),
            // Works on after its change, until the run is killed or the last file is there.
            1 => ScriptedTurn::bash("test -f three || sleep 600"),
            _ => ScriptedTurn::text("Done."),
        }
    }))
    .unwrap();
    let mut args = TASK.to_vec();
    let mut ids = BTreeSet::new();
    for file in ["one", "two"] {
        let mut command = world.driver(&stand_in, &with_mode(&args));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut killed = command.spawn().unwrap();
        assert!(wait_until(PATIENCE, || world.project().join(file).exists()));
        ids.insert(the_live(&world).state["session_id"].as_str().unwrap().to_owned());
        killed.kill().unwrap();
        killed.wait().unwrap();
        args = vec!["run"];
    }
    let printed = run(&world, &stand_in, &args).exits(0);
    ids.extend(sessions(&printed.stdout));
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert_eq!(the_ended(&world).state["ending"]["kind"], "complete");
}

fn what_the_model_claims_does_not_count() {
    let world = installed();
    let stand_in = StandIn::start(
        Script::new().answer_with(|_| ScriptedTurn::text("All criteria hold. RALPH_COMPLETE")),
    )
    .unwrap();
    run(&world, &stand_in, &TASK).exits(1);
    let kept = the_ended(&world);
    assert_eq!(kept.state["ending"]["kind"], "stalled", "{:#}", kept.state["ending"]);
}

/// Rounds, requests and tokens of one way to work.
struct Spent {
    rounds: usize,
    requests: usize,
    tokens: u64,
}

impl Spent {
    fn of(stand_in: &StandIn) -> Spent {
        let requests = stand_in.requests();
        let rounds = first_prompts(&requests).len();
        // The stand-in reports the same usage for each answer: 100 tokens in, 10 out.
        let tokens = 110 * u64::try_from(requests.len()).unwrap();
        Spent { rounds, requests: requests.len(), tokens }
    }
}

/// Nobody stops the shell loop before this round.
const STOPPED_AFTER: usize = 10;

fn a_shell_loop_with_the_same_model_needs_more() {
    let plain = World::new();
    let stand_in = StandIn::start(one_file_a_session()).unwrap();
    for _ in 0..STOPPED_AFTER {
        let client = plain.client(&stand_in).args(&["--permission-mode", "bypassPermissions"]);
        client.prompt("Write one, two and three");
    }
    let shell = Spent::of(&stand_in);
    let world = installed();
    let stand_in = StandIn::start(one_file_a_session()).unwrap();
    run(&world, &stand_in, &TASK).exits(0);
    let ralph = Spent::of(&stand_in);
    assert_eq!((shell.rounds, ralph.rounds), (STOPPED_AFTER, 3));
    let table = format!(
        "| | shell loop | `ralph run` |\n|---|---|---|\n\
         | rounds until the work is done | 3 | 3 |\n\
         | rounds until it ends | {}, by a person | {} |\n\
         | model requests | {} | {} |\n| tokens | {} | {} |\n",
        shell.rounds, ralph.rounds, shell.requests, ralph.requests, shell.tokens, ralph.tokens
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mark = "<!-- table: shell-loop -->\n";
    let (before, after) = text.split_once(mark).unwrap();
    let kept = after.split_inclusive('\n').take_while(|line| line.starts_with('|'));
    let kept: String = kept.collect();
    if std::env::var_os("RALPH_UPDATE").is_some() {
        let rest = &after[kept.len()..];
        std::fs::write(&path, format!("{before}{mark}{table}{rest}")).unwrap();
    } else {
        assert_eq!(kept, table, "RALPH_UPDATE=1 writes the table of docs/run.md");
    }
}
