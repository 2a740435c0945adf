//! The `git` and the `claude` of a machine.

use super::Machine;
use crate::checks::tools;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The side of a call at which a machine dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Before,
    After,
}

impl When {
    pub(super) fn word(self) -> &'static str {
        match self {
            When::Before => "before",
            When::After => "after",
        }
    }
}

/// Counts the call, and kills the `ralph` of its machine if this is the call.
const GIT: &str = r#"#!/bin/sh
case " $* " in
*' push '*) printf p >>'MACHINE/git-calls';;
*) printf x >>'MACHINE/git-calls';;
esac
if test -e 'MACHINE/kill' && read -r when call <'MACHINE/kill' &&
  test "$(wc -c <'MACHINE/git-calls')" -ge "$call" && mv 'MACHINE/kill' 'MACHINE/killed' 2>/dev/null
then
  read -r pid <'MACHINE/pid'
  test "$when" = after && 'GIT' "$@"
  code=$?
  kill -9 "$pid"
  exit $code
fi
exec 'GIT' "$@"
"#;

/// The beginning of a round: `id` is its task and `sid` its session. What follows is the test's.
const CLIENT: &str = r#"#!/bin/sh
test "$1" = --version -o "$1" = /cost && echo '2.1.328 (Claude Code)' && exit
common='COMMON'
id=$(printf '%s\n' "$2" | sed -n 's/^Your task: \([^ ]*\).*/\1/p')
for arg; do
  test "$before" = --session-id && sid=$arg
  before=$arg
done
say() { printf '%s\n' "$1"; }
# Writes the file of its task.
works() { mkdir -p work && echo "$id" >"work/$id.txt"; }
closes() { CLAUDE_CODE_SESSION_ID=$sid ralph task done "$id" --note "wrote work/$id.txt" >&2; }
ends() { say '{"type":"result","is_error":false,"result":"done","modelUsage":{"m":{"inputTokens":60,"outputTokens":40}}}'; }
# True for one client of all machines.
once() { mkdir "$common/$1" 2>/dev/null; }
say '{"type":"system","subtype":"init","session_id":"s"}'
"#;

pub(super) fn write(machine: &Machine, client: &str, common: &Path) {
    let git = tools::find("git").expect("git is on PATH");
    let text = GIT.replace("MACHINE", machine.folder.path().to_str().unwrap());
    executable(&machine.path("bin/git"), &text.replace("GIT", git.to_str().unwrap()));
    let beginning = CLIENT.replace("COMMON", common.to_str().unwrap());
    executable(&machine.path("bin/claude"), &format!("{beginning}{client}\n"));
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
