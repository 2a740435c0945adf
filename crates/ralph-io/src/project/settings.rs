//! Reads `ralph.toml`, the user's and the project's, and decides whether the project's is trusted.

use crate::project::{safe_read, trusted_read, user_files};
use crate::store::home::Home;
use crate::{client, store::atomic};
use anyhow::{Context, Result, anyhow};
use ralph_core::project::settings::{Settings, UnknownKey, unknown_keys};
use ralph_core::text::hex::sha256;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Settings fit on a page, so this is generous.
const LARGEST: u64 = 1 << 20;

/// The user's own file: `$XDG_CONFIG_HOME/ralph/config.toml`.
pub fn user_file() -> Option<PathBuf> {
    user_folder().map(|folder| folder.join("config.toml"))
}

/// The folder of the user's own file.
pub fn user_folder() -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("XDG_CONFIG_HOME")
        .or_else(|| Some(set("HOME")?.join(".config")))
        .map(|folder| folder.join("ralph"))
}

pub fn project_file(project_root: &Path) -> PathBuf {
    project_root.join(".claude").join("ralph.toml")
}

/// True if the user's file, or the file of the client's project, contains this word anywhere.
/// Cheaper than parsing the settings, for callers that usually find nothing.
pub fn mention(word: &str) -> bool {
    let files = [user_file(), client::project_dir().map(|root| project_file(&root))];
    let text = |path: &PathBuf| text_of(path).ok().flatten();
    files.iter().flatten().filter_map(text).any(|text| text.contains(word))
}

/// True if the client's settings, the user's or the project's, contain the name of this executable.
/// Cheaper than parsing them; the caller asks whether another registration starts a copy of it.
pub fn of_client_mention(executable: &str) -> bool {
    let person = client::config_dir().map(|folder| folder.join("settings.json"));
    let project = client::project_dir().map(|root| root.join(".claude"));
    let project = project
        .iter()
        .flat_map(|folder| ["settings.json", "settings.local.json"].map(|name| folder.join(name)));
    let text = |path: PathBuf| text_of(&path).ok().flatten();
    person.into_iter().chain(project).filter_map(text).any(|text| text.contains(executable))
}

/// Creates or removes a marker file that tells the idle hook whether some settings may want checks
/// in every session.
pub fn note_wanted(home: &Home, wanted: bool) -> Result<()> {
    let path = home.root().join("always");
    match (wanted, path.symlink_metadata().is_ok()) {
        (true, false) => home.prepare().and_then(|()| atomic::write(&path, b"")),
        (false, true) => std::fs::remove_file(&path)
            .with_context(|| format!("could not remove `{}`", path.display())),
        _ => Ok(()),
    }
}

/// Returns the settings for a loop of this project, and the problems with files that were not used.
pub fn read(home: &Home, project_root: &Path) -> (Settings, Vec<String>) {
    let mut problems = Vec::new();
    let mut take = |path: &Path| {
        let loaded = load(path).map(Option::unwrap_or_default);
        let loaded = loaded.unwrap_or_else(|error| Loaded::unusable(&error));
        problems
            .extend(loaded.problems.iter().map(|one| format!("{}; Ralph ignored it", one.what)));
        loaded
    };
    let user = user_file().map(|path| take(&path)).unwrap_or_default();
    let project = take(&project_file(project_root));
    // Trust is checked against the text that was read: the file on disk may have changed since.
    let project = match is_trusted(home, project_root, &project.text) {
        true => project.settings,
        false => project.settings.of_untrusted_project(),
    };
    (project.over(user.settings), problems)
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    pub what: String,
    /// No loop starts with this file: it might be bounded less than its user believes.
    pub stops: bool,
}

