//! The bounds of a sandboxed loop, made from what is known of the project and the user when the loop
//! starts.
//!
//! Code in the work tree may come from the model. It may write the work tree and what git needs for
//! a commit. It must not write what later decides what runs outside: settings, hooks, git's own
//! configuration, the checkpoints and the receipts.

pub mod seatbelt;

use crate::project::settings::SandboxSettings;
use crate::protocol::sandbox;
pub use crate::state::Bounds;
use std::collections::BTreeSet;

/// What the bounds of a loop depend on. All paths are absolute and without links.
#[derive(Debug, Clone, Default)]
pub struct BoundsInput<'a> {
    pub project_root: &'a str,
    /// The git folder of this work tree, and the one that all work trees share; `None` without git.
    pub git: Option<GitFolders<'a>>,
    /// The user's home.
    pub home: &'a str,
    /// `$RALPH_HOME`.
    pub ralph_home: &'a str,
    /// The folder of the user's own settings of Ralph.
    pub ralph_config: &'a str,
    /// The user's folder of the client's settings and credentials.
    pub client_config: &'a str,
    pub settings: SandboxSettings,
}

/// The git folders of a work tree.
#[derive(Debug, Clone, Copy, Default)]
pub struct GitFolders<'a> {
    /// The folder of this work tree alone: `HEAD` and the index.
    pub own: &'a str,
    /// The folder of all work trees: objects, refs and the configuration.
    pub common: &'a str,
    /// `core.hooksPath`, made absolute.
    pub hooks_path: Option<&'a str>,
}

/// What no command of a sandboxed loop needs to read, below the home.
const SECRETS: [&str; 32] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".vault-token",
    ".m2/settings.xml",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh",
    ".config/gcloud",
    ".config/git/credentials",
    ".config/op",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    "Library/Keychains",
    ".bash_history",
    ".zsh_history",
    ".histfile",
    ".local/share/fish/fish_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
];

/// What decides what runs outside of the bounds, below the project: Ralph's files, and those by
/// which the client starts programs of its own.
const GOVERNS_LOOP: [&str; 9] = [
    ".claude/ralph.toml",
    ".claude/ralph",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents",
    ".claude/skills",
    ".claude/commands",
    ".claude/hooks",
    ".mcp.json",
];

/// What decides what git runs, below the folder of all work trees.
const GOVERNS_GIT: [&str; 7] =
    ["hooks", "config", "config.worktree", "commondir", "info", "modules", "refs/ralph"];

impl Bounds {
    pub fn from_input(input: &BoundsInput<'_>) -> Bounds {
        let set = &input.settings;
        let home = |path: &str| match path.strip_prefix("~/") {
            Some(below) => join(input.home, below),
            None => path.to_owned(),
        };
        let homes = |paths: &[String]| paths.iter().map(|path| home(path)).collect::<Vec<_>>();
        let mut write = vec![input.project_root.to_owned()];
        let mut write_deny: Vec<String> =
            GOVERNS_LOOP.iter().map(|name| join(input.project_root, name)).collect();
        write_deny
            .extend([input.ralph_home, input.ralph_config, input.client_config].map(str::to_owned));
        if let Some(git) = &input.git {
            add(&mut write, git.common);
            add(&mut write, git.own);
            for folder in
                if git.own == git.common { vec![git.common] } else { vec![git.common, git.own] }
            {
                write_deny.extend(GOVERNS_GIT.iter().map(|name| join(folder, name)));
            }
            write_deny.push(join(git.common, "packed-refs"));
            write_deny.push(join(git.common, "reftable"));
            if git.own == git.common {
                write_deny.push(join(git.common, "worktrees"));
            } else {
                write_deny.push(join(input.project_root, ".git"));
                write_deny.push(join(git.own, "gitdir"));
            }
            write_deny.extend(git.hooks_path.map(str::to_owned));
        }
        for folder in homes(&set.write) {
            add(&mut write, &folder);
        }
        let mut read_deny: Vec<String> =
            SECRETS.iter().map(|name| join(input.home, name)).collect();
        let of_client = [".credentials.json", ".claude.json", "backups"];
        read_deny.extend(of_client.map(|name| join(input.client_config, name)));
        read_deny.push(join(input.home, ".claude.json"));
        read_deny.push(input.ralph_home.to_owned());
        read_deny.extend(homes(&set.read_deny));
        let mut bounds = Bounds {
            write,
            read_deny,
            write_deny,
            hosts: set.hosts.clone(),
            ports: set.ports.iter().map(|port| u32::from(*port)).collect(),
            sockets: homes(&set.sockets),
        };
        for list in [&mut bounds.read_deny, &mut bounds.write_deny] {
            list.sort();
            list.dedup();
        }
        bounds
    }

