//! A report as Markdown for a pull request: a summary, with all details folded.
//!
//! Text from models and people is shown as plain text: it cannot format, link, mention a user or
//! refer to another pull request. The place of the project is left out, since other people read a
//! pull request.

use super::journal::{FromWhen, Worth};
use super::words::{self, LONG, SHORT, counted};
use super::{Evidence, Report, ReportRound, ReportStep, Rounds, Tone, Trouble};
use crate::tasks::graph::draw;
use std::fmt::Write as _;

/// A pull request takes 65,536 characters.
const MOST: usize = 60_000;

/// Tasks listed; a longer list has no graph, and the rest is only counted.
const MOST_DRAWN: usize = 40;

/// Criteria shown.
const MOST_CRITERIA: usize = 40;

/// Rounds shown, the latest ones.
const MOST_ROUNDS: usize = 40;

/// Decisions shown, the latest ones.
const MOST_STEPS: usize = 60;

/// Problems shown per kind.
const MOST_TROUBLE: usize = 10;

/// Renders the report as Markdown.
pub fn render(report: &Report) -> String {
    let mut whole = head(report);
    let parts = [
        evidence(report),
        findings(report),
        changes(report),
        rounds(report),
        history(report),
        tasks(report),
        trouble(report),
        timeline(report),
    ];
    let mut is_cut = false;
    for part in parts {
        match whole.len() + part.len() < MOST {
            true => whole.push_str(&part),
            false => is_cut = true,
        }
    }
    if is_cut {
        whole.push_str(
            "\nNot all of it fits here; `ralph report --html FILE` makes a page of it.\n",
        );
    }
    whole
}

fn head(report: &Report) -> String {
    let outcome = &report.outcome;
    let mut head = format!("### Ralph: {} {}\n\n", sign(outcome.tone), text(&outcome.word));
    let goal = words::line(&report.goal, LONG);
    // Writing to a string cannot fail.
    if !goal.is_empty() {
        let _ = writeln!(head, "> **Asked for:** {}\n", text(&goal));
    }
    if !outcome.detail.is_empty() {
        let _ = writeln!(head, "**Why:** {}\n", text(&outcome.detail));
    }
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    head += &row(report.gauges.iter().map(|one| one.label.to_owned()).collect());
    head += &row(report.gauges.iter().map(|_| "---".to_owned()).collect());
    let value = |one: &super::Gauge| format!("{} {}", one.value, one.of).trim_end().to_owned();
    head += &row(report.gauges.iter().map(value).collect());
    for note in &report.notes {
        let _ = writeln!(head, "\n**Note:** {}", text(note));
    }
    if !report.next.is_empty() {
        let _ = writeln!(head, "\n**Next:** {}", with_code(&report.next));
    }
    let _ = writeln!(
        head,
        "\n<sub>{} {}, by <code>ralph report</code></sub>",
        report.kind,
        code(&report.id)
    );
    head
}

fn sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "✅",
        Tone::Warn => "⚠️",
        Tone::Bad => "❌",
        Tone::Live => "⏳",
        Tone::Quiet => "▫️",
    }
}

fn evidence(report: &Report) -> String {
    if report.evidence.is_empty() {
        return String::new();
    }
    let mut part = "\n| | Criterion | Command | Last run |\n|---|---|---|---|\n".to_owned();
    for Evidence { id, about, command, standing, tone, receipt, .. } in
        report.evidence.iter().take(MOST_CRITERIA)
    {
        let standing = words::spaced(standing);
        let _ = writeln!(
            part,
            "| {} {standing} | **{}** {} | {} | {} |",
            sign(*tone),
            text(id),
            text(about),
            code(&words::line(command, SHORT)),
            text(receipt)
        );
    }
    part += &more(report.evidence.len(), MOST_CRITERIA);
    for Evidence { id, tail, .. } in report.evidence.iter().take(MOST_CRITERIA) {
        if !tail.is_empty() {
            part += &folded(&format!("Last output of {}", text(id)), &printed(tail));
        }
    }
    part
}

fn findings(report: &Report) -> String {
    if report.findings.is_empty() {
        return String::new();
    }
    let mut part =
        "\n| Review | Finding | Place | What became of it |\n|---|---|---|---|\n".to_owned();
    for one in report.findings.iter().take(MOST_CRITERIA) {
        let _ = writeln!(
            part,
            "| {} | **{}** {} | {} | {} |",
            text(&one.found_by),
            text(&one.severity),
            text(&one.what),
            code(&one.place),
            text(&one.became)
        );
    }
    part += &more(report.findings.len(), MOST_CRITERIA);
    part
}

fn changes(report: &Report) -> String {
    let Some(changes) = &report.changes else { return String::new() };
    let mut part = format!("\n**Changed:** {}\n", text(&changes.summary()));
    let [files, commits] = changes.rows();
    for (title, rows) in [("Files", files), ("Commits", commits)] {
        if !rows.is_empty() {
            let row = |(first, second): &(String, String)| {
                format!("- {} {}\n", code(first), text(second))
            };
            part += &folded(title, &rows.iter().map(row).collect::<String>());
        }
    }
    part + &more(changes.n_left_out(), 0)
}

