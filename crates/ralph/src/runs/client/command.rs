//! The client's command line, also as text to paste into a shell, and which of its work would need a user.

use crate::command::exit::{Exit, refused};
use crate::command::screen::visible;
use crate::runs::client::{ClientRound, sandbox};
use anyhow::{Context, Result};
use ralph_core::protocol::loaded::{ListedPlugins, MODS_OFF};
use ralph_core::protocol::permission::{self, Mode, Need, Obstacle};
use ralph_core::protocol::sandbox::settings;
use ralph_core::text::plural::counted;
use ralph_core::transcript::stream::{self, StreamEvent};
use ralph_io::client as claude;
use ralph_io::client::client_settings::{ClientSettings, Permissions};
use ralph_io::process::{self, Program};
use ralph_io::store::atomic;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

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

// Finds, before a loop starts, which of its work would need a user.

/// A cold start on a busy machine takes seconds.
const TO_LIST: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// The name of the permission mode that the client will use.
    pub mode: String,
    /// The calls that would not simply run.
    pub obstacles: Vec<(Need, Obstacle)>,
    /// The narrowest mode in which all of them would run.
    pub remedy: Option<&'static str>,
    /// How many of the project's rules the client will ignore because the folder is not trusted.
    pub n_ignored: usize,
    /// Settings that could not be read.
    pub problems: Vec<String>,
}

/// Compares the needs of the rounds with the given mode, or the client's own, and with the rules of
/// the client's settings and those `allowed` besides.
///
/// # Errors
/// When the client has no such mode.
pub fn preflight(
    needs: &[Need],
    mode: Option<&str>,
    allowed: &[String],
    project_root: &Path,
) -> Result<Preflight> {
    let mut found = ClientSettings::for_project(project_root).permissions();
    found.rules.allow.extend_from_slice(allowed);
    compare(needs, mode, found)
}

/// The plugins of a client with these arguments, as it prints them itself: for a command that asks no
/// model, and without any hook. None if it prints nothing: then a round must load none.
///
/// # Errors
/// If the client cannot be started, or the user's own `--settings` cannot be read.
pub(crate) fn plugins(client: &Path, folder: &Path, args: &[OsString]) -> Result<ListedPlugins> {
    let (rest, settings) = sandbox::with_own(args, &json!({"disableAllHooks": true}))?;
    let settings = settings.to_string();
    let mut args = vec!["/cost", "-p", "--output-format", "stream-json", "--verbose"];
    args.extend(["--no-session-persistence", "--settings", &settings].iter().chain(&MODS_OFF));
    args.extend(rest.iter().filter_map(|arg| arg.to_str()));
    let asked = process::run_once(&Program {
        command: client.to_str().context("the client's path is not valid UTF-8")?,
        args,
        folder,
        stdin: "",
        env: Vec::new(),
        deadline: TO_LIST,
    })?;
    let began = asked.stdout.lines().find_map(|line| match stream::read(line.as_bytes()) {
        Some(StreamEvent::Began { plugins, .. }) => Some(plugins),
        _ => None,
    });
    let managed = ClientSettings::for_project(folder).leaves_mods_on();
    Ok(ListedPlugins::from_loaded(
        began.unwrap_or_default(),
        managed.map(|path| path.display().to_string()),
    ))
}

fn compare(needs: &[Need], mode: Option<&str>, found: Permissions) -> Result<Preflight> {
    let name = mode.map(str::to_owned).or(found.default_mode);
    let name = name.unwrap_or_else(|| "default".to_owned());
    let mode = Mode::named(&name).ok_or_else(|| {
        let message = format!("a permission mode is {}, not `{name}`", Mode::names());
        refused(Exit::Usage, message)
    })?;
    let obstacles = permission::preflight(needs, mode, &found.rules);
    let remedy = permission::mode_for(needs, &found.rules);
    let (n_ignored, problems) = (found.n_ignored, found.problems);
    Ok(Preflight { mode: name, obstacles, remedy, n_ignored, problems })
}

impl Preflight {
    /// True if a call would be denied: in print mode nobody can grant a permission.
    pub fn is_denied(&self) -> bool {
        self.obstacles.iter().any(|(_, obstacle)| *obstacle != Obstacle::Unknown)
    }

