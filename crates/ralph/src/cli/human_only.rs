//! Refuses commands that are for a person only, inside the session of a live loop, and what the
//! model's own commands must not reach.
//!
//! A variable that the client sets shows that the shell runs in a session. If a command has cleared
//! it, its ancestor processes decide, which only the kernel records.

use super::Command;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop;
use anyhow::{Context, Result, bail};
use ralph_core::guard::human_only;
use ralph_core::guard::own_loop::{self, ModelIn, Named, Reach};
use ralph_core::guard::speaker::{self, Speaker};
use ralph_core::state::LoopState;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::{client, process::ancestry, project, store::lifecycle};
use std::path::Path;

/// Refuses a person's command if a model gives it, or if that cannot be ruled out.
pub(super) fn check(command: &Command) -> Result<()> {
    let name = command.name();
    let Some(refusal) = human_only::refusal(name) else { return keep_to_own_loop(command) };
    let here = Here::gather()?;
    if runs_outside_of_sandbox(&here) {
        return Err(refused(Exit::No, own_loop::persons_only(name)));
    }
    match command {
        Command::Start(args) if args.repeats_what_was_typed(&here) => return Ok(()),
        _ if is_in_live_session(&here)? => return Err(refused(Exit::No, refusal)),
        _ => {}
    }
    match speaker(&here, name) {
        Speaker::Person => Ok(()),
        Speaker::Model => Err(refused(Exit::No, refusal)),
        Speaker::Unseen => Err(refused(Exit::No, speaker::refusal(name))),
    }
}

/// Refuses a command of the model that reaches more than its own loop.
fn keep_to_own_loop(command: &Command) -> Result<()> {
    let name = reach_name(command);
    if own_loop::reach(name) == Reach::Reads {
        return Ok(());
    }
    // Without a home there is no loop, and the command says so itself.
    let Ok(here) = Here::gather() else { return Ok(()) };
    let own = here.session.as_ref().map(|session| lifecycle::of_session(&here.home, session));
    let own = own.and_then(|found| found.ok().flatten());
    let model = match (own.is_some(), client::is_sandboxed_round()) {
        (false, true) => ModelIn::Round,
        (true, false) if is_in_live_session(&here).unwrap_or(true) => ModelIn::LiveLoop,
        (true, true) => ModelIn::LiveLoop,
        _ if runs_outside_of_sandbox(&here) => ModelIn::LiveLoop,
        _ => return Ok(()),
    };
    let own_id = own.as_ref().and_then(|file| file.folder().file_name()?.to_str());
    let named = Named {
        is_another_loop: names_another(std::env::args().skip(1), here.session.as_deref(), own_id),
        is_outside: match command {
            Command::Check(args) => args.files().iter().any(|file| is_outside(file, &here.root)),
            _ => false,
        },
    };
    match own_loop::refusal(name, model, named) {
        Some(refusal) => Err(refused(Exit::No, refusal)),
        None => Ok(()),
    }
}

/// The command's name in the table of what commands reach.
fn reach_name(command: &Command) -> &'static str {
    match command {
        Command::Report(args) if args.writes() => "report --html",
        command => command.name(),
    }
}

/// True if the command line selects a loop or a session that is not its own.
fn names_another(
    words: impl Iterator<Item = String>,
    session: Option<&str>,
    own_loop: Option<&str>,
) -> bool {
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    // There it is the former name of `--id`, which names a refinement or an orchestration.
    let is_id = words.first().is_some_and(|word| word == "refine" || word == "session");
    let value = |at: usize, option: &str| match words[at].strip_prefix(option) {
        Some("") => words.get(at + 1).map(String::as_str),
        Some(rest) => rest.strip_prefix('='),
        None => None,
    };
    let is_other = |at: usize| {
        value(at, "--session").is_some_and(|id| !is_id && Some(id) != session)
            || value(at, "--loop").is_some_and(|id| Some(id) != own_loop)
    };
    (0..words.len()).any(is_other)
}

