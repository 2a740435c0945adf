//! The redactor on whole streams: secrets in each shape, and text that only resembles one.

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
