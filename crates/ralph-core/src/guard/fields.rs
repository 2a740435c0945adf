//! Tools and their inputs: what the client's tools do, what each field of an input carries, and how a call is judged by its
//! fields.

use super::places::{self, ProtectedPaths};
use super::{PlanGate, Rule, RuleHit, Situation, ToolCall, bash, ralph_command};
use crate::protocol::registration::COMMANDS;
use crate::shell::LONGEST;
use Carries::{Anything, Command, Content, Message, Nothing, Path, Prompt};
use serde_json::Value;

// Judges a tool's input field by field: the content of each field decides, not the tool's name.
//
// Another vendor's tool names and nests its fields in any way, and may pass JSON in a string. So
// every text counts. A text for people may mention anything, so it counts only if the whole text is a
// command.

/// How many texts of one call are judged; a call with more is refused.
const MOST: usize = 4096;
/// How many bytes of one call are judged: if a hook exceeds the client's timeout, its answer is
/// lost.
const MOST_BYTES: usize = 256 << 10;
/// How deep JSON may nest inside JSON strings.
const DEEPEST: usize = 4;
/// A longer text is not a path.
const LONGEST_PATH: usize = 4096;

/// One text of a tool's input.
pub(super) struct Field {
    text: String,
    carries: Carries,
}

/// Every text of a call; `None` if there are too many.
pub(super) fn collect(call: &ToolCall<'_>) -> Option<Vec<Field>> {
    let mut fields = Fields { tool: call.tool, found: Vec::new(), n_bytes: 0, full: false };
    fields.value("", &call.input.whole, None, 0);
    (!fields.full).then_some(fields.found)
}

struct Fields<'a> {
    tool: &'a str,
    found: Vec<Field>,
    n_bytes: usize,
    full: bool,
}

