//! The checks that a plan must pass before a critic reads it.

use crate::state::{Criterion, Task};
use crate::tasks::plan::{self, JsonBlock};
use std::fmt;

// A critic should judge the plan, not look for missing files. Code therefore checks everything
// that it can see first, and reports all failures at once, with their lines.

/// A gate that a plan fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The line, counted from 1; `None` for the plan as a whole.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl Failed {
    fn at(line: usize, what: impl Into<String>) -> Failed {
        Failed { line: Some(line), what: what.into() }
    }

    fn whole(what: impl Into<String>) -> Failed {
        Failed { line: None, what: what.into() }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(to, "line {line}: {}", self.what),
            None => to.write_str(&self.what),
        }
    }
}

/// The most gates reported in one answer: more than anyone fixes at once.
const NAMED: usize = 30;

/// How to write the machine-readable part.
pub const HOW: &str = "write it at the end of the plan as a block that begins with ```json ralph-plan and ends \
with ```: {\"acceptance_criteria\":[{\"id\":\"AC-1\",\"description\":\"the 12 login tests pass\",\
\"verification_command\":\"npm test -- login\"}],\"task_graph\":[{\"id\":\"T-1\",\"name\":\"add the form\",\
\"deps\":[],\"files\":[\"src/login.ts\"],\"completion_condition\":\"the form posts to /login\"}]}";

/// Returns everything that is wrong with a plan, in the order of its lines. `exists` is called with
/// paths as the plan writes them, relative to the top of the project.
pub fn check(text: &str, exists: impl Fn(&str) -> bool) -> Vec<Failed> {
    if text.trim().is_empty() {
        return vec![Failed::whole(
            "The plan is empty; write the work, the steps and how to verify them.",
        )];
    }
    let cited = cited_paths(text, &exists);
    let mut failed: Vec<Failed> = missing_files(&cited, &exists);
    failed.extend(vague_lines(text));
    failed.extend(missing_sections(text));
    failed.sort_by_key(|one| one.line);
    failed.extend(machine_readable(text, &cited, &exists));
    let more = failed.len().saturating_sub(NAMED);
    if more > 0 {
        failed.truncate(NAMED);
        failed.push(Failed::whole(format!("{more} more of this kind.")));
    }
    failed
}

fn missing_files(cited: &[Cited], exists: impl Fn(&str) -> bool) -> Vec<Failed> {
    let mut failed: Vec<Failed> = Vec::new();
    for Cited { line, path, .. } in cited {
        let what = format!(
            "`{path}` does not exist; name an existing file, or write `{path}` (new) if a step \
             creates it"
        );
        let is_known = failed.iter().any(|known| known.what == what);
        if !is_known && !is_new(cited, path) && !exists(path) {
            failed.push(Failed::at(*line, what));
        }
    }
    failed
}

fn unclear(word: &str) -> String {
    format!("`{word}` cannot be checked; give a number, or the command that shows it")
}

/// Returns what is wrong with the part that becomes criteria and tasks.
fn machine_readable(text: &str, cited: &[Cited], exists: impl Fn(&str) -> bool) -> Vec<Failed> {
    let Some(JsonBlock { line, .. }) = plan::block(text) else {
        let what = "The plan has no machine-readable part with criteria and tasks";
        return vec![Failed::whole(format!("{what}; {HOW}."))];
    };
    let read = match plan::parse(text) {
        Ok(read) => read,
        Err(problems) => {
            return problems.iter().map(|one| Failed::at(line, one.to_string())).collect();
        }
    };
    let mut failed = Vec::new();
    let mut say = |what: String| failed.push(Failed::at(line, what));
    if read.criteria.is_empty() {
        say(format!("there are no `acceptance_criteria`; {HOW}"));
    }
    if read.tasks.is_empty() {
        say(format!("there is no `task_graph`; {HOW}"));
    }
    for Criterion { id, description, .. } in &read.criteria {
        if let Some(word) = vague_word(description) {
            say(format!("{id}: {}", unclear(&word)));
        }
    }
    for Task { id, name, completion_condition, files, .. } in &read.tasks {
        if completion_condition.trim().is_empty() {
            say(format!("{id} has no `completion_condition`; write how to tell that it is done"));
        }
        for word in [name, completion_condition].into_iter().filter_map(|text| vague_word(text)) {
            say(format!("{id}: {}", unclear(&word)));
        }
        for file in files.iter().filter(|file| !file.contains(['*', '?', '{'])) {
            let file = without_place(file);
            if !is_new(cited, file) && !exists(file) {
                say(format!(
                    "{id} changes `{file}`, which does not exist; if a step creates it, write \
                     `{file}` (new) in the text of the plan"
                ));
            }
        }
    }
    failed
}

