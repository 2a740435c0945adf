//! The protocol of a loop that machines share through a git remote, without its effects.
//!
//! Machines write **records**. A record is a commit on the empty tree with JSON in its message. Its
//! first parent is the record before it, so that the records of a reference form a chain. A push
//! moves a reference from the value that the machine has read to the new record, and the git server
//! refuses the push if the reference has another value. That comparison alone decides who wins;
//! leases only save work.
//!
//! | file | rule |
//! |---|---|
//! | [`names`] | the references of a loop |
//! | [`text`] | the bounds of texts and names that other machines wrote |
//! | [`record`] | the records and their messages |
//! | [`plan`] | the first record of the ledger: the loop that is shared |
//! | [`chain`] | reads the commits of a reference in order; the chain of a task |
//! | [`ledger`] | the plan, verdicts, the integrator's lease, pause and end |
//! | [`view`] | both together: how each task stands |
//! | [`lease`] | whether a lease has expired, without a common clock |
//! | [`settle`] | whether a push landed |
//! | [`next_task`] | which task a worker takes |
//! | [`hand_in`] | which records one push carries |
//! | [`integrate`] | when a machine tries to become the integrator, and what it does then |
//! | [`batch`] | which finishes are merged together, and how a red batch is halved |
//! | [`ending`] | when the loop ends |
//! | [`budget`] | how often a machine pushes |

pub mod batch;
pub mod budget;
pub mod chain;
pub mod ending;
pub mod hand_in;
pub mod integrate;
pub mod lease;
pub mod ledger;
pub mod names;
pub mod next_task;
pub mod plan;
pub mod record;
pub mod settle;
pub mod text;
pub mod view;

#[cfg(test)]
pub(crate) mod fixture;
