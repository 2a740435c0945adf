//! Reads the case files. Every variant of a file becomes a case of its own.

use crate::case::{Case, CaseFile, Given};
use crate::step;
use crate::text::{self, Names};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// All cases below a folder of groups, by name.
///
/// # Errors
/// If one cannot be read or says something that no case can say.
pub fn cases(folder: &Path) -> Result<Vec<Case>> {
    let mut all = Vec::new();
    for group in sorted(folder)? {
        for path in sorted(&group)? {
            let text = fs::read_to_string(&path)?;
            let stem = |path: &Path| path.file_stem().unwrap_or_default().display().to_string();
            let name = format!("{}/{}", stem(&group), stem(&path));
            all.extend(read(&name, &text).with_context(|| format!("in the case `{name}`"))?);
        }
    }
    Ok(all)
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("could not list `{}`", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn read(name: &str, text: &str) -> Result<Vec<Case>> {
    let file: CaseFile = serde_json::from_str(text)?;
    ensure!(!file.why.is_empty(), "it does not say why it matters");
    ensure!(file.seen.iter().all(|thread| thread.contains('#')), "`seen` names public threads");
    if file.variants.is_empty() {
        return Ok(vec![case(name.to_owned(), name, &file, &Names::new())?]);
    }
    let variants = file.variants.iter();
    variants
        .map(|(variant, names)| case(format!("{name}: {variant}"), name, &file, names))
        .collect()
}

fn case(name: String, file_name: &str, file: &CaseFile, names: &Names) -> Result<Case> {
    let given = match text::filled(&file.given, names) {
        Value::Null => Given::default(),
        given => serde_json::from_value(given).context("in `given`")?,
    };
    Ok(Case {
        name,
        file: file_name.to_owned(),
        title: file.title.clone(),
        needs: file.needs.clone(),
        times: file.times,
        given,
        steps: step::read(&text::filled(&file.steps, names))?,
    })
}
