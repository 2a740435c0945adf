//! Every cell of the two columns of an orchestration.

use super::*;

const EXECUTOR: Caller<'static> = Caller::Subagent("Ralph-v2-Executor");
const WORDS: &str = "the words of the rule";

struct RoutedCall {
    standing: LoopActivity,
    agent: Caller<'static>,
    artefact: Option<Result<(), &'static str>>,
    next_call: Result<(), &'static str>,
}

const NEXT: &str = "Next: call `Ralph-v2-Executor` (EXECUTE, task-1).";

fn seen(agent: Caller<'static>) -> RoutedCall {
    RoutedCall { standing: LoopActivity::Running, agent, artefact: None, next_call: Err(WORDS) }
}

fn rule(seen: &RoutedCall, tool: &str, input: &ToolInput) -> Ruling {
    let places =
        ProtectedPaths { sessions: vec!["/project/.ralph-sessions".to_owned()], ..super::places() };
    let gate = OrchestrationGate {
        writes_artefact: seen.artefact.is_some(),
        not_its_own: seen.artefact.and_then(Result::err).map(str::to_owned),
        not_next: seen.next_call.err().map(str::to_owned),
        next: NEXT.to_owned(),
    };
    let situation = Situation {
        standing: seen.standing,
        agent: seen.agent,
        session_id: "s-1",
        places: &places,
        ralplan: None,
        session: Some(&gate),
    };
    let call = ToolCall { tool, input, cwd: "/project", resolved: None, cut: false };
    let ruling = decide(&situation, &call);
    if let Ruling::Deny { rule, .. } = &ruling {
        let text = serde_json::to_string(&DenialRecord::new(&situation, &call, *rule)).unwrap();
        let record: DenialRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(record.decide_again(), Some(ruling.clone()), "{tool}: decided again");
    }
    ruling
}

#[track_caller]
fn check(seen: &RoutedCall, tool: &str, input: &ToolInput, expected: &str) {
    let what = format!("{tool} by {:?}, {:?}", seen.agent, seen.standing);
    assert_eq!(summary(rule(seen, tool, input)), expected, "{what}");
}

/// Tool and input, then the verdict for the conversation while running and while paused, and the
/// same for an agent.
fn rows() -> Vec<(&'static str, ToolInput, [&'static str; 4])> {
    let nothing = ToolInput::default;
    let state = "/home/u/.local/state/ralph/loops/1/state.json";
    let all = |word: &'static str| [word; 4];
    let work = |rule: &'static str| [rule, "allow", "allow", "allow"];
    vec![
        ("AskUserQuestion", nothing(), ["question", "allow", "question", "allow"]),
        ("EnterPlanMode", nothing(), ["enter_plan", "allow", "enter_plan", "allow"]),
        ("ExitPlanMode", nothing(), all("allow")),
        ("Write", file("/project/src/a.rs"), work("mutation")),
        ("Edit", file("/project/src/a.rs"), work("mutation")),
        ("MultiEdit", file("/project/src/a.rs"), work("mutation")),
        ("NotebookEdit", file("/project/src/a.ipynb"), work("mutation")),
        ("Bash", bash("cargo test > out.txt"), work("mutation")),
        ("Bash", bash("ralph session status | head -n 3"), all("allow")),
        ("Bash", bash("ralph verify"), all("allow")),
        ("Monitor", bash("touch x"), work("mutation")),
        ("PowerShell", bash("ls"), work("mutation")),
        ("Agent", nothing(), ["agent", "allow", "agent", "agent"]),
        ("Task", nothing(), ["agent", "allow", "agent", "agent"]),
        ("Skill", nothing(), work("skill")),
        ("Read", file("/project/.ralph-sessions/1/progress.md"), all("allow")),
        ("mcp__x__y", nothing(), work("other_tool")),
        ("SendMessage", nothing(), work("other_tool")),
        ("Workflow", nothing(), work("other_tool")),
        ("ScheduleWakeup", nothing(), all("allow")),
        ("Bash", bash("cat .ralph-sessions/1/progress.md"), all("allow")),
        ("Bash", bash("ralph session next"), all("allow")),
        (
            "Bash",
            bash("echo x > .ralph-sessions/1/progress.md"),
            ["artefact", "allow", "artefact", "artefact"],
        ),
        ("Write", file(state), all("protected_place")),
        ("Bash", bash("ralph cancel"), all("refused_command")),
        ("Bash", bash("ralph session next --begin"), all("refused_command")),
        ("Bash", bash("date +%s"), all("allow")),
        ("Bash", bash("date -s 12:00"), work("mutation")),
    ]
}

