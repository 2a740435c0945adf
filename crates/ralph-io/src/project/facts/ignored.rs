//! The files that git ignores, by the rules of each folder from the top down, `info/exclude`, and
//! the user's own.
//!
//! The nearest rule that matches decides, as in git. Only git itself knows whether an ignored file
//! is tracked nonetheless, and it is not asked.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use crate::git::repository::{self, Repository};
use crate::project::confined;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

#[derive(Debug)]
pub(super) struct Ignored {
    top: PathBuf,
    repository: Option<Repository>,
    by_folder: RefCell<HashMap<PathBuf, Rc<Gitignore>>>,
    everywhere: OnceCell<[Rc<Gitignore>; 2]>,
}

/// The rules for the entries of one folder, the nearest first.
pub(super) struct Matchers(Vec<Rc<Gitignore>>);

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
        let mut rules: Vec<Rc<Gitignore>> =
            folders.map(|place| self.of_folder(place)).filter(|rules| !rules.is_empty()).collect();
        rules.extend(self.everywhere().iter().filter(|rules| !rules.is_empty()).cloned());
        Matchers(rules)
    }

    fn of_folder(&self, folder: &Path) -> Rc<Gitignore> {
        let known = self.by_folder.borrow().get(folder).cloned();
        known.unwrap_or_else(|| {
            let text = confined::text(&self.top, &folder.join(".gitignore"));
            let rules = Rc::new(rules(folder, text.as_deref().unwrap_or_default()));
            self.by_folder.borrow_mut().insert(folder.to_owned(), Rc::clone(&rules));
            rules
        })
    }

    /// The rules that apply to the whole repository.
    fn everywhere(&self) -> &[Rc<Gitignore>; 2] {
        self.everywhere.get_or_init(|| {
            let of_repository =
                self.repository.as_ref().and_then(|found| found.text("info/exclude"));
            let of_person = repository::persons_excludes();
            [of_repository, of_person]
                .map(|text| Rc::new(rules(&self.top, text.as_deref().unwrap_or_default())))
        })
    }
}

impl Matchers {
    pub(super) fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let decided = self.0.iter().map(|rules| rules.matched(path, is_folder));
        decided.into_iter().find(|decided| !decided.is_none()).is_some_and(|it| it.is_ignore())
    }
}

fn rules(folder: &Path, text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // Git also skips a line that is not a pattern.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
