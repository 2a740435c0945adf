//! `ralph-pre-tool-use`: see `ralph_hooks::pre_tool_use`.

fn main() {
    ralph_hooks::hook_runner::enter_if_bound(
        "ralph-pre-tool-use",
        ralph_hooks::pre_tool_use::answer,
    );
}
