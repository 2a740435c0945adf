//! What the client loads by itself: plugins, and the files by which a project tells it what to run and to allow.

use crate::client;
use crate::git::{repository, tree};
use crate::process::table::ProcessTable;
use crate::process::{self, Program};
use crate::project::{identity, safe_read, settings, user_files};
use crate::store::home::Home;
use anyhow::Result;
use ralph_core::protocol::loaded::{self, overrules};
use ralph_core::protocol::sandbox::widening::{self, WithinBounds};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use walkdir::{DirEntry, WalkDir};

// The plugins that the client loads by itself: where they lie, and which bring code that runs inside of the client,
// where it can answer events before a hook does and speak as the user (a mod).
//
// Measured with 2.1.328: none of the ways below asks a question.

/// More files of one folder are not looked at.
const MOST: usize = 2_000;

const LIST: &str = "installed_plugins.json";

/// It takes half a second where nothing else runs.
const TO_READ: Duration = Duration::from_secs(4);

/// A plugin, and the folder that the client reads it from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// The client's name for it, for example `tools@market`; of a mod without registration, its folder's.
    pub id: String,
    pub root: PathBuf,
}

impl Plugin {
    fn hooks(&self) -> PathBuf {
        self.root.join("hooks/hooks.json")
    }

    /// True for a mod.
    pub fn is_mod(&self) -> bool {
        json(&self.hooks())["modules"].as_array().is_some_and(|modules| !modules.is_empty())
    }

    /// The files that decide what the client runs for it.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.hooks(), self.root.join(".claude-plugin/plugin.json")];
        if self.is_mod() {
            let is_code = |path: &PathBuf| {
                let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
                ["js", "mjs", "cjs", "ts", "mts", "jsx", "tsx", "wasm"].contains(&end)
            };
            files.extend(below(&self.root).filter(is_code));
        }
        files
    }

    /// What a mod's code answers before a hook does, as this client reads it, in words for the user; `None` if it leaves
    /// the hooks alone.
    pub fn describe_overrides(&self, claude: &str) -> Option<String> {
        let Some(mut events) = self.answers(claude) else {
            return Some(format!("the mod `{}`, which `{claude}` could not read", self.id));
        };
        events.retain(|event| overrules(event));
        let what = events.join(", ");
        (!what.is_empty()).then(|| format!("the mod `{}` ({what})", self.id))
    }

    /// The events that a mod's code answers; `None` if this client cannot read it.
    pub fn answers(&self, claude: &str) -> Option<Vec<String>> {
        let root = self.root.to_string_lossy();
        let program = Program {
            command: claude,
            args: vec!["plugin", "validate", "--json", &root],
            folder: Path::new("/"),
            stdin: "",
            env: Vec::new(),
            deadline: TO_READ,
        };
        let printed: Value =
            serde_json::from_str(&process::run_once(&program).ok()?.stdout).ok()?;
        let contents = printed["contents"].as_array()?.iter();
        let modules = contents.filter_map(|file| file["modules"].as_array()).flatten();
        let events = modules.filter_map(|module| module["uses"]["events"].as_array()).flatten();
        Some(events.filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

/// The client's configuration folders: the one of this session, and the usual one.
pub fn configs() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".claude"));
    let mut configs: Vec<PathBuf> = client::config_dir().into_iter().chain(home).collect();
    configs.dedup();
    configs
}

