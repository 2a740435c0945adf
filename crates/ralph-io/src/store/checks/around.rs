//! The files and tools around an edited file, read from disk.

use super::CheckStore;
use crate::{git::tree, process::programs, project::reader::DiskReader};
use ralph_core::project::check::workspace::{Around, ToolCommand};
use ralph_core::project::reader::{Folder, ProjectReader};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where a project keeps its own tools, relative to any of its folders.
const OWN: [&str; 4] = ["node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin"];

/// Files that mark the root of a project without a repository.
const MANIFESTS: [&str; 10] = [
    "package.json",
    "tsconfig.json",
    "deno.json",
    "pyproject.toml",
    "setup.py",
    "Cargo.toml",
    "go.mod",
    "composer.json",
    "Gemfile",
    ".claude",
];

/// Files that show that mise or asdf selects the versions of a project's tools.
const VERSIONS: [&str; 3] = ["mise.toml", ".mise.toml", ".tool-versions"];

/// An edited file and its project.
#[derive(Debug, Clone)]
pub struct Surroundings {
    file: PathBuf,
    project: DiskReader,
    tools: PathBuf,
}

impl Surroundings {
    /// The root of the project that holds this file: the top of its working tree, else the
    /// outermost folder with a manifest (but not the home folder), else the file's own folder.
    pub fn root_of(file: &Path) -> PathBuf {
        root_apart_from(std::env::var_os("HOME").map(PathBuf::from), file)
    }

    /// The surroundings of the file, in a project whose root and store are known.
    pub fn new(file: &Path, root: &Path, kept: &CheckStore) -> Surroundings {
        Surroundings { file: file.to_owned(), project: DiskReader::new(root), tools: kept.tools() }
    }

    fn folders(&self) -> impl Iterator<Item = &Path> {
        let below = |folder: &&Path| folder.starts_with(self.root());
        self.file.ancestors().skip(1).take_while(below)
    }

    /// Where a version manager or a package manager installed this tool for the project.
    fn managed(
        &self,
        name: &str,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Option<ToolCommand> {
        let absolute =
            |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let below_home = |rest: &str| absolute("HOME").map(|home| home.join(rest));
        if let Some(lock) = self.nearest(&["uv.lock"]) {
            // What `uv run` would use. The environment inside the project has been checked before.
            let environment = variable("UV_PROJECT_ENVIRONMENT")?;
            let place = lock.with_file_name(environment).join("bin");
            return found(&place, name, "the environment of uv");
        }
        self.nearest(&VERSIONS)?;
        let data = absolute("MISE_DATA_DIR").or_else(|| below_home(".local/share/mise"));
        let shims = [data.map(|data| data.join("shims")), below_home(".asdf/shims")];
        shims.into_iter().flatten().find_map(|place| found(&place, name, "mise"))
    }
}

impl ProjectReader for Surroundings {
    fn root(&self) -> &Path {
        self.project.root()
    }

    fn text(&self, path: &Path) -> Option<String> {
        self.project.text(path)
    }

    fn folder(&self, path: &Path) -> Option<Folder> {
        self.project.folder(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.project.exists(path)
    }
}

impl Around for Surroundings {
    fn file(&self) -> &Path {
        &self.file
    }

    fn tool(&self, name: &str) -> Option<ToolCommand> {
        self.own_tool(name).or_else(|| {
            let line = vec![programs::find_on_path(name)?.to_string_lossy().into_owned()];
            Some(ToolCommand { line, found: "`PATH`".to_owned() })
        })
    }

    fn own_tool(&self, name: &str) -> Option<ToolCommand> {
        let places = self.folders().flat_map(|folder| OWN.map(|own| (folder.join(own), own)));
        places
            .into_iter()
            .find_map(|(place, own)| found(&place, name, &format!("`{own}`")))
            .or_else(|| self.managed(name, |name| std::env::var_os(name)))
    }

