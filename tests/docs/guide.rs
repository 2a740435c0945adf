//! The guide to evidence names every state, cause and ending that there is, the one to settings every setting, and what the
//! README shows of an ending is one.

use super::{check_contains, read, root};
use jiff::Timestamp;
use ralph_core::evidence::receipt::ReceiptStatus;
use ralph_core::project::check::choice::{CheckSettings, Own};
use ralph_core::project::check::parsers::OutputFormat;
use ralph_core::project::settings::{SandboxSettings, Settings};
use ralph_core::state::{
    Criterion, CriterionRunner, EndingKind, LoopState, Observation, Observed, Outcome, PauseCause,
    Receipt, Signal,
};
use ralph_core::{project::project_facts, transcript::background_watch, views::messages};
use serde_json::{Map, Value};

/// All words of a state; the match notices a new one.
pub(crate) const STANDINGS: [ReceiptStatus; 17] = {
    use ReceiptStatus::*;
    match NotRun {
        // Its word is that of another state.
        NotClean => {}
        NotRun | Stale | Failed | TimedOut | Killed | Vacuous | RewroteTree | FewerTests
        | HidesFailures | Flaky | Passes | Proven | Kept | TestsChanged | CannotFail
        | NotCompared | Reviewed => {}
    }
    [
        NotRun,
        Stale,
        Failed,
        TimedOut,
        Killed,
        Vacuous,
        RewroteTree,
        FewerTests,
        HidesFailures,
        Flaky,
        Passes,
        Proven,
        Kept,
        TestsChanged,
        CannotFail,
        NotCompared,
        Reviewed,
    ]
};

fn guide() -> String {
    read(&root().join("docs/evidence.md"))
}

fn settings_guide() -> String {
    read(&root().join("docs/settings.md"))
}

fn check_rows(words: &[&str]) {
    let rows: Vec<String> = words.iter().map(|word| format!("\n| `{word}` |")).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    check_contains(&guide(), &rows);
}

#[test]
fn each_state_of_a_criterion_has_its_row() {
    check_rows(&STANDINGS.map(ReceiptStatus::as_str));
}

#[test]
fn each_pause_ending_and_kind_of_stall_has_its_row() {
    check_rows(
        &[
            PauseCause::Person,
            PauseCause::Cleared,
            PauseCause::BlockedOnHuman,
            PauseCause::Interrupted,
            PauseCause::HostCapped,
            PauseCause::HostBudget,
            PauseCause::RateLimited,
            PauseCause::Crashed,
        ]
        .each_ref()
        .map(PauseCause::as_str),
    );
    check_rows(
        &[
            EndingKind::Complete,
            EndingKind::CompleteUnverified,
            EndingKind::MaxIterations,
            EndingKind::Budget,
            EndingKind::Stalled,
            EndingKind::Cancelled,
        ]
        .each_ref()
        .map(EndingKind::as_str),
    );
    check_rows(
        &[Signal::NoChange, Signal::Idle, Signal::Cycle, Signal::SameFailure]
            .each_ref()
            .map(Signal::as_str),
    );
}

