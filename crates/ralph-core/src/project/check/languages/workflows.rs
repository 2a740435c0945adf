//! GitHub workflows: actionlint, besides what every YAML file gets.

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::config_files::{ConfigFiles, configured_or_there};
use super::{folder_of, text_of};

const ACTIONLINT: ConfigFiles =
    ConfigFiles::files(&[".github/actionlint.yaml", ".github/actionlint.yml"]);

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    let workflows = folder_of(around.file());
    if !workflows.ends_with(".github/workflows") {
        return wanted;
    }
    let named = ("actionlint", "see https://github.com/rhysd/actionlint");
    let why = "it is a GitHub workflow";
    if let Some(actionlint) = configured_or_there(around, ACTIONLINT, named, why, &mut wanted) {
        let program = actionlint.tool.with(&["-no-color", "-oneline", &text_of(around.file())]);
        wanted
            .look("actionlint", program, OutputFormat::Plain)
            .at(folder_of(folder_of(workflows)))
            .because(actionlint.why);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn actionlint_runs_on_workflows_where_it_is_there() {
        FileFixture::edits(".github/workflows/ci.yml").plans("look yaml");
        let world = FileFixture::edits(".github/workflows/ci.yaml").on_path(&["actionlint"]);
        world.plans("look yaml | look actionlint");
        world.runs("actionlint", "actionlint -no-color -oneline .github/workflows/ci.yaml");
        world.says("actionlint", "it is a GitHub workflow");
    }

    #[test]
    fn actionlint_is_lacking_where_it_is_configured() {
        let world =
            FileFixture::edits(".github/workflows/ci.yml").files(&[".github/actionlint.yml"]);
        world.plans("look yaml | lacking actionlint");
        let world = world.on_path(&["actionlint"]);
        world.says("actionlint", "`.github/actionlint.yml` configures it");
    }

    #[test]
    fn other_yaml_is_no_workflow() {
        let plans = |file| FileFixture::edits(file).on_path(&["actionlint"]).plans("look yaml");
        plans(".github/dependabot.yml");
        plans(".github/workflows/deep/ci.yml");
        plans("workflows/ci.yml");
        plans(".github/actions/a/action.yml");
    }
}
