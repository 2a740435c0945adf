//! Hands on the switch that selects the portable forms of what Linux has a form of its own for.
//!
//! `RALPH_TEST_PORTABLE=1 cargo test …` runs a suite with the forms that macOS uses. Tests clear the
//! environment of what they start, so each world adds this.

/// The variable, if this run has it.
pub fn portable() -> Option<(String, String)> {
    const NAME: &str = "RALPH_TEST_PORTABLE";
    std::env::var(NAME).ok().map(|value| (NAME.to_owned(), value))
}
