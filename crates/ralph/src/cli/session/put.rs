//! `ralph session signal` and `feedback new`: what a person says to a session.

use super::super::exit::{Exit, bad_state, refused};
use super::super::screen;
use super::{Place, Which, missing};
use anyhow::Result;
use ralph_core::modes::session::machine;
use ralph_core::modes::session::signal::Word;
use ralph_core::modes::session::snapshot::Picture;
use ralph_io::client::given;

/// What is said.
#[derive(Debug, clap::Args)]
pub(crate) struct Signal {
    /// Work otherwise from now on; begin nothing new; end; or only to know
    #[arg(value_enum)]
    word: Said,
    /// With which words; `-` reads them from standard input
    text: Vec<String>,
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Said {
    Steer,
    Pause,
    Stop,
    Info,
}

/// What is done about feedback.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Feedback {
    /// Lay out a batch of feedback for the next iteration
    New(New),
}

/// For which session.
#[derive(Debug, clap::Args)]
pub(crate) struct New {
    #[command(flatten)]
    which: Which,
}

pub(super) fn signal(place: &Place, args: &Signal) -> Result<Exit> {
    let text = match args.text.as_slice() {
        [dash] if dash == "-" => given::stdin()?,
        words => words.join(" "),
    };
    let word = match args.word {
        Said::Steer => Word::Steer,
        Said::Pause => Word::Pause,
        Said::Stop => Word::Stop,
        Said::Info => Word::Info,
    };
    if text.trim().is_empty() && matches!(word, Word::Steer | Word::Info) {
        return Err(refused(Exit::Usage, "the text is missing; say it in words"));
    }
    let id = place.find(&args.which)?;
    let sent = place.sessions.send(&id, (word, &text), place.here.now).map_err(bad_state)?;
    sent.ok_or_else(|| missing(&id))?;
    let when = match word {
        Word::Pause => "nothing new is begun until something else is said",
        Word::Stop => "no agent is called any more, and it ends",
        Word::Steer | Word::Info => "the agents that are called next are told",
    };
    screen::print(&format!("{} sent to session {id}; {when}", word.as_str()))?;
    Ok(Exit::Done)
}

pub(super) fn feedback(place: &Place, args: &New) -> Result<Exit> {
    let id = place.find(&args.which)?;
    let (_, iteration) = machine::resolve(&Picture::of(&place.read(&id)?));
    let next = iteration + 1;
    let path = place.sessions.feedback(&id, next, place.here.now).map_err(bad_state)?;
    let path = path.ok_or_else(|| missing(&id))?;
    screen::print(&format!(
        "write what iteration {next} is to do into `{path}`, and put logs and pictures beside it\n`ralph \
         session next` takes it up once it asks for something"
    ))?;
    Ok(Exit::Done)
}
