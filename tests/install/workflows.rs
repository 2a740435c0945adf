//! The workflows of the repository's host: what they run, what they may, and which code of others.

use crate::world::repository;
use std::fs;

fn workflow(name: &str) -> String {
    fs::read_to_string(repository().join(".github/workflows").join(name)).unwrap()
}

/// A line of the workflow that runs exactly this.
fn runs(text: &str, command: &str) -> bool {
    text.lines().any(|line| line.trim().trim_start_matches("- ") == format!("run: {command}"))
}

#[track_caller]
fn check_pins(text: &str) {
    for line in text.lines().filter(|line| line.contains("uses:")) {
        let (_, pin) = line.split_once('@').unwrap();
        let (commit, version) = pin.split_once(" # v").unwrap_or((pin, ""));
        let is_commit = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(is_commit && !version.is_empty(), "{line}");
    }
}

#[test]
fn every_action_is_pinned_by_its_commit_and_named_by_its_version() {
    for file in fs::read_dir(repository().join(".github/workflows")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        check_pins(&text);
        assert!(text.contains("\npermissions:\n  contents: read\n"), "{text}");
    }
}

/// `.ci/run` lints it with the others.
#[test]
fn the_workflow_of_shared_loops_takes_a_full_clone_and_no_input_reaches_its_shell() {
    let guide = fs::read_to_string(repository().join("docs/shared.md")).unwrap();
    let (_, rest) = guide.split_once("\n```yaml\n").unwrap();
    let text = rest.split_once("\n```\n").unwrap().0;
    check_pins(text);
    assert!(text.contains("fetch-depth: 0") && text.contains("contents: write"), "{text}");
    let shell: Vec<&str> = text.lines().filter(|line| line.contains("run:")).collect();
    assert!(shell.len() > 4 && shell.iter().all(|line| !line.contains("${{")), "{shell:?}");
}

#[test]
fn the_checks_run_on_linux_and_the_tests_and_the_client_on_macos() {
    let text = workflow("ci.yml");
    let (linux, macos) = text.split_once("\n  macos:").unwrap();
    assert!(linux.contains("runs-on: ubuntu-") && runs(linux, ".ci/run"), "{linux}");
    assert!(macos.contains("runs-on: macos-"), "{macos}");
    for step in ["tests", "client"] {
        assert!(runs(macos, &format!(".ci/run --only {step}")), "{step}");
    }
}

#[test]
fn what_a_change_runs_a_sample_of_runs_whole_every_night() {
    let steps = fs::read_to_string(repository().join(".ci/run")).unwrap();
    let (_, all) = steps.rsplit_once("\nelse\n").unwrap();
    let sampled: Vec<&str> =
        all.split_whitespace().filter_map(|word| word.strip_suffix("-sample")).collect();
    assert_eq!(sampled, ["client", "portable"]);
    let text = workflow("ci.yml");
    let (_, line) = text.split_once("run: .ci/run --only ").unwrap();
    let nightly: Vec<&str> = line.lines().next().unwrap().split(' ').collect();
    for step in sampled.iter().chain(&["proof", "apple-archive", "benches"]) {
        assert!(nightly.contains(step), "{step}");
        assert!(steps.contains(&format!("\n      {step})")), "{step}");
    }
    assert!(text.contains("schedule:"), "{text}");
}

/// `.ci/run` installs packages as root only, which a runner is not.
#[test]
fn the_checks_on_linux_install_what_the_steps_need() {
    // Programs that the image of the runner has, or another action brings.
    const AT_HAND: [&str; 7] = ["git", "unshare", "cc", "c++", "node", "npm", "chromium"];
    let steps = fs::read_to_string(repository().join(".ci/run")).unwrap();
    let tools = steps.split("\ntools=(").nth(1).unwrap().split("\n)").next().unwrap();
    let text = workflow("ci.yml");
    let (linux, _) = text.split_once("\n  macos:").unwrap();
    for tool in tools.split_whitespace() {
        let (program, package) = tool.split_once(':').unwrap();
        let installed = linux.split_whitespace().any(|word| word == package);
        assert!(installed || AT_HAND.contains(&program), "{package}");
    }
}

#[test]
fn the_newest_client_is_tried_daily_and_a_difference_opens_one_issue() {
    let text = workflow("clients.yml");
    assert!(text.contains("schedule:") && runs(&text, "scripts/try-client --matrix latest"));
    assert!(text.contains("gh issue list") && text.contains("gh issue create"), "{text}");
    let written: Vec<&str> = text.lines().filter(|line| line.ends_with(": write")).collect();
    assert_eq!(written, ["      issues: write"]);
}

#[test]
fn a_release_is_tried_before_it_is_signed_and_signed_before_it_is_published() {
    let text = workflow("release.yml");
    let order = [
        "tags: [\"v*\"]",
        "run: scripts/release --out release",
        "run: scripts/try-release release",
        "run: cargo test --workspace --locked --test install apple",
        "uses: actions/attest-build-provenance@",
        "gh release create",
        "npm publish",
    ];
    let places: Vec<usize> = order.iter().map(|part| text.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{places:?}");
}
