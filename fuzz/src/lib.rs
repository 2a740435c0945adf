//! What the targets share: how an input is parted, and how values are compared.

use serde_json::Value;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Parts an input stands in where a target needs several: a letter that no text of ours has
/// ("record separator"), so that a person can read and write the stored inputs.
pub const BETWEEN: u8 = 0x1e;

/// The parts of an input; the last has all the rest, and absent ones are empty.
pub fn parts<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut pieces = data.splitn(N, |byte| *byte == BETWEEN);
    std::array::from_fn(|_| pieces.next().unwrap_or_default())
}

/// As [`parts`], as text.
pub fn texts<const N: usize>(data: &[u8]) -> [Cow<'_, str>; N] {
    parts(data).map(String::from_utf8_lossy)
}

/// The same bytes cut in other places: whole, in two at several places, and byte by byte where
/// that is cheap.
pub fn cuts(data: &[u8]) -> Vec<Vec<&[u8]>> {
    let places = [1, data.len() / 3, data.len() / 2, data.len().saturating_sub(1)];
    let mut ways = vec![vec![data]];
    ways.extend(places.into_iter().filter_map(|at| {
        let (head, tail) = data.split_at_checked(at)?;
        Some(vec![head, tail])
    }));
    if data.len() <= 512 {
        ways.push(data.chunks(1).collect());
    }
    ways
}

/// A private folder of this process. Whoever runs the target removes it with its `TMPDIR`.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("ralph-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        path
    })
}

/// Writes a file that nobody else may write, as Ralph asks for.
pub fn write(path: &Path, bytes: &[u8]) {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written =
        options.open(path).and_then(|mut file| std::io::Write::write_all(&mut file, bytes));
    written.expect("a temporary file can be written");
}

/// Equal, with fractions as near as a reader that favours speed takes them.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            a == b
                || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b))
                    if (a - b).abs() <= a.abs().max(b.abs()) * 1e-12)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => one == other,
    }
}

/// True if a text may go to a terminal: no control character but line feed and tab.
pub fn is_plain(text: &str) -> bool {
    text.chars().all(|letter| matches!(letter, '\n' | '\t') || !letter.is_control())
}
