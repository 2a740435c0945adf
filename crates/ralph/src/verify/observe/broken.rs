//! A broken test must fail: runs with expected values changed.

use super::{BROKEN, Observer, Subject, counts_tests, ended, is_made};
use anyhow::Result;
use ralph_core::evidence::harness;
use ralph_core::evidence::literals::{self, Candidate, Literal};
use ralph_core::evidence::observed;
use ralph_core::state::{Observation, Outcome};
use ralph_io::git::checkpoint::{self, ChangedSince, FileKind};
use ralph_io::process::command::CommandEnd;
use ralph_io::process::elsewhere::{ElsewhereRun, OtherFile, OtherFiles, OtherForm};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Altered literals of one criterion: four or five see no more than three.
const LITERALS: usize = 3;

/// How often other literals are chosen because the command did not read the files of the first ones.
const CHOICES: usize = 3;

impl Observer<'_, '_> {
    /// The present files, with expected literals changed.
    pub(super) fn broken(&mut self, subject: &mut Subject, _: bool) -> Result<bool> {
        let counts = counts_tests(&subject.criterion);
        if !counts && !observed::seems_to_test(&subject.seen, self.is_test_file(subject)) {
            subject.seen.broken = None;
            return Ok(true);
        }
        let key = subject.tree.clone();
        if is_made(&subject.seen.broken, &key) {
            return Ok(true);
        }
        let mut left = self.candidates(subject);
        let runs = [&subject.seen.without, &subject.seen.original].into_iter().flatten();
        let failing: Vec<String> = runs.flat_map(|run| run.failing.clone()).collect();
        for _ in 0..CHOICES {
            let altered = choose(&left, &failing);
            if altered.is_empty() {
                break;
            }
            let Some(run) = self.elsewhere(subject, BROKEN, &self.altered(&left, &altered))? else {
                return Ok(false);
            };
            // Read on other files and not here: the change keeps the command from it.
            let opened =
                |path: &PathBuf| run.opened.as_ref().is_none_or(|opened| opened.contains(path));
            let (read, unread): (Vec<_>, Vec<_>) = altered
                .into_iter()
                .partition(|(at, _)| left[*at].is_read || opened(&left[*at].full));
            if read.is_empty() {
                let unread: BTreeSet<PathBuf> =
                    unread.into_iter().map(|(at, _)| left[at].full.clone()).collect();
                left.retain(|one| !unread.contains(&one.full));
                continue;
            }
            let Some(found) = self.noticed(subject, &left, read, &failing, run)? else {
                return Ok(false);
            };
            subject.seen.broken = Some(Observation { key, ..found });
            return Ok(true);
        }
        let why = "no expected value was found in the tests that it reads".to_owned();
        subject.seen.broken = Some(Observation { key, why, ..Observation::default() });
        Ok(true)
    }

    /// True if the command names a test file, and was seen to open it.
    fn is_test_file(&self, subject: &Subject) -> bool {
        let is_opened = |path: &String| {
            let full = self.start.top.join(path);
            subject.opened.as_ref().is_some_and(|opened| opened.contains(&full))
        };
        subject.named.iter().any(|path| harness::is_test_file(path) && is_opened(path))
    }

    /// Which of the changed literals the command noticed. If fewer tests failed than were broken, each runs alone.
    fn noticed(
        &mut self,
        subject: &mut Subject,
        files: &[TestText],
        altered: Vec<(usize, Literal)>,
        failing: &[String],
        all: ElsewhereRun,
    ) -> Result<Option<Observation>> {
        let mut found = Observation {
            outcome: Outcome::Failed,
            duration_ms: all.run.duration_ms,
            ..Observation::default()
        };
        let name = |(at, literal): &(usize, Literal)| {
            format!("`{}` at {}:{}", literal.describe(), files[*at].path, literal.line)
        };
        let failed = match usize::try_from(all.run.tests.failed).unwrap_or(usize::MAX) {
            0 => all.run.failing.len(),
            counted => counted,
        };
        let has_failed = all.run.ended != CommandEnd::Exited(0);
        if has_failed && failed >= altered.len() {
            found.noticed = altered.iter().map(name).collect();
            return Ok(Some(found));
        }
        let unknown = |why| Observation {
            outcome: Outcome::Unknown,
            why,
            duration_ms: all.run.duration_ms,
            ..Observation::default()
        };
        if !matches!(all.run.ended, CommandEnd::Exited(_)) {
            return Ok(Some(unknown(ended(&all.run))));
        }
        if all.opened.is_none() && !has_failed {
            let why = "it is not known here which files the command reads".to_owned();
            return Ok(Some(unknown(why)));
        }
        for one in &altered {
            let one_alone = self.altered(files, std::slice::from_ref(one));
            let Some(run) = self.elsewhere(subject, BROKEN, &one_alone)? else { return Ok(None) };
            let CommandEnd::Exited(code) = run.run.ended else {
                return Ok(Some(unknown(ended(&run.run))));
            };
            // The same files again.
            if altered.len() == 1 && has_failed != (code != 0) {
                found.outcome = Outcome::Flaky;
                return Ok(Some(found));
            }
            if code == 0 { &mut found.unnoticed } else { &mut found.noticed }.push(name(one));
        }
        let skipped = subject.criterion.receipt.as_ref().map_or(0, |receipt| receipt.tests_skipped);
        let seeing = altered.iter().filter(|one| literals::is_of(&one.1, failing)).map(name);
        observed::weigh_values(&mut found, &seeing.collect::<Vec<_>>(), skipped);
        Ok(Some(found))
    }

