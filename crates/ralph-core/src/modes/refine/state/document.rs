//! The whole document: read it, edit one refinement, write it.

use super::{DOCUMENT, Refinement, SCHEMA_VERSION};
use crate::modes::refine::{Mode, Status};
use crate::text::json;
use crate::text::truncate::bounded;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::fmt;

/// All refinements of a project. Those that are not edited stay as found, readable or not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RefineDocument {
    /// The refinements, in the order of the document.
    sessions: Vec<(String, StoredRefinement)>,
    /// All other members.
    others: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum StoredRefinement {
    AsFound(Value),
    Edited(Box<Refinement>),
}

/// Why a document, or a refinement in it, is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damaged {
    /// The text is not JSON; holds the parser's error.
    NoJson(String),
    /// The JSON is not an object.
    NoObject,
    /// A member of the document has the wrong type.
    NoDocument(String),
    /// A newer version wrote the document.
    Newer(u64),
    /// The document is valid, but this refinement in it is not.
    NoSession { name: String, mistake: String },
}

impl fmt::Display for Damaged {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LEFT: &str = "it was left unchanged; fix it, or move it away";
        match self {
            Damaged::NoJson(error) => write!(to, "`{DOCUMENT}` is not JSON ({error}): {LEFT}"),
            Damaged::NoObject => write!(to, "`{DOCUMENT}` is not a JSON object: {LEFT}"),
            Damaged::NoDocument(mistake) => write!(to, "in `{DOCUMENT}` {mistake}: {LEFT}"),
            Damaged::Newer(version) => write!(
                to,
                "`{DOCUMENT}` has version {version}, and this ralph writes version \
                 {SCHEMA_VERSION}: it was left unchanged; update ralph"
            ),
            Damaged::NoSession { name, mistake } => {
                let name = bounded(name, 100);
                write!(
                    to,
                    "the refinement `{name}` in `{DOCUMENT}` was left unchanged: {mistake}; fix \
                     it, or use another name"
                )
            }
        }
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
            .map_err(|error| Damaged::NoJson(error.to_string()))?;
        let Value::Object(mut others) = value else { return Err(Damaged::NoObject) };
        if let Some(version) = others.remove("schema_version") {
            let version: u64 = json::read(version)
                .map_err(|mistake| Damaged::NoDocument(format!("`schema_version`: {mistake}")))?;
            if version > SCHEMA_VERSION {
                return Err(Damaged::Newer(version));
            }
        }
        let sessions: Map<String, Value> =
            json::read(others.remove("sessions").unwrap_or_default())
                .map_err(|mistake| Damaged::NoDocument(format!("`sessions`: {mistake}")))?;
        let sessions =
            sessions.into_iter().map(|(name, value)| (name, StoredRefinement::AsFound(value)));
        Ok(RefineDocument { sessions: sessions.collect(), others })
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
    pub fn rivals(&self, name: &str, mode: &Mode, plan_file: &str) -> Vec<&str> {
        let others = self.sessions().filter(|(other, _)| *other != name);
        let running = others.filter(|(_, session)| {
            session.as_ref().is_ok_and(|session| {
                session.status == Status::Running && session.shares_artefact(mode, plan_file)
            })
        });
        running.map(|(other, _)| other).collect()
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
            StoredRefinement::AsFound(value) => json::read(value.clone())
                .map_err(|mistake| Damaged::NoSession { name: name.to_owned(), mistake }),
        }
    }
}

// Written by hand, so that the refinements keep the order of the document, and their members the
// document's names.
impl Serialize for RefineDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
        map.serialize_entry("sessions", &InOrder(&self.sessions))?;
        for (name, value) in &self.others {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

struct InOrder<'a>(&'a [(String, StoredRefinement)]);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, kept) in self.0 {
            match kept {
                StoredRefinement::AsFound(value) => map.serialize_entry(name, value)?,
                StoredRefinement::Edited(session) => map.serialize_entry(name, session)?,
            }
        }
        map.end()
    }
}