    /// The bounds of a worker of this loop. `own` are those of its work tree without any setting:
    /// what the settings allow was frozen with this loop.
    pub fn for_worker(&self, own: Bounds) -> Bounds {
        let mut bounds = own;
        // The first one is this loop's own work tree, which is not the worker's.
        for folder in self.write.iter().skip(1) {
            add(&mut bounds.write, folder);
        }
        bounds.read_deny.extend(self.read_deny.iter().cloned());
        bounds.read_deny.sort();
        bounds.read_deny.dedup();
        let Bounds { hosts, ports, sockets, .. } = self.clone();
        Bounds { hosts, ports, sockets, ..bounds }
    }

    /// What commands can write, cannot read, and can reach: three lines for the start of a run.
    pub fn lines(&self) -> [String; 3] {
        let project = self.write.first().map_or("", String::as_str);
        let git = |path: &&String| {
            !is_below(path, project) && !path.ends_with(".git") && !path.contains("/.git/")
        };
        let mut write = vec!["the project".to_owned(), "a temporary folder".to_owned()];
        write.extend(self.write.iter().skip(1).filter(git).cloned());
        let mut read = self.read_deny.clone();
        // The keys that everybody knows stand first.
        read.sort_by_key(|path| !path.ends_with("/.ssh"));
        let more = read.len().saturating_sub(SHOWN);
        read.truncate(SHOWN);
        if more > 0 {
            read.push(format!("{more} more"));
        }
        let mut reach = self.hosts.clone();
        reach.extend(self.ports.iter().map(|port| format!("127.0.0.1:{port}")));
        reach.extend(self.sockets.iter().cloned());
        if reach.is_empty() {
            reach.push("no host".to_owned());
        }
        [
            format!("can write: {}", write.join(", ")),
            format!("cannot read: {}", read.join(", ")),
            format!("can reach: {}", reach.join(", ")),
        ]
    }
}

/// What the end of a command's output says about the bounds, each with its remedy if there is one.
pub fn refusals(tail: &str, bounds: &Bounds) -> Vec<String> {
    let hidden = &bounds.read_deny;
    let lines = sandbox::prevented_candidates(tail);
    let prevented = lines.iter().filter(|line| sandbox::is_prevented(line, hidden));
    let mut told: Vec<String> = prevented
        .map(|line| match sandbox::hidden_path(line, hidden) {
            Some(path) => format!("it may not read `{path}`"),
            None => refused_write(line),
        })
        .collect();
    let mut known = BTreeSet::new();
    told.retain(|one| known.insert(one.clone()));
    told
}

fn refused_write(line: &str) -> String {
    let words = || {
        let words = line.split(|one: char| one.is_whitespace() || "'\"`‘’,()".contains(one));
        words.map(|word| word.trim_end_matches(':')).filter(|word| word.len() > 1)
    };
    // A shell names itself and its script before the file, and Go the file before the folder that it lacks.
    let last = words().rfind(|word| word.starts_with('/'));
    let path = last.and_then(|last| words().find(|word| is_below(word, last)));
    match (path, words().rfind(|word| word.contains('/'))) {
        (Some(path), _) => match path.rsplit_once('/') {
            Some((folder, _)) if !folder.is_empty() => format!(
                "it may not write `{path}`; to allow it: `write = [\"{folder}\"]` below `[sandbox]`"
            ),
            _ => format!("it may not write `{path}`"),
        },
        (None, Some(path)) => format!("it may not write `{path}`"),
        (None, None) => {
            "it may not write there; to allow it: `write = [\"FOLDER\"]` below `[sandbox]`"
                .to_owned()
        }
    }
}

/// How many denied paths the start of a run names.
const SHOWN: usize = 3;

fn add(list: &mut Vec<String>, path: &str) {
    if !list.iter().any(|one| is_below(path, one)) {
        list.push(path.to_owned());
    }
}

