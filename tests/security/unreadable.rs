//! A session whose loop cannot be read stays bound: it may only read until a person repairs the state or
//! ends the loop, and the loop still reaches a typed ending.
//!
//! Each kind of damage is done to a copy of the same home, in each mode, and met by the executables. They
//! run without root's right to read everything.

use crate::world::{Ran, World, executable, run};
use crate::{planning, sample};
use ralph_test_support::sample::one_in;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// How far the damage goes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Left {
    /// A sound copy, or a sound state, is left: the rules of the mode go on.
    Rules,
    /// Nothing sound is left: the session may only read.
    Reading,
}

struct Damage {
    name: String,
    left: Left,
    /// False where this user cannot do it.
    done: fn(&Scene, &Path) -> bool,
    target: fn(&Scene) -> Vec<PathBuf>,
}

/// A session in one mode, and its home as it was before any damage.
struct Scene {
    mode: &'static str,
    world: World,
    state: PathBuf,
}

fn copy_of_state(scene: &Scene) -> PathBuf {
    scene.state.with_extension("json.last-good")
}

fn spoil(path: &Path, text: &[u8]) -> bool {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    true
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    let mut state: Value = serde_json::from_str(&text).unwrap();
    change(&mut state);
    spoil(path, state.to_string().as_bytes())
}

fn mode(path: &Path, mode: u32) -> bool {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).is_ok()
}

