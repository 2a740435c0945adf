//! Measures how deeply a command line nests, without parsing it.
//!
//! The parser recurses for every opening and reads the content of `$(…)` again on each level: a few
//! dozen levels cost milliseconds, hundreds cost seconds, thousands overflow the stack. So one pass
//! that knows quotes, comments and here-documents well enough counts the nesting first.

/// Deeper than any command line that people or models write.
const DEEPEST: usize = 24;
/// `if if if …`: each of these words recurses once and may close late or never.
const MOST_OPEN_WORDS: usize = 200;
/// `a; b; c` becomes a list in a list in a list.
const LONGEST_CHAIN: usize = 1000;

#[derive(Clone, Copy, PartialEq)]
enum OpenBound {
    Paren,
    Brace,
    Double,
    Backquote,
}

/// True if the text is safe to parse.
pub(super) fn is_shallow(script: &str) -> bool {
    let mut scan = BoundsScan {
        bytes: script.as_bytes(),
        at: 0,
        open: Vec::new(),
        words: 0,
        chain: 0,
        heredocs: Vec::new(),
    };
    scan.run()
}

struct BoundsScan<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Vec<OpenBound>,

    words: usize,
    /// Separators since the last line that began at nesting level 0.
    chain: usize,
    /// Delimiters of the here-documents whose bodies start after this line.
    heredocs: Vec<&'a [u8]>,
}

