//! PHP projects: Composer's scripts, otherwise PHPUnit, Pest and PHPStan if they are configured.

use super::{EcosystemCommands, RootFiles};
use crate::shell::vacuous;
use serde_json::Value;

const CHECKS: [&str; 4] = ["phpstan", "stan", "analyse", "lint"];

pub(super) fn find(files: &RootFiles<'_>) -> EcosystemCommands {
    let manifest: Value = serde_json::from_str(&files.text("composer.json")).unwrap_or_default();
    let script = |name: &str| {
        stated(&manifest["scripts"][name]).then(|| format!("composer run-script {name}"))
    };
    let phpunit = files.has_any(&["phpunit.xml", "phpunit.xml.dist"]);
    let runner =
        if manifest["require-dev"]["pestphp/pest"].is_string() { "pest" } else { "phpunit" };
    let phpstan = files.has_any(&["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"]);
    EcosystemCommands {
        tests: script("test").or_else(|| phpunit.then(|| format!("vendor/bin/{runner}"))),
        check: CHECKS
            .iter()
            .find_map(|name| script(name))
            .or_else(|| phpstan.then(|| "vendor/bin/phpstan analyse".to_owned())),
    }
}

/// A script is a command or a list of commands.
fn stated(script: &Value) -> bool {
    match script {
        Value::String(command) => vacuous::refuse(command).is_none(),
        Value::Array(commands) => commands.iter().any(stated),
        _ => false,
    }
}
