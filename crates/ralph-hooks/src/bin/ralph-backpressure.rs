//! `ralph-backpressure`: see `ralph_hooks::backpressure`.

fn main() {
    ralph_hooks::hook_runner::enter_if_bound_or_set(
        "ralph-backpressure",
        ralph_hooks::backpressure::answer,
    );
}
