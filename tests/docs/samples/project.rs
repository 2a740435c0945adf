//! `docs/context.md` and `docs/checks.md`: what Ralph reads in a project and what it finds in an edit.

use super::{Sample, Screen, check};
use crate::world::World;

pub(super) const CONTEXT: &[Sample] = &[("context", context)];
pub(super) const CHECKS: &[Sample] = &[("check", found)];

fn context() -> String {
    let mut screen = Screen::of(World::new().with_facts());
    screen.world.git("rm -q tracked");
    screen.world.write("src/date.js", "");
    screen.world.write(
        "package.json",
        r#"{"name": "dates", "scripts": {"test": "node --test", "build": "node build.js"}, "dependencies": {"luxon": "^3.4.0"}}"#,
    );
    screen.runs("ralph context");
    screen.text()
}

fn found() -> String {
    let mut screen = Screen::new();
    screen.world.write("config.json", "{\"port\": 8080\n \"host\": \"localhost\"}\n");
    screen.runs("ralph check config.json");
    screen.text()
}

#[test]
fn the_guide_to_project_facts_shows_what_appears() {
    check("docs/context.md");
}

#[test]
fn the_guide_to_checks_shows_what_appears() {
    check("docs/checks.md");
}
