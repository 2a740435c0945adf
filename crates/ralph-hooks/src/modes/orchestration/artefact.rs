//! Who makes a call, whether it writes an artefact of the orchestration, and whether the caller may
//! write it.

use crate::hook_runner::HookCall;
use crate::modes::orchestration::look;
use anyhow::Result;
use ralph_core::guard::human_only;
use ralph_core::modes::orchestration::agents::AgentRole;
use ralph_core::modes::orchestration::files::{OrchestrationFile, SESSIONS};
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::invocation::{CallKey, Invocation};
use ralph_core::modes::orchestration::progress::TaskMark;
use ralph_core::modes::orchestration::rules::{
    RuleRefusal, WriteTarget, Writer, may_change, may_leave_progress, may_mark, may_write,
};
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::shell::{self, Simple};
use ralph_core::state::{LoopState, OrchestrationCall, OrchestrationState};
use ralph_io::client::{self, transcript};
use ralph_io::store::home::Home;
use ralph_io::store::places;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// A call that writes an artefact.
pub(super) struct Written {
    /// The rule's decision; the error is the reason for a refusal.
    pub judged: Result<(), String>,
    /// The task whose file the call replaces, if that is allowed.
    pub replaces: Option<String>,
}

/// The project's folder of orchestrations, with symlinks resolved.
pub(super) fn folder(state: &LoopState) -> PathBuf {
    let root = Path::new(&state.project_root);
    root.canonicalize().unwrap_or_else(|_| root.to_owned()).join(SESSIONS.trim_end_matches('/'))
}

/// Judges a call that edits a file. Returns `None` if the file is no artefact.
pub(super) fn edited(
    call: &HookCall,
    home: &Home,
    state: &LoopState,
    who: &Who,
) -> Result<Option<Written>> {
    let Some(path) = call.input.tool_input.path() else { return Ok(None) };
    let folder = folder(state);
    let said = absolute(Path::new(&call.input.cwd), path);
    let led = places::resolve(&said.to_string_lossy()).map(PathBuf::from);
    let below = |path: &Path| path.strip_prefix(&folder).ok().map(Path::to_owned);
    // A symlink above the project can make the path as named differ from the resolved one.
    let named = Path::new(&state.project_root).join(SESSIONS.trim_end_matches('/'));
    let is_named = below(&said).is_some() || said.starts_with(&named);
    let file = match (led.as_deref().and_then(below), is_named) {
        (Some(file), _) => file,
        (None, true) => {
            return Ok(Some(refused(
                "this is a link that leads out of the orchestration's folder; write the file \
                 itself",
            )));
        }
        (None, false) => return Ok(None),
    };
    let (sessions, id) = look::sessions(home, state)?;
    let Some(inside) = of_session(&file, &id) else {
        return Ok(Some(refused(&format!(
            "this is outside orchestration {id}; write your own files below `{SESSIONS}{id}/`"
        ))));
    };
    // A caller that may not write at all is refused before the folder is read.
    if let Err(RuleRefusal(why)) =
        may_write(who.writer(), OrchestrationFile::of(&inside), WriteTarget::default())
        && !matches!(who, Who::Agent(_))
    {
        return Ok(Some(refused(&why)));
    }
    let Some(seen) = sessions.read(&id)? else { return Ok(None) };
    Ok(Some(judge(call, &seen, who, &inside).unwrap_or_else(|RuleRefusal(why)| refused(&why))))
}

/// The path relative to this orchestration's folder, or to its instructions file beside the folder.
fn of_session(file: &Path, id: &OrchestrationId) -> Option<String> {
    let text = file.to_str()?;
    match text.strip_prefix(id.as_str())? {
        ".instructions.md" => Some(format!("../{id}.instructions.md")),
        rest => Some(rest.strip_prefix('/')?.to_owned()),
    }
}

fn refused(why: &str) -> Written {
    Written { judged: Err(why.to_owned()), replaces: None }
}

