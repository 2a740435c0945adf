//! Asks reviewers about the criteria that no command can prove, once all commands hold, since a
//! review costs more than a command. `ralph_core::evidence::review` decides what a verdict is worth.

use super::observe::Start;
use super::round::record;
use super::trees::within;
use super::{CriteriaChoice, VerifyOrder, VerifyWork, Watcher};
use crate::command::context_dir::Here;
use crate::runs::reviewers::{self, ReviewRun, ReviewerAnswer, ReviewerOrder};
use crate::runs::screen::Screen;
use crate::verify::trees::{changed_since_start, tree_now};
use anyhow::{Context, Result};
use jiff::Timestamp;
use ralph_core::evidence::receipt::{ReceiptStatus, is_of_proof};
use ralph_core::evidence::request::{self, Refused};
use ralph_core::evidence::review::{self, ReviewFacts, Verdict, prompt};
use ralph_core::state::{
    Citation, Criterion, CriterionRunner, LoopState, REVIEWED, Receipt, ReviewReceipt,
};
use ralph_core::text::truncate::bounded;
use ralph_io::git::checkpoint;
use ralph_io::git::tree_id::Listing;
use ralph_io::process::clock;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::project::confined;
use ralph_io::store::loop_file::LoopFile;
use ralph_io::store::{atomic, checks, digest, notice, receipts};
use std::path::Path;
use std::time::Duration;

/// What ending the reviewers may take.
const TO_END: Duration = Duration::from_secs(8);

/// Judges the reviewed criteria that are due.
pub(super) fn judge(
    work: &mut VerifyWork<'_>,
    order: &VerifyOrder<'_>,
    watcher: &dyn Watcher,
) -> Result<()> {
    let due = due(work, order);
    if due.is_empty() || !commands_hold(work) {
        return Ok(());
    }
    let names: Vec<&str> = due.iter().map(|one| one.id.as_str()).collect();
    let names = names.join(", ");
    if work.is_out_of_time() {
        work.problem = format!("there was no time left to review {names}");
        return Ok(());
    }
    work.trees.read_again()?;
    let before = work.trees.now().clone();
    let began = clock::now();
    due.iter().for_each(|one| watcher.begins(one));
    work.ran = true;
    let answers = match ask(work, &due) {
        Ok(answers) => answers,
        Err(error) => {
            work.problem = format!("could not review {names}: {error:#}");
            return Ok(());
        }
    };
    work.trees.read_again()?;
    let changed = changed_since_start(order.file.folder(), &work.state);
    let speaking = review::speaking(&changed, &|file| text_of(&work.root, file));
    let speaking: Vec<String> = speaking
        .iter()
        .map(|one| format!("{}:{} speaks to its reviewer; ", one.file, one.line))
        .collect();
    for (criterion, answer) in due.into_iter().zip(answers) {
        work.trees.remember(&criterion.paths)?;
        let receipt = receipt(work, &criterion, answer, &before, began, &speaking.concat())?;
        record(work, criterion, receipt, watcher)?;
    }
    // What a hook starts in a round ends with its client; the driver calls the user then.
    if !(work.by == CriterionRunner::Hook && work.state.round.is_some()) {
        notice::call_if_judged(work.file, &work.state);
    }
    Ok(())
}

fn due(work: &VerifyWork<'_>, order: &VerifyOrder<'_>) -> Vec<Criterion> {
    let named = |one: &&Criterion| order.ids.is_empty() || order.ids.contains(&one.id);
    let is_due = |one: &&Criterion| {
        let standing = work.run_status(one);
        order.which == CriteriaChoice::Named
            || standing.wants_a_run()
            // A verdict that does not count settles nothing.
            || standing == ReceiptStatus::Vacuous
            || !is_of_proof(one)
    };
    let all = work.state.acceptance_criteria.iter().filter(|one| one.review.is_some());
    all.filter(named).filter(is_due).cloned().collect()
}

