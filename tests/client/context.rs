//! What the model of the real client is told about its project, and what it is told by the client alone.

use std::fs;

use ralph_test_support::fake_api::{ApiRequest, Script, ScriptedTurn, StandIn};
use serde_json::json;

use crate::Test;
use crate::kept::installed;
use crate::support::World;

pub(crate) const TESTS: &[Test] = tests![
    the_facts_are_in_the_first_request_once_and_repeat_nothing_of_the_clients,
    settings_keep_them_from_the_model,
    a_resumed_session_is_not_told_again_and_a_subagent_never,
];

const HEADING: &str = "Facts about this project, which Ralph gathered";
const MODULE: &str = "go.mod: module \"example.com/attic\"";

fn project() -> World {
    let world = installed();
    world.write("go.mod", "module example.com/attic\n");
    world.write("attic/boxes.go", "package attic\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "A commit of its own"]);
    world.git(&["checkout", "-q", "-b", "branch-of-its-own"]);
    world.write("not-yet-committed", "");
    world
}

/// The page among everything that the model was given.
fn page(request: &ApiRequest) -> String {
    let text = request.all_text();
    let (_, from) = text.split_once(HEADING).unwrap_or_else(|| panic!("not told: {text}"));
    let end = from.match_indices("\n```").nth(1).expect("the fence is closed").0;
    from[..end].to_owned()
}

fn the_facts_are_in_the_first_request_once_and_repeat_nothing_of_the_clients() {
    let world = project();
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::text("Hello."))).unwrap();
    assert_eq!(world.client(&stand_in).prompt("Hello?").result()["result"], "Hello.");
    let request = &stand_in.requests()[0];
    let text = request.all_text();
    assert_eq!(text.matches(HEADING).count(), 1, "{text}");
    let page = page(request);
    assert!(page.contains(MODULE) && page.contains("\"attic/\": \"boxes.go\""), "{page}");
    // What the client says itself: should it stop that one day, the facts have to.
    for known in ["branch-of-its-own", "A commit of its own", "not-yet-committed"] {
        assert!(text.contains(known), "the client does not say `{known}` any more: {text}");
    }
    for known in ["branch-of-its-own", "A commit of its own", "git: "] {
        assert!(!page.contains(known), "`{known}` is said twice: {page}");
    }
}

fn settings_keep_them_from_the_model() {
    let world = project();
    let settings = world.home().join(".config/ralph/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "[context]\nenabled = false\n").unwrap();
    let stand_in = StandIn::start(Script::new().repeat(ScriptedTurn::text("Hello."))).unwrap();
    world.client(&stand_in).prompt("Hello?").result();
    assert!(!stand_in.requests()[0].all_text().contains(HEADING));
    fs::write(&settings, "[context]\noff = [\"structure\"]\n").unwrap();
    world.client(&stand_in).prompt("Hello?").result();
    let page = page(&stand_in.requests()[1]);
    assert!(page.contains(MODULE) && !page.contains("boxes.go"), "{page}");
}

fn a_resumed_session_is_not_told_again_and_a_subagent_never() {
    let world = project();
    let call = json!({"description": "dig", "prompt": "DIGGER: dig",
        "subagent_type": "general-purpose", "run_in_background": false});
    let script = Script::new()
        .turn(ScriptedTurn::tool("Agent", call))
        .turn(ScriptedTurn::text("Done."))
        .subagent("DIGGER", Script::new().turn(ScriptedTurn::text("Dug.")));
    let stand_in = StandIn::start(script).unwrap();
    let first = world.client(&stand_in).prompt("Have it dug.");
    assert_eq!(first.result()["result"], "Done.");
    assert!(!stand_in.subagent_requests()[0].all_text().contains(HEADING));
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::text("On."))).unwrap();
    world.client(&stand_in).args(&["--resume", first.session_id()]).prompt("Go on.").result();
    let text = stand_in.requests()[0].all_text();
    assert_eq!(text.matches(HEADING).count(), 1, "only from before: {text}");
}
