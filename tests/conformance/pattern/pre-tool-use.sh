#!/usr/bin/env bash
# PreToolUse hook of the Ralph Pattern, rendered in bash and jq for comparison.
#
# The pattern denies two tools by matcher from the skill's front matter, which is in force only
# while the skill is. Registered in settings, as ours is, the same rule has to look for a live loop.
set -uo pipefail

manifest=${RALPH_MANIFEST:-/tmp/ralph_session_manifest}
command -v jq >/dev/null || exit 0

input=$(cat)
[[ -f $manifest ]] || exit 0
state=$(<"$manifest")
[[ -f $state ]] || exit 0

case $(jq -r '.phase' "$state") in
implementation | verification) ;;
*) exit 0 ;;
esac

tool=$(jq -r '.tool_name' <<<"$input")
case $tool in
AskUserQuestion | EnterPlanMode)
    echo "$tool is not available while the loop runs; decide and go on" >&2
    exit 2
    ;;
esac
