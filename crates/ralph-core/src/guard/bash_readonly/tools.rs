//! Programs with subcommands, of which the ones that only show something are listed, and options
//! that print a version or help.
//!
//! These programs obey their own configuration, and some of them the project's (`cargo`, `npm`,
//! `yarn`).

use super::WriteReason;
use super::words::WordText;

/// A variable that is not known to be harmless, set for a program that may obey it.
pub(super) const UNKNOWN_SETTING: WriteReason =
    WriteReason::Construct("a variable before this program");

/// Programs that print their version or help and do nothing else.
const VERSIONED: &str = "ansible awk aws az babel bash bazel black brew bun bundle bundler bzip2 cargo ccache \
    clang clang++ clang-format cmake code composer conda curl dart deno docker docker-compose dotnet \
    elixir emacs erl eslint fd ffmpeg find firefox fish flake8 g++ gawk gcc gcloud gdb gem ghc gh \
    git-lfs go gofmt golangci-lint google-chrome gradle grep groovy delta direnv eza gunicorn gzip helm htop hugo hyperfine isort jar \
    java javac jest jq julia just kotlin kotlinc kubectl ld less lld lldb lua luajit make man mariadb mawk mise \
    meson minikube mocha mongo mongod mongosh mvn mypy mysql nano nasm nginx ninja nix node nodejs npm \
    npx nvim ocaml ollama opam openssl perl php phpunit pip pip3 pipenv pipx pkg-config playwright pnpm podman \
    poetry pre-commit prettier prisma protoc psql pulumi pwsh pylint pyenv pytest rbenv python python2 python3 R \
    redis-cli redis-server rg rsync ruby ruff rubocop rustc rustdoc rustfmt rustup sass scala sed semgrep \
    shellcheck shfmt sort sqlite3 ssh stylelint svn swift tar terraform tmux tox tree tsc turbo uv \
    uvicorn vagrant valgrind vim virtualenv vite vitest volta wasm-pack webpack wget xargs xz yarn zig zip \
    zsh zstd";

/// Programs whose `-v` prints the version; for other programs it may have another meaning.
const SMALL_V: &str = "brew clang clang++ deno g++ gcc gem gradle jq lua make mocha mvn nginx ninja node nodejs \
    npm perl php pnpm ruby tsc vite yarn zip";
const LARGE_V: &str = "bash cargo cmake curl gawk git-lfs lua man pip pip3 psql python python2 python3 redis-cli \
    rg rsync rustc rustup ssh tar tmux wget";
const BY_WORD: &str =
    "brew cargo docker docker-compose gh go hugo minikube openssl podman terraform uv zig";

/// Program names, the subcommands that only show something, and the options that may follow.
struct ReadingProgram {
    names: &'static str,
    shows: &'static [&'static str],
    options: &'static str,
}

