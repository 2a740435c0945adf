//! Background workers in the real client: one that hangs wakes the session, one that reports does not.
//!
//! A client with one prompt waits for the hook that waits; in a terminal and with streamed prompts it goes on.

use std::fs;

use ralph_test_support::fake_api::{Gate, Script, ScriptedTurn, StandIn};
use serde_json::json;

use crate::Test;
use crate::kept::{TOKEN, installed, the_ended};
use crate::registrations::make_plugin;
use crate::support::{PATIENCE, World, wait_until};

pub(crate) const TESTS: &[Test] = tests![
    with_one_prompt_a_hung_worker_wakes_the_session_by_its_name,
    with_streamed_prompts_a_hung_worker_wakes_the_session_by_its_name,
    in_a_terminal_a_hung_worker_wakes_the_session_by_its_name,
    a_plugin_alone_wakes_the_session,
    with_one_prompt_a_worker_that_reports_is_not_kept_waiting_and_wakes_nobody,
    in_a_terminal_a_worker_that_reports_wakes_nobody,
];

const START: &str = "/ralph \"Have it dug\"";

/// What ends each of these stories.
struct Story {
    /// Holds the worker's report.
    worker: Gate,
    /// Holds the model's answer to being woken.
    woken: Gate,
    stand_in: StandIn,
}

impl Story {
    /// The model sends a worker off and ends its turn; it is woken, or hears the worker's report.
    fn new(is_woken: bool) -> Story {
        let (worker, woken) = (Gate::new(), Gate::new());
        let call = json!({"description": "dig the cellar", "prompt": "DIGGER: dig", "subagent_type": "general-purpose"});
        let digger = Script::new().turn(ScriptedTurn::held(&worker).then_text("I have dug."));
        let mut script = Script::new()
            .turn(ScriptedTurn::tool("Agent", call))
            .turn(ScriptedTurn::text("Launched."));
        if is_woken {
            script = script.turn(ScriptedTurn::held(&woken).then_text("I wait for the rest."));
        }
        let script = script.repeat(ScriptedTurn::text(TOKEN)).subagent("DIGGER", digger);
        let stand_in = StandIn::start(script).unwrap();
        Story { worker, woken, stand_in }
    }

    /// Lets the story go on to its end once the session has been woken.
    fn let_end(&self, world: &World) {
        self.stand_in.wait_for_requests(3, PATIENCE).unwrap();
        self.worker.open();
        let reported = || {
            world
                .transcript()
                .iter()
                .any(|row| row["operation"] == "enqueue" && row.to_string().contains("<task-id>"))
        };
        assert!(wait_until(PATIENCE, reported), "the worker's report did not come");
        self.woken.open();
    }

    #[track_caller]
    fn assert_woken(&self, world: &World) {
        let told = self.stand_in.requests()[2].news();
        assert!(told.contains("\"dig the cellar\" (general-purpose, a"), "{told}");
        assert_eq!(told.matches("Nothing was counted").count(), 1, "{told}");
        let kept = the_ended(world);
        // Counted is the turn after the worker had reported, not the waiting and not the waking.
        assert_eq!(kept.ending(), "complete_unverified at 1/25");
        assert_eq!(kept.n_decisions("Stop", "woken"), 1);
    }

    #[track_caller]
    fn assert_left_alone(&self, world: &World) {
        assert_eq!(self.stand_in.requests().len(), 3);
        assert!(self.stand_in.requests()[2].news().contains("I have dug."));
        let kept = the_ended(world);
        assert_eq!(kept.ending(), "complete_unverified at 0/25");
        assert_eq!(kept.n_decisions("Stop", "woken"), 0);
    }
}

/// Gives the workers of this world's loops no time at all.
fn impatient(world: World) -> World {
    world.write(".claude/ralph.toml", "background_minutes = 0\n");
    world
}

fn with_one_prompt_a_hung_worker_wakes_the_session_by_its_name() {
    let (world, story) = (impatient(installed()), Story::new(true));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(&story.stand_in).prompt(START));
        story.let_end(&world);
        run.join().unwrap()
    });
    story.assert_woken(&world);
}

fn with_streamed_prompts_a_hung_worker_wakes_the_session_by_its_name() {
    let (world, story) = (impatient(installed()), Story::new(true));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| world.client(&story.stand_in).prompts(&[START]));
        story.let_end(&world);
        run.join().unwrap()
    });
    story.assert_woken(&world);
}

fn in_a_terminal_a_hung_worker_wakes_the_session_by_its_name() {
    let (world, story) = (impatient(installed()), Story::new(true));
    let terminal = world.terminal(&story.stand_in, &[]);
    terminal.submit(START);
    story.let_end(&world);
    terminal.wait_for("Ralph: done, without proof");
    story.assert_woken(&world);
}

fn a_plugin_alone_wakes_the_session() {
    let world = impatient(World::new());
    let skills = world.config().join("skills");
    fs::create_dir_all(&skills).unwrap();
    world.skill("ralph", "---\nname: ralph\ndescription: Loops\n---\n$ARGUMENTS\n");
    let plugin = make_plugin(&world);
    let story = Story::new(true);
    let terminal = world.terminal(&story.stand_in, &["--plugin-dir", &plugin]);
    terminal.submit(START);
    story.let_end(&world);
    terminal.wait_for("Ralph: done, without proof");
    story.assert_woken(&world);
}

fn with_one_prompt_a_worker_that_reports_is_not_kept_waiting_and_wakes_nobody() {
    let (world, story) = (installed(), Story::new(false));
    std::thread::scope(|scope| {
        // Ends at all only because the hook that waits sees the report in the client's queue.
        let run = scope.spawn(|| world.client(&story.stand_in).prompt(START));
        wait_until_waited_for(&world);
        story.worker.open();
        run.join().unwrap()
    });
    story.assert_left_alone(&world);
}

fn in_a_terminal_a_worker_that_reports_wakes_nobody() {
    let (world, story) = (installed(), Story::new(false));
    let terminal = world.terminal(&story.stand_in, &[]);
    terminal.submit(START);
    wait_until_waited_for(&world);
    story.worker.open();
    terminal.wait_for("Ralph: done, without proof");
    story.assert_left_alone(&world);
}

/// Waits until the entry that waits has begun to.
#[track_caller]
fn wait_until_waited_for(world: &World) {
    let loops = world.ralph_home().join("loops");
    let waits = || {
        let folders = fs::read_dir(&loops).into_iter().flatten().flatten();
        folders.map(|folder| folder.path().join("waiting")).any(|mark| mark.exists())
    };
    assert!(wait_until(PATIENCE, waits), "nothing waits for the worker");
}
