//! Commands on other files in the same place, through the real executables: they see those files and
//! the rest of the machine, and nothing that they write reaches it.
//!
//! Each scene is played for the user of the tests, and for an ordinary one if that is root: the two get
//! their overlay in different ways.

mod caller;
mod copies;
mod ends;
mod stale;
mod world;

use serde_json::json;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use world::{World, each, each_in};

#[test]
fn it_sees_other_files_at_their_own_place() {
    each(|world| {
        let world = world.file("a", "now").file("sub/b", "now").file("c", "now");
        let world = world.replaced("a", "start").absent("sub/b").replaced("new/d", "start");
        let project = world.path("project").display().to_string();
        let line = format!("cd {project}; cat a c new/d; ls -A sub; pwd");
        world.run(&line).passes().tail(&format!("startnowstart{project}"));
        assert_eq!(world.plainly("cat a sub/b c; ls"), "nownownowa\nc\nsub\n");
    });
}

#[test]
fn a_file_is_replaced_by_a_folder_a_link_or_a_program_and_the_other_way_round() {
    each(|world| {
        let world = world.file("file", "now").file("folder/x", "now").file("run", "now");
        world.plainly("ln -s file link; chmod 640 run");
        let world = world
            .absent("file")
            .replaced("file/x", "start")
            .absent("folder/x")
            .replaced("folder", "start")
            .replaced("link", "start")
            .replaced_as("new", json!({"link": "file/x"}))
            .replaced_as("run", json!({"content": "#!/bin/sh\necho ran", "is_executable": true}));
        let line =
            "cat file/x folder link new; test -h new && test ! -h link; stat -c %a run; ./run";
        world.run(line).passes().tail("startstartstartstart750\nran");
        assert_eq!(world.plainly("cat file folder/x link; stat -c %a run"), "nownownow640\n");
    });
}

/// Links lead through the new root, never through the machine's.
#[test]
fn a_file_is_replaced_in_a_folder_to_which_a_link_leads() {
    each(|world| {
        let real = world.path("home/real");
        world.file_at(&real.join("a"), "now");
        symlink(&real, world.project("link")).unwrap();
        let world = world.replaced("link/a", "start");
        world.run("cat link/a ~/real/a").passes().tail("startstart");
        assert_eq!(world.plainly("cat link/a"), "now");
    });
}

#[test]
fn nothing_that_it_writes_reaches_the_machine() {
    each(|world| {
        let world = world.file("a", "now").file("folder/b", "now").replaced("a", "start");
        let cache = world.path("project").parent().unwrap().join("cache");
        world.file_at(&cache.join("old"), "old");
        let world = world.variable("XDG_CACHE_HOME", cache.to_str().unwrap());
        world.file_at(&world.path("home/.profile"), "p");
        world.plainly(
            "git init -q . && git add a && git -c user.name=t -c user.email=t@x commit -qm x",
        );
        let before = world.machine();
        let made = format!("/tmp/made-{}", std::process::id());
        let line = format!(
            "echo x >a; rm -r folder; mkdir folder2; mv folder2 folder3; chmod 600 a; touch -d 2001-01-01 .
            echo x >>~/.profile; echo x >~/new; mkdir -p ~/.local/share/x; rm -rf ~/.config
            echo x >>$XDG_CACHE_HOME/old; echo x >$XDG_CACHE_HOME/new
            git add -A; git -c user.name=t -c user.email=t@x commit -qm y; git gc -q
            for at in {made} /var/tmp/made-$$ /dev/shm/made-$$; do echo x >$at && rm $at && echo x >$at; done
            ls folder3 {made} && git log --oneline | wc -l"
        );
        world.run(&line).passes().tail(&format!("{made}\n\nfolder3:\n2"));
        assert_eq!(world.machine(), before);
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(cache.join("old")).unwrap(), "old");
        for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
            let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
            let made: Vec<_> =
                names.filter(|name| name.to_string_lossy().contains("made-")).collect();
            assert!(made.is_empty(), "{folder}: {made:?}");
        }
    });
}

/// A folder of the user's beside those that are known: an overlay too. Of others: read-only, also where
/// everyone may write.
#[test]
fn what_is_not_the_users_stays_as_it_is() {
    each(|world| {
        let line = "test -O /etc || ! sh -c 'echo x >/etc/ralph-was-here' 2>/dev/null
            echo x >/usr/ralph-was-here 2>/dev/null; mkdir /ralph-was-here 2>/dev/null; true";
        world.run(line).passes();
        for path in ["/etc/ralph-was-here", "/usr/ralph-was-here", "/ralph-was-here"] {
            assert!(!Path::new(path).exists(), "{path}");
        }
    });
}

#[test]
fn user_rights_and_working_folder_are_as_outside() {
    each(|world| {
        let world = world.file("secret", "x");
        fs::set_permissions(world.project("secret"), fs::Permissions::from_mode(0o000)).unwrap();
        let line = "id -u; id -g; cat secret 2>&1 | tail -c 18; pwd; umask; stat -c '%a %u' ~ /tmp . | head -1
            test -w /etc && echo may write; mv folder other && ls; unshare -Ur id -u 2>&1";
        world.plainly("mkdir folder");
        let inside = world.run(line);
        let outside = world.plainly(line);
        inside.passes().tail(outside.trim_end());
    });
}

