//! Recipes of a makefile: a target, its prerequisites, and the variables that its recipes use.

use super::Weight;
use super::resolve::{At, Resolver};
use super::text::{self, join};
use std::collections::{BTreeMap, BTreeSet};

/// In the order in which `make` looks for its file.
pub(crate) const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

const MOST_TARGETS: usize = 200;
/// How deep makefiles may include each other.
const DEEPEST: usize = 5;

/// Variables that affect how recipes run.
const SETTINGS: [&str; 10] = [
    "SHELL",
    ".SHELLFLAGS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MAKE",
    "MAKEFILES",
    "PATH",
    "VPATH",
    ".RECIPEPREFIX",
    "MFLAGS",
];

/// Special targets that change how other targets are made.
const SPECIAL: [&str; 8] = [
    ".IGNORE",
    ".ONESHELL",
    ".POSIX",
    ".DEFAULT",
    ".EXPORT_ALL_VARIABLES",
    ".SUFFIXES",
    ".SECONDEXPANSION",
    ".NOTPARALLEL",
];

#[derive(Debug, Default)]
struct Rule {
    file: String,
    targets: Vec<String>,
    needs: String,
    recipe: Vec<String>,
}

#[derive(Debug, Default)]
struct Makefile {
    rules: Vec<Rule>,
    variables: BTreeMap<String, Vec<String>>,
    settings: Vec<String>,
    phony: BTreeSet<String>,
}

/// `make -C sub check`
pub(super) fn follow(resolver: &mut Resolver<'_>, words: &[&str], at: &At) {
    let (mut folder, mut file, mut goals) = (at.folder.clone(), None, Vec::new());
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        match *word {
            "-C" | "--directory" => {
                let Some(into) = rest.next().and_then(|into| join(&folder, into)) else { return };
                folder = into;
            }
            "-f" | "--file" | "--makefile" => file = rest.next().map(|file| (*file).to_owned()),
            "-j" | "-l" | "-o" | "-W" | "-I" => {
                // The number is optional.
                if rest.clone().next().is_some_and(|next| next.chars().all(|c| c.is_ascii_digit()))
                {
                    rest.next();
                }
            }
            _ if word.starts_with("--directory=") => {
                let Some(into) = join(&folder, &word["--directory=".len()..]) else { return };
                folder = into;
            }
            _ if word.starts_with("--file=") => file = Some(word["--file=".len()..].to_owned()),
            _ if word.starts_with('-') || word.contains('=') => {}
            goal => goals.push(goal.to_owned()),
        }
    }
    let path = match file {
        Some(file) => join(&folder, &file),
        None => MAKEFILES
            .iter()
            .filter_map(|name| join(&folder, name))
            .find(|path| resolver.text(path).is_some()),
    };
    let path = path.unwrap_or_else(|| join(&folder, "Makefile").unwrap_or_default());
    let mut makefile = Makefile::default();
    makefile.read(resolver, &folder, &path, 0);
    if goals.is_empty() {
        let first = makefile.rules.iter().flat_map(|rule| &rule.targets);
        goals.extend(
            first.filter(|name| !name.starts_with('.') && !name.contains('%')).take(1).cloned(),
        );
    }
    if !makefile.settings.is_empty() {
        let mut told = makefile.settings.clone();
        for name in SETTINGS {
            told.extend(makefile.variables.get(name).into_iter().flatten().cloned());
        }
        resolver.meaning.add(format!("settings of {path}"), Weight::Frozen, Some(told.join("\n")));
    }
    let mut open: Vec<(String, bool)> = goals.into_iter().map(|goal| (goal, true)).collect();
    let mut seen = BTreeSet::new();
    while let Some((target, is_goal)) = open.pop() {
        if !seen.insert(target.clone()) || seen.len() > MOST_TARGETS {
            continue;
        }
        let needs = makefile.target(resolver, (&folder, &path), &target, is_goal, at);
        open.extend(needs.into_iter().map(|need| (need, false)));
    }
}

