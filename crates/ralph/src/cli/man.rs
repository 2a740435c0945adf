//! `ralph man DIR`: writes the manual, one page per command, for a release.

use crate::command::exit::Exit;
use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use ralph_io::{project::user_files, store::atomic};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of the pages
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut whole = super::command().disable_help_subcommand(true);
    whole.build();
    user_files::make_folders(&args.folder, 0o755)?;
    write(&whole, &args.folder)?;
    Ok(Exit::Done)
}

fn write(command: &Command, folder: &Path) -> Result<()> {
    let below = command.get_subcommands().filter(|command| !super::help::is_internal(command));
    below.into_iter().try_for_each(|command| write(command, folder))?;
    let man = Man::new(command.clone()).source(concat!("ralph ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render(&mut page).with_context(|| format!("could not write `{}`", man.get_filename()))?;
    atomic::write(&folder.join(man.get_filename()), &page)
}
