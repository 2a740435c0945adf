//! Rust: rustfmt and the compiler.

use crate::Test;
use crate::project::Project;

pub(crate) const TESTS: &[Test] = tests![a_type_error_is_told_and_the_file_is_formatted];

fn a_type_error_is_told_and_the_file_is_formatted() {
    let manifest = "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let mut project =
        Project::new(&[("Cargo.toml", manifest), ("src/lib.rs", "")], &["cargo", "rustfmt", "cc"]);
    // A manager of toolchains looks for them in the home folder, which here is empty.
    for (name, folder) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
        let home = std::env::var("HOME").unwrap_or_default();
        let place = std::env::var(name).unwrap_or_else(|_| format!("{home}/{folder}"));
        project.world.set(name, &place);
    }
    let project = project.patient().looping();
    let answer = project
        .write("src/lib.rs", "pub fn f()->u32 { \"x\" }\n")
        .says(&[
            "src/lib.rs:2:5 error E0308 (",
            "mismatched types",
            "src/lib.rs was changed by rustfmt",
        ])
        .says_nothing_of(&["did not"]);
    assert_eq!(answer.text.matches("E0308").count(), 1, "{}", answer.text);
}
