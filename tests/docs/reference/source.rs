//! Reads our own types from their source: members with their comments and types, and words.
//!
//! The source is as `rustfmt` writes it, one member on a line, and each public member has a comment;
//! lints see to both.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What the source says of a type.
#[derive(Debug, Clone)]
pub(super) enum Type {
    /// An object with these members.
    Struct { about: String, members: Vec<Member> },
    /// One of these words, or with `open` any other that a newer version knows.
    Words { about: String, words: Vec<String>, open: bool },
}

/// One member.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) kind: String,
    /// Whether it may be left out.
    pub(super) optional: bool,
    /// Whether it stands for all that is not named.
    pub(super) rest: bool,
}

/// All types of `ralph-core`, by the module they stand in and their name.
#[derive(Default)]
pub(super) struct Source {
    types: BTreeMap<(String, String), Type>,
    /// Where a module has a name from.
    imports: BTreeMap<(String, String), String>,
}

impl Source {
    pub(super) fn of(root: &Path) -> Source {
        let mut source = Source::default();
        read(&root.join("crates/ralph-core/src"), "", &mut source);
        source
    }

    /// The type that a module means by this name: its own, one that it imports, one below it, or the
    /// only one there is.
    pub(super) fn find(&self, module: &str, name: &str) -> Option<(&str, &Type)> {
        let all = || self.types.iter().filter(|((_, known), _)| known == name);
        let near = |of: &str| of == module || of.starts_with(&format!("{module}/"));
        let from = self.imports.get(&(module.to_owned(), name.to_owned()));
        let own = || all().find(|((of, _), _)| of == module || Some(of) == from);
        let found = own().or_else(|| all().find(|((of, _), _)| near(of))).or_else(|| {
            let mut others = all();
            let first = others.next();
            assert!(others.next().is_none(), "there are several types `{name}` around `{module}`");
            first
        });
        found.map(|((module, _), found)| (module.as_str(), found))
    }
}

fn read(folder: &Path, module: &str, source: &mut Source) {
    for entry in fs::read_dir(folder).expect("our source can be listed") {
        let path = entry.expect("a listed entry can be read").path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let inner = if module.is_empty() { stem } else { format!("{module}/{stem}") };
        if path.is_dir() {
            read(&path, &inner, source);
        } else {
            let text = fs::read_to_string(&path).expect("our source is UTF-8");
            let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for (name, found) in types_in(text) {
                source.types.insert((inner.clone(), name), found);
            }
            for (name, from) in imports(text) {
                source.imports.insert((inner.clone(), name), from);
            }
        }
    }
}

/// `use crate::a::b::{C, D};`, each name with the module it comes from.
fn imports(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("use crate::")) {
        let Some((module, names)) = line.trim_end_matches(';').rsplit_once("::") else { continue };
        let names = names.trim_matches(['{', '}']).split(", ");
        found.extend(names.map(|name| (name.to_owned(), module.replace("::", "/"))));
    }
    found
}

fn types_in(text: &str) -> Vec<(String, Type)> {
    let mut found = Vec::new();
    let mut about = String::new();
    let mut marks = String::new();
    let mut in_words = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix("///") {
            join(&mut about, comment.trim());
        } else if line.starts_with("#[") {
            marks.push_str(line);
        } else if line == "words! {" {
            in_words = true;
        } else if let Some(name) = block(line, "pub struct ") {
            let members = members(&mut lines);
            found.push((name, Type::Struct { about: std::mem::take(&mut about), members }));
        } else if let Some(name) = block(line, "pub enum ").filter(|_| is_words(&marks)) {
            let words = words(&mut lines, |variant| variant.to_lowercase());
            let about = std::mem::take(&mut about);
            found.push((name, Type::Words { about, words, open: false }));
        } else if let Some(name) = block(line, "").filter(|_| in_words) {
            let words = words(&mut lines, str::to_owned);
            let about = std::mem::take(&mut about);
            found.push((name, Type::Words { about, words, open: true }));
            in_words = false;
        }
        if !line.starts_with("///") && !line.starts_with("#[") {
            about.clear();
            marks.clear();
        }
    }
    found
}

fn is_words(marks: &str) -> bool {
    marks.contains("rename_all = \"lowercase\"") && marks.contains("Deserialize")
}

/// The name of what begins on this line, if it is that and has no type parameters.
fn block(line: &str, head: &str) -> Option<String> {
    let name = line.strip_prefix(head)?.strip_suffix(" {")?;
    name.chars().all(char::is_alphanumeric).then(|| name.to_owned())
}

fn members<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Vec<Member> {
    let mut found = Vec::new();
    let (mut about, mut marks) = (String::new(), String::new());
    for line in lines.map(str::trim).take_while(|line| *line != "}") {
        if let Some(comment) = line.strip_prefix("///") {
            join(&mut about, comment.trim());
        } else if line.starts_with("#[") {
            marks.push_str(line);
        } else if let Some((name, kind)) =
            line.strip_prefix("pub ").and_then(|line| line.strip_suffix(',')?.split_once(": "))
        {
            let renamed =
                marks.split_once("rename = \"").and_then(|(_, rest)| rest.split_once('"'));
            found.push(Member {
                name: renamed.map_or(name, |(renamed, _)| renamed).to_owned(),
                about: std::mem::take(&mut about),
                kind: kind.to_owned(),
                optional: marks.contains("skip_serializing_if"),
                rest: marks.contains("flatten"),
            });
            marks.clear();
        }
    }
    found
}

/// The words of an enumeration: those that are written, else what its variants become.
fn words<'a>(
    lines: &mut impl Iterator<Item = &'a str>,
    of: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut found = Vec::new();
    for line in lines.map(str::trim).take_while(|line| *line != "}") {
        if let Some((_, alias)) = line.split_once("serde(alias = \"") {
            found.extend(alias.split_once('"').map(|(alias, _)| alias.to_owned()));
        } else if let Some(variant) = line.strip_suffix(',').filter(|_| !line.starts_with("///")) {
            found.push(match variant.split_once(" = \"") {
                Some((_, word)) => word.trim_end_matches('"').to_owned(),
                None => of(variant),
            });
        }
    }
    found
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}
