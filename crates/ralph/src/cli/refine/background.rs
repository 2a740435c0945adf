//! Refinements in the background: `--background`, `peek`, `attach` and their end, through tmux.

use super::RefinementArg;
use crate::cli::refine::{self, in_session};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::refine::Refining;
use anyhow::{Context, Result, anyhow, bail};
use ralph_io::process::programs;
use ralph_io::project::user_files;
use ralph_io::store::digest;
use ralph_io::store::refine::RefineStore;
use ralph_io::terminal::tmux::{self, Job, Tmux, TmuxMissing};
use std::ffi::{OsStr, OsString};
use std::time::Duration;

/// Time for a client to end and for its round to be recorded.
const GRACE: Duration = Duration::from_secs(30);

/// A refinement in the background.
#[derive(Debug, clap::Args)]
pub(crate) struct Name {
    #[command(flatten)]
    which: RefinementArg,
    #[arg(value_name = "NAME", allow_hyphen_values = true, hide = true, conflicts_with = "name")]
    positional: Option<String>,
}

/// Starts this same command in tmux. Returns false if the user prefers to run it here.
pub(super) fn start(work: &Refining) -> Result<bool> {
    let name = work.name.as_str();
    let tmux = match Tmux::find() {
        Ok(tmux) => tmux,
        Err(missing) => return offer(missing),
    };
    let exe = programs::running()?;
    let folder = std::env::current_dir().context("could not find the current folder")?;
    let session = tmux_name(name);
    let command = command(exe.clone().into_os_string(), std::env::args_os().skip(1), name);
    let owner = owner(&work.place);
    let job = Job {
        name: &session,
        owner: &owner,
        folder: &folder,
        taker: &[exe.as_os_str(), OsStr::new("refine"), OsStr::new("within")],
        command: &command,
    };
    tmux.start(&job).map_err(|error| refused(Exit::MissingProgram, format!("{error:#}")))?;
    let word = refine::word(name);
    screen::say(&format!(
        "`{}` continues in the tmux session {session}; `ralph refine peek --id {word}` shows it, `attach` \
         joins it, `ralph cancel --id {word}` ends it",
        visible(name)
    ))?;
    Ok(true)
}

fn offer(missing: TmuxMissing) -> Result<bool> {
    let question = format!("{missing}, or work in this terminal. Begin here?");
    match screen::can_ask() && screen::confirm(&question)? {
        true => Ok(false),
        false => Err(refused(
            Exit::MissingProgram,
            format!("{missing}, or leave out --background to work in this terminal"),
        )),
    }
}

/// The command as it was typed, without `--background` and with the refinement's name.
fn command(exe: OsString, typed: impl Iterator<Item = OsString>, name: &str) -> Vec<OsString> {
    let mut words = vec![exe];
    let (mut is_ours, mut has_name) = (true, false);
    for word in typed {
        is_ours &= word != "--";
        if is_ours && word == "--background" {
            continue;
        }
        let names = |word: &str| word.starts_with("--id") || word.starts_with("--session");
        has_name |= is_ours && word.to_str().is_some_and(names);
        words.push(word);
    }
    if !has_name {
        // After `refine loop`, where its options belong.
        words.insert(3.min(words.len()), format!("--id={name}").into());
    }
    words
}

pub(super) fn peek(here: &Here, args: &Name) -> Result<Exit> {
    let (tmux, session) = there(here, args)?;
    let shown = tmux.peek(&session)?;
    screen::print(&visible_lines(shown.trim_end()))
}

pub(super) fn attach(here: &Here, args: &Name) -> Result<Exit> {
    let (tmux, session) = there(here, args)?;
    if !screen::can_ask() {
        bail!("there is no terminal here; in a terminal, type `tmux attach -t {session}`");
    }
    Err(tmux.attach(&session))
}

