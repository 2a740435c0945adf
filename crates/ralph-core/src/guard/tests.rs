//! Every cell of the table, and hundreds of Bash commands.

mod bounds;
mod orchestration;
mod reasons;
mod wall;

use super::*;
use crate::guard::places::ProtectedPaths;
use serde_json::json;

fn places() -> ProtectedPaths {
    ProtectedPaths {
        ralph_home: "/home/u/.local/state/ralph".into(),
        config_dirs: vec!["/home/u/.claude".into()],
        user_config: "/home/u/.config/ralph".into(),
        executables: vec!["/home/u/.local/bin".into()],
        plugin_root: Some("/opt/plugins/ralph".into()),
        home: "/home/u".into(),
        skill: Some(Skill { is_shipped: true, ..Skill::default() }),
        ..ProtectedPaths::default()
    }
}

fn summary(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Allow => "allow",
        Ruling::Deny { rule, reason } => {
            assert!(!reason.is_empty(), "a refusal says what to do instead");
            rule.name()
        }
    }
}

fn ruling(standing: LoopActivity, tool: &str, input: &ToolInput) -> Ruling {
    let places = places();
    let situation = Situation {
        standing,
        agent: Caller::Main,
        session_id: "s-1",
        places: &places,
        ralplan: None,
        session: None,
    };
    decide(&situation, &ToolCall { tool, input, cwd: "/project", resolved: None, cut: false })
}

fn bash(command: &str) -> ToolInput {
    ToolInput::from(json!({"command": command}))
}

fn file(path: &str) -> ToolInput {
    ToolInput::from(json!({"file_path": path}))
}

fn prompt(text: &str) -> ToolInput {
    ToolInput::from(json!({"prompt": text}))
}

/// Checks a whole list at once, so that a broken rule reports every command it let through.
#[track_caller]
fn check_all(commands: &[&str], expected: &str) {
    let found = |command: &str| summary(ruling(LoopActivity::Running, "Bash", &bash(command)));
    let wrong: Vec<(&str, &str)> = commands
        .iter()
        .map(|command| (*command, found(command)))
        .filter(|(_, found)| *found != expected)
        .collect();
    assert!(wrong.is_empty(), "expected {expected}: {wrong:#?}");
}

#[track_caller]
fn check(standing: LoopActivity, tool: &str, input: &ToolInput, expected: &str) {
    let what = format!("{tool}, {standing:?}");
    assert_eq!(summary(ruling(standing, tool, input)), expected, "{what}");
}

/// Tool, input, while running, while paused.
fn cells() -> Vec<(&'static str, ToolInput, &'static str, &'static str)> {
    let state = "/home/u/.local/state/ralph/loops/1/state.json";
    let notebook = ToolInput::from(json!({"notebook_path": state}));
    let nothing = ToolInput::default;
    vec![
        ("AskUserQuestion", nothing(), "question", "allow"),
        ("EnterPlanMode", nothing(), "enter_plan", "allow"),
        ("ExitPlanMode", nothing(), "allow", "allow"),
        ("Agent", nothing(), "allow", "allow"),
        ("Task", nothing(), "allow", "allow"),
        ("Write", file("/project/src/a.rs"), "allow", "allow"),
        ("Edit", file("/project/src/a.rs"), "allow", "allow"),
        ("Bash", bash("cargo test > out.txt"), "allow", "allow"),
        ("Read", file(state), "allow", "allow"),
        ("mcp__other__tool", file("/project/src/a.rs"), "allow", "allow"),
        ("mcp__other__tool", file(state), "protected_place", "protected_place"),
        ("mcp__other__tool", prompt("ralph cancel"), "refused_command", "refused_command"),
        ("ToolOfTomorrow", file(state), "protected_place", "protected_place"),
        ("Monitor", bash("tail -f log"), "allow", "allow"),
        ("Monitor", bash("rm -rf ~/.local/state/ralph"), "protected_place", "protected_place"),
        ("CronCreate", prompt("look at the build"), "allow", "allow"),
        ("CronCreate", prompt("ralph cancel"), "refused_command", "refused_command"),
        ("ScheduleWakeup", prompt("/ralph-cancel"), "refused_command", "refused_command"),
        ("Skill", ToolInput::from(json!({"skill": "commit"})), "allow", "allow"),
        (
            "Skill",
            ToolInput::from(json!({"skill": "ralph-cancel"})),
            "refused_command",
            "refused_command",
        ),
        ("Write", file(state), "protected_place", "protected_place"),
        ("Edit", file(state), "protected_place", "protected_place"),
        ("MultiEdit", file(state), "protected_place", "protected_place"),
        ("NotebookEdit", notebook, "protected_place", "protected_place"),
        ("Bash", bash("rm /home/u/.local/state/ralph/x"), "protected_place", "protected_place"),
        ("Bash", bash("ralph cancel"), "refused_command", "refused_command"),
    ]
}

