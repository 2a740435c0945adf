//! One round: runs each due criterion once, or twice if the first run is not reliable.

use super::trees::within;
use super::{Pace, VerifyWork, Watcher};
use anyhow::Result;
use ralph_core::evidence::receipt::{self, ReceiptStatus};
use ralph_core::evidence::tests_run::TestsRun;
use ralph_core::project::settings::Settings;
use ralph_core::shell::vacuous;
use ralph_core::state::{Bounds, Criterion, Receipt};
use ralph_io::git::tree_id::Listing;
use ralph_io::process::clock;
use ralph_io::process::command::{self, CommandEnd, CommandRun};
use ralph_io::store::receipts;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// A round in progress.
pub(super) struct VerifyRound<'w, 'a> {
    pub(super) work: &'w mut VerifyWork<'a>,
    pub(super) watcher: &'w dyn Watcher,
    pub(super) pace: Pace,
}

impl VerifyRound<'_, '_> {
    pub(super) fn run(&mut self, todo: &[Criterion]) -> Result<()> {
        let alone = match self.pace {
            Pace::Together if todo.len() > 1 => self.together(todo)?,
            _ => todo.to_vec(),
        };
        alone.iter().try_for_each(|criterion| self.alone(criterion))
    }

    /// Runs the criteria side by side. Returns those that must run alone: the ones that failed
    /// beside others, or all of them if the tree changed, since any of them may have changed it.
    fn together(&mut self, todo: &[Criterion]) -> Result<Vec<Criterion>> {
        let Some(jobs) = self.jobs(todo) else { return Ok(Vec::new()) };
        self.work.ran = true;
        let runs = side_by_side(&jobs, self.watcher)?;
        let before = self.work.trees.refresh_listing()?;
        if before != *self.work.trees.now() {
            todo.iter()
                .for_each(|one| self.watcher.again(one, "files changed while they ran together"));
            return Ok(todo.to_vec());
        }
        let mut again = Vec::new();
        for (job, run) in jobs.into_iter().zip(runs) {
            // Without time to run it alone, the failure counts.
            let believed =
                run.ended == CommandEnd::Exited(0) || self.work.time_for_one() < run.duration();
            if believed {
                let (output, rewrote, before) = (job.output, Vec::new(), before.clone());
                self.keep(job.criterion, MeasuredRun { run, output, rewrote, before })?;
            } else {
                self.watcher
                    .again(job.criterion, "it failed while other criteria ran at the same time");
                again.push(job.criterion.clone());
            }
        }
        Ok(again)
    }

