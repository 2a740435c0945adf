//! `password=…`, `"token": "…"`, `Cookie: …`: secrets identified by the name before them.

use super::{Span, shapes};

/// What the name implies about the value that follows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ValueKind {
    /// A password: secret even if short or plain.
    Password,
    /// A token or a key: a prose word is never one.
    Token,
    /// The rest of the line.
    Line,
}

/// Names that matter are not longer than this.
const LONGEST_NAME: usize = 80;

/// Finds the secret assigned by the sign (`=`, `:` or `>`) at this position.
pub(super) fn at_sign(text: &[u8], sign: usize) -> Option<Span> {
    let (name_from, name_end) = name_before(text, sign)?;
    let name = &text[name_from..name_end];
    let kind = kind_of(name)?;
    let (mut at, op) = after_sign(text, sign)?;
    let in_xml = op == b'>';
    if in_xml && !(name_from > 0 && matches!(text[name_from - 1], b'<' | b':')) {
        return None;
    }
    let line_end = shapes::line_end(text, at);
    let spaces = text[at..line_end].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    if spaces > 8 {
        return None;
    }
    at += spaces;
    let span = |start: usize, end: usize| {
        let known = Span { known_from: name_from, start, end, needle: None };
        (end > start && !text[start..end].starts_with(b"[redacted")).then_some(known)
    };
    if kind == ValueKind::Line {
        return (op == b':' && spaces > 0).then(|| header(text, at, line_end, span))?;
    }
    let end_of_xml =
        |from: usize| memchr::memchr(b'<', &text[from..line_end]).map(|end| from + end);
    if in_xml {
        let end = end_of_xml(at)?;
        return is_secret_in_quotes(&text[at..end], kind).then(|| span(at, end))?;
    }
    let (from, quote) = opening(&text[..line_end], at);
    // `PASS: a_test` is a test result, not a password.
    let is_pass = name.eq_ignore_ascii_case(b"pass");
    if is_pass && (quote == Some(b'`') || quote.is_none() && !(op == b'=' && spaces == 0)) {
        return None;
    }
    let closed = quote.filter(|quote| memchr::memchr(*quote, &text[from..line_end]).is_some());
    if let Some(quote) = closed {
        let escaped = from >= 2 && text[from - 2] == b'\\';
        let end = closing(&text[..line_end], from, quote, escaped);
        return is_secret_in_quotes(&text[from..end], kind).then(|| span(from, end))?;
    }
    let is_first = is_first_of_line(text, name_from);
    let is_variable =
        name.iter().all(|byte| byte.is_ascii_uppercase() || !byte.is_ascii_lowercase());
    let whole = op == b'=' && spaces == 0 && is_first && is_variable;
    let at = from;
    let end = end_of_bare(&text[..line_end], at, whole);
    let value = &text[at..end];
    let alone = is_first && text[end..line_end].trim_ascii().is_empty();
    let tight = op == b'=' && spaces == 0;
    is_secret_bare(
        value,
        kind,
        tight,
        alone && (tight || op == b':' || is_variable || kind == ValueKind::Password),
    )
    .then(|| span(at, end))?
}

/// `NAME`, `"name"`, `['name']`, `\"name\"` before the sign.
fn name_before(text: &[u8], sign: usize) -> Option<(usize, usize)> {
    let mut end = sign;
    let back = |end: &mut usize, what: &[u8], most: usize| {
        for _ in 0..most {
            match end.checked_sub(1).map(|at| text[at]) {
                Some(byte) if what.contains(&byte) => *end -= 1,
                _ => break,
            }
        }
    };
    // `:=`, and spaces before it.
    if text[sign] == b'=' {
        back(&mut end, b":", 1);
    }
    back(&mut end, b" \t", 12);
    back(&mut end, b"]", 1);
    back(&mut end, b"\"'`", 1);
    back(&mut end, b"\\", 1);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length =
        text[..end].iter().rev().take(LONGEST_NAME).take_while(|byte| is_name(**byte)).count();
    let mut from = end - length;
    // A line break in a JSON string, or an escape of `printf`.
    if from > 0 && text[from - 1] == b'\\' && matches!(text.get(from), Some(b'n' | b't' | b'r')) {
        from += 1;
    }
    (from < end).then_some((from, end))
}

