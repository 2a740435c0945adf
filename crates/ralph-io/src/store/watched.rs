//! What the files looked like that decide whether a loop is held, and what has changed since.

use crate::client::plugins;
use crate::project::{safe_read, settings, trusted_read};
use crate::store::atomic;
use crate::store::lock;
use crate::store::loop_file::LoopFile;
use crate::store::second_place::SecondPlace;
use ralph_core::protocol::loaded::{self, WatchedKind};
use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A longer file is compared by its beginning.
const LONGEST: u64 = 4 << 20;

/// A file as it was seen.
struct Mark {
    kind: WatchedKind,
    /// Which file it was, and when it was last written.
    stat: String,
    digest: String,
    path: PathBuf,
}

impl Mark {
    fn from_file(kind: WatchedKind, path: PathBuf) -> Mark {
        let (stat, digest) = (stat(kind, &path), digest(kind, &path));
        Mark { kind, stat, digest, path }
    }

    fn line(&self) -> String {
        let Mark { kind, stat, digest, path } = self;
        format!("{}\t{stat}\t{digest}\t{}\n", kind.word(), path.display())
    }

    fn read(line: &str) -> Option<Mark> {
        let mut parts = line.splitn(4, '\t');
        let mut part = || parts.next();
        let word = part()?;
        let kind = WatchedKind::ALL.into_iter().find(|kind| kind.word() == word)?;
        let (stat, digest) = (part()?.to_owned(), part()?.to_owned());
        Some(Mark { kind, stat, digest, path: part()?.into() })
    }
}

/// Takes the files as they are now for those that the loop goes on with.
pub fn renew(file: &LoopFile, project_root: &Path) {
    let Some(place) = SecondPlace::for_state(file.path()) else { return };
    let marks = files(project_root).into_iter().map(|(kind, path)| Mark::from_file(kind, path));
    keep(&place, &marks.collect::<Vec<_>>());
}

/// What has changed since [`renew`], in words for the user. Nothing for a loop of which nothing was kept.
pub fn changes(file: &LoopFile) -> Vec<String> {
    let Some(place) = SecondPlace::for_state(file.path()) else { return Vec::new() };
    let mut changes: Vec<String> = of_state(file, &place).into_iter().collect();
    let kept = trusted_read::read(&place.marks()).ok().flatten().unwrap_or_default();
    let kept = String::from_utf8_lossy(&kept);
    let mut marks: Vec<Mark> = kept.lines().filter_map(Mark::read).collect();
    let mut is_rewritten = false;
    for mark in &mut marks {
        let now = stat(mark.kind, &mark.path);
        if now == mark.stat {
            continue;
        }
        if mark.kind == WatchedKind::Executable || digest(mark.kind, &mark.path) != mark.digest {
            changes.push(loaded::change(mark.kind, &mark.path.to_string_lossy(), !now.is_empty()));
        }
        (mark.stat, is_rewritten) = (now, true);
    }
    if changes.is_empty() && is_rewritten {
        keep(&place, &marks);
    }
    changes
}

/// What became of the state, if something else than Ralph changed or removed it.
fn of_state(file: &LoopFile, place: &SecondPlace) -> Option<String> {
    let is_ours = || match trusted_read::read(file.path()) {
        Ok(held) => held.map(|held| place.accepts(&held)),
        Err(_) => Some(false),
    };
    let path = file.path().display();
    match is_ours() {
        // Another process may be writing: looked at again while none can.
        None | Some(false) => {
            let _held = file.hold(lock::DEADLINE).ok()?;
            match is_ours() {
                Some(true) => None,
                Some(false) => Some(format!("the loop's state `{path}` changed")),
                None => place.has_copy().then(|| format!("the loop's state `{path}` was removed")),
            }
        }
        Some(true) => None,
    }
}

fn keep(place: &SecondPlace, marks: &[Mark]) {
    let text: String = marks.iter().map(Mark::line).collect();
    // Without them nothing is detected, and the loop goes on.
    let _ = atomic::write_unsynced(&place.marks(), text.as_bytes());
}

/// The files that decide whether a loop of this project is held.
fn files(project_root: &Path) -> Vec<(WatchedKind, PathBuf)> {
    let configs = plugins::configs();
    let of_project = project_root.join(".claude");
    let client = configs.iter().chain([&of_project]).map(|folder| folder.join("settings.json"));
    let client = client.chain([of_project.join("settings.local.json")]);
    let mut files: Vec<_> = client.map(|path| (WatchedKind::ClientSettings, path)).collect();
    let ralph = settings::user_file().into_iter().chain([settings::project_file(project_root)]);
    files.extend(ralph.map(|path| (WatchedKind::RalphSettings, path)));
    let of_plugins = plugins::all(project_root).into_iter().flat_map(|plugin| plugin.files());
    files.extend(of_plugins.map(|path| (WatchedKind::PluginHooks, path)));
    files.extend(plugins::places(project_root).into_iter().map(|path| (WatchedKind::Loaded, path)));
    let executable = std::env::current_exe().ok();
    let names = HOOK_EXECUTABLES.into_iter().chain([COMMAND_LINE]);
    let executables =
        executable.iter().flat_map(|it| names.clone().map(|name| it.with_file_name(name)));
    files.extend(executables.map(|path| (WatchedKind::Executable, path)));
    files
}

