//! A worker that runs without a session: a client in a worktree, with a loop that holds only its
//! task.
//!
//! The loop lets the hooks watch the client as they watch any round. It has no criteria, because
//! those run on the merged work of all workers. Its tokens and iterations count against the parent
//! loop.

use super::reopen;
use crate::modes::build;
use crate::state::{BuildRound, LoopState, Task, TaskStatus, Tokens, WorkerStanding};
use crate::stop;
use crate::text::truncate::bounded;
use jiff::Timestamp;

/// Longest safe name of a task, in characters.
const LONGEST_NAME: usize = 40;

/// The inputs for creating a worker's loop.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    pub task: &'a str,
    /// The session id that its client will have.
    pub session_id: &'a str,
    /// The folder in which the client works.
    pub project_root: &'a str,
    /// The number of this worker in the run, counted from 1.
    pub number: u32,
    pub now: Timestamp,
}

/// Creates the loop of a worker, with its task and the task's dependencies, limited to what the
/// parent loop has left. `None` if the task does not exist.
pub fn begin(above: &LoopState, with: &Begin<'_>) -> Option<LoopState> {
    let task = above.task_graph.iter().find(|task| task.id == with.task)?;
    let before = above.task_graph.iter().filter(|other| task.deps.contains(&other.id));
    let mine = Task {
        status: TaskStatus::InProgress,
        owner: Some(build::OWNER.to_owned()),
        lease_expires_at: None,
        ..task.clone()
    };
    let mut limits = above.limits.clone();
    limits.max_minutes = stop::time_left(above, with.now).as_secs().div_ceil(60).max(1);
    limits.max_tokens = limits.max_tokens.map(|most| most.saturating_sub(above.usage.total()));
    Some(LoopState {
        session_id: with.session_id.to_owned(),
        phase: crate::state::Phase::Implementation,
        project_root: with.project_root.to_owned(),
        prompt: above.prompt.clone(),
        max_iterations: above.max_iterations.saturating_sub(above.iteration).max(1),
        created_at: with.now,
        started_at: Some(with.now),
        task_graph: before.cloned().chain([mine]).collect(),
        context_report: above.context_report.clone(),
        completion_token: above.completion_token.clone(),
        stall_limit: above.stall_limit,
        limits,
        settings: above.settings.clone(),
        started_by: above.started_by.clone(),
        touched: true,
        round: Some(BuildRound {
            task: with.task.to_owned(),
            number: with.number,
            ..BuildRound::default()
        }),
        parent: Some(above.loop_id.clone()),
        ..LoopState::default()
    })
}

/// What remains of a worker after its client has exited.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// The worker's call id.
    pub call: &'a str,
    /// The worker's loop; `None` if it is gone.
    pub state: Option<&'a LoopState>,
    /// The files changed according to git, or why git cannot tell.
    pub changed: Result<&'a [String], &'a str>,
    pub tokens: Tokens,
    /// Why an open task was left open.
    pub why: &'a str,
}

/// Takes over the result of a worker. The status that it gave its task counts only if git shows the
/// work. Returns a description of what happened to the task.
pub fn end(above: &mut LoopState, end: &End<'_>) -> String {
    let Some(at) = above.workers.iter().position(|worker| worker.call == end.call) else {
        return String::new();
    };
    if !above.workers[at].is_running() {
        return String::new();
    }
    use_up(above, end);
    let id = above.workers[at].task.clone();
    let word = end.state.and_then(|state| state.task_graph.iter().find(|task| task.id == id));
    let is_held = above.task_graph.iter().any(|task| {
        task.id == id
            && task.status == TaskStatus::InProgress
            && task.owner.as_deref() == Some(super::OWNER)
    });
    let (standing, said) = match word {
        _ if !is_held => (WorkerStanding::Partial, None),
        Some(task) => judge(task, end),
        None => (WorkerStanding::Lost, None),
    };
    let worker = &mut above.workers[at];
    worker.standing = standing.clone();
    worker.files =
        end.changed.unwrap_or_default().iter().take(super::FILES_KEPT).cloned().collect();
    match (standing, said, word) {
        _ if !is_held => {
            format!("{id} was changed meanwhile; what its worker did is left where it is")
        }
        (WorkerStanding::Done | WorkerStanding::Blocked, _, Some(task)) => close(above, task),
        (_, Some(why), _) => reopen(above, &id, &why),
        _ => reopen(above, &id, &format!("a worker left it open: {}", bounded(end.why, 300))),
    }
}

