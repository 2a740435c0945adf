//! Rounds side by side under one loop: begun, shown, waited for, and ended when a person or the loop's end says so.
//!
//! One thread: what happens is taken up between two steps. What is begun, and what is made of an end, is its owner's,
//! who decides each step anew from files: with this process nothing is lost but the clients that it holds.

use super::client::RoundResult;
use super::options;
use super::screen::Many;
use super::worker::{RoundMessage, RoundOrder};
use crate::cli::context_dir::Here;
use crate::cli::exit::{Exit, bad_state};
use crate::cli::journal::note;
use crate::cli::screen::visible;
use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use ralph_core::state::{LoopState, PauseCause, Phase};
use ralph_io::process::interrupts::{InterruptRequest, Interrupts};
use ralph_io::process::process_pool::{Crew, MemberEvent};
use ralph_io::process::watch::Watch;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, process::programs, store::lifecycle};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Where the system cannot tell of changes, everything is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Why nothing is begun any more.
pub(crate) enum TeamEnd<V> {
    /// The loop has ended elsewhere.
    Over,
    /// Somebody let it rest.
    Paused,
    /// A bound of it is reached.
    Bound,
    /// Its owner says so, and how.
    Decided(V),
    /// Something failed that is not the work: the disk, git, a program.
    Failed(anyhow::Error),
    /// It rests, for this reason.
    Rest {
        /// The cause.
        cause: PauseCause,
        /// In words.
        why: String,
        /// How the command ends.
        exit: Exit,
    },
}

impl<V> TeamEnd<V> {
    pub(crate) fn rest(cause: PauseCause, why: &str, exit: Exit) -> TeamEnd<V> {
        TeamEnd::Rest { cause, why: why.to_owned(), exit }
    }
}

/// What a member has come to whose client is gone.
pub(crate) struct MemberExit {
    pub(crate) came: RoundResult,
    /// Where its round could not be carried out: why, and as what a command ends by that.
    pub(crate) failed: Option<(String, Exit)>,
}

/// What follows a step of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// It is asked again at once.
    Again,
    /// Something has to happen first.
    Wait,
}

/// Who decides what a team does.
pub(crate) trait TeamOwner<'a> {
    /// What the owner ends the work with.
    type DriveVerdict;

    fn team(&mut self) -> &mut Team<'a, Self::DriveVerdict>;

    /// Begins what is due. Not asked once the team has been told to stop.
    fn go_on(&mut self, state: &LoopState) -> Result<Then>;

    /// When something is due though nothing has happened.
    fn next_moment(&mut self) -> Option<Timestamp> {
        None
    }

    /// Takes up that a member is gone. Nothing that it started is alive.
    fn gone(&mut self, name: &str, gone: MemberExit) -> Result<()>;

    /// Does what is left when the last is gone, where the loop has not ended.
    fn conclude(&mut self, _state: &LoopState) -> Result<()> {
        Ok(())
    }
}

/// How a team is spoken of.
pub(crate) struct Words {
    /// The command that owns it.
    pub(crate) command: &'static str,
    /// Its members.
    pub(crate) members: &'static str,
    /// What the journal says at the end of one.
    pub(crate) ended: &'static str,
}

/// Those who are at work, and what is known of the loop, its person and their clients.
pub(crate) struct Team<'a, V> {
    here: &'a Here,
    file: &'a LoopFile,
    pub(crate) interrupts: &'a Interrupts,
    words: Words,
    watch: Watch,
    crew: Crew,
    pub(crate) screen: Many,
    /// The last words of members.
    told: BTreeMap<String, RoundMessage>,
    /// What the person at the keyboard wants.
    asked: InterruptRequest,
    over: Option<TeamEnd<V>>,
    /// True where something may be due that was not before.
    has_news: bool,
}

/// Works until the owner, the loop or a person ends it, and everybody is gone.
///
/// # Errors
/// When the owner fails, or the loop cannot be read. Nothing that was started is alive then.
pub(crate) fn work<'a, O: TeamOwner<'a>>(mut owner: O) -> Result<TeamEnd<O::DriveVerdict>> {
    loop {
        match step(&mut owner) {
            Ok(None) => {}
            Ok(Some(ended)) => return Ok(ended),
            Err(error) => {
                abandon(&mut owner);
                return Err(error);
            }
        }
    }
}

