//! Installing, taking it back, and the doctor, through the real executable in a private home.

#![allow(clippy::disallowed_methods, reason = "a test starts programs itself")]

mod doctor;
mod example;
mod install;
mod script;
mod stow;
mod uninstall;
mod world;
