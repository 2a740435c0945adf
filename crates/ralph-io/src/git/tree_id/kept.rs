//! The file format of listings and digests: names without the prefix that they share with the
//! previous one, little-endian numbers, and a checksum at the end.

use xxhash_rust::xxh3::xxh3_128;

/// The length of the checksum.
const SEAL: usize = 16;

/// Begins a file with its format mark.
pub(super) fn begin(mark: &[u8]) -> Vec<u8> {
    mark.to_vec()
}

/// Writes bytes with their length in front.
pub(super) fn put(bytes: &mut Vec<u8>, some: &[u8]) {
    bytes.extend((some.len() as u64).to_le_bytes());
    bytes.extend(some);
}

/// Writes a name as the length of the prefix shared with the previous one, and the rest.
pub(super) fn put_name(bytes: &mut Vec<u8>, last: &[u8], name: &[u8]) {
    let shared = last.iter().zip(name).take_while(|(a, b)| a == b).count();
    let rest = &name[shared..];
    bytes.extend((shared as u32).to_le_bytes());
    bytes.extend((rest.len() as u32).to_le_bytes());
    bytes.extend(rest);
}

/// Appends the checksum.
pub(super) fn end(mut bytes: Vec<u8>) -> Vec<u8> {
    let seal = xxh3_128(&bytes);
    bytes.extend(seal.to_le_bytes());
    bytes
}

/// The bytes between the mark and the checksum; `None` unless both are right.
pub(super) fn open_sealed<'a>(bytes: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let inner = bytes.len().checked_sub(SEAL)?;
    let (body, seal) = bytes.split_at(inner);
    (xxh3_128(body).to_le_bytes() == seal).then_some(())?;
    body.strip_prefix(mark)
}

/// Reads values in order; `None` at the end of the bytes.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    last: (usize, usize),
}

impl<'a> Cursor<'a> {
    pub(super) fn at(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes, last: (0, 0) }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*first)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn numbers<const N: usize>(&mut self) -> Option<[i64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = i64::from_le_bytes(self.array()?);
        }
        Some(numbers)
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    /// Appends a name to `names`, which ends with the previous one, and returns its position.
    pub(super) fn name(&mut self, names: &mut Vec<u8>) -> Option<(usize, usize)> {
        let shared = u32::from_le_bytes(self.array()?) as usize;
        let length = u32::from_le_bytes(self.array()?) as usize;
        let rest = self.take(length)?;
        (shared <= self.last.1 - self.last.0).then_some(())?;
        let start = names.len();
        names.extend_from_within(self.last.0..self.last.0 + shared);
        names.extend_from_slice(rest);
        self.last = (start, names.len());
        Some(self.last)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(first)
    }
}
