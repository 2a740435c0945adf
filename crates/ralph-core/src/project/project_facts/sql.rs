//! Which tables there are after statements of SQL, read as PostgreSQL reads them.
//!
//! Only whole statements count: what stands in a string, in a comment, in the body of a function or
//! among copied rows is text. Work is linear in the length of what is read.

mod words;

use std::collections::BTreeSet;
use words::{SqlReader, SqlWord};

/// The tables so far, by schema and name.
#[derive(Debug, Default)]
pub(super) struct Tables(BTreeSet<(String, String)>);

impl Tables {
    /// What the statements of a file change.
    pub(super) fn read(&mut self, text: &str) {
        let mut reader = SqlReader::new(text);
        while let Some(statement) = reader.statement() {
            self.apply(&mut Statement { words: &statement });
            if is_copy(&statement) {
                reader.skip_rows();
            }
        }
    }

    /// The names, with their schema unless that is the usual one.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |(schema, name): &(String, String)| match schema.as_str() {
            "public" => name.clone(),
            schema => format!("{schema}.{name}"),
        };
        self.0.iter().map(name).collect()
    }

    fn apply(&mut self, statement: &mut Statement) {
        if statement.take("create") {
            self.create(statement);
        } else if statement.take("drop") {
            self.drop(statement);
        } else if statement.take("alter") {
            self.alter(statement);
        }
    }

    fn create(&mut self, statement: &mut Statement) -> Option<()> {
        while ["unlogged", "foreign"].into_iter().any(|word| statement.take(word)) {}
        statement.need("table")?;
        statement.take_all(&["if", "not", "exists"]);
        let table = statement.table()?;
        // A part of another table is not one to ask for.
        if !statement.take_all(&["partition", "of"]) {
            self.0.insert(table);
        }
        None
    }

    fn drop(&mut self, statement: &mut Statement) -> Option<()> {
        if statement.take("schema") {
            statement.take_all(&["if", "exists"]);
            let schema = statement.name()?;
            self.0.retain(|(of, _)| *of != schema);
            return None;
        }
        statement.take("foreign");
        statement.need("table")?;
        statement.take_all(&["if", "exists"]);
        loop {
            self.0.remove(&statement.table()?);
            statement.sign(b',')?;
        }
    }

    fn alter(&mut self, statement: &mut Statement) -> Option<()> {
        statement.take("foreign");
        statement.need("table")?;
        statement.take_all(&["if", "exists"]);
        statement.take("only");
        let old = statement.table()?;
        let _ = statement.sign(b'*');
        let new = if statement.take_all(&["rename", "to"]) {
            (old.0.clone(), statement.name()?)
        } else if statement.take_all(&["set", "schema"]) {
            (statement.name()?, old.1.clone())
        } else {
            return None;
        };
        // What was made elsewhere stays unknown.
        if self.0.remove(&old) {
            self.0.insert(new);
        }
        None
    }
}

/// The words of a statement that were not read yet.
struct Statement<'a> {
    words: &'a [SqlWord],
}

impl Statement<'_> {
    fn take(&mut self, wanted: &str) -> bool {
        self.take_all(&[wanted])
    }

    fn take_all(&mut self, wanted: &[&str]) -> bool {
        let is = |(word, wanted): (&SqlWord, &&str)| matches!(word, SqlWord::Plain(word) if word == wanted);
        let all = self.words.len() >= wanted.len() && self.words.iter().zip(wanted).all(is);
        if all {
            self.words = &self.words[wanted.len()..];
        }
        all
    }

    fn need(&mut self, wanted: &str) -> Option<()> {
        self.take(wanted).then_some(())
    }

    fn sign(&mut self, wanted: u8) -> Option<()> {
        let rest =
            self.words.split_first().filter(|(first, _)| **first == SqlWord::Sign(wanted))?.1;
        self.words = rest;
        Some(())
    }

    fn name(&mut self) -> Option<String> {
        let (first, rest) = self.words.split_first()?;
        let (SqlWord::Plain(name) | SqlWord::Quoted(name)) = first else { return None };
        self.words = rest;
        (!name.is_empty()).then(|| name.clone())
    }

    /// `name`, `schema.name` or `database.schema.name`.
    fn table(&mut self) -> Option<(String, String)> {
        let (mut schema, mut name) = ("public".to_owned(), self.name()?);
        while self.sign(b'.').is_some() {
            schema = std::mem::replace(&mut name, self.name()?);
        }
        Some((schema, name))
    }
}

