//! Keys in `ralph.toml` that no setting has.

use super::{
    CheckSettings, ClientSettings, EvidenceSettings, NotifySettings, Refine, ReviewSettings,
    RunSettings, SandboxSettings, Settings, SharedSettings, WallSettings,
};
use crate::project::project_facts::ContextSettings;
use crate::text::nearest::nearest;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The sections that bound what a loop may do, or decide what counts as proof. A mistake in their name
/// or their keys must not go unnoticed.
const STRICT: [&str; 3] = ["sandbox", "wall", "evidence"];

/// A key that no setting has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// Empty at the top of the file.
    pub section: &'static str,
    pub key: String,
    /// The known key that is most like it, if one is.
    pub nearest: Option<String>,
}

impl UnknownKey {
    /// True if no loop starts with this file. Otherwise the key is ignored.
    pub fn is_strict(&self) -> bool {
        let names = [Some(self.section), Some(self.key.as_str()), self.nearest.as_deref()];
        let names = if self.section.is_empty() { &names[..] } else { &names[..1] };
        names.iter().flatten().any(|name| STRICT.contains(name))
    }
}

/// The unknown keys of a file, at its top and in its sections.
pub fn keys(file: &Value) -> Vec<UnknownKey> {
    let top = fields::<Settings>();
    let sections: [(&str, Vec<String>); 11] = [
        ("backpressure", fields::<CheckSettings>()),
        ("context", fields::<ContextSettings>()),
        ("evidence", fields::<EvidenceSettings>()),
        ("client", fields::<ClientSettings>()),
        ("refine", fields::<Refine>()),
        ("run", fields::<RunSettings>()),
        ("sandbox", fields::<SandboxSettings>()),
        ("notify", fields::<NotifySettings>()),
        ("review", fields::<ReviewSettings>()),
        ("shared", fields::<SharedSettings>()),
        ("wall", fields::<WallSettings>()),
    ];
    let below = sections.iter().map(|(name, known)| (*name, &file[*name], known));
    let all =
        std::iter::once(("", file, &top)).chain(below).flat_map(|(section, written, known)| {
            let names = written.as_object().into_iter().flat_map(|map| map.keys());
            let unknown = names.filter(|name| !known.contains(name)).cloned().collect::<Vec<_>>();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let of = |key: String| {
                let nearest = nearest(&key, &known).map(str::to_owned);
                UnknownKey { section, key, nearest }
            };
            unknown.into_iter().map(of).collect::<Vec<_>>()
        });
    all.collect()
}

/// The names of a section's keys, as serde lists them when it meets another.
fn fields<T: DeserializeOwned>() -> Vec<String> {
    let error = T::deserialize(json!({"?": 0})).err().map(|error| error.to_string());
    let names = error.unwrap_or_default();
    names.split('`').skip(1).step_by(2).filter(|name| *name != "?").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_found_with_its_nearest_and_is_strict_where_it_could_widen_a_loop() {
        let found = |file: Value| {
            let of = |one: UnknownKey| {
                let strict = one.is_strict();
                (format!("{}.{}", one.section, one.key), one.nearest.unwrap_or_default(), strict)
            };
            keys(&file).into_iter().map(of).collect::<Vec<_>>()
        };
        let one = |key: &str, nearest: &str, strict| vec![(key.into(), nearest.into(), strict)];
        assert_eq!(found(json!({"max_iterations": 3, "sandbox": {"read_deny": []}})), []);
        assert_eq!(
            found(json!({"max_iteration": 3})),
            one(".max_iteration", "max_iterations", false)
        );
        assert_eq!(found(json!({"zzzz": 3})), one(".zzzz", "", false));
        assert_eq!(found(json!({"run": {"comit": true}})), one("run.comit", "commit", false));
        let typed = found(json!({"sandbox": {"read_denny": []}}));
        assert_eq!(typed, one("sandbox.read_denny", "read_deny", true));
        assert_eq!(found(json!({"sandbx": {}})), one(".sandbx", "sandbox", true));
        assert!(found(json!({"wall": {"x": 1}}))[0].2);
        assert!(found(json!({"evidence": {"x": 1}}))[0].2);
    }

    #[test]
    fn every_section_lists_its_keys() {
        for section in fields::<Settings>() {
            let file = json!({section.clone(): {"?": 0}});
            let is_section = serde_json::from_value::<Settings>(file.clone()).is_ok();
            assert!(!is_section || !keys(&file).is_empty(), "{section}");
        }
    }
}
