//! Expected values in the assertions of tests, and how to change them so that the file stays valid.
//!
//! A test that still passes with another expected value does not see the product. Nothing here knows a runner: a
//! statement with a word such as `assert`, `expect` or `equal` compares something, and the last literal on the side that
//! calls nothing is what is expected. What may pass with another value, too (an input, an inequality, a message, a
//! tolerance, a skipped test), is left out.

pub(crate) mod tokens;

use super::harness;
use crate::text::truncate::bounded;
use std::collections::BTreeSet;
use std::ops::Range;
use tokens::{Syntax, Token, TokenKind, tokens};

/// An expected value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    /// Counted from 1.
    pub line: usize,
    /// The title or name of the test around it; empty if none is known.
    pub test: String,
    /// The value as it is written, and what it is changed to.
    pub was: String,
    pub becomes: String,
    /// What stands before it: `==`; empty if that says nothing.
    operator: &'static str,
    range: Range<usize>,
}

impl Literal {
    /// The text with this value changed.
    pub fn alter(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.range.start], self.becomes, &text[self.range.end..])
    }

    /// `== 5`, or `5`.
    pub fn describe(&self) -> String {
        let between = if self.operator.is_empty() { "" } else { " " };
        format!("{}{between}{}", self.operator, bounded(&self.was.replace('\n', " "), 40))
    }
}

/// A test file whose values may be changed.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub path: &'a str,
    pub text: &'a str,
    /// The file at the start; `None` if it did not exist.
    pub start: Option<&'a str>,
    /// The command was seen to read it.
    pub is_read: bool,
}

/// Up to `most` values in different tests: those first that see the change, because they fail without it, then files that
/// are read, new or changed lines, and one of each file. Returns the index of the file with each.
pub fn choose(files: &[Candidate<'_>], failing: &[String], most: usize) -> Vec<(usize, Literal)> {
    let mut all = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let known: BTreeSet<&str> = file.start.unwrap_or_default().lines().map(str::trim).collect();
        let lines: Vec<&str> = file.text.lines().collect();
        let mut place = [0, 0];
        let mut found = find(file.path, file.text);
        let has_one = |name: &&String| found.iter().any(|one| is_named(&one.test, function(name)));
        let without: Vec<String> = failing.iter().filter(|name| !has_one(name)).cloned().collect();
        let by_helpers = by_helpers(file, &without);
        found.extend(by_helpers);
        for literal in found {
            let line = lines.get(literal.line - 1).map_or("", |line| line.trim());
            let is_old = known.contains(line);
            let nth = &mut place[usize::from(is_old)];
            let rank = (!is_of(&literal, failing), !file.is_read, is_old, *nth, at);
            all.push((rank, literal));
            *nth += 1;
        }
    }
    all.sort_by_key(|(rank, _)| *rank);
    let mut tests = BTreeSet::new();
    let mut chosen = Vec::new();
    for ((.., at), literal) in all {
        // A script without named tests: each line is one.
        let line = if literal.test.is_empty() { literal.line } else { 0 };
        if chosen.len() < most && tests.insert((at, line, literal.test.clone())) {
            chosen.push((at, literal));
        }
    }
    chosen
}

/// True for a value in one of the tests of these names.
pub fn is_of(literal: &Literal, tests: &[String]) -> bool {
    tests.iter().any(|name| is_named(&literal.test, function(name)))
}

/// True if a heading has this name as a whole: `adds` is not in `adds_up`.
fn is_named(heading: &str, name: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    heading.match_indices(name).any(|(at, _)| {
        let around = (heading[..at].chars().next_back(), heading[at + name.len()..].chars().next());
        !name.is_empty() && !is_part(around.0) && !is_part(around.1)
    })
}

/// The function or title in the name of a failed test: `tests/test_a.py::test_b[1]`, `TestA/sub`, `suite › title`.
fn function(name: &str) -> &str {
    let name = ["::", " › ", " > "]
        .into_iter()
        .fold(name, |name, by| name.rsplit(by).next().unwrap_or(name));
    let end = name.find(['[', '/']).filter(|end| *end > 0).unwrap_or(name.len());
    &name[..end]
}

/// The values that these tests give to functions of their own, beside what the product computes: `close(f(2), 4.1)`.
fn by_helpers(file: &Candidate<'_>, tests: &[String]) -> Vec<Literal> {
    if tests.is_empty() || harness::is_snapshot(file.path) {
        return Vec::new();
    }
    let source = Source::of_file(file.path, file.text);
    let calls = (0..source.tokens.len()).filter_map(|at| source.given_to_a_helper(at));
    calls.filter(|one| is_of(one, tests)).collect()
}

