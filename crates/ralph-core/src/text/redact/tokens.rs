//! Tokens identified by their prefix.

use Letters::{Hex, Lower, Plain, Upper, Word};

/// The alphabet of the rest of a token.
#[derive(Clone, Copy)]
enum Letters {
    /// `0-9a-f` in either case
    Hex,
    /// `A-Z0-9`
    Upper,
    /// `a-z0-9`
    Lower,
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
            Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Plain => byte.is_ascii_alphanumeric(),
            Word => byte.is_ascii_alphanumeric() || b"_-.=/+%".contains(&byte),
        }
    }
}

/// Prefix, alphabet of the rest, and minimum length of the rest.
const TOKENS: [(&str, Letters, usize); 92] = [
    ("A3-", Word, 30),
    ("ABIA", Upper, 16),
    ("ACCA", Upper, 16),
    ("AGE-SECRET-KEY-1", Upper, 40),
    ("AIza", Word, 30),
    ("AKIA", Upper, 16),
    ("ASIA", Upper, 16),
    ("ATATT3x", Word, 30),
    ("ATBB", Plain, 28),
    ("ATCTT3x", Word, 30),
    ("BBDC-", Word, 30),
    ("CFPAT-", Word, 30),
    ("EAAA", Word, 56),
    ("EAACEdEose0cBA", Word, 20),
    ("FlyV1", Word, 20),
    ("GOCSPX-", Word, 20),
    ("HRKU-", Word, 30),
    ("LTAI", Plain, 16),
    ("NRAK-", Word, 20),
    ("PMAK-", Word, 24),
    ("SG.", Word, 32),
    ("SK", Hex, 32),
    ("apify_api_", Plain, 20),
    ("atlasv1.", Word, 40),
    ("bkua_", Plain, 20),
    ("dapi", Hex, 32),
    ("dckr_pat_", Word, 20),
    ("doo_v1_", Hex, 32),
    ("dop_v1_", Hex, 32),
    ("dor_v1_", Hex, 32),
    ("dp.ct.", Plain, 30),
    ("dp.pt.", Plain, 30),
    ("dp.st.", Word, 30),
    ("dt0c01.", Word, 30),
    ("eyJrIjoi", Word, 40),
    ("figd_", Word, 20),
    ("fm2_", Word, 40),
    ("gho_", Plain, 20),
    ("ghp_", Plain, 20),
    ("ghr_", Plain, 20),
    ("ghs_", Word, 20),
    ("ghu_", Plain, 20),
    ("github_pat_", Word, 20),
    ("glagent-", Word, 16),
    ("glcbt-", Word, 16),
    ("gldt-", Word, 16),
    ("glffct-", Word, 16),
    ("glft-", Word, 16),
    ("glimt-", Word, 16),
    ("gloas-", Word, 16),
    ("glpat-", Word, 16),
    ("glptt-", Word, 16),
    ("glrt-", Word, 16),
    ("glsoat-", Word, 16),
    ("glc_", Word, 32),
    ("glsa_", Word, 32),
    ("gsk_", Plain, 30),
    ("hf_", Plain, 30),
    ("hvb.", Word, 20),
    ("hvr.", Word, 20),
    ("hvs.", Word, 20),
    ("key-", Hex, 32),
    ("lin_api_", Plain, 20),
    ("nfp_", Plain, 30),
    ("npm_", Plain, 30),
    ("ntn_", Plain, 30),
    ("nvapi-", Word, 30),
    ("oy2", Lower, 43),
    ("phx_", Plain, 30),
    ("pplx-", Plain, 30),
    ("pscale_pw_", Word, 30),
    ("pscale_tkn_", Word, 30),
    ("pul-", Hex, 40),
    ("pypi-", Word, 50),
    ("r8_", Plain, 37),
    ("rubygems_", Hex, 48),
    ("sb_secret_", Word, 20),
    ("sbp_", Lower, 40),
    ("sgp_", Word, 40),
    ("shpat_", Hex, 32),
    ("shpca_", Hex, 32),
    ("shppa_", Hex, 32),
    ("shpss_", Hex, 32),
    ("sk-ant-", Word, 10),
    ("sntrys_", Word, 40),
    ("sntryu_", Hex, 40),
    ("sq0atp-", Word, 20),
    ("sq0csp-", Word, 20),
    ("tskey-", Word, 16),
    ("whsec_", Word, 20),
    ("xai-", Plain, 40),
    ("ya29.", Word, 20),
];

/// True if a token can begin with this byte.
pub(super) fn may_begin(byte: u8) -> bool {
    byte.is_ascii_alphabetic() && FIRST[usize::from(byte & 63)]
}

const FIRST: [bool; 64] = {
    let mut first = [false; 64];
    let mut at = 0;
    while at < TOKENS.len() {
        first[(TOKENS[at].0.as_bytes()[0] & 63) as usize] = true;
        at += 1;
    }
    // Tokens that have a rule of their own.
    first[(b'e' & 63) as usize] = true;
    first[(b's' & 63) as usize] = true;
    first[(b'r' & 63) as usize] = true;
    first[(b'x' & 63) as usize] = true;
    first
};

