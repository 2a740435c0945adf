//! Rewrites `` `…` `` as `$(…)`, following a shell's quoting rules.
//!
//! A shell takes the text between two backticks, removes one level of backslashes, and then reads
//! the result as commands. The parser does not do that, so it never gets a backtick: a substitution
//! becomes `$( … )`, and a literal backtick becomes [`BACKTICK`]. Where shells differ, or where the
//! end of a quote depends on a construct that is not handled here, the text is unreadable.

use std::borrow::Cow;
use std::ops::Range;

/// Replaces a literal backtick in the text for the parser.
pub(crate) const BACKTICK: char = '\u{6}';

/// How deep backticks may nest.
const DEEPEST: usize = 4;

/// Turns each [`BACKTICK`] back into a backtick.
pub(crate) fn restored(text: &str) -> Cow<'_, str> {
    match text.contains(BACKTICK) {
        true => Cow::from(text.replace(BACKTICK, "`")),
        false => Cow::from(text),
    }
}

/// Rewrites the text without backticks; `None` if it cannot be read exactly.
pub(super) fn rewritten(text: &str) -> Option<Cow<'_, str>> {
    if memchr::memchr(b'`', text.as_bytes()).is_none() {
        return Some(Cow::from(text));
    }
    rewrite(text, 0).map(Cow::from)
}

fn rewrite(text: &str, depth: usize) -> Option<String> {
    if depth > DEEPEST || text.contains(BACKTICK) {
        return None;
    }
    let mut scan = BacktickScan {
        letters: text.chars().collect(),
        at: 0,
        out: String::with_capacity(text.len() + 8),
        open: Vec::new(),
        heredocs: Vec::new(),
        before: ' ',
        depth,
    };
    while scan.at < scan.letters.len() {
        scan.step()?;
    }
    (scan.open.is_empty() && scan.heredocs.is_empty()).then_some(scan.out)
}

#[derive(Clone, Copy, PartialEq)]
enum OpenQuote {
    Double,
    Paren,
    /// Arithmetic parentheses, in which quotes have another meaning.
    Sum,
}