#[test]
fn every_cell_of_the_conversation_and_of_an_agent() {
    for (tool, input, expected) in rows() {
        let columns = [
            (Caller::Main, LoopActivity::Running),
            (Caller::Main, LoopActivity::Paused),
            (EXECUTOR, LoopActivity::Running),
            (EXECUTOR, LoopActivity::Paused),
        ];
        for ((agent, standing), expected) in columns.into_iter().zip(expected) {
            check(&RoutedCall { standing, ..seen(agent) }, tool, &input, expected);
        }
    }
}

#[test]
fn a_conversation_that_would_work_is_told_who_is_called() {
    for (tool, input) in [
        ("Write", file("/project/src/a.rs")),
        ("Bash", bash("npm install")),
        ("Skill", ToolInput::default()),
        ("mcp__files__read_file", ToolInput::default()),
    ] {
        let Ruling::Deny { reason, .. } = rule(&seen(Caller::Main), tool, &input) else { panic!() };
        assert!(reason.contains("does no work of its own") && reason.ends_with(NEXT), "{reason}");
    }
}

#[test]
fn an_artefact_is_its_owners_and_never_the_conversations() {
    let input = file("/project/.ralph-sessions/1/progress.md");
    for tool in ["Write", "Edit", "MultiEdit", "NotebookEdit"] {
        let own = RoutedCall { artefact: Some(Ok(())), ..seen(EXECUTOR) };
        check(&own, tool, &input, "allow");
        let others = RoutedCall { artefact: Some(Err(WORDS)), ..seen(EXECUTOR) };
        check(&others, tool, &input, "artefact");
        let main = RoutedCall { artefact: Some(Err(WORDS)), ..seen(Caller::Main) };
        check(&main, tool, &input, "artefact");
        let Ruling::Deny { reason, .. } = rule(&main, tool, &input) else { panic!() };
        assert_eq!(reason, WORDS);
        let rests = RoutedCall { standing: LoopActivity::Paused, ..main };
        check(&rests, tool, &input, "allow");
    }
}

#[test]
fn a_mark_by_a_command_is_judged_like_an_edit() {
    let input = bash("ralph session mark task-1 done");
    check(&RoutedCall { artefact: Some(Ok(())), ..seen(EXECUTOR) }, "Bash", &input, "allow");
    for agent in [Caller::Main, EXECUTOR] {
        check(
            &RoutedCall { artefact: Some(Err(WORDS)), ..seen(agent) },
            "Bash",
            &input,
            "artefact",
        );
    }
}

#[test]
fn who_is_called_is_who_comes_next_and_the_conversation_calls() {
    for tool in ["Agent", "Task"] {
        let input = ToolInput::default();
        check(&RoutedCall { next_call: Ok(()), ..seen(Caller::Main) }, tool, &input, "allow");
        check(&RoutedCall { next_call: Ok(()), ..seen(EXECUTOR) }, tool, &input, "agent");
        let Ruling::Deny { reason, .. } = rule(&seen(Caller::Main), tool, &input) else { panic!() };
        assert_eq!(reason, WORDS);
    }
}