    fn kept(&self, key: &str) -> PathBuf {
        self.tools.join(super::name_of(key.as_bytes()))
    }
}

/// As [`Surroundings::root_of`], for a user with this home folder.
fn root_apart_from(home: Option<PathBuf>, file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let is_root = |folder: &&Path| {
        folder.parent().is_some()
            && home.as_deref() != Some(*folder)
            && MANIFESTS.iter().any(|name| folder.join(name).symlink_metadata().is_ok())
    };
    tree::repository_root(folder)
        .or_else(|| folder.ancestors().filter(is_root).last().map(Path::to_owned))
        .unwrap_or_else(|| folder.to_owned())
}

fn found(place: &Path, name: &str, called: &str) -> Option<ToolCommand> {
    let path = place.join(name);
    let line = vec![path.to_string_lossy().into_owned()];
    programs::is_executable(&path).then(|| ToolCommand { line, found: called.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use crate::store::home::Home;
    use std::os::unix::fs::PermissionsExt;

    fn surroundings(sandbox: &Sandbox, file: &str) -> Surroundings {
        let file = sandbox.path(file);
        let home = Home::at(sandbox.path(".home"));
        let root = Surroundings::root_of(&file);
        Surroundings::new(&file, &root, &CheckStore::open(&home, &root).unwrap())
    }

    fn install(sandbox: &Sandbox, path: &str) {
        sandbox.write(path, "");
        std::fs::set_permissions(sandbox.path(path), PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_root_is_the_work_tree_or_the_outermost_folder_with_a_manifest() {
        let sandbox = Sandbox::new();
        assert_eq!(surroundings(&sandbox, "src/deep/a.ts").root(), sandbox.root());
        let bare = Sandbox::folder();
        bare.write("p/package.json", "{}");
        bare.write("p/q/package.json", "{}");
        assert_eq!(surroundings(&bare, "p/q/r/a.ts").root(), bare.path("p"));
        assert_eq!(surroundings(&bare, "s/a.ts").root(), bare.path("s"));
    }

    #[test]
    fn the_home_folder_is_no_root_whatever_it_holds_and_a_folder_below_it_may_be() {
        let at = Sandbox::folder();
        for name in ["home/.claude/x", "home/p/q/go.mod", "home/p/q/r/setup.py"] {
            at.write(name, "");
        }
        for (home, file, root) in [
            (Some("home"), "home/a.go", "home"),
            (Some("home"), "home/s/a.go", "home/s"),
            (Some("home"), "home/p/a.go", "home/p"),
            (Some("home"), "home/p/q/r/a.go", "home/p/q"),
            (Some("home/p/q"), "home/p/q/r/a.go", "home"),
            (Some("home/p/q/r"), "home/p/q/r/a.go", "home"),
            (None, "home/s/a.go", "home"),
        ] {
            let found = root_apart_from(home.map(|home| at.path(home)), &at.path(file));
            assert_eq!(found, at.path(root), "{home:?} {file}");
        }
    }

    #[test]
    fn the_nearest_is_found_upwards_and_never_above_the_root() {
        let sandbox = Sandbox::new();
        sandbox.write("one.json", "");
        sandbox.write("src/two.json", "");
        let around = surroundings(&sandbox, "src/a/b.ts");
        let nearest = |names: &[&str]| around.nearest(names);
        assert_eq!(nearest(&["one.json", "two.json"]), Some(sandbox.path("src/two.json")));
        assert_eq!(nearest(&["one.json"]), Some(sandbox.path("one.json")));
        let file = |name: &str| sandbox.path(name);
        sandbox.write("one.json", "text");
        assert_eq!(around.text(&file("one.json")).as_deref(), Some("text"));
        assert_eq!(around.text(&file("none")), None);
        assert_eq!(
            ["one.json", "src", "none"].map(|name| around.exists(&file(name))),
            [true, true, false]
        );
        let names =
            around.folder(&file("src")).unwrap().entries.into_iter().map(|entry| entry.name);
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["a.rs", "two.json"]);
        assert_eq!(around.folder(&file("none")), None);
        let outside = sandbox.root().file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(nearest(&[&outside]), None);
    }

    #[test]
    fn the_projects_own_installation_wins_over_the_one_on_the_path() {
        let sandbox = Sandbox::new();
        let around = surroundings(&sandbox, "src/a/b.ts");
        assert_eq!(around.own_tool("sh"), None);
        assert_eq!(around.tool("sh").unwrap().found, "`PATH`");
        install(&sandbox, "node_modules/.bin/sh");
        assert_eq!(around.tool("sh").unwrap().found, "`node_modules/.bin`");
        install(&sandbox, "src/.venv/bin/sh");
        let path = sandbox.path("src/.venv/bin/sh").display().to_string();
        assert_eq!(around.own_tool("sh").unwrap().line, [path]);
        sandbox.write("src/a/.venv/bin/sh", "not executable");
        assert_eq!(around.own_tool("sh").unwrap().found, "`.venv/bin`");
    }

    #[test]
    fn a_tool_of_a_version_manager_is_found_if_the_project_says_that_one_chooses() {
        let at = Sandbox::folder();
        at.write("p/package.json", "{}");
        let [mise, asdf, data, named, beside] = [
            "home/.local/share/mise/shims",
            "old/.asdf/shims",
            "data/shims",
            "named/bin",
            "p/env/bin",
        ];
        for folder in [mise, asdf, data, named, beside] {
            install(&at, &format!("{folder}/t"));
        }
        install(&at, "home/.asdf/shims/t");
        let around = surroundings(&at, "p/src/a.py");
        let path = |name: &str| at.path(name).display().to_string();
        let found = |set: &[(&str, &str)]| {
            let of = |name: &str| set.iter().find(|(known, _)| *known == name);
            around.managed("t", |name| of(name).map(|(_, value)| value.into()))
        };
        let at_place = |folder: &str, found: &str| {
            let line = vec![path(&format!("{folder}/t"))];
            Some(ToolCommand { line, found: found.to_owned() })
        };
        let [home, old, elsewhere] = ["home", "old", "data"].map(path);
        let [home, old] = [&home, &old].map(|folder| ("HOME", folder.as_str()));
        assert_eq!(found(&[home]), None, "nothing says so");
        for name in VERSIONS {
            at.write(&format!("p/{name}"), "");
            assert_eq!(found(&[home]), at_place(mise, "mise"), "{name}");
            at.remove(&format!("p/{name}"));
        }
        at.write("p/src/.tool-versions", "");
        type Variables<'a> = &'a [(&'a str, &'a str)];
        let of_mise: [(Variables<'_>, Option<ToolCommand>); 7] = [
            (&[], None),
            (&[("HOME", "home")], None),
            (&[old], at_place(asdf, "mise")),
            (&[home, ("MISE_DATA_DIR", &elsewhere)], at_place(data, "mise")),
            (&[("MISE_DATA_DIR", &elsewhere)], at_place(data, "mise")),
            (&[home, ("MISE_DATA_DIR", "data")], at_place(mise, "mise")),
            (&[old, ("MISE_DATA_DIR", old.1)], at_place(asdf, "mise")),
        ];
        for (set, expected) in of_mise {
            assert_eq!(found(set), expected, "{set:?}");
        }
        assert_eq!(around.managed("u", |_| Some(home.1.into())), None, "not installed");
        at.write("p/uv.lock", "");
        let of_uv = "the environment of uv";
        let named_by = path("named");
        assert_eq!(found(&[home]), None, "the shims are not for uv");
        for (value, expected) in
            [("env", at_place(beside, of_uv)), (&named_by, at_place(named, of_uv)), ("no", None)]
        {
            assert_eq!(found(&[home, ("UV_PROJECT_ENVIRONMENT", value)]), expected, "{value}");
        }
    }

    #[test]
    fn what_a_tool_keeps_has_its_own_place_outside_the_project() {
        let sandbox = Sandbox::new();
        let around = surroundings(&sandbox, "src/a.ts");
        assert_eq!(around.kept("x"), around.kept("x"));
        assert_ne!(around.kept("x"), around.kept("y"));
        assert!(around.kept("x").parent().unwrap().is_dir());
    }
}
