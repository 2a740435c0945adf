//! Cuts one case at its points, and has what is left looked at.
//!
//! strace does the cutting (a tracer of our own would need `unsafe`): it delivers a signal, or an
//! error, at the n-th call of a name. A kill comes as the call is entered, so that it does not
//! happen; the kill at the call that follows is the one after it. Only the process that was
//! started is counted and struck; where it starts others that write (`ralph` beside a hook, the
//! supervisor, git, the acceptance commands), all points are tried once more with every process
//! of the family struck at its own n-th call of that name.

use crate::scene::{Answer, HUNG, Scene};
use crate::snapshot::{self, Tree};
use crate::steady;
use crate::survives::{Cut, Lawful, survives};
use crate::trace::{self, Point};
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What was tried, and what was wrong.
#[derive(Debug, Default, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Tally {
    pub(crate) kills: usize,
    pub(crate) errors: usize,
    pub(crate) limits: usize,
    pub(crate) power_cuts: usize,
    /// Cuts whose remains were new to the check.
    pub(crate) looked_at: usize,
    pub(crate) failures: Vec<String>,
}

/// Which points are tried: all, or a share chosen by a seed; and the part of this worker.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct Choice {
    pub(crate) seed: u64,
    /// One point of so many.
    pub(crate) one_of: u64,
    pub(crate) part: usize,
    pub(crate) parts: usize,
}

impl Choice {
    fn takes(&self, at: usize, what: &str) -> bool {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (self.seed, at, what).hash(&mut hasher);
        at % self.parts == self.part && hasher.finish().is_multiple_of(self.one_of)
    }
}

/// Of a moment at which the power fails, a sample tries about this many of the states that the disk may have: where many
/// files are not synced, there are thousands, which differ little.
const REMAINS: usize = 50;

