//! One check of one file: runs the tool or a built-in parser, and picks the new findings.

use super::before::StartFiles;
use super::engine::Engine;
use super::{CheckResult, before};
use crate::check::engine::Durations;
use crate::check::{CheckItem, CheckTarget, relative};
use ralph_core::project::check::finding::Finding;
use ralph_core::project::check::parsers::{ParsedOutput, Printed};
use ralph_core::project::check::{
    Check, CheckKind, CheckMethod, FindingScope, Parser, baseline, jsonc,
};
use ralph_io::process::clock;
use ralph_io::process::command::CommandEnd;
use ralph_io::store::checks::{self, Limits, OtherFilesOf};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The findings of a tool, or why it has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum ToolFindings {
    /// The findings, with file names relative to the project's root.
    Found(Vec<Finding>),
    /// It started and did not finish.
    Unfinished(String),
    /// It did not run.
    NotRun(String),
}

pub(super) fn run(engine: &Engine<'_>, target: &CheckTarget, item: &CheckItem) -> CheckResult {
    let looked = match &item.check.scope {
        FindingScope::Whole(_) => whole(engine, target, item),
        FindingScope::File => here(engine, target, item),
    };
    match looked {
        ToolFindings::Unfinished(what) => CheckResult::Unfinished(what),
        ToolFindings::NotRun(why) => CheckResult::NotRun(why),
        ToolFindings::Found(found) => sorted(engine, target, item, found),
    }
}

fn sorted(
    engine: &Engine<'_>,
    target: &CheckTarget,
    item: &CheckItem,
    found: Vec<Finding>,
) -> CheckResult {
    if let Ok(mut all) = engine.all.lock() {
        all.extend(found.iter().cloned());
    }
    let before = match found.is_empty() {
        true => baseline::KnownFindings::Known(Vec::new()),
        false => match before::known(engine, target, item, &found) {
            Some(known) => known,
            // With more time, it is known what is new.
            None if engine.is_waiting() && item.check.kind != CheckKind::Fix => {
                return CheckResult::Beside;
            }
            None => before::changed(engine, target, &found),
        },
    };
    let sorted = baseline::sort(found, &before);
    let (new, told_before) = engine.untold(target, &item.id, sorted.new);
    CheckResult::Found { new, old: sorted.old, elsewhere: sorted.elsewhere, told_before }
}

/// The stored result of a check of a whole project part.
#[derive(Debug, Serialize, Deserialize)]
struct WholeRun {
    began_ms: i64,
    looked: ToolFindings,
}

/// One run of a whole check serves every edit made before it. Of several simultaneous edits, the
/// first gets a run of its own, and the others share the next one.
fn whole(engine: &Engine<'_>, target: &CheckTarget, item: &CheckItem) -> ToolFindings {
    let name = format!("run of {}", item.id);
    let Some(left) = engine.left(item.check.limit) else { return no_time(engine) };
    let Ok(_held) = target.kept.lock(&name, left) else {
        return ToolFindings::Unfinished(
            "the same check of another edit used all the time".to_owned(),
        );
    };
    let earlier: Option<WholeRun> = target.kept.read(&name);
    if let Some(earlier) = earlier.filter(|run| run.began_ms > engine.settled_ms)
        && let ToolFindings::Found(_) = &earlier.looked
    {
        return earlier.looked;
    }
    let began_ms = clock::now().as_millisecond();
    let looked = here(engine, target, item);
    // If the write fails, the next edit runs the check again.
    let _ = target.kept.write(&name, &WholeRun { began_ms, looked: looked.clone() });
    looked
}

/// Runs the check on the current project, and records how long it took.
fn here(engine: &Engine<'_>, target: &CheckTarget, item: &CheckItem) -> ToolFindings {
    let Some(left) = engine.left_for(target, item) else { return no_time(engine) };
    let (looked, took) = run_check(engine, target, item, None, left);
    let finished = !matches!(looked, ToolFindings::Unfinished(_));
    Durations::for_target(target).note(item, took, finished, engine);
    looked
}

