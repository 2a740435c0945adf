//! Ruby: its own parser, and RuboCop if the project uses it.

use std::path::Path;

use super::super::CheckKind;
use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::{CheckBuilder, Configured};
use super::config_files::{ConfigFiles, configured, upward};
use super::text_of;

const RUBOCOP: ConfigFiles = ConfigFiles::files(&[".rubocop.yml"]);
const REMEDY: &str = "run `bundle install`";

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    if let Some(rubocop) = rubocop(around, &mut wanted) {
        fix_and_look(around, &rubocop, &mut wanted);
    }
    if let Some(ruby) = around.tool("ruby") {
        let program = ruby.with(&["--disable=gems", "-c", &text_of(around.file())]);
        wanted.look("ruby", program, OutputFormat::Plain).because("it is Ruby");
    }
    wanted
}

/// Two runs: with `-a`, RuboCop also lists what it has fixed, and no option that every version has
/// suppresses that. So the first run fails only if RuboCop could not run, and the second reports
/// the remaining offences.
///
/// `--force-exclusion`: otherwise RuboCop checks a file that is named although the project excludes
/// it.
fn fix_and_look(around: &dyn Around, rubocop: &Configured, wanted: &mut CheckBuilder) {
    let line = ["--force-exclusion", "--format", "emacs", &text_of(around.file())];
    let fixing = [&["-a", "--fail-level", "fatal"], &line[..]].concat();
    wanted.run(CheckKind::Fix, "rubocop -a", rubocop, &fixing, OutputFormat::Whole);
    wanted.run(CheckKind::Look, "rubocop", rubocop, &line, OutputFormat::Plain);
}

/// RuboCop from the project's bundle, with the extensions that its configuration names.
fn rubocop(around: &dyn Around, wanted: &mut CheckBuilder) -> Option<Configured> {
    let is_bundled = upward(around).any(|folder| locks_rubocop(around, folder));
    if !is_bundled || around.tool("bundle").is_none() {
        return configured(around, RUBOCOP, ("rubocop", REMEDY), wanted);
    }
    let mut found = configured(around, RUBOCOP, ("bundle", REMEDY), wanted)?;
    found.tool.line.extend(["exec", "rubocop"].map(str::to_owned));
    Some(found)
}

fn locks_rubocop(around: &dyn Around, folder: &Path) -> bool {
    let lock = around.text(&folder.join("Gemfile.lock"));
    lock.is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with("rubocop (")))
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn ruby_is_parsed_where_ruby_is_there() {
        FileFixture::edits("a.rb").plans("");
        let world = FileFixture::edits("a/b.rb").on_path(&["ruby", "rubocop"]);
        world.plans("look ruby @a");
        world.runs("ruby", "ruby --disable=gems -c a/b.rb");
    }

    #[test]
    fn rubocop_runs_where_it_is_configured() {
        let world = FileFixture::edits("a/b/c.rb").files(&["a/.rubocop.yml"]);
        world.plans("lacking rubocop");
        let world = world.on_path(&["rubocop", "bundle"]);
        world.plans("fix rubocop -a @a | look rubocop @a");
        world.runs(
            "rubocop -a",
            "rubocop -a --fail-level fatal --force-exclusion --format emacs a/b/c.rb",
        );
        world.runs("rubocop", "rubocop --force-exclusion --format emacs a/b/c.rb");
        world.says("rubocop -a", "`a/.rubocop.yml` configures it");
        world.says("rubocop", "`a/.rubocop.yml` configures it");
    }

    #[test]
    fn the_project_s_bundle_wins() {
        let world = FileFixture::edits("a/b.rb")
            .files(&["a/.rubocop.yml"])
            .file("Gemfile.lock", "GEM\n  specs:\n    rubocop (1.60.0)\n")
            .on_path(&["rubocop"]);
        let options = "--force-exclusion --format emacs";
        world.runs("rubocop", &format!("rubocop {options} a/b.rb"));
        let world = world.on_path(&["bundle"]);
        world.plans("fix rubocop -a @a | look rubocop @a");
        world.runs("rubocop", &format!("bundle exec rubocop {options} a/b.rb"));
        let world = FileFixture::edits("a.rb")
            .file("Gemfile.lock", "    rubocop (1.60.0)\n")
            .on_path(&["bundle", "rubocop"]);
        world.plans("");
    }

    #[test]
    fn another_gem_of_that_name_is_not_it() {
        FileFixture::edits("a.rb")
            .files(&[".rubocop.yml"])
            .file("Gemfile.lock", "    rubocop-ast (1.30.0)\n")
            .on_path(&["bundle"])
            .plans("lacking rubocop");
    }
}
