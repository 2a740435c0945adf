//! Recognises an `awk` program that only prints to its output.
//!
//! A program can write files, run commands and read from other programs, so it is split into
//! strings, regular expressions between slashes, and the rest. Where `awk` implementations may read
//! a slash either as a division or as the start of a regular expression, both readings must be
//! harmless.

use super::WriteReason;
use super::words::WordText;

/// Limit on slashes that can be read in two ways.
const MOST_READINGS: usize = 6;

pub(super) fn only_reads(name: &str, arguments: &[WordText]) -> Result<(), WriteReason> {
    let refused = |word: &WordText| WriteReason::Argument(name.to_owned(), word.shown());
    let mut rest = arguments;
    loop {
        let Some((word, after)) = rest.split_first() else {
            return Err(WriteReason::Program(name.to_owned()));
        };
        let text = word.text.as_str();
        rest = match text {
            "--" => {
                rest = after;
                break;
            }
            "-F" | "-v" | "--field-separator" => {
                after.get(1..).filter(|_| !after[0].many).ok_or_else(|| refused(word))?
            }
            "--posix" | "--traditional" | "--re-interval" | "--sandbox" | "-S" => after,
            _ if word.many => return Err(WriteReason::Computed(name.to_owned(), word.shown())),
            _ if text.starts_with("-F") || text.starts_with("--field-separator=") => after,
            _ if text.starts_with("-v") && text.contains('=') => after,
            _ if text.starts_with('-') => return Err(refused(word)),
            _ => break,
        };
    }
    let Some((program, files)) = rest.split_first() else {
        return Err(WriteReason::Program(name.to_owned()));
    };
    // Nothing after the program is an option. `gawk` opens network connections through these names.
    let connects = |word: &&WordText| word.text.starts_with("/inet");
    match program.literal().is_some_and(only_prints) {
        false => Err(refused(program)),
        true => files.iter().find(connects).map_or(Ok(()), |word| Err(refused(word))),
    }
}

fn only_prints(program: &str) -> bool {
    let refused = ["system", "getline", "@", "\\\n"];
    !refused.iter().any(|word| program.contains(word))
        && AwkScan { letters: program.chars().collect(), readings: 0 }.prints(AwkState::default())
}

#[derive(Clone, Default)]
struct AwkState {
    at: usize,
    /// Number of open parentheses and brackets.
    depth: usize,
    /// Inside the argument list of a `print`, at this depth.
    printing: bool,
    before: TokenBefore,
}

/// The token before a slash.
#[derive(Clone, Copy, Default, PartialEq)]
enum TokenBefore {
    /// An operator, or the start of an expression: the slash starts a regular expression.
    #[default]
    Nothing,
    /// A value: the slash divides it.
    Value,
    /// The end of a condition or of a value: the slash may be either.
    Either,
}

struct AwkScan {
    letters: Vec<char>,
    readings: usize,
}

