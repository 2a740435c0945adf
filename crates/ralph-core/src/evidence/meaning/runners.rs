//! Identifies the test runner of a command, whether it must report its tests, and how it names test
//! files.

use super::resolve::{At, Resolver};
use super::text::join;

/// How a runner names the files in which it looks for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// `test*.py`
    Unittest,
    /// `test_*.py`, `*_test.py`
    Pytest,
    /// `tests/*.rs` and test modules
    Rust,
    /// `*_test.go`
    Go,
    /// `*.test.js`, `*.spec.ts`, `__tests__/`, `test/`
    Script,
    /// `*_spec.rb`, `*_test.rb`
    Ruby,
    /// `*Test.php`
    Php,
    /// `src/test/`
    Jvm,
    /// `*.t`
    Perl,
    /// `*.bats`
    Bats,
    /// `Tests/`
    Swift,
    /// Test projects
    Dotnet,
    /// `*_test.exs`
    Elixir,
}

impl Naming {
    /// True for a file in which the runner finds tests, or which its tests need.
    pub fn is_test(self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let within =
            |folders: &[&str]| path.split('/').rev().skip(1).any(|part| folders.contains(&part));
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match self {
            Naming::Unittest => name.starts_with("test") && ends(&[".py"]),
            Naming::Pytest => {
                ends(&[".py"])
                    && (name.starts_with("test_") || ends(&["_test.py"]) || name == "conftest.py")
            }
            Naming::Rust => {
                ends(&[".rs"])
                    && (within(&["tests"])
                        || ends(&["_test.rs", "_tests.rs"])
                        || matches!(name, "tests.rs" | "test.rs"))
            }
            Naming::Go => ends(&["_test.go"]),
            Naming::Script => {
                let is_code = ends(&[".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"]);
                let named = [".test.", ".spec.", "-test.", "_test.", "test-"]
                    .iter()
                    .any(|mark| name.contains(mark));
                is_code
                    && (named
                        || within(&["test", "tests", "__tests__", "spec"])
                        || name.starts_with("test."))
            }
            Naming::Ruby => {
                ends(&["_spec.rb", "_test.rb", "_helper.rb"])
                    || name.starts_with("test_") && ends(&[".rb"])
            }
            Naming::Php => ends(&["Test.php", ".phpt"]) || name == "Pest.php",
            Naming::Jvm => {
                within(&["test", "androidTest", "integrationTest"])
                    && ends(&[".java", ".kt", ".groovy", ".scala"])
            }
            Naming::Perl => ends(&[".t"]),
            Naming::Bats => ends(&[".bats"]),
            Naming::Swift => within(&["Tests"]) && ends(&[".swift"]),
            Naming::Dotnet => {
                ends(&["Test.cs", "Tests.cs", "Test.fs", "Tests.fs"])
                    || path.contains("Tests/") && ends(&[".cs", ".fs"])
            }
            Naming::Elixir => ends(&["_test.exs", "test_helper.exs"]),
        }
    }
}

/// The runner that a command starts.
struct FoundRunner {
    label: &'static str,
    naming: Naming,
    /// Options with which its summary may not be printed in the expected format.
    hides: &'static [&'static str],
}

/// Options of all runners that run nothing.
const ASKS: [&str; 6] = ["--help", "-h", "--version", "--listTests", "--list", "--no-run"];

