//! Carries out a refinement: the plan or tasks, the rounds, and the prompts.
//!
//! The rules in `ralph-core` decide what follows a round; the client and the
//! files are handled here.

pub(crate) mod artefact;
mod rounds;

pub(crate) use rounds::{Refining, tell};

use crate::command::exit::bad_state;
use crate::command::screen::visible;
use anyhow::{Result, anyhow};
use ralph_core::modes::refine::prompt::{Prompt, render};
use ralph_io::store::refine::brought;
use std::borrow::Cow;
use std::path::Path;

/// A prompt whose variables are not filled in yet.
#[derive(Debug)]
pub(crate) struct Template {
    prompt: Prompt,
    text: Cow<'static, str>,
    /// The project's file; `None` for the built-in text.
    file: Option<String>,
}

impl Template {
    /// The project's own text if there is one, else the built-in one.
    pub(crate) fn load(root: &Path, prompt: Prompt) -> Result<Template> {
        let Some((file, own)) = brought(root, prompt.name()).map_err(bad_state)? else {
            return Ok(Template { prompt, text: text(prompt).into(), file: None });
        };
        let flaws = prompt.flaws(&own);
        if !flaws.is_empty() {
            return Err(bad_state(anyhow!(
                "`{file}` cannot be the prompt `{}`: {}; correct it, or remove the file to use the text \
                 that comes with Ralph",
                prompt.name(),
                visible(&flaws.join("; "))
            )));
        }
        let text = prompt.completed(own, text(prompt));
        Ok(Template { prompt, text: text.into(), file: Some(file) })
    }

    /// The text with its variables filled in, each with the value given for it.
    pub(crate) fn fill(&self, values: &[(&str, &str)]) -> Result<String> {
        let mut given = values.to_vec();
        given.retain(|(name, _)| self.prompt.variables().contains(name));
        render(&self.text, &given).map_err(|flaws| {
            anyhow!("could not fill in the prompt `{}`: {}", self.prompt.name(), flaws.join("; "))
        })
    }
}

/// Where each prompt's text comes from in this project, one line each.
pub(crate) fn explain(root: &Path) -> Vec<String> {
    let source = |prompt| match Template::load(root, prompt) {
        Ok(Template { file: Some(file), .. }) => file,
        Ok(Template { file: None, .. }) => "built in".to_owned(),
        Err(why) => format!("refused: {why:#}"),
    };
    Prompt::ALL.into_iter().map(|one| format!("{:<14}  {}", one.name(), source(one))).collect()
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
    use ralph_core::modes::refine::contract;

    #[test]
    fn every_prompt_is_there_under_its_name_and_ends_with_the_contract() {
        for one in Prompt::ALL {
            let given: Vec<(&str, &str)> =
                one.variables().iter().map(|name| (*name, "a|b&c ${PLAN_FILE}")).collect();
            let nowhere = Path::new("/nowhere");
            let text = Template::load(nowhere, one).unwrap().fill(&given).unwrap();
            assert!(text.contains(contract::FORM), "{}", one.name());
            assert!(text.contains("a|b&c ${PLAN_FILE}"), "{}", one.name());
        }
    }
}
