//! Claude Code as the client of a round: its command line, its settings and permissions, what it loads, and its version.

use crate::command::exit::{Exit, refused};
use crate::command::screen::visible;
use crate::runs::client::{ClientRound, sandbox};
use crate::runs::options::Preflight;
use anyhow::{Context, Result, anyhow};
use ralph_core::protocol::client_version::{ClientFeature, ClientVersion};
use ralph_core::protocol::loaded::{ListedPlugins, MODS_OFF};
use ralph_core::protocol::permission::{self, Mode, Need};
use ralph_core::protocol::sandbox::widening::WithinBounds;
use ralph_core::protocol::sandbox::{SandboxReach, merged, settings};
use ralph_core::transcript::stream::{self, StreamEvent};
use ralph_io::client as claude;
use ralph_io::client::client_settings::{ClientSettings, Permissions};
use ralph_io::client::given;
use ralph_io::client::plugins::{self, WideningFile};
use ralph_io::process::{self, Program, ProgramEnd, programs};
use ralph_io::store::home::Home;
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// The client of this run.
///
/// # Errors
/// When it was not found.
pub(crate) fn client() -> Result<PathBuf> {
    claude::program().map(Path::to_owned).ok_or_else(|| {
        let message = format!(
            "could not find the client `{}`; install Claude Code, or name it in RALPH_CLAUDE",
            claude::program_name()
        );
        refused(Exit::MissingProgram, message)
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
            let (rest, all) = with_own(&round.extra_args, &ours)?;
            args.extend(["--settings".into(), all.to_string().into()]);
            args.extend(rest);
        }
    }
    Ok(args)
}

// Finds, before a loop starts, which of its work would need a user.

/// A cold start on a busy machine takes seconds.
const TO_LIST: Duration = Duration::from_secs(60);

