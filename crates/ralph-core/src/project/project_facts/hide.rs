//! Hides secrets in a text before it is shown: values of variables, passwords and tokens.
//!
//! A repository should contain no secrets, but some do: in the address of a registry, or before the
//! command of a script. The text before a value decides whether it is hidden, so some harmless
//! values (`CI=true`) are hidden too.

/// Replaces a hidden value.
const HIDDEN: &str = "…";

/// Parts of names, in lower case, whose values are secret.
const SECRET: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "access-key",
    "private_key",
    "credential",
    "_auth",
    "authorization",
];

/// Prefixes of well-known tokens.
const TOKENS: [&str; 13] = [
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "npm_",
    "sk-",
    "sk_live_",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
];

/// A shorter word is too often something else.
const SHORTEST_TOKEN: usize = 20;

/// What the preceding word means for the next one.
#[derive(Clone, Copy, PartialEq)]
enum NextWord {
    Shown,
    Secret,
    /// A secret if it is a name and a password, separated by a colon.
    User,
}

/// The text without its secrets.
pub(super) fn secrets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut next = NextWord::Shown;
    let mut rest = text;
    while !rest.is_empty() {
        let space = rest.len() - rest.trim_start().len();
        shown.push_str(&rest[..space]);
        let (word, after) = rest[space..].split_at(end_of_word(&rest[space..]));
        let is_scheme = ["bearer", "basic", "token"].contains(&word.to_lowercase().as_str());
        let is_secret = match next {
            NextWord::Shown => false,
            NextWord::Secret => !word.starts_with('-'),
            NextWord::User => word.contains(':'),
        };
        match is_secret && !is_scheme {
            true if !word.is_empty() => shown.push_str(HIDDEN),
            _ => push_word(&mut shown, word),
        }
        next = if is_secret && is_scheme { NextWord::Secret } else { after_word(word) };
        rest = after;
    }
    shown
}

/// The end of a word: the next space that is not in quotes, where the quotes must be at the start
/// of the word or of a value in it.
fn end_of_word(text: &str) -> usize {
    let mut open = None;
    let mut before = '=';
    for (at, letter) in text.char_indices() {
        match open {
            Some(quote) if letter == quote => open = None,
            Some(_) => {}
            None if letter.is_whitespace() => return at,
            None if matches!(before, '=' | ':') && is_quote(letter) => open = Some(letter),
            None => {}
        }
        before = letter;
    }
    text.len()
}

fn is_quote(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '`')
}

fn after_word(word: &str) -> NextWord {
    let bare = word.trim_matches(['"', '\'']);
    match bare.to_lowercase().as_str() {
        "bearer" => NextWord::Secret,
        "-u" | "--user" => NextWord::User,
        flag if flag.starts_with('-') && !flag.contains('=') && is_secret(flag) => NextWord::Secret,
        header if header.ends_with(':') && is_secret(header) => NextWord::Secret,
        _ => NextWord::Shown,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET.iter().any(|part| name.contains(part)) || name.ends_with("pass") || name == "pwd"
}

fn push_word(shown: &mut String, word: &str) {
    if let Some(quote) = word.chars().next().filter(|letter| is_quote(*letter)) {
        let inner = &word[1..];
        let (inner, after) = inner.split_once(quote).unwrap_or((inner, ""));
        shown.push(quote);
        shown.push_str(&secrets(inner));
        if word.len() > inner.len() + 1 {
            shown.push(quote);
        }
        shown.push_str(&secrets(after));
        return;
    }
    shown.push_str(&without_tokens(&without_users(&without_values(word))));
}

/// `NAME=value` and `--password=value` without their values.
fn without_values(word: &str) -> String {
    let mut shown = String::with_capacity(word.len());
    let mut rest = word;
    while let Some((head, sign, value)) = at_sign(rest) {
        let name_of = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        let name = &head[head.trim_end_matches(name_of).len()..];
        shown.push_str(head);
        shown.push_str(sign);
        // `==` compares, and `NAME=$OTHER` only refers to the value.
        let is_value = !value.is_empty() && !value.starts_with('=') && !is_reference(value);
        rest = value;
        if is_value && (is_variable(name) || is_secret(name)) {
            shown.push_str(HIDDEN);
            rest = &value[end_of_value(value)..];
        }
    }
    shown.push_str(rest);
    shown
}

/// Splits the word at the first `=`, or at the colon after a quoted name.
fn at_sign(word: &str) -> Option<(&str, &str, &str)> {
    let signs = ["=", "\":", "':"];
    let (at, sign) = signs.iter().filter_map(|sign| Some((word.find(sign)?, *sign))).min()?;
    Some((&word[..at], sign, &word[at + sign.len()..]))
}

fn is_variable(name: &str) -> bool {
    let is_upper = |letter: char| letter.is_ascii_uppercase() || letter == '_';
    name.starts_with(is_upper)
        && name.chars().all(|letter| is_upper(letter) || letter.is_ascii_digit())
}

/// False for `${NAME:-value}`, which contains a value.
fn is_reference(value: &str) -> bool {
    let value = value.strip_prefix('"').unwrap_or(value);
    value.starts_with('$')
        && (value.starts_with("${{")
            || !value.starts_with("${")
            || !value.contains(['-', '=', '+']))
}

fn end_of_value(value: &str) -> usize {
    let quote = value.chars().next().filter(|letter| is_quote(*letter));
    match quote {
        Some(quote) => value[1..].find(quote).map_or(value.len(), |at| at + 2),
        None => value.find(['&', ';', '|', ')', '"', '\'', '`']).unwrap_or(value.len()),
    }
}

/// URLs without the user and the password before the host.
fn without_users(word: &str) -> String {
    let mut shown = String::with_capacity(word.len());
    let mut rest = word;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find(['/', '?', '#', '"', '\'']).unwrap_or(after.len());
        let user = after[..end].rfind('@').map_or(0, |at| at + 1);
        rest = &after[user..];
    }
    shown.push_str(rest);
    shown
}

