//! Finds every simple command that a Bash command line may run, without running it.
//!
//! It over-reads on purpose: both branches of an `if`, the body of a function that is never called,
//! and the script inside `bash -c '…'` or `$(…)` all count as run. It never guesses what the text
//! does not show (a script from the network, a computed command name): [`Reading::opaque`] lists
//! such parts with a reason, and the calling rule decides what that means.

pub mod line;
pub mod programs;
pub mod vacuous;

mod backticks;
mod bounds;
mod unwrap;
mod word;

use rable::{ListOperator, Node, NodeKind};
use std::collections::HashMap;

pub(crate) use backticks::{BACKTICK, restored};
pub use word::{ONE, STAR, ShellWord, UNKNOWN, is_computed};

/// Longer texts are not read at all.
pub const LONGEST: usize = 64 * 1024;
/// How deep scripts may nest (`bash -c "bash -c …"`).
const DEEPEST: usize = 6;

/// Limit on the total work, roughly in bytes read: loops, variables and nested scripts multiply it.
const MOST_WORK: usize = 1 << 21;

/// `for x in …` is read once per value, up to this many values.
const MOST_ROUNDS: usize = 16;

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What is known about a command line.
#[derive(Debug, Default)]
pub struct Reading {
    /// Every simple command that it may run, in text order.
    pub commands: Vec<Simple>,
    /// Why there may be more commands; empty if the command line is fully known.
    pub opaque: Vec<Opaque>,
}

/// Why a command line, or a part of it, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opaque {
    /// Longer than [`LONGEST`] bytes, or more work than the limit.
    TooLong,
    /// Nested too deeply.
    TooDeep,
    /// The parser rejected it.
    Syntax(String),
    /// Backticks whose content cannot be determined exactly.
    Backticks,
    /// The command name is computed at run time.
    DynamicName,
    /// A shell runs a script that is computed at run time.
    DynamicScript,
    /// A shell reads its script from a command or a file.
    PipedScript,
}

/// One command with its words, without wrappers such as `sudo` or `env`.
#[derive(Debug, Clone, Default)]
pub struct Simple {
    /// Variables set for this command, or in the shell if there are no words.
    pub assignments: Vec<(String, ShellWord)>,
    /// Variables removed for this command: `env -u NAME`; `*` for `env -i`.
    pub removed: Vec<String>,
    /// The command name and its arguments.
    pub words: Vec<ShellWord>,
    /// Files of its redirections.
    pub redirects: Vec<Redirect>,
    /// Number of the pipeline; all commands of one pipeline share it.
    pub pipeline: usize,
    /// True if more arguments come from earlier commands in the pipeline (`xargs`).
    pub fed: bool,
    /// True if some of its words are the output of the commands just before it.
    pub fed_by_words: bool,
    /// The text of its here-document or here-string, or of a literal pipe, if it is literal.
    pub input: Option<String>,
}

impl Simple {
    /// The command name without its folder; marks replace the parts that are not literal.
    pub fn base(&self) -> &str {
        let name = self.words.first().map_or("", |word| word.text.as_str());
        name.rsplit('/').next().unwrap_or(name)
    }

    /// The command name without its folder; `None` if it is computed or missing.
    pub fn name(&self) -> Option<&str> {
        let base = self.base();
        (!base.is_empty() && !base.contains([UNKNOWN, STAR, ONE])).then_some(base)
    }

    /// The words after the command name.
    pub fn arguments(&self) -> &[ShellWord] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// A redirection to or from a file.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// True if it may change the file.
    pub writes: bool,
    pub target: ShellWord,
}

/// Reads a command line. `known` holds variables whose values are known beforehand; literal
/// assignments in the command line add to them.
pub fn read(command: &str, known: &[(&str, &str)]) -> Reading {
    let mut reader = ShellReader::default();
    for (name, value) in known {
        reader.variables.insert((*name).to_owned(), ShellWord::plain(&word::without_marks(value)));
    }
    reader.script(&word::without_marks(command));
    reader.reading
}