fn judge(
    call: &HookCall,
    seen: &Snapshot,
    who: &Who,
    inside: &str,
) -> Result<Written, RuleRefusal> {
    let place = may_change(who.writer(), seen, inside)?;
    if let (Some(OrchestrationFile::Progress), Who::Agent(key)) = (place, who) {
        let before = seen.text(OrchestrationFile::Progress).unwrap_or_default();
        let text = text_after(call, before).ok_or_else(|| {
            let why = "Ralph cannot predict the content of `progress.md` after this; change it \
                       with Edit, a line at a time";
            RuleRefusal(why.to_owned())
        })?;
        may_leave_progress(key.mode, &key.task, seen, &text)?;
    }
    let replaces = match place {
        Some(OrchestrationFile::Task(task)) if seen.files.contains_key(inside) => {
            Some(task.to_owned())
        }
        _ => None,
    };
    Ok(Written { judged: Ok(()), replaces })
}

/// The file's text after the edit, or `None` if it cannot be computed.
fn text_after(call: &HookCall, before: &str) -> Option<String> {
    if call.cut {
        return None;
    }
    let event: Value = serde_json::from_slice(&call.raw).ok()?;
    let input = &event["tool_input"];
    let edit = |text: String, edit: &Value| -> Option<String> {
        let (old, new) = (edit["old_string"].as_str()?, edit["new_string"].as_str()?);
        Some(match (old, edit["replace_all"].as_bool()) {
            // An empty old string creates the file with this text.
            ("", _) => new.to_owned(),
            (old, Some(true)) => text.replace(old, new),
            (old, _) => text.replacen(old, new, 1),
        })
    };
    match call.input.tool_name.as_str() {
        "Write" => input["content"].as_str().map(str::to_owned),
        "Edit" => edit(before.to_owned(), input),
        "MultiEdit" => input["edits"].as_array()?.iter().try_fold(before.to_owned(), edit),
        _ => None,
    }
}

/// Judges the marks that a command line sets with `ralph mark`, under each of its names. Returns `None` if
/// it sets none.
pub(super) fn marked(
    line: &str,
    home: &Home,
    state: &LoopState,
    who: &Who,
) -> Result<Option<Written>> {
    let Some(programs) = shell::programs(line) else {
        let names = ["ralph mark", "session mark", "team mark", "session repair", "team repair"];
        let marks = names.iter().any(|name| line.contains(name));
        let why =
            "give `ralph session mark` in a command of its own, without a loop or a condition";
        return Ok(marks.then(|| refused(why)));
    };
    if *who == Who::Main && programs.iter().any(repairs) {
        return Ok(Some(refused(
            "the planner repairs these files; call the agent that `ralph session next` names",
        )));
    }
    let mut marks = programs.iter().filter_map(mark).peekable();
    if marks.peek().is_none() {
        return Ok(None);
    }
    let (mode, own) = match who.writer() {
        Writer::Agent { mode, task } => (mode, task),
        writer => {
            let why = may_write(writer, Some(OrchestrationFile::Progress), WriteTarget::default());
            return Ok(why.err().map(|RuleRefusal(why)| refused(&why)));
        }
    };
    let (sessions, id) = look::sessions(home, state)?;
    let Some(seen) = sessions.read(&id)? else { return Ok(None) };
    let progress = seen.record.progress.unwrap_or_default();
    let iteration = progress.latest_iteration().max(1);
    for ArtefactMark { task, status, of } in marks {
        if of.as_deref().is_some_and(|of| of != id.as_str()) {
            return Ok(Some(refused(&format!(
                "this belongs to another orchestration; mark in {id}"
            ))));
        }
        let Some(status) = status.as_deref().and_then(TaskMark::typed) else {
            return Ok(Some(refused(
                "write the mark literally: `[/]`, `[P]`, `[x]`, `[F]` or `[C]`",
            )));
        };
        let mut after = progress.clone();
        let place = progress.planning(iteration).position(|entry| entry.id == task);
        let entry = match place {
            Some(at) => after.planning_mut(iteration, at),
            None => after.task_mut(&task),
        };
        // The command itself refuses a task that does not exist.
        let Some(entry) = entry else { continue };
        entry.set(status, None);
        if let Err(RuleRefusal(why)) = may_mark(mode, own, &progress, &after) {
            return Ok(Some(refused(&why)));
        }
    }
    Ok(Some(Written { judged: Ok(()), replaces: None }))
}

/// The words after `ralph`, with the command in place of its alias.
fn words_of(simple: &Simple) -> Vec<String> {
    let words = simple.arguments().iter().map(|word| word.text.clone());
    let is_ralph = simple.name() == "ralph";
    if is_ralph { human_only::without_alias(words.collect()) } else { Vec::new() }
}

