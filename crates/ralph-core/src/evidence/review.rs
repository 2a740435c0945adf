//! Reviews: the answer of a reviewer, and whether it counts.
//!
//! A reviewer is a fresh client that can only read. Its answer ends with one JSON object: a verdict
//! about one criterion, or the findings about a loop's changes. The model that writes the answer may
//! be wrong or may lie, so a verdict counts only with evidence that resolves: the file and the line
//! exist, and the quote stands there.

pub mod prompt;

use crate::state::{Citation, Criterion, Finding, ReviewReceipt, ReviewRound, Task};
use crate::text::plural::noun;
use crate::text::sanitize::visible;
use crate::text::truncate::bounded;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The fewest characters of a quote that is a part of its line.
pub const SHORTEST_QUOTE: usize = 20;

/// The fewest letters of a line that is quoted whole: a brace stands in every file.
pub const FEWEST_LETTERS: usize = 8;

/// The lens of what Ralph finds itself.
pub const OWN_LENS: &str = "Ralph";

/// The longest answer that is read, in bytes. The object is searched for in its end.
const LONGEST: usize = 1 << 20;

/// The most items that one answer may list.
const MOST_ITEMS: usize = 100;

/// The most objects of an answer that are looked at for another verdict.
const MOST_OBJECTS: usize = 200;

/// The longest text of a reviewer that Ralph keeps, in UTF-16 units.
const TEXT: usize = 600;

/// A reviewer's answer about one criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub holds: bool,
    pub evidence: Vec<Citation>,
    pub why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVerdict {
    verdict: String,
    evidence: Vec<RawCitation>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCitation {
    file: String,
    line: u64,
    quote: String,
}

/// Reads the verdict at the end of an answer.
///
/// # Errors
/// When the answer does not end with one JSON object of the agreed form.
pub fn verdict(answer: &str) -> Result<Verdict, String> {
    let object = last_object(answer)?;
    let raw: RawVerdict = serde_json::from_str(object)
        .map_err(|error| format!("the object has another form than agreed: {error}"))?;
    let before = &answer[..answer.rfind(object).unwrap_or_default()];
    if gives_another(before, &raw.verdict) {
        return Err("it gives two verdicts that differ".to_owned());
    }
    let holds = match raw.verdict.as_str() {
        "holds" => true,
        "fails" => false,
        other => {
            return Err(format!("the verdict is `holds` or `fails`, not `{}`", bounded(other, 40)));
        }
    };
    if raw.evidence.len() > MOST_ITEMS {
        return Err(format!("it cites more lines than the most of {MOST_ITEMS}"));
    }
    let evidence = raw.evidence.into_iter().map(|one| Citation {
        file: bounded(&one.file, TEXT),
        line: one.line,
        quote: bounded(&one.quote, TEXT),
    });
    Ok(Verdict { holds, evidence: evidence.collect(), why: bounded(raw.why.trim(), TEXT) })
}

/// True if the text contains a whole verdict other than this one: which of the two is meant?
fn gives_another(text: &str, verdict: &str) -> bool {
    let begins = text.rmatch_indices('{').take(MOST_OBJECTS);
    let mut others = begins.filter_map(|(at, _)| {
        let mut documents = serde_json::Deserializer::from_str(&text[at..]).into_iter();
        documents.next()?.ok().map(|found: RawVerdict| found.verdict)
    });
    others.any(|other| other != verdict)
}

/// What a reviewer found through its lens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// The first ones, all major ones before the others if there are too many.
    pub found: Vec<Finding>,
    /// How many more the answer lists.
    pub n_left_out: usize,
}

/// Reads the findings at the end of an answer. A finding without a severity, a file or a line is
/// returned as it is: [`sort`] drops it and says why.
///
/// # Errors
/// When the answer does not end with one JSON object of the agreed form.
pub fn findings(answer: &str, lens: &str) -> Result<Findings, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Raw {
        findings: Vec<Value>,
    }
    let raw: Raw = serde_json::from_str(last_object(answer)?)
        .map_err(|error| format!("the object has another form than agreed: {error}"))?;
    let text = |item: &Value, name: &str| {
        let given = item.get(name).and_then(Value::as_str).unwrap_or_default();
        bounded(given.trim(), TEXT)
    };
    let finding = |item: &Value| Finding {
        lens: lens.to_owned(),
        severity: text(item, "severity").to_ascii_lowercase(),
        file: text(item, "file"),
        line: item.get("line").and_then(Value::as_u64).unwrap_or_default(),
        quote: text(item, "quote"),
        // It becomes the name of a task and a line on the screen.
        what: visible(&text(item, "what").split_whitespace().collect::<Vec<_>>().join(" "))
            .into_owned(),
        ..Finding::default()
    };
    let mut found: Vec<Finding> = raw.findings.iter().map(finding).collect();
    let n_left_out = found.len().saturating_sub(MOST_ITEMS);
    if n_left_out > 0 {
        found.sort_by_key(|one| one.severity != MAJOR);
        found.truncate(MOST_ITEMS);
    }
    Ok(Findings { found, n_left_out })
}

