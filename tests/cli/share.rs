//! `ralph share` and the other commands around a loop that machines share through a git remote. Each
//! machine is a home and a clone of its own; the remote is a bare repository.

use crate::watch::Screen;
use crate::world::{Printed, World, start, wait_for};
use ralph_test_support::sample::is_left_out;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A remote, and machines with a clone of it.
struct Team {
    remote: tempfile::TempDir,
    machines: Vec<World>,
}

impl Team {
    fn of(n: usize) -> Team {
        let remote = ralph_test_support::private_folder("ralph-test-");
        let team = Team { remote, machines: (0..n).map(|_| machine()).collect() };
        let url = team.url();
        let url = url.to_str().unwrap();
        let first = &team.machines[0];
        git(first, &["init", "-q", "-b", "main"]);
        git(first, &["init", "-q", "--bare", "-b", "main", url]);
        first.write("project/file", "0\n");
        git(first, &["add", "-A"]);
        git(first, &["commit", "-q", "-m", "first"]);
        git(first, &["remote", "add", "origin", url]);
        git(first, &["push", "-q", "origin", "main"]);
        for other in &team.machines[1..] {
            git(other, &["clone", "-q", url, "."]);
        }
        team
    }

    fn url(&self) -> PathBuf {
        self.remote.path().join("remote.git")
    }

    /// The first machine has shared a loop, which has this id.
    fn sharing(n: usize) -> (Team, String) {
        let team = Team::of(n);
        let id = plan(&team.machines[0]);
        team.machines[0].ralph(&["share"]).done();
        (team, id)
    }

    /// The references on the remote, without what every remote has.
    fn references(&self) -> Vec<String> {
        let listed = git(&self.machines[0], &["ls-remote", self.url().to_str().unwrap()]);
        let names = listed.lines().filter_map(|line| line.split_once('\t'));
        let names = names.map(|(_, name)| name.to_owned());
        names.filter(|name| !["HEAD", "refs/heads/main"].contains(&name.as_str())).collect()
    }

    /// The newest record of the ledger.
    fn tip(&self, id: &str) -> String {
        let url = self.url();
        let folder = url.to_str().unwrap();
        let ledger = format!("refs/ralph/shared/{id}/ledger");
        git(&self.machines[0], &["-C", folder, "log", "-1", "--format=%B", &ledger])
    }

    fn records(&self, id: &str) -> usize {
        let url = self.url();
        let folder = url.to_str().unwrap();
        let ledger = format!("refs/ralph/shared/{id}/ledger");
        let listed = git(
            &self.machines[0],
            &["-C", folder, "log", "--first-parent", "--format=%s", &ledger],
        );
        listed.lines().filter(|line| !line.starts_with("The beginning")).count()
    }

