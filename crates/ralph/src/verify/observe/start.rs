//! What has changed since the start of a loop, parted into harness and code.

use anyhow::Result;
use ralph_core::evidence::harness::{self, Around, Kind, Parted, SeenFile, Versions};
use ralph_core::evidence::pinned;
use ralph_core::project::settings::Settings;
use ralph_core::state::{Change, Criterion, LoopState};
use ralph_core::text::globs;
use ralph_io::git::checkpoint::{self, ChangedSince, FileForm, FileKind};
use ralph_io::git::tree;
use ralph_io::store::checks;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Test files of which it is asked whether the command reads them.
const WATCHED: usize = 2_000;

/// Why nothing can be compared with the start.
pub(crate) struct NoStart {
    pub(crate) why: String,
    /// True if the loop has kept a start.
    pub(super) was_kept: bool,
}

/// The start of the loop, and what has changed since.
pub(crate) struct Start {
    /// The top of the work tree.
    pub(super) top: PathBuf,
    /// The project's folder, relative to the top.
    below: PathBuf,
    pub(super) tree: String,
    pub(super) files: Vec<ChangedSince>,
    /// All files at the start and now, relative to the top.
    before: BTreeSet<String>,
    now: BTreeSet<String>,
}

impl Start {
    pub(crate) fn read(
        loop_folder: &Path,
        state: &LoopState,
    ) -> std::result::Result<Start, NoStart> {
        let Some(start) = checks::start_of(loop_folder) else {
            let why = match tree::repository_root(Path::new(&state.project_root)) {
                // Another tool started the loop.
                Some(_) => "the files of the loop's start were not recorded",
                None => "the project is in no git repository",
            };
            return Err(NoStart { why: why.to_owned(), was_kept: false });
        };
        let read = || -> Result<Start> {
            let mut files = checkpoint::changed_since_start(&start.root, &start.tree)?;
            // What makes no receipt stale is no change either.
            let ignore = Settings::ignored(state);
            files.retain(|file| !matches_any(&ignore, file));
            let before = checkpoint::files_of(&start.root, &start.tree)?;
            let mut now = before.clone();
            for file in &files {
                let path = file.path.to_string_lossy().into_owned();
                match &file.now {
                    Some(_) => now.insert(path),
                    None => now.remove(&path),
                };
            }
            let below = Path::new(&state.project_root).strip_prefix(&start.root);
            let below = below.unwrap_or(Path::new("")).to_owned();
            let (top, tree) = (start.root.clone(), start.tree.clone());
            Ok(Start { top, below, tree, files, before, now })
        };
        read().map_err(|error| NoStart { why: format!("{error:#}"), was_kept: true })
    }

    fn around<'s>(&'s self, named: &'s [String]) -> Around<'s> {
        Around { named, start: &self.before, now: &self.now, toml: read_toml }
    }

    /// The paths of the repository that a criterion's command names.
    pub(super) fn named(&self, criterion: &Criterion) -> Vec<String> {
        let named = pinned::named_paths(&criterion.verification_command).into_iter();
        named.map(|path| self.below.join(path).to_string_lossy().into_owned()).collect()
    }

    /// Parts each changed file. A new file that the command asks for is the work itself, and so is one that is harness only
    /// because the command names it, if nothing else changed: `grep -q done list.txt`.
    pub(super) fn part(&self, named: &[String], may_change: &[String]) -> Vec<Parted> {
        let around = self.around(named);
        let all: Vec<Parted> =
            self.files.iter().map(|file| part(file, &around, may_change)).collect();
        let has_code = all.iter().any(|one| one.code_changed);
        let is_work = |file: &ChangedSince| {
            let path = file.path.to_string_lossy();
            let is_result = file.start.is_none() && harness::may_be_result(&path);
            let kind = || harness::kind(&path, &self.around(&[]));
            named.iter().any(|one| *one == path)
                && (is_result || !has_code && kind() != Kind::Harness)
        };
        let parted = self.files.iter().zip(all);
        parted.map(|(file, one)| if is_work(file) { as_code(file, one) } else { one }).collect()
    }

    pub(super) fn change(&self, criteria: &[Criterion]) -> Change {
        let named: Vec<String> = criteria.iter().flat_map(|one| self.named(one)).collect();
        let mut change = Change::default();
        for (file, parted) in self.files.iter().zip(self.part(&named, &[])) {
            let path = file.path.to_string_lossy();
            if is_submodule(file) {
                change.submodules.push(path.into_owned());
                continue;
            }
            change.added += usize::from(file.start.is_none());
            match parted.kind {
                _ if parted.code_changed => change.code += 1,
                Kind::Documentation => change.documents += 1,
                // A test module in a source of the product.
                Kind::Code => change.tests += 1,
                Kind::Harness if parted.harness_changed => match harness::is_test_file(&path) {
                    true => change.tests += 1,
                    false => change.configuration += 1,
                },
                Kind::Harness | Kind::Dependencies => change.dependencies += 1,
            }
            change.tests_in_code.extend(parted.tests_in_code.then(|| path.into_owned()));
        }
        change
    }

    /// The changed files that belong to the harness, as a whole or in part, relative to the top.
    pub(crate) fn changed_harness(&self, criteria: &[Criterion]) -> Vec<String> {
        let named: Vec<String> = criteria.iter().flat_map(|one| self.named(one)).collect();
        let all = self.files.iter().zip(self.part(&named, &[]));
        let harness = all.filter(|(_, parted)| parted.harness_changed);
        harness.map(|(file, _)| file.path.to_string_lossy().into_owned()).collect()
    }

    /// Test files of the work tree, to learn which of them a command reads.
    pub(super) fn tests(&self) -> Vec<String> {
        let tests = self.now.iter().filter(|path| harness::is_test_file(path));
        tests.take(WATCHED).cloned().collect()
    }
}

fn part(file: &ChangedSince, around: &Around<'_>, may_change: &[String]) -> Parted {
    let path = file.path.to_string_lossy();
    if is_submodule(file) {
        return harness::part(&path, Versions { start: None, now: None }, around);
    }
    let content = |form: &Option<FileForm>| form.as_ref().map(|form| form.content.clone());
    let (start, now) = (content(&file.start), content(&file.now));
    let versions = Versions { start: start.as_deref(), now: now.as_deref() };
    let parted = harness::part(&path, versions, around);
    match matches_any(may_change, file) {
        true => Parted { original_tests: SeenFile::AsNow, ..parted },
        false => parted,
    }
}

/// Parses a manifest, for the core, which has no parser of TOML.
fn read_toml(text: &str) -> Option<serde_json::Value> {
    toml::from_str(text).ok()
}

/// The whole file as code.
fn as_code(file: &ChangedSince, parted: Parted) -> Parted {
    let without_change = match &file.start {
        Some(form) => SeenFile::Other(form.content.clone()),
        None => SeenFile::Absent,
    };
    Parted {
        kind: Kind::Code,
        harness_changed: false,
        code_changed: true,
        original_tests: SeenFile::AsNow,
        without_change,
        ..parted
    }
}

fn matches_any(patterns: &[String], file: &ChangedSince) -> bool {
    let path = file.path.as_os_str().as_bytes();
    patterns.iter().any(|pattern| globs::ignores(pattern.as_bytes(), path))
}

fn is_submodule(file: &ChangedSince) -> bool {
    [&file.start, &file.now].into_iter().flatten().any(|form| form.kind == FileKind::Submodule)
}
