//! The start of a session: the facts about its project, compared with the one `git status` among
//! them and with the pattern's own script.

use std::rc::Rc;

use crate::cases::quick;
use crate::machine;
use crate::payloads;
use crate::peers;
use crate::plan::{Bar, Case, Expected, Pace, Plan};
use crate::repos::{Repo, Shape};
use crate::stops;
use crate::workshop::{Workshop, call};

/// `git status` as the project facts call it.
const STATUS: [&str; 8] = [
    "--no-optional-locks",
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=normal",
    "--no-renames",
    "--ignore-submodules=dirty",
];

const TELLS: Expected = Expected::Says(&["additionalContext"]);

pub(crate) fn add(plan: &mut Plan, shop: &Workshop) -> anyhow::Result<()> {
    for (files, bar) in [(200, Bar::AtMost(1.5)), (20_000, Bar::AtMost(1.15))] {
        let repo = shop.repo(Shape::new(files, 10).with_packages(files))?;
        rows(plan, shop, &repo, files, bar);
    }
    Ok(())
}

fn rows(plan: &mut Plan, shop: &Workshop, repo: &Rc<Repo>, files: usize, bar: Bar) {
    let pace = Pace::Fourth;
    let name = format!("session context, {files} files");
    let payload = || payloads::session_start(&repo.path);
    let hook = shop.hook("ralph-session-context", &shop.idle, repo, payload());
    let hook = hook.map(|call| plan.case(Case { pace, ..quick(&name, call, TELLS) }));
    let git = stops::git(&shop.idle, repo, &STATUS);
    let git = plan.case(Case { pace, ..quick("git status", git, Expected::Success) });
    plan.row(&name, hook, Some(git), bar);

    let Some(bash) = machine::on_path("bash").filter(|_| machine::on_path("jq").is_some()) else {
        return;
    };
    let name = format!("bash+jq: session context, {files} files");
    let bare = call(bash.clone(), &shop.idle, repo, payload());
    let peer = peers::peer(&bash, "session-context", bare, &shop.idle);
    let peer = plan.case(Case { pace, ..quick(&name, peer, TELLS) });
    plan.row(&name, Some(peer), hook, Bar::None);
}
