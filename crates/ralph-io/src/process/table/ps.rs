//! The process table as `ps` prints it on Linux and macOS.
//!
//! macOS has no `/proc`, and its own calls need `unsafe`. Each column has its `-o`: BSD's `ps`
//! takes all that follows the first `=` for a heading.

use super::{CommandLine, ProcessRow};
use crate::process;
use crate::process::waits::LIST_DEADLINE;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rustix::process::{Pid, getsid};
use std::path::PathBuf;
use std::process::Command;

/// By its path: the model can change `PATH`.
const PS: &str = "/bin/ps";

/// Where macOS has `lsof`, and where Linux has it.
const LSOF: [&str; 2] = ["/usr/sbin/lsof", "/usr/bin/lsof"];

/// More than the table of a busy machine.
const MOST: usize = 16 << 20;

/// The last one may contain spaces.
const COLUMNS: [&str; 9] =
    ["pid=", "ppid=", "pgid=", "sess=", "ruid=", "tty=", "stat=", "lstart=", "ucomm="];

/// Every process with its real user; `None` if `ps` cannot be run.
pub(super) fn rows() -> Option<Vec<(ProcessRow, u32)>> {
    let mut command = ps();
    command.args(["-ax"]).args(COLUMNS.iter().flat_map(|column| ["-o", column]));
    let (text, listing) = output(&mut command)?;
    // Without `ps` itself, which is a child of ours and has ended.
    let rows: Vec<_> =
        text.lines().filter_map(parse).filter(|(row, _)| row.pid != listing).collect();
    (!rows.is_empty()).then_some(rows)
}

pub(super) fn start_time(pid: u32) -> Option<u64> {
    let mut command = ps();
    command.args(["-o", "lstart=", "-p"]).arg(pid.to_string());
    seconds(output(&mut command)?.0.trim())
}

/// Two listings: `ps` appends the environment to the arguments, and nothing marks where it begins.
pub(super) fn command_lines(pids: &[u32]) -> Vec<CommandLine> {
    let numbers: Vec<String> = pids.iter().map(u32::to_string).collect();
    let plain = lines(&["-ww", "-p", &numbers.join(",")]);
    let with_environment = lines(&[ENVIRONMENT, "-p", &numbers.join(",")]);
    pids.iter().map(|pid| command_line(*pid, &plain, &with_environment)).collect()
}

/// Linux takes `-E` for another option, and macOS has no `e` without a dash.
const ENVIRONMENT: &str = if cfg!(target_os = "macos") { "-wwE" } else { "eww" };

/// Every process with this `NAME=value` among its arguments or in its environment.
pub(super) fn with_variable(entry: &str) -> Vec<u32> {
    let all = if cfg!(target_os = "macos") { "-axwwE" } else { "axeww" };
    let named = |line: &str| {
        let (pid, rest) = line.trim_start().split_once(' ')?;
        rest.split(' ').any(|word| word == entry).then(|| pid.parse().ok())?
    };
    lines(&[all]).lines().filter_map(named).collect()
}

/// The process id and the command line of each process.
fn lines(which: &[&str]) -> String {
    let mut command = ps();
    command.args(which).args(["-o", "pid=", "-o", "command="]);
    output(&mut command).map(|(text, _)| text).unwrap_or_default()
}

fn command_line(pid: u32, plain: &str, with_environment: &str) -> CommandLine {
    let of = |listing: &str| listing.lines().find_map(|line| of_process(line, pid));
    let arguments = of(plain).unwrap_or_default();
    let whole = of(with_environment).unwrap_or_default();
    let environment = whole.strip_prefix(arguments.as_str()).unwrap_or_default();
    // A login shell's name begins with a dash.
    let first = arguments.split(' ').next().unwrap_or_default().trim_start_matches('-');
    CommandLine {
        executable: PathBuf::from(first),
        // Arguments with spaces fall apart, which makes no difference to what is looked for.
        arguments: arguments.replace(' ', "\0"),
        environment: environment.trim_start().replace(' ', "\0"),
    }
}

fn of_process(line: &str, pid: u32) -> Option<String> {
    let (number, rest) = line.trim_start().split_once(' ')?;
    (number.parse() == Ok(pid)).then(|| rest.trim().to_owned())
}

/// The file that a process has open as its `cwd` or `txt`.
pub(super) fn open_file(pid: u32, what: &str) -> Option<PathBuf> {
    let lsof = LSOF.into_iter().find(|path| std::path::Path::new(path).exists())?;
    let mut command = Command::new(lsof);
    command.args(["-w", "-a", "-d", what, "-Fn", "-p"]).arg(pid.to_string());
    let (text, _) = output(&mut command)?;
    // Of several files, the executable is the first.
    text.lines().find_map(|line| line.strip_prefix('n')).map(PathBuf::from)
}

