//! The keywords of the state document. A word that this version does not know is kept as it is.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A word that this version does not know; kept as it is.
            Other(String),
        }

        impl $name {
            /// The word as written in documents.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)+
                    $name::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => $name::$variant,)+
                    _ => $name::Other(word),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map($name::from)
            }
        }
    };
}

pub(crate) use words;

words! {
    /// Which rules drive a loop.
    #[derive(Default)]
    Mode {
        /// The Ralph loop.
        #[default]
        Plain = "loop",
        /// Consensus planning.
        Ralplan = "ralplan",
        /// An orchestration.
        Orchestration = "session",
        /// Plan refinement.
        Refine = "refine",
    }
}

words! {
    /// The phase of consensus planning.
    #[derive(Default)]
    PlanPhase {
        /// A planner writes the plan.
        #[default]
        PlannerPlanning = "planner_planning",
        /// The architect answers questions.
        ArchitectConsultation = "architect_consultation",
        /// A critic judges the plan.
        CriticReview = "critic_review",
        /// A verdict is being carried out; consensus planning never pauses here.
        HandlingVerdict = "handling_verdict",
        /// The user has to decide.
        AwaitingUserApproval = "awaiting_user_approval",
        /// The user approved the plan.
        Complete = "complete",
        /// The user ended the planning.
        Cancelled = "cancelled",
    }
}

impl PlanPhase {
    pub fn is_over(&self) -> bool {
        matches!(self, PlanPhase::Complete | PlanPhase::Cancelled)
    }

    /// True while the user has to decide and no other cause pauses the planning. If the session was
    /// over, older versions wrote the cause `crashed`.
    pub fn awaits_decision(&self, rests: Option<&PauseCause>) -> bool {
        let is_only_that =
            |cause: &PauseCause| matches!(cause, PauseCause::BlockedOnHuman | PauseCause::Crashed);
        *self == PlanPhase::AwaitingUserApproval && rests.is_none_or(is_only_that)
    }
}

words! {
    /// A user's decision about a plan.
    #[derive(Default)]
    DecisionKind {
        /// Carry out the plan.
        Proceed = "proceed",
        /// Plan again.
        // Without a clear answer there is no consent.
        #[default]
        Adjust = "adjust",
        /// Drop the plan.
        Discard = "discard",
    }
}

words! {
    /// How a user decided.
    #[derive(Default)]
    DecidedBy {
        /// By answering the question in the session.
        #[default]
        Answer = "answer",
        /// With a command in a terminal.
        CommandLine = "command line",
    }
}

words! {
    /// The status of a worker.
    #[derive(Default)]
    WorkerStanding {
        /// Running.
        #[default]
        Running = "running",
        /// Reported that its task is done.
        Done = "done",
        /// Reported that part of the work is done.
        Partial = "partial",
        /// Reported that it cannot continue.
        Blocked = "blocked",
        /// Ended without a report.
        Lost = "lost",
    }
}

words! {
    /// The phase of a loop.
    #[derive(Default)]
    Phase {
        /// Prepared, not started.
        #[default]
        Planned = "planned",
        /// Working on tasks.
        Implementation = "implementation",
        /// All tasks are done; the criteria are next.
        Verification = "verification",
        /// Paused; `resume_phase` names the phase to return to.
        Paused = "paused",
        /// Ended; `ending` says how.
        Ended = "ended",
    }
}

words! {
    /// How a loop ended.
    #[derive(Default)]
    EndingKind {
        /// Every criterion holds by its receipt.
        Complete = "complete",
        /// The model requested completion, and no proof was required.
        CompleteUnverified = "complete_unverified",
        /// The loop used all its iterations.
        MaxIterations = "max_iterations",
        /// The loop made no progress.
        Stalled = "stalled",
        /// The time or token limit was reached.
        Budget = "budget",
        /// The user ended the loop.
        Cancelled = "cancelled",
        /// Refinement no longer changes the artefact.
        Plateau = "plateau",
        /// The user approved the plan.
        Approved = "approved",
        /// The user discarded the plan.
        Discarded = "discarded",
        /// The user's feedback is needed.
        AwaitingFeedback = "awaiting_feedback",
        /// The work could not be done.
        #[default]
        Failed = "failed",
    }
}

/// How an ending is rated, the same on every screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingTone {
    /// The work is done.
    Good,
    /// The user should check the work.
    Look,
    /// The user wanted this ending.
    Quiet,
    /// The loop failed.
    Wrong,
}