impl Makefile {
    fn read(&mut self, resolver: &Resolver<'_>, folder: &str, path: &str, depth: usize) {
        let Some(text) = resolver.text(path).filter(|_| depth < DEEPEST) else { return };
        let mut in_rule = false;
        let mut define: Option<Vec<String>> = None;
        for line in logical(&text) {
            if let Some(body) = &mut define {
                body.push(text::line(&line));
                if line.trim() == "endef" {
                    let name = body[0].split_whitespace().nth(1).unwrap_or_default().to_owned();
                    let body = define.take().unwrap_or_default().join("\n");
                    self.variables.entry(name).or_default().push(body);
                }
                continue;
            }
            if line.starts_with('\t') {
                if let Some(rule) = self.rules.last_mut().filter(|_| in_rule) {
                    let line = text::line(&line);
                    if !line.is_empty() && !line.starts_with('#') {
                        rule.recipe.push(line);
                    }
                }
                continue;
            }
            let bare = text::line(line.split(" #").next().unwrap_or_default());
            if bare.is_empty() || bare.starts_with('#') {
                continue;
            }
            let first = bare.split(' ').next().unwrap_or_default();
            match first {
                "define" => define = Some(vec![bare]),
                "include" | "-include" | "sinclude" => {
                    for name in bare.split(' ').skip(1) {
                        for path in included(resolver, folder, name) {
                            self.read(resolver, folder, &path, depth + 1);
                        }
                    }
                }
                "ifeq" | "ifneq" | "ifdef" | "ifndef" | "else" | "endif" => {}
                _ => in_rule = self.statement(path, &bare),
            }
        }
    }

    /// Reads a variable or a rule; returns true if recipe lines may follow.
    fn statement(&mut self, file: &str, line: &str) -> bool {
        let exported =
            ["export ", "unexport ", "override "].iter().any(|word| line.starts_with(word));
        let bare = line.trim_start_matches("export ").trim_start_matches("override ");
        let assigns = bare.find('=');
        let rules = bare.find(':').filter(|at| {
            !bare[*at..].trim_start_matches(':').starts_with('=')
                && assigns.is_none_or(|assign| *at < assign)
        });
        let Some(colon) = rules else {
            if let Some(at) = assigns {
                let name = bare[..at].trim_end_matches(['?', '+', ':', '!', ' ']).trim();
                let is_setting = exported || SETTINGS.contains(&name);
                if is_setting {
                    self.settings.push(line.to_owned());
                }
                self.variables.entry(name.to_owned()).or_default().push(bare.to_owned());
            } else if exported || bare.contains("$(eval") || bare.contains("$(shell") {
                self.settings.push(line.to_owned());
            }
            return false;
        };
        let (names, needs) = (&bare[..colon], bare[colon..].trim_start_matches(':').trim());
        let targets: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        let (needs, inline) = needs.split_once(';').unwrap_or((needs, ""));
        if targets.iter().any(|name| name == ".PHONY") {
            self.phony.extend(needs.split_whitespace().map(str::to_owned));
            return false;
        }
        if targets.iter().any(|name| SPECIAL.contains(&name.as_str())) {
            self.settings.push(line.to_owned());
        }
        let recipe = Some(inline.trim()).filter(|inline| !inline.is_empty());
        self.rules.push(Rule {
            file: file.to_owned(),
            targets,
            needs: needs.trim().to_owned(),
            recipe: recipe.map(str::to_owned).into_iter().collect(),
        });
        true
    }

