//! The screens of the command line at the widths of real terminals.

use crate::watch::Screen;
use crate::world::World;
use serde_json::json;

pub(crate) const WIDTHS: [u16; 4] = [60, 80, 100, 200];

/// A loop whose texts are longer than any line.
fn scene() -> World {
    let world = World::new().under_git();
    let long = "Make the importer understand dates with a time zone, and name the line that it \
                could not read. ";
    let first = format!("{long}=test -f done");
    let criteria = ["--ac", &first, "--ac", "it is right=test -f right"];
    world.ralph(&[&["start", "--session", "S", "fix it"], &criteria[..]].concat()).done();
    world.write("project/done", "yes\n");
    assert_eq!(world.ralph(&["verify"]).exit, 1);
    world.change_state(|state| {
        state["prompt"] = json!(long.repeat(3));
        state["blocked"] = json!({"what": long, "at": "2026-01-31T12:00:00Z"});
        state["usage"]["tokens"]["input"] = json!(1_234_567);
    });
    let entry = json!({"at": "2026-01-31T12:00:00Z", "event": "PreToolUse", "decision": "denied",
        "why": long.repeat(2), "position": "3/25", "seen": {"tool": "Bash"}, "took_us": 10});
    world.write_journal(&format!("{entry}\n"));
    world
}

/// A line may be wider than the terminal only if it is one word or one command, which is never cut.
#[track_caller]
pub(crate) fn fits(shown: &str, width: u16, what: &str) {
    for line in shown.lines().map(str::trim) {
        let is_one = !line.contains(' ') || (line.starts_with('`') && line.ends_with('`'));
        assert!(
            line.chars().count() <= width.into() || is_one,
            "{what} at {width} columns: `{line}`\n{shown}"
        );
    }
}

#[test]
fn no_screen_is_wider_than_the_terminal_and_no_word_is_cut() {
    let Some(screen) = Screen::of(scene(), &[("NO_COLOR", "1")]) else { return };
    for arguments in [
        "status",
        "status --all",
        "explain 3",
        "verify",
        "checkpoint list",
        "verify nope",
        "doctor",
    ] {
        for width in WIDTHS {
            let shown = screen.printed((width, 200), arguments);
            fits(&shown, width, arguments);
            let goal = match arguments {
                "status" | "explain 3" => "Make the importer understand dates with a time zone",
                "status --all" => "Make",
                _ => continue,
            };
            let whole = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(whole.contains(goal), "{arguments} at {width}: {shown}");
        }
    }
    let narrow = screen.printed((60, 200), "status").lines().count();
    assert!(screen.printed((200, 200), "status").lines().count() < narrow);
    assert!(screen.printed((80, 200), "status").contains("1.2 M tokens"));
}

#[test]
fn a_terminal_has_colours_unless_they_are_unwanted() {
    for (environment, is_coloured) in [(&[][..], true), (&[("NO_COLOR", "1")][..], false)] {
        let Some(screen) = Screen::of(scene(), environment) else { return };
        for arguments in ["status", "status --all", "explain"] {
            screen.printed((80, 200), arguments);
            let shown = screen.tmux(&["capture-pane", "-p", "-e"]);
            assert_eq!(shown.contains("\u{1b}[3"), is_coloured, "{arguments}: {shown:?}");
        }
    }
    let world = scene();
    for arguments in [&["status"][..], &["status", "--all"], &["explain"]] {
        assert!(!world.ralph(arguments).done().stdout.contains('\u{1b}'), "a file has no colours");
    }
}

#[test]
fn the_page_of_watch_fits_every_terminal() {
    let Some(screen) = Screen::of(scene(), &[("NO_COLOR", "1")]) else { return };
    for width in WIDTHS {
        screen.watch((width, 24), "");
        screen.shows("q quit");
        let shown = screen.tmux(&["capture-pane", "-p", "-J"]);
        fits(&shown, width, "watch");
        assert!(shown.contains("Make the importer understand"), "{width}: {shown}");
        assert!(shown.contains("1.2 M"), "{width}: {shown}");
    }
}
