//! What runs within the bounds of a sandboxed loop has no effect outside of them.
//!
//! Each attack is a criterion's command below the real supervisor, in real bubblewrap. The folder lies in
//! the checkout, which people also make below `/tmp`.

use crate::world::{World, executable};
use ralph_core::project::bounds::{Bounds, BoundsInput, GitFolders};
use ralph_core::project::settings::SandboxSettings;
use ralph_io::git::commit;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// A home with a key, a project with a repository, and Ralph's home.
struct Yard {
    folder: tempfile::TempDir,
    settings: SandboxSettings,
    deadline_ms: u64,
}

impl Yard {
    /// `None`, aloud, without bubblewrap.
    fn new() -> Option<Yard> {
        Yard::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    fn below(place: &Path) -> Option<Yard> {
        let works = Command::new("bwrap")
            .args([
                "--ro-bind",
                "/",
                "/",
                "--unshare-user",
                "--unshare-net",
                "--unshare-pid",
                "true",
            ])
            .status();
        if !works.is_ok_and(|status| status.success()) {
            assert!(!crate::is_proof(), "bubblewrap does not work");
            eprintln!("SKIPPED: bubblewrap does not work here");
            return None;
        }
        let folder = tempfile::tempdir_in(place).unwrap();
        let yard = Yard { folder, settings: SandboxSettings::default(), deadline_ms: 120_000 };
        for (path, text) in [
            ("home/.ssh/id_rsa", "KEY-OF-THE-USER"),
            ("home/diary", "dear diary"),
            ("ralph/loops/x/receipts/r", "passed"),
            ("project/.claude/ralph.toml", "stall_limit = 3\n"),
            ("project/a", "a\n"),
        ] {
            let path = yard.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        yard.git(&["init", "-q", "-b", "main"]);
        yard.git(&["config", "user.name", "t"]);
        yard.git(&["config", "user.email", "t@example.com"]);
        yard.git(&["add", "-A"]);
        yard.git(&["commit", "-q", "-m", "first"]);
        Some(yard)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(self.path("project")).env("HOME", self.path("home"));
        let output = git.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn bounds(&self) -> Bounds {
        let git = self.text("project/.git");
        Bounds::from_input(&BoundsInput {
            project_root: &self.text("project"),
            git: Some(GitFolders { own: &git, common: &git, hooks_path: None }),
            home: &self.text("home"),
            ralph_home: &self.text("ralph"),
            ralph_config: &self.text("home/.config/ralph"),
            client_config: &self.text("home/.claude"),
            settings: self.settings.clone(),
        })
    }

    /// Runs a command line as a criterion. What it finds in `$HOME`, `$OUT` and `$PROJECT` are the
    /// folders of the yard.
    fn run(&self, line: &str) -> Report {
        self.run_with(line, |_| {})
    }

    fn run_with(&self, line: &str, change: impl FnOnce(&mut Command)) -> Report {
        let (mut child, stdin) = self.start(line, change);
        let mut answer = String::new();
        child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
        child.wait().unwrap();
        drop(stdin);
        Report(serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{line}: {answer}")))
    }

    fn start(&self, line: &str, change: impl FnOnce(&mut Command)) -> (Child, ChildStdin) {
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let request = json!({
            "command": line,
            "folder": bytes(&self.path("project")),
            "output": bytes(&self.path("output")),
            "deadline_ms": self.deadline_ms,
            "bounds": self.bounds(),
            "secrets": [],
        });
        let mut ralph = Command::new(executable("ralph"));
        ralph.arg("supervise").stdin(Stdio::piped()).stdout(Stdio::piped());
        ralph.env("HOME", self.path("home")).env("OUT", self.path(""));
        ralph.env("RALPH_HOME", self.path("ralph")).env("PROJECT", self.path("project"));
        change(&mut ralph);
        let mut child = ralph.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{request}").unwrap();
        (child, stdin)
    }

    /// Everything outside of the project, and what governs git and Ralph inside of it.
    fn governed(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let places = [
            "home",
            "ralph",
            "project/.claude",
            "project/.mcp.json",
            "project/.git/hooks",
            "project/.git/config",
            "project/.git/info",
            "project/.git/commondir",
            "project/.git/config.worktree",
            "project/.git/refs/ralph",
        ];
        for place in places {
            collect(&self.path(place), &mut found);
        }
        found
    }

    /// Runs an attack, and fails the test if it changed what it must not.
    #[track_caller]
    fn attacked(&self, line: &str) -> Report {
        let before = self.governed();
        let report = self.run(line);
        assert_eq!(self.governed(), before, "{line}: {report:?}");
        let refs = self.git(&["for-each-ref", "refs/ralph"]);
        assert_eq!(refs, "", "{line}");
        report
    }
}

fn collect(path: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    let Ok(about) = path.symlink_metadata() else { return };
    if !about.is_dir() {
        found.push((path.to_owned(), fs::read(path).unwrap_or_default()));
        return;
    }
    let mut entries: Vec<_> = fs::read_dir(path).unwrap().map(|one| one.unwrap().path()).collect();
    entries.sort();
    entries.iter().for_each(|one| collect(one, found));
}

#[derive(Debug)]
struct Report(Value);

impl Report {
    fn passed(&self) -> bool {
        self.0["ended"] == json!({"exited": 0})
    }

    fn tail(&self) -> &str {
        self.0["tail"].as_str().unwrap()
    }

    fn refused(&self) -> String {
        self.0["refused"].to_string()
    }

    #[track_caller]
    fn passes(&self) {
        assert!(self.passed(), "{:?}", self.0);
    }
}

#[test]
fn an_ordinary_command_writes_the_project_and_its_temporary_folder() {
    let Some(yard) = Yard::new() else { return };
    let report = yard.run("echo b > b && mktemp && git status --short && echo $((1 + 1))");
    report.passes();
    assert!(report.tail().contains("?? b") && report.tail().ends_with('2'), "{}", report.tail());
    assert_eq!(fs::read_to_string(yard.path("project/b")).unwrap(), "b\n");
    assert_eq!(yard.run("exit 7").0["ended"], json!({"exited": 7}));
    assert_eq!(yard.run("kill -9 $$").0["ended"], json!({"signalled": 9}));
    assert_eq!(yard.git(&["status", "--short"]), "?? b\n", "no mount left a file");
}

#[test]
fn a_test_file_that_deletes_in_the_home_folder_deletes_nothing() {
    let Some(yard) = Yard::new() else { return };
    let report = yard.attacked("rm -rf \"$HOME\"/* \"$HOME\"/.ssh; echo x > \"$HOME/new\"");
    assert!(!report.passed());
    assert!(report.refused().contains("[sandbox]"), "{report:?}");
}

#[test]
fn a_home_and_a_project_below_tmp_are_as_readable_as_elsewhere() {
    let Some(yard) = Yard::below(Path::new("/tmp")) else { return };
    let others = tempfile::tempdir_in("/tmp").unwrap();
    fs::write(yard.path("home/.gitconfig"), "[user]\nname = me\nemail = me@example.com\n").unwrap();
    fs::write(yard.path("above"), "beside the project").unwrap();
    yard.git(&["config", "--unset", "user.name"]);
    yard.git(&["config", "--unset", "user.email"]);
    yard.run("git commit -q --allow-empty -m second && cat \"$HOME/diary\" ../above && echo b > b")
        .passes();
    assert_eq!(yard.git(&["log", "-1", "--format=%an"]), "me\n");
    let report = yard.attacked("rm -rf \"$HOME\"/*; echo x > \"$HOME/new\"; cat $HOME/.ssh/id_rsa");
    assert!(!report.passed() && !report.tail().contains("KEY-OF"), "{report:?}");
    assert!(report.refused().contains("[sandbox]"), "{report:?}");
    let socket = yard.path("home/socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let look = format!("test -S {} || ls {}", socket.display(), others.path().display());
    assert!(!yard.run(&look).passed(), "a socket of the home, or another's folder");
}

#[test]
fn a_key_is_read_by_no_way() {
    let Some(yard) = Yard::new() else { return };
    for line in [
        "cat $HOME/.ssh/id_rsa",
        "cat /proc/1/root$HOME/.ssh/id_rsa",
        "cat /proc/self/root$HOME/.ssh/id_rsa",
        "ln -s $HOME/.ssh keys; cat keys/id_rsa",
        "umount $HOME/.ssh; cat $HOME/.ssh/id_rsa",
        "unshare -Urm sh -c 'umount -l $HOME/.ssh; cat $HOME/.ssh/id_rsa'",
        "bwrap --bind / / --dev /dev cat $HOME/.ssh/id_rsa",
        "for p in /proc/[0-9]*; do cat $p/root$HOME/.ssh/id_rsa; done",
        "for p in /proc/[0-9]*; do cat $p/cwd/../home/.ssh/id_rsa; done",
    ] {
        let report = yard.attacked(line);
        assert!(!report.tail().contains("KEY-OF"), "{line}: {report:?}");
    }
}

#[test]
fn what_governs_git_and_ralph_is_written_by_no_way() {
    let Some(yard) = Yard::new() else { return };
    for line in [
        "echo 'touch /x' > .git/hooks/pre-commit",
        "git config core.fsmonitor evil",
        "printf '[core]\\nfsmonitor = evil\\n' >> .git/config",
        "mv .git/config c; cp c .git/config; echo '[core]' >> .git/config",
        "mv .git g && cp -r g .git && echo '[core]' >> .git/config",
        "mv .git/hooks h; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
        "mkdir evil; cp -r .git/* evil; echo ../evil > .git/commondir",
        "echo '[core]' > .git/config.worktree",
        "echo '* filter=x' > .git/info/attributes",
        "ln .git/config c && echo '[core]' >> c",
        "echo 'completion = \"token\"' > .claude/ralph.toml",
        "mv .claude c; mkdir .claude; echo x > .claude/ralph.toml",
        "rm -rf .claude",
        "mkdir -p .claude/ralph/reviews && echo x > .claude/ralph/reviews/x.md",
        "echo '{}' > .claude/settings.json",
        "mkdir -p .claude/agents && echo x > .claude/agents/a.md",
        "mkdir -p .claude/skills/s && echo x > .claude/skills/s/SKILL.md",
        "echo '{\"mcpServers\":{\"m\":{\"command\":\"evil\"}}}' > .mcp.json",
        "mkdir -p .git/refs/ralph/x; git rev-parse HEAD > .git/refs/ralph/x/1",
        "git update-ref refs/ralph/x/1 HEAD",
        "echo \"$(git rev-parse HEAD) refs/ralph/x/1\" >> .git/packed-refs",
        "git update-ref refs/heads/y HEAD; git pack-refs --all; echo \"$(git rev-parse HEAD) refs/ralph/x/1\" >> .git/packed-refs",
        "mv .git/refs r; mkdir -p .git/refs/ralph/x; git rev-parse HEAD > .git/refs/ralph/x/1",
        "echo passed > $RALPH_HOME/loops/x/receipts/r; mkdir -p $RALPH_HOME/loops/y",
        "ln -s $HOME out; echo x > out/diary",
        "ln -s $RALPH_HOME/loops r2; echo x > r2/new",
        "mount -o remount,rw,bind / ; echo x > $HOME/new",
        "unshare -Urm sh -c 'mount -o remount,rw,bind /; echo x > $HOME/new'",
        "bwrap --bind / / --dev-bind /dev /dev sh -c 'echo x > $HOME/new; echo x >> .git/config'",
    ] {
        yard.attacked(line);
    }
    let report = yard.attacked("mkdir evil; echo ../evil > .git/commondir");
    assert!(report.refused().contains("commondir"), "{report:?}");
}

#[test]
fn a_project_without_settings_gets_none_and_keeps_no_trace_of_the_mounts() {
    let Some(yard) = Yard::new() else { return };
    fs::remove_dir_all(yard.path("project/.claude")).unwrap();
    fs::remove_dir_all(yard.path("project/.git/hooks")).unwrap();
    yard.attacked("mkdir -p .claude; echo x > .claude/ralph.toml; mv .claude c; mkdir .claude; echo x > .claude/ralph.toml");
    yard.attacked("mkdir -p .git/hooks; echo x > .git/hooks/pre-commit");
    assert!(!yard.path("project/.claude").exists());
    assert!(!yard.path("project/.git/hooks").exists());
}

#[test]
fn a_server_outside_is_reached_only_through_the_list() {
    let Some(mut yard) = Yard::new() else { return };
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    server.set_nonblocking(true).unwrap();
    let by_proxy = format!(
        "p=${{http_proxy##*:}}; exec 3<>/dev/tcp/127.0.0.1/$p; \
         printf 'GET http://127.0.0.1:{port}/x HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; cat <&3"
    );
    let report = yard.attacked(&format!("echo x > /dev/tcp/127.0.0.1/{port}"));
    assert!(!report.passed());
    let report = yard.attacked(&by_proxy);
    assert!(report.tail().contains("403 Forbidden"), "{report:?}");
    assert!(report.refused().contains("it tried to reach `127.0.0.1`"), "{report:?}");
    assert!(report.refused().contains("hosts = "), "{report:?}");
    assert!(server.accept().is_err(), "nothing reached the server");

    server.set_nonblocking(false).unwrap();
    let answering = std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut client, _) = server.accept().unwrap();
            let mut head = [0; 1024];
            let _ = client.read(&mut head).unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
        }
    });
    yard.settings.hosts = vec!["127.0.0.1".to_owned()];
    let report = yard.run(&by_proxy);
    assert!(report.passed() && report.tail().ends_with("hello"), "{report:?}");
    yard.settings = SandboxSettings { ports: vec![port], ..SandboxSettings::default() };
    let report = yard.run(&format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET / HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3"
    ));
    assert!(report.passed() && report.tail().ends_with("hello"), "{report:?}");
    answering.join().unwrap();
}

