//! What the model, its agents and the person may do.

use super::{Plans, Text, World};
use ralph_core::modes::ralplan::Role;

/// One happening.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// A tool is called.
    Tool(Who, Tool),
    /// An agent of this role and id ends with this message.
    Report(Role, usize, Says),
    /// A person does something.
    Person(Wish),
}

/// Who calls a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Who {
    /// The main conversation.
    Main,
    /// An agent of the planning.
    Agent(&'static str),
}

/// The subagents that may be alive: those of the planning, and one that was called before it.
pub(super) const WHO: [Who; 6] = [
    Who::Main,
    Who::Agent("ralplan-planner"),
    Who::Agent("ralph:ralplan-planner"),
    Who::Agent("ralplan-architect"),
    Who::Agent("ralplan-critic"),
    Who::Agent("general-purpose"),
];

/// A tool call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tool {
    /// An agent of the planning, with this prompt.
    Call(Role, Prompt),
    /// AskUserQuestion.
    Ask(Question),
    /// The one with this number in [`OTHERS`].
    Other(usize),
}

/// The prompt of an agent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prompt {
    /// What the next step says.
    Told,
    /// The plan's path and the digits of this text; of none where it is 0.
    Naming(Text),
}

/// A question to the person.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Question {
    /// The one that the next step says.
    Told,
    /// One in the model's words that names this text.
    Naming(Text),
    /// The right one, with an answer brought along.
    Answered,
    /// One about something else.
    Else,
}

/// What a tool does where it is let through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Does {
    /// Nothing.
    Reads,
    /// Changes the project, or begins work on it.
    Changes,
    /// Writes the next text into the plan's file.
    WritesPlan,
    /// Removes it.
    RemovesPlan,
    /// Removes the project's own document, which a person may do to cancel.
    RemovesDocument,
    /// Says what only a person may say.
    Approves,
    /// Asks for approval by the client's own dialog.
    LeavesPlanMode,
}

/// A tool, its one text, and what it does.
pub(super) const OTHERS: [(&str, &str, Does); 31] = [
    ("Write", "/project/.omc/plans/a.md", Does::WritesPlan),
    ("Edit", "/project/.omc/plans/a.md", Does::WritesPlan),
    ("Write", "/project/src/a.rs", Does::Changes),
    ("Edit", "/project/.omc/plans/../../src/a.rs", Does::Changes),
    ("NotebookEdit", "/project/a.ipynb", Does::Changes),
    ("Write", "/project/.omc/ralplan-state.json", Does::Changes),
    ("Bash", "grep -rn TODO src", Does::Reads),
    ("Bash", "cat .omc/plans/a.md | head -5", Does::Reads),
    ("Bash", "ralph ralplan status", Does::Reads),
    ("Bash", "git checkout -b x", Does::Changes),
    ("Bash", "env X=1 git branch y", Does::Changes),
    ("Bash", "bash -c 'touch src/a.rs'", Does::Changes),
    ("Bash", "echo $(rm src/a.rs)", Does::Changes),
    ("Bash", "cat <<E >src/a.rs\nx\nE", Does::Changes),
    ("Bash", "./earlier.sh", Does::Changes),
    ("Bash", "echo x > .omc/plans/a.md", Does::WritesPlan),
    ("Bash", "rm .omc/plans/a.md", Does::RemovesPlan),
    ("Bash", "rm .omc/ralplan-state.json", Does::RemovesDocument),
    ("Bash", "mv .omc x", Does::RemovesDocument),
    ("Bash", "ralph ralplan approve", Does::Approves),
    ("Bash", "env RALPH_HOME=/x ralph ralplan approve", Does::Approves),
    ("Bash", "ralph start x", Does::Changes),
    ("Bash", "ralph cancel", Does::Changes),
    ("Skill", "ralph", Does::Changes),
    ("Skill", "ralph:ralph-plan", Does::Changes),
    ("Skill", "ralplan", Does::Reads),
    ("Agent", "ralph-worker", Does::Changes),
    ("Agent", "general-purpose", Does::Changes),
    ("ExitPlanMode", "", Does::LeavesPlanMode),
    ("mcp__other__tool", "", Does::Changes),
    ("Read", "/project/src/a.rs", Does::Reads),
];

