//! The state file of one loop: read, changed and written as one step, with the last good copy kept.
//!
//! An unreadable file is never overwritten: a broken one is renamed and the last good copy takes
//! its place; a file of a newer Ralph is left alone.

use crate::git;
use crate::store::archive;
use crate::store::home::Home;
use crate::store::lock::{self, Lock};
use crate::store::second_place::SecondPlace;
use crate::{process::clock, project::trusted_read, store::atomic, store::notice, store::watched};
use anyhow::{Context, Result, anyhow, bail};
use ralph_core::state::{LoopState, Phase, SCHEMA_VERSION};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The state file of a loop, by its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopFile {
    path: PathBuf,
}

/// A state that was read.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub state: LoopState,
    /// What was wrong with the file, if the state is the last good copy.
    pub warning: Option<String>,
    /// The bytes of the file.
    pub text: Vec<u8>,
}

impl LoopFile {
    pub fn at(path: impl Into<PathBuf>) -> LoopFile {
        LoopFile { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The loop's folder: state, journal, receipts, signals.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    fn last_good(&self) -> PathBuf {
        self.path.with_extension("json.last-good")
    }

    /// Reads the state; `None` if there is no file.
    ///
    /// # Errors
    /// If the file is not ours, is newer than this Ralph, or is broken without a good copy.
    // Otherwise callers that seldom come here would make room for a whole state on their stack.
    #[inline(never)]
    pub fn read(&self) -> Result<Option<Loaded>> {
        let loaded = self.view()?;
        if loaded.as_ref().is_some_and(|loaded| loaded.state.bounds.is_some()) {
            // Whatever this process asks git from now on, it may ask for this loop.
            git::keep_within_bounds();
        }
        Ok(loaded)
    }

    /// As `read`, for a caller that asks git nothing for the loop.
    ///
    /// A writer overwrites the older copy in place and then exchanges the names, so a slow reader
    /// may still be reading the file that is overwritten. A file that was replaced during reading,
    /// or looks broken, is therefore read again, the last time under the lock if that is free in
    /// time.
    pub fn view(&self) -> Result<Option<Loaded>> {
        self.read_up_to(3).unwrap_or_else(|| {
            let _held = lock::take_existing(&self.path, lock::DEADLINE);
            self.read_once()
        })
    }

    /// As `view`, for a caller that cannot wait: tries as often, but never takes the lock.
    ///
    /// # Errors
    /// As for `read`, and if the file was replaced during each attempt.
    pub fn glimpse(&self) -> Result<Option<Loaded>> {
        self.read_up_to(2).unwrap_or_else(|| self.read_once())
    }

    fn read_up_to(&self, times: usize) -> Option<Result<Option<Loaded>>> {
        let is_whole =
            |seen: &Result<_>| matches!(seen, Ok(None) | Ok(Some(Loaded { warning: None, .. })));
        (0..times).map(|_| self.read_once()).find(is_whole)
    }

    /// Reads the state once, without a lock. If the state file is gone or unusable, the last good
    /// copy replaces it: damage must not free the session.
    fn read_once(&self) -> Result<Option<Loaded>> {
        let path = self.path.display();
        let (wrong, text) = match trusted_read::read_settled(&self.path) {
            Ok(Some(text)) if self.is_ours(&text) => match self.parse(&text, &self.path)? {
                Ok(state) => return Ok(Some(Loaded { state, warning: None, text })),
                Err(broken) => (Some(anyhow!(broken)), Some(text)),
            },
            Ok(Some(_)) => (
                Some(anyhow!("the state file `{path}` was changed by something else than Ralph")),
                None,
            ),
            Ok(None) => (None, None),
            // Another process is writing; the caller reads again.
            Err(error) if trusted_read::was_replaced(&error) => return Err(error),
            Err(error) => (Some(error), None),
        };
        let gone = format!("the state file `{path}` is gone");
        match (self.copy(), wrong) {
            (Ok(Some(Ok(state))), wrong) => {
                let wrong = wrong.map_or(gone, |error| format!("{error:#}"));
                let warning = Some(format!("{wrong}; used the last good copy"));
                Ok(Some(Loaded { state, warning, text: text.unwrap_or_default() }))
            }
            (_, Some(broken)) if text.is_some() => {
                bail!("{broken}, and there is no good copy of it")
            }
            (Err(error), None) | (_, Some(error)) => Err(error),
            (Ok(Some(Err(broken))), None) => bail!("{gone}, and {broken}"),
            (Ok(None), None) => Ok(None),
        }
    }

    /// False if something else than Ralph wrote this text.
    fn is_ours(&self, text: &[u8]) -> bool {
        SecondPlace::for_state(&self.path).is_none_or(|place| place.accepts(text))
    }

    /// The last good copy; the inner error says how it is broken.
    fn copy(&self) -> Result<Option<Result<LoopState, String>>> {
        let good = self.last_good();
        if let Some(bytes) = SecondPlace::for_state(&self.path).and_then(|place| place.copy())
            && let Ok(Ok(state)) = self.parse(&bytes, &self.path)
        {
            return Ok(Some(Ok(state)));
        }
        trusted_read::read(&good)?.map(|bytes| self.parse(&bytes, &good)).transpose()
    }

    /// Locks the state against writing and archiving; `None` if it is gone, or was archived while
    /// we waited.
    ///
    /// # Errors
    /// If another process held the lock all that time.
    pub fn hold(&self, patience: Duration) -> Result<Option<Lock>> {
        let gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let is_kept = SecondPlace::for_state(&self.path).is_some_and(|place| place.has_copy());
        if is_kept && !self.folder().is_dir() && !self.is_archived() {
            // A link that leads nowhere is no folder either.
            if self.folder().is_symlink() {
                let _ = std::fs::remove_file(self.folder());
            }
            let _ = atomic::make_private(self.folder());
        }
        match lock::take(&self.path, patience) {
            Ok(lock) => {
                let is_there = is_kept || is_there(&self.path) || is_there(&self.last_good());
                Ok(is_there.then_some(lock))
            }
            // The folder is gone, and the lock file with it.
            Err(error) if error.downcast_ref().is_some_and(gone) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if the folder is gone because the loop has been archived.
    fn is_archived(&self) -> bool {
        let root = self.folder().parent().and_then(Path::parent);
        root.is_some_and(|root| archive::find(&Home::at(root), &self.path).is_some())
    }

    /// Writes a new state file. The folder must exist.
    pub fn create(&self, state: &LoopState) -> Result<()> {
        let text = render(state)?;
        self.keep_apart(&[], &text, || atomic::write(&self.path, &text))?;
        if state.is_running() {
            watched::renew(self, Path::new(&state.project_root));
        }
        Ok(())
    }

    /// Writes a state, and what the second place knows of it.
    fn keep_apart(
        &self,
        old: &[u8],
        text: &[u8],
        write: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(place) = SecondPlace::for_state(&self.path) else { return write() };
        place.announce(old, text)?;
        write()?;
        place.keep(text);
        Ok(())
    }

    /// Reads, changes and writes under the lock. Writes nothing if the state is unchanged. `None`
    /// if there is no file.
    ///
    /// # Errors
    /// As for `read`, and if the lock or the disk is not available; the old state then remains.
    pub fn update<T>(&self, change: impl FnOnce(&mut LoopState) -> T) -> Result<Option<T>> {
        self.update_within(lock::DEADLINE, change)
    }

    /// As `update`, for a caller that cannot wait that long for the lock.
    // As `read`.
    #[inline(never)]
    pub fn update_within<T>(
        &self,
        patience: Duration,
        change: impl FnOnce(&mut LoopState) -> T,
    ) -> Result<Option<T>> {
        let Some(lock) = self.hold(patience)? else { return Ok(None) };
        let Some(loaded) = self.read_once()? else { return Ok(None) };
        self.apply(loaded, change, &lock).map(Some)
    }

    /// As `update`, for a caller that has just read the state: parses it again only if another
    /// process has changed it meanwhile.
    pub fn update_seen<T>(
        &self,
        seen: Loaded,
        change: impl FnOnce(&mut LoopState) -> T,
    ) -> Result<Option<T>> {
        let Some(lock) = self.hold(lock::DEADLINE)? else { return Ok(None) };
        let now = trusted_read::read(&self.path).ok().flatten();
        let loaded = match now.is_some_and(|now| now == seen.text) {
            true => Some(seen),
            false => self.read_once()?,
        };
        let Some(loaded) = loaded else { return Ok(None) };
        self.apply(loaded, change, &lock).map(Some)
    }

    fn apply<T>(
        &self,
        loaded: Loaded,
        change: impl FnOnce(&mut LoopState) -> T,
        lock: &Lock,
    ) -> Result<T> {
        let Loaded { mut state, warning, text: read } = loaded;
        let was_running = state.is_running();
        let outcome = change(&mut state);
        // Compared as text: cloning a large state for the comparison would cost more than the whole
        // hook.
        let mut text = render(&state)?;
        if text != read || warning.is_some() {
            state.updated_at = clock::now();
            text = render(&state)?;
            if !was_running && state.is_running() {
                // Before: who reads that the loop is running compares with what it goes on with.
                watched::renew(self, Path::new(&state.project_root));
            }
            self.keep_apart(&read, &text, || match warning {
                None => self.replace(&text, lock),
                Some(_) => self.replace_broken(&text, lock),
            })?;
            // The user is called for an ending when the loop is archived: what it achieved is known
            // by then.
            if state.phase == Phase::Paused {
                notice::call_if_due(self, &state);
            }
        }
        // The process ends soon, so freeing a large state piece by piece would be wasted work.
        std::mem::forget(state);
        Ok(outcome)
    }

    /// Writes the state, and keeps the previous one as the last good copy.
    ///
    /// The new state overwrites the older copy, is synced, and then the two names are exchanged in
    /// one step. So the state is the old one or the new one at every moment, and no file is created
    /// or deleted, which would cost more than the rest of a stop. Where names cannot be exchanged,
    /// the copy is a hard link and the state is replaced.
    fn replace(&self, text: &[u8], _held: &Lock) -> Result<()> {
        let copy = self.last_good();
        if atomic::write_and_exchange(&self.path, &copy, text)? {
            return Ok(());
        }
        let spare = self.path.with_extension("json.last-good.new");
        let _ = std::fs::remove_file(&spare);
        if std::fs::hard_link(&self.path, &spare).is_ok() {
            let _ = std::fs::rename(&spare, copy);
        }
        atomic::write(&self.path, text)
    }

    /// Renames the broken file and writes the state in its place. Until then the last good copy is
    /// all there is, so it is not touched.
    fn replace_broken(&self, text: &[u8], _held: &Lock) -> Result<()> {
        self.set_aside()?;
        atomic::write(&self.path, text)
    }

    /// Keeps whatever is at the state's path (a file, a link, a pipe, a folder) under another name.
    /// The path may be free afterwards.
    pub(crate) fn set_aside(&self) -> Result<()> {
        let name = format!("json.broken-{}", clock::compact(clock::now()));
        let aside = self.path.with_extension(name);
        let kept = std::fs::hard_link(&self.path, &aside)
            // A folder cannot have a second name, and a file of another user may not get one.
            .or_else(|_| std::fs::rename(&self.path, &aside));
        match kept {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            kept => {
                kept.with_context(|| format!("could not keep the broken `{}`", self.path.display()))
            }
        }
    }

    /// The inner error says how the text is broken; the outer one forbids touching the file.
    fn parse(&self, bytes: &[u8], path: &Path) -> Result<Result<LoopState, String>> {
        #[derive(Deserialize)]
        struct SchemaVersion {
            schema_version: u64,
        }

        let path = path.display();
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Ok(Err(format!("the state file `{path}` is broken (it holds no JSON object)")));
        }
        let state = serde_json::from_slice::<LoopState>(bytes);
        let version = match &state {
            Ok(state) => u64::from(state.schema_version),
            // A newer schema may have changed the type of a field that we know.
            Err(_) => serde_json::from_slice::<SchemaVersion>(bytes)
                .map_or(0, |known| known.schema_version),
        };
        if version > u64::from(SCHEMA_VERSION) {
            bail!(
                "`{path}` was written by a newer Ralph (schema {version}); it was left unchanged: \
                 update Ralph"
            );
        }
        Ok(state.map_err(|error| format!("the state file `{path}` is broken ({error})")))
    }

    /// What can still be read of an unusable state, or of its last good copy, even if others can
    /// write the files. For the record of an ending only; no rule may use it.
    pub fn salvage(&self) -> Option<LoopState> {
        [self.path.clone(), self.last_good()]
            .iter()
            .find_map(|path| serde_json::from_slice(&trusted_read::peek(path)?).ok())
    }
}

fn render(state: &LoopState) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(state).context("could not write the state as JSON")?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use std::os::unix::fs::PermissionsExt;

    fn file() -> (tempfile::TempDir, LoopFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = LoopFile::at(folder.path().join("state.json"));
        file.create(&LoopState { loop_id: "L".to_owned(), ..LoopState::default() }).unwrap();
        (folder, file)
    }

    fn iterate(file: &LoopFile) -> u32 {
        let count = |state: &mut LoopState| {
            state.iteration += 1;
            state.iteration
        };
        file.update(count).unwrap().unwrap()
    }

    fn overwrite(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn updates_accumulate_and_the_copy_is_one_behind() {
        let (_folder, file) = file();
        assert_eq!((iterate(&file), iterate(&file)), (1, 2));
        let copy = LoopFile::at(file.last_good()).read().unwrap().unwrap();
        assert_eq!(copy.state.iteration, 1);
    }

    /// Two registrations answer one event side by side.
    #[test]
    fn what_was_written_since_the_state_was_read_is_not_lost() {
        let (_folder, file) = file();
        let change = |seen: Loaded| {
            file.update_seen(seen, |state| state.max_iterations += 1).unwrap().unwrap();
            let state = file.read().unwrap().unwrap().state;
            (state.iteration, state.max_iterations)
        };
        let seen = file.read().unwrap().unwrap();
        iterate(&file);
        assert_eq!(change(seen), (1, 26));
        assert_eq!(change(file.read().unwrap().unwrap()), (1, 27));
    }

    #[test]
    fn whoever_reads_that_a_loop_runs_again_compares_with_what_it_goes_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let (project, place) = (folder.path().join("p"), folder.path().join("ralph/loops/L"));
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        std::fs::create_dir_all(&place).unwrap();
        let file = LoopFile::at(place.join("state.json"));
        let project_root = project.display().to_string();
        let state = LoopState { loop_id: "L".to_owned(), project_root, ..LoopState::default() };
        file.create(&LoopState { phase: Phase::Paused, ..state }).unwrap();
        for n in 0..50 {
            std::fs::write(project.join(".claude/ralph.toml"), format!("# {n}")).unwrap();
            std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    while !file.read().unwrap().unwrap().state.is_running() {}
                    watched::changes(&file)
                });
                file.update(|state| state.phase = Phase::Implementation).unwrap();
                assert_eq!(other.join().unwrap(), <[String; 0]>::default(), "{n}");
            });
            // A change beside a running loop stays one, whatever else becomes of its state.
            std::fs::write(project.join(".claude/ralph.toml"), format!("# {n}, changed")).unwrap();
            iterate(&file);
            assert_eq!(watched::changes(&file).len(), 1, "{n}");
            file.update(|state| state.phase = Phase::Paused).unwrap();
        }
    }

    #[test]
    fn a_reader_among_writers_finds_one_state_and_never_a_mixture() {
        let (_folder, file) = file();
        let is_done = std::sync::atomic::AtomicBool::new(false);
        let order = std::sync::atomic::Ordering::Relaxed;
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut n_reads = 0_u32;
                        while !is_done.load(order) {
                            let Loaded { state, warning, .. } = file.read().unwrap().unwrap();
                            assert_eq!(warning, None);
                            let mut letters = state.prompt.bytes();
                            let first = letters.next();
                            assert!(letters.all(|letter| Some(letter) == first));
                            n_reads += 1;
                        }
                        n_reads
                    })
                })
                .collect();
            for n in 0..150_usize {
                // A mixture of two lengths does not parse, and a mixture of two letters shows in
                // the text.
                let letter = ["x", "y"][n % 2];
                file.update(|state| state.prompt = letter.repeat(50_000 * (n % 4 / 2 + 1)))
                    .unwrap()
                    .unwrap();
            }
            is_done.store(true, order);
            assert!(readers.into_iter().all(|reader| reader.join().unwrap() > 0));
        });
    }

    #[test]
    fn an_update_that_changes_nothing_writes_nothing() {
        let (_folder, file) = file();
        let before = std::fs::read(file.path()).unwrap();
        file.update(|_| ()).unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), before);
        assert!(!file.last_good().exists());
    }

    #[test]
    fn a_broken_state_is_kept_and_the_last_good_copy_takes_over() {
        let (folder, file) = file();
        iterate(&file);
        iterate(&file);
        overwrite(file.path(), "{\"loop_id\": \"L\", \"iter");
        assert!(file.read().unwrap().unwrap().warning.is_some());
        assert_eq!(iterate(&file), 2, "one behind, plus one");
        let kept: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains("broken"))
            .collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert!(file.read().unwrap().unwrap().warning.is_none());
    }

    #[test]
    fn a_broken_state_without_a_copy_is_an_error_and_stays() {
        let (_folder, file) = file();
        overwrite(file.path(), "[]");
        assert!(file.update(|_| ()).unwrap_err().to_string().contains("no good copy"));
        assert_eq!(std::fs::read(file.path()).unwrap(), b"[]");
    }

    #[test]
    fn a_newer_schema_is_left_alone_whatever_else_it_holds() {
        let (_folder, file) = file();
        iterate(&file);
        for text in [r#"{"schema_version":2}"#, r#"{"schema_version":2,"iteration":{"a":1}}"#] {
            overwrite(file.path(), text);
            let error = file.update(|state| state.iteration = 9).unwrap_err().to_string();
            assert!(error.contains("newer Ralph"), "{error}");
            assert_eq!(std::fs::read(file.path()).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn a_write_is_stamped_whatever_the_texts_hold() {
        let (_folder, file) = file();
        let old = "\n  \"updated_at\": \"1970-01-01T00:00:00Z\"".to_owned();
        file.update(|state| state.prompt = old.clone()).unwrap();
        let state = file.read().unwrap().unwrap().state;
        assert_eq!(state.prompt, old);
        assert!(state.updated_at > Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn an_absent_file_is_none_and_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = LoopFile::at(folder.path().join("gone/state.json"));
        assert!(file.read().unwrap().is_none());
        assert!(file.update(|_| ()).unwrap().is_none());
        assert!(!file.folder().exists());
    }
}
