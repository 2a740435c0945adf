//! Runs a check's tool like an acceptance command: under a supervisor that ends whatever it leaves,
//! with a deadline, capped output and none of the client's secrets.
//!
//! Standard error goes to a separate file, and from there below standard output: a warning must not split the tool's
//! machine-readable output.

use crate::process::clock;
use crate::process::command::{self, CommandEnd, CommandOrder};
use crate::process::elsewhere::{self, OtherFiles};
use anyhow::{Context, Result};
use ralph_core::project::check::Program;
use ralph_core::shell::quoted;
use ralph_core::state::Bounds;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables that keep tools quiet, without colours, and off the network.
const VARIABLES: [(&str, &str); 19] = [
    ("CARGO_NET_OFFLINE", "true"),
    ("CI", "1"),
    ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0"),
    ("COREPACK_ENABLE_NETWORK", "0"),
    ("DENO_NO_UPDATE_CHECK", "1"),
    ("DO_NOT_TRACK", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GOPROXY", "off"),
    ("MISE_OFFLINE", "1"),
    ("NO_COLOR", "1"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("PIP_NO_INDEX", "1"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYRIGHT_PYTHON_IGNORE_WARNINGS", "1"),
    ("RUSTUP_AUTO_INSTALL", "0"),
    ("TERM", "dumb"),
    ("UV_OFFLINE", "1"),
    ("YARN_ENABLE_NETWORK", "0"),
    ("npm_config_offline", "true"),
];

/// The most bytes read of a tool's output.
const LARGEST: u64 = 20 << 20;

/// How a tool is run.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// The `ralph` executable, which supervises.
    pub ralph: &'a Path,
    /// The tool's working folder.
    pub folder: &'a Path,
    /// The file that keeps the tool's output.
    pub output: &'a Path,
    pub deadline: Duration,
    /// The bounds of the loop; `None` if it is not sandboxed.
    pub bounds: Option<&'a Bounds>,
    /// The files of the start; `None` for a run on the present ones.
    pub start: Option<OtherFilesOf<'a>>,
}

/// Files of a project in another form, on which a tool runs without leaving anything.
#[derive(Debug, Clone, Copy)]
pub struct OtherFilesOf<'a> {
    pub files: &'a OtherFiles,
    /// The top of the project.
    pub root: &'a Path,
    /// The folder for such runs.
    pub store: &'a Path,
}

/// Stands between standard output and standard error.
const STDERR_BELOW: &str = "--- ralph: standard error ---";

/// The result of a tool's run.
#[derive(Debug, Clone)]
pub struct Ran {
    pub ended: CommandEnd,
    /// The time from start to end.
    pub took: Duration,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// The shell line that runs this program; `input` is the file for its standard input.
pub fn line_of(program: &Program, input: Option<&Path>) -> String {
    let mut line = String::new();
    for (name, value) in &program.variables {
        line.push_str(&format!("export {name}={}; ", quoted(value)));
    }
    line.push_str("exec");
    for word in &program.line {
        line.push(' ');
        line.push_str(&quoted(word));
    }
    if let Some(input) = input {
        line.push_str(&format!(" <{}", quoted(&input.to_string_lossy())));
    }
    line
}

/// Runs a shell line and waits for it. With `whole`, the output is returned unchanged and not kept:
/// kept output is redacted, and source code must not be.
///
/// # Errors
/// If no supervisor can be started.
pub fn run(line: &str, limits: &Limits<'_>, whole: bool) -> Result<Ran> {
    // Within bounds, only a folder of its own can be written beside the project.
    let scratch = match limits.bounds {
        Some(_) => Some(scratch_beside(limits.output)?),
        None => None,
    };
    let folder = scratch.as_ref().map(|scratch| scratch.path().join("output"));
    let place = folder.as_deref().unwrap_or(limits.output);
    let words = beside(place, "stderr");
    let letters = beside(place, "whole");
    let bounds = limits.bounds.cloned().map(|mut bounds| {
        let folder = scratch.as_ref().map(|scratch| scratch.path().to_string_lossy().into_owned());
        bounds.write.extend(folder);
        bounds
    });
    let mut command = String::new();
    for (name, value) in VARIABLES {
        command.push_str(&format!("export {name}={value}; "));
    }
    let [words_file, letters_file] = [&words, &letters].map(|path| quoted(&path.to_string_lossy()));
    let to_file = if whole { format!("exec >{letters_file}; ") } else { String::new() };
    // The last line break ends a comment of the line.
    command.push_str(&format!(
        "(exec 2>{words_file}; {to_file}{line}\n); code=$?; \
         printf '\\n%s\\n' '{STDERR_BELOW}'; cat {words_file}; exit $code"
    ));
    let began = clock::now();
    let order = CommandOrder {
        ralph: limits.ralph,
        command: &command,
        folder: limits.folder,
        output: limits.output,
        deadline: limits.deadline,
        bounds: bounds.as_ref(),
    };
    let ran = match &limits.start {
        Some(start) => elsewhere::run_at_once(&order, start.files, start.store, start.root),
        None => command::run(&order),
    };
    let printed = taken(limits.output);
    let (stdout, stderr) = parted(&printed);
    let stdout = if whole { taken(&letters) } else { stdout.to_owned() };
    // The content is in the result; the next run would overwrite a leftover.
    for path in [&words, &letters] {
        let _ = std::fs::remove_file(path);
    }
    let ran = ran?;
    let took = Duration::try_from(clock::now().duration_since(began)).unwrap_or_default();
    Ok(Ran { took: ran.duration().max(took), ended: ran.ended, stdout, stderr: stderr.to_owned() })
}

/// Standard output and standard error. The tool that was ended has only the first.
fn parted(printed: &[u8]) -> (&[u8], &[u8]) {
    let mark = format!("\n{STDERR_BELOW}\n");
    match printed.windows(mark.len()).rposition(|part| part == mark.as_bytes()) {
        Some(at) => (&printed[..at], &printed[at + mark.len()..]),
        None => (printed, &[]),
    }
}

fn scratch_beside(output: &Path) -> Result<tempfile::TempDir> {
    let folder = output.parent().unwrap_or(output);
    tempfile::tempdir_in(folder)
        .with_context(|| format!("could not make a folder in `{}`", folder.display()))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

fn taken(path: &Path) -> Vec<u8> {
    crate::project::safe_read::read(path, LARGEST).ok().flatten().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_quotes_every_word_and_sets_its_variables() {
        let program = Program {
            line: vec!["/a b/eslint".to_owned(), "--x=it's".to_owned()],
            variables: vec![("A".to_owned(), "$(b)".to_owned())],
        };
        assert_eq!(line_of(&program, None), r"export A='$(b)'; exec '/a b/eslint' '--x=it'\''s'");
        assert!(line_of(&program, Some(Path::new("/in put"))).ends_with(" <'/in put'"));
    }

    #[test]
    fn what_stands_below_the_last_mark_is_standard_error() {
        let mark = format!("\n{STDERR_BELOW}\n");
        let printed = format!("a{mark}b\n{mark}c");
        assert_eq!(parted(printed.as_bytes()), (format!("a{mark}b\n").as_bytes(), &b"c"[..]));
        assert_eq!(parted(b"a"), (&b"a"[..], &b""[..]));
    }
}
