//! `ralph-user-prompt`: see `ralph_hooks::user_prompt`.

fn main() {
    ralph_hooks::hook_runner::enter("ralph-user-prompt", ralph_hooks::user_prompt::answer);
}
