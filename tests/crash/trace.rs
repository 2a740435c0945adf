//! What strace wrote down of one run: every system call of every process, in the order in which
//! they ended.
//!
//! The log is asked for with `-f -y -xx`: descriptors come with their paths and all strings are
//! hexadecimal, so a comma or a quote in a line is never part of a name or of content.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// What makes strace write such a log.
pub(crate) const FLAGS: [&str; 6] = ["-f", "-y", "-xx", "-s", "10000000", "-qq"];

/// One system call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    /// What it returned; none if it did not return a number.
    pub(crate) result: Option<i64>,
}

/// All calls of a log.
pub(crate) fn parse(log: &str) -> Vec<Call> {
    let mut begun: HashMap<u32, String> = HashMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let (Ok(pid), rest) = (pid.parse(), rest.trim_start()) else { continue };
        if let Some(first) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(pid, first.to_owned());
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let second = resumed.split_once("resumed>").map_or("", |(_, second)| second);
            let first = begun.remove(&pid).unwrap_or_default();
            calls.extend(call(pid, &format!("{first}{second}")));
        } else {
            calls.extend(call(pid, rest));
        }
    }
    calls
}

/// `name(arguments) = result`; exits and signals are no calls.
fn call(pid: u32, text: &str) -> Option<Call> {
    let (name, rest) = text.split_once('(')?;
    if !name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
        return None;
    }
    let (args, result) = rest.rsplit_once(" = ").unwrap_or((rest, "?"));
    let args = split(args.trim_end().trim_end_matches(')'));
    let result = result.split([' ', '<']).next().and_then(|number| number.parse().ok());
    Some(Call { pid, name: name.to_owned(), args, result })
}

/// At the commas that stand outside of structures and lists.
fn split(args: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut depth = 0_i32;
    for letter in args.chars() {
        depth += i32::from("{[".contains(letter)) - i32::from("}]".contains(letter));
        match letter {
            ',' if depth == 0 => found.push(String::new()),
            _ => found.last_mut().expect("it begins with one").push(letter),
        }
    }
    found.into_iter().map(|arg| arg.trim().to_owned()).collect()
}

impl Call {
    pub(crate) fn arg(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }

    /// The bytes of a string argument.
    pub(crate) fn bytes(&self, at: usize) -> Vec<u8> {
        let quoted = self.arg(at).split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
        quoted.map_or(Vec::new(), |(hex, _)| decode(hex))
    }

    /// The number of a descriptor argument.
    pub(crate) fn descriptor(&self, at: usize) -> Option<i32> {
        self.arg(at).split('<').next()?.parse().ok()
    }

    /// Where a descriptor argument leads: a path, `pipe:[7]`, …
    pub(crate) fn place(&self, at: usize) -> PathBuf {
        let inner = self.arg(at).split_once('<').and_then(|(_, rest)| rest.rsplit_once('>'));
        inner.map_or(PathBuf::new(), |(hex, _)| OsString::from_vec(decode(hex)).into())
    }

    /// The path in one argument, seen from the folder in the one before it where there is one.
    pub(crate) fn path(&self, folder: Option<usize>, at: usize) -> PathBuf {
        let path = PathBuf::from(OsString::from_vec(self.bytes(at)));
        folder.map_or(path.clone(), |folder| self.place(folder).join(path))
    }

    /// Whether it asks for something to be written to a disk: what may fail when that is full.
    pub(crate) fn is_write_like(&self) -> bool {
        match self.name.as_str() {
            "open" => self.arg(1).contains("O_CREAT"),
            "openat" => self.arg(2).contains("O_CREAT"),
            "write" | "writev" | "pwrite64" | "fsync" | "fdatasync" | "ftruncate" | "fchmod"
            | "sendfile" | "copy_file_range" | "fallocate" => self.is_on_disk(),
            name => ["rename", "link", "symlink", "unlink", "mkdir", "rmdir", "creat", "truncate"]
                .iter()
                .any(|kind| name.starts_with(kind)),
        }
    }

