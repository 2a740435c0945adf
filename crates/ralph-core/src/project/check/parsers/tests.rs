//! `tests/fixtures/checks/README.md` lists the recordings and where they come from.
#![allow(clippy::disallowed_methods)]

use super::*;
use std::path::{Path, PathBuf};

/// Each recording, its format and exit code, and the expected findings.
const RECORDINGS: &[(&str, OutputFormat, i32, &[&str])] = &[
    (
        "eslint/findings",
        OutputFormat::Eslint,
        1,
        &[
            "warning /project/es/src/a.js:2:9 <no-unused-vars> 'unused' is assigned a value but never used.",
            "error /project/es/src/a.js:3:9 <eqeqeq> Expected '===' and instead saw '=='.",
            "error /project/es/src/a.js:3:24 <no-undef> 'undefinedThing' is not defined.",
        ],
    ),
    (
        "eslint/parse-error",
        OutputFormat::Eslint,
        1,
        &["error /project/es/src/broken.js:1:18 <parse> Parsing error: Unexpected token ;"],
    ),
    ("eslint/clean", OutputFormat::Eslint, 0, &[]),
    ("eslint/ignored", OutputFormat::Eslint, 0, &[]),
    (
        "eslint/not-configured",
        OutputFormat::Eslint,
        2,
        &["did not run: ESLint couldn't find an eslint.config.* file."],
    ),
    ("eslint/crashed", OutputFormat::Eslint, 2, &["did not run: Error: no such plugin here"]),
    (
        "eslint/no-such-file",
        OutputFormat::Eslint,
        2,
        &["did not run: No files matching the pattern \"src/nothing.js\" were found."],
    ),
    (
        "ruff/findings",
        OutputFormat::Ruff,
        1,
        &[
            "error /project/py/a.py:1:1 <I001> Import block is un-sorted or un-formatted",
            "error /project/py/a.py:1:8 <F401> `os` imported but unused",
            "error /project/py/a.py:5:16 <F821> Undefined name `undefined_name`",
        ],
    ),
    (
        "ruff/syntax",
        OutputFormat::Ruff,
        1,
        &[
            "error /project/py/broken.py:1:7 <invalid-syntax> Expected a parameter or the end of the parameter list",
            "error /project/py/broken.py:1:8 <invalid-syntax> Expected `)`, found newline",
        ],
    ),
    ("ruff/clean", OutputFormat::Ruff, 0, &[]),
    (
        "ruff/bad-config",
        OutputFormat::Ruff,
        2,
        &["did not run: Failed to parse /project/py-bad/pyproject.toml"],
    ),
    (
        "ruff/no-such-file",
        OutputFormat::Ruff,
        1,
        &["error /project/py/nothing.py:1:1 <E902> No such file or directory (os error 2)"],
    ),
    (
        "tsc/findings",
        OutputFormat::Tsc,
        2,
        &[
            "error a.ts:2:31 <TS2322> Type 'number' is not assignable to type 'string'.",
            "error a.ts:3:27 <TS2322> Type 'string' is not assignable to type 'number'.",
            "error a.ts:4:74 <TS2322> Type '(x: number) => void' is not assignable to type '(x: string) => void'.\\n  Types of parameters 'x' and 'x'…",
            "error a.ts:5:14 <TS2322> Type 'number' is not assignable to type 'string'.",
        ],
    ),
    (
        "tsc/pretty",
        OutputFormat::Tsc,
        2,
        &[
            "error a.ts:2:31 <TS2322> Type 'number' is not assignable to type 'string'.",
            "error a.ts:3:27 <TS2322> Type 'string' is not assignable to type 'number'.",
            "error a.ts:4:74 <TS2322> Type '(x: number) => void' is not assignable to type '(x: string) => void'.\\n  Types of parameters 'x' and 'x'…",
            "error a.ts:5:14 <TS2322> Type 'number' is not assignable to type 'string'.",
        ],
    ),
    (
        "tsc/syntax",
        OutputFormat::Tsc,
        2,
        &["error a.ts:1:17 <TS1110> Type expected.", "error a.ts:2:1 <TS1005> '}' expected."],
    ),
    (
        "tsc/no-inputs",
        OutputFormat::Tsc,
        2,
        &[
            "error  <TS18003> No inputs were found in config file '/project/ts-none/tsconfig.json'. Specified 'include' paths were '[\"nothi…",
        ],
    ),
    (
        "tsc/bad-config",
        OutputFormat::Tsc,
        2,
        &[
            "error  <TS5083> Cannot read file '/project/ts-bad/missing.json'.",
            "error tsconfig.json:1:35 <TS5023> Unknown compiler option 'nonsense'.",
        ],
    ),
    (
        "tsc/not-configured",
        OutputFormat::Tsc,
        1,
        &["did not run: TS5058: The specified path does not exist: 'missing.json'."],
    ),
    (
        "shellcheck/findings",
        OutputFormat::Shellcheck,
        1,
        &[
            "warning a.sh:2:1 <SC2034> foo appears unused. Verify use (or export if used externally).",
            "warning a.sh:3:6 <SC2086> Double quote to prevent globbing and word splitting.",
            "warning a.sh:4:1 <SC2164> Use 'cd ... || exit' or 'cd ... || return' in case cd fails.",
        ],
    ),
    (
        "shellcheck/parse-error",
        OutputFormat::Shellcheck,
        1,
        &[
            "warning broken.sh:3:1 <SC1009> The mentioned syntax error was in this if expression.",
            "error broken.sh:3:15 <SC1073> Couldn't parse this then clause. Fix to allow more checks.",
            "warning broken.sh:3:15 <SC1010> Use semicolon or linefeed before 'then' (or quote to make it literal).",
            "error broken.sh:4:1 <SC1072> Expected a command. Fix any mentioned problems and try again.",
        ],
    ),
    ("shellcheck/clean", OutputFormat::Shellcheck, 0, &[]),
    (
        "shellcheck/no-such-file",
        OutputFormat::Shellcheck,
        2,
        &[
            "did not run: nothing.sh: nothing.sh: openBinaryFile: does not exist (No such file or directory)",
        ],
    ),
    ("shellcheck/usage", OutputFormat::Shellcheck, 4, &["did not run: Unknown format nonsense"]),
    (
        "cargo/findings",
        OutputFormat::Cargo,
        101,
        &[
            "error /project/cargo/src/lib.rs:1:24 <E0308> mismatched types\\nexpected `String`, found integer\\nhelp: try using a conversion method",
            "warning /project/cargo/src/lib.rs:2:10 <unused_variables> unused variable: `x`\\nhelp: if this is intentional, prefix it with an underscore",
            "warning /project/cargo/src/lib.rs:2:23 <unused_variables> unused variable: `y`\\nhelp: if this is intentional, prefix it with an underscore",
        ],
    ),
    (
        "cargo/syntax",
        OutputFormat::Cargo,
        101,
        &["error /project/cargo-syn/src/lib.rs:1:13 <> this file contains an unclosed delimiter"],
    ),
    ("cargo/clean", OutputFormat::Cargo, 0, &[]),
    (
        "cargo/offline",
        OutputFormat::Cargo,
        101,
        &[
            "did not run: wants the network: error: no matching package named `no-such-crate-at-all` found",
        ],
    ),
    (
        "cargo/build-script",
        OutputFormat::Cargo,
        101,
        &[
            "did not run: error: failed to run custom build command for `built v0.1.0 (/project/cargo-build)`",
        ],
    ),
    (
        "cargo/bad-manifest",
        OutputFormat::Cargo,
        101,
        &["did not run: error: key with no value, expected `=`"],
    ),
    (
        "cargo/no-manifest",
        OutputFormat::Cargo,
        101,
        &[
            "did not run: error: could not find `Cargo.toml` in `/project/sh` or any parent directory",
        ],
    ),
    (
        "pyright/findings",
        OutputFormat::Pyright,
        1,
        &[
            "error /project/pyr/types.py:2:12 <reportReturnType> Type \"int\" is not assignable to return type \"str\"\\n\u{a0}\u{a0}\"int\" is not assignable to \"str\"",
            "error /project/pyr/types.py:5:3 <reportArgumentType> Argument of type \"Literal['a']\" cannot be assigned to parameter \"x\" of type \"int\" in function \"f\"\\n\u{a0}\u{a0}\"Literal[…",
        ],
    ),
    ("pyright/clean", OutputFormat::Pyright, 0, &[]),
    (
        "pyright/no-such-file",
        OutputFormat::Pyright,
        4,
        &["did not run: File or directory \"file:///project/pyr/nothing.py\" does not exist"],
    ),
    ("pyright/usage", OutputFormat::Pyright, 4, &["did not run: Unexpected option --nonsense."]),
    (
        "pyright/bad-config",
        OutputFormat::Pyright,
        3,
        &[
            "error /project/pyr/types.py:2:12 <reportReturnType> Type \"int\" is not assignable to return type \"str\"\\n\u{a0}\u{a0}\"int\" is not assignable to \"str\"",
            "error /project/pyr/types.py:5:3 <reportArgumentType> Argument of type \"Literal['a']\" cannot be assigned to parameter \"x\" of type \"int\" in function \"f\"\\n\u{a0}\u{a0}\"Literal[…",
        ],
    ),
    (
        "vitest/findings",
        OutputFormat::Vitest,
        1,
        &[
            "error /project/vt/a.test.ts:3:36 <test> sum adds: AssertionError: expected 2 to be 3 // Object.is equality",
            "error /project/vt/a.test.ts:4:46 <test> sum deep: AssertionError: expected { a: { b: 1 } } to deeply equal { a: { b: 2 } }",
            "error /project/vt/a.test.ts:6:30 <test> sum throws: TypeError: no way\\nsecond line",
        ],
    ),
    (
        "vitest/load",
        OutputFormat::Vitest,
        1,
        &[
            "error /project/vt/empty.test.ts <suite> No test suite found in file /project/vt/empty.test.ts",
            "error /project/vt/load.test.ts <suite> Cannot find module './missing' imported from /project/vt/load.test.ts",
            "error /project/vt/syntax.test.ts <suite> Transform failed with 1 error:\\n[PARSE_ERROR] Unexpected token\\n   ╭─[ syntax.test.ts:1:10 ]\\n   │\\n 1 │ const x:…",
        ],
    ),
    ("vitest/clean", OutputFormat::Vitest, 0, &[]),
    ("vitest/none", OutputFormat::Vitest, 1, &[]),
    ("vitest/none-passes", OutputFormat::Vitest, 0, &[]),
    (
        "vitest/bad-config",
        OutputFormat::Vitest,
        1,
        &["did not run: failed to load config from /project/vt-bad/vitest.config.ts"],
    ),
    (
        "vitest/jest-findings",
        OutputFormat::Vitest,
        1,
        &[
            "error /project/jt/a.test.js:2:36 <test> sum adds: Error: expect(received).toBe(expected) // Object.is equality\\nExpected: 3\\nReceived: 2",
        ],
    ),
    (
        "vitest/jest-load",
        OutputFormat::Vitest,
        1,
        &[
            "error /project/jt/load.test.js <suite> Cannot find module './missing' from 'load.test.js'\\n    > 1 | require(\"./missing\"); test(\"a\", () => {});\\n     …",
            "error /project/jt/syntax.test.js <suite> Jest encountered an unexpected token\\n    Jest failed to parse a file. This happens e.g. when your code or its…",
            "error /project/jt/empty.test.js <suite> Your test suite must contain at least one test.",
        ],
    ),
    ("vitest/jest-clean", OutputFormat::Vitest, 0, &[]),
    (
        "vitest/jest-none",
        OutputFormat::Vitest,
        1,
        &[
            "error /project/jt/nothing.test.js <suite> ENOENT: no such file or directory, open '/project/jt/nothing.test.js'",
        ],
    ),
    (
        "vitest/jest-bad-config",
        OutputFormat::Vitest,
        1,
        &[
            "did not run: Validation Error: Preset nothing-here not found relative to rootDir /project/jt-bad.",
        ],
    ),
    (
        "pytest/findings",
        OutputFormat::Pytest,
        1,
        &[
            "error test_a.py:7 <test> test_wrong: AssertionError: they differ\\nassert {'a': 1} == {'a': 2}\\n\\n  Differing items:\\n  {'a': 1} != {'a': 2…",
            "error test_a.py:10 <test> test_raises: ValueError: bad - value",
            "error test_a.py:13 <test> test_param[a b]: AssertionError: assert 'a b' == ''\\n\\n  + a b",
            "error test_a.py:13 <test> test_param[c::d]: AssertionError: assert 'c::d' == ''\\n\\n  + c::d",
        ],
    ),
    (
        "pytest/load",
        OutputFormat::Pytest,
        2,
        &["error test_load.py:1 <error> ModuleNotFoundError: No module named 'no_such_module'"],
    ),
    (
        "pytest/setup",
        OutputFormat::Pytest,
        1,
        &["error test_fix.py:5 <error> test_uses: RuntimeError: no fixture"],
    ),
    ("pytest/clean", OutputFormat::Pytest, 0, &[]),
    ("pytest/none", OutputFormat::Pytest, 5, &[]),
    (
        "pytest/no-such-file",
        OutputFormat::Pytest,
        4,
        &["did not run: ERROR: file or directory not found: nothing.py"],
    ),
    (
        "pytest/usage",
        OutputFormat::Pytest,
        4,
        &["did not run: pytest: error: unrecognized arguments: --no-such-flag"],
    ),
    (
        "pytest/conftest",
        OutputFormat::Pytest,
        4,
        &[
            "did not run: ImportError while loading conftest '/project/py-conf/conftest.py'. RuntimeError: in conftest",
        ],
    ),
    (
        "pytest/plugin",
        OutputFormat::Pytest,
        4,
        &[
            "did not run: ERROR: Error importing plugin \"no_such_plugin\": No module named 'no_such_plugin'",
        ],
    ),
    (
        "deno/findings",
        OutputFormat::Deno,
        1,
        &[
            "error /project/with blank/ä.ts:1:7 <TS2322> Type 'number' is not assignable to type 'string'.",
            "error /project/with blank/ä.ts:4:12 <TS2345> Argument of type 'string' is not assignable to parameter of type 'number'.",
        ],
    ),
    (
        "deno/chain",
        OutputFormat::Deno,
        1,
        &[
            "error /project/chain.ts:5:23 <TS2322> Type '(x: string) => void' is not assignable to type '(x: number) => void'.\\n  Types of parameters 'x' and 'x'…",
            "error /project/chain.ts:6:20 <TS2551> Property 'color' does not exist on type 'A'. Did you mean 'colour'?",
        ],
    ),
    (
        "deno/no-such-import",
        OutputFormat::Deno,
        1,
        &[
            "error /project/bare.ts:1:8 <TS2307> Import \"no-prefix\" not a dependency\\n  hint: If you want to use the npm package, try running `deno add npm:no-…",
        ],
    ),
    (
        "deno/no-such-file",
        OutputFormat::Deno,
        1,
        &["error  <TS2307> Cannot find module 'file:///project/none.ts'."],
    ),
    (
        "deno/syntax",
        OutputFormat::Deno,
        1,
        &["error /project/broken.ts:1:12 <> SyntaxError: Expression expected"],
    ),
    (
        "deno/offline",
        OutputFormat::Deno,
        1,
        &[
            "did not run: wants the network: 0: error sending request for url (https://registry.npmjs.org/no-such-xyz): client error (Connect): dns error: failed to lookup address information: Temporary failure in name resolution",
        ],
    ),
    (
        "deno/offline-jsr",
        OutputFormat::Deno,
        1,
        &[
            "did not run: error: JSR package manifest for '@std/xx' failed to load. Import 'https://jsr.io/@std/xx/meta.json' failed.",
        ],
    ),
    (
        "deno/lint",
        OutputFormat::Deno,
        1,
        &[
            "error /project/with blank/ä.ts:1:7 <no-unused-vars> `a` is never used",
            "error /project/with blank/ä.ts:3:3 <no-var> `var` keyword is not allowed.",
            "error /project/with blank/ä.ts:3:7 <no-unused-vars> `unused` is never used",
        ],
    ),
    (
        "deno/lint-syntax",
        OutputFormat::Deno,
        1,
        &["error /project/broken.ts:1:12 <> SyntaxError: Expression expected"],
    ),
    ("deno/lint-no-files", OutputFormat::Deno, 1, &["did not run: error: No target files found."]),
    (
        "deno/fmt-syntax",
        OutputFormat::Deno,
        1,
        &["error /project/broken.ts:1:12 <> SyntaxError: Expression expected"],
    ),
    (
        "deno/bad-config",
        OutputFormat::Deno,
        1,
        &["did not run: error: Failed deserializing config file 'file:///project/bad.json'."],
    ),
    (
        "tsc/not-built",
        OutputFormat::Tsc,
        2,
        &[
            "did not run: run `tsc --build` first: TS6305: Output file '/project/lib/dist/a.d.ts' has not been built from source file '/project/lib/a.ts'.",
        ],
    ),
    (
        "tsc/not-built-and-more",
        OutputFormat::Tsc,
        2,
        &["error c.ts:1:14 <TS2322> Type 'number' is not assignable to type 'string'."],
    ),
    ("plain/oxlint-syntax", OutputFormat::Plain, 1, &["error broken.js:1:12 <> Unexpected token"]),
    (
        "plain/oxlint-warnings",
        OutputFormat::Plain,
        0,
        &[
            "warning w.tsx:2:5 <eslint(no-unused-vars)> Variable 'a' is declared but never used. Unused variables should start with a '_'.",
            "warning w.tsx:1:1 <eslint(no-debugger)> `debugger` statement is not allowed",
            "warning w.tsx:2:8 <typescript(no-explicit-any)> Unexpected `any`. Specify a different type.",
        ],
    ),
    (
        "sarif/ruff",
        OutputFormat::Sarif,
        1,
        &[
            "error /project/py/a.py:1:1 <I001> Import block is un-sorted or un-formatted",
            "error /project/py/a.py:1:8 <F401> `os` imported but unused",
            "error /project/py/a.py:5:16 <F821> Undefined name `undefined_name`",
        ],
    ),
    (
        "sarif/biome",
        OutputFormat::Sarif,
        1,
        &[
            "error /project/other/lint.js:2:1 <lint/suspicious/noDebugger> This is an unexpected use of the debugger statement.",
            "error /project/other/lint.js:3:5 <lint/suspicious/noSelfCompare> This comparison uses the same expression on both sides.",
            "error /project/other/lint.js:3:7 <lint/suspicious/noDoubleEquals> Using == may be unsafe if you are relying on type coercion.",
        ],
    ),
    (
        "plain/php",
        OutputFormat::Plain,
        255,
        &[
            "error a.php:2 <> Parse error:  syntax error, unexpected token \"{\", expecting variable",
        ],
    ),
    ("plain/php-clean", OutputFormat::Plain, 0, &[]),
    (
        "plain/ruby",
        OutputFormat::Plain,
        1,
        &["error a.rb:2 <> syntax error, unexpected integer literal, expecting ')'"],
    ),
    ("plain/luac", OutputFormat::Plain, 1, &["error a.lua:1 <> unexpected symbol near '='"]),
    ("plain/python", OutputFormat::Plain, 1, &["error a.py:1 <> SyntaxError: invalid syntax"]),
    (
        "plain/python-compile",
        OutputFormat::Plain,
        1,
        &["error a.py:1 <> SyntaxError: invalid syntax"],
    ),
    (
        "plain/bash",
        OutputFormat::Plain,
        2,
        &["error a.sh:3 <> syntax error: unexpected end of file"],
    ),
    (
        "plain/dash",
        OutputFormat::Plain,
        2,
        &["error a.sh:3 <> Syntax error: end of file unexpected (expecting \"fi\")"],
    ),
    (
        "plain/node",
        OutputFormat::Plain,
        1,
        &["error /project/other/a.js:1 <> SyntaxError: Unexpected token ';'"],
    ),
    (
        "plain/mypy",
        OutputFormat::Plain,
        1,
        &[
            "error imp.py:1:1 <import-not-found> Cannot find implementation or library stub for module named \"requestz_missing\"\\nnote: See https://mypy.readthe…",
            "error typed.py:2:12 <return-value> Incompatible return value type (got \"int\", expected \"str\")",
            "error typed.py:5:3 <arg-type> Argument 1 to \"f\" has incompatible type \"str\"; expected \"int\"",
        ],
    ),
    (
        "plain/mypy-syntax",
        OutputFormat::Plain,
        2,
        &[
            "error broken.py:1:8 <syntax> Expected a parameter or the end of the parameter list",
            "error broken.py:1:9 <syntax> Expected `)`, found newline",
        ],
    ),
    (
        "plain/mypy-no-such-file",
        OutputFormat::Plain,
        2,
        &["error nothing.py <> Cannot read file: No such file or directory"],
    ),
    (
        "plain/go-vet",
        OutputFormat::Plain,
        2,
        &["error ./a.go:6:2 <> fmt.Printf format %d has arg \"x\" of wrong type string"],
    ),
    (
        "plain/go-vet-build",
        OutputFormat::Plain,
        2,
        &["error ./a.go:7:6 <> y declared but not used"],
    ),
    (
        "plain/go-offline",
        OutputFormat::Plain,
        1,
        &["did not run: wants the network: a.go:3:8: module lookup disabled by GOPROXY=off"],
    ),
    (
        "plain/go-no-sum",
        OutputFormat::Plain,
        1,
        &[
            "error a.go:3:8 <> missing go.sum entry for module providing package example.com/b (imported by example.com/a); to add:",
        ],
    ),
    ("plain/gofmt", OutputFormat::Plain, 2, &["error a.go:2:9 <> expected ')', found '{'"]),
    ("plain/go-test", OutputFormat::Plain, 1, &["error a_test.go:6 <> got 1, want 2"]),
    (
        "plain/yamllint",
        OutputFormat::Plain,
        1,
        &[
            "warning a.yaml:1:1 <document-start> missing document start \"---\"",
            "error a.yaml:3:2 <syntax> syntax error: expected <block end>, but found '<block mapping start>'",
        ],
    ),
    (
        "plain/sqlfluff",
        OutputFormat::Plain,
        1,
        &[
            "error  <> | only one select target. [layout.select_targets]\\nL:   1 | P:  10 | LT01 | Expected single whitespace between…",
        ],
    ),
    (
        "plain/sqlfluff-annotation",
        OutputFormat::Plain,
        1,
        &[
            "warning a.sql:1:1 <LT09> Select targets should be on a new line unless there is only one select target. [layout.select_targets]",
            "warning a.sql:1:10 <LT01> Expected single whitespace between comma ',' and naked identifier. [layout.spacing]",
            "warning a.sql:1:16 <LT01> Expected only single space before naked identifier. Found '   '. [layout.spacing]",
            "warning a.sql:1:21 <LT14> The 'where' keyword should always start a new line. [layout.keyword_newline]",
            "warning a.sql:1:28 <LT01> Expected single whitespace between naked identifier and raw comparison operator '='. [layout.spacing]",
            "warning a.sql:1:29 <LT01> Expected single whitespace between raw comparison operator '=' and numeric literal. [layout.spacing]",
        ],
    ),
    (
        "plain/oxlint-unix",
        OutputFormat::Plain,
        0,
        &["warning lint.js:2:1 <eslint(no-debugger)> `debugger` statement is not allowed"],
    ),
    ("plain/oxlint-default", OutputFormat::Plain, 0, &[]),
    (
        "plain/biome-github",
        OutputFormat::Plain,
        1,
        &[
            "error /project/other/lint.js:2:1 <lint/suspicious/noDebugger> This is an unexpected use of the debugger statement.",
            "error /project/other/lint.js:3:5 <lint/suspicious/noSelfCompare> This comparison uses the same expression on both sides.",
            "error /project/other/lint.js:3:7 <lint/suspicious/noDoubleEquals> Using == may be unsafe if you are relying on type coercion.",
            "error /project/other/lint.js:1:2 <format> Formatter would have printed the following content:",
        ],
    ),
    (
        "whole/biome",
        OutputFormat::Whole,
        1,
        &[
            "error  <> lint.js:2:1 lint/suspicious/noDebugger  FIXABLE  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━\\n\\n  × Thi…",
        ],
    ),
    (
        "whole/prettier",
        OutputFormat::Whole,
        2,
        &[
            "error  <> Checking formatting...\\nError occurred when checking code style in the above file.\\n[warn] ugly.js\\n[error] a.js…",
        ],
    ),
    (
        "whole/prettier-error",
        OutputFormat::Whole,
        2,
        &[
            "error  <> [error] a.js: SyntaxError: Unexpected token (1:11)\\n[error] > 1 | const x = ;\\n[error]     |           ^\\n[error…",
        ],
    ),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/checks")
}