impl BoundsScan<'_> {
    fn run(&mut self) -> bool {
        while let Some(&byte) = self.bytes.get(self.at) {
            if self.open.len() > DEEPEST
                || self.words > MOST_OPEN_WORDS
                || self.chain > LONGEST_CHAIN
            {
                return false;
            }
            if self.open.last() == Some(&OpenBound::Double) {
                self.in_double(byte);
            } else {
                self.in_plain(byte);
            }
        }
        self.open.len() <= DEEPEST
    }

    fn next_is(&self, byte: u8) -> bool {
        self.bytes.get(self.at + 1) == Some(&byte)
    }

    fn enter(&mut self, open: OpenBound, width: usize) {
        self.open.push(open);
        self.at += width;
    }

    fn leave(&mut self, open: OpenBound) {
        if self.open.last() == Some(&open) {
            self.open.pop();
        }
        self.at += 1;
    }

    fn in_double(&mut self, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'"' => self.leave(OpenBound::Double),
            b'$' if self.next_is(b'(') => self.enter(OpenBound::Paren, 2),
            b'$' if self.next_is(b'{') => self.enter(OpenBound::Brace, 2),
            b'`' => self.backquote(),
            _ => self.at += 1,
        }
    }

    fn in_plain(&mut self, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'\'' => self.skip_past(b'\''),
            b'"' => self.enter(OpenBound::Double, 1),
            b'`' => self.backquote(),

            // `f() f() f() …` recurses too.
            b'(' if self.next_is(b')') => {
                self.words += 1;
                self.at += 2;
            }
            b'(' => self.enter(OpenBound::Paren, 1),
            b'{' => self.enter(OpenBound::Brace, 1),
            b')' => self.leave(OpenBound::Paren),
            b'}' => self.leave(OpenBound::Brace),
            b'#' if self.at_word_start() => self.skip_past_line(),

            b';' | b'&' | b'|' => {
                self.chain += 1;
                self.at += 1;
            }
            b'\n' => self.line_end(),
            b'<' if self.bytes[self.at..].starts_with(b"<<<") => self.at += 3,
            b'<' if self.next_is(b'<') => self.heredoc(),
            b'!' | b'a'..=b'z' if self.at_word_start() => self.word(),
            _ => self.at += 1,
        }
    }

    fn backquote(&mut self) {
        match self.open.iter().rposition(|open| *open == OpenBound::Backquote) {
            Some(level) => {
                self.open.truncate(level);
                self.at += 1;
            }
            None => self.enter(OpenBound::Backquote, 1),
        }
    }

    fn at_word_start(&self) -> bool {
        self.at == 0 || b" \t\n;|&(){}`".contains(&self.bytes[self.at - 1])
    }

    fn skip_past(&mut self, byte: u8) {
        self.at += 1;
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        self.at += memchr::memchr(byte, rest).map_or(rest.len(), |end| end + 1);
    }

    fn skip_past_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    fn word(&mut self) {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| b" \t\n;|&(){}<>\"'`$\\".contains(byte));
        let word = &rest[..end.unwrap_or(rest.len())];
        match word {
            b"if" | b"while" | b"until" | b"for" | b"select" | b"case" | b"!" | b"time"
            | b"coproc" | b"function" => {
                self.words += 1;
            }
            b"fi" | b"done" | b"esac" => self.words = self.words.saturating_sub(1),
            _ => {}
        }
        self.at += word.len().max(1);
    }

    fn heredoc(&mut self) {
        self.at += 2;
        let rest = &self.bytes[self.at..];
        let start = rest.iter().position(|byte| !b"- \t".contains(byte)).unwrap_or(rest.len());
        let rest = &rest[start..];
        let end = rest.iter().position(|byte| b" \t\n;|&()<>".contains(byte));
        let tag = &rest[..end.unwrap_or(rest.len())];
        self.at += start + tag.len();
        // `<<` inside `$((…))` is a shift: real delimiters do not start with a digit.
        if tag.first().is_some_and(|byte| !byte.is_ascii_digit()) {
            self.heredocs.push(tag);
        }
    }

    fn line_end(&mut self) {
        self.at += 1;
        let nothing_open = self.open.is_empty() && self.words == 0;
        self.chain = if nothing_open { 0 } else { self.chain + 1 };

        for tag in std::mem::take(&mut self.heredocs) {
            let tag: Vec<u8> =
                tag.iter().copied().filter(|byte| !b"'\"\\".contains(byte)).collect();
            while self.at < self.bytes.len() {
                let from = self.at;
                self.skip_past_line();
                let line = &self.bytes[from..self.at];
                self.at += 1;
                if line.trim_ascii_start() == tag {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, shallow: bool) {
        assert_eq!(is_shallow(script), shallow, "{script:.80}");
    }

    #[test]
    fn ordinary_commands_are_shallow() {
        check("for x in a b; do if [ -f $x ]; then echo \"$(cat \"$x\")\"; fi; done", true);
        check(&"echo 'it'; ( a ); { b; }; ".repeat(100), true);
        check(&format!("cat > x.lisp <<'E'\n{}\nE\n", "(".repeat(500)), true);
        check(&format!("echo '{}'", "(".repeat(500)), true);
    }

    #[test]
    fn every_kind_of_nesting_is_counted() {
        for opening in ["(", "$(", "\"$(", "{ ", "${a:-", "<(", "a=( ", "{a,", "$(("] {
            check(&opening.repeat(100), false);
        }
        for word in
            ["if ", "! ", "while ", "time ", "coproc ", "case a in b) ", "f() ", "function f "]
        {
            check(&word.repeat(300), false);
        }

        check(&"$( ')' ".repeat(100), false);
        check(&"a;".repeat(2000), false);
        check(&"a\n".repeat(2000), true);
    }

    #[test]
    fn each_bound_is_the_last_that_is_read() {
        check(&("( ".repeat(24) + &") ".repeat(24)), true);
        check(&("( ".repeat(25) + &") ".repeat(25)), false);
        check(&"( ".repeat(24), true);
        check(&"( ".repeat(25), false);
        check(&("`a` ".to_owned() + &"( ".repeat(24)), true);
        check(&"! ".repeat(200), true);
        check(&"! ".repeat(201), false);
        check(&("a;".repeat(1000) + "a"), true);
        check(&("a;".repeat(1001) + "a"), false);
    }

    #[test]
    fn what_is_quoted_or_closed_again_does_not_nest() {
        let deep = "(".repeat(30);
        for flat in [
            format!("echo \"{deep}\""),
            format!("echo \"\\\"{deep}\""),
            format!("echo \"{}\"", "$a ".repeat(30)),
            format!("# {deep}"),
            format!("cat <<<'{deep}'"),
            format!("cat <<E\na\n{deep}\nE\n"),
            "\\(".repeat(30),
            "`( ` ; ".repeat(30),
            "cat <<{\n{\n".repeat(30),
            "-if ".repeat(300),
            "if a; then b; fi\n".repeat(300),
        ] {
            check(&flat, true);
        }
    }

    #[test]
    fn what_follows_a_quote_a_comment_or_a_here_document_nests() {
        let deep = "( ".repeat(30);
        for before in [
            "echo \"a\" ",
            "echo \"\\\\\"",
            "echo 'a'",
            "echo a#b $# ",
            "# a\n",
            "\"`",
            "\"$(",
            "\"${",
            "cat <<'E'\nx\nE\n",
            "cat <<<E\n",
            "cat <<<<E\n",
            "a <E\n",
            "echo $((1<<2))\n",
        ] {
            check(&format!("{before}{deep}"), false);
        }
        check(&format!("cat <<E\nx\nE\n{}", "(".repeat(30)), false);
        check(&("{ ".to_owned() + &"a\n".repeat(2000)), false);
        check(&("if ".to_owned() + &"a\n".repeat(2000)), false);
    }
}
