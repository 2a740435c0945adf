//! The whole document: read it, edit one refinement, write it.

use super::{DOCUMENT, Refinement, SCHEMA_VERSION};
use crate::modes::refine::Status;
use crate::text::json;
use crate::text::truncate::bounded;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;

/// All refinements of a project. Those that are not edited stay as found, readable or not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RefineDocument {
    schema_version: u64,
    #[serde(serialize_with = "in_order")]
    sessions: Vec<(String, StoredRefinement)>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Default for RefineDocument {
    fn default() -> RefineDocument {
        RefineDocument { schema_version: SCHEMA_VERSION, sessions: Vec::new(), others: Map::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum StoredRefinement {
    AsFound(Value),
    Edited(Box<Refinement>),
}

/// Why a document, or a refinement in it, is left alone, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged(String);

const LEFT: &str = "it was left unchanged; fix it, or move it away";

impl fmt::Display for Damaged {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for Damaged {}

impl RefineDocument {
    /// Reads a document.
    ///
    /// # Errors
    /// The document as a whole cannot be read. One unreadable refinement does not prevent the
    /// others from being read.
    pub fn parse(text: &str) -> Result<RefineDocument, Damaged> {
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| Damaged(format!("`{DOCUMENT}` is not JSON ({error}): {LEFT}")))?;
        let Value::Object(mut others) = value else {
            return Err(Damaged(format!("`{DOCUMENT}` is not a JSON object: {LEFT}")));
        };
        let wrong = |member: &str, mistake: String| {
            Damaged(format!("in `{DOCUMENT}` `{member}`: {mistake}: {LEFT}"))
        };
        if let Some(version) = others.remove("schema_version") {
            let version: u64 =
                json::read(version).map_err(|mistake| wrong("schema_version", mistake))?;
            if version > SCHEMA_VERSION {
                return Err(Damaged(format!(
                    "`{DOCUMENT}` has version {version}, and this ralph writes version \
                     {SCHEMA_VERSION}: it was left unchanged; update ralph"
                )));
            }
        }
        let sessions: Map<String, Value> =
            json::read(others.remove("sessions").unwrap_or_default())
                .map_err(|mistake| wrong("sessions", mistake))?;
        let sessions =
            sessions.into_iter().map(|(name, value)| (name, StoredRefinement::AsFound(value)));
        Ok(RefineDocument { sessions: sessions.collect(), others, ..RefineDocument::default() })
    }

    /// The refinement of this name, if there is one.
    ///
    /// # Errors
    /// It exists, but cannot be read.
    pub fn session(&self, name: &str) -> Result<Option<Refinement>, Damaged> {
        let found = self.sessions.iter().find(|(known, _)| known == name);
        found.map(|(_, kept)| kept.read(name)).transpose()
    }

    /// All refinements with their names.
    pub fn sessions(&self) -> impl Iterator<Item = (&str, Result<Refinement, Damaged>)> {
        self.sessions.iter().map(|(name, kept)| (name.as_str(), kept.read(name)))
    }

    /// Replaces the refinement of this name, or adds it at the end.
    ///
    /// # Errors
    /// The existing refinement cannot be read. Its content may be fixed by hand, so it must not be
    /// overwritten.
    pub fn put(&mut self, name: &str, session: Refinement) -> Result<(), Damaged> {
        self.session(name)?;
        let kept = StoredRefinement::Edited(Box::new(session));
        match self.sessions.iter_mut().find(|(known, _)| known == name) {
            Some((_, place)) => *place = kept,
            None => self.sessions.push((name.to_owned(), kept)),
        }
        Ok(())
    }

    /// The other refinements that are marked as running on the same artefact. Only their locks tell
    /// whether a process still runs them.
    pub fn rivals(&self, name: &str, plan_file: &str) -> Vec<(&str, Refinement)> {
        let others = self.sessions().filter(|(other, _)| *other != name);
        let others = others.filter_map(|(other, session)| Some((other, session.ok()?)));
        others.filter(|(_, one)| one.status == Status::Running && one.refines(plan_file)).collect()
    }

    pub fn render(&self) -> String {
        let mut text =
            serde_json::to_string_pretty(self).expect("texts, numbers and lists can be written");
        text.push('\n');
        text
    }
}

impl StoredRefinement {
    fn read(&self, name: &str) -> Result<Refinement, Damaged> {
        match self {
            StoredRefinement::Edited(session) => Ok(session.as_ref().clone()),
            StoredRefinement::AsFound(value) => json::read(value.clone()).map_err(|mistake| {
                Damaged(format!(
                    "the refinement `{}` in `{DOCUMENT}` was left unchanged: {mistake}; fix it, or use \
                     another name",
                    bounded(name, 100)
                ))
            }),
        }
    }
}

/// A JSON object sorts its members; the refinements keep the document's order.
fn in_order<S: Serializer>(
    sessions: &[(String, StoredRefinement)],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(sessions.iter().map(|(name, kept)| (name, kept)))
}
