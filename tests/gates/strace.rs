//! The system calls of one run, in order, as strace saw them.

use crate::scene::{Run, Skip};

#[derive(Debug)]
pub(crate) struct SystemCall(String);

/// Those of the program and of all that it starts.
pub(crate) fn calls(run: &Run) -> Result<Vec<SystemCall>, Skip> {
    traced(run, &["-f"])
}

/// Those of the program alone. With nothing else in the log, each call has its result on its line.
pub(crate) fn own_calls(run: &Run) -> Result<Vec<SystemCall>, Skip> {
    traced(run, &[])
}

fn traced(run: &Run, follow: &[&str]) -> Result<Vec<SystemCall>, Skip> {
    let log = tempfile::NamedTempFile::new().expect("the temporary folder can be written");
    let mut args: Vec<_> = follow.iter().map(Into::into).collect();
    args.extend(["-s".into(), "256".into(), "-o".into(), log.path().into()]);
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

    /// The bytes that it read.
    pub(crate) fn bytes_read(&self) -> u64 {
        let result = self.0.rsplit_once(" = ").map_or("", |(_, result)| result);
        let bytes = result.split(' ').next().and_then(|bytes| bytes.parse().ok());
        bytes.filter(|_| self.is(&["read", "readv", "pread64", "preadv"])).unwrap_or(0)
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

#[test]
fn the_bytes_of_a_read_are_its_result() {
    let log = "read(0, \"a = 7\"..., 4096) = 4096\nread(0, \"\", 4096)           = 0\nwrite(1, \"b\", 1) = 1\n\
               read(3, 0x7, 9) = -1 EAGAIN (Resource temporarily unavailable)\npread64(4, \"c\"..., 9, 0) = 9\n";
    let bytes: Vec<_> = log.lines().filter_map(call).map(|call| call.bytes_read()).collect();
    assert_eq!(bytes, [4096, 0, 0, 0, 9]);
}