    /// Makes the server refuse what this shell function, given a reference, does not accept.
    fn refuse(&self, pattern: &str) {
        let hook = self.url().join("hooks/update");
        fs::write(&hook, format!("#!/bin/sh\ncase \"$1\" in {pattern}) exit 1;; esac\n")).unwrap();
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn machine() -> World {
    let world = World::new().with_git();
    for tool in ["sh", "test"] {
        let _ = symlink(format!("/usr/bin/{tool}"), world.path("bin").join(tool));
    }
    world.write("home/.gitconfig", "[user]\nname = t\nemail = t@example.com\n");
    world
}

fn git(world: &World, arguments: &[&str]) -> String {
    let output = world.command(Path::new("git"), "").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Plans a loop with two tasks, and returns its id.
fn plan(world: &World) -> String {
    let task = |id: &str, deps: &[&str]| json!({"id": id, "name": format!("write {id}"), "deps": deps, "completion_condition": "c", "files": [id], "verify": [format!("test -f {id}")]});
    let plan = json!({
        "prompt": "write both files",
        "acceptance_criteria": [{"id": "AC-1", "description": "both are there", "verification_command": "test -f T-2"}],
        "task_graph": [task("T-1", &[]), task("T-2", &["T-1"])],
    });
    world.run("", &["task", "import", "-"], &plan.to_string()).done();
    world.loop_id()
}

/// The line of a text that begins with this, without it.
#[track_caller]
fn after<'a>(printed: &'a Printed, begin: &str) -> &'a str {
    let line = printed.stdout.lines().find_map(|line| line.trim().strip_prefix(begin));
    line.unwrap_or_else(|| panic!("no line begins with `{begin}`: {printed:?}"))
}

#[track_caller]
fn digest(shared: &Printed) -> String {
    after(shared, "The digest of its plan is ").to_owned()
}

/// The private repository of a shared loop.
fn repository(world: &World, id: &str) -> PathBuf {
    let project = fs::read_dir(world.path("ralph/shared")).unwrap().next().unwrap().unwrap();
    project.path().join(id).join("repository.git")
}

fn in_repository(world: &World, id: &str, arguments: &[&str]) -> String {
    let repository = repository(world, id);
    git(world, &[&["-C", repository.to_str().unwrap()], arguments].concat()).trim().to_owned()
}

/// Stores the next record of the ledger, as another machine would write it.
fn record(world: &World, id: &str, kind: Value, work: Option<&str>) -> String {
    let ledger = format!("refs/ralph/shared/{id}/ledger");
    let mut record = json!({"schema": 1, "nonce": "n", "machine": "m"});
    record.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
    let message = format!("A record by m\n\n{record}\n");
    let (tip, tree) = (format!("{ledger}^{{commit}}"), format!("{ledger}^{{tree}}"));
    let (tip, tree) = (
        in_repository(world, id, &["rev-parse", &tip]),
        in_repository(world, id, &["rev-parse", &tree]),
    );
    let work = work.map_or(Vec::new(), |work| vec!["-p", work]);
    let commit = [&["commit-tree", &tree, "-m", &message, "-p", &tip], &work[..]].concat();
    in_repository(world, id, &commit)
}

#[test]
fn a_planned_loop_is_put_on_the_remote_and_ends_here() {
    let team = Team::of(1);
    let world = &team.machines[0];
    let id = plan(world);
    let shared = world.ralph(&["share"]).done();
    let digest = digest(&shared);
    assert_eq!(digest.len(), 64, "{shared:?}");
    shared.check(
        0,
        &format!(
            "Loop [LOOP] is shared through `origin`: 2 tasks, 1 criterion.\n\
             The digest of its plan is {digest}\n\n\
             To take part from this clone:\n  ralph run --shared [LOOP]\n\
             From each other clone:\n  ralph trust --shared [LOOP] && ralph run --shared [LOOP]\n\
             Where nobody can answer, as in CI:\n  ralph trust --shared [LOOP] --digest {digest} && \
             ralph run --shared [LOOP]\n"
        ),
        "",
    );
    let references = team.references();
    assert!(references.contains(&format!("refs/ralph/shared/{id}/ledger")), "{references:?}");
    assert!(team.tip(&id).starts_with("Plan of 2 tasks by "), "{}", team.tip(&id));
    assert!(world.loop_ids().is_empty());
    let status = world.ralph(&["status"]).done();
    assert!(status.stdout.contains("`ralph run --shared [LOOP]` works on it"), "{status:?}");
    // Its journal tells it.
    let explained = world.ralph(&["explain", "--loop", &id]).done();
    assert!(explained.stdout.contains("shared with other machines"), "{explained:?}");
}

#[test]
fn a_share_that_was_killed_is_completed_by_the_same_command() {
    let team = Team::of(1);
    let world = &team.machines[0];
    let id = plan(world);
    let planned = world.path("ralph/loops").join(&id);
    let kept = world.path("kept");
    copy(&planned, &kept);
    let first = world.ralph(&["share"]).done();
    // As it was before the loop was put away.
    let archived = fs::read_dir(world.path("ralph/archive")).unwrap().next().unwrap().unwrap();
    fs::remove_dir_all(archived.path()).unwrap();
    copy(&kept, &planned);
    // What was shared starts from other files than this machine has now.
    world.write("project/file", "1\n");
    git(world, &["commit", "-qam", "second"]);
    let printed = world.ralph(&["share"]);
    assert!(printed.exit == 1 && printed.stderr.contains("has other files than"), "{printed:?}");
    git(world, &["reset", "-q", "--hard", "HEAD~1"]);
    let second = world.ralph(&["share"]).done();
    assert_eq!(digest(&first), digest(&second));
    assert_eq!(team.records(&id), 1);
    assert!(world.loop_ids().is_empty());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

#[test]
fn another_plan_under_the_same_id_is_refused() {
    let (team, id) = Team::sharing(1);
    let world = &team.machines[0];
    let archived = fs::read_dir(world.path("ralph/archive")).unwrap().next().unwrap().unwrap();
    fs::remove_dir_all(archived.path()).unwrap();
    let other = plan(world);
    fs::rename(world.path("ralph/loops").join(&other), world.path("ralph/loops").join(&id))
        .unwrap();
    world.change_state(|state| {
        state["loop_id"] = json!(id);
        state["prompt"] = json!("something else");
    });
    let printed = world.ralph(&["share", "--loop", &id]);
    printed.check(
        1,
        "",
        "ralph: `origin` has another plan for loop [LOOP]; plan the work as a new loop, or delete \
         the shared one: `ralph share --clean --loop [LOOP]`\n",
    );
    assert_eq!(world.loop_ids(), [id]);
}

/// Replaces the ledger on the remote by one with the same plan that starts from another commit.
fn replace_ledger(team: &Team, id: &str) {
    let world = &team.machines[0];
    let url = team.url();
    let url = url.to_str().unwrap();
    let ledger = format!("refs/ralph/shared/{id}/ledger");
    world.write("project/file", "planted\n");
    git(world, &["commit", "-qam", "planted"]);
    let planted = git(world, &["rev-parse", "HEAD"]).trim().to_owned();
    git(world, &["reset", "-q", "--hard", "HEAD~1"]);
    let message = in_repository(world, id, &["log", "-1", "--format=%B", &ledger]);
    let tree = in_repository(world, id, &["rev-parse", &format!("{ledger}^{{tree}}")]);
    let first = in_repository(world, id, &["rev-parse", &format!("{ledger}^")]);
    let forged = ["commit-tree", &tree, "-m", &message, "-p", &first, "-p", &planted];
    let forged = in_repository(world, id, &forged);
    in_repository(world, id, &["push", "-q", "--force", url, &format!("{forged}:{ledger}")]);
}

#[test]
fn a_ledger_that_was_replaced_with_another_start_is_followed_by_nobody_until_trusted_again() {
    if is_left_out(3) {
        return;
    }
    let (team, id) = Team::sharing(2);
    let [first, second] = &team.machines[..] else { panic!() };
    let before = digest_of(first);
    second.ralph(&["trust", "--shared", "--digest", &before]).done();
    replace_ledger(&team, &id);
    assert_ne!(digest_of(second), before, "the digest covers the tree of the commit");
    for world in [first, second] {
        let printed = world.ralph(&["run", "--shared"]);
        let says =
            format!("somebody replaced the ledger of shared loop {id} after you had trusted it");
        assert!(
            printed.exit == 1 && printed.stderr.replace("[LOOP]", &id).contains(&says),
            "{printed:?}"
        );
        assert!(printed.stderr.contains("`ralph trust --shared "), "{printed:?}");
        assert!(
            unwrapped(&world.ralph(&["status", "--shared"]).done())
                .contains("somebody replaced the ledger")
        );
        let printed = world.ralph(&["trust", "--shared", "--digest", &before]);
        assert!(printed.exit == 1 && printed.stderr.contains("has another digest"), "{printed:?}");
    }
    let told = second.ralph(&["trust", "--shared", "--yes"]).done();
    assert!(told.stderr.contains("somebody replaced the ledger"), "{told:?}");
    assert!(told.stdout.contains(", from commit "), "{told:?}");
    let printed = second.ralph(&["run", "--shared"]);
    assert!(!printed.stderr.contains("trust"), "{printed:?}");
}

/// What was printed, in one line.
fn unwrapped(printed: &Printed) -> String {
    printed.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn digest_of(world: &World) -> String {
    world.ralph(&["status", "--shared", "--json"]).done().json()["digest"].as_str().unwrap().into()
}

#[test]
fn the_trust_of_an_earlier_version_is_named_and_given_again() {
    let (team, id) = Team::sharing(1);
    let world = &team.machines[0];
    // As such a version left it: no first record, and the digest of the plan alone.
    let folder = repository(world, &id).parent().unwrap().to_owned();
    fs::remove_file(folder.join("first")).unwrap();
    let message = team.tip(&id);
    let record: Value = serde_json::from_str(message.split_once("\n\n").unwrap().1).unwrap();
    let mut plan: ralph_core::tasks::shared::record::Plan = serde_json::from_value(record).unwrap();
    plan.attempts = 3;
    let trust = fs::read_dir(world.path("ralph/trust")).unwrap().next().unwrap().unwrap().path();
    fs::write(trust, ralph_core::text::hex::sha256(plan.former_digest())).unwrap();
    let printed = world.ralph(&["run", "--shared"]);
    let says = "with an earlier version of Ralph, without the commit that it starts from; `ralph trust --shared";
    assert!(printed.exit == 1 && printed.stderr.contains(says), "{printed:?}");
    world.ralph(&["trust", "--shared", "--yes"]).done();
    let printed = world.ralph(&["run", "--shared"]);
    assert!(!printed.stderr.contains("trust"), "{printed:?}");
}

/// A remote with 3,000 references of tasks that the plan does not have, and a malformed record in its ledger.
#[test]
fn a_malformed_record_and_very_many_references_stop_nobody_and_are_named() {
    if is_left_out(3) {
        return;
    }
    let (team, id) = Team::sharing(2);
    let [first, second] = &team.machines[..] else { panic!() };
    let url = team.url();
    let url = url.to_str().unwrap();
    let ledger = format!("refs/ralph/shared/{id}/ledger");
    let tip = in_repository(first, &id, &["rev-parse", &ledger]);
    let tree = in_repository(first, &id, &["rev-parse", &format!("{ledger}^{{tree}}")]);
    let bad = in_repository(first, &id, &["commit-tree", &tree, "-m", "x", "-p", &tip]);
    in_repository(first, &id, &["push", "-q", url, &format!("{bad}:{ledger}")]);
    let mut packed = fs::read_to_string(team.url().join("packed-refs")).unwrap_or_default();
    for n in 0..3_000 {
        packed.push_str(&format!("{tip} refs/ralph/shared/{id}/t/x{n:05}\n"));
    }
    fs::write(team.url().join("packed-refs"), packed).unwrap();
    // Each start of git leaves a line.
    let real = fs::read_link(second.path("bin/git")).unwrap();
    fs::remove_file(second.path("bin/git")).unwrap();
    let counter = second.path("starts");
    let script =
        format!("#!/bin/sh\necho >>'{}'\nexec '{}' \"$@\"\n", counter.display(), real.display());
    let script = second.write("bin/git", &script);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    second.ralph(&["trust", "--shared", "--yes"]).done();
    let status = unwrapped(&second.ralph(&["status", "--shared"]).done());
    let says = format!("1 record of the ledger skipped, the first {}: it has no JSON", &bad[..10]);
    assert!(status.contains(&says), "{status}");
    let says = "3,000 references of tasks that are not in the plan, skipped";
    assert!(status.contains(says), "{status}");
    let document = second.ralph(&["status", "--shared", "--json"]).done().json();
    assert_eq!(document["unread"].as_array().unwrap().len(), 2, "{document}");
    let starts = fs::read_to_string(counter).unwrap().lines().count();
    assert!((10..200).contains(&starts), "{starts}");
    second.ralph(&["pause", "--shared"]).done();
    second.ralph(&["cancel", "--shared"]).done();
    assert!(first.ralph(&["status", "--shared"]).done().stdout.contains("cancelled"));
}

#[test]
fn what_machines_could_not_carry_out_is_not_shared() {
    let team = Team::of(1);
    let world = &team.machines[0];
    world.ralph(&["share"]).check(
        1,
        "",
        "ralph: no loop is planned in `[ROOT]/project`; type `/ralph \"TASK\"` in Claude Code to start one\n",
    );
    world.ralph(&["start", "fix it"]).done();
    let printed = world.ralph(&["share"]);
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("has no tasks; `ralph plan`"), "{printed:?}");
    world.ralph(&["cancel"]).done();

    world.ralph(&["start", "--session", "S", "fix it"]).done();
    let printed = world.ralph(&["share", "--loop", &world.loop_id()]);
    assert!(printed.stderr.contains("not planned"), "{printed:?}");
    world.ralph(&["cancel"]).done();

    plan(world);
    world.change_state(|state| {
        state["acceptance_criteria"][0]["verification_command"] = json!("nonexistent-program x");
    });
    let printed = world.ralph(&["share"]);
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("nonexistent-program"), "{printed:?}");
    assert!(printed.stderr.contains("nothing was shared"), "{printed:?}");
    assert!(team.references().is_empty(), "{:?}", team.references());
    assert_eq!(world.state()["phase"], "planned");
}

#[test]
fn a_host_that_accepts_only_branches_is_recognised_and_used_as_the_setting_says() {
    let team = Team::of(1);
    let world = &team.machines[0];
    let id = plan(world);
    team.refuse("refs/ralph/*");
    let printed = world.ralph(&["share"]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    let says = "`origin` does not accept references below `refs/ralph/shared/[LOOP]`";
    assert!(printed.stderr.contains(says), "{printed:?}");
    assert!(
        printed.stderr.contains("set `below_heads = true` in section `[shared]`"),
        "{printed:?}"
    );
    assert_eq!(world.state()["phase"], "planned");
    world.set_user("[shared]\nbelow_heads = true\n");
    world.ralph(&["share"]).done();
    let references = team.references();
    assert!(references.contains(&format!("refs/heads/ralph/shared/{id}/ledger")), "{references:?}");
    world.ralph(&["cancel", "--shared"]).done();
    world.ralph(&["share", "--clean"]).done();
    assert!(team.references().is_empty(), "{:?}", team.references());
}

#[test]
fn files_that_machines_will_not_see_are_named() {
    let team = Team::of(1);
    let world = &team.machines[0];
    plan(world);
    world.write("project/new", "x");
    let printed = world.ralph(&["share"]).done();
    assert!(
        printed.stderr.starts_with("1 file is in no commit: new; machines begin from commit "),
        "{printed:?}"
    );
}

#[test]
fn a_remote_that_does_not_exist_or_answer_changes_nothing() {
    let team = Team::of(1);
    let world = &team.machines[0];
    plan(world);
    let printed = world.ralph(&["share", "--remote", "nowhere"]);
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("could not find the remote `nowhere`"), "{printed:?}");
    fs::rename(team.url(), team.remote.path().join("gone")).unwrap();
    let printed = world.ralph(&["share"]);
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("the remote did not answer"), "{printed:?}");
    assert_eq!(world.state()["phase"], "planned");
}

