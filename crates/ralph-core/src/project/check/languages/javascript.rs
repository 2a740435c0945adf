//! JavaScript and TypeScript: the tools that the project itself uses, and formatters that cover other languages too.

mod test_files;

use super::super::CheckKind::{Fix, Look, Test};
use super::super::parsers::OutputFormat;
use super::super::workspace::{Around, ToolCommand};
use super::super::{CheckKind, jsonc};
use super::{CheckBuilder, Configured, folder_of, matches_any, name_of, said, text_of, upward};
use crate::project::ecosystems::LOCKS;
use crate::text::globs;
use serde_json::Value;
use std::path::{Path, PathBuf};
use test_files::TestNaming;

pub(super) const NAMES: &[&str] =
    &["*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"];

const DECLARATIONS: &[&str] = &["*.d.ts", "*.d.mts", "*.d.cts"];

pub(super) fn wanted(around: &dyn Around, wanted: &mut CheckBuilder) {
    if let Some(config) = deno_config(around) {
        deno(around, &config, wanted);
        return;
    }
    // Declaration files are usually generated, and never run.
    if matches_any(DECLARATIONS, name_of(around.file())) {
        types(around, wanted);
        return;
    }
    linters(around, wanted);
    types(around, wanted);
    syntax(around, wanted);
    test_files::add(around, wanted);
}

// `package.json`, and how its packages are installed.

/// A `package.json`.
pub(super) struct Package {
    pub(super) folder: PathBuf,
    value: Value,
}

impl Package {
    /// The packages above the file, nearest first. One that cannot be parsed counts as empty.
    pub(super) fn all(around: &dyn Around) -> Vec<Self> {
        upward(around).filter_map(|folder| Self::at(around, folder)).collect()
    }

    pub(super) fn at(around: &dyn Around, folder: &Path) -> Option<Self> {
        let text = around.text(&folder.join("package.json"))?;
        let value = serde_json::from_str(&text).unwrap_or_default();
        Some(Self { folder: folder.to_path_buf(), value })
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("package.json")
    }

    /// True if it has this member: many tools are configured by a member with their name.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some()
    }

    /// True if it depends on this package in any way.
    pub(super) fn needs(&self, package: &str) -> bool {
        ["devDependencies", "dependencies", "optionalDependencies", "peerDependencies"]
            .iter()
            .any(|kind| self.value[kind].get(package).is_some())
    }

    /// A script; empty if it does not exist.
    pub(super) fn script(&self, name: &str) -> &str {
        self.value["scripts"][name].as_str().unwrap_or_default()
    }

    /// True if its `.js` files are modules.
    pub(super) fn is_module(&self) -> bool {
        self.value["type"] == "module"
    }
}

/// The endings of a tool's configuration in the languages that such tools read.
const ENDINGS: [&str; 13] = [
    ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".json", ".jsonc", ".json5", ".yaml", ".yml",
    ".toml", "",
];

