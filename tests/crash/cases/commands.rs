//! The command line: each command that writes, and what a person gets who gives it again.

use super::hooks::{completes, goes_on_from};
use super::{Act, CASE, Case, model, person};
use crate::world::{World, executable};
use ralph_core::protocol::registration::{COMMAND_LINE, HOOK_EXECUTABLES};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ralph start: plans",
        command: Some("start"),
        set: World::new,
        act: |_| person(&["start", "Fix it"]),
        then: |w, answered| {
            let n = loops(w).len();
            assert!(n == 1 || n == 0 && !answered, "{n} loops");
            if n == 0 {
                assert!(w.elsewhere(&["start", "Fix it"]).success);
            }
            // A person in Claude Code starts what is planned; what is not known is not planned.
            if !answered && w.expansion("ralph", "").err().is_empty() && !w.has_entry() {
                w.expansion("ralph", "\"Fix it\"").exit(0);
            }
            w.expansion("ralph", "").exit(0);
            goes_on_from(w, 0);
        },
        ..CASE
    },
    Case {
        name: "ralph start: binds",
        command: Some("start"),
        set: World::new,
        act: |_| person(&["start", "--session", "session-1", "Fix it"]),
        then: |w, answered| {
            assert!(w.has_entry() || !answered);
            if !w.has_entry() {
                assert!(w.elsewhere(&["start", "--session", "session-1", "Fix it"]).success);
            }
            goes_on_from(w, 0);
        },
        ..CASE
    },
    Case {
        name: "ralph cancel",
        command: Some("cancel"),
        set: one_stop,
        act: |_| person(&["cancel"]),
        then: |w, answered| {
            let said = w.elsewhere(&["cancel"]);
            assert!(!(said.success && answered), "cancelled twice");
            w.stop("x").exit(0);
            assert_eq!(w.ending(), "cancelled");
            assert!(!w.has_entry());
        },
        ..CASE
    },
    Case {
        name: "ralph report",
        command: Some("report"),
        set: one_stop,
        act: |_| person(&["report", "--html", "report.html"]),
        then: |w, answered| {
            let path = w.project().join("report.html");
            match fs::read_to_string(&path) {
                Ok(page) => assert!(page.ends_with("</html>\n"), "half a page: {page}"),
                Err(_) => assert!(!answered, "it is not there"),
            }
            let said = w.elsewhere(&["report", "--html", "report.html"]);
            assert!(said.success, "{}", said.text);
            goes_on_from(w, 1);
        },
        ..CASE
    },
    Case {
        name: "ralph report: over an older page",
        command: Some("report"),
        set: || {
            let world = one_stop();
            assert!(world.elsewhere(&["report", "--html", "report.html"]).success);
            let path = world.project().join("report.html");
            let older =
                fs::read_to_string(&path).unwrap().replace("</html>", "</html><!-- older -->");
            fs::write(&path, older).unwrap();
            world
        },
        act: |_| person(&["report", "--html", "report.html"]),
        then: |w, answered| {
            let page = fs::read_to_string(w.project().join("report.html")).unwrap();
            let is_old = page.ends_with("</html><!-- older -->\n");
            assert!(is_old != page.ends_with("</html>\n"), "half a page: {page}");
            assert!(!(is_old && answered), "it is the older one");
            let said = w.elsewhere(&["report", "--html", "report.html"]);
            assert!(said.success, "{}", said.text);
            goes_on_from(w, 1);
        },
        ..CASE
    },
    Case {
        name: "ralph pause",
        command: Some("pause"),
        set: one_stop,
        act: |_| person(&["pause"]),
        then: |w, answered| {
            assert!(!answered || w.standing() == "paused 1/25 person", "{}", w.standing());
            assert!(w.elsewhere(&["pause"]).success);
            assert_eq!(w.standing(), "paused 1/25 person");
        },
        ..CASE
    },
    Case {
        name: "ralph doctor --fix",
        command: Some("doctor"),
        set: left_by_its_client,
        act: |_| person(&["doctor", "--fix"]),
        then: |w, answered| {
            assert!(!answered || w.standing() == "paused 1/25 crashed", "{}", w.standing());
            // Nothing is installed here, so not all can be well; what can be mended is.
            w.elsewhere(&["doctor", "--fix"]);
            assert_eq!(w.standing(), "paused 1/25 crashed");
        },
        ..CASE
    },
    Case {
        name: "ralph resume",
        command: Some("resume"),
        set: paused,
        act: |_| person(&["resume"]),
        then: |w, answered| {
            let said = w.elsewhere(&["resume"]);
            assert!(!(said.success && answered), "resumed twice");
            goes_on_from(w, 1);
        },
        ..CASE
    },
    Case {
        name: "ralph build",
        command: Some("run"),
        set: || {
            let mut world = World::new();
            let client = world.root().join("client");
            fs::write(&client, "#!/bin/sh\n[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit\nexit 3\n").unwrap();
            fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
            world.set("RALPH_CLAUDE", client.to_str().unwrap());
            assert!(world.elsewhere(&["start", "Fix it"]).success);
            assert!(world.elsewhere(&["task", "add", "one"]).success);
            world
        },
        act: |_| person(&["build", "-n", "1", "--permission-mode", "acceptEdits"]),
        // One round does not complete it.
        code: 1,
        // Whatever it was in the middle of, the next one takes the task up; a client that crashes three
        // times gets it given up.
        then: |w, _| {
            assert!(!w.elsewhere(&["build", "--permission-mode", "acceptEdits"]).success);
            let listed = w.elsewhere(&["task", "list", "--all"]).text;
            assert!(listed.contains("failed") || listed.contains("ready"), "{listed}");
        },
        ..CASE
    },
    Case {
        name: "ralph run",
        command: Some("run"),
        set: || {
            let mut world = World::new();
            let client = world.root().join("client");
            fs::write(&client, "#!/bin/sh\n[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit\nexit 3\n").unwrap();
            fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
            world.set("RALPH_CLAUDE", client.to_str().unwrap());
            world
        },
        act: |_| {
            let task = ["run", "Fix it", "--ac", "made=test -f made", "-n", "1", "--commit"];
            person(&[&task[..], &["--permission-mode", "acceptEdits"]].concat())
        },
        // One round does not complete it.
        code: 1,
        // Whatever it was in the middle of, another run goes on with what there is of it.
        then: |w, _| {
            let go_on = ["run", "--permission-mode", "acceptEdits"];
            assert!(!w.elsewhere(&go_on).success);
            fs::write(w.project().join("made"), "").unwrap();
            let said = w.elsewhere(&go_on);
            assert!(said.success || said.text.contains("has no loop to continue"), "{}", said.text);
        },
        ..CASE
    },
    Case {
        name: "ralph plan",
        command: Some("plan"),
        set: || {
            let mut world = World::new();
            let client = world.root().join("client");
            let answer =
                r#"{"type":"result","result":"```jsonl\n{\"id\":\"T-1\",\"name\":\"one\"}\n```"}"#;
            fs::write(&client, format!("#!/bin/sh\n[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit\nprintf '%s\\n' '{answer}'\n")).unwrap();
            fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
            world.set("RALPH_CLAUDE", client.to_str().unwrap());
            world
        },
        act: |_| person(&["plan"]),
        // The next run has logs of its own, and hands the same task over.
        then: |w, _| assert!(w.elsewhere(&["plan"]).success),
        ..CASE
    },
    Case {
        name: "ralph parallel run",
        command: Some("run"),
        set: || {
            let mut world = World::new();
            let client = world.root().join("client");
            let ralph = executable("ralph");
            // Its session is the seventh word.
            let script = format!(
                "#!/bin/sh\n[ \"$1\" = --version -o \"$1\" = /cost ] && echo '2.1.328 (Claude Code)' && exit\nexport CLAUDE_CODE_SESSION_ID=$7\n\
                 {ralph} task done T-1 --owner 'ralph build' --result x >/dev/null\n\
                 echo '{{\"type\":\"result\",\"result\":\"x\"}}'\n"
            );
            fs::write(&client, script).unwrap();
            fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
            world.set("RALPH_CLAUDE", client.to_str().unwrap());
            assert!(world.elsewhere(&["start", "Fix it"]).success);
            assert!(world.elsewhere(&["task", "add", "one"]).success);
            world
        },
        act: |_| person(&["parallel", "run", "-n", "1", "--permission-mode", "acceptEdits"]),
        // Whatever it was in the middle of, the next one ends where an untouched one would, and leaves
        // neither a loop of a worker nor a session that is bound to one.
        then: |w, answered| {
            let said = w.elsewhere(&["parallel", "run", "--permission-mode", "acceptEdits"]);
            let read = |id: &String| {
                let path = w.ralph_home().join("loops").join(id).join("state.json");
                serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap()
            };
            // One that has ended may stand there where the disk failed as it was put away.
            let there: Vec<Value> = loops(w).iter().map(read).collect();
            assert!(there.iter().all(|state| state["phase"] == "ended"), "{}", said.text);
            let is_over = ["done, without proof", "no loop is live"];
            let is_over = is_over.iter().any(|words| said.text.contains(words));
            assert!(answered || is_over, "{}", said.text);
            let all: Vec<Value> = w.archived().into_iter().chain(there).collect();
            let above: Vec<&Value> =
                all.iter().filter(|state| state.get("parent").is_none()).collect();
            assert_eq!(above.len(), 1);
            assert_eq!(above[0]["ending"]["kind"], "complete_unverified");
            assert_eq!(above[0]["task_graph"][0]["status"], "done");
            assert_eq!(w.git_says("status --porcelain"), "");
        },
        // Nothing is proven without a criterion.
        code: 1,
        ..CASE
    },
    Case {
        name: "ralph parallel merge",
        command: Some("parallel merge"),
        set: with_workers,
        act: |_| person(&["parallel", "merge"]),
        then: |w, answered| {
            // What a person has in their tree is there at every moment, and whatever a killed merge left,
            // the next one ends where an untouched one would.
            let read = |name: &str| fs::read_to_string(w.project().join(name)).unwrap_or_default();
            assert_eq!(read("mine"), "not committed\n");
            let said = w.elsewhere(&["parallel", "merge"]);
            assert!(said.success, "{}", said.text);
            assert!(!answered || said.text.contains("nothing to merge"), "{}", said.text);
            assert_eq!((read("tracked"), read("two")), ("merged\n".to_owned(), "2\n".to_owned()));
            assert_eq!(w.git_says("status --porcelain -- . :(exclude).claude"), "?? mine\n");
            assert_eq!(w.git_says("rev-list --count --first-parent HEAD"), "3\n");
            assert!(!w.git_says("worktree list").contains("ralph-merge-"));
            let state = w.state();
            let workers = state["workers"].as_array().unwrap();
            let heads = w.git_says("rev-parse HEAD^ HEAD");
            for (worker, head) in workers.iter().zip(heads.lines()) {
                assert_eq!(worker["merged"], head);
            }
            goes_on_from(w, 0);
        },
        moves_branch: true,
        ..CASE
    },
    Case {
        name: "ralph parallel clean",
        command: Some("parallel clean"),
        set: || {
            let world = with_workers();
            let said = world.elsewhere(&["parallel", "merge"]);
            assert!(said.success, "{}", said.text);
            world.write(".claude/worktrees/agent-T-2/two", "since\n");
            world
        },
        act: |_| person(&["parallel", "clean"]),
        then: |w, _| {
            let said = w.elsewhere(&["parallel", "clean"]);
            assert!(said.success, "{}", said.text);
            assert!(!w.project().join(".claude/worktrees/agent-T-1").exists(), "{}", said.text);
            let kept = w.project().join(".claude/worktrees/agent-T-2/two");
            assert_eq!(fs::read_to_string(kept).unwrap(), "since\n");
            let branches = w.git_says("branch --format=%(refname:short)");
            assert!(
                !branches.contains("agent-T-1") && branches.contains("agent-T-2"),
                "{branches}"
            );
            goes_on_from(w, 0);
        },
        ..CASE
    },
    Case {
        name: "ralph share",
        command: Some("share"),
        set: with_remote,
        act: |_| person(&["share"]),
        then: |w, answered| {
            let said = w.elsewhere(&["share"]);
            assert!(!(said.success && answered), "shared twice");
            let is_over = said.text.contains("no loop is planned");
            assert!(said.success || is_over, "{}", said.text);
            // It may have ended and not been put away.
            let place = |id| w.ralph_home().join("loops").join(id).join("state.json");
            let state = loops(w).first().map(|id| fs::read(place(id)).unwrap());
            let state = state.map(|state| serde_json::from_slice::<Value>(&state).unwrap());
            let state = state.unwrap_or_else(|| w.archived().remove(0));
            assert_eq!(state["ending"]["kind"], "cancelled", "{}", said.text);
            // One record, its plan, whose second parent is what the work begins from.
            let listed = w.git_says("-C ../remote.git for-each-ref --format=%(refname) refs/ralph");
            let ledger = listed.lines().find(|name| name.ends_with("/ledger")).unwrap();
            let parents = format!("-C ../remote.git rev-list --count {ledger} --not main");
            assert_eq!(w.git_says(&parents), "2\n", "{listed}");
        },
        moves_branch: true,
        ..CASE
    },
    Case {
        name: "ralph share --clean",
        command: Some("share"),
        set: || {
            let world = shared();
            assert!(world.elsewhere(&["cancel", "--shared"]).success);
            world
        },
        act: |_| person(&["share", "--clean"]),
        then: |w, answered| {
            let said = w.elsewhere(&["share", "--clean"]);
            assert!(!(said.success && answered), "deleted twice");
            let is_over = said.text.contains("no shared loop of `origin` has ended");
            assert!(said.success || is_over, "{}", said.text);
            assert_eq!(w.git_says("-C ../remote.git for-each-ref refs/ralph"), "");
        },
        moves_branch: true,
        ..CASE
    },
    Case {
        name: "ralph pause --shared",
        command: Some("pause"),
        set: shared,
        act: |_| person(&["pause", "--shared"]),
        then: |w, answered| {
            let paused = w.elsewhere(&["pause", "--shared"]);
            assert!(paused.success, "{}", paused.text);
            assert!(!answered || paused.text.contains("already"), "{}", paused.text);
            let listed = w.git_says("-C ../remote.git for-each-ref --format=%(refname) refs/ralph");
            let ledger = listed.lines().find(|name| name.ends_with("/ledger")).unwrap();
            let subjects = format!("-C ../remote.git log --first-parent --format=%s {ledger}");
            assert_eq!(w.git_says(&subjects).matches("Pause").count(), 1, "{listed}");
        },
        moves_branch: true,
        ..CASE
    },
    Case {
        name: "ralph trust --shared",
        command: Some("trust"),
        set: shared,
        act: |_| person(&["trust", "--shared", "--yes"]),
        then: |w, _| assert!(w.elsewhere(&["trust", "--shared", "--yes"]).success),
        ..CASE
    },
    Case {
        name: "ralph signal steer",
        command: Some("signal"),
        set: one_stop,
        act: |_| person(&["signal", "steer", "use tabs"]),
        then: |w, answered| sent(w, answered, "steer"),
        ..CASE
    },
    Case {
        name: "ralph signal info",
        command: Some("signal"),
        set: one_stop,
        act: |_| person(&["signal", "info", "use tabs"]),
        then: |w, answered| sent(w, answered, "info"),
        ..CASE
    },
    Case {
        name: "ralph adopt: frees",
        command: Some("adopt"),
        set: one_stop,
        act: |w| person(&["adopt", "--loop", &loops(w)[0], "--force"]),
        then: |w, _| {
            w.elsewhere(&["adopt", "--loop", &loops(w)[0], "--force"]);
            w.expansion("ralph", "").exit(0);
            goes_on_from(w, 1);
        },
        ..CASE
    },
    Case {
        name: "ralph adopt: an old file",
        command: Some("adopt"),
        set: || {
            let world = World::new();
            let old = json!({"session_id": "old", "phase": "implementation", "max_iterations": 25,
                "iteration": 4, "created_at": "2026-01-02T03:04:05Z", "prompt": "Old"});
            fs::write(world.root().join("home/old.json"), old.to_string()).unwrap();
            world
        },
        act: |w| person(&["adopt", &old_file(w)]),
        then: |w, answered| {
            let n = w.elsewhere(&["status", "--json"]).text.matches("\"loop_id\"").count();
            assert!(n == 1 || n == 0 && !answered, "{n} loops");
            assert!(n == 1 || w.elsewhere(&["adopt", &old_file(w)]).success);
            assert!(fs::read_to_string(old_file(w)).unwrap().contains("\"Old\""));
        },
        ..CASE
    },
    Case {
        name: "ralph trust",
        command: Some("trust"),
        set: || {
            let world = World::new();
            world.write(".claude/ralph.toml", "max_minutes = 7\n");
            world
        },
        act: |_| person(&["trust", "--yes"]),
        then: |w, answered| {
            let said = w.elsewhere(&["trust", "--yes"]);
            assert!(said.success, "{}", said.text);
            assert!(!answered || said.text.contains("already"), "{}", said.text);
        },
        ..CASE
    },
    Case {
        name: "ralph verify",
        command: Some("try"),
        set: || {
            let world = World::looping("--ac \"a=grep -q yes done\" --ac \"b=grep -q no other\"");
            world.write("done", "yes\n");
            world.write("other", "no\n");
            world
        },
        act: |_| model(&["verify"]),
        then: |w, answered| {
            let receipts = || -> usize {
                let state = w.state();
                let criteria = state["acceptance_criteria"].as_array().unwrap();
                criteria.iter().filter(|one| one["receipt"]["passed"] == true).count()
            };
            assert!(receipts() == 2 || !answered, "receipts are lost");
            completes(w);
        },
        has_family: true,
        ..CASE
    },
    Case {
        name: "ralph check",
        command: Some("check"),
        set: || {
            let world = World::new();
            world.write("a.json", "{\"a\": 1,,}\n");
            world
        },
        act: |_| person(&["check", "a.json"]),
        then: |w, _| {
            let said = w.elsewhere(&["check", "a.json"]);
            assert!(!said.success && said.text.contains("a.json:1:"), "{}", said.text);
            assert_eq!(fs::read_to_string(w.project().join("a.json")).unwrap(), "{\"a\": 1,,}\n");
        },
        ..CASE
    },
    Case {
        name: "ralph blocked",
        command: Some("blocked"),
        set: with_a_criterion,
        act: |_| model(&["blocked", "make the account"]),
        then: |w, answered| {
            assert!(!answered || w.state()["blocked"]["what"] == "make the account");
            assert!(w.ralph(&["blocked", "make the account"]).success);
            w.stop("x").exit(0);
            assert_eq!(w.standing(), "paused 1/25 blocked_on_human");
        },
        ..CASE
    },
    Case {
        name: "ralph criteria accept",
        command: Some("accept"),
        set: || {
            let world = World::looping("--ac \"a=grep -q yes done\"");
            world.edit_state(|state| {
                state["acceptance_criteria"][0]["verification_command"] = json!("grep -q no done");
            });
            world
        },
        act: |_| person(&["criteria", "accept"]),
        then: |w, _| {
            assert!(w.elsewhere(&["criteria", "accept"]).success);
            w.write("done", "no\n");
            w.stop("RALPH_COMPLETE").exit(0);
            assert_eq!(w.ending(), "complete");
        },
        ..CASE
    },
    Case {
        name: "ralph checkpoint restore",
        command: Some("restore"),
        set: || {
            let world = World::looping("--ac \"a=grep -q yes done\"");
            world.write("done", "yes\n");
            assert!(world.ralph(&["verify"]).success);
            world.write("done", "no\n");
            world
        },
        act: |_| person(&["checkpoint", "restore", "1"]),
        then: |w, _| {
            let done = || fs::read_to_string(w.project().join("done")).unwrap_or_default();
            // Cut between two files of many it is neither (and git syncs no work tree): the same
            // command finishes it.
            let said = w.elsewhere(&["checkpoint", "restore", "1"]);
            assert!(said.success, "{}", said.text);
            assert_eq!(done(), "yes\n");
            assert_eq!(fs::read_to_string(w.project().join("tracked")).unwrap(), "one\n");
            goes_on_from(w, 0);
        },
        has_family: true,
        ..CASE
    },
    Case {
        name: "ralph task import",
        command: Some("task import"),
        set: World::new,
        act: |_| Act {
            stdin: r#"{"prompt": "Plan", "task_graph": [{"name": "one"}, {"name": "two"}]}"#
                .to_owned(),
            ..person(&["task", "import", "-"])
        },
        then: |w, answered| {
            let said = w.elsewhere(&["task", "list", "--json"]);
            assert!(said.success || !answered, "the plan is lost: {}", said.text);
        },
        ..CASE
    },
    Case {
        name: "ralph plan-sync: plans",
        command: Some("task sync"),
        set: World::new,
        act: |_| Act { stdin: PLANNED.to_owned(), ..person(&["plan-sync"]) },
        then: |w, answered| {
            let said = w.elsewhere(&["task", "list", "--json"]);
            assert!(said.success || !answered, "the plan is lost: {}", said.text);
            // The same lines again lead to the same tasks, in one loop.
            let piped = "printf %s \"$1\" | \"$0\" plan-sync";
            let words = ["/bin/sh", "-c", piped, executable("ralph"), PLANNED];
            assert!(w.wrapped(&words).output().unwrap().status.success());
            let said = w.elsewhere(&["task", "list", "--all", "--json"]);
            let listed: Value = serde_json::from_str(&said.text).unwrap();
            assert_eq!(listed["tasks"].as_array().unwrap().len(), 2, "{listed}");
        },
        ..CASE
    },
    Case {
        name: "ralph task sync",
        act: |_| {
            Act {
            stdin: "{\"id\":\"T-1\",\"name\":\"one\",\"deps\":[\"T-3\"]}\n{\"id\":\"T-3\",\"name\":\"three\"}\n"
                .to_owned(),
            ..model(&["task", "sync"])
        }
        },
        then: task_kept,
        command: Some("task sync"),
        ..TASK
    },
    Case {
        name: "ralph task add",
        act: |_| model(&["task", "add", "three", "--id", "T-9"]),
        then: task_kept,
        command: Some("task add"),
        ..TASK
    },
    Case {
        name: "ralph task claim",
        act: |_| model(&["task", "claim", "T-1"]),
        then: task_kept,
        command: Some("mark"),
        ..TASK
    },
    Case {
        name: "ralph task renew",
        act: |_| model(&["task", "renew", "T-2", "--lease", "5"]),
        then: task_kept,
        command: Some("mark"),
        ..TASK
    },
    Case {
        name: "ralph task done",
        act: |_| model(&["task", "done", "T-2", "--result", "seen"]),
        then: task_kept,
        command: Some("mark"),
        ..TASK
    },
    Case {
        name: "ralph task fail",
        act: |_| model(&["task", "fail", "T-2", "--reason", "no"]),
        then: task_kept,
        command: Some("mark"),
        ..TASK
    },
    Case {
        name: "ralph task release",
        act: |_| model(&["task", "release", "T-2"]),
        then: task_kept,
        command: Some("mark"),
        ..TASK
    },
    Case {
        name: "ralph task block",
        act: |_| model(&["task", "block", "T-1", "--reason", "no"]),
        then: task_kept,
        command: Some("mark"),
        ..TASK
    },
    Case {
        name: "ralph task deps",
        act: |_| model(&["task", "deps", "T-1", "T-2"]),
        then: task_kept,
        command: Some("task deps"),
        ..TASK
    },
    Case {
        name: "ralph install",
        command: Some("install"),
        set: || with_settings(SETTINGS),
        act: |_| person(&["install"]),
        then: |w, answered| {
            is_old_or_has_ours(w, answered);
            let said = w.elsewhere(&["install"]);
            assert!(said.success, "{}", said.text);
            assert!(settings(w).contains("ralph-stop-hook"));
            // The way back leads to what was there before, to the byte.
            assert!(w.elsewhere(&["uninstall"]).success);
            assert_eq!(without_space(&settings(w)), without_space(SETTINGS));
        },
        ..CASE
    },
    Case {
        name: "ralph uninstall",
        command: Some("uninstall"),
        set: || {
            let world = with_settings(SETTINGS);
            assert!(world.elsewhere(&["install"]).success);
            world
        },
        act: |_| person(&["uninstall"]),
        then: |w, _| {
            let said = w.elsewhere(&["uninstall"]);
            assert!(said.success, "{}", said.text);
            assert_eq!(settings(w), SETTINGS);
            let skills = fs::read_dir(w.root().join("home/.claude/skills"));
            assert_eq!(skills.into_iter().flatten().count(), 0, "skills of ours are left");
        },
        ..CASE
    },
    Case {
        name: "ralph install --plugin",
        command: Some("install"),
        act: |_| Act { program: among_small_ones(), ..person(MAKE_PLUGIN) },
        then: |w, _| plugin_can_be_finished_and_taken_back(w),
        ..CASE
    },
    Case {
        name: "ralph uninstall --plugin",
        command: Some("uninstall"),
        set: || {
            let world = World::new();
            with_small_ones(&world, MAKE_PLUGIN);
            world
        },
        act: |_| Act { program: among_small_ones(), ..person(UNMAKE_PLUGIN) },
        then: |w, _| plugin_can_be_finished_and_taken_back(w),
        ..CASE
    },
];

