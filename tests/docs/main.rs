//! Keeps the texts and the code in step.
//!
//! Skills and agents are programs that a model runs, so their contract words are tested like code:
//! a renamed flag or a missing front matter field breaks a loop as surely as a bug in a hook.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use ralph_test_support::{executables, planning, session as world};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod clients;
mod commands;
mod comparison;
mod front_matter;
mod guide;
mod guides;
mod imports;
mod links;
mod orchestrated;
mod orchestration;
mod paths;
mod proof;
mod ralplan;
mod reference;
mod refine;
mod samples;
mod sentences;
mod shared;
mod tasks;
mod watch;

use front_matter::FrontMatter;
use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::project::check::answer::{self, CheckReport};
use ralph_core::protocol::registration::COMMANDS;
use ralph_core::shell::vacuous;
use ralph_core::state::COMPLETION_TOKEN;
use ralph_core::state::signals::{self, SignalKind};
use ralph_core::text::token::{self, CompletionRequest};

const EXECUTABLES: [&str; 5] = [
    "ralph-user-prompt",
    "ralph-pre-tool-use",
    "ralph-backpressure",
    "ralph-stop-hook",
    "ralph-session-context",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace exists while its tests run")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("could not read `{}`: {error}", path.display()))
}

fn skill(name: &str) -> String {
    read(&root().join("skills").join(name).join("SKILL.md"))
}

fn agent(name: &str) -> String {
    read(&root().join("agents").join(name).with_extension("md"))
}

/// Every skill's folder name and text. Folders that only hold prompts have no `SKILL.md`.
fn skills() -> BTreeMap<String, String> {
    entries("skills")
        .filter(|folder| folder.join("SKILL.md").is_file())
        .map(|folder| (stem(&folder), read(&folder.join("SKILL.md"))))
        .collect()
}

fn agents() -> BTreeMap<String, String> {
    entries("agents")
        .filter(|file| file.extension().is_some_and(|extension| extension == "md"))
        .map(|file| (stem(&file), read(&file)))
        .collect()
}

fn entries(folder: &str) -> impl Iterator<Item = PathBuf> {
    let folder = root().join(folder);
    fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("could not list `{}`: {error}", folder.display()))
        .map(|entry| entry.expect("a listed entry can be read").path())
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("listed entries have names").to_string_lossy().into_owned()
}

#[track_caller]
fn check_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is missing from:\n{text}");
    }
}

#[test]
fn every_skill_is_named_as_its_folder_and_says_what_it_does() {
    let skills = skills();
    for command in COMMANDS {
        assert!(skills.contains_key(command), "{command} is missing");
    }
    for (folder, text) in skills {
        let front_matter = FrontMatter::of(&text);
        assert_eq!(front_matter.value("name"), folder);
        assert!(!front_matter.value("description").is_empty(), "{folder} has no description");
    }
}

/// The client gives the descriptions of agents to the model in every session, and shows those of skills beside their
/// names in one line.
#[test]
fn every_description_has_at_most_120_characters() {
    for (name, text) in skills().into_iter().chain(agents()) {
        let n = FrontMatter::of(&text).value("description").chars().count();
        assert!(n <= 120, "{name}: {n}");
    }
}

#[test]
fn no_skill_can_be_started_by_the_model() {
    for (folder, text) in skills() {
        assert_eq!(FrontMatter::of(&text).value("disable-model-invocation"), "true", "{folder}");
    }
}

#[test]
fn every_agent_is_named_as_its_file_and_says_when_to_use_it() {
    let agents = agents();
    assert!(agents.contains_key("ralph-worker"));
    for (file, text) in agents {
        let front_matter = FrontMatter::of(&text);
        assert_eq!(front_matter.value("name"), file);
        assert!(!front_matter.value("description").is_empty(), "{file} has no description");
    }
}

#[test]
fn the_loop_skill_speaks_the_contract_of_the_prompt_hook_and_of_start() {
    check_contains(
        &skill("ralph"),
        &[
            "`Ralph loop <id> started`",
            "`Ralph loop <id> continues`",
            "ralph start --session ${CLAUDE_SESSION_ID} - <<'",
            "RALPH_COMPLETE",
            "`ralph verify`",
            "\nralph blocked 'what a person must do",
            "The completion token is a request.",
            "ralph task claim",
            "ralph task done ID --note",
            "ralph task fail ID --note",
            "ralph doctor",
        ],
    );
}