#[test]
fn the_references_of_an_ended_loop_are_deleted_and_those_of_another_are_kept() {
    let (team, id) = Team::sharing(2);
    let [first, second] = &team.machines[..] else { panic!() };
    let printed = second.ralph(&["share", "--clean"]);
    printed.check(1, "", "ralph: no shared loop of `origin` has ended\n");
    let printed = second.ralph(&["share", "--clean", "--loop", &id]);
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("has not ended; `ralph cancel --shared"), "{printed:?}");
    assert_eq!(team.references().len(), 2, "{:?}", team.references());
    assert!(
        !second
            .path("ralph/shared")
            .read_dir()
            .unwrap()
            .any(|project| { project.unwrap().path().join(&id).exists() })
    );
    let printed = second.ralph(&["share", "--clean", "--loop", &id, "--force"]).done();
    assert_eq!(
        printed.stdout.replace(&id, "LOOP"),
        "deleted 2 references of loop LOOP from `origin`; its branch stays\n"
    );
    assert!(team.references().is_empty(), "{:?}", team.references());
    let other = plan(first);
    first.ralph(&["share"]).done();
    // What the first machine knew of the loop is deleted in the same way.
    let printed = first.ralph(&["share", "--clean", "--loop", &id]).done();
    assert!(printed.stdout.contains("had no references"), "{printed:?}");
    let printed = first.ralph(&["share", "--clean", "--loop", &id]);
    assert_eq!(printed.exit, 1, "{printed:?}");
    assert!(team.references().iter().all(|name| name.contains(&other)), "{:?}", team.references());
    assert_eq!(team.references().len(), 2);
}

