//! Makes the schemas from the types.

use super::source::{Member, Source, Type};
use ralph_core::project::project_facts::{KINDS, page};
use ralph_core::protocol::permission::Mode;
use ralph_core::state::LimitFlag;
use ralph_core::tasks::shared::record::{LARGEST_BATCH, LONGEST_LEASE, SCHEMA};
use ralph_core::tasks::shared::text::{LONGEST_NAME, LONGEST_TEXT};
use serde_json::{Map, Value, json};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Of the state file, as this version writes it.
pub(super) fn state(source: &Source) -> Value {
    let mut made = Made { source, defs: Map::new(), all_may_be_absent: false };
    let mut top = made.object("state", "LoopState");
    // The mode's own state is a member of the document, named after the mode.
    for (name, kind, about) in [
        ("mode", "Mode", "Which rules drive the loop."),
        (
            "ralplan",
            "RalplanState",
            "For consensus planning: the plan, the critic's verdict and the user's decision.",
        ),
        ("session", "OrchestrationState", "For an orchestration: its id and its calls of agents."),
        (
            "refine",
            "RefineState",
            "For a refinement in a session: its name and the rounds that the session made.",
        ),
    ] {
        made.define("state", kind);
        top["properties"][name] = json!({"$ref": format!("#/$defs/{kind}"), "description": about});
    }
    let title = "The state of a loop: loops/<loop_id>/state.json below $RALPH_HOME";
    document(title, top, made.defs)
}

/// Of `.claude/ralph.toml` and `config.toml`, as this version reads them.
pub(super) fn settings(source: &Source) -> Value {
    let mut made = Made { source, defs: Map::new(), all_may_be_absent: true };
    let mut top = made.object("settings", "Settings");
    let sections = [
        ("backpressure", "project/check/choice", "CheckSettings"),
        ("context", "project/project_facts", "ContextSettings"),
        ("client", "project/settings/sections", "ClientSettings"),
        ("refine", "project/settings/sections", "Refine"),
        ("notify", "project/settings/sections", "NotifySettings"),
        ("sandbox", "project/settings/sections", "SandboxSettings"),
        ("run", "project/settings/sections", "RunSettings"),
        ("review", "project/settings/sections", "ReviewSettings"),
        ("shared", "project/settings/sections", "SharedSettings"),
    ];
    for (name, module, kind) in sections {
        let about = top["properties"][name]["description"].take();
        let mut section = made.object(module, kind);
        // What is said of the member is about the code; of the section, about what is in it.
        if section["description"].is_null() {
            section["description"] = about;
        }
        top["properties"][name] = section;
    }
    bounds(&mut top, &mut made.defs);
    close(&mut top);
    made.defs.values_mut().for_each(close);
    document("Settings of Ralph: .claude/ralph.toml, ~/.config/ralph/config.toml", top, made.defs)
}

/// Of the document that a notification command reads.
pub(super) fn notice(source: &Source) -> Value {
    let mut made = Made { source, defs: Map::new(), all_may_be_absent: false };
    let mut top = made.object("views/notice", "Notice");
    top["properties"]["event"]["enum"] = json!(["ended", "paused", "limit", "reviewed"]);
    document("The document on standard input of `notify.command`", top, made.defs)
}

