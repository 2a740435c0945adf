//! Every tool of the client, and what each field of its input carries.
//!
//! The list is the client's own (2.1.328): a test with the real client compares the names and
//! fields of the tools that it offers with this table. The guard judges an unlisted tool or field
//! by everything that it could be.

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
    pub(super) does: ToolEffect,
    pub(super) fields: &'static [(&'static str, Carries)],
}

use Carries::{Anything, Command, Content, Message, Nothing, Path, Prompt};

const fn tool(
    name: &'static str,
    does: ToolEffect,
    fields: &'static [(&'static str, Carries)],
) -> GuardedTool {
    GuardedTool { name, does, fields }
}

/// Stands for a tool that is not in the table.
const UNKNOWN_TOOL: GuardedTool = tool("", ToolEffect::Acts, &[]);

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
    tool("Agent", ToolEffect::Calls, AGENT),
    tool("Artifact", ToolEffect::Acts, &[
        ("action", Nothing), ("file_path", Path), ("favicon", Nothing), ("icon", Nothing), ("limit", Nothing),
        ("page_token", Nothing), ("scope", Nothing), ("title", Message), ("description", Message), ("label", Message),
        ("url", Path), ("prompt", Prompt), ("force", Nothing), ("pin", Nothing), ("out_dir", Path), ("file_paths", Path),
        ("asset_id", Nothing), ("after", Nothing), ("capabilities", Anything), ("contract", Nothing),
    ]),
    tool("AskUserQuestion", ToolEffect::Questions, &[
        ("questions", Message), ("answers", Message), ("annotations", Message), ("metadata", Nothing),
    ]),
    tool("Bash", ToolEffect::Runs, SHELL),
    tool("BashOutput", ToolEffect::Looks, &[]),
    tool("Brief", ToolEffect::Acts, &[("message", Message), ("attachments", Path), ("status", Nothing)]),
    tool("ClaudeDesign", ToolEffect::Acts, &[("operation", Nothing), ("arguments", Anything)]),
    tool("CronCreate", ToolEffect::Acts, &[
        ("cron", Nothing), ("prompt", Prompt), ("recurring", Nothing), ("durable", Nothing),
    ]),
    tool("CronDelete", ToolEffect::Acts, &[("id", Nothing)]),
    tool("CronList", ToolEffect::Looks, &[]),
    // A placeholder for tools that the client has not loaded yet; it cannot be called.
    tool("DeferredToolPlaceholder", ToolEffect::Looks, &[]),
    tool("Edit", ToolEffect::Edits, EDIT),
    tool("EndConversation", ToolEffect::Acts, &[]),
    tool("EnterPlanMode", ToolEffect::EntersPlan, &[]),
    tool("EnterWorktree", ToolEffect::Acts, &[("name", Path), ("path", Path)]),
    tool("ExitPlanMode", ToolEffect::LeavesPlan, &[("allowedPrompts", Message), ("plan", Message)]),
    tool("ExitWorktree", ToolEffect::Acts, &[("action", Nothing), ("discard_changes", Nothing)]),
    tool("Glob", ToolEffect::Looks, &[("pattern", Path), ("path", Path)]),
    tool("Grep", ToolEffect::Looks, &[("pattern", Message), ("path", Path)]),
    tool("KillBash", ToolEffect::Acts, &[("shell_id", Nothing)]),
    tool("KillShell", ToolEffect::Acts, &[("shell_id", Nothing)]),
    tool("LS", ToolEffect::Looks, &[("path", Path)]),
    // Starts a language server, which may run the project's code, so it does not count as a reader
    // during planning.
    tool("LSP", ToolEffect::Acts, &[
        ("operation", Nothing), ("filePath", Nothing), ("line", Nothing), ("character", Nothing), ("query", Message),
    ]),
    tool("ListAgents", ToolEffect::Looks, &[("channel", Nothing), ("q", Message), ("cursor", Nothing)]),
    tool("ListMcpResources", ToolEffect::Looks, &[("server", Nothing)]),
    tool("ListMcpResourcesTool", ToolEffect::Looks, &[("server", Nothing)]),
    tool("ListPeers", ToolEffect::Looks, &[]),
    tool("Monitor", ToolEffect::Runs, &[
        ("description", Message), ("timeout_ms", Nothing), ("persistent", Nothing), ("command", Command), ("ws", Path),
    ]),
    tool("MultiEdit", ToolEffect::Edits, EDIT),
    tool("NotebookEdit", ToolEffect::Edits, &[
        ("notebook_path", Path), ("cell_id", Nothing), ("new_source", Content), ("cell_type", Nothing),
        ("edit_mode", Nothing),
    ]),
    tool("NotebookRead", ToolEffect::Looks, &[("notebook_path", Path)]),
    tool("OfferChromeSetup", ToolEffect::Acts, &[("reason", Message)]),
    tool("PowerShell", ToolEffect::Runs, SHELL),
    tool("Projects", ToolEffect::Acts, &[
        ("method", Nothing), ("path", Nothing), ("content", Content), ("local_path", Path), ("present_to_user", Nothing),
        ("query", Message), ("n", Nothing),
    ]),
    tool("ProposeGoal", ToolEffect::Acts, &[("condition", Prompt), ("ask_user", Nothing)]),
    tool("PushNotification", ToolEffect::Acts, &[("message", Message), ("status", Nothing)]),
    tool("Read", ToolEffect::Looks, &[
        ("file_path", Path), ("offset", Nothing), ("limit", Nothing), ("pages", Nothing), ("allow_large", Nothing),
    ]),
    tool("ReadMcpResource", ToolEffect::Looks, &[("server", Nothing), ("uri", Path)]),
    tool("ReadMcpResourceDir", ToolEffect::Looks, &[("server", Nothing), ("uri", Path)]),
    tool("ReadMcpResourceDirTool", ToolEffect::Looks, &[("server", Nothing), ("uri", Path)]),
    tool("ReadMcpResourceTool", ToolEffect::Looks, &[("server", Nothing), ("uri", Path)]),
    tool("ReadNotifications", ToolEffect::Looks, &[]),
    tool("RemoteTrigger", ToolEffect::Acts, &[
        ("action", Nothing), ("trigger_id", Nothing), ("session_id", Nothing), ("cursor", Nothing), ("body", Prompt),
    ]),
    tool("ReportFindings", ToolEffect::Looks, &[("level", Nothing), ("findings", Message)]),
    tool("ScheduleWakeup", ToolEffect::Acts, &[
        ("delaySeconds", Nothing), ("reason", Message), ("prompt", Prompt), ("stop", Nothing), ("noop", Nothing),
    ]),
    tool("SendFeedback", ToolEffect::Acts, &[
        ("type", Nothing), ("title", Message), ("details", Message), ("area", Nothing), ("failure_mode", Nothing),
        ("task_category", Nothing),
    ]),
    tool("SendMessage", ToolEffect::Acts, &[("to", Nothing), ("summary", Message), ("message", Message), ("notify_when_idle", Nothing)]),
    tool("SendUserFile", ToolEffect::Acts, &[("files", Nothing), ("caption", Message), ("status", Nothing)]),
    tool("SendUserMessage", ToolEffect::Acts, &[("message", Message), ("attachments", Nothing), ("status", Nothing)]),
    tool("SetGoal", ToolEffect::Acts, &[("condition", Prompt), ("ask_user", Nothing)]),
    tool("ShareOnboardingGuide", ToolEffect::Acts, &[]),
    tool("ShowOnboardingRolePicker", ToolEffect::Acts, &[]),
    tool("Skill", ToolEffect::Loads, &[("skill", Prompt), ("args", Message)]),
    tool("SlashCommand", ToolEffect::Acts, &[("command", Prompt)]),
    tool("StructuredOutput", ToolEffect::Looks, &[]),
    tool("SubagentHandback", ToolEffect::Acts, &[]),
    tool("Task", ToolEffect::Calls, AGENT),
    tool("TaskCreate", ToolEffect::Looks, &[
        ("subject", Message), ("description", Message), ("activeForm", Message), ("metadata", Message),
    ]),
    tool("TaskGet", ToolEffect::Looks, &[("taskId", Nothing)]),
    tool("TaskList", ToolEffect::Looks, &[]),
    tool(
        "TaskOutput",
        ToolEffect::Looks,
        &[("task_id", Nothing), ("block", Nothing), ("timeout", Nothing)],
    ),
    tool("TaskStop", ToolEffect::Acts, &[("task_id", Nothing), ("shell_id", Nothing)]),
    tool("TaskUpdate", ToolEffect::Looks, &[
        ("taskId", Nothing), ("subject", Message), ("description", Message), ("activeForm", Message), ("status", Nothing),
        ("addBlocks", Nothing), ("addBlockedBy", Nothing), ("owner", Nothing), ("metadata", Message),
    ]),
    tool("TodoRead", ToolEffect::Looks, &[]),
    tool("TodoWrite", ToolEffect::Looks, &[("todos", Message)]),
    tool("ToolSearch", ToolEffect::Looks, &[("query", Message), ("max_results", Nothing)]),
    tool("WaitForMcpServers", ToolEffect::Looks, &[]),
    tool("WebFetch", ToolEffect::Looks, &[("url", Path), ("prompt", Message), ("offset", Nothing)]),
    tool("WebSearch", ToolEffect::Looks, &[("query", Message), ("allowed_domains", Nothing), ("blocked_domains", Nothing)]),
    // Its script starts agents, whose calls are judged one by one.
    tool("Workflow", ToolEffect::Acts, &[
        ("script", Anything), ("name", Nothing), ("description", Message), ("title", Message), ("args", Message),
        ("scriptPath", Nothing), ("resumeFromRunId", Nothing),
    ]),
    tool("Write", ToolEffect::Edits, &[("file_path", Path), ("content", Content)]),
    tool("propose_skills", ToolEffect::Acts, &[("proposals", Content)]),
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
        assert_eq!(find("mcp__files__write_file").does, ToolEffect::Acts);
        assert_eq!(find("Telepathy").carries("cmd"), Anything);
        assert_eq!(find("Bash").carries("new_field"), Anything);
        assert_eq!(find("mcp__files__write_file").carries("content"), Content);
    }
}
