//! The targets of a Makefile and the recipes of a justfile.
//!
//! The scripts of a `package.json` are in the fact about that file.

use super::{Fact, Project, show, useful};
use crate::project::recipes::{self, JUSTFILES, MAKEFILES, Recipe};

/// Length limit of a task's own description, in UTF-16 units.
const HELP: usize = 44;

/// How many tasks of one runner are shown with their description; for the others the names are more
/// useful.
const HELPED: usize = 5;

/// How many tasks of one runner are named.
const TASKS: usize = 24;

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let text = |names: &[&str]| names.iter().find_map(|name| project.text(name.as_ref()));
    let (make, just) = (text(&MAKEFILES).unwrap_or_default(), text(&JUSTFILES).unwrap_or_default());
    let mut targets = recipes::of_make(&make);
    // A target that looks like a file is a step of the build.
    targets.retain(|target| !target.name.contains(['/', '.']));
    let lines = [line("make", targets), line("just", recipes::of_just(&just))];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    (!lines.is_empty()).then(|| Fact { heading: "tasks, called by name".to_owned(), lines })
}

fn line(runner: &str, mut recipes: Vec<Recipe<'_>>) -> Option<String> {
    useful::first(&mut recipes, |recipe| recipe.name);
    let shown: Vec<String> = recipes
        .iter()
        .enumerate()
        .map(|(at, recipe)| {
            let call = format!("{} {}", recipe.name, recipe.arguments);
            match recipe.help.filter(|_| at < HELPED) {
                Some(help) => format!("{} # {}", call.trim_end(), show::short(help, HELP)),
                None => call.trim_end().to_owned(),
            }
        })
        .collect();
    let shown = show::list(shown.iter().map(String::as_str), TASKS);
    (!recipes.is_empty()).then(|| format!("{runner} {shown}"))
}

#[cfg(test)]
mod tests {
    use super::fact;
    use crate::project::fixture::ProjectFixture;

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
    fn many_targets_with_a_long_help_cost_little() {
        let text = format!("{}: ## {}", "a ".repeat(250_000), "x".repeat(500_000));
        let lines = fact(&ProjectFixture::new().file("Makefile", &text)).unwrap().lines;
        assert!(lines[0].ends_with("\"a\", and 249976 more"), "{}", lines[0]);
    }

    #[test]
    fn without_targets_there_is_nothing_to_tell() {
        ProjectFixture::new().file("Makefile", "a := b\n").tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
    }
}
