//! The way out of the bounds: a proxy for the listed hosts, and listed ports of this machine.
//!
//! Runs outside, on listeners that were opened inside. It speaks `CONNECT` and plain HTTP, one
//! request for each connection. A listed name that leads to this machine or to its link is refused,
//! unless the list says so: the owner of the name chooses where it leads.

use ralph_core::state::Bounds;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONGEST_HEAD: u64 = 64 * 1024;
const TO_CONNECT: Duration = Duration::from_secs(20);
/// Different hosts that are reported.
const MOST_REFUSED: usize = 10;

pub(super) fn serve(
    listener: &TcpListener,
    bounds: &Arc<Bounds>,
    refused: &Arc<Mutex<Vec<String>>>,
) {
    for client in listener.incoming().flatten() {
        let (bounds, refused) = (Arc::clone(bounds), Arc::clone(refused));
        std::thread::spawn(move || answer(client, &bounds, &refused));
    }
}

/// Connects a port inside with the same port of this machine.
pub(super) fn forward(listener: &TcpListener, port: u16) {
    for client in listener.incoming().flatten() {
        std::thread::spawn(move || {
            let targets = [
                SocketAddr::from(([127, 0, 0, 1], port)),
                SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, port)),
            ];
            let target = targets.iter().find_map(|to| TcpStream::connect(to).ok())?;
            relay(client, target);
            Some(())
        });
    }
}

/// A parsed request.
#[derive(Debug, PartialEq, Eq)]
struct ProxyRequest {
    host: String,
    port: u16,
    /// What goes to the host in place of the head; `None` for `CONNECT`.
    head: Option<Vec<u8>>,
}

fn answer(client: TcpStream, bounds: &Bounds, refused: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let head = head(&mut reader)?;
    let mut client = client;
    let Some(request) = parse(&head) else {
        let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        return None;
    };
    let ProxyRequest { host, port, head } = request;
    if !bounds.allows_host(&host, port) {
        note(refused, &host);
        let text = format!("ralph: `{host}` is not one of the hosts that this loop may reach\n");
        let _ = write!(
            client,
            "HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        );
        return None;
    }
    let Some(mut target) = connect(&host, port) else {
        let _ = client.write_all(
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
        return None;
    };
    match head {
        Some(head) => target.write_all(&head).ok()?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").ok()?,
    }
    // What came with the head.
    target.write_all(reader.buffer()).ok()?;
    relay(client, target);
    Some(())
}

fn note(refused: &Mutex<Vec<String>>, host: &str) {
    let text = format!(
        "it tried to reach `{host}`; to allow it: `hosts = [\"{host}\"]` below `[sandbox]`"
    );
    if let Ok(mut all) = refused.lock()
        && all.len() < MOST_REFUSED
        && !all.contains(&text)
    {
        all.push(text);
    }
}

/// Reads up to the empty line; `None` if it is too long or the client is gone.
fn head(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let mut bounded = reader.take(LONGEST_HEAD);
    loop {
        let begin = head.len();
        if bounded.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
        if matches!(&head[begin..], b"\r\n" | b"\n") {
            return Some(head);
        }
    }
}

fn parse(head: &[u8]) -> Option<ProxyRequest> {
    let head = std::str::from_utf8(head).ok()?;
    let (line, rest) = head.split_once('\n')?;
    let mut words = line.trim_end().split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if method == "CONNECT" {
        let (host, port) = host_and_port(target, None)?;
        return Some(ProxyRequest { host, port, head: None });
    }
    let target = target.strip_prefix("http://")?;
    let (place, path) = target.find('/').map_or((target, "/"), |at| target.split_at(at));
    let (host, port) = host_and_port(place, Some(80))?;
    let mut ours = format!("{method} {path} {version}\r\n");
    for header in rest.lines().filter(|line| !line.is_empty()) {
        let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if !matches!(name.as_str(), "connection" | "proxy-connection" | "proxy-authorization") {
            ours.push_str(header);
            ours.push_str("\r\n");
        }
    }
    ours.push_str("Connection: close\r\n\r\n");
    Some(ProxyRequest { host, port, head: Some(ours.into_bytes()) })
}

fn host_and_port(place: &str, default: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (place, default),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_' | ':');
    (!host.is_empty() && host.chars().all(is_plain)).then(|| Some((host.to_owned(), port?)))?
}

fn connect(host: &str, port: u16) -> Option<TcpStream> {
    let is_said = host.parse::<IpAddr>().is_ok() || host.eq_ignore_ascii_case("localhost");
    let found = (host, port).to_socket_addrs().ok()?;
    let mut fitting = found.filter(|address| is_said || !is_of_this_machine(address.ip()));
    fitting.find_map(|address| TcpStream::connect_timeout(&address, TO_CONNECT).ok())
}

fn is_of_this_machine(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local() || v4.is_unspecified(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_unicast_link_local(),
    }
}

/// Copies in both directions until both have ended.
fn relay(client: TcpStream, target: TcpStream) {
    let (Ok(mut from_client), Ok(mut to_client)) = (client.try_clone(), client.try_clone()) else {
        return;
    };
    let (Ok(mut from_target), Ok(mut to_target)) = (target.try_clone(), target.try_clone()) else {
        return;
    };
    let up = std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_target);
        let _ = to_target.shutdown(Shutdown::Write);
    });
    let _ = std::io::copy(&mut from_target, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Write);
    let _ = up.join();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(head: &str) -> Option<(String, u16, Option<String>)> {
        let request = parse(head.as_bytes())?;
        let head = request.head.map(|head| String::from_utf8(head).unwrap());
        Some((request.host, request.port, head))
    }

    #[test]
    fn a_request_names_its_host_and_is_passed_on_for_that_host_alone() {
        let tunnel = parsed("CONNECT example.com:443 HTTP/1.1\r\nHost: other\r\n\r\n");
        assert_eq!(tunnel, Some(("example.com".to_owned(), 443, None)));
        let (host, port, head) = parsed(
            "GET http://example.com/a?b HTTP/1.1\r\nHost: example.com\r\nProxy-Connection: keep-alive\r\n\r\n",
        )
        .unwrap();
        assert_eq!((host.as_str(), port), ("example.com", 80));
        let expected = "GET /a?b HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";
        assert_eq!(head.as_deref(), Some(expected));
    }

    #[test]
    fn a_request_without_a_plain_host_is_refused() {
        for head in [
            "GET /a HTTP/1.1\r\n\r\n",
            "CONNECT example.com HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
            "GET http://user@example.com/ HTTP/1.1\r\n\r\n",
            "GET http:///a HTTP/1.1\r\n\r\n",
            "CONNECT a\tb:443 HTTP/1.1\r\n\r\n",
            "\r\n",
        ] {
            assert_eq!(parsed(head), None, "{head:?}");
        }
    }

    #[test]
    fn a_name_that_leads_to_this_machine_is_refused_unless_it_says_so() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "0.0.0.0"] {
            assert!(is_of_this_machine(address.parse().unwrap()), "{address}");
        }
        assert!(!is_of_this_machine("93.184.215.14".parse().unwrap()));
    }
}