/// Parses a command line that is short and shallow enough. The tree has no backticks: see
/// [`backticks`].
pub(crate) fn parsed(text: &str) -> Result<Vec<Node>, Opaque> {
    if text.len() > LONGEST {
        return Err(Opaque::TooLong);
    }
    let text = backticks::rewritten(text).ok_or(Opaque::Backticks)?;
    if !bounds::is_shallow(&text) {
        return Err(Opaque::TooDeep);
    }
    rable::parse(&text, true).map_err(|error| Opaque::Syntax(error.to_string()))
}

#[derive(Default)]
struct ShellReader {
    reading: Reading,
    variables: HashMap<String, ShellWord>,
    aliases: HashMap<String, String>,

    depth: usize,
    pipelines: usize,
    spent: usize,
}

/// What a command reads from standard input.
#[derive(Clone)]
enum Stdin {
    /// The terminal, nothing, or a file: no script that is part of the command line.
    Inherited,
    /// Text in the command line.
    Literal(String),
    /// Text computed at run time.
    Computed,
}

impl ShellReader {
    fn script(&mut self, text: &str) {
        if self.depth >= DEEPEST {
            return self.opaque(Opaque::TooDeep);
        }
        if !self.spend(64 + text.len()) {
            return self.opaque(Opaque::TooLong);
        }
        self.depth += 1;
        match parsed(text) {
            Ok(nodes) => nodes.iter().for_each(|node| self.node(node, &Stdin::Inherited)),
            Err(why) => self.opaque(why),
        }
        self.depth -= 1;
    }

    /// False if this would exceed the work limit of a command line.
    fn spend(&mut self, work: usize) -> bool {
        self.spent += work;
        self.spent <= MOST_WORK
    }

    fn opaque(&mut self, why: Opaque) {
        if !self.reading.opaque.contains(&why) {
            self.reading.opaque.push(why);
        }
    }

    fn nodes(&mut self, nodes: &[Node], stdin: &Stdin) {
        nodes.iter().for_each(|node| self.node(node, stdin));
    }

