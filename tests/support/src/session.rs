//! A project, a private home and a client's environment, and calls of the hooks in them.

use crate::executables::executables;
use crate::journals;
use crate::timeless::without_time;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::SystemTime;

pub const EXECUTABLES: [&str; 5] = [
    "ralph-user-prompt",
    "ralph-pre-tool-use",
    "ralph-backpressure",
    "ralph-stop-hook",
    "ralph-session-context",
];

/// The path of a freshly built executable. The executables of one folder find each other there.
pub fn executable(name: &str) -> &'static str {
    let place: &'static PathBuf = Box::leak(Box::new(executables().join(name)));
    place.to_str().expect("the target folder has a UTF-8 name")
}

/// One session of a client, in a project of its own.
pub struct World {
    folder: tempfile::TempDir,
    /// The client's id for the session.
    pub session: String,
    /// The id of the prompt whose turn is running.
    pub prompt: String,
    /// The folder in which the hooks run; it follows the session's shell.
    pub cwd: PathBuf,
    /// The whole environment of a hook.
    pub env: BTreeMap<String, String>,
    /// A hook's last argument: the registration that started it.
    pub via: Option<&'static str>,
    /// The processes that play the client. This process plays the user beside them, and is older.
    clients: Vec<Standing>,
}

/// A process that does nothing, and ends with this one.
struct Standing(std::process::Child);

/// The ids of the processes that play a client now.
static CLIENTS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// The child processes that play a client, which end only with their worlds.
pub fn clients() -> Vec<u32> {
    CLIENTS.lock().unwrap().clone()
}

impl Standing {
    fn start() -> Standing {
        let mut cat = Command::new("cat");
        cat.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        let mut clients = CLIENTS.lock().unwrap();
        let cat = cat.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        clients.push(cat.id());
        Standing(cat)
    }
}

/// The files of a repository with one commit, by their paths; a folder has no content.
type Template = Vec<(PathBuf, Option<Vec<u8>>)>;

/// Writes a repository with one commit into a folder. Git makes it once for all worlds of a test binary.
fn lay_out(project: &Path) {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    for (path, content) in TEMPLATE.get_or_init(made_by_git) {
        match content {
            None => fs::create_dir(project.join(path)).unwrap(),
            Some(content) => fs::write(project.join(path), content).unwrap(),
        }
    }
}

fn made_by_git() -> Template {
    let world = World::without_repository();
    world.git("init -q");
    world.write("tracked", "one\n");
    world.git("add .");
    world.git("commit -q -m first");
    let project = world.project();
    let mut paths: Vec<PathBuf> = world.listing(&project).into_keys().collect();
    // Git's examples of hooks are not for execution, and half of all files.
    paths.retain(|path| path.extension().is_none_or(|extension| extension != "sample"));
    let inside = |path: PathBuf| {
        let content = path.is_file().then(|| fs::read(&path).unwrap());
        (path.strip_prefix(&project).unwrap().to_owned(), content)
    };
    paths.into_iter().map(inside).collect()
}

impl Drop for Standing {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = (self.0.kill(), self.0.wait());
        let own = self.0.id();
        CLIENTS.lock().unwrap().retain(|client| *client != own);
    }
}

impl World {
    /// A repository with one commit and no loop.
    pub fn new() -> World {
        let world = World::without_repository();
        lay_out(&world.project());
        // The index of the template names other files.
        world.git("update-index -q --refresh");
        world
    }