#[test]
fn a_socket_outside_is_reached_only_if_it_is_listed() {
    let Some(mut yard) = Yard::new() else { return };
    let path = yard.path("home/daemon.sock");
    let Some(server) = std::os::unix::net::UnixListener::bind(&path).ok() else {
        eprintln!("SKIPPED: the path of the socket is too long here");
        return;
    };
    server.set_nonblocking(true).unwrap();
    let line = "echo x | socat - UNIX-CONNECT:$HOME/daemon.sock";
    assert!(!yard.run(line).passed());
    assert!(server.accept().is_err());
    yard.settings.sockets = vec![path.to_str().unwrap().to_owned()];
    yard.run(line).passes();
    assert!(server.accept().is_ok());
}

#[test]
fn a_cache_folder_is_written_if_the_setting_lists_it() {
    let Some(mut yard) = Yard::new() else { return };
    let line = "echo x > $HOME/.cache/tool/x";
    let report = yard.attacked(line);
    assert!(!report.passed());
    yard.settings.write = vec!["~/.cache/tool".to_owned()];
    yard.run(line).passes();
    assert_eq!(fs::read_to_string(yard.path("home/.cache/tool/x")).unwrap(), "x\n");
}

#[test]
fn no_process_outlives_the_command_and_the_report_names_it() {
    let Some(yard) = Yard::new() else { return };
    let report =
        yard.run("(setsid sleep 987651 &) ; (sh -c 'setsid sleep 987651 & ' &) ; sleep 0.2");
    report.passes();
    assert!(report.0["left"].to_string().contains("sleep"), "{report:?}");
    assert!(!runs("987651"));
}

