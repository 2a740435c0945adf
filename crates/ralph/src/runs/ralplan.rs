//! The rounds of `ralph ralplan run`, where each agent is a client of its own, and the wait for the user's decision.
//!
//! The planning is bound to each client's session in turn, so the hooks take the agent's report and
//! guard its tools as they do for an agent inside a session. The client's words do not count.

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state};
use crate::command::screen::{self, visible};
use crate::command::select_loop::FoundLoop;
use crate::runs::client::{ClientRound, RoundOutcome, RoundResult};
use crate::runs::engine::{self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then};
use crate::runs::options::ClientOptions;
use crate::runs::parallel::held_by_client;
use anyhow::Result;
use ralph_core::modes::flow::AgentInput;
use ralph_core::modes::ralplan::driven::{self, DueRound};
use ralph_core::modes::ralplan::{self as planning, Role, position, short};
use ralph_core::state::{DecidedBy, DecisionKind, LoopState, PauseCause, PlanPhase, RalplanState};
use ralph_core::text::truncate::bounded;
use ralph_core::views::notice::NoticeEvent;
use ralph_hooks::modes::ralplan::{self, Decided, DecisionRequest};
use ralph_io::process::wait_any::{self, Interrupts, WaitEnd};
use ralph_io::process::watch::Watch;
use ralph_io::process::{clock, random};
use ralph_io::store::lifecycle::ManifestFate;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::store::{journal, lifecycle, notice, plan_files};
use std::convert::Infallible;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The parts of a round that are not in the call.
pub(crate) struct About<'a> {
    pub(crate) number: u32,
    pub(crate) session: &'a str,
    pub(crate) root: &'a Path,
}

pub(crate) fn of_agent(
    here: &Here,
    client: &ClientOptions,
    logs: &Path,
    call: &AgentInput,
    about: &About<'_>,
) -> ClientRound {
    let agent = Role::from_agent_type(&call.subagent_type).map_or("", Role::agent);
    ClientRound {
        prompt: call.prompt.clone(),
        session_id: Some(about.session.to_owned()),
        agent: Some(call.subagent_type.clone()),
        folder: Some(about.root.to_owned()),
        label: format!("round {}, {agent}", about.number),
        // The agent's name tells the hooks that the session acts as this agent.
        ..client.round(here, agent, logs.join(format!("round-{}.jsonl", about.number)))
    }
}

pub(crate) struct Driver<'a> {
    pub(crate) runner: ClientRunner<'a, Infallible>,
    pub(crate) client: &'a ClientOptions,
    pub(crate) file: &'a LoopFile,
    pub(crate) logs: PathBuf,
    pub(crate) prefix: &'static str,
    /// How many rounds have ended.
    pub(crate) number: u32,
    /// The planning as it was before the current round.
    pub(crate) before: LoopState,
}

impl Driver<'_> {
    /// Returns false if no hook of the round's session ran.
    fn was_heard(&self) -> Result<bool> {
        let loaded = self.file.read().map_err(bad_state)?;
        // If the planning is gone, a hook or the user has ended it.
        Ok(loaded.is_none_or(|loaded| loaded.state.via.is_some() || !loaded.state.is_live()))
    }

    /// Shows what a round achieved, in the lines of the planning that no session shows.
    fn show_end(&self, session: &str, came: &RoundResult) -> Result<()> {
        let Some(news) = self.file.update(planning::to_tell).map_err(bad_state)? else {
            self.runner.remove(session, came);
            return Ok(());
        };
        let done = match news.is_empty() {
            false => news.replace('\n', "; "),
            true => why_nothing(self.file.folder(), session),
        };
        let became = format!("{}: {done}", self.runner.screen.label(session));
        let number = self.before.round.as_ref().map_or(0, |round| round.number);
        self.runner.show_end(session, &became, &format!("round {number}: {done}"), came);
        Ok(())
    }
}

