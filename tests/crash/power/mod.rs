//! Power cuts: what may be found on the disk after each step of a run, by a model of the disk.

pub(crate) mod disk;
pub(crate) mod record;
