//! Do workers see the commits that their loop has made? Where there is a remote, only if the client is told.

use super::check::{Check, warn, well};
use ralph_io::client::client_settings;
use ralph_io::git::worker_base;
use ralph_io::project;
use std::path::Path;

const NAME: &str = "worker base";

/// What writes the setting.
const COMMAND: &str = "ralph install --worker-base head";

/// One line; none where the client has nothing but the local commits to begin from.
pub(super) fn check(current: &Path) -> Option<Check> {
    match worker_base::has_origin(current) {
        Ok(false) => None,
        Err(error) => Some(warn(NAME, format!("{error:#}"), "mend the repository")),
        Ok(true) => Some(judge(&project::root(None, current))),
    }
}

fn judge(root: &Path) -> Check {
    let set = client_settings::worktree_base(root);
    let place = set.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    if set.is_head() {
        let detail = format!("`worktree.baseRef` is `head` in `{place}`: workers see every commit");
        return well(NAME, detail);
    }
    let lacking = match worker_base::look(root) {
        Ok(Ok(base)) => base.behind.map(|behind| {
            format!("; `{}` lacks {} of yours", behind.reference, commits(behind.commits))
        }),
        _ => None,
    };
    let detail = format!(
        "workers of /ralph-parallel begin from the branch of `origin` and see no commit that is not pushed{}",
        lacking.unwrap_or_default()
    );
    let cure = match set.value {
        Some(value) => format!("`worktree.baseRef` is `{value}` in `{place}`: write `head` there"),
        None => format!("run `{COMMAND}`"),
    };
    warn(NAME, detail, cure)
}

fn commits(n: u64) -> String {
    if n == 1 { "1 commit".to_owned() } else { format!("{n} commits") }
}
