//! What a run shows while it works, in a real terminal of four widths.

use crate::refine_tmux::{Server, is_there, with_tmux};
use crate::screens::{WIDTHS, fits};
use serde_json::json;

/// Uses a tool, waits in its second round, and closes a task.
const WORKS: &str = r#"printf '%s\n' '{"type":"assistant","message":{"id":"m","usage":{"input_tokens":12000,"output_tokens":345},"content":[{"type":"tool_use","name":"Edit","input":{"file_path":"src/parse.rs"}}]}}'
if [ $n = 2 ]; then mkfifo "$HOME/gate"; echo there >"$HOME/there"; cat "$HOME/gate"; fi
echo $n >>made
for id in T-1 T-2; do ralph task done $id --owner 'ralph build' --result ok && break; done >/dev/null 2>&1
ended 0"#;

/// Starts a command in a terminal of this width.
#[track_caller]
fn begin(server: &Server, width: u16, command: &str) {
    let path = |name: &str| server.0.path(name).display().to_string();
    let command = format!(
        "cd {}; env -i HOME={} RALPH_HOME={} PATH={} TERM=xterm-256color LC_ALL=C.UTF-8 ralph {command}; cat",
        path("project"),
        path("home"),
        path("ralph"),
        path("bin")
    );
    let width = width.to_string();
    let words = ["-u", "new-session", "-d", "-s", "run", "-x", &width, "-y", "40", &command];
    let begun = server.tmux(&words);
    assert!(begun.2, "{begun:?}");
}

/// All that the terminal shows, wrapped lines joined.
fn shown(server: &Server) -> String {
    server.tmux(&["-u", "capture-pane", "-p", "-J", "-t", "run"]).0
}

#[test]
fn a_build_shows_a_bar_the_tokens_and_the_tool_and_leaves_only_lines_of_results() {
    for width in WIDTHS {
        let Some(server) = with_tmux(WORKS) else { return };
        let task = |id: &str| json!({"id": id, "name": format!("write {id}"), "files": [id], "completion_condition": "c"});
        let plan = json!({"prompt": "p", "task_graph": [task("T-1"), task("T-2")],
            "acceptance_criteria": [{"id": "AC-1", "description": "d", "verification_command": "test -f plan.md"}]});
        server.0.run("", &["task", "import", "-"], &plan.to_string()).done();
        begin(&server, width, "build --permission-mode acceptEdits");
        let screen = || shown(&server);
        let shows = |words: &[&str]| {
            let screen = screen();
            words.iter().all(|words| screen.contains(words))
        };
        server.until("the second round", |it| is_there(&it.0.path("home/there")));
        server.until("the bar", |_| {
            shows(&["1/2 tasks done  24 k tokens", "━━━", "12 k tokens  Edit src/parse.rs"])
        });
        std::fs::write(server.0.path("home/gate"), "go\n").unwrap();
        server.until("the last line", |_| shows(&["2 of 2 tasks done; 2 rounds, "]));
        let screen = screen();
        assert!(!screen.contains("━") && !screen.contains("Edit src"), "{width}: {screen}");
        assert!(screen.contains("round 1, T-1 write T-1: T-1 done: ok"), "{width}: {screen}");
    }
}

/// Hands over one task in its last message, if it is asked twice.
const PLANS: &str = r#"[ $n = 1 ] && { ended 0; exit; }
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"```jsonl\n{\"id\":\"T-1\",\"name\":\"one\"}\n```","session_id":"s"}'"#;

#[test]
fn what_a_planning_prints_fits_the_terminal() {
    for width in WIDTHS {
        let Some(server) = with_tmux(PLANS) else { return };
        begin(&server, width, "plan -n 2");
        server.until("the last line", |it| shown(it).contains("2 rounds, "));
        let screen = shown(&server);
        fits(&screen, width, "plan");
        assert!(screen.contains("1 task"), "{width}: {screen}");
    }
}
