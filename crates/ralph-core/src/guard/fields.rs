//! Judges a tool's input field by field: the content of each field decides, not the tool's name.
//!
//! Another vendor's tool names and nests its fields in any way, and may pass JSON in a string. So
//! every text counts. A text for people may mention anything, so it counts only if the whole text is a
//! command.

use super::places::{self, ProtectedPaths};
use super::tools::{self, Carries, ToolEffect};
use super::{PlanGate, Rule, RuleHit, Situation, ToolCall, bash, ralph_command};
use crate::protocol::registration::COMMANDS;
use crate::shell::LONGEST;
use serde_json::Value;

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
pub(super) fn of(call: &ToolCall<'_>) -> Option<Vec<Field>> {
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
                        name => tools::told(self.tool, name),
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
        let carries = told.unwrap_or_else(|| tools::carries(self.tool, name));
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
    let Some(fields) = of(call) else { return Some((Rule::CutCommand, MANY.to_owned())) };
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
        "This would have the client submit `{command}`, which only a person gives while a loop is live: what you \
         schedule or send is not a person's word. They can type it themselves. Schedule a prompt that says what \
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
    let fields = of(call).unwrap_or_default();
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
        tools::does(tool),
        ToolEffect::Looks | ToolEffect::Questions | ToolEffect::EntersPlan | ToolEffect::LeavesPlan
    )
}

const MANY: &str = "This input is longer than can be read whole, and while a Ralph loop is live it must be \
read before the tool runs. Make several smaller calls, or put the text into a file with the Write tool.";
