//! A repository whose own configuration names programs: as it comes out of an archive, or from a
//! folder that others can write to. A clone brings none of this but `.gitattributes`.

use crate::attack::{Canary, command, events, hook, looping, reading_commands};
use crate::world::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Settings by which git starts programs. The value is the trap's command line.
const SETTINGS: [&str; 29] = [
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "merge.evil.driver",
    "pager.status",
    "pager.diff",
    "pager.show",
    "pager.log",
    "sequence.editor",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "credential.helper",
    "trailer.evil.command",
    "trailer.evil.cmd",
    "uploadpack.packObjectsHook",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "remote.origin.vcs",
    "alias.status",
    "alias.ls-files",
    "interactive.diffFilter",
];

const HOOKS: [&str; 12] = [
    "pre-commit",
    "post-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-checkout",
    "post-merge",
    "pre-auto-gc",
    "post-rewrite",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "query-watchman",
];

fn set(folder: &Path, name: &str, value: &str) {
    let done = Command::new("git").arg("-C").arg(folder).args(["config", name, value]).status();
    assert!(done.unwrap().success(), "{name}");
}

/// Everything that Ralph does with a repository, from the start to a restored checkpoint.
fn a_whole_life(world: &World) {
    world.write("done", "yes\n");
    world.write("tracked", "two\n");
    for (name, event, members) in
        events().into_iter().filter(|(_, event, _)| *event != "SessionEnd")
    {
        hook(world, name, event, members);
    }
    let again = World::expansion(world, "ralph", "\"Again\" --ac 'it is done=grep -q yes done'");
    assert!(again.context().contains(" started"), "{again:?}");
    command(world, &["verify"]);
    world.write("done", "no\n");
    world.write("tracked", "three\n");
    world.stop("RALPH_COMPLETE");
    for words in reading_commands() {
        command(world, words);
    }
    command(world, &["checkpoint", "diff"]);
    let listed = command(world, &["checkpoint", "list"]);
    assert_eq!(listed.status.code(), Some(0), "there is a checkpoint to restore: {listed:?}");
    let restored = command(world, &["checkpoint", "restore", "1"]);
    assert_eq!(restored.status.code(), Some(0), "{restored:?}");
    assert_eq!(fs::read_to_string(world.project().join("tracked")).unwrap(), "two\n");
}

fn make_hostile(world: &World, canary: &Canary, folder: &Path, name: &str) {
    for setting in SETTINGS {
        set(folder, setting, &canary.trap(&format!("{name}-{setting}")));
    }
    for (setting, value) in [
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("diff.evil.cachetextconv", "true"),
    ] {
        set(folder, setting, value);
    }
    let hooks = world.root().join(format!("hooks-{name}"));
    fs::create_dir(&hooks).unwrap();
    for hook in HOOKS {
        let script = format!("#!/bin/sh\n{} </dev/null\n", canary.trap(&format!("{name}-{hook}")));
        for folder in [&hooks, &folder.join(".git/hooks")] {
            let _ = fs::create_dir_all(folder);
            if fs::write(folder.join(hook), &script).is_ok() {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(folder.join(hook), mode).unwrap();
            }
        }
    }
    set(folder, "core.hooksPath", hooks.to_str().unwrap());
    fs::write(folder.join(".gitattributes"), "* diff=evil merge=evil\n").unwrap();
}

#[test]
fn nothing_that_a_repository_configures_is_run() {
    let world = looping();
    let canary = Canary::in_world(&world);
    make_hostile(&world, &canary, &world.project(), "own");
    a_whole_life(&world);
    canary.lives();
}

#[test]
fn nothing_that_an_included_file_or_an_environment_configures_is_run() {
    let mut world = looping();
    let canary = Canary::in_world(&world);
    let evil = world.root().join("evil.config");
    fs::write(&evil, format!("[core]\n\tfsmonitor = \"{}\"\n", canary.trap("included"))).unwrap();
    set(&world.project(), "include.path", evil.to_str().unwrap());
    world.set("GIT_EXTERNAL_DIFF", &canary.trap("environment"));
    world.set("GIT_PAGER", &canary.trap("pager"));
    a_whole_life(&world);
    canary.lives();
}

/// Git looks into them by itself, with their own configuration.
#[test]
fn nothing_that_a_submodule_or_a_repository_within_configures_is_run() {
    let world = World::new();
    let canary = Canary::in_world(&world);
    let library = world.root().join("library");
    fs::create_dir(&library).unwrap();
    for words in ["init -q", "commit -q --allow-empty -m one"] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-C"]).arg(&library);
        assert!(git.args(words.split(' ')).status().unwrap().success());
    }
    let url = library.display().to_string();
    world.git(&format!("-c protocol.file.allow=always submodule --quiet add {url} module"));
    world.git("commit -q -m module");
    world.git(&format!("-c protocol.file.allow=always clone -q {url} nested"));
    make_hostile(&world, &canary, &world.project().join("module"), "module");
    make_hostile(&world, &canary, &world.project().join("nested"), "nested");
    world.start("--ac 'it is done=grep -q yes done'");
    a_whole_life(&world);
    canary.lives();
}