#[test]
fn a_plan_is_shown_and_trusted_by_its_digest() {
    let team = Team::of(2);
    let [first, second] = &team.machines[..] else { panic!() };
    let id = plan(first);
    let shared = first.ralph(&["share"]).done();
    let digest = digest(&shared);
    // Who shares a plan trusts it.
    let printed = first.ralph(&["trust", "--shared"]).done();
    assert!(printed.stdout.ends_with("The plan is trusted already.\n"), "{printed:?}");

    let printed = second.ralph(&["trust", "--shared"]);
    let start = git(first, &["rev-parse", "HEAD"]);
    let shown = format!(
        "loop {id}, shared through `origin`, from commit {start:.10}\n\n\
         goal:\n  write both files\n\
         criteria:\n  AC-1  test -f T-2\n\
         2 tasks, each with the commands that it has to pass:\n\
         \x20 T-1  write T-1\n      test -f T-1\n  T-2  write T-2\n      test -f T-2\n\
         limits: 25 turns, 8 h, 3 attempts for each task\n\
         digest: {digest}\n"
    );
    printed.check(
        1,
        &shown,
        "ralph: there is no terminal to ask on; read the plan above, then type the command again \
         with `--yes`, or with `--digest` and the digest that you were told\n",
    );
    let printed = second.ralph(&["trust", "--shared", &id, "--digest", &"0".repeat(64)]);
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("the plan has another digest than 000"), "{printed:?}");
    let is_trusted = || {
        let printed = second.ralph(&["status", "--shared", "--json"]).done();
        printed.json()["trusted"].as_bool().unwrap()
    };
    assert!(!is_trusted());
    let printed = second.ralph(&["trust", "--shared", &id, "--digest", &digest]).done();
    let end =
        format!("The plan is trusted; `ralph run --shared {id}` takes part from this clone.\n");
    assert!(printed.stdout.ends_with(&end), "{printed:?}");
    assert!(is_trusted());
    assert_eq!(second.ralph(&["trust", "--digest", &digest]).exit, 2);
}

