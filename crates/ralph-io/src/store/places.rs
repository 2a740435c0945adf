//! Gathers the paths that a loop's model must not edit.

use crate::client;
use crate::project::{safe_read, settings};
use crate::store::home::Home;
use ralph_core::guard::{self, ProtectedPaths, Skill, ToolCall};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Gathers the paths from the environment and from the executable's location.
pub fn gather(home: &Home) -> ProtectedPaths {
    ProtectedPaths { executables: executables(), ..from_environment(home) }
}

/// As [`gather`], for an edit of a file that has no name but these. Where the executables are matters to an
/// edit only if its file is named like one, and it is the slowest of these facts.
pub fn gather_for_edit(home: &Home, names: &[&str]) -> ProtectedPaths {
    match names.iter().any(|name| guard::may_be_executable(name)) {
        true => gather(home),
        false => from_environment(home),
    }
}

fn executables() -> Vec<String> {
    let executable = std::env::current_exe().ok();
    let folder = executable.as_deref().and_then(Path::parent);
    folder.map(|folder| folder.to_string_lossy().into_owned()).into_iter().collect()
}

fn from_environment(home: &Home) -> ProtectedPaths {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let home_folder = variable("HOME").unwrap_or_default();
    let mut config_dirs: Vec<String> = client::config_dir().into_iter().map(text).collect();
    config_dirs.push([&home_folder, "/.claude"].concat());
    ProtectedPaths {
        ralph_home: home.root().to_string_lossy().into_owned(),
        config_dirs,
        user_config: settings::user_folder().map(text).unwrap_or_default(),
        plugin_root: client::plugin_root(),
        home: home_folder,
        ..ProtectedPaths::default()
    }
}

/// A longer text of a skill is not read to its end.
const LONGEST_SKILL: u64 = 1 << 20;

/// Adds the facts on disk that the guard needs for this call: where its paths lead, and what a skill is.
pub fn add_disk_facts(places: &mut ProtectedPaths, call: &ToolCall<'_>, shipped: &[(&str, &str)]) {
    for path in guard::paths_to_resolve(call, places) {
        if let Some(led) = resolve(&path).filter(|led| *led != path) {
            places.links.push((path, led));
        }
    }
    if let Some(name) = call.input.skill.as_deref() {
        places.skill = Some(skill(places, call, name, shipped));
    }
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
    let texts = files.filter_map(|file| safe_read::beginning(&file, LONGEST_SKILL));
    let texts: Vec<String> =
        texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect();
    let is_ours = |text: &String| shipped.iter().any(|(known, own)| *known == name && own == text);
    Skill {
        is_shipped: (prefix.is_empty() || is_plugins)
            && !texts.is_empty()
            && texts.iter().all(is_ours),
        stays_in_shell: prefix.is_empty()
            && !texts.is_empty()
            && !texts
                .iter()
                .any(|text| text.lines().any(|line| line.trim_start().starts_with("hooks"))),
    }
}

/// As the kernel; a longer chain of links leads nowhere.
const MOST_LINKS: usize = 40;

/// Resolves the links of a path as far as it exists. A link must not hide that it leads into a
/// protected folder, even if its target does not exist yet: writing to the link would create it.
///
/// Not by `canonicalize`, which stops at the first part that does not exist, and starts the C
/// library's allocator, which no other part of a tool call needs.
pub fn resolve(path: &str) -> Option<String> {
    let mut real = match path.starts_with('/') {
        true => PathBuf::new(),
        false if path.is_empty() => return None,
        false => std::env::current_dir().ok()?,
    };
    let mut parts: Vec<OsString> = reversed(Path::new(path)).collect();
    let (mut exists, mut links) = (true, 0);
    while let Some(part) = parts.pop() {
        if part == ".." {
            real.pop();
            // What lies above a part that does not exist may exist.
            exists = true;
            continue;
        }
        // The root replaces what is there.
        real.push(&part);
        if !exists {
            continue;
        }
        let about = real.symlink_metadata();
        exists = about.is_ok();
        if about.is_ok_and(|about| about.is_symlink()) {
            links += 1;
            if links > MOST_LINKS {
                return None;
            }
            let target = real.read_link().ok()?;
            real.pop();
            parts.extend(reversed(&target));
        }
    }
    Some(real.to_string_lossy().into_owned())
}