const TOOLS: &[ReadingProgram] = &[
    ReadingProgram {
        names: "npm",
        shows: &[
            "ls",
            "list",
            "ll",
            "la",
            "view",
            "info",
            "show",
            "outdated",
            "root",
            "prefix",
            "explain",
            "why",
            "config list",
            "config ls",
            "config get",
            "get",
            "pkg get",
            "search",
            "whoami",
        ],
        options: "-g --global --depth -a --all --json --long -l --parseable -p --prod --production --omit \
            --include --dev --only --link --no-color",
    },
    ReadingProgram {
        names: "pnpm",
        shows: &["ls", "list", "why", "outdated", "root"],
        options: "-g --global --depth --json --long --parseable -P -D --prod --dev -r --recursive",
    },
    ReadingProgram {
        names: "yarn",
        shows: &["list", "why", "info", "outdated", "config list", "config get", "workspaces info"],
        options: "--depth --pattern --json -A --all -R --recursive",
    },
    ReadingProgram {
        names: "pip pip3",
        shows: &[
            "list",
            "show",
            "freeze",
            "check",
            "index versions",
            "config list",
            "config get",
            "debug",
            "cache dir",
            "cache list",
        ],
        options: "--outdated -o --uptodate -u --format --user --local -l --not-required --pre -v \
            --verbose -f --files --exclude --exclude-editable -e --editable --all \
            --disable-pip-version-check -q --quiet",
    },
    ReadingProgram {
        names: "uv",
        shows: &["pip list", "pip show", "pip freeze", "pip tree", "python list", "tool list"],
        options: "--outdated --format --system -q --quiet -v",
    },
    ReadingProgram {
        names: "poetry",
        shows: &["show", "env info"],
        options: "--tree -t --latest -l --outdated -o --all -a --no-ansi",
    },
    ReadingProgram {
        names: "conda mamba",
        shows: &["list", "info", "env list"],
        options: "-n --name -e --envs --json --all",
    },
    ReadingProgram {
        names: "gem",
        shows: &["list", "info", "environment", "env", "search"],
        options: "--local -l -a --all -d --details",
    },
    ReadingProgram {
        names: "cargo",
        shows: &[
            "tree",
            "metadata",
            "locate-project",
            "pkgid",
            "read-manifest",
            "version",
            "search",
            "--list",
        ],
        options: "-i --invert -e --edges --depth -d --duplicates -p --package --workspace --all -f \
            --format --prefix --no-dedupe --features --all-features --no-default-features --target \
            --no-deps --format-version --offline --frozen --locked --charset -v --verbose -q --quiet \
            --prune --limit --manifest-path --filter-platform --exclude --color --message-format",
    },
    ReadingProgram {
        names: "go",
        shows: &["list", "version", "doc", "mod graph", "mod why", "help"],
        options: "-m -f -json -deps -test -e -u -versions -all -src -cmd -c -short -find -tags",
    },
    ReadingProgram {
        names: "rustup",
        shows: &["show", "toolchain list", "target list", "component list", "which"],
        options: "--installed -v --verbose --toolchain",
    },
    ReadingProgram {
        names: "docker podman",
        shows: &[
            "ps",
            "images",
            "version",
            "info",
            "inspect",
            "logs",
            "container ls",
            "container list",
            "container inspect",
            "container logs",
            "image ls",
            "image list",
            "image inspect",
            "image history",
            "network ls",
            "network inspect",
            "volume ls",
            "volume inspect",
            "history",
            "port",
            "top",
            "stats",
            "diff",
            "search",
            "compose ps",
            "compose logs",
            "compose images",
            "compose ls",
            "context ls",
            "system df",
        ],
        options: "-a --all -q --quiet --format -f --filter --no-trunc --tail -n --since --until -t \
            --timestamps --follow -l --latest -s --size --type --no-stream --digests --human -aq -qa",
    },
    ReadingProgram {
        names: "docker-compose",
        shows: &["ps", "logs", "images", "top"],
        options: "-a --all -q --tail -t --timestamps -f --follow",
    },
    ReadingProgram {
        names: "kubectl",
        shows: &[
            "get",
            "describe",
            "logs",
            "explain",
            "version",
            "api-resources",
            "api-versions",
            "config view",
            "config current-context",
            "config get-contexts",
            "top",
            "events",
        ],
        options: "-n --namespace -o --output -A --all-namespaces -l --selector --show-labels -w --watch \
            -c --container --tail --since --previous -p --context -f --follow --sort-by \
            --field-selector --no-headers --short --minify --client --filename --all-containers --recursive -owide -oyaml -ojson",
    },
    ReadingProgram {
        names: "helm",
        shows: &[
            "list",
            "ls",
            "status",
            "history",
            "get values",
            "get manifest",
            "show values",
            "show chart",
        ],
        options: "-n --namespace -A --all-namespaces -a --all -o --output --short -q",
    },
    ReadingProgram {
        names: "gh",
        shows: &[
            "pr list",
            "pr view",
            "pr status",
            "pr diff",
            "pr checks",
            "issue list",
            "issue view",
            "issue status",
            "repo view",
            "repo list",
            "run list",
            "run view",
            "release list",
            "release view",
            "auth status",
            "workflow list",
            "workflow view",
            "label list",
            "search",
        ],
        options: "--limit -L --state -s --json --jq -q --template --author -A --assignee -a --label -l \
            --search -S --repo -R --comments -c --log --log-failed --head -H --base -B --patch \
            --name-only --branch -b --workflow",
    },
    // Without a field or a method, `gh api` sends a GET request.
    ReadingProgram {
        names: "gh",
        shows: &["api"],
        options: "--jq -q --paginate --slurp --template -t",
    },
    ReadingProgram { names: "ping", shows: &["-c"], options: "-c -W -w -4 -6 -n -q" },
    ReadingProgram {
        names: "systemctl",
        shows: &[
            "status",
            "list-units",
            "list-unit-files",
            "is-active",
            "is-enabled",
            "is-failed",
            "show",
            "cat",
            "list-timers",
            "list-sockets",
            "list-dependencies",
            "get-default",
            "--failed",
        ],
        options: "--user --system --no-pager --all -a --type -t --state -l --full -n --lines -p --property \
            --failed --no-legend -q --quiet --plain --value -at --no-pager -al",
    },
    ReadingProgram {
        names: "journalctl",
        shows: &[""],
        options: "-u --unit -n --lines -f --follow --since --until -S -U -b --boot -k --dmesg -p \
            --priority -r --reverse -o --output --no-pager -x -e -xe -xeu -xu -t --identifier --user \
            --disk-usage --list-boots -g --grep -q --quiet -fu -n1 -n10 -n20 -n50 -n100 -F -N --field --fields \
            --utc -a --all --no-full -1 -2",
    },
    ReadingProgram {
        names: "apt apt-cache",
        shows: &[
            "list", "show", "search", "policy", "depends", "rdepends", "madison", "pkgnames",
            "stats", "showpkg",
        ],
        options: "--installed --upgradable --upgradeable -a --all-versions --names-only -n",
    },
    ReadingProgram {
        names: "aptitude",
        shows: &["search", "show", "versions", "why", "why-not"],
        options: "",
    },
    ReadingProgram {
        names: "dnf yum",
        shows: &[
            "search",
            "list",
            "info",
            "provides",
            "whatprovides",
            "repolist",
            "deplist",
            "repoquery",
        ],
        options: "--installed --available --all --list -l -q",
    },
    ReadingProgram {
        names: "dpkg-query",
        shows: &[""],
        options: "-l -L -s -S -W -f --list --listfiles --status --search --show --showformat",
    },
    ReadingProgram {
        names: "dpkg",
        shows: &[
            "-l",
            "-L",
            "-s",
            "-S",
            "--list",
            "--listfiles",
            "--status",
            "--search",
            "--get-selections",
            "--print-architecture",
        ],
        options: "",
    },
    ReadingProgram {
        names: "brew",
        shows: &[
            "list",
            "ls",
            "info",
            "deps",
            "leaves",
            "config",
            "uses",
            "--prefix",
            "--cellar",
            "--repository",
            "search",
            "desc",
            "doctor",
            "services list",
        ],
        options: "--versions --cask --formula --json -1 -l --tree --installed",
    },
    ReadingProgram { names: "snap flatpak", shows: &["list", "info", "version"], options: "--all" },
    ReadingProgram {
        names: "snap",
        shows: &["find", "interfaces", "connections", "changes", "services"],
        options: "--private",
    },
    ReadingProgram {
        names: "openssl",
        shows: &["x509"],
        options: "-in -text -noout -dates -subject -issuer -fingerprint -enddate -startdate -serial \
            -inform -sha256 -ext",
    },
    ReadingProgram {
        names: "openssl",
        shows: &["req"],
        options: "-in -text -noout -subject -verify -modulus -pubkey -inform",
    },
    ReadingProgram { names: "ipcs", shows: &[""], options: "-a -m -q -s -l -p -t -u" },
    ReadingProgram {
        names: "cloc",
        shows: &[""],
        options: "--by-file --exclude-dir --include-lang --json --csv --md --quiet",
    },
    ReadingProgram {
        names: "scc",
        shows: &[""],
        options: "--by-file --no-complexity --no-cocomo -w --wide -c",
    },
    ReadingProgram {
        names: "tput",
        shows: &[
            "cols", "lines", "colors", "bold", "sgr0", "setaf", "setab", "rev", "smul", "rmul",
        ],
        options: "",
    },
    ReadingProgram {
        names: "xmllint",
        shows: &[""],
        options: "--xpath --noout --format --html --nonet --recover",
    },
    ReadingProgram {
        names: "aws",
        shows: &["s3 ls", "sts get-caller-identity", "configure list"],
        options: "--profile --region --output --recursive --human-readable --summarize",
    },
    ReadingProgram { names: "kill", shows: &["-l"], options: "" },
    ReadingProgram {
        names: "lsof",
        shows: &[""],
        options: "-i -n -P -p -t -u -a -c +D +d +L1 +M -nP -ni -Pni -iTCP -sTCP:LISTEN -l -R -U",
    },
    ReadingProgram {
        names: "ss",
        shows: &[""],
        options: "-t -u -l -n -p -a -s -4 -6 -x -i -e -o -tulpn -tuln -ltn -lntp -ltnp -tlnp -tnlp -lnt -tan -tn -an -anp -antp -tunlp -tulnp --tcp --udp --listening --numeric --all --processes --summary --ipv4 --ipv6",
    },
    ReadingProgram {
        names: "dmesg",
        shows: &[""],
        options: "-T -H -k -x -w -t -l --ctime --human --kernel --userspace --decode --level --facility",
    },
    ReadingProgram { names: "compgen", shows: &["-b", "-c", "-k", "-v", "-e", "-a"], options: "" },
    ReadingProgram {
        names: "top",
        shows: &["-b -n", "-bn1", "-b -n1", "-bn 1", "-l 1"],
        options: "-o -p -u -c -w",
    },
    ReadingProgram {
        names: "gzip gunzip xz bzip2 zstd",
        shows: &[
            "-l",
            "-t",
            "--list",
            "--test",
            "-c",
            "-dc",
            "-cd",
            "-c -d",
            "-d -c",
            "-tv",
            "-lv",
            "--stdout",
            "-d --stdout",
            "--decompress --stdout",
            "--stdout --decompress",
        ],
        options: "",
    },
    ReadingProgram { names: "gunzip bunzip2 unxz", shows: &["-c", "--stdout"], options: "" },
    ReadingProgram { names: "zipinfo lesspipe", shows: &[""], options: "-1 -l -s -m -v" },
    ReadingProgram { names: "7z 7za", shows: &["l", "t"], options: "" },
    ReadingProgram { names: "jar", shows: &["tf", "-tf", "tvf", "-tvf"], options: "" },
    ReadingProgram { names: "ar", shows: &["t", "tv", "p"], options: "" },
];

