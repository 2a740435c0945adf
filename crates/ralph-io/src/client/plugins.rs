//! The plugins that the client loads by itself: where they lie, and which bring code that runs inside of the client,
//! where it can answer events before a hook does and speak as the user (a mod).
//!
//! Measured with 2.1.328: none of the ways below asks a question.

use crate::client;
use crate::process::run_once::{self, Program};
use crate::process::table::ProcessTable;
use crate::project::user_files;
use ralph_core::protocol::plugins::overrules;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use walkdir::{DirEntry, WalkDir};

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
    pub fn told(&self, claude: &str) -> Option<String> {
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
        let printed: Value = serde_json::from_str(&run_once::run(&program).ok()?.stdout).ok()?;
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
    let told: Vec<String> = mods.filter_map(|one| one.told(&claude)).collect();
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