    fn node(&mut self, node: &Node, stdin: &Stdin) {
        use NodeKind as K;
        if !self.spend(16) {
            return self.opaque(Opaque::TooLong);
        }

        match &node.kind {
            K::Command { assignments, words, redirects } => {
                self.pipelines += 1;
                let pipeline = self.pipelines;
                self.command(assignments, words, redirects, stdin, pipeline);
            }
            K::Pipeline { commands, .. } => self.pipeline(commands, stdin),
            K::List { items } => {
                for item in items {
                    let background = item.operator == Some(ListOperator::Background);
                    self.node(&item.command, if background { &Stdin::Inherited } else { stdin });
                }
            }
            K::If { condition, then_body, else_body, redirects } => {
                let stdin = &self.redirected(redirects, stdin);
                self.node(condition, stdin);
                self.node(then_body, stdin);
                if let Some(body) = else_body {
                    self.node(body, stdin);
                }
            }
            K::While { condition, body, redirects } | K::Until { condition, body, redirects } => {
                let stdin = &self.redirected(redirects, stdin);
                self.node(condition, stdin);
                self.node(body, stdin);
            }
            K::For { var, words, body, redirects } | K::Select { var, words, body, redirects } => {
                let stdin = &self.redirected(redirects, stdin);
                let values: Vec<ShellWord> =
                    words.iter().flatten().flat_map(|word| self.expand(word)).collect();
                let each = 1..=MOST_ROUNDS;
                let values =
                    if each.contains(&values.len()) { values } else { vec![ShellWord::unknown()] };
                for value in values {
                    self.variables.insert(var.clone(), value);
                    self.node(body, stdin);
                }
            }
            K::ForArith { init, cond, incr, body, redirects } => {
                let stdin = &self.redirected(redirects, stdin);
                [init, cond, incr].into_iter().for_each(|text| self.embedded(text));
                self.node(body, stdin);
            }
            K::Case { word, patterns, redirects } => {
                let stdin = &self.redirected(redirects, stdin);
                self.expand(word);
                for arm in patterns {
                    arm.patterns.iter().for_each(|pattern| drop(self.expand(pattern)));
                    if let Some(body) = &arm.body {
                        self.node(body, stdin);
                    }
                }
            }
            K::Function { body, .. } => self.node(body, &Stdin::Inherited),
            K::Subshell { body, redirects } | K::BraceGroup { body, redirects } => {
                let stdin = &self.redirected(redirects, stdin);
                self.node(body, stdin);
            }
            K::Coproc { command, .. } => self.node(command, stdin),
            K::Negation { pipeline } | K::Time { pipeline, .. } => self.node(pipeline, stdin),
            K::CommandSubstitution { command, .. } | K::ProcessSubstitution { command, .. } => {
                self.node(command, &Stdin::Inherited);
            }
            K::ConditionalExpr { body, redirects } => {
                self.redirected(redirects, stdin);
                self.node(body, stdin);
            }
            K::BinaryTest { left, right, .. } => {
                self.node(left, stdin);
                self.node(right, stdin);
            }
            K::CondAnd { left, right } | K::CondOr { left, right } => {
                self.node(left, stdin);
                self.node(right, stdin);
            }
            K::UnaryTest { operand, .. } | K::CondNot { operand } => self.node(operand, stdin),
            K::CondParen { inner } => self.node(inner, stdin),
            K::CondTerm { value, .. } => self.embedded(value),
            K::ArithmeticCommand { raw_content, redirects, .. } => {
                self.redirected(redirects, stdin);
                self.embedded(raw_content);
            }
            K::Word { .. } => drop(self.expand(node)),
            K::Array { elements } => self.nodes(elements, stdin),
            _ => {}
        }
    }

    /// Reads the members of a pipeline; each gets the output of the one before as standard input.
    fn pipeline(&mut self, members: &[Node], stdin: &Stdin) {
        self.pipelines += 1;
        let pipeline = self.pipelines;
        let mut stdin = stdin.clone();
        for member in members {
            let first = self.reading.commands.len();
            match &member.kind {
                NodeKind::Command { assignments, words, redirects } => {
                    self.command(assignments, words, redirects, &stdin, pipeline);
                }
                _ => self.node(member, &stdin),
            }
            let compound = !matches!(member.kind, NodeKind::Command { .. });
            for command in self.reading.commands.iter_mut().skip(first) {
                command.pipeline = pipeline;
                // `… | while read x; do rm $x; done`
                command.fed |=
                    compound && command.words.iter().any(|word| word.literal().is_none());
            }
            stdin = match (&member.kind, self.reading.commands.get(first..)) {
                (NodeKind::Command { redirects, .. }, Some([only])) => {
                    unwrap::written(only, heredoc_is_literal(redirects))
                }
                _ => Stdin::Computed,
            };
        }
    }

    fn command(
        &mut self,
        assignments: &[Node],
        words: &[Node],
        redirects: &[Node],
        stdin: &Stdin,
        pipeline: usize,
    ) {
        let mut simple = Simple { pipeline, ..Simple::default() };
        let inside = self.reading.commands.len();
        let words: Vec<ShellWord> = words.iter().flat_map(|word| self.expand(word)).collect();
        for node in assignments {
            self.assignment(node, words.is_empty(), &mut simple);
        }
        // `rm $(find …)` counts as fed, like `find … | xargs rm`.
        for command in self.reading.commands.iter_mut().skip(inside) {
            command.pipeline = pipeline;
            simple.fed_by_words = true;
        }
        simple.words = words;
        let before = self.reading.commands.len();
        let stdin = self.redirected(redirects, stdin);
        // Redirections were recorded as a command without words; here they get their command.
        for owned in self.reading.commands.split_off(before) {
            if owned.words.is_empty() && owned.assignments.is_empty() {
                simple.redirects.extend(owned.redirects);
            } else {
                self.reading.commands.push(Simple { pipeline, ..owned });
            }
        }
        simple.input = heredoc_text(redirects).or_else(|| match &stdin {
            Stdin::Literal(text) => Some(text.clone()),
            _ => None,
        });
        self.unwrapped(simple, &stdin);
    }