fn replaced(path: &Path, make: impl FnOnce(&Path)) -> bool {
    fs::remove_file(path).unwrap();
    make(path);
    true
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

type How = (&'static str, fn(&Scene, &Path) -> bool);

/// What may happen to a file.
const FILE: [How; 24] = [
    ("removed", |_, path| fs::remove_file(path).is_ok()),
    ("renamed", |_, path| fs::rename(path, path.with_extension("moved")).is_ok()),
    ("emptied", |_, path| spoil(path, b"")),
    ("cut in half", |_, path| {
        let text = fs::read(path).unwrap();
        spoil(path, &text[..text.len() / 2])
    }),
    ("without its last brace", |_, path| {
        let text = fs::read(path).unwrap();
        spoil(path, &text[..text.len() - 3])
    }),
    ("an empty object", |_, path| spoil(path, b"{}\n")),
    ("a list", |_, path| spoil(path, b"[]")),
    ("null", |_, path| spoil(path, b"null")),
    ("bytes that are no text", |_, path| spoil(path, &[0xff; 4096])),
    ("zeros", |_, path| spoil(path, &[0; 4096])),
    ("two documents", |_, path| {
        let text = fs::read(path).unwrap();
        spoil(path, &[&text[..], &text].concat())
    }),
    ("a wrong type", |_, path| edit(path, |state| state["iteration"] = json!({"a": 1}))),
    ("an unknown phase", |_, path| edit(path, |state| state["phase"] = json!("resting"))),
    ("an unknown mode", |_, path| edit(path, |state| state["mode"] = json!("mine"))),
    ("no loop id", |_, path| edit(path, |state| state["loop_id"] = json!(""))),
    ("no session", |_, path| edit(path, |state| state["session_id"] = json!(""))),
    ("another session", |_, path| edit(path, |state| state["session_id"] = json!("other"))),
    ("writable by a group", |_, path| mode(path, 0o620)),
    ("writable by all", |_, path| mode(path, 0o666)),
    ("not readable", |_, path| mode(path, 0o000)),
    ("another user's", |_, path| chown(path, Some(65534), None).is_ok()),
    ("a link", |_, path| {
        let elsewhere = path.with_extension("elsewhere");
        fs::rename(path, &elsewhere).unwrap();
        symlink(elsewhere, path).is_ok()
    }),
    ("a pipe", |_, path| replaced(path, fifo)),
    ("a folder", |_, path| replaced(path, |path| fs::create_dir(path).unwrap())),
];

/// What may happen to a state alone, and must not be made undone by its copy.
const NEWER: [How; 2] = [
    ("of a newer schema", |_, path| edit(path, |state| state["schema_version"] = json!(9))),
    ("of a newer schema with other types", |_, path| {
        spoil(path, b"{\"schema_version\":9,\"phase\":[]}")
    }),
];

/// What may happen to a folder.
const FOLDER: [How; 7] = [
    ("removed", |_, path| fs::remove_dir_all(path).is_ok()),
    ("renamed", |scene, path| fs::rename(path, scene.world.root().join("moved")).is_ok()),
    ("writable by all, with all that is in it", |_, path| {
        Command::new("chmod").args(["-R", "go+w"]).arg(path).status().unwrap().success()
    }),
    ("closed", |_, path| mode(path, 0o000)),
    ("another user's, with all that is in it", |_, path| {
        Command::new("chown").args(["-R", "65534"]).arg(path).output().unwrap().status.success()
    }),
    ("a file", |_, path| {
        fs::remove_dir_all(path).unwrap();
        fs::write(path, "").is_ok()
    }),
    ("a link that leads nowhere", |_, path| {
        fs::remove_dir_all(path).unwrap();
        symlink("nowhere", path).is_ok()
    }),
];

const ENTRY: [How; 10] = [
    ("emptied", |_, path| spoil(path, b"")),
    ("a relative path", |_, path| spoil(path, b"state.json\n")),
    ("a path to nothing", |scene, path| {
        let nowhere = scene.world.root().join("nowhere/state.json");
        spoil(path, format!("{}\n", nowhere.display()).as_bytes())
    }),
    ("a path to another file", |_, path| spoil(path, b"/etc/passwd\n")),
    ("bytes that are no path", |_, path| spoil(path, b"/\0\xff\n")),
    ("writable by all", |_, path| mode(path, 0o666)),
    ("not readable", |_, path| mode(path, 0o000)),
    ("a link", |_, path| replaced(path, |path| symlink("nowhere", path).unwrap())),
    ("a pipe", |_, path| replaced(path, fifo)),
    ("a folder", |_, path| replaced(path, |path| fs::create_dir(path).unwrap())),
];

fn damages() -> Vec<Damage> {
    type Target = fn(&Scene) -> Vec<PathBuf>;
    let mut all = Vec::new();
    let mut add = |what: &str, hows: &[How], left: Left, target: Target| {
        all.extend(hows.iter().map(|(how, done)| Damage {
            name: format!("{what}: {how}"),
            left,
            done: *done,
            target,
        }));
    };
    add("state and copy", &FILE, Left::Reading, |at| vec![at.state.clone(), copy_of_state(at)]);
    add("state", &FILE[..4], Left::Rules, |at| vec![at.state.clone()]);
    add("state", &FILE[18..], Left::Rules, |at| vec![at.state.clone()]);
    add("state", &NEWER, Left::Reading, |at| vec![at.state.clone()]);
    add("folder of the loop", &FOLDER, Left::Reading, |at| {
        vec![at.state.parent().unwrap().to_owned()]
    });
    add("folder of loops", &FOLDER[..3], Left::Reading, |at| {
        vec![at.world.ralph_home().join("loops")]
    });
    add("home", &FOLDER[2..3], Left::Reading, |at| vec![at.world.ralph_home()]);
    add("entry", &ENTRY, Left::Rules, |at| vec![at.world.entry()]);
    all
}

/// Damage to several of the two at once is done to the state first.
fn damage(scene: &Scene, damage: &Damage) -> bool {
    // Otherwise the loop is restored and pauses: `tests/hooks/tampered.rs`.
    scene.world.forget_what_is_kept_apart();
    (damage.target)(scene).iter().all(|path| {
        // Not every state has been written twice.
        path.symlink_metadata().is_err() && path == &copy_of_state(scene)
            || (damage.done)(scene, path)
    })
}

impl Scene {
    fn new(mode: &'static str) -> Scene {
        let world = match mode {
            "loop" => World::looping(""),
            "before the verdict" => planning::in_review(),
            "after the verdict" => planning::awaiting(),
            "session" => {
                let world = World::new();
                world.type_command("ralph-v2", "\"Build a door\"");
                world
            }
            _ => {
                let world = World::new();
                world.write("plan.md", "# Plan\n\n1. Do it\n");
                let said = world.ralph(&["refine", "begin", "--plan", "plan.md"]);
                assert!(said.success, "{said:?}");
                world
            }
        };
        let scene = Scene { mode, state: world.state_path(), world };
        if !copy_of_state(&scene).exists() {
            fs::copy(&scene.state, copy_of_state(&scene)).unwrap();
        }
        scene.copy("ralph", "kept");
        scene
    }

    fn copy(&self, from: &str, to: &str) {
        let root = self.world.root();
        let copied = Command::new("cp").arg("-a").arg(root.join(from)).arg(root.join(to)).status();
        assert!(copied.unwrap().success());
    }

    /// The home as it was before any damage.
    fn repair(&self) {
        let home = self.world.ralph_home();
        self.world.forget_what_is_kept_apart();
        Command::new("chmod").args(["-R", "u+rwx"]).arg(&home).output().unwrap();
        fs::remove_dir_all(&home).unwrap();
        self.copy("kept", "ralph");
        let _ = fs::remove_dir_all(self.world.root().join("moved"));
        fs::write(self.world.project().join("plan.md"), "# Plan\n\n1. Do it\n").unwrap();
    }

    fn hook(&self, name: &str, payload: &Value) -> Ran {
        let words = [UNPRIVILEGED, &[executable(name)]].concat();
        run(self.world.wrapped(&words), name, payload.to_string().as_bytes())
    }

    fn tool(&self, tool: &str, input: Value) -> Ran {
        let members = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "t"});
        self.hook("ralph-pre-tool-use", &self.world.payload("PreToolUse", members))
    }

    fn bash(&self, line: &str) -> Ran {
        self.tool("Bash", json!({"command": line}))
    }

    fn is_denied(ran: &Ran) -> bool {
        ran.json()["hookSpecificOutput"]["permissionDecision"] == "deny"
    }

    /// What no mode lets through.
    fn forbidden_always(&self, at: usize) -> Ran {
        let home = self.world.ralph_home().display().to_string();
        let all: [&dyn Fn() -> Ran; 3] = [
            &|| self.tool("Write", json!({"file_path": self.state, "content": "{}"})),
            &|| self.bash(&format!("rm -rf {home}")),
            &|| self.bash(&format!("echo x > {}", self.state.display())),
        ];
        all[at % all.len()]()
    }

    /// What changes something, and is refused where only reading is allowed.
    fn changes(&self, at: usize) -> Ran {
        let file = self.world.project().join("x");
        let all: [&dyn Fn() -> Ran; 5] = [
            &|| self.tool("Write", json!({"file_path": file, "content": "x"})),
            &|| self.bash("touch x"),
            &|| self.bash("s=$(ls); rm $s"),
            &|| self.tool("mcp__files__write", json!({"path": file})),
            &|| self.tool("Agent", json!({"subagent_type": "general-purpose", "prompt": "x"})),
        ];
        all[at % all.len()]()
    }

    fn reads(&self, at: usize) -> Ran {
        let file = self.world.project().join("tracked");
        let all: [&dyn Fn() -> Ran; 3] = [
            &|| self.tool("Read", json!({"file_path": file})),
            &|| self.bash("cat tracked | head -n 1"),
            &|| self.bash("ls -la"),
        ];
        all[at % all.len()]()
    }

    fn stop(&self, message: &str) -> Ran {
        let members = json!({"last_assistant_message": message, "stop_hook_active": false,
            "background_tasks": [], "session_crons": []});
        self.hook("ralph-stop-hook", &self.world.payload("Stop", members))
    }

    fn typed_cancel(&self) -> Ran {
        self.typed("ralph-cancel", "")
    }

    fn typed(&self, name: &str, args: &str) -> Ran {
        let members = json!({"expansion_type": "slash_command", "command_name": name,
            "command_args": args, "command_source": "userSettings",
            "prompt": format!("/{name} {args}"), "prompt_id": format!("{name} {args}")});
        self.hook("ralph-user-prompt", &self.world.payload("UserPromptExpansion", members))
    }

    fn command_line_cancel(&self) -> String {
        self.command_line(&["cancel", "--session", "session-1"])
    }

    /// A command of a person, in another terminal.
    fn command_line(&self, args: &[&str]) -> String {
        let words = [UNPRIVILEGED, &[executable("ralph")], args].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env_clear().envs(&self.world.env).current_dir(&self.world.cwd);
        for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE"] {
            command.env_remove(variable);
        }
        let output = command.output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    }
}

