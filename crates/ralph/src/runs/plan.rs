//! The rounds of `ralph plan`, exactly as many as requested.
//!
//! Each round is one client that gets the current task graph, and ends its last message with the
//! new one. If Ralph cannot store that, it asks once more in the same conversation. A planner's
//! words never end the run early.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::notify;
use crate::command::screen::{self, local};
use crate::command::select_loop::{self, LoopArgs};
use crate::runs::client::{self, ClientRound, RoundOutcome, RoundResult};
use crate::runs::engine::{self, ClientRunner, MemberExit, Owner, RunEnd, Then};
use crate::runs::options::{self, ClientOptions};
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::state::LoopState;
use ralph_core::tasks::graph::render::{self, Show};
use ralph_core::tasks::plan::{Problem, lines};
use ralph_core::text::plural::counted;
use ralph_core::views::notice::{LIMITED, Notice, NoticeEvent, WorkWithoutLoop};
use ralph_io::process::clock;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::project::settings;
use std::path::{Path, PathBuf};

/// The options of a `ralph plan` run.
pub(crate) struct Planner<'a> {
    pub(crate) here: &'a Here,
    pub(crate) client: &'a ClientOptions,
    pub(crate) rounds: u32,
    pub(crate) logs: PathBuf,
    pub(crate) store: StoreTasks,
}

/// Updates the project's tasks from lines, and returns rows for the user, or the faults of the
/// lines.
pub(crate) type StoreTasks = fn(&Here, &str) -> Result<Result<String, Vec<Problem>>>;

struct PlanRounds<'a> {
    plan: &'a Planner<'a>,
    runner: ClientRunner<'a, ()>,
    /// The number of the current round, or of the last one.
    number: u32,
    failed: u32,
    /// Why the last failed round stored nothing, if its client did not fail.
    idle: Option<String>,
    /// The current round, asked once more.
    again: Option<ClientRound>,
    was_asked_again: bool,
    /// Why no other round follows.
    stops: Option<String>,
}

impl<'a> Owner<'a> for PlanRounds<'a> {
    type Verdict = ();

    fn runner(&mut self) -> &mut ClientRunner<'a, ()> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        let again = self.again.take();
        self.was_asked_again = again.is_some();
        let round = match again {
            Some(again) => again,
            None if self.stops.is_some() || self.number >= self.plan.rounds => {
                self.runner.stop(RunEnd::Decided(()));
                return Ok(Then::Again);
            }
            None => {
                self.number += 1;
                self.plan.round(self.number)?
            }
        };
        let (name, alone) = (round.label.clone(), self.plan.logs.join("round"));
        self.runner.start(&name, "", round, &alone).map(|()| Then::Again)
    }

    fn limited(&mut self, until: Timestamp) {
        self.plan.call_user(&NoticeEvent::Limit { until: local(until) }, LIMITED);
    }

    fn on_exit(&mut self, name: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result()?;
        self.runner.remove(name, &came);
        self.stops = options::stops(&came.outcome);
        let RoundOutcome::Finished { is_error: false, result } = &came.outcome else {
            self.failed += 1;
            return Ok(());
        };
        match self.plan.take(result)? {
            Ok(rows) => self.runner.screen.tell(&rows),
            Err(problems) if self.was_asked_again || self.runner.was_asked() => {
                self.failed += 1;
                let client = self.plan.client;
                let denied = client.why_idle(self.plan.here, "plan", &came.denials);
                self.idle = denied.or_else(|| problems.first().map(Problem::to_string));
            }
            Err(problems) => {
                self.runner.screen.tell(&format!("{name}: its tasks cannot be read; asking again"));
                self.again = Some(self.plan.again(self.number, &problems, &came)?);
            }
        }
        Ok(())
    }
}

