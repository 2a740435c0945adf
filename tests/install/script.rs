//! `install.sh` with a stand-in for `cargo`.
