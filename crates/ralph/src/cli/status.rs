//! `ralph status`: lists loops and how far they are, for users and for programs.
//!
//! An unreadable loop is listed with the reason, never left out. Nothing is run or changed: a
//! receipt is compared with the present tree, and shown as stale if the tree has changed.

pub(super) mod text;

use crate::cli::{ralplan, refine, session};
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, Colour, visible};
use crate::command::select_loop::{self, FoundLoop};
use crate::command::select_shared::{SharedArgs, one_loop};
use crate::command::select_target::{Target, TargetArgs};
use crate::verify;
use anyhow::Result;
use jiff::Timestamp;
use ralph_core::evidence::pinned;
use ralph_core::evidence::receipt::{self, Proof, ReceiptStatus};
use ralph_core::protocol::client_version::ClientVersion;
use ralph_core::state::{Criterion, EndingKind, EndingTone, LoopState, PauseCause, Phase, Worker};
use ralph_core::tasks::graph;
use ralph_core::tasks::shared::view::View;
use ralph_core::text::plural::lasted;
use ralph_core::text::wrap;
use ralph_core::views::shared::{BranchStanding, SharedLoop};
use ralph_core::views::{messages, phrases};
use ralph_io::client::{self, transcript};
use ralph_io::git::shared::{SharedPlace, Trusted};
use ralph_io::project;
use ralph_io::store::lifecycle;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::mailbox::Mailbox;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Debug, Default, clap::Args)]
#[command(group = one_loop())]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// All loops of all projects, ended ones included
    #[arg(long, conflicts_with = "shared")]
    all: bool,
    /// What each round of a refinement proposed
    #[arg(long, alias = "trace", hide = true, requires = "of")]
    explain: bool,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    shared: SharedArgs,
}

#[derive(Default)]
struct LoopList {
    loops: Vec<LoopView>,
    unreadable: Vec<(PathBuf, String)>,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    if let Some(place) = args.shared.place(&here)? {
        return run_shared(&here, args.json, &place);
    }
    match args.target.target()? {
        Target::Orchestration(_) if args.all => return session::list(&here),
        Target::Orchestration(id) => return session::next::status(&here, id, args.json),
        Target::Planning(which) => return ralplan::status(&here, which, args.json),
        Target::Refinement(_) if args.all => return refine::show::list(&here, args.json),
        Target::Refinement(name) if args.explain => {
            return refine::show::explain(&here, name, args.json);
        }
        Target::Refinement(name) => return refine::show::status(&here, name, args.json),
        Target::Loop(_) | Target::Parallel(_) => {}
    }
    let listed = gather(&here, args)?;
    if args.json {
        return screen::print_json(&document(&listed, here.now));
    }
    let unreadable = listed.unreadable.iter().map(|(_, why)| {
        format!("{}  {}", screen::coloured("unreadable", Colour::Red), visible(why))
    });
    if args.all {
        let mut lines = lines(&listed.loops, here.now);
        lines.extend(unreadable);
        if lines.is_empty() {
            lines.push(nothing_live(&here));
        }
        return screen::print(&lines.join("\n"));
    }
    let mut blocks: Vec<String> =
        listed.loops.iter().map(|one| text::describe(one, here.now)).collect();
    blocks.extend(unreadable);
    if blocks.is_empty() {
        blocks.push(nothing_live(&here));
        let ended = select_loop::last_ended(&here).map(LoopView::at);
        blocks.extend(ended.map(|one| text::describe(&one, here.now)));
    }
    screen::print(&blocks.join("\n\n"))
}

fn gather(here: &Here, args: &Args) -> Result<LoopList> {
    let mut listed = LoopList::default();
    if args.target.which.is_named() {
        let found = select_loop::named(here, &args.target.which)?;
        let found = found.ok_or_else(|| refused(Exit::No, "there is no such loop"))?;
        listed.loops.push(LoopView::at(found));
        return Ok(listed);
    }
    let identity = here.project();
    let is_meant = |state: &LoopState| {
        let open = state.is_live() || state.phase == Phase::Planned;
        open && project::identity(Path::new(&state.project_root)) == identity
    };
    let ended = if args.all { lifecycle::ended(&here.home) } else { Vec::new() };
    let mut all: Vec<_> = select_loop::everything(here).into_iter().chain(ended).collect();
    if args.all {
        // The newest first, and what cannot be read last.
        all.sort_by_key(|(_, state)| {
            std::cmp::Reverse(state.as_ref().ok().map(|state| state.created_at))
        });
    }
    for (file, state) in under_each_other(all) {
        match state {
            Ok(state) if args.all || is_meant(&state) => {
                listed.loops.push(LoopView::at(select_loop::FoundLoop::seen(file, state)));
            }
            Ok(_) => {}
            Err(error) => listed.unreadable.push((file.path().to_owned(), format!("{error:#}"))),
        }
    }
    Ok(listed)
}

