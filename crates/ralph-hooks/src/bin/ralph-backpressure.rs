//! `ralph-backpressure`: see `ralph_hooks::backpressure`.

fn main() {
    ralph_hooks::door::enter_if_bound("ralph-backpressure", ralph_hooks::backpressure::answer);
}