/// The numbered lines of a text outside fenced blocks and quotations.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<(char, usize)> = None;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let start = line.trim_start();
        let mark = start.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length = mark.map_or(0, |mark| start.chars().take_while(|one| *one == mark).count());
        match (fence, mark.filter(|_| length >= 3)) {
            (None, Some(mark)) => fence = Some((mark, length)),
            (Some((open, least)), Some(mark))
                if open == mark && length >= least && start.trim_end().len() == length =>
            {
                fence = None;
            }
            (None, None) if !start.starts_with('>') => return Some((at + 1, line)),
            _ => {}
        }
        None
    })
}

/// The parts of a line between backticks, each with the text after it, and the line without them.
fn spans(line: &str) -> (Vec<(&str, &str)>, String) {
    let (mut quoted, mut plain, mut rest) = (Vec::new(), String::new(), line);
    while let Some((before, after)) = rest.split_once('`') {
        plain.push_str(before);
        let Some((inside, behind)) = after.split_once('`') else {
            rest = after;
            break;
        };
        quoted.push((inside.trim(), behind));
        plain.push(' ');
        rest = behind;
    }
    plain.push_str(rest);
    (quoted, plain)
}

// The files that a plan mentions.
//
// Names with a slash are just as often routes, media types, branches or packages. A name that is
// not a path of this project is skipped instead of reported as missing, because a planner could
// not fix it.

/// A path in the text of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cited {
    /// The line, counted from 1.
    line: usize,
    /// The path without the position in the file.
    path: String,
    /// True if `(new)` follows the path.
    new: bool,
}

/// All paths between backticks, and paths with a line number outside backticks.
fn cited_paths(text: &str, exists: impl Fn(&str) -> bool) -> Vec<Cited> {
    let mut found = Vec::new();
    for (line, words) in prose(text) {
        let (quoted, plain) = spans(words);
        for (inside, behind) in quoted {
            let (inner, marked_inside) = match inside.split_once(" (new") {
                Some((path, _)) => (path.trim(), true),
                None => (inside, false),
            };
            let path = without_place(inner);
            if is_path(path, &exists) {
                let new = marked_inside || says_new(behind);
                found.push(Cited { line, path: path.to_owned(), new });
            }
        }
        let mut words = plain.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let word = word.trim_matches(['(', ')', '[', ']', ',', ';', '.', '*', '_', '"', '\'']);
            let path = without_place(word);
            if path.len() < word.len() && is_path(path, &exists) {
                let new = words.peek().is_some_and(|next| says_new(next));
                found.push(Cited { line, path: path.to_owned(), new });
            }
        }
    }
    found
}

