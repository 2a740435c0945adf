//! Explores the rules of Ralph exhaustively, for small bounds.
//!
//! The rules are those of `ralph-core`, called as the executables call them; the models only say
//! what may happen, in which order and how often. A promise that does not hold is shown with the
//! shortest path that breaks it. A later mode adds its models as one file, and one line in `all`.

pub mod explore;
pub mod plans;
pub mod receipts;
pub mod sessions;
pub mod shared;
pub mod turns;

use explore::{Explored, explore, find_mistake};
use plans::Plans;
use receipts::{Outcome, Receipts};
use sessions::Sessions;
use shared::clocks::Clocks;
use shared::{Mistake, Shared};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;
use turns::Turns;

/// How far the models reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// In seconds: at every change.
    Short,
    /// In minutes: by one command.
    Full,
}

impl Reach {
    fn pick<T>(self, short: T, full: T) -> T {
        match self {
            Reach::Short => short,
            Reach::Full => full,
        }
    }
}

/// A model under its name.
pub type Named = (&'static str, Box<dyn FnOnce() -> Explored>);

/// Every model.
pub fn all(reach: Reach) -> Vec<Named> {
    let receipts = Receipts { longest: reach.pick(4, 5), trees: 2 };
    let receipts: Named = ("receipts", Box::new(move || explore("receipts", receipts)));
    let turns = turns(reach)
        .into_iter()
        .map(|model| -> Named { (model.name, Box::new(move || explore(model.name, model))) });
    let sessions = sessions(reach)
        .into_iter()
        .map(|model| -> Named { (model.name, Box::new(move || explore(model.name, model))) });
    let plans = plans(reach)
        .into_iter()
        .map(|model| -> Named { (model.name, Box::new(move || explore(model.name, model))) });
    let shared = shared(reach)
        .into_iter()
        .map(|model| -> Named { (model.name, Box::new(move || explore(model.name, model))) });
    let models = [receipts].into_iter().chain(turns).chain(sessions).chain(plans);
    models.chain(shared).chain([clocks(reach)]).chain(mistakes()).collect()
}

/// A loop that two machines share, by what may happen.
fn shared(reach: Reach) -> Vec<Shared> {
    vec![
        Shared {
            name: "shared: one task",
            records: reach.pick(6, 7),
            flights: reach.pick(1, 2),
            kills: 1,
            ..Shared::default()
        },
        Shared {
            name: "shared: returned work and a cancel",
            records: reach.pick(6, 7),
            flights: 1,
            kills: 0,
            refusals: true,
            ..Shared::default()
        },
        Shared {
            name: "shared: two machines of one name",
            records: reach.pick(6, 7),
            kills: 0,
            same_name: true,
            ..Shared::default()
        },
        Shared {
            name: "shared: two tasks",
            tasks: 2,
            records: reach.pick(5, 7),
            kills: 0,
            ..Shared::default()
        },
    ]
}

/// A lease, its holder and its observer.
fn clocks(reach: Reach) -> Named {
    let name = "shared: clocks";
    let (lease, troubles) = reach.pick((6, 1), (15, 2));
    let in_suspend = [false, true];
    let clocks = Clocks { name, lease, troubles, in_suspend, counts_everything: false };
    (name, Box::new(move || explore(name, clocks)))
}

/// Known mistakes, each built into the model that has to find it.
fn mistakes() -> Vec<Named> {
    use shared::promises::{NOTHING_VANISHES, ONE_FINISH, ONE_HOLDER};
    let known = [
        ("mistake: a finish without an expected value", Mistake::UnfencedFinish, ONE_FINISH),
        ("mistake: a take-over by force", Mistake::ForcedTakeOver, NOTHING_VANISHES),
        ("mistake: records that repeat", Mistake::Repeats, ONE_HOLDER),
    ];
    let mut all: Vec<Named> = Vec::new();
    for (name, mistake, breaks) in known {
        let same_name = mistake == Mistake::Repeats;
        let mistake = Some(mistake);
        let model = Shared { name, kills: 0, same_name, mistake, ..Shared::default() };
        all.push((name, Box::new(move || find_mistake(name, model, breaks))));
    }
    let name = "mistake: a lease that counts everything";
    let in_suspend = [false, true];
    let clocks = Clocks { name, lease: 6, troubles: 1, in_suspend, counts_everything: true };
    let breaks = shared::clocks::NOT_ROBBED;
    all.push((name, Box::new(move || find_mistake(name, clocks, breaks))));
    all
}

/// A loop alone with its model, by what may move.
fn turns(reach: Reach) -> Vec<Turns> {
    use ralph_core::state::Completion;
    let some = vec![Outcome::Pass(2), Outcome::Fail, Outcome::Vacuous];
    let more = vec![
        Outcome::Pass(2),
        Outcome::Pass(1),
        Outcome::Fail,
        Outcome::Vacuous,
        Outcome::Rewrites(1),
    ];
    vec![
        Turns {
            name: "turns: standing still and going round",
            max_iterations: reach.pick(6, 7),
            trees: reach.pick(2, 3),
            idleness: true,
            ..Turns::default()
        },
        Turns {
            name: "turns: workers, hours and tokens",
            max_iterations: reach.pick(2, 4),
            trees: 2,
            hours: Some(reach.pick(2, 3)),
            tokens: Some(reach.pick(1, 2)),
            workers: true,
            ..Turns::default()
        },
        Turns {
            name: "turns: one criterion",
            max_iterations: reach.pick(1, 2),
            trees: 2,
            criteria: 1,
            outcomes: reach.pick(some.clone(), more),
            ..Turns::default()
        },
        Turns {
            name: "turns: two criteria and a task",
            max_iterations: 1,
            stall_limit: 2,
            criteria: 2,
            task: true,
            outcomes: reach.pick(vec![Outcome::Fail], some),
            ..Turns::default()
        },
        Turns {
            name: "turns: a state that is changed by hand",
            max_iterations: reach.pick(1, 2),
            trees: reach.pick(1, 2),
            criteria: 1,
            tampering: true,
            outcomes: vec![Outcome::Pass(2), Outcome::Pass(1), Outcome::Fail],
            ..Turns::default()
        },
        Turns {
            name: "turns: completion by the token",
            max_iterations: 2,
            criteria: 1,
            completion: Completion::Token,
            outcomes: vec![Outcome::Pass(2), Outcome::Fail],
            ..Turns::default()
        },
    ]
}

/// A planning among its agents and its person, by how far it may go.
fn plans(reach: Reach) -> Vec<Plans> {
    let one = |name, max_rejections, texts, rests| Plans { name, max_rejections, texts, rests };
    let mut models =
        vec![one("plans: two texts", 1, 2, false), one("plans: a loop that rests", 2, 1, true)];
    if reach == Reach::Full {
        models.extend([
            one("plans: two texts and a loop that rests", 2, 2, true),
            one("plans: three texts", 1, 3, false),
            one("plans: five rejections", 5, 2, false),
        ]);
    }
    models
}

/// Explores the models, prints what was found, and fails if anything does not hold.
pub fn report(models: Vec<Named>) -> ExitCode {
    let n_models = models.len();
    let mut properties = BTreeSet::new();
    let (mut states, mut failures) = (0, Vec::new());
    for (name, run) in models {
        let began = Instant::now();
        let found = run();
        println!("{name}: {} states in {:.1} s", found.states, began.elapsed().as_secs_f32());
        states += found.states;
        properties.extend(found.properties);
        failures.extend(found.failures);
    }
    failures.iter().for_each(|failure| println!("{failure}"));
    let result = match failures.len() {
        0 => "all hold".to_owned(),
        n => format!("{n} do not hold"),
    };
    let n = properties.len();
    println!(
        "proof | model checking | {states} states explored in {n_models} models, {n} properties | {result}"
    );
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A loop among its person, its client and other sessions, by how the hooks are registered.
fn sessions(reach: Reach) -> Vec<Sessions> {
    use ralph_core::state::Registration::{Plugin, Settings, Skill, Unnamed};
    let max_iterations = reach.pick(1, 2);
    let one = |name, registered: &[_]| Sessions {
        name,
        max_iterations,
        registered: registered.to_vec(),
        overlap: false,
        workers: reach == Reach::Full,
        host: reach == Reach::Full,
    };
    let mut models = vec![
        one("sessions: hooks in the settings", &[Settings]),
        one("sessions: hooks in the skill only", &[Skill]),
        Sessions { overlap: true, ..one("sessions: two copies at once", &[Skill, Settings]) },
    ];
    if reach == Reach::Full {
        models.extend([
            one("sessions: a skill's copy before the settings'", &[Skill, Settings]),
            one("sessions: the settings' copy before a skill's", &[Settings, Skill]),
            one("sessions: a skill's copy before the plugin's", &[Skill, Plugin]),
            one("sessions: a registration without a name", &[Unnamed, Settings]),
            Sessions {
                overlap: true,
                ..one("sessions: three copies at once", &[Skill, Plugin, Settings])
            },
        ]);
    }
    models
}
