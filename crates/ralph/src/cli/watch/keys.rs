//! What a key does: it moves on the page, asks, or returns an action.

use super::keyboard::KeyPress;
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
