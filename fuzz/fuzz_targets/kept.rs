//! Files of ours that hold digests: listings of trees, and what was read before. A seal keeps
//! accidents away; this looks behind it. Input: what stands between the mark and the seal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_fuzz::{folder, write};
use ralph_io::git::tree_id::Listing;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

fn sealed(mark: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = [mark, body].concat();
    bytes.extend(xxh3_128(&bytes).to_le_bytes());
    bytes
}

fn load(path: &Path, bytes: &[u8]) -> Option<Listing> {
    write(path, bytes);
    Listing::load(path).ok().flatten()
}

fuzz_target!(|body: &[u8]| {
    let path = folder().join("listing");
    let whole = sealed(b"ralph-listing-1\n", body);
    if let Some(listing) = load(&path, &whole) {
        assert!(listing.len() <= body.len(), "no more files than bytes");
        assert!(listing.changed_since(&listing).is_empty());
        let empty = Listing::default();
        for path in empty.changed_since(&listing) {
            assert!(!path.chars().any(char::is_control), "{path:?}");
        }
        listing.save(&path).expect("it can be kept");
        let again = Listing::load(&path).expect("and read").expect("it is there");
        assert_eq!((again.id(), again.len()), (listing.id(), listing.len()));
        let mut torn = whole.clone();
        torn.pop();
        assert!(load(&path, &torn).is_none(), "without its seal it is nothing");
    }
    let digests = sealed(b"ralph-digests-1\n", body);
    let remembered = ralph_io::store::fuzzing::remembered(&digests, Path::new("/p"));
    assert!(remembered.is_none_or(|count| count <= body.len()));
});
