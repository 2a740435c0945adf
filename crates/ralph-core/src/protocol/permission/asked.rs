//! The refusal that the model reads when a call needs the user's permission and nobody is there.
//!
//! Without an answer from a hook, the client refuses such a call in `-p` with "you haven't granted
//! it yet", which a model takes as a reason to wait or to retry. Measured with 2.1.328: the event
//! is sent in the modes `default`, `acceptEdits` and `plan`; calls refused in the other modes send
//! no event.

use crate::protocol::event::ToolInput;

/// Bytes of a command line that are shown.
const SHOWN: usize = 200;

/// Tells the model why the call is refused, what to do instead, and how to ask for a person's help.
pub fn refusal(tool: &str, input: &ToolInput) -> String {
    let about = about(input);
    format!(
        "No user is present to permit this, so it is refused: {tool}{about}. Do not repeat it. {} \
         If you cannot work without it, name what the user must permit: close your task with \
         `ralph task fail ID --note '…'` or, where no other task is ready, run `ralph blocked \
         '…'` and end your turn.",
        instead(tool)
    )
}

/// Describes the call on one line: ` on PATH` or `: COMMAND`.
pub fn about(input: &ToolInput) -> String {
    match (&input.command, input.path()) {
        (Some(command), _) => {
            let line = command.replace('\n', "\\n");
            let end = line.floor_char_boundary(SHOWN);
            let more = if end < line.len() { "…" } else { "" };
            format!(": {}{more}", &line[..end])
        }
        (None, Some(path)) => format!(" on {path}"),
        (None, None) => String::new(),
    }
}

fn instead(tool: &str) -> &'static str {
    match tool {
        "Bash" => {
            "Use a plain command of one program without redirections and substitutions, or another \
             tool: Write and Edit for files, Read, Grep and Glob to look."
        }
        "Write" | "Edit" | "NotebookEdit" => "Change files inside the project folder only.",
        "WebFetch" | "WebSearch" => "Work from what is in the project.",
        _ => "Use the permitted tools instead.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, input: ToolInput, what: &str, instead: &str) {
        let said = refusal(tool, &input);
        assert!(
            said.contains(&format!("it is refused: {what}. Do not repeat it. {instead}")),
            "{said}"
        );
    }

    #[test]
    fn a_refusal_names_the_call_and_another_way() {
        let command =
            |text: &str| ToolInput { command: Some(text.to_owned()), ..ToolInput::default() };
        let path = ToolInput { file_path: Some("/etc/x".to_owned()), ..ToolInput::default() };
        check("Bash", command("a\nb"), "Bash: a\\nb", "Use a plain command");
        check("Write", path, "Write on /etc/x", "Change files inside the project");
        check("WebFetch", ToolInput::default(), "WebFetch", "Work from what is in the project");
        check("mcp__x__y", ToolInput::default(), "mcp__x__y", "Use the permitted tools");
    }

    #[test]
    fn a_long_command_is_cut_between_letters() {
        let input = ToolInput { command: Some("ü".repeat(SHOWN)), ..ToolInput::default() };
        assert_eq!(about(&input), format!(": {}…", "ü".repeat(SHOWN / 2)));
    }
}
