//! What a person says to a session while it works, and where the router listens.
//!
//! Four words. STEER and INFO are for the agents; PAUSE and STOP are for the router, and change what
//! comes next. The places where it listens are data: the states, with the words that count there.

use super::state::State;

/// What was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// The work is to be done otherwise from now on.
    Steer,
    /// Nothing new is to begin until something else is said.
    Pause,
    /// The session is to end in an orderly way.
    Stop,
    /// It is for the agents to know.
    Info,
}

impl Word {
    /// All of them.
    pub const ALL: [Word; 4] = [Word::Steer, Word::Pause, Word::Stop, Word::Info];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Word::Steer => "STEER",
            Word::Pause => "PAUSE",
            Word::Stop => "STOP",
            Word::Info => "INFO",
        }
    }
}

/// A signal that nobody has heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The name of its file.
    pub name: String,
    /// What was said.
    pub word: Word,
    /// With which words.
    pub text: String,
}

impl Signal {
    /// Reads the file of a signal. A text that does not begin with one of the words is an INFO:
    /// nothing that somebody wrote there is lost.
    pub fn read(name: &str, content: &str) -> Signal {
        let content = content.trim();
        let of_word = |word: Word| {
            let (said, rest) = content.split_at_checked(word.as_str().len())?;
            let ends = rest.is_empty() && matches!(word, Word::Pause | Word::Stop);
            let rest = rest.strip_prefix(':').or_else(|| ends.then_some(""))?;
            said.eq_ignore_ascii_case(word.as_str()).then_some((word, rest))
        };
        let (word, text) = Word::ALL.into_iter().find_map(of_word).unwrap_or((Word::Info, content));
        Signal { name: name.to_owned(), word, text: text.trim().to_owned() }
    }
}

/// Where the router listens, and to what. A word that does not count there waits.
pub const POLLING: [(State, &[Word]); 3] = [
    (State::Planning, &[Word::Stop, Word::Pause, Word::Steer, Word::Info]),
    (State::ExecutingBatch, &[Word::Stop, Word::Pause, Word::Steer, Word::Info]),
    (State::ReviewingBatch, &[Word::Stop, Word::Pause]),
];

/// True if the router listens for this word in this state.
pub fn is_heard(state: State, word: Word) -> bool {
    POLLING.iter().any(|(at, words)| *at == state && words.contains(&word))
}

/// What the signals come to in a state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heard {
    /// The names of those that were heard.
    pub names: Vec<String>,
    /// STEER and INFO, as the next agents are told.
    pub told: String,
    /// PAUSE or STOP, with its text: the first STOP, else the last PAUSE that nothing followed.
    pub held: Option<(Word, String)>,
}

/// Listens, oldest first. Whatever follows a PAUSE ends it: the person is there again.
pub fn listen(state: State, signals: &[Signal]) -> Heard {
    let mut heard = Heard::default();
    for signal in signals {
        if !is_heard(state, signal.word) {
            // It waits for a place where it counts, and yet the person is there again.
            heard.held = None;
            continue;
        }
        match signal.word {
            Word::Stop => {
                heard.names.push(signal.name.clone());
                heard.held = Some((Word::Stop, signal.text.clone()));
                return heard;
            }
            Word::Pause => heard.held = Some((Word::Pause, signal.text.clone())),
            Word::Steer | Word::Info => {
                heard.held = None;
                if !heard.told.is_empty() {
                    heard.told.push('\n');
                }
                heard.told.push_str(&format!("{}: {}", signal.word.as_str(), signal.text));
            }
        }
        heard.names.push(signal.name.clone());
    }
    if let Some((Word::Pause, _)) = heard.held {
        // What was said before a pause is told when the work goes on, not before.
        heard.told.clear();
        heard.names.clear();
    }
    heard
}

/// What holds a session wherever it is: between the places where the router listens, nothing new is begun all the
/// same. The first STOP, else the last PAUSE that nothing followed; with the names of those that said so.
pub fn held(signals: &[Signal]) -> Option<(Word, String, Vec<String>)> {
    let of = |word: Word| signals.iter().filter(move |signal| signal.word == word);
    let names = |word| of(word).map(|signal| signal.name.clone()).collect();
    if let Some(stop) = of(Word::Stop).next() {
        return Some((Word::Stop, stop.text.clone(), names(Word::Stop)));
    }
    let last = signals.last().filter(|signal| signal.word == Word::Pause)?;
    Some((Word::Pause, last.text.clone(), names(Word::Pause)))
}

/// True for a text that is for the router and for no agent.
pub fn is_for_router(content: &str) -> bool {
    matches!(Signal::read("", content).word, Word::Pause | Word::Stop)
}