    pub fn without_repository() -> World {
        let folder = crate::private_folder("ralph-test-");
        let root = folder.path().canonicalize().unwrap();
        for name in ["project", "home"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let project = root.join("project");
        let env = [
            ("HOME", root.join("home").display().to_string()),
            ("RALPH_HOME", root.join("ralph").display().to_string()),
            ("PATH", std::env::var("PATH").unwrap()),
            ("CLAUDE_CODE_SESSION_ID", "session-1".to_owned()),
            ("CLAUDE_PROJECT_DIR", project.display().to_string()),
            ("AI_AGENT", "claude-code_2-1-328_x".to_owned()),
            ("CLAUDECODE", "1".to_owned()),
        ];
        let mut world = World {
            folder,
            clients: Vec::new(),
            session: "session-1".to_owned(),
            prompt: "prompt-1".to_owned(),
            cwd: project,
            env: env
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .chain(crate::portable())
                .collect(),
            via: Some("settings"),
        };
        world.settings("");
        world.another_client();
        world
    }

    /// Has a new client process send everything that follows.
    pub fn another_client(&mut self) {
        let client = Standing::start();
        self.set("CLAUDE_PID", &client.0.id().to_string());
        self.clients.push(client);
    }

    /// Ends the clients of the session so far; a new one sends everything that follows.
    pub fn clients_end(&mut self) {
        self.clients.clear();
        self.another_client();
    }

    /// A repository in which `/ralph "Fix it" FLAGS` was typed.
    pub fn looping(flags: &str) -> World {
        let world = World::new();
        world.start(flags);
        world
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub fn ralph_home(&self) -> PathBuf {
        self.root().join("ralph")
    }

    pub fn transcript(&self) -> PathBuf {
        self.root().join("home/transcript.jsonl")
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.env.insert(name.to_owned(), value.to_owned());
    }

    /// Becomes another session of the same client, in the payload and in the environment.
    pub fn become_session(&mut self, session: &str, prompt: &str) {
        self.session = session.to_owned();
        self.prompt = prompt.to_owned();
        self.set("CLAUDE_CODE_SESSION_ID", session);
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn git(&self, arguments: &str) {
        self.git_says(arguments);
    }

    /// Runs git and returns its output.
    pub fn git_says(&self, arguments: &str) -> String {
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-C"])
            .arg(self.project())
            .args(arguments.split(' '))
            .env_remove("GIT_DIR")
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "git {arguments}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Writes the rows of the session's transcript.
    pub fn transcribe(&self, rows: &[Value]) {
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        fs::write(self.transcript(), text).unwrap();
    }

    /// The client's rows for a turn that the user has just interrupted.
    pub fn interruption(&self, text: &str) -> [Value; 2] {
        let now = jiff::Timestamp::now().to_string();
        [
            json!({"type": "assistant", "uuid": "row-1", "timestamp": now, "sessionId": self.session,
                "message": {"role": "assistant", "content": [{"type": "text", "text": "x"}]}}),
            json!({"type": "user", "uuid": "row-2", "parentUuid": "row-1", "isSidechain": false,
                "timestamp": now, "sessionId": self.session,
                "message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
        ]
    }

    /// The payload of an event of this session, with these members added.
    pub fn payload(&self, event: &str, members: Value) -> Value {
        let mut payload = Map::from_iter([
            ("session_id".to_owned(), json!(self.session)),
            ("transcript_path".to_owned(), json!(self.transcript())),
            ("cwd".to_owned(), json!(self.cwd)),
            ("prompt_id".to_owned(), json!(self.prompt)),
            ("permission_mode".to_owned(), json!("bypassPermissions")),
            ("hook_event_name".to_owned(), json!(event)),
        ]);
        if event == "Stop" {
            payload.extend(
                ["background_tasks", "session_crons"].map(|name| (name.to_owned(), json!([]))),
            );
        }
        payload.extend(members.as_object().unwrap().clone());
        Value::Object(payload)
    }

    /// Runs a hook on an event of this session.
    pub fn event(&self, name: &str, event: &str, members: Value) -> Ran {
        self.hook(name, self.payload(event, members).to_string())
    }

    /// Runs a hook with any text as its input.
    pub fn hook(&self, name: &str, payload: impl AsRef<[u8]>) -> Ran {
        run(self.command(name), name, payload.as_ref())
    }

    /// A hook's command as the client starts it.
    pub fn command(&self, name: &str) -> Command {
        self.wrapped(&[executable(name)])
    }

    /// A hook at the end of another program's command line.
    pub fn wrapped(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(self.via).env_clear().envs(&self.env).current_dir(&self.cwd);
        command
    }

    /// Types a slash command: sends both of its events, as the client does.
    pub fn type_command(&self, name: &str, args: &str) -> Ran {
        let typed = format!("/{name} {args}");
        self.event("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": typed.trim()}))
            .silent();
        self.expansion(name, args)
    }

    /// Sends only the second event of a typed slash command.
    pub fn expansion(&self, name: &str, args: &str) -> Ran {
        let members = json!({
            "expansion_type": "slash_command",
            "command_name": name,
            "command_args": args,
            "command_source": "userSettings",
            "prompt": format!("/{name} {args}"),
        });
        self.event("ralph-user-prompt", "UserPromptExpansion", members)
    }

    pub fn start(&self, flags: &str) -> Ran {
        let ran = self.type_command("ralph", &format!("\"Fix it\" {flags}"));
        assert!(ran.context().contains(" started\n"), "{ran:?}");
        ran
    }

    /// Types a plain prompt, which begins a turn with this id.
    pub fn prompt(&mut self, prompt_id: &str, text: &str) -> Ran {
        self.prompt = prompt_id.to_owned();
        self.event("ralph-user-prompt", "UserPromptSubmit", json!({"prompt": text}))
    }

    pub fn stop(&self, message: &str) -> Ran {
        self.stop_with(json!({"last_assistant_message": message}))
    }

    /// A stop after a change to the tree.
    pub fn working_stop(&self, message: &str) -> Ran {
        let name = format!(
            "work/{}",
            fs::read_dir(self.project().join("work")).into_iter().flatten().count()
        );
        self.write(&name, "done");
        self.stop(message)
    }

    pub fn stop_with(&self, members: Value) -> Ran {
        let mut all = json!({
            "stop_hook_active": false, "background_tasks": [], "session_crons": [],
        });
        all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        self.event("ralph-stop-hook", "Stop", all)
    }

    pub fn tool(&self, tool: &str, input: Value) -> Ran {
        let members = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "t"});
        self.event("ralph-pre-tool-use", "PreToolUse", members)
    }

    pub fn session_starts(&self, source: &str) -> Ran {
        self.event("ralph-session-context", "SessionStart", json!({"source": source}))
    }

    /// Runs the command line as the model would, in this session's shell.
    pub fn ralph(&self, args: &[&str]) -> CommandOutput {
        let mut command = Command::new(executable("ralph"));
        command.args(args).env_clear().envs(&self.env).current_dir(&self.cwd);
        CommandOutput::by(command)
    }

    /// Runs the command line as the user would, in another terminal.
    pub fn elsewhere(&self, args: &[&str]) -> CommandOutput {
        let mut command = Command::new(executable("ralph"));
        command.args(args).env_clear().envs(&self.env).current_dir(&self.cwd);
        for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE"] {
            command.env_remove(variable);
        }
        CommandOutput::by(command)
    }

    /// Writes the user's settings. Facts about the project are off unless `text` has a `[context]`
    /// table, so that a test compares only what its loop is told.
    pub fn settings(&self, text: &str) {
        let facts = match text.contains("[context]") {
            true => "",
            false => "\n[context]\nenabled = false\n",
        };
        // A stand-in for the client has no sandbox of its own.
        let client = match text.contains("[client]") {
            true => "",
            false => "\n[client]\nsandbox = false\n",
        };
        let folder = self.root().join("home/.config/ralph");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), format!("{text}{facts}{client}")).unwrap();
        self.forget_what_is_kept_apart();
    }

    /// Turns the facts about the project on, as they are by default.
    pub fn with_facts(self) -> World {
        self.settings("[context]\n");
        self
    }

    pub fn entry(&self) -> PathBuf {
        self.ralph_home().join("manifest").join(&self.session)
    }

    pub fn state_path(&self) -> PathBuf {
        let line = fs::read_to_string(self.entry()).expect("the session has a manifest entry");
        PathBuf::from(line.trim_end())
    }

    /// The state of the session's loop.
    pub fn state(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.state_path()).unwrap()).unwrap()
    }

    /// What the model gets because this stop continues its turn: the line that the user sees as
    /// well, and the details that follow with the next tool call.
    #[track_caller]
    pub fn step(&self, stop: &Ran) -> String {
        let line = stop.goes_on();
        assert!(line.lines().last().unwrap().starts_with("Ralph "), "{line}");
        format!("{line}\n{}", self.state()["details_due"].as_str().unwrap_or_default())
    }

    /// Changes the state behind Ralph's back.
    pub fn edit_state(&self, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        change(&mut state);
        fs::write(self.state_path(), state.to_string()).unwrap();
        self.forget_what_is_kept_apart();
    }

    /// Removes what Ralph compares a loop with, for a test of something else.
    pub fn forget_what_is_kept_apart(&self) {
        let _ = fs::remove_dir_all(self.root().join(".ralph-kept"));
    }

    /// `implementation 3/25`, `paused 3/25 interrupted`
    pub fn standing(&self) -> String {
        let state = self.state();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let why = word(&state["pause"]["cause"]) + &word(&state["ending"]["kind"]);
        format!(
            "{} {}/{} {why}",
            word(&state["phase"]),
            state["iteration"],
            state["max_iterations"]
        )
        .trim_end()
        .to_owned()
    }

    /// The states of all archived loops.
    pub fn archived(&self) -> Vec<Value> {
        let Ok(folders) = fs::read_dir(self.ralph_home().join("archive")) else {
            return Vec::new();
        };
        folders
            .map(|folder| fs::read_to_string(folder.unwrap().path().join("state.json")).unwrap())
            .map(|text| serde_json::from_str(&text).unwrap())
            .collect()
    }

    /// The kind of ending of the only archived loop.
    #[track_caller]
    pub fn ending(&self) -> String {
        let archived = self.archived();
        assert_eq!(archived.len(), 1, "one loop was put away");
        assert_eq!(fs::read_dir(self.ralph_home().join("loops")).unwrap().count(), 0);
        archived[0]["ending"]["kind"].as_str().unwrap().to_owned()
    }

    pub fn has_entry(&self) -> bool {
        self.entry().symlink_metadata().is_ok()
    }

    /// Everything below a folder, with its modification time and content.
    pub fn listing(&self, folder: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                let about = path.symlink_metadata().unwrap();
                if about.is_dir() {
                    folders.push(path.clone());
                }
                let content = fs::read(&path).unwrap_or_default();
                found.insert(path, (about.modified().unwrap(), content));
            }
        }
        found
    }
}

