//! Why the client's sandbox cannot start here, with what to install and what runs without it.

use std::fmt;

/// Why the sandbox cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    /// These programs are missing.
    Missing(Vec<&'static str>),
    /// The program is there, and the system refuses it; with its message.
    Refused { program: &'static str, why: String },
}

/// The Linux package of a program, the same in every distribution that we know.
fn package(program: &str) -> &str {
    match program {
        "bwrap" => "bubblewrap",
        program => program,
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unavailable::Missing(programs) if programs.contains(&"sandbox-exec") => {
                to.write_str("`sandbox-exec` is missing; it is a part of macOS, in `/usr/bin`")
            }
            Unavailable::Missing(programs) => {
                let names: Vec<String> = programs.iter().map(|one| format!("`{one}`")).collect();
                let packages: Vec<&str> = programs.iter().map(|one| package(one)).collect();
                let (names, packages) = (names.join(" and "), packages.join(" "));
                let verb = if programs.len() == 1 { "is" } else { "are" };
                write!(
                    to,
                    "{names} {verb} missing; install the package {packages}: `sudo apt install {packages}`, or \
                     with your system's package manager"
                )
            }
            Unavailable::Refused { program: "bwrap", why } => write!(
                to,
                "the system lets `bwrap` start nothing ({why}); allow unprivileged user namespaces \
                 (`sysctl kernel.unprivileged_userns_clone=1`; on Ubuntu 24.04 \
                 `kernel.apparmor_restrict_unprivileged_userns=0`, or a profile for bwrap)"
            ),
            Unavailable::Refused { program, why } => {
                write!(to, "the system lets `{program}` start nothing ({why})")
            }
        }
    }
}

/// What a run without the sandbox would allow, a line for each way. `command` is what the user
/// typed, with room for more options.
pub fn other_ways(command: impl Fn(&str) -> String) -> [String; 3] {
    let way = |options: &str, allows: &str| format!("`{}`: {allows}", command(options));
    [
        way(
            "--no-sandbox",
            "commands that the client's settings allow run with all your rights, others are denied",
        ),
        way(
            "--no-sandbox --permission-mode acceptEdits",
            "the same, and edits in the project pass",
        ),
        way(
            "--no-sandbox --permission-mode bypassPermissions",
            "every command and every edit runs with all your rights",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let text = Unavailable::Missing(vec!["bwrap", "socat"]).to_string();
        assert!(text.starts_with("`bwrap` and `socat` are missing; install the package"), "{text}");
        assert!(text.contains("`sudo apt install bubblewrap socat`"), "{text}");
        let text = Unavailable::Missing(vec!["socat"]).to_string();
        assert!(text.starts_with("`socat` is missing") && text.contains("socat`"), "{text}");
        let why = "No permissions to create a new namespace".to_owned();
        let text = Unavailable::Refused { program: "bwrap", why }.to_string();
        assert!(text.contains("new namespace") && text.contains("user namespaces"), "{text}");
        assert!(!Unavailable::Missing(vec!["sandbox-exec"]).to_string().contains("apt"));
    }

    #[test]
    fn each_other_way_is_a_command_and_what_it_allows() {
        let ways = other_ways(|options| format!("ralph build {options}"));
        assert!(ways[0].starts_with("`ralph build --no-sandbox`: commands that"));
        assert!(ways[2].contains("bypassPermissions`: every command"));
    }
}
