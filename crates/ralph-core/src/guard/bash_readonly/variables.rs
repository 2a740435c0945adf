//! Variables that a read-only line may set.

use super::WriteReason;

/// Prefixes of names that select programs, libraries, settings or shell behaviour. Broad on
/// purpose: a read-only line needs none of them.
const BEGINNINGS: &[&str] = &[
    "ANDROID", "AWK", "AWS", "BASH", "BROWSER", "BUN", "BUNDLE", "BZIP", "CARGO", "CLAUDE",
    "COMPOSE", "CONDA", "COREPACK", "DENO", "DOCKER", "DOTNET", "DYLD_", "ENV", "FPATH", "GEM",
    "GH_", "GIT", "GREP_", "GZIP", "HIST", "JAVA", "JDK", "JVM", "KUBE", "LD_", "LUA", "MAKE",
    "MAVEN", "MORE", "MVN", "NODE", "NPM", "OLDPWD", "OPENSSL", "PERL", "PHP", "PIP", "POETRY",
    "PWD", "PYTHON", "RALPH", "RIPGREP", "RUBY", "RUST", "SSH", "SYSTEMD", "TAPE", "TAR_", "TMUX",
    "UNZIP", "VIRTUAL", "XZ_", "YARN", "ZDOT", "ZIP", "ZSTD",
];
/// Complete names, or prefixes up to `_`.
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

/// Prefixes of the names that scripts give to their own paths.
const OWN: [&str; 18] = [
    "ABS", "ABSOLUTE", "BASE", "DIR", "FILE", "FULL", "INPUT", "LOG", "MY", "OUT", "OUTPUT",
    "PROJECT", "REAL", "ROOT", "SCRIPT", "SOURCE", "SRC", "TARGET",
];

/// Numeric variables of the shell: a value assigned to them is evaluated as arithmetic, which runs
/// commands in an index.
const NUMBERS: [&str; 12] = [
    "COLUMNS", "EGID", "ERRNO", "EUID", "GID", "LINENO", "LINES", "RANDOM", "SECONDS", "SHLVL",
    "SRANDOM", "UID",
];

/// Variables that only affect the display, whatever program reads them.
const HARMLESS: [&str; 14] = [
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "DEBUG",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LOG_LEVEL",
    "NO_COLOR",
    "TERM",
    "TIMEFORMAT",
    "TZ",
    "VERBOSE",
];

/// True for a variable that no program uses as the name of a program, a library or a setting. For
/// other variables only their effect on common programs is known.
pub(super) fn is_harmless(name: &str) -> bool {
    let ends_with = ["PAGER", "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT"];
    name.starts_with("LC_")
        || HARMLESS.contains(&name)
        || ends_with.iter().any(|end| name.ends_with(end))
}

/// Assignments that switch something off.
const SWITCHES: [&str; 9] = [
    "AWS_PAGER=",
    "GH_PAGER=cat",
    "GIT_OPTIONAL_LOCKS=0",
    "GIT_PAGER=",
    "GIT_PAGER=cat",
    "GIT_TERMINAL_PROMPT=0",
    "MANPAGER=cat",
    "PAGER=cat",
    "SYSTEMD_PAGER=",
];

/// Ok for an assignment that, as written, selects no program, library or setting.
pub(super) fn may_be_assigned(assignment: &str) -> Result<(), WriteReason> {
    if SWITCHES.contains(&assignment) {
        return Ok(());
    }
    may_be_set(assignment.split('=').next().unwrap_or_default().trim_end_matches('+'))
}

/// Ok for a plain name that selects no program, library or setting.
pub(super) fn may_be_set(name: &str) -> Result<(), WriteReason> {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let upper = name.to_ascii_uppercase();
    // In `zsh` these lower-case names are the array forms of the upper-case ones.
    let is_small = name.bytes().all(|byte| !byte.is_ascii_uppercase())
        && !matches!(
            name,
            "path" | "fpath" | "cdpath" | "manpath" | "module_path" | "prompt" | "psvar"
        );
    let ends = |rest: &str| rest.is_empty() || rest.starts_with('_');
    // `BASE_PATH` is a script's own variable.
    let is_own = ["_PATH", "_PATHS", "_HOME", "_CONFIG"]
        .iter()
        .filter_map(|end| upper.strip_suffix(end))
        .any(|start| OWN.contains(&start));
    let is_great = || {
        BEGINNINGS.iter().any(|start| upper.starts_with(start))
            || PARTS.iter().any(|part| upper.contains(part))
            || upper.starts_with("PS")
            || SHORT.iter().any(|short| upper.strip_prefix(short).is_some_and(ends))
    };
    let chooses = (!is_small && !is_own && is_great())
        || name.starts_with("npm_")
        || NUMBERS.contains(&name)
        || name.ends_with("_proxy");
    match is_name && !chooses {
        true => Ok(()),
        false => Err(WriteReason::Variable(name.to_owned())),
    }
}