impl<'a> Owner<'a> for Driver<'a> {
    type Verdict = Infallible;

    fn runner(&mut self) -> &mut ClientRunner<'a, Infallible> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        let (session, number) = (random::uuid(), self.number + 1);
        let bound = ralplan::RoundSession { session_id: &session, number, prefix: self.prefix };
        let home = &self.runner.here.home;
        let step = ralplan::drive(home, self.file, bound).map_err(bad_state)?;
        let end = match step {
            Some((DueRound::Round(call), before)) => {
                let root = Path::new(&before.project_root);
                let about = About { number, session: &session, root };
                let round = of_agent(self.runner.here, self.client, &self.logs, &call, &about);
                self.before = before;
                self.runner.start(&session, "", round, &held_by_client(self.file))?;
                return Ok(Then::Again);
            }
            None | Some((DueRound::Over, _)) => RunEnd::Over,
            Some((DueRound::Rest(why), _)) => {
                RunEnd::pause(PauseCause::BlockedOnHuman, &why, Exit::No)
            }
            Some((DueRound::Person, _)) => match wait_for_decision(self, self.runner.interrupts)? {
                GateOutcome::GoesOn => return Ok(Then::Again),
                GateOutcome::Over => RunEnd::Over,
                GateOutcome::Left => {
                    RunEnd::pause(PauseCause::Person, "nobody has decided yet", Exit::Interrupted)
                }
            },
        };
        self.runner.stop(end);
        Ok(Then::Again)
    }

    fn on_exit(&mut self, session: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result()?;
        self.show_end(session, &came)?;
        self.number += 1;
        if matches!(came.outcome, RoundOutcome::Finished { .. }) && !self.was_heard()? {
            let cause = PauseCause::BlockedOnHuman;
            self.runner.stop(RunEnd::pause(cause, UNHEARD, Exit::MissingProgram));
        }
        self.runner.stop_on_failure(&came);
        Ok(())
    }
}

impl<'a> LoopOwner<'a> for Driver<'a> {
    fn file(&self) -> &'a LoopFile {
        self.file
    }

    fn decided(&mut self, verdict: Infallible) -> Result<Exit> {
        match verdict {}
    }

    fn pause(&self, state: &mut LoopState, cause: PauseCause, why: &str) {
        driven::pause(state, cause, why, clock::now());
    }

    fn paused_line(&mut self, state: &LoopState, why: &str) -> String {
        let phase = state.ralplan().map_or("", |plan| plan.phase.as_str());
        format!(
            "planning {} is paused in {phase}: {why}; `ralph ralplan run` continues",
            state.loop_id
        )
    }

    fn print_ending(&mut self) -> Result<Exit> {
        let home = &self.runner.here.home;
        let found = lifecycle::read_by_id(home, &self.before.loop_id).map_err(bad_state)?;
        // A decision from another terminal leaves the manifest entry of the round's session to this
        // run.
        if let Some((file, Loaded { state, .. })) = found
            && state.ending.is_some()
        {
            lifecycle::let_go(home, &file, &state)?;
        }
        engine::print_ending(self.runner.here, self.file)
    }
}

const UNHEARD: &str = "no hook of Ralph was called in this round; `ralph install` registers them, and \
                       `ralph doctor` says what is missing";

// Waits for the user's decision, here at the terminal or from anywhere else.
//
// There is no time limit: silence is no decision. A decision made elsewhere shows up in the state.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GateOutcome {
    /// The planning continues: with the planner, or with whatever the decision led to.
    GoesOn,
    Over,
    /// The user left without a decision.
    Left,
}

const ASKS: &str = "Proceed, adjust WORDS, discard, or wait?";

const WHAT_SHOULD_CHANGE: &str = "What should change?";

const ELSEWHERE: &str = "It waits for you. In another terminal, in this project: `ralph ralplan approve`, \
                         `ralph ralplan adjust \"WORDS\"` or `ralph ralplan discard`; Ctrl-C leaves it as it is.";

