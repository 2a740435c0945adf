//! The facts in a project's manifests, its other files and its folders: a function for each.

use super::{EntryKind, Fact, FileFormat, Folder, FolderEntry, Project, page};
use crate::project::ecosystems::{self, JUSTFILES, LOCKS, MAKEFILES, Recipe};
use serde_json::Value;
use std::collections::BTreeSet;

// `Cargo.toml`: the package, or the members of the workspace.

pub(super) fn cargo(project: &dyn Project) -> Option<Fact> {
    let manifest = project.document("Cargo.toml", FileFormat::Toml)?;
    let (package, workspace) = (&manifest["package"], &manifest["workspace"]);
    let mut told = Vec::new();
    if let Some(name) = package["name"].as_str() {
        told.push(format!("package {}", page::quoted(name)));
    }
    match texts(&workspace["members"]) {
        members if !members.is_empty() => {
            told.push(format!("workspace of {}", page::list(members, 16)));
        }
        _ if workspace.is_object() => told.push("workspace".to_owned()),
        _ => {}
    }
    if told.is_empty() {
        return None;
    }
    let edition = package["edition"].as_str().or(workspace["package"]["edition"].as_str());
    told.extend(edition.map(|edition| format!("edition {}", page::quoted(edition))));
    Some(Fact::line(format!("Cargo.toml: {}", told.join(", "))))
}

// `pyproject.toml`: the name, the Python version, the manager and the build backend.

/// Programs that manage the environment, and the lock file of each.
const PYTHON_MANAGERS: [(&str, &str); 5] = [
    ("uv", "uv.lock"),
    ("poetry", "poetry.lock"),
    ("pdm", "pdm.lock"),
    ("pipenv", "Pipfile.lock"),
    ("hatch", "hatch.toml"),
];

pub(super) fn python(project: &dyn Project) -> Option<Fact> {
    let document = project.document("pyproject.toml", FileFormat::Toml)?;
    let (stated, poetry) = (&document["project"], &document["tool"]["poetry"]);
    let text = |value: &Value| value.as_str().map(page::quoted);
    let python =
        text(&stated["requires-python"]).or_else(|| text(&poetry["dependencies"]["python"]));
    let told = [
        text(&stated["name"]).or_else(|| text(&poetry["name"])),
        python.map(|version| format!("python {version}")),
        python_manager(project, &document),
        text(&document["build-system"]["build-backend"])
            .map(|backend| format!("built with {backend}")),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| Fact::line(format!("pyproject.toml: {}", told.join(", "))))
}

/// The manager whose lock file exists, otherwise the one that has a table under `tool`.
fn python_manager(project: &dyn Project, document: &Value) -> Option<String> {
    let entries = project.folder("".as_ref()).unwrap_or_default().entries;
    let is_locked = |(_, lock): &&(_, &str)| entries.iter().any(|entry| entry.name == *lock);
    let is_set = |(name, _): &&(&str, _)| document["tool"][*name].is_object();
    let manager =
        PYTHON_MANAGERS.iter().find(is_locked).or_else(|| PYTHON_MANAGERS.iter().find(is_set));
    manager.map(|(name, _)| format!("managed with {name}"))
}

// `go.mod`: the module and its version of Go.

pub(super) fn go(project: &dyn Project) -> Option<Fact> {
    let text = project.text("go.mod".as_ref())?;
    let stated = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
        let (_, rest) = lines.find(|(first, _)| *first == key)?;
        let word = rest.split_whitespace().next()?.trim_matches(['"', '`']);
        (word != "(").then(|| page::quoted(word))
    };
    let module = stated("module")?;
    let version = stated("go").map(|version| format!(", go {version}")).unwrap_or_default();
    Some(Fact::line(format!("go.mod: module {module}{version}")))
}

// `package.json`: how to call its scripts, its dependencies, and the packages beside it.

