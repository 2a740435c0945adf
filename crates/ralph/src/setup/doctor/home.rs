//! Checks that Ralph's own folder is private: anyone who can write there can start commands through
//! a loop.

use super::check::{Check, fail, well};
use super::fix::Fix;
use ralph_io::project::user_files;
use std::path::{Path, PathBuf};

const NAME: &str = "state folder";

/// Checks the folder, its direct children, and the loops' state files.
pub(super) fn check(home: &Path) -> Check {
    let shown = home.display();
    let Some(access) = user_files::access(home) else {
        return well(NAME, format!("`{shown}` does not exist yet; the first loop creates it"));
    };
    if !access.is_folder {
        return fail(NAME, format!("`{shown}` is not a folder"), "move it away");
    }
    if !access.is_mine {
        let cure = "change its owner, or set RALPH_HOME to a folder of yours";
        return fail(NAME, format!("`{shown}` belongs to someone else"), cure);
    }
    if access.mode & 0o777 != 0o700 {
        let detail = format!("`{shown}` has mode {:04o}: only you should use it", access.mode);
        let private = Fix::MakePrivate(home.to_owned());
        return fail(NAME, detail, format!("run `chmod 700 {shown}`")).with_fix(private);
    }
    match writable_by_others(home) {
        None => well(NAME, format!("`{shown}` is private")),
        Some(path) => {
            let shown = path.display();
            let detail = format!("`{shown}` can be written by others");
            fail(NAME, detail, format!("run `chmod go-w {shown}`"))
                .with_fix(Fix::RemoveWriteAccess(path))
        }
    }
}

fn writable_by_others(home: &Path) -> Option<PathBuf> {
    let inside = user_files::names(home).into_iter().map(|name| home.join(name));
    let loops = home.join("loops");
    let states =
        user_files::names(&loops).into_iter().map(|name| loops.join(name).join("state.json"));
    inside
        .chain(states)
        .find(|path| user_files::access(path).is_some_and(|access| access.mode & 0o022 != 0))
}
