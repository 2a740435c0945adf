//! Every command of `ralph`, each in a short form that can be parsed.

use clap::{Arg, Command};
use ralph_core::guard::commands::Reach;

/// The words of each command, without arguments, and what the command may reach.
pub fn commands() -> Vec<(Vec<String>, Reach)> {
    let mut all = Vec::new();
    leaves(&ralph::cli::command(), &[], &mut all);
    all
}

fn leaves(command: &Command, above: &[String], all: &mut Vec<(Vec<String>, Reach)>) {
    for one in command.get_subcommands() {
        let words = [above, &[one.get_name().to_owned()]].concat();
        if one.has_subcommands() {
            leaves(one, &words, all);
            continue;
        }
        let needed: Vec<String> =
            one.get_arguments().filter(|arg| arg.is_required_set()).flat_map(given).collect();
        // What each needs beside what is always required.
        let reach = [&[][..], &["1"], &["--explain"]].iter().find_map(|more| {
            let line = words.iter().chain(&needed).map(String::as_str);
            ralph::cli::reach(&line.chain(more.iter().copied()).collect::<Vec<_>>())
        });
        let reach = reach.unwrap_or_else(|| panic!("`{}` cannot be parsed", words.join(" ")));
        all.push((words, reach));
    }
}

fn given(arg: &Arg) -> Vec<String> {
    let possible = arg.get_possible_values().first().map(|one| one.get_name().to_owned());
    let word = if arg.get_id() == "status" { "done" } else { "1" };
    let value = possible.unwrap_or_else(|| word.to_owned());
    let long = arg.get_long().map(|long| format!("--{long}"));
    long.into_iter().chain([value]).collect()
}
