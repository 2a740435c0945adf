//! The rounds of `ralph ralplan run`, where each agent is a client of its own, and the wait for the user's decision.
//!
//! The planning is bound to each client's session in turn, so the hooks take the agent's report and
//! guard its tools as they do for an agent inside a session. The client's words do not count.

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state};
use crate::command::screen;
use crate::command::select_loop::FoundLoop;
use crate::runs::client::{ClientRound, RoundOutcome};
use crate::runs::engine::{self, ClientRunner, LoopOwner, MemberExit, Owner, RunEnd, Then};
use crate::runs::options::ClientOptions;
use crate::runs::parallel::held_by_client;
use anyhow::Result;
use ralph_core::modes::build;
use ralph_core::modes::flow::AgentInput;
use ralph_core::modes::ralplan::{NextPlanStep, Role, to_tell};
use ralph_core::state::{DecidedBy, DecisionKind, LoopState, PauseCause, PlanPhase};
use ralph_core::text::truncate::bounded;
use ralph_core::views::notice::NoticeEvent;
use ralph_hooks::modes::ralplan::{self, Decided, DecisionRequest};
use ralph_io::process::wait_any::{self, WaitEnd};
use ralph_io::process::watch::Watch;
use ralph_io::process::{clock, random};
use ralph_io::store::lifecycle::ManifestFate;
use ralph_io::store::loop_file::{Loaded, LoopFile};
use ralph_io::store::{journal, lifecycle, notice, plan_files};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

/// The round of this number, in which a client is the agent of the call.
pub(crate) fn of_agent(
    here: &Here,
    client: &ClientOptions,
    logs: &Path,
    call: &AgentInput,
    number: u32,
) -> ClientRound {
    let agent = Role::from_agent_type(&call.subagent_type).map_or("", Role::agent);
    ClientRound {
        prompt: call.prompt.clone(),
        agent: Some(call.subagent_type.clone()),
        label: format!("round {number}, {agent}"),
        // The agent's name tells the hooks that the session acts as this agent.
        ..client.round(here, agent, logs.join(format!("round-{number}.jsonl")))
    }
}

pub(crate) struct Driver<'a> {
    pub(crate) runner: ClientRunner<'a, Infallible>,
    pub(crate) client: &'a ClientOptions,
    pub(crate) file: &'a LoopFile,
    pub(crate) logs: PathBuf,
    pub(crate) prefix: &'static str,
    /// How many rounds have begun.
    pub(crate) number: u32,
}