fn without_tokens(word: &str) -> String {
    let is_inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    word.split_inclusive(|letter| !is_inner(letter))
        .map(|part| {
            let bare = part.trim_end_matches(|letter| !is_inner(letter));
            let is_token = bare.len() >= SHORTEST_TOKEN
                && TOKENS.iter().any(|begin| bare.starts_with(begin))
                && bare.contains(|letter: char| letter.is_ascii_digit());
            if is_token { part.replacen(bare, HIDDEN, 1) } else { part.to_owned() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(secrets(text), expected);
    }

    #[test]
    fn values_of_variables_are_hidden_and_references_are_not() {
        check("NODE_ENV=production next build", "NODE_ENV=… next build");
        check("cross-env A_KEY='a b' B=\"c d\" node x", "cross-env A_KEY=… B=… node x");
        check("sh -c 'A_KEY=abc npm publish' && x", "sh -c 'A_KEY=… npm publish' && x");
        check("X=$Y Z=${{ secrets.Z }} a", "X=$Y Z=${{ secrets.Z }} a");
        check("X=${Y:-hunter2} a", "X=… a");
        check("A=1;B=2 c", "A=…;B=… c");
        check("docker build --build-arg=FOO=bar .", "docker build --build-arg=FOO=… .");
    }

    #[test]
    fn what_only_looks_like_a_value_stays() {
        for text in [
            "GDAL==3.4.1",
            "PySide>=6",
            "GDAL>=3 ; python_version < '3.9'",
            "cmake -DCMAKE_BUILD_TYPE=Release",
            "a --flag=b -u x",
            "don't = 'x y'",
            "git push -u origin main",
            "https://example.com/@scope/a?b=c#d",
            "@scope/package@^1.0.0",
            "sk-learn-and-other-long-names",
            "",
            " a\n\tb ",
            "'open",
            "''\"",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn passwords_and_tokens_are_hidden_wherever_they_are_handed_over() {
        check("git+https://me:hunter2@example.com/a.git#v1", "git+https://example.com/a.git#v1");
        check("https://ghp_x@a.b http://u:p@c", "https://a.b http://c");
        check(
            "x --token abc --password=abc --api-key 'a b' y",
            "x --token … --password=… --api-key … y",
        );
        check("curl -u me:pw https://a", "curl -u … https://a");
        check("curl -H \"Authorization: Bearer abc\" a", "curl -H \"Authorization: Bearer …\" a");
        check("curl -H 'X-Api-Key: abc'", "curl -H 'X-Api-Key: …'");
        check("{\"password\":\"x y\",\"a\":1}", "{\"password\":…,\"a\":1}");
        check("{\"password\": \"x\"}", "{\"password\": …");
        check("https://a.b/c?token=abc&d=e", "https://a.b/c?token=…&d=e");
        check("x ghp_abcdefghij0123456789, y", "x …, y");
    }
}
