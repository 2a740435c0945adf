//! Hook payloads of Claude Code: the fields that we read, and the files that a tool call has written.

use memchr::memmem;
use serde::de::{Deserializer, IntoDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

// Parses hook payloads from Claude Code: only the fields that we read.
//
// All other fields are skipped unread, and unknown values (a new event, a new tool, a field of
// another type) are accepted: a newer client must never break a session.

/// One hook payload. Absent fields are empty. We measured which event carries which field; a rule
/// that needs a field treats empty as absent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Input {
    /// Claude Code's session id; subagents share their parent's.
    #[serde(deserialize_with = "text")]
    pub session_id: String,
    /// Path of the session's JSONL transcript; it may lag behind the event.
    #[serde(deserialize_with = "text")]
    pub transcript_path: String,
    /// SubagentStop: path of the subagent's own JSONL transcript.
    #[serde(deserialize_with = "text")]
    pub agent_transcript_path: String,
    /// Working directory of the session's shell; it follows `cd`.
    #[serde(deserialize_with = "text")]
    pub cwd: String,
    #[serde(deserialize_with = "event")]
    pub hook_event_name: HookEvent,
    /// Id of the prompt that started the running turn; absent before the first prompt.
    #[serde(deserialize_with = "text")]
    pub prompt_id: String,
    /// Set only inside a subagent.
    #[serde(deserialize_with = "text")]
    pub agent_id: String,
    /// The subagent's type; compaction runs as a subagent with an empty type.
    #[serde(deserialize_with = "text")]
    pub agent_type: String,
    /// Prompt and tool events: the session's permission mode.
    #[serde(deserialize_with = "text")]
    pub permission_mode: String,
    /// SessionStart: `startup`, `resume`, `fork`, `clear` or `compact`. UserPromptSubmit, in
    /// clients that report it: `user` and `sdk` for typed prompts, other words for prompts that the
    /// client sends itself.
    #[serde(deserialize_with = "text")]
    pub source: String,
    /// SessionEnd: `other`, `clear`, `prompt_input_exit` …
    #[serde(deserialize_with = "text")]
    pub reason: String,
    /// UserPromptSubmit: what the user typed, raw.
    #[serde(deserialize_with = "text")]
    pub prompt: String,
    /// UserPromptExpansion: the command's name without the slash, with a plugin's prefix.
    #[serde(deserialize_with = "text")]
    pub command_name: String,
    /// UserPromptExpansion: everything typed after the name, raw.
    #[serde(deserialize_with = "text")]
    pub command_args: String,
    /// Tool events: the tool's name.
    #[serde(deserialize_with = "text")]
    pub tool_name: String,
    /// Tool events: the client's id of the call.
    #[serde(deserialize_with = "text")]
    pub tool_use_id: String,
    /// Tool events: the fields of the tool's input that rules read.
    #[serde(deserialize_with = "tool_input")]
    pub tool_input: ToolInput,
    /// Stop events: trimmed text of the last text block; absent if the turn ended without text.
    #[serde(deserialize_with = "maybe_text")]
    pub last_assistant_message: Option<String>,
    /// Stop events: subagents and shells that are still running; `None` if the client does not tell
    /// (2.1.139).
    #[serde(deserialize_with = "tasks")]
    pub background_tasks: Option<Vec<BackgroundTask>>,
    /// Stop events: prompts scheduled in the session.
    #[serde(deserialize_with = "prompts")]
    pub session_crons: Vec<String>,
    /// StopFailure: the kind of API error.
    #[serde(deserialize_with = "text")]
    pub error: String,
}

/// Hook events that have a rule, by the client's names; all others are `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub enum HookEvent {
    /// A session starts, resumes, is cleared, is forked, or was compacted.
    SessionStart,
    /// The user sent a prompt, or a background task reported.
    UserPromptSubmit,
    /// A typed slash command is about to become a prompt.
    UserPromptExpansion,
    /// A tool is about to run.
    PreToolUse,
    /// The client is about to ask the user whether a tool may run.
    PermissionRequest,
    /// A tool ran successfully.
    PostToolUse,
    /// A tool ran and failed; PostToolUse is not sent in this case.
    PostToolUseFailure,
    /// The main conversation is about to end its turn.
    Stop,
    /// A subagent is about to end.
    SubagentStop,
    /// The turn ended with an API error.
    StopFailure,
    /// The session has ended.
    SessionEnd,
    /// The context is about to be compacted.
    PreCompact,
    /// A settings file or a skill was changed.
    ConfigChange,
    /// An event without a rule.
    #[default]
    #[serde(other)]
    Other,
}

impl HookEvent {
    /// The client's name for the event.
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}

