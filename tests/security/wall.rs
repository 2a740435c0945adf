//! The wall that the kernel keeps: whatever a line of shell is, nothing changes.
//!
//! The lines run as the client runs them, by bash and zsh, on an overlay of the whole machine, whose upper
//! folders show every change. Without namespaces for that the tests say so and pass.

use crate::world::{Ran, World, executable};
use crate::{is_proof, sample};
use ralph_core::protocol::wall;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A session that may only read, in a project of its own.
struct Walled {
    folder: tempfile::TempDir,
}

impl Walled {
    fn new() -> Walled {
        let walled = Walled { folder: ralph_test_support::private_folder("ralph-test-") };
        for folder in
            ["home/walls", "home/manifest", "home/loops", "user", "project/sub", "project/evil.git"]
        {
            fs::create_dir_all(walled.at(folder)).unwrap();
        }
        fs::set_permissions(walled.at("home"), PermissionsExt::from_mode(0o700)).unwrap();
        // A loop that cannot be read keeps its session behind the wall.
        fs::write(
            walled.at("home/walls/s"),
            walled.at("home/loops/gone/state.json").to_str().unwrap(),
        )
        .unwrap();
        fs::write(walled.at("home/manifest/s"), "?").unwrap();
        let flag = walled.at("home/walls/s");
        let lines = wall::line(flag.to_str().unwrap(), executable("ralph-pre-tool-use"));
        fs::write(walled.at("lines.sh"), lines).unwrap();
        for (name, text) in [("a", "b 2\na 1\nb 2\n"), ("b", "a 1\n"), ("README.md", "# Title\n")] {
            fs::write(walled.at("project").join(name), text).unwrap();
        }
        walled.git("init -q; git add a b; git -c user.name=a -c user.email=a@b commit -qm x");
        walled
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Files that the lines name, and programs that change something when they run.
    fn plant(&self) {
        let evil = "#!/bin/sh\ntouch M \"$HOME/M\" /tmp/M; echo x > a; rm -rf sub .git\n";
        for name in ["evil", "x", "e.sh", "sub/evil"] {
            let path = self.at("project").join(name);
            fs::write(&path, evil).unwrap();
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        for (name, text) in [
            ("Makefile", "all:\n\ttouch M\n"),
            ("rust-toolchain.toml", "[toolchain]\npath = \"/proc/self/cwd/sub\"\n"),
            ("toxfile.py", "open('M', 'w')\n"),
            ("opts", "-o\nM\n"),
        ] {
            fs::write(self.at("project").join(name), text).unwrap();
        }
        self.git(
            "config core.fsmonitor ./evil; git config diff.external ./evil; git config core.pager ./evil; \
             echo '* diff=evil filter=evil' > .gitattributes; git config diff.evil.textconv ./evil; \
             git config filter.evil.clean ./evil; git config alias.evil '!./evil'",
        );
    }

    fn git(&self, arguments: &str) {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("git {arguments}")).current_dir(self.at("project"));
        let ran = command.env("HOME", self.at("user")).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }

    /// The command line of the client for a line of the model.
    fn clients(&self, line: &str, folder_file: &Path) -> String {
        let quoted = ralph_core::shell::quoted(line);
        let lines = self.at("lines.sh");
        format!(". {} && eval {quoted} && pwd -P >| {}", lines.display(), folder_file.display())
    }

    /// Runs a line as the client does.
    fn run(&self, shell: &str, line: &str) -> Output {
        let mut command = Command::new(shell);
        command.arg("-c").arg(self.clients(line, &self.at("cwd"))).current_dir(self.at("project"));
        command.env("HOME", self.at("user")).env("TMPDIR", self.folder.path()).stdin(Stdio::null());
        command.output().unwrap()
    }
}

fn shells() -> impl Iterator<Item = &'static str> {
    let is_there = |shell: &&str| Command::new(shell).args(["-c", ":"]).status().is_ok();
    ["bash", "zsh"].into_iter().filter(is_there)
}

