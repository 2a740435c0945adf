//! Commits the plan alone, for users who asked for a commit after each round.
//!
//! The commit is built from the round's text in an index of our own. So it contains nothing else
//! that is staged, and nothing that someone writes into the file at the same moment.

use crate::git::scratch::{self, Scratch};
use crate::git::{self, merge, repository, worktrees};
use crate::project::user_files;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many characters of a commit id are shown.
const SHORT: usize = 7;

/// A plan in its repository.
#[derive(Debug, Clone)]
pub struct Commits {
    top: PathBuf,
    /// Relative to the top.
    path: String,
}

impl Commits {
    /// Finds the plan's repository.
    pub fn for_plan(plan: &Path) -> Result<Commits> {
        let shown = plan.display();
        let found = plan.parent().and_then(repository::around);
        let top = found.and_then(|found| user_files::real(&found.top));
        let path = top.as_ref().and_then(|top| plan.strip_prefix(top).ok()).and_then(Path::to_str);
        match (&top, path) {
            (Some(top), Some(path)) => Ok(Commits { top: top.clone(), path: path.to_owned() }),
            _ => bail!("`{shown}` is in no git repository; omit --commit"),
        }
    }

    /// Refuses if a commit of the plan alone is impossible now. `before` is the text that the last
    /// commit should contain.
    pub fn check(&self, before: &str) -> Result<()> {
        const FIRST: &str = "commit or undo that first, or omit --commit";
        // A commit during a bisect is as good as any other.
        let in_progress = merge::in_progress(&self.top)?;
        if let Some(what) = in_progress.filter(|what| *what != merge::BISECT) {
            bail!("{what} is under way; finish it first, or omit --commit");
        }
        if self.branch()?.is_none() {
            bail!("no branch is checked out; check one out, or omit --commit");
        }
        let path = &self.path;
        let Some((_, committed)) = self.committed("HEAD")? else {
            bail!("`{path}` is in no commit yet; {FIRST}");
        };
        if self.staged()?.as_ref() != Some(&committed) {
            bail!("`{path}` has changes that are staged; {FIRST}");
        }
        if self.blob(before, false)? != committed {
            bail!("`{path}` has changes that are not committed; {FIRST}");
        }
        Ok(())
    }

    /// Commits this text of the plan on the branch, and returns the commit's short id. Updates the
    /// plan's entry in the index, and touches no other entry and no file. No hook or signing
    /// program of the repository's configuration runs.
    ///
    /// # Errors
    /// If the commit cannot be made; then neither branch nor index has changed.
    pub fn commit(&self, text: &str, message: &str) -> Result<String> {
        let branch = self.branch()?.context("no branch is checked out")?;
        let head = git::line(self.git().args(["rev-parse", "--verify", "HEAD^{commit}"]))?;
        let (mode, before) = self.committed(&head)?.context("the plan is in no commit yet")?;
        let blob = self.blob(text, true)?;
        let scratch = Scratch::new()?;
        let own = || {
            let mut command = self.git();
            command.env("GIT_INDEX_FILE", scratch.path("index"));
            command
        };
        git::output(own().args(["read-tree", &head]))?;
        git::output(own().args(["update-index", "--cacheinfo", &self.entry(&mode, &blob)]))?;
        let tree = git::line(own().args(["write-tree", "--missing-ok"]))?;
        let mut make = self.git();
        make.args(["-c", "i18n.commitEncoding=UTF-8", "commit-tree", "--no-gpg-sign", "-F", "-"]);
        git::by_user(&self.top, &mut make)?;
        make.args(["-p", &head, &tree])
            .stdin(scratch::input(message.replace('\0', " ").as_bytes())?);
        let commit = git::line(&mut make)?;
        // The index first: if only the branch moved, the old text would be staged as a change.
        let stage = |blob: &str| {
            git::output(self.git().args(["update-index", "--cacheinfo", &self.entry(&mode, blob)]))
        };
        stage(&blob)?;
        let about = format!("commit: {}", message.lines().next().unwrap_or_default());
        let mut moves = self.git();
        moves.args(["update-ref", "-m", &about, &branch, &commit, &head]);
        if let Err(error) = git::output(&mut moves) {
            stage(&before).context("the text is staged and could not be unstaged")?;
            return Err(error);
        }
        // Only saves git a look at the file, so an error does no harm.
        let _ = git::output(self.git().args(["add", "--refresh", "--", &self.path]));
        Ok(commit.chars().take(SHORT).collect())
    }

    fn git(&self) -> Command {
        let mut command = git::command(&self.top);
        // A `*` in the name is an ordinary character.
        command.arg("--literal-pathspecs");
        command
    }

    fn branch(&self) -> Result<Option<String>> {
        let (is_one, name) = git::answer(self.git().args(["symbolic-ref", "-q", "HEAD"]))?;
        Ok(is_one.then(|| String::from_utf8_lossy(&name).trim().to_owned()))
    }

    /// Mode and blob of the plan in a commit.
    fn committed(&self, commit: &str) -> Result<Option<(String, String)>> {
        if worktrees::tip(&self.top, commit)?.is_none() {
            return Ok(None);
        }
        let line =
            git::line(self.git().args(["ls-tree", "--full-tree", commit, "--", &self.path]))?;
        let mut words = line.split_whitespace();
        let (mode, kind, blob) = (words.next(), words.next(), words.next());
        Ok(mode
            .zip(blob)
            .filter(|_| kind == Some("blob"))
            .map(|(mode, blob)| (mode.into(), blob.into())))
    }

