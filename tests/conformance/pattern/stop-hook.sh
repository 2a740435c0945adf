#!/usr/bin/env bash
# Stop hook of the Ralph Pattern, rendered in bash and jq for comparison.
#
# Written from the pattern's own list of rules, in their order, with its choice of tools: one
# manifest, `git diff --stat | md5sum`, `jq > tmp && mv`. Nothing here is tuned, for or against.
set -uo pipefail

manifest=${RALPH_MANIFEST:-/tmp/ralph_session_manifest}
command -v jq >/dev/null || exit 0

input=$(cat)
active=$(jq -r '.stop_hook_active // false' <<<"$input")

state=""
[[ -f $manifest ]] && state=$(<"$manifest")
if [[ $active == true && -z $state ]]; then exit 0; fi
if [[ -z $state || ! -f $state ]]; then exit 0; fi

phase=$(jq -r '.phase' "$state")
case $phase in
implementation | verification) ;;
*) exit 0 ;;
esac

update() {
    local next
    next=$(mktemp "$state.XXXXXX") || exit 0
    jq "$@" "$state" >"$next" && mv "$next" "$state"
}

finish() { rm -f "$manifest" "$state"; exit 0; }

token=$(jq -r '.completion_token' "$state")
message=$(jq -r '.last_assistant_message // ""' <<<"$input")
[[ $message == *"$token"* ]] && finish

iteration=$(jq -r '.iteration' "$state")
max=$(jq -r '.max_iterations' "$state")
if ((iteration >= max)); then
    update '.errors += ["max_iterations reached"]'
    finish
fi

hash=$(git diff --stat 2>/dev/null | md5sum | cut -d' ' -f1)
# shellcheck disable=SC2016 # $h is jq's own variable
update --arg h "$hash" '.stall_hashes = (.stall_hashes + [$h])[-3:]'
if [[ $(jq '.stall_hashes | length == 3 and (unique | length == 1)' "$state") == true ]]; then
    update '.errors += ["no progress in three iterations"]'
    finish
fi

update '.iteration += 1'
tasks=$(jq -r '"\([.task_graph[] | select(.status == "done")] | length)/\(.task_graph | length)"' "$state")
pending=$(jq -r '[.acceptance_criteria[] | select(.verified | not) | .id] | join(", ")' "$state")
jq -n --arg r "Iteration $((iteration + 1))/$max. Tasks done: $tasks. Pending: $pending. Go on." \
    '{decision: "block", reason: $r}'
