//! Sends a notification: shows it on the desktop, and gives it to the user's own command.

use crate::command::screen;
use anyhow::{Context, Result, anyhow, bail};
use ralph_core::project::settings::NotifySettings;
use ralph_core::text::plural::counted;
use ralph_core::text::truncate::bounded;
use ralph_core::text::{sanitize, secrets};
use ralph_core::views::notice::Notice;
use ralph_io::process::headless::without_secrets;
use ralph_io::process::{self, Program, ProgramEnd, programs};
use ralph_io::terminal;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

/// How long the command may take; then its process group is ended.
const TO_SEND: Duration = Duration::from_secs(10);

/// Maximum length of a command's own words about its failure, in UTF-16 units.
const LAST_WORDS: usize = 300;

/// What became of one way to notify the user.
pub(crate) struct Delivery {
    /// `desktop` or `command`.
    pub(crate) way: &'static str,
    pub(crate) outcome: Result<()>,
}

impl Delivery {
    /// `sent`, or why it failed.
    pub(crate) fn describe(&self) -> String {
        match &self.outcome {
            Ok(()) => "sent".to_owned(),
            Err(error) => format!("failed: {error:#}"),
        }
    }
}

/// Removes control characters, and the secrets of the environment and of `given`, from a text for the
/// user.
pub(crate) fn clean(text: &str, given: &[(String, String)]) -> String {
    screen::visible_lines(&without_secrets(text, given))
}

/// Tries each way that the settings name once.
pub(crate) fn send(settings: &NotifySettings, notice: &Notice) -> Vec<Delivery> {
    let mut deliveries = Vec::new();
    if let Some((program, args)) = settings.program() {
        deliveries.push(Delivery { way: "command", outcome: by_command(program, args, notice) });
    }
    if settings.desktop == Some(true) {
        deliveries.push(Delivery { way: "desktop", outcome: on_desktop(notice) });
    }
    deliveries
}

fn on_desktop(notice: &Notice) -> Result<()> {
    match terminal::desktop(&notice.title, &notice.text) {
        true => Ok(()),
        false => bail!("neither `notify-send` nor `osascript` could show it"),
    }
}

fn by_command(program: &str, args: &[String], notice: &Notice) -> Result<()> {
    let missing = || anyhow!("`{program}` was not found on PATH");
    let found = programs::find_on_path(program).with_context(missing)?;
    let document = serde_json::to_string_pretty(notice).context("could not write the document")?;
    let variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| !name.to_str().is_some_and(secrets::is_clients_secret))
        .collect();
    let result = process::run_once_apart(&Program {
        command: found.to_str().context("the program's path is not valid UTF-8")?,
        args: args.iter().map(String::as_str).collect(),
        folder: Path::new(&notice.project),
        stdin: &format!("{document}\n"),
        env: variables
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?, OsStr::new(value))))
            .collect(),
        deadline: TO_SEND,
    })?;
    let how = match result.ended {
        ProgramEnd::Exited(0) => return Ok(()),
        ProgramEnd::Exited(code) => format!("`{program}` failed with exit code {code}"),
        ProgramEnd::Signalled(signal) => format!("`{program}` was ended by signal {signal}"),
        ProgramEnd::Overdue => {
            let seconds = counted(TO_SEND.as_secs() as usize, "second", "seconds");
            format!("`{program}` did not finish within {seconds} and was ended")
        }
    };
    // The message of a failed program may quote its arguments, such as a URL with a token.
    let words = sanitize::end_of(result.stderr.trim().as_bytes(), LAST_WORDS);
    let words = hide_arguments(bounded(&clean(&words, &[]), LAST_WORDS).as_str(), args);
    match words.trim() {
        "" => bail!(how),
        words => bail!("{how}: {words}"),
    }
}

/// Replaces the command's own arguments: they may hold a token, and no rule would recognise it.
fn hide_arguments(text: &str, args: &[String]) -> String {
    const SHORTEST: usize = 8;
    let long = args.iter().filter(|arg| arg.len() >= SHORTEST);
    long.fold(text.to_owned(), |text, arg| text.replace(arg.as_str(), "[argument]"))
}
