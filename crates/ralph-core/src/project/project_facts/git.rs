//! The state of the repository that needs attention and is easily overlooked.
//!
//! The client's own prompt contains the branch, the main branch, the user, a short status and the
//! last five commits. This fact adds what the client omits; it describes the uncommitted changes
//! only if the client truncates its own list of them. `branch`, `commits` and `changes` repeat the
//! client's information for users who have switched that off.

mod doing;
mod status;

use super::{Fact, Project, show};
use crate::text::plural::noun;
use status::GitStatus;
pub use status::STATUS;

/// The client truncates its status at this length.
const CLIENTS_STATUS: usize = 2_000;

const MOST_CONFLICTS: usize = 8;

/// How many changed files are named; more are counted by folder.
const MOST_CHANGES: usize = 15;

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    // Outside a repository there is nothing to report.
    let head = project.git_text("HEAD")?;
    let status = GitStatus::of(project);
    let mut lines = Vec::new();
    lines.extend(doing::all(project));
    if let Some(status) = &status {
        lines.extend(conflicts(status));
    }
    lines.extend(detached(&head).filter(|_| !doing::detaches_head(project)));
    lines.extend(project.main_work_tree().map(|main| {
        format!("this is a linked work tree; the main one is {}", show::quoted(&main))
    }));
    lines.extend(status.as_ref().and_then(upstream));
    lines.extend(stashes(project));
    lines.extend(incomplete(project));
    if let Some(status) = status.filter(|status| status.short_length() > CLIENTS_STATUS) {
        lines.push(format!(
            "{} uncommitted {}, by folder:",
            status.changes.len(),
            noun(status.changes.len(), "change", "changes")
        ));
        lines.extend(status.by_folder());
    }
    let mut lines = lines.into_iter();
    Some(Fact { heading: format!("git: {}", lines.next()?), lines: lines.collect() })
}

pub(super) fn branch(project: &dyn Project) -> Option<Fact> {
    let head = project.git_text("HEAD")?;
    let branch = head.trim().strip_prefix("ref: ")?;
    let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    Some(Fact::line(format!("branch: {}", show::quoted(branch))))
}

pub(super) fn commits(project: &dyn Project) -> Option<Fact> {
    let printed = project.git(&["log", "-5", "--no-show-signature", "-z", "--format=%h %s"])?;
    let commits: Vec<String> = printed
        .split(|byte| *byte == 0)
        .filter(|commit| !commit.is_empty())
        .take(5)
        .map(|commit| show::quoted(&String::from_utf8_lossy(commit)))
        .collect();
    (!commits.is_empty()).then(|| Fact { heading: "last commits:".to_owned(), lines: commits })
}

pub(super) fn changes(project: &dyn Project) -> Option<Fact> {
    let status = GitStatus::of(project)?;
    let heading = format!("uncommitted changes: {}", status.changes.len());
    match status.changes.len() {
        0 => Some(Fact::line("uncommitted changes: none")),
        few if few <= MOST_CHANGES => Some(Fact { heading, lines: status.one_by_one() }),
        _ => Some(Fact { heading, lines: status.by_folder() }),
    }
}

fn conflicts(status: &GitStatus) -> Option<String> {
    let conflicts = status.conflicts();
    (!conflicts.is_empty()).then(|| {
        let names = show::list(conflicts.iter().map(String::as_str), MOST_CONFLICTS);
        format!("conflicts to be resolved: {names}")
    })
}

fn detached(head: &str) -> Option<String> {
    let commit = head.trim();
    let is_commit = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| format!("HEAD is detached at {}", doing::short(commit)))
}

fn upstream(status: &GitStatus) -> Option<String> {
    let name = show::quoted(status.upstream.as_deref()?);
    Some(match status.ahead_behind {
        // The upstream branch is gone, or has not been fetched yet.
        None => format!("the upstream {name} is not there"),
        Some((0, 0)) => format!("level with {name}, as last fetched"),
        Some((ahead, 0)) => format!("{ahead} ahead of {name}, as last fetched"),
        Some((0, behind)) => format!("{behind} behind {name}, as last fetched"),
        Some((ahead, behind)) => {
            format!("{ahead} ahead of and {behind} behind {name}, as last fetched")
        }
    })
}

fn stashes(project: &dyn Project) -> Option<String> {
    let log = project.git_text("logs/refs/stash")?;
    match log.lines().filter(|line| !line.is_empty()).count() {
        0 => None,
        1 => Some("1 stash".to_owned()),
        count => Some(format!("{count} stashes")),
    }
}

/// The parts that a clone has left out.
fn incomplete(project: &dyn Project) -> Option<String> {
    let is_shallow = project.git_text("shallow").is_some_and(|text| !text.trim().is_empty());
    let set = |file: &str| project.git_text(file).is_some_and(|text| is_sparse(&text));
    let is_sparse = project.git_text("info/sparse-checkout").is_some()
        && (set("config.worktree") || set("config"));
    match (is_shallow, is_sparse) {
        (false, false) => None,
        (true, false) => Some("shallow clone: older history is not here".to_owned()),
        (false, true) => Some("sparse checkout: not all tracked files are here".to_owned()),
        (true, true) => {
            Some("shallow clone and sparse checkout: not all history and files are here".to_owned())
        }
    }
}

