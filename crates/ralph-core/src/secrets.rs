//! Which variables of the environment are secrets, told by their names.
//!
//! Two questions with two answers: the client's own secrets are taken away from a command that we
//! run, since no project needs them; the project's secrets stay, because its tests may need them,
//! but their values are not written into what is stored.

/// A shorter value is found in too many innocent places to be taken out of a text.
const SHORTEST_VALUE: usize = 6;

/// True for a variable of the client that gives access to its account or to its session.
pub fn is_clients_secret(name: &str) -> bool {
    let of_client = name.strip_prefix("CLAUDE_CODE_").unwrap_or_default();
    name.starts_with("ANTHROPIC_")
        || of_client.starts_with("MESSAGING_")
        || of_client.contains("TOKEN")
}

/// True for a variable whose value nobody wants to find in a file.
pub fn is_secret(name: &str) -> bool {
    ["_KEY", "_TOKEN", "_SECRET"].iter().any(|ending| name.ends_with(ending))
}

/// True if the value of this variable is to be taken out of a command's output.
///
/// A plain number among the client's variables is a setting (`CLAUDE_CODE_MAX_OUTPUT_TOKENS`), and
/// would be found in many a test's output.
pub fn is_redacted(name: &str, value: &[u8]) -> bool {
    let number = value.iter().all(u8::is_ascii_digit);
    value.len() >= SHORTEST_VALUE && (is_secret(name) || is_clients_secret(name) && !number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_what_the_table_says() {
        const TABLE: [(&str, bool, bool); 18] = [
            // name, the client's, a value to be redacted
            ("ANTHROPIC_API_KEY", true, true),
            ("ANTHROPIC_AUTH_TOKEN", true, true),
            ("ANTHROPIC_BASE_URL", true, false),
            ("CLAUDE_CODE_OAUTH_TOKEN", true, true),
            ("CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR", true, false),
            ("CLAUDE_CODE_MESSAGING_SOCKET", true, false),
            ("CLAUDE_CODE_MESSAGING_TOKEN", true, true),
            ("CLAUDE_CODE_SESSION_ID", false, false),
            ("CLAUDE_PROJECT_DIR", false, false),
            ("MY_ANTHROPIC_API_KEY", false, true),
            ("GITHUB_TOKEN", false, true),
            ("AWS_SECRET_ACCESS_KEY", false, true),
            ("STRIPE_SECRET", false, true),
            ("TOKEN", false, false),
            ("KEY", false, false),
            ("KEYBOARD", false, false),
            ("PATH", false, false),
            ("", false, false),
        ];
        for (name, clients, secret) in TABLE {
            assert_eq!((is_clients_secret(name), is_secret(name)), (clients, secret), "{name}");
        }
    }

    #[test]
    fn a_value_is_redacted_if_it_is_long_enough_to_be_told_from_other_text() {
        const TABLE: [(&str, &str, bool); 8] = [
            ("GITHUB_TOKEN", "ghp_12", true),
            ("GITHUB_TOKEN", "12345", false),
            ("GITHUB_TOKEN", "", false),
            ("GITHUB_TOKEN", "123456", true),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1", true),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "128000", false),
            ("CLAUDE_CODE_OAUTH_TOKEN", "128000x", true),
            ("PATH", "/usr/bin:/bin", false),
        ];
        for (name, value, expected) in TABLE {
            assert_eq!(is_redacted(name, value.as_bytes()), expected, "{name}={value}");
        }
    }
}
