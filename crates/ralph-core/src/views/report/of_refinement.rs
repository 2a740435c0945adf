//! Builds the report of a refinement from the project's document and the versions of the plan.
//!
//! The report of a loop whose session refines shows the same rounds, up to the end of that loop.

use super::of_loop::{moment, reached};
use super::words::{self, LONG, SHORT, counted, grouped, lasted, share};
use super::{Gauge, Report, ReportOutcome, ReportStep, ReportTurn, Tone};
use crate::modes::refine::chart::{self, PictureBar};
use crate::modes::refine::state::{KeptVersion, Refinement, RoundEntry};
use crate::modes::refine::{self, Mode, PlanAfter, RoundEnd, Status, say};
use jiff::Timestamp;

/// Steps shown, the latest ones.
const MOST_STEPS: usize = 300;

/// The data for the report of a refinement.
#[derive(Debug)]
pub struct RefinementSeen<'a> {
    /// The refinement's name.
    pub name: &'a str,
    /// The same name, quoted for a shell.
    pub word: &'a str,
    /// The refinement's entry in the document.
    pub session: &'a Refinement,
    /// The versions of its plan, oldest first.
    pub versions: Vec<KeptVersion>,
    /// Who is working on it.
    pub activity: Activity,
    /// The current time.
    pub now: Timestamp,
}

/// Whether an unfinished refinement is being worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// It is running, as described: `running in a conversation`.
    Runs(String),
    /// A session has paused it.
    Pauses,
    /// Nobody is working on it.
    Nobody,
}

/// Builds the report.
pub fn of_refinement(seen: &RefinementSeen<'_>) -> Report {
    let session = seen.session;
    let (timeline, n_left_out) = timeline(seen);
    let goal = match session.mode {
        Mode::Plan => format!("Refine {} until it no longer changes", session.plan_file),
        _ => "Refine the tasks until they no longer change".to_owned(),
    };
    Report {
        kind: "refinement",
        id: words::line(seen.name, SHORT),
        goal: words::line(&goal, LONG),
        outcome: outcome(seen),
        facts: facts(seen),
        gauges: gauges(seen),
        notes: notes(session),
        next: words::line(&next(seen), LONG),
        rounds: rounds_of(session, &seen.versions),
        timeline,
        n_left_out,
        made_at: (!session.status.is_over()).then_some(seen.now),
        ..Report::default()
    }
}

/// The rounds of a refinement up to the end of a session's loop.
pub(super) fn until(
    session: &Refinement,
    versions: &[KeptVersion],
    ended: Option<Timestamp>,
) -> Rounds {
    let is_later = |at: Option<Timestamp>| ended.zip(at).is_some_and(|(ended, at)| at > ended);
    let before = session.history.iter().take_while(|entry| !is_later(entry.ended_at));
    let session = Refinement { history: before.cloned().collect(), ..session.clone() };
    let kept = versions.iter().filter(|version| !is_later(Some(version.at)));
    rounds_of(&session, &kept.cloned().collect::<Vec<_>>())
}

/// The status in a few words. Only someone who works on a refinement shows that it runs: a killed
/// process cannot update the status.
pub fn standing(session: &Refinement, activity: &Activity) -> String {
    match (&session.status, activity) {
        (Status::Running, Activity::Runs(how)) => how.clone(),
        (Status::Running, Activity::Pauses) => "paused in a conversation".to_owned(),
        (Status::Running, Activity::Nobody) if session.round.is_none() => "resting".to_owned(),
        (Status::Running, Activity::Nobody) => "interrupted".to_owned(),
        (status, _) => status.to_string(),
    }
}

fn outcome(seen: &RefinementSeen<'_>) -> ReportOutcome {
    let session = seen.session;
    let word = match &session.status {
        Status::MaxIterations => "limit reached".to_owned(),
        Status::Other(word) => words::spaced(word),
        _ => standing(session, &seen.activity),
    };
    let tone = match (&session.status, &seen.activity) {
        (Status::Plateau, _) => Tone::Good,
        (Status::Running, Activity::Runs(_)) => Tone::Live,
        (Status::Running, Activity::Nobody) if session.round.is_none() => Tone::Quiet,
        (Status::Cancelled | Status::Other(_), _) => Tone::Quiet,
        (Status::Running | Status::Interrupted | Status::MaxIterations, _) => Tone::Warn,
    };
    let last = session.history.last().filter(|entry| entry.end == RoundEnd::Interrupted);
    let detail = match (say::ending(session).into_iter().next(), &session.round, last) {
        (Some(ending), ..) => ending,
        (None, Some(open), _) => format!("round {} is open", open.iteration),
        (None, None, Some(cut)) => format!("round {} was cut: {}", cut.iteration, cut.summary),
        (None, None, None) => String::new(),
    };
    ReportOutcome { word: words::line(&word, SHORT), tone, detail: words::line(&detail, LONG) }
}

