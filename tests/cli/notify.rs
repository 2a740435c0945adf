//! Ralph calls the user from the command line's own loops, and the lines of the guide work.

use crate::executables::executables;
use crate::world::{World, start};
use crate::{parallel_run, plan, ralplan_run, refine, session_run};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps each document that it gets in a file of its own.
const KEEPS: &str = "cat > \"$HOME/told.$$.part\"; mv \"$HOME/told.$$.part\" \"$HOME/told.$$\"";

/// A world whose user is called by this command, with these programs on `PATH`.
fn world(command: &[&str], programs: &[&str]) -> World {
    let world = World::new().permissive();
    set(&world, command, programs);
    world
}

fn set(world: &World, command: &[&str], programs: &[&str]) {
    for program in ["sh", "cat", "mv", "date"].iter().chain(programs) {
        let _ = std::os::unix::fs::symlink(find(program).unwrap(), world.path("bin").join(program));
    }
    let settings = format!("[notify]\ncommand = {}\n", json!(command));
    world.set_user(&settings);
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn client(world: &World, script: &str) {
    let path = world.write(
        "bin/claude",
        &format!(
            "#!/bin/sh\n[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit\n{script}\n"
        ),
    );
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn one_task(world: &World) {
    let graph =
        json!([{"id": "T-1", "name": "T-1", "deps": [], "completion_condition": "c", "files": []}]);
    let plan = json!({"prompt": "p", "acceptance_criteria": [], "task_graph": graph});
    world.run("", &["task", "import", "-"], &plan.to_string()).done();
}

#[track_caller]
fn wait<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn journal(world: &World) -> Vec<Value> {
    let folders = ["ralph/loops", "ralph/archive"].map(|kind| fs::read_dir(world.path(kind)));
    let folders = folders.into_iter().flatten().flatten().flatten();
    let text = folders.map(|folder| fs::read_to_string(folder.path().join("journal.jsonl")));
    let text: Vec<String> = text.flatten().collect();
    let lines = text.iter().flat_map(|text| text.lines());
    let entries = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    entries.filter(|entry| entry["decision"] == "notified").collect()
}

/// What the user was told, once this many notifications are in the journal.
#[track_caller]
fn told(world: &World, n: usize) -> Vec<Value> {
    let lines = wait("nobody was called", || Some(journal(world)).filter(|all| all.len() >= n));
    for line in &lines {
        assert_eq!(line["seen"]["command"], "sent", "{line}");
    }
    let told = kept(world);
    assert_eq!((told.len(), lines.len()), (n, n), "{told:#?}");
    told
}

/// The documents that the command got.
fn kept(world: &World) -> Vec<Value> {
    let files = fs::read_dir(world.path("home")).unwrap().flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("told."));
    let files = files.filter(|file| !file.file_name().to_string_lossy().ends_with(".part"));
    files
        .map(|file| serde_json::from_str(&fs::read_to_string(file.path()).unwrap()).unwrap())
        .collect()
}

const INIT: &str = r#"printf '%s\n' '{"type":"system","subtype":"init","session_id":"s"}'"#;
const DONE: &str = r#"printf '%s\n' '{"type":"result","is_error":false,"result":"done"}'"#;

#[test]
fn a_build_that_pauses_calls_the_user_once_and_names_its_command() {
    let world = world(&["sh", "-c", KEEPS], &[]);
    one_task(&world);
    client(&world, &format!("{INIT}\n{DONE}"));
    assert_eq!(world.ralph(&["build"]).exit, 1);
    let told = &told(&world, 1)[0];
    assert_eq!((&told["event"], &told["pause"]), (&json!("paused"), &json!("blocked_on_human")));
    assert_eq!(told["next"], "When it is done, `ralph run --planned` continues");
    assert!(told["why"].as_str().unwrap().starts_with("no task is ready"), "{told}");
}

#[test]
fn a_secret_of_the_client_in_the_text_is_not_told() {
    let world = world(&["sh", "-c", KEEPS], &[]);
    one_task(&world);
    client(&world, DONE);
    let secrets = [
        ("ANTHROPIC_API_KEY", "sk-ant-api-1"),
        ("ANTHROPIC_AUTH_TOKEN", "bearer \"of\" mine"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat-2"),
    ];
    let words = secrets.map(|(_, value)| value).join(", ");
    world.change_state(|state| {
        state["task_graph"][0]["status"] = json!("blocked");
        state["task_graph"][0]["result"] = json!(format!("refused: {words}"));
    });
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    let child = start(command.arg("build").envs(secrets));
    assert_eq!(world.finish(child, "").exit, 1);
    let told = &told(&world, 1)[0];
    let names = secrets.map(|(name, _)| format!("[redacted {name}]")).join(", ");
    assert!(told["why"].as_str().unwrap().contains(&format!("refused: {names}")), "{told}");
    assert!(secrets.iter().all(|(_, value)| !told.to_string().contains(value)), "{told}");
}

#[test]
fn the_desktop_shows_it_as_arguments_and_a_desktop_that_is_missing_is_in_the_journal() {
    for is_there in [true, false] {
        let world = world(&[], &[]);
        world.set_user("[notify]\ndesktop = true\n");
        if is_there {
            let shows = "#!/bin/sh\nprintf '%s|' \"$@\" > \"$HOME/shown\"\n";
            let path = world.write("bin/notify-send", shows);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        one_task(&world);
        client(&world, &format!("{INIT}\n{DONE}"));
        world.ralph(&["build"]);
        let line = wait("nobody was called", || journal(&world).pop());
        let shown = fs::read_to_string(world.path("home/shown")).unwrap_or_default();
        match is_there {
            true => {
                assert_eq!(line["seen"], json!({"desktop": "sent"}));
                assert!(
                    shown.starts_with("--app-name=ralph|--|Ralph: project|loop paused"),
                    "{shown}"
                );
            }
            false => {
                let why = "failed: neither `notify-send` nor `osascript` could show it";
                assert_eq!(line["seen"], json!({"desktop": why}));
            }
        }
    }
}

#[test]
fn a_build_that_ends_its_loop_calls_the_user_once() {
    let world = world(&["sh", "-c", KEEPS], &[]);
    one_task(&world);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ralph"), world.path("bin/ralph")).unwrap();
    let closes = "ralph task done T-1 --owner 'ralph build' --result x >/dev/null 2>&1";
    client(&world, &format!("{INIT}\necho x >made\n{closes}\n{DONE}"));
    assert_eq!(world.ralph(&["build"]).exit, 1, "nothing is proven");
    assert_eq!(told(&world, 1)[0]["ending"], "complete_unverified");
}

#[test]
fn a_build_that_made_its_rounds_calls_the_user_and_a_user_who_pauses_or_cancels_is_not_called() {
    let world = world(&["sh", "-c", KEEPS], &[]);
    one_task(&world);
    client(&world, &format!("{INIT}\n{DONE}"));
    assert_eq!(world.ralph(&["build", "-n", "1"]).exit, 1);
    assert_eq!(told(&world, 1)[0]["why"], "as many rounds as were asked for");
    world.ralph(&["pause"]).done();
    world.ralph(&["cancel"]).done();
    told(&world, 1);
}

#[test]
fn a_round_that_waits_for_the_usage_limit_calls_the_user() {
    let world = world(&["sh", "-c", KEEPS], &[]);
    one_task(&world);
    // In the second call the limit is gone.
    client(
        &world,
        &format!(
            "{INIT}\nif test -e \"$HOME/again\"; then {DONE}; exit 0; fi\n: > \"$HOME/again\"\n\
             now=$(date +%s)\n\
             printf '%s\\n' '{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{\"status\":\"rejected\",\"resetsAt\":'$((now + 3))'}}}}'\n\
             printf '%s\\n' '{{\"type\":\"result\",\"is_error\":true,\"api_error\":\"usage_limit_reached\",\"api_error_status\":429,\"result\":\"limit\"}}'\nexit 1"
        ),
    );
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    command.args(["build", "-n", "1"]);
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut run = command.spawn().unwrap();
    let limit = wait("nobody was called", || {
        journal(&world)
            .into_iter()
            .find(|line| line["why"].as_str().unwrap().contains("usage limit"))
    });
    assert_eq!(limit["why"], "usage limit reached at 0/25");
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&run),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    run.wait().unwrap();
}

#[test]
fn an_event_is_told_once_however_often_it_is_noticed() {
    let world = world(&["sh", "-c", KEEPS], &[]);
    one_task(&world);
    client(&world, &format!("{INIT}\n{DONE}"));
    world.ralph(&["build"]);
    told(&world, 1);
    let state = world.state_file();
    let state = state.to_str().unwrap();
    for event in ["\"paused\"", "\"paused\"", "\"ended\""] {
        world.ralph(&["delegate", "notify", event, "--state", state]).check(0, "", "");
    }
    told(&world, 1);
    let review = json!({"reviewed": {"number": 1, "what": "2 findings, 1 major"}}).to_string();
    for _ in 0..2 {
        world.ralph(&["delegate", "notify", &review, "--state", state]).check(0, "", "");
    }
    assert!(
        told(&world, 2).iter().any(|one| one["what"] == "review 1 is done: 2 findings, 1 major")
    );
}

#[test]
fn the_end_and_the_pause_of_a_parallel_run_call_the_user_once_and_its_workers_do_not() {
    let world = parallel_run::without_tasks(parallel_run::WORKS);
    set(&world, &["sh", "-c", KEEPS], &[]);
    parallel_run::plan(&world, &[("a", &[]), ("b", &[])]);
    assert_eq!(parallel_run::run(&world, &[]).exit, 0);
    let ended = &told(&world, 1)[0];
    assert_eq!((&ended["event"], &ended["ending"]), (&json!("ended"), &json!("complete")));

    let world = parallel_run::without_tasks("exit 3");
    set(&world, &["sh", "-c", KEEPS], &[]);
    parallel_run::plan(&world, &[("a", &[])]);
    assert_eq!(parallel_run::run(&world, &[]).exit, 4);
    let paused = &told(&world, 1)[0];
    assert_eq!((&paused["event"], &paused["pause"]), (&json!("paused"), &json!("crashed")));
    assert_eq!(paused["next"], "`ralph run --parallel` continues");
}

/// A client at its usage limit.
const LIMIT: &str = r#"printf '%s\n' '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}'
printf '%s\n' '{"type":"result","is_error":true,"api_error":"usage_limit_reached","api_error_status":429,"result":"limit"}'
exit 1"#;

#[test]
fn a_usage_limit_at_which_a_parallel_run_pauses_calls_the_user() {
    let world = parallel_run::without_tasks(LIMIT);
    set(&world, &["sh", "-c", KEEPS], &[]);
    parallel_run::plan(&world, &[("a", &[])]);
    assert_eq!(parallel_run::run(&world, &[]).exit, 4);
    assert_eq!(told(&world, 1)[0]["pause"], "rate_limited");
}

#[test]
fn the_end_and_the_pause_of_a_session_run_call_the_user_once() {
    let world = session_run::world(session_run::TWO, "");
    set(&world, &["sh", "-c", KEEPS], &[]);
    let printed = session_run::run(&world, session_run::TASK);
    assert_eq!(printed.exit, 0, "{printed:?}");
    let ended = &told(&world, 1)[0];
    assert_eq!((&ended["event"], &ended["mode"]), (&json!("ended"), &json!("session")));

    let world = session_run::world(session_run::TWO, &format!("before() {{ {LIMIT}; }}"));
    set(&world, &["sh", "-c", KEEPS], &[]);
    let printed = session_run::run(&world, session_run::TASK);
    assert_ne!(printed.exit, 0, "{printed:?}");
    let paused = &told(&world, 1)[0];
    assert_eq!((&paused["event"], &paused["pause"]), (&json!("paused"), &json!("rate_limited")));
    assert_eq!(paused["next"], "`ralph team run` continues");
}

#[test]
fn a_plan_that_awaits_a_decision_calls_the_user_once_and_the_decision_does_not() {
    let world = ralplan_run::world("");
    set(&world, &["sh", "-c", KEEPS], &[]);
    let child = ralplan_run::begin(&world, &["Add a login"]);
    ralplan_run::asks(&world, 1);
    let paused = &told(&world, 1)[0];
    assert_eq!((&paused["event"], &paused["mode"]), (&json!("paused"), &json!("ralplan")));
    assert_eq!(paused["what"], "planning awaits your decision at 1/5");
    assert!(paused["next"].as_str().unwrap().contains("`ralph ralplan approve`"), "{paused}");
    world.ralph(&["ralplan", "approve"]).done();
    assert_eq!(world.finish(child, "").exit, 0);
    told(&world, 1);
}

#[test]
fn the_pause_of_a_ralplan_run_calls_the_user_once() {
    let world = ralplan_run::world("metis() { exit 3; }");
    set(&world, &["sh", "-c", KEEPS], &[]);
    let child = ralplan_run::begin(&world, &["Add a login"]);
    assert_ne!(world.finish(child, "").exit, 0);
    let paused = &told(&world, 1)[0];
    assert_eq!((&paused["event"], &paused["mode"]), (&json!("paused"), &json!("ralplan")));
    assert_eq!(paused["next"], "`ralph ralplan run` continues");
}

#[test]
fn the_end_of_planning_in_rounds_calls_the_user_and_so_does_a_failure() {
    for (client, event, what, next) in [
        (
            plan::NOTES,
            "ended",
            "1 task planned in ",
            "`ralph run --planned` works through the tasks",
        ),
        ("exit 3", "paused", "1 of 1 round failed", "`ralph plan` continues"),
    ] {
        let world = plan::world(client);
        set(&world, &["sh", "-c", KEEPS], &[]);
        world.ralph(&["plan"]);
        let kept = kept(&world);
        assert_eq!(kept.len(), 1, "{kept:#?}");
        let told = &kept[0];
        assert_eq!(
            (&told["event"], &told["mode"], &told["next"]),
            (&json!(event), &json!("plan"), &json!(next))
        );
        assert!(told["what"].as_str().unwrap().contains(what), "{told}");
        assert_eq!(told["loop_id"].as_str().unwrap().is_empty(), event == "paused");
    }
}

#[test]
fn planning_and_a_refinement_that_wait_for_the_usage_limit_call_the_user() {
    // Soon enough to wait for it.
    let soon = LIMIT.replace("4102444800", "'$(($(date +%s) + 3600))'");
    let words: [(World, &[&str], &str); 2] = [
        (plan::world(&soon), &["plan"], "plan"),
        (refine::world(&soon), &["refine", "loop", "--plan", "plan.md"], "refine"),
    ];
    for (world, words, mode) in words {
        set(&world, &["sh", "-c", KEEPS], &[]);
        let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
        command.args(words).stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut run = command.spawn().unwrap();
        let told = wait("nobody was called", || kept(&world).into_iter().next());
        assert_eq!((&told["event"], &told["mode"]), (&json!("limit"), &json!(mode)));
        assert_eq!(told["what"], "usage limit reached");
        assert!(told["why"].as_str().unwrap().starts_with("the run waits until "));
        let id = rustix::process::Pid::from_child(&run);
        rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
        run.wait().unwrap();
    }
}

/// A client in whose round the stop hook ends the loop at its limit of one iteration. Then it hangs.
const ENDS_IN_ITS_ROUND: &str = r#"
for word; do case "$before" in --session-id) sid=$word;; esac; before=$word; done
stop() {
  printf '{"session_id":"%s","hook_event_name":"Stop","prompt_id":"p","cwd":"%s","transcript_path":"/nowhere","last_assistant_message":"x"}' \
    "$sid" "$PWD" | ralph-stop-hook settings >>"$HOME/answers"
}
stop; stop
echo "$PPID $$" >"$HOME/pids"
while :; do sleep 1; done"#;

/// A build whose loop has ended in its round, with the process ids of its round and its client.
fn ended_in_its_round() -> (World, Child, Vec<rustix::process::Pid>) {
    let world = world(&["sh", "-c", KEEPS], &["sleep"]);
    let hook = world.path("bin/ralph-stop-hook");
    fs::remove_file(&hook).unwrap();
    std::os::unix::fs::symlink(executables().join("ralph-stop-hook"), hook).unwrap();
    one_task(&world);
    world.change_state(|state| state["max_iterations"] = json!(1));
    client(&world, &format!("{INIT}\n{ENDS_IN_ITS_ROUND}"));
    let mut command = world.command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    let child = start(command.arg("build"));
    let pids = wait("the loop did not end", || {
        let text = fs::read_to_string(world.path("home/pids")).ok()?;
        text.ends_with('\n').then_some(text)
    });
    let pids = pids.split_whitespace().map(|pid| pid.parse().unwrap());
    let pids = pids.map(|pid| rustix::process::Pid::from_raw(pid).unwrap()).collect();
    assert!(world.loop_ids().is_empty(), "the hook has archived the loop");
    assert_eq!(kept(&world).len(), 0, "the run is alive, and calls at its end");
    (world, child, pids)
}

#[test]
fn a_run_that_is_killed_after_its_loop_ended_in_a_round_still_calls_the_user_once() {
    let (world, mut child, _) = ended_in_its_round();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(told(&world, 1)[0]["ending"], "max_iterations");
    world.ralph(&["status"]).done();
    told(&world, 1);
}

#[test]
fn if_all_of_a_run_is_killed_the_next_command_that_sees_the_ending_calls_the_user_once() {
    for command in [&["status"][..], &["run"], &["explain"]] {
        let (world, mut child, pids) = ended_in_its_round();
        // Stopped, so that it does not see the end of its round.
        let run = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(run, rustix::process::Signal::STOP).unwrap();
        for pid in pids {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(kept(&world).len(), 0);
        world.ralph(command);
        assert_eq!(told(&world, 1)[0]["ending"], "max_iterations");
        world.ralph(&["status"]).done();
        told(&world, 1);
    }
}

/// The settings of the guide below this heading, with the address of a server on loopback.
fn guided(heading: &str, host: &str, address: &str) -> Vec<String> {
    let guide =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/notify.md"));
    let guide = guide.unwrap();
    let part = guide.split(&format!("\n## {heading}\n")).nth(1).expect("the guide has the heading");
    let block = part.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(block.contains(host), "{block}");
    let settings: toml::Table = toml::from_str(&block.replace(host, address)).unwrap();
    let words = settings["notify"]["command"].as_array().unwrap().iter();
    words.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// A server that answers one connection and returns what it was sent.
fn server(answer: impl FnOnce(TcpStream) -> String + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, received) = channel();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        sender.send(answer(stream)).unwrap();
    });
    (address, received)
}

