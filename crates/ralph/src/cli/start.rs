//! `ralph start`: starts a loop, or plans one if no session is named.
//!
//! A skill calls it inside a session where no prompt hook is registered: the model passes on what
//! the user typed. The command then allows only what the model may do.

use super::verify;
use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused, usage};
use crate::command::{complete, number, screen, select_loop};
use anyhow::{Context, Result, bail};
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::arguments::{self, LoopRequest, Options};
use ralph_core::modes::mode;
use ralph_core::state::{Completion, Criterion, LimitFlag, LoopState, Mode, StartedBy};
use ralph_core::views::messages;
use ralph_hooks::begin::{self, StartOutcome, StartRequest};
use ralph_hooks::typed;
use ralph_io::client::given;
use ralph_io::process::{clock, programs};
use ralph_io::store::lifecycle;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to do; `-` reads standard input [default: the planned loop]
    prompt: Option<String>,
    /// Bind the loop to this Claude Code session
    #[arg(long, value_name = "ID", value_parser = number::session_id, add = ArgValueCandidates::new(complete::sessions))]
    session: Option<String>,
    #[command(flatten)]
    limits: LoopLimits,
    /// Maximum number of workers at once [default: 4]
    #[arg(
        long,
        alias = "max-workers",
        value_name = "N",
        value_parser = number::limit::<u32>(LimitFlag::MaxWorkers),
        allow_hyphen_values = true
    )]
    workers: Option<u32>,
    /// What ends the loop: proof, or the token alone [default: verified]
    #[arg(
        long,
        value_name = "RULE",
        value_parser = completion,
        add = ArgValueCandidates::new(complete::completions)
    )]
    completion: Option<Completion>,
    /// Run the criteria before the work; mark those that hold already
    #[arg(long)]
    baseline: bool,
}

/// The limits and the criteria of a loop that a command starts.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct LoopLimits {
    /// Limit of the turns after the first, or of the rounds of `ralph run` [default: 25]
    #[arg(long, value_name = "N", value_parser = number::limit::<u32>(LimitFlag::MaxIterations), allow_hyphen_values = true)]
    max_iterations: Option<u32>,
    /// Limit of working time, in minutes [default: 480]
    #[arg(long, value_name = "N", value_parser = number::limit::<u64>(LimitFlag::MaxMinutes), allow_hyphen_values = true)]
    max_minutes: Option<u64>,
    /// Token limit, workers included [default: no limit]
    #[arg(long, value_name = "N", value_parser = number::limit::<u64>(LimitFlag::MaxTokens), allow_hyphen_values = true)]
    max_tokens: Option<u64>,
    /// Stops in a row without progress that end the loop [default: 3]
    #[arg(long, value_name = "N", value_parser = number::limit::<u32>(LimitFlag::StallLimit), allow_hyphen_values = true)]
    stall_limit: Option<u32>,
    /// A criterion and the command that proves it; repeatable
    #[arg(long = "ac", value_name = "DESCRIPTION=COMMAND", value_parser = criterion)]
    criteria: Vec<Criterion>,
    /// Test files that the work may change; repeatable
    #[arg(long, value_name = "GLOB", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    tests_may_change: Vec<String>,
}

impl LoopLimits {
    pub(super) fn options(&self) -> Options {
        let mut criteria = self.criteria.clone();
        arguments::number_criteria(&mut criteria);
        Options {
            max_iterations: self.max_iterations,
            max_minutes: self.max_minutes,
            max_tokens: self.max_tokens,
            stall_limit: self.stall_limit,
            criteria,
            tests_may_change: self.tests_may_change.clone(),
            ..Options::default()
        }
    }
}

fn completion(text: &str) -> Result<Completion, String> {
    arguments::parse_completion(text).map_err(|refusal| refusal.to_string())
}

fn criterion(text: &str) -> Result<Criterion, String> {
    arguments::parse_criterion(text).map_err(|refusal| refusal.to_string())
}

