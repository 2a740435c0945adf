//! The story as data: each step, and the kind of answer that a loop must give.
//!
//! The answers' words are not here, so the story still plays if Ralph
//! words its reasons differently.

#[derive(Debug, Clone, Copy)]
pub(super) struct StoryStep {
    pub(super) does: Does,
    pub(super) needs: Needs,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Does {
    /// The user types a slash command: its name and its arguments.
    Types(&'static str, &'static [&'static str]),
    /// The agent asks the user a question.
    Asks(&'static str),
    /// The agent writes a file of the project.
    Writes(&'static str, &'static str),
    /// The agent runs a command.
    Runs(&'static str),
    /// The agent says this and wants to end its turn.
    Says(&'static str),
    /// Another session in the same folder wants to end its turn.
    StrangerSays(&'static str),
    /// The user gives a `ralph` command in a terminal.
    Looks(&'static [&'static str]),
}

impl Does {
    /// True for the agent's steps; the others do not wait for its model.
    pub(super) fn is_the_agents(self) -> bool {
        !matches!(self, Does::Types(..) | Does::StrangerSays(_) | Does::Looks(_))
    }
}

/// The kind of answer that a step needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// A loop starts.
    Started,
    /// Nothing prevents the step.
    Allowed,
    /// The tool does not run, and the agent is told why.
    Denied,
    /// The turn does not end, and the agent is told what comes next.
    GoesOn,
    /// Completion was requested; the turn does not end, and each reason is named.
    Refused,
    /// All criteria were run, and hold.
    Proven,
    /// The turn ends, and the loop ends as complete.
    Completed,
    /// The command prints something.
    Shown,
}

const fn step(does: Does, needs: Needs) -> StoryStep {
    StoryStep { does, needs }
}

pub(super) const STORY: [StoryStep; 16] = [
    step(
        Does::Types(
            "ralph",
            &[
                r#""make greet.sh greet" --max-iterations 5"#,
                r#"--ac "it greets=sh greet.sh | grep -q hello""#,
                r#"--ac "by name=sh greet.sh Ann | grep -q Ann""#,
            ],
        ),
        Needs::Started,
    ),
    step(Does::Asks("Which greeting do you want?"), Needs::Denied),
    step(Does::Says("I wrote down what I will do."), Needs::GoesOn),
    step(Does::StrangerSays("I only looked around here."), Needs::Allowed),
    step(Does::Writes("greet.sh", "echo hello\n"), Needs::Allowed),
    step(Does::Says("It works.\n\nRALPH_COMPLETE"), Needs::Refused),
    step(Does::Runs("ralph cancel"), Needs::Denied),
    step(Does::Writes("greet.sh", "echo \"hello ${1:-you}\"\n"), Needs::Allowed),
    step(Does::Runs("ralph verify"), Needs::Proven),
    step(Does::Writes("greet.sh", "echo \"good day, ${1:-you}\"\n"), Needs::Allowed),
    step(Does::Says("Only tidied up.\n\nRALPH_COMPLETE"), Needs::Refused),
    step(Does::Writes("greet.sh", "echo \"hello, ${1:-you}\"\n"), Needs::Allowed),
    step(Does::Runs("git add -A && git commit -qm greet"), Needs::Allowed),
    step(Does::Says("Done.\n\nRALPH_COMPLETE"), Needs::Completed),
    step(Does::Looks(&["checkpoint", "list"]), Needs::Shown),
    step(Does::Looks(&["explain"]), Needs::Shown),
];
