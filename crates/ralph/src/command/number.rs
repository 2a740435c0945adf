//! Numbers and session ids on the command line. A number is plain decimal digits in range; anything else is refused.

use ralph_core::modes::arguments::parse_number;
use ralph_core::state::LimitFlag;
use ralph_io::store::manifest::ManifestKey;

/// Parses a limit of a loop.
pub(crate) fn limit<N: TryFrom<u64>>(
    limit: LimitFlag,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let number = parse_number(limit, text).map_err(|refusal| refusal.to_string())?;
        N::try_from(number).map_err(|_| format!("`{number}` is too large"))
    }
}

/// Parses `--max-cost`: US dollars, as `5` or `2.50`.
pub(crate) fn max_cost(text: &str) -> Result<f64, String> {
    const MOST: f64 = 1_000_000.0;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let cost = text.parse::<f64>().ok().filter(|cost| is_plain && *cost > 0.0 && *cost <= MOST);
    cost.ok_or_else(|| format!("needs an amount in US dollars, as 5 or 2.50, not `{text}`"))
}

/// Parses a count that may be 0, which each command interprets for itself.
pub(crate) fn from_zero(text: &str) -> Result<u32, String> {
    let refusal = |_| format!("needs a whole number from 0 to 10000 in plain digits, not `{text}`");
    if text == "0" { Ok(0) } else { limit(LimitFlag::MaxIterations)(text).map_err(refusal) }
}

/// Parses any other count, by the same rule.
pub(crate) fn count(text: &str) -> Result<u32, String> {
    const MOST: u32 = 100_000;
    let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u32>().ok().filter(|number| plain && *number <= MOST);
    number.ok_or_else(|| {
        format!("needs a whole number from 1 to {MOST} in plain digits, not `{text}`")
    })
}

// Session ids on the command line, checked before anything is written under their name.

/// Accepts an id that could be one of the client's.
pub(crate) fn session_id(text: &str) -> Result<String, String> {
    match ManifestKey::session(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!(
            "needs the id of a Claude Code session, of letters, digits and hyphens, not `{text}`"
        )),
    }
}
