//! A private home for each case: without a loop of our session, or with a live loop that does not
//! end by itself.
//!
//! A stop changes the state, so a live home records its files and is rewound before each sample.
//! Every sample then measures the same stop, and no limit is ever reached.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::payloads::{PROMPT, SESSION};

/// Limits that no bench reaches: the largest that `ralph start` accepts.
const MOST_ITERATIONS: u64 = 10_000;
const MOST_STALLED: u64 = 1_000;

pub(crate) struct Home {
    path: PathBuf,
    /// What made the loop; printed above the table.
    #[allow(dead_code, reason = "the gates have no table")]
    pub(crate) made_by: String,
    as_it_was: Vec<(PathBuf, Vec<u8>)>,
}

impl Home {
    /// A home in which another session has a manifest entry and ours has none.
    pub(crate) fn idle(path: &Path) -> anyhow::Result<Home> {
        create(path)?;
        private_file(
            &path.join("manifest/00000000-0000-4000-8000-000000000000"),
            b"/nonexistent/state.json\n",
        )?;
        Home::remembered(path, "nobody".to_owned())
    }

    /// A home with a running loop of our session, made by `ralph start` if that works.
    pub(crate) fn live(
        path: &Path,
        project: &Path,
        n_tasks: usize,
        ralph: Option<&Path>,
    ) -> anyhow::Result<Home> {
        create(path)?;
        let made_by = match ralph.map(|ralph| start(ralph, path, project, &["it works=test -d ."]))
        {
            Some(Ok(())) => "`ralph start`".to_owned(),
            Some(Err(e)) => {
                create(path)?;
                write_loop(path, project)?;
                format!("the bench, because {e:#}")
            }
            None => {
                write_loop(path, project)?;
                "the bench, because there is no `ralph`".to_owned()
            }
        };
        edit_state(path, |state| {
            state["task_graph"] = tasks(n_tasks);
            // An ordinary turn has used a tool, and that tool's hook has recorded it. The last
            // third of the transcript is of this turn.
            state["turn"] = json!({"prompt_id": PROMPT, "at": jiff::Timestamp::now(),
                "worked": true, "transcript_from": transcript().len() * 2 / 3});
        })?;
        accept_any_state(path);
        Home::remembered(path, made_by)
    }

    /// A home with a running loop that has these criteria.
    #[allow(dead_code, reason = "the gates run no criteria")]
    pub(crate) fn with_criteria(
        path: &Path,
        project: &Path,
        ralph: &Path,
        criteria: &[&str],
    ) -> anyhow::Result<Home> {
        create(path)?;
        start(ralph, path, project, criteria)?;
        Home::remembered(path, "`ralph start`".to_owned())
    }

    /// A home with a running loop in the format of the Ralph Pattern's own scripts.
    #[allow(dead_code, reason = "the gates have no peers")]
    pub(crate) fn of_the_pattern(path: &Path, n_tasks: usize) -> anyhow::Result<Home> {
        create(path)?;
        let state = path.join("pattern/state.json");
        let mut document = pattern_fields();
        document["task_graph"] = tasks(n_tasks);
        private_file(&state, document.to_string().as_bytes())?;
        private_file(&path.join("pattern/manifest"), format!("{}\n", state.display()).as_bytes())?;
        Home::remembered(path, "the bench".to_owned())
    }

    fn remembered(path: &Path, made_by: String) -> anyhow::Result<Home> {
        private_file(&path.join("transcript.jsonl"), transcript().as_bytes())?;
        let mut as_it_was = Vec::new();
        remember(path, &mut as_it_was)
            .with_context(|| format!("could not read `{}`", path.display()))?;
        Ok(Home { path: path.to_owned(), made_by, as_it_was })
    }

    /// Restores what the last sample changed or removed.
    pub(crate) fn rewind(&self) -> anyhow::Result<()> {
        for (path, bytes) in &self.as_it_was {
            if fs::read(path).ok().as_ref() != Some(bytes) {
                private_file(path, bytes)?;
                // Otherwise the hook's own sync would have to write this out too.
                fs::File::open(path)?.sync_all()?;
            }
        }
        accept_any_state(&self.path);
        Ok(())
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        self.path.join("transcript.jsonl")
    }

    /// The manifest that the pattern's scripts read; our hooks never do.
    #[allow(dead_code, reason = "the gates have no peers")]
    pub(crate) fn pattern_manifest(&self) -> PathBuf {
        self.path.join("pattern/manifest")
    }

    /// The variables that a hook gets from the client, and Ralph's own.
    pub(crate) fn env(&self, project: &Path) -> Vec<(OsString, OsString)> {
        let mut env = base_env(&self.path);
        env.extend([
            ("AI_AGENT".into(), "claude-code_2-1-328_harness".into()),
            ("CLAUDECODE".into(), "1".into()),
            ("CLAUDE_CODE_ENTRYPOINT".into(), "sdk-cli".into()),
            ("CLAUDE_CODE_SESSION_ID".into(), SESSION.into()),
            ("CLAUDE_PID".into(), std::process::id().to_string().into()),
            ("CLAUDE_PROJECT_DIR".into(), project.into()),
            ("PWD".into(), project.into()),
        ]);
        env
    }
}

