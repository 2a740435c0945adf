//! A loop that machines share: its plan, as a user trusts it, and how it stands.
//!
//! Other machines wrote all of it, so each text is shown on one line or indented, and what acts on a
//! terminal is made visible.

use crate::shell;
use crate::state::Task;
use crate::tasks::shared::names::Namespace;
use crate::tasks::shared::record::Plan;
use crate::tasks::shared::text::{Name, ObjectId};
use crate::tasks::shared::view::{ChainState, TaskStanding, View};
use crate::text::plural::{counted, lasted, tokens};
use crate::text::sanitize;
use crate::text::truncate::bounded;
use crate::views::phrases::spaced;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The remote of a clone unless the user names another.
pub const ORIGIN: &str = "origin";

/// The longest prompt that is shown, in UTF-16 units. Commands are always shown whole.
const LONGEST_PROMPT: usize = 4_000;

/// The longest name of a task, and the longest reason in a list.
const LONGEST_LINE: usize = 200;

/// A longer list does not help a person.
const MOST_NAMED: usize = 12;

/// A shared loop and what this clone knows besides its records.
#[derive(Debug)]
pub struct SharedLoop<'a> {
    pub space: &'a Namespace,
    pub remote: &'a str,
    pub view: &'a View,
    pub branch: BranchStanding,
    pub digest: String,
    /// True if the user of this clone trusts the loop with this digest.
    pub is_trusted: bool,
    /// The record with which the ledger began when they trusted it, if it begins with another one now.
    pub replaced: Option<ObjectId>,
}

/// How the branch on the remote compares with the work that the ledger says was proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchStanding {
    /// No work was merged yet.
    Empty,
    /// The branch is the proven commit, and that commit has the proven tree.
    Proven,
    /// The branch has later commits, which no machine has merged and tested yet.
    Ahead,
    /// The branch has earlier work only.
    Behind,
    /// The branch has other work.
    Replaced,
    Missing,
    /// The commit that the ledger names has this tree and not the proven one.
    OtherTree(ObjectId),
}

impl BranchStanding {
    fn word(&self) -> &'static str {
        match self {
            BranchStanding::Empty => "empty",
            BranchStanding::Proven => "proven",
            BranchStanding::Ahead => "ahead",
            BranchStanding::Behind => "behind",
            BranchStanding::Replaced => "replaced",
            BranchStanding::Missing => "missing",
            BranchStanding::OtherTree(_) => "other_tree",
        }
    }
}

/// `ralph VERB --shared LOOP`, as the user types it.
pub fn command(verb: &str, loop_id: &Name, remote: &str) -> String {
    format!("ralph {verb} --shared {loop_id}{}", option(remote))
}

/// The command that deletes the references of an ended loop.
pub fn clean(loop_id: &Name, remote: &str) -> String {
    format!("ralph share --clean --loop {loop_id}{}", option(remote))
}

fn option(remote: &str) -> String {
    match remote {
        ORIGIN => String::new(),
        other => format!(" --remote {}", shell::word(other)),
    }
}

/// What a user reads before they trust a plan.
pub fn plan(plan: &Plan, digest: &str) -> String {
    let mut text = format!("goal:\n{}", indented(&bounded(&plan.prompt, LONGEST_PROMPT)));
    if !plan.context_report.is_empty() {
        let report = bounded(&plan.context_report, LONGEST_PROMPT);
        text.push_str(&format!("\nfindings of the planning:\n{}", indented(&report)));
    }
    text.push_str("\ncriteria:");
    for criterion in &plan.acceptance_criteria {
        let id = one_line(&criterion.id);
        text.push_str(&format!("\n  {id}  {}", visible(&criterion.decided_by())));
    }
    let tasks = counted(plan.task_graph.len(), "task", "tasks");
    text.push_str(&format!("\n{tasks}, each with the commands that it has to pass:"));
    for task in &plan.task_graph {
        text.push_str(&format!("\n  {}  {}", one_line(&task.id), one_line(&task.name)));
        for command in &task.verify {
            text.push_str(&format!("\n      {}", visible(command)));
        }
    }
    let limits = &plan.limits;
    let mut bounds = vec![
        counted(plan.max_iterations as usize, "turn", "turns"),
        lasted(i64::try_from(limits.max_minutes.saturating_mul(60)).unwrap_or(i64::MAX)),
    ];
    bounds.extend(limits.max_tokens.map(tokens));
    bounds.extend(limits.max_cost.map(|most| format!("${most}")));
    bounds
        .push(format!("{} for each task", counted(plan.attempts as usize, "attempt", "attempts")));
    text.push_str(&format!("\nlimits: {}\ndigest: {digest}", bounds.join(", ")));
    text
}

