//! The arguments that leave a reviewer's client only what reads.

use crate::command::context_dir::Here;
use crate::runs::client::sandbox;
use ralph_core::evidence::review::prompt::ReviewerTools;
use ralph_core::protocol::sandbox::SandboxReach;
use ralph_core::protocol::sandbox::Unavailable;
use ralph_core::state::Bounds;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::git::repository;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;

/// Of the user's arguments for the client, those that reach a reviewer. Others could give it tools
/// that write.
const OF_MODEL: [&str; 3] = ["--model", "--fallback-model", "--effort"];

/// What a reviewer's client can do on this machine, and why not more.
pub(crate) fn tools() -> (ReviewerTools, Option<Unavailable>) {
    match ralph_io::client::sandbox::check() {
        Ok(()) => (ReviewerTools::Commands, None),
        Err(why) => (ReviewerTools::Files, Some(why)),
    }
}

/// Where a reviewer works, and what it must not change.
pub(super) struct Protected<'a> {
    pub(super) here: &'a Here,
    pub(super) root: &'a Path,
    pub(super) loop_folder: &'a Path,
    /// The bounds of the loop, if it has any.
    pub(super) bounds: Option<&'a Bounds>,
}

/// The arguments, and the bounds of the client's commands if it has any.
pub(super) fn of_reviewer(
    given: &[OsString],
    tools: ReviewerTools,
    protected: &Protected<'_>,
) -> (Vec<OsString>, Option<SandboxReach>) {
    let mut args = of_model(given);
    let own = ["--setting-sources", "user", "--strict-mcp-config", "--tools"];
    args.extend(own.map(OsString::from));
    match tools {
        ReviewerTools::Files => {
            args.push("Read,Grep,Glob".into());
            (args, None)
        }
        ReviewerTools::Commands => {
            args.extend(["Read,Grep,Glob,Bash", "--settings"].map(OsString::from));
            args.push(rules(protected.root).to_string().into());
            (args, Some(reach(protected)))
        }
    }
}

/// A command that the user lets out of the sandbox could change the loop or the project.
fn rules(root: &Path) -> Value {
    let out = ClientSettings::of(root).excluded_commands();
    let out = out.iter().map(|command| format!("Bash({command})"));
    let ralph = ["Bash(ralph *)", "Bash(ralph)"].map(str::to_owned);
    json!({"permissions": {"deny": ralph.into_iter().chain(out).collect::<Vec<_>>()}})
}

/// A reviewer writes nothing but its temporary folder, and reaches no host.
fn reach(protected: &Protected<'_>) -> SandboxReach {
    let Protected { here, root, loop_folder, bounds } = protected;
    let real = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    // In a worktree the client lets commands write the git folders, which lie elsewhere.
    let git = repository::around(&real);
    let git = git.iter().flat_map(|it| [it.own(), it.common()]);
    let folders = [real.as_path(), loop_folder, here.home.root()].into_iter().chain(git);
    let mut deny_write: Vec<String> =
        folders.map(|folder| folder.to_string_lossy().into_owned()).collect();
    deny_write.sort();
    deny_write.dedup();
    let own = bounds.is_none().then(|| sandbox::bounds(here, root));
    let deny_read = bounds.or(own.as_ref()).map(|bounds| bounds.read_deny.clone());
    SandboxReach { deny_write, deny_read: deny_read.unwrap_or_default(), ..SandboxReach::default() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_users_arguments_only_the_choice_of_a_model_reaches_a_reviewer() {
        let given = "--dangerously-skip-permissions --model opus --tools default --effort=high \
                     --mcp-config x.json --settings {} --add-dir / --allowedTools Write";
        let given: Vec<OsString> = given.split_whitespace().map(OsString::from).collect();
        assert_eq!(of_model(&given), ["--model", "opus", "--effort=high"].map(OsString::from));
    }
}
