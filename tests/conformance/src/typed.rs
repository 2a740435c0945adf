//! What a person does: starts a loop and cancels it, in the implementation's own way.

use crate::case::{Criterion, LoopOptions};
use crate::hook;
use crate::implementation::{Act, Bound, Files, Start, Typed};
use crate::judge::{self, Answer, Decision};
use crate::step::Event;
use crate::text;
use crate::work;
use crate::world::World;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const TASK: &str = "Make it work";

/// Starts a loop. A case in which this fails has not been played.
pub(crate) fn start(world: &World<'_>, options: &LoopOptions) -> Result<()> {
    match &world.implementation.start {
        Start::Typed(spelling) => {
            let arguments = arguments(spelling, options);
            let answer = start_by_typing(world, spelling, &arguments, options.max_iterations)?;
            let said = answer.to_person.join(" ");
            ensure!(answer.decision == Decision::Allows, "the start was refused: {said}");
        }
        Start::Files(files) => write_files(world, files, options)?,
    }
    ensure!(world.live() != Some(false), "no loop is live after the start");
    Ok(())
}

/// Types the command that starts a loop, and has happen what belongs to it.
pub(crate) fn start_by_typing(
    world: &World<'_>,
    spelling: &Typed,
    arguments: &str,
    most: Option<u32>,
) -> Result<Answer> {
    let mut answers = vec![type_command(world, &spelling.command, arguments)?];
    if let Some(line) = &spelling.shell {
        answers.push(run_shell(world, &world.filled(line).replace("$ARGUMENTS", arguments))?);
    }
    let joined = judge::joined(answers);
    if joined.decision == Decision::Allows {
        for event in &spelling.then {
            world.fire(event, 0)?;
        }
        if let (Some(most), Some(how)) = (most, &spelling.bound) {
            put_in_force(world, how, bound(spelling, most))?;
        }
    }
    Ok(joined)
}

/// Puts a bound where the implementation reads it.
fn put_in_force(world: &World<'_>, how: &Bound, most: u32) -> Result<()> {
    let mut names = world.names();
    names.insert("value".to_owned(), json!(most));
    for (path, content) in &how.files {
        write_file(&text::filled_string(path, &names), &text::filled(content, &names))?;
    }
    work::change(world, &text::filled(&how.state, &names))
}

fn write_file(path: &str, content: &Value) -> Result<()> {
    let folder = Path::new(path).parent().context("a file is in a folder")?;
    fs::create_dir_all(folder)?;
    let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
    fs::write(path, text).with_context(|| format!("could not write `{path}`"))
}

/// The client runs a line in a command's text before the model gets it; one that fails ends it.
fn run_shell(world: &World<'_>, line: &str) -> Result<Answer> {
    let ran = hook::run(world.command(&["bash".into(), "-c".into(), line.into()]), b"")?;
    if ran.code == Some(0) {
        return Ok(Answer::silence());
    }
    Ok(Answer::refused(ran.stderr.trim()))
}

/// Both events of a typed slash command, as the client sends them.
pub(crate) fn type_command(world: &World<'_>, command: &str, arguments: &str) -> Result<Answer> {
    let prompt = format!("/{command} {arguments}").trim().to_owned();
    let submitted = event("UserPromptSubmit", &json!({"prompt": prompt}));
    let expanded = event(
        "UserPromptExpansion",
        &json!({"command_name": command, "command_args": arguments, "prompt": prompt}),
    );
    let answers = [submitted, expanded].map(|event| Ok(world.fire(&event, 0)?.0));
    Ok(judge::joined(answers.into_iter().collect::<Result<_>>()?))
}

/// Acts in the implementation's way; an implementation without one has no answer to the case.
pub(crate) fn act(world: &World<'_>, what: &str) -> Result<()> {
    let name = &world.implementation.name;
    let acts = world.implementation.person.get(what);
    all(world, acts.with_context(|| format!("`{name}` has no way in which a person {what}"))?.all())
}

/// One act after the other.
pub(crate) fn all(world: &World<'_>, acts: &[Act]) -> Result<()> {
    acts.iter().try_for_each(|act| one(world, act))
}

fn one(world: &World<'_>, act: &Act) -> Result<()> {
    match act {
        Act::Command(command) => type_command(world, command, "").map(drop),
        Act::Words(words) => {
            world.fire(&event("UserPromptSubmit", &json!({"prompt": words})), 0).map(drop)
        }
        Act::Runs(words) => run(world, words),
    }
}

/// Whether it begins a turn of its own.
pub(crate) fn begins_a_turn(what: &str) -> bool {
    what.ends_with("at the prompt")
}

fn run(world: &World<'_>, words: &[String]) -> Result<()> {
    let words: Vec<String> = words.iter().map(|word| world.filled(word)).collect();
    let mut command = world.command(&words);
    for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "CLAUDE_PID", "AI_AGENT"] {
        command.env_remove(variable);
    }
    let ran = hook::run(command, b"")?;
    ensure!(ran.code == Some(0), "{words:?} failed: {}{}", ran.stdout, ran.stderr);
    Ok(())
}

fn event(name: &str, members: &Value) -> Event {
    let members = members.as_object().cloned().unwrap_or_default();
    Event { event: name.to_owned(), members, ..Event::default() }
}

fn arguments(spelling: &Typed, options: &LoopOptions) -> String {
    let with = |form: &str, names: Value| {
        text::filled_string(form, names.as_object().unwrap_or(&text::Names::new()))
    };
    let mut words = vec![with(&spelling.task, json!({"task": task(options)}))];
    if let Some(most) = options.max_iterations {
        words.push(with(&spelling.max_iterations, json!({"value": bound(spelling, most)})));
    }
    for (n, criterion) in options.criteria.iter().enumerate() {
        words.push(with(&spelling.criterion, described(n, criterion)));
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

/// The number with which a loop goes on so often.
fn bound(spelling: &Typed, goes_on: u32) -> u32 {
    goes_on + u32::from(spelling.counts_the_first_turn)
}

fn task(options: &LoopOptions) -> &str {
    options.task.as_deref().unwrap_or(TASK)
}

fn described(n: usize, criterion: &Criterion) -> Value {
    json!({"number": n + 1, "description": criterion.description, "command": criterion.command})
}

fn write_files(world: &World<'_>, files: &Files, options: &LoopOptions) -> Result<()> {
    let filled = |form: &Value, names: &Value| {
        text::filled(form, names.as_object().unwrap_or(&text::Names::new()))
    };
    let criteria: Vec<Value> = (options.criteria.iter().enumerate())
        .map(|(n, criterion)| filled(&files.criterion, &described(n, criterion)))
        .collect();
    let mut names = world.names();
    names.insert("task".to_owned(), json!(task(options)));
    names.insert("criteria".to_owned(), json!(criteria));
    let most = options.max_iterations.unwrap_or(files.max_iterations);
    names.insert("max_iterations".to_owned(), json!(most));
    for (path, content) in &files.files {
        write_file(&text::filled_string(path, &names), &text::filled(content, &names))?;
    }
    Ok(())
}
