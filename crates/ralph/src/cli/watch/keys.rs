//! Reads keys, and what a key does: it moves on the page, asks, or returns an action.

use super::model::{InputMode, Model};

/// An action, with the id of its loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Pause(String),
    Resume(String),
    Steer(String, String),
    Stop(String),
    /// Redraw everything.
    Redraw,
    /// Give the terminal back for a while.
    Rest,
    Quit,
}

/// Rows that a page key moves.
const PAGE: usize = 10;

/// Handles a key; returns the action that it calls for.
pub(super) fn press(model: &mut Model, key: KeyPress) -> Option<Act> {
    model.notice.clear();
    match (&key, &model.asks) {
        (KeyPress::Control('c'), InputMode::Nothing) => return Some(Act::Quit),
        (KeyPress::Control('c'), _) => model.asks = InputMode::Nothing,
        (KeyPress::Control('z'), _) => return Some(Act::Rest),
        (KeyPress::Control('l'), _) => return Some(Act::Redraw),
        (_, InputMode::Nothing) => return command(model, &key),
        (_, InputMode::Help) => model.asks = InputMode::Nothing,
        (_, InputMode::Steer { .. }) => return write(model, key),
        (_, InputMode::Stop { .. }) => return answer(model, &key),
    }
    None
}

/// A pasted text is not a command: nobody meant each of its letters.
fn command(model: &mut Model, key: &KeyPress) -> Option<Act> {
    let last = model.loops.len().saturating_sub(1);
    match key {
        KeyPress::Up | KeyPress::Letter('k') => model.selected = model.selected.saturating_sub(1),
        KeyPress::Down | KeyPress::Letter('j') => model.selected = (model.selected + 1).min(last),
        KeyPress::PageUp => model.selected = model.selected.saturating_sub(PAGE),
        KeyPress::PageDown => model.selected = (model.selected + PAGE).min(last),
        KeyPress::First | KeyPress::Letter('g') => model.selected = 0,
        KeyPress::Last | KeyPress::Letter('G') => model.selected = last,
        KeyPress::Letter('?' | 'h') => model.asks = InputMode::Help,
        KeyPress::Letter('q') => return Some(Act::Quit),
        KeyPress::Letter(letter @ ('p' | 'r' | 's' | 'x')) => {
            let Some(one) = model.selected_loop() else {
                model.notice = "there is no loop to do this to".to_owned();
                return None;
            };
            let loop_id = one.loop_id.clone();
            match letter {
                'p' => return Some(Act::Pause(loop_id)),
                'r' => return Some(Act::Resume(loop_id)),
                's' => model.asks = InputMode::Steer { loop_id, text: String::new() },
                _ => model.asks = InputMode::Stop { loop_id },
            }
        }
        _ => {}
    }
    None
}

fn write(model: &mut Model, key: KeyPress) -> Option<Act> {
    let InputMode::Steer { loop_id, text } = &mut model.asks else { return None };
    match key {
        KeyPress::Letter(letter) => text.push(letter),
        // The input is one line.
        KeyPress::Pasted(pasted) => {
            text.push_str(&pasted.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        KeyPress::Backspace => drop(text.pop()),
        KeyPress::Control('u') => text.clear(),
        KeyPress::Escape => model.asks = InputMode::Nothing,
        KeyPress::Enter => {
            let act = Act::Steer(loop_id.clone(), text.clone());
            // An empty text is not sent.
            let is_empty = text.trim().is_empty();
            model.asks = InputMode::Nothing;
            return (!is_empty).then_some(act);
        }
        _ => {}
    }
    None
}

fn answer(model: &mut Model, key: &KeyPress) -> Option<Act> {
    let asked = std::mem::replace(&mut model.asks, InputMode::Nothing);
    match (asked, key) {
        (InputMode::Stop { loop_id }, KeyPress::Letter('y' | 'Y')) => Some(Act::Stop(loop_id)),
        _ => {
            model.notice = "nothing was stopped".to_owned();
            None
        }
    }
}

// Turns bytes from a terminal into keys.
//
// Over a slow line a sequence may arrive in pieces. An incomplete one is kept until the rest
// arrives, or until nothing has come for a moment: then it was the Escape key.

/// A key, or a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyPress {
    Letter(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    /// Control and this letter.
    Control(char),
    Pasted(String),
}

/// Bytes that were typed but do not form a key yet.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    pending: Vec<u8>,
}

const PASTE: &[u8] = b"\x1b[200~";
const PASTED: &[u8] = b"\x1b[201~";

/// No real sequence is longer; without this limit a paste that never ends would be kept for ever.
const LONGEST: usize = 1 << 20;

impl Keyboard {
    /// Adds the bytes and returns the keys that are complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<KeyPress> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = first(&self.pending) {
            self.pending.drain(..length);
            keys.extend(key);
        }
        if self.pending.len() > LONGEST {
            self.pending.clear();
        }
        keys
    }

    /// True while the rest of a sequence may still arrive.
    pub(super) fn waits(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Handles the incomplete bytes after nothing has come for a moment.
    pub(super) fn settle(&mut self) -> Vec<KeyPress> {
        if self.pending.starts_with(PASTE) {
            return Vec::new();
        }
        let was_escape = self.pending == b"\x1b";
        self.pending.clear();
        if was_escape { vec![KeyPress::Escape] } else { Vec::new() }
    }
}

