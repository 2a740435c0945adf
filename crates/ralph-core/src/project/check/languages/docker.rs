//! Dockerfiles: hadolint.

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::config_files::{ConfigFiles, configured_or_there};
use super::{name_of, text_of};

const HADOLINT: ConfigFiles = ConfigFiles::files(&[".hadolint.yaml", ".hadolint.yml"]);

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    // `Dockerfile.dockerignore` stands beside a Dockerfile and is a list of patterns.
    if name_of(around.file()).ends_with(".dockerignore") {
        return wanted;
    }
    let named = ("hadolint", "see https://github.com/hadolint/hadolint");
    let why = "it is a Dockerfile";
    if let Some(hadolint) = configured_or_there(around, HADOLINT, named, why, &mut wanted) {
        let program = hadolint.tool.with(&["--format", "sarif", &text_of(around.file())]);
        wanted
            .look("hadolint", program, OutputFormat::Sarif)
            .at(&hadolint.folder)
            .because(hadolint.why);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn hadolint_runs_where_it_is_there() {
        FileFixture::edits("Dockerfile").plans("");
        let world = FileFixture::edits("a/Dockerfile.dev").on_path(&["hadolint"]);
        world.plans("look hadolint @a");
        world.runs("hadolint", "hadolint --format sarif a/Dockerfile.dev");
        world.says("hadolint", "it is a Dockerfile");
        FileFixture::edits("web.dockerfile").on_path(&["hadolint"]).plans("look hadolint");
        FileFixture::edits("Containerfile").on_path(&["hadolint"]).plans("look hadolint");
    }

    #[test]
    fn hadolint_runs_beside_its_configuration() {
        let world = FileFixture::edits("a/b/Dockerfile").files(&["a/.hadolint.yaml"]);
        world.plans("lacking hadolint");
        let world = world.on_path(&["hadolint"]);
        world.plans("look hadolint @a");
        world.says("hadolint", "`a/.hadolint.yaml` configures it");
    }

    #[test]
    fn a_list_of_patterns_is_no_dockerfile() {
        FileFixture::edits("Dockerfile.dockerignore").on_path(&["hadolint"]).plans("");
    }
}