/// The expected values of a file, in its order.
pub fn find(path: &str, text: &str) -> Vec<Literal> {
    if harness::is_snapshot(path) {
        return snapshot(text).into_iter().collect();
    }
    let source = Source::of_file(path, text);
    let regions = harness::test_regions(path, text);
    let in_tests = |at: usize| regions.iter().any(|region| region.contains(&at));
    let mut found: Vec<Literal> =
        source.assertions().into_iter().filter(|one| in_tests(one.range.start)).collect();
    if found.is_empty() {
        // Tests as tables: the assertion compares variables.
        found = source.rows().into_iter().filter(|one| in_tests(one.range.start)).collect();
    }
    found.dedup_by(|one, before| one.range == before.range);
    found
}

/// The first value of a snapshot: a changed letter or digit after its title.
fn snapshot(text: &str) -> Option<Literal> {
    let body = text.find("] = `").map_or(0, |at| at + "] = `".len());
    let begins = text[body..].char_indices().find(|(at, letter)| {
        let before = text[..body + at].chars().next_back();
        letter.is_ascii_alphanumeric() && before != Some('\\') && before != Some('$')
    });
    let at = body + begins?.0;
    let was = text[at..].chars().next()?;
    let line = text[..at].matches('\n').count() + 1;
    let before = text[..at].chars().next_back();
    let (was, becomes) = (was.to_string(), other(before, was).to_string());
    Some(Literal {
        line,
        test: "snapshot".to_owned(),
        was,
        becomes,
        operator: "",
        range: at..at + 1,
    })
}

struct Source<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// Where each line begins.
    lines: Vec<usize>,
    syntax: Syntax,
}

/// What compares two sides.
const OPERATORS: [&str; 7] = ["==", "===", "=", "=~", "is", "in", "eq"];

/// What else may stand between two values: another one may pass, too.
const INEQUALITIES: [&str; 9] =
    ["<", ">", "<=", ">=", "ne", "assert_ne", "expect_ne", "assert_lt", "assert_gt"];

/// Parts of the words of an assertion that compares, and of one that must not hold.
const COMPARE: [&str; 11] = [
    "equal",
    "tobe",
    "same",
    "_eq",
    "eql",
    "match",
    "contain",
    "include",
    "tohave",
    "grep",
    "regular_expression",
];
const NEGATIVE: [&str; 9] =
    ["not", "never", "unequal", "differ", "refute", "greater", "less", "raises", "throw"];

/// Parts of the words of an assertion about one value, whose second one is a message.
const OF_ONE: [&str; 7] = ["true", "false", "none", "null", "nil", "instance", "ok"];

/// Parts of the names of calls whose second value is a tolerance.
const TOLERANT: [&str; 4] = ["close", "approx", "within", "delta"];

/// The arguments of an assertion that may hold what is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arguments {
    All,
    First(usize),
    /// Of a function of the tests' own.
    Last,
}

/// What a bracket in an assertion belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// The assertion itself, or a method of it: `expect(x).toBe(3)`.
    Own,
    /// The same, with a tolerance.
    Tolerant,
    /// A list, an index, a built value.
    Value,
    /// A call, which may pass with another input.
    Product,
}

/// The literals of a statement that may be expected.
#[derive(Debug, Default)]
struct Values {
    last: Option<usize>,
    n_commas: usize,
    /// Another argument than the last one is a call, and the last is none.
    is_computed: bool,
}

/// Longest assertion, in lines.
const LONGEST: usize = 12;

