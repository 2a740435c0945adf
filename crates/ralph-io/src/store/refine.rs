//! What refinement stores: the document in the project, the copy that a round edits, and locks and
//! plan versions in Ralph's home; and the prompts that a project provides for it.
//!
//! The document belongs to the project and may be shared. Which refinement runs on this machine is
//! shown by a lock, which the system releases when its holder dies. Each version's text is a file
//! named after its digest, written before the list names it. So a readable list names only existing
//! files, and a repeated text is stored once.

mod commit;

pub use commit::Commits;

use crate::project::{confined, safe_read, user_files};
use crate::store::document::Document;
use crate::store::home::Home;
use crate::store::lock::Lock;
use crate::store::{atomic, lock};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use ralph_core::modes::refine::prompt::PLACES;
use ralph_core::modes::refine::state::{DOCUMENT, KeptVersion, RefineDocument, What};
use ralph_core::text::hex::sha256;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The document has about a page for each refinement.
const LARGEST: u64 = 16 << 20;

/// Nobody writes a larger plan by hand.
pub const LARGEST_PLAN: u64 = 16 << 20;

/// Where a project's refinements are stored.
#[derive(Debug, Clone)]
pub struct RefineStore {
    root: PathBuf,
    folder: PathBuf,
}

impl RefineStore {
    /// The store of the project with this top folder.
    pub fn open(home: &Home, project_root: &Path) -> RefineStore {
        let root = user_files::real(project_root).unwrap_or_else(|| project_root.to_owned());
        let folder = home.root().join("refine").join(short(root.as_os_str().as_bytes()));
        RefineStore { root, folder }
    }

    /// The top of the project, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates the folder in Ralph's home.
    pub fn prepare(&self, home: &Home) -> Result<()> {
        home.prepare()?;
        user_files::make_folders(&self.folder, 0o700).map(drop)
    }

    /// Reads the document with all refinements.
    ///
    /// # Errors
    /// If the document exists but cannot be read; it is left as it is.
    pub fn document(&self) -> Result<RefineDocument> {
        Ok(self.file().read()?.unwrap_or_default())
    }

    fn file(&self) -> Document<RefineDocument> {
        Document {
            path: self.root.join(DOCUMENT),
            lock: self.folder.join("document"),
            read: |path| Ok(safe_read::text(path, LARGEST)?.map(String::into_bytes)),
            parse: |_, bytes| Ok(RefineDocument::parse(&String::from_utf8_lossy(bytes))?),
            render: |document| Ok(document.render().into_bytes()),
        }
    }

    /// Reads, changes and writes the document under its lock. If `change` fails, nothing is
    /// written.
    ///
    /// # Errors
    /// If the document cannot be read or written, or leads out of the project; and the errors of
    /// `change`.
    pub fn update<T>(&self, change: impl FnOnce(&mut RefineDocument) -> Result<T>) -> Result<T> {
        let file = self.file();
        file.update(|document| {
            let before = document.clone();
            let done = change(document)?;
            if *document != before {
                make_inside(&self.root, file.path.parent().context("it has no folder")?)?;
            }
            Ok(done)
        })
    }

