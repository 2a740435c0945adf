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
//! | [`record`] | the records and their messages; the ledger's first one is the loop that is shared |
//! | [`view`] | the records of each task and of the ledger in order, and how each task stands |
//! | [`timing`] | whether a lease has expired, whether a push landed, how often a machine pushes |
//! | [`work`] | which task a worker takes, what is merged together, and when the loop ends |

pub mod names;
pub mod record;
pub mod text;
pub mod timing;
pub mod view;
pub mod work;

#[cfg(test)]
pub(crate) mod fixture;
