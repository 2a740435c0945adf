//! The same story with the real client.

use super::Shown;
use super::play::Play;
use super::stage::Stage;
use anyhow::{Result, bail};

/// Plays the whole story.
pub(super) fn play(_stage: &Stage, _play: Play<'_>) -> Result<Shown> {
    bail!("the real client cannot be shown yet")
}
