//! What a person types after `/ralph`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::modes::arguments::{self, LoopRequest, Options};
use ralph_core::modes::start::{self, Facts, StartDecision, StartInputs};
use ralph_core::project::settings::Settings;
use ralph_core::state::{LimitFlag, StartedBy};
use ralph_core::transcript::cutoff;

const NUMBERS: [LimitFlag; 4] =
    [LimitFlag::MaxIterations, LimitFlag::MaxMinutes, LimitFlag::MaxTokens, LimitFlag::StallLimit];

/// Exact or refused: the number that is taken is the number that was typed.
fn check_number(text: &str) {
    for number in NUMBERS {
        match arguments::parse_number(number, text) {
            Ok(value) => {
                assert_eq!(value.to_string(), text);
                assert!((1..=number.most()).contains(&value));
            }
            Err(_) => {
                let plain = text.parse::<u64>().is_ok_and(|value| value.to_string() == text);
                let value = text.parse::<u64>().unwrap_or(0);
                assert!(!plain || value == 0 || value > number.most(), "{text} was refused");
            }
        }
    }
}

fn task_of(text: &str) -> Option<String> {
    arguments::parse(text).ok()?.task
}

/// Nothing is expanded, and nothing that is no flag is taken out of what was typed.
fn check_text(text: &str) {
    let typed = text.trim();
    let quotes = |text: &str| text.contains(['"', '\'']);
    let first = typed.chars().next();
    if first.is_some() && !quotes(typed) {
        let dashes = ['-', '\u{2013}', '\u{2014}'];
        if !typed.contains(dashes) {
            assert_eq!(task_of(text).as_deref(), Some(typed), "a task is given back as typed");
        }
        let after = format!("-- {typed}");
        assert_eq!(task_of(&after).as_deref(), Some(typed), "after `--` everything is text");
    }
    let inside = text.trim_matches('"');
    if !inside.contains('"') && !inside.trim().is_empty() {
        let quoted = format!("\"{inside}\"");
        assert_eq!(task_of(&quoted).as_deref(), Some(inside), "quotes keep the whole as one");
    }
}

/// A flag says the same before any text.
fn check_flag_before(text: &str, alone: &LoopRequest) {
    let with = arguments::parse(&format!("--max-iterations 7 --baseline=x {text}"));
    assert!(with.is_err(), "`--baseline` takes no value");
    let with = arguments::parse(&format!("--max-iterations 7 {text}"));
    match (alone.options.max_iterations, with) {
        (Some(_), with) => assert!(with.is_err(), "a flag that is given twice is refused"),
        (None, Ok(with)) => {
            assert_eq!(with.task, alone.task);
            let expected = Options { max_iterations: Some(7), ..alone.options.clone() };
            assert_eq!(with.options, expected);
        }
        (None, Err(refused)) => panic!("{refused}"),
    }
}

/// The loop that is started has the task as it was read.
fn check_start(request: &LoopRequest) {
    let seen = StartInputs { bound: None, project: None, prompt_id: "p" };
    match (start::decide(request, seen), &request.task) {
        (StartDecision::New(task), Some(asked)) => {
            assert_eq!(&task, asked);
            let facts = Facts {
                now: jiff::Timestamp::UNIX_EPOCH,
                project_root: "/p".to_owned(),
                discovered: Vec::new(),
                started_by: StartedBy::Person,
            };
            let state = start::new_loop(
                &task,
                &request.options,
                |state| Settings::default().apply(state),
                facts,
            );
            assert_eq!(&state.prompt, asked, "a prompt is never changed");
            assert_eq!(state.max_iterations, request.options.max_iterations.unwrap_or(25));
            assert!(!state.is_live());
        }
        (StartDecision::Refuse(why), None) => assert!(!why.is_empty()),
        other => panic!("{other:?}"),
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    check_number(&text);
    text.split([' ', '=']).for_each(check_number);
    check_text(&text);
    if cutoff::is_our_command(&text) {
        assert!(text.trim_start().starts_with("/ralph"));
    }
    match arguments::parse(&text) {
        Ok(request) => {
            let options = &request.options;
            for (at, criterion) in options.criteria.iter().enumerate() {
                assert_eq!(criterion.id, format!("AC-{}", at + 1));
                assert!(text.contains(&criterion.verification_command), "taken as typed");
                assert!(!criterion.verified && criterion.receipt.is_none());
            }
            assert!(request.task.as_ref().is_none_or(|task| !task.trim().is_empty()));
            check_flag_before(&text, &request);
            check_start(&request);
        }
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
});
