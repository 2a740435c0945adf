//! Finds secrets by their shape in one pass over a block of text.

use super::assigned::{self, ValueKind};
use super::{Span, tokens};

/// Returns every secret in the text, in no order. `before` is the byte before the text.
pub(super) fn find(text: &[u8], before: u8) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    let mut previous = before;
    while let Some(byte) = text.get(at).copied() {
        let starts = !(previous.is_ascii_alphanumeric() || previous == b'_');
        let found = match byte {
            b'=' => assigned::at_sign(text, at),
            // An XML tag ends in a letter before the bracket.
            b'>' if previous.is_ascii_alphanumeric() => assigned::at_sign(text, at),
            b':' => address(text, at).or_else(|| assigned::at_sign(text, at)),
            b'-' if text[at..].starts_with(b"-----BEGIN ") => private_key(text, at),
            b'-' if previous.is_ascii_whitespace() => flag(text, at),
            b'$' if starts => crypt(text, at),
            b'P' if starts && text[at..].starts_with(b"Private-Lines: ") => putty(text, at),
            b'h' if text[at..].starts_with(b"hooks.slack.com/") => web_hook(text, at),
            b'a' if text[at..].starts_with(b"api/webhooks/") => web_hook(text, at),
            b'0'..=b'9' if starts => bot(text, at),
            b'Q' if text[at..].starts_with(b"Q~") => azure(text, at),
            byte if starts && byte.is_ascii_alphabetic() => word(text, at, byte),
            _ => None,
        };
        match found {
            Some(span) => {
                // Whatever begins inside a secret is part of it.
                at = span.end.max(at + 1);
                previous = text[at - 1];
                spans.push(span);
            }
            None => {
                previous = byte;
                at += 1;
            }
        }
    }
    spans
}

fn span(known_from: usize, start: usize, end: usize) -> Option<Span> {
    (start < end).then_some(Span { known_from, start, end, needle: None })
}

/// A secret and its name are on one line, within this many bytes. Without the bound, each sign in a
/// line that has no break would cost a search to the end of that line.
const LINE: usize = super::AHEAD;

/// The end of the line that contains this position.
pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    let most = text.len().min(at + LINE);
    memchr::memchr(b'\n', &text[at..most]).map_or(most, |end| at + end)
}

/// The start of the line that contains this position.
pub(super) fn line_start(text: &[u8], at: usize) -> usize {
    let least = at.saturating_sub(LINE);
    memchr::memrchr(b'\n', &text[least..at]).map_or(least, |line| least + line + 1)
}

fn run(text: &[u8], at: usize, is_in: impl Fn(u8) -> bool) -> usize {
    at + text[at..].iter().take_while(|byte| is_in(**byte)).count()
}

/// A token, a scheme with its credential, or a name separated from its value by a space.
fn word(text: &[u8], at: usize, first: u8) -> Option<Span> {
    if tokens::may_begin(first)
        && let Some(length) = tokens::length(&text[at..])
    {
        return span(at, at, at + length);
    }
    match first {
        b'b' | b'B' => scheme(text, at, b"bearer").or_else(|| scheme(text, at, b"basic")),
        b'p' | b'P' => spoken(text, at, b"password"),
        b'i' | b'I' => spoken(text, at, b"identified by"),
        b'm' if text[at..].starts_with(b"machine ") => machine(text, at),
        _ => pgpass(text, at),
    }
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
}

