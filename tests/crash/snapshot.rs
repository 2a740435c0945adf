//! A folder and all that is in it, kept in memory: to be brought back, and to be told from another.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Thing {
    Folder { mode: u32 },
    File { bytes: Rc<[u8]>, mode: u32, modified: Option<SystemTime> },
    Link(PathBuf),
}

/// Everything below a folder, by paths relative to it.
pub(crate) type Tree = BTreeMap<PathBuf, Thing>;

/// What is below the folder now.
pub(crate) fn take(root: &Path) -> Tree {
    let mut tree = Tree::new();
    gather(root, Path::new(""), &mut tree);
    tree
}

fn gather(root: &Path, below: &Path, tree: &mut Tree) {
    let Ok(entries) = fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten() {
        let path = below.join(entry.file_name());
        let Ok(about) = entry.metadata() else { continue };
        let mode = about.permissions().mode() & 0o7777;
        let thing = if about.is_dir() {
            Thing::Folder { mode }
        } else if about.is_symlink() {
            Thing::Link(fs::read_link(entry.path()).unwrap())
        } else {
            let bytes = fs::read(entry.path()).unwrap_or_default().into();
            Thing::File { bytes, mode, modified: about.modified().ok() }
        };
        let is_folder = matches!(thing, Thing::Folder { .. });
        tree.insert(path.clone(), thing);
        if is_folder {
            gather(root, &path, tree);
        }
    }
}

/// Makes the folder hold this and nothing else.
pub(crate) fn restore(root: &Path, tree: &Tree) {
    for entry in fs::read_dir(root).unwrap().flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().unwrap().is_dir();
        if is_folder { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    for (path, thing) in tree {
        let path = root.join(path);
        match thing {
            Thing::Folder { mode } => {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Thing::Link(target) => symlink(target, &path).unwrap(),
            Thing::File { bytes, mode, modified } => {
                fs::write(&path, bytes).unwrap();
                let file = fs::File::options().write(true).open(&path).unwrap();
                file.set_permissions(fs::Permissions::from_mode(*mode)).unwrap();
                if let Some(at) = modified {
                    file.set_modified(*at).unwrap();
                }
            }
        }
    }
}

/// Equal for trees that no program could tell apart, but by times: what was found out about one
/// holds for the other.
pub(crate) fn digest(tree: &Tree) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (path, thing) in tree.iter().filter(|(path, _)| !path.starts_with("tmp")) {
        path.hash(&mut hasher);
        match thing {
            Thing::Folder { mode } => mode.hash(&mut hasher),
            Thing::File { bytes, mode, .. } => (bytes, mode).hash(&mut hasher),
            Thing::Link(target) => target.hash(&mut hasher),
        }
    }
    hasher.finish()
}
