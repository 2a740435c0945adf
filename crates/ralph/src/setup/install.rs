//! `ralph install`: registers the hooks, copies the skills and agents.
//!
//! All checks and decisions come before the first write, so that a refusal changes nothing. A
//! second run has nothing to do. The installation is recorded, so that an uninstall can reverse it
//! exactly.

pub(crate) mod files;
pub(crate) mod plugin;
pub(crate) mod settings;

use crate::command::exit::{Exit, refused};
use crate::command::number;
use crate::runs::client::claude_code;
use crate::setup::doctor::{executables, grouped};
use crate::setup::places::InstallPaths;
use crate::setup::tell;
use anyhow::{Context, Result};
use files::{Copied, Fate, Install, InstallRecord, ShippedFile};
use jiff::Zoned;
use ralph_core::modes::refine::unified;
use ralph_core::protocol::client_version::ClientFeature;
use ralph_core::protocol::registration::{HOOK_EXECUTABLES, HOOKS, Location};
use ralph_core::shell::quoted;
use ralph_core::text::hex;
use ralph_core::text::plural::counted;
use ralph_io::client::client_settings::ClientSettings;
use ralph_io::git::worker_base;
use ralph_io::project;
use ralph_io::project::user_files::{self, TextFile};
use ralph_io::store::atomic;
use serde_json::Value;
use settings::{AskedExtras, Extra, Merged, REGISTER, SettingsChange};
use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Print what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Also set the client's limit of blocked stops in a row (0: no limit)
    #[arg(long, value_name = "N", value_parser = number::from_zero, allow_hyphen_values = true, conflicts_with = "plugin")]
    block_cap: Option<u32>,
    /// Also change a setting of the client
    #[arg(long, value_name = "EXTRA", conflicts_with = "plugin")]
    with: Vec<Extra>,
}

/// What was found, and what to do about it.
struct InstallPlan {
    scope: InstallScope,
    settings: TextFile,
    merged: Merged,
    before: Option<String>,
    /// The user's own value of the workers' base, which is kept although Ralph was asked to set
    /// one.
    kept_base: Option<Value>,
    files: Vec<(ShippedFile, Fate)>,
    /// The files that an earlier version wrote, and this one does not have.
    retired: Vec<PathBuf>,
    known: Option<Install>,
}

/// Whether the user may be asked for more than they typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MayAsk {
    Yes,
    No,
}

/// Installs, or prints what it would do.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    install(args, MayAsk::Yes)
}

