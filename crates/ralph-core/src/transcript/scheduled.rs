//! Prompts that the model scheduled: when they are due, the client submits them as if they were
//! typed.
//!
//! Measured with 2.1.328: a due prompt causes a UserPromptSubmit event, and for a slash command
//! also a UserPromptExpansion event, identical to those of a typed prompt. So scheduled prompts are
//! remembered for the life of the loop. The client's list alone is not enough, because a prompt may
//! leave it before it arrives.

use crate::transcript::row::TranscriptRow;
use jiff::Timestamp;

/// Limit on different prompts; beyond it every prompt counts as scheduled.
const MOST: usize = 64;

/// Longer prompts are compared by this many characters.
const LONGEST: usize = 500;

/// Matches every prompt.
const ANY: &str = "*";

/// True for a tool that schedules the prompt in its input.
pub fn schedules(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["cron", "schedule", "wakeup", "trigger", "remind"].iter().any(|word| tool.contains(word))
}

/// Remembers prompts; returns true if one of them is new.
pub fn remember<'a>(known: &mut Vec<String>, prompts: impl IntoIterator<Item = &'a str>) -> bool {
    let before = known.len();
    for prompt in prompts {
        let prompt = normal(prompt);
        if prompt.is_empty() || known.iter().any(|one| *one == prompt || one == ANY) {
            continue;
        }
        known.push(if known.len() < MOST { prompt } else { ANY.to_owned() });
    }
    known.len() > before
}

/// True if a prompt is one of the known ones, alone or together with others that were due at the
/// same time.
pub fn is_one(known: &[String], prompt: &str) -> bool {
    let whole = normal(prompt);
    known.iter().any(|one| {
        one == ANY
            || *one == whole
            || prompt.trim().split('\n').any(|line| normal(line) == *one)
            || prompt.contains(&format!("\n{one}\n"))
    })
}

fn normal(prompt: &str) -> String {
    prompt.trim().chars().take(LONGEST).collect::<String>().trim_end().to_owned()
}

/// True if the client's transcript shows that this prompt was due since the given time.
pub fn was_due(
    rows: impl DoubleEndedIterator<Item = TranscriptRow>,
    prompt: &str,
    since: Timestamp,
) -> bool {
    let fires = |row: &TranscriptRow| row.text(&["subtype"]) == "scheduled_task_fire";
    let lately = |row: &TranscriptRow| row.time().is_none_or(|at| at >= since);
    rows.rev()
        .filter(|row| fires(row) && lately(row))
        .any(|row| is_one(&[normal(row.text(&["prompt"]))], prompt))
}

/// What the user reads about a prompt that Ralph did not obey.
pub fn refusal(prompt: &str) -> String {
    let first = prompt.trim().lines().next().unwrap_or_default();
    let shown: String = first.chars().take(60).collect();
    format!(
        "`{shown}` is a prompt that the model has scheduled, so Ralph does not take it for yours. If you typed \
         it, give the command in another terminal: `ralph cancel`, `ralph pause` or `ralph resume`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(prompts: &[&str]) -> Vec<String> {
        let mut known = Vec::new();
        remember(&mut known, prompts.iter().copied());
        known
    }

    #[test]
    fn a_scheduled_prompt_is_known_again_alone_and_among_others() {
        let known = known(&["ralph cancel", "/ralph-cancel now ", "two\nlines"]);
        for prompt in [
            "ralph cancel",
            " ralph cancel\n",
            "/ralph-cancel now",
            "first\nralph cancel",
            "two\nlines",
            "a\ntwo\nlines\nb",
        ] {
            assert!(is_one(&known, prompt), "{prompt:?}");
        }
        for prompt in ["", "ralph", "ralph cancel it", "please ralph cancel", "/ralph-cancel"] {
            assert!(!is_one(&known, prompt), "{prompt:?}");
        }
    }

    #[test]
    fn what_is_known_is_kept_once_and_beyond_a_limit_everything_is_in_doubt() {
        let mut all = known(&["a"]);
        assert!(!remember(&mut all, ["a", " a ", ""]));
        let many: Vec<String> = (0..200).map(|n| format!("prompt {n}")).collect();
        assert!(remember(&mut all, many.iter().map(String::as_str)));
        assert_eq!(all.len(), MOST + 1);
        assert!(is_one(&all, "anything"));
        assert!(!remember(&mut all, ["more"]));
    }

    #[test]
    fn tools_that_schedule_are_known_by_their_names() {
        for tool in
            ["CronCreate", "ScheduleWakeup", "RemoteTrigger", "mcp__x__create_scheduled_task"]
        {
            assert!(schedules(tool), "{tool}");
        }
        for tool in ["Bash", "Agent", "Write", "Skill", "TaskCreate"] {
            assert!(!schedules(tool), "{tool}");
        }
    }

    #[test]
    fn the_client_says_itself_what_was_due() {
        let row = br#"{"type":"system","subtype":"scheduled_task_fire","timestamp":"2026-01-01T00:00:05Z","prompt":"ralph cancel"}"#;
        let was = |prompt: &str, since: &str| {
            was_due(
                [TranscriptRow::parse(row).unwrap()].into_iter(),
                prompt,
                since.parse().unwrap(),
            )
        };
        assert!(was("ralph cancel", "2026-01-01T00:00:00Z"));
        assert!(!was("ralph pause", "2026-01-01T00:00:00Z"));
        assert!(!was("ralph cancel", "2026-01-01T00:00:06Z"));
    }
}
