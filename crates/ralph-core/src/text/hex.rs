//! Hexadecimal encoding and SHA-256 digests.

use sha2::{Digest, Sha256};

/// Two lower-case digits for each byte.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 digest in hexadecimal.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(Sha256::digest(bytes))
}
