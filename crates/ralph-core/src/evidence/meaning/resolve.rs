//! Follows a command to the scripts and files that it runs, up to a limited depth.

use super::text::{self, join};
use super::{Files, Meaning, Weight, config, peel, runners};
use super::{cargo, just, make, node, python, tasks};
use crate::shell;
use crate::shell::{ONE, STAR, UNKNOWN};
use serde_json::Value;
use std::collections::BTreeSet;

/// How deep scripts that run scripts are followed.
const DEEPEST: usize = 6;
/// Maximum number of commands followed.
const MOST_COMMANDS: usize = 2_000;
/// Maximum number of files read per command.
const MOST_FILES: usize = 400;

pub(super) fn resolve(command: &str, files: &dyn Files) -> Meaning {
    let mut resolver = Resolver {
        files,
        meaning: Meaning::default(),
        commands: 0,
        read: std::cell::Cell::new(0),
        seen: BTreeSet::new(),
    };
    resolver.line(command, &At { folder: String::new(), depth: 0, plain: true });
    resolver.meaning
}

pub(super) struct Resolver<'a> {
    files: &'a dyn Files,
    pub(super) meaning: Meaning,
    commands: usize,
    read: std::cell::Cell<usize>,
    seen: BTreeSet<String>,
}

/// The context of a command.
#[derive(Debug, Clone)]
pub(super) struct At {
    /// The folder in which it runs, relative to the project.
    pub(super) folder: String,
    /// Number of scripts between the criterion and the command.
    pub(super) depth: usize,
    /// True while nothing redirects its output or makes its execution conditional.
    pub(super) plain: bool,
}

impl At {
    pub(super) fn deeper(&self, folder: &str) -> At {
        At { folder: folder.to_owned(), depth: self.depth + 1, plain: self.plain }
    }
}