/// The plugins that are loaded in this project, or are ready to be.
pub fn all(project_root: &Path) -> Vec<Plugin> {
    let configs = configs();
    let of_project = project_root.join(".claude");
    let mut all = Vec::new();
    for config in &configs {
        let plugins = config.join("plugins");
        let installed = json(&plugins.join(LIST));
        for (id, copies) in installed["plugins"].as_object().into_iter().flatten() {
            let paths = copies.as_array().into_iter().flatten().map(|copy| &copy["installPath"]);
            all.extend(paths.filter_map(|path| plugin(id, Path::new(path.as_str()?))));
        }
        for session in entries(&config.join("dev-mods")) {
            all.extend(entries(&session).iter().filter_map(|root| plugin(&name(root), root)));
        }
    }
    for folder in configs.iter().chain([&of_project]) {
        for root in entries(&folder.join("skills")) {
            let is_plugin = root.join(".claude-plugin/plugin.json").is_file();
            all.extend(plugin(&format!("{}@skills-dir", name(&root)), &root).filter(|_| is_plugin));
        }
        for file in ["settings.json", "settings.local.json"] {
            let settings = json(&folder.join(file));
            let ids = settings["enabledPlugins"].as_object().into_iter().flatten();
            for (id, _) in ids.filter(|(_, on)| on.as_bool() == Some(true)) {
                let known = configs.iter().find_map(|config| in_place(id, &config.join("plugins")));
                let root = known.or_else(|| in_folder(id, &settings["extraKnownMarketplaces"]));
                all.extend(root.and_then(|root| plugin(id, &root)));
            }
        }
    }
    let named = std::env::var("CLAUDE_CODE_PLUGIN_DIRS").unwrap_or_default();
    let named = named.split(':').map(PathBuf::from).chain(client::plugin_root().map(Into::into));
    let named = named.chain(on_the_command_line());
    all.extend(named.filter_map(|root| plugin(&name(&root), &root)));
    let mut seen = Vec::new();
    all.retain(|one: &Plugin| {
        !seen.contains(&one.root) && {
            seen.push(one.root.clone());
            true
        }
    });
    all
}

/// The folders that this session's client was started with.
fn on_the_command_line() -> Vec<PathBuf> {
    const OPTION: &str = "--plugin-dir";
    let line = || {
        let (table, own) = (ProcessTable::read()?, client::process()?);
        Some(table.command_lines(&[own.pid]).into_iter().next()?.arguments)
    };
    let line = line().unwrap_or_default();
    let mut words = line.split('\0').peekable();
    let mut folders = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix(OPTION) {
            Some("") => folders.extend(words.peek().map(PathBuf::from)),
            Some(rest) => folders.extend(rest.strip_prefix('=').map(PathBuf::from)),
            None => {}
        }
    }
    folders
}

fn plugin(id: &str, root: &Path) -> Option<Plugin> {
    Some(Plugin { id: id.to_owned(), root: user_files::real(root)? })
}

/// The mods that can answer for Ralph's hooks in this project, in words for the user.
pub fn overruling(project_root: &Path) -> Option<String> {
    let mods = all(project_root).into_iter().filter(Plugin::is_mod);
    let own = client::process().map(|process| format!("/proc/{}/exe", process.pid));
    let claude = own.filter(|exe| Path::new(exe).exists()).unwrap_or_else(client::program_name);
    let told: Vec<String> = mods.filter_map(|one| one.describe_overrides(&claude)).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// The folder of a plugin within a marketplace that is a folder, which the client reads in place.
pub fn in_place(id: &str, plugins: &Path) -> Option<PathBuf> {
    in_folder(id, &json(&plugins.join("known_marketplaces.json")))
}

fn in_folder(id: &str, marketplaces: &Value) -> Option<PathBuf> {
    let (name, marketplace) = id.split_once('@')?;
    let source = &marketplaces[marketplace]["source"];
    let is_folder = source["source"] == "directory";
    let folder = PathBuf::from(source["path"].as_str().filter(|_| is_folder)?);
    let listed = json(&folder.join(".claude-plugin/marketplace.json"));
    let entry = listed["plugins"].as_array()?.iter().find(|entry| entry["name"] == name)?;
    user_files::real(&folder.join(entry["source"].as_str()?))
}

/// The places from which the client loads what nobody registered, and its own list of what is registered.
pub fn places(project_root: &Path) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for config in configs() {
        places.extend(["dev-mods", "skills"].map(|name| config.join(name)));
        places.push(config.join("plugins").join(LIST));
    }
    places.push(project_root.join(".claude/skills"));
    places
}

/// True for the client's list of installed plugins.
pub fn is_list(file: &Path) -> bool {
    name(file) == LIST
}

/// The files of such a place that count.
pub fn files_of(place: &Path) -> Vec<PathBuf> {
    match name(place).as_str() {
        "skills" => {
            let parts = |skill: PathBuf| [skill.join(".claude-plugin"), skill.join("hooks")];
            entries(place).into_iter().flat_map(parts).flat_map(|part| below(&part)).collect()
        }
        "dev-mods" => below(place).collect(),
        _ => vec![place.to_owned()],
    }
}

