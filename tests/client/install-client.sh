#!/bin/sh
# Installs the pinned client into tests/client/node/, which git ignores but for the two package files.
# Nothing happens when that version is already there.
set -eu

cd "$(dirname "$0")/node"
client=node_modules/.bin/claude
wanted=$(sed -n 's|.*"@anthropic-ai/claude-code": "\([0-9.]*\)".*|\1|p' package.json)

# The private HOME keeps the client from reading or writing the configuration of whoever runs this.
installed_version() {
  [ -x "$client" ] || return 0
  scratch=$(mktemp -d)
  env -i PATH="$PATH" HOME="$scratch" CLAUDE_CONFIG_DIR="$scratch" DISABLE_AUTOUPDATER=1 \
    "$client" --version 2>/dev/null | cut -d' ' -f1 || true
  rm -rf "$scratch"
}

if [ "$(installed_version)" = "$wanted" ]; then
  echo "client $wanted is installed"
  exit 0
fi
if ! command -v npm >/dev/null; then
  echo "install-client.sh: could not find npm, which fetches the client; install Node.js 22 or later" >&2
  exit 4
fi

# npm may hold back the package's own install script (with a warning); the client runs without it.
npm ci --omit-lockfile-registry-resolved=true --no-audit --no-fund

found=$(installed_version)
if [ "$found" != "$wanted" ]; then
  echo "install-client.sh: could not run the client after installing it: wanted $wanted, found '${found}'" >&2
  exit 4
fi
echo "client $wanted is installed"