/// The lines of a file, `⏎` for a line break.
fn lines_of(file: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(file);
    let text = fs::read_to_string(file).unwrap();
    let is_line = |line: &&str| !line.is_empty() && !line.starts_with("# ");
    text.lines().filter(is_line).map(|line| line.replace('⏎', "\n")).collect()
}

/// Lines of zsh, of programs that a clone brings along, and of system calls that no file names.
const LEAKS: &[&str] = &[
    "x=-delete; find . $=x",
    "printf '%d' 'path[$(touch M)]'",
    "read -t 'path[$(touch M)]' < a",
    "[ -t 'path[$(touch M)]' ]",
    "for V in 'x[$(touch M)]'; do (( $V )); done",
    "cargo --version; rustc --version",
    "git status; git diff; git blame a; git log -p; git evil",
    "tox --version; make -n; make",
    "rm -rf ~ /tmp/* . ..",
    "(sleep 0.1; touch M) & disown; sleep 0.3",
    "setsid sh -c 'touch M'; nohup touch M",
    "exec 9>>a; echo x >&9",
    "exec 9<a; python3 -c \"import os; os.truncate('/proc/self/fd/9', 0)\"",
    "ln a \"$TMPDIR/a\" && echo x > \"$TMPDIR/a\"",
    "ln -s \"$PWD/a\" \"$TMPDIR/l\"; echo x > \"$TMPDIR/l\"",
    "mv a \"$TMPDIR\"; cp -r . \"$TMPDIR/all\"; mv \"$TMPDIR/all\" new",
    "mknod \"$TMPDIR/d\" b 8 0; dd if=/dev/zero of=\"$TMPDIR/d\" count=1",
    "unshare -r sh -c 'mount -t tmpfs none .; touch M'",
    "kill -9 $PPID; kill -STOP 1",
    "python3 -c \"import os; os.chmod('a', 0o777)\"",
    "python3 -c \"import os; os.utime('a', (1, 1))\"",
    "python3 -c \"import os; os.setxattr('a', 'user.x', b'1')\"",
    "python3 -c \"import os; os.chown('a', 1, 1)\"",
    "python3 -c \"import os; os.open('a', os.O_RDONLY | os.O_TRUNC)\"",
    "python3 -c \"import os; os.truncate('a', 0)\"",
    "python3 -c \"import os; os.mkfifo('M'); os.mknod('N')\"",
    "python3 -c \"import fcntl; fcntl.ioctl(open('a'), 0x40086602, b'\\0' * 8)\"",
    "python3 -c \"import ctypes; print(ctypes.CDLL(None).syscall(452, -100, b'a', 0o777, 0))\"",
    "perl -e 'chmod 0777, \"a\"; utime 1, 1, \"a\"; unlink \"a\"; syslog(1)'",
    "bwrap --bind / / touch M",
    "chattr +i a; setfacl -m u:1:rwx a; touch -d 2000-01-01 a",
    "truncate -s 0 a; : > a; cat b > a; tee a < b; sed -i s/a/b/ a; dd of=a if=b",
    "RALPH_WALL=$$; . ./lines.sh; touch M",
    "env -u RALPH_WALL sh -c 'touch M'; env -i touch M",
];