/// The first key and its length in bytes; an unknown key is `None` with a length. Returns `None` if
/// the sequence is incomplete.
fn first(bytes: &[u8]) -> Option<(Option<KeyPress>, usize)> {
    let (byte, rest) = bytes.split_first()?;
    let one = |key| Some((Some(key), 1));
    match byte {
        0x1b => sequence(bytes, rest),
        b'\r' | b'\n' => one(KeyPress::Enter),
        0x7f | 0x08 => one(KeyPress::Backspace),
        0..0x20 => one(KeyPress::Control(char::from(byte | 0x60))),
        _ => letter(bytes),
    }
}

fn letter(bytes: &[u8]) -> Option<(Option<KeyPress>, usize)> {
    let length = match bytes[0] {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        // No UTF-8 character begins like this.
        _ => return Some((None, 1)),
    };
    let is_rest = |byte: &u8| (0x80..0xc0).contains(byte);
    if !bytes.iter().take(length).skip(1).all(is_rest) {
        return Some((None, 1));
    }
    let letter = bytes.get(..length)?;
    let key = std::str::from_utf8(letter).ok().and_then(|text| text.chars().next());
    Some((key.map(KeyPress::Letter), if key.is_some() { length } else { 1 }))
}

fn sequence(all: &[u8], rest: &[u8]) -> Option<(Option<KeyPress>, usize)> {
    if all.starts_with(PASTE) {
        let text = &all[PASTE.len()..];
        let end = text.windows(PASTED.len()).position(|window| window == PASTED)?;
        let pasted = String::from_utf8_lossy(&text[..end]).into_owned();
        return Some((Some(KeyPress::Pasted(pasted)), PASTE.len() + end + PASTED.len()));
    }
    match rest.first()? {
        b'[' => {
            let end = rest[1..].iter().position(|byte| (0x40..0x7f).contains(byte))?;
            let key = match &rest[1..=end + 1] {
                b"A" => Some(KeyPress::Up),
                b"B" => Some(KeyPress::Down),
                b"H" | b"1~" | b"7~" => Some(KeyPress::First),
                b"F" | b"4~" | b"8~" => Some(KeyPress::Last),
                b"5~" => Some(KeyPress::PageUp),
                b"6~" => Some(KeyPress::PageDown),
                _ => None,
            };
            Some((key, end + 3))
        }
        b'O' => {
            let key = match rest.get(1)? {
                b'A' => Some(KeyPress::Up),
                b'B' => Some(KeyPress::Down),
                b'H' => Some(KeyPress::First),
                b'F' => Some(KeyPress::Last),
                _ => None,
            };
            Some((key, 3))
        }
        0x1b => Some((Some(KeyPress::Escape), 1)),
        // A letter with the Alt key, which has no meaning here.
        _ => Some((None, 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{model, shown};
    use super::*;

    fn typed(model: &mut Model, text: &str) -> Vec<Act> {
        text.chars().filter_map(|letter| press(model, KeyPress::Letter(letter))).collect()
    }

    #[test]
    fn a_loop_is_selected_and_acted_on_by_its_id() {
        let mut model = model(vec![shown("a"), shown("b"), shown("c")]);
        assert_eq!(typed(&mut model, "jp"), [Act::Pause("b".to_owned())]);
        assert_eq!(typed(&mut model, "jjjr"), [Act::Resume("c".to_owned())]);
        assert_eq!(typed(&mut model, "kkkkp"), [Act::Pause("a".to_owned())]);
        assert_eq!(typed(&mut model, "Gq"), [Act::Quit]);
        assert_eq!(
            (model.selected, press(&mut model, KeyPress::First), model.selected),
            (2, None, 0)
        );
    }

    #[test]
    fn a_loop_is_stopped_only_after_a_yes() {
        let mut model = model(vec![shown("a")]);
        for no in [
            KeyPress::Letter('n'),
            KeyPress::Enter,
            KeyPress::Escape,
            KeyPress::Letter('x'),
            KeyPress::Pasted("y".into()),
        ] {
            assert_eq!(typed(&mut model, "x"), []);
            assert_eq!(press(&mut model, no), None);
            assert_eq!(
                (&model.asks, model.notice.as_str()),
                (&InputMode::Nothing, "nothing was stopped")
            );
        }
        assert_eq!(typed(&mut model, "xy"), [Act::Stop("a".to_owned())]);
    }

    #[test]
    fn a_question_stays_with_its_loop_when_the_list_changes() {
        let mut model = Model { selected: 1, ..model(vec![shown("a"), shown("b")]) };
        typed(&mut model, "x");
        model.refresh(vec![shown("a")], Vec::new());
        assert_eq!(typed(&mut model, "y"), [Act::Stop("b".to_owned())]);
    }

    #[test]
    fn what_is_written_is_sent_by_enter_and_left_by_escape() {
        let mut model = model(vec![shown("a")]);
        assert_eq!(typed(&mut model, "suse qx"), []);
        press(&mut model, KeyPress::Backspace);
        press(&mut model, KeyPress::Pasted("tabs\nand\u{1b}[A more\n".to_owned()));
        let steer = Act::Steer("a".to_owned(), "use qtabs and\u{1b}[A more".to_owned());
        assert_eq!(press(&mut model, KeyPress::Enter), Some(steer));
        typed(&mut model, "sabc");
        assert_eq!((press(&mut model, KeyPress::Escape), &model.asks), (None, &InputMode::Nothing));
        typed(&mut model, "s  ");
        assert_eq!((press(&mut model, KeyPress::Enter), &model.asks), (None, &InputMode::Nothing));
    }

    #[test]
    fn a_pasted_text_is_no_command() {
        let mut model = model(vec![shown("a")]);
        assert_eq!(press(&mut model, KeyPress::Pasted("pxyq".to_owned())), None);
        assert_eq!(model.asks, InputMode::Nothing);
    }

    #[test]
    fn without_a_loop_nothing_is_done() {
        let mut model = model(Vec::new());
        assert_eq!(typed(&mut model, "pjkrsx"), []);
        assert_eq!(model.asks, InputMode::Nothing);
        assert_eq!(model.notice, "there is no loop to do this to");
        assert_eq!(press(&mut model, KeyPress::Control('c')), Some(Act::Quit));
    }
}

#[cfg(test)]
mod keyboard_tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &[KeyPress]) {
        let mut keyboard = Keyboard::default();
        let mut keys = keyboard.feed(bytes);
        keys.extend(keyboard.settle());
        assert_eq!(keys, expected);
        // The same, one byte at a time.
        let mut keyboard = Keyboard::default();
        let mut keys: Vec<KeyPress> =
            bytes.iter().flat_map(|byte| keyboard.feed(&[*byte])).collect();
        keys.extend(keyboard.settle());
        assert_eq!(keys, expected, "in pieces");
    }

    #[test]
    fn letters_and_keys_are_told_apart() {
        let letters = |text: &str| text.chars().map(KeyPress::Letter).collect::<Vec<_>>();
        check("aé€😀".as_bytes(), &letters("aé€😀"));
        check(
            b"\r\x7f\x03\x1a",
            &[KeyPress::Enter, KeyPress::Backspace, KeyPress::Control('c'), KeyPress::Control('z')],
        );
        check(
            b"\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[4~",
            &[
                KeyPress::Up,
                KeyPress::Down,
                KeyPress::PageUp,
                KeyPress::PageDown,
                KeyPress::First,
                KeyPress::Last,
            ],
        );
        check(b"\x1b", &[KeyPress::Escape]);
        check(b"\x1b\x1b", &[KeyPress::Escape, KeyPress::Escape]);
    }

    #[test]
    fn what_is_not_known_is_no_key_and_leaves_the_next_alone() {
        check(b"\x1b[1;5Cq\x1bxq\xffq\x1bOPq", &vec![KeyPress::Letter('q'); 4]);
        check(b"\xe2q", &[KeyPress::Letter('q')]);
    }

    #[test]
    fn a_pasted_text_is_one_thing_whatever_it_holds() {
        check(
            b"\x1b[200~x\ny\x1b[A\x1b[201~q",
            &[KeyPress::Pasted("x\ny\u{1b}[A".to_owned()), KeyPress::Letter('q')],
        );
        let mut keyboard = Keyboard::default();
        assert_eq!((keyboard.feed(b"\x1b[200~x"), keyboard.settle()), (vec![], vec![]));
        assert_eq!(keyboard.feed(b"\x1b[201~"), [KeyPress::Pasted("x".to_owned())]);
        assert!(!keyboard.waits());
    }
}
