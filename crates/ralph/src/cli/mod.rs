//! The table of commands: one variant each, and for most of them one file in this folder.

mod adopt;
mod blocked;
mod cancel;
mod check;
mod checkpoint;
mod completions;
mod context;
mod criteria;
mod delegate;
mod explain;
mod help;
mod log;
mod man;
mod misread;
mod next;
mod parallel;
mod pause;
mod plan;
mod ralplan;
mod refine;
mod replay;
mod report;
mod run;
mod session;
mod share;
mod signal;
mod start;
mod status;
mod statusline;
mod task;
mod trust;
mod verify;
mod watch;
mod who_may;

use crate::command::context_dir::Here;
pub use crate::command::exit::CAUSES as EXIT_CODES;
use crate::command::exit::{Exit, refused, usage};
use crate::command::select_loop::LoopArgs;
use crate::runs::{shared, worker};
use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, FromArgMatches, Parser, Subcommand};
use ralph_core::guard::commands::{self, Reach, Trait};
use ralph_io::client::{self, client_settings::ClientSettings};
use ralph_io::project::settings;
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "ralph", version, about = "Makes Claude Code finish the job", long_about = None)]
#[command(disable_help_subcommand = true)]
struct Cli {
    /// Without a command, `ralph` shows this project's loop.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Plan a loop, which `/ralph` or `ralph run` starts
    Start(start::Args),
    /// Show this project's loop
    Status(status::Args),
    /// Watch all loops live; pause, steer or stop them
    Watch(watch::Args),
    /// End a loop; its changes stay
    Cancel(cancel::Args),
    /// Pause a loop after the current turn
    Pause(pause::Args),
    /// Send the model a message while it works
    Signal(signal::Args),
    /// Continue a paused loop
    Resume(pause::Args),
    /// Take over a loop whose client is gone, or an old state file
    Adopt(adopt::Args),
    /// Trust the project's `.claude/ralph.toml` as it is now
    Trust(trust::Args),
    /// Print what the clients of a run wrote and did
    Log(log::Args),
    /// Explain the last decisions
    Explain(explain::Args),
    /// Replay a recorded loop with the present rules and show each difference
    Replay(replay::Args),
    /// Report a loop as Markdown or as an HTML page
    Report(report::Args),
    /// List the moments when all criteria held, or show one
    Checkpoint(checkpoint::Args),
    /// Work unattended, in fresh clients, until the criteria hold
    Run(Box<run::Args>),
    /// Plan tasks in headless rounds, or collect ideas
    Plan(plan::Args),
    /// Merge what workers did side by side, and remove their worktrees
    #[command(subcommand)]
    Parallel(parallel::ParallelCommand),
    /// Share the planned loop with other machines through a git remote
    Share(share::Args),
    /// Have a plan made and reviewed for you to approve
    #[command(subcommand)]
    Ralplan(ralplan::RalplanCommand),
    /// Run an orchestration: planner, executors and reviewers, in iterations
    #[command(subcommand)]
    Team(session::OrchestrationCommand),
    /// Revise a plan or the tasks until they no longer change
    #[command(subcommand)]
    Refine(refine::RefineCommand),
    /// Show and change the loop's tasks
    Task(task::Args),
    /// Register the hooks; copy the skills and agents
    Install(crate::setup::install::Args),
    /// Undo what `ralph install` did
    Uninstall(crate::setup::uninstall::Args),
    /// Run the criteria, also without the change and with other tests
    Try(verify::Args),
    /// Run the checks that follow an edit in a loop
    Check(check::Args),
    /// Print the facts about this project that each session gets at its start
    Context(context::Args),
    /// Report that only the user can unblock the work
    #[command(hide = true)]
    Blocked(blocked::Args),
    /// Accept changed criteria or tests; the model cannot
    Accept(LoopArgs),
    /// Show what a loop has changed, or the versions of a refined plan
    Diff(criteria::DiffArgs),
    /// Bring back a checkpoint, or a version of a refined plan; what was there is kept
    Restore(checkpoint::RestoreArgs),
    /// Show the next step
    #[command(hide = true)]
    Next(next::Args),
    /// Set the status of a task
    #[command(hide = true)]
    Mark(next::MarkArgs),
    #[command(hide = true)]
    Supervise(delegate::SuperviseArgs),
    #[command(hide = true, subcommand)]
    Delegate(delegate::DelegateCommand),
    #[command(hide = true)]
    Round,
    #[command(hide = true)]
    Exchange,
    #[command(hide = true)]
    Integrate,
    /// Print one line about this session's loop, for the client's status line
    #[command(hide = true)]
    Statusline(statusline::Args),
    /// Check the installation and print what to fix
    Doctor(crate::setup::doctor::Args),
    /// Show a complete loop in a scratch repository, with each hook's answer
    Demo(crate::demo::Args),
    /// Print the completion script of a shell
    Completions(completions::Args),
    #[command(hide = true)]
    Man(man::Args),
    /// List the commands, or describe one
    #[command(hide = true)]
    Help(help::Args),
}