fn find(name: &str, words: &[&str]) -> Option<FoundRunner> {
    let plain: Vec<&str> =
        words.iter().skip(1).filter(|word| !word.starts_with(['-', '+'])).copied().collect();
    let first = plain.first().copied().unwrap_or_default();
    let has = |wanted: &[&str]| plain.iter().any(|word| wanted.contains(word));
    let found = |label, naming, hides| Some(FoundRunner { label, naming, hides });
    match name {
        "pytest" | "py.test" => found(
            "pytest",
            Naming::Pytest,
            &["-qq", "-qqq", "no:terminal", "-pno:terminal", "--co", "--collect-only"],
        ),
        "unittest" => found("unittest", Naming::Unittest, &[]),
        "python" if first.ends_with("manage.py") && has(&["test"]) => {
            found("manage.py test", Naming::Unittest, &[])
        }
        "cargo" if matches!(first, "test" | "t") => {
            found("cargo test", Naming::Rust, &["--format"])
        }
        "cargo" if first == "nextest" && has(&["run", "r"]) => found(
            "cargo nextest",
            Naming::Rust,
            &["--message-format", "--status-level", "--final-status-level"],
        ),
        "go" if first == "test" => found("go test", Naming::Go, &["-c", "-list", "-exec"]),
        "node" | "tsx" if words.contains(&"--test") => {
            found("node --test", Naming::Script, &["--test-reporter"])
        }
        "jest" | "react-scripts" if name == "jest" || first == "test" => {
            found("jest", Naming::Script, &["--reporters", "--showConfig", "--outputFile"])
        }
        "vitest" if !has(&["list", "bench", "init"]) => {
            found("vitest", Naming::Script, &["--reporter", "--reporters", "--outputFile"])
        }
        "mocha" => found("mocha", Naming::Script, &["-R", "--reporter", "--dry-run"]),
        "bun" if first == "test" => found("bun test", Naming::Script, &["--reporter"]),
        "deno" if first == "test" => found("deno test", Naming::Script, &["--reporter"]),
        "rspec" => found("rspec", Naming::Ruby, &["-f", "--format", "--dry-run"]),
        "rails" if first == "test" => found("rails test", Naming::Ruby, &[]),
        "phpunit" => found(
            "phpunit",
            Naming::Php,
            &["--no-output", "--no-results", "--teamcity", "--log-teamcity"],
        ),
        "ctest" => found("ctest", Naming::Script, &["-Q", "--quiet", "-N", "--show-only"]),
        "bats" => found("bats", Naming::Bats, &["-F", "--formatter", "--count", "-c"]),
        "prove" => found("prove", Naming::Perl, &["-Q", "--QUIET", "--formatter", "--harness"]),
        "mvn" | "mvnw" if has(&["test", "verify", "install", "package"]) => found(
            "mvn",
            Naming::Jvm,
            &["-q", "--quiet", "-ntp -q", "-DskipTests", "-Dmaven.test.skip"],
        ),
        "gradle" | "gradlew" if has(&["test"]) => {
            found("gradle test", Naming::Jvm, &["-q", "--quiet", "-m", "--dry-run", "--console"])
        }
        "swift" if first == "test" => found("swift test", Naming::Swift, &[]),
        "dotnet" if first == "test" => found(
            "dotnet test",
            Naming::Dotnet,
            &["-v", "--verbosity", "--logger", "-l", "--list-tests"],
        ),
        "mix" if first == "test" => found("mix test", Naming::Elixir, &["--formatter"]),
        _ => None,
    }
}

pub(super) fn follow(resolver: &mut Resolver<'_>, name: &str, words: &[&str], at: &At) {
    let Some(found) = find(name, words) else { return };
    let flag = |word: &&&str| !ASKS.contains(*word);
    let quiet = words.iter().filter(|word| matches!(**word, "-q" | "--quiet")).count();
    let hides = |word: &&str| {
        let bare = word.split('=').next().unwrap_or(word);
        found.hides.contains(&bare) || found.hides.contains(word)
    };
    let reports = at.plain
        && words.iter().filter(flag).count() == words.len()
        && !words.iter().any(hides)
        && !(found.label == "pytest" && quiet > 1)
        && !is_told_otherwise(resolver);
    resolver.runs(found.label, reports);
    let names_files = words.iter().skip(1).any(|word| {
        let path = word.split("::").next().unwrap_or(word);
        let Some(path) =
            join(&at.folder, path).filter(|path| !path.is_empty() && !word.starts_with('-'))
        else {
            return false;
        };
        !path.contains('*')
            && !path.ends_with("...")
            && (resolver.text(&path).is_some() || !resolver.names(&path).is_empty())
    });
    if !names_files || found.label == "manage.py test" {
        resolver.meaning.tests.insert((at.folder.clone(), found.naming));
    }
}

/// True if the agreed configuration may change the printed output.
fn is_told_otherwise(resolver: &Resolver<'_>) -> bool {
    let words = ["reporter", "-q", "no:terminal", "--format", "formatter", "quiet"];
    resolver.meaning.pieces.iter().any(|(what, piece)| {
        let is_configuration = ["configuration in", "`[", "`jest`", "`mocha`", "settings in"]
            .iter()
            .any(|start| what.starts_with(start));
        let text = piece.text.as_deref().unwrap_or_default();
        is_configuration && words.iter().any(|word| text.contains(word))
    })
}
