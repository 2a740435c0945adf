//! The list for users: a heading for each loop, rows below it, and its criteria.

use crate::cli::status::{self, LoopView};
use crate::command::screen::{self, Colour, visible};
use jiff::Timestamp;
use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::evidence::{completion_feedback, pinned};
use ralph_core::modes::refine::MOST_IN_FOREGROUND;
use ralph_core::modes::{mode, ralplan};
use ralph_core::protocol::client_version::ClientFeature;
use ralph_core::state::{Criterion, LoopState, Phase, Signal};
use ralph_core::stop::progress;
use ralph_core::tasks::graph;
use ralph_core::text::plural::{dollars, lasted, rounded, tokens, used_dollars};
use ralph_core::text::truncate::bounded;
use ralph_core::text::wrap::columns;
use ralph_core::views::messages;
use ralph_core::views::phrases::{self, spaced};

pub(super) fn describe(one: &LoopView, now: Timestamp) -> String {
    let state = &one.state;
    let ((what, _), position) = (messages::what_and_where(state), messages::place(state));
    let by_mode = state.is_running() || state.awaits_decision();
    let mut phase = match one.cut() {
        Some(_) => "interrupted".to_owned(),
        None => phrases::loop_status(state),
    };
    if what != "loop" && by_mode {
        phase = format!("{what}: {phase}");
    }
    let mut text = format!(
        "{}  {}  {position}",
        visible(&state.loop_id),
        screen::coloured(&visible(&phase), status::colour(one)),
    );
    for (label, value) in rows(one, now) {
        text.push_str(&row(label, &value));
    }
    text.push_str(&criteria(one));
    text
}

/// A labelled row below a heading; nothing for an empty value.
pub(super) fn row(label: &str, value: &str) -> String {
    if value.is_empty() {
        return String::new();
    }
    let begun = format!("\n  {label:<11} ");
    let at = begun.len() - 1;
    let value = screen::wrapped_to(screen::width(), &visible(value), at, at);
    let begun = if value.starts_with('\n') { begun.trim_end() } else { &begun };
    format!("{begun}{value}")
}

/// Workers at work, and workers whose work is not on the loop's branch.
fn workers(state: &LoopState) -> String {
    let told = state.workers.iter().filter_map(|worker| {
        let name = if worker.task.is_empty() { &worker.about } else { &worker.task };
        match () {
            () if worker.is_running() => Some(format!("{name} at work")),
            () if worker.awaits_merge() => Some(format!("{name} not merged")),
            () if !worker.kept_out.is_empty() => Some(format!("{name} kept out")),
            () => None,
        }
    });
    told.collect::<Vec<_>>().join(", ")
}

/// For a worker's loop: its parent loop, and the task it works on.
fn worker_of(state: &LoopState) -> String {
    let task = state.round.as_ref().map(|round| format!(", {}", round.task));
    let above = state.parent.as_ref();
    above.map(|above| format!("{above}{}", task.unwrap_or_default())).unwrap_or_default()
}

/// How many of the user's signals the model has not received.
fn signals(one: &LoopView) -> String {
    let what = if one.state.ending.is_some() { "never delivered" } else { "not delivered yet" };
    match one.signals_waiting() {
        0 => String::new(),
        n => format!("{n} {what}"),
    }
}

/// The next step, and who takes it.
pub(in crate::cli) fn next(one: &LoopView) -> String {
    let state = &one.state;
    match state.phase {
        Phase::Planned => "/ralph in Claude Code starts it".to_owned(),
        _ if state.awaits_decision() => {
            "you decide: in the session, or `ralph ralplan approve`, `adjust` or `discard`"
                .to_owned()
        }
        Phase::Ended => match messages::next_command(state) {
            // The user has just run `ralph status`.
            command if command.is_empty() || command.starts_with("`ralph status") => {
                match one.checkpoint_number() {
                    Some(_) => {
                        format!(
                            "`ralph checkpoint --show --loop {}` shows what was kept",
                            state.loop_id
                        )
                    }
                    None => {
                        format!("`ralph explain --loop {}` shows the last decision", state.loop_id)
                    }
                }
            }
            command => command,
        },
        _ if let Some(hint) = hint(state) => hint,
        _ if !pinned::is_as_frozen(state) => {
            "the criteria are not those that were agreed to; `ralph criteria accept` takes them"
                .to_owned()
        }
        _ if state.acceptance_criteria.iter().any(|criterion| !one.is_proven(criterion)) => {
            format!("`ralph verify --loop {}` runs the criteria", state.loop_id)
        }
        _ => String::new(),
    }
}

