//! The table of commands: one variant each, and for most of them one file in this folder.

mod adopt;
mod blocked;
mod build;
mod cancel;
mod check;
mod checkpoint;
mod completions;
mod context;
mod criteria;
mod delegate;
mod demo;
mod explain;
mod human_only;
mod ideate;
mod man;
mod parallel;
mod pause;
mod plan;
mod ralplan;
mod refine;
mod replay;
mod report;
mod resume;
mod session;
mod session_id;
mod signal;
mod start;
mod status;
mod statusline;
mod supervise;
mod task;
mod trust;

mod verify;
mod watch;

use crate::runs::worker;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "ralph", version, about = "Makes Claude Code finish the job", long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a loop, or the one that is planned
    Start(start::Args),
    /// Say which loops there are and where they stand
    Status(status::Args),
    /// Look on: all loops on one page, with keys to pause, steer and stop them
    Watch(watch::Args),
    /// End a loop; what it did stays
    Cancel(cancel::Args),
    /// Let a loop rest after the current turn
    Pause(pause::Args),
    /// Tell the model something while it works
    #[command(subcommand)]
    Signal(signal::SignalCommand),
    /// Take a paused loop up again
    Resume(resume::Args),
    /// Free a loop whose client is gone, or take over an old state file
    Adopt(adopt::Args),
    /// Let the project's `.claude/ralph.toml` count in full, as it is now
    Trust(trust::Args),
    /// Say what was decided last, and why
    Explain(explain::Args),
    /// Decide a recorded loop again by the rules of today, and show every difference
    Replay(replay::Args),
    /// Say what became of a loop, a session or a refinement: Markdown for a pull request, or a page
    Report(report::Args),
    /// Look back at the moments at which all criteria held, and bring one back
    #[command(subcommand)]
    Checkpoint(checkpoint::CheckpointCommand),
    /// Work off the planned tasks without a person, one fresh client for each
    Build(build::Args),
    /// Plan in rounds without a person: each studies the project and brings the tasks up to date
    Plan(plan::Args),
    /// Carry tasks out side by side, each worker in a worktree of its own
    #[command(subcommand)]
    Parallel(parallel::ParallelCommand),
    /// Have a plan made, judged, and agreed to by a person before anything is done
    #[command(subcommand)]
    Ralplan(ralplan::RalplanCommand),
    /// Route a planner, a questioner, executors and reviewers through a job, iteration by iteration
    #[command(subcommand)]
    Session(session::OrchestrationCommand),
    /// Go over a plan or the tasks, round by round, until they no longer change
    #[command(subcommand)]
    Refine(refine::RefineCommand),
    /// Have one client look for ideas, and print them as tasks for `ralph plan-sync`
    Ideate(ideate::Args),
    /// Look at the loop's tasks and change them
    Task(task::Args),
    /// Bring the tasks to what a planner wrote; the same as `ralph task sync`
    PlanSync(task::sync::Sync),
    /// Register the hooks and copy the skills and agents
    Install(crate::setup::install::Args),
    /// Take back what `ralph install` did
    Uninstall(crate::setup::uninstall::Args),
    /// Run the acceptance commands of a loop, and keep their receipts
    Verify(verify::Args),
    /// Check files as an edit in a loop is checked
    Check(check::Args),
    /// Show what a session is told about this project when it begins
    Context(context::Args),
    /// Say what a person must do before the work can go on
    Blocked(blocked::Args),
    /// Take criteria that have changed; only a person can
    #[command(subcommand)]
    Criteria(criteria::CriteriaCommand),
    #[command(hide = true)]
    Supervise,
    #[command(hide = true, subcommand)]
    Delegate(delegate::DelegateCommand),
    #[command(hide = true)]
    Round,
    /// Print one line about this session's loop, for the client's status line
    Statusline(statusline::Args),
    /// Say whether everything is in place, and what to do if not
    Doctor(crate::setup::doctor::Args),
    /// Show a whole loop in a scratch repository, and what each hook answered
    Demo(demo::Args),
    /// Print what makes a shell complete these commands
    Completions(completions::Args),
    #[command(hide = true)]
    Man(man::Args),
}