fn no_time(engine: &Engine<'_>) -> ToolFindings {
    let budget = engine.budget().as_secs();
    if engine.left(None).is_some() {
        let what = format!("the earlier fixers used their half of the {budget} s");
        return ToolFindings::Unfinished(what);
    }
    ToolFindings::Unfinished(format!("the earlier checks used all of the {budget} s"))
}

/// Runs a check within this time, on the present files or on those of the start.
pub(super) fn run_check(
    engine: &Engine<'_>,
    target: &CheckTarget,
    item: &CheckItem,
    start: Option<&StartFiles>,
    left: Duration,
) -> (ToolFindings, Duration) {
    let check = &item.check;
    let (line, whole) = match &check.by {
        CheckMethod::Parser(parser) => {
            let content = match start {
                Some(start) => start.content(&target.file),
                None => checks::content(&target.file),
            };
            let found = read(*parser, &check.name, &content.unwrap_or_default());
            let named = found.into_iter().map(|one| Finding { file: target.name(), ..one });
            return (ToolFindings::Found(named.collect()), Duration::ZERO);
        }
        CheckMethod::Program(program) => (checks::line_of(program, None), false),
        CheckMethod::Filter(program) => (checks::line_of(program, Some(&target.file)), true),
        CheckMethod::Shell(line) => (line.clone(), false),
    };
    let read = if whole { checks::content(&target.file) } else { None };
    let (output, store) = match start {
        Some(_) => (format!("before: {}", item.id), target.kept.elsewhere()),
        None => (item.id.clone(), PathBuf::new()),
    };
    let limits = Limits {
        ralph: &engine.ralph,
        folder: &check.folder,
        output: &target.kept.output(&output),
        deadline: left,
        bounds: engine.bounds.as_ref(),
        start: start.map(|start| OtherFilesOf {
            files: &start.other,
            root: &target.root,
            store: &store,
        }),
    };
    let ran = match checks::run(&line, &limits, whole) {
        Ok(ran) => ran,
        Err(error) => return (ToolFindings::NotRun(format!("{error:#}")), Duration::ZERO),
    };
    let took = ran.took;
    let code = match ran.ended {
        CommandEnd::Exited(code) => Some(code),
        CommandEnd::Signalled(_) => None,
        CommandEnd::Deadline => return (ToolFindings::Unfinished(ended_after(left)), took),
        CommandEnd::Stopped => {
            return (ToolFindings::Unfinished("it was interrupted".to_owned()), took);
        }
        CommandEnd::NotStarted(why) => return (ToolFindings::NotRun(why), took),
        CommandEnd::SupervisorLost => {
            return (ToolFindings::Unfinished("it was killed".to_owned()), took);
        }
    };
    let stdout = String::from_utf8_lossy(&ran.stdout);
    let printed = Printed {
        check: &check.name,
        file: &target.file.to_string_lossy(),
        stdout: if whole { "" } else { &stdout },
        stderr: &String::from_utf8_lossy(&ran.stderr),
        code,
    };
    match ralph_core::project::check::parsers::read(check.form, &printed) {
        ParsedOutput::DidNotRun(why) => (ToolFindings::NotRun(why), took),
        ParsedOutput::Found(found) => {
            if let Some(read) =
                read.filter(|read| code == Some(0) && !ran.stdout.is_empty() && *read != ran.stdout)
                && let Err(error) = checks::put_back(&target.file, &read, &ran.stdout)
            {
                return (ToolFindings::Unfinished(format!("{error:#}")), took);
            }
            (ToolFindings::Found(named(found, check, &target.root)), took)
        }
    }
}

fn ended_after(left: Duration) -> String {
    format!("it was ended after {:.1} s", left.as_secs_f64())
}

