//! Removes wrappers that only start other commands (`sudo`, `env`, `xargs` …), and reads the
//! scripts that are passed to shells.
//!
//! An unknown wrapper is a plain command with arguments; rules that look at all words of a command
//! still see them.

use super::{Opaque, ShellReader, ShellWord, Simple, Stdin};

/// Wrappers whose command is the first word that is not an option: name, options that take a
/// separate value, and the number of plain words before the command.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("busybox", "", 0),
    ("chroot", "", 1),
    ("entr", "", 0),
    ("ltrace", "-e -o -p -s", 0),
    ("runuser", "-u -g -G", 0),
    ("strace", "-e -o -p -s", 0),
    ("systemd-run", "-p -u --unit --property", 0),
    ("builtin", "", 0),
    ("chronic", "", 0),
    ("chrt", "", 1),
    ("command", "", 0),
    ("doas", "-u -C", 0),
    ("exec", "-a", 0),
    ("fakeroot", "", 0),
    ("ionice", "-c -n -p", 0),
    ("nice", "-n --adjustment", 0),
    ("nohup", "", 0),
    ("noglob", "", 0),
    ("setarch", "", 0),
    ("setsid", "", 0),
    ("stdbuf", "-i -o -e", 0),
    ("sudo", "-u -g -h -p -C -D -R -T -r -t --user --group --chdir", 0),
    ("taskset", "", 1),
    ("time", "-f -o --format --output", 0),
    ("timeout", "-k -s --kill-after --signal", 1),
    ("unbuffer", "", 0),
    ("unshare", "", 0),
    ("watch", "-n --interval", 0),
    ("caffeinate", "-t -w", 0),
    ("xargs", "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs", 0),
];

const SHELLS: [&str; 7] = ["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

/// How many aliases one command may expand.
const MOST_ALIASES: usize = 8;

impl ShellReader {
    /// Records the command that finally runs, and reads the scripts passed to it.
    pub(super) fn unwrapped(&mut self, mut simple: Simple, stdin: &Stdin) {
        // Each pass removes words, except for an alias, which is not expanded inside its own text.
        let mut used: Vec<String> = Vec::new();
        loop {
            let Some(first) = simple.words.first() else {
                return self.reading.commands.push(simple);
            };
            let Some(name) = simple.name().map(str::to_owned) else {
                if !first.text.is_empty() {
                    self.opaque(Opaque::DynamicName);
                }
                return self.reading.commands.push(simple);
            };
            if used.len() < MOST_ALIASES
                && !used.contains(&name)
                && let Some(text) = self.aliases.get(&name)
            {
                let words: Vec<ShellWord> = text.split_whitespace().map(ShellWord::plain).collect();
                if !self.spend(16 * words.len()) {
                    return self.opaque(Opaque::TooLong);
                }
                simple.words.splice(..1, words);
                used.push(name);
                continue;
            }
            if name == "env" {
                if !env(&mut simple) {
                    return self.reading.commands.push(simple);
                }
                continue;
            }
            let Some((_, valued, plain)) = WRAPPERS.iter().find(|(known, ..)| *known == name)
            else {
                return self.innermost(simple, &name, stdin);
            };
            // `command -v x` and `command -V x` only look the command up.
            let looks =
                name == "command" && option_letters(simple.arguments()).contains(['v', 'V']);
            let from = 1 + past_options(simple.arguments(), valued) + plain;
            if looks || from >= simple.words.len() {
                return self.reading.commands.push(simple);
            }
            if name == "xargs" {
                simple.fed = true;
            }
            if name == "watch" {
                let words = simple.words.split_off(from);
                return self.joined_script(&words, simple);
            }
            simple.words.drain(..from);
        }
    }

    fn innermost(&mut self, simple: Simple, name: &str, stdin: &Stdin) {
        match name {
            "eval" => {
                let words = simple.arguments().to_vec();
                return self.joined_script(&words, simple);
            }
            "trap" => {
                if let Some(word) = simple.arguments().iter().find(|word| !is_option(word)) {
                    let word = word.clone();
                    self.script_word(&word);
                }
            }
            "alias" => self.define_aliases(&simple),
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(&simple),
            "find" => self.find_exec(&simple),
            "source" | "." => self.sourced(&simple, stdin),
            _ if SHELLS.contains(&name) => self.shell(&simple, stdin),
            _ => {}
        }
        self.reading.commands.push(simple);
    }

    fn joined_script(&mut self, words: &[ShellWord], simple: Simple) {
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        self.reading.commands.push(Simple { words: Vec::new(), ..simple });
        self.script_word(&ShellWord { text: text.join(" ") });
    }

    /// Reads a word as a script. Its globs do not expand, since it is text until a shell reads it.
    fn script_word(&mut self, word: &ShellWord) {
        let text = word.text.replace(super::STAR, "*").replace(super::ONE, "?");
        if text.contains(super::UNKNOWN) {
            self.opaque(Opaque::DynamicScript);
            // The known parts are still read; an unset variable replaces the rest.
            return self.script(&text.replace(super::UNKNOWN, "$_"));
        }
        self.script(&text);
    }

    fn shell(&mut self, simple: &Simple, stdin: &Stdin) {
        let arguments = simple.arguments();
        let script = arguments.iter().position(|word| {
            word.text.starts_with(['-', '+'])
                && !word.text.starts_with("--")
                && word.text.contains('c')
        });
        if let Some(at) = script {
            match arguments[at..].iter().find(|word| !is_option(word)) {
                Some(word) => self.script_word(&word.clone()),
                None => self.opaque(Opaque::DynamicScript),
            }
            return;
        }

        // `bash <(…)`
        if arguments.contains(&ShellWord::unknown()) {
            self.opaque(Opaque::PipedScript);
        }
        let reads_stdin = !arguments.iter().any(|word| !is_option(word))
            || option_letters(arguments).contains('s')
            || arguments.iter().any(|word| word.text == "-" || word.text == "/dev/stdin");
        match stdin {
            Stdin::Literal(text) if reads_stdin => self.script(&text.clone()),
            Stdin::Computed if reads_stdin => self.opaque(Opaque::PipedScript),
            _ => {}
        }
    }

    fn sourced(&mut self, simple: &Simple, stdin: &Stdin) {
        match (simple.arguments().first(), stdin) {
            (Some(word), _) if *word == ShellWord::unknown() => self.opaque(Opaque::PipedScript),
            (Some(word), Stdin::Literal(text)) if word.text == "/dev/stdin" => {
                self.script(&text.clone());
            }
            _ => {}
        }
    }

    fn define_aliases(&mut self, simple: &Simple) {
        for word in simple.arguments() {
            if let Some((name, text)) = word.literal().and_then(|text| text.split_once('=')) {
                self.aliases.insert(name.to_owned(), text.to_owned());
            }
        }
    }

    fn declare(&mut self, simple: &Simple) {
        for word in simple.arguments() {
            if let Some((name, text)) = word.text.split_once('=') {
                self.variables.insert(name.to_owned(), ShellWord { text: text.to_owned() });
            }
        }
    }

    /// Reads each `-exec` as a command; only `find` knows the value of its `{}`.
    fn find_exec(&mut self, simple: &Simple) {
        let arguments = simple.arguments();
        for (at, word) in arguments.iter().enumerate() {
            if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                continue;
            }
            let inner = &arguments[at + 1..];
            let end = inner.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
            let words = inner[..end.unwrap_or(inner.len())].to_vec();

            let inner = Simple { words, pipeline: simple.pipeline, ..Simple::default() };
            if self.depth >= super::DEEPEST || !self.spend(inner.words.len()) {
                return self.opaque(Opaque::TooDeep);
            }
            self.depth += 1;
            self.unwrapped(inner, &Stdin::Inherited);
            self.depth -= 1;
        }
    }
}