fn http(mut stream: TcpStream) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
    head + "\n" + &String::from_utf8(body).unwrap()
}

fn smtp(mut stream: TcpStream) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut say = |line: &str| stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let (mut sent, mut in_data) = (String::new(), false);
    say("220 loopback");
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 {
            return sent;
        }
        sent.push_str(&line);
        match line.trim_end() {
            "." if in_data => {
                in_data = false;
                say("250 kept");
            }
            _ if in_data => {}
            "DATA" => {
                in_data = true;
                say("354 go ahead");
            }
            "QUIT" => {
                say("221 bye");
                return sent;
            }
            _ => say("250 loopback"),
        }
    }
}

/// Has a loop pause with this command, and returns the loop's notification as the server saw it.
#[track_caller]
fn arrives(command: &[String], received: &Receiver<String>) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let world = world(&words, &["curl", "jq"]);
    one_task(&world);
    client(&world, &format!("{INIT}\n{DONE}"));
    world.ralph(&["build"]);
    let line = wait("nobody was called", || journal(&world).pop());
    assert_eq!(line["seen"]["command"], "sent", "{line}");
    received.recv_timeout(PATIENCE).expect("the server got it")
}

/// True if these programs are installed; says aloud what is skipped.
fn are_there(programs: &[&str]) -> bool {
    let missing: Vec<_> = programs.iter().filter(|name| find(name).is_none()).collect();
    if !missing.is_empty() {
        eprintln!("SKIPPED: needs {missing:?}");
    }
    missing.is_empty()
}