impl Args {
    /// True for `start --session <this session> -`, the one start that a model may make.
    pub(crate) fn repeats_what_was_typed(&self, here: &Here) -> bool {
        self.prompt.as_deref() == Some("-")
            && here.session.is_some()
            && self.session == here.session
            && self.options() == Options::default()
    }

    /// The flags that set options of the loop itself.
    fn options(&self) -> Options {
        Options {
            max_workers: self.workers,
            completion: self.completion.clone(),
            baseline: self.baseline,
            ..self.limits.options()
        }
    }
}

pub(crate) fn run(args: Args) -> Result<Exit> {
    let here = Here::gather()?;
    let session = args.session.clone().unwrap_or_default();
    if here.session.is_some() {
        is_the_models_to_say(&args, &here)?;
        hooks_are_there()?;
    }
    let (mode, request) = request(&args, &here)?;
    if here.session.is_some()
        && let Some(state) = live_loop_of(&here, &session)?
    {
        return repeat(&state);
    }
    let asked = here.asks(mode, &request, &session);
    let begun = begin::begin(&StartRequest { started_by: started_by(&here), ..asked })?;
    answer(&here, &request, begun)
}

fn started_by(here: &Here) -> StartedBy {
    if here.session.is_some() { StartedBy::Model } else { StartedBy::Person }
}

fn request(args: &Args, here: &Here) -> Result<(Mode, LoopRequest)> {
    if args.repeats_what_was_typed(here) {
        let text = given::stdin()?;
        let (command, mode, typed) = typed_command(&text).unwrap_or(("", Mode::default(), &text));
        let request = typed::request(command, typed, &here.root);
        return request.map(|asked| (mode, asked)).map_err(usage);
    }
    let task = match args.prompt.as_deref() {
        Some("-") => Some(given::stdin()?.trim_end().to_owned()),
        given => given.map(str::to_owned),
    };
    if task.as_ref().is_some_and(|task| task.trim().is_empty()) {
        return Err(usage(arguments::ArgumentError::EmptyTask.to_string()));
    }
    let options = args.options();
    can_start(&options.criteria, here)?;
    Ok((Mode::default(), LoopRequest { task, options, parallel: None }))
}

/// Refuses a criterion whose command cannot start, with the exit code for one that proves nothing.
pub(super) fn can_start(criteria: &[Criterion], here: &Here) -> Result<()> {
    let lacking = begin::cannot_start(criteria, &here.root);
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(usage(format!("{}; nothing was started", lacking.join("; ")))),
    }
}

/// The command at the begin of what was typed, and the rest; `None` if there is none, as after `/ralph`.
fn typed_command(text: &str) -> Option<(&str, Mode, &str)> {
    let text = text.strip_prefix('/')?;
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Some((name, mode::of_command(name)?, rest))
}

/// Inside a session the model types. It may plan a loop and pass on what the user typed, but may
/// not write the prompt of a running loop or bind a loop to another session.
fn is_the_models_to_say(args: &Args, here: &Here) -> Result<()> {
    if args.session.is_none() || args.repeats_what_was_typed(here) {
        return Ok(());
    }
    bail!(
        "inside a session only `ralph start --session THIS_SESSION -` binds a loop, with \
                   what the user typed on standard input; you can type /ralph instead, or give this \
                   command in another terminal"
    );
}

/// A loop that no hook enforces must not start. Checked only inside a session, whose environment
/// shows where the hooks are; the user's own terminal does not.
fn hooks_are_there() -> Result<()> {
    let missing: Vec<&str> = ["ralph-stop-hook", "ralph-pre-tool-use"]
        .into_iter()
        .filter(|name| programs::find(name).is_none())
        .collect();
    match missing.as_slice() {
        [] => Ok(()),
        missing => Err(refused(
            Exit::MissingProgram,
            format!(
                "could not find {} beside `ralph` or on PATH, so nothing would enforce the loop; \
                 no loop was started: run `./install.sh`, then `ralph doctor`",
                missing.join(" and ")
            ),
        )),
    }
}

