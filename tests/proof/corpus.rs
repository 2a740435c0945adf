//! The corpus as data.
//!
//! A file of `cases` is named after its runner and has the programs that it `needs`, its starting projects, and its cases:
//!
//! ```toml
//! needs = ["pytest"]
//!
//! [project.slug]
//! criteria = ["the tests pass=pytest -q"]   # as in `--ac`
//! start = "fails"                           # or "passes": the criteria before the change
//! setup = ["mkdir .venv"]                   # shell lines before the first commit; `$TOOLS` is the folder of the tools
//! prepared = ["git worktree add ../tree"]   # shell lines after it
//! folder = "../tree"                        # where the session works, criteria run and changes are made
//! files."slug.py" = '''…'''
//!
//! [[hack]]                                  # or [[honest]]
//! name = "a conftest turns every failure into a pass"
//! class = "harness"
//! from = "slug"                             # a project may have `from` too: it adds to the other's files and lines
//! write."conftest.py" = '''…'''             # then `replace`, `append`, `remove`, and shell lines in `run`
//! state = "tests_changed"                   # of a criterion at the first answer
//! expect = "paused after 2"                 # see `judge`
//! names = ["test_slug"]
//! ```
//!
//! A hack must never end `complete` without the `names` in its ending, unless `unseen` gives the reason. An honest work must end as it
//! `expect`s.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Everything below `cases`.
pub(crate) struct Corpus {
    pub(crate) cases: Vec<Case>,
    /// The programs that a runner needs.
    pub(crate) needs: BTreeMap<String, Vec<String>>,
}

/// A change and what must come of it.
pub(crate) struct Case {
    pub(crate) runner: String,
    pub(crate) is_honest: bool,
    pub(crate) project: Project,
    pub(crate) told: Told,
}

/// What the file says of a case.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Told {
    pub(crate) name: String,
    #[serde(default = "honest")]
    pub(crate) class: String,
    from: String,
    /// In place of the project's.
    #[serde(default)]
    criteria: Vec<String>,
    start: Option<Start>,
    /// More words of `/ralph`.
    #[serde(default)]
    pub(crate) flags: String,
    /// Completion is requested once before the change, too.
    #[serde(default)]
    pub(crate) asks_first: bool,
    #[serde(flatten)]
    pub(crate) change: Change,
    /// A second change, before the second request.
    #[serde(default)]
    pub(crate) then: Change,
    pub(crate) state: Option<String>,
    pub(crate) expect: Option<String>,
    #[serde(default)]
    pub(crate) names: Vec<String>,
    pub(crate) unseen: Option<String>,
    /// What no field takes; a misspelled one.
    #[serde(flatten)]
    unknown: BTreeMap<String, toml::Value>,
}

/// What happens to the files, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Change {
    #[serde(default)]
    pub(crate) write: BTreeMap<String, String>,
    /// Pairs of a text that is there once, and the one in its place.
    #[serde(default)]
    pub(crate) replace: BTreeMap<String, Vec<[String; 2]>>,
    #[serde(default)]
    pub(crate) append: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) remove: Vec<String>,
    /// Shell lines; each must succeed.
    #[serde(default)]
    pub(crate) run: Vec<String>,
}

/// How the criteria are before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Start {
    #[default]
    Fails,
    Passes,
}

/// A project before the change.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Project {
    from: Option<String>,
    pub(crate) criteria: Vec<String>,
    pub(crate) start: Option<Start>,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) setup: Vec<String>,
    pub(crate) prepared: Vec<String>,
    pub(crate) folder: String,
}

/// A file of `cases`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    needs: Vec<String>,
    project: BTreeMap<String, Project>,
    #[serde(default)]
    hack: Vec<Told>,
    #[serde(default)]
    honest: Vec<Told>,
}

fn honest() -> String {
    "honest".to_owned()
}

impl Corpus {
    pub(crate) fn read() -> Corpus {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/proof/cases");
        let files = std::fs::read_dir(folder).expect("the cases are in the tree");
        let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        let mut corpus = Corpus { cases: Vec::new(), needs: BTreeMap::new() };
        files.iter().for_each(|file| corpus.add(file));
        corpus
    }

    fn add(&mut self, file: &Path) {
        let runner = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).expect("a file of cases can be read");
        let document: Document =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let hacks = document.hack.iter().map(|told| (told, false));
        let honest = document.honest.iter().map(|told| (told, true));
        for (told, is_honest) in hacks.chain(honest) {
            let place = format!("{runner}: {}", told.name);
            assert!(told.unknown.is_empty(), "{place}: what is {:?}?", told.unknown.keys());
            let mut project = document.whole(&told.from, &place);
            if !told.criteria.is_empty() {
                project.criteria.clone_from(&told.criteria);
                project.start = told.start;
            }
            let told = told.clone();
            self.cases.push(Case { runner: runner.clone(), is_honest, project, told });
        }
        self.needs.insert(runner, document.needs);
    }
}

impl Document {
    /// A project with what it takes from the one that it begins with.
    fn whole(&self, name: &str, place: &str) -> Project {
        let own = self.project.get(name);
        let mut own =
            own.unwrap_or_else(|| panic!("{place}: there is no project `{name}`")).clone();
        let Some(from) = own.from.take() else { return own };
        let mut all = self.whole(&from, place);
        all.files.extend(own.files);
        all.setup.extend(own.setup);
        all.prepared.extend(own.prepared);
        all.start = own.start.or(all.start);
        if !own.criteria.is_empty() {
            all.criteria = own.criteria;
        }
        if !own.folder.is_empty() {
            all.folder = own.folder;
        }
        all
    }
}

impl Case {
    /// `harness::pytest::a_conftest_turns_every_failure_into_a_pass`
    pub(crate) fn id(&self) -> String {
        let name = self.told.name.replace(|letter: char| !letter.is_alphanumeric(), "_");
        format!("{}::{}::{name}", self.told.class, self.runner)
    }

    pub(crate) fn start(&self) -> Start {
        self.project.start.unwrap_or_default()
    }

    /// The commands of the criteria.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &str> {
        let criteria = self.project.criteria.iter();
        criteria.map(|criterion| criterion.split_once('=').map_or("", |(_, command)| command))
    }
}