#[test]
fn every_clone_shows_how_a_loop_stands() {
    let (team, id) = Team::sharing(2);
    let second = &team.machines[1];
    let printed = second.ralph(&["status", "--shared"]).done();
    let document = second.ralph(&["status", "--shared", &id, "--json"]).done().json();
    let digest = document["digest"].as_str().unwrap();
    printed.check(
        0,
        &format!(
            "{id}  running  0 of 2 tasks merged\n\
             \x20 goal        write both files\n\
             \x20 remote      origin\n\
             \x20 ready       T-1\n\
             \x20 waiting     T-2\n\
             \x20 machines    no machine has claimed a task\n\
             \x20 plan        not trusted on this clone, digest\n\
             \x20             {digest}\n\
             \x20 next        `ralph trust --shared {id}` shows its plan and\n\
             \x20             trusts it\n"
        ),
        "",
    );
    assert_eq!(document["state"], "running");
    assert_eq!(document["tasks"][1]["standing"], "waiting");
    let (_, guide) =
        include_str!("../../docs/reference/status.md").split_once("## With `--shared`").unwrap();
    let parts = [&document, &document["tasks"][0], &document["machines"][0], &document["branch"]];
    for member in parts.iter().flat_map(|part| part.as_object().unwrap().keys()) {
        let is_told = guide.contains(&format!("`{member}`")) || member == "schema_version";
        assert!(is_told, "`{member}` is not in docs/reference/status.md");
    }
    assert_eq!(second.ralph(&["status", "--shared", "--loop", &id]).exit, 2);
    let printed = second.ralph(&["status", "--shared", "20260131-120000-1a2b"]);
    assert_eq!(printed.exit, 1);
    let says = format!("`origin` has no shared loop `20260131-120000-1a2b`; it has {id}");
    assert!(printed.stderr.contains(&says), "{printed:?}");
    let alone = Team::of(1);
    alone.machines[0].ralph(&["status", "--shared"]).check(
        1,
        "",
        "ralph: `origin` has no shared loop; `ralph share` shares the planned one\n",
    );
}

/// What a command prints about this loop, on a machine that does not have it in its home.
fn says(printed: &Printed, id: &str) -> String {
    printed.stdout.replace(id, "LOOP")
}

