//! The calls of agents, their history, and the messages of the user.

use super::agents::{AgentRole, Mode};
use super::fixture::now;
use super::invocation::{CallKey, Invocation, Running};
use super::recovery::{CallEnd, Recovery, Tries, Try, after};
use super::signal::{
    Held, Hold, SignalKeyword, SignalsForAgents, TOLD, UnheardSignal, find_hold, is_for_router,
    listen, parts, pauses,
};
use super::state::{MetadataStatus, State};
use crate::state::{OrchestrationCall, OrchestrationState};
use jiff::SignedDuration;

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

#[test]
fn each_word_names_its_agent_its_mode_its_state_and_its_status() {
    let modes: Vec<(&str, Option<&str>, &str)> =
        Mode::all().map(|mode| (mode.word(), mode.said(), mode.agent().name())).collect();
    let (planner, questioner) = ("Ralph-v2-Planner", "Ralph-v2-Questioner");
    let (executor, reviewer) = ("Ralph-v2-Executor", "Ralph-v2-Reviewer");
    assert_eq!(
        modes,
        [
            ("INITIALIZE", Some("INITIALIZE"), planner),
            ("TASK_BREAKDOWN", Some("TASK_BREAKDOWN"), planner),
            ("UPDATE", Some("UPDATE"), planner),
            ("REBREAKDOWN", Some("REBREAKDOWN"), planner),
            ("REBREAKDOWN_TASK", Some("REBREAKDOWN_TASK"), planner),
            ("UPDATE_METADATA", Some("UPDATE_METADATA"), planner),
            ("REPAIR_STATE", Some("REPAIR_STATE"), planner),
            ("brainstorm", Some("brainstorm"), questioner),
            ("research", Some("research"), questioner),
            ("feedback-analysis", Some("feedback-analysis"), questioner),
            ("EXECUTE", None, executor),
            ("TASK_REVIEW", None, reviewer),
            ("TIMEOUT_FAIL", Some("TIMEOUT_FAIL"), reviewer),
            ("SESSION_REVIEW", Some("SESSION_REVIEW"), reviewer),
        ]
    );
    for mode in Mode::all() {
        assert_eq!(Mode::from_word(mode.word()), Some(mode));
        assert_eq!(mode.to_string(), mode.word());
        let written = serde_json::to_string(&mode).unwrap();
        assert_eq!(written, format!("\"{}\"", mode.word()));
        assert_eq!(serde_json::from_str::<Mode>(&written).unwrap(), mode);
    }
    assert_eq!(Mode::try_from("X".to_owned()), Err("`X` is not a mode of an agent".to_owned()));
    for agent in AgentRole::ALL {
        assert_eq!(AgentRole::from_agent_type(agent.name()), Some(agent));
        assert_eq!(AgentRole::from_agent_type(&format!("ralph:{agent}")), Some(agent));
    }
    assert_eq!(AgentRole::from_agent_type("ralph:ralph:Ralph-v2-Planner"), None);
    for state in State::ALL {
        assert_eq!(
            (State::from_word(state.word()), state.to_string()),
            (Some(state), state.word().into())
        );
    }
    let statuses = MetadataStatus::ALL.map(MetadataStatus::word);
    assert_eq!(statuses, ["in_progress", "completed", "awaiting_feedback"]);
    for status in MetadataStatus::ALL {
        assert_eq!(MetadataStatus::from_word(status.word()), Some(status));
    }
    assert_eq!((State::from_word("planning"), MetadataStatus::from_word("done")), (None, None));
}

#[test]
fn a_failed_call_waits_longer_each_time_and_is_given_up() {
    let seconds = |n: i64| now() + SignedDuration::from_secs(n);
    for (failures, at, expected) in [
        (0, 0, Recovery::Again),
        (1, 0, Recovery::Again),
        (2, 0, Recovery::NotBefore(seconds(30))),
        (2, 29, Recovery::NotBefore(seconds(30))),
        (2, 30, Recovery::Again),
        (3, 59, Recovery::NotBefore(seconds(60))),
        (3, 60, Recovery::Again),
        (4, 59, Recovery::NotBefore(seconds(60))),
        (4, 60, Recovery::Again),
        (5, 0, Recovery::GiveUp),
        (5, 9_999, Recovery::GiveUp),
    ] {
        assert_eq!(after(failures, now(), seconds(at)), expected, "{failures} at {at}");
    }
}