/// In front of a program that root's right to read and write everything is taken from.
const UNPRIVILEGED: &[&str] = &["setpriv", "--bounding-set=-dac_override,-dac_read_search"];

fn may_drop_rights() -> bool {
    let words = [UNPRIVILEGED, &["true"]].concat();
    let works = Command::new(words[0]).args(&words[1..]).status().is_ok_and(|done| done.success());
    if !works {
        eprintln!("skipped: `setpriv` is not there or not allowed");
    }
    works
}

/// All that is wrong after one kind of damage.
fn met(scene: &Scene, kind: &Damage, at: usize) -> Vec<String> {
    scene.repair();
    if !damage(scene, kind) {
        eprintln!("skipped: {} cannot be done by this user", kind.name);
        return Vec::new();
    }
    let mut wrong = Vec::new();
    let mut note = |what: String| wrong.push(format!("{}, {}: {what}", scene.mode, kind.name));
    let walled = kind.left == Left::Reading || scene.mode.ends_with("verdict");
    // Which of the calls are made goes round with the kinds and the modes.
    let turn = at + scene.mode.len();
    let changes = walled.then(|| scene.changes(turn));
    for ran in std::iter::once(scene.forbidden_always(turn)).chain(changes) {
        if !Scene::is_denied(&ran) {
            note(format!("not denied: {ran:?}"));
        }
    }
    let ran = scene.reads(turn);
    if Scene::is_denied(&ran) {
        note(format!("a read was denied: {ran:?}"));
    }
    if kind.left == Left::Reading {
        let ran = scene.stop("RALPH_COMPLETE");
        let message = ran.json()["systemMessage"].as_str().unwrap_or_default().to_owned();
        let one_line = message.lines().count() == 1 && message.contains("/ralph-cancel");
        if !one_line || ran.json().as_object().unwrap().len() != 1 {
            note(format!("the stop says: {ran:?}"));
        }
        if !Scene::is_denied(&scene.tool("Edit", json!({"file_path": "/x"}))) {
            note("the stop has freed the session".to_owned());
        }
    }
    // Every other time a person ends it, and otherwise repairs it.
    match at % 3 {
        0 => {
            scene.repair();
            if scene.mode == "loop" {
                let said = scene.stop("RALPH_COMPLETE").message();
                if !said.contains("Ralph: done, without proof") {
                    note(format!("after the repair: {said}"));
                }
            } else if !Scene::is_denied(&scene.forbidden_always(0)) {
                note("the loop does not go on after the repair".to_owned());
            }
            return wrong;
        }
        // Below a client nobody in this process is a person.
        2 if std::env::var_os("CLAUDECODE").is_none() => drop(scene.command_line_cancel()),
        _ => drop(scene.typed_cancel()),
    }
    if is_beyond_repair(kind) {
        return wrong;
    }
    let endings: Vec<Value> =
        scene.world.archived().iter().map(|state| state["ending"]["kind"].clone()).collect();
    if endings != [json!("cancelled")] {
        note(format!("cancelled, and the record says {endings:?}"));
    }
    scene.stop("x");
    if Scene::is_denied(&scene.tool("Write", json!({"file_path": scene.state}))) {
        note("cancelled, and the session is not free".to_owned());
    }
    wrong
}

