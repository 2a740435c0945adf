//! Runs related tests with the runner that the project itself uses.

mod node;

use std::path::{Path, PathBuf};

use super::super::super::CheckKind;
use super::super::super::parsers::OutputFormat;
use super::super::super::workspace::Around;
use super::super::check_builder::CheckBuilder;
use super::super::package::{self, Package};
use super::super::{folder_of, matches_any, said, text_of, upward};
use super::related::{self, TestNaming};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Runner {
    Vitest,
    Jest,
    Mocha,
    Bun,
    Node(node::NodeTestCall),
}

/// The runners with a configuration file. In a folder with several, the first wins.
const CONFIGS: &[(Runner, &[&str])] = &[
    (Runner::Vitest, &["vitest.config.*", "vitest.workspace.*"]),
    (Runner::Jest, &["jest.config.*"]),
    (Runner::Mocha, &[".mocharc.*"]),
];

/// Adds a run of the tests that belong to the file.
pub(super) fn add(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some((runner, config)) = upward(around).find_map(|folder| in_folder(around, folder)) else {
        return;
    };
    let folder = Package::all(around)
        .first()
        .map_or_else(|| folder_of(&config).into(), |package| package.folder.clone());
    let tests = related::tests(around, &folder, runner.takes());
    if tests.is_empty() || !tests.iter().all(|test| runner.can_run(test)) {
        return;
    }
    let remedy = package::remedy(around);
    let Some(tool) = wanted.configured(around, runner.program(), &config, &remedy) else { return };
    let tests: Vec<String> = tests.iter().map(|test| text_of(test)).collect();
    let arguments: Vec<&str> =
        runner.arguments().into_iter().chain(tests.iter().map(String::as_str)).collect();
    wanted
        .run(CheckKind::Test, runner.name(), &tool, &arguments, runner.form())
        .because(format!("{} uses it, and has tests for this file", said(around, &config)));
}

/// The runner that this folder mentions, and the file that does.
fn in_folder(around: &dyn Around, folder: &Path) -> Option<(Runner, PathBuf)> {
    let names = around.names(folder);
    let config = CONFIGS.iter().find_map(|(runner, patterns)| {
        let name = names.iter().find(|name| matches_any(patterns, name))?;
        Some((runner.clone(), folder.join(name)))
    });
    config.or_else(|| {
        let package = Package::at(around, folder)?;
        Some((of_package(&package)?, package.path()))
    })
}

/// If there are several runners, the script decides, because a dependency may be a leftover.
fn of_package(package: &Package) -> Option<Runner> {
    let script = package.script("test");
    let words: Vec<&str> = script.split_whitespace().collect();
    let named = [(Runner::Vitest, "vitest"), (Runner::Jest, "jest"), (Runner::Mocha, "mocha")];
    let by_script = || named.iter().find(|(_, name)| words.contains(name));
    let by_need = || named.iter().find(|(_, name)| package.needs(name));
    if package.has("jest") {
        return Some(Runner::Jest);
    }
    if let Some((runner, _)) = by_script() {
        return Some(runner.clone());
    }
    if words.windows(2).any(|pair| pair == ["bun", "test"]) {
        return Some(Runner::Bun);
    }
    node::call(&words).map(Runner::Node).or_else(|| by_need().map(|(runner, _)| runner.clone()))
}

impl Runner {
    fn name(&self) -> &'static str {
        match self {
            Self::Vitest => "vitest",
            Self::Jest => "jest",
            Self::Mocha => "mocha",
            Self::Bun => "bun",
            Self::Node(_) => "node test",
        }
    }

    fn program(&self) -> &str {
        match self {
            Self::Node(call) => &call.program,
            _ => self.name(),
        }
    }

    /// The arguments before the names of the tests. Coverage is off: some of the tests cannot reach
    /// a threshold that is meant for all of them.
    fn arguments(&self) -> Vec<&str> {
        match self {
            Self::Vitest => {
                let quiet = ["--no-color", "--passWithNoTests", "--coverage.enabled=false"];
                ["run", "--reporter=json"].into_iter().chain(quiet).collect()
            }
            Self::Jest => vec!["--json", "--ci", "--coverage=false", "--runTestsByPath"],
            Self::Mocha => Vec::new(),
            Self::Bun => vec!["test"],
            Self::Node(call) => {
                let flags = call.flags.iter().map(String::as_str);
                flags.chain(["--test", "--test-reporter=spec"]).collect()
            }
        }
    }

    fn form(&self) -> OutputFormat {
        match self {
            Self::Vitest | Self::Jest => OutputFormat::Vitest,
            Self::Mocha | Self::Bun | Self::Node(_) => OutputFormat::Whole,
        }
    }

    fn takes(&self) -> TestNaming {
        match self {
            Self::Vitest | Self::Jest => TestNaming::Dotted,
            Self::Bun => TestNaming::Underscored,
            Self::Mocha | Self::Node(_) => TestNaming::InFolders,
        }
    }

    fn can_run(&self, test: &Path) -> bool {
        match self {
            Self::Node(call) => call.can_run(test),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
