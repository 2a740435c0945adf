//! Bounded texts: other machines wrote them, and they reach screens, prompts and references.
//!
//! A writer shortens and cleans a text; a reader refuses one that is not within these bounds.

use crate::text::sanitize;
use crate::text::truncate::bounded;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest text, in UTF-16 units.
pub const LONGEST_TEXT: usize = 2_000;

/// The longest name of a machine or a worker.
pub const LONGEST_NAME: usize = 64;

/// A reason or a message: bounded, without control characters except line feeds and tabs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Text(String);

impl Text {
    /// Shortens and cleans a text that this machine writes.
    pub fn new(text: &str) -> Text {
        Text(bounded(&sanitize::plain(text), LONGEST_TEXT))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Text {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Text, &'static str> {
        if text.encode_utf16().count() > LONGEST_TEXT {
            return Err("a text is too long");
        }
        let acts = |letter| sanitize::acts(letter) && !matches!(letter, '\n' | '\t');
        if text.contains(acts) {
            return Err("a text contains control characters");
        }
        Ok(Text(text))
    }
}

/// The name of a machine or a worker, or a nonce: ASCII letters, digits, `-` and `_`. It can be part
/// of a reference as it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(String);

impl Name {
    /// Makes a name from any text: other characters become `-`.
    pub fn new(text: &str) -> Name {
        let keep = |letter: char| if is_of_a_name(letter) { letter } else { '-' };
        let name: String = text.chars().map(keep).take(LONGEST_NAME).collect();
        Name(if name.is_empty() { "-".to_owned() } else { name })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')
}

impl fmt::Display for Name {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.pad(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Name, &'static str> {
        let is_name = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_of_a_name);
        if is_name { Ok(Name(name)) } else { Err("a name is empty, too long or has other letters") }
    }
}

/// The name of a git object, or a tree id of Ralph's, in hexadecimal: of SHA-1 or SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ObjectId(String);

impl ObjectId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.pad(&self.0)
    }
}

impl TryFrom<String> for ObjectId {
    type Error = &'static str;

    fn try_from(id: String) -> Result<ObjectId, &'static str> {
        let is_hex = id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if matches!(id.len(), 40 | 64) && is_hex {
            Ok(ObjectId(id))
        } else {
            Err("an object's name is not hexadecimal or has another length")
        }
    }
}

#[cfg(test)]
mod tests;
