//! What is to be measured: cases, and rows that compare one case with another.

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
    /// Exit 0, nothing said.
    Silence,
    /// Exit 0, whatever is said.
    Success,
    /// Exit 0, and one of these texts in the answer.
    Says(&'static [&'static str]),
    /// The pattern's way to refuse a tool.
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

/// What is set right before each sample, outside the measured time.
#[derive(Clone, Default)]
pub(crate) struct Before {
    pub(crate) rewind: Option<Rc<Home>>,
    pub(crate) advance: Option<Rc<Repo>>,
}

/// How many of the rounds a case takes part in.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// Below 10 ms.
    Every,
    /// Tens of milliseconds.
    Fourth,
    /// More than that.
    Tenth,
}

impl Pace {
    /// A short run still gives the slow cases five samples.
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
    /// The executable of this name does not exist yet.
    Absent,
}

/// What the quotient of a row's two medians has to be.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    None,
    AtMost(f64),
    AtLeast(f64),
    /// Not the quotient but the difference, in milliseconds.
    ExtraMsAtMost(f64),
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

    /// A row without a subject is still a row: a reader has to see what was not measured.
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

    /// Drops the rows that were not asked for; cases that no row needs are then not run.
    pub(crate) fn keep_only(&mut self, text: &str) {
        self.rows.retain(|row| row.name.contains(text));
    }

    pub(crate) fn needed(&self, id: CaseId) -> bool {
        self.rows.iter().any(|row| {
            row.reference == Some(id) || matches!(row.subject, Subject::Case(s) if s == id)
        })
    }
}