/// A command's output, line by line.
fn printed(output: &str) -> String {
    let lines = output.lines().map(|line| {
        let line = code(line);
        let line = line.strip_prefix("<code>").and_then(|line| line.strip_suffix("</code>"));
        line.unwrap_or_default().to_owned()
    });
    // An empty line would end the HTML block.
    let lines: Vec<String> =
        lines.map(|line| if line.is_empty() { " ".into() } else { line }).collect();
    format!("<pre>{}</pre>", lines.join("<br>"))
}

fn rounds(report: &Report) -> String {
    let Rounds { all, n_left_out, .. } = &report.rounds;
    if all.is_empty() {
        return String::new();
    }
    let n_skipped = all.len().saturating_sub(MOST_ROUNDS);
    let mut part =
        "\n| Round | Changes said | Measured | What it did |\n|---|---|---|---|\n".to_owned();
    for ReportRound { number, word, tone, said, change, summary, remarks, version, .. } in
        &all[n_skipped..]
    {
        let mut told = vec![text(&words::line(summary, SHORT))];
        told.extend(remarks.iter().map(|remark| format!("({remark})")));
        told.extend(version.map(|version| format!("(version {version})")));
        told.retain(|one| !one.is_empty());
        let row =
            [said.word.clone(), text(change.as_deref().unwrap_or("not known")), told.join(" ")]
                .join(" | ");
        let _ = writeln!(part, "| {} **{number}** {word} | {row} |", sign(*tone));
    }
    part + &match n_left_out + n_skipped {
        0 => String::new(),
        n => format!("\n{} left out\n", counted(n, "earlier round is", "earlier rounds are")),
    }
}

fn more(n: usize, most: usize) -> String {
    match n.saturating_sub(most) {
        0 => String::new(),
        more => format!("\nand {} more\n", words::grouped(more as u64)),
    }
}

fn folded(title: &str, inside: &str) -> String {
    format!("\n<details><summary>{title}</summary>\n\n{}\n\n</details>\n", inside.trim_end())
}

fn history(report: &Report) -> String {
    const SHOWN: usize = 15;
    let history = &report.history;
    // A single column adds nothing to the table of criteria.
    if history.rows.is_empty() || history.moments.len() < 2 {
        return String::new();
    }
    let from = history.moments.len().saturating_sub(SHOWN);
    let mut table = format!("| | {} |\n|---|", history.moments[from..].join(" | "));
    table += &"---|".repeat(history.moments.len() - from);
    for row in history.rows.iter().take(MOST_CRITERIA) {
        let cells = row.cells[from..].iter().map(|cell| match (cell.worth, cell.looked) {
            (Worth::Holds, FromWhen::Now) => "✅",
            (Worth::Holds, FromWhen::Before) => "☑️",
            (Worth::Fails, _) => "❌",
            (Worth::Stale, _) => "⚠️",
            (Worth::Never, _) => "·",
        });
        let _ =
            write!(table, "\n| {} | {} |", text(&row.id), cells.collect::<Vec<_>>().join(" | "));
    }
    table += "\n\n✅ holds, ☑️ passed when it was last run, ❌ does not hold, ⚠️ stale, · not run";
    folded("Criteria at the end of each turn or round", &table)
}

fn tasks(report: &Report) -> String {
    let all = &report.tasks;
    if all.is_empty() {
        return String::new();
    }
    let shown = &all[..all.len().min(MOST_DRAWN)];
    let mut inside = String::new();
    if all.len() == shown.len() {
        let drawn: Vec<_> =
            shown.iter().map(|task| (&*task.id, &*task.name, task.standing)).collect();
        let edges = shown
            .iter()
            .enumerate()
            .flat_map(|(to, task)| task.after.iter().map(move |from| (*from, to)));
        let _ = write!(inside, "```mermaid\n{}```\n\n", draw::flowchart(&drawn, edges));
    }
    for task in shown {
        let remark = words::line(&task.remark, SHORT);
        let remark = if remark.is_empty() { remark } else { format!(": {}", text(&remark)) };
        let (id, name) = (text(&task.id), text(&task.name));
        let _ = writeln!(inside, "- **{id}** {name} ({}){remark}", task.standing.word());
    }
    inside += &more(all.len() + report.n_tasks_left_out, shown.len());
    folded(&format!("Tasks: {}", super::page::tasks_summary(report)), &inside)
}

fn trouble(report: &Report) -> String {
    let mut inside = String::new();
    for Trouble { title, items, more: beyond, .. } in &report.trouble {
        let _ = writeln!(inside, "**{title}**\n");
        for (at, what) in items.iter().take(MOST_TROUBLE) {
            let at = if at.is_empty() { String::new() } else { format!("**{}** ", text(at)) };
            let _ = writeln!(inside, "- ▸ {at}{}", text(what));
        }
        inside += &more(items.len() + beyond, MOST_TROUBLE);
        inside.push('\n');
    }
    let n: usize = report.trouble.iter().map(|one| one.items.len() + one.more).sum();
    if n == 0 {
        inside
    } else {
        folded(&format!("In the way: {}", counted(n, "thing", "things")), &inside)
    }
}

