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

/// Substrings of the names of secret variables.
const PARTS: [&str; 18] = [
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "SECRET",
    "TOKEN",
    "CREDENTIAL",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CONNECTION_STRING",
    "CONNECTIONSTRING",
    "CONN_STR",
    "COOKIE",
    "AUTHORIZATION",
    "DATABASE_URL",
    "BEARER",
];

/// Suffixes of such names, and whole names.
const ENDINGS: [&str; 22] = [
    "_KEY", "_PASS", "_PWD", "_PW", "_AUTH", "_DSN", "_SESSION", "_JWT", "_SIG", "_SAS", "_URI",
    "PASS", "AUTH", "DSN", "JWT", "KEY", "SESSION", "_PAT", "_CREDS", "_HMAC", "_SALT", "_WEBHOOK",
];

/// Suffixes of variables that hold the location of a secret, or a fact about one.
const ABOUT: [&str; 23] = [
    "_DESCRIPTOR",
    "_FILE",
    "_PATH",
    "_DIR",
    "_SOCK",
    "_HELPER",
    "_PROGRAM",
    "_NAME",
    "_TYPE",
    "_TTL",
    "_EXPIRY",
    "_EXPIRES",
    "_EXPIRATION",
    "_LENGTH",
    "_COUNT",
    "_LIMIT",
    "_ENDPOINT",
    "_HOST",
    "_PORT",
    "_ENABLED",
    "ASKPASS",
    "_ALGORITHM",
    "_TOKENS",
];

/// Variables that only look secret.
const NONE: [&str; 7] = [
    "PWD",
    "OLDPWD",
    "DESKTOP_SESSION",
    "GDMSESSION",
    "GNOME_SHELL_SESSION_MODE",
    "KEY",
    "SSH_AUTH_SOCK",
];

/// Common values that protect nothing: redacting them would make output unreadable.
const COMMON: [&str; 20] = [
    "postgres",
    "password",
    "mysql",
    "admin",
    "secret",
    "changeme",
    "example",
    "default",
    "guest",
    "minioadmin",
    "localhost",
    "docker",
    "development",
    "production",
    "disabled",
    "enabled",
    "testing",
    "gnome",
    "plasma",
    "ubuntu",
];

/// True for a variable whose value must not appear in a file.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_about =
        NONE.contains(&name.as_str()) || ABOUT.iter().any(|ending| name.ends_with(ending));
    let is_named = |ending: &&str| match ending.starts_with('_') {
        true => name.ends_with(*ending),
        false => name == **ending || name.strip_prefix("PG").is_some_and(|rest| rest == *ending),
    };
    !is_about && (PARTS.iter().any(|part| name.contains(part)) || ENDINGS.iter().any(is_named))
}

/// True if the value of this variable must be redacted in command output.
///
/// A plain number in a client variable is a setting (`CLAUDE_CODE_MAX_OUTPUT_TOKENS`) and would
/// match in much test output. An address with a password is secret whatever the name of the
/// variable.
pub fn is_redacted(name: &str, value: &[u8]) -> bool {
    let number = value.iter().all(u8::is_ascii_digit);
    let is_common = COMMON.iter().any(|common| value.eq_ignore_ascii_case(common.as_bytes()));
    // A path is only the location of a secret, and occurs in many lines.
    let is_path = value.starts_with(b"/")
        && value.iter().filter(|byte| **byte == b'/').count() > 1
        && !value.iter().any(|byte| matches!(byte, b'+' | b'='));
    let is_named = is_secret(name) && !is_path && !is_common;
    value.len() >= SHORTEST_VALUE
        && (is_named || is_clients_secret(name) && !number || has_password(value))
}

/// True for an address with a user name and a password before the host.
fn has_password(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let Some((_, rest)) = text.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
    host.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_what_the_table_says() {
        const TABLE: [(&str, bool, bool); 25] = [
            // name, client secret, redacted value
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
            ("TOKEN", false, true),
            ("PGPASSWORD", false, true),
            ("DB_PASS", false, true),
            ("DATABASE_URL", false, true),
            ("db_password", false, true),
            ("SSH_AUTH_SOCK", false, false),
            ("GIT_ASKPASS", false, false),
            ("TOKEN_FILE", false, false),
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
