//! Every cell of the table, and hundreds of Bash commands.

mod orchestration;
mod reasons;
mod wall;

use super::*;
use crate::guard::places::ProtectedPaths;

fn places() -> ProtectedPaths {
    ProtectedPaths {
        ralph_home: "/home/u/.local/state/ralph".into(),
        config_dirs: vec!["/home/u/.claude".into()],
        user_config: "/home/u/.config/ralph".into(),
        executables: vec!["/home/u/.local/bin".into()],
        plugin_root: Some("/opt/plugins/ralph".into()),
        home: "/home/u".into(),
        skill: Some(Skill { is_shipped: true, commands: Vec::new() }),
        ..ProtectedPaths::default()
    }
}

fn summary(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Allow => "allow",
        Ruling::Deny { rule, reason } => {
            assert!(!reason.is_empty(), "a refusal says what to do instead");
            rule.name()
        }
    }
}

fn ruling(mode: Mode, standing: LoopActivity, tool: &str, input: &ToolInput) -> Ruling {
    let places = places();
    let situation = Situation {
        own: crate::guard::own_loop::ModelsOwn::default(),
        mode: &mode,
        standing,
        agent: Caller::Main,
        session_id: "s-1",
        places: &places,
        ralplan: None,
        session: None,
    };
    decide(&situation, &ToolCall { tool, input, cwd: "/project", resolved: None, cut: false })
}

fn bash(command: &str) -> ToolInput {
    ToolInput { command: Some(command.into()), ..ToolInput::default() }
}

fn file(path: &str) -> ToolInput {
    ToolInput { file_path: Some(path.into()), ..ToolInput::default() }
}

fn prompt(text: &str) -> ToolInput {
    ToolInput { prompt: Some(text.into()), ..ToolInput::default() }
}

/// Checks a whole list at once, so that a broken rule reports every command it let through.
#[track_caller]
fn check_all(commands: &[&str], expected: &str) {
    let found =
        |command: &str| summary(ruling(Mode::Plain, LoopActivity::Running, "Bash", &bash(command)));
    let wrong: Vec<(&str, &str)> = commands
        .iter()
        .map(|command| (*command, found(command)))
        .filter(|(_, found)| *found != expected)
        .collect();
    assert!(wrong.is_empty(), "expected {expected}: {wrong:#?}");
}

#[track_caller]
fn check(mode: Mode, standing: LoopActivity, tool: &str, input: &ToolInput, expected: &str) {
    let what = format!("{tool} in {mode}, {standing:?}");
    assert_eq!(summary(ruling(mode, standing, tool, input)), expected, "{what}");
}

/// Tool, input, while running, while paused.
fn cells() -> Vec<(&'static str, ToolInput, &'static str, &'static str)> {
    let state = "/home/u/.local/state/ralph/loops/1/state.json";
    let notebook = ToolInput { notebook_path: Some(state.into()), ..ToolInput::default() };
    let nothing = ToolInput::default;
    vec![
        ("AskUserQuestion", nothing(), "question", "allow"),
        ("EnterPlanMode", nothing(), "enter_plan", "allow"),
        ("ExitPlanMode", nothing(), "allow", "allow"),
        ("Agent", nothing(), "allow", "allow"),
        ("Task", nothing(), "allow", "allow"),
        ("Write", file("/project/src/a.rs"), "allow", "allow"),
        ("Edit", file("/project/src/a.rs"), "allow", "allow"),
        ("Bash", bash("cargo test > out.txt"), "allow", "allow"),
        ("Read", file(state), "allow", "allow"),
        ("mcp__other__tool", file("/project/src/a.rs"), "allow", "allow"),
        ("mcp__other__tool", file(state), "protected_place", "protected_place"),
        ("mcp__other__tool", bash("ralph cancel"), "refused_command", "refused_command"),
        ("ToolOfTomorrow", file(state), "protected_place", "protected_place"),
        ("Monitor", bash("tail -f log"), "allow", "allow"),
        ("Monitor", bash("rm -rf ~/.local/state/ralph"), "protected_place", "protected_place"),
        ("PowerShell", bash("ralph cancel"), "refused_command", "refused_command"),
        ("CronCreate", prompt("look at the build"), "allow", "allow"),
        ("CronCreate", prompt("ralph cancel"), "refused_command", "refused_command"),
        ("ScheduleWakeup", prompt("/ralph-cancel"), "refused_command", "refused_command"),
        ("Skill", ToolInput { skill: Some("commit".into()), ..nothing() }, "allow", "allow"),
        (
            "Skill",
            ToolInput { skill: Some("ralph-cancel".into()), ..nothing() },
            "refused_command",
            "refused_command",
        ),
        ("Write", file(state), "protected_place", "protected_place"),
        ("Edit", file(state), "protected_place", "protected_place"),
        ("MultiEdit", file(state), "protected_place", "protected_place"),
        ("NotebookEdit", notebook, "protected_place", "protected_place"),
        ("Bash", bash("rm /home/u/.local/state/ralph/x"), "protected_place", "protected_place"),
        ("Bash", bash("ralph cancel"), "refused_command", "refused_command"),
    ]
}

#[test]
fn every_cell_of_the_loop_and_of_refinement() {
    for (tool, input, running, paused) in cells() {
        for mode in [Mode::Plain, Mode::Refine, Mode::Ralplan, Mode::Other("later".into())] {
            check(mode.clone(), LoopActivity::Running, tool, &input, running);
            check(mode, LoopActivity::Paused, tool, &input, paused);
        }
    }
}

#[test]
fn the_places_are_looked_up_for_the_tools_that_they_matter_to() {
    for (tool, _, running, paused) in cells() {
        let matters = [running, paused]
            .into_iter()
            .any(|found| matches!(found, "protected_place" | "refused_command"));
        if matters {
            assert!(looks_at_places(tool), "{tool}");
        }
    }
    for tool in ["Read", "TodoWrite", "AskUserQuestion", "ExitPlanMode"] {
        assert!(!looks_at_places(tool), "{tool}");
    }
}

fn running(places: &ProtectedPaths) -> Situation<'_> {
    Situation {
        own: crate::guard::own_loop::ModelsOwn::default(),
        mode: &Mode::Plain,
        standing: LoopActivity::Running,
        agent: Caller::Main,
        session_id: "s-1",
        places,
        ralplan: None,
        session: None,
    }
}