fn timeline(report: &Report) -> String {
    let n: usize = report.timeline.iter().map(|turn| turn.steps.len()).sum();
    if n == 0 {
        return String::new();
    }
    let mut to_skip = n.saturating_sub(MOST_STEPS);
    let mut inside = String::new();
    for turn in &report.timeline {
        let skipped = to_skip.min(turn.steps.len());
        to_skip -= skipped;
        let steps = &turn.steps[skipped..];
        if steps.is_empty() {
            continue;
        }
        let sum = if turn.sum.is_empty() { String::new() } else { format!(" ({})", turn.sum) };
        let _ = writeln!(inside, "**{}**{sum}\n", text(&turn.title));
        steps.iter().for_each(|step| inside += &of_step(step));
        inside.push('\n');
    }
    let all = n + report.n_left_out;
    let shown = n.min(MOST_STEPS);
    let title = match shown == all {
        true => format!("Timeline: {}", counted(all, "entry", "entries")),
        false => format!("Timeline: the last {shown} of {}", counted(all, "entry", "entries")),
    };
    folded(&title, &inside)
}

fn of_step(step: &ReportStep) -> String {
    let at = step.at.map(|at| format!("{} ", at.strftime("%H:%M:%SZ"))).unwrap_or_default();
    let why = words::line(&step.why, 240);
    let why = if why.is_empty() { why } else { format!(": {}", text(&why)) };
    format!("- {} {at}**{}**{why}\n", sign(step.tone), text(&step.what))
}

/// Escapes a text to be shown literally. Not for the start of a block, where a digit and a dot, or
/// a dash, have a meaning.
fn text(given: &str) -> String {
    let mut escaped = String::with_capacity(given.len() + given.len() / 8);
    let mut before = ' ';
    for letter in given.chars() {
        match letter {
            '*' | '_' | '[' | ']' | '~' | '$' | '!' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            // A zero-width space keeps GitHub from linking a name, a number or an address.
            '@' | '#' => {
                escaped.push_str(&format!("&#{};&#8203;", u32::from(letter)));
            }
            ':' => escaped.push_str(":&#8203;"),
            '.' if before == 'w' || before == 'W' => escaped.push_str(".&#8203;"),
            '-' if before == 'H' || before == 'h' => escaped.push_str("-&#8203;"),
            '<' | '>' | '&' | '|' | '\\' | '`' | '{' | '}' => {
                escaped.push_str(&format!("&#{};", u32::from(letter)));
            }
            letter => escaped.push(letter),
        }
        before = letter;
    }
    // A colon before a space does not start an address.
    escaped.replace(":&#8203; ", ": ")
}

/// A text as code. Inside a table no fence can hold every text, but HTML can.
fn code(given: &str) -> String {
    if given.is_empty() {
        return String::new();
    }
    let mut escaped = String::with_capacity(given.len() * 2);
    let mut before = ' ';
    for letter in given.chars() {
        match letter {
            '.' if before == 'w' || before == 'W' => escaped.push_str("&#46;"),
            ' ' | '-' | '/' | '.' | ',' | '=' => escaped.push(letter),
            letter if letter.is_alphanumeric() => escaped.push(letter),
            letter => escaped.push_str(&format!("&#{};", u32::from(letter))),
        }
        before = letter;
    }
    format!("<code>{escaped}</code>")
}

/// One of our texts, with the parts between backticks as code.
fn with_code(given: &str) -> String {
    let parts = given.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { text(part) } else { code(part) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(text(given), expected);
    }

    #[test]
    fn a_text_formats_nothing_and_calls_nobody() {
        check("a *b* _c_ [d](e) ~f~", "a \\*b\\* \\_c\\_ \\[d\\](e) \\~f\\~");
        check("<img src=x> | `x` \\", "&#60;img src=x&#62; &#124; &#96;x&#96; &#92;");
        check("@all see #12, GH-3", "&#64;&#8203;all see &#35;&#8203;12, GH-&#8203;3");
        check("https://a.b www.c.d", "https:&#8203;//a.b www.&#8203;c.d");
        check("so: it is", "so: it is");
    }

    #[test]
    fn code_is_code_whatever_it_holds() {
        assert_eq!(code("a | `b`"), "<code>a &#124; &#96;b&#96;</code>");
        assert_eq!(code("</code><b>"), "<code>&#60;/code&#62;&#60;b&#62;</code>");
        assert_eq!(code("www.a.b"), "<code>www&#46;a.b</code>");
        assert_eq!(code("@x #1"), "<code>&#64;x &#35;1</code>");
        assert_eq!(
            with_code("say `ralph status --loop L` now"),
            "say <code>ralph status --loop L</code> now"
        );
    }
}
