//! Refuses commands that are for a person only, inside the session of a live loop, and what the
//! model's own commands must not reach.
//!
//! A variable that the client sets shows that the shell runs in a session. If a command has cleared
//! it, its ancestor processes decide, which only the kernel records.

use super::Command;
use super::own_loop::{self, ModelIn, ModelsOwn, Named, Reach};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop;
use anyhow::{Context, Result, bail};
use ralph_core::guard::human_only;
use ralph_core::guard::speaker::{self, Speaker};
use ralph_core::state::LoopState;
use ralph_core::views::messages;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::process::ancestry::{self, ClientShell};
use ralph_io::{client, project, store::lifecycle};
use std::path::{Component, Path, PathBuf};

/// Refuses a person's command if a model gives it, or if that cannot be ruled out.
pub(super) fn check(command: &Command, reach: Reach, name: &str) -> Result<()> {
    if !matches!(reach, Reach::Reads | Reach::Internal)
        && let Some(variable) = hidden_variable()
    {
        return Err(refused(Exit::No, own_loop::hidden(name, variable)));
    }
    let Some(refusal) = human_only::refusal(name) else {
        return keep_to_own_loop(command, reach, name);
    };
    let here = Here::gather()?;
    if ancestry::is_of_the_prompt() {
        return check_typed(&here);
    }
    if runs_outside_of_sandbox(&here) {
        return Err(refused(Exit::No, own_loop::persons_only(name)));
    }
    match command {
        Command::Start(args) if args.repeats_what_was_typed(&here) => return Ok(()),
        _ if is_in_live_session(&here)? => return Err(refused(Exit::No, refusal)),
        _ => {}
    }
    match speaker(&here, name) {
        Speaker::Unplaced(names) if !human_only::stops_or_looks(name) => {
            Err(cannot_place(name, &names))
        }
        Speaker::Person | Speaker::Unplaced(_) => check_below_client(name),
        Speaker::Model => Err(refused(Exit::No, refusal)),
        Speaker::Unseen => Err(refused(Exit::No, speaker::hidden(name))),
    }
}

/// Refuses what speaks for the user, below any client.
fn check_below_client(command: &str) -> Result<()> {
    match human_only::is_refused_to_every_model(command) && ancestry::is_below_client() {
        true => Err(refused(Exit::No, human_only::reason_below_client(command))),
        false => Ok(()),
    }
}

/// Checks the sender of what was typed as the client above and every live loop see it: what is asked for
/// may reach all of them, and a model can send an event in the name of another session.
fn check_typed(here: &Here) -> Result<()> {
    if ancestry::client_above().is_some_and(|client| !ancestry::is_from(&client, false)) {
        return Err(refused(Exit::No, speaker::NOT_FROM_THIS_CLIENT));
    }
    let unknown = || {
        let why =
            "a loop's state cannot be read, so its client is unknown; `ralph doctor` says more";
        refused(Exit::BadState, why)
    };
    if lifecycle::is_one_lost(&here.home) {
        return Err(unknown());
    }
    for (file, state) in select_loop::everything(here) {
        let state = state.ok().or_else(|| file.salvage()).ok_or_else(unknown)?;
        if state.live_client().is_some_and(|client| !ancestry::is_from(client, false)) {
            return Err(refused(Exit::No, speaker::not_from_client(&state.loop_id)));
        }
    }
    Ok(())
}

/// Refuses a key of `ralph watch` that lets more happen than its page, if a person may not have
/// pressed it.
pub(super) fn check_key(here: &Here, command: &str) -> Result<()> {
    match speaker(here, command) {
        Speaker::Unplaced(names) => Err(cannot_place(command, &names)),
        _ => check_below_client(command),
    }
}

fn cannot_place(command: &str, names: &str) -> anyhow::Error {
    let typed = human_only::typed(command).unwrap_or_default();
    refused(Exit::No, speaker::unplaceable(command, typed, names))
}

/// Who stops a loop, as its record names them: the user, or a process that Ralph cannot place. Without
/// a state, any client may be the loop's.
pub(super) fn stopped_by(state: Option<&LoopState>) -> String {
    let speaker = match state {
        None => Some(ancestry::speaker_among_clients()),
        Some(state) => {
            let client = state.client.as_ref().filter(|_| state.is_live());
            client.map(|client| ancestry::speaker(client, &state.session_id))
        }
    };
    match speaker {
        Some(Speaker::Unplaced(names)) => messages::unplaced(&names),
        _ => "by the user on the command line".to_owned(),
    }
}

