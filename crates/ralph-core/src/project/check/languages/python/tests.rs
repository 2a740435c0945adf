//! Which tools each project has for a file of Python.

mod python {
    use super::super::*;
    use crate::project::check::CheckMethod;
    use crate::project::check::languages::world::FileFixture;

    #[test]
    fn a_file_is_compiled_by_the_project_s_python() {
        FileFixture::edits("a.py").plans("");
        let world = FileFixture::edits("a/b.py").on_path(&["python3"]);
        world.plans("look py_compile @a");
        world.runs("py_compile", &format!("python3 -I -S -B -W ignore -c {COMPILE} a/b.py"));
        FileFixture::edits("a.pyi").on_path(&["python3"]).plans("look py_compile");
        let world = FileFixture::edits("a.py").on_path(&["python3"]).installed(".venv/bin/python3");
        let CheckMethod::Program(program) = world.check("py_compile").by else {
            panic!("a program")
        };
        assert_eq!(program.line[0], "/w/.venv/bin/python3");
    }

    #[test]
    fn ruff_fixes_wherever_it_is_installed() {
        let world = FileFixture::edits("a/b.py").on_path(&["ruff"]);
        world.plans("fix ruff @a");
        world.runs(
            "ruff",
            "ruff check --fix --extend-unfixable F401 --no-cache --force-exclude --output-format json a/b.py",
        );
        world.says("ruff", "ruff is installed");
    }

    #[test]
    fn ruff_runs_beside_its_configuration() {
        let plans =
            |path, text, expected| FileFixture::edits("a/b.py").file(path, text).plans(expected);
        plans("a/.ruff.toml", "", "lacking ruff");
        plans("pyproject.toml", "[tool.ruff.lint]", "lacking ruff");
        plans("pyproject.toml", "[project]", "");
        let world = FileFixture::edits("a/b/c.py").files(&["a/ruff.toml"]).on_path(&["ruff"]);
        world.plans("fix ruff @a | fix ruff format @a");
        world.says("ruff", "`a/ruff.toml` configures it");
    }

    #[test]
    fn ruff_reads_the_cells() {
        FileFixture::edits("a.ipynb").on_path(&["python3"]).plans("");
        let world = FileFixture::edits("a.ipynb").on_path(&["ruff", "python3", "pytest"]);
        world.plans("fix ruff");
        FileFixture::edits("a.ipynb").files(&["ruff.toml"]).plans("lacking ruff");
    }
}

mod format {
    use super::super::*;
    use crate::project::check::languages::world::FileFixture;

