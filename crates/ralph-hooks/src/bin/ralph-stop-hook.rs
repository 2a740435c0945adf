//! `ralph-stop-hook`: see `ralph_hooks::stop`, and `ralph_hooks::wait` for `ralph-stop-hook wait`.

use ralph_core::registration::WAIT;
use ralph_hooks::{door, stop, wait};

fn main() {
    const NAME: &str = "ralph-stop-hook";
    match std::env::args_os().nth(1) {
        Some(word) if word == WAIT => door::wait_if_bound(NAME, wait::answer),
        _ => door::enter_if_bound(NAME, stop::answer),
    }
}
