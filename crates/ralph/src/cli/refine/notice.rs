//! Tells a person who looks elsewhere that a refinement is over.

use crate::command::screen;
use ralph_io::terminal::notify;

/// By the desktop, else by the terminal: its own notification, and the bell.
pub(super) fn give(title: &str, text: &str) {
    let (title, text) = (screen::visible(title), screen::visible(text));
    if !notify::desktop(&title, &text) {
        screen::ring(&format!("{title}: {text}"));
    }
}
