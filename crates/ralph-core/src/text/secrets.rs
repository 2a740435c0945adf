//! Secrets: which environment variables hold one, and how one is redacted in a stream of bytes.

use memchr::memmem::Finder;
use std::cmp::Reverse;

// Identifies environment variables that hold secrets, by their names.
//
// The client's own secrets are removed from the environment of the commands that we run, since no
// project needs them. The project's secrets stay, because its tests may need them, but their
// values are redacted in everything that is stored.

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

// Redacts secrets in a stream of bytes: exact values, tokens with a known prefix, and private keys.
//
// Nothing else is recognised: no value that is encoded, wrapped or coloured, and no password in an
// address or a sentence. The cost is linear in the length of the stream. About 144 KiB are held back.

/// Bytes held back before the search, so that a whole private key is in view.
const BLOCK: usize = 128 << 10;

/// Bytes of lookahead needed to decide on a position.
const AHEAD: usize = 16 << 10;

/// Replaces what has the shape of a secret.
const MARK: &[u8] = b"[redacted]";

/// Redacts one stream, fed in pieces.
#[derive(Debug)]
pub struct Redactor {
    values: Vec<SecretValue>,
    held: Vec<u8>,
    /// Bytes of `held` that belong to a secret already replaced.
    covered: usize,
    /// The byte before `held`.
    before: u8,
    /// Bytes of lookahead: the longest value must be in view.
    ahead: usize,
}

#[derive(Debug)]
struct SecretValue {
    finder: Finder<'static>,
    mark: Vec<u8>,
}

/// A range to replace by a mark.
#[derive(Debug, Clone, Copy)]
struct Secret<'a> {
    start: usize,
    end: usize,
    mark: &'a [u8],
}

impl Redactor {
    /// Replaces each value by `[redacted NAME]`, and tokens and private keys by `[redacted]`. Ignores
    /// empty values.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Redactor {
        let secrets = secrets.into_iter().filter(|(_, value)| !value.is_empty());
        let values: Vec<SecretValue> = secrets
            .map(|(name, value)| SecretValue {
                finder: Finder::new(value).into_owned(),
                mark: format!("[redacted {name}]").into_bytes(),
            })
            .collect();
        let longest = values.iter().map(|value| value.finder.needle().len()).max();
        let ahead = AHEAD + longest.unwrap_or(0);
        Redactor { values, held: Vec::new(), covered: 0, before: b'\n', ahead }
    }

    /// Feeds the next piece; appends to `out` the bytes that cannot belong to a secret.
    pub fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let most = BLOCK + self.ahead;
        let mut rest = piece;
        while !rest.is_empty() {
            let room = most.saturating_sub(self.held.len()).max(1).min(rest.len());
            self.held.extend_from_slice(&rest[..room]);
            rest = &rest[room..];
            if self.held.len() >= most {
                let limit = self.held.len() - self.ahead;
                let line = memchr::memrchr(b'\n', &self.held[..limit]).map_or(limit, |at| at + 1);
                self.decide(line, out);
            }
        }
    }

    /// Ends the stream and appends the bytes that were held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.decide(self.held.len(), out);
    }

    /// Releases the bytes before `limit`; every secret that starts there is entirely in view.
    fn decide(&mut self, limit: usize, out: &mut Vec<u8>) {
        let mut done = self.covered;
        for secret in self.found().into_iter().filter(|secret| secret.start < limit) {
            // One mark replaces two secrets that overlap.
            if secret.start >= done {
                out.extend_from_slice(&self.held[done..secret.start]);
                out.extend_from_slice(secret.mark);
            }
            done = done.max(secret.end);
        }
        out.extend_from_slice(self.held.get(done..limit).unwrap_or_default());
        done = done.max(limit);
        if let Some(last) = limit.checked_sub(1) {
            self.before = self.held[last];
        }
        self.held.drain(..limit);
        self.covered = done - limit;
    }

    /// Every secret in view, by position; of those at one position, the longest value first.
    fn found(&self) -> Vec<Secret<'_>> {
        let mut found = shapes(&self.held, self.before);
        for SecretValue { finder, mark } in &self.values {
            let length = finder.needle().len();
            let secret = |start| Secret { start, end: start + length, mark };
            found.extend(starts(finder, &self.held).map(secret));
        }
        found.sort_by_key(|one| (one.start, one.mark == MARK, Reverse(one.end)));
        found
    }
}

