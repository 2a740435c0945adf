//! Notifies a user who is looking elsewhere that a refinement is over.

use crate::command::screen;
use ralph_io::terminal::notify;

/// Notifies through the desktop, else through the terminal's own notification and its bell.
pub(super) fn give(title: &str, text: &str) {
    let (title, text) = (screen::visible(title), screen::visible(text));
    if !notify::desktop(&title, &text) {
        screen::ring(&format!("{title}: {text}"));
    }
}
