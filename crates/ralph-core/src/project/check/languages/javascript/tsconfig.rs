//! Which files a `tsconfig.json` includes, as the compiler itself would say it.
//!
//! What is not read: a configuration that another package gives (`extends` of a name), and what the
//! included files import.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::super::jsonc;
use super::super::super::workspace::Around;
use super::super::{folder_of, matches_any, name_of};
use super::glob;

/// More configurations than this are not read for one: they may extend one another in circles.
const MOST: usize = 32;

const TYPESCRIPT: &[&str] = &["*.ts", "*.tsx", "*.mts", "*.cts"];

/// A configuration with what it takes over from others. Each list stands with the folder that its
/// paths start from.
#[derive(Debug, Default)]
pub(super) struct Config {
    files: Option<(PathBuf, Vec<String>)>,
    include: Option<(PathBuf, Vec<String>)>,
    exclude: Option<(PathBuf, Vec<String>)>,
    /// `outDir` and `declarationDir`, which are excluded where nothing else is.
    written: [Option<(PathBuf, String)>; 2],
    allow_js: Option<bool>,
    check_js: Option<bool>,
    references: Vec<PathBuf>,
}

impl Config {
    /// Reads a configuration; none if there is none.
    pub(super) fn read(around: &dyn Around, path: &Path) -> Option<Self> {
        let mut left = MOST;
        read(around, path, folder_of(path), &mut left)
    }

    /// The configurations that it refers to, as the other projects of a solution.
    pub(super) fn references(&self) -> &[PathBuf] {
        &self.references
    }

    /// True if findings in JavaScript are wanted.
    pub(super) fn checks_js(&self) -> bool {
        self.check_js == Some(true)
    }

    /// True if the compiler would look at this file.
    pub(super) fn includes(&self, around: &dyn Around, folder: &Path) -> bool {
        let file = around.file();
        if let Some((base, files)) = &self.files
            && files.iter().any(|one| lexical(&base.join(one)) == file)
        {
            return true;
        }
        self.takes_name(around) && self.is_in_include(folder, file) && !self.is_excluded(file)
    }

    fn is_in_include(&self, folder: &Path, file: &Path) -> bool {
        match (&self.include, &self.files) {
            (Some((base, patterns)), _) => {
                patterns.iter().any(|pattern| glob::includes(base, pattern, file))
            }
            (None, Some(_)) => false,
            (None, None) => glob::includes(folder, "**/*", file),
        }
    }

    fn is_excluded(&self, file: &Path) -> bool {
        match &self.exclude {
            Some((base, patterns)) => {
                patterns.iter().any(|pattern| glob::excludes(base, pattern, file))
            }
            None => {
                self.written.iter().flatten().any(|(base, path)| glob::excludes(base, path, file))
            }
        }
    }

    /// JavaScript is for those who ask, and not where it was written from TypeScript.
    fn takes_name(&self, around: &dyn Around) -> bool {
        if matches_any(TYPESCRIPT, name_of(around.file())) {
            return true;
        }
        let is_written =
            ["ts", "tsx"].iter().any(|end| around.exists(&around.file().with_extension(end)));
        self.allow_js.or(self.check_js) == Some(true) && !is_written
    }

    /// Takes over what this configuration does not say itself.
    fn or(self, other: Self) -> Self {
        let [out, declarations] = self.written;
        let [other_out, other_declarations] = other.written;
        Self {
            files: self.files.or(other.files),
            include: self.include.or(other.include),
            exclude: self.exclude.or(other.exclude),
            written: [out.or(other_out), declarations.or(other_declarations)],
            allow_js: self.allow_js.or(other.allow_js),
            check_js: self.check_js.or(other.check_js),
            // They are the one thing that nobody takes over.
            references: self.references,
        }
    }
}

/// `${configDir}` is the folder of the configuration that was asked for first.
fn read(around: &dyn Around, path: &Path, config_dir: &Path, left: &mut usize) -> Option<Config> {
    *left = left.checked_sub(1)?;
    let value = jsonc::read(&around.text(path)?)?;
    let config = own(&value, folder_of(path), config_dir, path);
    // The last of several wins over those before it.
    let extended = extended(&value, folder_of(path)).into_iter().rev();
    Some(extended.fold(config, |config, path| {
        config.or(read(around, &path, config_dir, left).unwrap_or_default())
    }))
}

fn own(value: &Value, folder: &Path, config_dir: &Path, path: &Path) -> Config {
    let text = |value: &Value| {
        Some(value.as_str()?.replace("${configDir}", &config_dir.to_string_lossy()))
    };
    let list = |key: &str| {
        let list = value[key].as_array()?.iter().filter_map(text).collect();
        Some((folder.to_path_buf(), list))
    };
    let options = &value["compilerOptions"];
    let folder_option = |key: &str| Some((folder.to_path_buf(), text(&options[key])?));
    let references = value["references"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_jsconfig = name_of(path) == "jsconfig.json";
    Config {
        files: list("files"),
        include: list("include"),
        exclude: list("exclude"),
        written: [folder_option("outDir"), folder_option("declarationDir")],
        allow_js: options["allowJs"].as_bool().or(is_jsconfig.then_some(true)),
        check_js: options["checkJs"].as_bool(),
        references: references
            .iter()
            .filter_map(|one| Some(referenced(&folder.join(one["path"].as_str()?))))
            .collect(),
    }
}

/// A reference names a configuration, or a folder with a `tsconfig.json`.
fn referenced(path: &Path) -> PathBuf {
    let path = lexical(path);
    if name_of(&path).ends_with(".json") { path } else { path.join("tsconfig.json") }
}

/// The paths in `extends`, which is one or a list. `.json` may be left out.
fn extended(value: &Value, folder: &Path) -> Vec<PathBuf> {
    let one = std::slice::from_ref(&value["extends"]);
    let all = value["extends"].as_array().map_or(one, Vec::as_slice);
    all.iter()
        .filter_map(Value::as_str)
        .filter(|path| path.starts_with('.') || path.starts_with('/'))
        .map(|path| match path.ends_with(".json") {
            true => lexical(&folder.join(path)),
            false => lexical(&folder.join(format!("{path}.json"))),
        })
        .collect()
}

/// The path without `.` and `..`.
fn lexical(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
