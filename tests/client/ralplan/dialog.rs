//! A person at the keyboard plans by consensus, and decides in the client's own dialog.
//!
//! In a terminal the client puts every agent into the background, whatever the call says: the conversation
//! ends its turn, is woken by the agent's end, and learns the next step at its next stop.

use std::time::Duration;

use ralph_test_support::fake_api::{ApiRequest, Gate, Script, ScriptedTurn, StandIn};
use serde_json::json;

use super::{
    CRITIC, Cast, PLAN, PLANNER, START, assert_untouched, endings, obedient, obey, phase, plan,
    question, wait_for_phase,
};
use crate::Test;
use crate::kept::{TOKEN, installed};
use crate::support::{PATIENCE, Terminal, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    proceed_ends_it_and_a_typed_ralph_carries_the_plan_out,
    proceed_and_start_carries_the_plan_out_at_once,
    each_step_is_shown_to_the_person_once,
    a_dismissed_question_is_silence_and_other_words_adjust_and_discard_ends,
    in_plan_mode_the_critic_is_not_left_out_and_no_dialog_of_the_clients_is_consent,
    five_rejections_are_shown_to_the_person_with_a_warning,
    a_typed_cancel_ends_it_while_an_agent_works_and_while_it_waits_for_the_person,
];

/// The last line of the client's dialog.
const DIALOG: &str = "Enter to select";

/// How long a key may take to show. The client ignores keys for a moment after a dialog appears, so each is
/// pressed again; none of them does anything at the prompt, should it come too late.
const MOMENT: Duration = Duration::from_secs(2);

#[track_caller]
fn press_until(terminal: &Terminal, key: &str, is_so: impl Fn() -> bool) {
    let done = wait_until(PATIENCE, || {
        if is_so() {
            return true;
        }
        terminal.key(key);
        wait_until(MOMENT, &is_so)
    });
    assert!(done, "{key} does nothing:\n{}", terminal.screen());
}

/// Moves to an option of the dialog.
#[track_caller]
fn go_to(terminal: &Terminal, option: &str) {
    terminal.wait_for(DIALOG);
    press_until(terminal, "Down", || terminal.screen().contains(&format!("❯ {option}")));
}

/// Chooses an option of the dialog.
#[track_caller]
fn choose(terminal: &Terminal, option: &str) {
    go_to(terminal, option);
    press_until(terminal, "Enter", || !terminal.screen().contains(DIALOG));
}

/// Answers in words of one's own.
#[track_caller]
fn answer(terminal: &Terminal, words: &str) {
    go_to(terminal, "5. Type something.");
    let typed = wait_until(PATIENCE, || {
        terminal.type_text(words);
        wait_until(MOMENT, || terminal.screen().contains(words))
    });
    assert!(typed, "no place for words:\n{}", terminal.screen());
    press_until(terminal, "Enter", || !terminal.screen().contains(DIALOG));
}

/// Closes the dialog without an answer.
#[track_caller]
fn dismiss(terminal: &Terminal) {
    terminal.wait_for(DIALOG);
    press_until(terminal, "Escape", || !terminal.screen().contains(DIALOG));
}

/// The prompts of all planners, in order.
fn planners(stand_in: &StandIn) -> Vec<String> {
    let begins = |request: &ApiRequest| request.tool_results().is_empty();
    let requests = stand_in.subagent_requests().into_iter().filter(begins);
    requests
        .map(|request| request.first_user_text())
        .filter(|text| text.contains(PLANNER))
        .collect()
}

fn proceed_ends_it_and_a_typed_ralph_carries_the_plan_out() {
    let world = installed();
    let conversation = Script::new().answer_with(|request| match request.news() {
        news if news.contains("Goal: Add a login") => ScriptedTurn::bash("echo Login >> README.md"),
        news if news.contains("completed with no output") => {
            ScriptedTurn::text(&format!("The line is there.\n\n{TOKEN}"))
        }
        _ => obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")),
    });
    let stand_in = StandIn::start(Cast::default().join(conversation, &world)).unwrap();
    let terminal = world.terminal_in(&stand_in, "acceptEdits", "accept edits on");
    terminal.submit(START);
    choose(&terminal, "1. Proceed");
    terminal.wait_for("the user agreed to the plan").wait_for("the person types /ralph");
    assert!(wait_until(PATIENCE, || endings(&world) == ["approved"]), "{:?}", endings(&world));
    assert_untouched(&world);
    // What woke the conversation named the next step as well.
    let requests = stand_in.requests();
    let woken = |news: &String| news.contains("<task-notification>") && news.contains("Next: ");
    eprintln!(
        "REQUESTS {} woken {}",
        requests.len(),
        requests.iter().map(ApiRequest::news).filter(woken).count()
    );
    assert!(requests.iter().map(ApiRequest::news).any(|news| woken(&news)));
    terminal.submit("/ralph").wait_for("AC-1: grep -q Login README.md");
    terminal.wait_for("Ralph: done in ");
    assert_eq!(endings(&world), ["approved", "complete"]);
    assert_eq!(stand_in.unscripted(), 0);
}

