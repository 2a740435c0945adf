//! What the compiler says that a configuration includes, for each of these configurations.
//!
//! Recorded with `ts.parseJsonConfigFileContent` of TypeScript 5.9.3 and 6.0.3, which agree.

use super::super::super::super::workspace::Around;
use super::super::super::world::FileFixture;
use super::*;

const FILES: &[&str] = &[
    "a.ts",
    "src/b.ts",
    "src/deep/c.ts",
    "src/b.test.ts",
    "test/t.ts",
    "dist/d.ts",
    "out/o.ts",
    "node_modules/m/i.ts",
    ".hid/h.ts",
    "src/.hid/h.ts",
    "src/node_modules/x/x.ts",
    "src/j.js",
    "src/x.tsx",
    "src/y.jsx",
    "src/m.mts",
    "src/c.cts",
    "src/mj.mjs",
    "src/z.d.ts",
    "src/.dot.ts",
    "src/k.min.js",
    "bower_components/b.ts",
    "declared/d.ts",
    "base/k.ts",
];

/// A configuration, and the files that it includes.
const RECORDED: &[(&str, &str)] = &[
    (
        r#"{}"#,
        "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts test/t.ts",
    ),
    (
        r#"{"compilerOptions":{"outDir":"out","declarationDir":"declared"}}"#,
        "a.ts base/k.ts dist/d.ts src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts test/t.ts",
    ),
    (
        r#"{"compilerOptions":{"outDir":"out"},"exclude":["test"]}"#,
        "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts",
    ),
    (
        r#"{"include":["src"]}"#,
        "src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts",
    ),
    (r#"{"include":["src/*"]}"#, "src/b.test.ts src/b.ts src/c.cts src/m.mts src/x.tsx src/z.d.ts"),
    (
        r#"{"include":["src/**/*"],"exclude":["**/*.test.ts"]}"#,
        "src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts",
    ),
    (r#"{"include":["src/**/*.ts"]}"#, "src/b.test.ts src/b.ts src/deep/c.ts src/z.d.ts"),
    (r#"{"include":["src/?.ts"]}"#, "src/b.ts"),
    (
        r#"{"include":["src","test"],"exclude":["src/deep","**/t.*"]}"#,
        "src/b.test.ts src/b.ts src/c.cts src/m.mts src/x.tsx src/z.d.ts",
    ),
    (r#"{"include":["**/c.ts"]}"#, "src/deep/c.ts"),
    (r#"{"include":["**/deep"]}"#, "src/deep/c.ts"),
    (
        r#"{"include":["./src/"]}"#,
        "src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts",
    ),
    (
        r#"{"include":["src/b.ts","src/deep/../a.ts","node_modules/m"]}"#,
        "node_modules/m/i.ts src/b.ts",
    ),
    (
        r#"{"include":["**/*"],"exclude":[]}"#,
        "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts test/t.ts",
    ),
    (r#"{"files":["a.ts"],"include":["src/deep"]}"#, "a.ts src/deep/c.ts"),
    (r#"{"files":["test/t.ts"],"exclude":["test"]}"#, "test/t.ts"),
    (
        r#"{"compilerOptions":{"allowJs":true}}"#,
        "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/j.js src/m.mts src/mj.mjs src/x.tsx src/y.jsx src/z.d.ts test/t.ts",
    ),
    (
        r#"{"compilerOptions":{"checkJs":true}}"#,
        "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/j.js src/m.mts src/mj.mjs src/x.tsx src/y.jsx src/z.d.ts test/t.ts",
    ),
    (r#"{"include":["src/.hid","src/*/h.ts"]}"#, ""),
    (r#"{"include":["src/.hid/*","src/.*"]}"#, "src/.dot.ts src/.hid/h.ts"),
    (r#"{"include":["src/*.js"]}"#, ""),
    (r#"{"include":["Src"]}"#, ""),
    (r#"{"include":["s*"]}"#, ""),
    (
        r#"{"exclude":["*.ts"]}"#,
        "base/k.ts declared/d.ts dist/d.ts out/o.ts src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts test/t.ts",
    ),
    (r#"{"exclude":["s*"]}"#, "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts test/t.ts"),
    (r#"{"exclude":["**/src/*"]}"#, "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts test/t.ts"),
    (r#"{"include":["src/**"]}"#, ""),
    (r#"{"compilerOptions":{"allowJs":true},"include":["src/*.min.js"]}"#, "src/k.min.js"),
    (r#"{"compilerOptions":{"allowJs":true},"include":["src/*.js"]}"#, "src/j.js"),
    (
        r#"{"compilerOptions":{"allowJs":true},"include":["src/*"]}"#,
        "src/b.test.ts src/b.ts src/c.cts src/j.js src/m.mts src/mj.mjs src/x.tsx src/y.jsx src/z.d.ts",
    ),
    (
        r#"{"exclude":["src/b.test"]}"#,
        "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts test/t.ts",
    ),
    (
        r#"{"exclude":["**/*.test.*","**/dist/**","${configDir}/out"]}"#,
        "a.ts base/k.ts declared/d.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts test/t.ts",
    ),
    (r#"{"include":[],"files":["a.ts"]}"#, "a.ts"),
    (r#"{"files":[]}"#, ""),
    (r#"{"files":[],"references":[]}"#, ""),
    (
        r#"{"extends":"./base/tsconfig.json"}"#,
        "src/b.test.ts src/b.ts src/c.cts src/m.mts src/x.tsx src/z.d.ts",
    ),
    (
        r#"{"extends":"./base/tsconfig","exclude":[]}"#,
        "src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts",
    ),
    (
        r#"{"extends":"./base/tsconfig","files":["a.ts"]}"#,
        "a.ts src/b.test.ts src/b.ts src/c.cts src/m.mts src/x.tsx src/z.d.ts",
    ),
    (r#"{"extends":["./base/tsconfig.json","./base/b.json"]}"#, "test/t.ts"),
    (
        r#"{"extends":"./base"}"#,
        "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts src/b.test.ts src/b.ts src/c.cts src/deep/c.ts src/m.mts src/x.tsx src/z.d.ts test/t.ts",
    ),
    (r#"{"extends":"./base/tsconfig.json","include":["base"]}"#, "base/k.ts"),
    (r#"{"include":["**/.hid/*"]}"#, ".hid/h.ts src/.hid/h.ts"),
    (
        r#"{"include":["**/*.ts","**/.*"]}"#,
        "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts src/.dot.ts src/b.test.ts src/b.ts src/deep/c.ts src/z.d.ts test/t.ts",
    ),
    (
        r#"{"exclude":["**/deep/**/*","src/*.tsx"]}"#,
        "a.ts base/k.ts declared/d.ts dist/d.ts out/o.ts src/b.test.ts src/b.ts src/c.cts src/m.mts src/z.d.ts test/t.ts",
    ),
    (r#"{"include":["src/**/deep/*.ts"]}"#, "src/deep/c.ts"),
    (r#"{"include":["*"]}"#, "a.ts"),
    (r#"{"include":["src/b.t*"]}"#, "src/b.test.ts src/b.ts"),
    (r#"{"include":["src/d*p/*"]}"#, "src/deep/c.ts"),
];

fn world(file: &str, config: &str) -> FileFixture {
    let base = r#"{"include":["../src"],"exclude":["../src/deep"],"compilerOptions":{"outDir":"../dist"}}"#;
    FileFixture::edits(file)
        .files(FILES)
        .file("base/tsconfig.json", base)
        .file("base/b.json", r#"{"include":["${configDir}/test"]}"#)
        .file("tsconfig.json", config)
}

fn is_included(file: &str, config: &str) -> bool {
    let world = world(file, config);
    let config = world.root().join("tsconfig.json");
    Config::read(&world, &config).unwrap().includes(&world, world.root())
}

#[test]
fn what_is_included_is_what_the_compiler_says() {
    for (config, expected) in RECORDED {
        let mut included: Vec<&str> =
            FILES.iter().copied().filter(|file| is_included(file, config)).collect();
        included.sort_unstable();
        assert_eq!(included.join(" "), *expected, "{config}");
    }
}

#[test]
fn javascript_beside_its_typescript_is_not_included() {
    let config = r#"{"compilerOptions":{"allowJs":true}}"#;
    assert!(is_included("src/q.js", config));
    assert!(!is_included("src/b.js", config));
    assert!(!is_included("src/x.js", config));
    assert!(!is_included("src/q.js", r#"{"compilerOptions":{"allowJs":false,"checkJs":true}}"#));
}

#[test]
fn a_configuration_that_extends_itself_ends() {
    assert!(is_included("a.ts", r#"{"extends":"./tsconfig.json"}"#));
    let many = format!(r#"{{"extends":[{}"./tsconfig"]}}"#, r#""./tsconfig","#.repeat(1000));
    assert!(is_included("a.ts", &many));
}

#[test]
fn a_configuration_of_another_package_is_not_read() {
    assert!(is_included("a.ts", r#"{"extends":"base/tsconfig.json"}"#));
    assert!(!is_included("a.ts", r#"{"extends":"/w/base/tsconfig.json"}"#));
}

#[test]
fn references_are_folders_or_files() {
    let config = r#"{"references":[{"path":"./a/../b"},{"path":"c/tsconfig.app.json"},{}]}"#;
    let world = world("a.ts", config);
    let config = Config::read(&world, &world.root().join("tsconfig.json")).unwrap();
    let expected = ["/w/b/tsconfig.json", "/w/c/tsconfig.app.json"].map(PathBuf::from);
    assert_eq!(config.references(), expected);
}