    const RUFF_ALONE: &str = "fix ruff | fix ruff format";

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &str) {
        let world = FileFixture::edits("a.py").on_path(&["ruff", "black"]);
        let world = files.iter().fold(world, |world, (path, text)| world.file(path, text));
        world.plans(expected);
    }

    #[test]
    fn nothing_is_formatted_unasked() {
        check(&[], "fix ruff");
        check(&[("pyproject.toml", "[project]")], "fix ruff");
        check(&[(PRE_COMMIT, "  - id: ruff\n")], "fix ruff");
    }

    #[test]
    fn ruff_formats_where_it_is_named() {
        check(&[("pyproject.toml", "[tool.ruff.format]\n[tool.black]")], RUFF_ALONE);
        check(&[("ruff.toml", "[format]"), ("pyproject.toml", "[tool.black]")], RUFF_ALONE);
        check(&[(".ruff.toml", "[format]"), (".style.yapf", "")], RUFF_ALONE);
        check(&[(PRE_COMMIT, "  - id: ruff-format\n")], RUFF_ALONE);
    }

    #[test]
    fn ruff_formats_where_it_is_configured_and_no_other_is() {
        check(&[("pyproject.toml", "[tool.ruff]")], RUFF_ALONE);
        check(&[("ruff.toml", ""), (".style.yapf", "")], "fix ruff");
        check(&[("ruff.toml", ""), ("setup.cfg", "[yapf]")], "fix ruff");
        check(&[("pyproject.toml", "[tool.ruff]\n[tool.yapf]")], "fix ruff");
        check(&[("pyproject.toml", "[tool.ruff]\n[tool.autopep8]")], "fix ruff");
    }

    #[test]
    fn black_formats_where_it_is_named() {
        check(&[("pyproject.toml", "[tool.black]\n[tool.ruff]")], "fix ruff | fix black");
        check(&[("ruff.toml", ""), (PRE_COMMIT, "  - id: black\n")], "fix ruff | fix black");
        let world = FileFixture::edits("a.py").file("pyproject.toml", "[tool.black]");
        world.plans("lacking black");
    }

    #[test]
    fn formatters_run_beside_what_names_them() {
        let world =
            FileFixture::edits("a/b/c.py").file("a/ruff.toml", "[format]").on_path(&["ruff"]);
        world.runs("ruff format", "ruff format --quiet --no-cache --force-exclude a/b/c.py");
        world.says("ruff format", "`a/ruff.toml` names it");
        let world = FileFixture::edits("a/b/c.py")
            .file("a/pyproject.toml", "[tool.black]")
            .on_path(&["black"]);
        world.plans("fix black @a");
        world.runs("black", "black --quiet a/b/c.py");
        world.says("black", "`a/pyproject.toml` names it");
    }

    #[track_caller]
    fn names(line: &str, expected: bool) {
        let world = FileFixture::edits("a.py").file(PRE_COMMIT, line);
        assert_eq!(hook(&world, "black").is_some(), expected, "{line}");
    }

    #[test]
    fn a_hook_is_named_by_its_whole_id() {
        names("      - id: black", true);
        names("-   id: 'black' # ours", true);
        names("  id: \"black\"", true);
        names("  - id: black-jupyter", false);
        names("  # - id: black", false);
        names("  - repo: black", false);
        names("  - id:", false);
    }
}

mod types {
    use crate::project::check::languages::world::FileFixture;

    const MYPY_LINE: &str = "--no-error-summary --hide-error-context --show-column-numbers \
                             --no-pretty --cache-dir /kept/";

    #[track_caller]
    fn check(path: &str, text: &str, expected: &str) {
        let tools = &["pyright", "basedpyright", "mypy"];
        FileFixture::edits("a/b/c.py").file(path, text).on_path(tools).plans(expected);
    }

    #[test]
    fn a_type_checker_runs_where_it_is_configured() {
        check("pyrightconfig.json", "", "look pyright");
        check("a/pyproject.toml", "[tool.pyright]", "look pyright @a");
        check("pyproject.toml", "[tool.basedpyright]", "look basedpyright");
        check("a/mypy.ini", "", "look mypy @a");
        check(".mypy.ini", "", "look mypy");
        check("pyproject.toml", "[tool.mypy]", "look mypy");
        check("setup.cfg", "[mypy]", "look mypy");
        check("pyproject.toml", "[project]", "");
    }

    #[test]
    fn it_is_lacking_where_it_is_not_installed() {
        let world = FileFixture::edits("a.py").files(&["pyrightconfig.json", "mypy.ini"]);
        world.plans("lacking pyright | lacking mypy");
        world.says(
            "pyright",
            "`pyrightconfig.json` configures it, but it is not installed; run `pip install \
             pyright`",
        );
    }

    #[test]
    fn pyright_is_told_of_the_project_s_python() {
        let world =
            FileFixture::edits("a/b.py").files(&["pyrightconfig.json"]).on_path(&["pyright"]);
        world.runs("pyright", "pyright --outputjson a/b.py");
        world.says("pyright", "`pyrightconfig.json` configures it");
        let world = world.installed(".venv/bin/python3");
        world.runs("pyright", "pyright --outputjson --pythonpath .venv/bin/python3 a/b.py");
        let world = world.file("pyrightconfig.json", "{\"exclude\": [\".venv\", \"venv\"]}");
        world.runs("pyright", "pyright --outputjson --pythonpath .venv/bin/python3 a/b.py");
    }

    #[test]
    fn pyright_keeps_the_python_that_its_configuration_chooses() {
        let keeps = |path, text| {
            FileFixture::edits("a/b.py")
                .file(path, text)
                .on_path(&["pyright"])
                .installed(".venv/bin/python3")
                .runs("pyright", "pyright --outputjson a/b.py");
        };
        keeps("pyrightconfig.json", "{\"venv\": \"other\"}");
        keeps("pyrightconfig.json", "{\"venvPath\" : \"other\"}");
        keeps("pyproject.toml", "[tool.pyright]\nvenvPath = \"other\"");
    }

