//! Asks the `ralph` executable that stands beside this one.

use anyhow::{Context, Result, bail};
use ralph_core::state::Via;
use ralph_io::process::{self, Ask};
use std::time::Duration;

/// Shorter than the hook's own timeout of ten seconds.
const DEADLINE: Duration = Duration::from_secs(8);

const LONGEST_ANSWER: usize = 1 << 20;

/// Hands an event over and returns what `ralph` printed.
///
/// # Errors
/// When it is not there, fails or takes too long. Then nothing was started, and the person must
/// hear of it.
pub fn answer(payload: &[u8], via: Via) -> Result<String> {
    let here =
        std::env::current_exe().context("could not find out where this executable stands")?;
    let ralph = here.with_file_name("ralph");
    if !ralph.is_file() {
        bail!("could not find `{}`; run `ralph doctor`, or install Ralph again", ralph.display());
    }
    let ask = Ask { program: &ralph, arguments: &["typed", via.as_str()], input: payload };
    let finished = process::ask(&ask, DEADLINE, LONGEST_ANSWER)?;
    if !finished.status.success() || finished.capped {
        bail!("`{}` failed; run `ralph doctor`", ralph.display());
    }
    String::from_utf8(finished.stdout).context("the answer of `ralph` is not text")
}
