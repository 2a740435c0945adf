//! Shared by `ralph plan`, `ralph build` and `ralph ralplan run`: the number of rounds, the
//! client's options, the folder of the logs, and which results end a run.

use super::client::{self, CLIENT, ClientRound, RoundOutcome, RoundResult};
use crate::command::complete;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible};
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::build;
use ralph_core::project::bounds::Bounds;
use ralph_core::protocol::loaded::ListedPlugins;
use ralph_core::protocol::permission::{Need, Obstacle};
use ralph_core::protocol::sandbox::{self, SandboxReach};
use ralph_core::state::{LoopState, PauseCause};
use ralph_core::stop::progress::in_a_row;
use ralph_core::text::plural::counted;
use ralph_core::text::truncate::bounded;
use ralph_core::transcript::stream::Denial;
use ralph_io::project::{settings, user_files};
use ralph_io::store::atomic;
use ralph_io::{git, process::clock};
use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How the client is called.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClientOptions {
    /// The client's permission mode [default: the settings, else `acceptEdits` in the sandbox]
    #[arg(long, value_name = "MODE", add = ArgValueCandidates::new(complete::permission_modes))]
    permission_mode: Option<String>,
    /// Run the client's commands outside of its sandbox, with all your rights
    #[arg(long)]
    no_sandbox: bool,
    /// Pause when a usage limit is reached, instead of waiting until it is reset
    #[arg(long)]
    no_wait: bool,
    /// Print the command of the first round and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Arguments passed to the client
    #[arg(last = true, value_name = "ARG")]
    pub(crate) args: Vec<OsString>,
    /// What the sandbox of this run bounds, decided once.
    #[arg(skip)]
    sandbox: OnceCell<Option<Box<(Bounds, SandboxReach)>>>,
    /// The plugins at the start of this run.
    #[arg(skip)]
    plugins: OnceCell<ListedPlugins>,
}

impl ClientOptions {
    /// The mode given here, else the one in Ralph's settings, else the sandbox's. `None` leaves it
    /// to the client's settings.
    pub(crate) fn permission_mode(&self, here: &Here) -> Option<String> {
        let said = || settings::read(&here.home, &here.root).0.client().permission_mode;
        let sandboxed = || self.sandbox(here).map(|_| sandbox::MODE.to_owned());
        self.permission_mode.clone().or_else(said).or_else(sandboxed)
    }

    /// What the commands of the run may reach; `None` without a sandbox. It stays as it is at the
    /// first call: a round cannot change the bounds of the next.
    fn sandbox(&self, here: &Here) -> Option<&SandboxReach> {
        self.decided(here).map(|both| &both.1)
    }

    /// The bounds of a loop that this run works on; `None` without a sandbox.
    pub(crate) fn bounds(&self, here: &Here) -> Option<&Bounds> {
        self.decided(here).map(|both| &both.0)
    }

    /// As [`ClientOptions::bounds`], for a worker in a worktree of the project.
    pub(crate) fn bounds_in(&self, here: &Here, folder: &Path) -> Option<Bounds> {
        self.bounds(here).map(|above| client::sandbox::bounds_of_worker(here, folder, above))
    }

    /// The bounds of this loop from now on. Those of an earlier run stay, unless this one has no
    /// sandbox: the model may have changed the settings since.
    pub(crate) fn bind(&self, here: &Here, state: &mut LoopState) {
        state.bounds = match (self.bounds(here), state.bounds.take()) {
            (Some(_), Some(earlier)) => Some(earlier),
            (now, _) => now.cloned(),
        };
        if let Some(environment) = &mut state.environment {
            environment.plugins = self.plugins.get().map(|listed| listed.names.clone());
        }
    }

    /// Takes the bounds that an earlier run of this loop has frozen. Called before anything asks.
    /// Settings that switch the sandbox off later change nothing; only the flag does.
    pub(crate) fn keep(&self, here: &Here, state: &LoopState) {
        if let Some(bounds) = state.bounds.clone().filter(|_| !self.no_sandbox) {
            git::keep_within_bounds();
            let reach = client::sandbox::reach(here, &bounds);
            // Only the first decision counts.
            let _ = self.sandbox.set(Some(Box::new((bounds, reach))));
        }
    }