impl Drop for World {
    fn drop(&mut self) {
        journals::replay_all(&self.ralph_home());
    }
}

/// The result of a `ralph` command, with standard output and standard error as one text.
#[derive(Debug)]
pub struct CommandOutput {
    pub success: bool,
    pub text: String,
}

impl CommandOutput {
    fn by(mut command: Command) -> CommandOutput {
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        CommandOutput { success: output.status.success(), text: String::from_utf8(text).unwrap() }
    }
}

/// Runs a command that ends in a hook, with a payload on its standard input.
pub fn run(mut command: Command, name: &str, payload: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("could not start {command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // A hook with nothing to do exits without reading, so the pipe may break.
        scope.spawn(move || drop(stdin.write_all(payload)));
        child.wait_with_output().unwrap()
    });
    Ran { name: name.to_owned(), output }
}

/// The result of a hook.
#[derive(Debug)]
pub struct Ran {
    name: String,
    output: Output,
}

impl Ran {
    pub fn out(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    pub fn err(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).unwrap()
    }

    /// The one JSON object on standard output, or null. Leaves out the lines of a planning, which
    /// may come with any answer; [`Ran::message`] has them.
    #[track_caller]
    pub fn json(&self) -> Value {
        let mut said = self.whole();
        let is_log = |text: &str| text.lines().all(|line| line.starts_with("Plan "));
        if said["systemMessage"].as_str().is_some_and(is_log) {
            said.as_object_mut().unwrap().remove("systemMessage");
        }
        if said == json!({}) { Value::Null } else { said }
    }