fn recorded(name: &str, stream: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{name}.{stream}"))).unwrap_or_default()
}

pub(super) fn read_as(
    form: OutputFormat,
    code: Option<i32>,
    stdout: &str,
    stderr: &str,
) -> ParsedOutput {
    read(form, &Printed { check: "a check", file: "/project/edited file", stdout, stderr, code })
}

/// A finding on one line: `error a.ts:2:31 TS2322 Type 'number' …`.
pub(super) fn shown(said: &ParsedOutput) -> Vec<String> {
    match said {
        ParsedOutput::DidNotRun(why) => vec![format!("did not run: {why}")],
        ParsedOutput::Found(findings) => findings.iter().map(in_one_line).collect(),
    }
}

fn in_one_line(finding: &Finding) -> String {
    assert_eq!(finding.check, "a check");
    let numbers = [finding.line, finding.column].into_iter().flatten();
    let place = numbers.fold(finding.file.clone(), |place, number| format!("{place}:{number}"));
    let word = if finding.is_error { "error" } else { "warning" };
    let message = bounded(&finding.message, 110).replace('\n', "\\n");
    format!("{word} {place} <{}> {message}", finding.rule)
}

#[test]
fn every_recording_says_what_its_tool_found() {
    for (name, form, code, expected) in RECORDINGS {
        let (stdout, stderr) = (recorded(name, "stdout"), recorded(name, "stderr"));
        let said = read_as(*form, Some(*code), &stdout, &stderr);
        assert_eq!(shown(&said), *expected, "{name}");
    }
}

