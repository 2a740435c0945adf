//! Measures the commands of the task store and the status line at 10, 1,000 and 10,000 tasks.
//!
//! Every figure covers a whole process, as a driver or a worker starts it: it finds the loop, reads
//! the state, changes it and writes it, synced. Absolute times depend on the machine and its disk;
//! growth in step with the tasks does not.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a bench starts programs")]

#[allow(dead_code, reason = "the bench of the hooks needs the rest")]
#[path = "hooks/built.rs"]
mod built;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The command line as shipped.
static RALPH: LazyLock<PathBuf> =
    LazyLock::new(|| built::neighbour(built::linkage()).expect("`ralph` can be built"));

const SIZES: [usize; 3] = [10, 1_000, 10_000];

/// The most that a claim among ten thousand tasks may take.
const CLAIM_MS: f64 = 50.0;

/// The most that a status line may take for a loop of a thousand tasks.
const LINE_MS: f64 = 5.0;

/// The most by which ten times the tasks may multiply the time: ten, and a share for the
/// machine's caches, which see three megabytes instead of three hundred kilobytes. Quadratic
/// growth would be a hundred.
const GROWTH: f64 = 20.0;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` also starts benches, to check that they start.
    if !args.iter().any(|arg| arg == "--bench") {
        println!("not measuring: run by `cargo bench -p ralph --bench tasks`");
        return ExitCode::SUCCESS;
    }
    let rounds = if args.iter().any(|arg| arg == "--short") { 7 } else { 31 };
    let shops: Vec<Shop> = SIZES.map(Shop::with).into();
    let mut missed = false;
    println!(
        "{:<34}{:>10}{:>10}{:>10}   growth",
        "median of whole processes, ms", 10, 1_000, 10_000
    );
    for (name, measure) in MEASURED {
        let mut samples = vec![Vec::new(); shops.len()];
        // In turn, so that a slow minute of the machine affects all sizes.
        for _ in 0..rounds {
            for (shop, samples) in shops.iter().zip(&mut samples) {
                samples.push(measure(shop));
            }
        }
        missed |= !judge(name, &samples.into_iter().map(median).collect::<Vec<_>>());
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// A command, and the function that measures it.
type Measured = (&'static str, fn(&Shop) -> Duration);

const MEASURED: [Measured; 7] = [
    ("ralph task ready", |shop| shop.time(&["task", "ready"], "")),
    (CLAIM, |shop| {
        // All rounds claim the same task, so that all find the same graph.
        shop.time(&["task", "release", "T-3"], "");
        shop.time(&["task", "claim"], "")
    }),
    ("ralph task list --all --markdown", |shop| {
        shop.time(&["task", "list", "--all", "--markdown"], "")
    }),
    ("ralph task lint", |shop| shop.time(&["task", "lint"], "")),
    ("ralph plan-sync (no difference)", |shop| shop.time(&["plan-sync"], &shop.lines)),
    (LINE, |shop| shop.line("S", "Ralph 0/25 | tasks 0/")),
    ("ralph statusline (no loop)", |shop| shop.line("T", "\n")),
];

const LINE: &str = "ralph statusline";

const CLAIM: &str = "ralph task claim";

fn judge(name: &str, medians: &[f64]) -> bool {
    let growth = medians[2] / medians[1];
    let mut row = format!("{name:<34}");
    for median in medians {
        let _ = write!(row, "{median:>10.1}");
    }
    let linear = growth <= GROWTH;
    let _ = write!(row, "   {growth:.1}, bar <= {GROWTH}   {}", mark(linear));
    let fast = name != CLAIM || medians[2] <= CLAIM_MS;
    if name == CLAIM {
        let _ = write!(row, "; {:.1} ms, bar <= {CLAIM_MS} ms   {}", medians[2], mark(fast));
    }
    let quick = name != LINE || medians[1] <= LINE_MS;
    if name == LINE {
        let _ = write!(row, "; {:.1} ms, bar <= {LINE_MS} ms   {}", medians[1], mark(quick));
    }
    println!("{row}");
    linear && fast && quick
}

fn mark(held: bool) -> &'static str {
    if held { "ok" } else { "MISS" }
}

fn median(mut samples: Vec<Duration>) -> f64 {
    samples.sort_unstable();
    samples[samples.len() / 2].as_secs_f64() * 1_000.0
}

/// A project with a planned loop; of its seven tasks without dependencies six are claimed.
struct Shop {
    folder: tempfile::TempDir,
    lines: String,
    /// A loop of as many tasks that runs in the session `S`.
    live: Option<Box<Shop>>,
}

impl Shop {
    fn with(count: usize) -> Shop {
        let live = Shop::planned(count);
        live.time(&["start", "--session", "S"], "");
        let shop = Shop { live: Some(Box::new(live)), ..Shop::planned(count) };
        // Only T-3 is ready afterwards.
        for _ in 0..7 {
            shop.time(&["task", "claim"], "");
        }
        shop.time(&["task", "release", "T-3"], "");
        shop
    }

    fn planned(count: usize) -> Shop {
        let folder = tempfile::tempdir().unwrap();
        let shop = Shop { folder, lines: lines(count), live: None };
        std::fs::create_dir(shop.folder.path().join("project")).unwrap();
        shop.time(&["plan-sync"], &shop.lines);
        shop
    }

    /// Times the status line of a session, whose text must start with `begins`.
    fn line(&self, session: &str, begins: &str) -> Duration {
        let shop = self.live.as_ref().unwrap();
        let (took, printed) =
            shop.call(&["statusline"], &format!(r#"{{"session_id":"{session}"}}"#));
        assert!(printed.starts_with(begins), "{printed}");
        took
    }

    fn time(&self, arguments: &[&str], stdin: &str) -> Duration {
        self.call(arguments, stdin).0
    }

    fn call(&self, arguments: &[&str], stdin: &str) -> (Duration, String) {
        let root = self.folder.path();
        let mut command = Command::new(&*RALPH);
        command.args(arguments).env_clear().env("HOME", root).env("RALPH_HOME", root.join("ralph"));
        command.env("NO_COLOR", "1");
        command.current_dir(root.join("project"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let took = began.elapsed();
        // A wrong answer has no speed.
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        (took, String::from_utf8(output.stdout).unwrap())
    }
}

/// JSON lines of tasks in seven chains.
fn lines(count: usize) -> String {
    let line = |n: usize| {
        let deps = if n > 7 { format!("\"T-{}\"", n - 7) } else { String::new() };
        format!(
            "{{\"id\":\"T-{n}\",\"name\":\"Do the piece of work number {n} of the whole\",\
             \"deps\":[{deps}],\"completion_condition\":\"the test of piece {n} passes\",\
             \"files\":[\"src/part{n}.rs\"]}}\n"
        )
    };
    (1..=count).map(line).collect()
}
