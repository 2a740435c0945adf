//! Gathers the paths that a loop's model must not edit.

use crate::store::home::Home;
use crate::{client, project::settings};
use ralph_core::guard::{self, Brought, ProtectedPaths, Skill, ToolCall};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Gathers the paths from the environment and from the executable's location.
pub fn gather(home: &Home) -> ProtectedPaths {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let home_folder = variable("HOME").unwrap_or_default();
    let mut config_dirs: Vec<String> = client::config_dir().into_iter().map(text).collect();
    config_dirs.push(format!("{home_folder}/.claude"));
    let executable = std::env::current_exe().ok();
    ProtectedPaths {
        ralph_home: home.root().to_string_lossy().into_owned(),
        config_dirs,
        user_config: settings::user_folder().map(text).unwrap_or_default(),
        executables: executable
            .iter()
            .filter_map(|path| path.parent())
            .map(|path| text(path.to_owned()))
            .collect(),
        plugin_root: client::plugin_root(),
        home: home_folder,
        sessions: Vec::new(),
        ..ProtectedPaths::default()
    }
}

/// A longer patch is not read.
const LONGEST_PATCH: u64 = 1 << 20;
/// The most entries of a folder that are read.
const MOST_ENTRIES: usize = 5_000;
/// How many levels of a folder are read.
const DEEPEST: usize = 6;

/// Adds the facts on disk that the guard needs for this call: where its paths lead, which files it
/// would bring along, and the text of a skill.
pub fn look(places: &mut ProtectedPaths, call: &ToolCall<'_>, shipped: &[(&str, &str)]) {
    let wanted = guard::wanted(call, places);
    for path in wanted.paths {
        if let Some(led) = resolve(&path).filter(|led| *led != path) {
            places.links.push((path, led));
        }
    }
    places.brought.extend(wanted.folders.iter().filter_map(|from| folder(from)));
    places.brought.extend(wanted.patches.iter().filter_map(|from| patch(from)));
    if let Some(name) = call.input.skill.as_deref() {
        places.skill = Some(skill(places, call, name, shipped));
    }
}

fn folder(from: &str) -> Option<Brought> {
    let root = Path::new(from);
    let mut paths = Vec::new();
    if fs::metadata(root).ok()?.is_dir() {
        let (mut folders, mut seen) = (vec![(root.to_owned(), 0)], 0);
        while let Some((folder, depth)) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                seen += 1;
                let path = entry.path();
                let inside = path.strip_prefix(root).ok().and_then(Path::to_str);
                if let Some(inside) = inside.filter(|inside| guard::may_matter(inside)) {
                    paths.push(inside.to_owned());
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir())
                    && depth < DEEPEST
                    && seen < MOST_ENTRIES
                {
                    folders.push((path, depth + 1));
                }
            }
        }
        paths.truncate(64);
    }
    Some(Brought { from: from.to_owned(), paths })
}

/// Returns `None` if the patch cannot be read completely.
fn patch(from: &str) -> Option<Brought> {
    let about = fs::metadata(from).ok()?;
    if !about.is_file() || about.len() > LONGEST_PATCH {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(from).ok()?.take(LONGEST_PATCH).read_to_end(&mut bytes).ok()?;
    Some(Brought { from: from.to_owned(), paths: guard::patched(&String::from_utf8_lossy(&bytes)) })
}

/// The facts about a skill, from every file that the client might use for it.
fn skill(
    places: &ProtectedPaths,
    call: &ToolCall<'_>,
    said: &str,
    shipped: &[(&str, &str)],
) -> Skill {
    let (prefix, name) =
        said.trim_start_matches('/').rsplit_once(':').unwrap_or(("", said.trim_start_matches('/')));
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return Skill::default();
    }
    let mut roots: Vec<PathBuf> =
        Path::new(call.cwd).ancestors().map(|folder| folder.join(".claude")).collect();
    roots.extend(places.config_dirs.iter().map(PathBuf::from));
    let plugin = places.plugin_root.as_deref().map(PathBuf::from);
    let is_plugins = prefix == "ralph" && plugin.is_some();
    if prefix.is_empty() || is_plugins {
        roots.extend(plugin);
    }
    let files = roots.iter().flat_map(|root| {
        [
            root.join("skills").join(name).join("SKILL.md"),
            root.join("commands").join(format!("{name}.md")),
        ]
    });
    let texts: Vec<String> = files.filter_map(|file| text(&file)).collect();
    let arguments = call.input.whole.get("args").and_then(|args| args.as_str()).unwrap_or_default();
    let is_ours = |text: &String| shipped.iter().any(|(known, own)| *known == name && own == text);
    Skill {
        is_shipped: (prefix.is_empty() || is_plugins)
            && !texts.is_empty()
            && texts.iter().all(is_ours),
        commands: texts.iter().flat_map(|text| guard::run_by(text, arguments)).collect(),
    }
}