fn install(args: &Args, may_ask: MayAsk) -> Result<Exit> {
    let places = InstallPaths::from_environment()?;
    if !args.dry_run {
        crate::setup::uninstall::refuse_inside_a_live_loop(&places)?;
    }
    executables_are_there(&places.running)?;
    if let Some(folder) = args.scope.plugin(&places) {
        return plugin::install(&folder, args.dry_run, &places);
    }
    let scope = resolve(&args.scope, &places)?;
    let record = InstallRecord::read(places.ralph.root())?;
    let here = scope.args.project.clone().unwrap_or_else(|| places.current.clone());
    let keeps_ralph_in = ClientSettings::for_project(&here).sandbox_lets_ralph_out() == Some(false);
    let may_ask = keeps_ralph_in && !args.dry_run && may_ask == MayAsk::Yes;
    let mut asked = AskedExtras { block_cap: args.block_cap, named: args.with.clone() };
    let is_asked = asked.named.contains(&Extra::Sandbox);
    let too_old = match is_asked || may_ask {
        true => claude_code::too_old(&[ClientFeature::Sandbox]),
        false => None,
    };
    if let Some(why) = too_old.as_ref().filter(|_| is_asked) {
        return Err(refused(Exit::MissingProgram, why.clone()));
    }
    if may_ask && !is_asked && too_old.is_none() && settings::is_sandbox_agreed(&scope)? {
        asked.named.push(Extra::Sandbox);
    }
    let lets_out = asked.named.contains(&Extra::Sandbox);
    let plan = gather(scope, &record, &asked)?;
    describe(&plan, args.dry_run);
    if places.are_copied() && plan.scope.executables.is_some() {
        plugin::copy_programs(&places.running, &places.executables, args.dry_run)?;
    }
    if args.dry_run {
        let before = plan.settings.text.as_deref().unwrap_or_default();
        let name = plan.scope.settings.display().to_string();
        tell!("{}", unified((&name, before), (&name, &plan.merged.text)));
        return Ok(Exit::Done);
    }
    let changed = plan.will_change();
    let scope = plan.scope.clone();
    let advice = advice(&scope, &places);
    let install = carry_out(plan)?;
    let has_no_base = install.extras.worker_base.is_none();
    if changed || record.find_install(&scope.settings) != Some(&install) {
        record.write(places.ralph.root(), &scope.settings, Some(install))?;
    }
    if has_no_base && stdout().is_terminal() {
        let here = || project::root(None, &places.current);
        let project = scope.args.project.clone().unwrap_or_else(here);
        if could_begin_from_head(&project) {
            tell!("{}", offer(&scope));
        }
    }
    if keeps_ralph_in && !lets_out {
        tell!("{}", settings::offer_sandbox(&scope));
    }
    if let Some(why) = claude_code::too_old(&[ClientFeature::Conversation]) {
        tell!("{why}");
    }
    // Print this last: it names the next command to type.
    tell!("{advice}");
    Ok(Exit::Done)
}

/// Repeats an earlier installation with just the hooks and the texts.
pub(crate) fn again(scope: ScopeArgs) -> Result<()> {
    let args = Args { scope, dry_run: false, block_cap: None, with: Vec::new() };
    install(&args, MayAsk::No).map(drop)
}

/// Whether the project's workers would miss commits that are not pushed, and no setting decides
/// about it.
fn could_begin_from_head(project: &Path) -> bool {
    let is_unset = || ClientSettings::for_project(project).worktree_base().is_none();
    worker_base::has_origin(project).unwrap_or(false) && is_unset()
}

fn offer(scope: &InstallScope) -> String {
    format!(
        "for /ralph-parallel: workers begin from the branch of `origin` and see no commit that is not \
         pushed; `{}` lets them begin from yours",
        scope.args.command(Some(Extra::WorkerBase))
    )
}

impl InstallPlan {
    fn will_change(&self) -> bool {
        let writes = self.files.iter().any(|(_, fate)| fate.writes());
        writes || !self.merged.changes.is_empty() || !self.retired.is_empty()
    }
}