    fn jobs<'c>(&mut self, todo: &'c [Criterion]) -> Option<Vec<Job<'c>>> {
        todo.iter().map(|criterion| self.job(criterion)).collect()
    }

    /// The command to run for a criterion; `None` if no time is left.
    fn job<'c>(&mut self, criterion: &'c Criterion) -> Option<Job<'c>> {
        let deadline = self.work.time_for_one();
        if deadline.is_zero() {
            self.work.problem = format!(
                "the time that a request for completion has for running criteria was used up \
                 before {} (`ralph verify` has no such limit)",
                criterion.id
            );
            return None;
        }
        let output = self.work.outputs.join(receipts::output_name(&criterion.id, clock::now()));
        let ralph = self.work.ralph.clone();
        let folder = self.work.root.clone();
        let bounds = self.work.state.bounds.clone();
        Some(Job { criterion, ralph, folder, output, deadline, bounds })
    }

    /// Runs one criterion alone, and once more if it changed the tree. A command that changes
    /// nothing the second time is fine; only one that changes files every time is rejected.
    fn alone(&mut self, criterion: &Criterion) -> Result<()> {
        let Some(mut measured) = self.measure(criterion)? else { return Ok(()) };
        if !measured.rewrote.is_empty() && measured.run.ended == CommandEnd::Exited(0) {
            self.watcher.again(criterion, "it changed files");
            let Some(second) = self.measure(criterion)? else { return Ok(()) };
            measured = second;
        }
        if !measured.rewrote.is_empty()
            && measured.run.ended == CommandEnd::Exited(0)
            && self.are_outputs(&measured)
        {
            self.work.update(|state| state.outputs.extend(measured.rewrote))?;
            self.work.trees.ignore(Settings::ignored(&self.work.state))?;
            let Some(third) = self.measure(criterion)? else { return Ok(()) };
            measured = third;
        }
        self.keep(criterion, measured)
    }

    /// True if the start had none of the files that a command rewrote: what it makes and remakes is its report, such as
    /// `coverage/`. A file that could not be read before need not have been made.
    fn are_outputs(&self, measured: &MeasuredRun) -> bool {
        const MOST: usize = 2_000;
        let paths = &measured.rewrote;
        self.work.state.outputs.len() + paths.len() <= MOST
            && self.work.trees.are_new(paths)
            && measured.before.could_read(paths)
    }

    fn measure(&mut self, criterion: &Criterion) -> Result<Option<MeasuredRun>> {
        let Some(job) = self.job(criterion) else { return Ok(None) };
        let whole = self.work.settings.per_command();
        self.work.ran = true;
        self.watcher.begins(criterion);
        let run = job.run()?;
        let before = self.work.trees.refresh_listing()?;
        if run.ended == CommandEnd::Deadline && job.deadline < whole {
            self.work.problem = format!(
                "{} did not finish in the time that a request for completion has; `ralph verify` \
                 gives each command {} s",
                criterion.id,
                whole.as_secs()
            );
        }
        let now = within(self.work.trees.now(), &criterion.paths);
        let rewrote = now.changed_since(&within(&before, &criterion.paths));
        Ok(Some(MeasuredRun { run, output: job.output, rewrote, before }))
    }

    /// Writes the receipt of a run.
    fn keep(&mut self, criterion: &Criterion, measured: MeasuredRun) -> Result<()> {
        let work = &mut *self.work;
        work.trees.remember(&criterion.paths)?;
        let receipt = Receipt {
            by: work.by,
            restored: work.surroundings.restored.clone(),
            differs: work.surroundings.differs.clone(),
            ..receipt_of(criterion, measured, &work.trees.id_for(&criterion.paths))
        };
        record(work, criterion.clone(), receipt, self.watcher)
    }
}

/// Records a receipt in the criterion and writes it to the state.
pub(super) fn record(
    work: &mut VerifyWork<'_>,
    mut judged: Criterion,
    receipt: Receipt,
    watcher: &dyn Watcher,
) -> Result<()> {
    receipt::record(&mut judged, receipt);
    let paths = judged.paths.clone();
    receipt::note_turn(&mut judged, |held_on| {
        work.trees.regression(work.state.checkpoint.as_ref(), held_on, &paths)
    });
    work.update(|state| {
        let same = |one: &&mut Criterion| {
            one.id == judged.id
                && one.verification_command == judged.verification_command
                && one.review == judged.review
        };
        if let Some(one) = state.acceptance_criteria.iter_mut().find(same) {
            one.clone_from(&judged);
        }
    })?;
    let standing = work.run_status(&judged);
    watcher.ended(&judged, standing);
    if standing == ReceiptStatus::Flaky {
        watcher.again(&judged, "it failed on this tree before");
    }
    Ok(())
}

/// A run of one criterion, with the changes it made to the tree.
struct MeasuredRun {
    run: CommandRun,
    output: PathBuf,
    rewrote: Vec<String>,
    before: Listing,
}

fn receipt_of(criterion: &Criterion, measured: MeasuredRun, tree_after: &str) -> Receipt {
    let MeasuredRun { run, output, mut rewrote, before } = measured;
    const NAMED: usize = 20;
    rewrote.truncate(NAMED);
    let tree_before = within(&before, &criterion.paths).id();
    let tree_after = tree_after.to_owned();
    let mut receipt = receipt(criterion, run, &output);
    // Ralph refuses such a command everywhere else, but a state that another tool wrote may contain
    // one.
    if receipt.passed && receipt.vacuous.is_empty() {
        let why = vacuous::refuse(&criterion.verification_command);
        receipt.vacuous = why.map(|why| why.to_string()).unwrap_or_default();
    }
    Receipt { tree_before, tree_after, rewrote, ..receipt }
}