#[test]
fn every_cell_without_a_gate() {
    for (tool, input, running, paused) in cells() {
        check(LoopActivity::Running, tool, &input, running);
        check(LoopActivity::Paused, tool, &input, paused);
    }
}

#[test]
fn the_places_are_looked_up_for_the_tools_that_they_matter_to() {
    for (tool, _, running, paused) in cells() {
        let matters = [running, paused]
            .into_iter()
            .any(|found| matches!(found, "protected_place" | "refused_command"));
        if matters {
            assert!(looks_at_places(tool), "{tool}");
        }
    }
    for tool in ["Read", "TodoWrite", "AskUserQuestion", "ExitPlanMode"] {
        assert!(!looks_at_places(tool), "{tool}");
    }
}

fn running(places: &ProtectedPaths) -> Situation<'_> {
    Situation {
        standing: LoopActivity::Running,
        agent: Caller::Main,
        session_id: "s-1",
        places,
        ralplan: None,
        session: None,
    }
}

#[test]
fn each_tool_falls_into_its_row() {
    let places = places();
    let situation = running(&places);
    let row = |tool| {
        let input = ToolInput::default();
        let call = ToolCall { tool, input: &input, cwd: "/project", resolved: None, cut: false };
        touched(&situation, &call).map(|(rule, _)| rule)
    };
    for (tool, rule) in [
        ("AskUserQuestion", Rule::Question),
        ("EnterPlanMode", Rule::EnterPlan),
        ("ExitPlanMode", Rule::ExitPlan),
        ("Agent", Rule::Agent),
        ("Task", Rule::Agent),
        ("Write", Rule::Mutation),
        ("Edit", Rule::Mutation),
        ("MultiEdit", Rule::Mutation),
        ("NotebookEdit", Rule::Mutation),
        ("Bash", Rule::Mutation),
        ("Monitor", Rule::Mutation),
        ("PowerShell", Rule::Mutation),
        ("CronCreate", Rule::OtherTool),
        ("Skill", Rule::Skill),
        ("mcp__x__y", Rule::OtherTool),
        ("ToolOfTomorrow", Rule::OtherTool),
    ] {
        assert_eq!(row(tool), Some(rule), "{tool}");
    }
    assert_eq!(row("Read"), None);
}

#[test]
fn every_rule_has_exactly_one_row() {
    for (rule, _) in TABLE {
        assert_eq!(TABLE.iter().filter(|(row, _)| *row == rule).count(), 1, "{rule:?}");
    }
}