/// The output of a command, if the text shows it.
pub(super) fn written(simple: &Simple, input_is_literal: bool) -> Stdin {
    let literal = |words: &[ShellWord]| {
        let words: Option<Vec<&str>> = words.iter().map(ShellWord::literal).collect();
        words.map_or(Stdin::Computed, |words| Stdin::Literal(words.join(" ")))
    };
    match (simple.name(), simple.arguments()) {
        (Some("echo"), [first, rest @ ..]) if is_option(first) => literal(rest),
        (Some("echo"), words) => literal(words),
        (Some("printf"), [format, rest @ ..]) => {
            let format = format.text.replace("\\n", "\n");
            let text = rest.iter().fold(format, |text, word| {
                let place = if text.contains("%b") { "%b" } else { "%s" };
                text.replacen(place, &word.text, 1)
            });
            literal(&[ShellWord { text }])
        }

        (Some("cat"), []) if input_is_literal => {
            simple.input.clone().map_or(Stdin::Computed, Stdin::Literal)
        }
        _ => Stdin::Computed,
    }
}

/// Removes `env` and its settings from a command; false if no command follows.
fn env(simple: &mut Simple) -> bool {
    let mut words = simple.words.split_off(1).into_iter().peekable();
    simple.words.clear();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        match text {
            "-u" | "--unset" => simple.removed.extend(words.next().map(|word| word.text)),
            "-i" | "-" | "--ignore-environment" => simple.removed.push("*".to_owned()),
            "-C" | "--chdir" => drop(words.next()),
            "-S" | "--split-string" => {
                let script = words.next().map(|word| word.text).unwrap_or_default();
                simple.words.extend(script.split_whitespace().map(ShellWord::plain));
                break;
            }
            _ if text.starts_with("--unset=") => {
                simple.removed.push(text["--unset=".len()..].to_owned());
            }
            _ if text.starts_with("-u") => simple.removed.push(text[2..].to_owned()),
            _ if text.starts_with('-') => {}
            _ => match text.split_once('=') {
                Some((name, value)) => {
                    simple
                        .assignments
                        .push((name.to_owned(), ShellWord { text: value.to_owned() }));
                }
                None => {
                    simple.words.push(word);
                    break;
                }
            },
        }
    }
    simple.words.extend(words);
    if simple.words.is_empty() {
        simple.words.push(ShellWord::plain("env"));
        return false;
    }
    true
}

fn is_option(word: &ShellWord) -> bool {
    word.text.starts_with(['-', '+']) && word.text.len() > 1
}

/// The letters of all short options.
fn option_letters(arguments: &[ShellWord]) -> String {
    arguments
        .iter()
        .take_while(|word| is_option(word))
        .filter(|word| !word.text.starts_with("--"))
        .map(|word| &word.text[1..])
        .collect()
}

/// How many leading words are options or values of options.
fn past_options(arguments: &[ShellWord], valued: &str) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| is_option(word)) {
        at += 1;
        if word.text == "--" {
            break;
        }
        if valued.split(' ').any(|option| option == word.text) {
            at += 1;
        }
    }
    at
}
