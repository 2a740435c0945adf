//! Variables whose values are in the line: `for f in a b; do sed -n 1p $f; done`, `d=src; find $d`.
//!
//! The body of such a loop is checked once for each value. A value counts only if the shell
//! certainly assigned it and nothing within its scope assigns it again; otherwise the line is
//! checked without known values.

use super::words::{self, WordText};
use super::{At, WriteReason};
use rable::{Node, NodeKind};

/// How often the body of nested loops may be checked.
const MOST_READINGS: usize = 64;
/// How many nested assignments are followed.
const DEEPEST: usize = 16;
/// Prefixes of names that a shell sets itself.
const SPECIAL_PREFIXES: [&str; 5] = ["BASH", "COMP_", "MATCH", "READLINE_", "ZSH"];
/// Names that a shell sets itself.
const SPECIAL: [&str; 20] = [
    "_",
    "COPROC",
    "DIRSTACK",
    "FUNCNAME",
    "GROUPS",
    "HOSTNAME",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "PIPESTATUS",
    "REPLY",
    "argv",
    "match",
    "mbegin",
    "mend",
    "pipestatus",
    "reply",
    "signals",
    "status",
];

/// The variables that are known at one point of the line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known<'a> {
    last: Option<&'a Frame<'a>>,
    /// The line, if a variable that it does not set comes from the environment.
    line: Option<&'a str>,
    is_followed: bool,
    readings: usize,
    depth: usize,
}

#[derive(Debug)]
struct Frame<'a> {
    name: &'a str,
    value: &'a WordText,
    before: Option<&'a Frame<'a>>,
}

/// False for a line that uses no variable, or changes how words are split.
pub(super) fn may_help(line: &str) -> bool {
    line.contains('$') && !line.contains("IFS")
}

/// The variable and the literal value of a command that is a single assignment.
pub(super) fn assigned<'n>(node: &'n Node, at: At<'_>) -> Option<(&'n str, WordText)> {
    let NodeKind::Command { assignments, words, redirects } = &node.kind else { return None };
    let ([assignment], [], []) = (&assignments[..], &words[..], &redirects[..]) else {
        return None;
    };
    let NodeKind::Word { value, .. } = &assignment.kind else { return None };
    let (name, _) = value.split_once('=')?;
    let said = words::read(assignment, at).ok()?;
    let text = said.literal()?.strip_prefix(name)?.strip_prefix('=')?.to_owned();
    Some((name, WordText { text, ..WordText::default() }))
}

/// The variable of `for ((i = 0; i < 3; i++))`, a loop over numbers only.
pub(super) fn counted<'n>(init: &'n str, cond: &str, incr: &str) -> Option<&'n str> {
    let is_number = |text: &str| {
        let text = text.trim();
        !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (name, start) = init.split_once('=')?;
    let name = name.trim();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let end = cond.trim().strip_prefix(name)?.trim_start().trim_start_matches(['<', '>', '=', '!']);
    let steps = matches!(incr.trim().strip_prefix(name), Some("++" | "--"))
        || matches!(incr.trim().strip_suffix(name), Some("++" | "--"));
    (is_name && is_number(start) && is_number(end) && steps).then_some(name)
}

impl<'a> Known<'a> {
    /// Follows the assignments of this line. A nested script does not know which variables come
    /// from the environment, because the outer line may have exported some.
    pub(super) fn followed(line: &'a str, depth: usize) -> Known<'a> {
        Known {
            is_followed: true,
            readings: 1,
            line: (depth == 0).then_some(line),
            ..Known::default()
        }
    }

    /// True for a variable that nothing in the line sets: its value comes from the client's
    /// environment.
    pub(super) fn is_outside(&self, name: &str) -> bool {
        let Some(line) = self.line else { return false };
        // The working directory's name is the one that the shell had at the start.
        if matches!(name, "PWD" | "pwd") {
            return !["cd", "pushd", "popd"].iter().any(|enters| line.contains(enters));
        }
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let is_use = |(at, _): (usize, &str)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            before.ends_with(is_letter)
                || after.starts_with(is_letter)
                || before.ends_with('$')
                || before.ends_with("${")
        };
        // `read` accepts a name in any quotes, and a line continuation can split a name.
        !is_special(name)
            && !line.contains("read")
            && !line.contains("\\\n")
            && line.match_indices(name).all(is_use)
    }

    pub(super) fn is_followed(&self) -> bool {
        self.is_followed && self.depth < DEEPEST
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a WordText> {
        let mut next = self.last;
        while let Some(frame) = next {
            if frame.name == name {
                return Some(frame.value);
            }
            next = frame.before;
        }
        None
    }

    /// Ok unless the line relies on the value that this variable had before.
    pub(super) fn is_set(&self, name: &str) -> Result<(), WriteReason> {
        match self.get(name) {
            Some(_) => Err(WriteReason::Construct("a second assignment")),
            None => Ok(()),
        }
    }

    /// Continues with this value.
    pub(super) fn with(
        self,
        name: &str,
        value: &WordText,
        go_on: impl FnOnce(Known<'_>) -> Result<(), WriteReason>,
    ) -> Result<(), WriteReason> {
        if is_special(name) || !is_plain(value) {
            return go_on(self);
        }
        let frame = Frame { name, value, before: self.last };
        go_on(Known { last: Some(&frame), depth: self.depth + 1, ..self })
    }

    /// Continues with each of these values; once without a value if there are too many or they are
    /// unknown.
    pub(super) fn each(
        self,
        name: &str,
        values: &[WordText],
        mut go_on: impl FnMut(Known<'_>) -> Result<(), WriteReason>,
    ) -> Result<(), WriteReason> {
        let readings = self.readings.saturating_mul(values.len());
        let is_known = self.is_followed() && !values.is_empty() && readings <= MOST_READINGS;
        if !is_known || !values.iter().all(is_plain) {
            return go_on(self);
        }
        values.iter().try_for_each(|value| Known { readings, ..self }.with(name, value, &mut go_on))
    }
}

fn is_special(name: &str) -> bool {
    SPECIAL.contains(&name) || SPECIAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// True for a value that begins with a literal character, is not an option, and consists only of
/// characters that no shell splits or expands.
fn is_plain(value: &WordText) -> bool {
    let is_letter = |letter: char| {
        letter.is_ascii_alphanumeric()
            || "_./,:=+@%^-".contains(letter)
            || letter == crate::shell::UNKNOWN
    };
    value.is_operand() && !value.text.is_empty() && value.text.chars().all(is_letter)
}
