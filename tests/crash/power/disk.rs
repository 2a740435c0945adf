//! A model of what a journaling file system may keep when the power is cut.
//!
//! **Content.** What was written to a file is kept for certain once the file was synced. Until
//! then the file may hold what it held at its last sync, nothing at all, the first half of what
//! was written last, or all of it: also where its new name is kept already (rename before data).
//! **Names.** A change of a folder's entries (a new file or folder, a rename, an exchange, a link,
//! a removal) is kept for certain once a folder that it touches was synced. Until then it may be
//! lost; but changes in one folder are kept in their order, and a change of two folders is kept in
//! both or in neither. Syncing a file says nothing about its name (ext4 is kinder than that).
//!
//! Which folders lose what is independent otherwise, so all combinations are tried, up to a bound.

use crate::snapshot::{Thing, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Combinations of names that are tried for one moment.
const MOST_WAYS: usize = 64;

type Ino = usize;

/// What stands under which name of which folder.
type Names = BTreeMap<(Ino, OsString), Ino>;

/// What each file holds.
type Contents = BTreeMap<Ino, Vec<u8>>;

/// A file, a folder or a link, whatever its names.
#[derive(Debug, Clone)]
enum Node {
    File { mode: u32 },
    Folder { mode: u32 },
    Link(PathBuf),
}

/// One thing that happened.
#[derive(Debug, Clone)]
enum Op {
    /// Entries that changed in one step.
    Names(Vec<(Ino, OsString, Option<Ino>)>),
    /// A file's whole content, as it was from here on.
    Content(Ino, Vec<u8>),
    SyncFile(Ino),
    SyncFolder(Ino),
    /// A part of the answer was given: after the last one nothing may be lost.
    Answer,
}

/// A disk, and all that happened to it since everything on it was durable.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    nodes: Vec<Node>,
    names: Names,
    contents: Contents,
    ops: Vec<Op>,
    at_first: (Names, Contents),
}

const ROOT: Ino = 0;

impl Disk {
    /// A disk that holds this, all of it durable.
    pub(crate) fn holding(tree: &Tree) -> Disk {
        let mut disk = Disk { nodes: vec![Node::Folder { mode: 0o700 }], ..Disk::default() };
        for (path, thing) in tree {
            let node = match thing {
                Thing::Folder { mode } => Node::Folder { mode: *mode },
                Thing::Link(target) => Node::Link(target.clone()),
                Thing::File { mode, .. } => Node::File { mode: *mode },
            };
            let ino = disk.add(node);
            if let Thing::File { bytes, .. } = thing {
                disk.contents.insert(ino, bytes.to_vec());
            }
            let (folder, name) = disk.entry(path).expect("folders come before what is in them");
            disk.names.insert((folder, name), ino);
        }
        disk.at_first = (disk.names.clone(), disk.contents.clone());
        disk
    }

    fn add(&mut self, node: Node) -> Ino {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn find(&self, path: &Path) -> Option<Ino> {
        path.iter().try_fold(ROOT, |at, name| self.names.get(&(at, name.to_owned())).copied())
    }

    fn entry(&self, path: &Path) -> Option<(Ino, OsString)> {
        Some((self.find(path.parent()?)?, path.file_name()?.to_owned()))
    }

    fn change(&mut self, changes: Vec<(Ino, OsString, Option<Ino>)>) {
        for (folder, name, ino) in &changes {
            match ino {
                Some(ino) => self.names.insert((*folder, name.clone()), *ino),
                None => self.names.remove(&(*folder, name.clone())),
            };
        }
        self.ops.push(Op::Names(changes));
    }

    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.find(path).is_some()
    }

    /// A new file, or folder, where there is none yet.
    pub(crate) fn make(&mut self, path: &Path, mode: u32, is_folder: bool) {
        let Some((folder, name)) = self.entry(path) else { return };
        let node = if is_folder { Node::Folder { mode } } else { Node::File { mode } };
        let ino = self.add(node);
        if !is_folder {
            self.contents.insert(ino, Vec::new());
        }
        self.change(vec![(folder, name, Some(ino))]);
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        if let Some((folder, name)) = self.entry(path) {
            self.change(vec![(folder, name, None)]);
        }
    }

    pub(crate) fn link(&mut self, from: &Path, to: &Path) {
        if let (Some(ino), Some((folder, name))) = (self.find(from), self.entry(to)) {
            self.change(vec![(folder, name, Some(ino))]);
        }
    }

    pub(crate) fn rename(&mut self, from: &Path, to: &Path) {
        let (Some(ino), Some(old), Some(new)) = (self.find(from), self.entry(from), self.entry(to))
        else {
            return;
        };
        self.change(vec![(old.0, old.1, None), (new.0, new.1, Some(ino))]);
    }

    pub(crate) fn exchange(&mut self, one: &Path, two: &Path) {
        let (Some(a), Some(b)) = (self.find(one), self.find(two)) else { return };
        let (Some(at_a), Some(at_b)) = (self.entry(one), self.entry(two)) else { return };
        self.change(vec![(at_a.0, at_a.1, Some(b)), (at_b.0, at_b.1, Some(a))]);
    }

