//! Tests the tree id against real repositories.

use super::*;
use crate::process::sandbox::{Sandbox, git_in};
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

fn listed(root: &Path) -> Listing {
    listing(&TreeScope {
        project_root: root,
        ignore: &[],
        cache: None,
        trusts_cache: true,
        begun: None,
    })
    .unwrap()
}

fn id(at: &Sandbox) -> String {
    listed(&at.root()).id()
}

fn paths(listing: &Listing) -> Vec<String> {
    listing.records.iter().map(|one| readable(&one.path)).collect()
}

#[track_caller]
fn check(at: &Sandbox, what: &str, changes: bool, act: impl FnOnce(&Sandbox)) {
    let before = listed(&at.root());
    act(at);
    let after = listed(&at.root());
    assert_eq!(after.id() != before.id(), changes, "{what}: {:?}", after.changed_since(&before));
    assert_eq!(after.changed_since(&before).is_empty(), !changes, "{what}");
}

#[test]
fn what_git_records_changes_nothing() {
    let at = Sandbox::new();
    at.write("tracked", "edited\n");
    at.write("new", "n");
    check(&at, "staging", false, |r| drop(r.git("add -A")));
    check(&at, "a commit", false, |r| r.commit("second"));
    check(&at, "an empty commit", false, |r| r.commit("third"));
    check(&at, "a touch", false, |r| r.write("tracked", "edited\n"));
    check(&at, "an ignored file", false, |r| r.write("x.ignored", "x"));
    check(&at, "an empty folder", false, |r| std::fs::create_dir(r.path("empty")).unwrap());
    check(&at, "removal from the index alone", false, |r| drop(r.git("rm -q --cached new")));
    check(&at, "mode of the group", false, |r| r.chmod("tracked", 0o674));
    for ours in [".omc/a", ".ralph-sessions/1/x", ".claude/refine-sessions.json"] {
        check(&at, ours, false, |r| r.write(ours, "x"));
    }
    at.git("worktree add -q .claude/worktrees/w");
    check(&at, "a worker's tree", false, |r| r.write(".claude/worktrees/w/f", "x"));
}

#[test]
fn what_a_killed_sandbox_left_changes_nothing_and_a_tracked_file_of_that_name_counts() {
    let at = Sandbox::new();
    let leave = |at: &Sandbox, name: &str| {
        at.write(name, "");
        at.chmod(name, 0o444);
    };
    check(&at, "left over", false, |at| {
        leave(at, ".bashrc");
        leave(at, "sub/.claude/agents");
    });
    check(&at, "another name", true, |at| leave(at, "bashrc"));
    leave(&at, ".gitmodules");
    at.git("add -f .gitmodules");
    check(&at, "a tracked one that is gone", true, |at| at.remove(".gitmodules"));
}

#[test]
fn every_change_of_content_changes_it() {
    let at = Sandbox::new();
    check(&at, "one byte, equal length", true, |r| r.write("tracked", "onf\n"));
    check(&at, "an untracked file", true, |r| r.write("new", "a"));
    check(&at, "an edit of it", true, |r| r.write("new", "b"));
    check(&at, "deep down", true, |r| r.write("a/b/c/d", "b"));
    check(&at, "the executable bit", true, |r| r.chmod("tracked", 0o744));
    check(&at, "a link", true, |r| r.link("link", "tracked"));
    check(&at, "its target", true, |r| {
        r.remove("link");
        r.link("link", "src");
    });
    check(&at, "a file in place of the link, with the same bytes", true, |r| {
        r.remove("link");
        r.write("link", "src");
    });
    check(&at, "a removal", true, |r| r.remove("tracked"));
    check(&at, "a rename", true, |r| std::fs::rename(r.path("new"), r.path("newer")).unwrap());
    check(&at, "a folder in place of a file", true, |r| {
        r.remove("newer");
        r.write("newer/inside", "x");
    });
    check(&at, "and back", true, |r| {
        r.remove("newer");
        r.write("newer", "b");
    });
    check(&at, "other settings of the client", true, |r| r.write(".claude/other.json", "x"));
}

