//! Judges a tool's input field by field: the content of each field decides, not the tool's name.
//!
//! Another vendor's tool names and nests its fields in any way, and may pass JSON in a string. So
//! every text counts, and a list of words also counts as one command line. A text for people may
//! mention anything, so it counts only if the whole text is a command.

use super::places::{self, ProtectedPaths};
use super::tools::{self, Carries, GuardedTool, ToolEffect};
use super::{Rule, Situation, ToolCall, bash, ralph_command};
use crate::protocol::registration::COMMANDS;
use crate::shell::LONGEST;
use serde_json::Value;

type RuleHit = (Rule, String);

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
    name: String,
    text: String,
    carries: Carries,
}

/// Every text of a call, and every list of texts as one line; `None` if there are too many.
pub(super) fn of(call: &ToolCall<'_>) -> Option<Vec<Field>> {
    let tool = tools::find(call.tool);
    let mut fields = Fields { tool, found: Vec::new(), n_bytes: 0, full: false };
    match &call.input.whole {
        Value::Null => {
            let input = call.input;
            let known = [
                ("file_path", &input.file_path),
                ("notebook_path", &input.notebook_path),
                ("command", &input.command),
                ("description", &input.description),
                ("prompt", &input.prompt),
                ("skill", &input.skill),
            ];
            for (name, text) in known {
                if let Some(text) = text {
                    fields.text(name, text, None, 0);
                }
            }
        }
        whole => fields.value("", whole, None, 0),
    }
    if tool.fields.is_empty() {
        fields.as_one_line();
    }
    (!fields.full).then_some(fields.found)
}

struct Fields {
    tool: &'static GuardedTool,
    found: Vec<Field>,
    n_bytes: usize,
    full: bool,
}