impl Command {
    /// The command as it is typed, without its arguments.
    fn name(&self) -> &'static str {
        match self {
            Command::Start(_) => "start",
            Command::Status(_) => "status",
            Command::Watch(_) => "watch",
            Command::Cancel(_) => "cancel",
            Command::Pause(_) => "pause",
            Command::Resume(_) => "resume",
            Command::Signal(_) => "signal",
            Command::Adopt(_) => "adopt",
            Command::Trust(_) => "trust",
            Command::Explain(_) => "explain",
            Command::Replay(_) => "replay",
            Command::Report(_) => "report",
            Command::Checkpoint(checkpoint::CheckpointCommand::Restore(_)) => "checkpoint restore",
            Command::Checkpoint(_) => "checkpoint",
            Command::Task(args) if args.is_import() => "task import",
            Command::Task(_) => "task",
            Command::PlanSync(_) => "plan-sync",
            Command::Build(_) => "build",
            Command::Plan(_) => "plan",
            Command::Parallel(command) => command.name(),
            Command::Ralplan(command) => command.name(),
            Command::Session(command) => command.name(),
            Command::Refine(command) => command.name(),
            Command::Ideate(_) => "ideate",
            Command::Install(_) => "install",
            Command::Uninstall(_) => "uninstall",
            Command::Verify(_) => "verify",
            Command::Check(_) => "check",
            Command::Context(_) => "context",
            Command::Blocked(_) => "blocked",
            Command::Criteria(_) => "criteria accept",
            Command::Supervise => "supervise",
            Command::Delegate(_) => "delegate",
            Command::Round => "round",
            Command::Doctor(args) if args.writes() => "doctor --fix",
            Command::Statusline(_) => "statusline",
            Command::Doctor(_) => "doctor",
            Command::Demo(_) => "demo",
            Command::Completions(_) => "completions",
            Command::Man(_) => "man",
        }
    }
}

/// The table of commands, for the documents that are generated from it.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Parses the command line, runs the command and returns its exit code.
pub fn run() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return misread(&error),
    };
    let done = human_only::check(&command).and_then(|()| match command {
        Command::Start(args) => start::run(args),
        Command::Status(args) => status::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Cancel(args) => cancel::run(&args),
        Command::Pause(args) => pause::run(&args),
        Command::Resume(args) => resume::run(&args),
        Command::Signal(command) => signal::run(&command),
        Command::Adopt(args) => adopt::run(&args),
        Command::Trust(args) => trust::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Checkpoint(command) => checkpoint::run(&command),
        Command::Task(args) => task::run(args),
        Command::PlanSync(args) => task::sync::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Parallel(command) => parallel::run(&command),
        Command::Ralplan(command) => ralplan::run(&command),
        Command::Session(command) => session::run(&command),
        Command::Refine(command) => refine::run(&command),
        Command::Ideate(args) => ideate::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Install(args) => crate::setup::install::run(&args),
        Command::Uninstall(args) => crate::setup::uninstall::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Context(args) => context::run(&args),
        Command::Blocked(args) => blocked::run(&args),
        Command::Criteria(command) => criteria::run(&command),
        Command::Supervise => supervise::run(),
        Command::Delegate(command) => delegate::run(&command),
        Command::Round => worker::run(),
        Command::Statusline(args) => statusline::run(&args),
        Command::Doctor(args) => crate::setup::doctor::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    });
    done.unwrap_or_else(|error| crate::command::exit::report(&error)).into()
}

/// Prints clap's error, or the help that was requested. An argument may have been copied from
/// anywhere, so its control sequences are not printed raw.
fn misread(error: &clap::Error) -> ExitCode {
    let shown = error.render().to_string();
    match crate::command::screen::harmless(&shown) {
        std::borrow::Cow::Borrowed(_) => error.exit(),
        std::borrow::Cow::Owned(shown) => crate::command::screen::tell(shown.trim_end()),
    }
    crate::command::exit::Exit::Usage.into()
}
