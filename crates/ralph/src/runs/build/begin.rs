//! How a run of rounds begins: what it refuses, the loop it takes up or starts, and its first lines.

use super::events::{Answer, criteria};
use super::{BuildOrder, Builder, keep, prompt, round};
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop::{FoundLoop, LoopArgs};
use crate::command::{number, screen};
use crate::runs::client::{self, ClientRound};
use crate::runs::engine::{self, wait_for_earlier};
use crate::runs::options::{self, ClientOptions};
use crate::runs::parallel::{self, held_by_client};
use crate::runs::review;
use crate::verify::trees;
use anyhow::{Context, Result};
use ralph_core::evidence::pinned;
use ralph_core::modes::arguments::Options;
use ralph_core::modes::build::{NextBuildStep, review as steps};
use ralph_core::modes::{build as rules, shared as member};
use ralph_core::project::settings::{RunBranch, RunSettings, Settings};
use ralph_core::protocol::permission::Need;
use ralph_core::state::LoopState;
use ralph_core::text::truncate::bounded;
use ralph_hooks::begin;
use ralph_io::client as claude;
use ralph_io::git::tree;
use ralph_io::process::clock;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::project::{environment, settings, user_files};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::{checks, digest, lifecycle, lock};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What every form of `ralph run` takes on the command line.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunOptions {
    /// Maximum number of rounds before it pauses; 0: no limit
    #[arg(
        short = 'n',
        value_name = "N",
        default_value = "0",
        value_parser = number::from_zero,
        allow_hyphen_values = true
    )]
    rounds: u32,
    #[command(flatten)]
    pub(crate) which: LoopArgs,
    /// Work on a branch of its own [default name: the plan's, else ralph/run-<loop>]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    branch: Option<String>,
    /// Commit what each finished task or round changed
    #[arg(long)]
    commit: bool,
    /// Once the criteria hold, have fresh reviewers examine the changes
    #[arg(long)]
    pub(crate) review: bool,
    /// Print one JSON object for each event; not with --shared
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

impl RunOptions {
    /// The highest number of rounds; 0 means no limit.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds
    }

    /// An option that has no meaning in a shared loop.
    pub(crate) fn not_for_shared(&self, limits: &Options) -> Option<&'static str> {
        let given = [
            ("--ac", !limits.criteria.is_empty()),
            ("--max-cost", limits.max_cost.is_some()),
            ("--loop", self.which.is_named()),
            ("--branch", self.branch.is_some()),
            ("--commit", self.commit),
            ("--review", self.review),
            ("--json", self.json),
            ("--dry-run", self.client.dry_run),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }

    /// The flags over the settings of the user, and of the project if it is trusted.
    fn settings(&self, here: &Here) -> RunSettings {
        let branch = self.branch.as_ref().map(|name| match name.as_str() {
            "" => RunBranch::Own(true),
            name => RunBranch::Named(name.to_owned()),
        });
        let set = settings::read(&here.home, &here.root).0.run();
        let commit = self.commit.then_some(true).or(set.commit);
        RunSettings { branch: branch.or(set.branch), commit }
    }
}

/// A run that may begin: its client can be called, and no other run works in this work tree.
pub(crate) struct ReadyRun<'a> {
    here: &'a Here,
    /// The command that the user typed, and that continues the run.
    command: &'static str,
    how: &'a RunOptions,
    settings: RunSettings,
    logs: PathBuf,
    /// The words about the permission mode and the bounds.
    mode: String,
    _tree: lock::Lock,
}

