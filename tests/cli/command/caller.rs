//! The process that runs commands: a test that does nothing unless a `World` started it.

use ralph_io::process::command::{self, CommandOrder, CommandRun};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Set by a `World`: the orders, as JSON.
pub(crate) const ORDERS: &str = "RALPH_TEST_ORDERS";

/// What stands before the answer, among the words of the test harness.
pub(crate) const ANSWER: &str = "ANSWER ";

#[test]
fn in_a_process_of_its_own() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Vec<Value> = serde_json::from_str(&orders).unwrap();
    command::adopt_orphans().unwrap();
    let runs = std::thread::scope(|scope| {
        let started: Vec<_> = orders.iter().map(|order| scope.spawn(|| run(order))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    println!("\n{ANSWER}{}", json!(runs));
}

fn run(order: &Value) -> Value {
    let text = |name: &str| order[name].as_str().unwrap();
    let order = CommandOrder {
        bounds: None,
        ralph: Path::new(text("ralph")),
        command: text("command"),
        folder: Path::new(text("folder")),
        output: Path::new(text("output")),
        deadline: Duration::from_millis(order["deadline_ms"].as_u64().unwrap()),
    };
    match command::run(&order) {
        Ok(run) => described(&run),
        Err(error) => json!({"error": format!("{error:#}")}),
    }
}

fn described(run: &CommandRun) -> Value {
    json!({
        "ended": format!("{:?}", run.ended),
        "duration_ms": run.duration_ms,
        "sha256": run.output_sha256,
        "bytes": run.output_bytes,
        "tail": run.tail,
        "left": run.left,
        "stored": run.stored,
    })
}
