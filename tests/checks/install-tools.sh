#!/bin/sh
# Installs the tools that the tests of the checks after an edit and those of the proof run, pinned, outside of
# the tree: into $RALPH_TEST_TOOLS, else into the user's cache. Nothing happens when they are already there.
#
# Some come from the system, such as the linter of shell scripts and go: as root on Debian they are installed,
# and without them the tests that need them say so.
set -eu

cd "$(dirname "$0")/tools"
pins=$PWD
folder=${RALPH_TEST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/ralph-test-tools}
mkdir -p "$folder"
cd "$folder"

have() { command -v "$1" >/dev/null 2>&1; }

need() {
  have "$1" && return 0
  echo "install-tools.sh: could not find $1, which fetches the tools; install $2" >&2
  exit 4
}

# The pins are copied last: they stand for an installation that came to its end.
is_installed() { cmp -s "$pins/$1" "$folder/$1.installed"; }

if ! is_installed package-lock.json; then
  need npm "Node.js 22 or later"
  cp "$pins/package.json" "$pins/package-lock.json" .
  npm ci --omit-lockfile-registry-resolved=true --no-audit --no-fund --ignore-scripts
  cp package-lock.json package-lock.json.installed
fi

if ! is_installed requirements.txt; then
  need python3 "Python 3.10 or later with its venv module"
  rm -rf venv
  python3 -m venv venv
  venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r "$pins/requirements.txt"
  cp "$pins/requirements.txt" requirements.txt.installed
fi

for pair in shellcheck:shellcheck go:golang-go cmake:cmake make:make; do
  have "${pair%%:*}" && continue
  if [ "$(id -u)" -eq 0 ] && have apt-get; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${pair##*:}" >/dev/null 2>&1 || true
  fi
  have "${pair%%:*}" || echo "install-tools.sh: could not have ${pair%%:*}; the tests that need it are SKIPPED" >&2
done

echo "the tools are in $folder"
