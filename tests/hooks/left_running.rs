//! How the commands of a sandboxed round report what they leave running.

use crate::world::{World, executable};
use std::fs;

#[test]
fn only_in_a_sandboxed_round_the_commands_of_a_session_report_what_they_leave_running() {
    let mut world = World::new();
    let file = world.root().join("it's ahead.sh");
    fs::write(&file, "export OWN=1\n").unwrap();
    world.set("CLAUDE_ENV_FILE", file.to_str().unwrap());
    world.session_starts("startup").silent();
    let ahead = fs::read_to_string(&file).unwrap();
    assert!(ahead.ends_with("fi\nexport OWN=1\n") && !ahead.contains("trap"), "{ahead}");
    world.set("RALPH_SANDBOXED", "1");
    for source in ["startup", "resume", "compact"] {
        world.session_starts(source).silent();
    }
    let ahead = fs::read_to_string(&file).unwrap();
    let lines: Vec<_> = ahead.lines().collect();
    assert_eq!((lines.len(), lines[1]), (3, "export OWN=1"), "{ahead}");
    assert!(lines[2].contains(executable("ralph")) && lines[2].contains("trap"), "{ahead}");
    // Without the file, as in other events, nothing fails.
    world.set("CLAUDE_ENV_FILE", "/nowhere/at/all");
    world.session_starts("startup").silent();
}