    #[track_caller]
    fn whole(&self) -> Value {
        let out = self.out();
        if out.is_empty() {
            return Value::Null;
        }
        assert_eq!(out.lines().count(), 1, "{self:?}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn stdout(self, expected: Value) -> Self {
        assert_eq!(self.json(), expected, "{self:?}");
        self
    }

    #[track_caller]
    pub fn stderr(self, expected: &str) -> Self {
        assert_eq!(self.err(), expected, "{self:?}");
        self
    }

    #[track_caller]
    pub fn exit(self, expected: i32) -> Self {
        assert_eq!(self.output.status.code(), Some(expected), "{self:?}");
        self
    }

    /// No output on either stream, and exit code 0.
    #[track_caller]
    pub fn silent(self) -> Self {
        self.stdout(Value::Null).stderr("").exit(0)
    }

    /// The hook failed open: nothing on standard output, and one line with these
    /// words on standard error.
    #[track_caller]
    pub fn complains(self, words: &str) -> Self {
        let err = self.err();
        assert!(err.starts_with(&format!("{}: ", self.name)), "{self:?}");
        assert!(err.ends_with('\n') && err.lines().count() == 1, "{self:?}");
        assert!(err.contains(words), "{words} in {err}");
        self.harmless().stdout(Value::Null)
    }

    /// Must hold for every answer: exit code 0, at most one JSON object, at most one line on
    /// standard error, which names its executable, and no trace of a panic.
    #[track_caller]
    pub fn harmless(self) -> Self {
        let err = self.err();
        assert!(err.lines().count() <= 1, "{self:?}");
        assert!(err.is_empty() || err.starts_with(&format!("{}: ", self.name)), "{self:?}");
        for word in ["panic", "internal error", "RUST_BACKTRACE"] {
            assert!(!err.contains(word), "{self:?}");
        }
        self.json();
        self.exit(0)
    }

    #[track_caller]
    fn text(&self, of: &Value) -> String {
        assert_eq!(self.err(), "", "{self:?}");
        of.as_str().unwrap_or_else(|| panic!("not said: {self:?}")).to_owned()
    }

    /// The text for the model.
    #[track_caller]
    pub fn context(&self) -> String {
        self.text(&self.json()["hookSpecificOutput"]["additionalContext"])
    }

    /// The message for the user.
    #[track_caller]
    pub fn message(&self) -> String {
        self.text(&self.whole()["systemMessage"])
    }

    /// The answer to a prompt that does not reach the model.
    #[track_caller]
    pub fn kept_from_model(&self) -> String {
        assert_eq!(self.json()["continue"], false, "{self:?}");
        self.text(&self.json()["stopReason"])
    }

    /// The reason of a block.
    #[track_caller]
    pub fn blocked(&self) -> String {
        assert_eq!(self.json()["decision"], "block", "{self:?}");
        self.text(&self.json()["reason"])
    }

    /// The reason of a refused tool call that does not end the turn.
    #[track_caller]
    pub fn denied(&self) -> String {
        let reason = self.json()["hookSpecificOutput"]["permissionDecisionReason"].clone();
        let expected = json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }});
        let mut said = self.json();
        said.as_object_mut().map(|members| members.remove("systemMessage"));
        let output = said["hookSpecificOutput"].as_object_mut();
        let context = output.and_then(|members| members.remove("additionalContext"));
        assert_eq!(said, expected, "{self:?}");
        // A question is refused in one line for the user; the rest is for the model alone.
        let rest = context.map(|text| format!(". {}", self.text(&text)));
        format!("{}{}", self.text(&reason), rest.unwrap_or_default())
    }

    /// The turn goes on; returns the text for the model.
    #[track_caller]
    pub fn goes_on(&self) -> String {
        assert_eq!(self.json()["hookSpecificOutput"]["hookEventName"], "Stop", "{self:?}");
        assert_eq!(self.json().as_object().unwrap().len(), 1, "{self:?}");
        self.context()
    }

    /// The loop is over, and the message for the user contains these words.
    #[track_caller]
    pub fn ends(self, words: &str) -> Self {
        let message = self.message();
        let timeless = without_time(&message);
        assert!(timeless.contains(words), "{words} in {message}");
        self.stdout(json!({"systemMessage": message})).exit(0)
    }
}