/// True if all commands hold on the current tree, by runs that prove as much as this one.
fn commands_hold(work: &VerifyWork<'_>) -> bool {
    let holds = |one: &Criterion| {
        let is_enough = work.by == CriterionRunner::Command || is_of_proof(one);
        is_enough && work.run_status(one) == ReceiptStatus::Passes
    };
    work.state.acceptance_criteria.iter().filter(|one| one.review.is_none()).all(holds)
}

/// What reviewers are asked in one run.
struct Inquiry<'a> {
    file: &'a LoopFile,
    state: &'a LoopState,
    interrupts: &'a Interrupts,
    until: Option<Timestamp>,
    keeps_limits: bool,
}

impl Inquiry<'_> {
    /// The answer about each criterion that was judged in time.
    fn ask(&self, due: &[Criterion]) -> Result<Vec<ReviewerAnswer>> {
        let here = Here::gather()?;
        let (tools, _) = reviewers::tools();
        let changed = changed_since_start(self.file.folder(), self.state);
        let orders = due.iter().map(|one| ReviewerOrder {
            name: one.id.clone(),
            prompt: prompt::of_criterion(self.state, one, &changed, tools),
        });
        let run = ReviewRun {
            here: &here,
            file: self.file,
            root: Path::new(&self.state.project_root),
            interrupts: self.interrupts,
            until: self.until,
            tools,
            keeps_limits: self.keeps_limits,
            args: &[],
        };
        let mut answers = reviewers::ask(run, Screen::quiet(), orders.collect())?;
        Ok(due.iter().filter_map(|one| answers.remove(&one.id)).collect())
    }
}

fn ask(work: &VerifyWork<'_>, due: &[Criterion]) -> Result<Vec<ReviewerAnswer>> {
    let (file, state, interrupts) = (work.file, &work.state, &Interrupts::catch()?);
    // A criterion is worth its last review, like its last command.
    Inquiry { file, state, interrupts, until: until(work), keeps_limits: false }.ask(due)
}

/// The verdict in an answer, and why it does not count; empty if it counts. The trees are those of before and after
/// the review.
fn weigh(
    state: &LoopState,
    answered: &ReviewerAnswer,
    paths: &[String],
    before: &Listing,
    after: &Listing,
) -> (Option<Verdict>, String) {
    let read = answered.answer.as_deref().map_err(Clone::clone);
    let verdict = match read.and_then(review::verdict) {
        Ok(verdict) => verdict,
        Err(why) => return (None, format!("the reviewer gave no verdict: {why}")),
    };
    let earlier = state.lineage.iter().map(|bound| bound.session_id.clone());
    let of_loop: Vec<String> =
        earlier.chain([state.session_id.clone()]).filter(|id| !id.is_empty()).collect();
    let facts = ReviewFacts {
        started: &answered.started.session_id,
        reported: answered.reported.as_deref(),
        of_loop: &of_loop,
        changed: &after.changed_since(before),
        tree_before: &within(before, paths).id(),
        tree_after: &within(after, paths).id(),
    };
    let root = Path::new(&state.project_root);
    let void = review::discounts(&verdict, &facts, &|file| evidence_of(root, after, file));
    (Some(verdict), void.unwrap_or_default())
}

/// git's diff of the tests since the start of the loop; empty where there is none.
pub(crate) fn diff_of_tests(file: &LoopFile, state: &LoopState) -> String {
    let read = || {
        let (kept, start) = (checks::start_of(file.folder())?, Start::read(file.folder(), state));
        let paths = start.ok()?.changed_harness(&state.acceptance_criteria);
        let diff = checkpoint::diff_since(&kept.root, &kept.tree, &paths).ok()?;
        (!paths.is_empty()).then(|| String::from_utf8_lossy(&diff).into_owned())
    };
    read().unwrap_or_default()
}

/// Asks a reviewer about what would be refused. Without a verdict nothing is excused.
pub(crate) fn decide(
    file: &LoopFile,
    state: &LoopState,
    interrupts: &Interrupts,
    refused: &Refused,
) -> (bool, String) {
    let question = request::question(refused, &diff_of_tests(file, state));
    one(file, state, interrupts, &question).unwrap_or_else(|error| (false, format!("{error:#}")))
}

