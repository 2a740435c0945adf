//! The page of all commands: what the executable prints for `--help`, word for word.

use ralph_core::guard::commands::ALIASES;
use std::fmt::Write;
use std::process::{Command, Stdio};

pub(super) fn page() -> String {
    let mut page = "# Commands\n\n\
        <!-- Written by the tests from the code: RALPH_UPDATE=1 cargo test -p ralph --test docs reference -->\n\n\
        Every command of `ralph`, with its `--help`.\n\n\
        | exit code | in all commands |\n|---|---|\n"
        .to_owned();
    for (code, cause) in ralph::cli::EXIT_CODES {
        writeln!(page, "| {code} | {cause} |").unwrap();
    }
    page.push('\n');
    let mut all = vec!["ralph".to_owned()];
    let mut command = ralph::cli::command();
    command.build();
    names_below(&command, "ralph", &mut all);
    for name in &all {
        let depth = name.matches(' ').count();
        writeln!(page, "{}- [`{name}`](#{})", "  ".repeat(depth), name.replace(' ', "-")).unwrap();
    }
    page.push_str("\nOther names, which stay:\n\n| name | is |\n|---|---|\n");
    for (alias, command) in ALIASES {
        // The kind of work is an option of no help: the id of the work says it. So is the status of a task.
        let command = command.split(" --of=").next().unwrap_or_default();
        let command = command.replace(" --as=", " TASK ");
        writeln!(page, "| `ralph {alias}` | `ralph {command}` |").unwrap();
    }
    for name in &all {
        writeln!(page, "\n## {name}\n\n```\n{}```", help(name)).unwrap();
    }
    page
}

/// All commands that people type, each followed by its own.
fn names_below(command: &clap::Command, name: &str, all: &mut Vec<String>) {
    for inner in command.get_subcommands().filter(|inner| !ralph::cli::is_internal(inner)) {
        if inner.get_name() != "help" {
            let name = format!("{name} {}", inner.get_name());
            all.push(name.clone());
            names_below(inner, &name, all);
        }
    }
}

/// Without a terminal, whose width the help would take.
fn help(name: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
    command.args(name.split(' ').skip(1)).arg("--help").env_clear().stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