#[test]
fn a_line_that_names_a_protected_place_runs_if_all_of_it_only_reads() {
    let places = [
        "/home/u/.local/state/ralph/loops/1/state.json",
        "~/.local/state/ralph",
        "~/.local/share/ralph/kept/1/state.json",
        "/elsewhere/.ralph-kept/mine",
        "$HOME/.config/ralph/config.toml",
        "$RALPH_HOME/x",
        ".claude/ralph.toml",
        ".claude/settings.json",
        "~/.claude/settings.local.json",
        "/etc/claude-code/managed-settings.json",
        "~/.claude/plugins/installed_plugins.json",
        "~/.claude/dev-mods/s/x/register.js",
        "/opt/plugins/ralph/hooks/hooks.json",
        "~/.local/bin/ralph-stop-hook",
        "~/.claude/skills/ralph/SKILL.md",
        "~/.claude/projects/p/x.jsonl",
    ];
    for place in places {
        let lines = |forms: &[&str]| -> Vec<String> {
            forms.iter().map(|form| form.replace("{}", place)).collect()
        };
        let reads = lines(&[
            "cat {}",
            "cd sub && cat {} | grep -n x 2>/dev/null | head -n 3",
            "git diff -- {}; test -f {}",
            "timeout 9 git diff -- {}",
            "ralph status; ls -l {}",
        ]);
        let changes = lines(&[
            "rm {}",
            "cat x > {}",
            "cat {} | tee {}",
            "sed -i s/a/b/ {}",
            "ls {} && mv {} y",
            "git checkout -- {}",
            "python3 -c \"open('{}', 'w')\"",
            "bash -c 'rm {}'",
            "if true; then cat {}; fi",
            "echo \"$(cat {})\"",
            "cat <<E > {}\nx\nE",
            "X={}; rm $X",
            "ls | xargs rm {}",
            "find {} -delete",
        ]);
        check_all(&reads.iter().map(String::as_str).collect::<Vec<_>>(), "allow");
        check_all(&changes.iter().map(String::as_str).collect::<Vec<_>>(), "protected_place");
    }
}

#[test]
fn a_line_that_plainly_gives_a_persons_command_is_refused_with_what_to_type() {
    for commands::CommandRow { name: command, typed, .. } in commands::users() {
        for form in [
            "ralph {}",
            "cd x && /usr/local/bin/ralph {} x",
            "bash -c 'ralph {}'",
            "/usr/bin/env X=1 ralph {}",
        ] {
            let line = form.replace("{}", command);
            let ruling = ruling(LoopActivity::Running, "Bash", &bash(&line));
            let Ruling::Deny { rule: Rule::RefusedCommand, reason } = ruling else {
                panic!("{line}: {ruling:?}")
            };
            assert!(
                reason.contains(typed) && reason.contains("`ralph status`"),
                "{line}: {reason}"
            );
        }
    }
    check_all(
        &["ralph start --session s-1 -", "ralph task done T-1", "ralph checkpoint list"],
        "allow",
    );
}

#[test]
fn every_other_line_runs_however_hard_it_is_to_read() {
    check_all(
        &[
            "cargo test > out.txt 2>&1",
            "for x in a b; do rm -rf $x; done",
            "echo `ls # x`",
            "cat > a.md <<'E'\n```sh\nls `pwd`\n```\nE\n",
            "if true; then",
            "grep -rn settings src && npm test || true",
            "~/.local/bin/ralph task done T-1 --note 'ok'",
            // The command itself refuses this one.
            "x=cancel; ralph $x",
            "git commit -m 'ralph cancel works'",
            // What such a line changes is detected afterwards.
            "x=.claude; rm $x/sett*",
            "sh ./script.sh",
            "git clean -fdx",
        ],
        "allow",
    );
}

/// An input as the client sends it.
fn judged(tool: &str, input: serde_json::Value) -> &'static str {
    summary(ruling(LoopActivity::Running, tool, &ToolInput::from(input)))
}

