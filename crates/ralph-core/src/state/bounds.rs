//! What the commands of a sandboxed loop may write, read and reach. `project::bounds` makes the
//! value when the loop starts; it stays as it is until the loop ends.

use serde::{Deserialize, Serialize};

/// The bounds of the client's commands, the criteria, the checks, the facts and the git hooks of one
/// loop. Everything is readable that no entry denies, and nothing is writable that no entry allows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// Absolute paths of folders that may be written, besides a temporary folder for each command.
    /// The project comes first.
    pub write: Vec<String>,
    /// Absolute paths that do not exist inside.
    pub read_deny: Vec<String>,
    /// Absolute paths inside `write` that must not be written; they need not exist.
    pub write_deny: Vec<String>,
    /// Hosts that may be reached: a name, `*.` and a name, or either with `:PORT`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Ports on the loopback address of the machine that may be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u32>,
    /// Absolute paths of Unix sockets that may be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
}

impl Bounds {
    /// The list with which the proxy decides on a host and its port.
    pub fn allows_host(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.hosts.iter().any(|listed| {
            let (name, only) = match listed.rsplit_once(':') {
                Some((name, number)) if !name.contains(':') => (name, Some(number)),
                _ => (listed.as_str(), None),
            };
            let name = name.to_ascii_lowercase();
            let same = match name.strip_prefix("*.") {
                Some(parent) => host
                    .strip_suffix(parent)
                    .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
                None => host == name,
            };
            same && only.is_none_or(|only| only == port.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listed: &str, host: &str, port: u16, expected: bool) {
        let bounds = Bounds { hosts: vec![listed.to_owned()], ..Bounds::default() };
        assert_eq!(bounds.allows_host(host, port), expected, "{listed} {host}:{port}");
    }

    #[test]
    fn a_host_is_matched_by_its_whole_name_and_a_star_stands_for_what_is_below() {
        check("example.com", "EXAMPLE.com.", 443, true);
        check("example.com", "evil-example.com", 443, false);
        check("example.com", "a.example.com", 443, false);
        check("example.com", "example.com.evil.org", 443, false);
        check("*.example.com", "a.b.example.com", 443, true);
        check("*.example.com", "example.com", 443, false);
        check("*.example.com", "evilexample.com", 443, false);
        check("example.com:443", "example.com", 443, true);
        check("example.com:443", "example.com", 80, false);
        check("example.com:x", "example.com", 80, false);
    }
}
