//! The client's command line: the program, its arguments, and the same as text to paste into a
//! shell.

use super::{ClientRound, sandbox};
use crate::command::exit::{Exit, refused};
use anyhow::Result;
use ralph_core::protocol::loaded::MODS_OFF;
use ralph_core::protocol::sandbox::settings;
use ralph_io::{client as claude, store::atomic};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The kernel limits one argument to 128 KiB, with one byte for the terminator.
pub const LONGEST_PROMPT: usize = 128 * 1024 - 1;

/// The client of this run.
///
/// # Errors
/// When it was not found.
pub fn client() -> Result<PathBuf> {
    claude::program().map(Path::to_owned).ok_or_else(|| {
        let message = format!(
            "could not find the client `{}`; install Claude Code, or name it in RALPH_CLAUDE",
            claude::program_name()
        );
        refused(Exit::MissingProgram, message)
    })
}

/// Returns the prompt itself if it fits into an argument. Otherwise writes it to the file and
/// returns `words`.
///
/// # Errors
/// When the file cannot be written.
pub fn fit(prompt: String, file: &Path, words: impl FnOnce(&Path) -> String) -> Result<String> {
    if prompt.len() <= LONGEST_PROMPT && !prompt.contains('\0') {
        return Ok(prompt);
    }
    atomic::write(file, prompt.as_bytes())?;
    Ok(words(file))
}

/// The command as text to paste into a shell.
///
/// # Errors
/// When the client is missing.
pub fn command_line(round: &ClientRound) -> Result<String> {
    let client = round.client()?;
    let env = round.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let args = arguments(round, None)?;
    let words = std::iter::once(client.into()).chain(args);
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    let command = env.chain(words).collect::<Vec<_>>().join(" ");
    Ok(match &round.folder {
        Some(folder) => format!("cd {} && {command}", quoted(&folder.to_string_lossy())),
        None => command,
    })
}

/// The arguments of a new session, or of a session to resume with a new prompt.
///
/// # Errors
/// If the user's own `--settings` cannot be read, or weaken the sandbox.
pub(super) fn arguments(
    round: &ClientRound,
    again: Option<(String, &str)>,
) -> Result<Vec<OsString>> {
    let prompt = again.as_ref().map_or(round.prompt.as_str(), |(_, words)| words);
    // The client would read a leading dash as an option, even in this position.
    let space = if prompt.starts_with('-') { " " } else { "" };
    let mut args: Vec<OsString> = vec!["-p".into(), format!("{space}{prompt}").into()];
    args.extend(["--output-format", "stream-json", "--verbose"].map(OsString::from));
    let mut option = |name: &str, value: Option<&String>| {
        args.extend(value.into_iter().flat_map(|value| [name.into(), value.into()]));
    };
    match &again {
        Some((session_id, _)) => option("--resume", Some(session_id)),
        None => option("--session-id", round.session_id.as_ref()),
    }
    option("--permission-mode", round.permission_mode.as_ref());
    let allowed = Some(round.allowed.join(",")).filter(|rules| !rules.is_empty());
    option("--allowedTools", allowed.as_ref());
    args.extend(MODS_OFF.map(OsString::from));
    match &round.sandbox {
        None => args.extend(round.extra_args.iter().cloned()),
        Some(reach) => {
            let ours = settings(&sandbox::in_folder(reach, &round.place()));
            let (rest, all) = sandbox::with_own(&round.extra_args, &ours)?;
            args.extend(["--settings".into(), all.to_string().into()]);
            args.extend(rest);
        }
    }
    Ok(args)
}

/// Quotes a word for a shell, if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round() -> ClientRound {
        ClientRound {
            prompt: "/ralph-plan it's $HOME".to_owned(),
            session_id: Some("id".to_owned()),
            permission_mode: Some("acceptEdits".to_owned()),
            allowed: vec!["Bash(ralph verify *)".to_owned(), "Edit".to_owned()],
            extra_args: vec!["--model".into(), "a b".into()],
            ..ClientRound::default()
        }
    }

    /// The words without the flag that each client gets.
    fn words(mut args: Vec<OsString>) -> String {
        let at = args.iter().position(|arg| arg == MODS_OFF[0]).unwrap();
        assert_eq!(args.drain(at..at + 2).collect::<Vec<_>>(), MODS_OFF.map(OsString::from));
        args.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_prompt_comes_first_and_the_persons_own_arguments_last() {
        assert_eq!(
            words(arguments(&round(), None).unwrap()),
            r"-p '/ralph-plan it'\''s $HOME' --output-format stream-json --verbose --session-id id --permission-mode acceptEdits --allowedTools 'Bash(ralph verify *),Edit' --model 'a b'"
        );
    }

    #[test]
    fn a_sandboxed_client_gets_one_value_for_its_settings_before_the_persons_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let extra = ["--settings", r#"{"model":"x"}"#, "--verbose"].map(OsString::from).to_vec();
        let reach = ralph_core::protocol::sandbox::SandboxReach {
            allow_write: vec!["/nowhere/at/all".to_owned(), "/tmp".to_owned()],
            ..Default::default()
        };
        let folder = Some(folder.path().to_owned());
        let round = ClientRound {
            sandbox: Some(reach),
            extra_args: extra,
            folder,
            ..ClientRound::default()
        };
        let args = arguments(&round, None).unwrap();
        let args: Vec<_> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let at = args.iter().position(|arg| arg == "--settings").unwrap();
        assert_eq!(args.iter().filter(|arg| *arg == "--settings").count(), 1);
        assert_eq!(args[at + 2..], ["--verbose"]);
        let value: serde_json::Value = serde_json::from_str(&args[at + 1]).unwrap();
        assert_eq!(value["model"], "x");
        assert_eq!(value["sandbox"]["failIfUnavailable"], true);
        assert_eq!(value["sandbox"]["filesystem"]["allowWrite"], serde_json::json!(["/tmp"]));
        let denied = value["sandbox"]["filesystem"]["denyWrite"].to_string();
        assert!(denied.contains(".claude/ralph.toml"), "{denied}");
    }

    #[test]
    fn a_session_that_is_taken_up_gets_no_new_id() {
        let again = arguments(&round(), Some(("other".to_owned(), "Go on."))).unwrap();
        assert_eq!(
            words(again),
            "-p 'Go on.' --output-format stream-json --verbose --resume other --permission-mode acceptEdits --allowedTools 'Bash(ralph verify *),Edit' --model 'a b'"
        );
    }

    #[test]
    fn a_prompt_that_looks_like_an_option_is_none() {
        let round = ClientRound { prompt: "--help".to_owned(), ..ClientRound::default() };
        assert_eq!(
            words(arguments(&round, None).unwrap()),
            "-p ' --help' --output-format stream-json --verbose"
        );
    }

    #[test]
    fn a_prompt_that_is_too_long_for_an_argument_goes_to_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prompt");
        let named = |path: &Path| format!("read {}", path.display());
        let fits = "x".repeat(LONGEST_PROMPT);
        assert_eq!(fit(fits.clone(), &file, named).unwrap(), fits);
        assert!(!file.exists());
        let long = fits + "x";
        assert_eq!(fit(long.clone(), &file, named).unwrap(), named(&file));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), long);
    }
}
