//! Every cell of the columns of consensus planning.

use super::*;
use crate::guard::PlanGate;

const PLANNER: Caller<'_> = Caller::Subagent("ralplan-planner");
const AGENTS: [Caller<'_>; 8] = [
    Caller::Main,
    PLANNER,
    Caller::Subagent("ralph:ralplan-planner"),
    Caller::Subagent("ralplan-architect"),
    Caller::Subagent("ralph:ralplan-critic"),
    Caller::Subagent("ralplan-metis"),
    Caller::Subagent("general-purpose"),
    Caller::Subagent(""),
];

/// Who may make the call in a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
enum May {
    Nobody,
    All,
    Planner,
    Main,
}

use May::{All, Main, Nobody, Planner};
use serde_json::json;

impl May {
    fn allows(self, agent: Caller<'_>) -> bool {
        match self {
            Nobody => false,
            All => true,
            Planner => agent == PLANNER || agent == Caller::Subagent("ralph:ralplan-planner"),
            Main => agent == Caller::Main,
        }
    }
}

struct WallCall<'a> {
    awaiting_person: bool,
    planner_writes: bool,
    agent: Caller<'a>,
    standing: LoopActivity,
    resolved: Option<&'a str>,
    question: Result<(), &'a str>,
    cut: bool,
    wall: Result<(), &'a str>,
}