#[test]
fn each_tool_falls_into_its_row() {
    let places = places();
    let situation = running(&places);
    let row = |tool| {
        let input = ToolInput::default();
        let call = ToolCall { tool, input: &input, cwd: "/project", resolved: None, cut: false };
        touched(&situation, &call).map(|(rule, _)| rule)
    };
    for (tool, rule) in [
        ("AskUserQuestion", Rule::Question),
        ("EnterPlanMode", Rule::EnterPlan),
        ("ExitPlanMode", Rule::ExitPlan),
        ("Agent", Rule::Agent),
        ("Task", Rule::Agent),
        ("Write", Rule::Mutation),
        ("Edit", Rule::Mutation),
        ("MultiEdit", Rule::Mutation),
        ("NotebookEdit", Rule::Mutation),
        ("Bash", Rule::Mutation),
        ("Monitor", Rule::Mutation),
        ("PowerShell", Rule::Mutation),
        ("CronCreate", Rule::OtherTool),
        ("Skill", Rule::Skill),
        ("mcp__x__y", Rule::OtherTool),
        ("ToolOfTomorrow", Rule::OtherTool),
    ] {
        assert_eq!(row(tool), Some(rule), "{tool}");
    }
    assert_eq!(row("Read"), None);
}

#[test]
fn every_rule_has_exactly_one_row() {
    for (rule, _) in TABLE {
        assert_eq!(TABLE.iter().filter(|(row, _)| *row == rule).count(), 1, "{rule:?}");
    }
}

#[test]
fn work_that_has_nothing_to_do_with_ralph_is_let_through() {
    check_all(ALLOWED, "allow");
}

#[test]
fn commands_of_a_person_are_refused_however_they_are_wrapped() {
    check_all(REFUSED, "refused_command");
}

#[test]
fn protected_places_are_not_changed_by_any_command() {
    check_all(PROTECTED, "protected_place");
}

const ALLOWED: &[&str] = &[
    "grep -r ralph src",
    "echo \"ralph cancel\"",
    "git commit -m 'ralph cancel'",
    "cat ~/.claude/settings.json",
    "cat > notes.md <<EOF\nto stop: ralph cancel\nEOF",
    "cat > notes.md <<'EOF'\nto stop: `ralph cancel` $(x\nEOF\ncargo test",
    "npm test",
    "cargo build",
    "ralph verify",
    "ralph task done T-1",
    "ralph status --json",
    "ralph task list --all && ralph task ready",
    "ralph blocked 'a person must pause the server and cancel the job'",
    "ralph task add 'cancel button' --dep T-1",
    "ralph start --session s-1 -",
    "echo task | ralph start --session s-1 -",
    "ralph checkpoint list",
    "ralph parallel merge T-1 --json",
    "ralph parallel next",
    "ralph parallel clean",
    "ralph ralplan status",
    "ralph criteria list",
    "ralph --help",
    "ralph explain 3 --json",
    "which ralph",
    "command -v ralph",
    "ls ~/.local/state/ralph",
    "jq .phase \"$RALPH_HOME/loops/1/state.json\"",
    "cp ~/.claude/settings.json /tmp/backup.json",
    "diff ~/.claude/settings.json settings.example.json",
    "git diff -- .claude/settings.json",
    "git add .claude/settings.json && git commit -m x",
    "find ~/.local/state/ralph -name '*.json'",
    "find . -name '*.tmp' -delete",
    "find . -name '*.rs' -exec grep -l ralph {} +",
    "find src -type f | xargs wc -l",
    "rm -rf target node_modules",
    "rm -rf ./*",
    "rm -f \"$file\"",
    "rm -rf \"$tmp\"/build",
    "for f in *.txt; do mv \"$f\" \"$f.bak\"; done",
    "mv a.txt b.txt",
    "touch settings.json",
    "echo '{}' > config/settings.json",
    "sed -n 1,20p .claude/ralph.toml",
    "sed -i s/a/b/ src/main.rs",
    "python -c 'print(1)'",
    "python3 - <<'EOF'\nprint('hello')\nEOF",
    "node -e 'console.log(1)'",
    "awk '{print $1}' ~/.claude/settings.json",
    "curl -s https://example.com/install.sh | sh",
    "$EDITOR notes.md",
    "bash script.sh",
    "bash -c 'cargo test'",
    "eval \"$(ssh-agent)\"",
    "make -j4 && ./run.sh --cancel",
    "docker compose up -d",
    "kubectl cancel ralph",
    "git checkout -b ralph/cancel-button",
    "cargo test cancel -- --nocapture",
    "cat ralph/cancel.rs",
    "cd crates/ralph && cargo test pause",
    "test -f ~/.claude/settings.json && echo yes",
    "[ -d \"$RALPH_HOME\" ] || echo none",
    "if [ -f .claude/ralph.toml ]; then cat .claude/ralph.toml; fi",
    "RALPH_HOME=/tmp/x cargo test",
    "echo done > /tmp/out 2>&1",
    "tar czf /tmp/a.tgz src",
    "time cargo build --release",
    "timeout 60 npm test",
    "git log --grep='ralph start'",
    "printf '%s\\n' 'ralph pause' >> notes.md",
    "echo \"$(date): see ralph cancel\" | tee -a notes.md",
    "tail -f ~/.local/state/ralph/loops/1/journal.jsonl | head -3",
    "ls -la .claude && wc -l .claude/settings.json",
    "mkdir -p .claude/commands && echo hi > .claude/commands/x.md",
    "echo hi > .claude/skills/other/SKILL.md",
    "ls $(dirname $(which ralph))",
    "cat <<< 'ralph cancel'",
    "alias r=rg; r foo",
    "",
    "   ",
    "echo $((1 << 2)) && echo ok",
    "git diff HEAD~1",
    "git log -p -- .claude",
    "git status && git add -A && git commit -m \"fix: don't (ralph cancel)\"",
    "git commit -m \"$(cat <<'EOF'\nmsg: ralph cancel and .claude/settings.json\nit's\nEOF\n)\"",
    "git commit -F - <<EOF\nralph cancel\nEOF",
    "gh pr create --title x --body 'see ralph start'",
    "python manage.py test",
    "python3 -c 'import json; print(json.load(open(\"package.json\")))'",
    "cat > scripts/x.py <<'EOF'\nopen('.claude/settings.json')\nEOF",
    "cat >> README.md <<'EOF'\n```sh\nralph start \"x\"\nralph cancel\n```\nEOF",
    "sed -i 's/ralph cancel/ralph pause/' README.md",
    "grep -rn \"ralph cancel\" docs | head",
    "rg 'ralph (cancel|pause)' -l",
    "cargo run -p ralph -- status",
    "cargo test -p ralph-core guard",
    "cargo clippy --all-targets -- -D warnings",
    "ls ~/.claude/skills/ralph",
    "cat ~/.claude/skills/ralph/SKILL.md",
    "rm -rf dist && npm run build",
    "rm -rf /tmp/foo",
    "rm -rf \"$TMPDIR\"",
    "rm -rf ${TMP:?}/x",
    "cd /tmp && rm -rf *",
    "cd \"$(mktemp -d)\" && git init && rm -rf *",
    "mv src/a.rs src/b.rs",
    "cp -r templates/. out/",
    "cp a b c dir/",
    "cp .env.example .env",
    "chmod +x run.sh",
    "docker run --rm -v $PWD:/w img sh -c 'make'",
    "kill $(pgrep -f server)",
    "export PATH=$PATH:~/.local/bin",
    "source .venv/bin/activate && pytest -q",
    "ralph task list --json | jq -r '.[].id'",
    "ralph task fail T-2 'could not cancel: pause the server first'",
    "ralph task done T-2 --result 'ralph cancel works'",
    "ralph task add \"$(cat title.txt)\"",
    "ralph task done $id",
    "ralph plan-sync - < plan.json",
    "ralph verify AC-1 && ralph status",
    "for t in T-1 T-2; do ralph task done $t; done",
    "ralph --version",
    "ralph",
    "xargs -n1 ralph task done < ids",
    "ralph check src/a.rs",
    "ralph explain",
    "echo $RALPH_HOME",
    "test -d ~/.local/bin && ls -l ~/.local/bin/ralph",
    "sha256sum ~/.local/bin/ralph*",
    "file $(which ralph)",
    "find . -type f -name '*.py' | xargs sed -i 's/a/b/'",
    "find . -name '*.orig' -exec rm {} \\;",
    "find . -name node_modules -prune -o -name '*.ts' -print",
    "jq '.version' package.json > v.txt",
    "tsc --noEmit; echo \"exit: $?\"",
    "npm run build 2>&1 | tail -20",
    "while read -r l; do echo $l; done < .claude/settings.json",
    "diff <(jq -S . a.json) <(jq -S . b.json)",
    "node scripts/gen.js > out.json",
    "tar czf b.tgz .",
    "tar xzf b.tgz",
    "cp ~/.claude/settings.json .",
    "bash -n install.sh",
    "env | grep RALPH",
    "printenv RALPH_HOME",
    "(cd sub && make)",
    "ps aux | grep ralph",
    "touch .claude/x",
    "mkdir -p .claude",
    "awk -F: '{print $1}' /etc/passwd",
    "awk '$1 > 5' data.txt",
    "perl -ne 'print if /ralph/' log.txt",
    "python3 - <<'E'\nprint('ralph status')\nE",
    "x=$(cat ~/.claude/settings.json)",
    "stow -n claude",
    "rm -f .claude/commands/old.md",
    "rm -rf .claude/worktrees/x",
    "git worktree remove .claude/worktrees/a",
    "git rm -r --cached .",
    "cp -r . /tmp/copy",
    // A protected name counts only in its own folder and command.
    "ls .claude; rm settings.json",
    "ls ~/.claude; find . -name '*.tmp' | xargs rm",
    "cat ~/.claude/settings.json | tee copy.json",
    "prettier --check settings.json .claude",
    "find /tmp/build -delete",
    "rm -rf .claude/commands",
    "rm -rf plugins skills",
    "rm -rf .claude/skills/other",
    "rm -rf skills/old",
    // Readers, also of protected places.
    "ralph check .claude/settings.json",
    "sort ~/.claude/settings.json | uniq -c",
    "tree ~/.local/state/ralph",
    "yq .env .claude/settings.json",
    "find ~/.claude -name '*.json' -exec cat {} +",
    // A script's arguments do not matter, nor does a variable that does not select a loop.
    "python3 notes.py 'ralph cancel'",
    "python3 -c 'import os; os.system(\"ralph task list --all\")'",
    "CI=1 ralph verify",
    "export CI=1; ralph verify",
    "env -u DEBUG ralph status",
];

