//! Refuses commands that are for the user only, and what the model's own commands must not reach.
//!
//! A variable that the client sets shows that the shell runs in a session. If a command has cleared
//! it, its ancestor processes decide, which only the kernel records.

use super::Command;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop;
use anyhow::{Context, Result, bail};
use ralph_core::guard::commands::{self, CommandRow, Reach, Trait};
use ralph_core::guard::speaker::{self, Speaker};
use ralph_core::state::LoopState;
use ralph_core::views::messages;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::process::ancestry::{self, ClientShell};
use ralph_io::store::lifecycle;
use ralph_io::{client, project};
use std::path::{Component, Path, PathBuf};

/// Refuses a person's command if a model gives it, or if that cannot be ruled out.
pub(super) fn check(command: &Command, reach: Reach, name: &str) -> Result<()> {
    if !matches!(reach, Reach::Reads | Reach::Internal)
        && let Some(variable) = hidden_variable()
    {
        return Err(refused(Exit::No, hidden(name, variable)));
    }
    let row = commands::named(name).filter(|row| row.reach == Reach::User);
    let Some(row) = row else { return keep_to_own_loop(command, reach, name) };
    let here = Here::gather()?;
    if ancestry::is_of_the_prompt() {
        return check_typed(&here);
    }
    if runs_outside_of_sandbox(&here) {
        return Err(refused(Exit::No, persons_only(name)));
    }
    match command {
        Command::Start(args) if args.repeats_what_was_typed(&here) => return Ok(()),
        _ if is_in_live_session(&here)? => return Err(refused(Exit::No, commands::reason(row))),
        _ => {}
    }
    match speaker(&here, row) {
        Speaker::Unplaced(names) if !row.is(Trait::Stops) => Err(cannot_place(row, &names)),
        Speaker::Person | Speaker::Unplaced(_) => check_below_client(row),
        Speaker::Model => Err(refused(Exit::No, commands::reason(row))),
        Speaker::Unseen => Err(refused(Exit::No, speaker::hidden(name))),
    }
}

/// Refuses what speaks for the user, below any client.
fn check_below_client(row: &CommandRow) -> Result<()> {
    match row.is(Trait::NoModels) && ancestry::is_below_client() {
        true => Err(refused(Exit::No, commands::reason_below_client(row))),
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
    let row = commands::named(command).context("no such command")?;
    match speaker(here, row) {
        Speaker::Unplaced(names) => Err(cannot_place(row, &names)),
        _ => check_below_client(row),
    }
}

fn cannot_place(row: &CommandRow, names: &str) -> anyhow::Error {
    refused(Exit::No, speaker::unplaceable(row.name, row.typed, names))
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
    let words: Vec<String> = super::words()
        .into_iter()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let files = match command {
        Command::Check(args) => args.files().iter().map(PathBuf::as_path).collect(),
        Command::Refine(command) => command.plan().into_iter().collect(),
        _ => Vec::new(),
    };
    let named = Named {
        is_another_loop: is_about_another(name, &words, &own),
        is_outside: files.iter().any(|file| is_outside(file, &here.root)),
    };
    match refusal(name, reach, model, named) {
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
    let variable = TELLS.into_iter().find(is_gone)?;
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
    here.session.is_some()
        && ClientSettings::for_project(&here.root).sandbox_lets_ralph_out().is_some()
}

/// Who gives this command, judged by the clients of all live loops.
fn speaker(here: &Here, command: &CommandRow) -> Speaker {
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
            _ if command.is(Trait::Begins) && !is_here(here, &state) => {}
            // Hidden is worse than unplaced, which may still stop and look.
            Speaker::Unplaced(_) if heard == Speaker::Unseen => {}
            worse => heard = worse,
        }
    }
    if heard == Speaker::Person && is_unreadable && !command.is(Trait::Begins) {
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

// What a `ralph` command of the model may reach: its own loop, and nothing else.
//
// In the client's sandbox a line that is one plain `ralph` command runs outside, with the user's
// rights. So it must not write a file of the model's choice, run a program that the user did not
// agree to, or change another loop. The command refuses itself: it sees what a shell has computed.

/// Variables that tell Ralph where it runs. A line that removes one of them by `env -u` for a `ralph`
/// command runs outside of the client's sandbox; one that assigns it does not (measured with 2.1.328).
#[rustfmt::skip]
pub(super) const TELLS: [&str; 13] = [
    "CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "CLAUDE_PID", "CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR", "HOME",
    "RALPH_HOME", "RALPH_MANIFEST", "RALPH_ROUND", "RALPH_SANDBOXED", "RALPH_SESSION_CALL", "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

/// Why a command without such a variable is refused.
pub(super) fn hidden(command: &str, variable: &str) -> String {
    format!(
        "`{variable}` tells `ralph {command}` where it runs, and was removed from its environment; give \
         the command without `env`"
    )
}

/// Whose command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelIn {
    /// The session of a live loop.
    LiveLoop,
    /// A session or a headless round without a loop of its own, in the client's sandbox.
    Round,
}

/// What a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Named {
    /// It names a loop, a session, an orchestration or a refinement that is not its own.
    pub(super) is_another_loop: bool,
    /// It names a file outside of the project.
    pub(super) is_outside: bool,
}

/// What belongs to the model that gives a command. A member is empty if the model has none, and `None` if
/// that is unknown: then its name is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ModelsOwn<'a> {
    pub(super) session_id: Option<&'a str>,
    pub(super) loop_id: Option<&'a str>,
    /// The orchestration that the loop or the round works on.
    pub(super) orchestration: Option<&'a str>,
    pub(super) refinement: Option<&'a str>,
}