const TEXT: &str = "loop paused at 0/25 (blocked_on_human)";

#[test]
fn the_guides_line_for_ntfy_arrives() {
    if !are_there(&["curl"]) {
        return;
    }
    let (address, received) = server(http);
    let command = guided("ntfy", "https://ntfy.sh", &format!("http://{address}"));
    let got = arrives(&command, &received);
    assert!(got.starts_with("POST /YOUR-TOPIC "), "{got}");
    for header in ["Template: yes", "Title: {{.title}}", "Message: {{.text}}"] {
        assert!(got.contains(&format!("{header}\r\n")), "{got}");
    }
    let document: Value = serde_json::from_str(got.split_once("\n\n").unwrap().1).unwrap();
    assert_eq!(document["title"], "Ralph: project");
    assert!(document["text"].as_str().unwrap().starts_with(TEXT), "{document}");
}

#[test]
fn the_guides_line_for_slack_arrives() {
    if !are_there(&["curl"]) {
        return;
    }
    let (address, received) = server(http);
    let command = guided("Slack", "https://hooks.slack.com", &format!("http://{address}"));
    let got = arrives(&command, &received);
    assert!(got.starts_with("POST /services/T000/B000/XXXX "), "{got}");
    assert!(got.contains("Content-Type: application/json\r\n"), "{got}");
    let document: Value = serde_json::from_str(got.split_once("\n\n").unwrap().1).unwrap();
    assert!(document["text"].as_str().unwrap().starts_with(TEXT), "{document}");
}

#[test]
fn the_guides_line_for_telegram_arrives() {
    if !are_there(&["curl"]) {
        return;
    }
    let (address, received) = server(http);
    let command = guided("Telegram", "https://api.telegram.org", &format!("http://{address}"));
    let got = arrives(&command, &received);
    assert!(got.starts_with("POST /botTOKEN/sendMessage?chat_id=CHAT "), "{got}");
    let document: Value = serde_json::from_str(got.split_once("\n\n").unwrap().1).unwrap();
    assert!(document["text"].as_str().unwrap().starts_with(TEXT), "{document}");
}

#[test]
fn the_guides_line_for_e_mail_arrives() {
    if !are_there(&["curl", "jq"]) {
        return;
    }
    let (address, received) = server(smtp);
    let command = guided("E-mail", "smtp://localhost:25", &format!("smtp://{address}"));
    let got = arrives(&command, &received);
    for part in ["MAIL FROM:<ralph@localhost>", "RCPT TO:<you@example.com>", "Subject: Ralph", TEXT]
    {
        assert!(got.contains(part), "{part}: {got}");
    }
    assert!(got.contains("When it is done, `ralph run --planned` continues"), "{got}");
}
