#!/usr/bin/env bash
# SessionStart hook of the Ralph Pattern, rendered in bash, git and jq for comparison.
#
# Where `tree` is not installed `find` lists the same two levels.
set -uo pipefail

command -v jq >/dev/null || exit 0

cd "${CLAUDE_PROJECT_DIR:-.}" || exit 0
context=""
add() { [[ -n $2 ]] && context+="## $1"$'\n'"$2"$'\n\n'; }

if command -v tree >/dev/null; then
  add Structure "$(tree -L 2 -I 'node_modules|.git|dist|build' --noreport)"
else
  add Structure "$(find . -maxdepth 2 \( -name node_modules -o -name .git -o -name dist -o -name build \) -prune -o -print)"
fi
if git rev-parse --git-dir >/dev/null 2>&1; then
  add Branch "$(git branch --show-current)"
  add Commits "$(git log --oneline -5)"
  add "Uncommitted changes" "$(git status --short | head -20)"
fi
if [[ -f package.json ]]; then
  add Scripts "$(jq -r '.scripts // {} | to_entries[] | "\(.key): \(.value)"' package.json)"
  add Dependencies "$(jq -r '[.dependencies // {}, .devDependencies // {}] | map(keys[]) | join(", ")' package.json)"
fi
if [[ -d supabase/migrations ]]; then
  add Migrations "$(printf '%s\n' supabase/migrations/* | tail -5)"
  add Tables "$(grep -rhoiE 'create table (if not exists )?[a-z_."]+' supabase/migrations | awk '{print $NF}' | sort -u)"
fi
if [[ -f tsconfig.json ]]; then
  add tsconfig "$(jq -c '.compilerOptions | {strict, target, module, paths}' tsconfig.json)"
fi

[[ -n $context ]] || exit 0
jq -n --arg c "$context" '{hookSpecificOutput: {hookEventName: "SessionStart", additionalContext: $c}}'
