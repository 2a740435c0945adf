//! A report as one self-contained HTML page: no script, no request, no font.
//!
//! Its policy forbids the browser to fetch anything, so no text on the page can cause a request.
//! The page follows the system's light or dark scheme and never shows a fact by colour alone.

use super::journal::{Cell, FromWhen, Spent, Worth};
use super::of_loop::moment;
use super::words::{self, counted, grouped, lasted, rounded, share};
use super::{
    Changes, Evidence, FindingShown, Gauge, Report, ReportRound, ReportStep, ReportTurn, TaskShown,
    Tone, Trouble,
};
use crate::tasks::graph::TaskReadiness;
use maud::{Markup, PreEscaped, html};

/// Marks a file as one of our reports, which may be overwritten.
pub const MARK: &str = "<meta name=\"generator\" content=\"ralph report\">";

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

const STYLE: &str = include_str!("page/style.css");

/// Iterations shown with time and tokens, the latest ones.
const MOST_BARS: usize = 60;

/// Maximum length of the goal in the heading, in characters.
const HEADING: usize = 140;

const ALL_TASKS: [TaskReadiness; 7] = [
    TaskReadiness::Done,
    TaskReadiness::InProgress,
    TaskReadiness::Ready,
    TaskReadiness::Waiting,
    TaskReadiness::Blocked,
    TaskReadiness::Failed,
    TaskReadiness::Unknown,
];

/// Renders the page.
pub fn render(report: &Report) -> String {
    let title = format!("{}: {}", report.outcome.word, words::line(&report.goal, 80));
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                (PreEscaped(MARK))
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Without an icon, a browser requests one from the page's origin.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (header(report)) (numbers(report)) (cards(report)) (footer(report)) } }
        }
        "\n"
    };
    page.into_string()
}

/// The number of tasks by status.
pub(super) fn tasks_summary(report: &Report) -> String {
    let told = ALL_TASKS.iter().filter_map(|status| {
        let n = report.tasks.iter().filter(|task| task.standing == *status).count();
        (n > 0).then(|| format!("{} {}", grouped(n as u64), status.word()))
    });
    told.collect::<Vec<_>>().join(", ")
}

fn header(report: &Report) -> Markup {
    let goal = report.goal.trim();
    let first = words::line(goal.lines().next().unwrap_or_default(), HEADING);
    html! {
        header {
            div.over { span.mark { "Ralph" } (report.kind) span.id { (report.id) } }
            h1 { (if first.is_empty() { report.kind } else { &first }) }
            div.outcome {
                (pill(report.outcome.tone, &report.outcome.word))
                @if !report.outcome.detail.is_empty() { span.why { (report.outcome.detail) } }
            }
            @if first != goal {
                details.goal { summary { "What was asked for, whole" } pre { (goal) } }
            }
            dl.facts {
                @for (label, value) in &report.facts { div { dt { (label) } dd { (value) } } }
            }
        }
    }
}

fn numbers(report: &Report) -> Markup {
    html! {
        section.gauges aria-label="in numbers" { @for one in &report.gauges { (gauge(one)) } }
        @if !report.next.is_empty() { p.next { b { "Next" } span { (with_code(&report.next)) } } }
        @for note in &report.notes { p.note { (note) } }
    }
}

fn gauge(gauge: &Gauge) -> Markup {
    html! {
        div.gauge.(gauge.tone.word()) {
            div.label { (gauge.label) }
            div.value {
                (gauge.value)
                @if !gauge.of.is_empty() { " " span { (gauge.of) } }
            }
            @if let Some(share) = gauge.share { (bar(share)) }
        }
    }
}

