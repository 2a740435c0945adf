//! `ralph task … --tracker bd`: the same commands for the tasks that a project keeps in `bd` (beads).
//!
//! Every write is one command of bd, and what bd cannot do is refused with what can be done. Whose a
//! bead is, is asked again after a claim: what bd says of a claim and what stands in its store then
//! are two things, and the second counts.

use super::super::context_dir::Here;
use super::super::exit::{Exit, refused};
use super::super::screen::{self, visible_lines};
use super::super::select_loop::LoopArgs;
use super::{TaskCommand, change, show};
use anyhow::{Result, anyhow};
use ralph_core::state::Task;
use ralph_core::tasks::beads::{self, Bead, BeadError};
use ralph_core::tasks::graph::Graph;
use ralph_io::store::beads::{Bd, BdReply, Link, hold_claims};

const NO_BEADS: &str = "there are no beads; `bd create NAME` adds one";

/// Does it.
pub(super) fn run(here: &Here, command: TaskCommand) -> Result<Exit> {
    allowed(&command).map_err(|why| no(&why))?;
    let bd = Bd::find().map_err(broken)?;
    match command {
        TaskCommand::List(args) if show::is_for_planner(&args) => {
            show::for_planner(here, &all(&bd)?)
        }
        TaskCommand::List(args) => show::listed(here, &args, &all(&bd)?, NO_BEADS),
        TaskCommand::Show(args) => one(here, &bd, &args.id),
        TaskCommand::Ready(_) => ready(&bd),
        TaskCommand::Claim(args) => claim(here, &bd, &args),
        TaskCommand::Done(args) => done(here, &bd, &args),
        TaskCommand::Fail(args) => aside(here, &bd, &Aside::failed(args)),
        TaskCommand::Block(args) => aside(here, &bd, &Aside::blocked(args)),
        TaskCommand::Release(args) => release(here, &bd, &args.id),
        TaskCommand::Deps(args) => deps(here, &bd, &args),
        TaskCommand::Waves(_) => show::in_waves(here, &all(&bd)?, NO_BEADS),
        TaskCommand::Graph(args) => show::drawn(here, &args, &all(&bd)?, NO_BEADS),
        TaskCommand::Add(_)
        | TaskCommand::Renew(_)
        | TaskCommand::Lint(_)
        | TaskCommand::Sync(_)
        | TaskCommand::Import(_) => Err(anyhow!("a command that bd cannot do was let through")),
    }
}

/// Refuses what bd has nothing for, before anything is run.
fn allowed(command: &TaskCommand) -> Result<(), BeadError> {
    let without = |what, instead| Err(BeadError::NotWithBd { what, instead });
    let named: Option<&LoopArgs> = match command {
        TaskCommand::Add(_) => return without("`task add`", "`bd create NAME` adds a bead"),
        TaskCommand::Renew(_) => {
            return without(
                "`task renew`",
                "a claim lasts until it is released; a bd that has leases of its own renews one by \
                 `bd heartbeat ID`",
            );
        }
        TaskCommand::Lint(_) => {
            return without("`task lint`", "give `bd lint` and `bd dep cycles`");
        }
        TaskCommand::Sync(_) => {
            return without(
                "`task sync`",
                "a planner writes to bd by `bd create`, `bd update` and `bd dep add`",
            );
        }
        TaskCommand::Import(_) => {
            return without("`task import`", "`bd import` reads what another bd has exported");
        }
        TaskCommand::Claim(args) if args.holder.lease.is_some() => {
            return without(
                "`--lease`",
                "bd takes no length for a claim, which lasts until it is released; leave it out, \
                 and `ralph task release ID --tracker bd` frees what a worker has left",
            );
        }
        TaskCommand::List(args) => Some(&args.which),
        TaskCommand::Show(args) => Some(&args.which),
        TaskCommand::Ready(args) => Some(&args.which),
        TaskCommand::Claim(args) => Some(&args.which),
        TaskCommand::Done(args) => Some(&args.which),
        TaskCommand::Fail(args) => Some(&args.which),
        TaskCommand::Block(args) => Some(&args.which),
        TaskCommand::Release(args) => Some(&args.which),
        TaskCommand::Deps(args) => Some(&args.which),
        TaskCommand::Waves(args) => Some(&args.which),
        TaskCommand::Graph(args) => Some(&args.which),
    };
    match named.is_some_and(LoopArgs::is_named) {
        true => without(
            "`--loop` and `--session`",
            "beads are the project's and no loop's; leave the option out",
        ),
        false => Ok(()),
    }
}