fn hint(state: &LoopState) -> Option<String> {
    mode::rules(&state.mode).next_hint(state).filter(|_| state.is_live())
}

/// The labelled rows of a loop, without its criteria; an empty value means no row.
pub(in crate::cli) fn rows(one: &LoopView, now: Timestamp) -> Vec<(&'static str, String)> {
    let state = &one.state;
    let goal = match state.prompt.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &state.prompt[..end]),
        None => state.prompt.clone(),
    };
    let mut rows = vec![
        ("goal", goal.split_whitespace().collect::<Vec<_>>().join(" ")),
        ("project", state.project_root.clone()),
        ("session", state.session_id.clone()),
        ("worker of", worker_of(state)),
    ];
    match &state.ending {
        Some(ending) => {
            let cause = ending.cause.as_ref().map(|cause| format!(" ({cause})"));
            let kind = phrases::spaced(&format!("{}{}", ending.kind, cause.unwrap_or_default()));
            let ago = lasted(now.duration_since(ending.at).as_secs());
            rows.push(("ended", with_detail(&format!("{ago} ago, {kind}"), &ending.detail)));
            let mut took = messages::lasted(state, ending.at);
            if state.usage.total() > 0 {
                took.push_str(&format!(", {}", tokens(state.usage.total())));
            }
            took.push_str(&dollars(state.usage.cost));
            rows.push(("took", took));
            rows.push(("achieved", messages::achieved(state)));
        }
        None => {
            let pause = state.pause.as_ref().filter(|_| !state.awaits_decision());
            let paused = pause
                .map(|pause| with_detail(&phrases::spaced(pause.cause.as_str()), &pause.detail));
            rows.push(("paused", paused.unwrap_or_default()));
            rows.push(("idle", idle(one)));
            let blocked = state.blocked.as_ref().map(|blocked| blocked.what.clone());
            rows.push(("blocked", blocked.unwrap_or_default()));
            rows.push(("planning", planning(state)));
            rows.push(("orchestrates", orchestrates(state)));
            rows.push(("refining", refining(state)));
            rows.push(("tasks", tasks(state, now)));
            rows.push(("workers", workers(state)));
            let is_loop = state.is_running() && mode::rules(&state.mode).wants_tree();
            rows.push(("progress", if is_loop { moves(state) } else { String::new() }));
            rows.push(("observes", state.observing.clone()));
            rows.push(("used", used(one, now)));
        }
    }
    rows.extend([
        ("signals", signals(one)),
        ("checkpoint", checkpoint(one)),
        ("note", messages::warnings(state)),
        ("client", client(one)),
        ("next", next(one)),
        ("criteria", count(one)),
    ]);
    rows
}

/// A turn interrupted, for example by Esc; nothing else reports it before the next prompt.
fn idle(one: &LoopView) -> String {
    one.cut().map_or_else(String::new, |cause| {
        let state = &one.state;
        format!(
            "{cause}; {} in its session continues",
            mode::rules(&state.mode).resume_command(state)
        )
    })
}

/// What the client of the session lacks; empty if nothing is known to be missing.
fn client(one: &LoopView) -> String {
    let row = ClientFeature::Conversation.row();
    if let Some(version) = one.client().filter(|version| *version < row.since) {
        let without = row.without;
        return format!(
            "{version} is too old ({without}); type `claude update` and resume the session"
        );
    }
    messages::reported_missing(&one.state).last().unwrap_or_default().to_owned()
}

/// Which orchestration the loop drives, and which agents are at work in it.
fn orchestrates(state: &LoopState) -> String {
    let Some(session) = state.orchestration() else { return String::new() };
    let calls = session.calls.iter().map(|call| format!("{} {}", call.mode, call.task));
    let calls: Vec<String> = calls.map(|call| call.trim().to_owned()).collect();
    match calls.is_empty() {
        true => session.id.clone(),
        false => format!("{}, at work: {}", session.id, calls.join(", ")),
    }
}