/// Where the value begins, and after which sign; `None` for a comparison, a path or an address.
fn after_sign(text: &[u8], sign: usize) -> Option<(usize, u8)> {
    let next = text.get(sign + 1).copied().unwrap_or(b'\n');
    let before = sign.checked_sub(1).map_or(b'\n', |at| text[at]);
    match text[sign] {
        b'=' if next == b'>' => Some((sign + 2, b':')),
        b'=' if next == b'=' || b"=!<>+~*%^|&?".contains(&before) => None,
        b':' if matches!(next, b':' | b'=' | b'/') || before == b':' => None,
        b'>' if matches!(before, b'-' | b'=' | b'/') => None,
        op => Some((sign + 1, op)),
    }
}

/// The value of a cookie or credential header.
fn header(
    text: &[u8],
    from: usize,
    line_end: usize,
    span: impl Fn(usize, usize) -> Option<Span>,
) -> Option<Span> {
    let value = &text[from..line_end];
    let end = value.iter().position(|byte| matches!(byte, b'"' | b'\'' | b'\r' | b'\\'));
    let end = from + end.unwrap_or(value.len());
    let value = text[from..end].trim_ascii_end();
    // A credential has a scheme or a key-value pair; a prose word has neither.
    let says = value.contains(&b'=') || value.iter().any(u8::is_ascii_digit) && value.len() >= 8;
    says.then(|| span(from, from + value.len()))?
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Where the quoted value begins, also after a prefix letter as in `b"…"`.
fn opening(text: &[u8], at: usize) -> (usize, Option<u8>) {
    let prefix = usize::from(
        matches!(text.get(at), Some(b'b' | b'r' | b'f' | b'u' | b'@' | b'\\'))
            && text.get(at + 1).is_some_and(|byte| is_quote(*byte)),
    );
    match text.get(at + prefix) {
        Some(quote) if is_quote(*quote) => (at + prefix + 1, Some(*quote)),
        _ => (at, None),
    }
}

fn closing(text: &[u8], from: usize, quote: u8, escaped: bool) -> usize {
    let mut at = from;
    while at < text.len() {
        match text[at] {
            b'\\' if escaped && text.get(at + 1) == Some(&quote) => return at,
            b'\\' if !escaped => at += 1,
            byte if byte == quote => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn is_first_of_line(text: &[u8], name_from: usize) -> bool {
    let line = shapes::line_start(text, name_from);
    let before = text[line..name_from].trim_ascii();
    let before = before.strip_prefix(b"+").unwrap_or(before);
    matches!(before, b"" | b"-" | b"export" | b"declare -x" | b"set" | b"+" | b"\"" | b"'" | b"ENV")
}

fn end_of_bare(text: &[u8], from: usize, whole: bool) -> usize {
    let ends = |byte: &u8| match byte {
        byte if byte.is_ascii_whitespace() => true,
        b'"' | b'\'' | b'`' | b'<' => true,
        b',' | b';' | b'&' | b'|' | b')' | b'}' | b']' | b'>' => !whole,
        b'\\' => true,
        _ => false,
    };
    let end = text[from..].iter().position(ends).map_or(text.len(), |end| from + end);
    // Punctuation that ends a sentence.
    let trimmed = text[from..end].iter().rposition(|byte| !b".,;".contains(byte));
    trimmed.map_or(from, |last| from + last + 1)
}

/// Splits a name into lower-case words: `dbPassword`, `DB_PASSWORD` and `db.password` give the
/// same.
fn words(name: &[u8]) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut before = b'_';
    for byte in name {
        let is_hump = byte.is_ascii_uppercase() && before.is_ascii_lowercase();
        match byte {
            byte if !byte.is_ascii_alphanumeric() => words.push(Vec::new()),
            byte => {
                if is_hump || words.is_empty() {
                    words.push(Vec::new());
                }
                if let Some(word) = words.last_mut() {
                    word.push(byte.to_ascii_lowercase());
                }
            }
        }
        before = *byte;
    }
    words.retain(|word| !word.is_empty());
    // `PASSWORD2`, `token_1`
    if let Some(last) = words.last_mut() {
        let kept = last.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
        last.truncate(kept);
        if last.is_empty() {
            words.pop();
        }
    }
    words
}

/// Words before `key` that make it a secret key.
const KEYS: [&[u8]; 27] = [
    b"api",
    b"access",
    b"secret",
    b"private",
    b"encryption",
    b"signing",
    b"account",
    b"master",
    b"service",
    b"auth",
    b"shared",
    b"storage",
    b"deploy",
    b"webhook",
    b"subscription",
    b"hmac",
    b"aes",
    b"app",
    b"rpc",
    b"admin",
    b"license",
    b"session",
    b"client",
    b"jwt",
    b"preshared",
    b"server",
    b"rsa",
];

/// Words before `KEY` that make the variable harmless.
const HARMLESS_KEYS: [&[u8]; 12] = [
    b"public",
    b"primary",
    b"foreign",
    b"cache",
    b"sort",
    b"partition",
    b"hash",
    b"index",
    b"unique",
    b"registry",
    b"object",
    b"hot",
];

/// Endings of secret names, in lower case.
const ENDINGS: [&[u8]; 21] = [
    b"password",
    b"passwd",
    b"passphrase",
    b"passcode",
    b"passwort",
    b"secret",
    b"secrets",
    b"token",
    b"key",
    b"pwd",
    b"pass",
    b"pw",
    b"credential",
    b"credentials",
    b"auth",
    b"authorization",
    b"cookie",
    b"sig",
    b"signature",
    b"sid",
    b"sessionid",
];

/// Quick check without splitting the name: almost no name belongs to a secret.
fn may_be_secret(name: &[u8]) -> bool {
    let end = name.iter().rposition(u8::is_ascii_alphabetic).map_or(0, |at| at + 1);
    let name = &name[..end];
    let ends = |ending: &[u8]| {
        let from = name.len().checked_sub(ending.len());
        from.is_some_and(|from| name[from..].eq_ignore_ascii_case(ending))
    };
    let last = name.last().map_or(0, |byte| byte | 0x20);
    let may_end =
        matches!(last, b'd' | b'e' | b't' | b's' | b'n' | b'y' | b'w' | b'l' | b'h' | b'g');
    may_end
        && (ENDINGS.iter().any(|ending| ends(ending))
            || ends(b"jwt")
            || ends(b"otp")
            || ends(b"sessid"))
        || last == b'p' && ends(b"otp")
}

/// Suffixes after a secret's name that tell variants apart.
const WHICH: [&[u8]; 9] = [
    b"_base",
    b"_value",
    b"_b64",
    b"_base64",
    b"_raw",
    b"_prod",
    b"_production",
    b"_staging",
    b"_dev",
];

pub(super) fn kind_of(name: &[u8]) -> Option<ValueKind> {
    let shorter = |which: &&[u8]| {
        let rest = name.len().checked_sub(which.len())?;
        name[rest..].eq_ignore_ascii_case(which).then_some(&name[..rest])
    };
    let name = WHICH.iter().find_map(shorter).unwrap_or(name);
    if !may_be_secret(name) || name.eq_ignore_ascii_case(b"oldpwd") || name == b"PWD" {
        return None;
    }
    let words = words(name);
    let last: &[u8] = words.last()?;
    let before: &[u8] = words.len().checked_sub(2).map_or(b"", |at| &words[at]);
    let is_variable = words.len() >= 2 && !name.iter().any(u8::is_ascii_lowercase);
    let ends = |ending: &[u8]| last.ends_with(ending);
    match last {
        b"authorization" => Some(ValueKind::Line),
        b"cookie" if before != b"same" => Some(ValueKind::Line),
        b"pwd" | b"pass" | b"pw" | b"passwort" | b"secrets" | b"credential" | b"credentials" => {
            Some(ValueKind::Password)
        }
        b"auth" if name.starts_with(b"_") || name == b"auth" || is_variable => {
            Some(ValueKind::Token)
        }
        b"key" if KEYS.contains(&before) => Some(ValueKind::Token),
        b"key" if is_variable && !HARMLESS_KEYS.contains(&before) => Some(ValueKind::Token),
        b"sig" | b"signature"
            if words.len() == 1 || matches!(before, b"amz" | b"goog" | b"access") =>
        {
            Some(ValueKind::Token)
        }
        b"phpsessid" | b"jsessionid" | b"sessionid" | b"jwt" | b"otp" => Some(ValueKind::Token),
        b"sid" if before == b"connect" => Some(ValueKind::Token),
        _ if [&b"password"[..], b"passwd", b"passphrase", b"passcode", b"secret"]
            .iter()
            .any(|word| ends(word)) =>
        {
            Some(ValueKind::Password)
        }
        _ if ends(b"token") || ends(b"apikey") || ends(b"secretkey") || ends(b"accesskey") => {
            Some(ValueKind::Token)
        }
        _ if ends(b"privatekey") || ends(b"accountkey") => Some(ValueKind::Token),
        _ => None,
    }
}

/// Words that stand in for a value, in lower case.
const WORDS: [&[u8]; 49] = [
    b"passwd",
    b"pwd",
    b"pass",
    b"none",
    b"null",
    b"nil",
    b"undefined",
    b"true",
    b"false",
    b"yes",
    b"no",
    b"on",
    b"off",
    b"string",
    b"str",
    b"text",
    b"bytes",
    b"number",
    b"int",
    b"integer",
    b"bool",
    b"boolean",
    b"any",
    b"object",
    b"type",
    b"required",
    b"optional",
    b"missing",
    b"invalid",
    b"expired",
    b"empty",
    b"unset",
    b"unknown",
    b"default",
    b"hidden",
    b"redacted",
    b"masked",
    b"placeholder",
    b"self",
    b"this",
    b"ok",
    b"error",
    b"failed",
    b"passed",
    b"password",
    b"token",
    b"secret",
    b"option",
    b"value",
];

fn is_word(value: &[u8]) -> bool {
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// True if the value only refers to a secret or masks one.
fn is_stand_in(value: &[u8]) -> bool {
    let is_hash =
        value.starts_with(b"$2") || value.starts_with(b"$6$") || value.starts_with(b"$y$");
    let all = |byte: u8| value.iter().all(|other| *other == byte);
    value.starts_with(b"$") && !is_hash
        || value.starts_with(b"{{")
        || value.starts_with(b"<")
        || value.starts_with(b"%(")
        || value.starts_with(b"%s")
        || value.starts_with(b"***")
        || value.starts_with("…".as_bytes())
        || value.starts_with("•".as_bytes())
        || value.starts_with(b"...")
        || value.starts_with(b"xxxx")
        || value.starts_with(b"[redacted")
        || [&b"{}"[..], b"{0", b"${", b"#{", b"%s"]
            .iter()
            .any(|hole| memchr::memmem::find(value, hole).is_some())
        || all(b'*')
        || all(b'x')
        || all(b'.')
}

fn has(value: &[u8], what: fn(&u8) -> bool) -> bool {
    value.iter().any(what)
}

fn is_secret_in_quotes(value: &[u8], kind: ValueKind) -> bool {
    if is_word(value) || is_stand_in(value) {
        return false;
    }
    let n_spaces = value.iter().filter(|byte| **byte == b' ').count();
    match kind {
        ValueKind::Line => false,
        ValueKind::Password => value.len() >= 3 && !(n_spaces >= 1 && is_said(value)),
        ValueKind::Token => {
            let is_random = has(value, u8::is_ascii_digit)
                || has(value, u8::is_ascii_lowercase) && has(value, u8::is_ascii_uppercase);
            n_spaces == 0 && value.len() >= 8 && (is_random && !is_code(value) || value.len() >= 24)
        }
    }
}

/// A sentence about a password, not a passphrase that people would use.
fn is_said(value: &[u8]) -> bool {
    const SAYS: [&[u8]; 17] = [
        b"must",
        b"is",
        b"required",
        b"cannot",
        b"should",
        b"the",
        b"your",
        b"enter",
        b"not",
        b"incorrect",
        b"invalid",
        b"wrong",
        b"for",
        b"please",
        b"with",
        b"field",
        b"reset",
    ];
    value
        .split(|byte| *byte == b' ')
        .any(|word| SAYS.iter().any(|says| word.eq_ignore_ascii_case(says)))
}

/// An identifier, a path of identifiers or a call, not a value.
fn is_code(value: &[u8]) -> bool {
    let is_name =
        |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b':' | b'-');
    value.iter().all(is_name)
        || value.windows(2).any(|pair| pair == b"::")
        || value.contains(&b'(')
        || value.contains(&b'[') && !value.starts_with(b"[")
}

fn is_secret_bare(value: &[u8], kind: ValueKind, tight: bool, alone: bool) -> bool {
    let first = value.first().copied().unwrap_or(b' ');
    if is_word(value) || is_stand_in(value) || b"({[!&/~@|".contains(&first) && !alone {
        return false;
    }
    if value.starts_with(b"/") || value.starts_with(b"./") || value.starts_with(b"~/") {
        return false;
    }
    let is_number = value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let is_plain = value.iter().all(u8::is_ascii_alphabetic);
    match kind {
        ValueKind::Line => false,
        ValueKind::Password if is_number => tight && value.len() >= 4,
        ValueKind::Password if is_code(value) && !is_plain => {
            tight && alone && !value.contains(&b'(')
        }
        ValueKind::Password if is_plain => value.len() >= 4 && (alone || tight),
        ValueKind::Password => value.len() >= 4,
        ValueKind::Token => {
            let is_random = has(value, u8::is_ascii_digit) && has(value, u8::is_ascii_alphabetic);
            let is_long = tight && value.len() >= 16 && !value.contains(&b'(');
            value.len() >= 8
                && (is_random && !is_code(value) || is_long && (alone || !is_code(value)))
        }
    }
}
