//! Claude Code as the client of a round: its command line, its settings and permissions, what it loads, and its version.

use crate::command::exit::{Exit, refused};
use crate::command::screen::visible;
use crate::runs::client::{Client, ClientCommand, ClientRound, sandbox};
use crate::runs::options::Preflight;
use anyhow::{Context, Result, anyhow};
use ralph_core::protocol::client_version::{ClientFeature, ClientVersion};
use ralph_core::protocol::loaded::{ListedPlugins, MODS_OFF};
use ralph_core::protocol::permission::{self, Mode, Need};
use ralph_core::protocol::sandbox::widening::WithinBounds;
use ralph_core::protocol::sandbox::{RULE, SandboxReach, merged, settings};
use ralph_core::transcript::readable::readable;
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

/// A cold start on a busy machine takes seconds.
const TO_LIST: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct ClaudeCode;

impl Client for ClaudeCode {
    fn program(&self) -> Result<PathBuf> {
        claude::program().map(Path::to_owned).ok_or_else(|| {
            let message = format!(
                "could not find the client `{}`; install Claude Code, or name it in RALPH_CLAUDE",
                claude::program_name()
            );
            refused(Exit::MissingProgram, message)
        })
    }

    fn check_version(&self, round: &ClientRound) -> Result<()> {
        let mut features = vec![ClientFeature::Headless];
        features.extend(round.sandbox.as_ref().map(|_| ClientFeature::Sandbox));
        too_old(&features).map_or(Ok(()), |why| {
            Err(refused(Exit::MissingProgram, format!("{why}; nothing was started")))
        })
    }

    fn check_folder(&self, round: &ClientRound) -> Result<()> {
        let folder = round.place();
        // The project's own agent would take the place of one of Ralph's.
        if let Some(why) = plugins::foreign_agent(&folder) {
            return Err(refused(Exit::No, visible(&format!("{why}; no client was started"))));
        }
        let Some(reach) = &round.sandbox else { return Ok(()) };
        with_own(&own_arguments(round), &settings(reach))?;
        let home = Home::from_env()?;
        let found = widening(&folder, reach).into_iter().find(|file| !file.is_trusted(&home));
        let Some(WideningFile { path, member, .. }) = found else { return Ok(()) };
        let message = format!(
            "`{}` lets the client run or allow things outside of the sandbox: {member}; read it, then type \
             `ralph trust`, or remove it; no client was started",
            path.display()
        );
        Err(refused(Exit::No, visible(&message)))
    }

    fn preflight(&self, round: &ClientRound, needs: &[Need]) -> Result<Preflight> {
        let args = round.extra_args.iter().map(|arg| arg.to_string_lossy().into_owned());
        let own = permission::from_arguments(&args.collect::<Vec<_>>());
        let mut found = ClientSettings::for_project(&round.place()).permissions();
        found.rules.allow.extend([own.allow, round.allowed.clone()].concat());
        found.rules.allow.extend(round.sandbox.as_ref().map(|_| RULE.to_owned()));
        let mode = own.mode.as_ref().or(round.permission_mode.as_ref());
        let preflight = compare(needs, mode.map(String::as_str), found)?;
        Ok(Preflight { is_elsewhere: own.is_elsewhere, ..preflight })
    }

    /// As the client prints them itself: for a command that asks no model, and without any hook. None
    /// if it prints nothing: then a round must load none.
    fn plugins(&self, round: &ClientRound) -> Result<ListedPlugins> {
        let (rest, settings) = with_own(&round.extra_args, &json!({"disableAllHooks": true}))?;
        let (program, folder, settings) =
            (round.program(self)?, round.place(), settings.to_string());
        let mut args = vec!["/cost", "-p", "--output-format", "stream-json", "--verbose"];
        args.extend(["--no-session-persistence", "--settings", &settings].iter().chain(&MODS_OFF));
        args.extend(rest.iter().filter_map(|arg| arg.to_str()));
        let asked = process::run_once(&Program {
            command: program.to_str().context("the client's path is not valid UTF-8")?,
            args,
            folder: &folder,
            stdin: "",
            env: Vec::new(),
            deadline: TO_LIST,
        })?;
        let began = asked.stdout.lines().find_map(|line| match self.read(line.as_bytes()) {
            Some(StreamEvent::Began { plugins, .. }) => Some(plugins),
            _ => None,
        });
        let managed = ClientSettings::for_project(&folder).leaves_mods_on();
        let managed = managed.map(|path| path.display().to_string());
        Ok(ListedPlugins::from_loaded(began.unwrap_or_default(), managed))
    }

