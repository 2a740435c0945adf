//! Messages about a loop, without figures that depend on how busy the machine is.

/// Removes the duration of a loop, such as ` after 3 s`, from a message.
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
