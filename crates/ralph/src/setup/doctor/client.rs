//! Checks that the client and `bd` are installed and new enough.

use super::check::{Check, fail, warn, well};
use crate::command::client_version::{self, InstalledClient};
use ralph_core::protocol::client_version::{ClientFeature, FEATURES, FeatureRow, MEASURED};
use ralph_core::tasks::beads::OLDEST;
use ralph_io::project;
use ralph_io::store::beads::{self, Bd};
use std::path::Path;

const NAME: &str = "client";
const BEADS: &str = "beads";
pub(super) fn check() -> Check {
    match client_version::installed() {
        Err(error) => {
            fail(NAME, format!("{error:#}"), "install Claude Code, or name it in RALPH_CLAUDE")
        }
        Ok(client) => judge(&client),
    }
}

/// Fails where Ralph would start no loop, and warns of each other feature that is missing.
fn judge(client: &InstalledClient) -> Check {
    let InstalledClient { command, printed, version } = client;
    let Some(version) = version else {
        let detail =
            format!("`{command} --version` printed `{printed}`, which contains no version");
        return warn(NAME, detail, format!("Ralph was measured with Claude Code {MEASURED}"));
    };
    let FeatureRow { name, since, without, .. } = ClientFeature::Conversation.row();
    if version < since {
        let detail = format!(
            "`{command}` {printed} is older than {since}, which {name} needs ({without}): Ralph starts none"
        );
        return fail(NAME, detail, UPDATE);
    }
    let without: Vec<String> = FEATURES
        .iter()
        .filter(|row| *version < row.since)
        .map(|FeatureRow { name, since, without, is_floor, .. }| match is_floor {
            true => format!("no {name}: {without} (since {since})"),
            false => format!("{without} (since {since})"),
        })
        .collect();
    match without.is_empty() {
        true => well(NAME, format!("`{command}` {printed}, measured with {MEASURED}")),
        false => warn(NAME, format!("`{command}` {printed}: {}", without.join("; ")), UPDATE),
    }
}

const UPDATE: &str = "type `claude update`";

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
    use ralph_core::protocol::client_version::ClientVersion;

    #[track_caller]
    fn says(printed: &str, verdict: CheckVerdict, expected: &str) {
        let check = judge(&InstalledClient {
            command: "claude".to_owned(),
            printed: printed.to_owned(),
            version: ClientVersion::printed(printed),
        });
        assert_eq!(check.verdict, verdict, "{check:?}");
        assert!(check.detail.contains(expected), "{check:?}");
    }

    #[test]
    fn a_client_is_judged_by_what_its_version_has() {
        let before = |since: ClientVersion| format!("2.1.{} (Claude Code)", since.2 - 1);
        says(&format!("{MEASURED} (Claude Code)"), CheckVerdict::Well, "measured with 2.1.");
        let floor = ClientFeature::Conversation.row();
        for row in &FEATURES {
            match row.since <= floor.since {
                true => says(&before(row.since), CheckVerdict::Fail, "is older than"),
                false => says(&before(row.since), CheckVerdict::Warn, row.without),
            }
        }
        says(&before(floor.since), CheckVerdict::Fail, &format!("is older than {}", floor.since));
        says("1.0.128 (Claude Code)", CheckVerdict::Fail, "Ralph starts none");
        says("3.0.0-beta.1", CheckVerdict::Well, "3.0.0-beta.1");
        says("hello", CheckVerdict::Warn, "contains no version");
    }
}
