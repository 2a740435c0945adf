//! Finds what a check reported before the work: runs it once on the files of the start, and only if there are findings
//! to compare. Where that is impossible, the lines that changed decide.

use super::engine::Engine;
use super::tool::{self, ToolFindings};
use crate::check::engine::Durations;
use crate::check::{CheckItem, CheckTarget};
use ralph_core::project::check::FindingScope;
use ralph_core::project::check::baseline::{KnownFindings, Lines, changed_lines};
use ralph_core::project::check::finding::{Finding, FindingKey};
use ralph_io::git::checkpoint::{self, ChangedSince, FileForm, FileKind};
use ralph_io::process::elsewhere::{OtherFile, OtherFiles, OtherForm};
use ralph_io::store::checks;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// The starts to compare with, one per project.
pub(super) struct Starts {
    /// The tree that the loop recorded when it started.
    of_loop: Option<checks::LoopBaseline>,
    found: Mutex<HashMap<PathBuf, Option<Arc<Start>>>>,
}

impl Starts {
    pub(super) fn since(of_loop: Option<&Path>) -> Starts {
        Starts { of_loop: of_loop.and_then(checks::start_of), found: Mutex::default() }
    }

    /// The project as it was before the work; `None` outside a repository.
    fn of_project(&self, root: &Path) -> Option<Arc<Start>> {
        let recorded = self.of_loop.as_ref().filter(|start| start.root == root);
        let mut found = self.found.lock().ok()?;
        let start = found.entry(root.to_owned()).or_insert_with(|| {
            let tree = checks::start_tree(root, recorded.map(|start| start.tree.as_str()))?;
            let (root, files) = (root.to_owned(), OnceLock::new());
            Some(Arc::new(Start { root, tree, files }))
        });
        start.clone()
    }

    /// Forgets which files have changed: a fixer has changed one.
    pub(super) fn forget(&self) {
        if let Ok(mut found) = self.found.lock() {
            found.clear();
        }
    }
}

/// A project before the work.
pub(super) struct Start {
    root: PathBuf,
    tree: String,
    files: OnceLock<Option<StartFiles>>,
}

/// The files of a start.
pub(super) struct StartFiles {
    changed: Vec<ChangedSince>,
    /// All of them, relative to the root.
    all: BTreeSet<String>,
    /// The changed ones in their first form.
    pub(super) other: OtherFiles,
}

impl Start {
    /// `None` if git cannot tell.
    fn files(&self) -> Option<&StartFiles> {
        let read = || {
            let changed = checkpoint::changed_since_start(&self.root, &self.tree).ok()?;
            let all = checkpoint::files_of(&self.root, &self.tree).ok()?;
            let replaced = changed.iter().filter_map(|file| self.other_form(file)).collect();
            let other = OtherFiles { replaced, watched: Vec::new() };
            Some(StartFiles { changed, all, other })
        };
        self.files.get_or_init(read).as_ref()
    }

    fn other_form(&self, file: &ChangedSince) -> Option<OtherFile> {
        let is_module = |form: &FileForm| form.kind == FileKind::Submodule;
        if [&file.start, &file.now].into_iter().flatten().any(is_module) {
            return None;
        }
        let form = match &file.start {
            None => OtherForm::Absent,
            Some(FileForm { kind: FileKind::Link, content }) => {
                OtherForm::Link(OsStr::from_bytes(content).into())
            }
            Some(FileForm { kind, content }) => OtherForm::File {
                content: content.clone(),
                is_executable: *kind == FileKind::Executable,
            },
        };
        Some(OtherFile { path: self.root.join(&file.path), form })
    }
}

impl StartFiles {
    /// The content of a file at the start.
    pub(super) fn content(&self, path: &Path) -> Option<Vec<u8>> {
        match self.other.replaced.iter().find(|file| file.path == path) {
            Some(OtherFile { form: OtherForm::File { content, .. }, .. }) => Some(content.clone()),
            Some(_) => None,
            None => checks::content(path),
        }
    }
}