const REFUSED: &[&str] = &[
    "ralph share --remote origin",
    "ralph status --shared",
    "ralph status --json --shared=20260131-120000-1a2b",
    "ralph cancel",
    "ralph cancel --all",
    "ralph --loop x cancel",
    "ralph --session s-1 pause",
    "ralph start 'do it'",
    "ralph start --session s-1 - --max-iterations 99",
    "ralph start --session other -",
    "ralph task import plan.json",
    "ralph task import - < plan.json",
    "ralph delegate checks < edit.json",
    "echo '{}' | ralph supervise",
    "ralph round",
    "ralph man docs",
    "ralph criteria accept",
    "ralph pause",
    "ralph resume",
    "ralph adopt",
    "ralph trust",
    "ralph signal steer 'do less'",
    "ralph install --user",
    "ralph uninstall",
    "ralph watch",
    "ralph statusline --with 'ralph cancel'",
    "ralph checkpoint restore",
    "ralph checkpoint --loop x restore 3",
    "ralph ralplan approve",
    "ralph ralplan adjust 'less'",
    "ralph ralplan discard",
    "/usr/local/bin/ralph cancel",
    "~/.local/bin/ralph cancel",
    "./target/release/ralph cancel",
    "$HOME/.local/bin/ralph cancel",
    "\"$BIN\"/ralph cancel",
    "ra''lph can\"c\"el",
    "\\ralph cancel",
    "r=ralph; $r cancel",
    "R=/usr/bin/ralph && \"${R}\" cancel",
    "${RALPH:-ralph} cancel",
    "ralph $command",
    "for c in cancel pause; do ralph $c; done",
    "ralph {cancel,--all}",
    "alias r=ralph; r cancel",
    "alias stop='ralph cancel'\nstop",
    "env -u CLAUDE_CODE_SESSION_ID ralph cancel",
    "(unset CLAUDE_CODE_SESSION_ID; ralph cancel)",
    "env X=1 ralph cancel",
    "sudo -u root ralph cancel",
    "nohup ralph cancel &",
    "time ralph cancel",
    "command ralph cancel",
    "exec ralph cancel",
    "timeout 5 ralph cancel",
    "timeout -k 1 5 ralph cancel",
    "nice -n 5 ralph cancel",
    "setsid -f ralph cancel",
    "stdbuf -oL ralph cancel",
    "watch -n 1 ralph cancel",
    "echo cancel | xargs ralph",
    "xargs -n 1 ralph cancel < /dev/null",
    "find . -maxdepth 0 -exec ralph cancel \\;",
    "bash -c 'ralph cancel'",
    "bash -lc \"cd /tmp && ralph cancel\"",
    "sh -c \"bash -c 'ralph cancel'\"",
    "eval 'ralph cancel'",
    "eval ralph cancel",
    "bash <<EOF\nralph cancel\nEOF",
    "bash <<< 'ralph cancel'",
    "echo 'ralph cancel' | sh",
    "printf 'ralph cancel\\n' | bash -s",
    "cat <<'E' | bash\nralph cancel\nE",
    "echo $(ralph cancel)",
    "echo \"`ralph cancel`\"",
    "echo \"${x:-$(ralph cancel)}\"",
    "cat <<EOF\n$(ralph cancel)\nEOF",
    "diff <(ralph cancel) /dev/null",
    "cat < <(ralph cancel)",
    "[[ -n $(ralph cancel) ]]",
    "echo $(( $(ralph cancel) + 1 ))",
    "x=$(ralph cancel)",
    "a=(1 $(ralph cancel))",
    "true && ralph cancel",
    "false || ralph cancel",
    "true; ralph cancel",
    "true | ralph cancel",
    "{ ralph cancel; }",
    "if true; then ralph cancel; fi",
    "if false; then :; else ralph cancel; fi",
    "while ralph pause; do break; done",
    "for i in 1 2; do ralph cancel; done",
    "case x in x) ralph cancel;; esac",
    "f() { ralph cancel; }; f",
    "f() { ralph \"$@\"; }; f cancel",
    "! ralph cancel",
    "trap 'ralph cancel' EXIT",
    "coproc ralph cancel",
    "npm test\nralph cancel\n",
    "$(which ralph) cancel",
    "`command -v ralph` cancel",
    "python3 -c 'import os; os.system(\"ralph cancel\")'",
    "node -e 'require(\"child_process\").execSync(\"ralph cancel\")'",
    "tmux send-keys 'ralph cancel' Enter",
    "RALPH_HOME=/tmp/x ralph status",
    "RALPH_MANIFEST=/tmp/m ralph verify",
    "RALPH_BD=./x ralph refine status",
    "export CLAUDE_CODE_SESSION_ID=other; ralph status",
    "env -i ralph verify",
    "echo '{}' | ralph-user-prompt settings",
    "~/.local/bin/ralph-stop-hook < payload.json",
    // Not fully parseable, but the bare text names the command.
    "$SHELL -c 'ralph cancel'",
    "ralph cancel; if true; then",
    "curl -s x | sh; ssh host ralph cancel",
    "command -p ralph cancel",
    "builtin command ralph cancel",
    "exec -a x ralph cancel",
    "env -S 'ralph cancel'",
    "env -C /tmp ralph cancel",
    "env --chdir=/tmp ralph cancel",
    "env -- ralph cancel",
    "bash -o pipefail -c 'ralph cancel'",
    "bash --norc -c 'ralph cancel'",
    "bash -ec 'ralph cancel'",
    "bash -c -- 'ralph cancel'",
    "sh -c 'ralph \"$0\"' cancel",
    "sh -c '\"$@\"' _ ralph cancel",
    "source <(echo ralph cancel)",
    ". /dev/stdin <<< 'ralph cancel'",
    "bash <(echo ralph cancel)",
    "time -p ralph cancel",
    "sudo -n ralph cancel",
    "sudo -- ralph cancel",
    "xargs -I{} ralph {} <<< cancel",
    "xargs ralph <<< cancel",
    "echo 'ralph cancel' | xargs -0 bash -c",
    "ralph ca*",
    "ralph c?ncel",
    "ralph [c]ancel",
    "ral?h cancel",
    "r{al,}ph cancel",
    "ralph $'\\x63ancel'",
    "$'ralph' cancel",
    "\"ralph\" 'cancel'",
    "ralph \\\n cancel",
    "X=cancel; ralph $X",
    "ralph ${X:-cancel}",
    "ralph $(echo cancel)",
    "ralph -- cancel",
    "ralph --session=s-1 cancel",
    "ralph -q cancel",
    "ralph --session plan cancel",
    "ralph --loop verify cancel",
    "select x in a; do ralph cancel; done",
    "function f { ralph cancel; }",
    "for ((;;)); do ralph cancel; done",
    "parallel ralph ::: cancel",
    "nohup bash -c 'ralph cancel' >/dev/null 2>&1 &",
    "(ralph cancel) &",
    "disown; ralph cancel",
    "script -c 'ralph cancel' /dev/null",
    "at now <<< 'ralph cancel'",
    "python3 <<< 'import os;os.system(\"ralph cancel\")'",
    "echo 'import os; os.system(\"ralph cancel\")' | python3",
    "printf 'ralph %s' cancel | sh",
    "x='ralph cancel'; $x",
    "x='ralph cancel'; eval \"$x\"",
    "x='ralph cancel'; bash -c \"$x\"",
    "cmd=(ralph cancel); \"${cmd[@]}\"",
    "set -- ralph cancel; \"$@\"",
    "if ! ralph cancel; then :; fi",
    "[ $(ralph cancel) ]",
    "echo ${x/$(ralph cancel)/}",
    "echo \"${x:=`ralph cancel`}\"",
    "cat <<-E\n\t`ralph cancel`\n\tE\n",
    "RALPH_HOME=/tmp; export RALPH_HOME; ralph status",
    "declare -x RALPH_HOME=/x; ralph status",
    "read RALPH_HOME; ralph status",
    "unset RALPH_MANIFEST && ralph status",
    "env RALPH_HOME=/x bash -c 'ralph status'",
    "bash -c 'RALPH_HOME=/x ralph status'",
    "busybox sh -c 'ralph cancel'",
    "ionice -c 3 ralph cancel",
    "doas ralph cancel",
    "chroot / ralph cancel",
    "unshare -r ralph cancel",
    "strace -f ralph cancel",
    "ltrace ralph cancel",
    "gdb --args ralph cancel",
    "flock /tmp/l ralph cancel",
    "flock /tmp/l -c 'ralph cancel'",
    "su -c 'ralph cancel'",
    "runuser -u me -- ralph cancel",
    "systemd-run ralph cancel",
    "entr ralph cancel",
    "hyperfine 'ralph cancel'",
    "ralph --color always cancel",
    "node --eval 'require(\"child_process\").execSync(\"ralph cancel\")'",
    "node --print 'require(\"child_process\").execSync(\"ralph cancel\")'",
    "python3 -c 'import os; os.system(\"ralph task import p.json\")'",
    "python3 -c 'import os; os.system(\"ralph --session s --all cancel\")'",
];