impl Fields<'_> {
    fn value(&mut self, name: &str, value: &Value, told: Option<Carries>, depth: usize) {
        match value {
            Value::String(text) => self.text(name, text, told, depth),
            Value::Array(items) => {
                items.iter().for_each(|item| self.value(name, item, told, depth));
            }
            Value::Object(members) => {
                for (member, value) in members {
                    // Everything below a field of the table carries what the field carries.
                    let told = told.or_else(|| match name {
                        "" => None,
                        name => listed(self.tool, name),
                    });
                    // Some tools take a map from paths to texts.
                    self.add(member, told.unwrap_or(Carries::Path));
                    self.value(member, value, told, depth);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, name: &str, text: &str, told: Option<Carries>, depth: usize) {
        let carries = told.unwrap_or_else(|| carries(self.tool, name));
        self.add(text, carries);
        let is_json = text.trim_start().starts_with(['{', '[']) && carries == Carries::Anything;
        if is_json
            && depth < DEEPEST
            && let Ok(inner) = serde_json::from_str::<Value>(text)
        {
            self.value(name, &inner, told, depth + 1);
        }
    }

    fn add(&mut self, text: &str, carries: Carries) {
        if matches!(carries, Carries::Nothing | Carries::Content) || text.is_empty() {
            return;
        }
        self.n_bytes += text.len();
        if self.found.len() >= MOST || self.n_bytes > MOST_BYTES {
            self.full = true;
            return;
        }
        self.found.push(Field { text: text.to_owned(), carries });
    }
}

/// The row that one of the fields matches; `None` if all fields are harmless.
pub(super) fn row(situation: &Situation<'_>, call: &ToolCall<'_>) -> Option<RuleHit> {
    let Some(fields) = collect(call) else { return Some((Rule::CutCommand, MANY.to_owned())) };
    fields.iter().find_map(|field| of_field(situation, call, field))
}

fn of_field(situation: &Situation<'_>, call: &ToolCall<'_>, field: &Field) -> Option<RuleHit> {
    let text = field.text.as_str();
    // A truncated text continues with unknown content.
    let is_cut = call.cut && text.len() + 8 > LONGEST;
    match field.carries {
        Carries::Nothing | Carries::Content => None,
        // A URL is not a place on this machine.
        Carries::Path | Carries::Anything if is_elsewhere(text) => None,
        Carries::Message => message(text),
        Carries::Path => path(situation.places, call, text),
        Carries::Prompt | Carries::Command | Carries::Anything if is_cut => {
            Some((Rule::CutCommand, MANY.to_owned()))
        }
        Carries::Prompt => prompt(text),
        Carries::Command => bash::named(situation, text),
        Carries::Anything => path(situation.places, call, text)
            .or_else(|| slashed(text).map(refuse_prompt))
            .or_else(|| message(text))
            .or_else(|| bash::named(situation, text)),
    }
}

/// True for the address of something on another machine.
fn is_elsewhere(text: &str) -> bool {
    const SCHEMES: [&str; 7] =
        ["http://", "https://", "ws://", "wss://", "ftp://", "ssh://", "git://"];
    let text = text.trim();
    SCHEMES.iter().any(|scheme| text.starts_with(scheme)) && !text.contains(char::is_whitespace)
}

/// A text for people or for an agent: refused if the whole text is a person's command.
fn message(text: &str) -> Option<RuleHit> {
    let text = text.trim();
    let is_short = text.len() <= LONGEST_PATH && text.lines().count() <= 1;
    let typed = || ralph_command::typed(text).or_else(|| slash(text));
    is_short.then(typed).flatten().map(refuse_prompt)
}

/// A prompt that the client will submit: it cannot be told from one that the user typed.
fn prompt(text: &str) -> Option<RuleHit> {
    slashed(text).or_else(|| ralph_command::named_in(text)).map(refuse_prompt)
}

/// One of Ralph's slash commands anywhere in a text.
fn slashed(text: &str) -> Option<String> {
    let mut words =
        text.split(|letter: char| letter.is_whitespace() || "`'\"()[]{}<>,;".contains(letter));
    words.find_map(|word| slash(word.trim_end_matches(['.', '!', '?', ':'])))
}

/// `/ralph-cancel`, with or without the plugin's prefix, and with any arguments.
fn slash(text: &str) -> Option<String> {
    let name = text.trim().strip_prefix('/')?;
    let name = name.split_whitespace().next()?;
    let own = name.strip_prefix("ralph:").unwrap_or(name);
    COMMANDS.contains(&own).then(|| format!("/{name}"))
}

fn refuse_prompt(command: String) -> RuleHit {
    let reason = format!(
        "This would have the client submit `{command}`, which only the user gives while a loop is live: what you \
         schedule or send is not the user's word. They can type it themselves. Schedule a prompt that says what \
         you want to look at, without this command, or go on with the work."
    );
    (Rule::RefusedCommand, reason)
}

/// A text that may be a path, in a tool that may do anything with it.
fn path(places: &ProtectedPaths, call: &ToolCall<'_>, text: &str) -> Option<RuleHit> {
    let text = text.trim();
    if text.len() > LONGEST_PATH || text.contains('\n') {
        return None;
    }
    let path = places.written_out(text);
    // Nearly every call names the project or one of its parent folders.
    let held = || {
        let place = places.holds_protected(&path, call.cwd)?;
        (!places.is_at_or_above(&path, call.cwd)).then_some(place)
    };
    places.protected(&path, call.cwd).or_else(held).map(places::row)
}

/// The texts of a call that may be paths, for a caller that can resolve links.
pub(super) fn paths(call: &ToolCall<'_>, places: &ProtectedPaths) -> Vec<String> {
    let fields = collect(call).unwrap_or_default();
    let is_path = |field: &&Field| {
        matches!(field.carries, Carries::Path | Carries::Anything)
            && field.text.len() <= LONGEST_PATH
            && !field.text.contains('\n')
    };
    fields.iter().filter(is_path).map(|field| places.written_out(field.text.trim())).collect()
}

/// A skill by which the model would speak as the user, or bring in what can.
pub(super) fn skill(call: &ToolCall<'_>) -> Option<RuleHit> {
    let name = call.input.skill.as_deref().unwrap_or_default().trim_start_matches('/');
    let own = name.strip_prefix("ralph:").unwrap_or(name);
    match own {
        "ralph-cancel" => Some(refuse_prompt(format!("/{name}"))),
        "plugin-authoring" => Some((Rule::RefusedCommand, AUTHORING.to_owned())),
        _ => None,
    }
}

const AUTHORING: &str = "With the skill `plugin-authoring` loaded, the client takes what you write for a part of itself, \
and while a Ralph loop is live only the user may bring that in. Go on with the work without it.";

/// True for a skill of which something would run outside of the wall.
pub(super) fn runs_outside(situation: &Situation<'_>, gate: &PlanGate) -> bool {
    let skill = situation.places.skill.as_ref();
    !skill.is_some_and(|skill| skill.is_shipped || gate.no_wall.is_none() && skill.stays_in_shell)
}

/// True for the planning skills, by any of their names.
pub(super) fn is_planning(skill: &str) -> bool {
    ["ralplan", "rp", "planloop"].contains(&skill)
}

/// True for a tool whose call may touch a protected place.
pub(super) fn matters(tool: &str) -> bool {
    !matches!(
        does(tool),
        ToolEffect::Looks | ToolEffect::Questions | ToolEffect::EntersPlan | ToolEffect::LeavesPlan
    )
}

const MANY: &str = "This input is longer than can be read whole, and while a Ralph loop is live it must be \
read before the tool runs. Make several smaller calls, or put the text into a file with the Write tool.";

// What the client's tools do, and what each field of a tool's input carries.
//
// The names are the client's own (2.1.328): a test with the real client compares them. A tool that is not named
// here is judged by every field of its input, whatever it is called.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolEffect {
    /// Changes only what the client keeps for the conversation itself.
    Looks,
    /// Asks the user.
    Questions,
    EntersPlan,
    LeavesPlan,
    /// Changes the file that it names.
    Edits,
    Runs,
    Calls,
    /// Loads a skill, and runs the commands in its text.
    Loads,
    /// Anything else.
    Acts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// Nothing that the guard judges: the tool only reads what it names.
    Nothing,
    /// The content of a file. Text in it runs nothing.
    Content,
    /// A text for people or for another agent, which as a whole may be a person's command.
    Message,
    /// A prompt that the client submits later, as if the user had typed it.
    Prompt,
    Command,
    Path,
    /// Unknown: any of these.
    Anything,
}

#[rustfmt::skip]
const LOOKS: [&str; 30] = [
    "BashOutput", "CronList", "DeferredToolPlaceholder", "Glob", "Grep", "LS", "ListAgents", "ListMcpResources",
    "ListMcpResourcesTool", "ListPeers", "NotebookRead", "Read", "ReadMcpResource", "ReadMcpResourceDir",
    "ReadMcpResourceDirTool", "ReadMcpResourceTool", "ReadNotifications", "ReportFindings", "StructuredOutput",
    "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch",
    "WaitForMcpServers", "WebFetch", "WebSearch",
];

/// The fields whose name does not tell what they carry.
const FIELDS: [(&str, &str, Carries); 18] = [
    ("Agent", "prompt", Message),
    ("LSP", "filePath", Nothing),
    ("Monitor", "command", Command),
    ("PowerShell", "command", Command),
    ("Projects", "path", Nothing),
    ("ProposeGoal", "condition", Prompt),
    ("RemoteTrigger", "body", Prompt),
    ("SendFeedback", "details", Message),
    ("SendUserFile", "caption", Message),
    ("SendUserFile", "files", Nothing),
    ("SendUserMessage", "attachments", Nothing),
    ("SetGoal", "condition", Prompt),
    ("Skill", "args", Message),
    ("Skill", "skill", Prompt),
    ("SlashCommand", "command", Prompt),
    ("Task", "prompt", Message),
    ("Workflow", "args", Message),
    ("propose_skills", "proposals", Content),
];

pub(super) fn does(tool: &str) -> ToolEffect {
    match tool {
        "Agent" | "Task" => ToolEffect::Calls,
        "AskUserQuestion" => ToolEffect::Questions,
        "Bash" | "Monitor" | "PowerShell" => ToolEffect::Runs,
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => ToolEffect::Edits,
        "EnterPlanMode" => ToolEffect::EntersPlan,
        "ExitPlanMode" => ToolEffect::LeavesPlan,
        "Skill" => ToolEffect::Loads,
        tool if LOOKS.contains(&tool) => ToolEffect::Looks,
        _ => ToolEffect::Acts,
    }
}

/// What a field of the table carries.
fn listed(tool: &str, field: &str) -> Option<Carries> {
    let row = FIELDS.iter().find(|(of, name, _)| *of == tool && *name == field);
    row.map(|(.., carries)| *carries)
}

/// What a field carries; for one that is not in the table, a conventional name for text that nothing runs decides.
pub(super) fn carries(tool: &str, field: &str) -> Carries {
    listed(tool, field).unwrap_or(match field {
        "content" | "contents" | "file_text" | "old_string" | "new_string" | "old_str"
        | "new_str" | "oldText" | "newText" | "new_source" | "fileContent" | "file_content" => {
            Content
        }
        "body" | "title" | "description" | "comment" | "message" | "subject" | "summary"
        | "text" | "reason" | "note" | "thought" | "html" | "markdown" => Message,
        "prompt" | "instruction" | "instructions" | "goal" => Prompt,
        // A search text may be any word, but a place that it names still counts.
        "query" | "pattern" | "search" | "q" => Path,
        _ => Anything,
    })
}

/// True for a tool that is not judged as an unknown one.
pub fn is_known(tool: &str) -> bool {
    does(tool) != ToolEffect::Acts || FIELDS.iter().any(|(of, ..)| *of == tool)
}

#[cfg(test)]
mod tools_tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_table_is_judged_by_all_that_it_could_be() {
        assert!(!is_known("mcp__files__write_file"));
        assert_eq!(does("mcp__files__write_file"), ToolEffect::Acts);
        assert_eq!(carries("Telepathy", "cmd"), Anything);
        assert_eq!(carries("Bash", "new_field"), Anything);
        assert_eq!(carries("mcp__files__write_file", "content"), Content);
    }
}
