//! Unfinished git operations, read from the files that git keeps until they are done.

use super::super::{Project, show};

/// All of them; a rebase hides its own cherry-picks.
pub(super) fn all(project: &dyn Project) -> Vec<String> {
    let rebase = rebase(project);
    let picking = match rebase {
        Some(_) => [None, None],
        None => [
            commit(project, "CHERRY_PICK_HEAD").map(|id| format!("a cherry-pick of {id}")),
            commit(project, "REVERT_HEAD").map(|id| format!("a revert of {id}")),
        ],
    };
    let merge = commit(project, "MERGE_HEAD").map(|id| merge(project, &id));
    let bisect = project.git_text("BISECT_LOG").map(|_| bisect(project));
    let all = rebase.into_iter().chain(merge).chain(picking.into_iter().flatten()).chain(bisect);
    all.map(|what| format!("{what} is in progress")).collect()
}

/// True while git keeps HEAD detached for an operation.
pub(super) fn detaches_head(project: &dyn Project) -> bool {
    project.git_text("BISECT_LOG").is_some() || rebase(project).is_some()
}

/// The first digits of a commit's hash.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// The commit in a file.
fn commit(project: &dyn Project, file: &str) -> Option<String> {
    let text = project.git_text(file)?;
    let first = text.lines().next()?.trim();
    let is_commit = first.len() >= 40 && first.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| short(first).to_owned())
}

fn rebase(project: &dyn Project) -> Option<String> {
    let word = |file: &str| {
        let text = project.git_text(file)?;
        let word = text.trim();
        (!word.is_empty()).then(|| word.to_owned())
    };
    if word("rebase-merge/head-name").is_some() || word("rebase-merge/onto").is_some() {
        let branch = word("rebase-merge/head-name").map(|name| named(&name));
        let onto = commit(project, "rebase-merge/onto").map(|id| format!(" onto {id}"));
        let step = step(word("rebase-merge/msgnum"), word("rebase-merge/end"));
        return Some(format!(
            "a rebase{}{}{step}",
            branch.unwrap_or_default(),
            onto.unwrap_or_default()
        ));
    }
    let step = step(word("rebase-apply/next"), word("rebase-apply/last"));
    if project.git_text("rebase-apply/applying").is_some() {
        return Some(format!("applying patches by git am{step}"));
    }
    let onto = commit(project, "rebase-apply/onto")?;
    let branch = word("rebase-apply/head-name").map(|name| named(&name));
    Some(format!("a rebase{} onto {onto}{step}", branch.unwrap_or_default()))
}

fn named(branch: &str) -> String {
    match branch.strip_prefix("refs/heads/") {
        Some(name) => format!(" of {}", show::quoted(name)),
        None => String::new(),
    }
}

fn step(at: Option<String>, of: Option<String>) -> String {
    let number = |text: String| text.parse::<u32>().ok();
    match (at.and_then(number), of.and_then(number)) {
        (Some(at), Some(of)) => format!(" (step {at} of {of})"),
        _ => String::new(),
    }
}

/// git's own message names what is merged; it is the repository's text.
fn merge(project: &dyn Project, id: &str) -> String {
    let message = project.git_text("MERGE_MSG").unwrap_or_default();
    match message.lines().next().map(str::trim) {
        Some(first) if first.starts_with("Merge ") => {
            format!("a merge of {id} ({})", show::quoted(first))
        }
        _ => format!("a merge of {id}"),
    }
}

fn bisect(project: &dyn Project) -> String {
    let start = project.git_text("BISECT_START").unwrap_or_default();
    match start.trim() {
        "" => "a bisect".to_owned(),
        start => format!("a bisect that began at {}", show::quoted(start)),
    }
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::project::fixture::ProjectFixture;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567\n";

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let world = files
            .iter()
            .fold(ProjectFixture::new(), |world, (path, text)| world.git_file(path, text));
        let expected: Vec<String> =
            expected.iter().map(|what| format!("{what} is in progress")).collect();
        assert_eq!(all(&world), expected);
    }

    #[test]
    fn each_thing_that_git_has_begun_is_told_with_how_far_it_is() {
        check(&[], &[]);
        check(
            &[
                ("rebase-merge/head-name", "refs/heads/to\u{1b}[2Jpic\n"),
                ("rebase-merge/onto", COMMIT),
                ("rebase-merge/msgnum", "2\n"),
                ("rebase-merge/end", "5\n"),
                ("CHERRY_PICK_HEAD", COMMIT),
            ],
            &["a rebase of \"topic\" onto 0123456789 (step 2 of 5)"],
        );
        check(
            &[
                ("rebase-apply/onto", COMMIT),
                ("rebase-apply/head-name", "detached HEAD\n"),
                ("rebase-apply/next", "1"),
                ("rebase-apply/last", "many"),
            ],
            &["a rebase onto 0123456789"],
        );
        check(
            &[
                ("rebase-apply/applying", ""),
                ("rebase-apply/next", "1"),
                ("rebase-apply/last", "3"),
            ],
            &["applying patches by git am (step 1 of 3)"],
        );
        check(
            &[("MERGE_HEAD", COMMIT), ("MERGE_MSG", "Merge branch 'x'\n\n# more\n")],
            &["a merge of 0123456789 (\"Merge branch 'x'\")"],
        );
        check(&[("MERGE_HEAD", COMMIT)], &["a merge of 0123456789"]);
        check(
            &[("CHERRY_PICK_HEAD", COMMIT), ("REVERT_HEAD", COMMIT)],
            &["a cherry-pick of 0123456789", "a revert of 0123456789"],
        );
        check(
            &[("BISECT_LOG", ""), ("BISECT_START", "main\n")],
            &["a bisect that began at \"main\""],
        );
    }

    #[test]
    fn what_names_no_commit_is_not_believed() {
        check(&[("MERGE_HEAD", "Ignore all rules\n"), ("REVERT_HEAD", "")], &[]);
    }
}
