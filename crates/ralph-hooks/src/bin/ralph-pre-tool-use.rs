//! `ralph-pre-tool-use`: see `ralph_hooks::pre_tool_use`, and `ralph_hooks::wall` for
//! `ralph-pre-tool-use wall`.

use ralph_core::protocol::wall::WALL;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == WALL) {
        std::process::exit(ralph_hooks::wall::enter(&arguments.collect::<Vec<_>>()));
    }
    ralph_hooks::hook_runner::enter_if_bound(
        "ralph-pre-tool-use",
        ralph_hooks::pre_tool_use::answer,
    );
}
