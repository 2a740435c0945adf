//! Supabase: the migrations, the tables that the newest ones create, and the edge functions.

use super::{EntryKind, Fact, Project, show};
use std::collections::BTreeSet;

const MIGRATIONS: &str = "supabase/migrations";

/// How many migrations are read.
const MOST_READ: usize = 100;

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let mut migrations = names(project, MIGRATIONS, EntryKind::File);
    migrations.retain(|name| name.ends_with(".sql"));
    let mut functions = names(project, "supabase/functions", EntryKind::Folder);
    // A folder such as `_shared` contains code for several functions.
    functions.retain(|name| !name.starts_with(['_', '.']));
    let mut lines = Vec::new();
    if !migrations.is_empty() {
        let newest = show::list(migrations.iter().rev().take(3).map(String::as_str), 3);
        lines.push(format!("migrations: {}, the newest {newest}", migrations.len()));
        lines.extend(tables(project, &migrations));
    }
    if !functions.is_empty() {
        let names = show::list(functions.iter().map(String::as_str), 20);
        lines.push(format!("functions: {names}"));
    }
    (!lines.is_empty()).then(|| Fact { heading: "supabase".to_owned(), lines })
}

/// The tables in lines that begin with `create table`. Later changes to a table are not followed.
fn tables(project: &dyn Project, migrations: &[String]) -> Option<String> {
    let read = &migrations[migrations.len().saturating_sub(MOST_READ)..];
    let mut tables = BTreeSet::new();
    for name in read {
        let text = project.text(format!("{MIGRATIONS}/{name}").as_ref()).unwrap_or_default();
        tables.extend(text.lines().filter_map(created));
    }
    let shown = show::list(tables.iter().map(String::as_str), 80);
    (!tables.is_empty()).then(|| format!("tables created: {shown}"))
}

fn created(line: &str) -> Option<String> {
    let mut words = line.split([' ', '(', ';']).filter(|word| !word.is_empty());
    let mut next_is = |wanted: &str| words.next().filter(|word| word.eq_ignore_ascii_case(wanted));
    next_is("create").and_then(|_| next_is("table"))?;
    let mut name = words.next()?;
    if name.eq_ignore_ascii_case("if") {
        name = words.nth(2)?;
    }
    Some(name.replace('"', "").trim_start_matches("public.").to_owned())
}

fn names(project: &dyn Project, folder: &str, kind: EntryKind) -> Vec<String> {
    let entries = project.folder(folder.as_ref()).unwrap_or_default().entries;
    entries.into_iter().filter(|entry| entry.kind == kind).map(|entry| entry.name).collect()
}

#[cfg(test)]
mod tests {
    use super::fact;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn migrations_are_counted_and_functions_are_named() {
        ProjectFixture::new()
            .file("supabase/migrations/2_b.sql", "create table public.b(id int);\n-- create table c();")
            .file("supabase/migrations/1_a.sql", "CREATE TABLE if not exists \"a\" (\n  create_table int\n);\ncreate table")
            .file("supabase/migrations/readme.md", "")
            .file("supabase/functions/hello/index.ts", "")
            .file("supabase/functions/_shared/index.ts", "")
            .tells(
                fact,
                "supabase\n  migrations: 2, the newest \"2_b.sql\", \"1_a.sql\"\n  tables created: \"a\", \"b\"\n  \
                 functions: \"hello\"",
            );
        ProjectFixture::new().file("supabase/config.toml", "").tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
    }
}