/// `ralph cancel` of a refinement.
pub(in crate::cli) fn kill(here: &Here, name: Option<&str>) -> Result<Exit> {
    let place = refine::store(here);
    let name = match name {
        Some(name) => name.to_owned(),
        None => only_one(&place)?,
    };
    let (name, found) = refine::one(&place, Some(&name), |_| true)?;
    let in_tmux = running_session(&place, &name);
    if found.status.is_over() && in_tmux.is_none() {
        bail!("the refinement `{}` has already ended ({})", visible(&name), found.status);
    }
    place.prepare(&here.home)?;
    if let (Some(session), Ok(tmux)) = (in_tmux, Tmux::find()) {
        tmux.end(&session, GRACE)?;
    }
    let Some(_held) = place.hold(&found.plan_file)? else {
        bail!("`{}` runs in a terminal: Ctrl-C there, twice, ends it", visible(&name));
    };
    // Best effort: the plan may be gone, and the refinement is ended all the same.
    if let Ok(work) = Refining::of(here, place.clone(), &name, &found)
        && let Err(error) = work.cut_what_was_left()
    {
        screen::tell(&visible(&format!("{error:#}")));
    }
    place.update(|document| {
        let mut session = document.session(&name)?.context("the refinement is gone")?;
        if !session.status.is_over() {
            session.cancel(here.now).map_err(|why| anyhow!("`{name}`: {why}"))?;
            document.put(&name, session)?;
        }
        Ok(())
    })?;
    in_session::cancel(here, &name)?;
    screen::say(&visible(&format!("`{name}` is ended; what it did stays")))
}

/// The tmux session in which a refinement runs, if it does.
pub(super) fn running_session(place: &RefineStore, name: &str) -> Option<String> {
    let session = tmux_name(name);
    let listed = Tmux::find().ok()?.list(&owner(place)).ok()?;
    listed.contains(&session).then_some(session)
}

fn there(here: &Here, args: &Name) -> Result<(Tmux, String)> {
    let tmux = Tmux::find().map_err(|missing| {
        refused(
            Exit::MissingProgram,
            format!("{missing}: nothing runs in the background without it"),
        )
    })?;
    let place = refine::store(here);
    let name = match args.which.name.as_ref().or(args.positional.as_ref()) {
        Some(name) => name.clone(),
        None => only_one(&place)?,
    };
    let session = running_session(&place, &name).with_context(|| {
        let word = refine::word(&name);
        format!(
            "`{}` does not run in the background; `ralph status --id {word}` shows its state",
            visible(&name)
        )
    })?;
    Ok((tmux, session))
}

/// The only refinement of this project that runs in tmux.
fn only_one(place: &RefineStore) -> Result<String> {
    let listed = Tmux::find().ok().map(|tmux| tmux.list(&owner(place))).transpose()?;
    let listed = listed.unwrap_or_default();
    let document = refine::document(place)?;
    let names = document.sessions().map(|(name, _)| name);
    let names: Vec<&str> = names.filter(|name| listed.contains(&tmux_name(name))).collect();
    match names.as_slice() {
        [name] => Ok((*name).to_owned()),
        [] => bail!(
            "no refinement of this project runs in the background; `ralph refine list` lists all"
        ),
        _ => {
            let names: Vec<String> =
                names.iter().map(|name| format!("`{}`", visible(name))).collect();
            bail!("several run in the background: {}; name one: `--id NAME`", names.join(", "))
        }
    }
}

fn owner(place: &RefineStore) -> String {
    // A digest of the folder, since a format of tmux could split the path itself.
    let root = user_files::real(place.root()).unwrap_or_else(|| place.root().to_owned());
    digest::of_bytes(root.as_os_str().as_encoded_bytes()).replace(':', "-")
}

/// `refine-NAME`. A name that tmux would change is replaced by its letters and a hash, so
/// that it stays unique.
fn tmux_name(name: &str) -> String {
    let plain = format!("refine-{name}");
    if tmux::is_name(&plain) {
        return plain;
    }
    let fits = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let letters: String = name.chars().map(fits).collect();
    let digits = digest::of_bytes(name.as_bytes());
    format!("refine-{letters}-{}", &digits[digits.len() - 8..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(typed: &[&str]) -> Vec<String> {
        let typed = typed.iter().map(OsString::from);
        let words = command("ralph".into(), typed, "a|b");
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn the_command_is_repeated_in_the_foreground_and_under_its_name() {
        assert_eq!(
            words(&["refine", "loop", "--background", "--plan", "p.md", "--", "--background"]),
            ["ralph", "refine", "loop", "--id=a|b", "--plan", "p.md", "--", "--background"]
        );
        for named in [&["--id", "a|b"][..], &["--id=a|b"], &["--session=a|b"]] {
            let typed: Vec<&str> = ["refine", "loop"].iter().chain(named).copied().collect();
            assert_eq!(words(&typed)[1..], typed);
        }
    }

    #[test]
    fn each_name_has_a_session_of_tmux_of_its_own() {
        assert_eq!(tmux_name("api"), "refine-api");
        let odd = ["a|b", "a&b", "a.b", "a:b", "é"].map(tmux_name);
        for (at, name) in odd.iter().enumerate() {
            assert!(tmux::is_name(name), "{name}");
            assert!(!odd[at + 1..].contains(name), "{name}");
        }
    }
}