    /// Why the calls would be denied: the mode, or a rule that stands in every mode.
    pub fn reason(&self) -> String {
        if self.remedy.is_none()
            && let Some((need, obstacle)) = self.obstacles.iter().find(|(_, it)| it.is_rule())
        {
            return line(need, obstacle);
        }
        let calls: Vec<String> = self.obstacles.iter().map(|(need, _)| name(need)).collect();
        format!("permission mode `{}` denies {}", visible(&self.mode), calls.join(", "))
    }

    /// What the user may want to know before the first round.
    pub fn lines(&self) -> Vec<String> {
        let unknown = self.obstacles.iter().filter(|(_, it)| *it == Obstacle::Unknown);
        let mut lines: Vec<String> = unknown.map(|(need, obstacle)| line(need, obstacle)).collect();
        if self.n_ignored > 0 {
            let rules = counted(self.n_ignored, "rule", "rules");
            lines.push(format!(
                "the client ignores {rules} of the project: start it here once and trust the folder"
            ));
        }
        lines.extend(self.problems.iter().map(|problem| visible(problem)));
        lines
    }
}

fn line(need: &Need, obstacle: &Obstacle) -> String {
    let need = name(need);
    match obstacle {
        Obstacle::Prompts | Obstacle::Plan => format!("{need} would be denied"),
        Obstacle::AskRule(rule) | Obstacle::DenyRule(rule) => {
            format!("the rule `{}` in the client's settings denies {need}", visible(rule))
        }
        Obstacle::Unknown => format!("in permission mode `auto` a model decides about {need}"),
    }
}

fn name(need: &Need) -> String {
    match need {
        Need::Bash(command) => format!("`{}`", visible(command)),
        Need::Edits(tool) | Need::Tool(tool) => visible(tool),
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

#[cfg(test)]
mod preflight_tests {
    use super::*;
    use ralph_core::protocol::permission::Rules;

    fn found(mode: Option<&str>, own: Option<&str>) -> Result<Preflight> {
        let deny = vec!["Bash(git push:*)".to_owned()];
        let permissions = Permissions {
            rules: Rules { deny, ..Rules::default() },
            default_mode: own.map(str::to_owned),
            n_ignored: 2,
            problems: Vec::new(),
        };
        let needs = [
            Need::Bash("cargo test".to_owned()),
            Need::Bash("git push".to_owned()),
            Need::Edits("Edit".to_owned()),
        ];
        compare(&needs, mode, permissions)
    }

    #[test]
    fn a_rule_that_stands_in_every_mode_is_the_reason_and_otherwise_the_mode() {
        let found = found(None, None).unwrap();
        assert_eq!(found.remedy, None);
        assert_eq!(
            found.reason(),
            "the rule `Bash(git push:*)` in the client's settings denies `git push`"
        );
        assert_eq!(
            found.lines(),
            ["the client ignores 2 rules of the project: start it here once and trust the folder"]
        );
        let edits = [Need::Edits("Edit".to_owned()), Need::Edits("Write".to_owned())];
        let found = compare(&edits, None, Permissions::default()).unwrap();
        assert_eq!(found.remedy, Some("acceptEdits"));
        assert_eq!(found.reason(), "permission mode `default` denies Edit, Write");
    }

    #[test]
    fn a_model_that_decides_is_told_and_not_refused() {
        let edit = [Need::Edits("Edit".to_owned())];
        let found = compare(&edit, Some("auto"), Permissions::default()).unwrap();
        assert!(!found.is_denied());
        assert_eq!(found.lines(), ["in permission mode `auto` a model decides about Edit"]);
    }

    #[test]
    fn a_mode_that_is_given_stands_over_the_clients_own() {
        let modes = |mode, own| found(mode, own).map(|found| (found.mode, found.obstacles.len()));
        assert_eq!(modes(None, None).unwrap(), ("default".to_owned(), 3));
        assert_eq!(modes(None, Some("acceptEdits")).unwrap(), ("acceptEdits".to_owned(), 2));
        let bold = modes(Some("bypassPermissions"), Some("plan")).unwrap();
        assert_eq!(bold, ("bypassPermissions".to_owned(), 1));
        assert!(modes(Some("yolo"), None).unwrap_err().to_string().ends_with("not `yolo`"));
    }
}
