//! Chooses between the two forms of a facility: that of Linux, and the portable one for macOS.
//!
//! A release has the form of its system and no switch. A build for tests contains both, so that
//! the portable forms are tested on Linux too, with the same executables.

/// True where the portable forms are used: on every system but Linux, and if a test asks for them.
#[inline]
pub fn is_used() -> bool {
    cfg!(not(target_os = "linux")) || is_tested()
}

/// True if a test asks for the portable forms. They then also stand for what every system has, but
/// not every file system.
#[cfg(debug_assertions)]
pub fn is_tested() -> bool {
    use std::sync::OnceLock;
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| std::env::var_os("RALPH_TEST_PORTABLE").is_some_and(|it| it == "1"))
}

/// A release has no switch. Inlined, so that nothing refers to the other form, which the linker then leaves out.
#[inline]
#[cfg(not(debug_assertions))]
pub const fn is_tested() -> bool {
    false
}

/// Why a test wants no overlay, or no system but Linux has one; `None` if one may be tried.
pub(crate) fn no_overlay() -> Option<&'static str> {
    match test_variable("RALPH_TEST_NO_OVERLAY") {
        Some(_) => Some("a test forbids overlays"),
        None => is_used().then_some("only Linux has overlays"),
    }
}

/// True if a test wants no copy of the project either.
pub(crate) fn no_copy() -> bool {
    test_variable("RALPH_TEST_NO_OVERLAY").is_some_and(|it| it == "nowhere")
}

#[cfg(debug_assertions)]
fn test_variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

#[cfg(not(debug_assertions))]
fn test_variable(_name: &str) -> Option<std::ffi::OsString> {
    None
}
