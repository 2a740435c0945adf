//! The guard: every cell of mode × standing × tool × what is touched × who calls.
//!
//! The rule holds one table; here the table is written a second time, by hand, from what is promised,
//! and every cell is compared. A mode with rules of its own adds one file beside `looping.rs`, and
//! one line in `table_of`.

mod looping;

use crate::explore::Explored;
use ralph_core::guard::{self, Caller, LoopActivity, ProtectedPaths, Ruling, Situation, ToolCall};
use ralph_core::protocol::event::ToolInput;
use ralph_core::state::Mode;

/// What the table says of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// The tool runs.
    Allow,
    /// It does not.
    Deny,
}

/// What a call touches, by which the table tells calls of one tool apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touches {
    /// Nothing that a rule knows of.
    Nothing,
    /// The work.
    Work,
    /// A place that only a person changes.
    Protected,
    /// Such a place, which is only read.
    ProtectedRead,
    /// A command that only a person gives.
    PersonsCommand,
    /// A command of Ralph that is the model's.
    ModelsCommand,
    /// A command line that was cut.
    Cut,
}

/// A call and the class that it belongs to.
pub(super) struct Sample {
    tool: &'static str,
    touches: Touches,
    text: String,
    cwd: &'static str,
}

const MODES: [Mode; 4] = [Mode::Plain, Mode::Refine, Mode::Ralplan, Mode::Orchestration];
const STANDINGS: [LoopActivity; 3] =
    [LoopActivity::Running, LoopActivity::AwaitingBaseline, LoopActivity::Paused];
const AGENTS: [Caller<'_>; 4] = [
    Caller::Main,
    Caller::Subagent(""),
    Caller::Subagent("ralph-worker"),
    Caller::Subagent("ralph:ralplan-planner"),
];
const EDITORS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];
const SESSION: &str = "s-1";

/// The table of a mode; a mode without rules of its own has those of the loop.
fn table_of(mode: &Mode) -> fn(LoopActivity, &str, Touches) -> Cell {
    match mode {
        Mode::Plain | Mode::Refine => looping::cell,
        Mode::Ralplan | Mode::Orchestration | Mode::Other(_) => looping::cell,
    }
}

fn places() -> ProtectedPaths {
    ProtectedPaths {
        ralph_home: "/home/u/.local/state/ralph".into(),
        config_dirs: vec!["/home/u/.claude".into()],
        user_config: "/home/u/.config/ralph".into(),
        executables: vec!["/home/u/.local/bin".into()],
        plugin_root: Some("/opt/ralph".into()),
        home: "/home/u".into(),
        sessions: Vec::new(),
        ..ProtectedPaths::default()
    }
}

const PROTECTED: [&str; 12] = [
    "/home/u/.local/state/ralph/loops/1/state.json",
    "/home/u/.local/state/ralph/manifest/s-1",
    "/home/u/.config/ralph/config.toml",
    "/project/.claude/ralph.toml",
    "/project/.claude/settings.json",
    "/project/.claude/settings.local.json",
    "/home/u/.claude/settings.json",
    "/opt/ralph/hooks/hooks.json",
    "/home/u/.local/bin/ralph-stop-hook",
    "/home/u/.local/bin/ralph",
    "/home/u/.claude/skills/ralph/SKILL.md",
    "/project/src/../.claude/settings.json",
];

const WORK: [&str; 5] = [
    "/project/src/main.rs",
    "notes.md",
    "/tmp/x",
    "/project/.claude/commands/x.md",
    "/project/ralph",
];

const PERSONS: [&str; 16] = [
    "start",
    "start 'x'",
    "task import plan.json",
    "criteria accept",
    "cancel",
    "cancel --all",
    "pause",
    "resume",
    "adopt",
    "trust",
    "signal steer x",
    "install",
    "uninstall",
    "checkpoint restore 1",
    "ralplan approve",
    "ralplan discard",
];

const MODELS: [&str; 10] = [
    "verify",
    "blocked 'a key'",
    "status --json",
    "task done T-1",
    "task list",
    "explain 3",
    "checkpoint list",
    "criteria list",
    "start --session s-1 -",
    "replay",
];

/// The ways in which a command may be wrapped.
const WRAPPED: [&str; 7] = [
    "{}",
    "cd /project && {}",
    "{} || true",
    "(sleep 1; {})",
    "timeout 5 {}",
    "env {}",
    "bash -c \"{}\"",
];

