//! `docs/ralplan.md`: a planning from its start to the question, what it refuses, and what it prints.

use super::{Sample, Screen, check};
use crate::planning::{
    PLAN, READY, agent_is_back, allowed, awaiting, calls_critic, plan_text, planned_for, reports,
    verdict,
};
use crate::world::Ran;
use serde_json::{Value, json};

pub(super) const SAMPLES: &[Sample] = &[
    ("ralplan-log", log),
    ("ralplan-refused", refused),
    ("ralplan-question", question),
    ("ralplan-faults", faults),
];

/// What the person is shown, which an event may leave to the next one.
fn told(screen: &mut Screen, ran: &Ran) {
    let answer: Value = serde_json::from_str(&ran.out()).unwrap_or_default();
    screen.show(answer["systemMessage"].as_str().unwrap_or_default());
}

fn log() -> String {
    let mut screen = Screen::new();
    let typed = "/ralplan \"limit login attempts\"";
    let ran = screen.world.type_command("ralplan", "\"limit login attempts\"");
    screen.show(&format!("> {typed}"));
    told(&mut screen, &ran);
    reports(&screen.world, "metis", "m", "Passwords are not mentioned.").silent();
    screen.world.write(PLAN, &plan_text(""));
    reports(&screen.world, "planner", "p", READY).silent();
    for (agent, word) in [("c", "REJECT"), ("d", "OKAY")] {
        let call = calls_critic(&screen.world);
        allowed(&call);
        told(&mut screen, &call);
        let verdict = verdict(&screen.world, word);
        reports(&screen.world, "critic", agent, &verdict).silent();
        let ran = agent_is_back(&screen.world, "ralplan-critic");
        told(&mut screen, &ran);
        if word == "REJECT" {
            reports(&screen.world, "planner", "p", READY).silent();
        }
    }
    screen.text()
}

fn question() -> String {
    let mut screen = Screen::of(awaiting());
    let next = screen.world.ralph(&["ralplan", "next", "--json"]);
    let next: Value = serde_json::from_str(&next.text).unwrap();
    screen.show(next["next"]["question"].as_str().unwrap());
    screen.text()
}

fn refused() -> String {
    let mut screen = Screen::of(planned_for());
    let file = screen.world.project().join("src/login.ts");
    let ran = screen.world.tool("Write", json!({"file_path": file, "content": "x"}));
    screen.show("● Write(src/login.ts)");
    screen.answer(&ran.out());
    screen.text()
}

fn faults() -> String {
    let mut screen = Screen::of(planned_for());
    let plan = plan_text("Improve `src/login.ts` properly.").replace("test -f tracked", "true");
    screen.world.write(PLAN, &plan);
    reports(&screen.world, "planner", "p", READY);
    screen.runs("ralph ralplan status | grep -A3 ^Failed");
    screen.text()
}

#[test]
fn the_guide_to_consensus_planning_shows_what_appears() {
    check("docs/ralplan.md");
}