#[test]
fn content_that_comes_back_has_the_id_that_it_had() {
    let at = Sandbox::new();
    let first = id(&at);
    at.write("tracked", "two\n");
    assert_ne!(id(&at), first);
    at.write("tracked", "one\n");
    assert_eq!(id(&at), first);
}

#[test]
fn a_tracked_file_counts_even_if_it_is_ignored() {
    let at = Sandbox::new();
    at.write("kept.ignored", "1");
    at.git("add -f kept.ignored");
    check(&at, "an edit of it", true, |r| r.write("kept.ignored", "2"));
}

#[test]
fn bits_that_tell_git_not_to_look_hide_nothing() {
    let at = Sandbox::new();
    at.git("update-index --assume-unchanged tracked");
    at.git("update-index --skip-worktree src/a.rs");
    check(&at, "assume-unchanged", true, |r| r.write("tracked", "hidden\n"));
    check(&at, "skip-worktree", true, |r| r.write("src/a.rs", "hidden\n"));
}

#[test]
fn files_outside_a_sparse_checkout_are_absent() {
    let at = Sandbox::new();
    at.git("sparse-checkout set --no-cone tracked");
    assert_eq!(paths(&listed(&at.root())), ["tracked"]);
    check(&at, "a file made there", true, |r| r.write("src/a.rs", "x"));
}

#[test]
fn names_of_any_bytes_are_read_and_shown_readably() {
    let at = Sandbox::new();
    let before = listed(&at.root());
    let odd = std::ffi::OsString::from_vec(b"inv\xffalid".to_vec());
    std::fs::write(at.root().join(odd), "x").unwrap();
    at.write("a b\nc\t\"d\" \u{1b}[2J", "1");
    at.write("100644 abc 0\tx", "1");
    check(&at, "an edit", true, |r| r.write("a b\nc\t\"d\" \u{1b}[2J", "2"));
    assert_eq!(
        listed(&at.root()).changed_since(&before),
        ["100644 abc 0\\tx", "a b\\nc\\t\"d\" \\u{1b}[2J", "inv\u{fffd}alid"]
    );
}

#[test]
fn a_link_to_a_folder_is_one_path_and_what_is_behind_it_counts() {
    let at = Sandbox::new();
    let outside = Sandbox::folder();
    outside.write("a.rs", "fn a() {}\n");
    check(&at, "a folder becomes a link to one like it", true, |r| {
        r.remove("src");
        r.link("src", outside.root().to_str().unwrap());
    });
    assert_eq!(paths(&listed(&at.root())), [".gitignore", "src", "tracked"]);
    check(&at, "an edit behind the link", true, |_| outside.write("a.rs", "x"));
    // The same with an ignored link, which git does not list.
    at.write(".gitignore", "*.ignored\nsrc\n");
    check(&at, "an edit behind an ignored link", false, |_| outside.write("a.rs", "y"));
}