const MAKE_PLUGIN: &[&str] = &["install", "--plugin", "../plugin"];
const UNMAKE_PLUGIN: &[&str] = &["uninstall", "--plugin", "../plugin"];

/// The command line under another name, among executables so small that hundreds of copies cost nothing.
fn among_small_ones() -> &'static str {
    const PLACE: &str = "small/command-line";
    let place = Path::new(executable(PLACE));
    let folder = place.parent().unwrap();
    fs::create_dir_all(folder).unwrap();
    // Another worker may have been quicker.
    let _ = fs::hard_link(executable(COMMAND_LINE), place);
    for name in HOOK_EXECUTABLES.into_iter().chain([COMMAND_LINE]) {
        let small = folder.join(name);
        if !small.exists() {
            let scratch = folder.join(format!("{name}.{}", std::process::id()));
            fs::write(&scratch, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&scratch, fs::Permissions::from_mode(0o755)).unwrap();
            fs::rename(scratch, small).unwrap();
        }
    }
    PLACE
}

fn with_small_ones(world: &World, args: &[&str]) {
    let mut command = Command::new(executable(among_small_ones()));
    command.args(args).env_clear().envs(&world.env).current_dir(&world.cwd);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A second run finishes what a cut one began, and the way back leaves nothing.
fn plugin_can_be_finished_and_taken_back(world: &World) {
    let folder = world.root().join("plugin");
    with_small_ones(world, MAKE_PLUGIN);
    for part in ["bin/ralph-stop-hook", "hooks/hooks.json", "skills/ralph/SKILL.md"] {
        assert!(folder.join(part).is_file(), "{part} is missing");
    }
    with_small_ones(world, UNMAKE_PLUGIN);
    let left = fs::read_dir(&folder).into_iter().flatten().flatten();
    let left: Vec<_> = left.map(|entry| entry.path()).collect();
    // What a cut write has left beside its place is hidden and named after its writer.
    assert!(left.iter().all(|path| !path.is_file()), "{left:?}");
    assert!(!folder.join(".claude-plugin/plugin.json").exists());
}

const PLANNED: &str =
    "{\"id\":\"a\",\"name\":\"one\"}\n{\"id\":\"b\",\"name\":\"two\",\"deps\":[\"a\"]}\n";

const TASK: Case = Case { set: with_tasks, ..CASE };

const SETTINGS: &str = "{\n     \"model\":   \"opus\",\n  \"hooks\": {\"Stop\": [\n    {\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}\n}\n";

/// What was not sent is sent again; what was is heard once.
fn sent(world: &World, answered: bool, kind: &str) {
    if !answered {
        assert!(world.elsewhere(&["signal", kind, "use tabs"]).success);
    }
    let reason = world.step(&world.working_stop("x"));
    let n = reason.matches("use tabs").count();
    assert!(n == 1 || n == 2 && !answered, "{reason}");
    goes_on_from(world, 2);
}

/// After a stop, with work that a person could be needed for.
fn with_a_criterion() -> World {
    let world = one_stop();
    world.edit_state(|state| {
        state["acceptance_criteria"] = json!([{"id": "AC-1", "verification_command": "false"}]);
    });
    world
}

fn one_stop() -> World {
    let world = World::looping("");
    world.working_stop("x").goes_on();
    world.write("more", "work");
    world
}

fn left_by_its_client() -> World {
    let world = one_stop();
    world.edit_state(|state| state["client"] = json!({"pid": 4_000_000, "started": "1"}));
    world
}

/// A planned loop with a task, and a remote to share it through. The machine has its name, which is
/// drawn by chance, from a share that was refused.
fn with_remote() -> World {
    let world = World::new();
    world.git("branch -M main");
    world.git("init -q --bare ../remote.git");
    world.git("remote add origin ../remote.git");
    world.git("push -q origin main");
    assert!(world.elsewhere(&["start", "Fix it"]).success);
    assert!(world.elsewhere(&["task", "add", "one"]).success);
    let hook = world.root().join("remote.git/hooks/update");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!world.elsewhere(&["share"]).success);
    fs::remove_file(hook).unwrap();
    let shared = fs::read_dir(world.ralph_home().join("shared")).unwrap().next().unwrap();
    let (shared, id) = (shared.unwrap().path(), loops(&world).remove(0));
    for repository in [shared.join("found.git"), shared.join(id).join("repository.git")] {
        fs::remove_dir_all(repository).unwrap();
    }
    world
}

