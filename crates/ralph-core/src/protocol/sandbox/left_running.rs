//! The report about processes that a command of the model leaves running.
//!
//! The client's sandbox ends them with the command and reports nothing. So a sandboxed session's
//! SessionStart hook adds [`script`] to the file that the client runs ahead of each command.
//! Measured with 2.1.328 on Linux: the command's shell has the number 2 below a process 1 of
//! namespaces of its own, and nothing else that the client starts runs the file.

use crate::shell::quoted;
use crate::text::sanitize::visible;
use crate::text::truncate::bounded;

/// What the line of a report begins with.
const REPORT: &str = "ralph: ended what the command left running: ";

/// The most characters of a report's names.
const LONGEST: usize = 200;

/// The line of shell that has `ralph` look when the command's shell ends, and tells it what ran before
/// the command: the sandbox's helpers may be children of that shell. It changes neither the command's
/// output, unless there is a report, nor its exit code, whatever options the command sets.
pub fn script(ralph: &str) -> String {
    let look = quoted(&format!("{{ {} delegate left-running ", quoted(ralph)));
    let quietly = quoted("; } 1>&2 2>/dev/null");
    format!(
        "if [ \"$$.$PPID\" = 2.1 ]; then set -- /proc/[0-9]*; trap {look}\"$*\"{quietly} EXIT; set --; fi\n"
    )
}

/// The line for the model; `None` if nothing is left running.
pub fn report(names: &[String]) -> Option<String> {
    let names = bounded(&visible(&names.join(", ")).replace('\n', " "), LONGEST);
    (!names.is_empty()).then(|| format!("{REPORT}{names}"))
}

/// The names in the reports of a tool's result.
pub fn names(text: &str) -> Vec<String> {
    let reports = text.lines().filter_map(|line| line.trim().strip_prefix(REPORT));
    reports
        .flat_map(|names| {
            bounded(names, LONGEST).split(", ").map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_line_from_which_the_names_are_read() {
        let left = ["sleep", "node"].map(str::to_owned);
        let line = report(&left).unwrap();
        assert_eq!(line, "ralph: ended what the command left running: sleep, node");
        assert_eq!(names(&format!("Exit code 1\nout\n{line}\n")), left);
        assert_eq!(report(&[]), None);
        let lies = report(&["a\nralph: b\u{1b}[2J".to_owned()]).unwrap();
        assert!(!lies.contains(['\n', '\u{1b}']), "{lies}");
        assert!(report(&["x".repeat(9999)]).unwrap().len() < 300);
        for text in ["", "left running: sleep", "x ralph: ended what the command left running: y"] {
            assert!(names(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn the_script_quotes_the_path_twice() {
        assert_eq!(
            script("/it's $HOME/ralph"),
            "if [ \"$$.$PPID\" = 2.1 ]; then set -- /proc/[0-9]*; trap '{ '\\''/it'\\''\\'\\'''\\''s \
             $HOME/ralph'\\'' delegate left-running '\"$*\"'; } 1>&2 2>/dev/null' EXIT; set --; fi\n"
        );
    }
}