fn text(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    // Checked first: opening a pipe would block.
    fs::metadata(file).ok()?.is_file().then_some(())?;
    fs::File::open(file).ok()?.take(LONGEST_PATCH).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The longest chain of links to targets that do not exist; nobody makes a longer one.
const LONGEST_CHAIN: usize = 16;

/// Resolves the links of a path as far as it exists. A link must not hide that it leads into a
/// protected folder, even if its target does not exist yet.
pub fn resolve(path: &str) -> Option<String> {
    resolve_at(Path::new(path), LONGEST_CHAIN).map(|path| path.to_string_lossy().into_owned())
}

/// Resolves the folder first: what is to be written often does not exist, or is no link.
fn resolve_at(path: &Path, links: usize) -> Option<PathBuf> {
    let mut parts = path.components();
    let (name, parent) = match parts.next_back()? {
        Component::Normal(name) => (name, parts.as_path()),
        Component::ParentDir => (OsStr::new(".."), parts.as_path()),
        _ => return path.canonicalize().ok(),
    };
    let parent = if parent == Path::new("") { Path::new(".") } else { parent };
    let folder = parent.canonicalize().ok().or_else(|| resolve_at(parent, links))?;
    let next = folder.join(name);
    if name == ".." {
        return Some(next.canonicalize().unwrap_or(next));
    }
    let Ok(target) = next.read_link() else { return Some(next) };
    // Where the link's target does not exist, writing to the link would create it.
    let led = || resolve_at(&folder.join(target), links.checked_sub(1)?);
    next.canonicalize().ok().or_else(led)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_even_when_the_file_is_yet_to_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        let through = folder.path().join("link/deep/new.json");
        assert_eq!(
            resolve(through.to_str().unwrap()),
            Some(real.join("deep/new.json").display().to_string())
        );
        assert_eq!(resolve(real.to_str().unwrap()), Some(real.display().to_string()));
    }

    #[test]
    fn a_link_to_what_is_yet_to_be_made_is_followed_and_a_circle_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, top.join(name)).unwrap();
        };
        link("none/x", "a");
        link("a", "b");
        link("c", "c");
        let resolved = |name: &str| resolve(top.join(name).to_str().unwrap());
        let expected = |name: &str| Some(top.join(name).display().to_string());
        assert_eq!(resolved("a"), expected("none/x"));
        assert_eq!(resolved("b/deep"), expected("none/x/deep"));
        assert_eq!(resolved("c"), None);
        fs::write(top.join("file"), "").unwrap();
        link("file", "d");
        assert_eq!(resolved("d"), expected("file"));
        assert_eq!(resolved("file/x"), expected("file/x"));
        assert_eq!(resolved("new/../x"), expected("new/../x"));
    }

    #[test]
    fn a_path_from_the_working_folder_is_resolved_there() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        let expected = |name: &str| Some(here.join(name).display().to_string());
        for name in ["Cargo.toml", "src", "new", "new/deep"] {
            assert_eq!(resolve(name), expected(name), "{name}");
        }
        assert_eq!(resolve("src/../new"), expected("new"));
    }
}