/// Matches `ralph team repair`, wherever its options stand.
fn repairs(simple: &Simple) -> bool {
    let words = words_of(simple);
    words.iter().filter(|word| !word.starts_with('-')).take(2).eq(["team", "repair"])
}

struct ArtefactMark {
    task: String,
    status: Option<String>,
    of: Option<String>,
}

/// Matches `ralph mark TASK STATUS`, wherever its options stand.
fn mark(simple: &Simple) -> Option<ArtefactMark> {
    let (mut plain, mut of) = (Vec::new(), None);
    let mut words = words_of(simple).into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--id" => of = words.next(),
            "--note" | "--of" => drop(words.next()),
            // Only a task of a loop is marked by this option.
            "--as" => return None,
            word if word.starts_with("--as=") => return None,
            _ => match word.strip_prefix("--id=") {
                Some(id) => of = Some(id.to_owned()),
                None if !word.starts_with("--") => plain.push(word),
                None => {}
            },
        }
    }
    match plain.as_slice() {
        [mark, task, rest @ ..] if mark == "mark" => {
            Some(ArtefactMark { task: task.clone(), status: rest.first().cloned(), of })
        }
        _ => None,
    }
}

/// The absolute path, without `.` and `..`.
fn absolute(cwd: &Path, path: &str) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

// Who makes a call: the conversation, an agent of the orchestration, or an unknown agent.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who {
    /// The conversation that orchestrates.
    Main,
    /// An agent of the orchestration, with the key of its call.
    Agent(CallKey),
    /// An agent that the orchestration has not called.
    Stranger(String),
}

impl Who {
    pub(super) fn of(call: &HookCall, state: &LoopState) -> Who {
        let input = &call.input;
        if let (false, Some(driven)) = (input.from_subagent(), driven()) {
            return Who::Agent(driven);
        }
        if !input.from_subagent() {
            return Who::Main;
        }
        let known = state.orchestration().and_then(|session| place(call, session));
        let key = known.and_then(|at| state.orchestration()?.calls.get(at)?.key());
        key.map_or_else(|| Who::Stranger(input.agent_type.clone()), Who::Agent)
    }

    pub(super) fn writer(&self) -> Writer<'_> {
        match self {
            Who::Main => Writer::Main,
            Who::Agent(key) => Writer::Agent { mode: key.mode, task: &key.task },
            Who::Stranger(_) => Writer::Stranger,
        }
    }

    /// The agent type that the guard checks.
    pub(super) fn kind(&self) -> Option<&str> {
        match self {
            Who::Main => None,
            Who::Agent(key) => Some(key.mode.agent().name()),
            Who::Stranger(kind) => Some(kind),
        }
    }
}

/// The call for which a driver started this client session.
fn driven() -> Option<CallKey> {
    serde_json::from_str(&client::session_call()?).ok()
}

/// Which call under way belongs to this agent: by the client's agent id, else by the first prompt
/// of its transcript, else because only one call is possible.
pub(super) fn place(call: &HookCall, session: &OrchestrationState) -> Option<usize> {
    let input = &call.input;
    let calls = &session.calls;
    if let Some(at) = calls.iter().position(|one| one.agent == input.agent_id) {
        return Some(at);
    }
    let agent = AgentRole::of(&input.agent_type)?;
    let can_be = |one: &OrchestrationCall| one.agent.is_empty() && one.agent() == Some(agent);
    if let Some(prompt) = transcript_of(call).and_then(|path| transcript::first_prompt(&path)) {
        return calls
            .iter()
            .position(|one| can_be(one) && Invocation::are_same(&one.prompt, &prompt));
    }
    let mut all = (0..calls.len()).filter(|at| can_be(&calls[*at]));
    let only = all.next()?;
    all.next().is_none().then_some(only)
}

/// The agent's own transcript. The SubagentStop event names it; before that, it is in the folder
/// where the client keeps the transcripts of a session's agents.
fn transcript_of(call: &HookCall) -> Option<PathBuf> {
    let input = &call.input;
    if !input.agent_transcript_path.is_empty() {
        return Some(PathBuf::from(&input.agent_transcript_path));
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let folder = Path::new(input.transcript_path.strip_suffix(".jsonl")?).join("subagents");
    let path = folder.join(format!("agent-{}.jsonl", input.agent_id));
    (input.agent_id.chars().all(is_plain) && path.is_file()).then_some(path)
}
