//! Texts on their way to a person, a file or the model: without secrets, control characters or
//! more letters than they may have. Input: two secrets, and the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::protocol::event::HookEvent;
use ralph_core::protocol::reply::{GoOnForm, Reply};
use ralph_core::text::truncate::bounded;
use ralph_core::text::{sanitize, secrets::Redactor, truncate};
use ralph_fuzz::{cuts, is_plain, parts};
use serde_json::Value;

fn redact(secrets: &[(&str, &[u8])], pieces: &[&[u8]]) -> Vec<u8> {
    let mut redactor = Redactor::new(secrets.iter().copied());
    let mut out = Vec::new();
    pieces.iter().for_each(|piece| redactor.feed(piece, &mut out));
    redactor.finish(&mut out);
    out
}

fn check_redaction(one: &[u8], other: &[u8], text: &[u8]) {
    let all = [("ONE_KEY", one), ("OTHER_TOKEN", other)];
    let secrets: Vec<_> = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    // Of two equal values either name will do, and which is no promise.
    if one == other {
        return;
    }
    let whole = redact(&secrets, &[text]);
    for pieces in cuts(text) {
        assert_eq!(redact(&secrets, &pieces), whole, "wherever it was split");
    }
    // A mark may hold a value of few letters.
    let is_left = |value: &[u8]| whole.windows(value.len()).any(|window| window == value);
    let long = secrets.iter().filter(|(_, value)| value.len() > 20 && !value.contains(&b'['));
    long.for_each(|(_, value)| assert!(!is_left(value), "a value is left"));
}

fn check_plain(text: &[u8]) {
    for letters in [0, 1, 40, 4000] {
        let end = sanitize::end_of(text, letters);
        assert!(is_plain(&end), "{end:?}");
        assert!(end.chars().count() <= letters);
        assert_eq!(sanitize::end_of(end.as_bytes(), letters), end.trim_end(), "plain text stays");
    }
    let text = String::from_utf8_lossy(text);
    let tail = truncate::tail(&text, 30);
    assert!(!tail.contains('\n') && tail.chars().count() <= 31);
    for shown in
        [ralph::fuzzing::visible(&text), ralph_io::store::fuzzing::readable(text.as_bytes())]
    {
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
    }
    let lines = ralph::fuzzing::visible_lines(&text);
    assert!(is_plain(&lines) && !lines.contains('\t'));
}

fn check_replies(text: &str) {
    for limit in [1, 2, 30, 10_000] {
        let kept = bounded(text, limit);
        assert!(kept.encode_utf16().count() <= limit);
        assert!(
            kept == text || text.starts_with(kept.strip_suffix('…').expect("a cut one says so"))
        );
    }
    let replies = [
        Reply::context(HookEvent::SessionStart, text),
        Reply::go_on(HookEvent::Stop, GoOnForm::for_client(text), text),
        Reply::keep_from_model(text).tell(text),
        Reply::deny(text),
        Reply::cut(text),
        Reply::keep_from_model(text),
    ];
    for reply in replies {
        let line = reply.render().expect("it says something");
        assert!(!line.contains(['\n', '\r']), "one line");
        let value: Value = serde_json::from_str(&line).expect("one object");
        let both = value["decision"] == "block" && value["continue"] == false;
        assert!(value.is_object() && !both, "a block never carries `continue: false`");
    }
}

fuzz_target!(|data: &[u8]| {
    let [one, other, text] = parts(data);
    check_redaction(one, other, text);
    check_plain(text);
    check_replies(&String::from_utf8_lossy(text));
});