/// True if `path` is `folder` or in it.
pub fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn join(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> BoundsInput<'static> {
        BoundsInput {
            project_root: "/home/u/p",
            git: Some(GitFolders {
                own: "/home/u/p/.git",
                common: "/home/u/p/.git",
                hooks_path: None,
            }),
            home: "/home/u",
            ralph_home: "/home/u/.local/state/ralph",
            ralph_config: "/home/u/.config/ralph",
            client_config: "/home/u/.claude",
            settings: SandboxSettings::default(),
        }
    }

    fn denies(list: &[String], path: &str) -> bool {
        list.iter().any(|one| is_below(path, one))
    }

    #[test]
    fn a_plain_project_is_all_that_its_commands_write() {
        let bounds = Bounds::from_input(&input());
        assert_eq!(bounds.write, ["/home/u/p"]);
        for path in [
            "/home/u/p/.git/hooks/pre-commit",
            "/home/u/p/.git/config",
            "/home/u/p/.git/commondir",
            "/home/u/p/.git/info/attributes",
            "/home/u/p/.git/refs/ralph/x/1",
            "/home/u/p/.git/packed-refs",
            "/home/u/p/.claude/ralph.toml",
            "/home/u/p/.claude/ralph/reviews/a.md",
            "/home/u/p/.claude/agents/a.md",
            "/home/u/p/.mcp.json",
        ] {
            assert!(denies(&bounds.write_deny, path), "{path}");
        }
        for path in [
            "/home/u/.ssh/id_rsa",
            "/home/u/.local/state/ralph/loops",
            "/home/u/.claude/.credentials.json",
            "/home/u/.claude/.claude.json",
            "/home/u/.claude/backups/.claude.json.backup.1",
            "/home/u/.pgpass",
            "/home/u/.vault-token",
            "/home/u/.m2/settings.xml",
            "/home/u/.bash_history",
        ] {
            assert!(denies(&bounds.read_deny, path), "{path}");
        }
        assert!(!denies(&bounds.read_deny, "/home/u/.sshx"));
    }

    #[test]
    fn a_linked_worktree_writes_its_own_git_folder_and_not_the_pointer_to_it() {
        let git = GitFolders {
            own: "/r/.git/worktrees/w",
            common: "/r/.git",
            hooks_path: Some("/home/u/p/.husky"),
        };
        let bounds = Bounds::from_input(&BoundsInput { git: Some(git), ..input() });
        assert_eq!(bounds.write, ["/home/u/p", "/r/.git"]);
        for path in [
            "/home/u/p/.git",
            "/r/.git/worktrees/w/commondir",
            "/r/.git/worktrees/w/gitdir",
            "/home/u/p/.husky/pre-commit",
        ] {
            assert!(denies(&bounds.write_deny, path), "{path}");
        }
    }

    #[test]
    fn the_settings_add_to_the_bounds_and_the_lines_show_it() {
        let none = Bounds::from_input(&input()).lines();
        assert_eq!(none[0], "can write: the project, a temporary folder");
        assert_eq!(none[2], "can reach: no host");
        assert!(none[1].starts_with("cannot read: /home/u/"), "{}", none[1]);
        let settings = SandboxSettings {
            write: vec!["~/.cache/go-build".to_owned()],
            read_deny: vec!["/secret".to_owned()],
            hosts: vec!["example.com".to_owned()],
            ports: vec![5432],
            sockets: vec!["/run/x.sock".to_owned()],
        };
        let bounds = Bounds::from_input(&BoundsInput { settings, ..input() });
        assert!(denies(&bounds.read_deny, "/secret"));
        let lines = bounds.lines();
        assert_eq!(lines[0], "can write: the project, a temporary folder, /home/u/.cache/go-build");
        assert_eq!(lines[2], "can reach: example.com, 127.0.0.1:5432, /run/x.sock");
        let json = serde_json::to_value(&bounds).unwrap();
        assert_eq!(Bounds::deserialize(json).unwrap(), bounds);
    }

    #[test]
    fn a_worker_has_its_own_work_tree_and_what_was_frozen_with_the_loop_above() {
        let settings = SandboxSettings {
            write: vec!["~/.cache/x".to_owned()],
            read_deny: vec!["/secret".to_owned()],
            hosts: vec!["example.com".to_owned()],
            ports: vec![5432],
            sockets: vec!["/run/x.sock".to_owned()],
        };
        let above = Bounds::from_input(&BoundsInput { settings, ..input() });
        let git = GitFolders {
            own: "/home/u/p/.git/worktrees/w",
            common: "/home/u/p/.git",
            hooks_path: None,
        };
        let own =
            Bounds::from_input(&BoundsInput { project_root: "/w", git: Some(git), ..input() });
        let worker = above.for_worker(own.clone());
        assert_eq!(worker.write, ["/w", "/home/u/p/.git", "/home/u/.cache/x"]);
        assert_eq!(worker.write_deny, own.write_deny);
        assert!(denies(&worker.read_deny, "/secret"));
        assert_eq!(
            (worker.hosts, worker.ports, worker.sockets),
            (above.hosts, above.ports, above.sockets)
        );
    }

    #[test]
    fn a_failure_outside_of_the_bounds_names_the_setting() {
        let bounds = Bounds { read_deny: vec!["/home/u/.ssh".to_owned()], ..Bounds::default() };
        let said = |tail| refusals(tail, &bounds).join("\n");
        assert_eq!(said("1 failed"), "");
        let folder = "`write = [\"/home/u/.cache/x\"]` below `[sandbox]`";
        for line in [
            "a\ntouch: cannot touch '/home/u/.cache/x/a': Read-only file system",
            "Error: EROFS: read-only file system, open '/home/u/.cache/x/a'",
            "OSError: [Errno 30] Read-only file system: '/home/u/.cache/x/a'",
            "/bin/bash: line 1: /home/u/.cache/x/a: Read-only file system",
            "no cache at /home/u/.cache/x/a: mkdir /home/u/.cache: read-only file system",
        ] {
            assert!(said(line).ends_with(folder), "{}", said(line));
        }
        assert!(said("touch: x: Read-only file system").contains("FOLDER"));
        let at_the_top = "touch: cannot touch '/x': Read-only file system";
        assert_eq!(said(at_the_top), "it may not write `/x`");
        let alone = "touch: cannot touch 'a/x' (in /): Read-only file system";
        assert_eq!(said(alone), "it may not write `a/x`");
        let several = "t/a.sh: 1: cannot create /home/u/w: Read-only file system\n\
            cat: /home/u/.ssh/id: No such file or directory\ncat: other: No such file or directory\n\
            t/a.sh: 3: cannot create .git/hooks/pre-commit: Read-only file system\n\
            t/a.sh: 3: cannot create .git/hooks/pre-commit: Read-only file system\n";
        assert_eq!(
            refusals(several, &bounds),
            [
                "it may not write `/home/u/w`; to allow it: `write = [\"/home/u\"]` below `[sandbox]`",
                "it may not read `/home/u/.ssh`",
                "it may not write `.git/hooks/pre-commit`",
            ]
        );
    }

    use serde::Deserialize;
}