fn facts(seen: &RefinementSeen<'_>) -> Vec<(&'static str, String)> {
    let session = seen.session;
    let bounds = &session.settings;
    let little = match session.mode {
        Mode::Plan => counted(bounds.lines as usize, "line", "lines"),
        _ => counted(bounds.beads as usize, "task", "tasks"),
    };
    let settled = format!(
        "{} of at most 1 change and {little} in a row, not before round {}",
        counted(bounds.plateau_threshold as usize, "round", "rounds"),
        bounds.min_iterations
    );
    let versions = match seen.versions.len() {
        0 => String::new(),
        n => n.to_string(),
    };
    let started = session.started_at != Timestamp::UNIX_EPOCH;
    super::known([
        ("plan", words::line(&session.plan_file, SHORT)),
        ("started", if started { moment(session.started_at) } else { String::new() }),
        ("ended", session.ended_at.map(moment).unwrap_or_default()),
        ("settled after", settled),
        ("versions kept", versions),
    ])
}

fn gauges(seen: &RefinementSeen<'_>) -> Vec<Gauge> {
    let session = seen.session;
    let bounds = &session.settings;
    let measured = chart::total_measured(session);
    let measured_of = if session.mode == Mode::Plan { "Lines measured" } else { "Tasks measured" };
    let needed = bounds.plateau_threshold.max(1);
    let streak = match session.status {
        // A plateau recorded in the document is shown as such, whatever caused it.
        Status::Plateau => needed,
        _ => refine::streak(&session.history, bounds).min(needed),
    };
    let [done, most] = [session.iterations_completed, bounds.max_iterations];
    let is_full = done >= most && session.status != Status::Plateau;
    let rounds = Gauge { label: "Rounds", ..reached(done as usize, most as usize) };
    let mut gauges = vec![
        Gauge { tone: if is_full { Tone::Warn } else { Tone::Live }, ..rounds },
        Gauge::number("Changes said", grouped(session.total_changes)),
        Gauge::number(measured_of, grouped(measured)),
        Gauge { label: "Towards a plateau", ..reached(streak as usize, needed as usize) },
    ];
    if let (Some(ended), true) = (session.ended_at, session.started_at != Timestamp::UNIX_EPOCH) {
        gauges.push(Gauge::number("Time", lasted(words::between(session.started_at, ended))));
    }
    gauges
}

fn notes(session: &Refinement) -> Vec<String> {
    let done = session.history.iter().filter(|entry| entry.end == RoundEnd::Done);
    let unknown = done.filter(|one| one.changes.is_none() || one.measured.is_none()).count();
    let unknown = (unknown > 0).then(|| {
        format!(
            "Of {} it is not known how much changed: that is never taken for nothing.",
            counted(unknown, "round", "rounds")
        )
    });
    // Its first line is the outcome.
    say::ending(session).into_iter().skip(1).chain(unknown).collect()
}

fn next(seen: &RefinementSeen<'_>) -> String {
    let (session, word) = (seen.session, seen.word);
    match (&session.status, &seen.activity) {
        _ if session.is_early() => {
            "in a new session of Claude Code `/plan-refinery context`, then `/plan-refinery review`"
                .to_owned()
        }
        (Status::Plateau | Status::Cancelled, _) if !seen.versions.is_empty() => {
            format!(
                "`ralph refine diff 1 --id {word}` shows what has changed since the first version"
            )
        }
        (Status::Plateau, _) => "`ralph run --planned` carries the tasks out".to_owned(),
        (Status::Cancelled, _) => {
            format!("`ralph refine history --id {word}` shows its rounds")
        }
        (Status::MaxIterations, _) => {
            let most = session.iterations_completed.saturating_add(5);
            format!("`ralph refine loop --id {word} --max-iterations {most}` goes on with it")
        }
        (_, Activity::Runs(_)) => {
            format!("`ralph refine status --id {word}` shows its rounds")
        }
        (_, Activity::Pauses) => "/ralph in its session goes on with it".to_owned(),
        (_, Activity::Nobody) => format!("`ralph refine loop --id {word}` goes on with it"),
    }
}

/// The events in order: stored versions and ends of rounds. Versions after the last round belong to
/// no round.
fn timeline(seen: &RefinementSeen<'_>) -> (Vec<ReportTurn>, usize) {
    let session = seen.session;
    let n_left_out = (session.history.len() + seen.versions.len()).saturating_sub(MOST_STEPS);
    let mut to_skip = n_left_out;
    let mut versions = seen.versions.iter().peekable();
    let mut turns = Vec::new();
    let mut put = |title: String, at, mut steps: Vec<ReportStep>| {
        let skipped = to_skip.min(steps.len());
        to_skip -= skipped;
        steps.drain(..skipped);
        if !steps.is_empty() {
            turns.push(ReportTurn { title, at, sum: String::new(), steps });
        }
    };
    for entry in &session.history {
        // Without a time, only the round of a version is known.
        let is_before = |one: &&KeptVersion| match entry.ended_at {
            Some(at) => one.at <= at,
            None => one.round <= entry.iteration,
        };
        let mut steps = Vec::new();
        while let Some(version) = versions.next_if(|one| is_before(one)) {
            steps.push(kept(version));
        }
        steps.push(ended(session, entry));
        put(format!("Round {}", entry.iteration), entry.ended_at, steps);
    }
    let title = if session.status.is_over() { "Afterwards" } else { "Under way" };
    put(title.to_owned(), None, versions.map(kept).collect());
    (turns, n_left_out)
}