#[test]
fn every_recording_is_named_in_the_table() {
    let mut names = Vec::new();
    for form in std::fs::read_dir(folder()).unwrap().map(Result::unwrap) {
        let Ok(files) = std::fs::read_dir(form.path()) else { continue };
        for file in files.map(Result::unwrap) {
            let name = file.path().with_extension("").display().to_string();
            let parts: Vec<&str> = name.rsplitn(3, '/').collect();
            names.push(format!("{}/{}", parts[1], parts[0]));
        }
    }
    assert!(names.len() > 80);
    let known: Vec<&str> = RECORDINGS.iter().map(|(name, ..)| *name).collect();
    names.retain(|name| !known.contains(&name.as_str()));
    assert_eq!(names, Vec::<String>::new());
}

const FORMS: [OutputFormat; 13] = [
    OutputFormat::Eslint,
    OutputFormat::Ruff,
    OutputFormat::Tsc,
    OutputFormat::Shellcheck,
    OutputFormat::Cargo,
    OutputFormat::Pyright,
    OutputFormat::Vitest,
    OutputFormat::Pytest,
    OutputFormat::Deno,
    OutputFormat::Supabase,
    OutputFormat::Sarif,
    OutputFormat::Plain,
    OutputFormat::Whole,
];

/// True for the exit codes that mean success for a tool with this format, even if not 0.
fn is_well(form: OutputFormat, code: i32) -> bool {
    code == 0 || (form == OutputFormat::Pytest && code == 5)
}

