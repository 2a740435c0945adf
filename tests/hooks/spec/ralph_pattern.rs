//! The examples of the document about the loop: what is typed, the state file, the hooks and their tables.

use super::{example, program, quoted, rows, terminal};
use crate::world::{World, executable};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The command and the arguments of a typed line; a comment behind it is none.
fn typed(line: &str) -> (String, String) {
    let line = line.split("  #").next().unwrap().trim();
    let (name, args) = line.split_once(' ').unwrap_or((line, ""));
    (name.trim_start_matches('/').to_owned(), args.trim().to_owned())
}

/// A plan as the skill stores it, by the model in the session.
fn stores_plan(world: &World) {
    world.write(
        "plan.json",
        &json!({"prompt": "Add user authentication with OAuth",
            "acceptance_criteria": [{"id": "AC-1", "description": "the file is there",
                "verification_command": "test -f src/auth.c"}],
            "task_graph": [{"id": "T-1", "name": "write it", "deps": [], "files": ["src/auth.c"],
                "completion_condition": "the file is there"}]})
        .to_string(),
    );
    let said = world.ralph(&["task", "import", "plan.json"]);
    assert!(said.success, "{}", said.text);
}

/// The state file without what JSON does not have.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("  //").next().unwrap().trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_plan_is_made_with_the_person_and_carried_out_by_a_second_command() {
    let lines = example("ralph-pattern/plan-and-run.txt");
    let typed: Vec<(String, String)> =
        lines.lines().filter(|line| line.starts_with('/')).map(typed).collect();
    let [(plan, about), (run, none)] = typed.try_into().unwrap();
    assert_eq!((plan.as_str(), run.as_str(), none.as_str()), ("ralph-plan", "ralph", ""));
    let mut world = World::new();
    // Without a plan the second one is an error, as the drawing has it.
    assert!(example("ralph-pattern/architecture.txt").contains("No  -> error"));
    let skill = fs::read_to_string(repository("skills/ralph-plan/SKILL.md")).unwrap();
    let mut at = 0;
    for (phase, heading) in [
        ("Phase 0: Context gathering", "## Phase 1: context"),
        ("Phase 1: Requirements + AC", "## Phase 2: requirements"),
        ("Phase 2: Design + tasks", "## Phase 3: design"),
    ] {
        assert!(example("ralph-pattern/architecture.txt").contains(phase));
        at += skill[at..].find(heading).unwrap_or_else(|| panic!("{heading} does not follow"));
    }
    let said = world.type_command(&run, &none).kept_from_model();
    assert!(said.contains("nothing is planned") || said.contains("no plan"), "{said}");
    world.prompt = "prompt-2".to_owned();
    world.type_command(&plan, &about).silent();
    world.tool("AskUserQuestion", json!({"questions": []})).silent();
    stores_plan(&world);
    world.prompt = "prompt-3".to_owned();
    let contract = world.type_command(&run, &none).context();
    assert!(
        contract.contains("Goal: Add user authentication with OAuth") && contract.contains("T-1"),
        "{contract}"
    );
    world.tool("AskUserQuestion", json!({"questions": []})).denied();
    // The drawing's last word asks for the end, and the criterion decides.
    let drawing = example("ralph-pattern/architecture.txt");
    let token = drawing.lines().last().unwrap().trim();
    let said = world.stop(token).exit(0).out();
    assert!(said.contains("test -f src/auth.c") && world.has_entry(), "{said}");
    world.write("src/auth.c", "x");
    world.ralph(&["task", "claim", "--owner", "me"]);
    world.ralph(&["task", "done", "T-1", "--owner", "me", "--result", "src/auth.c"]);
    world.stop(token).exit(0);
    assert_eq!(world.ending(), "complete");
}

#[test]
fn a_task_is_carried_out_without_a_plan_and_within_its_bound() {
    let table = rows(&example("ralph-pattern/arguments.md"));
    let default: u64 = table[1][1].parse().unwrap();
    for line in example("ralph-pattern/skip-plan.txt").lines() {
        let (name, args) = typed(line);
        let world = World::new();
        let contract = world.type_command(&name, &args).context();
        let task = args.split('"').nth(1).unwrap();
        assert!(contract.contains(&format!("Goal: {task}")), "{contract}");
        let flag = quoted(&table[1][0])[0].split(' ').next().unwrap().to_owned();
        let most = args.split_once(&flag).map_or(default, |(_, n)| n.trim().parse().unwrap());
        let state = world.state();
        assert_eq!((&state["max_iterations"], &state["prompt"]), (&json!(most), &json!(task)));
    }
}