    fn altered(&self, files: &[TestText], altered: &[(usize, Literal)]) -> OtherFiles {
        // From the end of a file, so that an earlier place in it stays.
        let mut altered: Vec<&(usize, Literal)> = altered.iter().collect();
        altered.sort_by_key(|(at, literal)| (*at, std::cmp::Reverse(literal.line)));
        let mut texts: BTreeMap<usize, String> = BTreeMap::new();
        for (at, literal) in altered {
            let text = texts.entry(*at).or_insert_with(|| files[*at].text.clone());
            *text = literal.alter(text);
        }
        let replaced = texts.into_iter().map(|(at, text)| OtherFile {
            path: files[at].full.clone(),
            form: OtherForm::File {
                content: text.into_bytes(),
                is_executable: files[at].is_executable,
            },
        });
        OtherFiles { replaced: replaced.collect(), watched: Vec::new() }
    }

    /// The test files whose literals may be changed: changed ones first, and only those that the command was seen to
    /// read, if that is known.
    fn candidates(&self, subject: &Subject) -> Vec<TestText> {
        let changed = self.start.files.iter().zip(&subject.parted);
        let has_tests = |file: &ChangedSince| {
            let text = file.now.as_ref().map(|form| String::from_utf8_lossy(&form.content));
            text.is_some_and(|text| harness::has_tests_inside(&file.path.to_string_lossy(), &text))
        };
        let changed = changed.filter(|(file, one)| {
            one.harness_changed && file.now.is_some() || one.code_changed && has_tests(file)
        });
        let changed = changed.map(|(file, _)| {
            let start =
                file.start.as_ref().and_then(|form| String::from_utf8(form.content.clone()).ok());
            (file.path.to_string_lossy().into_owned(), start)
        });
        let changed: Vec<(String, Option<String>)> = changed.collect();
        let others = self.start.tests().into_iter();
        let others = others.filter(|path| changed.iter().all(|(known, _)| known != path));
        let others: Vec<(String, Option<String>)> = others.map(|path| (path, None)).collect();
        let all = changed.iter().cloned().chain(others);
        let text = all.filter_map(|(path, start)| {
            let full = self.start.top.join(&path);
            // What is built is not read again while it is unchanged.
            let is_read = subject.opened.as_ref().is_some_and(|opened| opened.contains(&full));
            let form = checkpoint::present(&full).ok()?;
            let text = String::from_utf8(form.content).ok()?;
            // A file that did not change is compared with itself.
            let is_changed = changed.iter().any(|(known, _)| *known == path);
            let start = if is_changed { start } else { Some(text.clone()) };
            Some(TestText {
                path,
                full,
                text,
                start,
                is_executable: form.kind == FileKind::Executable,
                is_read,
            })
        });
        text.collect()
    }
}

/// A test file, as it is now.
struct TestText {
    path: String,
    full: PathBuf,
    text: String,
    start: Option<String>,
    is_executable: bool,
    /// The command was seen to read it, in an earlier run.
    is_read: bool,
}

fn choose(files: &[TestText], failing: &[String]) -> Vec<(usize, Literal)> {
    let candidates: Vec<Candidate<'_>> = files
        .iter()
        .map(|one| Candidate {
            path: &one.path,
            text: &one.text,
            start: one.start.as_deref(),
            is_read: one.is_read,
        })
        .collect();
    literals::choose(&candidates, failing, LITERALS)
}
