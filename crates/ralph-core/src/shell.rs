//! Reads a Bash command line into every simple command that it may run, without running it.
//!
//! It over-reads on purpose: both branches of an `if`, the body of a function that nobody calls,
//! the script inside `bash -c '…'` or `$(…)` all count as run. What cannot be known from the text
//! (a script fetched from the network, a command whose name is computed) is not guessed: it is
//! listed in [`Reading::opaque`] with its reason, and the rule that asked decides what that means.

pub mod programs;
pub mod vacuous;

mod backticks;
mod bounds;
mod unwrap;
mod word;

use rable::{ListOperator, Node, NodeKind};
use std::collections::HashMap;

pub(crate) use backticks::{BACKTICK, restored};
pub use word::{ONE, STAR, ShellWord, UNKNOWN};

/// Longer texts are not read at all.
pub const LONGEST: usize = 64 * 1024;
/// How often a script may contain a script (`bash -c "bash -c …"`).
const DEEPEST: usize = 6;

/// A bound on the sum of the work, roughly in bytes read: loops, variables and scripts inside
/// scripts multiply it.
const MOST_WORK: usize = 1 << 21;

/// `for x in …` is read once for each value, up to this many.
const MOST_ROUNDS: usize = 16;

/// What can be known about a command line.
#[derive(Debug, Default)]
pub struct Reading {
    /// Every simple command it may run, in the order of the text.
    pub commands: Vec<Simple>,
    /// Why there may be more; empty when the command line is wholly known.
    pub opaque: Vec<Opaque>,
}

/// Why a command line, or a part of it, cannot be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opaque {
    /// More than [`LONGEST`] bytes, or more work than its length allows for.
    TooLong,
    /// Nested beyond what is read.
    TooDeep,
    /// It does not parse.
    Syntax(String),
    /// Backticks whose text cannot be read exactly.
    Backticks,
    /// The command's name is computed when it runs.
    DynamicName,
    /// A shell is given a script that is computed when it runs.
    DynamicScript,
    /// A shell reads its script from a command or a file.
    PipedScript,
}

/// One command with its words, wrappers such as `sudo` or `env` already taken off.
#[derive(Debug, Clone, Default)]
pub struct Simple {
    /// Variables set for this command, or in the shell when there are no words.
    pub assignments: Vec<(String, ShellWord)>,
    /// Variables taken away for this command: `env -u NAME`; `*` for `env -i`.
    pub removed: Vec<String>,
    /// The name and its arguments.
    pub words: Vec<ShellWord>,
    /// Files it is connected to.
    pub redirects: Vec<Redirect>,
    /// Commands of one pipeline share a number.
    pub pipeline: usize,
    /// More arguments come from the commands before it in the pipeline (`xargs`).
    pub fed: bool,
    /// Some of its words are the output of commands just before it.
    pub fed_by_words: bool,
    /// The text of its here-document or here-string, as far as it is literal.
    pub input: Option<String>,
}

impl Simple {
    /// The command's name without its folder, with the marks of what is not literal in it.
    pub fn base(&self) -> &str {
        let name = self.words.first().map_or("", |word| word.text.as_str());
        name.rsplit('/').next().unwrap_or(name)
    }

    /// The command's name without its folder; none when it is computed or there is none.
    pub fn name(&self) -> Option<&str> {
        let base = self.base();
        (!base.is_empty() && !base.contains([UNKNOWN, STAR, ONE])).then_some(base)
    }

    /// The words after the name.
    pub fn arguments(&self) -> &[ShellWord] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// A redirection to or from a file.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// True when it may change the file.
    pub writes: bool,
    /// The file.
    pub target: ShellWord,
}

/// Reads a command line. `known` holds the variables whose values are known beforehand; what the
/// command line itself assigns as literal text is known from there on.
pub fn read(command: &str, known: &[(&str, &str)]) -> Reading {
    let mut reader = ShellReader::default();
    for (name, value) in known {
        reader.variables.insert((*name).to_owned(), ShellWord::plain(&word::without_marks(value)));
    }
    reader.script(&word::without_marks(command));
    reader.reading
}

/// The syntax tree of a command line that is short and shallow enough to be parsed. Without backticks:
/// see [`backticks`].
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

/// What a command's standard input is.
#[derive(Clone)]
enum Stdin {
    /// The terminal, nothing, or a file: not a script that the line itself holds.
    Inherited,
    /// Text that stands in the line.
    Literal(String),
    /// Text that is computed.
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

    /// False when this would be more work than one command line may make.
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

    /// The members of a pipeline; each learns what the one before it writes.
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
        // `rm $(find …)` is fed like `find … | xargs rm`.
        for command in self.reading.commands.iter_mut().skip(inside) {
            command.pipeline = pipeline;
            simple.fed_by_words = true;
        }
        simple.words = words;
        let before = self.reading.commands.len();
        let stdin = self.redirected(redirects, stdin);
        // Redirections were recorded as a command of their own; here they have an owner.
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

    /// Records redirections as a command without words, and says what standard input becomes.
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

    /// Scripts inside text that is not itself a command: a here-document's body, arithmetic, the
    /// default of `${X:-…}`. Quotes are not looked at, so it reads too much rather than too little.
    fn embedded(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find("$(") {
            rest = &rest[at + 2..];
            // What nests inside is found when the script is read.
            let (script, after) = rest.split_at(closing(rest));
            self.script(script);
            rest = after;
        }
        for script in text.split('`').skip(1).step_by(2) {
            self.script(script);
        }
    }
}

/// Where the parenthesis closes that was open when the text began.
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