/// `Bearer …`, `Basic …`
fn scheme(text: &[u8], at: usize, name: &[u8]) -> Option<Span> {
    if !starts_with(&text[at..], name) || text.get(at + name.len()) != Some(&b' ') {
        return None;
    }
    let from = at + name.len() + 1;
    let end = run(text, from, |byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
    let value = &text[from..end];
    let is_random = value.iter().any(u8::is_ascii_digit)
        || value.ends_with(b"=")
        || value.len() >= 12
            && value.iter().any(u8::is_ascii_uppercase)
            && value[1..].iter().any(u8::is_ascii_uppercase)
            && value.iter().any(u8::is_ascii_lowercase);
    // `Basic 2` and `basic auth2` are not credentials.
    (is_random && value.len() >= 8).then(|| span(at, from, end))?
}

/// `PASSWORD '…'`, and the line `password …` of a `.netrc`.
fn spoken(text: &[u8], at: usize, name: &[u8]) -> Option<Span> {
    if !starts_with(&text[at..], name) || !matches!(text.get(at + name.len()), Some(b' ' | b'\t')) {
        return None;
    }
    let from = at + name.len() + 1;
    let end = line_end(text, from);
    if let Some(quote) = text.get(from).filter(|byte| matches!(byte, b'\'' | b'"')) {
        let close = memchr::memchr(*quote, &text[from + 1..end])?;
        let value = &text[from + 1..from + 1 + close];
        let is_one = value.len() >= 3 && !value.contains(&b' ') && name != b"password"
            || value.len() >= 4 && value.iter().any(|byte| !byte.is_ascii_lowercase());
        return is_one.then(|| span(at, from + 1, from + 1 + close))?;
    }
    let start = line_start(text, at);
    let before = text[start..at].trim_ascii();
    let is_netrc =
        before.is_empty() || before.starts_with(b"login ") || before.starts_with(b"user ");
    let stop = run(text, from, |byte| !byte.is_ascii_whitespace());
    let value = &text[from..stop];
    let is_alone = text[stop..end].trim_ascii().is_empty();
    let is_random = value.iter().any(|byte| !byte.is_ascii_alphabetic());
    let last = value.last().copied().unwrap_or(b'.');
    let is_one = is_netrc && is_alone && name == b"password" && value.len() >= 4;
    (is_one && !b".:,!?".contains(&last) && (is_random || !before.is_empty()))
        .then(|| span(at, from, stop))?
}

/// A line of a `.netrc`: `machine H login U password P`.
fn machine(text: &[u8], at: usize) -> Option<Span> {
    let line = &text[at..line_end(text, at)];
    let found = memchr::memmem::find(line, b" password ")?;
    let from = at + found + b" password ".len();
    let end = run(text, from, |byte| !byte.is_ascii_whitespace());
    span(at, from, end)
}

/// A line of a `.pgpass`: `host:port:database:user:password`.
fn pgpass(text: &[u8], at: usize) -> Option<Span> {
    if at > 0 && text[at - 1] != b'\n' {
        return None;
    }
    let line = &text[at..line_end(text, at)];
    // Almost no line is this short and has this many colons.
    if line.len() > 300 || line.iter().any(u8::is_ascii_whitespace) {
        return None;
    }
    let parts: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
    let [host, port, database, user, password] = parts[..] else { return None };
    let is_port = port == b"*" || port.len() >= 4 && port.iter().all(u8::is_ascii_digit);
    let is_host = !host.contains(&b'/') && is_port && !database.is_empty() && !user.is_empty();
    let from = at + line.len() - password.len();
    (is_host && password.len() >= 4).then(|| span(at, from, from + password.len()))?
}

/// `--password …`, `--token …`, and `-u user:…` of curl.
fn flag(text: &[u8], at: usize) -> Option<Span> {
    let end = line_end(text, at);
    let name_end =
        run(&text[..end], at, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if text.get(name_end) != Some(&b' ') {
        return None;
    }
    let name = &text[at..name_end];
    let quote = text.get(name_end + 1).filter(|byte| matches!(byte, b'"' | b'\'')).copied();
    let from = name_end + 1 + usize::from(quote.is_some());
    let stop = run(&text[..end], from, |byte| match quote {
        Some(quote) => byte != quote,
        None => !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b')' | b'`'),
    });
    let value = &text[from..stop];
    if value.is_empty() || b"-<[$({".contains(&value[0]) || value.starts_with(b"***") {
        return None;
    }
    if matches!(name, b"-u" | b"--user" | b"--proxy-user" | b"--creds") {
        let line = line_start(text, at);
        let is_curl = ["curl", "http", "wget", "nats"]
            .iter()
            .any(|word| memchr::memmem::find(&text[line..at], word.as_bytes()).is_some());
        let colon = memchr::memchr(b':', value).filter(|_| is_curl)?;
        return span(at, from + colon + 1, stop);
    }
    if name == b"-p" {
        let line = line_start(text, at);
        let is_pass = memchr::memmem::find(&text[line..at], b"sshpass").is_some();
        return is_pass.then(|| span(at, from, stop))?;
    }
    let kind = name.starts_with(b"--").then(|| assigned::kind_of(&name[2..]))??;
    let is_plain =
        value.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.'));
    let is_one = match kind {
        ValueKind::Password => quote.is_some() && value.len() >= 3 || !is_plain && value.len() >= 4,
        ValueKind::Token => value.len() >= 8 && value.iter().any(u8::is_ascii_digit),
        ValueKind::Line => false,
    };
    (is_one && !value.starts_with(b"/") && !value.contains(&b'=')).then(|| span(at, from, stop))?
}

/// The password before the host of an address, or a token in place of the user name.
fn address(text: &[u8], at: usize) -> Option<Span> {
    if !text[at..].starts_with(b"://") {
        return None;
    }
    let from = at + 3;
    let ends = |byte: u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
    };
    let end = run(text, from, |byte| !ends(byte));
    let host = memchr::memrchr(b'@', &text[from..end])?;
    let user = &text[from..from + host];
    match memchr::memchr(b':', user) {
        Some(colon) => {
            let password = &user[colon + 1..];
            let is_hidden = password.starts_with(b"$")
                || password.starts_with(b"{")
                || password.starts_with(b"[redacted")
                || password.iter().all(|byte| *byte == b'*');
            (!is_hidden).then(|| span(at, from + colon + 1, from + host))?
        }
        None => {
            let is_token = user.len() >= 16 && user.iter().any(u8::is_ascii_digit);
            is_token.then(|| span(at, from, from + host))?
        }
    }
}