/// Puts the loops of workers directly after the loop that they work for.
pub(super) fn under_each_other(
    all: Vec<(LoopFile, Result<LoopState>)>,
) -> Vec<(LoopFile, Result<LoopState>)> {
    let (below, mut all): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, state)| above(state).is_some());
    for one in below.into_iter().rev() {
        let id = above(&one.1).map(str::to_owned);
        let at = all.iter().position(|(_, state)| {
            state.as_ref().is_ok_and(|state| Some(&state.loop_id) == id.as_ref())
        });
        all.insert(at.map_or(all.len(), |at| at + 1), one);
    }
    all
}

fn above(state: &Result<LoopState>) -> Option<&str> {
    state.as_ref().ok().and_then(|state| state.parent.as_deref())
}

fn nothing_live(here: &Here) -> String {
    screen::wrapped(
        &format!(
            "no loop is live or planned in `{}`; type /ralph \"what to do\" in Claude Code, or \
             `ralph status --all` for all loops",
            here.root.display()
        ),
        0,
        0,
    )
}

// A loop with what its project adds to its state.
//
// Only a live loop's project is examined: after the end its files may be anyone's. If the tree
// cannot be examined, the receipts count as they are.

pub(in crate::cli) struct LoopView {
    pub(in crate::cli) file: LoopFile,
    pub(in crate::cli) state: LoopState,
    /// `None` if the tree was not, or could not be, examined.
    proof: Option<Proof>,
}

impl LoopView {
    /// Examines the project of a live loop.
    pub(in crate::cli) fn at(found: FoundLoop) -> LoopView {
        let FoundLoop { file, state, .. } = found;
        let asks = |one: &Criterion| one.receipt.is_some();
        let proof = (state.is_live() && state.acceptance_criteria.iter().any(asks))
            .then(|| verify::current_proof(&file, &state).ok())
            .flatten();
        LoopView { file, state, proof }
    }

    /// Reads the state alone: examining the tree costs too much for a display that refreshes often.
    pub(in crate::cli) fn glimpsed(found: FoundLoop) -> LoopView {
        LoopView { file: found.file, state: found.state, proof: None }
    }

    pub(in crate::cli) fn criterion_status(&self, criterion: &Criterion) -> ReceiptStatus {
        match &self.proof {
            Some(proof) => proof.criterion_status(criterion),
            None => receipt::criterion_status(criterion, None),
        }
    }

    /// The first few files that made a receipt stale.
    pub(in crate::cli) fn changed(&self, criterion: &Criterion) -> &[String] {
        let changed = self.proof.as_ref().and_then(|proof| proof.changed.get(&criterion.id));
        changed.map_or(&[], Vec::as_slice)
    }

    /// Whether the criterion is proven: now, or for an ended loop when it ended
    /// or was last verified.
    fn is_proven(&self, criterion: &Criterion) -> bool {
        match self.state.ending {
            Some(_) => criterion.verified,
            None => receipt::is_of_proof(criterion) && self.criterion_status(criterion).is_met(),
        }
    }

    /// How the turn was interrupted, if no event has reported it yet: the client fires
    /// no hook for Esc.
    pub(in crate::cli) fn cut(&self) -> Option<PauseCause> {
        let turn = self.state.turn.as_ref().filter(|_| self.state.is_running())?;
        transcript::cut_by(&transcript_of(&self.state)?, Some(turn.at))
    }

    /// The version of the client of a live loop's session, if its transcript tells it.
    pub(in crate::cli) fn client(&self) -> Option<ClientVersion> {
        self.state.is_live().then(|| transcript::client_version(&transcript_of(&self.state)?))?
    }

    /// Whole minutes of working time; none for a loop that never started.
    fn minutes(&self, now: Timestamp) -> Option<u64> {
        let until = self.state.ending.as_ref().map_or(now, |ending| ending.at);
        self.state.started_at.map(|_| self.state.worked_seconds(until) / 60)
    }

    /// How many signals the model has not received.
    pub(in crate::cli) fn signals_waiting(&self) -> usize {
        Mailbox::for_loop(&self.file, &self.state).waiting().len()
    }

    /// The number of the last checkpoint; none if none was, or could be, made.
    fn checkpoint_number(&self) -> Option<u32> {
        let reference = &self.state.checkpoint.as_ref()?.reference;
        reference.rsplit('/').next()?.parse().ok()
    }
}

/// The transcript of the loop's session: the file that its tokens were counted from, else the
/// client's usual place.
pub(in crate::cli) fn transcript_of(state: &LoopState) -> Option<PathBuf> {
    if state.session_id.is_empty() {
        return None;
    }
    let is_of = |path: &&String| {
        Path::new(path).file_stem().is_some_and(|stem| stem == state.session_id.as_str())
    };
    let counted = state.usage.sources.keys().find(is_of).map(PathBuf::from);
    counted.or_else(|| client::transcript(Path::new(&state.project_root), &state.session_id))
}