fn cards(report: &Report) -> Markup {
    let left_out = match report.n_left_out {
        0 => String::new(),
        n => format!("{} left out", counted(n, "earlier one is", "earlier ones are")),
    };
    let measured = format!("what each said, and the {} that were measured", report.rounds.unit);
    html! {
        @if !report.evidence.is_empty() {
            (card("Evidence", "the last run of each acceptance command, made by Ralph", html! {
                @for one in &report.evidence { (evidence(one)) }
            }))
        }
        @if !report.findings.is_empty() {
            (card("Reviews", "what reviewers found in the changes, and what became of it", html! {
                @for one in &report.findings { (finding(one)) }
            }))
        }
        @if let Some(one) = &report.changes {
            (card("What changed", &one.summary(), changes(one)))
        }
        @if !report.rounds.all.is_empty() { (card("Rounds", &measured, rounds(report))) }
        @if !report.history.rows.is_empty() {
            (card("Criteria over time", "at the end of each turn or round", history(report)))
        }
        @if !report.tasks.is_empty() { (card("Tasks", &tasks_summary(report), tasks(report))) }
        @if !report.spent.is_empty() { (card("Time and tokens", "by turns or rounds", spent(report))) }
        @if !report.trouble.is_empty() {
            (card("In the way", "", html! {
                div.troubles { @for one in &report.trouble { (trouble(one)) } }
            }))
        }
        @if !report.timeline.is_empty() {
            (card("Timeline", &left_out, html! { @for one in &report.timeline { (turn(one)) } }))
        }
    }
}

fn card(title: &str, hint: &str, inside: Markup) -> Markup {
    let is_long = matches!(title, "Timeline" | "In the way" | "Tasks" | "Rounds");
    html! {
        section.card.long[is_long] {
            header { h2 { (title) } @if !hint.is_empty() { span.hint { (hint) } } }
            (inside)
        }
    }
}

fn footer(report: &Report) -> Markup {
    html! {
        footer {
            "Made by " code { "ralph report" }
            @match report.made_at {
                Some(at) => { " at " (moment(at)) ", while it was not over." }
                None => " when it was over. All times are UTC.",
            }
        }
    }
}

/// A text with the parts between backticks as code.
fn with_code(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

/// A decorative sign before the words that have the same meaning.
fn sign(letter: &str, tone: Tone) -> Markup {
    html! { span.sign.(tone.word()) aria-hidden="true" { (letter) } }
}

fn sign_of(tone: Tone) -> Markup {
    let letter = match tone {
        Tone::Good => "✓",
        Tone::Warn => "▲",
        Tone::Bad => "✕",
        Tone::Live => "◐",
        Tone::Quiet => "•",
    };
    sign(letter, tone)
}

fn pill(tone: Tone, word: &str) -> Markup {
    html! { span.pill.(tone.word()) { (sign_of(tone)) (word) } }
}

fn bar(hundredths: u8) -> Markup {
    html! {
        div.bar aria-hidden="true" {
            @if hundredths > 0 { i style={ "width:" (hundredths) "%" } {} }
        }
    }
}

fn left_out(n: usize, one: &str, many: &str) -> Markup {
    html! { @if n > 0 { p.hint { (counted(n, one, many)) " left out." } } }
}

fn evidence(one: &Evidence) -> Markup {
    html! {
        div.proof {
            (pill(one.tone, &words::spaced(one.standing)))
            div {
                div.name { span.id { (one.id) } (one.about) }
                div.said {
                    @if !one.command.is_empty() { code { (one.command) } " " }
                    (one.receipt)
                }
                @if one.tone == Tone::Bad && !one.tail.is_empty() {
                    pre { (one.tail) }
                } @else if !one.tail.is_empty() {
                    details { summary { "Last output" } pre { (one.tail) } }
                }
            }
        }
    }
}

fn finding(one: &FindingShown) -> Markup {
    let said = html! { "review " (one.found_by) ": " (one.became) };
    proof(pill(one.tone, &one.severity), &one.place, &one.what, said)
}

/// A rating with what is rated, and what is said of it.
fn proof(rating: Markup, id: &str, name: &str, said: Markup) -> Markup {
    html! {
        div.proof {
            (rating)
            div {
                div.name { span.id { (id) } (name) }
                div.said { (said) }
            }
        }
    }
}

fn changes(changes: &Changes) -> Markup {
    let [files, commits] = changes.rows();
    html! {
        @if !files.is_empty() { pre { (aligned(&files)) } }
        @if !commits.is_empty() {
            details open[commits.len() < 12] {
                summary { (counted(changes.commits.len(), "commit", "commits")) }
                pre { (aligned(&commits)) }
            }
        }
        (left_out(changes.n_left_out(), "entry is", "entries are"))
    }
}

/// Two columns as text, so that a path can be copied.
fn aligned(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(first, _)| first.chars().count()).max().unwrap_or_default();
    let rows = rows.iter().map(|(first, second)| format!("{first:<width$}  {second}"));
    rows.collect::<Vec<_>>().join("\n")
}

