//! Installs and removes Ralph, and finds what is wrong with an installation.

pub(crate) mod doctor;
pub(crate) mod install;
pub(crate) mod places;
pub(crate) mod tell;
pub(crate) mod uninstall;