pub(super) fn node(project: &dyn Project) -> Option<Fact> {
    let manifest = project.document("package.json", FileFormat::Json).filter(Value::is_object)?;
    let mut lines: Vec<String> = workspaces(project, &manifest).into_iter().collect();
    lines.extend(scripts(&manifest));
    lines.extend(dependencies(&manifest, "dependencies", 25));
    lines.extend(dependencies(&manifest, "devDependencies", 20));
    lines.extend(dependencies(&manifest, "peerDependencies", 8));
    let told = [
        manifest["name"].as_str().map(page::quoted),
        manifest["type"].as_str().map(|kind| format!("type {}", page::quoted(kind))),
        package_manager(project, &manifest),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    match (told.is_empty(), lines.is_empty()) {
        (true, true) => None,
        (true, false) => Some(Fact { heading: "package.json".to_owned(), lines }),
        (false, _) => Some(Fact { heading: format!("package.json: {}", told.join(", ")), lines }),
    }
}

/// The stated package manager, otherwise those whose lock files exist.
fn package_manager(project: &dyn Project, manifest: &Value) -> Option<String> {
    if let Some(stated) = manifest["packageManager"].as_str() {
        // The checksum after the version is of no use to a reader.
        let stated = stated.split('+').next().unwrap_or(stated);
        return Some(format!("package manager {}", page::quoted(stated)));
    }
    let entries = project.folder("".as_ref())?.entries;
    let is_there = |name: &str| entries.iter().any(|entry| entry.name == name);
    let managers: BTreeSet<&str> = LOCKS
        .iter()
        .chain(&[("deno.lock", "deno")])
        .filter(|(lock, _)| is_there(lock))
        .map(|(_, manager)| *manager)
        .collect();
    let managers: Vec<&str> = managers.into_iter().collect();
    match managers.as_slice() {
        [] => None,
        [manager] => Some(format!("package manager {manager}, by its lock file")),
        several => Some(format!("lock files of {}", several.join(" and "))),
    }
}

fn scripts(manifest: &Value) -> Vec<String> {
    let mut scripts: Vec<(&str, &str)> = members(&manifest["scripts"])
        .filter_map(|(name, command)| Some((name, command.as_str()?)))
        .collect();
    useful_first(&mut scripts, |(name, _)| name);
    let mut lines = page::pairs(scripts, 16);
    if !lines.is_empty() {
        lines.insert(0, "scripts:".to_owned());
    }
    lines
}

fn dependencies(manifest: &Value, kind: &str, most: usize) -> Option<String> {
    let wanted: Vec<String> = members(&manifest[kind])
        .map(|(name, version)| match version.as_str() {
            Some(version) if !version.is_empty() => format!("{name}@{version}"),
            _ => name.to_owned(),
        })
        .collect();
    page::labelled(&format!("{kind}: "), wanted.iter().map(String::as_str), most)
}

/// The patterns of the workspace. npm, Yarn and Bun keep them in the manifest, Yarn also one level
/// deeper.
fn workspaces(project: &dyn Project, manifest: &Value) -> Option<String> {
    let pnpm = project.text("pnpm-workspace.yaml".as_ref()).unwrap_or_default();
    let stated = &manifest["workspaces"];
    let all = pnpm_packages(&pnpm).chain([stated, &stated["packages"]].into_iter().flat_map(texts));
    page::labelled("workspaces: ", all, 8)
}

/// The patterns below `packages:`, each on a line of its own, as in pnpm's own documents.
fn pnpm_packages(text: &str) -> impl Iterator<Item = &str> {
    let below = text.lines().skip_while(|line| line.trim_end() != "packages:").skip(1);
    let code = below.map(|line| line.split(" #").next().unwrap_or_default().trim());
    let items = code.filter(|line| !line.is_empty() && !line.starts_with('#'));
    items
        .map_while(|item| item.strip_prefix("- "))
        .map(|item| item.trim().trim_matches(['"', '\'']))
}

// `tsconfig.json`: the options that decide how code must be written, and where the output goes.

/// In order of preference; only the first that exists is described.
const TYPESCRIPT_FILES: [&str; 3] = ["tsconfig.json", "tsconfig.base.json", "jsconfig.json"];

/// The options that matter most for writing code.
const OPTIONS: [&str; 26] = [
    "strict",
    "target",
    "module",
    "moduleResolution",
    "jsx",
    "baseUrl",
    "paths",
    "rootDir",
    "outDir",
    "noEmit",
    "noUncheckedIndexedAccess",
    "exactOptionalPropertyTypes",
    "verbatimModuleSyntax",
    "isolatedModules",
    "erasableSyntaxOnly",
    "allowImportingTsExtensions",
    "noImplicitAny",
    "strictNullChecks",
    "noUnusedLocals",
    "noUnusedParameters",
    "noImplicitReturns",
    "experimentalDecorators",
    "incremental",
    "composite",
    "allowJs",
    "lib",
];

pub(super) fn typescript(project: &dyn Project) -> Option<Fact> {
    let read = |name: &'static str| Some((name, project.document(name, FileFormat::Json)?));
    let (name, config) =
        TYPESCRIPT_FILES.into_iter().find_map(read).filter(|(_, text)| text.is_object())?;
    let mut lines = Vec::new();
    lines.extend(options("compilerOptions", &config));
    lines.extend(inherited(project, &config));
    for key in ["include", "exclude", "files"] {
        let mut patterns = texts(&config[key]);
        patterns.retain(|pattern| *pattern != "node_modules");
        lines.extend(page::labelled(&format!("{key}: "), patterns, 8));
    }
    lines.extend(references(&config));
    lines.extend(others(project, name));
    let extends = page::labelled(": extends ", texts(&config["extends"]), 4).unwrap_or_default();
    let says_something = !lines.is_empty() || !extends.is_empty();
    says_something.then(|| Fact { heading: format!("{name}{extends}"), lines })
}

fn options(heading: &str, config: &Value) -> Option<String> {
    let options = &config["compilerOptions"];
    let shown: Vec<String> = OPTIONS
        .iter()
        .filter_map(|name| Some(format!("{name} {}", value(&options[*name])?)))
        .collect();
    (!shown.is_empty()).then(|| format!("{heading}: {}", shown.join(", ")))
}

fn value(value: &Value) -> Option<String> {
    match value {
        Value::Bool(set) => Some(set.to_string()),
        Value::String(text) => Some(page::quoted(text)),
        Value::Array(_) => Some(page::list(texts(value), 4)).filter(|shown| !shown.is_empty()),
        Value::Object(_) => Some(paths(value)).filter(|shown| !shown.is_empty()),
        Value::Null | Value::Number(_) => None,
    }
}

/// Import prefixes that stand for another folder.
fn paths(paths: &Value) -> String {
    let shown: Vec<String> = members(paths)
        .filter_map(|(from, targets)| Some(format!("{from} -> {}", texts(targets).first()?)))
        .collect();
    page::list(shown.iter().map(String::as_str), 6)
}

/// The options of a configuration in the project that this one extends.
fn inherited(project: &dyn Project, config: &Value) -> Option<String> {
    let is_own = |name: &&str| !name.split('/').any(|part| part == "..");
    let own = texts(&config["extends"])
        .into_iter()
        .find_map(|name| name.strip_prefix("./").filter(is_own))?;
    let document = project.document(own, FileFormat::Json);
    let document =
        document.or_else(|| project.document(&format!("{own}.json"), FileFormat::Json))?;
    options(&format!("inherited from {}", page::quoted(own)), &document)
}

fn references(config: &Value) -> Option<String> {
    let references = config["references"].as_array()?;
    page::labelled("references: ", references.iter().filter_map(|one| one["path"].as_str()), 8)
}

fn others(project: &dyn Project, told: &str) -> Option<String> {
    let entries = project.folder("".as_ref())?.entries;
    let is_other =
        |name: &&str| name.starts_with("tsconfig.") && name.ends_with(".json") && *name != told;
    page::labelled("also ", entries.iter().map(|entry| entry.name.as_str()).filter(is_other), 8)
}

// The files that configure the project's CI.

const WORKFLOWS: &str = ".github/workflows";

/// Files of the other services.
const CI_FILES: [&str; 5] = [
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".travis.yml",
];

pub(super) fn ci(project: &dyn Project) -> Option<Fact> {
    let files = |folder: &str| names_of(project, folder, EntryKind::File);
    let mut found = files(WORKFLOWS);
    found.retain(|name| name.ends_with(".yml") || name.ends_with(".yaml"));
    found.iter_mut().for_each(|name| *name = format!("{WORKFLOWS}/{name}"));
    found.extend(CI_FILES.map(str::to_owned).into_iter().filter(|path| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        files(folder).iter().any(|file| file == name)
    }));
    page::labelled("CI: ", found.iter().map(String::as_str), 12).map(Fact::line)
}

