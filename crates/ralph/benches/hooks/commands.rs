//! What a person waits for: a prompt in a live loop, and `ralph verify`.

use std::rc::Rc;

use crate::cases::quick;
use crate::home::Home;
use crate::machine;
use crate::payloads;
use crate::plan::{Bar, Before, Case, CaseId, Expected, Pace, Plan};
use crate::workshop::{Workshop, call};

/// What the two criteria of `ralph verify` run, one after the other.
const CRITERIA: [&str; 2] = ["sleep 0.1 && test -d src", "sleep 0.15 && test -d src"];

pub(crate) fn add(plan: &mut Plan, shop: &Workshop, floor: CaseId) -> anyhow::Result<()> {
    prompt(plan, shop, floor)?;
    verify(plan, shop)
}

/// What each prompt in a live loop waits for. A typed start is believed of a client only, which a bench
/// has not.
fn prompt(plan: &mut Plan, shop: &Workshop, floor: CaseId) -> anyhow::Result<()> {
    let repo = &shop.small;
    let home = shop.live_home("prompt", repo, 8)?;
    let payload = payloads::user_prompt(&repo.path);
    let prompt = shop.hook("ralph-user-prompt", &home, repo, payload).map(|call| {
        let before = Before { rewind: Some(home), ..Before::default() };
        plan.case(Case { before, pace: Pace::Fourth, ..quick("prompt", call, Expected::Success) })
    });
    plan.row("prompt in a loop", prompt, Some(floor), Bar::ExtraMsAtMost(20.0));
    Ok(())
}

fn verify(plan: &mut Plan, shop: &Workshop) -> anyhow::Result<()> {
    let hook = shop.hooks.get("ralph-stop-hook");
    let ralph = hook.map(|hook| hook.with_file_name("ralph")).filter(|ralph| ralph.exists());
    let shell = machine::on_path("bash").or_else(|| machine::on_path("sh"));
    let (Some(ralph), Some(shell)) = (ralph, shell) else { return Ok(()) };
    let (repo, path) = (&shop.small, shop.scratch.join("home-verify"));
    let criteria = CRITERIA.map(|command| format!("the folder is there={command}"));
    let criteria: Vec<&str> = criteria.iter().map(String::as_str).collect();
    let home = Rc::new(Home::with_criteria(&path, &repo.path, &ralph, &criteria)?);
    let mut run = call(ralph, &home, repo, Vec::new());
    run.args = vec!["verify".into()];
    let each = CRITERIA.map(|command| format!("{} -c '{command}'", shell.display())).join("; ");
    let mut bare = call(shell, &home, repo, Vec::new());
    bare.args = vec!["-c".into(), each.into()];
    let before = Before { rewind: Some(home), ..Before::default() };
    let pace = Pace::Tenth;
    let holds = Expected::Says(&["AC-2"]);
    let verify = plan.case(Case { before, pace, ..quick("ralph verify", run, holds) });
    let bare = plan.case(Case { pace, ..quick("the two commands", bare, Expected::Silence) });
    plan.row("ralph verify, two criteria", Some(verify), Some(bare), Bar::AtMostAndMs(1.05, 20.0));
    Ok(())
}
