//! Observes what a criterion that passes is worth, by runs of its command on other files in the same place.
//!
//! Each observation is stored as soon as it is made, so an interrupted request keeps its results. What does not fit
//! into the time of a request goes on at the next one.

mod broken;
mod start;

pub(crate) use start::Start;

use super::round::{VerifyRound, ended};
use super::{Pace, VerifyOrder, VerifyWork, Watcher};
use anyhow::Result;
use ralph_core::evidence::harness::{self, Parted, SeenFile};
use ralph_core::evidence::observed::{self, Judged, WhatWasRead};
use ralph_core::evidence::pinned;
use ralph_core::evidence::receipt::{self, ReceiptStatus, is_of_proof};
use ralph_core::state::{Criterion, CriterionRunner, Observation, Observed, Outcome};
use ralph_core::text::hex::sha256;
use ralph_core::text::plural::counted;
use ralph_io::git::checkpoint::{ChangedSince, FileKind};
use ralph_io::process::clock;
use ralph_io::process::command::{CommandEnd, CommandOrder};
use ralph_io::process::elsewhere::{self, ElsewhereRun, OtherFile, OtherFiles, OtherForm, Way};
use ralph_io::store::receipts;
use start::NoStart;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is due for one criterion, by the name that the status line shows.
const ORIGINAL: &str = "original tests";
const WITHOUT: &str = "without the change";
const BROKEN: &str = "a broken test must fail";
const CLEAN: &str = "in a clean copy";

/// Observes all criteria, if the command of each of them passed. For show: those of the named ones that passed.
pub(super) fn observe(
    work: &mut VerifyWork<'_>,
    order: &VerifyOrder<'_>,
    watcher: &dyn Watcher,
) -> Result<()> {
    elsewhere::forget_killed(&store_folder(work)?);
    let is_for_show = work.by == CriterionRunner::Command;
    let mut all: Vec<Criterion> =
        work.state.acceptance_criteria.iter().filter(|one| one.review.is_none()).cloned().collect();
    if is_for_show {
        // What an earlier request observed may come from another environment.
        all.iter_mut().for_each(|one| one.observed = Observed::default());
    }
    let has_passed = |one: &Criterion| {
        receipt::run_status(one, Some(&work.trees.id_for(&one.paths))) == ReceiptStatus::Passes
            && (is_of_proof(one) || is_for_show)
    };
    if is_for_show {
        all.retain(|one| has_passed(one) && (order.ids.is_empty() || order.ids.contains(&one.id)));
    }
    if all.is_empty() || !all.iter().all(has_passed) {
        return Ok(());
    }
    let start = match Start::read(work.file.folder(), &work.state) {
        Ok(start) => start,
        Err(reason) => return not_compared(work, &all, &reason),
    };
    work.change = Some(start.change(&all));
    Observer {
        work,
        watcher,
        start,
        way: None,
        spent: 0,
        is_unfinished: false,
        clean: order.clean,
        n_criteria: 0,
        n_steps_done: 0,
    }
    .run(all)
}

/// Where runs on other files have their folders.
fn store_folder(work: &VerifyWork<'_>) -> Result<PathBuf> {
    Ok(receipts::outputs(work.file.folder())?.with_file_name("elsewhere"))
}

/// Records for all criteria that nothing can be compared.
fn not_compared(work: &mut VerifyWork<'_>, all: &[Criterion], reason: &NoStart) -> Result<()> {
    for criterion in all {
        let observed = Observed {
            tree: work.trees.id_for(&criterion.paths),
            not_compared: reason.why.clone(),
            was_comparable: reason.was_kept,
            ..Observed::default()
        };
        store(work, criterion, observed)?;
    }
    Ok(())
}

/// Writes what was observed into the state.
fn store(work: &mut VerifyWork<'_>, criterion: &Criterion, observed: Observed) -> Result<()> {
    if work.by == CriterionRunner::Command {
        let own = work.state.acceptance_criteria.iter_mut().find(|one| one.id == criterion.id);
        own.into_iter().for_each(|one| one.observed = observed.clone());
        work.shown.insert(criterion.id.clone(), observed);
        return Ok(());
    }
    work.update(|state| {
        let same = |one: &&mut Criterion| {
            one.id == criterion.id && one.verification_command == criterion.verification_command
        };
        if let Some(one) = state.acceptance_criteria.iter_mut().find(same) {
            one.observed = observed;
        }
    })
}

