//! The prompts of refinement and their variables.
//!
//! A variable is `${NAME}`. Its value is inserted as text and is not expanded again. A name without
//! a value is an error, not an empty string. `$${` is a literal `${`.

use super::contract;
use crate::tasks::plan::opening;

/// Replaces every variable of the prompt.
///
/// # Errors
/// All errors in the prompt, each with its line: names without a value, and variables that do not end on their line.
pub fn render(template: &str, given: &[(&str, &str)]) -> Result<String, Vec<String>> {
    let (mut text, mut flaws) = (String::with_capacity(template.len()), Vec::new());
    for (at, line) in template.split_inclusive('\n').enumerate() {
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('$') {
                text.push_str(before);
                text.push_str("${");
                rest = after;
                continue;
            }
            text.push_str(before);
            let mut flaw = |what| flaws.push(format!("line {}: {what}", at + 1));
            let Some((name, behind)) = after.split_once('}') else {
                flaw("`${` has no `}` on its line; write `$${` for the two letters".to_owned());
                rest = "";
                break;
            };
            match given.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => text.push_str(value),
                None => flaw(unknown(name, given)),
            }
            rest = behind;
        }
        text.push_str(rest);
    }
    if flaws.is_empty() { Ok(text) } else { Err(flaws) }
}

fn unknown(name: &str, given: &[(&str, &str)]) -> String {
    let names: Vec<String> = given.iter().map(|(known, _)| format!("`${{{known}}}`")).collect();
    let there_are = match names.is_empty() {
        true => "there are none".to_owned(),
        false => format!("there are {}", names.join(", ")),
    };
    format!("`${{{name}}}` is not a variable of this prompt; {there_are}")
}

pub mod variable {
    /// The refinement's name.
    pub const SESSION_NAME: &str = "SESSION_NAME";
    pub const PLAN_FILE: &str = "PLAN_FILE";
    pub const ROUND: &str = "ROUND";
    pub const MAX_ROUNDS: &str = "MAX_ROUNDS";
    /// Where the tasks are, and how to read and change them: [`super::Tracker::how`].
    pub const TASKS: &str = "TASKS";
    /// The subject of a review.
    pub const SUBJECT: &str = "SUBJECT";
    /// The user's additional request.
    pub const WISH: &str = "WISH";
    /// The plans to merge into one, one on each line.
    pub const OTHER_PLANS: &str = "OTHER_PLANS";
}

/// A prompt that comes with Ralph. Each is a file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    /// A round on beads or tasks.
    BeadRefiner,
    /// A round on a plan.
    PlanImprover,
    /// Collects ideas, once.
    IdeaWizard,
    /// The first reading of a fresh session.
    ContextLoader,
    /// What a session examines after the context loader.
    PostContext,
    /// Merges several plans into one.
    Synthesizer,
    /// A command line for agents, as part of a plan.
    RobotMode,
}

impl Prompt {
    pub const ALL: [Prompt; 7] = [
        Prompt::BeadRefiner,
        Prompt::PlanImprover,
        Prompt::IdeaWizard,
        Prompt::ContextLoader,
        Prompt::PostContext,
        Prompt::Synthesizer,
        Prompt::RobotMode,
    ];

    /// The prompt's name, which is its file name without `.md`.
    pub fn name(self) -> &'static str {
        match self {
            Prompt::BeadRefiner => "bead-refiner",
            Prompt::PlanImprover => "plan-improver",
            Prompt::IdeaWizard => "idea-wizard",
            Prompt::ContextLoader => "context-loader",
            Prompt::PostContext => "post-context",
            Prompt::Synthesizer => "synthesizer",
            Prompt::RobotMode => "robot-mode",
        }
    }

    /// The variables available to the prompt; it does not have to use all of them.
    pub fn variables(self) -> &'static [&'static str] {
        use variable::*;
        match self {
            Prompt::BeadRefiner => &[SESSION_NAME, ROUND, MAX_ROUNDS, TASKS],
            Prompt::PlanImprover => &[SESSION_NAME, ROUND, MAX_ROUNDS, PLAN_FILE],
            Prompt::IdeaWizard => &[SESSION_NAME, TASKS, WISH],
            Prompt::ContextLoader => &[SESSION_NAME, WISH],
            Prompt::PostContext => &[SESSION_NAME, SUBJECT, WISH],
            Prompt::Synthesizer => &[SESSION_NAME, PLAN_FILE, OTHER_PLANS],
            Prompt::RobotMode => &[SESSION_NAME, PLAN_FILE, WISH],
        }
    }
}