    /// Writes at an offset, at the end where there is none. Returns where the next write goes.
    pub(crate) fn write(&mut self, path: &Path, offset: Option<usize>, bytes: &[u8]) -> usize {
        let Some(ino) = self.find(path) else { return 0 };
        let content = self.contents.entry(ino).or_default();
        let at = offset.unwrap_or(content.len());
        content.resize(content.len().max(at + bytes.len()), 0);
        content[at..at + bytes.len()].copy_from_slice(bytes);
        self.ops.push(Op::Content(ino, content.clone()));
        at + bytes.len()
    }

    pub(crate) fn truncate(&mut self, path: &Path, len: usize) {
        let Some(ino) = self.find(path) else { return };
        let content = self.contents.entry(ino).or_default();
        if content.len() != len {
            content.resize(len, 0);
            self.ops.push(Op::Content(ino, content.clone()));
        }
    }

    pub(crate) fn sync(&mut self, path: &Path) {
        let Some(ino) = self.find(path) else { return };
        let is_folder = matches!(self.nodes[ino], Node::Folder { .. });
        self.ops.push(if is_folder { Op::SyncFolder(ino) } else { Op::SyncFile(ino) });
    }

    pub(crate) fn answer(&mut self) {
        self.ops.push(Op::Answer);
    }

    /// What every process sees at this moment.
    pub(crate) fn now(&self, moment: usize) -> Tree {
        assert_eq!(moment, self.ops.len(), "only the present is kept as such");
        self.tree(&self.names, &self.contents)
    }

    /// How many moments there are at which the power may be cut.
    pub(crate) fn n_moments(&self) -> usize {
        self.ops.len() + 1
    }

    /// Whether the last word of the answer had been said before this moment.
    pub(crate) fn is_answered(&self, moment: usize) -> bool {
        let last = self.ops.iter().rposition(|op| matches!(op, Op::Answer));
        last.is_some_and(|last| last < moment)
    }

    /// Everything that may be found after the power was cut at this moment.
    pub(crate) fn remains(&self, moment: usize) -> Vec<Tree> {
        let ops = &self.ops[..moment];
        let mut found: Vec<Tree> = Vec::new();
        for kept in ways(ops) {
            let mut names = self.at_first.0.clone();
            for (at, op) in ops.iter().enumerate() {
                let Op::Names(changes) = op else { continue };
                for (folder, name, ino) in changes.iter().filter(|_| kept.contains(&at)) {
                    match ino {
                        Some(ino) => names.insert((*folder, name.clone()), *ino),
                        None => names.remove(&(*folder, name.clone())),
                    };
                }
            }
            for contents in self.contents_after(ops) {
                let tree = self.tree(&names, &contents);
                if !found.contains(&tree) {
                    found.push(tree);
                }
            }
        }
        found
    }

    /// What may be in the files: all of them alike, and each one alone otherwise than the rest.
    fn contents_after(&self, ops: &[Op]) -> Vec<Contents> {
        let mut durable = self.at_first.1.clone();
        let mut last: Contents = BTreeMap::new();
        for op in ops {
            match op {
                Op::Content(ino, content) => drop(last.insert(*ino, content.clone())),
                Op::SyncFile(ino) => durable.extend(last.remove_entry(ino)),
                _ => {}
            }
        }
        let forms = |ino: &Ino| {
            let whole = &last[ino];
            let before = durable.get(ino).cloned().unwrap_or_default();
            [whole.clone(), before, Vec::new(), whole[..whole.len() / 2].to_vec()]
        };
        let mut all = Vec::new();
        for form in 0..4 {
            let mut alike = durable.clone();
            alike.extend(last.keys().map(|ino| (*ino, forms(ino)[form].clone())));
            for alone in last.keys() {
                for (other, content) in forms(alone).into_iter().enumerate() {
                    if other != form && last.len() > 1 {
                        let mut one = alike.clone();
                        one.insert(*alone, content);
                        all.push(one);
                    }
                }
            }
            all.push(alike);
        }
        all.sort();
        all.dedup();
        all
    }

    fn tree(&self, names: &Names, contents: &Contents) -> Tree {
        let mut tree = Tree::new();
        let mut folders = vec![(ROOT, PathBuf::new())];
        while let Some((folder, path)) = folders.pop() {
            for ((_, name), ino) in
                names.range((folder, OsString::new())..).take_while(|it| it.0.0 == folder)
            {
                let path = path.join(name);
                let thing = match &self.nodes[*ino] {
                    Node::Folder { mode } => {
                        folders.push((*ino, path.clone()));
                        Thing::Folder { mode: *mode }
                    }
                    Node::Link(target) => Thing::Link(target.clone()),
                    Node::File { mode } => {
                        let bytes = contents.get(ino).cloned().unwrap_or_default().into();
                        Thing::File { bytes, mode: *mode, modified: None }
                    }
                };
                tree.insert(path, thing);
            }
        }
        tree
    }
}

