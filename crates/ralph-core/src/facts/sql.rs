//! Which tables there are after statements of SQL, read as PostgreSQL reads them.
//!
//! Only whole statements count: what stands in a string, in a comment, in the body of a function or
//! among copied rows is text. Work is linear in the length of what is read.

use std::collections::BTreeSet;

/// Of a statement no more words are kept: a list of dropped tables may be long.
const WORDS: usize = 400;

/// The tables so far, by schema and name.
#[derive(Debug, Default)]
pub(super) struct Tables(BTreeSet<(String, String)>);

/// A name, or a sign that stands for itself. What was in quotes is a name whatever it says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Plain(String),
    Quoted(String),
    Sign(u8),
}

impl Tables {
    /// What the statements of a file change.
    pub(super) fn read(&mut self, text: &str) {
        let mut reader = Reader { text, at: 0 };
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
    words: &'a [Word],
}

impl Statement<'_> {
    fn take(&mut self, wanted: &str) -> bool {
        self.take_all(&[wanted])
    }

    fn take_all(&mut self, wanted: &[&str]) -> bool {
        let is =
            |(word, wanted): (&Word, &&str)| matches!(word, Word::Plain(word) if word == wanted);
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
        let rest = self.words.split_first().filter(|(first, _)| **first == Word::Sign(wanted))?.1;
        self.words = rest;
        Some(())
    }

    fn name(&mut self) -> Option<String> {
        let (first, rest) = self.words.split_first()?;
        let (Word::Plain(name) | Word::Quoted(name)) = first else { return None };
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

fn is_copy(statement: &[Word]) -> bool {
    let is = |word: &Word, wanted: &str| matches!(word, Word::Plain(word) if word == wanted);
    statement.first().is_some_and(|word| is(word, "copy"))
        && statement.windows(2).any(|pair| is(&pair[0], "from") && is(&pair[1], "stdin"))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The words up to the next semicolon; none at the end of the text.
    fn statement(&mut self) -> Option<Vec<Word>> {
        let mut words = Vec::new();
        while self.at < self.text.len() {
            match self.word() {
                Some(Word::Sign(b';')) => return Some(words),
                Some(word) if words.len() < WORDS => words.push(word),
                _ => {}
            }
        }
        // Without a semicolon the last statement is one all the same.
        (!words.is_empty()).then_some(words)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Reads one word, or over something that is none.
    fn word(&mut self) -> Option<Word> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        match bytes[0] {
            b'-' if rest.starts_with("--") => self.skip(rest.find('\n')),
            b'/' if rest.starts_with("/*") => self.skip(end_of_comment(bytes)),
            b'\'' => self.skip(end_of_quoted(bytes, 0, false)),
            b'e' | b'E' if bytes.get(1) == Some(&b'\'') => self.skip(end_of_quoted(bytes, 1, true)),
            b'$' => self.skip(end_of_dollars(rest)),
            b'"' => {
                let end = end_of_quoted(bytes, 0, false).unwrap_or(rest.len());
                self.at += end;
                let inner = rest[1..end].strip_suffix('"').unwrap_or(&rest[1..end]);
                Some(Word::Quoted(inner.replace("\"\"", "\"")))
            }
            first if is_inner(first) => {
                let end = bytes.iter().position(|byte| !is_inner(*byte) && *byte != b'$');
                let end = end.unwrap_or(rest.len());
                self.at += end;
                Some(Word::Plain(rest[..end].to_lowercase()))
            }
            sign => {
                self.at += 1;
                (!sign.is_ascii_whitespace()).then_some(Word::Sign(sign))
            }
        }
    }

    /// Without an end it is all the rest.
    fn skip(&mut self, length: Option<usize>) -> Option<Word> {
        self.at += length.unwrap_or(self.text.len() - self.at);
        None
    }

    /// Rows of a table follow, to a line of their own sign.
    fn skip_rows(&mut self) {
        let end = self.rest().find("\n\\.").map(|at| at + 3);
        self.skip(end);
    }
}

fn is_inner(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Comments stand inside each other.
fn end_of_comment(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return Some(at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    None
}

/// A quote that is written twice is one in the text, and ends nothing.
fn end_of_quoted(bytes: &[u8], start: usize, with_escapes: bool) -> Option<usize> {
    let quote = bytes[start];
    let mut at = start + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' if with_escapes => at += 2,
            byte if byte != quote => at += 1,
            _ if bytes.get(at + 1) == Some(&quote) => at += 2,
            _ => return Some(at + 1),
        }
    }
}

/// `$$ … $$` or `$name$ … $name$`; `$1` is a parameter and one sign long.
fn end_of_dollars(text: &str) -> Option<usize> {
    let tag = text[1..].find('$').map(|at| &text[..at + 2]);
    let is_tag = |tag: &&str| {
        let inner = &tag.as_bytes()[1..tag.len() - 1];
        inner.iter().all(|byte| is_inner(*byte)) && !inner.first().is_some_and(u8::is_ascii_digit)
    };
    match tag.filter(is_tag) {
        Some(tag) => text[tag.len()..].find(tag).map(|at| at + 2 * tag.len()),
        None => Some(1),
    }
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