#[test]
fn a_tool_is_judged_by_every_field_of_its_input() {
    use serde_json::json;
    let state = "/home/u/.local/state/ralph/loops/1/state.json";
    for input in [
        json!({"path": state}),
        json!({"uri": format!("file://{state}")}),
        json!({"where": "~/.local/state/ralph"}),
        json!({"where": "$HOME/.local/state/ralph/x"}),
        json!({"where": "${RALPH_HOME}/x"}),
        json!({"files": [{"name": "a"}, {"name": state}]}),
        json!({"files": {"/home/u/.claude/settings.json": "{}"}}),
        json!({"options": "{\"target\": \"/home/u/.claude/settings.json\"}"}),
        json!({"path": "/home/u/.local/state"}),
        json!({"command": "rm -rf ~/.local/state/ralph"}),
        json!({"code": "import os; os.remove(os.path.expanduser('~/.claude/settings.json'))"}),
        json!({"script": {"lines": ["cd ~/.claude", "rm settings.json"]}}),
    ] {
        assert_eq!(judged("mcp__any__thing", input.clone()), "protected_place", "{input}");
        assert_eq!(judged("ToolOfTomorrow", input.clone()), "protected_place", "{input}");
    }
    let beside = |tool| judged(tool, json!({"command": "ls", "where": state}));
    assert_eq!(
        ["Monitor", "PowerShell", "Bash"].map(beside),
        ["protected_place", "protected_place", "allow"]
    );
    for input in [
        json!({"command": "ralph cancel"}),
        json!({"text": "ralph cancel"}),
        json!({"prompt": "/ralph-cancel"}),
        json!({"prompt": "Wait a minute, then type `/ralph:ralph-cancel`."}),
        json!({"payload": "{\"cmd\": \"ralph cancel\"}"}),
    ] {
        assert_eq!(judged("mcp__any__thing", input.clone()), "refused_command", "{input}");
    }
    for input in [
        json!({"path": "/project"}),
        json!({"path": "/project/src/main.rs", "content": "to stop, type ralph cancel\n.claude/settings.json"}),
        json!({"owner": "x", "repo": "ralph", "title": "Cancel button", "body": "See `.claude/settings.json`: `ralph cancel` ends it."}),
        json!({"query": "ralph cancel"}),
        json!({"url": "https://example.com/.claude/settings.json"}),
        json!({"command": "npm test", "cwd": "/project"}),
        json!({"sql": "select * from users where id = 1"}),
        json!({"expression": "1 + 1"}),
        json!({"path": "."}),
        json!({}),
        json!(7),
    ] {
        assert_eq!(judged("mcp__any__thing", input.clone()), "allow", "{input}");
    }
}

#[test]
fn a_prompt_that_the_client_submits_later_is_no_persons_command() {
    use serde_json::json;
    for (tool, field) in
        [("CronCreate", "prompt"), ("ScheduleWakeup", "prompt"), ("SetGoal", "condition")]
    {
        for text in [
            "ralph cancel",
            " ralph cancel\n",
            "/ralph-cancel",
            "/ralph:ralph-cancel",
            "please run `ralph pause` now",
        ] {
            assert_eq!(judged(tool, json!({field: text})), "refused_command", "{tool} {text}");
        }
        for text in ["check the build", "look whether crates/ralph compiles", "ralph status"] {
            assert_eq!(judged(tool, json!({field: text})), "allow", "{tool} {text}");
        }
    }
    let trigger = json!({"action": "create", "body": {"job": {"prompt": "/ralph-cancel"}}});
    assert_eq!(judged("RemoteTrigger", trigger), "refused_command");
    let agent = |prompt: &str| judged("Agent", json!({"subagent_type": "x", "prompt": prompt}));
    assert_eq!(agent("ralph cancel"), "refused_command");
    assert_eq!(
        agent("Explain what `ralph cancel` does and look at .claude/settings.json."),
        "allow"
    );
    assert_eq!(
        judged("SendMessage", json!({"to": "x", "message": "/ralph-cancel"})),
        "refused_command"
    );
}

#[track_caller]
fn check_edit(path: &str, resolved: Option<&str>, expected: &str) {
    let places = places();
    let situation = Situation {
        standing: LoopActivity::Paused,
        agent: Caller::Subagent("ralph-worker"),
        session_id: "s-1",
        places: &places,
        ralplan: None,
        session: None,
    };
    let call = ToolCall { tool: "Edit", input: &file(path), cwd: "/project", resolved, cut: false };
    assert_eq!(summary(decide(&situation, &call)), expected, "{path}");
}