/// The parts of a tool's input that rules read. Another vendor's tool may use the same field names
/// for values of other types; those read as absent.
#[derive(Debug, Clone, Default)]
pub struct ToolInput {
    /// Write, Edit, Read: absolute path.
    pub file_path: Option<String>,
    /// NotebookEdit: absolute path.
    pub notebook_path: Option<String>,
    /// Bash: the command line.
    pub command: Option<String>,
    /// Agent: the agent's type.
    pub subagent_type: Option<String>,
    /// Agent: a short summary of the task.
    pub description: Option<String>,
    /// Agent: its task.
    pub prompt: Option<String>,
    /// Skill: the skill's name.
    pub skill: Option<String>,
    /// The whole input, for rules that check every field; `Null` if the event has no input.
    pub whole: Value,
}

impl From<Value> for ToolInput {
    fn from(whole: Value) -> ToolInput {
        let text = |name: &str| whole.get(name).and_then(Value::as_str).map(str::to_owned);
        ToolInput {
            file_path: text("file_path"),
            notebook_path: text("notebook_path"),
            command: text("command"),
            subagent_type: text("subagent_type"),
            description: text("description"),
            prompt: text("prompt"),
            skill: text("skill"),
            whole,
        }
    }
}

impl ToolInput {
    /// The file that the tool would write, whichever field names it.
    pub fn path(&self) -> Option<&str> {
        self.file_path.as_deref().or(self.notebook_path.as_deref())
    }
}

/// A subagent or shell running in the background.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct BackgroundTask {
    /// The client's id of the task.
    #[serde(deserialize_with = "text")]
    pub id: String,
    /// `subagent` or `shell`.
    #[serde(rename = "type", deserialize_with = "text")]
    pub kind: String,
    /// `running` while the task runs.
    #[serde(deserialize_with = "text")]
    pub status: String,
    /// The purpose of the task, as the model described it.
    #[serde(deserialize_with = "text")]
    pub description: String,
    /// The agent's type, for a subagent.
    #[serde(deserialize_with = "text")]
    pub agent_type: String,
}

impl BackgroundTask {
    /// True for a subagent, which wakes the model when it ends. A shell (a dev server, say) may
    /// never end and does not count.
    pub fn is_subagent(&self) -> bool {
        self.kind == "subagent"
    }
}

impl Input {
    /// True inside a subagent: such an event belongs to a worker, not to the loop itself.
    pub fn from_subagent(&self) -> bool {
        !self.agent_id.is_empty()
    }

    /// The subagents that still run in the background, as far as the client tells.
    pub fn subagents(&self) -> impl Iterator<Item = &BackgroundTask> {
        self.background_tasks.iter().flatten().filter(|task| task.is_subagent())
    }

    /// The fields without which a loop works worse, and which this end of a turn lacks: a client
    /// that is too old or too new for Ralph. Empty for every other event.
    pub fn missing(&self) -> Vec<&'static str> {
        if self.hook_event_name != HookEvent::Stop {
            return Vec::new();
        }
        let fields = [
            ("transcript_path", self.transcript_path.is_empty()),
            ("prompt_id", self.prompt_id.is_empty()),
            ("background_tasks", self.background_tasks.is_none()),
        ];
        fields.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| name).collect()
    }

    /// True for the prompt that the client sends to report a finished background task.
    pub fn is_task_notification(&self) -> bool {
        self.prompt.trim_start().starts_with("<task-notification>")
    }

    /// Whether the client reports that the user typed this prompt; `None` if it does not report it
    /// (2.1.328 does not).
    pub fn says_typed(&self) -> Option<bool> {
        match self.source.as_str() {
            "" => None,
            source => Some(["user", "sdk"].contains(&source)),
        }
    }
}

/// Reads the name of an event; a value of another type is none.
fn event<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HookEvent, D::Error> {
    HookEvent::deserialize(text(deserializer)?.into_deserializer())
}

/// Extracts the prompts from a list of scheduled tasks; skips entries of another type.
fn prompts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let tasks = Value::deserialize(deserializer)?;
    let prompt = |task: &Value| Some(task.get("prompt")?.as_str()?.to_owned());
    Ok(tasks.as_array().into_iter().flatten().filter_map(prompt).collect())
}

/// Reads a list of background tasks; skips entries of another type. Anything but a list is absent.
fn tasks<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<BackgroundTask>>, D::Error> {
    let Value::Array(entries) = Value::deserialize(deserializer)? else { return Ok(None) };
    Ok(Some(entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect()))
}

/// Reads a string; `null` and values of another type read as empty.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(maybe_text(deserializer)?.unwrap_or_default())
}

fn maybe_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

