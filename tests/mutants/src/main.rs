//! Mutation testing of a seeded sample: all mutants are compiled at once, each behind a switch, and each is played by the tests
//! that reach it, until one fails.
//!
//! cargo-mutants says which mutants there are. It would build the crate once for each: days for the rules alone.

// Starts programs, as the tests do.
#![allow(clippy::disallowed_methods)]

mod play;
mod rewrite;
mod tree;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use play::{Ending, Fate};
use serde_json::Value;
use tree::{Built, Places, Tree};

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "\
Usage: tests/mutants/run [--sample N] [--seed S] [--under PATHS] [--tests LIST]
       tests/mutants/run --changed [BASE] [--minutes N] [--seed S]

Plays a sample of the mutants of ralph-core by its tests, and lists those that no test notices. 98 % must be noticed.

--sample N        300 by default; tests/mutants/score is written unless one of the next two is given
--seed S          repeats a sample, or the order in which changes are tried
--under PATHS     a sample of the files below each of these, as in crates/ralph-io/src/store,crates/ralph/src/runs
--tests LIST      lib by default; others are the process-starting suites, as in lib,hooks,cli (Linux only)
--changed [BASE]  all mutants of ralph-core in lines that changed since BASE, of which 90 % must be noticed (default: the
                  merge base with origin/main, or the commit before the last)
--minutes N       plays for N minutes at most
";

/// What is tried if nothing else is named.
const CORE: &str = "crates/ralph-core/src/";

pub struct Mutant {
    /// As cargo-mutants says it.
    pub name: String,
    pub file: String,
    pub genre: String,
    /// Line and column, from 1.
    pub start: (usize, usize),
    pub replacement: String,
}

struct Options {
    sample: usize,
    seed: u64,
    /// Each is a sample of its own.
    under: Vec<String>,
    tests: Vec<String>,
    /// The commit named, or nothing.
    changed: Option<String>,
    minutes: Option<u64>,
}

fn list_of(word: &str) -> Vec<String> {
    word.split(',').map(str::to_owned).collect()
}

fn options() -> Option<Options> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut options = Options {
        sample: 300,
        seed: since.as_secs() % 100_000,
        under: vec![CORE.to_owned()],
        tests: vec!["lib".to_owned()],
        changed: None,
        minutes: None,
    };
    let mut words = std::env::args().skip(1).peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--sample" => options.sample = words.next()?.parse().ok()?,
            "--seed" => options.seed = words.next()?.parse().ok()?,
            "--under" => options.under = list_of(&words.next()?),
            "--tests" => options.tests = list_of(&words.next()?),
            "--changed" => {
                let base = words.next_if(|word| !word.starts_with("--"));
                options.changed = Some(base.unwrap_or_default());
            }
            "--minutes" => options.minutes = Some(words.next()?.parse().ok()?),
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let Some(options) = options() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("could not test the mutants: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a command prints.
pub fn words(program: &str, arguments: &[&str]) -> Outcome<String> {
    let output = Command::new(program).args(arguments).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} {}: {}", arguments.join(" "), why.trim()).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// The commit with which changed lines are compared.
fn base(asked: &str) -> Option<String> {
    if !asked.is_empty() {
        return Some(asked.to_owned());
    }
    let head = words("git", &["rev-parse", "HEAD"]).ok()?;
    let merged =
        words("git", &["merge-base", "HEAD", "origin/main"]).ok().filter(|base| *base != head);
    merged.or_else(|| words("git", &["rev-parse", "--verify", "--quiet", "HEAD~1"]).ok())
}

fn list(package: &str, diff: Option<&Path>) -> Outcome<Vec<Mutant>> {
    let mut arguments = vec!["mutants", "--list", "--json", "--package", package];
    if let Some(diff) = diff {
        arguments.extend(["--in-diff", diff.to_str().ok_or("the folder's name is no text")?]);
    }
    let listed = words("cargo", &arguments)?;
    // It says nothing where a diff holds nothing to change.
    let listed: Vec<Value> =
        if listed.is_empty() { Vec::new() } else { serde_json::from_str(&listed)? };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_u64().unwrap_or_default() as usize;
    let mutant = |row: &Value| Mutant {
        name: text(&row["name"]),
        file: text(&row["file"]),
        genre: text(&row["genre"]),
        start: (number(&row["span"]["start"]["line"]), number(&row["span"]["start"]["column"])),
        replacement: text(&row["replacement"]),
    };
    Ok(listed.iter().map(mutant).collect())
}

/// Puts them into the order that the seed gives (splitmix64).
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    for last in (1..items.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        items.swap(last, ((mixed ^ (mixed >> 31)) % (last as u64 + 1)) as usize);
    }
}