const PROTECTED: &[&str] = &[
    "echo x > ~/.local/state/ralph/loops/1/state.json",
    "echo x >> $RALPH_HOME/loops/1/state.json",
    "echo x >| ${RALPH_HOME}/x",
    "echo x &> \"$HOME/.local/state/ralph/x\"",
    "cat a 2> ~/.claude/settings.json",
    "echo x | tee ~/.claude/settings.json",
    "tee -a .claude/ralph.toml < x",
    "echo a > .claude/ralph.toml",
    "echo a > sub/project/.claude/ralph.toml",
    "echo a > ./.claude/../.claude/settings.local.json",
    "sed -i s/a/b/ .claude/settings.json",
    "sed --in-place s/a/b/ ~/.claude/settings.json",
    "cd ~/.claude && echo '{}' > settings.json",
    "cd ~ && cd .claude; rm settings.json",
    "cd .claude && rm *.json",
    "(cd /home/u/.local/state && rm -r ralph)",
    "rm .claude/settings.json",
    "rm -f .claude/s*.json",
    "rm .claude/{settings,other}.json",
    "rm -rf ~/.claude",
    "rm -rf .claude",
    "rm -rf ../other/.claude/",
    "rm -rf ~",
    "rm -rf /",
    "rm -rf .",
    "rm -rf /home/u/.local",
    "rm -rf ~/.local/stat?/ralph",
    "mv ~/.local/state/ralph x",
    "mv .claude .claude.off",
    "mv x .claude/settings.json",
    "mv settings.json .claude/",
    "cp /tmp/settings.json ~/.claude",
    "cp evil.json .claude/settings.json",
    "ln -sf /tmp/x ~/.claude/settings.json",
    "install -m 644 x ~/.config/ralph/config.toml",
    "dd if=/dev/null of=/home/u/.claude/settings.json",
    "truncate -s 0 --reference=x ~/.local/state/ralph/manifest/s-1",
    "prog --output=.claude/settings.json",
    "chmod 000 ~/.local/bin/ralph-stop-hook",
    "rm ~/.local/bin/ralph",
    "rm ~/.local/bin/ralph-*",
    "echo > /opt/plugins/ralph/hooks/hooks.json",
    "rm ~/.claude/plugins/cache/ralph/hooks/hooks.json",
    "echo x > ~/.claude/skills/ralph/SKILL.md",
    "rm -r ~/.claude/skills/ralph-cancel",
    "echo '{}' > /etc/claude-code/managed-settings.json",
    "vim ~/.claude/settings.json",
    "git checkout -- .claude/settings.json",
    "git rm .claude/settings.json",
    "find ~/.local/state/ralph -type f -delete",
    "find ~/.local/state/ralph -exec rm {} +",
    "find ~/.local/state/ralph -name x | xargs rm",
    "echo ~/.claude/settings.json | xargs rm",
    "python -c \"open('/home/u/.local/state/ralph/x','w')\"",
    "python3 -c 'import os; os.remove(os.path.expanduser(\"~/.claude/settings.json\"))'",
    "python3 - <<'EOF'\nopen('.claude/ralph.toml','w').write('x')\nEOF",
    "node -e 'fs.writeFileSync(\".claude/settings.json\", \"{}\")'",
    "perl -e 'unlink \".claude/settings.json\"'",
    "perl -pi -e 's/a/b/' ~/.claude/settings.json",
    "ruby -e 'File.write(\".claude/ralph.toml\", \"\")'",
    "awk 'BEGIN{print > \".claude/ralph.toml\"}'",
    "bash -c 'rm ~/.claude/settings.json'",
    "sudo rm ~/.claude/settings.json",
    "eval 'echo x > .claude/ralph.toml'",
    "echo 'rm .claude/ralph.toml' | sh",
    "f=~/.claude/settings.json; rm $f",
    "F=.claude/settings.json && echo '{}' > \"$F\"",
    "rm ${XDG_STATE_HOME:-$HOME/.local/state}/ralph/manifest/s-1",
    "rm \"$PROJECT\"/.claude/settings.json",
    "> .claude/settings.json",
    "{ echo a; echo b; } > .claude/settings.json",
    "for f in a; do echo; done > .claude/settings.json",
    "if true; then echo x; fi >> .claude/ralph.toml",
    "cat <<EOF > .claude/settings.json\n{}\nEOF",
    "jq . x.json > ~/.claude/settings.json",
    "$TOOL --write .claude/settings.json",
    "echo x > .claude/settings.json; if true; then",
    "rm ~+/.claude/settings.json",
    "rm ~u/.claude/settings.json",
    "cd /home/u; rm .claude/settings.json",
    "pushd ~/.claude; rm settings.json",
    "cd -- ~/.claude; rm settings.json",
    "cd ~/.local/state && rm -rf ralph",
    "cd ~/.local/state/ralph && rm -rf *",
    "cd ~/.local/state/ralph && rm -rf loops",
    "cd \"$RALPH_HOME\" && touch x",
    "cd ~/.local/state/ralph && echo hi > x",
    "rm -rf ~/.local/state/*",
    "rm -rf ~/.*",
    "rm -rf ~/.c*",
    "rm -rf -- ~/.claude/",
    "rm -rf /home/*/.claude",
    "rm -rf /home/u/.local/state/ralph/../ralph/x",
    "sed -i.bak s/a/b/ .claude/settings.json",
    "sed -ni p .claude/settings.json",
    "sed -n 'w .claude/settings.json' x",
    "sed 's/a/b/w .claude/settings.json' x",
    "ex -sc '%s/a/b/|x' .claude/settings.json",
    "ed .claude/settings.json",
    "patch .claude/settings.json < x",
    "sponge .claude/settings.json",
    "sort -o .claude/settings.json x",
    "sort x --output=.claude/settings.json",
    "curl -o .claude/settings.json http://x",
    "curl -o.claude/settings.json http://x",
    "wget -O ~/.claude/settings.json x",
    "tar -xf a -C ~/.local/state/ralph",
    "unzip a -d ~/.local/state/ralph",
    "rsync -a x/ ~/.local/state/ralph/",
    "cp -r x ~/.local/state/ralph",
    "cp -t ~/.claude settings.json",
    "cp --target-directory=.claude settings.json",
    "mv -t .claude settings.json",
    "ln -s ~/.claude/settings.json /tmp/l",
    "ln -s ~/.claude /tmp/l",
    "mv ~/.claude/settings.json /tmp",
    "git restore .claude/settings.json",
    "git -C ~/.claude rm settings.json",
    "exec > .claude/settings.json",
    "exec 3>.claude/settings.json",
    "cat x <> .claude/settings.json",
    "echo >&.claude/settings.json x",
    "echo x 1>.claude/settings.json",
    "f() { echo x; } > .claude/settings.json",
    "tee .claude/settings.json < x > /dev/null",
    "tee < x -- .claude/settings.json",
    "cat x | tee a .claude/settings.json",
    "D=.claude; echo x > $D/settings.json",
    "echo x > \"$D\"/.claude/settings.json",
    "echo x > .claude/settings$X.json",
    "echo x > ./.claude//settings.json",
    "echo x > .claude/./settings.json",
    "for f in settings.json; do rm .claude/$f; done",
    "for f in ~/.claude/settings.json; do rm $f; done",
    "for f in ~/.claude/*.json; do rm \"$f\"; done",
    "for f in a ~/.claude/settings.json; do rm $f; done",
    "rm $(echo ~/.claude/settings.json)",
    "rm `ls ~/.claude/settings.json`",
    "ls ~/.claude/*.json | xargs rm",
    "ls ~/.claude/*.json | while read f; do rm $f; done",
    "find ~/.claude -name settings.json -delete",
    "find ~/.claude -name 'settings*' | xargs rm",
    "find ~ -name ralph.toml -delete",
    "find . -name ralph.toml -exec rm {} \\;",
    "find . -name settings.json -path '*.claude*' -delete",
    "find /project/.claude -delete",
    "install -D x ~/.claude/settings.json",
    "python3 edit.py ~/.claude/settings.json",
    "node <<E\nfs.rmSync('.claude/ralph.toml')\nE",
    "bash <<E\nrm .claude/ralph.toml\nE",
    "xargs rm < <(echo .claude/settings.json)",
    "xargs rm <<< .claude/settings.json",
    "truncate -s0 .claude/settings.json",
    "shred ~/.claude/settings.json",
    "chmod -R 000 ~/.local/state/ralph",
    "chmod 000 ~/.claude",
    "chmod -R 0 ~/.claude",
    "chown -R x ~/.claude",
    "mount --bind /tmp ~/.claude",
    "rename s/a/b/ ~/.claude/settings.json",
    "awk '{print > \".claude/settings.json\"}' x",
    "awk -i inplace '{print}' .claude/settings.json",
    "gawk 'BEGIN{system(\"rm .claude/settings.json\")}'",
    "emacs --batch .claude/settings.json",
    "jq '.x=1' .claude/settings.json | sponge .claude/settings.json",
    "jq . .claude/settings.json > tmp && mv tmp .claude/settings.json",
    "cat a > .claude/settings.local.json",
    "trap 'rm .claude/settings.json' EXIT",
    "RM=rm; $RM .claude/settings.json",
    "\\rm .claude/settings.json",
    "/bin/rm .claude/settings.json",
    "busybox rm .claude/settings.json",
    "rm ~/.claude/skills/ralph*/SKILL.md",
    "rm -rf ~/.claude/skills",
    "rm -rf ~/.claude/skills/*",
    "rm .claude/skills/ralph/SKILL.md",
    "rm -rf ~/.claude/plugins",
    "rm ~/.local/bin/ral*",
    "cp x ~/.local/bin/ralph",
    "echo x > $XDG_CONFIG_HOME/ralph/config.toml",
    "echo x > ${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json",
    "echo x > ${CLAUDE_CONFIG_DIR}/settings.json",
    "rm ${HOME}/.claude/settings.json",
    "rm \"${HOME}\"/.claude/settings.json",
    "rm ${HOME%/}/.claude/settings.json",
    "rm '/home/u/.claude/settings.json'",
    "rm /home/u/.claude/sett\\ings.json",
    "rm /home//u/./.claude/settings.json",
    "rm /proc/self/root/home/u/.claude/settings.json",
    "rm /home/u/../u/.claude/settings.json",
    "cp -t/home/u/.local/state/ralph x",
    "yq -i '.env = 1' .claude/settings.json",
    "yq --inplace '.env = 1' .claude/settings.json",
    "find . -fprint .claude/settings.json",
    "find . -fls .claude/settings.json",
    "find -delete",
    "find ~/.claude -name settings.json -exec rm {} +",
    "git diff --output=.claude/settings.json",
    "rm -r ~/.claude/skills/ralp?",
    "rm -r ~/.claude/skills/*-plan",
    "python3 -c 'import os; os.remove(os.path.expanduser(\"~/.local/state/ralph/x\"))'",
];