#[test]
fn what_was_cut_off_is_never_all_well_and_never_panics() {
    for (name, form, code, _) in RECORDINGS {
        let (stdout, stderr) = (recorded(name, "stdout"), recorded(name, "stderr"));
        let failed = if is_well(*form, *code) { 1 } else { *code };
        // No tests, or an excluded file, is a success with any exit code.
        let may_be_well = ["vitest/none", "vitest/clean", "eslint/ignored"];
        for end in (0..stdout.len()).step_by(809) {
            let cut = String::from_utf8_lossy(&stdout.as_bytes()[..end]).into_owned();
            for form in [*form, OutputFormat::Plain] {
                let said = read_as(form, Some(failed), &cut, &stderr);
                let is_empty = said == ParsedOutput::Found(Vec::new());
                let allowed = may_be_well.iter().any(|well| name.starts_with(well));
                assert!(!is_empty || allowed, "{name} as {form:?}, cut at {end}");
            }
        }
    }
}

#[test]
fn an_end_that_is_no_exit_is_never_a_finding() {
    let whole = recorded("eslint/findings", "stdout");
    for form in FORMS {
        let why = |code| shown(&read_as(form, code, &whole, "sh: 1: eslint: not found\n"));
        assert_eq!(why(None), ["did not run: was ended by a signal"]);
        assert_eq!(why(Some(137)), ["did not run: was ended by signal 9"]);
        assert_eq!(why(Some(129)), ["did not run: was ended by signal 1"]);
        assert_eq!(why(Some(159)), ["did not run: was ended by signal 31"]);
        let missing = ["did not run: could not be started: sh: 1: eslint: not found"];
        assert_eq!(why(Some(127)), missing);
        assert_eq!(why(Some(126)), missing);
        assert_eq!(shown(&read_as(form, Some(126), "", "")), ["did not run: could not be started"]);
    }
    assert_eq!(shown(&read_as(OutputFormat::Eslint, Some(128), &whole, "")).len(), 3);
    assert_eq!(shown(&read_as(OutputFormat::Eslint, Some(160), &whole, "")).len(), 3);
    assert_eq!(shown(&read_as(OutputFormat::Eslint, Some(125), &whole, "")).len(), 3);
}

