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

/// Prefix, alphabet of the rest, and minimum length of the rest; sorted by the first byte.
const TOKENS: [(&str, Letters, usize); 114] = [
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
    ("discord.com/api/webhooks/", Word, 30),
    ("doo_v1_", Hex, 32),
    ("dop_v1_", Hex, 32),
    ("dor_v1_", Hex, 32),
    ("dp.ct.", Plain, 30),
    ("dp.pt.", Plain, 30),
    ("dp.st.", Word, 30),
    ("dt0c01.", Word, 30),
    ("eyJ", Word, 40),
    ("figd_", Word, 20),
    ("fm2_", Word, 40),
    ("gho_", Plain, 20),
    ("ghp_", Plain, 20),
    ("ghr_", Plain, 20),
    ("ghs_", Word, 20),
    ("ghu_", Plain, 20),
    ("github_pat_", Word, 20),
    ("glagent-", Word, 16),
    ("glc_", Word, 32),
    ("glcbt-", Word, 16),
    ("gldt-", Word, 16),
    ("glffct-", Word, 16),
    ("glft-", Word, 16),
    ("glimt-", Word, 16),
    ("gloas-", Word, 16),
    ("glpat-", Word, 16),
    ("glptt-", Word, 16),
    ("glrt-", Word, 16),
    ("glsa_", Word, 32),
    ("glsoat-", Word, 16),
    ("gsk_", Plain, 30),
    ("hf_", Plain, 30),
    ("hooks.slack.com/services/", Word, 30),
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
    ("rk_live_", Plain, 10),
    ("rk_test_", Plain, 10),
    ("rubygems_", Hex, 48),
    ("sb_secret_", Word, 20),
    ("sbp_", Lower, 40),
    ("sgp_", Word, 40),
    ("shpat_", Hex, 32),
    ("shpca_", Hex, 32),
    ("shppa_", Hex, 32),
    ("shpss_", Hex, 32),
    ("sk-", Plain, 20),
    ("sk-admin-", Word, 16),
    ("sk-ant-", Word, 10),
    ("sk-or-v1-", Word, 16),
    ("sk-proj-", Word, 16),
    ("sk-svcacct-", Word, 16),
    ("sk_live_", Plain, 10),
    ("sk_prod_", Plain, 10),
    ("sk_test_", Plain, 10),
    ("sntrys_", Word, 40),
    ("sntryu_", Hex, 40),
    ("sq0atp-", Word, 20),
    ("sq0csp-", Word, 20),
    ("tskey-", Word, 16),
    ("whsec_", Word, 20),
    ("xai-", Plain, 40),
    ("xapp-", Word, 10),
    ("xoxa-", Word, 10),
    ("xoxb-", Word, 10),
    ("xoxc-", Word, 10),
    ("xoxd-", Word, 10),
    ("xoxe-", Word, 10),
    ("xoxe.", Word, 10),
    ("xoxp-", Word, 10),
    ("xoxr-", Word, 10),
    ("xoxs-", Word, 10),
    ("ya29.", Word, 20),
];

/// The length of the token that this text begins with.
pub(super) fn length(text: &[u8]) -> Option<usize> {
    let first = *text.first()?;
    let from = TOKENS.partition_point(|(begin, ..)| begin.as_bytes()[0] < first);
    let known = TOKENS[from..].iter().take_while(|(begin, ..)| begin.as_bytes()[0] == first);
    let rest_of = |(begin, letters, least): &(&str, Letters, usize)| {
        let rest = text.strip_prefix(begin.as_bytes())?;
        let length = rest.iter().take_while(|byte| letters.has(**byte)).count();
        let rest = &rest[..length];
        // The rest of a prose word has no digit.
        let has_both_cases =
            rest.iter().any(u8::is_ascii_lowercase) && rest.iter().any(u8::is_ascii_uppercase);
        let is_random = rest.iter().any(u8::is_ascii_digit)
            || has_both_cases && length >= 20 && !rest.contains(&b'-');
        let is_digest = matches!(letters, Hex) && length > least + 32;
        (length >= *least && is_random && !is_digest).then_some(begin.len() + length)
    };
    let length = known.filter_map(rest_of).max()?;
    // Without the punctuation that ends a sentence.
    text[..length].iter().rposition(|byte| !b"./%".contains(byte)).map(|last| last + 1)
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