/// True for a path that the plan creates, and for a path inside a folder that it creates.
fn is_new(cited: &[Cited], path: &str) -> bool {
    let plain = |path: &str| path.trim_start_matches("./").trim_end_matches('/').to_owned();
    let path = plain(path);
    cited.iter().filter(|one| one.new).any(|one| {
        let new = plain(&one.path);
        path == new || path.strip_prefix(&new).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Removes the position from `src/a.rs:12`, `src/a.rs:12-20`, `src/a.rs:12:3` and `src/a.rs#L12`.
fn without_place(word: &str) -> &str {
    let is_place = |rest: &str| {
        let rest = rest.trim_start_matches('L');
        rest.starts_with(|letter: char| letter.is_ascii_digit())
            && rest.chars().all(|letter| letter.is_ascii_digit() || "-:,L".contains(letter))
    };
    let at = word.find([':', '#']).filter(|at| is_place(&word[at + 1..]));
    at.map_or(word, |at| &word[..at])
}

fn says_new(behind: &str) -> bool {
    let behind = behind.trim_start_matches(['*', '_', ' ']);
    behind.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("(new"))
}

/// File extensions that make a name without a slash a file.
const ENDINGS: [&str; 44] = [
    "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "env", "ex", "exs", "go", "gradle", "h",
    "hpp", "html", "ini", "ipynb", "java", "js", "json", "jsonl", "jsx", "kt", "lock", "lua", "md",
    "mjs", "php", "proto", "py", "rb", "rs", "scss", "sh", "sql", "svelte", "swift", "toml", "ts",
    "tsx", "txt", "vue", "yaml",
];

fn is_path(word: &str, exists: impl Fn(&str) -> bool) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "._-/@+ ".contains(letter);
    let holds = !word.is_empty()
        && !word.starts_with(['-', '@', '+', ' '])
        && word.chars().all(is_letter)
        && word.chars().any(char::is_alphanumeric)
        && !word.contains("//")
        && !is_command(word);
    if !holds {
        return false;
    }
    let relative = word.trim_start_matches("./");
    let Some((first, _)) = relative.split_once('/') else {
        return has_ending(relative);
    };
    // `github.com/x`, `origin/main`, `application/json`, `/api/users`: decide by the first part.
    let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_host = !first.starts_with('.') && first.contains('.');
    match first {
        "" => has_ending(name),
        _ if is_host => exists(first),
        _ => has_ending(name) || exists(first),
    }
}

/// `docs/x y.md` is a path; `npm run x/y.ts` and `./x y/z.md` are a program with arguments.
fn is_command(word: &str) -> bool {
    let first = word.split_once(' ').map(|(first, _)| first);
    first.is_some_and(|first| first.starts_with("./") || !first.contains('/'))
}

fn has_ending(name: &str) -> bool {
    let ending =
        name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    ending.is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

// The five sections of a plan, under the headings that the planner is told to write.
//
// Letter case and level do not matter. A section counts only if it has text.

/// The heading of each section, and what belongs below it.
const SECTIONS: [(&str, &str); 5] = [
    ("Requirements summary", "the goal and what is out of scope"),
    ("Acceptance criteria", "sentences that are true or false"),
    ("Steps", "each with its file and the change"),
    ("Risks", "the risks, each with its countermeasure"),
    ("Verification", "the commands that prove the whole, and their output"),
];

/// The sections that are missing or have no text.
fn missing_sections(text: &str) -> Vec<Failed> {
    let headings: Vec<(usize, usize, &str)> = prose(text)
        .filter_map(|(line, text)| heading(text).map(|(level, name)| (line, level, name)))
        .collect();
    let block = plan::block(text).map_or(usize::MAX, |block| block.line);
    let has_text = |(line, level, _): &(usize, usize, &str)| {
        let next = headings.iter().find(|(next, other, _)| next > line && other <= level);
        let last = next.map_or(usize::MAX, |(next, ..)| *next).min(block);
        text.lines()
            .enumerate()
            .skip(*line)
            .take_while(|(at, _)| at + 1 < last)
            .any(|(_, text)| heading(text).is_none() && text.chars().any(char::is_alphanumeric))
    };
    let lacks = |(name, about): &(&str, &str)| {
        let mut of_it = headings.iter().filter(|(.., other)| other.eq_ignore_ascii_case(name));
        match of_it.clone().next() {
            None => Some(Failed::whole(format!(
                "The section `{name}` is missing: write `## {name}` and below it {about}."
            ))),
            Some(_) if of_it.any(has_text) => None,
            Some((line, ..)) => {
                Some(Failed::at(*line, format!("the section `{name}` is empty; write {about}")))
            }
        }
    };
    SECTIONS.iter().filter_map(lacks).collect()
}

/// `## Risks` as its level and its words.
fn heading(line: &str) -> Option<(usize, &str)> {
    let name = line.trim_start_matches('#');
    let level = line.len() - name.len();
    let is_heading = (1..=6).contains(&level) && name.starts_with([' ', '\t']);
    is_heading.then(|| (level, name.trim().trim_end_matches([':', '#']).trim_end()))
}

// Words that promise something nobody can check.
//
// Such a word is acceptable if its line gives a number or names the command that proves it. Text
// between backticks is a name, not a promise; a title and a quotation are the user's own words.

/// The words and phrases. A star matches any ending.
const VAGUE: [&str; 37] = [
    "improve*",
    "improving",
    "improvement*",
    "optimi*",
    "enhanc*",
    "better",
    "faster",
    "cleaner",
    "nicer",
    "properly",
    "appropriate*",
    "adequate*",
    "reasonabl*",
    "sensibl*",
    "robust*",
    "efficient*",
    "seamless*",
    "user-friendly",
    "intuitive*",
    "various",
    "somehow",
    "etc",
    "tbd",
    "tbc",
    "todo",
    "fixme",
    "gracefully",
    "as needed",
    "as necessary",
    "as required",
    "if needed",
    "if necessary",
    "where needed",
    "where necessary",
    "and so on",
    "to be decided",
    "to be determined",
];

/// The lines with such a word, but for titles.
fn vague_lines(text: &str) -> impl Iterator<Item = Failed> {
    let lines = prose(text).filter(|(_, line)| !line.starts_with("# "));
    lines.filter_map(|(at, line)| vague_word(line).map(|word| Failed::at(at, unclear(&word))))
}

/// The first such word, unless the line has a number or a command.
fn vague_word(line: &str) -> Option<String> {
    let (quoted, plain) = spans(line);
    let plain = plain.to_lowercase();
    let found = vague_in(&plain)?;
    let has_command = quoted.iter().any(|(inside, _)| runs_something(inside));
    (!has_command && !has_number(&plain)).then_some(found)
}

fn vague_in(plain: &str) -> Option<String> {
    let words = plain.split(|letter: char| !(letter.is_alphanumeric() || letter == '-'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is = |(word, known): (&&str, &str)| match known.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => *word == known,
    };
    VAGUE.iter().find_map(|vague| {
        let mut places = words.windows(vague.split(' ').count());
        let found = places.find(|place| place.iter().zip(vague.split(' ')).all(is))?;
        Some(found.join(" "))
    })
}

/// True for a number that measures something: not a list mark, and not the number of a step or a
/// task.
fn has_number(plain: &str) -> bool {
    let mut before = "";
    for (at, word) in plain.trim_start_matches(['#', ' ', '-', '*']).split_whitespace().enumerate()
    {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let is_mark = at == 0 && (word.ends_with('.') || word.ends_with(')'));
        let is_counted = ["step", "phase", "task", "part", "section", "no"].contains(&before);
        let starts = bare.starts_with(|letter: char| letter.is_ascii_digit());
        if starts && !is_mark && !is_counted {
            return true;
        }
        before = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    }
    false
}

/// True for a program with arguments.
fn runs_something(inside: &str) -> bool {
    let program = inside.split_whitespace().next().unwrap_or_default();
    inside.split_whitespace().count() > 1
        && program.starts_with(|letter: char| letter.is_ascii_lowercase() || "./".contains(letter))
}

#[cfg(test)]
mod sections_tests {
    use super::*;

    /// Compares the sections that a plan lacks, by the first word of their headings.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let said: Vec<String> = missing_sections(text).iter().map(Failed::to_string).collect();
        assert_eq!(said.len(), expected.len(), "{text}\n{said:#?}");
        for (said, words) in said.iter().zip(expected) {
            assert!(said.contains(words), "{said} has not {words}");
        }
    }

    /// A plan with these headings, each with a sentence below it.
    fn plan(headings: &[&str]) -> String {
        let below =
            headings.iter().map(|heading| format!("{heading}\n\nThe form posts to /login.\n\n"));
        format!("# The plan of all steps\n\n{}", below.collect::<String>())
    }

    #[test]
    fn each_section_that_is_missing_is_named() {
        let whole = SECTIONS.map(|(name, _)| format!("## {name}"));
        let whole = whole.each_ref().map(String::as_str);
        check(&plan(&whole), &[]);
        for (at, name) in whole.iter().enumerate() {
            let without: Vec<&str> = whole.iter().copied().filter(|one| one != name).collect();
            check(&plan(&without), &[&format!("`{}` is missing", &whole[at][3..])]);
        }
        check(
            "Do it.",
            &["Requirements summary", "Acceptance criteria", "Steps", "Risks", "Verification"],
        );
    }

    #[test]
    fn letter_case_and_level_of_a_heading_do_not_matter() {
        let headings =
            ["# REQUIREMENTS SUMMARY", "### Acceptance Criteria", "## steps ##", "# Risks:"];
        check(&plan(&headings), &["Verification"]);
        check(&plan(&["## Overview", "## Steps of the work", "#Risks"]), &[""; 5]);
    }

    #[test]
    fn a_section_without_text_is_empty() {
        let with = |risks: &str| {
            let four = "## Requirements summary\na b\n## Acceptance criteria\na b\n## Steps\na b\n";
            format!("{four}## Risks\n{risks}\n## Verification\n\nnpm test\n")
        };
        check(&with("A restart forgets the counts."), &[]);
        check(&with("### Of the form\n\n- it is slow"), &[]);
        check(&with("```sh\nnpm test\n```"), &[]);
        for nothing in ["", "- [ ] ", "...", "---", "### Of the form", "\u{200b}"] {
            check(&with(nothing), &["line 7: the section `Risks` is empty"]);
        }
    }

    #[test]
    fn neither_a_quoted_heading_nor_the_block_is_a_section() {
        let text = "## Requirements summary\na b\n## Acceptance criteria\na b\n## Steps\na b\n\
                    ```markdown\n## Risks\na b\n```\n## Verification\n\n```json ralph-plan\n{}\n```\n";
        check(text, &["`Risks` is missing", "the section `Verification` is empty"]);
    }
}

#[cfg(test)]
mod tests;
