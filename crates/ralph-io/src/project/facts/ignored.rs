//! The files that git ignores, by the rules of each folder from the top down, `info/exclude`, and
//! the user's own.
//!
//! The nearest rule that matches decides, as in git. Only git itself knows whether an ignored file
//! is tracked nonetheless, and it is not asked.

use crate::git::repository::{self, Repository};
use crate::project::confined;
use ralph_core::text::globs::IgnoreRules;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

#[derive(Debug)]
pub(super) struct Ignored {
    top: PathBuf,
    repository: Option<Repository>,
    by_folder: RefCell<BTreeMap<PathBuf, Rc<FolderRules>>>,
    everywhere: OnceCell<[Rc<FolderRules>; 2]>,
}

/// The rules of one file, for the paths below this folder.
#[derive(Debug)]
struct FolderRules {
    folder: PathBuf,
    lines: IgnoreRules,
}

impl FolderRules {
    fn of(folder: &Path, text: Option<&str>) -> FolderRules {
        let lines = text.map(IgnoreRules::parse).unwrap_or_default();
        FolderRules { folder: folder.to_owned(), lines }
    }
}

/// The rules for the entries of one folder, the nearest first.
pub(super) struct Matchers(Vec<Rc<FolderRules>>);

impl Ignored {
    pub(super) fn below(top: &Path, repository: Option<Repository>) -> Ignored {
        Ignored {
            top: top.to_owned(),
            repository,
            by_folder: RefCell::default(),
            everywhere: OnceCell::new(),
        }
    }

    /// True if the folder, or one between it and `from`, is ignored.
    pub(super) fn is_below_ignored(&self, folder: &Path, from: &Path) -> bool {
        let between = folder.ancestors().take_while(|place| *place != from && *place != self.top);
        between.into_iter().any(|place| match place.parent() {
            Some(above) => self.matchers_for(above).ignore(place, true),
            None => false,
        })
    }

    pub(super) fn matchers_for(&self, folder: &Path) -> Matchers {
        let folders = folder.ancestors().take_while(|place| place.starts_with(&self.top));
        let mut rules: Vec<Rc<FolderRules>> = folders
            .map(|place| self.of_folder(place))
            .filter(|rules| !rules.lines.is_empty())
            .collect();
        rules.extend(self.everywhere().iter().filter(|rules| !rules.lines.is_empty()).cloned());
        Matchers(rules)
    }

    fn of_folder(&self, folder: &Path) -> Rc<FolderRules> {
        let known = self.by_folder.borrow().get(folder).cloned();
        known.unwrap_or_else(|| {
            let text = confined::text(&self.top, &folder.join(".gitignore"));
            let rules = Rc::new(FolderRules::of(folder, text.as_deref()));
            self.by_folder.borrow_mut().insert(folder.to_owned(), Rc::clone(&rules));
            rules
        })
    }

    /// The rules that apply to the whole repository.
    fn everywhere(&self) -> &[Rc<FolderRules>; 2] {
        self.everywhere.get_or_init(|| {
            let of_repository =
                self.repository.as_ref().and_then(|found| found.text("info/exclude"));
            let of_person = repository::persons_excludes();
            [of_repository, of_person]
                .map(|text| Rc::new(FolderRules::of(&self.top, text.as_deref())))
        })
    }
}

impl Matchers {
    pub(super) fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let decided = self.0.iter().find_map(|rules| {
            let below = path.strip_prefix(&rules.folder).ok()?;
            rules.lines.decide(below.as_os_str().as_bytes(), is_folder)
        });
        decided == Some(true)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::process::{Command, Stdio};

    const LETTERS: [&str; 17] =
        ["a", "b", "a", "b", "*", "*", "**", "?", "/", "/", "[", "]", "!", "-", "^", "\\", " "];
    const PARTS: [&str; 12] = [
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-b]",
        "[]a]",
        "[[:alpha:]]",
        "[[:x:]]",
        "/**/",
        "**/",
        "/**",
        "\\*",
        "[a/b]",
    ];

    /// A pattern that is mostly letters of the names below, by a generator of pseudo-random numbers.
    fn pattern(seed: &mut u64) -> String {
        let mut below = |most: usize| {
            *seed ^= *seed << 13;
            *seed ^= *seed >> 7;
            *seed ^= *seed << 17;
            usize::try_from(*seed % most as u64).unwrap()
        };
        let mut text = ["", "", "", "!", "/", "\\", "#"][below(7)].to_owned();
        for _ in 0..=below(5) {
            text += match below(4) {
                0 => PARTS[below(PARTS.len())],
                _ => LETTERS[below(LETTERS.len())],
            };
        }
        text += ["", "", "", "/", " ", "\\ "][below(6)];
        // Nobody escapes a slash, and git reads `**\/` in a way of its own.
        text.replace("\\/", "/")
    }

    #[test]
    fn git_ignores_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.arg("-C").arg(&top).args(["-c", "core.excludesFile="]).args(arguments);
            command
        };
        assert!(git(&["init", "-q"]).status().unwrap().success());
        let mut paths = Vec::new();
        for name in ["a", "b", "ab", "ba", "a b", "a ", "*", "!a", "-", "]", "[a", "\u{e9}", "#a"] {
            paths.extend([name.to_owned(), format!("d/{name}"), format!("a.d/b/{name}")]);
        }
        for path in &paths {
            fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
            fs::write(top.join(path), "").unwrap();
        }
        for folder in ["d", "a.d", "a.d/b", "bb", "bb/a", "bb/a/a"] {
            fs::create_dir_all(top.join(folder)).unwrap();
            paths.push(folder.to_owned());
        }
        let mut seed = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..400 {
            let text = format!("{}\n{}\n", pattern(&mut seed), pattern(&mut seed));
            fs::write(top.join(".gitignore"), &text).unwrap();
            let mut asked = git(&["check-ignore", "--no-index", "--stdin", "-z"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            asked.stdin.take().unwrap().write_all(paths.join("\0").as_bytes()).unwrap();
            let answer = asked.wait_with_output().unwrap().stdout;
            let theirs: Vec<&str> =
                std::str::from_utf8(&answer).unwrap().split_terminator('\0').collect();
            let ignored = Ignored::below(&top, None);
            let is_ignored = |path: &&&String| {
                let place = top.join(path);
                let is_folder = place.is_dir();
                ignored.is_below_ignored(place.parent().unwrap(), &top)
                    || ignored.matchers_for(place.parent().unwrap()).ignore(&place, is_folder)
            };
            let ours: Vec<&String> = paths.iter().filter(|path| is_ignored(&path)).collect();
            assert_eq!(ours, theirs, "{text:?}");
        }
    }
}