/// What the command with this name may reach. Two options bring another reach only with some of their values.
fn reach_of(command: &Command, name: &str) -> Reach {
    match command {
        Command::Report(args) if !args.writes() => Reach::Reads,
        Command::Statusline(args) if !args.runs_another() => Reach::Reads,
        _ => commands::named(name).map_or(Reach::User, |row| row.reach),
    }
}

/// What a command line may reach; `None` if it cannot be parsed.
pub fn reach(line: &[&str]) -> Option<Reach> {
    let words = line.iter().map(|word| (*word).to_owned()).collect();
    let words = std::iter::once("ralph".to_owned()).chain(commands::without_alias(words));
    let read = command().try_get_matches_from(words).ok()?;
    Cli::from_arg_matches(&read).ok()?.command.map(|command| reach_of(&command, &name(&read)))
}

/// The table of commands, for the documents that are generated from it.
pub fn command() -> clap::Command {
    let command = <Cli as clap::CommandFactory>::command();
    let help = help::listing(&command, false);
    command.override_help(help)
}

/// Refuses a command that begins something where a settings file may not say what its user believes.
fn has_usable_settings(name: &str) -> Result<()> {
    // Without a home there is no loop, and the command says so itself.
    let begins = commands::named(name).is_some_and(|row| row.is(Trait::Begins));
    let here = (begins && name != "install").then(|| Here::gather().ok()).flatten();
    let checked = here.map_or(Ok(()), |here| settings::refuse_mistakes(&here.root));
    checked.map_err(|error| usage(format!("{error:#}")))
}

/// True for a command without documentation: Ralph itself starts it, or a release.
pub fn is_internal(command: &clap::Command) -> bool {
    help::is_internal(command)
}

/// Parses the command line, runs the command and returns its exit code.
pub fn run() -> ExitCode {
    completions::answer();
    let (command, name) = match asked_by_ralph().map_or_else(typed, Ok) {
        Ok(given) => given,
        Err(error) => return misread::report(error, command()),
    };
    let reach = reach_of(&command, &name);
    let done = sees_state(reach, &name).and_then(|()| who_may::check(&command, reach, &name));
    let done = done.and_then(|()| has_usable_settings(&name));
    let done = done.and_then(|()| match command {
        Command::Start(args) => start::run(args),
        Command::Status(args) => status::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Cancel(args) => cancel::run(&args),
        Command::Pause(args) => pause::run(&args),
        Command::Resume(args) => pause::run_resume(&args),
        Command::Signal(args) => signal::run(&args),
        Command::Adopt(args) => adopt::run(&args),
        Command::Trust(args) => trust::run(&args),
        Command::Log(args) => log::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Checkpoint(args) => checkpoint::run(&args),
        Command::Task(args) => task::run(args),
        Command::Run(args) => run::run(&args),
        Command::Parallel(command) => parallel::run(&command),
        Command::Share(args) => share::run(&args),
        Command::Ralplan(command) => ralplan::run(&command),
        Command::Team(command) => session::run(&command),
        Command::Refine(command) => refine::run(&command),
        Command::Plan(args) => plan::run(&args),
        Command::Install(args) => crate::setup::install::run(&args),
        Command::Uninstall(args) => crate::setup::uninstall::run(&args),
        Command::Try(args) => verify::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Context(args) => context::run(&args),
        Command::Blocked(args) => blocked::run(&args),
        Command::Accept(which) => criteria::accept(&which),
        Command::Diff(args) => criteria::run_diff(&args),
        Command::Restore(args) => checkpoint::restore(&args),
        Command::Next(args) => next::run(&args),
        Command::Mark(args) => next::run_mark(&args),
        Command::Supervise(args) => delegate::supervise(&args),
        Command::Delegate(command) => delegate::run(&command),
        Command::Round => worker::run(),
        Command::Exchange => shared::exchange::run(),
        Command::Integrate => shared::integrate::run(),
        Command::Statusline(args) => statusline::run(&args),
        Command::Doctor(args) => crate::setup::doctor::run(&args),
        Command::Demo(args) => crate::demo::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Help(args) => help::run(&args),
    });
    let done = done.map_err(|error| inside_sandbox(error, &name));
    done.unwrap_or_else(|error| crate::command::exit::report(&error)).into()
}

