//! The commands by which the project's own CI tests, builds and checks it.
//!
//! What prepares a machine, and what deploys, is left out: neither says whether the code is right.

use super::{Fact, FileFormat, Project, show};
use serde_json::Value;

/// Folders of workflows.
const FOLDERS: [&str; 3] = [".github/workflows", ".forgejo/workflows", ".gitea/workflows"];

/// Files of the other services.
const FILES: [&str; 9] = [
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".travis.yml",
    ".woodpecker.yml",
    ".woodpecker.yaml",
    ".drone.yml",
    ".cirrus.yml",
];

/// The most workflows of a folder that are read.
const WORKFLOWS: usize = 20;

/// The most commands that are looked at, and that are told.
const LOOKED_AT: usize = 500;
const TOLD: usize = 12;

/// Of commands with the same first two words, so many are told before the others are.
const VARIANTS: usize = 3;

/// The longest folder that a command is told to run in, in UTF-16 units.
const FOLDER: usize = 60;

/// Members that hold commands, whatever the service.
const COMMANDS: [&str; 6] = ["run", "script", "commands", "command", "bash", "pwsh"];

/// How deep commands are looked for.
const DEEPEST: usize = 12;

/// Words of a command by which it is one that we want, the best first.
const WANTED: [&[&str]; 4] = [
    &[
        "test",
        "tests",
        "pytest",
        "jest",
        "vitest",
        "mocha",
        "nextest",
        "ctest",
        "rspec",
        "phpunit",
        "pest",
        "tox",
        "nox",
        "playwright",
        "cypress",
        "e2e",
        "verify",
    ],
    &[
        "lint",
        "clippy",
        "eslint",
        "check",
        "checks",
        "typecheck",
        "tsc",
        "mypy",
        "pyright",
        "ruff",
        "biome",
        "vet",
        "golangci",
        "rubocop",
        "phpstan",
        "shellcheck",
        "fmt",
        "format",
        "prettier",
        "black",
        "credo",
        "actionlint",
        "deny",
        "audit",
    ],
    &["build", "compile", "doc", "docs"],
    &["just", "make", "bazel", "gradlew", "mvn", "mvnw", "ci"],
];

/// Words of a command by which it only prepares or delivers.
const UNWANTED: [&str; 13] = [
    "install", "add", "download", "restore", "sync", "setup", "login", "push", "publish", "deploy",
    "upload", "apt", "rustup",
];

/// Programs, and words of the shell's own, that check nothing by themselves.
const UNWANTED_FIRST: [&str; 46] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "set", "cd", "exit", "export", "source", "return", "trap", "wait", "kill", "sleep", "true",
    "echo", "printf", "cat", "tee", "ls", "find", "grep", "sed", "awk", "jq", "tar", "unzip",
    "zip", "curl", "wget", "git", "gh", "brew", "corepack", "mkdir", "cp", "mv", "rm",
];

/// A command, the rank of its use, and the number of the file that it stands in.
type RankedCommand = (usize, usize, String);

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let files = files(project);
    let mut commands: Vec<RankedCommand> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let document = project.document(file, FileFormat::Yaml).unwrap_or_default();
        gather(&document, None, DEEPEST, &mut |command| add(&mut commands, at, command));
    }
    commands.sort_by_key(|(rank, file, _)| (*rank, *file));
    commands.truncate(TOLD);
    let lines: Vec<String> =
        files.iter().enumerate().filter_map(|(at, file)| line(&commands, at, file)).collect();
    (!lines.is_empty()).then(|| Fact { heading: "commands of its CI".to_owned(), lines })
}

fn files(project: &dyn Project) -> Vec<String> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        let entries = project.folder(folder).unwrap_or_default().entries;
        let is_workflow = |name: &&str| name.ends_with(".yml") || name.ends_with(".yaml");
        let names = entries.iter().map(|entry| entry.name.as_str()).filter(is_workflow);
        files.extend(names.take(WORKFLOWS).map(|name| format!("{folder}/{name}")));
    }
    files.extend(FILES.map(str::to_owned));
    files
}

fn line(commands: &[RankedCommand], at: usize, file: &str) -> Option<String> {
    let own: Vec<&str> = commands
        .iter()
        .filter(|(_, from, _)| *from == at)
        .map(|(_, _, command)| command.as_str())
        .collect();
    (!own.is_empty()).then(|| format!("{}: {}", show::quoted(file), show::list(own, TOLD)))
}

/// What comes in many variants (`cargo test --features a`, `… b`) leaves room for the others.
fn add(commands: &mut Vec<RankedCommand>, at: usize, command: &str) {
    let Some(rank) = rank(command) else { return };
    if commands.len() == LOOKED_AT || commands.iter().any(|(.., known)| known == command) {
        return;
    }
    let is_variant = |(.., known): &&RankedCommand| {
        known.split_whitespace().take(2).eq(command.split_whitespace().take(2))
    };
    let variants = commands.iter().filter(is_variant).count();
    let later = if variants < VARIANTS { 0 } else { WANTED.len() };
    commands.push((rank + later, at, command.to_owned()));
}