/// What the user is told of a ledger that began with another record when they trusted it.
pub fn replaced(loop_id: &Name, before: &ObjectId) -> String {
    format!(
        "somebody replaced the ledger of shared loop {loop_id} after you had trusted it: it began with record \
         {before:.10}; compare it with another clone"
    )
}

/// What acts on a terminal is shown, line ends as well: nothing stands apart from its label.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match sanitize::acts(letter) {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

fn one_line(text: &str) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&bounded(&folded, LONGEST_LINE))
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {}", visible(&line.replace('\t', "    "))));
    lines.collect::<Vec<_>>().join("\n")
}

/// The number of each machine's claims.
fn claims(view: &View) -> BTreeMap<&Name, usize> {
    let mut claims = BTreeMap::new();
    for (_, standing) in view.tasks() {
        if let TaskStanding::Claimed { machine, .. } = standing {
            *claims.entry(machine).or_default() += 1;
        }
    }
    claims
}

/// The machine that claims or has finished a task.
fn machine<'a>(view: &'a View, task: &Task, standing: &TaskStanding<'_>) -> Option<&'a Name> {
    let is_held = matches!(standing, TaskStanding::Claimed { .. } | TaskStanding::Finished { .. });
    let chain = view.chains.get(&task.id).filter(|_| is_held)?.as_ref().ok()?;
    match &chain.state {
        ChainState::Claimed { machine, .. } | ChainState::Finished { machine, .. } => Some(machine),
        ChainState::Released => None,
    }
}

/// Why the integrator returned a task that is open.
fn returned<'a>(view: &'a View, task: &Task) -> Option<&'a str> {
    let chain = view.chains.get(&task.id)?.as_ref().ok()?;
    let ChainState::Finished { finish, .. } = &chain.state else { return None };
    view.ledger.returned.get(finish).map(|reason| reason.as_str())
}