#[test]
fn cancel_archives_the_state_below_ralphs_own_home_and_leaves_nothing() {
    let (name, _) = typed(&example("ralph-pattern/cancel.txt"));
    let form = example("ralph-pattern/archive.txt");
    assert_eq!(form.trim(), "/tmp/ralph_archive_<timestamp>.json");
    let world = World::looping("");
    world.working_stop("x").goes_on();
    world.type_command(&name, "").kept_from_model();
    assert_eq!(world.ending(), "cancelled");
    world.stop("RALPH_COMPLETE").silent();
    let archive: Vec<String> = fs::read_dir(world.ralph_home().join("archive"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    // The name begins as the document's; the folder is private and survives a reboot.
    assert!(archive[0].starts_with("ralph_archive_"), "{archive:?}");
    assert_eq!(world.archived()[0]["iteration"], 1);
}

#[test]
fn each_of_the_three_lines_begins_a_loop_for_workers() {
    for line in example("ralph-pattern/parallel.txt").lines() {
        let (name, args) = typed(line);
        let world = World::new();
        match args.as_str() {
            "" => stores_plan(&world),
            list if list.starts_with('"') => {}
            document => world.write(document, "# Build it\n"),
        }
        let contract = world.type_command(&name, &args).context();
        let state = world.state();
        assert_eq!(
            (&state["parallel"], &state["limits"]["max_workers"]),
            (&json!(true), &json!(4)),
            "{line}"
        );
        let names: Vec<&str> = state["task_graph"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|task| task["name"].as_str().unwrap())
            .collect();
        match args.as_str() {
            "" => assert_eq!(names, ["write it"]),
            list if list.starts_with('"') => {
                assert_eq!(names, ["Add login page", "Add signup page"])
            }
            document => assert!(names.is_empty() && contract.contains(document), "{contract}"),
        }
    }
}

#[test]
fn the_state_file_goes_on_here_once_its_comments_and_its_dots_are_filled_in() {
    let text = example("ralph-pattern/state.jsonc");
    let world = World::new();
    let adopt = |text: &str| {
        world.write("old/state.json", text);
        let manifest = world
            .root()
            .join("home")
            .join(example("ralph-pattern/manifest.txt").trim().trim_start_matches("/tmp/"));
        fs::write(&manifest, format!("{}\n", world.project().join("old/state.json").display()))
            .unwrap();
        terminal(&world, &["adopt", manifest.to_str().unwrap()], "")
    };
    let refused = adopt(&text);
    assert!(
        refused.exit == 3 && refused.stderr.contains("line 3"),
        "comments are no JSON: {refused:?}"
    );
    let plain = without_comments(&text);
    let value: Value = serde_json::from_str(&plain).unwrap();
    let refused = adopt(&plain);
    assert!(refused.exit != 0 && !world.ralph_home().join("loops").exists(), "{refused:?}");

    let filled = plain
        .replace("<ISO8601>", "2026-01-09T10:00:00Z")
        .replace("\"verification_command\": \"...\"", "\"verification_command\": \"test -f made\"")
        .replace("\"id\": \"T-1\", \"name\": \"...\"", "\"id\": \"T-1\", \"name\": \"make it\"");
    // The runners that the document names, as far as a state needs them.
    let mut world = World::new();
    for name in ["npm", "npx"] {
        program(&mut world, name, "exit 0");
    }
    world.write("package.json", "{\"scripts\":{\"test\":\"node --test\"}}");
    world.write("old/state.json", &filled);
    terminal(&world, &["adopt", "old/state.json"], "").done();
    let status = terminal(&world, &["status", "--json"], "").done().json();
    let shown = &status["loops"][0];
    assert_eq!(shown["criteria"].as_array().unwrap().len(), 3, "{status}");
    for (shown, given) in shown["criteria"]
        .as_array()
        .unwrap()
        .iter()
        .zip(value["acceptance_criteria"].as_array().unwrap())
    {
        assert_eq!((&shown["id"], &shown["verified"]), (&given["id"], &json!(false)));
    }
    world.type_command("ralph", "").context();
    let state = world.state();
    for field in ["phase", "max_iterations", "iteration", "completion_token", "context_report"] {
        assert_eq!(state[field], value[field], "{field}");
    }
    assert_eq!(state["task_graph"][0]["status"], "pending");
    // The same file is a plan, too.
    let other = World::new();
    other.write(
        "plan.json",
        &filled.replace("npm test", "test -f a").replace("npx tsc --noEmit", "test -f b"),
    );
    assert!(other.ralph(&["task", "import", "plan.json"]).success);
}

#[test]
fn a_session_is_told_what_the_document_lists() {
    let world = World::new();
    world.settings("[context]\nalso = [\"branch\", \"commits\", \"changes\"]\n");
    world.write("src/deep/file.ts", "");
    world.write(
        "package.json",
        "{\"scripts\":{\"lint\":\"eslint .\"},\"dependencies\":{\"left-pad\":\"1.3.0\"}}",
    );
    world.write("tsconfig.json", "{\"compilerOptions\":{\"strict\":true}}");
    world.write("supabase/migrations/20260101_init.sql", "create table doors (id int);");
    world.git("checkout -q -b feature/door");
    let text = world.session_starts("startup").context();
    for (line, shown) in example("ralph-pattern/session-context.md").lines().zip([
        &["src"][..],
        &["feature/door", "first", "package.json"],
        &["eslint .", "left-pad"],
        &["20260101_init", "doors"],
        &["strict"],
    ]) {
        for shown in shown {
            assert!(text.contains(shown), "{line}: {shown} in {text}");
        }
    }
}

#[test]
fn the_tools_that_would_ask_are_denied_with_a_reason_and_exit_code_zero() {
    let world = World::looping("");
    for row in rows(&example("ralph-pattern/pre-tool-use.md")) {
        let (tool, action) = (quoted(&row[0]).remove(0), &row[1]);
        assert_eq!(action, "`exit 2` (deny)");
        let ran = world.tool(&tool, json!({})).exit(0);
        assert!(!ran.denied().is_empty(), "{tool}");
    }
    let free = World::new();
    for row in rows(&example("ralph-pattern/pre-tool-use.md")) {
        free.tool(&quoted(&row[0])[0], json!({})).silent();
    }
}

#[test]
fn each_rule_of_the_stop_hook_decides_as_the_document_orders_them() {
    let rules = example("ralph-pattern/stop.md");
    let rules: Vec<&str> = rules.lines().collect();
    assert!(rules[0].contains("stop_hook_active=true"));
    World::new()
        .stop_with(json!({"stop_hook_active": true, "last_assistant_message": "x"}))
        .silent();
    assert!(rules[1].contains("No state file"));
    World::new().stop("RALPH_COMPLETE").silent();
    assert!(rules[2].contains("pass through"));
    let mut world = World::looping("");
    world.prompt("prompt-2", "ralph pause").exit(0);
    world.stop("x").exit(0);
    assert!(world.standing().starts_with("paused 0/25"), "{}", world.standing());
    assert!(rules[3].contains("Completion token"));
    let world = World::looping("--ac 'it is there=test -f src/done.c'");
    world.stop("RALPH_COMPLETE").exit(0);
    assert!(world.has_entry(), "a token asks and does not decide");
    world.write("src/done.c", "");
    world.stop("RALPH_COMPLETE").exit(0);
    assert_eq!(world.ending(), "complete");
    assert!(rules[4].contains("iteration >= max_iterations"));
    let world = World::looping("--max-iterations 2");
    world.working_stop("x").goes_on();
    world.working_stop("x").goes_on();
    world.working_stop("x").exit(0);
    assert_eq!(world.ending(), "max_iterations");
    assert!(rules[5].contains("3 consecutive same hash"));
    let world = World::looping("");
    let mut n_stops = 0;
    while world.has_entry() {
        world.stop("x").exit(0);
        n_stops += 1;
    }
    assert_eq!(
        (n_stops, world.ending().as_str()),
        (4, "stalled"),
        "three stops in a row equal the first"
    );
    let ended = world.archived().remove(0);
    let hashes = ended["stall_hashes"].as_array().unwrap();
    assert!(hashes.len() >= 3 && hashes.iter().all(|hash| hash == &hashes[0]), "{hashes:?}");
    assert!(!ended["errors"].as_array().unwrap().is_empty(), "it is recorded before the cleanup");
    assert!(rules[6].contains("tasks done/total, pending ACs"));
    let world = World::new();
    stores_plan(&world);
    world.type_command("ralph", "").context();
    let told = world.step(&world.working_stop("x"));
    assert!(told.contains("0 of 1 task done, 0 of 1 criteri"), "{told}");
    assert_eq!(world.standing(), "implementation 1/25");
}

#[test]
fn each_ending_of_a_file_has_the_checks_of_its_row() {
    let world = World::new();
    world.write("package.json", "{\"devDependencies\":{\"typescript\":\"5\",\"eslint\":\"9\",\"prettier\":\"3\",\"vitest\":\"3\"}}");
    for (path, text) in [
        ("tsconfig.json", "{}"),
        ("eslint.config.js", "export default []"),
        (".prettierrc", "{}"),
        ("src/a.ts", "export const a = 1\n"),
        ("src/b.tsx", "export const b = 1\n"),
        ("src/a.test.ts", ""),
        ("src/b.test.tsx", ""),
        ("src/__tests__/a.spec.ts", ""),
        ("ruff.toml", ""),
        ("a.py", "x = 1\n"),
        ("a.sh", "true\n"),
        ("supabase/config.toml", ""),
        ("supabase/migrations/1.sql", "select 1;\n"),
        ("a.json", "{}\n"),
    ] {
        world.write(path, text);
    }
    for row in rows(&example("ralph-pattern/backpressure.md")) {
        for ending in quoted(&row[0]) {
            let file = match ending.as_str() {
                ".ts" => "src/a.ts",
                ".tsx" => "src/b.tsx",
                ".py" => "a.py",
                ".sh" => "a.sh",
                ".sql" => "supabase/migrations/1.sql",
                ".json" => "a.json",
                other => panic!("{other}"),
            };
            let explained = terminal(&world, &["check", "--explain", file], "");
            for check in quoted(&row[1]) {
                let name = match check.split(' ').next().unwrap() {
                    "jq" => "json",
                    name => name,
                };
                assert!(explained.stdout.contains(name), "{file}: {name}: {explained:?}");
            }
            assert!(
                row[1].contains("related test") == explained.stdout.contains("vitest"),
                "{file}: {explained:?}"
            );
        }
    }
    // The one without a condition runs everywhere, and the model hears of it.
    let world = World::looping("");
    world.write("broken.json", "{\"a\": }\n");
    let path = world.project().join("broken.json");
    let members = json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": ""},
        "tool_use_id": "t", "tool_response": {"filePath": path, "type": "create"}});
    let told = world.event("ralph-backpressure", "PostToolUse", members).context();
    assert!(told.contains("broken.json:1"), "{told}");
}