/// Redacts the tokens and private keys in a text.
pub fn by_shape(text: &str) -> String {
    let mut redactor = Redactor::new([]);
    let mut out = Vec::with_capacity(text.len());
    redactor.feed(text.as_bytes(), &mut out);
    redactor.finish(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Includes matches that overlap each other: if the value is `aba`, no part of `ababa` may remain,
/// and the split of the stream must not matter.
fn starts<'a>(finder: &'a Finder<'static>, text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + finder.find(text.get(from..)?)?;
        from = start + 1;
        Some(start)
    })
}

/// Every token and private key. `before` is the byte before the text.
fn shapes(text: &[u8], before: u8) -> Vec<Secret<'static>> {
    let mut found = Vec::new();
    let (mut start, mut previous) = (0, before);
    while let Some(byte) = text.get(start).copied() {
        let starts_word = !(previous.is_ascii_alphanumeric() || previous == b'_');
        let key = match byte {
            b'-' | b'P' => private_key(&text[start..]),
            _ => None,
        };
        let is_word = starts_word && byte.is_ascii_alphabetic();
        let length = if is_word { key.or_else(|| token(&text[start..])) } else { key };
        // Whatever begins inside a secret is part of it.
        let end = start + length.unwrap_or(1);
        if length.is_some() {
            found.push(Secret { start, end, mark: MARK });
        }
        previous = text[end - 1];
        start = end;
    }
    found
}

/// The length of the private key that begins here; without an end, for as long as it can be one.
fn private_key(text: &[u8]) -> Option<usize> {
    let (begin, end, has) = match text.first() {
        Some(b'-') => ("-----BEGIN ", "-----END ", "PRIVATE KEY"),
        // PuTTY's form.
        _ => ("Private-Lines: ", "Private-MAC: ", ""),
    };
    let rest = text.strip_prefix(begin.as_bytes())?;
    let label = &rest[..rest.len().min(60)];
    memchr::memmem::find(label, has.as_bytes())?;
    let most = text.len().min(AHEAD);
    let closing = memchr::memmem::find(&text[..most], end.as_bytes());
    let is_body = |byte: &&u8| {
        byte.is_ascii_alphanumeric()
            || byte.is_ascii_whitespace()
            || b"+/=\\\"',:-|>#*".contains(byte)
    };
    Some(match closing.map(|at| at + end.len()) {
        Some(from) => {
            let tail = &text[from..text.len().min(from + 60)];
            from + memchr::memmem::find(tail, b"-----").map_or(0, |at| at + 5)
        }
        None => text[..most].iter().take_while(is_body).count(),
    })
}

/// The alphabet of the rest of a token.
type Letters = fn(&u8) -> bool;

fn is_capital(byte: &u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.=/+%".contains(byte)
}