/// The nearest file with one of these names and an ending. In one folder, the first name wins.
pub(super) fn nearest_config(around: &dyn Around, names: &[&str]) -> Option<PathBuf> {
    let with_endings = |name: &&str| ENDINGS.map(|ending| format!("{name}{ending}"));
    let names: Vec<String> = names.iter().flat_map(with_endings).collect();
    around.nearest(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The command that installs the project's packages, as the end of a sentence.
pub(super) fn remedy(around: &dyn Around) -> String {
    let lock = around.nearest(&LOCKS.map(|(lock, _)| lock));
    let by_lock = |lock: &PathBuf| LOCKS.iter().find(|(name, _)| lock.ends_with(name));
    let manager = lock.as_ref().and_then(by_lock).map_or("npm", |(_, manager)| manager);
    format!("run `{manager} install`")
}

// Deno, which is compiler, linter, formatter and test runner in one.

const DENO_CONFIGS: &[&str] = &["deno.json", "deno.jsonc"];

/// The configuration of the file's Deno project: the nearest manifest, if it is Deno's. Deno also
/// wins over a `package.json` in the same folder.
fn deno_config(around: &dyn Around) -> Option<PathBuf> {
    let manifest = around.nearest(&["deno.json", "deno.jsonc", "package.json"])?;
    DENO_CONFIGS.iter().any(|name| manifest.ends_with(name)).then_some(manifest)
}

fn deno(around: &dyn Around, config: &Path, wanted: &mut CheckBuilder) {
    let remedy = "see <https://docs.deno.com>";
    let Some(deno) = wanted.configured(around, "deno", config, remedy) else { return };
    let why = format!("{} makes it a project of deno", said(around, config));
    let deno = Configured { why, ..deno };
    let file = text_of(around.file());
    // The configuration may exclude the file, which is an error without `--permit-no-files`.
    let calls: [(CheckKind, &str, &[&str]); 3] = [
        (Fix, "deno fmt", &["fmt", "--quiet", "--permit-no-files", &file]),
        (Look, "deno lint", &["lint", "--quiet", "--compact", "--permit-no-files", &file]),
        (Look, "deno check", &["check", "--quiet", &file]),
    ];
    for (kind, name, arguments) in calls {
        wanted.run(kind, name, &deno, arguments, OutputFormat::Deno);
    }
    let tests = test_files::tests(around, &deno.folder, TestNaming::Underscored);
    if tests.is_empty() {
        return;
    }
    let tests: Vec<String> = tests.iter().map(|test| text_of(test)).collect();
    let permissions = permissions(around, config);
    let arguments: Vec<&str> = ["test", "--quiet", "--no-prompt", "--cached-only"]
        .into_iter()
        .chain(permissions.iter().map(String::as_str))
        .chain(tests.iter().map(String::as_str))
        .collect();
    wanted.run(Test, "deno test", &deno, &arguments, OutputFormat::Whole);
}

/// The permissions that the project's own `test` task grants.
fn permissions(around: &dyn Around, config: &Path) -> Vec<String> {
    let value = around.text(config).and_then(|text| jsonc::read(&text)).unwrap_or_default();
    let task = &value["tasks"]["test"];
    let line = task.as_str().or(task["command"].as_str()).unwrap_or_default();
    let is_permission = |word: &&str| {
        *word == "-A" || word.starts_with("--allow-") || word.starts_with("--unstable")
    };
    line.split_whitespace().filter(is_permission).map(str::to_owned).collect()
}

// Linters: oxlint and ESLint, if the project uses them. Biome also formats.

/// Adds the linters, the faster one first.
fn linters(around: &dyn Around, wanted: &mut CheckBuilder) {
    oxlint(around, wanted);
    eslint(around, wanted);
}

/// True if one of them covers the file, installed or not.
fn is_linted(around: &dyn Around) -> bool {
    oxlint_config(around).is_some() || eslint_config(around).is_some()
}

fn oxlint(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(config) = oxlint_config(around) else { return };
    let Some(oxlint) = wanted.configured(around, "oxlint", &config, &remedy(around)) else {
        return;
    };
    let file = text_of(around.file());
    // The configuration may exclude the file.
    let arguments = ["--fix", "--format", "unix", "--no-error-on-unmatched-pattern", &file];
    wanted.run(Fix, "oxlint", &oxlint, &arguments, OutputFormat::Plain);
}

/// oxlint needs no configuration: a package that depends on it and has no other linter uses it.
fn oxlint_config(around: &dyn Around) -> Option<PathBuf> {
    nearest_config(around, &[".oxlintrc", "oxlint.config"]).or_else(|| {
        let package = Package::all(around).into_iter().find(|package| package.needs("oxlint"))?;
        eslint_config(around).is_none().then(|| package.path())
    })
}

fn eslint(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(config) = eslint_config(around) else { return };
    let Some(eslint) = wanted.configured(around, "eslint", &config, &remedy(around)) else {
        return;
    };
    let file = text_of(around.file());
    let is_flat = name_of(&config).starts_with("eslint.config.");
    // Only flat configurations support the option that suppresses the warning about an excluded
    // file.
    let quiet: &[&str] = if is_flat { &["--no-warn-ignored"] } else { &[] };
    let arguments = [&["--fix"], quiet, &["--format", "json", &file]].concat();
    // ESLint finds an old-style configuration from the file, but its ignore list from the working
    // directory.
    let ignore = (!is_flat).then(|| around.nearest(&[".eslintignore"])).flatten();
    wanted
        .run(Fix, "eslint", &eslint, &arguments, OutputFormat::Eslint)
        .at(folder_of(ignore.as_deref().unwrap_or(&config)));
}

/// The nearest configuration; a file wins over the member of a `package.json`.
fn eslint_config(around: &dyn Around) -> Option<PathBuf> {
    nearest_config(around, &["eslint.config", ".eslintrc"]).or_else(|| {
        let mut packages = Package::all(around).into_iter();
        packages.find(|package| package.has("eslintConfig")).map(|package| package.path())
    })
}

// A syntax check for plain JavaScript that no other tool reads.

/// Adds `node --check` if no other tool would report a syntax error.
fn syntax(around: &dyn Around, wanted: &mut CheckBuilder) {
    if is_read_otherwise(around) || !is_for_node(around) {
        return;
    }
    let Some(node) = around.tool("node") else { return };
    let line = node.with(&["--check", &text_of(around.file())]);
    wanted.add(Look, "node", line, OutputFormat::Whole).because("no other tool reads its syntax");
}

fn is_read_otherwise(around: &dyn Around) -> bool {
    is_linted(around) || biome_config(around).is_some() || including(around).is_some()
}

/// True if the file is certainly meant for Node as it is. JavaScript for a bundler contains tags,
/// and imports in files that Node treats as scripts.
fn is_for_node(around: &dyn Around) -> bool {
    let name = name_of(around.file());
    if !matches_any(&["*.js", "*.mjs", "*.cjs"], name) {
        return false;
    }
    let text = around.text(around.file()).unwrap_or_default();
    let has_tags = text.contains("</") || text.contains("/>") || text.contains("@flow");
    let is_module = !name.ends_with(".js")
        || Package::all(around).first().is_some_and(Package::is_module)
        || !text.lines().any(|line| line.starts_with("import") || line.starts_with("export"));
    !has_tags && is_module
}

// Type checks: the compiler, with the nearest configuration that includes the file.

/// How many references of a configuration are read.
const MOST_REFERENCES: usize = 64;

const TYPE_CONFIGS: [&str; 2] = ["tsconfig.json", "jsconfig.json"];

const JAVASCRIPT: &[&str] = &["*.js", "*.jsx", "*.mjs", "*.cjs"];

/// Adds the compiler if a configuration includes the file.
fn types(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(config) = including(around) else { return };
    let why = format!("{} includes it", said(around, &config));
    let Some((name, tool)) = compiler(around) else {
        let remedy = remedy(around);
        wanted.lacks("tsc", format!("{why} and TypeScript is not installed; {remedy}"));
        return;
    };
    let path = text_of(&config);
    let kept = text_of(&around.kept(&format!("{name} {path}")));
    // The compiler's build information stays out of the project.
    let line = tool.with(&[
        "--noEmit",
        "--pretty",
        "false",
        "-p",
        &path,
        "--incremental",
        "--tsBuildInfoFile",
        &kept,
    ]);
    wanted
        .add(Look, name, line, OutputFormat::Tsc)
        .at(folder_of(&config))
        .whole(&config)
        .because(why);
}

/// The project's own compiler: another version on `PATH` finds other errors. The native compiler is
/// used if there is no other, or if the project depends on it.
fn compiler(around: &dyn Around) -> Option<(&'static str, ToolCommand)> {
    let classic = around.own_tool("tsc").map(|tool| ("tsc", tool));
    let native = around.own_tool("tsgo").map(|tool| ("tsgo", tool));
    let asks = Package::all(around).iter().any(|one| one.needs("@typescript/native-preview"));
    if asks { native.or(classic) } else { classic.or(native) }
}

/// The nearest configuration that includes the file, itself or through a reference.
///
/// Only the literal start of each `include` pattern is compared. `extends` is not read, so the
/// compiler may run for a file that an inherited list excludes.
fn including(around: &dyn Around) -> Option<PathBuf> {
    upward(around).find_map(|folder| {
        let paths = TYPE_CONFIGS.iter().map(|name| folder.join(name));
        let path = paths.into_iter().find(|path| around.exists(path))?;
        let config = read_config(around, &path)?;
        if includes(around, &path, &config) {
            return Some(path);
        }
        config["references"].as_array()?.iter().take(MOST_REFERENCES).find_map(|one| {
            let path = referenced(folder, one["path"].as_str()?);
            includes(around, &path, &read_config(around, &path)?).then_some(path)
        })
    })
}

fn read_config(around: &dyn Around, path: &Path) -> Option<Value> {
    jsonc::read(&around.text(path)?)
}

/// A reference names a configuration, or a folder with a `tsconfig.json`.
fn referenced(folder: &Path, path: &str) -> PathBuf {
    let path = folder.join(path.trim_start_matches("./"));
    if name_of(&path).ends_with(".json") { path } else { path.join("tsconfig.json") }
}

fn includes(around: &dyn Around, path: &Path, config: &Value) -> bool {
    let folder = folder_of(path);
    let file = around.file();
    let is_on = |option: &str| config["compilerOptions"][option] == true;
    // A `jsconfig.json` is for an editor, unless it asks for findings.
    let is_wanted = match (name_of(path), matches_any(JAVASCRIPT, name_of(file))) {
        ("jsconfig.json", is_javascript) => is_javascript && is_on("checkJs"),
        (_, true) => is_on("allowJs") || is_on("checkJs"),
        (_, false) => true,
    };
    let (top, path) = (text_of(folder), text_of(file));
    let holds = |pattern: &str| {
        globs::from_top(top.as_bytes(), pattern.as_bytes())
            .is_some_and(|pattern| globs::holds(&pattern, path.as_bytes()))
    };
    let is_below = |pattern: &str| {
        let open = pattern.find(['*', '?', '$']);
        let plain = open.map_or(pattern, |at| pattern[..at].rsplit_once('/').map_or("", |it| it.0));
        holds(plain)
    };
    let list = |key: &str| config[key].as_array().map(|list| list.iter().filter_map(Value::as_str));
    let is_excluded = || list("exclude").into_iter().flatten().any(holds);
    let is_listed = match (list("include"), list("files")) {
        (None, None) => file.starts_with(folder) && !is_excluded(),
        (include, files) => {
            files.into_iter().flatten().any(is_below)
                || include.into_iter().flatten().any(is_below) && !is_excluded()
        }
    };
    is_wanted && is_listed
}

// Formatters for several languages: Biome and Prettier, if the project uses them.

const BIOME_CONFIGS: &[&str] = &["biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"];

/// Files that Biome knows besides JavaScript.
const BIOME_NAMES: &[&str] = &["*.json", "*.jsonc", "*.css", "*.graphql", "*.gql"];

/// The endings of files that Prettier knows besides JavaScript. `--ignore-unknown` covers those that
/// its version does not know.
const PRETTIER_ENDINGS: &[&str] = &[
    "json", "jsonc", "json5", "css", "scss", "less", "md", "markdown", "mdx", "html", "htm", "vue",
    "yaml", "yml", "graphql", "gql", "hbs",
];

pub(super) fn formatters(around: &dyn Around, wanted: &mut CheckBuilder) {
    if matches_any(NAMES, name_of(around.file())) && deno_config(around).is_some() {
        return;
    }
    biome(around, wanted);
    prettier(around, wanted);
}

/// The Biome configuration that covers this file.
fn biome_config(around: &dyn Around) -> Option<PathBuf> {
    let name = name_of(around.file());
    let is_known = matches_any(BIOME_NAMES, name) || matches_any(NAMES, name);
    is_known.then(|| around.nearest(BIOME_CONFIGS)).flatten()
}

fn biome(around: &dyn Around, wanted: &mut CheckBuilder) {
    let Some(config) = biome_config(around) else { return };
    let Some(biome) = wanted.configured(around, "biome", &config, &remedy(around)) else { return };
    let file = text_of(around.file());
    let (reporter, form): (&[&str], _) = match knows_sarif(around) {
        true => (&["--reporter=sarif"], OutputFormat::Sarif),
        false => (&[], OutputFormat::Plain),
    };
    // The configuration may exclude the file, which Biome otherwise reports as an error.
    let rest = [
        "--max-diagnostics=none",
        "--no-errors-on-unmatched",
        "--files-ignore-unknown=true",
        "--colors=off",
        &file,
    ];
    let arguments = [&["check", "--write"], reporter, &rest].concat();
    wanted.run(Fix, "biome", &biome, &arguments, form);
}

/// Biome writes SARIF since 2.4. A Biome that is not the project's own is assumed to be new.
fn knows_sarif(around: &dyn Around) -> bool {
    let manifest = "node_modules/@biomejs/biome/package.json";
    let text = upward(around).find_map(|folder| around.text(&folder.join(manifest)));
    let manifest: Value =
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let mut numbers = manifest["version"].as_str().unwrap_or_default().split('.');
    let mut number = || numbers.next()?.parse::<u32>().ok();
    match (number(), number()) {
        (Some(major), Some(minor)) => (major, minor) >= (2, 4),
        _ => true,
    }
}

fn prettier(around: &dyn Around, wanted: &mut CheckBuilder) {
    let name = name_of(around.file());
    let is_known =
        name.rsplit_once('.').is_some_and(|(_, ending)| PRETTIER_ENDINGS.contains(&ending));
    if !is_known && !matches_any(&["*.handlebars"], name) && !matches_any(NAMES, name) {
        return;
    }
    let Some(config) = prettier_config(around) else { return };
    let Some(prettier) = wanted.configured(around, "prettier", &config, &remedy(around)) else {
        return;
    };
    // Prettier finds its configuration from the file, but its ignore list from the working
    // directory.
    let start = around.nearest(&[".prettierignore"]).unwrap_or_else(|| config.clone());
    let file = text_of(around.file());
    let arguments = ["--write", "--log-level", "warn", "--ignore-unknown", &file];
    wanted.run(Fix, "prettier", &prettier, &arguments, OutputFormat::Whole).at(folder_of(&start));
}

/// The nearest file that mentions Prettier. A mere dependency counts only if Biome does not do the
/// same work.
fn prettier_config(around: &dyn Around) -> Option<PathBuf> {
    let packages = Package::all(around);
    let own = nearest_config(around, &[".prettierrc", "prettier.config"]);
    let member = packages.iter().find(|package| package.has("prettier")).map(Package::path);
    let needed = || packages.iter().find(|package| package.needs("prettier")).map(Package::path);
    own.or(member).or_else(|| biome_config(around).is_none().then(needed).flatten())
}

#[cfg(test)]
mod tests;
