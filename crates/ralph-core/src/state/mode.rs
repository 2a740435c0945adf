//! The mode of a loop, with the state that only that mode needs.
//!
//! The document has two members for it: `mode` with the word, and one named after the mode. An
//! absent member gets its defaults, as everywhere in the document. For the mode of a newer version,
//! the word is kept here and its member among the unknown ones.

use super::{Extra, LoopState, Mode, OrchestrationState, RalplanState, RefineState};
use crate::text::json;
use serde::de::DeserializeOwned;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// Which rules drive a loop, and the state that they need.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ModeState {
    /// The Ralph loop, which has no state of its own.
    #[default]
    Plain,
    /// Consensus planning.
    Ralplan(Box<RalplanState>),
    /// An orchestration (ralph-v2).
    Orchestration(OrchestrationState),
    /// Refinement of a plan or of tasks.
    Refine(RefineState),
    /// The mode of a newer version, by its word.
    Other(String),
}

impl ModeState {
    /// The word of the mode in the document.
    pub fn word(&self) -> Mode {
        match self {
            ModeState::Plain => Mode::Plain,
            ModeState::Ralplan(_) => Mode::Ralplan,
            ModeState::Orchestration(_) => Mode::Orchestration,
            ModeState::Refine(_) => Mode::Refine,
            ModeState::Other(word) => Mode::Other(word.clone()),
        }
    }

    /// Removes the word and the mode's member from the document.
    ///
    /// # Errors
    /// Which member has another type.
    pub(super) fn take(members: &mut Extra) -> Result<ModeState, String> {
        fn own<T: DeserializeOwned + Default>(
            members: &mut Extra,
            name: &str,
        ) -> Result<T, String> {
            match members.remove(name) {
                None | Some(Value::Null) => Ok(T::default()),
                Some(value) => json::read(value).map_err(|mistake| format!("`{name}`: {mistake}")),
            }
        }
        let word = own(members, "mode")?;
        Ok(match word {
            Mode::Plain => ModeState::Plain,
            Mode::Ralplan => ModeState::Ralplan(Box::new(own(members, "ralplan")?)),
            Mode::Orchestration => ModeState::Orchestration(own(members, "session")?),
            Mode::Refine => ModeState::Refine(own(members, "refine")?),
            Mode::Other(word) => ModeState::Other(word),
        })
    }
}

impl Serialize for ModeState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("mode", &self.word())?;
        match self {
            ModeState::Plain | ModeState::Other(_) => {}
            ModeState::Ralplan(plan) => map.serialize_entry("ralplan", plan)?,
            ModeState::Orchestration(session) => map.serialize_entry("session", session)?,
            ModeState::Refine(refining) => map.serialize_entry("refine", refining)?,
        }
        map.end()
    }
}

impl PartialEq<Mode> for ModeState {
    fn eq(&self, word: &Mode) -> bool {
        self.word() == *word
    }
}

impl From<RalplanState> for ModeState {
    fn from(plan: RalplanState) -> ModeState {
        ModeState::Ralplan(Box::new(plan))
    }
}

impl From<OrchestrationState> for ModeState {
    fn from(session: OrchestrationState) -> ModeState {
        ModeState::Orchestration(session)
    }
}

impl From<RefineState> for ModeState {
    fn from(refining: RefineState) -> ModeState {
        ModeState::Refine(refining)
    }
}

macro_rules! own {
    ($($(#[$about:meta])* $name:ident $name_mut:ident $variant:ident $kept:ident;)+) => {
        impl LoopState {
            $(
                $(#[$about])*
                pub fn $name(&self) -> Option<&$kept> {
                    if let ModeState::$variant(own) = &self.mode { Some(own) } else { None }
                }

                $(#[$about])*
                pub fn $name_mut(&mut self) -> Option<&mut $kept> {
                    if let ModeState::$variant(own) = &mut self.mode { Some(own) } else { None }
                }
            )+
        }
    };
}

own! {
    /// The state of consensus planning; `None` in every other mode.
    ralplan ralplan_mut Ralplan RalplanState;
    /// The state of an orchestration; `None` in every other mode.
    orchestration orchestration_mut Orchestration OrchestrationState;
    /// The state of a refinement; `None` in every other mode.
    refining refining_mut Refine RefineState;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rewritten(document: &Value) -> Value {
        let state: LoopState = serde_json::from_value(document.clone()).unwrap();
        serde_json::to_value(state).unwrap()
    }

    #[test]
    fn each_mode_is_written_as_it_was_read() {
        for (mode, name, own) in [
            ("ralplan", "ralplan", json!({"phase": "critic_review", "mood": "good"})),
            ("session", "session", json!({"id": "260131-120000", "mood": "good"})),
            ("refine", "refine", json!({"name": "plan", "word": "plan", "mood": "good"})),
            ("of tomorrow", "tomorrow", json!({"mood": "good"})),
        ] {
            let back = rewritten(&json!({"mode": mode, name: own}));
            assert_eq!(back["mode"], mode);
            for (member, value) in own.as_object().unwrap() {
                assert_eq!(&back[name][member], value, "{mode}: {member}");
            }
        }
    }

    #[test]
    fn a_mode_without_its_member_has_the_defaults() {
        let state: LoopState =
            serde_json::from_value(json!({"mode": "ralplan", "ralplan": null})).unwrap();
        assert_eq!(state.mode, ModeState::from(RalplanState::default()));
        let state: LoopState = serde_json::from_value(json!({"mode": "session"})).unwrap();
        assert_eq!(state.mode, ModeState::from(OrchestrationState::default()));
    }

    #[test]
    fn a_member_of_another_mode_is_kept_and_not_read() {
        let stray = json!({"mode": "loop", "ralplan": {"phase": 7}, "session": [1]});
        let state: LoopState = serde_json::from_value(stray).unwrap();
        assert!(state.ralplan().is_none());
        let back = serde_json::to_value(state).unwrap();
        assert_eq!((&back["ralplan"], &back["session"]), (&json!({"phase": 7}), &json!([1])));
    }
}