/// Adds the worker's usage to the parent loop. The client and the hooks both counted the same
/// tokens, so only the larger total counts.
fn use_up(above: &mut LoopState, end: &End<'_>) {
    let counted = end.state.map(|state| state.usage.tokens).unwrap_or_default();
    let used = if counted.total() > end.tokens.total() { counted } else { end.tokens };
    above.usage.tokens = above.usage.tokens.plus(used);
    above.iteration = above.iteration.saturating_add(end.state.map_or(0, |state| state.iteration));
}

/// The status that the worker's report is worth, and why if the report is not accepted.
fn judge(task: &Task, end: &End<'_>) -> (WorkerStanding, Option<String>) {
    let partly = |why: String| (WorkerStanding::Partial, Some(why));
    match (&task.status, end.changed) {
        (TaskStatus::Done, Err(why)) => partly(format!(
            "a worker says that it is done, and git cannot tell: {}",
            bounded(why, 300)
        )),
        (TaskStatus::Done, Ok([])) if !task.files.is_empty() => {
            partly("a worker says that it is done, and nothing has changed".to_owned())
        }
        (TaskStatus::Done, Ok(_)) => (WorkerStanding::Done, None),
        (TaskStatus::Failed | TaskStatus::Blocked, _) => (WorkerStanding::Blocked, None),
        _ => (WorkerStanding::Partial, None),
    }
}

fn close(above: &mut LoopState, word: &Task) -> String {
    if let Some(task) = above.task_graph.iter_mut().find(|task| task.id == word.id) {
        task.status = word.status.clone();
        (task.lease_expires_at, task.result) = (None, word.result.clone());
    }
    let result = word.result.as_deref().map(|text| format!(": {}", bounded(text, 300)));
    format!("{} {}{}", word.id, word.status, result.unwrap_or_default())
}

/// The folders of a loop's worker branches, the usual one first. Git cannot have a branch below
/// another one: the first folder that is no branch, and lies below none, can be used.
pub fn branch_folders(loop_id: &str) -> [String; 3] {
    let loop_id = safe(loop_id);
    [format!("ralph/{loop_id}"), format!("ralph/workers-{loop_id}"), format!("ralph-{loop_id}")]
}

/// Names for a worker's worktree and branch. Older ones of the same loop and task may still exist,
/// so the attempt, counted from 1, makes the names unique.
pub fn names(loop_id: &str, branches: &str, task: &str, attempt: u32) -> (String, String) {
    let (loop_id, task) = (safe(loop_id), safe(task));
    let short = loop_id.rsplit('-').next().filter(|part| !part.is_empty()).unwrap_or(&loop_id);
    let again = if attempt > 1 { format!("-{attempt}") } else { String::new() };
    (format!("ralph-{short}-{task}{again}"), format!("{branches}/{task}{again}"))
}

