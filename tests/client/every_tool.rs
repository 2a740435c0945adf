//! The client's own list of tools against the guard's table, and what the tools beside Bash may not do in a loop.
//!
//! The list is the client's: the tools that it offers the model, with their fields, and the names in its program.

use std::fs;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use ralph_core::guard;
use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};

use crate::Test;
use crate::kept::{installed, the_ended};
use crate::support::{CLIENT_VARIABLE, World};
use crate::versions::assert_refused;

pub(crate) const TESTS: &[Test] = tests![
    every_tool_that_the_client_offers_is_known_or_judged_by_all_of_its_fields,
    the_guards_table_has_every_name_of_a_tool_in_the_clients_program,
    no_monitor_and_no_server_of_tools_changes_what_holds_a_loop,
    a_prompt_that_the_model_schedules_cancels_nothing,
];

/// The tools that are judged as unknown ones are, by every field. A new one is looked at before it is added here.
#[rustfmt::skip]
const JUDGED_BY_ALL: [&str; 18] = [
    "Artifact", "Brief", "ClaudeDesign", "CronCreate", "CronDelete", "EndConversation", "EnterWorktree", "ExitWorktree",
    "KillBash", "KillShell", "OfferChromeSetup", "PushNotification", "ScheduleWakeup", "SendMessage",
    "ShareOnboardingGuide", "ShowOnboardingRolePicker", "SubagentHandback", "TaskStop",
];

fn is_known(tool: &str) -> bool {
    guard::is_known(tool) || JUDGED_BY_ALL.contains(&tool)
}

fn every_tool_that_the_client_offers_is_known_or_judged_by_all_of_its_fields() {
    let world = World::new();
    let stand_in = StandIn::start(Script::new().turn(ScriptedTurn::text("Done."))).unwrap();
    // All of them at once, and none that is only named until the model asks for it.
    world
        .client(&stand_in)
        .env("ENABLE_TOOL_SEARCH", "false")
        .env("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")
        .env("ENABLE_LSP_TOOL", "1")
        .prompt("Say something.")
        .result();
    let (mut seen, mut missing) = (0, Vec::new());
    for request in stand_in.all_requests() {
        for tool in request.body["tools"].as_array().into_iter().flatten() {
            let name = tool["name"].as_str().unwrap();
            seen += 1;
            if !is_known(name) {
                missing.push(name.to_owned());
            }
        }
    }
    missing.sort();
    missing.dedup();
    assert!(seen >= 15, "the client offers its tools: {seen}");
    assert_eq!(missing, [""; 0], "tools that nobody has looked at");
}

fn the_guards_table_has_every_name_of_a_tool_in_the_clients_program() {
    let client = std::env::var_os(CLIENT_VARIABLE).map(PathBuf::from).expect("there is a client");
    let client = client.canonicalize().unwrap();
    // The program may be a script beside the executable of the platform.
    let beside = client.ancestors().find(|folder| folder.ends_with("@anthropic-ai"));
    let mut programs = vec![client.clone()];
    for folder in beside.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten() {
        programs.push(folder.unwrap().path().join("claude"));
    }
    let list = programs.iter().filter_map(|program| fs::read(program).ok()).find_map(|bytes| {
        // Byte by byte only where a list begins: the program is large.
        let begins = b"\"Agent\",\"Artifact\",\"AskUserQuestion\"";
        let list = bytes.split(|byte| *byte == b'[').find(|part| part.starts_with(begins))?;
        let end = list.iter().position(|byte| *byte == b']')?;
        let list = [&b"["[..], &list[..end], b"]"].concat();
        serde_json::from_slice::<Vec<String>>(&list).ok()
    });
    let list = list.expect("the client's program holds the list of its tools");
    assert!(list.len() > 40, "{list:?}");
    let missing: Vec<&String> = list.iter().filter(|name| !is_known(name)).collect();
    assert!(missing.is_empty(), "tools that nobody has looked at: {missing:?}");
}

/// Says to this program that it is a server of tools.
const SERVER: &str = "RALPH_TEST_TOOL_SERVER";

pub(crate) fn is_server() -> bool {
    std::env::var_os(SERVER).is_some()
}

