//! `ralph round`: one round of the client, for whoever runs several at once; not for people.
//!
//! Its order comes as a line on standard input, which stays open for as long as somebody wants the
//! round: at its end the client is ended, and all that it has started.

use super::exit::{Exit, refused};
use crate::runs::client;
use crate::runs::worker::{self, RoundMessage, RoundOrder, Wire};
use anyhow::{Context, Result};
use ralph_io::client::given;
use ralph_io::process::interrupts::Interrupts;

/// Carries out the order.
pub(crate) fn run() -> Result<Exit> {
    let interrupts = Interrupts::catch()?;
    let line = given::order()?;
    let order: RoundOrder = serde_json::from_slice(&line)
        .context("could not read the order")
        .map_err(|error| refused(Exit::Usage, format!("{error:#}")))?;
    let came = order.hold().and_then(|_alone| {
        client::run_at(&order.round, &interrupts, &order.policy(), &Wire::default())
    });
    worker::tell(&match came {
        Ok(came) => RoundMessage::Came(Box::new(came)),
        Err(error) => RoundMessage::failed(&error),
    });
    Ok(Exit::Done)
}