/// One step; how it ended, where nothing is left to do.
fn step<'a, O: TeamOwner<'a>>(owner: &mut O) -> Result<Option<TeamEnd<O::DriveVerdict>>> {
    owner.team().hear_person();
    let state = owner.team().look()?;
    if let Some(state) = &state
        && owner.team().over.is_none()
        && owner.go_on(state)? == Then::Again
    {
        return Ok(None);
    }
    if owner.team().over.is_none() || !owner.team().crew.is_empty() {
        let until = owner.next_moment();
        return wait(owner, until).map(|()| None);
    }
    if let Some(state) = &state {
        owner.conclude(state)?;
    }
    Ok(owner.team().over.take())
}

/// Waits until something is heard or changes, or that moment has come, and takes it up.
fn wait<'a, O: TeamOwner<'a>>(owner: &mut O, until: Option<Timestamp>) -> Result<()> {
    let longest = until.map_or(LOOK_AGAIN, |moment| time_to(moment).min(LOOK_AGAIN));
    let heard = owner.team().listen(longest)?;
    heard.into_iter().try_for_each(|(name, heard)| hear(owner, &name, heard))
}

fn hear<'a, O: TeamOwner<'a>>(owner: &mut O, name: &str, heard: MemberEvent) -> Result<()> {
    match heard {
        MemberEvent::Line(line) => {
            owner.team().take_down(name, &line);
            Ok(())
        }
        MemberEvent::Gone(how) => {
            let gone = owner.team().came(name, &how);
            owner.gone(name, gone)
        }
    }
}

/// After an error: nothing may go on without us.
fn abandon<'a, O: TeamOwner<'a>>(owner: &mut O) {
    owner.team().end_all();
    while !owner.team().crew.is_empty() {
        let Ok(heard) = owner.team().listen(LOOK_AGAIN) else { return };
        for (name, heard) in heard {
            // The first error is the one that is told.
            let _ = hear(owner, &name, heard);
        }
    }
}

impl<'a, V> Team<'a, V> {
    /// Nobody yet. What changes in these places from now on is news.
    pub(crate) fn begin(
        (here, file): (&'a Here, &'a LoopFile),
        interrupts: &'a Interrupts,
        words: Words,
        places: &[&Path],
    ) -> Result<Self> {
        Ok(Team {
            here,
            file,
            interrupts,
            words,
            // Before anything is looked at, so that no change falls between.
            watch: Watch::begin(places)?,
            crew: Crew::new()?,
            screen: Many::begin("all"),
            told: BTreeMap::new(),
            asked: InterruptRequest::Nothing,
            over: None,
            has_news: true,
        })
    }

    /// Begins a round, shown under this label and after what it is about.
    pub(crate) fn start(
        &mut self,
        name: &str,
        (label, about): (&str, &str),
        order: &RoundOrder,
    ) -> Result<()> {
        self.crew.start(name, &programs::running()?, &["round"], &serde_json::to_vec(order)?)?;
        self.screen.add(name, label, about);
        // Another may be due beside it.
        self.has_news = true;
        Ok(())
    }

    /// Nothing is begun any more. The first reason counts.
    pub(crate) fn stop(&mut self, why: TeamEnd<V>) {
        self.over.get_or_insert(why);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.over.is_some()
    }

    /// True once for all that has happened since this was asked last.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// How many are at work.
    pub(crate) fn len(&self) -> usize {
        self.crew.len()
    }

    /// True where a person at the keyboard, or whoever ended the loop, lets nothing be begun.
    pub(crate) fn was_asked(&self) -> bool {
        self.asked != InterruptRequest::Nothing
    }

    /// Ends one of them at once.
    pub(crate) fn end(&self, name: &str) {
        self.crew.ask_one(name, InterruptRequest::End);
    }

    fn end_all(&mut self) {
        self.asked = InterruptRequest::End;
        self.crew.ask(InterruptRequest::End);
    }