fn in_mode(mode: &'static str) -> Vec<String> {
    let scene = Scene::new(mode);
    let mut is_played = one_in(3);
    // Others in each mode.
    for _ in MODES.iter().take_while(|other| **other != mode) {
        is_played();
    }
    let kinds = damages().into_iter().enumerate().filter(|_| is_played());
    let wrong = kinds.flat_map(|(at, kind)| met(&scene, &kind, at)).collect();
    scene.repair();
    wrong
}

const MODES: [&str; 5] = ["loop", "before the verdict", "after the verdict", "session", "refine"];

#[test]
fn no_damage_to_the_state_frees_a_session_and_each_loop_reaches_a_typed_ending() {
    if !may_drop_rights() {
        return;
    }
    let n_kinds = damages().len();
    assert!(n_kinds >= 40, "{n_kinds}");
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let modes: Vec<_> = MODES.map(|mode| scope.spawn(move || in_mode(mode))).into();
        modes.into_iter().flat_map(|mode| mode.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {n_kinds} x 5: {wrong:#?}", wrong.len());
}

/// The damage is one session's: another, which has no entry, gets no word and no write.
#[test]
fn damage_of_one_session_never_speaks_in_another() {
    let mut scene = Scene::new("loop");
    for kind in damages() {
        scene.repair();
        scene.world.become_session("session-1", "p");
        if !damage(&scene, &kind) || kind.name.contains("closed") {
            continue;
        }
        scene.world.become_session("session-2", "p");
        scene.world.tool("Write", json!({"file_path": "/x", "content": ""})).silent();
        scene.world.stop("RALPH_COMPLETE").silent();
    }
    scene.world.become_session("session-1", "p");
    scene.repair();
}

/// What a person may type to begin something, and what the model may pass on.
const STARTS: [(&str, &str); 5] = [
    ("ralph", "\"Another task\""),
    ("ralph", ""),
    ("ralph-parallel", "\"One, two\""),
    ("ralplan", "\"Another plan\""),
    ("ralph-v2", "\"Another door\""),
];

/// Where the disk itself must be repaired before anything can be written there.
fn is_beyond_repair(kind: &Damage) -> bool {
    let foreign = kind.name.contains("another user") && kind.name.contains("folder");
    let closed = kind.name.contains("closed") || kind.name.ends_with("loops: a file");
    foreign || closed || kind.name.starts_with("folder of loops: a link")
}

#[test]
fn no_second_loop_starts_beside_one_that_cannot_be_read() {
    if !may_drop_rights() {
        return;
    }
    let kinds: Vec<_> =
        damages().into_iter().filter(|kind| kind.left == Left::Reading).enumerate().collect();
    assert!(kinds.len() >= 35, "{}", kinds.len());
    let kinds = sample(kinds, 3);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for part in kinds.chunks(kinds.len().div_ceil(4)) {
            let wrong = &wrong;
            scope.spawn(move || {
                let scene = Scene::new("loop");
                for (at, kind) in part {
                    let found = begun_beside(&scene, kind, *at);
                    wrong.lock().unwrap().extend(found);
                }
                scene.repair();
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

/// All that is wrong when something is to begin in a session with this kind of damage.
fn begun_beside(scene: &Scene, kind: &Damage, at: usize) -> Vec<String> {
    scene.repair();
    if !damage(scene, kind) {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    let mut note = |what: String| wrong.push(format!("{}: {what}", kind.name));
    for turn in 0..2 {
        let (name, args) = STARTS[(2 * at + turn) % STARTS.len()];
        let ran = scene.typed(name, args);
        let reason = ran.json()["stopReason"].as_str().unwrap_or_default().to_owned();
        if ran.json()["continue"] != false
            || !reason.contains("/ralph-cancel")
            || !reason.contains("nothing was started")
        {
            note(format!("/{name} {args} says: {ran:?}"));
        }
        if !Scene::is_denied(&scene.tool("Edit", json!({"file_path": "/x"}))) {
            note(format!("/{name} {args} has freed the session"));
        }
    }
    if std::env::var_os("CLAUDECODE").is_none() {
        let said = scene.command_line(&["start", "Another task", "--session", "session-1"]);
        if !said.contains("nothing was started") {
            note(format!("`ralph start` says: {said}"));
        }
    }
    if is_beyond_repair(kind) {
        return wrong;
    }
    drop(scene.typed_cancel());
    let endings: Vec<Value> =
        scene.world.archived().iter().map(|state| state["ending"]["kind"].clone()).collect();
    if endings != [json!("cancelled")] {
        note(format!("cancelled, and the record says {endings:?}"));
    }
    let ran = scene.typed("ralph", "\"Another task\"");
    if !ran.out().contains(" started\\n") {
        note(format!("nothing starts after the end: {ran:?}"));
    }
    wrong
}

type Loss = (&'static str, fn(&Scene));

/// How the entry of a session may be lost. Its copy stands in another folder.
const LOST: [Loss; 6] = [
    ("removed", |scene| fs::remove_file(scene.world.entry()).unwrap()),
    ("renamed", |scene| {
        let entry = scene.world.entry();
        fs::rename(&entry, entry.with_extension("moved")).unwrap();
    }),
    ("moved out", |scene| {
        fs::rename(scene.world.entry(), scene.world.root().join("moved-entry")).unwrap();
    }),
    ("its folder removed", |scene| {
        fs::remove_dir_all(scene.world.ralph_home().join("manifest")).unwrap();
    }),
    ("its folder renamed", |scene| {
        let folder = scene.world.ralph_home().join("manifest");
        fs::rename(&folder, folder.with_extension("moved")).unwrap();
    }),
    ("its copy removed", |scene| fs::remove_file(copy_of_entry(scene)).unwrap()),
];

#[test]
fn the_loss_of_a_manifest_entry_frees_no_session_beyond_its_next_stop_or_prompt() {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let modes = MODES.map(|mode| {
            scope.spawn(move || {
                let scene = Scene::new(mode);
                let found: Vec<_> = LOST.iter().flat_map(|lost| met_lost(&scene, lost)).collect();
                scene.repair();
                found
            })
        });
        modes.into_iter().flat_map(|mode| mode.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn copy_of_entry(scene: &Scene) -> PathBuf {
    scene.world.root().join(".ralph-kept/ralph/sessions/session-1")
}

fn met_lost(scene: &Scene, (name, lose): &(&str, fn(&Scene))) -> Vec<String> {
    let mut wrong = Vec::new();
    let next: [(&str, &dyn Fn() -> Ran); 4] = [
        ("a stop", &|| scene.stop("x")),
        ("a prompt", &|| {
            let members = json!({"prompt": "What is new?"});
            scene.hook("ralph-user-prompt", &scene.world.payload("UserPromptSubmit", members))
        }),
        ("a compaction", &|| scene.world.session_starts("compact")),
        ("a cancel", &|| scene.typed_cancel()),
    ];
    for (event, happens) in next {
        scene.repair();
        fs::create_dir_all(copy_of_entry(scene).parent().unwrap()).unwrap();
        fs::copy(scene.world.entry(), copy_of_entry(scene)).unwrap();
        lose(scene);
        let ran = happens();
        let ended = event == "a cancel";
        let stands = match ended {
            true => scene.world.archived().len() == 1,
            false => Scene::is_denied(&scene.forbidden_always(0)),
        };
        if !stands {
            wrong.push(format!("{}, {name}, {event}: {ran:?}", scene.mode));
        }
        // The end of the loop is the end of both.
        if ended {
            scene.stop("x");
            let left = [scene.world.entry(), copy_of_entry(scene)].map(|path| path.exists());
            if left != [false, false] {
                wrong.push(format!("{}, {name}: {left:?} is left after the end", scene.mode));
            }
        }
    }
    wrong
}

fn namespaces() -> bool {
    let done = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "x", "/mnt"]).output();
    let works = done.is_ok_and(|done| done.status.success());
    if !works {
        eprintln!("skipped: mounts in a namespace of our own are not allowed here");
    }
    works
}

/// A full or read-only disk, in a mount namespace of the hook's own.
fn on_a_bad_disk(world: &World, disk: &str, name: &str, payload: &Value) -> Ran {
    let home = world.ralph_home().display().to_string();
    let prepare = match disk {
        "read-only" => {
            format!("mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}'")
        }
        _ => {
            let copy = world.root().join("copy").display().to_string();
            format!(
                "rm -rf '{copy}' && cp -a '{home}' '{copy}' && mount -t tmpfs -o size=256k x '{home}' && \
                 cp -a '{copy}/.' '{home}' && chmod 700 '{home}' && \
                 {{ dd if=/dev/zero of='{home}/fill' bs=4k 2>/dev/null || true; }}"
            )
        }
    };
    let script = format!("{prepare} && exec \"$@\"");
    let words = ["unshare", "-rm", "sh", "-ec", &script, "sh", executable(name)];
    run(world.wrapped(&words), name, payload.to_string().as_bytes())
}

#[test]
fn a_disk_that_cannot_be_written_is_reported_and_frees_and_ends_nothing() {
    if !namespaces() {
        return;
    }
    for (disk, hint) in [("read-only", "Make the disk writable"), ("full", "Make room")] {
        for mode in ["loop", "after the verdict", "refine"] {
            let scene = Scene::new(mode);
            let world = &scene.world;
            if disk == "full" {
                // Over a copy that is there, a state of the same size can be written without room.
                fs::remove_file(copy_of_state(&scene)).unwrap();
            }
            let before = world.state();
            for last in ["RALPH_COMPLETE", "on it"] {
                let stop = world.payload("Stop", json!({"last_assistant_message": last}));
                let ran = on_a_bad_disk(world, disk, "ralph-stop-hook", &stop);
                let message = ran.message();
                assert!(message.contains(hint) && message.contains("/ralph"), "{mode}: {message}");
                assert_eq!(message.lines().count(), 1, "{message}");
            }
            for (tool, input) in [
                ("Write", json!({"file_path": scene.state, "content": "{}"})),
                ("Bash", json!({"command": format!("rm {}", scene.state.display())})),
            ] {
                let members = json!({"tool_name": tool, "tool_input": input});
                let payload = world.payload("PreToolUse", members);
                let ran = on_a_bad_disk(world, disk, "ralph-pre-tool-use", &payload);
                assert!(Scene::is_denied(&ran), "{disk}, {mode}: {ran:?}");
            }
            assert_eq!(world.state(), before, "{disk}, {mode}");
        }
        let world = World::looping("");
        let stop = world.payload("Stop", json!({"last_assistant_message": "RALPH_COMPLETE"}));
        on_a_bad_disk(&world, disk, "ralph-stop-hook", &stop).message();
        world.stop("RALPH_COMPLETE").ends("Ralph: done, without proof");
    }
}

/// The model may not end it from its own shell, also where its state is gone.
#[test]
fn the_models_shell_cannot_cancel_a_loop_whose_state_is_gone() {
    for gone in ["state", "folder", "entry"] {
        let scene = Scene::new("loop");
        scene.world.forget_what_is_kept_apart();
        match gone {
            "state" => {
                fs::remove_file(&scene.state).unwrap();
                fs::remove_file(copy_of_state(&scene)).unwrap();
            }
            "folder" => fs::remove_dir_all(scene.state.parent().unwrap()).unwrap(),
            _ => drop(spoil(&scene.world.entry(), b"nonsense")),
        }
        for words in [&["cancel"][..], &["cancel", "--session", "session-1"], &["pause"]] {
            let said = scene.world.ralph(words);
            assert!(
                !said.success && said.text.contains("use another terminal"),
                "{gone}: {said:?}"
            );
        }
        assert!(scene.world.has_entry());
        scene.repair();
    }
}

#[test]
fn a_last_good_copy_brings_a_removed_state_back_with_the_next_stop() {
    let world = World::looping("");
    for _ in 0..3 {
        world.working_stop("x").goes_on();
    }
    fs::remove_file(world.state_path()).unwrap();
    world.forget_what_is_kept_apart();
    let ran = world.working_stop("x");
    assert!(ran.message().contains("used the last good copy"), "{ran:?}");
    assert!(ran.context().contains("Ralph 3/25: "), "one behind, plus one: {ran:?}");
    assert_eq!(world.state()["iteration"], 3);
}
