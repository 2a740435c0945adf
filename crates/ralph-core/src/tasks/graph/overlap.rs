//! Which declared files two pieces of work have in common.
//!
//! A folder stands for everything in it. What is declared is a promise and no proof: work that
//! changes other files than it said is found when it is merged.

use std::collections::HashMap;

/// Files that are spoken for, and by whom.
#[derive(Debug, Default)]
pub struct ClaimedFiles<'a> {
    files: HashMap<String, &'a str>,
    /// The folders that taken files are in, each with one of whoever took them.
    inside: HashMap<String, &'a str>,
}

/// Someone else has a file already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// Who.
    pub with: String,
    /// The file that both declare, or the folder that one declares and in which the other's is.
    pub file: String,
}

impl<'a> ClaimedFiles<'a> {
    /// Takes the files for this one.
    pub fn take(&mut self, files: &[String], by: &'a str) {
        for file in files.iter().filter_map(|file| plain(file)) {
            for folder in above(&file) {
                self.inside.entry(folder.to_owned()).or_insert(by);
            }
            self.files.entry(file).or_insert(by);
        }
    }

    /// The first of the files that is taken already.
    pub fn clash(&self, files: &[String]) -> Option<Clash> {
        files.iter().filter_map(|file| plain(file)).find_map(|file| {
            let by = self.files.get(&file).or_else(|| self.inside.get(&file));
            let clash =
                |with: &str, file: &str| Clash { with: with.to_owned(), file: file.to_owned() };
            by.map(|by| clash(by, &file)).or_else(|| {
                above(&file).find_map(|folder| Some(clash(self.files.get(folder)?, folder)))
            })
        })
    }
}

/// A path as it is compared; none for one that names nothing.
fn plain(file: &str) -> Option<String> {
    let parts: Vec<&str> =
        file.trim().split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The folders that a path is in, the innermost first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/').map(|(folder, _)| folder), |folder| {
        folder.rsplit_once('/').map(|(folder, _)| folder)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(taken: &[&str], asked: &[&str], expected: Option<&str>) {
        let words =
            |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
        let mut all = ClaimedFiles::default();
        all.take(&words(taken), "T-1");
        let clash = all.clash(&words(asked));
        assert_eq!(
            clash.as_ref().map(|clash| clash.file.as_str()),
            expected,
            "{taken:?} {asked:?}"
        );
        assert!(clash.is_none_or(|clash| clash.with == "T-1"));
    }

    #[test]
    fn a_file_clashes_with_itself_and_with_the_folders_around_it() {
        check(&["src/a.rs"], &["src/a.rs"], Some("src/a.rs"));
        check(&["./src//a.rs"], &[" src/a.rs"], Some("src/a.rs"));
        check(&["src/"], &["src/deep/a.rs"], Some("src"));
        check(&["src/deep/a.rs"], &["src"], Some("src"));
        check(&["src/a.rs"], &["src/b.rs", "src/a"], None);
        check(&["a"], &["ab", "b/a"], None);
        check(&[], &["a"], None);
        check(&["", "."], &["", "."], None);
    }
}
