//! What a sandbox has prevented, as far as the result of a tool call shows it.
//!
//! The client reports a refused host in a block of its own. A refused write and a hidden file are
//! ordinary errors of the command, which only their text shows.

use crate::text::truncate::bounded;

/// The most lines that are kept of one result.
const MOST: usize = 5;

/// The most characters of a line.
const LONGEST: usize = 200;

/// The lines of a tool's result that may show that a sandbox has prevented something.
pub fn candidates(text: &str) -> Vec<String> {
    let mut is_report = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        is_report |= line.contains("<sandbox_violations>");
        let is_ended = line.contains("</sandbox_violations>");
        let words = line.replace("</sandbox_violations>", "").replace("<sandbox_violations>", "");
        if (is_report || is_error(line)) && !words.trim().is_empty() && found.len() < MOST {
            found.push(bounded(words.trim(), LONGEST));
        }
        is_report &= !is_ended;
    }
    found
}

fn is_error(line: &str) -> bool {
    is_refused_write(line) || is_hidden(line)
}

/// No other cause is likely: a project is not on a read-only file system.
fn is_refused_write(line: &str) -> bool {
    let signs =
        ["Read-only file system", "read-only file system", "EROFS", "Operation not permitted"];
    signs.iter().any(|sign| line.contains(sign))
}

/// A hidden file does not exist in the sandbox, or cannot be opened.
fn is_hidden(line: &str) -> bool {
    line.contains("No such file or directory") || line.contains("Permission denied")
}

/// True if a candidate shows that the sandbox has prevented something; `hidden` are the paths that
/// it hides.
pub fn is_prevented(line: &str, hidden: &[String]) -> bool {
    !is_hidden(line) || hidden_path(line, hidden).is_some()
}

/// The hidden path that a line shows as missing.
pub fn hidden_path<'a>(line: &str, hidden: &'a [String]) -> Option<&'a str> {
    let shown = hidden.iter().filter(|path| line.contains(path.as_str()));
    shown.map(String::as_str).next().filter(|_| is_hidden(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_host_write_and_key_are_found_in_a_result() {
        let text = "Exit code 1\n\
            /bin/bash: line 1: /home/u/x: Read-only file system\n\
            cat: /home/u/.ssh/id: No such file or directory\n\
            cat: missing: No such file or directory\n\
            fine\n\
            <sandbox_violations>\n\
            deny network-outbound example.com:443\n\
            </sandbox_violations>\nrest";
        let hidden = ["/home/u/.ssh".to_owned()];
        let found = candidates(text);
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|line| is_prevented(line, &hidden)).collect();
        assert_eq!(
            found,
            [
                "/bin/bash: line 1: /home/u/x: Read-only file system",
                "cat: /home/u/.ssh/id: No such file or directory",
                "deny network-outbound example.com:443",
            ]
        );
        assert_eq!(
            candidates("<sandbox_violations>a.b:443</sandbox_violations>\nnext"),
            ["a.b:443"]
        );
        assert!(candidates("all is well\n").is_empty());
        assert_eq!(candidates(&"x: Read-only file system\n".repeat(99)).len(), MOST);
    }
}
