//! `install.sh --prebuilt`: a release from a file or a URL, its checksum, and no Rust.

use crate::world::{CommandResult, HOOKS, World, repository, said};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;

/// The target whose archive `install.sh` looks for on this machine.
fn target() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    format!("{}-{system}", std::env::consts::ARCH)
}

fn archive() -> String {
    format!("ralph-0.1.0-{}.tar.gz", target())
}

/// A machine without Rust, and a release in `release` whose executables are short scripts.
fn machine() -> World {
    let world = World::new();
    let folder = format!("made/ralph-0.1.0-{}", target());
    for name in HOOKS.iter().chain(&["ralph"]) {
        world.write(&format!("{folder}/bin/{name}"), "#!/bin/sh\necho \"released $*\"\n");
        world.chmod(&format!("{folder}/bin/{name}"), 0o755);
    }
    fs::create_dir_all(world.path("release")).unwrap();
    fs::create_dir(world.path("tmp")).unwrap();
    let mut tar = world.command("tar");
    tar.arg("-czf").arg(world.path("release").join(archive())).arg("-C").arg(world.path("made"));
    said(&tar.arg(format!("ralph-0.1.0-{}", target())).output().unwrap()).exit(0);
    let sum = checksum(&world);
    world.write("release/SHA256SUMS", &format!("{sum}  {}\n", archive()));
    let tmp = world.path("tmp").display().to_string();
    world.env("PATH", "/usr/bin:/bin").env("TMPDIR", &tmp)
}

fn checksum(world: &World) -> String {
    ralph_core::text::hex::sha256(fs::read(world.path("release").join(archive())).unwrap())
}

fn file(world: &World) -> String {
    world.path("release").join(archive()).display().to_string()
}

/// Runs the script as the document has it: through a pipe, so that no repository is around it.
fn install_sh(world: &World, args: &[&str]) -> CommandResult {
    let script = fs::File::open(repository().join("install.sh")).unwrap();
    let mut command = world.command("sh");
    command.args(["-s", "--"]).args(args).stdin(Stdio::from(script));
    said(&command.output().unwrap())
}

fn is_installed(world: &World) -> bool {
    HOOKS.iter().chain(&["ralph"]).all(|name| {
        let path = format!("home/.local/bin/{name}");
        world.exists(&path) && world.read(&path).contains("released")
    })
}

#[track_caller]
fn refused(world: &World, args: &[&str], code: i32, message: &str) {
    let before = world.snapshot("home");
    install_sh(world, args).exit(code).says(message);
    assert_eq!(world.snapshot("home"), before, "{args:?} changed the home");
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0, "{args:?} left something");
}

#[test]
fn a_file_is_installed_without_rust_and_registered() {
    let world = machine();
    let run = install_sh(&world, &["--prebuilt", &file(&world)]).exit(0);
    run.says("released install\n").says("installed ralph and five hooks into");
    assert!(is_installed(&world));
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
}

#[test]
fn a_folder_stands_for_the_archive_of_this_machine() {
    let world = machine();
    let other = "0".repeat(64);
    let sums = world.read("release/SHA256SUMS");
    let sums = format!("{other}  ralph-0.1.0-s390x-unknown-linux-musl.tar.gz\n{sums}");
    world.write("release/SHA256SUMS", &sums);
    let folder = world.path("release").display().to_string();
    let run = install_sh(&world, &["--prebuilt", &folder, "--no-register"]).exit(0);
    run.says("not registered");
    assert!(is_installed(&world));
    let only = sums.lines().next().unwrap();
    world.write("release/SHA256SUMS", &format!("{only}\n"));
    refused(&world, &["--prebuilt", &folder], 4, "names no archive for");
}

#[test]
fn a_wrong_checksum_is_refused_and_nothing_is_unpacked() {
    let world = machine();
    world.write("release/SHA256SUMS", &format!("{}  {}\n", "0".repeat(64), archive()));
    refused(&world, &["--prebuilt", &file(&world)], 1, "nothing was installed");
    let named = ["--prebuilt", &file(&world), "--sha256", &"a".repeat(64)];
    refused(&world, &named, 1, "not aaaa");
}

