//! `ralph-stop-hook`: see `ralph_hooks::stop`.

fn main() {
    ralph_hooks::door::enter_if_bound("ralph-stop-hook", ralph_hooks::stop::answer);
}
