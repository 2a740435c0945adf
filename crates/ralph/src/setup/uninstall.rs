//! `ralph uninstall`: the exact inverse of `ralph install`.
//!
//! Settings that were not changed since are restored to the byte; otherwise Ralph's entries are
//! removed and everything else stays. `--all` also removes the executables, the checkpoints and
//! Ralph's working files. The archive is never removed, only named.

use crate::command::exit::Exit;
use crate::command::screen::visible;
use crate::setup::install::files::{self, Install, InstallRecord};
use crate::setup::install::settings::{self, Merged};
use crate::setup::install::{InstallScope, ScopeArgs, back_up, backups, plugin, resolve, summary};
use crate::setup::places::InstallPaths;
use crate::setup::tell;
use anyhow::{Context, Result, bail};
use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES};
use ralph_core::protocol::wall;
use ralph_core::shell::quoted;
use ralph_core::state::Phase;
use ralph_core::text::hex;
use ralph_io::client;
use ralph_io::git::{checkpoint, tree};
use ralph_io::project;
use ralph_io::project::user_files::{self, TextFile};
use ralph_io::store::lifecycle;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Also remove executables, checkpoints and data; the archive stays
    #[arg(long, conflicts_with = "plugin")]
    all: bool,
    /// Print what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What to do with the settings file.
enum SettingsFate {
    /// It has nothing of Ralph's.
    Untouched,
    /// Restore the text from before the installation, to the byte.
    Restored(String),
    /// It was changed since: remove only Ralph's entries.
    Trimmed(Merged),
    /// There was no file before the installation.
    Deleted,
}

/// Uninstalls, or prints what it would do.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let places = InstallPaths::from_environment()?;
    if !args.dry_run {
        refuse_inside_a_live_loop(&places)?;
        // Every session's shell would look for a flag that nobody raises.
        client::remove_ahead_of_commands(wall::is_line);
    }
    if let Some(folder) = args.scope.plugin(&places) {
        return plugin::uninstall(&folder, args.dry_run, &places);
    }
    let scope = resolve(&args.scope, &places)?;
    let record = InstallRecord::read(places.ralph.root())?;
    if args.all {
        check_all_can_go(&places, &record, &scope.settings)?;
    }
    let known = record.find_install(&scope.settings).cloned();
    let found = user_files::find(&scope.settings)?;
    let settings = decide(&found, known.as_ref())
        .with_context(|| format!("could not use `{}`", scope.settings.display()))?;

    tell!("{}: settings `{}`", scope.name, scope.settings.display());
    describe(&settings, args.dry_run);
    if !args.dry_run {
        if matches!(settings, SettingsFate::Trimmed(_)) && !args.all {
            back_up(&scope.backups, &found)?;
        }
        carry_out(&settings, &found)?;
    }
    let left = remove_files(&scope, known.as_ref(), args.dry_run)?;
    if !args.dry_run {
        let folders = known.as_ref().map_or(&[][..], |known| &known.folders);
        for folder in folders.iter().rev() {
            user_files::remove_empty_folder(folder);
        }
        if known.is_some() {
            record.write(places.ralph.root(), &scope.settings, None)?;
        }
    }
    // Look before the states are removed, since they name the repositories.
    let mut repositories = repositories(&places);
    let mut backups = backups(&scope.backups);
    if args.all {
        let would = would(args.dry_run);
        for repository in &repositories {
            tell!("  {would}remove {} (checkpoints)", repository.describe());
        }
        repositories.retain(|repository| !args.dry_run && !repository.clear());
        remove_all(&places, &backups, args.dry_run)?;
        backups.clear();
    }
    let remaining = Remaining { files: left, backups, repositories, all: args.all };
    name_what_remains(&places, &remaining);
    Ok(Exit::Done)
}

/// Begins the lines of a dry run.
fn would(dry_run: bool) -> &'static str {
    if dry_run { "would " } else { "" }
}

/// What was not removed.
struct Remaining {
    /// Skills and agents that are not Ralph's, or were edited.
    files: Vec<String>,
    /// The settings backups.
    backups: Vec<PathBuf>,
    /// Repositories with checkpoints.
    repositories: Vec<Repository>,
    /// Whether `--all` was given.
    all: bool,
}

/// The model of a live loop must not remove or weaken what enforces the loop.
pub(crate) fn refuse_inside_a_live_loop(places: &InstallPaths) -> Result<()> {
    let session = std::env::var("CLAUDE_CODE_SESSION_ID").unwrap_or_default();
    let bound = crate::setup::doctor::loops::live_loop_of(&places.ralph, &session);
    match bound {
        None => Ok(()),
        Some(loop_id) => {
            bail!("this session has a live loop ({loop_id}); type this in another terminal")
        }
    }
}