/// The JSON object that ends the answer; a code fence around it is allowed.
fn last_object(answer: &str) -> Result<&str, String> {
    const NONE: &str = "the answer does not end with one JSON object";
    let mut begins = answer.len().saturating_sub(LONGEST);
    while !answer.is_char_boundary(begins) {
        begins += 1;
    }
    let text = answer[begins..].trim_end();
    let text = text.strip_suffix("```").map_or(text, str::trim_end);
    if !text.ends_with('}') {
        return Err(NONE.to_owned());
    }
    let begin = object_start(text).ok_or(NONE)?;
    // Two verdicts are no verdict: which of them is meant?
    let before = text[..begin].trim_end();
    let before = match before.rsplit_once("```") {
        Some((before, "" | "json")) => before.trim_end(),
        _ => before,
    };
    let before = before.strip_suffix("```").map_or(before, str::trim_end);
    if before.ends_with('}') && object_start(before).is_some() {
        return Err("the answer ends with more than one JSON object".to_owned());
    }
    Ok(&text[begin..])
}

/// Where the object begins that ends with the text: the first `{` after which the rest is one JSON
/// document. The number of tries is bounded, and a brace that begins a line is tried first: a quoted
/// line of code may hold many others.
fn object_start(text: &str) -> Option<usize> {
    const MOST_TRIES: usize = 200;
    let begins_line = |line: &str| {
        let blank = line.len() - line.trim_start().len();
        line[blank..].starts_with('{').then_some(blank)
    };
    let mut at = 0;
    let of_lines = text.split_inclusive('\n').filter_map(|line| {
        let begin = at;
        at += line.len();
        Some(begin + begins_line(line)?)
    });
    let is_whole = |at: &usize| serde_json::from_str::<IgnoredAny>(&text[*at..]).is_ok();
    let first_whole = |last_tries: &[usize]| last_tries.iter().copied().find(is_whole);
    let of_lines: Vec<usize> = of_lines.collect();
    let tried = of_lines.len().saturating_sub(MOST_TRIES);
    first_whole(&of_lines[tried..]).or_else(|| {
        let mut others: Vec<usize> =
            text.rmatch_indices('{').map(|(at, _)| at).take(MOST_TRIES).collect();
        others.reverse();
        first_whole(&others)
    })
}

/// The text of a file, or why it cannot be read.
pub type TextReader<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Whether a citation resolves: the file and the line exist, and the quote stands there.
///
/// # Errors
/// Why it does not resolve.
pub fn resolves(citation: &Citation, texts: TextReader<'_>) -> Result<(), String> {
    let place = format!("{}:{}", citation.file, citation.line);
    let quote = citation.quote.trim();
    let text = texts(&citation.file).map_err(|why| format!("{place} {why}"))?;
    let line = line_of(&text, citation.line).map_err(|why| format!("{place} {why}"))?;
    if !line.contains(quote) {
        return Err(format!("{place} does not contain the quote"));
    }
    if quote.chars().count() < SHORTEST_QUOTE && !(line.trim() == quote && is_quoted(quote, &text))
    {
        return Err(format!(
            "the quote of {place} is too short; it needs a length of {SHORTEST_QUOTE}, or to be a whole line, its letters \
             {FEWEST_LETTERS} or more, that occurs once"
        ));
    }
    if speaks_to_a_reviewer(line) {
        return Err(format!("{place} speaks to its reviewer"));
    }
    Ok(())
}

fn line_of(text: &str, line: u64) -> Result<&str, String> {
    let at = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
    at.and_then(|at| text.lines().nth(at))
        .ok_or_else(|| format!("does not exist: the file ends at line {}", text.lines().count()))
}