#[test]
fn an_edit_is_judged_by_the_path_and_by_what_it_resolves_to() {
    check_edit("/project/src/main.rs", Some("/project/src/main.rs"), "allow");
    check_edit("/project/link", Some("/home/u/.claude/settings.json"), "protected_place");
    check_edit("/home/u/.claude/settings.json", Some("/dotfiles/s.json"), "protected_place");
    check_edit(".claude/ralph.toml", None, "protected_place");
    check_edit("/project/src/../.claude//settings.local.json", None, "protected_place");
    check_edit("/home/u/.config/ralph/config.toml", None, "protected_place");
    check_edit("/home/u/.local/bin/ralph-stop-hook", None, "protected_place");
    check_edit("/home/u/.local/bin/ralphael", None, "allow");
    check_edit("/opt/plugins/ralph/hooks/hooks.json", None, "protected_place");
    check_edit("/project/hooks/hooks.json", None, "allow");
    check_edit("/project/.claude/skills/ralph-plan/SKILL.md", None, "protected_place");
    check_edit("/project/.claude/worktrees/a/.claude/settings.json", None, "protected_place");
    check_edit("/project/.claude/worktrees/a/src/a.rs", None, "allow");
    check_edit("/project/.claude/skills/rp/SKILL.md", None, "protected_place");
    check_edit("/project/.claude/skills/planloop/SKILL.md", None, "protected_place");
    check_edit("/project/.claude/skills/other/SKILL.md", None, "allow");
    check_edit("/project/skills/ralph/SKILL.md", None, "allow");
    check_edit("/project/settings.json", None, "allow");
    check_edit("/project/.claude/commands/x.md", None, "allow");
    check_edit("/home/u/.local/state/ralphs/x", None, "allow");
    check_edit("/home/u/.local/state/ralph/../other/x", None, "allow");
    check_edit("/home/u/.local/share/../state/ralph/x", None, "protected_place");
    check_edit("/project/plugins/mine/hooks/hooks.json", None, "allow");
    check_edit("/project/.claude/templates/mine/hooks/hooks.json", None, "allow");
    check_edit("/opt/plugins/ralph/docs/hooks.json", None, "allow");
    check_edit("/home/u/.claude/projects/settings.json", None, "allow");
    check_edit("/home/u/.local/bin/old/ralph", None, "allow");
    check_edit("/project/a/b/c/ralph", None, "allow");
}

#[test]
fn a_command_that_was_cut_is_refused_with_the_way_out() {
    let places = places();
    let situation = running(&places);
    let input = bash("echo a");
    let cut = ToolCall { tool: "Bash", input: &input, cwd: "/project", resolved: None, cut: true };
    assert_eq!(summary(decide(&situation, &cut)), "cut_command");
    let file = file("/project/big.txt");
    let edit = ToolCall { tool: "Write", input: &file, ..cut };
    assert_eq!(summary(decide(&situation, &edit)), "allow", "a file's content is not read");
}

#[test]
fn until_the_baseline_is_taken_nothing_may_change() {
    let check_all = |calls: &[(&str, ToolInput)], expected: &str| {
        for (tool, input) in calls {
            check(LoopActivity::AwaitingBaseline, tool, input, expected);
        }
    };
    check_all(
        &[
            ("Write", file("/project/a")),
            ("Edit", file("/project/a")),
            ("Agent", ToolInput::default()),
            ("Bash", bash("touch a")),
            ("Bash", bash("ralph verify && touch a")),
            ("Bash", bash("ralph verify > a")),
            ("Bash", bash("ralph task ready $X")),
            ("Bash", bash("$X verify")),
        ],
        "baseline",
    );
    check_all(
        &[
            ("Read", file("/project/a")),
            ("Grep", ToolInput::default()),
            ("Bash", bash("ralph verify")),
            ("Bash", bash("ralph verify; ralph status")),
        ],
        "allow",
    );
    check_all(&[("AskUserQuestion", ToolInput::default())], "question");
}
