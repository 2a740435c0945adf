//! Who makes a call, whether it writes an artefact of the orchestration, and whether the caller may
//! write it.

use crate::hook_runner::HookCall;
use crate::modes::orchestration::routing;
use anyhow::Result;
use ralph_core::guard::commands;
use ralph_core::modes::orchestration::agents::AgentRole;
use ralph_core::modes::orchestration::files::{OrchestrationFile, SESSIONS};
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::invocation::{CallKey, Invocation};
use ralph_core::modes::orchestration::progress::TaskMark;
use ralph_core::modes::orchestration::rules::{Writer, may_change, may_leave_progress, may_mark};
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
    who: &Writer,
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
    let (sessions, id) = routing::sessions(home, state)?;
    let Some(inside) = of_session(&file, &id) else {
        return Ok(Some(refused(&format!(
            "this is outside orchestration {id}; write your own files below `{SESSIONS}{id}/`"
        ))));
    };
    // A caller that may not write at all is refused before the folder is read.
    let key = match who.call() {
        Ok(key) => key,
        Err(why) => return Ok(Some(refused(&why))),
    };
    let Some(seen) = sessions.read(&id)? else { return Ok(None) };
    Ok(Some(judge(call, &seen, key, &inside).unwrap_or_else(|why| refused(&why))))
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

fn judge(call: &HookCall, seen: &Snapshot, key: &CallKey, inside: &str) -> Result<Written, String> {
    let place = may_change(key, seen, inside)?;
    if place == OrchestrationFile::Progress {
        let before = seen.text(place).unwrap_or_default();
        let text = text_after(call, before).ok_or(
            "Ralph cannot predict the content of `progress.md` after this; change it with Edit, a \
             line at a time",
        )?;
        may_leave_progress(key, seen, &text)?;
    }
    let replaces = match place {
        OrchestrationFile::Task(task) if seen.has(place) => Some(task.to_owned()),
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
    who: &Writer,
) -> Result<Option<Written>> {
    let Some(programs) = shell::programs(line) else {
        let names = ["ralph mark", "session mark", "team mark", "session repair", "team repair"];
        let marks = names.iter().any(|name| line.contains(name));
        let why =
            "give `ralph session mark` in a command of its own, without a loop or a condition";
        return Ok(marks.then(|| refused(why)));
    };
    if *who == Writer::Main && programs.iter().any(repairs) {
        return Ok(Some(refused(
            "the planner repairs these files; call the agent that `ralph session next` names",
        )));
    }
    let mut marks = programs.iter().filter_map(mark).peekable();
    if marks.peek().is_none() {
        return Ok(None);
    }
    let key = match who.call() {
        Ok(key) => key,
        Err(why) => return Ok(Some(refused(&why))),
    };
    let (sessions, id) = routing::sessions(home, state)?;
    let Some(seen) = sessions.read(&id)? else { return Ok(None) };
    let progress = seen.progress();
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
        if let Err(why) = may_mark(key, progress, &after) {
            return Ok(Some(refused(&why)));
        }
    }
    Ok(Some(Written { judged: Ok(()), replaces: None }))
}

