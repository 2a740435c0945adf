//! The page of all commands, from the table that reads the command line.

use clap::{Arg, Command};
use std::fmt::Write;

/// The whole page.
pub(super) fn page() -> String {
    let mut command = ralph::cli::command();
    command.build();
    let mut page = "# Commands\n\n\
        <!-- Written by the tests from the code: RALPH_UPDATE=1 cargo test -p ralph --test docs reference -->\n\n\
        Every command of `ralph`, as `--help` tells it. Exit codes: 0 done, or yes; 1 the answer is no; 2 the command\n\
        line cannot be understood; 3 a file is broken, or not ours to change; 4 a needed program is missing or failed.\n\n"
        .to_owned();
    let all = below(&command, "ralph");
    for (name, command) in &all {
        let depth = name.matches(' ').count();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(page, "{}- [`{name}`](#{}): {about}", "  ".repeat(depth - 1), anchor(name))
            .unwrap();
    }
    for (name, command) in &all {
        section(&mut page, name, command);
    }
    page
}

/// All that are below, each followed by its own.
fn below(command: &Command, name: &str) -> Vec<(String, Command)> {
    let mut found = Vec::new();
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        if inner.get_name() != "help" {
            let name = format!("{name} {}", inner.get_name());
            found.push((name.clone(), inner.clone()));
            found.extend(below(inner, &name));
        }
    }
    found
}

fn anchor(name: &str) -> String {
    name.replace(' ', "-")
}

fn section(page: &mut String, name: &str, command: &Command) {
    writeln!(page, "\n## {name}\n").unwrap();
    let about = command.get_long_about().or(command.get_about());
    if let Some(about) = about {
        writeln!(page, "{}.", text(&about.to_string()).trim_end_matches('.')).unwrap();
    }
    let inner: Vec<String> = below(command, name).into_iter().map(|(name, _)| name).collect();
    if !inner.is_empty() {
        let links = inner.iter().map(|name| format!("[`{name}`](#{})", anchor(name)));
        writeln!(page, "\nBelow it: {}.", links.collect::<Vec<_>>().join(", ")).unwrap();
    } else {
        writeln!(page, "\n```\n{}\n```", usage(name, command)).unwrap();
    }
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let rows: Vec<String> = command.get_arguments().filter(shown).map(row).collect();
    if !rows.is_empty() {
        writeln!(page, "\n| | |\n|---|---|\n{}", rows.join("\n")).unwrap();
    }
}

fn usage(name: &str, command: &Command) -> String {
    let given = command.get_positionals().filter(|arg| !arg.is_hide_set()).map(|arg| {
        let many = arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        let dots = if many { "..." } else { "" };
        let value = values(arg);
        if arg.is_required_set() { format!("<{value}>{dots}") } else { format!("[{value}]{dots}") }
    });
    let has_options = command.get_opts().any(|arg| !arg.is_hide_set())
        || command
            .get_arguments()
            .any(|arg| !arg.is_positional() && !arg.is_hide_set() && arg.get_id() != "help");
    let options = has_options.then(|| "[OPTIONS]".to_owned());
    [name.to_owned()].into_iter().chain(options).chain(given).collect::<Vec<_>>().join(" ")
}

fn values(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" ")
}

fn row(arg: &Arg) -> String {
    let takes = arg.get_action().takes_values();
    let mut spelled: Vec<String> = Vec::new();
    spelled.extend(arg.get_short().map(|short| format!("-{short}")));
    spelled.extend(arg.get_long().map(|long| format!("--{long}")));
    let mut name = spelled.join(", ");
    if arg.is_positional() {
        name = values(arg);
    } else if takes {
        write!(name, " <{}>", values(arg)).unwrap();
    }
    let mut about = arg.get_help().map(|help| text(&help.to_string())).unwrap_or_default();
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        write!(about, " (else: {})", defaults.join(" ")).unwrap();
    }
    let possible: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if takes && !possible.is_empty() && !arg.is_hide_possible_values_set() {
        write!(about, " ({})", possible.join(", ")).unwrap();
    }
    format!("| `{}` | {} |", name.replace('|', "\\|"), about.replace('|', "\\|"))
}

/// One line, and nothing in it that Markdown would take for a mark of its own.
fn text(help: &str) -> String {
    let line = help.split_whitespace().collect::<Vec<_>>().join(" ");
    line.split('`')
        .enumerate()
        .map(|(n, part)| {
            if n % 2 == 0 { part.replace('<', "\\<").replace('*', "\\*") } else { part.to_owned() }
        })
        .collect::<Vec<_>>()
        .join("`")
}
