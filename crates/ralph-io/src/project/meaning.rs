//! Reads what acceptance commands mean, and compares it with what the user agreed to.
//!
//! Only `ralph` does this: at the start of a loop, at a request for completion, and when the user
//! asks.

use crate::{project::safe_read, project::test_files};
use ralph_core::evidence::meaning::{self, Files};
use ralph_core::evidence::receipt::NO_SUMMARY;
use ralph_core::state::{Accepted, Criterion, LoopState, PinnedPart, Receipt, TestFile};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// No configuration file is larger.
const LARGEST: u64 = 1 << 20;
/// The limit for all criteria together.
const MOST_BYTES: usize = 32 << 20;
/// The most names read from a folder.
const MOST_NAMES: usize = 4_000;

/// What is pinned with the criteria: their test files, and what their commands mean.
pub fn record(root: &Path, criteria: &[Criterion]) -> (Vec<TestFile>, Vec<PinnedPart>) {
    let disk = Disk::of(root);
    let mut parts = Vec::new();
    let mut tests = Vec::new();
    for criterion in criteria {
        let found = meaning::of(&criterion.verification_command, &disk);
        parts.extend(found.parts(&criterion.id));
        tests.extend(found.tests);
    }
    (test_files::record(root, criteria, &tests), parts)
}

/// Notes in the state how the meaning of the commands differs now.
pub fn note(state: &mut LoopState) {
    let disk = Disk::of(Path::new(&state.project_root));
    meaning::note(state, |command| meaning::of(command, &disk));
}

/// Completes a new receipt with the changes in the command's meaning at the time of the run. Marks
/// the receipt as vacuous if a known runner passed without printing its summary.
pub fn after_run(root: &Path, state: &LoopState, criterion: &mut Criterion, receipt: &mut Receipt) {
    let disk = Disk::of(root);
    let today = meaning::of(&criterion.verification_command, &disk);
    let before = std::mem::take(&mut criterion.meaning_changed);
    if let Some(recorded) = state.frozen.as_ref().and_then(|frozen| frozen.meaning.as_ref()) {
        let of_it: Vec<&PinnedPart> =
            recorded.iter().filter(|part| part.criterion == criterion.id).collect();
        let changes = meaning::changes(&of_it, &today).into_iter();
        criterion.meaning_changed =
            changes.filter(|change| change.proves_less).map(|change| change.what).collect();
    }
    receipt.meaning_changed.clone_from(&criterion.meaning_changed);
    receipt.meaning_changed.extend(before);
    receipt.meaning_changed.sort();
    receipt.meaning_changed.dedup();
    let counted_before = criterion.tests_expected.is_some() || criterion.tests_reported;
    let is_silent = receipt.tests_run.is_none() && !receipt.tests_reported;
    if let Some(runner) = today.reporter
        && is_silent
        && receipt.passed
        && receipt.vacuous.is_empty()
        && !counted_before
        && !criterion.accepts(Accepted::NoSummary)
    {
        receipt.vacuous = format!("its runner, `{runner}`, {NO_SUMMARY}");
    }
}

/// The project on disk; each file is read once.
struct Disk {
    root: PathBuf,
    home: Option<PathBuf>,
    texts: RefCell<BTreeMap<String, Option<String>>>,
    read: RefCell<usize>,
}

impl Disk {
    fn of(root: &Path) -> Disk {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Disk { root: root.to_owned(), home, texts: RefCell::default(), read: RefCell::new(0) }
    }

    fn load(&self, path: &str) -> Option<String> {
        let place = match path.strip_prefix("~/") {
            Some(below) => self.home.as_ref()?.join(below),
            None => self.root.join(path),
        };
        let bytes = safe_read::read(&place, LARGEST).ok()??;
        let mut read = self.read.borrow_mut();
        *read += bytes.len();
        (*read <= MOST_BYTES).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Files for Disk {
    fn text(&self, path: &str) -> Option<String> {
        if let Some(known) = self.texts.borrow().get(path) {
            return known.clone();
        }
        let text = self.load(path);
        self.texts.borrow_mut().insert(path.to_owned(), text.clone());
        text
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = self.root.join(folder).read_dir() else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(MOST_NAMES).collect();
        names.sort();
        names
    }

    fn toml(&self, text: &str) -> Option<Value> {
        toml::from_str(text).ok()
    }
}