/// Attempts to bypass the names: a folder moved as a whole, permissions removed higher up, other
/// spellings of a path.
const BROUGHT: &[&str] = &[
    "mv c .claude",
    "mv c ~/.claude",
    "cp -r c .claude",
    "cp -a c/. .claude/",
    "rsync -a c/ .claude/",
    "ln -s /tmp/c .claude",
    "mkdir c; cp /tmp/s.json c/settings.json; mv c .claude",
    "tar -xf a.tar -C .claude",
    "unzip a.zip -d .claude",
    "git checkout main -- .claude",
    "git restore --source=HEAD~1 .claude/",
    "git rm -r .claude",
    "git clone https://example.com/x .claude",
    "git apply",
    "git diff a b | git apply",
    "git apply nowhere.patch",
    "git am < nowhere.mbox",
    "patch -p1 < nowhere.patch",
    "patch -p1 -i nowhere.patch",
    "curl -s https://example.com/x.patch | patch -p1",
    "patch -p1 <<'E'\n--- a/.claude/settings.json\n+++ b/.claude/settings.json\n@@ -1 +1 @@\n-a\n+b\nE",
    "git apply <<'E'\ndiff --git a/.claude/ralph.toml b/.claude/ralph.toml\nE",
    "cat > x.patch <<'E'\n+++ b/.claude/settings.json\nE\ngit apply x.patch",
    "cd .claude && patch -p2 <<'E'\n--- a/x/settings.json\n+++ b/x/settings.json\nE",
    "chmod -R -x ~/.local",
    "chmod -R a-x ~",
    "chmod 000 ~/.local/bin",
    "chmod -x ~/.local/bin",
    "chmod 600 ~/.local",
    "chmod -R 644 ~/.local/bin",
    "chmod -R go+w ~/.local/state",
    "chmod -R go+w ~/.local/state/ralph",
    "chmod 777 ~/.local/state",
    "chown -R nobody ~/.local",
    "chattr -R +i ~/.local/state",
    "find ~ -name state.json -delete",
    "find ~ -name 'state.*' -exec rm {} +",
    "find / -name journal.jsonl -delete",
    "find ~ -path '*ralph/loops*' -delete",
    "find ~/.local -name 'ralph*' | xargs rm -rf",
    "find ~ -name ralph-pre-tool-use -exec chmod -x {} \\;",
    "ln -s ~/.local/state l && rm -rf l/ralph",
    "ln -s ~ h; rm -rf h/.local/state/ralph",
    "s=$(ls ~/.local/state/ralph/loops/1/state.json); rm $s",
    "rm $(which ralph)",
    "rm \"$(command -v ralph-stop-hook)\"",
    "chmod -x $(which ralph-pre-tool-use)",
    "rm -rf \"$X\"/.local/state/ralph",
    "rm -rf \"$XDG\"/state/ralph",
    "rm -rf ~u/.local/state/ralph",
    "rm -rf \"$(dirname \"$A\")\"/state/ralph/loops",
    "python3 -c \"import os,shutil; shutil.rmtree(os.path.join(os.environ['HOME'], '.local', 'state', 'ralph'))\"",
    "python3 <<'E'\nfrom pathlib import Path\np=Path.home()/'.claude'/'settings.json'\np.write_text('x')\nE",
    "wget -P ~/.claude x/settings.json",
];

