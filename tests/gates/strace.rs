//! The system calls of one run, in order, as strace saw them.

use crate::scene::{Run, Skip};

#[derive(Debug)]
pub(crate) struct SystemCall(String);

/// Those of the program and of all that it starts.
pub(crate) fn calls(run: &Run) -> Result<Vec<SystemCall>, Skip> {
    let log = tempfile::NamedTempFile::new().expect("the temporary folder can be written");
    let args = ["-f".into(), "-s".into(), "256".into(), "-o".into(), log.path().into()];
    let output = run.under("strace", &args)?;
    let log = std::fs::read_to_string(log.path()).expect("strace wrote it");
    if !log.contains("execve(") {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Skip(format!("strace could not trace here: {}", said.trim())));
    }
    assert!(output.status.success(), "the hook failed: {output:?}\n{log}");
    Ok(log.lines().filter_map(call).collect())
}

/// A line is `name(arguments) = result`, after a process id if several are traced; exits, signals and the second half of a
/// call that was interrupted in the log are not calls.
fn call(line: &str) -> Option<SystemCall> {
    let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    call.starts_with(|c: char| c.is_ascii_lowercase()).then(|| SystemCall(call.to_owned()))
}

impl SystemCall {
    fn is(&self, names: &[&str]) -> bool {
        self.0.split_once('(').is_some_and(|(name, _)| names.contains(&name))
    }

    pub(crate) fn names(&self, text: &str) -> bool {
        self.0.contains(text)
    }

    pub(crate) fn opens_in(&self, folder: &str) -> bool {
        self.is(&["open", "openat", "openat2"]) && self.names(folder)
    }

    pub(crate) fn starts_something(&self) -> bool {
        self.is(&["clone", "clone3", "fork", "vfork", "execve", "execveat"])
    }
}

#[test]
fn only_beginnings_of_calls_are_counted() {
    let log = "12 execve(\"/x\", [\"x\"], 0x7 /* 3 vars */) = 0\n12 read(0,  <unfinished ...>\n\
               13 vfork() = 14\n12 <... read resumed>\"a\", 1) = 1\n12 --- SIGCHLD {} ---\n12 +++ exited with 0 +++\n";
    let calls: Vec<_> = log.lines().filter_map(call).collect();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls.iter().filter(|call| call.starts_something()).count(), 2);
}
