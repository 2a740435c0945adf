//! The terminal as a page that is ours alone, and that is given back as it was found, however we go.
//!
//! Keys come one by one and are not echoed, what stood on the screen waits on the terminal's other page.
//! What it was like before is kept for the whole process, so that a panic can give it back too.

use anyhow::{Context, Result, bail};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::io::{Write, stdin, stdout};
use std::sync::{Mutex, Once, PoisonError};

/// The other page, no cursor, and pasted text marked as such.
const TAKE: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?2004h";

const GIVE_BACK: &[u8] = b"\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";

static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

static GUARD: Once = Once::new();

/// True where there is a terminal to read keys from and to draw on.
pub fn can_be_taken() -> bool {
    isatty(stdin()) && isatty(stdout())
}

/// A page that was taken.
#[derive(Debug)]
pub struct Page(());

impl Page {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When there is none, or it does not do what it is told.
    pub fn take() -> Result<Page> {
        if !can_be_taken() {
            bail!("there is no terminal");
        }
        GUARD.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                give_back();
                before(info);
            }));
        });
        let describe = || "could not take the terminal";
        let found = tcgetattr(stdin()).with_context(describe)?;
        let mut raw = found.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        let page = Page(());
        tcsetattr(stdin(), OptionalActions::Now, &raw).with_context(describe)?;
        put(TAKE).with_context(describe)?;
        Ok(page)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        give_back();
    }
}

/// Once for each time that it was taken.
fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        // A terminal that is gone needs nothing back.
        let _ = put(GIVE_BACK);
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
}

fn put(bytes: &[u8]) -> std::io::Result<()> {
    let mut to = stdout();
    to.write_all(bytes).and_then(|()| to.flush())
}
