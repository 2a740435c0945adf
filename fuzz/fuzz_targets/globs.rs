//! Patterns of `paths` and `receipt_ignore`, against a slow reference. Input: pattern, path, folder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::text::globs;
use ralph_fuzz::parts;

type Names<'a> = Vec<&'a [u8]>;

fn names(path: &[u8]) -> Names<'_> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect()
}

/// By its definition, in any time that it takes.
fn name_matches(pattern: &[char], name: &[char]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some(('*', rest)) => (0..=name.len()).any(|at| name_matches(rest, &name[at..])),
        Some(('?', rest)) => !name.is_empty() && name_matches(rest, &name[1..]),
        Some((letter, rest)) => name.first() == Some(letter) && name_matches(rest, &name[1..]),
    }
}

fn letters(name: &[u8]) -> Vec<char> {
    String::from_utf8_lossy(name).chars().collect()
}

/// The numbers of names of the path that the pattern can take from its beginning.
fn takes(pattern: &[&[u8]], path: &[&[u8]]) -> Vec<usize> {
    let Some((first, rest)) = pattern.split_first() else { return vec![0] };
    let steps: Vec<usize> = match *first == b"**" {
        true => (0..=path.len()).collect(),
        false => (1..=path.len())
            .take(1)
            .filter(|_| name_matches(&letters(first), &letters(path[0])))
            .collect(),
    };
    steps
        .into_iter()
        .flat_map(|step| takes(rest, &path[step..]).into_iter().map(move |more| step + more))
        .collect()
}

fn holds(pattern: &[u8], path: &[u8]) -> bool {
    let only_folders = pattern.ends_with(b"/");
    let bare = pattern.strip_suffix(b"/").unwrap_or(pattern);
    if only_folders && bare == path {
        return false;
    }
    // Word for word, for a name that has a star in it.
    let below = path
        .strip_prefix(bare)
        .is_some_and(|rest| bare.is_empty() || rest.is_empty() || rest[0] == b'/');
    let names_of_path = names(path);
    let taken = takes(&names(bare), &names_of_path);
    below || taken.iter().any(|taken| *taken < names_of_path.len() || !only_folders)
}

fuzz_target!(|data: &[u8]| {
    let [pattern, path, base] = parts(data);
    let costly = pattern.iter().filter(|byte| **byte == b'*').count() > 6;
    // What a letter is, only UTF-8 says; a file may have another name all the same.
    let is_text = std::str::from_utf8(pattern).and(std::str::from_utf8(path)).is_ok();
    if pattern.len() > 40 || path.len() > 60 || costly || !is_text {
        globs::holds(pattern, path);
        globs::ignores(pattern, path);
        return;
    }
    assert_eq!(globs::holds(pattern, path), holds(pattern, path));
    let inner = pattern.strip_suffix(b"/").unwrap_or(pattern);
    let ignored = match pattern.strip_prefix(b"/") {
        Some(from_top) => holds(from_top, path),
        None if inner.is_empty() => false,
        None if inner.contains(&b'/') => holds(pattern, path),
        None => holds(&[b"**/", pattern].concat(), path),
    };
    assert_eq!(globs::ignores(pattern, path), ignored);
    if let Some(top) = globs::from_top(base, pattern) {
        let parts_of_base = names(base);
        assert!(parts_of_base.contains(&&b".."[..]) || !names(&top).contains(&&b".."[..]));
    }
});
