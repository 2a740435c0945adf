//! What a command copies, unpacks or applies as a patch: the files that it puts somewhere are named
//! by its source, and not by the line.

use super::paths::own_folder;
use super::readers::{is_short, only_reads};
use crate::guard::brought::{patched, stripped};
use crate::guard::places::{ProtectedPaths, ProtectedPlace};
use crate::shell::Simple;

/// A command that copies or moves a folder, or applies a patch or an archive.
pub(super) struct Brings {
    /// Folders and patches, as written in the line.
    pub(super) sources: Vec<String>,
    target: String,
    pub(super) kind: SourceKind,
    /// The patch, if it is part of the line itself.
    text: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum SourceKind {
    Folder,
    Patch,
    Archive,
}

pub(super) fn bringers(simple: &Simple) -> Option<Brings> {
    let words: Vec<&str> = simple.arguments().iter().map(|word| word.text.as_str()).collect();
    let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let folder = |recursive: bool| {
        let told = words
            .windows(2)
            .find(|pair| matches!(pair[0], "-t" | "--target-directory"))
            .map(|pair| pair[1]);
        let (last, sources) = plain.split_last()?;
        let (target, sources) = match told {
            Some(told) => (told, &plain[..]),
            None => (*last, sources),
        };
        recursive.then(|| Brings {
            sources: sources
                .iter()
                .filter(|word| **word != target)
                .map(|word| (*word).to_owned())
                .collect(),
            target: target.to_owned(),
            kind: SourceKind::Folder,
            text: None,
        })
    };
    match simple.name()? {
        "mv" | "rsync" | "ditto" => folder(true),
        "ln" => folder(words.iter().any(|word| *word == "--symbolic" || is_short(word, 's'))),
        "cp" => folder(words.iter().any(|word| {
            matches!(*word, "--recursive" | "--archive")
                || ['r', 'R', 'a'].iter().any(|letter| is_short(word, *letter))
        })),
        "tar" | "bsdtar" => {
            let takes_out =
                words.first().is_some_and(|word| !word.starts_with('-') && word.contains('x'))
                    || words.iter().any(|word| *word == "--extract" || is_short(word, 'x'));
            takes_out.then(|| archive(simple))
        }
        "unzip" | "7z" | "7za" | "cpio" | "unrar" | "pax" => Some(archive(simple)),
        "patch" => {
            let reads = words.contains(&"--dry-run");
            let input = words
                .windows(2)
                .find(|pair| matches!(pair[0], "-i" | "--input"))
                .map(|pair| pair[1]);
            let joined = words.iter().find_map(|word| {
                word.strip_prefix("--input=")
                    .or_else(|| word.strip_prefix("-i").filter(|rest| !rest.is_empty()))
            });
            (!reads)
                .then(|| patch_of(simple, input.or(joined).or(plain.get(1).copied()).into_iter()))
        }
        "git" => {
            let at = words.iter().position(|word| matches!(*word, "apply" | "am"))?;
            let only_looks = ["--stat", "--numstat", "--summary", "--check"];
            let ends = ["--abort", "--continue", "--skip", "--quit", "--show-current-patch"];
            let harmless = words.iter().any(|word| only_looks.contains(word))
                && !words.contains(&"--apply")
                || words.iter().any(|word| ends.contains(word));
            let valued =
                ["-p", "-C", "--directory", "--exclude", "--include", "--whitespace", "-d"];
            let operands = words[at + 1..].iter().enumerate().filter(|(place, word)| {
                !(word.starts_with('-') || *place > 0 && valued.contains(&words[at + *place]))
            });
            let is_first = words[..at].iter().all(|word| {
                word.starts_with('-')
                    || words
                        .windows(2)
                        .any(|pair| pair[1] == *word && matches!(pair[0], "-C" | "-c"))
            });
            (is_first && !harmless).then(|| patch_of(simple, operands.map(|(_, word)| *word)))
        }
        _ => None,
    }
}

fn archive(simple: &Simple) -> Brings {
    let target = own_folder(simple).unwrap_or(".").to_owned();
    Brings { sources: Vec::new(), target, kind: SourceKind::Archive, text: None }
}

fn patch_of<'a>(simple: &Simple, files: impl Iterator<Item = &'a str>) -> Brings {
    let mut sources: Vec<String> = files.filter(|file| *file != "-").map(str::to_owned).collect();
    if sources.is_empty() {
        let read = simple.redirects.iter().filter(|from| !from.writes);
        sources.extend(read.map(|from| from.target.text.clone()));
    }
    let text = simple.input.clone().filter(|_| sources.is_empty());
    let target = own_folder(simple).unwrap_or(".").to_owned();
    Brings { sources, target, kind: SourceKind::Patch, text }
}

