//! What the project can be told to do by a name: Makefile, justfile, mise, Task, Deno, Composer.
//!
//! The scripts of a `package.json` stand with what else it says.

use super::{Fact, FileFormat, Project, shape, show, useful};
use crate::project::recipes::{self, JUSTFILES, MAKEFILES, Recipe};
use serde_json::Value;
use std::borrow::Cow;

/// The most of what a task says about itself, in UTF-16 units.
const HELP: usize = 44;

/// The most tasks of one runner that say something; of the others the names are worth more.
const HELPED: usize = 5;

/// The most tasks of one runner that are named.
const TASKS: usize = 24;

const MISE: [&str; 4] = ["mise.toml", ".mise.toml", ".config/mise.toml", "mise/config.toml"];
const TASKFILES: [&str; 4] = ["Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"];

/// A name, and what is said about it; or else the command that it stands for.
struct Task<'a> {
    name: Cow<'a, str>,
    says: &'a str,
}

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let text = |names: &[&str]| names.iter().find_map(|name| project.text(name));
    let document = |names: &[&str], form| {
        names.iter().find_map(|name| project.document(name, form)).unwrap_or_default()
    };
    let (make, just) = (text(&MAKEFILES).unwrap_or_default(), text(&JUSTFILES).unwrap_or_default());
    let (task, mise) = (document(&TASKFILES, FileFormat::Yaml), document(&MISE, FileFormat::Toml));
    let deno = document(&["deno.json", "deno.jsonc"], FileFormat::Json);
    let composer = document(&["composer.json"], FileFormat::Json);
    let targets = recipes::of_make(&make).into_iter().filter(is_no_file);
    let runners = [
        ("make", targets.map(of_recipe).collect()),
        ("just", recipes::of_just(&just).into_iter().map(of_recipe).collect()),
        ("task", described(&task["tasks"])),
        ("mise run", described(&mise["tasks"])),
        ("deno task", described(&deno["tasks"])),
        ("composer run-script", described(&composer["scripts"])),
    ];
    let lines: Vec<String> =
        runners.into_iter().filter_map(|(runner, tasks)| line(runner, tasks)).collect();
    (!lines.is_empty()).then(|| Fact { heading: "tasks, called by name".to_owned(), lines })
}

fn line(runner: &str, mut tasks: Vec<Task<'_>>) -> Option<String> {
    useful::first(&mut tasks, |task| &task.name);
    let shown: Vec<Cow<'_, str>> = tasks
        .iter()
        .enumerate()
        .map(|(at, task)| match task.says {
            says if says.is_empty() || at >= HELPED => Cow::from(&*task.name),
            says => Cow::from(format!("{} # {}", task.name, show::short(says, HELP))),
        })
        .collect();
    let shown = show::list(shown.iter().map(|text| &**text), TASKS);
    (!tasks.is_empty()).then(|| format!("{runner} {shown}"))
}

/// A target that looks like a file is one step of the build and nothing to ask for.
fn is_no_file(recipe: &Recipe<'_>) -> bool {
    !recipe.name.contains(['/', '.'])
}

fn of_recipe(recipe: Recipe<'_>) -> Task<'_> {
    let name = match recipe.arguments.as_str() {
        "" => Cow::from(recipe.name),
        arguments => Cow::from(format!("{} {arguments}", recipe.name)),
    };
    Task { name, says: recipe.help.unwrap_or_default() }
}

/// Tasks in a table: a command, several, or a table with a description and with commands.
fn described(tasks: &Value) -> Vec<Task<'_>> {
    let is_hidden = |task: &Value| task["internal"] == true || task["hide"] == true;
    shape::members(tasks)
        .filter(|(_, task)| !task.is_null() && !task.is_number() && !is_hidden(task))
        .map(|(name, task)| {
            let says = [&task["desc"], &task["description"], &task["summary"]];
            let runs = [task, &task["run"], &task["command"], &task["cmd"], &task["cmds"]];
            let text =
                says.into_iter().chain(runs).find_map(|part| shape::texts(part).first().copied());
            Task { name: Cow::from(name), says: text.unwrap_or_default() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::world::ProjectFixture;
    use super::fact;
    use serde_json::json;

    #[test]
    fn targets_of_a_makefile_come_with_their_help() {
        let text = "SOURCES = a.c \\\nodd: x\nV := 1\n.PHONY: all test\n.SUFFIXES:\n\
                    all: build ## everything\n## runs the tests\n.PHONY: test\ntest: build\n\t./a:b\n\
                    # no help\nbuild clean:\n\ta\n%.o: %.c\nout/x: y\nmain.o: main.c\n$(X): y\n\
                    define D\nfake: x\nendef\n";
        ProjectFixture::new().file("Makefile", text).tells(
            fact,
            "tasks, called by name\n  \
             make \"test # runs the tests\", \"build\", \"all # everything\", \"clean\"",
        );
    }

    #[test]
    fn recipes_of_a_justfile_name_the_arguments_that_they_need() {
        let text = "set shell := ['bash']\nalias t := test\n# ships it\n[group: 'x']\n\
                    deploy env tag='x':\n    a\n# lost\n\n@test *args: build\n_inner:\n[private]\nno:\n\
                    build:\n";
        ProjectFixture::new().file("justfile", text).tells(
            fact,
            "tasks, called by name\n  just \"test\", \"build\", \"deploy env # ships it\"",
        );
    }

    #[test]
    fn other_runners_keep_theirs_in_tables() {
        let mise = json!({"lint": {"description": "checks", "run": "x"}, "n": {"hide": true},
            "test": "cargo test"});
        let task = json!({"a": {"desc": "does a"}, "b": ["x"], "c": {"internal": true}, "d": 3,
            "e": {"cmds": ["y"]}});
        ProjectFixture::new()
            .document("mise.toml", json!({"tasks": mise}))
            .document("Taskfile.yml", json!({"tasks": task}))
            .file("deno.jsonc", r#"{"tasks": {"dev": "API_KEY=abc deno run a.ts", /* x */}}"#)
            .file("composer.json", r#"{"scripts": {"test": ["phpunit", "x"]}}"#)
            .tells(
                fact,
                "tasks, called by name\n  \
                 task \"a # does a\", \"b # x\", \"e # y\"\n  \
                 mise run \"test # cargo test\", \"lint # checks\"\n  \
                 deno task \"dev # API_KEY=… deno run a.ts\"\n  \
                 composer run-script \"test # phpunit\"",
            );
    }

    #[test]
    fn many_targets_with_a_long_help_cost_little() {
        let text = format!("{}: ## {}", "a ".repeat(250_000), "x".repeat(500_000));
        let lines = fact(&ProjectFixture::new().file("Makefile", &text)).unwrap().lines;
        assert!(lines[0].ends_with("\"a\", and 249976 more"), "{}", lines[0]);
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        ProjectFixture::new()
            .file("Makefile", "a := b\n")
            .document("mise.toml", json!({"tasks": [1]}))
            .document("Taskfile.yml", json!("x"))
            .file("deno.json", "[")
            .file("composer.json", r#"{"scripts": "x"}"#)
            .tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
    }
}
