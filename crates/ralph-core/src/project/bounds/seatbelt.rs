//! The profile for `sandbox-exec` on macOS. Of several rules that match, the last one counts.
//!
//! What is neither a file nor the network follows the profile with which the client runs its own
//! commands (read in the client 2.1.328, and in its published runtime): everything is denied but a
//! list, so that no service of the system starts a program outside. macOS has no namespaces:
//! processes of the same user stay visible, signals to them are denied, and what the command leaves
//! is found by its process group and session.

use crate::state::Bounds;

/// What a program needs besides files and the network.
const BASE: &str = include_str!("seatbelt/base.sb");

/// The profile. `temporary` is a folder of the command's own, `proxy` the port of the proxy on
/// loopback. Paths must have no links: the kernel compares real paths.
pub fn profile(bounds: &Bounds, temporary: &str, proxy: u16) -> String {
    let mut text = BASE.to_owned();
    for (_, _, rule) in file_rules(bounds, temporary) {
        text.push_str(&rule);
        text.push('\n');
    }
    for port in bounds.ports.iter().copied().chain([u32::from(proxy)]) {
        text.push_str(&format!("(allow network-outbound (remote ip \"localhost:{port}\"))\n"));
    }
    for path in bounds.sockets.iter().map(String::as_str).chain([temporary]) {
        let to = format!("(remote unix-socket (subpath {}))", quoted(path));
        text.push_str(&format!("(allow network-outbound {to})\n"));
    }
    let own = format!("(local unix-socket (subpath {}))", quoted(temporary));
    text.push_str(&format!("(allow network-bind network-inbound {own})\n"));
    text
}

/// The profile for a command that changes nothing but its own folder and one file.
pub fn reader(temporary: &str, writable: Option<&str>, network: bool) -> String {
    let mut text = BASE.to_owned();
    text.push_str("(deny network*)\n");
    if network {
        text.push_str("(allow network-outbound (remote ip))\n");
    }
    text.push_str(&format!("(allow file-write* (subpath {}))\n", quoted(temporary)));
    if let Some(file) = writable {
        text.push_str(&format!(
            "(allow file-write-data file-write-create (literal {}))\n",
            quoted(file)
        ));
    }
    text
}

/// The rules for files with the depth of their paths, the deepest last, as on Linux.
fn file_rules(bounds: &Bounds, temporary: &str) -> Vec<(usize, u8, String)> {
    let mut rules = Vec::new();
    for path in bounds.write.iter().map(String::as_str).chain([temporary]) {
        let rule = format!("(allow file-read* file-write* (subpath {}))", quoted(path));
        rules.push((depth(path), 0, rule));
    }
    for path in &bounds.write_deny {
        rules.push((depth(path), 1, format!("(deny file-write* (subpath {}))", quoted(path))));
    }
    for path in &bounds.read_deny {
        let rule = format!("(deny file-read* file-write* (subpath {}))", quoted(path));
        rules.push((depth(path), 1, rule));
    }
    for path in bounds.write_deny.iter().chain(&bounds.read_deny) {
        // A parent that is renamed takes the path with it.
        let parents = std::iter::successors(parent(path), |path| parent(path));
        for parent in parents.take_while(|parent| !bounds.write.iter().any(|one| one == parent)) {
            if bounds.write.iter().any(|one| super::is_below(parent, one)) {
                let rule = format!("(deny file-write-unlink (literal {}))", quoted(parent));
                rules.push((usize::MAX, 2, rule));
            }
        }
    }
    rules.sort();
    rules.dedup();
    rules
}

