//! A proof is for the files that a command sees. Whatever hides a file from git, or keeps its times as
//! they were, hides it from no request for completion.

use crate::world::World;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

const TOKEN: &str = "RALPH_COMPLETE";

/// A loop whose first criterion holds and counts its runs outside of the tree, and whose second never
/// holds, so that requests are refused and the proof of the first stays where it is.
struct Watched {
    world: World,
}

impl Watched {
    fn new(prepare: impl FnOnce(&World)) -> Watched {
        let world = World::new();
        fs::create_dir(world.root().join("outside")).unwrap();
        prepare(&world);
        let runs = world.root().join("runs");
        world.start(&format!(
            "--stall-limit 99 --max-iterations 99 --ac \"a=echo x >> {}; test -d .git\" --ac \"b=test -e never\"",
            runs.display()
        ));
        Watched { world }
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.world.root().join("runs")).unwrap_or_default().lines().count()
    }

    /// A request; returns whether the first criterion was run for it.
    fn request(&self) -> bool {
        let before = self.runs();
        self.world.stop(TOKEN).goes_on();
        self.runs() > before
    }

    #[track_caller]
    fn sees(&self, what: &str, change: impl FnOnce(&World)) {
        self.request();
        change(&self.world);
        assert!(self.request(), "{what}: its proof outlasted a change of what it was taken on");
    }
}

fn root(world: &World, path: &str) -> PathBuf {
    world.root().join(path)
}

fn append(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

type Way<T> = (&'static str, fn(&T));

/// Ways to have git leave a file out, once the loop runs.
fn hidings() -> Vec<Way<World>> {
    let mut all: Vec<Way<World>> = vec![
        ("by its name", |w| append(&w.project().join(".gitignore"), "src/work\n")),
        ("by a pattern", |w| append(&w.project().join(".gitignore"), "w*k\n")),
        ("by its folder", |w| append(&w.project().join(".gitignore"), "/src/\n")),
        ("by everything", |w| append(&w.project().join(".gitignore"), "*\n")),
        ("in its own folder", |w| w.write("src/.gitignore", "work\n")),
        ("in a folder that hides its rules, too", |w| w.write("src/.gitignore", "*\n")),
        ("by a negation of all else", |w| append(&w.project().join(".gitignore"), "*\n!tracked\n")),
        ("in the repository's own list", |w| {
            append(&w.project().join(".git/info/exclude"), "work\n")
        }),
        ("in the repository's own list, by a folder", |w| {
            append(&w.project().join(".git/info/exclude"), "src\n");
        }),
        ("by a file that the repository names", |w| {
            fs::write(root(w, "rules"), "work\n").unwrap();
            w.git(&format!("config core.excludesFile {}", root(w, "rules").display()));
        }),
        ("by the person's own list", |w| append(&root(w, "home/.config/git/ignore"), "work\n")),
        ("by a file that the person's configuration names", |w| {
            fs::write(root(w, "rules"), "work\n").unwrap();
            let text = format!("[core]\n\texcludesFile = {}\n", root(w, "rules").display());
            fs::write(root(w, "home/.gitconfig"), text).unwrap();
        }),
    ];
    all.push(("by both", |w| {
        append(&w.project().join(".gitignore"), "src\n");
        append(&w.project().join(".git/info/exclude"), "src\n");
    }));
    all
}

/// Each with a file of the beginning, one that was made later, tracked and not.
#[test]
fn a_file_that_is_excluded_from_git_during_the_loop_stays_a_part_of_the_proof() {
    let hidings = hidings();
    let check = |number: &usize| {
        let (name, hide) = &hidings[*number];
        let kinds = ["untracked", "later", "untracked by an earlier commit"];
        // All for the proof; else each way of hiding hides a file of one kind.
        let is_tried = |at: &usize| crate::is_proof() || *at == number % kinds.len();
        for kind in (0..kinds.len()).filter(is_tried).map(|at| kinds[at]) {
            let what = format!("excluded {name}, {kind}");
            let at = Watched::new(|world| {
                if kind != "later" {
                    world.write("src/work", "1\n");
                }
                if kind.ends_with("commit") {
                    world.git("add src/work");
                    world.git("commit -q -m work");
                }
            });
            hide(&at.world);
            if kind.ends_with("commit") {
                at.world.git("rm -q --cached src/work");
            }
            at.world.write("src/work", "2\n");
            at.sees(&what, |world| world.write("src/work", "3\n"));
            at.sees(&what, |world| fs::remove_file(world.project().join("src/work")).unwrap());
        }
    };
    side_by_side(&(0..hidings.len()).collect::<Vec<_>>(), check);
}

fn side_by_side<T: Sync>(all: &[T], check: impl Fn(&T) + Sync) {
    assert!(all.len() >= 10, "{}", all.len());
    let next = std::sync::Mutex::new(all.iter());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let one = next.lock().unwrap().next();
                    let Some(one) = one else { break };
                    check(one);
                }
            });
        }
    });
}