    fn is_on_disk(&self) -> bool {
        let place = self.place(0);
        let is_device = place.starts_with("/dev") && !place.starts_with("/dev/shm");
        place.is_absolute() && !is_device && !place.starts_with("/proc")
    }

    /// Whether it writes to where the one who started the process reads its answer.
    pub(crate) fn answers(&self) -> bool {
        self.name.starts_with("write") && self.descriptor(0) == Some(1)
    }
}

fn decode(hex: &str) -> Vec<u8> {
    let bytes = hex.split("\\x").skip(1);
    bytes.filter_map(|byte| u8::from_str_radix(byte.get(..2)?, 16).ok()).collect()
}

/// A call by its name and its count among those of that name in its process, from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) n: usize,
}

/// The points of the process that was started, in order; with whether each is write-like.
pub(crate) fn points(calls: &[Call]) -> Vec<(Point, bool)> {
    let first = calls.first().map_or(0, |call| call.pid);
    of_process(calls, first)
}

/// The points that any process reached that the first one started.
pub(crate) fn points_of_family(calls: &[Call]) -> Vec<(Point, bool)> {
    let first = calls.first().map_or(0, |call| call.pid);
    let mut pids: Vec<u32> =
        calls.iter().map(|call| call.pid).filter(|pid| *pid != first).collect();
    pids.sort_unstable();
    pids.dedup();
    let mut found: BTreeMap<Point, bool> = BTreeMap::new();
    for (point, write_like) in pids.into_iter().flat_map(|pid| of_process(calls, pid)) {
        *found.entry(point).or_default() |= write_like;
    }
    found.into_iter().collect()
}

fn of_process(calls: &[Call], pid: u32) -> Vec<(Point, bool)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let own = calls.iter().filter(|call| call.pid == pid);
    own.map(|call| {
        let n = counts.entry(&call.name).or_default();
        *n += 1;
        (Point { name: call.name.clone(), n: *n }, call.is_write_like())
    })
    .collect()
}

/// Reads a log that strace wrote.
pub(crate) fn read(path: &Path) -> Vec<Call> {
    parse(&String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()))
}

/// The tests of this module.
pub(crate) const TESTS: &[(&str, fn())] = &[
    ("a_call_that_another_process_interrupted_in_the_log_is_one_call", interrupted),
    ("arguments_are_told_apart_and_read", arguments),
];

fn interrupted() {
    let log = "7 write(4<\\x2f\\x61>, \"\\x68\\x69\", 2 <unfinished ...>\n\
               8 getpid() = 8\n7 <... write resumed>) = 2\n7 --- SIGCHLD {si_code=1} ---\n\
               7 +++ exited with 0 +++\n7 exit_group(0) = ?\n";
    let calls = parse(log);
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["getpid", "write", "exit_group"]);
    assert_eq!((calls[1].bytes(1), calls[1].result), (b"hi".to_vec(), Some(2)));
    assert_eq!(points(&calls).len(), 1, "the first process is the one that was started");
    assert_eq!(points_of_family(&calls).len(), 2);
}

fn arguments() {
    let log = "7 openat(AT_FDCWD<\\x2f\\x61>, \"\\x62\", O_WRONLY|O_CREAT, 0600) = 3<\\x2f>\n\
               7 writev(3<\\x2f\\x61>, [{iov_base=\"\\x62\", iov_len=1}], 1) = 1\n";
    let calls = parse(log);
    assert_eq!(calls[0].path(Some(0), 1), Path::new("/a/b"));
    assert_eq!((calls[0].arg(3), calls[0].result), ("0600", Some(3)));
    assert_eq!((calls[1].descriptor(0), calls[1].place(0)), (Some(3), PathBuf::from("/a")));
    assert!(calls.iter().all(Call::is_write_like));
}
