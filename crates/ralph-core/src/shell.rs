//! Splits a command line into commands and words, as far as that needs no shell.
//!
//! It knows quotes, the operators between commands, groups and redirections. What it does not know (a
//! condition, a loop, a function, a here-document, an open quote) makes the line unreadable as a whole: no
//! rule may guess what such a line does.

pub mod programs;
pub mod vacuous;

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Longer lines are not read.
pub const LONGEST: usize = 64 << 10;
/// Deeper ones neither.
const DEEPEST: usize = 32;

/// Commands joined by operators.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// Each pipeline with the operator after it.
    pub pipelines: Vec<(Pipeline, Join)>,
}

/// What stands between a pipeline and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    And,
    Or,
    /// `;`, a line break, or the end.
    Then,
    Background,
}

/// Commands that hand their output on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pipeline {
    /// True after `!`.
    pub negated: bool,
    pub commands: Vec<Command>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Simple(Simple),
    /// `( … )` or `{ …; }`.
    Group(List),
}

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    pub words: Vec<Word>,
    /// True if its output goes to a file other than `/dev/null`.
    pub writes: bool,
}

/// One word without its quotes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// What the shell computes stands as it is written.
    pub text: String,
    /// True if the shell computes a part of it: a variable, the output of a command.
    pub computed: bool,
    /// True if it has quotes, so that it is no operator, no assignment and no keyword.
    pub quoted: bool,
    /// The command lines of its `$(…)` and backticks.
    pub inner: Vec<String>,
}

impl Simple {
    /// The words after the assignments in front of the program.
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

    /// True if no word depends on what the shell computes.
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

impl List {
    /// Every program that the list may start, in order, also within groups and `$(…)`; `None` if there is
    /// one that cannot be read.
    pub fn programs(&self) -> Option<Vec<Simple>> {
        let mut found = Vec::new();
        for command in self.pipelines.iter().flat_map(|(pipeline, _)| &pipeline.commands) {
            match command {
                Command::Group(list) => found.extend(list.programs()?),
                Command::Simple(simple) => {
                    for inner in simple.words.iter().flat_map(|word| &word.inner) {
                        found.extend(read(inner)?.programs()?);
                    }
                    found.push(simple.clone());
                }
            }
        }
        Some(found)
    }
}

/// Reads a line; `None` if it holds something that is not known.
pub fn read(line: &str) -> Option<List> {
    if line.len() > LONGEST {
        return None;
    }
    let mut reader = LineReader { rest: line, depth: 0 };
    let list = reader.list(None)?;
    reader.rest.is_empty().then_some(list)
}

/// Every program that a line may start; `None` if that cannot be read.
pub fn programs(line: &str) -> Option<Vec<Simple>> {
    read(line)?.programs()
}

const KEYWORDS: [&str; 17] = [
    "if", "then", "elif", "else", "fi", "while", "until", "for", "select", "case", "esac", "do",
    "done", "function", "coproc", "[[", "((",
];

struct LineReader<'a> {
    rest: &'a str,
    depth: usize,
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

    /// Skips blanks, continued lines and comments.
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

