#!/bin/sh
# Builds Ralph, copies its executables into one folder and registers the hooks.
#
# The five hooks are built by themselves: built together with the command line they would share its
# features, and a hook must start in about a millisecond. Where it can be had, the target is the
# static one (musl), which starts faster and needs nothing on the machine.

set -eu

usage() {
    cat <<'END'
usage: ./install.sh [--prefix DIR] [--no-register | --project DIR | --stow DIR | --plugin DIR]
       ./install.sh --demo [ARGUMENTS OF `ralph demo`]

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

prefix=
register=yes
demo=no
scope=
folder=
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

case $(uname -s) in
Linux | Darwin) ;;
*) stop 4 "this system is not supported yet: Linux is, macOS is best effort" ;;
esac

root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)

# --- build -----------------------------------------------------------------------------------------

if ! command -v cargo >/dev/null 2>&1; then
    PATH=$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin
    command -v cargo >/dev/null 2>&1 ||
        stop 4 "could not find \`cargo\`; install Rust from https://rustup.rs and try again"
fi

target_folder=${CARGO_TARGET_DIR:-$root/target}

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
        cargo build --release --config .cargo/release.toml --locked --target-dir "$target_folder" "$@" -p ralph-hooks --bins &&
            cargo build --release --config .cargo/release.toml --locked --target-dir "$target_folder" "$@" -p ralph --bin ralph
    )
}

static=$(static_target)
if ! build "$static"; then
    [ -n "$static" ] || stop 4 "the build failed; cargo says why above"
    say "could not build for $static; building for the host instead"
    build "" || stop 4 "the build failed; cargo says why above"
fi

# --- copy ------------------------------------------------------------------------------------------

work=
tidy() { [ -z "$work" ] || rm -rf "$work"; }
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ "$demo" = yes ]; then
    work=$(mktemp -d "${TMPDIR:-/tmp}/ralph-demo.XXXXXX")
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

# --- demo ------------------------------------------------------------------------------------------

if [ "$demo" = yes ]; then
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
    exit
fi

# --- register --------------------------------------------------------------------------------------

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
    exit
fi
case :$PATH: in
*:"$bin":*)
    found=$(command -v ralph || true)
    [ "$found" = "$bin/ralph" ] || say "warning: \`ralph\` on your PATH is another one: $found"
    ;;
*) say "warning: $bin is not on your PATH; add it: export PATH=\"$bin:\$PATH\"" ;;
esac