/// The command that was typed, and its name.
fn typed() -> Result<(Command, String), clap::Error> {
    let read = command().try_get_matches_from(words())?;
    Ok(match Cli::from_arg_matches(&read)?.command {
        Some(command) => (command, name(&read)),
        None => (Command::Status(status::Args::default()), "status".to_owned()),
    })
}

/// The command line, with the command in place of its alias.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let given = words.split_off(1.min(words.len()));
    words.extend(commands::without_alias(given));
    words
}

/// The command as it is typed, without its arguments. The table of commands decides which options make
/// another command of it, and whether all its words count.
fn name(read: &ArgMatches) -> String {
    let (mut words, mut below) = (Vec::new(), read);
    while let Some((word, next)) = below.subcommand() {
        words.push(word);
        below = next;
    }
    let name = words.join(" ");
    let ids = below.ids().map(clap::Id::as_str);
    let given = ids.filter(|id| below.value_source(id) == Some(ValueSource::CommandLine));
    let options: Vec<String> = given.map(|id| format!("--{id}")).collect();
    words.extend(options.iter().map(String::as_str));
    commands::given(&words).map_or(name, |row| row.name.to_owned())
}

/// The command of a hook or of a run of criteria, which waits for the answer: building the whole table
/// of commands takes longer than most answers.
fn asked_by_ralph() -> Option<(Command, String)> {
    let mut arguments = std::env::args_os();
    let first = arguments.nth(1)?;
    let table = clap::Command::new("ralph").no_binary_name(true);
    let command = if first == "delegate" {
        let table = delegate::DelegateCommand::augment_subcommands(table);
        let read = table.try_get_matches_from(arguments).ok()?;
        Command::Delegate(delegate::DelegateCommand::from_arg_matches(&read).ok()?)
    } else if first == "supervise" {
        let read =
            delegate::SuperviseArgs::augment_args(table).try_get_matches_from(arguments).ok()?;
        Command::Supervise(delegate::SuperviseArgs::from_arg_matches(&read).ok()?)
    } else {
        return None;
    };
    Some((command, first.into_string().ok()?))
}

/// Refuses a command in the client's sandbox if that hides Ralph's state: it would find no loop.
fn sees_state(reach: Reach, name: &str) -> anyhow::Result<()> {
    let is_hidden = || {
        let home = ralph_io::store::home::Home::from_env();
        home.is_ok_and(|home| !home.root().join("loops").exists())
    };
    // Ralph runs the supervisor of a criterion within bounds, which need no state.
    match reach != Reach::Internal && ralph_io::client::sandbox::is_inside() && is_hidden() {
        true => Err(give_alone(name)),
        false => Ok(()),
    }
}

/// The error of a command; in the client's sandbox, where it could not write, with what to do.
fn inside_sandbox(error: anyhow::Error, name: &str) -> anyhow::Error {
    // In the words of the standard library, with which every cause ends.
    const READ_ONLY: &str = "(os error 30)";
    let is_read_only = format!("{error:#}").contains(READ_ONLY);
    match is_read_only && ralph_io::client::sandbox::is_inside() {
        true => give_alone(name),
        false => error,
    }
}

/// The one line for a command that runs in the client's sandbox.
fn give_alone(name: &str) -> anyhow::Error {
    let what = if name == "task sync" && client::is_plan_round() {
        "end your last message with the tasks instead, in a ```jsonl block with one JSON object on each \
         line: Ralph reads it there"
            .to_owned()
    } else if keeps_all_inside() {
        "the user has to type `ralph install --with sandbox` in another terminal once; the loop goes on \
         without this command"
            .to_owned()
    } else {
        let given: Vec<OsString> = std::env::args_os().skip(1).collect();
        let name = commands::typed_alias(&given).unwrap_or(name);
        format!(
            "give `ralph {name} …` alone: one command, no pipe, no `&&`, no redirection, no variable"
        )
    };
    let why = "this runs in the client's sandbox, without access to Ralph's state";
    refused(Exit::No, format!("{why}; {what}"))
}

/// True in a conversation whose settings let no `ralph` line run outside of the sandbox.
fn keeps_all_inside() -> bool {
    let of_user = || {
        let here = crate::command::context_dir::Here::gather().ok()?;
        ClientSettings::for_project(&here.root).sandbox_lets_ralph_out()
    };
    !client::is_sandboxed_round() && of_user() == Some(false)
}
