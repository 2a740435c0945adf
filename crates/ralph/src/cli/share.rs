//! `ralph share`: puts the project's planned loop on a git remote, where machines take part in it.
//!
//! Each step may be repeated: a share that was killed is completed by the same command.

use crate::command::context_dir::{Here, note};
use crate::command::exit::{Exit, bad_state, refused};
use crate::command::select_loop::{self, FoundLoop, LoopArgs, LoopFilter};
use crate::command::{complete, screen, select_shared};
use anyhow::{Context, Result, anyhow, bail};
use clap_complete::engine::ArgValueCandidates;
use ralph_core::evidence::pinned;
use ralph_core::modes::mode;
use ralph_core::tasks::shared::names::Namespace;
use ralph_core::tasks::shared::record::{LedgerRecord, Plan};
use ralph_core::tasks::shared::text::{Name, ObjectId, Text};
use ralph_core::text::plural::counted;
use ralph_core::views::shared::{self, ORIGIN};
use ralph_hooks::{begin, cancel};
use ralph_io::git::checkpoint;
use ralph_io::git::commit::{self, DirtyFiles};
use ralph_io::git::shared::{FoundLedger, SharedPlace, found};
use ralph_io::project::settings;

/// How many files without a commit are named.
const NAMED: usize = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The git remote
    #[arg(long, value_name = "NAME", default_value = ORIGIN)]
    remote: String,
    /// The planned loop with this id; for --clean, the shared one
    #[arg(long = "loop", value_name = "ID", add = ArgValueCandidates::new(complete::loops))]
    loop_id: Option<String>,
    /// Delete the references of an ended shared loop from the remote
    #[arg(long)]
    clean: bool,
    /// End a loop that has not ended, and delete its references
    #[arg(long, requires = "clean")]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    if args.clean { clean(&here, args) } else { share(&here, args) }
}

fn share(here: &Here, args: &Args) -> Result<Exit> {
    let which = LoopArgs { loop_id: args.loop_id.clone(), session: None };
    let planned = select_loop::one(here, &which, LoopFilter::Planned)?;
    let settings = settings::read(&here.home, &here.root).0.shared();
    let plan = plan(here, &planned, settings.lease_seconds())?;
    let id = name(&planned.state.loop_id)?;
    let start = start(here)?;
    tell_dirty(here, &start);
    let known = found(&here.home, &here.root, &args.remote)?;
    let place = match known.into_iter().find(|one| *one.space.loop_id() == id) {
        Some(known) => SharedPlace::new(&here.home, &here.root, &args.remote, known.space),
        None => {
            let space = Namespace::new(&id, settings.is_below_heads());
            let place = SharedPlace::new(&here.home, &here.root, &args.remote, space);
            put(&place, &plan, &start)?;
            place
        }
    };
    // Another clone may have shared it at the same time, or an earlier call that was killed.
    let ledger = place.read()?.ledger;
    if plan != ledger.plan {
        bail!(
            "`{}` has another plan for loop {id}; plan the work as a new loop, or delete the shared \
             one: `{}`",
            args.remote,
            shared::clean(&id, &args.remote)
        );
    }
    let digest = place.digest(&ledger)?;
    if plan.digest(&place.records().tree(&start)?) != digest {
        bail!(
            "`{}` has loop {id} from commit {:.10}, which has other files than {start:.10}; check that one \
             out and type the command again, or delete the shared loop: `{}`",
            args.remote,
            ledger.start,
            shared::clean(&id, &args.remote)
        );
    }
    place.trust(&here.home, &ledger, &digest)?;
    put_away(here, &planned, &place)?;
    screen::print(&screen::visible_lines(&shared_text(&place, &plan, &digest)))
}

/// The plan of the loop as a person agrees to it now.
fn plan(here: &Here, planned: &FoundLoop, lease_seconds: u64) -> Result<Plan> {
    let mut state = planned.state.clone();
    let id = &state.loop_id;
    let refuse = |why: &str| anyhow!("{why}; nothing was shared");
    if !mode::rules(&state.mode).has_tasks() || state.started_at.is_some() {
        return Err(refuse(&format!("loop {id} has begun, or has no tasks of its own")));
    }
    if state.task_graph.is_empty() {
        return Err(refuse(&format!(
            "loop {id} has no tasks; `ralph plan` or `ralph task add` adds some"
        )));
    }
    let lacking = begin::cannot_start(&state.acceptance_criteria, &here.root);
    if !lacking.is_empty() {
        return Err(refuse(&lacking.join("; ")));
    }
    pinned::freeze(&mut state, here.now);
    let plan = Plan::from_state(&state, lease_seconds);
    plan.flaw().map_or(Ok(plan), |flaw| Err(refuse(&flaw)))
}

fn name(loop_id: &str) -> Result<Name> {
    let id = screen::visible(loop_id);
    let name = Name::try_from(loop_id.to_owned());
    name.map_err(|why| anyhow!("loop `{id}` cannot be shared under its id: {why}"))
}

/// The commit from which every machine begins.
fn start(here: &Here) -> Result<ObjectId> {
    let head = checkpoint::head(&here.root).and_then(|head| ObjectId::try_from(head).ok());
    let root = here.root.display();
    head.with_context(|| {
        format!("`{root}` has no commit from which machines could begin; commit the project first")
    })
}

fn tell_dirty(here: &Here, start: &ObjectId) {
    let dirty = commit::top(&here.root).and_then(|top| DirtyFiles::scan(&top).ok());
    let Some(dirty) = dirty.filter(|dirty| !dirty.is_empty()) else { return };
    let more = if dirty.len() > NAMED { ", …" } else { "" };
    let text = format!(
        "{} in no commit: {}{more}; machines begin from commit {start:.10}, without them",
        counted(dirty.len(), "file is", "files are"),
        dirty.names(NAMED).join(", "),
    );
    screen::tell(&screen::visible(&text));
}