#[test]
fn a_workers_report_has_the_documents_five_lines_and_the_form_alone_is_no_report() {
    let form = example("ralph-pattern/worker-report.txt");
    let world = World::new();
    world.type_command("ralph-parallel", "\"a, b\"").context();
    let input = json!({"subagent_type": "ralph-worker", "description": "T-1", "prompt": "Ralph task T-1\n"});
    let call = json!({"tool_name": "Agent", "tool_input": input, "tool_use_id": "c"});
    world.event("ralph-pre-tool-use", "PreToolUse", call).exit(0);
    let members = json!({"tool_name": "Agent", "tool_use_id": "c", "tool_input": input,
        "tool_response": {"isAsync": true, "status": "async_launched", "agentId": "a-1"}});
    world.event("ralph-backpressure", "PostToolUse", members).exit(0);
    world.git("worktree add -q -b worktree-agent-a-1 .claude/worktrees/agent-a-1");
    let tree = world.project().join(".claude/worktrees/agent-a-1");
    fs::write(tree.join("made"), "x").unwrap();
    let stops = |message: &str| {
        let members = json!({"agent_id": "a-1", "agent_type": "ralph-worker", "cwd": tree,
            "agent_transcript_path": "/nowhere", "last_assistant_message": message, "background_tasks": []});
        world.event("ralph-stop-hook", "SubagentStop", members)
    };
    let why = stops(&form).blocked();
    assert!(why.contains("`Status:` is one of DONE, PARTIAL and BLOCKED"), "{why}");
    let filled = form
        .replace("DONE / PARTIAL / BLOCKED", "DONE")
        .replace("Files changed: ...", "Files changed: made")
        .replace("...", "none");
    stops(&filled).exit(0);
    let state = world.state();
    assert_eq!(
        (&state["task_graph"][0]["status"], &state["workers"][0]["standing"]),
        (&json!("done"), &json!("done"))
    );
}