impl AwkScan {
    fn prints(&mut self, mut state: AwkState) -> bool {
        while let Some(&letter) = self.letters.get(state.at) {
            state.at += 1;
            let next = self.letters.get(state.at).copied();
            match letter {
                '"' => match self.past_string(state.at) {
                    Some(end) => (state.at, state.before) = (end, TokenBefore::Value),
                    None => return false,
                },
                '/' => match state.before {
                    TokenBefore::Value => state.before = TokenBefore::Nothing,
                    TokenBefore::Nothing => match self.past_expression(state.at) {
                        Some(end) => (state.at, state.before) = (end, TokenBefore::Value),
                        None => return false,
                    },
                    TokenBefore::Either => {
                        self.readings += 1;
                        if self.readings > MOST_READINGS {
                            return false;
                        }
                        let other =
                            |at| AwkState { at, before: TokenBefore::Value, ..state.clone() };
                        match self.past_expression(state.at) {
                            Some(end) if !self.prints(other(end)) => return false,
                            None if self.letters[state.at..].contains(&'/') => return false,
                            _ => {}
                        }
                        state.before = TokenBefore::Nothing;
                    }
                },
                '#' => {
                    let rest = &self.letters[state.at..];
                    state.at +=
                        rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
                }
                '(' | '[' => {
                    state.depth += 1;
                    state.before = TokenBefore::Nothing;
                }
                ')' | ']' => {
                    state.depth = state.depth.saturating_sub(1);
                    state.before =
                        if letter == ')' { TokenBefore::Either } else { TokenBefore::Value };
                }
                ';' | '\n' | '{' | '}' => {
                    // A block delimiter inside parentheses is malformed: anything may follow.
                    if state.depth > 0 && letter != ';' && letter != '\n' {
                        return false;
                    }
                    // After a comma or an operator the list continues on the next line.
                    let goes_on = letter == '\n' && state.before == TokenBefore::Nothing;
                    state.printing &= state.depth > 0 || goes_on;
                    state.before = TokenBefore::Nothing;
                }
                '|' if next == Some('|') => {
                    state.at += 1;
                    state.before = TokenBefore::Nothing;
                }
                '|' => return false,
                '>' if state.printing && state.depth == 0 => match self.past_standard(state.at) {
                    Some(end) => (state.at, state.before) = (end, TokenBefore::Value),
                    None => return false,
                },
                '$' => state.before = TokenBefore::Nothing,
                '+' | '-' if next == Some(letter) => {
                    // `x++ / y` divides, `++/x/` does not.
                    state.at += 1;
                    state.before = TokenBefore::Either;
                }
                letter if letter.is_alphanumeric() || letter == '_' || letter == '.' => {
                    self.word(&mut state);
                }
                letter if letter.is_whitespace() => {}
                _ => state.before = TokenBefore::Nothing,
            }
        }
        true
    }

    fn word(&self, state: &mut AwkState) {
        let from = state.at - 1;
        let is_part = |letter: &char| letter.is_alphanumeric() || "_.".contains(*letter);
        let rest = &self.letters[from..];
        let width = rest.iter().position(|letter| !is_part(letter)).unwrap_or(rest.len());
        let word: String = rest[..width].iter().collect();
        state.at = from + width;
        if matches!(word.as_str(), "print" | "printf") && state.depth == 0 {
            state.printing = true;
        }
        let is_keyword = matches!(
            word.as_str(),
            "print" | "printf" | "return" | "in" | "else" | "do" | "case" | "exit" | "delete"
        );
        state.before = if is_keyword { TokenBefore::Nothing } else { TokenBefore::Value };
        // These may be followed by a value without parentheses: `length / 2/`.
        if word == "length" || is_keyword && word != "in" {
            state.before = TokenBefore::Either;
        }
    }

    fn past_string(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.letters.get(at)? {
                '"' => return Some(at + 1),
                '\n' => return None,
                '\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    /// Returns `None` for a slash inside brackets: some `awk`s end the expression there and others
    /// do not.
    fn past_expression(&self, mut at: usize) -> Option<usize> {
        let mut in_brackets = false;
        loop {
            match self.letters.get(at)? {
                '/' if in_brackets => return None,
                '/' => return Some(at + 1),
                '\n' => return None,
                '\\' => at += 1,
                '[' => in_brackets = true,
                ']' => in_brackets = false,
                _ => {}
            }
            at += 1;
        }
    }

    /// After `>`: the end of `print > "/dev/stderr"`.
    fn past_standard(&self, at: usize) -> Option<usize> {
        let rest: String = self.letters[at..].iter().collect();
        let text = rest.trim_start_matches(' ');
        let after = ["\"/dev/stderr\"", "\"/dev/stdout\""]
            .iter()
            .find_map(|name| text.strip_prefix(name))?
            .trim_start_matches(' ');
        let ends = after.is_empty() || after.starts_with([';', '}', '\n']);
        ends.then(|| self.letters.len() - after.chars().count())
    }
}
