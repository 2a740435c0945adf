//! `settings.example.json` and `hooks/hooks.json` are what the table of hooks says.

use crate::world::repository;
use ralph_core::protocol::registration::{plugin_hooks_json, settings_example_json};

/// To bring the file up to date: `RALPH_UPDATE=1 cargo test -p ralph --test install example`
#[test]
fn the_example_settings_are_those_of_the_table() {
    let path = repository().join("settings.example.json");
    if std::env::var_os("RALPH_UPDATE").is_some() {
        std::fs::write(&path, settings_example_json()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), settings_example_json());
}

/// To bring the file up to date: `RALPH_UPDATE=1 cargo test -p ralph --test install example`
#[test]
fn the_plugins_hooks_are_those_of_the_table() {
    let path = repository().join("hooks/hooks.json");
    if std::env::var_os("RALPH_UPDATE").is_some() {
        std::fs::write(&path, plugin_hooks_json()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), plugin_hooks_json());
}
