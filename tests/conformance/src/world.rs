//! A project, a private home and the environment that a client gives its hooks.
//!
//! Nothing of the machine is read but the programs on `PATH`.

use crate::case::Given;
use crate::hook::{self, DEADLINE_SECONDS};
use crate::implementation::{Implementation, Live, StatePlace, StateSays};
use crate::judge::{self, Answer, Printed};
use crate::payload;
use crate::step::Event;
use crate::text::{self, Names};
use crate::typed;
use anyhow::{Context, Result, anyhow};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// A process that does nothing, and ends with this one.
struct Client(std::process::Child);

impl Client {
    fn start() -> std::io::Result<Client> {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().map(Client)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// One client on one machine.
pub(crate) struct World<'a> {
    pub(crate) implementation: &'a Implementation,
    folder: tempfile::TempDir,
    /// The process that plays the client. This one plays the person beside it.
    client: Client,
    path: OsString,
    /// What the client calls the session.
    pub(crate) session: String,
    /// Counts prompts; each has an id of its own.
    pub(crate) prompt: u32,
    /// What `stop_hook_active` is at the next stop.
    pub(crate) hook_active: bool,
    /// Says it the other way round.
    pub(crate) inverted: bool,
    /// What the model was told last.
    pub(crate) told: String,
    /// Counts repetitions.
    pub(crate) n: u32,
    /// Whether the client writes no message to the transcript.
    pub(crate) transcript_stays: bool,
}

impl<'a> World<'a> {
    /// An empty project and an empty home.
    pub(crate) fn new(implementation: &'a Implementation, given: &Given) -> Result<World<'a>> {
        let folder = tempfile::Builder::new().prefix("conformance-").tempdir()?;
        for name in ["project", "home", "tmp", "elsewhere"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let mut world = World {
            implementation,
            client: Client::start().context("could not start `cat`")?,
            folder,
            path: OsString::new(),
            session: "session-1".to_owned(),
            prompt: 1,
            hook_active: false,
            inverted: false,
            told: String::new(),
            n: 0,
            transcript_stays: false,
        };
        world.path = world.search_path(&given.without_programs)?;
        world.transcribe(
            "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
        )?;
        Ok(world)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        self.root().join("home/transcript.jsonl")
    }

    pub(crate) fn transcribe(&self, text: &str) -> Result<()> {
        fs::write(self.transcript(), text).context("could not write the transcript")
    }

    /// What the client and the model have done when a turn ends with this event: the last message is
    /// in the transcript, and completion was asked for in the implementation's own way.
    pub(crate) fn end_turn(&self, event: &Event) -> Result<()> {
        if event.name() != "Stop" || event.text.is_some() {
            return Ok(());
        }
        let payload = self.payload(event);
        let message = payload["last_assistant_message"].as_str().unwrap_or_default();
        if !self.transcript_stays {
            self.transcribe_message(message)?;
        }
        let own = payload["session_id"] == self.session.as_str();
        if own && message.trim() == self.implementation.token {
            typed::all(self, &self.implementation.asks)?;
        }
        Ok(())
    }

    fn transcribe_message(&self, message: &str) -> Result<()> {
        // A turn without a last text ended with a tool call.
        let content = match message {
            "" => json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]),
            text => json!([{"type": "text", "text": text}]),
        };
        let row = json!({
            "type": "assistant",
            "sessionId": self.session,
            "message": {"role": "assistant", "content": content},
        });
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.transcript())?;
        file.write_all(format!("{row}\n").as_bytes()).context("could not write the transcript")
    }

    /// The system's own programs but for those that are hidden, behind the implementation's.
    fn search_path(&self, hidden: &[String]) -> Result<OsString> {
        let given = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> =
            self.implementation.path.iter().map(|path| self.filled(path).into()).collect();
        if hidden.is_empty() {
            folders.extend(std::env::split_paths(&given));
        } else {
            let links = self.root().join("bin");
            fs::create_dir(&links)?;
            link_all_but(hidden, std::env::split_paths(&given), &links)?;
            folders.push(links);
        }
        Ok(std::env::join_paths(folders)?)
    }

    /// The values of placeholders, as they are now.
    pub(crate) fn names(&self) -> Names {
        let mut names = Names::new();
        let mut add = |name: &str, value: Value| drop(names.insert(name.to_owned(), value));
        add("session", json!(self.session));
        add("token", json!(self.implementation.token));
        if let Some(cancel) = self.implementation.cancel_program() {
            add("cancel", json!(cancel));
        }
        add("goes_on", json!(self.implementation.goes_on));
        add("root", json!(self.root()));
        add("home", json!(self.root().join("home")));
        add("project", json!(self.project()));
        add("repository", json!(crate::repository()));
        add("told", json!(self.told));
        add("n", json!(self.n));
        let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
        add("beside", json!(beside));
        names
    }

    pub(crate) fn filled(&self, text: &str) -> String {
        text::filled_string(text, &self.names())
    }

    /// Where the session's state file is, if there is one.
    pub(crate) fn state_file(&self) -> Option<PathBuf> {
        match &self.implementation.state {
            StatePlace::At(path) => Some(self.filled(path).into()),
            StatePlace::OneOf(paths) => paths
                .iter()
                .map(|path| PathBuf::from(self.filled(path)))
                .find(|path| path.is_file()),
            StatePlace::NamedIn(path) => {
                let line = fs::read_to_string(self.filled(path)).ok()?;
                Some(line.trim_end().into())
            }
        }
    }

