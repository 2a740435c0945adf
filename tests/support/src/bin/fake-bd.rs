//! A small `bd`: a file of beads, one JSON object on each line, behind a lock.
//!
//! It prints what bd 1.2.2 prints, by its source (`cmd/bd/{version,list,ready,show,update,close,dep}.go`,
//! `internal/types/types.go`) and `docs/JSON_SCHEMA.md`: the same members, errors and exit codes. What
//! else differs between versions is said by files beside the store: `version`, `form`, `quirk`.

#![allow(clippy::unwrap_used)]

use serde_json::{Map, Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What is printed, to which stream, and the exit code.
struct BdAnswer {
    stdout: Option<Value>,
    stderr: String,
    code: u8,
}

fn done(stdout: Value) -> BdAnswer {
    BdAnswer { stdout: Some(stdout), stderr: String::new(), code: 0 }
}

fn failed(stderr: String) -> BdAnswer {
    BdAnswer { stdout: None, stderr, code: 1 }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let store = Store::find();
    let said = match (&store, words.first().map(String::as_str)) {
        (_, Some("version")) => done(json!({"build": "dev", "version": version(&store)})),
        (None, _) => failed(r#"{"error": "no active beads workspace found"}"#.to_owned()),
        (Some(store), _) => store.answer(&words),
    };
    eprint!("{}", said.stderr);
    if let Some(document) = said.stdout {
        let form = store.as_ref().map(|store| store.word("form")).unwrap_or_default();
        println!("{}", wrapped(document, &form));
    }
    ExitCode::from(said.code)
}

fn version(store: &Option<Store>) -> String {
    let said = store.as_ref().map(|store| store.word("version")).unwrap_or_default();
    if said.is_empty() { "1.2.2".to_owned() } else { said }
}

/// As each version puts it around the same document.
fn wrapped(document: Value, form: &str) -> String {
    let asked = std::env::var("BD_JSON_ENVELOPE").is_ok_and(|value| value == "1");
    let around = match (form, &document) {
        ("broken", _) => return "Found 2 issues".to_owned(),
        ("bare", _) => document,
        ("items", Value::Array(_)) => json!({"schema_version": 1, "items": document}),
        _ if asked => json!({"schema_version": 1, "data": document}),
        _ => document,
    };
    serde_json::to_string_pretty(&around).unwrap()
}

struct Store {
    folder: PathBuf,
}

impl Store {
    /// The `.beads` of the folder or of one around it.
    fn find() -> Option<Store> {
        let current = std::env::current_dir().unwrap();
        let folder = current.ancestors().map(|folder| folder.join(".beads"));
        folder.into_iter().find(|folder| folder.is_dir()).map(|folder| Store { folder })
    }

    fn word(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default().trim().to_owned()
    }

    fn beads(&self) -> PathBuf {
        self.folder.join("issues.jsonl")
    }

    fn answer(&self, words: &[String]) -> BdAnswer {
        let call = Call::of(words);
        if let Some(unknown) = call.unknown() {
            return failed(format!("Error: unknown flag: --{unknown}\n"));
        }
        self.look_together(&call);
        let lock = File::create(self.folder.join("lock")).unwrap();
        // Held to the end of the process: two calls never see the same state and both write.
        lock.lock().unwrap();
        self.note(words);
        let mut beads = read(&self.beads());
        let said = self.carry_out(&call, &mut beads);
        write(&self.beads(), &beads);
        drop(lock);
        said
    }

    /// Where all are to look before one of them claims: the first so many `show` wait for each other.
    fn look_together(&self, call: &Call) {
        let quirk = self.word("quirk");
        let Some(count) = quirk.strip_prefix("first look together: ") else { return };
        if call.names.first().is_none_or(|name| name != "show") {
            return;
        }
        let path = self.folder.join("looks");
        let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.write_all(b".").unwrap();
        let (count, began) = (count.parse().unwrap(), Instant::now());
        while fs::metadata(&path).unwrap().len() < count {
            assert!(began.elapsed() < Duration::from_secs(30), "the others did not come");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What was asked, and what of the client's secrets could be seen.
    fn note(&self, words: &[String]) {
        let secrets =
            std::env::vars().map(|(name, _)| name).filter(|name| name.contains("ANTHROPIC"));
        let line = json!({"words": words, "secrets": secrets.collect::<Vec<_>>()});
        let mut file = OpenOptions::new().create(true).append(true).open(self.folder.join("calls"));
        writeln!(file.as_mut().unwrap(), "{line}").unwrap();
    }

    fn carry_out(&self, call: &Call, beads: &mut [Value]) -> BdAnswer {
        let names: Vec<&str> = call.names.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["list"] => done(listed(call, beads, &self.word("quirk"))),
            ["ready"] => done(ready(call, beads)),
            ["show", ids @ ..] => shown(ids, beads),
            ["update", id] => update(call, id, beads, &self.word("quirk")),
            ["close", id] => close(call, id, beads),
            ["dep", step, id, on] => depend(step, id, on, beads),
            _ => failed(format!("Error: unknown command {names:?}\n")),
        }
    }
}

/// The words of a command line: names in their order, and options with their values.
struct Call {
    names: Vec<String>,
    options: Map<String, Value>,
}

const OPTIONS: [&str; 13] = [
    "json",
    "all",
    "include-gates",
    "limit",
    "id",
    "claim",
    "actor",
    "status",
    "assignee",
    "append-notes",
    "defer",
    "reason",
    "verbose",
];

impl Call {
    fn of(words: &[String]) -> Call {
        let mut call = Call { names: Vec::new(), options: Map::new() };
        for word in words {
            match word
                .strip_prefix("--")
                .map(|option| option.split_once('=').unwrap_or((option, "")))
            {
                Some((name, value)) => drop(call.options.insert(name.to_owned(), json!(value))),
                None => call.names.push(word.clone()),
            }
        }
        call
    }

    fn unknown(&self) -> Option<&String> {
        self.options.keys().find(|name| !OPTIONS.contains(&name.as_str()))
    }

    fn has(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.options.get(name)?.as_str()
    }

    /// Lists end early where nobody says otherwise; 0 is no limit.
    fn limit(&self, usual: usize) -> usize {
        let limit = self.value("limit").map_or(usual, |number| number.parse().unwrap());
        if limit == 0 { usize::MAX } else { limit }
    }
}

fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write(path: &Path, beads: &[Value]) {
    let text: String = beads.iter().map(|bead| format!("{bead}\n")).collect();
    // Nothing is written where nothing changed, as a database would not.
    if fs::read_to_string(path).unwrap_or_default() != text {
        fs::write(path, text).unwrap();
    }
}

fn text<'a>(bead: &'a Value, member: &str) -> &'a str {
    bead[member].as_str().unwrap_or_default()
}

fn find<'a>(beads: &'a [Value], id: &str) -> Option<&'a Value> {
    beads.iter().find(|bead| text(bead, "id") == id)
}

