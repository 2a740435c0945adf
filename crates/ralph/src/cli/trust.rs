//! `ralph trust`: the user has read the project's `.claude/ralph.toml` and lets it count in full.
//!
//! Trust covers the content that was shown; a file that changes afterwards must be read again.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen;
use anyhow::Result;
use ralph_io::project::settings;

/// What a person may say about trust.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Shows the file, asks, and records the answer.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let path = settings::project_file(&here.root);
    let name = path.display();
    let Some(content) = settings::text_of(&path)? else {
        return Err(refused(
            Exit::No,
            format!("there is no `{name}`; nothing needs to be trusted"),
        ));
    };
    screen::print(&format!("{name}:\n\n{}\n", screen::visible_lines(&content)))?;
    if settings::is_trusted(&here.home, &here.root, &content) {
        screen::say("It is trusted already, as it is now.")?;
        return Ok(Exit::Done);
    }
    if !args.yes && !confirmed()? {
        return Err(refused(Exit::No, "it is not trusted; nothing was changed"));
    }
    settings::trust(&here.home, &here.root, &content)?;
    screen::say("It is trusted, as it is now, for loops that start from here on.")?;
    Ok(Exit::Done)
}

fn confirmed() -> Result<bool> {
    if !screen::can_ask() {
        let message =
            "there is no terminal to ask on; read the file above, then type `ralph trust --yes`";
        return Err(refused(Exit::No, message));
    }
    let answer = screen::ask("Let this file count in full? [y/N]")?;
    Ok(matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes"))
}