/// Compiles as many of them as can be, with the tests.
fn compile(tree: &Tree, drawn: &[(u32, &Mutant)]) -> Outcome<(BTreeSet<u32>, Vec<play::Suite>)> {
    let mut places = Places::default();
    let mut left = drawn.to_vec();
    loop {
        let switched = tree.write(&left, &mut places)?;
        left.retain(|(number, _)| switched.contains(number));
        match tree.build(&places)? {
            Built::Suites(suites) => return Ok((switched, suites)),
            Built::Without(without) => {
                eprintln!("{} mutants do not compile", without.len());
                left.retain(|(number, _)| !without.contains(number));
            }
        }
    }
}

/// A mutant's name without its line, which moves with every edit above it.
fn lasting(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(change)) => format!("{file}:{change}"),
        _ => name.to_owned(),
    }
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let places = digits.char_indices().map(|(at, digit)| {
        let comma = if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
        format!("{comma}{digit}")
    });
    places.collect()
}

/// The package in which these files are.
fn package(under: &str) -> Outcome<&str> {
    let named = under.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
    named.ok_or_else(|| format!("`{under}` is no path below crates/").into())
}

/// The mutants to draw from, or why there are none.
fn listed(
    options: &Options,
    under: &str,
    folder: &Path,
) -> Outcome<Result<Vec<Mutant>, &'static str>> {
    let diff = folder.join("changed.diff");
    if let Some(changed) = &options.changed {
        let Some(base) = base(changed) else {
            return Ok(Err("no earlier commit to compare with"));
        };
        fs::write(&diff, words("git", &["diff", &base, "--", "crates/ralph-core/src"])? + "\n")?;
    }
    let diff = options.changed.as_ref().map(|_| diff.as_path());
    let mut listed = list(package(under)?, diff)?;
    listed.retain(|mutant| mutant.file.starts_with(under));
    Ok(if listed.is_empty() { Err("nothing to try") } else { Ok(listed) })
}

/// How the sample fared.
struct Score {
    /// What was drawn from.
    n_listed: usize,
    n_left_out: usize,
    n_tried: usize,
    n_noticed: usize,
    n_late: usize,
    /// Their lasting names.
    missed: Vec<String>,
}

impl Score {
    fn counted(&self) -> String {
        let of = if self.n_tried + self.n_left_out < self.n_listed {
            format!(" of {}", thousands(self.n_listed))
        } else {
            String::new()
        };
        format!("{} mutants{of}", thousands(self.n_tried))
    }

    /// Never rounded up to a bar that was not reached.
    fn percent(&self) -> String {
        let thousandths = self.n_noticed * 1000 / self.n_tried.max(1);
        format!("{}.{} %", thousandths / 10, thousandths % 10)
    }

    /// Whether enough was noticed, and what the table says of it.
    fn judged(&self, bar: usize) -> Outcome<(bool, String)> {
        let explained = fs::read_to_string("tests/mutants/explained.md")?;
        let unexplained = self.missed.iter().filter(|name| {
            let inside = name.strip_prefix(CORE).unwrap_or_default();
            let decides = ["stop", "guard", "evidence/receipt"];
            decides.iter().any(|part| inside.starts_with(part))
                && !explained.contains(&format!("- `{name}`\n"))
        });
        let unexplained: Vec<&str> = unexplained.map(String::as_str).collect();
        if !unexplained.is_empty() {
            println!(
                "these survive in what decides, and are not explained in tests/mutants/explained.md:"
            );
            println!("{}", unexplained.join("\n"));
            return Ok((false, "survivors in what decides".to_owned()));
        }
        let good = self.n_noticed * 100 >= self.n_tried * bar;
        let verdict = match (bar, good) {
            (0, _) => "told only".to_owned(),
            (_, true) => format!("at least {bar} % noticed"),
            (_, false) => format!("only {}, of {bar} %", self.percent()),
        };
        Ok((good, verdict))
    }

    fn keep(&self, seed: u64) -> Outcome<()> {
        let date = words("date", &["-u", "+%F"])?;
        let commit = words("git", &["rev-parse", "--short", "HEAD"])?;
        let tool = words("cargo", &["mutants", "--version"])?;
        let rows = [
            format!("date        {date}"),
            format!("commit      {commit}"),
            format!("tool        {tool}, all in one build"),
            format!("seed        {seed}"),
            format!("mutants     {} ({} more do not compile)", self.counted(), self.n_left_out),
            format!("noticed     {} (of them {} by the clock)", self.n_noticed, self.n_late),
            format!("survived    {}", self.missed.len()),
            format!("score       {}", self.percent()),
        ];
        let score = format!("{}\n\n{}\n", rows.join("\n"), self.missed.join("\n"));
        Ok(fs::write("tests/mutants/score", score)?)
    }
}