/// The files of a project and its user that exist, each with what is wrong with it.
pub fn problems(project_root: &Path) -> Vec<(PathBuf, Vec<FileProblem>)> {
    let files = user_file().into_iter().chain([project_file(project_root)]);
    let seen = files.filter_map(|path| match load(&path) {
        Ok(None) => None,
        Ok(Some(loaded)) => Some((path, loaded.problems)),
        Err(error) => Some((path, Loaded::unusable(&error).problems)),
    });
    seen.collect()
}

/// Refuses a start with a file that cannot be used, or with a mistake in a section that bounds loops.
///
/// # Errors
/// With the file, the line, and the nearest key.
pub fn refuse_mistakes(project_root: &Path) -> Result<()> {
    let mut all = problems(project_root).into_iter().flat_map(|(_, problems)| problems);
    all.find(|one| one.stops).map_or(Ok(()), |one| Err(anyhow!(one.what)))
}

#[derive(Default)]
struct Loaded {
    text: String,
    settings: Settings,
    problems: Vec<FileProblem>,
}

impl Loaded {
    fn unusable(error: &anyhow::Error) -> Loaded {
        let what = format!("{error:#}").trim_end().to_owned();
        Loaded { problems: vec![FileProblem { what, stops: true }], ..Loaded::default() }
    }
}

fn load(path: &Path) -> Result<Option<Loaded>> {
    let Some(text) = text_of(path)? else { return Ok(None) };
    let describe = || format!("could not use `{}`", path.display());
    let mut table: toml::Table = toml::from_str(&text).with_context(describe)?;
    let unknown = unknown_keys(&serde_json::to_value(&table).with_context(describe)?);
    for one in &unknown {
        match one.section {
            "" => drop(table.remove(&one.key)),
            section => {
                drop(table.get_mut(section).and_then(|it| it.as_table_mut()?.remove(&one.key)))
            }
        }
    }
    // Without an unknown key, from the text: an error then names its line.
    let settings: Settings = match unknown.is_empty() {
        true => toml::from_str(&text).with_context(describe)?,
        false => table.try_into().with_context(describe)?,
    };
    if let Some(why) = settings.refused() {
        return Err(anyhow!(why)).with_context(describe);
    }
    let problems = unknown.iter().map(|one| {
        let dot = if one.section.is_empty() { "" } else { "." };
        let nearest = one.nearest.as_ref().map(|it| format!("; did you mean `{it}`?"));
        let (path, line) = (path.display(), line_of(&text, one).unwrap_or_default());
        let UnknownKey { section, key, .. } = one;
        let nearest = nearest.unwrap_or_default();
        let what = format!("`{path}`, line {line}: unknown key `{section}{dot}{key}`{nearest}");
        FileProblem { what, stops: one.is_strict() }
    });
    let problems = problems.collect();
    Ok(Some(Loaded { text, settings, problems }))
}

/// The line of a key, from 1.
fn line_of(text: &str, one: &UnknownKey) -> Option<usize> {
    let file = toml::de::DeTable::parse(text).ok()?.into_inner();
    let table = match one.section {
        "" => &file,
        section => file.get(section)?.get_ref().as_table()?,
    };
    let key = table.keys().find(|key| key.get_ref().as_ref() == one.key)?;
    Some(text.get(..key.span().start)?.matches('\n').count() + 1)
}

/// Reads the text of a settings file; `None` if it does not exist.
///
/// # Errors
/// If it is not a regular file, is too large, or is not text.
pub fn text_of(path: &Path) -> Result<Option<String>> {
    safe_read::text(path, LARGEST)
}

/// Records that the user has read this content of the project's file: the text that was shown, not
/// what the file holds now. A changed file must be trusted again.
pub fn trust(home: &Home, project_root: &Path, shown: &str) -> Result<()> {
    trust_file(home, &trust_key(project_root), shown)
}

/// As [`trust`], for another file of a project; `key` stands for its project and name.
pub fn trust_file(home: &Home, key: &Path, shown: &str) -> Result<()> {
    home.prepare()?;
    let record = record(home, key);
    user_files::make_folders(record.parent().unwrap_or(Path::new("/")), 0o700)?;
    atomic::write(&record, sha256(shown.as_bytes()).as_bytes())
}