/// True if a process has this word in its command line.
fn runs(word: &str) -> bool {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = all.map(|entry| fs::read(entry.path().join("cmdline")).unwrap_or_default());
    lines.any(|line| String::from_utf8_lossy(&line).contains(word))
}

#[test]
fn everything_within_the_bounds_ends_with_a_supervisor_that_is_killed() {
    let Some(yard) = Yard::new() else { return };
    let (mut ralph, _stdin) = yard.start("setsid sleep 987652 & touch started; wait", |_| {});
    let until = Instant::now() + Duration::from_secs(60);
    let comes = |is_there: &dyn Fn() -> bool| {
        while !is_there() {
            assert!(Instant::now() < until);
            std::thread::yield_now();
        }
    };
    comes(&|| yard.path("project/started").exists() && runs("987652"));
    ralph.kill().unwrap();
    ralph.wait().unwrap();
    comes(&|| !runs("987652"));
}

#[test]
fn a_command_that_takes_too_long_is_all_that_is_named() {
    let Some(mut yard) = Yard::new() else { return };
    yard.deadline_ms = 3_000;
    let report = yard.run("sleep 600");
    assert_eq!(report.0["ended"], "deadline", "{report:?}");
    assert_eq!(report.0["left"], json!(["sleep"]), "{report:?}");
}