/// Refuses a command of the model that reaches more than its own loop.
fn keep_to_own_loop(command: &Command, reach: Reach, name: &str) -> Result<()> {
    if matches!(reach, Reach::Reads | Reach::Internal) {
        return Ok(());
    }
    // These two only read without the option.
    let name = match command {
        Command::Report(_) => "report --html",
        Command::Statusline(_) => "statusline --with",
        _ => name,
    };
    // Without a home there is no loop, and the command says so itself.
    let Ok(here) = Here::gather() else { return Ok(()) };
    // The client gives this one itself, in every session. The guard refuses it to the model of a loop.
    if matches!(command, Command::Statusline(_)) && !runs_outside_of_sandbox(&here) {
        return Ok(());
    }
    let own = here.session.as_ref().map(|session| lifecycle::of_session(&here.home, session));
    let own = own.and_then(|found| found.ok().flatten());
    let model = match (own.is_some(), client::is_sandboxed_round()) {
        (false, true) => ModelIn::Round,
        (true, false) if is_in_live_session(&here).unwrap_or(true) => ModelIn::LiveLoop,
        (true, true) => ModelIn::LiveLoop,
        (true, false) if runs_outside_of_sandbox(&here) => ModelIn::LiveLoop,
        (false, false) if runs_outside_of_sandbox(&here) => ModelIn::Round,
        _ => return Ok(()),
    };
    let state = own.as_ref().and_then(|file| Some(file.read().ok()??.state));
    let own_id = own.as_ref().and_then(|file| file.folder().file_name()?.to_str());
    let driven = driven_orchestration();
    let orchestration = state.as_ref().and_then(|state| state.orchestration());
    let orchestration = orchestration.map(|one| one.id.as_str()).or(driven.as_deref());
    let refinement = state.as_ref().and_then(|state| state.refining()).map(|one| one.name.as_str());
    let none = Some("");
    let own = ModelsOwn {
        session_id: here.session.as_deref().or(none),
        loop_id: own_id.or(none),
        orchestration: orchestration.or(none),
        // A round that is begun without a loop begins one.
        refinement: refinement.or(none).filter(|_| own.is_some()),
    };
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let files = match command {
        Command::Check(args) => args.files().iter().map(PathBuf::as_path).collect(),
        Command::Refine(command) => command.plan().into_iter().collect(),
        _ => Vec::new(),
    };
    let named = Named {
        is_another_loop: own_loop::is_about_another(name, &words, &own),
        is_outside: files.iter().any(|file| is_outside(file, &here.root)),
    };
    match own_loop::refusal(name, reach, model, named) {
        Some(refusal) => Err(refused(Exit::No, refusal)),
        None => Ok(()),
    }
}

/// The orchestration for which a driver started this client.
fn driven_orchestration() -> Option<String> {
    let call: serde_json::Value = serde_json::from_str(&client::session_call()?).ok()?;
    call["session_id"].as_str().map(str::to_owned)
}

/// A variable that a line of the model has removed to hide where it runs. Only a line that runs outside
/// of the client's sandbox is judged by it.
fn hidden_variable() -> Option<&'static str> {
    if client::sandbox::is_inside() {
        return None;
    }
    let shell = ClientShell::above()?;
    let is_gone = |name: &&str| shell.variable(name).is_some() && std::env::var_os(name).is_none();
    let variable = own_loop::TELLS.into_iter().find(is_gone)?;
    let folder = shell.variable("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let folder = folder.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let lets_out =
        || ClientSettings::of_shell(&shell, &project::root(None, &folder)).sandbox_lets_ralph_out();
    (shell.variable(client::SANDBOXED).is_some() || lets_out() == Some(true)).then_some(variable)
}

fn is_outside(file: &Path, root: &Path) -> bool {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| absolute(path));
    let file = real(file);
    file.components().any(|part| part == Component::ParentDir) || !file.starts_with(real(root))
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
            Speaker::Person => {}
            _ if human_only::begins(command) && !is_here(here, &state) => {}
            // Hidden is worse than unplaced, which may still stop and look.
            Speaker::Unplaced(_) if heard == Speaker::Unseen => {}
            worse => heard = worse,
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
