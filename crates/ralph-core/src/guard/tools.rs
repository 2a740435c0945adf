//! Every tool of the client, and what each field of its input carries.
//!
//! The list is the client's own (2.1.328): a test with the real client compares the names and
//! fields of the tools that it offers with this table. The guard judges an unlisted tool or field
//! by everything that it could be.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
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
    /// Nothing that the guard judges: a number, an id, one of a few words.
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

pub(super) struct GuardedTool {
    pub(super) name: &'static str,
    pub(super) does: Does,
    pub(super) fields: &'static [(&'static str, Carries)],
}

use Carries::{Anything, Command, Content, Message, Nothing, Path, Prompt};

const fn tool(
    name: &'static str,
    does: Does,
    fields: &'static [(&'static str, Carries)],
) -> GuardedTool {
    GuardedTool { name, does, fields }
}

/// Stands for a tool that is not in the table.
const UNKNOWN_TOOL: GuardedTool = tool("", Does::Acts, &[]);

const AGENT: &[(&str, Carries)] = &[
    ("description", Message),
    ("prompt", Message),
    ("subagent_type", Nothing),
    ("model", Nothing),
    ("effort", Nothing),
    ("run_in_background", Nothing),
    ("name", Nothing),
    ("team_name", Nothing),
    ("mode", Nothing),
    ("isolation", Nothing),
];

const SHELL: &[(&str, Carries)] = &[
    ("command", Command),
    ("timeout", Nothing),
    ("description", Message),
    ("run_in_background", Nothing),
    ("dangerouslyDisableSandbox", Nothing),
];

const EDIT: &[(&str, Carries)] = &[
    ("file_path", Path),
    ("old_string", Content),
    ("new_string", Content),
    ("replace_all", Nothing),
    ("edits", Content),
];