#[cfg(test)]
mod lines_tests {
    use super::*;

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_start_of_a_run_tells_what_commands_may_do() {
        let read_deny = owned(&["/h/.aws"]);
        let closed = Bounds { write: owned(&["/p"]), read_deny, ..Bounds::default() };
        let write = "can write: the project, a temporary folder";
        assert_eq!(closed.lines(), [write, "cannot read: /h/.aws", "can reach: no host"]);
        let many: Vec<String> = (0..SHOWN).map(|n| format!("/h/{n}")).collect();
        let bounds = Bounds {
            write: owned(&["/p", "/p/.git", "/q/.git", "/q/.git/worktrees/a", "/cache"]),
            read_deny: [many.clone(), owned(&["/h/.ssh"])].concat(),
            hosts: owned(&["a.io"]),
            ports: vec![5432],
            sockets: owned(&["/run/x"]),
            ..Bounds::default()
        };
        assert_eq!(
            bounds.lines(),
            [
                "can write: the project, a temporary folder, /cache".to_owned(),
                format!("cannot read: /h/.ssh, {}, 1 more", many[..SHOWN - 1].join(", ")),
                "can reach: a.io, 127.0.0.1:5432, /run/x".to_owned(),
            ]
        );
        let full = Bounds { read_deny: many.clone(), ..closed };
        assert_eq!(full.lines()[1], format!("cannot read: {}", many.join(", ")));
    }
}
