//! What is on the page: loops as they were last looked at, which of them is selected, what is asked.

use jiff::Timestamp;
use ralph_core::transcript::activity::Doing;

/// All of it.
#[derive(Debug, Clone)]
pub(super) struct Model {
    /// Whose loops these are, in words.
    pub(super) of: String,
    pub(super) loops: Vec<WatchedLoop>,
    /// What could not be read, and why.
    pub(super) unreadable: Vec<String>,
    /// The place in the list.
    pub(super) selected: usize,
    pub(super) asks: InputMode,
    /// What came of the last key.
    pub(super) notice: String,
    /// Whether colours can be seen and are wanted.
    pub(super) colours: bool,
    pub(super) now: Timestamp,
}

/// What the next keys are for. A loop is named, so that no change of the list can put another in its
/// place while a person types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InputMode {
    Nothing,
    Help,
    Steer { loop_id: String, text: String },
    Stop { loop_id: String },
}

/// A loop as it is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct WatchedLoop {
    pub(super) loop_id: String,
    /// `implementation`, `planning: critic_review`, `ended complete`.
    pub(super) state: String,
    pub(super) tone: Tone,
    /// `3/25`.
    pub(super) position: String,
    /// Done, of all.
    pub(super) tasks: (usize, usize),
    pub(super) goal: String,
    /// Labels and values; what is empty is left out.
    pub(super) rows: Vec<(&'static str, String)>,
    pub(super) doing: Option<Doing>,
    /// Used, and the most that may be.
    pub(super) bars: Vec<Bar>,
    /// From the start to the end or to now, and the most that may be, in minutes; none for a loop that
    /// has not begun.
    pub(super) time: Option<Time>,
    pub(super) criteria: Vec<Criterion>,
    /// Newest first.
    pub(super) decisions: Vec<DecisionLine>,
    /// Oldest first.
    pub(super) signals: Vec<SignalView>,
}

/// How something is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Waits,
    Wrong,
    #[default]
    Plain,
    Quiet,
}

#[derive(Debug, Clone)]
pub(super) struct Bar {
    pub(super) label: &'static str,
    pub(super) used: u64,
    pub(super) most: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    pub(super) began: Timestamp,
    pub(super) ended: Option<Timestamp>,
    pub(super) most: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Criterion {
    pub(super) id: String,
    /// What its receipt says, by the tree on which it was taken.
    pub(super) word: &'static str,
    pub(super) tone: Tone,
    /// When it was last run.
    pub(super) at: Option<Timestamp>,
    /// The tests that ran, or why it does not hold.
    pub(super) note: String,
    pub(super) description: String,
}

#[derive(Debug, Clone)]
pub(super) struct DecisionLine {
    pub(super) at: Timestamp,
    /// The event and what was decided.
    pub(super) what: String,
    pub(super) why: String,
}

#[derive(Debug, Clone)]
pub(super) struct SignalView {
    /// False while it waits.
    pub(super) is_heard: bool,
    pub(super) kind: &'static str,
    pub(super) text: String,
}

impl Model {
    /// Takes what was found now. Who was selected stays selected.
    pub(super) fn refresh(&mut self, loops: Vec<WatchedLoop>, unreadable: Vec<String>) {
        let before = self.selected_loop().map(|one| one.loop_id.clone());
        let at = before.and_then(|id| loops.iter().position(|one| one.loop_id == id));
        self.selected = at.unwrap_or(self.selected.min(loops.len().saturating_sub(1)));
        (self.loops, self.unreadable) = (loops, unreadable);
    }

    /// The loop that is selected; none where there is none.
    pub(super) fn selected_loop(&self) -> Option<&WatchedLoop> {
        self.loops.get(self.selected)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{model, shown};
    use super::*;

    #[test]
    fn who_was_selected_stays_so_when_others_come_and_go() {
        let ids = |model: &Model| model.selected_loop().map(|one| one.loop_id.clone());
        let mut model = Model { selected: 1, ..model(vec![shown("a"), shown("b")]) };
        model.refresh(vec![shown("x"), shown("a"), shown("b")], Vec::new());
        assert_eq!(ids(&model).unwrap(), "b");
        model.refresh(vec![shown("x"), shown("a")], Vec::new());
        assert_eq!(ids(&model).unwrap(), "a");
        model.refresh(Vec::new(), Vec::new());
        assert_eq!(ids(&model), None);
    }
}
