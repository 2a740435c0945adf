//! Node's own test runner, as the project's script calls it.

use std::path::Path;

use super::super::super::{matches_any, name_of};

/// Options that change how a test is loaded and that take a value.
const LOADERS: &[&str] = &["--import", "--loader", "--experimental-loader", "--require", "-r"];

/// A call of Node's test runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeTestCall {
    /// `node`, or `tsx`, which is Node with a loader.
    pub(super) program: String,
    /// The options without which the tests would not load.
    pub(super) flags: Vec<String>,
    reads_typescript: bool,
}

impl NodeTestCall {
    /// True if this call can load the test's language.
    pub(super) fn can_run(&self, test: &Path) -> bool {
        self.reads_typescript || matches_any(&["*.js", "*.mjs", "*.cjs"], name_of(test))
    }
}

/// The first call in these words of a script.
pub(super) fn call(words: &[&str]) -> Option<NodeTestCall> {
    let ends = |word: &&str| matches!(*word, "&&" | "||" | "|") || word.ends_with(';');
    words.split(ends).find_map(|words| {
        let start = words.iter().position(|word| matches!(*word, "node" | "tsx"))?;
        let (program, arguments) = (words[start], &words[start + 1..]);
        arguments.contains(&"--test").then(|| NodeTestCall {
            program: program.to_owned(),
            flags: flags(arguments),
            reads_typescript: program == "tsx" || reads_typescript(arguments),
        })
    })
}

/// The options that the tests need to load.
fn flags(arguments: &[&str]) -> Vec<String> {
    let mut flags = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        let name = argument.split_once('=').map_or(*argument, |(name, _)| name);
        if LOADERS.contains(&name) {
            flags.push((*argument).to_owned());
            let has_value = name != *argument;
            flags.extend(arguments.get(at + 1).filter(|_| !has_value).map(|one| (*one).to_owned()));
        } else if name.starts_with("--experimental-") {
            flags.push((*argument).to_owned());
        }
    }
    flags
}

/// A loader is for files that Node cannot read itself. Newer versions read TypeScript, and a script
/// that names such files relies on that.
fn reads_typescript(arguments: &[&str]) -> bool {
    arguments.iter().any(|argument| {
        let name = argument.split_once('=').map_or(*argument, |(name, _)| name);
        LOADERS.contains(&name)
            || name == "--experimental-strip-types"
            || argument.trim_matches(['"', '\'']).ends_with("ts")
    })
}