    fn list(&mut self, end: Option<&str>) -> Option<List> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut list = List::default();
        loop {
            self.blanks();
            if self.take(";") || self.take("\n") {
                continue;
            }
            if self.rest.is_empty() || end.is_some_and(|end| self.rest.starts_with(end)) {
                break;
            }
            let pipeline = self.pipeline()?;
            let join = self.join();
            list.pipelines.push((pipeline, join));
        }
        self.depth -= 1;
        Some(list)
    }

    fn join(&mut self) -> Join {
        self.blanks();
        match () {
            () if self.take("&&") => Join::And,
            () if self.take("||") => Join::Or,
            () if self.take("&") => Join::Background,
            () => {
                let _ = self.take(";") || self.take("\n");
                Join::Then
            }
        }
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        let mut pipeline = Pipeline::default();
        loop {
            self.blanks();
            while self.rest.starts_with('\n') {
                self.skip(1);
                self.blanks();
            }
            if self.take("! ") {
                pipeline.negated = !pipeline.negated;
                continue;
            }
            if self.take("time ") {
                continue;
            }
            pipeline.commands.push(self.command()?);
            self.blanks();
            if self.rest.starts_with("||") || !(self.take("|&") || self.take("|")) {
                return Some(pipeline);
            }
        }
    }

    fn command(&mut self) -> Option<Command> {
        let closed_by = match () {
            () if self.rest.starts_with("((") => return None,
            () if self.take("(") => ")",
            () if self.take("{ ") || self.take("{\n") => "}",
            () => return self.simple().map(Command::Simple),
        };
        let list = self.list(Some(closed_by))?;
        // What is redirected is redirected for the group; one that writes is not told from one that does not.
        self.take(closed_by).then_some(())?;
        self.blanks();
        let mut after = Simple::default();
        while self.redirect(&mut after)? {
            self.blanks();
        }
        (!after.writes).then_some(Command::Group(list))
    }

    fn simple(&mut self) -> Option<Simple> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            if self.redirect(&mut simple)? {
                continue;
            }
            if self.rest.is_empty() || self.rest.starts_with(['\n', ';', '&', '|', ')']) {
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

    /// Reads a redirection, if one is next.
    fn redirect(&mut self, simple: &mut Simple) -> Option<bool> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &self.rest[digits..];
        if rest.starts_with("<<") {
            return None;
        }
        const OPERATORS: [&str; 8] = ["&>>", "&>", ">>", ">|", ">&", "<&", ">", "<"];
        let Some(operator) = OPERATORS.into_iter().find(|operator| rest.starts_with(operator))
        else {
            return Some(false);
        };
        if rest[operator.len()..].starts_with('(') {
            return None;
        }
        self.skip(digits + operator.len());
        self.blanks();
        let target = self.word()?;
        let copies = operator.ends_with('&')
            && target.text.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
        simple.writes |=
            operator.contains('>') && !copies && (target.computed || target.text != "/dev/null");
        Some(true)
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' | '<' | '>' => break,
                '(' => return None,
                '\'' => {
                    let (text, rest) = self.rest[1..].split_once('\'')?;
                    word.text.push_str(text);
                    word.quoted = true;
                    self.rest = rest;
                }
                '"' => {
                    self.skip(1);
                    word.quoted = true;
                    self.double_quoted(&mut word)?;
                }
                '\\' => {
                    self.skip(1);
                    let escaped = self.rest.chars().next()?;
                    if escaped != '\n' {
                        word.text.push(escaped);
                        word.quoted = true;
                    }
                    self.skip(escaped.len_utf8());
                }
                '$' if self.rest[1..].starts_with(['\'', '"']) => return None,
                '$' | '`' => self.computed(&mut word)?,
                letter => {
                    word.text.push(letter);
                    self.skip(letter.len_utf8());
                }
            }
        }
        (word.quoted || !word.text.is_empty()).then_some(word)
    }

    fn double_quoted(&mut self, word: &mut Word) -> Option<()> {
        loop {
            let letter = self.rest.chars().next()?;
            match letter {
                '"' => {
                    self.skip(1);
                    return Some(());
                }
                '\\' => {
                    let escaped = self.rest[1..].chars().next()?;
                    if !"\"\\$`\n".contains(escaped) {
                        word.text.push('\\');
                    }
                    word.text.push(escaped);
                    self.skip(1 + escaped.len_utf8());
                }
                '$' | '`' => self.computed(word)?,
                letter => {
                    word.text.push(letter);
                    self.skip(letter.len_utf8());
                }
            }
        }
    }

    /// Reads `$x`, `${…}`, `$(…)` or backticks. A dollar before nothing that a shell computes is a dollar.
    fn computed(&mut self, word: &mut Word) -> Option<()> {
        let rest = self.rest;
        let n = match rest.as_bytes() {
            [b'`', ..] => {
                let end = rest[1..].find('`')? + 1;
                if rest[..end].contains('\\') {
                    return None;
                }
                word.inner.push(rest[1..end].to_owned());
                end + 1
            }
            [b'$', b'(', b'(', ..] => return None,
            [b'$', b'(', ..] => {
                let mut inner = LineReader { rest: &rest[2..], depth: self.depth };
                inner.list(Some(")"))?;
                let end = rest.len() - inner.rest.len();
                inner.take(")").then_some(())?;
                word.inner.push(rest[2..end].to_owned());
                end + 1
            }
            [b'$', b'{', ..] => {
                let end = rest.find('}')? + 1;
                // Such a one may hold commands.
                if rest[..end].contains(['`', '(', '"', '\'', '\\']) || rest[2..end].contains('$') {
                    return None;
                }
                end
            }
            [b'$', next, ..] if next.is_ascii_alphanumeric() || b"_?!#@*-$=~^+".contains(next) => 1,
            _ => {
                word.text.push('$');
                self.skip(1);
                return Some(());
            }
        };
        word.computed = true;
        word.text.push_str(&rest[..n]);
        self.skip(n);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each command as its words in brackets, with the operators between them.
    fn shown(list: &List) -> String {
        let command = |command: &Command| match command {
            Command::Group(list) => format!("({})", shown(list)),
            Command::Simple(simple) => {
                let words: Vec<&str> = simple.words.iter().map(|word| word.text.as_str()).collect();
                format!("[{}]{}", words.join("·"), if simple.writes { ">" } else { "" })
            }
        };
        let pipelines = list.pipelines.iter().map(|(pipeline, join)| {
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
        check("! (cd x; y) | z", "!([cd·x]; [y])|[z]");
        check("{ a; b; } && c", "([a]; [b]) && [c]");
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
        check("X=1 /bin/ls | (cat; wc)", &["ls", "cat", "wc"]);
        check("echo $(date; a \"$(b)\") `c`", &["date", "b", "a", "c", "echo"]);
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
            "(a",
            "a )",
            "{ a; } > f",
            "[[ -f a ]]",
            "((x))",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
        assert_eq!(read(&"(".repeat(9999)), None);
        assert_eq!(read(&"a".repeat(LONGEST + 1)), None);
    }
}
