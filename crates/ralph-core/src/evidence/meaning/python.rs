//! Python: modules that shadow a runner's own, tox and nox, and pytest hooks.

use super::resolve::{At, Resolver, upwards};
use super::text::{self, join};
use super::{Weight, tasks};
use serde_json::Value;

/// Modules that the runners import. A module of the same name in Python's working folder shadows
/// them.
const IMPORTED: &str = "unittest pytest _pytest pluggy iniconfig nose nose2 tox nox coverage django \
    sitecustomize usercustomize abc argparse ast asyncio atexit base64 bdb bisect builtins cmd code \
    codecs collections concurrent configparser contextlib contextvars copy copyreg csv dataclasses \
    datetime decimal difflib dis doctest email encodings enum errno faulthandler fnmatch fractions \
    functools gc genericpath getopt getpass gettext glob hashlib heapq html importlib inspect io \
    itertools json keyword linecache locale logging math mimetypes multiprocessing numbers opcode \
    operator os packaging pathlib pdb pickle pkgutil platform posix posixpath pprint py pygments \
    queue random re reprlib runpy selectors shlex shutil signal site socket sre_compile \
    sre_constants sre_parse stat string struct subprocess sys sysconfig tempfile termios textwrap \
    threading time timeit token tokenize tomllib traceback types typing unicodedata urllib uuid \
    warnings weakref xml zipfile zipimport exceptiongroup tomli attr";

/// `python3 -m unittest`, `python3 check.py`
pub(super) fn follow(resolver: &mut Resolver<'_>, words: &[&str], at: &At) {
    let mut rest = words.iter().enumerate().skip(1);
    while let Some((position, word)) = rest.next() {
        match *word {
            "-m" => {
                shadows(resolver, &at.folder);
                let module = words.get(position + 1..).unwrap_or_default();
                return resolver.command(module, at);
            }
            "-c" => {
                if words.iter().any(|word| word.contains("unittest") || word.contains("pytest")) {
                    shadows(resolver, &at.folder);
                }
                return;
            }
            "-W" | "-X" => drop(rest.next()),
            _ if word.starts_with('-') => {}
            script => {
                let folder = script.rsplit_once('/').map_or("", |(folder, _)| folder);
                if let Some(folder) = join(&at.folder, folder) {
                    shadows(resolver, &folder);
                }
                return resolver.script(script, at);
            }
        }
    }
}

/// Records files in a folder that shadow the modules of a runner.
pub(super) fn shadows(resolver: &mut Resolver<'_>, folder: &str) {
    if !resolver.is_first(&format!("shadows in {folder}")) {
        return;
    }
    for name in resolver.names(folder) {
        let Some(path) = join(folder, &name) else { continue };
        let module = name.split('.').next().unwrap_or(&name);
        let ending = name.strip_prefix(module).unwrap_or_default();
        let is_code =
            ending == ".py" || ending == ".pyc" || ending.ends_with(".so") || ending.is_empty();
        if is_code && IMPORTED.split_whitespace().any(|one| one == module) {
            let is_folder = ending.is_empty();
            let inner = if is_folder { join(&path, "__init__.py") } else { Some(path.clone()) };
            let told = inner.and_then(|path| resolver.text(&path)).unwrap_or_default();
            // A folder without code, such as `coverage/`, is imported only if nothing else matches.
            if is_folder
                && told.is_empty()
                && !resolver.names(&path).iter().any(|name| name == "__init__.py")
            {
                continue;
            }
            let what = format!("`{path}`, which stands in the way of Python's module `{module}`,");
            resolver.meaning.add(what, Weight::Shadow, Some(text::indented(&told, "#")));
        } else if name.ends_with(".egg-info") || name.ends_with(".dist-info") {
            let entry = join(&path, "entry_points.txt").and_then(|path| resolver.text(&path));
            if entry.as_ref().is_some_and(|text| text.contains("pytest11")) {
                resolver.meaning.add(
                    format!("plugin of pytest in `{path}`"),
                    Weight::Shadow,
                    entry,
                );
            }
        }
    }
}

/// Records the parts of a `conftest.py` that decide which tests count; fixtures do not.
pub(super) fn hooks_of_pytest(resolver: &mut Resolver<'_>, folder: &str) {
    let mut folders = upwards(folder);
    for name in ["tests", "test", "testing", "src"] {
        folders.extend(join(folder, name));
    }
    for folder in folders {
        let Some(path) = join(&folder, "conftest.py") else { continue };
        let Some(source) = resolver.text(&path) else { continue };
        let mut told = String::new();
        let mut inside = false;
        for line in source.lines() {
            if !line.starts_with([' ', '\t', ')']) && !line.trim().is_empty() {
                let names =
                    ["def pytest_", "async def pytest_", "collect_ignore", "pytest_plugins"];
                let leaves = ["exit(", "pytest.skip", "importorskip", "abort("];
                inside = names.iter().any(|name| line.starts_with(name))
                    || leaves.iter().any(|word| line.contains(word));
            }
            // A fixture has no reason to exit in the middle of a run.
            if inside
                || ["sys.exit(", "os._exit(", "pytest.exit("].iter().any(|word| line.contains(word))
            {
                told.push_str(line);
                told.push('\n');
            }
        }
        // Options that a plugin adds, and its reports, do not change what is proven.
        if !told.is_empty() {
            let told = text::indented(&told, "#");
            resolver.meaning.add(format!("hooks in {path}"), Weight::Frozen, Some(told));
        }
    }
}

