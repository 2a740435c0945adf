//! Notifies a user who is looking elsewhere that a refinement is over.

use crate::command::{notify, screen};
use crate::refine::Refiner;
use ralph_core::project::settings::NotifySettings;
use ralph_core::views::notice::{Notice, NoticeEvent, WorkWithoutLoop};
use ralph_io::process::clock;
use ralph_io::project::settings;
use ralph_io::terminal;

/// Notifies through the desktop, else through the terminal's own notification and its bell; and
/// through the user's command, if one is set.
pub(crate) fn give(refiner: &Refiner<'_>, event: &NoticeEvent, text: &str) {
    let title = screen::visible(&format!("ralph refine: {}", refiner.name));
    let shown = screen::visible(text);
    if !terminal::desktop(&title, &shown) {
        screen::ring(&format!("{title}: {shown}"));
    }
    let here = refiner.here;
    let set = settings::read(&here.home, &here.root).0.notify();
    let project = here.root.to_string_lossy();
    let work = WorkWithoutLoop::Refinement { name: &refiner.name, project: &project };
    let clean = |text: &str| notify::clean(text, &[]);
    let notice = Notice::without_loop(&work, event, text, clock::now(), clean);
    // The desktop has it already.
    for delivery in notify::send(&NotifySettings { desktop: None, ..set }, &notice) {
        if delivery.outcome.is_err() {
            screen::tell(&format!("the notification {}", delivery.describe()));
        }
    }
}