/// How far a planning is, and which version of the plan it is about.
fn planning(state: &LoopState) -> String {
    let Some(plan) = state.ralplan() else { return String::new() };
    let hash = if plan.plan_hash.is_empty() { &plan.ready_hash } else { &plan.plan_hash };
    let text = match (plan.plan_path.as_str(), hash.as_str()) {
        ("", _) => String::new(),
        (path, "") => format!(", {path}"),
        (path, hash) => format!(", {path} ({})", ralplan::short(hash)),
    };
    let warning = if plan.forced { ", WARNING: no critic has approved it" } else { "" };
    format!(
        "{}, plan {}{text}{warning}",
        phrases::spaced(plan.phase.as_str()),
        ralplan::position(plan)
    )
}

/// How far a refinement is in its session.
fn refining(state: &LoopState) -> String {
    let Some(refining) = state.refining() else { return String::new() };
    let round = match refining.open {
        0 => "no round is open".to_owned(),
        round => format!("round {round} is open"),
    };
    let most = MOST_IN_FOREGROUND.saturating_sub(refining.earlier);
    let called = refining.calls.len();
    format!("`{}`, {round}, {called} of {most} agents called", refining.name)
}

fn with_detail(word: &str, detail: &str) -> String {
    if detail.is_empty() { word.to_owned() } else { format!("{word}: {detail}") }
}

fn tasks(state: &LoopState, now: Timestamp) -> String {
    let tasks = graph::summary(&state.task_graph, now);
    match (tasks.total, tasks.ready) {
        (0, _) => String::new(),
        (_, ready) => format!("{}, {ready} ready", tasks.describe()),
    }
}

/// Whether the loop makes progress, and how close it is to the stall limit.
fn moves(state: &LoopState) -> String {
    let seen = &state.progress;
    let limit = state.stall_limit;
    match &seen.signal {
        Signal::Working if seen.left_at.is_empty() => "no stop yet".to_owned(),
        Signal::Working => "something changed since the stop before".to_owned(),
        Signal::NoChange => {
            format!("nothing changed at {} (of {limit})", progress::stops(seen.standing))
        }
        Signal::Idle => {
            let stops = progress::stops(seen.standing);
            format!("nothing done and nothing changed at {stops} (of {limit})")
        }
        Signal::Cycle => "goes round in a circle".to_owned(),
        Signal::SameFailure => {
            format!("the same failure {} (of {limit})", progress::in_a_row(seen.same_failure))
        }
        Signal::Waiting => "waits for background workers".to_owned(),
        Signal::Blocked => "you must do something first".to_owned(),
        other => other.to_string(),
    }
}

