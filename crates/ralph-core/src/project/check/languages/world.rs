//! A project for tests, with files in a map and tools where they are "installed".
//!
//! Its root is `/w`; every path in arguments and results is relative to it.

use std::path::{Path, PathBuf};

use super::super::workspace::{Around, ToolCommand};
use super::super::{Check, CheckKind, CheckMethod, CheckPlan, FindingScope, Parser};
use super::{name_of, plan};
use crate::project::fixture::{ProjectFixture, ROOT};
use crate::project::reader::{Folder, ProjectReader};

/// The folders of a project's own tools.
const BINS: &[&str] = &["node_modules/.bin", ".venv/bin", "vendor/bin"];

/// The edited file and its surroundings.
pub(super) struct FileFixture {
    file: PathBuf,
    project: ProjectFixture,
    own: Vec<PathBuf>,
    on_path: Vec<&'static str>,
}

impl FileFixture {
    /// A project in which this empty file was edited.
    pub(super) fn edits(file: &str) -> Self {
        let project = ProjectFixture::new().file(file, "");
        Self { file: Path::new(ROOT).join(file), project, own: Vec::new(), on_path: Vec::new() }
    }

    /// Adds a file, or sets the text of the edited one.
    pub(super) fn file(mut self, path: &str, text: &str) -> Self {
        self.project = self.project.file(path, text);
        self
    }

    /// Adds empty files.
    pub(super) fn files(self, paths: &[&str]) -> Self {
        paths.iter().fold(self, |world, path| world.file(path, ""))
    }

    /// Adds a tool in the project: `packages/app/node_modules/.bin/tsc`.
    pub(super) fn installed(mut self, path: &str) -> Self {
        self.own.push(Path::new(ROOT).join(path));
        self
    }

    /// Adds tools on `PATH`.
    pub(super) fn on_path(mut self, names: &[&'static str]) -> Self {
        self.on_path.extend(names);
        self
    }

    /// Compares the plan in short form, the checks in order and then what is lacking:
    /// `fix eslint | look tsc @packages/app whole packages/app/tsconfig.json | lacking prettier`.
    /// The folder is shown if it is not the root.
    #[track_caller]
    pub(super) fn plans(&self, expected: &str) {
        let CheckPlan { checks, lacking } = plan(self);
        for check in &checks {
            assert!(!check.why.is_empty(), "{} has no reason", check.name);
        }
        let checks = checks.iter().map(|check| self.short(check));
        let lacking = lacking.iter().map(|one| format!("lacking {}", one.name));
        assert_eq!(checks.chain(lacking).collect::<Vec<_>>().join(" | "), expected);
    }

    /// Compares the command of the check with this name: `node_modules/.bin/eslint --fix …` with
    /// paths relative to the root, `| …` if it reads standard input, or the name of Ralph's own
    /// parser.
    #[track_caller]
    pub(super) fn runs(&self, name: &str, expected: &str) {
        let line = match &self.check(name).by {
            CheckMethod::Program(program) => program.line.join(" "),
            CheckMethod::Filter(program) => format!("| {}", program.line.join(" ")),
            CheckMethod::Shell(line) => line.clone(),
            CheckMethod::Parser(Parser::Json) => "json".to_owned(),
            CheckMethod::Parser(Parser::JsonWithComments) => "json with comments".to_owned(),
            CheckMethod::Parser(Parser::Toml) => "toml".to_owned(),
            CheckMethod::Parser(Parser::Yaml) => "yaml".to_owned(),
        };
        assert_eq!(line.replace(&format!("{ROOT}/"), ""), expected);
    }

    /// Compares why the check with this name applies, or cannot run.
    #[track_caller]
    pub(super) fn says(&self, name: &str, expected: &str) {
        let plan = plan(self);
        let lacking = plan.lacking.iter().find(|one| one.name == name).map(|one| one.why.clone());
        assert_eq!(lacking.unwrap_or_else(|| self.check(name).why), expected);
    }

    /// The check with this name.
    #[track_caller]
    pub(super) fn check(&self, name: &str) -> Check {
        let found = plan(self).checks.into_iter().find(|check| check.name == name);
        found.unwrap_or_else(|| panic!("no check is called {name}"))
    }

    fn short(&self, check: &Check) -> String {
        let kind = match check.kind {
            CheckKind::Fix => "fix",
            CheckKind::Look => "look",
            CheckKind::Test => "test",
        };
        let mut short = format!("{kind} {}", check.name);
        if matches!(check.by, CheckMethod::Program(_) | CheckMethod::Filter(_))
            && check.folder != self.root()
        {
            short += &format!(" @{}", below_root(&check.folder));
        }
        if let FindingScope::Whole(path) = &check.scope {
            short += &format!(" whole {}", below_root(path));
        }
        short
    }

    fn upward(&self) -> impl Iterator<Item = &Path> {
        self.file.ancestors().skip(1).take_while(|folder| folder.starts_with(ROOT))
    }
}

impl ProjectReader for FileFixture {
    fn root(&self) -> &Path {
        Path::new(ROOT)
    }

    fn text(&self, path: &Path) -> Option<String> {
        self.project.text(path)
    }

    fn folder(&self, path: &Path) -> Option<Folder> {
        self.project.folder(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.project.exists(path) || self.own.iter().any(|one| one.starts_with(path))
    }
}

impl Around for FileFixture {
    fn file(&self) -> &Path {
        &self.file
    }

    fn tool(&self, name: &str) -> Option<ToolCommand> {
        self.own_tool(name).or_else(|| {
            let name = *self.on_path.iter().find(|one| **one == name)?;
            Some(ToolCommand { line: vec![name.to_owned()], found: "`PATH`".to_owned() })
        })
    }

    fn own_tool(&self, name: &str) -> Option<ToolCommand> {
        self.upward()
            .flat_map(|folder| BINS.iter().map(move |bin| (bin, folder.join(bin).join(name))))
            .find(|(_, path)| self.own.contains(path))
            .map(|(bin, path)| ToolCommand {
                line: vec![path.to_string_lossy().into_owned()],
                found: format!("`{bin}`"),
            })
    }

    fn kept(&self, key: &str) -> PathBuf {
        Path::new("/kept").join(name_of(Path::new(key)))
    }
}

fn below_root(path: &Path) -> String {
    path.strip_prefix(ROOT).unwrap_or(path).display().to_string()
}
