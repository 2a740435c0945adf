//! Tools that take only the file's name: one row each.

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::super::{CheckKind, CheckKind::Fix, CheckKind::Look};
use super::check_builder::CheckBuilder;
use super::config_files::{ConfigFiles, configured, configured_or_there};
use super::{matches_any, name_of, text_of};

/// A tool, and how it is called.
struct SimpleTool {
    name: &'static str,
    /// File name patterns.
    files: &'static [&'static str],
    kind: CheckKind,
    /// The program under one or several names, and the arguments before the file's name.
    programs: &'static [&'static str],
    arguments: &'static [&'static str],
    form: OutputFormat,
    config: ConfigFiles,
    /// Why it also runs without a configuration, if it does.
    installed: Option<&'static str>,
    /// How to install it.
    remedy: &'static str,
}

const DOCKERFILES: &[&str] = &["Dockerfile", "Dockerfile.*", "*.dockerfile", "Containerfile"];
const COMPOSER: &str = "run `composer install`";
const NO_CONFIG: ConfigFiles = ConfigFiles::files(&[]);

/// Fixers of the same file run in this order.
const TOOLS: &[SimpleTool] = &[
    SimpleTool {
        name: "sqlfluff",
        files: &["*.sql"],
        kind: Look,
        programs: &["sqlfluff"],
        arguments: &["lint", "--disable-progress-bar", "--format", "sarif"],
        form: OutputFormat::Sarif,
        config: ConfigFiles {
            files: &[".sqlfluff"],
            tables: &[
                ("pyproject.toml", "tool.sqlfluff"),
                ("setup.cfg", "sqlfluff"),
                ("tox.ini", "sqlfluff"),
                ("pep8.ini", "sqlfluff"),
            ],
        },
        installed: None,
        remedy: "run `pip install sqlfluff`",
    },
    SimpleTool {
        name: "pint",
        files: &["*.php"],
        kind: Fix,
        programs: &["pint"],
        arguments: &["--quiet"],
        form: OutputFormat::Whole,
        config: ConfigFiles::files(&["pint.json"]),
        installed: None,
        remedy: COMPOSER,
    },
    SimpleTool {
        name: "php-cs-fixer",
        files: &["*.php"],
        kind: Fix,
        programs: &["php-cs-fixer"],
        // Without `--path-mode=intersection` it rewrites a file that is named although the project
        // excludes it.
        arguments: &["fix", "--quiet", "--path-mode=intersection", "--using-cache=no"],
        form: OutputFormat::Whole,
        config: ConfigFiles::files(&[".php-cs-fixer.php", ".php-cs-fixer.dist.php"]),
        installed: None,
        remedy: COMPOSER,
    },
    SimpleTool {
        name: "php",
        files: &["*.php"],
        kind: Look,
        programs: &["php"],
        // `-n` ignores `php.ini`, which may enable a debugger that waits; the other options print
        // each error once.
        arguments: &["-n", "-d", "display_errors=stderr", "-d", "log_errors=0", "-l"],
        form: OutputFormat::Plain,
        config: NO_CONFIG,
        installed: Some("it is PHP"),
        remedy: "",
    },
    SimpleTool {
        name: "phpstan",
        files: &["*.php"],
        kind: Look,
        programs: &["phpstan"],
        arguments: &["analyse", "--error-format=raw", "--no-progress", "--no-interaction"],
        form: OutputFormat::Plain,
        config: ConfigFiles::files(&["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"]),
        installed: None,
        remedy: COMPOSER,
    },
    SimpleTool {
        name: "stylua",
        files: &["*.lua"],
        kind: Fix,
        programs: &["stylua"],
        arguments: &["--respect-ignores"],
        form: OutputFormat::Whole,
        config: ConfigFiles::files(&["stylua.toml", ".stylua.toml"]),
        installed: None,
        remedy: "see https://github.com/JohnnyMorganz/StyLua",
    },
    SimpleTool {
        name: "luac",
        files: &["*.lua"],
        kind: Look,
        programs: &["luac", "luac5.4", "luac5.3", "luac5.2", "luac5.1"],
        arguments: &["-p"],
        form: OutputFormat::Plain,
        config: NO_CONFIG,
        installed: Some("it is Lua"),
        remedy: "",
    },
    SimpleTool {
        name: "luacheck",
        files: &["*.lua"],
        kind: Look,
        programs: &["luacheck"],
        arguments: &["--formatter", "plain", "--codes"],
        form: OutputFormat::Plain,
        config: ConfigFiles::files(&[".luacheckrc"]),
        installed: None,
        remedy: "run `luarocks install luacheck`",
    },
    SimpleTool {
        name: "nix-instantiate",
        files: &["*.nix"],
        kind: Look,
        programs: &["nix-instantiate"],
        // On success it prints the whole expression, so only the output of a failure is used.
        arguments: &["--parse"],
        form: OutputFormat::Whole,
        config: NO_CONFIG,
        installed: Some("it is Nix"),
        remedy: "",
    },
    SimpleTool {
        name: "hadolint",
        files: DOCKERFILES,
        kind: Look,
        programs: &["hadolint"],
        arguments: &["--format", "sarif"],
        form: OutputFormat::Sarif,
        config: ConfigFiles::files(&[".hadolint.yaml", ".hadolint.yml"]),
        installed: Some("it is a Dockerfile"),
        remedy: "see https://github.com/hadolint/hadolint",
    },
    SimpleTool {
        name: "taplo",
        files: &["*.toml"],
        kind: Fix,
        programs: &["taplo"],
        arguments: &["format"],
        form: OutputFormat::Whole,
        config: ConfigFiles::files(&["taplo.toml", ".taplo.toml"]),
        installed: None,
        remedy: "see https://taplo.tamasfe.dev",
    },
];

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    let name = name_of(around.file());
    // `Dockerfile.dockerignore` belongs to a Dockerfile but is a list of patterns.
    let is_for =
        |tool: &&SimpleTool| matches_any(tool.files, name) && !name.ends_with(".dockerignore");
    for tool in TOOLS.iter().filter(is_for) {
        let is_there = |name: &&&str| around.tool(name).is_some();
        let program = tool.programs.iter().find(is_there).unwrap_or(&tool.programs[0]);
        let named = (*program, tool.remedy);
        let found = match tool.installed {
            None => configured(around, tool.config, named, &mut wanted),
            Some(why) => configured_or_there(around, tool.config, named, why, &mut wanted),
        };
        let Some(found) = found else { continue };
        let file = text_of(around.file());
        let arguments = [tool.arguments, &[&file]].concat();
        wanted.run(tool.kind, tool.name, &found, &arguments, tool.form);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn sqlfluff_runs_where_it_is_configured() {
        let world = FileFixture::edits("a/b/c.sql").files(&["a/.sqlfluff"]);
        world.plans("lacking sqlfluff");
        let world = world.on_path(&["sqlfluff"]);
        world.plans("look sqlfluff @a");
        world.runs("sqlfluff", "sqlfluff lint --disable-progress-bar --format sarif a/b/c.sql");
        world.says("sqlfluff", "`a/.sqlfluff` configures it");
    }

    #[test]
    fn a_table_in_a_shared_file_configures_it_too() {
        let plans = |path, text, expected| {
            FileFixture::edits("a.sql").file(path, text).on_path(&["sqlfluff"]).plans(expected);
        };
        plans("pyproject.toml", "[tool.sqlfluff.core]", "look sqlfluff");
        plans("pyproject.toml", "[sqlfluff]", "");
        plans("setup.cfg", "[sqlfluff]", "look sqlfluff");
        plans("tox.ini", "[sqlfluff:rules]", "look sqlfluff");
        plans("pep8.ini", "[sqlfluff]", "look sqlfluff");
    }

    #[test]
    fn php_is_parsed_where_php_is_there() {
        FileFixture::edits("a.php").plans("");
        let world =
            FileFixture::edits("a/b.php").on_path(&["php", "pint", "phpstan", "php-cs-fixer"]);
        world.plans("look php @a");
        world.runs("php", "php -n -d display_errors=stderr -d log_errors=0 -l a/b.php");
    }

    #[test]
    fn the_project_s_own_tools_run_beside_their_configuration() {
        let world = FileFixture::edits("src/a.php").files(&[
            "src/pint.json",
            ".php-cs-fixer.dist.php",
            "phpstan.neon.dist",
        ]);
        world.plans("lacking pint | lacking php-cs-fixer | lacking phpstan");
        let world = world
            .installed("vendor/bin/pint")
            .installed("vendor/bin/php-cs-fixer")
            .installed("vendor/bin/phpstan");
        world.plans("fix pint @src | fix php-cs-fixer | look phpstan");
        world.runs("pint", "vendor/bin/pint --quiet src/a.php");
        world.runs(
            "php-cs-fixer",
            "vendor/bin/php-cs-fixer fix --quiet --path-mode=intersection --using-cache=no src/a.php",
        );
        world.runs(
            "phpstan",
            "vendor/bin/phpstan analyse --error-format=raw --no-progress --no-interaction src/a.php",
        );
        world.says("pint", "`src/pint.json` configures it");
        world.says("php-cs-fixer", "`.php-cs-fixer.dist.php` configures it");
        world.says("phpstan", "`phpstan.neon.dist` configures it");
    }

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

    #[test]
    fn nix_is_parsed_where_nix_is_there() {
        FileFixture::edits("a.nix").plans("");
        let world = FileFixture::edits("a/b.nix").on_path(&["nix-instantiate"]);
        world.plans("look nix-instantiate @a");
        world.runs("nix-instantiate", "nix-instantiate --parse a/b.nix");
    }

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
