//! The stop that keeps the turn going. It is the hook's one expensive answer, since it
//! must examine the tree.
//!
//! Its floor is not an empty program but the one `git status` that it needs,
//! on the same repository.

use std::path::PathBuf;
use std::rc::Rc;

use crate::cases::quick;
use crate::driver::Call;
use crate::home::Home;
use crate::payloads::{self, USUAL_MESSAGE};
use crate::plan::{Bar, Before, Case, CaseId, Expected, Pace, Plan};
use crate::repos::{Repo, Shape};
use crate::workshop::{Workshop, call};

pub(crate) const STATUS: [&str; 8] = [
    "--no-optional-locks",
    "status",
    "--porcelain=v2",
    "-z",
    "--branch",
    "--no-ahead-behind",
    "-uall",
    "--no-renames",
];
/// How the pattern detects progress.
const DIFF_STAT: [&str; 2] = ["diff", "--stat"];

/// The newer and the older way to keep a client going.
pub(crate) const GOES_ON: Expected = Expected::Says(&["\"additionalContext\"", "\"block\""]);

/// Adds the rows of stops, and returns the usual case.
pub(crate) fn add(plan: &mut Plan, shop: &Workshop, full: bool) -> anyhow::Result<Option<CaseId>> {
    let usual = small(plan, shop)?;
    grown(plan, shop, usual)?;
    for (files, pace) in [(20_000, Pace::Fourth), (100_000, Pace::Tenth)] {
        if files > 20_000 && !full {
            continue;
        }
        for changed in [0, 10, 1_000] {
            large(plan, shop, Shape::new(files, changed), pace)?;
        }
    }
    large_diff(plan, shop)?;
    Ok(usual)
}

fn small(plan: &mut Plan, shop: &Workshop) -> anyhow::Result<Option<CaseId>> {
    let clean = shop.repo(Shape::new(200, 0))?;
    let stop = stop(plan, shop, Stop::on("stop, 200 files, 0 changed", &clean))?;
    let git = git_case(plan, shop, &clean, &STATUS, Pace::Every);
    plan.row("stop goes on, 200 files, 0 changed", stop, Some(git), BESIDE_GIT);

    let usual = self::stop(plan, shop, Stop::on("stop, 200 files, 10 changed", &shop.small))?;
    let git = git_case(plan, shop, &shop.small, &STATUS, Pace::Every);
    plan.row("stop goes on, 200 files, 10 changed", usual, Some(git), BESIDE_GIT);
    Ok(usual)
}

/// A stop asks git what has changed, once.
const BESIDE_GIT: Bar = Bar::AtMostAndMs(1.5, 1.0);

/// The usual stop with a long message, and with a long plan.
fn grown(plan: &mut Plan, shop: &Workshop, usual: Option<CaseId>) -> anyhow::Result<()> {
    let long = stop(
        plan,
        shop,
        Stop { message: 1_000_000, ..Stop::on("stop, 1 MB message", &shop.small) },
    )?;
    plan.row("stop goes on, 1 MB message", long, usual, Bar::AtMost(2.5));
    for (tasks, bar, pace) in
        [(1_000, Bar::AtMost(1.5), Pace::Every), (10_000, Bar::None, Pace::Fourth)]
    {
        let name = format!("stop, {tasks} tasks");
        let stop = stop(plan, shop, Stop { tasks, pace, ..Stop::on(&name, &shop.small) })?;
        plan.row(&format!("stop goes on, {tasks} tasks"), stop, usual, bar);
    }
    Ok(())
}

fn large(plan: &mut Plan, shop: &Workshop, shape: Shape, pace: Pace) -> anyhow::Result<()> {
    let name = format!("stop goes on, {} files, {} changed", shape.files, shape.changed);
    if shop.hooks.get("ralph-stop-hook").is_none() {
        plan.row(&name, None, None, BESIDE_GIT);
        return Ok(());
    }
    let repo = shop.repo(shape)?;
    let stop = stop(plan, shop, Stop { pace, ..Stop::on(&name, &repo) })?;
    let git = git_case(plan, shop, &repo, &STATUS, pace);
    plan.row(&name, stop, Some(git), BESIDE_GIT);
    Ok(())
}

fn large_diff(plan: &mut Plan, shop: &Workshop) -> anyhow::Result<()> {
    let repo = shop.repo(Shape::large_diff())?;
    let stop = stop(plan, shop, Stop { pace: Pace::Tenth, ..Stop::on("stop, 10 MB diff", &repo) })?;
    let git = git_case(plan, shop, &repo, &DIFF_STAT, Pace::Tenth);
    plan.row("stop goes on, 10 MB diff", stop, Some(git), Bar::AtMost(0.10));
    Ok(())
}

struct Stop<'a> {
    name: &'a str,
    repo: &'a Rc<Repo>,
    message: usize,
    tasks: usize,
    pace: Pace,
}

impl<'a> Stop<'a> {
    fn on(name: &'a str, repo: &'a Rc<Repo>) -> Stop<'a> {
        Stop { name, repo, message: USUAL_MESSAGE, tasks: 8, pace: Pace::Every }
    }
}

fn stop(plan: &mut Plan, shop: &Workshop, stop: Stop<'_>) -> anyhow::Result<Option<CaseId>> {
    let home = shop.live_home(&stop.name.replace([' ', ','], "-"), stop.repo, stop.tasks)?;
    let payload = payloads::stop(&stop.repo.path, &home.transcript(), stop.message);
    let Some(call) = shop.hook("ralph-stop-hook", &home, stop.repo, payload) else {
        return Ok(None);
    };
    let before = Before { rewind: Some(home), advance: Some(Rc::clone(stop.repo)) };
    Ok(Some(plan.case(Case { before, pace: stop.pace, ..quick(stop.name, call, GOES_ON) })))
}

fn git_case(plan: &mut Plan, shop: &Workshop, repo: &Repo, args: &[&str], pace: Pace) -> CaseId {
    let name = if args == STATUS { "git status" } else { "git diff --stat" };
    plan.case(Case { pace, ..quick(name, git(&shop.idle, repo, args), Expected::Success) })
}

pub(crate) fn git(home: &Home, repo: &Repo, args: &[&str]) -> Call {
    let git = crate::machine::on_path("git").unwrap_or_else(|| PathBuf::from("git"));
    Call { args: args.iter().map(|&arg| arg.into()).collect(), ..call(git, home, repo, Vec::new()) }
}
