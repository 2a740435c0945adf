//! What the user adds to an orchestration: a signal while it works, or a batch of feedback.

use super::{OrchestrationStore, target};
use crate::process::clock;
use anyhow::{Result, bail};
use jiff::Timestamp;
use ralph_core::modes::orchestration::feedback;
use ralph_core::modes::orchestration::files::{OrchestrationFile, folder};
use ralph_core::modes::orchestration::id::OrchestrationId;
use ralph_core::modes::orchestration::signal::SignalKeyword;

impl OrchestrationStore {
    /// Sends a signal, and returns the path of its file; `None` if there is no such orchestration.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn send(
        &self,
        id: &OrchestrationId,
        word: SignalKeyword,
        text: &str,
        at: Timestamp,
    ) -> Result<Option<String>> {
        let content = match text.trim() {
            "" => format!("{}\n", word.as_str()),
            text => format!("{}: {text}\n", word.as_str()),
        };
        let second = clock::compact(at).replace('Z', "");
        self.put(id, &content, |number| {
            // Signals of the same moment are delivered in the order of sending.
            let nano = at.subsec_nanosecond().saturating_add(number);
            OrchestrationFile::SignalInput(&format!("{second}.{nano:09}Z")).to_string()
        })
    }

    /// Creates a batch of feedback for an iteration, and returns the path of its file; `None` if
    /// there is no such orchestration.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn feedback(
        &self,
        id: &OrchestrationId,
        iteration: u32,
        at: Timestamp,
    ) -> Result<Option<String>> {
        for later in 0..60 {
            // A folder is one batch, so another batch of the same second gets a later second.
            let at = at + jiff::SignedDuration::from_secs(later);
            let local = at.to_zoned(jiff::tz::TimeZone::system());
            let stamp = local.strftime("%Y%m%d-%H%M%S").to_string();
            let place = OrchestrationFile::Feedback { iteration, stamp: &stamp, file: "" };
            if self.folder(id).join(place.to_string()).exists() {
                continue;
            }
            let text = feedback::template(iteration, &stamp, clock::local(at));
            let place =
                OrchestrationFile::Feedback { iteration, stamp: &stamp, file: feedback::FILE };
            return self.put(id, &text, |_| place.to_string());
        }
        bail!("each second of the last minute has a feedback batch; try again later")
    }

    /// Copies a task's file before an agent replaces it, and returns the path of the copy; `None`
    /// if there is no such file.
    ///
    /// # Errors
    /// If the copy cannot be written.
    pub fn keep_task(
        &self,
        id: &OrchestrationId,
        iteration: u32,
        task: &str,
    ) -> Result<Option<String>> {
        let path = self.folder(id).join(OrchestrationFile::Task(task).to_string());
        let Some(text) = crate::project::confined::text(&self.top, &path) else { return Ok(None) };
        self.put(id, &text, |number| {
            let file = match number {
                0 => format!("replaced/{task}.md"),
                number => format!("replaced/{task}-{}.md", number + 1),
            };
            OrchestrationFile::Replanning { iteration, file: &file }.to_string()
        })
    }

    /// Writes a new file at the first free path.
    fn put(
        &self,
        id: &OrchestrationId,
        text: &str,
        place: impl Fn(i32) -> String,
    ) -> Result<Option<String>> {
        if !self.is_there(id)? {
            return Ok(None);
        }
        let _held = self.lock(id)?;
        for number in 0..1_000 {
            let name = format!("{}{}", folder(id), place(number));
            if self.top.join(&name).symlink_metadata().is_err() {
                target::write(&self.top, &name, text)?;
                return Ok(Some(name));
            }
        }
        bail!("could not find a free name for it; try again")
    }
}
