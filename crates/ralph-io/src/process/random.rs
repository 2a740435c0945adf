//! Random numbers where quality does not matter, such as the pauses of processes that must not run
//! in step.

use std::hash::{BuildHasher, RandomState};

/// A random number from 0 to 1.
pub fn fraction() -> f64 {
    // The standard library seeds its hash maps from the system.
    let bits = RandomState::new().hash_one(std::process::id());
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A new version 4 UUID, the form that the client requires for a session id.
pub fn uuid() -> String {
    // The standard library seeds its hash maps from the system and varies the seed for each.
    let [one, other] = [0_u8, 1].map(|part| RandomState::new().hash_one(part));
    let bits = (u128::from(one) << 64) | u128::from(other);
    let bits = bits & !(0xf << 76) | (4 << 76);
    let bits = bits & !(0x3 << 62) | (2 << 62);
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_form_and_no_other_is_like_it() {
        let all: std::collections::HashSet<String> = (0..1_000).map(|_| uuid()).collect();
        assert_eq!(all.len(), 1_000);
        for one in all {
            let parts: Vec<usize> = one.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{one}");
            let (version, variant) = (&one[14..15], &one[19..20]);
            assert!(version == "4" && "89ab".contains(variant), "{one}");
        }
    }

    #[test]
    fn it_is_a_fraction_and_not_always_the_same() {
        let all: Vec<f64> = (0..64).map(|_| fraction()).collect();
        assert!(all.iter().all(|one| (0.0..1.0).contains(one)), "{all:?}");
        assert!(all.iter().any(|one| *one != all[0]), "{all:?}");
    }
}
