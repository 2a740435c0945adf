//! Runs the criteria on a merge, as `ralph verify` runs them on the loop's tree, but keeps no
//! receipt: a proof for another folder proves nothing about the loop's.

use crate::verify::{self, Watcher};
use anyhow::Result;
use ralph_core::evidence::pinned;
use ralph_core::evidence::receipt::{self, ReceiptStatus};
use ralph_core::project::settings::Settings;
use ralph_core::state::{Bounds, Criterion, LoopState};
use ralph_io::store::loop_file::LoopFile;
use ralph_io::{process::clock, process::command, process::programs, store::receipts};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The criteria, each with the receipt of its last run here.
pub(crate) struct Criteria<'a> {
    all: Vec<Criterion>,
    ralph: PathBuf,
    outputs: PathBuf,
    each: Duration,
    bounds: Option<Bounds>,
    watcher: &'a dyn Watcher,
    /// Why no criterion runs; empty if they run.
    pub(crate) not_run: String,
}

impl<'a> Criteria<'a> {
    /// The criteria that the user agreed to. If one has changed since, none runs.
    pub(crate) fn for_loop(
        file: &LoopFile,
        state: &LoopState,
        watcher: &'a dyn Watcher,
    ) -> Result<Criteria<'a>> {
        let has_command = |one: &&Criterion| !one.verification_command.trim().is_empty();
        let without_receipt = |one: &Criterion| Criterion { receipt: None, ..one.clone() };
        let mut all: Vec<Criterion> =
            state.acceptance_criteria.iter().filter(has_command).map(without_receipt).collect();
        let mut not_run = String::new();
        if !pinned::is_as_frozen(state) {
            all.clear();
            not_run =
                "the criteria are not those that the person agreed to when the loop started, so \
                       none was run; `ralph criteria accept` in another terminal takes them"
                    .to_owned();
        }
        Ok(Criteria {
            all,
            ralph: programs::running()?,
            outputs: receipts::outputs(file.folder())?,
            each: Settings::from_state(state).per_command(),
            bounds: state.bounds.clone(),
            watcher,
            not_run,
        })
    }

    /// Runs all criteria one after another in a folder that holds this commit.
    pub(crate) fn run(
        &mut self,
        folder: &Path,
        commit: &str,
    ) -> Result<Vec<(String, ReceiptStatus)>> {
        let mut standings = Vec::new();
        for criterion in &mut self.all {
            self.watcher.begins(criterion);
            let name = receipts::output_name(&format!("merge-{}", criterion.id), clock::now());
            let output = self.outputs.join(name);
            // Ralph made this folder for the merge.
            let bounds = self.bounds.clone().map(|mut bounds| {
                bounds.write.push(folder.to_string_lossy().into_owned());
                bounds
            });
            let run = command::run(&command::CommandOrder {
                ralph: &self.ralph,
                command: &criterion.verification_command,
                folder,
                output: &output,
                deadline: self.each,
                bounds: bounds.as_ref(),
            })?;
            let mut receipt = verify::receipt(criterion, run, &output);
            commit.clone_into(&mut receipt.tree_before);
            commit.clone_into(&mut receipt.tree_after);
            receipt::record(criterion, receipt);
            let standing = receipt::criterion_status(criterion, None);
            self.watcher.ended(criterion, standing);
            standings.push((criterion.id.clone(), standing));
        }
        receipts::forget_outputs(&self.outputs);
        Ok(standings)
    }

    /// How many tests a criterion's last run executed, if its runner reports that.
    pub(crate) fn tests_run(&self, id: &str) -> Option<u64> {
        let receipt = self.all.iter().find(|one| one.id == id).and_then(|one| one.receipt.as_ref());
        receipt.and_then(|receipt| receipt.tests_run)
    }

    /// The end of a criterion's last output.
    pub(crate) fn tail(&self, id: &str) -> String {
        let receipt = self.all.iter().find(|one| one.id == id).and_then(|one| one.receipt.as_ref());
        receipt.map(|receipt| receipt.tail.clone()).unwrap_or_default()
    }
}
