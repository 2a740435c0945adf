//! A full-screen page in the terminal, restored to what it was however the process ends.
//!
//! The terminal runs in raw mode on the alternate screen: keys arrive one by one and are not
//! echoed. The old settings are kept per process, so that the panic hook can restore them too.

use anyhow::{Context, Result, bail};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{Write, stderr, stdin, stdout};
use std::os::fd::AsFd;
use std::sync::{Mutex, Once, PoisonError};

/// Enters the alternate screen, hides the cursor, and turns on bracketed paste.
const TAKE: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?2004h";

const GIVE_BACK: &[u8] = b"\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";

static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

static GUARD: Once = Once::new();

/// True if standard input and output are a terminal, for reading keys and drawing.
pub fn can_be_taken() -> bool {
    isatty(stdin()) && isatty(stdout())
}

/// The columns of the terminal on standard output; `None` for a file or a pipe, or if the terminal
/// does not know its size.
pub fn columns() -> Option<usize> {
    columns_of(&stdout())
}

/// Like [`columns`], for standard error.
pub fn columns_of_errors() -> Option<usize> {
    columns_of(&stderr())
}

fn columns_of(to: &impl AsFd) -> Option<usize> {
    let size = isatty(to).then(|| tcgetwinsize(to).ok()).flatten()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// The terminal while it shows our page; dropping this restores it.
#[derive(Debug)]
pub struct Page(());

impl Page {
    /// Takes the terminal.
    ///
    /// # Errors
    /// If there is no terminal, or it rejects the settings.
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
        let describe = || "could not switch the terminal to the full-screen page";
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

/// Restores the terminal; a second call does nothing.
fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        // Errors are ignored: a terminal that has gone needs no restoring.
        let _ = put(GIVE_BACK);
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
}

fn put(bytes: &[u8]) -> std::io::Result<()> {
    let mut to = stdout();
    to.write_all(bytes).and_then(|()| to.flush())
}
