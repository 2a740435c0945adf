//! `ralph trust --shared`: the user has read the plan of a shared loop, and lets its commands run in
//! this clone. Trust covers the plan, the tree that the work starts from, and the ledger's first record.

use super::{Args, confirmed};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen;
use crate::command::select_shared;
use anyhow::Result;
use ralph_core::views::shared;
use ralph_io::git::shared::{SharedPlace, Trusted};

const QUESTION: &str = "Let the commands of this plan run in this clone?";
const HOW: &str = "read the plan above, then type the command again with `--yes`, or with `--digest` and \
                   the digest that you were told";

/// Shows the plan, asks, and records the answer.
pub(super) fn run(here: &Here, args: &Args, place: &SharedPlace) -> Result<Exit> {
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
            let message = format!("the plan has another digest than {given}; it is not trusted");
            return Err(refused(Exit::No, message));
        }
        _ if trusted == Trusted::Yes => {
            screen::say("The plan is trusted already.")?;
            return Ok(Exit::Done);
        }
        None if !args.yes && !confirmed(QUESTION, HOW)? => {
            return Err(refused(Exit::No, "it is not trusted; nothing was changed"));
        }
        _ => {}
    }
    place.trust(&here.home, &ledger, &digest)?;
    let run = select_shared::command("run", place);
    screen::say(&format!("The plan is trusted; `{run}` takes part from this clone."))?;
    Ok(Exit::Done)
}
