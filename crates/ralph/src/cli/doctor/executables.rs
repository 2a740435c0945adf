//! Are the hooks beside `ralph`, and do they start?

use super::check::{Check, fail, well};
use ralph_core::registration::HOOK_EXECUTABLES;
use ralph_io::outside;
use ralph_io::probe::{self, Ended, Program};
use std::path::Path;
use std::time::Duration;

const NAME: &str = "executables";
const DEADLINE: Duration = Duration::from_secs(5);

/// An event that no client sends: a hook must ignore it.
const UNKNOWN_EVENT: &str =
    "{\"hook_event_name\":\"RalphDoctor\",\"session_id\":\"ralph-doctor\"}\n";

/// One line if all are well, else one for each that is not.
pub(super) fn check(folder: &Path) -> Vec<Check> {
    let wrong: Vec<Check> = HOOK_EXECUTABLES
        .into_iter()
        .filter_map(|name| trouble(&folder.join(name)).map(|what| (name, what)))
        .map(|(name, what)| {
            let cure = "run `./install.sh` again, or copy it there";
            fail(NAME, format!("`{name}` in `{}` {what}", folder.display()), cure)
        })
        .collect();
    if wrong.is_empty() {
        let n_hooks = HOOK_EXECUTABLES.len();
        return vec![well(NAME, format!("`ralph` and {n_hooks} hooks in `{}`", folder.display()))];
    }
    wrong
}

fn trouble(path: &Path) -> Option<String> {
    let Some(access) = outside::access(path) else { return Some("is missing".to_owned()) };
    if !access.is_file {
        return Some("is not a file".to_owned());
    }
    if access.mode & 0o111 == 0 {
        return Some("is not executable".to_owned());
    }
    let command = path.to_string_lossy();
    let program = Program {
        command: &command,
        args: Vec::new(),
        folder: Path::new("/"),
        stdin: UNKNOWN_EVENT,
        env: Vec::new(),
        deadline: DEADLINE,
    };
    match probe::run(&program) {
        Err(error) => Some(format!("does not start ({error:#})")),
        Ok(outcome) => match outcome.ended {
            Ended::Exited(0) => None,
            Ended::Exited(code) => Some(format!("ended with exit code {code}")),
            Ended::Signalled(signal) => Some(format!("was ended by signal {signal}")),
            Ended::Overdue => Some(format!("gave no answer in {} s", DEADLINE.as_secs())),
        },
    }
}