    fn decided(&self, here: &Here) -> Option<&(Bounds, SandboxReach)> {
        let decided = self.sandbox.get_or_init(|| {
            let is_on = settings::read(&here.home, &here.root).0.client().is_sandboxed();
            (is_on && !self.no_sandbox).then(|| {
                git::keep_within_bounds();
                let bounds = client::sandbox::bounds(here, &here.root);
                let reach = client::sandbox::reach(here, &bounds);
                Box::new((bounds, reach))
            })
        });
        decided.as_deref()
    }

    /// A round with these options. `kind` is the word by which the hooks recognize it.
    pub(crate) fn round(&self, here: &Here, kind: &str, log: PathBuf) -> ClientRound {
        ClientRound {
            // Each start of a run has found it.
            client: CLIENT.program().unwrap_or_default(),
            plugins: self.plugins.get().cloned(),
            env: vec![("RALPH_ROUND".to_owned(), kind.to_owned())],
            allowed: handover(kind),
            extra_args: self.args.clone(),
            permission_mode: self.permission_mode(here),
            folder: Some(here.root.clone()),
            log,
            waits_for_limits: !self.no_wait,
            sandbox: self.sandbox(here).cloned(),
            background: Some(settings::read(&here.home, &here.root).0.client().background()),
            ..ClientRound::default()
        }
    }

    /// Like [`ClientOptions::ready`], and prints the mode.
    pub(crate) fn check(&self, here: &Here, kind: &str, needs: &[Need]) -> Result<()> {
        let mode = self.ready(here, kind, needs)?;
        screen::tell(&visible(&mode));
        Ok(())
    }

    /// Refuses a run whose rounds could not make these calls, with the command that would work:
    /// in print mode nobody can grant a permission. Returns the words about the mode and the bounds.
    pub(crate) fn ready(&self, here: &Here, kind: &str, needs: &[Need]) -> Result<String> {
        let round = self.round(here, kind, PathBuf::new());
        CLIENT.check_version(&round)?;
        CLIENT.check_folder(&round)?;
        self.check_sandbox(here)?;
        let preflight = CLIENT.preflight(&round, needs)?;
        if preflight.is_denied() {
            let message = format!("{}; {}", preflight.reason(), remedy(preflight.remedy));
            return Err(refused(Exit::No, message));
        }
        if self.plugins.get().is_none() {
            let listed = CLIENT.plugins(&round)?;
            listed.line().iter().for_each(|line| screen::tell(&visible(line)));
            // Only the first list counts.
            let _ = self.plugins.set(listed);
        }
        let mut mode = format!("permission mode: {}", preflight.mode);
        if let Some(bounds) = self.bounds(here) {
            mode = format!("{mode}; {}", bounds.lines().join("; "));
        }
        for line in preflight.lines() {
            screen::tell(&visible(&line));
        }
        self.tell_bounds(here, &preflight.mode);
        Ok(mode)
    }

    /// Refuses a run whose sandbox cannot start.
    fn check_sandbox(&self, here: &Here) -> Result<()> {
        let checked = self.sandbox(here).map(|_| ralph_io::client::sandbox::check());
        let Some(Err(why)) = checked else { return Ok(()) };
        screen::tell("without the sandbox:");
        for way in sandbox::other_ways(|options| typed_with(&typed(), options)) {
            screen::tell(&visible(&format!("  {way}")));
        }
        let message = format!("the client's sandbox cannot start: {why}; nothing was started");
        Err(refused(Exit::MissingProgram, message))
    }

    /// Prints what the user might take for granted of the bounds, and is otherwise.
    fn tell_bounds(&self, here: &Here, mode: &str) {
        let Some(bounds) = self.bounds(here) else { return };
        if client::sandbox::bounds(here, &here.root) != *bounds {
            screen::tell(
                "these are the bounds of the loop's start; changed settings count for a new loop",
            );
        }
        if matches!(mode, "bypassPermissions" | "auto") {
            screen::tell(&format!(
                "in permission mode `{mode}` the sandbox bounds shell commands only: Read, Write and Edit can leave it"
            ));
        }
    }