    /// The plan's blob in the index; `None` if it is missing, or there are versions to merge.
    fn staged(&self) -> Result<Option<String>> {
        let listed = git::output(self.git().args(["ls-files", "--stage", "--", &self.path]))?;
        let listed = String::from_utf8_lossy(&listed);
        let mut words = listed.split_whitespace().skip(1);
        let (blob, stage) = (words.next(), words.next());
        Ok(blob.filter(|_| stage == Some("0")).map(str::to_owned))
    }

    /// The id of a text as git would store it at this path.
    fn blob(&self, text: &str, keep: bool) -> Result<String> {
        let mut command = self.git();
        command.args(["hash-object", "--stdin", "--path", &self.path]);
        if keep {
            command.arg("-w");
        }
        git::line(command.stdin(scratch::input(text.as_bytes())?))
    }

    fn entry(&self, mode: &str, blob: &str) -> String {
        format!("{mode},{blob},{}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::{Sandbox, git_in};

    fn planned() -> (Sandbox, Commits) {
        let at = Sandbox::new();
        at.write("docs/a *.md", "one\n");
        at.write("docs/a b.md", "beside it\n");
        at.commit("plan");
        let commits = Commits::for_plan(&at.path("docs/a *.md")).unwrap();
        (at, commits)
    }

    #[track_caller]
    fn refuses(commits: &Commits, before: &str, words: &str) {
        let why = commits.check(before).unwrap_err().to_string();
        assert!(why.contains(words) && why.contains("omit --commit"), "{why}");
    }

    #[test]
    fn the_plan_is_committed_and_nothing_beside_it() {
        let (at, commits) = planned();
        at.write("tracked", "staged\n");
        at.write("new", "staged too\n");
        at.git("add tracked new");
        at.write("src/a.rs", "not staged\n");
        at.write("docs/a *.md", "two\n");
        commits.check("one\n").unwrap();
        let hook = at.path(".git/hooks/post-commit");
        std::fs::write(&hook, "#!/bin/sh\ntouch ran\n").unwrap();
        at.chmod(".git/hooks/post-commit", 0o755);
        let before = at.git("rev-parse HEAD");
        let id = commits.commit("two\n", "clearer steps\n\nRound 1.").unwrap();
        assert!(at.git("rev-parse HEAD").starts_with(&id));
        assert_eq!(at.git("rev-parse HEAD^"), before);
        assert_eq!(at.git("log -1 --format=%s").trim(), "clearer steps");
        assert_eq!(at.git("show --name-only --format= HEAD").trim(), "docs/a *.md");
        let shown = git_in(&at.root(), &["show", "HEAD:docs/a *.md"]);
        assert_eq!(shown, "two\n");
        let status = at.git("status --porcelain");
        assert_eq!(status.trim_end(), "A  new\n M src/a.rs\nM  tracked");
        assert!(!at.exists("ran"), "no hook ran");
        assert_eq!(at.git("reflog -1 --format=%gs").trim(), "commit: clearer steps");
        // And once more, on top of that commit.
        commits.check("two\n").unwrap();
        commits.commit("three\n", "more").unwrap();
    }

    #[test]
    fn the_text_of_the_round_is_committed_whatever_stands_in_the_file_by_then() {
        let (at, commits) = planned();
        at.write("docs/a *.md", "mine\n");
        commits.commit("two\n", "of the round").unwrap();
        assert_eq!(at.git("status --porcelain").trim_end(), " M \"docs/a *.md\"");
        assert_eq!(at.read("docs/a *.md"), "mine\n");
    }

    #[test]
    fn what_would_be_committed_with_it_is_an_obstacle() {
        let (at, commits) = planned();
        refuses(&commits, "edited\n", "not committed");
        at.write("docs/a *.md", "staged\n");
        at.git("add docs");
        refuses(&commits, "one\n", "are staged");
        at.git("reset -q --hard");
        at.write("later.md", "one\n");
        refuses(&Commits::for_plan(&at.path("later.md")).unwrap(), "one\n", "in no commit yet");
        at.write(".git/MERGE_HEAD", "");
        refuses(&commits, "one\n", "a merge is under way");
        at.remove(".git/MERGE_HEAD");
        at.git("checkout -q --detach");
        refuses(&commits, "one\n", "no branch is checked out");
        let bare = Sandbox::folder();
        bare.write("plan.md", "x");
        assert!(
            Commits::for_plan(&bare.path("plan.md")).unwrap_err().to_string().contains("in no git")
        );
        let unborn = Sandbox::empty();
        unborn.write("plan.md", "x");
        refuses(&Commits::for_plan(&unborn.path("plan.md")).unwrap(), "x", "in no commit yet");
    }

    #[test]
    fn a_branch_that_cannot_move_leaves_the_index_as_it_was() {
        let (at, commits) = planned();
        at.write(".git/refs/heads/main.lock", "");
        let why = commits.commit("two\n", "m").unwrap_err().to_string();
        assert!(why.contains("update-ref"), "{why}");
        at.remove(".git/refs/heads/main.lock");
        assert_eq!(at.git("status --porcelain").trim(), "");
    }
}