impl Fields {
    fn value(&mut self, name: &str, value: &Value, told: Option<Carries>, depth: usize) {
        match value {
            Value::String(text) => self.text(name, text, told, depth),
            Value::Array(items) => {
                let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                if words.len() > 1 && words.len() == items.len() {
                    self.text(name, &line(&words), told, DEEPEST);
                }
                items.iter().for_each(|item| self.value(name, item, told, depth));
            }
            Value::Object(members) => {
                for (member, value) in members {
                    // Everything below a field of the table carries what the field carries.
                    let told = told.or_else(|| match name {
                        "" => None,
                        name => self
                            .tool
                            .fields
                            .iter()
                            .find(|(field, _)| *field == name)
                            .map(|(_, carries)| *carries),
                    });
                    // Some tools take a map from paths to texts.
                    self.add(member, member, told.unwrap_or(Carries::Path));
                    self.value(member, value, told, depth);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, name: &str, text: &str, told: Option<Carries>, depth: usize) {
        let carries = told.unwrap_or_else(|| self.tool.carries(name));
        self.add(name, text, carries);
        let is_json = text.trim_start().starts_with(['{', '[']) && carries == Carries::Anything;
        if is_json
            && depth < DEEPEST
            && let Ok(inner) = serde_json::from_str::<Value>(text)
        {
            self.value(name, &inner, told, depth + 1);
        }
    }

    fn add(&mut self, name: &str, text: &str, carries: Carries) {
        if matches!(carries, Carries::Nothing | Carries::Content) || text.is_empty() {
            return;
        }
        self.n_bytes += text.len();
        if self.found.len() >= MOST || self.n_bytes > MOST_BYTES {
            self.full = true;
            return;
        }
        self.found.push(Field { name: name.to_owned(), text: text.to_owned(), carries });
    }

    /// Joins `{"program": "rm", "args": ["-r", "x"]}` to one command line, however the words are
    /// distributed.
    fn as_one_line(&mut self) {
        let program = |field: &&Field| {
            [
                "command",
                "cmd",
                "program",
                "executable",
                "bin",
                "binary",
                "exe",
                "file",
                "tool",
                "name",
            ]
            .contains(&field.name.as_str())
        };
        let argument = |field: &&Field| {
            let name = field.name.to_ascii_lowercase();
            ["arg", "param", "option", "flag", "word", "input", "subcommand", "operand"]
                .iter()
                .any(|known| name.contains(known))
        };
        let own = |field: &&Field| field.name != field.text && field.carries == Carries::Anything;
        let texts = |test: &dyn Fn(&&Field) -> bool| -> Vec<String> {
            let mut texts: Vec<String> = Vec::new();
            for field in self.found.iter().filter(own).filter(|field| test(field)) {
                // A list is present both as a line and word by word.
                if !texts.iter().any(|line| line.contains(field.text.as_str())) {
                    texts.push(field.text.clone());
                }
            }
            texts
        };
        let (programs, arguments) = (texts(&program), texts(&argument));
        if programs.is_empty() || arguments.is_empty() {
            return;
        }
        let whole = [programs, arguments].concat().join(" ");
        self.add("command", &whole, Carries::Command);
    }
}

/// Quotes a list of words as a command line.
fn line(words: &[&str]) -> String {
    let quoted = |word: &&str| match word
        .chars()
        .all(|letter| letter.is_alphanumeric() || "-_./~$=:*?".contains(letter))
    {
        true => (*word).to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<String>>().join(" ")
}

/// The row that one of the fields matches; `None` if all fields are harmless.
pub(super) fn row(situation: &Situation<'_>, call: &ToolCall<'_>) -> Option<RuleHit> {
    let Some(fields) = of(call) else { return Some((Rule::CutCommand, MANY.to_owned())) };
    fields.iter().find_map(|field| of_field(situation, call, field, &fields))
}

fn of_field(
    situation: &Situation<'_>,
    call: &ToolCall<'_>,
    field: &Field,
    all: &[Field],
) -> Option<RuleHit> {
    let (places, text) = (situation.places, field.text.as_str());
    let unknown = tools::find(call.tool).fields.is_empty();
    // A truncated text continues with unknown content.
    let is_cut = call.cut && text.len() + 8 > LONGEST;
    match field.carries {
        // A URL is not a place on this machine.
        Carries::Path | Carries::Anything if is_elsewhere(text) => None,
        Carries::Nothing | Carries::Content => None,
        Carries::Message => message(situation, call, text, unknown),
        Carries::Prompt if is_cut => Some((Rule::CutCommand, MANY.to_owned())),
        Carries::Prompt => prompt(text),
        Carries::Command if is_cut => Some((Rule::CutCommand, MANY.to_owned())),
        Carries::Command => bash::refused(situation, call, text),
        Carries::Path => path(places, call, text, all),
        Carries::Anything if is_cut => Some((Rule::CutCommand, MANY.to_owned())),
        Carries::Anything => path(places, call, text, all)
            .or_else(|| slashed(text).map(refuse_prompt))
            .or_else(|| message(situation, call, text, false))
            .or_else(|| bash::refused(situation, call, text))
            .or_else(|| script(places, text)),
    }
}

/// True for the address of something on another machine.
fn is_elsewhere(text: &str) -> bool {
    const SCHEMES: [&str; 7] =
        ["http://", "https://", "ws://", "wss://", "ftp://", "ssh://", "git://"];
    let text = text.trim();
    SCHEMES.iter().any(|scheme| text.starts_with(scheme)) && !text.contains(char::is_whitespace)
}

/// A text for people or for an agent: refused if the whole text is a person's command. For an
/// unknown tool, also refused if it is a refused command line.
fn message(
    situation: &Situation<'_>,
    call: &ToolCall<'_>,
    text: &str,
    unknown: bool,
) -> Option<RuleHit> {
    let text = text.trim();
    if text.len() > LONGEST_PATH {
        return None;
    }
    let is_short = text.lines().count() <= 1;
    let typed = is_short
        .then(|| ralph_command::typed(text).or_else(|| slash(text)))
        .flatten()
        .map(refuse_prompt);
    typed.or_else(|| {
        // Backticks in prose mark code.
        let line = text.replace('`', "'");
        (unknown && bash::begins_like_a_command(&line))
            .then(|| bash::refused(situation, call, &line))
            .flatten()
    })
}

/// A script in any language: only the names in it can be checked.
fn script(places: &ProtectedPaths, text: &str) -> Option<RuleHit> {
    // A plain line of words is a command line, which has been parsed already.
    let is_plain = !text.contains(['(', '{', '"', '\'', '`', ';', '=', '\n']);
    let named = (!is_plain).then(|| ralph_command::named_in(text)).flatten();
    named
        .map(|(command, _)| refuse_prompt(format!("ralph {command}")))
        .or_else(|| places.named_in(text).or_else(|| places.program_in(text)).map(places::row))
}

/// A prompt that the client will submit: it cannot be told from one that the user typed.
fn prompt(text: &str) -> Option<RuleHit> {
    let named = || ralph_command::named_in(text).map(|(command, _)| format!("ralph {command}"));
    slashed(text).or_else(named).map(refuse_prompt)
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
        "This would have the client submit `{command}`, which only a person gives while a loop is live: what you \
         schedule or send is not a person's word. They can type it themselves. Schedule a prompt that says what \
         you want to look at, without this command, or go on with the work."
    );
    (Rule::RefusedCommand, reason)
}

/// A text that may be a path, in a tool that may do anything with it.
fn path(
    places: &ProtectedPaths,
    call: &ToolCall<'_>,
    text: &str,
    all: &[Field],
) -> Option<RuleHit> {
    let text = text.trim();
    if text.len() > LONGEST_PATH || text.contains('\n') {
        return None;
    }
    let path = places.written_out(text);
    if let Some(place) = places.protected(&path, call.cwd) {
        return Some(places::row(place));
    }
    let place = places.holds_protected(&path, call.cwd)?;
    // Nearly every call names the project or one of its parent folders, so these count only if the
    // call removes or moves them.
    if !places.is_at_or_above(&path, call.cwd) || takes_away(call, all) {
        return Some(places::row(place));
    }
    None
}

/// True if the tool's name or one of its arguments announces a removal or a move.
fn takes_away(call: &ToolCall<'_>, all: &[Field]) -> bool {
    const VERBS: [&str; 16] = [
        "delete", "remove", "rm", "rmdir", "rmtree", "unlink", "erase", "wipe", "trash", "move",
        "mv", "rename", "clean", "purge", "chmod", "chown",
    ];
    let says = |text: &str| {
        let mut word = String::new();
        let mut words = Vec::new();
        for letter in text.chars().chain(" ".chars()) {
            if !letter.is_alphanumeric() || letter.is_uppercase() {
                words.push(std::mem::take(&mut word));
            }
            if letter.is_alphanumeric() {
                word.extend(letter.to_lowercase());
            }
        }
        words.iter().any(|word| VERBS.contains(&word.as_str()))
    };
    // For another vendor's tool, only its own name counts, not the server's.
    let named = call.tool.rsplit("__").next().unwrap_or(call.tool);
    let told = |field: &&Field| {
        let name = field.name.to_ascii_lowercase();
        [
            "operation",
            "action",
            "method",
            "command",
            "op",
            "mode",
            "type",
            "kind",
            "verb",
            "function",
        ]
        .contains(&name.as_str())
    };
    says(named) || all.iter().filter(told).any(|field| field.text.len() <= 24 && says(&field.text))
}

/// The texts of a call that may be paths, for a caller that can resolve links.
pub(super) fn paths(call: &ToolCall<'_>, places: &ProtectedPaths) -> Vec<String> {
    let fields = of(call).unwrap_or_default();
    let is_path = |field: &&Field| {
        matches!(field.carries, Carries::Path | Carries::Anything)
            && field.text.len() <= LONGEST_PATH
            && !field.text.contains('\n')
    };
    fields.iter().filter(is_path).map(|field| places.written_out(field.text.trim())).collect()
}

/// The texts of a call that may be command lines; at most 16, because each is parsed.
pub(super) fn lines(call: &ToolCall<'_>) -> Vec<String> {
    let fields = of(call).unwrap_or_default();
    let is_line = |field: &Field| {
        matches!(field.carries, Carries::Command | Carries::Anything)
            && field.text.len() <= LONGEST_PATH
            && field.text.contains(' ')
    };
    fields.into_iter().filter(is_line).take(16).map(|field| field.text).collect()
}

/// The commands that a skill runs when it is loaded.
pub(super) fn skill(situation: &Situation<'_>, call: &ToolCall<'_>) -> Option<RuleHit> {
    let commands = situation.places.skill.iter().flat_map(|skill| &skill.commands);
    commands.into_iter().find_map(|line| bash::refused(situation, call, line)).or_else(|| {
        let name = call.input.skill.as_deref().unwrap_or_default().trim_start_matches('/');
        let own = name.strip_prefix("ralph:").unwrap_or(name);
        (own == "ralph-cancel").then(|| refuse_prompt(format!("/{name}")))
    })
}

/// True for a skill that has the name of a planning skill but may have another text.
pub(super) fn is_borrowed(situation: &Situation<'_>, call: &ToolCall<'_>) -> bool {
    let name = call.input.skill.as_deref().unwrap_or_default();
    is_planning(name.strip_prefix("ralph:").unwrap_or(name))
        && !situation.places.skill.as_ref().is_some_and(|skill| skill.is_shipped)
}

/// True for the planning skills, by any of their names.
pub(super) fn is_planning(skill: &str) -> bool {
    ["ralplan", "rp", "planloop"].contains(&skill)
}

/// True for a tool whose call may touch a protected place.
pub(super) fn matters(tool: &str) -> bool {
    !matches!(
        tools::find(tool).does,
        ToolEffect::Looks | ToolEffect::Questions | ToolEffect::EntersPlan | ToolEffect::LeavesPlan
    )
}

const MANY: &str = "This input is longer than can be read whole, and while a Ralph loop is live it must be \
read before the tool runs. Make several smaller calls, or put the text into a file with the Write tool.";
