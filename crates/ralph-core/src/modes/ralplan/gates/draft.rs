//! Reads criteria and tasks from a plan without its machine-readable part.
//!
//! Plans of other tools are text only. Reading their criteria and steps lets Ralph ask the planner
//! for the missing members alone instead of the whole part.

use super::sections::{self, Found, Section};
use super::{cited, spans};
use crate::shell::vacuous;
use crate::text::truncate::bounded;
use serde_json::{Value, json};

/// Maximum length of a description or a name, in UTF-16 units.
const LONGEST: usize = 160;

/// Maximum number of criteria, and of tasks, taken from one plan.
const MOST: usize = 20;

/// The two lists of the missing part, with `""` for each missing member.
pub(super) struct Draft {
    criteria: Vec<Value>,
    tasks: Vec<Value>,
}

/// Reads criteria and steps; `None` if the text has neither.
pub(super) fn read(text: &str, exists: impl Fn(&str) -> bool) -> Option<Draft> {
    let found = sections::sections(text);
    let of = |section: Section| found.iter().filter(move |one| one.is(section));
    let criteria = of(Section::Criteria).flat_map(|one| items(one)).take(MOST);
    let criteria: Vec<Value> = criteria
        .enumerate()
        .map(|(at, item)| {
            json!({"id": format!("AC-{}", at + 1), "description": said(&item.join(" ")),
                "verification_command": command(&item)})
        })
        .collect();
    // Steps with their own headings take precedence over the items of one list.
    let headed: Vec<Vec<&str>> = of(Section::Steps)
        .filter(|one| one.name.chars().any(|letter| letter.is_ascii_digit()))
        .map(|one| [vec![one.name], one.lines.iter().map(|(_, line)| *line).collect()].concat())
        .collect();
    let steps: Vec<Vec<&str>> = match headed.len() {
        0 | 1 => of(Section::Steps).take(1).flat_map(|one| items(one)).collect(),
        _ => headed,
    };
    let tasks: Vec<Value> = steps
        .into_iter()
        .take(MOST)
        .enumerate()
        .map(|(at, item)| {
            json!({"id": format!("T-{}", at + 1), "name": said(item[0]), "deps": [],
                "files": files(&item.join("\n"), &exists), "completion_condition": ""})
        })
        .collect();
    let is_empty = criteria.is_empty() && tasks.is_empty();
    (!is_empty).then_some(Draft { criteria, tasks })
}

impl Draft {
    /// The missing members, and the block filled with everything that was read.
    pub(super) fn ask(&self) -> String {
        let lacking = |list: &[Value], member: &str| -> String {
            let ids = list.iter().filter(|one| one[member] == "");
            let ids: Vec<&str> = ids.filter_map(|one| one["id"].as_str()).collect();
            match (ids.as_slice(), list.is_empty()) {
                (_, true) => format!("each `{member}`"),
                ([], _) => String::new(),
                (ids, _) => format!("`{member}` of {}", ids.join(", ")),
            }
        };
        let mut missing = vec![
            lacking(&self.criteria, "verification_command"),
            lacking(&self.tasks, "completion_condition"),
            "`deps` of a task that needs another".to_owned(),
        ];
        missing.retain(|one| !one.is_empty());
        let list = |items: &[Value]| {
            items.iter().map(|one| format!("  {one}")).collect::<Vec<_>>().join(",\n")
        };
        format!(
            "Missing in its text: {}. Write this block at the end of the plan, with each \"\" filled in:\n\
             ```json ralph-plan\n{{\"acceptance_criteria\": [\n{}\n], \"task_graph\": [\n{}\n]}}\n```",
            missing.join("; "),
            list(&self.criteria),
            list(&self.tasks)
        )
    }
}

/// The items of a list, or the rows of a table, each with the lines that belong to it.
fn items<'a>(found: &Found<'a>) -> Vec<Vec<&'a str>> {
    let mut items: Vec<Vec<&str>> = Vec::new();
    let mut indent = usize::MAX;
    for (at, (_, line)) in found.lines.iter().enumerate() {
        let depth = line.len() - line.trim_start().len();
        let is_rule = |line: &str| line.chars().all(|one| "|-: ".contains(one));
        let next = found.lines.get(at + 1).map_or("", |(_, next)| *next);
        let is_row = line.trim_start().starts_with('|')
            && !is_rule(line)
            && !(next.contains('|') && is_rule(next));
        if is_row || (item(line).is_some() && depth <= indent) {
            indent = if is_row { usize::MAX } else { depth };
            items.push(vec![line]);
        } else if let Some(last) = items.last_mut().filter(|_| depth > 0) {
            last.push(line);
        }
    }
    items
}

