//! `ralph watch` in a real terminal: what is on its screen, and what its keys do to a real loop.

use crate::world::{World, start};
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A person's terminal: a tmux server of its own, with a shell in it.
pub(crate) struct Screen {
    world: World,
    tmux: PathBuf,
    /// What the session is in besides.
    environment: Vec<(&'static str, &'static str)>,
    /// A server that was ended may not have left its socket yet; so each has its own.
    n_servers: Cell<u32>,
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

impl Screen {
    /// None where there is no tmux, and nobody insists.
    pub(crate) fn of(world: World, environment: &[(&'static str, &'static str)]) -> Option<Screen> {
        let path = std::env::var_os("PATH").unwrap();
        let tmux = std::env::split_paths(&path).map(|folder| folder.join("tmux"));
        let Some(tmux) = tmux.into_iter().find(|program| program.is_file()) else {
            assert!(std::env::var_os("RALPH_REQUIRE_CLIENT").is_none(), "tmux is not installed");
            eprintln!("skipped: tmux is not installed");
            return None;
        };
        Some(Screen { world, tmux, environment: environment.to_vec(), n_servers: Cell::new(0) })
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = self.world.command(&self.tmux, "");
        command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        command.env("SHELL", "/bin/sh").envs(self.environment.iter().copied());
        let socket = self.world.path(&format!("tmux{}", self.n_servers.get()));
        command.arg("-S").arg(socket).args(["-f", "/dev/null"]);
        let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// A shell, which says what the terminal is like before and after.
    pub(crate) fn open(&self, size: (u16, u16), command: &str) {
        self.tmux(&["kill-server"]);
        self.n_servers.set(self.n_servers.get() + 1);
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let shell = format!(
            "exec 2>&1; stty -a >{root}/before; {command}; echo \"exit $?\"; stty -a >{root}/after; \
             exec cat",
            root = self.world.path("").display(),
        );
        self.tmux(&["new-session", "-d", "-x", &width, "-y", &height, "/bin/sh", "-c", &shell]);
    }

    pub(crate) fn watch(&self, size: (u16, u16), arguments: &str) {
        self.open(size, &format!("{} watch {arguments}", env!("CARGO_BIN_EXE_ralph")));
    }

    /// All that a command prints in a terminal of this size, wrapped lines joined.
    pub(crate) fn printed(&self, size: (u16, u16), arguments: &str) -> String {
        self.open(size, &format!("{} {arguments}", env!("CARGO_BIN_EXE_ralph")));
        self.shows("exit ");
        let shown = self.tmux(&["capture-pane", "-p", "-J"]);
        shown.split("exit ").next().unwrap_or_default().trim_end().to_owned()
    }

    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Neither tmux nor a file announces itself.
    #[track_caller]
    fn until(&self, what: &str, mut holds: impl FnMut(&Screen) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !holds(self) {
            assert!(Instant::now() < deadline, "{what} did not happen:\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        self.until(&format!("`{text}`"), |it| it.shown().contains(text));
    }

    /// The process in the terminal, below its shell.
    fn process(&self) -> rustix::process::Pid {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = format!("/proc/{shell}/task/{shell}/children");
        let children = std::fs::read_to_string(children).unwrap();
        let id = children.split_whitespace().next().unwrap().parse().unwrap();
        rustix::process::Pid::from_raw(id).unwrap()
    }

    /// It is gone, and the terminal is as it was.
    #[track_caller]
    fn is_given_back(&self, exit: &str) {
        self.shows(exit);
        self.until("the terminal's settings", |it| {
            let read = |name| std::fs::read_to_string(it.world.path(name)).unwrap_or_default();
            !read("after").is_empty() && read("before") == read("after")
        });
        let flags = "#{alternate_on} #{cursor_flag}";
        assert_eq!(self.tmux(&["display-message", "-p", flags]).trim(), "0 1");
        assert!(!self.shown().contains("q quit"), "{}", self.shown());
    }

    fn state(&self) -> Value {
        self.world.state()
    }
}

/// A loop in the middle of its work.
fn at_work() -> World {
    let world = World::new().live_loop("S");
    world.change_state(|state| {
        state["iteration"] = json!(3);
        state["prompt"] = json!("Understand time zones \u{1b}[2J");
        state["acceptance_criteria"] = json!([
            {"id": "AC-1", "description": "the tests pass", "verification_command": "make test",
             "receipt": {"command": "make test", "passed": true, "exit_code": 0, "tests_run": 41}},
            {"id": "AC-2", "description": "it is quick", "verification_command": "make bench"},
        ]);
        state["task_graph"] = json!([
            {"id": "T-1", "name": "Read", "status": "done"},
            {"id": "T-2", "name": "Write", "status": "in_progress"},
        ]);
    });
    let project = world.path("project").to_str().unwrap().to_owned();
    let name: String =
        project.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect();
    let call = json!({"type": "assistant", "timestamp": "2026-01-01T00:00:00Z", "message": {
        "content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "make it"}}]}});
    world.write(&format!("home/.claude/projects/{name}/S.jsonl"), &format!("{call}\n"));
    world
}

#[test]
fn a_run_for_a_goal_is_shown_with_its_rounds_and_its_cost() {
    let world = crate::run::world("echo $n >file$n");
    let run = ["run", "make it", "--ac", "two=test -f file2", "-n", "1"];
    assert_eq!(world.ralph(&run).exit, 1);
    let Some(screen) = Screen::of(world, &[]) else { return };
    screen.watch((100, 30), "");
    screen.shows("q quit");
    for part in [
        "make it",
        "paused",
        "cost         $0.50",
        "round 1: the criterion does not hold",
        "AC-1  failed",
    ] {
        screen.shows(part);
    }
    // What a run in another terminal does is seen.
    screen.world.ralph(&["run"]).done();
    screen.shows("ended: complete");
    screen.shows("$1.00");
}

#[test]
fn a_loop_is_shown_as_it_changes_and_does_what_the_keys_say() {
    let Some(screen) = Screen::of(at_work(), &[]) else { return };
    let id = screen.world.loop_id();
    screen.watch((80, 24), "");
    screen.shows("q quit");
    let shown = screen.shown();
    for part in [
        " 1 loop ",
        &format!("> {id}  running"),
        "3/25    1/2      1/2",
        "Understand time zones \\u{1b}[2J",
        "tool         Bash make it (for",
        "task         T-2 Write",
        "continued    [###...........................]  3 of 25",
        "minutes      [..............................]  0 of 480",
        "AC-1  passed      41 tests  the tests pass  `make test`",
        "AC-2  not run     it is quick",
        "ralph start: started",
    ] {
        assert!(shown.contains(part), "`{part}` is not on the screen:\n{shown}");
    }
    // What changes elsewhere is seen.
    screen.world.change_state(|state| state["iteration"] = json!(4));
    screen.shows("4 of 25");

    screen.keys(&["s"]);
    screen.keys(&["-l", "use tabs, not q"]);
    screen.shows("steer: use tabs, not q_");
    screen.keys(&["Enter"]);
    screen.shows("; the model hears it within");
    screen.shows("waits  STEER  use tabs, not q");
    let inputs = screen.world.state_file().with_file_name("signals/inputs");
    assert_eq!(std::fs::read_dir(inputs).unwrap().count(), 1);

    screen.keys(&["p"]);
    screen.shows("  paused ");
    assert_eq!(screen.state()["phase"], "paused");
    assert_eq!(screen.state()["pause"]["cause"], "person");
    screen.keys(&["r"]);
    screen.until("the loop's going on", |it| it.state()["phase"] == "implementation");
    screen.shows("resumed at 4/25");

    screen.keys(&["?"]);
    screen.shows("Any key closes this.");
    screen.keys(&["x"]);
    screen.shows("use tabs, not q");
    screen.keys(&["x"]);
    screen.shows(&format!("stop loop {id}? It ends for good"));
    screen.keys(&["n"]);
    screen.shows("nothing was stopped");
    assert_eq!(screen.state()["phase"], "implementation");
    screen.keys(&["x"]);
    screen.shows("y stops it");
    screen.keys(&["y"]);
    screen.shows("ended: cancelled");
    assert!(screen.world.loop_ids().is_empty());
    let journal = screen.world.ralph(&["explain", "9", "--loop", &id]).done().stdout;
    for done in
        ["ralph signal: sent", "ralph pause: paused", "ralph resume: resumed", "ralph cancel"]
    {
        assert!(journal.contains(done), "{journal}");
    }
    screen.keys(&["q"]);
    screen.is_given_back("exit 0");
}

#[test]
fn a_loop_is_chosen_with_the_keys_and_others_projects_show_on_request() {
    let world = World::new().live_loop("S");
    let first = world.loop_id();
    world.ralph(&["start", "--session", "T", "the second"]).done();
    let mut elsewhere = world.command(std::path::Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    elsewhere.current_dir(world.path("other")).args(["start", "--session", "U", "the third"]);
    assert!(elsewhere.output().unwrap().status.success());
    let Some(screen) = Screen::of(world, &[("NO_COLOR", "1")]) else { return };
    screen.watch((60, 20), "");
    screen.shows(" 2 loops ");
    screen.shows(&format!("> {first}"));
    screen.keys(&["Down"]);
    screen.until("the second's turn", |it| !it.shown().contains(&format!("> {first}")));
    screen.shows("the second");
    screen.keys(&["p"]);
    screen.shows("  paused ");
    let text =
        std::fs::read_to_string(screen.world.path("ralph/loops").join(&first).join("state.json"));
    assert!(text.unwrap().contains("\"implementation\""), "the other goes on");
    // Nothing is coloured; what is selected is bold, and the title is turned round.
    let styled = screen.tmux(&["capture-pane", "-p", "-e"]);
    let codes = styled.split("\u{1b}[").skip(1).filter_map(|part| part.split_once('m'));
    for (code, _) in codes {
        assert!(
            code.split(';').all(|one| ["", "0", "1", "7", "39", "49"].contains(&one)),
            "{code}"
        );
    }
    screen.keys(&["k", "q"]);
    screen.is_given_back("exit 0");
    screen.watch((200, 50), "--all");
    screen.shows("all projects");
    screen.shows(" 3 loops ");
    screen.shows("the third");
    // The other half of a wide page.
    let shown = screen.shown();
    assert!(
        shown.lines().any(|line| line.contains("fix it") && line.contains("decisions")),
        "{shown}"
    );
}

#[test]
fn the_page_follows_the_size_of_the_terminal() {
    let Some(screen) = Screen::of(at_work(), &[]) else { return };
    screen.watch((80, 24), "");
    screen.shows("j/k select");
    screen.tmux(&["resize-window", "-x", "60", "-y", "20"]);
    screen.shows("j/k p r s x, ? help, q quit");
    screen.tmux(&["resize-window", "-x", "20", "-y", "5"]);
    screen.shows("too small to watch");
    screen.tmux(&["resize-window", "-x", "150", "-y", "30"]);
    screen.until("the wide page", |it| {
        it.shown().lines().any(|line| line.contains("Understand") && line.contains("decisions"))
    });
}

/// `script` has a terminal of its own, which nobody answers when a program asks where its cursor is.
#[test]
fn a_terminal_that_answers_no_question_shows_the_page_and_takes_every_key() {
    let version = Command::new("script").arg("--version").output();
    if !version.is_ok_and(|shown| shown.status.success()) {
        println!("there is no script of util-linux here");
        return;
    }
    let world = at_work();
    let watch = format!("stty rows 24 cols 80; exec {} watch", env!("CARGO_BIN_EXE_ralph"));
    let mut command = world.command(Path::new("script"), "");
    command.args(["-qec", &watch, "/dev/null"]).env("TERM", "xterm");
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let printed = world.finish(start(&mut command), "q");
    assert_eq!(printed.exit, 0, "{printed:?}");
    assert!(printed.stdout.contains("j/k select"), "{}", printed.stdout);
}

#[track_caller]
fn ends_by(signal: rustix::process::Signal, exit: &str) {
    let Some(screen) = Screen::of(at_work(), &[]) else { return };
    screen.watch((80, 24), "");
    screen.shows("q quit");
    rustix::process::kill_process(screen.process(), signal).unwrap();
    screen.is_given_back(exit);
    assert_eq!(screen.state()["phase"], "implementation", "the loop continues");
}

#[test]
fn whatever_ends_it_gives_the_terminal_back() {
    ends_by(rustix::process::Signal::TERM, "exit 143");
    ends_by(rustix::process::Signal::INT, "exit 130");
    ends_by(rustix::process::Signal::HUP, "exit 129");
}

#[test]
fn it_rests_with_the_terminal_given_back_and_draws_itself_anew() {
    let Some(screen) = Screen::of(at_work(), &[]) else { return };
    // A shell that has jobs, as a person's has.
    screen
        .open((80, 24), &format!("sh -mc '{} watch; fg; echo left'", env!("CARGO_BIN_EXE_ralph")));
    screen.shows("q quit");
    screen.keys(&["C-z"]);
    // `fg` brings it back at once, so that its being away is seen in what the shell says.
    screen.shows("q quit");
    screen.world.change_state(|state| state["iteration"] = json!(9));
    screen.shows("9 of 25");
    screen.keys(&["C-c"]);
    screen.is_given_back("left");
    assert!(screen.shown().contains("watch"), "the shell named the job: {}", screen.shown());
}

/// Runs in a terminal of its own, by the test below.
#[test]
fn a_page_that_panics() {
    if std::env::var_os("RALPH_TEST_PAGE").is_some() {
        let _page = ralph_io::terminal::alt_screen::Page::take().unwrap();
        println!("on the page");
        // Another process lets it go on.
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).ok();
        panic!("as if by mistake");
    }
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_is_told() {
    let Some(screen) = Screen::of(World::new(), &[]) else { return };
    let test = std::env::current_exe().unwrap();
    let test = test.to_str().unwrap();
    screen.open(
        (80, 24),
        &format!("RALPH_TEST_PAGE=1 {test} --exact watch::a_page_that_panics --nocapture"),
    );
    screen.shows("on the page");
    assert_eq!(screen.tmux(&["display-message", "-p", "#{alternate_on}"]).trim(), "1");
    // Raw: the key for the end of a line is another one.
    screen.keys(&["C-j"]);
    screen.is_given_back("exit 101");
    assert!(screen.shown().contains("as if by mistake"), "{}", screen.shown());
}

#[test]
fn without_a_terminal_another_command_is_named() {
    let world = World::new();
    let message = "ralph: `ralph watch` needs a terminal; `ralph status` shows the same once, and \
                   `ralph status --json` prints it for a program\n";
    world.ralph(&["watch"]).check(1, "", message);
    assert!(!world.path("ralph").exists());
}

#[test]
fn inside_the_session_of_a_live_loop_it_is_for_a_person() {
    let world = World::new().live_loop("S");
    let printed = world.in_session("S", &["watch"], "");
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("give `ralph watch` in another terminal"), "{printed:?}");
}

/// What it costs to look on: nothing is drawn where nothing changes but the seconds.
#[test]
fn what_does_not_change_is_not_drawn_again() {
    let Some(screen) = Screen::of(World::new(), &[]) else { return };
    let seen = screen.world.path("seen");
    screen.watch((80, 24), "");
    screen.shows("no loop is live or planned here");
    screen.tmux(&["pipe-pane", &format!("cat >>{}", seen.display())]);
    let length = |_: &Screen| seen.metadata().map_or(0, |about| about.len());
    // Some ticks of the clock.
    screen.until("three ticks", |it| length(it) > 3);
    let before = Instant::now();
    let from = length(&screen);
    screen.until("another tick", |it| length(it) > from + 20 || before.elapsed().as_secs() > 3);
    let per_second = (length(&screen) - from) as f64 / before.elapsed().as_secs_f64().max(1.0);
    assert!(per_second < 200.0, "{per_second} bytes each second");
}

#[test]
fn the_last_loop_stays_on_the_page_after_its_end() {
    let world = at_work();
    let id = world.loop_id();
    world.ralph(&["cancel"]).done();
    let Some(screen) = Screen::of(world, &[]) else { return };
    screen.watch((80, 24), "");
    screen.shows(&format!("> {id}  ended: cancelled"));
    screen.shows(" 1 loop ");
    screen.shows("ralph cancel: ended");
    screen.keys(&["q"]);
    screen.is_given_back("exit 0");
    screen.watch((80, 24), "--all");
    screen.shows(&format!("> {id}  ended: cancelled"));
}
