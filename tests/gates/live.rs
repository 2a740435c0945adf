//! What the moments cost in which the user or the model waits: figures of one process, without those that it starts (git,
//! `ralph`).

use crate::payloads::USUAL_MESSAGE;
use crate::scene::{Skip, gate, scene};
use crate::strace::{self, SystemCall};
use crate::{memory, valgrind};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A tool call that passes.
    Write,
    /// A tool call that is denied.
    Question,
    /// An edit to which no check applies.
    Written,
    /// A stop that continues the loop.
    Stop { message: usize },
    /// A session's start, with the project's facts.
    Start,
}

const STOP: Event = Event::Stop { message: USUAL_MESSAGE };
const LONG_STOP: Event = Event::Stop { message: 1_000_000 };

const UNITS: [&str; 4] = ["instructions", "system calls", "page faults", "bytes read"];

/// The event, the tasks of its loop if it has one, and bars in the order of [`UNITS`]: some tenth above what was counted. For
/// page faults it is a quarter: builds of the same code with other neighbours differ by as much.
const BARS: [(Event, usize, [u64; UNITS.len()]); 7] = [
    (Event::Write, 8, [230_000, 50, 31, 6_500]),
    (Event::Question, 8, [305_000, 46, 33, 5_500]),
    (Event::Written, 8, [630_000, 100, 86, 17_500]),
    (STOP, 8, [2_020_000, 235, 118, 475_000]),
    (STOP, 1_000, [2_200_000, 290, 230, 1_210_000]),
    (LONG_STOP, 8, [5_100_000, 260, 440, 1_600_000]),
    (Event::Start, 0, [2_050_000, 540, 125, 2_400]),
];

#[test]
fn a_moment_in_which_somebody_waits_costs_no_more_than_its_bars() {
    let mut above = Vec::new();
    for (event, tasks, bars) in BARS {
        let name = format!("{event:?}, {tasks} tasks");
        gate(&name, || {
            for ((unit, counted), bar) in UNITS.iter().zip(count(event, tasks)?).zip(bars) {
                let line = format!("{name}: {counted} {unit}, at most {bar}");
                println!("{line}");
                above.extend((counted > bar).then_some(line));
            }
            Ok(())
        });
    }
    assert!(above.is_empty(), "{above:#?}");
}

fn count(event: Event, tasks: usize) -> Result<[u64; UNITS.len()], Skip> {
    let (run, again) = scene().moment(event, tasks)?;
    // The first stop reads the tasks; the many after it know how they stand.
    run.under("env", &[])?;
    again();
    let instructions = valgrind::instructions(&run)?;
    again();
    let calls = strace::own_calls(&run)?;
    let bytes = calls.iter().map(SystemCall::bytes_read).sum();
    again();
    let faults = memory::page_faults(scene(), &run)?;
    Ok([instructions, calls.len() as u64, faults, bytes])
}
