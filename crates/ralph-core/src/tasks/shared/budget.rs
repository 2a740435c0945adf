//! How often a machine pushes: hosts recommend a limit for each repository.

use std::time::Duration;

/// Pushes to a repository in a minute, unless a setting says otherwise.
pub const PUSHES_PER_MINUTE: u32 = 6;

const MINUTE: Duration = Duration::from_secs(60);

/// How long a machine has to wait before its next push; zero if it may push now. `live` machines
/// share the limit equally. `since` lists how long ago this machine pushed.
pub fn wait(per_minute: u32, live: usize, since: &[Duration]) -> Duration {
    let live = u32::try_from(live).unwrap_or(u32::MAX).max(1);
    let per_minute = per_minute.max(1);
    // Either several pushes in a minute, or one in several minutes.
    let (pushes, window) = match per_minute / live {
        0 => (1, MINUTE.saturating_mul(live).div_f64(per_minute.into())),
        share => (share as usize, MINUTE),
    };
    let mut recent: Vec<Duration> = since.iter().copied().filter(|ago| *ago < window).collect();
    recent.sort_unstable();
    // The push that leaves the window first among the newest `pushes`.
    recent.get(pushes - 1).map_or(Duration::ZERO, |ago| window - *ago)
}

#[cfg(test)]
mod tests;
