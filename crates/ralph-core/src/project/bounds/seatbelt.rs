//! The profile for `sandbox-exec` on macOS. Of several rules that match, the last one counts.
//!
//! macOS has no namespaces: processes of the same user stay visible, so signals to them are denied,
//! and what the command leaves is found by its process group.

use crate::state::Bounds;

/// The profile. `temporary` is a folder of the command's own, `proxy` the port of the proxy on
/// loopback. Paths must have no links: the kernel compares real paths.
pub fn profile(bounds: &Bounds, temporary: &str, proxy: u16) -> String {
    let mut text = "(version 1)\n(allow default)\n(deny file-write*)\n".to_owned();
    text.push_str("(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") (regex #\"^/dev/(fd|std)\"))\n");
    // Deeper paths come last, so that they count, as on Linux.
    let mut rules: Vec<(usize, u8, String)> = Vec::new();
    let depth = |path: &str| path.split('/').filter(|part| !part.is_empty()).count();
    for path in bounds.write.iter().map(String::as_str).chain([temporary]) {
        let rule = format!("(allow file-read* file-write* (subpath {}))", quoted(path));
        rules.push((depth(path), 0, rule));
    }
    for path in &bounds.write_deny {
        rules.push((depth(path), 1, format!("(deny file-write* (subpath {}))", quoted(path))));
        // A parent that is renamed takes the path with it.
        let parents = std::iter::successors(parent(path), |path| parent(path));
        for parent in parents.take_while(|parent| !bounds.write.iter().any(|one| one == parent)) {
            if bounds.write.iter().any(|one| super::is_below(parent, one)) {
                let rule = format!("(deny file-write-unlink (literal {}))", quoted(parent));
                rules.push((usize::MAX, 2, rule));
            }
        }
    }
    for path in &bounds.read_deny {
        let rule = format!("(deny file-read* file-write* (subpath {}))", quoted(path));
        rules.push((depth(path), 1, rule));
    }
    rules.sort();
    rules.dedup();
    for (_, _, rule) in rules {
        text.push_str(&rule);
        text.push('\n');
    }
    text.push_str("(deny network*)\n(allow network-bind (local ip \"localhost:*\"))\n");
    text.push_str("(allow network-inbound (local ip \"localhost:*\"))\n");
    for port in bounds.ports.iter().copied().chain([u32::from(proxy)]) {
        text.push_str(&format!("(allow network-outbound (remote ip \"localhost:{port}\"))\n"));
    }
    for path in bounds.sockets.iter().map(String::as_str) {
        text.push_str(&format!("(allow network-outbound (literal {}))\n", quoted(path)));
    }
    text.push_str(&format!("(allow network* (subpath {}))\n", quoted(temporary)));
    text.push_str("(deny signal)\n(allow signal (target same-sandbox))\n");
    text.push_str("(deny process-info-setcontrol)\n(deny mach-priv-task-port)\n");
    text.push_str("(deny mach-lookup (global-name \"com.apple.coreservices.appleevents\"))\n");
    text.push_str("(deny appleevent-send)\n");
    text
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent).filter(|parent| !parent.is_empty())
}

fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Bounds {
        let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        Bounds {
            write: list(&["/Users/u/p"]),
            read_deny: list(&["/Users/u/.ssh"]),
            write_deny: list(&["/Users/u/p/.git/hooks"]),
            hosts: list(&["example.com"]),
            ports: vec![5432],
            sockets: list(&["/tmp/x.sock"]),
        }
    }

    #[test]
    fn what_is_denied_in_a_folder_comes_after_what_allows_the_folder() {
        let text = profile(&bounds(), "/private/tmp/r", 3128);
        let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("{needle}: {text}"));
        assert!(
            at("(deny file-write*)")
                < at("(allow file-read* file-write* (subpath \"/Users/u/p\"))")
        );
        assert!(
            at("file-write* (subpath \"/Users/u/p\"))")
                < at("(deny file-write* (subpath \"/Users/u/p/.git/hooks\"))")
        );
        at("(deny file-write-unlink (literal \"/Users/u/p/.git\"))");
        at("(deny file-read* file-write* (subpath \"/Users/u/.ssh\"))");
        assert!(
            at("(deny network*)") < at("(allow network-outbound (remote ip \"localhost:5432\"))")
        );
        at("(allow network-outbound (remote ip \"localhost:3128\"))");
        at("(allow network-outbound (literal \"/tmp/x.sock\"))");
        assert!(!text.contains("example.com"), "hosts are the proxy's");
    }

    #[test]
    fn a_quote_in_a_path_adds_no_rule() {
        let evil = "/p\")(allow default)(literal \"\\";
        let bounds = Bounds { write: vec![evil.to_owned()], ..Bounds::default() };
        let text = profile(&bounds, "/t", 1);
        assert!(text.contains(r#"(subpath "/p\")(allow default)(literal \"\\")"#), "{text}");
    }
}
