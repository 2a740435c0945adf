//! Sample loops for tests.

use super::model::{
    Bar, Criterion, DecisionLine, InputMode, Model, SignalView, TextTone, Time, WatchedLoop,
};
use jiff::Timestamp;
use ralph_core::transcript::row::Doing;

pub(super) fn at(time: &str) -> Timestamp {
    format!("2026-01-31T{time}Z").parse().unwrap()
}

pub(super) fn shown(loop_id: &str) -> WatchedLoop {
    WatchedLoop { loop_id: loop_id.to_owned(), ..WatchedLoop::default() }
}

pub(super) fn model(loops: Vec<WatchedLoop>) -> Model {
    Model {
        of: "/home/ann/shop".to_owned(),
        loops,
        unreadable: Vec::new(),
        selected: 0,
        asks: InputMode::Nothing,
        notice: String::new(),
        colours: true,
        now: at("12:34:56"),
    }
}

pub(super) fn at_work() -> WatchedLoop {
    let criterion = |id: &str, word, tone, time: Option<&str>, note: &str, about: &str| Criterion {
        id: id.to_owned(),
        word,
        tone,
        at: time.map(at),
        note: note.to_owned(),
        description: about.to_owned(),
    };
    let decision = |time: &str, what: &str, why: &str| DecisionLine {
        at: at(time),
        what: what.to_owned(),
        why: why.to_owned(),
    };
    WatchedLoop {
        loop_id: "20260131-121030-1f3a".to_owned(),
        state: "running".to_owned(),
        tone: TextTone::Good,
        position: "3/25".to_owned(),
        tasks: (2, 5),
        goal:
            "Make the importer understand dates with a time zone, and say which line of a file it \
               could not read"
                .to_owned(),
        rows: vec![
            ("task", "T-3 Parse the time zone, T-4 Name the line".to_owned()),
            ("progress", "something changed since the stop before".to_owned()),
            ("checkpoint", "2, all held at 2026-01-31 12:20:00".to_owned()),
            ("next", "`ralph verify --loop 20260131-121030-1f3a` runs the criteria".to_owned()),
        ],
        doing: Some(Doing {
            tool: "Bash".to_owned(),
            about: "cargo test -p importer dates".to_owned(),
            at: Some(at("12:34:40")),
            goes_on: true,
        }),
        bars: vec![
            Bar { label: "continued", used: 3, most: 25 },
            Bar { label: "tokens", used: 1_234_567, most: 5_000_000 },
            Bar { label: "stall", used: 1, most: 3 },
        ],
        time: Some(Time { began: at("12:10:30"), ended: None, most: 480 }),
        criteria: vec![
            criterion(
                "AC-1",
                "held",
                TextTone::Good,
                Some("12:31:00"),
                "41 tests",
                "the tests pass",
            ),
            criterion(
                "AC-2",
                "failed",
                TextTone::Wrong,
                Some("12:33:50"),
                "exit code 101",
                "a bad file names its line",
            ),
            criterion("AC-3", "not run", TextTone::Waits, None, "", "the linter is silent"),
        ],
        decisions: vec![
            decision("12:34:02", "next turn", "AC-2 failed, AC-3 was not run"),
            decision("12:25:11", "tool call refused", "the model asked to end the loop itself"),
            decision("12:20:00", "next turn", "3 tasks are open"),
        ],
        signals: vec![
            SignalView {
                is_heard: true,
                kind: "INFO",
                text: "the staging server is back".to_owned(),
            },
            SignalView {
                is_heard: false,
                kind: "STEER",
                text: "leave the CSV reader alone".to_owned(),
            },
        ],
    }
}

/// One loop that waits for the user, and one that has ended.
pub(super) fn others() -> Vec<WatchedLoop> {
    vec![
        WatchedLoop {
            state: "planning: you decide".to_owned(),
            tone: TextTone::Waits,
            position: "1/5".to_owned(),
            goal: "Plan the move to the new API".to_owned(),
            ..shown("20260131-113000-02bc")
        },
        WatchedLoop {
            state: "ended: complete".to_owned(),
            tone: TextTone::Good,
            position: "7/25".to_owned(),
            tasks: (4, 4),
            goal: "Fix the \u{1b}[2Jflaky test".to_owned(),
            ..shown("20260131-090000-77aa")
        },
    ]
}