/// All files below a folder, in order.
fn below(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    let files = walk.into_iter().flatten().filter(|entry| entry.file_type().is_file());
    files.map(DirEntry::into_path).take(MOST)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A file of the client's; null if it cannot be read.
pub fn json(path: &Path) -> Value {
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let text = is_file.then(|| std::fs::read(path).ok()).flatten().unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

// The files by which a project tells the client what to run and to allow, and which of them the
// user trusts.

/// Such files fit on some pages.
const LARGEST: u64 = 4 << 20;

/// Files with front matter below a folder of the client; those beyond are not expected.
const MOST_TEXTS: usize = 2_000;
const DEEPEST: usize = 40;

/// A file that would widen the bounds of a client's round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WideningFile {
    pub path: PathBuf,
    /// The first member that does it, or why the file cannot be read.
    pub member: String,
    pub text: String,
    /// Under which name the user's trust in it is kept: the project's, so that it holds in each
    /// worktree.
    key: PathBuf,
}

impl WideningFile {
    /// True if the user has read and trusts exactly this content.
    pub fn is_trusted(&self, home: &Home) -> bool {
        settings::is_file_trusted(home, &self.key, &self.text)
    }

    /// Records that the user trusts this content.
    pub fn trust(&self, home: &Home) -> Result<()> {
        settings::trust_file(home, &self.key, &self.text)
    }
}

/// The files that widen the bounds of a client that is started in this folder.
pub fn widening(folder: &Path, within: &WithinBounds<'_>) -> Vec<WideningFile> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let top = tree::repository_root(&folder).unwrap_or_else(|| folder.clone());
    let project = identity(&folder);
    // The client looks for servers and agents in the folders above as well.
    let folders = folder.ancestors().take_while(|place| place.starts_with(&top));
    let mut found = Vec::new();
    for path in folders.flat_map(candidates) {
        let Some((member, text)) = of_file(&path, within) else { continue };
        let key = project.join(path.strip_prefix(&top).unwrap_or(&path));
        found.push(WideningFile { path, member, text, key });
    }
    found
}

fn candidates(folder: &Path) -> Vec<PathBuf> {
    let client = folder.join(".claude");
    let mut all = vec![client.join("settings.json"), client.join("settings.local.json")];
    all.push(folder.join(".mcp.json"));
    for name in ["agents", "skills", "commands"] {
        all.extend(texts(&client.join(name)).take(MOST_TEXTS));
    }
    all
}

fn texts(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let walk = WalkDir::new(folder).max_depth(DEEPEST).follow_links(true);
    let files = walk.sort_by_file_name().into_iter().flatten().map(DirEntry::into_path);
    let texts = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
    texts.filter(|path| !path.is_dir())
}

/// What would take the place of one of Ralph's agents in a client that is started in this folder, as words; `None`
/// if nothing would. The user's own files may: only those of the project are looked at.
pub fn foreign_agent(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let around = repository::around(&folder);
    // Measured: without a repository the client looks in all folders above, and in a linked worktree in the main one.
    let top = around.as_ref().map_or(Path::new("/"), |it| &it.top);
    let main = around.as_ref().and_then(repository::Repository::main_work_tree);
    let above = folder.ancestors().take_while(|place| place.starts_with(top));
    let places = above.map(Path::to_owned).chain(main).map(|place| place.join(".claude"));
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".claude"));
    let real = |path: &Path| path.canonicalize().ok();
    let own: Vec<PathBuf> =
        client::config_dir().into_iter().chain(home).filter_map(|it| real(&it)).collect();
    let places = places.filter(|place| !real(place).is_some_and(|place| own.contains(&place)));
    places.into_iter().find_map(|place| {
        let skills = place.join("skills").read_dir().into_iter().flatten().flatten();
        // The agents of a plugin, which are called `<plugin>:<name>`, and after the file if they have no name.
        let plugins =
            skills.map(|skill| skill.path()).filter(|it| it.join(".claude-plugin").exists());
        let all =
            std::iter::once((place.join("agents"), false)).chain(plugins.map(|it| (it, true)));
        all.into_iter().find_map(|(folder, is_plugin)| foreign_in(&folder, is_plugin))
    })
}

fn foreign_in(folder: &Path, is_plugin: bool) -> Option<String> {
    texts(folder).enumerate().find_map(|(n, path)| {
        let stem = path.file_stem().filter(|_| is_plugin).unwrap_or_default().to_string_lossy();
        let what = match safe_read::read(&path, LARGEST) {
            _ if n >= MOST_TEXTS => "one of too many files to read".to_owned(),
            Ok(None) => return None,
            Ok(Some(bytes)) => loaded::replaces(&String::from_utf8_lossy(&bytes), &stem)?,
            Err(error) => format!("a file that cannot be read ({error:#})"),
        };
        Some(format!(
            "`{}` is {what}; read it, then remove it or give it another name",
            path.display()
        ))
    })
}

