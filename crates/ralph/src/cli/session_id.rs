//! Session ids on the command line, checked before anything is written under their name.

use ralph_io::store::manifest::ManifestKey;

/// Accepts an id that could be one of the client's.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    match ManifestKey::session(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!(
            "needs the id of a Claude Code session, of letters, digits and hyphens, not `{text}`"
        )),
    }
}
