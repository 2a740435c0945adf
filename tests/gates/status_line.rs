//! The one time that is held: a status line takes less than 5 ms, with a thousand tasks in the loop.
//!
//! A busy machine makes a start slower and never faster, so the fastest of many is what the program
//! itself takes. Where none was fast enough yet, more are made until a deadline: a program that has
//! become slow fails all the same, and a machine that is busy only makes the gate take longer.

use std::time::{Duration, Instant};

use crate::built::Linkage;
use crate::driver::{Call, Stopwatch};
use crate::programs;
use crate::scene::{Run, Scene, Skip, gate, scene};

const BAR: Duration = Duration::from_millis(5);

/// How many starts are made in any case.
const STARTS: usize = 50;

/// How long a busy machine is asked again.
const PATIENCE: Duration = Duration::from_secs(20);

/// A machine on which an empty program takes this long is busy through and through, or no machine
/// that the promise is about.
const SLOW_MACHINE: Duration = Duration::from_millis(2);

#[test]
fn a_status_line_takes_less_than_5_ms() {
    gate("time of a status line", || {
        let run = scene().status_line()?;
        let [empty, line] = fastest(scene(), &run)?;
        println!("ralph statusline: {line:?} at its fastest; an empty static program: {empty:?}");
        if line > BAR && empty > SLOW_MACHINE {
            return Err(Skip(format!("an empty program takes {empty:?} here")));
        }
        assert!(
            line < BAR,
            "ralph statusline: {line:?} at its fastest, less than {BAR:?} is promised"
        );
        Ok(())
    });
}

/// The fastest start of an empty program and of the status line, started in turn.
fn fastest(scene: &Scene, run: &Run) -> Result<[Duration; 2], Skip> {
    let [stopwatch, empty] = ["stopwatch", "noop"].map(|name| {
        let compiled = programs::compile(name, Linkage::StaticMusl, &scene.scratch);
        compiled.map(|program| program.path).map_err(|e| Skip(format!("{e:#}")))
    });
    let (stopwatch, line) = (stopwatch?, run.call());
    let empty = Call { program: empty?, args: Vec::new(), ..line.clone() };
    let mut watches =
        [&empty, &line].map(|call| Stopwatch::holding(&stopwatch, call).expect("it was compiled"));
    let mut fastest = [Duration::MAX; 2];
    let began = Instant::now();
    for start in 0.. {
        if start >= STARTS && (fastest[1] < BAR || began.elapsed() > PATIENCE) {
            break;
        }
        let [empty, line] =
            watches.each_mut().map(|watch| watch.start().expect("it can be started"));
        assert_eq!((empty.code, line.code), (0, 0), "{}", String::from_utf8_lossy(&line.stderr));
        run.check_answer(&line.stdout);
        fastest = [fastest[0].min(empty.took), fastest[1].min(line.took)];
    }
    Ok(fastest)
}
