//! The empty files that stand in a project while a sandboxed command runs.
//!
//! The sandbox mounts over them what a command must not create. The client removes them when the
//! command ends, and when it is ended by SIGTERM or SIGINT; after SIGKILL they stay. They are not
//! the work of anyone.

/// Their permission bits. Their size is 0.
pub const MODE: u32 = 0o444;

/// Their names in the client's working folder, measured with 2.1.328, and the files of Ralph that
/// its own settings for the sandbox protect.
pub const NAMES: [&str; 25] = [
    ".bash_profile",
    ".bashrc",
    ".claude/agents",
    ".claude/commands",
    ".claude/hooks",
    ".claude/launch.json",
    ".claude/loop.md",
    ".claude/output-styles",
    ".claude/ralph",
    ".claude/ralph.toml",
    ".claude/routines",
    ".claude/scheduled_tasks.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/skills",
    ".claude/workflows",
    ".gitconfig",
    ".gitmodules",
    ".idea",
    ".mcp.json",
    ".profile",
    ".ripgreprc",
    ".vscode",
    ".zprofile",
    ".zshrc",
];

/// Their names in the folder of the git repository.
pub const GIT_NAMES: [&str; 2] = ["config.lock", "packed-refs"];

/// True if a path has the name of such a file, in whichever folder a client works.
pub fn is_name(path: &[u8]) -> bool {
    NAMES.iter().any(|name| {
        path.strip_suffix(name.as_bytes())
            .is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_in_each_folder_and_whole() {
        for path in [".bashrc", "sub/.bashrc", ".claude/agents", "a/b/.claude/ralph.toml"] {
            assert!(is_name(path.as_bytes()), "{path}");
        }
        for path in ["x.bashrc", "agents", "sub/agents", ".claude/agents/a.md", ".claude", ""] {
            assert!(!is_name(path.as_bytes()), "{path}");
        }
    }
}