#[test]
fn what_is_brought_or_shut_is_refused_like_what_is_named() {
    check_all(BROUGHT, "protected_place");
}

#[test]
fn a_folder_and_a_patch_that_are_known_are_judged_by_what_they_hold() {
    let brought = |from: &str, paths: &[&str]| {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        Brought { from: format!("/project/{from}"), paths }
    };
    let places = ProtectedPaths {
        brought: vec![
            brought("notes.md", &[]),
            brought("c", &["settings.json"]),
            brought("d", &["readme"]),
            brought("tree", &[".claude/settings.json"]),
            brought("good.patch", &[]),
            brought("bad.patch", &["a/.claude/settings.json", "b/.claude/settings.json"]),
        ],
        links: vec![("/project/l".into(), "/home/u/.local/state".into())],
        ..places()
    };
    for (line, expected) in [
        ("mv notes.md .claude/", "allow"),
        ("mv d .claude", "allow"),
        ("mv c .claude", "protected_place"),
        ("cp -r tree/. .", "protected_place"),
        ("cp -r tree/ sub", "protected_place"),
        ("cp -r d/. .", "allow"),
        ("git apply good.patch", "allow"),
        ("git apply --check bad.patch", "allow"),
        ("git apply bad.patch", "protected_place"),
        ("patch -p1 < bad.patch", "protected_place"),
        ("patch -p1 < good.patch", "allow"),
        ("rm -rf l/ralph", "protected_place"),
        ("rm -rf l/ral*", "protected_place"),
        ("rm -rf l/other", "allow"),
    ] {
        let input = bash(line);
        let call =
            ToolCall { tool: "Bash", input: &input, cwd: "/project", resolved: None, cut: false };
        assert_eq!(summary(decide(&running(&places), &call)), expected, "{line}");
    }
}