fn used(one: &LoopView, now: Timestamp) -> String {
    let limits = &one.state.limits;
    let mut parts: Vec<String> = Vec::new();
    let time = |minutes: u64| lasted(minutes.saturating_mul(60).cast_signed());
    if let Some(minutes) = one.minutes(now) {
        parts.push(format!("{} of {}", time(minutes), time(limits.max_minutes)));
    }
    match (one.state.usage.total(), limits.max_tokens) {
        (used, Some(limit)) => parts.push(format!("{} of {}", rounded(used), tokens(limit))),
        (0, None) => {}
        (used, None) => parts.push(tokens(used)),
    }
    parts.push(used_dollars(one.state.usage.cost, limits.max_cost));
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

fn checkpoint(one: &LoopView) -> String {
    let Some(green) = &one.state.checkpoint else { return String::new() };
    let number = one.checkpoint_number().map(|number| format!("{number}, "));
    format!("{}all held at {}", number.unwrap_or_default(), screen::local(green.at))
}

fn count(view: &LoopView) -> String {
    let all = &view.state.acceptance_criteria;
    match (&view.state.ending, all.len()) {
        // The row `achieved` shows it.
        (Some(_), _) | (_, 0) => String::new(),
        (None, n) => {
            let holding = all.iter().filter(|criterion| view.is_proven(criterion)).count();
            let passes = |one: &&Criterion| view.criterion_status(one) == ReceiptStatus::Passes;
            let tried = all.iter().filter(passes).filter(|one| !view.is_proven(one)).count();
            let tried = match tried {
                0 => String::new(),
                tried => format!("; {tried} passed in `ralph verify` only"),
            };
            format!("{holding} of {n} {}{tried}", if n == 1 { "holds" } else { "hold" })
        }
    }
}

// The criteria of a loop for users: the receipt's status, the command, and what is wrong.

/// Characters quoted from the last line that a failing command printed.
const LAST_LINE: usize = 120;

/// One row per criterion, with notes below it.
pub(super) fn criteria(one: &LoopView) -> String {
    let all = &one.state.acceptance_criteria;
    let id = all.iter().map(|one| visible(&one.id).chars().count()).max().unwrap_or_default();
    let word =
        all.iter().map(|it| one.criterion_status(it).as_str().len()).max().unwrap_or_default();
    let below = 4 + id + 2;
    let mut text = String::new();
    for criterion in all {
        let standing = one.criterion_status(criterion);
        text.push_str(&format!(
            "\n    {:<id$}  {}{:<pad$}  ",
            visible(&criterion.id),
            screen::coloured(&spaced(standing.as_str()), worth(standing)),
            "",
            pad = word - standing.as_str().len()
        ));
        let said = visible(&criterion.description);
        let command = visible(&criterion.decided_by_quoted());
        let at = below + word + 2;
        let width = screen::width();
        text.push_str(&screen::wrapped_to(width, &said, at, below));
        // A command is never broken, so that it can be copied.
        if at + columns(&said) + 2 + columns(&command) <= width {
            text.push_str(&format!("  {command}"));
        } else {
            text.push_str(&below_it(&command, below));
        }
        for note in notes(one, criterion, standing) {
            text.push_str(&below_it(&visible(&note), below));
        }
    }
    text
}

/// The text on a line of its own.
fn below_it(text: &str, below: usize) -> String {
    let text = screen::wrapped_to(screen::width(), text, below, below);
    if text.starts_with('\n') { text } else { format!("\n{:below$}{text}", "") }
}

/// What is wrong with a criterion, or what its proof rests on.
fn notes(one: &LoopView, criterion: &Criterion, standing: ReceiptStatus) -> Vec<String> {
    let why = completion_feedback::why(criterion, standing, one.changed(criterion));
    let tests = criterion.receipt.as_ref().and_then(|receipt| receipt.tests_run);
    let mut notes = match standing {
        // The status word beside it says the same.
        ReceiptStatus::NotRun => Vec::new(),
        ReceiptStatus::Stale => vec![why.strip_prefix("is stale: ").unwrap_or(&why).to_owned()],
        failed if failed.is_unsuccessful() && criterion.review.is_none() => {
            vec![failure(criterion, &why)]
        }
        ReceiptStatus::Reviewed => {
            vec![why.strip_prefix("is reviewed: ").unwrap_or(&why).to_owned()]
        }
        ReceiptStatus::Passes | ReceiptStatus::Proven => {
            let ran = tests.map(|n| format!("{n} {} ran", one_or_many(n)));
            ran.into_iter().chain((!one.is_proven(criterion)).then_some(why)).collect()
        }
        _ => vec![why],
    };
    if criterion.held_before {
        notes.push("held before the work began".to_owned());
    }
    if criterion.turned_red.is_some() {
        let alone = std::slice::from_ref(criterion);
        notes.push(completion_feedback::regressions(alone).trim_end().to_owned());
    }
    notes
}

/// How the command ended, and its last line of output.
fn failure(criterion: &Criterion, why: &str) -> String {
    let how = why.strip_prefix("failed (").and_then(|how| how.strip_suffix(')')).unwrap_or(why);
    let tail = criterion.receipt.as_ref().map_or("", |receipt| receipt.tail.as_str());
    match tail.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(last) => format!("{how}, last line: {}", bounded(last, LAST_LINE)),
        None => how.to_owned(),
    }
}

fn one_or_many(n: u64) -> &'static str {
    if n == 1 { "test" } else { "tests" }
}

pub(in crate::cli) fn worth(standing: ReceiptStatus) -> Colour {
    use ReceiptStatus::{Flaky, Kept, NotCompared, NotRun, Passes, Proven, Reviewed, Stale};
    match standing {
        Passes | Proven | Reviewed => Colour::Green,
        NotRun => Colour::Dim,
        Kept | NotCompared | Stale | Flaky => Colour::Yellow,
        _ => Colour::Red,
    }
}
