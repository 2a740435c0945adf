//! Reads the prompts that a project provides. They are text for a model: nothing in them is
//! executed, and no link may lead out of the project.

use crate::{project::confined, project::safe_read, project::user_files};
use anyhow::{Context, Result};
use ralph_core::modes::refine::prompt::PLACES;
use std::io::ErrorKind;
use std::path::Path;

/// Longer than any prompt that was written to be read.
const LARGEST: u64 = 64 << 10;

/// A prompt of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// The path from the top of the project.
    pub file: String,
    pub text: String,
}

/// The project's own prompt of this name, from the first folder that has one.
///
/// # Errors
/// If that file is not readable text inside the project. Later folders are then not tried.
pub fn brought(root: &Path, name: &str) -> Result<Option<Brought>> {
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
        let text = safe_read::text(&real, LARGEST)?;
        let text = text.with_context(|| format!("could not read `{file}`"))?;
        return Ok(Some(Brought { file, text }));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_first_place_counts_and_what_is_no_text_of_the_project_is_refused() {
        let at = Sandbox::folder();
        let root = at.path("top");
        at.write("top/x", "");
        assert_eq!(brought(&root, "a").unwrap(), None);
        at.write("top/scripts/refine/prompts/a.md", "second");
        assert_eq!(brought(&root, "a").unwrap().unwrap().text, "second");
        at.write("top/.claude/refine/prompts/a.md", "first");
        let found = brought(&root, "a").unwrap().unwrap();
        assert_eq!(
            (found.file.as_str(), found.text.as_str()),
            (".claude/refine/prompts/a.md", "first")
        );
        at.write("secret", "s");
        at.write("top/inside", "i");
        let place = root.join(".claude/refine/prompts");
        symlink("../../../../secret", place.join("out.md")).unwrap();
        symlink("../../../inside", place.join("in.md")).unwrap();
        symlink("nowhere", place.join("none.md")).unwrap();
        std::fs::create_dir(place.join("folder.md")).unwrap();
        std::fs::write(place.join("binary.md"), [0xff, 0xfe]).unwrap();
        std::fs::write(place.join("large.md"), vec![b'x'; 65 << 10]).unwrap();
        assert_eq!(brought(&root, "in").unwrap().unwrap().text, "i");
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
