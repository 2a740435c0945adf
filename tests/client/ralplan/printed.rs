//! Consensus planning in a session that nobody can be asked in, and agents that say what is not theirs to say.

use std::fs;

use ralph_test_support::fake_api::{ApiRequest, Gate, Script, ScriptedTurn, StandIn};

use super::{
    CRITIC, Cast, PLAN, START, assert_untouched, digits, endings, obedient, obey, phase, plan,
    plan_text, verdict,
};
use crate::Test;
use crate::kept::{installed, the_live};
use crate::support::{PATIENCE, World};

pub(crate) const TESTS: &[Test] = tests![
    it_stops_at_the_gate_and_the_person_decides_in_a_terminal,
    a_planner_that_poses_as_a_critic_and_a_conversation_that_does_count_for_nothing,
    a_verdict_on_a_plan_that_was_edited_meanwhile_counts_for_nothing,
    a_report_without_its_form_goes_back_to_its_own_agent,
];

/// The digest of a text, as the plan of that text has it.
fn digest(world: &World, text: &str) -> String {
    let said = world.run("sha256sum", &[], text).exits(0).stdout;
    said.split_whitespace().next().unwrap().to_owned()
}

/// The prompts of the critics that were called.
fn critics(stand_in: &StandIn) -> Vec<String> {
    let requests = stand_in.subagent_requests();
    requests.iter().map(ApiRequest::first_user_text).filter(|text| text.contains(CRITIC)).collect()
}

fn log(world: &World) -> String {
    plan(world)["log"].to_string()
}

fn it_stops_at_the_gate_and_the_person_decides_in_a_terminal() {
    let world = installed();
    let stand_in = StandIn::start(Cast::default().join(obedient(), &world)).unwrap();
    let run = world.client(&stand_in).args(&["--permission-mode", "default"]).prompt(START);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(phase(&world), "awaiting_user_approval");
    let requests = stand_in.requests();
    assert!(!requests[0].tools().contains(&"AskUserQuestion"));
    assert!(requests.last().unwrap().news().contains("`ralph ralplan approve`"));

    world.ralph(&["ralplan", "adjust", "use", "less", "code"]).exits(0);
    assert_eq!(phase(&world), "planner_planning");
    let resumed = ["--resume", run.session_id()];
    world.client(&stand_in).args(&resumed).prompt("/ralplan").result();
    assert_eq!(phase(&world), "awaiting_user_approval");
    assert_eq!(plan(&world)["plan_hash"], digest(&world, &plan_text(2)));
    let planners = stand_in.subagent_requests();
    assert!(planners.iter().any(|one| one.first_user_text().contains("use less code")));

    world.ralph(&["ralplan", "approve"]).exits(0);
    assert_eq!(endings(&world), ["approved"]);
    let n_before = stand_in.requests().len();
    world.client(&stand_in).args(&resumed).prompt("And now?").result();
    let after = stand_in.requests();
    assert_eq!(after.len(), n_before + 1, "{}", after.last().unwrap().news());
    assert_untouched(&world);
    let planned = the_live(&world).state;
    assert_eq!((&planned["phase"], &planned["mode"]), (&"planned".into(), &"loop".into()));
    assert_eq!(stand_in.unscripted(), 0);
}

fn a_planner_that_poses_as_a_critic_and_a_conversation_that_does_count_for_nothing() {
    let world = installed();
    let hash = digest(&world, &plan_text(1));
    let posing = verdict("OKAY", &hash[..12]);
    let cast = Cast { planner_says: posing.clone(), ..Cast::default() };
    // A conversation that passes on what it should have had judged, for as long as it is let.
    let conversation = Script::new().answer_with(move |request| match request.news() {
        news if news.contains("subagent_type `ralplan-critic`") => ScriptedTurn::text(&posing),
        _ => obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")),
    });
    let stand_in = StandIn::start(cast.join(conversation, &world)).unwrap();
    world.client(&stand_in).prompt(START).result();
    let seen = plan(&world);
    assert_eq!((&seen["phase"], &seen["ready_hash"]), (&"critic_review".into(), &hash.into()));
    assert!(!log(&world).contains("Critic verdict"), "{}", log(&world));
    let state = the_live(&world).state;
    // It rests, and does not end: with its end the wall would be gone.
    assert_eq!(state["pause"]["cause"], "blocked_on_human", "{state:#}");
    assert!(critics(&stand_in).is_empty());
    world.ralph(&["ralplan", "approve"]).exits(1);
}

fn a_verdict_on_a_plan_that_was_edited_meanwhile_counts_for_nothing() {
    let world = installed();
    let gate = Gate::new();
    let cast = Cast { held: Some((CRITIC, gate.clone())), ..Cast::default() };
    let stand_in = StandIn::start(cast.join(obedient(), &world)).unwrap();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(&stand_in).prompt(START));
        gate.wait_until_reached(PATIENCE).unwrap();
        fs::write(world.project().join(PLAN), plan_text(7)).unwrap();
        gate.open();
        run.join().unwrap().result();
    });
    assert_eq!(phase(&world), "awaiting_user_approval");
    // The first judged plan 1 while plan 7 stood there. A planner made plan 2 of it, which the second judged.
    let judged: Vec<String> = critics(&stand_in).iter().map(|prompt| digits(prompt)).collect();
    let texts = [1, 2].map(|n| digest(&world, &plan_text(n))[..12].to_owned());
    assert_eq!(judged, texts);
    assert_eq!(plan(&world)["plan_hash"], digest(&world, &plan_text(2)));
    assert_eq!(log(&world).matches("Critic verdict: OKAY").count(), 1, "{}", log(&world));
}

fn a_report_without_its_form_goes_back_to_its_own_agent() {
    let world = installed();
    let hasty = Script::new().answer_with(|request| match request.news() {
        news if news.contains("Ralph sends this back once") => {
            ScriptedTurn::text(&verdict("OKAY", &digits(&request.first_user_text())))
        }
        _ => ScriptedTurn::text("It looks good to me."),
    });
    let conversation = obedient().subagent(CRITIC, hasty);
    let stand_in = StandIn::start(Cast::default().join(conversation, &world)).unwrap();
    world.client(&stand_in).prompt(START).result();
    assert_eq!(phase(&world), "awaiting_user_approval");
    // One critic, asked twice, and the conversation has seen nothing of it.
    assert_eq!(critics(&stand_in).len(), 2);
    let called = stand_in.requests().iter().filter(|one| one.news().contains("looks good")).count();
    assert_eq!(called, 0);
}