/// Waits until the user has decided.
fn wait_for_decision(driver: &Driver<'_>, interrupts: &Interrupts) -> Result<GateOutcome> {
    let here = driver.runner.here;
    let root = Path::new(&driver.before.project_root);
    let document = plan_files::document(root);
    // Start the watch before the first check, so that no change falls between the two.
    let watch = Watch::begin(&[driver.file.folder(), document.parent().unwrap_or(root)])?;
    let mut asks = screen::can_ask();
    let mut shown = false;
    // True if the next line is the user's text for the planner.
    let mut words_come = false;
    loop {
        let Some(loaded) = driver.file.read().map_err(bad_state)? else {
            return Ok(GateOutcome::Over);
        };
        let state = loaded.state;
        if let Some(passed) = moved_on(&state) {
            return Ok(passed);
        }
        if !shown {
            wait_any::forget_what_was_typed();
            screen::tell(&screen::visible_lines(&described(&state)));
            ask(asks, ASKS)?;
            note(here, driver.file, &state, "ralplan run", "asks", &path_and_hash(&state));
            shown = true;
            // Planning takes long, and the user may have left.
            notice::call(driver.file, &state, &NoticeEvent::Awaits);
        }
        match wait_any::wait(interrupts, &watch, asks)? {
            WaitEnd::Changed => continue,
            WaitEnd::Interrupted => {
                screen::tell("");
                return Ok(GateOutcome::Left);
            }
            WaitEnd::Typed => {}
        }
        let line = screen::answer()?;
        let said = match (&line, words_come) {
            (None, _) => Typed::Wait,
            (Some(line), true) => Typed::Decided(DecisionKind::Adjust, line.clone()),
            (Some(line), false) => read(line),
        };
        words_come = said == Typed::WordsCome;
        match said {
            Typed::Wait => {
                asks = false;
                ask(asks, ASKS)?;
            }
            Typed::WordsCome => ask(asks, WHAT_SHOULD_CHANGE)?,
            Typed::Unknown => ask(asks, ASKS)?,
            Typed::Decided(kind, words) => {
                let found = FoundLoop::seen(driver.file.clone(), state);
                match take(here, &found, kind, &words, ManifestFate::Remove)? {
                    Decided::Refused(why) => {
                        screen::tell(&screen::visible_lines(&format!(
                            "nothing was decided: {why}"
                        )));
                        ask(asks, ASKS)?;
                    }
                    decided => return passed(&decided),
                }
            }
        }
    }
}

/// Applies the user's decision, and writes it to the journal.
pub(crate) fn take(
    here: &Here,
    found: &FoundLoop,
    kind: DecisionKind,
    text: &str,
    entry: ManifestFate,
) -> Result<Decided> {
    let word = if kind == DecisionKind::Proceed { "approve" } else { kind.as_str() };
    let command = format!("ralplan {word}");
    let said =
        DecisionRequest { kind, text: text.to_owned(), by: DecidedBy::CommandLine, via: None };
    let decided = ralplan::decide(&here.home, &found.file, said, entry).map_err(bad_state)?;
    let (decision, why) = decided.describe();
    let file = decided.file().unwrap_or(&found.file);
    note(here, file, &found.state, &command, decision, &why);
    Ok(decided)
}

fn ask(asks: bool, question: &str) -> Result<()> {
    if asks {
        return screen::put(question);
    }
    screen::tell(ELSEWHERE);
    Ok(())
}

fn passed(decided: &Decided) -> Result<GateOutcome> {
    let (_, why) = decided.describe();
    screen::tell(&screen::visible_lines(&why));
    Ok(match decided {
        Decided::Adjusted(_) | Decided::Refused(_) => GateOutcome::GoesOn,
        Decided::Approved { .. } | Decided::Discarded { .. } => GateOutcome::Over,
    })
}

