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

/// Orphans are adopted by init, or by the given process.
#[track_caller]
fn check(line: &ProcessLine, expected: Speaker) {
    check_below(1, line, expected);
}

#[track_caller]
fn check_below(adopter: u32, line: &ProcessLine, expected: Speaker) {
    assert_eq!(of_command(line, &client(), "s-1", || Some(adopter)), expected, "{line:#?}");
}

fn unplaced(names: &str) -> Speaker {
    Speaker::Unplaced(names.to_owned())
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
fn what_is_younger_than_the_client_below_the_adopter_of_orphans_cannot_be_placed() {
    check(&line("90:ralph:900 1:init:1"), unplaced("an orphan"));
    check(&line("90:ralph:900 80:sh:800 70:setsid:700 1:init:1"), unplaced("setsid, sh"));
    // A terminal program that was opened after the client.
    check(&line("90:ralph:900 80:bash:800 70:tilix:700 1:init:1"), unplaced("tilix, bash"));
    // Orphans of a session come to its manager, which is older than the client.
    let line = line("90:ralph:900 80:sh:800 30:systemd:10 1:init:1");
    check_below(30, &line, unplaced("sh"));
    check(&line, Speaker::Person);
    // What adopts is not seen.
    assert!(matches!(of_command(&line, &client(), "s-1", || None), Speaker::Unplaced(_)));
    check_below(77, &line, unplaced("init, systemd, sh"));
    let broken = ProcessLine { top: Top::Broken, ..line };
    assert_eq!(of_command(&broken, &client(), "s-1", || None), unplaced("init, systemd, sh"));
}

#[test]
fn what_a_driver_of_ours_adopts_or_runs_is_no_persons() {
    let line = line("90:ralph:900 80:sh:800 30:ralph:10 20:bash:5 1:init:1");
    check_below(30, &line, unplaced("sh"));
    // Where a driver adopts nothing.
    check(&line, unplaced("bash, ralph, sh"));
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
fn what_came_into_a_container_from_outside_is_a_persons() {
    check(&ProcessLine { top: Top::Outside, ..line("90:ralph:900 80:bash:800") }, Speaker::Person);
    check(&ProcessLine { top: Top::Hidden, ..line("90:ralph:900 80:bash:800") }, Speaker::Person);
}

#[test]
fn an_event_is_the_clients_if_the_client_made_its_input() {
    let below = line("90:ralph-stop-hook:900 50:claude:500 40:bash:100 1:init:1");
    let through = line("90:ralph-stop-hook:900 80:sh:800 50:claude:500 40:bash:100 1:init:1");
    let deep = line("90:ralph-stop-hook:900 80:sh:800 70:sh:700 50:claude:500 1:init:1");
    let python = line("90:ralph-stop-hook:900 80:python3:800 50:claude:500 1:init:1");
    let is = |line: &ProcessLine, input, by_socket| {
        is_from_client(line, &client(), input, by_socket, || Some(1))
    };
    for line in [&below, &through, &deep, &python] {
        assert!(is(line, Input::Socket(CLIENT), true));
        assert!(!is(line, Input::Socket(80), true), "{line:?}");
        assert!(!is(line, Input::Other, true), "{line:?}");
    }
    assert!(is(&below, Input::Other, false) && is(&through, Input::Other, false));
    assert!(!is(&deep, Input::Other, false));
}

#[test]
fn an_event_that_the_client_did_not_send_is_believed_of_a_person_only() {
    let is = |line: &ProcessLine| is_from_client(line, &client(), Input::Other, true, || Some(1));
    assert!(is(&line("90:ralph-stop-hook:900 80:bash:800 40:bash:100 1:init:1")));
    assert!(!is(&line("90:ralph-stop-hook:900 80:bash:800 1:init:1")));
    // The model of another client, and another client with the same session open.
    let mut other = line("90:ralph-stop-hook:900 80:bash:800 77:claude:700 40:bash:100 1:init:1");
    other.processes[0].client = Some(77);
    assert!(!is(&other));
    assert!(is_from_client(&other, &client(), Input::Socket(77), true, || Some(1)));
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
