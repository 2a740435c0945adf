//! Runs tests, with a mutant or with a record of what they reach.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;

/// An executable of tests.
pub struct Suite {
    pub executable: PathBuf,
    /// Where cargo would start it.
    pub folder: PathBuf,
    /// Suites of a lower rank are played first.
    pub rank: usize,
    /// Its tests start no process and write no file.
    pub pure: bool,
}

pub struct Test<'a> {
    pub suite: &'a Suite,
    pub name: String,
    pub seconds: f64,
    pub reached: BTreeSet<u32>,
    /// How often it was played with a mutant, and how often it noticed one.
    pub record: Record,
}

#[derive(Default)]
pub struct Record {
    played: AtomicUsize,
    noticed: AtomicUsize,
}

impl Test<'_> {
    /// The seconds that it is expected to take for each mutant that it notices.
    fn price(&self) -> f64 {
        let count = |one: &AtomicUsize| one.load(Ordering::Relaxed) as f64;
        self.seconds * (count(&self.record.played) + 1.0) / (count(&self.record.noticed) + 0.02)
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Ending {
    Passed,
    Failed,
    Late,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Fate {
    Noticed(Ending),
    /// By so many tests it was reached.
    Missed(usize),
    NotTried,
}

impl Suite {
    pub fn tests(&self) -> Outcome<Vec<Test<'_>>> {
        let mut command = Command::new(&self.executable);
        let output =
            command.current_dir(&self.folder).args(["--list", "--format", "terse"]).output()?;
        let listed = String::from_utf8(output.stdout)?;
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        let test = |name: &str| Test {
            suite: self,
            name: name.to_owned(),
            seconds: 0.0,
            reached: BTreeSet::new(),
            record: Record::default(),
        };
        Ok(names.map(test).collect())
    }
}

/// A mutant may ask for all memory.
const ALONE: &str = r#"ulimit -v 8000000; exec timeout -s KILL "$@""#;

/// A mutant may also end processes that are not its own, or leave some behind: in here it sees its own only, and its worker's
/// folder in the place whose path is compiled in. Ralph tells a person by an ancestor that is older than the client, and the
/// clock has ticks of 0.01 s.
const AMONG_ITS_OWN: &str = r#"
limit=$1
shift
root=
[ "$UID" = 0 ] || root=--map-root-user
exec timeout -s KILL "$limit" unshare $root --mount --pid --fork --mount-proc --kill-child bash -c '
    mount --bind "$RALPH_MUTANT" "$RALPH_MUTANT_STATE" && mount -t tmpfs tmpfs /dev/shm || exit
    export TMPDIR=/dev/shm
    bash -c "tick() { cut -d \" \" -f 22 /proc/self/stat; }; begun=\$(tick)
        until [ \$(tick) -gt \$((begun + 2)) ]; do :; done
        \"\$@\"; exit \$?" bash "$@"
    exit $?' bash "$@""#;

/// Where processes learn what is on, and write what they reach: each worker has such a folder.
struct Worker<'a> {
    kept: &'a Path,
    folder: PathBuf,
}

