//! The programs that a command line needs in order to start.
//!
//! A criterion whose program does not exist can never pass and is best refused before the work
//! begins. What need not exist yet is left out: a script of the project (the loop may have to write
//! it), and all that an earlier command of the line may bring or make unnecessary.

use crate::shell::{self, Join, Simple, Word};

/// The programs of the pipeline that runs first, with the wrappers before them: names to look up on `PATH` or among the
/// shell's own, and absolute paths.
pub fn needed(command: &str) -> Vec<String> {
    let list = shell::read(command).unwrap_or_default();
    let is_work = |simple: &Simple| simple.name() != "cd";
    let first = list.iter().find(|(pipeline, _)| pipeline.commands.iter().any(is_work));
    match first {
        // `npx jest || yarn jest` needs only one of the two.
        Some((pipeline, join)) if *join != Join::Or => {
            pipeline.commands.iter().flat_map(named).collect()
        }
        _ => Vec::new(),
    }
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

/// Wrappers that start another program from the same `PATH`. `sudo` has its own `PATH`.
const PASSES_ON: [&str; 9] =
    ["caffeinate", "env", "exec", "ionice", "nice", "nohup", "stdbuf", "time", "timeout"];

fn named(simple: &Simple) -> Vec<String> {
    let program = simple.program();
    let inner = behind_wrappers(program);
    let is_passed_on = inner.len() < program.len();
    let may_change_names = |word: &Word| {
        let text = word.text.as_str();
        let sets_path = text.starts_with("PATH=") || text.starts_with("PATH+=");
        sets_path || is_passed_on && ["-i", "-u"].contains(&text)
    };
    if simple.words.iter().any(may_change_names) {
        return Vec::new();
    }
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
    fn what_runs_first_is_needed() {
        check("pytest -q", &["pytest"]);
        check("cd web && npm test", &["npm"]);
        check("npm run lint && npm test; tsc --noEmit", &["npm"]);
        check("cargo test 2>&1 | tee log | grep -q ok", &["cargo", "tee", "grep"]);
        check("(cd a; make check) && { ninja; }", &[]);
        check("! grep -rq TODO src", &["grep"]);
        check("/opt/tool/bin/check --all", &["/opt/tool/bin/check"]);
        check("X=1 jest a && jest b", &["jest"]);
        check("g++-13 a_b.c", &["g++-13"]);
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
        check("cd sub && ./run", &[]);
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
        check("PATH=bin:$PATH check && grep x y", &[]);
        check("PATH+=:bin; check", &[]);
        check("env PATH=bin check", &[]);
        check("env -i check", &[]);
        check("grep -q PATH a", &["grep"]);
        check("eval \"$(direnv export bash)\" && check", &[]);
    }

    #[test]
    fn the_options_of_a_wrapper_are_looked_over() {
        for (line, expected) in [
            ("make all", "make all"),
            ("nice -n 3 make all", "make all"),
            ("timeout +5 make", "make"),
            ("env A=1 B=2 make -j 4", "make -j 4"),
            ("env -u A make", "make"),
            ("env A make", "A make"),
            ("/usr/bin/env timeout 5s nice make", "make"),
            ("nohup", ""),
            ("env -u", ""),
            ("sudo make", "sudo make"),
        ] {
            let simple = shell::programs(line).unwrap().remove(0);
            let inner = behind_wrappers(simple.program());
            let words: Vec<&str> = inner.iter().map(|word| word.text.as_str()).collect();
            assert_eq!(words.join(" "), expected, "{line}");
        }
    }

    #[test]
    fn a_name_is_looked_up_only_where_it_means_what_it_says() {
        check("PATH=/x make", &[]);
        check("PATH+=:/x make", &[]);
        check("PATHS=/x make", &["make"]);
        check("env PATH=/x make", &[]);
        check("env -i make", &[]);
        check("env -u X make", &[]);
        check("make -i", &["make"]);
        check("tsc -u x", &["tsc"]);
        check("[ -f a ]", &["["]);
        check("a:b", &["a:b"]);
        check("a@b", &[]);
        check("/abs/x", &["/abs/x"]);
        check("a/b", &[]);
        check("nohup", &["nohup"]);
        check("cd a | make b", &["cd", "make"]);
        check("cd a; cd b", &[]);
        check("cd a || make", &["make"]);
        check("make && a || b", &["make"]);
    }
}
