//! Just enough of an HTTP server for `git http-backend`: one request for each connection.

use super::programs::Programs;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;

/// How a body is delimited.
#[derive(Clone, Copy)]
enum Body {
    Length(u64),
    Chunks,
}

/// Answers the request of a connection; a broken one has no answer.
pub(super) fn answer(stream: UnixStream, programs: &Programs) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut backend = programs.git("git-http-backend");
    backend.env("GIT_PROJECT_ROOT", programs.served()).env("GIT_HTTP_EXPORT_ALL", "1");
    if let Some(body) = read_head(&mut reader, &mut backend) {
        drop(run(&mut backend, reader, body, &stream));
    }
    drop(stream.shutdown(Shutdown::Both));
}

/// Reads the head of a request into the variables of CGI; `None` if it ends early.
fn read_head(reader: &mut impl BufRead, backend: &mut Command) -> Option<Body> {
    let first = line(reader)?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    backend.env("REQUEST_METHOD", method).env("PATH_INFO", path).env("QUERY_STRING", query);
    let mut body = Body::Length(0);
    loop {
        let header = line(reader)?;
        let Some((name, value)) = header.split_once(':') else { return Some(body) };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                body = Body::Length(value.parse().ok()?);
                backend.env("CONTENT_LENGTH", value);
            }
            "transfer-encoding" => body = Body::Chunks,
            "content-type" => drop(backend.env("CONTENT_TYPE", value)),
            // The backend unpacks the body.
            "content-encoding" => drop(backend.env("HTTP_CONTENT_ENCODING", value)),
            "git-protocol" => drop(backend.env("GIT_PROTOCOL", value)),
            _ => {}
        }
    }
}

/// Feeds the backend in a thread, since it may answer before it has read everything.
fn run(
    backend: &mut Command,
    mut reader: impl BufRead + Send,
    body: Body,
    mut stream: &UnixStream,
) -> std::io::Result<()> {
    backend.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = backend.spawn()?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let pid = Pid::from_child(&child);
    let answered = thread::scope(|scope| {
        scope.spawn(move || {
            let is_whole = match body {
                Body::Length(length) => {
                    let copied = std::io::copy(&mut reader.by_ref().take(length), &mut stdin);
                    copied.is_ok_and(|copied| copied == length)
                }
                Body::Chunks => copy_chunks(&mut reader, &mut stdin),
            };
            // Measured with 2.47: the backend waits for the rest of a body in a loop without an end.
            if !is_whole {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        let (mut status, mut headers) = ("200 OK".to_owned(), String::new());
        while let Some(header) = line(&mut stdout).filter(|header| !header.is_empty()) {
            match header.strip_prefix("Status: ") {
                Some(given) => status = given.to_owned(),
                None => headers.push_str(&format!("{header}\r\n")),
            }
        }
        let head = format!("HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n");
        let answered = stream
            .write_all(head.as_bytes())
            .and_then(|()| std::io::copy(&mut stdout, &mut stream).map(drop));
        // A backend that is not read any more ends, and so does the wait for the rest of a body.
        drop((stdout, stream.shutdown(Shutdown::Both)));
        answered
    });
    child.wait()?;
    answered
}

/// True if the last chunk came.
fn copy_chunks(reader: &mut impl BufRead, to: &mut impl Write) -> bool {
    loop {
        match copy_chunk(reader, to) {
            Some(0) => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

/// The size of a whole chunk.
fn copy_chunk(reader: &mut impl BufRead, to: &mut impl Write) -> Option<u64> {
    let size = u64::from_str_radix(line(reader)?.split(';').next()?, 16).ok()?;
    let copied = std::io::copy(&mut reader.by_ref().take(size), to).ok()?;
    line(reader).filter(|_| copied == size).map(|_| size)
}

/// A whole line, without its end.
fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.ends_with('\n').then(|| line.trim_end().to_owned())
}