/// What to do to a run.
#[derive(Debug, Clone)]
enum Strike {
    Kill(Point, Whom),
    Fail(Point, &'static str, Whom),
    /// No file can grow beyond this: a short write, and then an error.
    Limit(usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Whom {
    First,
    Family,
}

/// A case under way.
pub(crate) struct Trial {
    scene: Scene,
    lawful: Lawful,
    /// What an untouched run says; nothing where it has nothing to say.
    said: String,
    /// What was found out about remains that were seen before.
    known: HashMap<(u64, Cut, bool), Option<String>>,
    tally: Tally,
}

/// Tries the chosen points of a case.
pub(crate) fn strike(scene: Scene, choice: Choice) -> Tally {
    let (calls, recorded, answer) = scene.observe();
    let mut trial = Trial {
        lawful: Lawful::of(&scene, &recorded),
        said: said(&answer),
        known: HashMap::new(),
        tally: Tally::default(),
        scene,
    };
    if answer.killed || !answer.err.is_empty() && answer.code != Some(trial.scene.case.code) {
        trial
            .tally
            .failures
            .push(format!("{}: failed untouched: {answer:?}", trial.scene.case.name));
        return trial.tally;
    }
    let sizes = trial.sizes();
    let strikes = strikes(&trial.scene, &calls, &sizes);
    for (at, strike) in strikes.iter().enumerate() {
        if choice.takes(at, trial.scene.case.name) {
            trial.one(strike);
        }
    }
    let moments = if trial.scene.case.moves_branch { 0 } else { recorded.disk.n_moments() };
    for moment in 0..moments {
        if choice.takes(moment, &format!("{}, power", trial.scene.case.name)) {
            let answered = recorded.disk.is_answered(moment);
            let remains = recorded.disk.remains(moment);
            let step = if choice.one_of == 1 { 1 } else { remains.len().div_ceil(REMAINS).max(1) };
            let tried = remains.iter().skip(choice.seed as usize % step).step_by(step);
            tried.for_each(|tree| trial.power_cut(tree, moment, answered));
        }
    }
    trial.tally
}

fn strikes(scene: &Scene, calls: &[trace::Call], sizes: &BTreeSet<usize>) -> Vec<Strike> {
    let injected = |point: &Point| {
        scene.case.also.iter().any(|also| also.starts_with(&format!("{}:", point.name)))
    };
    let mut all = Vec::new();
    let mut add = |points: Vec<(Point, bool)>, whom: Whom| {
        for (point, write_like) in points.into_iter().filter(|(point, _)| !injected(point)) {
            if write_like {
                all.push(Strike::Fail(point.clone(), "ENOSPC", whom));
                all.push(Strike::Fail(point.clone(), "EIO", whom));
            }
            all.push(Strike::Kill(point, whom));
        }
    };
    add(trace::points(calls), Whom::First);
    if scene.case.has_family {
        add(trace::points_of_family(calls), Whom::Family);
    }
    all.extend(sizes.iter().map(|size| Strike::Limit(*size)));
    all
}

impl Strike {
    /// The program that strikes, with its arguments; what is struck comes after them.
    /// The log says who was killed.
    fn words(&self, log: &str) -> Vec<String> {
        let strace = |name: &str, inject: String, whom: Whom| {
            let mut words = vec!["strace", "-q", "-o", log];
            words.extend((whom == Whom::Family).then_some("-f"));
            let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            words.extend(["-e".to_owned(), format!("trace={name}"), "-e".to_owned(), inject]);
            words
        };
        match self {
            Strike::Kill(Point { name, n }, whom) => {
                strace(name, format!("inject={name}:signal=KILL:when={n}"), *whom)
            }
            Strike::Fail(Point { name, n }, error, whom) => {
                strace(name, format!("inject={name}:error={error}:when={n}"), *whom)
            }
            // The signal that comes with the error would end it: it is not for us to see.
            Strike::Limit(size) => {
                let script = "trap '' XFSZ; exec \"$@\"";
                let size = format!("--fsize={size}");
                ["prlimit", &size, "sh", "-c", script, "sh"].map(str::to_owned).to_vec()
            }
        }
    }
}

impl Trial {
    /// Lengths at which a file that the run writes is cut short.
    fn sizes(&self) -> BTreeSet<usize> {
        let after = snapshot::take(&self.scene.world.root());
        let changed = after.iter().filter(|(path, thing)| {
            !path.starts_with("tmp") && self.scene.before.get(*path) != Some(thing)
        });
        let lengths = changed.filter_map(|(_, thing)| match thing {
            snapshot::Thing::File { bytes, .. } if !bytes.is_empty() => Some(bytes.len()),
            _ => None,
        });
        lengths.flat_map(|len| [0, 1, len / 2, len - 1]).collect()
    }

    fn one(&mut self, strike: &Strike) {
        self.scene.reset();
        let log = self.scene.world.root().join("tmp/struck");
        let mut words = strike.words(&log.display().to_string());
        if matches!(strike, Strike::Kill(..) | Strike::Fail(..)) && !self.scene.case.also.is_empty()
        {
            words.extend(["-e".to_owned(), "trace=all".to_owned()]);
            words.extend(self.scene.also());
        }
        let answer = self.scene.run(&words);
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        self.count(strike, &log);
        let cut = match strike {
            // What it started was struck, and it may have decided otherwise on that account.
            Strike::Kill(_, Whom::Family) | Strike::Fail(_, _, Whom::Family) => Cut::Family,
            // The limit holds for all that the program starts: a receipt that cannot be written is
            // none, and a completion is refused.
            Strike::Limit(..) if self.scene.case.has_family => Cut::Family,
            Strike::Kill(..) if answer.killed => Cut::Kill,
            // One that had fewer calls this time is a run like any other.
            Strike::Kill(..) | Strike::Fail(..) | Strike::Limit(..) => Cut::Error,
        };
        let describe = format!("{}: {strike:?}", self.scene.case.name);
        if !answer.killed
            && let Some(wrong) = self.manners(strike, &answer)
        {
            return self.tally.failures.push(format!("{describe}: {wrong}: {answer:?}"));
        }
        let answered = !self.said.is_empty() && said(&answer) == self.said;
        let tree = snapshot::take(&self.scene.world.root());
        self.look(&tree, cut, answered, &describe);
    }

    /// A point that was not reached this time does not count.
    fn count(&mut self, strike: &Strike, log: &str) {
        let tally = &mut self.tally;
        match strike {
            Strike::Kill(..) => tally.kills += usize::from(log.contains("killed by SIGKILL")),
            Strike::Fail(..) => tally.errors += usize::from(log.contains("(INJECTED)")),
            Strike::Limit(..) => tally.limits += 1,
        }
    }

    /// What is wrong with how a program took an error: a hook ends with 0 and one line at most, a
    /// command says what it could not do.
    fn manners(&self, strike: &Strike, answer: &Answer) -> Option<&'static str> {
        let is_hook = self.scene.act.program.starts_with("ralph-");
        // Where every first write of the family fails, the words of the complaint do, too.
        let may_be_mute =
            matches!(strike, Strike::Fail(point, _, Whom::Family) if point.name == "write");
        let is_mute = answer.err.trim().is_empty() && answer.out.trim().is_empty();
        match answer.code {
            None => Some("a signal ended it"),
            Some(HUNG) => Some("it hung"),
            Some(0) if is_hook && answer.err.lines().count() > 1 => Some("more than one line"),
            Some(0) => None,
            Some(_) if is_hook => Some("a hook ended otherwise than with 0"),
            Some(101) => Some("it panicked"),
            Some(_) if is_mute && !may_be_mute => Some("it failed without a word"),
            Some(_) => None,
        }
    }

    fn power_cut(&mut self, tree: &Tree, moment: usize, answered: bool) {
        self.tally.power_cuts += 1;
        self.scene.lay_out(tree);
        self.scene.start_the_machine_again();
        let tree = snapshot::take(&self.scene.world.root());
        let describe = format!("{}: power cut at moment {moment}", self.scene.case.name);
        self.look(&tree, Cut::Power, answered, &describe);
    }

    /// Has the remains looked at, unless the same remains were before.
    fn look(&mut self, tree: &Tree, cut: Cut, answered: bool, describe: &str) {
        let key = (snapshot::digest(tree), cut, answered);
        let wrong = self.known.get(&key).cloned().unwrap_or_else(|| {
            self.tally.looked_at += 1;
            let survived = catch_unwind(AssertUnwindSafe(|| {
                survives(&self.scene, &self.lawful, cut, answered);
            }));
            let wrong = survived.err().map(|_| crate::last_panic());
            self.known.insert(key, wrong.clone());
            wrong
        });
        if let Some(wrong) = wrong {
            self.tally.failures.push(format!("{describe} (answered: {answered}): {wrong}"));
        }
    }
}

/// What whoever asked was told, without times: a run that says what an untouched one says has
/// told them that it is done.
fn said(answer: &Answer) -> String {
    steady::text(&answer.out)
}
