//! `ralph refine prompt` and `ralph refine ideas`: print prompts for a skill, and read the ideas
//! that come back.

use crate::command::context_dir::Here;
use crate::command::exit::{Exit, refused};
use crate::command::screen::{self, visible, visible_lines};
use crate::refine::artefact;
use crate::refine::{self, Template};
use anyhow::Result;
use clap::ValueHint;
use ralph_core::modes::refine::ideas;
use ralph_core::modes::refine::prompt::{Prompt, Tracker, variable};
use ralph_core::tasks::plan::lines;
use ralph_io::client::given;
use ralph_io::store::beads::{self, Bd};

/// Which prompt, and what stands in it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the prompt
    #[arg(value_name = "NAME", value_parser = named, required_unless_present = "explain")]
    prompt: Option<Prompt>,
    /// File of the plan; for `synthesizer`, give it once for each plan
    #[arg(long = "plan", alias = "with", value_name = "FILE", value_hint = ValueHint::FilePath)]
    plans: Vec<String>,
    /// Print where the text of each prompt comes from
    #[arg(long)]
    explain: bool,
}

/// The user's words are in the conversation already; they never pass through a shell.
const WISH: &str = "(what the person typed with the command, if anything)";

fn named(text: &str) -> Result<Prompt, String> {
    let found = Prompt::ALL.into_iter().find(|prompt| prompt.name() == text);
    found.ok_or_else(|| {
        let names: Vec<&str> =
            Prompt::ALL.into_iter().filter(|it| !is_of_round(*it)).map(Prompt::name).collect();
        format!("no prompt `{text}`; type one of {}", names.join(", "))
    })
}

fn is_of_round(prompt: Prompt) -> bool {
    matches!(prompt, Prompt::BeadRefiner | Prompt::PlanImprover)
}

/// Prints where the text of each prompt comes from.
pub(crate) fn explain(here: &Here) {
    refine::explain(&here.root).iter().for_each(|line| screen::tell(&visible(line)));
}

pub(super) fn run(here: &Here, args: &Args) -> Result<Exit> {
    let Some(prompt) = args.prompt else {
        for line in refine::explain(&here.root) {
            screen::print(&visible(&line))?;
        }
        return Ok(Exit::Done);
    };
    if args.explain {
        explain(here);
    }
    if is_of_round(prompt) {
        return Err(refused(
            Exit::Usage,
            "`ralph refine begin` opens a round and prints its prompt",
        ));
    }
    let wants = |name| prompt.variables().contains(&name);
    if wants(variable::PLAN_FILE) && args.plans.is_empty() {
        let message = format!("`{}` needs a plan: type `--plan FILE`", prompt.name());
        return Err(refused(Exit::Usage, message));
    }
    if wants(variable::OTHER_PLANS) && args.plans.len() < 2 {
        return Err(refused(
            Exit::Usage,
            "`synthesizer` needs several plans: type `--plan FILE` once for each",
        ));
    }
    let name =
        here.root.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let plan = args.plans.first().cloned().unwrap_or_default();
    let subject = match plan.as_str() {
        "" => format!("What you review: the tasks of this project. {}", tracker(here).how()),
        plan => format!("What you review: the plan `{plan}`."),
    };
    let others = args.plans.get(1..).unwrap_or_default().join("\n");
    let all = [
        (variable::SESSION_NAME, name.as_str()),
        (variable::PLAN_FILE, &plan),
        (variable::OTHER_PLANS, &others),
        (variable::SUBJECT, &subject),
        (variable::TASKS, tracker(here).how()),
        (variable::WISH, WISH),
    ];
    let given: Vec<(&str, &str)> = all.into_iter().filter(|(name, _)| wants(name)).collect();
    screen::print(&visible_lines(&Template::of(&here.root, prompt)?.fill(&given)?))?;
    Ok(Exit::Done)
}

/// Beads if the project has a store and `bd` is installed, else Ralph's task graph.
pub(crate) fn tracker(here: &Here) -> Tracker {
    let is_beads = beads::has_store(&here.root) && Bd::find().is_ok();
    if is_beads { Tracker::Beads } else { Tracker::TaskGraph }
}

pub(super) fn ideas(here: &Here) -> Result<Exit> {
    let found = ideas::read(&given::stdin()?).map_err(|problems| {
        problems.iter().for_each(|problem| screen::tell(&visible(&problem.to_string())));
        refused(
            Exit::No,
            "the ideas cannot be read; hand over the whole answer, with its block of ideas",
        )
    })?;
    let tasks = artefact::tasks(&artefact::in_no_session(here))?;
    screen::print(&lines::render(&ideas::behind(&tasks, &found)))?;
    Ok(Exit::Done)
}