fn proceed_and_start_carries_the_plan_out_at_once() {
    let world = installed();
    let conversation = Script::new().answer_with(|request| match request.news() {
        news if news.contains("Goal: Add a login") => ScriptedTurn::bash("echo Login >> README.md"),
        news if news.contains("completed with no output") => {
            ScriptedTurn::text(&format!("The line is there.\n\n{TOKEN}"))
        }
        _ => obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")),
    });
    let stand_in = StandIn::start(Cast::default().join(conversation, &world)).unwrap();
    let terminal = world.terminal_in(&stand_in, "acceptEdits", "accept edits on");
    terminal.submit(START);
    choose(&terminal, "2. Proceed and start");
    // The person sees what is run, and has typed nothing more.
    terminal.wait_for("AC-1: grep -q Login README.md").wait_for("Ralph: done in ");
    let both = || endings(&world) == ["approved", "complete"];
    assert!(wait_until(PATIENCE, both), "{:?}", endings(&world));
    assert_eq!(stand_in.unscripted(), 0);
}

/// As a person sees it: in the conversation, and each line once.
fn each_step_is_shown_to_the_person_once() {
    let world = installed();
    let stand_in = StandIn::start(Cast::default().join(obedient(), &world)).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    choose(&terminal, "4. Discard");
    terminal.wait_for("the user discarded the plan");
    assert!(wait_until(PATIENCE, || endings(&world) == ["discarded"]), "{:?}", endings(&world));
    let screen = terminal.history();
    for line in [
        "Plan 1/5: the gap finder has read the task",
        "goes to the critic",
        "Plan 1/5: the critic approves; you decide",
        "the user discarded the plan",
    ] {
        assert_eq!(screen.matches(line).count(), 1, "{line}:\n{screen}");
    }
    // The model is told none of it.
    let told = stand_in.requests().iter().any(|request| request.all_text().contains("Plan 1/5: "));
    assert!(!told);
}

fn a_dismissed_question_is_silence_and_other_words_adjust_and_discard_ends() {
    let world = installed();
    let readme = world.project().join("README.md");
    let conversation = Script::new().answer_with(move |request| match request.news() {
        news if news.contains("Just do it.") => {
            ScriptedTurn::tool("Write", json!({"file_path": readme, "content": "Login"}))
        }
        news if news.contains("The user wants to clarify") => {
            ScriptedTurn::text("What is unclear?")
        }
        news if news.contains("PreToolUse:Write hook error") => ScriptedTurn::text("I may not."),
        _ => obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")),
    });
    let stand_in = StandIn::start(Cast::default().join(conversation, &world)).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    dismiss(&terminal);
    terminal.submit("Just do it.").wait_for("I may not.");
    assert_eq!(phase(&world), "awaiting_user_approval");
    assert!(plan(&world)["decision"].is_null(), "{:#}", plan(&world));
    let requests = stand_in.requests();
    let denied = requests.iter().flat_map(ApiRequest::tool_results);
    let denied = denied.filter(|one| one.text.contains("waits for the person")).count();
    assert!(denied >= 1, "{denied}");
    assert_untouched(&world);
    // Whatever was said, it is asked again when the person takes the planning up.
    terminal.submit("/ralplan");
    dismiss(&terminal);
    assert!(plan(&world)["decision"].is_null(), "{:#}", plan(&world));
    terminal.submit("/ralplan");
    answer(&terminal, "use less code");
    choose(&terminal, "3. Adjust");
    wait_for_phase(&world, "planner_planning");
    choose(&terminal, "4. Discard");
    terminal.wait_for("the user discarded the plan");
    assert!(wait_until(PATIENCE, || endings(&world) == ["discarded"]), "{:?}", endings(&world));
    let prompts = planners(&stand_in);
    let has_words = |prompt: &String| prompt.contains("use less code");
    assert_eq!(prompts.iter().map(has_words).collect::<Vec<_>>(), [false, true, false]);
    assert!(world.project().join(PLAN).is_file());
    assert_untouched(&world);
}