/// Of the record of a shared loop that a commit carries. What an enumeration of the code holds is written here; another test
/// compares the two.
pub(super) fn shared_record(source: &Source) -> Value {
    const MODULE: &str = "tasks/shared/record";
    let mut made = Made { source, defs: Map::new(), all_may_be_absent: false };
    let text =
        |about: &str| json!({"type": "string", "maxLength": LONGEST_TEXT, "description": about});
    let with = |name: &str, member: Value| json!({"type": "object", "properties": {name: member}, "required": [name]});
    let plan = made.object(MODULE, "Plan");
    let end = made.object(MODULE, "End");
    let mut returned = made.object(MODULE, "Finish");
    join(&mut returned, &with("reason", text("Why the task is open again.")));
    made.define(MODULE, "Finish");
    made.define(MODULE, "CriterionReceipt");
    let list = |of: &str, about: &str| json!({"type": "array", "items": {"$ref": format!("#/$defs/{of}")}, "description": about});
    let about =
        "The work of these tasks is on the branch; empty if only a commit of a person was merged.";
    let mut merged = with("finishes", list("Finish", about));
    merged["properties"]["finishes"]["maxItems"] = json!(LARGEST_BATCH);
    join(
        &mut merged,
        &with("tree", json!({"type": "string", "description": "The tree id of the merged work."})),
    );
    join(&mut merged, &with("receipts", list("CriterionReceipt", "Each criterion on this tree.")));
    let about = "How the loop ends if nothing follows; absent if other work is open.";
    merged["properties"]["end"] = json!({"$ref": "#/$defs/End", "description": about});
    made.define(MODULE, "End");
    for (verdict, word) in [(&mut merged, "merged"), (&mut returned, "returned")] {
        join(verdict, &with("verdict", json!({"enum": [word]})));
    }
    let about = "The length of the lease; 0 gives it back.";
    let seconds =
        json!({"type": "integer", "minimum": 0, "maximum": LONGEST_LEASE, "description": about});
    let worker = json!({"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": "The worker of the machine."});
    let mut signal = with("text", text("A message of the user to every machine."));
    let about = "True if the message only informs; otherwise it changes the work from then on.";
    signal["properties"]["info"] = json!({"type": "boolean", "description": about});
    let bare = json!({"type": "object", "properties": {}, "required": []});
    let kinds = [
        ("plan", plan),
        ("integrator", with("lease_seconds", seconds)),
        ("verdict", merged),
        ("verdict", returned),
        ("pause", with("reason", text("Why the loop is paused."))),
        ("resume", bare.clone()),
        ("cancel", with("reason", text("Why the loop is cancelled."))),
        ("signal", signal),
        ("end", end),
        ("claim", with("worker", worker)),
        ("finish", bare.clone()),
        ("released", with("reason", text("Why the holder gives the task up."))),
        ("renewal", bare),
    ];
    let name = |about: &str| json!({"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": about});
    let head = json!({
        "type": "object",
        "properties": {
            "schema": {"enum": [SCHEMA], "description": "The version of this schema."},
            "nonce": name("Makes the record unique."),
            "machine": name("The machine that wrote the record."),
        },
        "required": ["schema", "nonce", "machine"],
    });
    let kinds = kinds.map(|(word, members)| {
        let mut record = head.clone();
        join(&mut record, &with("kind", json!({"enum": [word]})));
        join(&mut record, &members);
        record
    });
    document("The JSON in a record of a shared loop", json!({"anyOf": kinds}), made.defs)
}

/// Adds the members of another object.
fn join(object: &mut Value, other: &Value) {
    let more = other["properties"].as_object().expect("they are members").clone();
    object["properties"].as_object_mut().expect("they are members").extend(more);
    let more = other["required"].as_array().expect("it is a list").clone();
    object["required"].as_array_mut().expect("it is a list").extend(more);
}

fn document(title: &str, top: Value, defs: Map<String, Value>) -> Value {
    let mut document = json!({"$schema": DRAFT, "title": title});
    let members = document.as_object_mut().expect("it is an object");
    members.extend(top.as_object().expect("a type with members").clone());
    if !defs.is_empty() {
        members.insert("$defs".to_owned(), Value::Object(defs));
    }
    document
}

/// What the code refuses besides a wrong shape; another test compares the two, value by value.
fn bounds(top: &mut Value, defs: &mut Map<String, Value>) {
    for (name, number) in [
        ("max_iterations", LimitFlag::MaxIterations),
        ("max_minutes", LimitFlag::MaxMinutes),
        ("stall_limit", LimitFlag::StallLimit),
        ("max_workers", LimitFlag::MaxWorkers),
    ] {
        between(&mut top["properties"][name], 1, number.most());
    }
    top["properties"]["completion"] = json!({
        "description": top["properties"]["completion"]["description"],
        "enum": ["verified", "token"],
    });
    let section = |name: &str| format!("/properties/{name}/properties");
    let budget = top.pointer_mut(&(section("backpressure") + "/budget_seconds"));
    between(budget.expect("it is there"), 1, 600);
    let wait = top.pointer_mut(&(section("backpressure") + "/wait_seconds"));
    between(wait.expect("it is there"), 0, 600);
    let size = top.pointer_mut(&(section("context") + "/size")).expect("it is there");
    between(size, 500, page::MOST as u64);
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    for list in ["off", "also"] {
        let list = top.pointer_mut(&format!("{}/{list}/items", section("context")));
        *list.expect("it is there") = json!({"enum": names});
    }
    for name in ["max_iterations", "plateau_threshold", "min_iterations"] {
        let number = top.pointer_mut(&format!("{}/{name}", section("refine")));
        between(number.expect("it is there"), 1, 10_000);
    }
    let port = top.pointer_mut(&(section("sandbox") + "/ports/items")).expect("it is there");
    between(port, 1, 65_535);
    let seconds = top.pointer_mut(&(section("client") + "/background_seconds"));
    between(seconds.expect("it is there"), 0, 3600);
    for (name, most) in
        [("lease_seconds", LONGEST_LEASE), ("poll_seconds", 3600), ("pushes_per_minute", 100_000)]
    {
        let number = top.pointer_mut(&format!("{}/{name}", section("shared")));
        between(number.expect("it is there"), 1, most);
    }
    let mode = top.pointer_mut(&(section("client") + "/permission_mode")).expect("it is there");
    let names = Mode::names();
    let names: Vec<&str> = names.split(", ").map(|name| name.trim_matches('`')).collect();
    *mode = json!({"description": mode["description"], "enum": names});
    let own = defs.get_mut("Own").expect("a check of one's own");
    own["required"] = json!(["name", "command"]);
    own["properties"]["name"]["minLength"] = json!(1);
    own["properties"]["command"]["minLength"] = json!(1);
}

