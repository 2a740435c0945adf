//! Checks that the client and `bd` are installed and new enough.

use super::check::{Check, fail, warn, well};
use crate::setup::places::InstallPaths;
use ralph_core::tasks::beads::OLDEST;
use ralph_io::process::run_once::{self, Program, ProgramEnd};
use ralph_io::project;
use ralph_io::store::beads::{self, Bd};
use std::path::Path;
use std::time::Duration;

const NAME: &str = "client";
const BEADS: &str = "beads";
const DEADLINE: Duration = Duration::from_secs(20);

type ClientVersion = (u32, u32, u32);

/// What each version added, oldest first, and whether loops can be enforced without it.
const NEEDED: [(ClientVersion, Need, &str); 3] = [
    (
        (2, 1, 139),
        Need::Must,
        "hooks in exec form (`args`): older versions do not start Ralph's hooks correctly",
    ),
    (
        (2, 1, 163),
        Need::Should,
        "`additionalContext` at a stop: older versions show each stop as a problem",
    ),
    (
        (2, 1, 295),
        Need::Should,
        "`onFailure`: older versions start a loop even if the prompt hook is missing",
    ),
];

/// The client version that Ralph was measured with.
const MEASURED: &str = "2.1.328";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Must,
    Should,
}

pub(super) fn check(places: &InstallPaths) -> Check {
    let named = std::env::var("RALPH_CLAUDE").ok().filter(|name| !name.is_empty());
    let command = named.as_deref().unwrap_or("claude");
    let program = Program {
        command,
        args: vec!["--version"],
        folder: &places.home,
        stdin: "",
        env: Vec::new(),
        deadline: DEADLINE,
    };
    let missing = "install Claude Code, or name it in RALPH_CLAUDE";
    match run_once::run(&program) {
        Err(error) => fail(NAME, format!("{error:#}"), missing),
        Ok(outcome) if outcome.ended != ProgramEnd::Exited(0) => {
            fail(NAME, format!("`{command} --version` failed ({:?})", outcome.ended), missing)
        }
        Ok(outcome) => judge(command, outcome.stdout.trim()),
    }
}

fn judge(command: &str, said: &str) -> Check {
    let Some(version) = version(said) else {
        let detail = format!("`{command} --version` printed `{said}`, which contains no version");
        return warn(NAME, detail, format!("Ralph was measured with Claude Code {MEASURED}"));
    };
    let lacking = NEEDED.iter().find(|(from, _, _)| version < *from);
    let Some(((major, minor, patch), need, what)) = lacking else {
        return well(NAME, format!("`{command}` {said}, measured with {MEASURED}"));
    };
    let detail =
        format!("`{command}` {said} is older than {major}.{minor}.{patch}, which has {what}");
    match need {
        Need::Must => fail(NAME, detail, "update Claude Code"),
        Need::Should => warn(NAME, detail, "update Claude Code"),
    }
}

/// Parses the first word made of three numbers with dots between them.
fn version(said: &str) -> Option<ClientVersion> {
    said.split_whitespace().find_map(|word| {
        let mut numbers = word.trim_start_matches('v').splitn(3, '.').map(leading_number);
        Some((numbers.next()??, numbers.next()??, numbers.next()??))
    })
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Checks `bd` if the project keeps its tasks there.
pub(super) fn check_beads(current: &Path) -> Option<Check> {
    let root = project::root(None, current);
    let used = beads::has_store(current) || beads::has_store(&root);
    used.then(|| match Bd::find() {
        Ok(bd) => well(BEADS, format!("`bd` {}, and {OLDEST} or newer is needed", bd.version())),
        // A warning only, since no loop needs `bd`.
        Err(error) => warn(
            BEADS,
            format!("{error:#}"),
            "the project has `.beads/`, which cannot be refined until then",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckVerdict;
    use super::*;

    #[track_caller]
    fn says(said: &str, verdict: CheckVerdict, expected: &str) {
        let check = judge("claude", said);
        assert_eq!(check.verdict, verdict, "{check}");
        assert!(check.detail.contains(expected), "{check}");
    }

    #[test]
    fn a_client_is_judged_by_what_its_version_has() {
        says("2.1.328 (Claude Code)", CheckVerdict::Well, "measured with 2.1.328");
        says("2.1.295 (Claude Code)", CheckVerdict::Well, "2.1.295");
        says("2.1.294 (Claude Code)", CheckVerdict::Warn, "older than 2.1.295");
        says("2.1.162 (Claude Code)", CheckVerdict::Warn, "older than 2.1.163");
        says("2.1.138 (Claude Code)", CheckVerdict::Fail, "older than 2.1.139");
        says("1.0.128 (Claude Code)", CheckVerdict::Fail, "older than 2.1.139");
        says("3.0.0-beta.1", CheckVerdict::Well, "3.0.0-beta.1");
        says("hello", CheckVerdict::Warn, "contains no version");
    }
}
