#!/bin/sh
# Builds Ralph, or takes the executables of a release, copies them into one folder and registers the hooks.
#
# Where it can be had, the target is the static one (musl), which starts faster and needs nothing on the machine.

set -eu

usage() {
    cat <<'END'
usage: ./install.sh [--prefix DIR] [--no-register | --project DIR | --stow DIR | --plugin DIR]
       ./install.sh --prebuilt FILE|URL [--sha256 HEX] [the options above]
       ./install.sh [--prebuilt FILE|URL] --demo [ARGUMENTS OF `ralph demo`]

  --prebuilt      take the executables of a release's archive, and build nothing; a folder, or a URL
                  that ends in a slash, stands for the archive for this machine that its SHA256SUMS names
  --sha256 HEX    the archive's checksum, instead of the file SHA256SUMS beside it
  --prefix DIR    put the executables into DIR/bin (default: ~/.local/bin)
  --no-register   do not run `ralph install` afterwards
  --project DIR   register for one project, in DIR/.claude, instead of for you
  --stow DIR      register in a package `claude` for GNU stow in DIR
  --plugin DIR    make a plugin in DIR, which holds the executables as well
  --demo          build, install into a private temporary place, show what Ralph does, leave nothing
END
}

say() { printf '%s\n' "install.sh: $*" >&2; }

stop() {
    code=$1
    shift
    say "$*"
    exit "$code"
}

hooks="ralph-user-prompt ralph-pre-tool-use ralph-backpressure ralph-stop-hook ralph-session-context"

tidy() { [ -z "$work" ] || rm -rf "$work"; }

# private_folder NAME: makes the folder `work`, which does not outlive this run.
private_folder() { work=$(mktemp -d "${TMPDIR:-/tmp}/ralph-$1.XXXXXX"); }

# --- build -----------------------------------------------------------------------------------------

# Prints the static target of this machine if code can be built for it.
static_target() {
    host=$(rustc -vV | sed -n 's/^host: //p')
    case $host in
    *-linux-musl*) printf '%s\n' "$host" && return ;;
    *-linux-*) static=${host%%-*}-unknown-linux-musl ;;
    *) return ;;
    esac
    library=$(rustc --print target-libdir --target "$static" 2>/dev/null) || return 0
    if [ ! -d "$library" ] && command -v rustup >/dev/null 2>&1; then
        say "adding the target $static"
        rustup target add "$static" >/dev/null 2>&1 || true
    fi
    if [ -d "$library" ]; then
        printf '%s\n' "$static"
    else
        say "the static target $static is not installed and cannot be added;" \
            "building for $host instead (the hooks start a little slower)"
    fi
}

# Builds for a target, or for the host if none is given; leaves the folder in `built`.
build() {
    if [ -n "$1" ]; then
        set -- --target "$1"
        built=$target_folder/$2/release
    else
        set --
        built=$target_folder/release
    fi
    (
        cd "$root"
        cargo build --release --config .cargo/release.toml --locked --target-dir "$target_folder" "$@" \
            -p ralph-hooks -p ralph --bins
    )
}

build_here() {
    root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
    [ -f "$root/Cargo.toml" ] || stop 2 "there is nothing to build in \`$root\`; name a release with --prebuilt"
    if ! command -v cargo >/dev/null 2>&1; then
        PATH=$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin
        command -v cargo >/dev/null 2>&1 ||
            stop 4 "could not find \`cargo\`; install Rust from https://rustup.rs and try again," \
                "or name a release with --prebuilt"
    fi
    target_folder=${CARGO_TARGET_DIR:-$root/target}
    static=$(static_target)
    if ! build "$static"; then
        [ -n "$static" ] || stop 4 "the build failed; cargo says why above"
        say "could not build for $static; building for the host instead"
        build "" || stop 4 "the build failed; cargo says why above"
    fi
}

# --- take ------------------------------------------------------------------------------------------