/// True if a quote stands in this text, and singles out its place.
fn is_quoted(quote: &str, text: &str) -> bool {
    let n_letters = quote.chars().filter(|letter| letter.is_alphabetic()).count();
    let n_lines = || text.lines().filter(|line| line.trim() == quote).count();
    (quote.chars().count() >= SHORTEST_QUOTE && text.contains(quote))
        || (n_letters >= FEWEST_LETTERS && n_lines() == 1)
}

/// True for a line in the form of a reviewer's answer, and for one that names a reviewer beside what one answers. Such
/// a line is no evidence, and is named; it decides nothing.
fn speaks_to_a_reviewer(line: &str) -> bool {
    let line = line.to_lowercase();
    let bare: String = line.split_whitespace().collect();
    let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    has(&bare, &["\"verdict\":", "\"findings\":"])
        || (has(&line, &["reviewer"])
            && has(&line, &["verdict", "holds", "finding", "approve", "ignore"]))
}

/// Names each of these files that speaks to its reviewer, by its first such line.
pub fn speaking(files: &[String], texts: TextReader<'_>) -> Vec<Finding> {
    let named = files.iter().filter_map(|file| {
        let text = texts(file).ok()?;
        let (line, quote) = (1..).zip(text.lines()).find(|(_, line)| speaks_to_a_reviewer(line))?;
        Some(Finding {
            lens: OWN_LENS.to_owned(),
            severity: MINOR.to_owned(),
            file: file.clone(),
            line,
            quote: bounded(quote.trim(), TEXT),
            what: "it speaks to its reviewer".to_owned(),
            ..Finding::default()
        })
    });
    named.take(MOST_ITEMS).collect()
}

/// What Ralph knows about the review of a criterion, besides the answer.
#[derive(Debug, Clone, Copy)]
pub struct ReviewFacts<'a> {
    /// The session that Ralph started for the reviewer.
    pub started: &'a str,
    /// The session that the client reported.
    pub reported: Option<&'a str>,
    /// The sessions of the loop, now and before.
    pub of_loop: &'a [String],
    /// The files that changed while the reviewer read.
    pub changed: &'a [String],
    /// The tree before the review.
    pub tree_before: &'a str,
    /// The tree after it.
    pub tree_after: &'a str,
}

/// Why a verdict does not count; `None` if it counts.
pub fn discounts(
    verdict: &Verdict,
    facts: &ReviewFacts<'_>,
    texts: TextReader<'_>,
) -> Option<String> {
    let is_of_loop = |id: &str| facts.of_loop.iter().any(|session| session == id);
    match facts.reported {
        None => return Some("its session is unknown".to_owned()),
        Some(id) if is_of_loop(id) => {
            return Some("it comes from the loop's own session".to_owned());
        }
        Some(id) if id != facts.started => {
            return Some("it comes from another session than the reviewer's".to_owned());
        }
        Some(_) => {}
    }
    if facts.tree_before != facts.tree_after || !facts.changed.is_empty() {
        let files = match facts.changed {
            [] => "files".to_owned(),
            [first] => first.clone(),
            [first, rest @ ..] => {
                format!("{first} and {} {} more", rest.len(), noun(rest.len(), "file", "files"))
            }
        };
        return Some(format!("{files} changed while the reviewer read"));
    }
    if verdict.evidence.is_empty() {
        return Some("it cites no line as evidence".to_owned());
    }
    verdict.evidence.iter().find_map(|one| resolves(one, texts).err())
}

/// The places that a verdict cites: `docs/a.md:3, src/b.rs:9`.
pub fn places(review: &ReviewReceipt) -> String {
    const SHOWN: usize = 3;
    let cited = review.evidence.iter().take(SHOWN);
    let mut places: Vec<String> =
        cited.map(|one| format!("{}:{}", bounded(&one.file, 80), one.line)).collect();
    if review.evidence.len() > SHOWN {
        places.push(format!("{} more", review.evidence.len() - SHOWN));
    }
    places.join(", ")
}

/// A reviewer's reason with the places that it cites, on one line.
pub fn reason(review: &ReviewReceipt) -> String {
    let why = bounded(&review.why.split_whitespace().collect::<Vec<_>>().join(" "), 200);
    match (why.as_str(), places(review).as_str()) {
        ("", "") => "it gives no reason".to_owned(),
        ("", places) => places.to_owned(),
        (why, "") => why.to_owned(),
        (why, places) => format!("{why} ({places})"),
    }
}

/// The severity of a finding that becomes a task.
pub const MAJOR: &str = "major";

/// The severity of a finding that is only reported.
pub const MINOR: &str = "minor";