/// One kind of observation. Returns false if no time is left for it.
type Step<T> = fn(&mut T, &mut Subject, bool) -> Result<bool>;

/// The observations of one request.
struct Observer<'w, 'a> {
    work: &'w mut VerifyWork<'a>,
    watcher: &'w dyn Watcher,
    start: Start,
    /// How commands can run on other files here; probed when the first one has to.
    way: Option<Way>,
    /// Runs made in this request.
    spent: usize,
    is_unfinished: bool,
    clean: bool,
    /// Criteria that are done, and steps of the one under observation.
    n_criteria: usize,
    n_steps_done: usize,
}

/// One criterion under observation.
struct Subject {
    criterion: Criterion,
    parted: Vec<Parted>,
    named: Vec<String>,
    /// The tree of the criterion's receipt.
    tree: String,
    seen: Observed,
    /// Test files that the command opened in the runs so far; `None` before the first run.
    opened: Option<BTreeSet<PathBuf>>,
}

impl Observer<'_, '_> {
    fn run(mut self, mut all: Vec<Criterion>) -> Result<()> {
        // Those that count tests first: beside one that is proven, a linter has nothing to show.
        all.sort_by_key(|one| !counts_tests(one));
        let mut has_proof = false;
        let n_all = all.len() * self.n_steps();
        for criterion in all {
            let may_leave_out = has_proof && !counts_tests(&criterion);
            self.criterion(criterion.clone(), may_leave_out)?;
            if self.is_unfinished {
                break;
            }
            self.n_criteria += 1;
            let now = self.work.state.acceptance_criteria.iter().find(|one| one.id == criterion.id);
            // All have passed, so only what was observed decides, also in a run that is only for show.
            has_proof |= now.is_some_and(|one| {
                one.receipt
                    .as_ref()
                    .is_some_and(|it| observed::shown(one, it) == ReceiptStatus::Proven)
            });
        }
        if self.is_unfinished {
            let n_done = self.n_criteria * self.n_steps() + self.n_steps_done;
            self.work.unfinished =
                format!("{n_done} of {} done; ask again", counted(n_all, "check", "checks"));
        } else {
            self.together()?;
        }
        self.show("")
    }

    fn criterion(&mut self, criterion: Criterion, may_leave_out: bool) -> Result<()> {
        self.n_steps_done = 0;
        let named = self.start.named(&criterion);
        let parted = self.start.part(&named, &self.work.state.tests_may_change);
        let tree = self.work.trees.id_for(&criterion.paths);
        // Why nothing could be compared may be over by now.
        let is_compared = criterion.observed.not_compared.is_empty();
        // The tree leaves out what commands make anew.
        let is_whole = self.work.state.outputs.is_empty();
        if criterion.observed.tree == tree
            && is_compared
            && is_whole
            && !observed::is_flaky(&criterion.observed)
        {
            return Ok(());
        }
        let mut subject = Subject {
            seen: criterion.observed.clone(),
            criterion,
            parted,
            named,
            tree,
            opened: None,
        };
        let made = subject.seen.clone();
        subject.seen.tree = String::new();
        subject.seen.not_compared = String::new();
        if self.n_steps() < 4 {
            subject.seen.clean = None;
        }
        if !subject.parted.iter().any(|one| one.code_changed) {
            let (outcome, why) = (Outcome::Passed, observed::NO_CHANGE.to_owned());
            let without = Some(Observation { outcome, why, ..Observation::default() });
            subject.seen = Observed { without, ..Observed::default() };
            return self.done(subject);
        }
        if let Some(why) = self.left_out(&subject.criterion) {
            subject.seen = Observed { not_compared: why, ..Observed::default() };
            return self.done(subject);
        }
        let cannot = match self.way()? {
            Way::Overlay => None,
            // A copy stands at another path, which a command may not bear.
            Way::Copy { .. } => match self.control(&mut subject)? {
                Some(true) => None,
                Some(false) => Some("it fails in an unchanged copy of the project".to_owned()),
                None => {
                    self.is_unfinished = true;
                    return store(self.work, &subject.criterion, subject.seen);
                }
            },
            Way::Nowhere { why } => Some(why),
        };
        if let Some(why) = cannot {
            let runs = [&made.original, &made.without, &made.broken].into_iter().flatten();
            subject.seen.was_comparable =
                runs.into_iter().any(|run| run.why != observed::NO_CHANGE);
            subject.seen.not_compared = why;
            return self.done(subject);
        }
        let steps: [Step<Self>; 4] = [Self::original, Self::without, Self::broken, Self::clean];
        for (nth, step) in steps.into_iter().take(self.n_steps()).enumerate() {
            self.n_steps_done = nth;
            if !step(self, &mut subject, may_leave_out)? {
                self.is_unfinished = true;
                return store(self.work, &subject.criterion, subject.seen);
            }
            store(self.work, &subject.criterion, subject.seen.clone())?;
        }
        // The files may have changed while the command ran: then nothing of it counts.
        self.work.trees.refresh_listing()?;
        if self.work.trees.id_for(&subject.criterion.paths) != subject.tree {
            return store(self.work, &subject.criterion, Observed::default());
        }
        self.name_scripts(&subject);
        self.done(subject)
    }

