//! Gathers the facts about a project that a session starts with: those of
//! `ralph_core::project::project_facts`, read from disk within a time limit.

use crate::git::repository::{self, Repository};
use crate::process::Running;
use crate::project::reader::DiskReader;
use ralph_core::project::check::jsonc;
use ralph_core::project::project_facts::{
    BUDGET, ContextSettings, Fact, FactKind, FileFormat, GIT, Project, STATUS,
};
use ralph_core::project::reader::{EntryKind, Folder, ProjectReader};
use serde_json::Value;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

/// The facts about the project in this folder.
pub fn gather_from_disk(root: &Path, choice: &ContextSettings) -> Gathered {
    let deadline = Instant::now() + BUDGET;
    let (disk, kinds) = (Disk::at(root, deadline), choice.kinds());
    if kinds.iter().any(|kind| kind.wants_status) {
        disk.begin_status();
    }
    gather(&disk, &kinds, deadline)
}

// Gathers the facts one after another, until the time for all of them is over.
//
// Only git can take long, and each call of it ends at the same deadline. Its status runs while the
// other facts are gathered.

/// The facts, and the kinds for which no time was left.
#[derive(Debug, Default)]
pub struct Gathered {
    pub facts: Vec<(FactKind, Fact)>,
    pub late: Vec<FactKind>,
}

fn gather(project: &dyn Project, kinds: &[FactKind], deadline: Instant) -> Gathered {
    let mut gathered: Vec<Option<Fact>> = vec![None; kinds.len()];
    let mut is_late = vec![false; kinds.len()];
    let (last, first): (Vec<_>, Vec<_>) =
        (0..kinds.len()).partition(|place| kinds[*place].wants_status);
    for place in first.into_iter().chain(last) {
        is_late[place] = Instant::now() >= deadline;
        if !is_late[place] {
            gathered[place] = (kinds[place].gather)(project);
        }
    }
    let late = kinds.iter().zip(is_late).filter(|(_, is_late)| *is_late);
    let facts = kinds.iter().zip(gathered).filter_map(|(kind, fact)| Some((*kind, fact?)));
    Gathered { facts: facts.collect(), late: late.map(|(kind, _)| *kind).collect() }
}

/// Git is asked about no more names; those beyond are in folders of thousands.
const MOST_ASKED: usize = 50_000;

/// The project's folder, which may be below the top of its repository.
#[derive(Debug)]
struct Disk {
    files: DiskReader,
    repository: Option<Repository>,
    /// What git ignores of the project's two upper levels; `None` if it cannot be asked.
    ignored: OnceCell<Option<BTreeSet<PathBuf>>>,
    deadline: Instant,
    /// A `git status` that runs meanwhile.
    status: RefCell<Option<Running>>,
}

impl Disk {
    fn at(root: &Path, deadline: Instant) -> Disk {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let repository = repository::around(&root);
        let top = repository.as_ref().map_or(&root, |repository| &repository.top).clone();
        let files = DiskReader::below(&top, &root);
        let (ignored, status) = (OnceCell::new(), RefCell::default());
        Disk { files, repository, ignored, deadline, status }
    }

    fn ask_what_is_ignored(&self) -> Option<BTreeSet<PathBuf>> {
        let Some(repository) = &self.repository else { return Some(BTreeSet::new()) };
        let names = |folder: &Path| self.files.folder(folder).unwrap_or_default().entries;
        let root = self.root();
        let (mut asked, mut below) = (vec![root.to_owned()], Vec::new());
        for entry in names(root) {
            let path = root.join(&entry.name);
            let is_own = entry.kind == EntryKind::Folder && entry.name != ".git";
            let entries = if is_own { names(&path) } else { Vec::new() };
            // Git answers nothing about what lies in a submodule.
            if entries.iter().all(|entry| entry.name != ".git") {
                below.extend(entries.iter().map(|entry| path.join(&entry.name)));
            }
            asked.push(path);
        }
        asked.extend(below);
        let limit = GIT.min(self.deadline.saturating_duration_since(Instant::now()));
        let mut ignored = repository.ignored(asked.iter().take(MOST_ASKED), limit)?;
        // Who works in an ignored folder needs to see its content.
        if ignored.contains(root) {
            ignored.clear();
        }
        Some(ignored)
    }

    /// Starts the `git status` that a fact will ask for.
    fn begin_status(&self) {
        *self.status.borrow_mut() = self.repository.as_ref().and_then(|it| it.begin(&STATUS));
    }
}

/// The path, or `None` unless each of its components is a plain name.
fn inside(path: &Path) -> Option<&Path> {
    let leads_out = |part: Component<'_>| !matches!(part, Component::Normal(_));
    (!path.components().any(leads_out)).then_some(path)
}