    /// Adds the meaning of a target; returns its prerequisites.
    fn target(
        &self,
        resolver: &mut Resolver<'_>,
        (folder, path): (&str, &str),
        target: &str,
        is_goal: bool,
        at: &At,
    ) -> Vec<String> {
        let is_of =
            |rule: &&Rule| rule.targets.iter().any(|name| fits(&self.expanded(name), target));
        let rules: Vec<&Rule> = self.rules.iter().filter(is_of).collect();
        if rules.is_empty() {
            if is_goal {
                resolver.meaning.add(format!("target `{target}` of {path}"), Weight::Frozen, None);
            }
            return Vec::new();
        }
        if !self.phony.contains(target) {
            let stands = resolver.names(folder).iter().any(|name| name == target);
            if stands && rules.iter().any(|rule| !rule.recipe.is_empty()) {
                let what = format!("file `{target}`, which makes the target of {path} up to date,");
                resolver.meaning.add(what, Weight::Shadow, Some(String::new()));
            }
        }
        let mut told = Vec::new();
        let mut needs = Vec::new();
        for rule in &rules {
            told.push(format!("{}: {}", rule.file, rule.needs));
            told.extend(rule.recipe.iter().cloned());
            let wanted = self.expanded(&rule.needs);
            needs.extend(wanted.split_whitespace().filter(|need| *need != "|").map(str::to_owned));
        }
        let mut used = BTreeSet::new();
        self.used(&told.join("\n"), &mut used);
        for name in &used {
            told.extend(self.variables.get(name).into_iter().flatten().cloned());
        }
        let last = rules.last().map_or(path, |rule| rule.file.as_str());
        resolver.meaning.add(
            format!("target `{target}` of {last}"),
            Weight::Frozen,
            Some(told.join("\n")),
        );
        for line in rules.iter().flat_map(|rule| &rule.recipe) {
            let line = self.expanded(line.trim_start_matches(['@', '-', '+']));
            resolver.line(&line, &at.deeper(folder));
        }
        needs
    }

    /// Collects the variables that a text uses, directly or through other variables.
    fn used(&self, text: &str, found: &mut BTreeSet<String>) {
        let words =
            text.split("$(").skip(1).filter_map(|rest| rest.split([')', ' ', ':', ',']).next());
        let braced = text.split("${").skip(1).filter_map(|rest| rest.split(['}', ' ', ':']).next());
        for name in words.chain(braced) {
            if self.variables.contains_key(name) && found.insert(name.to_owned()) {
                let inner = self.variables.get(name).map(|lines| lines.join("\n"));
                self.used(&inner.unwrap_or_default(), found);
            }
        }
    }

    /// Expands variables whose values are plain text.
    fn expanded(&self, text: &str) -> String {
        let mut text = text.replace("$(MAKE)", "make").replace("${MAKE}", "make");
        for _ in 0..6 {
            let mut changed = false;
            for (name, lines) in &self.variables {
                for mark in [format!("$({name})"), format!("${{{name}}}")] {
                    if text.contains(&mark) && text.len() < 16_384 {
                        let value = lines.last().and_then(|line| line.split_once('='));
                        text = text.replace(&mark, value.map_or("", |(_, value)| value.trim()));
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        text.replace("$$", "$")
    }
}

/// Joins continuation lines.
fn logical(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let (part, more) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.push(' ');
                last.push_str(part.trim_start());
            }
            None => lines.push(part.to_owned()),
        }
        goes_on = more;
    }
    lines
}

fn included(resolver: &Resolver<'_>, folder: &str, name: &str) -> Vec<String> {
    let Some((before, after)) = name.split_once('*') else {
        return join(folder, name).into_iter().collect();
    };
    let (below, start) = before.rsplit_once('/').unwrap_or(("", before));
    let Some(below) = join(folder, below) else { return Vec::new() };
    let mut names = resolver.names(&below);
    names.retain(|name| name.starts_with(start) && name.ends_with(after));
    names.iter().take(20).filter_map(|name| join(&below, name)).collect()
}

/// True if a target name in a rule, which may be a pattern, matches this target.
fn fits(name: &str, target: &str) -> bool {
    match name.split_once('%') {
        Some((before, after)) => {
            target.len() >= before.len() + after.len()
                && target.starts_with(before)
                && target.ends_with(after)
        }
        None => name.split_whitespace().any(|one| one == target),
    }
}