#[test]
fn a_file_that_git_is_told_not_to_look_at_stays_a_part_of_the_proof() {
    let bits = ["--assume-unchanged", "--skip-worktree"];
    let changes: [Way<Path>; 6] = [
        ("another content", |path| fs::write(path, "two\n").unwrap()),
        ("the same length", |path| fs::write(path, "eno\n").unwrap()),
        ("the same length and time", |path| {
            let time = path.metadata().unwrap().modified().unwrap();
            fs::write(path, "neo\n").unwrap();
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }),
        ("an executable bit", |path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("a link in its place", |path| {
            fs::remove_file(path).unwrap();
            symlink("other", path).unwrap();
        }),
        ("nothing in its place", |path| fs::remove_file(path).unwrap()),
    ];
    let all: Vec<_> =
        bits.iter().flat_map(|bit| changes.iter().map(move |change| (bit, change))).collect();
    side_by_side(&all, |(bit, (name, change))| {
        let at = Watched::new(|world| world.write("other", "x"));
        at.world.git(&format!("update-index {bit} tracked"));
        at.sees(&format!("{bit}, {name}"), |world| change(&world.project().join("tracked")));
    });
}

/// A link, by its name in the project and its target, and what changes behind it.
type Behind = (&'static str, fn(&World), fn(&World));

fn outside(world: &World, path: &str) -> PathBuf {
    world.root().join("outside").join(path)
}

fn link(world: &World, target: &Path) {
    symlink(target, world.project().join("link")).unwrap();
}

fn with_folder(world: &World) {
    append(&outside(world, "folder/deep/file"), "1\n");
    append(&outside(world, "folder/other"), "1\n");
    link(world, &outside(world, "folder"));
}

fn with_file(world: &World) {
    append(&outside(world, "file"), "1\n");
    link(world, &outside(world, "file"));
}

/// In the memory that every Linux shares at `/dev/shm`, beside the devices.
fn shared(world: &World) -> PathBuf {
    let name = world.root().file_name().unwrap().to_owned();
    Path::new("/dev/shm").join(name).with_extension("ralph-test")
}

const BEHIND: [Behind; 15] = [
    (
        "a file in shared memory",
        |w| {
            fs::write(shared(w), "1\n").unwrap();
            link(w, &shared(w));
        },
        |w| fs::remove_file(shared(w)).unwrap(),
    ),
    ("content of a file", with_file, |w| append(&outside(w, "file"), "2\n")),
    ("content of equal length", with_file, |w| fs::write(outside(w, "file"), "2\n").unwrap()),
    ("the file gone", with_file, |w| fs::remove_file(outside(w, "file")).unwrap()),
    ("executable", with_file, |w| {
        fs::set_permissions(outside(w, "file"), fs::Permissions::from_mode(0o755)).unwrap();
    }),
    ("another file in its place", with_file, |w| {
        append(&outside(w, "new"), "new\n");
        fs::rename(outside(w, "new"), outside(w, "file")).unwrap();
    }),
    ("a file in a folder", with_folder, |w| append(&outside(w, "folder/other"), "2\n")),
    ("a file deep in a folder", with_folder, |w| append(&outside(w, "folder/deep/file"), "2\n")),
    ("a new file in a folder", with_folder, |w| append(&outside(w, "folder/new"), "2\n")),
    ("a file less in a folder", with_folder, |w| {
        fs::remove_file(outside(w, "folder/other")).unwrap()
    }),
    ("a file renamed in a folder", with_folder, |w| {
        fs::rename(outside(w, "folder/other"), outside(w, "folder/another")).unwrap();
    }),
    ("a link within the folder", with_folder, |w| {
        symlink("other", outside(w, "folder/link")).unwrap()
    }),
    (
        "a chain of links",
        |w| {
            append(&outside(w, "file"), "1\n");
            symlink("file", outside(w, "middle")).unwrap();
            link(w, &outside(w, "middle"));
        },
        |w| append(&outside(w, "file"), "2\n"),
    ),
    (
        "a relative link",
        |w| {
            append(&outside(w, "file"), "1\n");
            link(w, Path::new("../outside/file"));
        },
        |w| append(&outside(w, "file"), "2\n"),
    ),
    (
        "a file that git leaves out",
        |w| {
            w.write(".gitignore", "hidden\n");
            w.write("hidden", "1\n");
            link(w, Path::new("hidden"));
        },
        |w| w.write("hidden", "2\n"),
    ),
];

#[test]
fn a_change_behind_a_link_that_leads_out_of_the_project_is_seen() {
    side_by_side(&BEHIND, |(name, prepare, change)| {
        let at = Watched::new(prepare);
        at.request();
        assert!(!at.request(), "{name}: nothing has changed");
        at.sees(name, change);
    });
}

/// A link to a pipe, a device or the folder above leads nowhere that can be read.
#[test]
fn a_link_to_what_cannot_be_read_holds_nothing_up() {
    let at = Watched::new(|world| {
        let pipe = outside(world, "pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let links = [
            ("pipe", pipe.as_path()),
            ("zero", Path::new("/dev/zero")),
            ("proc", Path::new("/proc")),
        ];
        for (name, target) in
            links.into_iter().chain([("up", Path::new("..")), ("all", Path::new("/"))])
        {
            symlink(target, world.project().join(name)).unwrap();
        }
    });
    at.request();
    assert!(!at.request());
}

/// Writes through a mapping of memory: the second write finds the page dirty and moves no time.
const MAPS: &str = "import mmap, sys
f = open(sys.argv[1], 'r+b')
m = mmap.mmap(f.fileno(), 0)
m[int(sys.argv[2])] = 65
print('mapped', flush=True)
for line in sys.stdin:
    m[int(sys.argv[2])] = ord(line[0])
    print('written', flush=True)
";

#[test]
fn a_write_through_a_mapping_of_memory_outlasts_no_proof() {
    let is_there = Command::new("python3").args(["-c", "import mmap"]).status();
    if !is_there.is_ok_and(|status| status.success()) {
        println!("there is no python3 here");
        return;
    }
    let at = Watched::new(|world| world.write("mapped", &"x".repeat(9000)));
    let path = at.world.project().join("mapped");
    let mut maps = Vec::new();
    for place in [0, 1, 100, 4095, 4096, 4097, 5000, 8191, 8192, 8999] {
        let mut child = Command::new("python3")
            .args(["-c", MAPS])
            .arg(&path)
            .arg(place.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap());
        told.read_line(&mut String::new()).unwrap();
        maps.push((child, told));
    }
    // A digest is remembered only of a file that has rested for three seconds.
    let rested = || {
        let about = path.metadata().unwrap();
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(about.ctime() as u64 + 1);
        changed.elapsed().is_ok_and(|since| since > Duration::from_secs(3))
    };
    while !rested() {
        std::thread::yield_now();
        std::thread::sleep(Duration::from_millis(50));
    }
    at.request();
    assert!(!at.request(), "nothing has changed");
    for (at_once, (child, told)) in maps.iter_mut().enumerate() {
        child.stdin.as_mut().unwrap().write_all(b"Z\n").unwrap();
        told.read_line(&mut String::new()).unwrap();
        assert!(at.request(), "write {at_once} was not seen");
        let status = at.world.ralph(&["status"]).text;
        assert!(!status.contains("stale"), "{status}");
    }
    for (mut child, _) in maps {
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
