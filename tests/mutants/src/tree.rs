//! The copy of the tree in which the mutants are, and its build. It is kept, so that only what differs is compiled again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::play::Suite;
use crate::rewrite::rewrite;
use crate::{Mutant, Outcome, words};

pub struct Tree {
    /// Of everything that is kept between runs.
    pub folder: PathBuf,
    packages: Vec<String>,
    tests: Vec<String>,
    /// The sources in which mutants may be.
    texts: BTreeMap<String, String>,
}

/// What a build gave: the tests, or the mutants that did not compile.
pub enum Built {
    Suites(Vec<Suite>),
    Without(BTreeSet<u32>),
}

impl Tree {
    pub fn new(folder: &Path, packages: &BTreeSet<&str>, tests: &[String]) -> Tree {
        let packages = packages.iter().map(|&package| package.to_owned()).collect();
        Tree {
            folder: folder.to_owned(),
            packages,
            tests: tests.to_owned(),
            texts: BTreeMap::new(),
        }
    }

    fn root(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Copies the files of the repository as they are now.
    pub fn copy(&mut self) -> Outcome<()> {
        let listed = words("git", &["ls-files", "-z", "-co", "--exclude-standard"])?;
        let files: BTreeSet<&str> = listed.split('\0').filter(|file| !file.is_empty()).collect();
        let sources = self.packages.iter().map(|package| format!("crates/{package}/src/"));
        let sources: Vec<String> = sources.collect();
        for file in &files {
            let copy = self.root().join(file);
            let Ok(kind) = fs::symlink_metadata(file) else { continue };
            let is_source = sources.iter().any(|sources| file.starts_with(sources));
            if is_source && file.ends_with(".rs") {
                self.texts.insert((*file).to_owned(), fs::read_to_string(file)?);
            } else if kind.is_symlink() {
                let to = fs::read_link(file)?;
                if fs::read_link(&copy).ok().as_ref() != Some(&to) {
                    remove(&copy);
                    fs::create_dir_all(copy.parent().ok_or("a file is in a folder")?)?;
                    std::os::unix::fs::symlink(to, &copy)?;
                }
            } else {
                put(&copy, &fs::read(file)?)?;
                fs::set_permissions(&copy, kind.permissions())?;
            }
        }
        put(&self.folder.join("switch.rs"), include_bytes!("switch.rs"))?;
        self.forget(&files)
    }

    /// Writes these mutants into the copy, and returns those that could be given a switch.
    pub fn write(&self, mutants: &[(u32, &Mutant)], places: &mut Places) -> Outcome<BTreeSet<u32>> {
        let mut switched = Vec::new();
        places.0.clear();
        for (file, text) in &self.texts {
            let here: Vec<_> =
                mutants.iter().filter(|(_, mutant)| mutant.file == *file).copied().collect();
            let mut text = text.clone();
            if !here.is_empty() {
                let rewritten = rewrite(&text, &here, &mut switched)?;
                text = rewritten.text;
                places.0.insert(file.clone(), rewritten.places);
            }
            if file.ends_with("/src/lib.rs") {
                let switch = self.folder.join("switch.rs");
                text += &format!("\n#[path = {switch:?}]\npub mod mutant;\n");
            }
            put(&self.root().join(file), text.as_bytes())?;
        }
        Ok(switched.into_iter().collect())
    }

    /// Removes what an earlier tree had.
    fn forget(&self, files: &BTreeSet<&str>) -> Outcome<()> {
        let kept = self.folder.join("files");
        for file in fs::read_to_string(&kept).unwrap_or_default().lines() {
            if !files.contains(file) {
                remove(&self.root().join(file));
            }
        }
        let listed: Vec<&str> = files.iter().copied().collect();
        Ok(fs::write(kept, listed.join("\n"))?)
    }

    /// Compiles the tests, and what they start.
    pub fn build(&self, places: &Places) -> Outcome<Built> {
        let test = ["test", "--no-run"];
        // The whole workspace, as these would be built without us: a library has the features that all its users ask for.
        let whole = [&test[..], &["--workspace"]].concat();
        let packages: Vec<&str> =
            self.packages.iter().flat_map(|package| ["--package", package]).collect();
        let mut commands = Vec::new();
        for tests in &self.tests {
            commands.push(match tests.as_str() {
                "lib" => [&test[..], &["--lib"], &packages].concat(),
                suite => [&whole[..], &["--test", suite]].concat(),
            });
        }
        if self.tests != ["lib"] {
            commands.push(vec!["build", "--workspace", "--bins"]);
        }
        let mut all = Vec::new();
        for command in commands {
            let (built, messages) = self.cargo(&command)?;
            if !built {
                let errors = messages.iter().map(|row| &row["message"]);
                let errors: Vec<_> = errors.filter(|error| error["level"] == "error").collect();
                let without: BTreeSet<u32> =
                    errors.iter().flat_map(|error| places.named(error)).collect();
                if without.is_empty() {
                    let told = errors.iter().filter_map(|error| error["rendered"].as_str());
                    told.for_each(|error| eprintln!("{error}"));
                    return Err("the copy does not compile, and no mutant is to blame".into());
                }
                return Ok(Built::Without(without));
            }
            all.extend(messages);
        }
        self.suites(&all).map(Built::Suites)
    }

    /// Whether it succeeded, and its messages.
    fn cargo(&self, arguments: &[&str]) -> Outcome<(bool, Vec<Value>)> {
        let mut command = Command::new("cargo");
        command.current_dir(self.root()).args(arguments);
        command.args(["--locked", "--message-format=json"]);
        command.env("CARGO_TARGET_DIR", self.folder.join("build"));
        command.env("RALPH_MUTANT_FOLDER", self.folder.join("state"));
        command.env("CARGO_INCREMENTAL", "1").env("RUSTFLAGS", "-Awarnings");
        let output = command.stderr(Stdio::inherit()).output()?;
        let lines = String::from_utf8_lossy(&output.stdout);
        let messages = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
        Ok((output.status.success(), messages.collect()))
    }

    fn suites(&self, messages: &[Value]) -> Outcome<Vec<Suite>> {
        let programs = self.folder.join("programs");
        drop(fs::remove_dir_all(&programs));
        fs::create_dir_all(&programs)?;
        let mut suites = BTreeMap::new();
        for message in messages {
            let Some(executable) = message["executable"].as_str().map(Path::new) else { continue };
            let name = message["target"]["name"].as_str().unwrap_or_default();
            let manifest = message["manifest_path"].as_str().unwrap_or_default();
            let folder = Path::new(manifest).parent().ok_or("a package is in a folder")?.to_owned();
            let package = self.packages.iter().position(|package| folder.ends_with(package));
            let suite = message["target"]["kind"][0]
                .as_str()
                .map(|kind| if kind == "test" { name } else { kind });
            if message["profile"]["test"] != true {
                let program = executable.file_name().ok_or("a program has a name")?;
                drop(fs::hard_link(executable, programs.join(program)));
            } else if let Some(place) =
                self.tests.iter().position(|asked| Some(asked.as_str()) == suite)
                && (suite != Some("lib") || package.is_some())
            {
                let pure = suite == Some("lib") && folder.ends_with("ralph-core");
                suites.insert(
                    (place, package),
                    Suite { executable: executable.to_owned(), folder, rank: place, pure },
                );
            }
        }
        Ok(suites.into_values().collect())
    }
}

/// Where in the copied files each mutant has text.
#[derive(Default)]
pub struct Places(HashMap<String, Vec<(u32, Range<usize>)>>);

impl Places {
    /// The mutants that an error is about: the smallest text around it, or all text in it, or else the last text before it,
    /// which may have given a function another type.
    fn named(&self, error: &Value) -> BTreeSet<u32> {
        let mut spans: Vec<&Value> = error["spans"].as_array().into_iter().flatten().collect();
        spans.sort_by_key(|span| span["is_primary"] != true);
        for mut span in spans {
            // What a macro made stands where it was called.
            while span["expansion"].is_object() {
                span = &span["expansion"]["span"];
            }
            let places = span["file_name"].as_str().and_then(|file| self.0.get(file));
            let number = |key| span[key].as_u64().unwrap_or_default() as usize;
            let (start, end) = (number("byte_start"), number("byte_end"));
            let places = || places.into_iter().flatten();
            let around = places().filter(|(_, at)| at.start <= start && end <= at.end);
            if let Some((mutant, _)) = around.min_by_key(|(_, at)| at.len()) {
                return BTreeSet::from([*mutant]);
            }
            let within = places().filter(|(_, at)| start <= at.start && at.end <= end);
            let within: BTreeSet<u32> = within.map(|(mutant, _)| *mutant).collect();
            if !within.is_empty() {
                return within;
            }
            if let Some((mutant, _)) =
                places().filter(|(_, at)| at.end <= start).max_by_key(|(_, at)| at.end)
            {
                return BTreeSet::from([*mutant]);
            }
        }
        BTreeSet::new()
    }
}

/// Leaves a file alone that is as it should be: cargo looks at its time.
fn put(path: &Path, bytes: &[u8]) -> Outcome<()> {
    if fs::read(path).ok().as_deref() != Some(bytes) {
        remove(path);
        fs::create_dir_all(path.parent().ok_or("a file is in a folder")?)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

fn remove(path: &Path) {
    drop(fs::remove_file(path).or_else(|_| fs::remove_dir_all(path)));
}