/// The alphabet and the minimum length of the rest of a token, and the prefixes of these tokens.
#[rustfmt::skip]
const TOKENS: [(Letters, usize, &[&str]); 10] = [
    (u8::is_ascii_hexdigit, 32, &[
        "SK", "dapi", "doo_v1_", "dop_v1_", "dor_v1_", "key-", "pul-", "rubygems_", "shpat_", "shpca_", "shppa_",
        "shpss_", "sntryu_",
    ]),
    (is_capital, 16, &["ABIA", "ACCA", "AGE-SECRET-KEY-1", "AKIA", "ASIA"]),
    (u8::is_ascii_alphanumeric, 10, &["rk_live_", "rk_test_", "sk_live_", "sk_prod_", "sk_test_"]),
    (u8::is_ascii_alphanumeric, 16, &["LTAI"]),
    (u8::is_ascii_alphanumeric, 20, &["apify_api_", "bkua_", "gho_", "ghp_", "ghr_", "ghu_", "lin_api_", "sk-"]),
    (u8::is_ascii_alphanumeric, 28, &[
        "ATBB", "dp.ct.", "dp.pt.", "gsk_", "hf_", "nfp_", "npm_", "ntn_", "oy2", "phx_", "pplx-", "r8_", "sbp_",
        "xai-",
    ]),
    (is_of_word, 10, &[
        "sk-ant-", "xapp-", "xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxp-", "xoxr-", "xoxs-",
    ]),
    (is_of_word, 16, &[
        "glagent-", "glcbt-", "gldt-", "glffct-", "glft-", "glimt-", "gloas-", "glpat-", "glptt-", "glrt-", "glsoat-",
        "sk-admin-", "sk-or-v1-", "sk-proj-", "sk-svcacct-", "tskey-",
    ]),
    (is_of_word, 20, &[
        "EAACEdEose0cBA", "FlyV1", "GOCSPX-", "NRAK-", "PMAK-", "dckr_pat_", "figd_", "ghs_", "github_pat_", "hvb.",
        "hvr.", "hvs.", "sb_secret_", "sq0atp-", "sq0csp-", "whsec_", "ya29.",
    ]),
    (is_of_word, 30, &[
        "A3-", "AIza", "ATATT3x", "ATCTT3x", "BBDC-", "CFPAT-", "EAAA", "HRKU-", "SG.", "atlasv1.",
        "discord.com/api/webhooks/", "dp.st.", "dt0c01.", "eyJ", "fm2_", "glc_", "glsa_", "hooks.slack.com/services/",
        "nvapi-", "pscale_pw_", "pscale_tkn_", "pypi-", "sgp_", "sntrys_",
    ]),
];

/// The length of the token that begins here.
fn token(text: &[u8]) -> Option<usize> {
    let rows = TOKENS.iter().flat_map(|(letters, least, prefixes)| {
        // The first byte alone decides nearly always.
        let is_it = |prefix: &&&str| {
            prefix.as_bytes().first() == text.first() && text.starts_with(prefix.as_bytes())
        };
        let prefix = prefixes.iter().find(is_it)?;
        let rest = &text[prefix.len()..];
        let length = rest.iter().take_while(|byte| letters(byte)).count();
        let has = |is_meant: fn(&u8) -> bool| rest[..length].iter().any(is_meant);
        // The rest of a name in prose has no digit, nor capitals without dashes.
        let is_random = has(u8::is_ascii_digit)
            || has(u8::is_ascii_lowercase)
                && has(u8::is_ascii_uppercase)
                && !has(|byte| *byte == b'-');
        (length >= *least && is_random).then_some(prefix.len() + length)
    });
    let length = rows.max()?;
    // Without the punctuation that ends a sentence.
    text[..length].iter().rposition(|byte| !b"./%".contains(byte)).map(|last| last + 1)
}

