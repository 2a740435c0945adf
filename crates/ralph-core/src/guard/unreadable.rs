//! A session whose loop cannot be read stays bound: it may only read until the user repairs the
//! state or ends the loop.
//!
//! The loop's mode is also in the state, so the strictest rule of all modes applies, whatever the
//! mode was.

use crate::guard::{self, plain_readers};

/// A tool call in such a session.
#[derive(Debug, Clone, Copy)]
pub struct UnreadableCall<'a> {
    pub tool: &'a str,
    /// Its command line, if it is a shell.
    pub command: Option<&'a str>,
    /// True if the input was truncated and the command may be incomplete.
    pub cut: bool,
    /// True if the command runs behind the wall.
    pub walled: bool,
}

/// Ok for a read-only call; otherwise the message to the model. `why` is why the loop cannot be
/// read.
///
/// # Errors
/// When the call may change something, or its effect is unknown.
pub fn judge(call: UnreadableCall<'_>, why: &str) -> Result<(), String> {
    let what = match (call.tool, call.command) {
        (tool, _) if guard::only_looks(tool) => return Ok(()),
        ("Bash" | "Monitor", _) if call.walled => return Ok(()),
        ("Bash", _) if call.cut => "this command line is not whole".to_owned(),
        ("Bash", Some(line)) => match plain_readers::only_reads(line, |_| false) {
            Ok(()) => return Ok(()),
            Err(what) => what,
        },
        (tool, _) => format!("`{tool}` may change something"),
    };
    Err(refusal(&what, why))
}

/// The message to the model about a call that is refused because the loop cannot be read.
pub fn refusal(what: &str, why: &str) -> String {
    format!(
        "Ralph cannot use the state of the loop that this session is bound to ({why}), so only reading is \
         allowed until a person repairs it: {what}. Do not try to repair it. End your turn; the person is \
         told what to type."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, command: Option<&str>, expected: bool) {
        let call = UnreadableCall { tool, command, cut: false, walled: false };
        assert_eq!(judge(call, "it is gone").is_ok(), expected, "{tool} {command:?}");
    }

    #[test]
    fn only_what_is_known_to_read_runs() {
        for tool in ["Read", "Grep", "Glob", "TaskOutput"] {
            check(tool, None, true);
        }
        for tool in [
            "Write",
            "Edit",
            "Agent",
            "Skill",
            "AskUserQuestion",
            "Monitor",
            "mcp__x__write",
            "Task",
            "",
        ] {
            check(tool, None, false);
        }
        for line in ["ls", "cat a | grep b"] {
            check("Bash", Some(line), true);
            let cut =
                UnreadableCall { tool: "Bash", command: Some(line), cut: true, walled: false };
            assert!(judge(cut, "").is_err());
            assert!(judge(UnreadableCall { walled: true, ..cut }, "").is_ok());
        }
        for line in [
            "rm a",
            "chmod -R go-w ~/.local",
            "ralph cancel",
            "echo $(touch x)",
            "cargo test",
            "git status",
        ] {
            check("Bash", Some(line), false);
        }
        check("Bash", None, false);
        check("Monitor", Some("ls"), false);
    }
}
