//! The bounds, names and texts of the guard, each in whole.

use super::*;
use crate::guard::commands::{
    Trait, given_users, named, present_name, reason_below_client, refusal, typed_alias, users,
    without_alias,
};
use crate::guard::gates::{UnreadableCall, judge_unreadable};
use crate::guard::speaker::{
    Input, Process, ProcessLine, Speaker, Top, hidden, is_below_any_client, is_client,
    is_from_client, not_from_client, of_command, unplaceable,
};
use serde_json::{Value, json};

fn judged_with(tool: &str, input: Value, cut: bool) -> &'static str {
    let places = places();
    let situation = running(&places);
    let input = ToolInput::from(input);
    let call = ToolCall { tool, input: &input, cwd: "/project", resolved: None, cut };
    summary(decide(&situation, &call))
}

const STATE: &str = "/home/u/.local/state/ralph/";

#[test]
fn a_call_with_too_many_or_too_long_fields_is_refused() {
    let many = |n: usize| judged("mcp__x", json!({"a": vec!["x"; n]}));
    // The name of the field counts as a text.
    assert_eq!([many(4095), many(4096)], ["allow", "cut_command"]);
    let long = |n: usize| judged("mcp__x", json!({"a": "x".repeat(n)}));
    assert_eq!([long((256 << 10) - 1), long(256 << 10)], ["allow", "cut_command"]);
    // Contents and empty texts are not counted.
    assert_eq!(judged("mcp__x", json!({"a": vec![""; 5_000]})), "allow");
    assert_eq!(judged("mcp__x", json!({"content": "x".repeat(300 << 10)})), "allow");
}

#[test]
fn a_text_that_may_have_been_cut_is_refused_where_it_could_be_a_command() {
    let cut = |name: &str, n: usize| judged_with("mcp__x", json!({name: "x".repeat(n)}), true);
    for name in ["x", "prompt"] {
        let found = [65_528, 65_529, 65_530].map(|n| cut(name, n));
        assert_eq!(found, ["allow", "cut_command", "cut_command"], "{name}");
    }
    let command = |n: usize| judged_with("PowerShell", json!({"command": "x".repeat(n)}), false);
    assert_eq!(command(65_530), "allow");
    for name in ["query", "body", "content"] {
        assert_eq!(cut(name, 70_000), "allow", "{name}");
    }
    assert_eq!(judged("mcp__x", json!({"x": "y".repeat(70_000)})), "allow");
}

#[test]
fn a_longer_text_is_no_path_and_no_message() {
    let path = |n: usize| judged("mcp__x", json!({"query": format!("{STATE:x<n$}")}));
    assert_eq!([path(4_096), path(4_097)], ["protected_place", "allow"]);
    assert_eq!(judged("mcp__x", json!({"query": format!("{STATE}a\nb")})), "allow");
    let message =
        |n: usize| judged("mcp__x", json!({"body": format!("{:x<n$}", "/ralph-cancel ")}));
    assert_eq!([message(4_096), message(4_097)], ["refused_command", "allow"]);
    assert_eq!(judged("mcp__x", json!({"body": "/ralph-cancel\nnow"})), "allow");
    assert_eq!(judged("mcp__x", json!({"body": " /ralph-cancel\n"})), "refused_command");
}

#[test]
fn json_in_a_text_is_read_to_a_depth_of_four() {
    let nested = |depth: usize| {
        let mut value = json!({"q": "/home/u/.local/x/../state/ralph/y"});
        for _ in 0..depth {
            value = json!({"q": value.to_string()});
            value = json!({"inner": value["q"]});
        }
        judged("mcp__x", value)
    };
    let found = [0, 1, 4, 5].map(nested);
    assert_eq!(found, ["protected_place", "protected_place", "protected_place", "allow"]);
    // Contents are not read.
    let content = json!({"content": json!({"q": "/home/u/.local/state/ralph/y"}).to_string()});
    assert_eq!(judged("mcp__x", content), "allow");
    // What is no JSON is one text.
    assert_eq!(judged("mcp__x", json!({"inner": "{ /home/u/x"})), "allow");
}