#[test]
fn pipes_and_sockets_are_named_and_never_opened() {
    let at = Sandbox::new();
    at.write("sub/tracked.pipe", "was a file");
    at.commit("second");
    at.remove("sub/tracked.pipe");
    assert!(Command::new("mkfifo").arg(at.path("sub/tracked.pipe")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(at.path("socket")).unwrap();
    let listing = listed(&at.root());
    let kinds: Vec<_> = listing.records.iter().map(|it| (it.path.as_slice(), it.kind)).collect();
    assert!(kinds.contains(&(b"sub/tracked.pipe", PathKind::Pipe)), "{kinds:?}");
}

#[test]
fn an_unreadable_file_stands_with_its_size_and_time() {
    let at = Sandbox::new();
    at.write("secret", "1");
    at.chmod("secret", 0);
    if std::fs::read(at.path("secret")).is_ok() {
        // The superuser can read every file.
        let about = rustix::fs::stat(at.path("secret")).unwrap();
        let found = |about| contents::unreachable_file(rustix::io::Errno::ACCESS, about).unwrap();
        assert_eq!(found(Some(&about)).kind, PathKind::Unreadable);
        assert_ne!(found(Some(&about)).digest, found(None).digest);
        let (path, kind) = (b"secret".to_vec(), PathKind::Unreadable);
        let records = vec![PathRecord { path, kind, digest: found(None).digest }];
        let listing = Listing { base: Vec::new(), records };
        assert!(!listing.could_read(&["other".to_owned(), "secret".to_owned()]));
        assert!(listing.could_read(&["other".to_owned()]));
        return;
    }
    let listing = listed(&at.root());
    assert!(listing.records.iter().any(|it| it.kind == PathKind::Unreadable));
    assert!(!listing.could_read(&["secret".to_owned()]));
    check(&at, "it grows", true, |r| {
        r.chmod("secret", 0o600);
        r.write("secret", "22");
        r.chmod("secret", 0);
    });
}

#[test]
fn repositories_within_are_part_of_the_tree() {
    let library = Sandbox::new();
    let at = Sandbox::new();
    git_in(&at.root(), &["submodule", "-q", "add", library.root().to_str().unwrap(), "lib"]);
    at.commit("submodule");
    assert!(paths(&listed(&at.root())).contains(&"lib/src/a.rs".to_owned()));
    check(&at, "an edit in a submodule", true, |r| r.write("lib/tracked", "x"));
    check(&at, "an untracked file in it", true, |r| r.write("lib/new", "x"));
    check(&at, "a commit in it", false, |r| {
        git_in(&r.path("lib"), &["add", "-A"]);
        git_in(&r.path("lib"), &["commit", "-q", "-m", "x"]);
    });
    check(&at, "a file that it ignores", false, |r| r.write("lib/x.ignored", "x"));
    at.git("submodule -q deinit -f lib");
    assert!(!paths(&listed(&at.root())).iter().any(|path| path.starts_with("lib")));
    check(&at, "a file in its empty folder", true, |r| r.write("lib/stray", "x"));

    at.write("nested/file", "1");
    git_in(&at.path("nested"), &["init", "-q"]);
    check(&at, "an edit in a nested repository", true, |r| r.write("nested/file", "2"));
    at.write("broken/.git", "gitdir: /nowhere\n");
    at.write("broken/file", "1");
    check(&at, "an edit beside a broken .git", true, |r| r.write("broken/file", "2"));
    check(&at, "a link in place of the submodule", true, |r| {
        r.remove("lib");
        r.link("lib", library.root().to_str().unwrap());
    });
    check(&at, "an edit behind it", false, |_| library.write("tracked", "y"));
}

#[test]
fn a_linked_work_tree_has_an_id_of_its_own() {
    let at = Sandbox::new();
    let elsewhere = Sandbox::folder();
    let linked = elsewhere.path("linked");
    git_in(&at.root(), &["worktree", "add", "-q", linked.to_str().unwrap()]);
    assert_eq!(listed(&linked).id(), id(&at));
    std::fs::write(linked.join("tracked"), "there\n").unwrap();
    assert_ne!(listed(&linked).id(), id(&at));
}

#[test]
fn a_repository_without_commits_and_a_plain_folder_have_one() {
    let at = Sandbox::empty();
    check(&at, "first file", true, |r| r.write("a", "a"));
    check(&at, "first commit", false, |r| r.commit("first"));

    let plain = Sandbox::folder();
    plain.write(".gitignore", "*.ignored\n");
    check(&plain, "a file", true, |r| r.write("a/b", "a"));
    check(&plain, "an edit", true, |r| r.write("a/b", "b"));
    check(&plain, "an ignored file", false, |r| r.write("x.ignored", "b"));
    check(&plain, "our own", false, |r| r.write(".omc/x", "b"));
    assert!(!plain.exists(".git"));
    plain.write("within/file", "1");
    git_in(&plain.path("within"), &["init", "-q"]);
    check(&plain, "a repository in it", true, |r| r.write("within/file", "2"));
}

#[test]
fn a_project_that_the_repository_around_it_ignores_is_listed() {
    let at = Sandbox::new();
    at.write(".gitignore", "work\n");
    at.write("work/app/file", "1");
    let listing = listed(&at.path("work/app"));
    assert!(paths(&listing).contains(&"work/app/file".to_owned()), "{:?}", paths(&listing));
}

#[test]
fn a_broken_repository_is_an_error_with_gits_words() {
    let at = Sandbox::new();
    std::fs::write(at.path(".git/index"), "nonsense").unwrap();
    let scope = TreeScope {
        project_root: &at.root(),
        ignore: &[],
        cache: None,
        trusts_cache: true,
        begun: None,
    };
    let error = format!("{:#}", listing(&scope).unwrap_err());
    assert!(error.contains("`git ls-files` failed") && error.contains("index"), "{error}");
}

#[test]
fn what_the_settings_leave_out_is_no_part_of_it() {
    let at = Sandbox::new();
    at.write("deep/coverage/x", "1");
    at.write("report.xml", "1");
    let ignore = ["coverage/".to_owned(), "/report.xml".to_owned()];
    let scope = TreeScope {
        project_root: &at.root(),
        ignore: &ignore,
        cache: None,
        trusts_cache: true,
        begun: None,
    };
    assert_eq!(paths(&listing(&scope).unwrap()), [".gitignore", "src/a.rs", "tracked"]);
}

#[test]
fn a_part_is_read_from_the_projects_folder() {
    let at = Sandbox::new();
    for name in ["app/src/a.ts", "app/src/deep/b.ts", "app/test/c.ts", "shared/d.ts"] {
        at.write(name, "x");
    }
    let listing = listed(&at.path("app"));
    let part = |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(|one| (*one).to_owned()).collect();
        paths(&listing.within(&patterns))
    };
    assert_eq!(part(&["src"]), ["app/src/a.ts", "app/src/deep/b.ts"]);
    assert_eq!(part(&["src/*.ts", "test/"]), ["app/src/a.ts", "app/test/c.ts"]);
    assert_eq!(part(&["**/*.ts"]), ["app/src/a.ts", "app/src/deep/b.ts", "app/test/c.ts"]);
    assert_eq!(part(&["../shared"]), ["shared/d.ts"]);
    assert_eq!(part(&["../..", "nothing"]), [""; 0]);
    at.write("shared/d.ts", "y");
    let later = listed(&at.path("app"));
    let sources = ["src".to_owned()];
    assert_ne!(later.id(), listing.id());
    assert_eq!(later.within(&sources).id(), listing.within(&sources).id());
}

#[test]
fn a_listing_comes_back_from_its_file_and_a_torn_one_does_not() {
    let at = Sandbox::new();
    let beside = Sandbox::folder();
    let place = beside.path("listing");
    assert_eq!(Listing::load(&place).unwrap(), None);
    let listing = listed(&at.path("src"));
    listing.save(&place).unwrap();
    assert_eq!(Listing::load(&place).unwrap(), Some(listing));
    let mut bytes = std::fs::read(&place).unwrap();
    for cut in [0, 1, 20, bytes.len() - 1] {
        std::fs::write(&place, &bytes[..cut]).unwrap();
        assert!(Listing::load(&place).is_err(), "{cut}");
    }
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&place, &bytes).unwrap();
    assert!(Listing::load(&place).is_err());
}