#[test]
fn a_tool_that_failed_in_silence_says_its_code() {
    for form in FORMS {
        let said = shown(&read_as(form, Some(3), "", "\n"));
        let expected = match form {
            OutputFormat::Plain | OutputFormat::Whole => {
                "error  <> ended with exit code 3 and printed nothing"
            }
            _ => "did not run: ended with exit code 3 and printed no reason",
        };
        assert_eq!(said, [expected], "{form:?}");
    }
}

#[test]
fn silence_with_exit_code_0_is_no_report() {
    for form in FORMS {
        let said = shown(&read_as(form, Some(0), "", ""));
        let expected: &[&str] = match form {
            OutputFormat::Tsc
            | OutputFormat::Cargo
            | OutputFormat::Pytest
            | OutputFormat::Deno
            | OutputFormat::Plain
            | OutputFormat::Whole => &[],
            _ => &["did not run: printed nothing that could be read"],
        };
        assert_eq!(said, expected, "{form:?}");
    }
}

#[test]
fn a_report_without_findings_and_a_bad_exit_code_is_not_all_well() {
    for (form, report) in [
        (OutputFormat::Eslint, "[]"),
        (OutputFormat::Ruff, "[]"),
        (OutputFormat::Shellcheck, "{\"comments\":[]}"),
        (OutputFormat::Pyright, "{\"generalDiagnostics\":[]}"),
        (OutputFormat::Supabase, "[]"),
        (OutputFormat::Sarif, "{\"runs\":[]}"),
    ] {
        let said = shown(&read_as(form, Some(2), report, "error: it broke"));
        assert_eq!(said, ["did not run: error: it broke"], "{form:?}");
        assert_eq!(
            read_as(form, Some(0), report, "error: no"),
            ParsedOutput::Found(Vec::new()),
            "{form:?}"
        );
    }
}