/// The last message of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// `PLAN_READY:` with the plan's path.
    Ready,
    /// The same of a plan that fails a gate.
    ReadyFailing,
    /// The same of a file that is no plan.
    ReadyElsewhere,
    /// A question for the architect, and `PLAN_READY:`.
    Asks,
    /// Answers of an architect.
    Answers,
    /// OKAY on this text; on none where it is 0.
    Okay(Text),
    /// REJECT of this text.
    Reject(Text),
    /// REJECT of this text with a question for the architect.
    RejectAsking(Text),
    /// Prose in which no format is.
    Prose,
    /// Nothing.
    Nothing,
}

/// What a person does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wish {
    /// Answers the question that stands before them.
    Answers(Answer),
    /// `ralph ralplan approve`, `adjust` or `discard` in a terminal.
    Says(Answer),
    /// Writes this text into the plan's file; removes it where it is 0.
    Edits(Text),
    /// Removes the project's own document.
    RemovesDocument,
    /// Pauses the loop.
    Pauses,
    /// Takes it up.
    Resumes,
    /// Cancels it.
    Cancels,
}

/// What a person says of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Go on with it.
    Proceed,
    /// Plan it anew.
    Adjust,
    /// Something in their own words.
    Free,
    /// Leave it.
    Discard,
    /// Nothing.
    Silence,
}

/// The ids that agents have.
pub(super) const IDS: [&str; 2] = ["a", "b"];

/// What may happen now.
pub(super) fn possible(model: &Plans, world: &World, acts: &mut Vec<Act>) {
    tools(model, acts);
    reports(model, acts);
    persons(model, world, acts);
}

fn tools(model: &Plans, acts: &mut Vec<Act>) {
    for who in WHO {
        acts.extend((0..OTHERS.len()).map(|one| Act::Tool(who, Tool::Other(one))));
        acts.push(Act::Tool(who, Tool::Ask(Question::Told)));
    }
    let mut main = |tool| acts.push(Act::Tool(Who::Main, tool));
    for role in Role::ALL {
        main(Tool::Call(role, Prompt::Told));
        (0..=model.texts).for_each(|text| main(Tool::Call(role, Prompt::Naming(text))));
    }
    (0..=model.texts).for_each(|text| main(Tool::Ask(Question::Naming(text))));
    main(Tool::Ask(Question::Answered));
    main(Tool::Ask(Question::Else));
}

fn reports(model: &Plans, acts: &mut Vec<Act>) {
    for id in 0..IDS.len() {
        let planner = [
            Says::Ready,
            Says::ReadyFailing,
            Says::ReadyElsewhere,
            Says::Asks,
            Says::Okay(1),
            Says::Prose,
        ];
        acts.extend(planner.map(|says| Act::Report(Role::Planner, id, says)));
        acts.extend([Says::Prose, Says::Ready].map(|says| Act::Report(Role::Critic, id, says)));
        for text in 0..=model.texts {
            acts.extend(
                [Says::Okay(text), Says::Reject(text), Says::RejectAsking(text)]
                    .map(|says| Act::Report(Role::Critic, id, says)),
            );
        }
    }
    acts.extend(
        [Says::Answers, Says::Prose, Says::Ready, Says::Okay(1)]
            .map(|says| Act::Report(Role::Architect, 0, says)),
    );
    acts.extend(
        [Says::Prose, Says::Nothing, Says::Okay(1)]
            .map(|says| Act::Report(Role::GapFinder, 0, says)),
    );
}

fn persons(model: &Plans, world: &World, acts: &mut Vec<Act>) {
    let mut person = |wish| acts.push(Act::Person(wish));
    let all = [Answer::Proceed, Answer::Adjust, Answer::Free, Answer::Discard, Answer::Silence];
    if world.asked.is_some() {
        all.into_iter().for_each(|answer| person(Wish::Answers(answer)));
    }
    [Answer::Proceed, Answer::Adjust, Answer::Discard]
        .into_iter()
        .for_each(|answer| person(Wish::Says(answer)));
    (0..=model.texts).filter(|text| *text != world.text).for_each(|text| person(Wish::Edits(text)));
    person(Wish::RemovesDocument);
    person(Wish::Cancels);
    if model.rests {
        person(Wish::Pauses);
        person(Wish::Resumes);
    }
}
