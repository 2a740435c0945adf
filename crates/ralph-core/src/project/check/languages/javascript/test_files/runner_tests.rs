use crate::project::check::languages::world::FileFixture;

/// A file with one test, in a package with this `package.json`.
fn package(text: &str) -> FileFixture {
    let tools = ["vitest", "jest", "mocha", "bun", "node", "tsx"];
    FileFixture::edits("src/a.js")
        .files(&["src/a.test.js"])
        .file("package.json", text)
        .on_path(&tools)
}

#[test]
fn the_runner_is_the_one_that_the_package_names() {
    for (text, expected) in [
        (r#"{"devDependencies":{"vitest":"3"}}"#, "test vitest"),
        (r#"{"devDependencies":{"jest":"30"}}"#, "test jest"),
        (r#"{"devDependencies":{"mocha":"11"}}"#, "test mocha"),
        (r#"{"devDependencies":{"vitest":"3","jest":"30"}}"#, "test vitest"),
        (r#"{"scripts":{"test":"jest"},"devDependencies":{"vitest":"3"}}"#, "test jest"),
        (r#"{"scripts":{"test":"tsc && vitest run"}}"#, "test vitest"),
        (r#"{"scripts":{"test":"bun test"},"devDependencies":{"jest":"3"}}"#, "test bun"),
        (r#"{"scripts":{"test":"node --test"},"devDependencies":{"jest":"3"}}"#, "test node test"),
        (r#"{"jest":{},"scripts":{"test":"mocha"}}"#, "test jest"),
        (r#"{"scripts":{"test":"bun run test"}}"#, ""),
        (r#"{"scripts":{"test":"node test.js"}}"#, ""),
        ("{}", ""),
    ] {
        let syntax = "look node @src";
        let all =
            [syntax, expected].iter().filter(|one| !one.is_empty()).copied().collect::<Vec<_>>();
        package(text).plans(&all.join(" | "));
    }
}

#[test]
fn a_configuration_says_more_than_a_package() {
    let mocha = || package(r#"{"devDependencies":{"mocha":"11"}}"#);
    mocha().files(&["vitest.config.ts"]).plans("look node @src | test vitest");
    mocha().files(&["vitest.workspace.json"]).plans("look node @src | test vitest");
    mocha().files(&["jest.config.cjs"]).plans("look node @src | test jest");
    mocha().files(&["jest.config.cjs", "vitest.config.ts"]).plans("look node @src | test vitest");
    package("{}").files(&[".mocharc.yml"]).plans("look node @src | test mocha");
    mocha().files(&["src/jest.config.js"]).plans("look node @src | test jest @src");
}

#[test]
fn the_nearest_folder_that_names_a_runner_wins() {
    let world = FileFixture::edits("p/q/a.ts")
        .files(&["p/q/a.test.ts"])
        .file("package.json", r#"{"devDependencies":{"jest":"30"}}"#)
        .on_path(&["vitest", "jest"]);
    world.plans("test jest");
    let world = world.file("p/package.json", r#"{"devDependencies":{"vitest":"3"}}"#);
    world.plans("test vitest @p");
    world.says("vitest", "`p/package.json` uses it, and has tests for this file");
}

#[test]
fn tests_are_looked_for_in_the_files_own_package() {
    FileFixture::edits("p/src/a.ts")
        .files(&["p/test/a.test.ts"])
        .file("package.json", r#"{"devDependencies":{"jest":"30"}}"#)
        .file("p/package.json", "{}")
        .on_path(&["jest"])
        .plans("test jest");
}

#[test]
fn a_file_without_tests_runs_none() {
    let vitest = r#"{"devDependencies":{"vitest":"3"}}"#;
    FileFixture::edits("a.ts").file("package.json", vitest).plans("");
    FileFixture::edits("a.ts")
        .files(&["a.test.ts"])
        .file("package.json", vitest)
        .says("vitest", "`package.json` configures it, but it is not installed; run `npm install`");
}

#[test]
fn each_runner_is_called_in_its_way() {
    let script = |line: &str| package(&format!(r#"{{"scripts":{{"test":"{line}"}}}}"#));
    script("vitest").runs(
        "vitest",
        "vitest run --reporter=json --no-color --passWithNoTests --coverage.enabled=false src/a.test.js",
    );
    script("jest").runs("jest", "jest --json --ci --coverage=false --runTestsByPath src/a.test.js");
    script("mocha").runs("mocha", "mocha src/a.test.js");
    script("bun test").runs("bun", "bun test src/a.test.js");
    script("node --test").runs("node test", "node --test --test-reporter=spec src/a.test.js");
}

#[test]
fn nodes_runner_loads_tests_as_the_script_does() {
    #[track_caller]
    fn check(script: &str, expected: &str) {
        package(&format!(r#"{{"scripts":{{"test":"{script}"}}}}"#)).runs("node test", expected);
    }
    check(
        "build && node --import tsx --enable-source-maps --test dist",
        "node --import tsx --test --test-reporter=spec src/a.test.js",
    );
    check(
        "node --test --import=./a.mjs -r b --experimental-vm-modules",
        "node --import=./a.mjs -r b --experimental-vm-modules --test --test-reporter=spec src/a.test.js",
    );
    check("tsx --test", "tsx --test --test-reporter=spec src/a.test.js");
}

#[test]
fn nodes_runner_is_given_typescript_where_its_script_reads_it() {
    #[track_caller]
    fn check(script: &str, expected: &str) {
        FileFixture::edits("a.ts")
            .files(&["a.test.ts"])
            .file("package.json", &format!(r#"{{"scripts":{{"test":"{script}"}}}}"#))
            .on_path(&["node", "tsx"])
            .plans(expected);
    }
    for script in [
        "node --test '**/*.test.ts'",
        "node --import tsx --test",
        "node --require=x --test",
        "node --experimental-strip-types --test",
        "tsx --test",
    ] {
        check(script, "test node test");
    }
    for script in
        ["node --test", "tsc && node --test dist", "node a.js || run --test", "tsx a; node --test"]
    {
        check(script, "");
    }
}

#[test]
fn what_a_runner_takes_for_a_test_is_its_own() {
    let world = |line: &str| {
        FileFixture::edits("a.ts")
            .files(&["a_test.ts", "test/a.ts"])
            .file("package.json", &format!(r#"{{"scripts":{{"test":"{line}"}}}}"#))
            .on_path(&["vitest", "jest", "mocha", "bun", "tsx"])
    };
    world("vitest").plans("");
    world("jest").plans("");
    world("bun test").runs("bun", "bun test a_test.ts");
    world("mocha").runs("mocha", "mocha a_test.ts test/a.ts");
    world("tsx --test").plans("test node test");
}
