//! The page's data: loops as last read, which one is selected, and what is asked.

use jiff::Timestamp;
use ralph_core::transcript::row::Doing;

#[derive(Debug, Clone)]
pub(super) struct Model {
    /// Describes whose loops these are.
    pub(super) of: String,
    pub(super) loops: Vec<WatchedLoop>,
    /// Reasons why loops could not be read.
    pub(super) unreadable: Vec<String>,
    /// An index into `loops`.
    pub(super) selected: usize,
    pub(super) asks: InputMode,
    /// The result of the last key.
    pub(super) notice: String,
    /// Whether colours can be seen and are wanted.
    pub(super) colours: bool,
    pub(super) now: Timestamp,
}

/// What the next keys are for. It names the loop, so that no change of the list can put another
/// loop in its place while the user types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InputMode {
    Nothing,
    Help,
    Steer { loop_id: String, text: String },
    Stop { loop_id: String },
}

#[derive(Debug, Clone, Default)]
pub(super) struct WatchedLoop {
    pub(super) loop_id: String,
    /// `running`, `planning: critic review`, `ended: complete`.
    pub(super) state: String,
    pub(super) tone: TextTone,
    /// `3/25`.
    pub(super) position: String,
    /// Done, and all.
    pub(super) tasks: (usize, usize),
    pub(super) goal: String,
    /// Labels and values, without empty ones.
    pub(super) rows: Vec<(&'static str, String)>,
    pub(super) doing: Option<Doing>,
    pub(super) bars: Vec<Bar>,
    /// None for a loop that has not begun; the limit is in minutes.
    pub(super) time: Option<Time>,
    pub(super) criteria: Vec<Criterion>,
    /// Newest first.
    pub(super) decisions: Vec<DecisionLine>,
    /// Oldest first.
    pub(super) signals: Vec<SignalView>,
}

/// How a text is to be understood; decides its colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TextTone {
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
    /// The receipt's status for the tree it was taken on.
    pub(super) word: &'static str,
    pub(super) tone: TextTone,
    /// When it was last run.
    pub(super) at: Option<Timestamp>,
    /// The tests that ran, or why it does not hold.
    pub(super) note: String,
    pub(super) description: String,
}

#[derive(Debug, Clone)]
pub(super) struct DecisionLine {
    pub(super) at: Timestamp,
    /// The event and the decision.
    pub(super) what: String,
    pub(super) why: String,
}

#[derive(Debug, Clone)]
pub(super) struct SignalView {
    /// False while the signal waits.
    pub(super) is_heard: bool,
    pub(super) kind: &'static str,
    pub(super) text: String,
}

impl Model {
    /// Takes new data. The selected loop stays selected.
    pub(super) fn refresh(&mut self, loops: Vec<WatchedLoop>, unreadable: Vec<String>) {
        let before = self.selected_loop().map(|one| one.loop_id.clone());
        let at = before.and_then(|id| loops.iter().position(|one| one.loop_id == id));
        self.selected = at.unwrap_or(self.selected.min(loops.len().saturating_sub(1)));
        (self.loops, self.unreadable) = (loops, unreadable);
    }

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
