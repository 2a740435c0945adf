//! The table of cases: everything that writes, each in a situation in which it does.

mod commands;
mod hooks;
mod planning;
mod ralplan;
mod refining;
mod sessions;

use crate::world::World;
use serde_json::Value;

/// Who starts the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The client, as a hook.
    Client,
    /// The model, in the session's shell.
    Model,
    /// A person in another terminal.
    Person,
}

/// What is run and struck.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub(crate) program: &'static str,
    pub(crate) args: Vec<String>,
    pub(crate) stdin: String,
    pub(crate) who: Who,
}

/// One thing that writes.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The command of `ralph` that it is about; none for a hook.
    pub(crate) command: Option<&'static str>,
    pub(crate) set: fn() -> World,
    pub(crate) act: fn(&World) -> Act,
    /// What must be possible afterwards, and what it must lead to. True says that the act was
    /// answered: then it has happened, whatever came later.
    pub(crate) then: fn(&World, bool),
    /// The exit code of an untouched run that has something to say on standard error.
    pub(crate) code: i32,
    /// What strace injects throughout.
    pub(crate) also: &'static [&'static str],
    /// Whether the processes that it starts are struck as well.
    pub(crate) has_family: bool,
    /// Whether it moves a branch, or a reference of a remote. The model of a power cut leaves git's folders
    /// as they were before, which beside files that have moved is a moment that never was.
    pub(crate) moves_branch: bool,
    /// Whether its last line of the journal follows the answer: what could not be noted as delivered is
    /// delivered again.
    pub(crate) delivers: bool,
}

/// What most cases share.
const CASE: Case = Case {
    name: "",
    command: None,
    set: World::new,
    act: |_| unreachable!("each case says what it does"),
    then: |_, _| {},
    code: 0,
    also: &[],
    has_family: false,
    moves_branch: false,
    delivers: false,
};

/// All of them.
pub(crate) fn all() -> Vec<&'static Case> {
    let hooks = hooks::CASES.iter().chain(planning::CASES);
    let commands = commands::CASES.iter().chain(ralplan::CASES).chain(refining::CASES);
    hooks.chain(commands).chain(sessions::CASES).collect()
}

/// A hook at an event of the session.
fn hook(world: &World, program: &'static str, event: &str, members: Value) -> Act {
    let stdin = world.payload(event, members).to_string();
    Act { program, args: Vec::new(), stdin, who: Who::Client }
}

/// A command that a person gives in another terminal.
fn person(args: &[&str]) -> Act {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    Act { program: "ralph", args, stdin: String::new(), who: Who::Person }
}

/// A command that the model gives in the session.
fn model(args: &[&str]) -> Act {
    Act { who: Who::Model, ..person(args) }
}
