//! Chance, where nothing depends on its quality: the pauses of processes that must not keep step.

use std::hash::{BuildHasher, RandomState};

/// A number from 0 to 1.
pub fn fraction() -> f64 {
    // The standard library seeds its hash maps from the system.
    let bits = RandomState::new().hash_one(std::process::id());
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_fraction_and_not_always_the_same() {
        let all: Vec<f64> = (0..64).map(|_| fraction()).collect();
        assert!(all.iter().all(|one| (0.0..1.0).contains(one)), "{all:?}");
        assert!(all.iter().any(|one| *one != all[0]), "{all:?}");
    }
}