impl ProjectReader for Disk {
    fn root(&self) -> &Path {
        self.files.root()
    }

    fn text(&self, path: &Path) -> Option<String> {
        let text = self.files.text(inside(path)?)?;
        // The byte order mark only names the encoding.
        Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }

    fn folder(&self, path: &Path) -> Option<Folder> {
        let place = match inside(path)? {
            path if path.as_os_str().is_empty() => self.root().to_owned(),
            path => self.root().join(path),
        };
        let ignored = self.ignored.get_or_init(|| self.ask_what_is_ignored()).as_ref()?;
        if place.ancestors().any(|above| ignored.contains(above)) {
            return None;
        }
        let mut folder = self.files.folder(&place)?;
        folder
            .entries
            .retain(|entry| entry.name != ".git" && !ignored.contains(&place.join(&entry.name)));
        (Instant::now() < self.deadline).then_some(folder)
    }

    fn exists(&self, path: &Path) -> bool {
        self.text(path).is_some() || self.folder(path).is_some()
    }
}

impl Project for Disk {
    fn document(&self, path: &str, form: FileFormat) -> Option<Value> {
        document(&self.text(path.as_ref())?, form)
    }

    fn git_text(&self, path: &str) -> Option<String> {
        self.repository.as_ref()?.text(path)
    }

    fn main_work_tree(&self) -> Option<String> {
        let main = self.repository.as_ref()?.main_work_tree()?;
        Some(main.to_string_lossy().into_owned())
    }

    fn git(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let limit = GIT.min(self.deadline.saturating_duration_since(Instant::now()));
        let begun = (arguments == STATUS).then(|| self.status.take()).flatten();
        match begun {
            Some(begun) => repository::answer(begun, limit),
            None => self.repository.as_ref()?.ask(arguments, limit),
        }
    }
}

/// Parses a text in this format.
pub(crate) fn document(text: &str, form: FileFormat) -> Option<Value> {
    match form {
        FileFormat::Json => jsonc::read(text),
        FileFormat::Toml => toml::from_str(text).ok(),
    }
}

#[cfg(test)]
mod gather_tests {
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    fn one_fact(_: &dyn Project) -> Option<Fact> {
        Some(Fact::line("told"))
    }

    fn nothing(_: &dyn Project) -> Option<Fact> {
        None
    }