/// A repository with a cache outside of it.
struct Cached {
    at: Sandbox,
    beside: Sandbox,
}

impl Cached {
    fn new() -> Cached {
        Cached { at: Sandbox::new(), beside: Sandbox::folder() }
    }

    fn file(&self) -> PathBuf {
        self.beside.path("digests")
    }

    fn id(&self, margin: i64) -> String {
        let (root, file) = (self.at.root(), self.file());
        let scope = TreeScope {
            project_root: &root,
            ignore: &[],
            cache: Some(&file),
            trusts_cache: true,
            begun: None,
        };
        listing_with(&scope, margin).unwrap().id()
    }

    /// The files that the next listing would read.
    fn to_read(&self) -> Vec<String> {
        let place = TreeRoot::find(&self.at.root()).unwrap();
        let names = names::gather(&place.root, &place.base, place.is_repository).unwrap();
        let remembered = Remembered::load(&self.file(), &place.root);
        let (found, _) = contents::read(&place.root, &names, &remembered).unwrap();
        let both = names.iter().zip(found);
        both.filter(|(_, found)| found.is_some_and(|found| found.was_read))
            .map(|(name, _)| readable(name))
            .collect()
    }
}

/// Treats files of this moment as old enough, for tests of the cache.
const NO_MARGIN: i64 = -1_000_000_000;

