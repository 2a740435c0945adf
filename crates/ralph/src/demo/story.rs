//! The story as data: each step, and the kind of answer that a loop must give.
//!
//! The answers' words are not here, so the story still plays if Ralph
//! words its reasons differently.

#[derive(Debug, Clone, Copy)]
pub(super) struct StoryStep {
    pub(super) does: StoryAction,
    pub(super) needs: StoryExpectation,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum StoryAction {
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

impl StoryAction {
    /// True for the agent's steps; the others do not wait for its model.
    pub(super) fn is_the_agents(self) -> bool {
        !matches!(
            self,
            StoryAction::Types(..) | StoryAction::StrangerSays(_) | StoryAction::Looks(_)
        )
    }
}

/// The kind of answer that a step needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoryExpectation {
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
    /// All criteria were run, and pass.
    Passed,
    /// The turn ends, and the loop ends as complete.
    Completed,
    /// The command prints something.
    Shown,
}

const fn step(does: StoryAction, needs: StoryExpectation) -> StoryStep {
    StoryStep { does, needs }
}

pub(super) const STORY: [StoryStep; 16] = [
    step(
        StoryAction::Types(
            "ralph",
            &[r#""greet by name" --ac "tests=sh test.sh" --max-iterations 5"#],
        ),
        StoryExpectation::Started,
    ),
    step(StoryAction::Asks("Which greeting do you want?"), StoryExpectation::Denied),
    step(StoryAction::Says("I wrote down what I will do."), StoryExpectation::GoesOn),
    step(StoryAction::StrangerSays("I only looked around here."), StoryExpectation::Allowed),
    step(StoryAction::Writes("greet.sh", GREETS), StoryExpectation::Allowed),
    step(StoryAction::Says("It works.\n\nRALPH_COMPLETE"), StoryExpectation::Refused),
    step(StoryAction::Runs("ralph cancel"), StoryExpectation::Denied),
    step(
        StoryAction::Writes("tests/by-name.sh", "test \"$(sh greet.sh Ann)\" = \"hello Ann\"\n"),
        StoryExpectation::Allowed,
    ),
    step(StoryAction::Runs("ralph verify"), StoryExpectation::Passed),
    step(StoryAction::Writes("greet.sh", "echo \"hello $1\"\n"), StoryExpectation::Allowed),
    step(StoryAction::Says("Tidied.\n\nRALPH_COMPLETE"), StoryExpectation::Refused),
    step(StoryAction::Writes("greet.sh", GREETS), StoryExpectation::Allowed),
    step(StoryAction::Runs("git add -A && git commit -qm greet"), StoryExpectation::Allowed),
    step(StoryAction::Says("Done.\n\nRALPH_COMPLETE"), StoryExpectation::Completed),
    step(StoryAction::Looks(&["checkpoint", "list"]), StoryExpectation::Shown),
    step(StoryAction::Looks(&["explain"]), StoryExpectation::Shown),
];

const GREETS: &str = "echo hello $1\n";

/// The project at the start: its only test does not see whether a name is greeted.
pub(super) const PROJECT: [(&str, &str); 3] = [
    ("greet.sh", "echo hello\n"),
    ("tests/greets.sh", "test \"$(sh greet.sh)\" = \"hello\"\n"),
    ("test.sh", RUNNER),
];

const RUNNER: &str = r#"for test in tests/*; do
    n=$((n + 1))
    if sh "$test"; then echo "ok $n - $test"; else echo "not ok $n - $test"; failed=1; fi
done
echo "1..$n"
exit "${failed:-0}"
"#;