/// Calls back with every command. `folder` is where they run, unless a step says otherwise.
fn gather(value: &Value, folder: Option<&str>, depth: usize, found: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(members) if depth > 0 => {
            let folder = value["working-directory"]
                .as_str()
                .or_else(|| value["defaults"]["run"]["working-directory"].as_str())
                .or(folder);
            for (name, member) in members {
                match COMMANDS.contains(&name.as_str()) {
                    true => of_scripts(member, folder, depth - 1, found),
                    false => gather(member, folder, depth - 1, found),
                }
            }
        }
        Value::Array(items) if depth > 0 => {
            items.iter().for_each(|item| gather(item, folder, depth - 1, found));
        }
        _ => {}
    }
}

/// A text, several of them, or a table that has one inside.
fn of_scripts(value: &Value, folder: Option<&str>, depth: usize, found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => of_text(text, folder, found),
        Value::Array(items) if depth > 0 => {
            items.iter().for_each(|item| of_scripts(item, folder, depth - 1, found));
        }
        _ => gather(value, folder, depth, found),
    }
}

/// The first line of each command; what is fed to one, or stands in its quotes, is none.
fn of_text(text: &str, folder: Option<&str>, found: &mut dyn FnMut(&str)) {
    let folder = folder.map(|folder| show::short(folder, FOLDER));
    let mut goes_on = false;
    let mut open: Option<char> = None;
    let mut fed_until: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        if let Some(end) = fed_until {
            fed_until = Some(end).filter(|end| line != *end);
            continue;
        }
        let is_inner = goes_on || open.is_some();
        if line.is_empty() || line.starts_with('#') && !is_inner {
            continue;
        }
        open = still_open(line, open);
        goes_on = line.ends_with('\\');
        fed_until = line.split_once("<<").map(|(_, end)| end).and_then(end_of_fed);
        let command = line.trim_end_matches('\\').trim_end();
        match &folder {
            _ if is_inner => {}
            Some(folder) => found(&format!("cd {folder} && {command}")),
            None => found(command),
        }
    }
}

/// The quote that is open at the end of a line.
fn still_open(line: &str, mut open: Option<char>) -> Option<char> {
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match open {
            Some(quote) if letter == quote => open = None,
            Some('\'') => {}
            _ if letter == '\\' => drop(letters.next()),
            None if matches!(letter, '"' | '\'') => open = Some(letter),
            _ => {}
        }
    }
    open
}

/// The word after `<<`; `<<<` feeds one line and ends with it.
fn end_of_fed(after: &str) -> Option<&str> {
    let word = after.strip_prefix('-').unwrap_or(after).split_whitespace().next()?;
    let word = word.trim_matches(['"', '\'']);
    (!word.is_empty() && !word.starts_with('<')).then_some(word)
}

