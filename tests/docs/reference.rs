//! Writes the reference from the code, and keeps what is stored equal to it: `RALPH_UPDATE=1` writes
//! it anew.
//!
//! Commands come from the table that reads the command line; settings and the state file from the
//! types that are read and written, with their own comments as descriptions.

mod commands;
mod schema;
mod shared;
mod source;
mod validate;

use super::{read, root};
use ralph_core::project::settings::Settings;
use serde_json::{Value, json};
use source::Source;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use validate::problems;

/// Compares, or writes where that was asked for.
#[track_caller]
fn kept(name: &str, text: &str) {
    let path = root().join("docs/reference").join(name);
    if std::env::var_os("RALPH_UPDATE").is_some() {
        // By rename: other tests read it at the same time.
        let new = path.with_extension("new");
        fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).expect("it can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "docs/reference/{name} is not what the code says: RALPH_UPDATE=1 writes it"
    );
}

fn pretty(schema: &Value) -> String {
    serde_json::to_string_pretty(schema).expect("a schema is JSON") + "\n"
}

fn stored(name: &str) -> Value {
    let text = read(&root().join("docs/reference").join(name));
    serde_json::from_str(&text).expect("a schema is JSON")
}

#[test]
fn the_reference_of_commands_is_what_the_command_line_takes() {
    kept("commands.md", &commands::page());
}

#[test]
fn the_schema_of_the_settings_is_what_they_are_read_into() {
    kept("ralph.toml.schema.json", &pretty(&schema::settings(&Source::of(&root()))));
}

#[test]
fn the_schema_of_a_notification_is_what_is_written() {
    kept("notification.schema.json", &pretty(&schema::notice(&Source::of(&root()))));
}

#[test]
fn the_schema_of_the_state_is_what_is_written() {
    kept("state.schema.json", &pretty(&schema::state(&Source::of(&root()))));
}

/// What the code says of a settings file: none if it takes it.
fn refused(text: &str) -> Option<String> {
    match toml::from_str::<Settings>(text) {
        Ok(settings) => settings.refused(),
        Err(error) => Some(error.to_string()),
    }
}

#[track_caller]
fn same_verdict(schema: &Value, text: &str) {
    let document: Value = toml::from_str(text).expect("the case is TOML");
    let (code, found) = (refused(text), problems(schema, &document));
    assert_eq!(code.is_none(), found.is_empty(), "{text}\ncode: {code:?}\nschema: {found:?}");
}

#[test]
fn code_and_schema_take_the_same_settings() {
    let schema = stored("ralph.toml.schema.json");
    let numbers = [
        ("", "max_iterations"),
        ("", "max_minutes"),
        ("", "stall_limit"),
        ("", "max_workers"),
        ("[backpressure]\n", "budget_seconds"),
        ("[backpressure]\n", "wait_seconds"),
        ("[context]\n", "size"),
        ("[refine]\n", "max_iterations"),
        ("[refine]\n", "plateau_threshold"),
        ("[refine]\n", "min_iterations"),
        ("[refine]\n", "lines"),
        ("[refine]\n", "beads"),
        ("[shared]\n", "lease_seconds"),
        ("[shared]\n", "poll_seconds"),
        ("[shared]\n", "pushes_per_minute"),
        ("", "background_minutes"),
        ("", "verify_seconds"),
        ("", "command_seconds"),
    ];
    for (section, name) in numbers {
        for value in
            ["-1", "0", "1", "2", "16", "17", "499", "500", "600", "601", "9999", "10000", "10001"]
                .into_iter()
                .chain(["100000", "100001", "4294967295", "4294967296", "1.5", "\"3\"", "[]"])
        {
            same_verdict(&schema, &format!("{section}{name} = {value}\n"));
        }
    }
    for text in [
        "",
        "completion = \"verified\"\n",
        "completion = \"token\"\n",
        "completion = \"tokn\"\n",
        "receipt_ignore = [\"*.log\"]\n",
        "receipt_ignore = \"*.log\"\n",
        "max_iteration = 3\n",
        "[client]\npermission_mode = \"acceptEdits\"\nunattended = true\n",
        "[client]\npermission_mode = \"manual\"\n",
        "[client]\npermission_mode = \"yes\"\n",
        "[client]\nunattended = \"yes\"\n",
        "[client]\nsandbox = false\nbackground_seconds = 0\n",
        "[client]\nbackground_seconds = 3601\n",
        "[client]\nmodel = \"x\"\n",
        "[sandbox]\nwrite = [\"~/.cache\"]\nports = [5432]\nhosts = [\"example.com\"]\n",
        "[sandbox]\nports = [65536]\n",
        "[sandbox]\nwrites = []\n",
        "[backpressure]\noff = [\"tsc\"]\nalways = false\n",
        "[backpressure]\nof = [\"tsc\"]\n",
        "[[backpressure.check]]\nname = \"x\"\ncommand = \"y {file}\"\n",
        "[[backpressure.check]]\nname = \"x\"\n",
        "[[backpressure.check]]\ncommand = \"y\"\n",
        "[[backpressure.check]]\nname = \"\"\ncommand = \"y\"\n",
        "[[backpressure.check]]\nname = \"x\"\ncommand = \"y\"\nparse = \"sarif\"\nfix = true\n",
        "[[backpressure.check]]\nname = \"x\"\ncommand = \"y\"\nparse = \"jest\"\n",
        "[[backpressure.check]]\nname = \"x\"\ncommand = \"y\"\nparse = \"Sarif\"\n",
        "[[backpressure.check]]\nname = \"x\"\ncommand = \"y\"\nfile = \"*\"\n",
        "[context]\nenabled = false\noff = [\"git\"]\n",
        "[context]\noff = [\"gti\"]\n",
        "[context]\nalso = [\"gti\"]\n",
        "[refine]\nline = 3\n",
        "[notify]\ndesktop = true\ncommand = [\"curl\", \"-d\", \"@-\"]\n",
        "[notify]\ndesktop = 1\n",
        "[notify]\ncommand = \"curl\"\n",
        "[notify]\nurl = \"x\"\n",
        "[run]\nbranch = true\ncommit = true\n",
        "[run]\nbranch = \"work\"\n",
        "[run]\nbranch = \"\"\n",
        "[run]\ncommit = \"yes\"\n",
        "[run]\nreview = 1\n",
        "[review]\nenabled = true\nrounds = 2\n",
        "[review]\nenabled = \"yes\"\n",
        "[review]\nlenses = []\n",
        "[shared]\nbelow_heads = true\n",
        "[shared]\nbelow_heads = 1\n",
        "[shared]\nbranch = \"x\"\n",
    ] {
        same_verdict(&schema, text);
    }
}

