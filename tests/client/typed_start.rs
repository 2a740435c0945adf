//! How much later the model is asked because the user typed `/ralph` and not a command of their own with the same text.
//!
//! Two sessions are asked in turn: one with Ralph, and one that does not know Ralph. A busy machine makes a request later and
//! never earlier, so the fastest of each decide. Of some 50 ms, Ralph's hooks run for 16; the rest is what the client (2.1.328)
//! does around hooks. Where the machine is slow, the bar is twice what the client needs without Ralph.

use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use std::fs;
use std::time::{Duration, Instant};

use crate::Test;
use crate::support::{PATIENCE, Terminal, World};

pub(crate) const TESTS: &[Test] =
    tests![a_typed_start_asks_the_model_at_most_100_ms_later_than_another_command];

const BAR: Duration = Duration::from_millis(100);

/// Rounds in any case.
const ROUNDS: usize = 12;

/// How often a busy machine is asked.
const MOST_ROUNDS: usize = 40;

struct Session {
    terminal: Terminal,
    stand_in: StandIn,
    command: &'static str,
    took: Vec<Duration>,
    _world: World,
}

impl Session {
    fn open(world: World, command: &'static str) -> Session {
        let written = |round| ScriptedTurn::text(&format!("Wrote {round:02}.\n\nRALPH_COMPLETE"));
        let stand_in = StandIn::start(Script::new().turns((0..MOST_ROUNDS).map(written))).unwrap();
        let terminal = world.terminal(&stand_in, &[]);
        Session { terminal, stand_in, command, took: Vec::new(), _world: world }
    }

    /// Takes the time from Enter to the request.
    fn ask(&mut self) {
        let round = self.took.len();
        self.terminal.type_line(&format!("{} \"Write file {round:02}\"", self.command));
        let began = Instant::now();
        self.terminal.key("Enter");
        self.stand_in.wait_for_requests(round + 1, PATIENCE).unwrap();
        self.took.push(began.elapsed());
        self.terminal.wait_for(&format!("Wrote {round:02}."));
        self.terminal.wait_until_gone("esc to interrupt");
    }

    fn fastest_and_median(&self) -> [Duration; 2] {
        let mut took = self.took.clone();
        took.sort();
        [took[0], took[took.len() / 2]]
    }
}

fn a_typed_start_asks_the_model_at_most_100_ms_later_than_another_command() {
    let world = World::new();
    world.ralph(&["install"]).exits(0);
    let skill = fs::read_to_string(world.config().join("skills/ralph/SKILL.md")).unwrap();
    let (_, text) = skill.split_once("\n---\n").unwrap();
    let other = World::new();
    other.skill("other", &format!("---\nname: other\ndescription: Works\n---\n{text}"));
    let mut sessions = [Session::open(world, "/ralph"), Session::open(other, "/other")];
    let [mut share, mut bar] = [Duration::MAX, BAR];
    for round in 0..MOST_ROUNDS {
        if round >= ROUNDS && share <= bar {
            break;
        }
        sessions.iter_mut().for_each(Session::ask);
        let [ralph, other] = sessions.each_ref().map(|session| session.fastest_and_median()[0]);
        share = ralph.saturating_sub(other);
        bar = BAR.max(other * 2);
    }
    for session in &sessions {
        let [fastest, median] = session.fastest_and_median();
        println!("{}: {fastest:?} at its fastest, {median:?} in the median", session.command);
    }
    assert!(share <= bar, "Ralph's share is {share:?}, {bar:?} are promised");
}