fn depth(path: &str) -> usize {
    path.split('/').filter(|part| !part.is_empty()).count()
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
            at("(deny default)") < at("(allow file-read* file-write* (subpath \"/Users/u/p\"))")
        );
        assert!(
            at("file-write* (subpath \"/Users/u/p\"))")
                < at("(deny file-write* (subpath \"/Users/u/p/.git/hooks\"))")
        );
        at("(deny file-write-unlink (literal \"/Users/u/p/.git\"))");
        at("(deny file-read* file-write* (subpath \"/Users/u/.ssh\"))");
        at("(allow network-outbound (remote ip \"localhost:5432\"))");
        at("(allow network-outbound (remote ip \"localhost:3128\"))");
        at("(allow network-outbound (remote unix-socket (subpath \"/tmp/x.sock\")))");
        at("(allow network-bind network-inbound (local unix-socket (subpath \"/private/tmp/r\")))");
        assert!(!text.contains("example.com"), "hosts are the proxy's");
    }

    #[test]
    fn a_folder_that_holds_what_must_not_be_read_cannot_be_moved_away() {
        let secret = Bounds { read_deny: vec!["/Users/u/p/a/b/.env".to_owned()], ..bounds() };
        let text = profile(&secret, "/t", 1);
        for parent in ["/Users/u/p/a/b", "/Users/u/p/a"] {
            assert!(text.contains(&format!("(deny file-write-unlink (literal \"{parent}\"))")));
        }
        assert!(!text.contains("(literal \"/Users/u/p\")"), "the project itself stays its own");
    }

    #[test]
    fn no_service_can_start_a_program_outside_and_no_other_environment_is_read() {
        let text = profile(&bounds(), "/t", 1);
        let allowed = |rule: &str| text.contains(rule);
        for denied in ["appleevent", "launchservicesd", "lsopen", "xpc.launchd", "(allow default)"]
        {
            assert!(!allowed(denied), "{denied}");
        }
        assert!(text.starts_with("(version 1)\n(deny default)\n"), "{text}");
        assert!(allowed("(deny sysctl-read (sysctl-name-prefix \"kern.procargs\"))"));
        assert!(allowed("(allow signal (target same-sandbox))"));
        assert!(allowed("(allow pseudo-tty)"), "programs with a terminal are tested");
    }

    #[test]
    fn the_parentheses_of_a_profile_are_balanced() {
        let text = profile(&bounds(), "/t", 1);
        let mut depth = 0_i32;
        for line in text.lines().map(|line| line.split(';').next().unwrap_or_default()) {
            let quotes = line.matches('"').count();
            assert!(quotes.is_multiple_of(2), "{line}");
            depth += line.matches('(').count() as i32 - line.matches(')').count() as i32;
            assert!(depth >= 0, "{line}");
        }
        assert_eq!(depth, 0);
    }

    #[test]
    fn a_quote_in_a_path_adds_no_rule() {
        let evil = "/p\")(allow default)(literal \"\\";
        let bounds = Bounds { write: vec![evil.to_owned()], ..Bounds::default() };
        let text = profile(&bounds, "/t", 1);
        assert!(text.contains(r#"(subpath "/p\")(allow default)(literal \"\\")"#), "{text}");
    }

    #[test]
    fn a_reader_writes_its_own_folder_and_one_file_and_reaches_nothing() {
        let last = |profile: &str, about: &str| {
            profile.lines().rfind(|line| line.contains(about)).unwrap_or_default().to_owned()
        };
        let profile = reader("/private/tmp/wall", Some("/private/tmp/cwd"), false);
        assert!(profile.starts_with("(version 1)\n(deny default)\n"), "{profile}");
        assert_eq!(last(&profile, "network"), "(deny network*)");
        assert!(
            profile.contains("(allow file-write* (subpath \"/private/tmp/wall\"))"),
            "{profile}"
        );
        let file = "(allow file-write-data file-write-create (literal \"/private/tmp/cwd\"))";
        assert_eq!(last(&profile, "file-write"), file);
        let open = reader("/private/tmp/wall", None, true);
        assert_eq!(last(&open, "network"), "(allow network-outbound (remote ip))");
        assert_eq!(
            last(&open, "file-write"),
            "(allow file-write* (subpath \"/private/tmp/wall\"))"
        );
    }

    #[test]
    fn a_path_is_as_deep_as_it_has_parts() {
        assert_eq!(["", "/", "/a", "/a/b/", "a//b/c"].map(depth), [0, 0, 1, 2, 3]);
        assert_eq!(["/a/b", "/a", "a"].map(parent), [Some("/a"), None, None]);
    }
}
