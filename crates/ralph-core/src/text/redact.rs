//! Redacts secrets in a stream of bytes: exact values, tokens with a known prefix, and private keys.
//!
//! Nothing else is recognised: no value that is encoded, wrapped or coloured, and no password in an
//! address or a sentence. The cost is linear in the length of the stream. About 144 KiB are held back.

use Letters::{Hex, Plain, Upper, Word};
use memchr::memmem::Finder;
use std::cmp::Reverse;

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
        if done < limit {
            out.extend_from_slice(&self.held[done..limit]);
            done = limit;
        }
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
#[derive(Clone, Copy)]
enum Letters {
    /// `0-9a-f` in either case
    Hex,
    /// `A-Z0-9`
    Upper,
    /// `A-Za-z0-9`
    Plain,
    /// `Plain` and `_`, `-`, `.`, `=`, `/`, `+`, `%`
    Word,
}

impl Letters {
    fn has(self, byte: u8) -> bool {
        match self {
            Hex => byte.is_ascii_hexdigit(),
            Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Plain => byte.is_ascii_alphanumeric(),
            Word => byte.is_ascii_alphanumeric() || b"_-.=/+%".contains(&byte),
        }
    }
}

/// The alphabet and the minimum length of the rest of a token, and the prefixes of these tokens.
#[rustfmt::skip]
const TOKENS: [(Letters, usize, &[&str]); 10] = [
    (Hex, 32, &[
        "SK", "dapi", "doo_v1_", "dop_v1_", "dor_v1_", "key-", "pul-", "rubygems_", "shpat_", "shpca_", "shppa_",
        "shpss_", "sntryu_",
    ]),
    (Upper, 16, &["ABIA", "ACCA", "AGE-SECRET-KEY-1", "AKIA", "ASIA"]),
    (Plain, 10, &["rk_live_", "rk_test_", "sk_live_", "sk_prod_", "sk_test_"]),
    (Plain, 16, &["LTAI"]),
    (Plain, 20, &["apify_api_", "bkua_", "gho_", "ghp_", "ghr_", "ghu_", "lin_api_", "sk-"]),
    (Plain, 28, &[
        "ATBB", "dp.ct.", "dp.pt.", "gsk_", "hf_", "nfp_", "npm_", "ntn_", "oy2", "phx_", "pplx-", "r8_", "sbp_",
        "xai-",
    ]),
    (Word, 10, &[
        "sk-ant-", "xapp-", "xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxp-", "xoxr-", "xoxs-",
    ]),
    (Word, 16, &[
        "glagent-", "glcbt-", "gldt-", "glffct-", "glft-", "glimt-", "gloas-", "glpat-", "glptt-", "glrt-", "glsoat-",
        "sk-admin-", "sk-or-v1-", "sk-proj-", "sk-svcacct-", "tskey-",
    ]),
    (Word, 20, &[
        "EAACEdEose0cBA", "FlyV1", "GOCSPX-", "NRAK-", "PMAK-", "dckr_pat_", "figd_", "ghs_", "github_pat_", "hvb.",
        "hvr.", "hvs.", "sb_secret_", "sq0atp-", "sq0csp-", "whsec_", "ya29.",
    ]),
    (Word, 30, &[
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
        let length = rest.iter().take_while(|byte| letters.has(**byte)).count();
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
mod tests;

#[cfg(test)]
mod tokens_tests {
    use super::*;

    #[test]
    fn each_begins_with_a_letter_that_is_looked_for_and_is_found_whole() {
        for (letters, least, prefix) in TOKENS
            .iter()
            .flat_map(|(letters, least, all)| all.iter().map(|prefix| (*letters, *least, *prefix)))
        {
            let letter = match letters {
                Hex => "0a1b2c3d4e5f",
                Upper => "Q2W3E4R5",
                Plain | Word => "q2W3e4R5",
            };
            let text = prefix.to_owned() + &letter.repeat(10)[..least];
            assert_eq!(token(text.as_bytes()), Some(text.len()), "{prefix}");
            assert_eq!(token(format!("{text} x").as_bytes()), Some(text.len()), "{prefix}");
        }
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
        ] {
            assert_eq!(token(text.as_bytes()), None, "{text}");
        }
    }
}