/// The words after `ralph`, with the command in place of its alias.
fn words_of(simple: &Simple) -> Vec<String> {
    let words = simple.arguments().iter().map(|word| word.text.clone());
    let is_ralph = simple.name() == "ralph";
    if is_ralph { commands::without_alias(words.collect()) } else { Vec::new() }
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

pub(super) fn writer(call: &HookCall, state: &LoopState) -> Writer {
    let input = &call.input;
    if !input.from_subagent() {
        return driven().map_or(Writer::Main, Writer::Agent);
    }
    let known =
        state.orchestration().and_then(|session| session.calls[place(call, session)?].key());
    known.map_or_else(|| Writer::Stranger(input.agent_type.clone()), Writer::Agent)
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
    let agent = AgentRole::from_agent_type(&input.agent_type)?;
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

#[cfg(test)]
mod tests {
    use super::super::fixture::Orchestrated;
    use super::*;
    use ralph_core::modes::orchestration::agents::Mode;
    use serde_json::json;

    fn made(mode: &str, task: &str, agent: &str) -> OrchestrationCall {
        OrchestrationCall {
            mode: mode.to_owned(),
            task: task.to_owned(),
            agent: agent.to_owned(),
            iteration: 1,
            prompt: format!("do {task}"),
            ..OrchestrationCall::default()
        }
    }

    fn agent(mode: Mode, task: &str) -> Writer {
        Writer::Agent(CallKey { mode, task: task.to_owned(), iteration: 1, cycle: 0 })
    }

    #[test]
    fn the_call_of_an_agent_is_found_by_its_id_its_prompt_or_as_the_only_one_of_its_kind() {
        let of = Orchestrated::begun();
        let session = OrchestrationState {
            calls: vec![
                made("EXECUTE", "task-1", "a"),
                made("EXECUTE", "task-2", ""),
                made("EXECUTE", "task-3", ""),
                made("TASK_REVIEW", "task-4", ""),
            ],
            ..OrchestrationState::default()
        };
        let transcript = of.at.root().join("agent.jsonl");
        let place_in = |session: &OrchestrationState, id: &str, kind: &str, prompt: &str| {
            let row = json!({"type": "user", "message": {"content": prompt}});
            std::fs::write(&transcript, format!("{row}\n")).unwrap();
            let path = if prompt.is_empty() { None } else { Some(&transcript) };
            let about = json!({"agent_id": id, "agent_type": kind, "agent_transcript_path": path});
            place(&of.at.call("SubagentStop", about), session)
        };
        let (executor, reviewer) = ("Ralph-v2-Executor", "ralph:Ralph-v2-Reviewer");
        for (id, kind, prompt, expected) in [
            ("a", "Explore", "", Some(0)),
            ("x", executor, "", None),
            ("x", executor, "do task-3 \n", Some(2)),
            ("x", executor, "do task-1", None),
            ("x", executor, "do task-4", None),
            ("x", reviewer, "", Some(3)),
            ("x", reviewer, "do task-4", Some(3)),
            ("x", reviewer, "another", None),
            ("x", "Explore", "", None),
        ] {
            assert_eq!(place_in(&session, id, kind, prompt), expected, "{id} {kind} {prompt}");
        }
        let calls = session.calls[..2].to_vec();
        let two = OrchestrationState { calls, ..OrchestrationState::default() };
        assert_eq!(place_in(&two, "x", executor, ""), Some(1));
        assert_eq!(place_in(&two, "x", reviewer, ""), None);
    }

    #[test]
    fn an_agents_transcript_is_named_or_lies_below_that_of_its_session() {
        let of = Orchestrated::begun();
        let folder = of.at.root().join("s/subagents");
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["agent-a-1_b.jsonl", "agent-a.b.jsonl"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let found = |id: &str, own: &str, session: &str| {
            let session = of.at.root().join(session);
            let about =
                json!({"agent_id": id, "agent_transcript_path": own, "transcript_path": session});
            transcript_of(&of.at.call("PreToolUse", about))
        };
        assert_eq!(found("a-1_b", "", "s.jsonl"), Some(folder.join("agent-a-1_b.jsonl")));
        assert_eq!(found("a-1_b", "/own", "s.jsonl"), Some("/own".into()));
        assert_eq!(found("a.b", "", "s.jsonl"), None, "it is no plain name");
        assert_eq!(found("other", "", "s.jsonl"), None, "it is not there");
        assert_eq!(found("a-1_b", "", "s.txt"), None);
    }

    #[test]
    fn a_caller_is_the_conversation_an_agent_with_its_call_or_a_stranger() {
        let of = Orchestrated::begun();
        let mut state = of.at.state();
        state.orchestration_mut().unwrap().calls = vec![made("EXECUTE", "task-1", "a")];
        let who = |id: &str, kind: &str| {
            writer(&of.at.call("PreToolUse", json!({"agent_id": id, "agent_type": kind})), &state)
        };
        let (main, executor) = (who("", ""), who("a", "x"));
        assert_eq!((&main, main.agent_type()), (&Writer::Main, None));
        assert_eq!(executor, agent(Mode::Execute, "task-1"));
        assert_eq!(executor.agent_type(), Some("Ralph-v2-Executor"));
        let stranger = who("b", "Explore");
        assert_eq!(stranger, Writer::Stranger("Explore".to_owned()));
        assert_eq!(stranger.agent_type(), Some("Explore"));
    }

    type Judged = Option<(Result<(), String>, Option<String>)>;

    fn judged(written: Option<Written>) -> Judged {
        written.map(|Written { judged, replaces }| (judged, replaces))
    }

    fn no(why: &str) -> Judged {
        Some((Err(why.to_owned()), None))
    }

    #[test]
    fn an_edit_below_the_sessions_folder_is_judged_and_any_other_is_no_artefact() {
        let of = Orchestrated::planned(&["task-1"]);
        let id = of.id.as_str();
        let sessions = of.at.root().join(".ralph-sessions");
        let written = |path: &str, who: &Writer| {
            let input = json!({"file_path": sessions.join(path), "content": ""});
            let call = of.at.call("PreToolUse", json!({"tool_name": "Write", "tool_input": input}));
            judged(edited(&call, &of.at.home, &of.at.state(), who).unwrap())
        };
        let in_it = |path: &str, who: &Writer| written(&format!("{id}/{path}"), who);
        let (executor, planner) = (agent(Mode::Execute, "task-1"), agent(Mode::Rebreakdown, ""));
        let stranger = Writer::Stranger("Explore".to_owned());
        let main = "the orchestrating conversation must not write the orchestration's files; call the \
                    agent that `ralph session next` names";
        let others = "only the orchestration's agents write its files; return your result as text";
        let fine = |replaces: Option<&str>| Some((Ok(()), replaces.map(str::to_owned)));
        assert_eq!(in_it("reports/task-1-report.md", &executor), fine(None));
        assert_eq!(in_it("tasks/task-1.md", &planner), fine(Some("task-1")));
        assert_eq!(in_it("tasks/task-2.md", &planner), fine(None));
        let plan = "`plan.md` is written by Ralph-v2-Planner, not by Ralph-v2-Executor";
        assert_eq!(in_it("plan.md", &executor), no(plan));
        assert_eq!(in_it("plan.md", &Writer::Main), no(main));
        assert_eq!(in_it("plan.md", &stranger), no(others));
        let instructions = written(&format!("{id}.instructions.md"), &Writer::Main);
        assert_eq!(instructions, no(main));
        let outside = format!(
            "this is outside orchestration {id}; write your own files below `.ralph-sessions/{id}/`"
        );
        assert_eq!(written("200131-120000/plan.md", &executor), no(&outside));
        assert_eq!(written("../plan.md", &Writer::Main), None);
        assert_eq!(written(&format!("{id}/../../plan.md"), &executor), None);
        std::os::unix::fs::symlink("/", of.path("away")).unwrap();
        let link =
            "this is a link that leads out of the orchestration's folder; write the file itself";
        assert_eq!(in_it("away/tmp/plan.md", &executor), no(link));
        let alias = of.at.home.root().join("alias");
        std::os::unix::fs::symlink(of.at.root(), &alias).unwrap();
        for root in [of.at.root(), alias.clone()] {
            let state = LoopState { project_root: root.display().to_string(), ..of.at.state() };
            for top in [of.at.root(), alias.clone()] {
                let path = top.join(format!(".ralph-sessions/{id}/away/tmp/plan.md"));
                let about = json!({"tool_name": "Write", "tool_input": {"file_path": path}});
                let call = of.at.call("PreToolUse", about);
                let written = edited(&call, &of.at.home, &state, &executor).unwrap();
                let is_told = root == alias || top == of.at.root();
                assert_eq!(judged(written), no(link).filter(|_| is_told), "{root:?} {top:?}");
            }
        }
        std::fs::remove_dir_all(of.path("")).unwrap();
        assert_eq!(in_it("plan.md", &Writer::Main), no(main), "nobody needs the folder for that");
        assert_eq!(in_it("plan.md", &executor), None);
        let call = of.at.call("PreToolUse", json!({"tool_name": "Write"}));
        assert!(edited(&call, &of.at.home, &of.at.state(), &executor).unwrap().is_none());
    }

    #[test]
    fn an_agent_leaves_in_the_progress_only_what_it_may_mark() {
        let of = Orchestrated::planned(&["task-1", "task-2"]);
        let left = |who: &Writer, tool: &str, mut input: Value, cut: bool| {
            input["file_path"] = json!(of.path("progress.md"));
            let call = of.at.call("PreToolUse", json!({"tool_name": tool, "tool_input": input}));
            let call = HookCall { cut, ..call };
            judged(edited(&call, &of.at.home, &of.at.state(), who).unwrap())
        };
        let executor = agent(Mode::Execute, "task-1");
        let mark = |task: &str, mark: &str| json!({"old_string": format!("[ ] {task}"), "new_string": format!("[{mark}] {task}")});
        let fine = Some((Ok(()), None));
        assert_eq!(left(&executor, "Edit", mark("task-1", "/"), false), fine);
        let not_its = "Ralph-v2-Executor must not mark task-2 `[/]`; it marks `[/]`, `[P]`, `[F]` for its \
                       task";
        assert_eq!(left(&executor, "Edit", mark("task-2", "/"), false), no(not_its));
        let both = json!({"edits": [mark("task-1", "P"), mark("task-2", "/")]});
        assert_eq!(left(&executor, "MultiEdit", both, false), no(not_its));
        let unknown = "Ralph cannot predict the content of `progress.md` after this; change it with Edit, a \
                       line at a time";
        assert_eq!(left(&executor, "Edit", mark("task-1", "/"), true), no(unknown));
        assert_eq!(left(&executor, "NotebookEdit", json!({}), false), no(unknown));
    }

    #[test]
    fn the_text_after_an_edit_is_what_the_tool_will_write() {
        let of = Orchestrated::begun();
        let after = |tool: &str, input: Value, cut: bool| {
            let call = of.at.call("PreToolUse", json!({"tool_name": tool, "tool_input": input}));
            text_after(&HookCall { cut, ..call }, "a b a")
        };
        let text = |text: &str| Some(text.to_owned());
        let edit = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
        assert_eq!(after("Write", json!({"content": "c"}), false), text("c"));
        assert_eq!(after("Write", json!({"content": "c"}), true), None);
        assert_eq!(after("Write", json!({}), false), None);
        assert_eq!(after("Edit", edit("a", "c"), false), text("c b a"));
        assert_eq!(after("Edit", edit("", "c"), false), text("c"));
        assert_eq!(after("Edit", json!({"old_string": "a"}), false), None);
        let all = |all: bool| json!({"old_string": "a", "new_string": "c", "replace_all": all});
        assert_eq!(after("Edit", all(true), false), text("c b c"));
        assert_eq!(after("Edit", all(false), false), text("c b a"));
        let edits = json!({"edits": [edit("a", "c"), edit("c b", "d")]});
        assert_eq!(after("MultiEdit", edits, false), text("d a"));
        assert_eq!(after("NotebookEdit", edit("a", "c"), false), None);
    }

    #[test]
    fn a_line_that_marks_is_judged_by_whose_task_it_marks() {
        let of = Orchestrated::planned(&["task-1", "task-2"]);
        let line = |line: &str, who: &Writer| {
            judged(marked(line, &of.at.home, &of.at.state(), who).unwrap())
        };
        let executor = agent(Mode::Execute, "task-1");
        let fine = Some((Ok(()), None));
        let not_its = "Ralph-v2-Executor must not mark task-2 `[/]`; it marks `[/]`, `[P]`, `[F]` for its \
                       task";
        let literal = "write the mark literally: `[/]`, `[P]`, `[x]`, `[F]` or `[C]`";
        let alone =
            "give `ralph session mark` in a command of its own, without a loop or a condition";
        let other = format!("this belongs to another orchestration; mark in {}", of.id);
        let planner =
            "the planner repairs these files; call the agent that `ralph session next` names";
        let own = format!("ralph session mark task-1 [P] --id {} --note done", of.id);
        for (text, who, expected) in [
            ("ls", &executor, None),
            ("ralph session mark task-1 [/]", &executor, fine.clone()),
            (own.as_str(), &executor, fine.clone()),
            ("ralph session mark task-1 '[/]' --id=200131-120000", &executor, no(&other)),
            ("ralph session mark --id 200131-120000 task-1 [/]", &executor, no(&other)),
            ("ralph session mark --note done task-2 [/]", &executor, no(not_its)),
            ("ralph session mark task-2 [/]", &executor, no(not_its)),
            (
                "ralph session mark task-1 [/]; ralph session mark task-2 [/]",
                &executor,
                no(not_its),
            ),
            ("ralph session mark task-9 [/]", &executor, fine),
            ("ralph session mark task-1 \"$X\"", &executor, no(literal)),
            ("ralph session mark task-1", &executor, no(literal)),
            ("ralph mark T-1 done --as=x", &executor, None),
            ("ralph mark T-1 done --as x", &executor, None),
            ("for x in a; do ralph session mark task-1 [/]; done", &executor, no(alone)),
            ("for x in a; do ls; done", &executor, None),
            ("ralph session repair", &Writer::Main, no(planner)),
            ("ralph session repair", &executor, None),
            ("ralph session status", &Writer::Main, None),
        ] {
            assert_eq!(line(text, who), expected, "{text}");
        }
        let stranger = Writer::Stranger("Explore".to_owned());
        for who in [&Writer::Main, &stranger] {
            let why = who.call().unwrap_err();
            assert_eq!(line("ralph session mark task-1 [/]", who), no(&why));
        }
        std::fs::remove_dir_all(of.path("")).unwrap();
        assert_eq!(line("ralph session mark task-1 [/]", &executor), None);
    }

    #[test]
    fn a_path_is_made_absolute_and_told_from_the_orchestration() {
        for (path, expected) in
            [("b", "/p/b"), ("./b/../c", "/p/c"), ("/q/./r", "/q/r"), ("../../../b", "/b")]
        {
            assert_eq!(absolute(Path::new("/p"), path), Path::new(expected));
        }
        let id = OrchestrationId::parse("260131-120000").unwrap();
        for (path, expected) in [
            ("260131-120000/plan.md", Some("plan.md")),
            ("260131-120000/tasks/a.md", Some("tasks/a.md")),
            ("260131-120000.instructions.md", Some("../260131-120000.instructions.md")),
            ("260131-120000x/plan.md", None),
            ("260131-120000", None),
            ("260131-120001/plan.md", None),
        ] {
            assert_eq!(of_session(Path::new(path), &id).as_deref(), expected, "{path}");
        }
    }
}