/// Compares the needs of the rounds with the given mode, or the client's own, and with the rules of
/// the client's settings and those `allowed` besides.
///
/// # Errors
/// When the client has no such mode.
pub(crate) fn preflight(
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
pub(crate) fn list_plugins(
    client: &Path,
    folder: &Path,
    args: &[OsString],
) -> Result<ListedPlugins> {
    let (rest, settings) = with_own(args, &json!({"disableAllHooks": true}))?;
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

// The user's own settings for the client, together with Ralph's.

/// The arguments without the user's own `--settings`, and the value that takes their place.
///
/// # Errors
/// If the user's settings cannot be read, or switch off a part of the sandbox.
pub(crate) fn with_own(args: &[OsString], ours: &Value) -> Result<(Vec<OsString>, Value)> {
    let (rest, own) = without_settings(args);
    let mut all = ours.clone();
    for own in own {
        let own = parsed(&own)?;
        all = merged(own, &all).map_err(|why| {
            let message =
                format!("`--settings` after `--` weakens the sandbox: {why}; add `--no-sandbox` if you mean it");
            refused(Exit::Usage, message)
        })?;
    }
    Ok((rest, all))
}

fn without_settings(args: &[OsString]) -> (Vec<OsString>, Vec<OsString>) {
    let (mut rest, mut own) = (Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.to_str().map(|arg| (arg, arg.strip_prefix("--settings="))) {
            Some(("--settings", _)) => own.extend(args.next().cloned()),
            Some((_, Some(value))) => own.push(value.into()),
            _ => rest.push(arg.clone()),
        }
    }
    (rest, own)
}

/// The client takes a JSON object, or the path of a file with one.
fn parsed(own: &OsStr) -> Result<Value> {
    let text = own.to_string_lossy();
    let text = match text.trim_start().starts_with('{') {
        true => text.into_owned(),
        false => given::file(Path::new(own))
            .map_err(|error| refused(Exit::Usage, format!("`--settings`: {error:#}")))?,
    };
    let value: Option<Value> = serde_json::from_str(&text).ok();
    value.filter(Value::is_object).ok_or_else(|| {
        refused(Exit::Usage, "`--settings` is no JSON object; correct it, or leave it out")
    })
}

// The files of a project that the client would obey.

/// The files of a project that widen what its clients may reach, trusted or not.
pub(crate) fn widening(folder: &Path, reach: &SandboxReach) -> Vec<WideningFile> {
    let executables = programs::running().ok();
    let executables = executables.as_deref().and_then(Path::parent).unwrap_or(Path::new("/"));
    let executables = executables.to_string_lossy();
    plugins::widening(folder, &WithinBounds { reach, executables: &executables })
}

/// Refuses a client that would read such a file in this folder, unless the user trusts it.
///
/// # Errors
/// If there is one.
pub(crate) fn refuse_widening(home: &Home, folder: &Path, reach: &SandboxReach) -> Result<()> {
    let found = widening(folder, reach).into_iter().find(|file| !file.is_trusted(home));
    let Some(WideningFile { path, member, .. }) = found else { return Ok(()) };
    let message = format!(
        "`{}` lets the client run or allow things outside of the sandbox: {member}; read it, then type \
         `ralph trust`, or remove it; no client was started",
        path.display()
    );
    Err(refused(Exit::No, visible(&message)))
}

/// Refuses a client in whose folder the project's own agent would take the place of one of Ralph's.
///
/// # Errors
/// If there is one.
pub(crate) fn refuse_agents(folder: &Path) -> Result<()> {
    let Some(why) = plugins::foreign_agent(folder) else { return Ok(()) };
    Err(refused(Exit::No, visible(&format!("{why}; no client was started"))))
}

// Asks the installed client for its version, once in a process.

/// A cold start on a busy machine takes seconds.
const TO_TELL_VERSION: Duration = Duration::from_secs(20);

/// The answer of `claude --version`.
#[derive(Debug, Clone)]
pub(crate) struct InstalledClient {
    /// The name or path of the client: `RALPH_CLAUDE`, else `claude`.
    pub(crate) command: String,
    /// What it printed, in one line.
    pub(crate) printed: String,
    /// `None` if what it printed contains no version.
    pub(crate) version: Option<ClientVersion>,
}

/// Asks the client that `RALPH_CLAUDE` names, else `claude`.
///
/// # Errors
/// When it does not start, or fails.
pub(crate) fn installed() -> Result<InstalledClient> {
    static ANSWER: OnceLock<Result<InstalledClient, String>> = OnceLock::new();
    let answer = ANSWER.get_or_init(|| ask_version().map_err(|error| format!("{error:#}")));
    answer.clone().map_err(|error| anyhow!(error))
}

fn ask_version() -> Result<InstalledClient> {
    let command = claude::program_name();
    let program = Program {
        command: claude::program().and_then(Path::to_str).unwrap_or(&command),
        args: vec!["--version"],
        folder: Path::new("/"),
        stdin: "",
        env: Vec::new(),
        deadline: TO_TELL_VERSION,
    };
    let outcome = process::run_once(&program)?;
    if outcome.ended != ProgramEnd::Exited(0) {
        let how = match outcome.ended {
            ProgramEnd::Exited(code) => format!("ended with exit code {code}"),
            ProgramEnd::Signalled(signal) => format!("was ended by signal {signal}"),
            ProgramEnd::Overdue => "did not end in time".to_owned(),
        };
        let told = outcome.stderr.trim().lines().last().map(|line| format!(": {line}"));
        return Err(anyhow!("`{command} --version` {how}{}", told.unwrap_or_default()));
    }
    let printed = outcome.stdout.trim().lines().next().unwrap_or_default().to_owned();
    let version = ClientVersion::printed(&printed);
    Ok(InstalledClient { command, printed, version })
}

/// Why the installed client is too old for one of these; `None` if it is not, or does not tell its
/// version: the hooks in it report that.
pub(crate) fn too_old(features: &[ClientFeature]) -> Option<String> {
    let version = installed().ok()?.version?;
    features.iter().find_map(|feature| feature.refusal(version))
}

/// Refuses a start for which the installed client is too old.
///
/// # Errors
/// When the client is too old.
pub(crate) fn check_version(features: &[ClientFeature]) -> Result<()> {
    too_old(features).map_or(Ok(()), |why| {
        Err(refused(Exit::MissingProgram, format!("{why}; nothing was started")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::client::quoted;

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

#[cfg(test)]
mod settings_tests {
    use super::*;

    fn args(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_users_settings_are_taken_out_of_the_arguments_and_merged() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.json");
        std::fs::write(&file, r#"{"model":"b"}"#).unwrap();
        let ours = json!({"sandbox": {"enabled": true}});
        let given = format!("--settings={}", file.display());
        let (rest, all) =
            with_own(&args(&["--settings", r#"{"env":{"A":"1"}}"#, "--model", "x", &given]), &ours)
                .unwrap();
        assert_eq!(rest, args(&["--model", "x"]));
        let expected = json!({"env": {"A": "1"}, "model": "b", "sandbox": {"enabled": true}});
        assert_eq!(all, expected);
        let refusal = |words: &[&str]| with_own(&args(words), &ours).unwrap_err().to_string();
        let off = refusal(&["--settings", r#"{"sandbox":{"enabled":false}}"#]);
        assert!(off.contains("`sandbox.enabled` is false; add `--no-sandbox`"), "{off}");
        assert!(refusal(&["--settings", "[1]"]).contains("--settings"));
        assert!(refusal(&["--settings", "{"]).contains("no JSON object"));
    }
}