// The targets of a Makefile and the recipes of a justfile.
//
// The scripts of a `package.json` are in the fact about that file.

/// Length limit of a task's own description, in UTF-16 units.
const HELP: usize = 44;

/// How many tasks of one runner are shown with their description; for the others the names are more
/// useful.
const HELPED: usize = 5;

/// How many tasks of one runner are named.
const TASKS: usize = 24;

pub(super) fn tasks(project: &dyn Project) -> Option<Fact> {
    let text = |names: &[&str]| names.iter().find_map(|name| project.text(name.as_ref()));
    let (make, just) = (text(&MAKEFILES).unwrap_or_default(), text(&JUSTFILES).unwrap_or_default());
    let mut targets = ecosystems::of_make(&make);
    // A target that looks like a file is a step of the build.
    targets.retain(|target| !target.name.contains(['/', '.']));
    let lines = [tasks_of("make", targets), tasks_of("just", ecosystems::of_just(&just))];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    (!lines.is_empty()).then(|| Fact { heading: "tasks, called by name".to_owned(), lines })
}

fn tasks_of(runner: &str, mut recipes: Vec<Recipe<'_>>) -> Option<String> {
    useful_first(&mut recipes, |recipe| recipe.name);
    let shown: Vec<String> = recipes
        .iter()
        .enumerate()
        .map(|(at, recipe)| {
            let call = format!("{} {}", recipe.name, recipe.arguments);
            match recipe.help.filter(|_| at < HELPED) {
                Some(help) => format!("{} # {}", call.trim_end(), page::short(help, HELP)),
                None => call.trim_end().to_owned(),
            }
        })
        .collect();
    page::labelled(&format!("{runner} "), shown.iter().map(String::as_str), TASKS)
}