/// Decides about each finding: drops those that cite no changed file and line, have no severity, or
/// were found already in this round. A major finding is confirmed if its quote stands in a changed
/// file. `changed` lists the files that the loop changed, without those that changed during the
/// review.
pub fn sort(findings: &mut [Finding], changed: &[String], texts: TextReader<'_>) {
    for at in 0..findings.len() {
        let (earlier, rest) = findings.split_at_mut(at);
        let Some(finding) = rest.first_mut() else { return };
        finding.dropped = drops(finding, changed, texts).unwrap_or_default();
        let is_same = |other: &&Finding| {
            other.dropped.is_empty()
                && (&other.file, other.line, other.quote.trim())
                    == (&finding.file, finding.line, finding.quote.trim())
        };
        if finding.dropped.is_empty()
            && finding.severity == MAJOR
            && let Some(same) = earlier.iter().filter(|one| one.severity == MAJOR).find(is_same)
        {
            finding.dropped = format!("found already ({})", same.lens);
        }
    }
}

fn drops(finding: &Finding, changed: &[String], texts: TextReader<'_>) -> Option<String> {
    if ![MAJOR, MINOR].contains(&finding.severity.as_str()) {
        return Some("it has no severity".to_owned());
    }
    if finding.what.is_empty() {
        return Some("it does not say what is wrong".to_owned());
    }
    if !changed.contains(&finding.file) {
        return Some("it cites no file that changed".to_owned());
    }
    if finding.line == 0 {
        return Some("it cites no line".to_owned());
    }
    let there = |text: String| line_of(&text, finding.line).map(drop);
    if let Err(why) = texts(&finding.file).and_then(there) {
        return Some(format!("its line {why}"));
    }
    let quote = finding.quote.trim();
    let quotes = |file: &String| texts(file).is_ok_and(|text| is_quoted(quote, &text));
    if finding.severity == MAJOR && !changed.iter().any(quotes) {
        return Some("its quote is in no file that changed".to_owned());
    }
    None
}

/// The confirmed major findings.
pub fn confirmed(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(|one| one.severity == MAJOR && one.dropped.is_empty())
}

/// The task that fixes a finding.
pub fn task(finding: &Finding, id: &str) -> Task {
    let place = format!("{}:{}", visible(&finding.file), finding.line);
    Task {
        id: id.to_owned(),
        name: bounded(&format!("fix {place}: {}", finding.what), 300),
        completion_condition: format!(
            "the reviewer's finding about {place} (`{}`) is fixed, and the criteria hold",
            visible(&bounded(finding.quote.trim(), 120)).replace(['\n', '\t'], " ")
        ),
        files: vec![finding.file.clone()],
        ..Task::default()
    }
}

/// What became of a finding, in words. `tasks` are the loop's tasks.
pub fn became(finding: &Finding, tasks: &[Task]) -> String {
    match &finding.task {
        Some(id) => match tasks.iter().find(|task| task.id == *id) {
            Some(task) => format!("{id} {}", task.status.as_str().replace('_', " ")),
            None => id.clone(),
        },
        None if !finding.dropped.is_empty() => format!("dropped: {}", finding.dropped),
        None if finding.severity == MINOR => "reported".to_owned(),
        None => "open".to_owned(),
    }
}

/// What the last review of a criterion decided: `AC-2 is reviewed`, `AC-2 failed its review: …`.
/// `None` for a criterion without a review.
pub fn outcome(criterion: &Criterion) -> Option<String> {
    let receipt = criterion.receipt.as_ref()?;
    let (id, review) = (&criterion.id, receipt.review.as_ref()?);
    Some(match (receipt.vacuous.as_str(), receipt.passed) {
        ("", true) => format!("{id} is reviewed: {}", reason(review)),
        ("", false) => format!("{id} failed its review: {}", reason(review)),
        (why, _) => format!("{id} has a verdict that does not count: {why}"),
    })
}

/// `2 rounds of review: 1 major finding, 3 minor`; empty without a round.
pub fn summary(reviews: &[ReviewRound]) -> String {
    let all = || reviews.iter().flat_map(|round| &round.findings);
    let major = all().filter(|one| one.severity == MAJOR && one.dropped.is_empty()).count();
    let minor = all().filter(|one| one.severity == MINOR && one.dropped.is_empty()).count();
    match reviews.len() {
        0 => String::new(),
        n => format!(
            "{n} {} of review: {major} major {}, {minor} minor",
            noun(n, "round", "rounds"),
            noun(major, "finding", "findings")
        ),
    }
}

#[cfg(test)]
mod lies;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;
