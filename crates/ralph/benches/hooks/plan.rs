//! What is measured: cases, and rows that compare one case with another.

use std::rc::Rc;

use crate::driver::{Call, Outcome};
use crate::home::Home;
use crate::repos::Repo;

/// Index of a case in its plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CaseId(pub(crate) usize);

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) call: Call,
    pub(crate) expected: Expected,
    pub(crate) before: Before,
    pub(crate) pace: Pace,
}

/// The right answer; a wrong one makes the row's figure worthless, however fast it came.
#[derive(Clone, Copy)]
pub(crate) enum Expected {
    /// Exit 0 without output.
    Silence,
    /// Exit 0 with any output.
    Success,
    /// Exit 0, with one of these texts on standard output.
    Says(&'static [&'static str]),
    /// Exit 2, the pattern's way to refuse a tool.
    ExitTwo,
}

impl Expected {
    pub(crate) fn met_by(self, outcome: &Outcome) -> bool {
        match self {
            Expected::Silence => {
                outcome.code == 0 && outcome.stdout.is_empty() && outcome.stderr.is_empty()
            }
            Expected::Success => outcome.code == 0,
            Expected::Says(texts) => outcome.code == 0 && says_one_of(&outcome.stdout, texts),
            Expected::ExitTwo => outcome.code == 2,
        }
    }
}

fn says_one_of(answer: &[u8], texts: &[&str]) -> bool {
    let answer = String::from_utf8_lossy(answer);
    texts.iter().any(|text| answer.contains(text))
}

/// Prepared right before each sample, outside the measured time.
#[derive(Clone, Default)]
pub(crate) struct Before {
    pub(crate) rewind: Option<Rc<Home>>,
    pub(crate) advance: Option<Rc<Repo>>,
}

/// In how many of the rounds a case takes part.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// For cases below 10 ms.
    Every,
    /// For cases of tens of milliseconds.
    Fourth,
    /// For slower cases.
    Tenth,
}

impl Pace {
    /// Even a short run gives the slow cases five samples.
    pub(crate) fn takes_part(self, round: u32, rounds: u32) -> bool {
        let every = match self {
            Pace::Every => 1,
            Pace::Fourth => 4,
            Pace::Tenth => 10,
        };
        round.is_multiple_of(every.min(rounds / 5).max(1))
    }
}

pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) subject: Subject,
    pub(crate) reference: Option<CaseId>,
    pub(crate) bar: Bar,
}

pub(crate) enum Subject {
    Case(CaseId),
    /// The executable does not exist.
    Absent,
}

/// The bar for the quotient of a row's two medians.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    None,
    AtMost(f64),
    AtLeast(f64),
    /// A bar for their difference instead, in milliseconds.
    ExtraMsAtMost(f64),
    /// So many times the reference, and so many milliseconds.
    AtMostAndMs(f64, f64),
}

#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) cases: Vec<Case>,
    pub(crate) rows: Vec<Row>,
}

impl Plan {
    pub(crate) fn case(&mut self, case: Case) -> CaseId {
        self.cases.push(case);
        CaseId(self.cases.len() - 1)
    }

    /// A row without a subject stays in the table, so that the reader sees what was not measured.
    pub(crate) fn row(
        &mut self,
        name: &str,
        subject: Option<CaseId>,
        reference: Option<CaseId>,
        bar: Bar,
    ) {
        let subject = subject.map_or(Subject::Absent, Subject::Case);
        self.rows.push(Row { name: name.to_owned(), subject, reference, bar });
    }

    /// Drops the rows that were not requested; cases that no row needs then do not run.
    pub(crate) fn keep_only(&mut self, text: &str) {
        self.rows.retain(|row| row.name.contains(text));
    }

    pub(crate) fn needed(&self, id: CaseId) -> bool {
        self.rows.iter().any(|row| {
            row.reference == Some(id) || matches!(row.subject, Subject::Case(s) if s == id)
        })
    }
}
