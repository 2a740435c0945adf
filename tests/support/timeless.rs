//! What is said of a loop, without what depends on how busy the machine is.

/// A message without how long the loop took, which depends on how busy the machine is.
pub fn without_time(text: &str) -> String {
    let mut parts = text.split(" after ");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match (digits.len() < part.len()).then(|| digits.strip_prefix(" s")).flatten() {
            Some(following) => rest.push_str(following),
            None => rest.push_str(&format!(" after {part}")),
        }
    }
    rest
}