/// The stored result of a check on the files of the start.
#[derive(Debug, Serialize, Deserialize)]
enum Then {
    Found(Vec<FindingKey>),
    /// The time was too short; it was this many milliseconds.
    TooSlow(u128),
    /// The tool cannot check these files, or not there.
    CannotTell,
}

/// The findings from before the work; `None` if the time is too short to find them.
pub(super) fn known(
    engine: &Engine<'_>,
    target: &CheckTarget,
    item: &CheckItem,
    found: &[Finding],
) -> Option<KnownFindings> {
    let changed = || Some(changed(engine, target, found));
    let Some(start) = engine.starts.of_project(&target.root) else { return changed() };
    let name = format!("{} at {}", item.id, start.tree);
    let patience = engine.left_for(target, item)?;
    // Of several simultaneous edits, one runs the check and the others read its result.
    let _held = target.kept.lock(&name, patience).ok()?;
    let left = engine.left_for(target, item)?;
    match target.kept.read(&name) {
        Some(Then::Found(keys)) => return Some(KnownFindings::Known(keys)),
        // Try again only with much more time; otherwise each edit would wait for the deadline in
        // vain.
        Some(Then::TooSlow(given)) if left.as_millis() < 2 * given => return None,
        Some(Then::CannotTell) => return changed(),
        // The edit would wait for the deadline in vain.
        _ if !Durations::for_target(target).fits(&item.id, left) => return None,
        _ => {}
    }
    let Some(files) = start.files() else { return changed() };
    let then = run(engine, target, item, files);
    // A result that cannot be written is computed again next time.
    let _ = then.as_ref().map(|then| target.kept.write(&name, then));
    match then? {
        Then::Found(keys) => Some(KnownFindings::Known(keys)),
        Then::TooSlow(_) => None,
        Then::CannotTell => changed(),
    }
}

fn run(
    engine: &Engine<'_>,
    target: &CheckTarget,
    item: &CheckItem,
    start: &StartFiles,
) -> Option<Then> {
    let subject = match &item.check.scope {
        FindingScope::File => &target.file,
        FindingScope::Whole(what) => what,
    };
    if !start.all.iter().any(|file| target.root.join(file).starts_with(subject)) {
        return Some(Then::Found(Vec::new()));
    }
    let left = engine.left_for(target, item)?;
    Some(match tool::run_check(engine, target, item, Some(start), left).0 {
        ToolFindings::Found(found) => Then::Found(found.iter().map(Finding::key).collect()),
        ToolFindings::Unfinished(_) => Then::TooSlow(left.as_millis()),
        ToolFindings::NotRun(_) => Then::CannotTell,
    })
}

/// The lines that changed in the files of these findings. Outside a repository, or if git cannot tell: all lines of
/// the edited file.
pub(super) fn changed(
    engine: &Engine<'_>,
    target: &CheckTarget,
    found: &[Finding],
) -> KnownFindings {
    let start = engine.starts.of_project(&target.root);
    let Some(files) = start.as_ref().and_then(|start| start.files()) else {
        return KnownFindings::Changed([(target.name(), vec![1..=u32::MAX])].into());
    };
    let named: BTreeSet<&str> = found.iter().map(|finding| finding.file.as_str()).collect();
    let lines = |file: &ChangedSince| -> Option<(String, Lines)> {
        let path = file.path.to_string_lossy().into_owned();
        let text = |form: &Option<FileForm>| {
            form.as_ref().map(|form| String::from_utf8_lossy(&form.content).into_owned())
        };
        let now = text(&file.now).filter(|_| named.contains(path.as_str()))?;
        Some((path, changed_lines(&text(&file.start).unwrap_or_default(), &now)))
    };
    let changed: BTreeMap<String, Lines> = files.changed.iter().filter_map(lines).collect();
    KnownFindings::Changed(changed)
}