#[test]
fn a_report_is_found_between_lines_of_others() {
    let report = recorded("eslint/findings", "stdout");
    let expected = shown(&read_as(OutputFormat::Eslint, Some(1), &report, ""));
    for (before, after) in [
        ("> app@1.0.0 lint\n> eslint .\n\n", "npm ERR! code 1\n"),
        ("[warn] something\n[12:30:45] begins\n", "[12:30:46] ends\n"),
        ("{\"level\":\"info\"}\n[1,\n2]\n[{\"a\":1}]\n", "{\"level\":\"info\"}\n"),
        ("[1,\nnothing\n{ a shell's block }\n", "]\n"),
    ] {
        let text = format!("{before}{report}{after}");
        assert_eq!(shown(&read_as(OutputFormat::Eslint, Some(1), &text, "")), expected, "{before}");
    }
}

#[test]
fn colours_and_control_characters_are_taken_out() {
    let report = r#"[{"filename":"a\u001b[31m.py\u0007","code":"E\u200b1","location":{"row":0,"column":4294967296},"message":"\u001b[1mbad\u001b[0m\u202e thing\n\n"}]"#;
    assert_eq!(
        shown(&read_as(OutputFormat::Ruff, Some(1), report, "")),
        ["error a.py <E1> bad thing"]
    );
}

