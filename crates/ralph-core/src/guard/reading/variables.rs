//! Variables that may be set in a line that only reads.

use super::Why;

/// Names and parts of names that choose programs, libraries, settings or what the shell does. Broad on
/// purpose: a line that reads can do without any of them.
const BEGINNINGS: &[&str] = &[
    "ANDROID", "AWK", "AWS", "BASH", "BUN", "BUNDLE", "CARGO", "CLAUDE", "COMPOSE", "CONDA",
    "COREPACK", "DENO", "DOCKER", "DOTNET", "DYLD_", "ENV", "FPATH", "GEM", "GH_", "GIT", "GREP_",
    "GZIP", "HIST", "JAVA", "JDK", "JVM", "KUBE", "LD_", "MAKE", "MAVEN", "MVN", "NODE", "NPM",
    "OLDPWD", "PERL", "PIP", "POETRY", "PWD", "PYTHON", "RALPH", "RIPGREP", "RUBY", "RUST", "SSH",
    "SYSTEMD", "TMUX", "VIRTUAL", "YARN", "ZDOT",
];
/// Whole names, or beginnings up to `_`.
const SHORT: [&str; 11] = [
    "BAT",
    "GO",
    "GOBIN",
    "GOENV",
    "GOFLAGS",
    "GOPROXY",
    "GOROOT",
    "GOTOOLCHAIN",
    "MAN",
    "TERMINFO",
    "UV",
];
const PARTS: [&str; 16] = [
    "CMD", "COMMAND", "CONFIG", "EDITOR", "HOME", "HOOK", "LESS", "OPT", "PAGER", "PATH", "PROMPT",
    "POSIX", "PROXY", "SHELL", "VISUAL", "XDG",
];

/// Numbers to a shell: what is assigned to them is arithmetic, which runs what it finds in an index.
const NUMBERS: [&str; 12] = [
    "COLUMNS", "EGID", "ERRNO", "EUID", "GID", "LINENO", "LINES", "RANDOM", "SECONDS", "SHLVL",
    "SRANDOM", "UID",
];

/// Ok for a plain name that chooses nothing.
pub(super) fn may_be_set(name: &str) -> Result<(), Why> {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let upper = name.to_ascii_uppercase();
    // In `zsh` these small names are the array forms of the great ones.
    let is_small = name.bytes().all(|byte| !byte.is_ascii_uppercase())
        && !matches!(
            name,
            "path" | "fpath" | "cdpath" | "manpath" | "module_path" | "prompt" | "psvar"
        );
    let ends = |rest: &str| rest.is_empty() || rest.starts_with('_');
    let is_great = || {
        BEGINNINGS.iter().any(|start| upper.starts_with(start))
            || PARTS.iter().any(|part| upper.contains(part))
            || upper.starts_with("PS")
            || SHORT.iter().any(|short| upper.strip_prefix(short).is_some_and(ends))
    };
    let chooses = (!is_small && is_great())
        || name.starts_with("npm_")
        || NUMBERS.contains(&name)
        || name.ends_with("_proxy");
    match is_name && !chooses {
        true => Ok(()),
        false => Err(Why::Variable(name.to_owned())),
    }
}
