//! `ralph-session-context`: see `ralph_hooks::session_context`.

fn main() {
    ralph_hooks::hook_runner::enter("ralph-session-context", ralph_hooks::session_context::answer);
}