    fn assignment(&mut self, node: &Node, in_shell: bool, simple: &mut Simple) {
        let NodeKind::Word { value, .. } = &node.kind else { return };
        let name: String = value
            .chars()
            .take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
            .collect();
        let whole = ShellWord::one_of(&self.expand(node));
        let text = whole.text.split_once('=').map_or("", |(_, text)| text);
        let value = if value[name.len()..].starts_with('=') {
            ShellWord { text: text.to_owned() }
        } else {
            ShellWord::unknown()
        };
        if in_shell {
            self.variables.insert(name.clone(), value.clone());
        }
        simple.assignments.push((name, value));
    }

    /// Records redirections as a command without words, and returns the new standard input.
    fn redirected(&mut self, redirects: &[Node], stdin: &Stdin) -> Stdin {
        let mut stdin = stdin.clone();
        let mut found = Vec::new();
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::HereDoc { content, quoted, .. } => {
                    if !quoted {
                        self.embedded(content);
                    }
                    let computed = !quoted && content.contains(['$', '`']);
                    stdin = if computed {
                        Stdin::Computed
                    } else {
                        Stdin::Literal(restored(content).into_owned())
                    };
                }
                NodeKind::Redirect { op, target, .. } => {
                    let words = self.expand(target);
                    let target = ShellWord::one_of(&words);
                    if op == "<<<" {
                        stdin = target
                            .literal()
                            .map_or(Stdin::Computed, |text| Stdin::Literal(text.to_owned()));
                        continue;
                    }
                    if op == "<" {
                        stdin = Stdin::Computed;
                    }
                    let writes = op.contains('>');
                    found.extend(words.into_iter().map(|target| Redirect { writes, target }));
                }
                _ => {}
            }
        }
        if !found.is_empty() {
            let pipeline = self.pipelines;
            let simple = Simple { redirects: found, pipeline, ..Simple::default() };
            self.reading.commands.push(simple);
        }
        stdin
    }

    /// Reads scripts inside text that is not a command: the body of a here-document, arithmetic,
    /// the default of `${X:-…}`. Quotes are ignored, so it reads too much rather than too little.
    fn embedded(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find("$(") {
            rest = &rest[at + 2..];
            // Nested scripts are found when this script is read.
            let (script, after) = rest.split_at(closing(rest));
            self.script(script);
            rest = after;
        }
        for script in text.split('`').skip(1).step_by(2) {
            self.script(script);
        }
    }
}

/// Position of the parenthesis that closes the one open at the start of the text.
fn closing(text: &str) -> usize {
    let mut open = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    text.len()
}

/// The body of the last here-document or here-string, unexpanded.
fn heredoc_text(redirects: &[Node]) -> Option<String> {
    redirects.iter().rev().find_map(|redirect| match &redirect.kind {
        NodeKind::HereDoc { content, .. } => Some(restored(content).into_owned()),
        NodeKind::Redirect { op, target, .. } if op == "<<<" => match &target.kind {
            NodeKind::Word { value, .. } => {
                Some(restored(value).trim_matches(['\'', '"']).to_owned())
            }
            _ => None,
        },
        _ => None,
    })
}

fn heredoc_is_literal(redirects: &[Node]) -> bool {
    redirects.iter().all(|redirect| match &redirect.kind {
        NodeKind::HereDoc { content, quoted, .. } => *quoted || !content.contains(['$', '`']),
        _ => true,
    })
}

#[cfg(test)]
mod tests;
