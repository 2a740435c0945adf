//! Reads a document into the members of a plan; a member of the wrong type becomes a problem.

use super::{Plan, Problem};
use crate::state::{Extra, LimitFlag, LoopState};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The plan as written. An error if there is no object to read.
pub(super) fn document(text: &str, problems: &mut Vec<Problem>) -> Result<Plan, Vec<Problem>> {
    let mut members = object(text).map_err(|what| vec![Problem::new("", what)])?;
    Ok(Plan {
        prompt: words(&mut members, "prompt", problems),
        criteria: list(&mut members, "acceptance_criteria", problems),
        tasks: list(&mut members, "task_graph", problems),
        tests_may_change: globs(&mut members, problems),
        context_report: words(&mut members, "context_report", problems),
        max_iterations: max_iterations(&mut members, problems),
        extra: unknown(members),
    })
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let whole = || text.starts_with('[').then(|| text.to_owned());
    let json = match text.starts_with('{') {
        true => Some(text.to_owned()),
        false => block(text).map(|block| block.text).or_else(whole),
    };
    let Some(json) = json else {
        return Err("there is no plan here: a plan is Markdown with checkboxes (`- [ ] TASK`), \
                    `prd.json`, `fix_plan.md`, or a JSON object, alone or in a ```json block of \
                    a Markdown document, as `/ralplan` writes it"
            .to_owned());
    };
    match serde_json::from_str(&json) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err("a plan is a JSON object: write it in braces".to_owned()),
        Err(error) => Err(format!("the plan is not JSON: {error}")),
    }
}

/// A block of a Markdown document that is fenced as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBlock {
    /// The line of its opening fence, from 1.
    pub line: usize,
    /// The text between the fences.
    pub text: String,
}

/// The block that contains the plan: the last
/// ```` ```json ralph-plan ```` block, otherwise the last ```` ```json ```` block. A block without
/// a closing fence ends with the text. Blocks with another language are skipped as a whole, because
/// they may show a plan as an example.
pub fn block(text: &str) -> Option<JsonBlock> {
    let (mut last, mut named) = (None, None);
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some((fence, kind)) = opening(line) else { continue };
        let inside: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !closes(line, fence)).collect();
        let mut words = kind.split_whitespace();
        if words.next().is_some_and(|word| word.eq_ignore_ascii_case("json")) {
            let place = if words.any(|word| word == "ralph-plan") { &mut named } else { &mut last };
            *place = Some(JsonBlock { line: at + 1, text: inside.join("\n") });
        }
    }
    named.or(last)
}

/// The fence characters and the words after them.
pub(crate) fn opening(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let (fence, rest) = line.split_at(line.len() - line.trim_start_matches(mark).len());
    (fence.len() >= 3).then_some((fence, rest))
}

/// True for the line that closes this fence.
pub(crate) fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.chars().all(|mark| fence.starts_with(mark))
}

fn words(members: &mut Map<String, Value>, name: &str, problems: &mut Vec<Problem>) -> String {
    match members.remove(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(_) => {
            problems.push(Problem::new(name, "not text; write a string"));
            String::new()
        }
    }
}

fn list<T: DeserializeOwned>(
    members: &mut Map<String, Value>,
    name: &str,
    problems: &mut Vec<Problem>,
) -> Vec<T> {
    let items = match members.remove(name) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => {
            problems.push(Problem::new(name, "not a list; write `[…]`"));
            return Vec::new();
        }
    };
    let mut read = Vec::with_capacity(items.len());
    for (at, item) in items.into_iter().enumerate() {
        let place = format!("{name}[{at}]");
        match item {
            Value::Object(_) => match serde_json::from_value(item) {
                Ok(item) => read.push(item),
                Err(error) => problems.push(Problem::new(place, error.to_string())),
            },
            _ => problems.push(Problem::new(place, "not an object; write `{…}`")),
        }
    }
    read
}

fn globs(members: &mut Map<String, Value>, problems: &mut Vec<Problem>) -> Vec<String> {
    const NAME: &str = "tests_may_change";
    let Some(given) = members.remove(NAME).filter(|given| !given.is_null()) else {
        return Vec::new();
    };
    serde_json::from_value(given).unwrap_or_else(|_| {
        problems.push(Problem::new(NAME, "not a list of patterns such as `[\"tests/api/**\"]`"));
        Vec::new()
    })
}

/// The rule of the flag applies, so that a plan cannot set what a person could not type.
fn max_iterations(members: &mut Map<String, Value>, problems: &mut Vec<Problem>) -> Option<u32> {
    let given = match members.remove("max_iterations")? {
        Value::Null => return None,
        Value::Number(number) => number.to_string(),
        other => other.to_string(),
    };
    match LimitFlag::MaxIterations.parse(&given) {
        Some(number) => u32::try_from(number).ok(),
        None => {
            let most = LimitFlag::MaxIterations.most();
            let what = format!("not a whole number from 1 to {most}, but `{given}`");
            problems.push(Problem::new("max_iterations", what));
            None
        }
    }
}

/// Members that the state does not know. The state's other members (`phase`, `iteration`,
/// `completion` …) are written by the loop: a plan that contains them, like a copy of a state file,
/// does not set them.
fn unknown(members: Map<String, Value>) -> Extra {
    members.into_iter().filter(|(name, _)| !is_of_state(name)).collect()
}

/// Asks the state itself. A list of its names would miss the next one, and a member that counts as
/// unknown here is written beside the state's own members and read back as one of them.
fn is_of_state(name: &str) -> bool {
    let alone = Map::from_iter([(name.to_owned(), Value::Null)]);
    match serde_json::from_value::<LoopState>(Value::Object(alone)) {
        Ok(state) => !state.extra.contains_key(name),
        // Only a member that the state knows can have a type that it refuses.
        Err(_) => true,
    }
}
