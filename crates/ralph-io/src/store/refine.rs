//! What refinement stores: the document in the project, and locks and plan versions in Ralph's
//! home.
//!
//! The document belongs to the project and may be shared. Which refinement runs on this machine is
//! shown by a lock, which the system releases when its holder dies.

mod brought;
mod commit;
mod copy;
mod versions;

pub use brought::{Brought, brought};
pub use commit::Commits;
pub use copy::Copy;
pub use versions::{KeptVersion, NewVersion, Versions, What};

use crate::store::document::Document;
use crate::store::home::Home;
use crate::store::lock::{self, Lock};
use crate::{project::safe_read, project::user_files, store::atomic};
use anyhow::{Context, Result, bail};
use ralph_core::modes::refine::Mode;
use ralph_core::modes::refine::state::{DOCUMENT, Damaged, RefineDocument};
use ralph_core::text::hex::sha256;
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
    pub fn of(home: &Home, project_root: &Path) -> RefineStore {
        let root = user_files::real(project_root).unwrap_or_else(|| project_root.to_owned());
        let folder = home.root().join("refine").join(short(root.as_os_str().as_bytes()));
        RefineStore { root, folder }
    }

    /// The top of the project, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates the folder in Ralph's home.
    ///
    /// # Errors
    /// If it cannot be created.
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

    /// Takes the lock of the running refinement of this plan; `None` if another process holds it.
    ///
    /// # Errors
    /// If the lock cannot be created.
    pub fn hold(&self, mode: &Mode, plan_file: &str) -> Result<Option<Lock>> {
        let path = self.folder.join(format!("at-{}", artefact(mode, plan_file)));
        // A process that only asks whether the lock is held takes it for a moment.
        match lock::take(&path, Duration::from_millis(300)) {
            Ok(lock) => Ok(Some(lock)),
            // With a lock file, the only likely error is that another process holds the lock.
            Err(_) if path.with_extension("lock").is_file() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The path that a round locks as long as its client is alive.
    pub fn round(&self, mode: &Mode, plan_file: &str) -> PathBuf {
        self.folder.join(format!("round-{}", artefact(mode, plan_file)))
    }

    /// True if a refinement of this plan is running now.
    pub fn is_held(&self, mode: &Mode, plan_file: &str) -> bool {
        let path = self.folder.join(format!("at-{}", artefact(mode, plan_file)));
        // A reader creates no file; without the file nobody ever held the lock.
        path.with_extension("lock").is_file() && lock::take_existing(&path, Duration::ZERO).is_err()
    }

    /// The versions of a refinement's plan.
    pub fn versions(&self, session: &str) -> Versions {
        Versions::at(self.folder.join(short(session.as_bytes())))
    }

    /// Stores the findings of a round, for the process that ends the refinement.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn remember(&self, session: &str, found: &str) -> Result<()> {
        let folder = self.folder.join(short(session.as_bytes()));
        user_files::make_folders(&folder, 0o700)?;
        atomic::write(&folder.join("found.json"), found.as_bytes())
    }

    /// The stored findings; `None` if they are gone.
    pub fn remembered(&self, session: &str) -> Option<String> {
        let path = self.folder.join(short(session.as_bytes())).join("found.json");
        safe_read::text(&path, LARGEST).ok().flatten()
    }

    /// The copy that a round edits instead of the plan.
    pub fn copy(&self, session: &str, plan: &Path) -> Copy {
        let name = plan.file_name().map_or_else(|| "plan.md".into(), ToOwned::to_owned);
        let folder = self.root.join(".omc/refine").join(short(session.as_bytes()));
        Copy::at(self.root.clone(), folder, name)
    }
}

/// The name of a plan in the document, and the file itself. The name is relative to the top of the
/// project if the resolved file is below it.
///
/// # Errors
/// If there is no such file, or it is not text.
pub fn plan(place: &RefineStore, path: &Path) -> Result<(String, PathBuf)> {
    let shown = path.display();
    let real = user_files::real(path)
        .with_context(|| format!("could not find the plan `{shown}`; name an existing file"))?;
    if safe_read::text(&real, LARGEST_PLAN)?.is_none() {
        bail!("could not find the plan `{shown}`; name an existing file");
    }
    let name = real.strip_prefix(&place.root).unwrap_or(&real);
    let name = name.to_str().with_context(|| format!("the name of `{shown}` is not UTF-8"))?;
    Ok((name.to_owned(), real.clone()))
}

/// True for the error of a document that is damaged, newer than this Ralph, or not ours to change.
pub fn is_damaged(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Damaged>().is_some()
}

fn artefact(mode: &Mode, plan_file: &str) -> String {
    let mut bytes = serde_json::to_vec(mode).unwrap_or_default();
    if *mode != Mode::Beads {
        bytes.extend_from_slice(plan_file.as_bytes());
    }
    short(&bytes)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use jiff::Timestamp;
    use ralph_core::modes::refine::RefineSettings;
    use ralph_core::modes::refine::state::Refinement;
    use std::os::unix::fs::symlink;

    fn place(at: &Sandbox) -> RefineStore {
        let home = Home::at(at.path("home"));
        at.write("top/plan.md", "one\n");
        let place = RefineStore::of(&home, &at.path("top"));
        place.prepare(&home).unwrap();
        place
    }

    fn session() -> Refinement {
        Refinement::new(Mode::Beads, "", RefineSettings::default(), Timestamp::UNIX_EPOCH)
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
        assert!(is_damaged(&put("a").unwrap_err()));
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
        let by_name = |name: &str| plan(&place, &at.path(name)).unwrap().0;
        assert_eq!(
            (by_name("top/plan.md"), by_name("top/link.md")),
            ("plan.md".into(), "plan.md".into())
        );
        assert!(!place.is_held(&Mode::Plan, "plan.md"));
        let held = place.hold(&Mode::Plan, "plan.md").unwrap().unwrap();
        assert!(place.hold(&Mode::Plan, "plan.md").unwrap().is_none());
        assert!(place.is_held(&Mode::Plan, "plan.md") && !place.is_held(&Mode::Plan, "b.md"));
        assert!(place.hold(&Mode::Plan, "b.md").unwrap().is_some());
        let beads = place.hold(&Mode::Beads, "x").unwrap();
        assert!(beads.is_some() && place.hold(&Mode::Beads, "y").unwrap().is_none());
        drop(held);
        assert!(!place.is_held(&Mode::Plan, "plan.md"));
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
            let why = format!("{:#}", plan(&place, &at.path(name)).unwrap_err());
            assert!(why.contains(expected), "{why}");
        }
    }
}