/// The words up to `--`, with their positions.
fn options<'a>(words: &'a [&'a str]) -> impl Iterator<Item = (usize, &'a str)> {
    words.iter().copied().take_while(|word| *word != "--").enumerate()
}

/// True if a command is about something that is not the model's own: it selects it, or the model has
/// nothing that the command could be about.
pub(super) fn is_about_another(command: &str, words: &[&str], own: &ModelsOwn<'_>) -> bool {
    let lacks = |one: Option<&str>| one.is_none_or(str::is_empty);
    let is_of_a_team =
        words.iter().any(|word| word.starts_with("--id") || word.starts_with("--of"));
    let has_none = match command {
        "mark" if !is_of_a_team => lacks(own.loop_id),
        "mark" => lacks(own.orchestration),
        "team repair" => lacks(own.orchestration),
        "refine end" => lacks(own.refinement),
        _ => false,
    };
    has_none || names_another(words, own)
}

/// True if these words behind `ralph` select something that is not the model's own.
pub(super) fn names_another(words: &[&str], own: &ModelsOwn<'_>) -> bool {
    let owned = |option: &str| match (option, words.first().copied()) {
        ("--loop", _) => own.loop_id,
        ("--session", _) => own.session_id,
        ("--id", Some("mark" | "team")) => own.orchestration,
        ("--id", Some("refine")) => own.refinement,
        _ => None,
    };
    options(words).any(|(at, word)| {
        let (option, joined) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (word, None),
        };
        let value = joined.or_else(|| words.get(at + 1).copied());
        let (Some(own), Some(value)) = (owned(option), value) else { return false };
        value != own
    })
}

/// Why the model may not give a command; `None` if it may. Those for the user only were judged before.
pub(super) fn refusal(command: &str, reach: Reach, model: ModelIn, named: Named) -> Option<String> {
    let elsewhere = "give it in another terminal";
    let hands_over = || commands::named(command).is_some_and(|row| row.is(Trait::HandsOver));
    let why = match reach {
        Reach::Reads | Reach::Internal => return None,
        Reach::Elsewhere | Reach::User => "it can reach more than this loop",
        Reach::OneLoop if named.is_another_loop => "it is about another loop",
        Reach::OneLoop if named.is_outside => "it names a file outside of the project",
        Reach::OneLoop if model == ModelIn::Round && !hands_over() => {
            "this session has no loop of its own"
        }
        Reach::OneLoop => return None,
    };
    Some(format!(
        "`ralph {command}` is for the user only here, since {why}; the user can {elsewhere}"
    ))
}