#[test]
fn any_clone_pauses_continues_and_ends_the_loop_for_all() {
    let (team, id) = Team::sharing(2);
    let [first, second] = &team.machines[..] else { panic!() };
    let printed = second.ralph(&["pause", "--shared"]).done();
    assert_eq!(
        says(&printed, &id),
        "loop LOOP is paused; each machine begins no round after its next read\n"
    );
    let status = first.ralph(&["status", "--shared"]).done();
    assert!(status.stdout.contains("[LOOP]  paused  0 of 2 tasks merged"), "{status:?}");
    assert!(after(&status, "paused ").trim().starts_with("by a user on "), "{status:?}");
    assert_eq!(after(&status, "next ").trim(), "`ralph resume --shared [LOOP]` continues it");
    let before = team.records(&id);
    let printed = first.ralph(&["pause", "--shared", &id]).done();
    assert!(
        printed.stdout.starts_with("loop [LOOP] was paused already: by a user on "),
        "{printed:?}"
    );
    assert_eq!(team.records(&id), before);

    first.ralph(&["resume", "--shared"]).done();
    let printed = second.ralph(&["resume", "--shared"]);
    assert_eq!((printed.exit, printed.stderr), (1, format!("ralph: loop {id} is not paused\n")));

    let printed = second.ralph(&["signal", "steer", "--shared", "use tabs"]).done();
    assert!(printed.stdout.contains("has the message"), "{printed:?}");
    first.ralph(&["signal", "info", "--shared", &id, "the", "port is 80"]).done();
    let status = second.ralph(&["status", "--shared", "--json"]).done().json();
    assert_eq!(
        status["messages"],
        json!([{"kind": "STEER", "text": "use tabs"}, {"kind": "INFO", "text": "the port is 80"}])
    );
    assert_eq!(first.ralph(&["signal", "steer", "--shared"]).exit, 2);
    assert_eq!(first.ralph(&["signal", "steer", "x", "--shared", "--wait"]).exit, 2);

    let printed = second.ralph(&["cancel", "--shared"]).done();
    assert!(printed.stdout.contains("is cancelled"), "{printed:?}");
    for command in [&["cancel"][..], &["pause"], &["resume"], &["signal", "steer", "x"]] {
        let printed = second.ralph(&[command, &["--shared", &id]].concat());
        assert_eq!(printed.exit, 1, "{command:?}");
        let says = format!("ralph: loop {id} has ended: cancelled, by a user on ");
        assert!(printed.stderr.starts_with(&says), "{command:?}: {printed:?}");
    }
    let status = second.ralph(&["status", "--shared"]).done();
    assert!(status.stdout.contains("  cancelled  0 of 2 tasks merged"), "{status:?}");
    second.ralph(&["share", "--clean"]).done();
    assert!(team.references().is_empty(), "{:?}", team.references());
}

/// The record that a killed command has stored in its clone is pushed by the next command, which
/// then does what it was given for.
#[test]
fn a_command_after_one_that_was_killed_does_both() {
    let (team, id) = Team::sharing(1);
    let world = &team.machines[0];
    let pending = record(world, &id, json!({"kind": "signal", "text": "x"}), None);
    let kept = format!("refs/pending/ralph/shared/{id}/ledger");
    in_repository(world, &id, &["update-ref", &kept, &pending]);
    world.ralph(&["pause", "--shared"]).done();
    let status = world.ralph(&["status", "--shared", "--json"]).done().json();
    assert_eq!(status["state"], "paused");
    assert_eq!(status["messages"], json!([{"kind": "STEER", "text": "x"}]));
}

#[test]
fn a_loop_is_watched_from_any_clone_until_it_ends() {
    if is_left_out(3) {
        return;
    }
    let (mut team, id) = Team::sharing(3);
    let poll = "[shared]\npoll_seconds = 1\n";
    team.machines.iter().for_each(|machine| machine.set_user(poll));
    let mut command = team.machines[1].command(Path::new(env!("CARGO_BIN_EXE_ralph")), "");
    let log = team.machines[1].path("log");
    command.args(["watch", "--shared"]).stdout(fs::File::create(&log).unwrap());
    let mut watcher = command.spawn().unwrap();
    let shows = |words: &str| {
        wait_for(words, || fs::read_to_string(&log).unwrap().contains(words));
    };
    shows("  running  0 of 2 tasks merged\n");
    let page = Screen::of(team.machines.remove(2), &[]);
    if let Some(page) = &page {
        page.watch((100, 30), "--shared");
        page.shows("running  0 of 2 tasks merged");
    }
    let first = &team.machines[0];
    first.ralph(&["pause", "--shared"]).done();
    shows("\npaused, 0 of 2 tasks merged\npaused: by a user on ");
    if let Some(page) = &page {
        page.shows("paused  0 of 2 tasks merged");
    }
    // While the remote is away, it is asked again.
    let away = team.remote.path().join("away");
    fs::rename(team.url(), &away).unwrap();
    if let Some(page) = &page {
        page.shows("the remote did not answer");
    }
    fs::rename(&away, team.url()).unwrap();
    first.ralph(&["cancel", "--shared"]).done();
    shows("\ncancelled, 0 of 2 tasks merged\nreason: by a user on ");
    assert_eq!(watcher.wait().unwrap().code(), Some(1));
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches("T-1").count(), 1, "only what changes is a line: {log}");
    assert!(log.contains(&id));
    if let Some(page) = &page {
        page.shows("cancelled  0 of 2 tasks merged");
        page.shows("exit 1");
    }
}