    fn n_steps(&self) -> usize {
        if self.clean && self.work.settings.evidence().clean.is_some() { 4 } else { 3 }
    }

    fn done(&mut self, subject: Subject) -> Result<()> {
        let seen = Observed { tree: subject.tree, ..subject.seen };
        store(self.work, &subject.criterion, seen)?;
        let mut now = self.work.state.acceptance_criteria.iter();
        let now = now.find(|one| one.id == subject.criterion.id);
        if let Some(criterion) = now {
            let receipt = criterion.receipt.as_ref();
            let shown = receipt.map(|receipt| observed::shown(criterion, receipt));
            self.watcher.ended(criterion, shown.unwrap_or(ReceiptStatus::NotRun));
        }
        Ok(())
    }

    /// A command that the user's settings leave out.
    fn left_out(&self, criterion: &Criterion) -> Option<String> {
        let evidence = self.work.settings.evidence();
        let is_left_out = evidence.not_observed.contains(&criterion.verification_command);
        is_left_out.then(|| "the settings leave it out (`evidence.not_observed`)".to_owned())
    }

    fn way(&mut self) -> Result<Way> {
        if let Some(way) = &self.way {
            return Ok(way.clone());
        }
        let way = elsewhere::way(&self.work.ralph, &self.start.top, &store_folder(self.work)?);
        self.way = Some(way.clone());
        Ok(way)
    }

    /// The present code with the harness of the start.
    fn original(&mut self, subject: &mut Subject, _: bool) -> Result<bool> {
        let is_needed =
            subject.parted.iter().any(|one| !matches!(one.original_tests, SeenFile::AsNow))
                && !self.names_an_added_test(subject);
        if !is_needed {
            subject.seen.original = None;
            return Ok(true);
        }
        let key = sha256(format!("{} {}", self.start.tree, subject.tree));
        if is_made(&subject.seen.original, &key) {
            return Ok(true);
        }
        let files = self.files(subject, |one| &one.original_tests);
        let Some(first) = self.observed_twice(subject, ORIGINAL, &files, Outcome::Failed)? else {
            return Ok(false);
        };
        let mut first = first;
        if first.outcome == Outcome::Failed && first.failing.is_empty() {
            first.why = observed::without_a_name(&first.why, &self.changed_harness(subject));
        }
        // Without the tests of now nothing ran: the start had none.
        let ran_nothing = first.outcome == Outcome::Passed && first.tests_run == Some(0);
        subject.seen.original = (!ran_nothing).then_some(Observation { key, ..first });
        Ok(true)
    }

    /// The paths of the files that belong to the harness and changed.
    fn changed_harness(&self, subject: &Subject) -> Vec<String> {
        let changed = self.start.files.iter().zip(&subject.parted);
        let changed = changed.filter(|(_, one)| one.harness_changed);
        changed.map(|(file, _)| file.path.display().to_string()).collect()
    }

    /// True if the command names a test file that the start did not have: it has no original form.
    fn names_an_added_test(&self, subject: &Subject) -> bool {
        let is_added = |file: &ChangedSince| {
            let path = file.path.to_string_lossy();
            let command = &subject.criterion.verification_command;
            file.start.is_none()
                && (subject.named.iter().any(|one| *one == path)
                    || pinned::names_module(command, &path))
        };
        self.start
            .files
            .iter()
            .zip(&subject.parted)
            .any(|(file, one)| one.harness_changed && is_added(file))
    }

