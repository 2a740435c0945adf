//! `ralph-stop-hook`: see `ralph_hooks::stop`, and `ralph_hooks::background_watch` for
//! `ralph-stop-hook wait`.

use ralph_core::protocol::registration::WAIT;
use ralph_hooks::{background_watch, hook_runner, stop};

fn main() {
    hook_runner::enter_or_wait_if_bound(
        "ralph-stop-hook",
        stop::answer,
        WAIT,
        background_watch::answer,
    );
}