/// The mutants below one path: those drawn have the numbers from `first`.
struct Group<'a> {
    under: &'a str,
    listed: Vec<Mutant>,
    first: u32,
    n_drawn: usize,
}

impl Group<'_> {
    fn drawn(&self) -> impl Iterator<Item = (u32, &Mutant)> {
        (self.first..).zip(self.listed.iter().take(self.n_drawn))
    }

    fn score(&self, played: &[u32], fates: &[Fate]) -> Score {
        let n = |wanted: fn(&Fate) -> bool| fates.iter().filter(|fate| wanted(fate)).count();
        let last = played.last().map_or(0, |last| last + 1 - self.first);
        let mut score = Score {
            n_listed: self.listed.len(),
            n_left_out: last as usize - played.len(),
            n_tried: n(|fate| *fate != Fate::NotTried),
            n_noticed: n(|fate| matches!(fate, Fate::Noticed(_))),
            n_late: n(|fate| *fate == Fate::Noticed(Ending::Late)),
            missed: Vec::new(),
        };
        for (number, fate) in played.iter().zip(fates) {
            if let Fate::Missed(n_tests) = fate {
                println!("missed, reached by {n_tests} tests: {}", self.named(*number));
                score.missed.push(lasting(self.named(*number)));
            }
        }
        score.missed.sort();
        score
    }

    fn named(&self, number: u32) -> &str {
        &self.listed[(number - self.first) as usize].name
    }
}

fn run(options: &Options) -> Outcome<bool> {
    let began = Instant::now();
    let say = |what: String| eprintln!("{what}, after {} s", began.elapsed().as_secs());
    let folder = std::env::current_dir()?.join("target/mutants");
    fs::create_dir_all(&folder)?;
    // Two runs would write into each other's tree.
    let lock = fs::File::create(folder.join("lock"))?;
    lock.lock()?;
    let changed = options.changed.is_some();
    let part = if changed { "mutants in what changed" } else { "mutants" };
    let (mut groups, mut first) = (Vec::new(), 1);
    for under in &options.under {
        let mut listed = match listed(options, under, &folder)? {
            Ok(listed) => listed,
            Err(why) => {
                println!("proof | {part} | 0 mutants of {under} | {why}");
                continue;
            }
        };
        shuffle(&mut listed, options.seed);
        let sample = if changed { listed.len() } else { options.sample };
        // Some more, for those that do not compile.
        let n_drawn = listed.len().min(sample + sample / 5);
        groups.push(Group { under, listed, first, n_drawn });
        first += u32::try_from(n_drawn)?;
    }
    if groups.is_empty() {
        return Ok(true);
    }
    let drawn: Vec<_> = groups.iter().flat_map(Group::drawn).collect();
    let packages: Outcome<BTreeSet<&str>> =
        options.under.iter().map(|under| package(under)).collect();

    let mut tree = Tree::new(&folder, &packages?, &options.tests);
    tree.copy()?;
    let (compiled, suites) = compile(&tree, &drawn)?;
    say(format!("{} mutants compiled", compiled.len()));
    let mut tests = Vec::new();
    for suite in &suites {
        tests.extend(suite.tests()?);
    }
    let tests = play::reach(&folder, tests)?;
    say(format!("{} tests pass without a mutant", tests.len()));
    let deadline =
        options.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let mut all_good = true;
    for group in &groups {
        let sample = if changed { group.n_drawn } else { options.sample };
        let of_group = group.drawn().map(|(number, _)| number);
        let played: Vec<u32> =
            of_group.filter(|number| compiled.contains(number)).take(sample).collect();
        let fates = play::play(&folder, &played, &tests, deadline)?;
        say(format!("played {}", group.under));

        let score = group.score(&played, &fates);
        let n_not_tried = fates.len() - score.n_tried;
        if n_not_tried > 0 {
            println!("not tried: {n_not_tried}");
        }

        let of_core = group.under == CORE && options.tests == ["lib"];
        let bar = match (changed, of_core) {
            (true, _) => 90,
            (false, true) => 98,
            (false, false) => 0,
        };
        let (good, verdict) = score.judged(bar)?;
        all_good &= good;
        if !changed && of_core {
            score.keep(options.seed)?;
        }
        let (counted, percent) = (score.counted(), score.percent());
        let place =
            if group.under == CORE { String::new() } else { format!(" in {}", group.under) };
        println!(
            "proof | {part}{place} | {counted}, seed {}, {} noticed ({percent}) | {verdict}",
            options.seed, score.n_noticed
        );
    }
    Ok(all_good)
}
