//! `ralph refine` in the background: the real tmux, with a server of its own for each test.

use crate::refine::{n_called, plan, session, world};
use crate::world::{Printed, World, start};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A world with tmux; none where the machine has none, and nobody insists.
pub(crate) fn with_tmux(client: &str) -> Option<Server> {
    let server = Server(world(client));
    if server.0.path("bin/tmux").exists() {
        std::fs::create_dir(server.0.path("tmux")).unwrap();
        // The server is there already, with an environment that is not ours.
        assert!(server.tmux(&["new-session", "-d", "-s", "before", "cat"]).2);
        return Some(server);
    }
    assert!(std::env::var_os("RALPH_REQUIRE_CLIENT").is_none(), "tmux is not installed");
    eprintln!("skipped: tmux is not installed");
    None
}

/// A world whose tmux is gone with it.
pub(crate) struct Server(pub(crate) World);

impl Drop for Server {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

impl Server {
    fn ralph(&self, arguments: &[&str]) -> Printed {
        let mut command = self.0.command(&self.0.path("bin/ralph"), "");
        command.env("TMUX_TMPDIR", self.0.path("tmux")).env("MARK", "seen|&").args(arguments);
        self.0.finish(start(&mut command), "")
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> (String, String, bool) {
        let mut command = Command::new(self.0.path("bin/tmux"));
        command.env_clear().env("PATH", self.0.path("bin")).env("TERM", "xterm");
        command.env("TMUX_TMPDIR", self.0.path("tmux")).args(["-f", "/dev/null"]).args(arguments);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.success())
    }

    /// Neither tmux nor a file announces itself.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut holds: impl FnMut(&Server) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !holds(self) {
            assert!(Instant::now() < deadline, "{what} did not happen: {:?}", self.tmux(&["ls"]));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub(crate) fn is_there(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.len() > 0)
}

/// Waits at a pipe in its first call, for as long as it lives.
const WAITS: &str = r#"case $n in
1) mkfifo "$HOME/gate"; echo "$MARK" >"$HOME/mark"; lines 2; echo there >"$HOME/there"; cat "$HOME/gate";;
esac
ended 0"#;

#[test]
fn a_session_in_the_background_is_seen_joined_and_killed() {
    let Some(server) = with_tmux(WAITS) else { return };
    let printed = server.ralph(&["refine", "loop", "--plan", "plan.md", "--background"]).done();
    assert!(printed.stdout.contains("in the tmux session refine-plan"), "{printed:?}");
    server.until("the first round", |it| is_there(&it.0.path("home/there")));
    let mark = std::fs::read_to_string(server.0.path("home/mark")).unwrap();
    assert_eq!(mark, "seen|&\n", "it has the environment of whoever started it");
    let listed = server.ralph(&["refine", "list"]).done().stdout;
    assert!(listed.contains("plan.md  running in tmux refine-plan 0/10"), "{listed}");
    server.until("round 1 on its screen", |it| {
        it.ralph(&["refine", "peek", "plan"]).done().stdout.contains("round 1/10")
    });
    let again = server.ralph(&["refine", "once", "--plan", "plan.md", "--session", "b"]);
    assert!(again.stderr.contains("the refinement `plan` is at work on `plan.md`"), "{again:?}");
    let twice = server.ralph(&["refine", "loop", "--plan", "plan.md", "--background"]);
    assert_eq!(twice.exit, 1, "{twice:?}");

    let blind = server.ralph(&["refine", "attach"]);
    assert!(blind.stderr.contains("`tmux attach -t refine-plan`"), "{blind:?}");
    // A terminal of another server, as a person has one.
    let other = server.0.path("other.sock");
    let ralph = server.0.path("bin/ralph");
    let project = server.0.path("project");
    let tmux_home = format!("TMUX_TMPDIR={}", server.0.path("tmux").display());
    let ralph_home = format!("RALPH_HOME={}", server.0.path("ralph").display());
    let (other, project) = (other.to_str().unwrap(), project.to_str().unwrap());
    let words = [
        "-S",
        other,
        "new-session",
        "-d",
        "-c",
        project,
        "env",
        "-u",
        "TMUX",
        &tmux_home,
        &ralph_home,
    ];
    assert!(server.tmux(&[&words[..], &[ralph.to_str().unwrap(), "refine", "attach"]].concat()).2);
    server.until("somebody joined", |it| {
        !it.tmux(&["list-clients", "-t", "=refine-plan"]).0.trim().is_empty()
    });
    server.tmux(&["-S", other, "kill-server"]);

    let killed = server.ralph(&["refine", "kill"]).done();
    assert!(killed.stdout.contains("`plan` is ended; what it did stays"), "{killed:?}");
    assert!(!server.tmux(&["has-session", "-t", "=refine-plan"]).2);
    let session = session(&server.0, "plan");
    assert_eq!((&session["status"], session.get("round")), (&json!("cancelled"), None));
    assert_eq!(session["history"][0]["end"], "interrupted");
    assert_eq!(session["history"][0]["measured"]["lines"], 2);
    assert_eq!((plan(&server.0).lines().count(), n_called(&server.0)), (40, 1));
    assert!(!server.0.path("project/.omc").exists());
    assert!(server.tmux(&["has-session", "-t", "=before"]).2, "no other session is touched");
    let over = server.ralph(&["refine", "kill", "plan"]);
    assert!(over.stderr.contains("has already ended (cancelled)"), "{over:?}");
}