# Prints the target of this machine's release.
target_here() {
    case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) processor=$(uname -m) ;;
    esac
    case $(uname -s) in
    Darwin) printf '%s\n' "$processor-apple-darwin" ;;
    *) printf '%s\n' "$processor-unknown-linux-musl" ;;
    esac
}

# fetch FILE|URL PLACE
fetch() {
    case $1 in
    # A checksum that came over the same open line proves nothing.
    http://127.0.0.1[:/]* | http://localhost[:/]* | https://*)
        if command -v curl >/dev/null 2>&1; then
            curl --fail --silent --show-error --location --proto-redir =https --output "$2" "$1"
        elif command -v wget >/dev/null 2>&1; then
            wget -q -O "$2" "$1"
        else
            stop 4 "could not find \`curl\` or \`wget\`; install one, or download \`$1\` yourself"
        fi
        ;;
    http://*) stop 2 "\`$1\` can be changed on its way; use https" ;;
    *) cp "$1" "$2" ;;
    esac
}

sha256() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum <"$1" | cut -d' ' -f1
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 <"$1" | cut -d' ' -f1
    else
        stop 4 "could not find \`sha256sum\` or \`shasum\`, one of which checks the archive; install it"
    fi
}

# Leaves the folder of a release's executables in `built`. Nothing of an archive with another checksum
# is unpacked.
take() {
    private_folder install
    [ ! -d "$prebuilt" ] || prebuilt=${prebuilt%/}/
    sums=$work/SHA256SUMS
    case $prebuilt in
    */)
        fetch "${prebuilt}SHA256SUMS" "$sums" || stop 1 "could not read \`${prebuilt}SHA256SUMS\`"
        target=$(target_here)
        name=$(sed -n "s/^[0-9a-f]\{64\}  \(ralph-[^/ ]*-$target\.tar\.gz\)\$/\1/p" "$sums" | head -n 1)
        [ -n "$name" ] || stop 4 "\`${prebuilt}SHA256SUMS\` names no archive for $target; run ./install.sh, which builds"
        prebuilt=$prebuilt$name
        ;;
    *)
        name=${prebuilt##*/}
        beside=${prebuilt%"$name"}SHA256SUMS
        if [ -z "$checksum" ]; then
            fetch "$beside" "$sums" ||
                stop 1 "could not read \`$beside\`, which has the archive's checksum; name it with --sha256 HEX"
        fi
        ;;
    esac
    if [ -z "$checksum" ]; then
        checksum=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1; exit }' "$sums")
        [ -n "$checksum" ] || stop 1 "SHA256SUMS has no checksum of \`$name\`; nothing was installed"
    fi
    fetch "$prebuilt" "$work/archive" || stop 1 "could not read \`$prebuilt\`"
    found=$(sha256 "$work/archive")
    [ "$found" = "$(printf '%s' "$checksum" | tr A-F a-f)" ] ||
        stop 1 "\`$name\` has the checksum $found, not $checksum; nothing was installed"
    mkdir "$work/release"
    tar -xzf "$work/archive" -C "$work/release" || stop 1 "could not unpack \`$name\`"
    built=$work/none
    for file in "$work"/release/*/bin/ralph; do
        [ ! -f "$file" ] || built=${file%/ralph}
    done
    for file in $hooks ralph; do
        [ -f "$built/$file" ] || stop 1 "\`$name\` has no \`bin/$file\`; it is no release of Ralph"
    done
    "$built/ralph" --version >/dev/null 2>&1 ||
        stop 4 "the executables in \`$name\` do not start here; this machine needs $(target_here)"
}

# --- demo ------------------------------------------------------------------------------------------

show_demo() {
    home=$work/home
    mkdir -p "$home/.claude"
    # Nothing of the person's own: neither settings nor loops nor a session that is running.
    unset CLAUDE_CODE_SESSION_ID CLAUDE_PROJECT_DIR RALPH_MANIFEST XDG_DATA_HOME
    HOME=$home
    CLAUDE_CONFIG_DIR=$home/.claude
    RALPH_HOME=$home/.local/state/ralph
    XDG_STATE_HOME=$home/.local/state
    XDG_CONFIG_HOME=$home/.config
    XDG_CACHE_HOME=$home/.cache
    PATH=$bin:$PATH
    export HOME CLAUDE_CONFIG_DIR RALPH_HOME XDG_STATE_HOME XDG_CONFIG_HOME XDG_CACHE_HOME PATH
    cd "$home"
    "$bin/ralph" install
    "$bin/ralph" demo "$@"
}

# --- register --------------------------------------------------------------------------------------

register_hooks() {
    if [ "$register" = yes ]; then
        if [ -n "$scope" ]; then
            "$bin/ralph" install "$scope" "$folder"
        else
            "$bin/ralph" install
        fi
    else
        say "not registered; to do so: $bin/ralph install"
    fi

    # `ralph install` has said it where it registers what lies outside of PATH.
    if [ "$register" = yes ] && [ "$scope" != --stow ] && [ "$scope" != --plugin ]; then
        return
    fi
    case :$PATH: in
    *:"$bin":*)
        found=$(command -v ralph || true)
        [ "$found" = "$bin/ralph" ] || say "warning: \`ralph\` on your PATH is another one: $found"
        ;;
    *) say "warning: $bin is not on your PATH; add it: export PATH=\"$bin:\$PATH\"" ;;
    esac
}

# --- the run ---------------------------------------------------------------------------------------

# Read to its end before anything is done: a download that breaks off must not run in part.
main() {
    prefix=
    register=yes
    demo=no
    scope=
    folder=
    prebuilt=
    checksum=
    while [ $# -gt 0 ]; do
        case $1 in
        --prefix)
            [ $# -ge 2 ] || stop 2 "--prefix needs a folder"
            prefix=$2
            shift 2
            ;;
        --prefix=*)
            prefix=${1#--prefix=}
            shift
            ;;
        --prebuilt)
            [ -n "${2-}" ] || stop 2 "--prebuilt needs a file or a URL"
            prebuilt=$2
            shift 2
            ;;
        --sha256)
            [ $# -ge 2 ] || stop 2 "--sha256 needs a checksum"
            checksum=$2
            case $checksum in
            *[!0-9a-fA-F]* | '') stop 2 "--sha256 needs 64 hexadecimal digits" ;;
            esac
            [ ${#checksum} -eq 64 ] || stop 2 "--sha256 needs 64 hexadecimal digits"
            shift 2
            ;;
        --no-register)
            register=no
            shift
            ;;
        --project | --stow | --plugin)
            [ $# -ge 2 ] || stop 2 "$1 needs a folder"
            scope=$1
            folder=$2
            shift 2
            ;;
        --demo)
            demo=yes
            shift
            # What follows is for `ralph demo`.
            break
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            exit 2
            ;;
        esac
    done

    [ -z "$checksum" ] || [ -n "$prebuilt" ] || stop 2 "--sha256 is for --prebuilt"

    case $(uname -s) in
    Linux | Darwin) ;;
    *) stop 4 "this system is not supported; use Linux, macOS, or WSL on Windows" ;;
    esac

    work=
    trap tidy EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM

    if [ -n "$prebuilt" ]; then take; else build_here; fi

    if [ "$demo" = yes ]; then
        [ -n "$work" ] || private_folder demo
        bin=${prefix:-$work/prefix}/bin
    elif [ -n "$prefix" ]; then
        bin=$prefix/bin
    else
        [ -n "${HOME:-}" ] || stop 2 "HOME is not set; say where with --prefix DIR"
        bin=$HOME/.local/bin
    fi
    mkdir -p "$bin"
    bin=$(CDPATH='' cd -- "$bin" && pwd -P)

    # By rename: a hook that is running keeps its own file, and none is ever half there.
    for name in $hooks ralph; do
        cp "$built/$name" "$bin/.$name.new"
        chmod 755 "$bin/.$name.new"
        mv -f "$bin/.$name.new" "$bin/$name"
    done
    say "installed ralph and five hooks into $bin"

    if [ "$demo" = yes ]; then show_demo "$@"; else register_hooks; fi
}

main "$@"