// Supabase: the migrations, the tables that the newest ones create, and the edge functions.

const MIGRATIONS: &str = "supabase/migrations";

/// How many migrations are read.
const MOST_READ: usize = 100;

pub(super) fn supabase(project: &dyn Project) -> Option<Fact> {
    let mut migrations = names_of(project, MIGRATIONS, EntryKind::File);
    migrations.retain(|name| name.ends_with(".sql"));
    let mut functions = names_of(project, "supabase/functions", EntryKind::Folder);
    // A folder such as `_shared` contains code for several functions.
    functions.retain(|name| !name.starts_with(['_', '.']));
    let mut lines = Vec::new();
    if !migrations.is_empty() {
        let newest = page::list(migrations.iter().rev().take(3).map(String::as_str), 3);
        lines.push(format!("migrations: {}, the newest {newest}", migrations.len()));
        lines.extend(tables(project, &migrations));
    }
    lines.extend(page::labelled("functions: ", functions.iter().map(String::as_str), 20));
    (!lines.is_empty()).then(|| Fact { heading: "supabase".to_owned(), lines })
}

/// The tables in lines that begin with `create table`. Later changes to a table are not followed.
fn tables(project: &dyn Project, migrations: &[String]) -> Option<String> {
    let read = &migrations[migrations.len().saturating_sub(MOST_READ)..];
    let mut tables = BTreeSet::new();
    for name in read {
        let text = project.text(format!("{MIGRATIONS}/{name}").as_ref()).unwrap_or_default();
        tables.extend(text.lines().filter_map(created));
    }
    page::labelled("tables created: ", tables.iter().map(String::as_str), 80)
}

fn created(line: &str) -> Option<String> {
    let mut words = line.split([' ', '(', ';']).filter(|word| !word.is_empty());
    let mut next_is = |wanted: &str| words.next().filter(|word| word.eq_ignore_ascii_case(wanted));
    next_is("create").and_then(|_| next_is("table"))?;
    let mut name = words.next()?;
    if name.eq_ignore_ascii_case("if") {
        name = words.nth(2)?;
    }
    Some(name.replace('"', "").trim_start_matches("public.").to_owned())
}

fn names_of(project: &dyn Project, folder: &str, kind: EntryKind) -> Vec<String> {
    let entries = project.folder(folder.as_ref()).unwrap_or_default().entries;
    entries.into_iter().filter(|entry| entry.kind == kind).map(|entry| entry.name).collect()
}

// The project's layout: two levels of folders, one line for each folder of the root.
//
// It is last on the page and takes the remaining space, so it is brief: the more folders there
// are, the fewer names of each.

/// How many folders are listed with their content; the others are only named.
const MOST_LOOKED_INTO: usize = 30;

/// How many second-level names are shown in total, though each folder gets at least two.
const MOST_NAMES: usize = 80;

const MOST_OF_ONE_FOLDER: usize = 10;

const MOST_FILES: usize = 20;

