//! How large the proof is.

/// The numbers of one run.
pub(crate) struct Size {
    /// Processes that begin together.
    pub(crate) processes: usize,
    /// Rounds of them for each seed.
    pub(crate) rounds: usize,
    /// Seeds for the mixed rounds.
    pub(crate) seeds: u64,
    /// Times that each ending is raced for.
    pub(crate) races: usize,
    /// Loops on one home.
    pub(crate) loops: usize,
    /// Machines that share a loop.
    pub(crate) machines: usize,
    /// Tasks of a shared loop.
    pub(crate) tasks: usize,
}

const SMALL: Size =
    Size { processes: 24, rounds: 1, seeds: 1, races: 1, loops: 20, machines: 3, tasks: 8 };
const SHORT: Size =
    Size { processes: 64, rounds: 2, seeds: 1, races: 1, loops: 100, machines: 3, tasks: 8 };
const FULL: Size =
    Size { processes: 64, rounds: 20, seeds: 4, races: 10, loops: 1_000, machines: 16, tasks: 200 };

/// The size of this run.
pub(crate) fn size() -> Size {
    match std::env::var("RALPH_PROOF").as_deref() {
        Ok("full") => FULL,
        Ok(_) => SHORT,
        Err(_) => SMALL,
    }
}

/// True for the whole proof.
pub(crate) fn is_full() -> bool {
    std::env::var("RALPH_PROOF").is_ok_and(|proof| proof == "full")
}

/// The size in words.
pub(crate) fn describe() -> String {
    let Size { processes, rounds, seeds, races, loops, machines, tasks } = size();
    format!(
        "({processes} processes, {rounds} rounds of {seeds} seeds, {races} races, {loops} loops; {machines} machines share {tasks} tasks)"
    )
}
