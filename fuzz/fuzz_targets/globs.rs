//! Patterns of `paths` and `receipt_ignore`, against a slow reference. Input: pattern, path, folder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::globs;
use ralph_fuzz::parts;

type Names<'a> = Vec<&'a [u8]>;

fn names(path: &[u8]) -> Names<'_> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect()
}

fn letter(bytes: &[u8]) -> usize {
    let wanted = match bytes[0] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    wanted.min(bytes.len())
}

/// By its definition, in any time that it takes.
fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|at| name_matches(rest, &name[at..])),
        Some((b'?', rest)) => !name.is_empty() && name_matches(rest, &name[letter(name)..]),
        Some((byte, rest)) => name.first() == Some(byte) && name_matches(rest, &name[1..]),
    }
}

/// The numbers of names of the path that the pattern can take from its beginning.
fn takes(pattern: &[&[u8]], path: &[&[u8]]) -> Vec<usize> {
    let Some((first, rest)) = pattern.split_first() else { return vec![0] };
    let steps: Vec<usize> = match *first == b"**" {
        true => (0..=path.len()).collect(),
        false => (1..=path.len()).take(1).filter(|_| name_matches(first, path[0])).collect(),
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
    if pattern.len() > 40 || path.len() > 60 || costly {
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
