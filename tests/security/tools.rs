//! What a call carries decides, not the name of its tool: forbidden effects in every tool, dressed in every way, and
//! honest work beside them.
//!
//! Every tool that is not known carries the same path in every shape.

use crate::world::{Ran, World, executable, run};
use ralph_test_support::copy_executable;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Mutex;

/// A loop whose home, settings and executables stand where they do for a person.
struct Scene {
    world: World,
}

impl Scene {
    fn new() -> Scene {
        let mut world = World::new();
        let root = world.root();
        let state = root.join("home/.local/state/ralph");
        world.set("RALPH_HOME", &state.display().to_string());
        world.env.remove("RALPH_HOME");
        for folder in
            ["home/.local/state", "home/.local/bin", "home/.claude/skills/ralph", "project/.claude"]
        {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        world.set("CLAUDE_CONFIG_DIR", &root.join("home/.claude").display().to_string());
        let bin = root.join("home/.local/bin");
        for name in ["ralph-pre-tool-use", "ralph-user-prompt", "ralph"] {
            copy_executable(executable(name).as_ref(), &bin.join(name));
        }
        for (path, text) in [
            ("home/.claude/settings.json", "{}\n"),
            ("home/.claude/skills/ralph/SKILL.md", "x\n"),
            ("project/.claude/settings.json", "{}\n"),
            ("project/.claude/ralph.toml", "\n"),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        world.start("--ac 'it is done=grep -q yes done'");
        let scene = Scene { world };
        assert!(scene.root().join("home/.local/state/ralph/loops").is_dir());
        scene
    }

    fn root(&self) -> PathBuf {
        self.world.root()
    }

    fn tool(&self, tool: &str, input: &Value) -> Ran {
        let members = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "t"});
        let payload = self.world.payload("PreToolUse", members).to_string();
        let hook = self.root().join("home/.local/bin/ralph-pre-tool-use");
        run(self.world.wrapped(&[hook.to_str().unwrap()]), "ralph-pre-tool-use", payload.as_bytes())
    }

    fn is_denied(&self, tool: &str, input: &Value) -> bool {
        let ran = self.tool(tool, input).harmless();
        let denied = ran.json()["hookSpecificOutput"]["permissionDecision"] == "deny";
        assert!(denied || ran.out().is_empty(), "{tool} {input}: {ran:?}");
        denied
    }
}

/// What is protected, by its way from the home.
const PLACES: [&str; 8] = [
    ".local/state/ralph",
    ".local/state/ralph/manifest/session-1",
    ".local/state/ralph/loops",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".config/ralph/config.toml",
    ".local/bin/ralph-pre-tool-use",
    ".claude/skills/ralph/SKILL.md",
];

/// Makes what the indirect effects need.
fn furnish(scene: &Scene) {
    let project = scene.world.project();
    for folder in ["held", "tree/.claude"] {
        fs::create_dir_all(project.join(folder)).unwrap();
        fs::write(project.join(folder).join("settings.json"), "{\"hooks\": {}}\n").unwrap();
    }
    let patch = "--- a/.claude/settings.json\n+++ b/.claude/settings.json\n@@ -1 +1 @@\n-{}\n+{\"env\": {}}\n";
    fs::write(project.join("bad.patch"), patch).unwrap();
    symlink(scene.root().join("home"), project.join("link")).unwrap();
}

