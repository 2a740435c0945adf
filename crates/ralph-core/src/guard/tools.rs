//! What the client's tools do, and what each field of a tool's input carries.
//!
//! The names are the client's own (2.1.328): a test with the real client compares them. A tool that is not named
//! here is judged by every field of its input, whatever it is called.

use Carries::{Anything, Command, Content, Message, Nothing, Path, Prompt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolEffect {
    /// Changes only what the client keeps for the conversation itself.
    Looks,
    /// Asks the user.
    Questions,
    EntersPlan,
    LeavesPlan,
    /// Changes the file that it names.
    Edits,
    Runs,
    Calls,
    /// Loads a skill, and runs the commands in its text.
    Loads,
    /// Anything else.
    Acts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// Nothing that the guard judges: the tool only reads what it names.
    Nothing,
    /// The content of a file. Text in it runs nothing.
    Content,
    /// A text for people or for another agent, which as a whole may be a person's command.
    Message,
    /// A prompt that the client submits later, as if the user had typed it.
    Prompt,
    Command,
    Path,
    /// Unknown: any of these.
    Anything,
}

#[rustfmt::skip]
const LOOKS: [&str; 30] = [
    "BashOutput", "CronList", "DeferredToolPlaceholder", "Glob", "Grep", "LS", "ListAgents", "ListMcpResources",
    "ListMcpResourcesTool", "ListPeers", "NotebookRead", "Read", "ReadMcpResource", "ReadMcpResourceDir",
    "ReadMcpResourceDirTool", "ReadMcpResourceTool", "ReadNotifications", "ReportFindings", "StructuredOutput",
    "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch",
    "WaitForMcpServers", "WebFetch", "WebSearch",
];

/// The fields whose name does not tell what they carry.
const FIELDS: [(&str, &str, Carries); 18] = [
    ("Agent", "prompt", Message),
    ("LSP", "filePath", Nothing),
    ("Monitor", "command", Command),
    ("PowerShell", "command", Command),
    ("Projects", "path", Nothing),
    ("ProposeGoal", "condition", Prompt),
    ("RemoteTrigger", "body", Prompt),
    ("SendFeedback", "details", Message),
    ("SendUserFile", "caption", Message),
    ("SendUserFile", "files", Nothing),
    ("SendUserMessage", "attachments", Nothing),
    ("SetGoal", "condition", Prompt),
    ("Skill", "args", Message),
    ("Skill", "skill", Prompt),
    ("SlashCommand", "command", Prompt),
    ("Task", "prompt", Message),
    ("Workflow", "args", Message),
    ("propose_skills", "proposals", Content),
];

pub(super) fn does(tool: &str) -> ToolEffect {
    match tool {
        "Agent" | "Task" => ToolEffect::Calls,
        "AskUserQuestion" => ToolEffect::Questions,
        "Bash" | "Monitor" | "PowerShell" => ToolEffect::Runs,
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => ToolEffect::Edits,
        "EnterPlanMode" => ToolEffect::EntersPlan,
        "ExitPlanMode" => ToolEffect::LeavesPlan,
        "Skill" => ToolEffect::Loads,
        tool if LOOKS.contains(&tool) => ToolEffect::Looks,
        _ => ToolEffect::Acts,
    }
}

/// What a field of the table carries.
pub(super) fn told(tool: &str, field: &str) -> Option<Carries> {
    let row = FIELDS.iter().find(|(of, name, _)| *of == tool && *name == field);
    row.map(|(.., carries)| *carries)
}

/// What a field carries; for one that is not in the table, a conventional name for text that nothing runs decides.
pub(super) fn carries(tool: &str, field: &str) -> Carries {
    told(tool, field).unwrap_or(match field {
        "content" | "contents" | "file_text" | "old_string" | "new_string" | "old_str"
        | "new_str" | "oldText" | "newText" | "new_source" | "fileContent" | "file_content" => {
            Content
        }
        "body" | "title" | "description" | "comment" | "message" | "subject" | "summary"
        | "text" | "reason" | "note" | "thought" | "html" | "markdown" => Message,
        "prompt" | "instruction" | "instructions" | "goal" => Prompt,
        // A search text may be any word, but a place that it names still counts.
        "query" | "pattern" | "search" | "q" => Path,
        _ => Anything,
    })
}

/// True for a tool that is not judged as an unknown one.
pub fn is_known(tool: &str) -> bool {
    does(tool) != ToolEffect::Acts || FIELDS.iter().any(|(of, ..)| *of == tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_table_is_judged_by_all_that_it_could_be() {
        assert!(!is_known("mcp__files__write_file"));
        assert_eq!(does("mcp__files__write_file"), ToolEffect::Acts);
        assert_eq!(carries("Telepathy", "cmd"), Anything);
        assert_eq!(carries("Bash", "new_field"), Anything);
        assert_eq!(carries("mcp__files__write_file", "content"), Content);
    }
}