fn is_sparse(config: &str) -> bool {
    config.lines().filter_map(|line| line.split_once('=')).any(|(key, value)| {
        key.trim().eq_ignore_ascii_case("sparsecheckout")
            && value.trim().eq_ignore_ascii_case("true")
    })
}

#[cfg(test)]
mod tests {
    use super::status::STATUS;
    use super::*;
    use crate::project::fixture::ProjectFixture;

    const ON_MAIN: &str = "ref: refs/heads/main\n";
    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567\n";

    fn world(status: &str) -> ProjectFixture {
        let printed = status.replace('\n', "\0");
        ProjectFixture::new()
            .git_file("HEAD", ON_MAIN)
            .git_prints(&STATUS.join(" "), printed.as_bytes())
    }

    /// The record of a file that is changed in this way.
    fn changed(xy: &str, path: &str) -> String {
        format!("1 {xy} N... 100644 100644 100644 a b {path}\n")
    }

    #[test]
    fn what_the_client_says_itself_is_not_said_again() {
        let status = "# branch.oid 0123\n# branch.head main\n".to_owned() + &changed(".M", "a");
        world(&status).tells_nothing(fact);
        ProjectFixture::new().git_file("HEAD", ON_MAIN).tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
    }

    #[test]
    fn a_detached_head_and_a_linked_work_tree_are_told() {
        ProjectFixture::new().git_file("HEAD", COMMIT).linked_to("/p/main").tells(
            fact,
            "git: HEAD is detached at 0123456789\n  this is a linked work tree; the main one is \
                 \"/p/main\"",
        );
    }

    #[test]
    fn the_upstream_is_told_with_the_distance() {
        let told = |ab: &str| {
            let ab = if ab.is_empty() { String::new() } else { format!("# branch.ab {ab}\n") };
            fact(&world(&format!("# branch.upstream origin/main\n{ab}"))).unwrap().heading
        };
        assert_eq!(told("+2 -0"), "git: 2 ahead of \"origin/main\", as last fetched");
        assert_eq!(told("+0 -3"), "git: 3 behind \"origin/main\", as last fetched");
        assert_eq!(told("+2 -3"), "git: 2 ahead of and 3 behind \"origin/main\", as last fetched");
        assert_eq!(told("+0 -0"), "git: level with \"origin/main\", as last fetched");
        assert_eq!(told(""), "git: the upstream \"origin/main\" is not there");
    }

    #[test]
    fn conflicts_stashes_and_what_a_clone_left_out_are_told() {
        world("u UU N... 100644 100644 100644 100644 a b c src/a b.rs\n")
            .git_file("logs/refs/stash", "0 1 x\n1 2 y\n")
            .git_file("shallow", "0123\n")
            .git_file("info/sparse-checkout", "/*\n")
            .git_file("config", "[core]\n\tsparseCheckout = true\n")
            .tells(
                fact,
                "git: conflicts to be resolved: \"src/a b.rs\"\n  2 stashes\n  shallow clone and \
                 sparse checkout: not all history and files are here",
            );
    }

    #[test]
    fn changes_are_counted_only_where_the_clients_list_of_them_is_cut() {
        let many: String = (0..150).map(|n| changed(".M", &format!("src/f{n:03}.rs"))).collect();
        let rest = changed("A.", "docs/new.md") + &changed(".D", "src/gone") + "? x/\n? top\n";
        world(&(many + &rest)).tells(
            fact,
            "git: 154 uncommitted changes, by folder:\n  \"src/\": 150 changed, 1 deleted\n  \
             \"(top)\": 1 new\n  \"docs/\": 1 new\n  \"x/\": 1 new",
        );
        let few: String = (0..100).map(|n| changed(".M", &format!("src/f{n:03}.rs"))).collect();
        world(&few).tells_nothing(fact);
    }

    #[test]
    fn on_request_it_says_what_the_client_says() {
        let few = changed(".M", "src/a") + &changed("D.", "b") + "? new\n";
        let log = b"012345 first\0abcdef a \x1b[2Jb\0";
        let world = world(&few).git_prints("log -5 --no-show-signature -z --format=%h %s", log);
        world.tells(branch, "branch: \"main\"");
        world.tells(commits, "last commits:\n  \"012345 first\"\n  \"abcdef a b\"");
        world.tells(
            changes,
            "uncommitted changes: 3\n  changed \"src/a\"\n  deleted \"b\"\n  new \"new\"",
        );
        self::world("").tells(changes, "uncommitted changes: none");
        ProjectFixture::new().git_file("HEAD", COMMIT).tells_nothing(branch);
        ProjectFixture::new().tells_nothing(commits);
        ProjectFixture::new().tells_nothing(changes);
    }
}