fn rounds(report: &Report) -> Markup {
    let rounds = &report.rounds;
    html! {
        ul.spent {
            li.head { span {} span { "changes said" } span { (rounds.unit) " measured" } }
            @for round in &rounds.all {
                (beside(&round.number.to_string(), &format!("Round {}", round.number), [
                    &round.said, &round.measured,
                ].map(|one| Some((one.share.unwrap_or_default(), one.word.clone())))))
            }
        }
        @for round in &rounds.all { (of_round(round)) }
        (left_out(rounds.n_left_out, "earlier round is", "earlier rounds are"))
    }
}

fn of_round(round: &ReportRound) -> Markup {
    let mut said = vec![match &round.change {
        Some(change) => format!("measured: {change}"),
        None => "what changed could not be measured".to_owned(),
    }];
    said.extend(round.version.map(|number| format!("version {number}")));
    said.extend(round.remarks.iter().cloned());
    let (rating, id) = (pill(round.tone, round.word), format!("Round {}", round.number));
    proof(rating, &id, &round.summary, html! { (said.join("; ")) })
}

fn history(report: &Report) -> Markup {
    let history = &report.history;
    let key = [
        (Worth::Holds, FromWhen::Now, "holds"),
        (Worth::Holds, FromWhen::Before, "held when last run"),
        (Worth::Fails, FromWhen::Now, "does not hold"),
        (Worth::Stale, FromWhen::Now, "stale, or to be run once more"),
        (Worth::Never, FromWhen::Now, "not run"),
    ];
    let table = html! {
        table.history {
            tr { th.row scope="col" {} @for moment in &history.moments { th scope="col" { (moment) } } }
            @for one in &history.rows {
                tr {
                    th.row scope="row" { span.id { (one.id) } (one.about) }
                    @for cell in &one.cells { td { (of_cell(cell)) } }
                }
            }
        }
    };
    html! {
        (wide("Criteria over time", table))
        p.key { @for (worth, looked, said) in key { span { (sign_of_worth(worth, looked)) (said) } } }
        (left_out(history.n_moments_left_out, "earlier turn is", "earlier turns are"))
        (left_out(history.n_rows_left_out, "criterion is", "criteria are"))
    }
}

fn sign_of_worth(worth: Worth, looked: FromWhen) -> Markup {
    let (letter, tone) = match worth {
        Worth::Holds => ("✓", Tone::Good),
        Worth::Fails => ("✕", Tone::Bad),
        Worth::Stale => ("▲", Tone::Warn),
        Worth::Never => return sign("•", Tone::Quiet),
    };
    match looked {
        FromWhen::Now => sign(letter, tone),
        FromWhen::Before => sign(&format!("({letter})"), tone),
    }
}

fn of_cell(cell: &Cell) -> Markup {
    let is_of_run = matches!(cell.worth, Worth::Holds | Worth::Fails);
    let is_old = is_of_run && cell.looked == FromWhen::Before;
    let when = if is_old { " when it was last run" } else { "" };
    html! {
        (sign_of_worth(cell.worth, cell.looked))
        span.only-said { (words::spaced(&cell.word)) (when) }
    }
}

/// Content that may be wider than the page scrolls separately and can be reached by keyboard.
fn wide(label: &str, inside: Markup) -> Markup {
    html! { div.wide role="region" tabindex="0" aria-label=(label) { (inside) } }
}

/// The tasks by wave, followed by those that are in no wave.
fn tasks(report: &Report) -> Markup {
    let mut tasks: Vec<&TaskShown> = report.tasks.iter().collect();
    tasks.sort_by_key(|task| task.wave.unwrap_or(usize::MAX));
    let table = html! {
        table.tasks {
            @for wave in tasks.chunk_by(|one, next| one.wave == next.wave) {
                tr { th.wave colspan="3" scope="rowgroup" { (name_of_wave(wave)) } }
                @for task in wave { (of_task(task, report)) }
            }
        }
    };
    html! {
        (wide("The tasks by waves", table))
        @if report.n_tasks_left_out > 0 {
            p.hint { "and " (grouped(report.n_tasks_left_out as u64)) " more" }
        }
    }
}

fn name_of_wave(tasks: &[&TaskShown]) -> String {
    let wave = tasks.first().and_then(|task| task.wave);
    let name = wave.map_or_else(|| "in no wave".to_owned(), |wave| format!("wave {wave}"));
    let n_done = tasks.iter().filter(|task| task.standing == TaskReadiness::Done).count();
    let all = counted(tasks.len(), "task", "tasks");
    format!("{name}: {} of {all} done", grouped(n_done as u64))
}

