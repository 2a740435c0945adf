//! Calls that start workers, all at once: as many are granted as the limit says, and each task once.

use crate::calls::{self, Answer, Caller};
use crate::size::size;
use crate::world::World;
use serde_json::json;

pub(crate) const TESTS: &[crate::Test] =
    &[("of_a_crowd_of_calls_no_more_than_the_limit_are_granted", crowd)];

/// The limit of a loop that sets none.
const MOST: usize = 4;

fn crowd() {
    for _ in 0..size().rounds {
        let world = World::new();
        let tasks: Vec<String> = (0..8).map(|n| format!("task {n}")).collect();
        world.type_command("ralph-parallel", &format!("\"{}\"", tasks.join(", ")));
        // Each task is asked for by many.
        let callers = (0..size().processes).map(|at| starts(&world, at)).collect();
        let answers = calls::at_once(callers);
        assert!(answers.iter().all(|answer| answer.code == Some(0) && answer.err.is_empty()));
        let granted = answers.iter().filter(|answer| answer.out.is_empty()).count();
        assert_eq!(granted, MOST, "{:?}", outs(&answers));
        let state = world.state();
        let workers = state["workers"].as_array().unwrap();
        let mut at_work: Vec<&str> =
            workers.iter().map(|worker| worker["task"].as_str().unwrap()).collect();
        at_work.sort_unstable();
        at_work.dedup();
        assert_eq!((workers.len(), at_work.len()), (MOST, MOST), "{workers:?}");
        let claimed = state["task_graph"].as_array().unwrap().iter();
        assert_eq!(claimed.filter(|task| task["status"] == "in_progress").count(), MOST);
    }
}

fn starts(world: &World, at: usize) -> Caller {
    let task = format!("T-{}", at % 8 + 1);
    let input = json!({"subagent_type": "ralph-worker", "description": task,
        "prompt": format!("Ralph task {task}\n")});
    let members =
        json!({"tool_name": "Agent", "tool_input": input, "tool_use_id": format!("call-{at}")});
    let payload = world.payload("PreToolUse", members);
    Caller::hook(&format!("start {at}"), world, "ralph-pre-tool-use", "settings", &payload)
}

fn outs(answers: &[Answer]) -> Vec<&str> {
    answers.iter().map(|answer| answer.out.as_str()).collect()
}
