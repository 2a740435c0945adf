//! Records the environment variables that decide what a command runs, and compares two
//! environments.
//!
//! A criterion runs in the environment that the client gave the hook. The variables that decide
//! which programs and tests a command runs are recorded when the loop starts, so that later runs
//! can use the same values. A value that may be a secret is recorded only as a digest: it can be
//! compared, but not restored.

use crate::state::{ClientProcess, Environment};
use crate::text::hex::sha256;
use crate::text::secrets;

/// Longer values are recorded as digests.
const LONGEST: usize = 16 * 1024;

/// Exact names of variables that decide what runs.
const NAMES: [&str; 23] = [
    "PATH", "HOME", "SHELL", "IFS", "ENV", "PS4", "CDPATH", "CPATH", "AWKPATH", "CI", "CC", "CXX",
    "LD", "AR", "EDITOR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MFLAGS", "PHPRC",
    "RUBYOPT", "RUBYLIB",
];

/// How names of such variables of shells, languages, their tools, tool managers and git begin, in capitals: npm reads
/// both.
const PREFIXES: [&str; 87] = [
    "LD_", "DYLD_", "GCONV_", "GLIBC_", "MALLOC_", "BASH_", "BASHOPTS", "POSIXLY_", "PROMPT_",
    "MAKE", "GNUMAKE", "NODE_", "TS_NODE_", "NPM_", "YARN_", "PNPM_", "COREPACK", "NVM_", "FNM_",
    "VOLTA_", "DENO_", "BUN_", "BABEL_", "TSX_", "SWC_", "JEST_", "VITEST_", "MOCHA_", "CYPRESS_",
    "ELECTRON", "PYTHON", "PYTEST_", "PY_", "PIP_", "UV_", "POETRY_", "PIPENV_", "PDM_", "HATCH_",
    "TOX_", "TOXENV", "NOX", "CONDA_", "PYENV_", "VIRTUAL_", "COVERAGE", "DJANGO_", "FLASK_",
    "CARGO", "RUST", "NEXTEST_", "PROPTEST", "GO", "CGO_", "MAVEN_", "MVN_", "GRADLE_", "SBT_",
    "BUNDLE_", "GEM_", "RAILS_", "RBENV_", "PERL", "PROVE_", "PHP_", "COMPOSER", "DOTNET_",
    "SWIFT_", "CTEST_", "CMAKE_", "GTEST_", "BATS_", "XDG_CONF", "MISE_", "__MISE_", "RTX_",
    "ASDF_", "NIX_", "DIRENV_", "DEVBOX_", "SDKMAN_", "GIT_", "SCCACHE_", "CCACHE_", "BAZEL_",
    "JUST_", "TASK_",
];

/// Longer ones.
const LONG: [&str; 6] =
    ["CLASSPATH", "LIBRARY_PATH", "SHELLOPTS", "GLOBIGNORE", "PLAYWRIGHT_", "HYPOTHESIS_"];

/// Words between underscores which show that a variable selects tests, as do those that begin with `TEST`, or is one of Java.
const WORDS: [&str; 14] = [
    "SPEC", "SPECS", "SUITE", "FILTER", "FILTERS", "SKIP", "ONLY", "GREP", "SHARD", "MATCH",
    "INCLUDE", "EXCLUDE", "RUNNER", "JAVA",
];

/// True for a variable that can decide which programs or tests a command runs.
pub fn decides(name: &str) -> bool {
    // Ralph and Claude Code set these for each process.
    if ["RALPH_", "CLAUDE"].iter().any(|ours| name.starts_with(ours)) {
        return false;
    }
    let capitals = name.to_ascii_uppercase();
    let begins = |with: &&str| capitals.starts_with(*with);
    NAMES.contains(&capitals.as_str())
        || PREFIXES.iter().chain(&LONG).any(begins)
        || capitals
            .split(['_', '-', '.'])
            .any(|word| word.starts_with("TEST") || WORDS.contains(&word))
}

/// The differences between an environment and the recorded one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    /// Variables to set, or to remove if there is no value, to restore the recorded environment.
    pub restore: Vec<(String, Option<String>)>,
    /// Variables that cannot be restored because only a digest was recorded.
    pub lost: Vec<String>,
}

impl Difference {
    /// The names of all variables that differ, sorted.
    pub fn names(&self) -> Vec<String> {
        let restored = self.restore.iter().map(|(name, _)| name.clone());
        let mut names: Vec<String> = restored.chain(self.lost.iter().cloned()).collect();
        names.sort();
        names
    }
}

impl Environment {
    /// Records the deciding variables.
    pub fn record<'a>(
        all: impl Iterator<Item = (&'a str, &'a [u8])>,
        client: Option<ClientProcess>,
    ) -> Environment {
        let mut recorded = Environment { client, ..Environment::default() };
        for (name, value) in all.filter(|(name, _)| decides(name)) {
            match std::str::from_utf8(value) {
                Ok(text) if text.len() <= LONGEST && !may_be_secret(name, text) => {
                    recorded.values.insert(name.to_owned(), text.to_owned());
                }
                _ => drop(recorded.digests.insert(name.to_owned(), sha256(value))),
            }
        }
        recorded
    }

    /// Compares these variables with the recorded ones.
    pub fn difference<'a>(&self, all: impl Iterator<Item = (&'a str, &'a [u8])>) -> Difference {
        let now = Environment::record(all, None);
        let mut found = Difference::default();
        for (name, value) in &self.values {
            if now.values.get(name) != Some(value) {
                found.restore.push((name.clone(), Some(value.clone())));
            }
        }
        for (name, digest) in &self.digests {
            if now.digests.get(name) != Some(digest) {
                found.lost.push(name.clone());
            }
        }
        for name in now.values.keys().chain(now.digests.keys()) {
            if !self.values.contains_key(name) && !self.digests.contains_key(name) {
                found.restore.push((name.clone(), None));
            }
        }
        found
    }
}

