//! What each version of Claude Code can do, and the oldest version for each part of Ralph.
//!
//! Every row was measured with the versions that `docs/reference/clients.md` lists: the feature is
//! there in `since`, and absent in the measured version before it. Versions in between count as
//! without it.

use std::fmt;

/// A version of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientVersion(pub u32, pub u32, pub u32);

/// The newest version with which Ralph was measured.
pub const MEASURED: ClientVersion = ClientVersion(2, 1, 332);

impl ClientVersion {
    /// Reads the client's `AI_AGENT`: `claude-code_2-1-328_harness`.
    pub fn of_agent(ai_agent: &str) -> Option<ClientVersion> {
        let rest = ai_agent.strip_prefix("claude-code_")?;
        let mut parts = rest.split('_').next()?.split('-').map(|part| part.parse().ok());
        Some(ClientVersion(parts.next()??, parts.next()??, parts.next()??))
    }

    /// Finds the first word made of three numbers with dots between them, as in the output of
    /// `claude --version`: `2.1.328 (Claude Code)`.
    pub fn printed(text: &str) -> Option<ClientVersion> {
        text.split_whitespace().find_map(|word| {
            let mut numbers = word.trim_start_matches('v').splitn(3, '.').map(leading_number);
            Some(ClientVersion(numbers.next()??, numbers.next()??, numbers.next()??))
        })
    }

    pub fn has(self, feature: ClientFeature) -> bool {
        self >= feature.row().since
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

impl fmt::Display for ClientVersion {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A part of Ralph that not every version of the client carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientFeature {
    /// A loop in a conversation.
    Conversation,
    /// Rounds of `claude -p`: `ralph run`, `build`, `plan` and the others.
    Headless,
    /// Rounds in the client's sandbox.
    Sandbox,
    /// The cost of a round.
    Cost,
    /// One copy of a stop's answer for the model.
    OneCopy,
    /// A refused tool call can end the turn.
    CutsTurn,
    /// A prompt typed in mid-turn reaches the hooks at once.
    PromptInTurn,
    /// Hooks are told the client's process id.
    NamesItself,
    /// A start is refused where Ralph's prompt hook is missing.
    MissingHookRefuses,
}

/// One feature, and what it takes.
#[derive(Debug, Clone, Copy)]
pub struct FeatureRow {
    pub feature: ClientFeature,
    /// What the feature is, for the user.
    pub name: &'static str,
    /// The oldest version that has it; the oldest measured one if that has it.
    pub since: ClientVersion,
    /// What an older version does.
    pub without: &'static str,
    /// True if Ralph starts nothing of the kind with an older version.
    pub is_floor: bool,
}

const fn row(
    feature: ClientFeature,
    name: &'static str,
    since: ClientVersion,
    without: &'static str,
) -> FeatureRow {
    use ClientFeature::{Conversation, Headless, Sandbox};
    let is_floor = matches!(feature, Conversation | Headless | Sandbox);
    FeatureRow { feature, name, since, without, is_floor }
}

/// All features, floors first.
pub const FEATURES: [FeatureRow; 9] = [
    row(
        ClientFeature::Conversation,
        "a loop in a conversation",
        ClientVersion(2, 1, 200),
        "its hooks are not told which prompt a turn belongs to",
    ),
    row(
        ClientFeature::Headless,
        "headless rounds",
        ClientVersion(2, 1, 200),
        "its hooks are not told which prompt a turn belongs to",
    ),
    row(
        ClientFeature::Sandbox,
        "rounds in the client's sandbox",
        ClientVersion(2, 1, 300),
        "other commands in a line with `ralph` leave it too",
    ),
    row(ClientFeature::Cost, "the cost of rounds", ClientVersion(2, 1, 139), "not measured"),
    row(
        ClientFeature::OneCopy,
        "`additionalContext` at a stop",
        ClientVersion(2, 1, 163),
        "each stop is shown as a problem",
    ),
    row(
        ClientFeature::CutsTurn,
        "`continue: false` before a tool call",
        ClientVersion(2, 1, 250),
        "a cancel refuses the next tool call, and the model ends the turn",
    ),
    row(
        ClientFeature::PromptInTurn,
        "hooks that hear a prompt typed in mid-turn",
        ClientVersion(2, 1, 250),
        "`ralph cancel` typed in mid-turn pauses the loop; typed again it ends the loop",
    ),
    row(
        ClientFeature::NamesItself,
        "`CLAUDE_PID` for hooks",
        ClientVersion(2, 1, 250),
        "Ralph looks for the client above its hook",
    ),
    row(
        ClientFeature::MissingHookRefuses,
        "`onFailure`",
        ClientVersion(2, 1, 295),
        "a loop seems to start even if the prompt hook is missing",
    ),
];

impl ClientFeature {
    pub fn row(self) -> &'static FeatureRow {
        // Each feature has a row; a test counts them.
        FEATURES.iter().find(|row| row.feature == self).unwrap_or(&FEATURES[0])
    }

    /// Why Ralph starts nothing of the kind with this version of the client; `None` if it does.
    pub fn refusal(self, version: ClientVersion) -> Option<String> {
        let FeatureRow { name, since, without, is_floor, .. } = self.row();
        (*is_floor && version < *since).then(|| {
            format!(
                "Claude Code {version} is too old for {name}, which needs {since} or newer \
                 ({without}): type `claude update`, then start the client again"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_each_place_that_tells_it() {
        let known = Some(ClientVersion(2, 1, 328));
        for agent in
            ["claude-code_2-1-328_harness", "claude-code_2-1-328_agent", "claude-code_2-1-328"]
        {
            assert_eq!(ClientVersion::of_agent(agent), known, "{agent}");
        }
        for agent in
            ["", "something else", "claude-code_2-1", "claude-code_2-1-x_a", "codex_2-1-328_a"]
        {
            assert_eq!(ClientVersion::of_agent(agent), None, "{agent}");
        }
        for text in ["2.1.328 (Claude Code)", "2.1.328", "claude v2.1.328-beta"] {
            assert_eq!(ClientVersion::printed(text), known, "{text}");
        }
        for text in ["", "hello", "2.1", "a.b.c"] {
            assert_eq!(ClientVersion::printed(text), None, "{text}");
        }
        assert!(ClientVersion(2, 1, 99) < ClientVersion(2, 1, 100));
        assert!(ClientVersion(2, 9, 0) < ClientVersion(3, 0, 0));
    }

    #[test]
    fn each_feature_has_one_row_and_only_a_floor_refuses() {
        for row in FEATURES {
            assert_eq!(FEATURES.iter().filter(|one| one.feature == row.feature).count(), 1);
            assert!(row.since <= MEASURED && row.since.has(row.feature), "{}", row.name);
            let ClientVersion(major, minor, patch) = row.since;
            let before = ClientVersion(major, minor, patch - 1);
            assert!(!before.has(row.feature));
            assert_eq!(row.feature.refusal(before).is_some(), row.is_floor, "{}", row.name);
            assert_eq!(row.feature.refusal(row.since), None);
        }
    }

    #[test]
    fn a_refusal_names_both_versions_and_what_to_type() {
        let why = ClientFeature::Conversation.refusal(ClientVersion(2, 1, 139)).unwrap();
        let floor = ClientFeature::Conversation.row().since;
        for part in ["Claude Code 2.1.139", &format!("needs {floor} or newer"), "`claude update`"] {
            assert!(why.contains(part), "{why}");
        }
    }
}
