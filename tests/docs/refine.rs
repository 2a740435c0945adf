//! `docs/refinery.md` holds what `ralph refine` does.

use super::commands::names_below;
use super::{read, root};
use ralph_core::modes::refine::{self, contract};
use ralph_core::project::settings::Settings;
use std::collections::BTreeSet;

fn guide() -> String {
    read(&root().join("docs/refinery.md"))
}

#[test]
fn every_command_of_refinement_is_in_its_document() {
    let names = names_below("ralph refine");
    assert!(names.len() == 7, "{names:?}");
    for name in names {
        assert!(guide().contains(&format!("ralph refine {name}")), "`ralph refine {name}`");
    }
}

#[test]
fn the_settings_are_shown_whole_and_with_their_defaults() {
    let guide = guide();
    let (_, rest) = guide.split_once("<!-- refine settings -->\n```toml\n").unwrap();
    let settings: Settings = toml::from_str(rest.split_once("```").unwrap().0).unwrap();
    assert_eq!(settings.refused(), None);
    assert_eq!(settings.refine().bounds(), refine::RefineSettings::default());
    let shown = settings.refine.unwrap();
    let all = serde_json::to_value(refine::RefineSettings::default()).unwrap();
    let names = |value: &serde_json::Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names(&shown), names(&all));
}

#[test]
fn the_two_lines_that_the_guide_shows_are_read() {
    let guide = guide();
    let at = guide.find("CHANGES: 2").unwrap();
    let said = contract::read(guide[at..].split_once("```").unwrap().0);
    assert_eq!((&said.changes, said.flaws().len()), (&Ok(2), 0));
    for status in ["plateau", "max_iterations", "interrupted", "cancelled"] {
        assert!(guide.contains(&format!("\n| `{status}` |")), "{status}");
    }
}

#[test]
fn the_skills_call_the_commands_that_there_are() {
    for (skill, commands) in [
        (
            "refine",
            &["ralph refine begin", "ralph refine end --id NAME <<'", "at most 5 rounds"][..],
        ),
        (
            "ideate",
            &[
                "ralph refine prompt idea-wizard",
                "ralph refine ideas <<'",
                "ralph refine ideas < FILE | ralph plan-sync",
            ],
        ),
        ("plan-refinery", &["context-loader", "post-context", "synthesizer", "robot-mode"]),
    ] {
        super::check_contains(&super::skill(skill), commands);
    }
    for name in ["context-loader", "post-context", "synthesizer", "robot-mode"] {
        let help = read(&root().join("crates/ralph/prompts").join(format!("{name}.md")));
        assert!(help.contains(contract::FORM), "{name}");
    }
    assert_eq!(refine::MOST_IN_FOREGROUND, 5);
}
