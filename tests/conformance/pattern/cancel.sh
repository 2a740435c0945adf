#!/usr/bin/env bash
# /ralph-cancel of the Ralph Pattern: what its skill has the model do, as commands.
set -uo pipefail

manifest=${RALPH_MANIFEST:-/tmp/ralph_session_manifest}
[[ -f $manifest ]] || exit 0
state=$(<"$manifest")
[[ -f $state ]] && cp "$state" "${TMPDIR:-/tmp}/ralph_archive_$(date +%s).json"
rm -f "$manifest" "$state"
