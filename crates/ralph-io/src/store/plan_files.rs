//! The files of consensus planning in the project: the plans in `.omc/plans/`, and the document
//! that shows its progress to the user and to other tools.

use crate::{project::confined, project::safe_read, store::atomic};
use anyhow::{Context, Result, bail};
use ralph_core::modes::mode;
use ralph_core::modes::ralplan::{self, MIRROR, PLANS, export};
use ralph_core::state::LoopState;
use ralph_core::text::hex::sha256;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The document is a page; consensus planning writes no larger one.
const LARGEST: u64 = 4 << 20;

/// The path of a project's document.
pub fn document(project_root: &Path) -> PathBuf {
    project_root.join(MIRROR)
}

/// True if the loop's mode has a document and it no longer exists.
pub fn is_gone(state: &LoopState) -> bool {
    let path = mode::rules(&state.mode).document(state);
    let missing =
        |path: PathBuf| path.symlink_metadata().is_err_and(|why| why.kind() == ErrorKind::NotFound);
    path.is_some_and(missing)
}

/// The text of the document; `None` if it does not exist.
///
/// # Errors
/// If something else is there that cannot be read.
pub fn found(project_root: &Path) -> Result<Option<String>> {
    safe_read::text(&document(project_root), LARGEST)
}

/// Creates the folder of plans if it is missing.
///
/// # Errors
/// If it cannot be created, or leads out of the project: a repository may contain a link of this
/// name.
pub fn prepare(project_root: &Path) -> Result<()> {
    let folder = project_root.join(PLANS);
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(&folder)
        .with_context(|| format!("could not make `{}`", folder.display()))?;
    // The document must not be lost with an unsynced folder: a planning without its document counts
    // as cancelled.
    for made in folder.ancestors().take(2) {
        atomic::sync_folder(made)
            .with_context(|| format!("could not sync the folder of `{}`", made.display()))?;
    }
    if !folder.canonicalize()?.starts_with(project_root.canonicalize()?) {
        bail!("`{}` leads out of the project; remove that link first", folder.display());
    }
    Ok(())
}

/// Writes the document of a planning, if it has changed.
pub fn show(state: &LoopState) -> Result<()> {
    let Some(plan) = state.ralplan() else { return Ok(()) };
    let root = Path::new(&state.project_root);
    let text = export::render(plan, &state.loop_id);
    if found(root).ok().flatten().as_deref() == Some(text.as_str()) {
        return Ok(());
    }
    atomic::write(&document(root), text.as_bytes())
}

/// As [`show`], unless the document is gone: a user cancels by removing it, perhaps a moment ago,
/// so it must not come back.
pub fn show_change(state: &LoopState) -> Result<()> {
    if is_gone(state) { Ok(()) } else { show(state) }
}

/// Renames the document that another planning has left, and returns its new path.
pub fn put_aside(project_root: &Path, at: jiff::Timestamp) -> Result<PathBuf> {
    let path = document(project_root);
    let name = format!("ralplan-state.{}.json", crate::process::clock::compact(at));
    let aside = path.with_file_name(name);
    std::fs::rename(&path, &aside)
        .with_context(|| format!("could not move `{}`", path.display()))?;
    Ok(aside)
}

/// The text of a plan, by its path from the top of the project; `None` if it does not exist, is not
/// text, or is outside the folder of plans.
pub fn plan_text(project_root: &Path, path: &str) -> Option<String> {
    let top = project_root.canonicalize().ok()?;
    confined::text(&top, &top.join(path)).filter(|_| ralplan::is_plans_place(path))
}

/// The digest of a plan as it is now; empty if there is none.
pub fn plan_hash(project_root: &Path, path: &str) -> String {
    plan_text(project_root, path).map_or_else(String::new, sha256)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use ralph_core::state::{ModeState, PlanPhase, RalplanState};
    use std::os::unix::fs::symlink;

    fn planning(at: &Sandbox) -> LoopState {
        LoopState {
            loop_id: "l".to_owned(),
            project_root: at.root().display().to_string(),
            mode: ralplan::begin("log in", jiff::Timestamp::UNIX_EPOCH).into(),
            ..LoopState::default()
        }
    }

    #[test]
    fn the_document_follows_the_state_and_is_missed_when_it_is_removed() {
        let at = Sandbox::folder();
        let mut state = planning(&at);
        assert!(
            is_gone(&state) && !is_gone(&LoopState { mode: ModeState::Plain, ..state.clone() })
        );
        prepare(&at.root()).unwrap();
        show(&state).unwrap();
        assert!(!is_gone(&state));
        let before = document(&at.root()).metadata().unwrap().modified().unwrap();
        show(&state).unwrap();
        assert_eq!(document(&at.root()).metadata().unwrap().modified().unwrap(), before);
        state.mode = RalplanState { phase: PlanPhase::Cancelled, ..RalplanState::default() }.into();
        show_change(&state).unwrap();
        assert!(found(&at.root()).unwrap().unwrap().contains("\"active\": false"));
        std::fs::remove_file(document(&at.root())).unwrap();
        show_change(&state).unwrap();
        show_change(&planning(&at)).unwrap();
        assert!(is_gone(&state), "what a person removed is not made again");
    }

    #[test]
    fn a_folder_that_leads_out_of_the_project_is_refused() {
        let at = Sandbox::folder();
        at.write("elsewhere/x", "");
        at.write("top/x", "");
        symlink("../elsewhere", at.path("top/.omc")).unwrap();
        let why = prepare(&at.path("top")).unwrap_err().to_string();
        assert!(why.contains("leads out of the project"), "{why}");
    }

    #[test]
    fn a_plan_is_read_below_the_folder_of_plans_and_nowhere_else() {
        let at = Sandbox::folder();
        at.write("top/.omc/plans/a.md", "plan");
        at.write("top/a.md", "plan");
        at.write("secret.md", "secret");
        symlink("../../../secret.md", at.path("top/.omc/plans/link.md")).unwrap();
        let text = |path: &str| plan_text(&at.path("top"), path);
        assert_eq!(text(".omc/plans/a.md").as_deref(), Some("plan"));
        for path in [".omc/plans/link.md", "a.md", ".omc/plans/../../a.md", ".omc/plans/none.md"] {
            assert_eq!(text(path), None, "{path}");
        }
        assert_eq!(plan_hash(&at.path("top"), ".omc/plans/none.md"), "");
        assert_eq!(plan_hash(&at.path("top"), ".omc/plans/a.md"), sha256("plan"));
    }

    #[test]
    fn a_document_that_was_left_is_put_aside_and_not_lost() {
        let at = Sandbox::folder();
        prepare(&at.root()).unwrap();
        at.write(MIRROR, "{}");
        let aside = put_aside(&at.root(), jiff::Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(std::fs::read_to_string(aside).unwrap(), "{}");
        assert_eq!(found(&at.root()).unwrap(), None);
    }
}
