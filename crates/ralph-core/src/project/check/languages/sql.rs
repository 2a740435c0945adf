//! SQL: the database's own lint for Supabase migrations.

use std::path::Path;

use super::super::CheckKind;
use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::config_files::{ConfigFiles, configured_or_there};

const SUPABASE: ConfigFiles = ConfigFiles::files(&["supabase/config.toml"]);

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    if let Some(project) = supabase_project(around.file()) {
        lint_database(around, project, &mut wanted);
    }
    wanted
}

/// Lints the running database, so one run covers all migrations. Newer versions detect that an
/// agent is calling and print another JSON, unless `--output` is set.
fn lint_database(around: &dyn Around, project: &Path, wanted: &mut CheckBuilder) {
    let named = ("supabase", "see https://supabase.com/docs/guides/cli");
    let why = "it is in `supabase/migrations`";
    let supabase = configured_or_there(around, SUPABASE, named, why, wanted);
    let Some(supabase) = supabase else { return };
    let arguments = ["db", "lint", "--level", "warning", "--output", "json"];
    wanted
        .run(CheckKind::Look, "supabase", &supabase, &arguments, OutputFormat::Supabase)
        .at(project)
        .whole(&project.join("supabase"))
        .because(why);
}

/// The folder above `supabase/migrations`, if the file is below it.
fn supabase_project(file: &Path) -> Option<&Path> {
    let migrations = file.ancestors().skip(1).find(|one| one.ends_with("supabase/migrations"))?;
    migrations.ancestors().nth(2)
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;

    #[test]
    fn the_database_is_linted_for_migrations() {
        let file = "app/supabase/migrations/1.sql";
        FileFixture::edits(file).plans("");
        let world = FileFixture::edits(file).on_path(&["supabase"]);
        world.plans("look supabase @app whole app/supabase");
        world.runs("supabase", "supabase db lint --level warning --output json");
        world.says("supabase", "it is in `supabase/migrations`");
        let world = FileFixture::edits("supabase/migrations/deep/1.sql").on_path(&["supabase"]);
        world.plans("look supabase whole supabase");
        FileFixture::edits("migrations/1.sql").on_path(&["supabase", "sqlfluff"]).plans("");
        FileFixture::edits("supabase/seed.sql").on_path(&["supabase"]).plans("");
    }

    #[test]
    fn supabase_is_lacking_where_it_is_configured() {
        let world =
            FileFixture::edits("supabase/migrations/1.sql").files(&["supabase/config.toml"]);
        world.plans("lacking supabase");
        world
            .installed("node_modules/.bin/supabase")
            .runs("supabase", "node_modules/.bin/supabase db lint --level warning --output json");
    }
}
