//! Messages from the user to a running orchestration, and their recipients.
//!
//! There are four words. STEER and INFO are for the agents, who receive them in some states; PAUSE
//! and STOP are for the router, and hold the orchestration in every state.

use super::state::State;

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKeyword {
    /// Change how the work is done.
    Steer,
    /// Begin nothing new until the next message.
    Pause,
    /// End the orchestration in an orderly way.
    Stop,
    /// Information for the agents.
    Info,
}

impl SignalKeyword {
    pub const ALL: [SignalKeyword; 4] =
        [SignalKeyword::Steer, SignalKeyword::Pause, SignalKeyword::Stop, SignalKeyword::Info];

    pub fn as_str(self) -> &'static str {
        match self {
            SignalKeyword::Steer => "STEER",
            SignalKeyword::Pause => "PAUSE",
            SignalKeyword::Stop => "STOP",
            SignalKeyword::Info => "INFO",
        }
    }
}

/// A signal that has not been heard yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnheardSignal {
    /// The name of its file.
    pub name: String,
    pub word: SignalKeyword,
    pub text: String,
}

impl UnheardSignal {
    /// Reads the file of a signal. A text that does not begin with one of the words is an INFO, so
    /// that no message is lost.
    pub fn read(name: &str, content: &str) -> UnheardSignal {
        let content = content.trim();
        let of_word = |word: SignalKeyword| {
            let (said, rest) = content.split_at_checked(word.as_str().len())?;
            let ends =
                rest.is_empty() && matches!(word, SignalKeyword::Pause | SignalKeyword::Stop);
            let rest = rest.strip_prefix(':').or_else(|| ends.then_some(""))?;
            said.eq_ignore_ascii_case(word.as_str()).then_some((word, rest))
        };
        let (word, text) = SignalKeyword::ALL
            .into_iter()
            .find_map(of_word)
            .unwrap_or((SignalKeyword::Info, content));
        UnheardSignal { name: name.to_owned(), word, text: text.trim().to_owned() }
    }
}

/// The states in which called agents receive messages. In other states messages wait: a reviewer is
/// not steered, and the plan has only one writer at a time.
pub const TOLD: [State; 2] = [State::Planning, State::ExecutingBatch];

/// The messages for the agents that are called now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignalsForAgents {
    /// The names of the signals that are used up once all calls that carry them have been made.
    pub names: Vec<String>,
    /// The STEER and INFO messages, as the agents receive them.
    pub told: String,
}

/// The messages for the agents in a state, oldest first; empty while the orchestration is held.
pub fn listen(state: State, signals: &[UnheardSignal]) -> SignalsForAgents {
    if !TOLD.contains(&state) || find_hold(signals).is_some() {
        return SignalsForAgents::default();
    }
    let mut heard = SignalsForAgents::default();
    for signal in signals {
        // A PAUSE has ended by now, and is archived together with the message that ended it.
        heard.names.push(signal.name.clone());
        if matches!(signal.word, SignalKeyword::Steer | SignalKeyword::Info) {
            if !heard.told.is_empty() {
                heard.told.push('\n');
            }
            heard.told.push_str(&format!("{}: {}", signal.word.as_str(), signal.text));
        }
    }
    heard
}

/// How an orchestration is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Nothing new begins until the next message.
    Pause,
    /// The orchestration ends.
    Stop,
}

/// A hold of the orchestration, in any state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub how: Hold,
    /// The text of the user's message.
    pub text: String,
    /// The names of the signals that are used up once the hold has taken effect.
    pub names: Vec<String>,
}

/// Returns the first STOP, or else a PAUSE that is the last message. Any message after a PAUSE ends
/// it, because the user is back.
pub fn find_hold(signals: &[UnheardSignal]) -> Option<Held> {
    let is_stop = |signal: &&UnheardSignal| signal.word == SignalKeyword::Stop;
    let pause = || signals.last().filter(|signal| signal.word == SignalKeyword::Pause);
    let (how, by) = match signals.iter().find(is_stop) {
        Some(stop) => (Hold::Stop, stop),
        None => (Hold::Pause, pause()?),
    };
    // A PAUSE that remains would hold an orchestration that is continued after a STOP.
    let for_router = signals
        .iter()
        .filter(|signal| matches!(signal.word, SignalKeyword::Pause | SignalKeyword::Stop));
    let names = for_router.map(|signal| signal.name.clone()).collect();
    Some(Held { how, text: by.text.clone(), names })
}

/// The names of the PAUSE signals that hold the orchestration. A user who continues without a
/// message has heard them.
pub fn pauses(signals: &[UnheardSignal]) -> Vec<String> {
    match find_hold(signals) {
        Some(Held { how: Hold::Pause, names, .. }) => names,
        _ => Vec::new(),
    }
}

/// True for a text that is for the router and not for the agents.
pub fn is_for_router(content: &str) -> bool {
    matches!(UnheardSignal::read("", content).word, SignalKeyword::Pause | SignalKeyword::Stop)
}

