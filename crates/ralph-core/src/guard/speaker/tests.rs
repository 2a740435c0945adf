use super::*;

const CLIENT: u32 = 50;

fn client() -> ClientProcess {
    ClientProcess { pid: CLIENT, started: "500".to_owned() }
}

/// `pid:name:started`, the process itself first; all in one session without a terminal.
fn line(text: &str) -> ProcessLine {
    let process = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        Process {
            pid: parts[0].parse().unwrap(),
            name: parts[1].to_owned(),
            started: parts[2].parse().unwrap(),
            ..Process::default()
        }
    };
    ProcessLine { processes: text.split(' ').map(process).collect(), top: Top::First }
}

/// Puts the line into a terminal session led by the process at this position.
fn in_terminal(mut line: ProcessLine, leader: usize) -> ProcessLine {
    let session = line.processes[leader].pid;
    for process in &mut line.processes[..=leader] {
        (process.session, process.has_terminal) = (session, true);
    }
    line
}

#[track_caller]
fn check(line: &ProcessLine, expected: Speaker) {
    assert_eq!(of_command(line, &client(), "s-1"), expected, "{line:#?}");
}

#[test]
fn what_is_below_the_client_is_the_models() {
    check(&line("90:ralph:900 80:bash:800 50:claude:500 40:bash:100 1:init:1"), Speaker::Model);
    // A process with the id of an ended client is a different process.
    check(&line("90:ralph:900 80:bash:300 50:claude:400 1:init:1"), Speaker::Person);
}

#[test]
fn who_was_there_before_the_client_is_a_person() {
    check(&line("90:ralph:900 80:bash:800 40:xterm:100 1:init:1"), Speaker::Person);
    check(&line("90:ralph:900 80:bash:800 41:sshd:800 40:sshd:10 1:init:1"), Speaker::Person);
    check(&line("90:ralph:900 80:sh:800 40:runner:100 1:init:1"), Speaker::Person);
}

#[test]
fn an_orphan_shows_nobody() {
    check(&line("90:ralph:900 1:init:1"), Speaker::Unseen);
    check(&line("90:ralph:900 80:sh:800 1:init:1"), Speaker::Unseen);
    for server in SERVERS {
        let text = format!("90:ralph:900 80:sh:800 30:{server}:10 1:init:1");
        check(&line(&text), Speaker::Unseen);
    }
    check(&ProcessLine { top: Top::Broken, ..line("90:ralph:900 40:bash:100") }, Speaker::Unseen);
}

#[test]
fn what_a_driver_of_ours_adopts_or_runs_is_no_persons() {
    check(&line("90:ralph:900 80:sh:800 30:ralph:10 20:bash:5 1:init:1"), Speaker::Unseen);
}

#[test]
fn a_process_that_names_the_client_is_the_models() {
    for (client, session) in [(Some(CLIENT), ""), (Some(77), ""), (Some(0), ""), (None, "s-1")] {
        let mut line = line("90:ralph:900 80:sh:800 40:tmux:100 1:init:1");
        line.processes[1].client = client;
        line.processes[1].client_session = session.to_owned();
        check(&line, Speaker::Model);
    }
    // The shell of another client that is an ancestor.
    let mut line = line("90:ralph:900 80:sh:800 77:claude:700 40:bash:100 1:init:1");
    line.processes[0].client = Some(77);
    check(&line, Speaker::Person);
    line.processes[0].client = Some(0);
    check(&line, Speaker::Person);
}

#[test]
fn a_server_of_terminals_speaks_for_the_person_who_types_in_it() {
    let tmux = line("90:ralph:900 80:bash:800 40:tmux:100 1:init:1");
    check(&tmux, Speaker::Unseen);
    check(&in_terminal(tmux.clone(), 1), Speaker::Person);
    let mut script = in_terminal(tmux, 1);
    script.processes[1].has_script = true;
    check(&script, Speaker::Unseen);
    check(&in_terminal(line("90:ralph:900 40:tmux:100 1:init:1"), 0), Speaker::Unseen);
}

#[test]
fn a_terminal_that_was_opened_later_needs_a_host_that_no_command_can_be() {
    let by = |host: &str| {
        in_terminal(line(&format!("90:ralph:900 80:bash:800 70:{host}:700 1:init:1")), 1)
    };
    for host in WINDOWS {
        check(&by(host), Speaker::Person);
    }
    for host in ["script", "tmux", "screen", "python3", "expect"] {
        check(&by(host), Speaker::Unseen);
    }
    let mut login = by("login");
    login.processes[2].is_foreign = true;
    check(&login, Speaker::Person);
    // A window that was opened for one command.
    let mut window = by("xterm");
    window.processes[1].has_script = true;
    check(&window, Speaker::Unseen);
}

#[test]
fn what_came_into_a_container_from_outside_is_a_persons() {
    check(&ProcessLine { top: Top::Outside, ..line("90:ralph:900 80:bash:800") }, Speaker::Person);
    check(&ProcessLine { top: Top::Hidden, ..line("90:ralph:900 80:bash:800") }, Speaker::Person);
    check(&in_terminal(line("90:ralph:900 1:init:1"), 1), Speaker::Person);
}

#[test]
fn an_event_is_the_clients_if_the_client_made_its_input() {
    let below = line("90:ralph-stop-hook:900 50:claude:500 40:bash:100 1:init:1");
    let through = line("90:ralph-stop-hook:900 80:sh:800 50:claude:500 40:bash:100 1:init:1");
    let deep = line("90:ralph-stop-hook:900 80:sh:800 70:sh:700 50:claude:500 1:init:1");
    let python = line("90:ralph-stop-hook:900 80:python3:800 50:claude:500 1:init:1");
    let is =
        |line: &ProcessLine, input, by_socket| is_from_client(line, &client(), input, by_socket);
    for line in [&below, &through, &deep, &python] {
        assert!(is(line, Input::Socket(CLIENT), true));
        assert!(!is(line, Input::Socket(80), true), "{line:?}");
        assert!(!is(line, Input::Other, true), "{line:?}");
    }
    assert!(is(&below, Input::Other, false) && is(&through, Input::Other, false));
    assert!(!is(&deep, Input::Other, false) && !is(&python, Input::Other, false));
}

#[test]
fn an_event_that_the_client_did_not_send_is_believed_of_a_person_only() {
    let is = |line: &ProcessLine| is_from_client(line, &client(), Input::Other, true);
    assert!(is(&line("90:ralph-stop-hook:900 80:bash:800 40:bash:100 1:init:1")));
    assert!(!is(&line("90:ralph-stop-hook:900 80:bash:800 1:init:1")));
    // The model of another client, and another client with the same session open.
    let mut other = line("90:ralph-stop-hook:900 80:bash:800 77:claude:700 40:bash:100 1:init:1");
    other.processes[0].client = Some(77);
    assert!(!is(&other));
    assert!(is_from_client(&other, &client(), Input::Socket(77), true));
}

#[test]
fn the_runtimes_of_the_real_client_are_known_by_their_paths() {
    for path in [
        "/home/u/.local/share/claude/versions/2.1.328",
        "/x/@anthropic-ai/claude-code/bin/claude.exe",
        "/usr/bin/node",
        "/opt/bun",
    ] {
        assert!(answers_by_socket(path), "{path}");
    }
    for path in ["/bin/sh", "/usr/bin/dash", "", "/x/target/debug/ralph"] {
        assert!(!answers_by_socket(path), "{path}");
    }
}
