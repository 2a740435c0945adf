//! The words of the state document. A word that this version does not know is kept as it is.

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
            /// The word as it is written in documents.
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

        impl crate::text::from_json::FromJson for $name {
            fn from_json(value: serde_json::Value) -> Result<Self, crate::text::from_json::Mistake> {
                String::from_json(value).map($name::from)
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
        Loop = "loop",
        /// Consensus planning.
        Ralplan = "ralplan",
        /// An orchestrated session.
        Session = "session",
        /// Plan refinement.
        Refine = "refine",
    }
}

words! {
    /// Where a consensus planning stands.
    #[derive(Default)]
    PlanPhase {
        /// A planner writes the plan.
        #[default]
        PlannerPlanning = "planner_planning",
        /// The architect answers questions.
        ArchitectConsultation = "architect_consultation",
        /// A critic judges the plan.
        CriticReview = "critic_review",
        /// A verdict is being carried out; never where a planning rests.
        HandlingVerdict = "handling_verdict",
        /// A person has to decide.
        AwaitingUserApproval = "awaiting_user_approval",
        /// A person said to go on.
        Complete = "complete",
        /// A person ended it.
        Cancelled = "cancelled",
    }
}

impl PlanPhase {
    /// True when nothing follows any more.
    pub fn is_over(&self) -> bool {
        matches!(self, PlanPhase::Complete | PlanPhase::Cancelled)
    }

    /// True while a person is to decide, and the planning rests for no other cause. Older versions called it crashed
    /// where the session was over.
    pub fn awaits_decision(&self, rests: Option<&PauseCause>) -> bool {
        let is_only_that =
            |cause: &PauseCause| matches!(cause, PauseCause::BlockedOnHuman | PauseCause::Crashed);
        *self == PlanPhase::AwaitingUserApproval && rests.is_none_or(is_only_that)
    }
}

words! {
    /// What a person decided about a plan.
    #[derive(Default)]
    DecisionKind {
        /// Do what the plan says.
        Proceed = "proceed",
        /// Plan again.
        // What is not said is no consent.
        #[default]
        Adjust = "adjust",
        /// Leave it.
        Discard = "discard",
    }
}

words! {
    /// By which way a person decided.
    #[derive(Default)]
    DecidedBy {
        /// By the answer to the question in the session.
        #[default]
        Answer = "answer",
        /// By a command in a terminal.
        CommandLine = "command line",
    }
}

words! {
    /// Where a worker stands.
    #[derive(Default)]
    WorkerStanding {
        /// At work.
        #[default]
        Running = "running",
        /// Reported that its task is done.
        Done = "done",
        /// Reported that some of the work is there.
        Partial = "partial",
        /// Reported that it cannot go on.
        Blocked = "blocked",
        /// Gone without a report.
        Lost = "lost",
    }
}

words! {
    /// Where a loop stands.
    #[derive(Default)]
    Phase {
        /// Prepared, not started.
        #[default]
        Planned = "planned",
        /// Working on tasks.
        Implementation = "implementation",
        /// All tasks are done; the criteria are next.
        Verification = "verification",
        /// Resting; `resume_phase` says where it goes on.
        Paused = "paused",
        /// Over; `ending` says how.
        Ended = "ended",
    }
}

words! {
    /// How a loop ended.
    #[derive(Default)]
    EndingKind {
        /// Every criterion holds by its receipt.
        Complete = "complete",
        /// The model asked for completion and no proof was asked of it.
        CompleteUnverified = "complete_unverified",
        /// It went on as often as it may.
        MaxIterations = "max_iterations",
        /// Nothing moved any more.
        Stalled = "stalled",
        /// Its time or its tokens were used up.
        Budget = "budget",
        /// A person ended it.
        Cancelled = "cancelled",
        /// Refinement no longer changes the artefact.
        Plateau = "plateau",
        /// A person approved the plan.
        Approved = "approved",
        /// A person discarded the plan.
        Discarded = "discarded",
        /// A person's feedback is needed.
        AwaitingFeedback = "awaiting_feedback",
        /// It could not be done.
        #[default]
        Failed = "failed",
    }
}

/// How an ending is meant, the same on every screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingTone {
    /// The work is done.
    Good,
    /// A person should look at it.
    Look,
    /// A person wanted it so.
    Quiet,
    /// It did not work.
    Wrong,
}

impl EndingKind {
    /// True where the work ended as it was meant to, proven or not.
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

    /// How the ending is meant.
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
    /// Why a loop rests.
    #[derive(Default)]
    PauseCause {
        /// A person paused it.
        #[default]
        Person = "person",
        /// The conversation was cleared.
        Cleared = "cleared",
        /// A person must do something first.
        BlockedOnHuman = "blocked_on_human",
        /// A person pressed Esc.
        Interrupted = "interrupted",
        /// The client overrode the stop hook after too many blocks in a row.
        HostCapped = "host_capped",
        /// The client's own limit of turns or cost was reached.
        HostBudget = "host_budget",
        /// A usage limit ended the turn.
        RateLimited = "rate_limited",
        /// The client went away in the middle of a turn.
        Crashed = "crashed",
    }
}

impl Phase {
    /// True for the phases in which the loop decides when the model may stop.
    pub fn is_running(&self) -> bool {
        matches!(self, Phase::Implementation | Phase::Verification)
    }
}

impl PauseCause {
    /// True for pauses that no person asked for: `--resume` and the headless drivers go on by
    /// themselves. The others wait for `/ralph` or `ralph resume`.
    pub fn resumes_by_itself(&self) -> bool {
        matches!(
            self,
            PauseCause::HostCapped
                | PauseCause::HostBudget
                | PauseCause::RateLimited
                | PauseCause::Crashed
        )
    }
}

words! {
    /// Where a task stands.
    TaskStatus {
        /// Not begun.
        Pending = "pending",
        /// Claimed by an owner.
        InProgress = "in_progress",
        /// Done.
        Done = "done",
        /// Given up, with a reason.
        Failed = "failed",
        /// Waits for something outside.
        Blocked = "blocked",
    }
}

words! {
    /// What a stop says about progress.
    #[derive(Default)]
    Signal {
        /// Something changed.
        #[default]
        Working = "working",
        /// Nothing has changed since the stop before.
        NoChange = "no_change",
        /// The tree goes through the same few states again and again.
        Cycle = "cycle",
        /// Completion was requested, and refused for the very same failure as before.
        SameFailure = "same_failure",
        /// The turn was text only: no tool was called and nothing changed.
        Idle = "idle",
        /// Background subagents are at work.
        Waiting = "waiting",
        /// A person must do something first.
        Blocked = "blocked",
    }
}

words! {
    /// Which rule decides completion.
    Completion {
        /// The token is a request; receipts decide.
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