/// An input as the client sends it.
fn judged(tool: &str, input: serde_json::Value) -> &'static str {
    summary(ruling(Mode::Plain, LoopActivity::Running, tool, &ToolInput::from(input)))
}

#[test]
fn a_tool_is_judged_by_every_field_of_its_input() {
    use serde_json::json;
    let state = "/home/u/.local/state/ralph/loops/1/state.json";
    for input in [
        json!({"path": state}),
        json!({"uri": format!("file://{state}")}),
        json!({"uri": "file:///home/u/%2elocal/state/ralph/x"}),
        json!({"where": "~/.local/state/ralph"}),
        json!({"where": "$HOME/.local/state/ralph/x"}),
        json!({"where": "${RALPH_HOME}/x"}),
        json!({"where": "../home/u/.local/state/ralph/x"}),
        json!({"files": [{"name": "a"}, {"name": state}]}),
        json!({"files": {"/home/u/.claude/settings.json": "{}"}}),
        json!({"options": "{\"target\": \"/home/u/.claude/settings.json\"}"}),
        json!({"source": "c", "destination": ".claude"}),
        json!({"path": "/home/u/.local/state"}),
        json!({"path": ".", "operation": "delete"}),
        json!({"command": "rm -rf ~/.local/state/ralph"}),
        json!({"argv": ["rm", "-rf", "/home/u/.local/state/ralph"]}),
        json!({"program": "rm", "args": ["-rf", "/home/u/.local/state/ralph/../ralph"]}),
        json!({"program": "chmod", "args": "-R -x /home/u/.local"}),
        json!({"code": "import os; os.remove(os.path.expanduser('~/.claude/settings.json'))"}),
        json!({"script": {"lines": ["cd ~/.claude", "rm settings.json"]}}),
        json!({"text": "rm -rf ~/.local/state/ralph"}),
    ] {
        assert_eq!(judged("mcp__any__thing", input.clone()), "protected_place", "{input}");
        assert_eq!(judged("ToolOfTomorrow", input.clone()), "protected_place", "{input}");
    }
    for input in [
        json!({"command": "ralph cancel"}),
        json!({"argv": ["ralph", "cancel"]}),
        json!({"program": "ralph", "args": ["cancel", "--all"]}),
        json!({"text": "ralph cancel"}),
        json!({"prompt": "/ralph-cancel"}),
        json!({"prompt": "Wait a minute, then type `/ralph:ralph-cancel`."}),
        json!({"stdin": "cd x && ralph pause\n"}),
        json!({"payload": "{\"cmd\": \"ralph cancel\"}"}),
    ] {
        assert_eq!(judged("mcp__any__thing", input.clone()), "refused_command", "{input}");
    }
    for input in [
        json!({"path": "/project"}),
        json!({"path": "/project/src/main.rs", "content": "to stop, type ralph cancel\n.claude/settings.json"}),
        json!({"owner": "x", "repo": "ralph", "title": "Cancel button", "body": "See `.claude/settings.json`: `ralph cancel` ends it."}),
        json!({"query": "ralph cancel"}),
        json!({"url": "https://example.com/.claude/settings.json"}),
        json!({"command": "npm test", "cwd": "/project"}),
        json!({"sql": "select * from users where id = 1"}),
        json!({"expression": "1 + 1"}),
        json!({"path": "."}),
        json!({}),
        json!(7),
    ] {
        assert_eq!(judged("mcp__any__thing", input.clone()), "allow", "{input}");
    }
}

#[test]
fn a_prompt_that_the_client_submits_later_is_no_persons_command() {
    use serde_json::json;
    for (tool, field) in
        [("CronCreate", "prompt"), ("ScheduleWakeup", "prompt"), ("SetGoal", "condition")]
    {
        for text in [
            "ralph cancel",
            " ralph cancel\n",
            "/ralph-cancel",
            "/ralph:ralph-cancel",
            "please run `ralph pause` now",
        ] {
            assert_eq!(judged(tool, json!({field: text})), "refused_command", "{tool} {text}");
        }
        for text in ["check the build", "look whether crates/ralph compiles", "ralph status"] {
            assert_eq!(judged(tool, json!({field: text})), "allow", "{tool} {text}");
        }
    }
    let trigger = json!({"action": "create", "body": {"job": {"prompt": "/ralph-cancel"}}});
    assert_eq!(judged("RemoteTrigger", trigger), "refused_command");
    let agent = |prompt: &str| judged("Agent", json!({"subagent_type": "x", "prompt": prompt}));
    assert_eq!(agent("ralph cancel"), "refused_command");
    assert_eq!(
        agent("Explain what `ralph cancel` does and look at .claude/settings.json."),
        "allow"
    );
    assert_eq!(
        judged("SendMessage", json!({"to": "x", "message": "/ralph-cancel"})),
        "refused_command"
    );
}

#[test]
fn a_skill_is_judged_by_the_commands_that_it_runs_when_it_loads() {
    let input = ToolInput { skill: Some("tidy".into()), ..ToolInput::default() };
    let call =
        ToolCall { tool: "Skill", input: &input, cwd: "/project", resolved: None, cut: false };
    let ruling = |text: &str| {
        let skill = Skill { is_shipped: false, commands: run_by(text, "cancel") };
        let places = ProtectedPaths { skill: Some(skill), ..places() };
        summary(decide(&running(&places), &call))
    };
    assert_eq!(ruling("---\nname: tidy\n---\nState: !`git status`\n"), "allow");
    assert_eq!(ruling("!`rm -rf ~/.local/state/ralph`"), "protected_place");
    assert_eq!(ruling("```!\nrm .claude/settings.json\n```\n"), "protected_place");
    assert_eq!(ruling("x !`git status` y !`ralph $ARGUMENTS`"), "refused_command");
    let hook = "---\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: ralph pause\n---\n";
    assert_eq!(ruling(hook), "refused_command");
}