/// Makes the file names in the findings relative to the tree's root.
fn named(found: Vec<Finding>, check: &Check, root: &Path) -> Vec<Finding> {
    let name = |file: &str| match file {
        "" => String::new(),
        file => relative(&plain(&check.folder.join(file)), root),
    };
    let named = found.into_iter().map(|one| Finding { file: name(&one.file), ..one });
    // A compiler repeats a finding for each target that the file is part of.
    let mut seen = HashSet::new();
    let is_first = |one: &Finding| {
        seen.insert((one.file.clone(), one.line, one.column, one.rule.clone(), one.message.clone()))
    };
    named.filter(is_first).collect()
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

// The built-in parsers: JSON, JSON with comments, TOML and YAML.

/// The first syntax error in the text. What follows it cannot be judged.
pub(super) fn read(parser: Parser, check: &str, content: &[u8]) -> Vec<Finding> {
    let Ok(text) = std::str::from_utf8(content) else {
        return vec![finding(check, None, "it is not UTF-8 text".to_owned())];
    };
    // The byte order mark only names the encoding.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let problem = match parser {
        Parser::Json => json(text),
        Parser::JsonWithComments => json_with_comments(text),
        Parser::Toml => toml(text),
        Parser::Yaml => yaml(text),
    };
    problem.map(|(place, message)| finding(check, place, message)).into_iter().collect()
}

type Problem = (Option<(u32, u32)>, String);

fn finding(check: &str, place: Option<(u32, u32)>, message: String) -> Finding {
    Finding {
        check: check.to_owned(),
        file: String::new(),
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
        rule: "syntax".to_owned(),
        message,
        is_error: true,
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn json(text: &str) -> Option<Problem> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default().to_owned();
    Some((Some((number(error.line()), number(error.column()))), words))
}

fn json_with_comments(text: &str) -> Option<Problem> {
    let (line, column, message) = jsonc::parse(text).err()?;
    Some((Some((number(line), number(column))), message))
}

fn toml(text: &str) -> Option<Problem> {
    let error = toml::from_str::<toml::Table>(text).err()?;
    let at = error.span().map(|span| place(text, span.start));
    Some((at, error.message().to_owned()))
}

fn yaml(text: &str) -> Option<Problem> {
    let error = saphyr_parser::Parser::new_from_str(text).find_map(Result::err)?;
    let at = error.marker();
    Some((Some((number(at.line()), number(at.col() + 1))), error.info().to_owned()))
}

/// The line and column of a byte, counted from 1.
fn place(text: &str, at: usize) -> (u32, u32) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (number(line), number(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `line:column`, or empty if there is no error.
    #[track_caller]
    fn check(parser: Parser, text: &str, expected: &str) {
        let found = read(parser, "x", text.as_bytes());
        let place = |one: &Finding| format!("{}:{}", one.line.unwrap(), one.column.unwrap());
        let places: Vec<String> = found.iter().map(place).collect();
        assert_eq!(places.join(" "), expected, "{text}: {found:?}");
    }

    #[test]
    fn json_is_as_its_standard_has_it() {
        check(Parser::Json, "\u{feff}{\"a\": 1}\n", "");
        check(Parser::Json, "{\n  \"a\": 1,\n}\n", "3:1");
        check(Parser::Json, "// a\n{}", "1:1");
    }

    #[test]
    fn comments_and_a_last_comma_are_all_that_is_allowed_besides() {
        check(Parser::JsonWithComments, "// a\n{\"a\": 1, /* b */}\n", "");
        check(Parser::JsonWithComments, "// a\n{\"a\" 1}\n", "2:6");
        check(Parser::JsonWithComments, "{a: 1}", "1:2");
        check(Parser::JsonWithComments, "{'a': 1}", "1:2");
        // The place after the value, where the comma belongs.
        check(Parser::JsonWithComments, "{\"a\": 1 \"b\": 2}", "1:8");
    }

    #[test]
    fn toml_and_yaml_are_told_with_their_place() {
        check(Parser::Toml, "a = 1\n", "");
        check(Parser::Toml, "a = 1\nb = \n", "2:5");
        check(Parser::Yaml, "a: 1\n---\nb: [2]\n", "");
        check(Parser::Yaml, "a: [1\nb: 2\n", "2:2");
    }

    #[test]
    fn what_is_no_text_is_one_finding_without_a_place() {
        let found = read(Parser::Toml, "x", b"\xff");
        assert_eq!((found.len(), found[0].line), (1, None));
    }
}