/// Checks that the hooks are beside the command line: a registration that leads nowhere fails open.
fn executables_are_there(folder: &Path) -> Result<()> {
    let missing: Vec<&str> = HOOK_EXECUTABLES
        .into_iter()
        .filter(|name| {
            user_files::access(&folder.join(name))
                .is_none_or(|access| !access.is_file || access.mode & 0o111 == 0)
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (missing, folder) = (missing.join(", "), folder.display());
    let message = format!(
        "could not find {missing} beside `ralph` in `{folder}`; run `./install.sh`, which puts all \
         executables into one folder, or also `cargo install --locked --path crates/ralph-hooks`"
    );
    Err(refused(Exit::MissingProgram, message))
}

fn gather(scope: InstallScope, record: &InstallRecord, asked: &AskedExtras) -> Result<InstallPlan> {
    let settings = user_files::find(&scope.settings)?;
    let known = record.find_install(&scope.settings).cloned();
    let text = settings.text.as_deref().unwrap_or("{}\n");
    let named = || format!("could not use `{}`", scope.settings.display());
    let known_extras = known.as_ref().map(|known| known.extras.clone()).unwrap_or_default();
    let merged =
        settings::put_in(text, scope.location(), asked, &known_extras).with_context(named)?;
    let before = text_without_us(&settings, known.as_ref()).with_context(named)?;
    let ours = known.as_ref().map_or(&[][..], |known| &known.files);
    let files = files::inspect_shipped(&scope)
        .into_iter()
        .map(|target| {
            let fate = files::decide(&target, ours);
            (target, fate)
        })
        .collect();
    let is_theirs = asked.named.contains(&Extra::WorkerBase) && merged.extras.worker_base.is_none();
    let kept_base =
        is_theirs.then(|| settings::worker_base_of(&merged.text)).transpose()?.flatten();
    Ok(InstallPlan {
        scope,
        settings,
        merged,
        before,
        kept_base,
        retired: files::retired(ours),
        files,
        known,
    })
}

/// The text that an uninstall restores.
///
/// If nothing has changed since the last installation, the text that it found; else the current
/// text without Ralph's entries.
fn text_without_us(settings: &TextFile, known: Option<&Install>) -> Result<Option<String>> {
    let Some(text) = &settings.text else { return Ok(None) };
    match known {
        Some(known) if known.after == hex::sha256(text) => Ok(known.before.clone()),
        _ => {
            let written = known.map(|known| known.extras.clone()).unwrap_or_default();
            Ok(Some(settings::take_out(text, &written)?.text))
        }
    }
}

fn describe(plan: &InstallPlan, dry_run: bool) {
    let settings = plan.scope.settings.display();
    let head = format!("{}: settings `{settings}`", plan.scope.name);
    let (would, wrote) = if dry_run { ("would ", "write") } else { ("", "wrote") };
    let (added, others): (Vec<_>, Vec<_>) =
        plan.merged.changes.iter().cloned().partition(|change| change.what == REGISTER);
    if added.is_empty() {
        tell!("{head}");
    } else {
        let hooks = counted(HOOKS.len(), "hook", "hooks");
        let register = if dry_run { "would register" } else { "registered" };
        tell!("{head}: {register} {hooks} in {}", counted(added.len(), "event", "events"));
    }
    for (what, events) in summary(&others) {
        tell!("  {would}{what}: {events}");
    }
    if plan.merged.changes.is_empty() {
        tell!("  hooks: already registered, nothing to change");
    }
    if let Some(value) = &plan.kept_base {
        tell!("  kept your `worktree.baseRef`: {value}");
    }
    for (folder, one, many) in [("skills/", "skill", "skills"), ("agents/", "agent", "agents")] {
        let is_written = |(target, fate): &&(ShippedFile, Fate)| {
            target.name.starts_with(folder) && fate.writes()
        };
        let n = plan.files.iter().filter(is_written).count();
        if n > 0 {
            tell!("  {would}{wrote} {}", counted(n, one, many));
        }
    }
    for (target, _) in plan.files.iter().filter(|(_, fate)| *fate == Fate::Keep) {
        tell!(
            "  kept {}: edited, or not from Ralph; move `{}` away and install again to replace it",
            target.name,
            target.path.display()
        );
    }
    for path in &plan.retired {
        let done = if dry_run { "would remove" } else { "removed" };
        tell!("  {done} `{}`, which Ralph no longer has", path.display());
    }
}

/// Groups changes of one kind on one line.
pub(crate) fn summary(changes: &[SettingsChange]) -> Vec<(&'static str, String)> {
    let all = changes.iter().map(|change| (change.what, change.detail.as_str()));
    let lines = grouped(all).into_iter();
    lines.map(|(what, details)| (what, details.join(", "))).collect()
}

fn carry_out(plan: InstallPlan) -> Result<Install> {
    let settings = plan.scope.settings.clone();
    let mut install = plan.known.unwrap_or(Install { settings, ..Install::default() });
    if !plan.merged.changes.is_empty() {
        install.folders.extend(user_files::make_folders(&plan.scope.base, 0o755)?);
        back_up(&plan.scope.backups, &plan.settings)?;
        user_files::replace(&plan.settings, &plan.merged.text)?;
    }
    install.before = plan.before;
    install.after = hex::sha256(&plan.merged.text);
    install.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    install.extras = plan.merged.extras;
    put_files(plan.files, &mut install)?;
    for path in plan.retired {
        user_files::remove(&user_files::find(&path)?)?;
        files::remove_folder_of_skill(&path, &plan.scope);
        install.files.retain(|copied| copied.path != path);
    }
    Ok(install)
}

/// Writes the files and notes those that are Ralph's.
fn put_files(files: Vec<(ShippedFile, Fate)>, install: &mut Install) -> Result<()> {
    for (target, fate) in files {
        if let (true, Ok(found)) = (fate.writes(), &target.found) {
            let above = target.path.parent().unwrap_or(&target.path);
            install.folders.extend(user_files::make_folders(above, 0o755)?);
            user_files::replace(found, &target.text)?;
        }
        install.files.retain(|copied| copied.path != target.path);
        if fate.writes() || fate == Fate::Current {
            let digest = hex::sha256(&target.text);
            install.files.push(Copied { path: target.path, digest });
        }
    }
    Ok(())
}

/// How the name of a settings backup begins.
const BACKUP: &str = "settings.json.ralph-backup-";

/// Copies the old settings to the backup folder, for a user who wants to restore them by hand.
pub(crate) fn back_up(folder: &Path, settings: &TextFile) -> Result<()> {
    let Some(text) = &settings.text else { return Ok(()) };
    user_files::make_folders(folder, 0o700)?;
    let time = Zoned::now().strftime("%Y%m%dT%H%M%S%.6f").to_string();
    let backup = folder.join(format!("{BACKUP}{time}"));
    atomic::write(&backup, text.as_bytes())?;
    tell!("  backed up the settings: `{}`", backup.display());
    Ok(())
}

/// The backups in this folder, oldest first.
pub(crate) fn backups(folder: &Path) -> Vec<PathBuf> {
    let ours = user_files::names(folder).into_iter().filter(|name| name.starts_with(BACKUP));
    ours.map(|name| folder.join(name)).collect()
}

fn advice(scope: &InstallScope, places: &InstallPaths) -> String {
    match &scope.args.stow {
        Some(package) => format!(
            "link it with: stow --no-folding -d {} -t {} claude\n\
             the executables in `{}` must be on the client's PATH",
            package.display(),
            places.home.display(),
            places.typed().display()
        ),
        None => {
            let next = "undo: `ralph uninstall`; check it with `ralph doctor`, then type /ralph \"what to do\" in Claude Code";
            let path = executables::path_advice(places);
            [path.as_deref(), Some(next)].into_iter().flatten().collect::<Vec<_>>().join("\n")
        }
    }
}

// The scope of an installation: the user, one project, or a dotfiles package.

/// Which settings, skills and agents to change; by default the user's.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[group(multiple = false)]
pub(crate) struct ScopeArgs {
    /// The user's configuration, which is the default
    #[arg(long, hide = true)]
    user: bool,
    /// The configuration of the project in this folder
    #[arg(long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,
    /// A package `claude` for GNU stow in this folder
    #[arg(long, value_name = "DIR")]
    pub(super) stow: Option<PathBuf>,
    /// A plugin in this folder, executables included
    #[arg(long, value_name = "DIR")]
    plugin: Option<PathBuf>,
}

impl ScopeArgs {
    /// The plugin's folder, if the scope is a plugin: that has no settings and is built in another
    /// way.
    pub(crate) fn plugin(&self, places: &InstallPaths) -> Option<PathBuf> {
        self.plugin.as_deref().map(|folder| absolute_path(folder, places))
    }

    /// The scope of this project, or of the user.
    pub(crate) fn for_project(project: Option<PathBuf>) -> ScopeArgs {
        ScopeArgs { project, ..ScopeArgs::default() }
    }

    /// The scope whose installation writes this settings file; `None` for another name than Ralph's.
    pub(crate) fn of_settings(settings: &Path, places: &InstallPaths) -> Option<ScopeArgs> {
        if settings == places.config.join("settings.json") {
            return Some(ScopeArgs::default());
        }
        let is_scope = settings.ends_with(".claude/settings.json");
        let folder = settings.parent().filter(|_| is_scope)?.parent()?;
        let text = user_files::find(settings).ok().and_then(|found| found.text);
        // A stow package names the hooks without a folder.
        let is_package = folder.ends_with("claude")
            && !text.is_some_and(|text| text.contains("/ralph-stop-hook"));
        Some(match folder.parent().filter(|_| is_package) {
            Some(package) => ScopeArgs { stow: Some(package.to_owned()), ..ScopeArgs::default() },
            None => ScopeArgs::for_project(Some(folder.to_owned())),
        })
    }

    /// The command that installs here, with this extra.
    pub(crate) fn command(&self, extra: Option<Extra>) -> String {
        let folders = [("project", &self.project), ("stow", &self.stow), ("plugin", &self.plugin)];
        let named = folders.into_iter().filter_map(|(option, folder)| {
            let folder = quoted(&folder.as_ref()?.to_string_lossy());
            Some(format!(" --{option} {folder}"))
        });
        let with = extra.map(|extra| format!(" --with {}", extra.as_str()));
        format!("ralph install{}", named.chain(with).collect::<String>())
    }
}

/// Where an installation goes.
#[derive(Debug, Clone)]
pub(crate) struct InstallScope {
    /// For messages.
    pub(crate) name: String,
    /// The folder that holds `settings.json`, `skills` and `agents`.
    pub(crate) base: PathBuf,
    pub(crate) settings: PathBuf,
    /// The folder for settings backups: never inside a package that would be linked.
    pub(crate) backups: PathBuf,
    /// The folder by which the settings name the executables, since the client expands nothing in exec
    /// form; `None` in a package, which is the same on every machine.
    executables: Option<String>,
    /// The arguments that lead here, with absolute paths.
    pub(crate) args: ScopeArgs,
}

impl InstallScope {
    fn location(&self) -> Location<'_> {
        self.executables.as_deref().map_or(Location::Path, Location::Folder)
    }
}

/// Resolves the arguments to paths.
pub(crate) fn resolve(args: &ScopeArgs, places: &InstallPaths) -> Result<InstallScope> {
    let executables =
        places.executables.to_str().context("the executables' folder is not UTF-8")?;
    if let Some(folder) = &args.stow {
        let package = absolute_path(folder, places);
        let base = package.join("claude/.claude");
        return Ok(InstallScope {
            name: format!("stow package `{}`", package.join("claude").display()),
            settings: base.join("settings.json"),
            backups: places.ralph.root().join("backups"),
            executables: None,
            args: ScopeArgs { stow: Some(package), ..ScopeArgs::default() },
            base,
        });
    }
    let project = args.project.as_deref().map(project_folder).transpose()?;
    let (name, base) = match &project {
        Some(folder) => (format!("project `{}`", folder.display()), folder.join(".claude")),
        None => ("user".to_owned(), places.config.clone()),
    };
    let (settings, backups) = (base.join("settings.json"), base.clone());
    Ok(InstallScope {
        name,
        settings,
        backups,
        executables: Some(executables.to_owned()),
        args: ScopeArgs::for_project(project),
        base,
    })
}

fn project_folder(named: &Path) -> Result<PathBuf> {
    user_files::real(named)
        .filter(|folder| folder.is_dir())
        .with_context(|| format!("there is no folder `{}`", named.display()))
}

fn absolute_path(path: &Path, places: &InstallPaths) -> PathBuf {
    user_files::real(path).unwrap_or_else(|| places.current.join(path))
}
