//! Workers side by side in the real client: an orchestrating model that does what `ralph parallel next` says.

use std::fs;
use std::sync::{Arc, Mutex};

use ralph_test_support::fake_api::{ApiRequest, Gate, Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{TOKEN, installed, session_entries, the_archived, the_ended, the_live};
use crate::support::{PATIENCE, Terminal, World, executables, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    six_tasks_in_two_waves_are_carried_out_and_merged,
    a_fifth_worker_is_refused_with_a_reason,
    a_worker_that_says_done_without_work_is_asked_again_and_its_task_is_free,
    a_worker_that_dies_is_named_and_its_task_is_done_by_the_next,
    work_that_conflicts_is_kept_out_and_done_again_on_the_new_base,
    a_cancel_while_four_work_ends_them_all,
    a_typed_cancel_while_four_work_ends_them_all,
    a_cancel_in_plain_words_while_four_work_ends_them_all,
    two_orchestrations_in_one_repository_merge_one_after_the_other,
    a_document_becomes_tasks_and_the_tasks_are_carried_out,
];

/// Plans tasks (id, dependencies, files) with one criterion, and commits all that is there.
pub(crate) fn planned(world: &World, tasks: &[(&str, &[&str], &[&str])], criterion: &str) {
    let task_graph: Vec<Value> = tasks
        .iter()
        .map(|(id, deps, files)| {
            json!({"id": id, "name": format!("write {id}"), "deps": deps, "files": files,
                "completion_condition": format!("{id} is written")})
        })
        .collect();
    let criteria =
        json!([{"id": "AC-1", "description": "it is there", "verification_command": criterion}]);
    let plan =
        json!({"prompt": "Write them", "acceptance_criteria": criteria, "task_graph": task_graph});
    world.run(executables().join("ralph"), &["task", "import", "-"], &plan.to_string()).exits(0);
}

/// Does what `ralph parallel next` says, step by step, and nothing else.
pub(crate) fn orchestrator() -> Script {
    Script::new().answer_with(|request| answer(&request.news()))
}

fn answer(news: &str) -> ScriptedTurn {
    let calls: Vec<Value> = news
        .lines()
        .filter(|line| line.starts_with('{'))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if news.contains("in one message, one call of the Agent tool") && !calls.is_empty() {
        let nothing = ScriptedTurn::of(Vec::new());
        return calls.into_iter().fold(nothing, |turn, call| turn.then_tool("Agent", call));
    }
    if news.contains("launched successfully") || news.contains("End your turn now") {
        return ScriptedTurn::text("I wait.");
    }
    if news.contains("Run `ralph parallel merge` now") {
        return ScriptedTurn::bash("ralph parallel merge || true");
    }
    if news.contains("All tasks are done and merged") {
        return ScriptedTurn::bash("ralph verify");
    }
    if news.contains("\nIt holds.") {
        return ScriptedTurn::text(&format!("All is done.\n\n{TOKEN}"));
    }
    if news.contains("Nothing can be started") {
        return ScriptedTurn::bash("ralph blocked 'look at the tasks'");
    }
    if news.contains("blocked") && news.contains("pauses") {
        return ScriptedTurn::text("A person is needed.");
    }
    ScriptedTurn::bash("ralph parallel next")
}

/// The task in a worker's prompt.
fn task(request: &ApiRequest) -> String {
    let text = request.first_user_text();
    let (_, rest) = text.split_once("Ralph task ").expect("a worker has a task");
    rest.lines().next().unwrap().trim().to_owned()
}

fn report(status: &str, files: &str) -> String {
    format!(
        "Status: {status}\nFiles changed: {files}\nTests: none\nCompletion condition: met, I looked\nNotes: none"
    )
}

/// Writes a file with the task's own name and says so.
pub(crate) fn worker() -> Script {
    Script::new().answer_with(|request| {
        let id = task(request);
        match request.tool_results().len() {
            0 => ScriptedTurn::bash(&format!("echo {id} > {id}")),
            _ => ScriptedTurn::text(&report("DONE", &id)),
        }
    })
}

fn start(world: &World, script: Script) -> StandIn {
    let stand_in = StandIn::start(script).unwrap();
    world.client(&stand_in).prompt("/ralph-parallel");
    stand_in
}

/// For each task, the files that its worker found in its worktree when it began.
fn begun(stand_in: &StandIn) -> Vec<String> {
    let first = |request: &&ApiRequest| request.tool_results().is_empty();
    stand_in.subagent_requests().iter().filter(first).map(task).collect()
}

fn explained(world: &World) -> String {
    let id = the_ended(world).state["loop_id"].as_str().unwrap().to_owned();
    world.ralph(&["explain", "1000", "--loop", &id]).exits(0).stdout
}

const SIX: [(&str, &[&str], &[&str]); 6] = [
    ("T-1", &[], &["T-1"]),
    ("T-2", &[], &["T-2"]),
    ("T-3", &[], &["T-3"]),
    ("T-4", &[], &["T-4"]),
    ("T-5", &["T-1", "T-2"], &["T-5"]),
    ("T-6", &["T-3", "T-4"], &["T-6"]),
];

fn six_tasks_in_two_waves_are_carried_out_and_merged() {
    let world = installed();
    planned(&world, &SIX, "test -s T-5 && test -s T-6");
    let gate = Gate::new();
    let held = gate.clone();
    // The four of the first wave are at work at once: none ends before all have begun.
    let at_work = Arc::new(Mutex::new(Vec::new()));
    let seen = at_work.clone();
    let second_wave = Script::new().answer_with(move |request| {
        let id = task(request);
        match request.tool_results().len() {
            0 if id == "T-5" => ScriptedTurn::bash("cat T-1 T-2 && echo T-5 > T-5"),
            0 if id == "T-6" => ScriptedTurn::bash("cat T-3 T-4 && echo T-6 > T-6"),
            0 => {
                seen.lock().unwrap().push(id.clone());
                if seen.lock().unwrap().len() == 4 {
                    held.open();
                }
                ScriptedTurn::bash(&format!("echo {id} > {id}"))
            }
            1 if id.as_str() < "T-5" => ScriptedTurn::held(&held).then_text(&report("DONE", &id)),
            _ => ScriptedTurn::text(&report("DONE", &id)),
        }
    });
    let stand_in = start(&world, orchestrator().subagent("Ralph task", second_wave));
    assert_eq!(the_ended(&world).ending(), "complete at 0/25", "{}", explained(&world));
    assert_eq!(at_work.lock().unwrap().len(), 4);
    let order = begun(&stand_in);
    assert_eq!(order.len(), 6, "{order:?}");
    assert!(
        order[4..].contains(&"T-5".to_owned()) && order[4..].contains(&"T-6".to_owned()),
        "{order:?}"
    );
    let log = world.git(&["log", "--format=%s", "--first-parent"]);
    for id in ["T-1", "T-2", "T-3", "T-4", "T-5", "T-6"] {
        assert!(log.contains(&format!("Merge {id}: write {id}")), "{log}");
        assert_eq!(fs::read_to_string(world.project().join(id)).unwrap(), format!("{id}\n"));
    }
    let changed = world.git(&["status", "--porcelain", "--untracked-files=all", "--", ":!.claude"]);
    assert_eq!(changed, "", "branch, index and work tree moved forward together");
    let cleaned = world.ralph(&["parallel", "clean"]).exits(0).stdout;
    assert!(
        !world.project().join(".claude/worktrees").exists()
            || fs::read_dir(world.project().join(".claude/worktrees")).unwrap().next().is_none(),
        "{cleaned}"
    );
    assert_eq!(world.git(&["branch", "--format=%(refname:short)"]).lines().count(), 1, "{cleaned}");
}

fn a_fifth_worker_is_refused_with_a_reason() {
    let world = installed();
    let tasks: Vec<(&str, &[&str], &[&str])> =
        ["T-1", "T-2", "T-3", "T-4", "T-5"].iter().map(|id| (*id, &[][..], &[][..])).collect();
    planned(&world, &tasks, "test -s T-5");
    let gate = Gate::new();
    let (held, opened) = (gate.clone(), gate.clone());
    let five = ["T-1", "T-2", "T-3", "T-4", "T-5"].iter().fold(
        ScriptedTurn::of(Vec::new()),
        |turn, id| {
            let call = json!({"description": id, "prompt": format!("Ralph task {id}\nDo: write it"),
            "subagent_type": "ralph-worker", "run_in_background": true});
            turn.then_tool("Agent", call)
        },
    );
    let refusal = Arc::new(Mutex::new(String::new()));
    let said = refusal.clone();
    let script = Script::new().turn(five).answer_with(move |request| {
        let refused = request.tool_results().into_iter().find(|result| result.is_error);
        if let Some(refused) = refused {
            *said.lock().unwrap() = refused.text;
        }
        opened.open();
        answer(&request.news())
    });
    let workers = Script::new().answer_with(move |request| {
        let id = task(request);
        match request.tool_results().len() {
            0 => ScriptedTurn::held(&held).then_tool(
                "Bash",
                json!({"command": format!("echo {id} > {id}"), "description": "x"}),
            ),
            _ => ScriptedTurn::text(&report("DONE", &id)),
        }
    });
    let stand_in = start(&world, script.subagent("Ralph task", workers));
    let why = refusal.lock().unwrap().clone();
    assert!(why.contains("4 of at most 4 workers are at work"), "{why}");
    assert_eq!(begun(&stand_in).len(), 5);
    assert_eq!(the_ended(&world).ending(), "complete at 0/25", "{}", explained(&world));
}

fn a_worker_that_says_done_without_work_is_asked_again_and_its_task_is_free() {
    let world = installed();
    planned(&world, &[("T-1", &[], &["T-1"])], "test -s T-1");
    let n_workers = Arc::new(Mutex::new(0));
    let count = n_workers.clone();
    // The first only talks; the next one works.
    let workers = Script::new().answer_with(move |request| {
        if request.first_user_text().contains("Before: ") {
            return match request.tool_results().len() {
                0 => ScriptedTurn::bash("echo x > T-1"),
                _ => ScriptedTurn::text(&report("DONE", "T-1")),
            };
        }
        *count.lock().unwrap() += 1;
        ScriptedTurn::text(&report("DONE", "T-1"))
    });
    let stand_in = start(&world, orchestrator().subagent("Ralph task", workers));
    assert_eq!(*n_workers.lock().unwrap(), 2, "it was asked once more, and no more");
    let requests = stand_in.subagent_requests();
    assert!(
        requests[1].news().contains("in your worktree nothing has changed"),
        "{}",
        requests[1].news()
    );
    let again = requests.iter().find(|one| one.first_user_text().contains("Before: ")).unwrap();
    assert!(again.first_user_text().contains("it says DONE, and nothing has changed"));
    assert_eq!(the_ended(&world).ending(), "complete at 0/25", "{}", explained(&world));
}

fn a_worker_that_dies_is_named_and_its_task_is_done_by_the_next() {
    let world = installed();
    planned(&world, &[("T-1", &[], &["T-1"])], "test -s T-1");
    let workers = Script::new().answer_with(|request| {
        if !request.first_user_text().contains("Before: ") {
            // The API refuses its request for good: the worker is gone without a report.
            return ScriptedTurn::error(400, "invalid_request_error", "This worker may not go on.");
        }
        match request.tool_results().len() {
            0 => ScriptedTurn::bash("echo x > T-1"),
            _ => ScriptedTurn::text(&report("DONE", "T-1")),
        }
    });
    let stand_in = start(&world, orchestrator().subagent("Ralph task", workers));
    let told = stand_in.requests().iter().map(ApiRequest::news).collect::<Vec<_>>().join("\n");
    assert!(
        told.contains("T-1 is ready again: its worker (T-1 write T-1) ended without a report"),
        "{told}"
    );
    assert_eq!(the_ended(&world).ending(), "complete at 1/25", "{}", explained(&world));
}

fn work_that_conflicts_is_kept_out_and_done_again_on_the_new_base() {
    let world = installed();
    world.write("shared.c", "one\n");
    world.git(&["add", "shared.c"]);
    world.git(&["commit", "-qm", "shared"]);
    // They do not say that both change it.
    planned(
        &world,
        &[("T-1", &[], &[]), ("T-2", &[], &[])],
        "grep -q T-1 shared.c && grep -q T-2 shared.c",
    );
    let workers = Script::new().answer_with(|request| {
        let id = task(request);
        let again = request.first_user_text().contains("Before: ");
        match request.tool_results().len() {
            0 if again => ScriptedTurn::bash(&format!("echo {id} >> shared.c")),
            0 => ScriptedTurn::bash(&format!("echo {id} > shared.c")),
            _ => ScriptedTurn::text(&report("DONE", "shared.c")),
        }
    });
    let stand_in = start(&world, orchestrator().subagent("Ralph task", workers));
    let told = stand_in.requests().iter().map(ApiRequest::news).collect::<Vec<_>>().join("\n");
    assert!(told.contains("conflict") && told.contains("shared.c"), "{told}");
    assert_eq!(fs::read_to_string(world.project().join("shared.c")).unwrap(), "T-1\nT-2\n");
    assert_eq!(the_ended(&world).ending(), "complete at 0/25", "{}", explained(&world));
}

fn a_cancel_while_four_work_ends_them_all() {
    four_are_cut(|world, _| {
        world.ralph(&["cancel"]).exits(0);
    });
}

fn a_typed_cancel_while_four_work_ends_them_all() {
    four_are_cut(|_, terminal| {
        terminal.submit("/ralph-cancel");
    });
}

fn a_cancel_in_plain_words_while_four_work_ends_them_all() {
    four_are_cut(|_, terminal| {
        terminal.submit("ralph cancel");
    });
}

/// Cancels a loop while four workers are in the middle of their turns in the background.
#[track_caller]
fn four_are_cut(cancel: impl FnOnce(&World, &Terminal)) {
    let world = installed();
    planned(&world, &SIX, "test -s T-6");
    let gate = Gate::new();
    let held = gate.clone();
    let workers = Script::new().answer_with(move |request| match request.tool_results().len() {
        0 => ScriptedTurn::bash("echo begun"),
        1 => ScriptedTurn::held(&held)
            .then_tool("Bash", json!({"command": "touch went-on", "description": "x"})),
        _ => ScriptedTurn::text("never said"),
    });
    let stand_in = StandIn::start(orchestrator().subagent("Ralph task", workers)).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit("/ralph-parallel");
    let four_wait = || {
        let waiting = stand_in.subagent_requests();
        waiting.iter().filter(|request| request.tool_results().len() == 1).count() >= 4
    };
    assert!(wait_until(PATIENCE, four_wait), "{}", stand_in.subagent_requests().len());
    assert_eq!(the_live(&world).state["workers"].as_array().unwrap().len(), 4);
    cancel(&world, &terminal);
    let is_archived =
        || world.ralph_home().join("archive").read_dir().is_ok_and(|mut it| it.next().is_some());
    assert!(wait_until(PATIENCE, is_archived), "{}", terminal.history());
    gate.open();
    // Each worker's next call is refused, whatever the session has heard meanwhile.
    let all_cut = || the_archived(&world).n_decisions("PreToolUse", "turn cut") == 4;
    assert!(
        wait_until(PATIENCE, all_cut),
        "{}",
        the_archived(&world).n_decisions("PreToolUse", "turn cut")
    );
    assert!(wait_until(PATIENCE, || session_entries(&world).is_empty()));
    let trees = world.project().join(".claude/worktrees");
    let trees = fs::read_dir(&trees).into_iter().flatten().flatten();
    assert!(trees.map(|tree| tree.path()).all(|tree| !tree.join("went-on").exists()));
    assert!(stand_in.subagent_requests().iter().all(|one| one.tool_results().len() < 2));
    assert_eq!(the_ended(&world).state["ending"]["kind"], "cancelled");
}

fn two_orchestrations_in_one_repository_merge_one_after_the_other() {
    let world = installed();
    let list = |words: &str| {
        format!("/ralph-parallel \"{words}\" --ac 'merged=git log --format=%s | grep -q Merge'")
    };
    let script = || {
        let workers = Script::new().answer_with(|request| {
            let text = request.first_user_text();
            let name = text.split("Do: write ").nth(1).unwrap().lines().next().unwrap().to_owned();
            match request.tool_results().len() {
                0 => ScriptedTurn::bash(&format!("echo {name} > {name}")),
                _ => ScriptedTurn::text(&report("DONE", &name)),
            }
        });
        orchestrator().subagent("Ralph task", workers)
    };
    let (one, two) = (StandIn::start(script()).unwrap(), StandIn::start(script()).unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| world.client(&one).prompt(&list("write ann, write bob")));
        scope.spawn(|| world.client(&two).prompt(&list("write cid, write dan")));
    });
    for name in ["ann", "bob", "cid", "dan"] {
        assert_eq!(fs::read_to_string(world.project().join(name)).unwrap(), format!("{name}\n"));
    }
    let merges = world.git(&["log", "--format=%s", "--first-parent"]);
    assert_eq!(merges.matches("Merge T-").count(), 4, "{merges}");
    world.git(&["diff", "--exit-code", "HEAD", "--", ":!.claude"]);
}

fn a_document_becomes_tasks_and_the_tasks_are_carried_out() {
    let world = installed();
    world.write("docs/prd.md", "# Two files\n");
    world.git(&["add", "docs"]);
    world.git(&["commit", "-qm", "docs"]);
    let lines = "{\"id\":\"T-1\",\"name\":\"write T-1\",\"completion_condition\":\"it is there\",\"files\":[\"T-1\"]}";
    let script = orchestrator().turn(ScriptedTurn::bash(&format!("printf '%s\\n' '{lines}' > /tmp/$$.jsonl; ralph plan-sync < /tmp/$$.jsonl; rm /tmp/$$.jsonl")));
    let stand_in = StandIn::start(script.subagent("Ralph task", worker())).unwrap();
    world.client(&stand_in).prompt("/ralph-parallel docs/prd.md --ac 'there=test -s T-1'");
    let requests = stand_in.requests();
    assert!(requests[0].all_text().contains("Carry out `docs/prd.md`"));
    assert_eq!(the_ended(&world).ending(), "complete at 0/25", "{}", explained(&world));
}
