//! Reads an orchestration's folder: all names, and the texts that the router reads.
//!
//! Bounded, and never outside the project. The files that determine the state must be readable: a
//! `progress.md` that is not text must not look like an empty one, which a repair would overwrite.

use crate::project::confined;
use anyhow::{Context, Result, bail};
use ralph_core::modes::orchestration::feedback;
use ralph_core::modes::orchestration::files::{OrchestrationFile, SESSIONS};
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::signal::UnheardSignal;
use ralph_core::modes::orchestration::snapshot::Snapshot;
use ralph_core::project::reader::EntryKind;
use std::path::Path;

/// The most files of an orchestration; agents write a few for each task.
const MOST_FILES: usize = 20_000;

/// How deeply folders may be nested.
const DEEPEST: usize = 8;

/// The most bytes of text of an orchestration.
const MOST_TEXT: usize = 64 << 20;

/// The orchestration as its folder shows it.
pub(super) fn snapshot(top: &Path, id: &OrchestrationId) -> Result<Snapshot> {
    let mut seen = Snapshot::new(id.clone(), "");
    let folder = top.join(SESSIONS).join(id.as_str());
    let mut left = MOST_TEXT;
    list(top, &folder, "", DEEPEST, &mut seen)?;
    let names: Vec<String> = seen.files.keys().cloned().collect();
    for name in names {
        let Some(place) = OrchestrationFile::from_path(&name) else { continue };
        if let OrchestrationFile::SignalInput(signal) = place {
            let text = confined::text(top, &folder.join(&name));
            seen.signals.extend(text.map(|text| UnheardSignal::read(signal, &text)));
        } else if is_read(place) {
            let text = confined::text(top, &folder.join(&name));
            if text.is_none() && decides(place) {
                let path = folder.join(&name);
                bail!(
                    "could not read `{}`: it is no UTF-8 text, is larger than 1 MiB, or leads out of the \
                     project; put a text in its place",
                    path.display()
                );
            }
            left = left.checked_sub(text.as_deref().map_or(0, str::len)).with_context(|| {
                format!("the files of orchestration {id} are larger than 64 MiB")
            })?;
            seen.files.insert(name, text);
        }
    }
    let beside = top.join(SESSIONS).join(format!("{id}.instructions.md"));
    seen.instructions = confined::text(top, &beside);
    Ok(seen)
}

fn is_read(place: OrchestrationFile<'_>) -> bool {
    match place {
        OrchestrationFile::Task(_)
        | OrchestrationFile::Report { .. }
        | OrchestrationFile::Questions(_)
        | OrchestrationFile::Review(_) => true,
        OrchestrationFile::Feedback { file, .. } => file == feedback::FILE,
        place => decides(place),
    }
}

/// True for the files that the program itself changes.
fn decides(place: OrchestrationFile<'_>) -> bool {
    matches!(
        place,
        OrchestrationFile::Plan
            | OrchestrationFile::PlanSnapshot(_)
            | OrchestrationFile::Progress
            | OrchestrationFile::Metadata
            | OrchestrationFile::IterationMetadata(_)
    )
}

/// Lists a folder. A folder that is a link is listed by name only.
fn list(top: &Path, folder: &Path, below: &str, deep: usize, seen: &mut Snapshot) -> Result<()> {
    let Some(listing) = confined::list(top, folder) else { return Ok(()) };
    for entry in listing.entries {
        // A name that is not UTF-8 is unknown to the layout; a hidden file is still being written.
        if entry.name.starts_with('.') || entry.name.contains('\u{fffd}') {
            continue;
        }
        let path = format!("{below}{}", entry.name);
        if entry.kind == EntryKind::Folder {
            if deep > 0 {
                list(top, &folder.join(entry.name), &format!("{path}/"), deep - 1, seen)?;
            }
        } else {
            seen.files.insert(path, None);
        }
        if seen.files.len() > MOST_FILES {
            bail!("orchestration {} has more than {MOST_FILES} files", seen.id);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    fn listed(at: &Sandbox, n_before: usize) -> Result<Vec<String>> {
        let id = OrchestrationId::parse("260131-120000").unwrap();
        let mut seen = Snapshot::new(id, "");
        seen.files = (0..n_before).map(|n| (format!("{n:05}"), None)).collect();
        list(&at.root(), &at.root(), "", DEEPEST, &mut seen)?;
        Ok(seen.files.into_keys().filter(|name| name.parse::<usize>().is_err()).collect())
    }

    #[test]
    fn every_visible_file_is_listed_to_a_depth_and_as_many_as_an_orchestration_may_have() {
        let at = Sandbox::folder();
        let deepest = ["d"; DEEPEST].join("/");
        at.write(&format!("{deepest}/file"), "");
        at.write(&format!("{deepest}/deeper/file"), "");
        at.write("plan.md", "");
        at.write(".plan.md.tmp-1", "");
        at.write(".git/x", "");
        at.link("astray", "/none");
        at.link("link", "d");
        let expected =
            ["astray".to_owned(), format!("{deepest}/file"), "link".into(), "plan.md".into()];
        assert_eq!(listed(&at, 0).unwrap(), expected);
        assert_eq!(listed(&at, MOST_FILES - 4).unwrap(), expected);
        let why = listed(&at, MOST_FILES - 3).unwrap_err().to_string();
        assert_eq!(why, "orchestration 260131-120000 has more than 20000 files");
    }
}
