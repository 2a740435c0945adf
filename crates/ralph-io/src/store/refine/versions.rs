//! The versions of a plan that a refinement has read and made.
//!
//! Each text is a file named after its digest, written before the list names it. So a readable list
//! names only existing files, and a repeated text is stored once.

use crate::{project::safe_read, project::user_files, store::atomic};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use ralph_core::text::hex::sha256;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The list has a line for each version.
const LARGEST: u64 = 16 << 20;

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The plan as a round found it.
    Found,
    /// The plan as a round made it.
    Round,
    /// A round's text that did not become the plan.
    Aside,
    /// The plan before an older version replaced it.
    Replaced,
    /// A value from a later version of Ralph.
    #[serde(other)]
    Other,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptVersion {
    /// Counted from 1.
    pub number: u32,
    /// The round that it belongs to; 0 for none.
    pub round: u32,
    pub what: What,
    /// When it was stored.
    pub at: Timestamp,
    /// The digest of the text.
    pub sha256: String,
}

/// A text to store.
#[derive(Debug, Clone, Copy)]
pub struct NewVersion<'a> {
    pub text: &'a str,
    /// The round that it belongs to; 0 for none.
    pub round: u32,
    pub what: What,
    pub at: Timestamp,
}

/// The versions of one refinement.
#[derive(Debug, Clone)]
pub struct Versions {
    folder: PathBuf,
}

impl Versions {
    pub(super) fn at(folder: PathBuf) -> Versions {
        Versions { folder }
    }

    /// All versions, oldest first.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn list(&self) -> Result<Vec<KeptVersion>> {
        let path = self.folder.join("versions.json");
        let Some(text) = safe_read::text(&path, LARGEST)? else { return Ok(Vec::new()) };
        serde_json::from_str(&text)
            .with_context(|| format!("could not read `{}`; move it away", path.display()))
    }

    /// Stores a text, and returns its number. A text that equals the last version gets that
    /// version's number.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, kept: &NewVersion<'_>) -> Result<u32> {
        let mut list = self.list()?;
        let sha256 = sha256(kept.text);
        let last = list.last().filter(|last| last.sha256 == sha256);
        if let Some(last) = last.filter(|_| kept.what != What::Aside) {
            return Ok(last.number);
        }
        user_files::make_folders(&self.folder, 0o700)?;
        let path = self.text_file(&sha256);
        if !path.is_file() {
            atomic::write(&path, kept.text.as_bytes())?;
        }
        let number = list.last().map_or(0, |last| last.number) + 1;
        let NewVersion { round, what, at, .. } = *kept;
        list.push(KeptVersion { number, round, what, at, sha256 });
        let text = serde_json::to_string_pretty(&list).context("could not write the versions")?;
        atomic::write(&self.folder.join("versions.json"), text.as_bytes())?;
        Ok(number)
    }

    /// The text that this round made, if it became the plan.
    ///
    /// # Errors
    /// If it cannot be read.
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
        let text = safe_read::text(&path, super::LARGEST_PLAN)?
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;

    fn kept<'a>(text: &'a str, round: u32, what: What) -> NewVersion<'a> {
        NewVersion { text, round, what, at: Timestamp::UNIX_EPOCH }
    }

    #[test]
    fn each_text_is_kept_once_in_a_row_and_found_again() {
        let at = Sandbox::folder();
        let versions = Versions::at(at.path("v"));
        assert_eq!(versions.list().unwrap(), []);
        let keep = |text, round, what| versions.keep(&kept(text, round, what)).unwrap();
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
        let versions = Versions::at(at.path("v"));
        versions.keep(&kept("one", 1, What::Found)).unwrap();
        let version = versions.list().unwrap().remove(0);
        at.write(&format!("v/{}.md", version.sha256), "another");
        assert!(versions.text(&version).unwrap_err().to_string().contains("is not what it was"));
        at.write("outside.md", "x");
        let wrong = KeptVersion { sha256: "../outside".to_owned(), ..version };
        assert!(versions.text(&wrong).is_err());
    }
}