    /// Why a round could do nothing, with the command that would work; `None` if nothing was denied.
    pub(crate) fn why_idle(&self, here: &Here, kind: &str, denials: &[Denial]) -> Option<String> {
        let first = denials.first()?;
        let needs: Vec<Need> = denials.iter().map(need).collect();
        let round = self.round(here, kind, PathBuf::new());
        let found = CLIENT.preflight(&round, &needs).ok().and_then(|found| found.remedy);
        // A rule may name a call that the client has denied all the same.
        let mode = found.filter(|mode| *mode != "default").unwrap_or("bypassPermissions");
        let denied = format!("{} {}", first.tool, bounded(first.about.trim(), 100));
        let more = match denials.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "nothing was done, since {}{more} was denied; {}",
            denied.trim(),
            remedy(Some(mode))
        ))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preflight {
    /// The name of the permission mode that the client will use.
    pub mode: String,
    /// The calls that would not simply run.
    pub obstacles: Vec<(Need, Obstacle)>,
    /// The narrowest mode in which all of them would run.
    pub remedy: Option<&'static str>,
    /// How many of the project's rules the client will ignore because the folder is not trusted.
    pub n_ignored: usize,
    /// Settings that could not be read.
    pub problems: Vec<String>,
    /// True if the user's arguments name something else that decides.
    pub is_elsewhere: bool,
}

impl Preflight {
    /// True if a call would be denied: in print mode nobody can grant a permission.
    pub fn is_denied(&self) -> bool {
        !self.is_elsewhere
            && self.obstacles.iter().any(|(_, obstacle)| *obstacle != Obstacle::Unknown)
    }

    /// Why the calls would be denied: the mode, or a rule that stands in every mode.
    pub fn reason(&self) -> String {
        if self.remedy.is_none()
            && let Some((need, obstacle)) = self.obstacles.iter().find(|(_, it)| it.is_rule())
        {
            return obstacle_line(need, obstacle);
        }
        let calls: Vec<String> = self.obstacles.iter().map(|(need, _)| need_name(need)).collect();
        format!("permission mode `{}` denies {}", visible(&self.mode), calls.join(", "))
    }

    /// What the user may want to know before the first round.
    pub fn lines(&self) -> Vec<String> {
        let unknown = self.obstacles.iter().filter(|(_, it)| *it == Obstacle::Unknown);
        let mut lines: Vec<String> =
            unknown.map(|(need, obstacle)| obstacle_line(need, obstacle)).collect();
        if self.n_ignored > 0 {
            let rules = counted(self.n_ignored, "rule", "rules");
            lines.push(format!(
                "the client ignores {rules} of the project: start it here once and trust the folder"
            ));
        }
        lines.extend(self.problems.iter().map(|problem| visible(problem)));
        lines
    }
}

fn obstacle_line(need: &Need, obstacle: &Obstacle) -> String {
    let need = need_name(need);
    match obstacle {
        Obstacle::Prompts | Obstacle::Plan => format!("{need} would be denied"),
        Obstacle::AskRule(rule) | Obstacle::DenyRule(rule) => {
            format!("the rule `{}` in the client's settings denies {need}", visible(rule))
        }
        Obstacle::Unknown => format!("in permission mode `auto` a model decides about {need}"),
    }
}

fn need_name(need: &Need) -> String {
    match need {
        Need::Bash(command) => format!("`{}`", visible(command)),
        Need::Edits(tool) | Need::Tool(tool) => visible(tool),
    }
}