    fn command(&self, round: &ClientRound) -> Result<ClientCommand> {
        // The client would read a leading dash as an option, even in this position.
        let space = if round.prompt.starts_with('-') { " " } else { "" };
        let mut args: Vec<OsString> = vec!["-p".into(), format!("{space}{}", round.prompt).into()];
        args.extend(["--output-format", "stream-json", "--verbose"].map(OsString::from));
        let new = round.session_id.as_ref().filter(|_| round.resume.is_none());
        let allowed = Some(round.allowed.join(",")).filter(|rules| !rules.is_empty());
        args.extend(option("--resume", round.resume.as_ref()));
        args.extend(option("--session-id", new));
        args.extend(option("--permission-mode", round.permission_mode.as_ref()));
        args.extend(option("--allowedTools", allowed.as_ref()));
        args.extend(MODS_OFF.map(OsString::from));
        let own = own_arguments(round);
        match &round.sandbox {
            None => args.extend(own),
            Some(reach) => {
                let ours = settings(&sandbox::in_folder(reach, &round.place()));
                let (rest, all) = with_own(&own, &ours)?;
                args.extend(["--settings".into(), all.to_string().into()]);
                args.extend(rest);
            }
        }
        Ok(match round.is_reviewer {
            true => ClientCommand { args, env: &WITHOUT_MEMORY, unset: &OF_A_SESSION },
            false => ClientCommand { args, env: &[], unset: &[] },
        })
    }

    fn read(&self, line: &[u8]) -> Option<StreamEvent> {
        stream::read(line)
    }

    fn readable(&self, line: &[u8]) -> Vec<String> {
        readable(line)
    }
}

// The arguments of a round behind those of every round.

/// Variables of a surrounding session that would mislead a reviewer's client or its hooks.
const OF_A_SESSION: [&str; 9] = [
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_PLUGIN_ROOT",
    "AI_AGENT",
    "RALPH_SESSION_CALL",
];

/// Keeps the user's `CLAUDE.md`, its rules and the client's memory from the reviewer: what they say is not about the
/// change, and a session may have written them. Hooks and the login stay (measured with 2.1.328).
const WITHOUT_MEMORY: [(&str, &str); 1] = [("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1")];

/// Of the user's arguments for the client, those that reach a reviewer. Others could give it tools
/// that write.
const OF_MODEL: [&str; 3] = ["--model", "--fallback-model", "--effort"];

fn option(name: &str, value: Option<&String>) -> Vec<OsString> {
    value.map(|value| vec![name.into(), value.into()]).unwrap_or_default()
}

/// The arguments that differ between rounds, and then the user's own.
fn own_arguments(round: &ClientRound) -> Vec<OsString> {
    if round.is_reviewer {
        return reviewer_arguments(round);
    }
    let local = round.settings_of.as_ref().map(|root| local_settings(root, &round.extra_args));
    let (model, agent) =
        (option("--model", round.model.as_ref()), option("--agent", round.agent.as_ref()));
    [local.unwrap_or_default(), model, agent, round.extra_args.clone()].concat()
}

/// A worktree contains only committed files, and the user's own settings for the project are not
/// among them. Passes those settings to the client, unless the user passes others.
fn local_settings(root: &Path, given: &[OsString]) -> Vec<OsString> {
    let file = root.join(".claude/settings.local.json");
    let is_given = given.iter().any(|arg| arg.as_encoded_bytes().starts_with(b"--settings"));
    match file.is_file() && !is_given {
        true => vec!["--settings".into(), file.into()],
        false => Vec::new(),
    }
}

/// The arguments that leave a reviewer's client only what reads, commands in the sandbox included.
fn reviewer_arguments(round: &ClientRound) -> Vec<OsString> {
    let mut args = of_model(&round.extra_args);
    let own = ["--setting-sources", "user", "--strict-mcp-config", "--tools"];
    args.extend(own.map(OsString::from));
    match round.sandbox {
        None => args.push("Read,Grep,Glob".into()),
        Some(_) => {
            args.extend(["Read,Grep,Glob,Bash", "--settings"].map(OsString::from));
            args.push(rules(&round.place()).to_string().into());
        }
    }
    args
}