/// True if the user has trusted exactly this content of the project's file.
pub fn is_trusted(home: &Home, project_root: &Path, content: &str) -> bool {
    is_file_trusted(home, &trust_key(project_root), content)
}

/// As [`is_trusted`], for another file of a project.
pub fn is_file_trusted(home: &Home, key: &Path, content: &str) -> bool {
    let seen = trusted_read::read(&record(home, key)).ok().flatten();
    seen.is_some_and(|seen| seen == sha256(content.as_bytes()).as_bytes())
}

/// Trust belongs to one project. Links to its folder are resolved, links to its file are not:
/// otherwise a repository could link to a file trusted for another project.
fn trust_key(project_root: &Path) -> PathBuf {
    project_file(&project_root.canonicalize().unwrap_or_else(|_| project_root.to_owned()))
}

fn record(home: &Home, key: &Path) -> PathBuf {
    home.root().join("trust").join(sha256(key.as_os_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::state::Completion;

    #[test]
    fn trust_holds_for_one_content_of_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let path = project_file(folder.path());
        std::fs::create_dir(folder.path().join(".claude")).unwrap();
        std::fs::write(&path, "completion = \"token\"\n").unwrap();
        let root = folder.path();
        let trusted = "completion = \"token\"\n";
        assert!(!is_trusted(&home, root, trusted));
        trust(&home, root, trusted).unwrap();
        assert!(is_trusted(&home, root, trusted));
        assert!(!is_trusted(&home, root, "completion = \"token\"\nmax_minutes = 3\n"));
        assert_eq!(read(&home, root).0.completion, Some(Completion::Token));
        std::fs::write(&path, "completion = \"token\"\nmax_minutes = 3\n").unwrap();
        assert_eq!(read(&home, root).0.completion, None);
    }

    #[test]
    fn a_link_to_what_another_project_trusts_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let [own, cloned] = ["own", "cloned"].map(|name| folder.path().join(name));
        std::fs::create_dir_all(own.join(".claude")).unwrap();
        std::fs::create_dir(&cloned).unwrap();
        std::fs::write(project_file(&own), "completion = \"token\"\n").unwrap();
        trust(&home, &own, "completion = \"token\"\n").unwrap();
        std::os::unix::fs::symlink(own.join(".claude"), cloned.join(".claude")).unwrap();
        assert_eq!(read(&home, &own).0.completion, Some(Completion::Token));
        assert_eq!(read(&home, &cloned).0.completion, None);
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_a_broken_file_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ralph.toml");
        let text =
            "max_minutes = 5\n\nmax_iteration = 3\n[sandbox]\nwrite = []\nread_denny = [\"/x\"]\n";
        std::fs::write(&path, text).unwrap();
        let loaded = load(&path).unwrap().unwrap();
        assert_eq!(loaded.settings.max_minutes, Some(5));
        let [top, sandbox] = &loaded.problems[..] else { panic!("{:?}", loaded.problems) };
        let at = |line: u32| format!("`{}`, line {line}: unknown key ", path.display());
        assert_eq!(top.what, at(3) + "`max_iteration`; did you mean `max_iterations`?");
        assert_eq!(sandbox.what, at(6) + "`sandbox.read_denny`; did you mean `read_deny`?");
        assert_eq!((top.stops, sandbox.stops), (false, true));
        std::fs::write(&path, "a = 1\nmax_minutes = \n").unwrap();
        let error = format!("{:#}", load(&path).err().unwrap());
        assert!(error.contains("line 2"), "{error}");
        std::fs::write(&path, "max_iterations = 0\n").unwrap();
        let error = format!("{:#}", load(&path).err().unwrap());
        assert!(error.ends_with("a whole number from 1 to 10000, not 0"), "{error}");
    }
}