#[test]
fn the_history_of_a_call_counts_each_end() {
    let key =
        |task: &str| CallKey { mode: Mode::Execute, task: task.into(), iteration: 1, cycle: 0 };
    let (first, second) = (now(), now() + SignedDuration::from_secs(5));
    let mut tries = Tries::default();
    assert_eq!(tries.recovery(&key("a"), first), Recovery::Again);
    tries.ended(&key("a"), CallEnd::Failed, first);
    tries.ended(&key("a"), CallEnd::Failed, second);
    let one = |failures, ends, last| Try {
        key: key("a"),
        failures,
        ends,
        left_failed: 0,
        marked_failed: 0,
        begun: 0,
        last,
    };
    assert_eq!(tries.get(&key("a")), Some(&one(2, 0, second)));
    assert_eq!(
        tries.recovery(&key("a"), second),
        Recovery::NotBefore(second + SignedDuration::from_secs(30))
    );
    tries.ended(&key("a"), CallEnd::Met, first);
    tries.ended(&key("a"), CallEnd::Met, first);
    assert_eq!(tries.get(&key("a")), Some(&one(0, 2, first)));
    assert_eq!(
        serde_json::to_string(&tries).unwrap(),
        r#"[{"key":{"mode":"EXECUTE","task":"a","iteration":1},"failures":0,"ends":2,"last":"2026-01-31T12:00:00Z"}]"#
    );
    tries.entry(&key("b"), first).left_failed = 2;
    tries.entry(&key("b"), second).marked_failed = 1;
    tries.entry(&key("b"), second).begun = 4;
    assert_eq!(
        tries.get(&key("b")),
        Some(&Try {
            key: key("b"),
            failures: 0,
            ends: 0,
            left_failed: 2,
            marked_failed: 1,
            begun: 4,
            last: first
        })
    );
    let cycle = CallKey { mode: Mode::Research, task: String::new(), iteration: 1, cycle: 2 };
    assert_eq!(
        serde_json::to_string(&cycle).unwrap(),
        r#"{"mode":"research","iteration":1,"cycle":2}"#
    );
    assert_eq!((tries.met(|_| true), tries.met(|key| key.task == "b")), (1, 0));
    assert_eq!((tries.met(|key| key.task == "a"), tries.get(&cycle)), (1, None));
}

#[test]
fn a_call_is_known_by_its_key() {
    let key = CallKey { mode: Mode::Execute, task: "a".into(), iteration: 1, cycle: 2 };
    let call = OrchestrationCall::given(&key, "the prompt".to_owned());
    assert_eq!((call.prompt.as_str(), call.mode.as_str()), ("the prompt", "EXECUTE"));
    assert_eq!((call.key(), call.agent()), (Some(key.clone()), Some(AgentRole::Executor)));
    let others = [
        CallKey { mode: Mode::TaskReview, ..key.clone() },
        CallKey { task: "b".into(), ..key.clone() },
        CallKey { iteration: 2, ..key.clone() },
        CallKey { cycle: 1, ..key.clone() },
    ];
    assert!(call.is(&key));
    for other in others {
        assert!(!call.is(&other), "{other:?}");
    }
    let of_tomorrow = OrchestrationCall { mode: "DREAM".into(), ..call.clone() };
    assert_eq!((of_tomorrow.key(), of_tomorrow.agent()), (None, None));
    let state = OrchestrationState {
        calls: vec![OrchestrationCall { since: now(), ..call.clone() }, of_tomorrow],
        ..OrchestrationState::default()
    };
    assert_eq!(state.running(), [Running { key, since: now() }]);
    assert!(Invocation::are_same("a  \nb\n", "\na\nb"));
    assert!(!Invocation::are_same("a\nb", "a b"));
}

fn signal(name: &str, text: &str) -> UnheardSignal {
    UnheardSignal::read(name, text)
}

