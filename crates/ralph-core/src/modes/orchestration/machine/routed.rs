//! The router's answer, reduced to the values from which a stop is decided.

use super::super::snapshot::Snapshot;
use super::step::{Act, MachineStep};
use crate::stop::{Routed, RouterStep};
use crate::text::hex::hex;
use sha2::{Digest, Sha256};

impl MachineStep {
    /// `after` is the orchestration after this step's changes are written.
    pub fn routed(&self, after: &Snapshot) -> Routed {
        let (due, says) = match &self.act {
            Act::Invoke(_) => (RouterStep::Call, self.act.to_string()),
            Act::Wait { .. } => (RouterStep::Wait, self.act.to_string()),
            Act::Paused(text) => (RouterStep::Paused, said("paused by PAUSE", text)),
            Act::Stopped(text) => (RouterStep::Stopped, said("ended by STOP", text)),
            Act::Complete => (RouterStep::Complete, self.act.to_string()),
            Act::AwaitingFeedback(open) => (RouterStep::AwaitingFeedback, open.join("; ")),
            Act::Failed(why) => (RouterStep::Failed, why.clone()),
        };
        Routed { due, stands: standing(after, &says), says, heard: self.heard.clone() }
    }
}

fn said(what: &str, text: &str) -> String {
    match text.trim() {
        "" => what.to_owned(),
        text => format!("{what}: {text}"),
    }
}

/// A digest of all files and of the next action, to detect progress.
fn standing(after: &Snapshot, says: &str) -> String {
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update(text.as_bytes());
        digest.update([0]);
    };
    for (path, text) in &after.files {
        add(path);
        // A new update time is not progress.
        let lines = text.iter().flat_map(|text| text.lines());
        lines.filter(|line| !line.trim_start().starts_with("updated_at:")).for_each(&mut add);
    }
    add(says);
    hex(&digest.finalize()[..8])
}