    /// The present harness on the code of the start.
    fn without(&mut self, subject: &mut Subject, may_leave_out: bool) -> Result<bool> {
        if may_leave_out {
            subject.seen.without = None;
            return Ok(true);
        }
        let key = self.key_without(subject);
        if is_made(&subject.seen.without, &key) {
            return Ok(true);
        }
        let files = self.files(subject, |one| &one.without_change);
        let Some(found) = self.observed(subject, WITHOUT, &files)? else { return Ok(false) };
        subject.seen.without = Some(Observation { key, ..found });
        Ok(true)
    }

    /// Digest of what the command saw without the change: a fix of the code needs no new run.
    fn key_without(&self, subject: &Subject) -> String {
        let mut text = self.start.tree.clone();
        for (file, one) in self.start.files.iter().zip(&subject.parted) {
            let digest = match &one.without_change {
                SeenFile::Absent => "absent".to_owned(),
                SeenFile::Other(content) => sha256(content),
                SeenFile::AsNow => {
                    file.now.as_ref().map_or("gone".to_owned(), |form| sha256(&form.content))
                }
            };
            let _ = write!(text, "\n{} {digest}", file.path.display());
        }
        sha256(text)
    }

    /// Once in a copy without ignored files, as `[evidence] clean` asks.
    fn clean(&mut self, subject: &mut Subject, _: bool) -> Result<bool> {
        let Some(clean) = self.work.settings.evidence().clean else { return Ok(true) };
        let key = sha256(format!("{} {clean}", subject.tree));
        if is_made(&subject.seen.clean, &key) {
            return Ok(true);
        }
        // Only what git ignores: new files that are in no commit yet are the work itself.
        let command = format!(
            "HOME=$(mktemp -d) && export HOME && (cd {top} && git clean -Xfdq && {{ {clean}\n}}) || exit {NOT_MADE}\n{command}",
            top = quoted(&self.start.top),
            command = subject.criterion.verification_command,
        );
        let Some(run) = self.elsewhere_as(subject, CLEAN, &OtherFiles::default(), &command)? else {
            return Ok(false);
        };
        let mut found = observation(&run);
        found.outcome = match run.run.ended {
            CommandEnd::Exited(0) => Outcome::Passed,
            CommandEnd::Exited(NOT_MADE) => {
                found.why = format!("`{clean}` failed: {}", run.run.error);
                Outcome::Unknown
            }
            CommandEnd::Exited(_) => Outcome::Failed,
            _ => {
                found.why = ended(&run.run);
                Outcome::Unknown
            }
        };
        subject.seen.clean = Some(Observation { key, ..found });
        Ok(true)
    }

    /// Runs on other files, once more if it went as `again` says; two runs that differ are flaky.
    fn observed_twice(
        &mut self,
        subject: &mut Subject,
        what: &str,
        files: &OtherFiles,
        again: Outcome,
    ) -> Result<Option<Observation>> {
        let Some(first) = self.observed(subject, what, files)? else { return Ok(None) };
        if first.outcome != again {
            return Ok(Some(first));
        }
        let Some(second) = self.observed(subject, what, files)? else { return Ok(None) };
        Ok(Some(match second.outcome == first.outcome {
            true => second,
            false => Observation { outcome: Outcome::Flaky, ..second },
        }))
    }

    /// Runs on other files and judges the run. `None` if no time is left.
    fn observed(
        &mut self,
        subject: &mut Subject,
        what: &str,
        files: &OtherFiles,
    ) -> Result<Option<Observation>> {
        let Some(run) = self.elsewhere(subject, what, files)? else { return Ok(None) };
        let mut found = observation(&run);
        // What the run that passed printed, too, is no reason for a failure.
        let known = subject.criterion.receipt.as_ref().map_or("", |receipt| receipt.tail.as_str());
        if known.lines().any(|line| line.contains(&found.why)) {
            found.why.clear();
        }
        let read = what_was_read(&run, files);
        found.read_nothing = read == WhatWasRead::Nothing;
        let names_a_test = run.run.tests.failed > 0 || !run.run.failing.is_empty();
        let command = &subject.criterion.verification_command;
        let mut judged = match run.run.ended {
            CommandEnd::Exited(code) => observed::judge(code, names_a_test, read, command),
            _ => Judged::Unknown(ended(&run.run)),
        };
        if judged == Judged::NeedsControl {
            let Some(passes) = self.control(subject)? else { return Ok(None) };
            judged = match passes {
                true => Judged::Failed,
                false => {
                    let error = if found.why.is_empty() { "it fails" } else { &found.why };
                    Judged::Unknown(format!("the command cannot run beside the work tree: {error}"))
                }
            };
        }
        match judged {
            Judged::Passed => found.outcome = Outcome::Passed,
            Judged::Unknown(why) => (found.outcome, found.why) = (Outcome::Unknown, why),
            Judged::Failed | Judged::NeedsControl => found.outcome = Outcome::Failed,
        }
        Ok(Some(found))
    }

