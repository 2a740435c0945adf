//! What receipts are worth: every history of runs, edits and acceptances, up to a length.
//!
//! The rule keeps one receipt and a few numbers with each criterion. The oracle here keeps the whole
//! history and reads the promise from it, so that nothing the rule forgot can be forgotten twice.

use crate::explore::{Broken, Promise, Remembers, broken_by, properties};
use ralph_core::evidence::receipt::{self, ReceiptStatus};
use ralph_core::state::{Criterion, CriterionRunner, Receipt};
use stateright::{Model, Property};
use std::hash::{Hash, Hasher};

/// The model; a history is at most so long.
pub struct Receipts {
    /// How long.
    pub longest: usize,
    /// How many trees there are.
    pub trees: u8,
}

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Happens {
    /// The tree is changed to this one.
    Edit(u8),
    /// The command is run.
    Run(Outcome),
    /// The criterion's command is changed to the other one.
    ChangeCommand,
    /// A person accepts the count of tests.
    Accept,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// With exit code 0, and this many tests.
    Pass(u64),
    /// With exit code 0, and nobody knows how many tests ran.
    PassUncounted,
    /// With another exit code.
    Fail,
    /// With exit code 0, and the runner says that no test ran.
    Vacuous,
    /// With exit code 0; it leaves this tree each time it runs.
    Rewrites(u8),
}

impl Outcome {
    /// All of them, for so many trees.
    pub fn all(trees: u8) -> Vec<Outcome> {
        let plain = [
            Outcome::Pass(2),
            Outcome::Pass(1),
            Outcome::PassUncounted,
            Outcome::Fail,
            Outcome::Vacuous,
        ];
        plain.into_iter().chain((0..trees).map(Outcome::Rewrites)).collect()
    }

    /// The tree after a run on this one.
    pub fn leaves(self, tree: u8) -> u8 {
        match self {
            Outcome::Rewrites(other) => other,
            _ => tree,
        }
    }

    /// The receipt of such a run.
    pub fn receipt(self, command: &str, tree: u8) -> Receipt {
        let leaves = self.leaves(tree);
        let passed = self != Outcome::Fail;
        Receipt {
            command: command.to_owned(),
            by: CriterionRunner::Hook,
            passed,
            exit_code: Some(i32::from(!passed)),
            tests_run: match self {
                Outcome::Pass(n) => Some(n),
                Outcome::Vacuous => Some(0),
                _ => None,
            },
            vacuous: if self == Outcome::Vacuous { "no test ran".into() } else { String::new() },
            tree_before: name_of(tree),
            tree_after: name_of(leaves),
            rewrote: if leaves == tree { Vec::new() } else { vec!["a file".to_owned()] },
            tail: format!("{self:?}"),
            ..Receipt::default()
        }
    }
}

/// The id of a tree.
pub fn name_of(tree: u8) -> String {
    format!("tree {tree}")
}

const COMMANDS: [&str; 2] = ["cargo test", "true"];

/// A criterion, the tree, and all that ever happened.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    criterion: Criterion,
    tree: u8,
    history: Vec<Happens>,
    broken: Broken,
}

// The rest follows from it.
impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.history, self.broken).hash(hasher);
    }
}

impl Remembers for State {
    fn broken(&self) -> Broken {
        self.broken
    }
}

/// What the history says, read from its beginning.
struct Truth {
    /// The run of the present command that happened last, and the tree before and after it.
    last: Option<(Outcome, u8, u8)>,
    /// True if a run failed on the tree that the last one left, with nothing but runs of the same
    /// command on that tree since.
    failed_here: bool,
    /// Passes at the end of these.
    passes: usize,
    /// Tests that there must be.
    expected: u64,
}

fn truth(history: &[Happens]) -> Truth {
    let (mut tree, mut command) = (0, 0);
    let mut runs: Vec<Ran> = Vec::new();
    let mut expected = None;
    for happens in history {
        match *happens {
            Happens::Edit(to) => tree = to,
            Happens::ChangeCommand => command = 1 - command,
            Happens::Run(outcome) => {
                if let (None, Outcome::Pass(n)) = (expected, outcome) {
                    expected = Some(n);
                }
                let after = outcome.leaves(tree);
                let good = is_good(outcome, tree, expected.unwrap_or(0));
                runs.push(Ran { command, outcome, before: tree, after, good });
                tree = after;
            }
            Happens::Accept => {
                let last = runs.last().filter(|run| run.command == command);
                match last.map(|run| (run.outcome, run.before == run.after)) {
                    Some((Outcome::Pass(n), _)) if expected.is_some_and(|most| n < most) => {
                        expected = Some(n);
                    }
                    Some((Outcome::PassUncounted | Outcome::Rewrites(_), true)) => expected = None,
                    _ => {}
                }
            }
        }
    }
    let last = runs.last().filter(|run| run.command == command);
    let here: Vec<&Ran> = runs
        .iter()
        .rev()
        .take_while(|run| {
            last.is_some_and(|last| run.command == last.command && run.after == last.after)
        })
        .collect();
    Truth {
        last: last.map(|run| (run.outcome, run.before, run.after)),
        failed_here: here.iter().skip(1).any(|run| run.outcome == Outcome::Fail),
        passes: here.iter().take_while(|run| run.good).count(),
        expected: expected.unwrap_or(0),
    }
}