#[test]
fn the_loop_skill_brings_the_three_hooks_in_exec_form_with_the_rank_of_a_skill() {
    let text = skill("ralph");
    let hooks = FrontMatter::of(&text).block("hooks");
    assert_eq!(FrontMatter::of(&skill("ralph-parallel")).block("hooks"), hooks);
    let lines: Vec<&str> = hooks.lines().map(str::trim).collect();
    let expected = [
        ("PreToolUse:", "command: ralph-pre-tool-use", "timeout: 5"),
        ("PostToolUse:", "command: ralph-backpressure", "timeout: 15"),
        ("Stop:", "command: ralph-stop-hook", "timeout: 600"),
    ];
    for (event, command, timeout) in expected {
        let from = lines
            .iter()
            .position(|line| *line == event)
            .unwrap_or_else(|| panic!("{event} is not registered"));
        let at = lines[from..]
            .iter()
            .position(|line| *line == command)
            .unwrap_or_else(|| panic!("{event} does not run `{command}`"));
        assert_eq!(&lines[from + at + 1..from + at + 3], ["args: [skill]", timeout]);
    }
}

#[test]
fn skills_register_only_executables_that_exist() {
    for (folder, text) in skills() {
        let hooks = FrontMatter::of(&text).block("hooks");
        for line in hooks.lines().map(str::trim) {
            if let Some(command) = line.strip_prefix("command: ") {
                assert!(EXECUTABLES.contains(&command), "{folder}: {command}");
            }
        }
    }
}

#[test]
fn what_the_person_typed_is_pasted_once_between_tags_and_never_into_a_command() {
    let typed = ["ralph", "ralph-plan", "ralph-parallel", "ralph-v2", "ralplan", "rp", "planloop"];
    for name in typed.into_iter().chain(["refine", "ideate", "plan-refinery"]) {
        let text = skill(name);
        assert_eq!(text.matches("$ARGUMENTS").count(), 1, "{name}");
        check_contains(&text, &["\n<ralph-arguments>\n$ARGUMENTS\n</ralph-arguments>\n"]);
    }
    for (folder, text) in skills() {
        // The client would run these before the model reads the page.
        assert!(!text.contains("!`"), "{folder} runs a command on load");
        assert!(!text.contains("```!"), "{folder} runs a command on load");
    }
}

#[test]
fn the_loop_skill_says_what_to_do_in_each_state_of_a_criterion() {
    let text = skill("ralph");
    for standing in guide::STANDINGS.into_iter().filter(|one| *one != ReceiptStatus::Passes) {
        check_contains(&text, &[&format!("`{}`", standing.as_str())]);
    }
}

#[test]
fn the_loop_skill_and_the_worker_know_the_words_of_a_check() {
    let pair = || vec![("src/a.ts".to_owned(), "eslint".to_owned())];
    let report = CheckReport {
        fixed: pair(),
        unfinished: pair(),
        not_run: pair(),
        ..CheckReport::default()
    };
    let said = answer::text(&report).unwrap();
    let texts = [skill("ralph"), read(&root().join("agents/ralph-worker.md"))];
    for words in ["Ralph checked", "was changed by", "did not finish", "did not run"] {
        assert!(said.contains(words), "{words}: {said}");
        for text in &texts {
            assert!(text.contains(&format!("`{words}`")), "{words}");
        }
    }
}

#[test]
fn the_loop_skill_and_the_worker_know_the_words_of_a_person() {
    let signal = |kind| signals::read("", &signals::file(kind, "x"));
    let said = signals::text_for_model(&[signal(SignalKind::Steer), signal(SignalKind::Info)]);
    let texts = [skill("ralph"), read(&root().join("agents/ralph-worker.md"))];
    for words in ["The person who started the loop says", "STEER", "INFO"] {
        assert!(said.contains(words), "{words}: {said}");
        for text in &texts {
            assert!(text.contains(&format!("`{words}`")), "{words}");
        }
    }
}

#[test]
fn what_the_skill_shows_as_a_request_is_one() {
    let text = skill("ralph");
    let shown = text.split("```").map(str::trim).find(|block| *block == COMPLETION_TOKEN);
    assert_eq!(token::request(shown.unwrap(), COMPLETION_TOKEN), CompletionRequest::Made);
}

#[test]
fn the_plan_skill_names_only_commands_that_are_refused_as_it_says() {
    let text = skill("ralph-plan");
    let line = text.lines().find(|line| line.contains("cannot fail is refused")).unwrap();
    for command in line.split('`').skip(1).step_by(2) {
        let command = command.replacen("… ||", "cargo test ||", 1).replace('…', "done");
        assert!(vacuous::refuse(&command).is_some(), "{command}");
    }
}

#[test]
fn the_worker_asks_for_nothing() {
    check_contains(
        &agent("ralph-worker"),
        &["not `ralph verify`", "Never write the loop's completion token"],
    );
}

#[test]
fn the_plan_skill_shows_a_plan_with_the_field_names_of_the_state_file() {
    let text = skill("ralph-plan");
    check_contains(&text, &["ralph task import - <<'RALPH_PLAN'", "`/ralph`"]);
    let plan = text
        .split_once("<<'RALPH_PLAN'\n")
        .and_then(|(_, rest)| rest.split_once("\nRALPH_PLAN\n"))
        .map(|(plan, _)| plan)
        .expect("the example plan stands in a heredoc");
    let plan: serde_json::Value = serde_json::from_str(plan).expect("the example plan is JSON");
    check_keys(&plan, &["prompt", "acceptance_criteria", "task_graph", "context_report"]);
    check_keys(&plan["acceptance_criteria"][0], &["id", "description", "verification_command"]);
    check_keys(&plan["task_graph"][0], &["id", "name", "deps", "completion_condition", "files"]);
}