    /// The loop as it is; none if it is over. Others may have ended it, or let it rest.
    pub(crate) fn look(&mut self) -> Result<Option<LoopState>> {
        let state = self.file.read().map_err(bad_state)?.map(|loaded| loaded.state);
        let Some(state) = state.filter(|state| state.ending.is_none()) else {
            if self.asked < InterruptRequest::End && !self.crew.is_empty() && !self.may_finish() {
                self.end_all();
                let members = self.words.members;
                self.screen.tell(&format!("the loop has ended: ending all {members}"));
            }
            self.over = Some(TeamEnd::Over);
            return Ok(None);
        };
        if state.phase == Phase::Paused {
            self.stop(TeamEnd::Paused);
        }
        Ok(Some(state))
    }

    /// True if whoever ended the loop lets those finish that are at work.
    fn may_finish(&self) -> bool {
        let id = self.file.folder().file_name().and_then(|name| name.to_str());
        let found = id.and_then(|id| lifecycle::read_by_id(&self.here.home, id).ok().flatten());
        found.is_some_and(|(_, loaded)| loaded.state.let_finish)
    }

    /// What a person at the keyboard wants.
    fn hear_person(&mut self) {
        let asked = self.interrupts.asked();
        if asked <= self.asked {
            return;
        }
        self.asked = asked;
        self.crew.ask(asked);
        self.stop(TeamEnd::rest(PauseCause::Person, "ended by Ctrl-C", Exit::MissingProgram));
        self.screen.tell(&match asked {
            InterruptRequest::End => format!("ending all {}", self.words.members),
            _ => {
                "those at work will be finished, and no other begun; Ctrl-C again ends them at once"
                    .to_owned()
            }
        });
    }

    fn listen(&mut self, longest: Duration) -> Result<Vec<(String, MemberEvent)>> {
        let until = Instant::now() + longest;
        let (heard, has_changed) =
            self.crew.wait_for_either(self.interrupts, &self.watch, until)?;
        self.has_news |= has_changed || Instant::now() >= until;
        Ok(heard)
    }

    fn take_down(&mut self, name: &str, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(RoundMessage::Now { what, tokens }) => self.screen.now(name, &what, tokens),
            Ok(RoundMessage::Say(words)) => self.screen.say(name, &words),
            Ok(last) => drop(self.told.insert(name.to_owned(), last)),
            // A line that was cut with the process that wrote it.
            Err(_) => {}
        }
    }

    fn came(&mut self, name: &str, how: &str) -> MemberExit {
        self.has_news = true;
        match self.told.remove(name) {
            Some(RoundMessage::Came(came)) => MemberExit { came: *came, failed: None },
            Some(RoundMessage::Failed { why, is_missing }) => {
                let exit = if is_missing { Exit::MissingProgram } else { Exit::No };
                MemberExit { came: RoundResult::crashed(why.clone()), failed: Some((why, exit)) }
            }
            _ => {
                let why = format!("its process ended without a word ({how})");
                MemberExit { came: RoundResult::crashed(why), failed: None }
            }
        }
    }

    /// Shows what became of a member that is gone, and what was noticed of its client; and keeps it for whoever asks
    /// later.
    pub(crate) fn show_end(&self, name: &str, became: &str, came: &RoundResult) {
        for denial in &came.denials {
            self.screen.say(name, &format!("not permitted: {} {}", denial.tool, denial.about));
        }
        if !came.leftovers.is_empty() {
            let names = came.leftovers.join(", ");
            self.screen.say(name, &format!("ended what was left running: {names}"));
        }
        if let Some(problem) = &came.log_problem {
            self.screen.say(name, problem);
        }
        self.screen.remove(name);
        self.screen.tell(&visible(became));
        let Ok(Some(loaded)) = self.file.read() else { return };
        let why = options::with_denials(became, came);
        let Words { command, ended, .. } = self.words;
        note(self.here, self.file, &loaded.state, (command, ended), &why);
    }
}

fn time_to(moment: Timestamp) -> Duration {
    // A little later: whoever waits compares with the moment itself.
    let left = moment.duration_since(clock::now()) + SignedDuration::from_millis(5);
    Duration::try_from(left).unwrap_or_default()
}