struct HereDoc {
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

struct BacktickScan {
    letters: Vec<char>,
    at: usize,
    out: String,
    open: Vec<OpenQuote>,
    heredocs: Vec<HereDoc>,
    /// The previous character; `x` after a quoted or escaped one.
    before: char,
    depth: usize,
}

impl BacktickScan {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, letter)| self.peek(ahead) == Some(letter))
    }

    /// Copies characters literally.
    fn copy(&mut self, n: usize) {
        for letter in self.letters.iter().skip(self.at).take(n) {
            self.out.push(if *letter == '`' { BACKTICK } else { *letter });
        }
        self.at += n;
    }

    fn pass(&mut self, n: usize, before: char) {
        self.copy(n);
        self.before = before;
    }

    fn step(&mut self) -> Option<()> {
        let letter = self.peek(0)?;
        match (letter, self.open.last()) {
            ('\\', _) => {
                self.peek(1)?;
                // A line continuation does not change the word.
                let before = if self.peek(1) == Some('\n') { self.before } else { 'x' };
                self.pass(2, before);
            }
            ('`', _) => self.substitution()?,
            ('$', _) => self.dollar()?,
            ('"', Some(OpenQuote::Double)) => {
                self.open.pop();
                self.pass(1, 'x');
            }
            (_, Some(OpenQuote::Double)) => {
                // The body of a here-document begins after an unquoted newline.
                if letter == '\n' && !self.heredocs.is_empty() {
                    return None;
                }
                self.pass(1, 'x');
            }
            ('"' | '\'', Some(OpenQuote::Sum)) => return None,
            ('"', _) => {
                self.open.push(OpenQuote::Double);
                self.pass(1, 'x');
            }
            ('\'', _) => self.single()?,
            ('#', _) if " \t\n;&|(".contains(self.before) => self.comment()?,
            ('#', _) if ")<>".contains(self.before) => return None,
            ('(', _) if self.peek(1) == Some('(') => {
                self.open.extend([OpenQuote::Sum, OpenQuote::Sum]);
                self.pass(2, '(');
            }
            ('(', _) => {
                self.open.push(OpenQuote::Paren);
                self.pass(1, '(');
            }
            (')', top) => {
                if top.is_some() && !self.heredocs.is_empty() {
                    return None;
                }
                self.open.pop();
                self.pass(1, ')');
            }
            ('<', _) if self.starts("<<<") => self.pass(3, '<'),
            ('<', _) if self.starts("<<") => self.heredoc()?,
            ('c', Some(_)) if self.starts("case") && " \t\n;&|(".contains(self.before) => {
                return None;
            }
            ('\n', _) => {
                self.pass(1, '\n');
                for heredoc in std::mem::take(&mut self.heredocs) {
                    self.body(&heredoc)?;
                }
            }
            _ => self.pass(1, letter),
        }
        Some(())
    }

    fn comment(&mut self) -> Option<()> {
        if self.open.contains(&OpenQuote::Sum) {
            return None;
        }
        let rest = &self.letters[self.at..];
        let end = rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
        self.pass(end, '#');
        Some(())
    }

    fn single(&mut self) -> Option<()> {
        let rest = self.letters.get(self.at + 1..)?;
        let end = rest.iter().position(|letter| *letter == '\'')?;
        if !self.heredocs.is_empty() && rest[..end].contains(&'\n') {
            return None;
        }
        self.pass(end + 2, 'x');
        Some(())
    }

    fn dollar(&mut self) -> Option<()> {
        let is_double = self.open.last() == Some(&OpenQuote::Double);
        match self.peek(1) {
            Some('(') if self.peek(2) == Some('(') => {
                self.open.extend([OpenQuote::Sum, OpenQuote::Sum]);
                self.pass(3, '(');
            }
            Some('(') => {
                self.open.push(OpenQuote::Paren);
                self.pass(2, '(');
            }
            Some('{') => self.parameter()?,
            Some('[') => return None,
            Some('\'') if !is_double => {
                let mut end = self.at + 2;
                while *self.letters.get(end)? != '\'' {
                    end += if self.letters[end] == '\\' { 2 } else { 1 };
                }
                self.pass(end + 1 - self.at, 'x');
            }
            _ => self.pass(1, '$'),
        }
        Some(())
    }

    /// `${…}`: quotes inside may have either meaning, so only a text without quotes is accepted.
    fn parameter(&mut self) -> Option<()> {
        let rest = &self.letters[self.at + 2..];
        let end = rest.iter().position(|letter| *letter == '}')?;
        if rest[..end].iter().any(|letter| "'\"`\\${(\n".contains(*letter)) {
            return None;
        }
        self.pass(end + 3, 'x');
        Some(())
    }

    fn substitution(&mut self) -> Option<()> {
        let inner = self.inner()?;
        let is_double = self.open.last() == Some(&OpenQuote::Double);
        let text: String = self.letters[inner.clone()].iter().collect();
        let is_plain = |c: &char| !c.is_alphanumeric() && !"$_'\"{[".contains(*c);
        let comments = text
            .match_indices('#')
            .any(|(at, _)| text[..at].chars().next_back().is_none_or(|before| is_plain(&before)));
        let has_lines = text.contains('\n') && !self.heredocs.is_empty();
        let is_doubtful = self.open.contains(&OpenQuote::Sum)
            || self.open.contains(&OpenQuote::Double) && !is_double && text.contains("\\\"");
        if comments || has_lines || is_doubtful || text.contains("<<") || text.contains("\\\n") {
            return None;
        }
        let text = rewrite(&unescaped(&text, is_double)?, self.depth + 1)?;
        if text.ends_with('\\') {
            return None;
        }
        // A parenthesis right after `$(` would start arithmetic.
        self.out.push_str("$( ");
        self.out.push_str(&text);
        self.out.push_str(" )");
        self.at = inner.end + 1;
        self.before = 'x';
        Some(())
    }

    /// The range up to the next unescaped backtick, whatever quotes are between.
    fn inner(&self) -> Option<Range<usize>> {
        let start = self.at + 1;
        let mut end = start;
        while *self.letters.get(end)? != '`' {
            end += if self.letters[end] == '\\' { 2 } else { 1 };
        }
        Some(start..end)
    }

    fn heredoc(&mut self) -> Option<()> {
        if self.open.contains(&OpenQuote::Sum) {
            return None;
        }
        self.pass(2, '<');
        let strips_tabs = self.peek(0) == Some('-');
        if strips_tabs {
            self.pass(1, '<');
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.pass(1, '<');
        }
        let (mut delimiter, mut is_quoted) = (String::new(), false);
        while let Some(letter) = self.peek(0).filter(|letter| !" \t\n;&|()<>".contains(*letter)) {
            match letter {
                '\'' | '"' => {
                    is_quoted = true;
                    let rest = &self.letters[self.at + 1..];
                    let end = rest.iter().position(|next| *next == letter)?;
                    let text: String = rest[..end].iter().collect();
                    if text.contains(['\n', '\\', '`', '$']) {
                        return None;
                    }
                    delimiter.push_str(&text);
                    self.pass(end + 2, 'x');
                }
                '\\' => {
                    is_quoted = true;
                    delimiter.push(self.peek(1).filter(|next| *next != '\n' && *next != '`')?);
                    self.pass(2, 'x');
                }
                '$' | '`' => return None,
                _ => {
                    delimiter.push(letter);
                    self.pass(1, 'x');
                }
            }
        }
        self.heredocs.push(HereDoc { delimiter, is_quoted, strips_tabs });
        Some(())
    }

    fn body(&mut self, heredoc: &HereDoc) -> Option<()> {
        let from = self.at;
        let mut end = from;
        loop {
            let rest = self.letters.get(end..).filter(|rest| !rest.is_empty())?;
            let width = rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
            let line: String = rest[..width].iter().collect();
            let line = match heredoc.strips_tabs {
                true => line.trim_start_matches('\t'),
                false => line.as_str(),
            };
            if line == heredoc.delimiter {
                break;
            }
            end += width + 1;
        }
        let body: String = self.letters[from..end].iter().collect();
        if !heredoc.is_quoted && body.contains("\\\n") {
            return None;
        }
        if heredoc.is_quoted || !body.contains('`') {
            self.pass(end - from, '\n');
            return Some(());
        }
        // Only if nothing can hide a backtick, or all backticks are escaped.
        if !body.replace("\\`", "").contains(['`', '\\', '$']) {
            self.pass(end - from, '\n');
            return Some(());
        }
        if body.contains(['\\', '\'', '"', '#']) {
            return None;
        }
        while self.at < end {
            match self.peek(0)? {
                '`' => self.substitution()?,
                _ => self.pass(1, '\n'),
            }
        }
        self.before = '\n';
        (self.at == end).then_some(())
    }
}