/// Asks a reviewer what no run can show. Returns whether it holds, and why.
///
/// # Errors
/// When no reviewer could be asked.
fn one(
    file: &LoopFile,
    state: &LoopState,
    interrupts: &Interrupts,
    question: &str,
) -> Result<(bool, String)> {
    let asked = Criterion {
        id: "the change".to_owned(),
        description: "the change is what the goal asks for".to_owned(),
        review: Some(question.to_owned()),
        ..Criterion::default()
    };
    let before = tree_now(state)?;
    let inquiry = Inquiry { file, state, interrupts, until: None, keeps_limits: true };
    let answered = inquiry.ask(std::slice::from_ref(&asked))?.pop();
    let answered = answered.context("the reviewer was ended")?;
    Ok(match weigh(state, &answered, &[], &before, &tree_now(state)?) {
        (Some(found), void) if void.is_empty() => (found.holds, found.why),
        (Some(_), void) => (false, format!("the verdict does not count: {void}")),
        (None, why) => (false, why),
    })
}

/// When the reviewers must be done: with the commands' time, and with `command_seconds`.
fn until(work: &VerifyWork<'_>) -> Option<Timestamp> {
    let time = work.time_for_one();
    // The hook that waits for us gives up soon after.
    let spare = if time > Duration::from_secs(30) { TO_END } else { Duration::ZERO };
    clock::now().checked_add(time - spare).ok()
}

/// The text of a file in the project, or why it cannot be read.
pub(crate) fn text_of(root: &Path, file: &str) -> std::result::Result<String, String> {
    let path = Path::new(file);
    let is_plain = path.is_relative() && !path.components().any(|part| part.as_os_str() == "..");
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let text = is_plain.then(|| confined::text(&root, &root.join(path))).flatten();
    text.ok_or_else(|| "is no readable file of the project".to_owned())
}

/// The same for evidence, which must be in the tree that is judged.
fn evidence_of(root: &Path, tree: &Listing, file: &str) -> std::result::Result<String, String> {
    match text_of(root, file)? {
        text if tree.has(file) => Ok(text),
        _ => Err("is no file of the project's tree".to_owned()),
    }
}

fn receipt(
    work: &VerifyWork<'_>,
    criterion: &Criterion,
    answered: ReviewerAnswer,
    before: &Listing,
    began: Timestamp,
    speaking: &str,
) -> Result<Receipt> {
    let now = work.trees.now();
    let (verdict, void) = weigh(&work.state, &answered, &criterion.paths, before, now);
    let holds = verdict.as_ref().is_some_and(|found| found.holds);
    let word = verdict.as_ref().map_or("", |found| if found.holds { "holds" } else { "fails" });
    let text = answered.answer.unwrap_or_default();
    let name = receipts::output_name(&criterion.id, clock::now());
    let output = work.outputs.join(&name);
    atomic::write(&output, text.as_bytes())?;
    let (evidence, why): (Vec<Citation>, String) =
        verdict.map_or_else(Default::default, |found| (found.evidence, found.why));
    let found = ReviewReceipt {
        question: criterion.review.clone().unwrap_or_default(),
        session_id: answered.reported.unwrap_or_default(),
        verdict: word.to_owned(),
        evidence,
        why: bounded(&format!("{speaking}{why}"), 600),
        tokens: answered.tokens,
        cost: answered.cost,
        ..ReviewReceipt::default()
    };
    Ok(Receipt {
        kind: REVIEWED.to_owned(),
        passed: holds,
        vacuous: bounded(&void, 400),
        started_at: Some(began),
        duration_ms: u64::try_from(answered.duration.as_millis()).unwrap_or(u64::MAX),
        output_sha256: digest::of_file(&output),
        output_file: format!("receipts/{name}"),
        tail: review::reason(&found),
        review: Some(found),
        tree_before: within(before, &criterion.paths).id(),
        tree_after: work.trees.id_for(&criterion.paths),
        by: work.by,
        restored: work.surroundings.restored.clone(),
        differs: work.surroundings.differs.clone(),
        ..Receipt::default()
    })
}
