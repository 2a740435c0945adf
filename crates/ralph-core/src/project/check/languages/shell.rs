//! Shell scripts: ShellCheck, or the shell's own parser if ShellCheck is not installed.
//!
//! Every file is examined, because a script without an extension is recognised only by its first
//! line.

use std::path::Path;

use super::super::CheckKind;
use super::super::parsers::OutputFormat;
use super::super::workspace::Around;
use super::check_builder::CheckBuilder;
use super::config_files::{ConfigFiles, configured_or_there};
use super::text_of;

const SHELLCHECK: ConfigFiles = ConfigFiles::files(&[".shellcheckrc", "shellcheckrc"]);

/// The shells that ShellCheck supports.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh"];

pub(super) fn wanted(around: &dyn Around) -> CheckBuilder {
    let mut wanted = CheckBuilder::new(around);
    let Some(shell) = shell(around) else { return wanted };
    if !look(around, shell, &mut wanted) {
        parse(around, shell, &mut wanted);
    }
    wanted
}

/// Adds ShellCheck; returns false if it is not installed.
///
/// Sourced files are followed, because otherwise their variables would seem unset. They are
/// searched for beside the script and from the root. A missing one (SC1091) is not an error,
/// because it may be created later.
fn look(around: &dyn Around, shell: &str, wanted: &mut CheckBuilder) -> bool {
    let named = ("shellcheck", "see https://www.shellcheck.net");
    let why = format!("it is a {shell} script");
    let found = configured_or_there(around, SHELLCHECK, named, &why, wanted);
    let Some(shellcheck) = found else { return false };
    let file = text_of(around.file());
    let line = ["--format", "json1", "--external-sources", "--source-path", "SCRIPTDIR"];
    let arguments = [&line[..], &["--exclude", "SC1091", &file]].concat();
    wanted
        .run(CheckKind::Look, "shellcheck", &shellcheck, &arguments, OutputFormat::Shellcheck)
        .at(around.root());
    true
}

fn parse(around: &dyn Around, shell: &str, wanted: &mut CheckBuilder) {
    let Some(program) = around.tool(shell) else { return };
    wanted
        .look(
            &format!("{shell} -n"),
            program.with(&["-n", &text_of(around.file())]),
            OutputFormat::Plain,
        )
        .because(format!("it is a {shell} script, and shellcheck is not installed"));
}

/// The shell of a script: its first line counts more than its name. A script without that line is
/// sourced by others, and bash accepts most of them.
fn shell(around: &dyn Around) -> Option<&'static str> {
    let by_name = match extension(around.file()) {
        "sh" | "bash" => Some("bash"),
        "dash" => Some("dash"),
        "ksh" => Some("ksh"),
        "" => None,
        _ => return None,
    };
    let text = around.text(around.file()).unwrap_or_default();
    match text.lines().next().and_then(interpreter) {
        Some(name) => SHELLS.iter().find(|shell| **shell == name).copied(),
        None => by_name,
    }
}

fn extension(file: &Path) -> &str {
    file.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// The program in a first line: `bash` for `#!/usr/bin/env -S bash -e`.
fn interpreter(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    if program != "env" {
        return Some(program);
    }
    words.find(|word| !word.starts_with('-') && !word.contains('='))
}

#[cfg(test)]
mod tests {
    use super::super::world::FileFixture;
    use super::*;

    #[test]
    fn shellcheck_looks_at_scripts() {
        let world = FileFixture::edits("a/b.sh").on_path(&["shellcheck", "bash"]);
        world.plans("look shellcheck");
        world.runs(
            "shellcheck",
            "shellcheck --format json1 --external-sources --source-path SCRIPTDIR \
             --exclude SC1091 a/b.sh",
        );
        world.says("shellcheck", "it is a bash script");
        let plans =
            |file| FileFixture::edits(file).on_path(&["shellcheck"]).plans("look shellcheck");
        plans("a.bash");
        plans("a.ksh");
        plans("a.dash");
    }

    #[test]
    fn without_shellcheck_the_shell_parses_its_script() {
        let world = FileFixture::edits("a.sh").on_path(&["bash", "sh"]);
        world.plans("look bash -n");
        world.runs("bash -n", "bash -n a.sh");
        world.says("bash -n", "it is a bash script, and shellcheck is not installed");
        let world = FileFixture::edits("a.sh").file("a.sh", "#!/bin/sh\n").on_path(&["bash", "sh"]);
        world.runs("sh -n", "sh -n a.sh");
        FileFixture::edits("a.dash").on_path(&["dash"]).plans("look dash -n");
        FileFixture::edits("a.ksh").on_path(&["ksh"]).plans("look ksh -n");
        FileFixture::edits("a.sh").plans("");
    }

    #[test]
    fn shellcheck_is_lacking_where_it_is_configured() {
        let world = FileFixture::edits("a/b.sh").files(&[".shellcheckrc"]).on_path(&["bash"]);
        world.plans("look bash -n @a | lacking shellcheck");
        let world = world.on_path(&["shellcheck"]);
        world.plans("look shellcheck");
        world.says("shellcheck", "`.shellcheckrc` configures it");
    }

    #[track_caller]
    fn check(file: &str, first_line: &str, expected: Option<&str>) {
        let world = FileFixture::edits(file).file(file, &format!("{first_line}\necho\n"));
        assert_eq!(shell(&world), expected, "{file} {first_line}");
    }

    #[test]
    fn a_script_without_an_ending_is_known_by_its_first_line() {
        check("a", "#!/bin/sh", Some("sh"));
        check("a", "#!/bin/bash -e", Some("bash"));
        check("a", "#! /usr/bin/env bash", Some("bash"));
        check("a", "#!/usr/bin/env -S X=1 bash -e", Some("bash"));
        check("a", "#!/usr/bin/python3", None);
        check("a", "#!/usr/bin/env", None);
        check("a", "#!", None);
        check("a", "sh", None);
        check(".hidden", "#!/bin/dash", Some("dash"));
        check("a.txt", "#!/bin/sh", None);
    }

    #[test]
    fn the_first_line_counts_more_than_the_name() {
        check("a.sh", "#!/bin/ksh", Some("ksh"));
        check("a.sh", "#!/bin/zsh", None);
        check("a.bash", "echo", Some("bash"));
        check("a.zsh", "#!/bin/bash", None);
    }
}
