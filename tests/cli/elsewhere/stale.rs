//! What was built from the machine's files is not taken for what the other files make, and the other
//! way round.

use super::world::{World, each};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the toolchain, without `rustup`, which an ordinary user may lack.
fn cargo() -> Option<String> {
    let folder = Path::new(env!("CARGO")).parent().unwrap();
    Some(format!("{}:/usr/bin:/bin", folder.display()))
}

const GREEN: &str = "pub fn n() -> u32 { 1 }\n#[test]\nfn one() { assert_eq!(n(), 1); }\n";
const BROKEN: &str = "pub fn n() -> u32 { 2 }\n#[test]\nfn one() { assert_eq!(n(), 1); }\n";

/// A crate whose target folder lies elsewhere, as that of a user with many projects does.
fn crate_of(world: World) -> World {
    let target: PathBuf = world.path("home/target");
    let world = world
        .variable("PATH", &cargo().unwrap())
        .variable("CARGO_HOME", world_home(&target).to_str().unwrap())
        .variable("CARGO_TARGET_DIR", target.to_str().unwrap());
    world
        .file(
            "Cargo.toml",
            "[package]\nname = \"tiny\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n",
        )
        .file("src/lib.rs", GREEN)
}

fn world_home(target: &Path) -> PathBuf {
    target.with_file_name("cargo")
}

/// True if the user of this world can run the toolchain.
fn has_cargo(world: &World) -> bool {
    // By a shell: `setpriv` itself still finds programs in folders of root.
    let works = world.as_user(Path::new("/bin/sh")).args(["-c", "cargo --version"]).output();
    let works = works.is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("SKIPPED: the user has no cargo");
    }
    works
}

const TEST: &str = "cargo test --offline --lib 2>&1";

#[test]
fn a_build_of_the_machines_files_is_not_used_and_its_target_folder_not_poisoned() {
    each(|world| {
        let world = crate_of(world);
        if !has_cargo(&world) {
            return;
        }
        world.plainly(TEST);
        let world = world.replaced("src/lib.rs", BROKEN);
        // Its build is newer than the sources of the machine, and would be taken for theirs.
        world.run(TEST).ended("Exited(101)").opened(&["src/lib.rs"]);
        world.plainly(TEST);
        let world = world.original();
        world.run(TEST).passes();
    });
}

/// The broken file has the size of the other one, and both are written within a second.
#[test]
fn byte_code_of_the_machines_files_is_not_used() {
    if !Command::new("/usr/bin/python3").arg("-V").status().is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: there is no python3");
        return;
    }
    each(|world| {
        let world = world.file("m.py", "n = 1\n").replaced("m.py", "n = 2\n");
        let line = "/usr/bin/python3 -c 'import m; print(m.n)'";
        assert_eq!(world.plainly(line), "1\n");
        world.plainly("test -e __pycache__");
        world.run(line).passes().tail("2");
        assert_eq!(world.plainly(line), "1\n");
    });
}

#[test]
fn make_builds_again() {
    each(|world| {
        let world = world.file("a", "now\n").file("Makefile", "b: a\n\tcp a b\n");
        let world = world.replaced("a", "start\n");
        world.plainly("make -s");
        world.run("make -s && cat b").passes().tail("start");
        assert_eq!(world.plainly("make -s && cat b"), "now\n");
    });
}

#[test]
fn a_replaced_file_has_the_present_time_in_a_second_of_its_own() {
    each(|world| {
        let world = world.file("old", "now").file("new", "now").file("gone", "now");
        world.plainly("touch -d '2001-02-03 04:05:06' old");
        let world = world.replaced("old", "start").replaced("new", "start");
        let outside: i64 = world.plainly("touch new; stat -c %Y new").trim().parse().unwrap();
        let answer = world.run("stat -c %Y old new; date +%s");
        let times: Vec<i64> =
            answer.passes().text("tail").lines().map(|line| line.parse().unwrap()).collect();
        let present = times[2];
        assert!((present - 5..=present).contains(&times[0]), "{answer:?}");
        assert!((present - 5..=present).contains(&times[1]), "{answer:?}");
        assert_ne!(times[1], outside, "{answer:?}");
    });
}
