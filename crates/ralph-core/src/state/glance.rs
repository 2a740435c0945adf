//! A glance at the state document: what a tool call needs, whose cost does not grow with what the
//! document holds besides.

use super::{EndingKind, LoopState, Mode, Phase, SCHEMA_VERSION, Via};
use serde::Deserialize;

/// What a tool call needs to know of a loop.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Glance {
    /// As in [`LoopState`].
    pub schema_version: u32,
    /// As in [`LoopState`].
    pub session_id: String,
    /// As in [`LoopState`].
    pub mode: Mode,
    /// As in [`LoopState`].
    pub phase: Phase,
    /// As in [`LoopState`].
    pub iteration: u32,
    /// As in [`LoopState`].
    pub max_iterations: u32,
    /// As in [`LoopState`].
    pub turn: Option<GlanceTurn>,
    /// As in [`LoopState`].
    pub ending: Option<GlanceEnding>,
    /// As in [`LoopState`].
    pub via: Option<Via>,
    /// As in [`LoopState`].
    pub touched: bool,
    /// As in [`LoopState`].
    pub let_finish: bool,
    /// As in [`LoopState`].
    pub baseline_pending: bool,
}

/// What is absent is as in the whole document.
impl Default for Glance {
    fn default() -> Self {
        Glance {
            schema_version: SCHEMA_VERSION,
            session_id: String::new(),
            mode: Mode::Loop,
            phase: Phase::Planned,
            iteration: 0,
            max_iterations: 25,
            turn: None,
            ending: None,
            via: None,
            touched: false,
            let_finish: false,
            baseline_pending: false,
        }
    }
}

/// The turn that a loop drives, at a glance.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct GlanceTurn {
    /// As in [`super::Turn`].
    pub prompt_id: String,
    /// As in [`super::Turn`].
    pub worked: bool,
}

/// How a loop ended, at a glance.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct GlanceEnding {
    /// As in [`super::Ending`].
    pub kind: EndingKind,
}

/// A view of the state document: the whole of it, or a glance.
pub trait Document: serde::de::DeserializeOwned {
    /// Version of the document's schema.
    fn schema_version(&self) -> u32;
    /// The session that the loop is bound to.
    fn session_id(&self) -> &str;
    /// How many times the loop went on, of how many: `3/25`.
    fn position(&self) -> String;
    /// The highest-ranking registration seen.
    fn via(&self) -> Option<Via>;
}

macro_rules! document {
    ($view:ty) => {
        impl Document for $view {
            fn schema_version(&self) -> u32 {
                self.schema_version
            }

            fn session_id(&self) -> &str {
                &self.session_id
            }

            fn position(&self) -> String {
                format!("{}/{}", self.iteration, self.max_iterations)
            }

            fn via(&self) -> Option<Via> {
                self.via
            }
        }
    };
}

document!(LoopState);
document!(Glance);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_document_leaves_out_is_the_same_at_a_glance() {
        for text in ["{}", r#"{"ending":{}}"#, r#"{"turn":{}}"#, r#"{"iteration":3}"#] {
            let whole: LoopState = serde_json::from_str(text).unwrap();
            let glance: Glance = serde_json::from_str(text).unwrap();
            assert_eq!(glance.schema_version, whole.schema_version, "{text}");
            assert_eq!((&glance.mode, &glance.phase), (&whole.mode, &whole.phase), "{text}");
            assert_eq!(Document::position(&glance), whole.position(), "{text}");
            let ending = whole.ending.map(|ending| ending.kind);
            assert_eq!(glance.ending.map(|ending| ending.kind), ending, "{text}");
        }
    }
}