#[test]
fn the_settings_are_shown_whole_and_with_their_defaults() {
    let guide = settings_guide();
    let shown = guide
        .split_once("<!-- settings -->\n```toml\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .expect("the settings stand in a block");
    // Every value is written as JSON would have it.
    let members: Map<String, Value> = shown
        .0
        .lines()
        .map(|line| {
            let (name, value) = line.split_once(" = ").expect("a name and a value");
            let value = value.split(" #").next().unwrap_or_default();
            (name.to_owned(), serde_json::from_str(value).expect("a value"))
        })
        .collect();
    let settings: Settings = serde_json::from_value(Value::Object(members.clone())).unwrap();
    let all = serde_json::to_value(&settings).unwrap();
    assert_eq!(all, Value::Object(members), "each is known, and none is left out below");
    let plain = Settings::default();
    assert_eq!(settings.to_settle(), plain.to_settle());
    assert_eq!(settings.per_command(), plain.per_command());
    assert_eq!(settings.background_minutes, Some(background_watch::LONGEST_MINUTES));
    let state = LoopState::default();
    assert_eq!(settings.max_iterations, Some(state.max_iterations));
    assert_eq!(settings.max_minutes, Some(state.limits.max_minutes));
    assert_eq!(settings.stall_limit, Some(state.stall_limit));
    assert_eq!(settings.max_workers, Some(state.limits.max_workers));
    assert_eq!(settings.completion, Some(state.completion));
    let Settings {
        max_iterations: Some(_),
        max_minutes: Some(_),
        stall_limit: Some(_),
        max_workers: Some(_),
        background_minutes: Some(_),
        completion: Some(_),
        verify_seconds: Some(_),
        command_seconds: Some(_),
        receipt_ignore: Some(_),
        // They have guides of their own.
        backpressure: None,
        context: None,
        refine: None,
        sandbox: None,
        // In a guide of its own, whose lines tests/cli/notify.rs runs.
        notify: None,
        // In the guide to shared loops.
        shared: None,
        // Shown by itself, below.
        evidence: None,
        // Shown by themselves, below.
        client: None,
        run: None,
        review: None,
        wall: None,
    } = settings
    else {
        panic!("a setting is not shown: {settings:?}");
    };
}

#[test]
fn the_settings_of_the_evidence_are_shown_and_can_be_used() {
    let guide = settings_guide();
    let shown =
        guide.split_once("```toml\n[evidence]").and_then(|(_, rest)| rest.split_once("```"));
    let shown = format!("[evidence]{}", shown.expect("they stand in a block").0);
    let settings: Settings = toml::from_str(&shown).unwrap();
    assert_eq!(settings.refused(), None);
    let evidence = settings.evidence();
    assert_eq!(evidence.clean.as_deref(), Some("npm ci"));
    assert_eq!(evidence.not_observed, ["npm run e2e"]);
}

#[test]
fn the_settings_of_the_client_and_of_runs_are_shown_and_can_be_used() {
    let guide = settings_guide();
    let shown = guide.split_once("```toml\n[client]").and_then(|(_, rest)| rest.split_once("```"));
    let shown = format!("[client]{}", shown.expect("they stand in a block").0);
    let settings: Settings = toml::from_str(&shown).unwrap();
    assert_eq!(settings.refused(), None);
    assert_eq!(settings.client().permission_mode.as_deref(), Some("acceptEdits"));
    assert_eq!(settings.client().unattended, Some(true));
    let run = settings.run();
    let own = run.branch_name("L", "");
    assert_eq!((own.as_deref(), run.commits()), (Some("ralph/run-L"), true));
    let review = settings.review();
    assert_eq!((review.is_enabled(), review.most_rounds()), (true, 3));
    let guide = read(&root().join("docs/sandbox.md"));
    let shown = guide.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```"));
    let settings: Settings = toml::from_str(shown.expect("they stand in a block").0).unwrap();
    let (shown, plain) = (settings.client(), Settings::default().client());
    assert_eq!(settings.refused(), None);
    assert!(shown.sandbox == Some(true) && shown.is_sandboxed() == plain.is_sandboxed());
    assert!(shown.background_seconds.is_some() && shown.background() == plain.background());
}

#[test]
fn the_settings_of_the_sandbox_are_shown_and_can_be_used() {
    let guide = settings_guide();
    let shown = guide.split_once("```toml\n[sandbox]").and_then(|(_, rest)| rest.split_once("```"));
    let shown = format!("[sandbox]{}", shown.expect("they stand in a block").0);
    let settings: Settings = toml::from_str(&shown).unwrap();
    assert_eq!(settings.refused(), None);
    let SandboxSettings { write, read_deny, hosts, ports, sockets } = settings.sandbox();
    assert!([write, read_deny, hosts, sockets].iter().all(|shown| !shown.is_empty()));
    assert!(!ports.is_empty());
}

#[test]
fn the_settings_of_checks_are_shown_whole_and_can_be_used() {
    let guide = read(&root().join("docs/checks.md"));
    let shown = guide.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```"));
    let settings: Settings = toml::from_str(shown.expect("they stand in a block").0).unwrap();
    assert_eq!(settings.refused(), None);
    let choice = settings.checks();
    let plain = CheckSettings::default();
    let budget = plain.budget(None);
    assert_eq!((choice.budget(None), choice.wait(budget)), (budget, plain.wait(budget)));
    assert!(!choice.off.is_empty() && choice.always == Some(false));
    let [own] = &choice.checks[..] else { panic!("one check is shown: {choice:?}") };
    let Own {
        name,
        files,
        command,
        fix: false,
        timeout: Some(_),
        parse: Some(OutputFormat::Sarif),
    } = own
    else {
        panic!("a setting is not shown: {own:?}");
    };
    assert!(!name.is_empty() && !files.is_empty() && command.contains("{file}"));
    let forms = guide.lines().find(|line| line.starts_with("parse = ")).expect("the forms");
    for form in FORMS {
        let word = serde_json::to_value(form).unwrap();
        assert!(forms.contains(word.as_str().unwrap()), "{word}");
    }
}

#[test]
fn the_settings_of_facts_are_shown_whole_and_with_their_defaults() {
    let guide = read(&root().join("docs/context.md"));
    let shown = guide.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```"));
    let settings: Settings = toml::from_str(shown.expect("they stand in a block").0).unwrap();
    assert_eq!(settings.refused(), None);
    let project_facts::ContextSettings {
        enabled: Some(true),
        off,
        also,
        size: Some(project_facts::page::TARGET),
    } = settings.facts()
    else {
        panic!("a setting is not shown: {:?}", settings.facts());
    };
    assert!(!off.is_empty() && !also.is_empty());
}

#[test]
fn each_fact_has_its_row_and_those_on_request_are_told_from_the_others() {
    let guide = read(&root().join("docs/context.md"));
    let (by_default, on_request) = guide.split_once("On request").expect("both tables");
    for kind in project_facts::KINDS {
        let table = if kind.on_request { on_request } else { by_default };
        check_contains(table, &[&format!("\n| `{}` |", kind.name)]);
    }
    let rows = guide.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, project_facts::KINDS.len(), "a row is of no fact");
}

/// All of them; the match notices a new one.
const FORMS: [OutputFormat; 13] = {
    use OutputFormat::*;
    match Eslint {
        Eslint | Ruff | Tsc | Shellcheck | Cargo | Pyright | Vitest | Pytest | Deno | Sarif
        | Supabase | Plain | Whole => {}
    }
    [
        Eslint, Ruff, Tsc, Shellcheck, Cargo, Pyright, Vitest, Pytest, Deno, Sarif, Supabase,
        Plain, Whole,
    ]
};

#[test]
fn the_ending_that_the_readme_shows_is_one() {
    let run = |outcome, tests_run, tests_failed| {
        let tree = "t".to_owned();
        Some(Observation { key: tree, outcome, tests_run, tests_failed, ..Observation::default() })
    };
    let criterion = Criterion {
        id: "AC-T".to_owned(),
        verification_command: "npm test".to_owned(),
        verified: true,
        receipt: Some(Receipt {
            command: "npm test".to_owned(),
            passed: true,
            tests_run: Some(41),
            tests_reported: true,
            tree_before: "t".to_owned(),
            tree_after: "t".to_owned(),
            by: CriterionRunner::Hook,
            ..Receipt::default()
        }),
        observed: Observed {
            tree: "t".to_owned(),
            original: run(Outcome::Passed, Some(38), 0),
            without: run(Outcome::Failed, Some(41), 3),
            ..Observed::default()
        },
        ..Criterion::default()
    };
    let mut state = LoopState {
        loop_id: "20260131-120000-1a2b".to_owned(),
        iteration: 3,
        session_id: "s".to_owned(),
        max_iterations: 5,
        acceptance_criteria: vec![criterion],
        ..LoopState::default()
    };
    let at = Timestamp::from_second(12 * 60).unwrap();
    state.end(EndingKind::Complete, "1 proven", at);
    check_contains(&read(&root().join("README.md")), &[&messages::ended(&state)]);
}