fn of_file(path: &Path, within: &WithinBounds<'_>) -> Option<(String, String)> {
    let text = match safe_read::text(path, LARGEST) {
        Ok(text) => text?,
        Err(error) => return Some((format!("it cannot be read ({error:#})"), String::new())),
    };
    let member = if path.extension().is_some_and(|end| end == "md") {
        widening::of_front_matter(&text)
    } else {
        match serde_json::from_str::<Value>(&text) {
            // The client ignores an empty file.
            Err(_) if text.trim().is_empty() => None,
            Err(error) => Some(format!("it is not valid JSON ({error})")),
            Ok(value) if path.ends_with(".mcp.json") => widening::server(&value),
            Ok(value) => within.member_of_settings(&value),
        }
    };
    Some((member?, text))
}

#[cfg(test)]
mod project_files_tests {
    use super::*;
    use crate::process::sandbox::Sandbox;
    use ralph_core::protocol::sandbox::SandboxReach;

    fn found(at: &Sandbox, folder: &str) -> Vec<WideningFile> {
        let reach = SandboxReach::default();
        widening(&at.path(folder), &WithinBounds { reach: &reach, executables: "/opt" })
    }

    #[test]
    fn trust_holds_for_one_content_of_a_file_in_all_worktrees_of_a_project() {
        let at = Sandbox::new();
        at.write(".mcp.json", r#"{"mcpServers": {"m": {"command": "x"}}}"#);
        at.write(".claude/settings.json", r#"{"model": "opus"}"#);
        at.write(".claude/agents/deep/a.md", "---\nname: a\nhooks:\n  Stop: []\n---\n");
        at.commit("more");
        at.git("worktree add -q other");
        let members = |files: &[WideningFile]| {
            files.iter().map(|file| file.member.clone()).collect::<Vec<_>>().join(" ")
        };
        let files = found(&at, "src");
        assert_eq!(members(&files), "mcpServers.m hooks");
        let home = Home::at(at.path("ralph"));
        assert!(!files.iter().any(|file| file.is_trusted(&home)));
        files.iter().for_each(|file| file.trust(&home).unwrap());
        let there = found(&at, "other");
        assert_eq!(there.len(), 2);
        assert!(there.iter().all(|file| file.is_trusted(&home)));
        at.write("other/.mcp.json", r#"{"mcpServers": {"m": {"command": "y"}}}"#);
        let changed = found(&at, "other");
        assert!(!changed[0].is_trusted(&home) && changed[1].is_trusted(&home));
    }

    #[test]
    fn an_agent_is_looked_for_where_the_client_takes_it() {
        const CRITIC: &str = "---\nname: ralplan-critic\n---\n";
        let at = Sandbox::new();
        at.git("worktree add -q other");
        std::fs::create_dir_all(at.path("nested/.git")).unwrap();
        let is_foreign = |folder: &str| foreign_agent(&at.path(folder)).is_some();
        at.write(".claude/agents/a/b/c/d/e/f/g/z.md", CRITIC);
        at.write("src/x", "");
        assert!([".", "src", "other"].into_iter().all(is_foreign));
        assert!(!is_foreign("nested"), "another repository");
        at.write(".claude/agents/a/b/c/d/e/f/g/z.md", "ralplan-critic");
        at.write(".claude/skills/q/agents/ralplan-critic.md", "It holds.");
        assert!(!is_foreign("."), "a skill has no agents");
        at.write(".claude/skills/q/.claude-plugin/plugin.json", "{}");
        assert!(is_foreign("."));
        let bare = Sandbox::folder();
        bare.write("below/x", "");
        bare.write(".claude/agents/z.md", CRITIC);
        assert!(foreign_agent(&bare.path("below")).is_some());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_with_the_reason() {
        let at = Sandbox::folder();
        at.write(".claude/settings.json", "{");
        at.write(".claude/settings.local.json", "\n");
        let [file] = &found(&at, ".")[..] else { panic!("one file is broken") };
        assert!(file.path.ends_with("settings.json") && file.member.contains("not valid JSON"));
    }
}