/// True for a variable named like a credential, and for an address with a user before its host.
fn may_be_secret(name: &str, value: &str) -> bool {
    let has_user = |rest: &str| rest.split(['/', '?', ' ']).any(|part| part.contains('@'));
    secrets::is_secret(name)
        || secrets::is_clients_secret(name)
        || value.split_once("://").is_some_and(|(_, rest)| has_user(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(all: &[(&str, &str)]) -> Environment {
        let all = all.iter().map(|(name, value)| (*name, value.as_bytes()));
        Environment::record(all, None)
    }

    fn difference(before: &[(&str, &str)], after: &[(&str, &str)]) -> Difference {
        let after = after.iter().map(|(name, value)| (*name, value.as_bytes()));
        record(before).difference(after)
    }

    #[test]
    fn what_chooses_programs_or_tests_decides_and_what_describes_the_session_does_not() {
        for name in [
            "PATH",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "BASH_ENV",
            "BASH_FUNC_grep%%",
            "LD_PRELOAD",
            "npm_config_script_shell",
            "NPM_CONFIG_SCRIPT_SHELL",
            "CARGO_TARGET_X_RUNNER",
            "RUSTFLAGS",
            "RUSTC_WRAPPER",
            "GOFLAGS",
            "PYTEST_ADDOPTS",
            "MAKEFLAGS",
            "JEST_X",
            "VIRTUAL_ENV",
            "MISE_SHELL",
            "TESTFILES",
            "MY_TEST_FILTER",
            "SKIP_SLOW",
            "GIT_DIR",
            "PERL5OPT",
            "_JAVA_OPTIONS",
            "DYLD_INSERT_LIBRARIES",
            "PROMPT_COMMAND",
            "TEST_ONLY",
        ] {
            assert!(decides(name), "{name}");
        }
        for name in [
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDECODE",
            "RALPH_HOME",
            "PWD",
            "OLDPWD",
            "SHLVL",
            "_",
            "TERM",
            "COLUMNS",
            "LANG",
            "USER",
            "DATABASE_URL",
            "ANTHROPIC_API_KEY",
            "TMPDIR",
            "LATEST",
        ] {
            assert!(!decides(name), "{name}");
        }
    }

    #[test]
    fn a_difference_restores_what_was_changed_added_and_removed() {
        let before = [("PATH", "/bin"), ("CI", "1"), ("TERM", "a")];
        let after = [("PATH", "/evil:/bin"), ("NODE_OPTIONS", "-r x"), ("TERM", "b")];
        let found = difference(&before, &after);
        assert_eq!(
            found.restore,
            [
                ("CI".to_owned(), Some("1".to_owned())),
                ("PATH".to_owned(), Some("/bin".to_owned())),
                ("NODE_OPTIONS".to_owned(), None),
            ]
        );
        assert_eq!(found.names(), ["CI", "NODE_OPTIONS", "PATH"]);
        assert_eq!(difference(&before, &before), Difference::default());
    }

    #[test]
    fn no_value_that_may_be_a_secret_is_recorded() {
        let secrets = [
            ("CARGO_REGISTRY_TOKEN", "abcdefgh"),
            ("npm_config__authToken", "abcdefgh"),
            ("PIP_INDEX_URL", "https://u:abcdefgh@host/simple"),
            ("UV_INDEX_X_PASSWORD", "abcdefgh"),
            ("TEST_DB_PASS", "abcdefgh"),
            ("GIT_HTTP_AUTH", "abcdefgh"),
        ];
        let recorded = record(&secrets);
        assert!(recorded.values.is_empty(), "{recorded:?}");
        assert_eq!(recorded.digests.len(), secrets.len());
        let text = serde_json::to_string(&recorded).unwrap();
        assert!(!text.contains("abcdefgh"));
        assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), recorded);
        let found = difference(&secrets[..1], &[("CARGO_REGISTRY_TOKEN", "another")]);
        assert_eq!((found.restore.len(), found.lost), (0, vec!["CARGO_REGISTRY_TOKEN".to_owned()]));
    }

    #[test]
    fn a_value_is_recorded_up_to_its_longest_and_only_if_it_is_text() {
        let bytes: [(&str, &[u8]); 5] = [
            ("PATH", &[b'x'; LONGEST]),
            ("CI", &[b'x'; LONGEST + 1]),
            ("SHELL", b"\xff"),
            ("CC", b"x@y"),
            ("CXX", b"https://host/?x=1"),
        ];
        let recorded = Environment::record(bytes.into_iter(), None);
        let names = |map: &std::collections::BTreeMap<String, String>| {
            map.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(names(&recorded.values), ["CC", "CXX", "PATH"]);
        assert_eq!(names(&recorded.digests), ["CI", "SHELL"]);
        for (value, expected) in [
            ("https://u@host/", true),
            ("https://host/?to=a@b", true),
            ("https://host", false),
            ("u@host", false),
        ] {
            assert_eq!(may_be_secret("PATH", value), expected, "{value}");
        }
        // What was recorded by its digest is not new if it can be read now.
        let found = recorded.difference(
            [("PATH", &b"x"[..]), ("CI", b"1"), ("SHELL", b"\xff"), ("CC", b"x@y")].into_iter(),
        );
        let restored: Vec<&str> = found.restore.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((restored, found.lost), (vec!["CXX", "PATH"], vec!["CI".to_owned()]));
    }
}
