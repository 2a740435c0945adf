//! The process that runs a command on other files: a test that does nothing unless a `World` started
//! it.

use ralph_io::process::command::{self, CommandOrder};
use ralph_io::process::elsewhere::{self, OtherFile, OtherFiles, OtherForm, Way};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Set by a `World`: the order, as JSON.
pub(super) const ORDER: &str = "RALPH_TEST_ORDER";

/// What stands before the answer, among the words of the test harness.
pub(super) const ANSWER: &str = "ANSWER ";

#[test]
fn in_a_process_of_its_own() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let order: Value = serde_json::from_str(&order).unwrap();
    command::adopt_orphans().unwrap();
    println!("\n{ANSWER}{}", run(&order));
}

fn run(order: &Value) -> Value {
    let text = |name: &str| order[name].as_str().unwrap();
    let (ralph, root, store) = (text("ralph"), Path::new(text("root")), Path::new(text("store")));
    let way = elsewhere::way(Path::new(ralph), root, store);
    let bounds: Option<_> = serde_json::from_value(order["bounds"].clone()).unwrap();
    let command = CommandOrder {
        ralph: Path::new(ralph),
        command: text("command"),
        folder: Path::new(text("folder")),
        output: Path::new(text("output")),
        deadline: Duration::from_millis(order["deadline_ms"].as_u64().unwrap()),
        bounds: bounds.as_ref(),
    };
    let files = files(order);
    let began = Instant::now();
    let ran = elsewhere::run(&command, &files, &way, store, root);
    let took = began.elapsed();
    let opened = |paths: Vec<PathBuf>| {
        let short = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).to_owned();
        paths.iter().map(short).collect::<Vec<_>>()
    };
    let remedy = way.remedy();
    let way = match way {
        Way::Overlay => "overlay".to_owned(),
        Way::Copy { why } => format!("copy: {why}"),
        Way::Nowhere { why } => format!("nowhere: {why}"),
    };
    match ran {
        Ok(ran) => json!({
            "way": way,
            "remedy": remedy,
            "ended": format!("{:?}", ran.run.ended),
            "tail": ran.run.tail,
            "left": ran.run.left,
            "refused": ran.run.refused,
            "opened": ran.opened.map(opened),
            "took_us": took.as_micros() as u64,
        }),
        Err(error) => json!({"way": way, "remedy": remedy, "error": format!("{error:#}")}),
    }
}

fn files(order: &Value) -> OtherFiles {
    let path = |path: &Value| PathBuf::from(path.as_str().unwrap());
    let replaced = order["replaced"].as_array().unwrap().iter().map(|file| OtherFile {
        path: path(&file["path"]),
        form: match (file["content"].as_str(), file["link"].as_str()) {
            (Some(content), _) => OtherForm::File {
                content: content.as_bytes().to_vec(),
                is_executable: file["is_executable"].as_bool().unwrap(),
            },
            (None, Some(target)) => OtherForm::Link(target.into()),
            (None, None) => OtherForm::Absent,
        },
    });
    let watched = order["watched"].as_array().unwrap().iter().map(path);
    OtherFiles { replaced: replaced.collect(), watched: watched.collect() }
}