/// A missing object of a partial clone would be asked of a remote, by a program of its naming.
#[test]
fn a_missing_object_is_not_fetched() {
    let world = looping();
    let canary = Canary::in_world(&world);
    let url = format!("ext::sh -c '{}'", canary.trap("fetched"));
    for (name, value) in [
        ("remote.origin.url", url.as_str()),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialclonefilter", "blob:none"),
        ("protocol.ext.allow", "always"),
        ("protocol.allow", "always"),
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
    ] {
        set(&world.project(), name, value);
    }
    // The object of the one tracked file is gone.
    let objects = world.project().join(".git/objects");
    let blob = Command::new("git")
        .arg("-C")
        .arg(world.project())
        .args(["rev-parse", "HEAD:tracked"])
        .output();
    let blob = String::from_utf8(blob.unwrap().stdout).unwrap();
    fs::remove_file(objects.join(&blob[..2]).join(blob[2..].trim())).unwrap();
    world.write("done", "yes\n");
    command(&world, &["verify"]);
    world.write("tracked", "two\n");
    for (name, event, members) in events() {
        hook(&world, name, event, members);
    }
    for words in reading_commands() {
        command(&world, words);
    }
    command(&world, &["checkpoint", "diff"]);
    command(&world, &["checkpoint", "restore", "1"]);
    canary.lives();
}

#[test]
fn a_work_tree_elsewhere_is_neither_kept_nor_written_to() {
    let world = looping();
    let elsewhere = world.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("tracked"), "private\n").unwrap();
    fs::write(elsewhere.join("secret"), "private\n").unwrap();
    let before = world.listing(&elsewhere);
    set(&world.project(), "core.worktree", elsewhere.to_str().unwrap());
    a_whole_life(&world);
    assert!(world.listing(&elsewhere) == before, "something was written there");
    let kept = Command::new("git")
        .arg("-C")
        .arg(world.project())
        .args(["log", "--all", "--stat", "--format=%H"])
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&kept.stdout).contains("secret"), "{kept:?}");
}

/// A folder that looks like a bare repository is content, and its configuration is nobody's.
#[test]
fn a_bare_repository_within_the_tree_is_content() {
    let mut world = looping();
    let canary = Canary::in_world(&world);
    let bare = world.project().join("docs");
    let made = Command::new("git").args(["init", "-q", "--bare"]).arg(&bare).status().unwrap();
    assert!(made.success());
    set(&bare, "core.bare", "false");
    set(&bare, "core.worktree", world.project().to_str().unwrap());
    set(&bare, "core.fsmonitor", &canary.trap("bare"));
    world.cwd = bare;
    for (name, event, members) in events() {
        hook(&world, name, event, members);
    }
    for words in reading_commands() {
        command(&world, words);
    }
    canary.lives();
}

/// The one exception, on purpose: without filters, files that are kept elsewhere would be compared
/// and restored wrongly. `SECURITY.md` says so.
#[test]
fn filters_run_where_files_are_stored_and_restored() {
    let world = looping();
    let canary = Canary::in_world(&world);
    set(&world.project(), "filter.evil.clean", &canary.trap("clean"));
    set(&world.project(), "filter.evil.smudge", &canary.trap("smudge"));
    world.write(".gitattributes", "tracked filter=evil\n");
    a_whole_life(&world);
    assert_eq!(canary.ran(), ["clean", "smudge"]);
}

/// A person who opens a session in a folder has not looked into it yet.
#[test]
fn a_session_that_begins_runs_nothing_that_the_repository_names_not_even_a_filter() {
    for file in ["config", "config.worktree", "elsewhere"] {
        let world = World::new().with_facts();
        let canary = Canary::in_world(&world);
        for name in SETTINGS {
            set(&world.project(), name, &canary.trap(name));
        }
        let filter = format!("[Filter \"evil\"]\n\tclean = {:?}\n", canary.trap("clean"));
        fs::write(
            world.project().join(".git").join(file),
            match file {
                "config" => {
                    let before = fs::read_to_string(world.project().join(".git/config")).unwrap();
                    before + &filter
                }
                _ => filter,
            },
        )
        .unwrap();
        match file {
            "elsewhere" => set(&world.project(), "include.path", "elsewhere"),
            "config.worktree" => set(&world.project(), "extensions.worktreeConfig", "true"),
            _ => {}
        }
        world.write(".gitattributes", "tracked filter=evil\n");
        world.write("tracked", "two\n");
        for source in ["startup", "clear", "compact"] {
            let ran = world.session_starts(source);
            assert!(ran.context().contains("\"tracked\""), "{ran:?}");
        }
        assert!(world.elsewhere(&["context"]).success);
        assert_eq!(canary.ran(), <[String; 0]>::default(), "{file}");
        // It would have run.
        world.git("status");
        assert!(canary.ran().contains(&"clean".to_owned()), "{file}");
    }
}
