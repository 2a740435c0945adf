//! The archives for macOS: that what is in them can start there, and nothing of the machine that linked them.
//!
//! Building them takes minutes, so `.ci/run --only apple-archive read-apple-archive` does so and names the folder in
//! `RALPH_APPLE_ARCHIVES`; the workflow of a release does the same with what is published.

use crate::macho::MachO;
use crate::release::{archive_of, packed_for, short_executables};
use crate::world::{HOOKS, World, repository, said};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const TARGETS: [(&str, u32); 2] =
    [("aarch64-apple-darwin", 0x0100_000c), ("x86_64-apple-darwin", 0x0100_0007)];

/// The folder with archives for macOS, or a line that they were not made.
fn archives() -> Option<PathBuf> {
    let folder = std::env::var_os("RALPH_APPLE_ARCHIVES").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: RALPH_APPLE_ARCHIVES names no folder with archives for macOS");
    }
    folder
}

/// The folder of each archive that was made, with the number of its processor.
fn unpacked(world: &World, archives: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for (target, processor) in TARGETS {
        let file = archives.join(format!("{}.tar.gz", archive_of(target)));
        if !file.is_file() {
            eprintln!("SKIPPED: `{}` was not made", file.display());
            continue;
        }
        let mut tar = world.command("tar");
        said(&tar.arg("-xf").arg(file).arg("-C").arg(world.path("home")).output().unwrap()).exit(0);
        found.push((world.path("home").join(archive_of(target)), processor));
    }
    assert!(!found.is_empty(), "no archive for macOS in {}", archives.display());
    found
}

#[test]
fn executables_for_macos_ask_for_nothing_but_the_library_of_the_system() {
    let Some(archives) = archives() else { return };
    let world = World::new();
    for (folder, processor) in unpacked(&world, &archives) {
        for name in HOOKS.iter().chain(&["ralph"]) {
            let path = folder.join("bin").join(name);
            let bytes = fs::read(&path).unwrap();
            let found = MachO::read(&bytes);
            let path = path.display();
            assert_eq!(found.processor, processor, "{path}");
            assert!(found.has_entry && found.is_position_independent, "{path}: {found:?}");
            assert_eq!(found.minimum_system, Some((11, 0)), "{path}");
            assert_eq!(found.libraries, ["/usr/lib/libSystem.B.dylib"], "{path}");
            assert_eq!(found.library_folders, Vec::<String>::new(), "{path}");
            assert_eq!(found.debug_symbols, 0, "{path}");
            // A Mac with arm64 ends a program without a valid signature at its start.
            let is_arm = processor == TARGETS[0].1;
            assert!(found.signature.is_some() || !is_arm, "{path}: no signature");
            assert_eq!(found.signature.unwrap_or(Ok(())), Ok(()), "{path}");
        }
    }
}

#[test]
fn executables_for_macos_name_no_folder_of_the_machine_that_linked_them() {
    let Some(archives) = archives() else { return };
    let world = World::new();
    let home = std::env::var("HOME").unwrap();
    let repository = repository().display().to_string();
    for (folder, _) in unpacked(&world, &archives) {
        for entry in fs::read_dir(folder.join("bin")).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            for folder in [&repository, &home, ".cargo/registry", ".rustup/"] {
                assert!(!text.contains(folder), "{folder} is in {}", path.display());
            }
        }
    }
}

#[test]
fn an_archive_for_macos_has_the_files_of_one_for_linux() {
    let Some(archives) = archives() else { return };
    let world = World::new();
    short_executables(&world);
    let linux = crate::release::TARGET;
    let Some(made) = packed_for(&world, linux, "short", "out", &[]) else { return };
    made.exit(0);
    let names = |file: PathBuf, target: &str| -> BTreeSet<String> {
        let mut tar = world.command("tar");
        let listed = said(&tar.arg("-tzf").arg(file).output().unwrap()).exit(0).stdout;
        listed.lines().map(|line| line.replace(target, "TARGET")).collect()
    };
    let expected = names(world.path("out").join(format!("{}.tar.gz", archive_of(linux))), linux);
    let sums = fs::read_to_string(archives.join("SHA256SUMS")).unwrap();
    for (target, _) in TARGETS {
        let file = archives.join(format!("{}.tar.gz", archive_of(target)));
        if file.is_file() {
            assert!(sums.contains(&format!("  {}.tar.gz", archive_of(target))), "{sums}");
            assert_eq!(names(file, target), expected, "{target}");
        }
    }
    let mut check = world.command("sha256sum");
    check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(&archives);
    said(&check.output().unwrap()).exit(0);
}