impl<'a> ReadyRun<'a> {
    /// Checks everything that can be checked before a loop is started or changed. `state` is the loop
    /// that is continued, or that a plan would become.
    pub(crate) fn check(
        here: &'a Here,
        command: &'static str,
        how: &'a RunOptions,
        state: Option<&LoopState>,
    ) -> Result<ReadyRun<'a>> {
        client::CLIENT.program()?;
        if let Some(state) = state {
            how.client.keep(here, state);
        }
        let mode = how.client.ready(here, "build", &needs())?;
        let settings = how.settings(here);
        keep::check(here, &settings, state)?;
        let logs = options::logs(here, command);
        let tree = alone_in_tree(here)?;
        user_files::make_folders(&logs, 0o700)?;
        keep::report_dirty(here, settings.commits());
        Ok(ReadyRun { here, command, how, settings, logs, mode, _tree: tree })
    }

    /// Runs rounds for this loop until it ends, pauses or the user stops it.
    pub(crate) fn work_on(
        &self,
        found: &FoundLoop,
        change: impl FnOnce(&mut LoopState),
    ) -> Result<Exit> {
        let here = self.here;
        nobody_works(&found.state)?;
        let _alone = alone(&found.file)?;
        wait_for_earlier(&held_by_client(&found.file))?;
        for line in parallel::free(here, &found.file)? {
            screen::tell(&screen::visible(&line));
        }
        all_is_merged(&found.file)?;
        let was_killed = found.state.round.is_some();
        let commits = keep::RoundCommits::begin(here, &found.file, &self.settings, was_killed)?;
        keep::switch(here, &self.settings, &found.state)?;
        if was_killed {
            // The session of that round is gone, and nobody else removes its entry.
            lifecycle::release(&here.home, &found.file, &found.state.session_id)?;
        }
        let plan = found.state.plan_file.as_ref();
        let tree = tree::fingerprint(&here.root, plan).ok();
        let state = take_up(here, found, self.command, |state| {
            change(state);
            self.how.client.bind(here, state);
            rules::free(state, tree.as_deref());
            ask_for_review(here, state, self.how.review);
        })?;
        note_start(here, &found.file, &state)?;
        let what = if self.command == "build" { "building" } else { "running" };
        announce(&state, &self.logs, what, &self.mode);
        let answer = Answer::from_json_flag(self.how.json);
        let mut started = criteria(&state);
        if let Some(members) = started.as_object_mut() {
            members.insert("tasks".to_owned(), json!(state.task_graph.len()));
            members.insert("logs".to_owned(), json!(self.logs.display().to_string()));
        }
        answer.event("started", &state, started)?;
        let interrupts = Interrupts::catch()?;
        let order = BuildOrder {
            here,
            file: &found.file,
            command: self.command,
            client: &self.how.client,
            logs: self.logs.clone(),
            answer,
            commits,
            was_killed,
            rounds: self.how.rounds,
        };
        engine::run(Builder::new(order, &interrupts)?)
    }
}

/// Has the changes reviewed if the user says so here or in the settings. The lenses are frozen with
/// the loop: what it does to their files later changes nothing.
pub(crate) fn ask_for_review(here: &Here, state: &mut LoopState, is_asked_for: bool) {
    let reviews = Settings::from_state(state).review();
    if is_asked_for || (reviews.is_enabled() && state.review.is_none()) {
        steps::ask_for(state, reviews.most_rounds(), review::lenses_of(&here.root));
    }
}

/// Notes the tree from which the loop starts. A plan that was imported has no start yet, and without
/// git only a review needs one.
///
/// # Errors
/// If a review could not tell later what changed.
pub(crate) fn note_start(here: &Here, file: &LoopFile, state: &LoopState) -> Result<()> {
    if state.review.is_some() {
        return trees::note_start(file.folder(), state)
            .map_err(|error| refused(Exit::No, format!("{error:#}; nothing was reviewed or run")));
    }
    if checks::start_of(file.folder()).is_none() {
        let _ = checks::note_start(file.folder(), &here.root);
    }
    Ok(())
}

/// Locks the work tree, so that two runs do not change the same files.
fn alone_in_tree(here: &Here) -> Result<lock::Lock> {
    let root = here.root.canonicalize().unwrap_or_else(|_| here.root.clone());
    let top = tree::repository_root(&root).unwrap_or(root);
    let folder = here.home.root().join("rounds");
    user_files::make_folders(&folder, 0o700)?;
    let name = digest::of_bytes(top.as_os_str().as_encoded_bytes());
    lock::take(&folder.join(format!("tree-{name}")), Duration::ZERO).map_err(|_| {
        let message = format!(
            "another `ralph run` works in `{}`; `ralph watch` shows it, `ralph \
             pause` pauses it",
            top.display()
        );
        refused(Exit::No, message)
    })
}

/// Refuses a loop with unmerged work of workers, which later tasks could not see.
pub(crate) fn all_is_merged(file: &LoopFile) -> Result<()> {
    let state = file.read().map_err(bad_state)?.context("the loop is gone")?.state;
    let waits = state.workers.iter().filter(|worker| worker.awaits_merge());
    let tasks: Vec<&str> = waits.map(|worker| worker.task.as_str()).collect();
    if tasks.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the work of {} is done and not merged; `ralph run --parallel` merges it and continues",
        screen::visible(&tasks.join(", "))
    );
    Err(refused(Exit::No, message))
}

/// Locks the loop, so that no other `ralph run` works on its tasks.
pub(crate) fn alone(file: &LoopFile) -> Result<lock::Lock> {
    lock::take(&file.folder().join("build"), Duration::ZERO)
        .map_err(|_| refused(Exit::No, "another `ralph run` works on this loop"))
}

/// The tool calls that every round makes.
pub(crate) fn needs() -> Vec<Need> {
    let edits = ["Edit", "Write"].map(|tool| Need::Edits(tool.to_owned()));
    let calls = ["ralph task done T-1 --note done", "ralph verify"];
    edits.into_iter().chain(calls.map(|call| Need::Bash(call.to_owned()))).collect()
}

