//! How long Ralph waits for processes, and how often it looks again.

use std::time::Duration;

/// A deadline further away is cut to this, and nothing waits longer.
pub(crate) const FAR: Duration = Duration::from_secs(366 * 24 * 3600);

/// How often a caller is asked whether its program is still wanted.
pub(crate) const STILL_WANTED: Duration = Duration::from_secs(1);

/// How long output may still arrive after the program has ended.
pub(crate) const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// How long a supervisor may take after the deadline to end everything and store the output. One
/// that takes longer was stopped or worse, and counts as lost.
pub(crate) const SUPERVISOR_MARGIN: Duration = Duration::from_secs(15);

/// How long a process of a command may take to end after SIGTERM.
pub(crate) const COMMAND_GRACE: Duration = Duration::from_millis(500);

/// The same for a client: it ends its own shells, runs its session-end hooks, and in a sandbox removes its files
/// from the project.
pub(crate) const CLIENT_GRACE: Duration = Duration::from_secs(2);

/// How often one that has to end is looked for again: it may have started others since the last list was
/// read.
pub(crate) const END_AGAIN: Duration = Duration::from_millis(50);

/// When we give up on a process that was killed: one that is alive by then is out of our power.
pub(crate) const END_PATIENCE: Duration = Duration::from_secs(10);

/// The interval between checks whether a client that has ended left anything alive.
pub(crate) const FAMILY_AGAIN: Duration = Duration::from_millis(100);

/// How long a process that a command leaves may take to end by itself: the command may have just killed it.
pub(crate) const LEFT_PATIENCE: Duration = Duration::from_millis(500);

/// The interval between two looks at what a command leaves.
pub(crate) const LEFT_AGAIN: Duration = Duration::from_millis(10);

/// The longest single wait for the user: for systems that report no file changes, and for changes while the
/// machine slept.
pub(crate) const CHANGE_AGAIN: Duration = Duration::from_secs(60);

/// How often files are looked at where the system reports no changes: short enough for a person who watches, and long enough for some hundred files.
pub(crate) const WATCH_AGAIN: Duration = Duration::from_millis(200);

/// The longest time without the executables during an upgrade with npm, which fetches the new package after
/// it has removed the old one.
pub(crate) const UPGRADE: Duration = Duration::from_secs(60);

/// Far more than an overlay takes, on a machine under load.
pub(crate) const TRIAL: Duration = Duration::from_secs(10);

/// Far more than `ps` takes.
pub(crate) const LIST_DEADLINE: Duration = Duration::from_secs(5);
