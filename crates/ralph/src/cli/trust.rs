//! `ralph trust`: the user has read the project's `.claude/ralph.toml`, and the files by which the
//! project lets a client leave the sandbox, and lets them count in full.
//!
//! Trust covers the content that was shown; a file that changes afterwards must be read again. With
//! `--shared`, it covers the plan of a loop that machines share.

use crate::command::context_dir::Here;
use crate::command::exit::Exit;
use crate::command::screen;
use crate::command::select_shared::{self, SharedArgs};
use crate::runs::client::{claude_code, sandbox};
use anyhow::{Result, bail};
use ralph_core::views::shared;
use ralph_io::git::shared::{SharedPlace, Trusted};
use ralph_io::project::settings;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Do not ask; trust only a shared plan with this digest
    #[arg(long, value_name = "SHA256", requires = "shared", conflicts_with = "yes")]
    digest: Option<String>,
    #[command(flatten)]
    shared: SharedArgs,
}

/// Shows the file, asks, and records the answer.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    if let Some(place) = args.shared.place(&here)? {
        return trust_shared(&here, args, &place);
    }
    let path = settings::project_file(&here.root);
    let own = settings::text_of(&path)?;
    let reach = sandbox::reach(&here, &sandbox::bounds(&here, &here.root));
    let others = claude_code::widening(&here.root, &reach);
    if own.is_none() && others.is_empty() {
        bail!("there is no `{}`; nothing needs to be trusted", path.display());
    }
    let others_shown = others.iter().map(|file| (&file.path, file.text.as_str()));
    let shown = own.iter().map(|text| (&path, text.as_str())).chain(others_shown);
    for (path, text) in shown {
        let name = screen::visible(&path.display().to_string());
        screen::print(&format!("{name}:\n\n{}\n", screen::visible_lines(text)))?;
    }
    let own_is_new =
        own.as_deref().filter(|text| !settings::is_trusted(&here.home, &here.root, text));
    let new: Vec<_> = others.iter().filter(|file| !file.is_trusted(&here.home)).collect();
    let (it_is, counts) = match others.len() + usize::from(own.is_some()) {
        1 => ("It is", "this file"),
        _ => ("They are", "these files"),
    };
    if own_is_new.is_none() && new.is_empty() {
        return screen::say(&format!("{it_is} trusted already, as {} now.", it_is.to_lowercase()));
    }
    let question = format!("Let {counts} count in full?");
    let how = "read the file above, then type `ralph trust --yes`";
    if !args.yes && !confirmed(&question, how)? {
        bail!("{} not trusted; nothing was changed", it_is.to_lowercase());
    }
    if let Some(text) = own_is_new {
        settings::trust(&here.home, &here.root, text)?;
    }
    for file in new {
        file.trust(&here.home)?;
    }
    screen::say(&format!(
        "{it_is} trusted, as {} now, for loops that start from here on.",
        it_is.to_lowercase()
    ))
}

/// Asks on a terminal; without one, says how to answer.
fn confirmed(question: &str, how: &str) -> Result<bool> {
    if !screen::can_ask() {
        bail!("there is no terminal to ask on; {how}");
    }
    screen::confirm(question)
}

// `ralph trust --shared`: the user has read the plan of a shared loop, and lets its commands run in
// this clone. Trust covers the plan, the tree that the work starts from, and the ledger's first record.

const QUESTION: &str = "Let the commands of this plan run in this clone?";
const HOW: &str = "read the plan above, then type the command again with `--yes`, or with `--digest` and \
                   the digest that you were told";

/// Shows the plan, asks, and records the answer.
pub(super) fn trust_shared(here: &Here, args: &Args, place: &SharedPlace) -> Result<Exit> {
    let ledger = place.read()?.ledger;
    let (id, digest) = (place.space().loop_id(), place.digest(&ledger)?);
    let trusted = place.trusted(&here.home, &ledger, &digest);
    let remote = screen::visible(place.remote());
    let heading = format!("loop {id}, shared through `{remote}`, from commit {:.10}", ledger.start);
    screen::print(&format!("{heading}\n\n{}\n", shared::plan(&ledger.plan, &digest)))?;
    if let Trusted::Another(before) = &trusted {
        screen::tell(&shared::replaced(id, before));
    }
    match &args.digest {
        Some(given) if *given != digest => {
            let given = screen::visible(given);
            bail!("the plan has another digest than {given}; it is not trusted");
        }
        _ if trusted == Trusted::Yes => {
            return screen::say("The plan is trusted already.");
        }
        None if !args.yes && !confirmed(QUESTION, HOW)? => {
            bail!("it is not trusted; nothing was changed");
        }
        _ => {}
    }
    place.trust(&here.home, &ledger, &digest)?;
    let run = select_shared::command("run", place);
    screen::say(&format!("The plan is trusted; `{run}` takes part from this clone."))
}
