//! Git repositories to measure in, with given numbers of files and changes.
//!
//! They are kept between runs. Each shape has a repository of its own, since the time of
//! `git status` depends on what changed, and changing a thousand files between two samples
//! would measure the disk.

use std::cell::Cell;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, ensure};

/// Part of each folder's name. Change it when the building changes, so that old
/// folders are not reused.
const RECIPE: &str = "v1";

#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) files: usize,
    /// Four of five are edits, the fifth is a new file.
    pub(crate) changed: usize,
    /// Bytes of each edited file; all of its old and new lines are in the diff.
    pub(crate) edit_size: usize,
    /// Files in an ignored `node_modules`; if there are any, the repository also gets the files
    /// that describe such a project.
    packages: usize,
}

impl Shape {
    pub(crate) fn new(files: usize, changed: usize) -> Shape {
        Shape { files, changed, edit_size: 400, packages: 0 }
    }

    /// A diff of about 10 MB in a small repository.
    #[allow(dead_code, reason = "the gates count no diff")]
    pub(crate) fn large_diff() -> Shape {
        Shape { files: 200, changed: 10, edit_size: 650_000, packages: 0 }
    }

    pub(crate) fn with_packages(self, packages: usize) -> Shape {
        Shape { packages, ..self }
    }

    fn name(&self) -> String {
        let packages = match self.packages {
            0 => String::new(),
            packages => format!("-with-{packages}"),
        };
        format!("repo-{RECIPE}-{}-{}-{}{packages}", self.files, self.changed, self.edit_size)
    }
}

pub(crate) struct Repo {
    pub(crate) path: PathBuf,
    shape: Shape,
    turn: Cell<u64>,
}

impl Repo {
    pub(crate) fn ready(scratch: &Path, shape: Shape) -> anyhow::Result<Repo> {
        let path = scratch.join(shape.name());
        let done = path.join(".git/ralph-bench-ready");
        if !done.exists() {
            eprintln!("building a repository: {} files, {} changed", shape.files, shape.changed);
            let built = build(&path, shape).and_then(|()| Ok(fs::write(&done, "")?));
            built.with_context(|| format!("could not build `{}`", path.display()))?;
        }
        Ok(Repo { path, shape, turn: Cell::new(nanoseconds_now()) })
    }

    /// Edits one of the changed files again, so that this turn of the loop makes progress.
    pub(crate) fn advance(&self) -> anyhow::Result<()> {
        if self.shape.changed == 0 {
            return Ok(());
        }
        self.turn.set(self.turn.get() + 1);
        let text = format!("turn {}\n", self.turn.get());
        write(&edited(&self.path, 0), text.as_bytes())?;
        // Otherwise the hook's sync would have to write this out too.
        Ok(File::open(edited(&self.path, 0))?.sync_all()?)
    }
}

fn build(path: &Path, shape: Shape) -> anyhow::Result<()> {
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    fs::create_dir_all(path)?;
    for i in 0..shape.files {
        let size = if i < edits(shape) { shape.edit_size } else { 400 };
        write(&edited(path, i), &text(&format!("old {}", i % 64), size))?;
        age(&edited(path, i))?;
    }
    if shape.packages > 0 {
        add_packages(path, shape.packages)?;
    }
    git(path, &["init", "--quiet", "--initial-branch=main"])?;
    git(path, &["add", "--all"])?;
    git(
        path,
        &[
            "-c",
            "user.name=bench",
            "-c",
            "user.email=bench@localhost",
            "commit",
            "--quiet",
            "-m",
            "All files",
        ],
    )?;
    for i in 0..edits(shape) {
        write(&edited(path, i), &text(&format!("new and longer {i}"), shape.edit_size))?;
    }
    for i in edits(shape)..shape.changed {
        write(&path.join(format!("new/file-{i:05}.ts")), &text("untracked", 400))?;
    }
    Ok(())
}

fn add_packages(path: &Path, packages: usize) -> anyhow::Result<()> {
    for (name, text) in [
        (".gitignore", "node_modules/\n"),
        (
            "package.json",
            r#"{"name": "bench", "scripts": {"test": "vitest", "build": "tsc -b"},
                "dependencies": {"react": "19"}, "devDependencies": {"typescript": "5"}}"#,
        ),
        ("tsconfig.json", r#"{"compilerOptions": {"strict": true, "target": "es2022"}}"#),
        ("supabase/migrations/1_first.sql", "create table users (id int);\n"),
    ] {
        write(&path.join(name), text.as_bytes())?;
        age(&path.join(name))?;
    }
    for i in 0..packages {
        write(&path.join(format!("node_modules/p-{:04}/f-{i:06}.js", i / 100)), b"x\n")?;
    }
    Ok(())
}

fn edits(shape: Shape) -> usize {
    (shape.changed * 4).div_ceil(5)
}

/// Puts a hundred files into each folder.
fn edited(path: &Path, i: usize) -> PathBuf {
    path.join(format!("src/part-{:04}/file-{i:06}.ts", i / 100))
}

fn text(line: &str, size: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + 64);
    for n in 0.. {
        if text.len() >= size {
            break;
        }
        text.extend_from_slice(format!("export const name_{n} = \"{line}\";\n").as_bytes());
    }
    text
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).with_context(|| format!("could not write `{}`", path.display()))?;
    fs::set_permissions(path, Permissions::from_mode(0o644))?;
    Ok(())
}

/// Makes a file an hour old. Git reads files again that are as young as its index; those of a real
/// checkout are older.
fn age(path: &Path) -> anyhow::Result<()> {
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3_600);
    Ok(File::options().write(true).open(path)?.set_modified(an_hour_ago)?)
}

fn git(folder: &Path, args: &[&str]) -> anyhow::Result<()> {
    let mut git = Command::new("git");
    git.args(["-c", "gc.auto=0", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]);
    let done = git.args(args).current_dir(folder).output().context("could not start git")?;
    ensure!(
        done.status.success(),
        "git {}: {}",
        args.join(" "),
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(())
}

fn nanoseconds_now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2)
}