#[test]
fn the_first_process_inside_reaps_orphans_and_cannot_be_ended() {
    let Some(yard) = Yard::new() else { return };
    // Programs wait in this way for a daemon to end; a zombie would still be there.
    let waits = "pid=$(sh -c 'sleep 0.1 >/dev/null & echo $!'); n=0
        while kill -0 $pid 2>/dev/null; do n=$((n + 1)); test $n -lt 200 || exit 9; sleep 0.05; done";
    let report = yard.run(waits);
    report.passes();
    assert_eq!(report.0["left"], json!([]), "{report:?}");
    let report = yard.run("kill -9 1; kill -9 $PPID; kill -TERM 1; exit 3");
    assert_eq!(report.0["ended"], json!({"exited": 3}), "{report:?}");
}

#[test]
fn a_ralph_within_the_bounds_says_where_it_is() {
    let Some(yard) = Yard::new() else { return };
    let report = yard.run(&format!("{} status", executable("ralph")));
    assert!(report.tail().contains("in the client's sandbox"), "{report:?}");
}

#[test]
fn processes_outside_are_neither_seen_nor_ended() {
    let Some(yard) = Yard::new() else { return };
    let mut victim = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = victim.id();
    let report = yard.run(&format!("kill -9 {pid}; kill -9 -1"));
    assert!(!report.passed(), "{report:?}");
    let report =
        yard.run(&format!("ls /proc/{pid}/root && cat /proc/{pid}/environ; kill -0 {pid}"));
    assert!(!report.passed(), "{report:?}");
    // The first process inside holds the way out; the command can take nothing from it.
    let report =
        yard.run("cat /proc/$PPID/environ || cat /proc/$PPID/fd/0 || ls -l /proc/$PPID/fd/");
    assert!(!report.passed(), "{report:?}");
    assert!(victim.try_wait().unwrap().is_none(), "the victim was ended");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// Opens another process in each way in which one reads, writes or stops it: by `ptrace`, by
/// `process_vm_readv`, and by its files below `/proc`. Prints what succeeded.
const INTO_ANOTHER: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
class Vec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
def tried(what, way):
    try:
        if way(): print("GOT IN:", what)
    except OSError: pass
given = [int(one) for one in sys.argv[1:]]
for pid in given:
    for request, name in ((16, "PTRACE_ATTACH"), (0x4206, "PTRACE_SEIZE")):
        tried(f"{name} {pid}", lambda: libc.ptrace(request, pid, None, None) == 0)
    buffer = ctypes.create_string_buffer(16)
    ours, theirs = Vec(ctypes.cast(buffer, ctypes.c_void_p), 16), Vec(0x400000, 16)
    tried(f"process_vm_readv {pid}", lambda: libc.process_vm_readv(
        pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0) > 0)
    for name, mode in (("mem", "rb+"), ("environ", "rb"), ("maps", "rb"), ("fd/0", "rb")):
        tried(f"{name} {pid}", lambda: open(f"/proc/{pid}/{name}", mode, buffering=0).read(1) != b"")
    for name in ("root", "cwd"):
        tried(f"{name} {pid}", lambda: os.listdir(f"/proc/{pid}/{name}") or True)
    tried(f"pidfd_getfd {pid}", lambda: libc.syscall(438, os.pidfd_open(pid), 0, 0) >= 0)
print("tried", len(given))
"#;

#[test]
fn no_process_outside_and_not_the_one_that_holds_the_way_out_can_be_entered() {
    let Some(yard) = Yard::new() else { return };
    if !Command::new("python3").arg("--version").output().is_ok_and(|it| it.status.success()) {
        assert!(std::env::var_os("RALPH_REQUIRE_GATES").is_none(), "python3 is missing");
        eprintln!("SKIPPED: python3 is missing here");
        return;
    }
    fs::write(yard.path("project/enter.py"), INTO_ANOTHER).unwrap();
    let mut victim = Command::new("sleep").arg("600").spawn().unwrap();
    let (pid, us) = (victim.id(), std::process::id());
    // The attack works against a process of its own, so its silence means something.
    let own = yard.run("sleep 9 & python3 enter.py $!; kill $!");
    assert!(own.tail().contains("GOT IN: PTRACE_ATTACH"), "{own:?}");
    let report = yard.attacked(&format!("exec python3 enter.py {pid} {us} $PPID 1"));
    report.passes();
    assert!(report.tail().contains("tried 4") && !report.tail().contains("GOT IN"), "{report:?}");
    assert!(victim.try_wait().unwrap().is_none(), "the victim was ended");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert!(stat.contains(") S "), "the victim was stopped: {stat}");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn without_bubblewrap_nothing_runs_and_the_message_says_what_to_install() {
    let Some(yard) = Yard::new() else { return };
    let bin = yard.path("bin");
    fs::create_dir(&bin).unwrap();
    let report = yard.run_with("touch ran", |ralph| {
        ralph.env("PATH", &bin);
    });
    let why = report.0["ended"]["not_started"].as_str().unwrap();
    assert!(why.contains("could not find `bwrap`") && why.contains("apt install"), "{why}");
    assert!(!yard.path("project/ran").exists());
}

#[test]
fn a_git_hook_of_the_work_tree_runs_within_the_bounds_and_the_commit_is_made() {
    let Some(yard) = Yard::new() else { return };
    fs::create_dir_all(yard.path("project/.husky")).unwrap();
    fs::write(yard.path("project/.husky/pre-commit"), "#!/bin/sh\necho x > \"$HOME/new\"; echo x >> .git/config; cat \"$HOME/.ssh/id_rsa\" > stolen; touch hooked\n").unwrap();
    Command::new("chmod").arg("755").arg(yard.path("project/.husky/pre-commit")).status().unwrap();
    yard.git(&["config", "core.hooksPath", ".husky"]);
    fs::write(yard.path("project/a"), "b\n").unwrap();
    yard.git(&["add", "a"]);
    let report = yard.attacked("git commit -q -m second");
    report.passes();
    assert_eq!(yard.git(&["log", "--format=%s"]), "second\nfirst\n");
    assert!(yard.path("project/hooked").exists(), "the hook ran");
    assert_eq!(fs::read_to_string(yard.path("project/stolen")).unwrap(), "");
}

#[test]
fn a_commit_of_ralph_runs_the_hooks_within_the_bounds_and_reports_a_hook_that_refuses() {
    let Some(yard) = Yard::new() else { return };
    let hook = yard.path("project/.git/hooks/commit-msg");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let out = yard.text("home/new");
    let text = format!(
        "#!/bin/sh\necho x > {out}; sleep 987652 & grep -q fine \"$1\" || {{ echo not fine; exit 1; }}\n"
    );
    fs::write(&hook, text).unwrap();
    Command::new("chmod").arg("755").arg(&hook).status().unwrap();
    fs::write(yard.path("project/a"), "b\n").unwrap();
    yard.git(&["add", "a"]);
    let bounds = yard.bounds();
    let folder = yard.path("project");
    let files = commit::DirtyFiles::scan(&folder).unwrap();
    let order = |message| commit::CommitOrder {
        ralph: Path::new(executable("ralph")),
        top: &folder,
        files: &files,
        message,
        bounds: Some(&bounds),
    };
    let refused = commit::commit(&order("it's bad; $(touch x)")).unwrap_err();
    assert!(refused.to_string().contains("not fine"), "{refused:#}");
    let made = commit::commit(&order("it's fine; $(touch x)")).unwrap();
    assert!(made.attempts.join(" ").contains("it left `sleep`"), "{made:?}");
    assert_eq!(yard.git(&["log", "--format=%s", "-1"]), "it's fine; $(touch x)\n");
    assert!(!Path::new(&out).exists() && !yard.path("project/x").exists());
}

#[test]
fn a_commit_of_ralph_without_a_hook_starts_no_maintenance_and_reports_nothing() {
    let Some(yard) = Yard::new() else { return };
    for (name, value) in [("enabled", "true"), ("auto", "-1")] {
        yard.git(&["config", &format!("maintenance.commit-graph.{name}"), value]);
    }
    fs::write(yard.path("project/a"), "b\n").unwrap();
    let bounds = yard.bounds();
    let folder = yard.path("project");
    let made = commit::commit(&commit::CommitOrder {
        ralph: Path::new(executable("ralph")),
        top: &folder,
        files: &commit::DirtyFiles::scan(&folder).unwrap(),
        message: "second",
        bounds: Some(&bounds),
    });
    assert_eq!(made.unwrap().attempts, [""; 0]);
    assert!(!yard.path("project/.git/objects/info/commit-graphs").exists());
    assert_eq!(yard.git(&["log", "--format=%s", "-1"]), "second\n");
}

#[test]
fn honest_suites_pass_within_the_bounds() {
    let Some(mut yard) = Yard::new() else { return };
    let project = yard.path("project");
    let write = |path: &str, text: &str| {
        let path = project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    write(
        "src/lib.rs",
        "#[test]\nfn it_holds() { std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap(); }\n",
    );
    write("x.test.js", "require('node:test')('holds', () => {});\n");
    write("package.json", r#"{"name": "x", "scripts": {"test": "node --test"}}"#);
    write("go.mod", "module x\n\ngo 1.18\n");
    write("x_test.go", "package x\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n");
    write(
        "test_x.py",
        "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): pass\n",
    );
    // The user's own toolchains, wherever they are.
    let tools = |ralph: &mut Command| {
        for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME"] {
            match std::env::var_os(name) {
                Some(value) => ralph.env(name, value),
                None => ralph.env_remove(name),
            };
        }
        ralph.env_remove("CARGO_TARGET_DIR");
    };
    let mut lines = vec!["cargo test --offline"];
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    lines.extend(has("node").then_some("node --test"));
    lines.extend(has("npm").then_some("npm test"));
    lines.extend(has("python3").then_some("python3 -m unittest"));
    lines.extend(has("pytest").then_some("pytest -q"));
    for line in lines {
        let report = yard.run_with(line, tools);
        assert!(report.passed(), "{line}: {report:?}");
    }
    // Go compiles its library first.
    if crate::is_proof()
        && Command::new("go").arg("version").output().is_ok_and(|it| it.status.success())
    {
        // The guide names this folder. Go makes its cache below the home.
        let refused = yard.run("go test ./...");
        assert!(refused.refused().contains("go-build"), "{refused:?}");
        yard.settings.write = vec!["~/.cache/go-build".to_owned()];
        yard.run("go test ./...").passes();
    }
}

/// A filter of the user's that runs a file of the work tree, and one that a repository inside of the
/// work tree names itself, both written by the model.
fn plant_filters(world: &World) {
    let git = |folder: &Path, arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
        let output =
            git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let project = world.project();
    let script =
        |name: &str| format!("#!/bin/sh\ntouch {}\ncat\n", world.root().join(name).display());
    fs::write(
        world.root().join("home/.gitconfig"),
        "[filter \"mine\"]\nclean = sh ./clean.sh\nsmudge = cat\nrequired = true\n",
    )
    .unwrap();
    world.write("clean.sh", &script("escaped-user"));
    world.write("filtered", "one\n");
    let _ = git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "first"]);
    world.write(".gitattributes", "filtered filter=mine\n");
    world.write("filtered", "two\n");
    let inner = project.join("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "-q", "-b", "main"]);
    fs::write(inner.join("f"), "x\n").unwrap();
    git(&inner, &["add", "-A"]);
    git(&inner, &["commit", "-q", "-m", "first"]);
    let head = git(&inner, &["rev-parse", "HEAD"]);
    fs::write(inner.join("clean.sh"), script("escaped-inner")).unwrap();
    git(&inner, &["config", "filter.evil.clean", "sh ./clean.sh"]);
    fs::write(inner.join(".gitattributes"), "* filter=evil\n").unwrap();
    fs::write(inner.join("f"), "y\n").unwrap();
    git(&project, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},inner")]);
}

/// The filters that had an effect.
fn escaped(world: &World) -> Vec<&'static str> {
    let is_there = |name: &&&str| world.root().join(name).exists();
    ["escaped-user", "escaped-inner"].iter().filter(is_there).copied().collect()
}

#[test]
fn in_a_sandboxed_loop_git_runs_no_filter_that_the_work_tree_chooses() {
    if Yard::new().is_none() {
        return;
    }
    for is_bounded in [true, false] {
        let world = World::looping("--ac 'it is done=test -e filtered'");
        plant_filters(&world);
        if is_bounded {
            bind(&world);
        }
        // Takes the fingerprint and the tree id, and makes a checkpoint.
        let ran = world.elsewhere(&["verify"]);
        assert!(ran.success, "{ran:?}");
        // Without a sandbox, the user's own filters run, as git runs them.
        let expected: &[&str] = if is_bounded { &[] } else { &["escaped-user"] };
        assert_eq!(escaped(&world), expected, "{ran:?}");
    }
}

#[test]
fn in_a_sandboxed_round_the_facts_and_the_fingerprint_run_no_filter() {
    let world = World::looping("--ac 'it is done=test -e nothing'");
    plant_filters(&world);
    let facts = |is_bounded: bool| {
        let mut ralph = Command::new(executable("ralph"));
        ralph.arg("context").current_dir(world.project()).env("HOME", world.root().join("home"));
        ralph.env("RALPH_HOME", world.ralph_home());
        if is_bounded {
            ralph.env("RALPH_SANDBOXED", "1");
        }
        let printed = ralph.output().unwrap();
        assert!(printed.status.success(), "{printed:?}");
        String::from_utf8(printed.stdout).unwrap()
    };
    assert!(facts(true).contains("filtered"), "git still tells what changed");
    assert_eq!(escaped(&world), [""; 0]);
    facts(false);
    assert_eq!(escaped(&world), ["escaped-user"], "the same without a sandbox runs it");
}

/// The bounds of this world's loop, which nothing but the project and Ralph's home decide.
fn bind(world: &World) -> Value {
    let bounds = Bounds::from_input(&BoundsInput {
        project_root: world.project().to_str().unwrap(),
        home: "/nonexistent",
        ralph_home: world.ralph_home().to_str().unwrap(),
        ralph_config: "/nonexistent",
        client_config: "/nonexistent",
        ..BoundsInput::default()
    });
    let bounds = serde_json::to_value(&bounds).unwrap();
    world.edit_state(|state| state["bounds"] = bounds.clone());
    bounds
}

#[test]
fn the_checks_of_an_edit_run_within_the_bounds_of_the_loop() {
    if Yard::new().is_none() {
        return;
    }
    let world = World::looping("--ac 'it is done=test -e in'");
    bind(&world);
    world.settings(
        "[[backpressure.check]]\nname = \"own\"\nfiles = [\"*.x\"]\nparse = \"plain\"\n\
         command = \"echo ran >ran; touch /usr/escaped-by-a-check {file}; false\"\n",
    );
    world.write("a.x", "x");
    let file = world.project().join("a.x");
    let ran = world.ralph(&["check", file.to_str().unwrap()]);
    assert!(world.project().join("ran").exists(), "{ran:?}");
    assert!(!Path::new("/usr/escaped-by-a-check").exists(), "{ran:?}");
}

#[test]
fn ralph_verify_runs_the_criteria_within_the_bounds_of_the_loop_and_says_what_they_hit() {
    if Yard::new().is_none() {
        return;
    }
    let world = World::looping("--ac 'it is done=test -e in || touch /usr/escaped in'");
    let bounds = bind(&world);
    let ran = world.elsewhere(&["verify"]);
    let said = format!("{ran:?}");
    assert!(said.contains("may not write `/usr/escaped`"), "{said}");
    assert!(!Path::new("/usr/escaped").exists());
    assert_eq!(world.state()["bounds"], bounds);
}
