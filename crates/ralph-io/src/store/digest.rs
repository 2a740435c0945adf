//! Digests of bytes and files.
//!
//! Evidence is identified by SHA-256. The journal identifies its inputs by a fast hash: a message
//! of a megabyte must not slow a stop down, and nobody gains from two payloads with the same hash.

use ralph_core::text::hex::hex;
use sha2::{Digest, Sha256};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

/// Hashes bytes: `xxh3:` and 32 hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    format!("xxh3:{:032x}", xxh3_128(bytes))
}

/// SHA-256 of a regular file, in hexadecimal digits; empty if the file cannot be read.
pub fn of_file(path: &Path) -> String {
    if !path.metadata().is_ok_and(|about| about.is_file()) {
        return String::new();
    }
    let Ok(mut file) = std::fs::File::open(path) else { return String::new() };
    let mut hash = Sha256::new();
    match std::io::copy(&mut file, &mut hash) {
        Ok(_) => hex(hash.finalize()),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_digest_that_others_compute() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_file(&path), expected);
        assert_eq!(of_file(&folder.path().join("none")), "");
        assert_eq!(of_file(folder.path()), "");
    }
}