/// Keys of tox about installation and output.
const OF_TOX: [&str; 12] = [
    "deps",
    "description",
    "requires",
    "minversion",
    "min_version",
    "isolated_build",
    "extras",
    "package",
    "wheel_build_env",
    "labels",
    "passenv",
    "pass_env",
];

/// `tox`, `tox -e py`
pub(super) fn tox(resolver: &mut Resolver<'_>, at: &At) {
    for (name, prefix) in [("tox.ini", ""), ("setup.cfg", "tox:")] {
        let Some(path) = join(&at.folder, name) else { continue };
        let Some(text) = resolver.text(&path) else { continue };
        sections_of_tox(resolver, &path, &text, prefix, at);
    }
    for name in ["tox.toml", "pyproject.toml"] {
        let Some(path) = join(&at.folder, name) else { continue };
        let Some(all) = resolver.toml(&path) else { continue };
        let tox = if name == "tox.toml" { all } else { all["tool"]["tox"].clone() };
        if let Some(legacy) = tox["legacy_tox_ini"].as_str() {
            sections_of_tox(resolver, &path, legacy, "", at);
        } else if let Some(told) = text::value(&tox, &OF_TOX) {
            resolver.meaning.add(format!("tox in {path}"), Weight::Frozen, Some(told));
            commands_within(resolver, &tox, at);
        }
    }
}

fn sections_of_tox(resolver: &mut Resolver<'_>, path: &str, text: &str, prefix: &str, at: &At) {
    for (section, keys) in text::ini(text) {
        let bare = section.strip_prefix(prefix).unwrap_or(&section);
        if !(bare == "tox" || bare.starts_with("testenv")) {
            continue;
        }
        let kept: Vec<&(String, String)> =
            keys.iter().filter(|(key, _)| !OF_TOX.contains(&key.as_str())).collect();
        let told: Vec<String> = kept.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if !told.is_empty() {
            let weight =
                if bare == "testenv" || bare == "tox" { Weight::Frozen } else { Weight::Grows };
            resolver.meaning.add(format!("`[{section}]` of {path}"), weight, Some(told.join("\n")));
        }
        for (_, value) in kept.iter().filter(|(key, _)| key.starts_with("commands")) {
            for line in value.lines() {
                let line = line
                    .trim()
                    .trim_start_matches("- ")
                    .split("{posargs")
                    .next()
                    .unwrap_or_default();
                let line = line.replace("{envpython}", "python").replace("{toxinidir}/", "");
                resolver.line(&line, &at.deeper(&at.folder));
            }
        }
    }
}

/// Follows every command below such a key, given as a list of words or as a string.
pub(super) fn commands_within(resolver: &mut Resolver<'_>, value: &Value, at: &At) {
    match value {
        Value::String(line) => resolver.line(line, &at.deeper(&at.folder)),
        Value::Array(parts) => {
            let words: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
            match words {
                Some(words) if !words.iter().any(|word| word.contains(' ')) => {
                    resolver.line(&words.join(" "), &at.deeper(&at.folder));
                }
                _ => parts.iter().for_each(|part| commands_within(resolver, part, at)),
            }
        }
        Value::Object(members) => {
            members.values().for_each(|part| commands_within(resolver, part, at));
        }
        _ => {}
    }
}

/// `nox -s tests`: each nox session is a function.
pub(super) fn nox(resolver: &mut Resolver<'_>, words: &[&str], at: &At) {
    let file =
        words.windows(2).find(|pair| matches!(pair[0], "-f" | "--noxfile")).map(|pair| pair[1]);
    let Some(path) = join(&at.folder, file.unwrap_or("noxfile.py")) else { return };
    let Some(source) = resolver.text(&path) else {
        return resolver.meaning.add(format!("sessions of {path}"), Weight::Frozen, None);
    };
    tasks::functions(resolver, &path, &source, "session", Weight::Grows);
    for line in source.lines().filter(|line| line.contains("session.run(")) {
        let inside = line.split("session.run(").nth(1).unwrap_or_default();
        let words: Vec<&str> = inside.split(['"', '\'']).skip(1).step_by(2).collect();
        resolver.command(&words, &at.deeper(&at.folder));
    }
}
