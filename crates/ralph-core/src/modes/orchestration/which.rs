//! Which orchestration is meant: if none is named, and if a sentence names one.
//!
//! It is the only one that is not completed, or else the only one at all. In all other cases the
//! user has to name it: a guess could write into the wrong orchestration's folder.

use super::id::OrchestrationId;
use super::state::MetadataStatus;

/// A sentence that continues an orchestration: `Continue session 260131-120000 with new feedback`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continued {
    /// The orchestration; `None` if the name is invalid.
    pub id: Option<OrchestrationId>,
    /// True if the sentence ends with `with new feedback`.
    pub feedback: bool,
    /// True if the sentence contains more than that.
    pub more: bool,
}

/// Reads the protocol's sentence that continues an orchestration, whatever its letter case and
/// punctuation; `None` for any other text.
pub fn continued(text: &str) -> Option<Continued> {
    // Every prompt of the user passes through here.
    if text.len() > 400 {
        return None;
    }
    let bare = |word: &str| {
        word.trim_matches(|it: char| !it.is_alphanumeric() && it != '/').to_ascii_lowercase()
    };
    let words: Vec<String> =
        text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["continue", "session", name, rest @ ..] = words.as_slice() else { return None };
    let name = name.rsplit("ralph-sessions/").next().unwrap_or(name).trim_matches('/');
    let id = OrchestrationId::parse(name).ok();
    if id.is_none() && !name.starts_with(|it: char| it.is_ascii_digit()) {
        return None;
    }
    let feedback = matches!(rest, ["with", "new", "feedback"]);
    Some(Continued { id, feedback, more: !feedback && !rest.is_empty() })
}

/// Chooses among all orchestrations, each with its status if the metadata contain one.
///
/// # Errors
/// `none` if there is no orchestration. Otherwise a list of the candidates, each formatted by
/// `typed` as the user would name it.
pub fn meant(
    all: Vec<(OrchestrationId, Option<MetadataStatus>)>,
    none: &str,
    typed: impl Fn(&OrchestrationId) -> String,
) -> Result<OrchestrationId, String> {
    let (completed, open): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, standing)| *standing == Some(MetadataStatus::Completed));
    let names = |all: &[(OrchestrationId, _)]| {
        all.iter().map(|(id, _)| typed(id)).collect::<Vec<_>>().join(" or ")
    };
    match (open.as_slice(), completed.as_slice()) {
        ([(one, _)], _) | ([], [(one, _)]) => Ok(one.clone()),
        ([], []) => Err(none.to_owned()),
        ([], all) => Err(format!("all orchestrations are completed; name one: {}", names(all))),
        (open, _) => {
            Err(format!("there are {} orchestrations; name one: {}", open.len(), names(open)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: Option<MetadataStatus> = Some(MetadataStatus::Completed);
    const OPEN: Option<MetadataStatus> = Some(MetadataStatus::InProgress);
    const AWAITS: Option<MetadataStatus> = Some(MetadataStatus::AwaitingFeedback);

    fn named(at: usize) -> OrchestrationId {
        OrchestrationId::parse(&format!("260131-12000{at}")).unwrap()
    }

    /// The orchestrations are numbered from 0.
    #[track_caller]
    fn check(standings: &[Option<MetadataStatus>], expected: Result<usize, &str>) {
        let all = standings.iter().enumerate().map(|(at, it)| (named(at), *it)).collect();
        let said = meant(all, "there is none", |id| format!("`{}`", &id.as_str()[12..]));
        assert_eq!(said, expected.map(named).map_err(str::to_owned));
    }

    #[test]
    fn the_sentence_of_the_protocol_continues_a_session() {
        for text in [
            "Continue session 260131-120000 with new feedback",
            "\"Continue session 260131-120000 with new feedback\"",
            "> continue session `260131-120000` with new feedback.",
            "Continue session .ralph-sessions/260131-120000/ with new feedback",
        ] {
            let said = continued(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (said.id, said.feedback, said.more),
                (Some(named(0)), true, false),
                "{text}"
            );
        }
        let said = continued("continue session 260131-120000").unwrap();
        assert!(!said.feedback && !said.more);
        assert!(continued("Continue session 260131-120000: it squeaks").unwrap().more);
        assert_eq!(continued("Continue session 2026-01-31 with new feedback").unwrap().id, None);
        for text in [
            "",
            "Continue",
            "Continue with the feedback",
            "Resume session 260131-120000 with new feedback",
            "Build a door",
            "Continue session handling with new feedback",
            "Continue the work on ticket 12",
            "What does \"Continue session 260131-120000 with new feedback\" mean?",
            "Summarise session 260131-120000",
        ] {
            assert_eq!(continued(text), None, "{text}");
        }
    }

    #[test]
    fn the_only_session_is_meant_however_it_stands() {
        for standing in [DONE, OPEN, AWAITS, None] {
            check(&[standing], Ok(0));
        }
        check(&[], Err("there is none"));
    }

    #[test]
    fn the_only_one_that_is_not_completed_is_meant_beside_those_that_are() {
        for open in [OPEN, AWAITS, None] {
            check(&[DONE, open, DONE], Ok(1));
        }
    }

    #[test]
    fn of_several_that_are_open_a_person_says_which_and_the_completed_are_not_offered() {
        let said = "there are 2 orchestrations; name one: `0` or `2`";
        check(&[OPEN, DONE, AWAITS], Err(said));
        check(&[None, DONE, None], Err(said));
    }

    #[test]
    fn of_several_that_are_completed_a_person_says_which() {
        let said = "all orchestrations are completed; name one: `0` or `1`";
        check(&[DONE, DONE], Err(said));
    }
}