fn ps() -> Command {
    let mut command = Command::new(PS);
    command.env_clear().envs([
        ("LC_ALL", "C"),
        ("TZ", "UTC0"),
        // macOS: how its tools behave by default.
        ("COMMAND_MODE", "unix2003"),
    ]);
    command
}

/// What a program printed, and the process id that it had.
fn output(command: &mut Command) -> Option<(String, u32)> {
    let running = process::start(command).ok()?;
    let pid = running.id();
    let finished = running.finish(std::time::Instant::now() + LIST_DEADLINE, MOST).ok()?;
    let text = String::from_utf8_lossy(&finished.stdout).into_owned();
    (!text.trim().is_empty()).then_some((text, pid))
}

/// Parses a line of [`COLUMNS`].
fn parse(line: &str) -> Option<(ProcessRow, u32)> {
    let mut rest = line;
    let mut next = || {
        let (word, after) = rest.trim_start().split_once(' ')?;
        rest = after;
        Some(word)
    };
    let pid: u32 = next()?.parse().ok()?;
    let (parent, group) = (next()?.parse().ok()?, next()?.parse().ok()?);
    let session = session(pid, next()?).unwrap_or_default();
    let user = next()?.parse().ok()?;
    let (terminal, state) = (next()?, next()?);
    let date: Vec<&str> = std::iter::from_fn(&mut next).take(5).collect();
    let row = ProcessRow {
        pid,
        parent,
        group,
        session,
        has_terminal: !terminal.starts_with(['?', '-']),
        started: seconds(&date.join(" "))?,
        name: rest.trim().to_owned(),
        has_ended: state.starts_with(['Z', 'X']),
    };
    Some((row, user))
}

/// macOS prints an address, so the kernel is asked. Linux has processes without a session, which
/// `getsid` does not expect.
fn session(pid: u32, printed: &str) -> Option<u32> {
    if cfg!(target_os = "linux") {
        return printed.parse().ok();
    }
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    u32::try_from(getsid(Some(pid)).ok()?.as_raw_nonzero().get()).ok()
}

/// Seconds since 1970 of `Wed Nov 25 21:29:54 2026`.
fn seconds(date: &str) -> Option<u64> {
    let date = DateTime::strptime("%a %b %e %H:%M:%S %Y", date).ok()?;
    u64::try_from(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_either_system_is_read() {
        let linux = "  315   314   315     9  1000 pts/0    Ss+  Wed Nov 25 21:29:54 2026 a b";
        let (row, user) = parse(linux).unwrap();
        assert_eq!((row.pid, row.parent, row.group, user), (315, 314, 315, 1000));
        assert_eq!((row.name.as_str(), row.has_terminal, row.has_ended), ("a b", true, false));
        assert_eq!(row.started, 1_795_642_194);
        let macos =
            "99412 99410 99412      0   501 ttys003  S+   Sat Nov  7 09:05:01 2026     claude";
        let (row, user) = parse(macos).unwrap();
        assert_eq!((row.pid, user, row.name.as_str()), (99412, 501, "claude"));
        let daemon =
            "    1     0     1      0     0 ??       Ss   Sun Jan  4 10:00:00 2026     launchd";
        let (row, _) = parse(daemon).unwrap();
        assert_eq!((row.pid, row.parent, row.has_terminal), (1, 0, false));
        let zombie = "  7 1 7 0 501 ??       Z    Sun Jan  4 10:00:00 2026     (sh)";
        assert!(parse(zombie).unwrap().0.has_ended);
        assert_eq!(parse("PID PPID"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn the_environment_is_what_follows_the_arguments() {
        let plain = "   12 -zsh\n   13 node /opt/claude -p x\n";
        let whole = "   12 -zsh\n   13 node /opt/claude -p x CLAUDE_PID=4 HOME=/u\n";
        let login = command_line(12, plain, whole);
        assert_eq!(login.executable, PathBuf::from("zsh"));
        assert_eq!(login.environment, "");
        let node = command_line(13, plain, whole);
        assert_eq!(node.arguments, "node\0/opt/claude\0-p\0x");
        assert_eq!(node.environment, "CLAUDE_PID=4\0HOME=/u");
        assert_eq!(command_line(14, plain, whole), CommandLine::default());
    }
}
