//! `ralph exchange`: one exchange with the remote of a shared loop, in a process of its own; not for
//! users. A call of git may hang for minutes, and the run must hear its clients and the user.

use crate::command::exit::Exit;
use anyhow::Result;
use ralph_io::git::shared::{Exchange, ExchangeReport, SharedPlace};
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub(super) const COMMAND: &str = "exchange";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExchangeOrder {
    pub(super) place: SharedPlace,
    pub(super) exchange: Exchange,
    /// How long one call of git may take.
    pub(super) longest_call: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExchangeAnswer {
    Report(ExchangeReport),
    /// The exchange was not made, for this reason.
    Failed(String),
}

impl ExchangeOrder {
    pub(super) fn carry_out(&self) -> ExchangeAnswer {
        let report = self.place.open().and_then(|mut repository| {
            repository.set_deadline(self.longest_call);
            repository.exchange(&self.exchange)
        });
        match report {
            Ok(report) => ExchangeAnswer::Report(report),
            Err(error) => ExchangeAnswer::Failed(format!("{error:#}")),
        }
    }
}

pub(crate) fn run() -> Result<Exit> {
    let order: ExchangeOrder = super::order()?;
    super::print_line(&order.carry_out())?;
    Ok(Exit::Done)
}
