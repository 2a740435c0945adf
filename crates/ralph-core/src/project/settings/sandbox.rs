//! The section `[sandbox]`: what a project's commands need beyond the default bounds of a sandboxed
//! loop, or must not have.
//!
//! A cloned repository must not widen the bounds: without trust, a project only denies more.

use serde::{Deserialize, Serialize};

/// The section `[sandbox]`. Paths are absolute, or begin with `~/`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSettings {
    /// Further folders that commands may write, such as a cache.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Further paths that commands must not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read_deny: Vec<String>,
    /// Hosts that commands may reach: `example.com`, `*.example.com`, or either with `:PORT`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Ports on this machine that commands may reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Unix sockets that commands may reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
}

impl SandboxSettings {
    pub(super) fn refused(&self) -> Option<String> {
        let paths =
            [("write", &self.write), ("read_deny", &self.read_deny), ("sockets", &self.sockets)];
        for (name, listed) in paths {
            if let Some(path) = listed.iter().find(|path| !is_path(path)) {
                return Some(format!(
                    "`sandbox.{name}` takes absolute paths and paths below `~/`, not `{path}`"
                ));
            }
        }
        if let Some(host) = self.hosts.iter().find(|host| !is_host(host)) {
            return Some(format!("`sandbox.hosts` takes host names, not `{host}`"));
        }
        self.ports.contains(&0).then(|| "`sandbox.ports` takes ports from 1 to 65535".to_owned())
    }
}

fn is_path(path: &str) -> bool {
    let is_plain = !path.contains('\0') && path.split('/').all(|part| part != "..");
    is_plain && path.len() > 1 && (path.starts_with('/') || path.starts_with("~/"))
}

fn is_host(host: &str) -> bool {
    let name = host.split_once(':').map_or(host, |(name, port)| match port.parse::<u16>() {
        Ok(1..) => name,
        _ => "",
    });
    let name = name.strip_prefix("*.").unwrap_or(name);
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_');
    !name.is_empty() && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_would_be_read_otherwise_than_it_looks_is_refused() {
        let write = |path: &str| SandboxSettings {
            write: vec![path.to_owned()],
            ..SandboxSettings::default()
        };
        assert_eq!(write("~/.cache").refused(), None);
        for path in ["cache", "./cache", "/a/../b", "/", "~", ""] {
            assert!(write(path).refused().is_some(), "{path}");
        }
        for (host, is_fine) in [
            ("a.example.com", true),
            ("*.example.com:443", true),
            ("127.0.0.1:80", true),
            ("https://example.com", false),
            ("a:0", false),
            ("*", false),
            ("", false),
        ] {
            let hosts = vec![host.to_owned()];
            let settings = SandboxSettings { hosts, ..SandboxSettings::default() };
            assert_eq!(settings.refused().is_none(), is_fine, "{host}");
        }
        let ports = SandboxSettings { ports: vec![0], ..SandboxSettings::default() };
        assert!(ports.refused().is_some());
    }
}
