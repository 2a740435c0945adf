//! A loop in a conversation of the real client ends, and a server receives the notification by the
//! guide's own line.

use crate::Test;
use crate::builds::planned;
use crate::kept::{installed, new_file, the_ended, works};
use crate::support::{PATIENCE, World, executables};
use ralph_io::store::journal;
use ralph_test_support::fake_api::{Script, ScriptedTurn, StandIn};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

pub(crate) const TESTS: &[Test] = tests![
    a_loop_that_ends_in_a_conversation_calls_the_user_once,
    a_loop_that_a_hook_ends_in_a_round_calls_the_user_once,
];

/// A server on loopback that receives notifications, and the guide's line for it in the user's
/// settings.
fn receiver(world: &World) -> Receiver<Value> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/notify.md");
    let guide = fs::read_to_string(guide).unwrap();
    let part = guide.split("\n## ntfy\n").nth(1).unwrap();
    let line = part.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let settings = line.replace("https://ntfy.sh", &format!("http://{address}"));
    let file = world.home().join(".config/ralph/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, settings).unwrap();
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = sender.send(answer(stream.unwrap()));
        }
    });
    received
}

/// Reads one request and returns its document.
fn answer(mut stream: TcpStream) -> Value {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// The one notification that arrives. The journal's line about it is the last thing that its process
/// writes.
#[track_caller]
fn the_only(world: &World, received: &Receiver<Value>) -> Value {
    let told = received.recv_timeout(PATIENCE).expect("nobody was called");
    let until = Instant::now() + PATIENCE;
    let lines = loop {
        let archive = fs::read_dir(world.ralph_home().join("archive")).unwrap();
        let folder = archive.map(|folder| folder.unwrap().path()).next().unwrap();
        let entries = journal::read(&folder).into_iter();
        let lines: Vec<_> = entries.filter(|entry| entry.decision == "notified").collect();
        if !lines.is_empty() {
            break lines;
        }
        assert!(Instant::now() < until, "the journal does not tell");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!((lines.len(), &lines[0].seen["command"]), (1, &"sent".into()));
    assert!(received.try_recv().is_err());
    told
}

fn a_loop_that_ends_in_a_conversation_calls_the_user_once() {
    let world = installed();
    let received = receiver(&world);
    let stand_in = StandIn::start(works(new_file, |turn| format!("Step {turn}."))).unwrap();
    // Each hook is registered twice.
    world.client(&stand_in).prompt("/ralph \"Tidy the attic\" --max-iterations 1").result();
    let told = the_only(&world, &received);
    let kept = the_ended(&world);
    assert_eq!(kept.ending(), "max_iterations at 1/1");
    assert_eq!((&told["event"], &told["ending"]), (&"ended".into(), &"max_iterations".into()));
    assert_eq!(told["loop_id"], kept.state["loop_id"]);
}

fn a_loop_that_a_hook_ends_in_a_round_calls_the_user_once() {
    let world = planned(&[("T-1", &[])]);
    let received = receiver(&world);
    world.ralph(&["cancel"]);
    let plan = json!({"prompt": "Write it", "acceptance_criteria": [], "task_graph": [
        {"id": "T-1", "name": "write", "deps": [], "completion_condition": "c", "files": []}]});
    world.run(executables().join("ralph"), &["task", "import", "-"], &plan.to_string()).exits(0);
    for folder in fs::read_dir(world.ralph_home().join("archive")).unwrap() {
        fs::remove_dir_all(folder.unwrap().path()).unwrap();
    }
    let idle = Script::new().answer_with(|_| ScriptedTurn::text("I think about it."));
    let stand_in = StandIn::start(idle).unwrap();
    world
        .ralph_with_client(&stand_in, &["build", "--permission-mode", "bypassPermissions"])
        .exits(1);
    let told = the_only(&world, &received);
    assert_eq!((&told["event"], &told["ending"]), (&"ended".into(), &"stalled".into()));
    assert_eq!(the_ended(&world).state["ending"]["kind"], "stalled");
}