/// Read-only without arguments, or with exactly these.
const EXACT: &[(&str, &[&str])] = &[
    ("alias", &[""]),
    ("export", &["", "-p"]),
    ("dirs", &["", "-v"]),
    ("hash", &[""]),
    ("history", &[""]),
    ("hostname", &["", "-f", "-i", "-I", "-s", "-d", "--fqdn", "--ip-address", "--short"]),
    ("ifconfig", &["", "-a"]),
    ("arch", &[""]),
    ("jobs", &["", "-l", "-p", "-r", "-s"]),
    ("just", &["--list", "-l", "--summary"]),
    ("kubectl", &["options", "-h"]),
    ("stty", &["-a", "size"]),
    ("mount", &["", "-l"]),
    ("npm", &["run", "bin", "help"]),
    ("shopt", &["", "-p"]),
    ("times", &[""]),
    ("ulimit", &["", "-a", "-n", "-u", "-s", "-c", "-Hn", "-Sn"]),
    ("umask", &["", "-S"]),
    ("systemctl", &[""]),
    ("go", &["env -json", "env -changed"]),
    ("asdf", &["list", "current", "plugin list"]),
    ("mise", &["ls", "list", "current"]),
    ("nvm", &["ls", "list", "current"]),
    ("pyenv", &["versions", "version"]),
    ("rbenv", &["versions", "version"]),
    ("tput", &["bold", "civis", "clear", "cnorm", "rmam", "rmcup", "sgr0", "smam", "smcup"]),
    ("java", &["-help", "-version"]),
    ("javac", &["-version"]),
    ("kotlin", &["-version"]),
    ("dotnet", &["--info", "--list-sdks", "--list-runtimes"]),
    ("rustc", &["-vV", "--version --verbose"]),
    ("nginx", &["-V"]),
    ("set", &[""]),
    ("ruby", &["-v"]),
    ("lsb_release", &["-a", "-d", "-cs", "-c", "-r", "-i"]),
    ("crontab", &["-l"]),
    ("bc", &["", "-l", "-q", "-lq", "-ql", "--mathlib"]),
    ("cargo", &["clippy --version", "fmt --version", "help", "install --list"]),
    ("declare", &["", "-p", "-f", "-F"]),
    ("sysctl", &["-a"]),
    ("tmux", &["ls", "list-sessions"]),
    ("php", &["-i", "-m", "--ini"]),
    ("docker", &["compose version"]),
];