// All loops, one line each.

/// What the columns show. The goal comes last: it is cut at the width of the terminal.
const HEAD: [&str; 6] = ["LOOP", "STATE", "AT", "TIME", "PROJECT", "GOAL"];

const STATE: usize = 1;

/// A heading, and one line for each loop.
fn lines(loops: &[LoopView], now: Timestamp) -> Vec<String> {
    if loops.is_empty() {
        return Vec::new();
    }
    let rows: Vec<[String; 6]> = loops.iter().map(|one| row(one, now)).collect();
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(wrap::columns(cell));
        }
    }
    let mut lines = vec![screen::coloured(&line(&HEAD.map(str::to_owned), &widths), Colour::Dim)];
    let from = widths[0] + 2;
    lines.extend(loops.iter().zip(&rows).map(|(one, row)| {
        let line = line(row, &widths);
        let word = &row[STATE];
        match line.get(from..).and_then(|rest| rest.strip_prefix(word.as_str())) {
            Some(rest) => format!("{}{}{rest}", &line[..from], screen::coloured(word, colour(one))),
            None => line,
        }
    }));
    lines
}

fn row(one: &LoopView, now: Timestamp) -> [String; 6] {
    let state = &one.state;
    let position = messages::place(state);
    let since = |at: Timestamp| lasted(now.duration_since(at).as_secs());
    let time = match (&state.ending, state.started_at) {
        (Some(ending), _) => format!("{} ago", since(ending.at)),
        (None, Some(_)) => messages::lasted(state, now),
        (None, None) => String::new(),
    };
    let project = Path::new(&state.project_root).file_name().unwrap_or_default();
    let goal = state.prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let below = if state.parent.is_some() { "  " } else { "" };
    [
        format!("{below}{}", state.loop_id),
        phrases::loop_status(state),
        position,
        time,
        project.to_string_lossy().into_owned(),
        goal,
    ]
    .map(|cell| visible(&cell))
}

fn line(row: &[String; 6], widths: &[usize; 6]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        let pad = width.saturating_sub(wrap::columns(cell));
        line.push_str(&format!("{cell}{:pad$}  ", ""));
    }
    screen::cut(line.trim_end())
}

/// The same colours as on every screen.
fn colour(one: &LoopView) -> Colour {
    match phrases::rated(&one.state) {
        None if one.state.is_running() => Colour::Green,
        Some(EndingTone::Good) => Colour::Green,
        Some(EndingTone::Look) => Colour::Yellow,
        Some(EndingTone::Wrong) => Colour::Red,
        None | Some(EndingTone::Quiet) => Colour::Dim,
    }
}

// A loop that machines share: how it stands on the remote.

fn run_shared(here: &Here, json: bool, place: &SharedPlace) -> Result<Exit> {
    let view = place.read()?;
    let shared = shared_loop(here, place, &view)?;
    match json {
        true => screen::print_json(&shared.document()),
        false => screen::print(&describe(&shared)),
    }
}

/// The loop as of the last fetch.
pub(in crate::cli) fn shared_loop<'a>(
    here: &Here,
    place: &'a SharedPlace,
    view: &'a View,
) -> Result<SharedLoop<'a>> {
    let digest = place.digest(&view.ledger)?;
    let trusted = place.trusted(&here.home, &view.ledger, &digest);
    Ok(SharedLoop {
        space: place.space(),
        remote: place.remote(),
        view,
        branch: branch(place, view)?,
        digest,
        is_trusted: trusted == Trusted::Yes,
        replaced: if let Trusted::Another(before) = trusted { Some(before) } else { None },
    })
}

fn branch(place: &SharedPlace, view: &View) -> Result<BranchStanding> {
    let (records, merged) = (place.records(), &view.ledger.branch);
    let Some(proven) = &view.ledger.tree else { return Ok(BranchStanding::Empty) };
    let tree = records.tree(merged)?;
    if tree != *proven {
        return Ok(BranchStanding::OtherTree(tree));
    }
    let Some(tip) = records.snapshot()?.branch else { return Ok(BranchStanding::Missing) };
    Ok(if tip == *merged {
        BranchStanding::Proven
    } else if records.contains(&tip, merged)? {
        BranchStanding::Ahead
    } else if records.contains(merged, &tip)? {
        BranchStanding::Behind
    } else {
        BranchStanding::Replaced
    })
}