/// Sorted by name. The list also includes names that the client has dropped or keeps as aliases.
#[rustfmt::skip]
pub(super) const TOOLS: &[GuardedTool] = &[
    tool("Agent", Does::Calls, AGENT),
    tool("Artifact", Does::Acts, &[
        ("action", Nothing), ("file_path", Path), ("favicon", Nothing), ("icon", Nothing), ("limit", Nothing),
        ("page_token", Nothing), ("scope", Nothing), ("title", Message), ("description", Message), ("label", Message),
        ("url", Path), ("prompt", Prompt), ("force", Nothing), ("pin", Nothing), ("out_dir", Path), ("file_paths", Path),
        ("asset_id", Nothing), ("after", Nothing), ("capabilities", Anything), ("contract", Nothing),
    ]),
    tool("AskUserQuestion", Does::Questions, &[
        ("questions", Message), ("answers", Message), ("annotations", Message), ("metadata", Nothing),
    ]),
    tool("Bash", Does::Runs, SHELL),
    tool("BashOutput", Does::Looks, &[]),
    tool("Brief", Does::Acts, &[("message", Message), ("attachments", Path), ("status", Nothing)]),
    tool("ClaudeDesign", Does::Acts, &[("operation", Nothing), ("arguments", Anything)]),
    tool("CronCreate", Does::Acts, &[
        ("cron", Nothing), ("prompt", Prompt), ("recurring", Nothing), ("durable", Nothing),
    ]),
    tool("CronDelete", Does::Acts, &[("id", Nothing)]),
    tool("CronList", Does::Looks, &[]),
    // A placeholder for tools that the client has not loaded yet; it cannot be called.
    tool("DeferredToolPlaceholder", Does::Looks, &[]),
    tool("Edit", Does::Edits, EDIT),
    tool("EndConversation", Does::Acts, &[]),
    tool("EnterPlanMode", Does::EntersPlan, &[]),
    tool("EnterWorktree", Does::Acts, &[("name", Path), ("path", Path)]),
    tool("ExitPlanMode", Does::LeavesPlan, &[("allowedPrompts", Message), ("plan", Message)]),
    tool("ExitWorktree", Does::Acts, &[("action", Nothing), ("discard_changes", Nothing)]),
    tool("Glob", Does::Looks, &[("pattern", Path), ("path", Path)]),
    tool("Grep", Does::Looks, &[("pattern", Message), ("path", Path)]),
    tool("KillBash", Does::Acts, &[("shell_id", Nothing)]),
    tool("KillShell", Does::Acts, &[("shell_id", Nothing)]),
    tool("LS", Does::Looks, &[("path", Path)]),
    // Starts a language server, which may run the project's code, so it does not count as a reader
    // during planning.
    tool("LSP", Does::Acts, &[
        ("operation", Nothing), ("filePath", Nothing), ("line", Nothing), ("character", Nothing), ("query", Message),
    ]),
    tool("ListAgents", Does::Looks, &[("channel", Nothing), ("q", Message), ("cursor", Nothing)]),
    tool("ListMcpResources", Does::Looks, &[("server", Nothing)]),
    tool("ListMcpResourcesTool", Does::Looks, &[("server", Nothing)]),
    tool("ListPeers", Does::Looks, &[]),
    tool("Monitor", Does::Runs, &[
        ("description", Message), ("timeout_ms", Nothing), ("persistent", Nothing), ("command", Command), ("ws", Path),
    ]),
    tool("MultiEdit", Does::Edits, EDIT),
    tool("NotebookEdit", Does::Edits, &[
        ("notebook_path", Path), ("cell_id", Nothing), ("new_source", Content), ("cell_type", Nothing),
        ("edit_mode", Nothing),
    ]),
    tool("NotebookRead", Does::Looks, &[("notebook_path", Path)]),
    tool("OfferChromeSetup", Does::Acts, &[("reason", Message)]),
    tool("PowerShell", Does::Runs, SHELL),
    tool("Projects", Does::Acts, &[
        ("method", Nothing), ("path", Nothing), ("content", Content), ("local_path", Path), ("present_to_user", Nothing),
        ("query", Message), ("n", Nothing),
    ]),
    tool("ProposeGoal", Does::Acts, &[("condition", Prompt), ("ask_user", Nothing)]),
    tool("PushNotification", Does::Acts, &[("message", Message), ("status", Nothing)]),
    tool("Read", Does::Looks, &[
        ("file_path", Path), ("offset", Nothing), ("limit", Nothing), ("pages", Nothing), ("allow_large", Nothing),
    ]),
    tool("ReadMcpResource", Does::Looks, &[("server", Nothing), ("uri", Path)]),
    tool("ReadMcpResourceDir", Does::Looks, &[("server", Nothing), ("uri", Path)]),
    tool("ReadMcpResourceDirTool", Does::Looks, &[("server", Nothing), ("uri", Path)]),
    tool("ReadMcpResourceTool", Does::Looks, &[("server", Nothing), ("uri", Path)]),
    tool("ReadNotifications", Does::Looks, &[]),
    tool("RemoteTrigger", Does::Acts, &[
        ("action", Nothing), ("trigger_id", Nothing), ("session_id", Nothing), ("cursor", Nothing), ("body", Prompt),
    ]),
    tool("ReportFindings", Does::Looks, &[("level", Nothing), ("findings", Message)]),
    tool("ScheduleWakeup", Does::Acts, &[
        ("delaySeconds", Nothing), ("reason", Message), ("prompt", Prompt), ("stop", Nothing), ("noop", Nothing),
    ]),
    tool("SendFeedback", Does::Acts, &[
        ("type", Nothing), ("title", Message), ("details", Message), ("area", Nothing), ("failure_mode", Nothing),
        ("task_category", Nothing),
    ]),
    tool("SendMessage", Does::Acts, &[("to", Nothing), ("summary", Message), ("message", Message), ("notify_when_idle", Nothing)]),
    tool("SendUserFile", Does::Acts, &[("files", Nothing), ("caption", Message), ("status", Nothing)]),
    tool("SendUserMessage", Does::Acts, &[("message", Message), ("attachments", Nothing), ("status", Nothing)]),
    tool("SetGoal", Does::Acts, &[("condition", Prompt), ("ask_user", Nothing)]),
    tool("ShareOnboardingGuide", Does::Acts, &[]),
    tool("ShowOnboardingRolePicker", Does::Acts, &[]),
    tool("Skill", Does::Loads, &[("skill", Prompt), ("args", Message)]),
    tool("SlashCommand", Does::Acts, &[("command", Prompt)]),
    tool("StructuredOutput", Does::Looks, &[]),
    tool("SubagentHandback", Does::Acts, &[]),
    tool("Task", Does::Calls, AGENT),
    tool("TaskCreate", Does::Looks, &[
        ("subject", Message), ("description", Message), ("activeForm", Message), ("metadata", Message),
    ]),
    tool("TaskGet", Does::Looks, &[("taskId", Nothing)]),
    tool("TaskList", Does::Looks, &[]),
    tool("TaskOutput", Does::Looks, &[]),
    tool("TaskStop", Does::Acts, &[("task_id", Nothing), ("shell_id", Nothing)]),
    tool("TaskUpdate", Does::Looks, &[
        ("taskId", Nothing), ("subject", Message), ("description", Message), ("activeForm", Message), ("status", Nothing),
        ("addBlocks", Nothing), ("addBlockedBy", Nothing), ("owner", Nothing), ("metadata", Message),
    ]),
    tool("TodoRead", Does::Looks, &[]),
    tool("TodoWrite", Does::Looks, &[("todos", Message)]),
    tool("ToolSearch", Does::Looks, &[("query", Message), ("max_results", Nothing)]),
    tool("WaitForMcpServers", Does::Looks, &[]),
    tool("WebFetch", Does::Looks, &[("url", Path), ("prompt", Message), ("offset", Nothing)]),
    tool("WebSearch", Does::Looks, &[("query", Message), ("allowed_domains", Nothing), ("blocked_domains", Nothing)]),
    // Its script starts agents, whose calls are judged one by one.
    tool("Workflow", Does::Acts, &[
        ("script", Anything), ("name", Nothing), ("description", Message), ("title", Message), ("args", Message),
        ("scriptPath", Nothing), ("resumeFromRunId", Nothing),
    ]),
    tool("Write", Does::Edits, &[("file_path", Path), ("content", Content)]),
    tool("propose_skills", Does::Acts, &[("proposals", Content)]),
];