#[test]
fn a_missing_checksum_is_refused_and_one_can_be_named() {
    let world = machine();
    world.write("release/SHA256SUMS", &format!("{}  another.tar.gz\n", checksum(&world)));
    refused(&world, &["--prebuilt", &file(&world)], 1, "has no checksum of");
    fs::remove_file(world.path("release/SHA256SUMS")).unwrap();
    refused(&world, &["--prebuilt", &file(&world)], 1, "name it with --sha256 HEX");
    let sum = checksum(&world).to_uppercase();
    install_sh(&world, &["--prebuilt", &file(&world), "--sha256", &sum]).exit(0);
    assert!(is_installed(&world));
}

#[test]
fn what_is_no_release_is_refused() {
    let world = machine();
    refused(&world, &["--prebuilt", "/nowhere/x.tar.gz", "--sha256", &"a".repeat(64)], 1, "read");
    refused(&world, &["--prebuilt", &file(&world), "--sha256", "12"], 2, "64 hexadecimal");
    refused(&world, &["--sha256", &"a".repeat(64)], 2, "--sha256 is for --prebuilt");
    refused(&world, &["--prebuilt"], 2, "--prebuilt needs a file or a URL");
    refused(&world, &["--prebuilt", "http://example.com/x.tar.gz"], 2, "use https");
    refused(&world, &[], 2, "there is nothing to build in");
    fs::write(world.path("release").join(archive()), "no archive").unwrap();
    let sum = checksum(&world);
    refused(&world, &["--prebuilt", &file(&world), "--sha256", &sum], 1, "could not unpack");
}

#[test]
fn executables_for_another_machine_are_not_installed() {
    let world = machine();
    let folder = format!("made/ralph-0.1.0-{}", target());
    world.write(&format!("{folder}/bin/ralph"), "#!/nowhere/sh\n");
    let mut tar = world.command("tar");
    tar.arg("-czf").arg(world.path("release").join(archive())).arg("-C").arg(world.path("made"));
    said(&tar.arg(format!("ralph-0.1.0-{}", target())).output().unwrap()).exit(0);
    let sum = checksum(&world);
    refused(&world, &["--prebuilt", &file(&world), "--sha256", &sum], 4, "do not start here");
}

#[test]
fn a_script_that_breaks_off_does_nothing() {
    let world = machine();
    let text = fs::read_to_string(repository().join("install.sh")).unwrap();
    let before = world.snapshot("home");
    for (offset, _) in text.match_indices('\n').filter(|(at, _)| *at + 2 < text.len()) {
        world.write("half.sh", &text[..offset]);
        let mut command = world.command("sh");
        command.arg(world.path("half.sh")).args(["--prebuilt", &file(&world)]);
        command.output().unwrap();
        assert_eq!(world.snapshot("home"), before, "after {offset} bytes");
    }
}

#[test]
fn a_url_is_fetched_with_the_checksums_beside_it() {
    let world = machine();
    let has = |tool: &str| world.command(tool).arg("--version").output().is_ok();
    if !has("curl") && !has("wget") {
        return eprintln!("SKIPPED: could not start `curl` or `wget`");
    }
    let url = serve(world.path("release"));
    install_sh(&world, &["--prebuilt", &format!("{url}/{}", archive())]).exit(0);
    assert!(is_installed(&world));
    fs::remove_dir_all(world.path("home/.local")).unwrap();
    install_sh(&world, &["--prebuilt", &format!("{url}/")]).exit(0);
    assert!(is_installed(&world));
    fs::remove_file(world.path("release/SHA256SUMS")).unwrap();
    let named = format!("{url}/{}", archive());
    refused(&world, &["--prebuilt", &named], 1, "name it with --sha256 HEX");
}

/// Serves the files of a folder on loopback until the test's process ends.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &folder);
        }
    });
    url
}

fn answer(mut stream: TcpStream, folder: &std::path::Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let (status, body) = match fs::read(folder.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(&body)
}
