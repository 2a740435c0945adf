//! `ralph plan`: headless clients that plan tasks, or look for ideas.

use crate::cli::task;
use crate::command::context_dir::Here;
use crate::command::exit::{Exit, usage};
use crate::command::screen::{self, visible};
use crate::command::{complete, number};
use crate::refine::{Template, artefact};
use crate::runs::client::{self, ClientRound, RoundOutcome, RoundResult};
use crate::runs::engine;
use crate::runs::options::{self, ClientOptions};
use crate::runs::plan::Planner;
use anyhow::Result;
use clap_complete::engine::ArgValueCandidates;
use ralph_core::modes::refine::ideas;
use ralph_core::modes::refine::prompt::{Prompt, variable};
use ralph_core::protocol::permission::Need;
use ralph_core::state::Task;
use ralph_core::tasks::plan::{Problem, lines};
use ralph_core::text::plural::counted;
use ralph_io::process::random;
use ralph_io::process::wait_any::Interrupts;
use ralph_io::project::user_files;
use std::path::Path;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of rounds
    #[arg(
        short = 'n',
        long = "max-iterations",
        value_name = "N",
        default_value = "1",
        value_parser = number::from_zero,
        allow_hyphen_values = true
    )]
    rounds: u32,
    /// Collect ideas instead, about a WISH, and print them as tasks for `ralph task sync`
    #[arg(long, conflicts_with = "rounds")]
    ideas: bool,
    /// Subject of the ideas
    #[arg(value_name = "WISH", requires = "ideas")]
    wish: Vec<String>,
    /// The model for the ideas, passed as the client's `--model`
    #[arg(
        long,
        value_name = "MODEL",
        default_value = "opus",
        requires = "ideas",
        add = ArgValueCandidates::new(complete::models)
    )]
    model: String,
    /// Print where the text of the prompt for the ideas comes from
    #[arg(long, requires = "ideas")]
    explain: bool,
    #[command(flatten)]
    client: ClientOptions,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    if args.ideas {
        return ideate(args);
    }
    if args.rounds == 0 {
        return Err(usage("planning needs at least one round: `ralph plan -n 1`"));
    }
    let here = Here::gather()?;
    let logs = options::logs(&here, "plan");
    let (client, rounds) = (&args.client, args.rounds);
    let planner = Planner { here: &here, client, rounds, logs, store: task::store };
    if args.client.dry_run {
        let round = planner.round(1)?;
        return options::show(&round);
    }
    client::CLIENT.program()?;
    // A round only reads, and hands its tasks over in its last message.
    args.client.check(&here, "plan", &[])?;
    user_files::make_folders(&planner.logs, 0o700)?;
    screen::tell(&format!(
        "planning in {}; logs in {}",
        counted(args.rounds as usize, "round", "rounds"),
        screen::visible(&planner.logs.display().to_string())
    ));
    planner.all()
}

// `ralph plan --ideas`: one client looks for ideas, which are printed as tasks for `ralph plan-sync`.
//
// Standard output holds the existing tasks and then the ideas, one on each line, so a sync with
// these lines adds the ideas and loses nothing. This command itself changes nothing.

fn ideate(args: &Args) -> Result<Exit> {
    let here = Here::gather()?;
    let logs = options::logs(&here, "ideate");
    if args.explain {
        super::refine::explain(&here);
    }
    if args.client.dry_run {
        let round = round(&here, args, &logs)?;
        return options::show(&round);
    }
    client::CLIENT.program()?;
    let needs = [Need::Bash("ralph task list --all --markdown".to_owned())];
    args.client.check(&here, "ideate", &needs)?;
    user_files::make_folders(&logs, 0o700)?;
    let round = round(&here, args, &logs)?;
    let found = request_ideas(&here, &round, &Interrupts::catch()?)?;
    // Reads the tasks only now: they may have changed while the client worked.
    let tasks = artefact::tasks(&artefact::in_no_session(&here))?;
    let all = ideas::behind(&tasks, &found);
    for idea in &all[tasks.len()..] {
        screen::tell(&visible(&format!("{}: {}", idea.id, idea.name)));
    }
    screen::tell(
        "nothing is changed yet; `ralph plan --ideas | ralph plan-sync` adds them to the tasks",
    );
    screen::print(&lines::render(&all))
}

/// If the ideas cannot be read, asks once more in the same session.
fn request_ideas(here: &Here, round: &ClientRound, interrupts: &Interrupts) -> Result<Vec<Task>> {
    let alone = round.log.with_file_name("round");
    let came = engine::round(here, round, &alone, interrupts, &|_| {})?;
    let problems = match read(&came)? {
        Ok(found) => return Ok(found),
        Err(problems) => problems,
    };
    let session_id = came.session_id.clone().or_else(|| round.session_id.clone());
    screen::tell("the ideas cannot be read; asking once more");
    let again = ClientRound {
        prompt: ask_again(&problems),
        session_id: None,
        resume: session_id,
        label: format!("{}, asked again", round.label),
        ..round.clone()
    };
    let came = engine::round(here, &again, &alone, interrupts, &|_| {})?;
    read(&came)?.map_err(|problems| {
        let shown: Vec<String> = problems.iter().map(|it| visible(&it.to_string())).collect();
        let log = visible(&round.log.display().to_string());
        options::broke_off(
            false,
            format!("the ideas cannot be read: {}; they are in {log}", shown.join("; ")),
        )
    })
}

fn read(came: &RoundResult) -> Result<Result<Vec<Task>, Vec<Problem>>> {
    match &came.outcome {
        RoundOutcome::Finished { result, is_error: false } => Ok(ideas::read(result)),
        RoundOutcome::Finished { result, .. } | RoundOutcome::Unanswered { why: result, .. } => {
            Err(options::broke_off(false, format!("the client failed: {result}")))
        }
        RoundOutcome::Crashed { why } => {
            Err(options::broke_off(false, format!("the client broke off: {why}")))
        }
        other => {
            let why = options::stops(other).unwrap_or_else(|| "it was ended".to_owned());
            Err(options::broke_off(
                *other == RoundOutcome::Ended,
                format!("there are no ideas: {why}"),
            ))
        }
    }
}

fn ask_again(problems: &[Problem]) -> String {
    let problems: Vec<String> = problems.iter().map(|problem| format!("- {problem}\n")).collect();
    format!(
        "Your ideas cannot be read:\n\n{}\nChange nothing. Answer with the whole block of ideas, one JSON \
         object on each line between ```jsonl and ```, and after it the lines CHANGES and SUMMARY as \
         before.",
        problems.concat()
    )
}

fn round(here: &Here, args: &Args, logs: &Path) -> Result<ClientRound> {
    let wish = args.wish.join(" ");
    let wish = if wish.trim().is_empty() { "nothing in particular" } else { wish.trim() };
    let session =
        here.root.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let tracker = super::refine::tracker(here);
    let given = [
        (variable::SESSION_NAME, session.as_str()),
        (variable::TASKS, tracker.how()),
        (variable::WISH, wish),
    ];
    let prompt = Template::load(&here.root, Prompt::IdeaWizard)?.fill(&given)?;
    if prompt.len() > client::LONGEST_PROMPT {
        return Err(usage("the wish is too long; write it into a file and name that"));
    }
    Ok(ClientRound {
        prompt,
        session_id: Some(random::uuid()),
        model: Some(args.model.clone()),
        label: "ideas".to_owned(),
        ..args.client.round(here, "ideate", logs.join("round-1.jsonl"))
    })
}
