//! Installing, taking it back, and the doctor, through the real executable in a private home.

#![allow(clippy::disallowed_methods, reason = "a test starts programs itself")]
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod apple;
mod cargo;
mod doctor;
mod example;
mod install;
mod macho;
mod packages;
mod plugin;
mod prebuilt;
mod release;
mod script;
mod stow;
mod uninstall;
mod versions;
mod workflows;
mod world;

use ralph_test_support::executables;
