//! Changes of a command's meaning, on files in memory.

use super::*;

/// Files by path; TOML is written as JSON.
struct Fake(Vec<(&'static str, &'static str)>);

impl Files for Fake {
    fn text(&self, path: &str) -> Option<String> {
        self.0.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let inside = self.0.iter().filter_map(|(path, _)| match folder {
            "" => Some(*path),
            _ => path.strip_prefix(folder)?.strip_prefix('/'),
        });
        let mut names: Vec<String> =
            inside.filter_map(|path| Some(path.split('/').next()?.to_owned())).collect();
        names.dedup();
        names
    }

    fn toml(&self, text: &str) -> Option<Value> {
        serde_json::from_str(text).ok()
    }
}

type Texts = &'static [(&'static str, &'static str)];

#[track_caller]
fn check(command: &str, before: Texts, after: Texts, expected: &[(&str, bool)]) {
    let parts = of(command, &Fake(before.to_vec())).parts("AC-1");
    let parts: Vec<&PinnedPart> = parts.iter().collect();
    let found = changes(&parts, &of(command, &Fake(after.to_vec())));
    let found: Vec<(&str, bool)> =
        found.iter().map(|change| (change.what.as_str(), change.proves_less)).collect();
    assert_eq!(found, expected, "{command}");
}

const SCRIPT: Texts = &[("package.json", r#"{"scripts":{"test":"node --test"}}"#)];

#[test]
fn what_was_not_there_at_the_start_is_the_work_as_long_as_it_can_fail() {
    check("npm test", &[], SCRIPT, &[("script `test` of package.json is new", false)]);
    let empty: Texts = &[("package.json", r#"{"scripts":{"test":"true"}}"#)];
    check("npm test", &[], empty, &[("script `test` of package.json is new", true)]);
    check("npm test", SCRIPT, &[], &[("script `test` of package.json is gone", true)]);
    check("node --run test", SCRIPT, empty, &[("script `test` of package.json changed", true)]);
}

#[test]
fn a_script_that_the_criterion_names_is_the_work_unless_it_checks_something() {
    let grep: Texts = &[("a.sh", "grep -q x y\n")];
    let other: Texts = &[("a.sh", "grep -q x z\n")];
    let never: Texts = &[("a.sh", "#!/bin/sh\nexit 0\n")];
    check("sh a.sh", grep, other, &[("`a.sh` changed", false)]);
    check("sh a.sh", grep, never, &[("`a.sh` changed", true)]);
    check("sh a.sh | grep -q x", grep, never, &[("`a.sh` changed", false)]);
    let runs: Texts = &[("a.sh", "pytest\n")];
    check("sh a.sh", runs, other, &[("`a.sh` changed", true)]);
    check("sh a.sh", runs, &[("a.sh", "# all\n  pytest  \n")], &[]);
}

#[test]
fn a_runner_must_report_where_nothing_diverts_or_decides() {
    let reporter = |command| of(command, &Fake(SCRIPT.to_vec())).reporter;
    for (command, runner) in [
        ("npm test", "node --test"),
        ("cd a && pytest -q 2>&1", "pytest"),
        ("env CI=1 timeout 9 npx jest", "jest"),
        ("bundle exec rspec", "rspec"),
        ("./mvnw -B test", "mvn"),
    ] {
        assert_eq!(reporter(command), Some(runner), "{command}");
    }
    for command in [
        "pytest -qq",
        "pytest | grep -q passed",
        "pytest > log",
        "mvn -q test",
        "if test -d x; then pytest; fi",
        "npx vitest --reporter=json",
        "make check",
        "test \"$(pytest)\"",
    ] {
        assert_eq!(reporter(command), None, "{command}");
    }
}

#[test]
fn texts_are_compared_by_what_they_mean() {
    assert_eq!(text::code("a('x', // y\n [1,2,],);"), text::code("a( \"x\",[1, 2] )"));
    assert_ne!(text::code("a('x y')"), text::code("a('xy')"));
    assert_eq!(text::code("a /* b */ + 'c // d'"), "a+\"c // d\"");
    assert_eq!(text::lines("# x\n\n  a   b \n", &["#"]), "a b");
    assert_eq!(text::join("a/b", "../c"), Some("a/c".to_owned()));
    assert_eq!(text::join("a", "../../c"), None);
    assert_eq!(text::braced("export default { test: { a: {} }, x }", "test"), Some("{ a: {} }"));
    assert_eq!(text::braced("latest: {}", "test"), None);
}

#[test]
fn recipes_that_call_each_other_without_an_end_are_followed_to_a_bound() {
    let around: Texts = &[
        ("Makefile", "a: b\n\tmake b\nb: a\n\tsh a.sh\ninclude Makefile\n"),
        ("a.sh", "make a\nsh a.sh\nnpm run x\n"),
        ("package.json", r#"{"scripts":{"x":"npm run x && make a"}}"#),
    ];
    let found = of("make a", &Fake(around.to_vec()));
    assert!(found.pieces.contains_key("script `x` of package.json"), "{:?}", found.pieces);
}

#[test]
fn any_text_is_read_without_harm() {
    let texts = ["", "\t", "[", "a:\n\tb\n", "define\n", "{\"scripts\":[]}", "\u{1}${", "é: 'é\\"];
    for command in [
        "make",
        "npm test",
        "just",
        "tox",
        "task x",
        "rake",
        "cargo test",
        "sh a",
        "pytest",
        "go test",
        "mvn test",
        "nox",
        "composer x",
        "make -C",
        "npm",
        "just -f",
    ] {
        for text in texts {
            let names = [
                "Makefile",
                "package.json",
                "justfile",
                "tox.ini",
                "Taskfile.yml",
                "Rakefile",
                "Cargo.toml",
                "a",
                "conftest.py",
                "a_test.go",
                "pom.xml",
                "noxfile.py",
                "composer.json",
                ".npmrc",
            ];
            let files = Fake(names.iter().map(|name| (*name, text)).collect());
            let parts = of(command, &files).parts("AC-1");
            assert!(changes(&parts.iter().collect::<Vec<_>>(), &of(command, &files)).is_empty());
        }
    }
}