impl Resolver<'_> {
    /// Follows every command in a line or a script.
    pub(super) fn line(&mut self, command: &str, at: &At) {
        if at.depth > DEEPEST {
            return;
        }
        let mut at = At { plain: at.plain && is_plain(command), ..at.clone() };
        let reading = shell::read(command, &[]);
        let mut all: Vec<Vec<String>> = Vec::new();
        for simple in &reading.commands {
            all.push(simple.words.iter().map(|word| without_marks(&word.text)).collect());
        }
        if all.is_empty() {
            // An unreadable command line is split into words.
            let parts = command.split([';', '&', '|', '(', ')', '\n', '`']);
            all = parts
                .map(|part| {
                    part.split_whitespace()
                        .map(|word| word.trim_matches(['"', '\'']).to_owned())
                        .collect()
                })
                .collect();
        }
        for words in all {
            self.commands += 1;
            if self.commands > MOST_COMMANDS {
                return;
            }
            if let [first, into, ..] = words.as_slice()
                && matches!(first.as_str(), "cd" | "pushd")
            {
                match join(&at.folder, into) {
                    Some(folder) => at.folder = folder,
                    // The path leads out of the project, so the files there do not belong to it.
                    None => return,
                }
                continue;
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.command(&words, &at);
        }
    }

    /// Follows one command.
    pub(super) fn command(&mut self, words: &[&str], at: &At) {
        let words = peel::peel(self, words, at);
        let Some(first) = words.first() else { return };
        let name = program(first);
        match name.as_str() {
            "npm" | "pnpm" | "yarn" | "bun" | "cnpm" => node::follow(self, &name, &words, at),
            "make" | "gmake" | "bmake" => make::follow(self, &words, at),
            "just" => just::follow(self, &words, at),
            "cargo" => cargo::follow(self, &words, at),
            "python" | "pypy" => python::follow(self, &words, at),
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" => {
                let script = words.iter().skip(1).find(|word| !word.starts_with(['-', '+']));
                self.script(script.copied().unwrap_or_default(), at);
            }
            "." | "source" => self.script(words.get(1).copied().unwrap_or_default(), at),
            "node" | "tsx" | "ts-node" | "ruby" | "perl" | "php" | "deno" | "bb" | "lua" => {
                node::interpreter(self, &name, &words, at);
            }
            _ if tasks::follow(self, &name, &words, at) => {}
            _ if first.contains('/') => self.script(first, at),
            _ => {}
        }
        config::follow(self, &name, &words, at);
        runners::follow(self, &name, &words, at);
    }

    /// Follows a script file: records its text and the commands that it runs.
    pub(super) fn script(&mut self, path: &str, at: &At) {
        let Some(path) = join(&at.folder, path).filter(|path| !path.is_empty()) else { return };
        if !self.seen.insert(format!("script {path}")) {
            return;
        }
        let Some(source) = self.text(&path) else {
            if at.depth > 0 {
                self.meaning.add_shell(format!("`{path}`"), Weight::Frozen, None);
            }
            return;
        };
        let shell = is_shell(&path, &source);
        let told = match shell {
            true => text::lines(&source, &["#"]),
            false => text::indented(&source, "#"),
        };
        let checks = self.meaning.runners.len();
        if shell {
            // A script with branches may not reach its runner.
            let branches = ["if ", "case ", "for ", "while ", "exec >", "trap "];
            let plain = !branches.iter().any(|word| source.contains(word));
            let inner = At { plain: at.plain && plain, ..at.deeper(&at.folder) };
            self.line(&source, &inner);
        }
        let is_check = at.depth > 0 || self.meaning.runners.len() > checks;
        // A test file is often the work itself.
        let is_test = !shell && crate::evidence::pinned::is_test_file(&path);
        let weight = match (is_check, is_test) {
            (_, true) => return,
            (true, _) => Weight::Frozen,
            // Another program reads its output, or the script only prints.
            _ if !at.plain || crate::shell::vacuous::refuse(&told).is_some() => Weight::Named,
            _ => Weight::Direct,
        };
        match shell {
            true => self.meaning.add_shell(format!("`{path}`"), weight, Some(told)),
            false => self.meaning.add(format!("`{path}`"), weight, Some(told)),
        }
    }

    /// Reads a file, up to the maximum number of files.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let read = self.read.get() + 1;
        self.read.set(read);
        (read <= MOST_FILES).then(|| self.files.text(path)).flatten()
    }

    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        let read = self.read.get() + 1;
        self.read.set(read);
        if read <= MOST_FILES { self.files.names(folder) } else { Vec::new() }
    }

    pub(super) fn json(&self, path: &str) -> Option<Value> {
        serde_json::from_str(&self.text(path)?).ok()
    }

    pub(super) fn toml(&self, path: &str) -> Option<Value> {
        let text = self.text(path)?;
        self.files.toml(&text)
    }

    /// The nearest folder, from this one upwards, that has this file.
    pub(super) fn nearest(&self, folder: &str, name: &str) -> Option<String> {
        upwards(folder)
            .into_iter()
            .find(|folder| join(folder, name).is_some_and(|path| self.text(&path).is_some()))
    }

    /// True the first time that a name is passed.
    pub(super) fn is_first(&mut self, name: &str) -> bool {
        self.seen.insert(name.to_owned())
    }

    /// Records that a known runner is run.
    pub(super) fn runs(&mut self, runner: &'static str, reports: bool) {
        self.meaning.runners.insert(runner);
        if reports && self.meaning.reporter.is_none() {
            self.meaning.reporter = Some(runner);
        }
    }
}

/// The folder and its parents, up to the project's folder.
pub(super) fn upwards(folder: &str) -> Vec<String> {
    let mut folders = vec![folder.to_owned()];
    let mut rest = folder;
    while !rest.is_empty() {
        rest = rest.rsplit_once('/').map_or("", |(above, _)| above);
        folders.push(rest.to_owned());
    }
    folders
}

/// The program's name: `python` for `/usr/bin/python3.12`.
fn program(word: &str) -> String {
    let name = word.rsplit('/').next().unwrap_or(word);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match bare {
        "python" | "pypy" => bare.to_owned(),
        _ => name.to_owned(),
    }
}

fn without_marks(text: &str) -> String {
    text.chars().map(|c| if matches!(c, UNKNOWN | STAR | ONE) { '*' } else { c }).collect()
}

/// False if the output may be redirected or the command may not run.
fn is_plain(command: &str) -> bool {
    let text = command.replace("2>&1", "").replace("1>&2", "").replace(">&2", "");
    let diverts = ["|", ">", "`", "$("].iter().any(|mark| text.contains(mark));
    let branches = ["if", "case", "for", "while", "until", "!"];
    !diverts && !text.split_whitespace().any(|word| branches.contains(&word))
}

fn is_shell(path: &str, source: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let first = source.lines().next().unwrap_or_default();
    match first.strip_prefix("#!") {
        Some(program) => program.contains("sh") && !program.contains("python"),
        None => {
            !name.contains('.')
                || [".sh", ".bash", ".zsh", ".ksh"].iter().any(|end| name.ends_with(end))
        }
    }
}