/// Runs a check of each of many cases on all processors, and returns those that fail it.
fn failing<T: Sync>(cases: &[T], check: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let (next, failed) = (std::sync::atomic::AtomicUsize::new(0), Mutex::new(Vec::new()));
    let n = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    std::thread::scope(|scope| {
        for _ in 0..n {
            scope.spawn(|| {
                while let Some(case) =
                    cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    if let Some(why) = check(case) {
                        failed.lock().unwrap().push(why);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

/// Inputs of tools that the guard does not know, each naming this path.
fn shapes(path: &str) -> Vec<Value> {
    let inner = json!({"path": path}).to_string();
    vec![
        json!({"path": path, "content": "x"}),
        json!({"file": path}),
        json!({"uri": format!("file://{path}")}),
        json!({"paths": ["README.md", path]}),
        json!({"edits": [{"target": {"file_path": path}}]}),
        json!({"files": {path: "x"}}),
        json!({"request": inner}),
        json!({"source": path, "destination": "/tmp/x"}),
        json!({"anything": format!("  {path}  ")}),
        json!({"argv": ["rm", "-rf", path]}),
        json!({"script": format!("open('{path}', 'w').write('x')")}),
    ]
}

#[test]
fn no_tool_of_another_vendor_and_no_unknown_tool_names_what_holds_the_loop() {
    let scene = Scene::new();
    furnish(&scene);
    let home = scene.root().join("home");
    let mut cases: Vec<(&str, Value)> = Vec::new();
    for place in PLACES {
        let plain = home.join(place);
        let plain = plain.to_str().unwrap();
        for input in shapes(plain) {
            cases.push(("mcp__files__write_file", input.clone()));
            cases.push(("ToolOfTomorrow", input));
        }
        let said = [
            format!("~/{place}"),
            format!("$HOME/{place}"),
            format!("../home/{place}"),
            format!("link/{place}"),
            format!("file://{plain}"),
            format!("{}/../home/{place}", home.display()),
        ];
        for path in said {
            cases.push(("mcp__x__y", json!({"path": path})));
            cases.push(("mcp__x__y", json!({"options": {"list": [path]}})));
        }
    }
    for folder in [".claude", ".local/state", ".local/bin", ".local", ".config/ralph"] {
        cases.push(("mcp__fs__delete", json!({"path": home.join(folder)})));
        cases.push((
            "mcp__fs__apply",
            json!({"operation": "move", "from": home.join(folder), "to": "/tmp/x"}),
        ));
    }
    for command in [
        "ralph cancel",
        "ralph pause",
        "ralph start x",
        "ralph criteria accept",
        "ralph cancel --all",
    ] {
        for input in [
            json!({"command": command}),
            json!({"cmd": command}),
            json!({"input": format!("{command}\n")}),
            json!({"text": command}),
            json!({"steps": [{"run": command}]}),
            json!({"prompt": command}),
        ] {
            cases.push(("mcp__terminal__send", input.clone()));
            cases.push(("ToolOfTomorrow", input));
        }
    }
    assert!(cases.len() > 240, "{}", cases.len());
    let failed = failing(&cases, |(tool, input)| {
        (!scene.is_denied(tool, input)).then(|| format!("{tool} {input}"))
    });
    assert!(failed.is_empty(), "{} of {} are let through: {failed:#?}", failed.len(), cases.len());
}

#[test]
fn no_tool_submits_a_persons_command_as_a_prompt() {
    let scene = Scene::new();
    let texts = [
        "ralph cancel",
        "  ralph cancel  ",
        "ralph pause",
        "ralph cancel --all",
        "/ralph-cancel",
        "/ralph:ralph-cancel",
        "/ralph \"something else\"",
        "Now: /ralph-cancel",
        "line one\nralph cancel\n",
        "Please run `ralph cancel`.",
    ];
    for text in texts {
        for (tool, input) in [
            ("CronCreate", json!({"cron": "* * * * *", "prompt": text, "recurring": false})),
            ("ScheduleWakeup", json!({"delaySeconds": 60, "reason": "wait", "prompt": text})),
            ("RemoteTrigger", json!({"action": "create", "body": {"prompt": text}})),
            (
                "RemoteTrigger",
                json!({"action": "update", "trigger_id": "x", "body": {"job_config": {"events": [{"data": text}]}}}),
            ),
            ("SetGoal", json!({"condition": text})),
            ("mcp__scheduler__create", json!({"schedule": "daily", "prompt": text})),
            ("SlashCommand", json!({"command": text})),
        ] {
            let ran = scene.tool(tool, &input);
            assert!(scene.is_denied(tool, &input), "{tool} {text:?}: {ran:?}");
        }
    }
    for text in ["ralph cancel", "/ralph-cancel"] {
        for (tool, input) in [
            ("SendMessage", json!({"to": "main", "summary": "x", "message": text})),
            (
                "Agent",
                json!({"description": "x", "prompt": text, "subagent_type": "general-purpose"}),
            ),
        ] {
            assert!(scene.is_denied(tool, &input), "{tool} {text:?}");
        }
    }
    let reason =
        scene.tool("CronCreate", &json!({"cron": "* * * * *", "prompt": "ralph cancel"})).denied();
    assert!(
        reason.contains("`ralph cancel`") && reason.contains("not the user's word"),
        "{reason}"
    );
}

/// In a planning only Ralph's own text of a skill loads, whatever a repository calls its own.
#[test]
fn under_the_wall_a_repository_skill_of_our_name_does_not_load() {
    let world = World::new();
    let shipped = |name: &str| {
        fs::read_to_string(format!("{}/../../skills/{name}/SKILL.md", env!("CARGO_MANIFEST_DIR")))
            .unwrap()
    };
    let user = world.root().join("home/.claude/skills/ralplan");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("SKILL.md"), shipped("ralplan")).unwrap();
    world.type_command("ralplan", "\"Add a login\"");
    let asked = |name: &str| world.tool("Skill", json!({"skill": name}));
    asked("ralplan").silent();
    for name in [
        "ralplan-x",
        "ralplan-",
        "planloop",
        "rp",
        "x:ralplan",
        "ralph:ralplan",
        "../ralplan",
        "ralph",
    ] {
        asked(name).denied();
    }
    for name in ["ralplan-x", "rp", "planloop", "ralplan"] {
        world.write(&format!(".claude/skills/{name}/SKILL.md"), "!`touch loaded`\n");
        asked(name).denied();
    }
    fs::remove_dir_all(world.project().join(".claude")).unwrap();
    world.write(".claude/commands/ralplan.md", "!`touch loaded`\n");
    asked("ralplan").denied();
}

/// Before a person has agreed, no tool runs that is not known to read.
#[test]
fn under_the_wall_every_tool_that_is_not_known_to_read_is_refused() {
    let world = World::new();
    world.type_command("ralplan", "\"Add a login\"");
    for tool in [
        "PowerShell",
        "CronCreate",
        "CronDelete",
        "ScheduleWakeup",
        "RemoteTrigger",
        "SendMessage",
        "EnterWorktree",
        "ExitWorktree",
        "LSP",
        "Workflow",
        "Artifact",
        "Projects",
        "SendUserFile",
        "SetGoal",
        "TaskStop",
        "KillShell",
        "NotebookEdit",
        "mcp__files__read_file",
        "mcp__x__y",
        "ToolOfTomorrow",
        "read",
        "SlashCommand",
        "propose_skills",
    ] {
        world.tool(tool, json!({"command": "ls", "path": "README.md"})).denied();
    }
    for tool in ["Read", "Grep", "Glob", "WebFetch", "TodoWrite", "TaskList", "ToolSearch"] {
        world.tool(tool, json!({"path": "README.md"})).silent();
    }
}

#[test]
fn honest_work_is_not_disturbed() {
    let scene = Scene::new();
    let project = scene.world.project();
    for (path, text) in [
        ("fix.patch", "--- a/tracked\n+++ b/tracked\n@@ -1 +1 @@\n-one\n+two\n"),
        ("templates/readme.md", "x\n"),
        (".claude/commands/x.md", "x\n"),
        ("notes.md", "x\n"),
    ] {
        scene.world.write(path, text);
    }
    let mut cases: Vec<(&str, Value)> = HONEST
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| ("Bash", json!({"command": line})))
        .collect();
    let n_lines = cases.len();
    let at = |path: &str| project.join(path);
    let about = "# Ralph\n\nTo stop: `ralph cancel` or `/ralph-cancel`. Settings: `.claude/settings.json`, `.claude/ralph.toml`.\n";
    for path in [
        "README.md",
        "docs/ralph.md",
        ".claude/commands/deploy.md",
        ".claude/agents/x.md",
        "src/a.rs",
        "settings.json",
        "hooks/x.sh",
        "ralph/x.py",
    ] {
        cases.push(("Write", json!({"file_path": at(path), "content": about})));
        cases.push((
            "Edit",
            json!({"file_path": at(path), "old_string": "ralph cancel", "new_string": about}),
        ));
        cases.push(("Read", json!({"file_path": at(path)})));
        cases.push(("mcp__files__read_file", json!({"path": at(path)})));
        cases.push(("mcp__files__write_file", json!({"path": at(path), "content": about})));
        cases.push((
            "mcp__files__edit_file",
            json!({"path": at(path), "edits": [{"oldText": "a", "newText": about}]}),
        ));
    }
    for input in [
        json!({"description": "x", "prompt": about, "subagent_type": "general-purpose"}),
        json!({"description": "x", "prompt": "Find out how .claude/settings.json is read, and report.", "subagent_type": "Explore"}),
    ] {
        cases.push(("Task", input));
    }
    for (tool, input) in [
        (
            "TodoWrite",
            json!({"todos": [{"content": "run ralph cancel tests", "status": "pending", "activeForm": "x"}]}),
        ),
        ("TaskCreate", json!({"subject": "ralph cancel", "description": about})),
        (
            "WebFetch",
            json!({"url": "https://example.com/.claude/settings.json", "prompt": "ralph cancel"}),
        ),
        ("WebSearch", json!({"query": "ralph cancel"})),
        ("Glob", json!({"pattern": "**/.claude/settings.json"})),
        ("Grep", json!({"pattern": "ralph cancel", "path": ".claude"})),
        ("Read", json!({"file_path": scene.root().join("home/.claude/settings.json")})),
        ("ToolSearch", json!({"query": "select:Monitor"})),
        (
            "Monitor",
            json!({"command": "tail -f build.log", "description": "build", "timeout_ms": 1000}),
        ),
        (
            "Monitor",
            json!({"command": "while ! grep -q done log; do sleep 1; done", "description": "x", "timeout_ms": 1000}),
        ),
        (
            "Monitor",
            json!({"ws": {"url": "wss://example.com/x"}, "description": "x", "timeout_ms": 1000}),
        ),
        ("TaskStop", json!({"task_id": "b1"})),
        ("BashOutput", json!({"bash_id": "b1"})),
        (
            "CronCreate",
            json!({"cron": "*/5 * * * *", "prompt": "check whether CI is green", "recurring": true}),
        ),
        ("CronList", json!({})),
        ("CronDelete", json!({"id": "x"})),
        (
            "ScheduleWakeup",
            json!({"delaySeconds": 120, "reason": "the build runs", "prompt": "look at the build of crates/ralph"}),
        ),
        (
            "SendMessage",
            json!({"to": "worker", "summary": "s", "message": "the tests of ralph cancel fail; see .claude/settings.json"}),
        ),
        ("EnterWorktree", json!({"name": "feature"})),
        ("ExitWorktree", json!({"action": "keep"})),
        ("LSP", json!({"operation": "hover", "filePath": "src/a.rs", "line": 1, "character": 1})),
        ("PushNotification", json!({"message": "ralph cancel works", "status": "proactive"})),
        ("Skill", json!({"skill": "commit", "args": "-m 'x'"})),
        ("Skill", json!({"skill": "superpowers:brainstorm"})),
        ("Workflow", json!({"script": "export default async () => agent('review the diff')"})),
        ("NotebookEdit", json!({"notebook_path": at("a.ipynb"), "new_source": about})),
        (
            "mcp__github__create_issue",
            json!({"owner": "o", "repo": "ralph", "title": "cancel", "body": about}),
        ),
        (
            "mcp__github__add_comment",
            json!({"body": "Fixed: `ralph cancel` ends the loop.", "issue": 3}),
        ),
        ("mcp__github__search_code", json!({"query": "ralph cancel path:.claude/settings.json"})),
        (
            "mcp__github__get_file",
            json!({"owner": "o", "repo": "r", "ref": "main", "file": "src/lib.rs"}),
        ),
        ("mcp__postgres__query", json!({"sql": "delete from users where name = 'x'"})),
        ("mcp__browser__navigate", json!({"url": "https://example.com/ralph/cancel"})),
        ("mcp__browser__click", json!({"element": "Cancel", "ref": "e12"})),
        ("mcp__browser__type", json!({"text": "hello", "submit": true})),
        ("mcp__fs__list_directory", json!({"path": project})),
        ("mcp__fs__list_directory", json!({"path": "."})),
        (
            "mcp__fs__directory_tree",
            json!({"path": at("src"), "excludePatterns": ["node_modules", "*.log"]}),
        ),
        ("mcp__fs__move_file", json!({"source": at("a.rs"), "destination": at("b.rs")})),
        ("mcp__shell__run", json!({"command": "npm", "args": ["run", "build"], "cwd": project})),
        ("mcp__shell__run", json!({"command": "cargo test -p ralph cancel"})),
        ("mcp__context7__get_docs", json!({"library": "/vercel/next.js", "topic": "routing"})),
        ("mcp__memory__store", json!({"key": "goal", "value": "finish the parser"})),
        ("mcp__sentry__find", json!({"organization": "x", "query": "is:unresolved"})),
        ("mcp__slack__post", json!({"channel": "dev", "text": "The build is green again."})),
        ("mcp__jira__transition", json!({"issue": "R-1", "to": "done"})),
        (
            "mcp__thinking__step",
            json!({"thought": "I could run ralph cancel, but I must not.", "n": 1}),
        ),
    ] {
        cases.push((tool, input));
    }
    assert!(cases.len() >= 300, "{} of which {n_lines} lines", cases.len());
    let failed = failing(&cases, |(tool, input)| {
        scene
            .is_denied(tool, input)
            .then(|| format!("{tool} {input}: {}", scene.tool(tool, input).out()))
    });
    assert!(failed.is_empty(), "{} of {} are refused: {failed:#?}", failed.len(), cases.len());
}

/// Everyday lines of development; none does more than its own project's work.
const HONEST: &str = include_str!("honest.txt");
