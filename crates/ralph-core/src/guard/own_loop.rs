//! What a `ralph` command of the model may reach: its own loop, and nothing else.
//!
//! In the client's sandbox a line that is one plain `ralph` command runs outside, with the user's
//! rights. So it must not write a file of the model's choice, run a program that the user did not
//! agree to, or change another loop.

/// What a command does, apart from the commands that only a person may give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It changes nothing, except what Ralph remembers for itself.
    Reads,
    /// It changes the state of one loop, orchestration or refinement, or runs what the user agreed
    /// to.
    OneLoop,
    /// It writes elsewhere, or runs other programs.
    Elsewhere,
}

/// The reach of each command that the model may give in a conversation.
pub const REACHES: [(&str, Reach); 60] = [
    ("status", Reach::Reads),
    ("explain", Reach::Reads),
    ("replay", Reach::Reads),
    ("report", Reach::Reads),
    ("report --html", Reach::Elsewhere),
    ("context", Reach::Reads),
    ("checkpoint", Reach::Reads),
    ("completions", Reach::Reads),
    ("help", Reach::Reads),
    ("statusline", Reach::Reads),
    ("man", Reach::Elsewhere),
    ("doctor", Reach::Elsewhere),
    ("demo", Reach::Elsewhere),
    ("check", Reach::OneLoop),
    ("verify", Reach::OneLoop),
    ("blocked", Reach::OneLoop),
    ("plan-sync", Reach::OneLoop),
    ("task list", Reach::Reads),
    ("task show", Reach::Reads),
    ("task ready", Reach::Reads),
    ("task waves", Reach::Reads),
    ("task graph", Reach::Reads),
    ("task lint", Reach::Reads),
    ("task add", Reach::OneLoop),
    ("task claim", Reach::OneLoop),
    ("task renew", Reach::OneLoop),
    ("task done", Reach::OneLoop),
    ("task fail", Reach::OneLoop),
    ("task release", Reach::OneLoop),
    ("task block", Reach::OneLoop),
    ("task deps", Reach::OneLoop),
    ("task sync", Reach::OneLoop),
    ("parallel waves", Reach::Reads),
    ("parallel next", Reach::OneLoop),
    ("parallel merge", Reach::OneLoop),
    ("parallel clean", Reach::OneLoop),
    ("ralplan status", Reach::Reads),
    ("ralplan next", Reach::Reads),
    ("session list", Reach::Reads),
    ("session status", Reach::Reads),
    ("session waves", Reach::Reads),
    ("session graph", Reach::Reads),
    ("session validate", Reach::Reads),
    ("session next", Reach::OneLoop),
    ("session mark", Reach::OneLoop),
    ("session repair", Reach::OneLoop),
    ("refine status", Reach::Reads),
    ("refine list", Reach::Reads),
    ("refine history", Reach::Reads),
    ("refine diff", Reach::Reads),
    ("refine prompt", Reach::Reads),
    ("refine ideas", Reach::Reads),
    ("refine begin", Reach::OneLoop),
    ("refine end", Reach::OneLoop),
    ("refine peek", Reach::Elsewhere),
    ("refine attach", Reach::Elsewhere),
    // They serve only Ralph itself, which gives them an order that the model cannot give.
    ("supervise", Reach::Reads),
    ("delegate", Reach::Reads),
    ("round", Reach::Reads),
    ("refine within", Reach::Reads),
];

/// Whose command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelIn {
    /// The session of a live loop.
    LiveLoop,
    /// A sandboxed headless round without a loop of its own.
    Round,
}

/// What a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Named {
    /// It names a loop or a session that is not its own.
    pub is_another_loop: bool,
    /// It names a file outside of the project.
    pub is_outside: bool,
}

/// The reach of a command; a command that is unknown here reaches anything.
pub fn reach(command: &str) -> Reach {
    let known = REACHES.iter().find(|(known, _)| *known == command);
    known.map_or(Reach::Elsewhere, |(_, reach)| *reach)
}

/// Why the model may not give a command; `None` if it may. The commands for a person only are
/// judged before.
pub fn refusal(command: &str, model: ModelIn, named: Named) -> Option<String> {
    let elsewhere = "give it in another terminal";
    let why = match reach(command) {
        Reach::Reads => return None,
        Reach::Elsewhere => "it can reach more than this loop",
        Reach::OneLoop if named.is_another_loop => "it names another loop",
        Reach::OneLoop if named.is_outside => "it names a file outside of the project",
        Reach::OneLoop if model == ModelIn::Round && !is_handover(command) => {
            "this round has no loop of its own"
        }
        Reach::OneLoop => return None,
    };
    Some(format!(
        "`ralph {command}` is for a person only here, since {why}; a person can {elsewhere}"
    ))
}

/// Why a command that only a person may give is refused where `ralph` runs outside of the client's
/// sandbox, whether or not a loop is live there.
pub fn persons_only(command: &str) -> String {
    format!(
        "`ralph {command}` is for a person only in a sandboxed session; a person can give it in another terminal"
    )
}

/// True for a command by which a round hands over its work without a loop of its own.
fn is_handover(command: &str) -> bool {
    matches!(command, "session mark" | "session next" | "check")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Named = Named { is_another_loop: false, is_outside: false };

    #[test]
    fn the_model_reads_everything_and_changes_its_own_loop_alone() {
        for (command, reach) in REACHES {
            let in_loop = refusal(command, ModelIn::LiveLoop, OWN);
            let other = Named { is_another_loop: true, ..OWN };
            let of_other = refusal(command, ModelIn::LiveLoop, other);
            let outside = refusal(command, ModelIn::LiveLoop, Named { is_outside: true, ..OWN });
            let expected = match reach {
                Reach::Reads => [false, false, false],
                Reach::OneLoop => [false, true, true],
                Reach::Elsewhere => [true, true, true],
            };
            let found = [&in_loop, &of_other, &outside].map(Option::is_some);
            assert_eq!(found, expected, "{command}");
        }
        assert_eq!(reach("no such command"), Reach::Elsewhere);
    }

    #[test]
    fn a_round_without_a_loop_changes_no_loop() {
        for command in
            ["task done", "verify", "blocked", "plan-sync", "parallel merge", "refine end"]
        {
            let why = refusal(command, ModelIn::Round, OWN).unwrap();
            assert!(why.contains("no loop of its own"), "{why}");
        }
        for command in ["task list", "status", "session mark", "session validate", "ralplan status"]
        {
            assert_eq!(refusal(command, ModelIn::Round, OWN), None, "{command}");
        }
    }
}
