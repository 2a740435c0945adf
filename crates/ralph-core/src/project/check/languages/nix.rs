//! Nix: its own parser.

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::text_of;

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    if let Some(tool) = around.tool("nix-instantiate") {
        // It prints the whole expression when all is well, so only a failure is read.
        let program = tool.with(&["--parse", &text_of(around.file())]);
        wanted.look("nix-instantiate", program, OutputFormat::Whole).because("it is Nix");
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn nix_is_parsed_where_nix_is_there() {
        FileFixture::edits("a.nix").plans("");
        let world = FileFixture::edits("a/b.nix").on_path(&["nix-instantiate"]);
        world.plans("look nix-instantiate @a");
        world.runs("nix-instantiate", "nix-instantiate --parse a/b.nix");
    }
}
