//! A session and a terminal beside it, and what appears on both.

use crate::executables::executables;
use crate::world::World;
use serde_json::Value;
use std::process::Stdio;

pub(crate) struct Screen {
    pub(crate) world: World,
    shown: String,
}

impl Screen {
    /// A project under git with one commit.
    pub(crate) fn new() -> Screen {
        Screen::of(World::new())
    }

    /// A world in which something has happened already that is not shown.
    pub(crate) fn of(world: World) -> Screen {
        Screen { world, shown: String::new() }
    }

    /// A person types a slash command in the session.
    pub(crate) fn types(&mut self, line: &str) {
        let (name, arguments) = line.split_once(' ').unwrap_or((line, ""));
        let answer = self.world.type_command(name.trim_start_matches('/'), arguments).out();
        self.show(&format!("> {line}\n"));
        self.answer(&answer);
    }

    /// The model ends its turn with this message.
    pub(crate) fn stops(&mut self, message: &str) {
        self.show(&format!("● {message}\n"));
        let answer = self.world.stop(message).out();
        self.answer(&answer);
    }

    /// A person gives a command line in a terminal; what it prints on both channels is shown.
    pub(crate) fn runs(&mut self, line: &str) {
        self.show(&format!("$ {line}\n"));
        let printed = self.printed(line);
        self.show(&printed);
    }

    /// The same without a trace on the screen.
    pub(crate) fn printed(&self, line: &str) -> String {
        let ralph = executables().join("ralph");
        let script = format!("ralph() {{ '{}' \"$@\"; }}; exec 2>&1; {line}", ralph.display());
        let mut shell = self.world.wrapped(&["sh", "-c", &script]);
        for variable in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE"] {
            shell.env_remove(variable);
        }
        let output = shell.stdin(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Adds lines as they are.
    pub(crate) fn show(&mut self, text: &str) {
        self.shown.push_str(text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.shown.push('\n');
        }
    }

    /// Shows what a hook's answer says: to the person, or where it says nothing to the person, to the model.
    pub(crate) fn answer(&mut self, answer: &str) {
        let answer: Value = serde_json::from_str(answer).unwrap_or_default();
        let texts = [
            &answer["systemMessage"],
            &answer["stopReason"],
            &answer["reason"],
            &answer["hookSpecificOutput"]["permissionDecisionReason"],
            &answer["hookSpecificOutput"]["additionalContext"],
        ];
        let text = texts.into_iter().find_map(Value::as_str).unwrap_or_default();
        self.show(text);
    }

    /// All that was shown, with times, ids and paths that are always the same.
    pub(crate) fn text(&self) -> String {
        let root = self.world.root();
        let root = root.to_str().unwrap();
        let places = [
            (format!("{root}/project"), "/home/ann/shop"),
            (format!("{root}/ralph"), "/home/ann/.local/state/ralph"),
            (format!("{root}/home"), "/home/ann"),
            (executables().display().to_string(), "/home/ann/.local/bin"),
        ];
        let mut text = self.shown.clone();
        for (real, shown) in places {
            text = text.replace(&real, shown);
        }
        steady(&text)
    }
}

/// What differs from run to run, as shapes (`9` is a digit, `f` a hexadecimal digit), and what stands there instead.
const SHAPES: &[(&str, &str)] = &[
    ("99999999-999999-ffff", "20260131-120000-1a2b"),
    ("9999-99-99T99:99:99Z", "2026-01-31T12:00:00Z"),
    ("9999-99-99 99:99", "2026-01-31 12:00"),
    ("99:99:99Z", "12:00:00Z"),
    ("99:99:99", "12:00:00"),
    ("99:99 UTC", "12:00 UTC"),
    ("99999999T999999.999", "20260131T120000.000"),
    ("ffffffffff", "3f9c2ab41d"),
    ("9 s", "4 s"),
    ("99 s", "4 s"),
    ("9.9 s", "0.4 s"),
    ("99.9 s", "0.4 s"),
    ("9 ms", "4 s"),
    ("99 ms", "4 s"),
    ("999 ms", "4 s"),
];

fn steady(text: &str) -> String {
    SHAPES.iter().fold(text.to_owned(), |text, (shape, fixed)| replaced(&text, shape, fixed))
}

/// Replaces every word of a shape. A second one that differs from the first ends in another letter.
fn replaced(text: &str, shape: &str, fixed: &str) -> String {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|one| one.is_ascii_alphanumeric());
    let bytes = text.as_bytes();
    let fits = |at: usize| {
        let Some(word) = bytes.get(at..at + shape.len()) else { return false };
        let is_alone =
            (at == 0 || !is_word(bytes.get(at - 1))) && !is_word(bytes.get(at + shape.len()));
        is_alone
            && word.iter().zip(shape.bytes()).all(|(byte, kind)| match kind {
                b'9' => byte.is_ascii_digit(),
                b'f' => byte.is_ascii_hexdigit(),
                other => *byte == other,
            })
    };
    let (mut out, mut from, mut at) = (String::new(), 0, 0);
    let mut seen: Vec<&str> = Vec::new();
    while at < bytes.len() {
        if fits(at) {
            let word = &text[at..at + shape.len()];
            if !seen.contains(&word) {
                seen.push(word);
            }
            out.push_str(&text[from..at]);
            out.push_str(&nth(fixed, seen.iter().position(|one| *one == word).unwrap_or_default()));
            at += shape.len();
            from = at;
        } else {
            at += 1;
        }
    }
    out + &text[from..]
}

/// Ids and commits are told apart by their last letter; times and durations are all the same.
fn nth(fixed: &str, n: usize) -> String {
    let (head, last) = fixed.split_at(fixed.len() - 1);
    match last.as_bytes() {
        [last @ b'a'..=b'f'] => format!("{head}{}", (last + u8::try_from(n).unwrap()) as char),
        _ => fixed.to_owned(),
    }
}

#[test]
fn what_differs_from_run_to_run_is_replaced() {
    let text = "loop 20261123-154501-9f3e after 7 s, 20261123-154502-00aa, again 20261123-154501-9f3e at 15:45:01; AC-12 s";
    let expected = "loop 20260131-120000-1a2b after 4 s, 20260131-120000-1a2c, again 20260131-120000-1a2b at 12:00:00; AC-4 s";
    assert_eq!(steady(text), expected);
}