impl Planner<'_> {
    pub(crate) fn all(&self) -> Result<Exit> {
        let interrupts = Interrupts::catch()?;
        let runner = ClientRunner::one(self.here, None, &interrupts, "plan")?;
        let mut run = PlanRounds {
            plan: self,
            runner,
            number: 0,
            failed: 0,
            idle: None,
            again: None,
            was_asked_again: false,
            stops: None,
        };
        engine::work(&mut run)?;
        let was_asked = run.runner.was_asked();
        let planned = self.conclude(run);
        if !was_asked {
            match &planned {
                Ok(what) => self.call_user(&NoticeEvent::Ended, what),
                Err(error) => self.call_user(&NoticeEvent::Paused, &format!("{error:#}")),
            }
        }
        screen::say(&planned?)
    }

    /// Calls the user, who may have left: planning takes long.
    fn call_user(&self, event: &NoticeEvent, what: &str) {
        let set = settings::read(&self.here.home, &self.here.root).0.notify();
        let found = select_loop::to_plan(self.here, &LoopArgs::default()).ok().flatten();
        let loop_id = found.map(|found| found.state.loop_id).unwrap_or_default();
        let project = self.here.root.to_string_lossy();
        let work = WorkWithoutLoop::Planning { loop_id: &loop_id, project: &project };
        let clean = |text: &str| notify::clean(text, &[]);
        let notice = Notice::without_loop(&work, event, what, clock::now(), clean);
        for delivery in notify::send(&set, &notice).iter().filter(|one| one.outcome.is_err()) {
            screen::tell(&format!("the notification {}", delivery.describe()));
        }
    }

    /// The last line of the run, or why it failed.
    fn conclude(&self, run: PlanRounds<'_>) -> Result<String> {
        let used = run.runner.used().unwrap_or_default();
        let PlanRounds { number, failed, idle, stops, .. } = run;
        let asked = (number < self.rounds).then(|| "as you asked".to_owned());
        let by_user = run.runner.was_asked();
        if let Some(why) = stops.or(asked) {
            return Err(options::broke_off(
                by_user,
                format!("planning ended after round {number} of {}: {why}", self.rounds),
            ));
        }
        match (failed, idle) {
            (0, _) => {
                let found = select_loop::to_plan(self.here, &LoopArgs::default())?;
                let n_tasks = found.map_or(0, |found| found.state.task_graph.len());
                let tasks = counted(n_tasks, "task", "tasks");
                let next = "`ralph run --planned` works through them";
                Ok(format!("{tasks} planned in {used}; {next}"))
            }
            (failed, Some(why)) => {
                let rounds = counted(self.rounds as usize, "round", "rounds");
                let message = format!("{failed} of {rounds} stored no tasks: {why}");
                Err(refused(Exit::No, message))
            }
            (failed, None) => Err(options::broke_off(
                false,
                format!(
                    "{failed} of {} failed; their logs are in {}",
                    counted(self.rounds as usize, "round", "rounds"),
                    self.logs.display()
                ),
            )),
        }
    }

    /// Stores the tasks of a round's last message. A message without tasks leaves a graph as it is.
    fn take(&self, message: &str) -> Result<Result<String, Vec<Problem>>> {
        match lines::block(message) {
            Some(block) => (self.store)(self.here, &block),
            None if graph(self.here)?.is_empty() => {
                let what = "the last message has no block of tasks".to_owned();
                Ok(Err(vec![Problem { place: String::new(), what }]))
            }
            None => Ok(Ok("the planner left the tasks as they are".to_owned())),
        }
    }

    /// Asks for the tasks of a round once more, in the same conversation.
    fn again(&self, number: u32, problems: &[Problem], came: &RoundResult) -> Result<ClientRound> {
        let round = self.round(number)?;
        Ok(ClientRound {
            prompt: ask_again(problems),
            resume: came.session_id.clone(),
            label: format!("{}, asked again", round.label),
            ..round
        })
    }

    /// One round, with the graph as it is now.
    pub(crate) fn round(&self, number: u32) -> Result<ClientRound> {
        let label = format!("round {number}/{}", self.rounds);
        let file = self.logs.join(format!("graph-{number}.md"));
        Ok(ClientRound {
            prompt: prompt(&graph(self.here)?, &file, self.client.dry_run)?,
            label,
            ..self.client.round(self.here, "plan", self.logs.join(format!("round-{number}.jsonl")))
        })
    }
}

/// The graph as `ralph task list --all --markdown` prints it, of the loop that `ralph plan-sync`
/// will use in the round; empty if nothing is planned.
fn graph(here: &Here) -> Result<String> {
    let found = select_loop::to_plan(here, &LoopArgs::default())?;
    let markdown = |found: select_loop::FoundLoop| {
        render::markdown(&found.state.task_graph, Show::All, here.now)
    };
    Ok(found.map(markdown).unwrap_or_default())
}

pub(crate) fn ask_again(problems: &[Problem]) -> String {
    let problems: String = problems.iter().map(|problem| format!("- {problem}\n")).collect();
    format!(
        "Ralph could not store your tasks, and nothing has changed:\n\n{problems}\nEnd your answer with the whole \
         list, one JSON object on each line between ```jsonl and ```."
    )
}

fn prompt(graph: &str, file: &Path, dry_run: bool) -> Result<String> {
    let prompt = format!("/ralph-plan {}", graph.trim()).trim_end().to_owned();
    let words = |file: &Path| {
        format!(
            "/ralph-plan The task graph is too long for a prompt. Read it first: {}",
            file.display()
        )
    };
    match dry_run && prompt.len() > client::LONGEST_PROMPT {
        true => Ok(words(file)),
        false => client::fit(prompt, file, words),
    }
}
