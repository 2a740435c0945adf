//! A repository of several packages: each file is checked as its own package wants it.

use crate::Test;
use crate::project::Project;
use crate::typescript::PACKAGE;

pub(crate) const TESTS: &[Test] =
    tests![of_three_configurations_the_one_that_includes_the_file_is_taken];

/// Fine where the compiler is lax, and an error where it is strict.
const IMPLICIT: &str = "export function f(x) {\n  return x;\n}\n";

fn tsconfig(strict: bool, include: &str) -> String {
    format!(
        r#"{{"compilerOptions": {{"strict": {strict}, "noEmit": true, "target": "es2022", "module": "preserve", "types": []}}, "include": ["{include}"]}}"#
    )
}

fn of_three_configurations_the_one_that_includes_the_file_is_taken() {
    let project = Project::of_node(&[
        PACKAGE,
        ("tsconfig.json", &tsconfig(false, "scripts")),
        ("packages/lax/package.json", "{}"),
        ("packages/lax/tsconfig.json", &tsconfig(false, "src")),
        ("packages/strict/package.json", "{}"),
        ("packages/strict/tsconfig.json", &tsconfig(true, "src")),
    ])
    .patient()
    .looping();
    project.write("scripts/a.ts", IMPLICIT).says_nothing_of(&["TS7006"]);
    project.write("packages/lax/src/a.ts", IMPLICIT).says_nothing_of(&["TS7006"]);
    project
        .write("packages/strict/src/a.ts", IMPLICIT)
        .says(&["packages/strict/src/a.ts:1:19 error TS7006 (tsc): "]);
}
