//! Reads a JSON value as a type.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a value as this type.
///
/// # Errors
/// Which member has another type, and what was expected: "`history[0].changes`: invalid type: …".
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize::<_, T>(value).map_err(|mistake| {
        match mistake.path().to_string().as_str() {
            "." => mistake.inner().to_string(),
            path => format!("`{path}`: {}", mistake.inner()),
        }
    })
}
