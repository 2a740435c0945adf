//! Identifies environment variables that hold secrets, by their names.
//!
//! The client's own secrets are removed from the environment of the commands that we run, since no
//! project needs them. The project's secrets stay, because its tests may need them, but their
//! values are redacted in everything that is stored.

/// A shorter value occurs in too many innocent places to be redacted.
const SHORTEST_VALUE: usize = 6;

/// True for a client variable that gives access to its account or its session.
pub fn is_clients_secret(name: &str) -> bool {
    let of_client = name.strip_prefix("CLAUDE_CODE_").unwrap_or_default();
    name.starts_with("ANTHROPIC_")
        || of_client.starts_with("MESSAGING_")
        || of_client.contains("TOKEN")
}

/// How a word of the name of a secret variable ends, anywhere in the name.
#[rustfmt::skip]
const WORDS: [&str; 17] = [
    "AUTHORIZATION", "BEARER", "CONNECTIONSTRING", "COOKIE", "CREDENTIAL", "CREDENTIALS", "CREDS", "DSN", "HMAC",
    "JWT", "KEY", "PASSCODE", "PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "TOKEN",
];

/// How else such a name ends.
#[rustfmt::skip]
const ENDINGS: [&str; 13] = [
    "BW_SESSION", "CONNECTION_STRING", "CONN_STR", "DATABASE_URL", "_AUTH", "_PASS", "_PAT", "_PW", "_PWD", "_SAS",
    "_SIG", "_URI", "_WEBHOOK",
];

/// True for a variable whose value must not appear in a file.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.any(|word| WORDS.iter().any(|end| word.ends_with(end)))
        || ENDINGS.iter().any(|end| name.ends_with(end))
}

/// True if the value of this variable must be redacted in command output.
///
/// A plain number in a client variable is a setting (`CLAUDE_CODE_MAX_OUTPUT_TOKENS`) and would
/// match in much test output.
pub fn is_redacted(name: &str, value: &[u8]) -> bool {
    let is_number = value.iter().all(u8::is_ascii_digit);
    // A path is only the location of a secret, and occurs in many lines.
    let is_path = value.starts_with(b"/")
        && value.iter().filter(|byte| **byte == b'/').count() > 1
        && !value.iter().any(|byte| matches!(byte, b'+' | b'='));
    value.len() >= SHORTEST_VALUE
        && (is_secret(name) && !is_path || is_clients_secret(name) && !is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_what_the_table_says() {
        const TABLE: [(&str, bool, bool); 27] = [
            // name, client secret, redacted value
            ("ANTHROPIC_API_KEY", true, true),
            ("ANTHROPIC_AUTH_TOKEN", true, true),
            ("ANTHROPIC_BASE_URL", true, false),
            ("CLAUDE_CODE_OAUTH_TOKEN", true, true),
            ("CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR", true, true),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", true, false),
            ("CLAUDE_CODE_MESSAGING_SOCKET", true, false),
            ("CLAUDE_CODE_MESSAGING_TOKEN", true, true),
            ("CLAUDE_CODE_SESSION_ID", false, false),
            ("CLAUDE_PROJECT_DIR", false, false),
            ("MY_ANTHROPIC_API_KEY", false, true),
            ("GITHUB_TOKEN", false, true),
            ("AWS_SECRET_ACCESS_KEY", false, true),
            ("STRIPE_SECRET", false, true),
            ("TOKEN", false, true),
            ("PGPASSWORD", false, true),
            ("DB_PASS", false, true),
            ("DATABASE_URL", false, true),
            ("db_password", false, true),
            ("SSH_AUTH_SOCK", false, false),
            ("GIT_ASKPASS", false, false),
            ("SECRET_KEY_BASE", false, true),
            ("OLDPWD", false, false),
            ("DESKTOP_SESSION", false, false),
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
        const TABLE: [(&str, &str, bool); 11] = [
            ("GITHUB_TOKEN", "ghp_12", true),
            ("GITHUB_TOKEN", "12345", false),
            ("GITHUB_TOKEN", "", false),
            ("GITHUB_TOKEN", "123456", true),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1", true),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "128000", false),
            ("CLAUDE_CODE_OAUTH_TOKEN", "128000x", true),
            ("PATH", "/usr/bin:/bin", false),
            ("TOKEN_FILE", "/run/secrets/token", false),
            ("DB_PASSWORD", "/ab/c+d=", true),
            ("PROXY", "http://me:hunter2@127.0.0.1", false),
        ];
        for (name, value, expected) in TABLE {
            assert_eq!(is_redacted(name, value.as_bytes()), expected, "{name}={value}");
        }
    }
}