fn in_plan_mode_the_critic_is_not_left_out_and_no_dialog_of_the_clients_is_consent() {
    let world = installed();
    let readme = world.project().join("README.md");
    let conversation = Script::new().answer_with(move |request| {
        let news = request.news();
        let n_refused = request.tool_results().iter().filter(|one| one.is_error).count();
        let again = json!({"subagent_type": "ralplan-planner", "description": "again", "prompt": PLANNER});
        let ask = json!({"questions": [{"question": "Is it good?", "header": "Plan", "multiSelect": false,
            "options": [{"label": "Proceed", "description": "a"}, {"label": "Discard", "description": "b"}]}]});
        match n_refused {
            0 if news.contains("subagent_type `ralplan-critic`") => ScriptedTurn::tool("Agent", again)
                .then_tool("AskUserQuestion", ask)
                .then_tool("ExitPlanMode", json!({"plan": "Add a login"})),
            3 if news.contains("summarize in a few lines") => {
                ScriptedTurn::tool("ExitPlanMode", json!({"plan": "Add a login"}))
                    .then_tool("Write", json!({"file_path": readme, "content": "Login"}))
            }
            // Refused, it does what the refusal says.
            _ if news.contains("waits for the person: ask with AskUserQuestion") => {
                ScriptedTurn::tool("AskUserQuestion", question(&request.all_text()))
            }
            _ => obey(request).unwrap_or_else(|| ScriptedTurn::text("I wait.")),
        }
    });
    let stand_in = StandIn::start(Cast::default().join(conversation, &world)).unwrap();
    let terminal = world.terminal_in(&stand_in, "plan", "plan mode on");
    terminal.submit(START);
    choose(&terminal, "1. Proceed");
    let results = stand_in.requests().last().unwrap().tool_results();
    let refused = results.iter().filter(|one| one.is_error);
    let mut refused: Vec<&str> = refused.map(|one| one.text.split(':').nth(1).unwrap()).collect();
    // Calls of one message are answered in any order.
    refused.sort_unstable();
    let tools = ["Agent", "AskUserQuestion", "ExitPlanMode", "ExitPlanMode", "Write"];
    assert_eq!(refused, tools.map(|tool| format!("{tool} hook error")));
    assert!(wait_until(PATIENCE, || endings(&world) == ["approved"]), "{:?}", endings(&world));
    assert_untouched(&world);
}

fn five_rejections_are_shown_to_the_person_with_a_warning() {
    let world = installed();
    let cast = Cast { verdicts: vec!["REJECT"; 5], ..Cast::default() };
    let stand_in = StandIn::start(cast.join(obedient(), &world)).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    terminal.wait_for(DIALOG).wait_for("WARNING: the critic rejected");
    terminal.wait_for("T-1 names no line: name it");
    assert_eq!(plan(&world)["iteration"], 5);
    let prompts = planners(&stand_in);
    assert_eq!(prompts.len(), 5);
    assert!(prompts[4].contains("T-1 names no line: name it"), "{}", prompts[4]);
    choose(&terminal, "4. Discard");
    assert!(wait_until(PATIENCE, || endings(&world) == ["discarded"]), "{:?}", endings(&world));
}

fn a_typed_cancel_ends_it_while_an_agent_works_and_while_it_waits_for_the_person() {
    let world = installed();
    let gate = Gate::new();
    let cast = Cast { held: Some((CRITIC, gate.clone())), ..Cast::default() };
    let stand_in = StandIn::start(cast.join(obedient(), &world)).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    gate.wait_until_reached(PATIENCE).unwrap();
    terminal.submit("ralph cancel");
    assert!(wait_until(PATIENCE, || endings(&world) == ["cancelled"]), "{:?}", endings(&world));
    gate.open();
    drop(terminal);
    // What the critic says now is heard by nobody, and the next planning begins from its beginning.
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START);
    dismiss(&terminal);
    assert_eq!(planners(&stand_in).len(), 2);
    terminal.submit("/ralph-cancel");
    let both = || endings(&world) == ["cancelled", "cancelled"];
    assert!(wait_until(PATIENCE, both), "{:?}", endings(&world));
    assert_untouched(&world);
}