    #[test]
    fn facts_keep_their_order_and_those_after_the_deadline_are_late() {
        let kind = |name, gather| FactKind {
            name,
            units: 100,
            on_request: false,
            wants_status: name == "a",
            gather,
        };
        let kinds = [kind("a", one_fact), kind("b", nothing), kind("c", one_fact)];
        let gathered = |deadline| {
            let gathered = gather(&Disk::at(Path::new("/"), deadline), &kinds, deadline);
            let names =
                |kinds: Vec<FactKind>| kinds.iter().map(|kind| kind.name).collect::<String>();
            (
                names(gathered.facts.into_iter().map(|(kind, _)| kind).collect()),
                names(gathered.late),
            )
        };
        let now = Instant::now();
        assert_eq!(gathered(now + Duration::from_secs(60)), ("ac".to_owned(), String::new()));
        assert_eq!(gathered(now), (String::new(), "abc".to_owned()));
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod disk_tests {
    use super::*;
    use ralph_core::project::reader::FolderEntry;
    use serde_json::json;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    struct World {
        folder: tempfile::TempDir,
    }

    impl World {
        fn new(files: &[(&str, &str)]) -> World {
            let world = World { folder: tempfile::tempdir().unwrap() };
            for (path, text) in files {
                let path = world.path(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            world
        }

        fn path(&self, path: &str) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join(path)
        }

        fn disk(&self, root: &str) -> Disk {
            Disk::at(&self.path(root), Instant::now() + GIT)
        }

        fn git(&self, arguments: &[&str]) {
            let mut git = std::process::Command::new("git");
            let done = git.arg("-C").arg(self.path("")).args(arguments).status();
            assert!(done.unwrap().success(), "{arguments:?}");
        }

        /// The names in a folder, with a slash after those of folders.
        #[track_caller]
        fn check(&self, root: &str, folder: &str, expected: &str) {
            let folder = self.disk(root).folder(folder.as_ref());
            let name = |entry: &FolderEntry| match entry.kind {
                EntryKind::Folder => format!("{}/", entry.name),
                EntryKind::File => entry.name.clone(),
                EntryKind::Link => format!("{}@", entry.name),
            };
            let names: Option<Vec<String>> =
                folder.map(|folder| folder.entries.iter().map(name).collect());
            assert_eq!(names.map_or("none".to_owned(), |names| names.join(" ")), expected);
        }
    }

    #[test]
    fn documents_of_every_form_are_read_and_broken_ones_are_absent() {
        let world = World::new(&[
            ("a.json", "\u{feff}{\"a\": 1, /* c */}"),
            ("a.toml", "a = 1\n"),
            ("bad", "a: [1, {"),
        ]);
        let disk = world.disk("");
        for (path, form) in [("a.json", FileFormat::Json), ("a.toml", FileFormat::Toml)] {
            assert_eq!(disk.document(path, form), Some(json!({"a": 1})), "{path}");
            assert_eq!(disk.document("bad", form), None);
            assert_eq!(disk.document("none", form), None);
        }
        let deep = "[".repeat(100_000);
        fs::write(world.path("deep"), &deep).unwrap();
        fs::write(world.path("deep.toml"), format!("a = {deep}")).unwrap();
        assert_eq!(disk.document("deep", FileFormat::Json), None);
        assert_eq!(disk.document("deep.toml", FileFormat::Toml), None);
    }

    #[test]
    fn no_path_leads_out_of_the_project() {
        let world = World::new(&[("out", "x"), ("p/in", "x")]);
        let disk = world.disk("p");
        assert!(disk.text("in".as_ref()).is_some());
        let absolute = world.path("out");
        for path in ["../out", "x/../../out", "./in", absolute.to_str().unwrap()] {
            assert_eq!(disk.text(path.as_ref()), None, "{path}");
        }
    }

    #[test]
    fn what_git_ignores_is_left_out_and_not_entered() {
        let world = World::new(&[
            (".gitignore", "/build/\n*.log\nnode_modules\n# c\n!keep.log\n"),
            ("build/x", ""),
            ("node_modules/a/b", ""),
            ("a.log", ""),
            ("keep.log", ""),
            ("mine", ""),
            ("src/build/x", ""),
            ("src/a.log", ""),
            ("src/keep.log", ""),
            ("src/.gitignore", "!a.log\nkeep.log\n"),
            ("src/node_modules/x", ""),
            ("tracked.log", ""),
            (":odd.log", ""),
            ("sub/.git/HEAD", ""),
            ("sub/a", ""),
        ]);
        world.git(&["init", "-q"]);
        fs::write(world.path(".git/info/exclude"), "mine\n").unwrap();
        world.git(&["add", "-f", "tracked.log"]);
        let object = "1111111111111111111111111111111111111111";
        world.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{object},sub")]);
        world.check("", "", ".gitignore keep.log src/ sub/ tracked.log");
        world.check("", "sub", "a");
        world.check("", "src", ".gitignore a.log build/");
        world.check("", "build", "none");
        world.check("", "node_modules/a", "none");
        world.check("", "none", "none");
        // The same, for a project below the top of its repository.
        world.check("src", "", ".gitignore a.log build/");
        world.check("src", "build", "x");
        // A user who works in an ignored folder needs to see its content.
        world.check("node_modules", "", "a/");
    }

    #[test]
    fn where_git_cannot_say_what_it_ignores_no_folder_is_listed() {
        let world = World::new(&[("a", ""), (".git/HEAD", "nonsense")]);
        world.check("", "", "none");
    }

    #[test]
    fn a_folder_is_not_gone_through_after_the_deadline() {
        let world = World::new(&[("a", "")]);
        assert!(world.disk("").folder("".as_ref()).is_some());
        assert_eq!(Disk::at(&world.path(""), Instant::now()).folder("".as_ref()), None);
    }

    #[test]
    fn links_are_named_and_not_followed_and_names_of_any_bytes_are_shown() {
        use std::os::unix::ffi::OsStrExt;
        let world = World::new(&[("p/b", ""), ("out/x", "")]);
        symlink(".", world.path("p/self")).unwrap();
        symlink("../out", world.path("p/out")).unwrap();
        symlink("l", world.path("p/l")).unwrap();
        fs::write(world.path("p").join(std::ffi::OsStr::from_bytes(b"n\n\xff\x1b")), "").unwrap();
        world.check("p", "", "b l@ n\n\u{fffd}\u{1b} out@ self@");
        world.check("p", "out", "none");
        world.check("p", "l", "none");
    }

    #[test]
    fn patterns_that_are_no_file_or_never_end_hold_nobody_up() {
        let world = World::new(&[("a", ""), ("sub/b", "")]);
        world.git(&["init", "-q"]);
        let fifo = std::process::Command::new("mkfifo").arg(world.path(".gitignore")).status();
        assert!(fifo.unwrap().success());
        symlink("/dev/zero", world.path("sub/.gitignore")).unwrap();
        let began = std::time::Instant::now();
        world.check("", "", "none");
        assert!(began.elapsed() < 2 * GIT, "{:?}", began.elapsed());
    }
}
