//! `docs/install.md`, `docs/troubleshooting.md` and `docs/migration.md`: the doctor before and after an installation, and files of
//! other tools.

use super::{Sample, Screen, check, read, root};
use crate::executables::executables;

pub(super) const INSTALL: &[Sample] = &[("doctor-installed", installed)];
pub(super) const TROUBLESHOOTING: &[Sample] = &[("doctor", missing)];
pub(super) const MIGRATION: &[Sample] =
    &[("adopt-manifest", manifest), ("adopt-plugin", plugin), ("refine-adopted", refinery)];

/// A home with Ralph on `PATH` and a client that knows its version.
fn home() -> Screen {
    let mut screen = Screen::new();
    screen.world.write("../home/bin/claude", "#!/bin/sh\necho '2.1.328 (Claude Code)'\n");
    let client = screen.world.root().join("home/bin/claude");
    screen.printed(&format!("chmod +x '{}'", client.display()));
    screen.world.set("RALPH_CLAUDE", client.to_str().unwrap());
    let path = format!("{}:{}", executables().display(), screen.world.env["PATH"]);
    screen.world.set("PATH", &path);
    screen
}

fn installed() -> String {
    let mut screen = home();
    screen.printed("ralph install");
    screen.runs("ralph doctor | tail -n 4");
    screen.text()
}

fn missing() -> String {
    let mut screen = home();
    screen.runs("ralph doctor | grep -v '^ok'");
    screen.text()
}

/// A file as its tool writes it.
fn fixture(screen: &Screen, name: &str, path: &str) {
    let text = read(&root().join("tests/fixtures/migration").join(name));
    screen.world.write(path, &text.replace("{{root}}", &screen.world.root().display().to_string()));
}

fn manifest() -> String {
    let mut screen = Screen::new();
    fixture(&screen, "pattern-state.json", "../tmp/ralph_state.json");
    fixture(&screen, "pattern-manifest", "../tmp/ralph_session_manifest");
    screen.runs("ralph adopt ../tmp/ralph_session_manifest");
    screen.text().replace("../tmp", "/tmp")
}

fn plugin() -> String {
    let mut screen = Screen::new();
    fixture(&screen, "ralph-loop.local.md", ".claude/ralph-loop.local.md");
    screen.runs("ralph adopt .claude/ralph-loop.local.md");
    screen.text()
}

fn refinery() -> String {
    let mut screen = Screen::new();
    fixture(&screen, "refine-sessions.json", ".claude/refine-sessions.json");
    screen.runs("ralph refine list");
    screen.text()
}

#[test]
fn the_guide_to_the_installation_shows_what_appears() {
    check("docs/install.md");
}

#[test]
fn the_guide_to_trouble_shows_what_appears() {
    check("docs/troubleshooting.md");
}

#[test]
fn the_guide_to_migration_shows_what_appears() {
    check("docs/migration.md");
}