fn all(bd: &Bd) -> Result<Vec<Task>> {
    Ok(beads::tasks(&bd.list().map_err(broken)?))
}

fn find(bd: &Bd, id: &str) -> Result<Bead> {
    let found = bd.show(id).map_err(broken)?;
    found.ok_or_else(|| no(&BeadError::NoSuchBead { id: id.to_owned() }))
}

fn one(here: &Here, bd: &Bd, id: &str) -> Result<Exit> {
    let bead = find(bd, id)?;
    let tasks = bead.surroundings();
    let text = show::described(&Graph::new(&tasks, here.now), &tasks[0]);
    screen::print(&(text + &at_length(&bead)))?;
    Ok(Exit::Done)
}

fn ready(bd: &Bd) -> Result<Exit> {
    let ready = bd.ready().map_err(broken)?;
    match ready.is_empty() {
        true => Err(no(&BeadError::NothingReady)),
        false => show::rows(ready.iter().map(|bead| (bead.id.as_str(), bead.title.as_str()))),
    }
}

fn claim(here: &Here, bd: &Bd, args: &change::Claim) -> Result<Exit> {
    let actor = args.holder.name(here);
    let taken = match &args.id {
        Some(id) => {
            let bead = find(bd, id)?;
            bead.not_for(&actor).map_or(Ok(()), |why| Err(no(&why)))?;
            take(bd, &bead.id, &actor)?.map_err(|why| no(&why))?
        }
        None => next(here, bd, &actor)?,
    };
    screen::print(&(change::claimed(&taken.claim()) + &at_length(&taken)))?;
    Ok(Exit::Done)
}

/// The first of what is ready that is not taken while we look.
fn next(here: &Here, bd: &Bd, actor: &str) -> Result<Bead> {
    let _held = hold_claims(&here.home, &here.project())?;
    let ready = bd.ready().map_err(broken)?;
    for bead in beads::candidates(&ready, actor) {
        match take(bd, &bead.id, actor)? {
            Ok(taken) => return Ok(taken),
            // Nothing speaks against it but bd: the next one would be refused, too.
            Err(why @ BeadError::ByBd { .. }) => return Err(no(&why)),
            Err(_) => {}
        }
    }
    Err(no(&BeadError::NothingReady))
}

/// Claims one; the bead as it stands then, or why it is not ours.
fn take(bd: &Bd, id: &str, actor: &str) -> Result<Result<Bead, BeadError>> {
    let answer = bd.claim(id, actor).map_err(broken)?;
    let bead = find(bd, id)?;
    let words = match answer {
        BdReply::Done(_) if bead.is_held_by(actor) => return Ok(Ok(bead)),
        BdReply::Done(_) => "it says that it was claimed, and it is not".to_owned(),
        BdReply::No(words) => words,
    };
    Ok(Err(bead.not_for(actor).unwrap_or(BeadError::ByBd { task: "update --claim", words })))
}

fn done(here: &Here, bd: &Bd, args: &change::DoneArgs) -> Result<Exit> {
    let bead = find(bd, &args.id)?;
    bead.may_be_done(args.owner.as_deref()).map_err(|why| no(&why))?;
    let actor = change::worker(here, args.owner.as_deref());
    let reason = args.result.as_deref().filter(|text| !text.trim().is_empty());
    accepted("close", bd.close(&bead.id, &actor, reason))?;
    change::say(&format!("{} done", bead.id))
}