#[cfg(test)]
mod names_tests {
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
        const TABLE: [(&str, &str, bool); 13] = [
            ("DB_PASSWORD", "/abcdefg", true),
            ("DB_PASSWORD", "ab/cd/ef", true),
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

#[cfg(test)]
mod tokens_tests {
    use super::*;

    #[test]
    fn each_begins_with_a_letter_that_is_looked_for_and_is_found_whole() {
        let all = TOKENS.iter().flat_map(|(letters, least, prefixes)| {
            prefixes.iter().map(|prefix| (*letters, *least, *prefix))
        });
        for (letters, least, prefix) in all {
            let letter: String =
                "0q2W3e4R5fa".chars().filter(|one| letters(&(*one as u8))).collect();
            let text = prefix.to_owned() + &letter.repeat(10)[..least];
            assert_eq!(token(text.as_bytes()), Some(text.len()), "{prefix}");
            assert_eq!(token(format!("{text} x").as_bytes()), Some(text.len()), "{prefix}");
        }
        let without_digit = ["hf", "_"].concat() + &"aB".repeat(14);
        assert_eq!(token(without_digit.as_bytes()), Some(31));
    }

    #[test]
    fn words_that_begin_alike_are_no_tokens() {
        for text in [
            "key-value-store-implementation-of-many",
            "sk-learn-and-other-long-names-2",
            "npm_config_registry_and_other_things_1",
            "glow-in-the-dark",
            "hf_hub",
            "xoxo-love",
            "eyJust.a.word",
            "SKILL",
            "AKIA",
            "sk_live",
            "ghp_",
            "hf_abcdefghijklmnopqrstuvwxyzab",
            "sk-proj-My-Long-Name-Of-A-Thing",
        ] {
            assert_eq!(token(text.as_bytes()), None, "{text}");
        }
    }
}

#[cfg(test)]
mod redact_tests {
    // The redactor on whole streams: secrets in each shape, and text that only resembles one.

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        for size in [1, 3, 7, 1 << 20] {
            let mut redactor = Redactor::new([
                ("A_KEY", &b"correct-horse9"[..]),
                ("B_TOKEN", b"abcdef"),
                ("C_TOKEN", b"defghi"),
                ("LONG_SECRET", b"abcdefxyz"),
                ("D_KEY", b"kolok"),
                ("EMPTY_KEY", b""),
            ]);
            let mut out = Vec::new();
            text.as_bytes().chunks(size).for_each(|piece| redactor.feed(piece, &mut out));
            redactor.finish(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn what_only_reads_like_a_secret_stays() {
        for text in [
            "error: unexpected token: `}`",
            "tokens: 1234, max_tokens=4096",
            "fn login(password: &str, token: Token) -> Secret {",
            "password: string;",
            "const token = getToken();",
            "password=os.environ[\"PASSWORD\"]",
            "password: process.env.DB_PASSWORD",
            "auth::token::parse ... ok",
            "test password_is_checked ... ok",
            "PWD=/home/u/project",
            "checksum = \"3e2b1c\"",
            "if token == expected {",
            "--token <TOKEN>  The token",
            "password is required",
            "\"password\": \"Password is required\"",
            "git@github.com:o/r.git https://github.com/o/r",
            "public_key=abc123def456",
            "pass: 12",
            "sha512-abc/def==",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn of_a_value_nothing_is_left_wherever_it_is_cut_or_overlapped() {
        check("", "");
        check("x=abcdef;", "x=[redacted B_TOKEN];");
        check("abcdefabcdef", "[redacted B_TOKEN][redacted B_TOKEN]");
        check("abcde abcdeabcdef abcde", "abcde abcde[redacted B_TOKEN] abcde");
        check("-abcdefxyz-", "-[redacted LONG_SECRET]-");
        check("-abcdefghi-", "-[redacted B_TOKEN]-");
        check("-kolokolok-", "-[redacted D_KEY]-");
        // A value that is also a token by its shape goes by its name.
        let token = ["gh", "p_0a1b2c3d4e5f6g7h8i9j"].concat();
        let mut redactor = Redactor::new([("E_TOKEN", token.as_bytes())]);
        let mut out = Vec::new();
        redactor.feed(token.as_bytes(), &mut out);
        redactor.finish(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), "[redacted E_TOKEN]");
    }

    /// The forms of a value that are not recognised. A change here is a change of what SECURITY.md says.
    #[test]
    fn a_value_stays_where_it_is_encoded_wrapped_or_coloured() {
        for text in [
            "correct-\nhorse9",
            "\u{1b}[31mcorrect\u{1b}[0m-horse9",
            "Y29ycmVjdC1ob3JzZTk=",
            "dXNlcjpjb3JyZWN0LWhvcnNlOQ==",
            "636f72726563742d686f72736539",
            "postgres://u:p4ss@h/d",
        ] {
            check(text, text);
        }
        check("\u{1b}[31mcorrect-horse9\u{1b}[0m", "\u{1b}[31m[redacted A_KEY]\u{1b}[0m");
    }

    #[test]
    fn a_private_key_is_taken_out_as_a_whole_wherever_the_stream_is_cut() {
        let begin = ["-----BEGIN RSA PRIVATE", " KEY-----"].concat();
        let body = "MIIEow0a1b2c3d+/=\n".repeat(60);
        let key = format!("{begin}\n{body}{}", begin.replace("BEGIN", "END"));
        for filler in [0, 100, BLOCK - 700, BLOCK - AHEAD - 20, BLOCK - AHEAD - 900] {
            let line = "an ordinary line of text\n";
            let before = line.repeat(filler / line.len());
            let text = format!("{before}{key}\nafter\n");
            for size in [1000, 1 << 20] {
                let mut redactor = Redactor::new([]);
                let mut out = Vec::new();
                text.as_bytes().chunks(size).for_each(|piece| redactor.feed(piece, &mut out));
                redactor.finish(&mut out);
                let out = String::from_utf8(out).unwrap();
                assert_eq!(out, format!("{before}[redacted]\nafter\n"), "{filler} {size}");
            }
        }
    }

    /// One long line with tokens at every position.
    #[test]
    fn a_token_is_found_wherever_a_long_line_is_cut() {
        let token = ["ghp", "_q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8"].concat();
        let text = format!("{} {token} ", "x".repeat(5000)).repeat(60);
        let mut redactor = Redactor::new([]);
        let mut out = Vec::new();
        text.as_bytes().chunks(977).for_each(|piece| redactor.feed(piece, &mut out));
        redactor.finish(&mut out);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, text.replace(&token, "[redacted]"));
    }

    #[test]
    fn what_holds_no_secret_comes_out_as_it_went_in_whatever_the_pieces() {
        let text = "0123456789abcde\n".repeat(40_000);
        for size in [1_000, 4_096, 65_536, 131_072, 200_003] {
            let mut redactor = Redactor::new([("GITHUB_TOKEN", &b"ghp_dummy_5"[..])]);
            let mut out = Vec::new();
            text.as_bytes().chunks(size).for_each(|piece| redactor.feed(piece, &mut out));
            redactor.finish(&mut out);
            let differs = out.iter().zip(text.as_bytes()).position(|(one, other)| one != other);
            assert_eq!((differs, out.len()), (None, text.len()), "pieces of {size}");
        }
    }

    #[test]
    fn a_key_without_an_end_reaches_as_far_as_it_can_be_one() {
        let begin = ["-----BEGIN PRIVATE", " KEY-----"].concat();
        check(&format!("{begin}\nab+/=!cd"), "[redacted]!cd");
        check(&format!("{begin}\n\"'\\,:|>#*-ab(c"), "[redacted](c");
        let end = "-----END ";
        let far = "x".repeat(56);
        check(&format!("{begin}\nab\n{end}KEY-----\n"), "[redacted]\n");
        check(&format!("{begin}\nab\n{end}{far}-----"), &format!("[redacted]{far}-----"));
        let putty = ["Private-", "Lines: 1\nAAAA\nPrivate-", "MAC: 00ff\n"].concat();
        check(&putty, "[redacted]00ff\n");
        check("-----BEGIN CERTIFICATE-----\nab\n", "-----BEGIN CERTIFICATE-----\nab\n");
    }

    #[test]
    fn a_token_within_a_word_is_none() {
        let token = ["gh", "p_0a1b2c3d4e5f6g7h8i9j"].concat();
        for before in ["a", "7", "_"] {
            let text = format!("{before}{token}");
            check(&text, &text);
        }
        for before in ["", " ", "=", "-", "\n"] {
            check(&format!("{before}{token}"), &format!("{before}[redacted]"));
        }
    }

    #[test]
    fn a_long_stream_is_released_line_by_line() {
        let line = "an ordinary line of text\n";
        let mut redactor = Redactor::new([]);
        let mut out = Vec::new();
        let text = line.repeat((BLOCK + AHEAD) / line.len() + 1);
        redactor.feed(&text.as_bytes()[..BLOCK + AHEAD - 1], &mut out);
        assert!(out.is_empty(), "the block is not full");
        redactor.feed(b"x", &mut out);
        assert_eq!(out.len(), BLOCK / line.len() * line.len());
        assert!(out.ends_with(b"text\n"));
    }
}