/// Keeps only characters that a folder name and every part of a branch name allow.
fn safe(text: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() || letter == '_' {
        true => letter,
        false => '-',
    };
    let plain: String = text.trim().chars().take(LONGEST_NAME).map(letter).collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "task".to_owned() } else { plain.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, loop_of, work};
    use super::*;
    use crate::modes::mode;
    use crate::state::StartedBy;
    use crate::stop::StopInputs;

    fn begun(above: &LoopState, task: &str) -> LoopState {
        let with = Begin { task, session_id: "s", project_root: "/w", number: 3, now: NOW };
        begin(above, &with).unwrap()
    }

    /// `T-1` is done and merged; `T-2`, which depends on it, is in progress in its own loop.
    fn at_work() -> (LoopState, LoopState) {
        let mut above = loop_of(&[("T-1", &[], &[]), ("T-2", &["T-1"], &["x"]), ("T-3", &[], &[])]);
        above.loop_id = "L".to_owned();
        above.task_graph[0].status = TaskStatus::Done;
        above.task_graph[0].result = Some("made it".to_owned());
        work(&mut above, "T-2", WorkerStanding::Running);
        let below = begun(&above, "T-2");
        (above, below)
    }

    fn ends(
        above: &mut LoopState,
        below: Option<&LoopState>,
        changed: Result<&[&str], &str>,
    ) -> String {
        let changed =
            changed.map(|all| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        let with = End {
            call: "call-T-2",
            state: below,
            changed: changed.as_deref().map_err(|why| *why),
            tokens: Tokens { output: 7, ..Tokens::default() },
            why: "it crashed",
        };
        let said = end(above, &with);
        format!("{said} | {} {}", above.task_graph[1].status, above.workers[0].standing)
    }

    fn says(below: &mut LoopState, status: TaskStatus, result: &str) {
        let mine = below.task_graph.last_mut().unwrap();
        (mine.status, mine.result) = (status, Some(result.to_owned()));
    }

    #[test]
    fn a_worker_knows_its_task_and_what_that_builds_on_and_nothing_else() {
        let (above, below) = at_work();
        let ids: Vec<&str> = below.task_graph.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["T-1", "T-2"]);
        assert_eq!(below.parent.as_deref(), Some("L"));
        let prompt = build::prompt::of_round(&below, &[], &[], NOW);
        assert!(prompt.contains("Your task: T-2 name of T-2"), "{prompt}");
        assert!(prompt.contains("\nAfter T-1: made it\n"), "{prompt}");
        assert!(below.acceptance_criteria.is_empty() && below.is_running());
        assert_eq!(
            begin(
                &above,
                &Begin { task: "T-9", session_id: "", project_root: "", number: 1, now: NOW }
            ),
            None
        );
    }

    #[test]
    fn a_worker_has_what_its_loop_has_and_a_round_of_its_own() {
        let (mut above, _) = at_work();
        let now = NOW + jiff::SignedDuration::from_mins(1);
        (above.prompt, above.context_report) = ("the goal".to_owned(), "the facts".to_owned());
        (above.completion_token, above.stall_limit) = ("DONE".to_owned(), 7);
        above.settings = serde_json::json!({"verify": true});
        above.started_by = StartedBy::Model;
        above.started_at = Some(now);
        above.task_graph[1].lease_expires_at = Some(now);
        let with = Begin { task: "T-2", session_id: "s", project_root: "/w", number: 3, now };
        let mine = Task {
            owner: Some(build::OWNER.to_owned()),
            lease_expires_at: None,
            ..above.task_graph[1].clone()
        };
        let expected = LoopState {
            session_id: "s".to_owned(),
            phase: crate::state::Phase::Implementation,
            project_root: "/w".to_owned(),
            prompt: "the goal".to_owned(),
            created_at: now,
            started_at: Some(now),
            task_graph: vec![above.task_graph[0].clone(), mine].into(),
            context_report: "the facts".to_owned(),
            completion_token: "DONE".to_owned(),
            stall_limit: 7,
            limits: above.limits.clone(),
            settings: above.settings.clone(),
            started_by: above.started_by.clone(),
            touched: true,
            round: Some(BuildRound { task: "T-2".to_owned(), number: 3, ..BuildRound::default() }),
            parent: Some("L".to_owned()),
            ..LoopState::default()
        };
        assert_eq!(begin(&above, &with), Some(expected));
    }

    #[test]
    fn a_worker_may_use_what_is_left_and_no_more() {
        let (mut above, _) = at_work();
        above.limits.max_tokens = Some(100);
        above.usage.tokens.output = 70;
        (above.iteration, above.max_iterations) = (20, 25);
        above.started_at = Some(NOW);
        let later = NOW.checked_add(jiff::Span::new().minutes(479)).unwrap();
        let with =
            Begin { task: "T-2", session_id: "s", project_root: "/w", number: 1, now: later };
        let mut below = begin(&above, &with).unwrap();
        assert_eq!(
            (below.limits.max_tokens, below.limits.max_minutes, below.max_iterations),
            (Some(30), 1, 5)
        );
        below.iteration = 2;
        ends(&mut above, Some(&below), Ok(&[]));
        assert_eq!((above.usage.total(), above.iteration), (77, 22));
    }

    #[test]
    fn its_hooks_let_it_end_when_its_task_is_closed_and_not_before() {
        let (_, mut below) = at_work();
        let seen = StopInputs { now: NOW, prompt_id: "p".to_owned(), ..StopInputs::default() };
        assert_eq!(
            stop::decide(mode::at_stop(&below), &mut below, &seen).verdict,
            stop::StopVerdict::GoOn
        );
        says(&mut below, TaskStatus::Done, "did it");
        let verdict = stop::decide(mode::at_stop(&below), &mut below, &seen).verdict;
        assert_eq!(verdict, stop::StopVerdict::LetGo(stop::AllowReason::RoundIsOver));
        assert!(below.ending.is_none());
    }

    #[test]
    fn done_with_work_is_done_and_waits_to_be_merged() {
        let (mut above, mut below) = at_work();
        says(&mut below, TaskStatus::Done, "did it");
        assert_eq!(ends(&mut above, Some(&below), Ok(&["x"])), "T-2 done: did it | done done");
        assert!(above.workers[0].awaits_merge());
        assert_eq!(ends(&mut above, Some(&below), Ok(&[])), " | done done", "it is taken once");
        assert_eq!(above.usage.total(), 7);
    }

    #[test]
    fn done_without_work_is_not_done() {
        let (mut above, mut below) = at_work();
        says(&mut below, TaskStatus::Done, "did it");
        let said = ends(&mut above.clone(), Some(&below), Ok(&[]));
        assert!(said.contains("nothing has changed | pending partial"), "{said}");
        let said = ends(&mut above.clone(), Some(&below), Err("no git"));
        assert!(said.contains("git cannot tell: no git | pending partial"), "{said}");
        // A task that declares no files may leave nothing to merge.
        below.task_graph.last_mut().unwrap().files.clear();
        let said = ends(&mut above, Some(&below), Ok(&[]));
        assert!(said.ends_with("| done done") && !above.workers[0].awaits_merge(), "{said}");
    }

    #[test]
    fn what_is_left_open_is_free_and_what_cannot_be_done_is_said() {
        let (above, mut below) = at_work();
        let open = ends(&mut above.clone(), Some(&below), Ok(&["x"]));
        assert_eq!(open, "T-2 is ready again: a worker left it open: it crashed | pending partial");
        let gone = ends(&mut above.clone(), None, Ok(&[]));
        assert!(gone.ends_with("it crashed | pending lost"), "{gone}");
        for (status, word) in [(TaskStatus::Failed, "failed"), (TaskStatus::Blocked, "blocked")] {
            says(&mut below, status, "no key");
            let said = ends(&mut above.clone(), Some(&below), Ok(&["x"]));
            assert_eq!(said, format!("T-2 {word}: no key | {word} blocked"));
        }
    }

    #[test]
    fn what_a_person_has_changed_meanwhile_stays() {
        let (mut above, mut below) = at_work();
        above.task_graph[1].status = TaskStatus::Pending;
        above.task_graph[1].owner = None;
        says(&mut below, TaskStatus::Done, "did it");
        let said = ends(&mut above, Some(&below), Ok(&["x"]));
        assert!(said.ends_with("is left where it is | pending partial"), "{said}");
        for (status, owner) in [
            (TaskStatus::InProgress, Some("ann")),
            (TaskStatus::InProgress, None),
            (TaskStatus::Pending, Some(super::super::OWNER)),
        ] {
            let (mut above, _) = at_work();
            // Another worker holds another task.
            work(&mut above, "T-3", WorkerStanding::Running);
            let word = status.to_string();
            let task = &mut above.task_graph[1];
            (task.status, task.owner) = (status, owner.map(str::to_owned));
            let said = ends(&mut above, Some(&below), Ok(&["x"]));
            let left = "T-2 was changed meanwhile; what its worker did is left where it is";
            assert_eq!(said, format!("{left} | {word} partial"));
            assert_eq!(above.task_graph[1].owner.as_deref(), owner);
        }
    }

    #[test]
    fn names_are_fit_for_git_whatever_the_task_is_called() {
        const LOOP: &str = "20260131-235959-1f3a";
        let [branches, others @ ..] = branch_folders(LOOP);
        assert_eq!(others, [format!("ralph/workers-{LOOP}"), format!("ralph-{LOOP}")]);
        let named = |task: &str, attempt| names(LOOP, &branches, task, attempt);
        let (folder, branch) = named("T-1", 1);
        assert_eq!(folder, "ralph-1f3a-T-1");
        assert_eq!(branch, "ralph/20260131-235959-1f3a/T-1");
        assert_eq!(named("T-1", 2).1, "ralph/20260131-235959-1f3a/T-1-2");
        for task in
            ["../x", "a..b", "x.lock", "@{", "-rf", "ä/ö~^:?*[", "", " . ", &"x".repeat(300)]
        {
            let (folder, branch) = named(task, 1);
            let is_plain = |text: &str| {
                text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_/".contains(letter))
            };
            assert!(is_plain(&folder) && is_plain(&branch), "{folder} {branch}");
            assert!(!folder.contains('/') && !folder.ends_with('-') && folder.len() < 60);
            assert_eq!(branch.split('/').filter(|part| part.is_empty()).count(), 0, "{branch}");
        }
    }
}
