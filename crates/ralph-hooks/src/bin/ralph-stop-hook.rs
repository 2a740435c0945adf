//! `ralph-stop-hook`: see `ralph_hooks::stop`, and `ralph_hooks::wait` for `ralph-stop-hook wait`.

use ralph_core::protocol::registration::WAIT;
use ralph_hooks::{door, stop, wait};

fn main() {
    door::enter_or_wait_if_bound("ralph-stop-hook", stop::answer, WAIT, wait::answer);
}
