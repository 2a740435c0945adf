//! What a `ralph` command of the model may reach: its own loop, and nothing else.
//!
//! In the client's sandbox a line that is one plain `ralph` command runs outside, with the user's
//! rights. So it must not write a file of the model's choice, run a program that the user did not
//! agree to, or change another loop. The command refuses itself: it sees what a shell has computed.

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It changes nothing, except what Ralph remembers for itself.
    Reads,
    /// It changes the state of one loop, orchestration or refinement, or runs what the user agreed
    /// to.
    OneLoop,
    /// It writes elsewhere, or runs other programs.
    Elsewhere,
    /// Only the user may give it: the guard's table says what they type in the session instead.
    User,
    /// Ralph itself starts it, with an order that the model cannot give.
    Internal,
}

/// Variables that tell Ralph where it runs. A line that removes one of them by `env -u` for a `ralph`
/// command runs outside of the client's sandbox; one that assigns it does not (measured with 2.1.328).
#[rustfmt::skip]
pub(super) const TELLS: [&str; 13] = [
    "CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "CLAUDE_PID", "CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR", "HOME",
    "RALPH_HOME", "RALPH_MANIFEST", "RALPH_ROUND", "RALPH_SANDBOXED", "RALPH_SESSION_CALL", "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

/// Why a command without such a variable is refused.
pub(super) fn hidden(command: &str, variable: &str) -> String {
    format!(
        "`{variable}` tells `ralph {command}` where it runs, and was removed from its environment; give \
         the command without `env`"
    )
}

/// Whose command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelIn {
    /// The session of a live loop.
    LiveLoop,
    /// A session or a headless round without a loop of its own, in the client's sandbox.
    Round,
}

/// What a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Named {
    /// It names a loop, a session, an orchestration or a refinement that is not its own.
    pub(super) is_another_loop: bool,
    /// It names a file outside of the project.
    pub(super) is_outside: bool,
}

/// What belongs to the model that gives a command. A member is empty if the model has none, and `None` if
/// that is unknown: then its name is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ModelsOwn<'a> {
    pub(super) session_id: Option<&'a str>,
    pub(super) loop_id: Option<&'a str>,
    /// The orchestration that the loop or the round works on.
    pub(super) orchestration: Option<&'a str>,
    pub(super) refinement: Option<&'a str>,
}

/// The words up to `--`, with their positions.
fn options<'a>(words: &'a [&'a str]) -> impl Iterator<Item = (usize, &'a str)> {
    words.iter().copied().take_while(|word| *word != "--").enumerate()
}

/// True if a command is about something that is not the model's own: it selects it, or the model has
/// nothing that the command could be about.
pub(super) fn is_about_another(command: &str, words: &[&str], own: &ModelsOwn<'_>) -> bool {
    let lacks = |one: Option<&str>| one.is_none_or(str::is_empty);
    let has_none = match command {
        "session mark" | "session repair" => lacks(own.orchestration),
        "refine end" => lacks(own.refinement),
        _ => false,
    };
    has_none || names_another(words, own)
}

/// True if these words behind `ralph` select something that is not the model's own.
pub(super) fn names_another(words: &[&str], own: &ModelsOwn<'_>) -> bool {
    // There the former name of `--id`.
    let is_id = words.first().is_some_and(|word| matches!(*word, "refine" | "session"));
    let owned = |option: &str| match (option, words.first().copied()) {
        ("--loop", _) => own.loop_id,
        ("--session", _) if !is_id => own.session_id,
        ("--id" | "--session", Some("session")) => own.orchestration,
        ("--id" | "--session", Some("refine")) => own.refinement,
        _ => None,
    };
    options(words).any(|(at, word)| {
        let (option, joined) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (word, None),
        };
        let value = joined.or_else(|| words.get(at + 1).copied());
        let (Some(own), Some(value)) = (owned(option), value) else { return false };
        value != own
    })
}

/// Why the model may not give a command; `None` if it may. Those for the user only were judged before.
pub(super) fn refusal(command: &str, reach: Reach, model: ModelIn, named: Named) -> Option<String> {
    let elsewhere = "give it in another terminal";
    let why = match reach {
        Reach::Reads | Reach::Internal => return None,
        Reach::Elsewhere | Reach::User => "it can reach more than this loop",
        Reach::OneLoop if named.is_another_loop => "it is about another loop",
        Reach::OneLoop if named.is_outside => "it names a file outside of the project",
        Reach::OneLoop if model == ModelIn::Round && !is_handover(command) => {
            "this session has no loop of its own"
        }
        Reach::OneLoop => return None,
    };
    Some(format!(
        "`ralph {command}` is for a person only here, since {why}; a person can {elsewhere}"
    ))
}