#[test]
fn a_signal_is_its_word_and_its_text() {
    use SignalKeyword::{Info, Pause, Steer, Stop};
    for (content, word, text) in [
        ("STEER: use oak", Steer, "use oak"),
        ("steer:use oak", Steer, "use oak"),
        (" INFO : x", Info, "INFO : x"),
        ("INFO: x", Info, "x"),
        ("PAUSE", Pause, ""),
        ("Pause: lunch\n", Pause, "lunch"),
        (" stop ", Stop, ""),
        ("STOP: enough", Stop, "enough"),
        ("STEER", Info, "STEER"),
        ("INFO", Info, "INFO"),
        ("STOP it", Info, "STOP it"),
        ("STOPS: x", Info, "STOPS: x"),
        ("PAUSÉ: x", Info, "PAUSÉ: x"),
        ("", Info, ""),
    ] {
        let expected = UnheardSignal { name: "1".to_owned(), word, text: text.to_owned() };
        assert_eq!(signal("1", content), expected, "{content}");
        assert_eq!(is_for_router(content), matches!(word, Pause | Stop), "{content}");
    }
    assert_eq!(SignalKeyword::ALL.map(SignalKeyword::as_str), ["STEER", "PAUSE", "STOP", "INFO"]);
}

#[test]
fn what_agents_are_told_is_split_into_its_signals_again() {
    use SignalKeyword::{Info, Steer};
    for (told, expected) in [
        ("", vec![]),
        ("STEER: a", vec![(Steer, "a")]),
        ("STEER: a\nmore\r\nINFO: b\n", vec![(Steer, "a\nmore\r"), (Info, "b\n")]),
        ("x\nSTEER:y", vec![(Info, "x\nSTEER:y")]),
        ("INFO: STOP: a", vec![(Info, "STOP: a")]),
    ] {
        let expected: Vec<_> =
            expected.into_iter().map(|(word, text)| (word, text.to_owned())).collect();
        assert_eq!(parts(told), expected, "{told}");
    }
}

#[test]
fn agents_hear_in_two_states_and_not_while_the_orchestration_is_held() {
    let signals = [signal("1", "PAUSE"), signal("2", "STEER: a\nb"), signal("3", "INFO: c")];
    let heard = SignalsForAgents {
        names: words(&["1", "2", "3"]),
        told: "STEER: a\nb\nINFO: c".to_owned(),
    };
    for state in State::ALL {
        let expected =
            if TOLD.contains(&state) { heard.clone() } else { SignalsForAgents::default() };
        assert_eq!(listen(state, &signals), expected, "{state}");
    }
    assert_eq!(TOLD, [State::Planning, State::ExecutingBatch]);
    let held_by = [signal("1", "STEER: a"), signal("2", "PAUSE: tea")];
    assert_eq!(listen(State::Planning, &held_by), SignalsForAgents::default());
}

#[test]
fn the_first_stop_or_a_last_pause_holds() {
    type Row<'a> = (&'a [UnheardSignal], Option<(Hold, &'a str, &'a [&'a str])>, &'a [&'a str]);
    let rows: [Row<'_>; 6] = [
        (&[], None, &[]),
        (&[signal("1", "STEER: a")], None, &[]),
        (
            &[signal("1", "PAUSE: a"), signal("2", "INFO: x"), signal("3", "PAUSE: b")],
            Some((Hold::Pause, "b", &["1", "3"])),
            &["1", "3"],
        ),
        (&[signal("1", "PAUSE: a"), signal("2", "INFO: x")], None, &[]),
        (
            &[signal("1", "STOP: a"), signal("2", "STOP: b"), signal("3", "PAUSE: c")],
            Some((Hold::Stop, "a", &["1", "2", "3"])),
            &[],
        ),
        (&[signal("1", "STOP: a"), signal("2", "STEER: b")], Some((Hold::Stop, "a", &["1"])), &[]),
    ];
    for (signals, expected, paused) in rows {
        let expected = expected.map(|(how, text, names)| Held {
            how,
            text: text.to_owned(),
            names: words(names),
        });
        assert_eq!(find_hold(signals), expected, "{signals:?}");
        assert_eq!(pauses(signals), paused, "{signals:?}");
    }
}