fn base_env(home: &Path) -> Vec<(OsString, OsString)> {
    vec![
        ("HOME".into(), home.join("user").into()),
        ("LANG".into(), "C.UTF-8".into()),
        ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
        ("RALPH_HOME".into(), home.into()),
        ("SHELL".into(), "/bin/sh".into()),
        ("TERM".into(), "xterm-256color".into()),
        ("USER".into(), "bench".into()),
    ]
}

fn create(path: &Path) -> anyhow::Result<()> {
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    for folder in ["manifest", "loops", "user"] {
        fs::create_dir_all(path.join(folder))?;
        fs::set_permissions(path.join(folder), Permissions::from_mode(0o700))?;
    }
    Ok(fs::set_permissions(path, Permissions::from_mode(0o700))?)
}

fn start(ralph: &Path, home: &Path, project: &Path, criteria: &[&str]) -> anyhow::Result<()> {
    let done = Command::new(ralph)
        .args(["start", "--session", SESSION, "a task for the bench"])
        .args(criteria.iter().flat_map(|criterion| ["--ac", criterion]))
        .args(["--max-iterations", &MOST_ITERATIONS.to_string()])
        .args(["--stall-limit", &MOST_STALLED.to_string()])
        .current_dir(project)
        .env_clear()
        .envs(base_env(home))
        .output()
        .context("could not start `ralph`")?;
    let bound = home.join("manifest").join(SESSION).exists();
    ensure!(done.status.success() && bound, "`ralph start` said: {}", said(&done.stderr));
    Ok(())
}

fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().next().unwrap_or("nothing").to_owned()
}

/// Writes the state file in its documented format, for use where `ralph start` fails.
fn write_loop(home: &Path, project: &Path) -> anyhow::Result<()> {
    let state = home.join("loops/bench/state.json");
    let mut document = pattern_fields();
    let ours = json!({
        "schema_version": 1, "loop_id": "bench", "mode": "loop", "project_root": project,
        "prompt": "a task for the bench", "updated_at": jiff::Timestamp::now(), "completion": "verified",
        "stall_limit": MOST_STALLED, "limits": {"max_minutes": 480, "max_tokens": null}, "lineage": [],
        "settings": {}, "resume_phase": null, "pause": null, "ending": null, "via": "settings",
    });
    for (key, value) in ours.as_object().into_iter().flatten() {
        document[key] = value.clone();
    }
    private_file(&state, document.to_string().as_bytes())?;
    private_file(&home.join("manifest").join(SESSION), format!("{}\n", state.display()).as_bytes())
}

fn pattern_fields() -> Value {
    json!({
        "session_id": SESSION, "phase": "implementation", "max_iterations": MOST_ITERATIONS, "iteration": 3,
        "created_at": jiff::Timestamp::now(),
        "acceptance_criteria": [{"id": "AC-1", "description": "it works", "verified": false, "verification_command": "true"}],
        "task_graph": [], "context_report": "", "stall_hashes": [], "completion_token": "RALPH_COMPLETE", "errors": [],
    })
}

/// Every second task is done; each has the usual size of a planned task.
fn tasks(n: usize) -> Value {
    let task = |i: usize| {
        json!({"id": format!("T-{i}"), "name": format!("Move the rules of part {i} into a module of their own"),
            "deps": [], "status": if i.is_multiple_of(2) { "done" } else { "pending" },
            "completion_condition": format!("the tests of part {i} pass and nothing else imports its internals"),
            "files": [format!("src/part-{i:04}/mod.rs"), format!("src/part-{i:04}/tests.rs")]})
    };
    (1..=n).map(task).collect()
}

fn edit_state(home: &Path, edit: impl FnOnce(&mut Value)) -> anyhow::Result<()> {
    let entry = fs::read_to_string(home.join("manifest").join(SESSION))?;
    let path = Path::new(entry.trim_end());
    let mut state = serde_json::from_slice(&fs::read(path)?)?;
    edit(&mut state);
    // As a hook writes it.
    private_file(path, &serde_json::to_vec_pretty(&state)?)
}

/// A transcript of some length; a stop reads only its last rows.
fn transcript() -> String {
    let text = "I changed the parser and ran its tests. ".repeat(25);
    let row = json!({"type": "assistant", "sessionId": SESSION,
        "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "assistant",
        "content": [{"type": "text", "text": text}]}});
    format!("{row}\n").repeat(300)
}

fn remember(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => remember(&path, files)?,
            false => files.push((path.clone(), fs::read(&path)?)),
        }
    }
    Ok(())
}

pub(crate) fn private_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    fs::write(path, bytes).with_context(|| format!("could not write `{}`", path.display()))?;
    Ok(fs::set_permissions(path, Permissions::from_mode(0o600))?)
}

/// Removes the record of which states Ralph wrote itself: it would tell of those that are written here.
fn accept_any_state(path: &Path) {
    let Some((parent, name)) = path.parent().zip(path.file_name()) else { return };
    let loops = fs::read_dir(parent.join(".ralph-kept").join(name)).into_iter().flatten();
    for of_loop in loops.flatten() {
        let _ = fs::remove_file(of_loop.path().join("digests"));
    }
}