pub(super) fn structure(project: &dyn Project) -> Option<Fact> {
    let root = project.folder("".as_ref())?;
    let folders: Vec<&FolderEntry> = of_kind(&root, |kind| kind == EntryKind::Folder).collect();
    let files: Vec<&FolderEntry> = of_kind(&root, |kind| kind != EntryKind::Folder).collect();
    if root.entries.is_empty() {
        return None;
    }
    let (inside, beyond) = folders.split_at(folders.len().min(MOST_LOOKED_INTO));
    let most = (MOST_NAMES / inside.len().max(1)).clamp(2, MOST_OF_ONE_FOLDER);
    let mut lines: Vec<String> =
        inside.iter().map(|folder| line(project, &folder.name, most)).collect();
    if !beyond.is_empty() {
        let names: Vec<String> = beyond.iter().map(|folder| shown(folder)).collect();
        lines.push(format!("also {}", page::list(names.iter().map(String::as_str), MOST_FILES)));
    }
    if !files.is_empty() {
        lines.push(format!("files: {}", names(&files, MOST_FILES)));
    }
    let heading = format!(
        "structure without what git ignores: {}{}",
        counted(folders.len(), files.len()),
        cut(&root),
    );
    Some(Fact { heading, lines })
}

/// A folder of the root: the number of entries, and a few names.
fn line(project: &dyn Project, name: &str, most: usize) -> String {
    let own = page::quoted(&format!("{name}/"));
    let Some(folder) = project.folder(name.as_ref()) else { return own };
    let folders: Vec<&FolderEntry> = of_kind(&folder, |kind| kind == EntryKind::Folder).collect();
    let files: Vec<&FolderEntry> = of_kind(&folder, |kind| kind != EntryKind::Folder).collect();
    if folder.entries.is_empty() {
        return format!("{own} empty");
    }
    let all: Vec<&FolderEntry> = folders.iter().chain(&files).copied().collect();
    let counted = match all.len() > most {
        true => format!(" {}{}", counted(folders.len(), files.len()), cut(&folder)),
        false => cut(&folder).to_owned(),
    };
    format!("{own}{counted}: {}", names(&all, most))
}

fn of_kind(folder: &Folder, is_meant: fn(EntryKind) -> bool) -> impl Iterator<Item = &FolderEntry> {
    folder.entries.iter().filter(move |entry| is_meant(entry.kind))
}

fn names(entries: &[&FolderEntry], most: usize) -> String {
    let names: Vec<String> = entries.iter().map(|entry| shown(entry)).collect();
    page::list(names.iter().map(String::as_str), most)
}

fn shown(entry: &FolderEntry) -> String {
    match entry.kind {
        EntryKind::Folder => format!("{}/", entry.name),
        EntryKind::File | EntryKind::Link => entry.name.clone(),
    }
}

fn counted(folders: usize, files: usize) -> String {
    let some = |count: usize, one: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {one}s")),
    };
    let parts = [some(folders, "folder"), some(files, "file")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn cut(folder: &Folder) -> &'static str {
    match folder.is_cut {
        true => " and more",
        false => "",
    }
}

// The order of a project's own commands: first those that show whether its code is correct.

/// Most useful first.
const USEFUL: [&str; 23] = [
    "test",
    "tests",
    "build",
    "lint",
    "typecheck",
    "type-check",
    "check-types",
    "tsc",
    "check",
    "dev",
    "start",
    "serve",
    "run",
    "format",
    "fmt",
    "ci",
    "verify",
    "all",
    "e2e",
    "generate",
    "codegen",
    "migrate",
    "help",
];

/// Moves the useful names to the front, followed by names that start with one of them
/// (`test:unit`). The others keep their order.
fn useful_first<T>(tasks: &mut [T], name: impl Fn(&T) -> &str) {
    tasks.sort_by_cached_key(|task| rank(name(task)));
}

fn rank(name: &str) -> usize {
    let place = |wanted: &str| USEFUL.iter().position(|known| *known == wanted);
    let head = name.split([':', '-', '_', '.', '/']).next().unwrap_or_default();
    place(name).or_else(|| Some(USEFUL.len() + place(head)?)).unwrap_or(2 * USEFUL.len())
}

// Reads parts of a document with an unknown structure: a value of another type counts as missing.

/// The strings of a list; a single string is a list of one.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The members of an object, by their names: only some executables keep the order of a document.
fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flatten();
    let mut members: Vec<_> = members.map(|(name, value)| (name.as_str(), value)).collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    members.into_iter()
}

#[cfg(test)]
mod tests;
