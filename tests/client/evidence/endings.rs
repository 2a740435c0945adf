//! Endings that are not completion: a model that goes round, a person who is needed.

use ralph::standin::{Script, StandIn, Turn};

use super::START;
use crate::Test;
use crate::kept::{TOKEN, installed, the_ended, the_live, works};

pub(crate) const TESTS: &[Test] = tests![
    work_that_goes_back_and_forth_ends_as_a_cycle,
    a_model_that_needs_a_person_says_so_and_the_loop_waits,
];

fn work_that_goes_back_and_forth_ends_as_a_cycle() {
    let world = installed();
    let back_and_forth = |turn: usize| Turn::bash(&format!("echo {} > file", turn % 2));
    let stand_in = StandIn::start(works(back_and_forth, |turn| format!("Try {turn}."))).unwrap();
    world.client(&stand_in).prompt(START).result();
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "stalled at 3/25");
    assert_eq!(kept.state["ending"]["cause"], "cycle", "{:#}", kept.state["ending"]);
}

fn a_model_that_needs_a_person_says_so_and_the_loop_waits() {
    let world = installed();
    let script = Script::new()
        .turn(Turn::bash("ralph blocked 'Create the account at example.invalid'"))
        .turn(Turn::text("I cannot go on without the account."))
        .turn(Turn::bash("echo yes > done"))
        .turn(Turn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START).wait_for("Create the account at example.invalid\n");
    terminal.wait_for("paused at 0/25 (blocked_on_human)");
    let kept = the_live(&world);
    assert_eq!(kept.state["phase"], "paused");
    assert_eq!(kept.state["pause"]["cause"], "blocked_on_human");
    let said = &stand_in.requests()[1].tool_results()[0];
    assert!(said.text.contains("Stop now"), "{}", said.text);
    terminal.submit("/ralph").wait_for("ended complete at 0/25");
    let requests = stand_in.requests();
    assert!(requests[2].news().contains("continues at 0/25"), "{}", requests[2].news());
    assert_eq!((requests.len(), stand_in.unscripted()), (4, 0));
}