/// Why a command that only a person may give is refused where `ralph` runs outside of the client's
/// sandbox, whether or not a loop is live there.
pub(super) fn persons_only(command: &str) -> String {
    format!(
        "`ralph {command}` is for a person only in a sandboxed session; a person can give it in another terminal"
    )
}

/// True for a command by which a round hands over its work without a loop of its own.
fn is_handover(command: &str) -> bool {
    matches!(command, "session mark" | "check" | "refine begin")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN_LOOP: ModelsOwn<'_> = ModelsOwn {
        session_id: Some("s"),
        loop_id: Some("l"),
        orchestration: Some(""),
        refinement: Some(""),
    };

    const OWN: Named = Named { is_another_loop: false, is_outside: false };

    #[test]
    fn the_model_reads_everything_and_changes_its_own_loop_alone() {
        for (reach, expected) in [
            (Reach::Reads, [false, false, false]),
            (Reach::Internal, [false, false, false]),
            (Reach::OneLoop, [false, true, true]),
            (Reach::Elsewhere, [true, true, true]),
            (Reach::User, [true, true, true]),
        ] {
            let another = Named { is_another_loop: true, ..OWN };
            let outside = Named { is_outside: true, ..OWN };
            let found = [OWN, another, outside]
                .map(|named| refusal("x", reach, ModelIn::LiveLoop, named).is_some());
            assert_eq!(found, expected, "{reach:?}");
        }
    }

    #[test]
    fn a_round_without_a_loop_changes_no_loop() {
        for command in
            ["task done", "verify", "blocked", "plan-sync", "parallel merge", "refine end"]
        {
            let why = refusal(command, Reach::OneLoop, ModelIn::Round, OWN).unwrap();
            assert!(why.contains("no loop of its own"), "{why}");
        }
        for command in ["session mark", "check", "refine begin"] {
            let refused = refusal(command, Reach::OneLoop, ModelIn::Round, OWN);
            assert_eq!(refused, None, "{command}");
        }
        assert_eq!(refusal("status", Reach::Reads, ModelIn::Round, OWN), None);
    }

    #[test]
    fn what_is_another_is_seen_in_each_form_and_what_is_unknown_is_not_judged() {
        let own = ModelsOwn {
            session_id: Some("s"),
            loop_id: Some("l"),
            orchestration: Some("o"),
            refinement: Some(""),
        };
        let names = |line: &str, own: &ModelsOwn<'_>| {
            names_another(&line.split(' ').collect::<Vec<_>>(), own)
        };
        for line in [
            "verify --loop x",
            "task done T-1 --loop=x",
            "blocked y --session x",
            "session mark T-1 done --id x",
            "session repair --id=x",
            "session repair --session x",
            "refine end --id plan",
            "refine end --session plan",
        ] {
            assert!(names(line, &own), "{line}");
            assert!(!names(line, &ModelsOwn::default()), "{line}");
        }
        for line in [
            "verify --loop l",
            "verify --session=s AC-1",
            "blocked loop",
            "verify -- --loop x",
            "session mark T-1 done --id o",
            "task add x --id T-2",
            "report --id x",
        ] {
            assert!(!names(line, &own), "{line}");
        }
    }

    #[test]
    fn a_command_for_an_orchestration_or_a_refinement_needs_one_of_the_models_own() {
        let all = ModelsOwn { orchestration: Some("o"), refinement: Some("r"), ..OWN_LOOP };
        for command in ["session mark", "session repair", "refine end"] {
            assert!(!is_about_another(command, &[], &all), "{command}");
            assert!(is_about_another(command, &[], &OWN_LOOP), "{command}");
            assert!(is_about_another(command, &[], &ModelsOwn::default()), "{command}");
        }
        assert!(!is_about_another("verify", &["verify"], &OWN_LOOP));
        assert!(is_about_another("verify", &["verify", "--loop", "x"], &OWN_LOOP));
    }
}