    #[test]
    fn mypy_is_told_of_the_project_s_python_and_keeps_its_cache_elsewhere() {
        let world = FileFixture::edits("a/b.py").files(&["mypy.ini"]).on_path(&["mypy"]);
        world.runs("mypy", &format!("mypy {MYPY_LINE}w a/b.py"));
        world.says("mypy", "`mypy.ini` configures it");
        let world = world.installed(".venv/bin/python3");
        world.runs(
            "mypy",
            &format!("mypy {MYPY_LINE}w --python-executable .venv/bin/python3 a/b.py"),
        );
        let world = world.file("mypy.ini", "[mypy]\npython_executable = x");
        world.runs("mypy", &format!("mypy {MYPY_LINE}w a/b.py"));
    }
}

mod tests_of {
    use super::super::*;
    use crate::project::check::CheckMethod;
    use crate::project::check::languages::world::FileFixture;

    /// Finds the tests of a file among these files.
    #[track_caller]
    fn check(file: &str, files: &[&str], expected: &[&str]) {
        let found = related(&FileFixture::edits(file).files(files));
        let expected: Vec<PathBuf> = expected.iter().map(|one| Path::new("/w").join(one)).collect();
        assert_eq!(found, expected, "{file}");
    }

    #[test]
    fn a_test_is_its_own() {
        check("a/test_b.py", &["a/test_test_b.py"], &["a/test_b.py"]);
        check("a/b_test.py", &[], &["a/b_test.py"]);
        check("a/testing.py", &[], &[]);
        check("a/test_b.pyi", &[], &[]);
    }

    #[test]
    fn tests_stand_beside_the_file_or_in_a_folder_of_tests() {
        check("a/b.py", &["a/test_b.py", "a/b_test.py"], &["a/test_b.py", "a/b_test.py"]);
        check("a/b.py", &["a/tests/test_b.py"], &["a/tests/test_b.py"]);
        check("a/b.py", &["a/test/b_test.py"], &["a/test/b_test.py"]);
        check("a/b.py", &["tests/test_b.py"], &["tests/test_b.py"]);
        check("a/b.py", &["test_b.py", "a/tests/test_c.py", "a/c/test_b.py"], &[]);
        check("b.py", &["tests/test_b.py"], &["tests/test_b.py"]);
    }

    #[test]
    fn the_path_may_be_mirrored_from_any_folder_on() {
        check("src/a/b/c.py", &["tests/src/a/b/test_c.py"], &["tests/src/a/b/test_c.py"]);
        check("src/a/b/c.py", &["tests/b/test_c.py"], &["tests/b/test_c.py"]);
        check("src/a/b/c.py", &["src/tests/b/test_c.py"], &["src/tests/b/test_c.py"]);
        check("src/a/b/c.py", &["tests/other/test_c.py"], &[]);
    }

    #[test]
    fn the_nearest_tests_are_meant_and_of_those_the_closest_mirror() {
        let nearest = &["src/a/tests/test_b.py"];
        check("src/a/b.py", &["tests/test_b.py", "src/a/tests/test_b.py"], nearest);
        let mirror = &["tests/a/test_b.py"];
        check("src/a/b.py", &["tests/test_b.py", "tests/a/test_b.py"], mirror);
        check("a/b.py", &["a/tests/test_b.py", "a/test_b.py"], &["a/test_b.py"]);
    }

    /// A test with this text, in a project with this file and with all tools installed.
    #[track_caller]
    fn runner(test: &str, (path, text): (&str, &str), expected: &str) {
        FileFixture::edits("a/test_b.py")
            .file(path, text)
            .file("a/test_b.py", test)
            .on_path(&["pytest", "python3"])
            .plans(&format!("look py_compile @a{expected}"));
    }