/// A server of the Model Context Protocol with one tool that writes any file, and one that runs any command.
pub(crate) fn serve() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(request) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        let arguments = &request["params"]["arguments"];
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "files", "version": "1"},
            }),
            "tools/list" => {
                let tool = |name: &str, fields: &[&str]| {
                    let fields =
                        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"})));
                    let fields: serde_json::Map<String, Value> = fields.collect();
                    json!({"name": name, "description": name, "inputSchema": {"type": "object", "properties": fields}})
                };
                json!({"tools": [tool("write_file", &["path", "content"]), tool("run", &["cmd"])]})
            }
            "tools/call" => {
                match request["params"]["name"].as_str() {
                    Some("write_file") => fs::write(text("path"), text("content")).unwrap(),
                    _ => drop(std::process::Command::new("sh").args(["-c", &text("cmd")]).status()),
                }
                json!({"content": [{"type": "text", "text": "done"}]})
            }
            _ => json!({}),
        };
        if request.get("id").is_some() {
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            writeln!(out, "{answer}").unwrap();
            out.flush().unwrap();
        }
    }
}

fn no_monitor_and_no_server_of_tools_changes_what_holds_a_loop() {
    let world = installed();
    let servers = json!({"mcpServers": {"files": {
        "command": std::env::current_exe().unwrap(), "args": [], "env": {SERVER: "1"},
    }}});
    let config = world.root().join("servers.json");
    fs::write(&config, servers.to_string()).unwrap();
    let settings = world.settings_file();
    let before = fs::read_to_string(&settings).unwrap();
    let (home, notes) = (world.ralph_home(), world.project().join("notes.md"));
    let write = |path: &PathBuf| ("mcp__files__write_file", json!({"path": path, "content": "{}"}));
    let monitor = |line: String| {
        ("Monitor", json!({"command": line, "description": "look", "timeout_ms": 2000}))
    };
    let refused = [
        monitor(format!("rm -rf {}", home.display())),
        monitor("ralph cancel".to_owned()),
        write(&settings),
        write(&home.join("manifest/x")),
        write(&world.project().join(".claude/settings.json")),
        ("mcp__files__run", json!({"cmd": format!("rm -rf {}", home.display())})),
        ("mcp__files__run", json!({"cmd": "ralph cancel"})),
    ];
    let mut turn = ScriptedTurn::of(Vec::new());
    for (tool, input) in refused.iter().cloned().chain([write(&notes)]) {
        turn = turn.then_tool(tool, input);
    }
    let n = refused.len();
    let script = Script::new()
        .turn(turn)
        .turn(ScriptedTurn::text("One."))
        .repeat(ScriptedTurn::text("More."));
    let stand_in = StandIn::start(script).unwrap();
    world
        .client(&stand_in)
        .env("ENABLE_TOOL_SEARCH", "false")
        .args(&["--mcp-config", config.to_str().unwrap(), "--strict-mcp-config"])
        .prompt("/ralph \"Tidy the attic\" --max-iterations 2")
        .result();
    let requests = stand_in.requests();
    let results =
        requests.iter().map(|request| request.tool_results()).find(|results| !results.is_empty());
    let results = results.expect("the tools were called");
    assert_eq!(results.len(), n + 1, "{results:?}");
    for ((tool, input), result) in refused.iter().zip(&results) {
        assert_refused(result, &format!("{tool} {input}"));
    }
    assert!(!results[n].is_error, "{}", results[n].text);
    assert_eq!(fs::read_to_string(notes).unwrap(), "{}");
    assert_eq!(fs::read_to_string(settings).unwrap(), before);
    assert_eq!(the_ended(&world).ending(), "max_iterations at 2/2");
}

fn a_prompt_that_the_model_schedules_cancels_nothing() {
    let world = installed();
    let schedule = ScriptedTurn::tool(
        "CronCreate",
        json!({"cron": "* * * * *", "prompt": "ralph cancel", "recurring": false}),
    )
    .then_tool(
        "ScheduleWakeup",
        json!({"delaySeconds": 60, "reason": "wait", "prompt": "/ralph-cancel"}),
    );
    let script = Script::new()
        .turn(schedule)
        .turn(ScriptedTurn::text("One."))
        .repeat(ScriptedTurn::text("More."));
    let stand_in = StandIn::start(script).unwrap();
    world
        .client(&stand_in)
        .env("ENABLE_TOOL_SEARCH", "false")
        .prompt("/ralph \"Tidy the attic\" --max-iterations 2")
        .result();
    let requests = stand_in.requests();
    let results =
        requests.iter().map(|request| request.tool_results()).find(|results| !results.is_empty());
    for result in results.expect("the tools were called") {
        assert!(result.is_error && result.text.contains("not the user's word"), "{}", result.text);
    }
    assert_eq!(the_ended(&world).ending(), "max_iterations at 2/2");
}