#[test]
fn no_command_changes_the_folder_of_sessions() {
    for command in [
        "rm -rf .ralph-sessions",
        "rm -rf .ralph-sessions/1",
        "mv .ralph-sessions/1/plan.md x",
        "cd .ralph-sessions/1 && echo x > progress.md",
        "cd .ralph-sessions && rm 1/progress.md",
        "if true; then rm .ralph-sessions/1/plan.md; fi",
        "sed -i s/a/b/ .ralph-sessions/1/progress.md",
        "tee .ralph-sessions/1/tasks/a.md < x",
        "cp x .ralph-sessions/1/plan.md",
        "python3 -c \"open('.ralph-sessions/1/progress.md','w')\"",
        "bash -c 'echo x >> .ralph-sessions/1/progress.md'",
        "find .ralph-sessions -name '*.md' -delete",
        "ln -s .ralph-sessions/1 x",
        "echo x > /project/.ralph-sessions/1/progress.md",
        "echo x > \"$PWD/.ralph-sessions/1/progress.md\"",
        "git checkout -- .ralph-sessions/1/progress.md",
    ] {
        for agent in [Caller::Main, EXECUTOR] {
            check(&seen(agent), "Bash", &bash(command), "artefact");
        }
    }
    for command in ["ls -R .ralph-sessions", "grep -rn x .ralph-sessions/1"] {
        check(&seen(Caller::Main), "Bash", &bash(command), "allow");
    }
}

#[test]
fn a_refused_command_names_what_is_allowed() {
    let Ruling::Deny { reason, .. } =
        rule(&seen(EXECUTOR), "Bash", &bash("rm .ralph-sessions/1/plan.md"))
    else {
        panic!()
    };
    assert!(reason.contains("Write or Edit") && reason.contains("ralph session mark"), "{reason}");
}

#[test]
fn each_refusal_of_an_orchestration_says_who_does_it() {
    let reason = |agent, tool: &str, input: serde_json::Value| match rule(
        &seen(agent),
        tool,
        &ToolInput::from(input),
    ) {
        Ruling::Allow => "allow".to_owned(),
        Ruling::Deny { reason, .. } => reason,
    };
    let routes = |what: &str| {
        format!("This conversation routes the session and does no work of its own: {what}. {NEXT}")
    };
    for (tool, what) in [
        ("Write", "files are written by the agents"),
        ("Edit", "files are written by the agents"),
        (
            "PowerShell",
            "this conversation may only run read-only commands, and Ralph cannot tell what this one does",
        ),
        ("mcp__x", "`mcp__x` is not known to change nothing"),
        ("Skill", "a skill is loaded by the agent that needs it"),
    ] {
        assert_eq!(reason(Caller::Main, tool, json!({})), routes(what), "{tool}");
    }
    for tool in ["TaskStop", "SendUserMessage", "KillShell", "Brief"] {
        assert_eq!(reason(Caller::Main, tool, json!({})), "allow", "{tool}");
    }
    let bash = reason(Caller::Main, "Bash", json!({"command": "rm a"}));
    assert!(
        bash.starts_with(
            "This conversation routes the session and does no work of its own: it runs `ralph` and basename, "
        ) && bash.ends_with(&format!(
            "whoami, with pipes between them: `rm` is not on the list of programs that only read. {NEXT}"
        )),
        "{bash}"
    );
    assert_eq!(reason(Caller::Main, "Bash", json!({"command": "ralph session next"})), "allow");
    let no_agents = "An agent of a session calls no agents: the conversation does, when `ralph session next` names \
                     one. Do your own part, and write what is left into your report.";
    assert_eq!(reason(EXECUTOR, "Agent", json!({})), no_agents);
    assert_eq!(reason(Caller::Main, "Agent", json!({})), WORDS);
    let carried = reason(EXECUTOR, "Agent", json!({"prompt": "ralph cancel"}));
    assert!(carried.starts_with("This would have the client submit `ralph cancel`"), "{carried}");
    for (rule, expected) in [
        (Rule::Mutation, true),
        (Rule::Skill, true),
        (Rule::OtherTool, true),
        (Rule::Agent, false),
        (Rule::Question, false),
        (Rule::ProtectedPlace, false),
    ] {
        assert_eq!(is_own_work(rule), expected, "{rule:?}");
    }
}
