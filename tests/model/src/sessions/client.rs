//! The client, as far as hooks can tell: measured behaviour, and nothing that a hook cannot see.

use super::World;
use ralph_core::state::{ClientProcess as Process, PauseCause};

/// One client in one terminal.
#[derive(Debug, Clone, PartialEq, Hash)]
pub struct Client {
    /// The session that it shows.
    pub session: u8,
    /// Its process; none while it is not running.
    pub process: Option<u8>,
    /// The prompt whose turn is running.
    pub turn: Option<u8>,
    /// A typed command that waits for the turn to end.
    pub queued: Option<Typed>,
    /// Whether a background worker runs.
    pub worker: bool,
    /// The mark that the transcript holds of how a turn was cut.
    pub mark: Option<PauseCause>,
    /// True once the skill was invoked in this process: then its hooks are loaded.
    pub skill: bool,
}

impl Default for Client {
    fn default() -> Self {
        Client {
            session: 0,
            process: Some(1),
            turn: None,
            queued: None,
            worker: false,
            mark: None,
            skill: false,
        }
    }
}

/// What a person types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Typed {
    /// Something about the work.
    Words,
    /// `ralph cancel` as the whole prompt.
    CancelWords,
    /// `ralph pause` as the whole prompt.
    PauseWords,
    /// `/ralph "task"`.
    Task,
    /// `/ralph`.
    Ralph,
    /// `/ralph-cancel`.
    RalphCancel,
    /// Not a person: a worker's report.
    Report,
}

impl Typed {
    /// True for slash commands, which wait while a turn runs.
    pub fn is_command(self) -> bool {
        matches!(self, Typed::Task | Typed::Ralph | Typed::RalphCancel)
    }

    /// As the client passes it on.
    pub fn text(self) -> &'static str {
        match self {
            Typed::Words => "what about the tests?",
            Typed::CancelWords => " ralph cancel\n",
            Typed::PauseWords => "ralph pause",
            Typed::Task => "/ralph \"do it\"",
            Typed::Ralph => "/ralph",
            Typed::RalphCancel => "/ralph-cancel",
            Typed::Report => "<task-notification>\n<status>completed</status>",
        }
    }
}

/// The name of a session.
pub(super) fn session_id(session: u8) -> String {
    format!("s{session}")
}

/// The client's id of a prompt.
pub(super) fn prompt_id(prompt: u8) -> String {
    format!("p{prompt}")
}

/// A process, as the state names it.
pub(super) fn process(pid: u8) -> Process {
    Process { pid: u32::from(pid), started: "then".to_owned() }
}

impl World {
    /// A prompt id that nothing remembers.
    pub fn new_prompt(&self) -> u8 {
        let looped = self.looped.as_ref();
        let turn = looped.and_then(|one| one.turn.as_ref()).map(|turn| turn.prompt_id.clone());
        let cancelled = looped.and_then(|one| one.cancelled_by_prompt.clone());
        let is_used = |id: &u8| {
            self.client.turn == Some(*id)
                || turn.as_deref() == Some(&prompt_id(*id))
                || cancelled.as_deref() == Some(&prompt_id(*id))
        };
        (1..).find(|id| !is_used(id)).unwrap_or(u8::MAX)
    }

    /// A process id that nothing remembers.
    pub fn new_process(&self) -> u8 {
        let known = self.looped.as_ref().and_then(|one| one.client.as_ref()).map(|it| it.pid);
        let is_used = |id: &u8| self.client.process == Some(*id) || known == Some(u32::from(*id));
        (1..).find(|id| !is_used(id)).unwrap_or(u8::MAX)
    }

    /// A session id that nothing leads to the loop by; none if there is none left.
    pub fn new_session(&self) -> Option<u8> {
        let bound = self.looped.as_ref().map(|one| one.session_id.clone());
        (0..3).find(|id| {
            *id != self.client.session
                && bound.as_deref() != Some(&session_id(*id))
                && !self.entries[usize::from(*id)]
        })
    }
}