fn shared() -> World {
    let world = with_remote();
    let said = world.elsewhere(&["share"]);
    assert!(said.success, "{}", said.text);
    world
}

fn paused() -> World {
    let world = one_stop();
    assert!(world.elsewhere(&["pause"]).success);
    world
}

fn with_tasks() -> World {
    let world = World::looping("");
    for args in [&["task", "add", "one"][..], &["task", "add", "two"], &["task", "claim", "T-2"]] {
        let said = world.ralph(args);
        assert!(said.success, "{}", said.text);
    }
    world
}

/// Two tasks whose workers have done them, and a file that the person has not committed.
fn with_workers() -> World {
    let world = World::looping("");
    for (task, file, text) in [("T-1", "tracked", "merged\n"), ("T-2", "two", "2\n")] {
        let folder = format!(".claude/worktrees/agent-{task}");
        world.git(&format!("worktree add -q -b agent-{task} {folder}"));
        world.write(&format!("{folder}/{file}"), text);
        world.edit_state(|state| {
            let worker = json!({"call": task, "kind": "ralph-worker", "task": task, "about": task,
                "at": "2026-01-01T00:00:00Z", "standing": "done", "branch": format!("agent-{task}"),
                "worktree": world.project().join(&folder), "files": [file]});
            let done = json!({"id": task, "name": task, "status": "done"});
            for (name, one) in [("workers", worker), ("task_graph", done)] {
                match state[name].as_array_mut() {
                    Some(all) => all.push(one),
                    None => state[name] = json!([one]),
                }
            }
        });
    }
    world.write("mine", "not committed\n");
    world
}