impl<'a> Owner<'a> for Driver<'a> {
    type Verdict = Infallible;

    fn runner(&mut self) -> &mut ClientRunner<'a, Infallible> {
        &mut self.runner
    }

    fn go_on(&mut self, _: Option<&LoopState>) -> Result<Then> {
        let (session, number) = (random::uuid(), self.number + 1);
        let here = self.runner.here;
        let step = ralplan::drive(&here.home, self.file, &session, number, self.prefix);
        let end = match step.map_err(bad_state)? {
            Some((Ok(NextPlanStep::Call(call)), state)) => {
                let round = ClientRound {
                    session_id: Some(session.clone()),
                    folder: Some(state.project_root.into()),
                    ..of_agent(here, self.client, &self.logs, &call, number)
                };
                self.number = number;
                self.runner.start(&session, "", round, &held_by_client(self.file))?;
                return Ok(Then::Again);
            }
            Some((Ok(NextPlanStep::Ask { question, .. }), state)) => {
                if wait_for_decision(self, &state, &question)? {
                    return Ok(Then::Again);
                }
                RunEnd::pause(PauseCause::Person, "nobody has decided yet", Exit::Interrupted)
            }
            Some((Err(why), _)) => RunEnd::pause(PauseCause::BlockedOnHuman, &why, Exit::No),
            None | Some((Ok(_), _)) => RunEnd::Over,
        };
        self.runner.stop(end);
        Ok(Then::Again)
    }

    fn on_exit(&mut self, session: &str, gone: MemberExit) -> Result<()> {
        let came = gone.result()?;
        let told =
            self.file.update(|state| (to_tell(state), state.via.is_some() || !state.is_live()));
        match told.map_err(bad_state)? {
            // A hook or the user has ended the planning.
            None => self.runner.remove(session, &came),
            Some((news, was_heard)) => {
                let done = match news.is_empty() {
                    false => news.replace('\n', "; "),
                    true => why_nothing(self.file.folder(), session),
                };
                let became = format!("{}: {done}", self.runner.screen.label(session));
                let line = format!("round {}: {done}", self.number);
                self.runner.show_end(session, &became, &line, &came);
                if matches!(came.outcome, RoundOutcome::Finished { .. }) && !was_heard {
                    let cause = PauseCause::BlockedOnHuman;
                    self.runner.stop(RunEnd::pause(cause, UNHEARD, Exit::MissingProgram));
                }
            }
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
        state.round = None;
        build::pause(state, cause, why, clock::now());
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
        let found = lifecycle::read(home, self.file.clone()).map_err(bad_state)?;
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

const ASKS: &str = "Proceed, adjust WORDS, discard, or wait?";

const WHAT_SHOULD_CHANGE: &str = "What should change?";

const ELSEWHERE: &str = "It waits for you. In another terminal, in this project: `ralph ralplan approve`, \
                         `ralph ralplan adjust \"WORDS\"` or `ralph ralplan discard`; Ctrl-C leaves it as it is.";

/// Waits until the user has decided, here or elsewhere. False if they leave without a decision.
fn wait_for_decision(driver: &Driver<'_>, state: &LoopState, question: &str) -> Result<bool> {
    let (here, interrupts) = (driver.runner.here, driver.runner.interrupts);
    let root = Path::new(&state.project_root);
    let document = plan_files::document(root);
    // Start the watch before the first check, so that no change falls between the two.
    let watch = Watch::begin(&[driver.file.folder(), document.parent().unwrap_or(root)])?;
    let mut asks = screen::can_ask();
    let mut shown = false;
    // True if the next line is the user's text for the planner.
    let mut words_come = false;
    loop {
        let state = match driver.file.read().map_err(bad_state)? {
            Some(Loaded { state, .. }) if awaits(&state) => state,
            _ => return Ok(true),
        };
        if !shown {
            wait_any::forget_what_was_typed();
            let plan = summary(root, &state);
            screen::tell(&screen::visible_lines(&format!("\n{plan}{question}")));
            ask(asks, ASKS)?;
            note(here, driver.file, &state, "ralplan run", "asks", question);
            shown = true;
            // Planning takes long, and the user may have left.
            notice::call(driver.file, &state, &NoticeEvent::Awaits);
        }
        match wait_any::wait(interrupts, &watch, asks)? {
            WaitEnd::Changed => continue,
            WaitEnd::Interrupted => {
                screen::tell("");
                return Ok(false);
            }
            WaitEnd::Typed => {}
        }
        let typed = match screen::answer()? {
            None => Typed::Wait,
            Some(line) if words_come => Typed::Decided(DecisionKind::Adjust, line),
            Some(line) => read(&line),
        };
        words_come = typed == Typed::WordsCome;
        asks &= typed != Typed::Wait;
        let said = match typed {
            Typed::Decided(kind, words) => {
                let found = FoundLoop::seen(driver.file.clone(), state);
                take(here, &found, kind, &words, ManifestFate::Remove)?
            }
            _ => {
                ask(asks, if words_come { WHAT_SHOULD_CHANGE } else { ASKS })?;
                continue;
            }
        };
        match said {
            Ok(decided) => {
                screen::tell(&screen::visible_lines(&decided.why));
                return Ok(true);
            }
            Err(why) => {
                screen::tell(&screen::visible_lines(&format!("nothing was decided: {why}")));
                ask(asks, ASKS)?;
            }
        }
    }
}

/// True while the user still has to decide.
fn awaits(state: &LoopState) -> bool {
    let phase = state.ralplan().map(|plan| &plan.phase);
    state.ending.is_none()
        && phase == Some(&PlanPhase::AwaitingUserApproval)
        && !plan_files::is_gone(state)
}

/// Applies the user's decision, and writes it to the journal. Returns why it is ignored if it is.
pub(crate) fn take(
    here: &Here,
    found: &FoundLoop,
    kind: DecisionKind,
    text: &str,
    entry: ManifestFate,
) -> Result<Result<Decided, String>> {
    let word = if kind == DecisionKind::Proceed { "approve" } else { kind.as_str() };
    let command = format!("ralplan {word}");
    let said =
        DecisionRequest { kind, text: text.to_owned(), by: DecidedBy::CommandLine, via: None };
    let decided = ralplan::decide(&here.home, &found.file, said, entry).map_err(bad_state)?;
    let (file, word, why) = match &decided {
        Ok(decided) => (&decided.file, decided.word, &decided.why),
        Err(why) => (&found.file, "refused", why),
    };
    note(here, file, &found.state, &command, word, why);
    Ok(decided)
}

fn ask(asks: bool, question: &str) -> Result<()> {
    if asks {
        return screen::put(question);
    }
    screen::tell(ELSEWHERE);
    Ok(())
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

/// The longest summary of a plan, in lines; the rest is in the file.
const SHOWN: usize = 8;

/// The longest line of it, in characters.
const WIDTH: usize = 160;

/// The beginning of the plan: its title, and the text up to the next heading or code block.
fn summary(root: &Path, state: &LoopState) -> String {
    let path = state.ralplan().map_or("", |plan| plan.plan_path.as_str());
    summary_of(&plan_files::plan_text(root, path).unwrap_or_default())
}

fn summary_of(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut headings = 0;
    let of_it = lines.take_while(|line| {
        headings += usize::from(line.starts_with('#'));
        !line.starts_with("```") && headings <= 2
    });
    let line = |line: &str| format!("  {}\n", bounded(line.trim_start_matches(['#', ' ']), WIDTH));
    of_it.take(SHOWN).map(line).collect()
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
mod tests {
    use super::*;

    #[test]
    fn a_summary_ends_at_the_second_section_or_the_machines_part() {
        let text = "# Login\n\n## Summary\nOne.\nTwo.\n\n## Steps\n1. x\n```json\n{}\n```\n";
        assert_eq!(summary_of(text), "  Login\n  Summary\n  One.\n  Two.\n");
        assert_eq!(
            summary_of("# Login\n\nAdd it.\n```json ralph-plan\n{}\n```"),
            "  Login\n  Add it.\n"
        );
        assert_eq!(summary_of(&"x\n".repeat(9)).lines().count(), SHOWN);
    }

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