    /// Whether the command passes on the unchanged files in the other place; once for a tree. `None` if no time is left.
    fn control(&mut self, subject: &mut Subject) -> Result<Option<bool>> {
        let key = subject.tree.clone();
        if let Some(made) = subject.seen.control.as_ref().filter(|made| made.key == key) {
            return Ok(Some(made.outcome == Outcome::Passed));
        }
        let Some(run) = self.elsewhere(subject, "the unchanged files", &OtherFiles::default())?
        else {
            return Ok(None);
        };
        let passes = run.run.ended == CommandEnd::Exited(0);
        let outcome = if passes { Outcome::Passed } else { Outcome::Failed };
        subject.seen.control = Some(Observation { key, outcome, ..observation(&run) });
        Ok(Some(passes))
    }

    /// The changed files as one observation sees them.
    fn files(&self, subject: &Subject, which: impl Fn(&Parted) -> &SeenFile) -> OtherFiles {
        let changed = self.start.files.iter().zip(&subject.parted);
        let replaced = changed.filter_map(|(file, parted)| {
            let kind = file.start.as_ref().or(file.now.as_ref()).map(|form| form.kind);
            let form = match which(parted) {
                SeenFile::AsNow => return None,
                SeenFile::Absent => OtherForm::Absent,
                SeenFile::Other(target) if kind == Some(FileKind::Link) => {
                    OtherForm::Link(PathBuf::from(OsStr::from_bytes(target)))
                }
                SeenFile::Other(content) => {
                    let is_executable = kind == Some(FileKind::Executable);
                    OtherForm::File { content: content.clone(), is_executable }
                }
            };
            Some(OtherFile { path: self.start.top.join(&file.path), form })
        });
        let replaced: Vec<OtherFile> = replaced.collect();
        let watched = self.start.tests().into_iter().map(|path| self.start.top.join(path));
        let watched = watched.filter(|path| replaced.iter().all(|one| one.path != *path)).collect();
        OtherFiles { replaced, watched }
    }

    fn elsewhere(
        &mut self,
        subject: &mut Subject,
        what: &str,
        files: &OtherFiles,
    ) -> Result<Option<ElsewhereRun>> {
        let command = subject.criterion.verification_command.clone();
        self.elsewhere_as(subject, what, files, &command)
    }

    /// Runs a command on other files. `None` if the request has no time left for it.
    fn elsewhere_as(
        &mut self,
        subject: &mut Subject,
        what: &str,
        files: &OtherFiles,
        command: &str,
    ) -> Result<Option<ElsewhereRun>> {
        let deadline = self.work.time_for_one();
        let usual = subject.criterion.receipt.as_ref().map_or(0, |receipt| receipt.duration_ms);
        let expected = Duration::from_millis(usual.saturating_add(usual / 2).saturating_add(500));
        if deadline.is_zero() || (self.spent > 0 || self.work.ran) && deadline < expected {
            return Ok(None);
        }
        let of = format!("{} of {}: {what}", self.n_steps_done + 1, self.n_steps());
        let which = match self.work.state.acceptance_criteria.len() {
            1 => String::new(),
            _ => format!(" ({})", subject.criterion.id),
        };
        self.show(&format!("{of}{which}"))?;
        self.watcher.observes(&subject.criterion, what);
        self.spent += 1;
        self.work.ran = true;
        // `without the change` → `without`.
        let short = what.split(' ').next().unwrap_or(what);
        let name = format!("{}-{short}", subject.criterion.id);
        let name = receipts::output_name(&name, clock::now());
        let output = self.work.outputs.join(name);
        let way = self.way()?;
        let order = CommandOrder {
            ralph: &self.work.ralph,
            command,
            folder: &self.work.root,
            output: &output,
            deadline,
            bounds: self.work.state.bounds.as_ref(),
        };
        let run = elsewhere::run(&order, files, &way, &store_folder(self.work)?, &self.start.top)?;
        if let Some(opened) = &run.opened
            && !files.watched.is_empty()
        {
            subject.opened.get_or_insert_default().extend(opened.iter().cloned());
        }
        Ok(Some(run))
    }