#[test]
fn the_address_of_another_machine_is_no_place_on_this_one() {
    for (text, expected) in [
        ("https://x.org/.claude/settings.json", "allow"),
        (" ssh://x/.claude/settings.json ", "allow"),
        ("file:///project/.claude/settings.json", "protected_place"),
        ("x https://x/.claude/settings.json", "protected_place"),
        ("https://x and /project/.claude/settings.json", "protected_place"),
        ("$HOME/.claude/settings.json", "protected_place"),
        ("${HOME}/.claude/settings.json", "protected_place"),
        ("$RALPH_HOME/x", "protected_place"),
        ("~/.claude/settings.json", "protected_place"),
        ("/project", "allow"),
        ("/", "allow"),
        ("/home/u", "protected_place"),
        ("/project/.claude", "protected_place"),
        ("/project/.claude/skills", "allow"),
    ] {
        assert_eq!(judged("mcp__x", json!({"x": text})), expected, "{text}");
    }
}

#[test]
fn each_tool_has_its_effects() {
    for (tool, looks, edits, at_places, known) in [
        ("Read", true, false, false, true),
        ("WebSearch", true, false, false, true),
        ("AskUserQuestion", false, false, false, true),
        ("EnterPlanMode", false, false, false, true),
        ("ExitPlanMode", false, false, false, true),
        ("Write", false, true, true, true),
        ("Edit", false, true, true, true),
        ("MultiEdit", false, true, true, true),
        ("NotebookEdit", false, true, true, true),
        ("Bash", false, false, true, true),
        ("Monitor", false, false, true, true),
        ("PowerShell", false, false, true, true),
        ("Agent", false, false, true, true),
        ("Task", false, false, true, true),
        ("Skill", false, false, true, true),
        ("LSP", false, false, true, true),
        ("Workflow", false, false, true, true),
        ("mcp__x", false, false, true, false),
        ("", false, false, true, false),
    ] {
        let found = (only_looks(tool), is_edit(tool), looks_at_places(tool), is_known(tool));
        assert_eq!(found, (looks, edits, at_places, known), "{tool}");
    }
}

#[test]
fn the_paths_whose_links_decide_are_those_of_the_call() {
    let resolve = |tool: &str, input: Value| {
        let input = ToolInput::from(input);
        let call = ToolCall { tool, input: &input, cwd: "/project", resolved: None, cut: false };
        paths_to_resolve(&call, &places())
    };
    assert_eq!(resolve("Write", json!({"file_path": "a/../b"})), ["/project/b"]);
    assert_eq!(resolve("Write", json!({"file_path": "a/b"})), Vec::<String>::new());
    assert_eq!(resolve("Read", json!({"file_path": "a/../b"})), Vec::<String>::new());
    assert_eq!(resolve("Bash", json!({"command": "a/../b"})), Vec::<String>::new());
    let given = json!({"x": " $HOME/a ", "query": "~/b", "body": "c", "content": "d"});
    let mut found = resolve("mcp__x", given);
    found.sort();
    assert_eq!(
        found,
        [
            "/home/u/a",
            "/home/u/b",
            "/project/body",
            "/project/content",
            "/project/query",
            "/project/x"
        ]
    );
    let texts = vec!["a".repeat(4_096), "b".repeat(4_097), "c\nd".to_owned()];
    let found = resolve("mcp__x", json!({"x": texts}));
    assert_eq!(found, ["/project/x".to_owned(), format!("/project/{}", "a".repeat(4_096))]);
    let many: Vec<String> = (0..100).map(|at| at.to_string()).collect();
    assert_eq!(resolve("mcp__x", json!({"x": many})).len(), 64);
}

#[test]
fn the_record_of_a_denial_keeps_what_it_was_made_from() {
    let record = |tool: &str, input: Value, rule: Rule| {
        let (places, input) = (places(), ToolInput::from(input));
        let situation = Situation { agent: Caller::Subagent("worker"), ..running(&places) };
        let call =
            ToolCall { tool, input: &input, cwd: "/project", resolved: Some("/r"), cut: false };
        DenialRecord::new(&situation, &call, rule)
    };
    let state = json!({"file_path": format!("{STATE}x")});
    for (tool, has_input) in [
        ("mcp__x", true),
        ("Agent", true),
        ("Skill", true),
        ("Monitor", true),
        ("PowerShell", true),
        ("Bash", false),
        ("Write", false),
        ("AskUserQuestion", false),
    ] {
        for rule in [Rule::ProtectedPlace, Rule::RefusedCommand, Rule::CutCommand] {
            assert_eq!(record(tool, state.clone(), rule).input.is_some(), has_input, "{tool}");
        }
        assert_eq!(record(tool, state.clone(), Rule::Mutation).input, None, "{tool}");
    }
    assert_eq!(record("mcp__x", Value::Null, Rule::CutCommand).input, None);
    let whole = record("mcp__x", state.clone(), Rule::ProtectedPlace);
    assert_eq!(
        (whole.rule.as_str(), whole.tool.as_str(), whole.cwd.as_str(), whole.session_id.as_str()),
        ("protected_place", "mcp__x", "/project", "s-1")
    );
    assert_eq!(
        (whole.subagent.as_deref(), whole.resolved.as_deref(), whole.shortened, whole.cut),
        (Some("worker"), Some("/r"), false, false)
    );
    assert_eq!(whole.path, Some(format!("{STATE}x")));
    let long = |n: usize| {
        let command = format!("{:x<n$}", "ralph cancel #");
        record("Bash", json!({"command": command}), Rule::RefusedCommand)
    };
    let (fits, shortened) = (long(4_096), long(4_097));
    assert_eq!((fits.shortened, shortened.shortened), (false, true));
    assert_eq!(shortened.command.as_ref().map(String::len), Some(4_096));
    assert!(fits.decide_again().is_some());
    assert_eq!(shortened.decide_again(), None);
    let cut = DenialRecord { cut: true, ..shortened };
    assert!(matches!(cut.decide_again(), Some(Ruling::Deny { rule: Rule::CutCommand, .. })));
}