fn dependencies(bead: &Value) -> Vec<Value> {
    bead["dependencies"].as_array().cloned().unwrap_or_default()
}

fn is_blocked(bead: &Value, beads: &[Value]) -> bool {
    dependencies(bead).iter().any(|dependency| {
        text(dependency, "type") == "blocks"
            && find(beads, text(dependency, "depends_on_id"))
                .is_some_and(|other| text(other, "status") != "closed")
    })
}

/// With the counts that lists have.
fn counted(bead: &Value, quirk: &str) -> Value {
    let mut row = bead.clone();
    row["dependency_count"] = json!(dependencies(bead).len());
    if quirk == "no dependencies in lists" {
        row.as_object_mut().unwrap().remove("dependencies");
    }
    row
}

fn listed(call: &Call, beads: &[Value], quirk: &str) -> Value {
    let rows = beads.iter().filter(|bead| {
        (call.has("all") || text(bead, "status") != "closed")
            && (call.has("include-gates") || text(bead, "issue_type") != "gate")
            && call.value("id").is_none_or(|id| text(bead, "id") == id)
    });
    rows.take(call.limit(50)).map(|bead| counted(bead, quirk)).collect()
}

fn ready(call: &Call, beads: &[Value]) -> Value {
    let mut rows: Vec<&Value> = beads
        .iter()
        .filter(|bead| text(bead, "status") == "open" && text(bead, "issue_type") != "gate")
        .filter(|bead| !is_blocked(bead, beads))
        .collect();
    rows.sort_by_key(|bead| bead["priority"].as_u64());
    rows.into_iter().take(call.limit(10)).map(|bead| counted(bead, "")).collect()
}