fn of_task(task: &TaskShown, report: &Report) -> Markup {
    let (letter, tone) = match task.standing {
        TaskReadiness::Done => ("✓", Tone::Good),
        TaskReadiness::InProgress => ("◐", Tone::Live),
        TaskReadiness::Ready => ("▷", Tone::Live),
        TaskReadiness::Waiting => ("◌", Tone::Quiet),
        TaskReadiness::Failed => ("✕", Tone::Bad),
        TaskReadiness::Blocked => ("■", Tone::Warn),
        TaskReadiness::Unknown => ("?", Tone::Quiet),
    };
    let after: Vec<&str> =
        task.after.iter().filter_map(|at| Some(report.tasks.get(*at)?.id.as_str())).collect();
    html! {
        tr.task {
            td.id { (task.id) }
            td.status { (sign(letter, tone)) (task.standing.word()) }
            td {
                (task.name)
                @if !after.is_empty() { div.more { "after " span.after { (after.join(", ")) } } }
                @if !task.remark.is_empty() { div.more { (task.remark) } }
            }
        }
    }
}

fn spent(report: &Report) -> Markup {
    let shown = &report.spent[report.spent.len().saturating_sub(MOST_BARS)..];
    let longest = shown.iter().map(|one| one.took_ms).max().unwrap_or_default();
    let most = shown.iter().filter_map(|one| one.tokens).max().unwrap_or_default();
    let n_left_out = report.spent.len() - shown.len();
    html! {
        ul.spent {
            li.head { span {} span { "time" } @if most > 0 { span { "tokens" } } }
            @for one in shown { (measures(one, longest, most)) }
        }
        (left_out(n_left_out, "earlier turn is", "earlier turns are"))
        @if !report.tokens.is_empty() {
            dl.kinds {
                @for (label, n) in &report.tokens { div { dt { (label) } dd { (grouped(*n)) } } }
            }
        }
    }
}

fn measures(one: &Spent, longest: u64, most: u64) -> Markup {
    let tokens = one.tokens.filter(|_| most > 0);
    let tokens = tokens.map(|tokens| (share(tokens, most), rounded(tokens)));
    let time = Some((share(one.took_ms, longest), lasted(one.took_ms)));
    beside(&one.short, &one.title, [time, tokens])
}

/// Two numbers side by side, each with a bar; an unknown number has none.
fn beside(short: &str, title: &str, numbers: [Option<(u8, String)>; 2]) -> Markup {
    html! {
        li {
            span.name title=(title) { (short) }
            @for (tone, measure) in [Tone::Live, Tone::Quiet].into_iter().zip(numbers) {
                span.measure.(tone.word()) {
                    @if let Some((share, said)) = measure { (bar(share)) span { (said) } }
                }
            }
        }
    }
}

fn trouble(one: &Trouble) -> Markup {
    html! {
        div {
            h3 {
                (sign_of(one.tone)) (one.title)
                span { (grouped((one.items.len() + one.more) as u64)) }
            }
            ul.list {
                @for (at, what) in &one.items { li { span.id { (at) } span { (with_code(what)) } } }
                @if one.more > 0 { li.more { "and " (grouped(one.more as u64)) " more" } }
            }
        }
    }
}

fn turn(turn: &ReportTurn) -> Markup {
    html! {
        div.turn {
            h3 {
                (turn.title)
                @if let Some(at) = turn.at { " " span { (moment(at)) } }
                @if !turn.sum.is_empty() { " " span { (turn.sum) } }
            }
            ol.steps { @for one in &turn.steps { li { (step(one)) } } }
        }
    }
}

fn step(step: &ReportStep) -> Markup {
    // Details that repeat the line above are left out.
    let rows: Vec<_> = step.rows.iter().filter(|(_, value)| *value != step.why).collect();
    html! {
        (sign_of(step.tone))
        span.what { (step.what) }
        @if let Some(at) = step.at { " " time { (at.strftime("%H:%M:%SZ").to_string()) } }
        @if !step.why.is_empty() { div.why { (with_code(&step.why)) } }
        @if !rows.is_empty() {
            details {
                summary { "Details" }
                dl { @for (label, value) in rows { dt { (label) } dd { (value) } } }
            }
        }
    }
}