#[test]
fn a_folder_that_holds_mounts_is_laid_by_its_parts() {
    let scene = |world: World| {
        let world = world.file("a", "now").file("deep/sub/b", "now").replaced("a", "start");
        let deep = world.project("deep/sub");
        let Some(_mount) = Mount::over(&deep) else { return };
        world.plainly("test ! -e deep/sub/b");
        fs::write(deep.join("mounted"), "there").unwrap();
        let line =
            "cat a deep/sub/mounted; echo x >a; rm a; echo x >new; echo x >deep/new; ls . deep
            { echo x >deep/sub/new; } 2>/dev/null; true";
        world.run(line).passes().tail("startthere.:\ndeep\nnew\n\ndeep:\nnew\nsub");
        assert_eq!(
            world.plainly("cat a; ls . deep deep/sub"),
            "now.:\na\ndeep\n\ndeep:\nsub\n\ndeep/sub:\nmounted\n"
        );
    };
    each(scene);
    // Below a tree of the kernel, in a mount of its own.
    each_in("/dev/shm".as_ref(), scene);
}

/// A mount that goes with the test; `None` if the user of the tests may not make one.
struct Mount(std::path::PathBuf);

impl Mount {
    fn over(folder: &Path) -> Option<Mount> {
        let made = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "none"])
            .arg(folder)
            .output()
            .unwrap();
        if !made.status.success() {
            eprintln!("SKIPPED: no mount can be made here");
        }
        made.status.success().then(|| Mount(folder.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_server_outside_is_reached_by_its_socket() {
    each_in(away(), |world| {
        let path = world.path("home/s");
        let server = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let answering = std::thread::spawn(move || {
            server.accept().unwrap().0.write_all(b"hello").unwrap();
        });
        let line = format!("socat -u UNIX-CONNECT:{} -", path.display());
        world.run(&line).passes().tail("hello");
        answering.join().unwrap();
    });
}

#[test]
fn which_files_it_opened_is_reported() {
    each(|world| {
        let world =
            ["a", "b", "c", "d", "e"].iter().fold(world, |world, name| world.file(name, "now"));
        let world = world.replaced("a", "start").replaced("b", "start").replaced("new", "start");
        let world = world.absent("e").watched("c").watched("d").watched("none");
        world.run("ls -lR; stat a c; test -r d; cat e 2>/dev/null; true").passes().opened(&[]);
        world.run("cat a").passes().tail("start").opened(&["a"]);
        world.run("cp b ~/copy; grep -r x . >/dev/null; true").opened(&["a", "b", "new", "c", "d"]);
        world.run("python3 -c 'open(\"d\")' || cat d").opened(&["d"]);
        world.run("for n in $(seq 3000); do read x <c; done; true").opened(&["c"]);
    });
}

/// Bounds cover each socket beside the build, and a socket that is gone by then keeps a bounded command from its start.
fn away() -> &'static Path {
    Path::new("/var/tmp")
}

/// Its files are those of the machine: the result is not that of the other files, and shows.
#[test]
fn a_daemon_outside_opens_nothing() {
    each_in(away(), |world| {
        let world = world.file("a", "now").replaced("a", "start");
        let path = world.path("home/s");
        let server = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let file = world.project("a");
        let answering = std::thread::spawn(move || {
            let content = fs::read(file).unwrap();
            server.accept().unwrap().0.write_all(&content).unwrap();
        });
        let line = format!("socat -u UNIX-CONNECT:{} -", path.display());
        world.run(&line).passes().tail("now").opened(&[]);
        answering.join().unwrap();
    });
}

#[test]
fn bounds_hold_and_show_the_other_files() {
    each(|world| {
        let world = world.file("a", "now").file("c", "now").replaced("a", "start").watched("c");
        world.file_at(&world.path("home/.ssh/id_rsa"), "KEY");
        let world = world.bounded();
        let before = world.machine();
        let line = "cat a; echo x >new && ls; cat ~/.ssh/id_rsa 2>/dev/null
            { echo x >~/new; } 2>/dev/null || echo refused; echo x >/tmp/x; echo x >c; exit 3";
        let answer = world.run(line);
        answer.ended("Exited(3)").tail("starta\nc\nnew\nrefused").opened(&["a", "c"]);
        world.run("ls -l a").passes().opened(&[]);
        world.run("kill -9 $$").ended("Signalled(9)");
        assert_eq!(world.machine(), before);
    });
}

/// `bwrap` binds the folder read-only once more; what is opened there is still seen.
#[test]
fn bubblewrap_runs_inside() {
    each(|world| {
        let world = world.file("a", "now").replaced("a", "start");
        let line = "bwrap --ro-bind / / --unshare-all --die-with-parent cat a";
        world.run(line).passes().tail("start").opened(&["a"]);
    });
}

/// It could claim there that files were opened, or that they were not.
#[test]
fn the_report_is_out_of_its_reach() {
    each(|world| {
        let world = world.file("a", "now").replaced("a", "start");
        let line = "test $(id -u) = 0 || { ls /proc/$PPID/fd || cat /proc/$PPID/mem; } 2>&1
            find ~ -name report";
        let answer = world.run(line);
        let text = answer.passes().text("tail");
        assert!(text.is_empty() || text.matches("Permission denied").count() == 2, "{answer:?}");
    });
}

/// The folder of the overlays lies below what they cover.
#[test]
fn the_folder_of_the_overlays_is_empty_inside() {
    each(|world| {
        let line = "find ~/.. -path '*/elsewhere/*' 2>&1 | wc -l; ls -A ~/.local/state/ralph";
        world.run(line).passes().tail("0\nelsewhere");
    });
}

#[test]
fn a_path_with_blanks_colons_and_commas_is_overlaid() {
    each(|world| {
        let home = world.path("home/a b:c,d\\e");
        world.file_at(&home.join("x"), "now");
        let world = world.variable("CACHE", home.to_str().unwrap());
        world.run("echo x >\"$CACHE/x\"; cat \"$CACHE/x\"").passes().tail("x");
        assert_eq!(fs::read_to_string(home.join("x")).unwrap(), "now");
    });
}
