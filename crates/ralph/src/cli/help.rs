//! `ralph --help` and `ralph help`: the commands in groups, on one screen.

use crate::command::exit::{Exit, usage};
use crate::command::screen;
use anyhow::Result;
use clap::Command;
use ralph_core::guard::commands::{self, CommandRow, GROUPS};
use std::fmt::Write;

/// True for a command that Ralph itself starts, or a release: it has no documentation.
pub(super) fn is_internal(command: &Command) -> bool {
    command.is_hide_set() && commands::is_undocumented(command.get_name())
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List all commands
    #[arg(long, conflicts_with = "command")]
    all: bool,
    /// The command to describe
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut command = super::command();
    if args.all {
        return screen::print(listing(&command, true).trim_end());
    }
    command.build();
    let mut found = &mut command;
    let names = commands::without_alias(args.command.clone());
    for name in names.iter().filter(|name| !name.starts_with('-')) {
        found = found.find_subcommand_mut(name).ok_or_else(|| {
            let why = format!("`ralph` has no command `{}`", screen::visible(name));
            usage(format!("{why}; `ralph help --all` lists the commands"))
        })?;
    }
    screen::print(found.render_long_help().to_string().trim_end())
}

/// The words that follow `ralph`, each once.
fn first_words(rows: &[CommandRow]) -> Vec<&'static str> {
    let mut words: Vec<&str> = rows.iter().filter_map(|row| row.name.split(' ').next()).collect();
    words.dedup();
    words
}

/// The list of commands by group.
pub(super) fn listing(command: &Command, all: bool) -> String {
    let names = |group: &commands::Group| {
        let others = if all { group.others } else { &[] };
        [first_words(group.first), first_words(others)].concat()
    };
    let width = GROUPS.iter().flat_map(names).map(str::len).max().unwrap_or_default();
    let mut text = "Makes Claude Code finish the job\n\nUsage: ralph [COMMAND]\n\n".to_owned();
    for group in &GROUPS {
        let mut label = group.name;
        for name in names(group) {
            let known = command.find_subcommand(name).and_then(Command::get_about);
            let about = known.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "{label:<8}{name:<width$}  {about}");
            label = "";
        }
    }
    text.push_str(
        "\n`ralph` alone shows this project's loop.\n`ralph COMMAND --help` describes a command",
    );
    text.push_str(if all { ".\n" } else { "; `ralph help --all` lists the others.\n" });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_command_that_is_not_hidden_is_in_one_group() {
        let command = crate::cli::command();
        let both = |group: &commands::Group| [group.first, group.others].map(first_words).concat();
        let in_groups: Vec<&str> = GROUPS.iter().flat_map(both).collect();
        let shown: BTreeSet<&str> = command
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(Command::get_name)
            .collect();
        assert_eq!(in_groups.iter().copied().collect::<BTreeSet<_>>(), shown);
        assert_eq!(in_groups.len(), shown.len(), "a command is in two groups");
    }

    /// All commands that a user types, each with its own below it.
    fn all(command: &Command) -> Vec<&Command> {
        let below = command.get_subcommands().filter(|one| !one.is_hide_set());
        below.flat_map(|one| std::iter::once(one).chain(all(one))).collect()
    }

    #[test]
    fn the_help_of_each_option_is_one_line_and_few_options_are_to_be_learnt() {
        let mut command = crate::cli::command().term_width(100);
        command.build();
        let mut flags = BTreeSet::new();
        for one in all(&command) {
            let help = one.clone().render_long_help().to_string();
            let wrapped = help.lines().find(|line| line.starts_with(&" ".repeat(14)));
            assert_eq!(wrapped, None, "{help}");
            let shown = one.get_arguments().filter(|argument| !argument.is_hide_set());
            flags.extend(shown.filter_map(clap::Arg::get_long).filter(|flag| *flag != "help"));
        }
        // `--once`, `--ready`, `--lint`, `--show`, `--ideas` and `--planned` took the place of commands.
        assert!(flags.len() <= 58, "{} options: {flags:?}", flags.len());
        for former in ["refine", "trace", "max-workers", "result", "reason", "none", "mode"] {
            assert!(!flags.contains(former), "{former}");
        }
    }

    #[test]
    fn the_first_page_fits_a_small_terminal() {
        let text = listing(&crate::cli::command(), false);
        assert!(text.lines().count() < 24, "{text}");
        assert!(GROUPS.iter().map(|group| first_words(group.first).len()).sum::<usize>() <= 16);
        let all = listing(&crate::cli::command(), true);
        assert!(all.lines().all(|line| line.chars().count() <= 100), "{all}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