#[test]
fn the_doctor_reports_references_that_may_be_left_over() {
    if is_left_out(3) {
        return;
    }
    let (team, id) = Team::sharing(2);
    let [first, second] = &team.machines[..] else { panic!() };
    let diagnosed = |world: &World| {
        let printed = world.ralph(&["doctor"]).stdout.replace(&id, "[LOOP]");
        let line = printed.lines().find(|line| line.contains("shared loops: ")).map(str::to_owned);
        line.unwrap_or_default()
    };
    second.ralph(&["status", "--shared"]).done();
    assert_eq!((diagnosed(first), diagnosed(second)), (String::new(), String::new()));
    second.ralph(&["cancel", "--shared"]).done();
    first.ralph(&["status", "--shared"]).done();
    // The remote is not asked.
    let away = team.remote.path().join("away");
    fs::rename(team.url(), &away).unwrap();
    for machine in [first, second] {
        assert_eq!(
            diagnosed(machine),
            "warn  shared loops: loop [LOOP] has ended: cancelled; its references slow every push \
             down; `ralph share --clean --loop [LOOP]` deletes them"
        );
    }
    fs::rename(&away, team.url()).unwrap();
    second.ralph(&["share", "--clean"]).done();
    assert_eq!(diagnosed(second), "");
    // As after a read, such as that of a watch.
    let ledger = format!("refs/ralph/shared/{id}/ledger");
    in_repository(first, &id, &["update-ref", "-d", &ledger]);
    assert_eq!(
        diagnosed(first),
        "warn  shared loops: the remote no longer has loop [LOOP]; `ralph share --clean --loop \
         [LOOP]` removes what this clone keeps of it"
    );
    first.ralph(&["share", "--clean", "--loop", &id]).done();
    assert_eq!(diagnosed(first), "");
}

#[test]
fn any_clone_checks_that_the_branch_holds_exactly_what_was_proven() {
    if is_left_out(3) {
        return;
    }
    let (team, id) = Team::sharing(2);
    let [first, second] = &team.machines[..] else { panic!() };
    let url = team.url();
    let url = url.to_str().unwrap();
    let commit = |name: &str| {
        first.write(&format!("project/{name}"), "x");
        git(first, &["add", name]);
        git(first, &["commit", "-q", "-m", name]);
        git(first, &["rev-parse", "HEAD"]).trim().to_owned()
    };
    let work = commit("T-1");
    let merge = |tree: &str| {
        let verdict = json!({"kind": "verdict", "verdict": "merged", "finishes": [{"task": "T-1", "finish": work}], "tree": tree, "receipts": [{"criterion": "AC-1", "holds": false}]});
        let record = record(first, &id, verdict, Some(&work));
        let to = format!("{record}:refs/ralph/shared/{id}/ledger");
        in_repository(first, &id, &["push", "-q", "-f", url, &to]);
    };
    let branch =
        |to: &str| git(first, &["push", "-q", "-f", url, &format!("{to}:refs/heads/ralph/{id}")]);
    let row = || {
        let printed = second.ralph(&["status", "--shared", &id]).done();
        let lines = printed.stdout.replace(&id, "L");
        let (_, rest) = lines.split_once("\n  branch ").unwrap();
        let row: Vec<&str> = rest.lines().take_while(|line| !line.starts_with("  plan")).collect();
        row.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let proven = git(first, &["rev-parse", "HEAD^{tree}"]);
    merge(proven.trim());
    assert_eq!(row(), "`ralph/L` is not on the remote");
    branch(&work);
    let says = format!("`ralph/L` holds exactly what was proven, tree {:.10}", proven);
    assert_eq!(row(), says);
    branch("HEAD^");
    assert_eq!(row(), "`ralph/L` does not have the last merge yet");
    commit("other");
    branch("HEAD");
    assert_eq!(row(), "`ralph/L` has commits that no machine has merged and tested yet");
    git(first, &["checkout", "-q", "HEAD^^"]);
    let aside = commit("aside");
    branch(&aside);
    let says = format!("`ralph/L` was replaced: it does not contain {work:.10}, the last merge");
    assert_eq!(row(), says);
    branch(&work);
    assert!(row().contains("holds exactly"));
    // A verdict about another tree.
    in_repository(
        first,
        &id,
        &["fetch", "-q", url, &format!("+refs/ralph/shared/{id}/*:refs/ralph/shared/{id}/*")],
    );
    merge(git(first, &["rev-parse", "HEAD^{tree}"]).trim());
    assert!(row().starts_with("`ralph/L` is not proven: the last merge has tree "), "{}", row());
    let printed = second.ralph(&["status", "--shared", &id]).done();
    assert_eq!(after(&printed, "criteria ").trim(), "0 of 1 hold on the last merge, not AC-1");
}

#[test]
fn two_shares_at_once_meet_in_one_ledger() {
    let team = Team::of(1);
    let world = &team.machines[0];
    let id = plan(world);
    let ralph = Path::new(env!("CARGO_BIN_EXE_ralph"));
    let both = [0, 1].map(|_| start(world.command(ralph, "").arg("share")));
    let both = both.map(|child| world.finish(child, ""));
    assert!(both.iter().any(|printed| printed.exit == 0), "{both:?}");
    for printed in &both {
        let came_late = printed.stderr.contains("no loop is planned");
        assert!(printed.exit == 0 || came_late, "{printed:?}");
    }
    assert_eq!(team.records(&id), 1);
}

/// Commands find a loop by its ledger: it goes last, so that a clean that was refused or killed can be
/// repeated.
#[test]
fn a_clean_that_the_server_refuses_can_be_repeated() {
    if is_left_out(3) {
        return;
    }
    let (team, id) = Team::sharing(1);
    let world = &team.machines[0];
    world.ralph(&["cancel", "--shared"]).done();
    team.refuse("*/m/*");
    let printed = world.ralph(&["share", "--clean"]);
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("did not delete the references of the loop"), "{printed:?}");
    assert!(team.references().contains(&format!("refs/ralph/shared/{id}/ledger")));
    fs::remove_file(team.url().join("hooks/update")).unwrap();
    // More than one push takes.
    let tip = format!("refs/ralph/shared/{id}/ledger");
    let tip = in_repository(world, &id, &["rev-parse", &tip]);
    let all = (0..1_100).map(|n| format!("create refs/ralph/shared/{id}/t/T-{n} {tip}\n"));
    let mut command = world.command(Path::new("git"), "");
    command.arg("-C").arg(team.url()).args(["update-ref", "--stdin"]);
    let mut child = start(&mut command);
    child.stdin.take().unwrap().write_all(all.collect::<String>().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let printed = world.ralph(&["share", "--clean"]).done();
    assert!(printed.stdout.starts_with("deleted 1,102 references of loop "), "{printed:?}");
    assert!(team.references().is_empty());
}

#[test]
fn a_loop_that_is_started_while_it_is_shared_goes_on() {
    let team = Team::of(1);
    let world = &team.machines[0];
    let id = plan(world);
    let git = fs::read_link(world.path("bin/git")).unwrap();
    fs::remove_file(world.path("bin/git")).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' push '*) {ralph} start --session S >{log} 2>&1;; esac\n\
         exec {git} \"$@\"\n",
        ralph = env!("CARGO_BIN_EXE_ralph"),
        log = world.path("log").display(),
        git = git.display(),
    );
    let script = world.write("bin/git", &script);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let printed = world.ralph(&["share"]).done();
    let log = fs::read_to_string(world.path("log")).unwrap();
    assert_eq!(world.state()["phase"], "implementation", "{log}");
    assert!(printed.stderr.contains("loop [LOOP] was started here meanwhile"), "{printed:?}");
    assert_eq!(world.loop_ids(), [id]);
}