fn reversed(path: &Path) -> impl Iterator<Item = OsString> {
    path.components()
        .rev()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::protocol::event::ToolInput;
    use std::fs;

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
        assert_eq!(resolved("new/../x"), expected("x"));
        assert_eq!(resolved("new/deep/../../d"), expected("file"));
        link("file", "l1");
        (2..=MOST_LINKS + 2).for_each(|n| link(&format!("l{}", n - 1), &format!("l{n}")));
        assert_eq!(resolved(&format!("l{MOST_LINKS}")), expected("file"), "as the kernel");
        assert!(top.join(format!("l{MOST_LINKS}")).exists());
        for more in [MOST_LINKS + 1, MOST_LINKS + 2] {
            assert_eq!(resolved(&format!("l{more}")), None);
        }
    }

    #[test]
    fn a_skill_is_ours_if_every_text_of_it_is_and_stays_in_the_shell_without_hooks() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("top/.claude/skills/above/SKILL.md", "its text"),
            ("top/p/.claude/commands/own.md", "its text"),
            ("top/p/.claude/commands/both.md", "its text"),
            ("config/skills/both/SKILL.md", "---\n  hooks: {}\n---\n"),
            ("config/skills/late/SKILL.md", "one\n\nhooks"),
            ("config/skills/word/SKILL.md", "no hooks"),
            ("config/skills/ship/SKILL.md", "ours"),
            ("config/skills/edited/SKILL.md", "ours, edited"),
            ("config/skills/twice/SKILL.md", "ours"),
            ("top/.claude/commands/twice.md", "theirs"),
            ("config/skills/renamed/SKILL.md", "ours"),
            ("plugin/commands/inside.md", "ours"),
            ("config/skills/a/b/SKILL.md", "below"),
            ("config/commands/.hidden.md", "hidden"),
            ("config/commands/.md", "nameless"),
            ("config/skills/SKILL.md", "nameless"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let cwd = folder.path().join("top/p").display().to_string();
        let shipped: Vec<(&str, &str)> =
            ["ship", "edited", "twice", "inside"].iter().map(|name| (*name, "ours")).collect();
        let looked = |said: &str, with_plugin: bool| {
            let plugin = folder.path().join("plugin").display().to_string();
            let mut places = ProtectedPaths {
                config_dirs: vec![folder.path().join("config").display().to_string()],
                plugin_root: with_plugin.then_some(plugin),
                ..ProtectedPaths::default()
            };
            let input = ToolInput { skill: Some(said.to_owned()), ..ToolInput::default() };
            let call =
                ToolCall { tool: "Skill", input: &input, cwd: &cwd, resolved: None, cut: false };
            add_disk_facts(&mut places, &call, &shipped);
            let Skill { is_shipped, stays_in_shell } = places.skill.unwrap();
            (is_shipped, stays_in_shell)
        };
        const UNKNOWN: (bool, bool) = (false, false);
        const HARMLESS: (bool, bool) = (false, true);
        for (said, without_plugin, with_plugin) in [
            ("above", HARMLESS, HARMLESS),
            ("own", HARMLESS, HARMLESS),
            ("/own", HARMLESS, HARMLESS),
            ("word", HARMLESS, HARMLESS),
            ("both", UNKNOWN, UNKNOWN),
            ("late", UNKNOWN, UNKNOWN),
            ("ship", (true, true), (true, true)),
            ("//ship", (true, true), (true, true)),
            ("ralph:ship", UNKNOWN, (true, false)),
            ("/ralph:ship", UNKNOWN, (true, false)),
            ("tools:ship", UNKNOWN, UNKNOWN),
            ("a:ralph:ship", UNKNOWN, UNKNOWN),
            ("tools:own", UNKNOWN, UNKNOWN),
            ("ralph:own", UNKNOWN, UNKNOWN),
            ("edited", HARMLESS, HARMLESS),
            ("twice", HARMLESS, HARMLESS),
            ("ralph:twice", UNKNOWN, UNKNOWN),
            ("renamed", HARMLESS, HARMLESS),
            ("inside", UNKNOWN, (true, true)),
            ("ralph:inside", UNKNOWN, (true, false)),
            ("tools:inside", UNKNOWN, UNKNOWN),
            ("none", UNKNOWN, UNKNOWN),
            ("ralph:none", UNKNOWN, UNKNOWN),
            ("a/b", UNKNOWN, UNKNOWN),
            (".hidden", UNKNOWN, UNKNOWN),
            ("", UNKNOWN, UNKNOWN),
            ("ralph:", UNKNOWN, UNKNOWN),
            ("/", UNKNOWN, UNKNOWN),
        ] {
            assert_eq!(looked(said, false), without_plugin, "{said}");
            assert_eq!(looked(said, true), with_plugin, "{said}");
        }
    }

    #[test]
    fn the_links_of_a_call_are_told_and_executables_only_for_an_edit_of_such_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/below")).unwrap();
        std::os::unix::fs::symlink("real/below", top.join("link")).unwrap();
        let looked = |path: &str| {
            let path = top.join(path).display().to_string();
            let input = ToolInput { file_path: Some(path), ..ToolInput::default() };
            let cwd = top.display().to_string();
            let call =
                ToolCall { tool: "Write", input: &input, cwd: &cwd, resolved: None, cut: false };
            let mut places = ProtectedPaths::default();
            add_disk_facts(&mut places, &call, &[]);
            assert_eq!(places.skill, None);
            places.links
        };
        let path = |name: &str| top.join(name).display().to_string();
        assert_eq!(looked("real/below/a"), []);
        assert_eq!(looked("real/../link/a"), [(path("link/a"), path("real/below/a"))]);

        let home = Home::at(&top);
        let all = gather(&home);
        let user_home = std::env::var("HOME").unwrap_or_default();
        let executable = std::env::current_exe().unwrap();
        let expected = ProtectedPaths {
            ralph_home: top.display().to_string(),
            config_dirs: client::config_dir()
                .map(|folder| folder.display().to_string())
                .into_iter()
                .chain([format!("{user_home}/.claude")])
                .collect(),
            user_config: settings::user_folder().unwrap().display().to_string(),
            executables: vec![executable.parent().unwrap().display().to_string()],
            plugin_root: client::plugin_root(),
            home: user_home,
            ..ProtectedPaths::default()
        };
        assert_eq!(all, expected);
        let none = ProtectedPaths { executables: Vec::new(), ..all.clone() };
        for (names, expected) in
            [(&["notes.md", "a/b.rs"][..], &none), (&[], &none), (&["notes.md", "bin/ralph"], &all)]
        {
            assert_eq!(gather_for_edit(&home, names), *expected, "{names:?}");
        }
    }

    #[test]
    fn what_exists_is_resolved_as_the_kernel_does() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/b/file"), "").unwrap();
        for (target, name) in [("a/b", "c"), ("../b/../b", "a/up"), ("/", "a/root"), ("c/.", "d")] {
            std::os::unix::fs::symlink(target, top.join(name)).unwrap();
        }
        let mut paths = vec![top.to_owned()];
        for _ in 0..4 {
            let parts = ["a", "b", "c", "d", "up", "root", "..", ".", "file", "tmp"];
            let longer = paths.iter().flat_map(|path| parts.map(|part| path.join(part)));
            paths = longer.filter(|path| path.exists()).collect();
            assert!(!paths.is_empty());
            for path in &paths {
                let expected = path.canonicalize().unwrap();
                let resolved = resolve(path.to_str().unwrap());
                assert_eq!(resolved.as_deref(), expected.to_str(), "{}", path.display());
            }
        }
    }

    #[test]
    fn a_path_from_the_working_folder_is_resolved_there() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        let expected = |name: &str| Some(here.join(name).display().to_string());
        assert_eq!(resolve(""), None);
        for name in ["Cargo.toml", "src", "new", "new/deep"] {
            assert_eq!(resolve(name), expected(name), "{name}");
        }
        assert_eq!(resolve("src/../new"), expected("new"));
    }
}