    #[test]
    fn pytest_runs_where_the_project_or_the_test_speaks_of_it() {
        let none = ("other", "");
        let case = "import unittest\n";
        runner("import pytest\n", none, " | test pytest");
        runner("from pytest import raises\n", none, " | test pytest");
        runner("def test_a():\n", none, " | test pytest");
        runner("async def test_a():\n", none, " | test pytest");
        runner(case, ("conftest.py", ""), " | test pytest");
        runner(case, ("a/pytest.ini", ""), " | test pytest @a");
        runner(case, ("pyproject.toml", "dev = [\"pytest>=8\"]"), " | test pytest");
        runner(case, ("requirements-dev.txt", "pytest\n"), " | test pytest");
    }

    #[test]
    fn unittest_runs_its_own_cases() {
        runner("import unittest\n", ("other", ""), " | test unittest");
        runner("x = 1\n", ("other", ""), "");
        runner("    def test_a(self):\n", ("other", ""), "");
        let world = FileFixture::edits("a/test_b.py").file("a/test_b.py", "import unittest");
        world.plans("");
        let world = world.on_path(&["python3"]);
        world.runs("unittest", "python3 -m unittest a/test_b.py");
        world.says("unittest", "it is a test");
        assert_eq!(variables(&world, "unittest"), "PYTHONPYCACHEPREFIX=/kept/w");
    }

    #[test]
    fn a_root_that_speaks_of_pytest_does_so_for_its_parts() {
        FileFixture::edits("a/test_b.py")
            .files(&["a/setup.py"])
            .file("requirements.txt", "pytest")
            .on_path(&["pytest"])
            .plans("test pytest @a");
        FileFixture::edits("a/test_b.py")
            .files(&["requirements.txt"])
            .file("a/setup.py", "pytest")
            .on_path(&["pytest"])
            .plans("test pytest @a");
    }

    #[test]
    fn pytest_is_lacking_where_it_is_used_and_not_installed() {
        let world = FileFixture::edits("a/b.py").files(&["conftest.py"]);
        world.plans("");
        let world = world.files(&["tests/test_b.py"]);
        world.plans("lacking pytest");
        world.says(
            "pytest",
            "the project uses it and it is not installed; run `pip install pytest`",
        );
    }

    #[test]
    fn a_project_with_its_own_python_has_its_own_pytest() {
        let world = FileFixture::edits("test_b.py")
            .files(&["conftest.py"])
            .on_path(&["pytest"])
            .installed(".venv/bin/python3");
        world.plans("look py_compile | lacking pytest");
        let world = world.installed(".venv/bin/pytest");
        world.plans("look py_compile | test pytest");
    }

    const PYTEST: &str = "pytest -q --no-header -rfE -p no:cacheprovider";

    #[test]
    fn pytest_leaves_nothing_in_the_project() {
        let world = FileFixture::edits("a/b.py")
            .files(&["a/test_b.py", "a/b_test.py", "conftest.py"])
            .on_path(&["pytest"]);
        world.runs("pytest", &format!("{PYTEST} a/test_b.py a/b_test.py"));
        world.says("pytest", "`a/test_b.py` and `a/b_test.py` belong to it");
        assert_eq!(variables(&world, "pytest"), "PYTHONPYCACHEPREFIX=/kept/w");
    }

    #[test]
    fn what_all_tests_must_cover_is_not_asked_of_some() {
        let line = |path, text, expected: &str| {
            let world = FileFixture::edits("test_a.py").file(path, text).on_path(&["pytest"]);
            world.runs("pytest", &format!("{PYTEST} {expected}test_a.py"));
        };
        line("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"--cov\"", "--no-cov ");
        line("pytest.ini", "[pytest]\naddopts = --cov=a", "--no-cov ");
        line("setup.cfg", "[tool:pytest]\naddopts = --cov", "--no-cov ");
        line("pytest.ini", "[pytest]\naddopts = -ra", "");
        line("tox.ini", "[testenv]\ncommands = pytest --cov", "");
    }

    fn variables(world: &FileFixture, name: &str) -> String {
        let CheckMethod::Program(program) = world.check(name).by else {
            panic!("{name} is a program")
        };
        let said = program.variables.iter().map(|(name, value)| format!("{name}={value}"));
        said.collect::<Vec<_>>().join(" ")
    }
}
