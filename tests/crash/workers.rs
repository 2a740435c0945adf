//! Worker processes, one for each processor: the master hands out cases and adds up what they say.
//!
//! Processes and not threads, since what the cases of a worker leave running is waited for. A process above the worker
//! adopts it: Ralph takes what stands directly below an adopter for something that the model has detached.

use crate::cases;
use crate::scene::Scene;
use crate::strike::{Choice, Tally, strike};
use rustix::io::Errno;
use rustix::process::WaitOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

/// The argument by which a worker knows itself.
pub(crate) const WORKER: &str = "--worker-of-the-crash-tests";

/// Does what the master says, line by line: a case by its number, and which of its points.
pub(crate) fn work() {
    if std::env::var_os(ADOPTED).is_none() {
        return adopt();
    }
    until_what_starts_is_younger();
    let cases = cases::all();
    for line in std::io::stdin().lines() {
        let (number, choice): (usize, Choice) = serde_json::from_str(&line.unwrap()).unwrap();
        let set = std::panic::catch_unwind(|| strike(Scene::set(cases[number]), choice));
        let tally = set.unwrap_or_else(|_| Tally {
            failures: vec![format!(
                "{}: could not be set up: {}",
                cases[number].name,
                crate::last_panic()
            )],
            ..Tally::default()
        });
        println!("{}", serde_json::to_string(&tally).unwrap());
    }
}

/// The system counts the start of a process in hundredths of a second, the portable form in seconds, and the worker has to
/// be older than the clients.
fn until_what_starts_is_younger() {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let started = stat.rsplit_once(')').and_then(|(_, after)| after.split_whitespace().nth(19));
    let Some(started) = started.and_then(|ticks| ticks.parse::<u64>().ok()) else { return };
    let least =
        if std::env::var_os("RALPH_TEST_PORTABLE").is_some() { started + 100 } else { started };
    let up = || std::fs::read_to_string("/proc/uptime").unwrap();
    while up().split(' ').next().unwrap().replace('.', "").parse::<u64>().unwrap() <= least {
        std::thread::yield_now();
    }
}

/// Set in a worker, whose parent adopts what its cases leave running.
const ADOPTED: &str = "RALPH_TEST_ADOPTED";

/// Starts the worker, and reaps everything below it until it ends.
fn adopt() {
    // Elsewhere there is no strace, and nothing is tried.
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let worker =
        Command::new(std::env::current_exe().unwrap()).arg(WORKER).env(ADOPTED, "1").spawn();
    let worker = worker.unwrap().id() as i32;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended.as_raw_pid() == worker => {
                std::process::exit(status.exit_status().unwrap_or(1));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Has all cases tried, and returns what each came to, in the order of the orders.
pub(crate) fn run(orders: &[(usize, Choice)]) -> Vec<(usize, Tally)> {
    let next = Mutex::new(orders.iter());
    let done = Mutex::new(Vec::new());
    let n_workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_workers {
            scope.spawn(|| {
                let mut worker = start();
                let mut says = BufReader::new(worker.stdout.take().unwrap()).lines();
                let mut hears = worker.stdin.take().unwrap();
                loop {
                    let order = next.lock().unwrap().next();
                    let Some(order) = order else { break };
                    writeln!(hears, "{}", serde_json::to_string(order).unwrap()).unwrap();
                    let line = says.next().expect("a worker that ends has failed").unwrap();
                    let tally: Tally = serde_json::from_str(&line).unwrap();
                    crate::report::progress(order.0, &tally);
                    done.lock().unwrap().push((order.0, tally));
                }
                drop(hears);
                worker.wait().unwrap();
            });
        }
    });
    done.into_inner().unwrap()
}

fn start() -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(WORKER).env("RALPH_TEST_BIN_DIR", crate::executables::executables());
    // Nothing of the machine's own git, and nothing that a fresh repository does not need.
    command
        .env("GIT_TEMPLATE_DIR", "")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    // In memory where that is to be had: what syncs is modelled, and not measured.
    if std::path::Path::new("/dev/shm").is_dir() {
        command.env("TMPDIR", "/dev/shm");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}
