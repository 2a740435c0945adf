//! Finds declared files that two pieces of work share.
//!
//! A folder stands for everything in it. A declaration is a promise, not a proof: work that changes
//! undeclared files is found when it is merged.

use std::collections::HashMap;

/// Claimed files, each with its owner.
#[derive(Debug, Default)]
pub struct ClaimedFiles<'a> {
    files: HashMap<String, &'a str>,
    /// The folders that contain claimed files, each with the owner of one of the files.
    inside: HashMap<String, &'a str>,
}

/// A file that another owner has already claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The other owner.
    pub with: String,
    /// The file that both declare, or the declared folder that contains the other's file.
    pub file: String,
}

impl<'a> ClaimedFiles<'a> {
    /// Claims the files for this owner.
    pub fn take(&mut self, files: &[String], by: &'a str) {
        for file in files.iter().filter_map(|file| plain(file)) {
            for folder in above(&file) {
                self.inside.entry(folder.to_owned()).or_insert(by);
            }
            self.files.entry(file).or_insert(by);
        }
    }

    /// The first of the files that is already claimed.
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

/// Normalises a path for comparison; `None` if it names nothing.
fn plain(file: &str) -> Option<String> {
    let parts: Vec<&str> =
        file.trim().split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The folders that contain a path, innermost first.
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