impl EndingKind {
    /// True if the work ended as intended, proven or not.
    pub fn is_completion(&self) -> bool {
        match self {
            EndingKind::Complete | EndingKind::CompleteUnverified => true,
            EndingKind::MaxIterations
            | EndingKind::Stalled
            | EndingKind::Budget
            | EndingKind::Cancelled
            | EndingKind::Plateau
            | EndingKind::Approved
            | EndingKind::Discarded
            | EndingKind::AwaitingFeedback
            | EndingKind::Failed
            | EndingKind::Other(_) => false,
        }
    }

    pub fn tone(&self) -> EndingTone {
        match self {
            EndingKind::Complete | EndingKind::Approved | EndingKind::Plateau => EndingTone::Good,
            EndingKind::CompleteUnverified
            | EndingKind::MaxIterations
            | EndingKind::Budget
            | EndingKind::AwaitingFeedback
            | EndingKind::Other(_) => EndingTone::Look,
            EndingKind::Cancelled | EndingKind::Discarded => EndingTone::Quiet,
            EndingKind::Stalled | EndingKind::Failed => EndingTone::Wrong,
        }
    }
}

words! {
    /// Why a loop is paused.
    #[derive(Default)]
    PauseCause {
        /// The user paused the loop.
        #[default]
        Person = "person",
        /// The session was cleared.
        Cleared = "cleared",
        /// A person must do something first.
        BlockedOnHuman = "blocked_on_human",
        /// The user pressed Esc.
        Interrupted = "interrupted",
        /// The client overrode the stop hook after too many blocks in a row.
        HostCapped = "host_capped",
        /// The client's own limit of turns or cost was reached.
        HostBudget = "host_budget",
        /// A usage limit ended the turn.
        RateLimited = "rate_limited",
        /// The client or the API failed in the middle of a turn.
        Crashed = "crashed",
        /// The hooks, settings or state of the loop were changed by something else.
        Tampered = "tampered",
        /// A mod of the client paused or ended the loop, or commanded it, in the user's name.
        Mod = "mod",
    }
}

impl Phase {
    /// True for the phases in which the loop decides when the model may stop.
    pub fn is_running(&self) -> bool {
        matches!(self, Phase::Implementation | Phase::Verification)
    }
}

impl PauseCause {
    /// True for pauses that the user did not request: `--resume` and the headless drivers continue
    /// such a loop by themselves. Other pauses wait for `/ralph` or `ralph resume`.
    pub fn resumes_by_itself(&self) -> bool {
        matches!(
            self,
            PauseCause::HostCapped
                | PauseCause::HostBudget
                | PauseCause::RateLimited
                | PauseCause::Crashed
        )
    }

    /// True for what somebody other than the user has brought about, who may have changed more: nothing of the loop is
    /// settled until the user has read of it.
    pub fn is_alarm(&self) -> bool {
        matches!(self, PauseCause::Tampered | PauseCause::Mod)
    }
}

words! {
    /// The status of a task.
    #[derive(Default)]
    TaskStatus {
        /// Not started.
        #[default]
        Pending = "pending",
        /// Claimed by an owner.
        InProgress = "in_progress",
        /// Done.
        Done = "done",
        /// Given up, with a reason.
        Failed = "failed",
        /// Waiting for something outside.
        Blocked = "blocked",
    }
}

impl TaskStatus {
    /// Reads a status as any tool writes it: in any case, joined by `-`, `_` or a space.
    pub(crate) fn read(word: String) -> TaskStatus {
        let word = match TaskStatus::from(word) {
            TaskStatus::Other(word) => word,
            known => return known,
        };
        let letters = word.chars().filter(char::is_ascii_alphanumeric);
        let letters: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
        match letters.as_str() {
            "" | "pending" | "todo" | "open" | "new" | "ready" | "queued" | "planned"
            | "notstarted" | "unstarted" | "backlog" => TaskStatus::Pending,
            "inprogress" | "active" | "started" | "working" | "doing" | "running" | "wip"
            | "claimed" | "current" => TaskStatus::InProgress,
            "done" | "complete" | "completed" | "finished" | "closed" | "success" | "succeeded"
            | "passed" | "verified" | "merged" | "resolved" => TaskStatus::Done,
            "failed" | "failure" | "error" | "errored" | "cancelled" | "canceled" | "abandoned" => {
                TaskStatus::Failed
            }
            "blocked" | "waiting" | "onhold" | "paused" | "stuck" => TaskStatus::Blocked,
            _ => TaskStatus::Other(word),
        }
    }
}