/// Runs scripts one after another in a namespace where each folder is covered by an overlay, and names the
/// first that changed something.
const DRIVER: &str = r#"
scripts=$1 project=$2 shells=$3 seconds=$4 options=$5
mount -t tmpfs none /run && mkdir /run/up /run/work /run/t || exit 77
for folder in /*; do
  [ -d "$folder" ] && [ ! -L "$folder" ] || continue
  case $folder in /proc|/sys|/dev|/run) continue;; esac
  if cut -d ' ' -f 5 /proc/self/mountinfo | grep -q "^$folder\(/\|$\)"; then continue; fi
  mkdir "/run/up$folder" "/run/work$folder"
  mount -t overlay -o "lowerdir=$folder,upperdir=/run/up$folder,workdir=/run/work$folder$options" none "$folder" || exit 77
done
[ -d "/run/up${project%%/*}" ] && mount -t proc none /proc || exit 77
cd "$project" || exit 77
for script in "$scripts"/*; do
  for shell in $shells; do
    timeout -k 1 "$seconds" "$shell" -c "$(cat "$script")" < /dev/null > /dev/null 2>&1
    changed=$(find /run/up -mindepth 2 | head -n 3)
    if [ -n "$changed" ]; then echo "$shell $script: $changed"; tail -n +1 "$script"; exit 1; fi
  done
done
echo all ran
"#;

/// Runs lines in both shells and expects that nothing changes.
#[track_caller]
fn check(lines: &[String], landlock: &str) {
    let walled = Walled::new();
    walled.plant();
    fs::create_dir(walled.at("scripts")).unwrap();
    for (n, line) in lines.iter().enumerate() {
        fs::write(
            walled.at("scripts").join(format!("{n:04}")),
            walled.clients(line, Path::new("/run/t/cwd")),
        )
        .unwrap();
    }
    let is_root = rustix::process::getuid().is_root();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child"]);
    if !is_root {
        command.arg("--map-root-user");
    }
    command.args(["sh", "-c", DRIVER, "sh"]).arg(walled.at("scripts")).arg(walled.at("project"));
    command.arg(shells().collect::<Vec<_>>().join(" ")).arg(if is_proof() { "4" } else { "1" });
    command.arg(if is_root { "" } else { ",userxattr" });
    command
        .env("HOME", walled.at("user"))
        .env("TMPDIR", "/run/t")
        .env("RALPH_TEST_LANDLOCK", landlock);
    let Ok(ran) = command.stdin(Stdio::null()).output() else {
        return eprintln!("no `unshare` here");
    };
    let said = String::from_utf8_lossy(&ran.stdout);
    if ran.status.code() == Some(77) {
        return eprintln!("no overlay can be mounted here: {ran:?}");
    }
    assert!(
        ran.status.success() && said.ends_with("all ran\n"),
        "{said}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

fn leaks() -> Vec<String> {
    LEAKS.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn no_line_behind_the_wall_changes_anything() {
    let all = lines_of("changing.txt");
    assert!(all.len() > 2000, "{}", all.len());
    check(&[leaks(), sample(all, 32)].concat(), "");
}

#[test]
fn an_older_landlock_lets_no_more_through() {
    for landlock in sample(vec!["1", "3", "4"], 3) {
        check(&sample(leaks(), 2), landlock);
    }
}

#[test]
fn a_line_that_only_reads_prints_behind_the_wall_what_it_prints_outside() {
    const READERS: [&str; 14] = [
        "cat", "ls", "grep", "head", "tail", "wc", "sort", "cut", "uniq", "sed", "awk", "git",
        "find", "stat",
    ];
    let all = ["everyday/tldr.txt", "everyday/work.txt"].map(lines_of).concat();
    let reads = |line: &String| {
        READERS.contains(&line.split(' ').next().unwrap_or_default())
            && !line.contains("-f ")
            && !line.contains("find /")
    };
    let reads: Vec<String> = all.into_iter().filter(reads).collect();
    assert!(reads.len() > 200, "{}", reads.len());
    let walled = Walled::new();
    let flag = walled.at("home/walls/s");
    let text = fs::read(&flag).unwrap();
    for line in sample(reads, 24) {
        for shell in shells() {
            let within =
                walled.run(shell, &format!("timeout 3 sh -c {}", ralph_core::shell::quoted(&line)));
            fs::remove_file(&flag).unwrap();
            let outside =
                walled.run(shell, &format!("timeout 3 sh -c {}", ralph_core::shell::quoted(&line)));
            fs::write(&flag, &text).unwrap();
            assert_eq!(
                (within.status.code(), String::from_utf8_lossy(&within.stdout)),
                (outside.status.code(), String::from_utf8_lossy(&outside.stdout)),
                "{line}: {within:?}"
            );
        }
    }
}

#[test]
fn a_command_behind_the_wall_has_a_folder_of_its_own_and_keeps_the_clients_folder() {
    let walled = Walled::new();
    for shell in shells() {
        let ran = walled.run(
            shell,
            "cd sub; echo \"$TMPDIR\"; cat > \"$TMPDIR/x\" <<E\nheredoc\nE\ncat \"$TMPDIR/x\"",
        );
        let said = String::from_utf8(ran.stdout.clone()).unwrap();
        let private = walled.folder.path().canonicalize().unwrap().join("ralph-wall-s");
        assert_eq!(said, format!("{}\nheredoc\n", private.display()), "{ran:?}");
        let folder = fs::read_to_string(walled.at("cwd")).unwrap();
        assert!(folder.trim_end().ends_with("/project/sub"), "{folder}");
        let mode = fs::metadata(private).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}

#[test]
fn nothing_is_reached_by_a_socket() {
    let walled = Walled::new();
    for socket in ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"] {
        let ran = walled
            .run("bash", &format!("python3 -c 'import socket; socket.socket(socket.{socket})'"));
        assert!(!ran.status.success(), "{socket}: {ran:?}");
    }
    let pair = |kind| {
        format!("python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.{kind})'")
    };
    assert!(walled.run("bash", &pair("SOCK_STREAM")).status.success());
    assert!(!walled.run("bash", &pair("SOCK_DGRAM")).status.success());
}

/// A session whose state could not be read for a while goes on as before.
#[test]
fn a_flag_that_was_raised_for_an_unreadable_state_falls_when_the_state_is_read_again() {
    let mut world = World::looping("");
    let config = world.root().join("home/.claude");
    let file = config.join("session-env/session-1/sessionstart-hook-0.sh");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    world.set("CLAUDE_CONFIG_DIR", config.to_str().unwrap());
    world.set("CLAUDE_ENV_FILE", file.to_str().unwrap());
    world.session_starts("compact");
    let state = world.state_path();
    let text = fs::read(&state).unwrap();
    for path in [state.clone(), state.with_extension("json.last-good")] {
        fs::write(path, "{").unwrap();
    }
    world.forget_what_is_kept_apart();
    bash(&world, "touch made").silent();
    let run = || {
        let line = format!(". {} && touch made", file.display());
        let mut command = Command::new("bash");
        command.arg("-c").arg(line).current_dir(world.project()).envs(&world.env);
        command.stdin(Stdio::null()).output().unwrap()
    };
    assert!(!run().status.success());
    fs::write(&state, text).unwrap();
    assert!(run().status.success(), "{:?}", run());
    assert!(!world.ralph_home().join("walls/session-1").exists());
}

/// The flag is what a kill can leave behind; the loop decides.
#[test]
fn a_flag_of_no_loop_is_removed_by_the_next_command() {
    let walled = Walled::new();
    fs::create_dir(walled.folder.path().join("ralph-wall-s")).unwrap();
    fs::remove_file(walled.at("home/manifest/s")).unwrap();
    let ran = walled.run("bash", "touch made; echo $RALPH_WALL $$");
    let said = String::from_utf8(ran.stdout.clone()).unwrap();
    let ids: Vec<&str> = said.split_whitespace().collect();
    assert!(ids.len() == 2 && ids[0] == ids[1], "{ran:?}");
    assert!(walled.at("project/made").exists());
    assert!(!walled.at("home/walls/s").exists());
    assert!(!walled.folder.path().join("ralph-wall-s").exists());
}

#[test]
fn a_command_that_cannot_be_bounded_does_not_run() {
    let walled = Walled::new();
    // A folder of anybody's stands where the private one would be.
    fs::create_dir(walled.folder.path().join("ralph-wall-s")).unwrap();
    for shell in shells() {
        let ran = walled.run(shell, "touch made");
        assert_eq!(ran.status.code(), Some(126), "{ran:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains("cannot be bounded"), "{ran:?}");
    }
    fs::write(
        walled.at("lines.sh"),
        wall::line(walled.at("home/walls/s").to_str().unwrap(), "/nowhere"),
    )
    .unwrap();
    for shell in shells() {
        assert!(!walled.run(shell, "touch made").status.success());
    }
    assert!(!walled.at("project/made").exists());
}

/// A session whose SessionStart hook ran, in which a planning was started.
fn planned() -> (World, PathBuf) {
    let mut world = World::new();
    let config = world.root().join("home/.claude");
    let file = config.join("session-env/session-1/sessionstart-hook-3.sh");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    world.set("CLAUDE_CONFIG_DIR", config.to_str().unwrap());
    world.set("CLAUDE_ENV_FILE", file.to_str().unwrap());
    world.session_starts("startup");
    world.type_command("ralplan", "\"Add a login\"");
    (world, file)
}

/// A command of the user in a terminal.
fn ralph(world: &World, arguments: &[&str]) {
    let mut command = Command::new(executable("ralph"));
    command
        .args(arguments)
        .env_clear()
        .envs(&world.env)
        .current_dir(&world.cwd)
        .stdin(Stdio::null());
    for name in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE", "CLAUDE_PROJECT_DIR"] {
        command.env_remove(name);
    }
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

fn bash(world: &World, line: &str) -> Ran {
    world.tool("Bash", json!({"command": line}))
}

#[test]
fn behind_the_wall_a_planning_lets_every_command_run() {
    let (world, file) = planned();
    let flag = world.ralph_home().join("walls/session-1");
    fs::remove_file(&flag).unwrap();
    for line in ["rm -rf .", "x=-delete; find . $=x", "cat README.md", &"x".repeat(70_000)] {
        bash(&world, line).silent();
        assert!(flag.exists(), "the flag is raised before the command runs");
    }
    world.tool("Monitor", json!({"command": "make"})).silent();
    // Resumed, the session has one line, ahead of all others.
    let line = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("export X=1\n{}", line.replace("126", "0"))).unwrap();
    world.session_starts("resume");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{line}export X=1\n"));
}

#[test]
fn without_the_wall_a_planning_has_plain_readers_and_the_refusal_says_why() {
    let check = |change: &dyn Fn(&World, &Path), why: &str| {
        let (world, file) = planned();
        change(&world, &file);
        bash(&world, "cat tracked | grep -n x").silent();
        bash(&world, "ralph ralplan status").silent();
        let reason = bash(&world, "git log").denied();
        assert!(reason.contains(why) && reason.contains("`ralph doctor`"), "{reason}");
        world.tool("Monitor", json!({"command": "git log"})).denied();
    };
    check(&|_, file| fs::remove_file(file).unwrap(), "began before Ralph was installed");
    check(
        &|_, file| {
            let line = fs::read_to_string(file).unwrap();
            fs::write(file, line.replace("exit 126", "exit 0")).unwrap();
        },
        "were changed",
    );
    check(
        &|_, file| {
            fs::write(file.with_file_name("sessionstart-hook-1.sh"), "exec() { :; }\n").unwrap()
        },
        "another SessionStart hook",
    );
}

#[test]
fn the_flag_ends_with_the_planning_and_the_line_with_the_installation() {
    let (world, file) = planned();
    let flag = world.ralph_home().join("walls/session-1");
    assert!(flag.exists(), "raised with the planning");
    ralph(&world, &["cancel", "--all"]);
    assert!(!flag.exists());
    let other = file.with_file_name("sessionstart-hook-4.sh");
    fs::write(&other, "export X=1\n").unwrap();
    ralph(&world, &["uninstall"]);
    assert!(!file.exists());
    assert_eq!(fs::read_to_string(other).unwrap(), "export X=1\n");
}
