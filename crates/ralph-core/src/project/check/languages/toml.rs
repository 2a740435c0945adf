//! TOML: our own parser, and taplo where the project uses it.

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::super::{By, Parser};
use super::check_builder::CheckBuilder;
use super::config_files::{ConfigFiles, configured};
use super::text_of;

const TAPLO: ConfigFiles = ConfigFiles::files(&["taplo.toml", ".taplo.toml"]);

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    wanted.look("toml", By::Parser(Parser::Toml), OutputFormat::Plain).because("it is TOML");
    let named = ("taplo", "see https://taplo.tamasfe.dev");
    if let Some(taplo) = configured(around, TAPLO, named, &mut wanted) {
        let program = taplo.tool.with(&["format", &text_of(around.file())]);
        wanted.fix("taplo", program, OutputFormat::Whole).at(&taplo.folder).because(taplo.why);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn toml_is_parsed() {
        FileFixture::edits("a/b.toml").on_path(&["taplo"]).plans("look toml");
    }

    #[test]
    fn taplo_formats_where_it_is_configured() {
        let world = FileFixture::edits("a/b.toml").files(&[".taplo.toml"]);
        world.plans("look toml | lacking taplo");
        let world = FileFixture::edits("a/b/c.toml").files(&["a/taplo.toml"]).on_path(&["taplo"]);
        world.plans("fix taplo @a | look toml");
        world.runs("taplo", "taplo format a/b/c.toml");
        world.says("taplo", "`a/taplo.toml` configures it");
    }
}