fn decide(found: &TextFile, known: Option<&Install>) -> Result<SettingsFate> {
    let Some(text) = &found.text else { return Ok(SettingsFate::Untouched) };
    if let Some(known) = known.filter(|known| known.after == hex::sha256(text)) {
        return Ok(match &known.before {
            Some(before) if before == text => SettingsFate::Untouched,
            Some(before) => SettingsFate::Restored(before.clone()),
            None => SettingsFate::Deleted,
        });
    }
    let written = known.map(|known| known.extras.clone()).unwrap_or_default();
    let merged = settings::take_out(text, &written)?;
    let was_absent = known.is_some_and(|known| known.before.is_none());
    Ok(match merged.changes.is_empty() {
        true => SettingsFate::Untouched,
        false if was_absent && is_empty_object(&merged.text) => SettingsFate::Deleted,
        false => SettingsFate::Trimmed(merged),
    })
}

fn is_empty_object(text: &str) -> bool {
    text.split_whitespace().collect::<String>() == "{}"
}

fn describe(settings: &SettingsFate, dry_run: bool) {
    let would = would(dry_run);
    match settings {
        SettingsFate::Untouched => tell!("  no hooks of Ralph, nothing to change"),
        SettingsFate::Restored(_) => {
            tell!("  {would}restore the file as it was before the installation");
        }
        SettingsFate::Deleted => {
            tell!("  {would}remove the file, which the installation created");
        }
        SettingsFate::Trimmed(merged) => {
            for (what, events) in summary(&merged.changes) {
                tell!("  {would}{what}: {events}");
            }
        }
    }
}

fn carry_out(settings: &SettingsFate, found: &TextFile) -> Result<()> {
    match settings {
        SettingsFate::Untouched => Ok(()),
        SettingsFate::Restored(text) => user_files::replace(found, text),
        SettingsFate::Deleted => user_files::remove(found),
        SettingsFate::Trimmed(merged) => user_files::replace(found, &merged.text),
    }
}

/// Removes Ralph's copies of skills and agents. Returns those that are not Ralph's, or were edited.
fn remove_files(
    scope: &InstallScope,
    known: Option<&Install>,
    dry_run: bool,
) -> Result<Vec<String>> {
    let copied = known.map_or(&[][..], |known| &known.files);
    let shipped = files::inspect_shipped(scope);
    let mut paths: Vec<_> = shipped.iter().map(|target| &target.path).collect();
    paths.extend(copied.iter().map(|copied| &copied.path));
    paths.sort();
    paths.dedup();
    let mut left = Vec::new();
    for path in paths {
        let Ok(found) = user_files::find(path) else { continue };
        let Some(text) = &found.text else { continue };
        // Without a record the text has to match what Ralph would write, word for word.
        let as_shipped = |target: &files::ShippedFile| {
            target.path == *path && target.text == *text && !target.linked
        };
        let ours = match known {
            Some(_) => files::wrote(copied, path, text),
            None => shipped.iter().any(as_shipped),
        };
        if !ours {
            left.push(path.display().to_string());
            continue;
        }
        tell!("  {}remove `{}`", would(dry_run), path.display());
        if !dry_run {
            user_files::remove(&found)?;
            files::remove_folder_of_skill(path, scope);
        }
    }
    Ok(left)
}

/// The folder of a release archive that the executables were unpacked from.
fn unpacked(places: &InstallPaths) -> Option<&Path> {
    let folder = places.executables.parent()?;
    let of_a_release = user_files::find(&folder.join("sbom.cdx.json"));
    of_a_release.is_ok_and(|found| found.text.is_some()).then_some(folder)
}

fn name_what_remains(places: &InstallPaths, left: &Remaining) {
    let mut lines = Vec::new();
    if left.all {
        lines.extend(
            kept_folders(places).into_iter().map(|folder| format!("{folder} (ended loops, plans)")),
        );
        let archive = unpacked(places).map(|folder| folder.display().to_string());
        lines.extend(archive.map(|folder| format!("`{folder}` (the rest of the release)")));
        let package = (places.running != places.executables && places.are_copied()).then(|| {
            format!(
                "`{}` (remove it by `npm uninstall -g @ralph-loop/ralph`)",
                places.running.display()
            )
        });
        lines.extend(package);
    } else {
        lines.push(format!(
            "`{}` (loops, and the archive of ended ones)",
            places.ralph.root().display()
        ));
        lines.push(format!("`{}/ralph*` (the executables)", places.executables.display()));
    }
    for repository in &left.repositories {
        lines.push(format!("{} (checkpoints); to remove them:", repository.describe()));
        lines.push(format!("  {}", repository.removal()));
    }
    let backups = left.backups.iter();
    lines.extend(backups.map(|backup| format!("`{}` (backup of the settings)", backup.display())));
    lines.extend(left.files.iter().map(|file| format!("`{file}` (edited, or not from Ralph)")));
    if lines.is_empty() {
        tell!("nothing of Ralph remains");
        return;
    }
    tell!("not removed; delete by hand what you do not want:");
    lines.iter().for_each(|line| tell!("  {line}"));
    if !left.all {
        tell!(
            "`ralph uninstall --all` also removes the executables and everything but the archive"
        );
    }
}