/// Returns `None` while the user still has to decide.
fn moved_on(state: &LoopState) -> Option<GateOutcome> {
    let waits = state.ralplan().map(|plan| &plan.phase);
    match waits {
        _ if state.ending.is_some() => Some(GateOutcome::Over),
        Some(PlanPhase::AwaitingUserApproval) if !plan_files::is_gone(state) => None,
        _ => Some(GateOutcome::GoesOn),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Typed {
    /// A decision, with the user's words.
    Decided(DecisionKind, String),
    /// To adjust, with the words on the next line.
    WordsCome,
    Wait,
    /// Not a decision, and neither is an empty line.
    Unknown,
}

fn read(line: &str) -> Typed {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word.trim_end_matches(':').to_lowercase().as_str(), rest.trim()) {
        ("proceed" | "p", "") => Typed::Decided(DecisionKind::Proceed, String::new()),
        ("discard" | "d", "") => Typed::Decided(DecisionKind::Discard, String::new()),
        ("adjust" | "a", "") => Typed::WordsCome,
        ("adjust" | "a", words) => Typed::Decided(DecisionKind::Adjust, words.to_owned()),
        ("wait" | "w", "") => Typed::Wait,
        _ => Typed::Unknown,
    }
}

// What the user sees of a driven planning run: the plan that waits for a decision, and why a round
// achieved nothing.

/// The longest summary and list, in lines; the rest is in the file.
const SHOWN: usize = 8;

/// The longest line, in characters.
const WIDTH: usize = 160;

/// The plan, the critic's verdict on it, its criteria and its tasks.
fn described(state: &LoopState) -> String {
    let Some(about) = state.ralplan() else { return String::new() };
    let root = Path::new(&state.project_root);
    let text = plan_files::plan_text(root, &about.plan_path).unwrap_or_default();
    let mut told = format!("\nPlan: {}", path_and_hash(state));
    told.push_str(&verdict(about));
    told.push_str(&list("", summary(&text)));
    told.push_str(&list("\nCriteria:", about.criteria.clone()));
    told.push_str(&list("\nTasks:", about.tasks.clone()));
    told
}

/// The path and the hash of the plan to decide about.
fn path_and_hash(state: &LoopState) -> String {
    let Some(about) = state.ralplan() else { return String::new() };
    format!("{} ({})", about.plan_path, short(&about.plan_hash))
}

fn verdict(about: &RalplanState) -> String {
    if !about.forced {
        return format!("\nThe critic approved it: plan {}.", position(about));
    }
    let mut told =
        format!("\nWARNING: the critic rejected it, plan {}. Left open:", position(about));
    for (at, concern) in about.concerns.iter().enumerate() {
        let _ = write!(told, "\n  {}. {}", at + 1, visible(concern));
    }
    told
}

/// The beginning of the plan: its title, and the text up to the next heading or code block.
fn summary(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut headings = 0;
    let of_it = lines.take_while(|line| {
        headings += usize::from(line.starts_with('#'));
        !line.starts_with("```") && headings <= 2
    });
    of_it.map(|line| line.trim_start_matches(['#', ' ']).to_owned()).collect()
}

fn list(head: &str, items: Vec<String>) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut told = head.to_owned();
    for item in items.iter().take(SHOWN) {
        let _ = write!(told, "\n  {}", bounded(&visible(item), WIDTH));
    }
    match items.len().saturating_sub(SHOWN) {
        0 => {}
        more => _ = write!(told, "\n  and {more} more in the file"),
    }
    told
}

/// Why a round of this session achieved nothing, from the journal entry about its report.
fn why_nothing(folder: &Path, session: &str) -> String {
    let of_it = |entry: &journal::JournalEntry| {
        entry.decision.starts_with("report ") && entry.seen["agent"] == session
    };
    match journal::read(folder).into_iter().rfind(of_it) {
        Some(entry) => format!("{}: {}", entry.decision, entry.why),
        None => "it brought no report".to_owned(),
    }
}

#[cfg(test)]
mod gate_tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let said = match read(line) {
            Typed::Decided(kind, words) => format!("{} {words}", kind.as_str()),
            other => format!("{other:?}"),
        };
        assert_eq!(said.trim(), expected, "{line}");
    }

    #[test]
    fn a_decision_is_its_word_and_nothing_else_is() {
        for line in ["proceed", " Proceed ", "p"] {
            check(line, "proceed");
        }
        check("discard", "discard");
        check("adjust less code", "adjust less code");
        check("Adjust: less  code", "adjust less  code");
        check("adjust", "WordsCome");
        check("w", "Wait");
        for line in
            ["", "yes", "y", "ok", "proceed but first x", "discard it", "proceeding", "\u{1b}"]
        {
            check(line, "Unknown");
        }
    }
}

#[cfg(test)]
mod told_tests {
    use super::*;

    #[test]
    fn a_summary_ends_at_the_second_section_or_the_machines_part() {
        let text = "# Login\n\n## Summary\nOne.\nTwo.\n\n## Steps\n1. x\n```json\n{}\n```\n";
        assert_eq!(summary(text), ["Login", "Summary", "One.", "Two."]);
        assert_eq!(
            summary("# Login\n\nAdd it.\n```json ralph-plan\n{}\n```"),
            ["Login", "Add it."]
        );
    }

    #[test]
    fn a_list_is_cut_and_says_so() {
        let items = (0..10).map(|n| n.to_string()).collect();
        assert!(list("\nTasks:", items).ends_with("\n  7\n  and 2 more in the file"));
        assert_eq!(list("\nTasks:", Vec::new()), "");
    }
}
