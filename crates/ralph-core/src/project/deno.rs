//! Deno projects: the tasks of `deno.json`, otherwise Deno's own commands.

use super::{EcosystemCommands, RootFiles};
use serde_json::Value;

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    if !files.has_any(&["deno.json", "deno.jsonc"]) {
        return EcosystemCommands::default();
    }
    let manifest: Value = ["deno.json", "deno.jsonc"]
        .iter()
        .find_map(|name| serde_json::from_str(&files.text(name)).ok())
        .unwrap_or_default();
    let task =
        |name: &str| (!manifest["tasks"][name].is_null()).then(|| format!("deno task {name}"));
    let has_tests = files.has_any(&["tests", "test"])
        || files.has_ending(&["_test.ts", "_test.js", ".test.ts", ".test.js"]);
    EcosystemCommands {
        tests: task("test").or_else(|| has_tests.then(|| "deno test".to_owned())),
        check: task("check").or_else(|| task("lint")),
    }
}