fn live_loop_of(here: &Here, session: &str) -> Result<Option<LoopState>> {
    let found = select_loop::of_session(here, session)?;
    Ok(found.map(|found| found.state).filter(LoopState::is_live))
}

/// The prompt hook has started the loop, or it runs already, so there is nothing to do. Only a
/// person ends a pause.
fn repeat(state: &LoopState) -> Result<Exit> {
    if !state.is_running() {
        bail!("loop {} is {}", state.loop_id, messages::paused(state));
    }
    let heading = match state.iteration {
        0 => mode::rules(&state.mode).started_line(state),
        _ => mode::rules(&state.mode).continues_line(state),
    };
    print_contract(&heading, state)
}

fn answer(here: &Here, request: &LoopRequest, begun: StartOutcome) -> Result<Exit> {
    let (decision, heading, state, told) = match begun {
        StartOutcome::Answered => return Ok(Exit::Done),
        StartOutcome::Refused(why) => return Err(refused(Exit::No, why)),
        StartOutcome::Started(state, told) => {
            ("started", mode::rules(&state.mode).started_line(&state), state, told)
        }
        StartOutcome::Continues(state) => {
            ("continued", mode::rules(&state.mode).continues_line(&state), state, Vec::new())
        }
        StartOutcome::Planned(state, told) => {
            let state = with_options(here, request, state)?;
            ("planned", format!("Ralph loop {} planned", state.loop_id), state, told)
        }
    };
    if let Some(file) = lifecycle::by_id(&here.home, &state.loop_id) {
        let why = match started_by(here) {
            StartedBy::Model => "the model passed on what the person typed",
            _ => "the user asked for it on the command line",
        };
        note(here, &file, &state, "start", decision, why);
    }
    if decision != "continued" {
        // Problems in the settings were recorded when the loop was made.
        state.errors.iter().for_each(|error| screen::tell(&screen::visible(&error.message)));
    }
    told.iter().for_each(|line| screen::tell(&screen::visible(line)));
    match here.session {
        // The model reads it.
        Some(_) => print_contract(&heading, &state)?,
        None => screen::say(&screen::visible_lines(&for_the_user(decision, &state)))?,
    };
    if state.baseline_pending && here.session.is_none() {
        verify::baseline(here, &select_loop::FoundLoop::by_id(here, &state.loop_id)?)?;
    }
    Ok(Exit::Done)
}

/// What was planned or started, without the rules for the model.
fn for_the_user(decision: &str, state: &LoopState) -> String {
    let mut text = format!("{decision}: loop {}", state.loop_id);
    for criterion in &state.acceptance_criteria {
        text.push_str(&format!("\n  {}: {}", criterion.id, criterion.decided_by()));
    }
    if state.acceptance_criteria.is_empty() {
        text.push_str(
            "\nno criterion is set, so nothing can be proven; --ac 'DESCRIPTION=COMMAND' sets one",
        );
    }
    if decision == "planned" {
        text.push_str("\n/ralph in Claude Code, in this project, or `ralph run` starts it");
    }
    text
}

/// Flags without a task belong to the loop that was planned before.
fn with_options(here: &Here, request: &LoopRequest, state: LoopState) -> Result<LoopState> {
    if request.task.is_some() || request.options == Options::default() {
        return Ok(state);
    }
    let file = lifecycle::by_id(&here.home, &state.loop_id).context("the planned loop is gone")?;
    let changed = file.update(|state| {
        request.options.fill(state);
        state.clone()
    });
    changed.map_err(bad_state)?.context("the planned loop is gone")
}

fn print_contract(heading: &str, state: &LoopState) -> Result<Exit> {
    screen::print(&screen::visible_lines(&mode::rules(&state.mode).loop_prompt(
        heading,
        state,
        &[],
        clock::now(),
    )))
}
