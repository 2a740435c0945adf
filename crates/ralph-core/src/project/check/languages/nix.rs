//! Nix: its own parser.

use super::super::around::Around;
use super::super::forms::Form;
use super::text_of;
use super::wanted::Wanted;

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> Wanted {
    let mut wanted = Wanted::new(around);
    if let Some(tool) = around.tool("nix-instantiate") {
        // It prints the whole expression when all is well, so only a failure is read.
        let program = tool.with(&["--parse", &text_of(around.file())]);
        wanted.look("nix-instantiate", program, Form::Whole).because("it is Nix");
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::World;

    #[test]
    fn nix_is_parsed_where_nix_is_there() {
        World::edits("a.nix").plans("");
        let world = World::edits("a/b.nix").on_path(&["nix-instantiate"]);
        world.plans("look nix-instantiate @a");
        world.runs("nix-instantiate", "nix-instantiate --parse a/b.nix");
    }
}
