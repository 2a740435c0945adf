//! The scope of an installation: the user, one project, or a dotfiles package.

use super::extras::Extra;
use crate::command::exit::{Exit, refused};
use crate::setup::places::InstallPaths;
use anyhow::{Context, Result};
use ralph_core::protocol::registration::Location;
use ralph_core::shell::quoted;
use ralph_io::project::user_files;
use std::path::{Path, PathBuf};

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
    pub(crate) fn of(project: Option<PathBuf>) -> ScopeArgs {
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
            None => ScopeArgs::of(Some(folder.to_owned())),
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
    /// How the settings name the executables.
    pub(crate) naming: Naming,
    /// The arguments that lead here, with absolute paths.
    pub(crate) args: ScopeArgs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Naming {
    /// By absolute path, since the client expands nothing in exec form.
    Absolute(String),
    /// By bare name, since a package is the same on every machine.
    Bare,
}

impl Naming {
    /// The location in the form that the table of hooks takes.
    pub(crate) fn location(&self) -> Location<'_> {
        match self {
            Self::Absolute(folder) => Location::Folder(folder),
            Self::Bare => Location::Path,
        }
    }
}

/// Resolves the arguments to paths.
pub(crate) fn resolve(args: &ScopeArgs, places: &InstallPaths) -> Result<InstallScope> {
    let executables =
        places.executables.to_str().context("the executables' folder is not UTF-8")?;
    let absolute = Naming::Absolute(executables.to_owned());
    if let Some(folder) = &args.stow {
        let package = absolute_path(folder, places);
        let base = package.join("claude/.claude");
        return Ok(InstallScope {
            name: format!("stow package `{}`", package.join("claude").display()),
            settings: base.join("settings.json"),
            backups: places.ralph.root().join("backups"),
            naming: Naming::Bare,
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
        naming: absolute,
        args: ScopeArgs::of(project),
        base,
    })
}

fn project_folder(named: &Path) -> Result<PathBuf> {
    user_files::real(named)
        .filter(|folder| folder.is_dir())
        .ok_or_else(|| refused(Exit::No, format!("there is no folder `{}`", named.display())))
}

fn absolute_path(path: &Path, places: &InstallPaths) -> PathBuf {
    user_files::real(path).unwrap_or_else(|| places.current.join(path))
}