fn is_copy(statement: &[SqlWord]) -> bool {
    let is = |word: &SqlWord, wanted: &str| matches!(word, SqlWord::Plain(word) if word == wanted);
    statement.first().is_some_and(|word| is(word, "copy"))
        && statement.windows(2).any(|pair| is(&pair[0], "from") && is(&pair[1], "stdin"))
}

#[cfg(test)]
mod tests {
    use super::Tables;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut tables = Tables::default();
        tables.read(text);
        assert_eq!(tables.names(), expected, "{text}");
    }

    #[test]
    fn every_way_to_write_a_name() {
        check("CREATE TABLE a (id int);", &["a"]);
        check("create table if not exists public.a (id int)", &["a"]);
        check("create table Users(); create table \"Users\"();", &["Users", "users"]);
        check("create unlogged table \"my schema\".\"a \"\"b\"\"\" ();", &["my schema.a \"b\""]);
        check("create table auth . a ();", &["auth.a"]);
        check("create table db.auth.a ();", &["auth.a"]);
        check("create table größe ();", &["größe"]);
        check("create/* x */table--y\na();", &["a"]);
        check("create table a as select 1;", &["a"]);
    }

    #[test]
    fn what_was_dropped_or_renamed_is_gone() {
        check("create table a(); create table b(); drop table if exists a, public.b cascade;", &[]);
        check("create table a(); alter table a rename to b;", &["b"]);
        check("create table s.a(); alter table if exists only s.a * rename to b;", &["s.b"]);
        check("create table a(); alter table a set schema s;", &["s.a"]);
        check("create table s.a(); create table b(); drop schema if exists s cascade;", &["b"]);
        check("create table a(); drop table a; create table a();", &["a"]);
        check("create table a(); alter table a rename column b to c;", &["a"]);
        check("create table a(); alter table a rename b to c;", &["a"]);
        check("create table a(); alter table a add column x int, add y int;", &["a"]);
        check("alter table a rename to b;", &[]);
    }

    #[test]
    fn what_is_only_text_is_no_statement() {
        check("-- create table a();\n/* create table b(); /* x */ ; create table c(); */", &[]);
        check("insert into x values ('; create table a(); ''; create table b();');", &[]);
        check("insert into x values (E'\\'; create table a();');", &[]);
        check("select 'it''s'; create table a();", &["a"]);
        check(
            "create function f() returns void as $$ begin; create table a(); end $$ language plpgsql;",
            &[],
        );
        check("do $x$ begin; $$; create table a(); $$ ; end $x$; create table b();", &["b"]);
        check("select $1, a$b; create table c();", &["c"]);
        check("select \"; create table a(); \";", &[]);
        check("copy x (a) from stdin;\nit's; create table a();\n\\.\ncreate table b();", &["b"]);
        check("copy x from stdin;\n; create table a();", &[]);
    }

    #[test]
    fn what_is_another_thing_is_no_table() {
        check("create temp table a(); create temporary table b(); create local table c();", &[]);
        check("create view table_a as select 1; create index on a(); create type a as ();", &[]);
        check("create table a(); create table b partition of a for values in (1);", &["a"]);
        check("grant create on table a to b; comment on table a is 'create table b';", &[]);
        check("select create table a;", &[]);
    }

    #[test]
    fn text_that_never_ends_does_no_harm() {
        for text in [
            "'",
            "\"",
            "$$",
            "$a",
            "/*",
            "--",
            "E'\\",
            "create table",
            "create table a.",
            "create table \"",
            "drop table",
            ";;;",
            "$",
            "alter table a rename to",
            "create table (",
        ] {
            check(text, &[]);
        }
        check("create table \"a", &["a"]);
    }

    #[test]
    fn a_million_letters_of_any_kind_are_read_in_one_pass() {
        for text in ["$a", "$a$ ", "/*", "'\"", "create table ", "a.", "\"\"", "--", "$é$é", "(("]
        {
            let mut tables = Tables::default();
            tables.read(&text.repeat(1_000_000 / text.len()));
        }
        let mut tables = Tables::default();
        tables.read(&(0..50_000).map(|n| format!("create table a{n}();")).collect::<String>());
        assert_eq!(tables.names().len(), 50_000);
    }
}