/// Reads a tool's input; anything but an object reads as empty.
fn tool_input<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolInput, D::Error> {
    Ok(ToolInput::from(Value::deserialize(deserializer)?))
}

// Lists the files that a tool call has written.
//
// An editing tool names its file in the input. For a shell command, the client lists the files
// that it noticed in the tool's response (`bashEditDiff`).

/// Tools that edit the file named in their input. Older clients have `MultiEdit`.
const EDITORS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// Files examined per call; a script that rewrites a whole tree is left to the criteria.
const MOST_EDITED: usize = 20;

/// The member of a shell response that lists the files it wrote.
const LISTED: &str = "bashEditDiff";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload {
    tool_response: Response,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    #[serde(rename = "bashEditDiff")]
    listed: ChangedFiles,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ChangedFiles {
    changed_files: Vec<String>,
}

/// Returns the absolute paths of the files that the call wrote, as far as the client reports them.
pub fn edited_files(input: &Input, payload: &[u8]) -> Vec<String> {
    if EDITORS.contains(&input.tool_name.as_str()) {
        return input.tool_input.path().map(str::to_owned).into_iter().collect();
    }
    if input.tool_name != "Bash" || memmem::find(payload, LISTED.as_bytes()).is_none() {
        return Vec::new();
    }
    // A response of an unknown shape counts as no files.
    let payload: Payload = serde_json::from_slice(payload).unwrap_or_default();
    let mut files = payload.tool_response.listed.changed_files;
    files.truncate(MOST_EDITED);
    files
}

#[cfg(test)]
mod event_tests {
    use super::*;

    fn parse(json: &str) -> Input {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn an_unknown_event_with_unknown_fields_is_accepted() {
        let input = parse(r#"{"hook_event_name":"Dawn","colour":[1,{"a":null}]}"#);
        assert_eq!(input.hook_event_name, HookEvent::Other);
    }

    #[test]
    fn a_field_of_another_shape_reads_as_absent() {
        let input = parse(
            r#"{"session_id":7,"tool_name":"mcp__x","tool_input":{"command":{"a":1},"file_path":["b"],"prompt":true}}"#,
        );
        assert_eq!(input.session_id, "");
        assert_eq!(input.tool_input.command, None);
        assert_eq!(input.tool_input.path(), None);
    }

    #[test]
    fn a_tool_input_that_is_no_object_reads_as_empty() {
        for shape in ["null", "7", "[1]", "\"text\"", "true", "1.5", "-3"] {
            let input = parse(&format!(r#"{{"tool_name":"x","tool_input":{shape}}}"#));
            assert_eq!(input.tool_input.command, None, "{shape}");
            assert_eq!(input.tool_name, "x");
        }
    }

    #[test]
    fn every_event_of_the_table_of_hooks_reads_back() {
        for hook in crate::protocol::registration::HOOKS {
            let input = parse(&format!(r#"{{"hook_event_name":"{}"}}"#, hook.event));
            assert_ne!(input.hook_event_name, HookEvent::Other, "{}", hook.event);
            assert_eq!(input.hook_event_name.name(), hook.event);
        }
        for other in ["7", "null", "[]", "\"Dawn\""] {
            let input = parse(&format!(r#"{{"hook_event_name":{other}}}"#));
            assert_eq!(input.hook_event_name, HookEvent::Other, "{other}");
        }
    }

    #[test]
    fn a_tool_writes_to_its_file_or_to_its_notebook() {
        for (members, expected) in [
            (r#""file_path":"/a.rs""#, Some("/a.rs")),
            (r#""notebook_path":"/b.ipynb""#, Some("/b.ipynb")),
            (r#""command":"ls""#, None),
        ] {
            let input = parse(&format!(r#"{{"tool_input":{{{members}}}}}"#));
            assert_eq!(input.tool_input.path(), expected, "{members}");
        }
    }

    #[test]
    fn a_field_reads_past_a_value_of_any_shape_before_it() {
        for shape in ["null", "7", "-7", "1.5", "true", "[1,[2]]", r#"{"a":{"b":1}}"#] {
            let input = parse(&format!(r#"{{"session_id":{shape},"tool_name":"Read"}}"#));
            assert_eq!((input.session_id.as_str(), input.tool_name.as_str()), ("", "Read"));
        }
        let escaped = parse(r#"{"session_id":"a\nb"}"#);
        assert_eq!(escaped.session_id, "a\nb");
    }

    #[test]
    fn a_text_that_is_handed_over_whole_is_kept() {
        let input = serde_json::from_value::<Input>(serde_json::json!({"session_id": "s"}));
        assert_eq!(input.unwrap().session_id, "s");
    }

    #[test]
    fn a_worker_and_what_it_reports_are_told_from_the_conversation() {
        let worker = parse(r#"{"agent_id":"a1","agent_type":""}"#);
        let person = parse(r#"{"agent_id":"","prompt":"what is a <task-notification>?"}"#);
        let report = parse(r#"{"prompt":"\n<task-notification>\n<id>1</id>"}"#);
        assert_eq!([&worker, &person].map(Input::from_subagent), [true, false]);
        assert_eq!([&report, &person].map(Input::is_task_notification), [true, false]);
        for (source, expected) in
            [("", None), ("user", Some(true)), ("sdk", Some(true)), ("cron", Some(false))]
        {
            let input = parse(&format!(r#"{{"source":"{source}"}}"#));
            assert_eq!(input.says_typed(), expected, "{source}");
        }
    }

    #[test]
    fn of_what_runs_in_the_background_only_a_subagent_wakes_the_model() {
        let input = parse(r#"{"background_tasks":[{"type":"subagent"},{"type":"shell"},{}]}"#);
        let kinds: Vec<&str> = input.subagents().map(|task| task.kind.as_str()).collect();
        assert_eq!(kinds, ["subagent"]);
    }

    #[test]
    fn a_list_of_another_shape_is_absent_and_an_entry_of_another_shape_is_skipped() {
        let n_tasks = |list: &str| {
            let input = parse(&format!(r#"{{"background_tasks":{list},"session_crons":{list}}}"#));
            input.background_tasks.map(|tasks| tasks.len())
        };
        assert_eq!(n_tasks(r#"[7,"x",[],{"type":"subagent"},{"type":7}]"#), Some(3));
        for list in ["7", "null", "\"x\"", "{}"] {
            assert_eq!(n_tasks(list), None, "{list}");
        }
        assert_eq!(parse("{}").background_tasks.map(|tasks| tasks.len()), None);
    }

    #[test]
    fn the_end_of_a_turn_names_the_fields_that_it_lacks_and_no_other_event_does() {
        let stop = r#"{"hook_event_name":"Stop","transcript_path":"/t","prompt_id":"p","background_tasks":[]}"#;
        assert!(parse(stop).missing().is_empty());
        assert_eq!(parse(&stop.replace("prompt_id", "prompt_uuid")).missing(), ["prompt_id"]);
        assert_eq!(
            parse(r#"{"hook_event_name":"Stop"}"#).missing(),
            ["transcript_path", "prompt_id", "background_tasks"]
        );
        assert!(parse(r#"{"hook_event_name":"PreToolUse"}"#).missing().is_empty());
    }
}

#[cfg(test)]
mod edited_tests {
    use super::*;

    #[track_caller]
    fn check(payload: &str, expected: &[&str]) {
        let input: Input = serde_json::from_str(payload).unwrap();
        assert_eq!(edited_files(&input, payload.as_bytes()), expected, "{payload}");
    }

    #[test]
    fn a_tool_that_edits_names_its_file() {
        for tool in ["Write", "Edit", "MultiEdit"] {
            let payload = format!(r#"{{"tool_name":"{tool}","tool_input":{{"file_path":"/a"}}}}"#);
            check(&payload, &["/a"]);
        }
        check(r#"{"tool_name":"NotebookEdit","tool_input":{"notebook_path":"/n"}}"#, &["/n"]);
        check(r#"{"tool_name":"Read","tool_input":{"file_path":"/a"}}"#, &[]);
        check(r#"{"tool_name":"Write","tool_input":{}}"#, &[]);
    }

    #[test]
    fn what_a_shell_wrote_stands_in_its_response() {
        let bash = |response: &str| format!(r#"{{"tool_name":"Bash","tool_response":{response}}}"#);
        check(&bash(r#"{"bashEditDiff":{"files":[],"changedFiles":["/a","/b"]}}"#), &["/a", "/b"]);
        check(&bash(r#"{"stdout":"bashEditDiff"}"#), &[]);
        let another = r#"{"bashEditDiff":{"changedFiles":["/a"]}}"#;
        check(&format!(r#"{{"tool_name":"Other","tool_response":{another}}}"#), &[]);
        check(&bash(r#"{"bashEditDiff":{"changedFiles":3}}"#), &[]);
        check(&bash(r#""text""#), &[]);
        let many: Vec<String> = (0..30).map(|number| format!("\"/{number}\"")).collect();
        let many = bash(&format!(r#"{{"bashEditDiff":{{"changedFiles":[{}]}}}}"#, many.join(",")));
        let input: Input = serde_json::from_str(&many).unwrap();
        assert_eq!(edited_files(&input, many.as_bytes()).len(), 20);
    }
}
