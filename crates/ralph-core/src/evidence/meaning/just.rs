//! Recipes of a justfile.

use super::Weight;
use super::resolve::{At, Resolver};
use super::text::{self, join};
use std::collections::{BTreeMap, BTreeSet};

/// The names under which `just` finds its file.
pub(crate) const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];

#[derive(Debug, Default)]
struct Justfile {
    /// Each recipe's line and the lines below it.
    recipes: BTreeMap<String, (String, Vec<String>)>,
    first: Option<String>,
    variables: BTreeMap<String, String>,
    settings: Vec<String>,
}

/// `just check`, `just -f other.just check`
pub(super) fn follow(resolver: &mut Resolver<'_>, words: &[&str], at: &At) {
    let (mut folder, mut file, mut goals) = (at.folder.clone(), None, Vec::new());
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        match *word {
            "-f" | "--justfile" => file = rest.next().copied(),
            "-d" | "--working-directory" => {
                let Some(into) = rest.next().and_then(|into| join(&folder, into)) else { return };
                folder = into;
            }
            _ if word.starts_with('-') || word.contains('=') => {}
            goal => goals.push(goal.to_owned()),
        }
    }
    let path = match file {
        Some(file) => join(&folder, file),
        None => super::resolve::upwards(&folder)
            .iter()
            .flat_map(|folder| JUSTFILES.iter().filter_map(|name| join(folder, name)))
            .find(|path| resolver.text(path).is_some()),
    };
    let path = path.unwrap_or_else(|| "justfile".to_owned());
    let mut just = Justfile::default();
    just.read(resolver, &path, 0);
    if goals.is_empty() {
        goals.extend(just.first.clone());
    }
    if !just.settings.is_empty() {
        let told = just.settings.join("\n");
        resolver.meaning.add(format!("settings of {path}"), Weight::Frozen, Some(told));
    }
    let mut seen = BTreeSet::new();
    // Words after the first are recipes or arguments: a word that names no recipe is an argument.
    let mut open: Vec<String> = goals
        .iter()
        .enumerate()
        .filter(|(at, goal)| *at == 0 || just.recipes.contains_key(*goal))
        .map(|(_, goal)| goal.clone())
        .collect();
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let Some((head, body)) = just.recipes.get(&name) else {
            if seen.len() == 1 {
                resolver.meaning.add(format!("recipe `{name}` of {path}"), Weight::Frozen, None);
            }
            continue;
        };
        let mut told = vec![text::line(head)];
        told.extend(body.iter().map(|line| text::line(line)).filter(|line| !line.starts_with('#')));
        let used = told.join("\n");
        told.extend(
            just.variables
                .iter()
                .filter(|(name, _)| used.contains(name.as_str()))
                .map(|(_, line)| line.clone()),
        );
        resolver.meaning.add(
            format!("recipe `{name}` of {path}"),
            Weight::Frozen,
            Some(told.join("\n")),
        );
        let needs = head.split_once(':').map_or("", |(_, needs)| needs);
        open.extend(
            needs
                .split([' ', '(', ')', '&'])
                .filter(|word| just.recipes.contains_key(*word))
                .map(str::to_owned),
        );
        for line in body {
            let line = just.expanded(line.trim().trim_start_matches(['@', '-']));
            resolver.line(&line, &at.deeper(&folder));
        }
    }
}

impl Justfile {
    fn read(&mut self, resolver: &Resolver<'_>, path: &str, depth: usize) {
        let Some(text) = resolver.text(path).filter(|_| depth < 5) else { return };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut open: Option<String> = None;
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                let recipe = open.as_ref().and_then(|name| self.recipes.get_mut(name));
                if let Some((_, body)) = recipe.filter(|_| !line.trim().is_empty()) {
                    body.push(line.to_owned());
                }
                continue;
            }
            let bare = text::line(line);
            if bare.is_empty() || bare.starts_with(['#', '[']) {
                continue;
            }
            open = None;
            let imported = bare.strip_prefix("import? ").or_else(|| bare.strip_prefix("import "));
            if let Some(name) = imported {
                if let Some(path) = join(folder, name.trim_matches(['"', '\''])) {
                    self.read(resolver, &path, depth + 1);
                }
            } else if bare.starts_with("set ") || bare.starts_with("export ") {
                self.settings.push(bare);
            } else if bare.contains(":=") {
                let name = bare.split(":=").next().unwrap_or_default().trim().to_owned();
                self.variables.insert(name, bare);
            } else if let Some((head, _)) = bare.split_once(':') {
                let name =
                    head.split(' ').next().unwrap_or_default().trim_start_matches('@').to_owned();
                self.first.get_or_insert_with(|| name.clone());
                self.recipes.entry(name.clone()).or_insert((bare, Vec::new()));
                open = Some(name);
            }
        }
    }

    fn expanded(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for (name, whole) in &self.variables {
            let value = whole.split_once(":=").map_or("", |(_, value)| value.trim());
            for mark in [format!("{{{{{name}}}}}"), format!("{{{{ {name} }}}}")] {
                line = line.replace(&mark, value.trim_matches(['"', '\'']));
            }
        }
        line
    }
}
