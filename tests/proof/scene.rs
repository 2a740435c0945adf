//! The folder in which a case takes place, and the check of a case that needs no Ralph.

use crate::corpus::{Case, Change, Corpus, Start};
use crate::world::World;
use ralph_test_support::checks::tools;
use ralph_test_support::executables::scratch;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

/// What no project wants in its tree; a project with an own `.gitignore` says it itself.
const IGNORED: &str =
    "node_modules\n.venv\n__pycache__\n.pytest_cache\n.ruff_cache\n/build/\n/target/\n.cache\n";

/// Longer than any criterion takes.
const PATIENCE: &str = "120";

/// A world with the project of a case in it.
pub(crate) struct Scene {
    pub(crate) world: World,
}

impl Scene {
    /// The project as it is before the change: committed, and older than anything that follows.
    pub(crate) fn lay(case: &Case) -> Result<Scene, String> {
        let mut world = World::without_repository();
        let (root, project) = (world.root(), world.project());
        fs::create_dir(root.join("tmp")).unwrap();
        for (name, value) in [
            ("PATH", path(Some(&root))),
            ("TMPDIR", root.join("tmp").display().to_string()),
            ("LANG", "C.UTF-8".to_owned()),
            // Shared: what the standard library needs is compiled once.
            ("GOCACHE", scratch().join("go-cache").display().to_string()),
            ("CARGO_NET_OFFLINE", "true".to_owned()),
            ("npm_config_offline", "true".to_owned()),
            ("npm_config_update_notifier", "false".to_owned()),
        ] {
            world.set(name, &value);
        }
        let identity =
            "[user]\nname = Ann\nemail = ann@example.invalid\n[init]\ndefaultBranch = main\n";
        fs::write(root.join("home/.gitconfig"), identity).unwrap();
        let scene = Scene { world };
        let old = SystemTime::now() - Duration::from_hours(1);
        let ignored = [(".gitignore".to_owned(), IGNORED.to_owned())];
        for (path, text) in
            ignored.iter().map(|(path, text)| (path, text)).chain(&case.project.files)
        {
            write(&project.join(path), text, Some(old));
        }
        scene.run(&case.project.setup)?;
        scene.run(&["git init -q && git add -A && git commit -q -m Start".to_owned()])?;
        scene.run(&case.project.prepared)?;
        let mut scene = scene;
        scene.world.cwd = project.join(&case.project.folder).canonicalize().unwrap();
        let folder = scene.world.cwd.display().to_string();
        scene.world.set("CLAUDE_PROJECT_DIR", &folder);
        Ok(scene)
    }

    pub(crate) fn apply(&self, change: &Change) -> Result<(), String> {
        let place = |path: &str| self.world.cwd.join(path);
        let read = |path: &str| {
            fs::read_to_string(place(path))
                .map_err(|error| format!("could not read {path}: {error}"))
        };
        for (path, text) in &change.write {
            write(&place(path), text, None);
        }
        for (path, pairs) in &change.replace {
            let mut text = read(path)?;
            for [old, new] in pairs {
                if text.matches(old.as_str()).count() != 1 {
                    return Err(format!("`{old}` is not once in {path}"));
                }
                text = text.replace(old.as_str(), new);
            }
            write(&place(path), &text, None);
        }
        for (path, text) in &change.append {
            write(&place(path), &(read(path)? + text), None);
        }
        for path in &change.remove {
            let file = place(path);
            let removed =
                if file.is_dir() { fs::remove_dir_all(&file) } else { fs::remove_file(&file) };
            removed.map_err(|error| format!("could not remove {path}: {error}"))?;
        }
        self.run(&change.run)
    }

    fn run(&self, lines: &[String]) -> Result<(), String> {
        for line in lines {
            let output = self.shell(&format!("set -e; {line}"));
            if !output.status.success() {
                return Err(format!("`{line}` failed: {}", tail(&output)));
            }
        }
        Ok(())
    }

    fn shell(&self, line: &str) -> Output {
        let mut command = Command::new("timeout");
        command.args([PATIENCE, "sh", "-c", line]).current_dir(&self.world.cwd);
        command.env_clear().envs(&self.world.env).env("TOOLS", tools::folder());
        command.stdin(Stdio::null()).output().unwrap()
    }

    /// The first criterion that fails, with the end of what it printed.
    fn first_red(&self, case: &Case) -> Option<String> {
        case.commands().find_map(|command| {
            let output = self.shell(command);
            (!output.status.success()).then(|| format!("`{command}` fails: {}", tail(&output)))
        })
    }
}

/// The criteria of a case pass after its change, and before it as the project states.
pub(crate) fn check(case: &Case) -> Result<(), String> {
    if !case.told.asks_first {
        let red = Scene::lay(case)?.first_red(case);
        is_as_said(case, red)?;
    }
    let scene = Scene::lay(case)?;
    if case.told.asks_first {
        is_as_said(case, scene.first_red(case))?;
    }
    scene.apply(&case.told.change)?;
    scene.first_red(case).map_or(Ok(()), |red| Err(format!("after the change {red}")))?;
    // Those that exclude each other pass one after the other, and the first of them no second time.
    let passes_again = case.told.class == "exclude" && scene.first_red(case).is_none();
    if passes_again {
        return Err("the criteria do not exclude each other".to_owned());
    }
    if case.told.then == Change::default() {
        return Ok(());
    }
    scene.apply(&case.told.then)?;
    scene.first_red(case).map_or(Ok(()), |red| Err(format!("after the second change {red}")))
}

fn is_as_said(case: &Case, red: Option<String>) -> Result<(), String> {
    match (case.start(), red) {
        (Start::Fails, None) => Err("at the start every criterion passes".to_owned()),
        (Start::Passes, Some(red)) => Err(format!("at the start {red}")),
        _ => Ok(()),
    }
}

fn tail(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

fn write(path: &Path, text: &str, at: Option<SystemTime>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text)
        .unwrap_or_else(|error| panic!("could not write {}: {error}", path.display()));
    if let Some(at) = at {
        File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
    }
}

/// The user's own programs, then the pinned tools, the toolchain that runs this test, and the system's.
fn path(root: Option<&Path>) -> String {
    let own = root.map(|root| root.join("home/.local/bin"));
    let toolchain = Path::new(env!("CARGO")).parent().unwrap().to_owned();
    let node = tools::find("node").and_then(|_| Some(tools::node().parent()?.to_owned()));
    let venv = tools::folder().join("venv/bin");
    let folders = own.into_iter().chain([venv, toolchain]).chain(node);
    let system = std::env::var_os("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = folders.chain(std::env::split_paths(&system)).collect();
    std::env::join_paths(all).unwrap().into_string().unwrap()
}

/// The runners that cannot run here, each with a program that it lacks. One with a slash lies in the folder of the tools.
pub(crate) fn missing(corpus: &Corpus) -> Vec<(&str, &str)> {
    let folders: Vec<PathBuf> = std::env::split_paths(&path(None)).collect();
    let is_there = |program: &str| {
        tools::folder().join(program).exists() && program.contains('/')
            || folders.iter().any(|folder| folder.join(program).is_file())
    };
    let lack = |needs: &'_ Vec<String>| needs.iter().position(|program| !is_there(program));
    let lacking = corpus
        .needs
        .iter()
        .filter_map(|(runner, needs)| lack(needs).map(|at| (runner.as_str(), needs[at].as_str())));
    lacking.collect()
}
