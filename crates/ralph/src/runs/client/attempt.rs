//! One process of the client, from its start to its end.

use super::command::arguments;
use super::{ClientRound, Sum, sandbox};
use crate::command::exit::{Exit, refused};
use crate::runs::worker::RoundDisplay;
use anyhow::Result;
use ralph_core::protocol::loaded::ListedPlugins;
use ralph_core::protocol::sandbox::is_prevented;
use ralph_core::stop::rounds::{self, Policy, Showed};
use ralph_core::transcript::stream::{self, Account, Lines, StreamEvent};
use ralph_io::client::SANDBOXED;
use ralph_io::process::clock;
use ralph_io::process::headless::{self, ClientStart, Listener, Log, without_secrets};
use ralph_io::process::wait_any::{InterruptRequest, Interrupts};
use ralph_io::store::home::Home;
use serde_json::json;
use std::path::Path;

pub(super) struct Attempt<'a> {
    pub(super) client: &'a Path,
    pub(super) round: &'a ClientRound,
    pub(super) so_far: &'a Sum,
    pub(super) policy: &'a Policy,
}

pub(super) struct Tried {
    pub(super) showed: Showed,
    pub(super) account: Account,
    pub(super) leftovers: Vec<String>,
    pub(super) prevented: Vec<String>,
    pub(super) log_problem: Option<String>,
    /// Why the client was ended when it started: it had loaded plugins that it must not.
    pub(super) refusal: Option<String>,
}

impl Attempt<'_> {
    pub(super) fn run(&self, interrupts: &Interrupts, shown: &RoundDisplay<'_>) -> Result<Tried> {
        // Each time: a merge of workers' branches may bring such a file.
        sandbox::refuse_agents(&self.round.place())?;
        if let Some(reach) = &self.round.sandbox {
            sandbox::refuse_widening(&Home::from_env()?, &self.round.place(), reach)?;
        }
        let args = arguments(self.round, self.round.again(self.so_far))?;
        let mut log = self.round.log()?;
        let number = self.so_far.n_attempts + 1;
        log.note(&json!({"type": "ralph", "attempt": number, "at": clock::now()}).to_string());
        let start = ClientStart {
            program: self.client,
            args: &args,
            env: &self.env(),
            unset: &self.round.unset,
            folder: self.round.folder.as_deref(),
            grace: self.policy.grace,
            background: self.round.background.unwrap_or(self.policy.grace),
        };
        let mut ear = Ear {
            lines: Lines::default(),
            account: Account::default(),
            log,
            shown,
            listed: self.round.plugins.as_ref(),
            refusal: None,
        };
        let gone = headless::run(&start, interrupts, &mut ear)
            .map_err(|error| refused(Exit::MissingProgram, format!("{error:#}")))?;
        let Ear { mut lines, mut account, mut log, refusal, .. } = ear;
        lines
            .finish(&mut |line| stream::read(line).into_iter().for_each(|said| account.hear(said)));
        // One row, so that every line of the log is a JSON document of its own.
        let words = without_secrets(&gone.last_words, &self.round.env);
        log.note(
            &json!({"type": "ralph", "exit": format!("{:?}", gone.exit), "stderr": words,
            "leftovers": gone.leftovers, "lines_passed_over": lines.passed_over()})
            .to_string(),
        );
        let hidden = self.round.sandbox.as_ref().map(|reach| reach.deny_read.as_slice());
        let prevented = hidden.map(|hidden| prevented(&account, hidden)).unwrap_or_default();
        Ok(Tried {
            prevented: prevented.iter().map(|it| without_secrets(it, &self.round.env)).collect(),
            showed: rounds::showed(&account, &gone.exit, &gone.last_words),
            leftovers: [account.left_running(), &gone.leftovers].concat(),
            account,
            log_problem: log.finish(),
            refusal,
        })
    }
}

impl Attempt<'_> {
    /// The variables of the round, and a `PATH` on which the model cannot put a `ralph` of its own.
    fn env(&self) -> Vec<(String, String)> {
        let mut env = self.round.env.clone();
        if self.round.sandbox.is_some() {
            env.push((SANDBOXED.to_owned(), "1".to_owned()));
        }
        let path =
            self.round.sandbox.as_ref().and_then(|_| sandbox::safe_path(&self.round.place()));
        env.extend(path.and_then(|path| Some(("PATH".to_owned(), path.into_string().ok()?))));
        env
    }
}

/// What the sandbox has prevented, each once.
fn prevented(account: &Account, hidden: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in account.prevented().iter().filter(|line| is_prevented(line, hidden)) {
        if !found.contains(line) {
            found.push(line.clone());
        }
    }
    found
}

/// Reads the client's output for the log, the account and the display.
struct Ear<'a> {
    lines: Lines,
    account: Account,
    log: Log,
    shown: &'a RoundDisplay<'a>,
    listed: Option<&'a ListedPlugins>,
    refusal: Option<String>,
}

impl Listener for Ear<'_> {
    fn hear(&mut self, piece: &[u8]) {
        self.log.feed(piece);
        let (account, shown) = (&mut self.account, self.shown);
        let (listed, refusal) = (self.listed, &mut self.refusal);
        self.lines.feed(piece, &mut |line| {
            let Some(said) = stream::read(line) else { return };
            if let StreamEvent::Denied { tool, why, .. } = &said {
                shown.denied(tool, why);
            }
            if let (StreamEvent::Began { plugins, .. }, Some(listed)) = (&said, listed) {
                *refusal = refusal.take().or_else(|| listed.refusal(plugins));
            }
            if let StreamEvent::Warning(text) = &said {
                shown.warns(text);
            }
            account.hear(said);
            shown.works(account);
        });
    }

    fn asked(&mut self, asked: InterruptRequest) {
        self.shown.asked(asked);
    }

    fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    fn is_settled(&self) -> bool {
        self.account.is_settled()
    }

    fn has_background(&self) -> bool {
        self.account.in_background().next().is_some()
    }
}