fn kept(version: &KeptVersion) -> ReportStep {
    ReportStep {
        at: Some(version.at),
        what: format!("Version {} kept", version.number),
        tone: Tone::Quiet,
        why: words::line(&version.origin(), LONG),
        rows: Vec::new(),
    }
}

fn ended(session: &Refinement, entry: &RoundEntry) -> ReportStep {
    let (what, tone) = match fate(entry) {
        Some((word, tone)) => (format!("The round was {word}"), tone),
        None => ("The round ended".to_owned(), Tone::Good),
    };
    let mut told = say::round(session, entry).into_iter();
    let why = words::line(&told.next().unwrap_or_default(), LONG);
    let rest: Vec<String> = told.collect();
    let rows = [("also".to_owned(), words::block(&rest.join("\n"), words::TEXT))];
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    ReportStep { at: entry.ended_at, what, tone, why, rows }
}

// The rounds of a refinement: reported changes, measured changes, and results.

/// Rounds shown, the latest ones.
const MOST_ROUNDS: usize = 60;

/// The rounds shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rounds {
    /// The rounds, oldest first.
    pub all: Vec<ReportRound>,
    /// The unit of the measurements: `lines`, `tasks`.
    pub unit: &'static str,
    /// Earlier rounds that are not shown.
    pub n_left_out: usize,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRound {
    /// Number of the round, from 1. A round that was cut precedes its repetition under the same
    /// number.
    pub number: u32,
    /// The result in one or two words.
    pub word: &'static str,
    pub tone: Tone,
    /// The number of changes that the round reported.
    pub said: Amount,
    /// The measured amount of change.
    pub measured: Amount,
    /// The measured change in words; `None` if unknown.
    pub change: Option<String>,
    /// The round's own summary; for a round that was cut, the reason.
    pub summary: String,
    /// Other remarks for people.
    pub remarks: Vec<String>,
    /// The version of the plan that the round wrote.
    pub version: Option<u32>,
}

/// A number of one round, relative to the other rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    /// The number, or a word if there is none.
    pub word: String,
    /// The share of the largest number, in percent; `None` if unknown.
    pub share: Option<u8>,
}

/// The rounds of a refinement.
fn rounds_of(session: &Refinement, versions: &[KeptVersion]) -> Rounds {
    let n_left_out = session.history.len().saturating_sub(MOST_ROUNDS);
    let shown = |marks: Vec<PictureBar>| amounts(&marks[n_left_out..]);
    let said = shown(chart::reported_bars(session));
    let measured = shown(chart::measured_bars(session));
    let numbers = said.into_iter().zip(measured);
    let all = numbers.enumerate().map(|(at, (said, measured))| {
        let at = at + n_left_out;
        let entry = &session.history[at];
        let streak = refine::streak(&session.history[..=at], &session.settings);
        let (word, tone) = round_status(entry, streak);
        let is_its = |one: &&KeptVersion| one.is_written_by(entry.iteration);
        let is_cut = entry.end == RoundEnd::Interrupted;
        let version = versions.iter().rev().find(is_its).filter(|_| !is_cut);
        ReportRound {
            number: entry.iteration,
            word,
            tone,
            said,
            measured,
            change: entry.measured.as_ref().map(ToString::to_string),
            summary: words::line(&entry.summary, LONG),
            remarks: say::remarks(session, entry),
            version: version.map(|version| version.number),
        }
    });
    let unit = if session.mode == Mode::Plan { "lines" } else { "tasks" };
    Rounds { all: all.collect(), unit, n_left_out }
}

fn round_status(entry: &RoundEntry, streak: u32) -> (&'static str, Tone) {
    fate(entry).unwrap_or(match streak {
        _ if entry.changes.is_none() || entry.measured.is_none() => ("unknown", Tone::Warn),
        0 => ("changed", Tone::Quiet),
        _ => ("settling", Tone::Good),
    })
}

/// What kept a round's changes out of the artefact, if something did.
fn fate(entry: &RoundEntry) -> Option<(&'static str, Tone)> {
    match (&entry.end, &entry.plan) {
        (RoundEnd::Interrupted, _) => Some(("cut", Tone::Warn)),
        (_, PlanAfter::KeptEdit) => Some(("set aside", Tone::Warn)),
        (_, PlanAfter::Declined) => Some(("declined", Tone::Quiet)),
        _ => None,
    }
}

fn amounts(marks: &[PictureBar]) -> Vec<Amount> {
    let most = marks.iter().map(chart::number).max().unwrap_or_default();
    let amount = |mark: &PictureBar| match mark {
        PictureBar::Number(number) => {
            Amount { word: words::grouped(*number), share: Some(share(*number, most)) }
        }
        PictureBar::Unknown => Amount { word: "unknown".to_owned(), share: None },
        PictureBar::Cut => Amount { word: "cut".to_owned(), share: None },
    };
    marks.iter().map(amount).collect()
}