#[test]
fn each_rule_has_its_name_in_the_journal() {
    let rules = [
        Rule::Question,
        Rule::EnterPlan,
        Rule::ExitPlan,
        Rule::Mutation,
        Rule::Agent,
        Rule::Skill,
        Rule::OtherTool,
        Rule::Baseline,
        Rule::ProtectedPlace,
        Rule::Artefact,
        Rule::RefusedCommand,
        Rule::CutCommand,
    ];
    assert_eq!(
        rules.map(Rule::name),
        [
            "question",
            "enter_plan",
            "exit_plan",
            "mutation",
            "agent",
            "skill",
            "other_tool",
            "baseline",
            "protected_place",
            "artefact",
            "refused_command",
            "cut_command"
        ]
    );
}

#[test]
fn a_command_is_refused_to_whom_it_stands_for() {
    for command in ["accept", "share", "trust", "ralplan approve", "run --shared"] {
        assert!(named(command).unwrap().is(Trait::NoModels), "{command}");
    }
    for command in ["start", "run", "cancel", "status"] {
        assert!(!named(command).unwrap().is(Trait::NoModels), "{command}");
    }
    let stopping =
        ["cancel", "cancel --shared", "pause", "pause --shared", "watch", "status --shared"];
    let beginning = [
        "start",
        "task import",
        "plan",
        "run",
        "run --shared",
        "share",
        "refine loop",
        "team new",
        "team run",
        "ralplan run",
        "install",
    ];
    for row in users() {
        assert_eq!(row.is(Trait::Stops), stopping.contains(&row.name), "{}", row.name);
        assert_eq!(row.is(Trait::Begins), beginning.contains(&row.name), "{}", row.name);
    }
    assert_eq!((refusal("verify"), refusal("try")), (None, None));
}

#[test]
fn each_refusal_of_a_command_is_this_sentence() {
    let can = "is for the user only while a loop is live in this session; the user can:";
    for (command, how) in [
        ("plan", "give `ralph plan` in another terminal"),
        (
            "cancel",
            "type `/ralph-cancel` in the session, or `ralph cancel` as the whole prompt while it works, or \
             give it in another terminal",
        ),
        (
            "pause",
            "type `ralph pause` as the whole prompt in the session, or give it in another terminal",
        ),
        (
            "task import",
            "end the loop first, then type `/ralph-plan` in the session, or give it in another terminal",
        ),
        (
            "accept",
            "type `/ralph accept` in the session, or give `ralph accept` in another terminal",
        ),
    ] {
        assert_eq!(refusal(command), Some(format!("`ralph {command}` {can} {how}")));
    }
    let below = "is for the user only, and this process runs below a Claude Code client, where the model may \
                 have started it (as may `!`); give it in a terminal outside of any client";
    assert_eq!(
        reason_below_client(named("accept").unwrap()),
        format!("`ralph accept` {below}, or type `/ralph accept` in the session")
    );
    for command in ["start", "ralplan approve", "try"] {
        let reason = reason_below_client(named(command).unwrap());
        assert_eq!(reason, format!("`ralph {command}` {below}"));
    }
}

