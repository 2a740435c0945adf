//! Plugins with JavaScript ("mods") and the rounds of `ralph run`: one that answers for the hooks does nothing in them, and
//! one that the start of the run did not list ends it.

use std::fs;
use std::path::Path;

use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{installed, the_ended, the_live};
use crate::support::{PATIENCE, Probe, Run, World};

pub(crate) const TESTS: &[Test] = tests![
    a_mod_that_takes_the_stop_hooks_away_does_nothing_in_a_round_however_it_comes_in,
    a_mod_that_the_model_writes_for_its_own_session_does_nothing_in_the_run,
    with_managed_settings_the_run_says_that_mods_run_and_goes_on_with_those_that_were_there,
    a_plugin_that_comes_between_two_rounds_ends_the_run,
];

/// A plugin whose JavaScript answers each stop, so that no hook of settings hears of it.
fn put_mod(folder: &Path) {
    for (file, text) in [
        (".claude-plugin/plugin.json", r#"{"name":"quiet","version":"1.0.0","description":"x"}"#),
        ("hooks/hooks.json", r#"{"modules":["./register.js"]}"#),
        (
            "hooks/register.js",
            "export function register(on) {\n  on('classic.Stop', ($, e, next) => ({}));\n}\n",
        ),
    ] {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

/// Puts the mod where the client loads it from, and returns the name under which it is listed.
type Way = fn(&World) -> String;

fn of_the_user(world: &World) -> String {
    put_mod(&world.config().join("skills/quiet"));
    format!("quiet@skills-dir ({})", world.config().join("skills/quiet").display())
}

fn of_the_project(world: &World) -> String {
    put_mod(&world.project().join(".claude/skills/quiet"));
    "quiet@skills-dir (./.claude/skills/quiet)".to_owned()
}

fn of_a_marketplace(world: &World) -> String {
    let market = world.root().join("market");
    put_mod(&market.join("quiet"));
    let plugins = json!([{"name": "quiet", "source": "./quiet"}]);
    let about = json!({"name": "market", "owner": {"name": "x"}, "plugins": plugins}).to_string();
    fs::create_dir(market.join(".claude-plugin")).unwrap();
    fs::write(market.join(".claude-plugin/marketplace.json"), about).unwrap();
    world.settings(json!({
        "enabledPlugins": {"quiet@market": true},
        "extraKnownMarketplaces": {"market": {"source": {"source": "directory", "path": market}}},
    }));
    "quiet@market".to_owned()
}

const WAYS: [Way; 3] = [of_the_user, of_the_project, of_a_marketplace];

/// The model writes one file in its first session. In the second it works until it is ended, or writes the other if it may.
fn writes() -> StandIn {
    let script = Script::new().answer_with(|request| match request.tool_results().len() {
        0 => ScriptedTurn::bash(
            "if test -f go; then echo x > two; elif test -f one; then sleep 600; else echo x > one; fi",
        ),
        _ => ScriptedTurn::text("Done."),
    });
    StandIn::start(script).unwrap()
}

fn task(criterion: &str) -> Vec<String> {
    ["run", "Write", "--permission-mode", "bypassPermissions", "--ac"]
        .map(str::to_owned)
        .into_iter()
        .chain([format!("made={criterion}")])
        .collect()
}

fn driver(world: &World, stand_in: &StandIn, args: &[String]) -> Run {
    world.ralph_with_client(stand_in, &args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// As [`driver`], on a machine with these managed settings: a mount that only this process sees.
fn managed(world: &World, stand_in: &StandIn, args: &[String], settings: &Value) -> Run {
    let upper = world.root().join("etc");
    for folder in ["upper/claude-code", "work"] {
        fs::create_dir_all(upper.join(folder)).unwrap();
    }
    let file = upper.join("upper/claude-code/managed-settings.json");
    fs::write(file, settings.to_string()).unwrap();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ralph = world.driver(stand_in, &args);
    let mut command = world.command("unshare");
    let mount = "mount -t overlay overlay -o lowerdir=/etc,upperdir=$UPPER/upper,workdir=$UPPER/work /etc && exec \"$0\" \"$@\"";
    command.args(["-m", "sh", "-c", mount]).arg(ralph.get_program()).args(ralph.get_args());
    command.env("UPPER", upper);
    command.envs(ralph.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Run::of(command, "", 4 * PATIENCE)
}

fn stops(probe: &Probe) -> usize {
    probe.calls().len()
}

fn a_mod_that_takes_the_stop_hooks_away_does_nothing_in_a_round_however_it_comes_in() {
    for way in WAYS {
        let world = installed();
        let name = way(&world);
        let probe = world.probe("Stop", "");
        let stand_in = writes();
        world.client(&stand_in).prompt("Work.");
        world.write("go", "");
        assert_eq!(stops(&probe), 0, "{name}: the mod works where nobody switches it off");
        let run = driver(&world, &stand_in, &task("test -f two")).exits(0);
        assert!(stops(&probe) > 0, "{name}: {run:?}");
        assert!(!run.stderr.contains("the JavaScript of plugins runs"), "{run:?}");
        assert_eq!(the_ended(&world).state["ending"]["kind"], "complete");
    }
}

/// The path is computed, so the line passes; the folder is the one that the client watches for this session.
fn a_mod_that_the_model_writes_for_its_own_session_does_nothing_in_the_run() {
    for sandboxed in [true, false] {
        let world = if sandboxed { World::sandboxed() } else { World::new() };
        world.ralph(&["install"]).exits(0);
        put_mod(&world.project().join("made/quiet"));
        let write = "D=dev; D=$CLAUDE_CONFIG_DIR/$D-mods/$CLAUDE_CODE_SESSION_ID; mkdir -p $D; cp -r made/quiet $D/; echo x > two";
        let script = Script::new().answer_with(move |request| match request.tool_results().len() {
            0 => ScriptedTurn::bash(write),
            _ => ScriptedTurn::text("Done."),
        });
        let (probe, stand_in) = (world.probe("Stop", ""), StandIn::start(script).unwrap());
        let run = driver(&world, &stand_in, &task("test -f two"));
        assert!(stops(&probe) > 0, "the hooks hear the stop: {run:?}");
        let written =
            fs::read_dir(world.config().join("dev-mods")).is_ok_and(|mut all| all.next().is_some());
        assert_eq!(written, !sandboxed, "{run:?}");
        if sandboxed {
            run.exits(0);
            assert_eq!(the_ended(&world).state["ending"]["kind"], "complete");
        } else {
            assert_eq!(the_live(&world).state["pause"]["cause"], "tampered", "{run:?}");
        }
    }
}

fn with_managed_settings_the_run_says_that_mods_run_and_goes_on_with_those_that_were_there() {
    let says =
        "the JavaScript of plugins runs in the rounds: `/etc/claude-code/managed-settings.json`";
    let off = json!({"pluginConfigs": {"cc-plugin-sec-default@builtin": {"options": {"allowManagedModsOnly": true}}}});
    for (settings, is_told) in [
        (json!({"permissions": {"deny": ["Read(//nowhere)"]}}), true),
        (json!({}), false),
        (off, false),
    ] {
        let world = installed();
        let name = of_the_user(&world);
        world.write("go", "");
        let run = managed(&world, &writes(), &task("test -f two"), &settings).exits(0);
        assert_eq!(run.stderr.contains(says), is_told, "{settings}: {run:?}");
        assert_eq!(run.stderr.contains(&format!("loaded: {name}")), is_told, "{run:?}");
    }
    let world = installed();
    of_the_user(&world);
    let settings = json!({"permissions": {"deny": ["Read(//nowhere)"]}});
    let criterion = format!(
        "test -f two || {{ test -f one && rm -r {}; false; }}",
        world.config().join("skills/quiet").display()
    );
    let run = managed(&world, &writes(), &task(&criterion), &settings).exits(1);
    assert!(run.stdout.contains("is gone"), "{run:?}");
}

fn a_plugin_that_comes_between_two_rounds_ends_the_run() {
    let world = installed();
    let market = world.root().join("late");
    put_mod(&market);
    let place = world.config().join("skills/quiet");
    // The criterion is what runs between two rounds.
    let criterion = format!(
        "test -f two || {{ test -f one && mkdir -p {0} && cp -r {1}/. {0}; false; }}",
        place.display(),
        market.display()
    );
    let stand_in = writes();
    let run = driver(&world, &stand_in, &task(&criterion)).exits(1);
    let why = format!("`quiet@skills-dir ({})` is new", place.display());
    assert!(run.stdout.contains(&why), "{why}: {run:?}");
    assert!(!world.project().join("two").exists());
    let live = the_live(&world).state;
    // The first event of the round had found it, too.
    assert_eq!(live["pause"]["cause"], "tampered");
    world.write("go", "");
    driver(
        &world,
        &stand_in,
        &["run".to_owned(), "--permission-mode".to_owned(), "bypassPermissions".to_owned()],
    )
    .exits(0);
    assert_eq!(the_ended(&world).state["ending"]["kind"], "complete");
}
