//! Reads the state file of the official plugin `ralph-loop`: `.claude/ralph-loop.local.md`, a few
//! lines of front matter with the prompt below them.
//!
//! The plugin's promise becomes the completion token, since the prompt mentions it. The project's
//! own commands decide whether the loop is complete, as for a loop typed without criteria. A loop
//! without an iteration limit gets Ralph's default.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use anyhow::{Context, Result, bail};
use ralph_core::state::{LoopState, StartedBy};
use ralph_core::tasks::plan::Plan;
use ralph_hooks::begin::{PlannedFrom, planned_from};
use std::path::{Path, PathBuf};

/// In bytes; longer than any phrase that a model would print alone on a line.
const LONGEST_PROMISE: usize = 200;

/// Whether the text starts with front matter; no other file that can be adopted does.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(b"---\n") || bytes.starts_with(b"---\r\n")
}

#[derive(Debug, PartialEq, Eq)]
struct PluginState {
    active: bool,
    iteration: u32,
    /// `None` for a loop without a limit.
    max_iterations: Option<u32>,
    promise: Option<String>,
    session_id: String,
    prompt: String,
}

/// Builds the loop of a plugin file, without writing it.
pub(super) fn read(bytes: &[u8], path: &Path, here: &Here) -> Result<LoopState> {
    let name = path.display();
    let text = str::from_utf8(bytes).with_context(|| format!("`{name}` is not UTF-8"))?;
    let said = parse(text).with_context(|| format!("could not use `{name}`"))?;
    if !said.active {
        let message = format!("the loop of `{name}` is not active; there is nothing to take over");
        return Err(refused(Exit::No, message));
    }
    let root = project(path).unwrap_or_else(|| here.root.clone());
    let from = PlannedFrom {
        home: &here.home,
        root: &root,
        goal: &said.prompt,
        started_by: StartedBy::Person,
    };
    let mut state = planned_from(&from, Plan::default())?;
    if let Some(most) = said.max_iterations {
        // The plugin's first turn is iteration 1; Ralph counts how often the loop continued.
        (state.max_iterations, state.iteration) =
            (most, said.iteration.saturating_sub(1).min(most));
    }
    state.completion_token = said.promise.unwrap_or(state.completion_token);
    state.session_id = said.session_id;
    Ok(state)
}

/// The project folder of `PROJECT/.claude/ralph-loop.local.md`.
fn project(path: &Path) -> Option<PathBuf> {
    let folder = path.canonicalize().ok()?.parent()?.to_owned();
    let is_settings = folder.file_name()? == ".claude";
    is_settings.then(|| folder.parent().map(Path::to_owned))?
}

fn parse(text: &str) -> Result<PluginState> {
    let text = text.replace("\r\n", "\n");
    let inner = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let (front, prompt) = inner.context("its front matter does not end")?;
    let value = |name: &str| {
        let line = front.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    let number = |name: &str| -> Result<u32> {
        let text = value(name).with_context(|| format!("it has no `{name}`"))?;
        text.parse().with_context(|| format!("its `{name}` is `{text}`, which is no number"))
    };
    let max_iterations = Some(number("max_iterations")?).filter(|most| *most > 0);
    let promise = value("completion_promise").filter(|promise| {
        !["", "null"].contains(&promise.as_str()) && promise.len() <= LONGEST_PROMISE
    });
    let prompt = prompt.trim();
    if prompt.is_empty() {
        bail!("it has no prompt");
    }
    Ok(PluginState {
        active: value("active").is_none_or(|active| active == "true"),
        iteration: number("iteration")?,
        max_iterations,
        promise,
        session_id: value("session_id").unwrap_or_default(),
        prompt: prompt.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "---\nactive: true\niteration: 7\nmax_iterations: 20\n";

    #[test]
    fn all_that_it_says_is_read() {
        let text = format!(
            "{HEAD}completion_promise: \"ALL DONE\"\nsession_id: s\n---\n\nFix it.\n---\nAll.\n"
        );
        let said = parse(&text).unwrap();
        assert_eq!((said.active, said.iteration, said.max_iterations), (true, 7, Some(20)));
        assert_eq!(said.promise.as_deref(), Some("ALL DONE"));
        assert_eq!((said.session_id.as_str(), said.prompt.as_str()), ("s", "Fix it.\n---\nAll."));
        assert_eq!(parse(&text.replace('\n', "\r\n")).unwrap(), said);
    }

    #[test]
    fn no_bound_and_no_promise_are_none() {
        let text = "---\niteration: 1\nmax_iterations: 0\ncompletion_promise: null\n---\nFix it.";
        let said = parse(text).unwrap();
        assert_eq!((said.max_iterations, said.promise), (None, None));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let wrong = |text: &str| format!("{:#}", parse(text).unwrap_err());
        assert_eq!(wrong("---\niteration: 1\n"), "its front matter does not end");
        assert_eq!(wrong("---\niteration: 1\n---\nx"), "it has no `max_iterations`");
        assert!(wrong(&HEAD.replace('7', "seven")).contains("does not end"));
        let seven = format!("{}---\nx", HEAD.replace('7', "seven"));
        assert!(wrong(&seven).starts_with("its `iteration` is `seven`, which is no number"));
        assert_eq!(wrong(&format!("{HEAD}---\n \n")), "it has no prompt");
    }
}
