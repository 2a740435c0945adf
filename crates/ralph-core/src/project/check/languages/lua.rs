//! Lua: the compiler's own parser, and luacheck and stylua where the project uses them.

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::config_files::{ConfigFiles, configured};
use super::text_of;

/// What the compiler is called, where several versions stand side by side.
const COMPILERS: &[&str] = &["luac", "luac5.4", "luac5.3", "luac5.2", "luac5.1"];

const STYLUA: ConfigFiles = ConfigFiles::files(&["stylua.toml", ".stylua.toml"]);
const LUACHECK: ConfigFiles = ConfigFiles::files(&[".luacheckrc"]);

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    let file = text_of(around.file());
    let named = ("stylua", "see https://github.com/JohnnyMorganz/StyLua");
    if let Some(stylua) = configured(around, STYLUA, named, &mut wanted) {
        let program = stylua.tool.with(&["--respect-ignores", &file]);
        wanted.fix("stylua", program, OutputFormat::Whole).at(&stylua.folder).because(stylua.why);
    }
    if let Some(compiler) = COMPILERS.iter().find_map(|name| around.tool(name)) {
        wanted
            .look("luac", compiler.with(&["-p", &file]), OutputFormat::Plain)
            .because("it is Lua");
    }
    let named = ("luacheck", "run `luarocks install luacheck`");
    if let Some(luacheck) = configured(around, LUACHECK, named, &mut wanted) {
        let program = luacheck.tool.with(&["--formatter", "plain", "--codes", &file]);
        wanted
            .look("luacheck", program, OutputFormat::Plain)
            .at(&luacheck.folder)
            .because(luacheck.why);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn lua_is_parsed_where_a_compiler_is_there() {
        FileFixture::edits("a.lua").plans("");
        let world =
            FileFixture::edits("a/b.lua").on_path(&["luac5.1", "luac5.4", "stylua", "luacheck"]);
        world.plans("look luac @a");
        world.runs("luac", "luac5.4 -p a/b.lua");
        FileFixture::edits("a.lua").on_path(&["luac"]).runs("luac", "luac -p a.lua");
    }

    #[test]
    fn the_tools_that_are_configured_run_beside_their_configuration() {
        let world = FileFixture::edits("a/b/c.lua").files(&["a/.luacheckrc", ".stylua.toml"]);
        world.plans("lacking stylua | lacking luacheck");
        let world = world.on_path(&["stylua", "luacheck"]);
        world.plans("fix stylua | look luacheck @a");
        world.runs("stylua", "stylua --respect-ignores a/b/c.lua");
        world.runs("luacheck", "luacheck --formatter plain --codes a/b/c.lua");
        world.says("luacheck", "`a/.luacheckrc` configures it");
        world.says("stylua", "`.stylua.toml` configures it");
    }
}
