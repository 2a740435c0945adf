//! Splits a command line into commands and words, as far as that needs no shell.
//!
//! It knows quotes and the operators between commands. What it does not know (a group, a condition, a loop,
//! a command within a word, a here-document, an open quote) makes the line unreadable as a whole: no rule may
//! guess what such a line does.

pub mod programs;
pub mod vacuous;

/// The text as one word of a shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The text as one word of a shell, without quotes if it needs none.
pub fn word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,@%".contains(letter);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// A longer line is unreadable, in bytes.
pub const LONGEST: usize = 64 << 10;

/// How a pipeline is joined to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    And,
    Or,
    Then,
    Background,
}

/// Commands joined by `|`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pipeline {
    pub negated: bool,
    pub commands: Vec<Simple>,
}

/// The pipelines of a line, each with what follows it.
pub type List = Vec<(Pipeline, Join)>;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// With assignments in front of the program.
    pub words: Vec<Word>,
    /// True if its output goes to a file.
    pub writes: bool,
}

/// A word without its quotes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    pub text: String,
    /// True if a variable stands in it.
    pub computed: bool,
    pub quoted: bool,
}

impl Simple {
    /// The program and its arguments.
    pub fn program(&self) -> &[Word] {
        let n = self.words.iter().take_while(|word| word.is_assignment()).count();
        &self.words[n..]
    }

    /// The program's name without its folder.
    pub fn name(&self) -> &str {
        let name = self.program().first().map_or("", |word| word.text.as_str());
        name.rsplit('/').next().unwrap_or(name)
    }

    pub fn arguments(&self) -> &[Word] {
        self.program().get(1..).unwrap_or_default()
    }

    /// True if the text says all that the shell will pass on.
    pub fn is_plain(&self) -> bool {
        self.words.iter().all(|word| !word.computed)
    }
}

impl Word {
    fn is_assignment(&self) -> bool {
        let name = self.text.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
        !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    }
}

/// Reads a line; `None` if it is unreadable.
pub fn read(line: &str) -> Option<List> {
    if line.len() > LONGEST {
        return None;
    }
    let mut reader = LineReader { rest: line };
    let mut list = List::new();
    loop {
        reader.blanks();
        if reader.take(";") || reader.take("\n") {
            continue;
        }
        if reader.rest.is_empty() {
            return Some(list);
        }
        let pipeline = reader.pipeline()?;
        list.push((pipeline, reader.join()));
    }
}

/// All commands of a line; `None` if it is unreadable.
pub fn programs(line: &str) -> Option<Vec<Simple>> {
    Some(read(line)?.into_iter().flat_map(|(pipeline, _)| pipeline.commands).collect())
}

/// Words that begin something else than a command.
const KEYWORDS: [&str; 19] = [
    "if", "then", "elif", "else", "fi", "while", "until", "for", "select", "case", "esac", "do",
    "done", "function", "coproc", "[[", "((", "{", "}",
];

struct LineReader<'a> {
    rest: &'a str,
}