pub(super) fn only_shows(name: &str, arguments: &[WordText]) -> Result<(), WriteReason> {
    let texts: Option<Vec<&str>> = arguments.iter().map(WordText::literal).collect();
    let is_known = TOOLS.iter().any(|tool| is_in(tool.names, name))
        || EXACT.iter().any(|(known, _)| *known == name);
    match texts {
        Some(texts) if shows(name, &texts) => Ok(()),
        _ if !is_known => Err(WriteReason::Program(name.to_owned())),
        _ => {
            let all: Vec<String> = arguments.iter().map(WordText::shown).collect();
            Err(WriteReason::Argument(name.to_owned(), all.join(" ")))
        }
    }
}

/// True for a call that only prints a program's version or help.
pub(super) fn is_version(name: &str, texts: &[Option<&str>]) -> bool {
    match texts {
        [Some("--version" | "--help")] => is_in(VERSIONED, name),
        [Some("-v")] => is_in(SMALL_V, name),
        [Some("-V")] => is_in(LARGE_V, name),
        [Some("version")] => is_in(BY_WORD, name),
        _ => false,
    }
}

fn shows(name: &str, texts: &[&str]) -> bool {
    let joined = texts.join(" ");
    if EXACT.iter().any(|(known, lines)| *known == name && lines.contains(&joined.as_str())) {
        return true;
    }
    let is_word = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let small = match (name, texts) {
        ("man", ["--path"]) => true,
        ("man", ["--whatis" | "--where" | "--apropos", page]) => is_page(page),
        ("man", [page]) => is_page(page),
        ("man", ["-k" | "-f" | "-w" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8", page]) => {
            is_page(page)
        }
        ("help" | "tldr", [page]) => is_page(page),
        // Any other subcommand may be an alias or an external program.
        ("cargo", ["build" | "check" | "doc" | "run" | "test" | "tree", "--help"]) => true,
        ("declare" | "typeset", ["-p", names @ ..]) => {
            names.iter().all(|name| is_word(name) && !name.starts_with('-'))
        }
        ("history", [number]) => number.bytes().all(|byte| byte.is_ascii_digit()),
        ("rustc", ["--print" | "--explain", what]) => is_word(what) && !what.starts_with('-'),
        ("go", ["env", names @ ..]) => {
            names.iter().all(|name| is_word(name) && !name.starts_with('-'))
        }
        ("rpm", [query, rest @ ..]) => {
            query
                .strip_prefix("-q")
                .is_some_and(|letters| letters.bytes().all(|b| b"aiflcdR".contains(&b)))
                && rest.iter().all(|word| is_page(word))
        }
        ("gem", ["help", what]) => is_word(what),
        ("pacman", [query, rest @ ..]) => {
            let letters = |set: &[u8], text: &str| text.bytes().all(|letter| set.contains(&letter));
            let asks = match query.as_bytes() {
                [b'-', b'Q', ..] => letters(b"cdegiklmnopqstu", &query[2..]),
                [b'-', b'S', _, ..] => letters(b"isgq", &query[2..]),
                _ => false,
            };
            asks && rest.iter().all(|word| is_page(word))
        }
        ("lsof", [option, rest @ ..]) if option.starts_with("-i") => {
            rest.is_empty() || shows("lsof", rest)
        }
        ("lsof", [option, rest @ ..])
            if option.len() > 1
                && option[1..].bytes().all(|letter| b"PnlatURi".contains(&letter)) =>
        {
            rest.is_empty() || shows("lsof", rest)
        }
        ("ss", [option, rest @ ..])
            if option.len() > 1
                && option.starts_with('-')
                && option[1..].bytes().all(|letter| b"tuwxalnpieosmrH460O".contains(&letter)) =>
        {
            rest.is_empty() || shows("ss", rest)
        }
        ("ip", ["-br" | "-4" | "-6" | "-c" | "-s" | "-brief", rest @ ..]) => shows("ip", rest),
        ("ip", [what, rest @ ..]) => {
            is_in(
                "a addr address r route l link n neigh neighbor neighbour maddr maddress rule",
                what,
            ) && rest
                .first()
                .is_none_or(|word| matches!(*word, "show" | "list" | "ls" | "s" | "get"))
        }
        (
            "docker" | "kubectl" | "gh" | "pip" | "pip3" | "terraform" | "systemctl",
            [words @ .., "--help"],
        ) => words.len() < 2 && words.iter().all(|word| is_word(word) && !word.starts_with('-')),
        _ => false,
    };
    if small {
        return true;
    }
    TOOLS.iter().filter(|tool| is_in(tool.names, name)).any(|tool| {
        tool.shows.iter().any(|shown| {
            let words: Vec<&str> = shown.split_ascii_whitespace().collect();
            texts
                .strip_prefix(&words[..])
                .is_some_and(|rest| rest.iter().all(|word| is_option(tool.options, word)))
        })
    })
}

/// True for an operand or a listed option.
fn is_option(options: &str, word: &str) -> bool {
    let stem = word.split('=').next().unwrap_or(word);
    // Some programs read options from a file named `@…`.
    !word.starts_with(['-', '+', '@']) || is_in(options, stem)
}

fn is_page(word: &str) -> bool {
    !word.starts_with('-')
        && !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.+:[".contains(&byte))
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}