/// Empty for a file that is not there. Nothing but this stands for an executable, so a new link to it, which has another
/// `ctime`, must not count.
fn stat(kind: WatchedKind, path: &Path) -> String {
    let told = |about: Metadata| {
        let (file, size) = ((about.dev(), about.ino()), about.size());
        let written = (about.mtime(), about.mtime_nsec());
        let changed =
            (kind != WatchedKind::Executable).then(|| (about.ctime(), about.ctime_nsec()));
        format!("{file:?}{size}{written:?}{changed:?}")
    };
    if kind != WatchedKind::Loaded {
        return fs::metadata(path).map(told).unwrap_or_default();
    }
    let one =
        |file: &PathBuf| Some(format!("{}{}", file.display(), fs::metadata(file).ok().map(told)?));
    let all: String = plugins::files_of(path).iter().filter_map(one).collect();
    if all.is_empty() { all } else { kind.digest(Some(all.as_bytes())) }
}

fn digest(kind: WatchedKind, path: &Path) -> String {
    match kind {
        WatchedKind::Executable => String::new(),
        WatchedKind::Loaded => {
            let mut all = Vec::new();
            for file in plugins::files_of(path) {
                let Some(mut content) = safe_read::beginning(&file, LONGEST) else { continue };
                if let Some(folder) = file.parent().filter(|_| plugins::is_list(&file)) {
                    content = loaded::of_installed(&content, folder).into_bytes();
                }
                if !content.is_empty() {
                    all.extend([file.as_os_str().as_encoded_bytes(), b"\n", &content].concat());
                }
            }
            kind.digest(Some(&all))
        }
        kind => kind.digest(safe_read::beginning(path, LONGEST).as_deref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::LoopState;
    use std::time::{Duration, SystemTime};

    /// A loop, and files that are watched for it.
    struct TestLoop {
        folder: tempfile::TempDir,
        file: LoopFile,
    }

    fn test_loop() -> TestLoop {
        let folder = tempfile::tempdir().unwrap();
        let of_loop = folder.path().join("ralph/loops/L");
        fs::create_dir_all(&of_loop).unwrap();
        let file = LoopFile::at(of_loop.join("state.json"));
        file.create(&LoopState { loop_id: "L".to_owned(), ..LoopState::default() }).unwrap();
        TestLoop { folder, file }
    }

    impl TestLoop {
        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn place(&self) -> SecondPlace {
            SecondPlace::for_state(self.file.path()).unwrap()
        }

        /// Writes a file, with another time at each call.
        fn write(&self, name: &str, text: &str) {
            let path = self.path(name);
            let later = fs::metadata(&path).and_then(|about| about.modified());
            let later = later.map_or(SystemTime::UNIX_EPOCH, |at| at + Duration::from_secs(1));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        }

        fn watch(&self, files: &[(WatchedKind, &str)]) {
            let mark = |(kind, name): &(WatchedKind, &str)| Mark::from_file(*kind, self.path(name));
            keep(&self.place(), &files.iter().map(mark).collect::<Vec<_>>());
        }

        fn words(&self, before: &str, name: &str, after: &str) -> String {
            format!("{before}`{}` {after}", self.path(name).display())
        }
    }

    const NONE: [String; 0] = [];

    #[test]
    fn a_file_counts_as_changed_if_what_counts_in_it_has_and_an_executable_at_each_write() {
        let at = test_loop();
        assert_eq!(changes(&at.file), NONE, "nothing was kept");
        at.write("client", r#"{"hooks": {}, "model": "a"}"#);
        at.write("ralph.toml", "# a");
        at.write("ralph-stop-hook", "a");
        at.watch(&[
            (WatchedKind::ClientSettings, "client"),
            (WatchedKind::RalphSettings, "ralph.toml"),
            (WatchedKind::PluginHooks, "hooks"),
            (WatchedKind::Executable, "ralph-stop-hook"),
        ]);
        assert_eq!(changes(&at.file), NONE);
        let mut changed = Vec::new();
        for (name, text, whose) in [
            ("client", r#"{"hooks": {}, "model": "b"}"#, None),
            ("ralph.toml", "# a", None),
            ("client", r#"{"hooks": {"Stop": []}}"#, Some("the hooks of ")),
            ("ralph.toml", "# b", Some("the settings ")),
            ("hooks", "{}", Some("the hooks of a plugin in ")),
            ("ralph-stop-hook", "a", Some("the executable ")),
        ] {
            at.write(name, text);
            changed.extend(whose.map(|whose| at.words(whose, name, "changed")));
            assert_eq!(changes(&at.file), changed, "{name} {text}");
            assert_eq!(changes(&at.file), changed, "it stays so");
        }
        fs::remove_file(at.path("client")).unwrap();
        changed[0] = at.words("", "client", "was removed");
        assert_eq!(changes(&at.file), changed);
    }

    #[test]
    fn what_was_rewritten_alike_is_not_read_again_and_a_change_beside_it_is_not_forgotten() {
        let at = test_loop();
        let [one, other] = ["one", "other"].map(|name| (WatchedKind::RalphSettings, name));
        at.write("one", "# a");
        at.write("other", "# a");
        at.watch(&[one, other]);
        let marks = || fs::read_to_string(at.place().marks()).unwrap();
        let before = marks();
        at.write("one", "# a");
        assert_eq!(changes(&at.file), NONE);
        assert_ne!(marks(), before, "its new time is kept");
        let now = Mark::from_file(one.0, at.path("one")).line()
            + &Mark::from_file(other.0, at.path("other")).line();
        assert_eq!(marks(), now);
        at.write("one", "# a");
        at.write("other", "# b");
        for _ in 0..2 {
            assert_eq!(changes(&at.file), [at.words("the settings ", "other", "changed")]);
            assert_eq!(marks(), now);
        }
    }

    #[test]
    fn of_a_place_that_the_client_loads_from_each_text_counts_that_it_loads() {
        let at = test_loop();
        at.write("skills/tool/hooks/hooks.json", "{}");
        at.write("dev-mods/one/main.js", "1");
        at.watch(&[(WatchedKind::Loaded, "skills"), (WatchedKind::Loaded, "dev-mods")]);
        for (name, text) in [
            ("skills/tool/hooks/hooks.json", "{}"),
            ("skills/tool/hooks/empty", ""),
            ("skills/tool/SKILL.md", "not loaded by itself"),
        ] {
            at.write(name, text);
            assert_eq!(changes(&at.file), NONE, "{name}");
        }
        let whose = "what the client loads from ";
        let changed = ["skills", "dev-mods"].map(|name| at.words(whose, name, "changed"));
        at.write("skills/tool/hooks/hooks.json", "[]");
        assert_eq!(changes(&at.file), changed[..1]);
        at.write("dev-mods/one/deep/more.js", "2");
        assert_eq!(changes(&at.file), changed);
    }

    #[test]
    fn what_decides_whether_a_loop_is_held_is_watched_from_each_renewal_on() {
        let at = test_loop();
        let settings = "project/.claude/settings.json";
        at.write(settings, "{}");
        for text in [r#"{"hooks": {"Stop": []}}"#, r#"{"hooks": {}}"#] {
            renew(&at.file, &at.path("project"));
            assert_eq!(changes(&at.file), NONE);
            at.write(settings, text);
            assert_eq!(changes(&at.file), [at.words("the hooks of ", settings, "changed")]);
        }
    }

    #[test]
    fn a_new_name_of_an_executable_is_no_write_of_it_and_one_of_settings_is() {
        let at = test_loop();
        at.write("file", "a");
        let path = at.path("file");
        let both =
            || [WatchedKind::Executable, WatchedKind::ClientSettings].map(|kind| stat(kind, &path));
        let [executable, settings] = both();
        let changed = || path.metadata().map(|about| (about.ctime(), about.ctime_nsec())).unwrap();
        let before = changed();
        // The clock of the file system may be slow.
        while changed() == before {
            fs::hard_link(&path, at.path("link")).unwrap();
            fs::remove_file(at.path("link")).unwrap();
        }
        let now = both();
        assert_eq!(now[0], executable);
        assert_ne!(now[1], settings);
        assert_eq!(stat(WatchedKind::Executable, &at.path("none")), "");
        for change in [
            |path: &Path| fs::write(path, "longer").unwrap(),
            |path: &Path| fs::rename(path.with_file_name("new"), path).unwrap(),
        ] {
            at.write("new", "a");
            let before = both();
            change(&path);
            let now = both();
            assert!(now[0] != before[0] && now[1] != before[1]);
        }
    }

    #[test]
    fn a_state_that_something_else_changed_or_removed_is_told_of() {
        let at = test_loop();
        let state =
            |after: &str| [format!("the loop's state `{}` {after}", at.file.path().display())];
        assert_eq!(changes(&at.file), NONE);
        let ours = fs::read(at.file.path()).unwrap();
        for other in [&b"{}"[..], b"", &ours[1..]] {
            fs::write(at.file.path(), other).unwrap();
            assert_eq!(changes(&at.file), state("changed"));
        }
        fs::remove_file(at.file.path()).unwrap();
        assert_eq!(changes(&at.file), state("was removed"));
        fs::create_dir(at.file.path()).unwrap();
        assert_eq!(changes(&at.file), state("changed"));
        fs::remove_dir(at.file.path()).unwrap();
        at.place().remove();
        assert_eq!(changes(&at.file), NONE, "nothing was kept of it");
    }
}