/// The tasks as they were or as they are to be (which is looked at for all cases); both go on.
fn task_kept(world: &World, _answered: bool) {
    let said = world.ralph(&["task", "list", "--all", "--json"]);
    let listed: Value = serde_json::from_str(&said.text).unwrap();
    assert!(listed["tasks"].as_array().unwrap().len() >= 2, "{listed}");
    let said = world.ralph(&["task", "add", "another"]);
    assert!(said.success, "{}", said.text);
    goes_on_from(world, 0);
}

fn loops(world: &World) -> Vec<String> {
    let folders = fs::read_dir(world.ralph_home().join("loops")).into_iter().flatten().flatten();
    let with_state = folders.filter(|folder| folder.path().join("state.json").exists());
    with_state.map(|folder| folder.file_name().into_string().unwrap()).collect()
}

fn old_file(world: &World) -> String {
    world.root().join("home/old.json").display().to_string()
}

fn with_settings(text: &str) -> World {
    let world = World::new();
    let path = world.root().join("home/.claude/settings.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    world
}

fn settings(world: &World) -> String {
    fs::read_to_string(world.root().join("home/.claude/settings.json")).unwrap()
}

fn is_old_or_has_ours(world: &World, answered: bool) {
    let text = settings(world);
    let has_ours = text.contains("ralph-stop-hook");
    assert!(has_ours || text == SETTINGS && !answered, "{text}");
    let read: Value = serde_json::from_str(&text).unwrap();
    assert!(read["model"] == "opus" && text.ends_with("}\n"), "{text}");
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}