impl Brings {
    pub(super) fn touches(
        &self,
        earlier: &[Simple],
        places: &ProtectedPaths,
        folders: &[&str],
    ) -> Option<ProtectedPlace> {
        match self.kind {
            SourceKind::Folder => self.folder(earlier, places, folders),
            SourceKind::Patch => self.patch(earlier, places, folders),
            // The contents of an archive are unknown, so none may be unpacked into these folders.
            SourceKind::Archive => self.puts_into_client(places, folders).or_else(|| {
                let target = (self.target != ".").then_some(self.target.as_str())?;
                folders.iter().find_map(|cwd| places.protected(target, cwd))
            }),
        }
    }

    fn puts_into_client(
        &self,
        places: &ProtectedPaths,
        folders: &[&str],
    ) -> Option<ProtectedPlace> {
        folders
            .iter()
            .any(|cwd| places.is_client(&self.target, cwd))
            .then_some(ProtectedPlace::HookSettings)
    }

    fn folder(
        &self,
        earlier: &[Simple],
        places: &ProtectedPaths,
        folders: &[&str],
    ) -> Option<ProtectedPlace> {
        for source in &self.sources {
            // Files that the same line puts into the source are not on the disk yet.
            let name = source.trim_end_matches(['/', '.']);
            let is_filled = earlier
                .iter()
                .filter(|from| !only_reads(from) || from.redirects.iter().any(|to| to.writes))
                .any(|from| {
                    let into = from.redirects.iter().filter(|to| to.writes).map(|to| &to.target);
                    from.arguments()
                        .iter()
                        .chain(into)
                        .any(|word| !name.is_empty() && word.text.contains(name))
                });
            let known = folders.iter().find_map(|cwd| {
                let from = places.absolute(source, cwd);
                places.brought.iter().find(|brought| brought.from == from)
            });
            let Some(known) = known.filter(|_| !is_filled) else {
                // The line creates or computes this source, so it may contain anything.
                if let Some(place) = self.puts_into_client(places, folders) {
                    return Some(place);
                }
                continue;
            };
            let name = name.rsplit('/').next().unwrap_or_default();
            for path in &known.paths {
                let found =
                    [format!("{}/{path}", self.target), format!("{}/{name}/{path}", self.target)]
                        .iter()
                        .find_map(|path| {
                            folders.iter().find_map(|cwd| places.protected(path, cwd))
                        });
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    fn patch(
        &self,
        earlier: &[Simple],
        places: &ProtectedPaths,
        folders: &[&str],
    ) -> Option<ProtectedPlace> {
        let mut paths: Vec<String> = Vec::new();
        for source in &self.sources {
            // If the line itself writes the patch, its text is in the line.
            let writer = earlier.iter().rev().find(|from| {
                from.redirects.iter().any(|to| to.writes && to.target.text == *source)
                    || from.base() == "tee"
                        && from.arguments().iter().any(|word| word.text == *source)
            });
            let on_disk = || {
                let known = folders.iter().find_map(|cwd| {
                    let from = places.absolute(source, cwd);
                    places.brought.iter().find(|brought| brought.from == from)
                });
                known.map(|brought| brought.paths.clone())
            };
            let held = match writer {
                Some(from) => from.input.as_deref().map(patched),
                None => on_disk(),
            };
            let Some(held) = held else { return Some(ProtectedPlace::Patched) };
            paths.extend(held);
        }
        match &self.text {
            Some(text) => paths.extend(patched(text)),
            None if self.sources.is_empty() => return Some(ProtectedPlace::Patched),
            None => {}
        }
        let below: Vec<String> =
            folders.iter().map(|cwd| format!("{cwd}/{}", self.target)).collect();
        let whole = |cwd: &str| {
            if self.target.starts_with(['/', '~']) { self.target.clone() } else { cwd.to_owned() }
        };
        paths.iter().flat_map(|path| stripped(path)).find_map(|path| {
            below.iter().map(String::as_str).chain(folders.iter().copied()).find_map(|cwd| {
                places.protected(path, cwd).or_else(|| places.protected(path, &whole(cwd)))
            })
        })
    }
}