impl Worker<'_> {
    fn new(kept: &Path, number: usize) -> Outcome<Worker<'_>> {
        let folder = kept.join(format!("workers/{number}"));
        fs::create_dir_all(&folder)?;
        fs::create_dir_all(kept.join("state"))?;
        Ok(Worker { kept, folder })
    }

    /// Runs these tests of one suite in one process.
    fn run(&self, active: &str, suite: &Suite, names: &[&str], limit: Duration) -> Outcome<Ending> {
        fs::write(self.folder.join("active"), active)?;
        let mut command = Command::new("bash");
        let script = if suite.pure { ALONE } else { AMONG_ITS_OWN };
        command.current_dir(&suite.folder).args(["-c", script, "bash"]);
        command.arg(limit.as_secs_f64().to_string());
        command.arg(&suite.executable).arg("--exact").args(names);
        command.args(["--test-threads", if suite.pure { "1" } else { "2" }]);
        command
            .env("RALPH_MUTANT", &self.folder)
            .env("RALPH_MUTANT_STATE", self.kept.join("state"));
        command.env("RALPH_TEST_BIN_DIR", self.kept.join("programs"));
        // Switches make frames larger.
        command.env("RUST_MIN_STACK", "33554432").env("RUST_BACKTRACE", "0");
        let output = fs::File::create(self.folder.join("output"))?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let status = command.status()?;
        Ok(match (status.success(), status.signal()) {
            (true, _) => Ending::Passed,
            // `timeout` ends itself with the rest of its group.
            (false, Some(9)) => Ending::Late,
            (false, _) => Ending::Failed,
        })
    }

    fn reach(&self, test: &mut Test) -> Outcome<bool> {
        let reached = self.folder.join("reached");
        for _ in 0..2 {
            drop(fs::remove_file(&reached));
            let began = Instant::now();
            let ending = self.run("record", test.suite, &[&test.name], Duration::from_secs(120))?;
            test.seconds = began.elapsed().as_secs_f64();
            if ending == Ending::Passed {
                let lines = fs::read_to_string(&reached).unwrap_or_default();
                test.reached = lines.lines().filter_map(|line| line.parse().ok()).collect();
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Those of the tests that failed in the last run.
    fn failed<'t>(&self, names: &[&'t str]) -> Vec<&'t str> {
        let output = fs::read(self.folder.join("output")).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        let has_failed = |name: &&&str| output.contains(&format!("test {name} ... FAILED"));
        names.iter().filter(has_failed).copied().collect()
    }

    /// The tests are those that reach it, the best first. The first alone, then twice as many each time.
    fn play(&self, mutant: u32, tests: &[&Test]) -> Outcome<Fate> {
        let (mut rest, mut most) = (tests, 1);
        while let Some(first) = rest.first() {
            let same =
                rest.iter().take(most).take_while(|test| std::ptr::eq(test.suite, first.suite));
            let (chunk, later) = rest.split_at(same.count());
            (rest, most) = (later, most * 2);
            let seconds: f64 = chunk.iter().map(|test| test.seconds).sum();
            // What starts processes took as long while as much ran beside it.
            let (least, times, tries) =
                if first.suite.pure { (5.0, 10.0, 1) } else { (20.0, 2.0, 2) };
            let limit = Duration::from_secs_f64(least + times * seconds);
            // What waits for processes may fail for want of a processor: not twice.
            let mut names: Vec<&str> = chunk.iter().map(|test| test.name.as_str()).collect();
            let (mut ending, mut failed) = (Ending::Failed, Vec::new());
            for _ in 0..tries {
                if ending == Ending::Failed {
                    ending = self.run(&mutant.to_string(), first.suite, &names, limit)?;
                    failed = self.failed(&names);
                    if !failed.is_empty() {
                        names.clone_from(&failed);
                    }
                }
            }
            for test in chunk {
                let has_failed = usize::from(failed.contains(&test.name.as_str()));
                test.record.noticed.fetch_add(has_failed, Ordering::Relaxed);
                test.record.played.fetch_add(1, Ordering::Relaxed);
            }
            if ending != Ending::Passed {
                return Ok(Fate::Noticed(ending));
            }
        }
        Ok(Fate::Missed(tests.len()))
    }
}

/// Lets the workers take the numbers below `n` in order.
fn share<T: Send>(
    kept: &Path,
    n: usize,
    work: impl Fn(&Worker, usize) -> Outcome<T> + Sync,
) -> Outcome<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let n_workers = thread::available_parallelism()?.get();
    let take = |number: usize| -> Outcome<()> {
        let worker = Worker::new(kept, number)?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= n {
                return Ok(());
            }
            let result = work(&worker, at)?;
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..n_workers).map(|number| scope.spawn(move || take(number))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked")?)
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// Runs each test with no mutant on, learns what it reaches, and keeps those that pass: a test that watches what a process opens
/// fails because of the switch.
pub fn reach<'a>(kept: &Path, tests: Vec<Test<'a>>) -> Outcome<Vec<Test<'a>>> {
    let tests: Vec<Mutex<Test>> = tests.into_iter().map(Mutex::new).collect();
    let passed = share(kept, tests.len(), |worker, at| {
        worker.reach(&mut tests[at].lock().unwrap_or_else(PoisonError::into_inner))
    })?;
    let mut passing = Vec::new();
    for (passed, test) in passed.into_iter().zip(tests) {
        let test = test.into_inner().unwrap_or_else(PoisonError::into_inner);
        if passed {
            passing.push(test);
        } else if test.suite.pure {
            return Err(format!("{} fails without a mutant", test.name).into());
        } else {
            println!("left out, fails without a mutant: {}", test.name);
        }
    }
    Ok(passing)
}

/// Plays each mutant until `deadline`.
pub fn play(
    kept: &Path,
    mutants: &[u32],
    tests: &[Test],
    deadline: Option<Instant>,
) -> Outcome<Vec<Fate>> {
    share(kept, mutants.len(), |worker, at| {
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Ok(Fate::NotTried);
        }
        let reaching = tests.iter().filter(|test| test.reached.contains(&mutants[at]));
        // The other workers change prices meanwhile.
        let mut priced: Vec<(f64, &Test)> = reaching.map(|test| (test.price(), test)).collect();
        priced.sort_by(|(a, one), (b, other)| {
            one.suite.rank.cmp(&other.suite.rank).then(a.total_cmp(b))
        });
        let reaching: Vec<&Test> = priced.into_iter().map(|(_, test)| test).collect();
        worker.play(mutants[at], &reaching)
    })
}