#[test]
fn everything_in_the_documents_folders_is_installed_from_one_place() {
    let text = example("ralph-pattern/files.txt");
    let (dotfiles, rest) = text.split_once("+-- templates/").unwrap();
    let (templates, _) = rest.split_once("+-- docs/").unwrap();
    let named = |part: &str| -> Vec<String> {
        let names =
            part.lines().filter_map(|line| line.rsplit("+-- ").next()?.split_whitespace().next());
        names
            .filter(|name| name.ends_with(".sh") || name.ends_with(".md"))
            .map(str::to_owned)
            .collect()
    };
    let world = World::new();
    let said = terminal(&world, &["install", "--project", world.project().to_str().unwrap()], "");
    assert_eq!(said.exit, 0, "{said:?}");
    let installed = world.project().join(".claude");
    let names = [named(dotfiles), named(templates)].concat();
    assert_eq!(names.len(), 3 + 2 * 5);
    for name in names {
        if let Some(hook) = name.strip_suffix(".sh") {
            assert!(Path::new(executable(hook)).is_file(), "{hook}");
            let settings = fs::read_to_string(installed.join("settings.json")).unwrap();
            assert!(settings.contains(hook), "{said:?} {settings}");
        } else if let Some(skill) = name.strip_suffix("/SKILL.md") {
            assert!(installed.join("skills").join(&name).is_file(), "{skill}");
        } else {
            let agent = name.rsplit('/').next().unwrap();
            assert!(installed.join("agents").join(agent).is_file(), "{agent}");
        }
    }
    assert!(rest.contains("ralph.md") && repository("docs/loop.md").is_file());
}