fn put(place: &SharedPlace, plan: &Plan, start: &ObjectId) -> Result<()> {
    if let Some(why) = place.probe()? {
        let cure = match place.space().is_below_heads() {
            true => "ask its administrator, or share through another remote with --remote",
            false => {
                "set `below_heads = true` in section `[shared]` of `ralph.toml` to use branches \
                 instead"
            }
        };
        let (remote, prefix) = (place.remote(), place.space().prefix());
        let why = screen::visible(&why);
        bail!("`{remote}` does not accept references below `{prefix}` ({why}); {cure}");
    }
    place.put_first(LedgerRecord::Plan(Box::new(plan.clone())), start).map(drop)
}

/// Ends the loop of this machine: the shared one takes its place.
fn put_away(here: &Here, planned: &FoundLoop, place: &SharedPlace) -> Result<()> {
    let how = format!(
        "shared with other machines through `{}`; `{}` works on it",
        place.remote(),
        select_shared::command("run", place)
    );
    let id = &planned.state.loop_id;
    match cancel::end_planned(&here.home, &planned.file, &how).map_err(bad_state)? {
        Some((state, archived)) => note(here, &archived, &state, "share", "ended", &how),
        None if FoundLoop::by_id(here, id)?.state.is_live() => screen::tell(&format!(
            "loop {id} was started here meanwhile and works apart from the shared one; `ralph cancel \
             --loop {id}` ends it"
        )),
        None => {}
    }
    Ok(())
}

fn shared_text(place: &SharedPlace, plan: &Plan, digest: &str) -> String {
    let (run, trust) =
        (select_shared::command("run", place), select_shared::command("trust", place));
    format!(
        "Loop {} is shared through `{}`: {}, {}.\n\
         The digest of its plan is {digest}\n\n\
         To take part from this clone:\n  {run}\n\
         From each other clone:\n  {trust} && {run}\n\
         Where nobody can answer, as in CI:\n  {trust} --digest {digest} && {run}",
        place.space().loop_id(),
        place.remote(),
        counted(plan.task_graph.len(), "task", "tasks"),
        counted(plan.acceptance_criteria.len(), "criterion", "criteria"),
    )
}

fn clean(here: &Here, args: &Args) -> Result<Exit> {
    let known = found(&here.home, &here.root, &args.remote)?;
    let id = match &args.loop_id {
        Some(id) => name(id)?,
        None => only_ended(&args.remote, &known)?,
    };
    let place = |space| SharedPlace::new(&here.home, &here.root, &args.remote, space);
    let all = [false, true].map(|below_heads| place(Namespace::new(&id, below_heads)));
    let known: Vec<FoundLedger> =
        known.into_iter().filter(|one| *one.space.loop_id() == id).collect();
    let why = known.iter().find_map(unfinished);
    if let Some(why) = why.filter(|_| !args.force) {
        bail!("{why}; with --force, its references are deleted all the same");
    }
    if let Some(other) = all[0].known_remote().filter(|it| known.is_empty() && *it != args.remote) {
        let message = format!(
            "`{}` has no shared loop {id}, which this clone has read through `{other}`; \
             `{}` deletes it there",
            args.remote,
            shared::clean(&id, &other)
        );
        return Err(refused(Exit::No, screen::visible(&message)));
    }
    let was_known = all[0].exists();
    let _alone = all[0].lock_machine().map_err(|_| {
        anyhow!("`ralph run --shared` takes part in loop {id} from this clone; end it first")
    })?;
    for one in known.iter().filter(|one| unfinished(one).is_some()) {
        end(&place(one.space.clone()), one)?;
    }
    let n = all
        .iter()
        .try_fold(0, |n, place| Ok::<_, anyhow::Error>(n + place.delete_references()?))?;
    all[0].remove()?;
    let remote = &args.remote;
    if n == 0 && !was_known {
        bail!("`{remote}` has no shared loop {id}");
    }
    let deleted = match n {
        0 => format!("`{remote}` had no references of loop {id}"),
        n => format!(
            "deleted {} of loop {id} from `{remote}`",
            counted(n, "reference", "references")
        ),
    };
    screen::say(&format!("{deleted}; its branch stays"))
}

/// The only loop that has ended.
fn only_ended(remote: &str, known: &[FoundLedger]) -> Result<Name> {
    let ended: Vec<&FoundLedger> = known.iter().filter(|one| unfinished(one).is_none()).collect();
    match ended.as_slice() {
        [one] => Ok(one.space.loop_id().clone()),
        [] => bail!("no shared loop of `{remote}` has ended"),
        _ => {
            let ids: Vec<&str> = ended.iter().map(|one| one.space.loop_id().as_str()).collect();
            bail!("name a loop: `--loop ID`; ended are {}", ids.join(", "))
        }
    }
}

/// Why the references are still needed; `None` if the loop has ended.
fn unfinished(known: &FoundLedger) -> Option<String> {
    let id = known.space.loop_id();
    match &known.ledger {
        Ok(ledger) if ledger.end.is_some() => None,
        Ok(_) => Some(format!("loop {id} has not ended; `ralph cancel --shared {id}` ends it")),
        Err(error) => Some(format!("whether loop {id} has ended is unknown: {error:#}")),
    }
}

/// Ends a loop that can be read, so that no machine works on it any more.
fn end(place: &SharedPlace, known: &FoundLedger) -> Result<()> {
    if known.ledger.is_err() {
        return Ok(());
    }
    let cancel = || LedgerRecord::Cancel { reason: Text::new("its references are deleted") };
    place.put(|view| Ok(view.ledger.end.is_none().then(cancel))).map(drop)
}
