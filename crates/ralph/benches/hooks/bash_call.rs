//! A Bash call of the client as a whole: the hooks around it, and its shell with Ralph's line, without a loop, in a loop,
//! and behind the wall; against the same shell without Ralph.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use ralph_core::protocol::wall;

use crate::cases::quick;
use crate::driver::Call;
use crate::home::{self, Home};
use crate::machine;
use crate::payloads;
use crate::plan::{Bar, Before, Case, Expected, Pace, Plan};
use crate::workshop::{Workshop, call};

/// The hook before, the shell with the line, the hook after; `$1` and `$3` are the hooks, `$2` the shell's line.
const CALL: &str = "\"$1\" settings <pre.json && bash -c \"$2\" && \"$3\" settings <post.json";

pub(crate) fn add(plan: &mut Plan, shop: &Workshop) -> anyhow::Result<()> {
    let hooks = (shop.hooks.get("ralph-pre-tool-use"), shop.hooks.get("ralph-backpressure"));
    let (Some(bash), (Some(before), Some(after))) = (machine::on_path("bash"), hooks) else {
        return Ok(());
    };
    let repo = &shop.small;
    let folder = shop.scratch.join("bash-call");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("pre.json"), payloads::pre_bash(&repo.path, "true"))?;
    fs::write(folder.join("post.json"), payloads::post_bash(&repo.path, "true"))?;
    let run = |home: &Home, arguments: Vec<OsString>| -> Call {
        let call = call(bash.clone(), home, repo, Vec::new());
        Call { args: arguments, folder: folder.clone(), ..call }
    };
    let with_ralph = |home: &Home, flag: &Path| {
        let line = wall::line(&flag.to_string_lossy(), &before.to_string_lossy());
        let arguments: [OsString; 6] = [
            "-c".into(),
            CALL.into(),
            "bash".into(),
            before.into(),
            format!("{line}true").into(),
            after.into(),
        ];
        run(home, arguments.to_vec())
    };
    let bare = run(&shop.idle, vec!["-c".into(), "bash -c true".into()]);
    let bare = plan.case(quick("bash without Ralph", bare, Expected::Silence));
    let no_flag = folder.join("no flag");

    let idle = with_ralph(&shop.idle, &no_flag);
    let idle = plan.case(quick("bash without a loop", idle, Expected::Silence));
    plan.row("a Bash call without a loop", Some(idle), Some(bare), Bar::None);

    let live = shop.live_home("bash", repo, 8)?;
    let looping = with_ralph(&live, &no_flag);
    let before_each = Before { rewind: Some(live), ..Before::default() };
    let case = quick("bash in a loop", looping, Expected::Success);
    let looping = plan.case(Case { before: before_each, pace: Pace::Fourth, ..case });
    plan.row("a Bash call in a loop", Some(looping), Some(bare), Bar::None);

    let (home, flag) = walled(&shop.scratch.join("home-wall"))?;
    let inside = with_ralph(&home, &flag);
    let inside = plan.case(quick("bash in the wall", inside, Expected::Silence));
    plan.row("a Bash call in the wall", Some(inside), Some(bare), Bar::None);
    plan.row("... beside one without a loop", Some(inside), Some(idle), Bar::ExtraMsAtMost(1.5));
    Ok(())
}

/// A home with the flag of our session. A loop that cannot be read keeps its session behind the wall.
fn walled(path: &Path) -> anyhow::Result<(Rc<Home>, std::path::PathBuf)> {
    let home = Rc::new(Home::idle(path)?);
    let (state, flag) =
        (path.join("loops/broken/state.json"), path.join("walls").join(payloads::SESSION));
    home::private_file(&state, b"{")?;
    home::private_file(&flag, state.to_string_lossy().as_bytes())?;
    Ok((home, flag))
}
