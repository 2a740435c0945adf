//! The table of measurements: which hook, on which event, against what, with which bar.
//!
//! The bars are for executables linked statically with musl. With another C library most of the
//! time goes into starting that library, so there the floor is an empty program linked in the same
//! way, and rows with a bar from [`Workshop::bar`] are not judged.

use crate::driver::Call;
use crate::options::Options;
use crate::plan::{Bar, Before, Case, CaseId, Expected, Pace, Plan};
use crate::workshop::{Workshop, call};
use crate::{bash_call, commands, payloads, peers, session, stops};

const MEGABYTES_5: usize = 5_000_000;

/// A fast case that changes nothing.
pub(crate) fn quick(name: &str, call: Call, expected: Expected) -> Case {
    Case { name: name.to_owned(), call, expected, before: Before::default(), pace: Pace::Every }
}

/// Our cases that a peer is compared with.
#[derive(Default)]
pub(crate) struct Ours {
    pub(crate) idle_tool: Option<CaseId>,
    pub(crate) idle_stop: Option<CaseId>,
    pub(crate) idle_backpressure: Option<CaseId>,
    pub(crate) deny: Option<CaseId>,
    pub(crate) stop: Option<CaseId>,
}

pub(crate) fn plan(shop: &Workshop, options: &Options) -> anyhow::Result<Plan> {
    let mut plan = Plan::default();
    let mut ours = Ours::default();
    let floor = floor(&mut plan, shop);
    idle(&mut plan, shop, floor, &mut ours);
    active(&mut plan, shop, floor, &mut ours)?;
    ours.stop = stops::add(&mut plan, shop, options.full)?;
    session::add(&mut plan, shop)?;
    commands::add(&mut plan, shop, floor)?;
    bash_call::add(&mut plan, shop)?;
    peers::add(&mut plan, shop, &ours)?;
    plan.keep_only(&options.only);
    Ok(plan)
}

fn floor(plan: &mut Plan, shop: &Workshop) -> CaseId {
    let payload = payloads::pre_write(&shop.small.path, 1_000);
    let noop = call(shop.noop.path.clone(), &shop.idle, &shop.small, payload);
    let id = plan.case(quick("C no-op", noop, Expected::Silence));
    plan.row("C no-op", Some(id), None, Bar::None);
    id
}

fn idle(plan: &mut Plan, shop: &Workshop, floor: CaseId, ours: &mut Ours) {
    let project = &shop.small.path;
    let mut add = |name: &str, hook: &str, payload: Vec<u8>, expected| {
        let call = shop.hook(hook, &shop.idle, &shop.small, payload);
        call.map(|call| plan.case(quick(name, call, expected)))
    };
    let stop = payloads::stop(project, &shop.idle.transcript(), payloads::USUAL_MESSAGE);
    let tool = add(
        "idle pre-tool-use",
        "ralph-pre-tool-use",
        payloads::pre_write(project, 1_000),
        Expected::Silence,
    );
    let large = add(
        "idle pre-tool-use, 5 MB",
        "ralph-pre-tool-use",
        payloads::pre_write(project, MEGABYTES_5),
        Expected::Silence,
    );
    let stop = add("idle stop", "ralph-stop-hook", stop, Expected::Silence);
    let check = add(
        "idle backpressure",
        "ralph-backpressure",
        payloads::post_write(project),
        Expected::Silence,
    );
    let prompt = add(
        "idle user prompt",
        "ralph-user-prompt",
        payloads::user_prompt(project),
        Expected::Success,
    );

    plan.row("idle pre-tool-use", tool, Some(floor), shop.idle_bar());
    plan.row("idle pre-tool-use, 5 MB on stdin", large, tool, shop.bar(2.0));
    plan.row("idle stop", stop, Some(floor), shop.idle_bar());
    plan.row("idle backpressure", check, Some(floor), Bar::None);
    plan.row("idle user prompt", prompt, Some(floor), Bar::None);
    *ours = Ours { idle_tool: tool, idle_stop: stop, idle_backpressure: check, ..Ours::default() };
}

fn active(plan: &mut Plan, shop: &Workshop, floor: CaseId, ours: &mut Ours) -> anyhow::Result<()> {
    let (repo, project) = (&shop.small, &shop.small.path);
    let home = shop.live_home("active", repo, 8)?;
    println!("loops        made by {}", home.made_by);
    let mut add = |name: &str, payload: Vec<u8>, expected| {
        let call = shop.hook("ralph-pre-tool-use", &home, repo, payload);
        call.map(|call| plan.case(quick(name, call, expected)))
    };
    let allow = add("active allow", payloads::pre_write(project, 1_000), Expected::Silence);
    let deny = add("active deny", payloads::pre_ask(project), Expected::Says(&["\"deny\""]));
    let large =
        add("active allow, 5 MB", payloads::pre_write(project, MEGABYTES_5), Expected::Silence);
    let large_payload = payloads::pre_write(project, MEGABYTES_5);
    let drain = call(shop.drain.path.clone(), &home, repo, large_payload);
    let drain = plan.case(quick("C drain, 5 MB", drain, Expected::Silence));

    plan.row("active pre-tool-use, allow", allow, Some(floor), Bar::ExtraMsAtMost(2.0));
    plan.row("active pre-tool-use, deny", deny, Some(floor), Bar::ExtraMsAtMost(2.0));
    plan.row("active pre-tool-use, 5 MB on stdin", large, Some(drain), shop.bar(2.5));
    ours.deny = deny;
    Ok(())
}