pub(in crate::cli) fn describe(shared: &SharedLoop<'_>) -> String {
    let colour = match &shared.view.ledger.end {
        Some(end) if end.ending == EndingKind::Complete => Colour::Green,
        Some(_) => Colour::Red,
        None if shared.view.ledger.pause.is_some() => Colour::Yellow,
        None => Colour::Green,
    };
    let state = screen::coloured(&screen::visible(&shared.state()), colour);
    let mut shown = format!("{}  {state}  {}", shared.space.loop_id(), shared.position());
    for (label, value) in shared.rows() {
        shown.push_str(&text::row(label, &value));
    }
    shown
}

// The list as JSON. `docs/reference/status.md` describes each member; a test keeps
// the two in step.

fn document(listed: &LoopList, now: Timestamp) -> Value {
    let loops: Vec<Value> = listed.loops.iter().map(|one| loop_document(one, now)).collect();
    let unreadable: Vec<Value> = listed
        .unreadable
        .iter()
        .map(|(path, reason)| json!({"path": path.display().to_string(), "reason": reason}))
        .collect();
    json!({"schema_version": 1, "loops": loops, "unreadable": unreadable})
}

fn loop_document(one: &LoopView, now: Timestamp) -> Value {
    let state = &one.state;
    let criteria: Vec<Value> = state
        .acceptance_criteria
        .iter()
        .map(|criterion| criterion_document(one, criterion))
        .collect();
    json!({
        "loop_id": state.loop_id,
        "session_id": state.session_id,
        "parent": state.parent,
        "mode": state.mode.word(),
        "phase": state.phase,
        "resume_phase": state.resume_phase,
        "iteration": state.iteration,
        "max_iterations": state.max_iterations,
        "project_root": state.project_root,
        "prompt": state.prompt,
        "completion": state.completion,
        "criteria": criteria,
        "criteria_as_agreed": pinned::is_as_frozen(state),
        "baseline_pending": state.baseline_pending,
        "tasks": graph::summary(&state.task_graph, now),
        "progress": {
            "signal": state.progress.signal,
            "standing": state.progress.standing,
            "same_failure": state.progress.same_failure,
            "stall_limit": state.stall_limit,
        },
        "tokens": {"used": state.usage.total(), "limit": state.limits.max_tokens},
        "cost": {"used": state.usage.cost, "limit": state.limits.max_cost},
        "minutes": {"used": one.minutes(now), "limit": state.limits.max_minutes},
        "checkpoint": state.checkpoint.as_ref().map(|green| json!({
            "number": one.checkpoint_number(),
            "reference": green.reference,
            "at": green.at,
        })),
        "blocked": state.blocked,
        "cut": one.cut(),
        "client": one.client().map(|version| version.to_string()),
        "workers": state.workers.iter().map(worker_document).collect::<Vec<_>>(),
        "signals": {"waiting": one.signals_waiting()},
        "ralplan": state.ralplan().map(|plan| json!({
            "phase": plan.phase,
            "iteration": plan.iteration,
            "max_iterations": plan.max_iterations,
            "plan_path": plan.plan_path,
            "plan_hash": plan.plan_hash,
            "forced": plan.forced,
        })),
        "session": state.orchestration().map(|session| json!({
            "id": session.id,
            "calls": session.calls.iter().map(|call| json!({
                "mode": call.mode, "task": call.task, "iteration": call.iteration, "since": call.since,
            })).collect::<Vec<_>>(),
        })),
        "refine": state.refining().map(|refining| json!({
            "session": refining.name,
            "open": refining.open,
            "agents_called": refining.calls.len(),
        })),
        "pause": state.pause,
        "ending": state.ending,
        "next": text::next(one),
        "created_at": state.created_at,
        "started_at": state.started_at,
        "updated_at": state.updated_at,
        "started_by": state.started_by,
        "state_file": one.file.path().display().to_string(),
    })
}

fn worker_document(worker: &Worker) -> Value {
    json!({
        "task": worker.task,
        "about": worker.about,
        "kind": worker.kind,
        "standing": worker.standing,
        "at": worker.at,
        "worktree": worker.worktree,
        "branch": worker.branch,
        "awaits_merge": worker.awaits_merge(),
        "merged": worker.merged,
        "kept_out": worker.kept_out,
    })
}

fn criterion_document(one: &LoopView, criterion: &Criterion) -> Value {
    let receipt = criterion.receipt.as_ref();
    json!({
        "id": criterion.id,
        "description": criterion.description,
        "command": criterion.verification_command,
        "review": criterion.review,
        "verified": one.is_proven(criterion),
        "state": one.criterion_status(criterion).as_str(),
        "changed": one.changed(criterion),
        "exit_code": receipt.and_then(|receipt| receipt.exit_code),
        "tests_run": receipt.and_then(|receipt| receipt.tests_run),
        "tests_expected": criterion.tests_expected,
        "tests_skipped": receipt.map(|receipt| receipt.tests_skipped),
        "tests_failed": receipt.map(|receipt| receipt.tests_failed),
        "held_before": criterion.held_before,
        "turned_red": criterion.turned_red,
    })
}
