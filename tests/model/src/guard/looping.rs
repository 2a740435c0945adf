//! The guard's column of the Ralph loop, and of refinement in the foreground.

use super::{Cell, Touches};
use ralph_core::guard::LoopActivity;

/// What is promised of a call.
pub(super) fn cell(standing: LoopActivity, tool: &str, touches: Touches) -> Cell {
    let runs = standing != LoopActivity::Paused;
    // Before the baseline nothing may change, and what could change something is not told apart.
    let waits = standing == LoopActivity::AwaitingBaseline;
    let deny_if = |denied| if denied { Cell::Deny } else { Cell::Allow };
    match (tool, touches) {
        ("AskUserQuestion" | "EnterPlanMode", _) => deny_if(runs),
        ("ExitPlanMode", _) => Cell::Allow,
        ("Agent" | "Task", _) => deny_if(waits),
        (_, Touches::Protected | Touches::PersonsCommand | Touches::Cut) => Cell::Deny,
        ("Bash" | "Monitor", Touches::ModelsCommand) => Cell::Allow,
        // A tool that nobody knows may change something.
        ("mcp__other__tool" | "SomeToolOfTomorrow", _) => deny_if(waits),
        ("Bash" | "Monitor" | "Write" | "Edit" | "MultiEdit" | "NotebookEdit", _) => deny_if(waits),
        _ => Cell::Allow,
    }
}
