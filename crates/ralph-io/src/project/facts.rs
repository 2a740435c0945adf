//! Gathers the facts about a project that a session starts with: those of
//! `ralph_core::project::project_facts`, read from disk within a time limit.

use crate::git::repository::{self, Repository};
use crate::process::Running;
use crate::project::confined;
use crate::project::reader::DiskReader;
use ralph_core::project::check::jsonc;
use ralph_core::project::project_facts::{
    BUDGET, ContextSettings, Fact, FactKind, FileFormat, GIT, Project, STATUS,
};
use ralph_core::project::reader::{EntryKind, Folder, ProjectReader};
use ralph_core::text::globs::IgnoreRules;
use serde_json::Value;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

/// The facts about the project in this folder.
pub fn of(root: &Path, choice: &ContextSettings) -> Gathered {
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

/// The project's folder, which may be below the top of its repository.
#[derive(Debug)]
struct Disk {
    files: DiskReader,
    repository: Option<Repository>,
    ignored: Ignored,
    deadline: Instant,
    /// A `git status` that runs meanwhile.
    status: RefCell<Option<Running>>,
}

impl Disk {
    fn at(root: &Path, deadline: Instant) -> Disk {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let repository = repository::around(&root);
        let top = repository.as_ref().map_or(&root, |repository| &repository.top).clone();
        let ignored = Ignored::below(&top, repository.clone());
        let files = DiskReader::below(&top, &root);
        Disk { files, repository, ignored, deadline, status: RefCell::default() }
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
        if self.ignored.is_below_ignored(&place, self.root()) {
            return None;
        }
        let mut folder = self.files.folder(&place)?;
        let matchers = self.ignored.matchers_for(&place);
        folder.entries.retain(|entry| {
            let is_folder = entry.kind == EntryKind::Folder;
            // Some patterns take long to match, and a folder may have thousands of entries.
            entry.name != ".git"
                && Instant::now() < self.deadline
                && !matchers.ignore(&place.join(&entry.name), is_folder)
        });
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

// The files that git ignores, by the rules of each folder from the top down, `info/exclude`, and
// the user's own.
//
// The nearest rule that matches decides, as in git. Only git itself knows whether an ignored file
// is tracked nonetheless, and it is not asked.

#[derive(Debug)]
struct Ignored {
    top: PathBuf,
    repository: Option<Repository>,
    by_folder: RefCell<BTreeMap<PathBuf, Rc<FolderRules>>>,
    everywhere: OnceCell<[Rc<FolderRules>; 2]>,
}

/// The rules of one file, for the paths below this folder.
#[derive(Debug)]
struct FolderRules {
    folder: PathBuf,
    lines: IgnoreRules,
}

impl FolderRules {
    fn of(folder: &Path, text: Option<&str>) -> FolderRules {
        let lines = text.map(IgnoreRules::parse).unwrap_or_default();
        FolderRules { folder: folder.to_owned(), lines }
    }
}

/// The rules for the entries of one folder, the nearest first.
struct Matchers(Vec<Rc<FolderRules>>);

impl Ignored {
    fn below(top: &Path, repository: Option<Repository>) -> Ignored {
        Ignored {
            top: top.to_owned(),
            repository,
            by_folder: RefCell::default(),
            everywhere: OnceCell::new(),
        }
    }

    /// True if the folder, or one between it and `from`, is ignored.
    fn is_below_ignored(&self, folder: &Path, from: &Path) -> bool {
        let between = folder.ancestors().take_while(|place| *place != from && *place != self.top);
        between.into_iter().any(|place| match place.parent() {
            Some(above) => self.matchers_for(above).ignore(place, true),
            None => false,
        })
    }

    fn matchers_for(&self, folder: &Path) -> Matchers {
        let folders = folder.ancestors().take_while(|place| place.starts_with(&self.top));
        let mut rules: Vec<Rc<FolderRules>> = folders
            .map(|place| self.of_folder(place))
            .filter(|rules| !rules.lines.is_empty())
            .collect();
        rules.extend(self.everywhere().iter().filter(|rules| !rules.lines.is_empty()).cloned());
        Matchers(rules)
    }

    fn of_folder(&self, folder: &Path) -> Rc<FolderRules> {
        let known = self.by_folder.borrow().get(folder).cloned();
        known.unwrap_or_else(|| {
            let text = confined::text(&self.top, &folder.join(".gitignore"));
            let rules = Rc::new(FolderRules::of(folder, text.as_deref()));
            self.by_folder.borrow_mut().insert(folder.to_owned(), Rc::clone(&rules));
            rules
        })
    }

    /// The rules that apply to the whole repository.
    fn everywhere(&self) -> &[Rc<FolderRules>; 2] {
        self.everywhere.get_or_init(|| {
            let of_repository =
                self.repository.as_ref().and_then(|found| found.text("info/exclude"));
            let of_person = repository::persons_excludes();
            [of_repository, of_person]
                .map(|text| Rc::new(FolderRules::of(&self.top, text.as_deref())))
        })
    }
}

impl Matchers {
    fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let decided = self.0.iter().find_map(|rules| {
            let below = path.strip_prefix(&rules.folder).ok()?;
            rules.lines.decide(below.as_os_str().as_bytes(), is_folder)
        });
        decided == Some(true)
    }
}

#[cfg(test)]
mod gather_tests {
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    fn told(_: &dyn Project) -> Option<Fact> {
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
        let kinds = [kind("a", told), kind("b", nothing), kind("c", told)];
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
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/info/exclude", "mine\n"),
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
        ]);
        world.check("", "", ".gitignore keep.log src/");
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
        let world = World::new(&[(".git/HEAD", ""), ("a", ""), ("sub/b", "")]);
        let fifo = std::process::Command::new("mkfifo").arg(world.path(".gitignore")).status();
        assert!(fifo.unwrap().success());
        symlink("/dev/zero", world.path("sub/.gitignore")).unwrap();
        let began = std::time::Instant::now();
        world.check("", "", ".gitignore a sub/");
        world.check("", "sub", ".gitignore@ b");
        assert!(began.elapsed().as_secs() < 1, "{:?}", began.elapsed());
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod ignored_tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::process::{Command, Stdio};

    const LETTERS: [&str; 17] =
        ["a", "b", "a", "b", "*", "*", "**", "?", "/", "/", "[", "]", "!", "-", "^", "\\", " "];
    const PARTS: [&str; 12] = [
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-b]",
        "[]a]",
        "[[:alpha:]]",
        "[[:x:]]",
        "/**/",
        "**/",
        "/**",
        "\\*",
        "[a/b]",
    ];

    /// A pattern that is mostly letters of the names below, by a generator of pseudo-random numbers.
    fn pattern(seed: &mut u64) -> String {
        let mut below = |most: usize| {
            *seed ^= *seed << 13;
            *seed ^= *seed >> 7;
            *seed ^= *seed << 17;
            usize::try_from(*seed % most as u64).unwrap()
        };
        let mut text = ["", "", "", "!", "/", "\\", "#"][below(7)].to_owned();
        for _ in 0..=below(5) {
            text += match below(4) {
                0 => PARTS[below(PARTS.len())],
                _ => LETTERS[below(LETTERS.len())],
            };
        }
        text += ["", "", "", "/", " ", "\\ "][below(6)];
        // Nobody escapes a slash, and git reads `**\/` in a way of its own.
        text.replace("\\/", "/")
    }

    #[test]
    fn git_ignores_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.arg("-C").arg(&top).args(["-c", "core.excludesFile="]).args(arguments);
            command
        };
        assert!(git(&["init", "-q"]).status().unwrap().success());
        let mut paths = Vec::new();
        for name in ["a", "b", "ab", "ba", "a b", "a ", "*", "!a", "-", "]", "[a", "\u{e9}", "#a"] {
            paths.extend([name.to_owned(), format!("d/{name}"), format!("a.d/b/{name}")]);
        }
        for path in &paths {
            fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
            fs::write(top.join(path), "").unwrap();
        }
        for folder in ["d", "a.d", "a.d/b", "bb", "bb/a", "bb/a/a"] {
            fs::create_dir_all(top.join(folder)).unwrap();
            paths.push(folder.to_owned());
        }
        let mut seed = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..400 {
            let text = format!("{}\n{}\n", pattern(&mut seed), pattern(&mut seed));
            fs::write(top.join(".gitignore"), &text).unwrap();
            let mut asked = git(&["check-ignore", "--no-index", "--stdin", "-z"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            asked.stdin.take().unwrap().write_all(paths.join("\0").as_bytes()).unwrap();
            let answer = asked.wait_with_output().unwrap().stdout;
            let theirs: Vec<&str> =
                std::str::from_utf8(&answer).unwrap().split_terminator('\0').collect();
            let ignored = Ignored::below(&top, None);
            let is_ignored = |path: &&&String| {
                let place = top.join(path);
                let is_folder = place.is_dir();
                ignored.is_below_ignored(place.parent().unwrap(), &top)
                    || ignored.matchers_for(place.parent().unwrap()).ignore(&place, is_folder)
            };
            let ours: Vec<&String> = paths.iter().filter(|path| is_ignored(&path)).collect();
            assert_eq!(ours, theirs, "{text:?}");
        }
    }
}