fn is_outside(file: &Path, root: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    !real(file).starts_with(real(root))
}

/// True in a shell of a client whose sandbox lets `ralph` run outside: of a headless round, or of a
/// conversation in which the user has switched the sandbox on.
fn runs_outside_of_sandbox(here: &Here) -> bool {
    if client::is_sandboxed_round() {
        return true;
    }
    here.session.is_some() && ClientSettings::of(&here.root).sandbox_lets_ralph_out().is_some()
}

/// Who gives this command, judged by the clients of all live loops.
fn speaker(here: &Here, command: &str) -> Speaker {
    let mut heard = Speaker::Person;
    let mut is_unreadable = lifecycle::is_one_lost(&here.home);
    for (file, state) in select_loop::everything(here) {
        // An unreadable state may still name its client, which is then one more client to look for
        // among our ancestors.
        is_unreadable |= state.is_err();
        let Some(state) = state.ok().or_else(|| file.salvage()) else { continue };
        let Some(client) = state.client.as_ref().filter(|_| state.is_live()) else { continue };
        match ancestry::speaker(client, &state.session_id) {
            Speaker::Model => return Speaker::Model,
            Speaker::Unseen if !human_only::begins(command) || is_here(here, &state) => {
                heard = Speaker::Unseen;
            }
            _ => {}
        }
    }
    if heard == Speaker::Person && is_unreadable && !human_only::begins(command) {
        // The unreadable loop may belong to any client.
        heard = ancestry::speaker_among_clients();
    }
    heard
}

fn is_here(here: &Here, state: &LoopState) -> bool {
    project::identity(Path::new(&state.project_root)) == here.project()
}

fn is_in_live_session(here: &Here) -> Result<bool> {
    let Some(session) = &here.session else { return Ok(false) };
    let live = || -> Result<bool> {
        let Some(file) = lifecycle::of_session(&here.home, session)? else { return Ok(false) };
        let Some(loaded) = file.read()? else {
            // A missing state may have been live; a loop that had ended was archived.
            let had_ended = lifecycle::is_put_away(&here.home, &file);
            return if had_ended { Ok(false) } else { bail!("the state of its loop is gone") };
        };
        Ok(loaded.state.session_id == *session && loaded.state.is_live())
    };
    // A loop that cannot be read may be live. The user has other terminals.
    live()
        .context("could not tell whether a loop is live in this session; use another terminal")
        .map_err(bad_state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_or_session_of_another_is_seen_in_each_form() {
        let names =
            |line: &str| names_another(line.split(' ').map(str::to_owned), Some("s"), Some("l"));
        for line in ["verify --loop x", "task done T-1 --loop=x", "blocked y --session x"] {
            assert!(names(line), "{line}");
        }
        for line in [
            "verify --loop l",
            "verify --session=s AC-1",
            "blocked loop",
            "verify -- --loop x",
            "refine begin --session plan",
        ] {
            assert!(!names(line), "{line}");
        }
    }

    #[test]
    fn every_command_has_a_reach_or_is_for_a_person() {
        fn leaves(command: &clap::Command, above: &str, all: &mut Vec<String>) {
            for one in command.get_subcommands() {
                let name = format!("{above} {}", one.get_name()).trim().to_owned();
                match one.has_subcommands() {
                    true => leaves(one, &name, all),
                    false => all.push(name),
                }
            }
        }
        let mut all = Vec::new();
        leaves(&super::super::command(), "", &mut all);
        let is_known = |name: &String| {
            let first_two: Vec<&str> = name.split(' ').take(2).collect();
            let persons = human_only::PERSONS_ONLY.iter().map(|(known, _)| *known);
            let reaches = own_loop::REACHES.iter().map(|(known, _)| *known);
            let mut known = persons.chain(reaches);
            known.any(|known| known == first_two.join(" ") || known == first_two[0])
        };
        let unknown: Vec<_> = all.iter().filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
