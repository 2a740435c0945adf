//! What a command means is frozen with it: a script, a configuration or a file that takes its place
//! cannot be weakened behind it.
//!
//! Most tools are stand-ins that report the same success whatever happens, so that nothing but the
//! changed meaning can be the reason for a refusal. npm, make, node, Python, sh and prove are real.

use crate::world::{Ran, World};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

const TOKEN: &str = "RALPH_COMPLETE";

/// Tools that are not installed everywhere, or are slow.
const STAND_INS: [&str; 31] = [
    "cargo",
    "jest",
    "vitest",
    "mocha",
    "pytest",
    "tox",
    "nox",
    "just",
    "task",
    "composer",
    "rake",
    "gradle",
    "mvn",
    "go",
    "deno",
    "bun",
    "pnpm",
    "yarn",
    "npx",
    "rspec",
    "phpunit",
    "ctest",
    "hatch",
    "poe",
    "uv",
    "tsc",
    "eslint",
    "ruff",
    "golangci-lint",
    "mypy",
    "python3.99",
];

/// One way to change what a command means.
struct Case {
    /// The criterion's command.
    command: &'static str,
    /// The files at the start; `ok` is honest.
    files: &'static [(&'static str, &'static str)],
    /// Files that are written by the change; an empty text removes the file.
    change: &'static [(&'static str, &'static str)],
    /// What the refusal names.
    named: &'static str,
}

const fn case(
    command: &'static str,
    files: &'static [(&'static str, &'static str)],
    change: &'static [(&'static str, &'static str)],
    named: &'static str,
) -> Case {
    Case { command, files, change, named }
}