#[test]
fn the_settings_in_our_documents_fit_the_schema() {
    let schema = stored("ralph.toml.schema.json");
    let mut blocks = 0;
    for document in super::links::documents(&root().join("docs")) {
        let text = read(&document);
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```")) {
            let value: Value = toml::from_str(block.0).expect("it is TOML");
            assert_eq!(problems(&schema, &value), [""; 0], "{}", document.display());
            blocks += 1;
        }
    }
    assert!(blocks >= 5, "only {blocks} blocks of settings were found");
}

/// A person's machine with nothing on it but `ralph`, and a repository.
struct ReferenceFolder(tempfile::TempDir);

impl ReferenceFolder {
    fn new() -> ReferenceFolder {
        let place = ReferenceFolder(tempfile::tempdir().unwrap());
        for folder in ["home", "project"] {
            fs::create_dir(place.0.path().join(folder)).unwrap();
        }
        place.run("git", &["init", "-q"]);
        place
    }

    #[track_caller]
    fn ralph(&self, args: &[&str]) {
        self.run(env!("CARGO_BIN_EXE_ralph"), args);
    }

    #[track_caller]
    fn run(&self, program: &str, args: &[&str]) {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.0.path().join("home"));
        let done = command.args(args).current_dir(self.0.path().join("project")).output().unwrap();
        assert!(done.status.success(), "{program} {args:?}: {done:?}");
    }

    /// The states of all loops, those that have ended as well.
    fn states(&self) -> Vec<Value> {
        let mut states = Vec::new();
        collect(&self.0.path().join("home/.local/state/ralph"), &mut states);
        states
    }
}

fn collect(folder: &Path, states: &mut Vec<Value>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, states);
        } else if path.file_name().is_some_and(|name| name == "state.json") {
            states.push(serde_json::from_str(&read(&path)).expect("a state is JSON"));
        }
    }
}

#[test]
fn states_that_ralph_writes_fit_the_schema_and_it_knows_each_member() {
    let place = ReferenceFolder::new();
    place.ralph(&["start", "--ac", "it is there=test -d .git", "--session", "s-1", "Look"]);
    place.ralph(&["task", "add", "Write it", "--file", "a.txt", "--condition", "it is there"]);
    place.ralph(&["task", "claim", "--owner", "ann", "--lease", "30"]);
    place.ralph(&["verify"]);
    place.ralph(&["pause"]);
    let mut states = place.states();
    place.ralph(&["cancel"]);
    states.extend(place.states());
    assert_eq!(states.len(), 2, "one that is paused, and the same when it has ended");
    let schema = stored("state.schema.json");
    for state in states {
        assert_eq!(problems(&schema, &state), [""; 0]);
        // A member of ours that the schema does not name would pass as one of somebody else's.
        assert_eq!(problems(&closed(schema.clone()), &state), [""; 0]);
    }
}

/// The same schema, that takes nothing which it does not name.
fn closed(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(members) => {
            let names_its_own = members.contains_key("properties");
            for value in members.values_mut() {
                *value = closed(value.take());
            }
            if names_its_own && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = closed(item.take())),
        _ => {}
    }
    schema
}

#[test]
fn what_is_no_state_does_not_fit() {
    let schema = stored("state.schema.json");
    let state = serde_json::to_value(ralph_core::state::LoopState::default()).unwrap();
    assert_eq!(problems(&schema, &state), [""; 0]);
    for (pointer, value) in [
        ("/iteration", json!("three")),
        ("/iteration", json!(-1)),
        ("/created_at", json!(7)),
        ("/acceptance_criteria", json!({})),
        ("/limits/max_minutes", json!(null)),
        ("/task_graph", json!([{"id": 1}])),
    ] {
        let mut wrong = state.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert_ne!(problems(&schema, &wrong), [""; 0], "{pointer}");
    }
    let mut short = state;
    short.as_object_mut().unwrap().remove("phase");
    assert_eq!(problems(&schema, &short), ["$: `phase` is missing"]);
}