/// Splits the text that agents received into its signals.
pub fn parts(told: &str) -> Vec<(SignalKeyword, String)> {
    let mut parts: Vec<(SignalKeyword, String)> = Vec::new();
    // `lines` would drop a `\r` at the end of a line, which is part of the message.
    for line in told.split('\n').filter(|_| !told.is_empty()) {
        let begins = [SignalKeyword::Steer, SignalKeyword::Info].into_iter().find_map(|word| {
            let text = line.strip_prefix(word.as_str())?.strip_prefix(": ")?;
            Some((word, text.to_owned()))
        });
        match (begins, parts.last_mut()) {
            (Some(part), _) => parts.push(part),
            (None, Some((_, text))) => {
                text.push('\n');
                text.push_str(line);
            }
            (None, None) => parts.push((SignalKeyword::Info, line.to_owned())),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(texts: &[&str]) -> Vec<UnheardSignal> {
        texts
            .iter()
            .enumerate()
            .map(|(at, text)| UnheardSignal::read(&at.to_string(), text))
            .collect()
    }

    #[test]
    fn the_four_words_are_read_and_all_else_is_an_info() {
        let read = |text: &str| {
            let signal = UnheardSignal::read("a", text);
            (signal.word, signal.text)
        };
        assert_eq!(read("STEER: use tabs\n"), (SignalKeyword::Steer, "use tabs".to_owned()));
        assert_eq!(read("pause"), (SignalKeyword::Pause, String::new()));
        assert_eq!(read("Stop: enough"), (SignalKeyword::Stop, "enough".to_owned()));
        assert_eq!(read("INFO: x"), (SignalKeyword::Info, "x".to_owned()));
        for text in ["stopping now", "steer", "é", "", "STEERING: x"] {
            assert_eq!(read(text), (SignalKeyword::Info, text.to_owned()));
        }
    }

    /// The hold, its text, and the positions of the signals that are then used up.
    fn holds(texts: &[&str]) -> Option<(Hold, String, String)> {
        find_hold(&signals(texts)).map(|held| (held.how, held.text, held.names.join(" ")))
    }

    #[track_caller]
    fn check(texts: &[&str], expected: Option<(Hold, &str, &str)>) {
        let expected = expected.map(|(how, text, at)| (how, text.to_owned(), at.to_owned()));
        assert_eq!(holds(texts), expected, "{texts:?}");
    }

    #[test]
    fn a_pause_holds_until_something_else_is_said() {
        check(&[], None);
        check(&["STEER: a", "INFO: b"], None);
        check(&["STEER: a", "PAUSE: lunch"], Some((Hold::Pause, "lunch", "1")));
        check(&["PAUSE: lunch", "PAUSE: dinner"], Some((Hold::Pause, "dinner", "0 1")));
        check(&["PAUSE", "INFO: go on"], None);
        check(&["PAUSE", "STEER: a", "PAUSE"], Some((Hold::Pause, "", "0 2")));
    }

    #[test]
    fn a_stop_holds_whatever_is_said_beside_it_and_takes_a_pause_along() {
        check(&["STOP: enough", "INFO: x"], Some((Hold::Stop, "enough", "0")));
        check(&["STEER: a", "STOP: enough", "STOP: now"], Some((Hold::Stop, "enough", "1 2")));
        check(&["PAUSE", "STOP", "PAUSE"], Some((Hold::Stop, "", "0 1 2")));
    }

    #[test]
    fn who_goes_on_has_heard_a_pause_and_no_stop() {
        assert_eq!(pauses(&signals(&["STEER: a", "PAUSE", "PAUSE"])), ["1", "2"]);
        for texts in [&["PAUSE", "STEER: a"][..], &["PAUSE", "STOP"], &["STEER: a"], &[]] {
            assert_eq!(pauses(&signals(texts)), [""; 0], "{texts:?}");
        }
    }

    #[test]
    fn a_text_for_the_router_is_none_for_an_agent() {
        assert!(is_for_router("PAUSE\n") && is_for_router("stop: x"));
        assert!(!is_for_router("INFO: stop") && !is_for_router("stopping now"));
    }

    #[test]
    fn while_the_session_is_held_nobody_is_told_anything() {
        for texts in [&["STEER: a", "PAUSE"][..], &["STEER: a", "STOP", "STEER: b"]] {
            assert_eq!(listen(State::ExecutingBatch, &signals(texts)), SignalsForAgents::default());
        }
        let over = listen(State::ExecutingBatch, &signals(&["STEER: a", "PAUSE", "INFO: go on"]));
        assert_eq!(over.names, ["0", "1", "2"]);
        assert_eq!(over.told, "STEER: a\nINFO: go on");
    }

    #[test]
    fn what_was_told_can_be_said_again() {
        let all = signals(&["STEER: a\nof two lines", "INFO: b"]);
        let told = listen(State::ExecutingBatch, &all).told;
        let again: Vec<UnheardSignal> = parts(&told)
            .into_iter()
            .zip(["0", "1"])
            .map(|((word, text), name)| UnheardSignal { name: name.to_owned(), word, text })
            .collect();
        assert_eq!(again, all);
        let told = "STEER: a\r\nof two lines\n\nand more";
        assert_eq!(
            parts(told),
            [(SignalKeyword::Steer, "a\r\nof two lines\n\nand more".to_owned())]
        );
        assert_eq!(parts("x"), [(SignalKeyword::Info, "x".to_owned())]);
        assert_eq!(parts(""), []);
    }

    #[test]
    fn planners_and_executors_are_told_and_nobody_else() {
        let all = signals(&["PAUSE", "STEER: a", "INFO: b"]);
        for state in State::ALL {
            let heard = listen(state, &all);
            match state {
                State::Planning | State::ExecutingBatch => {
                    assert_eq!((heard.names.len(), heard.told.lines().count()), (3, 2), "{state}");
                }
                _ => assert_eq!(heard, SignalsForAgents::default(), "{state}"),
            }
        }
    }
}
