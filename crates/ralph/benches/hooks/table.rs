//! Compares the medians with the bars and renders the result as a table.

use std::fmt::Write;

use crate::plan::{Bar, CaseId, Plan, Row, Subject};
use crate::rounds::Samples;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Ok,
    Miss,
    /// The row has no bar.
    Unjudged,
    Absent,
    WrongAnswer,
}

pub(crate) struct Judged {
    name: String,
    median: String,
    reference: String,
    ratio: String,
    bar: String,
    pub(crate) mark: Mark,
}

pub(crate) fn judge(plan: &Plan, samples: &[Samples]) -> Vec<Judged> {
    plan.rows.iter().map(|row| judge_row(row, plan, samples)).collect()
}

fn judge_row(row: &Row, plan: &Plan, samples: &[Samples]) -> Judged {
    let of = |id: CaseId| &samples[id.0];
    let reference = row.reference.and_then(|id| of(id).median_ms());
    let named = |id: CaseId| plan.cases[id.0].name.clone();
    let blank = || "-".to_owned();
    let mut judged = Judged {
        name: row.name.clone(),
        median: blank(),
        reference: match (row.reference, reference) {
            (Some(id), Some(ms)) => format!("{} {ms:.3}", named(id)),
            _ => blank(),
        },
        ratio: blank(),
        bar: row.bar.to_string(),
        mark: Mark::Absent,
    };
    let Subject::Case(subject) = row.subject else {
        return judged;
    };
    let Some(median) = of(subject).median_ms() else {
        return judged;
    };
    if of(subject).wrong.is_some() || row.reference.is_some_and(|id| of(id).wrong.is_some()) {
        judged.mark = Mark::WrongAnswer;
        return judged;
    }
    judged.median = format!("{median:.3}");
    match (reference, row.bar) {
        (Some(reference), bar) => {
            judged.ratio = bar.figure(median, reference);
            judged.mark = bar.mark(median, reference);
        }
        (None, Bar::None) => judged.mark = Mark::Unjudged,
        (None, _) => judged.mark = Mark::Absent,
    }
    judged
}

impl Bar {
    fn figure(self, median: f64, reference: f64) -> String {
        match self {
            Bar::ExtraMsAtMost(_) => format!("{:+.2} ms", median - reference),
            _ => format!("{:.2}", median / reference),
        }
    }

    fn mark(self, median: f64, reference: f64) -> Mark {
        let held = match self {
            Bar::None => return Mark::Unjudged,
            Bar::AtMost(most) => median / reference <= most,
            Bar::AtLeast(least) => median / reference >= least,
            Bar::ExtraMsAtMost(most) => median - reference <= most,
            Bar::AtMostAndMs(most, ms) => median <= most * reference + ms,
        };
        if held { Mark::Ok } else { Mark::Miss }
    }
}

impl std::fmt::Display for Bar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bar::None => f.write_str("-"),
            Bar::AtMost(most) => write!(f, "<= {most:.2}"),
            Bar::AtLeast(least) => write!(f, ">= {least:.0}"),
            Bar::ExtraMsAtMost(most) => write!(f, "<= {most:.1} ms"),
            Bar::AtMostAndMs(most, ms) => write!(f, "<= {most:.2} + {ms:.0} ms"),
        }
    }
}

impl Mark {
    fn text(self) -> &'static str {
        match self {
            Mark::Ok => "ok",
            Mark::Miss => "MISS",
            Mark::Unjudged => "-",
            Mark::Absent => "absent",
            Mark::WrongAnswer => "WRONG ANSWER",
        }
    }
}

pub(crate) fn render(rows: &[Judged]) -> String {
    let head = ["case", "median ms", "reference", "ratio", "bar", ""].map(str::to_owned);
    let mut lines = vec![head];
    for row in rows {
        let cells = [&row.name, &row.median, &row.reference, &row.ratio, &row.bar];
        let [name, median, reference, ratio, bar] = cells.map(Clone::clone);
        lines.push([name, median, reference, ratio, bar, row.mark.text().to_owned()]);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let [a, b, c, d, e, _] = [0, 1, 2, 3, 4, 5].map(width);
    let mut text = String::new();
    for [name, median, reference, ratio, bar, mark] in &lines {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{name:<a$}  {median:>b$}  {reference:<c$}  {ratio:>d$}  {bar:<e$}  {mark}"
        );
    }
    text
}