    /// All criteria once more, the slowest one before the others: a criterion may undo what another one needs.
    fn together(&mut self) -> Result<()> {
        let commands: Vec<Criterion> = self
            .work
            .state
            .acceptance_criteria
            .iter()
            .filter(|one| one.review.is_none())
            .cloned()
            .collect();
        // What the model runs in an environment of its own settles nothing.
        if commands.len() < 2 || self.work.by == CriterionRunner::Command {
            return Ok(());
        }
        let ids: Vec<&str> = commands.iter().map(|one| one.verification_command.as_str()).collect();
        let key = sha256(format!("{}\n{}", self.work.trees.id_for(&[]), ids.join("\n")));
        if self.work.state.held_together == key {
            return Ok(());
        }
        let took = |one: &Criterion| one.receipt.as_ref().map_or(0, |receipt| receipt.duration_ms);
        let mut order = commands;
        order.sort_by_key(|one| std::cmp::Reverse(took(one)));
        for criterion in &order {
            if self.work.time_for_one() < Duration::from_millis(took(criterion)) {
                self.work.unfinished = "all checks but the last are done; ask again".to_owned();
                return Ok(());
            }
            let round =
                &mut VerifyRound { work: self.work, watcher: self.watcher, pace: Pace::InTurn };
            round.run(std::slice::from_ref(criterion))?;
        }
        let all_pass = self.work.state.acceptance_criteria.iter().all(|one| {
            one.review.is_some()
                || receipt::run_status(one, Some(&self.work.trees.id_for(&one.paths)))
                    == ReceiptStatus::Passes
        });
        if all_pass {
            self.work.update(|state| state.held_together = key)?;
        }
        Ok(())
    }

    /// Names a changed script that the command runs, with what its first form did.
    fn name_scripts(&mut self, subject: &Subject) {
        let result = match subject.seen.original.as_ref().map(|run| &run.outcome) {
            Some(Outcome::Passed) => "its first form passes, too",
            Some(Outcome::Failed) => "its first form fails",
            _ => "its first form was not run",
        };
        let changed = self.start.files.iter().zip(&subject.parted);
        let changed = changed.filter(|(file, one)| {
            let path = file.path.to_string_lossy();
            one.harness_changed
                && file.start.is_some()
                && subject.named.iter().any(|named| *named == path)
                && !harness::is_test_file(&path)
        });
        let lines: Vec<String> =
            changed.map(|(file, _)| format!("{}: {result}", file.path.display())).collect();
        if let Some(change) = &mut self.work.change {
            change.scripts.extend(lines);
        }
    }

    /// Shows in the state which observation runs, for the status line.
    fn show(&mut self, what: &str) -> Result<()> {
        if self.work.state.observing == what || self.work.by == CriterionRunner::Command {
            return Ok(());
        }
        self.work.update(|state| what.clone_into(&mut state.observing))
    }
}

/// The exit code by which the clean copy says that it could not be made.
const NOT_MADE: i32 = 125;

fn what_was_read(run: &ElsewhereRun, files: &OtherFiles) -> WhatWasRead {
    let Some(opened) = &run.opened else { return WhatWasRead::TheChange };
    let is_opened = |one: &OtherFile| opened.contains(&one.path);
    // A file that is absent cannot be opened: a command that fails may have looked for it.
    let is_missed = |one: &OtherFile| one.form == OtherForm::Absent;
    let has_failed = run.run.ended != CommandEnd::Exited(0);
    match opened.is_empty() {
        _ if files.replaced.iter().any(is_opened) => WhatWasRead::TheChange,
        _ if has_failed && files.replaced.iter().any(is_missed) => WhatWasRead::TheChange,
        true if !files.watched.is_empty() && run.is_read_outside => WhatWasRead::Nothing,
        _ => WhatWasRead::Others,
    }
}

fn counts_tests(criterion: &Criterion) -> bool {
    criterion.receipt.as_ref().is_some_and(|receipt| receipt.tests_reported)
}

fn is_made(made: &Option<Observation>, key: &str) -> bool {
    made.as_ref().is_some_and(|made| made.key == key && made.outcome != Outcome::Flaky)
}

fn observation(run: &ElsewhereRun) -> Observation {
    Observation {
        why: run.run.error.clone(),
        tests_run: run.run.tests.tests.count(),
        tests_failed: run.run.tests.failed,
        failing: run.run.failing.clone(),
        duration_ms: run.run.duration_ms,
        ..Observation::default()
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