/// The folders with a project's own prompts, as `NAME.md`; the first folder that has the file wins.
pub const PLACES: [&str; 2] = [".claude/refine/prompts", "scripts/refine/prompts"];

/// How the last part of each of our prompts begins.
const ENDING: &str = "## How to end";

impl Prompt {
    /// A project's text, followed by what it lacks of our own: the variable without which a round cannot
    /// do anything, and what the answer must end with.
    pub fn completed(self, text: String, ours: &str) -> String {
        let needed = match self {
            Prompt::BeadRefiner | Prompt::IdeaWizard => "${TASKS}",
            Prompt::PlanImprover => "Plan: `${PLAN_FILE}`. Write only to this file.",
            _ => "",
        };
        let is_named = needed.split('`').any(|part| part.starts_with('$') && text.contains(part));
        let is_block = |line| opening(line).is_some_and(|(_, kind)| kind.trim() == "jsonl");
        let asks_ideas = self != Prompt::IdeaWizard || text.lines().any(is_block);
        let ends = asks_ideas && contract::lacking(&text).is_empty();
        let ending = ours.find(ENDING).and_then(|at| ours.get(at..)).filter(|_| !ends);
        let lacks = (!is_named && !needed.is_empty()).then_some(needed).into_iter().chain(ending);
        lacks.fold(text, |text, part| format!("{text}\n\n{part}"))
    }

    /// Why a project's text cannot be this prompt, one sentence for each reason; empty if it can.
    pub fn flaws(self, text: &str) -> Vec<String> {
        let mut flaws = Vec::new();
        if text.trim().is_empty() {
            flaws.push("it is empty".to_owned());
        }
        if text.trim_start().starts_with('/') {
            flaws.push("it begins with `/`, which the client takes for a command".to_owned());
        }
        if text.contains('\0') {
            flaws.push("it holds a NUL character".to_owned());
        }
        let given: Vec<(&str, &str)> = self.variables().iter().map(|name| (*name, "x")).collect();
        flaws.extend(render(text, &given).err().unwrap_or_default());
        flaws
    }
}

/// Where the tasks are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracker {
    Beads,
    /// The project's own task graph.
    TaskGraph,
}

impl Tracker {
    /// The same for a headless client, which hands Ralph's own tasks over in its last message: it
    /// cannot pass JSON in a shell command in most permission modes.
    pub fn how_headless(self) -> &'static str {
        match self {
            Tracker::Beads => self.how(),
            Tracker::TaskGraph => {
                "The tasks are those of Ralph's own graph. `ralph task list --all --markdown` shows \
                 them with all that is known. To change them, write the whole list into your last \
                 message, before the two lines it ends with: one JSON object on each line between \
                 ```jsonl and ```, one line for each task that there is to be: \
                 `{\"id\":\"T-1\",\"name\":\"…\",\"deps\":[],\"completion_condition\":\"…\",\"files\":[\"…\"]}`. \
                 Ralph reads it there. It removes a task without a line, but for one that is done or \
                 being worked on. Without such a list the tasks stay as they are."
            }
        }
    }

    /// Where the tasks are and how to change them, for a prompt.
    pub fn how(self) -> &'static str {
        match self {
            Tracker::Beads => {
                "The tasks are beads, kept by `bd`. `bd list --json` shows all, `bd show ID \
                 --json` one with its dependencies. Change them by `bd create`, `bd update ID`, \
                 `bd dep add`, `bd dep remove` and `bd close ID --reason`; each explains its \
                 options with `--help`. Never edit the files below `.beads/`."
            }
            Tracker::TaskGraph => {
                "The tasks are those of Ralph's task graph. `ralph task list --all --markdown` \
                 shows them in full. Change them by `ralph plan-sync` with one JSON object on each \
                 line of standard input, one line for each task: \
                 `{\"id\":\"T-1\",\"name\":\"…\",\"deps\":[],\"completion_condition\":\"…\",\"files\":[\"…\"]}`. \
                 A task without a line is removed, unless it is done or claimed. `--dry-run` only \
                 shows the changes."
            }
        }
    }
}

#[cfg(test)]
mod tests;
