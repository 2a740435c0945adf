//! Formats numbers for people: `1 criterion`, `2 criteria`, `5,000,000 tokens`, `7 h 5 min`.

/// `5,000,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats the number with the matching noun.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n as u64), noun(n, one, many))
}

/// Chooses the noun for a number: `1 task`, `2 tasks`, `0 of 1 task`.
pub fn noun<'a, N: PartialEq + From<u8>>(n: N, one: &'a str, many: &'a str) -> &'a str {
    if n == N::from(1) { one } else { many }
}

/// `940`, `12 k`, `1.2 M`: a number that is read at a glance.
pub fn rounded(number: u64) -> String {
    let (unit, letter) = match number {
        0..10_000 => return grouped(number),
        10_000..1_000_000 => return format!("{} k", number / 1_000),
        1_000_000..1_000_000_000 => (1_000_000, 'M'),
        _ => (1_000_000_000, 'G'),
    };
    match number / (unit / 10) % 10 {
        0 => format!("{} {letter}", grouped(number / unit)),
        tenth => format!("{}.{tenth} {letter}", grouped(number / unit)),
    }
}

/// `1.2 M tokens`, `1 token`.
pub fn tokens(number: u64) -> String {
    format!("{} {}", rounded(number), noun(number, "token", "tokens"))
}

/// `, $0.31` behind another amount; empty if no client reported a cost.
pub fn dollars(cost: f64) -> String {
    match used_dollars(cost, None) {
        none if none.is_empty() => none,
        some => format!(", {some}"),
    }
}

/// `$0.31`, or `$0.31 of $2.00` with a limit; empty if no client reported a cost and nothing limits
/// it.
pub fn used_dollars(cost: f64, most: Option<f64>) -> String {
    match (cost, most) {
        (cost, Some(most)) => format!("${cost:.2} of ${most:.2}"),
        (cost, None) if cost <= 0.0 => String::new(),
        (cost, None) if cost < 0.005 => "less than $0.01".to_owned(),
        (cost, None) => format!("${cost:.2}"),
    }
}

/// Formats a duration in seconds: `40 s`, `12 min`, `7 h 5 min`, `8 h`.
pub fn lasted(seconds: i64) -> String {
    match (seconds / 3600, seconds / 60 % 60) {
        _ if seconds < 60 => format!("{} s", seconds.max(0)),
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular_and_large_numbers_are_grouped() {
        for (n, text) in
            [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1_234_567, "1,234,567 tasks")]
        {
            assert_eq!(counted(n, "task", "tasks"), text);
        }
        let told = [1, 9_999, 12_400, 1_349_999, 2_000_000_000].map(tokens);
        let expected = ["1 token", "9,999 tokens", "12 k tokens", "1.3 M tokens", "2 G tokens"];
        assert_eq!(told, expected);
        assert_eq!([0_u32, 1, 2].map(|n| noun(n, "is", "are")), ["are", "is", "are"]);
    }

    #[test]
    fn numbers_are_rounded_down_to_what_is_read_at_a_glance() {
        for (number, text) in [
            (0, "0"),
            (9_999, "9,999"),
            (10_000, "10 k"),
            (999_999, "999 k"),
            (1_000_000, "1 M"),
            (1_250_000, "1.2 M"),
            (999_999_999, "999.9 M"),
            (1_000_000_000, "1 G"),
            (1_234_567_000_000, "1,234.5 G"),
        ] {
            assert_eq!(rounded(number), text);
        }
        assert_eq!([12, 123, 1_234, 123_456].map(grouped), ["12", "123", "1,234", "123,456"]);
    }

    #[test]
    fn a_cost_is_told_in_cents_and_only_if_there_was_one() {
        for (cost, text) in
            [(-1.0, ""), (0.0, ""), (0.001, "less than $0.01"), (0.005, "$0.01"), (0.31, "$0.31")]
        {
            assert_eq!(used_dollars(cost, None), text, "{cost}");
        }
        assert_eq!(used_dollars(0.0, Some(2.0)), "$0.00 of $2.00");
        assert_eq!([dollars(0.0), dollars(0.31)], ["", ", $0.31"]);
    }

    #[test]
    fn a_duration_is_told_in_its_two_greatest_units() {
        for (seconds, text) in [
            (-5, "0 s"),
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (119, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (3_659, "1 h"),
            (3_660, "1 h 1 min"),
            (28_800, "8 h"),
            (90_060, "25 h 1 min"),
        ] {
            assert_eq!(lasted(seconds), text, "{seconds}");
        }
    }
}
