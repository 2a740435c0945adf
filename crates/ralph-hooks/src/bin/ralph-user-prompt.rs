//! `ralph-user-prompt`: see `ralph_hooks::user_prompt`.

fn main() {
    ralph_hooks::door::enter("ralph-user-prompt", ralph_hooks::user_prompt::answer);
}
