//! Reads a project from disk for the facts.

use super::ignored::Ignored;
use crate::git::repository::{self, Repository};
use crate::process::Running;
use crate::project::reader::{self, DiskReader};
use ralph_core::project::check::jsonc;
use ralph_core::project::project_facts::{FileFormat, GIT, Project, STATUS, yaml};
use ralph_core::project::reader::{Folder, ProjectReader};
use serde_json::Value;
use std::cell::RefCell;
use std::path::{Component, Path};
use std::time::Instant;

/// The project's folder, which may be below the top of its repository.
#[derive(Debug)]
pub(super) struct Disk {
    files: DiskReader,
    repository: Option<Repository>,
    ignored: Ignored,
    deadline: Instant,
    /// A `git status` that runs meanwhile.
    status: RefCell<Option<Running>>,
}

impl Disk {
    pub(super) fn at(root: &Path, deadline: Instant) -> Disk {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let repository = repository::around(&root);
        let top = repository.as_ref().map_or(&root, |repository| &repository.top).clone();
        let ignored = Ignored::below(&top, repository.clone());
        let files = DiskReader::below(&top, &root);
        Disk { files, repository, ignored, deadline, status: RefCell::default() }
    }

    /// Starts the `git status` that a fact will ask for.
    pub(super) fn begin_status(&self) {
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
        let listing = self.files.list(&place)?;
        let is_cut = listing.is_cut;
        let matchers = self.ignored.matchers_for(&place);
        let mut entries = Vec::new();
        for entry in listing.entries {
            // Some patterns take long to match, and a folder may have thousands of entries.
            if Instant::now() >= self.deadline {
                return None;
            }
            if entry.name != ".git" && !matchers.ignore(&place.join(&entry.name), entry.is_folder) {
                entries.push(reader::entry(entry));
            }
        }
        Some(Folder { entries, is_cut })
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
        FileFormat::Yaml => yaml::read(text),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use ralph_core::project::reader::{EntryKind, FolderEntry};
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
            ("a.yaml", "a: 1\n"),
            ("bad", "a: [1, {"),
        ]);
        let disk = world.disk("");
        for (path, form) in [
            ("a.json", FileFormat::Json),
            ("a.toml", FileFormat::Toml),
            ("a.yaml", FileFormat::Yaml),
        ] {
            assert_eq!(disk.document(path, form), Some(json!({"a": 1})), "{path}");
            assert_eq!(disk.document("bad", form), None);
            assert_eq!(disk.document("none", form), None);
        }
        let deep = "[".repeat(100_000);
        fs::write(world.path("deep"), &deep).unwrap();
        fs::write(world.path("deep.toml"), format!("a = {deep}")).unwrap();
        assert_eq!(disk.document("deep", FileFormat::Json), None);
        assert_eq!(disk.document("deep", FileFormat::Yaml), None);
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