    /// Whether the session's loop is still there; none where nobody can tell.
    pub(crate) fn live(&self) -> Option<bool> {
        match self.implementation.live.as_ref()? {
            Live::Path(path) => Some(Path::new(&self.filled(path)).symlink_metadata().is_ok()),
            Live::State(StateSays { state_says: member }) => {
                let text = self.state_file().and_then(|path| fs::read_to_string(path).ok());
                let state: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
                Some(state.is_some_and(|state| state[member] == true))
            }
        }
    }

    /// Fires the hooks of one registration, all at once as the client does, and joins their answers.
    pub(crate) fn fire(&self, event: &Event, registration: usize) -> Result<(Answer, Duration)> {
        let lines =
            self.implementation.hooks.get(event.name()).map_or(&[][..], |lines| lines.all());
        let answered = thread::scope(|scope| {
            let running: Vec<_> = lines
                .iter()
                .map(|words| scope.spawn(move || self.fire_one(event, words, registration)))
                .collect();
            let ended = running
                .into_iter()
                .map(|one| one.join().map_err(|_| anyhow!("a thread panicked"))?);
            ended.collect::<Result<Vec<_>>>()
        })?;
        let took = answered.iter().map(|(_, took)| *took).max().unwrap_or_default();
        Ok((judge::joined(answered.into_iter().map(|(answer, _)| answer).collect()), took))
    }

    fn fire_one(
        &self,
        event: &Event,
        words: &[String],
        registration: usize,
    ) -> Result<(Answer, Duration)> {
        let name = event.name();
        let added = &self.implementation.registrations[registration];
        let words: Vec<String> = words.iter().chain(added).map(|word| self.filled(word)).collect();
        let mut command = self.command(&words);
        for variable in &event.unset {
            command.env_remove(variable);
        }
        let folder = self.folder_of(event);
        // Where the folder is gone there is nothing to change to.
        command.current_dir(if folder.is_dir() { &folder } else { self.root() });
        let stdin = match &event.text {
            Some(text) => self.filled(text),
            None => self.payload(event).to_string(),
        };
        let ran = hook::run(command, stdin.as_bytes())?;
        if ran.late {
            return Ok((Answer::late(DEADLINE_SECONDS), ran.took));
        }
        let printed = Printed { code: ran.code, stdout: &ran.stdout, stderr: &ran.stderr };
        Ok((judge::judge(name, printed), ran.took))
    }

    /// A program with the environment of a hook, and nothing else.
    pub(crate) fn command(&self, words: &[String]) -> Command {
        let (program, arguments) =
            words.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir(self.project_or_root());
        command.env("HOME", self.root().join("home")).env("TMPDIR", self.root().join("tmp"));
        command.env("PATH", &self.path).env("CLAUDE_PROJECT_DIR", self.project());
        command.env("CLAUDE_CODE_SESSION_ID", &self.session).env("CLAUDECODE", "1");
        command.env("CLAUDE_PID", self.client.0.id().to_string());
        command.env("AI_AGENT", "claude-code_2-1-328_agent").env("CLAUDE_CODE_ENTRYPOINT", "cli");
        for (name, value) in &self.implementation.env {
            command.env(name, self.filled(value));
        }
        command
    }

    fn project_or_root(&self) -> PathBuf {
        let project = self.project();
        if project.is_dir() { project } else { self.root().to_owned() }
    }

    fn folder_of(&self, event: &Event) -> PathBuf {
        event.folder.as_ref().map_or_else(|| self.project(), |folder| self.root().join(folder))
    }

    fn payload(&self, event: &Event) -> Value {
        let name = event.name();
        let mut members = payload::measured(name);
        let mut set = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
        set("session_id", json!(self.session));
        set("transcript_path", json!(self.transcript()));
        set("cwd", json!(self.folder_of(event)));
        set("prompt_id", json!(format!("prompt-{}", self.prompt)));
        if name == "Stop" {
            let first = self.implementation.first_stops.is_some();
            set("stop_hook_active", json!(!first && self.hook_active != self.inverted));
        }
        if let Some(message) = &event.stop {
            set("last_assistant_message", message.clone());
        }
        if let Some(tool) = &event.tool {
            set("tool_name", json!(tool));
            set("tool_input", event.input.clone());
        }
        members.extend(event.members.clone());
        event.without.iter().for_each(|name| drop(members.shift_remove(name)));
        let mut names = self.names();
        names.insert("state".to_owned(), json!(self.state_file().unwrap_or_default()));
        text::spelled_out(text::filled(&Value::Object(without_absent(members)), &names))
    }
}

/// A member whose value is `{"absent": true}` is left out: a variant may say so.
fn without_absent(members: Map<String, Value>) -> Map<String, Value> {
    members.into_iter().filter(|(_, value)| value.get("absent").is_none()).collect()
}

fn link_all_but(
    hidden: &[String],
    folders: impl Iterator<Item = PathBuf>,
    links: &Path,
) -> Result<()> {
    for entry in folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten() {
        let entry = entry?;
        let name = entry.file_name();
        let link = links.join(&name);
        if !hidden.iter().any(|hidden| name == **hidden) && link.symlink_metadata().is_err() {
            std::os::unix::fs::symlink(entry.path(), link)?;
        }
    }
    Ok(())
}