fn seen(awaiting_person: bool, agent: Caller<'_>) -> WallCall<'_> {
    let standing = LoopActivity::Running;
    WallCall {
        awaiting_person,
        planner_writes: !awaiting_person,
        agent,
        standing,
        resolved: None,
        question: Err("no options"),
        cut: false,
        wall: Err("there is no wall"),
    }
}

fn rule(seen: &WallCall<'_>, tool: &str, input: &ToolInput) -> Ruling {
    rule_at(seen, tool, input, &places())
}

fn rule_at(seen: &WallCall<'_>, tool: &str, input: &ToolInput, places: &ProtectedPaths) -> Ruling {
    let gate = PlanGate {
        awaiting_person: seen.awaiting_person,
        planner_writes: seen.planner_writes,
        project_root: "/project".to_owned(),
        plan_path: ".omc/plans/cache.md".to_owned(),
        plan_hash: "0123456789abcdef0123".to_owned(),
        not_its_question: seen.question.err().map(str::to_owned),
        no_wall: seen.wall.err().map(str::to_owned),
    };
    let situation = Situation {
        standing: seen.standing,
        agent: seen.agent,
        session_id: "s-1",
        places,
        ralplan: Some(&gate),
        session: None,
    };
    let resolved = seen.resolved.or(input.path());
    decide(&situation, &ToolCall { tool, input, cwd: "/project", resolved, cut: seen.cut })
}

fn called(kind: &str) -> ToolInput {
    ToolInput::from(json!({"subagent_type": kind}))
}

fn skill(name: &str) -> ToolInput {
    ToolInput::from(json!({"skill": name}))
}

/// Tool, input, the rule that refuses, who may call until the verdict, who may call after it.
fn cells() -> Vec<(&'static str, ToolInput, &'static str, May, May)> {
    let nothing = ToolInput::default;
    let plan = "/project/.omc/plans/cache.md";
    let notebook = ToolInput::from(json!({"notebook_path": plan}));
    let state = "/home/u/.local/state/ralph/loops/1/state.json";
    let mut cells = vec![
        ("AskUserQuestion", nothing(), "question", Nobody, Nobody),
        ("EnterPlanMode", nothing(), "enter_plan", All, Nobody),
        ("ExitPlanMode", nothing(), "exit_plan", Nobody, Nobody),
        ("Write", file(plan), "mutation", Planner, Nobody),
        ("Edit", file(plan), "mutation", Planner, Nobody),
        ("MultiEdit", file(plan), "mutation", Planner, Nobody),
        ("NotebookEdit", notebook, "mutation", Planner, Nobody),
        ("Write", file("/project/src/main.rs"), "mutation", Nobody, Nobody),
        ("Edit", file("/project/.omc/ralplan-state.json"), "mutation", Nobody, Nobody),
        ("NotebookEdit", file("/project/a.ipynb"), "mutation", Nobody, Nobody),
        ("Write", nothing(), "mutation", Nobody, Nobody),
        ("Write", file(state), "protected_place", Nobody, Nobody),
        ("Bash", bash("ralph ralplan next"), "mutation", All, All),
        ("Bash", bash("ralph ralplan status | head"), "mutation", All, All),
        ("Bash", bash("cat ~/.claude/settings.json"), "mutation", All, All),
        ("Bash", bash("git log --oneline"), "mutation", Nobody, Nobody),
        ("Bash", bash("echo x > .omc/plans/cache.md"), "mutation", Nobody, Nobody),
        ("Bash", bash("ls ("), "mutation", Nobody, Nobody),
        ("Bash", bash("ralph start x"), "mutation", Nobody, Nobody),
        ("Bash", bash("ralph ralplan approve"), "mutation", Nobody, Nobody),
        ("Monitor", bash("cat log"), "mutation", All, All),
        ("Monitor", bash("make"), "mutation", Nobody, Nobody),
        ("PowerShell", bash("ls"), "other_tool", Nobody, Nobody),
        ("EnterWorktree", nothing(), "other_tool", Nobody, Nobody),
        ("SendMessage", nothing(), "other_tool", Nobody, Nobody),
        ("SlashCommand", bash("/ralph x"), "other_tool", Nobody, Nobody),
        ("mcp__files__write", file("/project/a"), "other_tool", Nobody, Nobody),
        ("mcp__files__read", file("/project/a"), "other_tool", Nobody, Nobody),
        ("ToolOfTomorrow", nothing(), "other_tool", Nobody, Nobody),
        ("read", nothing(), "other_tool", Nobody, Nobody),
        ("", nothing(), "other_tool", Nobody, Nobody),
    ];
    for tool in [
        "Read",
        "Grep",
        "Glob",
        "LS",
        "WebFetch",
        "WebSearch",
        "TodoWrite",
        "TaskUpdate",
        "ToolSearch",
    ] {
        cells.push((tool, file("/project/a"), "other_tool", All, All));
    }
    for tool in ["Agent", "Task"] {
        for kind in [
            "ralplan-planner",
            "ralplan-architect",
            "ralplan-critic",
            "ralplan-metis",
            "ralph:ralplan-critic",
        ] {
            cells.push((tool, called(kind), "agent", All, Nobody));
        }
        for kind in
            ["ralph-worker", "general-purpose", "other:ralplan-critic", "ralplan-", "Explore", ""]
        {
            cells.push((tool, called(kind), "agent", Nobody, Nobody));
        }
        cells.push((tool, nothing(), "agent", Nobody, Nobody));
    }
    for name in ["ralplan", "ralph:ralplan", "rp", "planloop"] {
        cells.push(("Skill", skill(name), "skill", All, All));
    }
    for name in [
        "ralph",
        "ralph:ralph",
        "ralph-plan",
        "ralph-parallel",
        "commit",
        "ralplanner",
        "ralplan-status",
        "x:ralplan",
        "",
    ] {
        cells.push(("Skill", skill(name), "skill", Nobody, Nobody));
    }
    cells.push(("Skill", nothing(), "skill", Nobody, Nobody));
    cells
}

#[test]
fn every_cell_until_the_verdict_and_while_the_person_is_awaited() {
    for (tool, input, rule_name, until, awaiting) in cells() {
        for (awaiting_person, may) in [(false, until), (true, awaiting)] {
            for agent in AGENTS {
                for standing in [LoopActivity::Running, LoopActivity::Paused] {
                    let seen = WallCall { standing, ..seen(awaiting_person, agent) };
                    let expected = if may.allows(agent) { "allow" } else { rule_name };
                    let found = summary(rule(&seen, tool, &input));
                    let what =
                        format!("{tool} {input:?}, {agent:?}, {standing:?}, {awaiting_person}");
                    assert_eq!(found, expected, "{what}");
                }
            }
        }
    }
}

#[test]
fn the_gates_own_question_is_asked_after_the_verdict_and_by_the_main_conversation() {
    for agent in AGENTS {
        for (awaiting_person, may) in [(false, Nobody), (true, Main)] {
            let seen = WallCall { question: Ok(()), ..seen(awaiting_person, agent) };
            let expected = if may.allows(agent) { "allow" } else { "question" };
            let found = summary(rule(&seen, "AskUserQuestion", &ToolInput::default()));
            assert_eq!(found, expected, "{agent:?} {awaiting_person}");
        }
    }
}

#[test]
fn while_the_plan_is_read_nobody_writes_it() {
    for (tool, input, rule_name, until, _) in cells() {
        for agent in AGENTS {
            let seen = WallCall { planner_writes: false, ..seen(false, agent) };
            let is_write = until == Planner;
            let expected = if !is_write && until.allows(agent) { "allow" } else { rule_name };
            let found = rule(&seen, tool, &input);
            assert_eq!(summary(found.clone()), expected, "{tool} {input:?}, {agent:?}");
            if let (Ruling::Deny { reason, .. }, true) = (found, is_write) {
                assert!(reason.contains("nobody writes until a planner is called"), "{reason}");
                assert!(reason.contains("`ralph ralplan status` names the agent"), "{reason}");
            }
        }
    }
}

#[test]
fn a_plan_is_where_its_path_leads_to() {
    let check = |path: &str, resolved: Option<&str>, expected: &str| {
        let places = places();
        let gate = PlanGate {
            awaiting_person: false,
            planner_writes: true,
            project_root: "/project".to_owned(),
            plan_path: String::new(),
            plan_hash: String::new(),
            not_its_question: None,
            no_wall: Some(String::new()),
        };
        let situation = Situation {
            standing: LoopActivity::Running,
            agent: PLANNER,
            session_id: "s-1",
            places: &places,
            ralplan: Some(&gate),
            session: None,
        };
        let call =
            ToolCall { tool: "Write", input: &file(path), cwd: "/project", resolved, cut: false };
        assert_eq!(summary(decide(&situation, &call)), expected, "{path} {resolved:?}");
        let nowhere = PlanGate { project_root: String::new(), ..gate.clone() };
        let nowhere = Situation { ralplan: Some(&nowhere), ..situation };
        assert_ne!(summary(decide(&nowhere, &call)), "allow", "no project, no folder of plans");
    };
    let plan = "/project/.omc/plans/a.md";
    check(plan, Some(plan), "allow");
    check("/link/.omc/plans/a.md", Some(plan), "allow");
    check(plan, Some("/project/src/a.rs"), "mutation");
    check(plan, Some("/elsewhere/.omc/plans/a.md"), "mutation");
    check(plan, None, "mutation");
    check(plan, Some("/project/.omc/plans/../../src/a.rs"), "mutation");
    check("/project/src/away/../plans/a.md", Some(plan), "mutation");
    check("/project/.omc/plans", Some("/project/.omc/plans"), "mutation");
    check("/project/.omc/plans/", Some("/project/.omc/plans/"), "mutation");
    check(
        "/project/.omc/plans-of-others/a.md",
        Some("/project/.omc/plans-of-others/a.md"),
        "mutation",
    );
    check("/project/sub/.omc/plans/a.md", Some("/project/sub/.omc/plans/a.md"), "mutation");
    check("/.omc/plans/a.md", Some("/.omc/plans/a.md"), "mutation");
    check(plan, Some("/home/u/.claude/settings.json"), "protected_place");
}

/// Behind the wall the text of a command counts for nothing.
#[test]
fn behind_the_wall_every_command_runs_and_nothing_else_more() {
    let skill_in_shell = |name: String| ToolInput::from(json!({"skill": name}));
    for (tool, input, rule_name, until, _) in cells() {
        for awaiting in [false, true] {
            let walled = WallCall { wall: Ok(()), ..seen(awaiting, Caller::Main) };
            let expected = match tool {
                "Bash" | "Monitor" | "Skill" => "allow",
                _ if until.allows(Caller::Main) && !awaiting => "allow",
                _ => continue,
            };
            assert_eq!(
                summary(rule(&walled, tool, &input)),
                expected,
                "{tool} {input:?} {rule_name}"
            );
        }
    }
    let cut = WallCall { cut: true, wall: Ok(()), ..seen(true, PLANNER) };
    assert_eq!(summary(rule(&cut, "Bash", &bash("ls"))), "allow");
    let skill = skill_in_shell("tidy".to_owned());
    let walled = WallCall { wall: Ok(()), ..seen(true, Caller::Main) };
    for (stays_in_shell, expected) in [(true, "allow"), (false, "skill")] {
        let places = ProtectedPaths {
            skill: Some(Skill { stays_in_shell, ..Skill::default() }),
            ..places()
        };
        assert_eq!(summary(rule_at(&walled, "Skill", &skill, &places)), expected);
    }
}

#[test]
fn a_cut_command_is_refused_in_the_words_of_the_gate() {
    for awaiting in [false, true] {
        let seen = WallCall { cut: true, ..seen(awaiting, PLANNER) };
        let Ruling::Deny { reason, .. } = rule(&seen, "Bash", &bash("ls")) else { panic!() };
        assert!(!reason.contains("Write tool") && reason.contains("may only read"), "{reason}");
    }
}

#[test]
fn a_protected_place_is_refused_in_the_same_words_as_anywhere() {
    let (places, input) = (places(), file("/home/u/.claude/settings.json"));
    let call = ToolCall {
        tool: "Write",
        input: &input,
        cwd: "/project",
        resolved: input.path(),
        cut: false,
    };
    assert_eq!(rule(&seen(false, PLANNER), "Write", &input), decide(&running(&places), &call));
}

#[test]
fn a_journal_from_before_the_wall_has_none() {
    let gate =
        json!({"awaiting_person": false, "project_root": "", "plan_path": "", "plan_hash": ""});
    let gate: PlanGate = serde_json::from_value(gate).unwrap();
    assert_eq!(gate.no_wall.as_deref(), Some("it was not recorded"));
}

#[test]
fn without_a_planning_there_is_no_wall() {
    for (tool, input) in [("Skill", skill("ralph")), ("mcp__x__y", ToolInput::default())] {
        check(LoopActivity::Running, tool, &input, "allow");
    }
}

#[test]
fn a_refusal_says_why_and_what_is_done_next() {
    let says = |awaiting_person, agent, tool: &str, input: &ToolInput, parts: &[&str]| {
        let Ruling::Deny { reason, .. } = rule(&seen(awaiting_person, agent), tool, input) else {
            panic!("{tool} is allowed")
        };
        let next = match awaiting_person {
            true => "The plan `.omc/plans/cache.md` (0123456789ab) waits for the person",
            false => "`ralph ralplan status` names the agent that is called next",
        };
        for part in parts.iter().chain([&next]) {
            assert!(reason.contains(part), "{tool}: {part:?} is not in {reason:?}");
        }
    };
    let nothing = &ToolInput::default();
    let source = &file("/project/src/a.rs");
    says(
        true,
        Caller::Main,
        "AskUserQuestion",
        nothing,
        &["not the question of the gate: no options."],
    );
    says(true, PLANNER, "AskUserQuestion", nothing, &["by the main conversation only"]);
    says(
        true,
        Caller::Main,
        "Write",
        source,
        &["nothing is changed", "Silence is no consent: wait"],
    );
    says(
        true,
        Caller::Main,
        "Bash",
        &bash("git branch y"),
        &["`git` is not on the list", "there is no wall", "`ralph doctor`", "cat, "],
    );
    says(true, Caller::Main, "Agent", nothing, &["`Agent` is not let through"]);
    says(true, Caller::Main, "Skill", &skill("ralph"), &["Skills that run commands wait"]);
    says(true, Caller::Main, "mcp__x__y", nothing, &["`mcp__x__y` is not let through"]);
    says(false, PLANNER, "Write", source, &["below `.omc/plans/` of the project and nowhere else"]);
    for agent in [Caller::Main, Caller::Subagent("executor")] {
        says(false, agent, "Write", source, &["only the agent `ralplan-planner` writes"]);
    }
    says(false, Caller::Main, "Agent", nothing, &["only `ralplan-planner`, `ralplan-architect`"]);
    says(false, Caller::Main, "ExitPlanMode", nothing, &["`ExitPlanMode` is not let through"]);
}