pub(super) fn find(name: &str) -> &'static GuardedTool {
    TOOLS.iter().find(|tool| tool.name == name).unwrap_or(&UNKNOWN_TOOL)
}

impl GuardedTool {
    /// What a field of the tool's input carries. For a field that is not in the table, a
    /// conventional name for text that nothing runs decides.
    pub(super) fn carries(&self, field: &str) -> Carries {
        if let Some((_, carries)) = self.fields.iter().find(|(name, _)| *name == field) {
            return *carries;
        }
        match field {
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
        }
    }
}

/// True if the table has this tool.
pub fn is_known(tool: &str) -> bool {
    TOOLS.iter().any(|known| known.name == tool)
}

/// True if the table has this field of this tool.
pub fn knows_field(tool: &str, field: &str) -> bool {
    find(tool).fields.iter().any(|(name, _)| *name == field)
}

/// Every tool of the table with its fields.
pub fn listed() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    TOOLS.iter().map(|tool| (tool.name, tool.fields.iter().map(|(name, _)| *name).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_stands_in_the_table_once_and_in_order() {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
    }

    #[test]
    fn what_is_not_in_the_table_is_judged_by_all_that_it_could_be() {
        assert!(!is_known("mcp__files__write_file"));
        assert_eq!(find("mcp__files__write_file").does, Does::Acts);
        assert_eq!(find("Telepathy").carries("cmd"), Anything);
        assert_eq!(find("Bash").carries("new_field"), Anything);
        assert_eq!(find("mcp__files__write_file").carries("content"), Content);
    }
}