/// The rules that a client gets besides the user's own: exactly the commands of `ralph` by which
/// a round of this kind hands its work over. Measured with 2.1.328: in print mode a rule lets a
/// prefix pass, also among chained commands, except with a variable or a JSON object in it.
fn handover(kind: &str) -> Vec<String> {
    let commands: &[&str] = match kind {
        "build" => &build::COMMANDS,
        "ideate" | "refine" => &["task list"],
        kind if kind.starts_with("Ralph-v2-") => &["session mark", "session validate"],
        kind if kind.starts_with("ralplan-") => &["ralplan status"],
        _ => &[],
    };
    commands.iter().map(|command| format!("Bash(ralph {command} *)")).collect()
}

fn need(denial: &Denial) -> Need {
    match denial.tool.as_str() {
        "Bash" => Need::Bash(denial.about.clone()),
        "Edit" | "Write" | "NotebookEdit" => Need::Edits(denial.tool.clone()),
        tool => Need::Tool(tool.to_owned()),
    }
}

/// The user's own command line with the mode that would work.
fn remedy(mode: Option<&str>) -> String {
    let Some(mode) = mode else { return "change that rule first".to_owned() };
    let typed = format!("type `{}`", with_mode(&typed(), mode));
    match mode {
        "bypassPermissions" => format!(
            "allow it in `permissions.allow`, or {typed}, with which no call is checked any more"
        ),
        _ => typed,
    }
}

/// What the user typed after `ralph`.
fn typed() -> Vec<String> {
    std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect()
}

fn with_mode(args: &[String], mode: &str) -> String {
    typed_with(args, &format!("--permission-mode {mode}"))
}

/// The user's own command line with these options in place of a permission mode.
fn typed_with(args: &[String], options: &str) -> String {
    let mut words = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--permission-mode" => drop(rest.next()),
            arg if arg.starts_with("--permission-mode=") => {}
            arg => words.push(client::quoted(arg)),
        }
    }
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.insert(at, options.to_owned());
    format!("ralph {}", words.join(" "))
}

/// Prints the command of a round, for `--dry-run`.
pub(crate) fn show(round: &ClientRound) -> Result<Exit> {
    screen::print(&screen::visible_lines(&client::command_line(round)?))
}

/// The folder of this run's logs, with a file for each round.
pub(crate) fn logs(here: &Here, command: &str) -> PathBuf {
    let name = format!("{}-{command}-{}", clock::compact(here.now), std::process::id());
    here.home.root().join("rounds").join(name)
}

/// In the folder of a run's logs: the loop, the orchestration or the refinement that the run worked on.
const OWNER: &str = "owner";

/// The owner of the runs of a loop. An orchestration may be driven by one loop after another.
pub(crate) fn owner_of(state: &LoopState) -> String {
    match state.orchestrated() {
        Some(id) => owner_in(Path::new(&state.project_root), id),
        None => state.loop_id.clone(),
    }
}

/// The owner that an orchestration or a refinement of this project is.
pub(crate) fn owner_in(root: &Path, name: &str) -> String {
    format!("{name} in {}", root.display())
}

/// Notes beside a client's log whose run it belongs to.
pub(crate) fn note_owner(log: &Path, owner: &str) -> Result<()> {
    let note = log.with_file_name(OWNER);
    if note.exists() {
        return Ok(());
    }
    user_files::make_folders(log.parent().unwrap_or(log), 0o700)?;
    atomic::write(&note, owner.as_bytes())
}

/// The clients' logs of an owner, in the order in which the clients began.
pub(crate) fn logs_of(here: &Here, owner: &str) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let is_its =
        |run: &PathBuf| std::fs::read(run.join(OWNER)).is_ok_and(|it| it == owner.as_bytes());
    let runs = entries(&here.home.root().join("rounds")).into_iter().filter(is_its);
    let files = runs.flat_map(|run| entries(&run));
    let is_log = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "jsonl");
    let mut logs: Vec<PathBuf> = files.filter(is_log).collect();
    let began =
        |log: &PathBuf| log.metadata().and_then(|about| about.created().or(about.modified()));
    logs.sort_by_cached_key(|log| (began(log).ok(), log.clone()));
    logs
}