/// A run that happened.
struct Ran {
    command: usize,
    outcome: Outcome,
    before: u8,
    after: u8,
    good: bool,
}

/// Whether a run by itself proves something of the tree that it was made on.
fn is_good(outcome: Outcome, tree: u8, expected: u64) -> bool {
    match outcome {
        Outcome::Pass(n) => n >= expected,
        // Once tests were counted, silence proves nothing.
        Outcome::PassUncounted => expected == 0,
        Outcome::Rewrites(to) => to == tree && expected == 0,
        Outcome::Fail | Outcome::Vacuous => false,
    }
}

impl Truth {
    /// Whether the criterion is proven on this tree, by the words of the promise: the command
    /// passed, ran tests and no fewer than at first, changed nothing, the tree is still that one, and
    /// where it failed before on this tree it has passed twice in a row since.
    fn proves(&self, tree: u8) -> bool {
        let Some((outcome, before, after)) = self.last else { return false };
        let good = is_good(outcome, before, self.expected);
        good && before == after && after == tree && (!self.failed_here || self.passes >= 2)
    }
}

const PROMISES: &[Promise<State>] = &[
    Promise {
        name: "a receipt holds exactly when the whole history proves its criterion",
        kept: |state| {
            (standing(state) == ReceiptStatus::Passes) == truth(&state.history).proves(state.tree)
        },
    },
    Promise {
        name: "a tree that changed makes a receipt stale, whatever it said",
        kept: |state| {
            let moved = truth(&state.history).last.is_some_and(|(.., after)| after != state.tree);
            !moved || standing(state) == ReceiptStatus::Stale
        },
    },
    Promise {
        name: "a command that was not run has no receipt",
        kept: |state| {
            truth(&state.history).last.is_some() || standing(state) == ReceiptStatus::NotRun
        },
    },
    Promise {
        name: "the mark for people follows the last run",
        kept: |state| match state.history.last() {
            Some(Happens::Run(_)) => {
                state.criterion.verified == (standing(state) == ReceiptStatus::Passes)
            }
            _ => true,
        },
    },
    Promise {
        name: "what failed is run again only when something may have changed",
        kept: |state| !(standing(state).is_a_failure() && standing(state).wants_a_run()),
    },
];

fn standing(state: &State) -> ReceiptStatus {
    receipt::criterion_status(&state.criterion, Some(&name_of(state.tree)))
}

impl Model for Receipts {
    type State = State;
    type Action = Happens;

    fn init_states(&self) -> Vec<State> {
        let criterion = Criterion {
            id: "AC-1".to_owned(),
            verification_command: COMMANDS[0].to_owned(),
            ..Criterion::default()
        };
        vec![State { criterion, tree: 0, history: Vec::new(), broken: 0 }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Happens>) {
        if state.history.len() >= self.longest || state.broken != 0 {
            return;
        }
        actions.extend((0..self.trees).filter(|to| *to != state.tree).map(Happens::Edit));
        actions.extend(Outcome::all(self.trees).into_iter().map(Happens::Run));
        actions.extend([Happens::ChangeCommand, Happens::Accept]);
    }

    fn next_state(&self, before: &State, happens: Happens) -> Option<State> {
        let mut state = before.clone();
        state.history.push(happens);
        let criterion = &mut state.criterion;
        match happens {
            Happens::Edit(to) => state.tree = to,
            Happens::ChangeCommand => {
                let other = COMMANDS.iter().find(|one| **one != criterion.verification_command)?;
                criterion.verification_command = (*other).to_owned();
            }
            Happens::Accept => drop(receipt::accept(criterion)),
            Happens::Run(outcome) => {
                let receipt = outcome.receipt(&criterion.verification_command, state.tree);
                receipt::record(criterion, receipt);
                state.tree = outcome.leaves(state.tree);
            }
        }
        state.broken = broken_by(PROMISES, &state);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties(PROMISES)
    }
}
