//! `docs/orchestration.md` holds what `ralph team` does.

use super::commands::names_below;
use super::{check_contains, read, root};
use ralph_core::modes::orchestration::agents::AgentRole;
use ralph_core::modes::orchestration::guardrails::Guardrails;
use ralph_core::modes::orchestration::progress::TaskMark;
use ralph_core::modes::orchestration::state::State;

fn text() -> String {
    read(&root().join("docs/orchestration.md"))
}

#[test]
fn every_command_of_the_system_is_in_its_guide() {
    let names = names_below("ralph team");
    assert!(names.len() > 4, "{names:?}");
    for name in names {
        check_contains(&text(), &[&format!("ralph team {name}")]);
    }
}

#[test]
fn its_words_are_those_of_the_code() {
    let text = text();
    AgentRole::ALL.iter().for_each(|agent| check_contains(&text, &[agent.name()]));
    State::ALL.iter().for_each(|state| check_contains(&text, &[&format!("`{}`", state.word())]));
    TaskMark::ALL.iter().for_each(|status| check_contains(&text, &[&format!("| `{status}` |")]));
    let rails = Guardrails::default();
    for (name, default) in [
        ("planning.max_cycles", rails.max_cycles),
        ("retries.max_subagent_retries", rails.max_subagent_retries),
        ("timeouts.task_wip_minutes", rails.task_wip_minutes),
        ("concurrency.max_parallel_executors", rails.max_parallel_executors),
        ("concurrency.max_parallel_reviewers", rails.max_parallel_reviewers),
    ] {
        check_contains(&text, &[&format!("| `{name}` | {default} |")]);
    }
}

#[test]
fn the_field_version_of_the_metadata_is_a_counter_of_revisions() {
    let text = text().split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "`metadata.yaml` | state, iteration, counts, `version`",
        "`version` in `metadata.yaml` counts the revisions of that file: it begins with 1, and each change by Ralph adds 1",
    ] {
        assert!(text.contains(words), "{words}");
    }
}