/// Refuses a loop whose client is already working: it would have two.
pub(crate) fn nobody_works(state: &LoopState) -> Result<()> {
    if let Some(shared) = member::read_membership(state) {
        let message = format!(
            "loop {} is this machine's part of a shared loop; `ralph run --shared {}` continues it",
            screen::visible(&state.loop_id),
            screen::visible(&shared.loop_id)
        );
        return Err(refused(Exit::No, message));
    }
    let works = state.is_running() && state.round.is_none();
    if works && state.client.as_ref().is_some_and(claude::is_alive) {
        let message = format!(
            "loop {} is at work in a session at {}; pause or cancel it first",
            screen::visible(&state.loop_id),
            state.position()
        );
        return Err(refused(Exit::No, message));
    }
    Ok(())
}

/// Starts or continues the loop. The first start pins the criteria, since starting is the user's
/// consent, as with a typed `/ralph`.
pub(crate) fn take_up(
    here: &Here,
    found: &FoundLoop,
    command: &str,
    change: impl FnOnce(&mut LoopState),
) -> Result<LoopState> {
    let lacking = begin::cannot_start(&found.state.acceptance_criteria, &here.root);
    if !lacking.is_empty() {
        return Err(refused(Exit::No, format!("{}; nothing was started", lacking.join("; "))));
    }
    let state = found.file.update(|state| {
        if state.started_at.is_none() {
            pinned::freeze(state, here.now);
        }
        environment::take(state);
        change(state);
        state.clone()
    });
    let state = state.map_err(bad_state)?.context("the loop is gone")?;
    note(here, &found.file, &state, command, "started", "the user started it in a terminal");
    Ok(state)
}

/// Criteria named in the first line of a run, and how much of each.
const NAMED: (usize, usize) = (3, 60);

/// Prints the first line of a run: its loop, what ends it, and where its logs are.
pub(crate) fn announce(state: &LoopState, logs: &Path, what: &str, mode: &str) {
    let (most, room) = NAMED;
    let criteria = &state.acceptance_criteria;
    let mut named: Vec<String> = criteria
        .iter()
        .take(most)
        .map(|one| match &one.review {
            Some(_) => bounded(&one.decided_by(), room),
            None => format!("`{}`", bounded(&one.verification_command, room)),
        })
        .collect();
    if criteria.len() > most {
        named.push(format!("{} more", criteria.len() - most));
    }
    let until = match (criteria.len(), state.task_graph.is_empty()) {
        (0, true) => format!("the model says that it is done, without proof ({SETS_ONE})"),
        (0, false) => format!("all tasks are done, without proof ({SETS_ONE})"),
        (1, _) => format!("{} holds", named.join("")),
        _ => format!("{} hold", named.join(", ")),
    };
    let loop_id = &state.loop_id;
    let line = format!("{what} loop {loop_id} until {until}; {mode}; logs in {}", logs.display());
    screen::tell(&screen::visible(&line));
}

const SETS_ONE: &str = "`--ac 'DESCRIPTION=COMMAND'` sets a criterion";

/// Prints the command of the first round, and changes nothing.
pub(crate) fn show_first(
    here: &Here,
    file: Option<&LoopFile>,
    state: &LoopState,
    how: &RunOptions,
    command: &str,
) -> Result<Exit> {
    let (mut state, now, client) = (state.clone(), clock::now(), &how.client);
    client.keep(here, &state);
    let logs = options::logs(here, command);
    if rules::begin(&mut state, "ID", 1, now) == NextBuildStep::Criteria {
        rules::begin_for_goal(&mut state, "ID", 1);
    }
    let prompt = match file {
        Some(file) => prompt(file, &state),
        None => rules::prompt::of_round(&state, &[], &[], now),
    };
    options::show(&ClientRound { prompt, ..round(here, client, &logs, 1, "ID") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::{Worker, WorkerStanding};

    #[test]
    fn a_loop_with_unmerged_work_of_workers_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = LoopFile::at(folder.path().join("state.json"));
        let worker = |task: &str, merged: &str| Worker {
            task: task.to_owned(),
            standing: WorkerStanding::Done,
            files: vec!["a".to_owned()],
            merged: merged.to_owned(),
            ..Worker::default()
        };
        let workers = vec![worker("T-1", ""), worker("T-2", "c0ffee")];
        let state = LoopState { loop_id: "l".to_owned(), workers, ..LoopState::default() };
        file.create(&state).unwrap();
        let why = all_is_merged(&file).unwrap_err().to_string();
        assert!(
            why.contains("the work of T-1 is done and not merged; `ralph run --parallel`"),
            "{why}"
        );
        file.update(|state| state.workers[0].merged = "c0ffee".to_owned()).unwrap();
        all_is_merged(&file).unwrap();
    }
}