/// A command that the user lets out of the sandbox could change the loop or the project.
fn rules(root: &Path) -> Value {
    let out = ClientSettings::for_project(root).excluded_commands();
    let out = out.iter().map(|command| format!("Bash({command})"));
    let ralph = ["Bash(ralph *)", "Bash(ralph)"].map(str::to_owned);
    json!({"permissions": {"deny": ralph.into_iter().chain(out).collect::<Vec<_>>()}})
}

fn of_model(given: &[OsString]) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut given = given.iter();
    while let Some(arg) = given.next() {
        let text = arg.to_string_lossy();
        if OF_MODEL.contains(&&*text) {
            kept.push(arg.clone());
            kept.extend(given.next().cloned());
        } else if OF_MODEL
            .iter()
            .any(|name| text.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
        {
            kept.push(arg.clone());
        }
    }
    kept
}

// Finds, before a loop starts, which of its work would need a user.

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
    Ok(Preflight { mode: name, obstacles, remedy, n_ignored, problems, is_elsewhere: false })
}

// The user's own settings for the client, together with Ralph's.

/// The arguments without the user's own `--settings`, and the value that takes their place.
///
/// # Errors
/// If the user's settings cannot be read, or switch off a part of the sandbox.
fn with_own(args: &[OsString], ours: &Value) -> Result<(Vec<OsString>, Value)> {
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
    fn words(round: &ClientRound) -> String {
        let mut args = ClaudeCode.command(round).unwrap().args;
        let at = args.iter().position(|arg| arg == MODS_OFF[0]).unwrap();
        assert_eq!(args.drain(at..at + 2).collect::<Vec<_>>(), MODS_OFF.map(OsString::from));
        args.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_prompt_comes_first_and_the_persons_own_arguments_last() {
        assert_eq!(
            words(&round()),
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
        let args = ClaudeCode.command(&round).unwrap().args;
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
        let again = ClientRound {
            prompt: "Go on.".to_owned(),
            resume: Some("other".to_owned()),
            ..round()
        };
        assert_eq!(
            words(&again),
            "-p 'Go on.' --output-format stream-json --verbose --resume other --permission-mode acceptEdits --allowedTools 'Bash(ralph verify *),Edit' --model 'a b'"
        );
    }

    #[test]
    fn a_prompt_that_looks_like_an_option_is_none() {
        let round = ClientRound { prompt: "--help".to_owned(), ..ClientRound::default() };
        assert_eq!(words(&round), "-p ' --help' --output-format stream-json --verbose");
    }

    #[test]
    fn of_the_users_arguments_only_the_choice_of_a_model_reaches_a_reviewer() {
        let given = "--dangerously-skip-permissions --model opus --tools default --effort=high \
                     --mcp-config x.json --settings {} --add-dir / --allowedTools Write";
        let given: Vec<OsString> = given.split_whitespace().map(OsString::from).collect();
        assert_eq!(of_model(&given), ["--model", "opus", "--effort=high"].map(OsString::from));
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

    #[test]
    fn a_worktree_gets_the_users_settings_for_the_project_unless_others_are_given() {
        let root = tempfile::tempdir().unwrap();
        let given = |args: &[&str]| {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            local_settings(root.path(), &args)
        };
        assert_eq!(given(&[]), [""; 0].map(OsString::from), "there are none");
        let file = root.path().join(".claude/settings.local.json");
        std::fs::create_dir(root.path().join(".claude")).unwrap();
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(given(&["--model", "x"]), [OsString::from("--settings"), file.into()]);
        for own in [&["--settings", "a"][..], &["--settings=a"]] {
            assert_eq!(given(own), [""; 0].map(OsString::from));
        }
    }

    #[test]
    fn calls_that_are_decided_elsewhere_are_not_foretold() {
        let foretold = |args: &[&str]| {
            let extra_args = args.iter().map(OsString::from).collect();
            let folder = Some(std::env::temp_dir());
            let round = ClientRound { extra_args, folder, ..ClientRound::default() };
            ClaudeCode.preflight(&round, &[]).unwrap().is_elsewhere
        };
        assert!(!foretold(&[]) && !foretold(&["--model", "x"]));
        assert!(foretold(&["--settings", "{}"]));
        assert!(foretold(&["--permission-prompt-tool", "x"]));
    }
}