/// What agents were told, as the signals that it came from.
pub fn parts(told: &str) -> Vec<(Word, String)> {
    let mut parts: Vec<(Word, String)> = Vec::new();
    // Not by `lines`: a `\r` before the end of a line is part of what was said.
    for line in told.split('\n').filter(|_| !told.is_empty()) {
        let begins = [Word::Steer, Word::Info].into_iter().find_map(|word| {
            let text = line.strip_prefix(word.as_str())?.strip_prefix(": ")?;
            Some((word, text.to_owned()))
        });
        match (begins, parts.last_mut()) {
            (Some(part), _) => parts.push(part),
            (None, Some((_, text))) => {
                text.push('\n');
                text.push_str(line);
            }
            (None, None) => parts.push((Word::Info, line.to_owned())),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(texts: &[&str]) -> Vec<Signal> {
        texts.iter().enumerate().map(|(at, text)| Signal::read(&at.to_string(), text)).collect()
    }

    #[test]
    fn the_four_words_are_read_and_all_else_is_an_info() {
        let read = |text: &str| {
            let signal = Signal::read("a", text);
            (signal.word, signal.text)
        };
        assert_eq!(read("STEER: use tabs\n"), (Word::Steer, "use tabs".to_owned()));
        assert_eq!(read("pause"), (Word::Pause, String::new()));
        assert_eq!(read("Stop: enough"), (Word::Stop, "enough".to_owned()));
        assert_eq!(read("INFO: x"), (Word::Info, "x".to_owned()));
        for text in ["stopping now", "steer", "é", "", "STEERING: x"] {
            assert_eq!(read(text), (Word::Info, text.to_owned()));
        }
    }

    #[test]
    fn a_stop_is_heard_before_what_follows_it() {
        let heard = listen(State::Planning, &signals(&["STEER: a", "STOP: enough", "STEER: b"]));
        assert_eq!(heard.names, ["0", "1"]);
        assert_eq!(heard.held, Some((Word::Stop, "enough".to_owned())));
    }

    #[test]
    fn a_pause_or_a_stop_holds_wherever_the_session_is() {
        let held = |texts: &[&str]| {
            super::held(&signals(texts)).map(|(word, text, names)| (word, text, names.len()))
        };
        assert_eq!(held(&["STEER: a", "PAUSE: lunch"]), Some((Word::Pause, "lunch".to_owned(), 1)));
        assert_eq!(held(&["PAUSE", "INFO: go on"]), None);
        assert_eq!(held(&["STOP: enough", "INFO: x"]), Some((Word::Stop, "enough".to_owned(), 1)));
        assert_eq!(held(&[]), None);
        assert!(
            is_for_router("PAUSE\n") && is_for_router("stop: x") && !is_for_router("INFO: stop")
        );
    }

    #[test]
    fn a_pause_holds_until_something_else_is_said() {
        let paused = listen(State::ExecutingBatch, &signals(&["STEER: a", "PAUSE"]));
        assert_eq!(paused.held, Some((Word::Pause, String::new())));
        assert_eq!((paused.names.len(), paused.told.as_str()), (0, ""));
        let over = listen(State::ExecutingBatch, &signals(&["STEER: a", "PAUSE", "INFO: go on"]));
        assert_eq!(over.held, None);
        assert_eq!(over.names, ["0", "1", "2"]);
        assert_eq!(over.told, "STEER: a\nINFO: go on");
    }

    #[test]
    fn what_was_told_can_be_said_again() {
        let all = signals(&["STEER: a\nof two lines", "INFO: b"]);
        let told = listen(State::ExecutingBatch, &all).told;
        let again: Vec<Signal> = parts(&told)
            .into_iter()
            .zip(["0", "1"])
            .map(|((word, text), name)| Signal { name: name.to_owned(), word, text })
            .collect();
        assert_eq!(again, all);
        let told = "STEER: a\r\nof two lines\n\nand more";
        assert_eq!(parts(told), [(Word::Steer, "a\r\nof two lines\n\nand more".to_owned())]);
        assert_eq!(parts("x"), [(Word::Info, "x".to_owned())]);
        assert_eq!(parts(""), []);
    }

    #[test]
    fn a_reviewer_is_not_steered_and_other_states_do_not_listen() {
        let all = signals(&["STEER: a", "INFO: b"]);
        assert_eq!(listen(State::ReviewingBatch, &all), Heard::default());
        let all = signals(&["PAUSE", "STEER: a"]);
        let heard = listen(State::ReviewingBatch, &all);
        assert_eq!((heard.held, heard.names.len()), (None, 1));
        let all = signals(&["STOP"]);
        for state in State::ALL {
            let listens = POLLING.iter().any(|(at, _)| *at == state);
            assert_eq!(listen(state, &all).held.is_some(), listens, "{state}");
        }
    }
}
