//! The same hooks written in bash and jq, side by side with ours.
//!
//! The scripts are those of the conformance suite (`tests/conformance/pattern/`), written
//! from the pattern's text. They too are started in exec form: a shell around them would
//! only make them slower.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::cases::{Ours, quick};
use crate::driver::Call;
use crate::home::Home;
use crate::machine;
use crate::payloads::{self, USUAL_MESSAGE};
use crate::plan::{Bar, Before, Case, Expected, Pace, Plan};
use crate::stops::GOES_ON;
use crate::workshop::{Workshop, call};

pub(crate) fn add(plan: &mut Plan, shop: &Workshop, ours: &Ours) -> anyhow::Result<()> {
    let (Some(bash), Some(_)) = (machine::on_path("bash"), machine::on_path("jq")) else {
        eprintln!("bash or jq is not installed: no peers");
        return Ok(());
    };
    let project = &shop.small.path;
    let live = Rc::new(Home::of_the_pattern(&shop.scratch.join("home-pattern"), 8)?);
    let peer = |script: &str, home: &Home, stdin| {
        peer(&bash, script, call(bash.clone(), home, &shop.small, stdin), home)
    };
    let stop = |home: &Home| payloads::stop(project, &home.transcript(), USUAL_MESSAGE);

    let idle_tool = peer("pre-tool-use", &shop.idle, payloads::pre_write(project, 1_000));
    let idle_stop = peer("stop-hook", &shop.idle, stop(&shop.idle));
    let check = peer("backpressure", &shop.idle, payloads::post_write(project));
    let deny = peer("pre-tool-use", &live, payloads::pre_ask(project));
    let goes_on = peer("stop-hook", &live, stop(&live));

    let mut row = |name: &str, call, expected, pace, ours, bar| {
        let id = plan.case(Case { pace, ..quick(name, call, expected) });
        plan.row(name, Some(id), ours, bar);
    };
    row(
        "bash+jq: idle pre-tool-use",
        idle_tool,
        Expected::Silence,
        Pace::Every,
        ours.idle_tool,
        Bar::AtLeast(10.0),
    );
    row(
        "bash+jq: idle stop",
        idle_stop,
        Expected::Silence,
        Pace::Fourth,
        ours.idle_stop,
        Bar::AtLeast(30.0),
    );
    row(
        "bash+jq: nothing to check",
        check,
        Expected::Silence,
        Pace::Fourth,
        ours.idle_backpressure,
        Bar::None,
    );
    row(
        "bash+jq: pre-tool-use, deny",
        deny,
        Expected::ExitTwo,
        Pace::Fourth,
        ours.deny,
        Bar::AtLeast(20.0),
    );

    let name = "bash+jq: stop goes on, 200 files";
    let before = Before { rewind: Some(live), advance: Some(Rc::clone(&shop.small)) };
    let id = plan.case(Case { before, pace: Pace::Tenth, ..quick(name, goes_on, GOES_ON) });
    plan.row(name, Some(id), ours.stop, Bar::AtLeast(10.0));
    Ok(())
}

pub(crate) fn peer(bash: &Path, script: &str, bare: Call, home: &Home) -> Call {
    let path =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/pattern"))
            .join(format!("{script}.sh"));
    let mut call = Call { program: bash.to_owned(), args: vec![path.into()], ..bare };
    call.env.push(("RALPH_MANIFEST".into(), home.pattern_manifest().into()));
    call
}