#[test]
fn only_changed_files_are_read_again() {
    let cached = Cached::new();
    assert_eq!(cached.to_read().len(), 3);
    let first = cached.id(NO_MARGIN);
    assert_eq!(cached.to_read(), [""; 0]);
    assert_eq!(cached.id(NO_MARGIN), first);
    assert_eq!(first, id(&cached.at), "remembered or read, it is the same");
    cached.at.write("tracked", "longer than before\n");
    assert_eq!(cached.to_read(), ["tracked"]);
    assert_eq!(cached.id(NO_MARGIN), id(&cached.at));
    cached.at.chmod("src/a.rs", 0o755);
    assert_eq!(cached.id(NO_MARGIN), id(&cached.at));
    cached.at.remove("src/a.rs");
    assert_eq!(cached.id(NO_MARGIN), id(&cached.at));
}

/// A kernel may give two edits of one moment the same times; newer kernels update the time if
/// someone asked in between. So this tests the rule, not only its effect here.
#[test]
fn a_file_of_this_moment_is_not_remembered() {
    let cached = Cached::new();
    let began = std::time::Instant::now();
    cached.at.write("tracked", "000\n");
    cached.id(stored::MARGIN);
    let to_read = cached.to_read();
    // After a pause of the machine, the result proves nothing.
    if began.elapsed() < std::time::Duration::from_secs(2) {
        assert!(to_read.contains(&"tracked".to_owned()), "{to_read:?}");
    }
    for round in 1..20 {
        cached.at.write("tracked", &format!("{round:03}\n"));
        assert_eq!(cached.id(stored::MARGIN), id(&cached.at), "round {round}");
    }
}

#[test]
fn an_edit_with_its_time_set_back_is_seen() {
    let cached = Cached::new();
    let written = cached.at.path("tracked").metadata().unwrap().modified().unwrap();
    cached.id(NO_MARGIN);
    // Wait until the file system's clock has moved on; only then is the file really old enough.
    let stands = |at: &Sandbox| {
        at.write("clock", "");
        at.path("clock").metadata().unwrap().modified().unwrap() <= written
    };
    while stands(&cached.at) {}
    cached.at.remove("clock");
    cached.at.write("tracked", "two\n");
    let file = std::fs::File::options().write(true).open(cached.at.path("tracked")).unwrap();
    file.set_modified(written).unwrap();
    assert_eq!(cached.to_read(), ["tracked"]);
    assert_eq!(cached.id(NO_MARGIN), id(&cached.at));
}

#[test]
fn a_cache_that_is_torn_or_of_another_tree_is_not_used() {
    let cached = Cached::new();
    cached.id(NO_MARGIN);
    let whole = std::fs::read(cached.file()).unwrap();
    for at in [0, 30, whole.len() / 2, whole.len() - 1] {
        let mut torn = whole.clone();
        torn[at] ^= 1;
        std::fs::write(cached.file(), torn).unwrap();
        assert_eq!(cached.to_read().len(), 3, "{at}");
    }
    std::fs::write(cached.file(), &whole).unwrap();
    assert_eq!(cached.to_read().len(), 0);
    let other = Remembered::load(&cached.file(), Path::new("/elsewhere"));
    assert!(other.is_empty());
    std::fs::write(cached.file(), "").unwrap();
    assert_eq!(cached.id(NO_MARGIN), id(&cached.at));
}

#[test]
fn files_that_vanish_in_between_are_absent() {
    let at = Sandbox::new();
    let place = TreeRoot::find(&at.root()).unwrap();
    let names = names::gather(&place.root, &place.base, place.is_repository).unwrap();
    at.remove("src");
    let (found, _) = contents::read(&place.root, &names, &Remembered::default()).unwrap();
    assert_eq!(found.iter().filter(|found| found.is_some()).count(), 2);
}

#[test]
fn without_git_everything_is_listed_but_git_and_links_are_not_followed() {
    let at = Sandbox::new();
    at.write("x.ignored", "x");
    at.link("around", ".");
    let mut names = Vec::new();
    names::walk(&at.root(), b"", &mut names);
    let mut found: Vec<_> = names.iter().map(|name| readable(name)).collect();
    found.sort();
    assert_eq!(found, [".gitignore", "around", "src/a.rs", "tracked", "x.ignored"]);
}
