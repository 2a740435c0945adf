//! Finds the table row for a command line of a live loop.
//!
//! Only the text counts: a line that names a protected place runs if each of its programs only reads. A path
//! that the line computes passes, and so does a script; what such a line changes is detected afterwards.

use super::places;
use super::plain_readers::{is_ralph, is_reader};
use super::{Rule, RuleHit, Situation, ToolCall, ralph_command};
use crate::shell::programs::behind_wrappers;
use crate::shell::{self, Simple};

/// The row for the command line of a shell.
pub(super) fn row(situation: &Situation<'_>, call: &ToolCall<'_>) -> RuleHit {
    if call.cut {
        return (Rule::CutCommand, CUT.to_owned());
    }
    // The caller has judged what the line does to an artefact.
    if let Some(refused) = situation.session.and_then(|gate| gate.not_its_own.as_deref()) {
        return (Rule::Artefact, refused.to_owned());
    }
    let line = call.input.command.as_deref().unwrap_or_default();
    let refused = || ralph_command::refused(line).map(|reason| (Rule::RefusedCommand, reason));
    named(situation, line).or_else(refused).unwrap_or((Rule::Mutation, String::new()))
}

/// The protected place that a line names, unless it only reads it.
pub(super) fn named(situation: &Situation<'_>, line: &str) -> Option<RuleHit> {
    let place = situation.places.named_in(line)?;
    let reads = shell::programs(line).is_some_and(|programs| programs.iter().all(only_reads));
    (!reads).then(|| places::row(place))
}

/// True for a command that does not change what it names. Ralph's own commands refuse what they must.
fn only_reads(simple: &Simple) -> bool {
    const LOOKS: [&str; 9] =
        ["add", "blame", "commit", "diff", "grep", "log", "ls-files", "show", "status"];
    let inner = Simple { words: behind_wrappers(simple.program()).to_vec(), ..simple.clone() };
    let simple = &inner;
    let looks = || {
        let first = simple.arguments().first();
        first.is_some_and(|word| LOOKS.contains(&word.text.as_str()))
    };
    let more = match simple.name() {
        "cd" | "printf" | "ralph" | "test" | "true" | "[" => true,
        "git" => looks(),
        _ => false,
    };
    is_reader(simple) || !simple.writes && more
}

/// True for a command line that only runs `ralph`, in a way that starts no other program.
pub(super) fn only_asks_ralph(call: &ToolCall<'_>) -> bool {
    let line = call.input.command.as_deref().unwrap_or_default();
    let asks = |simple: &Simple| is_ralph(simple) && simple.is_plain() && !simple.writes;
    let programs = shell::programs(line).filter(|_| !call.cut).unwrap_or_default();
    !programs.is_empty() && programs.iter().all(asks)
}

const CUT: &str = "This command is longer than 64 KiB, and while a Ralph loop is live a command \
must be read whole before it runs. Write it to a file with the Write tool and run the file.";