fn between(number: &mut Value, least: u64, most: u64) {
    (number["minimum"], number["maximum"]) = (json!(least), json!(most));
}

/// A name that nobody knows is an error in settings.
fn close(schema: &mut Value) {
    if schema["properties"].is_object() {
        schema["additionalProperties"] = json!(false);
        let inner = schema["properties"].as_object_mut().expect("they are members");
        inner.values_mut().for_each(close);
    }
}

struct Made<'a> {
    source: &'a Source,
    defs: Map<String, Value>,
    all_may_be_absent: bool,
}

impl Made<'_> {
    /// A type with members, as a schema of its own.
    fn object(&mut self, module: &str, name: &str) -> Value {
        let (module, found) = self.source.find(module, name).expect(name);
        let Type::Struct { about, members } = found else { panic!("`{name}` has no members") };
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut rest = None;
        for member in members {
            if member.rest {
                rest = Some(self.member(module, member));
                continue;
            }
            properties.insert(member.name.clone(), self.member(module, member));
            if !member.optional && !self.all_may_be_absent {
                required.push(member.name.clone());
            }
        }
        let mut schema = json!({"type": "object"});
        if !about.is_empty() && !self.all_may_be_absent {
            schema["description"] = json!(about);
        }
        schema["properties"] = Value::Object(properties);
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if rest.is_some() {
            // Kept as they are when the document is written again.
            schema["additionalProperties"] = json!(true);
        }
        schema
    }

    fn member(&mut self, module: &str, member: &Member) -> Value {
        let mut schema = self.kind(module, &member.kind, member.optional || self.all_may_be_absent);
        if schema == json!(true) {
            schema = json!({});
        }
        schema["description"] = json!(member.about.replace("[`", "`").replace("`]", "`"));
        schema
    }

    /// A member that is left out when it is none is never `null`.
    fn kind(&mut self, module: &str, kind: &str, left_out: bool) -> Value {
        let inside = |head: &str| kind.strip_prefix(head)?.strip_suffix('>');
        if let Some(inner) = inside("Option<") {
            let schema = self.kind(module, inner, false);
            return if left_out { schema } else { json!({"anyOf": [schema, {"type": "null"}]}) };
        }
        // A list that keeps the text it was read from.
        let inner = if kind == "TaskList" { Some("Task") } else { inside("Vec<") };
        if let Some(inner) = inner {
            return json!({"type": "array", "items": self.kind(module, inner, false)});
        }
        if let Some(inner) = inside("BTreeMap<String, ") {
            let inner = self.kind(module, inner, false);
            return json!({"type": "object", "additionalProperties": inner});
        }
        match kind {
            "String" | "ObjectId" => json!({"type": "string"}),
            "Text" => json!({"type": "string", "maxLength": LONGEST_TEXT}),
            "bool" => json!({"type": "boolean"}),
            "u16" => json!({"type": "integer", "minimum": 0, "maximum": u16::MAX}),
            "u32" => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
            "u64" | "usize" => json!({"type": "integer", "minimum": 0}),
            "i32" => json!({"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX}),
            "f64" => json!({"type": "number"}),
            // Written without a tag, so its variants are the two shapes.
            "RunBranch" => {
                json!({"anyOf": [{"type": "boolean"}, {"type": "string", "minLength": 1}]})
            }
            "Timestamp" => json!({"type": "string", "format": "date-time"}),
            "Value" | "Extra" | "ModeState" => json!(true),
            name => {
                self.define(module, name);
                json!({"$ref": format!("#/$defs/{name}")})
            }
        }
    }

    fn define(&mut self, module: &str, name: &str) {
        if self.defs.contains_key(name) {
            return;
        }
        let found = self.source.find(module, name);
        let (_, found) = found.unwrap_or_else(|| panic!("no type `{name}` is known"));
        let schema = match found {
            Type::Struct { .. } => {
                // Two types that name each other would go on for ever.
                self.defs.insert(name.to_owned(), Value::Null);
                self.object(module, name)
            }
            Type::Words { about, words, open: true } => json!({
                "description": about,
                "anyOf": [{"enum": words}, {"type": "string", "description": "a word of a newer version"}],
            }),
            Type::Words { about, words, open: false } => {
                json!({"description": about, "enum": words})
            }
        };
        self.defs.insert(name.to_owned(), schema);
    }
}