/// The text after an item's mark: `- [ ] x`, `2. x`.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let number = line.trim_start_matches(|one: char| one.is_ascii_digit());
    let rest = match number.len() < line.len() {
        true => number.strip_prefix(". ").or(number.strip_prefix(") ")),
        false => line.strip_prefix("- ").or(line.strip_prefix("* ")).or(line.strip_prefix("+ ")),
    };
    let rest = rest?.trim_start();
    let boxes = ["[ ] ", "[x] ", "[X] "];
    Some(boxes.into_iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest))
}

/// The words of an item, without marks, emphasis and the item's own number.
fn said(text: &str) -> String {
    let text = item(text).unwrap_or(text).replace("**", "").replace("__", "");
    let cells: Vec<&str> = text.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let text = cells.join(": ");
    let is_id = |head: &str| {
        let head = head.trim();
        head.len() <= 12 && head.chars().any(|one| one.is_ascii_digit()) && !head.contains('`')
    };
    let text = match text.split_once(": ") {
        Some((head, rest)) if is_id(head) => rest,
        _ => &text,
    };
    bounded(text.split_whitespace().collect::<Vec<_>>().join(" ").trim(), LONGEST)
}

/// The first span of an item that is a command that could fail; empty if there is none.
fn command(item: &[&str]) -> String {
    let all = item.iter().flat_map(|line| spans(line).0);
    let mut commands = all.map(|(span, _)| span).filter(|span| is_command(span));
    commands.next().unwrap_or_default().to_owned()
}

/// True for a program with arguments. A single word between backticks is a name.
fn is_command(span: &str) -> bool {
    let mut words = span.split_whitespace();
    let is_program = |word: &str| {
        let known = |one: char| one.is_ascii_alphanumeric() || "._-/".contains(one);
        word.starts_with(|one: char| one.is_ascii_lowercase() || one == '.')
            && word.chars().all(known)
    };
    words.next().is_some_and(is_program)
        && words.next().is_some()
        && vacuous::refuse(span).is_none()
}

fn files(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for one in cited::cited(text, exists) {
        if !files.contains(&one.path) {
            files.push(one.path);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str) -> Option<String> {
        read(text, |path| path.starts_with("src")).map(|draft| draft.ask())
    }

    const OLD: &str = "# Login\n\n## Requirements Summary\n\nA form.\n\n## Acceptance Criteria\n\n- [ ] AC1: **the form** posts to \
        /login\n- [ ] `npm test -- login` passes 12 tests\n\n## Implementation Steps\n\n1. **Add the form** in `src/login.ts:3`\n   \
        - with two fields, see `src/field.ts`\n2. Answer 429\n\n## Risks\n\n- slow\n";

    #[test]
    fn criteria_and_steps_of_an_old_plan_are_read_and_the_rest_is_asked_for() {
        let said = ask(OLD).unwrap();
        let (missing, block) = said.split_once("\n```json ralph-plan\n").unwrap();
        assert!(
            missing.starts_with(
                "Missing in its text: `verification_command` of AC-1; `completion_condition` of T-1, T-2; `deps` of"
            ),
            "{missing}"
        );
        let block: Value = serde_json::from_str(block.trim_end_matches("\n```")).unwrap();
        let expected = json!({"acceptance_criteria": [
            {"id": "AC-1", "description": "the form posts to /login", "verification_command": ""},
            {"id": "AC-2", "description": "`npm test -- login` passes 12 tests", "verification_command": "npm test -- login"}],
            "task_graph": [
            {"id": "T-1", "name": "Add the form in `src/login.ts:3`", "deps": [], "files": ["src/login.ts", "src/field.ts"],
             "completion_condition": ""},
            {"id": "T-2", "name": "Answer 429", "deps": [], "files": [], "completion_condition": ""}]});
        assert_eq!(block, expected);
    }

    #[test]
    fn steps_are_headings_too_and_criteria_rows_of_a_table() {
        let text = "## Criteria\n\n| id | what |\n|---|---|\n| AC-1 | the form is there |\n\n## Plan\n\n### Step 1: add it\n\n- in \
                    `src/a.ts`\n\n### Step 2: try it\n\nBy hand.\n";
        let said = ask(text).unwrap();
        for words in [
            "\"description\":\"the form is there\"",
            "\"name\":\"add it\"",
            "\"files\":[\"src/a.ts\"]",
            "\"name\":\"try it\"",
        ] {
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn a_command_that_proves_nothing_is_asked_for_again() {
        for span in ["true", "echo ok", "npm test || true", "login.ts", "User name"] {
            let said = ask(&format!("## Criteria\n- it works: `{span}`\n")).unwrap();
            assert!(
                said.contains("`verification_command` of AC-1; each `completion_condition`"),
                "{said}"
            );
        }
    }

    #[test]
    fn a_text_without_either_is_no_draft() {
        assert_eq!(ask("# Login\n\nAdd a form.\n"), None);
        assert_eq!(ask("## Acceptance criteria\n\nIt works.\n"), None);
    }
}