/// Known gaps: SECURITY is about people, and this guard is about mistakes. A line leaves this list
/// when the guard learns it.
const LET_THROUGH: &[&str] = &[
    "echo cmFscGg= | base64 -d | sh",
    "echo ralph cancel | xargs -I{} sh -c '{}'",
    "ssh host 'ralph cancel'",
    "make -f- <<< 'all: ; ralph cancel'",
    "npx ralph cancel",
    "git clean -fdx",
    "git stash -u",
    "fd ralph.toml -x rm",
    "claude plugin uninstall ralph",
    "cargo install --path . --root ~/.local",
];

#[test]
fn what_is_not_caught_is_written_down() {
    check_all(LET_THROUGH, "allow");
}

#[test]
fn a_line_is_followed_into_so_many_folders_and_no_further() {
    let entering = |n: usize| format!("{}cd ~/.claude; rm settings.json", "cd x; ".repeat(n));
    check_all(&[&entering(14)], "protected_place");
    check_all(&[&entering(15)], "allow");
}

#[track_caller]
fn check_edit(path: &str, resolved: Option<&str>, expected: &str) {
    let places = places();
    let situation = Situation {
        own: crate::guard::own_loop::ModelsOwn::default(),
        mode: &Mode::Plain,
        standing: LoopActivity::Paused,
        agent: Caller::Subagent("ralph-worker"),
        session_id: "s-1",
        places: &places,
        ralplan: None,
        session: None,
    };
    let call = ToolCall { tool: "Edit", input: &file(path), cwd: "/project", resolved, cut: false };
    assert_eq!(summary(decide(&situation, &call)), expected, "{path}");
}

#[test]
fn an_edit_is_judged_by_the_path_and_by_what_it_resolves_to() {
    check_edit("/project/src/main.rs", Some("/project/src/main.rs"), "allow");
    check_edit("/project/link", Some("/home/u/.claude/settings.json"), "protected_place");
    check_edit("/home/u/.claude/settings.json", Some("/dotfiles/s.json"), "protected_place");
    check_edit(".claude/ralph.toml", None, "protected_place");
    check_edit("/project/src/../.claude//settings.local.json", None, "protected_place");
    check_edit("/home/u/.config/ralph/config.toml", None, "protected_place");
    check_edit("/home/u/.local/bin/ralph-stop-hook", None, "protected_place");
    check_edit("/home/u/.local/bin/ralphael", None, "allow");
    check_edit("/opt/plugins/ralph/hooks/hooks.json", None, "protected_place");
    check_edit("/project/hooks/hooks.json", None, "allow");
    check_edit("/project/.claude/skills/ralph-plan/SKILL.md", None, "protected_place");
    check_edit("/project/.claude/skills/rp/SKILL.md", None, "protected_place");
    check_edit("/project/.claude/skills/planloop/SKILL.md", None, "protected_place");
    check_edit("/project/.claude/skills/other/SKILL.md", None, "allow");
    check_edit("/project/skills/ralph/SKILL.md", None, "allow");
    check_edit("/project/settings.json", None, "allow");
    check_edit("/project/.claude/commands/x.md", None, "allow");
    check_edit("/home/u/.local/state/ralphs/x", None, "allow");
    check_edit("/home/u/.local/state/ralph/../other/x", None, "allow");
    check_edit("/home/u/.local/share/../state/ralph/x", None, "protected_place");
    check_edit("/project/plugins/mine/hooks/hooks.json", None, "allow");
    check_edit("/project/.claude/templates/mine/hooks/hooks.json", None, "allow");
    check_edit("/opt/plugins/ralph/docs/hooks.json", None, "allow");
    check_edit("/home/u/.claude/projects/settings.json", None, "allow");
    check_edit("/home/u/.local/bin/old/ralph", None, "allow");
    check_edit("/project/a/b/c/ralph", None, "allow");
}

#[test]
fn a_command_that_was_cut_is_refused_with_the_way_out() {
    let places = places();
    let situation = running(&places);
    let input = bash("echo a");
    let cut = ToolCall { tool: "Bash", input: &input, cwd: "/project", resolved: None, cut: true };
    assert_eq!(summary(decide(&situation, &cut)), "cut_command");
    let file = file("/project/big.txt");
    let edit = ToolCall { tool: "Write", input: &file, ..cut };
    assert_eq!(summary(decide(&situation, &edit)), "allow", "a file's content is not read");
}

#[test]
fn until_the_baseline_is_taken_nothing_may_change() {
    let check_all = |calls: &[(&str, ToolInput)], expected: &str| {
        for (tool, input) in calls {
            check(Mode::Plain, LoopActivity::AwaitingBaseline, tool, input, expected);
        }
    };
    check_all(
        &[
            ("Write", file("/project/a")),
            ("Edit", file("/project/a")),
            ("Agent", ToolInput::default()),
            ("Bash", bash("touch a")),
            ("Bash", bash("ralph verify && touch a")),
            ("Bash", bash("ralph verify > a")),
            ("Bash", bash("ralph task ready $X")),
            ("Bash", bash("$X verify")),
        ],
        "baseline",
    );
    check_all(
        &[
            ("Read", file("/project/a")),
            ("Grep", ToolInput::default()),
            ("Bash", bash("ralph verify")),
            ("Bash", bash("ralph verify; ralph status")),
        ],
        "allow",
    );
    check_all(&[("Bash", bash("ralph cancel"))], "refused_command");
    check_all(&[("AskUserQuestion", ToolInput::default())], "question");
}

#[test]
fn a_line_that_cannot_be_read_exactly_is_refused_with_what_to_write_instead() {
    let places = places();
    for mode in [Mode::Plain, Mode::Refine] {
        let situation = Situation {
            own: crate::guard::own_loop::ModelsOwn::default(),
            mode: &mode,
            standing: LoopActivity::Running,
            agent: Caller::Main,
            session_id: "s-1",
            places: &places,
            ralplan: None,
            session: None,
        };
        for (line, says) in [
            ("echo `ls # x`", "write `$(…)`"),
            ("echo `", "write `$(…)`"),
            ("if true; then", "close every quote"),
            (&"( ".repeat(40), "one after the other"),
        ] {
            let input = ToolInput { command: Some(line.to_owned()), ..ToolInput::default() };
            let call = ToolCall {
                tool: "Bash",
                input: &input,
                cwd: "/project",
                resolved: None,
                cut: false,
            };
            let Ruling::Deny { rule, reason } = decide(&situation, &call) else {
                panic!("{line} is let through")
            };
            assert_eq!(rule, Rule::UnreadableCommand, "{line}");
            assert!(reason.contains(says), "{line}: {reason}");
        }
    }
}