/// The receipt of a run, without its effect on the tree.
pub(crate) fn receipt(criterion: &Criterion, run: CommandRun, output: &Path) -> Receipt {
    let vacuous = match run.tests.tests {
        TestsRun::None(why) => why.reason().to_owned(),
        _ => String::new(),
    };
    let passed = run.ended == CommandEnd::Exited(0);
    let (failing, error) = match passed {
        true => (Vec::new(), String::new()),
        false => (run.failing.clone(), run.error.clone()),
    };
    Receipt {
        command: criterion.verification_command.clone(),
        passed,
        exit_code: match run.ended {
            CommandEnd::Exited(code) => Some(code),
            _ => None,
        },
        ended: ended(&run),
        timed_out: run.ended == CommandEnd::Deadline,
        signal: match run.ended {
            CommandEnd::Signalled(signal) => Some(signal),
            _ => None,
        },
        tests_run: run.tests.tests.count(),
        tests_reported: matches!(run.tests.tests, TestsRun::Ran(_) | TestsRun::Some),
        tests_failed: run.tests.failed,
        tests_skipped: run.tests.skipped,
        failing,
        error,
        vacuous,
        started_at: Some(run.started_at),
        duration_ms: run.duration_ms,
        output_sha256: run.output_sha256,
        output_file: if run.stored { in_loop(output) } else { String::new() },
        tail: run.tail,
        left: run.left,
        refused: run.refused,
        ..Receipt::default()
    }
}

/// The file's path inside the loop's folder, which moves when the loop has ended.
fn in_loop(output: &Path) -> String {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    format!("receipts/{name}")
}

/// How a command ended, unless it exited with a code.
pub(super) fn ended(run: &CommandRun) -> String {
    match &run.ended {
        CommandEnd::Exited(_) => String::new(),
        CommandEnd::Signalled(signal) => format!("killed by signal {signal}"),
        // Of a request's time, the criterion got a little less than all.
        CommandEnd::Deadline => match run.duration().as_secs_f64().round() {
            0.0 => "timed out in less than 1 s".to_owned(),
            seconds => format!("timed out after {seconds} s"),
        },
        CommandEnd::Stopped => "stopped from outside".to_owned(),
        CommandEnd::NotStarted(why) => why.clone(),
        CommandEnd::SupervisorLost => "ended the process that watched it".to_owned(),
    }
}

/// One command to run.
struct Job<'c> {
    criterion: &'c Criterion,
    ralph: PathBuf,
    folder: PathBuf,
    output: PathBuf,
    deadline: Duration,
    bounds: Option<Bounds>,
}

impl Job<'_> {
    fn run(&self) -> Result<CommandRun> {
        command::run(&command::CommandOrder {
            ralph: &self.ralph,
            command: &self.criterion.verification_command,
            folder: &self.folder,
            output: &self.output,
            deadline: self.deadline,
            bounds: self.bounds.as_ref(),
        })
    }
}

/// Runs the jobs in the given order, on one thread per processor but on two at least, since the
/// caller asked for runs side by side.
fn side_by_side(jobs: &[Job<'_>], watcher: &dyn Watcher) -> Result<Vec<CommandRun>> {
    let workers = thread::available_parallelism().map_or(2, usize::from).max(2).min(jobs.len());
    let next = Mutex::new(jobs.iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().ok().and_then(|mut jobs| jobs.next());
                    let Some((at, job)) = taken else { break };
                    watcher.begins(job.criterion);
                    let run = job.run();
                    if let Ok(mut done) = done.lock() {
                        done.push((at, run));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, run)| run).collect()
}