/// The other bead itself stands where lists have a record.
fn shown(ids: &[&str], beads: &[Value]) -> BdAnswer {
    let found: Vec<Value> = ids
        .iter()
        .filter_map(|id| find(beads, id))
        .map(|bead| {
            let mut whole = bead.clone();
            let others = dependencies(bead).into_iter().filter_map(|dependency| {
                let mut other = find(beads, text(&dependency, "depends_on_id"))?.clone();
                other["dependency_type"] = dependency["type"].clone();
                other.as_object_mut()?.remove("dependencies");
                Some(other)
            });
            whole["dependencies"] = others.collect();
            whole
        })
        .collect();
    let missing = ids.iter().filter(|id| find(beads, id).is_none());
    let stderr: String = missing.map(|id| format!("Issue {id} not found\n")).collect();
    match found.is_empty() {
        true => BdAnswer {
            stdout: Some(json!({"error": "no issues found matching the provided IDs"})),
            stderr,
            code: 1,
        },
        false => BdAnswer { stdout: Some(Value::Array(found)), stderr, code: 0 },
    }
}

fn update(call: &Call, id: &str, beads: &mut [Value], quirk: &str) -> BdAnswer {
    let Some(bead) = beads.iter_mut().find(|bead| text(bead, "id") == id) else {
        return failed(format!("Issue {id} not found\n"));
    };
    if call.has("claim") {
        let actor = call.value("actor").unwrap();
        let (by, status) = (text(bead, "assignee"), text(bead, "status"));
        let mine = by.is_empty() || by == actor;
        if !mine {
            return failed(format!("Error claiming {id}: issue already claimed by {by}\n"));
        }
        if status != "open" && !(status == "in_progress" && by == actor) {
            return failed(format!("Error claiming {id}: issue not claimable: status {status}\n"));
        }
        bead["assignee"] = json!(actor);
        bead["status"] = json!("in_progress");
        if quirk == format!("a rival has {id}") {
            // What is printed is what was wanted, and what is kept is what another wanted.
            let printed = json!([bead]);
            bead["assignee"] = json!("rival");
            return done(printed);
        }
    }
    for member in ["status", "assignee"] {
        if let Some(value) = call.value(member) {
            bead[member] = json!(value);
        }
    }
    if let Some(note) = call.value("append-notes") {
        let notes = text(bead, "notes");
        bead["notes"] =
            json!(if notes.is_empty() { note.to_owned() } else { format!("{notes}\n{note}") });
    }
    if call.has("defer") {
        bead.as_object_mut().unwrap().remove("defer_until");
    }
    let mut row = bead.clone();
    row.as_object_mut().unwrap().remove("dependencies");
    done(json!([row]))
}

fn close(call: &Call, id: &str, beads: &mut [Value]) -> BdAnswer {
    let blocked = find(beads, id).is_some_and(|bead| is_blocked(bead, beads));
    if blocked {
        return failed(format!("cannot close blocked issue: {id}\n"));
    }
    let Some(bead) = beads.iter_mut().find(|bead| text(bead, "id") == id) else {
        return failed(format!("Error: no issue found matching {id}\n"));
    };
    if text(bead, "status") == "pinned" {
        return failed(format!("cannot close pinned issue {id} (use --force to override)\n"));
    }
    bead["status"] = json!("closed");
    bead["close_reason"] = json!(call.value("reason").unwrap_or("Closed"));
    bead["closed_at"] = json!("2026-05-01T00:00:00Z");
    done(json!([bead]))
}

fn depend(step: &str, id: &str, on: &str, beads: &mut [Value]) -> BdAnswer {
    let waits = find(beads, on).is_some_and(|other| {
        dependencies(other).iter().any(|dependency| text(dependency, "depends_on_id") == id)
    });
    if step == "add" && (waits || id == on) {
        return BdAnswer {
            stdout: Some(json!({"error": "adding dependency would create a cycle"})),
            stderr: String::new(),
            code: 1,
        };
    }
    let bead = beads.iter_mut().find(|bead| text(bead, "id") == id).unwrap();
    let mut dependencies = dependencies(bead);
    match step {
        "add" => dependencies.push(json!({"issue_id": id, "depends_on_id": on, "type": "blocks"})),
        _ => dependencies.retain(|dependency| text(dependency, "depends_on_id") != on),
    }
    bead["dependencies"] = json!(dependencies);
    done(json!({"status": step, "issue_id": id, "depends_on_id": on, "type": "blocks"}))
}