#[test]
fn an_alias_is_rewritten_before_the_words_are_read() {
    for (line, expected) in [
        ("session status x", "status --of=team x"),
        ("refine history --session a", "status --of=refine --id a"),
        ("refine history --session=a", "status --of=refine --id=a"),
        ("refine history --sessions a", "status --of=refine --sessions a"),
        ("refine loop a -- --session b", "refine loop a -- --session b"),
        ("build --max-iterations 3", "run --planned -n 3"),
        ("parallel run -n 3", "run --parallel --workers 3"),
        ("run -n 3", "run -n 3"),
        ("session", "team"),
        ("task", "task"),
        ("", ""),
    ] {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(without_alias(words).join(" "), expected, "{line}");
    }
    assert_eq!(typed_alias(&["criteria", "accept", "x"]), Some("criteria accept"));
    assert_eq!(typed_alias(&["accept"]), None);
    assert_eq!([present_name("criteria accept"), present_name("run")], ["accept", "run"]);
    for (line, expected) in [
        ("--quiet cancel", Some(("cancel", "/ralph-cancel"))),
        ("cancel --shared", Some(("cancel --shared", ""))),
        ("status --shared", Some(("status --shared", ""))),
        ("status", None),
        ("doctor --fix", Some(("doctor --fix", ""))),
        ("doctor", None),
        ("team", None),
        ("ralplan -x approve", Some(("ralplan approve", ""))),
    ] {
        let given = given_users(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(given.map(|row| (row.name, row.typed)), expected, "{line}");
    }
}

#[test]
fn who_cannot_be_placed_is_told_what_to_do_instead() {
    assert_eq!(
        unplaceable("start", "/ralph", "tilix, bash"),
        "`ralph start` is for the user only while a loop is live, and this process (tilix, bash) is younger \
         than the loop's client, so that the model may have detached it; type `/ralph` in a session of this \
         project. `ralph cancel`, `pause`, `watch` and `status` work here"
    );
    assert_eq!(
        unplaceable("plan", "", "sh"),
        "`ralph plan` is for the user only while a loop is live, and this process (sh) is younger than the \
         loop's client, so that the model may have detached it; give it in a terminal that is older, or when \
         the loop has ended. `ralph cancel`, `pause`, `watch` and `status` work here"
    );
    assert_eq!(
        hidden("plan"),
        "`ralph plan` is for the user only while a loop is live, and Ralph cannot see who gave it: this \
         namespace may hide the loop's client; give it outside of it, or type it in the session"
    );
    assert_eq!(
        not_from_client("l-1"),
        "this session is younger than the client of loop l-1, so that the model may have started it; type it \
         in the session of that loop"
    );
}

#[test]
fn a_client_is_known_by_its_program_or_its_script() {
    for (executable, arguments, expected) in [
        ("/usr/bin/claude", "", true),
        ("claude.exe", "", true),
        ("/home/u/.local/share/claude/versions/2.1.328", "", true),
        ("/usr/bin/node", "node\0/x/claude-code/cli.js", true),
        ("/usr/bin/node22", "node\0--a\0--b\0/usr/bin/claude", true),
        ("/usr/bin/node", "node\0a\0b\0c\0/usr/bin/claude", true),
        ("/usr/bin/node", "node\0a\0b\0c\0d\0/usr/bin/claude", false),
        ("/usr/bin/node", "/usr/bin/claude\0x", false),
        ("/usr/bin/node", "node\0server.js", false),
        ("/usr/bin/python3", "python3\0/usr/bin/claude", false),
        ("/usr/bin/claudette", "", false),
        ("", "", false),
    ] {
        assert_eq!(is_client(executable, arguments), expected, "{executable} {arguments:?}");
    }
    let below = |process: Process| {
        let processes = vec![Process::default(), process];
        is_below_any_client(&ProcessLine { processes, top: Top::First })
    };
    assert!(!below(Process::default()));
    assert!(below(Process { client: Some(0), ..Process::default() }));
    assert!(below(Process { client_session: "s".to_owned(), ..Process::default() }));
}

/// The client is process 2, which started at 10; 3 adopts orphans.
fn spoken(processes: &[(u32, u64, &str, Option<u32>)], top: Top) -> (Speaker, [bool; 2]) {
    let process = |(pid, started, name, client): &(u32, u64, &str, Option<u32>)| Process {
        pid: *pid,
        started: *started,
        name: (*name).to_owned(),
        client: *client,
        client_session: String::new(),
    };
    let line = ProcessLine { processes: processes.iter().map(process).collect(), top };
    let client = crate::state::ClientProcess { pid: 2, started: "10".to_owned() };
    let sent = [Input::Other, Input::Socket(9)];
    (
        of_command(&line, &client, "s", || Some(3)),
        sent.map(|input| is_from_client(&line, &client, input, true, || Some(3))),
    )
}

#[test]
fn who_speaks_follows_from_the_ancestors_and_what_they_name() {
    let person = (Speaker::Person, [true, true]);
    assert_eq!(spoken(&[(7, 20, "ralph", None), (8, 9, "sh", None)], Top::Outside), person);
    // It names a client that is no ancestor of it, though another runtime is.
    let left = [(7, 20, "ralph", Some(77)), (8, 9, "node", None)];
    assert_eq!(spoken(&left, Top::Outside), (Speaker::Model, [true, true]));
    // Below another client, whose socket proves that it sent the event.
    let other = [(7, 20, "ralph", Some(9)), (9, 9, "node", None)];
    assert_eq!(spoken(&other, Top::Outside), (Speaker::Person, [false, true]));
    // As old as the client, or older.
    let adopted = |started| {
        spoken(
            &[(7, 20, "ralph", None), (8, started, "sh", None), (3, 1, "init", None)],
            Top::First,
        )
        .0
    };
    assert_eq!([adopted(10), adopted(9)], [Speaker::Unplaced("sh".to_owned()), Speaker::Person]);
}

#[test]
fn a_session_whose_loop_cannot_be_read_is_told_what_and_why() {
    let judge = |tool, command, cut| {
        judge_unreadable(UnreadableCall { tool, command, cut, walled: false }, "it is gone")
    };
    let refused = |what: &str| {
        Err(format!(
            "Ralph cannot use the state of the loop that this session is bound to (it is gone), so only \
             reading is allowed until the user repairs it: {what}. Do not try to repair it. End your turn; \
             the user is told what to type."
        ))
    };
    assert_eq!(judge("Read", None, false), Ok(()));
    assert_eq!(judge("Bash", Some("ls"), true), refused("this command line is not whole"));
    assert_eq!(judge("Write", None, false), refused("`Write` may change something"));
    for (line, what) in [
        ("rm a", "`rm` is not on the list of programs that only read"),
        ("cat a > b", "it writes a file"),
        ("cat $x", "a variable or `$(…)` may become anything"),
        ("cat $(x)", "the line is more than programs with pipes between them"),
        ("ls; ls", "only pipes may join the commands of a line"),
        ("! ls", "only pipes may join the commands of a line"),
        ("ls && ls", "only pipes may join the commands of a line"),
        ("date -s x", "`date` is not on the list of programs that only read"),
    ] {
        assert_eq!(judge("Bash", Some(line), false), refused(what), "{line}");
    }
    for line in ["date", "date +%s", "cat a | wc -l", "ls 2>&1"] {
        assert_eq!(judge("Bash", Some(line), false), Ok(()), "{line}");
    }
}

#[test]
fn the_text_of_a_denial_in_a_planning_names_the_next_step() {
    let gate = |awaiting_person| PlanGate {
        awaiting_person,
        planner_writes: false,
        project_root: "/project".to_owned(),
        plan_path: ".omc/plans/a.md".to_owned(),
        plan_hash: "0123456789abcdef".to_owned(),
        not_its_question: Some("it has no options".to_owned()),
        no_wall: Some("there is no sandbox".to_owned()),
    };
    let waits = "The plan `.omc/plans/a.md` (0123456789ab) waits for the person: ask with AskUserQuestion, \
                 the one question that `ralph ralplan next` prints: it names both, with the options Proceed, \
                 Proceed and start, Adjust and Discard. Reading is allowed meanwhile (Read, Grep, Glob). \
                 Silence is no consent: wait.";
    let unjudged = "The plan is not judged yet: `ralph ralplan status` names the agent that is called next. \
                    Reading is allowed meanwhile (Read, Grep, Glob).";
    let reason = |awaiting, agent, tool: &str, input: Value, cut| {
        let (gate, places, input) = (gate(awaiting), places(), ToolInput::from(input));
        let skill =
            Some(Skill { is_shipped: input.skill.as_deref() != Some("x"), ..Skill::default() });
        let places = ProtectedPaths { skill, ..places };
        let situation = Situation { agent, ralplan: Some(&gate), ..running(&places) };
        let call = ToolCall { tool, input: &input, cwd: "/project", resolved: None, cut };
        match decide(&situation, &call) {
            Ruling::Allow => "allow".to_owned(),
            Ruling::Deny { reason, .. } => reason,
        }
    };
    let nothing = || json!({});
    let agent = Caller::Subagent("general-purpose");
    for (awaiting, caller, tool, input, what) in [
        (
            true,
            Caller::Main,
            "AskUserQuestion",
            nothing(),
            "This is not the question of the gate: it has no options.",
        ),
        (
            true,
            agent,
            "AskUserQuestion",
            nothing(),
            "The person is asked by the main conversation only.",
        ),
        (true, Caller::Main, "Write", nothing(), "Until the person decided, nothing is changed."),
        (
            false,
            Caller::Main,
            "Write",
            nothing(),
            "The plan is being read, and nobody writes until a planner is called again.",
        ),
        (
            false,
            Caller::Main,
            "Agent",
            json!({"subagent_type": "Explore"}),
            "Until the plan is agreed to, only `ralplan-planner`, `ralplan-architect`, `ralplan-critic` and \
             `ralplan-metis` are called.",
        ),
        (
            false,
            Caller::Main,
            "Skill",
            json!({"skill": "commit"}),
            "Skills that run commands wait for the user's consent; only those of `ralplan` are let through.",
        ),
        (
            false,
            Caller::Main,
            "Skill",
            json!({"skill": "x"}),
            "Until the user agreed to the plan, a skill loads only if its text is found, it brings no hooks, \
             and its commands run behind the wall; or if it is `ralplan`, `rp` or `planloop` with the text \
             that Ralph ships.",
        ),
        (
            false,
            Caller::Main,
            "mcp__x",
            nothing(),
            "`mcp__x` is not let through while a plan is made.",
        ),
    ] {
        let next = if awaiting { waits } else { unjudged };
        assert_eq!(
            reason(awaiting, caller, tool, input, false),
            format!("{what} {next}"),
            "{tool}"
        );
    }
    for name in ["ralplan", "rp", "ralph:planloop"] {
        assert_eq!(reason(false, Caller::Main, "Skill", json!({"skill": name}), false), "allow");
    }
    let cut = reason(true, Caller::Main, "Bash", json!({"command": "ls"}), true);
    assert_eq!(
        cut,
        format!(
            "This command is longer than 64 KiB and cannot be read whole, and before the user agreed to the \
             plan a command may only read. {waits}"
        )
    );
    let command = |line: &str| reason(false, Caller::Main, "Bash", json!({"command": line}), false);
    let bounded = command("rm a");
    assert!(
        bounded.starts_with(
            "Before the user agreed to the plan nothing may be changed, and this session's commands cannot \
             be bounded: there is no sandbox. So Bash has only these programs, with pipes between them: \
             basename, cat, "
        ) && bounded.ends_with(&format!(
            ", wc, whoami. Here `rm` is not on the list of programs that only read. `ralph doctor` names the \
             remedy. {unjudged}"
        )),
        "{bounded}"
    );
    for (line, passes) in [
        ("ralph status", true),
        ("ralph ralplan status", true),
        ("ralph next", true),
        ("ralph explain x | cat", true),
        ("ralph replay 1", true),
        ("ralph next --begin", false),
        ("ralph status > a", false),
        ("ralph verify", false),
        ("ralph", false),
    ] {
        assert_eq!(command(line) == "allow", passes, "{line}");
    }
}

#[test]
fn a_prompt_names_a_command_within_four_words_behind_ralph() {
    for (text, expected) in [
        ("ralph cancel", "refused_command"),
        ("then /usr/bin/ralph --a --b --c cancel", "refused_command"),
        ("ralph a b c cancel", "refused_command"),
        ("ralph a b c d cancel", "allow"),
        ("ralphs cancel", "allow"),
        ("ralph status", "allow"),
        ("see `/ralph:ralph-cancel`.", "refused_command"),
        ("see /ralph-cancelled", "allow"),
        ("see ralph-cancel", "allow"),
    ] {
        assert_eq!(judged("CronCreate", json!({"prompt": text})), expected, "{text}");
    }
    for (text, expected) in [
        ("ralph cancel", "refused_command"),
        ("ralph cancel --now", "refused_command"),
        ("ralph cancel works", "allow"),
        ("ralph session run x", "refused_command"),
        ("ralph start fix it", "refused_command"),
        ("ralph team new a door", "refused_command"),
        ("ralph ralplan approve", "refused_command"),
        ("say ralph cancel", "allow"),
        ("ralph", "allow"),
    ] {
        assert_eq!(judged("mcp__x", json!({"body": text})), expected, "{text}");
    }
}
