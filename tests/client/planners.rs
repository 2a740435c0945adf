//! The agents of a consensus planning, as the real client reads their front matter.

use ralph_core::modes::ralplan::Role;
use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::installed;

pub(crate) const TESTS: &[Test] = tests![only_the_planner_is_offered_tools_that_write];

fn only_the_planner_is_offered_tools_that_write() {
    let world = installed();
    let call = |role: Role| -> Value {
        json!({"description": "plan", "prompt": format!("Be the {}.", role.agent()),
            "subagent_type": role.agent(), "run_in_background": false})
    };
    let script = Role::ALL.into_iter().fold(Script::new(), |script, role| {
        let marker = format!("Be the {}.", role.agent());
        script
            .turn(ScriptedTurn::tool("Agent", call(role)))
            .subagent(&marker, Script::new().turn(ScriptedTurn::text("I was.")))
    });
    let stand_in = StandIn::start(script.turn(ScriptedTurn::text("All were."))).unwrap();
    world.client(&stand_in).prompt("Call all four.");
    let requests = stand_in.subagent_requests();
    for role in Role::ALL {
        let request = requests
            .iter()
            .find(|one| one.first_user_text().contains(&format!("Be the {}.", role.agent())))
            .unwrap_or_else(|| panic!("{} was not called", role.agent()));
        // With a shell the client leaves out the tools that a shell can stand in for.
        let mut tools = request.tools();
        tools.retain(|tool| !["Read", "Grep", "Glob"].contains(tool));
        tools.sort_unstable();
        let expected: &[&str] = match role {
            Role::Planner => &["Bash", "Edit", "Write"],
            _ => &[],
        };
        assert_eq!(tools, expected, "{}", role.agent());
    }
}
