//! The folders in which a command line runs git.
//!
//! git obeys the configuration of the repository that it finds, and a folder of the project may be
//! a repository of its own, even without a `.git`. The caller inspects the folders.

use crate::shell::{self, STAR, Simple, UNKNOWN};

/// More folders than any line needs.
const MOST: usize = 32;
/// Git commands that print the root of the project's repository.
const TOP: [&str; 2] = ["\"$(git rev-parse --show-toplevel)\"", "$(git rev-parse --show-toplevel)"];

/// The folders in which this line may run git, absolute; `None` if they are computed.
pub fn git_folders(line: &str, cwd: &str) -> Option<Vec<String>> {
    let line = TOP.iter().fold(line.to_owned(), |line, top| line.replace(top, "."));
    let reading = shell::read(&line, &[("PWD", cwd)]);
    let runs_git = |simple: &Simple| matches!(simple.base(), "git" | "gh");
    if !reading.commands.iter().any(runs_git) {
        return Some(Vec::new());
    }
    let enters = |simple: &&Simple| matches!(simple.name(), Some("cd" | "pushd"));
    let in_a_loop = line.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "do");
    let mut folders = vec![cwd.to_owned()];
    for simple in reading.commands.iter().filter(enters) {
        let target = simple.arguments().iter().find(|word| !word.text.starts_with('-'));
        let target = target.map_or("~", |word| word.text.as_str());
        if in_a_loop && !target.starts_with('/') {
            return None;
        }
        enter(&mut folders, target)?;
    }
    for simple in reading.commands.iter().filter(|simple| runs_git(simple)) {
        let words = simple.arguments();
        // `-C` counts only before the subcommand: after it, it is an option of the subcommand.
        for at in 0..words.len() {
            let text = words[at].text.as_str();
            if !text.starts_with('-') && (at == 0 || words[at - 1].text != "-C") {
                break;
            }
            if text == "-C" {
                enter(&mut folders, words.get(at + 1).map_or("~", |word| word.text.as_str()))?;
            }
        }
    }
    Some(folders)
}

fn enter(folders: &mut Vec<String>, target: &str) -> Option<()> {
    if target.contains([UNKNOWN, STAR, '?', '~', '\u{3}']) || folders.len() > MOST {
        return None;
    }
    match target.starts_with('/') {
        true => folders.push(target.to_owned()),
        false => {
            let below: Vec<String> =
                folders.iter().map(|folder| format!("{folder}/{target}")).collect();
            folders.extend(below);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&[&str]>) {
        let found = git_folders(line, "/p");
        let found = found.as_ref().map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found.as_deref(), expected, "{line}");
    }

    #[test]
    fn a_line_runs_git_where_it_stands_or_goes() {
        check("ls; cd sub", Some(&[]));
        check("git status", Some(&["/p"]));
        check("git -C sub status", Some(&["/p", "/p/sub"]));
        check("git --no-pager -C sub log -C x", Some(&["/p", "/p/sub"]));
        check("cd sub && git status", Some(&["/p", "/p/sub"]));
        check("(cd /x; pwd); git log", Some(&["/p", "/x"]));
        check("bash -c 'cd sub; git log'", Some(&["/p", "/p/sub"]));
        check("echo $(cd sub; git log)", Some(&["/p", "/p/sub"]));
        check("cd \"$(git rev-parse --show-toplevel)\" && git log", Some(&["/p", "/p/."]));
        check("cd \"$PWD/sub\"; git log", Some(&["/p", "/p/sub"]));
    }

    #[test]
    fn a_folder_that_is_computed_is_not_known() {
        for line in [
            "cd \"$x\" && git log",
            "cd && git log",
            "cd ~ && git log",
            "cd - && git log",
            "cd s* && git log",
            "git -C \"$x\" log",
            "git -C \"$(ls)\" log",
            "for i in 1 2; do cd sub; git log; done",
        ] {
            check(line, None);
        }
    }
}
