//! People who speak, hooks that deliver and workers that listen, all at once: each hears each signal
//! once.

use crate::calls::{self, Answer, Caller};
use crate::one_loop;
use crate::size::size;
use crate::world::World;
use serde_json::{Value, json};

pub(crate) const TESTS: &[crate::Test] =
    &[("a_crowd_hears_each_signal_once_and_misses_none", crowd)];

/// Signals that wait when a round begins.
const WAITING: usize = 8;

/// Who listens: the conversation, and its workers.
const LISTENERS: [&str; 3] = ["", "worker-1", "worker-2"];

fn crowd() {
    let world = one_loop::looping();
    let mut heard: Vec<(String, String)> = Vec::new();
    let mut sent: Vec<String> = Vec::new();
    for round in 0..size().rounds {
        // Some wait already when all begin, so that every hook finds something to deliver.
        for at in 0..WAITING {
            let text = format!("word {round}-waiting-{at} ends");
            let said = calls::alone(Caller::terminal(&text, &world, &["signal", "info", &text]));
            assert_eq!(said.code, Some(0), "{said:?}");
            sent.push(text);
        }
        let mut callers = Vec::new();
        for at in 0..size().processes {
            let tag = format!("{round}-{at}");
            callers.push(match at % 4 {
                0 => {
                    let text = format!("word {tag} ends");
                    let kind = if at % 8 == 0 { "steer" } else { "info" };
                    sent.push(text.clone());
                    Caller::terminal(&format!("signal {tag}"), &world, &["signal", kind, &text])
                }
                1 => stop(&world, &tag),
                _ => after_a_tool(&world, LISTENERS[at % 3], &tag),
            });
        }
        let answers = calls::at_once(callers);
        for answer in &answers {
            one_loop::check_wait(answer);
            assert!(!answer.is("signal") || answer.code == Some(0), "{answer:?}");
        }
        note(&mut heard, &answers);
    }
    for listener in LISTENERS {
        // One answer carries no more than it has room for.
        let calls = (0..sent.len()).map(|at| after_a_tool(&world, listener, &format!("last-{at}")));
        calls.for_each(|call| note(&mut heard, &[calls::alone(call)]));
    }
    let n_of = |listener: &str, text: &str| {
        heard.iter().filter(|(who, said)| who == listener && said.contains(text)).count()
    };
    for text in &sent {
        assert_eq!(n_of("", text), 1, "the conversation: {text}");
        for worker in &LISTENERS[1..] {
            assert!(n_of(worker, text) <= 1, "{worker}: {text}");
        }
    }
    // Who has begun to listen misses nothing from then on.
    for text in sent.iter().filter(|text| !text.starts_with("word 0-")) {
        assert!(LISTENERS[1..].iter().all(|worker| n_of(worker, text) == 1), "{text}");
    }
}

fn after_a_tool(world: &World, listener: &str, tag: &str) -> Caller {
    let members = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": tag,
        "agent_id": listener});
    let payload = world.payload("PostToolUse", members);
    Caller::hook(
        &format!("tool-done {tag}{listener}"),
        world,
        "ralph-backpressure",
        "settings",
        &payload,
    )
}

fn stop(world: &World, tag: &str) -> Caller {
    let payload = world.payload("Stop", json!({"last_assistant_message": tag}));
    Caller::hook(&format!("stop {tag}"), world, "ralph-stop-hook", "settings", &payload)
}

fn note(heard: &mut Vec<(String, String)>, answers: &[Answer]) {
    for answer in answers.iter().filter(|answer| answer.name != "ralph") {
        let asked: Value = serde_json::from_slice(&answer.payload).unwrap();
        let who = asked["agent_id"].as_str().unwrap_or_default().to_owned();
        // A line each.
        heard.extend(answer.out.split("\\n").map(|line| (who.clone(), line.to_owned())));
    }
}
