//! Lists the programs that a command line needs in order to start.
//!
//! A criterion whose program does not exist can never pass and is best refused before the work
//! begins. Programs that need not exist yet are left out: a script of the project (the loop may
//! have to write it), anything guarded by an alternative or a condition, and everything after a
//! command that may change which programs are found.

use crate::shell::{self, Join, Simple, Word};

/// Returns the programs as written: names to look up on `PATH` or among the shell's own, and absolute paths.
pub fn needed(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_alternative = false;
    for (pipeline, join) in shell::read(command).unwrap_or_default() {
        // `npx jest || yarn jest` needs only one of the two.
        if is_alternative || join == Join::Or {
            break;
        }
        for simple in &pipeline.commands {
            let new =
                named(simple).into_iter().filter(|name| !found.contains(name)).collect::<Vec<_>>();
            found.extend(new);
            if may_change_names(simple) {
                return found;
            }
        }
        is_alternative = join == Join::Or;
    }
    found
}

/// The error for a program that was not found.
pub fn not_found(name: &str) -> String {
    let what = match name.starts_with('/') {
        true => format!("`{name}` does not exist or cannot be executed"),
        false => format!("`{name}` was not found on PATH"),
    };
    format!(
        "{what}; install it, correct the name, or name a script of the project by its path \
         (`./check.sh`), which may be created later"
    )
}

/// Commands that may redefine names.
const CHANGES_NAMES: [&str; 11] =
    [".", "alias", "conda", "enable", "eval", "fnm", "mise", "module", "nvm", "pyenv", "source"];

/// Arguments that may install programs: `pip install x && x`.
const INSTALLS: [&str; 9] = ["install", "i", "add", "ci", "sync", "get", "link", "setup", "-g"];

/// Wrappers that start another program from the same `PATH`. `sudo` has its own `PATH`.
const PASSES_ON: [&str; 9] =
    ["caffeinate", "env", "exec", "ionice", "nice", "nohup", "stdbuf", "time", "timeout"];

fn sets_path(word: &Word) -> bool {
    word.text.starts_with("PATH=") || word.text.starts_with("PATH+=")
}

/// True if other programs may be found after this command.
fn may_change_names(simple: &Simple) -> bool {
    let is_change = |word: &Word| INSTALLS.contains(&word.text.as_str()) || sets_path(word);
    let first = simple.program().first().map(|word| word.text.as_str());
    let is_known = first.is_some_and(|name| CHANGES_NAMES.contains(&name));
    is_known
        || simple.arguments().iter().any(is_change)
        || first.is_none() && simple.words.iter().any(sets_path)
}

/// The program of a command, and the one that it passes the rest on to.
fn named(simple: &Simple) -> Vec<String> {
    let has_path = simple.words.iter().any(sets_path)
        || simple.name() == "env" && simple.arguments().iter().any(|word| word.text == "-i");
    if has_path {
        return Vec::new();
    }
    let program = simple.program();
    // A change of the environment may change the `PATH`.
    let inner = match program.iter().any(|word| word.text == "-u") {
        true => program,
        false => behind_wrappers(program),
    };
    let mut words: Vec<&Word> = program.first().into_iter().chain(inner.first()).collect();
    words.dedup();
    words.into_iter().filter(|word| is_looked_up(word)).map(|word| word.text.clone()).collect()
}

/// False for a path within the project, and what only the shell can make of it.
fn is_looked_up(word: &Word) -> bool {
    let name = word.text.as_str();
    let is_plain =
        name.chars().all(|letter| letter.is_alphanumeric() || "/._-+:[".contains(letter));
    let is_relative = name.contains('/') && !name.starts_with('/');
    is_plain && !word.computed && !is_relative
}

