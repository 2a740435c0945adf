//! The lines of shell that put a session's commands behind the wall.
//!
//! The client runs the lines that a SessionStart hook leaves in `CLAUDE_ENV_FILE` in the shell of each tool
//! call, before the command; there the shell holds its whole command line in a variable (measured with
//! 2.1.200 to 2.1.332, bash and zsh, in every permission mode, for Bash, Monitor and skills). So the shell can
//! replace itself by the same shell inside. Replacing keeps the process id: by it the second pass knows that
//! it is inside, and nothing that ran before can claim it.

use crate::protocol::registration::PRE_TOOL_USE;
use crate::shell::quoted;

/// The first argument of `ralph-pre-tool-use` when it puts a command behind the wall. It is followed by the
/// flag, the shell and the shell's line.
pub const WALL: &str = "wall";

/// What the client's line of shell ends with: the file in which the client finds the folder that the
/// command ended in.
const KEEPS_FOLDER: &str = "pwd -P >| ";

/// The line for one session. `flag` is the file that exists while the session may only read, `executable`
/// the path of `ralph-pre-tool-use`. In its sandbox the client sets `TMPDIR` ahead of it, also inside.
pub fn line(flag: &str, executable: &str) -> String {
    let (flag, executable) = (quoted(flag), quoted(executable));
    format!(
        "if [ -e {flag} ]; then if [ \"${{RALPH_WALL-}}\" = \"$$\" ]; then export TMPDIR=\"$RALPH_TMPDIR\"; else \
         RALPH_WALL=$$ exec {executable} {WALL} {flag} \"${{BASH:-$ZSH_ARGZERO}}\" \
         \"${{BASH_EXECUTION_STRING-$ZSH_EXECUTION_STRING}}\"; exit 126; fi; fi\n"
    )
}

/// True for a line of [`line()`], of any version.
pub fn is_line(line: &str) -> bool {
    line.starts_with("if [ -e ") && line.contains(PRE_TOOL_USE) && line.contains("RALPH_WALL")
}

/// Why the wall would not come before everything else; `None` if it does. `files` are the files that the
/// client runs ahead of a command, each with its number and text.
pub fn obstacle(
    mut files: Vec<(u32, String)>,
    flag: &str,
    executable: &str,
) -> Option<&'static str> {
    files.retain(|(_, text)| !text.trim().is_empty());
    files.sort();
    let own = line(flag, executable);
    let is_own = |(_, text): &(u32, String)| text.starts_with(&own);
    // Registered twice, Ralph has a line for each of its installations.
    let is_ours = |(_, text): &(u32, String)| {
        let first = text.split_inclusive('\n').next().unwrap_or_default();
        let other = first.split(" exec '").nth(1).and_then(|rest| rest.split("' ").next());
        let other = other.filter(|other| other.rsplit('/').next() == Some(PRE_TOOL_USE));
        other.is_some_and(|other| line(flag, other) == first)
    };
    match files.first() {
        None => Some(NOT_THERE),
        Some(first) if is_own(first) || is_ours(first) && files.iter().any(is_own) => None,
        Some((_, text)) if text.contains("RALPH_WALL") => Some(CHANGED),
        Some(_) => Some(PRECEDED),
    }
}

const NOT_THERE: &str = "this session began before Ralph was installed, or Ralph's SessionStart hook did not run; \
start a new session";
const CHANGED: &str = "the lines that Ralph added to this session's shell were changed, or belong to another version of \
Ralph; start a new session";
const PRECEDED: &str =
    "another SessionStart hook adds lines to this session's shell that run before Ralph's";

/// The file in which the client finds the folder that the command ended in; `None` if the line does not
/// end as the client's does.
pub fn folder_file(line: &str) -> Option<&str> {
    let (_, path) = line.rsplit_once(KEEPS_FOLDER)?;
    let path = path.trim().trim_matches('\'').trim_matches('"');
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+,@%".contains(letter);
    (path.starts_with('/') && path.chars().all(is_plain)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_stands_only_if_nothing_unknown_comes_before_its_line() {
        let (flag, executable) = ("/h/walls/s", "/b/ralph-pre-tool-use");
        let (line, other) = (line(flag, executable), line(flag, "/plugin/ralph-pre-tool-use"));
        let check = |files: &[(u32, &str)], expected: Option<&str>| {
            let files = files.iter().map(|(n, text)| (*n, (*text).to_owned())).collect();
            assert_eq!(obstacle(files, flag, executable), expected);
        };
        check(&[(0, &other), (1, &line)], None);
        check(&[(0, &other)], Some(CHANGED));
        check(&[(0, &other.replace("walls/s", "walls/t")), (1, &line)], Some(CHANGED));
        let more = format!("{line}export X=1\n");
        check(&[(0, &line)], None);
        check(&[(10, "export X=1"), (9, &more)], None);
        check(&[(0, "\n"), (1, &line)], None);
        check(&[], Some(NOT_THERE));
        check(&[(0, "exec() { :; }"), (1, &line)], Some(PRECEDED));
        check(&[(0, &format!("exec() {{ :; }}\n{line}"))], Some(CHANGED));
        check(&[(0, &line.replace("126", "0"))], Some(CHANGED));
    }

    #[test]
    fn only_a_plain_path_at_the_end_is_the_file_of_the_folder() {
        for (line, expected) in [
            ("eval 'ls' && pwd -P >| /tmp/claude-1f-cwd", Some("/tmp/claude-1f-cwd")),
            ("eval 'pwd -P >| /etc/x' && pwd -P >| '/tmp/c-cwd'", Some("/tmp/c-cwd")),
            ("eval 'ls'", None),
            ("pwd -P >| /tmp/c; echo x", None),
            ("pwd -P >| \"$X\"", None),
            ("pwd -P >| cwd", None),
        ] {
            assert_eq!(folder_file(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_of_any_version_is_known() {
        let ours = line("/r/flag", &format!("/opt/{PRE_TOOL_USE}"));
        assert!(is_line(&ours), "{ours}");
        let older = format!("if [ -e '/f' ]; then RALPH_WALL=1 exec '/o/{PRE_TOOL_USE}'; fi");
        assert!(is_line(&older));
        assert!(!is_line(&format!(" {ours}")));
        assert!(!is_line(&ours.replace("RALPH_WALL", "OTHER_WALL")));
        assert!(!is_line(&ours.replace(PRE_TOOL_USE, "other")));
    }
}