#[test]
fn findings_and_messages_are_bounded() {
    let rows = |count: usize, letters: usize| {
        let row =
            format!(r#"{{"filename":"a.py","code":"E1","message":"{}"}}"#, "é".repeat(letters));
        format!("[{}]", vec![row; count].join(","))
    };
    let read =
        |count, letters| match read_as(OutputFormat::Ruff, Some(1), &rows(count, letters), "") {
            ParsedOutput::Found(findings) => (findings.len(), findings[0].message.chars().count()),
            ParsedOutput::DidNotRun(why) => panic!("{why}"),
        };
    assert_eq!([read(2_000, 1), read(2_001, 1)], [(2_000, 1); 2]);
    assert_eq!([read(1, 1_000), read(1, 1_001)], [(1, 1_000); 2]);
    let lines = "a.py:1:1: error: it\n".to_owned()
        + &"a.py:2:1: error: it\na.py:3:1: error: it\n".repeat(1_500);
    assert_eq!(shown(&read_as(OutputFormat::Plain, Some(1), &lines, "")).len(), 2_000);
    let lines = "a.ts(1,1): error TS1: it\n".repeat(2_500);
    assert_eq!(shown(&read_as(OutputFormat::Tsc, Some(1), &lines, "")).len(), 2_000);
}

#[test]
fn nothing_is_read_again_for_each_of_its_lines() {
    let length = 8 << 10;
    for piece in [
        "[\n",
        "[1,\n",
        "{\"a\":[\n",
        "a:1 ",
        "a:1\n",
        "a.py(1",
        "error TS",
        "at ",
        "____ x ____\n",
        "FAILED a::b\n",
        ": ",
        "x: error: ",
        " in a on line 3",
        "E   x\n",
        "\u{1b}[",
        "{\"num",
        "::error ,::",
        "TS1 [ERROR]: ",
        "    at file:///a:1",
    ] {
        let text = piece.repeat(length / piece.len());
        for form in [
            OutputFormat::Ruff,
            OutputFormat::Tsc,
            OutputFormat::Vitest,
            OutputFormat::Pytest,
            OutputFormat::Deno,
            OutputFormat::Plain,
        ] {
            // A quadratic parser would never finish.
            assert_ne!(
                read_as(form, Some(1), &text, ""),
                ParsedOutput::Found(Vec::new()),
                "{piece:?} {form:?}"
            );
        }
    }
}