const NODE: &[(&str, &str)] = &[
    ("package.json", r#"{"name":"a","scripts":{"test":"node --test","lint":"node lint.js"}}"#),
    ("a.test.js", "const t=require('node:test');t('a',()=>{});t('b',()=>{});t('c',()=>{});\n"),
];
const MAKE: &[(&str, &str)] = &[
    (
        "Makefile",
        "T = sh check.sh\n\n.PHONY: check other\ncheck: prepare\n\t$(T)\n\nprepare:\n\t@test -f check.sh\n\nother:\n\techo other\n",
    ),
    ("check.sh", "# all of it\ngrep -q one tracked\n"),
];
const CARGO: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n",
    ),
    ("src/lib.rs", "pub fn a() {}\n"),
    ("tests/a.rs", "#[test]\nfn a() {}\n"),
];
const WORKSPACE: &[(&str, &str)] = &[
    ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\n"),
    ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
    ("b/Cargo.toml", "[package]\nname = \"b\"\n"),
];
const ALIAS: &[(&str, &str)] = &[
    ("Cargo.toml", "[package]\nname = \"a\"\n"),
    (".cargo/config.toml", "[alias]\nck = \"test --workspace\"\n"),
];
const PYTHON: &[(&str, &str)] = &[(
    "test_a.py",
    "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): pass\n    def test_c(self): pass\n",
)];
const JEST: &[(&str, &str)] = &[
    ("package.json", r#"{"scripts":{"test":"jest"},"jest":{"testMatch":["**/*.test.js"]}}"#),
    ("a.test.js", "test('a', () => {});\n"),
];
const PYTEST: &[(&str, &str)] = &[
    ("tests/test_a.py", "def test_a(): pass\n"),
    (
        "pyproject.toml",
        "[project]\nname = \"a\"\ndependencies = []\n\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n",
    ),
];

const CASES: &[Case] = &[
    // npm, real
    case(
        "npm test",
        NODE,
        &[("package.json", r#"{"name":"a","scripts":{"test":"true"}}"#)],
        "script `test` of package.json",
    ),
    case(
        "npm test",
        NODE,
        &[("package.json", r#"{"name":"a","scripts":{"test":"node --test || true"}}"#)],
        "script `test` of package.json",
    ),
    case(
        "npm test",
        NODE,
        &[(
            "package.json",
            r#"{"name":"a","scripts":{"test":"node --test --test-name-pattern=a"}}"#,
        )],
        "script `test` of package.json",
    ),
    case(
        "npm test",
        NODE,
        &[(
            "package.json",
            r#"{"name":"a","scripts":{"test":"node --test","pretest":"rm -f a.test.js; echo 'require(\"node:test\")(\"a\",()=>{})' > b.test.js"}}"#,
        )],
        "script `pretest` of package.json",
    ),
    case("npm test", NODE, &[(".npmrc", "script-shell=/bin/true\n")], "settings in .npmrc"),
    case(
        "npm test",
        NODE,
        &[(".npmrc", "node-options=--require ./skip.js\n"), ("skip.js", "\n")],
        "settings in .npmrc",
    ),
    case(
        "npm run -s test",
        NODE,
        &[("package.json", r#"{"scripts":{"test":"node -e 0"}}"#)],
        "script `test` of package.json",
    ),
    case(
        "npm t",
        &[
            ("package.json", r#"{"scripts":{"test":"sh scripts/test.sh"}}"#),
            ("scripts/test.sh", "node --test\n"),
            ("a.test.js", "require('node:test')('a',()=>{})\n"),
        ],
        &[("scripts/test.sh", "node --test a.test.js; exit 0\n")],
        "`scripts/test.sh`",
    ),
    case(
        "npm test",
        &[
            ("package.json", r#"{"scripts":{"test":"npm run unit","unit":"node --test"}}"#),
            ("a.test.js", "require('node:test')('a',()=>{})\n"),
        ],
        &[("package.json", r#"{"scripts":{"test":"npm run unit","unit":"echo ok"}}"#)],
        "script `unit` of package.json",
    ),
    case(
        "npm test -w a",
        &[
            ("package.json", r#"{"workspaces":["p/*"]}"#),
            ("p/a/package.json", r#"{"name":"a","scripts":{"test":"node --test"}}"#),
            ("p/a/a.test.js", "require('node:test')('a',()=>{})\n"),
        ],
        &[("p/a/package.json", r#"{"name":"a","scripts":{"test":"echo"}}"#)],
        "script `test` of p/a/package.json",
    ),
    case(
        "cd web && npm test",
        &[
            ("web/package.json", r#"{"scripts":{"test":"node --test"}}"#),
            ("web/a.test.js", "require('node:test')('a',()=>{})\n"),
        ],
        &[("web/package.json", r#"{"scripts":{"test":"echo"}}"#)],
        "script `test` of web/package.json",
    ),
    // make, real
    case("make check", MAKE, &[("Makefile", "check:\n\t@true\n")], "target `check` of Makefile"),
    case("make -s check", MAKE, &[("check.sh", "exit 0\n")], "`check.sh`"),
    case(
        "make check",
        MAKE,
        &[("GNUmakefile", "check:\n\t@true\n")],
        "target `check` of GNUmakefile",
    ),
    case("make check", MAKE, &[("makefile", "check:\n\t@true\n")], "target `check` of makefile"),
    case(
        "make check",
        MAKE,
        &[(
            "Makefile",
            "T = true\n\n.PHONY: check other\ncheck: prepare\n\t$(T)\n\nprepare:\n\t@test -f check.sh\n",
        )],
        "target `check` of Makefile",
    ),
    case(
        "make check",
        MAKE,
        &[(
            "Makefile",
            "SHELL = /bin/true\nT = sh check.sh\n\n.PHONY: check\ncheck: prepare\n\t$(T)\n\nprepare:\n\t@test -f check.sh\n",
        )],
        "settings of Makefile",
    ),
    case(
        "make check",
        MAKE,
        &[(
            "Makefile",
            ".IGNORE:\nT = sh check.sh\n\n.PHONY: check\ncheck: prepare\n\t$(T)\n\nprepare:\n\t@test -f check.sh\n",
        )],
        "settings of Makefile",
    ),
    case(
        "make check",
        MAKE,
        &[(
            "Makefile",
            "T = sh check.sh\n\n.PHONY: check\ncheck: prepare\n\t-$(T)\n\nprepare:\n\t@test -f check.sh\n",
        )],
        "target `check` of Makefile",
    ),
    case(
        "make check",
        &[("Makefile", "check:\n\tgrep -q one tracked\n")],
        &[("check", "x")],
        "file `check`",
    ),
    case(
        "make -C sub",
        &[
            ("sub/Makefile", "include more.mk\n"),
            ("sub/more.mk", "all:\n\tgrep -q one ../tracked\n"),
        ],
        &[("sub/more.mk", "all:\n\t@:\n")],
        "target `all` of sub/more.mk",
    ),
    case(
        "make check",
        MAKE,
        &[(
            "Makefile",
            "export PATH := $(PWD)/b:$(PATH)\nT = sh check.sh\n\n.PHONY: check\ncheck: prepare\n\t$(T)\n\nprepare:\n\t@test -f check.sh\n",
        )],
        "settings of Makefile",
    ),
    // Python, real
    case("python3 -m unittest", PYTHON, &[("unittest.py", "\n")], "`unittest.py`"),
    case(
        "python3 -m unittest",
        PYTHON,
        &[("unittest/__init__.py", "print()\n"), ("unittest/__main__.py", "\n")],
        "`unittest`",
    ),
    case(
        "python3 -m unittest",
        PYTHON,
        &[("argparse.py", "import sys; sys.exit(0)\n")],
        "`argparse.py`",
    ),
    case("python3 -m unittest", PYTHON, &[("sitecustomize.py", "\n")], "`sitecustomize.py`"),
    // sh and prove, real
    case(
        "sh run.sh",
        &[("run.sh", "prove t\n"), ("t/a.t", "print \"1..3\\nok 1\\nok 2\\nok 3\\n\"")],
        &[("run.sh", "prove t/a.t || exit 0\n")],
        "`run.sh`",
    ),
    case(
        "sh run.sh",
        &[("run.sh", "grep -q one tracked\n")],
        &[("run.sh", "exit 0\ngrep -q one tracked\n")],
        "`run.sh`",
    ),
    case(
        "prove t",
        &[("t/a.t", "print \"1..1\\nok 1\\n\"")],
        &[(".proverc", "--exec 'printf 1..1\\nok'\n")],
        "configuration in .proverc",
    ),
    // cargo
    case(
        "cargo test",
        CARGO,
        &[("Cargo.toml", "[package]\nname = \"a\"\nedition = \"2021\"\nautotests = false\n")],
        "`autotests` of Cargo.toml",
    ),
    case(
        "cargo test",
        CARGO,
        &[("Cargo.toml", "[package]\nname = \"a\"\n\n[[test]]\nname = \"a\"\nharness = false\n")],
        "`[[test]]` `a` of Cargo.toml",
    ),
    case(
        "cargo test",
        CARGO,
        &[("Cargo.toml", "[package]\nname = \"a\"\n\n[lib]\ntest = false\n")],
        "`[lib]` of Cargo.toml",
    ),
    case(
        "cargo test",
        CARGO,
        &[("Cargo.toml", "[package]\nname = \"a\"\n\n[lib]\ndoctest = false\n")],
        "`[lib]` of Cargo.toml",
    ),
    case(
        "cargo test",
        CARGO,
        &[("Cargo.toml", "[package]\nname = \"a\"\n\n[profile.test]\ndebug-assertions = false\n")],
        "`[profile]` of Cargo.toml",
    ),
    case(
        "cargo test",
        CARGO,
        &[(".cargo/config.toml", "[target.x86_64-unknown-linux-gnu]\nrunner = \"true\"\n")],
        "settings in .cargo/config.toml",
    ),
    case(
        "cargo test",
        CARGO,
        &[(".cargo/config.toml", "[build]\nrustc-wrapper = \"./w\"\n")],
        "settings in .cargo/config.toml",
    ),
    case(
        "cargo test",
        CARGO,
        &[(".cargo/config", "[env]\nRUST_TEST_THREADS = \"1\"\n")],
        "settings in .cargo/config",
    ),
    case(
        "cargo test",
        CARGO,
        &[("rust-toolchain.toml", "[toolchain]\npath = \"fake\"\n")],
        "toolchain in rust-toolchain.toml",
    ),
    case(
        "cargo test --workspace",
        WORKSPACE,
        &[("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n")],
        "member `b` of Cargo.toml",
    ),
    case(
        "cargo test",
        WORKSPACE,
        &[("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\ndefault-members = [\"a\"]\n")],
        "`default-members` of Cargo.toml",
    ),
    case(
        "cargo test",
        WORKSPACE,
        &[("b/Cargo.toml", "[package]\nname = \"b\"\nautotests = false\n")],
        "`autotests` of b/Cargo.toml",
    ),
    case(
        "cargo ck",
        ALIAS,
        &[(".cargo/config.toml", "[alias]\nck = \"build\"\n")],
        "alias `ck` of .cargo/config.toml",
    ),
    case(
        "cargo clippy -- -D warnings",
        CARGO,
        &[("Cargo.toml", "[package]\nname = \"a\"\n\n[lints.clippy]\nall = \"allow\"\n")],
        "`[lints]` of Cargo.toml",
    ),
    // Node's other tools
    case(
        "npx jest",
        JEST,
        &[("package.json", r#"{"scripts":{"test":"jest"},"jest":{"testMatch":["**/a.test.js"]}}"#)],
        "`jest` of package.json",
    ),
    case(
        "npx jest",
        JEST,
        &[("jest.config.js", "module.exports = { passWithNoTests: true, testRegex: 'x' }\n")],
        "configuration in jest.config.js",
    ),
    case(
        "pnpm test",
        JEST,
        &[(
            "package.json",
            r#"{"scripts":{"test":"jest -t a"},"jest":{"testMatch":["**/*.test.js"]}}"#,
        )],
        "script `test` of package.json",
    ),
    case(
        "yarn test",
        JEST,
        &[(".yarnrc.yml", "yarnPath: ./fake.cjs\n")],
        "settings in .yarnrc.yml",
    ),
    case("bun run test", JEST, &[("bunfig.toml", "preload = [\"./x.js\"]\n")], "bunfig.toml"),
    case(
        "npx vitest run",
        &[("vite.config.ts", "export default { plugins: [], test: { include: ['a'] } }\n")],
        &[("vite.config.ts", "export default { plugins: [], test: { include: ['b'] } }\n")],
        "configuration in vite.config.ts",
    ),
    case(
        "npx mocha",
        &[("test/a.js", "\n")],
        &[(".mocharc.json", r#"{"spec":["test/a.js"],"grep":"x"}"#)],
        "configuration in .mocharc.json",
    ),
    case(
        "npx tsc --noEmit",
        &[("tsconfig.json", r#"{"compilerOptions":{"strict":true},"include":["src"]}"#)],
        &[("tsconfig.json", r#"{"compilerOptions":{"strict":false},"include":["src"]}"#)],
        "configuration in tsconfig.json",
    ),
    case(
        "npx eslint .",
        &[("eslint.config.js", "export default [{ rules: { a: 2 } }]\n")],
        &[("eslint.config.js", "export default [{ rules: {} }]\n")],
        "configuration in eslint.config.js",
    ),
    case(
        "deno task test",
        &[("deno.json", r#"{"tasks":{"test":"deno test"}}"#)],
        &[("deno.json", r#"{"tasks":{"test":"true"}}"#)],
        "configuration in deno.json",
    ),
    // Python's other tools
    case(
        "pytest",
        PYTEST,
        &[("pytest.ini", "[pytest]\naddopts = -k a\n")],
        "`[pytest]` of pytest.ini",
    ),
    case(
        "pytest",
        PYTEST,
        &[(
            "pyproject.toml",
            "[project]\nname = \"a\"\n\n[tool.pytest.ini_options]\ntestpaths = [\"tests/none\"]\n",
        )],
        "`[tool.pytest]` of pyproject.toml",
    ),
    case(
        "pytest",
        PYTEST,
        &[("conftest.py", "def pytest_collection_modifyitems(items):\n    items[:] = items[:1]\n")],
        "hooks in conftest.py",
    ),
    case(
        "pytest",
        PYTEST,
        &[("tests/conftest.py", "collect_ignore = ['test_a.py']\n")],
        "hooks in tests/conftest.py",
    ),
    case(
        "python3.99 -m pytest",
        PYTEST,
        &[("pytest.py", "print('3 passed in 0.01s')\n")],
        "`pytest.py`",
    ),
    case(
        "tox -e py",
        &[("tox.ini", "[tox]\nenvlist = py\n\n[testenv]\ndeps = pytest\ncommands = pytest\n")],
        &[("tox.ini", "[tox]\nenvlist = py\n\n[testenv]\ndeps = pytest\ncommands = python -V\n")],
        "`[testenv]` of tox.ini",
    ),
    case(
        "nox -s tests",
        &[(
            "noxfile.py",
            "import nox\n\n@nox.session\ndef tests(session):\n    session.run('pytest')\n",
        )],
        &[("noxfile.py", "import nox\n\n@nox.session\ndef tests(session):\n    pass\n")],
        "`tests` of noxfile.py",
    ),
    case(
        "hatch run check",
        &[("pyproject.toml", "[tool.hatch.envs.default.scripts]\ncheck = \"pytest\"\n")],
        &[("pyproject.toml", "[tool.hatch.envs.default.scripts]\ncheck = \"true\"\n")],
        "task `check` of pyproject.toml",
    ),
    case(
        "poe test",
        &[("pyproject.toml", "[tool.poe.tasks]\ntest = \"pytest\"\n")],
        &[("pyproject.toml", "[tool.poe.tasks]\ntest = \"python -V\"\n")],
        "task `test` of pyproject.toml",
    ),
    case(
        "uv run pytest",
        PYTEST,
        &[("pytest.ini", "[pytest]\npython_files = x.py\n")],
        "`[pytest]` of pytest.ini",
    ),
    case(
        "ruff check",
        &[("ruff.toml", "[lint]\nselect = [\"ALL\"]\n")],
        &[("ruff.toml", "[lint]\nselect = []\n")],
        "configuration in ruff.toml",
    ),
    case(
        "mypy .",
        &[("mypy.ini", "[mypy]\nstrict = True\n")],
        &[("mypy.ini", "[mypy]\nignore_errors = True\n")],
        "`[mypy]` of mypy.ini",
    ),
    // Others
    case(
        "just check",
        &[("justfile", "check: build\n    pytest\n\nbuild:\n    echo build\n")],
        &[("justfile", "check: build\n    -pytest\n\nbuild:\n    echo build\n")],
        "recipe `check` of justfile",
    ),
    case(
        "just check",
        &[("justfile", "check:\n    pytest\n")],
        &[("justfile", "set shell := [\"true\"]\n\ncheck:\n    pytest\n")],
        "settings of justfile",
    ),
    case(
        "task test",
        &[(
            "Taskfile.yml",
            "version: '3'\ntasks:\n  test:\n    cmds:\n      - go test ./...\n  other:\n    cmds: [echo]\n",
        )],
        &[(
            "Taskfile.yml",
            "version: '3'\ntasks:\n  test:\n    ignore_error: true\n    cmds:\n      - go test ./...\n",
        )],
        "task `test` of Taskfile.yml",
    ),
    case(
        "composer test",
        &[("composer.json", r#"{"scripts":{"test":["@unit"],"unit":"phpunit"}}"#)],
        &[("composer.json", r#"{"scripts":{"test":["@unit"],"unit":"php -v"}}"#)],
        "script `unit` of composer.json",
    ),
    case(
        "rake test",
        &[("Rakefile", "task :test do\n  sh \"rspec\"\nend\n\ntask :other do\nend\n")],
        &[("Rakefile", "task :test do\nend\n")],
        "task `test` of Rakefile",
    ),
    case(
        "gradle test",
        &[("build.gradle", "plugins { id 'java' }\n\ntest {\n  useJUnitPlatform()\n}\n")],
        &[(
            "build.gradle",
            "plugins { id 'java' }\n\ntest {\n  useJUnitPlatform()\n  ignoreFailures = true\n}\n",
        )],
        "tests in build.gradle",
    ),
    case(
        "mvn test",
        &[("pom.xml", "<project><build><plugins/></build></project>\n")],
        &[(
            "pom.xml",
            "<project><properties><skipTests>true</skipTests></properties><build><plugins/></build></project>\n",
        )],
        "build in pom.xml",
    ),
    case(
        "mvn test",
        &[("pom.xml", "<project/>\n")],
        &[(".mvn/maven.config", "-DskipTests\n")],
        "settings in .mvn/maven.config",
    ),
    case(
        "go test ./...",
        &[("go.mod", "module a\n"), ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {}\n")],
        &[("b_test.go", "package a\n\nfunc TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n")],
        "`TestMain` in b_test.go",
    ),
    case(
        "rspec",
        &[("spec/a_spec.rb", "\n")],
        &[(".rspec", "--tag only\n")],
        "configuration in .rspec",
    ),
    case(
        "phpunit",
        &[("phpunit.xml", "<phpunit><testsuite>a</testsuite></phpunit>\n")],
        &[("phpunit.xml", "<phpunit/>\n")],
        "configuration in phpunit.xml",
    ),
    case(
        "ctest",
        &[("CMakeLists.txt", "enable_testing()\nadd_test(a a)\nadd_test(b b)\n")],
        &[("CMakeLists.txt", "enable_testing()\nadd_test(a a)\n")],
        "tests in CMakeLists.txt",
    ),
    case(
        "golangci-lint run",
        &[(".golangci.yml", "linters:\n  enable-all: true\n")],
        &[(".golangci.yml", "linters:\n  disable-all: true\n")],
        "configuration in .golangci.yml",
    ),
];

/// Everyday work on these projects: what is written, and by what criterion.
const HONEST: &[Case] = &[
    case(
        "npm test",
        NODE,
        &[(
            "package.json",
            r#"{"name":"a","version":"2.0.0","scripts":{"lint":"x","test":"node  --test","build":"tsc"},"dependencies":{"left-pad":"1"}}"#,
        )],
        "",
    ),
    case(
        "npm test",
        NODE,
        &[("b.test.js", "require('node:test')('d',()=>{})\n"), (".npmrc", "save-exact=true\n")],
        "",
    ),
    case(
        "npm test",
        NODE,
        &[(
            "a.test.js",
            "const t=require('node:test');t('a',()=>{});t('b',()=>{});t('x',()=>{});t('c',()=>{});\n",
        )],
        "",
    ),
    case(
        "npm test",
        &[("tracked2", "\n")],
        &[
            ("package.json", r#"{"scripts":{"test":"node --test"}}"#),
            ("a.test.js", "require('node:test')('a',()=>{})\n"),
        ],
        "",
    ),
    case(
        "make check",
        MAKE,
        &[(
            "Makefile",
            "# all checks\nT = sh check.sh\n\n.PHONY: check other docs\ncheck: prepare\n\t$(T)\n\nprepare:\n\t@test -f check.sh\n\nother:\n\techo changed\n\ndocs:\n\techo docs\n",
        )],
        "",
    ),
    case(
        "make check",
        MAKE,
        &[("check.sh", "# all of it, and with a comment\n\n  grep -q   one tracked\n")],
        "",
    ),
    case(
        "python3 -m unittest",
        PYTHON,
        &[
            (
                "test_b.py",
                "import unittest\nclass B(unittest.TestCase):\n    def test_a(self): pass\n",
            ),
            ("app.py", "x = 1\n"),
        ],
        "",
    ),
    case(
        "cargo test",
        CARGO,
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\nversion = \"0.2.0\"\nedition = \"2024\"\n\n[dependencies]\nserde = \"1\"\n\n[[bin]]\nname = \"a\"\npath = \"src/main.rs\"\n",
            ),
            ("tests/b.rs", "#[test]\nfn b() {}\n"),
        ],
        "",
    ),
    case(
        "cargo test",
        WORKSPACE,
        &[
            ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\", \"c\"]\n"),
            ("c/Cargo.toml", "[package]\nname = \"c\"\n"),
        ],
        "",
    ),
    case(
        "cargo ck",
        ALIAS,
        &[(
            ".cargo/config.toml",
            "[alias]\nck = \"test  --workspace\"\nother = \"build\"\n\n[net]\nretry = 3\n",
        )],
        "",
    ),
    case(
        "npx jest",
        JEST,
        &[(
            "package.json",
            r#"{"jest":{"verbose":true,"testMatch":["**/*.test.js"]},"scripts":{"test":"jest"},"devDependencies":{"jest":"29"}}"#,
        )],
        "",
    ),
    case(
        "pytest",
        PYTEST,
        &[
            (
                "pyproject.toml",
                "[project]\nname = \"a\"\ndependencies = [\"requests\"]\n\n[tool.black]\nline-length = 99\n\n[tool.pytest.ini_options]\ntestpaths = ['tests']\nlog_cli = true\n",
            ),
            ("tests/conftest.py", "import pytest\n\n@pytest.fixture\ndef one():\n    return 1\n"),
        ],
        "",
    ),
    case(
        "tox -e py",
        &[("tox.ini", "[tox]\nenvlist = py\n\n[testenv]\ndeps = pytest\ncommands = pytest\n")],
        &[(
            "tox.ini",
            "[tox]\nenvlist = py\n\n[testenv]\ndeps =\n    pytest\n    requests\ncommands =  pytest\n\n[testenv:docs]\ncommands = sphinx-build\n",
        )],
        "",
    ),
    case(
        "just check",
        &[("justfile", "check:\n    pytest\n")],
        &[("justfile", "# checks\ncheck:\n  pytest\n\ndocs:\n  mkdocs\n")],
        "",
    ),
    case(
        "task test",
        &[("Taskfile.yml", "version: '3'\ntasks:\n  test:\n    cmds:\n      - go test ./...\n")],
        &[(
            "Taskfile.yml",
            "version: '3'\ntasks:\n  lint:\n    cmds: [x]\n  test:\n    cmds:\n      - go test ./...\n",
        )],
        "",
    ),
    case(
        "gradle test",
        &[("build.gradle", "dependencies {\n}\ntest {\n  useJUnitPlatform()\n}\n")],
        &[(
            "build.gradle",
            "dependencies {\n  implementation 'a:b:1'\n}\n\ntest {\n    useJUnitPlatform()\n}\n",
        )],
        "",
    ),
    case(
        "mvn test",
        &[(
            "pom.xml",
            "<project><dependencies></dependencies><build><plugins/></build></project>\n",
        )],
        &[(
            "pom.xml",
            "<project>\n<dependencies><dependency>x</dependency></dependencies><build><plugins/></build></project>\n",
        )],
        "",
    ),
    case(
        "go test ./...",
        &[("go.mod", "module a\n"), ("a_test.go", "package a\n")],
        &[
            ("go.mod", "module a\n\nrequire x v1.0.0\n"),
            (
                "b_test.go",
                "package a\n\nfunc TestMain(m *testing.M) {\n\tsetup()\n\tos.Exit(m.Run())\n}\n",
            ),
        ],
        "",
    ),
    case(
        "npx vitest run",
        &[("vite.config.ts", "export default { plugins: [], test: { include: ['a'] } }\n")],
        &[(
            "vite.config.ts",
            "export default {\n  plugins: [react()],\n  test: { include: [\"a\"], },\n};\n",
        )],
        "",
    ),
    case(
        "sh greet.sh | grep -q hello",
        &[("greet.sh", "echo hello\n")],
        &[("greet.sh", "name=$1\necho \"hello $name\" | tr -d x\n")],
        "",
    ),
    case(
        "npx tsc --noEmit",
        &[("tsconfig.json", r#"{"compilerOptions":{"strict":true}}"#)],
        &[("tsconfig.json", "{\"compilerOptions\": {\"paths\": {}, \"strict\": true}}\n")],
        "",
    ),
];

fn write(world: &World, files: &[(&str, &str)]) {
    for (path, text) in files {
        match text.is_empty() {
            true => fs::remove_file(world.project().join(path)).unwrap(),
            false => world.write(path, text),
        }
    }
}

fn program(world: &mut World, name: &str, script: &str) {
    let folder = world.root().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let rest = world.env["PATH"].clone();
    let first = format!("{}:", folder.display());
    if !rest.starts_with(&first) {
        world.set("PATH", &(first + &rest));
    }
}

/// The stand-ins, made once for all worlds.
fn stand_ins() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let script = "#!/bin/sh\necho '3 passed in 0.01s'\n";
        for name in STAND_INS {
            let path = folder.path().join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    });
    folder.path()
}

/// A loop with one criterion in a project of these files.
fn looping(case: &Case) -> World {
    let mut world = World::without_repository();
    let path = format!("{}:{}", stand_ins().display(), world.env["PATH"]);
    world.set("PATH", &path);
    world.write("tracked", "one\n");
    write(&world, case.files);
    world.start(&format!("--ac \"it={}\"", case.command));
    world
}

fn refusal(ran: Ran, what: &str) -> String {
    assert_eq!(ran.json()["hookSpecificOutput"]["hookEventName"], "Stop", "{what}: {ran:?}");
    ran.context()
}

/// Runs all cases, several at a time; each panic names its case.
fn each(cases: &[Case], run: impl Fn(&Case) + Sync) {
    let next = Mutex::new(cases.iter());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { return };
                    run(case);
                }
            });
        }
    });
}

fn label(case: &Case) -> String {
    format!("`{}` after {:?}", case.command, case.change)
}

#[test]
fn a_change_of_what_a_command_means_proves_nothing() {
    assert!(CASES.len() >= 70, "{}", CASES.len());
    each(CASES, |case| {
        let what = label(case);
        let world = looping(case);
        write(&world, case.change);
        let reason = refusal(world.stop(TOKEN), &what);
        assert!(reason.contains(case.named), "{what}: {reason}");
        assert!(world.archived().is_empty(), "{what}");
        let changed = world.state()["acceptance_criteria"][0]["meaning_changed"].to_string();
        assert!(changed.contains(case.named), "{what}: {changed}");
    });
}

#[test]
fn honest_work_is_never_called_proving_less() {
    assert!(HONEST.len() >= 20, "{}", HONEST.len());
    each(HONEST, |case| {
        let what = label(case);
        let world = looping(case);
        write(&world, case.change);
        let said = world.stop(TOKEN);
        assert!(said.out().contains("Ralph: done. "), "{what}: {said:?}");
    });
}

#[test]
fn the_same_commands_are_proven_while_nothing_changes() {
    let mut commands: Vec<(&str, &Case)> = CASES.iter().map(|case| (case.command, case)).collect();
    commands.sort_by_key(|(command, _)| *command);
    commands.dedup_by_key(|(command, _)| *command);
    let once: Vec<Case> = commands
        .iter()
        .map(|(_, one)| Case { command: one.command, files: one.files, change: &[], named: "" })
        .collect();
    each(&once, |case| {
        let world = looping(case);
        world.write("work", "done\n");
        let said = world.stop(TOKEN);
        assert!(said.out().contains("Ralph: done. "), "{}: {said:?}", case.command);
    });
}

/// Every runner of the table: its command, and what it prints when all is well, when a test fails,
/// and when tests are skipped.
const RUNNERS: &[(&str, &str, &str, &str)] = &[
    ("cargo test", "cargo-test/pass", "cargo-test/fail", "tests/a.rs"),
    ("cargo nextest run", "cargo-nextest/pass", "cargo-nextest/fail", "tests/a.rs"),
    ("pytest", "pytest/pass", "pytest/fail", "tests/test_a.py"),
    ("python3 -m unittest", "unittest/pass", "unittest/fail", "test_a.py"),
    ("jest", "jest/pass", "jest/fail", "src/a.test.js"),
    ("vitest run", "vitest/pass", "vitest/fail", "src/a.spec.ts"),
    ("mocha", "mocha/pass", "mocha/fail", "test/a.js"),
    ("node --test", "node/pass-spec", "node/fail-spec", "a.test.mjs"),
    ("bun test", "bun/pass", "bun/fail", "a.test.ts"),
    ("deno test", "deno/pass", "deno/fail", "a_test.ts"),
    ("go test ./...", "go/pass", "go/fail", "a/a_test.go"),
    ("rspec", "rspec/pass", "rspec/fail", "spec/a_spec.rb"),
    ("phpunit", "phpunit/pass", "phpunit/fail", "tests/ATest.php"),
    ("mvn test", "maven/pass", "maven/fail", "src/test/java/A.java"),
    ("gradle test", "gradle/pass", "gradle/fail", "src/test/java/A.java"),
    ("ctest", "ctest/pass", "ctest/fail", "tests/a.test.ts"),
    ("bats test", "bats/pass-pretty", "bats/fail-pretty", "test/a.bats"),
    ("swift test", "swift/pass-testing", "swift/fail-testing", "Tests/A.swift"),
    ("dotnet test", "dotnet/pass", "dotnet/fail", "A.Tests/ATests.cs"),
    ("rails test", "minitest/pass", "minitest/fail", "test/a_test.rb"),
];

fn recording(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/runners");
    fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap()
}

/// A loop whose runner prints what stands in `says`, which is no part of the project.
fn with_runner(command: &str, test: &str) -> World {
    let mut world = World::new();
    let says = world.root().join("says");
    let name = command.split(' ').next().unwrap();
    program(&mut world, name, &format!("cat '{}'", says.display()));
    world.write(test, "a\n");
    world.write(&format!("{}b_{}", parent(test), leaf(test)), "b\n");
    world.start(&format!("--ac \"it={command}\""));
    world
}

fn parent(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"))
}

fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

fn says(world: &World, text: &str) {
    fs::write(world.root().join("says"), text).unwrap();
    world.write("work", text);
}

fn state_of(world: &World) -> String {
    let told: serde_json::Value =
        serde_json::from_str(&world.ralph(&["status", "--json"]).text).unwrap();
    told["loops"][0]["criteria"][0]["state"].as_str().unwrap().to_owned()
}

#[test]
fn neither_silence_nor_a_hidden_failure_is_proof_for_any_runner() {
    let next = Mutex::new(RUNNERS.iter());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(runner) = next.lock().unwrap().next() else { return };
                    let (command, pass, fail, test) = *runner;
                    let world = with_runner(command, test);
                    says(&world, "");
                    let reason = refusal(world.stop(TOKEN), command);
                    assert!(reason.contains("reported no tests"), "{command}: {reason}");
                    assert_eq!(state_of(&world), "vacuous", "{command}");
                    says(&world, &recording(fail));
                    let reason = refusal(world.stop(TOKEN), command);
                    assert!(reason.contains("summary reports failures"), "{command}: {reason}");
                    assert_eq!(state_of(&world), "proves_less", "{command}");
                    for silent in ["", "all good\n", "ok\n"] {
                        says(&world, silent);
                        let reason = refusal(world.stop(TOKEN), command);
                        assert!(reason.contains("reported no tests"), "{command}: {reason}");
                        assert_eq!(state_of(&world), "fewer_tests", "{command}");
                        world.edit_state(|state| state["progress"] = json!({}));
                    }
                    let taken = world.elsewhere(&["criteria", "accept"]);
                    assert!(taken.text.contains("no count of the tests"), "{}", taken.text);
                    says(&world, &recording(pass));
                    let said = world.stop(TOKEN);
                    assert!(said.out().contains("Ralph: done. "), "{command}: {said:?}");
                }
            });
        }
    });
}

/// The one open criterion in the refusal, in the status (as text and as JSON) and at the end.
fn told_everywhere(world: &World, state: &str, why: &str) {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = world.step(&world.stop(TOKEN));
    assert!(reason.contains("Completion was requested and is refused"), "{reason}");
    assert!(reason.contains(&format!("- AC-1 {why}")), "{why} in the refusal: {reason}");
    assert!(!reason.contains("- AC-2"), "{reason}");
    assert_eq!(state_of(world), state);
    let told = one_line(&world.elsewhere(&["status"]).text);
    let word = state.replace('_', " ");
    assert!(told.contains(&word) && told.contains(why), "{why} in the status: {told}");
    let said = world.stop(TOKEN).message();
    assert!(said.contains("Ralph: stopped at the limit of 1 iteration, after 2 turns"), "{said}");
    let holding = format!("1 of 2 criteria hold: AC-1 {why}");
    assert!(said.contains(&holding), "{why} at the end: {said}");
    assert_eq!(world.archived()[0]["acceptance_criteria"][0]["verified"], false);
}

#[test]
fn fewer_tests_and_another_meaning_alone_are_named_in_the_refusal_the_status_and_the_ending() {
    const TAKE: &str = "or ask the user to accept it with `ralph criteria accept`";
    let flags = "--max-iterations 1 --ac \"it=npm test\" --ac \"one=grep -q one tracked\"";
    let begun = |says: &str| {
        let mut world = World::new();
        program(&mut world, "jest", "cat \"$SAYS\"");
        let place = world.root().join("says");
        world.set("SAYS", place.to_str().unwrap());
        fs::write(&place, says).unwrap();
        write(&world, JEST);
        world.start(flags);
        assert!(world.ralph(&["verify"]).success);
        world
    };
    let now_says = |world: &World, says: &str| {
        fs::write(world.root().join("says"), says).unwrap();
        world.write("change", says);
    };
    let three = "Tests:       3 passed, 3 total\n";

    let world = begun(three);
    now_says(&world, "Tests:       2 passed, 2 total\n");
    let why = format!("ran 2 tests, and 3 at the start; bring the others back, {TAKE}");
    told_everywhere(&world, "fewer_tests", &why);

    let world = begun(three);
    now_says(&world, "");
    let why = format!("reported no tests, and 3 at the start; bring the others back, {TAKE}");
    told_everywhere(&world, "fewer_tests", &why);

    let world = begun(three);
    now_says(&world, "Tests:       1 failed, 3 passed, 4 total\n");
    let why = format!(
        "exited with 0 although its own summary reports failures (1); make the command fail with them, {TAKE}"
    );
    told_everywhere(&world, "proves_less", &why);

    let world = begun(three);
    world.write(
        "package.json",
        r#"{"scripts":{"test":"jest --bail"},"jest":{"testMatch":["**/*.test.js"]}}"#,
    );
    let why = format!(
        "passed and may prove less than at the start: script `test` of package.json changed; undo that, {TAKE}"
    );
    told_everywhere(&world, "proves_less", &why);
}

#[test]
fn a_deleted_or_skipped_test_is_named_for_every_runner() {
    let next = Mutex::new(RUNNERS.iter());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(runner) = next.lock().unwrap().next() else { return };
                    let (command, pass, _, test) = *runner;
                    let world = with_runner(command, test);
                    fs::write(world.root().join("says"), recording(pass)).unwrap();
                    fs::remove_file(world.project().join(test)).unwrap();
                    let said = world.stop(TOKEN).out();
                    assert!(said.contains("Ralph: done. "), "{command}: {said}");
                    assert!(said.contains(test), "{command} does not name {test}: {said}");
                }
            });
        }
    });
    let world = with_runner("pytest", "tests/test_a.py");
    says(&world, "3 passed, 1 skipped in 0.01s\n");
    assert!(world.ralph(&["verify"]).success);
    says(&world, "3 passed, 4 skipped in 0.01s\n");
    let said = world.stop(TOKEN).out();
    assert!(said.contains("AC-1 skips 4 tests, and 1 at the start"), "{said}");
}

#[test]
fn a_changed_meaning_is_found_after_counted_runs_and_a_baseline_too() {
    for baseline in [false, true] {
        let mut world = World::new();
        program(&mut world, "jest", "echo 'Tests:       3 passed, 3 total'");
        write(&world, JEST);
        let flag = if baseline { "--baseline" } else { "" };
        world.start(&format!("--ac \"it=npm test\" {flag}"));
        assert!(world.ralph(&["verify"]).success);
        world.write("package.json", r#"{"scripts":{"test":"true"}}"#);
        let reason = refusal(world.stop(TOKEN), "npm test");
        assert!(reason.contains("script `test` of package.json changed"), "{reason}");
        assert_eq!(state_of(&world), "proves_less");
        // It is undone: everything is as it was agreed to.
        write(&world, JEST);
        assert!(world.ralph(&["verify"]).success);
    }
}

#[test]
fn a_setting_that_git_ignores_and_that_is_gone_after_the_run_proves_nothing() {
    let mut world = World::new();
    program(&mut world, "jest", "exit 1");
    write(&world, JEST);
    world.write(".gitignore", ".npmrc\n");
    world.start("--ac \"it=npm test\"");
    world.write(".npmrc", "script-shell=/bin/true\n");
    world.ralph(&["verify"]);
    fs::remove_file(world.project().join(".npmrc")).unwrap();
    let reason = refusal(world.stop(TOKEN), "npm test");
    assert!(reason.contains("0 of 1 criterion proven; next: fix AC-1"), "{reason}");
}

#[test]
fn only_a_person_takes_another_meaning_and_it_is_shown_what() {
    let mut world = World::new();
    program(&mut world, "jest", "echo 'Tests:       3 passed, 3 total'");
    write(&world, JEST);
    world.start("--ac \"it=npm test\"");
    world.write(
        "package.json",
        r#"{"scripts":{"test":"jest --bail"},"jest":{"testMatch":["**/*.test.js"]}}"#,
    );
    refusal(world.stop(TOKEN), "npm test");
    let named = "script `test` of package.json changed";
    for args in [&["status"][..], &["status", "--json"], &["verify"]] {
        let told = world.ralph(args).text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            told.contains(named) && told.replace('_', " ").contains("proves less"),
            "{args:?}: {told}"
        );
    }
    let denied = world.tool("Bash", json!({"command": "ralph criteria accept"}));
    assert!(denied.out().contains("deny"), "{denied:?}");
    let taken = world.elsewhere(&["criteria", "accept"]);
    assert!(
        taken.text.contains("for AC-1: script `test` of package.json changed"),
        "{}",
        taken.text
    );
    world.stop(TOKEN).ends("Ralph: done. ");
}