/// Removes one level of backslashes.
fn unescaped(text: &str, is_double: bool) -> Option<String> {
    // Shells differ in the order in which they remove the two levels.
    let others = text.replace("\\\"", "");
    if is_double && others.len() < text.len() && others.contains('\\') {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('$' | '`' | '\\')) => plain.extend(letters.next()),
            ('\\', Some('"')) if is_double => plain.extend(letters.next()),
            _ => plain.push(letter),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let expected = expected.map(|text| text.replace('B', &BACKTICK.to_string()));
        assert_eq!(rewritten(text).map(Cow::into_owned), expected, "{text}");
    }

    #[test]
    fn a_substitution_is_unescaped_once_and_read_again() {
        check("ls", Some("ls"));
        check("echo `ls`", Some("echo $( ls )"));
        check("echo `(ls)`", Some("echo $( (ls) )"));
        check("echo \"`ls`\"", Some("echo \"$( ls )\""));
        check(r"echo `echo \`touch y\``", Some("echo $( echo $( touch y ) )"));
        check(r#"cat `echo "\$(rm x)"`"#, Some(r#"cat $( echo "$(rm x)" )"#));
        check(r#"echo "`echo \"x\"`""#, Some(r#"echo "$( echo "x" )""#));
        check(r#"echo `echo \"x\"`"#, Some(r#"echo $( echo \"x\" )"#));
        check("cat <<E\n`ls`\nE\n", Some("cat <<E\n$( ls )\nE\n"));
        check(r"echo `echo \\\`x`", Some(r"echo $( echo \Bx )"));
        check("echo \"$(echo `ls`)\"", Some("echo \"$(echo $( ls ))\""));
    }

    #[test]
    fn a_literal_backtick_is_marked() {
        check("grep '`' a", Some("grep 'B' a"));
        check(r#"grep "\`x\`" a"#, Some(r#"grep "\Bx\B" a"#));
        check(r"echo \`", Some(r"echo \B"));
        check("ls # `", Some("ls # B"));
        check("cat <<'E'\n`x`\nE\n", Some("cat <<'E'\nBxB\nE\n"));
        check("cat <<E\n\\`x\\`\nE\n", Some("cat <<E\n\\Bx\\B\nE\n"));
        check(
            "git commit -m \"$(cat <<'E'\nit's `x`\nE\n)\"",
            Some("git commit -m \"$(cat <<'E'\nit's BxB\nE\n)\""),
        );
        assert_eq!(restored("a\u{6}b"), "a`b");
    }

    #[test]
    fn what_shells_read_differently_is_unreadable() {
        for text in [
            "echo `",
            "echo `ls",
            "echo `ls # x`",
            "echo '`",
            "echo `echo '`; touch y; echo `'`",
            "echo \"`ls\"",
            "echo `cat <<E\nx\nE\n`",
            "cat <<E\n`ls 'x'`\nE\n",
            "cat <<E `ls`\nx",
            "echo $((`ls`))",
            "echo ${x:-`ls`}",
            "echo $(case a in a) echo `ls`;; esac)",
            "echo \"$(echo `echo \\\"x\\\"`)\"",
            "echo `ls \\\n`",
            "echo \u{6} `ls`",
        ] {
            check(text, None);
        }
    }
}
