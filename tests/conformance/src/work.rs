//! What happens to files: the model's work, and damage to the implementation's state.

use crate::case::Given;
use crate::implementation;
use crate::step::{Files, Work};
use crate::text;
use crate::world::World;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file that is committed in every repository.
const TRACKED: &str = "tracked";

/// Prepares the project.
pub(crate) fn prepare(world: &World<'_>, given: &Given) -> Result<()> {
    write(world, TRACKED, "first line\n")?;
    for (path, content) in &given.files {
        write(world, path, content)?;
    }
    if given.repository {
        git(world, &["init", "-q"])?;
        commit(world, "first")?;
    }
    Ok(())
}

/// The model works.
pub(crate) fn work(world: &World<'_>, work: &Work) -> Result<()> {
    if work.work {
        append(world, TRACKED, "one more line\n")?;
    }
    for (path, content) in &work.write {
        write(world, &world.filled(path), &world.filled(content))?;
    }
    for (path, content) in &work.append {
        append(world, &world.filled(path), &world.filled(content))?;
    }
    for path in &work.delete {
        // `.` is the project itself, and no call removes a folder by that name.
        let named: PathBuf = world.project().join(path).components().collect();
        delete(&named)?;
    }
    work.commit.as_ref().map_or(Ok(()), |message| commit(world, message))
}

/// Whether files are there and not there, as the case says.
pub(crate) fn look(world: &World<'_>, files: &Files) -> Result<()> {
    for path in &files.absent {
        let path = world.root().join(path);
        ensure!(path.symlink_metadata().is_err(), "`{}` is there", path.display());
    }
    for path in &files.present {
        let path = world.root().join(path);
        ensure!(path.symlink_metadata().is_ok(), "`{}` is not there", path.display());
    }
    Ok(())
}

/// Does something to the state file.
pub(crate) fn damage(world: &World<'_>, how: &str) -> Result<()> {
    let path = world.state_file().filter(|path| path.is_file());
    let path = path.context("there is no state file to do something to")?;
    let text = fs::read_to_string(&path)?;
    match how {
        "deleted" => fs::remove_file(&path)?,
        "emptied" => fs::write(&path, "")?,
        "truncated" => fs::write(&path, text.get(..text.len() / 2).unwrap_or_default())?,
        "garbage" => fs::write(&path, [0xff, 0xfe, 0, b'{', b'{', 7])?,
        edit => fs::write(&path, edited(world, &text, edit)?)?,
    }
    Ok(())
}

fn edited(world: &World<'_>, text: &str, edit: &str) -> Result<String> {
    let Some(change) = world.implementation.edits.get(edit) else {
        bail!("`{}` does not say how its state is {edit}", world.implementation.name)
    };
    let change = text::filled(change, &world.names());
    if let Value::Array(pairs) = &change {
        return replaced(text, pairs);
    }
    patched(text, &change)
}

/// Applies a merge patch to the state file.
pub(crate) fn change(world: &World<'_>, change: &Value) -> Result<()> {
    let path = world.state_file().context("there is no state file to change")?;
    let text = fs::read_to_string(&path)?;
    Ok(fs::write(&path, patched(&text, change)?)?)
}

fn patched(text: &str, change: &Value) -> Result<String> {
    let mut state: Value = serde_json::from_str(text)?;
    implementation::patch(&mut state, change);
    Ok(state.to_string())
}

/// Each pair is a text and what stands in its place; one that is not there would change nothing.
fn replaced(text: &str, pairs: &[Value]) -> Result<String> {
    pairs.iter().try_fold(text.to_owned(), |text, pair| {
        let (from, to) = (pair[0].as_str(), pair[1].as_str());
        let (from, to) = from.zip(to).context("an edit of a text is a list of pairs")?;
        ensure!(text.contains(from), "the state does not hold `{from}`");
        Ok(text.replace(from, to))
    })
}

fn write(world: &World<'_>, path: &str, content: &str) -> Result<()> {
    let path = world.project().join(path);
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    fs::write(&path, content).with_context(|| format!("could not write `{}`", path.display()))
}

fn append(world: &World<'_>, path: &str, content: &str) -> Result<()> {
    let path = world.project().join(path);
    let mut file = fs::OpenOptions::new().append(true).create(true).open(&path)?;
    Ok(file.write_all(content.as_bytes())?)
}

fn delete(path: &Path) -> Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)?
    } else {
        fs::remove_file(path)?
    }
    Ok(())
}

fn commit(world: &World<'_>, message: &str) -> Result<()> {
    git(world, &["add", "-A"])?;
    git(world, &["commit", "-q", "--allow-empty", "-m", message])
}

fn git(world: &World<'_>, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "gc.auto=0"]);
    command.args(arguments).current_dir(world.project()).stdin(Stdio::null());
    command.env("HOME", world.root().join("home")).env("GIT_CONFIG_NOSYSTEM", "1");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    let output = command.output().context("could not start `git`")?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "git {arguments:?} failed: {error}");
    Ok(())
}