/// Every call that is tried.
fn samples(wrappings: &[&str]) -> Vec<Sample> {
    let plain = [
        "AskUserQuestion",
        "EnterPlanMode",
        "ExitPlanMode",
        "Agent",
        "Task",
        "Read",
        "Glob",
        "TodoWrite",
        "WebFetch",
        "mcp__other__tool",
        "SomeToolOfTomorrow",
    ];
    let sample = |tool, touches, text: String| Sample { tool, touches, text, cwd: "/project" };
    let mut all: Vec<Sample> =
        plain.map(|tool| sample(tool, Touches::Nothing, String::new())).into();
    for tool in EDITORS {
        all.extend(WORK.map(|path| sample(tool, Touches::Work, path.to_owned())));
        all.extend(PROTECTED.map(|path| sample(tool, Touches::Protected, path.to_owned())));
    }
    all.extend(PROTECTED.map(|path| sample("Read", Touches::Nothing, path.to_owned())));
    for tool in ["mcp__other__tool", "SomeToolOfTomorrow"] {
        all.extend(WORK.map(|path| sample(tool, Touches::Work, path.to_owned())));
        all.extend(PROTECTED.map(|path| sample(tool, Touches::Protected, path.to_owned())));
        all.extend(
            PERSONS.map(|inner| sample(tool, Touches::PersonsCommand, format!("ralph {inner}"))),
        );
    }
    all.push(sample("Monitor", Touches::Work, "tail -f build.log".to_owned()));
    all.extend(
        PROTECTED.map(|path| sample("Monitor", Touches::Protected, format!("rm -rf {path}"))),
    );
    all.extend(
        PERSONS.map(|inner| sample("Monitor", Touches::PersonsCommand, format!("ralph {inner}"))),
    );
    for wrapped in wrappings {
        let wrap = |inner: String| wrapped.replace("{}", &inner);
        let bash = |touches, inner| sample("Bash", touches, wrap(inner));
        all.extend(
            ["cargo test", "rm -rf target", "git commit -m x"]
                .map(|inner| bash(Touches::Work, inner.to_owned())),
        );
        for path in PROTECTED {
            all.extend(
                ["rm", "touch", "cp x", "sed -i s/a/b/"]
                    .map(|by| bash(Touches::Protected, format!("{by} {path}"))),
            );
            // Within a text that another program reads, a protected name is refused as such.
            if !wrapped.contains("bash -c") {
                all.push(bash(Touches::ProtectedRead, format!("cat {path}")));
            }
        }
        all.extend(PERSONS.map(|inner| bash(Touches::PersonsCommand, format!("ralph {inner}"))));
        // Whether a wrapped command does nothing but ask `ralph` is a question of the shell, which
        // the guard's own tests put.
        if *wrapped == "{}" {
            all.extend(MODELS.map(|inner| bash(Touches::ModelsCommand, format!("ralph {inner}"))));
        }
    }
    all.push(sample("Bash", Touches::Cut, "cargo test".to_owned()));
    all
}

fn rule(mode: &Mode, standing: LoopActivity, agent: Caller<'_>, sample: &Sample) -> Ruling {
    let text = Some(sample.text.clone());
    let input = match sample.tool {
        "Bash" | "Monitor" => ToolInput { command: text, ..ToolInput::default() },
        _ if sample.touches == Touches::PersonsCommand => {
            ToolInput { command: text, ..ToolInput::default() }
        }
        "NotebookEdit" => ToolInput { notebook_path: text, ..ToolInput::default() },
        _ => ToolInput { file_path: text, ..ToolInput::default() },
    };
    let places = places();
    let situation = Situation {
        mode,
        standing,
        agent,
        session_id: SESSION,
        own: guard::own_loop::ModelsOwn::default(),
        places: &places,
        ralplan: None,
        session: None,
    };
    let cut = sample.touches == Touches::Cut;
    let call = ToolCall { tool: sample.tool, input: &input, cwd: sample.cwd, resolved: None, cut };
    guard::decide(&situation, &call)
}

/// Compares every cell, with commands wrapped in so many ways.
pub fn compare(wrappings: usize) -> Explored {
    let samples = samples(&WRAPPED[..wrappings]);
    let (mut states, mut failures) = (0, Vec::new());
    for mode in MODES.into_iter().chain([Mode::Other("of tomorrow".to_owned())]) {
        let table = table_of(&mode);
        for (standing, agent) in STANDINGS.into_iter().flat_map(|one| AGENTS.map(|who| (one, who)))
        {
            for sample in &samples {
                states += 1;
                let ruling = rule(&mode, standing, agent, sample);
                let found = if ruling == Ruling::Allow { Cell::Allow } else { Cell::Deny };
                let expected = table(standing, sample.tool, sample.touches);
                let silent = matches!(&ruling, Ruling::Deny { reason, .. } if reason.is_empty());
                if found != expected || silent {
                    failures.push(format!(
                        "guard: {mode}, {standing:?}, {agent:?}, {} `{}` ({:?}): expected {expected:?}, found {ruling:?}",
                        sample.tool, sample.text, sample.touches
                    ));
                }
            }
        }
    }
    failures.truncate(20);
    let properties = vec![
        "each cell of the guard is as the table says".to_owned(),
        "each refusal says what to do instead".to_owned(),
    ];
    Explored { name: "guard".to_owned(), states, properties, failures }
}