#[test]
fn a_plan_is_trusted_only_if_the_user_says_so() {
    let (mut team, id) = Team::sharing(2);
    let Some(page) = Screen::of(team.machines.remove(1), &[]) else { return };
    let asks = |answer: &str, says: &str| {
        page.open((100, 40), &format!("{} trust --shared {id}", env!("CARGO_BIN_EXE_ralph")));
        page.shows("Let the commands of this plan run in this clone? [y/N]");
        page.keys(&[answer, "Enter"]);
        page.shows(says);
    };
    asks("n", "error: it is not trusted; nothing was changed");
    page.shows("exit 1");
    asks("y", "The plan is trusted; `ralph run --shared");
    page.shows("exit 0");
}

#[test]
fn another_remote_is_named_in_every_command_to_type() {
    let team = Team::of(1);
    let world = &team.machines[0];
    let id = plan(world);
    git(world, &["remote", "rename", "origin", "the-team"]);
    let printed = world.ralph(&["share", "--remote", "the-team"]).done();
    let run = "ralph run --shared [LOOP] --remote the-team";
    assert_eq!(printed.stdout.matches(run).count(), 3, "{printed:?}");
    let trust = "ralph trust --shared [LOOP] --remote the-team --digest ";
    assert!(printed.stdout.contains(trust), "{printed:?}");
    let printed = world.ralph(&["status", "--shared"]);
    assert!(printed.stderr.contains("could not find the remote `origin`"), "{printed:?}");
    let printed = world.ralph(&["status", "--shared", "--remote", "the-team"]).done();
    assert!(printed.stdout.contains(&format!("`{run}`")), "{printed:?}");
    world.ralph(&["cancel", "--shared", &id, "--remote", "the-team"]).done();
    let printed = world.ralph(&["status", "--shared", "--remote", "the-team"]).done();
    let clean = "`ralph share --clean --loop [LOOP] --remote the-team`";
    assert!(printed.stdout.contains(clean), "{printed:?}");
    git(world, &["remote", "add", "origin", team.remote.path().join("other").to_str().unwrap()]);
    git(world, &["init", "-q", "--bare", team.remote.path().join("other").to_str().unwrap()]);
    let printed = world.ralph(&["share", "--clean", "--loop", &id]);
    assert_eq!(printed.exit, 1);
    assert!(printed.stderr.contains("has read through `the-team`"), "{printed:?}");
    let printed = world.ralph(&["doctor"]);
    assert!(printed.stdout.contains(clean), "{printed:?}");
    world.ralph(&["share", "--clean", "--loop", &id, "--remote", "the-team"]).done();
    assert!(team.references().is_empty());
    assert_eq!(world.ralph(&["status", "--remote", "the-team"]).exit, 2);
}