impl LineReader<'_> {
    fn skip(&mut self, n: usize) {
        self.rest = &self.rest[n..];
    }

    fn take(&mut self, text: &str) -> bool {
        let is_next = self.rest.starts_with(text);
        if is_next {
            self.skip(text.len());
        }
        is_next
    }

    /// Skips blanks, joined lines and a comment.
    fn blanks(&mut self) {
        loop {
            let rest = self.rest.trim_start_matches([' ', '\t']);
            let rest = rest.strip_prefix("\\\n").unwrap_or(rest);
            let rest = if rest.starts_with('#') {
                &rest[rest.find('\n').unwrap_or(rest.len())..]
            } else {
                rest
            };
            if rest.len() == self.rest.len() {
                return;
            }
            self.rest = rest;
        }
    }

    fn join(&mut self) -> Join {
        self.blanks();
        match () {
            () if self.take("&&") => Join::And,
            () if self.take("||") => Join::Or,
            () if self.take("&") => Join::Background,
            () => Join::Then,
        }
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        let mut pipeline = Pipeline::default();
        loop {
            self.blanks();
            while self.take("\n") {
                self.blanks();
            }
            if self.take("! ") {
                pipeline.negated = !pipeline.negated;
                continue;
            }
            if self.take("time ") {
                continue;
            }
            pipeline.commands.push(self.simple()?);
            self.blanks();
            if self.rest.starts_with("||") || !(self.take("|&") || self.take("|")) {
                return Some(pipeline);
            }
        }
    }

    fn simple(&mut self) -> Option<Simple> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            if self.redirect(&mut simple)? {
                continue;
            }
            if self.rest.is_empty() || self.rest.starts_with(['\n', ';', '&', '|']) {
                break;
            }
            let word = self.word()?;
            let begins = simple.program().is_empty() && !word.quoted;
            if begins && KEYWORDS.contains(&word.text.as_str()) {
                return None;
            }
            simple.words.push(word);
        }
        (!simple.words.is_empty() || simple.writes).then_some(simple)
    }

    /// Reads a redirection; false if none stands here.
    fn redirect(&mut self, simple: &mut Simple) -> Option<bool> {
        const OPERATORS: [&str; 8] = ["&>>", "&>", ">>", ">|", ">&", "<&", ">", "<"];
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &self.rest[digits..];
        let Some(operator) = OPERATORS.into_iter().find(|operator| rest.starts_with(operator))
        else {
            return Some(false);
        };
        self.skip(digits + operator.len());
        self.blanks();
        // What stands behind `<<` or `<(` is no word, so such a line is unreadable.
        let target = self.word()?;
        let copies = operator.ends_with('&')
            && target.text.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
        simple.writes |= operator.contains('>') && !copies && target.text != "/dev/null";
        Some(true)
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let mut within = false;
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                '"' => {
                    self.skip(1);
                    (within, word.quoted) = (!within, true);
                }
                '$' => self.variable(&mut word)?,
                '`' => return None,
                '\\' => {
                    let escaped = self.rest[1..].chars().next()?;
                    if within && !"\"\\$`\n".contains(escaped) {
                        word.text.push('\\');
                    }
                    if escaped != '\n' {
                        word.text.push(escaped);
                        word.quoted = true;
                    }
                    self.skip(1 + escaped.len_utf8());
                }
                _ if within => {
                    word.text.push(letter);
                    self.skip(letter.len_utf8());
                }
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' => break,
                '(' | ')' => return None,
                '\'' => {
                    let (text, rest) = self.rest[1..].split_once('\'')?;
                    word.text.push_str(text);
                    word.quoted = true;
                    self.rest = rest;
                }
                letter => {
                    word.text.push(letter);
                    self.skip(letter.len_utf8());
                }
            }
        }
        (!within && (word.quoted || !word.text.is_empty())).then_some(word)
    }

    /// Reads `$NAME`, `${NAME}`, or a dollar that stands for itself. What else begins with a dollar may hold a command.
    fn variable(&mut self, word: &mut Word) -> Option<()> {
        let n = match self.rest.as_bytes() {
            [_, b'(' | b'\'', ..] => return None,
            [_, b'{', ..] => {
                let end = self.rest.find('}')? + 1;
                let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                self.rest[2..end - 1].chars().all(is_name).then_some(())?;
                end
            }
            [_, next, ..] if next.is_ascii_alphanumeric() || b"_?!#@*-$=~^+".contains(next) => 1,
            _ => {
                word.text.push('$');
                self.skip(1);
                return Some(());
            }
        };
        word.computed = true;
        word.text.push_str(&self.rest[..n]);
        self.skip(n);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each command as its words in brackets, with the operators between them.
    fn shown(list: &List) -> String {
        let command = |simple: &Simple| {
            let words: Vec<&str> = simple.words.iter().map(|word| word.text.as_str()).collect();
            format!("[{}]{}", words.join("·"), if simple.writes { ">" } else { "" })
        };
        let pipelines = list.iter().map(|(pipeline, join)| {
            let commands: Vec<String> = pipeline.commands.iter().map(command).collect();
            let not = if pipeline.negated { "!" } else { "" };
            let join = match join {
                Join::And => " && ",
                Join::Or => " || ",
                Join::Then => "; ",
                Join::Background => " & ",
            };
            format!("{not}{}{join}", commands.join("|"))
        });
        pipelines.collect::<String>().trim_end_matches("; ").to_owned()
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(read(line).map(|list| shown(&list)).as_deref(), Some(expected), "{line}");
    }

    #[test]
    fn a_line_is_split_as_a_shell_does() {
        check("ls -la", "[ls·-la]");
        check("a 'b c' \"d $e\" f\\ g", "[a·b c·d $e·f g]");
        check("a && b || c; d & e\nf", "[a] && [b] || [c]; [d] & [e]; [f]");
        check("a | b |& c", "[a]|[b]|[c]");
        check("! a | b", "![a]|[b]");
        check("a \"b \\\"c\\d\" $x ${y}", "[a·b \"c\\d·$x·${y}]");
        check("a > f 2>&1", "[a]>");
        check("a 2>/dev/null < in &>/dev/null", "[a]");
        check("a # b; c", "[a]");
        check("a \\\n  b", "[a·b]");
        check("grep 'a$' \"b$\" c$", "[grep·a$·b$·c$]");
        check("X=1 a", "[X=1·a]");
        check("", "");
    }

    #[test]
    fn every_program_of_a_line_is_found() {
        let names = |line: &str| -> Option<Vec<String>> {
            Some(programs(line)?.iter().map(|simple| simple.name().to_owned()).collect())
        };
        let check =
            |line: &str, expected: &[&str]| assert_eq!(names(line).unwrap(), expected, "{line}");
        check("X=1 /bin/ls | cat; wc && a || b & c", &["ls", "cat", "wc", "a", "b", "c"]);
        check("echo '$(date)'", &["echo"]);
    }

    #[test]
    fn what_is_not_known_makes_the_line_unreadable() {
        for line in [
            "if a; then b; fi",
            "for x in a; do b; done",
            "f() { a; }",
            "cat <<E\na\nE",
            "cat <<< a",
            "diff <(a) <(b)",
            "echo 'a",
            "echo \"a",
            "echo $((1))",
            "echo ${x:-$(a)}",
            "echo $'a'",
            "echo `a \\`b\\``",
            "(a)",
            "a )",
            "{ a; }",
            "{ a; } > f",
            "echo $(a)",
            "echo `a`",
            "echo \"$(a)\"",
            "[[ -f a ]]",
            "((x))",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
        assert_eq!(read(&"(".repeat(9999)), None);
        assert_eq!(read(&"a".repeat(LONGEST + 1)), None);
    }

    #[test]
    fn a_text_is_quoted_only_if_the_shell_would_not_pass_it_on() {
        for (text, expected) in [
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("/a.b_c-d+e,f@g%h9", "/a.b_c-d+e,f@g%h9"),
            ("a=b", "'a=b'"),
            ("é", "'é'"),
        ] {
            assert_eq!(word(text), expected, "{text}");
        }
        assert_eq!(quoted("a"), "'a'");
    }

    #[test]
    fn each_word_says_whether_it_is_quoted_or_computed() {
        let of = |text: &str, computed, quoted| Word { text: text.to_owned(), computed, quoted };
        for (line, expected) in [
            ("a", Some(of("a", false, false))),
            ("''", Some(of("", false, true))),
            ("\"\"", Some(of("", false, true))),
            ("a'b'", Some(of("ab", false, true))),
            ("a\"b\"", Some(of("ab", false, true))),
            ("\\a", Some(of("a", false, true))),
            ("\\é", Some(of("é", false, true))),
            ("a\\\nb", Some(of("ab", false, false))),
            ("\"a\\\nb\"", Some(of("ab", false, true))),
            ("\"\\$\\`\\\\\\\"\\é'\"", Some(of("$`\\\"\\é'", false, true))),
            ("\"a;b&c|d>e(f)\"", Some(of("a;b&c|d>e(f)", false, true))),
            ("'$x'", Some(of("$x", false, true))),
            ("\"$x\"", Some(of("$x", true, true))),
            ("${a_B9}", Some(of("${a_B9}", true, false))),
            ("${}", Some(of("${}", true, false))),
            ("$x$", Some(of("$x$", true, false))),
            ("a$", Some(of("a$", false, false))),
            ("a$/b", Some(of("a$/b", false, false))),
            ("$.", Some(of("$.", false, false))),
            ("a$\"b\"", Some(of("a$b", false, true))),
            ("é", Some(of("é", false, false))),
            ("a#b", Some(of("a#b", false, false))),
            ("${a:}", None),
            ("${a-b}", None),
            ("${a", None),
            ("\\", None),
            ("\"a\\", None),
            ("'a", None),
        ] {
            let words = read(line).map(|list| list[0].0.commands[0].words.clone());
            assert_eq!(words, expected.map(|word| vec![word]), "{line}");
        }
        for letter in "_?!#@*-$=~^+a9".chars() {
            let list = read(&format!("a${letter}")).unwrap();
            assert!(list[0].0.commands[0].words[0].computed, "{letter}");
            assert!(!list[0].0.commands[0].is_plain());
        }
    }

    #[test]
    fn only_what_goes_to_a_file_is_written() {
        for (line, expected) in [
            ("a 2>f", "[a]>"),
            ("a 12>>f b", "[a·b]>"),
            ("a >|f", "[a]>"),
            ("a &>f", "[a]>"),
            ("a &>>f", "[a]>"),
            ("a >&f", "[a]>"),
            ("a >$x", "[a]>"),
            ("a > \"/dev/null\"", "[a]"),
            ("a >/dev/nullx", "[a]>"),
            ("a >&2", "[a]"),
            ("a 2>&-", "[a]"),
            ("a >&2-", "[a]"),
            ("a <f", "[a]"),
            ("a <&3", "[a]"),
            ("a <>f", "?"),
            ("> f", "[]>"),
            ("< f", "?"),
            ("a 12 3", "[a·12·3]"),
            ("a >", "?"),
            ("a > (b)", "?"),
            ("a >(b)", "?"),
            ("a <<\\E", "?"),
            ("a << E", "?"),
        ] {
            let shown = read(line).map_or_else(|| "?".to_owned(), |list| shown(&list));
            assert_eq!(shown, expected, "{line}");
        }
    }

    #[test]
    fn operators_and_keywords_count_where_a_shell_reads_them() {
        for (line, expected) in [
            ("! ! a", "[a]"),
            ("! time a", "![a]"),
            ("time a | time b", "[a]|[b]"),
            ("a |\n\n b", "[a]|[b]"),
            ("a &&\n b ||\n c", "[a] && [b] || [c]"),
            ("\n;; a;\n;b &", "[a]; [b] & "),
            ("# a\nb # c\n# d", "[b]"),
            ("\t a\tb \\\n", "[a·b]"),
            ("'if' a", "[if·a]"),
            ("a if { }", "[a·if·{·}]"),
            ("X=1 if", "?"),
            ("X=1 Y+=2 a", "[X=1·Y+=2·a]"),
            ("a | | b", "?"),
            ("&& a", "?"),
            ("a && && b", "?"),
            ("a |", "?"),
            ("!", "[!]"),
            ("a; ;", "[a]"),
        ] {
            let shown = read(line).map_or_else(|| "?".to_owned(), |list| shown(&list));
            assert_eq!(shown, expected, "{line}");
        }
        assert!(read(&"a".repeat(LONGEST)).is_some());
    }

    #[test]
    fn a_program_stands_behind_its_assignments() {
        for (line, name, arguments) in [
            ("X=1 Y_2+=3 /bin/ls -l a", "ls", vec!["-l", "a"]),
            ("_=1 a", "a", vec![]),
            ("1X=1 a", "1X=1", vec!["a"]),
            ("=1 a", "=1", vec!["a"]),
            ("X-Y=1 a", "X-Y=1", vec!["a"]),
            ("X=1", "", vec![]),
            ("a X=1", "a", vec!["X=1"]),
        ] {
            let simple = programs(line).unwrap().remove(0);
            let found: Vec<&str> =
                simple.arguments().iter().map(|word| word.text.as_str()).collect();
            assert_eq!((simple.name(), found), (name, arguments), "{line}");
        }
    }
}
