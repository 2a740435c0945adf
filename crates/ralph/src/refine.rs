//! Carries out a refinement: what is refined, one round of it, and the prompts.
//!
//! What follows from a round is decided by the session alone, in `ralph-core`; here are the client and
//! the files.

pub(crate) mod artefact;
mod round;

pub(crate) use round::{
    Refiner, Rounded, asks_again, close_what_was_left, note_client, prompt as of_round, record,
};

use ralph_core::refine::prompt::{Prompt, render};

/// The text of a prompt, with its variables in place.
pub(crate) fn prompt(prompt: Prompt, given: &[(&str, &str)]) -> String {
    // A test renders every one of these files with the variables that it is given.
    render(text(prompt), given)
        .expect("our own prompts name only the variables that they are given")
}

fn text(prompt: Prompt) -> &'static str {
    match prompt {
        Prompt::BeadRefiner => include_str!("../prompts/bead-refiner.md"),
        Prompt::PlanImprover => include_str!("../prompts/plan-improver.md"),
        Prompt::IdeaWizard => include_str!("../prompts/idea-wizard.md"),
        Prompt::ContextLoader => include_str!("../prompts/context-loader.md"),
        Prompt::PostContext => include_str!("../prompts/post-context.md"),
        Prompt::Synthesizer => include_str!("../prompts/synthesizer.md"),
        Prompt::RobotMode => include_str!("../prompts/robot-mode.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::refine::contract;

    #[test]
    fn every_prompt_is_there_under_its_name_and_ends_with_the_contract() {
        for one in Prompt::ALL {
            let given: Vec<(&str, &str)> =
                one.variables().iter().map(|name| (*name, "a|b&c ${PLAN_FILE}")).collect();
            let text = prompt(one, &given);
            assert!(text.contains(contract::FORM), "{}", one.name());
            assert!(text.contains("a|b&c ${PLAN_FILE}"), "{}", one.name());
        }
    }
}
