//! The part of HTTP/1.1 that the client speaks to the Messages API: a head, a body of stated
//! length, one answer.
//!
//! Every answer closes its connection, which HTTP allows and which ends a
//! stream without chunked coding.

use std::io::{BufRead, BufReader, Read, Write};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Larger than any conversation in a test; the limit keeps a stray peer from filling the memory.
const MAX_BODY_BYTES: usize = 256 << 20;

pub(super) struct HttpCall {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in lower case, in the order of arrival.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

pub(super) fn read_call(connection: &mut impl Read) -> Result<HttpCall> {
    let mut reader = BufReader::new(connection);
    let first = read_line(&mut reader)?;
    let mut words = first.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        bail!("could not read the request line `{first}`");
    };
    let headers = read_headers(&mut reader)?;
    let mut body = vec![0; body_length(&headers)?];
    reader.read_exact(&mut body).context("could not read the request's body")?;
    Ok(HttpCall { method: method.to_owned(), path: path.to_owned(), headers, body })
}

pub(super) fn write_json(
    to: &mut impl Write,
    status: u16,
    body: &Value,
    with_body: bool,
) -> Result<()> {
    let body = body.to_string();
    write_head(to, status, "application/json", Some(body.len()))?;
    if with_body {
        to.write_all(body.as_bytes()).context("could not send an answer")?;
    }
    to.flush().context("could not send an answer")
}

/// Writes an error with extra headers, which tell the client about rate limits.
pub(super) fn write_error(
    to: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
    body: &Value,
) -> Result<()> {
    let lines = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n{}content-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        lines.collect::<String>(),
        body.len()
    );
    to.write_all(answer.as_bytes()).context("could not send an error")?;
    to.flush().context("could not send an error")
}

/// A stream has no length: the end of the connection ends its body.
pub(super) fn write_head(
    to: &mut impl Write,
    status: u16,
    kind: &str,
    length: Option<usize>,
) -> Result<()> {
    let length = length.map(|n| format!("content-length: {n}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\n{length}connection: close\r\n\r\n"
    );
    to.write_all(head.as_bytes()).context("could not send the head of an answer")
}

fn read_line(reader: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line).context("could not read a request's head")?;
    Ok(line.trim_end().to_owned())
}

fn read_headers(reader: &mut impl BufRead) -> Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader)?;
        match line.split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()))
            }
            None => return Ok(headers),
        }
    }
}

fn body_length(headers: &[(String, String)]) -> Result<usize> {
    let Some((_, length)) = headers.iter().find(|(name, _)| name == "content-length") else {
        return Ok(0);
    };
    let length: usize =
        length.parse().with_context(|| format!("could not read content-length `{length}`"))?;
    if length > MAX_BODY_BYTES {
        bail!("could not take a body of {length} bytes: at most {MAX_BODY_BYTES} are accepted");
    }
    Ok(length)
}