impl<'a> Source<'a> {
    fn of_file(path: &str, text: &'a str) -> Source<'a> {
        let syntax = Syntax::for_path(path);
        Source { text, tokens: tokens(text, syntax), lines: line_starts(text), syntax }
    }

    /// The last argument of a call that begins at this word, if it is a value and another argument is computed.
    fn given_to_a_helper(&self, at: usize) -> Option<Literal> {
        let end = self.end_of(at);
        if self.syntax.is_shell {
            let is_first = at == 0 || self.kind(at - 1) == Some(TokenKind::Break);
            let is_computed = (at + 1..end).any(|it| self.token_text(it).starts_with("\"$("));
            return (is_first && is_computed).then(|| self.expected_argument(at, end)).flatten();
        }
        let is_call = self.kind(at) == Some(TokenKind::Word) && self.token_text(at + 1) == "(";
        let values = self.values(at, end, Arguments::Last);
        let is_given = is_call && !self.is_defined(at) && values.is_computed;
        is_given.then(|| self.literal(values.last?)).flatten()
    }

    fn token_text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.text[token.range.clone()])
    }

    fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    fn assertions(&self) -> Vec<Literal> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if !self.begins_assertion(at) {
                at += 1;
                continue;
            }
            let end = self.end_of(at);
            if let Some(literal) = self.expected(at, end) {
                found.push(literal);
            }
            at = end;
        }
        found
    }

    /// True for the first word of a comparison.
    fn begins_assertion(&self, at: usize) -> bool {
        let word = self.token_text(at);
        if self.syntax.is_shell {
            let is_first = at == 0 || !matches!(self.kind(at - 1), Some(TokenKind::Word));
            return matches!(word, "[" | "test") && is_first || word == "grep" || says_assert(word);
        }
        match self.kind(at) {
            Some(TokenKind::Word) if word == "if" => self.reports_a_failure(at),
            Some(TokenKind::Word) => says_assert(word) && !self.is_defined(at),
            _ => false,
        }
    }

    /// True for the name of a function that is defined or imported here.
    fn is_defined(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |at| self.token_text(at));
        let is_import = matches!(
            before,
            "def" | "fn" | "func" | "function" | "import" | "use" | "from" | "const"
        );
        is_import || matches!(self.token_text(at + 1), "=" | ":" | "}") && before != "."
    }

    /// `if got != 5 { t.Errorf(…)`: the test fails by itself.
    fn reports_a_failure(&self, at: usize) -> bool {
        let ahead = at + 1..(at + 40).min(self.tokens.len());
        let mut has_comparison = false;
        for next in ahead {
            match self.token_text(next) {
                "!=" => has_comparison = true,
                "Error" | "Errorf" | "Fatal" | "Fatalf" => return has_comparison,
                "}" | "if" => return false,
                _ => {}
            }
        }
        false
    }

    /// Where an assertion ends: at the end of its line, or where what it opened is closed.
    fn end_of(&self, start: usize) -> usize {
        let (mut depth, mut lines) = (0_i32, 0);
        let is_if = self.token_text(start) == "if";
        for at in start..self.tokens.len() {
            match (self.token_text(at), self.kind(at)) {
                ("(" | "[", _) => depth += 1,
                (")" | "]", _) => depth -= 1,
                ("{", _) if depth <= 0 => return at,
                (";" | "&&" | "||", _) if depth <= 0 && !is_if => return at,
                (_, Some(TokenKind::Break)) => {
                    lines += 1;
                    // A method of the value stands on the next line: `expect(x)\n  .toBe(3)`.
                    if (depth <= 0 && self.token_text(at + 1) != ".") || lines > LONGEST {
                        return at;
                    }
                }
                _ => {}
            }
            if depth < 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    /// The expected value of the assertion between two tokens.
    fn expected(&self, start: usize, end: usize) -> Option<Literal> {
        let is_if = self.token_text(start) == "if";
        let words: Vec<String> =
            (start..end).map(|at| self.token_text(at).to_lowercase()).collect();
        let is = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
        let contains = |parts: &[&str]| {
            let any = |(word, at): (&String, usize)| {
                self.kind(at) == Some(TokenKind::Word)
                    && parts.iter().any(|part| word.contains(part))
            };
            words.iter().zip(start..end).any(any)
        };
        let word = &words[0];
        // `grep -v`.
        let inverts = |two: &[String]| word == "grep" && two[0] == "-" && two[1].contains('v');
        let is_negative = contains(&NEGATIVE) || is(&INEQUALITIES) || !is_if && is(&["!=", "!=="]);
        if is_negative || words.windows(2).any(inverts) {
            return None;
        }
        if self.syntax.is_shell && says_assert(word) {
            return self.expected_argument(start, end);
        }
        let takes_two = ["equal", "eq", "same", "almost"]
            .iter()
            .any(|part| words.iter().take(4).any(|word| word.contains(part)));
        let takes_one = word == "assert" || OF_ONE.iter().any(|part| word.contains(part));
        let arguments = match (takes_two, takes_one) {
            (true, _) => Arguments::First(2),
            (_, true) => Arguments::First(1),
            _ => Arguments::All,
        };
        let values = self.values(start, end, arguments);
        let compares = is_if || is(&OPERATORS) || contains(&COMPARE) || word.ends_with("eq");
        // `assertSeconds("2h", 7200)`: an assertion of the project's own, with two values.
        let is_own = arguments == Arguments::All && values.n_commas > 0 && word != "expect";
        if compares || is_own { self.literal(values.last?) } else { None }
    }

    /// The literals between two tokens that no call of the product gets: the last one, and what stands beside it.
    fn values(&self, start: usize, end: usize, arguments: Arguments) -> Values {
        let mut values = Values::default();
        let mut open: Vec<Bracket> = Vec::new();
        // Where a call of the assertion ends, which its next method follows.
        let mut own_end = None;
        let (mut computes, mut has_test) = (false, false);
        for at in start..end {
            match self.token_text(at) {
                "(" | "[" | "{" => {
                    let bracket = self.bracket(at, start, own_end);
                    let bracket = match bracket {
                        Bracket::Tolerant if arguments == Arguments::Last => Bracket::Own,
                        bracket => bracket,
                    };
                    computes |= bracket == Bracket::Product;
                    // Go's `t` comes first.
                    has_test |= bracket == Bracket::Own && self.token_text(at + 1) == "t";
                    open.push(bracket);
                }
                ")" | "]" | "}" => {
                    let closed = open.pop();
                    if closed == Some(Bracket::Own) && open.is_empty() {
                        own_end = Some(at);
                        if arguments == Arguments::Last {
                            break;
                        }
                    }
                }
                // What is expected may be any of the right side.
                "in" => break,
                "," if open.last() == Some(&Bracket::Tolerant) => break,
                "," if open.is_empty() || open == [Bracket::Own] => {
                    values.n_commas += 1;
                    match arguments {
                        // `assert!(a == 3, "message")`, `equal(a, 3, "message")`.
                        Arguments::First(n) if values.n_commas >= n + usize::from(has_test) => {
                            break;
                        }
                        Arguments::Last => {
                            values.is_computed |= std::mem::take(&mut computes);
                            values.last = None;
                        }
                        _ => {}
                    }
                }
                _ if self.may_be_expected(at) && !open.contains(&Bracket::Product) => {
                    values.last = Some(at);
                }
                _ => {}
            }
        }
        values.is_computed &= !computes;
        values
    }

    /// Whose bracket opens here.
    fn bracket(&self, at: usize, start: usize, own_end: Option<usize>) -> Bracket {
        let before = |at: usize| (0..at).rev().find(|it| self.kind(*it) != Some(TokenKind::Break));
        let called = before(at)
            .and_then(|it| if self.token_text(it) == "!" { before(it) } else { Some(it) });
        let called = called.filter(|it| self.kind(*it) == Some(TokenKind::Word));
        let Some(called) = called.filter(|_| self.token_text(at) == "(") else {
            return Bracket::Value;
        };
        let name = self.token_text(called);
        let builds = name.starts_with(char::is_uppercase) && self.syntax.capitals_build
            || matches!(name, "is" | "eq" | "equal" | "equalTo" | "approx" | "from" | "of");
        // `assert.equal(…)`, `expect(…).not.toBe(…)`.
        let object = |it: usize| {
            before(it).filter(|dot| matches!(self.token_text(*dot), "." | "::")).and_then(before)
        };
        let is_of_assertion = |it: &usize| *it == start || own_end == Some(*it);
        let is_own =
            std::iter::successors(Some(called), |it| object(*it)).any(|it| is_of_assertion(&it));
        let lower = name.to_lowercase();
        match (is_own || builds, is_own) {
            (false, _) => Bracket::Product,
            _ if TOLERANT.iter().any(|part| lower.contains(part)) => Bracket::Tolerant,
            (_, true) => Bracket::Own,
            _ => Bracket::Value,
        }
    }

    /// The expected value of a shell function such as `assert_equal TITLE "$(command)" 3`: one of its last two arguments. What
    /// stands before them is a title.
    fn expected_argument(&self, start: usize, end: usize) -> Option<Literal> {
        let is_bare = |at: usize| {
            self.kind(at) == Some(TokenKind::Word) && !self.token_text(at).contains('$')
        };
        let last = end.checked_sub(1).filter(|last| *last > start)?;
        if is_bare(last) {
            return self.literal(last);
        }
        let mut of_two = (start + 1..end).rev().take(2);
        self.literal(of_two.find(|at| self.may_be_expected(*at))?)
    }

    /// True for a literal that is no index, no keyword argument and no option.
    fn may_be_expected(&self, at: usize) -> bool {
        let word = self.token_text(at);
        let before = at.checked_sub(1).map_or("", |at| self.token_text(at));
        let is_literal = match self.kind(at) {
            Some(TokenKind::Number | TokenKind::Text) => true,
            Some(TokenKind::Word) if self.syntax.is_shell => matches!(before, "=" | "=="),
            Some(TokenKind::Word) => matches!(word, "true" | "false" | "True" | "False"),
            _ => false,
        };
        let is_index = before == "["
            && at.checked_sub(2).is_some_and(|at| {
                matches!(self.kind(at), Some(TokenKind::Word))
                    || matches!(self.token_text(at), ")" | "]")
            });
        let is_keyword = before == "=" && !self.syntax.is_shell;
        // `"$out"`: what is compared, not what is expected.
        let is_variable = self.syntax.is_shell && word.contains('$');
        let is_key = self.token_text(at + 1) == ":" && self.kind(at) == Some(TokenKind::Text);
        is_literal && !is_index && !is_keyword && !is_variable && !is_key
    }

    /// The values of tests that are rows of a table: `{1, 2, 3},`, `("a", 1),`.
    fn rows(&self) -> Vec<Literal> {
        let mut found = Vec::new();
        let mut start = 0;
        for line in self.tokens.split(|token| token.kind == TokenKind::Break) {
            let places = start..start + line.len();
            start = places.end + 1;
            let Some(last) = places.end.checked_sub(1).filter(|_| !line.is_empty()) else {
                continue;
            };
            if !matches!(self.token_text(places.start), "{" | "(" | "[")
                || self.token_text(last) != ","
            {
                continue;
            }
            let literals: Vec<usize> = places.filter(|at| self.may_be_expected(*at)).collect();
            if literals.len() > 1 {
                found.extend(literals.last().and_then(|at| self.literal(*at)));
            }
        }
        found
    }

    fn literal(&self, at: usize) -> Option<Literal> {
        let range = self.tokens.get(at)?.range.clone();
        let was = &self.text[range.clone()];
        let becomes = match self.kind(at)? {
            TokenKind::Number => other_number(was)?,
            TokenKind::Text => other_text(was)?,
            _ => match was {
                "true" => "false".to_owned(),
                "false" => "true".to_owned(),
                "True" => "False".to_owned(),
                "False" => "True".to_owned(),
                word => other_text(word)?,
            },
        };
        let operator = match at.checked_sub(1).map(|at| self.token_text(at)) {
            Some("==") => "==",
            Some("===") => "===",
            _ => "",
        };
        let line = self.line(range.start);
        let test = self.test_around(line)?;
        Some(Literal { line, test, was: was.to_owned(), becomes, operator, range })
    }

    /// The name of the test around a line; `None` if it is skipped, or passes by failing.
    fn test_around(&self, line: usize) -> Option<String> {
        let lines: Vec<&str> = self.text.lines().collect();
        let heading = (0..line.min(lines.len())).rev().find(|at| is_heading(lines[*at]));
        let Some(heading) = heading else {
            // In a script each line is a test, with its title.
            let own = if self.syntax.is_shell { lines.get(line - 1) } else { None };
            return Some(own.map_or_else(String::new, |own| bounded(own.trim(), 120)));
        };
        let above = lines[heading.saturating_sub(3)..=heading].iter().rev();
        let own = above.enumerate().take_while(|(far, text)| {
            *far == 0 || text.trim_start().starts_with(['@', '#', '[', '/'])
        });
        // Its own line holds a name, too: `fn ignores_case`.
        let is_skipped =
            own.map(|(far, text)| (far, text.trim().to_lowercase())).any(|(far, text)| {
                let words = if far == 0 { IN_HEADING } else { ABOVE_HEADING };
                words.iter().any(|word| text.contains(word)) || far == 0 && text.starts_with('x')
            });
        // `t.Skip()` and `self.skipTest()` within it.
        let body = lines[heading..line.min(lines.len())].iter().map(|text| text.to_lowercase());
        let skips = body.into_iter().any(|text| text.contains(".skip"));
        (!is_skipped && !skips).then(|| bounded(lines[heading].trim(), 120))
    }
}

/// True for a word that begins an assertion in some language.
fn says_assert(word: &str) -> bool {
    let lower = word.to_lowercase();
    let begins = ["assert", "expect", "should"].iter().any(|part| lower.starts_with(part));
    let is = ["equal", "equals", "strictequal", "deepequal", "deepstrictequal", "same"]
        .contains(&lower.as_str());
    begins
        || is
        || matches!(
            word,
            "CHECK" | "REQUIRE" | "CHECK_EQ" | "REQUIRE_EQ" | "PASS_REGULAR_EXPRESSION"
        )
}

/// How the lines above a test say that it is skipped, or that it passes however it fails.
const ABOVE_HEADING: &[&str] =
    &["skip", "ignore", "xfail", "todo", "disabled", "should_panic]", "expectedfailure"];

/// How its first line says it.
const IN_HEADING: &[&str] = &[".skip", ".todo", ".fail", "[ignore", "[should_panic]", "disabled_"];

/// True for the line on which a test begins.
fn is_heading(line: &str) -> bool {
    let line = line.trim_start();
    let starts = [
        "def test",
        "async def test",
        "fn ",
        "pub fn ",
        "async fn ",
        "func Test",
        "TEST",
        "SCENARIO",
        "@test ",
    ];
    let calls = [
        "it(", "it.", "test(", "test.", "it \"", "it '", "test \"", "test '", "xit(", "xtest(",
        "specify ",
    ];
    starts.iter().chain(&calls).any(|word| line.starts_with(word))
        || line.contains("function test")
        || line.contains("void test")
        || line.contains("test_case(")
        || line.starts_with("#[test]")
        || line.starts_with("test_") && line.contains("()")
}

fn line_starts(text: &str) -> Vec<usize> {
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}

/// Another letter of the same kind. A digit becomes less where it can, so that a number stays within its type and a day
/// within its month.
fn other(before: Option<char>, letter: char) -> char {
    match letter {
        '0' => '1',
        '1' if !matches!(before, Some('1'..='9')) => '2',
        '1'..='9' => char::from(letter as u8 - 1),
        'q' => 'z',
        'Q' => 'Z',
        'A'..='Z' => 'Q',
        _ => 'q',
    }
}

/// `7` → `6`, `2.5` → `2.4`, `1_000u32` → `1_001u32`, `0xff` → `0xfe`.
fn other_number(was: &str) -> Option<String> {
    let (start, radix) = match was.get(..2) {
        Some("0x" | "0X") => (2, 16),
        Some("0b" | "0B") => (2, 2),
        Some("0o" | "0O") => (2, 8),
        _ => (0, 10),
    };
    let is_in = |letter: char| letter.is_digit(radix) || matches!(letter, '_' | '.' | '\'');
    let end = was[start..].find(|letter| !is_in(letter)).map_or(was.len(), |end| start + end);
    // Floats and tolerances do not tell the last digits of a long fraction.
    let end = if was[..end].contains('.') { end.min(start + 4) } else { end };
    let at = start + was[start..end].rfind(|letter: char| letter.is_digit(radix))?;
    let letter = was[at..].chars().next()?;
    let other = match letter.to_digit(radix)? {
        1 if radix == 2 => '0',
        digit @ 10.. => char::from_digit(digit - 1, radix)?,
        _ => other(was[start..at].chars().next_back(), letter),
    };
    Some(format!("{}{other}{}", &was[..at], &was[at + 1..]))
}

/// `"abc"` → `"abq"`: the last plain letter or digit outside of escapes and interpolations.
fn other_text(was: &str) -> Option<String> {
    let is_template = was.contains("${") || was.contains("#{") || was.starts_with(['f', 'F', '$']);
    let mut plain = None;
    let (mut before, mut open, mut is_code) = ('\0', 0_u32, false);
    let quote = was.find(['"', '\'', '`']).unwrap_or(0);
    for (at, letter) in was.char_indices().skip_while(|(at, _)| *at < quote) {
        // The digits of `\u{e9}`.
        is_code = is_code && (letter.is_ascii_hexdigit() || letter == '{')
            || before == '\\' && matches!(letter, 'x' | 'u' | 'U');
        match letter {
            '{' if is_template => open += 1,
            '}' if is_template => open = open.saturating_sub(1),
            _ if open == 0
                && letter.is_ascii_alphanumeric()
                && !(is_code && letter.is_ascii_alphabetic())
                && !matches!(before, '\\' | '%' | '$') =>
            {
                plain = Some((at, letter));
            }
            _ => {}
        }
        before = if before == '\\' && letter == '\\' { '\0' } else { letter };
    }
    let (at, letter) = plain?;
    let before = was[..at].chars().next_back();
    Some(format!("{}{}{}", &was[..at], other(before, letter), &was[at + 1..]))
}

#[cfg(test)]
mod assertion_tests;
#[cfg(test)]
mod tests;
