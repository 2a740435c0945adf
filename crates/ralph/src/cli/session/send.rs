//! `ralph session signal` and `feedback new`: messages from the user to an orchestration.

use super::OrchestrationArg;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::screen;
use crate::orchestration::{OrchestrationContext, missing};
use anyhow::Result;
use ralph_core::modes::orchestration::machine;
use ralph_core::modes::orchestration::signal::SignalKeyword;
use ralph_core::modes::orchestration::snapshot::Picture;
use ralph_io::client::given;

/// What is said.
#[derive(Debug, clap::Args)]
pub(crate) struct SignalArgs {
    /// steer: change the work from now on; pause: begin nothing new; stop: end; info: only for
    /// information
    #[arg(value_enum)]
    word: SignalWord,
    /// The message; `-` reads standard input
    text: Vec<String>,
    #[command(flatten)]
    which: OrchestrationArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SignalWord {
    Steer,
    Pause,
    Stop,
    Info,
}

/// What is done about feedback.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum FeedbackCommand {
    /// Create a feedback file for the next iteration
    New(New),
}

/// For which session.
#[derive(Debug, clap::Args)]
pub(crate) struct New {
    #[command(flatten)]
    which: OrchestrationArg,
}

pub(super) fn signal(place: &OrchestrationContext, args: &SignalArgs) -> Result<Exit> {
    let text = match args.text.as_slice() {
        [dash] if dash == "-" => given::stdin()?,
        words => words.join(" "),
    };
    let word = match args.word {
        SignalWord::Steer => SignalKeyword::Steer,
        SignalWord::Pause => SignalKeyword::Pause,
        SignalWord::Stop => SignalKeyword::Stop,
        SignalWord::Info => SignalKeyword::Info,
    };
    if text.trim().is_empty() && matches!(word, SignalKeyword::Steer | SignalKeyword::Info) {
        return Err(refused(
            Exit::Usage,
            "the message is missing; type `ralph session signal steer TEXT`",
        ));
    }
    let id = place.find(args.which.id.as_deref())?;
    let sent = place.sessions.send(&id, word, &text, place.here.now).map_err(bad_state)?;
    sent.ok_or_else(|| missing(&id))?;
    let when = match word {
        SignalKeyword::Pause => "nothing new is begun until something else is said",
        SignalKeyword::Stop => "no agent is called any more, and it ends",
        SignalKeyword::Steer | SignalKeyword::Info => "the agents that are called next are told",
    };
    screen::say(&format!("{} sent to session {id}; {when}", word.as_str()))?;
    Ok(Exit::Done)
}

pub(super) fn feedback(place: &OrchestrationContext, args: &New) -> Result<Exit> {
    let id = place.find(args.which.id.as_deref())?;
    let (_, iteration) = machine::resolve(&Picture::of(&place.read(&id)?));
    let next = iteration + 1;
    let path = place.sessions.feedback(&id, next, place.here.now).map_err(bad_state)?;
    let path = path.ok_or_else(|| missing(&id))?;
    screen::say(&format!(
        "write what iteration {next} is to do into `{path}`, and put logs and pictures beside it\n`ralph \
         session next` takes it up once it asks for something"
    ))?;
    Ok(Exit::Done)
}