    /// Takes the lock of the running refinement of this plan, or of the tasks if it is empty. `None`
    /// if another process holds it.
    pub fn hold(&self, plan_file: &str) -> Result<Option<Lock>> {
        let path = self.at(plan_file);
        // A process that only asks whether the lock is held takes it for a moment.
        match lock::take(&path, Duration::from_millis(300)) {
            Ok(lock) => Ok(Some(lock)),
            // With a lock file, the only likely error is that another process holds the lock.
            Err(_) if path.with_extension("lock").is_file() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The path that a round locks as long as its client is alive.
    pub fn round(&self, plan_file: &str) -> PathBuf {
        self.folder.join(format!("round-{}", artefact(plan_file)))
    }

    /// True if a refinement of this plan is running now.
    pub fn is_held(&self, plan_file: &str) -> bool {
        let path = self.at(plan_file);
        // A reader creates no file; without the file nobody ever held the lock.
        path.with_extension("lock").is_file() && lock::take_existing(&path, Duration::ZERO).is_err()
    }

    fn at(&self, plan_file: &str) -> PathBuf {
        self.folder.join(format!("at-{}", artefact(plan_file)))
    }

    /// The versions of a refinement's plan.
    pub fn versions(&self, session: &str) -> Versions {
        Versions { folder: self.folder_of(session) }
    }

    fn folder_of(&self, session: &str) -> PathBuf {
        self.folder.join(short(session.as_bytes()))
    }

    /// Stores the tasks as a round found them, for the process that ends the round.
    pub fn keep_tasks(&self, session: &str, found: &str) -> Result<()> {
        let folder = self.folder_of(session);
        user_files::make_folders(&folder, 0o700)?;
        atomic::write(&folder.join("found.json"), found.as_bytes())
    }

    /// The stored tasks; `None` if they are gone.
    pub fn kept_tasks(&self, session: &str) -> Option<String> {
        safe_read::text(&self.folder_of(session).join("found.json"), LARGEST).ok().flatten()
    }

    /// The copy that a round edits instead of the plan.
    pub fn copy(&self, session: &str, plan: &Path) -> Copy {
        let name = plan.file_name().map_or_else(|| "plan.md".into(), ToOwned::to_owned);
        let folder = self.root.join(".omc/refine").join(short(session.as_bytes()));
        Copy { root: self.root.clone(), path: folder.join(name) }
    }

    /// The name of a plan in the document, and the file itself. The name is relative to the top of
    /// the project if the resolved file is below it.
    ///
    /// # Errors
    /// If there is no such file, or it is not text.
    pub fn plan(&self, path: &Path) -> Result<(String, PathBuf)> {
        let shown = path.display();
        let missing = || format!("could not find the plan `{shown}`; name an existing file");
        let real = user_files::real(path).with_context(missing)?;
        safe_read::text(&real, LARGEST_PLAN)?.with_context(missing)?;
        let name = real.strip_prefix(&self.root).unwrap_or(&real);
        let name = name.to_str().with_context(|| format!("the name of `{shown}` is not UTF-8"))?;
        Ok((name.to_owned(), real.clone()))
    }
}

/// What stands for a plan, or for the tasks, in the name of a lock.
fn artefact(plan_file: &str) -> String {
    let mode = if plan_file.is_empty() { "beads" } else { "plan" };
    short(format!("\"{mode}\"{plan_file}").as_bytes())
}

/// A name that is valid in any folder: equal for equal bytes only.
fn short(bytes: &[u8]) -> String {
    sha256(bytes)[..32].to_owned()
}

/// Creates a folder in the project, and refuses one that leads out of it: a repository may contain
/// a link.
fn make_inside(root: &Path, folder: &Path) -> Result<()> {
    user_files::make_folders(folder, 0o755)?;
    let real = user_files::real(folder);
    let top = user_files::real(root);
    if !real.zip(top).is_some_and(|(real, top)| real.starts_with(top)) {
        bail!("`{}` leads out of the project; remove that link first", folder.display());
    }
    Ok(())
}

/// The versions of one refinement.
#[derive(Debug, Clone)]
pub struct Versions {
    folder: PathBuf,
}

impl Versions {
    /// All versions, oldest first.
    pub fn list(&self) -> Result<Vec<KeptVersion>> {
        let path = self.folder.join("versions.json");
        let Some(text) = safe_read::text(&path, LARGEST)? else { return Ok(Vec::new()) };
        serde_json::from_str(&text)
            .with_context(|| format!("could not read `{}`; move it away", path.display()))
    }

    /// Stores a text of a round, 0 for none, and returns its number. A text that equals the last
    /// version gets that version's number.
    pub fn keep(&self, text: &str, round: u32, what: What, at: Timestamp) -> Result<u32> {
        let mut list = self.list()?;
        let sha256 = sha256(text);
        let last = list.last().filter(|last| last.sha256 == sha256);
        if let Some(last) = last.filter(|_| what != What::Aside) {
            return Ok(last.number);
        }
        user_files::make_folders(&self.folder, 0o700)?;
        let path = self.text_file(&sha256);
        if !path.is_file() {
            atomic::write(&path, text.as_bytes())?;
        }
        let number = list.last().map_or(0, |last| last.number) + 1;
        list.push(KeptVersion { number, round, what, at, sha256 });
        let text = serde_json::to_string_pretty(&list).context("could not write the versions")?;
        atomic::write(&self.folder.join("versions.json"), text.as_bytes())?;
        Ok(number)
    }

    /// The text that this round made, if it became the plan.
    pub fn of_round(&self, round: u32) -> Result<Option<String>> {
        let list = self.list()?;
        let made = list.iter().rev().find(|one| one.what == What::Round && one.round == round);
        made.map(|made| self.text(made)).transpose()
    }

    /// The text of a version.
    ///
    /// # Errors
    /// If the file is gone, or does not match its digest.
    pub fn text(&self, version: &KeptVersion) -> Result<String> {
        let path = self.text_file(&version.sha256);
        let text = safe_read::text(&path, LARGEST_PLAN)?
            .with_context(|| format!("could not find `{}`", path.display()))?;
        if sha256(&text) != version.sha256 {
            bail!("`{}` is not what it was", path.display());
        }
        Ok(text)
    }

    fn text_file(&self, sha256: &str) -> PathBuf {
        // Users can edit the list, so a name in it is never used as a path.
        let name: String = sha256.chars().filter(char::is_ascii_hexdigit).collect();
        self.folder.join(format!("{name}.md"))
    }
}

/// The copy that a round edits instead of the plan.
///
/// With a separate file, the round's changes and the user's own changes during the round can be
/// told apart. The copy is in the project, where the client may write, and in a folder that no
/// receipt covers.
#[derive(Debug, Clone)]
pub struct Copy {
    root: PathBuf,
    path: PathBuf,
}

impl Copy {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path from the top of the project.
    pub fn name(&self) -> String {
        self.path.strip_prefix(&self.root).unwrap_or(&self.path).to_string_lossy().into_owned()
    }

    /// Writes the copy, and replaces a leftover one.
    ///
    /// # Errors
    /// If it cannot be written, or its folder leads out of the project.
    pub fn make(&self, text: &str) -> Result<()> {
        make_inside(&self.root, self.path.parent().context("it has no folder")?)?;
        atomic::write(&self.path, text.as_bytes())
    }

    /// The text of the copy; `None` if it is gone, or not text.
    pub fn text(&self) -> Option<String> {
        safe_read::text(&self.path, LARGEST_PLAN).ok().flatten()
    }

    /// Removes the copy, and the folders that are empty then. Other files of a round stay.
    pub fn remove(&self) -> Result<()> {
        if self.path.symlink_metadata().is_ok() {
            std::fs::remove_file(&self.path)
                .with_context(|| format!("could not remove `{}`", self.path.display()))?;
        }
        let below = |folder: &&Path| folder.starts_with(&self.root) && **folder != *self.root;
        for folder in self.path.ancestors().skip(1).take_while(below) {
            if !user_files::remove_empty_folder(folder) {
                break;
            }
        }
        Ok(())
    }
}

/// Longer than any prompt that was written to be read.
const LARGEST_PROMPT: u64 = 64 << 10;

/// The project's own prompt of this name, from the first folder that has one: its path from the top of
/// the project, and its text for a model. Nothing in it is executed, and no link may lead out of the
/// project.
///
/// # Errors
/// If that file is not readable text inside the project. Later folders are then not tried.
pub fn brought(root: &Path, name: &str) -> Result<Option<(String, String)>> {
    let top = user_files::real(root).unwrap_or_else(|| root.to_owned());
    for place in PLACES {
        let file = format!("{place}/{name}.md");
        let path = top.join(&file);
        match path.symlink_metadata() {
            Ok(_) => {}
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                continue;
            }
            Err(error) => return Err(error).with_context(|| format!("could not read `{file}`")),
        }
        let real = confined::real(&top, &path)
            .with_context(|| format!("`{file}` is a link that leads out of the project"))?;
        let text = safe_read::text(&real, LARGEST_PROMPT)?;
        let text = text.with_context(|| format!("could not read `{file}`"))?;
        return Ok(Some((file, text)));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use jiff::Timestamp;
    use ralph_core::modes::refine::RefineSettings;
    use ralph_core::modes::refine::state::{Damaged, Refinement};
    use std::os::unix::fs::symlink;

    fn place(at: &Sandbox) -> RefineStore {
        let home = Home::at(at.path("home"));
        at.write("top/plan.md", "one\n");
        let place = RefineStore::open(&home, &at.path("top"));
        place.prepare(&home).unwrap();
        place
    }

    fn session() -> Refinement {
        Refinement::new("", RefineSettings::default(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn sessions_are_added_to_one_document_and_a_refusal_writes_nothing() {
        let at = Sandbox::folder();
        let place = place(&at);
        let put = |name: &str| place.update(|document| Ok(document.put(name, session())?));
        put("a|b&c").unwrap();
        put("other").unwrap();
        let names: Vec<String> =
            place.document().unwrap().sessions().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["a|b&c", "other"]);
        let refused: Result<()> = place.update(|document| {
            document.put("third", session())?;
            bail!("no")
        });
        assert!(refused.is_err());
        assert_eq!(place.document().unwrap().sessions().count(), 2);
        at.write("top/.claude/refine-sessions.json", "{");
        assert!(put("a").unwrap_err().is::<Damaged>());
        let text = std::fs::read_to_string(at.path("top/.claude/refine-sessions.json")).unwrap();
        assert_eq!(text, "{");
    }

    #[test]
    fn a_document_that_leads_out_of_the_project_is_not_written() {
        let at = Sandbox::folder();
        let place = place(&at);
        at.write("elsewhere/x", "");
        symlink("../elsewhere", at.path("top/.claude")).unwrap();
        let why = place.update(|document| Ok(document.put("a", session())?)).unwrap_err();
        assert!(why.to_string().contains("leads out of the project"), "{why}");
        assert!(!at.path("elsewhere/refine-sessions.json").exists());
    }

    #[test]
    fn one_plan_is_held_by_one_whatever_its_name_and_beads_once_in_all() {
        let at = Sandbox::folder();
        let place = place(&at);
        symlink("plan.md", at.path("top/link.md")).unwrap();
        let by_name = |name: &str| place.plan(&at.path(name)).unwrap().0;
        assert_eq!(
            (by_name("top/plan.md"), by_name("top/link.md")),
            ("plan.md".into(), "plan.md".into())
        );
        assert!(!place.is_held("plan.md"));
        let held = place.hold("plan.md").unwrap().unwrap();
        assert!(place.hold("plan.md").unwrap().is_none());
        assert!(place.is_held("plan.md") && !place.is_held("b.md"));
        assert!(place.hold("b.md").unwrap().is_some());
        let tasks = place.hold("").unwrap();
        assert!(tasks.is_some() && place.hold("").unwrap().is_none());
        drop(held);
        assert!(!place.is_held("plan.md"));
    }

    #[test]
    fn a_plan_that_is_not_there_or_is_no_text_is_refused() {
        let at = Sandbox::folder();
        let place = place(&at);
        std::fs::write(at.path("top/bytes"), [0xff, 0xfe]).unwrap();
        for (name, expected) in [
            ("top/none.md", "could not find the plan"),
            ("top/bytes", "not UTF-8"),
            ("top", "regular"),
        ] {
            let why = format!("{:#}", place.plan(&at.path(name)).unwrap_err());
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn each_text_is_kept_once_in_a_row_and_found_again() {
        let at = Sandbox::folder();
        let versions = Versions { folder: at.path("v") };
        assert_eq!(versions.list().unwrap(), []);
        let keep =
            |text, round, what| versions.keep(text, round, what, Timestamp::UNIX_EPOCH).unwrap();
        let numbers = [
            keep("one", 1, What::Found),
            keep("two", 1, What::Round),
            keep("two", 2, What::Found),
            keep("one", 2, What::Round),
            keep("one", 2, What::Aside),
        ];
        assert_eq!(numbers, [1, 2, 2, 3, 4]);
        let list = versions.list().unwrap();
        let texts: Vec<String> = list.iter().map(|one| versions.text(one).unwrap()).collect();
        assert_eq!(texts, ["one", "two", "one", "one"]);
    }

    #[test]
    fn a_text_that_was_changed_is_not_taken_for_the_version() {
        let at = Sandbox::folder();
        let versions = Versions { folder: at.path("v") };
        versions.keep("one", 1, What::Found, Timestamp::UNIX_EPOCH).unwrap();
        let version = versions.list().unwrap().remove(0);
        at.write(&format!("v/{}.md", version.sha256), "another");
        assert!(versions.text(&version).unwrap_err().to_string().contains("is not what it was"));
        at.write("outside.md", "x");
        let wrong = KeptVersion { sha256: "../outside".to_owned(), ..version };
        assert!(versions.text(&wrong).is_err());
    }

    #[test]
    fn the_first_place_counts_and_what_is_no_text_of_the_project_is_refused() {
        let at = Sandbox::folder();
        let root = at.path("top");
        at.write("top/x", "");
        assert_eq!(brought(&root, "a").unwrap(), None);
        at.write("top/scripts/refine/prompts/a.md", "second");
        assert_eq!(brought(&root, "a").unwrap().unwrap().1, "second");
        at.write("top/.claude/refine/prompts/a.md", "first");
        let first = (".claude/refine/prompts/a.md".to_owned(), "first".to_owned());
        assert_eq!(brought(&root, "a").unwrap(), Some(first));
        at.write("secret", "s");
        at.write("top/inside", "i");
        let place = root.join(".claude/refine/prompts");
        symlink("../../../../secret", place.join("out.md")).unwrap();
        symlink("../../../inside", place.join("in.md")).unwrap();
        symlink("nowhere", place.join("none.md")).unwrap();
        std::fs::create_dir(place.join("folder.md")).unwrap();
        std::fs::write(place.join("binary.md"), [0xff, 0xfe]).unwrap();
        std::fs::write(place.join("large.md"), vec![b'x'; 65 << 10]).unwrap();
        assert_eq!(brought(&root, "in").unwrap().unwrap().1, "i");
        for (name, why) in [
            ("out", "leads out of the project"),
            ("none", "leads out of the project"),
            ("folder", "not a regular file"),
            ("binary", "not UTF-8"),
            ("large", "larger than 64 KiB"),
        ] {
            let error = format!("{:#}", brought(&root, name).unwrap_err());
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
