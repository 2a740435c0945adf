//! Endings that are not completion: a model that stands still or goes round, a spent budget, a person who is needed.

use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn, Usage};

use super::{START, told_the_person};
use crate::Test;
use crate::kept::{TOKEN, installed, the_ended, the_live, works};
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    turns_of_words_alone_end_as_idle_before_the_client_cuts_them,
    work_that_goes_back_and_forth_ends_as_a_cycle,
    a_loop_ends_when_its_tokens_are_used_up,
    a_stop_shows_one_line_and_the_model_gets_the_details_with_its_next_tool_call,
    a_model_that_needs_a_person_says_so_and_the_loop_waits,
];

/// Waits until a transcript contains this text: the client writes it late.
fn wait_for_transcript(world: &World) -> impl Fn(&str) + Send + 'static {
    let projects = world.config().join("projects");
    move |text| {
        let is_there = || {
            let folders = std::fs::read_dir(&projects).into_iter().flatten().flatten();
            let mut files =
                folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten());
            files.any(|file| {
                let path = file.unwrap().path();
                path.extension().is_some_and(|it| it == "jsonl")
                    && String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains(text)
            })
        };
        assert!(wait_until(PATIENCE, is_there), "no transcript with `{text}`");
    }
}

fn turns_of_words_alone_end_as_idle_before_the_client_cuts_them() {
    let world = installed();
    // Until there is a transcript, nobody can tell what a turn did.
    let transcript = wait_for_transcript(&world);
    let thinks = || ScriptedTurn::text("I am thinking.");
    let script = Script::new().turn(thinks()).answer_with(move |_| {
        transcript("");
        thinks()
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt(START);
    assert_eq!(run.code, Some(0), "{run:?}");
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "stalled at 3/25");
    assert_eq!(kept.state["ending"]["cause"], "idle", "{:#}", kept.state["ending"]);
    assert_eq!(stand_in.requests().len(), 4);
    let rows = world.transcript_of(run.session_id());
    assert!(!rows.iter().any(|row| row.to_string().contains("blocked the turn from ending")));
    let told = told_the_person(&world, run.session_id());
    assert!(told.last().unwrap().contains("Ralph: stalled: "), "{told:#?}");
}

fn work_that_goes_back_and_forth_ends_as_a_cycle() {
    let world = installed();
    let back_and_forth = |turn: usize| ScriptedTurn::bash(&format!("echo {} > file", turn % 2));
    let stand_in = StandIn::start(works(back_and_forth, |turn| format!("Try {turn}."))).unwrap();
    world.client(&stand_in).prompt(START).result();
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "stalled at 3/25");
    assert_eq!(kept.state["ending"]["cause"], "cycle", "{:#}", kept.state["ending"]);
}

fn a_loop_ends_when_its_tokens_are_used_up() {
    let world = installed();
    let used = Usage { input_tokens: 400, output_tokens: 100, cache_read_input_tokens: 0 };
    let work =
        move |turn| ScriptedTurn::bash(&format!("echo {turn} > work-{turn}")).with_usage(used);
    // What is not yet in the transcript counts at the next stop.
    let transcript = wait_for_transcript(&world);
    let script = works(work, move |turn| {
        transcript(&format!("> work-{turn}"));
        format!("Step {turn}.")
    });
    let stand_in = StandIn::start(script).unwrap();
    let run = world.client(&stand_in).prompt(&format!("{START} --max-tokens 1500"));
    assert_eq!(the_ended(&world).ending(), "budget at 2/25");
    let told = told_the_person(&world, run.session_id());
    assert!(told.last().unwrap().contains("Ralph: stopped: "), "{told:#?}");
    assert!(told.last().unwrap().contains("of at most 1500 tokens"), "{told:#?}");
}

fn a_stop_shows_one_line_and_the_model_gets_the_details_with_its_next_tool_call() {
    let world = installed();
    let script = Script::new()
        .turn(ScriptedTurn::text(TOKEN))
        .turn(ScriptedTurn::bash("echo yes > done"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START).wait_for("grep -q yes done passes; it fails without the change");
    let shown = terminal.history();
    assert!(shown.contains("Ralph 1/25: completion refused"), "{shown}");
    for hidden in
        ["Completion was requested", "on its last line", "printed last", "Ralph loop at 1/25"]
    {
        assert!(!shown.contains(hidden), "`{hidden}` was shown:\n{shown}");
    }
    let details = "Completion was requested and is refused";
    assert!(stand_in.requests()[2].news().contains(details), "they come with the tool call");
}

fn a_model_that_needs_a_person_says_so_and_the_loop_waits() {
    let world = installed();
    let script = Script::new()
        .turn(ScriptedTurn::bash("ralph blocked 'Create the account at example.invalid'"))
        .turn(ScriptedTurn::text("I cannot go on without the account."))
        .turn(ScriptedTurn::bash("echo yes > done"))
        .turn(ScriptedTurn::text(TOKEN));
    let stand_in = StandIn::start(script).unwrap();
    let terminal = world.terminal(&stand_in, &[]);
    terminal.submit(START).wait_for("Create the account at example.invalid\n");
    terminal.wait_for("paused at 0/25 (blocked_on_human)");
    let kept = the_live(&world);
    assert_eq!(kept.state["phase"], "paused");
    assert_eq!(kept.state["pause"]["cause"], "blocked_on_human");
    let said = &stand_in.requests()[1].tool_results()[0];
    assert!(said.text.contains("Stop now"), "{}", said.text);
    terminal.submit("/ralph").wait_for("Ralph: done in ");
    let requests = stand_in.requests();
    assert!(requests[2].news().contains("continues at 0/25"), "{}", requests[2].news());
    assert_eq!((requests.len(), stand_in.unscripted()), (4, 0));
}