words! {
    /// What a stop shows about progress.
    #[derive(Default)]
    Signal {
        /// Something changed.
        #[default]
        Working = "working",
        /// Nothing has changed since the previous stop.
        NoChange = "no_change",
        /// The tree cycles through the same few states.
        Cycle = "cycle",
        /// Completion was requested and refused for the same failure as before.
        SameFailure = "same_failure",
        /// The turn was text only: no tool was called and nothing changed.
        Idle = "idle",
        /// Background subagents are running.
        Waiting = "waiting",
        /// A person must do something first.
        Blocked = "blocked",
    }
}

words! {
    /// The rule that decides completion.
    Completion {
        /// The token is only a request; receipts decide.
        Verified = "verified",
        /// The token ends the loop, unverified.
        Token = "token",
    }
}

words! {
    /// Who started a loop.
    StartedBy {
        /// A person, by a typed command or in a terminal.
        Person = "person",
        /// The model, through the skill, where no prompt hook is registered.
        Model = "model",
    }
}

#[cfg(test)]
mod words_tests {
    use super::*;

    #[test]
    fn each_ending_is_a_completion_or_none_and_has_its_rating() {
        use EndingTone::{Good, Look, Quiet, Wrong};
        for (kind, is_completion, tone) in [
            (EndingKind::Complete, true, Good),
            (EndingKind::CompleteUnverified, true, Look),
            (EndingKind::MaxIterations, false, Look),
            (EndingKind::Stalled, false, Wrong),
            (EndingKind::Budget, false, Look),
            (EndingKind::Cancelled, false, Quiet),
            (EndingKind::Plateau, false, Good),
            (EndingKind::Approved, false, Good),
            (EndingKind::Discarded, false, Quiet),
            (EndingKind::AwaitingFeedback, false, Look),
            (EndingKind::Failed, false, Wrong),
            (EndingKind::Other("x".to_owned()), false, Look),
        ] {
            assert_eq!((kind.is_completion(), kind.tone()), (is_completion, tone), "{kind}");
        }
    }

    #[test]
    fn each_pause_waits_for_the_user_or_ends_by_itself_and_few_are_alarms() {
        for (cause, by_itself, is_alarm) in [
            (PauseCause::Person, false, false),
            (PauseCause::Cleared, false, false),
            (PauseCause::BlockedOnHuman, false, false),
            (PauseCause::Interrupted, false, false),
            (PauseCause::HostCapped, true, false),
            (PauseCause::HostBudget, true, false),
            (PauseCause::RateLimited, true, false),
            (PauseCause::Crashed, true, false),
            (PauseCause::Tampered, false, true),
            (PauseCause::Mod, false, true),
        ] {
            assert_eq!(
                (cause.resumes_by_itself(), cause.is_alarm()),
                (by_itself, is_alarm),
                "{cause}"
            );
        }
    }

    #[test]
    fn each_phase_runs_or_rests() {
        use Phase::{Ended, Implementation, Paused, Planned, Verification};
        let running =
            [Planned, Implementation, Verification, Paused, Ended].map(|it| it.is_running());
        assert_eq!(running, [false, true, true, false, false]);
        for (phase, is_over) in [
            (PlanPhase::PlannerPlanning, false),
            (PlanPhase::AwaitingUserApproval, false),
            (PlanPhase::Complete, true),
            (PlanPhase::Cancelled, true),
        ] {
            assert_eq!(phase.is_over(), is_over, "{phase}");
        }
    }

    #[test]
    fn a_status_is_read_as_any_tool_writes_it() {
        for (words, status) in [
            (
                "pending todo open new ready queued planned not-started unstarted backlog",
                TaskStatus::Pending,
            ),
            (
                "in_progress In-Progress active started working doing running WIP claimed current",
                TaskStatus::InProgress,
            ),
            (
                "done Complete completed finished closed success succeeded passed verified merged resolved",
                TaskStatus::Done,
            ),
            ("failed failure error errored cancelled canceled abandoned", TaskStatus::Failed),
            ("blocked waiting on-hold paused stuck", TaskStatus::Blocked),
        ] {
            for word in words.split(' ') {
                assert_eq!(TaskStatus::read(word.to_owned()), status, "{word}");
            }
        }
        assert_eq!(TaskStatus::read(String::new()), TaskStatus::Pending);
        let other = "waiting for spring".to_owned();
        assert_eq!(TaskStatus::read(other.clone()), TaskStatus::Other(other));
    }
}