/// What is set aside: bd has one word for what failed and for what waits.
struct Aside {
    id: String,
    owner: Option<String>,
    reason: String,
    note: &'static str,
    said: &'static str,
}

impl Aside {
    fn failed(args: change::Fail) -> Aside {
        let change::Fail { id, owner, reason, .. } = args;
        Aside { id, owner, reason, note: "failed", said: "failed" }
    }

    fn blocked(args: change::BlockArgs) -> Aside {
        let change::BlockArgs { id, owner, reason, .. } = args;
        Aside { id, owner, reason, note: "waits for", said: "blocked" }
    }
}

fn aside(here: &Here, bd: &Bd, args: &Aside) -> Result<Exit> {
    let reason = args.reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if reason.is_empty() {
        return Err(no(&BeadError::NoReason));
    }
    let bead = find(bd, &args.id)?;
    bead.may_end(args.owner.as_deref()).map_err(|why| no(&why))?;
    let actor = change::worker(here, args.owner.as_deref());
    accepted("update", bd.block(&bead.id, &actor, &format!("{}: {reason}", args.note)))?;
    change::say(&format!("{} {}", bead.id, args.said))
}

fn release(here: &Here, bd: &Bd, id: &str) -> Result<Exit> {
    let bead = find(bd, id)?;
    bead.may_end(None).map_err(|why| no(&why))?;
    accepted("update", bd.release(&bead, &change::worker(here, None)))?;
    change::say(&format!("{} released", bead.id))
}

fn deps(here: &Here, bd: &Bd, args: &change::Deps) -> Result<Exit> {
    let bead = find(bd, &args.id)?;
    if args.deps.is_empty() && !args.none {
        return change::depends(&bead.id, &bead.task().deps);
    }
    // All are looked for first: bd takes one at a time, and half of them would be neither.
    let wanted: Vec<String> =
        args.deps.iter().map(|id| find(bd, id).map(|bead| bead.id)).collect::<Result<_>>()?;
    let plain = bead.blockers().filter(|dependency| dependency.kind() == beads::PLAIN);
    let before: Vec<&str> = plain.map(|dependency| dependency.on()).collect();
    let actor = change::worker(here, None);
    let step = |on: &str, link| {
        let done = bd.depend(&bead.id, on, &actor, link).map_err(broken)?;
        done.map_err(|words| no(&BeadError::ByBd { task: "dep", words }))
    };
    for on in wanted.iter().filter(|id| !before.contains(&id.as_str())) {
        step(on, Link::Add)?;
    }
    for on in before.iter().filter(|id| wanted.iter().all(|wanted| wanted != *id)) {
        step(on, Link::Remove)?;
    }
    change::depends(&bead.id, &find(bd, &bead.id)?.task().deps)
}

/// What was written about it at length, below what stands in one line.
fn at_length(bead: &Bead) -> String {
    let parts = [("description", &bead.description), ("design", &bead.design)];
    let parts = parts.into_iter().filter_map(|(label, text)| {
        let text = visible_lines(text.as_deref()?.trim());
        let lines: Vec<String> = text.lines().map(|line| format!("\n    {line}")).collect();
        (!lines.is_empty()).then(|| format!("\n  {label}:{}", lines.concat()))
    });
    parts.collect()
}

fn accepted(task: &'static str, answer: Result<BdReply>) -> Result<()> {
    match answer.map_err(broken)? {
        BdReply::Done(_) => Ok(()),
        BdReply::No(words) => Err(no(&BeadError::ByBd { task, words })),
    }
}

fn no(why: &BeadError) -> anyhow::Error {
    refused(Exit::No, why.to_string())
}

/// A bd that is missing, too old or does not work.
fn broken(error: anyhow::Error) -> anyhow::Error {
    refused(Exit::MissingProgram, format!("{error:#}"))
}