/// Index in [`TOKENS`] of the first token that begins with each byte.
const BEGINS: [usize; 129] = {
    let mut begins = [0; 129];
    let mut byte = 0;
    while byte < 129 {
        let mut at = 0;
        while at < TOKENS.len() && (TOKENS[at].0.as_bytes()[0] as usize) < byte {
            at += 1;
        }
        begins[byte] = at;
        byte += 1;
    }
    begins
};

/// The length of the token that this text begins with.
pub(super) fn length(text: &[u8]) -> Option<usize> {
    let run = |from: usize, letters: Letters| {
        text[from..].iter().take_while(|byte| letters.has(**byte)).count()
    };
    let first = text.first().map_or(0, |byte| usize::from(byte & 127));
    let known =
        TOKENS[BEGINS[first]..BEGINS[first + 1]].iter().find_map(|(begin, letters, least)| {
            text.starts_with(begin.as_bytes()).then_some(())?;
            let rest = run(begin.len(), *letters);
            // The rest of a prose word has no digit.
            let body = &text[begin.len()..begin.len() + rest];
            let is_random = body.iter().any(u8::is_ascii_digit)
                || has_both_cases(body) && body.len() >= 20 && !body.contains(&b'-');
            let exact = matches!(letters, Hex) && rest > *least + 32;
            (rest >= *least && is_random && !exact).then_some(begin.len() + rest)
        });
    known
        .or_else(|| web_token(text))
        .or_else(|| stripe(text))
        .or_else(|| slack(text))
        .or_else(|| openai(text))
        .map(|length| trimmed(&text[..length]))
}

/// Length without the punctuation that ends a sentence.
fn trimmed(token: &[u8]) -> usize {
    token.iter().rposition(|byte| !b"./%".contains(byte)).map_or(0, |last| last + 1)
}

fn has_both_cases(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_lowercase) && text.iter().any(u8::is_ascii_uppercase)
}

fn is_url_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=')
}

/// `eyJ….eyJ….…`
fn web_token(text: &[u8]) -> Option<usize> {
    text.strip_prefix(b"eyJ")?;
    let mut at = 0;
    let mut n_parts = 0;
    loop {
        let part = text[at..].iter().take_while(|byte| is_url_base64(**byte)).count();
        if n_parts < 2 && part < 8 {
            return None;
        }
        n_parts += 1;
        at += part;
        // A signed token has three parts, an encrypted one five.
        match text.get(at) {
            Some(b'.') if n_parts < 5 => at += 1,
            _ => break,
        }
    }
    (n_parts >= 2).then_some(at)
}

/// `sk_live_…`, `rk_test_…`
fn stripe(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"sk_").or_else(|| text.strip_prefix(b"rk_"))?;
    let kind =
        [&b"live_"[..], b"test_", b"prod_"].into_iter().find(|kind| rest.starts_with(kind))?;
    let body = rest[kind.len()..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (body >= 10).then_some(3 + kind.len() + body)
}

/// `xoxb-…`, `xapp-…`, `xwfp-…`
fn slack(text: &[u8]) -> Option<usize> {
    let is_one = text.starts_with(b"xapp-")
        || text.starts_with(b"xwfp-")
        || text.starts_with(b"xox") && matches!(text.get(4), Some(b'-' | b'.'));
    let body = text.get(5..).filter(|_| is_one)?;
    let rest = body.iter().take_while(|byte| Word.has(**byte)).count();
    (rest >= 10 && body[..rest].iter().any(u8::is_ascii_digit)).then_some(5 + rest)
}

/// `sk-…`, optionally with a word for the kind of key.
fn openai(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(b"sk-")?;
    let body = rest.iter().take_while(|byte| Word.has(**byte) && **byte != b'.').count();
    let text = &rest[..body];
    let kind = [&b"proj-"[..], b"svcacct-", b"admin-", b"or-v1-", b"None-", b"lf-"];
    let is_kind = kind.iter().any(|kind| text.starts_with(kind));
    let longest = text.split(|byte| *byte == b'-').map(<[u8]>::len).max().unwrap_or(0);
    let has_digit = text.iter().any(u8::is_ascii_digit);
    (has_digit && (is_kind && body >= 16 || longest >= 20)).then_some(3 + body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_begins_with_a_letter_that_is_looked_for_and_is_found_whole() {
        assert!(TOKENS.is_sorted_by_key(|(begin, ..)| begin.as_bytes()[0]));
        for (begin, letters, least) in TOKENS {
            let letter = match letters {
                Hex => "0a1b2c3d4e5f",
                Upper => "Q2W3E4R5",
                Lower => "q2w3e4r5",
                Plain | Word => "q2W3e4R5",
            };
            let token = begin.to_owned() + &letter.repeat(10)[..least];
            assert!(may_begin(token.as_bytes()[0]), "{begin}");
            assert_eq!(length(token.as_bytes()), Some(token.len()), "{begin}");
            assert_eq!(length(format!("{token} x").as_bytes()), Some(token.len()), "{begin}");
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
            assert_eq!(length(text.as_bytes()), None, "{text}");
        }
    }
}
