//! The encodings in which a secret value may appear in output.

/// Returns encodings of the value and of its lines. For base64, returns the part that does not
/// depend on the bytes before and after the value.
pub(super) fn parts(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    if value.len() >= super::SHORTEST_ENCODED {
        for shift in 0..3 {
            let padded = [&b"\0\0"[..shift], value].concat();
            // Each letter holds six bits: the letters from `first` to `last` hold bits of the value
            // only.
            let first = (shift * 8).div_ceil(6);
            let last = padded.len() * 8 / 6;
            for alphabet in [STANDARD, URL] {
                let text = base64(&padded, alphabet);
                all.push(text.get(first..last.min(text.len())).unwrap_or_default().to_vec());
            }
        }
        let hex = crate::text::hex::hex(value);
        all.push(hex.to_uppercase().into_bytes());
        all.push(hex.into_bytes());
    }
    let percent = |all_of_it: bool| -> Vec<u8> {
        let letter = |byte: &u8| match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) => vec![*byte],
            b'/' | b':' | b'@' if !all_of_it => vec![*byte],
            byte => format!("%{byte:02X}").into_bytes(),
        };
        value.iter().flat_map(letter).collect()
    };
    all.extend([percent(true), percent(false)]);
    all.push(percent(true).to_ascii_lowercase());
    if let Ok(text) = std::str::from_utf8(value) {
        let quoted = serde_json::to_string(text).unwrap_or_default();
        let inner = quoted.trim_start_matches('"');
        all.push(inner.strip_suffix('"').unwrap_or(inner).as_bytes().to_vec());
    }
    if value.contains(&b'\n') {
        let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        all.extend(lines.filter(|line| line.len() >= 12).map(<[u8]>::to_vec));
    }
    all.sort();
    all.dedup();
    all.retain(|part| part != value && part.len() >= super::SHORTEST_ENCODED);
    all
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let mut text = Vec::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..=chunk.len() {
            text.push(alphabet[(bits >> (18 - 6 * letter) & 63) as usize]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_base64_whatever_stands_around_it() {
        let value = b"correct-horse-battery";
        let parts = parts(value);
        for before in ["", "u", "us", "user:", "{\"password\":\""] {
            for behind in ["", "\"", "\"}", "\n"] {
                let whole = [before.as_bytes(), value, behind.as_bytes()].concat();
                let text = String::from_utf8(base64(&whole, STANDARD)).unwrap();
                let is_found =
                    parts.iter().any(|part| text.contains(std::str::from_utf8(part).unwrap()));
                assert!(is_found, "{before} {behind} {text}");
            }
        }
    }
}
