//! PHP: its own parser, and phpstan, Pint and PHP-CS-Fixer where the project uses them.

use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::config_files::{ConfigFiles, configured};
use super::text_of;

const PINT: ConfigFiles = ConfigFiles::files(&["pint.json"]);
const CS_FIXER: ConfigFiles = ConfigFiles::files(&[".php-cs-fixer.php", ".php-cs-fixer.dist.php"]);
const PHPSTAN: ConfigFiles =
    ConfigFiles::files(&["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"]);

const REMEDY: &str = "run `composer install`";

/// What a file of this kind gets.
pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    fix(around, &mut wanted);
    parse(around, &mut wanted);
    analyse(around, &mut wanted);
    wanted
}

/// `--path-mode=intersection`: a file that is named would be rewritten although the project leaves
/// it out.
fn fix(around: &dyn Around, wanted: &mut CheckBuilder) {
    let file = text_of(around.file());
    if let Some(pint) = configured(around, PINT, ("pint", REMEDY), wanted) {
        let program = pint.tool.with(&["--quiet", &file]);
        wanted.fix("pint", program, OutputFormat::Whole).at(&pint.folder).because(pint.why);
    }
    if let Some(fixer) = configured(around, CS_FIXER, ("php-cs-fixer", REMEDY), wanted) {
        let line = ["fix", "--quiet", "--path-mode=intersection", "--using-cache=no", &file];
        let program = fixer.tool.with(&line);
        wanted
            .fix("php-cs-fixer", program, OutputFormat::Whole)
            .at(&fixer.folder)
            .because(fixer.why);
    }
}

/// `-n`: without settings, since a debugger that they name would wait for its other end. An error is
/// printed once and not logged as well.
fn parse(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(php) = around.tool("php") else { return };
    let line = ["-n", "-d", "display_errors=stderr", "-d", "log_errors=0", "-l"];
    let file = text_of(around.file());
    let program = php.with(&[&line[..], &[&file]].concat());
    wanted.look("php", program, OutputFormat::Plain).because("it is PHP");
}

fn analyse(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(phpstan) = configured(around, PHPSTAN, ("phpstan", REMEDY), wanted) else { return };
    let file = text_of(around.file());
    let line = ["analyse", "--error-format=raw", "--no-progress", "--no-interaction", &file];
    let program = phpstan.tool.with(&line);
    wanted.look("phpstan", program, OutputFormat::Plain).at(&phpstan.folder).because(phpstan.why);
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

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
}