#[track_caller]
fn check_keys(object: &serde_json::Value, expected: &[&str]) {
    let object = object.as_object().expect("an object");
    let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
    let mut expected = expected.to_vec();
    keys.sort_unstable();
    expected.sort_unstable();
    assert_eq!(keys, expected);
}

#[test]
fn the_skills_that_a_hook_carries_out_only_tell_the_user_what_to_do_instead() {
    for word in ["cancel", "pause"] {
        let text = skill(&format!("ralph-{word}"));
        check_contains(&text, &[&format!("`ralph {word}` in another terminal"), "ralph doctor"]);
        let front_matter = FrontMatter::of(&text);
        assert!(!front_matter.has("allowed-tools"));
        assert!(!front_matter.has("hooks"));
    }
}

#[test]
fn the_worker_works_in_a_worktree_and_reports_in_the_fixed_form() {
    let text = agent("ralph-worker");
    assert_eq!(FrontMatter::of(&text).value("isolation"), "worktree");
    let report: Vec<&str> =
        text.split("```").nth(1).expect("the report stands in a fence").trim().lines().collect();
    let heads = [
        "Status: DONE / PARTIAL / BLOCKED",
        "Files changed:",
        "Tests:",
        "Completion condition:",
        "Notes:",
    ];
    assert_eq!(report.len(), heads.len());
    for (line, head) in report.iter().zip(heads) {
        assert!(line.starts_with(head), "`{line}` does not start with `{head}`");
    }
}

#[test]
fn a_hook_is_tried_by_hand_as_the_contributors_are_told() {
    let guide = read(&root().join("CONTRIBUTING.md"));
    let (_, section) = guide.split_once("## Try a hook by hand\n").unwrap();
    let lines = section.split("```").nth(1).unwrap().strip_prefix("sh\n").unwrap();
    if Command::new("jq").arg("--version").output().is_err() {
        return eprintln!("SKIPPED: could not start `jq`");
    }
    // What is under test was built already.
    let (_, lines) = lines.split_once("cargo build --workspace --locked\n").unwrap();
    let lines = lines.replace("$PWD/target/debug", executables().to_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &lines]).current_dir(root()).env_clear();
    shell.env("PATH", std::env::var_os("PATH").unwrap());
    let ran = shell.env("HOME", folder.path()).env("TMPDIR", folder.path()).output().unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{printed}{}", String::from_utf8_lossy(&ran.stderr));
    check_contains(
        &printed,
        &["{\"decision\":\"block\"", "next turn at 1/25", "1 decision made again, 0 differ"],
    );
}

#[test]
fn the_readme_holds_the_two_commands_where_the_checks_look_for_them() {
    let readme = read(&root().join("README.md"));
    check_contains(
        &readme,
        &[
            "\n<!-- set-up command -->\n```sh\n./install.sh --demo\n```\n",
            "\n<!-- test command -->\n```sh\ncargo test --workspace --locked --no-fail-fast\n```\n",
        ],
    );
}

#[test]
fn the_readme_is_short_and_in_the_order_in_which_a_new_user_asks() {
    let readme = read(&root().join("README.md"));
    assert!(readme.lines().count() <= 120, "{} lines", readme.lines().count());
    let paragraphs: Vec<&str> = readme.split("\n\n").collect();
    assert_eq!(paragraphs[0], "# Ralph");
    assert_eq!(paragraphs[1].matches(". ").count(), 0, "one sentence says what it is");
    assert!(paragraphs[2].starts_with("![") && paragraphs[2].ends_with("](docs/demo.svg)"));
    let headings: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let wanted =
        ["Try it", "Use it", "What it does to your sessions", "Compared with `/goal`", "Links"];
    assert_eq!(headings, wanted);
    check_contains(&readme, &["\ngit clone https://", "`context.enabled = false`"]);
    let (_, compared) = readme.split_once("## Compared with").unwrap();
    let rows = compared.lines().filter(|line| line.starts_with('|')).count();
    assert_eq!(rows, 4 + 2, "four lines below the head of the table");
}

#[test]
fn every_command_in_a_document_exists() {
    let documents: Vec<PathBuf> = links::documents(&root())
        .into_iter()
        .filter(|path| path.file_name().is_none_or(|name| name != "CHANGELOG.md"))
        .collect();
    let unknown = commands::unknown(&documents);
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn every_relative_link_in_a_document_leads_to_a_file_and_a_heading() {
    let broken = links::broken(&root());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