/// Why a command that only a person may give is refused where `ralph` runs outside of the client's
/// sandbox, whether or not a loop is live there.
pub(super) fn persons_only(command: &str) -> String {
    format!(
        "`ralph {command}` is for the user only in a sandboxed session; the user can give it in another terminal"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN_LOOP: ModelsOwn<'_> = ModelsOwn {
        session_id: Some("s"),
        loop_id: Some("l"),
        orchestration: Some(""),
        refinement: Some(""),
    };

    const OWN: Named = Named { is_another_loop: false, is_outside: false };

    #[test]
    fn the_model_reads_everything_and_changes_its_own_loop_alone() {
        for (reach, expected) in [
            (Reach::Reads, [false, false, false]),
            (Reach::Internal, [false, false, false]),
            (Reach::OneLoop, [false, true, true]),
            (Reach::Elsewhere, [true, true, true]),
            (Reach::User, [true, true, true]),
        ] {
            let another = Named { is_another_loop: true, ..OWN };
            let outside = Named { is_outside: true, ..OWN };
            let found = [OWN, another, outside]
                .map(|named| refusal("x", reach, ModelIn::LiveLoop, named).is_some());
            assert_eq!(found, expected, "{reach:?}");
        }
    }

    #[test]
    fn a_round_without_a_loop_changes_no_loop() {
        for command in ["task add", "try", "blocked", "task sync", "parallel merge", "refine end"] {
            let why = refusal(command, Reach::OneLoop, ModelIn::Round, OWN).unwrap();
            assert!(why.contains("no loop of its own"), "{why}");
        }
        for command in ["mark", "check", "refine begin"] {
            let refused = refusal(command, Reach::OneLoop, ModelIn::Round, OWN);
            assert_eq!(refused, None, "{command}");
        }
        assert_eq!(refusal("status", Reach::Reads, ModelIn::Round, OWN), None);
    }

    #[test]
    fn what_is_another_is_seen_in_each_form_and_what_is_unknown_is_not_judged() {
        let own = ModelsOwn {
            session_id: Some("s"),
            loop_id: Some("l"),
            orchestration: Some("o"),
            refinement: Some(""),
        };
        let names = |line: &str, own: &ModelsOwn<'_>| {
            names_another(&line.split(' ').collect::<Vec<_>>(), own)
        };
        for line in [
            "try --loop x",
            "mark T-1 done --loop=x",
            "blocked y --session x",
            "mark T-1 done --of=team --id x",
            "team repair --id=x",
            "refine end --id plan",
        ] {
            assert!(names(line, &own), "{line}");
            assert!(!names(line, &ModelsOwn::default()), "{line}");
        }
        for line in [
            "try --loop l",
            "try --session=s AC-1",
            "blocked loop",
            "try -- --loop x",
            "mark T-1 done --of=team --id o",
            "task add x --id T-2",
            "report --id x",
        ] {
            assert!(!names(line, &own), "{line}");
        }
    }

    #[test]
    fn a_command_for_an_orchestration_or_a_refinement_needs_one_of_the_models_own() {
        let all = ModelsOwn { orchestration: Some("o"), refinement: Some("r"), ..OWN_LOOP };
        for command in ["mark", "team repair", "refine end"] {
            assert!(!is_about_another(command, &["--of=team"], &all), "{command}");
            assert!(is_about_another(command, &["--of=team"], &OWN_LOOP), "{command}");
            assert!(is_about_another(command, &["--of=team"], &ModelsOwn::default()), "{command}");
        }
        assert!(!is_about_another("mark", &["mark", "T-1", "done"], &OWN_LOOP));
        assert!(is_about_another("mark", &["mark", "T-1", "done", "--of", "team"], &OWN_LOOP));
        assert!(is_about_another("mark", &["mark", "T-1", "done"], &ModelsOwn::default()));
        assert!(!is_about_another("try", &["try"], &OWN_LOOP));
        assert!(is_about_another("try", &["try", "--loop", "x"], &OWN_LOOP));
    }
}