/// Why no other round starts after this one; `None` if the next may start.
pub(crate) fn stops(outcome: &RoundOutcome) -> Option<String> {
    match outcome {
        RoundOutcome::Unanswered { why, is_final: true } => Some(why.clone()),
        RoundOutcome::Finished { .. }
        | RoundOutcome::Unanswered { .. }
        | RoundOutcome::Crashed { .. } => None,
        RoundOutcome::Ended => Some("ended by Ctrl-C".to_owned()),
        RoundOutcome::Overloaded { .. } => {
            Some("the API did not answer; try again later".to_owned())
        }
        RoundOutcome::RateLimited { until: Some(at) } => {
            Some(format!("the usage limit is reached until {at}"))
        }
        RoundOutcome::RateLimited { until: None } => {
            Some("the usage limit is reached; try again later".to_owned())
        }
    }
}

/// After this many crashes in a row the client is not started again.
pub(crate) const MOST_CRASHES: u32 = 3;

/// Why no other round starts after this one, and the cause for the loop's pause. `crashes` counts
/// the crashes in a row, this one included.
pub(crate) fn pause_cause(came: &RoundResult, crashes: u32) -> Option<(PauseCause, String)> {
    let cause = match &came.outcome {
        RoundOutcome::RateLimited { .. } => PauseCause::RateLimited,
        RoundOutcome::Ended => PauseCause::Person,
        _ => PauseCause::Crashed,
    };
    let why = match &came.outcome {
        RoundOutcome::Unanswered { why, is_final: false } if crashes >= MOST_CRASHES => {
            Some(format!("the model has not answered {}: {why}", in_a_row(crashes)))
        }
        _ if crashes >= MOST_CRASHES => Some(format!("the client crashed {}", in_a_row(crashes))),
        outcome => stops(outcome),
    };
    why.map(|why| (cause, why))
}

/// The longest text for a round in the journal.
pub(crate) const TOLD: usize = 1_000;

/// The journal's text about a round, with what else was noticed: no hook event reports that in every
/// mode.
pub(crate) fn with_notices(told: &str, came: &RoundResult) -> String {
    bounded(&[vec![told.to_owned()], came.notices()].concat().join("; "), TOLD)
}

/// The error of a run that ended early: by Ctrl-C, or since the client or a limit broke it off.
pub(crate) fn broke_off(by_user: bool, what: String) -> anyhow::Error {
    refused(if by_user { Exit::Interrupted } else { Exit::MissingProgram }, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_works_is_the_users_own_with_another_mode() {
        let with = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            with_mode(&args, "acceptEdits")
        };
        assert_eq!(with(&["build"]), "ralph build --permission-mode acceptEdits");
        assert_eq!(
            with(&["session", "run", "a task", "--permission-mode", "plan", "--", "--model", "x"]),
            "ralph session run 'a task' --permission-mode acceptEdits -- --model x"
        );
        assert_eq!(with(&["build", "--permission-mode=plan"]), with(&["build"]));
    }

    #[test]
    fn a_round_hands_over_by_the_commands_of_its_kind_alone() {
        for (kind, expected) in [
            ("refine", &["Bash(ralph task list *)"][..]),
            (
                "Ralph-v2-Executor",
                &["Bash(ralph session mark *)", "Bash(ralph session validate *)"],
            ),
            ("ralplan-critic", &["Bash(ralph ralplan status *)"]),
            ("review", &[]),
            ("", &[]),
        ] {
            assert_eq!(handover(kind), expected, "{kind}");
        }
        assert_eq!(handover("build").len(), build::COMMANDS.len());
    }

    #[test]
    fn of_two_projects_each_has_its_own_orchestration_of_a_name() {
        let state = |root: &str| LoopState {
            project_root: root.to_owned(),
            mode: ralph_core::state::OrchestrationState {
                id: "260131-120000".to_owned(),
                ..Default::default()
            }
            .into(),
            ..LoopState::default()
        };
        assert_eq!(owner_of(&state("/p")), "260131-120000 in /p");
        assert_ne!(owner_of(&state("/p")), owner_of(&state("/q")));
    }
}