#[test]
fn a_session_in_the_background_comes_to_its_plateau_by_itself() {
    let Some(server) = with_tmux("ended 0") else { return };
    let arguments = ["refine", "loop", "--plan", "plan.md", "--background", "--session", "a|b & c"];
    let printed = server.ralph(&arguments).done();
    assert!(printed.stdout.contains("in the tmux session refine-a-b---c-"), "{printed:?}");
    server.until("the end", |it| {
        let (listed, ..) = it.tmux(&["list-sessions", "-F", "#{session_name}"]);
        !listed.contains("refine-")
    });
    let session = session(&server.0, "a|b & c");
    assert_eq!((&session["status"], &session["plateau_at"]), (&json!("plateau"), &json!(3)));
    let peek = server.ralph(&["refine", "peek", "a|b & c"]);
    assert!(peek.stderr.contains("does not run in the background"), "{peek:?}");
}

#[test]
fn a_session_of_tmux_that_is_not_ours_is_left_alone() {
    let Some(server) = with_tmux("ended 0") else { return };
    assert!(server.tmux(&["new-session", "-d", "-s", "refine-plan", "cat"]).2);
    let printed = server.ralph(&["refine", "loop", "--plan", "plan.md", "--background"]);
    assert_eq!(printed.exit, 4, "{printed:?}");
    assert!(printed.stderr.contains("duplicate session"), "{printed:?}");
    let peek = server.ralph(&["refine", "peek", "plan"]);
    assert_eq!(peek.exit, 1, "{peek:?}");
    server.ralph(&["refine", "once", "--plan", "plan.md"]).done();
    server.ralph(&["refine", "kill", "plan"]).done();
    assert!(server.tmux(&["has-session", "-t", "=refine-plan"]).2);
    assert_eq!(session(&server.0, "plan")["status"], "cancelled");
}

#[test]
fn a_person_is_asked_before_a_plan_changes_and_the_terminal_rings_at_the_end() {
    let Some(server) = with_tmux("case $n in 1|2) lines 1; ended 1;; *) ended 0;; esac") else {
        return;
    };
    let seen = server.0.path("seen");
    let text = |name: &str| server.0.path(name).to_str().unwrap().to_owned();
    let env: Vec<String> = [("HOME", "home"), ("RALPH_HOME", "ralph"), ("PATH", "bin")]
        .map(|(name, path)| format!("{name}={}", text(path)))
        .to_vec();
    let mut words: Vec<&str> = vec!["new-session", "-d", "-x", "150", "-s", "person", "-c"];
    let (project, ralph, pipe) =
        (text("project"), text("bin/ralph"), format!("cat > {}", seen.display()));
    words.extend([project.as_str(), "env"]);
    words.extend(env.iter().map(String::as_str));
    words.extend([&ralph, "refine", "loop", "--plan", "plan.md", "--confirm"]);
    words.extend([";", "pipe-pane", "-t", "=person:", pipe.as_str()]);
    let started = server.tmux(&words);
    assert!(started.2, "{started:?}");
    let asked = |number: usize| {
        server.until("the question", |it| {
            let (shown, ..) = it.tmux(&["capture-pane", "-p", "-S", "-", "-t", "=person:"]);
            shown.matches("make this the plan `plan.md`? [y/N]").count() >= number
        });
    };
    asked(1);
    assert_eq!(plan(&server.0).lines().count(), 40, "nothing changes before the answer");
    server.tmux(&["send-keys", "-t", "=person:", "n", "Enter"]);
    asked(2);
    server.tmux(&["send-keys", "-t", "=person:", "y", "Enter"]);
    server.until("the end", |it| !it.tmux(&["has-session", "-t", "=person"]).2);
    assert!(plan(&server.0).ends_with("39\ncall 2 line 0\n"), "{}", plan(&server.0));
    let session = session(&server.0, "plan");
    assert_eq!(session["history"][0]["plan"], "declined");
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("+call 1 line 0"), "{seen:?}");
    let rung =
        "\u{1b}]9;ralph refine: plan: plateau at round 3: the plan no longer changes\u{7}\u{7}";
    assert!(seen.contains(rung), "{seen:?}");
}