// Repositories that still hold checkpoints: cleared with everything else, or named for the user.

/// A repository with Ralph's refs.
pub(super) struct Repository {
    /// The top of one of its worktrees.
    root: PathBuf,
    n_refs: usize,
}

/// The repository of the current folder and those of all known loops, each once.
pub(super) fn repositories(places: &InstallPaths) -> Vec<Repository> {
    let all = lifecycle::all(&places.ralph).into_iter().chain(lifecycle::ended(&places.ralph));
    // An unreadable state names no repository; the doctor reports it.
    let projects = all.filter_map(|(_, state)| Some(PathBuf::from(state.ok()?.project_root)));
    let mut seen = BTreeSet::new();
    std::iter::once(places.current.clone())
        .chain(projects)
        .filter_map(|folder| tree::repository_root(&folder))
        .filter(|root| seen.insert(project::identity(root)))
        .filter_map(checkpoints_in)
        .collect()
}

/// `None` for a repository without refs, or one that git cannot read: its refs cannot be removed
/// anyway.
fn checkpoints_in(root: PathBuf) -> Option<Repository> {
    let n_refs = checkpoint::all_refs(&root).ok()?.len();
    (n_refs > 0).then_some(Repository { root, n_refs })
}

impl Repository {
    /// The refs and the repository, safe to print.
    pub(super) fn describe(&self) -> String {
        let refs = if self.n_refs == 1 { "ref" } else { "refs" };
        let root = visible(&self.root.display().to_string());
        format!("{} {refs} `refs/ralph/*` of `{root}`", self.n_refs)
    }

    /// Removes the refs. Returns false if git refused.
    pub(super) fn clear(&self) -> bool {
        checkpoint::forget_all(&self.root).is_ok()
    }

    /// The command that removes the refs.
    pub(super) fn removal(&self) -> String {
        let folder = quoted(&visible(&self.root.display().to_string()));
        format!(
            "git -C {folder} for-each-ref --format='delete %(refname)' refs/ralph/ | \
             git -C {folder} update-ref --stdin"
        )
    }
}

// `ralph uninstall --all`: removes everything that Ralph has left on this machine, except what the
// user may want to look at again: archived loops, plan versions and files of orchestrations.
//
// Only Ralph's own names are removed. A loop that has not ended, or another installation that
// needs the executables, prevents the removal.

/// Ralph's working files. A lock is named after the file that it guards.
const WORKED_BY: [&str; 13] = [
    "always",
    "backups",
    "bound",
    "checks",
    "install.json",
    "loops",
    "loops.lock",
    "manifest",
    "rounds",
    "shared",
    "trees",
    "trust",
    "walls",
];

/// Folders that the user may want again.
const KEPT: [&str; 3] = ["archive", "refine", "sessions"];

/// Refuses if not everything can be removed now.
pub(super) fn check_all_can_go(
    places: &InstallPaths,
    record: &InstallRecord,
    settings: &Path,
) -> Result<()> {
    let others = record.settings().find(|known| *known != settings && known.exists());
    if let Some(other) = others {
        bail!(
            "Ralph is also installed in `{}` and needs the executables there; uninstall that first",
            visible(&other.display().to_string())
        );
    }
    let open = lifecycle::all(&places.ralph)
        .into_iter()
        .filter_map(|(_, state)| state.ok())
        .find(|state| state.phase != Phase::Ended);
    open.map_or(Ok(()), |state| {
        let id = visible(&state.loop_id);
        bail!("loop {id} has not ended; run `ralph cancel --loop {id}`, then try again");
    })
}

/// Removes everything, or prints what it would remove, one line each.
pub(super) fn remove_all(places: &InstallPaths, backups: &[PathBuf], dry_run: bool) -> Result<()> {
    let root = places.ralph.root();
    let state = WORKED_BY.iter().map(|name| root.join(name));
    let names = HOOK_EXECUTABLES.into_iter().chain([COMMAND_LINE]);
    let executables = names.map(|name| places.executables.join(name));
    for path in state.chain(backups.iter().cloned()).chain(executables) {
        if path.symlink_metadata().is_err() {
            continue;
        }
        tell!("  {}remove `{}`", would(dry_run), path.display());
        if !dry_run {
            user_files::remove_all(&path)?;
        }
    }
    if !dry_run {
        let archive = root.join("archive");
        let above = |folder: &Path| folder.parent().unwrap_or(root).to_owned();
        let (prefix, state) = (above(&places.executables), above(root));
        // Only empty folders are removed: other files in them stay.
        for folder in [places.executables.as_path(), &archive, root, &state, &prefix] {
            user_files::remove_empty_folder(folder);
        }
    }
    Ok(())
}

/// Ralph's own folders that remain.
pub(super) fn kept_folders(places: &InstallPaths) -> Vec<String> {
    let root = places.ralph.root();
    let folders = KEPT.iter().map(|name| root.join(name)).filter(|folder| folder.is_dir());
    folders.map(|folder| format!("`{}`", folder.display())).collect()
}