#[test]
fn the_hooks_have_the_documents_timeouts_but_for_the_one_that_runs_the_criteria() {
    let settings = fs::read_to_string(repository("settings.example.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let timeout = |event: &str, hook: &str| {
        let groups = settings["hooks"][event].as_array().unwrap().iter();
        let entries = groups.flat_map(|group| group["hooks"].as_array().unwrap());
        let found = entries
            .filter(|entry| entry["command"] == hook && entry["args"] == json!(["settings"]));
        found.map(|entry| entry["timeout"].as_u64().unwrap()).next().unwrap()
    };
    for row in rows(&example("ralph-pattern/timeouts.md")) {
        let seconds: u64 = row[1].trim_end_matches('s').parse().unwrap();
        match row[0].split(' ').next().unwrap() {
            "Backpressure" => assert_eq!(timeout("PostToolUse", "ralph-backpressure"), seconds),
            "Session" => assert_eq!(timeout("SessionStart", "ralph-session-context"), seconds),
            "Stop" => assert_eq!((seconds, timeout("Stop", "ralph-stop-hook")), (15, 600)),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn each_command_of_the_documents_own_verification_does_what_it_verifies() {
    let list = example("ralph-pattern/verification.md");
    let line = |n: usize| list.lines().nth(n - 1).unwrap().to_owned();
    let command = |n: usize| typed(&quoted(&line(n))[0]);
    // 1: the package has the layout that `stow -d common -t ~ claude` links.
    let world = World::new();
    let words = quoted(&line(1)).remove(0);
    let package = words.split(' ').next_back().unwrap().to_owned();
    let common = world.root().join("common");
    terminal(&world, &["install", "--stow", common.to_str().unwrap()], "").done();
    assert!(common.join(&package).join(".claude/skills/ralph/SKILL.md").is_file());
    // 2 and 3: planned, and carried out task by task.
    let mut world = World::new();
    let (name, about) = command(2);
    world.type_command(&name, &about).silent();
    stores_plan(&world);
    world.prompt = "prompt-2".to_owned();
    let (name, none) = command(3);
    let contract = world.type_command(&name, &none).context();
    assert!(contract.contains("Next: T-1"), "{contract}");
    // 4
    let world = World::new();
    let (name, args) = command(4);
    world.type_command(&name, &args).context();
    let state = world.state();
    assert_eq!(
        (&state["max_iterations"], &state["prompt"]),
        (&json!(3), &json!("Create a hello world script"))
    );
    // 7
    let (name, _) = command(7);
    world.type_command(&name, "").kept_from_model();
    assert_eq!(world.ending(), "cancelled");
    // 8: no more than four at once.
    let (name, _) = command(8);
    let world = World::new();
    world.type_command(&name, "\"a, b, c, d, e\"").context();
    for n in 1..=5 {
        let input = json!({"subagent_type": "ralph-worker", "description": "w", "prompt": format!("Ralph task T-{n}\n")});
        let call =
            json!({"tool_name": "Agent", "tool_input": input, "tool_use_id": format!("c-{n}")});
        let ran = world.event("ralph-pre-tool-use", "PreToolUse", call);
        assert_eq!(
            ran.json()["hookSpecificOutput"]["permissionDecision"] == "deny",
            n == 5,
            "{ran:?}"
        );
    }
}

#[test]
fn a_state_that_is_read_while_it_is_written_is_always_whole() {
    let world = World::looping("--max-iterations 200");
    let path = world.state_path();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut n_reads = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let text = fs::read_to_string(&path).unwrap();
                serde_json::from_str::<Value>(&text)
                    .unwrap_or_else(|error| panic!("{error}: {text}"));
                n_reads += 1;
            }
            n_reads
        });
        for _ in 0..40 {
            world.working_stop("x").goes_on();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().unwrap() > 40);
    });
    let folder: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(!folder.iter().any(|name| name.to_string_lossy().contains("tmp")), "{folder:?}");
}