/// A whole key block, to its end or for as long as it can be one.
fn private_key(text: &[u8], at: usize) -> Option<Span> {
    let label_from = at + b"-----BEGIN ".len();
    let label_end = label_from
        + memchr::memmem::find(
            text[label_from..].get(..60.min(text.len() - label_from))?,
            b"-----",
        )?;
    let label = &text[label_from..label_end];
    memchr::memmem::find(label, b"PRIVATE KEY")?;
    let from = label_end + 5;
    let most = text.len().min(from + super::AHEAD);
    let closing = memchr::memmem::find(&text[from..most], b"-----END ");
    let is_body = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || byte.is_ascii_whitespace()
            || b"+/=\\\"',:-|>#*".contains(&byte)
    };
    let end = match closing {
        Some(closing) => {
            let tail = from + closing + 9;
            let line = memchr::memmem::find(&text[tail..text.len().min(tail + 60)], b"-----");
            line.map_or(tail, |line| tail + line + 5)
        }
        None => run(&text[..most], from, is_body),
    };
    span(at, at, end)
}

/// The lines of a PuTTY key, whose count comes first.
fn putty(text: &[u8], at: usize) -> Option<Span> {
    let from = at + b"Private-Lines: ".len();
    let end = line_end(text, from);
    let number: usize = std::str::from_utf8(text[from..end].trim_ascii()).ok()?.parse().ok()?;
    let mut stop = end;
    for _ in 0..number.min(200) {
        stop = line_end(text, (stop + 1).min(text.len()));
    }
    span(at, (end + 1).min(stop), stop)
}

/// The hash of a password: `$6$…`, `$2b$…`, `$argon2id$…`
fn crypt(text: &[u8], at: usize) -> Option<Span> {
    let kinds =
        [&b"$1$"[..], b"$2a$", b"$2b$", b"$2y$", b"$5$", b"$6$", b"$y$", b"$argon2", b"$apr1$"];
    kinds.iter().find(|kind| text[at..].starts_with(kind))?;
    let end = run(text, at, |byte| byte.is_ascii_alphanumeric() || b"$./=,+".contains(&byte));
    (end - at >= 30).then(|| span(at, at, end))?
}

/// The path after the host of a webhook.
fn web_hook(text: &[u8], at: usize) -> Option<Span> {
    let slash = memchr::memchr(b'/', &text[at..])? + at + 1;
    let end = run(text, slash, |byte| byte.is_ascii_alphanumeric() || b"/_-+".contains(&byte));
    (end - slash >= 30).then(|| span(at, slash, end))?
}

/// A Telegram bot token: a number, a colon and 35 letters.
fn bot(text: &[u8], at: usize) -> Option<Span> {
    let colon = run(text, at, |byte| byte.is_ascii_digit());
    if !(8..=10).contains(&(colon - at)) || text.get(colon..colon + 3) != Some(b":AA") {
        return pgpass(text, at);
    }
    let end =
        run(text, colon + 1, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    (end - colon >= 33).then(|| span(at, at, end))?
}

/// An Azure application secret: `…Q~…`
fn azure(text: &[u8], at: usize) -> Option<Span> {
    let is_in = |byte: u8| byte.is_ascii_alphanumeric() || b"_~.-".contains(&byte);
    let from = at.checked_sub(4)?;
    let end = run(text, at, is_in);
    let is_one = text[from..at].iter().all(|byte| is_in(*byte)) && text[at - 1].is_ascii_digit();
    (is_one && end - at >= 32).then(|| span(from, from, end))?
}