fn folders(op: &Op) -> BTreeSet<Ino> {
    match op {
        Op::Names(changes) => changes.iter().map(|(folder, _, _)| *folder).collect(),
        _ => BTreeSet::new(),
    }
}

/// The sets of changes of names that may have been kept.
fn ways(ops: &[Op]) -> Vec<BTreeSet<usize>> {
    let changes: Vec<usize> =
        (0..ops.len()).filter(|at| matches!(ops[*at], Op::Names(_))).collect();
    let mut certain = BTreeSet::new();
    for at in changes.iter().rev() {
        let own = folders(&ops[*at]);
        let synced =
            ops[*at..].iter().any(|op| matches!(op, Op::SyncFolder(ino) if own.contains(ino)));
        // Kept in their order: what comes before something that is kept is kept as well.
        let before_one =
            certain.iter().any(|later: &usize| !own.is_disjoint(&folders(&ops[*later])));
        if synced || before_one {
            certain.insert(*at);
        }
    }
    let mut ways = vec![certain.clone()];
    for at in changes.iter().filter(|at| !certain.contains(at)) {
        let own = folders(&ops[*at]);
        let earlier: Vec<usize> = changes
            .iter()
            .copied()
            .filter(|other| other < at && !own.is_disjoint(&folders(&ops[*other])))
            .collect();
        let with: Vec<BTreeSet<usize>> = ways
            .iter()
            .filter(|way| earlier.iter().all(|other| way.contains(other)))
            .map(|way| way.iter().copied().chain([*at]).collect())
            .collect();
        // The way that keeps everything is the last one, and is never left out.
        ways.extend(with);
        if ways.len() > MOST_WAYS {
            ways.drain(1..ways.len() - MOST_WAYS + 1);
        }
    }
    ways
}

/// The tests of this module.
pub(crate) const TESTS: &[(&str, fn())] = &[
    ("a_file_that_was_synced_before_its_rename_is_the_old_or_the_new_one", atomic),
    ("without_the_sync_a_renamed_file_may_be_empty_or_torn", rename_before_data),
    ("without_the_folders_sync_an_answered_rename_may_be_lost", lost_rename),
    ("a_move_between_folders_is_kept_in_both_or_in_neither", moved),
    ("a_file_written_in_place_may_be_torn", in_place),
];

fn file(text: &str) -> Thing {
    Thing::File { bytes: text.as_bytes().into(), mode: 0o600, modified: None }
}

fn before() -> Disk {
    Disk::holding(&Tree::from([("f".into(), file("old!"))]))
}

/// What `f` may hold, over all moments from this one on.
fn seen(disk: &Disk, from: usize) -> BTreeSet<String> {
    let trees = (from..disk.n_moments()).flat_map(|moment| disk.remains(moment));
    trees
        .map(|tree| match tree.get(Path::new("f")) {
            Some(Thing::File { bytes, .. }) => String::from_utf8_lossy(bytes).into_owned(),
            _ => "nothing".to_owned(),
        })
        .collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn replace(disk: &mut Disk, sync_file: bool, sync_folder: bool) {
    let (temporary, path) = (Path::new("t"), Path::new("f"));
    disk.make(temporary, 0o600, false);
    disk.write(temporary, Some(0), b"new!");
    if sync_file {
        disk.sync(temporary);
    }
    disk.rename(temporary, path);
    if sync_folder {
        disk.sync(Path::new(""));
    }
}

fn atomic() {
    let mut disk = before();
    replace(&mut disk, true, true);
    assert_eq!(seen(&disk, 0), set(&["old!", "new!"]));
    assert_eq!(seen(&disk, disk.ops.len()), set(&["new!"]));
}

fn rename_before_data() {
    let mut disk = before();
    replace(&mut disk, false, true);
    assert_eq!(seen(&disk, disk.ops.len()), set(&["", "ne", "new!"]));
}

fn lost_rename() {
    let mut disk = before();
    replace(&mut disk, true, false);
    disk.answer();
    assert!(disk.is_answered(disk.ops.len()));
    assert_eq!(seen(&disk, disk.ops.len()), set(&["old!", "new!"]));
}

fn moved() {
    let folder = || Thing::Folder { mode: 0o700 };
    let tree =
        Tree::from([("a".into(), folder()), ("a/f".into(), file("x")), ("b".into(), folder())]);
    let mut disk = Disk::holding(&tree);
    disk.rename(Path::new("a/f"), Path::new("b/f"));
    for tree in disk.remains(1) {
        let there = ["a/f", "b/f"].map(|path| tree.contains_key(Path::new(path)));
        assert!(there[0] != there[1], "{tree:?}");
    }
    assert_eq!(disk.remains(1).len(), 2);
    disk.sync(Path::new("b"));
    assert_eq!(disk.remains(2).len(), 1);
}

fn in_place() {
    let mut disk = before();
    disk.truncate(Path::new("f"), 0);
    disk.write(Path::new("f"), Some(0), b"new!");
    disk.sync(Path::new("f"));
    assert_eq!(seen(&disk, 0), set(&["old!", "", "ne", "new!"]));
}