/// How useful a command is; none if it does not say whether the code is right.
fn rank(command: &str) -> Option<usize> {
    // The last of several is what the others prepare.
    let last = command.rsplit("&&").next().unwrap_or(command);
    // What is kept in a variable is looked at by the commands after it.
    let first = last.split_whitespace().next()?;
    if ["=$(", "=\"$(", "=`"].iter().any(|kept| first.contains(kept)) {
        return None;
    }
    let is_before = |word: &&str| *word == "sudo" || word.contains('=');
    let mut parts = last.split_whitespace().skip_while(is_before).take(40).peekable();
    if UNWANTED_FIRST.contains(parts.peek()?) {
        return None;
    }
    // `--format=json` is how, and not what.
    let words: Vec<&str> = parts
        .filter(|part| !part.starts_with('-'))
        .flat_map(|part| part.split(|letter: char| !letter.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    let is_ci_install = words.starts_with(&["npm", "ci"]);
    if is_ci_install || words.iter().any(|word| UNWANTED.contains(word)) {
        return None;
    }
    WANTED.iter().position(|wanted| words.iter().any(|word| wanted.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::super::{show, world::ProjectFixture};
    use super::{fact, rank};
    use serde_json::{Value, json};

    #[track_caller]
    fn check(script: &str, expected: &[&str]) {
        let document = json!({"jobs": {"a": {"steps": [{"run": script}]}}});
        let world = ProjectFixture::new().document(".github/workflows/ci.yml", document);
        let expected: Vec<String> = expected.iter().map(|text| show::quoted(text)).collect();
        match expected.is_empty() {
            true => world.tells_nothing(fact),
            false => world.tells(
                fact,
                &format!(
                    "commands of its CI\n  \".github/workflows/ci.yml\": {}",
                    expected.join(", ")
                ),
            ),
        }
    }

    #[test]
    fn what_tests_comes_first_and_what_prepares_is_left_out() {
        check(
            "npm ci\nsudo apt-get install -y x\nnpm run build\nnpm run lint\nnpm test\n",
            &["npm test", "npm run lint", "npm run build"],
        );
        check(
            "cd web && pnpm test\ngit push\ncargo install x && cargo test",
            &["cd web && pnpm test", "cargo install x && cargo test"],
        );
        check("pip install -e '.[test]'\nrustup component add clippy\necho test", &[]);
    }

    #[test]
    fn only_the_first_line_of_each_command_is_told_and_each_once() {
        check(
            "set -e test\n# npm test\nif test -f x; then\n  make lint\nfi\ncargo test \\\n  --test b\n\
             cat <<'END' > x\npytest\nEND\nmake lint\nwc <<< test\n\n",
            &["cargo test", "wc <<< test", "make lint"],
        );
    }

    #[test]
    fn what_stands_in_the_quotes_of_a_command_is_none() {
        check(
            "python -c \"\nimport test\nprint('test it\\'s')\n\" -- test\ntox # it\\'s\nnpm test",
            &["tox # it\\'s", "npm test"],
        );
        check("X=$(test a) \"$(cat test)\"\nA=b tox 'x\ntest'", &["A=… tox 'x"]);
    }

    #[test]
    fn no_value_of_the_environment_is_told() {
        let step = json!({"run": "A_TOKEN=abc npm test", "env": {"B_KEY": "hunter2 test"}});
        ProjectFixture::new()
            .document(".github/workflows/a.yaml", json!({"jobs": {"a": {"steps": [step]}}}))
            .tells(
                fact,
                "commands of its CI\n  \".github/workflows/a.yaml\": \"A_TOKEN=… npm test\"",
            );
    }

    #[test]
    fn a_command_comes_with_the_folder_that_it_runs_in() {
        let steps =
            json!([{"run": "npm test", "working-directory": "web"}, {"run": "npm run lint"}]);
        let job = json!({"defaults": {"run": {"working-directory": "all"}}, "steps": steps});
        ProjectFixture::new()
            .document(".github/workflows/a.yml", json!({"jobs": {"a": job}}))
            .tells(
                fact,
                "commands of its CI\n  \
             \".github/workflows/a.yml\": \"cd web && npm test\", \"cd all && npm run lint\"",
            );
    }

    #[test]
    fn other_services_are_read_and_each_command_stands_at_its_file() {
        let circle = json!({"jobs": {"a": {"steps": ["checkout", {"run": "go test ./..."},
            {"run": {"name": "Lint", "command": "go vet ./..."}}]}}});
        let gitlab = json!({"a": {"before_script": ["make test-setup"], "script": ["tox", ["mypy ."]]},
            "stages": ["test"], "b": {"script": "tox"}});
        ProjectFixture::new()
            .document(".gitlab-ci.yml", gitlab)
            .document(".circleci/config.yml", circle)
            .tells(
                fact,
                "commands of its CI\n  \".gitlab-ci.yml\": \"tox\", \"mypy .\"\n  \
                 \".circleci/config.yml\": \"go test ./...\", \"go vet ./...\"",
            );
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for document in [json!(3), json!([[["test"]]]), json!({"run": 3}), json!({"script": [{}]})]
        {
            ProjectFixture::new().document(".travis.yml", document).tells_nothing(fact);
        }
        let deep = (0..100).fold(json!({"run": "npm test"}), |inner, _| json!({"a": inner}));
        ProjectFixture::new().document(".travis.yml", deep).tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
    }

    #[test]
    fn many_commands_are_bounded() {
        let steps: Vec<Value> =
            (0..20_000).map(|n| json!({"run": format!("make test{n} test")})).collect();
        let world = ProjectFixture::new().document(".travis.yml", json!({"steps": steps}));
        assert!(fact(&world).unwrap().lines[0].len() < 600);
    }

    #[test]
    fn variants_of_one_command_leave_room_for_others() {
        check(
            "cargo test a\ncargo test b\ncargo test c\ncargo test d\ncargo clippy",
            &["cargo test a", "cargo test b", "cargo test c", "cargo clippy", "cargo test d"],
        );
    }

    #[test]
    fn a_word_inside_another_says_nothing() {
        assert_eq!(rank("./latest.sh"), None);
        assert_eq!(rank("./scripts/test.sh"), Some(0));
        assert_eq!(rank("uv run ruff check"), Some(1));
        assert_eq!(rank("cargo metadata --format-version 1"), None);
        assert_eq!(rank("cat tests/out.log"), None);
        assert_eq!(rank("cargo test | tail -5"), Some(0));
        assert_eq!(rank(""), None);
    }
}