/// The program with its arguments behind `env`, `timeout 5` or `nice -n 3`; the words themselves if none of
/// these begins them.
pub(crate) fn behind_wrappers(mut words: &[Word]) -> &[Word] {
    while let Some((first, rest)) = words.split_first() {
        let name = first.text.rsplit('/').next().unwrap_or_default();
        if !PASSES_ON.contains(&name) {
            break;
        }
        // The name of a variable stands behind `-u`.
        let names_one = |at: usize| at > 0 && rest[at - 1].text == "-u";
        let is_its = |at: &usize| is_for_the_wrapper(&rest[*at].text) || names_one(*at);
        let n = (0..rest.len()).take_while(is_its).count();
        words = &rest[n..];
    }
    words
}

/// True for an option, a number or an assignment between a wrapper and its program.
fn is_for_the_wrapper(word: &str) -> bool {
    word.starts_with(['-', '+'])
        || word.contains('=')
        || word.starts_with(|letter: char| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &[&str]) {
        assert_eq!(needed(command), expected, "{command}");
    }

    #[test]
    fn the_first_word_of_every_command_that_must_run_is_needed() {
        check("pytest -q", &["pytest"]);
        check("cd web && npm test", &["cd", "npm"]);
        check("npm run lint && npm test; tsc --noEmit", &["npm", "tsc"]);
        check("cargo test 2>&1 | tee log | grep -q ok", &["cargo", "tee", "grep"]);
        check("(cd a; make check) && { ninja; }", &[]);
        check("! grep -rq TODO src", &["grep"]);
        check("/opt/tool/bin/check --all", &["/opt/tool/bin/check"]);
        check("X=1; jest a && jest b", &["jest"]);
        check("unset X && g++-13 a_b.c", &["unset", "g++-13"]);
    }

    #[test]
    fn what_only_starts_another_program_is_looked_through() {
        check("env CI=1 pytest", &["env", "pytest"]);
        check("CI=1 pytest", &["pytest"]);
        check("timeout 5 nice -n 3 go test ./...", &["timeout", "go"]);
        check("time make", &["make"]);
        check("sh -c 'pytset -q'", &["sh"]);
        check("bash -c \"$SCRIPT\"", &["bash"]);
        check("sudo useradd x", &["sudo"]);
        check("command -v tsc", &["command"]);
        check("test -n \"$(pytset)\"", &[]);
    }

    #[test]
    fn what_need_not_exist_yet_is_not_named() {
        check("./check.sh", &[]);
        check("bin/check && scripts/all.sh", &[]);
        check("~/bin/check", &[]);
        check("cd sub && ./run", &["cd"]);
        check("$RUNNER -q", &[]);
        check("\"$(which pytest)\" -q", &[]);
        check("npx jest || yarn jest", &[]);
        check("if command -v tsc; then tsc; fi", &[]);
        check("for x in a b; do $x; done; tsc", &[]);
        check("run() { pytest; }; run", &[]);
        check("echo ok", &["echo"]);
        check("not ( valid", &[]);
        check("", &[]);
    }

    #[test]
    fn what_was_not_found_is_told_with_a_way_out() {
        let ways = "; install it, correct the name, or name a script of the project by its path \
             (`./check.sh`), which may be created later";
        let name = format!("`pytset` was not found on PATH{ways}");
        assert_eq!(not_found("pytset"), name);
        let path = format!("`/bin/x` does not exist or cannot be executed{ways}");
        assert_eq!(not_found("/bin/x"), path);
    }

    #[test]
    fn after_a_command_that_may_change_what_is_found_nothing_is_named() {
        check("pip install pytest && pytest", &["pip"]);
        check("npm ci && jest", &["npm"]);
        check(". venv/bin/activate && pytest", &["."]);
        check("source .env; check", &["source"]);
        check("export PATH=$PWD/bin:$PATH; check", &[]);
        check("PATH=bin:$PATH; check", &[]);
        check("PATH=bin:$PATH check && grep x y", &["grep"]);
        check("PATH+=:bin; check", &[]);
        check("env PATH=bin check", &[]);
        check("env -i check", &[]);
        check("eval \"$(direnv export bash)\" && check", &[]);
    }
}