fn word(standing: &TaskStanding<'_>) -> &'static str {
    match standing {
        TaskStanding::Waiting => "waiting",
        TaskStanding::Ready => "ready",
        TaskStanding::Claimed { .. } => "claimed",
        TaskStanding::Finished { .. } => "finished",
        TaskStanding::Merged => "merged",
        TaskStanding::GivenUp => "given_up",
        TaskStanding::Unreadable(_) => "unreadable",
    }
}

fn listed(items: &[String]) -> String {
    let more = match items.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", items[..items.len().min(MOST_NAMED)].join(", "))
}

impl SharedLoop<'_> {
    /// `running`, `paused` or how the loop ended.
    pub fn state(&self) -> String {
        match (&self.view.ledger.end, &self.view.ledger.pause) {
            (Some(end), _) => spaced(end.ending.as_str()),
            (None, Some(_)) => "paused".to_owned(),
            (None, None) => "running".to_owned(),
        }
    }

    /// The line above the rows, in two parts.
    pub fn position(&self) -> String {
        let merged = self.tasks(|standing| matches!(standing, TaskStanding::Merged)).len();
        let tasks = self.view.ledger.plan.task_graph.len();
        format!("{merged} of {} merged", counted(tasks, "task", "tasks"))
    }

    fn tasks(&self, is_meant: impl Fn(&TaskStanding<'_>) -> bool) -> Vec<&Task> {
        let tasks = self.view.tasks().filter(|(_, standing)| is_meant(standing));
        tasks.map(|(task, _)| task).collect()
    }

    /// The labelled rows; an empty value means no row.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let ledger = &self.view.ledger;
        let is_open = ledger.end.is_none();
        let reason = match (&ledger.end, &ledger.pause) {
            (Some(end), _) => ("reason", one_line(end.reason.as_str())),
            (None, Some(reason)) => ("paused", one_line(reason.as_str())),
            (None, None) => ("", String::new()),
        };
        let with = |is_meant: fn(&TaskStanding<'_>) -> bool| {
            let tasks = self.view.tasks().filter(|(_, standing)| is_meant(standing));
            let named = tasks.map(|(task, standing)| {
                let by =
                    machine(self.view, task, &standing).map(|machine| format!(" by {machine}"));
                let why = match standing {
                    TaskStanding::Unreadable(error) => Some(format!(": {error}")),
                    _ => returned(self.view, task)
                        .map(|why| format!(": returned, {}", one_line(why))),
                };
                let id = one_line(&task.id);
                format!("{id}{}{}", by.unwrap_or_default(), why.unwrap_or_default())
            });
            listed(&named.collect::<Vec<_>>())
        };
        vec![
            ("goal", one_line(&ledger.plan.prompt)),
            ("remote", self.remote.to_owned()),
            reason,
            ("claimed", with(|it| matches!(it, TaskStanding::Claimed { .. }))),
            ("to merge", with(|it| matches!(it, TaskStanding::Finished { .. }))),
            ("ready", with(|it| matches!(it, TaskStanding::Ready))),
            ("waiting", with(|it| matches!(it, TaskStanding::Waiting))),
            ("given up", with(|it| matches!(it, TaskStanding::GivenUp))),
            ("unreadable", with(|it| matches!(it, TaskStanding::Unreadable(_)))),
            ("not read", listed(&self.unread())),
            ("machines", if is_open { self.machines() } else { String::new() }),
            ("criteria", self.criteria()),
            ("branch", self.branch()),
            ("messages", self.messages()),
            ("plan", self.trust()),
            ("next", self.next()),
        ]
    }

    /// What may change, a line for each fact: a line that was not there before is news.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}, {}", self.state(), self.position())];
        lines.extend(self.view.tasks().map(|(task, standing)| {
            let by = machine(self.view, task, &standing).map(|machine| format!(" by {machine}"));
            let why =
                returned(self.view, task).filter(|_| !matches!(standing, TaskStanding::Merged));
            let why = why.map(|why| format!(": returned, {}", one_line(why)));
            let (by, why) = (by.unwrap_or_default(), why.unwrap_or_default());
            format!("{} is {}{by}{why}", one_line(&task.id), spaced(word(&standing)))
        }));
        let of_rows = ["reason", "paused", "not read", "criteria", "branch", "messages"];
        let rows = self
            .rows()
            .into_iter()
            .filter(|(label, value)| of_rows.contains(label) && !value.is_empty());
        lines.extend(rows.map(|(label, value)| format!("{label}: {value}")));
        lines
    }

    fn unread(&self) -> Vec<String> {
        self.view.unread().iter().map(|one| one_line(one)).collect()
    }

    fn machines(&self) -> String {
        let claims = claims(self.view);
        let named = claims
            .iter()
            .map(|(machine, n)| format!("{machine} with {}", counted(*n, "task", "tasks")));
        let at_work = match claims.is_empty() {
            true => "no machine has claimed a task".to_owned(),
            false => listed(&named.collect::<Vec<_>>()),
        };
        let integrator = self.view.ledger.integrator.as_ref();
        let merges = integrator.map(|held| format!("; {} merges", held.machine));
        format!("{at_work}{}", merges.unwrap_or_default())
    }

    fn criteria(&self) -> String {
        let receipts = &self.view.ledger.receipts;
        if receipts.is_empty() {
            return String::new();
        }
        let red = receipts.iter().filter(|one| !one.holds).map(|one| one_line(&one.criterion));
        let red: Vec<String> = red.collect();
        match red.is_empty() {
            true => format!(
                "{} on the last merge",
                match receipts.len() {
                    1 => "it holds".to_owned(),
                    n => format!("all {n} hold"),
                }
            ),
            false => format!(
                "{} of {} hold on the last merge, not {}",
                receipts.len() - red.len(),
                receipts.len(),
                listed(&red)
            ),
        }
    }

    fn branch(&self) -> String {
        let name = self.space.branch();
        let name = name.trim_start_matches("refs/heads/");
        let tree = self.view.ledger.tree.as_ref();
        let tree = tree.map(|tree| format!("{tree:.10}")).unwrap_or_default();
        let how = match &self.branch {
            BranchStanding::Empty => return String::new(),
            BranchStanding::Proven => format!("holds exactly what was proven, tree {tree}"),
            BranchStanding::Ahead => {
                "has commits that no machine has merged and tested yet".to_owned()
            }
            BranchStanding::Behind => "does not have the last merge yet".to_owned(),
            BranchStanding::Replaced => {
                format!(
                    "was replaced: it does not contain {:.10}, the last merge",
                    self.view.ledger.branch
                )
            }
            BranchStanding::Missing => "is not on the remote".to_owned(),
            BranchStanding::OtherTree(other) => {
                format!(
                    "is not proven: the last merge has tree {other:.10}, and tree {tree} was proven"
                )
            }
        };
        format!("`{name}` {how}")
    }

    fn messages(&self) -> String {
        let signals = &self.view.ledger.signals;
        let Some((_, last)) = signals.last() else { return String::new() };
        format!("{}, the last: {}", signals.len(), one_line(last.as_str()))
    }

    fn trust(&self) -> String {
        let digest = &self.digest;
        let is = match (&self.replaced, self.is_trusted) {
            (Some(before), _) => return replaced(self.space.loop_id(), before),
            (None, true) => "trusted",
            (None, false) => "not trusted",
        };
        format!("{is} on this clone, digest {digest}")
    }

    fn command(&self, verb: &str) -> String {
        command(verb, self.space.loop_id(), self.remote)
    }

    fn next(&self) -> String {
        match (&self.view.ledger.end, &self.view.ledger.pause) {
            (Some(_), _) => {
                let clean = clean(self.space.loop_id(), self.remote);
                format!("`{clean}` deletes its references; its branch stays")
            }
            (None, Some(_)) => format!("`{}` continues it", self.command("resume")),
            (None, None) if !self.is_trusted => {
                format!("`{}` shows its plan and trusts it", self.command("trust"))
            }
            (None, None) => format!("`{}` takes part from this clone", self.command("run")),
        }
    }

    /// For programs; `docs/reference/status.md` describes each member.
    pub fn document(&self) -> Value {
        let ledger = &self.view.ledger;
        let claims = claims(self.view);
        let integrator = ledger.integrator.as_ref().map(|held| &held.machine);
        let machines = self.view.renewals.keys().chain(claims.keys().copied()).chain(integrator);
        let machines: BTreeMap<&Name, usize> =
            machines.map(|name| (name, claims.get(name).copied().unwrap_or(0))).collect();
        let tasks = self.view.tasks().map(|(task, standing)| {
            json!({
                "id": task.id,
                "name": task.name,
                "standing": word(&standing),
                "machine": machine(self.view, task, &standing),
                "returns": ledger.returns.get(&task.id).copied().unwrap_or(0),
                "returned": returned(self.view, task),
            })
        });
        json!({
            "schema_version": 1,
            "loop_id": self.space.loop_id(),
            "remote": self.remote,
            "state": match (&ledger.end, &ledger.pause) {
                (Some(_), _) => "ended",
                (None, Some(_)) => "paused",
                (None, None) => "running",
            },
            "pause": ledger.pause,
            "ending": ledger.end,
            "prompt": ledger.plan.prompt,
            "digest": self.digest,
            "trusted": self.is_trusted,
            "tasks": tasks.collect::<Vec<_>>(),
            "unread": self.view.unread(),
            "machines": machines.iter().map(|(name, claims)| json!({
                "name": name, "claims": claims, "integrates": integrator == Some(*name),
            })).collect::<Vec<_>>(),
            "criteria": ledger.receipts,
            "branch": {
                "name": self.space.branch(),
                "standing": self.branch.word(),
                "commit": ledger.tree.as_ref().map(|_| &ledger.branch),
                "tree": ledger.tree,
            },
            "messages": ledger.signals.iter().map(|(kind, text)| json!({"kind": kind.as_str(), "text": text}))
                .collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests;
