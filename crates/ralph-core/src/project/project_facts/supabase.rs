//! Supabase: the migrations, the tables that they leave, and the functions beside them.
//!
//! Tables are read from the newest migrations only where there are too many to read them all, and
//! the fact says so: a table made in an older one is then missing, and never wrong.

use super::sql::Tables;
use super::{EntryKind, Fact, Project, show};

const MIGRATIONS: &str = "supabase/migrations";

/// The most migrations that are read.
const READ: usize = 400;

/// The most letters of them, in bytes.
const BYTES: usize = 8 << 20;

/// The most names of tables on one line, and lines of them.
const TABLES: usize = 80;

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let mut names = names(project, MIGRATIONS, EntryKind::File);
    names.retain(|name| name.ends_with(".sql"));
    let functions = names_of_functions(project);
    if names.is_empty() && functions.is_empty() {
        return None;
    }
    let mut lines = Vec::new();
    if !names.is_empty() {
        let newest = names.iter().rev().take(3).map(String::as_str);
        lines.push(format!("migrations: {}, the newest {}", names.len(), show::list(newest, 3)));
    }
    lines.extend(tables(project, &names));
    if !functions.is_empty() {
        let names = functions.iter().map(String::as_str);
        lines.push(format!("functions: {}", show::list(names, 20)));
    }
    Some(Fact { heading: "supabase".to_owned(), lines })
}

fn names(project: &dyn Project, folder: &str, kind: EntryKind) -> Vec<String> {
    let entries = project.folder(folder).unwrap_or_default().entries;
    entries.into_iter().filter(|entry| entry.kind == kind).map(|entry| entry.name).collect()
}

/// What begins with a sign is shared by the others and none itself.
fn names_of_functions(project: &dyn Project) -> Vec<String> {
    let mut names = names(project, "supabase/functions", EntryKind::Folder);
    names.retain(|name| !name.starts_with(['_', '.']));
    names
}

fn tables(project: &dyn Project, names: &[String]) -> Option<String> {
    let texts = newest(project, names);
    let mut tables = Tables::default();
    texts.iter().rev().for_each(|text| tables.read(text));
    let found = tables.names();
    let from = match texts.len() < names.len() {
        true => format!(", from the newest {} migrations", texts.len()),
        false => String::new(),
    };
    let shown = show::list(found.iter().map(String::as_str), TABLES);
    (!found.is_empty()).then(|| format!("tables{from}: {shown}"))
}

/// The texts of the migrations, the newest first, as far as the bounds allow. One that cannot be
/// read is empty: what it did is not known, and what the others did is.
fn newest(project: &dyn Project, names: &[String]) -> Vec<String> {
    let mut room = BYTES;
    let text = |name: &String| project.text(&format!("{MIGRATIONS}/{name}")).unwrap_or_default();
    let within = |text: &String| {
        let fits = text.len() <= room;
        room = room.saturating_sub(text.len());
        fits
    };
    names.iter().rev().take(READ).map(text).take_while(within).collect()
}

#[cfg(test)]
mod tests {
    use super::super::world::ProjectFixture;
    use super::fact;

    #[test]
    fn migrations_are_counted_and_applied_in_their_order() {
        ProjectFixture::new()
            .file("supabase/migrations/2_b.sql", "drop table a; create table auth.c();")
            .file("supabase/migrations/1_a.sql", "create table a(); create table \"B\"();")
            .file("supabase/migrations/readme.md", "create table x();")
            .file("supabase/functions/hello/index.ts", "")
            .file("supabase/functions/_shared/index.ts", "")
            .tells(
                fact,
                "supabase\n  migrations: 2, the newest \"2_b.sql\", \"1_a.sql\"\n  \
                 tables: \"auth.c\", \"B\"\n  functions: \"hello\"",
            );
    }

    #[test]
    fn of_too_many_migrations_the_newest_are_read() {
        let mut world = ProjectFixture::new();
        for n in 1_000..1_500 {
            world = world
                .file(&format!("supabase/migrations/{n}.sql"), &format!("create table t{n}();"));
        }
        let lines = fact(&world).unwrap().lines;
        assert_eq!(
            lines[0],
            "migrations: 500, the newest \"1499.sql\", \"1498.sql\", \"1497.sql\""
        );
        assert!(lines[1].starts_with("tables, from the newest 400 migrations: \"t1100\", "));
    }

    #[test]
    fn of_too_large_migrations_the_newest_are_read() {
        let large = format!("create table a(); -- {}", "x".repeat(3 << 20));
        let mut world = ProjectFixture::new();
        for n in 1..=4 {
            world = world.file(&format!("supabase/migrations/{n}.sql"), &large);
        }
        let lines = fact(&world).unwrap().lines;
        assert_eq!(lines[1], "tables, from the newest 2 migrations: \"a\"");
    }

    #[test]
    fn without_migrations_there_is_nothing_to_tell() {
        ProjectFixture::new().file("supabase/config.toml", "").tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
        ProjectFixture::new()
            .file("supabase/migrations/1.sql", "select 1")
            .tells(fact, "supabase\n  migrations: 1, the newest \"1.sql\"");
    }
}
